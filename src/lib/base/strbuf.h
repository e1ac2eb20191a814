/*
 * strbuf.h - a growing text buffer over a region, for messages, reports and writers.
 */
#ifndef RATEL_BASE_STRBUF_H
#define RATEL_BASE_STRBUF_H

#include <stdarg.h>

#include "base/vec.h"

typedef struct strbuf {
    mem *mem;
    char *at;
    size_t n, cap;
} strbuf;

static inline void strbuf_init(strbuf *b, mem *m)
{
    b->mem = m;
    b->at = NULL;
    b->n = b->cap = 0;
}

void strbuf_add(strbuf *b, const char *s, size_t n);
void strbuf_str(strbuf *b, const char *s);
void strbuf_char(strbuf *b, char c);
void strbuf_i64(strbuf *b, int64_t v);
void strbuf_u64(strbuf *b, uint64_t v);
void strbuf_printf(strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *strbuf_cstr(strbuf *b); /* NUL terminated, borrowed */
/* A JSON string literal with quotes; bytes that are not valid UTF-8 are replaced by U+FFFD. */
void strbuf_json(strbuf *b, const char *s, size_t n);
/* Text for a terminal: control bytes and invalid UTF-8 come out as \xNN, never raw. */
void strbuf_visible(strbuf *b, const char *s, size_t n);
/* A path as one word of a command line that a reader can copy: quoted if a shell would take it
   apart, with bytes that do not show as $'\xNN', and never mistaken for an option. */
void strbuf_shell_path(strbuf *b, const char *path);
void strbuf_free(strbuf *b);

/* How the character at s (n > 0 bytes are there) is escaped inside a JSON string: the escape goes
   to out and its length is returned, 0 if the character stands for itself.  *taken: the bytes of s
   that this accounts for. */
#define JSON_ESCAPE_MAX 16
size_t json_escape_at(const char *s, size_t n, char *out, size_t *taken);
/* The UTF-8 of a code point below 0x110000, at most 4 bytes; its length. */
size_t utf8_put(char *to, uint32_t code);
void strbuf_utf8(strbuf *b, uint32_t code);
/* Length of the valid UTF-8 sequence at s (1..4), or 0. */
size_t utf8_length(const char *s, size_t n);
/* Bytes of the character at s if it is valid but would not show as itself: a control character, one
   that changes the direction of text, or one without a width; else 0. */
size_t utf8_hidden(const char *s, size_t n);

#endif
