/*
 * forced_states.h - finds violations of statement-snapshot in logs whose states leave no choice.
 *
 * Every write of such a log is an UPDATE of the rows that one column chooses, which nothing ever
 * changes, or an INSERT of constants.  What it does depends on no snapshot: it works on the last
 * committed version of its rows, whose writers follow one another as their commits do.  So a serial
 * execution in the order of the commits makes the only states that there can have been.
 */
#ifndef RATEL_REFERENCE_FORCED_STATES_H
#define RATEL_REFERENCE_FORCED_STATES_H

#include "reference/snapshot_doubts.h"

/* A violation, or `undecided` with the reason why none is shown; never `holds`. */
/* `agreed`: so many positions agree when the log is executed serially, as far as is known. */
reference_finding decide_forced_states(snapshot_replay *r, uint32_t agreed);
/* Do all values that the engine chooses go into tables that no statement looks at? */
bool texts_draw_unseen(const reference_engine *e);

#endif
