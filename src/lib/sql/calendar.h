/*
 * calendar.h - days, clock times and what functions on them answer.
 *
 * A date is days since 2000-01-01, a timestamp microseconds since then, both in the Gregorian
 * calendar without a zone.  Years 1 to 9999 are known; what lies beyond is refused.
 */
#ifndef RATEL_SQL_CALENDAR_H
#define RATEL_SQL_CALENDAR_H

#include "sql/value.h"

#define DAY_US INT64_C(86400000000)
#define HOUR_US INT64_C(3600000000)
#define MINUTE_US INT64_C(60000000)
#define SECOND_US INT64_C(1000000)

typedef struct civil {
    int year, month, day, hour, minute, second;
    int64_t us; /* of the second */
} civil;

/* Days since 2000-01-01 in the Gregorian calendar, and back (Howard Hinnant's algorithms). */
int64_t calendar_days(int64_t year, int64_t month, int64_t day);
void calendar_date(int64_t days, int *year, int *month, int *day);
int calendar_month_days(int year, int month);
civil calendar_civil(int64_t stamp);
int64_t calendar_stamp(const civil *c);
/* The day of a timestamp: rounded down. */
int64_t calendar_day_of(int64_t stamp);
/* A timestamp of a year that is known, or a refusal. */
int64_t calendar_known(sql_context *c, int64_t stamp);
/* "HH:MM[:SS[.ffffff]]" at *p; false: something else. */
bool calendar_parse_clock(const char **p, const char *end, civil *c);
void calendar_print_clock(int64_t us, strbuf *out);

#endif
