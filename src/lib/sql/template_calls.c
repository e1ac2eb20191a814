/*
 * template_calls.c - texts that are read by a template: to_timestamp, to_date, to_number; and
 * make_interval.
 *
 * PostgreSQL forgives a text much that its template does not say.  Only texts are read here that
 * have every digit and every mark of the template in its place, where nothing is to be forgiven;
 * the others are refused.
 */
#include <assert.h>
#include <math.h>

#include "sql/builtin.h"
#include "sql/calendar.h"
#include "sql/interval.h"

typedef enum part_id {
    PART_YEAR,
    PART_MONTH,
    PART_DAY,
    PART_HOUR,
    PART_MINUTE,
    PART_SECOND,
    PART_MILLI,
    PART_MICRO,
    N_PARTS
} part_id;

static const struct {
    const char *word;
    part_id id;
    uint32_t digits;
} parts[] = {
    {"YYYY", PART_YEAR, 4}, {"HH24", PART_HOUR, 2}, {"MM", PART_MONTH, 2}, {"DD", PART_DAY, 2},
    {"MI", PART_MINUTE, 2}, {"SS", PART_SECOND, 2}, {"MS", PART_MILLI, 3}, {"US", PART_MICRO, 6},
};

static int part_at(value format, uint32_t at)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t n = strlen(parts[i].word), k = 0;
        if (n > format.n - at) continue;
        while (k < n && (format.s[at + k] | 32) == (parts[i].word[k] | 32)) k++;
        if (k == n) return (int)i;
    }
    return -1;
}

_Noreturn static void refuse_template(sql_exec *x, const expr *e)
{
    sql_refuse(&x->c, e->position, "%s of this text or template", e->builtin->name);
}

/* The numbers of the text, one for each part of the template; -1: it has none. */
static void read_parts(sql_exec *x, const expr *e, value text, value format, int64_t *is)
{
    uint32_t at = 0;
    bool after_digits = false;
    for (int i = 0; i < N_PARTS; i++) is[i] = -1;
    for (uint32_t i = 0; i < format.n;) {
        int k = part_at(format, i);
        if (k < 0) {
            char c = format.s[i];
            if (!strchr("-/:. ", c) || at >= text.n || text.s[at] != c || !after_digits)
                refuse_template(x, e);
            after_digits = false;
            i++;
            at++;
            continue;
        }
        i += (uint32_t)strlen(parts[k].word);
        if (is[parts[k].id] >= 0 || text.n - at < parts[k].digits) refuse_template(x, e);
        int64_t v = 0;
        for (uint32_t d = 0; d < parts[k].digits; d++, at++) {
            if (text.s[at] < '0' || text.s[at] > '9') refuse_template(x, e);
            v = v * 10 + (text.s[at] - '0');
        }
        is[parts[k].id] = v;
        after_digits = true;
    }
    if (at != text.n || !after_digits) refuse_template(x, e);
}

/* Whole days, and microseconds of the day. */
static int64_t moment_of(sql_exec *x, const expr *e, const value *v, int64_t *us)
{
    int64_t is[N_PARTS];
    assert(e->n == 2 && !v[0].null && !v[1].null);
    read_parts(x, e, v[0], v[1], is);
    if (is[PART_YEAR] < 1) refuse_template(x, e);
    if (is[PART_MONTH] < 0 && is[PART_DAY] >= 0) refuse_template(x, e);
    if (is[PART_MILLI] >= 0 && is[PART_MICRO] >= 0) refuse_template(x, e);
    int64_t month = is[PART_MONTH] < 0 ? 1 : is[PART_MONTH],
            day = is[PART_DAY] < 0 ? 1 : is[PART_DAY];
    if (is[PART_MONTH] == 0 || is[PART_DAY] == 0) refuse_template(x, e);
    bool clock = is[PART_HOUR] < 24 && is[PART_MINUTE] < 60 && is[PART_SECOND] < 60;
    if (month > 12 || day > calendar_month_days((int)is[PART_YEAR], (int)month) || !clock)
        sql_raise(&x->c, "22008", "date/time field value out of range");
    *us = 0;
    static const int64_t unit[N_PARTS] = {[PART_HOUR] = HOUR_US,
                                          [PART_MINUTE] = MINUTE_US,
                                          [PART_SECOND] = SECOND_US,
                                          [PART_MILLI] = 1000,
                                          [PART_MICRO] = 1};
    for (int i = PART_HOUR; i < N_PARTS; i++)
        if (is[i] > 0) *us += is[i] * unit[i];
    return calendar_days(is[PART_YEAR], month, day);
}

static value to_date(sql_exec *x, const expr *e, const value *v)
{
    int64_t us;
    return value_int(moment_of(x, e, v, &us));
}

static value to_instant(sql_exec *x, const expr *e, const value *v)
{
    int64_t us, days = moment_of(x, e, v, &us);
    if (x->c.zone != ZONE_UTC)
        sql_refuse(&x->c, e->position, "what depends on the session's time zone");
    return value_int(days * DAY_US + us);
}

/* A digit for each 9 and 0, a comma and a point where they stand in the template. */
static value to_number(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    value text = v[0], format = v[1];
    char plain[64];
    uint32_t n = 0;
    bool point = false, digits = false;
    if (text.n != format.n || text.n >= sizeof plain) refuse_template(x, e);
    for (uint32_t i = 0; i < text.n; i++) {
        char c = text.s[i], is = format.s[i];
        bool digit = c >= '0' && c <= '9' && (is == '9' || is == '0');
        bool comma = c == ',' && is == ',' && digits && !point;
        bool mark = c == '.' && is == '.' && digits && !point;
        if (!digit && !comma && !mark) refuse_template(x, e);
        point |= mark;
        digits |= digit;
        if (!comma) plain[n++] = c;
    }
    if (!digits || plain[n - 1] == '.') refuse_template(x, e);
    const num *d = NULL;
    if (!num_parse(&x->work, plain, n, &d)) refuse_template(x, e);
    return value_num(value_need(&x->c, d));
}

/* Years, months, weeks, days, hours, minutes and seconds. */
static value make_interval(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 7 && !v[0].null && !v[6].null);
    int64_t months = v[0].i * 12 + v[1].i, days = v[2].i * 7 + v[3].i;
    double seconds = value_double(v[6]);
    bool known = fabs(seconds) < 1e9 && months <= INT32_MAX && months >= INT32_MIN &&
                 days <= INT32_MAX && days >= INT32_MIN;
    if (!known) sql_refuse(&x->c, e->position, "an interval of this length");
    int64_t us = v[4].i * HOUR_US + v[5].i * MINUTE_US + (int64_t)rint(seconds * 1e6);
    return interval_value(&x->work, (interval){us, (int32_t)days, (int32_t)months});
}

const builtin template_builtins[] = {
    {"to_date", "tt>d", to_date, BUILTIN_STABLE},
    {"to_timestamp", "tt>z", to_instant, BUILTIN_STABLE},
    {"to_number", "tt>n", to_number, BUILTIN_STABLE},
    {"make_interval", "444444F>i", make_interval, 0},
    {NULL, NULL, NULL, 0},
};
