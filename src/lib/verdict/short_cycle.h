/*
 * short_cycle.h - the shortest cycle of what is certain in a small history.
 */
#ifndef RATEL_VERDICT_SHORT_CYCLE_H
#define RATEL_VERDICT_SHORT_CYCLE_H

#include "order/order_problem.h"

#define LOOP_MOST 256u /* transactions; above that nobody reads the cycle anyway */

typedef VEC(step) step_list;

/* Closes the known edges of the order problem under what reads (and, for snapshot isolation,
   overlaps) make certain, to the end; if that is a contradiction, a cycle of the fewest
   transactions.  plain: the same without version orders that were derived, which says better what
   kind of cycle it is; empty if there is none.  False: no contradiction, or too
   many transactions. */
bool loop_find(asg *g, const order_question *ask, step_list *out, step_list *plain);

#endif
