/*
 * number_format.c - to_char of numbers, for patterns of 9, 0, a point, commas and FM.
 *
 * The rules are those of PostgreSQL 15: the number is rounded to the digits after the point; a
 * place of 9 before the first digit is a blank, from the first 0 on it is a zero; a comma shows
 * where a digit stands before it; the sign stands before the first digit; what does not fit is
 * shown as #.  FM leaves out blanks, and zeros at the end in places of 9.
 */
#include <assert.h>

#include "sql/builtin.h"

typedef struct number_pattern {
    bool fill;              /* FM */
    uint32_t before, after; /* places for digits */
    uint32_t zero;          /* from this place on zeros are shown; `before`: none */
    uint32_t zero_after;    /* places after the point up to the last 0 */
    bool point;
    const char *s;
    uint32_t n;
} number_pattern;

static bool read_pattern(value format, number_pattern *p)
{
    uint32_t at = 0;
    *p = (number_pattern){.zero = UINT32_MAX};
    if (format.n >= 2 && (format.s[0] | 32) == 'f' && (format.s[1] | 32) == 'm') {
        p->fill = true;
        at = 2;
    }
    p->s = format.s + at;
    p->n = format.n - at;
    if (!p->n || p->n > 60) return false;
    for (uint32_t i = 0; i < p->n; i++) {
        char c = p->s[i];
        if (c == '.') {
            if (p->point) return false;
            p->point = true;
        } else if (c == '9' || c == '0') {
            if (p->point) {
                p->after++;
                if (c == '0') p->zero_after = p->after;
            } else {
                if (c == '0' && p->zero == UINT32_MAX) p->zero = p->before;
                p->before++;
            }
        } else if (c != ',' || p->point || !p->before) {
            return false;
        }
    }
    return p->before > 0 && (!p->point || p->after > 0);
}

/* The digits of the rounded number without sign and point. */
static const char *digits_of(sql_exec *x, const num *d, uint32_t after, uint32_t *whole)
{
    strbuf b;
    strbuf_init(&b, x->work.mem);
    num_text(d, &b);
    char *s = arena_get(&x->work, b.n + 2);
    uint32_t n = 0;
    for (size_t i = 0; i < b.n; i++)
        if (b.at[i] >= '0' && b.at[i] <= '9') s[n++] = b.at[i];
    s[n] = 0;
    strbuf_free(&b);
    assert(n > after);
    *whole = n - after;
    if (*whole == 1 && s[0] == '0') { /* a number below 1 has no digit before the point */
        *whole = 0;
        return s + 1;
    }
    return s;
}

static void put_digits(strbuf *b, const number_pattern *p, const char *digits, uint32_t whole,
                       bool neg)
{
    uint32_t place = 0, k = 0, last = p->after;
    assert(p->before && p->n && digits);
    bool over = whole > p->before, shown = false, past = false;
    while (p->fill && !over && last > p->zero_after && digits[whole + last - 1] == '0') last--;
    uint32_t first = over ? 0 : p->before - whole; /* place of the first digit */
    if (p->zero < first) first = p->zero;
    if (first == p->before && !p->after) first = p->before - 1; /* a lone zero */
    for (uint32_t i = 0; i < p->n; i++) {
        char c = p->s[i];
        if (c == '.') {
            if (!shown) strbuf_char(b, neg ? '-' : ' ');
            shown = past = true;
            strbuf_char(b, '.');
        } else if (c == ',') {
            if (shown)
                strbuf_char(b, ',');
            else if (!p->fill)
                strbuf_char(b, ' ');
        } else if (past) {
            if (k < last) strbuf_char(b, over ? '#' : digits[whole + k]);
            k++;
        } else {
            if (place < first) {
                if (!p->fill) strbuf_char(b, ' ');
            } else {
                if (!shown) strbuf_char(b, neg ? '-' : ' ');
                shown = true;
                uint32_t from = p->before - (over ? p->before : whole);
                strbuf_char(b, over ? '#' : place < from ? '0' : digits[place - from]);
            }
            place++;
        }
    }
}

static value number_to_char(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    number_pattern p;
    if (!read_pattern(v[1], &p)) sql_refuse(&x->c, e->position, "to_char with this pattern");
    const num *d = e->arg[0]->t.id == T_NUMERIC ? v[0].d : num_of(&x->work, v[0].i);
    bool neg = d->neg;
    d = value_need(&x->c, num_round(&x->work, d, (int)p.after));
    uint32_t whole;
    const char *digits = digits_of(x, d, p.after, &whole);
    if (neg && !d->neg) sql_refuse(&x->c, e->position, "to_char of a number that rounds to zero");
    /* what FM does to a number without digits before the point is left alone */
    if (p.fill && !whole && p.zero == UINT32_MAX)
        sql_refuse(&x->c, e->position, "to_char with FM of a number below 1");
    strbuf b;
    strbuf_init(&b, x->work.mem);
    put_digits(&b, &p, digits, whole, d->neg);
    size_t from = p.fill && b.n && b.at[0] == ' ' ? 1 : 0;
    value r = value_text(arena_text(&x->work, b.at + from, b.n - from), b.n - from);
    strbuf_free(&b);
    return r;
}

const builtin number_builtins[] = {
    {"to_char", "4t>t", number_to_char, BUILTIN_STABLE},
    {"to_char", "8t>t", number_to_char, BUILTIN_STABLE},
    {"to_char", "nt>t", number_to_char, BUILTIN_STABLE},
    {NULL, NULL, NULL, 0},
};
