/*
 * match_results.h - is this what the client saw?
 *
 * Rows without ORDER BY are a multiset, ties of an ORDER BY may come in any order, and LIMIT may
 * keep any of the rows that tie where it cuts.  A string of the log must be the text that
 * PostgreSQL prints; a number must have the value.
 */
#ifndef RATEL_AUDIT_MATCH_RESULTS_H
#define RATEL_AUDIT_MATCH_RESULTS_H

#include "audit/log.h"
#include "sql/exec.h"

/* Is a value what a cell of the log says? */
bool match_cell(sql_exec *x, type_id t, value v, const cell *c);
bool match_result(sql_exec *x, const sql_result *r, const log_stmt *s);
/* A result as text, for reports: at most a few rows. */
void match_show(sql_exec *x, const sql_result *r, strbuf *out);
void match_show_observed(const log_stmt *s, strbuf *out);

#endif
