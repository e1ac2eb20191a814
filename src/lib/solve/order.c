/*
 * order.c - see order.h.  Pearce and Kelly, "A dynamic topological sort algorithm for directed
 * acyclic graphs", JEA 2007.
 *
 * When x -> y comes in with y before x, only nodes between the two are touched: those reachable
 * from y (forward set) and those that reach x (backward set).  If x is in the first, there is a
 * cycle; else both sets are laid into the places they occupy together, the backward set first.
 *
 *     before:  .. y .. f1 .. b1 .. f2 .. x ..      after:  .. b1 .. x .. y .. f1 .. f2 ..
 *
 * Lists of a node hold the edges that stand, newest first; edges leave in the reverse of the order
 * they came in, so the one that leaves is always at the head of both its lists.
 *
 * Invariants: pos and at are inverse permutations; pos[from] < pos[to] for every edge that stands;
 * rank of an edge in `active` is its index there; marks are 0 between calls but for MOVED.
 */
#include "solve/order.h"

#include <assert.h>

#include "base/vec.h"
#include "base/sort.h"

enum { FORWARD = 1, BACKWARD = 2, MOVED = 4, PATH = 8 };

typedef struct edge {
    uint32_t from, to;
    uint32_t lit;       /* LIT_NONE: fixed */
    uint32_t next_lit;  /* of the same literal */
    uint32_t next_from; /* declared with the same source */
    uint32_t next_out, next_in;
    uint32_t rank; /* index in active, or NO_ID */
} edge;

/* One place of a breadth-first search: how it was come to. */
typedef struct step {
    uint32_t node, via; /* edge id, or NO_ID for an edge of the base graph */
    uint32_t parent;    /* index of the step before, or NO_ID */
} step;

/* Why the theory propagated a literal: its edge, and the number of active edges then. */
typedef struct why {
    uint32_t edge, height;
} why;

typedef VEC(uint32_t) u32_vec;

struct order {
    mem *mem;
    uint32_t nodes, base_nodes, cap;
    const order_graph *base;
    uint32_t *pos, *at;
    uint32_t *out, *in; /* heads of the lists of edges that stand */
    uint32_t *declared; /* heads of the lists of declared edges by source */
    uint8_t *marks;
    VEC(edge) edges;
    u32_vec by_lit; /* first edge of each literal */
    u32_vec active; /* edges that stand, oldest first */
    u32_vec levels; /* height of active at which each level begins */
    u32_vec forward, backward;
    VEC(uint64_t) keys;
    VEC(step) steps;
    u32_vec now, next; /* frontiers of the search for a path */
    u32_vec cycle, cycle_nodes;
    VEC(order_move) moves;
    order_stats stats;

    /* as a theory */
    theory theory;
    solver *solver;
    bool propagate, failed;
    u32_vec implied; /* literals to be propagated */
    size_t implied_next;
    VEC(why) whys; /* by literal */
    u32_vec clause;
};

/* ---- graphs -------------------------------------------------------------------------------- */

static uint32_t end_of(order_pair p, bool source)
{
    return source ? p.from : p.to;
}

static uint32_t *start_array(mem *m, uint32_t nodes, const order_pair *pairs, size_t n, bool source)
{
    uint32_t *start = mem_array0(m, uint32_t, (size_t)nodes + 1);
    for (size_t i = 0; i < n; i++) {
        assert(pairs[i].from < nodes && pairs[i].to < nodes);
        start[end_of(pairs[i], source) + 1]++;
    }
    for (uint32_t v = 0; v < nodes; v++) start[v + 1] += start[v];
    return start;
}

static uint32_t *fill_array(mem *m, uint32_t nodes, const order_pair *pairs, size_t n, bool source,
                            uint32_t *start)
{
    uint32_t *list = mem_array(m, uint32_t, n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        list[start[end_of(pairs[i], source)]++] = end_of(pairs[i], !source);
        guard_tick(m->guard);
    }
    /* each start has run to the next one's place */
    for (uint32_t v = nodes; v > 0; v--) start[v] = start[v - 1];
    if (nodes) start[0] = 0;
    return list;
}

void order_graph_build(mem *m, uint32_t nodes, const order_pair *pairs, size_t n, order_graph *out)
{
    if (n >= UINT32_MAX) guard_fail(m->guard, GUARD_NOMEM, "out of memory: too many edges");
    uint32_t *out_start = start_array(m, nodes, pairs, n, true);
    uint32_t *in_start = start_array(m, nodes, pairs, n, false);
    out->out = fill_array(m, nodes, pairs, n, true, out_start);
    out->in = fill_array(m, nodes, pairs, n, false, in_start);
    out->out_start = out_start;
    out->in_start = in_start;
}

/* Kahn's algorithm with a queue. */
bool order_graph_sort(mem *m, uint32_t nodes, const order_graph *g, uint32_t *pos)
{
    uint32_t *degree = mem_array(m, uint32_t, (size_t)nodes + 1);
    uint32_t *queue = mem_array(m, uint32_t, (size_t)nodes + 1);
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        degree[v] = g->in_start[v + 1] - g->in_start[v];
        if (!degree[v]) queue[tail++] = v;
    }
    while (head < tail) {
        assert(head < nodes);
        uint32_t v = queue[head];
        pos[v] = head++;
        for (uint32_t i = g->out_start[v]; i < g->out_start[v + 1]; i++)
            if (!--degree[g->out[i]]) queue[tail++] = g->out[i];
    }
    mem_put(m, degree);
    mem_put(m, queue);
    assert(tail <= nodes);
    return tail == nodes;
}

/* ---- making ---------------------------------------------------------------------------------*/

static void grow_nodes(order *o, uint32_t cap)
{
    assert(cap >= o->nodes);
    o->pos = mem_resize(o->mem, o->pos, mem_bytes(o->mem, cap, sizeof *o->pos));
    o->at = mem_resize(o->mem, o->at, mem_bytes(o->mem, cap, sizeof *o->at));
    o->out = mem_resize(o->mem, o->out, mem_bytes(o->mem, cap, sizeof *o->out));
    o->in = mem_resize(o->mem, o->in, mem_bytes(o->mem, cap, sizeof *o->in));
    o->declared = mem_resize(o->mem, o->declared, mem_bytes(o->mem, cap, sizeof *o->declared));
    o->marks = mem_resize(o->mem, o->marks, cap);
    o->cap = cap;
}

order *order_new(mem *m, uint32_t nodes, const order_graph *base, const uint32_t *pos)
{
    order *o = mem_zeroed(m, sizeof *o);
    o->mem = m;
    o->base = base;
    grow_nodes(o, nodes ? nodes : 1);
    o->nodes = nodes;
    o->base_nodes = base ? nodes : 0;
    for (uint32_t v = 0; v < nodes; v++) {
        o->pos[v] = pos ? pos[v] : v;
        assert(o->pos[v] < nodes);
        o->at[o->pos[v]] = v;
        o->out[v] = o->in[v] = o->declared[v] = NO_ID;
        o->marks[v] = 0;
    }
    return o;
}

void order_free(order *o)
{
    if (!o) return;
    mem *m = o->mem;
    void *arrays[] = {
        o->pos,      o->at,         o->out,       o->in,        o->declared,   o->marks,
        o->edges.at, o->by_lit.at,  o->active.at, o->levels.at, o->forward.at, o->backward.at,
        o->keys.at,  o->steps.at,   o->now.at,    o->next.at,   o->cycle.at,   o->cycle_nodes.at,
        o->moves.at, o->implied.at, o->whys.at,   o->clause.at};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(m, arrays[i]);
    mem_put(m, o);
}

uint32_t order_add_node(order *o)
{
    if (o->nodes == o->cap) {
        if (o->cap > NO_ID / 4) guard_fail(o->mem->guard, GUARD_NOMEM, "too many nodes");
        grow_nodes(o, 2 * o->cap);
    }
    uint32_t v = o->nodes++;
    o->pos[v] = o->at[v] = v;
    o->out[v] = o->in[v] = o->declared[v] = NO_ID;
    o->marks[v] = 0;
    return v;
}

uint32_t order_nodes(const order *o)
{
    return o->nodes;
}

uint32_t order_pos(const order *o, uint32_t node)
{
    assert(node < o->nodes);
    return o->pos[node];
}

uint32_t order_at(const order *o, uint32_t pos)
{
    assert(pos < o->nodes);
    return o->at[pos];
}

const uint32_t *order_positions(const order *o)
{
    return o->pos;
}

/* ---- edges --------------------------------------------------------------------------------- */

static uint32_t new_edge(order *o, uint32_t lit, uint32_t a, uint32_t b)
{
    assert(a < o->nodes && b < o->nodes);
    if (o->edges.n >= NO_ID - 1) guard_fail(o->mem->guard, GUARD_NOMEM, "too many edges");
    edge e = {a, b, lit, NO_ID, o->declared[a], NO_ID, NO_ID, NO_ID};
    uint32_t id = (uint32_t)o->edges.n;
    vec_push(o->mem, &o->edges, e);
    return id;
}

uint32_t order_edge(order *o, uint32_t lit, uint32_t a, uint32_t b)
{
    assert(lit != LIT_NONE);
    while (o->by_lit.n <= lit) vec_push(o->mem, &o->by_lit, NO_ID);
    uint32_t id = new_edge(o, lit, a, b);
    o->edges.at[id].next_lit = o->by_lit.at[lit];
    o->by_lit.at[lit] = id;
    o->declared[a] = id;
    return id;
}

uint32_t order_first_edge(const order *o, uint32_t lit)
{
    return lit < o->by_lit.n ? o->by_lit.at[lit] : NO_ID;
}

uint32_t order_next_edge(const order *o, uint32_t id)
{
    assert(id < o->edges.n);
    return o->edges.at[id].next_lit;
}

void order_edge_ends(const order *o, uint32_t id, uint32_t *a, uint32_t *b)
{
    assert(id < o->edges.n);
    *a = o->edges.at[id].from;
    *b = o->edges.at[id].to;
}

static void link_edge(order *o, uint32_t id)
{
    edge *e = o->edges.at + id;
    assert(e->rank == NO_ID && o->pos[e->from] < o->pos[e->to]);
    vec_reserve(o->mem, &o->active, 1);
    e->rank = (uint32_t)o->active.n;
    e->next_out = o->out[e->from];
    e->next_in = o->in[e->to];
    o->out[e->from] = o->in[e->to] = id;
    o->active.at[o->active.n++] = id;
}

static void unlink_last(order *o)
{
    assert(o->active.n > 0);
    uint32_t id = o->active.at[--o->active.n];
    edge *e = o->edges.at + id;
    assert(o->out[e->from] == id && o->in[e->to] == id && e->rank == o->active.n);
    o->out[e->from] = e->next_out;
    o->in[e->to] = e->next_in;
    e->rank = NO_ID;
}

void order_new_level(order *o)
{
    vec_push(o->mem, &o->levels, (uint32_t)o->active.n);
}

void order_backtrack(order *o, uint32_t level)
{
    assert(level <= o->levels.n);
    if (level == o->levels.n) return;
    uint32_t height = o->levels.at[level];
    while (o->active.n > height) unlink_last(o);
    o->levels.n = level;
}

/* ---- paths --------------------------------------------------------------------------------- */

static void add_step(order *o, u32_vec *frontier, uint32_t node, uint32_t via, uint32_t parent)
{
    if (o->marks[node] & PATH) return;
    step t = {node, via, parent};
    vec_push(o->mem, frontier, (uint32_t)o->steps.n);
    vec_push(o->mem, &o->steps, t);
}

/* Breadth-first by the number of literals: fixed edges stay in this round's frontier, edges of
 * literals lead to the next.  Edges that came in at `height` or later do not count.  Returns the
 * step that stands at `to`, or NO_ID. */
static uint32_t shortest_path(order *o, uint32_t from, uint32_t to, size_t height)
{
    uint32_t found = NO_ID, bound = o->pos[to];
    o->steps.n = o->now.n = o->next.n = 0;
    add_step(o, &o->now, from, NO_ID, NO_ID);
    while (o->now.n && found == NO_ID) {
        for (size_t i = 0; i < o->now.n && found == NO_ID; i++) {
            uint32_t at = o->now.at[i], v = o->steps.at[at].node;
            if (o->marks[v] & PATH) continue;
            o->marks[v] |= PATH;
            if (v == to) {
                found = at;
                break;
            }
            if (v < o->base_nodes)
                for (uint32_t k = o->base->out_start[v]; k < o->base->out_start[v + 1]; k++)
                    if (o->pos[o->base->out[k]] <= bound)
                        add_step(o, &o->now, o->base->out[k], NO_ID, at);
            for (uint32_t id = o->out[v]; id != NO_ID; id = o->edges.at[id].next_out) {
                const edge *e = o->edges.at + id;
                if (o->pos[e->to] > bound || e->rank >= height) continue;
                add_step(o, e->lit == LIT_NONE ? &o->now : &o->next, e->to, id, at);
            }
        }
        u32_vec t = o->now;
        o->now = o->next;
        o->next = t;
        o->next.n = 0;
    }
    for (size_t i = 0; i < o->steps.n; i++) o->marks[o->steps.at[i].node] &= (uint8_t)~PATH;
    return found;
}

/* The literals, last first, and the nodes, first first, on the way to a step. */
static void walk_path(order *o, uint32_t at)
{
    o->cycle_nodes.n = 0;
    for (; at != NO_ID; at = o->steps.at[at].parent) {
        const step *t = o->steps.at + at;
        vec_push(o->mem, &o->cycle_nodes, t->node);
        if (t->via != NO_ID && o->edges.at[t->via].lit != LIT_NONE)
            vec_push(o->mem, &o->cycle, o->edges.at[t->via].lit);
    }
    for (size_t i = 0, j = o->cycle_nodes.n; i + 1 < j; i++) {
        uint32_t node = o->cycle_nodes.at[i];
        o->cycle_nodes.at[i] = o->cycle_nodes.at[--j];
        o->cycle_nodes.at[j] = node;
    }
}

bool order_path(order *o, uint32_t from, uint32_t to)
{
    assert(from < o->nodes && to < o->nodes);
    o->cycle.n = 0;
    if (o->pos[from] > o->pos[to]) return false;
    uint32_t end = shortest_path(o, from, to, o->active.n);
    if (end == NO_ID) return false;
    walk_path(o, end);
    return true;
}

const uint32_t *order_cycle(const order *o, size_t *n)
{
    *n = o->cycle.n;
    return o->cycle.at;
}

const uint32_t *order_cycle_nodes(const order *o, size_t *n)
{
    *n = o->cycle_nodes.n;
    return o->cycle_nodes.at;
}

/* ---- insertion ----------------------------------------------------------------------------- */

static void visit(order *o, u32_vec *set, uint32_t node, uint8_t mark)
{
    if (o->marks[node] & mark) return;
    o->marks[node] |= mark;
    vec_push(o->mem, set, node);
}

/* Everything reachable from y and not behind x; stops when it meets x. */
static bool search_forward(order *o, uint32_t y, uint32_t x)
{
    assert(o->pos[y] < o->pos[x]);
    uint32_t bound = o->pos[x];
    o->forward.n = 0;
    visit(o, &o->forward, y, FORWARD);
    for (size_t i = 0; i < o->forward.n; i++) {
        uint32_t v = o->forward.at[i];
        if (v == x) return false;
        if (v < o->base_nodes)
            for (uint32_t k = o->base->out_start[v]; k < o->base->out_start[v + 1]; k++)
                if (o->pos[o->base->out[k]] <= bound)
                    visit(o, &o->forward, o->base->out[k], FORWARD);
        for (uint32_t id = o->out[v]; id != NO_ID; id = o->edges.at[id].next_out)
            if (o->pos[o->edges.at[id].to] <= bound)
                visit(o, &o->forward, o->edges.at[id].to, FORWARD);
    }
    return true;
}

/* Everything that reaches x and is not before y. */
static void search_backward(order *o, uint32_t x, uint32_t y)
{
    uint32_t bound = o->pos[y];
    o->backward.n = 0;
    visit(o, &o->backward, x, BACKWARD);
    for (size_t i = 0; i < o->backward.n; i++) {
        uint32_t v = o->backward.at[i];
        assert(!(o->marks[v] & FORWARD));
        if (v < o->base_nodes)
            for (uint32_t k = o->base->in_start[v]; k < o->base->in_start[v + 1]; k++)
                if (o->pos[o->base->in[k]] > bound)
                    visit(o, &o->backward, o->base->in[k], BACKWARD);
        for (uint32_t id = o->in[v]; id != NO_ID; id = o->edges.at[id].next_in)
            if (o->pos[o->edges.at[id].from] > bound)
                visit(o, &o->backward, o->edges.at[id].from, BACKWARD);
    }
}

static void unmark(order *o, const u32_vec *set, uint8_t mark)
{
    for (size_t i = 0; i < set->n; i++) o->marks[set->at[i]] &= (uint8_t)~mark;
}

static void add_keys(order *o, const u32_vec *set)
{
    size_t first = o->keys.n;
    vec_reserve(o->mem, &o->keys, set->n);
    for (size_t i = 0; i < set->n; i++)
        o->keys.at[o->keys.n++] = (uint64_t)o->pos[set->at[i]] << 32 | set->at[i];
    sort_u64(o->keys.at + first, set->n);
}

static void place(order *o, uint32_t node, uint32_t pos)
{
    uint32_t was = o->pos[node];
    assert(pos < o->nodes);
    if (was == pos) return;
    if (!(o->marks[node] & MOVED)) {
        o->marks[node] |= MOVED;
        assert(o->moves.n < o->moves.cap);
        o->moves.at[o->moves.n++] = (order_move){node, was};
    }
    o->pos[node] = pos;
    o->at[pos] = node;
    o->stats.moved++;
}

/* Lays backward, then forward set into the places both occupy, each in its own order. */
static void reorder(order *o)
{
    size_t nb = o->backward.n, n = nb + o->forward.n;
    o->keys.n = 0;
    add_keys(o, &o->backward);
    add_keys(o, &o->forward);
    vec_reserve(o->mem, &o->moves, n);
    vec_reserve(o->mem, &o->now, n);

    /* merge the two ascending lists of places */
    u32_vec *places = &o->now;
    places->n = 0;
    for (size_t i = 0, j = nb; i < nb || j < n;) {
        bool left = j == n || (i < nb && o->keys.at[i] < o->keys.at[j]);
        places->at[places->n++] = (uint32_t)(o->keys.at[left ? i++ : j++] >> 32);
    }
    assert(places->n == n && o->keys.n == n);
    for (size_t i = 0; i < n; i++) place(o, (uint32_t)o->keys.at[i], places->at[i]);
}

static void note_implied(order *o);

static bool insert(order *o, uint32_t id)
{
    edge *e = o->edges.at + id;
    uint32_t x = e->from, y = e->to;
    o->stats.insertions++;
    if (o->pos[x] < o->pos[y]) {
        link_edge(o, id);
        return true;
    }
    o->stats.searches++;
    bool acyclic = x != y && search_forward(o, y, x);
    if (acyclic) {
        search_backward(o, x, y);
        reorder(o);
        link_edge(o, id);
        if (o->propagate) note_implied(o);
        unmark(o, &o->backward, BACKWARD);
        o->stats.visited += o->backward.n;
    }
    if (x != y) {
        unmark(o, &o->forward, FORWARD);
        o->stats.visited += o->forward.n;
    }
    if (acyclic) return true;

    o->stats.cycles++;
    o->cycle.n = 0;
    if (e->lit != LIT_NONE) vec_push(o->mem, &o->cycle, e->lit);
    uint32_t end = shortest_path(o, y, x, o->active.n);
    assert(end != NO_ID);
    walk_path(o, end);
    assert(o->cycle_nodes.at[0] == y && o->cycle_nodes.at[o->cycle_nodes.n - 1] == x);
    return false;
}

bool order_leads(order *o, uint32_t a, uint32_t b)
{
    if (o->pos[a] >= o->pos[b]) return a == b;
    bool found = !search_forward(o, a, b);
    unmark(o, &o->forward, FORWARD);
    o->stats.visited += o->forward.n;
    return found;
}

bool order_insert(order *o, uint32_t id)
{
    assert(id < o->edges.n && o->edges.at[id].rank == NO_ID);
    return insert(o, id);
}

bool order_assert(order *o, uint32_t lit)
{
    for (uint32_t id = order_first_edge(o, lit); id != NO_ID; id = o->edges.at[id].next_lit)
        if (o->edges.at[id].rank == NO_ID && !insert(o, id)) return false;
    return true;
}

bool order_fix(order *o, uint32_t a, uint32_t b)
{
    assert(!o->levels.n);
    uint32_t id = new_edge(o, LIT_NONE, a, b);
    return insert(o, id);
}

const order_move *order_moved(const order *o, size_t *n)
{
    *n = o->moves.n;
    return o->moves.at;
}

void order_moved_clear(order *o)
{
    for (size_t i = 0; i < o->moves.n; i++) o->marks[o->moves.at[i].node] &= (uint8_t)~MOVED;
    o->moves.n = 0;
}

const order_stats *order_statistics(const order *o)
{
    return &o->stats;
}

int order_check(const order *o)
{
    for (uint32_t v = 0; v < o->nodes; v++) {
        if (o->pos[v] >= o->nodes || o->at[o->pos[v]] != v) return 0;
        if (o->marks[v] & ~MOVED) return 0;
        if (v < o->base_nodes)
            for (uint32_t k = o->base->out_start[v]; k < o->base->out_start[v + 1]; k++)
                if (o->pos[v] >= o->pos[o->base->out[k]]) return 0;
    }
    for (size_t i = 0; i < o->active.n; i++) {
        const edge *e = o->edges.at + o->active.at[i];
        if (e->rank != i || o->pos[e->from] >= o->pos[e->to]) return 0;
    }
    return 1;
}

/* ---- as a theory --------------------------------------------------------------------------- */

/* Both sets are still marked: a declared edge from the forward to the backward set would close a
 * cycle through the edge just inserted. */
static void note_implied(order *o)
{
    for (size_t i = 0; i < o->forward.n; i++) {
        for (uint32_t id = o->declared[o->forward.at[i]]; id != NO_ID;
             id = o->edges.at[id].next_from) {
            const edge *e = o->edges.at + id;
            if (!(o->marks[e->to] & BACKWARD) || solver_value(o->solver, e->lit)) continue;
            assert(e->lit != LIT_NONE);
            uint32_t lit = lit_not(e->lit);
            while (o->whys.n <= lit) vec_push(o->mem, &o->whys, ((why){NO_ID, 0}));
            o->whys.at[lit] = (why){id, (uint32_t)o->active.n};
            vec_push(o->mem, &o->implied, lit);
            o->stats.propagated++;
        }
    }
}

static void theory_assignment(void *state, const uint32_t *lits, size_t n)
{
    order *o = state;
    for (size_t i = 0; i < n && !o->failed; i++) o->failed = !order_assert(o, lits[i]);
    if (!o->failed) return;
    size_t wide;
    order_cycle(o, &wide);
    if (wide) o->stats.width[wide < ORDER_WIDTHS ? wide - 1 : ORDER_WIDTHS - 1]++;
}

static void theory_new_level(void *state)
{
    order *o = state;
    assert(!o->failed);
    order_new_level(o);
}

static void theory_backtrack(void *state, uint32_t level)
{
    order *o = state;
    order_backtrack(o, level);
    o->failed = false;
    o->implied.n = o->implied_next = 0;
}

static bool theory_conflict(void *state, theory_clause *out)
{
    order *o = state;
    if (!o->failed) return false;
    o->failed = false;
    o->clause.n = 0;
    for (size_t i = 0; i < o->cycle.n; i++) vec_push(o->mem, &o->clause, lit_not(o->cycle.at[i]));
    *out = (theory_clause){o->clause.at, o->clause.n, 0, true};
    return true;
}

static uint32_t theory_propagate(void *state)
{
    order *o = state;
    while (o->implied_next < o->implied.n) {
        uint32_t lit = o->implied.at[o->implied_next++];
        if (!solver_value(o->solver, lit)) return lit;
    }
    o->implied.n = o->implied_next = 0;
    return LIT_NONE;
}

static void theory_reason(void *state, uint32_t lit, theory_clause *out)
{
    order *o = state;
    assert(lit < o->whys.n && o->whys.at[lit].edge != NO_ID);
    const edge *e = o->edges.at + o->whys.at[lit].edge;
    uint32_t end = shortest_path(o, e->to, e->from, o->whys.at[lit].height);
    assert(end != NO_ID);
    o->cycle.n = o->clause.n = 0;
    walk_path(o, end);
    vec_push(o->mem, &o->clause, lit);
    for (size_t i = 0; i < o->cycle.n; i++) vec_push(o->mem, &o->clause, lit_not(o->cycle.at[i]));
    *out = (theory_clause){o->clause.at, o->clause.n, 0, true};
}

/* What the order satisfies already costs nothing. */
static uint32_t theory_phase(void *state, uint32_t lit)
{
    order *o = state;
    for (int flip = 0; flip < 2; flip++, lit = lit_not(lit)) {
        bool holds = true;
        for (uint32_t id = order_first_edge(o, lit); holds && id != NO_ID;
             id = o->edges.at[id].next_lit)
            holds = o->pos[o->edges.at[id].from] < o->pos[o->edges.at[id].to];
        if (holds) return lit;
    }
    return lit;
}

const theory *order_theory(order *o, solver *s, bool propagate)
{
    assert(!o->solver && s);
    o->solver = s;
    o->propagate = propagate;
    o->theory = (theory){
        .state = o,
        .notify_assignment = theory_assignment,
        .notify_new_level = theory_new_level,
        .notify_backtrack = theory_backtrack,
        .cb_propagate = propagate ? theory_propagate : NULL,
        .cb_add_reason_clause = propagate ? theory_reason : NULL,
        .cb_add_external_clause = theory_conflict,
        .cb_phase = theory_phase,
    };
    return &o->theory;
}
