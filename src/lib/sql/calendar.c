/*
 * calendar.c - see calendar.h.
 */
#include "sql/calendar.h"

#include <stdio.h>

int64_t calendar_days(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 730425;
}

void calendar_date(int64_t days, int *y, int *m, int *d)
{
    int64_t z = days + 730425, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = (int)(yoe + era * 400 + (*m <= 2));
}

int calendar_month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

int64_t calendar_day_of(int64_t stamp)
{
    return stamp / DAY_US - (stamp % DAY_US < 0);
}

civil calendar_civil(int64_t stamp)
{
    civil c = {0};
    int64_t days = calendar_day_of(stamp), us = stamp - days * DAY_US;
    calendar_date(days, &c.year, &c.month, &c.day);
    c.hour = (int)(us / HOUR_US);
    c.minute = (int)(us / MINUTE_US % 60);
    c.second = (int)(us / SECOND_US % 60);
    c.us = us % SECOND_US;
    return c;
}

int64_t calendar_stamp(const civil *c)
{
    return calendar_days(c->year, c->month, c->day) * DAY_US + c->hour * HOUR_US +
           c->minute * MINUTE_US + c->second * SECOND_US + c->us;
}

int64_t calendar_known(sql_context *c, int64_t stamp)
{
    int64_t least = calendar_days(1, 1, 1) * DAY_US, end = calendar_days(10000, 1, 1) * DAY_US;
    if (stamp < least || stamp >= end) sql_refuse(c, -1, "a date before year 1 or after year 9999");
    return stamp;
}

static bool digit_pair(const char **p, const char *end, int *out)
{
    if (end - *p < 2 || (*p)[0] < '0' || (*p)[0] > '9' || (*p)[1] < '0' || (*p)[1] > '9')
        return false;
    *out = ((*p)[0] - '0') * 10 + ((*p)[1] - '0');
    *p += 2;
    return true;
}

bool calendar_parse_clock(const char **p, const char *end, civil *c)
{
    if (!digit_pair(p, end, &c->hour) || *p == end || *(*p)++ != ':' ||
        !digit_pair(p, end, &c->minute))
        return false;
    if (*p < end && **p == ':') {
        (*p)++;
        if (!digit_pair(p, end, &c->second)) return false;
    }
    if (*p < end && **p == '.') {
        (*p)++;
        int64_t unit = 100000;
        for (; *p < end && **p >= '0' && **p <= '9' && unit; (*p)++, unit /= 10)
            c->us += (**p - '0') * unit;
    }
    return true;
}

void calendar_print_clock(int64_t us, strbuf *out)
{
    int64_t second = us / SECOND_US;
    char fraction[16];
    strbuf_printf(out, "%02d:%02d:%02d", (int)(second / 3600), (int)(second / 60 % 60),
                  (int)(second % 60));
    us %= SECOND_US;
    int n = us ? snprintf(fraction, sizeof fraction, ".%06d", (int)us) : 0;
    while (n && fraction[n - 1] == '0') n--;
    strbuf_add(out, fraction, (size_t)n);
}
