/*
 * schedule_replay.h - a log executed as it happened: statements are sent in the order in which the
 * clients sent them, and one that waits for a lock lets the others go on.
 *
 * Transactions that were rolled back run, too, for the locks that they held.  If the engine gives
 * every answer, the level that it was asked for holds; if not, nothing is shown: another order of
 * statements that overlap may explain the log.
 */
#ifndef RATEL_REFERENCE_SCHEDULE_REPLAY_H
#define RATEL_REFERENCE_SCHEDULE_REPLAY_H

#include "reference/snapshot_doubts.h"

reference_finding decide_as_sent(snapshot_replay *r);
/* Is a transaction explained, whose answers no snapshot explains?  Of a long log only what is
   around it is executed as it was sent, and what had committed before, one after the other. */
bool agrees_as_sent(snapshot_replay *r, uint32_t txn);

#endif
