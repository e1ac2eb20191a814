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
                /* s.from lies deeper: s.from -> s.to, and the frames above it lead from s.to on */
                ok = false;
                c->steps.n = 0;
                vec_push(g->m, &c->steps, s);
                for (size_t i = stack.n; i-- > 0 && stack.at[i].at.node != s.from;)
                    vec_push(g->m, &c->steps, stack.at[i].in);
            }
        }
    }
    vec_free(g->m, &stack);
    mem_put(g->m, colour);
    return ok;
}

/* Breadth-first over predecessors from v until v is met again. */
static bool shortest_through(asg *g, const view *w, node_id v, uint32_t limit, step *via,
                             uint32_t *depth, uint32_t *seen, uint32_t round, node_id *queue,
                             cycle *out)
{
    uint32_t head = 0, tail = 0;
    queue[tail++] = v;
    depth[v] = 0;
    while (head < tail) {
        node_id u = queue[head++];
        if (depth[u] + 1 >= limit) return false;
        cursor c = cursor_of(g, w, u);
        step s;
        while (next_pred(g, w, &c, &s)) {
            if (s.from == v) {
                out->steps.n = 0;
                vec_push(g->m, &out->steps, s);
                for (node_id x = s.to; x != v; x = via[x].to) vec_push(g->m, &out->steps, via[x]);
                return true;
            }
            if (seen[s.from] == round) continue;
            seen[s.from] = round;
            depth[s.from] = depth[u] + 1;
            via[s.from] = s;
            queue[tail++] = s.from;
        }
        guard_tick(g->m->guard);
    }
    return false;
}

void graph_shorten(asg *g, const view *w, cycle *c)
{
    if (c->steps.n <= 2) return;
    size_t n = (size_t)g->nodes + 1;
    step *via = mem_array(g->m, step, n);
    uint32_t *depth = mem_array(g->m, uint32_t, n), *seen = mem_array0(g->m, uint32_t, n);
    node_id *queue = mem_array(g->m, node_id, n);
    cycle best = {0}, try = {0};
    for (size_t i = 0; i < c->steps.n; i++) vec_push(g->m, &best.steps, c->steps.at[i]);
    /* A few starting points are enough: all nodes of the shortest cycle lie in one component. */
    size_t tries = c->steps.n < 32 ? c->steps.n : 32;
    for (size_t i = 0; i < tries && best.steps.n > 2; i++) {
        node_id v = c->steps.at[i * c->steps.n / tries].to;
        if (!shortest_through(g, w, v, (uint32_t)best.steps.n, via, depth, seen, (uint32_t)i + 1,
                              queue, &try))
            continue;
        best.steps.n = 0;
        for (size_t j = 0; j < try.steps.n; j++) vec_push(g->m, &best.steps, try.steps.at[j]);
    }
    c->steps.n = 0;
    for (size_t i = 0; i < best.steps.n; i++) vec_push(g->m, &c->steps, best.steps.at[i]);
    vec_free(g->m, &best.steps);
    vec_free(g->m, &try.steps);
    mem_put(g->m, via);
    mem_put(g->m, depth);
    mem_put(g->m, seen);
    mem_put(g->m, queue);
}
