/*
 * read_states.h - do the snapshots that a replay chose have moments that fit together?
 *
 * The windows of a replay hold each snapshot against the commits.  Two snapshots are held against
 * each other here: one that was asked for after another one's answer is no older.
 */
#ifndef RATEL_REFERENCE_READ_STATES_H
#define RATEL_REFERENCE_READ_STATES_H

#include "reference/snapshot_replay.h"

/* The newest states that snapshots read whose answers came before a moment: a tree over the answers
   in their order. */
typedef struct read_states {
    uint64_t *answer; /* sorted keys */
    uint32_t n;
    uint32_t *tree;
} read_states;

void read_states_init(read_states *t, const snapshot_replay *r);
/* The position has read this state. */
void read_states_note(read_states *t, const snapshot_replay *r, uint32_t position, uint32_t state);
/* The oldest state that the position may read, for those that were noted. */
uint32_t read_states_least(const read_states *t, const snapshot_replay *r, uint32_t position);
void read_states_free(read_states *t, const snapshot_replay *r);

/* Of a replay that agrees. */
bool snapshots_fit(const snapshot_replay *r);

#endif
