/*
 * interval.h - months, days and microseconds, as PostgreSQL keeps an interval.
 *
 * The three parts are added to a timestamp one after the other and printed one by one; two
 * intervals compare by their length with months of 30 days and days of 24 hours.  A value holds the
 * bytes of the structure.
 */
#ifndef RATEL_SQL_INTERVAL_H
#define RATEL_SQL_INTERVAL_H

#include "sql/value.h"

typedef struct interval {
    int64_t us;
    int32_t days, months;
} interval;

static inline interval interval_of(value v)
{
    interval i;
    memcpy(&i, v.s, sizeof i);
    return i;
}

value interval_value(arena *a, interval i);
int interval_cmp(interval a, interval b);
uint64_t interval_hash(interval i);
/* IntervalStyle postgres. */
void interval_print(interval i, strbuf *out);
interval interval_parse(sql_context *c, const char *s, size_t n);
/* The parts summed, the second with this sign; raises 22008. */
interval interval_add(sql_context *c, interval a, interval b, int sign);
interval interval_times(sql_context *c, interval a, double factor);
interval interval_divided(sql_context *c, interval a, double by);
/* A difference of two timestamps: whole days apart. */
interval interval_between(int64_t later, int64_t earlier);
int64_t interval_move(sql_context *c, int64_t stamp, interval by, int sign);

#endif
