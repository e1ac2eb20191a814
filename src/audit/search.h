/*
 * search.h - the order of the transactions and the states they read: is there a way to explain all?
 */
#ifndef RATEL_AUDIT_SEARCH_H
#define RATEL_AUDIT_SEARCH_H

#include "audit/engine.h"

typedef enum found { FOUND_YES, FOUND_NO, FOUND_CUT, FOUND_REFUSED } found;

/* Decides the log at the level; fills the answer. */
void search_decide(engine *e, audit_answer *a);

/* What is known of the first transaction that was not explained. */
void search_tell_failure(engine *e, audit_answer *a);

#endif
