/*
 * remainder.h - a history without some of its transactions, operations and keys.
 *
 * What is left out takes with it whatever would no longer mean what it meant: a read goes with a
 * write that it may have seen, or else that read would look like one of a value that nobody
 * wrote.  So every execution of the whole, with the rest left out, is an execution of what
 * remains, and a remainder that is violated shows a violation of the whole and no new one (but
 * for no-lost-update, which looks at neighbours).  doc/shrink.md has the rules one by one.
 *
 * Ids, sessions, times, notes, hints and the initial state stay as they are.
 */
#ifndef RATEL_SHRINK_REMAINDER_H
#define RATEL_SHRINK_REMAINDER_H

#include "history/history.h"

/* 1: left out.  Made for one history, indexed by its ids. */
typedef struct sub_mask {
    uint8_t *txn, *op, *key;
} sub_mask;

/* Makes `to`, a new history, of what is left of h, and freezes it.  Operations that go with those
   left out become 1 in out->op.  `work` is empty afterwards. */
void sub_history(history *to, const history *h, const sub_mask *out, mem *work);

#endif
