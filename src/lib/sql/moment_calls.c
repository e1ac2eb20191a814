/*
 * moment_calls.c - functions and operators of dates, times, timestamps and intervals.
 *
 * A time with a zone counts as an instant: what depends on the session's zone (days and months
 * added to it, its fields) is refused.  Field names, scales of results and the corner cases are
 * those of PostgreSQL 15.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "sql/builtin.h"
#include "sql/calendar.h"
#include "sql/interval.h"

/* ---- fields ---------------------------------------------------------------------------------- */

typedef enum field_id {
    FIELD_MICROSECONDS,
    FIELD_MILLISECONDS,
    FIELD_SECOND,
    FIELD_MINUTE,
    FIELD_HOUR,
    FIELD_DAY,
    FIELD_WEEK,
    FIELD_MONTH,
    FIELD_QUARTER,
    FIELD_YEAR,
    FIELD_DECADE,
    FIELD_CENTURY,
    FIELD_MILLENNIUM,
    FIELD_DOW,
    FIELD_ISODOW,
    FIELD_DOY,
    FIELD_ISOYEAR,
    FIELD_EPOCH
} field_id;

static const struct {
    const char *name;
    field_id id;
} field_names[] = {
    {"microseconds", FIELD_MICROSECONDS},
    {"microsecond", FIELD_MICROSECONDS},
    {"milliseconds", FIELD_MILLISECONDS},
    {"millisecond", FIELD_MILLISECONDS},
    {"second", FIELD_SECOND},
    {"seconds", FIELD_SECOND},
    {"minute", FIELD_MINUTE},
    {"minutes", FIELD_MINUTE},
    {"hour", FIELD_HOUR},
    {"hours", FIELD_HOUR},
    {"day", FIELD_DAY},
    {"days", FIELD_DAY},
    {"week", FIELD_WEEK},
    {"weeks", FIELD_WEEK},
    {"month", FIELD_MONTH},
    {"months", FIELD_MONTH},
    {"quarter", FIELD_QUARTER},
    {"year", FIELD_YEAR},
    {"years", FIELD_YEAR},
    {"decade", FIELD_DECADE},
    {"century", FIELD_CENTURY},
    {"millennium", FIELD_MILLENNIUM},
    {"dow", FIELD_DOW},
    {"isodow", FIELD_ISODOW},
    {"doy", FIELD_DOY},
    {"isoyear", FIELD_ISOYEAR},
    {"epoch", FIELD_EPOCH},
};

static field_id field_named(sql_exec *x, const expr *e, value name)
{
    char word[16] = "";
    for (uint32_t i = 0; i < name.n && name.n < sizeof word; i++)
        word[i] = name.s[i] >= 'A' && name.s[i] <= 'Z' ? (char)(name.s[i] + 32) : name.s[i];
    for (size_t i = 0; i < sizeof field_names / sizeof field_names[0]; i++)
        if (!strcmp(word, field_names[i].name)) return field_names[i].id;
    sql_refuse(&x->c, e->position, "this field of a time");
}

_Noreturn static void refuse_field(sql_exec *x, const expr *e)
{
    sql_refuse(&x->c, e->position, "this field of this type");
}

/* v * 10^-scale, printed with that scale. */
static value scaled_number(sql_exec *x, int64_t v, int scale)
{
    char text[40];
    int64_t unit = scale == 6 ? 1000000 : scale == 3 ? 1000 : 1;
    uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (scale)
        snprintf(text, sizeof text, "%s%llu.%0*llu", v < 0 ? "-" : "",
                 (unsigned long long)(size / (uint64_t)unit), scale,
                 (unsigned long long)(size % (uint64_t)unit));
    else
        snprintf(text, sizeof text, "%lld", (long long)v);
    const num *d = NULL;
    bool read = num_parse(&x->work, text, strlen(text), &d);
    assert(read);
    (void)read;
    return value_num(value_need(&x->c, d));
}

static value whole_number(sql_exec *x, int64_t v)
{
    return scaled_number(x, v, 0);
}

/* Monday is 0. */
static int weekday(int64_t days)
{
    return (int)(((days + 5) % 7 + 7) % 7);
}

/* The week of ISO 8601, and the year that it belongs to. */
static int iso_week(int64_t days, int *year)
{
    int m, d;
    int64_t thursday = days - weekday(days) + 3;
    calendar_date(thursday, year, &m, &d);
    return (int)((thursday - calendar_days(*year, 1, 1)) / 7) + 1;
}

static value date_field(sql_exec *x, const expr *e, field_id f, int64_t days)
{
    int y, m, d, iso;
    calendar_date(days, &y, &m, &d);
    switch (f) {
    case FIELD_DAY: return whole_number(x, d);
    case FIELD_MONTH: return whole_number(x, m);
    case FIELD_QUARTER: return whole_number(x, (m - 1) / 3 + 1);
    case FIELD_YEAR: return whole_number(x, y);
    case FIELD_DECADE: return whole_number(x, y / 10);
    case FIELD_CENTURY: return whole_number(x, (y + 99) / 100);
    case FIELD_MILLENNIUM: return whole_number(x, (y + 999) / 1000);
    case FIELD_DOW: return whole_number(x, (weekday(days) + 1) % 7);
    case FIELD_ISODOW: return whole_number(x, weekday(days) + 1);
    case FIELD_DOY: return whole_number(x, days - calendar_days(y, 1, 1) + 1);
    case FIELD_WEEK: return whole_number(x, iso_week(days, &iso));
    case FIELD_ISOYEAR: iso_week(days, &iso); return whole_number(x, iso);
    default: refuse_field(x, e);
    }
}

static value clock_field(sql_exec *x, const expr *e, field_id f, int64_t us)
{
    switch (f) {
    case FIELD_MICROSECONDS: return whole_number(x, us % MINUTE_US);
    case FIELD_MILLISECONDS: return scaled_number(x, us % MINUTE_US, 3);
    case FIELD_SECOND: return scaled_number(x, us % MINUTE_US, 6);
    case FIELD_MINUTE: return whole_number(x, us / MINUTE_US % 60);
    case FIELD_HOUR: return whole_number(x, us / HOUR_US);
    default: refuse_field(x, e);
    }
}

/* ---- extract --------------------------------------------------------------------------------- */

/* 1970-01-01, in seconds of this calendar. */
#define UNIX_SECONDS INT64_C(946684800)

static value extract_date(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    field_id f = field_named(x, e, v[0]);
    if (f == FIELD_EPOCH) return whole_number(x, v[1].i * 86400 + UNIX_SECONDS);
    return date_field(x, e, f, v[1].i);
}

static value extract_stamp(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    field_id f = field_named(x, e, v[0]);
    int64_t days = calendar_day_of(v[1].i);
    if (f == FIELD_EPOCH) return scaled_number(x, v[1].i + UNIX_SECONDS * SECOND_US, 6);
    return f <= FIELD_HOUR ? clock_field(x, e, f, v[1].i - days * DAY_US)
                           : date_field(x, e, f, days);
}

static value extract_instant(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    if (field_named(x, e, v[0]) != FIELD_EPOCH && x->c.zone != ZONE_UTC)
        sql_refuse(&x->c, e->position, "what depends on the session's time zone");
    return extract_stamp(x, e, v);
}

static value extract_time(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    field_id f = field_named(x, e, v[0]);
    return f == FIELD_EPOCH ? scaled_number(x, v[1].i, 6) : clock_field(x, e, f, v[1].i);
}

static value extract_interval(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    field_id f = field_named(x, e, v[0]);
    interval i = interval_of(v[1]);
    int64_t years = i.months / 12, seconds = 0, us = 0;
    switch (f) {
    case FIELD_DAY: return whole_number(x, i.days);
    case FIELD_MONTH: return whole_number(x, i.months % 12);
    case FIELD_QUARTER: return whole_number(x, i.months % 12 / 3 + 1);
    case FIELD_YEAR: return whole_number(x, years);
    case FIELD_DECADE: return whole_number(x, years / 10);
    case FIELD_CENTURY: return whole_number(x, years / 100);
    case FIELD_MILLENNIUM: return whole_number(x, years / 1000);
    case FIELD_EPOCH: /* a year has 365.25 days */
        seconds = (years * 1461 + i.months % 12 * INT64_C(120) + i.days * INT64_C(4)) * 21600;
        if (__builtin_mul_overflow(seconds, SECOND_US, &us) ||
            __builtin_add_overflow(us, i.us, &us))
            sql_refuse(&x->c, e->position, "an interval of this length");
        return scaled_number(x, us, 6);
    default: return clock_field(x, e, f, i.us);
    }
}

/* The same as double precision. */
static value as_float(sql_exec *x, value v)
{
    return value_cast(&x->c, v, type_plain(T_NUMERIC), type_plain(T_FLOAT8), CAST_IMPLICIT);
}
static value part_stamp(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_float(x, extract_stamp(x, e, v));
}
static value part_instant(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_float(x, extract_instant(x, e, v));
}
static value part_date(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_float(x, extract_date(x, e, v));
}
static value part_interval(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return as_float(x, extract_interval(x, e, v));
}

/* ---- date_trunc ------------------------------------------------------------------------------ */

static int64_t clock_unit(field_id f)
{
    switch (f) {
    case FIELD_MICROSECONDS: return 1;
    case FIELD_MILLISECONDS: return 1000;
    case FIELD_SECOND: return SECOND_US;
    case FIELD_MINUTE: return MINUTE_US;
    default: return HOUR_US;
    }
}

static value trunc_stamp(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    field_id f = field_named(x, e, v[0]);
    int64_t days = calendar_day_of(v[1].i), us = v[1].i - days * DAY_US;
    int y, m, d;
    if (f <= FIELD_HOUR) return value_int(v[1].i - us % clock_unit(f));
    calendar_date(days, &y, &m, &d);
    switch (f) {
    case FIELD_DAY: break;
    case FIELD_WEEK: days -= weekday(days); break;
    case FIELD_MONTH: days = calendar_days(y, m, 1); break;
    case FIELD_QUARTER: days = calendar_days(y, (m - 1) / 3 * 3 + 1, 1); break;
    case FIELD_YEAR: days = calendar_days(y, 1, 1); break;
    case FIELD_CENTURY: days = calendar_days((y - 1) / 100 * 100 + 1, 1, 1); break;
    case FIELD_MILLENNIUM: days = calendar_days((y - 1) / 1000 * 1000 + 1, 1, 1); break;
    default: refuse_field(x, e); /* also decades, whose first begins before year 1 */
    }
    return value_int(calendar_known(&x->c, days * DAY_US));
}

static value trunc_interval(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    field_id f = field_named(x, e, v[0]);
    interval i = interval_of(v[1]);
    if (f <= FIELD_HOUR) {
        i.us -= i.us % clock_unit(f);
        return interval_value(&x->work, i);
    }
    i.us = 0;
    switch (f) {
    case FIELD_DAY: return interval_value(&x->work, i);
    case FIELD_MONTH: break;
    case FIELD_QUARTER: i.months -= i.months % 12 % 3; break;
    case FIELD_YEAR: i.months -= i.months % 12; break;
    case FIELD_DECADE: i.months -= i.months % 120; break;
    case FIELD_CENTURY: i.months -= i.months % 1200; break;
    case FIELD_MILLENNIUM: i.months -= i.months % 12000; break;
    default: refuse_field(x, e);
    }
    i.days = 0;
    return interval_value(&x->work, i);
}

/* The fields of an instant are those of a timestamp if the session's zone is UTC. */
static void need_utc(sql_exec *x, const expr *e)
{
    if (x->c.zone != ZONE_UTC)
        sql_refuse(&x->c, e->position, "what depends on the session's time zone");
}
static value trunc_instant(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    need_utc(x, e);
    return trunc_stamp(x, e, v);
}
static value trunc_day(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    need_utc(x, e);
    return trunc_stamp(x, e, (value[]){v[0], value_int(v[1].i * DAY_US)});
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Of a time with a zone only what is the same in every zone. */
static value moved(sql_exec *x, const expr *e, value stamp, value by, int sign)
{
    interval i = interval_of(by);
    if (e->t.id == T_STAMPTZ && (i.months || i.days) && x->c.zone != ZONE_UTC)
        sql_refuse(&x->c, e->position, "what depends on the session's time zone");
    return value_int(interval_move(&x->c, stamp.i, i, sign));
}
static value stamp_plus(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return moved(x, e, v[0], v[1], 1);
}
static value plus_stamp(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return moved(x, e, v[1], v[0], 1);
}
static value stamp_minus(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return moved(x, e, v[0], v[1], -1);
}
static value date_plus(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return moved(x, e, value_int(v[0].i * DAY_US), v[1], 1);
}
static value plus_date(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return moved(x, e, value_int(v[1].i * DAY_US), v[0], 1);
}
static value date_minus(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    return moved(x, e, value_int(v[0].i * DAY_US), v[1], -1);
}
static value stamps_apart(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return interval_value(&x->work, interval_between(v[0].i, v[1].i));
}
static value days_apart(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)x, (void)e;
    return value_int(v[0].i - v[1].i);
}
static value days_after(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return value_move_date(&x->c, v[0].i, v[1].i);
}
static value after_days(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return value_move_date(&x->c, v[1].i, v[0].i);
}
static value days_before(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return value_move_date(&x->c, v[0].i, -v[1].i);
}
static value date_at_time(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)x, (void)e;
    return value_int(v[0].i * DAY_US + v[1].i);
}
static value time_at_date(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)x, (void)e;
    return value_int(v[1].i * DAY_US + v[0].i);
}
static value clock_moved(int64_t us, int64_t by)
{
    us = (us + by % DAY_US) % DAY_US;
    return value_int(us < 0 ? us + DAY_US : us);
}
static value time_plus(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)x, (void)e;
    return clock_moved(v[0].i, interval_of(v[1]).us);
}
static value plus_time(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)x, (void)e;
    return clock_moved(v[1].i, interval_of(v[0]).us);
}
static value time_minus(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)x, (void)e;
    return clock_moved(v[0].i, -(interval_of(v[1]).us % DAY_US));
}
static value times_apart(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return interval_value(&x->work, (interval){v[0].i - v[1].i, 0, 0});
}
static value interval_sum(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    interval r = interval_add(&x->c, interval_of(v[0]), interval_of(v[1]), 1);
    return interval_value(&x->work, r);
}
static value interval_difference(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    interval r = interval_add(&x->c, interval_of(v[0]), interval_of(v[1]), -1);
    return interval_value(&x->work, r);
}
static value interval_negated(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)e;
    interval r = interval_add(&x->c, (interval){0, 0, 0}, interval_of(v[0]), -1);
    return interval_value(&x->work, r);
}
static value interval_multiplied(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return interval_value(&x->work, interval_times(&x->c, interval_of(v[0]), value_double(v[1])));
}
static value multiplied_interval(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return interval_value(&x->work, interval_times(&x->c, interval_of(v[1]), value_double(v[0])));
}
static value interval_quotient(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    (void)e;
    return interval_value(&x->work, interval_divided(&x->c, interval_of(v[0]), value_double(v[1])));
}

/* ---- age, justify, make ---------------------------------------------------------------------- */

static value age_between(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    civil a = calendar_civil(v[0].i), b = calendar_civil(v[1].i);
    bool back = v[0].i < v[1].i;
    int sign = back ? -1 : 1;
    (void)e;
    int64_t us = ((a.hour - b.hour) * HOUR_US + (a.minute - b.minute) * MINUTE_US +
                  (a.second - b.second) * SECOND_US + a.us - b.us) *
                 sign;
    int days = (a.day - b.day) * sign, months = (a.month - b.month) * sign;
    int years = (a.year - b.year) * sign;
    if (us < 0) us += DAY_US, days--;
    while (days < 0) {
        days += back ? calendar_month_days(a.year, a.month) : calendar_month_days(b.year, b.month);
        months--;
    }
    while (months < 0) months += 12, years--;
    interval r = {us * sign, days * sign, (years * 12 + months) * sign};
    return interval_value(&x->work, r);
}
static value age_of_instants(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    need_utc(x, e);
    return age_between(x, e, v);
}
/* Dates become instants for it. */
static value age_of_days(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    need_utc(x, e);
    return age_between(x, e, (value[]){value_int(v[0].i * DAY_US), value_int(v[1].i * DAY_US)});
}
static value instant_to_char(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    need_utc(x, e);
    return moment_to_char(x, e, v);
}

static interval hours_justified(sql_exec *x, interval i)
{
    int64_t whole = i.us / DAY_US, days = i.days + whole;
    i.us -= whole * DAY_US;
    if (days > 0 && i.us < 0) i.us += DAY_US, days--;
    if (days < 0 && i.us > 0) i.us -= DAY_US, days++;
    if (days > INT32_MAX || days < INT32_MIN) sql_raise(&x->c, "22008", "interval out of range");
    i.days = (int32_t)days;
    return i;
}

static interval days_justified(sql_exec *x, interval i)
{
    int32_t whole = i.days / 30;
    int64_t months = (int64_t)i.months + whole;
    i.days -= whole * 30;
    if (months > 0 && i.days < 0) i.days += 30, months--;
    if (months < 0 && i.days > 0) i.days -= 30, months++;
    if (months > INT32_MAX || months < INT32_MIN)
        sql_raise(&x->c, "22008", "interval out of range");
    i.months = (int32_t)months;
    return i;
}

static value justify_hours(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)e;
    return interval_value(&x->work, hours_justified(x, interval_of(v[0])));
}
static value justify_days(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)e;
    return interval_value(&x->work, days_justified(x, interval_of(v[0])));
}

/* Both at once: the three parts get one sign. */
static value justify_interval(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    interval i = interval_of(v[0]);
    int64_t whole = i.us / DAY_US, days = i.days + whole, months;
    (void)e;
    i.us -= whole * DAY_US;
    months = i.months + days / 30;
    days -= days / 30 * 30;
    if (months > 0 && (days < 0 || (!days && i.us < 0))) days += 30, months--;
    if (months < 0 && (days > 0 || (!days && i.us > 0))) days -= 30, months++;
    if (days > 0 && i.us < 0) i.us += DAY_US, days--;
    if (days < 0 && i.us > 0) i.us -= DAY_US, days++;
    if (months > INT32_MAX || months < INT32_MIN)
        sql_raise(&x->c, "22008", "interval out of range");
    i.days = (int32_t)days;
    i.months = (int32_t)months;
    return interval_value(&x->work, i);
}

/* Hours, minutes and seconds as microseconds; 24:00 is the last of them. */
static int64_t clock_of(sql_exec *x, const value *v)
{
    double us = rint(value_double(v[2]) * 1e6);
    bool right = v[0].i >= 0 && v[0].i <= 24 && v[1].i >= 0 && v[1].i < 60 && us >= 0 && us <= 6e7;
    int64_t r = right ? v[0].i * HOUR_US + v[1].i * MINUTE_US + (int64_t)us : DAY_US + 1;
    if (r > DAY_US) sql_raise(&x->c, "22008", "time field value out of range");
    return r;
}

static value make_time(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 3 && !v[0].null && !v[1].null);
    (void)e;
    return value_int(clock_of(x, v));
}

static value make_date(sql_exec *x, const expr *e, const value *v);

static value make_timestamp(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 6 && !v[0].null && !v[1].null);
    expr day = {.n = 3, .position = e->position};
    int64_t days = make_date(x, &day, v).i;
    return value_int(days * DAY_US + clock_of(x, v + 3));
}

/* The begin of the period that a timestamp lies in, counted from an origin. */
static value date_bin(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 3 && !v[0].null && !v[1].null);
    interval by = interval_of(v[0]);
    int64_t length, apart = v[1].i - v[2].i;
    if (by.months)
        sql_raise(&x->c, "0A000", "timestamps cannot be binned into intervals of months");
    length = by.days * DAY_US;
    if (__builtin_add_overflow(length, by.us, &length) || length <= 0)
        sql_raise(&x->c, "22008", "stride must be greater than zero");
    /* versions of PostgreSQL 15 differ here */
    if (apart < 0 && apart % length == 0)
        sql_refuse(&x->c, e->position, "date_bin with a later origin");
    int64_t before = apart % length;
    return value_int(v[1].i - (before < 0 ? before + length : before));
}

static value make_date(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 3 && !v[0].null && !v[1].null);
    if (v[0].i < 1 || v[0].i > 9999) sql_refuse(&x->c, e->position, "a date in this year");
    int year = (int)v[0].i;
    if (v[1].i < 1 || v[1].i > 12 || v[2].i < 1 || v[2].i > calendar_month_days(year, (int)v[1].i))
        sql_raise(&x->c, "22008", "date field value out of range");
    return value_int(calendar_days(year, v[1].i, v[2].i));
}

static value from_epoch(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    double seconds = value_double(v[0]);
    if (!(fabs(seconds) < 1e11)) sql_refuse(&x->c, e->position, "an instant this far away");
    seconds = rint((seconds - (double)UNIX_SECONDS) * 1e6);
    return value_int(calendar_known(&x->c, (int64_t)seconds));
}

/* AT TIME ZONE, if the zone is that of the instants. */
static value at_utc(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    bool utc = v[0].n == 3 && (v[0].s[0] | 32) == 'u' && (v[0].s[1] | 32) == 't' &&
               (v[0].s[2] | 32) == 'c';
    if (!utc) sql_refuse(&x->c, e->position, "AT TIME ZONE of a zone but UTC");
    return v[1];
}

/* Two periods, whose ends may be given in either order; nulls are refused. */
static value overlaps(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 4);
    for (int i = 0; i < 4; i++)
        if (v[i].null) sql_refuse(&x->c, e->position, "OVERLAPS of a null");
    int64_t a = v[0].i, b = v[1].i, c = v[2].i, d = v[3].i, swap;
    if (a > b) swap = a, a = b, b = swap;
    if (c > d) swap = c, c = d, d = swap;
    return value_bool(a == c || (a > c ? a < d : c < b));
}

const builtin moment_builtins[] = {
    {"+", "pi>p", stamp_plus, 0},
    {"+", "ip>p", plus_stamp, 0},
    {"+", "zi>z", stamp_plus, BUILTIN_STABLE},
    {"+", "iz>z", plus_stamp, BUILTIN_STABLE},
    {"+", "di>p", date_plus, 0},
    {"+", "id>p", plus_date, 0},
    {"+", "d4>d", days_after, 0},
    {"+", "4d>d", after_days, 0},
    {"+", "dm>p", date_at_time, 0},
    {"+", "md>p", time_at_date, 0},
    {"+", "mi>m", time_plus, 0},
    {"+", "im>m", plus_time, 0},
    {"+", "ii>i", interval_sum, 0},
    {"-", "pi>p", stamp_minus, 0},
    {"-", "zi>z", stamp_minus, BUILTIN_STABLE},
    {"-", "di>p", date_minus, 0},
    {"-", "pp>i", stamps_apart, 0},
    {"-", "zz>i", stamps_apart, 0},
    {"-", "dd>4", days_apart, 0},
    {"-", "d4>d", days_before, 0},
    {"-", "mi>m", time_minus, 0},
    {"-", "mm>i", times_apart, 0},
    {"-", "ii>i", interval_difference, 0},
    {"-", "i>i", interval_negated, 0},
    {"*", "iF>i", interval_multiplied, 0},
    {"*", "Fi>i", multiplied_interval, 0},
    {"/", "iF>i", interval_quotient, 0},
    {"extract", "tp>n", extract_stamp, 0},
    {"extract", "tz>n", extract_instant, BUILTIN_STABLE},
    {"extract", "td>n", extract_date, 0},
    {"extract", "tm>n", extract_time, 0},
    {"extract", "ti>n", extract_interval, 0},
    {"date_part", "tp>F", part_stamp, 0},
    {"date_part", "tz>F", part_instant, BUILTIN_STABLE},
    {"date_part", "td>F", part_date, 0},
    {"date_part", "ti>F", part_interval, 0},
    {"date_trunc", "tp>p", trunc_stamp, 0},
    {"date_trunc", "tz>z", trunc_instant, BUILTIN_STABLE},
    {"date_trunc", "td>z", trunc_day, BUILTIN_STABLE},
    {"date_trunc", "ti>i", trunc_interval, 0},
    {"age", "pp>i", age_between, 0},
    {"age", "zz>i", age_of_instants, BUILTIN_STABLE},
    {"age", "dd>i", age_of_days, BUILTIN_STABLE},
    {"justify_hours", "i>i", justify_hours, 0},
    {"justify_days", "i>i", justify_days, 0},
    {"justify_interval", "i>i", justify_interval, 0},
    {"make_date", "444>d", make_date, 0},
    {"make_time", "44F>m", make_time, 0},
    {"make_timestamp", "44444F>p", make_timestamp, 0},
    {"date_bin", "ipp>p", date_bin, 0},
    {"to_timestamp", "F>z", from_epoch, 0},
    {"timezone", "tz>p", at_utc, 0},
    {"timezone", "tp>z", at_utc, 0},
    {"overlaps", "pppp>b", overlaps, BUILTIN_NULLS},
    {"overlaps", "dddd>b", overlaps, BUILTIN_NULLS},
    {"overlaps", "zzzz>b", overlaps, BUILTIN_NULLS},
    {"to_char", "pt>t", moment_to_char, BUILTIN_STABLE},
    {"to_char", "dt>t", moment_to_char, BUILTIN_STABLE},
    {"to_char", "zt>t", instant_to_char, BUILTIN_STABLE},
    {NULL, NULL, NULL, 0},
};
