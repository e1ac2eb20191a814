/*
 * collect.h - files of libratel-trace, made into one history or one log of SQL.
 */
#ifndef RATEL_TRACE_COLLECT_H
#define RATEL_TRACE_COLLECT_H

#include "trace/envelope_file.h"

typedef struct collect_counts {
    uint64_t sessions, committed, aborted, unknown, operations;
    uint64_t lost, damaged;
    bool untimed; /* the files are of different machines: times cannot be compared */
} collect_counts;

/* Writes every transaction as one line, in the order of their ends.  Fails through the region's
   guard: a header or an input that is none, or no memory. */
void collect_files(mem *m, envelope_file *files, size_t n,
                   void (*write)(void *ud, const char *at, size_t n), void *ud, collect_counts *c);

#endif
