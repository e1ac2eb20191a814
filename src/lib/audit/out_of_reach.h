/*
 * out_of_reach.h - sums and counts that no versions of the rows give.
 */
#ifndef RATEL_AUDIT_OUT_OF_REACH_H
#define RATEL_AUDIT_OUT_OF_REACH_H

#include "audit/replay.h"

/* Is the answer of the query one that no mixture of versions gives, each row at a state from `low`
   on?  Looks at the store as it is; the transaction must have nothing pending.  Of a transaction
   that writes, and of most queries, it says no. */
bool answer_out_of_reach(engine *e, uint32_t txn, uint32_t stmt, uint32_t low);

#endif
