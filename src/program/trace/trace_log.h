/*
 * trace_log.h - the file that a recorder writes: whole lines, within its limit, or a mark that
 * tells what is missing.
 *
 * Lines are collected and written together; a write that fails takes back the part of a line that
 * it may have left.  From then on nothing is logged until a mark that says so could be written.
 * A compressed log is frames of zstd after one another, each with whole lines of its own, so that
 * it can be read, rotated and put together as a plain one.
 * The file may be cut off by the death of the process: then it lacks its last line, the mark "end",
 * by which a reader knows.
 */
#ifndef RATEL_TRACE_TRACE_LOG_H
#define RATEL_TRACE_TRACE_LOG_H

#include "base/strbuf.h"

enum { TRACE_PATH = 1024 };

typedef struct trace_log {
    guard guard;
    mem mem;
    int fd;
    char path[TRACE_PATH];
    uint64_t limit;  /* bytes in all; 0: none */
    uint64_t rotate; /* bytes of one file; 0: one file */
    uint32_t part;   /* files before this one */
    uint64_t size, total;
    uint64_t lines;
    uint64_t ids;
    bool packs; /* each write is a whole frame of zstd */
    strbuf ready, packed;
    uint64_t flushed; /* when */
    bool full;        /* the limit was reached */
    int error;        /* why the last write failed, or 0 */
    uint64_t missing; /* lines that were not logged */
    uint64_t gaps;
    uint64_t gap_from; /* since when lines are missing; 0: none are */
} trace_log;

/* Makes the file, for its owner alone; `packs`: compressed, each write a whole frame of zstd.
   False: `why` says what is wrong. */
bool trace_log_open(trace_log *l, const char *path, uint64_t limit, uint64_t rotate, bool packs,
                    char *why, size_t cap);
/* Can this build compress? */
bool trace_log_packs(void);
/* A whole line with its end. */
void trace_log_line(trace_log *l, const char *at, size_t n, uint64_t now);
/* From `from` on, a session may have done anything (session 0: any session). */
void trace_log_gap(trace_log *l, uint32_t session, uint64_t from, const char *why, uint64_t now);
/* Writes what is ready; false: it could not be written. */
bool trace_log_flush(trace_log *l, uint64_t now);
/* Writes the last line, with these members, and closes the file; 0, or an errno. */
int trace_log_close(trace_log *l, const char *members, uint64_t now);

#endif
