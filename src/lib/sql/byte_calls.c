/*
 * byte_calls.c - bytes as texts and back (encode, decode), sha256 (FIPS 180-4), overlay.
 *
 * base64 is written as PostgreSQL does it, with a line break after every 76 characters.  Texts that
 * are no base64 are refused, since PostgreSQL accepts some of them.
 */
#include <assert.h>

#include "sql/builtin.h"

static bool format_is(value format, const char *name)
{
    size_t n = strlen(name);
    if (format.n != n) return false;
    for (size_t i = 0; i < n; i++)
        if ((format.s[i] | 32) != name[i]) return false;
    return true;
}

/* ---- encode ---------------------------------------------------------------------------------- */

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static value as_hex(sql_exec *x, value v)
{
    static const char digits[] = "0123456789abcdef";
    char *t = arena_get(&x->work, (size_t)v.n * 2 + 1);
    for (uint32_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.s[i];
        t[2 * i] = digits[c >> 4];
        t[2 * i + 1] = digits[c & 15];
    }
    return value_text(t, (size_t)v.n * 2);
}

static value as_base64(sql_exec *x, value v)
{
    char *t = arena_get(&x->work, (size_t)v.n * 2 + 8);
    size_t n = 0, line = 0;
    const unsigned char *s = (const unsigned char *)v.s;
    for (uint32_t i = 0; i < v.n; i += 3) {
        uint32_t left = v.n - i;
        uint32_t bits = (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
                        (left > 2 ? (uint32_t)s[i + 2] : 0);
        for (uint32_t k = 0; k < 4; k++)
            t[n++] = k <= left ? digits64[bits >> (18 - 6 * k) & 63] : '=';
        line += 4;
        if (line == 76 && left >= 3) t[n++] = '\n', line = 0;
    }
    return value_text(t, n);
}

/* Bytes that are no ASCII as octal numbers. */
static value as_escaped(sql_exec *x, value v)
{
    char *t = arena_get(&x->work, (size_t)v.n * 4 + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.s[i];
        if (!c || c >= 0x80) {
            t[n++] = '\\';
            for (int k = 6; k >= 0; k -= 3) t[n++] = (char)('0' + (c >> k & 7));
            continue;
        }
        if (c == '\\') t[n++] = '\\';
        t[n++] = (char)c;
    }
    return value_text(t, n);
}

static value encoded(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    if (v[0].n > UINT32_MAX / 8) sql_refuse(&x->c, e->position, "encode of this many bytes");
    if (format_is(v[1], "hex")) return as_hex(x, v[0]);
    if (format_is(v[1], "base64")) return as_base64(x, v[0]);
    if (format_is(v[1], "escape")) return as_escaped(x, v[0]);
    sql_refuse(&x->c, e->position, "encode with this format");
}

/* ---- decode ---------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static int hex_digit(char c)
{
    char low = (char)(c | 32);
    if (c >= '0' && c <= '9') return c - '0';
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static value of_hex(sql_exec *x, value v)
{
    char *t = arena_get(&x->work, (size_t)v.n / 2 + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < v.n;) {
        if (is_space(v.s[i])) {
            i++;
            continue;
        }
        int high = hex_digit(v.s[i]);
        if (high < 0) sql_raise(&x->c, "22023", "invalid hexadecimal digit");
        if (i + 1 == v.n)
            sql_raise(&x->c, "22023", "invalid hexadecimal data: odd number of digits");
        int low = hex_digit(v.s[i + 1]);
        if (low < 0) sql_raise(&x->c, "22023", "invalid hexadecimal digit");
        t[n++] = (char)(high << 4 | low);
        i += 2;
    }
    return value_text(t, n);
}

static value of_base64(sql_exec *x, const expr *e, value v)
{
    char *t = arena_get(&x->work, (size_t)v.n + 4);
    size_t n = 0;
    uint32_t bits = 0, have = 0, ends = 0;
    for (uint32_t i = 0; i < v.n; i++) {
        const char *at = v.s[i] ? strchr(digits64, v.s[i]) : NULL;
        if (is_space(v.s[i])) continue;
        if (v.s[i] != '=' && (!at || ends)) sql_refuse(&x->c, e->position, "decode of this text");
        ends += v.s[i] == '=';
        bits = bits << 6 | (at ? (uint32_t)(at - digits64) : 0);
        if (++have < 4) continue;
        if (ends > 2) sql_refuse(&x->c, e->position, "decode of this text");
        for (uint32_t k = 0; k < 3 - ends; k++) t[n++] = (char)(bits >> (16 - 8 * k) & 255);
        have = bits = 0;
    }
    if (have) sql_refuse(&x->c, e->position, "decode of this text");
    return value_text(t, n);
}

static value decoded(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    if (format_is(v[1], "hex")) return of_hex(x, v[0]);
    if (format_is(v[1], "base64")) return of_base64(x, e, v[0]);
    sql_refuse(&x->c, e->position, "decode with this format");
}

/* ---- sha256 ---------------------------------------------------------------------------------- */

static const uint32_t sha_words[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t v, unsigned by)
{
    return v >> by | v << (32 - by);
}

static void sha_block(uint32_t h[8], const unsigned char *p)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | (uint32_t)p[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t one = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha_words[i] + w[i];
        uint32_t two = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++) h[i] += s[i];
}

static value sha256(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[128] = {0};
    const unsigned char *p = (const unsigned char *)v[0].s;
    uint32_t n = v[0].n, done = 0;
    (void)e;
    for (; n - done >= 64; done += 64) sha_block(h, p + done);
    uint32_t rest = n - done, size = rest < 56 ? 64 : 128;
    if (rest) memcpy(last, p + done, rest);
    last[rest] = 0x80;
    for (uint32_t i = 0; i < 8; i++) last[size - 1 - i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
    for (uint32_t i = 0; i < size; i += 64) sha_block(h, last + i);
    char *t = arena_get(&x->work, 32);
    for (int i = 0; i < 32; i++) t[i] = (char)(h[i / 4] >> (24 - 8 * (i % 4)) & 255);
    return value_text(t, 32);
}

/* ---- overlay --------------------------------------------------------------------------------- */

/* The byte where a character begins; those beyond the end begin there. */
static uint32_t byte_of(value v, int64_t character)
{
    uint32_t i = 0;
    for (int64_t k = 0; i < v.n && k < character; k++)
        for (i++; i < v.n && ((unsigned char)v.s[i] & 0xc0) == 0x80;) i++;
    return i;
}

static value overlay(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 3 && e->n <= 4 && !v[0].null && !v[1].null);
    int64_t from = v[2].i, len = e->n > 3 ? v[3].i : (int64_t)text_length(v[1]);
    if (from <= 0) sql_raise(&x->c, "22011", "negative substring length not allowed");
    if (from + len > INT32_MAX) sql_raise(&x->c, "22003", "integer out of range");
    uint32_t before = byte_of(v[0], from - 1), after = byte_of(v[0], from - 1 + len);
    size_t n = (size_t)before + v[1].n + (v[0].n - after);
    if (n > UINT32_MAX / 4) sql_raise(&x->c, "54000", "requested length too large");
    char *t = arena_get(&x->work, n + 1);
    memcpy(t, v[0].s, before);
    memcpy(t + before, v[1].s, v[1].n);
    memcpy(t + before + v[1].n, v[0].s + after, v[0].n - after);
    return value_text(t, n);
}

const builtin byte_builtins[] = {
    {"encode", "yt>t", encoded, 0},    {"decode", "tt>y", decoded, 0},
    {"sha256", "y>y", sha256, 0},      {"overlay", "tt4>t", overlay, 0},
    {"overlay", "tt44>t", overlay, 0}, {NULL, NULL, NULL, 0},
};
