/*
 * sql_float.h - real and double precision as PostgreSQL reads, prints, compares and converts them.
 *
 * Both are kept as a double; a real is one that is rounded to 24 bits.  The output is the shortest
 * text that reads as the same number (extra_float_digits 1, the default).  NaN is equal to itself
 * and above all else.
 */
#ifndef RATEL_SQL_SQL_FLOAT_H
#define RATEL_SQL_SQL_FLOAT_H

#include "sql/value.h"

int float_cmp(double a, double b);
uint64_t float_hash(double d);
void float_print(type_id t, double d, strbuf *out);
value float_parse(sql_context *c, type_id t, const char *s, size_t n);
/* From a float to `to`, and from a number to a float. */
value float_cast(sql_context *c, value v, type_id from, type to);
value float_from(sql_context *c, type_id to, type_id from, value v);
/* Raises 22003 if finite operands gave something infinite, or a product became zero. */
double float_checked(sql_context *c, type_id t, double r, bool inputs_infinite, bool may_be_zero);
value float_arith(sql_context *c, type_id t, int op, double a, double b);

/* Sums do not depend on the order if every partial sum is exact. */
typedef struct float_sum {
    double sum, size;
    int least; /* exponent of the lowest bit in any summand */
    uint64_t n;
    bool special;
} float_sum;
void float_sum_add(float_sum *s, double d);
bool float_sum_exact(const float_sum *s);

#endif
