/*
 * snapshot_doubts.h - decides a log at a snapshot level by replays, and doubts every failure.
 *
 * A replay that agrees from end to end shows that the level holds.  One that gets stuck shows
 * nothing yet: perhaps two commits that overlap stand the wrong way round, perhaps an earlier
 * transaction wrote something else on another snapshot, perhaps the engine chose differently.
 */
#ifndef RATEL_REFERENCE_SNAPSHOT_DOUBTS_H
#define RATEL_REFERENCE_SNAPSHOT_DOUBTS_H

#include "reference/snapshot_replay.h"

typedef enum reference_end {
    REFERENCE_HOLDS,
    REFERENCE_VIOLATED,
    REFERENCE_UNDECIDED
} reference_end;

typedef struct reference_finding {
    reference_end end;
    const char *why;  /* undecided: a sentence; else NULL */
    uint32_t txn;     /* that was not explained, or UINT32_MAX */
    bool other_order; /* it holds, but not in the log's order */
    bool all_orders;
} reference_finding;

/* `r` has been initialised; afterwards its order and `tried` belong to the finding. */
reference_finding decide_snapshots(snapshot_replay *r);
/* Did all commits before the position follow one another, as their times say? */
bool commits_are_apart(const snapshot_replay *r, uint32_t upto);
/* Why a replay that is stuck says nothing of the database, or NULL. */
const char *why_no_violation(const snapshot_replay *r);

#endif
