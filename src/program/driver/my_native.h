/*
 * my_native.h - the tables of a database of MariaDB or MySQL in its own words, for a reference
 * engine of the same product: types, AUTO_INCREMENT, defaults and collations that audit's own
 * replay does not read.
 */
#ifndef RATEL_DRIVER_MY_NATIVE_H
#define RATEL_DRIVER_MY_NATIVE_H

#include <mysql.h>

#include "base/strbuf.h"

typedef struct my_native {
    MYSQL *c;
    mem *mem;
    const char *why; /* there is none; NULL: there is one */
    strbuf head;     /* a JSON object */
    strbuf query;
} my_native;

/* Reads what can be told of all tables; n->why says what cannot.  False: the server's error. */
bool my_native_read(my_native *n, MYSQL *c, mem *m);
/* The query for the rows of a table in n->query, and its columns as a JSON list. */
bool my_native_columns(my_native *n, const char *table, strbuf *columns);

#endif
