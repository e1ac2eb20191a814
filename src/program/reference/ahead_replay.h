/*
 * ahead_replay.h - the part of a replay in which every transaction reads the newest state.
 *
 * Most transactions of most logs do.  They need no snapshot of before, so that they are sent one
 * behind the other on one connection and their answers are compared later; an engine that is near
 * then works all the time instead of waiting for us.  If an answer differs, later ones have been
 * committed already: the replay begins again and is careful where it was wrong.
 */
#ifndef RATEL_REFERENCE_AHEAD_REPLAY_H
#define RATEL_REFERENCE_AHEAD_REPLAY_H

#include "reference/snapshot_replay.h"

/* Which positions have to be run one at a time, if any can do without. */
void ahead_choose(snapshot_replay *r);
/* The end of the stretch of positions from r->at on that can run ahead; r->at: there is none. */
uint32_t ahead_end(const snapshot_replay *r);
/* Runs the positions from r->at up to `to`.  true: all agree and have committed, and r->at is `to`.
   false: r->at did not agree, and the database is of no use any more. */
bool ahead_run(snapshot_replay *r, uint32_t to, run_outcome *o);

#endif
