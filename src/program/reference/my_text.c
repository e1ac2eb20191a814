/*
 * my_text.c - see my_text.h.
 *
 * A text with a backslash is written in hexadecimal digits, since the server's mode decides what a
 * backslash means.
 */
#include "reference/my_text.h"

#include <string.h>

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static void put_text(const cell *c, strbuf *out)
{
    if (memchr(c->s, '\\', c->n) || memchr(c->s, 0, c->n)) {
        strbuf_str(out, "_utf8mb4 x'");
        for (uint32_t i = 0; i < c->n; i++)
            strbuf_printf(out, "%02x", (unsigned)(unsigned char)c->s[i]);
        strbuf_char(out, '\'');
        return;
    }
    strbuf_char(out, '\'');
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->s[i] == '\'') strbuf_char(out, '\'');
        strbuf_char(out, c->s[i]);
    }
    strbuf_char(out, '\'');
}

static void put_literal(const cell *c, strbuf *out)
{
    bool joined = out->n && (in_name(out->at[out->n - 1]) || out->at[out->n - 1] == '-');
    if (joined) strbuf_char(out, ' ');
    switch ((cell_kind)c->kind) {
    case CELL_NULL: strbuf_str(out, "NULL"); break;
    case CELL_FALSE: strbuf_char(out, '0'); break;
    case CELL_TRUE: strbuf_char(out, '1'); break;
    case CELL_NUMBER: strbuf_add(out, c->s, c->n); break;
    case CELL_TEXT: put_text(c, out); break;
    }
}

/* After the text, name or comment that begins at p; p: none does. */
static const char *after_quoted(const char *p, const char *end)
{
    const char *q = p + 1;
    if (*p == '\'' || *p == '"' || *p == '`') {
        while (q < end && *q != *p) q += *q == '\\' && *p != '`' && q + 1 < end ? 2 : 1;
        return q < end ? q + 1 : end;
    }
    bool two = end - p > 1;
    bool spaced = end - p > 2 && (p[2] == ' ' || p[2] == '\t' || p[2] == '\n');
    if (*p == '#' || (two && *p == '-' && p[1] == '-' && spaced)) {
        while (q < end && *q != '\n') q++;
        return q;
    }
    if (two && *p == '/' && p[1] == '*') {
        for (q = p + 2; q < end && !(q[0] == '*' && end - q > 1 && q[1] == '/');) q++;
        return end - q > 1 ? q + 2 : end;
    }
    return p;
}

static bool has_marks(log_text t)
{
    for (const char *p = t.at, *end = t.at + t.n; p < end;) {
        const char *q = after_quoted(p, end);
        if (q == p && *p == '?') return true;
        p = q == p ? p + 1 : q;
    }
    return false;
}

/* The number of a parameter such as $12 at p, or 0. */
static uint32_t numbered(const char *p, const char *end, size_t *length)
{
    uint32_t number = 0;
    const char *q = p + 1;
    if (*p != '$') return 0;
    for (; q < end && *q >= '0' && *q <= '9' && number < 100000; q++)
        number = number * 10 + (uint32_t)(*q - '0');
    *length = (size_t)(q - p);
    return q < end && in_name(*q) ? 0 : number;
}

void my_text_fill(log_text t, const cell *params, uint32_t n, strbuf *out)
{
    uint32_t next = 0;
    bool marks = n && has_marks(t);
    out->n = 0;
    for (const char *p = t.at, *end = t.at + t.n; p < end;) {
        const char *q = after_quoted(p, end);
        size_t length = 0;
        bool name = p > t.at && in_name(p[-1]);
        uint32_t number = marks || name || q > p ? 0 : numbered(p, end, &length);
        if (number && number <= n) {
            put_literal(&params[number - 1], out);
            p += length;
        } else if (q == p && *p == '?' && next < n) {
            put_literal(&params[next++], out);
            p++;
        } else {
            if (q == p) q++;
            strbuf_add(out, p, (size_t)(q - p));
            p = q;
        }
    }
}

bool is_plain_object_name(const char *name)
{
    for (const char *p = name;; p++) {
        char quote = *p == '[' ? ']' : *p;
        if (quote == '"' || quote == '`' || quote == ']') {
            for (p++; *p && (*p != quote || p[1] == quote);) p += *p == quote ? 2 : 1;
            if (!*p++) return false;
        } else if (in_name(*p)) {
            while (in_name(*p)) p++;
        } else {
            return false;
        }
        if (!*p) return true;
        if (*p != '.') return false;
    }
}
