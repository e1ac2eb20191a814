/*
 * certificate.c - reading a certificate against a history.
 *
 * The head must fit the history; then the body is proved: an order by recheck.c, a contradiction
 * step by step by proof_check.c.  Whatever the text names must exist in the history, else the text
 * is wrong (GUARD_PARSE); whatever it claims and the history does not show is a refusal.
 */
#include "verify/certificate.h"

#include <inttypes.h>
#include <stdio.h>

#include "history/aborted_readers.h"
#include "history/header_notes.h"
#include "verify/assumptions_text.h"
#include "verify/certificate_parse.h"
#include "verify/changes_text.h"
#include "verify/iso_proof.h"
#include "verify/proof_check.h"
#include "verify/recheck.h"

static const char *const policies[] = {"must", "external", "may"};

/* The history as it was read: before what modules changed, and before aborted transactions took
   part with their reads. */
static const history *as_read(const history *h)
{
    h = history_as_recorded(h);
    return h->edited ? h->original : h;
}

void certificate_head(strbuf *b, const claim *c, const claim *shown, const history *h,
                      const uint8_t *assumed)
{
    strbuf_printf(b, "ratel-certificate %d\n", CERTIFICATE_VERSION);
    strbuf_printf(b, "level %s\nsession-order %s\n", c->level.name,
                  c->session_order ? "on" : "off");
    strbuf_printf(b, "ryow %s\ndrift %" PRId64 "\n", policies[c->ryow], c->drift);
    const history *recorded = as_read(h);
    strbuf_printf(b, "txns %zu\nops %zu\nhistory %016" PRIx64 "\n", recorded->txns, recorded->ops,
                  certificate_hash(recorded, b->mem));
    if (h->recorded) strbuf_str(b, "aborted reads\n");
    if (h->edited) changes_write(b, recorded, h->edited);
    if (h->assumed) assumptions_write(b, h, h->assumed, assumed);
    if (c->trusted) strbuf_str(b, "timestamps trusted\n");
    if (strcmp(c->level.name, shown->level.name) || c->session_order != shown->session_order)
        strbuf_printf(b, "through %s %s\n", shown->level.name, shown->session_order ? "on" : "off");
    strbuf_printf(b, "verdict %s\n", c->outcome == OUTCOME_HOLDS ? "holds" : "violated");
}

static void need_line(parser *p, const char *word)
{
    if (parse_line(p)) return;
    guard_set_position(p->guard, p->line + 1, 1);
    guard_fail(p->guard, GUARD_PARSE, "\"%s\" expected: the certificate is cut off", word);
}

/* The rest of the line `word VALUE`. */
static void value(parser *p, const char *word, const char **s, size_t *n)
{
    const char *w;
    size_t k;
    if (!parse_word(p, &w, &k) || !parse_is(w, k, word))
        parse_fail(p, p->begin, "\"%s\" expected", word);
    parse_need(p, "a value", s, n);
}

/* The line `word VALUE`. */
static void field(parser *p, const char *word, const char **s, size_t *n)
{
    need_line(p, word);
    value(p, word, s, n);
    parse_no_more(p);
}

static unsigned which(parser *p, const char *word, const char *s, size_t n,
                      const char *const *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (parse_is(s, n, values[i])) return i;
    parse_fail(p, s, "no such %s", word);
}

static unsigned one_of(parser *p, const char *word, const char *const *values, unsigned count)
{
    const char *s;
    size_t n;
    field(p, word, &s, &n);
    return which(p, word, s, n, values, count);
}

/* The name alone: that of a definition, or of a level that read_level knows. */
static void read_level_name(parser *p, const char *s, size_t n, claim *c)
{
    memset(&c->level, 0, sizeof c->level);
    if (n >= sizeof c->level.name) parse_fail(p, s, "no level of that name");
    memcpy(c->level.name, s, n);
}

static bool level_known(claim *c)
{
    level_ref given = c->level;
    return level_named(&c->level, given.name) && !strcmp(given.name, c->level.name);
}

static void read_level(parser *p, const char *s, size_t n, claim *c)
{
    read_level_name(p, s, n, c);
    if (!level_known(c)) parse_fail(p, s, "no level of that name");
}

static const char *const switches[] = {"off", "on"};

/* The next line if it begins with the word, which is then read; else it comes once more. */
static bool next_line_is(parser *p, const char *word)
{
    const char *s;
    size_t n;
    need_line(p, "verdict");
    if (parse_word(p, &s, &n) && parse_is(s, n, word)) return true;
    p->at = (size_t)(p->begin - p->text);
    p->line--;
    return false;
}

/* `definition N` and its lines, in place of the line that comes next: the level in text. */
static void read_definition(parser *p, certificate_answer *a)
{
    if (!next_line_is(p, "definition")) return;
    uint64_t lines = parse_u64(p, "a number of lines");
    parse_no_more(p);
    a->definition = iso_definition(p, lines, &a->definition_length);
}

/* `aborted reads`, in place of the line that comes next: those of aborted transactions count. */
static bool read_aborted(parser *p)
{
    const char *s;
    size_t n;
    if (!next_line_is(p, "aborted")) return false;
    parse_need(p, "\"reads\"", &s, &n);
    if (!parse_is(s, n, "reads")) parse_fail(p, s, "\"reads\" expected");
    parse_no_more(p);
    return true;
}

/* `timestamps trusted`, in place of the line that comes next: the claim is by them. */
static bool read_timestamps(parser *p)
{
    const char *s;
    size_t n;
    if (!next_line_is(p, "timestamps")) return false;
    parse_need(p, "\"trusted\"", &s, &n);
    if (!parse_is(s, n, "trusted")) parse_fail(p, s, "\"trusted\" expected");
    parse_no_more(p);
    return true;
}

/* `through LEVEL on|off`, in place of the line that comes next: another level, which settles it. */
static bool read_through(parser *p, claim *shown)
{
    const char *s;
    size_t n;
    if (!next_line_is(p, "through")) return false;
    parse_need(p, "a level", &s, &n);
    read_level(p, s, n, shown);
    parse_need(p, "on or off", &s, &n);
    shown->session_order = which(p, "session order", s, n, switches, 2) == 1;
    parse_no_more(p);
    return true;
}

static bool settles_session_order(const claim *c)
{
    return c->session_order == level_session_order(&c->level, c->session_order);
}

/* What the certificate is about: the history as it was recorded, and as a module changed it. */
typedef struct subject {
    const history *recorded, *judged;
    history *empty; /* where changes are applied, or NULL */
    const history *given;
} subject;

static bool same_edits(const edits *a, const edits *b)
{
    for (size_t i = 0; i < a->at.n && a->at.n == b->at.n; i++)
        if (memcmp(&a->at.at[i], &b->at.at[i], sizeof *a->at.at)) return false;
    return a->at.n == b->at.n;
}

/* `changes N MODULE` and its lines: from here on names are those of the changed history. */
static void read_changes(parser *p, certificate_answer *a, subject *of)
{
    edits e = {0};
    mem *m = p->names.m;
    changes_read(p, of->recorded, &e, m);
    a->changed_by = e.module;
    a->changes = e.at.n;
    if (of->given->edited && same_edits(of->given->edited, &e)) {
        of->judged = of->given;
    } else {
        if (!of->empty || of->empty->frozen)
            guard_fail(p->guard, GUARD_UNSUPPORTED, "the changes are not those of the history");
        edits_apply(of->empty, of->recorded, &e);
        of->judged = of->empty;
    }
    names_init(&p->names, of->judged, m);
}

/* A counter or a bank, of which the operations of transactions do not tell. */
static bool has_sums(const history *h)
{
    static const char *const models[] = {"\"counter\"", "\"bank\""};
    const extra *e = history_header_member(h, "model");
    if (!e) return false;
    atom a = value_atom(h, e->text);
    for (size_t i = 0; i < 2; i++)
        if (a.len == strlen(models[i]) && !memcmp(atom_bytes(h, a), models[i], a.len)) return true;
    return false;
}

/* False, with the reason, if the certificate is of another history or question. */
static bool read_head(parser *p, certificate_answer *a, claim *shown, subject *of)
{
    const history *h = of->recorded;
    static const char *const verdicts[] = {"holds", "violated"};
    claim *c = &a->claim;
    const char *s;
    size_t n;
    field(p, "ratel-certificate", &s, &n);
    if (parse_number(p, "a version", s, n) != CERTIFICATE_VERSION)
        parse_fail(p, s, "version %.*s; this program reads version %d", (int)(n < 20 ? n : 20), s,
                   CERTIFICATE_VERSION);
    field(p, "level", &s, &n);
    read_level_name(p, s, n, c);
    uint64_t level_line = p->line, level_column = (uint64_t)(s - p->begin) + 1;
    c->session_order = one_of(p, "session-order", switches, 2) == 1;
    c->ryow = (enum ryow)one_of(p, "ryow", policies, 3);
    field(p, "drift", &s, &n);
    uint64_t drift = parse_number(p, "a number", s, n);
    if (drift > INT64_MAX) parse_fail(p, s, "a drift is at most %" PRId64, INT64_MAX);
    c->drift = (int64_t)drift;
    field(p, "txns", &s, &n);
    uint64_t txns = parse_number(p, "a number", s, n);
    field(p, "ops", &s, &n);
    uint64_t ops = parse_number(p, "a number", s, n);
    field(p, "history", &s, &n);
    char print[17];
    snprintf(print, sizeof print, "%016" PRIx64, certificate_hash(h, p->names.m));
    bool same = parse_is(s, n, print) && txns == h->txns && ops == h->ops;
    a->aborted_read = read_aborted(p);
    read_definition(p, a);
    if (same && !a->definition && next_line_is(p, "changes")) read_changes(p, a, of);
    if (!a->definition && next_line_is(p, "assumptions")) {
        a->assumed = assumptions_read(p, p->names.m);
        a->assumed_of = p->names.h;
    }
    if (!a->definition && !level_known(c)) {
        guard_set_position(p->guard, level_line, level_column);
        guard_fail(p->guard, GUARD_PARSE, "no level of that name");
    }
    c->trusted = !a->definition && read_timestamps(p);
    *shown = *c;
    bool through = !a->definition && read_through(p, shown);
    c->outcome = one_of(p, "verdict", verdicts, 2) ? OUTCOME_VIOLATED : OUTCOME_HOLDS;
    shown->outcome = c->outcome;
    if (!same) {
        a->why = "the certificate is of another history";
        return false;
    }
    if (has_sums(h)) {
        a->why = "certificates say nothing about the sums of counters and banks";
        return false;
    }
    if (a->definition) return true;
    if (!settles_session_order(c) || !settles_session_order(shown)) {
        a->why = "the level does not leave session order to choose";
        return false;
    }
    bool holds = c->outcome == OUTCOME_HOLDS;
    if (a->assumed && (through || c->trusted)) {
        a->why = "under assumptions the level itself is to be shown, without timestamps";
        return false;
    }
    if (through && c->trusted && !holds) {
        a->why = "a violation by timestamps is one of the level itself";
        return false;
    }
    if (through && !claim_implies(holds ? shown : c, holds ? c : shown)) {
        a->why = "the level shown does not settle the one claimed";
        return false;
    }
    if (through && !recheck_mixture_defined(h, c->level.id)) {
        a->why = "a transaction names a level that has no rule in a mixture";
        return false;
    }
    checker single = {.v = c, .h = h, .m = p->names.m};
    if (through && !recheck_single(&single)) {
        a->why = single.why;
        return false;
    }
    return true;
}

/* The last line, `end LINES`. */
bool certificate_at_end(parser *p, const char *s, size_t n, uint64_t lines)
{
    if (!parse_is(s, n, "end")) return false;
    const char *at = p->now;
    if (parse_u64(p, "a number of lines") != lines)
        parse_fail(p, at, "there are %" PRIu64 " lines", lines);
    parse_no_more(p);
    if (p->at < p->n) {
        parse_line(p);
        parse_fail(p, p->begin, "nothing may follow the end");
    }
    return true;
}

static _Noreturn void cut_off(parser *p)
{
    guard_set_position(p->guard, p->line + 1, 1);
    guard_fail(p->guard, GUARD_PARSE, "no \"end\": the certificate is cut off");
}

void certificate_body_line(parser *p)
{
    if (!parse_line(p)) cut_off(p);
}

/* The operation of t that a number names. */
static op_id op_numbered(parser *p, const history *h, txn_id t, uint64_t i, const char *at)
{
    if (i >= h->txn_op[t + 1] - h->txn_op[t])
        parse_fail(p, at, "the transaction has no such operation");
    return h->txn_op[t] + (op_id)i;
}

/* T I K W */
static chosen read_choice(parser *p, const history *h)
{
    txn_id t = parse_txn_word(p, false);
    const char *at = p->now;
    chosen x = {op_numbered(p, h, t, parse_u64(p, "the number of an operation"), at), 0, 0};
    x.key = parse_key_word(p);
    x.writer = parse_txn_word(p, true);
    return x;
}

/* T: its snapshot.  T.I: its current statements from operation I on. */
static order_point read_point(parser *p, const history *h)
{
    const char *s;
    size_t n;
    parse_need(p, "a point", &s, &n);
    order_point x = {parse_txn(p, &s, &n, false), NO_ID};
    if (!n) return x;
    if (*s != '.') parse_fail(p, s, "a point expected");
    uint64_t i = parse_number(p, "the number of an operation", s + 1, n - 1);
    x.op = op_numbered(p, h, x.txn, i, s + 1);
    return x;
}

void certificate_replay(parser *p, certificate_answer *a, claim *c, const history *h, mem *m)
{
    bool split = c->level.id == LEVEL_INNODB_RR || c->level.id == LEVEL_INNODB_RR_TIGHT;
    txn_ids order = {0};
    const char *s;
    size_t n;
    for (;; a->steps++) {
        if (!parse_line(p)) cut_off(p);
        parse_need(p, "a word", &s, &n);
        if (certificate_at_end(p, s, n, a->steps)) break;
        if (parse_is(s, n, "order")) {
            do vec_push(m, &order, parse_txn_word(p, false));
            while (p->now != p->end);
        } else if (parse_is(s, n, "reads")) {
            chosen x = read_choice(p, h);
            vec_push(m, &c->choices, x);
        } else if (split && parse_is(s, n, "points")) {
            do {
                order_point x = read_point(p, h);
                vec_push(m, &c->points, x);
            } while (p->now != p->end);
        } else if (split && parse_is(s, n, "point-reads")) {
            chosen x = read_choice(p, h);
            vec_push(m, &c->point_choices, x);
        } else if (h->assumed && parse_is(s, n, "events")) {
            do {
                parse_need(p, "an event", &s, &n);
                ordered_event x = assumptions_read_event(p, &s, &n, h->assumed->points);
                if (n) parse_fail(p, s, "the event should end here");
                vec_push(m, &c->events, x);
            } while (p->now != p->end);
        } else {
            parse_fail(p, s, "\"order\", \"reads\" or \"end\" expected");
        }
        parse_no_more(p);
    }
    if (order.n > UINT32_MAX - 16 || c->points.n > UINT32_MAX - 16 ||
        c->choices.n > UINT32_MAX - 16 || c->point_choices.n > UINT32_MAX / 4) {
        a->why = "the order is too long";
        return;
    }
    c->order = order.at;
    c->ordered = (uint32_t)order.n;
    a->proved = claim_recheck(c, h, m, &a->why);
    if (a->proved && c->trusted) a->proved = claim_trusted(c, h, m, &a->why);
}

static bool step_named(const char *s, size_t n, enum proof_step *kind)
{
    for (unsigned i = 0; i < PROOF_STEPS; i++)
        if (parse_is(s, n, proof_step_word((enum proof_step)i))) {
            *kind = (enum proof_step)i;
            return true;
        }
    return false;
}

static void read_violated(parser *p, certificate_answer *a, const claim *c, const history *h,
                          mem *m)
{
    prover *x = prover_new(m, h, c, &a->why);
    bool going = x != NULL;
    const char *s;
    size_t n;
    for (;; a->steps++) {
        enum proof_step kind;
        if (!parse_line(p)) cut_off(p);
        parse_need(p, "the number of a step", &s, &n);
        if (certificate_at_end(p, s, n, a->steps)) break;
        if (parse_number(p, "the number of a step", s, n) != a->steps + 1)
            parse_fail(p, s, "this is step %" PRIu64, a->steps + 1);
        if (!going) continue; /* refused already; the rest only has to be there */
        parse_need(p, "a kind of step", &s, &n);
        if (!step_named(s, n, &kind)) parse_fail(p, s, "no kind of step has that name");
        going = prover_step(x, p, kind);
        if (going) parse_no_more(p);
        if (!going) {
            strbuf b;
            strbuf_init(&b, m);
            strbuf_printf(&b, "step %" PRIu64 " (%.*s): %s", a->steps + 1, (int)n, s, a->why);
            a->why = strbuf_cstr(&b);
        }
    }
    a->proved = going && prover_done(x);
    if (going && !a->proved) a->why = "the steps do not end in a contradiction";
}

/* What the timestamps contradict, in one line:
     stamped-read T I K        stamped-scan T I
     stamped-overlap K A B     stamped-session A B */
static void read_stamped(parser *p, claim *c, const history *h, mem *m)
{
    const char *s;
    size_t n;
    txn_id t;
    parse_need(p, "a word", &s, &n);
    bool read = parse_is(s, n, "stamped-read"), scan = parse_is(s, n, "stamped-scan");
    bool overlap = parse_is(s, n, "stamped-overlap");
    c->at_op = NO_ID;
    c->at_key = NO_ID;
    c->core.n = 0;
    if (read || scan) {
        t = parse_txn_word(p, false);
        const char *at = p->now;
        c->at_op = op_numbered(p, h, t, parse_u64(p, "the number of an operation"), at);
        if (read) c->at_key = parse_key_word(p);
        vec_push(m, &c->core, t);
    } else if (overlap || parse_is(s, n, "stamped-session")) {
        if (overlap) c->at_key = parse_key_word(p);
        txn_id first = parse_txn_word(p, false);
        t = parse_txn_word(p, false);
        vec_push(m, &c->core, t); /* the later one first */
        vec_push(m, &c->core, first);
    } else {
        parse_fail(p, s,
                   "\"stamped-read\", \"stamped-scan\", \"stamped-overlap\" or "
                   "\"stamped-session\" expected");
    }
    parse_no_more(p);
}

static void read_violated_stamps(parser *p, certificate_answer *a, claim *c, const history *h,
                                 mem *m)
{
    const char *s;
    size_t n;
    if (!parse_line(p)) cut_off(p);
    read_stamped(p, c, h, m);
    a->steps = 1;
    if (!parse_line(p)) cut_off(p);
    parse_need(p, "a word", &s, &n);
    if (!certificate_at_end(p, s, n, a->steps)) parse_fail(p, s, "\"end 1\" expected");
    a->proved = claim_trusted(c, h, m, &a->why);
}

void certificate_verify(certificate_answer *out, const char *text, size_t n, const history *h,
                        history *changed, mem *m)
{
    memset(out, 0, sizeof *out);
    parser p = {.text = text, .n = n, .begin = text, .guard = m->guard};
    subject of = {.recorded = as_read(h), .empty = changed, .given = history_as_recorded(h)};
    of.judged = of.recorded;
    names_init(&p.names, of.recorded, m);
    claim shown;
    if (!read_head(&p, out, &shown, &of)) return;
    h = out->aborted_read ? verify_aborted_parts(of.judged, m) : of.judged;
    if (out->definition) {
        iso_verify(&p, out, out->definition, out->definition_length, out->claim.level.name, h, m);
        return;
    }
    /* What counts is what the certificate declares, and nothing that is known otherwise. */
    history under = *h;
    under.assumed = out->assumed;
    if (shown.outcome == OUTCOME_HOLDS)
        certificate_replay(&p, out, &shown, &under, m);
    else if (shown.trusted)
        read_violated_stamps(&p, out, &shown, &under, m);
    else
        read_violated(&p, out, &shown, &under, m);
}
