/*
 * aborted_readers.h - a history in which aborted transactions take part with their reads.
 *
 * Levels speak of committed transactions only, and opacity asks more: what an aborted transaction
 * read must fit, too (doc/levels.md H-9).  In the history that is made here such a transaction is a
 * committed one whose writes are local (OP_LOCAL): it alone sees them, and none is installed.
 * Transactions and operations keep their numbers, so an answer about the one is one about the
 * other.
 *
 * Of a list, a read after own appends shows the version before the transaction with these appends
 * at its end.  Nothing of an aborted transaction is in a version, so here the read is one of what
 * stood before: its value is cut.  A read that does not end with the own appends is marked
 * OP_LOCAL.
 */
#ifndef RATEL_HISTORY_ABORTED_READERS_H
#define RATEL_HISTORY_ABORTED_READERS_H

#include "history/history.h"

/* In the region m; shares the arrays of h, which must outlive it.  h itself if nothing aborted, or
   if it was made so already.
   Fails with GUARD_UNSUPPORTED if an aborted transaction reads a list that it replaced. */
const history *aborted_readers(const history *h, mem *m);

/* Of a history that was made so: the one that it was made of.  Others: themselves. */
static inline const history *history_as_recorded(const history *h)
{
    return h->recorded ? h->recorded : h;
}
/* Did the transaction abort, and takes part with its reads alone? */
static inline bool txn_reads_only(const history *h, txn_id t)
{
    return h->recorded && txn_status_of(h->recorded, t) == TXN_ABORTED;
}

#endif
