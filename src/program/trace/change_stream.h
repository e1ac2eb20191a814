/*
 * change_stream.h - what a database says it wrote, as the order of the versions of keys.
 *
 * Four forms of change streams, told apart by content: the text of PostgreSQL's test_decoding,
 * the messages of its pgoutput as pg_recvlogical writes them, MariaDB's binary log of rows as
 * mariadb-binlog -v prints it, and Debezium's JSON, one event on a line.
 */
#ifndef RATEL_TRACE_CHANGE_STREAM_H
#define RATEL_TRACE_CHANGE_STREAM_H

#include "base/strbuf.h"

typedef struct change_map { /* a column of the rows of a table, by the column that names the row */
    const char *table, *key, *value;
    const char *name; /* of the value in the history */
} change_map;

typedef struct change_counts {
    uint64_t txns, writes, deletes;
    uint64_t others;    /* changes of tables that nobody asked for */
    uint64_t unshown;   /* changes that do not show the key or the value */
    uint64_t truncated; /* tables that were emptied as a whole */
} change_counts;

/* 'accounts:id->balance,products:@1->@3=stock'; fails through the guard (GUARD_INVAL). */
size_t change_maps(mem *m, const char *text, change_map **out);
typedef ptrdiff_t (*change_read)(void *buf, size_t cap, void *payload);
/* Appends a history of the writes, each with its position, to `out`.  Fails through the guard of
   the region, with line and column. */
void change_stream_read(mem *m, change_read read, void *payload, const change_map *maps, size_t n,
                        strbuf *out, change_counts *counts);

#endif
