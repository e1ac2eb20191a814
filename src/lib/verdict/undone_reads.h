/*
 * undone_reads.h - reads at read-uncommitted of what a savepoint took back.
 *
 * A write that was rolled back to a savepoint was there for a while, and a transaction at
 * read-uncommitted may have read it.  The model drops such writes, so that read would look like one
 * of a value that nobody wrote.  It is no garbage, and the level is left undecided instead; from
 * read-committed up it is a violation (doc/formats/native.md, "Savepoints").
 */
#ifndef RATEL_VERDICT_UNDONE_READS_H
#define RATEL_VERDICT_UNDONE_READS_H

#include "history/history.h"

/* A transaction that may have read what another one wrote and undid, and which no write that counts
   explains, or NO_ID.  rows: only transactions whose own level is read-uncommitted. */
txn_id undone_read(const history *h, bool rows, mem *work);

#endif
