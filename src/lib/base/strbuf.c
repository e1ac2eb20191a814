/*
 * strbuf.c - a growing text buffer, and what text needs on its way out of the program.
 *
 * The bytes are not terminated until strbuf_cstr asks for it.  Names and values come from inputs
 * and may hold anything, so each of the two ways out has its own escapes: JSON (\u) and terminals
 * (\x).  Neither lets a control character or a byte that is not UTF-8 through.
 */
#include "base/strbuf.h"

#include <assert.h>
#include <stdio.h>

#include "base/json_writer.h"

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

size_t utf8_put(char *to, uint32_t code)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    assert(code < 0x110000);
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(first[n] | code);
    return n;
}

void strbuf_utf8(strbuf *b, uint32_t code)
{
    char bytes[4];
    size_t n = utf8_put(bytes, code);
    strbuf_add(b, bytes, n);
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

/* The character of a valid sequence of len bytes. */
static uint32_t utf8_character(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    if (len == 1) return s[0];
    uint32_t c = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) c = c << 6 | (s[i] & 0x3fu);
    return c;
}

size_t utf8_hidden(const char *s, size_t n)
{
    /* C0 and C1, which terminals obey; what changes the direction of text around it (U+202E and
       its like); what has no width; line separators; tags */
    static const uint32_t ranges[][2] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},
        {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    if (n && (unsigned char)s[0] >= 0x20 && (unsigned char)s[0] < 0x7f) return 0;
    size_t len = utf8_length(s, n);
    if (!len) return 0;
    uint32_t c = utf8_character(s, len);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return len;
    return 0;
}

size_t json_escape_at(const char *s, size_t n, char *out, size_t *taken)
{
    unsigned char c = (unsigned char)s[0];
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
        *taken = 1;
        return 0;
    }
    const char *short_form = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : NULL;
    size_t length = utf8_length(s, n);
    *taken = length ? length : 1;
    if (!length) short_form = "\\ufffd";
    if (short_form) {
        size_t k = strlen(short_form);
        memcpy(out, short_form, k);
        return k;
    }
    if (c == '"' || c == '\\') {
        out[0] = '\\';
        out[1] = (char)c;
        return 2;
    }
    if (!utf8_hidden(s, n)) return 0;
    uint32_t u = utf8_character(s, length);
    if (u < 0x10000) return (size_t)snprintf(out, JSON_ESCAPE_MAX, "\\u%04x", (unsigned)u);
    u -= 0x10000;
    return (size_t)snprintf(out, JSON_ESCAPE_MAX, "\\u%04x\\u%04x", (unsigned)(0xd800 + (u >> 10)),
                            (unsigned)(0xdc00 + (u & 0x3ff)));
}

void strbuf_json(strbuf *b, const char *s, size_t n)
{
    json_writer w = jw_strbuf(b);
    jw_bytes(&w, s, n);
}

void strbuf_visible(strbuf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = utf8_length(s + i, n - i);
        size_t hidden = len ? utf8_hidden(s + i, n - i) : 1;
        if (hidden) {
            for (size_t end = i + hidden; i < end; i++)
                strbuf_printf(b, "\\x%02x", (unsigned char)s[i]);
        } else {
            strbuf_add(b, s + i, len);
            i += len;
        }
    }
}

/* Can every character of it be shown as itself? */
static bool is_visible(const char *s, size_t n)
{
    while (n) {
        size_t k = utf8_length(s, n);
        if (!k || utf8_hidden(s, n)) return false;
        s += k;
        n -= k;
    }
    return true;
}

void strbuf_shell_path(strbuf *b, const char *path)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/+=:,@%";
    size_t n = strlen(path);
    if (path[0] == '-' && n > 1) strbuf_str(b, "./");
    if (n && strspn(path, plain) == n) {
        strbuf_add(b, path, n);
        return;
    }
    bool visible = is_visible(path, n);
    strbuf_str(b, visible ? "'" : "$'");
    for (size_t k; n; path += k, n -= k) {
        k = utf8_length(path, n);
        if (!k || utf8_hidden(path, n)) {
            for (k = k ? k : 1; n && k; path++, n--, k--)
                strbuf_printf(b, "\\x%02x", (unsigned char)*path);
        } else if (visible && *path == '\'') {
            strbuf_str(b, "'\\''");
        } else {
            if (!visible && (*path == '\'' || *path == '\\')) strbuf_char(b, '\\');
            strbuf_add(b, path, k);
        }
    }
    strbuf_char(b, '\'');
}

void strbuf_free(strbuf *b)
{
    mem_put(b->mem, b->at);
    b->at = NULL;
    b->n = b->cap = 0;
}
