/*
 * key_state.h - the contents of a key as a value that operations change: a scalar, a list, or
 * nothing.  For the exhaustive searches of small histories.
 *
 * Appending to a scalar makes a list of the two (no source says otherwise).
 */
#ifndef RATEL_DECIDE_EXHAUSTIVE_KEY_STATE_H
#define RATEL_DECIDE_EXHAUSTIVE_KEY_STATE_H

#include "asg/asg.h"

typedef struct version {
    bool scalar; /* `list` has one element, which is not a list's */
    VEC(value_id) list;
} version;

/* Does the operation write the key (write, delete or append that did not fail)? */
bool version_writes(const history *h, op_id o, key_id k);
/* The same, or written by an aborted transaction that takes part with its reads: it is never
   installed. */
bool version_written(const history *h, op_id o, key_id k);
void version_apply(asg *g, version *x, op_id o);
void version_load(asg *g, version *x, value_id v);
/* Is x what is left of y without its last `drop` elements? */
bool version_same(const version *x, const version *y, size_t drop);

/* What the reader did to the key before the read: nothing, only appends (then `own` holds them),
   or it set it (then `own` is what it must see). */
enum own { OWN_NOTHING, OWN_APPENDS, OWN_SETS };
enum own version_own(asg *g, uint32_t ob, version *own);

#endif
