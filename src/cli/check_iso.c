/*
 * check_iso.c - check --level FILE.iso: a level written by the user, on a small history, exactly.
 *
 * The language speaks of whole transactions: what each reads first and from whom, what it leaves
 * behind.  A history that says more, or less (unknown outcomes, equal values, reads of what nobody
 * left behind), is not judged: undecided, with what stands in the way.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/synth_cli.h"

#define MOST_TXNS 64
#define MOST_KEYS 1024

typedef struct plain {
    uint32_t n, keys; /* committed transactions 1..n; keys that occur */
    uint32_t *key;    /* number here by number of the history, plus one; 0: not seen */
    uint32_t *txn;    /* [1..n]: its index in the history */
    uint32_t *from;
    bool *writes, *so;
    uint32_t *value; /* [t * keys + x]: what t leaves behind */
    char why[200];
} plain;

static bool stop(plain *p, const char *id, const char *why)
{
    snprintf(p->why, sizeof p->why, "%s%s%s", id ? id : "", id ? " " : "", why);
    return false;
}

static bool count(plain *p, const ratel_history *h)
{
    ratel_txn_info t;
    ratel_op_info o;
    size_t most_key = 0;
    for (size_t i = 0; !ratel_history_op_at(h, i, &o); i++)
        if ((o.kind == 'r' || o.kind == 'w') && o.key >= most_key) most_key = (size_t)o.key + 1;
    p->key = calloc(most_key + 1, sizeof *p->key);
    p->txn = calloc(MOST_TXNS + 1, sizeof *p->txn);
    if (!p->key || !p->txn) return stop(p, NULL, "out of memory");
    for (size_t i = 0; !ratel_history_txn_at(h, i, &t); i++) {
        if (t.status == RATEL_STATUS_UNKNOWN)
            return stop(p, t.id, "has an unknown outcome, which levels from files do not handle");
        if (t.status != RATEL_COMMITTED) continue;
        if (p->n == MOST_TXNS)
            return stop(p, NULL, "levels from files are decided up to 64 transactions");
        p->txn[++p->n] = (uint32_t)i;
        for (size_t k = 0; k < t.ops; k++) {
            ratel_history_op_at(h, t.first_op + k, &o);
            if (o.failed) continue;
            if (o.kind != 'r' && o.kind != 'w')
                return stop(p, t.id, "does more than read and write keys");
            if (!p->key[o.key]) p->key[o.key] = ++p->keys;
        }
    }
    if (!p->n) return stop(p, NULL, "nothing to check: no transaction committed");
    if (p->keys > MOST_KEYS) return stop(p, NULL, "levels from files are decided up to 1024 keys");
    size_t cells = (size_t)(p->n + 1) * (p->keys + 1);
    p->from = malloc(cells * sizeof *p->from);
    p->writes = calloc(cells, sizeof *p->writes);
    p->value = calloc(cells, sizeof *p->value);
    p->so = calloc((size_t)(p->n + 1) * (p->n + 1), sizeof *p->so);
    if (!p->from || !p->writes || !p->value || !p->so) return stop(p, NULL, "out of memory");
    for (size_t i = 0; i < cells; i++) p->from[i] = SYNTH_NONE_READ;
    return true;
}

/* What each leaves behind; and that no two leave the same, the initial state included. */
static bool read_writes(plain *p, const ratel_history *h)
{
    ratel_txn_info info;
    ratel_op_info o;
    for (uint32_t x = 0; x < p->keys; x++) p->writes[x] = true;
    for (uint32_t t = 1; t <= p->n; t++) {
        ratel_history_txn_at(h, p->txn[t], &info);
        for (size_t k = 0; k < info.ops; k++) {
            ratel_history_op_at(h, info.first_op + k, &o);
            if (o.failed || o.kind != 'w') continue;
            size_t cell = (size_t)t * p->keys + p->key[o.key] - 1;
            if (o.initial) return stop(p, info.id, "writes the initial value: not unique");
            p->writes[cell] = true;
            p->value[cell] = o.value;
        }
    }
    for (uint32_t x = 0; x < p->keys; x++)
        for (uint32_t t = 1; t <= p->n; t++)
            for (uint32_t u = 1; u < t; u++) {
                size_t a = (size_t)t * p->keys + x, b = (size_t)u * p->keys + x;
                if (p->writes[a] && p->writes[b] && p->value[a] == p->value[b])
                    return stop(p, NULL, "values are not unique: a key gets the same one twice");
            }
    return true;
}

static uint32_t writer_of(const plain *p, uint32_t x, const ratel_op_info *o)
{
    if (o->initial) return 0;
    for (uint32_t t = 1; t <= p->n; t++)
        if (p->writes[(size_t)t * p->keys + x] && p->value[(size_t)t * p->keys + x] == o->value)
            return t;
    return SYNTH_NONE_READ;
}

static bool read_reads(plain *p, const ratel_history *h)
{
    ratel_txn_info info;
    ratel_op_info o;
    uint32_t *own = calloc((size_t)p->keys + 1, sizeof *own); /* operation + 1 of its last write */
    bool ok = own || stop(p, NULL, "out of memory");
    for (uint32_t t = 1; ok && t <= p->n; t++) {
        ratel_history_txn_at(h, p->txn[t], &info);
        memset(own, 0, ((size_t)p->keys + 1) * sizeof *own);
        for (size_t k = 0; ok && k < info.ops; k++) {
            ratel_history_op_at(h, info.first_op + k, &o);
            if (o.failed) continue;
            uint32_t x = p->key[o.key] - 1;
            size_t cell = (size_t)t * p->keys + x;
            if (o.kind == 'w') {
                own[x] = (uint32_t)k + 1;
                continue;
            }
            if (!o.known) continue;
            if (own[x]) {
                ratel_op_info w;
                ratel_history_op_at(h, info.first_op + own[x] - 1, &w);
                ok = w.value == o.value || stop(p, info.id, "does not read its own write");
                continue;
            }
            uint32_t who = writer_of(p, x, &o);
            if (who == SYNTH_NONE_READ)
                ok = stop(p, info.id, "reads what no committed transaction left behind");
            else if (who == t)
                ok = stop(p, info.id, "reads what it writes later");
            else if (p->from[cell] != SYNTH_NONE_READ && p->from[cell] != who)
                ok = stop(p, info.id, "reads two values of one key");
            else
                p->from[cell] = who;
        }
    }
    free(own);
    return ok;
}

static void read_sessions(plain *p, const ratel_history *h, bool order)
{
    ratel_txn_info a, b;
    for (uint32_t t = 1; t <= p->n; t++) {
        p->so[t] = true;
        ratel_history_txn_at(h, p->txn[t], &b);
        for (uint32_t u = 1; order && u < t; u++) {
            ratel_history_txn_at(h, p->txn[u], &a);
            p->so[(size_t)u * (p->n + 1) + t] = a.session == b.session;
        }
    }
}

typedef struct iso_answer {
    const char *history, *given, *level, *verdict, *reason;
    bool order;
} iso_answer;

static void print_json(FILE *out, const args *a, const ratel_history *h, const iso_answer *r)
{
    ratel_stat n = {0};
    const char *ryow = a->value[O_RYOW] ? a->value[O_RYOW] : "must";
    ratel_history_stat(&n, a->context, h);
    fputs("{\"schema\":1,\"history\":", out);
    json_text_to(out, r->history);
    fprintf(out, ",\"format\":\"%s\",\"level\":", ratel_history_format(h));
    json_text_to(out, r->level);
    fputs(",\"given\":", out);
    json_text_to(out, r->given);
    fprintf(out, ",\"session_order\":%s,\"ryow\":\"%s\",\"verdict\":\"%s\",\"reason\":",
            r->order ? "true" : "false", ryow, r->verdict);
    json_text_to(out, r->reason);
    fprintf(out,
            ",\"txns\":%llu,\"ops\":%llu,\"sessions\":%llu,\"keys\":%llu,\"warnings\":[],"
            "\"solver\":{\"vars\":0,\"clauses\":0,\"conflicts\":0,\"instantiated\":0}}\n",
            (unsigned long long)n.txns, (unsigned long long)n.ops, (unsigned long long)n.sessions,
            (unsigned long long)n.keys);
}

/* The exit status of the answer; p->why says why, and p->n .. are to be freed. */
static int decide(const args *a, synth *s, int level, const ratel_history *h, plain *p)
{
    const char *so = a->value[O_SESSION_ORDER];
    if (!count(p, h) || !read_writes(p, h) || !read_reads(p, h)) return EXIT_UNDECIDED;
    read_sessions(p, h, !so || strcmp(so, "off") != 0);
    int got = synth_check(s, level, p->n, p->keys, p->from, p->writes, p->so, NULL);
    if (got < 0) {
        snprintf(p->why, sizeof p->why, "%.150s", synth_error(s, NULL, NULL));
        return EXIT_UNDECIDED;
    }
    snprintf(p->why, sizeof p->why,
             got ? "some choice keeps all axioms; all were searched, exactly"
                 : "no choice keeps all axioms; all were searched, exactly");
    return got ? EXIT_HOLDS : EXIT_VIOLATED;
}

static void plain_free(plain *p)
{
    free(p->key);
    free(p->txn);
    free(p->from);
    free(p->writes);
    free(p->so);
    free(p->value);
}

int decide_iso(const args *a, synth *s, int level, const ratel_history *h, char *why, size_t n)
{
    plain p = {0};
    int status = decide(a, s, level, h, &p);
    if (why) snprintf(why, n, "%s", p.why);
    plain_free(&p);
    return status;
}

int check_iso(const args *a, synth *s, int level, const char *given, const ratel_history *h,
              const char *history, FILE *out)
{
    plain p = {0};
    const char *so = a->value[O_SESSION_ORDER];
    int status = decide(a, s, level, h, &p);
    const char *verdict = status == EXIT_HOLDS      ? "holds"
                          : status == EXIT_VIOLATED ? "violated"
                                                    : "undecided";
    if (a->value[O_JSON]) {
        iso_answer r = {history, given, synth_level_name(s, level),
                        verdict, p.why, !so || strcmp(so, "off") != 0};
        print_json(out, a, h, &r);
    } else {
        visible_to(out, history);
        fprintf(out, ": %s %s: %s\n", synth_level_name(s, level), verdict, p.why);
    }
    plain_free(&p);
    return status;
}
