/*
 * forced_rows.h - queries for which the database chose among rows (LIMIT without ORDER BY, SKIP
 * LOCKED), written so that the engine has to choose those that the log shows.
 *
 * The rows must be there and meet the conditions, which the engine finds out; that there may be
 * others does not matter, since any of them would have been a right answer.
 */
#ifndef RATEL_REFERENCE_FORCED_ROWS_H
#define RATEL_REFERENCE_FORCED_ROWS_H

#include "reference/compare_answers.h"

/* Writes the statement in `out`; false: it leaves no such choice, or its shape is not understood.
   `others`: the log has other sessions, which may have locked rows. */
bool forced_rows_text(engine_kind engine, log_text t, const log_stmt *s, bool others, strbuf *out);

#endif
