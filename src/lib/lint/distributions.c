/*
 * distributions.c - the distributions beside the counts of `stat`: over time, keys, sessions,
 * sizes, and how many writers a read may have had.
 *
 * Linear.  The expensive part runs only where it is needed: possible writers are counted read by
 * read only where some value was written twice (or equals an initial one); else every read has at
 * most one, and the counts say so.
 */
#include "lint/lint_internal.h"

/* 0, 1, 2, 3-4, 5-8, ... */
static size_t class_of(uint64_t n)
{
    size_t c = n < 2 ? (size_t)n : 2;
    for (uint64_t top = 2; n > top && c + 1 < SHAPE_CLASSES; top *= 2) c++;
    return c;
}

/* --- over time -------------------------------------------------------------------------------- */

/* As unsigned numbers first: the distance of two 64-bit times may not fit a signed one, and the
   times themselves may not differ as doubles. */
static double distance(int64_t from, int64_t to)
{
    return (double)((uint64_t)to - (uint64_t)from);
}

static void concurrency(shape *s, const history *h)
{
    int64_t b, e;
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) == TXN_ABORTED || !lint_times(h, t, &b, &e) || e < b) continue;
        if (!s->timed++) s->first = b, s->last = e;
        if (b < s->first) s->first = b;
        if (e > s->last) s->last = e;
    }
    if (!s->timed || s->last == s->first) return;
    double width = distance(s->first, s->last) / SHAPE_BINS;
    double step[SHAPE_BINS + 1] = {0}; /* whole slices, as differences */
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) == TXN_ABORTED || !lint_times(h, t, &b, &e) || e < b) continue;
        double x = distance(s->first, b) / width, y = distance(s->first, e) / width;
        size_t i = (size_t)x, j = (size_t)y;
        if (i >= SHAPE_BINS) i = SHAPE_BINS - 1;
        if (j >= SHAPE_BINS) j = SHAPE_BINS - 1;
        if (i == j) {
            s->open[i] += y - x;
            continue;
        }
        s->open[i] += (double)(i + 1) - x;
        s->open[j] += y - (double)j;
        step[i + 1] += 1;
        step[j] -= 1;
    }
    double whole = 0;
    for (size_t i = 0; i < SHAPE_BINS; i++) {
        whole += step[i];
        s->open[i] += whole;
        if (s->open[i] < 0) s->open[i] = 0; /* rounding */
    }
}

/* --- keys ------------------------------------------------------------------------------------- */

typedef struct heat {
    uint32_t reads, writes;
} heat;

static uint64_t warmth(const heat *k)
{
    return (uint64_t)k->reads + k->writes;
}

/* The busiest keys, by insertion into a short list: ties stay in the order of first mention. */
static void keep_hot(shape *s, key_id id, const heat *k)
{
    size_t at = s->n_hot;
    while (at && (uint64_t)s->hot[at - 1].reads + s->hot[at - 1].writes < warmth(k)) at--;
    if (at == SHAPE_HOT || !warmth(k)) return;
    size_t n = s->n_hot < SHAPE_HOT ? s->n_hot++ : SHAPE_HOT - 1;
    memmove(&s->hot[at + 1], &s->hot[at], (n - at) * sizeof *s->hot);
    s->hot[at] = (hot_key){id, k->reads, k->writes};
}

static void heats(shape *s, const history *h, mem *m)
{
    size_t keys = history_keys(h);
    heat *heat_of = mem_array0(m, heat, keys + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) != TXN_COMMITTED) continue;
        uint64_t n = 0;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o];
            if (kind & OP_FAILED) continue;
            n++;
            kind &= OP_KIND_MASK;
            if (kind == OP_READ)
                heat_of[h->op_key[o]].reads++;
            else if (kind < OP_SCAN)
                heat_of[h->op_key[o]].writes++;
            else
                for (uint32_t i = 0; i < h->ranges.at[h->op_key[o]].rows; i++)
                    heat_of[h->row_key.at[h->ranges.at[h->op_key[o]].first_row + i]].reads++;
        }
        s->sizes[class_of(n)]++;
    }
    uint64_t *all = mem_array(m, uint64_t, keys + 1), *spare = mem_array(m, uint64_t, keys + 1);
    for (size_t k = 0; k < keys; k++) {
        keep_hot(s, (key_id)k, &heat_of[k]);
        all[k] = warmth(&heat_of[k]);
        s->touches += all[k];
    }
    mem_put(m, heat_of);
    lint_sort(all, spare, keys);
    for (size_t i = 0; i < keys; i++) {
        size_t from_top = keys - 1 - i; /* the busiest has 0 */
        if (from_top < (keys + 99) / 100) s->top1 += all[i];
        if (from_top < (keys + 9) / 10) s->top10 += all[i];
    }
    mem_put(m, all);
    mem_put(m, spare);
}

/* --- sessions --------------------------------------------------------------------------------- */

static void sessions(shape *s, const history *h, mem *m)
{
    size_t n = h->sessions.n;
    uint64_t *count = mem_array0(m, uint64_t, n + 1), *spare = mem_array(m, uint64_t, n + 1);
    for (txn_id t = 0; t < h->txns; t++)
        count[h->txn_session[t]] += txn_status_of(h, t) == TXN_COMMITTED;
    s->big_session = s->small_session = n ? 0 : NO_ID;
    for (uint32_t i = 0; i < n; i++) {
        if (count[i] > count[s->big_session]) s->big_session = i;
        if (count[i] < count[s->small_session]) s->small_session = i;
    }
    lint_sort(count, spare, n);
    if (n) {
        s->session_min = count[0];
        s->session_median = count[n / 2];
        s->session_max = count[n - 1];
    }
    mem_put(m, count);
    mem_put(m, spare);
}

/* --- possible writers ------------------------------------------------------------------------- */

/* How many writes (of transactions that did not abort) and initial values may explain each result
   of a committed transaction.  A list shows its writers one by one, so it is not counted here. */
static void sources(shape *s, const history *h, mem *m)
{
    versions v;
    versions_build(&v, h, m, WRITERS_COMMITTED | WRITERS_UNKNOWN);
    uint32_t *times = mem_array(m, uint32_t, (size_t)v.write_first[history_keys(h)] + 1);
    for (key_id k = 0; k < history_keys(h); k++) {
        if (v.read_first[k] == v.read_first[k + 1]) continue;
        versions_open(&v, k);
        for (uint32_t i = v.write_first[k]; i < v.write_first[k + 1]; i++) times[i] = 0;
        for (uint32_t i = v.write_first[k]; i < v.write_first[k + 1]; i++)
            times[versions_find(&v, v.write[i].value)]++;
        for (uint64_t i = v.read_first[k]; i < v.read_first[k + 1]; i++) {
            value_id x = v.read[i].value;
            if (x == VALUE_UNKNOWN || value_atom(h, x).kind == ATOM_LIST) continue;
            uint32_t at = versions_find(&v, x);
            uint64_t n = (at == NO_ID ? 0u : times[at]) + (uint64_t)(x == h->key_init[k]);
            s->sources[class_of(n)]++;
            if (n > s->most_sources) s->most_sources = n;
        }
    }
    versions_free(&v);
    mem_put(m, times);
}

void shape_gather(shape *s, bool ambiguous, const history *h, mem *m)
{
    memset(s, 0, sizeof *s);
    concurrency(s, h);
    heats(s, h, m);
    sessions(s, h, m);
    s->has_sources = ambiguous;
    if (s->has_sources) sources(s, h, m);
}
