/*
 * reorder.h - an order near the log's: commits that overlap may stand the wrong way round.
 */
#ifndef RATEL_AUDIT_REORDER_H
#define RATEL_AUDIT_REORDER_H

#include "audit/audit_search.h"

/* In the engine's mode.  FOUND_YES: e->order explains the log; FOUND_CUT: e->order is as it was. */
found repair_order(engine *e);

#endif
