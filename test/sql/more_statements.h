/*
 * more_statements.h - random statements over enumerations, uuids, generated columns, unique indexes
 * with WHERE and of expressions, recursion, and tables that change their columns.
 */
#ifndef TEST_MORE_STATEMENTS_H
#define TEST_MORE_STATEMENTS_H

#include "base/rng.h"
#include "base/strbuf.h"

extern const char *const more_schema[];

void more_statement(strbuf *b, rng *r);

#endif
