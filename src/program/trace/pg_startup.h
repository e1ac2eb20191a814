/*
 * pg_startup.h - what a client of PostgreSQL sets when it connects.
 *
 * These settings hold as if the client had sent SET, but no statement shows them.  So those that
 * the proxy does not follow itself become such statements, and a log's reader judges them as it
 * judges others.
 */
#ifndef RATEL_TRACE_PG_STARTUP_H
#define RATEL_TRACE_PG_STARTUP_H

#include "base/strbuf.h"

typedef struct pg_startup {
    char database[64];     /* that the client asks for */
    bool replicates;       /* its session speaks of replication, and runs no SQL */
    const char *not_read;  /* why nothing can be said of the session, or NULL */
    const char *isolation; /* of its transactions; NULL: the database's usual one */
    strbuf sets;           /* statements, each with its 0 */
} pg_startup;

/* The body of a startup message behind its version. */
void pg_startup_read(pg_startup *to, mem *m, const char *at, size_t n);
/* SET name TO 'value', with its 0. */
void pg_startup_set(strbuf *to, const char *name, const char *value);

#endif
