/*
 * pg_session.h - one client's connection to PostgreSQL, watched from the side: which statements it
 * ran, what came back, and which transactions they made, as lines of a log
 * (doc/formats/sql-log.md).
 *
 * The session cannot hold back a byte.  Whatever it does
 * not understand, and whatever exceeds its memory, makes it blind: it tells so once, with the time
 * from which on its client may have done anything, and reads no further.
 */
#ifndef RATEL_TRACE_PG_SESSION_H
#define RATEL_TRACE_PG_SESSION_H

#include "trace/mask.h"
#include "trace/pg_values.h"
#include "trace/sql_words.h"
#include "trace/wire.h"

typedef struct pg_limits {
    uint32_t message; /* bytes of a message that is kept whole */
    size_t result;    /* bytes of a statement's rows in the log: above, they are hashed */
    size_t session;   /* bytes of memory */
} pg_limits;

typedef enum pg_count {
    PG_COMMITTED,
    PG_ABORTED,
    PG_OUTCOME_UNKNOWN,
    PG_STATEMENTS,
    PG_COPIED_IN,  /* bytes of COPY ... FROM STDIN */
    PG_COPIED_OUT, /* bytes of COPY ... TO STDOUT */
    PG_HASHED,     /* results that were too long to be kept */
    PG_HIDDEN,     /* results with values that cannot be shown, or must not */
    PG_COUNTS
} pg_count;

/* Where lines go.  The functions do not fail: the log has ways of its own to lose lines. */
typedef struct pg_sink {
    void *ud;
    uint64_t (*next_id)(void *ud);
    void (*line)(void *ud, const char *at, size_t n);
    void (*gap)(void *ud, uint32_t session, uint64_t from, const char *why);
    void (*count)(void *ud, pg_count what, uint64_t n);
    /* When the transaction with this number committed, in microseconds; false: not known.  NULL:
       the log has no commit timestamps. */
    bool (*committed)(void *ud, const char *xid, int64_t *ts);
} pg_sink;

typedef struct pg_session pg_session;

/* NULL: no memory.  The options must outlive the session. */
pg_session *pg_session_open(uint32_t number, const pg_limits *limits, const mask *masks,
                            const pg_sink *sink);
void pg_session_free(pg_session *s);
/* The settings of the startup message; false: a session that is not traced (replication). */
bool pg_session_startup(pg_session *s, const char *at, size_t n);
/* Bytes of the client or of the server.  `now` is an instant after they were read and, for those of
   the client, before the first of them was forwarded. */
void pg_session_client(pg_session *s, const char *at, size_t n, uint64_t now);
void pg_session_server(pg_session *s, const char *at, size_t n, uint64_t now);
/* Does what the client said last ask to commit a block of which everything else was answered?  Then
   the transaction's number is what the server calls it now: "" if it has written nothing. */
bool pg_session_commits(pg_session *s);
void pg_session_xid(pg_session *s, const char *xid);
/* The server's side is closed; whatever the session still had under way ended before `now`. */
void pg_session_end(pg_session *s, uint64_t now);
/* The database that the client asked for, or "". */
const char *pg_session_database(const pg_session *s);
uint32_t pg_session_backend(const pg_session *s); /* the server's process id; 0: not told yet */
bool pg_session_blind(const pg_session *s);

#endif
