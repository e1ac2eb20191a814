/*
 * exhaustive.c - serializability and snapshot isolation of at most 8 transactions, by trying.
 *
 * A depth-first search over commit orders with pruning: a transaction is placed only if it could
 * have run there, reading from the state after all commits before it (SER) or after some of them
 * (SI: any snapshot since which nobody else committed a key that it writes; Crooks et al. 2017).
 * States are computed by applying operations, so every kind of operation is covered: lists with
 * repeated elements, writes and deletes among appends, unknown initial states.
 */
#include <assert.h>

#include "decide/exhaustive/exhaustive.h"
#include "asg/list_writes.h"
#include "order/order_problem.h"

/* The contents of k after the first s commits; *writer: the last one that wrote it, or NO_ID. */
static bool state_of(small *z, key_id k, uint32_t s, version *x, node_id *writer, op_id *last)
{
    asg *g = z->g;
    const history *h = g->h;
    bool known = z->named[k] || z->initial[k].bound;
    assert(s <= z->n); /* only what has been placed has committed */
    x->list.n = 0;
    x->scalar = false;
    *writer = NO_ID;
    if (z->named[k]) {
        version_load(g, x, h->key_init[k]);
    } else if (z->initial[k].bound) {
        x->scalar = z->initial[k].value.scalar;
        for (size_t i = 0; i < z->initial[k].value.list.n; i++)
            vec_push(g->m, &x->list, z->initial[k].value.list.at[i]);
    }
    for (uint32_t i = 0; i < s; i++) {
        txn_id t = g->node_txn[z->order[i]];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (!version_writes(h, o, k)) continue;
            if (op_kind_of(h, o) != OP_APPEND) known = true;
            version_apply(g, x, o);
            *writer = z->order[i];
            *last = o;
        }
    }
    return known; /* false: starts with an initial value that nobody has seen yet */
}

bool small_sees(small *z, uint32_t ob, uint32_t s, key_list *bound)
{
    asg *g = z->g;
    key_id k = g->ob_key[ob];
    assert(s <= z->n && z->n <= WEAK_SMALL);
    version seen = {0}, own = {0}, now = {0};
    node_id writer;
    op_id last = 0;
    version_load(g, &seen, g->ob_value[ob]);
    bool ok = true;
    size_t drop = 0;
    if (g->list_key[k]) {
        enum own kind = version_own(g, ob, &own);
        if (kind == OWN_SETS) {
            ok = version_same(&own, &seen, 0);
            goto done;
        }
        drop = kind == OWN_APPENDS ? own.list.n : 0;
        if (drop &&
            (seen.scalar || seen.list.n < drop ||
             memcmp(seen.list.at + seen.list.n - drop, own.list.at, drop * sizeof(value_id)))) {
            ok = false;
            goto done;
        }
    }
    if (state_of(z, k, s, &now, &writer, &last)) {
        ok = version_same(&now, &seen, drop);
    } else {
        /* initial list, unknown, followed by `now`: the rest of what was seen is the beginning */
        size_t tail = now.list.n + drop;
        ok = seen.list.n >= tail && (!tail || !seen.scalar) &&
             (!now.list.n || !memcmp(seen.list.at + seen.list.n - tail, now.list.at,
                                     now.list.n * sizeof(value_id)));
        if (ok) {
            binding *b = &z->initial[k];
            b->bound = true;
            b->value.scalar = seen.scalar;
            b->value.list.n = 0;
            for (size_t i = 0; i < seen.list.n - tail; i++)
                vec_push(g->m, &b->value.list, seen.list.at[i]);
            vec_push(g->m, bound, k);
        }
    }
    ok = ok && list_hint_allows(g, ob, writer == NO_ID ? RF_INIT : writer, drop != 0);
    if (ok && g->h->op_kind[g->ob_op[ob]] & OP_TOMB && g->ob_value[ob] == VALUE_NULL)
        ok = writer != NO_ID && g->h->op_kind[last] & OP_TOMB;
done:
    vec_free(g->m, &seen.list);
    vec_free(g->m, &own.list);
    vec_free(g->m, &now.list);
    return ok;
}

static bool reads_fit(small *z, node_id v, uint32_t s, size_t *n_bound, key_id *bound)
{
    asg *g = z->g;
    key_list b = {0};
    bool ok = true;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1] && ok; ob++)
        ok = small_sees(z, ob, s, &b);
    if (!ok)
        for (size_t i = 0; i < b.n; i++) z->initial[b.at[i]].bound = false;
    *n_bound = ok ? b.n : 0;
    assert(*n_bound <= g->ob_first[v + 1] - g->ob_first[v]);
    for (size_t i = 0; i < *n_bound; i++) bound[i] = b.at[i];
    vec_free(g->m, &b);
    return ok;
}

static bool real_time_before(const small *z, node_id a, node_id b)
{
    int64_t end, begin;
    const history *h = z->g->h;
    if (!txn_end_time(h, z->g->node_txn[a], &end) || !txn_begin_time(h, z->g->node_txn[b], &begin))
        return false;
    return end < begin &&
           (uint64_t)begin - (uint64_t)end >= (uint64_t)(z->drift > 0 ? z->drift : 0);
}

bool small_ready(const small *z, node_id v)
{
    const asg *g = z->g;
    if (z->so && g->so_pred[v] != NO_ID && !z->place[g->so_pred[v]]) return false;
    /* (itself, too: it may have ended before it began) */
    for (node_id u = 0; z->rt && u < g->nodes; u++)
        if (!z->out[u] && !z->place[u] && real_time_before(z, u, v)) return false;
    for (size_t i = 0; i < g->hint_extra; i++)
        if (g->extra.at[i].to == v && !z->out[g->extra.at[i].from] &&
            !z->place[g->extra.at[i].from])
            return false;
    return true;
}

/* The earliest snapshot of v: after its session predecessor and after the last writer of a key that
   it writes itself. */
static uint32_t earliest(const small *z, node_id v)
{
    const asg *g = z->g;
    uint32_t s = 0;
    if (z->so && g->so_pred[v] != NO_ID) s = z->place[g->so_pred[v]];
    for (uint32_t i = 0; i < z->n; i++)
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
            if (asg_install(g, z->order[i], g->inst_key[j]) != NO_ID && i + 1 > s) s = i + 1;
    assert(s <= z->n && !z->rt); /* real time is asked of serial orders only */
    return s;
}

static bool place_next(small *z)
{
    asg *g = z->g;
    if (z->n == z->want) return true;
    guard_tick(g->m->guard);
    for (node_id v = 0; v < g->nodes; v++) {
        if (z->out[v] || z->place[v] || !small_ready(z, v)) continue;
        uint32_t lo = z->si ? earliest(z, v) : z->n;
        size_t obs = g->ob_first[v + 1] - g->ob_first[v], n_bound;
        key_id *bound = mem_array(g->m, key_id, obs + 1);
        for (uint32_t s = z->n + 1; s-- > lo;) {
            if (!reads_fit(z, v, s, &n_bound, bound)) continue;
            z->snapshot[z->n] = s;
            z->order[z->n++] = v;
            z->place[v] = z->n;
            if (place_next(z)) return true;
            assert(z->order[z->n - 1] == v && z->place[v] == z->n); /* the search undid its own */
            z->place[v] = 0;
            z->n--;
            for (size_t i = 0; i < n_bound; i++) z->initial[bound[i]].bound = false;
        }
        mem_put(g->m, bound);
    }
    return false;
}

static bool outcomes(small *z, node_id v, small_search search)
{
    asg *g = z->g;
    while (v < g->nodes && asg_in(g, v)) v++;
    if (v == g->nodes) {
        z->n = z->want = 0;
        memset(z->place, 0, sizeof z->place);
        for (node_id u = 0; u < g->nodes; u++) z->want += !z->out[u];
        assert(z->want <= WEAK_SMALL);
        return search(z);
    }
    z->out[v] = 1;
    if (outcomes(z, v + 1, search)) return true;
    z->out[v] = 0;
    if (!g->barred[v] && outcomes(z, v + 1, search)) return true;
    z->out[v] = 1;
    return false;
}

bool small_outcomes(small *z, small_search search)
{
    asg *g = z->g;
    const history *h = g->h;
    size_t keys = history_keys(h);
    assert(g->nodes <= WEAK_SMALL);
    z->out = mem_array(g->m, uint8_t, (size_t)g->nodes + 1);
    z->named = mem_array(g->m, uint8_t, keys + 1);
    z->initial = mem_array0(g->m, binding, keys + 1);
    memset(z->named, !h->init_unknown, keys + 1);
    for (size_t i = 0; i < h->init_map.n; i++) z->named[h->init_map.at[i].key] = 1;
    for (node_id v = 0; v < g->nodes; v++) z->out[v] = !asg_in(g, v);
    return outcomes(z, 0, search);
}

bool small_decide(asg *g, bool si, bool so, bool rt, int64_t drift, node_id *order, uint32_t *rf,
                  uint32_t *n)
{
    small z = {.g = g, .si = si, .so = so, .rt = rt, .drift = drift};
    if (!small_outcomes(&z, place_next)) return false;
    assert(z.n == z.want && z.n <= g->nodes);
    *n = z.n;
    for (uint32_t i = 0; i < z.n; i++) {
        node_id v = order[i] = z.order[i];
        assert(z.place[v] == i + 1 && z.snapshot[i] <= i && !z.out[v]);
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            rf[ob] = RF_INIT;
            for (uint32_t j = 0; j < z.snapshot[i]; j++)
                if (asg_install(g, z.order[j], g->ob_key[ob]) != NO_ID) rf[ob] = z.order[j];
        }
    }
    return true;
}
