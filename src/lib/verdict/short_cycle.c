/*
 * short_cycle.c - see short_cycle.h.
 *
 * The same deductions that lazy.c makes with clocks for the versions that stand next to each
 * other, here with a bit matrix and for all of them: a violation that needs no case split has its
 * cycle here.  Edges that are derived together are all added before one looks for a cycle, so
 * that the shortest one is not missed because a longer one was met first.
 */
#include "verdict/short_cycle.h"

#include <assert.h>

typedef struct loop {
    asg *g;
    mem *m;
    bool si;
    uint32_t n;      /* events: a transaction, or its begin and its commit */
    size_t words;    /* of a row */
    uint64_t *reach; /* n rows */
    uint32_t *edge;  /* n rows: index + 1 of the step that leads from one event to another */
    step_list steps;
    size_t known; /* how many of them were known, not derived */
    bool grew, plain;
} loop;

static uint32_t begins(const loop *l, node_id v)
{
    return l->si ? 2 * v : v;
}

static uint32_t commits(const loop *l, node_id v)
{
    return l->si ? 2 * v + 1 : v;
}

static bool way(const loop *l, uint32_t a, uint32_t b)
{
    return l->reach[a * l->words + b / 64] >> (b % 64) & 1;
}

static void join(loop *l, uint32_t a, uint32_t b, step s)
{
    assert(a < l->n && b < l->n && s.from != s.to);
    if (a == b || l->edge[(size_t)a * l->n + b]) return;
    vec_push(l->m, &l->steps, s);
    l->edge[(size_t)a * l->n + b] = (uint32_t)l->steps.n;
    l->grew = true;
}

/* Strongest reasons first: of several edges between two transactions the first one is shown. */
static void add_known(loop *l, const order_question *ask)
{
    asg *g = l->g;
    const history *h = g->h;
    uint64_t drift = ask->drift > 0 ? (uint64_t)ask->drift : 0;
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        node_id v = g->ob_node[ob], w = g->ob_rf[ob];
        if (w >= RF_LAST || !asg_in(g, v)) continue;
        join(l, commits(l, w), begins(l, v), (step){w, v, EDGE_WR, g->ob_key[ob], ob});
    }
    for (size_t i = 0; i < g->extra.n; i++) {
        const edge *e = &g->extra.at[i];
        if (!asg_in(g, e->from) || !asg_in(g, e->to)) continue;
        join(l, commits(l, e->from), begins(l, e->to),
             (step){e->from, e->to, EDGE_WW, e->key, e->ob});
    }
    for (node_id v = 0; v < g->nodes && ask->so; v++)
        for (node_id u = g->so_pred[v]; u != NO_ID && asg_in(g, v); u = g->so_pred[u])
            join(l, commits(l, u), begins(l, v), (step){u, v, EDGE_SO, NO_ID, NO_ID});
    for (node_id a = 0; a < g->nodes && ask->rt; a++)
        for (node_id b = 0; b < g->nodes; b++) {
            int64_t end, begin;
            if (a == b || !asg_in(g, a) || !asg_in(g, b) ||
                !txn_end_time(h, g->node_txn[a], &end) ||
                !txn_begin_time(h, g->node_txn[b], &begin) || end >= begin ||
                (uint64_t)begin - (uint64_t)end < drift)
                continue;
            join(l, commits(l, a), begins(l, b), (step){a, b, STEP_RT, NO_ID, NO_ID});
        }
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        node_id v = g->ob_node[ob];
        key_id k = g->ob_key[ob];
        if (g->ob_rf[ob] != RF_INIT || !asg_in(g, v)) continue;
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
            node_id u = g->inst_node[g->kw_inst[i]];
            if (u != v && asg_in(g, u))
                join(l, begins(l, v), commits(l, u), (step){v, u, STEP_RW, k, ob});
        }
    }
}

/* Transitive closure; true if an event reaches itself. */
static bool close_up(loop *l)
{
    memset(l->reach, 0, l->n * l->words * sizeof *l->reach);
    for (uint32_t a = 0; a < l->n; a++) {
        for (uint32_t b = 0; b < l->n; b++)
            if (l->edge[(size_t)a * l->n + b])
                l->reach[a * l->words + b / 64] |= (uint64_t)1 << (b % 64);
        if (l->si && a % 2 == 0)
            l->reach[a * l->words + (a + 1) / 64] |= (uint64_t)1 << ((a + 1) % 64);
    }
    for (uint32_t k = 0; k < l->n; k++) {
        for (uint32_t a = 0; a < l->n; a++)
            if (way(l, a, k))
                for (size_t i = 0; i < l->words; i++)
                    l->reach[a * l->words + i] |= l->reach[k * l->words + i];
        guard_tick(l->m->guard);
    }
    for (uint32_t a = 0; a < l->n; a++)
        if (way(l, a, a)) return true;
    return false;
}

static void derive_reads(loop *l)
{
    asg *g = l->g;
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        node_id v = g->ob_node[ob], w = g->ob_rf[ob];
        key_id k = g->ob_key[ob];
        if (w >= RF_LAST || !asg_in(g, v)) continue;
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
            node_id u = g->inst_node[g->kw_inst[i]];
            if (u == v || u == w || !asg_in(g, u)) continue;
            if (way(l, commits(l, u), begins(l, v)))
                join(l, commits(l, u), begins(l, w), (step){u, w, EDGE_FORCE, k, ob});
            if (way(l, begins(l, w), commits(l, u)))
                join(l, begins(l, v), commits(l, u), (step){v, u, STEP_RW, k, ob});
        }
        guard_tick(l->m->guard);
    }
}

static void derive_overlaps(loop *l)
{
    asg *g = l->g;
    for (size_t k = 0; k < history_keys(g->h); k++)
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++)
            for (uint32_t j = g->kw_first[k]; j < g->kw_first[k + 1]; j++) {
                node_id a = g->inst_node[g->kw_inst[i]], b = g->inst_node[g->kw_inst[j]];
                if (i == j || !asg_in(g, a) || !asg_in(g, b)) continue;
                if (way(l, begins(l, a), commits(l, b)))
                    join(l, commits(l, a), begins(l, b), (step){a, b, EDGE_WW, (key_id)k, NO_ID});
            }
}

/* A step costs one; of cycles of the same length, the one with fewer version orders that were
   derived: those are harder to follow.  A begin and its own commit are one place. */
#define STEP_COST 4096u

static uint32_t cost(const loop *l, uint32_t a, uint32_t b)
{
    uint32_t id = l->edge[(size_t)a * l->n + b];
    assert(id <= l->steps.n);
    if (l->si && a % 2 == 0 && b == a + 1) return 0;
    if (!id) return UINT32_MAX;
    bool is_derived = id > l->known && l->steps.at[id - 1].kind != STEP_RW;
    return is_derived && l->plain ? UINT32_MAX : STEP_COST + is_derived;
}

/* The cheapest way from `from` back to itself, if it is below `most` (Dijkstra's algorithm on an
   array); via: the event before each. */
static uint32_t cheapest(loop *l, uint32_t from, uint32_t most, uint32_t *far, uint32_t *via,
                         uint8_t *done)
{
    memset(far, 0xff, l->n * sizeof *far);
    memset(done, 0, l->n);
    uint32_t at = from, so_far = 0; /* far[from] stays open: it is where we are going */
    while (so_far < most) {
        for (uint32_t b = 0; b < l->n; b++) {
            uint32_t c = cost(l, at, b);
            if (c == UINT32_MAX || done[b] || so_far + c >= far[b]) continue;
            far[b] = so_far + c;
            via[b] = at;
        }
        so_far = UINT32_MAX;
        for (uint32_t b = 0; b < l->n; b++)
            if (!done[b] && far[b] < so_far) so_far = far[at = b];
        if (so_far == UINT32_MAX || at == from) break;
        done[at] = 1;
    }
    assert(!done[from]);
    return so_far < most && at == from ? so_far : most;
}

static void find_shortest(loop *l, step_list *out)
{
    uint32_t *far = mem_array(l->m, uint32_t, (size_t)l->n + 1);
    uint32_t *via = mem_array(l->m, uint32_t, (size_t)l->n + 1), best = UINT32_MAX;
    uint8_t *done = mem_array(l->m, uint8_t, (size_t)l->n + 1);
    for (uint32_t from = 0; from < l->n; from++) {
        uint32_t found = cheapest(l, from, best, far, via, done);
        if (found == best) continue;
        best = found;
        out->n = 0;
        uint32_t b = from;
        do {
            uint32_t a = via[b], id = l->edge[(size_t)a * l->n + b];
            if (id && !(l->si && a % 2 == 0 && b == a + 1))
                vec_push(l->m, out, l->steps.at[id - 1]);
            b = a;
        } while (b != from);
        guard_tick(l->m->guard);
    }
    for (size_t i = 0; i < out->n / 2; i++) {
        step swap = out->at[i];
        out->at[i] = out->at[out->n - 1 - i];
        out->at[out->n - 1 - i] = swap;
    }
    for (size_t i = 0; i < out->n; i++) /* each step starts where the one before it ended */
        assert(out->at[i].to == out->at[(i + 1) % out->n].from);
    mem_put(l->m, far);
    mem_put(l->m, via);
    mem_put(l->m, done);
}

bool loop_find(asg *g, const order_question *ask, step_list *out, step_list *plain)
{
    loop l = {.g = g, .m = g->m, .si = ask->rule->events};
    out->n = plain->n = 0;
    if (g->nodes > LOOP_MOST || g->wild_lists || g->init_open) return false;
    asg_by_key(g);
    l.n = l.si ? 2 * g->nodes : g->nodes;
    l.words = ((size_t)l.n + 63) / 64;
    l.reach = mem_array(l.m, uint64_t, l.n * l.words + 1);
    l.edge = mem_array0(l.m, uint32_t, (size_t)l.n * l.n + 1);
    add_known(&l, ask);
    l.known = l.steps.n;
    assert(l.words * 64 >= l.n);
    bool closed;
    do {
        closed = close_up(&l);
        l.grew = false;
        if (closed) break;
        derive_reads(&l);
        if (l.si) derive_overlaps(&l);
    } while (l.grew);
    if (closed) {
        find_shortest(&l, out);
        assert(out->n > 1); /* an event that reaches itself closes a cycle */
        l.plain = true;
        find_shortest(&l, plain);
    }
    mem_put(l.m, l.reach);
    mem_put(l.m, l.edge);
    vec_free(l.m, &l.steps);
    return out->n != 0;
}
