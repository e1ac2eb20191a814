/*
 * unread_lists.h - read-uncommitted with lists of which no read shows the order.
 */
#ifndef RATEL_DECIDE_WEAK_UNREAD_LISTS_H
#define RATEL_DECIDE_WEAK_UNREAD_LISTS_H

#include "decide/first_order.h"

/* Tries a few orders of those that are not `out`; true: pos is one that read-uncommitted allows.
   False: *garbage is a read of what nobody wrote, which no order explains, or it is NO_ID, and
   nothing is known.  The problem is that of read-uncommitted. */
bool unread_lists_hold(order_problem *p, const uint8_t *out, uint32_t *pos, uint32_t *garbage);

#endif
