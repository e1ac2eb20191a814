/*
 * live_sql.h - what run and test share of SQL workloads: a run, its findings, and the audit of its
 * log.
 */
#ifndef RATEL_CLI_LIVE_SQL_H
#define RATEL_CLI_LIVE_SQL_H

#include "cli/live.h"
#include "work/sql_run.h"

enum { LIVE_FINDINGS = 4 };

/* What a run has shown by itself, before anything is audited. */
typedef struct live_sql {
    const char *level; /* of audit, for what the product documents; NULL: there is none */
    bool hung;         /* a call never returned: the database is not to be closed */
    bool by_value;     /* a write of the value that is there is no write */
    uint32_t n;
    char finding[LIVE_FINDINGS][DB_ERROR];
    char note[DB_ERROR];
} live_sql;

/* EXIT_HOLDS, EXIT_VIOLATED if there are findings, or the status after a complaint. */
int live_sql_run(args *a, live *l, const live_options *o, run_counts *c, live_sql *out);
/* Tells the findings on standard error. */
void live_sql_findings(const args *a, const live_sql *s);
/* Audits a log, shown under its path if `shown` is NULL; the exit status. */
int live_sql_audit(const args *a, const char *path, const char *shown, const live_sql *s);

#endif
