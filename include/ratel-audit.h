/*
 * ratel-audit.h - could a correct database have answered a log of SQL transactions so?
 *
 * The header of the second library, libratel-audit (pkg-config: ratel-audit), which needs
 * libpg_query and, for open states, Z3; doc/audit.md says what is decided, and how.  All of it may
 * still change.
 *
 *     ratel_audit *a;  ratel_audit_answer r;
 *     if (ratel_audit_open(&a, NULL)) ...
 *     if (ratel_audit_run(a, NULL, read, payload, &r)) puts(ratel_audit_errmsg(a));
 *     else if (r.verdict == RATEL_VIOLATED) puts(r.reason);
 *     ratel_audit_close(a);
 *
 * The promises are those of ratel.h: no printing, no exit, no environment, no global state, one
 * thread at a time, and running out of memory is an error code.  What libpg_query and Z3 allocate
 * for themselves is outside the allocator.  Texts live until the next call on the same audit.
 */
#ifndef RATEL_AUDIT_H
#define RATEL_AUDIT_H

#include <ratel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ratel_audit ratel_audit;

RATEL_API int ratel_audit_open(ratel_audit **out, const ratel_alloc *alloc); /* alloc NULL: libc */
RATEL_API void ratel_audit_close(ratel_audit *a);
RATEL_API const char *ratel_audit_errmsg(const ratel_audit *a);
/* Where in the log the last error was: RATEL_OK and 1-based numbers, else RATEL_EINVAL. */
RATEL_API int ratel_audit_errpos(const ratel_audit *a, uint64_t *line, uint64_t *column);
/* From another thread or a signal handler; it stays until the audit is closed. */
RATEL_API void ratel_audit_interrupt(ratel_audit *a);
/* 1: this build can read SQL; 0: ratel_audit_run returns RATEL_EUNSUPPORTED. */
RATEL_API int ratel_audit_available(void);
/* The levels of logs, strongest first; RATEL_EINVAL past the end. */
RATEL_API int ratel_audit_level_at(const char **name, const char **aliases, const char **about,
                                   size_t i);

typedef struct {
    const char *level;      /* NULL: the log's, else serializable */
    int lenient;            /* 1: statements that are not known have unknown effects */
    int conflicts_by_value; /* 1: write conflicts by value, the published test */
    int no_session_order;
    uint64_t drift;      /* uncertainty of the log's clock */
    double seconds;      /* 0: no limit */
    uint64_t memory_mib; /* 0: no limit */
    ratel_read_cb dump;  /* a dump of the initial state, read before the log; or NULL */
    void *dump_payload;
} ratel_audit_options;

typedef struct {
    ratel_verdict verdict;
    const char *level, *reason; /* the long name; one sentence */
    /* Violated: the first transaction that cannot be explained; NULL and 0 where there is none. */
    const char *txn;
    uint32_t statement; /* of this transaction, from 1 */
    uint64_t line, column;
    const char *sql, *observed;
    int semantic;    /* 1: no level explains it */
    int all_orders;  /* 1: shown for every order, not only for the log's */
    int other_order; /* 1: it holds, but not in the order of the log */
    uint64_t txns, statements, sessions, unchecked;
} ratel_audit_answer;

/* Reads a log and decides it; `options` may be NULL.  A violation is an answer, not an error. */
RATEL_API int ratel_audit_run(ratel_audit *a, const ratel_audit_options *options,
                              ratel_read_cb read, void *payload, ratel_audit_answer *out);
/* The log that was read last once more, say at another level. */
RATEL_API int ratel_audit_again(ratel_audit *a, const ratel_audit_options *options,
                                ratel_audit_answer *out);

/* Of the last answer, one by one; RATEL_EINVAL past the end.  It holds: the transactions in an
   order that explains the log. */
RATEL_API int ratel_audit_order_at(const ratel_audit *a, size_t i, const char **txn);
/* Violated: what the statement could have returned, and after which transaction ("": at first). */
RATEL_API int ratel_audit_possible_at(const ratel_audit *a, size_t i, const char **after,
                                      const char **result);
RATEL_API int ratel_audit_warning_at(const ratel_audit *a, size_t i, const char **text);
/* The last answer as "text", "json" (doc/schema/audit.json) or, if it holds, "witness".  `log` is
   how the caller names the log. */
RATEL_API int ratel_audit_write(ratel_audit *a, const char *format, const char *log,
                                ratel_write_cb write, void *payload);

typedef struct {
    uint64_t txns, statements, rows; /* what is left; rows of the initial state */
    uint64_t trials;
    int minimal; /* 0: a limit ended the search */
} ratel_audit_shrunk;
/* A smallest part of the log that fails in the same statement and way; the last answer must be
   violated, and stays. */
RATEL_API int ratel_audit_shrink(ratel_audit *a, const ratel_audit_options *options,
                                 ratel_audit_shrunk *out, ratel_write_cb write, void *payload);

/* What makes a verdict on a log weak.  Reads the log anew; the last answer is gone. */
RATEL_API int ratel_audit_lint(ratel_audit *a, const ratel_audit_options *options,
                               ratel_read_cb read, void *payload);
/* The i-th finding: id, text, advice, severity, count, unit, example and txn[0] are set. */
RATEL_API int ratel_audit_finding_at(const ratel_audit *a, size_t i, ratel_finding *out);

#ifdef __cplusplus
}
#endif
#endif
