/*
 * slot_search.h - lists with repeated elements in the search (asg/list_slots.h).
 */
#ifndef RATEL_DECIDE_LAZY_SLOT_SEARCH_H
#define RATEL_DECIDE_LAZY_SLOT_SEARCH_H

#include "asg/list_slots.h"
#include "decide/lazy/lazy_state.h"

/* Does nothing unless there are such lists. */
void slots_start(lazy *z);
/* Writes all clauses; after the outcomes have their literals. */
void slots_write(lazy *z);
/* Is the obligation a read of such a list? */
bool slots_own(const lazy *z, uint32_t ob);
/* Queues all such reads, since choices may have been undone; false if nothing has changed. */
bool slots_look_again(lazy *z);
/* The read, of a list, is satisfied as long as that candidate is chosen; moves wake it. */
void slots_hold(lazy *z, uint32_t ob, uint32_t cand);
/* The read has no source yet: a literal that covers the first element that nothing covers. */
uint32_t slots_cover(lazy *z, uint32_t ob);
/* Is an element not covered yet, with nothing queued?  *answer as cb_decide's. */
bool slots_broken(lazy *z, uint32_t *answer);
bool slots_clean(const lazy *z);
/* What the lists of unknown initial content held at first, in the current assignment, in the form
   of order_question.initial; adds the true literals that say so to lits[*n..]. */
void slots_initial_chosen(const lazy *z, value_id *value, uint32_t *lits, size_t *n);
/* How many literals that may be. */
size_t slots_initial_lits(const lazy *z);
/* At most one of the literals is true. */
void slots_at_most_one(lazy *z, const uint32_t *lits, size_t n);

#endif
