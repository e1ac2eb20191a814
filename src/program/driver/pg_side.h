/*
 * pg_side.h - a connection to PostgreSQL beside those of an application: where the server is, and
 * what was in the database before the application began, as the head of a log of SQL
 * (doc/formats/sql-log.md).
 */
#ifndef RATEL_DRIVER_PG_SIDE_H
#define RATEL_DRIVER_PG_SIDE_H

#include "base/strbuf.h"

enum { PG_SIDE_NAME = 512 };

typedef struct pg_side {
    void *own;
    char host[PG_SIDE_NAME]; /* a name, an address, or the directory of a socket */
    char port[32];
    char database[PG_SIDE_NAME];
    char sslmode[16];        /* as in the URL; "": not given */
    char root[PG_SIDE_NAME]; /* sslrootcert: a file; "": not given */
    char error[PG_SIDE_NAME];
} pg_side;

typedef struct pg_side_schema {
    bool dump;         /* the rows of the tables, too */
    const char *level; /* for the header; NULL: that of the server's default isolation */
    const char *extra; /* more members of the header, such as ,"trace":{...} */
    /* Can these statements (a JSON list) be the setup of a log? */
    bool (*usable)(void *ud, const char *list, size_t n);
    /* Takes a whole line; false: it could not be written. */
    bool (*line)(void *ud, const char *at, size_t n);
    /* Must the rows of this table not be written? */
    bool (*secret)(void *ud, const char *table);
    /* There is a table, view or function of this name, with such a column or in such words: true,
       if that makes the name one that must not be shown, which it was not before.  NULL: no matter
       which there are. */
    bool (*shows)(void *ud, const char *name, const char *words);
    void *ud;
    uint32_t tables, unknown, left_out; /* what was found */
    uint64_t rows;
} pg_side_schema;

/* Is there a client library in this build? */
bool pg_side_available(void);
/* Connects; false: s->error says why. */
bool pg_side_open(pg_side *s, const char *url);
void pg_side_close(pg_side *s);
/* Writes the header and, with `dump`, the rows, all from one snapshot; false: s->error. */
bool pg_side_head(pg_side *s, mem *m, pg_side_schema *o);
/* Can commit timestamps be asked for?  false: s->error. */
bool pg_side_keeps_commits(pg_side *s);
/* The transaction id of a server process, as text in `id`, "" if it has none; false: not known. */
bool pg_side_xid(pg_side *s, uint32_t process, char *id, size_t cap);
/* When that transaction committed, in microseconds; false: not known. */
bool pg_side_committed(pg_side *s, const char *id, int64_t *out);

#endif
