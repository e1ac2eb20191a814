/*
 * json.h - a strict JSON scanner over a source's window, for the line-based and other readers.
 *
 * The cursor stands inside a window that is followed by a NUL byte; json_next_line makes sure
 * that the window holds a whole line, json_whole that it holds a whole value.  Every function fails
 * through source_fail at the byte that is wrong.  Strings are checked for UTF-8; numbers keep
 * their exact value: 64-bit integers, larger ones as digits, others as doubles.
 */
#ifndef RATEL_READ_JSON_H
#define RATEL_READ_JSON_H

#include "base/strbuf.h"
#include "history/history.h"
#include "read/byte_source.h"

typedef struct json {
    source *s;
    const char *p;   /* next byte */
    const char *end; /* end of the unit (a NUL or newline stands there) */
    strbuf scratch;  /* decoded strings */
    unsigned depth;
    bool stream; /* units are values, so that only the input can end inside one */
} json;

typedef struct json_text {
    const char *at;
    size_t n;
} json_text;

#define JSON_DEPTH 1000

void json_init(json *j, source *s);
/* Makes the next line the unit and moves the source past it; false at the end of input.
   Blank lines are skipped; *line is advanced by the number of lines passed. */
bool json_next_line(json *j, uint64_t *line);

/* One JSON text of any size, taken value by value: json_stream, then json_peek before each token
   that is looked at, and json_whole before a value is read by the functions below. */
void json_stream(json *j, source *s); /* passes a byte order mark */
/* Passes white space; false at the end of input, else the next byte is *j->p. */
bool json_peek(json *j);
/* Makes the value at the cursor lie in the window as a whole, unless the input ends before it. */
void json_whole(json *j);

_Noreturn void json_fail(json *j, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected X" at the cursor, naming what stands there instead. */
_Noreturn void json_expected(json *j, const char *what);

static inline void json_space(json *j)
{
    while (*j->p == ' ' || *j->p == '\t' || *j->p == '\r' || *j->p == '\n') {
        if (j->p >= j->end) return;
        j->p++;
    }
}
/* Consumes c (after white space) if it is next. */
static inline bool json_take(json *j, char c)
{
    json_space(j);
    if (*j->p != c || j->p >= j->end) return false;
    j->p++;
    return true;
}
void json_need(json *j, char c);
/* After an element: true if a comma follows, false if `close` does; consumes either. */
bool json_more(json *j, char close);

/* A string; the result points into the window or the scratch buffer (valid until the next). */
json_text json_string(json *j);
bool json_literal(json *j, const char *word); /* consumes null, true, false if next */
int64_t json_int(json *j, const char *what);
uint64_t json_uint(json *j, const char *what);
/* Any scalar as a value; VALUE_NULL for null.  Fails on objects and arrays, naming `what`. */
value_id json_scalar(json *j, history *h, const char *what);
key_id json_key(json *j, history *h);
uint32_t json_bound(json *j, history *h, uint32_t *kind);
label json_label(json *j, history *h, const char *what);
/* Skips any value, checking it; returns its text. */
json_text json_skip(json *j);
/* The same text without the white space between its tokens, after what `out` holds. */
void json_compact(json_text t, strbuf *out);
/* Start of an object member: its name, with the colon consumed. */
json_text json_member(json *j);

static inline bool json_is(json_text t, const char *word)
{
    size_t n = strlen(word);
    return t.n == n && !memcmp(t.at, word, n);
}

#endif
