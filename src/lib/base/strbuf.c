/*
 * strbuf.c - see strbuf.h.
 */
#include "base/strbuf.h"

#include <stdio.h>

static void reserve(strbuf *b, size_t more)
{
    if (b->cap - b->n < more) b->at = vec_grow_to(b->mem, b->at, &b->cap, b->n + more, 1);
}

void strbuf_add(strbuf *b, const char *s, size_t n)
{
    if (!n) return;
    reserve(b, n);
    memcpy(b->at + b->n, s, n);
    b->n += n;
}

void strbuf_str(strbuf *b, const char *s)
{
    strbuf_add(b, s, strlen(s));
}

void strbuf_char(strbuf *b, char c)
{
    reserve(b, 1);
    b->at[b->n++] = c;
}

void strbuf_u64(strbuf *b, uint64_t v)
{
    char digits[20];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    strbuf_add(b, digits + i, sizeof digits - i);
}

void strbuf_i64(strbuf *b, int64_t v)
{
    if (v < 0) {
        strbuf_char(b, '-');
        strbuf_u64(b, 0 - (uint64_t)v);
    } else {
        strbuf_u64(b, (uint64_t)v);
    }
}

void strbuf_printf(strbuf *b, const char *format, ...)
{
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    int need = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (need > 0) {
        reserve(b, (size_t)need + 1);
        vsnprintf(b->at + b->n, (size_t)need + 1, format, again);
        b->n += (size_t)need;
    }
    va_end(again);
}

const char *strbuf_cstr(strbuf *b)
{
    reserve(b, 1);
    b->at[b->n] = 0;
    return b->at;
}

size_t utf8_length(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (!n) return 0;
    if (s[0] < 0x80) return 1;
    size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n < len) return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;  /* overlong */
    if (s[0] == 0xed && s[1] >= 0xa0) return 0; /* surrogate */
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] >= 0x90) return 0;
    return len;
}

void strbuf_json(strbuf *b, const char *s, size_t n)
{
    strbuf_char(b, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t len = utf8_length(s + i, n - i);
        if (!len) {
            strbuf_str(b, "\\ufffd");
            i++;
        } else if (c == '"' || c == '\\') {
            strbuf_char(b, '\\');
            strbuf_char(b, (char)c);
            i++;
        } else if (c == '\n') {
            strbuf_str(b, "\\n");
            i++;
        } else if (c == '\t') {
            strbuf_str(b, "\\t");
            i++;
        } else if (c == '\r') {
            strbuf_str(b, "\\r");
            i++;
        } else if (c < 0x20 || c == 0x7f) {
            strbuf_printf(b, "\\u%04x", c);
            i++;
        } else if (len == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0) {
            strbuf_printf(b, "\\u%04x", (unsigned char)s[i + 1]); /* C1: terminals obey some */
            i += 2;
        } else {
            strbuf_add(b, s + i, len);
            i += len;
        }
    }
    strbuf_char(b, '"');
}

void strbuf_visible(strbuf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t len = utf8_length(s + i, n - i);
        /* U+0080..U+009F are control characters too (C1): terminals obey some of them. */
        bool c1 = len == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0;
        if (!len || c < 0x20 || c == 0x7f || c1) {
            strbuf_printf(b, "\\x%02x", c);
            i++;
            if (c1) strbuf_printf(b, "\\x%02x", (unsigned char)s[i++]);
        } else {
            strbuf_add(b, s + i, len);
            i += len;
        }
    }
}

void strbuf_free(strbuf *b)
{
    mem_put(b->mem, b->at);
    b->at = NULL;
    b->n = b->cap = 0;
}
