/*
 * log_doubt.h - what a log itself says against a verdict "violated".
 */
#ifndef RATEL_AUDIT_LOG_DOUBT_H
#define RATEL_AUDIT_LOG_DOUBT_H

#include "audit/replay.h"

/* A sentence, or NULL: the log may be held against the database. */
const char *log_doubt(engine *e);

/* Why the replay of a trace may have understood its statements otherwise than the database did. */
const char *log_foreign(const sql_log *l);

/* Does a transaction truncate a table, or alter one in a way that may write all rows anew? */
bool log_empties(const engine *e);

#endif
