/*
 * sql.h - what other rooms use of this one: texts to plans, plans to results.
 */
#ifndef RATEL_SQL_SQL_H
#define RATEL_SQL_SQL_H

#include "sql/exec.h"

#define SQL_MAX_TEXT (1 << 20)

/* Parses, resolves and types one statement against the catalog as of x->latest.  Jumps with
   SQL_RAISED (PostgreSQL would refuse it too) or SQL_REFUSED (we do not know it). */
plan *sql_bind(sql_exec *x, arena *m, const char *text, size_t n);

/* One side failed with `state` (NULL: success), the other with `other`: may both be right, because
   the order of rows or conditions, which is the planner's, decides? */
bool sql_unclear(const sql_exec *x, const plan *p, const char *state, const char *other);

/* Does it write the same at every snapshot that shows the rows which it found?  (fixed_writes.c) */
bool sql_writes_fixed(const plan *p);
/* Does it compute what it writes from the newest version of each row that it finds, and from
   nothing else that transactions write?  Then its snapshot only says which rows are found. */
bool sql_writes_newest(const plan *p);
/* Does an UPDATE or DELETE find its rows by themselves, whatever it writes into them? */
bool sql_finds_newest(const plan *p);
/* Does an UPDATE or DELETE look at nothing in the rows it writes that others may have changed? */
bool sql_writes_blindly(const plan *p);

#endif
