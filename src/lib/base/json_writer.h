/*
 * json_writer.h - writes JSON, compact, into a text buffer or wherever a callback puts the bytes.
 *
 * The writer sets commas, quotes and escapes, so a caller names members and values in order and
 * nothing else.  It allocates nothing itself: over a strbuf only the buffer can fail, over a
 * callback nothing can.  Strings come out as valid UTF-8 without raw control characters, whatever
 * the bytes were (a byte that is not UTF-8 becomes U+FFFD).
 */
#ifndef RATEL_BASE_JSON_WRITER_H
#define RATEL_BASE_JSON_WRITER_H

#include <stdbool.h>

#include "base/strbuf.h"

typedef struct json_writer {
    void (*put)(void *to, const char *bytes, size_t n);
    void *to;
    bool comma; /* the next member or element needs a comma before it */
} json_writer;

/* A writer that appends to b. */
json_writer jw_strbuf(strbuf *b);

void jw_object(json_writer *w);
void jw_end_object(json_writer *w);
void jw_array(json_writer *w);
void jw_end_array(json_writer *w);
/* Ends the line after a whole value: the next value is a new document. */
void jw_end_line(json_writer *w);

/* The name of a member; its value is what is written next. */
void jw_name(json_writer *w, const char *name);
void jw_name_bytes(json_writer *w, const char *name, size_t n);

void jw_text(json_writer *w, const char *s);
void jw_bytes(json_writer *w, const char *s, size_t n);
void jw_format(json_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void jw_u64(json_writer *w, uint64_t v);
void jw_i64(json_writer *w, int64_t v);
void jw_decimal(json_writer *w, double v, int places);
void jw_bool(json_writer *w, bool v);
void jw_null(json_writer *w);
/* A value that is JSON already; several if they are separated by commas. */
void jw_raw(json_writer *w, const char *json, size_t n);

/* A member: its name, and a value or the opening of one. */
void jw_member_text(json_writer *w, const char *name, const char *s);
void jw_member_u64(json_writer *w, const char *name, uint64_t v);
void jw_member_i64(json_writer *w, const char *name, int64_t v);
void jw_member_decimal(json_writer *w, const char *name, double v, int places);
void jw_member_bool(json_writer *w, const char *name, bool v);
void jw_member_object(json_writer *w, const char *name);
void jw_member_array(json_writer *w, const char *name);
/* As jw_member_text, but nothing at all if s is NULL. */
void jw_member_optional(json_writer *w, const char *name, const char *s);

#endif
