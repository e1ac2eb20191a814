/*
 * mask.h - what must not reach the disk: values in statements about some columns, and values that
 * match a pattern.
 */
#ifndef RATEL_TRACE_MASK_H
#define RATEL_TRACE_MASK_H

#include <regex.h>

#include "base/strbuf.h"
#include "trace/sql_words.h"

enum { MASK_WORDS = 1024, MASK_PATTERNS = 16, MASK_WORD = 64 };

typedef struct mask {
    char word[MASK_WORDS][MASK_WORD]; /* in lower case: names of tables and of columns */
    uint32_t words;
    regex_t pattern[MASK_PATTERNS];
    uint32_t patterns;
} mask;

/* Adds TABLE.COLUMN, or COLUMN alone; false: it is too long, or there are too many. */
bool mask_column(mask *m, const char *spec);
/* Adds an extended regular expression; false: `why` says what is wrong with it. */
bool mask_pattern(mask *m, const char *text, char *why, size_t cap);
/* Adds the name of a table, view or function that shows a masked column; false as above. */
bool mask_relation(mask *m, const char *name);
void mask_free(mask *m);

/* Is the statement about one of the columns, or about passwords of roles? */
bool mask_names(const mask *m, const char *sql, size_t n);
/* Does a pattern match somewhere in the text? */
bool mask_matches(const mask *m, const char *at, size_t n);
/* The same of a value as the log would show it, in JSON: what it says, and the bytes that \x...
   means. */
bool mask_shows(const mask *m, const char *json, size_t n, strbuf *scratch);
/* Does a pattern match a string or a number of the statement, taken by itself? */
bool mask_matches_literal(const mask *m, const char *sql, size_t n, sql_rules rules,
                          strbuf *scratch);
/* The text with *** in every place that matches. */
void mask_replace(const mask *m, const char *at, size_t n, strbuf *out);

#endif
