/*
 * envelope_file.h - the events of a file that libratel-trace wrote (.rtrace), session by session.
 *
 * The file may be cut off anywhere, and any byte of it may be wrong: what cannot be an event ends
 * its chunk.  A file that is still written to may be read; what is there is whole.
 */
#ifndef RATEL_TRACE_ENVELOPE_FILE_H
#define RATEL_TRACE_ENVELOPE_FILE_H

#include "base/vec.h"
#include "envelope/envelope_format.h"

typedef struct envelope_session {
    uint32_t number;
    VEC(uint64_t) chunks; /* where they begin */
    const char *name;
    uint32_t n_name;
} envelope_session;

typedef struct envelope_file {
    const char *path;
    const char *at; /* the mapped file */
    uint64_t n;
    uint32_t pid;
    bool forked;
    char host[40];
    const char *header; /* not terminated */
    uint32_t n_header;
    uint64_t lost, lost_from;
    uint64_t damaged; /* chunks that are none, or end in what is no event */
    VEC(envelope_session) sessions;
} envelope_file;

typedef struct envelope_event {
    envelope_kind kind;
    unsigned outcome;
    uint64_t time;
    const char *at;
    uint32_t n;
    uint64_t place; /* in the file */
} envelope_event;

typedef struct envelope_cursor {
    const envelope_file *f;
    const envelope_session *s;
    uint32_t chunk;
    uint64_t at; /* within the chunk; 0: at its begin */
} envelope_cursor;

/* GUARD_OK, or GUARD_IO or GUARD_PARSE: `why` says what is wrong. */
int envelope_open(envelope_file *f, mem *m, const char *path, char *why, size_t cap);
void envelope_close(envelope_file *f, mem *m);
/* The next event of the session, or false. */
bool envelope_next(envelope_cursor *c, envelope_event *e);

#endif
