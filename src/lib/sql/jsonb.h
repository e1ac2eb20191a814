/*
 * jsonb.h - json and jsonb as values, and as trees where operators look into them.
 *
 * A json is its text as it was written.  A jsonb is the text that PostgreSQL prints: keys sorted by
 * length and then bytes, the last of equal keys, numbers as numeric prints them, one blank after
 * commas and colons.  Two jsonb are equal if they differ in zeros after the point alone.
 */
#ifndef RATEL_SQL_JSONB_H
#define RATEL_SQL_JSONB_H

#include "sql/value.h"

typedef enum jsonb_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} jsonb_kind;

typedef struct jsonb_node {
    jsonb_kind kind;
    value text; /* of a string: decoded; of a number: as numeric prints it */
    value raw;  /* the piece of the text that it was read from */
    uint32_t n;
    value *keys; /* of an object, sorted */
    struct jsonb_node **items;
} jsonb_node;

jsonb_node *jsonb_read(sql_context *c, const char *s, size_t n);
value jsonb_write(sql_context *c, const jsonb_node *v); /* as jsonb */
void jsonb_put_string(strbuf *out, const char *s, size_t n);
jsonb_node *jsonb_new(arena *m, jsonb_kind kind, uint32_t n);
/* Sorts the keys; of equal ones the last stays. */
void jsonb_sort_keys(sql_context *c, jsonb_node *v);
int jsonb_key_at(const jsonb_node *v, value key); /* -1: none */
bool jsonb_equal(const jsonb_node *a, const jsonb_node *b);

value jsonb_parse(sql_context *c, type_id t, const char *s, size_t n);
bool jsonb_same(value a, value b);
int jsonb_cmp(value a, value b); /* jsonb_order.c; 0: the same */
uint64_t jsonb_hash(value v);
value jsonb_scalar(sql_context *c, value v, type to); /* a cast of jsonb to a number or boolean */

#endif
