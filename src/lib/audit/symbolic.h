/*
 * symbolic.h - deciding the log in its order with partially symbolic states.
 *
 * Where the concrete search would have to try exponentially many choices of states: the choices
 * stay open, values become guarded (symbolic_fm.h), and answers become conditions on the choices.
 * A solution is replayed by the engine before it counts; a contradiction names the first statement
 * up to which there is none.
 */
#ifndef RATEL_AUDIT_SYMBOLIC_H
#define RATEL_AUDIT_SYMBOLIC_H

#include "audit/audit_search.h"

/* FOUND_CUT: not decided, e->symbolic_why says why. */
found symbolic_decide(engine *e);
/* Read committed: can the transaction that was not explained be explained in no order? */
bool symbolic_in_no_order(engine *e);

#endif
