/*
 * digest_calls.c - md5 (RFC 1321), characters by number, hexadecimal numbers, patterns with ESCAPE,
 * common divisors, and how many arguments are null.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "sql/builtin.h"

/* ---- md5 ------------------------------------------------------------------------------------- */

static uint32_t rotated(uint32_t v, unsigned by)
{
    return v << by | v >> (32 - by);
}

static void md5_block(uint32_t h[4], const unsigned char *p)
{
    static const unsigned char turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t w[16], a = h[0], b = h[1], c = h[2], d = h[3];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] | (uint32_t)p[4 * i + 1] << 8 | (uint32_t)p[4 * i + 2] << 16 |
               (uint32_t)p[4 * i + 3] << 24;
    for (unsigned i = 0; i < 64; i++) {
        uint32_t f, g;
        if (i < 16)
            f = (b & c) | (~b & d), g = i;
        else if (i < 32)
            f = (d & b) | (~d & c), g = (5 * i + 1) % 16;
        else if (i < 48)
            f = b ^ c ^ d, g = (3 * i + 5) % 16;
        else
            f = c ^ (b | ~d), g = 7 * i % 16;
        uint32_t k = (uint32_t)floor(fabs(sin((double)i + 1)) * 4294967296.0);
        uint32_t t = d;
        d = c;
        c = b;
        b += rotated(a + f + k + w[g], turns[i / 16][i % 4]);
        a = t;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d;
}

static value md5(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    uint32_t h[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    unsigned char last[128] = {0};
    const unsigned char *p = (const unsigned char *)v[0].s;
    uint32_t n = v[0].n, done = 0;
    (void)e;
    for (; n - done >= 64; done += 64) md5_block(h, p + done);
    uint32_t rest = n - done, size = rest < 56 ? 64 : 128;
    if (rest) memcpy(last, p + done, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[size - 8 + (uint32_t)i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
    for (uint32_t i = 0; i < size; i += 64) md5_block(h, last + i);
    char *t = arena_get(&x->work, 33);
    for (int i = 0; i < 16; i++)
        snprintf(t + 2 * i, 3, "%02x", (unsigned)(h[i / 4] >> 8 * (i % 4) & 255));
    return value_text(t, 32);
}

/* ---- characters and numbers ------------------------------------------------------------------ */

static value chr(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    int64_t c = v[0].i;
    char *t = arena_get(&x->work, 5);
    (void)e;
    if (c < 0) sql_raise(&x->c, "22023", "character number must be positive");
    if (!c) sql_raise(&x->c, "54000", "null character not permitted");
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        sql_raise(&x->c, "54000", "requested character not valid for encoding");
    int n = 0;
    if (c < 0x80) {
        t[n++] = (char)c;
    } else {
        int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        t[n++] = (char)((0xff00 >> (more + 1) & 0xff) | c >> 6 * more);
        while (more-- > 0) t[n++] = (char)(0x80 | (c >> 6 * more & 0x3f));
    }
    return value_text(t, (size_t)n);
}

static value to_hex(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    char *t = arena_get(&x->work, 20);
    uint64_t u = e->arg[0]->t.id == T_INT4 ? (uint32_t)v[0].i : (uint64_t)v[0].i;
    return value_text(t, (size_t)snprintf(t, 20, "%llx", (unsigned long long)u));
}

/* What setval answers; bounds of sequences are not known here. */
static value set_sequence(sql_exec *x, const expr *e, const value *v)
{
    if (v[0].i < 1) sql_refuse(&x->c, e->position, "setval to a value that may be out of bounds");
    return v[0];
}

static value divisor(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2);
    uint64_t a = v[0].i < 0 ? 0 - (uint64_t)v[0].i : (uint64_t)v[0].i;
    uint64_t b = v[1].i < 0 ? 0 - (uint64_t)v[1].i : (uint64_t)v[1].i;
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    if (a > INT64_MAX) sql_raise(&x->c, "22003", "bigint out of range");
    return value_int(value_int_range(&x->c, e->t.id, (int64_t)a));
}

static value multiple(sql_exec *x, const expr *e, const value *v)
{
    if (!v[0].i || !v[1].i) return value_int(0);
    value d = divisor(x, e, v);
    int64_t r;
    if (__builtin_mul_overflow(v[0].i / d.i, v[1].i, &r) || r == INT64_MIN)
        sql_raise(&x->c, "22003", "bigint out of range");
    return value_int(value_int_range(&x->c, e->t.id, r < 0 ? -r : r));
}

static value nulls_counted(sql_exec *x, const expr *e, const value *v)
{
    int64_t n = 0;
    (void)x;
    for (uint32_t i = 0; i < e->n; i++) n += v[i].null;
    return value_int(e->builtin->name[4] == 'n' && e->builtin->name[5] == 'o' ? e->n - n : n);
}

/* LIKE ... ESCAPE: the same pattern with a backslash for the escape, as PostgreSQL rewrites it. */
static value escaped_pattern(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    value p = v[0];
    if (text_length(v[1]) > 1) sql_raise(&x->c, "22025", "invalid escape string");
    if (v[1].n > 1) sql_refuse(&x->c, e->position, "an escape that is not an ASCII character");
    if (v[1].n && v[1].s[0] == '\\') return p;
    char *t = arena_get(&x->work, 2 * (size_t)p.n + 1);
    size_t n = 0;
    bool after = false;
    for (uint32_t i = 0; i < p.n; i++) {
        if (v[1].n && p.s[i] == v[1].s[0] && !after) {
            t[n++] = '\\';
            after = true;
            continue;
        }
        if (p.s[i] == '\\' && !after) t[n++] = '\\';
        if (p.s[i] == '\\' && after) { /* the escape before it is there already */
            t[n++] = '\\';
            after = false;
            continue;
        }
        t[n++] = p.s[i];
        after = false;
    }
    return value_text(t, n);
}

const builtin digest_builtins[] = {
    {"md5", "t>t", md5, 0},
    {"chr", "4>t", chr, 0},
    {"to_hex", "4>t", to_hex, BUILTIN_EXACT},
    {"to_hex", "8>t", to_hex, BUILTIN_EXACT},
    {"setval", "8>8", set_sequence, BUILTIN_STABLE}, /* without the sequence; see bind_expr.c */
    {"gcd", "44>4", divisor, BUILTIN_EXACT},
    {"gcd", "88>8", divisor, BUILTIN_EXACT},
    {"lcm", "44>4", multiple, BUILTIN_EXACT},
    {"lcm", "88>8", multiple, BUILTIN_EXACT},
    {"num_nulls", "*...>4", nulls_counted, BUILTIN_NULLS},
    {"num_nonnulls", "*...>4", nulls_counted, BUILTIN_NULLS},
    {"like_escape", "tt>t", escaped_pattern, 0},
    {NULL, NULL, NULL, 0},
};
