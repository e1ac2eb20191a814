/*
 * initial_dump.h - the initial state of a log from a dump of PostgreSQL.
 */
#ifndef RATEL_AUDIT_INITIAL_DUMP_H
#define RATEL_AUDIT_INITIAL_DUMP_H

#include "audit/log.h"

/* Adds what the dump holds to a log that was begun and not read yet; fails through the source's
   guard. */
void log_dump(sql_log *l, source *s);

#endif
