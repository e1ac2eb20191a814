/*
 * edn_lex.c - scanning EDN forms, and turning them into JSON.
 *
 * The grammar is that of https://github.com/edn-format/edn, plus what Clojure prints and edn
 * readers accept: ##Inf, #"regex", #:ns{...}, octal escapes, and the escape of a slash, which
 * JSON has.
 *
 * Invariant: what edn_skip has accepted is well formed, so the functions that look at a form a
 * second time check no syntax; recursion ends at EDN_DEPTH.
 */
#include "read/edn_lex.h"

#include <assert.h>
#include <stdio.h>

#define S EDN_SPACE
#define D EDN_DELIMITER
#define T EDN_TOKEN
#define T16 T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T
const unsigned char edn_classes[256] = {
    /* 00 */ 0,   0,   0,   0,   0,   0,   0,   0,   0, S, S, S, S, S, 0, 0,
    /* 10 */ 0,   0,   0,   0,   0,   0,   0,   0,   0, 0, 0, 0, S, S, S, S,
    /* 20 */ S,   T,   D,   T,   T,   T,   T,   T,   D, D, T, T, S, T, T, T,
    /* 30 */ T,   T,   T,   T,   T,   T,   T,   T,   T, T, T, D, T, T, T, T,
    /* 40 */ T16,
    /* 50 */ T,   T,   T,   T,   T,   T,   T,   T,   T, T, T, D, D, D, T, T,
    /* 60 */ T16,
    /* 70 */ T,   T,   T,   T,   T,   T,   T,   T,   T, T, T, D, T, D, T, 0,
    /* 80 */ T16, T16, T16, T16, T16, T16, T16, T16,
};
#undef S
#undef D
#undef T
#undef T16

void edn_window(edn *e, source *s)
{
    *e = (edn){.s = s, .end = s->at + s->n};
}

void edn_copy(edn *e, source *s, edn_span form)
{
    assert(*form.end == 0);
    *e = (edn){.s = s, .end = form.end, .copy = true};
}

void edn_fail(edn *e, const char *where, const char *format, ...)
{
    char text[GUARD_TEXT];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    assert(!e->copy); /* it was checked before it was copied */
    if (e->copy) guard_fail(e->s->guard, GUARD_BUG, "EDN form checked twice: %s", text);
    source_fail(e->s, (size_t)(where - e->s->at), "%s", text);
}

static _Noreturn void fail_byte(edn *e, const char *p)
{
    unsigned char c = (unsigned char)*p;
    if (c < 0x20 || c == 0x7f) edn_fail(e, p, "unexpected byte 0x%02x", c);
    edn_fail(e, p, "unexpected '%c'", c);
}

static void deeper(edn *e, const char *p)
{
    if (++e->depth > EDN_DEPTH) edn_fail(e, p, "nested more than %d deep", EDN_DEPTH);
}

const char *edn_space_slow(edn *e, const char *p)
{
    for (;;) {
        while (edn_class_of(*p) == EDN_SPACE) p++;
        if (*p == ';') {
            const char *nl = memchr(p, '\n', (size_t)(e->end - p));
            if (!nl && !e->s->eof) return NULL;
            p = nl ? nl : e->end; /* a comment may be the last thing of a file */
        } else if (*p == '#' && p + 1 == e->end) {
            e->open = p;
            return NULL;
        } else if (*p == '#' && p[1] == '_') {
            deeper(e, p);
            const char *form = edn_space_slow(e, p + 2);
            const char *after = form ? edn_skip(e, form) : NULL;
            if (!after) {
                e->open = p;
                return NULL;
            }
            e->depth--;
            p = after;
        } else {
            return p == e->end ? NULL : p;
        }
    }
}

/* [+-]? (0 | [1-9][0-9]*) and one of: nothing, N, M, /digits, fraction and exponent, these and M */
static bool number_ok(const char *p, const char *end)
{
    if (*p == '+' || *p == '-') p++;
    if (*p == '0' && p + 1 < end && edn_digit(p[1])) return false;
    while (p < end && edn_digit(*p)) p++;
    if (p == end) return true;
    if (*p == 'N') return p + 1 == end;
    if (*p == '/') {
        const char *q = ++p;
        while (p < end && edn_digit(*p)) p++;
        return p > q && p == end;
    }
    if (*p == '.') do
            p++;
        while (p < end && edn_digit(*p));
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        const char *q = p;
        while (p < end && edn_digit(*p)) p++;
        if (p == q) return false;
    }
    return p == end || (*p == 'M' && p + 1 == end);
}

static const char *skip_token(edn *e, const char *p)
{
    const char *start = p;
    while (edn_digit(*p)) p++;
    if (p > start && edn_class_of(*p) != EDN_TOKEN && edn_class_of(*p) != EDN_BAD &&
        (*start != '0' || p == start + 1))
        return p;
    p = edn_token(p);
    if (p == e->end) return NULL;
    if (p == start || edn_class_of(*p) == EDN_BAD) fail_byte(e, p);
    if (edn_is_number(start)) {
        if (!number_ok(start, p))
            edn_fail(e, start, "malformed number '%.*s'", p - start > 40 ? 40 : (int)(p - start),
                     start);
    } else if (*start == ':' && p == start + 1) {
        edn_fail(e, start, "keyword without a name");
    } else if (*start == '^' || *start == '`' || *start == '~' || *start == '@') {
        fail_byte(e, start);
    }
    return p;
}

static int hex_digit(char c)
{
    if (edn_digit(c)) return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* p stands on the backslash; a regular expression has its own escapes. */
static const char *skip_escape(edn *e, const char *p, bool regex)
{
    if (p + 1 == e->end) return NULL;
    if (regex) return p + 2;
    if (p[1] == 'u') {
        for (int i = 2; i < 6; i++) {
            if (p + i == e->end) return NULL;
            if (hex_digit(p[i]) < 0) edn_fail(e, p, "\\u needs four hexadecimal digits");
        }
        return p + 6;
    }
    if (p[1] >= '0' && p[1] <= '7') return p + 2; /* further octal digits are plain text here */
    if (!p[1] || !strchr("trnbf\\\"/", p[1])) edn_fail(e, p, "unknown escape in a string");
    return p + 2;
}

static const char *skip_string(edn *e, const char *p, bool regex)
{
    for (p++;;) {
        while (*p && *p != '"' && *p != '\\') p++;
        if (*p == '"') return p + 1;
        if (!*p) {
            if (p == e->end) return NULL;
            p++; /* a NUL inside a string is a character like any other */
        } else if (!(p = skip_escape(e, p, regex))) {
            return NULL;
        }
    }
}

/* \a \newline \u03bb \o12 \( : one character whatever it is, then the rest of a word. */
static const char *skip_char(edn *e, const char *p)
{
    if (p + 1 == e->end) return NULL;
    if (edn_class_of(p[1]) == EDN_SPACE || edn_class_of(p[1]) == EDN_BAD)
        edn_fail(e, p, "backslash without a character");
    const char *after = edn_class_of(p[1]) == EDN_TOKEN ? edn_token(p + 1) : p + 2;
    return after == e->end ? NULL : after;
}

static const char *skip_items(edn *e, const char *open, const char *p, char close)
{
    size_t items = 0;
    const char *last = open;
    deeper(e, open);
    for (;; items++) {
        if (!(p = edn_space(e, p))) return NULL;
        if (*p == close) break;
        if (*p == ']' || *p == ')' || *p == '}')
            edn_fail(e, p, "expected '%c', found '%c'", close, *p);
        last = p;
        if (!(p = edn_skip(e, p))) return NULL;
    }
    if (*open == '{' && items % 2) edn_fail(e, last, "map key without a value");
    e->depth--;
    return p + 1;
}

static const char *skip_dispatch(edn *e, const char *p)
{
    if (p + 1 == e->end) return NULL;
    if (p[1] == '{') return skip_items(e, p, p + 2, '}');
    if (p[1] == '"') return skip_string(e, p + 1, true);
    const char *tag = p + 1, *after = edn_token(tag);
    if (after == e->end) return NULL;
    if (*tag == '#' && after > tag + 1) return after; /* ##Inf */
    if (after == tag || *tag == '#' || *tag == '<' || *tag == '^')
        edn_fail(e, p, "'#' without a tag");
    deeper(e, p);
    const char *form = edn_space(e, after);
    if (!form || !(form = edn_skip(e, form))) return NULL;
    e->depth--;
    return form;
}

const char *edn_skip(edn *e, const char *p)
{
    switch (*p) {
    case '[': return skip_items(e, p, p + 1, ']');
    case '(': return skip_items(e, p, p + 1, ')');
    case '{': return skip_items(e, p, p + 1, '}');
    case '"': return skip_string(e, p, false);
    case '\\': return skip_char(e, p);
    case '#': return skip_dispatch(e, p);
    default: return skip_token(e, p);
    }
}

void edn_check_utf8(edn *e, edn_span t)
{
    const char *p = t.at;
    while (p < t.end) {
        uint64_t word;
        if (t.end - p >= 8 && (memcpy(&word, p, 8), !(word & 0x8080808080808080u))) {
            p += 8;
            continue;
        }
        size_t n = utf8_length(p, (size_t)(t.end - p));
        if (!n) edn_fail(e, p, "invalid UTF-8 (byte 0x%02x)", (unsigned char)*p);
        p += n;
    }
}

/* --- checked forms ------------------------------------------------------------------------- */

static bool is_tag(const char *p)
{
    return *p == '#' && p[1] != '{' && p[1] != '"' && p[1] != '#';
}

const char *edn_untag(edn *e, const char *p)
{
    while (is_tag(p)) {
        p = edn_space(e, edn_token(p + 1));
        assert(p);
    }
    return p;
}

bool edn_int(edn_span t, int64_t *out)
{
    if (!t.at) return false;
    const char *p = t.at, *end = t.end;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (end > p && end[-1] == 'N') end--;
    if (p == end) return false;
    uint64_t v = 0;
    for (; p < end; p++) {
        if (!edn_digit(*p)) return false;
        uint64_t d = (uint64_t)(*p - '0');
        if (v > (UINT64_MAX - d) / 10) return false;
        v = v * 10 + d;
    }
    if (v > (uint64_t)INT64_MAX + negative) return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool edn_name(edn_span t, edn_span *name)
{
    if (*t.at == ':') {
        *name = (edn_span){t.at + 1, t.end};
        return true;
    }
    if (*t.at != '"' || memchr(t.at, '\\', (size_t)(t.end - t.at))) return false;
    *name = (edn_span){t.at + 1, t.end - 1};
    return true;
}

static uint32_t hex4(const char *p)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) v = v << 4 | (uint32_t)hex_digit(p[i]);
    return v;
}

/* Java writes characters beyond U+FFFF as two \u of a surrogate pair. */
static const char *unicode_escape(const char *p, strbuf *out)
{
    uint32_t c = hex4(p + 2);
    p += 6;
    if (c >= 0xd800 && c < 0xe000) {
        uint32_t low = c < 0xdc00 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : 0;
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            p += 6;
        } else {
            c = 0xfffd;
        }
    }
    strbuf_utf8(out, c);
    return p;
}

void edn_string(const char *p, strbuf *out)
{
    for (p++; *p != '"';) {
        const char *plain = p;
        while (*p != '"' && *p != '\\') p++;
        strbuf_add(out, plain, (size_t)(p - plain));
        if (*p == '"') break;
        if (p[1] == 'u') {
            p = unicode_escape(p, out);
        } else if (p[1] >= '0' && p[1] <= '7') {
            uint32_t c = 0;
            int digits = 0;
            for (p++; digits < 3 && *p >= '0' && *p <= '7' && c < 040; digits++)
                c = c << 3 | (uint32_t)(*p++ - '0');
            strbuf_utf8(out, c);
        } else {
            static const char from[] = "trnbf\\\"/", to[] = "\t\r\n\b\f\\\"/";
            strbuf_char(out, to[strchr(from, p[1]) - from]);
            p += 2;
        }
    }
}

/* A checked number in JSON's narrower grammar. */
static void json_number(edn_span t, strbuf *out)
{
    const char *p = t.at, *end = t.end;
    if (end[-1] == 'M' || memchr(p, '/', (size_t)(end - p))) {
        strbuf_json(out, p, (size_t)(end - p));
        return;
    }
    if (*p == '+') p++;
    if (end[-1] == 'N') end--;
    const char *point = memchr(p, '.', (size_t)(end - p));
    if (point && (point + 1 == end || !edn_digit(point[1]))) { /* 1. and 1.e5 */
        strbuf_add(out, p, (size_t)(point + 1 - p));
        strbuf_char(out, '0');
        p = point + 1;
    }
    strbuf_add(out, p, (size_t)(end - p));
}

static const char *json_string(const char *p, const char *end, strbuf *out)
{
    strbuf text;
    strbuf_init(&text, out->mem);
    edn_string(p, &text);
    strbuf_json(out, text.at ? text.at : "", text.n);
    strbuf_free(&text);
    return end;
}

static const char *json_items(edn *e, const char *p, char close, strbuf *out)
{
    bool map = close == '}';
    strbuf_char(out, map ? '{' : '[');
    for (bool first = true;; first = false) {
        p = edn_space(e, p);
        if (*p == close || *p == '}') break; /* '}' with close ']': a set as an array */
        if (!first) strbuf_char(out, ',');
        if (map) {
            p = edn_space(e, edn_json_key(e, p, out));
            strbuf_char(out, ':');
        }
        p = edn_json(e, p, out);
    }
    strbuf_char(out, map ? '}' : ']');
    return p + 1;
}

const char *edn_json_key(edn *e, const char *p, strbuf *out)
{
    const char *end = edn_skip(e, p);
    if (*p == '"') return json_string(p, end, out);
    strbuf_json(out, p + (*p == ':'), (size_t)(end - p) - (*p == ':'));
    return end;
}

const char *edn_json(edn *e, const char *p, strbuf *out)
{
    switch (*p) {
    case '[': return json_items(e, p + 1, ']', out);
    case '(': return json_items(e, p + 1, ')', out);
    case '{': return json_items(e, p + 1, '}', out);
    default: break;
    }
    if (*p == '#' && p[1] == '{') return json_items(e, p + 2, ']', out);
    if (is_tag(p)) {
        const char *tag_end = edn_token(p + 1);
        strbuf_char(out, '{');
        strbuf_json(out, p, (size_t)(tag_end - p));
        strbuf_char(out, ':');
        p = edn_json(e, edn_space(e, tag_end), out);
        strbuf_char(out, '}');
        return p;
    }
    const char *end = edn_skip(e, p);
    edn_span t = {p, end};
    if (*p == '"') return json_string(p, end, out);
    if (edn_is_number(p))
        json_number(t, out);
    else if (edn_is(t, "nil"))
        strbuf_str(out, "null");
    else if (edn_is(t, "true") || edn_is(t, "false"))
        strbuf_add(out, p, (size_t)(end - p));
    else
        strbuf_json(out, p, (size_t)(end - p));
    return end;
}

bool edn_is_escaped(edn_span name)
{
    static const char *const names[] = {"session", "id",    "status",    "begin",    "end",
                                        "times",   "ops",   "commit_ts", "start_ts", "mark",
                                        "time",    "ratel", "init"};
    while (name.end - name.at > 4 && !memcmp(name.at, "edn-", 4)) name.at += 4;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (edn_is(name, names[i])) return true;
    return false;
}
