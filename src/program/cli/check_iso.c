/*
 * check_iso.c - check --level FILE.iso: a level written by the user, on a history, exactly.
 *
 * The engine of the built-in levels decides what it can (ratel_check_definition).  What it does not
 * understand is searched here.  The language speaks of whole transactions: what each reads first
 * and from whom, what it leaves behind.  Outcomes that are unknown and values that several wrote
 * are choices, of which one must keep the level (doc/levels.md 2 and 5).  A history that says more
 * than the language can (scans, lists, an unknown initial state) is not searched: undecided, with
 * what stands in the way.
 */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "cli/synth_cli.h"

#define MOST_TXNS 20000 /* of a level that needs no search: relations are matrices of bits */
#define ABSENT UINT32_MAX

typedef struct install {
    uint32_t key, value, txn;
} install;

typedef struct wanted {
    uint32_t txn, key, value;
    bool initial;
    bool never; /* nothing explains it */
} wanted;

/* What is known of a key while the operations of a transaction are read. */
typedef struct key_state {
    uint32_t number;    /* here, plus one; 0: not seen */
    uint32_t writer;    /* the last transaction that wrote it */
    uint32_t installed; /* what that one leaves behind, its place */
} key_state;

typedef struct plain {
    const ratel_history *h;
    uint32_t n, keys, sessions;
    size_t n_installs, n_wanted, n_candidates;
    key_state *key;
    uint32_t *session;
    bool *maybe;
    install *installs; /* in the order of transactions, then by key and value */
    wanted *wanted;
    synth_write *writes;
    synth_read *reads;
    uint32_t *candidates;
    bool broken; /* a read that nothing explains: every level is violated */
    bool must;   /* own writes must be read */
    char why[400];
    const char *anomaly; /* if it violates every level whatever its definition, else NULL */
    uint64_t work[4];    /* of the engine: vars, clauses, conflicts, instantiated */
} plain;

static bool stop(plain *p, const char *id, const char *why)
{
    snprintf(p->why, sizeof p->why, "%s%s%s", id ? id : "", id ? " " : "", why);
    return false;
}

static bool is_violated(plain *p, const char *id, const char *why)
{
    p->broken = true;
    return stop(p, id, why);
}

static bool allocate(plain *p)
{
    ratel_op_info o;
    ratel_txn_info t;
    size_t ops = 0, txns = 0, keys = 0;
    for (; !ratel_history_op_at(p->h, ops, &o); ops++)
        if (strchr("rwd", o.kind) && o.key >= keys) keys = (size_t)o.key + 1;
    for (; !ratel_history_txn_at(p->h, txns, &t); txns++)
        if (t.session >= p->sessions) p->sessions = t.session + 1;
    p->key = calloc(keys + 1, sizeof *p->key);
    p->session = calloc(txns + 1, sizeof *p->session);
    p->maybe = calloc(txns + 1, sizeof *p->maybe);
    p->installs = calloc(ops + 1, sizeof *p->installs);
    p->wanted = calloc(ops + 1, sizeof *p->wanted);
    p->writes = calloc(ops + 1, sizeof *p->writes);
    p->reads = calloc(ops + 1, sizeof *p->reads);
    return (p->key && p->session && p->maybe && p->installs && p->wanted && p->writes &&
            p->reads) ||
           stop(p, NULL, "out of memory");
}

static bool read_write(plain *p, const ratel_op_info *o)
{
    key_state *k = &p->key[o->key];
    uint32_t value = o->kind == 'd' ? ABSENT : o->value;
    if (k->writer != p->n) {
        k->writer = p->n;
        k->installed = (uint32_t)p->n_installs++;
    }
    p->installs[k->installed] = (install){k->number - 1, value, p->n};
    return true;
}

static bool read_read(plain *p, const ratel_txn_info *t, const ratel_op_info *o)
{
    key_state *k = &p->key[o->key];
    uint32_t value = o->absent ? ABSENT : o->value;
    if (!o->known) return true;
    if (k->writer == p->n) {
        if (p->installs[k->installed].value == value) return true;
        if (!p->must)
            return stop(p, t->id,
                        "does not read its own write; levels defined in files need --ryow must");
        if (!p->maybe[p->n]) return is_violated(p, t->id, "does not read its own write");
        p->wanted[p->n_wanted++] = (wanted){.txn = p->n, .key = k->number - 1, .never = true};
        return true;
    }
    if (o->initial < 0) return stop(p, NULL, "the initial state is unknown");
    p->wanted[p->n_wanted++] = (wanted){p->n, k->number - 1, value, o->initial > 0, false};
    return true;
}

/* Transactions that took part or may have, and what they did. */
static bool collect(plain *p)
{
    ratel_txn_info t;
    ratel_op_info o;
    bool some = false;
    for (size_t i = 0; !ratel_history_txn_at(p->h, i, &t); i++) {
        if (t.status != RATEL_COMMITTED && t.status != RATEL_STATUS_UNKNOWN) continue;
        if (p->n == MOST_TXNS)
            return stop(p, NULL,
                        "levels defined in files are decided for at most 20000 transactions");
        p->session[++p->n] = t.session;
        p->maybe[p->n] = t.status == RATEL_STATUS_UNKNOWN;
        some |= t.status == RATEL_COMMITTED;
        for (size_t k = 0; k < t.ops; k++) {
            ratel_history_op_at(p->h, t.first_op + k, &o);
            if (o.failed) continue;
            if (!strchr("rwd", o.kind))
                return stop(p, t.id, "has operations other than reads and writes of keys");
            if (!p->key[o.key].number) p->key[o.key].number = ++p->keys;
            if (!(o.kind == 'r' ? read_read(p, &t, &o) : read_write(p, &o))) return false;
        }
    }
    return some || stop(p, NULL, "nothing to check: no transaction committed");
}

static int by_value(const void *a, const void *b)
{
    const install *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->txn < y->txn ? -1 : x->txn > y->txn;
}

/* The first install of this value, or of a later one. */
static size_t first_of(const plain *p, uint32_t key, uint32_t value)
{
    const install *all = p->installs;
    SEARCH_FIRST(size_t, i, 0, p->n_installs,
                 all[i].key > key || (all[i].key == key && all[i].value >= value));
    return i;
}

static bool push_candidate(plain *p, size_t *cap, uint32_t who)
{
    if (p->n_candidates == *cap) {
        size_t more = *cap ? *cap * 2 : 256;
        uint32_t *at = realloc(p->candidates, more * sizeof *at);
        if (!at) return stop(p, NULL, "out of memory");
        p->candidates = at;
        *cap = more;
    }
    p->candidates[p->n_candidates++] = who;
    return true;
}

/* Whom each read may read from: nobody only if the reader may not have happened. */
static bool find_candidates(plain *p)
{
    size_t cap = 0;
    for (size_t i = 0; i < p->n_installs; i++)
        p->writes[i] = (synth_write){p->installs[i].txn, p->installs[i].key};
    qsort(p->installs, p->n_installs, sizeof *p->installs, by_value);
    for (size_t i = 0; i < p->n_wanted; i++) {
        const wanted *w = &p->wanted[i];
        size_t start = p->n_candidates;
        if (w->initial && !push_candidate(p, &cap, 0)) return false;
        for (size_t k = first_of(p, w->key, w->value);
             !w->never && k < p->n_installs && p->installs[k].key == w->key &&
             p->installs[k].value == w->value;
             k++)
            if (p->installs[k].txn != w->txn && !push_candidate(p, &cap, p->installs[k].txn))
                return false;
        p->reads[i] =
            (synth_read){w->txn, w->key, (uint32_t)start, (uint32_t)(p->n_candidates - start)};
        if (p->n_candidates == start && !p->maybe[w->txn])
            return is_violated(p, NULL, "a read returned a value that no transaction left behind");
        if (p->n_candidates > UINT32_MAX / 2) return stop(p, NULL, "too many equal values");
    }
    return true;
}

typedef struct iso_answer {
    const char *history, *given, *level, *verdict, *reason;
    bool order;
    const char *anomaly;
    const uint64_t *work;
} iso_answer;

static void print_iso_json(FILE *out, const args *a, const ratel_history *h, const iso_answer *r)
{
    static const char *const solver[] = {"vars", "clauses", "conflicts", "instantiated"};
    ratel_stat n = {0};
    json_writer to = json_file(out), *w = &to;
    ratel_history_stat(&n, a->context, h);
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", r->history);
    jw_member_text(w, "format", ratel_history_format(h));
    jw_member_text(w, "level", r->level);
    jw_member_text(w, "given", r->given);
    jw_member_bool(w, "session_order", r->order);
    jw_member_text(w, "ryow", a->value[O_RYOW] ? a->value[O_RYOW] : "must");
    jw_member_text(w, "verdict", r->verdict);
    jw_member_text(w, "reason", r->reason);
    if (r->anomaly) jw_member_text(w, "anomaly", r->anomaly);
    jw_member_u64(w, "txns", n.txns);
    jw_member_u64(w, "ops", n.ops);
    jw_member_u64(w, "sessions", n.sessions);
    jw_member_u64(w, "keys", n.keys);
    jw_member_array(w, "warnings");
    jw_end_array(w);
    jw_member_object(w, "solver");
    for (size_t i = 0; i < sizeof solver / sizeof *solver; i++)
        jw_member_u64(w, solver[i], r->work[i]);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_line(w);
}

static void release(plain *p)
{
    free(p->key);
    free(p->session);
    free(p->maybe);
    free(p->installs);
    free(p->wanted);
    free(p->writes);
    free(p->reads);
    free(p->candidates);
}

/* 1, 0; < 0: undecided.  The reason is in why. */
static int decide_plain(plain *p, synth *s, int level, bool order)
{
    bool searched = false;
    if (!allocate(p) || !collect(p) || !find_candidates(p)) return p->broken ? 0 : -1;
    synth_facts f = {.txns = p->n,
                     .keys = p->keys,
                     .sessions = p->sessions,
                     .maybe = p->maybe,
                     .session = order ? p->session : NULL,
                     .write = p->writes,
                     .n_writes = p->n_installs,
                     .read = p->reads,
                     .n_reads = p->n_wanted,
                     .candidate = p->candidates};
    int got = synth_decide(s, level, &f, &searched);
    if (got < 0)
        snprintf(p->why, sizeof p->why, "%.150s", synth_error(s, NULL, NULL));
    else if (searched)
        snprintf(p->why, sizeof p->why, "%s choice satisfies all axioms; all choices were searched",
                 got ? "some" : "no");
    else
        snprintf(p->why, sizeof p->why, "the edges that the axioms force form %s cycle",
                 got ? "no" : "a");
    return got;
}

/* What no level can allow, however it is defined: results that no state of the database has.  The
   library finds them at its weakest level; it also says why there is nothing to check.  True if
   that is the answer. */
static bool settled_everywhere(const args *a, const ratel_history *h, plain *p, int *status)
{
    static const char *const impossible[] = {"duplicate-elements", "malformed-result"};
    ratel_result *r = NULL;
    ratel_stat n = {0};
    if (ratel_check(&r, a->context, h, "read-uncommitted")) return false;
    ratel_history_stat(&n, a->context, h);
    bool settled = false;
    if (!n.txns) {
        settled = true;
        *status = EXIT_UNDECIDED;
    }
    for (size_t i = 0; ratel_result_verdict(r) == RATEL_VIOLATED && i < 2; i++)
        if (!strcmp(ratel_result_anomaly(r), impossible[i])) {
            settled = true;
            p->anomaly = impossible[i];
            *status = EXIT_VIOLATED;
        }
    if (settled)
        snprintf(p->why, sizeof p->why, "%.*s", (int)sizeof p->why - 1, ratel_result_reason(r));
    ratel_result_free(r);
    return settled;
}

/* By the engine; false: it does not understand the definition or the history, and *d says what. */
static bool ask_engine(const args *a, const synth *s, int level, const ratel_history *h, plain *p,
                       ratel_definition *d)
{
    const char *text = synth_level_text(s, level);
    int code =
        ratel_check_definition(d, a->context, h, text, strlen(text), synth_level_name(s, level));
    p->anomaly = d->anomaly;
    p->work[0] = d->vars;
    p->work[1] = d->clauses;
    p->work[2] = d->conflicts;
    p->work[3] = d->instantiated;
    if (code)
        snprintf(p->why, sizeof p->why, "%.300s", ratel_errmsg(a->context));
    else
        snprintf(p->why, sizeof p->why, "%.*s", (int)sizeof p->why - 1, d->reason);
    return code || (!d->outside && !d->unfit);
}

static int forget_bytes(const void *bytes, size_t n, void *payload)
{
    (void)bytes, (void)n, (void)payload;
    return 0;
}

/* Levels that speak of clocks or of program order, and histories with hints: by the clauses of
   certificates, which know them (up to 64 transactions).  1: holds, 0: violated, -1: undecided. */
static int decide_by_clauses(const args *a, const synth *s, int level, const ratel_history *h,
                             plain *p)
{
    const char *text = synth_level_text(s, level);
    ratel_verdict v;
    if (ratel_certify_definition(&v, a->context, h, text, strlen(text), synth_level_name(s, level),
                                 forget_bytes, NULL)) {
        static const char mark[] = "too-large: "; /* a word for programs that read certificates */
        const char *why = ratel_errmsg(a->context);
        if (!strncmp(why, mark, sizeof mark - 1)) why += sizeof mark - 1;
        snprintf(p->why, sizeof p->why, "%.300s", why);
        return -1;
    }
    snprintf(p->why, sizeof p->why,
             v == RATEL_HOLDS ? "a choice satisfies all axioms"
                              : "no choice satisfies all axioms; all choices were searched");
    return v == RATEL_HOLDS;
}

static bool has_hints(const args *a, const ratel_history *h)
{
    ratel_stat n = {0};
    ratel_history_stat(&n, a->context, h);
    return n.with_hints > 0;
}

static bool counts_aborted(const args *a)
{
    const char *given = a->value[O_ABORTED_READS];
    return given && !strcmp(given, "reads");
}

/* The exit status of the answer; p is to be released, and p->why says why. */
static int decide_history(const args *a, synth *s, int level, const ratel_history *h, plain *p)
{
    const char *so = a->value[O_SESSION_ORDER], *ryow = a->value[O_RYOW];
    ratel_definition d = {.verdict = RATEL_UNDECIDED};
    int status;
    *p = (plain){.h = h, .must = !ryow || !strcmp(ryow, "must")};
    if (ask_engine(a, s, level, h, p, &d))
        return d.verdict == RATEL_HOLDS      ? EXIT_HOLDS
               : d.verdict == RATEL_VIOLATED ? EXIT_VIOLATED
                                             : EXIT_UNDECIDED;
    if (settled_everywhere(a, h, p, &status)) return status;
    /* (hints are read by the clauses, too, and not by the plain search) */
    bool steps = synth_level_has_steps(s, level) || has_hints(a, h);
    if (counts_aborted(a) && !steps) {
        size_t at = strlen(p->why);
        snprintf(p->why + at, sizeof p->why - at,
                 "; and this search does not decide --aborted reads");
        return EXIT_UNDECIDED;
    }
    int got = steps ? decide_by_clauses(a, s, level, h, p)
                    : decide_plain(p, s, level, !so || strcmp(so, "off") != 0);
    size_t n = strlen(p->why);
    if (d.outside && !p->broken && !strstr(p->why, d.reason))
        snprintf(p->why + n, sizeof p->why - n,
                 "; the engine of the built-in levels does not handle %.200s", d.reason);
    return got < 0 ? EXIT_UNDECIDED : got ? EXIT_HOLDS : EXIT_VIOLATED;
}

int decide_iso(const args *a, synth *s, int level, const ratel_history *h, char *why, size_t n)
{
    plain p;
    int status = decide_history(a, s, level, h, &p);
    if (why) snprintf(why, n, "%s", p.why);
    release(&p);
    return status;
}

/* No choice: who took part is known, and each reads a key from one only. */
static bool is_settled(const plain *p, uint32_t *from)
{
    for (uint32_t t = 1; t <= p->n; t++)
        if (p->maybe[t]) return false;
    for (size_t i = 0; i < p->n_wanted; i++) {
        const synth_read *r = &p->reads[i];
        uint32_t *cell = &from[(size_t)r->txn * p->keys + r->key];
        if (r->n != 1 || (*cell != SYNTH_NONE_READ && *cell != p->candidates[r->first]))
            return false;
        *cell = p->candidates[r->first];
    }
    return true;
}

static int why_settled(const plain *p, synth *s, int level, bool order, const char *const **lines,
                       size_t *n)
{
    size_t cells = (size_t)(p->n + 1) * p->keys, pairs = (size_t)(p->n + 1) * (p->n + 1);
    uint32_t *from = malloc((cells + 1) * sizeof *from);
    bool *writes = calloc(cells + 1, sizeof *writes), *so = calloc(pairs + 1, sizeof *so);
    int code = from && writes && so ? RATEL_OK : RATEL_ENOMEM;
    for (size_t i = 0; !code && i < cells; i++) from[i] = SYNTH_NONE_READ;
    if (!code && is_settled(p, from)) {
        for (uint32_t x = 0; x < p->keys; x++) writes[x] = true;
        for (size_t i = 0; i < p->n_installs; i++)
            writes[(size_t)p->writes[i].txn * p->keys + p->writes[i].key] = true;
        for (uint32_t b = 1; b <= p->n; b++) {
            so[b] = true;
            for (uint32_t a = 1; order && a < b; a++)
                so[(size_t)a * (p->n + 1) + b] = p->session[a] == p->session[b];
        }
        code = synth_why(s, level, p->n, p->keys, from, writes, so, lines, n);
    }
    free(from);
    free(writes);
    free(so);
    return code;
}

int why_iso(const args *a, synth *s, int level, const ratel_history *h, const char *const **lines,
            size_t *n)
{
    const char *so = a->value[O_SESSION_ORDER];
    plain p = {.h = h, .must = true};
    *n = 0;
    int code = RATEL_OK;
    if (counts_aborted(a)) return code; /* these lines are of committed transactions */
    if (allocate(&p) && collect(&p) && find_candidates(&p) && p.n <= SYNTH_MAX_TXNS)
        code = why_settled(&p, s, level, !so || strcmp(so, "off") != 0, lines, n);
    release(&p);
    return code;
}

int check_iso(const args *a, synth *s, int level, const char *given, const ratel_history *h,
              const char *history, FILE *out)
{
    plain p;
    const char *so = a->value[O_SESSION_ORDER];
    int status = decide_history(a, s, level, h, &p);
    const char *verdict = status == EXIT_HOLDS      ? "holds"
                          : status == EXIT_VIOLATED ? "violated"
                                                    : "undecided";
    if (a->value[O_JSON]) {
        iso_answer r = {history,   given, synth_level_name(s, level),
                        verdict,   p.why, !so || strcmp(so, "off") != 0,
                        p.anomaly, p.work};
        print_iso_json(out, a, h, &r);
    } else {
        visible_to(out, history);
        fprintf(out, ": %s %s: %s\n", synth_level_name(s, level), verdict, p.why);
    }
    release(&p);
    return status;
}
