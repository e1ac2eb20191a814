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
/* Where a pattern and its groups match, in bytes; -1: a group that took no part. */
enum { REGEX_GROUPS = 10 };
typedef struct regex_match {
    int groups; /* in the pattern */
    int32_t from[REGEX_GROUPS], to[REGEX_GROUPS];
} regex_match;
typedef VEC(regex_match) regex_list;
/* All matches or the first one, as regexp_replace finds them; how many there are. */
uint32_t regex_search(sql_exec *x, int position, value pattern, value text, bool any_case, bool all,
                      regex_match **out);
/* The items of an array of one dimension that is written as text: 22P02 if it is none. */
void array_begin(sql_exec *x, int position, const char **at, const char *end);
/* Every item is one of this type, or what PostgreSQL says of it is raised. */
void array_check(sql_exec *x, int position, value array, type_id of);
bool array_item(sql_exec *x, int position, const char **at, const char *end, value *item);

/* Is this word, in small letters, one that PostgreSQL puts into quotes where it is a name? */
bool sql_is_key_word(const char *s, size_t n);

#endif
