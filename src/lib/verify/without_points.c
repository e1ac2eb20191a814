/*
 * without_points.c - what modules added, said without helper points.
 *
 * Trying all orders of a few transactions (exhaust.c) should not try the places of points, too.  A
 * point can be placed if and only if all events before it stand before all events behind it, and
 * points stand only in plain statements.  So edges from event to event along points take their
 * place, in one statement at the end; points in a circle can never be placed.
 */
#include "verify/recheck.h"

#include "history/additions.h"

typedef VEC(added_edge) edge_list;

typedef struct point_graph {
    checker *c;
    const additions *add;
    edge_list edges;             /* those that a point is in, of transactions that may take part */
    uint32_t *first, *next;      /* per point, per edge: the edges that leave it; NO_ID: no more */
    uint32_t *in;                /* per point: how many edges from points lead to it */
    uint32_t *mark, marks, *row; /* points that a walk has met */
} point_graph;

static bool is_gone(const checker *c, uint32_t of, uint8_t at)
{
    return at != AT_POINT && txn_status_of(c->h, of) == TXN_ABORTED;
}

static bool has_point(const added_edge *e)
{
    return e->from_at == AT_POINT || e->to_at == AT_POINT;
}

static void load_point_edges(point_graph *x)
{
    const additions *add = x->add;
    for (size_t i = 0; i < add->edges.n; i++) {
        const added_edge *e = &add->edges.at[i];
        if (has_point(e) && !is_gone(x->c, e->from, e->from_at) && !is_gone(x->c, e->to, e->to_at))
            vec_push(x->c->m, &x->edges, *e);
    }
    size_t points = (size_t)add->points + 1;
    x->first = mem_array(x->c->m, uint32_t, points);
    x->next = mem_array(x->c->m, uint32_t, x->edges.n + 1);
    x->in = mem_array0(x->c->m, uint32_t, points);
    x->mark = mem_array0(x->c->m, uint32_t, points);
    x->row = mem_array(x->c->m, uint32_t, points);
    for (size_t p = 0; p < points; p++) x->first[p] = NO_ID;
    for (size_t i = 0; i < x->edges.n; i++) {
        const added_edge *e = &x->edges.at[i];
        x->next[i] = NO_ID;
        if (e->from_at != AT_POINT) continue;
        x->next[i] = x->first[e->from];
        x->first[e->from] = (uint32_t)i;
        if (e->to_at == AT_POINT) x->in[e->to]++;
    }
}

/* Takes away points that no point stands before, until none is left. */
static bool points_circle(point_graph *x)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < x->add->points; p++)
        if (!x->in[p]) x->row[n++] = p;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = x->first[x->row[i]]; k != NO_ID; k = x->next[k]) {
            const added_edge *e = &x->edges.at[k];
            if (e->to_at == AT_POINT && !--x->in[e->to]) x->row[n++] = e->to;
        }
    return n < x->add->points;
}

static uint8_t event_at(const checker *c, uint32_t of, uint8_t at)
{
    return recheck_begins_apart(c, of) ? at : AT_COMMIT;
}

/* Every event that points lead to from e, which leads from an event to a point. */
static void add_joined(point_graph *x, const added_edge *e, additions *to)
{
    const checker *c = x->c;
    uint32_t n = 0, from_at = event_at(c, e->from, e->from_at);
    x->marks++;
    x->row[n++] = e->to;
    x->mark[e->to] = x->marks;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = x->first[x->row[i]]; k != NO_ID; k = x->next[k]) {
            const added_edge *f = &x->edges.at[k];
            if (f->to_at == AT_POINT) {
                if (x->mark[f->to] != x->marks) x->row[n++] = f->to;
                x->mark[f->to] = x->marks;
                continue;
            }
            added_edge joined = {.from = e->from,
                                 .to = f->to,
                                 .from_at = (uint8_t)from_at,
                                 .to_at = event_at(c, f->to, f->to_at),
                                 .kind = ADDED_ORDERS};
            additions_edge(to, joined);
        }
        guard_tick(c->m->guard);
    }
}

/* The edges of one set that no point is in. */
static void copy_set(const additions *add, uint32_t set, additions *to)
{
    for (uint32_t e = additions_set_first(add, set); e < add->set_end.at[set]; e++)
        if (!has_point(&add->edges.at[e])) additions_edge(to, add->edges.at[e]);
    additions_set_end(to);
}

additions *recheck_without_points(checker *c)
{
    const additions *add = c->h->assumed;
    additions *to = additions_new(c->m);
    point_graph x = {.c = c, .add = add};
    load_point_edges(&x);
    if (points_circle(&x)) return NULL;
    additions_module(to, "all");
    for (size_t i = 0; i < add->at.n; i++) {
        const addition *said = &add->at.at[i];
        additions_begin(to, "said");
        for (uint32_t s = 0; s < said->sets; s++) copy_set(add, said->first_set + s, to);
    }
    additions_begin(to, "by points");
    for (size_t i = 0; i < x.edges.n; i++)
        if (x.edges.at[i].from_at != AT_POINT) add_joined(&x, &x.edges.at[i], to);
    additions_set_end(to);
    return to;
}
