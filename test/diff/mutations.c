/*
 * mutations.c - valid generated histories with one read changed: certified either way.
 *
 * Histories of 50 to 500 transactions, of several workloads, sessions, outcomes and values, with
 * and without times.  One read gets the value of another write or read of its key.  Whatever
 * the levels then say, their certificate must verify; the unchanged history must hold at the
 * level that the store kept, with a certificate.
 *
 *     mutations [histories [seed [folder]]]   default 2000, seed from RATEL_TEST_SEED or 1
 *
 * A question may take LIMIT seconds and is then undecided; one that takes SLOW of processor time is
 * named, and its history is saved in the folder, if one is given.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RATEL_EXPERIMENTAL
#include "base/rng.h"
#include "diff/diff_text.h"
#include "ratel.h"

enum { MUTANTS = 4 /* of each history */, LIMIT = 30, SLOW = 5 };

/* An operation ["r",K,V] or ["w",K,V] at s: where K and V stand; false if it is none. */
typedef struct op {
    const char *key, *value;
    size_t key_n, value_n;
    bool read;
} op;

static bool op_at(const char *s, op *o)
{
    if (strncmp(s, "[\"r\",", 5) && strncmp(s, "[\"w\",", 5)) return false; /* lists too */
    o->read = s[2] == 'r';
    o->key = s + 5;
    o->key_n = strcspn(o->key, ",]");
    if (o->key[o->key_n] != ',') return false;
    o->value = o->key + o->key_n + 1;
    o->value_n = *o->value == '[' ? strcspn(o->value, "]") + 1 : strcspn(o->value, ",[]{}");
    return o->value[o->value_n] == ']';
}

/* The next operation from a random place on, around the end. */
static bool some_op(rng *g, const text *t, op *o, bool read, const op *like)
{
    size_t start = rng_below(g, t->n);
    for (size_t i = 0; i < t->n; i++) {
        const char *s = t->at + (start + i) % t->n;
        if (*s != '[' || !op_at(s, o) || (read && !o->read)) continue;
        if (!like) return true;
        bool other = o->value_n != like->value_n || memcmp(o->value, like->value, o->value_n);
        if (other && o->key_n == like->key_n && !memcmp(o->key, like->key, o->key_n)) return true;
    }
    return false;
}

static bool mutate(rng *g, const text *from, text *to)
{
    op read, other;
    if (!some_op(g, from, &read, true, NULL) || !some_op(g, from, &other, false, &read))
        return false;
    to->n = to->pos = 0;
    add_text(from->at, (size_t)(read.value - from->at), to);
    add_text(other.value, other.value_n, to);
    const char *rest = read.value + read.value_n;
    add_text(rest, (size_t)(from->at + from->n - rest), to);
    return true;
}

static const char *const levels[] = {"serializable",
                                     "snapshot-isolation",
                                     "strict-serializable",
                                     "cursor-stability",
                                     "monotonic-view",
                                     "consistent-view",
                                     "repeatable-read",
                                     "prefix",
                                     "update-atomic",
                                     "no-lost-update",
                                     "parallel-snapshot-isolation",
                                     "update-serializable",
                                     "generalized-snapshot-isolation",
                                     "prefix-consistent-snapshot-isolation",
                                     "strong-snapshot-isolation",
                                     "forward-consistent-view",
                                     "realtime-snapshot-isolation",
                                     "realtime-consistent-view",
                                     "realtime-causal",
                                     "realtime-read-atomic",
                                     "realtime-prefix",
                                     "innodb-repeatable-read",
                                     "innodb-repeatable-read-tight",
                                     "read-uncommitted",
                                     "read-committed",
                                     "monotonic-atomic-view",
                                     "read-atomic",
                                     "causal",
                                     "read-your-writes",
                                     "monotonic-reads",
                                     "monotonic-writes",
                                     "writes-follow-reads"};
enum { LEVELS = sizeof levels / sizeof *levels, BETWEEN = 3, STRONG = LEVELS - 9 };
static uint64_t tally[LEVELS][2], steps, longest, undecided, slow;
static const char *slow_folder;

static void report_slow(const text *t, int level, int so, double seconds)
{
    slow++;
    printf("# slow: %s, session order %s: %.1f s", levels[level], so ? "on" : "off", seconds);
    if (slow_folder) {
        char path[1024];
        snprintf(path, sizeof path, "%s/slow-%" PRIu64 "-%s.jsonl", slow_folder, slow,
                 levels[level]);
        FILE *f = fopen(path, "wb");
        if (f && fwrite(t->at, 1, t->n, f) == t->n) printf(", %s", path);
        if (f) fclose(f);
    }
    putchar('\n');
    fflush(stdout);
}

static bool certified(ratel *r, const text *t, int level, int so, int want, text *cert)
{
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    ratel_proof p = {0};
    text in = *t;
    in.pos = 0;
    cert->n = cert->pos = 0;
    ratel_set(r, "session_order", so);
    int code = ratel_history_read(&h, r, "ratel", read_text, &in);
    clock_t start = clock();
    ratel_set(r, "time", LIMIT * 1000);
    if (!code) code = ratel_check(&a, r, h, levels[level]);
    ratel_set(r, "time", 0);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > SLOW) report_slow(t, level, so, seconds);
    if (!code) code = ratel_result_certificate(a, r, h, add_text, cert);
    if (!code) code = ratel_verify(&p, r, h, read_text, cert);
    ratel_verdict v = ratel_result_verdict(a);
    if (v == RATEL_UNDECIDED && a && code == RATEL_EINVAL) { /* the limit, or too many ways */
        undecided++;
        ratel_result_free(a);
        ratel_history_free(h);
        return true;
    }
    bool ok = !code && p.proved && p.verdict == v && (!want || v == (ratel_verdict)want);
    if (ok) {
        tally[level][v == RATEL_HOLDS]++;
        if (v == RATEL_VIOLATED) steps += p.steps;
        if (v == RATEL_VIOLATED && p.steps > longest) longest = p.steps;
    } else {
        printf("# %s, session order %s: %s\n%s\n", levels[level], so ? "on" : "off",
               code ? ratel_errmsg(r) : p.reason, t->at);
    }
    ratel_result_free(a);
    ratel_history_free(h);
    return ok;
}

int main(int argc, char **argv)
{
    static const char *const workloads[] = {"blindw-rw", "blindw-rm",   "ycsb",
                                            "bank",      "rw-register", "list-append"};
    static const char *const isolations[] = {"serializable", "snapshot-isolation"};
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0;
    slow_folder = argc > 3 ? argv[3] : NULL;
    text whole = {0}, mutant = {0}, cert = {0};
    rng g;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    ratel_set(r, "quick", 1);
    rng_seed(&g, seed);
    printf("# %" PRIu64 " mutants from seed %" PRIu64 "\n", count, seed);
    while (passed + failed < count && failed < 10) {
        ratel_gen_options o = {.workload = workloads[rng_below(&g, 6)],
                               .isolation = isolations[rng_below(&g, 2)],
                               .txns = rng_below(&g, 2) ? 30 + rng_below(&g, 60)
                                                        : 90 + rng_below(&g, 411),
                               .sessions = 2 + rng_below(&g, 14),
                               .keys = 5 + rng_below(&g, 60),
                               .ops = 2 + rng_below(&g, 8),
                               .seed = rng_next(&g) >> 16,
                               .unknown = rng_below(&g, 3) ? 0 : 0.05,
                               .aborted = rng_below(&g, 3) ? 0 : 0.05,
                               .no_times = rng_below(&g, 3) > 0};
        ratel_history *h = NULL;
        whole.n = 0;
        if (ratel_gen(&h, r, &o, NULL) || ratel_history_write(h, r, "ratel", add_text, &whole)) {
            printf("# %s: %s\n", o.workload, ratel_errmsg(r));
            failed++;
            break;
        }
        ratel_history_free(h);
        int kept = o.isolation == isolations[1]; /* index of levels */
        bool ok = certified(r, &whole, kept, 1, RATEL_HOLDS, &cert);
        passed += ok;
        failed += !ok;
        for (int i = 0; i < MUTANTS && mutate(&g, &whole, &mutant); i++) {
            ok = true;
            /* with duplicate values the weak levels are a search too */
            bool unique = strcmp(o.workload, "ycsb") && strcmp(o.workload, "bank");
            int end = unique || o.txns < 90 ? LEVELS : STRONG;
            for (int level = 0; level < end && ok; level++) {
                /* deciding some of those in between is a search that grows fast */
                if (level >= BETWEEN && level < STRONG && o.txns >= 90) continue;
                ok = certified(r, &mutant, level, rng_below(&g, 4) > 0, 0, &cert);
            }
            passed += ok;
            failed += !ok;
        }
    }
    for (int i = 0; i < LEVELS; i++)
        printf("# %-24s holds %" PRIu64 ", violated %" PRIu64 "\n", levels[i], tally[i][1],
               tally[i][0]);
    printf("# steps: %" PRIu64 ", %" PRIu64 " in the longest proof; %" PRIu64 " undecided, %" PRIu64
           " slow\n",
           steps, longest, undecided, slow);
    ratel_close(r);
    free(whole.at);
    free(mutant.at);
    free(cert.at);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
