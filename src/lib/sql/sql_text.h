/*
 * sql_text.h - functions on texts.  Characters are those of UTF-8, order and case that of the C
 * collation.
 */
#ifndef RATEL_SQL_SQL_TEXT_H
#define RATEL_SQL_SQL_TEXT_H

#include "sql/exec.h"

/* One of the calls from LEFT on; no argument is null. */
value text_call(sql_exec *x, call_id call, const value *v, uint32_t n);

/* sql_pattern.c: ~ and ~*; both are ASCII.  What PostgreSQL may read otherwise is refused. */
bool regex_fits(sql_exec *x, int position, value pattern, value text, bool any_case);
/* The items of an array of one dimension that is written as text: 22P02 if it is none. */
void array_begin(sql_exec *x, int position, const char **at, const char *end);
/* Every item is one of this type, or what PostgreSQL says of it is raised. */
void array_check(sql_exec *x, int position, value array, type_id of);
bool array_item(sql_exec *x, int position, const char **at, const char *end, value *item);

#endif
