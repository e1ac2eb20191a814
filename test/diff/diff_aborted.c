/*
 * diff_aborted.c - reads of aborted transactions (doc/levels.md H-9), against the oracle.
 *
 * Random tiny histories of every profile, in which some transactions abort, x all levels x session
 * order x policies, with the option `aborted`: the verdicts must be equal to those of the oracle.
 * Answers are replayed, have a certificate that verifies against the history as it was recorded and
 * that says so, and violations have an explanation.  Usage:
 *
 *     diff_aborted [histories [seed [level]]]   default 1500
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "base/rng.h"
#include "diff/diff_text.h"
#include "diff/oracle_levels.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"

static struct {
    uint64_t answers, differ, holds, certified, refused, lists, explained;
} count;

/* Some transactions abort that did not: most often one, so that not everything is violated. */
static char *abort_some(char *t, rng *g, size_t *n)
{
    static const char was[] = "\"status\":\"committed\"", now[] = "\"status\":\"aborted\"";
    uint64_t share = 2 + rng_below(g, 6);
    text out = {0};
    char *from = t, *hit;
    for (; (hit = strstr(from, was)) != NULL; from = hit + sizeof was - 1) {
        add_text(from, (size_t)(hit - from), &out);
        bool gone = !rng_below(g, share);
        add_text(gone ? now : was, gone ? sizeof now - 1 : sizeof was - 1, &out);
    }
    add_text(from, strlen(from), &out);
    free(t);
    *n = out.n;
    return out.at;
}

/* NULL, or what is wrong with the certificate. */
static const char *certified(ratel *r, const ratel_result *a, const ratel_history *h, bool some)
{
    static char why[1200];
    text c = {0};
    ratel_proof p;
    int code = ratel_result_certificate(a, r, h, add_text, &c);
    snprintf(why, sizeof why, "no certificate: %s", ratel_errmsg(r));
    bool none = code == RATEL_EUNSUPPORTED;
    if (!code) code = ratel_verify(&p, r, h, read_text, &c);
    bool ok = !code && p.proved && p.aborted == some && p.verdict == ratel_result_verdict(a);
    if (!code && !ok) snprintf(why, sizeof why, "refused: %s\n%s", p.reason, c.at);
    free(c.at);
    count.certified += ok;
    count.refused += none;
    return ok || none ? NULL : why;
}

static const char *explained(ratel *r, const ratel_result *a, const ratel_history *h)
{
    ratel_explanation *e = NULL;
    text t = {0};
    int code = ratel_explain(&e, r, h, a);
    if (!code) code = ratel_explanation_write(e, r, "text", NULL, add_text, &t);
    count.explained += !code && ratel_explanation_shown(e, NULL);
    free(t.at);
    ratel_explanation_free(e);
    return code ? ratel_errmsg(r) : NULL;
}

/* NULL, or what is wrong. */
static const char *compare(ratel *r, const ratel_history *h, oracle *o, const oracle_question *q,
                           bool some, bool list_level)
{
    static char text_of[1600];
    int bare = oracle_check(o, q);
    oracle_count_aborted(o, 1);
    int expected = oracle_check(o, q);
    oracle_count_aborted(o, 0);
    if (expected == ORACLE_TOO_BIG) return NULL;
    ratel_result *a = NULL;
    const char *wrong = NULL;
    int code = ratel_check(&a, r, h, q->level);
    if (code) {
        snprintf(text_of, sizeof text_of, "oracle %s, product: %s", oracle_verdict_name(expected),
                 ratel_errmsg(r));
        return code == RATEL_EHISTORY && expected == ORACLE_BAD_HINT ? NULL : text_of;
    }
    ratel_verdict v = ratel_result_verdict(a);
    bool same = (v == RATEL_HOLDS && expected == ORACLE_HOLDS) ||
                (v == RATEL_VIOLATED && expected == ORACLE_VIOLATED) ||
                (v == RATEL_UNDECIDED && (expected == ORACLE_NOTHING || expected == ORACLE_NO_ROW));
    bool replaced = strstr(ratel_result_reason(a), "list that it wrote") != NULL;
    bool list = list_level && v == RATEL_UNDECIDED;
    if (!same && (replaced || list)) {
        count.lists++;
        ratel_result_free(a);
        return NULL;
    }
    count.answers++;
    count.holds += v == RATEL_HOLDS;
    count.differ += expected != bare;
    if (!same) {
        snprintf(text_of, sizeof text_of, "oracle says %s, product %d (%s)",
                 oracle_verdict_name(expected), (int)v, ratel_result_reason(a));
        wrong = text_of;
    }
    if (!wrong && v != RATEL_UNDECIDED && ratel_result_recheck(a, r, h)) wrong = ratel_errmsg(r);
    if (!wrong && v != RATEL_UNDECIDED) wrong = certified(r, a, h, some);
    if (!wrong && v == RATEL_VIOLATED) wrong = explained(r, a, h);
    ratel_result_free(a);
    return wrong;
}

int main(int argc, char **argv)
{
    uint64_t n_histories = argc > 1 ? strtoull(argv[1], NULL, 10) : 1500;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0, profiles = 0;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    while (random_shapes[profiles]) profiles++;
    ratel_set(r, "aborted", 1);
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", n_histories, seed);
    for (uint64_t i = 0; i < n_histories && failed < 10; i++) {
        size_t n;
        char err[256];
        rng g;
        rng_seed(&g, seed * 7919 + i);
        char *t = random_history(seed * 1000003 + i, random_shapes[i % profiles], &n);
        t = abort_some(t, &g, &n);
        t = random_levels(t, seed * 1000003 + i, &n);
        bool some = strstr(t, "\"status\":\"aborted\"") != NULL;
        oracle *o = oracle_parse(t, n, err, sizeof err);
        text in = {.at = t, .n = n};
        ratel_history *h = NULL;
        bool ok = o && !ratel_history_read(&h, r, "ratel", read_text, &in);
        if (!ok) printf("# not read: %s %s\n%s\n", err, ratel_errmsg(r), t);
        /* Every other round of shapes without the search that tries all orders of a few. */
        ratel_set_pass(r, "small-search", i / profiles % 2);
        for (int level = 0; level < ORACLE_LEVELS && ok; level++) {
            uint64_t pair = (i / profiles + (uint64_t)level) % 6;
            oracle_question q = {levels[level], (int)(pair % 2), (oracle_ryow)(pair / 2), 0};
            if (argc > 3 && strcmp(levels[level], argv[3]) != 0) continue;
            ratel_set(r, "session_order", q.session_order);
            ratel_set(r, "ryow", (int64_t)q.ryow);
            const char *wrong = compare(r, h, o, &q, some, level >= MIXED);
            if (!wrong) continue;
            printf("# history %" PRIu64 ", %s, session order %d, ryow %d: %s\n%s\n", i, q.level,
                   q.session_order, (int)q.ryow, wrong, t);
            ok = false;
        }
        passed += ok;
        failed += !ok;
        ratel_history_free(h);
        oracle_free(o);
        free(t);
    }
    printf("# %" PRIu64 " answers, %" PRIu64 " hold, %" PRIu64 " are others than without the reads "
           "of aborted transactions; %" PRIu64 " certificates, %" PRIu64 " without, %" PRIu64
           " explained, %" PRIu64 " lists left undecided\n",
           count.answers, count.holds, count.differ, count.certified, count.refused,
           count.explained, count.lists);
    ratel_close(r);
    if (n_histories >= 500 && !count.differ) failed++; /* a test that tests nothing */
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
