/*
 * duplicates.h - list reads that show an element more often than it was ever appended.
 *
 * No state of a list has such an element, whatever committed and in whatever order: each occurrence
 * comes from the initial list or from an append of its own, and an aborted transaction's appends
 * count here too.  So every level is violated (doc/levels.md C-8).
 */
#ifndef RATEL_ASG_DUPLICATES_H
#define RATEL_ASG_DUPLICATES_H

#include "history/history.h"

typedef struct duplicate_read {
    txn_id txn; /* committed, or of unknown outcome */
    op_id op;
    key_id key;
    value_id list, element;
    txn_id appender; /* some other transaction that appended the element, or NO_ID */
} duplicate_read;

typedef VEC(duplicate_read) duplicate_reads;

/* All of them, in the order of the history; none if the initial lists are not known. */
void find_duplicates(const history *h, mem *m, duplicate_reads *out);

#endif
