/*
 * lazy.h - serializability and snapshot isolation by a lazily written order problem.
 */
#ifndef RATEL_DECIDE_LAZY_LAZY_H
#define RATEL_DECIDE_LAZY_LAZY_H

#include "decide/decision.h"

/* conflicts: give up after that many; 0: never. */
void lazy_decide(order_problem *p, uint64_t conflicts, decision *a);

/* Turns the places of the events of an answer that holds into the order of the commits. */
void lazy_commit_order(const order_problem *p, decision *a);

/* innodb_search.c: read-committed of whole transactions without session order, by a search; *p is
   the problem that it makes.  What is settled may be NULL (order_question). */
void whole_decide(order_problem *p, asg *g, const tuning *tune, const uint8_t *present,
                  const value_id *initial, decision *a);

#endif
