/*
 * levels.c - the product against the brute-force oracle on random tiny histories.
 *
 * For every profile of random_history, every level that the product decides, session order on and
 * off, and every read-your-own-writes policy: the verdicts must be equal, and `undecided` counts
 * as wrong.  Every answer is also replayed (ratel_result_recheck).  Usage:
 *
 *     levels [histories [seed [first]]]   default 20000 histories, seed from RATEL_TEST_SEED
 *                                              or 1; the seed is printed; first: number of the
 *                                              first level to ask (5: the strong ones only)
 *
 * A mismatch prints the history, so that it can be pasted into a file.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"

static const char *levels[] = {
    "read-uncommitted", "read-committed", "monotonic-atomic-view", "read-atomic",
    "causal",           "serializable",   "snapshot-isolation",    "strict-serializable"};
enum { LEVELS = sizeof levels / sizeof *levels, STRONG = 5 };
static int first_level = 0;
static const char *const policies[] = {"must", "external", "may"};

static uint64_t tally[LEVELS][2];

typedef struct text {
    const char *at;
    size_t n, pos;
} text;

static ptrdiff_t read_text(void *buf, size_t cap, void *payload)
{
    text *t = payload;
    size_t n = t->n - t->pos < cap ? t->n - t->pos : cap;
    memcpy(buf, t->at + t->pos, n);
    t->pos += n;
    return (ptrdiff_t)n;
}

static bool compare(ratel *r, const ratel_history *h, oracle *o, int level, int so, int policy,
                    const char *history)
{
    oracle_question q = {levels[level], so, (oracle_ryow)policy, 0};
    int expected = oracle_check(o, &q);
    if (expected == ORACLE_TOO_BIG) return true;
    ratel_set(r, "session_order", so);
    ratel_set(r, "ryow", policy);
    ratel_result *a = NULL;
    int code = ratel_check(&a, r, h, levels[level]);
    bool ok;
    const char *got;
    if (code) {
        ok = code == RATEL_EHISTORY && expected == ORACLE_BAD_HINT;
        got = ratel_errmsg(r);
    } else {
        ratel_verdict v = ratel_result_verdict(a);
        ok = (v == RATEL_HOLDS && expected == ORACLE_HOLDS) ||
             (v == RATEL_VIOLATED && expected == ORACLE_VIOLATED) ||
             (v == RATEL_UNDECIDED && expected == ORACLE_NOTHING);
        got = v == RATEL_HOLDS ? "holds" : v == RATEL_VIOLATED ? "violated" : "undecided";
        if (expected >= 0) tally[level][expected]++;
        /* answers on the strong levels have no second opinion yet */
        if (ok && (code = ratel_result_recheck(a, r, h)) != 0) {
            ok = false;
            got = ratel_errmsg(r);
        }
    }
    if (!ok)
        printf("# %s, session order %s, ryow %s: oracle says %s, product %s (%s)\n%s\n",
               levels[level], so ? "on" : "off", policies[policy], oracle_verdict_name(expected),
               got, a ? ratel_result_reason(a) : "", history);
    ratel_result_free(a);
    return ok;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    if (argc > 3) first_level = atoi(argv[3]);
    uint64_t passed = 0, failed = 0, profiles = 0;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    while (random_profiles[profiles]) profiles++;
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; i < count && failed < 20; i++) {
        size_t n;
        char err[256];
        char *t = random_history(seed * 1000003 + i, random_profiles[i % profiles], &n);
        oracle *o = oracle_parse(t, n, err, sizeof err);
        text in = {t, n, 0};
        ratel_history *h = NULL;
        int code = ratel_history_read(&h, r, "ratel", read_text, &in);
        if (!o || code) {
            printf("# seed %" PRIu64 ": oracle %s, product %s\n%s\n", i, o ? "reads it" : err,
                   code ? ratel_errmsg(r) : "reads it", t);
            failed++;
        } else {
            bool ok = true;
            for (int level = first_level; level < LEVELS && ok; level++)
                for (int so = 0; so < 2 && ok; so++)
                    for (int policy = 0; policy < 3 && ok; policy++)
                        ok = compare(r, h, o, level, so, policy, t);
            passed += ok;
            failed += !ok;
        }
        ratel_history_free(h);
        oracle_free(o);
        free(t);
    }
    for (int i = 0; i < LEVELS; i++)
        printf("# %-24s holds %" PRIu64 " violated %" PRIu64 "\n", levels[i], tally[i][1],
               tally[i][0]);
    ratel_close(r);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
