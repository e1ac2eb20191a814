/*
 * turns.h - the stepwise schedule of a run: one call at a time, of a session that the seed chooses.
 *
 * A session has the turn from when it is chosen until its next call of the database has returned or
 * waits for another session; then it waits to be chosen again.  So everything that sessions do
 * besides, drawing from a workload and recording, happens one after the other as well.
 *
 * Whether a call waits is what the adapter says (`waits`), or for engines within this process what
 * the kernel says of the thread, or else that there is no answer within TURNS_GRACE_MS.
 */
#ifndef RATEL_WORK_TURNS_H
#define RATEL_WORK_TURNS_H

#include "driver/driver.h"

enum { TURNS_GRACE_MS = 100 };

typedef struct turns turns;

/* For so many sessions, which all have the turn until they first wait for it; NULL: d->error says
   why.  d->stepped was set before the tables were made. */
turns *turns_open(db *d, uint32_t sessions, uint64_t seed);
/* After all sessions have left. */
void turns_close(turns *t);

/* Before a call: waits until this session is chosen, unless it has been. */
void turns_take(turns *t, uint32_t session, const db_session *at);
/* After the call: waits until the session is chosen again.  `frees`: the call may have ended a
   transaction, for which others may have waited.  Returns the number of the answer, which counts as
   turns_ticks does; of a call that waited it is that of when the session was chosen. */
uint64_t turns_back(turns *t, uint32_t session, bool frees);
/* The session makes no more calls. */
void turns_leave(turns *t, uint32_t session);
/* How many calls have been sent and answered so far: a clock that a seed repeats. */
uint64_t turns_ticks(turns *t);
/* Did the last call of this session wait for another one? */
bool turns_waited(turns *t, uint32_t session);

#endif
