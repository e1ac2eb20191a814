/*
 * typed_statements.h - random statements over the types beyond numbers, texts and timestamps.
 */
#ifndef RATEL_TEST_SQL_TYPED_STATEMENTS_H
#define RATEL_TEST_SQL_TYPED_STATEMENTS_H

#include "base/rng.h"
#include "base/strbuf.h"

extern const char *const typed_schema[]; /* ends with NULL */
void typed_statement(strbuf *b, rng *r);

#endif
