/*
 * find_argument.h - from a violation to an argument about few transactions.
 *
 * The room explain argues about transactions that it is given; which ones is decided here, in three
 * steps: those that the answer names; if they do not show it, few that are violated by themselves
 * (narrow.h); and if there are no such few, those that the answer names with all that have to do
 * with them.
 */
#ifndef RATEL_VERDICT_FIND_ARGUMENT_H
#define RATEL_VERDICT_FIND_ARGUMENT_H

#include "explain/explain.h"
#include "verdict/verdict.h"

/* v: an answer, of h.  Fills *e, in m; there is no argument if v is no violation.  keep and work
   are empty regions for narrowing, which the caller frees: a limit may strike at any time. */
void find_argument(explanation *e, mem *m, const verdict *v, const history *h, mem *keep,
                   mem *work);

#endif
