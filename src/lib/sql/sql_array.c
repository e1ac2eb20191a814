/*
 * sql_array.c - see sql_array.h.  Input and output follow PostgreSQL 15; several
 * dimensions and bounds other than from 1 are refused.
 */
#include "sql/sql_array.h"

#include <assert.h>

#include "base/hash.h"

typedef struct item_head {
    uint32_t size, null;
} item_head;

static size_t padded(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

uint32_t array_count(value a)
{
    uint32_t n;
    memcpy(&n, a.s, sizeof n);
    return n;
}

array_walk array_begin_walk(type_id of, value a)
{
    return (array_walk){of, a.s + 8, array_count(a)};
}

bool array_next(array_walk *w, value *item)
{
    item_head h;
    if (!w->left) return false;
    w->left--;
    memcpy(&h, w->at, sizeof h);
    w->at += sizeof h;
    *item = value_null();
    if (h.null) return true;
    if (type_is_bytes(w->of)) {
        *item = value_text(w->at, h.size);
    } else if (w->of == T_NUMERIC) {
        *item = value_num((const num *)(const void *)w->at);
    } else {
        int64_t i;
        memcpy(&i, w->at, sizeof i);
        *item = value_int(i);
    }
    w->at += padded(h.size);
    return true;
}

static size_t item_size(type_id of, value v)
{
    if (v.null) return 0;
    return type_is_bytes(of) ? v.n : of == T_NUMERIC ? num_bytes(v.d) : sizeof v.i;
}

value array_make(arena *m, type_id of, const value *items, size_t n)
{
    size_t size = 8;
    for (size_t i = 0; i < n; i++) size += sizeof(item_head) + padded(item_size(of, items[i]));
    if (size > UINT32_MAX / 4) guard_fail(m->mem->guard, GUARD_NOMEM, "an array of over 1 GiB");
    char *to = arena_get(m, size), *p = to + 8;
    memset(to, 0, size);
    uint32_t count = (uint32_t)n;
    memcpy(to, &count, sizeof count);
    for (size_t i = 0; i < n; i++) {
        item_head h = {(uint32_t)item_size(of, items[i]), items[i].null};
        memcpy(p, &h, sizeof h);
        p += sizeof h;
        if (!h.null && type_is_bytes(of) && h.size) memcpy(p, items[i].s, h.size);
        if (!h.null && of == T_NUMERIC) memcpy(p, items[i].d, h.size);
        if (!h.null && of != T_NUMERIC && !type_is_bytes(of)) memcpy(p, &items[i].i, h.size);
        p += padded(h.size);
    }
    assert((size_t)(p - to) == size);
    return value_text(to, size);
}

value *array_items(arena *m, type_id of, value a, uint32_t *n)
{
    *n = array_count(a);
    value *v = arena_array(m, value, *n + 2);
    array_walk w = array_begin_walk(of, a);
    for (uint32_t i = 0; array_next(&w, &v[i]);) i++;
    return v;
}

int array_cmp(type_id of, value a, value b)
{
    array_walk l = array_begin_walk(of, a), r = array_begin_walk(of, b);
    for (;;) {
        value x, y;
        bool left = array_next(&l, &x), right = array_next(&r, &y);
        if (!left || !right) return left ? 1 : right ? -1 : 0;
        if (x.null || y.null) {
            if (x.null != y.null) return x.null ? 1 : -1;
            continue;
        }
        int c = value_cmp(of, x, y);
        if (c) return c;
    }
}

uint64_t array_hash(type_id of, value a)
{
    array_walk w = array_begin_walk(of, a);
    value v;
    uint64_t h = 11;
    while (array_next(&w, &v)) h = hash_pair(h, value_hash(of, v));
    return h;
}

/* ---- output ---------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool needs_quotes(const char *s, size_t n)
{
    static const char null[] = "null";
    if (!n) return true;
    size_t k = 0;
    while (k < n && k < 4 && (s[k] | 32) == null[k]) k++;
    if (n == 4 && k == 4) return true;
    for (size_t i = 0; i < n; i++)
        if (is_space(s[i]) || s[i] == '"' || s[i] == '\\' || s[i] == '{' || s[i] == '}' ||
            s[i] == ',')
            return true;
    return false;
}

void array_print(type_id of, value a, strbuf *out)
{
    array_walk w = array_begin_walk(of, a);
    value v;
    strbuf b;
    strbuf_init(&b, out->mem);
    strbuf_char(out, '{');
    for (bool first = true; array_next(&w, &v); first = false) {
        if (!first) strbuf_char(out, ',');
        b.n = 0;
        if (!v.null) value_print(of, v, &b);
        if (v.null) {
            strbuf_str(out, "NULL");
        } else if (!needs_quotes(b.at, b.n)) {
            strbuf_add(out, b.at, b.n);
        } else {
            strbuf_char(out, '"');
            for (size_t i = 0; i < b.n; i++) {
                if (b.at[i] == '"' || b.at[i] == '\\') strbuf_char(out, '\\');
                strbuf_char(out, b.at[i]);
            }
            strbuf_char(out, '"');
        }
    }
    strbuf_char(out, '}');
    strbuf_free(&b);
}

/* ---- input ----------------------------------------------------------------------------------- */

typedef struct array_reader {
    sql_context *c;
    const char *p, *end;
} array_reader;

_Noreturn static void malformed_array(array_reader *r)
{
    sql_raise(r->c, "22P02", "malformed array literal");
}

static void skip_space(array_reader *r)
{
    while (r->p < r->end && is_space(*r->p)) r->p++;
}

static value quoted_item(array_reader *r)
{
    const char *close = r->p + 1;
    while (close < r->end && *close != '"') close += 1 + (*close == '\\');
    if (close >= r->end) malformed_array(r);
    char *to = arena_get(r->c->work, (size_t)(close - r->p));
    size_t n = 0;
    for (r->p++; r->p < r->end && *r->p != '"'; r->p++) {
        if (*r->p == '\\' && ++r->p == r->end) malformed_array(r);
        to[n++] = *r->p;
    }
    if (r->p == r->end) malformed_array(r);
    r->p++;
    return value_text(to, n);
}

static value plain_item(array_reader *r)
{
    const char *from = r->p;
    while (r->p < r->end && *r->p != ',' && *r->p != '}') {
        if (*r->p == '"' || *r->p == '{') malformed_array(r);
        r->p += *r->p == '\\';
        if (r->p < r->end) r->p++;
    }
    if (r->p == r->end) malformed_array(r);
    char *to = arena_get(r->c->work, (size_t)(r->p - from) + 1);
    size_t n = 0, solid = 0;
    bool escaped = false;
    for (const char *q = from; q < r->p; q++) {
        bool escape = *q == '\\';
        escaped |= escape;
        q += escape;
        to[n++] = *q;
        if (escape || !is_space(*q)) solid = n;
    }
    if (!solid) malformed_array(r);
    bool null = !escaped && solid == 4 && (to[0] | 32) == 'n' && (to[1] | 32) == 'u' &&
                (to[2] | 32) == 'l' && (to[3] | 32) == 'l';
    return null ? value_null() : value_text(to, solid);
}

value array_parse(sql_context *c, type_id of, const char *s, size_t n)
{
    array_reader r = {c, s, s + n};
    VEC(value) items = {0};
    skip_space(&r);
    if (r.p < r.end && *r.p == '[') sql_refuse(c, -1, "an array with bounds");
    if (r.p == r.end || *r.p != '{') malformed_array(&r);
    r.p++;
    skip_space(&r);
    bool another = r.p == r.end || *r.p != '}';
    if (!another) r.p++;
    while (another) {
        guard_tick(c->guard);
        skip_space(&r);
        if (r.p == r.end) malformed_array(&r);
        if (*r.p == '{') sql_refuse(c, -1, "an array of several dimensions");
        value v = *r.p == '"' ? quoted_item(&r) : plain_item(&r);
        if (!v.null) v = value_parse(c, type_plain(of), v.s, v.n);
        arena_push(c->work, &items, v);
        skip_space(&r);
        if (r.p == r.end || (*r.p != ',' && *r.p != '}')) malformed_array(&r);
        another = *r.p++ == ',';
    }
    skip_space(&r);
    if (r.p != r.end) malformed_array(&r);
    return array_make(c->work, of, items.at, items.n);
}

value array_cast(sql_context *c, value a, type_id from, type_id to, cast_kind kind)
{
    uint32_t n;
    value *v = array_items(c->work, from, a, &n);
    for (uint32_t i = 0; i < n; i++)
        v[i] = value_cast(c, v[i], type_plain(from), type_plain(to), kind);
    return array_make(c->work, to, v, n);
}
