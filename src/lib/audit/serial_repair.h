/*
 * serial_repair.h - replays a serial order, and mends it where a transaction does not fit.
 */
#ifndef RATEL_AUDIT_SERIAL_REPAIR_H
#define RATEL_AUDIT_SERIAL_REPAIR_H

#include "audit/audit_search.h"
#include "audit/depend.h"

typedef struct serial_nodes { /* transactions in the order of a replay of the commits */
    uint32_t n;
    const uint32_t *txn;   /* by node */
    const uint32_t *state; /* by node: it has seen what the nodes below this number wrote */
} serial_nodes;

/* `at`, an order of the nodes that the edges allow, becomes one that replays serially, with all
   edges kept: FOUND_YES, and the engine's order is it.  Else *stuck is a node that does not fit
   where it stands, and could not be moved. */
found serial_repair(engine *e, const serial_nodes *nodes, const pair_list *edges, uint32_t *at,
                    uint32_t *stuck);

#endif
