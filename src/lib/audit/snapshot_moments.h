/*
 * snapshot_moments.h - do the snapshots of a replay have moments that fit together?
 */
#ifndef RATEL_AUDIT_SNAPSHOT_MOMENTS_H
#define RATEL_AUDIT_SNAPSHOT_MOMENTS_H

#include "audit/replay.h"

/* Does the level hold snapshots to real time? */
static inline bool moments_matter(const engine *e)
{
    return e->level.strict && e->level.mode == MODE_SNAPSHOT && e->run.mode == MODE_SNAPSHOT;
}
/* The trial's run at the position succeeded and its writes are pending: collects the states that
   explain the answers with the same writes (t->spans).  Leaves the writes pending as they were. */
void moments_collect(engine *e, trial *t, uint32_t position);
/* Chooses the state that each position reads (e->order.first_read).  `trials` have spans, by
   position; without them each position may read what its run says is the same, and the transactions
   are those of e->order.  False if no choice fits; *late is a position then that would have to read
   a newer state than explains it, *early one whose snapshot was answered before it began. */
bool moments_fit(engine *e, const trial *trials, uint32_t n, uint32_t *early, uint32_t *late);

#endif
