/*
 * json_writer.c - compact JSON by way of one flag.
 *
 * The flag `comma` is all the state that commas need: an opening bracket and the name of a member
 * clear it, every complete value sets it.  No stack of brackets is kept; that every bracket is
 * closed is the caller's business, and the tests parse what commands print.
 */
#include "base/json_writer.h"

#include <assert.h>
#include <stdio.h>

static void put_to_strbuf(void *to, const char *bytes, size_t n)
{
    strbuf_add(to, bytes, n);
}

json_writer jw_strbuf(strbuf *b)
{
    return (json_writer){.put = put_to_strbuf, .to = b};
}

static void put_separator(json_writer *w)
{
    if (w->comma) w->put(w->to, ",", 1);
    w->comma = true;
}

static void put_plain_value(json_writer *w, const char *s)
{
    put_separator(w);
    w->put(w->to, s, strlen(s));
}

static void open_bracket(json_writer *w, const char *bracket)
{
    put_plain_value(w, bracket);
    w->comma = false;
}

static void close_bracket(json_writer *w, const char *bracket)
{
    w->put(w->to, bracket, 1);
    w->comma = true;
}

void jw_object(json_writer *w)
{
    open_bracket(w, "{");
}

void jw_end_object(json_writer *w)
{
    close_bracket(w, "}");
}

void jw_array(json_writer *w)
{
    open_bracket(w, "[");
}

void jw_end_array(json_writer *w)
{
    close_bracket(w, "]");
}

void jw_end_line(json_writer *w)
{
    w->put(w->to, "\n", 1);
    w->comma = false;
}

/* Runs of characters that stand for themselves go out in one piece. */
static void put_quoted(json_writer *w, const char *s, size_t n)
{
    size_t run = 0, i = 0;
    w->put(w->to, "\"", 1);
    while (i < n) {
        char escape[JSON_ESCAPE_MAX];
        size_t taken, length = json_escape_at(s + i, n - i, escape, &taken);
        if (length) {
            if (i > run) w->put(w->to, s + run, i - run);
            w->put(w->to, escape, length);
            run = i + taken;
        }
        i += taken;
    }
    if (n > run) w->put(w->to, s + run, n - run);
    w->put(w->to, "\"", 1);
}

void jw_name_bytes(json_writer *w, const char *name, size_t n)
{
    jw_bytes(w, name, n);
    w->put(w->to, ":", 1);
    w->comma = false;
}

void jw_name(json_writer *w, const char *name)
{
    jw_name_bytes(w, name, strlen(name));
}

void jw_bytes(json_writer *w, const char *s, size_t n)
{
    put_separator(w);
    put_quoted(w, s, n);
}

void jw_text(json_writer *w, const char *s)
{
    jw_bytes(w, s, strlen(s));
}

void jw_format(json_writer *w, const char *format, ...)
{
    char text[128];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    assert(n >= 0 && (size_t)n < sizeof text); /* for short ids, not for texts of inputs */
    jw_bytes(w, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void jw_u64(json_writer *w, uint64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);
    put_plain_value(w, digits);
}

void jw_i64(json_writer *w, int64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    put_plain_value(w, digits);
}

void jw_decimal(json_writer *w, double v, int places)
{
    char digits[352]; /* the largest double has 309 digits before the point */
    snprintf(digits, sizeof digits, "%.*f", places, v);
    put_plain_value(w, digits);
}

void jw_bool(json_writer *w, bool v)
{
    put_plain_value(w, v ? "true" : "false");
}

void jw_null(json_writer *w)
{
    put_plain_value(w, "null");
}

void jw_raw(json_writer *w, const char *json, size_t n)
{
    if (!n) return;
    put_separator(w);
    w->put(w->to, json, n);
}

void jw_member_text(json_writer *w, const char *name, const char *s)
{
    jw_name(w, name);
    jw_text(w, s);
}

void jw_member_u64(json_writer *w, const char *name, uint64_t v)
{
    jw_name(w, name);
    jw_u64(w, v);
}

void jw_member_i64(json_writer *w, const char *name, int64_t v)
{
    jw_name(w, name);
    jw_i64(w, v);
}

void jw_member_decimal(json_writer *w, const char *name, double v, int places)
{
    jw_name(w, name);
    jw_decimal(w, v, places);
}

void jw_member_bool(json_writer *w, const char *name, bool v)
{
    jw_name(w, name);
    jw_bool(w, v);
}

void jw_member_object(json_writer *w, const char *name)
{
    jw_name(w, name);
    jw_object(w);
}

void jw_member_array(json_writer *w, const char *name)
{
    jw_name(w, name);
    jw_array(w);
}

void jw_member_optional(json_writer *w, const char *name, const char *s)
{
    if (s) jw_member_text(w, name, s);
}
