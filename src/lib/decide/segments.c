/*
 * segments.c - Boomslang's unsat search: the history is cut where concurrency is low, and the
 * restriction of each segment is decided first.
 *
 * Members of a segment keep the reads that they can only have done among themselves
 * (asg/subgraph.c), so a reject is a reject; an accept means nothing.  The line of transactions is
 * a topological order of session order and read-from; the places to cut are those that the fewest
 * reads cross. A segment costs as much as its size, the arrays by key aside: few segments if there
 * are many keys, and none that lost most of its reads is decided.
 */
#include "decide/segments.h"

#include <assert.h>

#include "solve/order.h"

#define MOST 16u       /* segments */
#define USUAL 1024u    /* transactions of one */
#define CONFLICTS 200u /* then it is left */
#define LEAST_KEPT 4u  /* 1/4 of the reads */

/* A line of the transactions that surely take part; false if they have a cycle. */
static bool line_up(asg *g, bool so, node_id *line, uint32_t *n)
{
    mem *m = g->m;
    VEC(order_pair) pairs = {0};
    for (node_id v = 0; v < g->nodes; v++) {
        order_pair s = {g->so_pred[v], v};
        if (s.from != NO_ID && so) vec_push(m, &pairs, s);
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            order_pair w = {g->ob_rf[ob], v};
            if (w.from < RF_LAST) vec_push(m, &pairs, w);
        }
    }
    order_graph known;
    order_graph_build(m, g->nodes, pairs.at, pairs.n, &known);
    uint32_t *pos = mem_array(m, uint32_t, (size_t)g->nodes + 1);
    if (!order_graph_sort(m, g->nodes, &known, pos)) return false;
    node_id *at = mem_array(m, node_id, (size_t)g->nodes + 1);
    for (node_id v = 0; v < g->nodes; v++) at[pos[v]] = v;
    *n = 0;
    for (uint32_t i = 0; i < g->nodes; i++)
        if (asg_in(g, at[i])) line[(*n)++] = at[i];
    return true;
}

/* Per place of the line: the reads that a cut in front of it would lose. */
static uint32_t *crossings(const asg *g, const node_id *line, uint32_t n)
{
    uint32_t *place = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    uint32_t *cross = mem_array0(g->m, uint32_t, (size_t)n + 2);
    memset(place, 0xff, ((size_t)g->nodes + 1) * sizeof *place);
    for (uint32_t i = 0; i < n; i++) place[line[i]] = i;
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        uint32_t w = g->ob_rf[ob], v = place[g->ob_node[ob]];
        if (w >= RF_LAST || v == NO_ID || place[w] == NO_ID || place[w] > v) continue;
        cross[place[w] + 1]++;
        cross[v + 1]--; /* wraps below 0 and comes back in the sum */
    }
    for (uint32_t i = 1; i <= n; i++) cross[i] += cross[i - 1];
    assert(!n || !cross[n]); /* every read that begins to cross ends */
    mem_put(g->m, place);
    return cross;
}

/* The best place for the i-th of `parts` cuts. */
static uint32_t cut_near(const uint32_t *cross, uint32_t n, uint32_t i, uint32_t parts)
{
    uint32_t ideal = (uint32_t)((uint64_t)n * i / parts), slack = n / parts / 4, best = ideal;
    assert(i && i <= parts && 2 * parts <= n);
    if (i == parts) return n;
    for (uint32_t c = ideal - slack; c <= ideal + slack; c++)
        if (cross[c] < cross[best]) best = c;
    return best;
}

/* The members of one segment: nodes[0..count) in rising order, and fresh, their numbers in it. */
typedef struct members {
    node_id *nodes, *fresh;
    uint32_t count;
} members;

/* Makes line[from..to) the members. */
static void choose_members(const asg *g, const node_id *line, uint32_t from, uint32_t to,
                           members *s)
{
    s->count = 0;
    memset(s->fresh, 0xff, ((size_t)g->nodes + 1) * sizeof *s->fresh);
    for (uint32_t j = from; j < to; j++) s->fresh[line[j]] = 0;
    for (node_id v = 0; v < g->nodes; v++) {
        if (s->fresh[v] == NO_ID) continue;
        s->fresh[v] = s->count;
        s->nodes[s->count++] = v;
    }
    assert(s->count == to - from); /* a line names nobody twice */
}

static bool refute_members(asg *g, const order_question *ask, const members *s, asg *part,
                           order_problem *p, decision *a)
{
    size_t reads = 0;
    if (s->count < 2) return false;
    for (uint32_t i = 0; i < s->count; i++)
        reads += g->ob_first[s->nodes[i] + 1] - g->ob_first[s->nodes[i]];
    asg_part(part, g, s->nodes, s->count, s->fresh);
    assert(part->nodes == s->count && part->obs <= reads);
    if (part->obs * LEAST_KEPT < reads) return false;
    problem_build(p, part, ask);
    lazy_decide(p, CONFLICTS, a);
    return decision_violated(a);
}

/* How many segments the history is cut into; 0: it is not worth cutting. */
static uint32_t segments_of(const asg *g, const level_rule *rule)
{
    uint32_t parts = g->nodes / USUAL;
    size_t size = g->obs + g->insts, keys = history_keys(g->h) + 1;
    /* Neighbours in the part need not be neighbours in the whole. */
    if (rule->path & PATH_NEXT || rule->level == LEVEL_MIXED_PG) return 0;
    if (parts > MOST) parts = MOST;
    if (parts > 4 * size / keys) parts = (uint32_t)(4 * size / keys);
    if (parts < 2) parts = 2;
    return g->nodes < 2 * parts ? 0 : parts;
}

bool segments_refute(asg *g, const order_question *ask, asg *part, order_problem *p, decision *a)
{
    mem *m = g->m;
    uint32_t n, parts = segments_of(g, ask->rule);
    if (!parts) return false;
    void *begun = mem_get(m, 1);
    node_id *line = mem_array(m, node_id, (size_t)g->nodes + 1);
    bool found = false;
    if (line_up(g, ask->so, line, &n) && n >= 2 * parts) {
        const uint32_t *cross = crossings(g, line, n);
        members s = {.nodes = mem_array(m, node_id, (size_t)g->nodes + 1),
                     .fresh = mem_array(m, node_id, (size_t)g->nodes + 1)};
        for (uint32_t i = 1, from = 0, to; i <= parts; i++, from = to) {
            to = cut_near(cross, n, i, parts);
            assert(from <= to && to <= n);
            choose_members(g, line, from, to, &s);
            void *here = mem_get(m, 1);
            found = refute_members(g, ask, &s, part, p, a);
            if (found) break;
            mem_free_since(m, here);
            memset(a, 0, sizeof *a); /* it spoke of what was just freed */
        }
    }
    if (!found) mem_free_since(m, begun);
    return found;
}
