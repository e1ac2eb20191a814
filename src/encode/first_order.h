/*
 * first_order.h - a total order of the events that extends what is known and is close to what the
 * database did.
 */
#ifndef RATEL_ENCODE_FIRST_ORDER_H
#define RATEL_ENCODE_FIRST_ORDER_H

#include "ir/strong.h"
#include "solve/order.h"

/* pos[event], a linear extension of `known` (built from p->known).  False if it has a cycle. */
bool first_order(strong *p, const order_graph *known, uint32_t *pos);

#endif
