/*
 * audit_schedule.h - a log and the order of its transactions, for those who execute it elsewhere.
 *
 * The order and the windows are those that the audit itself begins with (txn_order.h).  They rest
 * on times, commit timestamps and the first words of statements alone, so that they are there for
 * logs in any dialect.  Everything lives as long as the audit, or until its next call.
 */
#ifndef RATEL_AUDIT_AUDIT_SCHEDULE_H
#define RATEL_AUDIT_AUDIT_SCHEDULE_H

#include "audit/audit.h"
#include "audit/log.h"

typedef enum schedule_reads {
    READS_LATEST,
    READS_SNAPSHOT,
    READS_STATEMENT,
    READS_ROW
} schedule_reads;

/* When the commit took place, and from when on the snapshot was taken, as far as the log tells. */
typedef struct schedule_times {
    bool known;
    int64_t begin, seen, call, end; /* as txn_times */
} schedule_times;

typedef struct audit_schedule {
    const sql_log *log;
    const char *level;
    schedule_reads reads;
    bool strict;         /* the level knows real time */
    uint32_t n;          /* committed transactions */
    const uint32_t *at;  /* by position: the transaction; position i makes state i + 1 */
    const uint32_t *low; /* by position: the states that it may read */
    const uint32_t *high;
    const schedule_times *times; /* by transaction */
    const bool *no_state;        /* by transaction: it wrote nothing that others could see */
    bool stamped;                /* the order is that of the database's commit timestamps */
    bool fact;                   /* the log leaves no doubt about the order */
    bool total;                  /* each transaction had ended before the next one began */
    const char *doubt;           /* why the log itself shows no violation (log_doubt.h), or NULL */
    uint32_t unknown;            /* transactions whose outcome the log does not tell */
    int64_t drift;
} audit_schedule;

/* Reads a log without deciding it; audit_again decides. */
int audit_read_log(audit **out, const audit_options *o, audit_read read, void *payload);
/* The order at the options' level.  The answer of an earlier call is gone. */
int audit_schedule_of(audit *a, const audit_options *o, audit_schedule *out);

#endif
