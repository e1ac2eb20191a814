/*
 * serial_order.h - `serializable`: is there a serial order, though it is not that of the commits?
 */
#ifndef RATEL_AUDIT_SERIAL_ORDER_H
#define RATEL_AUDIT_SERIAL_ORDER_H

#include "audit/audit_search.h"

/* FOUND_YES: e->order replays serially.  FOUND_NO: no serial order in which the versions of each
   row come in the order of the commits; the answer tells the cycle, and whether that rests on the
   writes being those of the replay.  FOUND_CUT: `why` says what is missing. */
found serial_order(engine *e, audit_answer *a, const char **why);

#endif
