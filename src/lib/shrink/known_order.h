/*
 * known_order.h - who surely came before whom in a history, whatever else is assumed.
 *
 * Session order, where it counts, and the reads that can have seen one transaction only make an
 * order that every execution keeps, from read-committed on.  It tells which possible writers of an
 * ambiguous read may be left out of a part without the read (remainder.h).
 */
#ifndef RATEL_SHRINK_KNOWN_ORDER_H
#define RATEL_SHRINK_KNOWN_ORDER_H

#include "history/history.h"

typedef struct known_order {
    const history *h; /* the transactions are those of this history */
    uint32_t sessions;
    uint32_t
        *clock; /* per transaction and session: the last one of the session that came before it,
                        plus 1; 0: none.  NULL: nothing is known */
} known_order;

/* Session order must count at the level.  Nothing is known if the history is too large for clocks,
   or if that order has a cycle. */
void known_order_build(known_order *k, const history *h, mem *m);

/* Did a, which committed, come before b? */
static inline bool known_before(const known_order *k, txn_id a, txn_id b)
{
    return k->clock && k->clock[(size_t)b * k->sessions + k->h->txn_session[a]] > a &&
           txn_status_of(k->h, a) == TXN_COMMITTED;
}

#endif
