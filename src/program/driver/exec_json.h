/*
 * exec_json.h - reads one line of JSON, as drivers that are programs of their own write it.
 *
 * The nodes stand in one flat array, in the order of the text; `span` is the number of nodes of a
 * value with all that is inside it, so that the next sibling of node i is i + span.  An object is
 * followed by name, value, name, value.  Node 0 is the whole line, so 0 can stand for "no node".
 */
#ifndef RATEL_DRIVER_EXEC_JSON_H
#define RATEL_DRIVER_EXEC_JSON_H

#include "base/strbuf.h"

enum exec_json_kind {
    EXEC_JSON_NULL,
    EXEC_JSON_FALSE,
    EXEC_JSON_TRUE,
    EXEC_JSON_NUMBER,
    EXEC_JSON_STRING,
    EXEC_JSON_ARRAY,
    EXEC_JSON_OBJECT
};

typedef struct exec_json_node {
    uint32_t kind;
    uint32_t at, n; /* its text; of a string what is between the quotes */
    uint32_t span;
} exec_json_node;

typedef struct exec_json {
    const char *text;
    VEC(exec_json_node) nodes;
    const char *why; /* it is no JSON, a constant text */
} exec_json;

/* False: j->why says why.  The text must stay while the nodes are used. */
bool exec_json_parse(exec_json *j, mem *m, const char *text, size_t n);
/* The value of an object's member, or 0. */
uint32_t exec_json_member(const exec_json *j, uint32_t object, const char *name);
/* A whole number of 64 bits, or such a number in a string. */
bool exec_json_int(const exec_json *j, uint32_t node, int64_t *out);
/* A string without its escapes, cut to fit; false: it is no string. */
bool exec_json_text(const exec_json *j, uint32_t node, char *out, size_t cap);
/* The same to the end of a buffer, whole. */
bool exec_json_add_text(const exec_json *j, uint32_t node, strbuf *to);

#endif
