/*
 * proxy.h - stands between clients and a database server, forwards every byte, and logs what it
 * sees.
 *
 * Bytes are forwarded before they are read for the log, unaltered and without delay.  The only
 * exceptions are requests for encryption, which the proxy answers itself; the server's offers of
 * what cannot work through it (encryption without keys, compression, channel binding that only one
 * end has); and COMMIT, which waits for the number of its transaction if commit timestamps were
 * asked for.
 */
#ifndef RATEL_TRACE_PROXY_H
#define RATEL_TRACE_PROXY_H

#include "trace/pg_session.h"
#include "trace/tls_ends.h"
#include "trace/trace_log.h"

typedef struct proxy_options {
    const char *listen;      /* HOST:PORT, :PORT, [ADDRESS]:PORT, or the path of a socket */
    const char *host, *port; /* the server's; a host that begins with / is a directory */
    const char *database;    /* that is logged; sessions of others are only forwarded */
    bool mysql;              /* the server is MariaDB or MySQL; a host with / is a socket */
    bool fail_closed;        /* what cannot be logged is not forwarded either */
    uint32_t connections;    /* at most */
    uint32_t startup;        /* seconds that the first message of a connection may take; 0: any */
    pg_limits limits;
    const mask *masks;
    tls_ends *tls; /* NULL: no encryption at either end */
    const volatile int *interrupt;
    void (*say)(void *ud, const char *text); /* a line for the user */
    /* The number of the transaction that a server process has open, "" if it has none; false: not
       known.  And when a transaction committed, in microseconds.  NULL: nobody is asked. */
    bool (*xid_of)(void *ud, uint32_t process, char *xid, size_t cap);
    bool (*committed)(void *ud, const char *xid, int64_t *ts);
    void *ud;
} proxy_options;

typedef struct proxy_counts {
    uint64_t of[PG_COUNTS];
    uint64_t sessions;  /* that were logged */
    uint64_t others;    /* connections of other databases, and of replication */
    uint64_t cancels;   /* requests to cancel */
    uint64_t encrypted; /* requests for encryption */
    uint64_t refused;   /* connections above a limit, or that found no server */
    uint64_t no_tls;    /* connections whose TLS failed, at either end */
    uint64_t bytes;     /* forwarded */
} proxy_counts;

/* Runs until it is interrupted; false: `why` says what went wrong. */
bool proxy_run(const proxy_options *o, trace_log *log, proxy_counts *counts, char *why, size_t cap);

#endif
