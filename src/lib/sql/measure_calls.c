/*
 * measure_calls.c - width_bucket, angles, and what is left of the functions of floats: those whose
 * result is one that every mathematical library gives.
 *
 * The last digits of sin() and its kin depend on the library that the server uses, so they are
 * known here only where the result is exact.  PostgreSQL's versions differ in the order in which
 * width_bucket of floats divides: where that matters it is refused.
 */
#include <assert.h>
#include <math.h>

#include "sql/builtin.h"

#define RADIANS_PER_DEGREE 0.0174532925199432957692
#define PI 3.14159265358979323846

_Noreturn static void refuse_digits(sql_exec *x, const expr *e)
{
    sql_refuse(&x->c, e->position, "the last digits of %s", e->builtin->name);
}

static value half_turn(sql_exec *x, const expr *e, const value *v)
{
    (void)x, (void)e, (void)v;
    return value_float(PI);
}

static value finite_float(sql_exec *x, double from, double r)
{
    if (isinf(r) && !isinf(from)) sql_raise(&x->c, "22003", "value out of range: overflow");
    if (r == 0 && from != 0) sql_raise(&x->c, "22003", "value out of range: underflow");
    return value_float(r);
}
static value in_degrees(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)e;
    double d = value_double(v[0]);
    return finite_float(x, d, d / RADIANS_PER_DEGREE);
}
static value in_radians(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)e;
    double d = value_double(v[0]);
    return finite_float(x, d, d * RADIANS_PER_DEGREE);
}

/* sin, tan, asin, atan, sinh: 0 at 0. */
static value zero_at_zero(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    if (value_double(v[0]) != 0) refuse_digits(x, e);
    return v[0];
}
/* cos, exp, cosh: 1 at 0. */
static value one_at_zero(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    if (value_double(v[0]) != 0) refuse_digits(x, e);
    return value_float(1);
}
/* acos, ln, log: 0 at 1. */
static value zero_at_one(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    if (value_double(v[0]) != 1) refuse_digits(x, e);
    return value_float(0);
}
static value angle_of(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    double y = value_double(v[0]), at = value_double(v[1]);
    if (y == 0 && at > 0) return v[0];
    if (y == at && y > 0 && !isinf(y)) return value_float(PI / 4);
    refuse_digits(x, e);
}

/* ---- width_bucket ---------------------------------------------------------------------------- */

static void check_buckets(sql_exec *x, int64_t count, bool empty)
{
    if (count <= 0) sql_raise(&x->c, "2201G", "count must be greater than zero");
    if (empty) sql_raise(&x->c, "2201G", "lower bound cannot equal upper bound");
}

static value bucket_number(sql_exec *x, int64_t at)
{
    if (at > INT32_MAX) sql_raise(&x->c, "22003", "integer out of range");
    return value_int(at);
}

static value bucket_of_float(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 4 && !v[0].null && !v[3].null);
    double is = value_double(v[0]), low = value_double(v[1]), high = value_double(v[2]);
    int64_t count = v[3].i;
    if (isnan(is) || isnan(low) || isnan(high) || isinf(low) || isinf(high))
        sql_refuse(&x->c, e->position, "width_bucket of NaN or without bounds");
    check_buckets(x, count, low == high);
    bool down = low > high;
    if (down ? is > low : is < low) return value_int(0);
    if (down ? is <= high : is >= high) return bucket_number(x, count + 1);
    double from = down ? low - is : is - low, width = down ? low - high : high - low;
    double one = floor((double)count * from / width), other = floor((double)count * (from / width));
    if (one != other || one < 0 || one >= (double)count)
        sql_refuse(&x->c, e->position, "width_bucket at the bound of a bucket");
    return bucket_number(x, (int64_t)one + 1);
}

/* Integers become floats for it. */
static value bucket_of_whole(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 4 && !v[0].null && !v[3].null);
    value as[4] = {value_float((double)v[0].i), value_float((double)v[1].i),
                   value_float((double)v[2].i), v[3]};
    return bucket_of_float(x, e, as);
}

static value bucket_of_numeric(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 4 && !v[0].null && !v[3].null);
    const num *is = v[0].d, *low = v[1].d, *high = v[2].d;
    int64_t count = v[3].i;
    check_buckets(x, count, !num_cmp(low, high));
    bool down = num_cmp(low, high) > 0;
    int from = num_cmp(is, low), to = num_cmp(is, high);
    if (down ? from > 0 : from < 0) return value_int(0);
    if (down ? to <= 0 : to >= 0) return bucket_number(x, count + 1);
    arena *w = &x->work;
    const num *part = down ? num_sub(w, low, is) : num_sub(w, is, low);
    const num *width = down ? num_sub(w, low, high) : num_sub(w, high, low);
    part = num_mul(w, value_need(&x->c, part), num_of(w, count));
    const num *q = value_need(&x->c, num_div(w, value_need(&x->c, part), width));
    int64_t at = 0;
    if (!num_to_i64(w, value_need(&x->c, num_floor(w, q)), &at) || at >= count)
        sql_refuse(&x->c, e->position, "width_bucket at the bound of a bucket");
    return bucket_number(x, at + 1);
}

/* ---- normal forms of Unicode ----------------------------------------------------------------- */

static void need_ascii(sql_exec *x, const expr *e, value v)
{
    for (uint32_t i = 0; i < v.n; i++)
        if ((unsigned char)v.s[i] >= 0x80)
            sql_refuse(&x->c, e->position, "the normal form of other characters than ASCII");
}
static void check_form(sql_exec *x, const expr *e, const value *v)
{
    static const char *const forms[] = {"NFC", "NFD", "NFKC", "NFKD"};
    if (e->n < 2) return;
    for (int i = 0; i < 4; i++)
        if (v[1].n == strlen(forms[i]) && !memcmp(v[1].s, forms[i], v[1].n)) return;
    sql_refuse(&x->c, e->position, "this normal form");
}
static value is_normal(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 1 && !v[0].null);
    need_ascii(x, e, v[0]);
    check_form(x, e, v);
    return value_bool(true);
}
static value normal_form(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 1 && !v[0].null);
    need_ascii(x, e, v[0]);
    check_form(x, e, v);
    return v[0];
}

const builtin measure_builtins[] = {
    {"pi", ">F", half_turn, 0},
    {"degrees", "F>F", in_degrees, 0},
    {"radians", "F>F", in_radians, 0},
    {"sin", "F>F", zero_at_zero, 0},
    {"tan", "F>F", zero_at_zero, 0},
    {"asin", "F>F", zero_at_zero, 0},
    {"atan", "F>F", zero_at_zero, 0},
    {"sinh", "F>F", zero_at_zero, 0},
    {"cos", "F>F", one_at_zero, 0},
    {"cosh", "F>F", one_at_zero, 0},
    {"acos", "F>F", zero_at_one, 0},
    {"atan2", "FF>F", angle_of, 0},
    {"width_bucket", "FFF4>4", bucket_of_float, 0},
    {"width_bucket", "nnn4>4", bucket_of_numeric, 0},
    {"width_bucket", "4444>4", bucket_of_whole, BUILTIN_EXACT},
    {"is_normalized", "t>b", is_normal, 0},
    {"is_normalized", "tt>b", is_normal, 0},
    {"normalize", "t>t", normal_form, 0},
    {"normalize", "tt>t", normal_form, 0},
    {NULL, NULL, NULL, 0},
};
