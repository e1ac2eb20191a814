/*
 * timed_orders.h - what no order explains that the times of a log allow.
 */
#ifndef RATEL_AUDIT_TIMED_ORDERS_H
#define RATEL_AUDIT_TIMED_ORDERS_H

#include "audit/replay.h"

/* Is there an answer that no order of the commits gives in which each commit lies between its call
   and its answer?  Then e->fail tells which one.  False: there may be such an order, or *why is the
   reason for which it cannot be told.  The store is lost, e->order is not. */
bool in_no_timed_order(engine *e, const char **why);

#endif
