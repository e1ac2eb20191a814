/*
 * levels.c - the product against the brute-force oracle on random tiny histories.
 *
 * For every profile of random_history and every level that the product decides, two of the six
 * pairs of session order on or off and a read-your-own-writes policy, in turn: the verdicts must be
 * equal, and `undecided` counts as wrong.  Every answer is also replayed (ratel_result_recheck).
 * At the strong levels a second
 * context asks again, each time with the next strategy and setting of its passes: as they are at
 * first, all on, all off, each alone, each missing.  Usage:
 *
 *     levels [histories [seed [first [profile]]]]   default 50000 histories, seed from
 *                                              RATEL_TEST_SEED or 1; the seed is printed; first:
 *                                              number of the first level to ask (5: the strong
 *                                              ones only); profile: of random_history, not all
 *
 * A mismatch prints the history, so that it can be pasted into a file.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff_text.h"
#include "diff/oracle_levels.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"

enum { PAIRS = 2 }; /* of session order and policy, asked of each history and level */
static int first_level = 0;
static const char *const policies[] = {"must", "external", "may"};

static uint64_t tally[ORACLE_LEVELS][2];

/* --- strategies and passes ------------------------------------------------------------------- */

static const struct strategy {
    const char *name;
    int id, induced; /* options strategy, si_encoding */
    bool si_only;    /* others are not asked */
    bool may_refuse; /* undecided is no mistake */
} strategies[] = {{"lazy", 0, 0, false, false},
                  {"polygraph", 1, 0, false, false},
                  {"bc", 2, 0, true, true},
                  {"lazy, induced", 0, 1, true, false}};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

enum mode { AS_IS, ALL, NONE, ALONE, MISSING };
static const char *const modes[] = {"as they are", "all on", "all off", "alone", "missing"};

typedef struct setting {
    int strategy;
    enum mode mode;
    size_t pass; /* of ALONE and MISSING */
    uint64_t asked;
} setting;
static setting settings[1000];
static size_t n_settings,
    next_setting[ORACLE_LEVELS]; /* one rotation a level: none is skipped for ever */
static uint64_t refused;

static void add_setting(int strategy, enum mode mode, size_t pass)
{
    if (n_settings == sizeof settings / sizeof *settings) abort();
    settings[n_settings++] = (setting){strategy, mode, pass, 0};
}

/* A strategy that is only announced is left out. */
static bool announced(ratel *r, int strategy)
{
    static char history[] = "{\"session\":1,\"ops\":[[\"w\",\"x\",1]]}\n"
                            "{\"session\":2,\"ops\":[[\"r\",\"x\",1]]}\n";
    text in = {.at = history, .n = sizeof history - 1};
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    ratel_set(r, "strategy", strategies[strategy].id);
    if (ratel_history_read(&h, r, "ratel", read_text, &in)) abort();
    if (ratel_check(&a, r, h, "snapshot-isolation")) abort();
    bool only = strstr(ratel_result_reason(a), "is not in this version") != NULL;
    ratel_result_free(a);
    ratel_history_free(h);
    return only;
}

static void list_settings(ratel *r)
{
    ratel_pass p;
    for (int s = 0; s < STRATEGIES; s++) {
        if (announced(r, s)) {
            printf("# strategy %s: not in this version\n", strategies[s].name);
            continue;
        }
        for (int m = AS_IS; m <= NONE; m++) add_setting(s, (enum mode)m, 0);
        for (size_t i = 0; !ratel_pass_at(&p, i); i++) {
            if (!(p.strategies >> strategies[s].id & 1)) continue;
            add_setting(s, ALONE, i);
            add_setting(s, MISSING, i);
        }
    }
}

/* The next setting that fits the level. */
static setting *rotate(ratel *r, int level)
{
    setting *s;
    ratel_pass p;
    do s = &settings[next_setting[level]++ % n_settings];
    while ((strategies[s->strategy].si_only && level != SI) ||
           (s->strategy && (level < STRONG || level >= GRAPH)));
    ratel_set(r, "strategy", strategies[s->strategy].id);
    ratel_set(r, "si_encoding", strategies[s->strategy].induced);
    for (size_t i = 0; !ratel_pass_at(&p, i); i++) {
        int on = s->mode == AS_IS   ? p.on
                 : s->mode == ALL   ? 1
                 : s->mode == NONE  ? 0
                 : s->mode == ALONE ? i == s->pass
                                    : i != s->pass;
        ratel_set_pass(r, p.name, on);
    }
    /* Where the passes are as at first, every other time without the exhaustive searches: what the
       engine does of open choices is asked of it as often. */
    if (s->mode == AS_IS || s->mode == ALL) ratel_set_pass(r, "small-search", s->asked % 2);
    s->asked++;
    return s;
}

static const char *pass_name(const setting *s)
{
    ratel_pass p;
    return s->mode >= ALONE && !ratel_pass_at(&p, s->pass) ? p.name : "passes";
}

/* --- comparing ------------------------------------------------------------------------------- */

/* One context's answer.  `other`: the setting it runs under, or NULL for the default. */
static bool ask(ratel *r, const ratel_history *h, int level, int so, int policy, int expected,
                const setting *other, const char *history)
{
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
             (v == RATEL_UNDECIDED && (expected == ORACLE_NOTHING || expected == ORACLE_NO_ROW));
        got = v == RATEL_HOLDS ? "holds" : v == RATEL_VIOLATED ? "violated" : "undecided";
        /* Reads of lists by read-uncommitted transactions of mixtures are refused; nothing else. */
        bool lists = strstr(ratel_result_reason(a), "reads of lists");
        if (!ok && v == RATEL_UNDECIDED && level >= MIXED && lists) {
            refused++;
            ok = true;
        }
        if (!ok && v == RATEL_UNDECIDED && other && strategies[other->strategy].may_refuse) {
            refused++;
            ok = true;
        }
        if (ok && (code = ratel_result_recheck(a, r, h)) != 0) {
            ok = false;
            got = ratel_errmsg(r);
        }
    }
    if (!ok) {
        printf("# %s, session order %s, ryow %s: oracle says %s, product %s (%s)\n", levels[level],
               so ? "on" : "off", policies[policy], oracle_verdict_name(expected), got,
               a ? ratel_result_reason(a) : "");
        if (other)
            printf("# strategy %s, %s %s\n", strategies[other->strategy].name, pass_name(other),
                   modes[other->mode]);
        printf("%s\n", history);
    }
    ratel_result_free(a);
    return ok;
}

static bool compare(ratel *r, ratel *rotating, const ratel_history *h, oracle *o, int level, int so,
                    int policy, const char *history)
{
    oracle_question q = {levels[level], so, (oracle_ryow)policy, 0};
    int expected = oracle_check(o, &q);
    if (expected == ORACLE_TOO_BIG) return true;
    if (expected >= 0) tally[level][expected]++;
    if (!ask(r, h, level, so, policy, expected, NULL, history)) return false;
    /* (Lists of unknown order at read-uncommitted: the few orders that many transactions get.) */
    if (level == 1) return true; /* no strategies, no passes */
    const setting *s = rotate(rotating, level);
    return ask(rotating, h, level, so, policy, expected, s, history);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 50000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    if (argc > 3) first_level = atoi(argv[3]);
    const char *only = argc > 4 ? argv[4] : NULL;
    uint64_t passed = 0, failed = 0, profiles = 0;
    ratel *r, *rotating;
    if (ratel_open(&r, NULL) || ratel_open(&rotating, NULL)) return 1;
    while (random_profiles[profiles]) profiles++;
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    list_settings(rotating);
    for (uint64_t i = 0; i < count && failed < 20; i++) {
        size_t n;
        char err[256];
        char *t =
            random_history(seed * 1000003 + i, only ? only : random_profiles[i % profiles], &n);
        t = random_levels(t, seed * 1000003 + i, &n);
        oracle *o = oracle_parse(t, n, err, sizeof err);
        text in = {.at = t, .n = n};
        ratel_history *h = NULL;
        int code = ratel_history_read(&h, r, "ratel", read_text, &in);
        if (!o || code) {
            printf("# seed %" PRIu64 ": oracle %s, product %s\n%s\n", i, o ? "reads it" : err,
                   code ? ratel_errmsg(r) : "reads it", t);
            failed++;
        } else {
            bool ok = true;
            /* Neighbouring levels get different pairs, and each profile all of them in time. */
            for (int level = first_level; level < ORACLE_LEVELS && ok; level++)
                for (uint64_t j = 0; j < PAIRS && ok; j++) {
                    uint64_t pair = (i / profiles * PAIRS + j + (uint64_t)level) % 6;
                    ok = compare(r, rotating, h, o, level, pair % 2, (int)(pair / 2), t);
                }
            passed += ok;
            failed += !ok;
        }
        ratel_history_free(h);
        oracle_free(o);
        free(t);
    }
    for (int i = 0; i < ORACLE_LEVELS; i++)
        printf("# %-24s holds %" PRIu64 " violated %" PRIu64 "\n", levels[i], tally[i][1],
               tally[i][0]);
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < n_settings; i++)
        if (settings[i].asked < least) least = settings[i].asked;
    printf("# %zu settings of strategies and passes, each asked at least %" PRIu64 " times",
           n_settings, least);
    printf(refused ? ", %" PRIu64 " answers refused\n" : "\n", refused);
    ratel_close(r);
    ratel_close(rotating);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
