/*
 * remainder.h - a history without some of its transactions, operations and keys.
 *
 * What is left out takes with it whatever would no longer mean what it meant: a read goes with a
 * write that it may have seen, or else that read would look like one of a value that nobody
 * wrote.  So every execution of the whole, with the rest left out, is an execution of what
 * remains, and a remainder that is violated shows a violation of the whole and no new one (but
 * for no-lost-update, which looks at neighbours).  doc/shrink.md has the rules one by one.
 *
 * A write that surely came after the read was not seen, nor, where reads do not miss what came
 * before them, one that was surely overwritten before; and one that surely came before every write
 * of the key that is left, with the value that the key had at first, becomes part of the initial
 * state: a read that may have seen these stays.  And of many transactions that do nothing but write
 * one value, as many are enough as there are reads of it: each may stand in the place of any other.
 *
 * Ids, sessions, times, notes, hints and the initial state stay as they are.
 */
#ifndef RATEL_SHRINK_REMAINDER_H
#define RATEL_SHRINK_REMAINDER_H

#include "shrink/known_order.h"

/* 1: left out.  Made for one history, indexed by its ids. */
typedef struct sub_mask {
    uint8_t *txn, *op, *key;
    bool aborted_read; /* what aborted transactions read is claimed, too */
} sub_mask;

/* What is known of the order of the transactions, in the history that all of this is part of. */
typedef struct sub_order {
    const known_order *known; /* NULL: nothing */
    const txn_id *whole;      /* per transaction: the one of known->h */
    /* A read does not miss a write that came before it: in any session; in its own. */
    bool sees_past, sees_session;
    /* A transaction that does nothing but write a value may stand in for any other writer of it;
       session order counts; client times or the database's timestamps count. */
    bool stand_ins, sessions, times;
} sub_order;

/* Makes `to`, a new history, of what is left of h, and freezes it.  Operations that go with those
   left out become 1 in out->op.  `work` is empty afterwards. */
void sub_history(history *to, const history *h, const sub_mask *out, const sub_order *order,
                 mem *work);

#endif
