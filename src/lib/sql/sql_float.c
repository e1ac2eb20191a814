/*
 * sql_float.c - see sql_float.h.
 */
#include "sql/sql_float.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

int float_cmp(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) ? !isnan(b) : -1;
    return a < b ? -1 : a > b;
}

uint64_t float_hash(double d)
{
    uint64_t bits;
    if (isnan(d)) return 0x7ff8;
    if (d == 0) d = 0; /* and minus zero */
    memcpy(&bits, &d, sizeof bits);
    return hash_u64(bits == UINT64_C(1) << 63 ? 0 : bits);
}

static bool reads_back(type_id t, const char *text, double d)
{
    return t == T_FLOAT4 ? (double)strtof(text, NULL) == d : strtod(text, NULL) == d;
}

/* The fewest digits that read back; of equally many the nearest, which printf gives.  Exponents
   from -5 to 14 (real: 5) are written out. */
/* Is the text halfway to the next float?  PostgreSQL does not print that, though it reads back. */
static bool lies_between(type_id t, const char *text, double d)
{
    long double v = strtold(text, NULL);
    for (int side = -1; side <= 1; side += 2) {
        double end = side * HUGE_VAL;
        double next = t == T_FLOAT4 ? (double)nextafterf((float)d, (float)end) : nextafter(d, end);
        if (!isinf(next) && v == ((long double)d + (long double)next) / 2) return true;
    }
    return false;
}

void float_print(type_id t, double d, strbuf *out)
{
    if (isnan(d) || isinf(d)) {
        strbuf_str(out, isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity");
        return;
    }
    char text[40];
    int most = t == T_FLOAT4 ? 9 : 17, n = 1;
    for (; n < most; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, d);
        if (reads_back(t, text, d) && !lies_between(t, text, d)) break;
    }
    snprintf(text, sizeof text, "%.*e", n - 1, d);
    char *e = strchr(text, 'e');
    int exponent = (int)strtol(e + 1, NULL, 10);
    char digits[24];
    int k = 0;
    for (const char *p = text; p < e; p++)
        if (*p >= '0' && *p <= '9') digits[k++] = *p;
    if (signbit(d)) strbuf_char(out, '-');
    while (k > 1 && digits[k - 1] == '0') k--;
    int widest = t == T_FLOAT4 ? 6 : 15;
    if (exponent < -4 || exponent >= widest) {
        strbuf_char(out, digits[0]);
        if (k > 1) strbuf_char(out, '.');
        strbuf_add(out, digits + 1, (size_t)k - 1);
        strbuf_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        strbuf_str(out, "0.");
        for (int i = -1; i > exponent; i--) strbuf_char(out, '0');
        strbuf_add(out, digits, (size_t)k);
        return;
    }
    for (int i = 0; i < k || i <= exponent; i++) {
        if (i == exponent + 1) strbuf_char(out, '.');
        strbuf_char(out, i < k ? digits[i] : '0');
    }
}

_Noreturn static void float_range(sql_context *c, const char *text, size_t n, type_id t)
{
    sql_raise(c, "22003", "\"%.*s\" is out of range for type %s", (int)n, text, type_name(t));
}

static bool special_word(const char *s, size_t n, double *d)
{
    static const struct {
        const char *word;
        double is;
    } words[] = {{"nan", NAN},
                 {"infinity", INFINITY},
                 {"+infinity", INFINITY},
                 {"-infinity", -INFINITY},
                 {"inf", INFINITY},
                 {"+inf", INFINITY},
                 {"-inf", -INFINITY}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t k = 0;
        while (k < n && words[i].word[k] && (s[k] | 32) == (words[i].word[k] | 32)) k++;
        if (k == n && !words[i].word[k]) {
            *d = words[i].is;
            return true;
        }
    }
    return false;
}

value float_parse(sql_context *c, type_id t, const char *s, size_t n)
{
    double d = 0;
    if (special_word(s, n, &d)) return value_float(d);
    size_t i = n && (*s == '-' || *s == '+'), digits = 0;
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++) digits++;
    if (i < n && s[i] == '.')
        for (i++; i < n && s[i] >= '0' && s[i] <= '9'; i++) digits++;
    if (digits && i < n && (s[i] | 32) == 'e') {
        size_t from = i + 1 + (i + 1 < n && (s[i + 1] == '-' || s[i + 1] == '+')), at = from;
        while (at < n && s[at] >= '0' && s[at] <= '9') at++;
        if (at > from) i = at;
    }
    if (!digits || i != n) sql_raise(c, "22P02", "invalid input syntax for type %s", type_name(t));
    char *text = arena_text(c->work, s, n);
    d = t == T_FLOAT4 ? (double)strtof(text, NULL) : strtod(text, NULL);
    bool zero = true;
    for (size_t k = 0; k < n && (text[k] | 32) != 'e'; k++) zero &= text[k] < '1' || text[k] > '9';
    if (isinf(d) || (d == 0 && !zero)) float_range(c, s, n, t);
    return value_float(d);
}

static value float_to_int(sql_context *c, double d, type_id t)
{
    double r = rint(d), most = t == T_INT2 ? 32768.0 : t == T_INT4 ? 2147483648.0 : 0x1p63;
    if (isnan(r) || r < -most || r >= most) sql_raise(c, "22003", "%s out of range", type_name(t));
    return value_int((int64_t)r);
}

value float_cast(sql_context *c, value v, type_id from, type to)
{
    double d = value_double(v);
    if (type_is_int(to.id)) return float_to_int(c, d, to.id);
    if (to.id == T_FLOAT8) return v;
    if (to.id == T_FLOAT4) {
        float f = (float)d;
        if (isinf(f) && !isinf(d)) sql_raise(c, "22003", "value out of range: overflow");
        if (f == 0 && d != 0) sql_raise(c, "22003", "value out of range: underflow");
        return value_float((double)f);
    }
    assert(to.id == T_NUMERIC);
    if (isnan(d) || isinf(d)) sql_refuse(c, -1, "numeric NaN and infinities");
    char text[64]; /* 15 or 6 digits, as PostgreSQL takes them */
    snprintf(text, sizeof text, "%.*g", from == T_FLOAT4 ? FLT_DIG : DBL_DIG, d);
    return value_parse(c, to, text, strlen(text));
}

value float_from(sql_context *c, type_id to, type_id from, value v)
{
    if (type_is_float(from)) return float_cast(c, v, from, type_plain(to));
    if (from == T_NUMERIC) {
        strbuf b;
        strbuf_init(&b, c->work->mem);
        num_text(v.d, &b);
        char *text = arena_text(c->work, b.at, b.n);
        size_t n = b.n;
        strbuf_free(&b);
        return float_parse(c, to, text, n);
    }
    return value_float(to == T_FLOAT4 ? (double)(float)v.i : (double)v.i);
}

double float_checked(sql_context *c, type_id t, double r, bool inputs_infinite, bool may_be_zero)
{
    if (t == T_FLOAT4) r = (double)(float)r;
    if (isinf(r) && !inputs_infinite) sql_raise(c, "22003", "value out of range: overflow");
    if (r == 0 && !may_be_zero) sql_raise(c, "22003", "value out of range: underflow");
    return r;
}

value float_arith(sql_context *c, type_id t, int op, double a, double b)
{
    bool infinite = isinf(a) || isinf(b);
    if (op == '/' && b == 0 && !isnan(a)) sql_raise(c, "22012", "division by zero");
    double r = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
    bool zero = op == '*' ? a == 0 || b == 0 : op == '/' ? a == 0 || isinf(b) : true;
    return value_float(float_checked(c, t, r, op == '/' ? isinf(a) : infinite, zero));
}

void float_sum_add(float_sum *s, double d)
{
    s->n++;
    s->sum += d;
    if (isnan(d) || isinf(d)) {
        s->special = true;
        return;
    }
    if (d == 0) return;
    int exponent;
    double m = frexp(d, &exponent);
    int64_t bits = (int64_t)ldexp(m, 53);
    int low = exponent - 53 + __builtin_ctzll((uint64_t)(bits < 0 ? -bits : bits));
    if (s->size == 0 || low < s->least) s->least = low;
    s->size += fabs(d) * (1 + 0x1p-40);
}

/* Multiples of 2^least whose sizes sum to less than 2^(least + 53) have only exact partial sums;
   two summands have one order but for their exchange. */
bool float_sum_exact(const float_sum *s)
{
    if (s->n <= 2) return true;
    return !s->special && (s->size == 0 || s->size < ldexp(1, s->least + 53));
}
