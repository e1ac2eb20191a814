/*
 * byte_source.h - where a reader's bytes come from: a sliding window over a callback.
 *
 * Text readers work in units (a line, an EDN form, an array element).  They parse a unit from
 * s->at + s->pos up to s->at + s->n, where a NUL byte always stands; if the window ends before
 * the unit does and !s->eof, they call source_more and start the unit again.  The window doubles
 * when a unit does not fit, so retries cost at most as much as the last try, and memory is bounded
 * by the largest unit, not by the file.
 *
 * Positions: source_fail names line and column of any byte of the window.
 */
#ifndef RATEL_READ_BYTE_SOURCE_H
#define RATEL_READ_BYTE_SOURCE_H

#include "base/mem.h"

/* Fills buf with up to cap bytes: > 0 how many, 0 end, < 0 an error (message in the guard's
   place, if the callee has one: see source.error). */
typedef ptrdiff_t (*source_read)(void *buf, size_t cap, void *payload);

typedef struct source {
    mem *mem;
    guard *guard;
    source_read read;
    void *payload;
    const char *(*error)(void *payload); /* why read failed; may be NULL */
    const char *member;                  /* name of the directory member being read, or NULL */
    char *at;
    size_t pos, n, cap;
    uint64_t dropped;       /* bytes that left the window */
    uint64_t dropped_lines; /* newlines among them */
    uint64_t last_break;    /* offset after the last newline that left, for columns */
    uint64_t counted;       /* source_line has counted up to this offset */
    uint64_t counted_lines; /* newlines before it */
    bool eof;
    bool binary;    /* positions are byte offsets */
    void *inflater; /* inflate.c's state if the input is compressed, else NULL */
} source;

void source_init(source *s, mem *m, guard *g, source_read read, void *payload);

/* Slides the window so that s->pos becomes 0 and reads more (doubling if it is full).  Returns
   true if the window has new bytes; false means end of input, and s->eof is set. */
bool source_more(source *s);

/* At least n bytes at s->pos, unless the input ends before. */
static inline bool source_need(source *s, size_t n)
{
    while (s->n - s->pos < n)
        if (!source_more(s)) return false;
    return true;
}

/* GUARD_PARSE at byte `where` of the window (an index into s->at). */
_Noreturn void source_fail(source *s, size_t where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The 1-based line of byte `where`; linear in all if called with rising positions. */
uint64_t source_line(source *s, size_t where);

/* Consumes white space of text formats up to the next unit; false at the end of input. */
bool source_skip_space(source *s);
/* The next line, [*line, *end), without its line break; the source then stands after it.  Some
   blank, line break or NUL stands at *end.  False at the end of input. */
bool source_next_line(source *s, const char **line, const char **end);
/* Passes a byte order mark. */
void source_skip_bom(source *s);

#endif
