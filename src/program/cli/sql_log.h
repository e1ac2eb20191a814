/*
 * sql_log.h - what the commands on histories do with logs of SQL transactions.
 */
#ifndef RATEL_CLI_SQL_LOG_H
#define RATEL_CLI_SQL_LOG_H

#include "audit/audit.h"
#include "cli/cli.h"

/* Is the file a log of SQL transactions?  Never standard input, which can be read only once.  False
   after a complaint, too: then there was no memory to look at it, and *status is EXIT_UNDECIDED. */
bool is_sql_log(const char *path, int *status);

/* For audit_read, over a FILE. */
ptrdiff_t read_sql_log(void *buf, size_t cap, void *file);
/* --init: opens the dump of the initial state, if there is one; false after a complaint.  The file
   is `o->dump_payload`, and the caller's to close. */
bool open_sql_dump(const args *a, audit_options *o);
/* Reads a log and what is doubtful about it.  EXIT_HOLDS, or the status after a complaint (with
   --json also an object on `out`); audit_free in any case. */
int inspect_sql_log(const args *a, FILE *out, const char *path, audit **log, audit_counts *counts,
                    const audit_finding **at, size_t *n);
/* `ratel stat` of one log. */
int stat_sql_log(const args *a, FILE *out, const char *path);

#endif
