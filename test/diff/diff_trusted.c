/*
 * trusted_timestamps.c - --trust-timestamps against the oracle's naive reading of it, on random
 * histories.
 *
 * A tiny store gives each transaction a start_ts and a commit_ts; most reads return what stands
 * there at that time, some do not; stamps tie, are missing, or are moved.  Where the timestamps
 * decide, both must agree, at every policy, with and without session order, and each answer is
 * rechecked.  Usage: trusted [histories [seed]]
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "ratel.h"

enum { TXNS = 6, OPS = 4, KEYS = 2, LONGEST = 64 };

static uint64_t state;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % n);
}

typedef struct txn {
    int start, commit, session, n;
    char status; /* c, a, u */
    struct {
        char kind; /* r, w, d */
        int key, value;
    } op[OPS];
} txn;

static txn all[TXNS];
static int txns;
static bool lists;
static char text[8192];
static size_t used;

static void put(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, ap);
    va_end(ap);
}

/* What t finds in a key by its timestamps, as a last value or as a list. */
static void put_seen(const txn *t, int ops, int key, bool si)
{
    int order[TXNS], n = 0, last = 0, first = 1;
    for (int i = 0; i < txns; i++) {
        bool in = all[i].status == 'c' || (all[i].status == 'u' && all[i].commit);
        if (&all[i] == t || !in || all[i].commit > (si ? t->start : t->commit)) continue;
        int j = n++;
        for (; j && all[order[j - 1]].commit > all[i].commit; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    if (lists) put("[");
    for (int i = 0; i <= n; i++) {
        const txn *w = i < n ? &all[order[i]] : t;
        for (int j = 0; j < (i < n ? w->n : ops); j++) {
            if (w->op[j].key != key || w->op[j].kind == 'r') continue;
            last = w->op[j].kind == 'd' ? 0 : w->op[j].value;
            if (lists) put("%s%d", first ? "" : ",", last);
            first = 0;
        }
    }
    if (lists)
        put("]");
    else if (last)
        put("%d", last);
    else
        put("null");
}

static void make_history(void)
{
    bool si = below(2), ties = below(3) == 0;
    used = 0;
    lists = below(4) == 0;
    txns = 2 + (int)below(TXNS - 1);
    int fresh = 0, clock = 1;
    for (int i = 0; i < txns; i++) {
        txn *t = &all[i];
        t->start = clock + (int)below(4);
        t->commit = t->start + (int)below(ties ? 3 : 6);
        if (!ties) t->commit = 2 * t->commit + 1, t->start *= 2;
        clock += (int)below(3);
        t->session = (int)below(3);
        t->n = 1 + (int)below(OPS);
        t->status = "ccccccau"[below(8)];
        if (t->status == 'u' && below(2)) t->commit = 0;
        for (int j = 0; j < t->n; j++) {
            t->op[j].kind = "rrwd"[below(lists ? 3 : 4)];
            t->op[j].key = (int)below(KEYS);
            t->op[j].value = below(4) || lists ? ++fresh : 1 + (int)below(3);
        }
    }
    put(below(5) ? "{\"ratel\":1}\n" : "{\"ratel\":1,\"init_unknown\":true}\n");
    for (int i = 0; i < txns; i++) {
        const txn *t = &all[i];
        put("{\"session\":%d,\"id\":\"t%d\",\"status\":\"%s\"", t->session, i,
            t->status == 'c'   ? "committed"
            : t->status == 'a' ? "aborted"
                               : "unknown");
        if (below(40)) put(",\"start_ts\":%d", t->start);
        if (t->commit && below(40)) put(",\"commit_ts\":%d", t->commit);
        put(",\"ops\":[");
        for (int j = 0; j < t->n; j++) {
            put("%s[\"%s\",%d", j ? "," : "",
                t->op[j].kind == 'r'   ? "r"
                : t->op[j].kind == 'd' ? "d"
                : lists                ? "append"
                                       : "w",
                t->op[j].key);
            if (t->op[j].kind == 'w') put(",%d", t->op[j].value);
            if (t->op[j].kind == 'r') {
                put(",");
                if (below(20))
                    put_seen(t, j, t->op[j].key, si);
                else if (lists)
                    put("[]");
                else
                    put("%u", 1 + below(4));
            }
            put("]");
        }
        put("]}\n");
    }
}

typedef struct source {
    size_t pos;
} source;

static ptrdiff_t read_text(void *buf, size_t cap, void *payload)
{
    source *s = payload;
    size_t n = used - s->pos < cap ? used - s->pos : cap;
    memcpy(buf, text + s->pos, n);
    s->pos += n;
    return (ptrdiff_t)n;
}

static uint64_t tally[2][2], elsewhere, damaged, still_right, forged, forged_right;

/* --- certificates ----------------------------------------------------------------------------- */

static char cert[4096], bad[4096];
static size_t cert_n, bad_n;

static int keep(const void *buf, size_t n, void *payload)
{
    (void)payload;
    if (n >= sizeof cert - cert_n) abort();
    memcpy(cert + cert_n, buf, n);
    cert_n += n;
    cert[cert_n] = 0;
    return 0;
}

static ptrdiff_t read_bad(void *buf, size_t cap, void *payload)
{
    size_t *at = payload, n = bad_n - *at < cap ? bad_n - *at : cap;
    memcpy(buf, bad + *at, n);
    *at += n;
    return (ptrdiff_t)n;
}

/* Is what the proof says true, by the oracle? */
static bool is_true(oracle *o, const ratel_proof *p)
{
    static const char *const policies[] = {"must", "external", "may"};
    char name[100];
    oracle_question q = {name, p->session_order, ORACLE_MUST, p->drift};
    for (int i = 0; i < 3; i++)
        if (!strcmp(policies[i], p->ryow)) q.ryow = (oracle_ryow)i;
    bool itself = !strcmp(p->level, "serializable") || !strcmp(p->level, "snapshot-isolation");
    snprintf(name, sizeof name, "%s%s", p->trusted && itself ? "trusted-" : "", p->level);
    int expected = oracle_check(o, &q);
    return expected == ORACLE_TOO_BIG ||
           expected == (p->verdict == RATEL_HOLDS ? ORACLE_HOLDS : ORACLE_VIOLATED);
}

/* A word in place of another, a line less, or a byte. */
static void damage(void)
{
    size_t a = below((unsigned)cert_n), b = a, c = below((unsigned)cert_n), d = c;
    switch (below(4)) {
    case 0:
        while (a && cert[a - 1] != '\n') a--;
        while (cert[b] != '\n') b++;
        bad_n = (size_t)snprintf(bad, sizeof bad, "%.*s%s", (int)a, cert, cert + b + 1);
        break;
    case 1:
        bad_n = (size_t)snprintf(bad, sizeof bad, "%s", cert);
        bad[a] = "0123456789 \nTtx\""[below(16)];
        break;
    default:
        while (a && cert[a - 1] > ' ') a--;
        while (cert[b] > ' ') b++;
        while (c && cert[c - 1] > ' ') c--;
        while (cert[d] > ' ') d++;
        bad_n = (size_t)snprintf(bad, sizeof bad, "%.*s%.*s%s", (int)a, cert, (int)(d - c),
                                 cert + c, cert + b);
        break;
    }
}

/* Every answer has a certificate; what is changed passes only if it is still true. */
static const char *certify(ratel *r, const ratel_history *h, oracle *o, const ratel_result *a,
                           const char *level)
{
    ratel_proof p;
    size_t at = 0;
    cert_n = 0;
    if (ratel_result_certificate(a, r, h, keep, NULL)) return ratel_errmsg(r);
    memcpy(bad, cert, bad_n = cert_n);
    if (ratel_verify(&p, r, h, read_bad, &at)) return ratel_errmsg(r);
    if (!p.proved) return printf("# %s%s", p.reason, cert), "the certificate is refused";
    if (!p.trusted || p.verdict != ratel_result_verdict(a) || strcmp(p.level, level))
        return "the certificate says something else";
    for (int i = 0; i < 4; i++) {
        damage();
        damaged++;
        at = 0;
        if (ratel_verify(&p, r, h, read_bad, &at) || !p.proved) continue;
        still_right++;
        if (!is_true(o, &p)) return printf("# %s", bad), "a false certificate passes";
    }
    return NULL;
}

/* Claims against the timestamps that nobody made, put after the head of the last certificate: one
   that passes must be true. */
static const char *forge(ratel *r, const ratel_history *h, oracle *o, const ratel_result *a)
{
    ratel_proof p;
    cert_n = 0;
    if (ratel_result_certificate(a, r, h, keep, NULL)) return NULL;
    char *head = strstr(cert, "history ");
    int end = head ? (int)(strchr(head, '\n') - cert) + 1 : 0;
    for (int i = 0; i < 6; i++) {
        unsigned t = below((unsigned)txns), u = below((unsigned)txns), n = below(OPS);
        unsigned key = below(KEYS), kind = below(4);
        char line[80];
        size_t at = 0;
        if (kind == 0) snprintf(line, sizeof line, "stamped-session \"t%u\" \"t%u\"", t, u);
        if (kind == 1) snprintf(line, sizeof line, "stamped-scan \"t%u\" %u", t, n);
        if (kind == 2) snprintf(line, sizeof line, "stamped-overlap %u \"t%u\" \"t%u\"", key, t, u);
        if (kind == 3) snprintf(line, sizeof line, "stamped-read \"t%u\" %u %u", t, n, key);
        bad_n = (size_t)snprintf(bad, sizeof bad,
                                 "%.*stimestamps trusted\nverdict violated\n%s\nend 1\n", end, cert,
                                 line);
        forged++;
        if (ratel_verify(&p, r, h, read_bad, &at) || !p.proved) continue;
        forged_right++;
        if (!is_true(o, &p)) return printf("# %s", bad), "a forged certificate passes";
    }
    /* the order of an answer without timestamps, as one by them */
    size_t at = 0;
    char *rest = cert + end;
    if (ratel_result_trusted(a)) return NULL;
    bad_n = (size_t)snprintf(bad, sizeof bad, "%.*stimestamps trusted\n%s", end, cert, rest);
    if (ratel_verify(&p, r, h, read_bad, &at) || !p.proved || is_true(o, &p)) return NULL;
    return printf("# %s", bad), "an order passes as one by timestamps";
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool compare(ratel *r, const ratel_history *h, oracle *o, int si, int so, int policy)
{
    static const char *const names[] = {"serializable", "snapshot-isolation"},
                             *const trusted[] = {"trusted-serializable",
                                                 "trusted-snapshot-isolation"};
    oracle_question q = {trusted[si], so, (oracle_ryow)policy, 0};
    int expected = oracle_check(o, &q);
    ratel_set(r, "session_order", so);
    ratel_set(r, "ryow", policy);
    ratel_result *a = NULL;
    int code = ratel_check(&a, r, h, names[si]);
    const char *why = NULL;
    if (code) {
        /* two versions in one position, or a start after its commit */
        if (code != RATEL_EHISTORY || expected >= 0) why = ratel_errmsg(r);
    } else if (!ratel_result_trusted(a)) {
        elsewhere++;
        bool free_lists = lists && strstr(text, "init_unknown"); /* refused */
        if (expected >= 0 && !free_lists) why = "the timestamps were not used";
    } else {
        ratel_verdict v = ratel_result_verdict(a);
        if (expected < 0)
            why = "the timestamps were used";
        else if ((v == RATEL_HOLDS) != (expected == ORACLE_HOLDS))
            why = ratel_result_reason(a);
        else if (ratel_result_recheck(a, r, h))
            why = ratel_errmsg(r);
        else
            why = certify(r, h, o, a, names[si]);
        if (expected >= 0) tally[si][expected]++;
    }
    if (!why && !code && ratel_result_verdict(a) != RATEL_UNDECIDED) why = forge(r, h, o, a);
    if (why)
        printf("# %s, session order %d, ryow %d: oracle says %s; %s\n%s\n", names[si], so, policy,
               oracle_verdict_name(expected), why, text);
    ratel_result_free(a);
    return !why;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    ratel_set(r, "trust_timestamps", 1);
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; i < count && failed < 10; i++) {
        char err[256];
        state = seed * 1000003 + i;
        below(2);
        make_history();
        oracle *o = oracle_parse(text, used, err, sizeof err);
        ratel_history *h = NULL;
        source in = {0};
        bool ok = o && !ratel_history_read(&h, r, "ratel", read_text, &in);
        if (!ok) printf("# %s %s\n%s\n", o ? "" : err, ratel_errmsg(r), text);
        for (int mode = 0; mode < 12 && ok; mode++)
            ok = compare(r, h, o, mode % 2, mode / 2 % 2, mode / 4);
        ok ? passed++ : failed++;
        ratel_history_free(h);
        oracle_free(o);
    }
    ratel_close(r);
    printf("# serializable holds %" PRIu64 " violated %" PRIu64
           ", snapshot-isolation holds %" PRIu64 " violated %" PRIu64 ", decided elsewhere %" PRIu64
           "\n",
           tally[0][1], tally[0][0], tally[1][1], tally[1][0], elsewhere);
    printf("# certificates: %" PRIu64 " damaged, %" PRIu64 " of them still right; %" PRIu64
           " forged, %" PRIu64 " of them right\n",
           damaged, still_right, forged, forged_right);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
