/*
 * txn_marks.h - what the words of a transaction's statements tell before any of them is run: which
 * of them are rolled back to a savepoint, and which one takes the snapshot.
 */
#ifndef RATEL_AUDIT_TXN_MARKS_H
#define RATEL_AUDIT_TXN_MARKS_H

#include "audit/log.h"

typedef struct txn_marks {
    /* By transaction.  The snapshot is taken no earlier than with statement `may_take` and no later
       than with statement `takes`; either may be the number of statements: none of them does. */
    uint32_t *may_take, *takes;
    /* By transaction, NULL where nothing is rolled back: for each statement 1 + the first ROLLBACK
       TO that takes it back, or 0. */
    uint32_t **undone;
} txn_marks;

typedef enum text_kind {
    TEXT_QUERY,
    TEXT_OTHER, /* takes no snapshot */
    TEXT_SAVEPOINT,
    TEXT_RELEASE,
    TEXT_BACK /* ROLLBACK TO */
} text_kind;

/* By the first words of a statement. */
text_kind text_kind_of(const log_text *t);
/* Lives as long as the region. */
txn_marks marks_of_log(mem *m, const sql_log *l);

#endif
