/*
 * depend.h - dependencies between transactions, as a replay at snapshots shows them.
 *
 * Positions of the order are nodes.  A transaction comes after the writers of what it read and what
 * it replaced, and before the writer of the next version of what it read, or of a version that made
 * a row fit which it had left out.  Each edge but those between versions rests on the reads of one
 * transaction, its owner.  That a later writer makes a row fit is not seen here, nor what is far
 * apart in the order.  Edges too many or too few do no harm: an order is replayed before it counts,
 * and a cycle is not believed (serial_order.c).
 */
#ifndef RATEL_AUDIT_DEPEND_H
#define RATEL_AUDIT_DEPEND_H

#include "audit/replay.h"
#include "solve/order.h"

#define NO_OWNER UINT32_MAX

typedef VEC(order_pair) pair_list;

typedef struct depend {
    engine *e;
    pair_list edges;
    VEC(uint32_t) owners;      /* of the edges */
    uint32_t *mark;            /* by node: the last one that got an edge from it, + 1 */
    struct reader_list *lists; /* by table */
    size_t n_lists;
    struct reader *ring; /* readers of the newest version of a row; the oldest are forgotten */
    uint64_t next;
} depend;

void depend_init(depend *d, engine *e);
void depend_free(depend *d);
/* For engine.commits: the transaction at the position is about to commit. */
void depend_commit(void *depend, uint32_t position);

/* Nodes 0..n-1 in an order of the edges, as little moved as can be; false if there is a cycle:
   `left` has a flag for each node that is on one. */
bool depend_sort(mem *m, uint32_t n, const order_pair *pairs, size_t n_pairs, uint32_t *sorted,
                 bool *left);
void depend_graph_free(mem *m, order_graph *g);

#endif
