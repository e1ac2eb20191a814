/*
 * single_operations.h - steps of judge.c for `linearizable`.
 */
#ifndef RATEL_VERDICT_SINGLE_OPERATIONS_H
#define RATEL_VERDICT_SINGLE_OPERATIONS_H

#include "verdict/hearing.h"

/* Is the search key by key worth trying?  (x->h is a history of key_sessions.h.) */
bool judging_by_key(const hearing *x);
/* True: x->found is the answer.  False: the general way is to be asked. */
bool judge_by_key(hearing *x);

#endif
