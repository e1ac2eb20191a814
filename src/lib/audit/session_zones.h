/*
 * session_zones.h - the time zone of a log's sessions, as far as their statements set it.
 */
#ifndef RATEL_AUDIT_SESSION_ZONES_H
#define RATEL_AUDIT_SESSION_ZONES_H

#include "audit/log.h"
#include "sql/value.h"

/* UTC if every session sets it to that before anything depends on it, and to nothing else. */
sql_zone zone_of_sessions(mem *m, const sql_log *l);

#endif
