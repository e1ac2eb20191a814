/*
 * chosen_draws.h - values that PostgreSQL chooses (sequences, clocks, random numbers), bound to
 * what the log shows of them.
 *
 * Before a log is replayed it is executed once with values that mark where they come from.  Where
 * an answer shows a mark, the log has the value in its place: that is the first observation.  From
 * then on the same draw of the same statement gets that value.  Draws that nobody saw stay marks.
 */
#ifndef RATEL_REFERENCE_CHOSEN_DRAWS_H
#define RATEL_REFERENCE_CHOSEN_DRAWS_H

#include "reference/reference_engine.h"

/* Executes the log up to a few times and keeps what it learns in e->draws_known; afterwards
   e->draws is NULL if every value that was drawn is known from the very answer of its statement. */
void draws_observe(reference_engine *e);
/* The text of a statement that gives the next one of the log its values; NULL: it has none. */
const char *draws_given(const reference_engine *e, uint32_t txn, uint32_t stmt);
bool draws_are_given(const reference_engine *e, uint32_t txn, uint32_t stmt);
/* Makes and names the functions that stand in for the engine's; false: the engine refuses. */
bool draws_prepare(reference_engine *e, engine_conn *c);
/* After the setup: defaults draw from them, too. */
bool draws_adapt(reference_engine *e, engine_conn *c);
/* The text with functions in the place of keywords such as CURRENT_TIMESTAMP. */
const char *draws_text(reference_engine *e, const char *text, size_t n);

#endif
