/*
 * smallest.c - "smallest" and "all of them" of synth against plain enumeration.
 *
 * Every history of at most 3 transactions, 2 keys and some operations is written down (up to the
 * names of transactions and keys) and judged by the oracle at eight levels.  For every allowed
 * level (or none) and every one or two forbidden ones the smallest that fit are kept: fewest
 * transactions, then keys, operations, session edges.  synth must find that size, and with `more`
 * that many.
 * Usage:
 *
 *     smallest [operations]     default 6
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "synth/synth.h"

enum { N = 3, KEYS = 2, SIZE = N + 1, NOBODY = 9 };

static const char *const levels[] = {"ra", "ua", "nlu", "cc", "psi", "pc", "si", "ser"};
enum { LEVELS = sizeof levels / sizeof *levels };

typedef struct small {
    uint32_t n, keys;
    uint8_t from[SIZE][KEYS], writes[SIZE][KEYS], so[SIZE][SIZE];
    uint32_t session[SIZE];
} small;

typedef struct least {
    uint32_t size[4]; /* transactions, keys, operations, session edges; all 0: none yet */
    uint64_t many;
} least;

typedef struct run {
    uint32_t ops; /* at most */
    uint64_t judged;
    least best[LEVELS + 1][LEVELS][LEVELS]; /* allowed (LEVELS: none), forbidden, and forbidden */
} run;

static uint32_t count_ops(const small *h)
{
    uint32_t many = 0;
    for (uint32_t t = 1; t <= h->n; t++)
        for (uint32_t x = 0; x < h->keys; x++)
            many += (uint32_t)h->writes[t][x] + (h->from[t][x] != NOBODY);
    return many;
}

static uint32_t count_edges(const small *h)
{
    uint32_t many = 0;
    for (uint32_t t = 1; t <= h->n; t++) {
        bool follows = false;
        for (uint32_t a = 1; a < t; a++) follows |= h->so[a][t];
        many += follows;
    }
    return many;
}

static int compare(const small *a, const small *b)
{
    int c = memcmp(a->writes, b->writes, sizeof a->writes);
    if (!c) c = memcmp(a->from, b->from, sizeof a->from);
    return c ? c : memcmp(a->so, b->so, sizeof a->so);
}

/* Is no renaming of it smaller?  Only those count whose session order rises with the numbers, as it
   does in everything enumerated. */
static bool is_first(const small *h, uint32_t *txn, uint32_t next)
{
    if (next <= h->n) {
        for (uint32_t v = 1; v <= h->n; v++) {
            bool taken = false;
            for (uint32_t k = 1; k < next; k++) taken |= txn[k] == v;
            txn[next] = v;
            if (!taken && !is_first(h, txn, next + 1)) return false;
        }
        return true;
    }
    for (uint32_t turn = 0; turn < h->keys; turn++) {
        small o = *h;
        for (uint32_t t = 1; t <= h->n; t++)
            for (uint32_t x = 0; x < h->keys; x++) {
                uint32_t y = (x + turn) % h->keys;
                uint8_t from = h->from[t][x];
                o.writes[txn[t]][y] = h->writes[t][x];
                o.from[txn[t]][y] = from == NOBODY || !from ? from : (uint8_t)txn[from];
            }
        bool rises = true;
        for (uint32_t a = 1; a <= h->n; a++)
            for (uint32_t b = 1; b <= h->n; b++) {
                o.so[txn[a]][txn[b]] = h->so[a][b];
                rises &= !h->so[a][b] || txn[a] < txn[b];
            }
        if (rises && compare(&o, h) < 0) return false;
    }
    return true;
}

/* Session order and read-from have no cycle; else synth does not consider it. */
static bool is_based(const small *h)
{
    bool reach[SIZE][SIZE] = {{false}};
    for (uint32_t b = 1; b <= h->n; b++) {
        for (uint32_t a = 1; a <= h->n; a++) reach[a][b] = h->so[a][b];
        for (uint32_t x = 0; x < h->keys; x++)
            if (h->from[b][x] != NOBODY) reach[h->from[b][x]][b] = true;
    }
    for (uint32_t k = 1; k <= h->n; k++)
        for (uint32_t a = 1; a <= h->n; a++)
            for (uint32_t b = 1; b <= h->n; b++) reach[a][b] |= reach[a][k] && reach[k][b];
    for (uint32_t a = 1; a <= h->n; a++)
        if (reach[a][a]) return false;
    return true;
}

static bool is_whole(const small *h)
{
    for (uint32_t t = 1; t <= h->n; t++) {
        bool some = false;
        for (uint32_t x = 0; x < h->keys; x++) some |= h->writes[t][x] || h->from[t][x] != NOBODY;
        if (!some) return false;
    }
    for (uint32_t x = 0; x < h->keys; x++) {
        bool some = false;
        for (uint32_t t = 1; t <= h->n; t++) some |= h->writes[t][x] || h->from[t][x] != NOBODY;
        if (!some) return false;
    }
    return true;
}

static oracle *spell(const small *h)
{
    char buf[1024], err[256];
    size_t n = (size_t)snprintf(buf, sizeof buf, "{\"ratel\":1,\"init\":0}\n");
    for (uint32_t t = 1; t <= h->n; t++) {
        n += (size_t)snprintf(buf + n, sizeof buf - n, "{\"session\":%" PRIu32 ",\"ops\":[",
                              h->session[t]);
        const char *comma = "";
        for (int w = 0; w < 2; w++)
            for (uint32_t x = 0; x < h->keys; x++) {
                uint32_t v = w ? t : h->from[t][x];
                if (w ? !h->writes[t][x] : v == NOBODY) continue;
                n += (size_t)snprintf(buf + n, sizeof buf - n,
                                      "%s[\"%s\",\"k%" PRIu32 "\",%" PRIu32 "]", comma,
                                      w ? "w" : "r", x, v);
                comma = ",";
            }
        n += (size_t)snprintf(buf + n, sizeof buf - n, "]}\n");
    }
    oracle *o = oracle_parse(buf, n, err, sizeof err);
    if (!o) printf("# the oracle cannot read it: %s\n%s\n", err, buf), exit(1);
    return o;
}

static void note(least *l, const uint32_t *size)
{
    int c = 0;
    for (int k = 0; k < 4 && !c; k++)
        c = !l->size[0] || size[k] < l->size[k] ? -1 : size[k] > l->size[k];
    if (c > 0) return;
    if (c < 0) l->many = 0;
    memcpy(l->size, size, sizeof l->size);
    l->many++;
}

static void judge(run *r, const small *h)
{
    uint32_t txn[SIZE], size[4] = {h->n, h->keys, count_ops(h), count_edges(h)};
    if (!is_whole(h) || !is_based(h) || !is_first(h, txn, 1)) return;
    oracle *o = spell(h);
    bool keeps[LEVELS];
    for (size_t i = 0; i < LEVELS; i++) {
        oracle_question q = {levels[i], 1, ORACLE_MUST, 0};
        keeps[i] = oracle_check(o, &q) == ORACLE_HOLDS;
    }
    oracle_free(o);
    r->judged++;
    for (size_t c = 0; c < (LEVELS + 1) * LEVELS * LEVELS; c++) {
        size_t i = c / (LEVELS * LEVELS), j = c / LEVELS % LEVELS, k = c % LEVELS;
        if ((i == LEVELS || keeps[i]) && !keeps[j] && !keeps[k]) note(&r->best[i][j][k], size);
    }
}

/* Reads of cell i (transaction 1 + i / keys, key i % keys) and all after it. */
static void all_reads(run *r, small *h, uint32_t i, uint32_t left)
{
    if (i == h->n * h->keys) {
        judge(r, h);
        return;
    }
    uint32_t t = 1 + i / h->keys, x = i % h->keys;
    h->from[t][x] = NOBODY;
    all_reads(r, h, i + 1, left);
    for (uint32_t s = 0; left && s <= h->n; s++) {
        if (s == t || (s && !h->writes[s][x])) continue;
        h->from[t][x] = (uint8_t)s;
        all_reads(r, h, i + 1, left - 1);
    }
    h->from[t][x] = NOBODY;
}

static void all_writes(run *r, small *h, uint32_t i, uint32_t left)
{
    if (i == h->n * h->keys) {
        all_reads(r, h, 0, left);
        return;
    }
    for (uint32_t w = 0; w <= 1 && w <= left; w++) {
        h->writes[1 + i / h->keys][i % h->keys] = (uint8_t)w;
        all_writes(r, h, i + 1, left - w);
    }
    h->writes[1 + i / h->keys][i % h->keys] = 0;
}

static void all_sessions(run *r, small *h, uint32_t t, uint32_t most)
{
    if (t > h->n) {
        for (uint32_t a = 1; a <= h->n; a++)
            for (uint32_t b = a + 1; b <= h->n; b++) h->so[a][b] = h->session[a] == h->session[b];
        all_writes(r, h, 0, r->ops);
        return;
    }
    for (uint32_t s = 1; s <= most + 1; s++) {
        h->session[t] = s;
        all_sessions(r, h, t + 1, s > most ? s : most);
    }
}

static bool agrees(synth *s, const run *r, size_t i, size_t j, size_t k)
{
    const least *l = &r->best[i][j][k];
    int allow = i < LEVELS ? synth_level_named(s, levels[i]) : 0;
    int forbid[2] = {synth_level_named(s, levels[j]), synth_level_named(s, levels[k])};
    synth_problem p = {.allow = &allow, .forbid = forbid, .n_allow = i < LEVELS, .n_forbid = 2};
    synth_answer a;
    p.txns = N;
    p.keys = KEYS;
    p.no_prove = true;
    p.more = 9999;
    if (synth_search(s, &p, &a)) return false;
    uint32_t size[4] = {a.txns, a.keys, 0, 0};
    for (uint32_t t = 1; a.result == SYNTH_HISTORY && t <= a.txns; t++) {
        bool follows = false;
        for (uint32_t x = 0; x < a.keys; x++)
            size[2] +=
                (uint32_t)a.writes[t * a.keys + x] + (a.from[t * a.keys + x] != SYNTH_NONE_READ);
        for (uint32_t b = 1; b < t; b++) follows |= a.so[b * (a.txns + 1) + t];
        size[3] += follows;
    }
    bool ok = l->size[0] ? !memcmp(size, l->size, sizeof size) && a.all && a.n_others + 1 == l->many
                         : a.result == SYNTH_NONE || size[2] > r->ops;
    if (!ok)
        printf("# %-3s not %-3s %-3s: %" PRIu32 " transactions, %" PRIu32 " keys, %" PRIu32
               " operations, %" PRIu32 " session edges, %" PRIu64 " of them\n",
               i < LEVELS ? levels[i] : "all", levels[j], levels[k], l->size[0], l->size[1],
               l->size[2], l->size[3], l->many);
    if (!ok)
        printf("#   synth: %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 ", %zu of them%s\n",
               size[0], size[1], size[2], size[3], a.n_others + 1, a.all ? "" : " or more");
    return ok;
}

int main(int argc, char **argv)
{
    static run r;
    uint64_t passed = 0, failed = 0;
    r.ops = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 6;
    for (uint32_t n = 1; n <= N; n++)
        for (uint32_t keys = 1; keys <= KEYS; keys++) {
            small h = {.n = n, .keys = keys};
            memset(h.from, NOBODY, sizeof h.from);
            all_sessions(&r, &h, 1, 0);
        }
    printf("# %" PRIu64 " histories judged\n", r.judged);
    synth *s = synth_open(0, 0, NULL);
    if (!s) return 1;
    uint64_t several = 0;
    for (size_t c = 0; c < (LEVELS + 1) * LEVELS * LEVELS; c++) {
        size_t i = c / (LEVELS * LEVELS), j = c / LEVELS % LEVELS, k = c % LEVELS;
        if (i == j || i == k || j > k) continue;
        bool ok = agrees(s, &r, i, j, k);
        passed += ok;
        failed += !ok;
        several += r.best[i][j][k].many > 1;
    }
    printf("# %" PRIu64 " problems have more than one smallest history\n", several);
    synth_close(s);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
