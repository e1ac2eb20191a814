/*
 * impossible_reads.c - an ambiguous read that can have read from none of its candidates.
 *
 * Session order and the reads with a single candidate make an order.  A candidate W of a read by R
 * is impossible if W comes after R in that order, or if another writer of the key comes after W and
 * before R.  (The initial state comes before everything.)  If every candidate is impossible, the
 * read is a violation at each level whose reads respect that order.  The violation needs R, the
 * candidates and, for each of them, at most one other writer.  Clocks answer which transaction
 * comes first: per transaction and session, the last transaction of the session that comes before
 * it (the nodes of a session have rising numbers).
 */
#include <assert.h>

#include "verdict/sparse_suspects.h"

#define MOST_CANDIDATES 12u
#define MOST_CLOCKS ((size_t)1 << 25)
#define SETS 3u /* the best ones are looked at closer */

typedef struct found {
    uint32_t open; /* index of g->open */
    uint32_t cost;
} found;

typedef struct search {
    asg *g;
    uint32_t sessions;
    uint32_t *clock; /* per node and session: the last node, plus 1; 0: none */
    found best[SETS];
    uint32_t n;
} search;

static uint32_t session_of(const search *x, node_id v)
{
    return x->g->h->txn_session[x->g->node_txn[v]];
}

/* What comes before p, and p itself, comes before v.  (Nothing follows an unknown outcome in its
   session.) */
static void follow(search *x, node_id v, node_id p)
{
    uint32_t *to = x->clock + (size_t)v * x->sessions;
    const uint32_t *from = x->clock + (size_t)p * x->sessions;
    for (uint32_t s = 0; s < x->sessions; s++)
        if (from[s] > to[s]) to[s] = from[s];
    uint32_t own = session_of(x, p);
    if (!x->g->maybe[p] && p + 1 > to[own]) to[own] = p + 1;
}

static bool make_clocks(search *x)
{
    asg *g = x->g;
    uint32_t n;
    cycle c = {0};
    node_id *order = mem_array(g->m, node_id, (size_t)g->nodes + 1);
    view w = {.so = true, .rf = g->ob_rf};
    if (!graph_order(g, &w, order, &n, &c)) return false;
    x->clock = mem_array0(g->m, uint32_t, (size_t)g->nodes * x->sessions + 1);
    for (uint32_t i = 0; i < n; i++) {
        node_id v = order[i];
        if (g->so_pred[v] != NO_ID) follow(x, v, g->so_pred[v]);
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            if (g->ob_rf[ob] < RF_LAST) follow(x, v, g->ob_rf[ob]);
        guard_tick(g->m->guard);
    }
    return true;
}

static bool comes_before(const search *x, node_id a, node_id b)
{
    return !x->g->maybe[a] && x->clock[(size_t)b * x->sessions + session_of(x, a)] > a;
}

/* The last committed writer of k among the nodes of a session below `until`, or NO_ID. */
static node_id last_writer(const search *x, key_id k, uint32_t session, uint32_t until)
{
    const asg *g = x->g;
    uint32_t lo = g->kw_first[k], hi = g->kw_first[k + 1];
    while (lo < hi) { /* installs of a key stand in the order of nodes */
        uint32_t mid = lo + (hi - lo) / 2;
        if (g->inst_node[g->kw_inst[mid]] < until)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo > g->kw_first[k]; lo--) {
        node_id w = g->inst_node[g->kw_inst[lo - 1]];
        if (session_of(x, w) != session) return NO_ID;
        if (!g->maybe[w]) return w;
    }
    return NO_ID;
}

/* A writer of the key that is after c (RF_INIT: any) and before the reader. */
static node_id writer_between(const search *x, node_id reader, key_id k, uint32_t c)
{
    for (uint32_t s = 0; s < x->sessions; s++) {
        uint32_t until = x->clock[(size_t)reader * x->sessions + s];
        node_id w = until ? last_writer(x, k, s, until) : NO_ID;
        if (w == NO_ID || w == reader || w == c) continue;
        if (c == RF_INIT || comes_before(x, c, w)) return w;
    }
    return NO_ID;
}

/* Why the candidate was not read: 0 it may have been, 1 it comes after the reader, 2 *w. */
static unsigned ruled_out(const search *x, node_id reader, key_id k, uint32_t c, node_id *w)
{
    *w = NO_ID;
    if (c < RF_LAST && comes_before(x, reader, c)) return 1;
    *w = writer_between(x, reader, k, c);
    return *w == NO_ID ? 0 : 2;
}

static void look_at(search *x, uint32_t open)
{
    const asg *g = x->g;
    uint32_t ob = g->open.at[open], first = g->cand_first.at[open],
             end = g->cand_first.at[open + 1];
    node_id reader = g->ob_node[ob], w;
    found f = {open, 1};
    if (end - first > MOST_CANDIDATES || !asg_in(g, reader)) return;
    for (uint32_t i = first; i < end; i++) {
        unsigned why = ruled_out(x, reader, g->ob_key[ob], asg_cand(g, open, i), &w);
        if (!why) return;
        f.cost += (asg_cand(g, open, i) < RF_LAST ? 1u : 0u) + (why == 2 ? 1u : 0u);
    }
    uint32_t at = x->n < SETS ? x->n++ : SETS;
    while (at && x->best[at - 1].cost > f.cost) {
        if (at < SETS) x->best[at] = x->best[at - 1];
        at--;
    }
    if (at < SETS) x->best[at] = f;
}

/* Marks whom the way from a to b in the order goes through: b's predecessors, as long as a comes
   before them too. */
static void mark_way(const search *x, node_id a, node_id b, uint8_t *in)
{
    const asg *g = x->g;
    in[a] = in[b] = 1;
    while (b != a) {
        node_id next = NO_ID;
        if (session_of(x, a) == session_of(x, b) && a < b) return; /* session order says it */
        for (uint32_t ob = g->ob_first[b]; ob < g->ob_first[b + 1] && next == NO_ID; ob++)
            if (g->ob_rf[ob] == a || (g->ob_rf[ob] < RF_LAST && comes_before(x, a, g->ob_rf[ob])))
                next = g->ob_rf[ob];
        if (next == NO_ID && g->so_pred[b] != NO_ID && comes_before(x, a, g->so_pred[b]))
            next = g->so_pred[b];
        if (next == NO_ID) return;
        in[next] = 1;
        b = next;
        guard_tick(g->m->guard);
    }
}

static part *suspects_of(const search *x, mem *m, const found *f)
{
    asg *g = x->g;
    uint32_t ob = g->open.at[f->open];
    node_id reader = g->ob_node[ob], w;
    uint8_t *in = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    in[reader] = 1;
    for (uint32_t i = g->cand_first.at[f->open]; i < g->cand_first.at[f->open + 1]; i++) {
        uint32_t c = asg_cand(g, f->open, i);
        unsigned why = ruled_out(x, reader, g->ob_key[ob], c, &w);
        assert(why);
        if (why == 1) mark_way(x, reader, c, in);
        if (why == 2) mark_way(x, w, reader, in);
        if (why == 2 && c < RF_LAST) mark_way(x, c, w, in);
        if (c < RF_LAST) in[c] = 1;
    }
    part *out = part_new(m, g, in);
    mem_put(g->m, in);
    return out;
}

void impossible_reads(const verdict *v, const problem *p, parts *out)
{
    asg *g = p->g;
    search x = {.g = g, .sessions = (uint32_t)g->h->sessions.n};
    if (!p->ask.so || !x.sessions || g->nodes > MOST_CLOCKS / x.sessions) return;
    if (!make_clocks(&x)) return;
    asg_by_key(g);
    for (uint32_t i = 0; i < g->open.n; i++) {
        look_at(&x, i);
        guard_tick(g->m->guard);
    }
    for (uint32_t i = 0; i < x.n; i++) vec_push(v->mem, out, suspects_of(&x, v->mem, &x.best[i]));
    mem_put(g->m, x.clock);
}
