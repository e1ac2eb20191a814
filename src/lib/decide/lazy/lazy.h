/*
 * lazy.h - serializability and snapshot isolation by a lazily written order problem.
 */
#ifndef RATEL_DECIDE_LAZY_LAZY_H
#define RATEL_DECIDE_LAZY_LAZY_H

#include "decide/decision.h"

/* conflicts: give up after that many; 0: never. */
void lazy_decide(order_problem *p, uint64_t conflicts, decision *a);

#endif
