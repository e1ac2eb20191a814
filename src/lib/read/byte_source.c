/*
 * byte_source.c - the window of a reader, and positions in messages.
 *
 * source_more moves what is still unread to the start of the window, doubles the window if the
 * unit fills it, and asks the callback for more.  Line breaks are counted as bytes leave the
 * window, and those still in it only when a message needs a position.
 *
 * Invariant: the byte after the last one of the window is NUL, also after every move.
 */
#include "read/byte_source.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define WINDOW ((size_t)1 << 18)

void source_init(source *s, mem *m, guard *g, source_read read, void *payload)
{
    memset(s, 0, sizeof *s);
    s->mem = m;
    s->guard = g;
    s->read = read;
    s->payload = payload;
    s->cap = WINDOW;
    s->at = mem_get(m, s->cap + 1);
    s->at[0] = 0;
}

static void count_lines(source *s, size_t upto)
{
    const char *p = s->at, *end = s->at + upto;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        p++;
        s->dropped_lines++;
        s->last_break = s->dropped + (uint64_t)(p - s->at);
    }
}

bool source_more(source *s)
{
    if (s->eof) return false;
    guard_poll(s->guard);
    if (s->pos) {
        if (!s->binary) count_lines(s, s->pos);
        memmove(s->at, s->at + s->pos, s->n - s->pos);
        s->dropped += s->pos;
        s->n -= s->pos;
        s->pos = 0;
    }
    if (s->n == s->cap) {
        s->cap *= 2;
        s->at = mem_resize(s->mem, s->at, s->cap + 1);
    }
    ptrdiff_t got = s->read(s->at + s->n, s->cap - s->n, s->payload);
    if (got < 0)
        guard_fail(s->guard, GUARD_IO, "%s", s->error ? s->error(s->payload) : "read error");
    assert((size_t)got <= s->cap - s->n);
    s->n += (size_t)got;
    s->at[s->n] = 0;
    if (!got) s->eof = true;
    return got > 0;
}

uint64_t source_line(source *s, size_t where)
{
    if (s->counted < s->dropped || s->counted > s->dropped + where) {
        s->counted = s->dropped;
        s->counted_lines = s->dropped_lines;
    }
    const char *p = s->at + (s->counted - s->dropped), *end = s->at + where;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) p++, s->counted_lines++;
    s->counted = s->dropped + where;
    return s->counted_lines + 1;
}

void source_fail(source *s, size_t where, const char *format, ...)
{
    assert(where <= s->n);
    if (s->member) snprintf(s->guard->member, sizeof s->guard->member, "%s", s->member);
    if (s->binary) {
        s->guard->offset = s->dropped + where;
        s->guard->has_offset = true;
    } else {
        uint64_t start = s->last_break; /* offset of the line's first byte */
        for (size_t i = where; i > 0; i--)
            if (s->at[i - 1] == '\n') {
                start = s->dropped + i;
                break;
            }
        guard_set_position(s->guard, source_line(s, where), s->dropped + where - start + 1);
    }
    va_list ap;
    va_start(ap, format);
    guard_vfail(s->guard, GUARD_PARSE, format, ap);
}

bool source_skip_space(source *s)
{
    for (;;) {
        while (s->pos < s->n && (s->at[s->pos] == ' ' || s->at[s->pos] == '\n' ||
                                 s->at[s->pos] == '\t' || s->at[s->pos] == '\r'))
            s->pos++;
        if (s->pos < s->n) return true;
        if (!source_more(s)) return false;
    }
}

bool source_next_line(source *s, const char **line, const char **end)
{
    size_t searched = 0; /* bytes known to hold no line break */
    for (;;) {
        const char *from = s->at + s->pos;
        const char *nl = memchr(from + searched, '\n', s->n - s->pos - searched);
        if (!nl) {
            searched = s->n - s->pos;
            if (source_more(s)) continue;
            if (s->pos == s->n) return false;
            from = s->at + s->pos; /* which may have moved */
            nl = s->at + s->n;
        }
        s->pos = (size_t)(nl - s->at) + (nl < s->at + s->n);
        *line = from;
        *end = nl > from && nl[-1] == '\r' ? nl - 1 : nl;
        return true;
    }
}

void source_skip_bom(source *s)
{
    if (source_need(s, 3) && !memcmp(s->at + s->pos, "\xef\xbb\xbf", 3)) s->pos += 3;
}
