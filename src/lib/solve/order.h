/*
 * order.h - the theory of acyclic graphs: a topological order kept up while edges come and go.
 *
 * Nodes 0..n-1 stand in a total order (pos).  Edges of three kinds: those of a borrowed base graph
 * that never change; fixed edges, added at level 0 for good; and edges of literals, inserted when
 * the literal becomes true and removed when it is undone.  Removal leaves the order as it is, so
 * after any search the order is a linear extension of what still holds, near the last one tried.
 *
 * Use it below a theory of your own (order_insert, order_moved, order_new_level, order_backtrack)
 * or as a theory by itself (order_theory).
 */
#ifndef RATEL_SOLVE_ORDER_H
#define RATEL_SOLVE_ORDER_H

#include "solve/solve.h"

typedef struct order order;

/* The edges that never change: node v has out[out_start[v] .. out_start[v + 1]), in likewise. */
typedef struct order_graph {
    const uint32_t *out_start, *out;
    const uint32_t *in_start, *in;
} order_graph;

typedef struct order_pair {
    uint32_t from, to;
} order_pair;

/* Makes both directions from a list of edges; the arrays belong to the region. */
void order_graph_build(mem *m, uint32_t nodes, const order_pair *pairs, size_t n, order_graph *out);
/* A first order of the graph, small numbers first where there is a choice of queueing; false if it
 * has a cycle. */
bool order_graph_sort(mem *m, uint32_t nodes, const order_graph *g, uint32_t *pos);

/* base may be NULL and is borrowed.  pos: the place of each node, a permutation that extends the
 * base graph; NULL: as numbered. */
order *order_new(mem *m, uint32_t nodes, const order_graph *base, const uint32_t *pos);
void order_free(order *o);

uint32_t order_add_node(order *o); /* placed last; it has no edges in the base graph */
uint32_t order_nodes(const order *o);
uint32_t order_pos(const order *o, uint32_t node);
uint32_t order_at(const order *o, uint32_t pos);
const uint32_t *order_positions(const order *o); /* pos by node, valid until a node is added */

static inline bool order_before(const order *o, uint32_t a, uint32_t b)
{
    return order_pos(o, a) < order_pos(o, b);
}

/* Declares an edge a -> b that stands while lit is true; several for one literal are all right.
 * Returns its id.  It is not inserted by this call. */
uint32_t order_edge(order *o, uint32_t lit, uint32_t a, uint32_t b);
/* The edges of a literal: first, then next, until UINT32_MAX. */
uint32_t order_first_edge(const order *o, uint32_t lit);
uint32_t order_next_edge(const order *o, uint32_t edge);
void order_edge_ends(const order *o, uint32_t edge, uint32_t *a, uint32_t *b);

/* ---- as a component ------------------------------------------------------------------------ */

/* All three return false when a cycle would close; nothing is inserted then and order_cycle tells
 * which.  order_fix is for level 0 only. */
bool order_insert(order *o, uint32_t edge);
bool order_assert(order *o, uint32_t lit); /* all edges of the literal, in turn */
bool order_fix(order *o, uint32_t a, uint32_t b);

/* The literals of the cycle's edges, the one that closed it included; a conflict clause is their
 * negation.  As few as can be: no cycle through the closing edge has fewer.  Valid until the next
 * insertion that fails. */
const uint32_t *order_cycle(const order *o, size_t *n);
/* The nodes of that cycle in order, beginning with the closing edge's target. */
const uint32_t *order_cycle_nodes(const order *o, size_t *n);

void order_new_level(order *o);
void order_backtrack(order *o, uint32_t level);

/* What insertions moved since the last order_moved_clear: each node once, with the place it had
 * then. */
typedef struct order_move {
    uint32_t node, was;
} order_move;
const order_move *order_moved(const order *o, size_t *n);
void order_moved_clear(order *o);

/* Is there a path from a to b of edges that stand?  Then one from b to a would close a cycle. */
bool order_leads(order *o, uint32_t a, uint32_t b);
/* A path of edges that stand, with the fewest literals: true if there is one, and then its
 * literals and nodes are those of order_cycle. */
bool order_path(order *o, uint32_t from, uint32_t to);

#define ORDER_WIDTHS 8u

/* Counters: insertions, those that needed a search, nodes visited, nodes moved, cycles; and the
 * cycles that the theory refused by how many literals they have: 1, 2, ..., the last ORDER_WIDTHS
 * and more. */
typedef struct order_stats {
    uint64_t insertions, searches, visited, moved, cycles, propagated;
    uint64_t width[ORDER_WIDTHS];
} order_stats;
const order_stats *order_statistics(const order *o);

int order_check(const order *o); /* O(size); 1 if the invariants hold */

/* ---- as a theory --------------------------------------------------------------------------- */

/* The literals' edges must have been declared, or be declared while the literal is unassigned.
 * With `propagate`, a literal whose edge would close a cycle with the edge just inserted is set
 * false (only cycles within the region searched anyway).  The theory's phases follow the order. */
const theory *order_theory(order *o, solver *s, bool propagate);

#endif
