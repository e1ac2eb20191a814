/*
 * own_tables.h - temporary tables of sessions, by the texts of a log.
 */
#ifndef RATEL_AUDIT_OWN_TABLES_H
#define RATEL_AUDIT_OWN_TABLES_H

#include "audit/replay.h"

void own_tables_find(engine *e);
/* Does a statement that changes tables change temporary ones of its session alone? */
bool own_tables_only(const engine *e, const char *text);

#endif
