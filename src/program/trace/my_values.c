/*
 * my_values.c - values in the two forms of MariaDB's and MySQL's protocol.
 *
 * Whole numbers become numbers, everything else the text that the server prints.  Floating point in
 * binary form is not shown: its text depends on the server.
 */
#include "trace/my_values.h"

enum my_type {
    MY_DECIMAL = 0,
    MY_TINY = 1,
    MY_SHORT = 2,
    MY_LONG = 3,
    MY_FLOAT = 4,
    MY_DOUBLE = 5,
    MY_NULL = 6,
    MY_TIMESTAMP = 7,
    MY_LONGLONG = 8,
    MY_INT24 = 9,
    MY_DATE = 10,
    MY_TIME = 11,
    MY_DATETIME = 12,
    MY_YEAR = 13,
    MY_BIT = 16,
    MY_NEWDECIMAL = 246
};

static bool is_whole(uint8_t type)
{
    return type == MY_TINY || type == MY_SHORT || type == MY_LONG || type == MY_LONGLONG ||
           type == MY_INT24 || type == MY_YEAR;
}

static bool digits_only(const char *at, uint32_t n)
{
    uint32_t i = n && *at == '-';
    if (i == n || n > 20 || (at[i] == '0' && n > i + 1)) return false;
    for (; i < n; i++)
        if (at[i] < '0' || at[i] > '9') return false;
    return true;
}

static bool put_characters(strbuf *out, const my_column *c, bool utf8, const char *at, uint32_t n)
{
    if (c->type == MY_BIT) return false;
    if (c->is_binary) {
        strbuf_str(out, "\"\\\\x");
        for (uint32_t i = 0; i < n; i++) strbuf_printf(out, "%02x", (unsigned char)at[i]);
        strbuf_char(out, '"');
        return true;
    }
    for (uint32_t i = 0; i < n;) {
        size_t k = (unsigned char)at[i] < 0x80 ? 1 : utf8 ? utf8_length(at + i, n - i) : 0;
        if (!k) return false;
        i += (uint32_t)k;
    }
    strbuf_json(out, n ? at : "", n);
    return true;
}

bool my_value_text(strbuf *out, const my_column *c, bool utf8, const char *at, uint32_t n)
{
    if (!is_whole(c->type) || !digits_only(at, n)) return put_characters(out, c, utf8, at, n);
    strbuf_add(out, at, n);
    return true;
}

/* Lengths 0, 4, 7 and 11: parts that are 0 are left out. */
static bool put_date(strbuf *out, const my_column *c, wire_body *b)
{
    uint8_t n = wire_u8(b);
    if (b->bad || (n != 0 && n != 4 && n != 7 && n != 11)) {
        b->bad = true;
        return false;
    }
    uint32_t year = n ? my_u16(b) : 0, month = n ? wire_u8(b) : 0, day = n ? wire_u8(b) : 0;
    uint32_t hour = n > 4 ? wire_u8(b) : 0, minute = n > 4 ? wire_u8(b) : 0;
    uint32_t second = n > 4 ? wire_u8(b) : 0, micro = n > 7 ? my_u32(b) : 0;
    if (b->bad || micro) return false; /* how many digits are printed is not said here */
    strbuf_printf(out, "\"%04u-%02u-%02u", (unsigned)year, (unsigned)month, (unsigned)day);
    if (c->type != MY_DATE)
        strbuf_printf(out, " %02u:%02u:%02u", (unsigned)hour, (unsigned)minute, (unsigned)second);
    strbuf_char(out, '"');
    return true;
}

static bool put_whole(strbuf *out, const my_column *c, wire_body *b)
{
    uint32_t bytes = c->type == MY_TINY                          ? 1
                     : c->type == MY_SHORT || c->type == MY_YEAR ? 2
                     : c->type == MY_LONGLONG                    ? 8
                                                                 : 4;
    uint64_t v = bytes == 1   ? wire_u8(b)
                 : bytes == 2 ? my_u16(b)
                 : bytes == 4 ? my_u32(b)
                              : my_u64(b);
    if (b->bad) return false;
    if (c->is_unsigned) {
        strbuf_u64(out, v);
        return true;
    }
    unsigned shift = 64 - 8 * bytes;
    strbuf_i64(out, (int64_t)(v << shift) >> shift);
    return true;
}

bool my_value_binary(strbuf *out, const my_column *c, bool utf8, wire_body *b)
{
    uint32_t n;
    if (is_whole(c->type)) return put_whole(out, c, b);
    switch (c->type) {
    case MY_NULL: strbuf_str(out, "null"); return true;
    case MY_FLOAT: wire_bytes(b, 4); return false;
    case MY_DOUBLE: wire_bytes(b, 8); return false;
    case MY_DATE:
    case MY_DATETIME:
    case MY_TIMESTAMP: return put_date(out, c, b);
    case MY_TIME: wire_bytes(b, wire_u8(b)); return false;
    default: {
        const char *at = my_text(b, &n);
        if (!at) b->bad = true;
        return at && put_characters(out, c, utf8, at, n);
    }
    }
}
