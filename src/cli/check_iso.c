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
    uint64_t ops;
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
        p->ops += t.ops;
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

static void print_json(FILE *out, const char *history, const char *given, const char *level,
                       const char *verdict, const char *reason, const plain *p, bool order)
{
    fputs("{\"schema\":1,\"history\":", out);
    json_text_to(out, history);
    fputs(",\"level\":", out);
    json_text_to(out, level);
    fputs(",\"given\":", out);
    json_text_to(out, given);
    fprintf(out, ",\"session_order\":%s,\"verdict\":\"%s\",\"reason\":", order ? "true" : "false",
            verdict);
    json_text_to(out, reason);
    fprintf(out, ",\"txns\":%u,\"ops\":%llu,\"keys\":%u}\n", (unsigned)p->n,
            (unsigned long long)p->ops, (unsigned)p->keys);
}

int check_iso(const args *a, synth *s, int level, const char *given, const ratel_history *h,
              const char *history, FILE *out)
{
    plain p = {0};
    const char *so = a->value[O_SESSION_ORDER], *verdict = "undecided";
    bool order = !so || strcmp(so, "off") != 0;
    char reason[300];
    int status = EXIT_UNDECIDED;
    if (count(&p, h) && read_writes(&p, h) && read_reads(&p, h)) {
        read_sessions(&p, h, order);
        int got = synth_check(s, level, p.n, p.keys, p.from, p.writes, p.so, NULL);
        if (got < 0) {
            snprintf(p.why, sizeof p.why, "%.150s", synth_error(s, NULL, NULL));
        } else {
            verdict = got ? "holds" : "violated";
            status = got ? EXIT_HOLDS : EXIT_VIOLATED;
            snprintf(p.why, sizeof p.why,
                     got ? "some choice keeps all axioms; all were searched, exactly"
                         : "no choice keeps all axioms; all were searched, exactly");
        }
    }
    snprintf(reason, sizeof reason, "%s", p.why);
    if (a->value[O_JSON]) {
        print_json(out, history, given, synth_level_name(s, level), verdict, reason, &p, order);
    } else {
        visible_to(out, history);
        fprintf(out, ": %s %s: %s\n", synth_level_name(s, level), verdict, reason);
    }
    free(p.key);
    free(p.txn);
    free(p.from);
    free(p.writes);
    free(p.so);
    free(p.value);
    return status;
}
