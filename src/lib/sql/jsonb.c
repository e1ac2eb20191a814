/*
 * jsonb.c - see jsonb.h.  The grammar is RFC 8259's, as PostgreSQL 15 reads it;
 * texts that nest deeper than 1 000 levels are refused, because PostgreSQL's own limit depends on
 * the stack of the server.
 */
#include "sql/jsonb.h"

#include <assert.h>

#include "base/hash.h"

#define MOST_DEPTH 1000

typedef struct jsonb_reader {
    sql_context *c;
    const char *p, *end;
    uint32_t depth;
} jsonb_reader;

_Noreturn static void invalid_json(jsonb_reader *r)
{
    sql_raise(r->c, "22P02", "invalid input syntax for type json");
}

static void skip_white(jsonb_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

jsonb_node *jsonb_new(arena *m, jsonb_kind kind, uint32_t n)
{
    jsonb_node *v = arena_get(m, sizeof *v);
    memset(v, 0, sizeof *v);
    v->kind = kind;
    v->n = n;
    v->items = arena_array(m, jsonb_node *, n + 1);
    v->keys = arena_array(m, value, n + 1);
    return v;
}

static uint32_t hex_four(jsonb_reader *r)
{
    uint32_t v = 0;
    if (r->end - r->p < 4) invalid_json(r);
    for (int i = 0; i < 4; i++, r->p++) {
        char ch = *r->p, low = (char)(ch | 32);
        if (ch >= '0' && ch <= '9')
            v = v * 16 + (uint32_t)(ch - '0');
        else if (low >= 'a' && low <= 'f')
            v = v * 16 + (uint32_t)(low - 'a') + 10;
        else
            invalid_json(r);
    }
    return v;
}

/* \uXXXX, also two of them for one character. */
static size_t unicode_escape(jsonb_reader *r, char *to)
{
    uint32_t code = hex_four(r);
    if (code >= 0xdc00 && code < 0xe000) invalid_json(r);
    if (code >= 0xd800 && code < 0xdc00) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u') invalid_json(r);
        r->p += 2;
        uint32_t low = hex_four(r);
        if (low < 0xdc00 || low >= 0xe000) invalid_json(r);
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
    }
    if (!code) sql_refuse(r->c, -1, "\\u0000 in json");
    return utf8_put(to, code);
}

static value read_string(jsonb_reader *r)
{
    const char *close = r->p + 1;
    while (close < r->end && *close != '"') close += 1 + (*close == '\\');
    if (close >= r->end) invalid_json(r);
    char *to = arena_get(r->c->work, (size_t)(close - r->p) + 4);
    size_t n = 0;
    for (r->p++; r->p < close;) {
        if ((unsigned char)*r->p < 0x20) invalid_json(r);
        if (*r->p != '\\') {
            to[n++] = *r->p++;
            continue;
        }
        static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
        const char *at = strchr(from, r->p[1]);
        r->p += 2;
        if (r->p[-1] == 'u')
            n += unicode_escape(r, to + n);
        else if (at && *at)
            to[n++] = is[at - from];
        else
            invalid_json(r);
    }
    r->p = close + 1;
    return value_text(to, n);
}

static bool some_digits(jsonb_reader *r)
{
    const char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9') r->p++;
    return r->p > from;
}

static value number_text(sql_context *c, const char *s, size_t n)
{
    const num *d = NULL;
    strbuf b;
    if (!num_parse(c->work, s, n, &d)) sql_raise(c, "22P02", "invalid input syntax for type json");
    value_need(c, d);
    strbuf_init(&b, c->work->mem);
    num_text(d, &b);
    value v = value_text(arena_text(c->work, b.at, b.n), b.n);
    strbuf_free(&b);
    return v;
}

static void read_number(jsonb_reader *r)
{
    r->p += *r->p == '-';
    const char *from = r->p;
    if (!some_digits(r) || (*from == '0' && r->p - from > 1)) invalid_json(r);
    if (r->p < r->end && *r->p == '.') {
        r->p++;
        if (!some_digits(r)) invalid_json(r);
    }
    if (r->p < r->end && (*r->p | 32) == 'e') {
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-')) r->p++;
        if (!some_digits(r)) invalid_json(r);
    }
    if (r->p < r->end && (((*r->p | 32) >= 'a' && (*r->p | 32) <= 'z') || *r->p == '_'))
        invalid_json(r);
}

static bool read_word(jsonb_reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0) return false;
    r->p += n;
    return r->p == r->end || !(((*r->p | 32) >= 'a' && (*r->p | 32) <= 'z') ||
                               (*r->p >= '0' && *r->p <= '9') || *r->p == '_');
}

static jsonb_node *read_value(jsonb_reader *r);

static jsonb_node *read_members(jsonb_reader *r, bool object)
{
    char close = object ? '}' : ']';
    VEC(value) keys = {0};
    VEC(jsonb_node *) items = {0};
    if (++r->depth > MOST_DEPTH) sql_refuse(r->c, -1, "json that nests deeper than 1 000 levels");
    r->p++;
    skip_white(r);
    bool another = r->p == r->end || *r->p != close;
    if (!another) r->p++;
    while (another) {
        guard_tick(r->c->guard);
        skip_white(r);
        if (object) {
            if (r->p == r->end || *r->p != '"') invalid_json(r);
            value k = read_string(r);
            arena_push(r->c->work, &keys, k);
            skip_white(r);
            if (r->p == r->end || *r->p++ != ':') invalid_json(r);
        }
        jsonb_node *v = read_value(r);
        arena_push(r->c->work, &items, v);
        skip_white(r);
        if (r->p == r->end || (*r->p != ',' && *r->p != close)) invalid_json(r);
        another = *r->p++ == ',';
    }
    r->depth--;
    jsonb_node *v = jsonb_new(r->c->work, object ? JSON_OBJECT : JSON_ARRAY, (uint32_t)items.n);
    if (items.n) memcpy(v->items, items.at, items.n * sizeof *items.at);
    if (keys.n) memcpy(v->keys, keys.at, keys.n * sizeof *keys.at);
    if (object) jsonb_sort_keys(r->c, v);
    return v;
}

static jsonb_node *read_value(jsonb_reader *r)
{
    jsonb_node *v = NULL;
    skip_white(r);
    const char *from = r->p;
    if (r->p == r->end) invalid_json(r);
    if (*r->p == '{' || *r->p == '[') {
        v = read_members(r, *r->p == '{');
    } else if (*r->p == '"') {
        v = jsonb_new(r->c->work, JSON_STRING, 0);
        v->text = read_string(r);
    } else if (*r->p == '-' || (*r->p >= '0' && *r->p <= '9')) {
        v = jsonb_new(r->c->work, JSON_NUMBER, 0);
        read_number(r);
        v->text = number_text(r->c, from, (size_t)(r->p - from));
    } else if (read_word(r, "true")) {
        v = jsonb_new(r->c->work, JSON_TRUE, 0);
    } else if (read_word(r, "false")) {
        v = jsonb_new(r->c->work, JSON_FALSE, 0);
    } else if (read_word(r, "null")) {
        v = jsonb_new(r->c->work, JSON_NULL, 0);
    } else {
        invalid_json(r);
    }
    v->raw = value_text(from, (size_t)(r->p - from));
    return v;
}

jsonb_node *jsonb_read(sql_context *c, const char *s, size_t n)
{
    jsonb_reader r = {c, s, s + n, 0};
    jsonb_node *v = read_value(&r);
    skip_white(&r);
    if (r.p != r.end) invalid_json(&r);
    return v;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int cmp_json_keys(value a, value b)
{
    if (a.n != b.n) return a.n < b.n ? -1 : 1;
    return memcmp(a.s, b.s, a.n);
}

void jsonb_sort_keys(sql_context *c, jsonb_node *v)
{
    value *keys = arena_array(c->work, value, v->n + 1);
    jsonb_node **items = arena_array(c->work, jsonb_node *, v->n + 1);
    for (uint32_t width = 1; width < v->n; width *= 2) {
        for (uint32_t i = 0; i < v->n; i += 2 * width) {
            uint32_t mid = i + width < v->n ? i + width : v->n;
            uint32_t end = mid + width < v->n ? mid + width : v->n, l = i, m = mid;
            for (uint32_t k = i; k < end; k++) {
                bool left = l < mid && (m >= end || cmp_json_keys(v->keys[l], v->keys[m]) <= 0);
                uint32_t at = left ? l++ : m++;
                keys[k] = v->keys[at];
                items[k] = v->items[at];
            }
        }
        memcpy(v->keys, keys, v->n * sizeof *keys);
        memcpy(v->items, items, v->n * sizeof *items);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        if (i + 1 < v->n && !cmp_json_keys(v->keys[i], v->keys[i + 1])) continue;
        v->keys[n] = v->keys[i];
        v->items[n++] = v->items[i];
    }
    v->n = n;
}

int jsonb_key_at(const jsonb_node *v, value key)
{
    uint32_t lo = 0, hi = v->n;
    assert(v->kind == JSON_OBJECT);
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        int c = cmp_json_keys(v->keys[mid], key);
        if (!c) return (int)mid;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

/* ---- output ---------------------------------------------------------------------------------- */

void jsonb_put_string(strbuf *out, const char *s, size_t n)
{
    strbuf_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        static const char odd[] = "\"\\\b\f\n\r\t", as[] = "\"\\bfnrt";
        const char *at = s[i] ? strchr(odd, s[i]) : NULL;
        if (at) {
            strbuf_char(out, '\\');
            strbuf_char(out, as[at - odd]);
        } else if ((unsigned char)s[i] < 0x20) {
            strbuf_printf(out, "\\u%04x", (unsigned)(unsigned char)s[i]);
        } else {
            strbuf_char(out, s[i]);
        }
    }
    strbuf_char(out, '"');
}

static void write_node(strbuf *out, const jsonb_node *v)
{
    static const char *const words[] = {"null", "false", "true"};
    if (v->kind <= JSON_TRUE) {
        strbuf_str(out, words[v->kind]);
    } else if (v->kind == JSON_NUMBER) {
        strbuf_add(out, v->text.s, v->text.n);
    } else if (v->kind == JSON_STRING) {
        jsonb_put_string(out, v->text.s, v->text.n);
    } else {
        bool object = v->kind == JSON_OBJECT;
        strbuf_char(out, object ? '{' : '[');
        for (uint32_t i = 0; i < v->n; i++) {
            if (i) strbuf_str(out, ", ");
            if (object) {
                jsonb_put_string(out, v->keys[i].s, v->keys[i].n);
                strbuf_str(out, ": ");
            }
            write_node(out, v->items[i]);
        }
        strbuf_char(out, object ? '}' : ']');
    }
}

value jsonb_write(sql_context *c, const jsonb_node *v)
{
    strbuf b;
    strbuf_init(&b, c->work->mem);
    write_node(&b, v);
    value r = value_text(arena_text(c->work, b.at, b.n), b.n);
    strbuf_free(&b);
    return r;
}

value jsonb_parse(sql_context *c, type_id t, const char *s, size_t n)
{
    const char *kept = arena_text(c->work, s, n);
    jsonb_node *v = jsonb_read(c, kept, n);
    return t == T_JSON ? value_text(kept, n) : jsonb_write(c, v);
}

/* ---- equality of what is printed ------------------------------------------------------------- */

/* The length of a number at s, and of its part that counts. */
static size_t number_length(const char *s, size_t n, size_t *counts)
{
    size_t i = s[0] == '-';
    bool point = false;
    while (i < n && ((s[i] >= '0' && s[i] <= '9') || s[i] == '.')) point |= s[i++] == '.';
    *counts = i;
    while (point && s[*counts - 1] == '0') --*counts;
    if (point && s[*counts - 1] == '.') --*counts;
    return i;
}

static bool starts_number(char c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

/* The text up to the next number outside of strings, or that number. */
static size_t jsonb_piece(value v, size_t at, size_t *counts)
{
    size_t i = at;
    if (starts_number(v.s[i])) return number_length(v.s + i, v.n - i, counts);
    while (i < v.n && !starts_number(v.s[i])) {
        if (v.s[i] == '"')
            for (i++; v.s[i] != '"'; i++) i += v.s[i] == '\\';
        i++;
    }
    *counts = i - at;
    return i - at;
}

bool jsonb_same(value a, value b)
{
    size_t i = 0, k = 0, l, r;
    while (i < a.n && k < b.n) {
        size_t x = jsonb_piece(a, i, &l), y = jsonb_piece(b, k, &r);
        if (l != r || memcmp(a.s + i, b.s + k, l) != 0) return false;
        i += x;
        k += y;
    }
    return i == a.n && k == b.n;
}

uint64_t jsonb_hash(value v)
{
    uint64_t h = 13;
    size_t counts;
    for (size_t i = 0; i < v.n;) {
        size_t n = jsonb_piece(v, i, &counts);
        h = hash_pair(h, hash_bytes(v.s + i, counts, 7));
        i += n;
    }
    return h;
}

static bool same_number(value a, value b)
{
    size_t l, r;
    number_length(a.s, a.n, &l);
    number_length(b.s, b.n, &r);
    return l == r && !memcmp(a.s, b.s, l);
}

bool jsonb_equal(const jsonb_node *a, const jsonb_node *b)
{
    if (a->kind != b->kind || a->n != b->n) return false;
    if (a->kind == JSON_NUMBER) return same_number(a->text, b->text);
    if (a->kind == JSON_STRING) return !cmp_json_keys(a->text, b->text);
    for (uint32_t i = 0; i < a->n; i++)
        if ((a->kind == JSON_OBJECT && cmp_json_keys(a->keys[i], b->keys[i])) ||
            !jsonb_equal(a->items[i], b->items[i]))
            return false;
    return true;
}

value jsonb_scalar(sql_context *c, value v, type to)
{
    jsonb_node *j = jsonb_read(c, v.s, v.n);
    bool truth = j->kind == JSON_TRUE || j->kind == JSON_FALSE;
    if (to.id == T_BOOL ? !truth : j->kind != JSON_NUMBER)
        sql_raise(c, "22023", "cannot cast this jsonb to type %s", type_name(to.id));
    if (to.id == T_BOOL) return value_bool(j->kind == JSON_TRUE);
    value d = value_parse(c, type_plain(T_NUMERIC), j->text.s, j->text.n);
    return value_cast(c, d, type_plain(T_NUMERIC), to, CAST_EXPLICIT);
}
