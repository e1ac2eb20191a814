/*
 * read_sets.h - where in the order of the others may a transaction stand?  All versions known.
 *
 * Given what each transaction wrote and that the versions of a row come in the order of the
 * commits, a transaction's place decides which version of each row it reads.  For each statement
 * the sets of versions that give what was observed are found by trying them all: choices, each a
 * conjunction of "after the writer of this version, before the writer of the next".  What is left
 * out of account (keys that are taken) makes the choices more, never fewer: that they contradict
 * each other is a proof.
 */
#ifndef RATEL_AUDIT_READ_SETS_H
#define RATEL_AUDIT_READ_SETS_H

#include "audit/replay.h"

#define LAST_STATE UINT32_MAX

typedef struct span { /* versions of a row: from the one of state `from` up to, not with, `to` */
    const table *t;
    uint32_t row, from, to;
} span;

typedef struct option_set { /* one way to explain a statement */
    uint32_t stmt;
    VEC(span) spans;
} option_set;

typedef struct told_edge { /* of the way that the replay took */
    uint32_t from, to;     /* positions */
    uint32_t stmt, table, row;
    const char *kind;
} told_edge;

typedef struct exact {
    bool cut;             /* not all ways were tried, or a statement is not understood alone */
    bool other_writes;    /* it explains the log as well with other writes */
    VEC(option_set) ways; /* by statement; statements that any state explains have none */
    VEC(told_edge) told;
} exact;

/* The store holds every state.  `snapshot`: the state that the transaction at the position reads
   in the replay.  Takes at most *budget runs, and counts it down. */
void exact_find(engine *e, uint32_t position, uint32_t snapshot, uint64_t *budget, exact *out);
void exact_free(engine *e, exact *x);
/* The table's name and the row's key. */
const char *exact_row_name(engine *e, uint32_t table, uint32_t row);

#endif
