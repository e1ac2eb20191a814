/*
 * pg_values.c - values in PostgreSQL's text and binary formats.
 *
 * Text is taken as it is, as long as the session's settings do not change it.  Of the binary
 * format the types are read that drivers ask for; each becomes the text that the server would have
 * printed, so that a log does not depend on the driver.  numeric is a number of digits to the base
 * 10000 with a weight and a scale; dates and timestamps count from 2000-01-01.
 */
#include "trace/pg_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/wire.h"

#define NUMERIC_NEG 0x4000
#define NUMERIC_NAN 0xC000
#define NUMERIC_PINF 0xD000
#define NUMERIC_NINF 0xF000

static bool valid_utf8(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t k = (unsigned char)s[i] < 0x80 ? 1 : utf8_length(s + i, n - i);
        if (!k || !s[i]) return false;
        i += k;
    }
    return true;
}

static bool all_ascii(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] >= 0x80 || !s[i]) return false;
    return true;
}

static bool put_string(strbuf *out, const pg_style *style, const char *at, uint32_t n)
{
    if (!(style->utf8 ? valid_utf8(at, n) : all_ascii(at, n))) return false;
    strbuf_json(out, at, n);
    return true;
}

static bool whole_number(const char *at, uint32_t n)
{
    uint32_t i = n > 1 && *at == '-';
    if (i == n || n > 20 || (at[i] == '0' && n > i + 1)) return false;
    for (; i < n; i++)
        if (at[i] < '0' || at[i] > '9') return false;
    return true;
}

static bool put_text(strbuf *out, const pg_style *style, uint32_t type, const char *at, uint32_t n)
{
    bool number = type == PG_INT2 || type == PG_INT4 || type == PG_INT8;
    if (number && whole_number(at, n)) {
        strbuf_add(out, at, n);
        return true;
    }
    if (type == PG_BOOL && n == 1 && (*at == 't' || *at == 'f')) {
        strbuf_str(out, *at == 't' ? "true" : "false");
        return true;
    }
    if ((type == PG_DATE || type == PG_TIMESTAMP) && !style->iso_dates) return false;
    return put_string(out, style, at, n);
}

static int64_t signed_of(wire_body *b, uint32_t n)
{
    uint64_t v = n == 2 ? wire_u16(b) : wire_u32(b);
    if (n == 8) v = v << 32 | wire_u32(b);
    return n == 2 ? (int16_t)v : n == 4 ? (int32_t)v : (int64_t)v;
}

/* Years, months and days of a day counted from 2000-01-01 (days from the civil calendar's era). */
static void civil(int64_t day, int64_t *y, int *m, int *d)
{
    int64_t z = day + 730425; /* from 0000-03-01 */
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = yoe + era * 400 + (*m <= 2);
}

static bool put_date(strbuf *out, int64_t day, bool quote)
{
    int64_t y;
    int m, d;
    if (day <= INT32_MIN || day >= INT32_MAX) return false; /* infinity */
    civil(day, &y, &m, &d);
    if (y < 1) return false; /* BC */
    strbuf_printf(out, "%s%04lld-%02d-%02d%s", quote ? "\"" : "", (long long)y, m, d,
                  quote ? "\"" : "");
    return true;
}

static bool put_timestamp(strbuf *out, int64_t us)
{
    const int64_t a_day = 86400000000;
    if (us == INT64_MIN || us == INT64_MAX) return false;
    int64_t day = us / a_day, rest = us % a_day;
    if (rest < 0) rest += a_day, day--;
    size_t before = out->n;
    strbuf_char(out, '"');
    if (!put_date(out, day, false)) {
        out->n = before;
        return false;
    }
    int64_t s = rest / 1000000, f = rest % 1000000;
    strbuf_printf(out, " %02d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    if (f) {
        strbuf_printf(out, ".%06d", (int)f);
        while (out->at[out->n - 1] == '0') out->n--;
    }
    strbuf_char(out, '"');
    return true;
}

static bool put_numeric(strbuf *out, wire_body *b)
{
    uint16_t n = wire_u16(b);
    int weight = (int16_t)wire_u16(b);
    uint16_t sign = wire_u16(b), scale = wire_u16(b);
    const char *digits = wire_bytes(b, (uint32_t)n * 2);
    if (b->bad || b->at != b->end || scale > 0x3fff) return false;
    if (sign == NUMERIC_NAN) {
        strbuf_str(out, "\"NaN\"");
        return true;
    }
    if (sign == NUMERIC_PINF || sign == NUMERIC_NINF) {
        strbuf_str(out, sign == NUMERIC_PINF ? "\"Infinity\"" : "\"-Infinity\"");
        return true;
    }
    wire_body d = {digits, digits + (size_t)n * 2, false};
    strbuf_str(out, sign == NUMERIC_NEG ? "\"-" : "\"");
    if (weight < 0) strbuf_char(out, '0');
    int at = 0; /* digits of base 10000 that were printed or passed */
    for (; at <= weight; at++) {
        unsigned v = at < n ? wire_u16(&d) : 0;
        strbuf_printf(out, at ? "%04u" : "%u", v > 9999 ? 0 : v);
    }
    if (scale) {
        strbuf_char(out, '.');
        size_t from = out->n;
        for (int place = -1; out->n - from < scale; place--) {
            int index = weight - place;
            unsigned v = index >= 0 && index < n ? wire_u16(&d) : 0;
            strbuf_printf(out, "%04u", v > 9999 ? 0 : v);
        }
        out->n = from + scale;
    }
    strbuf_char(out, '"');
    return true;
}

/* The shortest decimal that reads back as the same number, as PostgreSQL prints it since 12; in
   plain notation only, which covers what a test can mean. */
static bool put_double(strbuf *out, double v, bool single)
{
    char text[64];
    for (int digits = single ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v) break;
    }
    if (strpbrk(text, "en")) return false; /* exponents, inf, nan */
    strbuf_printf(out, "\"%s\"", text);
    return true;
}

static bool put_float(strbuf *out, wire_body *b, uint32_t n)
{
    if (n == 4) {
        uint32_t bits = wire_u32(b);
        float f;
        memcpy(&f, &bits, 4);
        return put_double(out, (double)f, true);
    }
    uint64_t bits = (uint64_t)signed_of(b, 8);
    double v;
    memcpy(&v, &bits, 8);
    return put_double(out, v, false);
}

static void put_hex(strbuf *out, const char *at, uint32_t n, bool uuid)
{
    strbuf_str(out, uuid ? "\"" : "\"\\\\x");
    for (uint32_t i = 0; i < n; i++) {
        if (uuid && (i == 4 || i == 6 || i == 8 || i == 10)) strbuf_char(out, '-');
        strbuf_printf(out, "%02x", (unsigned char)at[i]);
    }
    strbuf_char(out, '"');
}

bool pg_value(strbuf *out, const pg_style *style, uint32_t type, bool binary, const char *at,
              uint32_t n)
{
    if (!binary) return put_text(out, style, type, at, n);
    wire_body b = {at, at + n, false};
    switch (type) {
    case PG_BOOL:
        if (n != 1) return false;
        strbuf_str(out, *at ? "true" : "false");
        return true;
    case PG_INT2:
    case PG_INT4:
    case PG_INT8:
        if (n != (type == PG_INT2 ? 2u : type == PG_INT4 ? 4u : 8u)) return false;
        strbuf_i64(out, signed_of(&b, n));
        return true;
    case PG_OID:
        if (n != 4) return false;
        strbuf_u64(out, wire_u32(&b));
        return true;
    case PG_TEXT:
    case PG_VARCHAR:
    case PG_BPCHAR:
    case PG_NAME:
    case PG_UNKNOWN:
    case PG_JSON: return put_string(out, style, at, n);
    case PG_DATE: return n == 4 && put_date(out, signed_of(&b, 4), true);
    case PG_TIMESTAMP: return n == 8 && put_timestamp(out, signed_of(&b, 8));
    case PG_FLOAT4: return n == 4 && put_float(out, &b, 4);
    case PG_FLOAT8: return n == 8 && put_float(out, &b, 8);
    case PG_NUMERIC: {
        size_t before = out->n;
        if (put_numeric(out, &b)) return true;
        out->n = before;
        return false;
    }
    case PG_BYTEA:
    case PG_UUID:
        if (type == PG_UUID && n != 16) return false;
        put_hex(out, at, n, type == PG_UUID);
        return true;
    default: return false;
    }
}
