/*
 * snapshot_replay.h - a log executed at snapshot isolation, one transaction at a time.
 *
 * Commits follow a given order.  A transaction runs whole at its place in that order, on one of the
 * snapshots that it may have had, the newest first; if every answer agrees, it commits.  Two never
 * write at the same time, so that none waits, and that the first committer wins is the engine's own
 * doing.
 */
#ifndef RATEL_REFERENCE_SNAPSHOT_REPLAY_H
#define RATEL_REFERENCE_SNAPSHOT_REPLAY_H

#include "reference/reference_engine.h"

typedef enum replay_end {
    REPLAY_AGREES,
    REPLAY_STUCK, /* `at` has no snapshot on which it agrees */
    REPLAY_PAUSED /* at `pause` */
} replay_end;

typedef struct tried_state {
    uint32_t state;
    run_outcome outcome;
} tried_state;

typedef struct replay_pin replay_pin;

typedef struct snapshot_replay {
    reference_engine *e;
    uint32_t n;
    uint32_t *order;      /* by position: the transaction */
    uint32_t *low, *high; /* by position: the states that it may read */
    uint32_t *until;      /* by state: the last position that may read it */
    bool serializable;    /* at SERIALIZABLE instead of REPEATABLE READ */
    bool newest_only;     /* serially: each reads the newest state */
    bool without_pins;    /* keep no older states: fast, and enough where the newest ones agree */
    bool other_choices;   /* also look whether other snapshots agree and write something else */
    bool oldest_first;    /* the oldest states that fit what was read so far are tried first */
    uint32_t pause;       /* the position to stop before; UINT32_MAX: none */
    uint32_t alone_from;  /* positions from here on are run one at a time */
    bool *alone;          /* by position: run one at a time (ahead_replay.h) */
    bool *differed;       /* by position: the newest state did not agree when it ran ahead */
    uint64_t lost_work;   /* positions that were run in vain because one of them differed */
    /* what came out */
    bool runs_ahead;        /* positions that are not alone run ahead */
    bool short_window;      /* some positions may have read older states than are kept */
    bool cut;               /* a snapshot was not there any more */
    bool picked;            /* a write that agreed may have chosen other rows */
    uint32_t at;            /* the position that was reached */
    uint32_t open_choice;   /* a transaction that may have written something else, or UINT32_MAX */
    VEC(tried_state) tried; /* of `at` */
    uint32_t *first_read;   /* by position: the state that it read */
    struct read_states *states; /* with oldest_first */
    replay_pin *pins;
    uint32_t *pin_of; /* by state: 1 + its pin, or 0 */
} snapshot_replay;

enum { REPLAY_PINS = 64 };

void replay_init(snapshot_replay *r, reference_engine *e);
/* The states that each position may read, and how long states are kept. */
void replay_windows(snapshot_replay *r);
/* From an empty database on.  Fails through the guard if the engine does. */
replay_end replay_run(snapshot_replay *r);
/* From where it paused on. */
replay_end replay_go_on(snapshot_replay *r);

/* The position has committed: notes writes for which the engine may have chosen rows. */
void replay_note_picks(snapshot_replay *r, uint32_t i);

/* What real time says: was x seen for certain by p's snapshot, may it have been? */
bool surely_seen(const audit_schedule *plan, uint32_t x, uint32_t p);
bool perhaps_seen(const audit_schedule *plan, uint32_t x, uint32_t p);

#endif
