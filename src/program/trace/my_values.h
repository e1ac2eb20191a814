/*
 * my_values.h - values as MariaDB and MySQL send them, as values of a log (doc/formats/sql-log.md).
 */
#ifndef RATEL_TRACE_MY_VALUES_H
#define RATEL_TRACE_MY_VALUES_H

#include "trace/my_wire.h"

typedef struct my_column {
    uint8_t type;
    bool is_unsigned;
    bool is_binary; /* bytes, not characters */
} my_column;

/* Adds a value as JSON: as text, as a query's rows have them, or from the body of a binary row or
   of a statement's parameters.  `utf8`: texts are in UTF-8.  False, and nothing is added: it cannot
   be shown as the text that the server prints; its bytes were passed over. */
bool my_value_text(strbuf *out, const my_column *c, bool utf8, const char *at, uint32_t n);
bool my_value_binary(strbuf *out, const my_column *c, bool utf8, wire_body *b);

#endif
