/*
 * unread_lists.c - read-uncommitted with lists of which no read shows the order: repeated elements,
 * or writes and deletes among the appends (doc/algorithms/lists.md).
 *
 * This level asks little of such a list: each of its elements comes from some transaction that
 * wrote it, and these stand in version order.  So an order that is only roughly right is an answer
 * already.  The test of one order takes the earliest possible writer each time, which is best; it
 * looks places up in an index of the writers of each element, sorted by place.
 *
 * Invariant: true is returned only for an order that keeps RU-2, and only if no read of such a list
 * shows an element that nobody wrote.
 */
#include "decide/weak/unread_lists.h"

#include <assert.h>

#include "asg/list_writes.h"
#include "base/map.h"
#include "base/sort.h"
#include "decide/exhaustive/key_state.h"

/* Who wrote one element to one key. */
typedef struct element {
    uint32_t first, end; /* places of its writers that take part, in `place` */
    bool written;        /* by somebody of whatever outcome, ... */
    bool whole;          /* ... as a scalar, ... */
    bool elsewhere;      /* ... by one that takes no part: the element may be of that one */
    bool initial;        /* it is an element of the initial list */
} element;

typedef struct unread {
    asg *g;
    const uint8_t *out;
    id_map of;             /* (key, value) -> element */
    VEC(element) elements; /* ... */
    VEC(uint32_t) who;     /* per write by one that takes part: its element */
    VEC(node_id) by;       /* ... and its transaction */
    uint32_t *place;       /* see element; place + 1, since 0 is the initial state */
    uint8_t *deleted;      /* per key: somebody deletes it */
    uint32_t garbage;      /* a read of what nobody wrote, or NO_ID */
} unread;

/* What a key held at first: its elements, or one scalar. */
typedef struct contents {
    const value_id *at;
    uint32_t n;
    bool scalar;
} contents;

static contents initial_of(const history *h, key_id k)
{
    const value_id *v = &h->key_init[k];
    if (*v == VALUE_NULL || *v == VALUE_EMPTY) return (contents){NULL, 0, false};
    atom a = value_atom(h, *v);
    if (a.kind != ATOM_LIST) return (contents){v, 1, true};
    return (contents){h->elements.at + a.as.offset, a.len, false};
}

static uint32_t element_at(unread *x, key_id k, value_id v)
{
    uint32_t *at = id_map_at(x->g->m, &x->of, map_pair(k, v));
    if (*at == MAP_NONE) {
        *at = (uint32_t)x->elements.n;
        vec_push(x->g->m, &x->elements, (element){0});
    }
    return *at;
}

static const element *element_of(const unread *x, key_id k, value_id v)
{
    uint32_t at = id_map_get(&x->of, map_pair(k, v));
    return at == MAP_NONE ? NULL : &x->elements.at[at];
}

/* False: the history does not tell the initial list. */
static bool load_initial(unread *x)
{
    const history *h = x->g->h;
    for (key_id k = 0; k < history_keys(h); k++) {
        if (x->g->list_key[k] != 2) continue;
        if (!list_init_named(h, k)) return false;
        contents first = initial_of(h, k);
        for (uint32_t i = 0; i < first.n && !first.scalar; i++) {
            uint32_t e = element_at(x, k, first.at[i]); /* (may move the elements) */
            x->elements.at[e].initial = true;
        }
    }
    return true;
}

static void load_writes(unread *x)
{
    asg *g = x->g;
    const history *h = g->h;
    x->deleted = mem_array0(g->m, uint8_t, history_keys(h) + 1);
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            enum op_kind kind = op_kind_of(h, o);
            if (kind != OP_WRITE && kind != OP_DELETE && kind != OP_APPEND) continue;
            key_id k = h->op_key[o];
            if (g->list_key[k] != 2 || !version_written(h, o, k)) continue;
            guard_tick(g->m->guard);
            if (kind == OP_DELETE) {
                x->deleted[k] = 1;
                continue;
            }
            uint32_t e = element_at(x, k, h->op_value[o]);
            node_id v = g->txn_node[t];
            x->elements.at[e].written = true;
            if (kind == OP_WRITE) x->elements.at[e].whole = true;
            if (v == NO_ID || x->out[v] || op_is_local_write(h, o)) {
                x->elements.at[e].elsewhere = true;
                continue;
            }
            x->elements.at[e].end++;
            vec_push(g->m, &x->who, e);
            vec_push(g->m, &x->by, v);
        }
    uint32_t sum = 0;
    for (size_t i = 0; i < x->elements.n; i++) {
        element *e = &x->elements.at[i];
        uint32_t n = e->end;
        e->first = e->end = sum;
        sum += n;
    }
    x->place = mem_array(g->m, uint32_t, x->who.n + 1);
}

/* Sorts the writers of each element by their places in the order. */
static void load_order(unread *x, const uint32_t *pos)
{
    mem *m = x->g->m;
    uint64_t *key = mem_array(m, uint64_t, x->who.n + 1);
    for (size_t i = 0; i < x->who.n; i++) key[i] = pos[x->by.at[i]];
    uint32_t *sorted = sort_by_key(m, key, (uint32_t)x->who.n);
    for (size_t i = 0; i < x->elements.n; i++) x->elements.at[i].end = x->elements.at[i].first;
    for (size_t i = 0; i < x->who.n; i++) {
        element *e = &x->elements.at[x->who.at[sorted[i]]];
        x->place[e->end++] = pos[x->by.at[sorted[i]]] + 1;
    }
    mem_put(m, sorted);
    mem_put(m, key);
}

/* The first place of a writer from `from` on; UINT32_MAX: there is none. */
static uint32_t place_from(const unread *x, const element *e, uint32_t from)
{
    uint32_t lo = e->first, hi = e->end;
    assert(lo <= hi && hi <= x->who.n);
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->place[mid] < from)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < e->end ? x->place[lo] : UINT32_MAX;
}

/* Has everything that was read been written by somebody, of whatever outcome (C-1)? */
static bool is_written(const unread *x, key_id k, const version *seen)
{
    contents first = initial_of(x->g->h, k);
    if (first.n == seen->list.n && (!first.n || first.scalar == seen->scalar) &&
        (!first.n || !memcmp(first.at, seen->list.at, first.n * sizeof *first.at)))
        return true;
    if (!seen->list.n) return x->deleted[k];
    for (size_t i = 0; i < seen->list.n; i++) {
        const element *e = element_of(x, k, seen->list.at[i]);
        if (!e || (seen->scalar ? !e->whole : !e->written && !e->initial)) return false;
    }
    return true;
}

/* Do the elements come from writers in the order (RU-2)?  *reached: the place of the last. */
static bool in_order(const unread *x, key_id k, const version *seen, uint32_t *reached)
{
    for (size_t i = 0; i < seen->list.n && !seen->scalar; i++) {
        const element *e = element_of(x, k, seen->list.at[i]);
        if (!e || e->elsewhere || (e->initial && !*reached)) continue;
        uint32_t next = place_from(x, e, *reached);
        if (next == UINT32_MAX) return false;
        *reached = next;
    }
    return true;
}

static bool read_kept(unread *x, uint32_t ob, const uint32_t *pos)
{
    asg *g = x->g;
    key_id k = g->ob_key[ob];
    version seen = {0}, own = {0};
    uint32_t reached = 0;
    bool ok = true;
    version_load(g, &seen, g->ob_value[ob]);
    enum own kind = version_own(g, ob, &own);
    size_t drop = kind == OWN_APPENDS ? own.list.n : 0, all = seen.list.n;
    bool ends = !drop || (!seen.scalar && all >= drop &&
                          !memcmp(seen.list.at + all - drop, own.list.at, drop * sizeof(value_id)));
    if (kind != OWN_SETS && ends) {
        seen.list.n -= drop;
        ok = is_written(x, k, &seen);
        if (!ok) x->garbage = ob;
        seen.list.n = all;
    }
    ok = ok && in_order(x, k, &seen, &reached);
    if (ok && kind == OWN_APPENDS) ok = reached <= pos[g->ob_node[ob]] + 1;
    vec_free(g->m, &seen.list);
    vec_free(g->m, &own.list);
    return ok;
}

static bool order_kept(unread *x, const uint32_t *pos)
{
    asg *g = x->g;
    load_order(x, pos);
    for (uint32_t ob = 0; ob < asg_obs(g); ob++) {
        guard_tick(g->m->guard);
        if (g->list_key[g->ob_key[ob]] != 2 || x->out[g->ob_node[ob]]) continue;
        if (!read_kept(x, ob, pos)) return false;
    }
    return true;
}

/* What to sort transactions by: as they were recorded, or the first of each session, then the
   second of each, and so on. */
static void rank_nodes(const asg *g, bool by_turns, uint64_t *key)
{
    const history *h = g->h;
    uint32_t *turn = mem_array0(g->m, uint32_t, h->sessions.n + 1);
    for (node_id v = 0; v < g->nodes; v++) {
        txn_id t = g->node_txn[v];
        key[v] = by_turns ? (uint64_t)turn[h->txn_session[t]]++ << 32 | v : txn_line_of(h, t);
    }
    mem_put(g->m, turn);
}

static bool some_order_kept(unread *x, order_problem *p, uint32_t *pos)
{
    asg *g = x->g;
    order_graph known;
    reach clocks = {0};
    order_graph_build(g->m, p->events, (const order_pair *)(const void *)p->known.at, p->known.n,
                      &known);
    bool found = first_order(p, &known, pos, &clocks) && order_kept(x, pos);
    uint64_t *key = mem_array(g->m, uint64_t, (size_t)p->events + 1);
    memset(key, 0xff, ((size_t)p->events + 1) * sizeof *key);
    for (unsigned by_turns = 0; by_turns < 2 && !found && x->garbage == NO_ID; by_turns++) {
        rank_nodes(g, by_turns, key);
        found = first_order_by(p, &known, key, pos) && order_kept(x, pos);
    }
    mem_put(g->m, key);
    reach_free(g->m, &clocks);
    first_order_free(g->m, &known);
    return found;
}

bool unread_lists_hold(order_problem *p, const uint8_t *out, uint32_t *pos, uint32_t *garbage)
{
    unread x = {.g = p->g, .out = out, .garbage = NO_ID};
    mem *m = p->g->m;
    assert(!p->si && p->txns == p->g->nodes);
    bool found = load_initial(&x);
    if (found) {
        load_writes(&x);
        found = some_order_kept(&x, p, pos);
    }
    *garbage = x.garbage;
    mem_put(m, x.place);
    mem_put(m, x.deleted);
    vec_free(m, &x.elements);
    vec_free(m, &x.who);
    vec_free(m, &x.by);
    id_map_free(m, &x.of);
    return found;
}
