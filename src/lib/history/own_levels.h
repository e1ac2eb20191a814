/*
 * own_levels.h - the levels that transactions of a history name for themselves.
 *
 * A transaction's member "level", or else the header's, says what the transaction is held to in a
 * mixture (doc/formats/native.md).  Here the names are text: what they mean is asked elsewhere
 * (opt/mixed_row.h).
 */
#ifndef RATEL_HISTORY_OWN_LEVELS_H
#define RATEL_HISTORY_OWN_LEVELS_H

#include "history/history.h"

#define MOST_OWN_LEVELS 254u /* different texts; all others are one that nobody knows */

/* Makes h->txn_level and what belongs to it from the members "level". */
void history_find_levels(history *h);

/* The text of the level that t is held to, as JSON; NULL if neither it nor the header names one, or
   if the history names too many (then *n is 1, else 0). */
const char *history_level_text(const history *h, txn_id t, size_t *n);

/* All transactions of the session name this level from now on, which is a name without quotes or
   backslashes.  The history is frozen, and nobody else reads it meanwhile.  False: it has no such
   session. */
bool history_level_of(history *h, const char *session, size_t sn, const char *level, size_t n);

#endif
