/*
 * json.c - the strict JSON scanner.
 *
 * Recursive descent over the window, without a tree: the reader asks for what it expects, and
 * every function fails at the byte that is wrong.  Strings without escapes are returned in place,
 * others are decoded into a scratch buffer that the next string overwrites.  RFC 8259, with UTF-8
 * checked.
 *
 * Invariant: the cursor never passes the NUL byte after the window, whatever the bytes are.
 */
#include "read/json.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void json_init(json *j, source *s)
{
    memset(j, 0, sizeof *j);
    j->s = s;
    strbuf_init(&j->scratch, s->mem);
}

bool json_next_line(json *j, uint64_t *line)
{
    source *s = j->s;
    size_t searched = 0; /* bytes of the unit known to hold no newline */
    for (;;) {
        const char *from = s->at + s->pos;
        const char *nl = memchr(from + searched, '\n', s->n - s->pos - searched);
        if (!nl) {
            searched = s->n - s->pos;
            if (!s->eof) {
                source_more(s);
                continue;
            }
            if (s->pos == s->n) return false;
            nl = s->at + s->n;
        }
        ++*line;
        s->pos = (size_t)(nl - s->at) + (nl < s->at + s->n);
        searched = 0;
        j->p = from;
        j->end = nl;
        j->depth = 0;
        json_space(j);
        if (j->p < j->end) return true;
        if (s->eof && s->pos == s->n) return false;
    }
}

void json_stream(json *j, source *s)
{
    json_init(j, s);
    j->stream = true;
    source_skip_bom(s);
    j->p = s->at + s->pos;
    j->end = s->at + s->n;
}

bool json_peek(json *j)
{
    source *s = j->s;
    s->pos = (size_t)(j->p - s->at);
    bool some = source_skip_space(s);
    j->p = s->at + s->pos;
    j->end = s->at + s->n;
    return some;
}

/* Looks for brackets and quotes only: what else is wrong inside is for the reader to find, at the
   byte where it stands.  So text that is nested too deep, or closed too often, counts as whole. */
void json_whole(json *j)
{
    source *s = j->s;
    size_t seen = 0;
    unsigned depth = 0;
    bool quoted = false, whole = false;
    s->pos = (size_t)(j->p - s->at);
    for (;;) {
        const char *start = s->at + s->pos, *p = start + seen, *end = s->at + s->n;
        while (p < end && !whole) {
            char c = *p;
            if (quoted) {
                if (c == '\\' && p + 1 == end) break; /* what it escapes is not here yet */
                if (c == '\\') p++;
                if (c == '"') quoted = false, whole = !depth;
            } else if (c == '"') {
                quoted = true;
            } else if (c == '{' || c == '[') {
                whole = ++depth > JSON_DEPTH;
            } else if (c == '}' || c == ']') {
                whole = depth <= 1;
                depth--;
            } else if (!depth) {
                whole = c == ',' || c == ':' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
            }
            p++;
        }
        seen = (size_t)(p - start);
        if (whole || !source_more(s)) break;
    }
    j->p = s->at + s->pos;
    j->end = s->at + s->n;
    j->depth = 0;
}

void json_fail(json *j, const char *where, const char *format, ...)
{
    char text[GUARD_TEXT];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    source_fail(j->s, (size_t)(where - j->s->at), "%s", text);
}

void json_expected(json *j, const char *what)
{
    unsigned char c = (unsigned char)*j->p;
    if (j->p >= j->end)
        json_fail(j, j->end, "expected %s, but the %s ends here", what,
                  j->stream ? "input" : "line");
    if (c < 0x20 || c >= 0x7f) json_fail(j, j->p, "expected %s, found byte 0x%02x", what, c);
    json_fail(j, j->p, "expected %s, found '%c'", what, c);
}

void json_need(json *j, char c)
{
    if (json_take(j, c)) return;
    char what[4] = {'\'', c, '\'', 0};
    json_expected(j, what);
}

bool json_more(json *j, char close)
{
    json_space(j);
    if (j->p < j->end) {
        if (*j->p == ',') {
            j->p++;
            return true;
        }
        if (*j->p == close) {
            j->p++;
            return false;
        }
    }
    json_expected(j, close == ']' ? "',' or ']'" : "',' or '}'");
}

static unsigned hex4(json *j, const char *p)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                            : 99;
        if (d == 99) json_fail(j, p + i, "expected four hexadecimal digits after \\u");
        v = v * 16 + d;
    }
    return v;
}

static const char *unescape(json *j, const char *p)
{
    strbuf *b = &j->scratch;
    switch (p[1]) {
    case '"': strbuf_char(b, '"'); return p + 2;
    case '\\': strbuf_char(b, '\\'); return p + 2;
    case '/': strbuf_char(b, '/'); return p + 2;
    case 'b': strbuf_char(b, '\b'); return p + 2;
    case 'f': strbuf_char(b, '\f'); return p + 2;
    case 'n': strbuf_char(b, '\n'); return p + 2;
    case 'r': strbuf_char(b, '\r'); return p + 2;
    case 't': strbuf_char(b, '\t'); return p + 2;
    case 'u': break;
    default: json_fail(j, p, "unknown escape in a string");
    }
    unsigned c = hex4(j, p + 2);
    if (c >= 0xdc00 && c < 0xe000) json_fail(j, p, "lone surrogate in a string");
    if (c >= 0xd800 && c < 0xdc00) {
        if (p[6] != '\\' || p[7] != 'u') json_fail(j, p, "lone surrogate in a string");
        unsigned low = hex4(j, p + 8);
        if (low < 0xdc00 || low >= 0xe000) json_fail(j, p, "lone surrogate in a string");
        strbuf_utf8(b, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
        return p + 12;
    }
    strbuf_utf8(b, c);
    return p + 6;
}

json_text json_string(json *j)
{
    json_space(j);
    if (*j->p != '"' || j->p >= j->end) json_expected(j, "a string");
    const char *start = ++j->p, *p = start;
    bool copied = false;
    for (;;) {
        unsigned char c = (unsigned char)*p;
        if (c == '"') break;
        if (p >= j->end)
            json_fail(j, j->end, "the %s ends inside a string", j->stream ? "input" : "line");
        if (c == '\\') {
            if (!copied) {
                j->scratch.n = 0;
                copied = true;
            }
            strbuf_add(&j->scratch, start, (size_t)(p - start));
            start = p = unescape(j, p);
        } else if (c < 0x20) {
            json_fail(j, p, "control byte 0x%02x in a string", c);
        } else if (c < 0x80) {
            p++;
        } else {
            size_t n = utf8_length(p, (size_t)(j->end - p));
            if (!n) json_fail(j, p, "invalid UTF-8 (byte 0x%02x)", c);
            p += n;
        }
    }
    j->p = p + 1;
    if (!copied) return (json_text){start, (size_t)(p - start)};
    strbuf_add(&j->scratch, start, (size_t)(p - start));
    return (json_text){j->scratch.at, j->scratch.n};
}

bool json_literal(json *j, const char *word)
{
    json_space(j);
    size_t n = strlen(word);
    if ((size_t)(j->end - j->p) < n || memcmp(j->p, word, n)) return false;
    j->p += n;
    return true;
}

enum number_kind { NUM_INT, NUM_UINT, NUM_BIG, NUM_REAL };

typedef struct number {
    enum number_kind kind;
    int64_t i;
    uint64_t u;
    double r;
    json_text text;
} number;

static number scan_number(json *j, const char *what)
{
    number v = {.kind = NUM_INT};
    const char *p = j->p, *start = p;
    bool minus = *p == '-';
    if (minus) p++;
    if (*p < '0' || *p > '9') json_expected(j, what);
    if (*p == '0' && p[1] >= '0' && p[1] <= '9') json_fail(j, p, "a number with a leading zero");
    uint64_t u = 0;
    bool big = false;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t d = (uint64_t)(*p - '0');
        if (u > (UINT64_MAX - d) / 10) big = true;
        u = u * 10 + d;
    }
    bool real = false;
    if (*p == '.') {
        real = true;
        p++;
        if (*p < '0' || *p > '9') json_fail(j, p, "expected a digit after the decimal point");
        while (*p >= '0' && *p <= '9') p++;
    }
    if (*p == 'e' || *p == 'E') {
        real = true;
        p++;
        if (*p == '+' || *p == '-') p++;
        if (*p < '0' || *p > '9') json_fail(j, p, "expected a digit in the exponent");
        while (*p >= '0' && *p <= '9') p++;
    }
    v.text = (json_text){start, (size_t)(p - start)};
    if (real) {
        char *stop;
        v.kind = NUM_REAL;
        v.r = strtod(start, &stop);
        if (stop != p) json_fail(j, start, "a number that cannot be read");
    } else if (big || (minus && u > (uint64_t)INT64_MAX + 1)) {
        v.kind = NUM_BIG;
    } else if (minus) {
        v.i = (int64_t)(0 - u);
    } else if (u > INT64_MAX) {
        v.kind = NUM_UINT;
        v.u = u;
    } else {
        v.i = (int64_t)u;
    }
    j->p = p;
    return v;
}

int64_t json_int(json *j, const char *what)
{
    json_space(j);
    const char *at = j->p;
    number v = scan_number(j, what);
    if (v.kind != NUM_INT) json_fail(j, at, "expected %s: an integer of 64 bits", what);
    return v.i;
}

uint64_t json_uint(json *j, const char *what)
{
    json_space(j);
    const char *at = j->p;
    number v = scan_number(j, what);
    if (v.kind == NUM_UINT) return v.u;
    if (v.kind != NUM_INT || v.i < 0)
        json_fail(j, at, "expected %s: an unsigned integer of 64 bits", what);
    return (uint64_t)v.i;
}

value_id json_scalar(json *j, history *h, const char *what)
{
    json_space(j);
    if (j->p >= j->end) json_expected(j, what);
    switch (*j->p) {
    case '"': {
        json_text t = json_string(j);
        return value_str(h, t.at, t.n);
    }
    case 'n':
        if (json_literal(j, "null")) return VALUE_NULL;
        json_expected(j, what);
    case 't':
        if (json_literal(j, "true")) return value_bool(h, true);
        json_expected(j, what);
    case 'f':
        if (json_literal(j, "false")) return value_bool(h, false);
        json_expected(j, what);
    default: break;
    }
    const char *at = j->p;
    number v = scan_number(j, what);
    /* Not in scan_number: fields that are only passed on may hold what they like. */
    if (v.kind == NUM_REAL && v.r - v.r != 0)
        json_fail(j, at, "a number that is too large for a double");
    switch (v.kind) {
    case NUM_INT: return value_int(h, v.i);
    case NUM_UINT: return value_uint(h, v.u);
    case NUM_BIG: return value_big(h, v.text.at, v.text.n);
    case NUM_REAL: return value_real(h, v.r);
    }
    return VALUE_NULL;
}

key_id json_key(json *j, history *h)
{
    json_space(j);
    if (*j->p == '"') {
        json_text t = json_string(j);
        return key_str(h, t.at, t.n);
    }
    const char *at = j->p;
    number v = scan_number(j, "a key (integer or string)");
    if (v.kind == NUM_INT) return key_int(h, v.i);
    if (v.kind == NUM_UINT) return key_uint(h, v.u);
    json_fail(j, at, "a key must be a string or an integer in [-2^63, 2^64)");
}

uint32_t json_bound(json *j, history *h, uint32_t *kind)
{
    json_space(j);
    *kind = BOUND_AT;
    if (*j->p == '"') {
        json_text t = json_string(j);
        return bound_str(h, t.at, t.n);
    }
    if (json_literal(j, "null")) {
        *kind = BOUND_NONE;
        return 0;
    }
    const char *at = j->p;
    number v = scan_number(j, "a bound (key or null)");
    if (v.kind == NUM_INT) return bound_int(h, v.i);
    if (v.kind == NUM_UINT) return bound_uint(h, v.u);
    json_fail(j, at, "a bound must be null, a string or an integer in [-2^63, 2^64)");
}

label json_label(json *j, history *h, const char *what)
{
    json_space(j);
    if (*j->p == '"') {
        json_text t = json_string(j);
        return label_str(h, t.at, t.n);
    }
    const char *at = j->p;
    number v = scan_number(j, what);
    if (v.kind == NUM_INT) return label_int(h, v.i);
    if (v.kind == NUM_UINT) return label_uint(h, v.u);
    json_fail(j, at, "%s must be an integer of 64 bits or a string", what);
}

json_text json_member(json *j)
{
    json_text name = json_string(j);
    json_need(j, ':');
    return name;
}

static void skip_value(json *j)
{
    json_space(j);
    if (j->p >= j->end) json_expected(j, "a value");
    if (++j->depth > JSON_DEPTH) json_fail(j, j->p, "nested deeper than %d levels", JSON_DEPTH);
    char c = *j->p;
    if (c == '"') {
        json_string(j);
    } else if (c == '{') {
        j->p++;
        if (!json_take(j, '}')) do {
                json_string(j);
                json_need(j, ':');
                skip_value(j);
            } while (json_more(j, '}'));
    } else if (c == '[') {
        j->p++;
        if (!json_take(j, ']')) do {
                skip_value(j);
            } while (json_more(j, ']'));
    } else if (!json_literal(j, "null") && !json_literal(j, "true") && !json_literal(j, "false")) {
        scan_number(j, "a value");
    }
    j->depth--;
}

json_text json_skip(json *j)
{
    json_space(j);
    const char *start = j->p;
    skip_value(j);
    return (json_text){start, (size_t)(j->p - start)};
}

void json_compact(json_text t, strbuf *out)
{
    bool quoted = false;
    const char *end = t.at + t.n;
    for (const char *p = t.at; p < end;) {
        const char *start = p;
        if (!quoted)
            while (p < end && *p != ' ' && *p != '\t' && *p != '\r' && *p != '\n' && *p != '"') p++;
        else
            while (p < end && *p != '"') p += *p == '\\' ? 2 : 1;
        bool quote = p < end && *p == '"';
        strbuf_add(out, start, (size_t)(p - start) + quote);
        quoted ^= quote;
        p++;
    }
}
