/*
 * known_order.c - see known_order.h.
 *
 * Only committed transactions have a place: what follows an unknown outcome follows nothing, and
 * whether such a one read anything is not known.  Transactions of a session rise in the input, so
 * a clock names the last one of each session.
 */
#include "shrink/known_order.h"

#include <assert.h>

#include "base/map.h"

#define MOST_CLOCKS ((size_t)1 << 26)
#define MANY 0xfffffffeu /* more than one transaction wrote the value */

typedef struct builder {
    known_order *k;
    const history *h;
    mem *m;
    id_map writer;      /* (key, value) -> the only one that installs it, or MANY */
    uint8_t *is_list;   /* per key */
    txn_id *session_of; /* per session: its last committed transaction so far */
} builder;

static bool is_write(const history *h, op_id o)
{
    unsigned kind = h->op_kind[o] & (OP_KIND_MASK | OP_FAILED);
    return kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND;
}

static bool is_list_value(const history *h, value_id v)
{
    return v > VALUE_NULL && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST;
}

/* Every write counts, overwritten ones too: then fewer reads are certain, and none wrongly. */
static void find_writers(builder *b)
{
    const history *h = b->h;
    b->is_list = mem_array0(b->m, uint8_t, history_keys(h) + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        guard_tick(b->m->guard);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            enum op_kind kind = op_kind_of(h, o);
            if (kind == OP_APPEND || (kind == OP_READ && is_list_value(h, h->op_value[o])))
                b->is_list[h->op_key[o]] = 1;
            if (!is_write(h, o) || txn_status_of(h, t) == TXN_ABORTED) continue;
            value_id v = kind == OP_DELETE ? VALUE_NULL : value_or_absent(h->op_value[o]);
            uint32_t *at = id_map_at(b->m, &b->writer, map_pair(h->op_key[o], v));
            *at = *at == MAP_NONE || *at == t ? t : MANY;
        }
    }
}

/* The one transaction that the read can have seen, or NO_ID. */
static txn_id source_of(const builder *b, txn_id t, key_id k, value_id v)
{
    const history *h = b->h;
    if (v == VALUE_UNKNOWN || b->is_list[k] || h->init_unknown ||
        value_or_absent(h->key_init[k]) == value_or_absent(v))
        return NO_ID;
    uint32_t w = id_map_get(&b->writer, map_pair(k, value_or_absent(v)));
    if (w == MAP_NONE || w == MANY || w == t || txn_status_of(h, w) != TXN_COMMITTED) return NO_ID;
    return w;
}

static void follow(known_order *k, txn_id t, txn_id before)
{
    uint32_t *to = k->clock + (size_t)t * k->sessions;
    const uint32_t *from = k->clock + (size_t)before * k->sessions;
    for (uint32_t s = 0; s < k->sessions; s++)
        if (from[s] > to[s]) to[s] = from[s];
    uint32_t own = k->h->txn_session[before];
    if (before + 1 > to[own]) to[own] = before + 1;
}

typedef VEC(uint64_t) edges; /* later << 32 | earlier */

static void add_edges(builder *b, txn_id t, edges *out)
{
    const history *h = b->h;
    txn_id *last = &b->session_of[h->txn_session[t]];
    if (*last != NO_ID) vec_push(b->m, out, (uint64_t)t << 32 | *last);
    *last = t;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (h->op_kind[o] & OP_FAILED) continue;
        enum op_kind kind = op_kind_of(h, o);
        if (kind == OP_READ) {
            txn_id w = source_of(b, t, h->op_key[o], h->op_value[o]);
            if (w != NO_ID) vec_push(b->m, out, (uint64_t)t << 32 | w);
        }
        if (kind != OP_SCAN && kind != OP_ITER) continue;
        const range *r = &h->ranges.at[h->op_key[o]];
        for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++) {
            txn_id w = source_of(b, t, h->row_key.at[i], h->row_value.at[i]);
            if (w != NO_ID) vec_push(b->m, out, (uint64_t)t << 32 | w);
        }
    }
}

/* Clocks in the order of the edges; false if they have a cycle. */
static bool run_clocks(builder *b, const edges *in)
{
    known_order *k = b->k;
    size_t n = b->h->txns, done = 0, committed = 0;
    uint32_t *first = mem_array0(b->m, uint32_t, n + 2), *left = mem_array0(b->m, uint32_t, n + 1);
    txn_id *later = mem_array(b->m, txn_id, in->n + 1), *queue = mem_array(b->m, txn_id, n + 1);
    for (size_t i = 0; i < in->n; i++) {
        first[(uint32_t)in->at[i] + 2]++;
        left[in->at[i] >> 32]++;
    }
    for (size_t i = 2; i < n + 2; i++) first[i] += first[i - 1];
    for (size_t i = 0; i < in->n; i++)
        later[first[(uint32_t)in->at[i] + 1]++] = (txn_id)(in->at[i] >> 32);
    for (txn_id t = 0; t < n; t++) {
        if (txn_status_of(b->h, t) != TXN_COMMITTED) continue;
        if (!left[t]) queue[done++] = t;
        committed++;
    }
    for (size_t i = 0; i < done; i++) {
        for (uint32_t j = first[queue[i]]; j < first[queue[i] + 1]; j++) {
            follow(k, later[j], queue[i]);
            if (!--left[later[j]]) queue[done++] = later[j];
        }
        guard_tick(b->m->guard);
    }
    mem_put(b->m, first);
    mem_put(b->m, left);
    mem_put(b->m, later);
    mem_put(b->m, queue);
    assert(done <= committed);
    return done == committed;
}

void known_order_build(known_order *k, const history *h, mem *m)
{
    builder b = {.k = k, .h = h, .m = m};
    edges in = {0};
    *k = (known_order){.h = h, .sessions = (uint32_t)h->sessions.n};
    if (!k->sessions || h->txns > MOST_CLOCKS / k->sessions) return;
    find_writers(&b);
    b.session_of = mem_array(m, txn_id, (size_t)k->sessions + 1);
    memset(b.session_of, 0xff, ((size_t)k->sessions + 1) * sizeof *b.session_of);
    for (txn_id t = 0; t < h->txns; t++)
        if (txn_status_of(h, t) == TXN_COMMITTED) add_edges(&b, t, &in);
    k->clock = mem_array0(m, uint32_t, h->txns * k->sessions + 1);
    if (!run_clocks(&b, &in)) {
        mem_put(m, k->clock);
        k->clock = NULL;
    }
    vec_free(m, &in);
    id_map_free(m, &b.writer);
    mem_put(m, b.is_list);
    mem_put(m, b.session_of);
}
