/*
 * iso.c - the definitions that come with synth against the brute-force oracle and against check.
 *
 * Random tiny histories (blind writes, several sessions, reads from anybody, cycles of read-from
 * included).  Every definition that claims to decide the same as a built-in level is asked on each,
 * and must say what the oracle and the C implementation say of that level; those without one are
 * held against their premises (the rules of their axioms), tried on every order.  Usage:
 *
 *     iso [histories [seed]]     default 2000, seed from RATEL_TEST_SEED or 1; the seed is printed
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "ratel.h"
#include "synth/synth.h"

enum { MAX = 6, KEYS = 3 };

typedef struct small {
    uint32_t n, keys;
    uint32_t from[MAX * KEYS];
    bool writes[MAX * KEYS], so[MAX * MAX];
    uint32_t session[MAX];
} small;

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

/* Mostly reads from earlier ones, so that enough histories keep something. */
static void make(small *h)
{
    memset(h, 0, sizeof *h);
    h->n = 2 + below(MAX - 2);
    h->keys = 1 + below(KEYS);
    uint32_t sessions = 1 + below(h->n), wild = below(8) == 0;
    for (uint32_t x = 0; x < h->keys; x++) h->writes[x] = true;
    for (uint32_t t = 1; t <= h->n; t++) {
        h->so[t] = true;
        h->session[t] = 1 + below(sessions);
        for (uint32_t a = 1; a < t; a++) h->so[a * (h->n + 1) + t] = h->session[a] == h->session[t];
        for (uint32_t x = 0; x < h->keys; x++) h->writes[t * h->keys + x] = below(5) < 2;
    }
    for (uint32_t t = 0; t <= h->n; t++)
        for (uint32_t x = 0; x < h->keys; x++) {
            uint32_t who = below(wild ? h->n + 1 : t + 1);
            bool reads = t && below(3) && who != t && h->writes[who * h->keys + x];
            h->from[t * h->keys + x] = reads ? who : SYNTH_NONE_READ;
        }
    for (uint32_t t = 1; t <= h->n; t++) { /* none is empty */
        bool some = false;
        for (uint32_t x = 0; x < h->keys; x++)
            some |= h->writes[t * h->keys + x] || h->from[t * h->keys + x] != SYNTH_NONE_READ;
        if (!some) h->from[t * h->keys] = 0;
    }
}

static size_t spell(const small *h, char *buf, size_t cap)
{
    size_t n = (size_t)snprintf(buf, cap, "{\"ratel\":1,\"init\":0}\n");
    for (uint32_t t = 1; t <= h->n; t++) {
        n += (size_t)snprintf(buf + n, cap - n,
                              "{\"session\":%" PRIu32 ",\"id\":\"t%" PRIu32 "\",\"ops\":[",
                              h->session[t], t);
        const char *comma = "";
        for (int w = 0; w < 2; w++)
            for (uint32_t x = 0; x < h->keys; x++) {
                uint32_t v = w ? t : h->from[t * h->keys + x];
                if (w ? !h->writes[t * h->keys + x] : v == SYNTH_NONE_READ) continue;
                n += (size_t)snprintf(buf + n, cap - n, "%s[\"%s\",\"k%" PRIu32 "\",%" PRIu32 "]",
                                      comma, w ? "w" : "r", x, v);
                comma = ",";
            }
        n += (size_t)snprintf(buf + n, cap - n, "]}\n");
    }
    return n;
}

/* ---- premises on every order --------------------------------------------------------------- */

static bool updates(const small *h, uint32_t t)
{
    for (uint32_t x = 0; x < h->keys; x++)
        if (h->writes[t * h->keys + x]) return true;
    return false;
}

static bool based(const small *h, uint32_t a, uint32_t b)
{
    if (h->so[a * (h->n + 1) + b]) return true;
    for (uint32_t x = 0; x < h->keys; x++)
        if (h->from[b * h->keys + x] == a) return true;
    return false;
}

/* Happened before: a path of session order and read-from. */
static bool earlier(const small *h, uint32_t a, uint32_t b, uint32_t seen)
{
    if (based(h, a, b)) return true;
    for (uint32_t k = 1; k <= h->n; k++)
        if (!(seen >> k & 1) && based(h, a, k) && earlier(h, k, b, seen | 1u << k)) return true;
    return false;
}

static bool reads_other(const small *h, uint32_t a, uint32_t b, uint32_t x)
{
    for (uint32_t y = 0; y < h->keys; y++)
        if (y != x && h->from[b * h->keys + y] == a) return true;
    return false;
}

/* Is t2 something that t3, reading x from t1, must respect?  rank: the order. */
static bool premise(const small *h, const char *level, const uint32_t *rank, uint32_t t1,
                    uint32_t t2, uint32_t t3, uint32_t x)
{
    bool before = rank[t2] < rank[t3];
    if (!strcmp(level, "isolde-update-ser-biswas")) return before && updates(h, t3);
    if (!strcmp(level, "isolde-update-ser-cerone"))
        return based(h, t2, t3) || (before && updates(h, t2) && updates(h, t3));
    if (!strcmp(level, "tap-k")) return reads_other(h, t2, t3, x) && earlier(h, t1, t2, 0);
    if (!strcmp(level, "tap-m")) return earlier(h, t1, t2, 0) && earlier(h, t2, t3, 0);
    if (!strcmp(level, "tap-n")) return earlier(h, t2, t3, 0);
    return reads_other(h, t2, t3, x); /* tap-ra, tap-l */
}

static bool order_fits(const small *h, const char *level, const uint32_t *rank)
{
    for (uint32_t a = 0; a <= h->n; a++)
        for (uint32_t b = 1; b <= h->n; b++)
            if (based(h, a, b) && rank[a] >= rank[b]) return false;
    for (uint32_t t3 = 1; t3 <= h->n; t3++)
        for (uint32_t x = 0; x < h->keys; x++) {
            uint32_t t1 = h->from[t3 * h->keys + x];
            if (t1 == SYNTH_NONE_READ) continue;
            for (uint32_t t2 = 1; t2 <= h->n; t2++)
                if (t2 != t1 && h->writes[t2 * h->keys + x] && rank[t2] > rank[t1] &&
                    premise(h, level, rank, t1, t2, t3, x))
                    return false;
        }
    return true;
}

static bool some_order(const small *h, const char *level, uint32_t *rank, uint32_t next,
                       uint32_t used)
{
    if (next > h->n) return order_fits(h, level, rank);
    for (uint32_t t = 1; t <= h->n; t++) {
        if (used >> t & 1) continue;
        rank[t] = next;
        if (some_order(h, level, rank, next + 1, used | 1u << t)) return true;
    }
    return false;
}

/* 1, 0, or -1: this level is not judged here. */
static int by_premise(const small *h, const char *level)
{
    static const char *const known[] = {"isolde-update-ser-biswas",
                                        "isolde-update-ser-cerone",
                                        "tap-ra",
                                        "tap-k",
                                        "tap-l",
                                        "tap-m",
                                        "tap-n"};
    uint32_t rank[MAX] = {0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], level)) return some_order(h, level, rank, 1, 0);
    return -1;
}

struct text {
    const char *at;
    size_t left;
};

static ptrdiff_t read_text(void *buf, size_t cap, void *payload)
{
    struct text *t = payload;
    size_t k = t->left < cap ? t->left : cap;
    memcpy(buf, t->at, k);
    t->at += k;
    t->left -= k;
    return (ptrdiff_t)k;
}

/* What check says: 1, 0, or -1. */
static int by_check(ratel *r, const ratel_history *h, const char *level)
{
    ratel_result *a = NULL;
    if (!h || ratel_check(&a, r, h, level)) return -1;
    ratel_verdict v = ratel_result_verdict(a);
    ratel_result_free(a);
    return v == RATEL_HOLDS ? 1 : v == RATEL_VIOLATED ? 0 : -1;
}

/* The library has the definition named as the built-in level before all others of it. */
static int said_before(const char *builtin, const int *said)
{
    const char *name;
    for (size_t k = 0; synth_library_at(k, &name, NULL, NULL); k++)
        if (!strcmp(name, builtin)) return said[k];
    return -1;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0, tally[64][2] = {{0}};
    synth *s = synth_open(0, 0, NULL);
    ratel *r = NULL;
    if (!s || ratel_open(&r, NULL)) return 1;
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; i < count && failed < 20; i++) {
        small h;
        char text[4096], err[256];
        state = seed * 1000003 + i;
        make(&h);
        size_t n = spell(&h, text, sizeof text);
        oracle *o = oracle_parse(text, n, err, sizeof err);
        bool ok = o != NULL;
        ratel_history *read = NULL;
        struct text in = {text, n};
        if (ratel_history_read(&read, r, "ratel", read_text, &in)) ok = false;
        if (!o) printf("# the oracle cannot read it: %s\n%s\n", err, text);
        const char *name, *builtin;
        int said[64];
        for (size_t k = 0; ok && synth_library_at(k, &name, NULL, &builtin); k++) {
            oracle_question q = {builtin, 1, ORACLE_MUST, 0};
            bool first = *builtin && !strcmp(name, builtin); /* asked once for each built-in one */
            int expected = !*builtin ? by_premise(&h, name)
                           : first   ? oracle_check(o, &q)
                                     : said_before(builtin, said);
            said[k] = expected;
            if (expected < 0) continue;
            int level = synth_level_named(s, name);
            if (level >= 0 && synth_level_has_steps(s, level)) continue; /* iso_engine.c does */
            int got = level < 0 ? level
                                : synth_check(s, level, h.n, h.keys, h.from, h.writes, h.so, NULL);
            int checked = first ? by_check(r, read, builtin) : expected;
            tally[k][expected]++;
            if (got == expected && checked == expected) continue;
            ok = false;
            printf("# %s: expected %d, synth says %d (%s), check %d\n%s\n", name, expected, got,
                   got < 0 ? synth_error(s, NULL, NULL) : "", checked, text);
        }
        ratel_history_free(read);
        oracle_free(o);
        passed += ok;
        failed += !ok;
    }
    const char *name;
    for (size_t k = 0; synth_library_at(k, &name, NULL, NULL); k++)
        printf("# %-28s holds %" PRIu64 " violated %" PRIu64 "\n", name, tally[k][1], tally[k][0]);
    ratel_close(r);
    synth_close(s);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
