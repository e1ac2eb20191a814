/*
 * single_operations.h - steps of judge.c for `linearizable`.
 */
#ifndef RATEL_VERDICT_SINGLE_OPERATIONS_H
#define RATEL_VERDICT_SINGLE_OPERATIONS_H

#include "decide/key_search.h"
#include "verdict/hearing.h"

/* When a transaction ran, and whether it surely did. */
key_op judge_moment_of(const history *h, txn_id t);

/* Is the search key by key worth trying?  (x->h is a history of key_sessions.h.) */
bool judging_by_key(const hearing *x);
/* True: x->found is the answer.  False: the general way is to be asked. */
bool judge_by_key(hearing *x);

#endif
