/*
 * wide_statements.h - random statements of MERGE, grouping sets, written views, triggers and more.
 */
#ifndef RATEL_TEST_WIDE_STATEMENTS_H
#define RATEL_TEST_WIDE_STATEMENTS_H

#include "base/rng.h"
#include "base/strbuf.h"

/* What the statements need; ends with NULL. */
extern const char *const wide_schema[];
void wide_statement(strbuf *b, rng *r);

#endif
