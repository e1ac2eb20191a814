/*
 * aborted_errors.h - errors in transactions that did not commit, among them failed statements in
 * autocommit.
 */
#ifndef RATEL_AUDIT_ABORTED_ERRORS_H
#define RATEL_AUDIT_ABORTED_ERRORS_H

#include "audit/replay.h"

/* Has the log an error of its aborted transactions that aborted_errors would judge by rows?  Then
   all states are to be kept. */
bool aborted_errors_asked(const sql_log *l);
/* The committed transactions are explained, and the states of that are in the store.  Is every
   error of the others explained as well?  If not, e->fail names the first that is not, and
   *by_rows tells whether that rests on these states. */
bool aborted_errors_explained(engine *e, bool *by_rows);

#endif
