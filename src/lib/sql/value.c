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

const char *type_name(type_id t)
{
    return types[t].name;
}

int type_rank(type_id t)
{
    return types[t].rank;
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
    if (t == T_CHAR && !a.null && !a.open) return a.n == b.n;
    return a.null || a.open || t != T_NUMERIC || a.d->scale == b.d->scale;
}

uint64_t value_hash(type_id t, value v)
{
    if (v.null || v.open) return 0x5ca1ab1e;
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

/* Days since 2000-01-01 in the Gregorian calendar, and back (Howard Hinnant's algorithms). */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 730425;
}

static void date_of(int64_t days, int *y, int *m, int *d)
{
    int64_t z = days + 730425, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = (int)(yoe + era * 400 + (*m <= 2));
}

#define DAY_US INT64_C(86400000000)

static bool digits(const char **p, const char *end, int n, int *out)
{
    *out = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (*p == end || **p < '0' || **p > '9') return false;
        *out = *out * 10 + (**p - '0');
    }
    return true;
}

typedef struct moment {
    int year, month, day, hour, minute, second;
    int64_t us;
} moment;

/* " HH:MM[:SS][.ffffff]", the blank or T included. */
static bool parse_clock(const char **p, const char *end, moment *m)
{
    (*p)++;
    if (!digits(p, end, 2, &m->hour) || *p == end || *(*p)++ != ':' ||
        !digits(p, end, 2, &m->minute))
        return false;
    if (*p < end && **p == ':') {
        (*p)++;
        if (!digits(p, end, 2, &m->second)) return false;
    }
    if (*p < end && **p == '.') {
        (*p)++;
        int64_t unit = 100000;
        for (; *p < end && **p >= '0' && **p <= '9' && unit; (*p)++, unit /= 10)
            m->us += (**p - '0') * unit;
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

static bool day_exists(const moment *m)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (m->year % 4 == 0 && m->year % 100 != 0) || m->year % 400 == 0;
    if (m->month < 1 || m->month > 12 || m->day < 1) return false;
    if (m->month == 2 && m->day == 29) return leap;
    return m->day <= month_days[m->month - 1];
}

typedef enum moment_fault { MOMENT_FINE, MOMENT_SHAPE, MOMENT_ZONE, MOMENT_DAY } moment_fault;

/* Only ISO 8601 with four digits of year; the input function knows far more, which we refuse. */
static moment_fault read_moment(type_id t, const char *s, size_t n, int64_t *out)
{
    const char *p = s, *end = s + n;
    moment m = {0};
    int64_t zone = 0;
    assert(type_is_moment(t));
    bool ok = digits(&p, end, 4, &m.year) && p < end && *p++ == '-' &&
              digits(&p, end, 2, &m.month) && p < end && *p++ == '-' && digits(&p, end, 2, &m.day);
    if (ok && p < end && (*p == ' ' || *p == 'T')) ok = parse_clock(&p, end, &m);
    if (ok && t == T_STAMPTZ && !parse_zone(&p, end, &zone)) return MOMENT_ZONE;
    if (!ok || p != end || m.year < 1 || m.hour > 23 || m.minute > 59 || m.second > 59)
        return MOMENT_SHAPE;
    if (!day_exists(&m)) return MOMENT_DAY;
    int64_t days = days_of(m.year, m.month, m.day);
    int64_t seconds = (m.hour * 60 + m.minute) * INT64_C(60) + m.second - zone;
    *out = t == T_DATE ? days : days * DAY_US + seconds * 1000000 + m.us;
    return MOMENT_FINE;
}

static value parse_moment(sql_context *c, type_id t, const char *s, size_t n)
{
    int64_t v = 0;
    switch (read_moment(t, s, n, &v)) {
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
    return read_moment(T_STAMPTZ, s, n, out) == MOMENT_FINE;
}

static void print_moment(type_id t, int64_t v, strbuf *out)
{
    int64_t days = t == T_DATE ? v : v >= 0 ? v / DAY_US : -((-v + DAY_US - 1) / DAY_US);
    int y, m, d;
    date_of(days, &y, &m, &d);
    strbuf_printf(out, "%04d-%02d-%02d", y, m, d);
    if (t == T_DATE) return;
    int64_t us = v - days * DAY_US, sec = us / 1000000;
    strbuf_printf(out, " %02d:%02d:%02d", (int)(sec / 3600), (int)(sec / 60 % 60), (int)(sec % 60));
    us %= 1000000;
    char fraction[16];
    int n = us ? snprintf(fraction, sizeof fraction, ".%06d", (int)us) : 0;
    while (n && fraction[n - 1] == '0') n--;
    strbuf_add(out, fraction, (size_t)n);
    if (t == T_STAMPTZ) strbuf_str(out, "+00"); /* how a session at UTC shows it */
}

/* A day that is this far from another one. */
value value_move_date(sql_context *c, int64_t date, int64_t days)
{
    int y, m, d;
    if (days > 4000000 || days < -4000000) sql_refuse(c, -1, "a date this far away");
    date_of(date + days, &y, &m, &d);
    if (y < 1 || y > 9999) sql_refuse(c, -1, "a date this far away");
    return value_int(date + days);
}

/* ---- text and back -------------------------------------------------------------------------- */

void value_print(type_id t, value v, strbuf *out)
{
    assert(!v.null);
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

value value_parse(sql_context *c, type t, const char *s, size_t n)
{
    if (type_is_text(t.id))
        return to_width(c, value_text(arena_text(c->work, s, n), n), t, CAST_ASSIGN);
    if (t.id == T_UUID) return parse_uuid(c, s, n); /* which takes no blanks around it */
    while (n && blank(*s)) s++, n--;
    while (n && blank(s[n - 1])) n--;
    if (t.id == T_BOOL) return parse_bool(c, s, n);
    if (type_is_int(t.id)) return parse_int(c, t.id, s, n);
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

bool cast_exists(type_id from, type_id to, cast_kind kind)
{
    if (from == to) return true;
    if (from == T_VOID || to == T_VOID) return false;
    bool text_from = type_is_text(from), text_to = type_is_text(to);
    if (text_from && text_to) return true;
    int a = type_rank(from), b = type_rank(to);
    if (a && b) return kind != CAST_IMPLICIT || a < b;
    if (text_to) return kind != CAST_IMPLICIT; /* through the output function */
    if (text_from) return kind == CAST_EXPLICIT || from == T_UNKNOWN;
    if ((from == T_BOOL && to == T_INT4) || (from == T_INT4 && to == T_BOOL))
        return kind == CAST_EXPLICIT;
    if (to == T_STAMPTZ) return from == T_DATE || from == T_STAMP;
    if (from == T_STAMPTZ) return (to == T_DATE || to == T_STAMP) && kind != CAST_IMPLICIT;
    if (from == T_DATE && to == T_STAMP) return true;
    if (from == T_STAMP && to == T_DATE) return kind != CAST_IMPLICIT;
    return false;
}

value value_cast(sql_context *c, value v, type from, type to, cast_kind kind)
{
    if (v.null || v.open) return v;
    type_id f = from.id, t = to.id;
    if (f == T_CHAR && t != T_CHAR) v.n = bare(v);
    if (type_is_text(f) && type_is_text(t)) return to_width(c, v, to, kind);
    if ((f == T_STAMPTZ) != (t == T_STAMPTZ) && !type_is_text(f))
        sql_refuse(c, -1, "what depends on the session's time zone");
    if (type_is_text(t)) {
        if (f == T_BOOL)
            return to_width(c, v.i ? value_text("true", 4) : value_text("false", 5), to, kind);
        strbuf b;
        strbuf_init(&b, c->work->mem);
        value_print(f, v, &b);
        value r = value_text(arena_text(c->work, b.at, b.n), b.n);
        strbuf_free(&b);
        return to_width(c, r, to, kind);
    }
    if (type_is_text(f)) return value_parse(c, to, v.s, v.n);
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
    if (t == T_DATE && f == T_STAMP)
        return value_int(v.i >= 0 ? v.i / DAY_US : -((-v.i + DAY_US - 1) / DAY_US));
    assert(f == t);
    return v;
}
