/*
 * value.c - conversions, comparison, hashing and text of values.
 *
 * Text goes in and comes out as PostgreSQL's input and output functions do it, for the types in the
 * table of value.h; dates only in ISO 8601.  Equal values have equal hashes across the types that
 * can be equal: integers and numerics share theirs.  A cast that PostgreSQL has, but whose result
 * is not known here to the byte, is refused.
 */
#include "sql/value.h"

#include <assert.h>
#include <stdio.h>

#include "base/hash.h"
#include "sql/sql_array.h"
#include "sql/calendar.h"
#include "sql/sql_float.h"
#include "sql/interval.h"
#include "sql/jsonb.h"

void sql_raise(sql_context *c, const char *state, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    memcpy(c->state, state, 5);
    c->state[5] = 0;
    guard_vfail(c->guard, SQL_RAISED, format, ap);
}

void sql_refuse(sql_context *c, int position, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    c->position = position >= 0 && !c->place.routine ? (uint32_t)position + 1 : 0;
    if (!c->place.routine) guard_vfail(c->guard, SQL_REFUSED, format, ap);
    char text[GUARD_TEXT / 2];
    vsnprintf(text, sizeof text, format, ap);
    guard_fail(c->guard, SQL_REFUSED, "%s (line %u of \"%s\")", text, (unsigned)c->place.line,
               c->place.routine);
}

static const struct {
    const char *name;
    int rank;
} types[] = {
#define TYPE(id, name, rank) {name, rank},
    SQL_TYPES
#undef TYPE
};

static const char *const array_names[] = {
#define TYPE(id, name, rank) name "[]",
    SQL_TYPES
#undef TYPE
};

const char *type_name(type_id t)
{
    if (type_is_enum(t)) return "an enumeration";
    return type_is_array(t) ? array_names[type_element(t)] : types[t].name;
}

int type_rank(type_id t)
{
    return (int)t < N_SCALARS ? types[t].rank : 0;
}

/* ---- order, equality, hashing -------------------------------------------------------------- */

/* char(n) is filled with spaces, which count for nothing but its print. */
static uint32_t bare(value v)
{
    while (v.n && v.s[v.n - 1] == ' ') v.n--;
    return v.n;
}

int value_cmp(type_id t, value a, value b)
{
    assert(!a.null && !b.null);
    if (t == T_CHAR) a.n = bare(a), b.n = bare(b);
    if (type_is_array(t)) return array_cmp(type_element(t), a, b);
    if (t == T_INTERVAL) return interval_cmp(interval_of(a), interval_of(b));
    if (t == T_JSONB) return jsonb_cmp(a, b);
    if (type_is_float(t)) return float_cmp(value_double(a), value_double(b));
    if (type_is_bytes(t)) {
        int c = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
        return c ? c : a.n < b.n ? -1 : a.n > b.n;
    }
    if (t == T_NUMERIC) return num_cmp(a.d, b.d);
    return a.i < b.i ? -1 : a.i > b.i;
}

bool value_same(type_id t, value a, value b)
{
    if (a.open || b.open) return a.open && b.open;
    if (a.null || b.null) return a.null == b.null;
    return !value_cmp(t, a, b);
}

bool value_identical(type_id t, value a, value b)
{
    if (!value_same(t, a, b)) return false;
    if (!a.null && !a.open && type_is_bytes(t)) return a.n == b.n && !memcmp(a.s, b.s, a.n);
    if (!a.null && !a.open && type_is_float(t)) return a.i == b.i;
    return a.null || a.open || t != T_NUMERIC || a.d->scale == b.d->scale;
}

uint64_t value_hash(type_id t, value v)
{
    if (v.null || v.open) return 0x5ca1ab1e;
    if (type_is_array(t)) return array_hash(type_element(t), v);
    if (t == T_INTERVAL) return interval_hash(interval_of(v));
    if (t == T_JSONB) return jsonb_hash(v);
    if (type_is_float(t)) return float_hash(value_double(v));
    if (type_is_bytes(t)) return hash_bytes(v.s, t == T_CHAR ? bare(v) : v.n, 7);
    if (t == T_NUMERIC) return num_hash(v.d);
    if (t == T_VOID) return 1;
    return num_hash_i64(v.i);
}

size_t text_length(value v)
{
    size_t n = 0;
    for (uint32_t i = 0; i < v.n; i++) n += ((unsigned char)v.s[i] & 0xc0) != 0x80;
    return n;
}

/* ---- dates ---------------------------------------------------------------------------------- */

static bool digits(const char **p, const char *end, int n, int *out)
{
    *out = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (*p == end || **p < '0' || **p > '9') return false;
        *out = *out * 10 + (**p - '0');
    }
    return true;
}

/* Z, +HH, +HH:MM or +HHMM, also with seconds: how many seconds the clock is ahead of UTC. */
static bool parse_zone(const char **p, const char *end, int64_t *seconds)
{
    int part[3] = {0};
    while (*p < end && **p == ' ') (*p)++;
    if (*p < end && (**p == 'Z' || **p == 'z')) return (*p)++, true;
    if (*p == end || (**p != '+' && **p != '-')) return false;
    bool west = *(*p)++ == '-';
    for (int i = 0; i < 3 && *p < end; i++) {
        if (i && **p == ':') (*p)++;
        if (!digits(p, end, 2, &part[i])) return false;
    }
    *seconds = (part[0] * INT64_C(60) + part[1]) * 60 + part[2];
    if (west) *seconds = -*seconds;
    return part[0] < 16 && part[1] < 60 && part[2] < 60;
}

static bool day_exists(const civil *m)
{
    if (m->month < 1 || m->month > 12 || m->day < 1) return false;
    return m->day <= calendar_month_days(m->year, m->month);
}

typedef enum moment_fault { MOMENT_FINE, MOMENT_SHAPE, MOMENT_ZONE, MOMENT_DAY } moment_fault;

/* Only ISO 8601 with four digits of year; the input function knows far more, which we refuse. */
static moment_fault read_moment(type_id t, sql_zone in, const char *s, size_t n, int64_t *out)
{
    const char *p = s, *end = s + n;
    civil m = {0};
    int64_t zone = 0;
    assert(type_is_moment(t));
    bool ok = digits(&p, end, 4, &m.year) && p < end && *p++ == '-' &&
              digits(&p, end, 2, &m.month) && p < end && *p++ == '-' && digits(&p, end, 2, &m.day);
    if (ok && p < end && (*p == ' ' || *p == 'T')) p++, ok = calendar_parse_clock(&p, end, &m);
    bool local = p == end && in == ZONE_UTC;
    if (ok && t == T_STAMPTZ && !local && !parse_zone(&p, end, &zone)) return MOMENT_ZONE;
    if (!ok || p != end || m.year < 1 || m.hour > 23 || m.minute > 59 || m.second > 59)
        return MOMENT_SHAPE;
    if (!day_exists(&m)) return MOMENT_DAY;
    *out =
        t == T_DATE ? calendar_days(m.year, m.month, m.day) : calendar_stamp(&m) - zone * SECOND_US;
    return MOMENT_FINE;
}

static value parse_moment(sql_context *c, type_id t, const char *s, size_t n)
{
    int64_t v = 0;
    switch (read_moment(t, c->zone, s, n, &v)) {
    case MOMENT_SHAPE:
        sql_refuse(c, -1, "a %s that is not written as YYYY-MM-DD HH:MM:SS", type_name(t));
    case MOMENT_ZONE: sql_refuse(c, -1, "a timestamp with time zone that does not say its offset");
    case MOMENT_DAY: sql_raise(c, "22008", "date/time field value out of range");
    case MOMENT_FINE: break;
    }
    return value_int(v);
}

bool value_instant(const char *s, size_t n, int64_t *out)
{
    return read_moment(T_STAMPTZ, ZONE_UNSET, s, n, out) == MOMENT_FINE;
}

static void print_moment(type_id t, int64_t v, strbuf *out)
{
    int64_t days = t == T_DATE ? v : calendar_day_of(v);
    int y, m, d;
    calendar_date(days, &y, &m, &d);
    strbuf_printf(out, "%04d-%02d-%02d", y, m, d);
    if (t == T_DATE) return;
    strbuf_char(out, ' ');
    calendar_print_clock(v - days * DAY_US, out);
    if (t == T_STAMPTZ) strbuf_str(out, "+00"); /* how a session at UTC shows it */
}

/* A day that is this far from another one. */
value value_move_date(sql_context *c, int64_t date, int64_t days)
{
    int y, m, d;
    if (days > 4000000 || days < -4000000) sql_refuse(c, -1, "a date this far away");
    calendar_date(date + days, &y, &m, &d);
    if (y < 1 || y > 9999) sql_refuse(c, -1, "a date this far away");
    return value_int(date + days);
}

/* ---- text and back -------------------------------------------------------------------------- */

void value_print(type_id t, value v, strbuf *out)
{
    assert(!v.null);
    if (type_is_array(t)) {
        array_print(type_element(t), v, out);
        return;
    }
    switch (t) {
    case T_BOOL: strbuf_char(out, v.i ? 't' : 'f'); break;
    case T_INT2:
    case T_INT4:
    case T_INT8: strbuf_i64(out, v.i); break;
    case T_NUMERIC: num_text(v.d, out); break;
    case T_STAMP:
    case T_STAMPTZ:
    case T_DATE: print_moment(t, v.i, out); break;
    case T_VOID: break;
    case T_INTERVAL: interval_print(interval_of(v), out); break;
    case T_TIME: calendar_print_clock(v.i, out); break;
    case T_FLOAT4:
    case T_FLOAT8: float_print(t, value_double(v), out); break;
    case T_BYTEA:
        strbuf_str(out, "\\x");
        for (uint32_t i = 0; i < v.n; i++) strbuf_printf(out, "%02x", (unsigned char)v.s[i]);
        break;
    default: strbuf_add(out, v.s + ENUM_PLACE, v.n - ENUM_PLACE); break; /* an enumeration */
    case T_JSON:
    case T_JSONB:
    case T_RECORD:
    case T_UUID:
    case T_UNKNOWN:
    case T_TEXT:
    case T_CHAR:
    case T_VARCHAR: strbuf_add(out, v.s, v.n); break;
    }
}

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool word_is(const char *s, size_t n, const char *word, size_t least)
{
    if (n < least || n > strlen(word)) return false;
    for (size_t i = 0; i < n; i++)
        if ((s[i] | 32) != word[i]) return false;
    return true;
}

/* parse_bool_with_len of PostgreSQL: unique prefixes. */
static value parse_bool(sql_context *c, const char *s, size_t n)
{
    if (word_is(s, n, "true", 1) || word_is(s, n, "yes", 1) || word_is(s, n, "on", 2) ||
        (n == 1 && *s == '1'))
        return value_bool(true);
    if (word_is(s, n, "false", 1) || word_is(s, n, "no", 1) || word_is(s, n, "off", 2) ||
        (n == 1 && *s == '0'))
        return value_bool(false);
    sql_raise(c, "22P02", "invalid input syntax for type boolean");
}

int64_t value_int_range(sql_context *c, type_id t, int64_t v)
{
    int64_t hi = t == T_INT2 ? INT16_MAX : t == T_INT4 ? INT32_MAX : INT64_MAX;
    if (v > hi || v < -hi - 1) sql_raise(c, "22003", "%s out of range", type_name(t));
    return v;
}

static value parse_int(sql_context *c, type_id t, const char *s, size_t n)
{
    size_t i = n && (*s == '-' || *s == '+');
    bool neg = n && *s == '-', big = false;
    if (i == n) sql_raise(c, "22P02", "invalid input syntax for type %s", type_name(t));
    uint64_t v = 0;
    for (; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            sql_raise(c, "22P02", "invalid input syntax for type %s", type_name(t));
        unsigned d = (unsigned)(s[i] - '0');
        if (v > (UINT64_MAX - d) / 10) big = true;
        v = v * 10 + d;
    }
    if (big || v > (uint64_t)INT64_MAX + neg)
        sql_raise(c, "22003", "value is out of range for type %s", type_name(t));
    return value_int(value_int_range(c, t, (int64_t)(neg ? 0 - v : v)));
}

const num *value_need(sql_context *c, const num *d)
{
    if (!d) sql_refuse(c, -1, "a numeric of more than %d digits", NUM_MAX_DIGITS);
    return d;
}

static value to_precision(sql_context *c, value v, type t)
{
    if (t.width < 0) return v;
    const num *d = value_need(c, num_round(c->work, v.d, t.scale));
    if (d->n && num_whole_digits(d) > (uint32_t)(t.width - t.scale))
        sql_raise(c, "22003", "numeric field overflow");
    return value_num(d);
}

static value filled(sql_context *c, value v, int32_t width)
{
    size_t have = text_length(v), more = have < (size_t)width ? (size_t)width - have : 0;
    if (!more) return v;
    char *t = arena_get(c->work, v.n + more + 1);
    memcpy(t, v.s, v.n);
    memset(t + v.n, ' ', more);
    return value_text(t, v.n + more);
}

/* varchar(n), char(n): an explicit cast cuts, an assignment only cuts spaces. */
static value to_width(sql_context *c, value v, type t, cast_kind kind)
{
    if ((t.id != T_VARCHAR && t.id != T_CHAR) || t.width < 0) return v;
    uint32_t at = 0;
    for (int32_t seen = 0; at < v.n; at++)
        if (((unsigned char)v.s[at] & 0xc0) != 0x80 && seen++ == t.width) break;
    if (at == v.n) return t.id == T_CHAR ? filled(c, v, t.width) : v;
    if (kind != CAST_EXPLICIT)
        for (uint32_t i = at; i < v.n; i++)
            if (v.s[i] != ' ')
                sql_raise(c, "22001", "value too long for type %s(%d)", type_name(t.id), t.width);
    return value_text(v.s, at);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* The usual form, or 32 digits in a row, perhaps in braces; the input function knows more. */
static value parse_uuid(sql_context *c, const char *s, size_t n)
{
    char *to = arena_get(c->work, 37);
    size_t k = 0, others = 0;
    assert(s || !n);
    if (n > 2 && s[0] == '{' && s[n - 1] == '}') s++, n -= 2;
    for (size_t i = 0; i < n; i++) {
        if (!is_hex(s[i])) {
            others += s[i] != '-';
            continue;
        }
        if (k == 8 || k == 13 || k == 18 || k == 23) to[k++] = '-';
        if (k < 36) to[k] = s[i] >= 'A' && s[i] <= 'F' ? (char)(s[i] + 32) : s[i];
        k++;
    }
    if (others || k != 36) sql_raise(c, "22P02", "invalid input syntax for type uuid");
    for (size_t i = 0; i < n; i++)
        if (n != 32 && (n != 36 || (s[i] == '-') != (to[i] == '-')))
            sql_refuse(c, -1, "a uuid with hyphens in other places");
    return value_text(to, 36);
}

static value parse_time(sql_context *c, const char *s, size_t n)
{
    const char *p = s, *end = s + n;
    civil t = {0};
    bool ok = calendar_parse_clock(&p, end, &t) && p == end && t.minute < 60 && t.second < 60;
    if (!ok || t.hour > 23) sql_refuse(c, -1, "a time that is not written as HH:MM:SS");
    return value_int(t.hour * HOUR_US + t.minute * MINUTE_US + t.second * SECOND_US + t.us);
}

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

/* \x and hexadecimal digits, or the older form with octal escapes. */
static value parse_bytea(sql_context *c, const char *s, size_t n)
{
    char *to = arena_get(c->work, n + 1);
    size_t k = 0;
    if (n >= 2 && s[0] == '\\' && s[1] == 'x') {
        for (size_t i = 2; i < n; i += 2) {
            while (i < n && blank(s[i])) i++;
            if (i == n) break;
            if (!is_hex(s[i])) sql_raise(c, "22023", "invalid hexadecimal digit");
            if (i + 1 == n) sql_raise(c, "22023", "odd number of digits");
            if (!is_hex(s[i + 1])) sql_raise(c, "22023", "invalid hexadecimal digit");
            to[k++] = (char)(hex_digit(s[i]) << 4 | hex_digit(s[i + 1]));
        }
        return value_text(to, k);
    }
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '\\') {
            to[k++] = s[i];
        } else if (i + 1 < n && s[i + 1] == '\\') {
            to[k++] = '\\';
            i++;
        } else if (i + 3 < n && s[i + 1] >= '0' && s[i + 1] <= '3' && s[i + 2] >= '0' &&
                   s[i + 2] <= '7' && s[i + 3] >= '0' && s[i + 3] <= '7') {
            to[k++] = (char)((s[i + 1] - '0') << 6 | (s[i + 2] - '0') << 3 | (s[i + 3] - '0'));
            i += 3;
        } else {
            sql_raise(c, "22P02", "invalid input syntax for type bytea");
        }
    }
    return value_text(to, k);
}

/* Four bytes of place, by which labels compare, then the label. */
static value parse_enum(sql_context *c, type_id t, const char *s, size_t n)
{
    size_t k = (size_t)t - 2 * N_SCALARS;
    assert(c->enums && k < c->enums->n);
    const enum_labels *e = &c->enums->at[k];
    for (uint32_t i = 0; i < e->n; i++)
        if (strlen(e->label[i]) == n && !memcmp(e->label[i], s, n)) {
            char *to = arena_get(c->work, n + ENUM_PLACE);
            for (int b = 0; b < ENUM_PLACE; b++) to[b] = (char)(i >> (24 - 8 * b));
            memcpy(to + ENUM_PLACE, s, n);
            return value_text(to, n + ENUM_PLACE);
        }
    sql_raise(c, "22P02", "invalid input value for enum %s", e->name);
}

/* Types whose input function takes blanks at both ends, or makes them part of the value. */
static bool parse_whole(sql_context *c, type t, const char *s, size_t n, value *v)
{
    if (type_is_text(t.id))
        *v = to_width(c, value_text(arena_text(c->work, s, n), n), t, CAST_ASSIGN);
    else if (t.id == T_UUID)
        *v = parse_uuid(c, s, n);
    else if (type_is_array(t.id))
        *v = array_parse(c, type_element(t.id), s, n);
    else if (type_is_enum(t.id))
        *v = parse_enum(c, t.id, s, n);
    else if (t.id == T_BYTEA)
        *v = parse_bytea(c, s, n);
    else if (t.id == T_JSON || t.id == T_JSONB)
        *v = jsonb_parse(c, t.id, s, n);
    else if (t.id == T_INTERVAL)
        *v = interval_value(c->work, interval_parse(c, s, n));
    else
        return false;
    return true;
}

value value_parse(sql_context *c, type t, const char *s, size_t n)
{
    value whole;
    if (t.id == T_RECORD) sql_refuse(c, -1, "a text that is read as a row");
    if (parse_whole(c, t, s, n, &whole)) return whole;
    while (n && blank(*s)) s++, n--;
    while (n && blank(s[n - 1])) n--;
    if (t.id == T_BOOL) return parse_bool(c, s, n);
    if (type_is_int(t.id)) return parse_int(c, t.id, s, n);
    if (type_is_float(t.id)) return float_parse(c, t.id, s, n);
    if (t.id == T_TIME) return parse_time(c, s, n);
    if (t.id != T_NUMERIC) return parse_moment(c, t.id, s, n);
    const num *d = NULL;
    if (!num_parse(c->work, s, n, &d)) {
        if (word_is(s, n, "nan", 3) || (n > 2 && memchr(s, 'n', n)) || (n > 2 && memchr(s, 'N', n)))
            sql_refuse(c, -1, "numeric NaN and infinities");
        sql_raise(c, "22P02", "invalid input syntax for type numeric");
    }
    return to_precision(c, value_num(value_need(c, d)), t);
}

/* ---- casts ---------------------------------------------------------------------------------- */

/* Casts of floats, times, json and bytes. */
static bool newer_cast_exists(type_id from, type_id to, cast_kind kind)
{
    bool float_from = type_is_float(from), float_to = type_is_float(to);
    if (float_to && (type_rank(from) || float_from)) /* to real from double only by assignment */
        return kind != CAST_IMPLICIT || to == T_FLOAT8 || from != T_FLOAT8;
    if (float_from && type_rank(to)) return kind != CAST_IMPLICIT;
    if (from == T_TIME && to == T_INTERVAL) return true;
    if (from == T_INTERVAL && to == T_TIME) return kind != CAST_IMPLICIT;
    if ((from == T_JSON && to == T_JSONB) || (from == T_JSONB && to == T_JSON))
        return kind != CAST_IMPLICIT;
    return from == T_JSONB && kind == CAST_EXPLICIT &&
           (to == T_BOOL || type_rank(to) || type_is_float(to));
}

/* Between dates, timestamps and instants, and to a time of day. */
static bool moment_cast_exists(type_id from, type_id to, cast_kind kind)
{
    if (to == T_STAMPTZ) return true;
    if (from == T_DATE) return to == T_STAMP;
    return kind != CAST_IMPLICIT;
}

static bool array_cast_exists(type_id from, type_id to, cast_kind kind)
{
    assert(type_is_array(from) || type_is_array(to));
    if (type_is_array(from) && type_is_array(to))
        return cast_exists(type_element(from), type_element(to), kind);
    return type_is_text(to) ? kind != CAST_IMPLICIT : type_is_text(from) && kind == CAST_EXPLICIT;
}

void value_write(sql_context *c, type_id t, value v, strbuf *out)
{
    if (c->styled && (type_is_array(t) ? type_element(t) : t) == T_INTERVAL)
        sql_refuse(c, -1, "an interval as text, where IntervalStyle is set");
    value_print(t, v, out);
}

bool cast_exists(type_id from, type_id to, cast_kind kind)
{
    if (from == to) return true;
    if (from == T_VOID || to == T_VOID) return false;
    if (from == T_RECORD || to == T_RECORD) /* it has a text */
        return from == T_RECORD && type_is_text(to) && kind != CAST_IMPLICIT;
    bool text_from = type_is_text(from), text_to = type_is_text(to);
    if (text_from && text_to) return true;
    int a = type_rank(from), b = type_rank(to);
    if (a && b) return kind != CAST_IMPLICIT || a < b;
    if (type_is_array(from) || type_is_array(to)) return array_cast_exists(from, to, kind);
    if (text_to) return kind != CAST_IMPLICIT; /* through the output function */
    if (text_from) return kind == CAST_EXPLICIT || from == T_UNKNOWN;
    if ((from == T_BOOL && to == T_INT4) || (from == T_INT4 && to == T_BOOL))
        return kind == CAST_EXPLICIT;
    if (type_is_moment(from) && (type_is_moment(to) || to == T_TIME))
        return moment_cast_exists(from, to, kind);
    return newer_cast_exists(from, to, kind);
}

static bool cast_newer(sql_context *c, value v, type_id f, type to, cast_kind kind, value *out)
{
    type_id t = to.id;
    if (f == t && t != T_NUMERIC)
        *out = v;
    else if (type_is_array(f))
        *out = array_cast(c, v, type_element(f), type_element(t), kind);
    else if (type_is_float(f))
        *out = float_cast(c, v, f, to);
    else if (type_is_float(t) && f != T_JSONB)
        *out = float_from(c, t, f, v);
    else if (f == T_STAMP && t == T_TIME)
        *out = value_int(v.i - calendar_day_of(v.i) * DAY_US);
    else if (f == T_TIME && t == T_INTERVAL)
        *out = interval_value(c->work, (interval){v.i, 0, 0});
    else if (f == T_INTERVAL && t == T_TIME) {
        int64_t us = interval_of(v).us % DAY_US;
        *out = value_int(us < 0 ? us + DAY_US : us);
    } else if (f == T_JSON || f == T_JSONB)
        *out = t == T_JSON || t == T_JSONB ? jsonb_parse(c, t, v.s, v.n) : jsonb_scalar(c, v, to);
    else
        return false;
    return true;
}

/* timestamp(n), time(n): n digits of the second, halves away from 2000-01-01. */
static value to_digits(value v, type t)
{
    static const int64_t unit[] = {1000000, 100000, 10000, 1000, 100, 10};
    bool moment = t.id == T_STAMP || t.id == T_STAMPTZ || t.id == T_TIME;
    if (v.null || v.open || !moment || t.width < 0 || t.width > 5) return v;
    int64_t u = unit[t.width], i = v.i < 0 ? -v.i : v.i;
    if (v.i == INT64_MIN || v.i == INT64_MAX) return v; /* infinities */
    i = (i + u / 2) / u * u;
    return value_int(v.i < 0 ? -i : i);
}

static value cast_plain(sql_context *c, value v, type from, type to, cast_kind kind)
{
    type_id f = from.id, t = to.id;
    if (f == T_CHAR && t != T_CHAR) v.n = bare(v);
    if (type_is_text(f) && type_is_text(t)) return to_width(c, v, to, kind);
    if ((f == T_STAMPTZ) != (t == T_STAMPTZ) && !type_is_text(f) && c->zone != ZONE_UTC)
        sql_refuse(c, -1, "what depends on the session's time zone");
    if (f == T_STAMPTZ && !type_is_text(t)) f = T_STAMP; /* at UTC they are the same */
    if (t == T_STAMPTZ && !type_is_text(f)) t = T_STAMP;
    if (type_is_text(t)) {
        if (f == T_BOOL)
            return to_width(c, v.i ? value_text("true", 4) : value_text("false", 5), to, kind);
        strbuf b;
        strbuf_init(&b, c->work->mem);
        value_write(c, f, v, &b);
        value r = value_text(arena_text(c->work, b.at, b.n), b.n);
        strbuf_free(&b);
        return to_width(c, r, to, kind);
    }
    if (type_is_text(f)) return value_parse(c, to, v.s, v.n);
    value newer;
    if (cast_newer(c, v, f, to, kind, &newer)) return newer;
    if (type_is_int(t)) {
        if (f == T_NUMERIC) {
            int64_t i;
            if (!num_to_i64(c->work, v.d, &i))
                sql_raise(c, "22003", "%s out of range", type_name(t));
            return value_int(value_int_range(c, t, i));
        }
        return value_int(value_int_range(c, t, v.i));
    }
    if (t == T_NUMERIC) {
        if (f != T_NUMERIC) v = value_num(num_of(c->work, v.i));
        return to_precision(c, v, to);
    }
    if (t == T_BOOL) return value_bool(v.i != 0);
    if (t == T_STAMP && f == T_DATE) return value_int(v.i * DAY_US);
    if (t == T_DATE && f == T_STAMP) return value_int(calendar_day_of(v.i));
    assert(f == t);
    return v;
}

value value_cast(sql_context *c, value v, type from, type to, cast_kind kind)
{
    if (v.null || v.open) return v;
    return to_digits(cast_plain(c, v, from, to, kind), to);
}
