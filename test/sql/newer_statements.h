/*
 * newer_statements.h - random statements over instants at UTC, rows as values, parts that are set,
 * texts read by a template, arrays of floats and instants, percentiles, comparisons with the clock.
 */
#ifndef RATEL_TEST_NEWER_STATEMENTS_H
#define RATEL_TEST_NEWER_STATEMENTS_H

#include "base/rng.h"
#include "base/strbuf.h"

extern const char *const newer_schema[];
void newer_statement(strbuf *b, rng *r);

#endif
