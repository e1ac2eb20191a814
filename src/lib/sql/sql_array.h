/*
 * sql_array.h - arrays of one dimension, counted from 1, as values.
 *
 * The bytes of a value are the number of items, then each item: its size, whether it is null, and
 * its bytes, filled to a multiple of 8 with zeros.  So equal bytes are identical arrays, and a copy
 * of the bytes is a copy of the array.
 */
#ifndef RATEL_SQL_SQL_ARRAY_H
#define RATEL_SQL_SQL_ARRAY_H

#include "sql/value.h"

typedef struct array_walk {
    type_id of;
    const char *at;
    uint32_t left;
} array_walk;

uint32_t array_count(value a);
array_walk array_begin_walk(type_id of, value a);
bool array_next(array_walk *w, value *item); /* the item points into the array */
value array_make(arena *m, type_id of, const value *items, size_t n);
/* All items, and how many. */
value *array_items(arena *m, type_id of, value a, uint32_t *n);

int array_cmp(type_id of, value a, value b); /* as btree has it: a null is above all else */
uint64_t array_hash(type_id of, value a);
void array_print(type_id of, value a, strbuf *out);
value array_parse(sql_context *c, type_id of, const char *s, size_t n);
value array_cast(sql_context *c, value a, type_id from, type_id to, cast_kind kind);

#endif
