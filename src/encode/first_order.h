/*
 * first_order.h - a total order of the events that extends what is known and is close to what the
 * database did.
 */
#ifndef RATEL_ENCODE_FIRST_ORDER_H
#define RATEL_ENCODE_FIRST_ORDER_H

#include "encode/lazy.h"
#include "solve/order.h"

/* What reaches what through session order (where it counts), read-from and known version order:
   for each transaction and chain, the last member of the chain that reaches it. */
typedef struct reach {
    uint32_t **row; /* per block of REACH_WIDTH chains: that many entries a transaction */
    uint32_t blocks;
    uint32_t *chain, *place;
} reach;
#define REACH_WIDTH 32u

/* Does a precede b, as far as is known?  Without clocks (r->blocks 0): false, "not known". */
static inline bool reaches(const reach *r, node_id a, node_id b)
{
    if (!r->blocks) return false;
    uint32_t c = r->chain[a], block = c / REACH_WIDTH;
    return block < r->blocks &&
           r->row[block][(size_t)b * REACH_WIDTH + c % REACH_WIDTH] >= r->place[a];
}

void reach_free(mem *m, reach *r);
/* Gives back the arrays of order_graph_build. */
void first_order_free(mem *m, order_graph *g);

/* pos[event], a linear extension of `known` (built from p->known).  False if it has a cycle. */
bool first_order(strong *p, const order_graph *known, uint32_t *pos, reach *r);
/* The known graph has a cycle: finds one, and makes it the answer. */
void answer_known_cycle(strong *p, const order_graph *known, lazy_answer *a);

#endif
