/*
 * audit_internal.h - the audit's own: a log that was read, and what deciding it takes.
 *
 * Three lives: the log's (`kept`), one decision's with its answer (`work`, `store`), and that of
 * trials on parts of the log while it is shrunk, which have regions of their own (log_shrink.c).
 */
#ifndef RATEL_AUDIT_AUDIT_INTERNAL_H
#define RATEL_AUDIT_AUDIT_INTERNAL_H

#include "audit/audit_search.h"

struct audit {
    mem_fn fn;
    void *ud;
    guard guard;
    mem kept;  /* the log */
    mem work;  /* the decision, the answer */
    mem store; /* states */
    mem shrunk;
    source source, dump;
    bool read;    /* the log is whole */
    bool in_dump; /* reading the dump: errors carry its line numbers */
    sql_log log;
    struct {     /* the log made of what is known of its first rows (narrow_log.h) */
        bool on; /* the present answer is of this one */
        arena kept;
        sql_log log;
    } narrow;
    engine e;
    char text[GUARD_TEXT + 64];
    uint64_t line, column;
};

/* Readies an engine for a log; fails through the guard if the level is none of ours. */
void audit_engine(engine *e, guard *g, mem *work, mem *states, const audit_options *o,
                  const sql_log *l);
/* log_lint.c: what is doubtful about a log, one finding for each kind. */
void log_lint(audit *a, const audit_options *o, audit_counts *counts, const audit_finding **at,
              size_t *n);
/* key_view.c: reads of the log's transactions, by primary keys, whose values neither the initial
   state nor any statement of the log wrote.  The engine is ready, and its state the initial one.
   Says nothing where a write may be missing, or is not shown. */
typedef void foreign_value_cb(void *ud, const log_txn *reader, uint64_t line, const char *key,
                              const char *is);
void audit_foreign_values(audit *a, engine *e, foreign_value_cb *tell, void *ud);
/* After a failure: its text and position; a limit while deciding becomes the answer (0). */
int audit_ended(audit *a, audit_answer *answer);
/* Starts the clock of the options' limit. */
void audit_limits(audit *a, const audit_options *o);

#endif
