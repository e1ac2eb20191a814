/*
 * graph.c - topological orders and cycles over the implicit graph.
 *
 * Predecessors of a node are read off the arrays (session predecessor, read-from of its
 * obligations, extra edges), so no adjacency is ever built.  The walk is an iterative depth-first
 * search over predecessors: its post-order is a topological order, and a predecessor that is
 * still on the stack closes a cycle.
 */
#include <assert.h>

#include "asg/asg.h"

enum { WHITE, GREY, BLACK };

/* Iterates over the predecessors of one node: first the session predecessor, then obligations,
   then extra edges. */
typedef struct cursor {
    node_id node;
    uint32_t at; /* the next obligation */
    uint32_t extra;
    bool so; /* the session predecessor is still to come */
} cursor;

static cursor cursor_of(const asg *g, const view *w, node_id v)
{
    cursor c = {v, g->ob_first[v], w->extra ? g->extra_head[v] : NO_ID, false};
    if (!w->rf) c.at = g->ob_first[v + 1];
    c.so = w->so && g->so_pred[v] != NO_ID;
    return c;
}

static bool present(const view *w, node_id v)
{
    return !w->out || !w->out[v];
}

static bool next_pred(const asg *g, const view *w, cursor *c, step *s)
{
    node_id v = c->node;
    if (c->so) {
        c->so = false;
        *s = (step){g->so_pred[v], v, EDGE_SO, NO_ID, NO_ID};
        return true;
    }
    while (c->at < g->ob_first[v + 1]) {
        uint32_t ob = c->at++, rf = w->rf[ob];
        if (rf >= RF_LAST || !present(w, rf)) continue;
        assert(rf < g->nodes && rf != v);
        *s = (step){rf, v, EDGE_WR, g->ob_key[ob], ob};
        return true;
    }
    while (c->extra != NO_ID) {
        const edge *e = &g->extra.at[c->extra];
        c->extra = e->next;
        if (!present(w, e->from)) continue;
        *s = (step){e->from, v, e->kind, e->key, e->ob};
        return true;
    }
    return false;
}

typedef struct frame {
    cursor at;
    step in; /* the edge that led here: from this node to the one below on the stack */
} frame;

bool cycle_closed(const cycle *c)
{
    size_t n = c->steps.n;
    for (size_t i = 0; i < n; i++)
        if (c->steps.at[i].to != c->steps.at[(i + 1) % n].from) return false;
    return n > 0;
}

bool graph_order(asg *g, const view *w, node_id *order, uint32_t *n, cycle *c)
{
    uint8_t *colour = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    VEC(frame) stack = {0};
    *n = 0;
    bool ok = true;
    for (node_id root = 0; root < g->nodes && ok; root++) {
        if (colour[root] != WHITE || !present(w, root)) continue;
        frame f = {cursor_of(g, w, root), {0}};
        colour[root] = GREY;
        vec_push(g->m, &stack, f);
        while (stack.n && ok) {
            frame *top = &stack.at[stack.n - 1];
            step s;
            if (!next_pred(g, w, &top->at, &s)) {
                colour[top->at.node] = BLACK;
                order[(*n)++] = top->at.node;
                stack.n--;
                guard_tick(g->m->guard);
            } else if (colour[s.from] == WHITE) {
                colour[s.from] = GREY;
                frame deeper = {cursor_of(g, w, s.from), s};
                vec_push(g->m, &stack, deeper);
            } else if (colour[s.from] == GREY) {
                /* s.from lies deeper in the stack, and the frames above it lead from s.to on. */
                ok = false;
                c->steps.n = 0;
                vec_push(g->m, &c->steps, s);
                for (size_t i = stack.n; i-- > 0 && stack.at[i].at.node != s.from;)
                    vec_push(g->m, &c->steps, stack.at[i].in);
                assert(cycle_closed(c));
            }
        }
    }
    assert(!ok || w->out || *n == g->nodes);
    vec_free(g->m, &stack);
    mem_put(g->m, colour);
    return ok;
}

/* The state of repeated breadth-first searches, one for each start. */
typedef struct cycle_search {
    asg *g;
    const view *w;
    uint32_t round;  /* the number of this search, from 1 */
    uint32_t *seen;  /* per node: the last search that met it */
    uint32_t *depth; /* per node that was met: how many steps lead from it to the start */
    step *via;       /* per node that was met: the first of these steps */
    node_id *queue;
} cycle_search;

/* Searches breadth-first over predecessors from v until v is met again: the shortest cycle through
   v, if it has fewer than `limit` steps. */
static bool shortest_through(cycle_search *b, node_id v, uint32_t limit, cycle *out)
{
    asg *g = b->g;
    uint32_t head = 0, tail = 0;
    b->round++;
    b->queue[tail++] = v;
    b->depth[v] = 0;
    while (head < tail) {
        node_id u = b->queue[head++];
        if (b->depth[u] + 1 >= limit) return false;
        cursor c = cursor_of(g, b->w, u);
        step s;
        while (next_pred(g, b->w, &c, &s)) {
            if (s.from == v) {
                out->steps.n = 0;
                vec_push(g->m, &out->steps, s);
                for (node_id x = s.to; x != v; x = b->via[x].to)
                    vec_push(g->m, &out->steps, b->via[x]);
                assert(cycle_closed(out) && out->steps.n < limit);
                return true;
            }
            if (b->seen[s.from] == b->round) continue;
            b->seen[s.from] = b->round;
            b->depth[s.from] = b->depth[u] + 1;
            b->via[s.from] = s;
            assert(tail < g->nodes);
            b->queue[tail++] = s.from;
        }
        guard_tick(g->m->guard);
    }
    return false;
}

void graph_shorten(asg *g, const view *w, cycle *c)
{
    if (c->steps.n <= 2) return;
    size_t n = (size_t)g->nodes + 1;
    cycle_search search = {.g = g, .w = w};
    search.via = mem_array(g->m, step, n);
    search.depth = mem_array(g->m, uint32_t, n);
    search.seen = mem_array0(g->m, uint32_t, n);
    search.queue = mem_array(g->m, node_id, n);
    cycle best = {0}, try = {0};
    for (size_t i = 0; i < c->steps.n; i++) vec_push(g->m, &best.steps, c->steps.at[i]);
    /* A few starting points are enough: all nodes of the shortest cycle lie in one component. */
    size_t tries = c->steps.n < 32 ? c->steps.n : 32;
    for (size_t i = 0; i < tries && best.steps.n > 2; i++) {
        node_id v = c->steps.at[i * c->steps.n / tries].to;
        if (!shortest_through(&search, v, (uint32_t)best.steps.n, &try)) continue;
        best.steps.n = 0;
        for (size_t j = 0; j < try.steps.n; j++) vec_push(g->m, &best.steps, try.steps.at[j]);
    }
    c->steps.n = 0;
    for (size_t i = 0; i < best.steps.n; i++) vec_push(g->m, &c->steps, best.steps.at[i]);
    vec_free(g->m, &best.steps);
    vec_free(g->m, &try.steps);
    mem_put(g->m, search.via);
    mem_put(g->m, search.depth);
    mem_put(g->m, search.seen);
    mem_put(g->m, search.queue);
}
