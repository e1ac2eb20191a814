/*
 * begin_commit.c - the strategy bc against the brute-force oracle on random tiny histories.
 *
 * Snapshot isolation, session order on and off, every read-your-own-writes policy, each with all
 * passes of the strategy on, none, each alone and each missing: the verdicts must be equal, and
 * `undecided` counts as wrong.  Every answer is also replayed (ratel_result_recheck).  Usage:
 *
 *     bc [histories [seed]]   default 4000 histories, seed from RATEL_TEST_SEED or 1
 *
 * A mismatch prints the history and the passes that were on.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"

#define LEVEL "snapshot-isolation"
enum { STRATEGY_BC = 2, MOST_PASSES = 32 };
static const char *const policies[] = {"must", "external", "may"};

typedef struct setting {
    ratel *r;
    const char *pass[MOST_PASSES]; /* of the strategy, client-times aside */
    unsigned passes;
    unsigned on[2 * MOST_PASSES + 2]; /* the sets of passes to try */
    unsigned sets;
    uint64_t tally[2];
} setting;

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

static void find_passes(setting *s)
{
    ratel_pass p;
    ratel_set_pass(s->r, "client-times", 0);
    for (size_t i = 0; !ratel_pass_at(&p, i); i++)
        if (p.strategies >> STRATEGY_BC & 1 && strcmp(p.name, "client-times") != 0)
            s->pass[s->passes++] = p.name;
    unsigned all = (1u << s->passes) - 1;
    s->on[s->sets++] = all;
    s->on[s->sets++] = 0;
    for (unsigned i = 0; i < s->passes; i++) {
        s->on[s->sets++] = 1u << i;
        s->on[s->sets++] = all & ~(1u << i);
    }
}

static bool check_once(setting *s, const ratel_history *h, int expected, const char **got)
{
    ratel_result *a = NULL;
    int code = ratel_check(&a, s->r, h, LEVEL);
    bool ok;
    *got = code ? ratel_errmsg(s->r) : "";
    if (code) {
        ok = code == RATEL_EHISTORY && expected == ORACLE_BAD_HINT;
    } else {
        ratel_verdict v = ratel_result_verdict(a);
        ok = (v == RATEL_HOLDS && expected == ORACLE_HOLDS) ||
             (v == RATEL_VIOLATED && expected == ORACLE_VIOLATED) ||
             (v == RATEL_UNDECIDED && expected == ORACLE_NOTHING);
        *got = v == RATEL_HOLDS ? "holds" : v == RATEL_VIOLATED ? "violated" : "undecided";
        if (ok && ratel_result_recheck(a, s->r, h)) {
            ok = false;
            *got = ratel_errmsg(s->r);
        }
    }
    ratel_result_free(a);
    return ok;
}

static bool compare(setting *s, const ratel_history *h, oracle *o, int so, int policy,
                    const char *history)
{
    oracle_question q = {LEVEL, so, (oracle_ryow)policy, 0};
    int expected = oracle_check(o, &q);
    if (expected == ORACLE_TOO_BIG) return true;
    if (expected >= 0) s->tally[expected]++;
    ratel_set(s->r, "session_order", so);
    ratel_set(s->r, "ryow", policy);
    for (unsigned i = 0; i < s->sets; i++) {
        const char *got;
        for (unsigned j = 0; j < s->passes; j++)
            ratel_set_pass(s->r, s->pass[j], s->on[i] >> j & 1);
        if (check_once(s, h, expected, &got)) continue;
        printf("# session order %s, ryow %s: oracle says %s, bc %s; passes:", so ? "on" : "off",
               policies[policy], oracle_verdict_name(expected), got);
        for (unsigned j = 0; j < s->passes; j++)
            if (s->on[i] >> j & 1) printf(" %s", s->pass[j]);
        printf("\n%s\n", history);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0, profiles = 0;
    setting s = {0};
    if (ratel_open(&s.r, NULL)) return 1;
    if (ratel_set(s.r, "strategy", STRATEGY_BC)) return 1;
    find_passes(&s);
    while (random_profiles[profiles]) profiles++;
    printf("# %" PRIu64 " histories from seed %" PRIu64 ", %u sets of %u passes\n", count, seed,
           s.sets, s.passes);
    for (uint64_t i = 0; i < count && failed < 20; i++) {
        size_t n;
        char err[256];
        char *t = random_history(seed * 1000003 + i, random_profiles[i % profiles], &n);
        oracle *o = oracle_parse(t, n, err, sizeof err);
        text in = {t, n, 0};
        ratel_history *h = NULL;
        int code = ratel_history_read(&h, s.r, "ratel", read_text, &in);
        bool ok = o && !code;
        if (!ok) printf("# %s\n%s\n", o ? ratel_errmsg(s.r) : err, t);
        for (int so = 0; so < 2 && ok; so++)
            for (int policy = 0; policy < 3 && ok; policy++) ok = compare(&s, h, o, so, policy, t);
        passed += ok;
        failed += !ok;
        ratel_history_free(h);
        oracle_free(o);
        free(t);
    }
    printf("# holds %" PRIu64 " violated %" PRIu64 "\n", s.tally[1], s.tally[0]);
    if (!s.passes || !s.tally[0] || !s.tally[1]) {
        printf("# nothing was compared\n");
        failed++;
    }
    ratel_close(s.r);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
