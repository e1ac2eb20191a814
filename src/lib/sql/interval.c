/*
 * interval.c - see interval.h.  Input, output and arithmetic follow the sources of
 * PostgreSQL 15 with IntervalStyle postgres: fractions of a unit spill into the smaller ones with
 * the roundings that these files have.  Forms of input that are not known here are refused.
 */
#include "sql/interval.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "sql/calendar.h"

value interval_value(arena *a, interval i)
{
    char *to = arena_get(a, sizeof i);
    memcpy(to, &i, sizeof i);
    return value_text(to, sizeof i);
}

/* ---- order ----------------------------------------------------------------------------------- */

__extension__ typedef __int128 wide;

static wide length_of(interval i)
{
    return ((wide)i.months * 30 + i.days) * DAY_US + i.us;
}

int interval_cmp(interval a, interval b)
{
    wide l = length_of(a), r = length_of(b);
    return l < r ? -1 : l > r;
}

uint64_t interval_hash(interval i)
{
    wide l = length_of(i);
    return hash_pair((uint64_t)l, (uint64_t)(l >> 64));
}

/* ---- output ---------------------------------------------------------------------------------- */

static void print_part(strbuf *out, int64_t v, const char *unit, bool *first, bool *before)
{
    if (!v) return;
    if (!*first) strbuf_char(out, ' ');
    if (*before && v > 0) strbuf_char(out, '+');
    strbuf_i64(out, v);
    strbuf_char(out, ' ');
    strbuf_str(out, unit);
    if (v != 1) strbuf_char(out, 's');
    *before = v < 0;
    *first = false;
}

void interval_print(interval i, strbuf *out)
{
    bool first = true, before = false;
    print_part(out, i.months / 12, "year", &first, &before);
    print_part(out, i.months % 12, "mon", &first, &before);
    print_part(out, i.days, "day", &first, &before);
    if (!first && !i.us) return;
    if (!first) strbuf_char(out, ' ');
    if (i.us < 0)
        strbuf_char(out, '-');
    else if (before)
        strbuf_char(out, '+');
    uint64_t us = i.us < 0 ? 0 - (uint64_t)i.us : (uint64_t)i.us, hours = us / (uint64_t)HOUR_US;
    strbuf rest;
    strbuf_init(&rest, out->mem);
    calendar_print_clock((int64_t)(us % (uint64_t)HOUR_US), &rest);
    strbuf_printf(out, "%02llu", (unsigned long long)hours);
    strbuf_add(out, rest.at + 2, rest.n - 2);
    strbuf_free(&rest);
}

/* ---- input ----------------------------------------------------------------------------------- */

typedef enum part_kind { PART_US, PART_DAYS, PART_WEEKS, PART_MONTHS, PART_YEARS } part_kind;

static const struct {
    const char *names; /* separated by blanks */
    part_kind kind;
    int64_t size; /* microseconds, or years */
} units[] = {
    {" microsecond microseconds microsecs us usec usecs usecond useconds ", PART_US, 1},
    {" millisecond milliseconds msec msecs ms ", PART_US, 1000},
    {" second seconds sec secs s ", PART_US, SECOND_US},
    {" minute minutes min mins m ", PART_US, MINUTE_US},
    {" hour hours hr hrs h ", PART_US, HOUR_US},
    {" day days d ", PART_DAYS, 1},
    {" week weeks w ", PART_WEEKS, 7},
    {" month months mon mons ", PART_MONTHS, 1},
    {" year years yr yrs y ", PART_YEARS, 1},
    {" decade decades dec decs ", PART_YEARS, 10},
    {" century centuries cent c ", PART_YEARS, 100},
    {" millennium millennia mil mils ", PART_YEARS, 1000},
};
#define N_UNITS (sizeof units / sizeof units[0])
enum { UNIT_SECOND = 2, UNIT_MINUTE, UNIT_HOUR, UNIT_DAY, UNIT_WEEK, UNIT_MONTH, UNIT_YEAR };

static int unit_named(const char *s, size_t n)
{
    char word[16] = " ";
    if (n + 3 > sizeof word || !n) return -1;
    for (size_t i = 0; i < n; i++) word[i + 1] = (char)(s[i] | 32);
    word[n + 1] = ' ';
    for (size_t i = 0; i < N_UNITS; i++)
        if (strstr(units[i].names, word)) return (int)i;
    return -1;
}

typedef struct reader {
    sql_context *c;
    const char *p, *end;
    int64_t us, days, months;
    uint32_t seen; /* units, by bit */
} reader;

_Noreturn static void field_overflow(sql_context *c)
{
    sql_raise(c, "22015", "interval field value out of range");
}

static void add_scaled(reader *r, int64_t *to, int64_t v, int64_t size)
{
    int64_t more;
    if (__builtin_mul_overflow(v, size, &more) || __builtin_add_overflow(*to, more, to))
        field_overflow(r->c);
    if (to != &r->us && (*to > INT32_MAX || *to < INT32_MIN)) field_overflow(r->c);
}

static void add_fraction_us(reader *r, double fraction, int64_t size)
{
    if (fraction == 0) return;
    fraction *= (double)size;
    int64_t us = (int64_t)fraction;
    fraction -= (double)us;
    if (fraction > 0.5)
        us++;
    else if (fraction < -0.5)
        us--;
    add_scaled(r, &r->us, us, 1);
}

static void add_fraction_days(reader *r, double fraction, int size)
{
    if (fraction == 0) return;
    fraction *= size;
    int whole = (int)fraction;
    add_scaled(r, &r->days, whole, 1);
    add_fraction_us(r, fraction - whole, DAY_US);
}

static void add_unit(reader *r, int unit, int64_t v, double fraction)
{
    assert(unit >= 0 && (size_t)unit < N_UNITS);
    if (r->seen & 1u << unit) sql_refuse(r->c, -1, "an interval with a unit twice");
    r->seen |= 1u << unit;
    int64_t size = units[unit].size;
    switch (units[unit].kind) {
    case PART_US:
        add_scaled(r, &r->us, v, size);
        add_fraction_us(r, fraction, size);
        break;
    case PART_DAYS:
        add_scaled(r, &r->days, v, 1);
        add_fraction_us(r, fraction, DAY_US);
        break;
    case PART_WEEKS:
        add_scaled(r, &r->days, v, 7);
        add_fraction_days(r, fraction, 7);
        break;
    case PART_MONTHS:
        add_scaled(r, &r->months, v, 1);
        add_fraction_days(r, fraction, 30);
        break;
    case PART_YEARS:
        if (v > INT32_MAX || v < INT32_MIN) field_overflow(r->c);
        add_scaled(r, &r->months, v * size, 12);
        add_scaled(r, &r->months, (int64_t)rint(fraction * (double)size * 12), 1);
    }
}

static void skip_blanks(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || (*r->p >= '\t' && *r->p <= '\r'))) r->p++;
}

static bool is_digit(const reader *r)
{
    return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

static int64_t read_whole(reader *r, bool minus)
{
    int64_t v = 0;
    for (; is_digit(r); r->p++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_sub_overflow(v, (int64_t)(*r->p - '0'), &v))
            field_overflow(r->c);
    if (!minus && __builtin_sub_overflow(0, v, &v)) field_overflow(r->c);
    return v;
}

static double read_fraction(reader *r, bool minus)
{
    char text[40] = "0.";
    size_t n = 2;
    if (r->p == r->end || *r->p != '.') return 0;
    for (r->p++; is_digit(r); r->p++)
        if (n < sizeof text - 1) text[n++] = *r->p;
    text[n] = 0;
    double f = strtod(text, NULL);
    return minus ? -f : f;
}

_Noreturn static void unknown_form(reader *r)
{
    sql_refuse(r->c, -1, "an interval that is written in this way");
}

static int two_digits(reader *r)
{
    int n = 0, v = 0;
    for (; n < 2 && is_digit(r); n++, r->p++) v = v * 10 + (*r->p - '0');
    if (!n || v > 59) unknown_form(r);
    return v;
}

/* HH:MM[:SS[.fraction]], the hours read. */
static void read_clock(reader *r, int64_t hours, bool minus)
{
    r->p++;
    int64_t minutes = two_digits(r), seconds = 0;
    double fraction = 0;
    if (r->p < r->end && *r->p == '.') unknown_form(r); /* minutes and seconds */
    if (r->p < r->end && *r->p == ':') {
        r->p++;
        seconds = two_digits(r);
        fraction = read_fraction(r, minus);
    }
    add_unit(r, UNIT_HOUR, hours, 0);
    add_unit(r, UNIT_MINUTE, minus ? -minutes : minutes, 0);
    add_unit(r, UNIT_SECOND, minus ? -seconds : seconds, 0);
    add_scaled(r, &r->us, (int64_t)rint(fraction * 1e6), 1);
}

/* The unit of a number, or none. */
static void read_unit(reader *r, int64_t v, double fraction)
{
    skip_blanks(r);
    const char *word = r->p;
    while (r->p < r->end && ((*r->p | 32) >= 'a' && (*r->p | 32) <= 'z')) r->p++;
    size_t n = (size_t)(r->p - word);
    if (!n && (r->p == r->end || *r->p == '-' || *r->p == '+' || is_digit(r))) {
        const char *colon = r->p;
        while (colon < r->end && *colon != ':' && *colon != ' ') colon++;
        bool clock = colon < r->end && *colon == ':';
        if (r->p < r->end && !clock) unknown_form(r);
        add_unit(r, clock ? UNIT_DAY : UNIT_SECOND, v, fraction);
        return;
    }
    int unit = unit_named(word, n);
    if (unit < 0) {
        if (n == 3 && (word[0] | 32) == 'a') unknown_form(r);
        sql_raise(r->c, "22007", "invalid input syntax for type interval");
    }
    add_unit(r, unit, v, fraction);
}

/* "+1.5 hours", "2-6" (years and months), "04:05:06", or a number alone: seconds, or before a clock
   time days. */
static void read_item(reader *r)
{
    bool minus = *r->p == '-', sign = minus || *r->p == '+';
    r->p += sign;
    if (!is_digit(r) && (r->p == r->end || *r->p != '.')) unknown_form(r);
    int64_t v = read_whole(r, minus);
    if (r->p < r->end && *r->p == ':') {
        read_clock(r, v, minus);
        return;
    }
    if (r->p + 1 < r->end && *r->p == '-' && r->p[1] >= '0' && r->p[1] <= '9') {
        r->p++;
        int64_t months = read_whole(r, minus);
        if (months > 11 || months < -11) unknown_form(r);
        add_unit(r, UNIT_YEAR, v, 0);
        add_unit(r, UNIT_MONTH, months, 0);
        return;
    }
    read_unit(r, v, read_fraction(r, minus));
}

/* P1Y2M3W4DT5H6M7S */
static void read_iso(reader *r)
{
    bool clock = false, any = false;
    for (r->p++; r->p < r->end; any = true) {
        if (*r->p == 'T' && !clock) {
            clock = true;
            r->p++;
        }
        bool minus = r->p < r->end && *r->p == '-';
        r->p += minus;
        if (!is_digit(r)) unknown_form(r);
        int64_t v = read_whole(r, minus);
        double fraction = read_fraction(r, minus);
        const char *at = r->p < r->end ? strchr(clock ? "SMH" : "DWMY", *r->p) : NULL;
        if (!at || !*at) unknown_form(r);
        int unit = clock ? (*at == 'S'   ? UNIT_SECOND
                            : *at == 'M' ? UNIT_MINUTE
                                         : UNIT_HOUR)
                         : (*at == 'D'   ? UNIT_DAY
                            : *at == 'W' ? UNIT_WEEK
                            : *at == 'M' ? UNIT_MONTH
                                         : UNIT_YEAR);
        r->p++;
        add_unit(r, unit, v, fraction);
    }
    if (!any) unknown_form(r);
}

static interval whole_interval(reader *r, bool ago)
{
    if (ago) {
        if (r->us == INT64_MIN || r->days == INT32_MIN || r->months == INT32_MIN)
            field_overflow(r->c);
        r->us = -r->us, r->days = -r->days, r->months = -r->months;
    }
    return (interval){r->us, (int32_t)r->days, (int32_t)r->months};
}

interval interval_parse(sql_context *c, const char *s, size_t n)
{
    reader r = {.c = c, .p = s, .end = s + n};
    bool any = false, ago = false;
    skip_blanks(&r);
    if (r.p < r.end && *r.p == 'P') {
        read_iso(&r);
        return whole_interval(&r, false);
    }
    if (r.p < r.end && *r.p == '@') r.p++;
    for (skip_blanks(&r); r.p < r.end; skip_blanks(&r)) {
        bool word = ((*r.p | 32) >= 'a' && (*r.p | 32) <= 'z') && *r.p != '@';
        if (!word) {
            read_item(&r);
            any = true;
            continue;
        }
        const char *from = r.p;
        while (r.p < r.end && ((*r.p | 32) >= 'a' && (*r.p | 32) <= 'z')) r.p++;
        const char *after = r.p;
        skip_blanks(&r);
        ago = after - from == 3 && (from[0] | 32) == 'a' && (from[1] | 32) == 'g' &&
              (from[2] | 32) == 'o' && r.p == r.end && any;
        if (!ago && unit_named(from, (size_t)(after - from)) < 0 && !any && (from[0] | 32) != 'i' &&
            (from[0] | 32) != 'p')
            sql_raise(c, "22007", "invalid input syntax for type interval");
        if (!ago) unknown_form(&r);
    }
    if (!any) sql_raise(c, "22007", "invalid input syntax for type interval");
    return whole_interval(&r, ago);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

_Noreturn static void interval_overflow(sql_context *c)
{
    sql_raise(c, "22008", "interval out of range");
}

interval interval_add(sql_context *c, interval a, interval b, int sign)
{
    interval r;
    bool over = sign > 0 ? __builtin_add_overflow(a.us, b.us, &r.us) ||
                               __builtin_add_overflow(a.days, b.days, &r.days) ||
                               __builtin_add_overflow(a.months, b.months, &r.months)
                         : __builtin_sub_overflow(a.us, b.us, &r.us) ||
                               __builtin_sub_overflow(a.days, b.days, &r.days) ||
                               __builtin_sub_overflow(a.months, b.months, &r.months);
    if (over) interval_overflow(c);
    return r;
}

static double to_microseconds(double v)
{
    return rint(v * 1e6) / 1e6;
}

static int32_t int_part(sql_context *c, double v)
{
    if (isnan(v) || v > INT32_MAX || v < INT32_MIN) interval_overflow(c);
    return (int32_t)v;
}

/* interval_mul and interval_div: the fractions of months become days of 30 to the month, those of
   days seconds. */
static interval cascaded(sql_context *c, double months, double days, double us)
{
    interval r = {.months = int_part(c, months), .days = int_part(c, days)};
    double month_days = to_microseconds((months - r.months) * 30);
    double seconds = to_microseconds((days - r.days + month_days - (int)month_days) * 86400);
    int64_t more = 0;
    if (fabs(seconds) >= 86400) {
        more = (int64_t)(seconds / 86400);
        seconds -= (double)((int)(seconds / 86400) * 86400);
    }
    more += r.days + (int64_t)month_days;
    if (more > INT32_MAX || more < INT32_MIN) interval_overflow(c);
    r.days = (int32_t)more;
    double whole = rint(us + seconds * 1e6);
    if (isnan(whole) || whole >= 9223372036854775808.0 || whole < -9223372036854775808.0)
        interval_overflow(c);
    r.us = (int64_t)whole;
    return r;
}

interval interval_times(sql_context *c, interval a, double factor)
{
    return cascaded(c, a.months * factor, a.days * factor, (double)a.us * factor);
}

interval interval_divided(sql_context *c, interval a, double by)
{
    if (by == 0) sql_raise(c, "22012", "division by zero");
    return cascaded(c, a.months / by, a.days / by, (double)a.us / by);
}

interval interval_between(int64_t later, int64_t earlier)
{
    int64_t us = later - earlier;
    return (interval){us % DAY_US, (int32_t)(us / DAY_US), 0};
}

int64_t interval_move(sql_context *c, int64_t stamp, interval by, int sign)
{
    assert(sign == 1 || sign == -1);
    int64_t months = (int64_t)by.months * sign, days = (int64_t)by.days * sign, at = stamp;
    if (months) {
        civil t = calendar_civil(stamp);
        int64_t all = (int64_t)t.year * 12 + t.month - 1 + months;
        if (all < 12 || all >= 120000) sql_refuse(c, -1, "a date before year 1 or after year 9999");
        t.year = (int)(all / 12);
        t.month = (int)(all % 12) + 1;
        int most = calendar_month_days(t.year, t.month);
        if (t.day > most) t.day = most;
        at = calendar_stamp(&t);
    }
    wide sum = (wide)at + (wide)days * DAY_US;
    sum += sign > 0 ? (wide)by.us : -(wide)by.us;
    if (sum > INT64_MAX || sum < INT64_MIN)
        sql_refuse(c, -1, "a date before year 1 or after year 9999");
    return calendar_known(c, (int64_t)sum);
}
