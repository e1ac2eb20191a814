/*
 * float_calls.c - functions of floats.  Those whose last digit may differ between mathematical
 * libraries are answered only where the result is exact, and refused elsewhere.
 */
#include <assert.h>
#include <math.h>

#include "sql/builtin.h"
#include "sql/sql_float.h"

static value float_abs(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)x, (void)e;
    return value_float(fabs(value_double(v[0])));
}

/* An integer argument means double precision in these four. */
static double given(const expr *e, const value *v)
{
    return type_is_int(e->arg[0]->t.id) ? (double)v[0].i : value_double(v[0]);
}
static value float_round(sql_exec *x, const expr *e, const value *v)
{
    (void)x;
    return value_float(rint(given(e, v)));
}
static value float_floor(sql_exec *x, const expr *e, const value *v)
{
    (void)x;
    return value_float(floor(given(e, v)));
}
static value float_ceil(sql_exec *x, const expr *e, const value *v)
{
    (void)x;
    return value_float(ceil(given(e, v)));
}
static value float_trunc(sql_exec *x, const expr *e, const value *v)
{
    (void)x;
    return value_float(trunc(given(e, v)));
}
static value float_sign(sql_exec *x, const expr *e, const value *v)
{
    double d = given(e, v);
    (void)x;
    return value_float(d > 0 ? 1 : d < 0 ? -1 : 0);
}

static value float_sqrt(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    double d = value_double(v[0]);
    (void)e;
    if (d < 0) sql_raise(&x->c, "2201F", "cannot take square root of a negative number");
    return value_float(sqrt(d));
}

/* Whole numbers below 2^53 are exact with every library. */
static value float_power(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    double a = value_double(v[0]), b = value_double(v[1]), r = 1;
    bool small = a == rint(a) && b == rint(b) && b >= 0 && b <= 1024 && fabs(a) <= 0x1p53;
    for (int i = 0; small && i < (int)b && (small = fabs(r) <= 0x1p53); i++) r *= a;
    if (!small || fabs(r) > 0x1p53)
        sql_refuse(&x->c, e->position, "a power that is not a whole number");
    return value_float(r);
}

static value int_power(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    value as[2] = {value_float((double)v[0].i), value_float((double)v[1].i)};
    return float_power(x, e, as);
}

static value numeric_refused(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 1 && e->n <= 2 && !v[0].null);
    (void)v;
    sql_refuse(&x->c, e->position, "%s of a numeric", e->builtin->name);
}

#define OF_FLOATS(name, run)                                                                       \
    {name, "F>F", run, BUILTIN_EXACT}, {name, "2>F", run, BUILTIN_EXACT},                          \
        {name, "4>F", run, BUILTIN_EXACT},                                                         \
    {                                                                                              \
        name, "8>F", run, BUILTIN_EXACT                                                            \
    }

/* Integers mean double precision; beside a numeric they mean a numeric. */
#define OF_PAIRS(name)                                                                             \
    {name, "FF>F", float_power, 0}, {name, "nn>n", numeric_refused, 0},                            \
        {name, "44>F", int_power, BUILTIN_EXACT}, {name, "48>F", int_power, BUILTIN_EXACT},        \
        {name, "84>F", int_power, BUILTIN_EXACT}, {name, "88>F", int_power, BUILTIN_EXACT},        \
        {name, "22>F", int_power, BUILTIN_EXACT}, {name, "24>F", int_power, BUILTIN_EXACT},        \
        {name, "42>F", int_power, BUILTIN_EXACT},                                                  \
    {                                                                                              \
        name, "nF>F", numeric_refused, BUILTIN_EXACT                                               \
    }

const builtin float_builtins[] = {
    {"abs", "F>F", float_abs, BUILTIN_EXACT},
    {"abs", "f>f", float_abs, BUILTIN_EXACT},
    OF_FLOATS("round", float_round),
    OF_FLOATS("floor", float_floor),
    OF_FLOATS("ceil", float_ceil),
    OF_FLOATS("ceiling", float_ceil),
    OF_FLOATS("trunc", float_trunc),
    OF_FLOATS("sign", float_sign),
    {"sqrt", "F>F", float_sqrt, 0},
    {"sqrt", "n>n", num_sqrt, BUILTIN_EXACT},
    OF_PAIRS("power"),
    OF_PAIRS("^"),
    {NULL, NULL, NULL, 0},
};
