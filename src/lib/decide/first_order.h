/*
 * first_order.h - a total order of the events that extends what is known and is close to what the
 * database did.
 */
#ifndef RATEL_DECIDE_FIRST_ORDER_H
#define RATEL_DECIDE_FIRST_ORDER_H

#include "decide/lazy/lazy.h"
#include "solve/order.h"

/* What reaches what through session order (where it counts), read-from and known version order:
   for each transaction and chain, the last member of the chain that reaches it. */
typedef struct reach {
    void **row;             /* per block of 1 << shift chains: rows of `width` entries */
    uint32_t **number;      /* ... and each transaction's row; NULL: row v is that of v */
    uint32_t blocks, width; /* width: less than the block if there are few chains */
    uint32_t bytes, shift;  /* bytes of an entry: 1, 2 or 4 */
    uint32_t *chain, *place;
    bool wanted; /* also where client times give the order, which else is all that is needed */
} reach;

/* Does a precede b, as far as is known?  Without clocks (r->blocks 0): false, "not known". */
static inline bool reaches(const reach *r, node_id a, node_id b)
{
    if (!r->blocks) return false;
    uint32_t c = r->chain[a], block = c >> r->shift;
    if (block >= r->blocks) return false;
    const void *row = r->row[block];
    uint32_t number = r->number ? r->number[block][b] : b;
    size_t at = (size_t)number * r->width + (c & ((1u << r->shift) - 1));
    uint32_t last = r->bytes == 1   ? ((const uint8_t *)row)[at]
                    : r->bytes == 2 ? ((const uint16_t *)row)[at]
                                    : ((const uint32_t *)row)[at];
    return last >= r->place[a];
}

void reach_free(mem *m, reach *r);
/* Gives back the arrays of order_graph_build. */
void first_order_free(mem *m, order_graph *g);

/* Fills pos[event], a linear extension of `known`, which was built from p->known; false if it has a
   cycle.  *r is zeroed before the first call and handed in again after more became known. */
bool first_order(order_problem *p, const order_graph *known, uint32_t *pos, reach *r);
/* The same with a guess of the caller's: small keys first, where the graph leaves a choice. */
bool first_order_by(order_problem *p, const order_graph *known, const uint64_t *key, uint32_t *pos);
/* The known graph has a cycle: finds one, and makes it the answer. */
void answer_known_cycle(order_problem *p, const order_graph *known, decision *a);

#endif
