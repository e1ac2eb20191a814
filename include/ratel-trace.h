/*
 * ratel-trace.h - libratel-trace: records what a program asks of a database, and what comes back.
 *
 * The program tells the library of each call twice: before it is made (the input) and after it has
 * returned (the output).  Every event is copied into a file that is mapped into memory, so that the
 * death of the process, even by kill -9, loses none of them (the loss of power may).  No event
 * takes a lock or, but for one in some hundreds, a system call.  `ratel trace collect FILE...`
 * makes a history for `ratel check`, or a log of SQL for `ratel audit`, of the files.
 *
 *   ratel_trace *t;
 *   ratel_trace_session *s;
 *   if (ratel_trace_open(&t, "run.rtrace", NULL, 0)) ...;
 *   ratel_trace_session_open(&s, t, "worker 1");
 *   ratel_trace_begin(s);                      database begins
 *   ratel_trace_begun(s);
 *   ratel_trace_input_read(s, "x");            the value of x is read
 *   ratel_trace_output_int(s, value);
 *   ratel_trace_input_write(s, "x", value + 1);
 *   ratel_trace_output(s, RATEL_TRACE_DONE, NULL, 0);
 *   ratel_trace_commit(s);                     database commits
 *   ratel_trace_ended(s, RATEL_TRACE_DONE);
 *
 * A trace may be used by any number of threads, a session by one thread at a time.  After fork(), a
 * child goes on with the same handles: its events go to a file of its own, PATH.PID, and its
 * sessions are other sessions.  What cannot be recorded (a full disk, the limit) never stops the
 * program: it is counted, and verdicts about such a trace take into account that events are
 * missing.
 *
 * Linux; needs nothing but libc.  Version 1; functions may be added.
 */
#ifndef RATEL_TRACE_H
#define RATEL_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RATEL_TRACE_API __attribute__((visibility("default")))

typedef struct ratel_trace ratel_trace;
typedef struct ratel_trace_session ratel_trace_session;

/* How a call ended. */
typedef enum ratel_trace_outcome {
    RATEL_TRACE_DONE,   /* of a commit: committed */
    RATEL_TRACE_FAILED, /* it had no effect; of a commit: rolled back */
    RATEL_TRACE_UNKNOWN /* the answer was lost: it may have had its effect */
} ratel_trace_outcome;

/* Makes the file at `path`; one that exists is never touched (EEXIST).  `header` is the first line
   of what is made of the trace, a JSON object: NULL means {"ratel":1,"init_unknown":true}, a
   key-value history about whose beginning nothing is known; {"ratel_sql":1,"setup":[...]} makes a
   log of SQL.  No file grows beyond `limit` bytes (0: 64 GiB).  Returns 0 or an errno; *out is NULL
   then, and every function below does nothing with NULL. */
RATEL_TRACE_API int ratel_trace_open(ratel_trace **out, const char *path, const char *header,
                                     uint64_t limit);
/* Sessions must have been closed. */
RATEL_TRACE_API void ratel_trace_close(ratel_trace *t);
/* Events that could not be recorded. */
RATEL_TRACE_API uint64_t ratel_trace_lost(const ratel_trace *t);

/* A connection, or whatever runs one transaction after another.  `name` may be NULL. */
RATEL_TRACE_API int ratel_trace_session_open(ratel_trace_session **out, ratel_trace *t,
                                             const char *name);
RATEL_TRACE_API void ratel_trace_session_close(ratel_trace_session *s);

/* Transactions.  Calls between ratel_trace_begin and ratel_trace_ended form one; a call outside is
   a transaction of its own.  A call is told of before it is made. */
RATEL_TRACE_API void ratel_trace_begin(ratel_trace_session *s);
RATEL_TRACE_API void ratel_trace_begun(ratel_trace_session *s);
RATEL_TRACE_API void ratel_trace_commit(ratel_trace_session *s);
RATEL_TRACE_API void ratel_trace_rollback(ratel_trace_session *s);
RATEL_TRACE_API void ratel_trace_ended(ratel_trace_session *s, ratel_trace_outcome outcome);

/* The envelope of any call.  The input is a JSON array, an operation of a history without its
   result: ["r","x"], ["w","x",1], ["d","x"], ["append","l",1], ["scan","a","m"]; or, of a log of
   SQL, an object: {"sql":"...","params":[...]}.  The output is its result: a value, null for an
   absent key, the rows of a scan, a list; of SQL an object: {"rows":[...]}, {"count":1},
   {"error":"40001"}.  Without a result it is NULL. */
RATEL_TRACE_API void ratel_trace_input(ratel_trace_session *s, const char *json, size_t n);
RATEL_TRACE_API void ratel_trace_output(ratel_trace_session *s, ratel_trace_outcome outcome,
                                        const char *json, size_t n);

/* The same for keys that are texts (UTF-8) and values that are whole numbers. */
RATEL_TRACE_API void ratel_trace_input_read(ratel_trace_session *s, const char *key);
RATEL_TRACE_API void ratel_trace_input_write(ratel_trace_session *s, const char *key,
                                             int64_t value);
RATEL_TRACE_API void ratel_trace_input_delete(ratel_trace_session *s, const char *key);
RATEL_TRACE_API void ratel_trace_output_int(ratel_trace_session *s, int64_t value);
RATEL_TRACE_API void ratel_trace_output_absent(ratel_trace_session *s);

/* What the database tells beside the answer: a member, with a JSON value, of the last operation
   ("from", "ver", "vset", "lock", ...) or of the transaction ("id", "start_ts", "commit_ts",
   "level", ...; also after its end, until the next one begins). */
RATEL_TRACE_API void ratel_trace_op_hint(ratel_trace_session *s, const char *name,
                                         const char *json);
RATEL_TRACE_API void ratel_trace_txn_hint(ratel_trace_session *s, const char *name,
                                          const char *json);

#ifdef __cplusplus
}
#endif

#endif
