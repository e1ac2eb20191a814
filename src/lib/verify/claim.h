/*
 * claim.h - what an answer claims about a history, in the history's own terms.
 *
 * The room verify re-proves claims and reads certificates.  It knows histories and the names of
 * levels, and nothing of the code that decides: no header of asg, ir, encode, solve or verdict is
 * reached from here (tool/check-layers).
 */
#ifndef RATEL_VERIFY_CLAIM_H
#define RATEL_VERIFY_CLAIM_H

#include "history/history.h"
#include "opt/level.h"
#include "opt/anomaly.h"

enum outcome { OUTCOME_UNDECIDED, OUTCOME_HOLDS, OUTCOME_VIOLATED };

typedef struct cycle_link {
    txn_id from, to;
    const char *edge; /* "so", "wr", "ww", "rw" */
    key_id key;       /* NO_ID: none */
} cycle_link;

/* What one read saw, where the trace leaves a choice. */
typedef struct chosen {
    op_id op;
    key_id key;
    txn_id writer; /* NO_ID: the initial state */
} chosen;

typedef VEC(cycle_link) cycle_links;
typedef VEC(txn_id) txn_ids;
typedef VEC(chosen) chosen_reads;

/* A part of a transaction: its snapshot (op NO_ID), or its current statements from op on. */
typedef struct order_point {
    txn_id txn;
    op_id op;
} order_point;
typedef VEC(order_point) point_order;

/* A place in an order of events: at, enum added_at, says of what (history/additions.h). */
typedef struct ordered_event {
    uint32_t of, at;
} ordered_event;
typedef VEC(ordered_event) event_order;

typedef struct claim {
    level_ref level;
    bool session_order;
    enum ryow ryow;
    int64_t drift;
    enum outcome outcome;

    /* holds: a commit order of the transactions that take part, and what open reads saw */
    const txn_id *order;
    uint32_t ordered;
    chosen_reads choices;
    /* InnoDB's levels: the order above is read-committed; these are the parts in an order of their
       own, with what open reads saw along it; none: the order above serves for both */
    point_order points;
    chosen_reads point_choices;
    /* Under what modules added (history.assumed): every event in its place, begins and helper
       points too; commits stand as in the order above. */
    event_order events;

    /* violated */
    uint32_t anomaly; /* enum anomaly */
    const char *reason;
    cycle_links cycle;
    txn_ids core;
    /* By the database's timestamps; if violated: the read at_op of at_key, or, without operation,
       core[0] and core[1] overlap at at_key, or, without key, their session runs backwards. */
    bool trusted;
    op_id at_op;
    key_id at_key;
    /* The level is that of a text; `level` is read-committed then, and counts only for how the
       order is read. */
    const struct iso_level *definition;
    const char *through; /* the weaker level whose violation decided it, or NULL */
} claim;

/* The reason, if nobody knows because looking would take too long. */
extern const char claim_too_large[];
/* True if the claim stands on the history; else *why says what is wrong. */
/* The same of a claim by the database's timestamps, at serializable or snapshot-isolation. */
bool claim_trusted(const claim *c, const history *h, mem *m, const char **why);
bool claim_recheck(const claim *c, const history *h, mem *m, const char **why);
/* aborted_parts.c: the recorded history h with the reads of its aborted transactions (H-9), in
   m. */
const history *verify_aborted_parts(const history *h, mem *m);

#endif
