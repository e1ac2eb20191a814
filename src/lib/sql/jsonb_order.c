/*
 * jsonb_order.c - the order of jsonb, by its printed form and without memory of its own.
 *
 * As compareJsonbContainers of PostgreSQL 15 has it: null, texts, numbers, booleans, arrays,
 * objects in this order; fewer items come first; then item by item, in an object key and value in
 * turn.  A value that is no container is kept there as an array of one item, so it comes after an
 * empty array and before every other one.  Texts compare by bytes (C collation).
 */
#include <assert.h>

#include "sql/jsonb.h"

typedef struct json_place {
    const char *p, *end;
} json_place;

static int rank_at(json_place a)
{
    assert(a.p < a.end);
    switch (*a.p) {
    case 'n': return 0;
    case '"': return 1;
    case 't':
    case 'f': return 3;
    case '[': return 4;
    case '{': return 5;
    default: return 2;
    }
}

/* After the string that begins here. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) p += *p == '\\';
    return p < end ? p + 1 : end;
}

static size_t items_at(json_place a)
{
    size_t n = 1;
    int depth = 0;
    if (a.p + 1 < a.end && (a.p[1] == ']' || a.p[1] == '}')) return 0;
    for (const char *p = a.p; p < a.end;) {
        if (*p == '"') {
            p = string_end(p, a.end);
            continue;
        }
        if (*p == '[' || *p == '{') depth++;
        if ((*p == ']' || *p == '}') && !--depth) break;
        n += *p == ',' && depth == 1;
        p++;
    }
    return n;
}

/* The next byte of a string, decoded; -1: it ends. */
static int next_byte(json_place *a)
{
    static const char from[] = "bfnrt", is[] = "\b\f\n\r\t";
    if (a->p >= a->end || *a->p == '"') return -1;
    if (*a->p != '\\' || a->p + 1 >= a->end) return (unsigned char)*a->p++;
    char c = a->p[1];
    a->p += 2;
    if (c == 'u' && a->end - a->p >= 4) { /* only for control characters: \u00XX */
        int v = 0;
        for (int i = 0; i < 4; i++, a->p++)
            v = v * 16 + (*a->p <= '9' ? *a->p - '0' : (*a->p | 32) - 'a' + 10);
        return v;
    }
    const char *at = strchr(from, c);
    return at && *at ? (unsigned char)is[at - from] : (unsigned char)c;
}

static int cmp_strings(json_place *a, json_place *b)
{
    a->p++, b->p++;
    for (;;) {
        int l = next_byte(a), r = next_byte(b);
        if (l != r) return l < r ? -1 : 1;
        if (l < 0) break;
    }
    a->p++, b->p++;
    return 0;
}

static int digit_at(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9' ? *p - '0' : -1;
}

/* Numbers as numeric prints them: no zeros before, a point, no exponent. */
static int cmp_numbers(json_place *a, json_place *b)
{
    bool minus = *a->p == '-';
    if (minus != (*b->p == '-')) return minus ? -1 : 1;
    a->p += minus, b->p += minus;
    const char *l = a->p, *r = b->p;
    int way = 0;
    while (digit_at(l, a->end) >= 0) l++;
    while (digit_at(r, b->end) >= 0) r++;
    if (l - a->p != r - b->p) way = l - a->p < r - b->p ? -1 : 1;
    for (ptrdiff_t i = 0; !way && i < l - a->p; i++)
        if (a->p[i] != b->p[i]) way = a->p[i] < b->p[i] ? -1 : 1;
    l += l < a->end && *l == '.';
    r += r < b->end && *r == '.';
    for (;;) {
        int x = digit_at(l, a->end), y = digit_at(r, b->end);
        if (x < 0 && y < 0) break;
        if (!way && (x < 0 ? 0 : x) != (y < 0 ? 0 : y))
            way = (x < 0 ? 0 : x) < (y < 0 ? 0 : y) ? -1 : 1;
        l += x >= 0;
        r += y >= 0;
    }
    a->p = l, b->p = r;
    return minus ? -way : way;
}

static int cmp_items(json_place *a, json_place *b);

/* Two containers of one kind and number of items. */
static int cmp_members(json_place *a, json_place *b, size_t n, bool object)
{
    a->p++, b->p++;
    for (size_t i = 0; i < n; i++) {
        if (i) a->p += 2, b->p += 2; /* ", " */
        if (object) {
            int c = cmp_strings(a, b);
            if (c) return c;
            a->p += 2, b->p += 2; /* ": " */
        }
        int c = cmp_items(a, b);
        if (c) return c;
    }
    a->p++, b->p++;
    return 0;
}

static int cmp_items(json_place *a, json_place *b)
{
    int l = rank_at(*a), r = rank_at(*b);
    if (l != r) return l < r ? -1 : 1;
    if (l == 1) return cmp_strings(a, b);
    if (l == 2) return cmp_numbers(a, b);
    if (l == 0 || l == 3) {
        if (*a->p != *b->p) return *a->p == 'f' ? -1 : 1;
        size_t n = *a->p == 'f' ? 5 : 4;
        a->p += n, b->p += n;
        return 0;
    }
    size_t n = items_at(*a), m = items_at(*b);
    if (n != m) return n < m ? -1 : 1;
    return cmp_members(a, b, n, l == 5);
}

int jsonb_cmp(value a, value b)
{
    json_place l = {a.s, a.s + a.n}, r = {b.s, b.s + b.n};
    if (jsonb_same(a, b)) return 0;
    int of_l = rank_at(l), of_r = rank_at(r), c;
    if (of_l < 4 && of_r == 4)
        c = items_at(r) ? -1 : 1;
    else if (of_l == 4 && of_r < 4)
        c = items_at(l) ? 1 : -1;
    else
        c = cmp_items(&l, &r);
    return c ? c : 1; /* it is not the same, whatever the order says */
}
