/*
 * added_search.h - the clauses and choices of modules (order/added_order.h) as obligations of the
 * lazy strategy.
 */
#ifndef RATEL_DECIDE_LAZY_ADDED_SEARCH_H
#define RATEL_DECIDE_LAZY_ADDED_SEARCH_H

#include "decide/lazy/lazy_state.h"

void added_start(lazy *z);
/* Statements that leave no choice are given to the solver before it starts. */
void added_write(lazy *z);
/* An event of v has moved, or v has begun or ceased to take part. */
void added_moved(lazy *z, node_id v);
/* Is a choice broken by the current order?  Then *answer is what cb_decide returns. */
bool added_mend(lazy *z, uint32_t *answer);
bool added_clean(const lazy *z);
/* For lazy_check(): are all choices that do not wait to be looked at met by the order? */
bool added_at_rest(const lazy *z);

#endif
