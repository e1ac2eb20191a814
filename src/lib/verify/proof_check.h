/*
 * proof_check.h - the steps of a proof that a level is violated (private to the room).
 */
#ifndef RATEL_VERIFY_PROOF_CHECK_H
#define RATEL_VERIFY_PROOF_CHECK_H

#include "opt/proof_step.h"
#include "verify/certificate_parse.h"
#include "verify/recheck.h"

typedef struct prover prover;

/* NULL, with the reason in *why, if no proof can be given at this level.  c is borrowed. */
prover *prover_new(mem *m, const history *h, const claim *c, const char **why);
/* Reads the arguments of one step and adds its clause; false, with the reason, if it is none. */
bool prover_step(prover *x, parser *p, enum proof_step kind);
/* Was the last clause the empty one? */
bool prover_done(const prover *x);

/* read_sources.c: what a read can have seen. */
typedef struct sources {
    checker *c;
    value_id *unwritten; /* per key of unknown initial value: what was read and nobody wrote;
                            FREE: nothing was */
    uint8_t *two;        /* two such values: then there is no execution at all */
    uint8_t *mixed;      /* per key: a list that is not only appended to */
    uint8_t *whole;      /* per key: somebody wrote a whole list, which names no appender */
} sources;

/* How w can have left a content of a list key: not at all; wherever it stood; if the version right
   before it had that content less w's appends; or, of the initial state, if it is unknown. */
enum left_how { LEFT_NOT, LEFT_SURELY, LEFT_APPENDED, LEFT_FIRST };

void sources_load(sources *s, checker *c);
/* What operation o of t returned for k; false if it did not read k. */
bool source_value(const sources *s, txn_id t, op_id o, key_id k, value_id *x);
enum source_kind {
    SOURCE_INTERNAL, /* explained by t's own writes: no obligation */
    SOURCE_NONE,     /* nothing explains it */
    SOURCE_ONE,      /* *one: the only candidate, NO_ID for the initial state */
    SOURCE_MANY,
    SOURCE_UNSURE /* a list of which the candidates are not known */
};
enum source_kind source_of(sources *s, txn_id t, op_id o, key_id k, value_id x, txn_id *one);
/* w, not aborted, or NO_ID for the initial state.  LEFT_APPENDED: *before is how many elements of x
   are not w's. */
enum left_how source_left(const checker *c, key_id k, seq x, txn_id w, uint32_t *before);
/* Takes t's own appends off x, the list k that it read at o; *own: there are some.  False: it does
   not end with these. */
bool source_external(const checker *c, txn_id t, op_id o, key_id k, seq *x, bool *own);
/* The next transaction, from write *at + 1 on, that can have left content x of list k. */
txn_id source_leaver(const checker *c, key_id k, seq x, uint32_t *at);
/* Is w (NO_ID: the initial state) a candidate? */
bool source_may(const sources *s, txn_id t, op_id o, key_id k, value_id x, txn_id w);
/* The next candidate that is a transaction, from write *at + 1 on (0: the first); NO_ID: none. */
txn_id source_next(const sources *s, txn_id t, op_id o, key_id k, value_id x, uint32_t *at);
/* Some read of t can be explained by nothing. */
bool source_faulty(sources *s, txn_id t);
/* Read uncommitted: t shows a value that nobody wrote; or, of its list x of k, that
   committed a is before b (t itself, if it read behind its own appends). */
bool source_garbage(sources *s, txn_id t);
bool source_uncommitted(sources *s, txn_id t, op_id o, key_id k, value_id x, txn_id a, txn_id b);
/* The place of the first element in list x of k that only t appended, from 1; 0: none.
   UINT32_MAX: k is no list to which this applies. */
uint32_t source_shown(sources *s, key_id k, value_id x, txn_id t);
/* Does t append to k something that the list x does not show? */
bool source_missing(sources *s, key_id k, value_id x, txn_id t);

/* exhaust.c: true if no order of the transactions (few of them) satisfies the level. */
bool exhaust(checker *c, sources *s, const char **why);

#endif
