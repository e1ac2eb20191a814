/*
 * spared.c - what is left of a history that holds, holds, also where writes are spared.
 *
 *     spared [histories [seed]]    default 2000, seed from RATEL_TEST_SEED or 1
 *
 * Tiny random histories that hold for the oracle lose random transactions by the rules of
 * shrink/remainder.h with everything that is known of their order.  The remainder must not be
 * violated: else a part that `shrink` writes could show a violation that the whole does not have.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/rng.h"
#include "diff/diff_text.h"
#include "diff/history_model.h"
#include "diff/oracle_levels.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"
#include "shrink/remainder.h"
#include "shrink/shrink.h"

enum { CUTS = 6 };

static uint64_t parts, spared_parts;

static void *reallocate(void *ud, void *p, size_t old, size_t n)
{
    (void)ud, (void)old;
    if (n) return realloc(p, n);
    free(p);
    return NULL;
}

/* Is the part violated?  Counts those that keep more operations than without a known order. */
static bool cut_is_violated(const history *h, const sub_mask *out, const sub_order *order,
                            const level_ref *level, guard *g)
{
    mem work, keep, judging;
    mem_init(&work, reallocate, NULL, g);
    mem_init(&keep, reallocate, NULL, g);
    mem_init(&judging, reallocate, NULL, g);
    history *part = history_new(reallocate, NULL, g, 0),
            *plain = history_new(reallocate, NULL, g, 0);
    uint8_t *ops = mem_array(&keep, uint8_t, h->ops + 1);
    memcpy(ops, out->op, h->ops);
    sub_history(plain, h, out, NULL, &work);
    memcpy(out->op, ops, h->ops);
    sub_history(part, h, out, order, &work);
    memcpy(out->op, ops, h->ops);
    parts++;
    spared_parts += part->ops > plain->ops;
    question q = {
        .level = level->name, .session_order = true, .policy = POLICY_MUST, .quick = true};
    verdict v = {.mem = &keep, .level = *level};
    judge(&v, part, &q, &judging);
    bool violated = v.outcome == OUTCOME_VIOLATED;
    history_free(part);
    history_free(plain);
    mem_free_all(&judging);
    mem_free_all(&keep);
    mem_free_all(&work);
    return violated;
}

static bool cuts_hold(const history *h, oracle *o, rng *g, guard *border, const char *t)
{
    mem m;
    bool ok = true;
    mem_init(&m, reallocate, NULL, border);
    known_order known;
    known_order_build(&known, h, &m);
    txn_id *whole = mem_array(&m, txn_id, h->txns + 1);
    for (txn_id i = 0; i < h->txns; i++) whole[i] = i;
    sub_mask out = {mem_array0(&m, uint8_t, h->txns + 1), mem_array0(&m, uint8_t, h->ops + 1),
                    mem_array0(&m, uint8_t, history_keys(h) + 1), false};
    for (int i = 0; i < CUTS && ok; i++) {
        const char *name = levels[rng_below(g, ORACLE_LEVELS)];
        level_ref level;
        oracle_question q = {.level = name, .session_order = 1, .ryow = ORACLE_MUST};
        /* (no-lost-update looks at neighbours: what is left out makes new ones.) */
        if (strstr(name, "no-lost-update") || !level_named(&level, name) ||
            oracle_check(o, &q) != ORACLE_HOLDS)
            continue;
        bool sessions = level_session_order(&level, true);
        sub_order order = {.known = known.clock && shrink_knows(&level, sessions) ? &known : NULL,
                           .whole = whole,
                           .sees_past = shrink_sees_past(&level),
                           .sees_session = shrink_sees_session(&level)};
        shrink_lets_stand_in(&order, &level, sessions, false);
        /* (Where keys and operations go as well, more transactions do nothing but one write.) */
        uint64_t less = rng_below(g, 3);
        for (txn_id x = 0; x < h->txns; x++) out.txn[x] = rng_below(g, 2) == 0;
        for (size_t x = 0; x < history_keys(h); x++) out.key[x] = less && rng_below(g, 2) == 0;
        for (op_id x = 0; x < h->ops; x++) out.op[x] = less > 1 && rng_below(g, 3) == 0;
        if (!cut_is_violated(h, &out, &order, &level, border)) continue;
        printf("# %s holds, and a part of it does not; left out:", name);
        for (txn_id x = 0; x < h->txns; x++)
            if (out.txn[x]) printf(" %u", x);
        for (key_id x = 0; x < history_keys(h); x++)
            if (out.key[x]) printf(" key %u", x);
        for (op_id x = 0; x < h->ops; x++)
            if (out.op[x]) printf(" operation %u", x);
        printf("\n%s\n", t);
        ok = false;
    }
    mem_free_all(&m);
    return ok;
}

static int one_history(ratel *r, rng *g, uint64_t seed, const char *profile)
{
    size_t n;
    char err[256], *t = random_history(seed, profile, &n);
    text in = {t, n, 0, 0};
    ratel_history *h = NULL;
    oracle *o = oracle_parse(t, n, err, sizeof err);
    int result = -1;
    if (o && !ratel_history_read(&h, r, "ratel", read_text, &in)) {
        guard border;
        guard_init(&border);
        if (guard_armed(&border)) {
            printf("# %s\n%s\n", border.text, t);
            result = 0;
        } else {
            result = cuts_hold(history_model(h), o, g, &border, t);
        }
    }
    ratel_history_free(h);
    oracle_free(o);
    free(t);
    return result;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    static const char *const profiles[] = {"deletes",    "registers-dup", "scans", "unknown",
                                           "everything", "forks",         "times", "hints"};
    enum { PROFILES = sizeof profiles / sizeof *profiles };
    uint64_t passed = 0, failed = 0;
    rng g;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    rng_seed(&g, seed);
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; passed + failed < count && failed < 10; i++) {
        int ok = one_history(r, &g, seed * 1000003 + i, profiles[i % PROFILES]);
        passed += ok > 0;
        failed += ok == 0;
    }
    printf("# %" PRIu64 " parts, %" PRIu64 " of them with spared writes\n", parts, spared_parts);
    if (!spared_parts && count > 100) failed++;
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    ratel_close(r);
    return failed != 0;
}
