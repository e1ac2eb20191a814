/*
 * sql_text.h - functions on texts.  Characters are those of UTF-8, order and case that of the C
 * collation.
 */
#ifndef RATEL_SQL_SQL_TEXT_H
#define RATEL_SQL_SQL_TEXT_H

#include "sql/exec.h"

/* One of the calls from LEFT on; no argument is null. */
value text_call(sql_exec *x, call_id call, const value *v, uint32_t n);

#endif
