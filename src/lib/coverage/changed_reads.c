/*
 * changed_reads.c - changes one read at a time and decides again.
 *
 * The values that a read may get: every value that any transaction wrote to the key, of whatever
 * outcome, last or not; the initial one; absent, where a delete or the initial state make it so.
 * For lists: every list that some read of the key returned, and the empty one.  A row of a scan
 * gets another value or disappears.  Hints of the changed operation are left out, since they
 * would contradict it.
 *
 * The work is done on a copy of the history, in which one value is replaced and put back: nothing
 * that freezing a history computes depends on what reads returned.  Few changes are all tried;
 * of many, as many as the caller says, drawn with equal chances.
 */
#include "coverage/coverage.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/search.h"
#include "shrink/remainder.h"

/* A read of a key: an operation, or a row of one. */
typedef struct slot {
    op_id op;
    uint32_t row; /* NO_ID: a point read */
    key_id key;
    uint64_t first; /* the number of its first change */
} slot;

typedef struct changer {
    covering *c;
    history *h; /* the copy */
    mem *m;
    uint8_t *is_list; /* per key */
    uint64_t *pair;   /* key << 32 | value, sorted, each once */
    size_t pairs;
    uint32_t *first; /* per key: its first pair */
    VEC(slot) slots;
    uint64_t changes;
} changer;

static int compare_pairs(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static bool is_point(const history *h, op_id o)
{
    return op_kind_of(h, o) != OP_SCAN && op_kind_of(h, o) != OP_ITER;
}

/* Lists and absent keys: to the levels, the empty list is no list. */
static value_id plain_value(const changer *x, key_id k, value_id v)
{
    return x->is_list[k] ? value_or_absent(v) : v;
}

static void put_pair(changer *x, key_id k, value_id v)
{
    x->pair[x->pairs++] = (uint64_t)k << 32 | plain_value(x, k, v);
}

/* The values of each key. */
static void gather_values(changer *x)
{
    const history *h = x->h;
    size_t keys = history_keys(h);
    x->is_list = mem_array0(x->m, uint8_t, keys + 1);
    x->pair = mem_array(x->m, uint64_t, h->ops + keys + 1);
    for (op_id o = 0; o < h->ops; o++)
        if (op_kind_of(h, o) == OP_APPEND) x->is_list[h->op_key[o]] = 1;
    for (op_id o = 0; o < h->ops; o++) {
        enum op_kind kind = op_kind_of(h, o);
        if (h->op_kind[o] & OP_FAILED || !is_point(h, o)) continue;
        key_id k = h->op_key[o];
        if (kind == OP_WRITE) put_pair(x, k, h->op_value[o]);
        if (kind == OP_DELETE) put_pair(x, k, VALUE_NULL);
        if (kind == OP_READ && x->is_list[k] && h->op_value[o] != VALUE_UNKNOWN)
            put_pair(x, k, h->op_value[o]);
    }
    for (key_id k = 0; k < keys && !h->init_unknown; k++) put_pair(x, k, h->key_init[k]);
    if (x->pairs) qsort(x->pair, x->pairs, sizeof *x->pair, compare_pairs);
    size_t kept = 0;
    for (size_t i = 0; i < x->pairs; i++)
        if (!i || x->pair[i] != x->pair[i - 1]) x->pair[kept++] = x->pair[i];
    x->pairs = kept;
    x->first = mem_array0(x->m, uint32_t, keys + 2);
    for (size_t i = 0; i < kept; i++) x->first[(x->pair[i] >> 32) + 1]++;
    for (size_t k = 0; k < keys; k++) x->first[k + 1] += x->first[k];
}

static bool has_value(const changer *x, key_id k, value_id v)
{
    uint64_t want = (uint64_t)k << 32 | plain_value(x, k, v);
    return x->pairs && bsearch(&want, x->pair, x->pairs, sizeof want, compare_pairs) != NULL;
}

static void put_slot(changer *x, op_id o, uint32_t row, key_id k, value_id now)
{
    uint64_t others = x->first[k + 1] - x->first[k];
    if (has_value(x, k, now)) others--;
    if (!others) return;
    slot s = {.op = o, .row = row, .key = k, .first = x->changes};
    vec_push(x->m, &x->slots, s);
    x->changes += others;
}

/* The reads of committed transactions: what others read may not count. */
static void gather_slots(changer *x)
{
    const history *h = x->h;
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) != TXN_COMMITTED) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (h->op_kind[o] & OP_FAILED) continue;
            if (op_kind_of(h, o) == OP_READ && h->op_value[o] != VALUE_UNKNOWN)
                put_slot(x, o, NO_ID, h->op_key[o], h->op_value[o]);
            if (is_point(h, o)) continue;
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
                if (!x->is_list[h->row_key.at[i]])
                    put_slot(x, o, i, h->row_key.at[i], h->row_value.at[i]);
        }
    }
}

/* --- one change ------------------------------------------------------------------------------- */

typedef struct cover_trial {
    guard guard;
    verdict v;
    mem *work;
    const history *h;
    question q;
} cover_trial;

static int run_trial(cover_trial *t)
{
    if (guard_armed(&t->guard)) return t->guard.code;
    judge(&t->v, t->h, &t->q, t->work);
    return GUARD_OK;
}

static void decide_again(changer *x)
{
    covering *c = x->c;
    guard *g = c->m->guard;
    coverage *out = c->out;
    cover_trial t = {.work = &c->work, .h = x->h, .q = *c->q};
    guard_init(&t.guard);
    t.guard.interrupt = g->interrupt;
    t.guard.deadline = g->deadline;
    t.guard.progress = g->progress;
    mem_init(&c->keep, c->m->fn, c->m->ud, &t.guard);
    mem_init(&c->work, c->m->fn, c->m->ud, &t.guard);
    c->work.limit = c->memory_limit;
    t.v.mem = &c->keep;
    t.v.level = c->v->level;
    memcpy(t.v.given, c->v->given, sizeof t.v.given);
    int code = run_trial(&t);
    bool violated = t.v.outcome == OUTCOME_VIOLATED && code != GUARD_BUG;
    out->tried++;
    if (violated) {
        out->seen++;
        if (t.v.anomaly < ANOMALIES) out->places[t.v.anomaly]++;
    } else if (code == GUARD_OK && t.v.outcome == OUTCOME_HOLDS) {
        out->missed++;
    } else {
        out->undecided++;
    }
    mem_free_all(&c->work);
    mem_free_all(&c->keep);
    if (code == GUARD_BUG || code == GUARD_INTERRUPT) guard_fail(g, code, "%s", t.guard.text);
}

static value_id slot_value(const changer *x, const slot *s)
{
    return s->row == NO_ID ? x->h->op_value[s->op] : x->h->row_value.at[s->row];
}

/* The n-th other value of the slot's key. */
static value_id other_value(const changer *x, const slot *s, uint64_t n)
{
    value_id now = plain_value(x, s->key, slot_value(x, s));
    for (uint32_t i = x->first[s->key]; i < x->first[s->key + 1]; i++) {
        value_id v = (value_id)x->pair[i];
        if (v == now) continue;
        if (!n--) return v;
    }
    assert(false && "a slot has as many changes as it was counted to have");
    return now;
}

static void try_point(changer *x, const slot *s, value_id fresh)
{
    history *h = x->h;
    value_id old = h->op_value[s->op];
    h->op_value[s->op] = fresh;
    decide_again(x);
    h->op_value[s->op] = old;
}

/* A row with another value; or without it, the rows behind it moved up. */
static void try_row(changer *x, const slot *s, value_id fresh)
{
    history *h = x->h;
    range *r = &h->ranges.at[h->op_key[s->op]];
    key_id *keys = h->row_key.at;
    value_id *values = h->row_value.at, old = values[s->row];
    uint32_t after = r->first_row + r->rows - s->row - 1;
    if (fresh != VALUE_NULL) {
        values[s->row] = fresh;
        decide_again(x);
        values[s->row] = old;
        return;
    }
    memmove(keys + s->row, keys + s->row + 1, after * sizeof *keys);
    memmove(values + s->row, values + s->row + 1, after * sizeof *values);
    r->rows--;
    decide_again(x);
    r->rows++;
    memmove(keys + s->row + 1, keys + s->row, after * sizeof *keys);
    memmove(values + s->row + 1, values + s->row, after * sizeof *values);
    keys[s->row] = s->key;
    values[s->row] = old;
}

static void try_change(changer *x, uint64_t number)
{
    SEARCH_FIRST(size_t, i, 0, x->slots.n, x->slots.at[i].first > number);
    const slot *s = &x->slots.at[i - 1];
    history *h = x->h;
    uint8_t kind = h->op_kind[s->op];
    value_id fresh = other_value(x, s, number - s->first);
    h->op_kind[s->op] = (uint8_t)(kind & ~(OP_ATTR | OP_TOMB));
    if (s->row == NO_ID)
        try_point(x, s, fresh);
    else
        try_row(x, s, fresh);
    h->op_kind[s->op] = kind;
}

static bool is_time_over(const covering *c)
{
    return c->until && clock_now() > c->until;
}

/* All of them in a random order, so that what a limit leaves is a fair sample. */
static void try_all(changer *x, rng *r)
{
    uint32_t n = (uint32_t)x->changes, *order = mem_array(x->m, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = rng_below(r, i), t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
    for (uint32_t i = 0; i < n && !is_time_over(x->c); i++) try_change(x, order[i]);
}

static void try_sample(changer *x, rng *r)
{
    for (uint64_t i = 0; i < x->c->most && !is_time_over(x->c); i++)
        try_change(x, (uint64_t)(rng_unit(r) * (double)x->changes));
}

void cover_changed_reads(covering *c, const history *h)
{
    changer x = {.c = c, .m = c->m};
    sub_mask nothing = {.txn = mem_zeroed(c->m, h->txns + 1),
                        .op = mem_zeroed(c->m, h->ops + 1),
                        .key = mem_zeroed(c->m, history_keys(h) + 1)};
    c->copy = history_new(c->m->fn, c->m->ud, c->m->guard, c->memory_limit);
    sub_history(c->copy, h, &nothing, NULL, &c->scratch);
    x.h = c->copy;
    gather_values(&x);
    gather_slots(&x);
    c->out->changes = x.changes;
    rng r;
    rng_seed(&r, c->seed);
    if (x.changes <= c->most && x.changes < UINT32_MAX)
        try_all(&x, &r);
    else
        try_sample(&x, &r);
}

void covering_close(covering *c)
{
    mem_free_all(&c->work);
    mem_free_all(&c->keep);
    mem_free_all(&c->scratch);
    history_free(c->copy);
    c->copy = NULL;
}
