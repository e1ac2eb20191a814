/*
 * audit_search.h - the order of the transactions and the states they read: is there a way to
 * explain all?
 */
#ifndef RATEL_AUDIT_AUDIT_SEARCH_H
#define RATEL_AUDIT_AUDIT_SEARCH_H

#include "audit/replay.h"

#define FREE_ORDER 10u /* transactions of which every order is tried */

typedef enum found {
    FOUND_YES,
    FOUND_NO,     /* and nothing was left out */
    FOUND_CUT,    /* not found, but something was left out */
    FOUND_REFUSED /* a statement is not understood */
} found;

/* A replay of e->order in the engine's mode; the store is left at its end.  Looks at e->order.low
   and high: the states that each position may read. */
found search_replay(engine *e, bool back, uint32_t window);
/* The same without backtracking, with few states kept while that is enough. */
found search_quickly(engine *e, uint32_t window);

/* Decides the log at the level; fills the answer. */
void search_decide(engine *e, audit_answer *a);

#endif
