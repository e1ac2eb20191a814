/*
 * key_sessions.h - each key of a history by itself, for `linearizable` (doc/levels.md, LIN-1).
 *
 * Linearizability is about single operations: a transaction is one read or write of one key, or a
 * read and then a write of it (compare-and-set).  In the history that is made here the order of a
 * session counts only between operations on the same key: every session is cut into one for each
 * key.  Strict serializability of that history is linearizability of the other, because real time
 * is an order of intervals, with which orders of single keys never disagree (Herlihy and Wing
 * 1990, locality).  Transactions and operations keep their numbers.
 */
#ifndef RATEL_HISTORY_KEY_SESSIONS_H
#define RATEL_HISTORY_KEY_SESSIONS_H

#include "history/history.h"

/* The key of a transaction that is a single operation; *several: it is more than that.  NO_ID
   without *several: it did nothing. */
key_id txn_single_key(const history *h, txn_id t, bool *several);

/* The first transaction that may have committed and is more than one operation, or NO_ID. */
txn_id history_first_larger(const history *h);

/* In the region m; shares the arrays of h, which must outlive it.  Every transaction that may have
   committed is a single operation. */
const history *key_sessions(const history *h, mem *m);

#endif
