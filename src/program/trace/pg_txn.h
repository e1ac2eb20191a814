/*
 * pg_txn.h - the transactions of a session, made of its statements, each a line of the log.
 *
 * What the server says decides, not what the client meant: a COMMIT that was answered with ROLLBACK
 * ended nothing but a failed transaction.  Instants: `call` is before the first byte of a request
 * was forwarded, `back` after the answer was read, so that what the server did lies between.
 */
#ifndef RATEL_TRACE_PG_TXN_H
#define RATEL_TRACE_PG_TXN_H

#include "trace/pg_session.h"

/* What came back of one statement. */
typedef struct pg_answer {
    strbuf rows; /* lists of values with commas between */
    uint64_t n_rows;
    uint64_t hash; /* of the rows as they were sent: see doc/formats/sql-log.md */
    bool has_rows; /* rows may come, perhaps none */
    bool over;     /* too long: `rows` is not the whole */
    bool hidden;   /* a value cannot be shown, or must not */
    char error[6];
    uint64_t copied;    /* bytes of COPY */
    uint64_t insert_id; /* MySQL: the number that the server gave the first row; 0: none */
} pg_answer;

/* A statement, as far as it is known. */
typedef struct pg_asked {
    sql_part part;
    const char *params; /* JSON, or NULL */
    size_t n_params;
    const char *opaque; /* why this is not the whole statement, or NULL */
    bool hide;          /* its values must not be written */
    bool followed;      /* a setting that the proxy follows itself: it needs no line */
    uint64_t call;
} pg_asked;

typedef enum pg_status { STATUS_COMMITTED, STATUS_ABORTED, STATUS_UNKNOWN } pg_status;

typedef struct pg_txn {
    const pg_sink *sink;
    const mask *masks;
    uint32_t session;
    sql_rules rules;
    const char *isolation;       /* of the session's transactions; NULL: the database's usual one */
    const char *first_isolation; /* the same, when the client connected */
    bool open;
    bool block;   /* between BEGIN and its end */
    bool refused; /* COMMIT was answered with an error */
    bool mute;    /* MySQL: it is one of another database, and no line of the log */
    const char *own_isolation;
    bool has_xid; /* the number that the server gave the transaction was read ... */
    char xid[24]; /* ... and is this; "": it has none */
    uint64_t begun, begun_back;
    uint32_t n;
    strbuf statements;
    strbuf line, scratch;
} pg_txn;

void pg_txn_init(pg_txn *t, mem *m, uint32_t session, const mask *masks, const pg_sink *sink);
/* A statement ended with this command tag; NULL: with an error, or nobody knows. */
void pg_txn_statement(pg_txn *t, const pg_asked *q, const pg_answer *a, const char *tag,
                      uint64_t back);
/* The server is ready for the next request: 'I', 'T' or 'E'.  The last one was called at `call`;
   `failed`: there was an error since the one before.  False: the session is not where it should be,
   and the transactions since are not to be trusted. */
bool pg_txn_ready(pg_txn *t, char status, bool failed, uint64_t call, uint64_t back);
/* The open transaction ended, for a reason that no statement says. */
void pg_txn_end(pg_txn *t, pg_status status, uint64_t call, uint64_t back);
/* The connection has ended. */
void pg_txn_lost(pg_txn *t, bool pending, uint64_t back);

#endif
