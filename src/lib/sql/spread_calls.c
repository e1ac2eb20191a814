/*
 * spread_calls.c - variance and standard deviation of exact numbers.
 *
 * As numeric_stddev_internal of PostgreSQL 15 computes them: n times the sum of squares less the
 * square of the sum, over n(n - 1) or n^2, with the scale of a division; the root is rounded to the
 * same scale.  All of it is exact but for the last step, so that the order of rows does not matter.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql/builtin.h"

/* 10^k */
static const num *power_of_ten(sql_exec *x, int k)
{
    char text[40];
    const num *r;
    int n = snprintf(text, sizeof text, "1e%d", k);
    if (!num_parse(&x->work, text, (size_t)n, &r)) return NULL;
    return r;
}

/* The largest whole number whose square is at most s, a whole number > 0. */
static const num *whole_root(sql_exec *x, const num *s)
{
    arena *m = &x->work;
    char text[64];
    strbuf b;
    strbuf_init(&b, m->mem);
    num_text(s, &b);
    strbuf_char(&b, 0);
    double guess = floor(sqrt(strtod(b.at, NULL)));
    strbuf_free(&b);
    const num *one = num_of(m, 1), *two = num_of(m, 2), *y;
    if (!isfinite(guess) || guess > 1e50) return NULL;
    int n = snprintf(text, sizeof text, "%.0f", guess < 1 ? 1 : guess);
    if (!num_parse(m, text, (size_t)n, &y)) return NULL;
    for (int i = 0; i < 8; i++) {
        const num *sum = value_need(&x->c, num_add(m, y, value_need(&x->c, num_div(m, s, y))));
        const num *next = num_trunc(m, value_need(&x->c, num_div(m, sum, two)), 0);
        if (!num_cmp(next, y)) break;
        y = next;
    }
    for (int i = 0; i < 64 && num_cmp(num_mul(m, y, y), s) > 0; i++) y = num_sub(m, y, one);
    for (int i = 0; i < 64; i++) {
        const num *more = num_add(m, y, one);
        if (num_cmp(num_mul(m, more, more), s) > 0) return y;
        y = more;
    }
    return NULL;
}

/* The square root of v > 0, rounded to its scale. */
static const num *root_of(sql_exec *x, const num *v)
{
    arena *m = &x->work;
    int digits = v->scale + 2;
    if (digits > 60 || num_whole_digits(v) > 40)
        sql_refuse(&x->c, -1, "a standard deviation of this many digits");
    const num *s = num_mul(m, v, value_need(&x->c, power_of_ten(x, 2 * digits)));
    const num *y = whole_root(x, num_trunc(m, value_need(&x->c, s), 0));
    const num *by = power_of_ten(x, -digits);
    if (!y || !by) sql_refuse(&x->c, -1, "a standard deviation of this many digits");
    return num_round(m, value_need(&x->c, num_mul(m, y, by)), v->scale);
}

value num_spread(sql_exec *x, int64_t n, const num *sum, const num *squares, bool whole, bool root)
{
    arena *m = &x->work;
    assert(n > 0 && sum && squares);
    if (!whole && n < 2) return value_null();
    const num *count = num_of(m, n);
    const num *below = num_mul(m, count, whole ? count : num_of(m, n - 1));
    const num *above = num_sub(m, value_need(&x->c, num_mul(m, count, squares)),
                               value_need(&x->c, num_mul(m, sum, sum)));
    if (num_sign(value_need(&x->c, above)) <= 0) return value_num(num_of(m, 0));
    const num *v = value_need(&x->c, num_div(m, above, value_need(&x->c, below)));
    return value_num(root ? root_of(x, v) : v);
}

/* The scale is that of numeric_sqrt: 16 significant digits, counted in groups of four. */
value num_sqrt(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    const num *d = v[0].d;
    uint32_t groups = (num_whole_digits(d) + 3) / 4;
    if (num_sign(d) < 0) sql_raise(&x->c, "2201F", "cannot take square root of a negative number");
    if (d->n && !groups) sql_refuse(&x->c, e->position, "sqrt of a numeric below 1");
    int scale = 16 - (int)((groups ? groups : 1) * 2 - 1);
    if (scale < d->scale) scale = d->scale;
    if (scale < 0) scale = 0;
    const num *fine = value_need(&x->c, num_round(&x->work, d, scale));
    return value_num(num_sign(d) ? root_of(x, fine) : fine);
}
