/*
 * update_readers.c - update serializability and its neighbours against the brute-force oracle, on
 * histories of many readers: up to 9 transactions in few sessions, updates that mostly see the
 * newest versions, readers that each see a state of their own.
 *
 * random_history's transactions are too few and too alike for what makes this level hard: several
 * readers between updates of the same sessions.  Session order on and off; the serial and session
 * first attempts of the engine are off every other time, so that the rule itself is asked.  Half of
 * the histories have times.  Usage:
 *
 *     updates [histories [seed]]   default 5000 histories, seed from RATEL_TEST_SEED or 1
 *
 * A mismatch prints the history, so that it can be pasted into a file.
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

static const char *const levels[] = {"update-serializable", "serializable", "consistent-view",
                                     "realtime-update-serializable", "realtime-read-uncommitted"};
enum { LEVELS = 5, KEYS = 4, MOST = 9 };

static uint64_t state;

static unsigned below(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state * 0x9e3779b97f4a7c15u) >> 33) % n;
}

static char text_of[1 << 14];
static size_t text_n;

static void put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text_of + text_n, sizeof text_of - text_n, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text_of - text_n) abort();
    text_n += (size_t)n;
}

typedef struct store {
    int version[KEYS][MOST + 1]; /* values; [0] is 0: absent */
    unsigned versions[KEYS];
} store;

static void put_read(const store *s, unsigned k, unsigned back)
{
    unsigned n = s->versions[k], at = back < n ? n - back : 0;
    int value = s->version[k][at];
    if (value)
        put("[\"r\",\"%c\",%d]", 'a' + (int)k, value);
    else
        put("[\"r\",\"%c\",null]", 'a' + (int)k);
}

/* Some histories name the transactions of a session in another order than they ran in: then
   readers come before what they read, by way of others. */
static void swap_lines(const size_t *line, unsigned n)
{
    static char copy[sizeof text_of];
    unsigned at[MOST];
    for (unsigned i = 0; i < n; i++) at[i] = i;
    for (unsigned swaps = 1 + below(3); swaps; swaps--) {
        unsigned i = below(n), j = below(n), x = at[i];
        at[i] = at[j];
        at[j] = x;
    }
    memcpy(copy, text_of, text_n);
    text_n = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t size = line[at[i] + 1] - line[at[i]];
        memcpy(text_of + text_n, copy + line[at[i]], size);
        text_n += size;
    }
    text_of[text_n] = 0;
}

/* Sessions of readers and updates that write blindly, each reader of whatever any of them wrote:
   cycles without anti-dependencies that lead through several readers. */
static void make_ring(void)
{
    unsigned sessions = 2 + below(3), shared = below(1u << sessions), update_first = 0;
    text_n = 0;
    for (unsigned i = 0; i < 2 * sessions; i++) {
        unsigned s = i / 2, from = below(3) ? (s + 1) % sessions : below(sessions);
        if (i % 2 == 0) update_first = below(4) == 0;
        bool reader = (i % 2 == 0) != update_first;
        unsigned who = reader ? from : s;
        put("{\"session\":%u,\"ops\":[", s);
        if (shared >> who & 1 && (!reader || below(2))) /* a key that several write */
            put("[\"%c\",\"z\",%u],", reader ? 'r' : 'w', who + 1);
        put("[\"%c\",\"%c\",1]]}\n", reader ? 'r' : 'w', 'a' + (int)who);
    }
}

static void make_history(uint64_t seed)
{
    state = (seed + 1) * 0x2545f4914f6cdd1du;
    for (int i = 0; i < 8; i++) below(2);
    if (below(6) == 0) {
        make_ring();
        return;
    }
    store s = {0};
    unsigned txns = 4 + below(MOST - 3), sessions = 2 + below(3), keys = 2 + below(KEYS - 1);
    unsigned readers = 30 + below(50), stale = below(3) ? below(25) : 0, wide = 1 + below(3);
    bool few_values = below(4) == 0, unknown = below(5) == 0;
    bool forks = below(2); /* updates of one key, readers of all: each may see another half */
    if (forks) txns = 6 + below(MOST - 5), keys = 2 + below(2);
    /* Some end long before the next one begins, some overlap, some have only one time or none. */
    bool timed = below(2);
    unsigned width = 1 + below(30), clock = 0;
    int next = 1;
    size_t line[MOST + 1];
    text_n = 0;
    for (unsigned t = 0; t < txns; t++) {
        line[t] = text_n;
        bool maybe = unknown && below(4) == 0;
        put("{\"session\":%u,%s", 1 + below(sessions), maybe ? "\"status\":\"unknown\"," : "");
        clock += below(12);
        if (timed && below(8)) put("\"begin\":%u,", clock);
        if (timed && below(8)) put("\"end\":%u,", clock + below(width));
        put("\"ops\":[");
        unsigned used = 0, ops = 0;
        bool reader = below(100) < readers;
        unsigned n = !forks ? 1 + below(3) : reader ? keys : 1;
        for (unsigned i = 0; i < n; i++) {
            unsigned k = forks && reader ? i : below(keys);
            if (used >> k & 1) continue;
            used |= 1u << k;
            unsigned back = reader ? below(wide + 1) : below(100) < stale ? below(3) : 0;
            if (ops++) put(",");
            if (reader) {
                put_read(&s, k, back);
                continue;
            }
            bool reads = below(3) != 0, writes = !reads || below(2) || i + 1 == n;
            if (reads) put_read(&s, k, back);
            if (reads && writes) put(",");
            if (!writes) continue;
            int value = few_values ? 1 + (int)below(3) : next++;
            put("[\"w\",\"%c\",%d]", 'a' + (int)k, value);
            s.version[k][++s.versions[k]] = value;
        }
        put("]}\n");
    }
    line[txns] = text_n;
    if (below(3) == 0) swap_lines(line, txns);
}

typedef struct input {
    const char *at;
    size_t n, pos;
} input;

static ptrdiff_t read_text(void *buf, size_t cap, void *payload)
{
    input *t = payload;
    size_t n = t->n - t->pos < cap ? t->n - t->pos : cap;
    memcpy(buf, t->at + t->pos, n);
    t->pos += n;
    return (ptrdiff_t)n;
}

static bool agree(ratel *r, const ratel_history *h, int level, int so, int expected)
{
    ratel_result *a = NULL;
    ratel_set(r, "session_order", so);
    int code = ratel_check(&a, r, h, levels[level]);
    const char *got = code ? ratel_errmsg(r) : ratel_result_reason(a);
    bool ok = !code &&
              ratel_result_verdict(a) == (expected == ORACLE_HOLDS ? RATEL_HOLDS : RATEL_VIOLATED);
    if (ok && (code = ratel_result_recheck(a, r, h)) != 0) {
        ok = false;
        got = ratel_errmsg(r);
    }
    if (!ok)
        printf("# %s, session order %s: oracle says %s; product: %s\n%s\n", levels[level],
               so ? "on" : "off", oracle_verdict_name(expected), got, text_of);
    ratel_result_free(a);
    return ok;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0, too_big = 0, tally[LEVELS][2] = {0}, only_here[2] = {0};
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    ratel_set(r, "ryow", 0);
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; i < count && failed < 20; i++) {
        char err[256];
        make_history(seed * 1000003 + i);
        input in = {text_of, text_n, 0};
        oracle *o = oracle_parse(text_of, text_n, err, sizeof err);
        ratel_history *h = NULL;
        bool ok = o && !ratel_history_read(&h, r, "ratel", read_text, &in);
        if (!ok) printf("# not read: %s\n%s\n", o ? ratel_errmsg(r) : err, text_of);
        ratel_set_pass(r, "serial-first", i % 2 == 0);
        ratel_set_pass(r, "sessions-first", i % 2 == 0);
        for (int so = 0; so < 2 && ok; so++) {
            int verdict[LEVELS];
            for (int level = 0; level < LEVELS && ok; level++) {
                oracle_question q = {levels[level], so, ORACLE_MUST, 0};
                int expected = verdict[level] = oracle_check(o, &q);
                if (expected == ORACLE_NOTHING) break;
                if (expected == ORACLE_TOO_BIG) {
                    too_big++;
                    continue;
                }
                tally[level][expected == ORACLE_HOLDS]++;
                ok = agree(r, h, level, so, expected);
                if (level == 1) only_here[so] += verdict[0] == ORACLE_HOLDS && !verdict[1];
            }
        }
        passed += ok;
        failed += !ok;
        ratel_history_free(h);
        oracle_free(o);
    }
    for (int i = 0; i < LEVELS; i++)
        printf("# %-20s holds %" PRIu64 " violated %" PRIu64 "\n", levels[i], tally[i][1],
               tally[i][0]);
    printf("# update-serializable but not serializable: %" PRIu64 ", with session order %" PRIu64
           "; too big for the oracle: %" PRIu64 "\n",
           only_here[0], only_here[1], too_big);
    ratel_close(r);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
