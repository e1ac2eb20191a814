/*
 * pg_values.h - values as PostgreSQL sends them, as values of a log (doc/formats/sql-log.md).
 */
#ifndef RATEL_TRACE_PG_VALUES_H
#define RATEL_TRACE_PG_VALUES_H

#include "base/strbuf.h"

/* The types that have a meaning here; the numbers are those of PostgreSQL's pg_type.dat. */
enum pg_type {
    PG_BOOL = 16,
    PG_BYTEA = 17,
    PG_CHAR = 18,
    PG_NAME = 19,
    PG_INT8 = 20,
    PG_INT2 = 21,
    PG_INT4 = 23,
    PG_TEXT = 25,
    PG_OID = 26,
    PG_JSON = 114,
    PG_FLOAT4 = 700,
    PG_FLOAT8 = 701,
    PG_UNKNOWN = 705,
    PG_BPCHAR = 1042,
    PG_VARCHAR = 1043,
    PG_DATE = 1082,
    PG_TIMESTAMP = 1114,
    PG_NUMERIC = 1700,
    PG_UUID = 2950
};

typedef struct pg_style { /* what the session's settings do to texts */
    bool utf8;            /* client_encoding */
    bool iso_dates;       /* DateStyle */
} pg_style;

/* Adds the value to `out` as JSON.  False, and nothing is added: it cannot be shown as the text
   that PostgreSQL prints by default. */
bool pg_value(strbuf *out, const pg_style *style, uint32_t type, bool binary, const char *at,
              uint32_t n);

#endif
