/*
 * diff_shipped.c - the modules that come along, each against a built-in level or the oracle.
 *
 *   session-order             --session-order off with it is the level with session order on
 *   bounded-staleness         a level with it is realtime-LEVEL with the bound as --drift
 *   cdc-order                 positions in a change stream are the hints `ver` of the same history
 *   causality-tokens          tokens are dependencies, which the oracle is told
 *   tombstones                the oracle on the same history with deletes in place of the value
 *   mariadb-repeatable-read   repeatable-read with it, and read-committed without, are
 *                             innodb-repeatable-read
 *
 *     diff_shipped DIRECTORY [histories [seed [module]]]   default 2000 a module
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "diff/diff_text.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel-module.h"
#include "ratel.h"

static ratel *r;
static rng luck;
static uint64_t passed, failed, refused, violated;
static const char *name;
static const ratel_module *module;

static bool open_module(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.so", directory, name);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    union {
        void *object;
        ratel_module_entry_fn function;
    } entry = {object ? dlsym(object, "ratel_module_entry") : NULL};
    if (!entry.object) printf("FAIL %s: %s\n", path, dlerror());
    module = entry.object ? entry.function() : NULL;
    return module != NULL;
}

static ratel_history *read_one(const char *history, size_t n)
{
    text t = {(char *)(uintptr_t)history, n, n, 0};
    ratel_history *h = NULL;
    return ratel_history_read(&h, r, NULL, read_text, &t) ? NULL : h;
}

/* The verdict, or -1. */
static int verdict_of(const ratel_history *h, const char *level, bool so, int64_t drift)
{
    ratel_result *a = NULL;
    ratel_set(r, "session_order", so);
    ratel_set(r, "drift", drift);
    int code = h ? ratel_check(&a, r, h, level) : RATEL_EINVAL;
    int v = code ? -1 : (int)ratel_result_verdict(a);
    ratel_result_free(a);
    return v;
}

static void same(int got, int want, const char *level, const char *history)
{
    violated += want == RATEL_VIOLATED;
    if (got == want) {
        passed++;
        return;
    }
    if (failed++ < 4)
        printf("FAIL %s at %s: %d with the module, %d is right: %s\n%s\n", name, level, got, want,
               ratel_errmsg(r), history);
}

/* The history under the module; NULL: it refused. */
static ratel_history *under(const ratel_history *h, const char *settings)
{
    ratel_history *out = NULL;
    if (ratel_module_add(&out, r, h, module, settings)) refused++;
    return out;
}

/* --- the modules --------------------------------------------------------------------------- */

static void try_session_order(const char *history, size_t n)
{
    static const char *const levels[] = {"serializable",    "snapshot-isolation", "prefix",
                                         "repeatable-read", "read-committed",     "read-atomic",
                                         "causal",          "consistent-view",    "update-atomic",
                                         "no-lost-update",  "cursor-stability",   "monotonic-view"};
    ratel_history *h = read_one(history, n), *m = h ? under(h, NULL) : NULL;
    const char *level = levels[rng_below(&luck, 12)];
    int want = verdict_of(h, level, true, 0);
    if (m && want != RATEL_UNDECIDED) {
        int got = verdict_of(m, level, false, 0);
        if (got == RATEL_UNDECIDED)
            refused++; /* lists of unknown order */
        else
            same(got, want, level, history);
    }
    ratel_history_free(m);
    ratel_history_free(h);
}

static void try_staleness(const char *history, size_t n)
{
    static const char *const levels[][2] = {{"serializable", "strict-serializable"},
                                            {"snapshot-isolation", "realtime-snapshot-isolation"},
                                            {"repeatable-read", "realtime-repeatable-read"},
                                            {"prefix", "realtime-prefix"}};
    char settings[40];
    uint64_t bound = rng_below(&luck, 12);
    snprintf(settings, sizeof settings, "bound=%" PRIu64, bound);
    ratel_history *h = read_one(history, n), *m = h ? under(h, settings) : NULL;
    const char *const *pair = levels[rng_below(&luck, 4)];
    int want = verdict_of(h, pair[1], true, (int64_t)bound);
    int got = m ? verdict_of(m, pair[0], true, 0) : -1;
    if (m && want != RATEL_UNDECIDED && got != RATEL_UNDECIDED)
        same(got, want, pair[0], history);
    else
        refused++;
    ratel_history_free(m);
    ratel_history_free(h);
}

/* Copies a line and puts `member` before its last brace. */
static void add_member(text *to, const char *line, size_t n, const char *member)
{
    while (n && line[n - 1] != '}') n--;
    add_text(line, n - 1, to);
    add_text(member, strlen(member), to);
    add_text("}\n", 2, to);
}

static size_t line_of(const char *s)
{
    const char *end = strchr(s, '\n');
    return end ? (size_t)(end - s) : strlen(s);
}

/* Transactions get positions; the same as `ver` of their writes.  (A hint would say more: that one
   of unknown outcome committed.) */
static void try_cdc(const char *history, size_t n)
{
    text with = {0}, hinted = {0};
    (void)n;
    if (strstr(history, "\"unknown\"") || strstr(history, "[\"d\"")) {
        refused++;
        return;
    }
    for (const char *s = history; *s; s += line_of(s) + (s[line_of(s)] == '\n')) {
        size_t k = line_of(s);
        char member[40];
        int at = (int)rng_below(&luck, 100000);
        if (strncmp(s, "{\"session\"", 10)) {
            add_text(s, k, &with), add_text("\n", 1, &with);
            add_text(s, k, &hinted), add_text("\n", 1, &hinted);
            continue;
        }
        snprintf(member, sizeof member, ",\"lsn\":%d", at);
        add_member(&with, s, k, member);
        snprintf(member, sizeof member, ",{\"ver\":%d}]", at);
        const char *end = s + k, *at_op = s;
        while (at_op < end) { /* ["w",K,V] becomes ["w",K,V,{"ver":N}] */
            const char *w = strstr(at_op, "[\"w\",");
            const char *close = w && w < end ? strchr(w, ']') : NULL;
            if (!close || close >= end) break;
            add_text(at_op, (size_t)(close - at_op), &hinted);
            add_text(member, strlen(member), &hinted);
            at_op = close + 1;
        }
        add_text(at_op, (size_t)(end - at_op), &hinted), add_text("\n", 1, &hinted);
    }
    static const char *const levels[] = {"serializable", "snapshot-isolation", "repeatable-read",
                                         "read-committed"};
    const char *level = levels[rng_below(&luck, 4)];
    ratel_history *h = read_one(with.at, with.n), *m = h ? under(h, NULL) : NULL;
    ratel_history *plain = read_one(hinted.at, hinted.n);
    bool so = rng_below(&luck, 2);
    int want = verdict_of(plain, level, so, 0), got = m ? verdict_of(m, level, so, 0) : -1;
    if (!plain || !m || want < 0)
        refused++; /* two writers with one position, which no hint may have */
    else
        same(got, want, level, with.at);
    ratel_history_free(m);
    ratel_history_free(h);
    ratel_history_free(plain);
    free(with.at);
    free(hinted.at);
}

/* Random tokens; the oracle is told the same dependencies. */
static void try_tokens(const char *history, size_t n)
{
    static const char *const levels[] = {"serializable", "snapshot-isolation", "causal",
                                         "read-atomic", "parallel-snapshot-isolation"};
    char err[200];
    text with = {0};
    oracle *o = oracle_parse(history, n, err, sizeof err);
    int txns = 0, t = 0;
    for (const char *s = history; *s; s += line_of(s) + (s[line_of(s)] == '\n'))
        txns += !strncmp(s, "{\"session\"", 10);
    for (const char *s = history; *s && o; s += line_of(s) + (s[line_of(s)] == '\n')) {
        char member[60];
        if (strncmp(s, "{\"session\"", 10) || rng_below(&luck, 2)) {
            add_text(s, line_of(s), &with), add_text("\n", 1, &with);
        } else {
            int other = (int)rng_below(&luck, (uint64_t)txns);
            oracle_edge e = {other, 1, t, 0, 1};
            snprintf(member, sizeof member, ",\"after\":[\"t%d\"]", other);
            add_member(&with, s, line_of(s), member);
            if (other != t) oracle_assume(o, &e, &(int){1}, 1);
        }
        t += !strncmp(s, "{\"session\"", 10);
    }
    ratel_history *h = o ? read_one(with.at, with.n) : NULL, *m = h ? under(h, NULL) : NULL;
    bool so = rng_below(&luck, 2);
    oracle_question q = {levels[rng_below(&luck, 5)], so, ORACLE_MUST, 0};
    int want = m ? oracle_check(o, &q) : ORACLE_TOO_BIG;
    int got = m ? verdict_of(m, q.level, so, 0) : -1;
    if ((want != ORACLE_HOLDS && want != ORACLE_VIOLATED) || got == RATEL_UNDECIDED)
        refused++;
    else
        same(got, want == ORACLE_HOLDS ? RATEL_HOLDS : RATEL_VIOLATED, q.level, with.at);
    ratel_history_free(m);
    ratel_history_free(h);
    oracle_free(o);
    free(with.at);
}

/* The value 4 is a tombstone: the same history with deletes, for the oracle. */
static void try_tombstones(const char *history, size_t n)
{
    static const char *const levels[] = {"serializable", "snapshot-isolation", "read-committed",
                                         "causal", "repeatable-read"};
    char err[200];
    text plain = {0};
    for (const char *s = history; *s;) {
        const char *close = strchr(s, ']');
        size_t k = close ? (size_t)(close - s) : 0;
        bool op = !strncmp(s, "[\"w\",", 5) || !strncmp(s, "[\"r\",", 5);
        bool row = !op && *s == '[' && k >= 4 && !memchr(s + 1, '[', k) && !memchr(s, '{', k) &&
                   !strncmp(close - 2, ",4", 2);
        if (row && s > history && s[-1] != ':') { /* a row that is not there */
            bool last = close[1] != ',';
            if (last && plain.n && plain.at[plain.n - 1] == ',') plain.at[--plain.n] = 0;
            s = close + (last ? 1 : 2);
            continue;
        }
        if (!op || k < 8 || strncmp(close - 2, ",4", 2)) {
            add_text(s++, 1, &plain);
            continue;
        }
        add_text(s[2] == 'w' ? "[\"d\"," : "[\"r\",", 5, &plain);
        add_text(s + 5, k - 7, &plain);
        const char *tail = s[2] == 'w' ? ",{\"tomb\":true}" : ",null,{\"tomb\":true}";
        add_text(tail, strlen(tail), &plain);
        s = close;
    }
    /* (operations with attributes are not rewritten here) */
    bool left = strstr(plain.at, ",4,{") || strstr(plain.at, ",4]");
    oracle *o = left ? NULL : oracle_parse(plain.at, plain.n, err, sizeof err);
    ratel_history *h = read_one(history, n), *m = h ? under(h, "value=4") : NULL;
    bool so = rng_below(&luck, 2);
    oracle_question q = {levels[rng_below(&luck, 5)], so, ORACLE_MUST, 0};
    int want = o && m ? oracle_check(o, &q) : ORACLE_TOO_BIG;
    int got = m ? verdict_of(m, q.level, so, 0) : -1;
    if (want != ORACLE_HOLDS && want != ORACLE_VIOLATED)
        refused++;
    else
        same(got, want == ORACLE_HOLDS ? RATEL_HOLDS : RATEL_VIOLATED, q.level, plain.at);
    ratel_history_free(m);
    ratel_history_free(h);
    oracle_free(o);
    free(plain.at);
}

static void try_mariadb(const char *history, size_t n)
{
    ratel_history *h = read_one(history, n), *m = h ? under(h, NULL) : NULL;
    if (m) {
        int want = verdict_of(h, "innodb-repeatable-read", false, 0);
        int whole = verdict_of(h, "read-committed", false, 0);
        int got = whole == RATEL_HOLDS ? verdict_of(m, "repeatable-read", false, 0) : whole;
        if (want != RATEL_UNDECIDED && got != RATEL_UNDECIDED)
            same(got, want, "innodb-repeatable-read", history);
        else
            refused++; /* an unknown initial state, or lists */
    }
    ratel_history_free(m);
    ratel_history_free(h);
}

static const struct trial {
    const char *module, *profiles[4];
    void (*run)(const char *history, size_t n);
} trials[] = {
    {"session-order", {"unknown", "everything", "registers-dup", "mixture"}, try_session_order},
    {"bounded-staleness", {"times", "times", "mixture", "everything"}, try_staleness},
    {"cdc-order", {"registers-unique", "registers-dup", "registers-unique", "unknown"}, try_cdc},
    {"causality-tokens", {"registers-unique", "unknown", "registers-dup", "scans"}, try_tokens},
    {"tombstones", {"registers-unique", "registers-dup", "scans", "unknown"}, try_tombstones},
    {"mariadb-repeatable-read", {"locks", "locks", "registers-dup", "small"}, try_mariadb},
};

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : "build/modules", *only = argc > 4 ? argv[4] : "";
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    rng_seed(&luck, seed);
    if (ratel_open(&r, NULL)) return 70;
    ratel_set(r, "ryow", 0);
    for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) {
        name = trials[k].module;
        uint64_t before = passed, broke = violated, no = refused;
        if (*only && strcmp(only, name)) continue;
        if (!open_module(directory)) {
            failed++;
            continue;
        }
        for (uint64_t i = 0; i < count; i++) {
            size_t n;
            char *h = random_history(seed * 7919 + i, trials[k].profiles[i % 4], &n);
            if (h) trials[k].run(h, n);
            free(h);
        }
        printf("%s: %" PRIu64 " equal (%" PRIu64 " violated), %" PRIu64 " not asked\n", name,
               passed - before, violated - broke, refused - no);
    }
    ratel_close(r);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed ? 1 : 0;
}
