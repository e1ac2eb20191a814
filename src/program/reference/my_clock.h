/*
 * my_clock.h - the clock of MariaDB's statements (NOW(), CURRENT_TIMESTAMP, defaults), bound to
 * what a log shows of it.
 *
 * Each statement that may look at the clock is executed once with a time of its own, a mark.  Where
 * an answer shows a mark, the log has the value: that statement gets it from then on by
 * SET timestamp.  What nobody saw, the engine chooses.
 */
#ifndef RATEL_REFERENCE_MY_CLOCK_H
#define RATEL_REFERENCE_MY_CLOCK_H

#include "reference/reference_engine.h"

/* Executes the committed transactions once, serially. */
void my_clock_observe(reference_engine *e);
/* Gives the next statement of a connection its time, or the server's. */
void my_clock_give(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt);

#endif
