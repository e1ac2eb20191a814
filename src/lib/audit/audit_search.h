/*
 * audit_search.h - the order of the transactions and the states they read: is there a way to
 * explain all?
 */
#ifndef RATEL_AUDIT_AUDIT_SEARCH_H
#define RATEL_AUDIT_AUDIT_SEARCH_H

#include "audit/replay.h"

typedef enum found { FOUND_YES, FOUND_NO, FOUND_CUT, FOUND_REFUSED } found;

/* A pass over e->order, in the engine's mode; the store is left at its end.  Looks at e->low and
   e->high: the states that each position may read. */
found search_replay(engine *e, bool back, uint32_t window);
/* The same without backtracking, with few states kept while that is enough. */
found search_quickly(engine *e, uint32_t window);
/* Frees e->low and e->high again of what they were set to. */
void search_windows(engine *e);

/* When it began and ended, on the log's clock; false if that is not known. */
bool search_interval(const engine *e, uint32_t txn, int64_t *begin, int64_t *end);
/* May two transactions change places, the first of which the log's order has before the other? */
bool search_may_swap(const engine *e, uint32_t early, uint32_t late);

/* Decides the log at the level; fills the answer. */
void search_decide(engine *e, audit_answer *a);

/* What is known of the first transaction that was not explained. */
void search_tell_failure(engine *e, audit_answer *a);

#endif
