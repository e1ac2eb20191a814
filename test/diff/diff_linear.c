/*
 * diff_linear.c - linearizable (doc/levels.md, LIN-1) against the oracle.
 *
 * Random histories of single operations on one to three keys, with few values, compare-and-sets,
 * deletes, unknown outcomes, and times that are all there, partly there, or absent.  The verdict
 * must be the oracle's, with the search of single keys and without, with a drift and without.
 * Every answer is replayed, has a certificate that verifies, and violations have an explanation and
 * can be shrunk.  Some histories have a larger transaction and must stay undecided.  Usage:
 *
 *     diff_linear [histories [seed]]   default 1500
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#define RATEL_EXPERIMENTAL
#include "base/rng.h"
#include "diff/diff_text.h"
#include "oracle/oracle.h"
#include "ratel.h"

static struct {
    uint64_t holds, violated, undecided, differ, certified, explained, shrunk;
} count;

static void add_line(text *t, const char *line)
{
    add_text(line, strlen(line), t);
}

/* The operations of one transaction, as JSON. */
static void write_operations(text *t, rng *g, int keys, int values, bool larger)
{
    char line[200];
    int k = (int)rng_below(g, (uint64_t)keys), v = (int)rng_below(g, (uint64_t)values) + 1;
    int old = (int)rng_below(g, (uint64_t)values + 1);
    char was[16] = "null";
    if (old) snprintf(was, sizeof was, "%d", old);
    switch (larger ? 9 : rng_below(g, 9)) {
    case 0:
    case 1:
    case 2: snprintf(line, sizeof line, "[\"w\",%d,%d]", k, v); break;
    case 3: snprintf(line, sizeof line, "[\"r\",%d,%s],[\"w\",%d,%d]", k, was, k, v); break;
    case 4: snprintf(line, sizeof line, rng_below(g, 2) ? "[\"d\",%d]" : "[\"r\",%d]", k); break;
    case 9:
        snprintf(line, sizeof line,
                 rng_below(g, 2) ? "[\"w\",%d,%d],[\"w\",7,1]"
                                 : "[\"w\",%d,%d],[\"scan\",null,null,[]]",
                 k, v);
        break;
    default: snprintf(line, sizeof line, "[\"r\",%d,%s]", k, was); break;
    }
    add_line(t, line);
}

static void write_history(text *t, uint64_t seed, bool larger)
{
    rng g;
    char line[200];
    rng_seed(&g, seed);
    int n = 2 + (int)rng_below(&g, 5), keys = 1 + (int)rng_below(&g, 3);
    int values = 1 + (int)rng_below(&g, 3), timed = (int)rng_below(&g, 4);
    /* Sessions whose order between two keys breaks strict serializability alone. */
    bool crossed = !rng_below(&g, 8);
    int64_t clock[4] = {0};
    if (crossed) {
        add_line(t, "{\"ratel\":1}\n{\"session\":1,\"id\":\"a\",\"ops\":[[\"w\",1,1]]}\n"
                    "{\"session\":1,\"id\":\"b\",\"ops\":[[\"r\",2,null]]}\n"
                    "{\"session\":2,\"id\":\"c\",\"ops\":[[\"w\",2,2]]}\n"
                    "{\"session\":2,\"id\":\"d\",\"ops\":[[\"r\",1,null]]}\n");
        n = n > 4 ? 4 : n;
    }
    if (!crossed) add_line(t, rng_below(&g, 2) ? "{\"ratel\":1}\n" : "{\"ratel\":1,\"init\":1}\n");
    for (int i = 0; i < n; i++) {
        unsigned session = (unsigned)rng_below(&g, 4);
        int64_t begin = clock[session] + (int64_t)rng_below(&g, 6);
        int64_t end = begin + (int64_t)rng_below(&g, 8);
        const char *status = rng_below(&g, 6)   ? "committed"
                             : rng_below(&g, 3) ? "unknown"
                                                : "aborted";
        clock[session] = end + (int64_t)rng_below(&g, 2);
        snprintf(line, sizeof line, "{\"session\":%u,\"id\":\"t%d\",\"status\":\"%s\",", session, i,
                 status);
        add_line(t, line);
        if (timed == 0 || (timed == 1 && !rng_below(&g, 4))) begin = -1;
        if (begin >= 0) {
            snprintf(line, sizeof line, "\"begin\":%" PRId64 ",", begin);
            add_line(t, line);
        }
        if (timed > 1 || (timed == 1 && rng_below(&g, 2))) {
            snprintf(line, sizeof line, "\"end\":%" PRId64 ",", end);
            add_line(t, line);
        }
        add_line(t, "\"ops\":[");
        if (rng_below(&g, 12)) write_operations(t, &g, keys, values, larger && i == n / 2);
        add_line(t, "]}\n");
    }
}

/* NULL, or what is wrong with the certificate. */
static const char *certified(ratel *r, const ratel_result *a, const ratel_history *h)
{
    static char why[1200];
    text c = {0};
    ratel_proof p;
    int code = ratel_result_certificate(a, r, h, add_text, &c);
    snprintf(why, sizeof why, "no certificate: %s", ratel_errmsg(r));
    if (!code) code = ratel_verify(&p, r, h, read_text, &c);
    bool ok = !code && p.proved && p.verdict == ratel_result_verdict(a);
    if (!code && !ok) snprintf(why, sizeof why, "refused: %s\n%s", p.reason, c.at);
    free(c.at);
    count.certified += ok;
    return ok ? NULL : why;
}

static const char *looked_into(ratel *r, const ratel_result *a, const ratel_history *h)
{
    ratel_explanation *e = NULL;
    ratel_history *small = NULL;
    ratel_shrunk found;
    text t = {0};
    int code = ratel_explain(&e, r, h, a);
    if (!code) code = ratel_explanation_write(e, r, "text", NULL, add_text, &t);
    count.explained += !code && ratel_explanation_shown(e, NULL);
    free(t.at);
    ratel_explanation_free(e);
    if (!code) code = ratel_shrink(&small, r, h, a, &found);
    count.shrunk += !code;
    ratel_history_free(small);
    return code ? ratel_errmsg(r) : NULL;
}

/* NULL, or what is wrong. */
static const char *compare(ratel *r, const ratel_history *h, oracle *o, int64_t drift, bool search)
{
    static char why[1600];
    oracle_question q = {"linearizable", 1, ORACLE_MUST, drift};
    ratel_result *a = NULL;
    const char *wrong = NULL;
    int expected = oracle_check(o, &q);
    ratel_set(r, "drift", drift);
    ratel_set_pass(r, "key-search", search);
    if (ratel_check(&a, r, h, "linearizable")) return ratel_errmsg(r);
    ratel_verdict v = ratel_result_verdict(a);
    bool none = expected == ORACLE_NOTHING || expected == ORACLE_NO_ROW;
    bool same = v == RATEL_HOLDS      ? expected == ORACLE_HOLDS
                : v == RATEL_VIOLATED ? expected == ORACLE_VIOLATED
                                      : none;
    count.holds += v == RATEL_HOLDS;
    count.violated += v == RATEL_VIOLATED;
    count.undecided += v == RATEL_UNDECIDED;
    q.level = "strict-serializable";
    count.differ += !none && oracle_check(o, &q) != expected;
    if (!same) {
        snprintf(why, sizeof why, "oracle says %s, product %d (%s)", oracle_verdict_name(expected),
                 (int)v, ratel_result_reason(a));
        wrong = why;
    }
    if (!wrong && v != RATEL_UNDECIDED && ratel_result_recheck(a, r, h)) wrong = ratel_errmsg(r);
    if (!wrong && v != RATEL_UNDECIDED) wrong = certified(r, a, h);
    if (!wrong && v == RATEL_VIOLATED) wrong = looked_into(r, a, h);
    ratel_result_free(a);
    return wrong;
}

int main(int argc, char **argv)
{
    uint64_t histories = argc > 1 ? strtoull(argv[1], NULL, 10) : 1500;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", histories, seed);
    for (uint64_t i = 0; i < histories && failed < 10; i++) {
        text t = {0};
        char err[256] = "";
        const char *wrong = NULL;
        ratel_history *h = NULL;
        write_history(&t, seed * 1000003 + i, i % 16 == 15);
        oracle *o = oracle_parse(t.at, t.n, err, sizeof err);
        if (!o || ratel_history_read(&h, r, "ratel", read_text, &t)) wrong = "not read";
        for (int j = 0; j < 3 && !wrong; j++) wrong = compare(r, h, o, j == 2 ? 3 : 0, j != 1);
        if (wrong) printf("# history %" PRIu64 ": %s %s\n%s\n", i, wrong, err, t.at);
        passed += !wrong;
        failed += wrong != NULL;
        ratel_history_free(h);
        oracle_free(o);
        free(t.at);
    }
    printf("# %" PRIu64 " hold, %" PRIu64 " violated, %" PRIu64 " undecided, %" PRIu64
           " not as strict-serializable; %" PRIu64 " certificates, %" PRIu64 " explained, %" PRIu64
           " shrunk\n",
           count.holds, count.violated, count.undecided, count.differ, count.certified,
           count.explained, count.shrunk);
    ratel_close(r);
    if (histories >= 200 && (!count.differ || !count.undecided)) failed++; /* it tests nothing */
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
