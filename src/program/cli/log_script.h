/*
 * log_script.h - a log of SQL as a script: its statements, with their parameters written into them,
 * become steps.
 */
#ifndef RATEL_CLI_LOG_SCRIPT_H
#define RATEL_CLI_LOG_SCRIPT_H

#include "audit/audit_schedule.h"
#include "step/script_text.h"

/* NULL, or why the log cannot be said as a script. */
const char *log_script(script *s, mem *m, const sql_log *l);

#endif
