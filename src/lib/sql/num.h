/*
 * num.h - exact decimals with the scales of PostgreSQL's numeric.
 *
 * A number is a sign, a whole number in base 10^9 and how many of its decimal digits stand after
 * the point (the display scale, which is part of what a client sees: 1.0 and 1.00 are equal and
 * print differently).  Scales of results follow numeric.c of PostgreSQL 15: add and subtract take
 * the larger, multiply the sum, divide at least 16 significant digits counted in groups of four.
 * NaN and infinities are not numbers here; who meets one refuses.
 */
#ifndef RATEL_SQL_NUM_H
#define RATEL_SQL_NUM_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "sql/arena.h"

typedef struct num {
    uint32_t n; /* limbs, the last one not 0; 0: zero */
    uint16_t scale;
    bool neg; /* never of zero */
    uint32_t limb[];
} num;

#define NUM_MAX_SCALE 16383
#define NUM_MAX_DIGITS 20000 /* beyond that we refuse; PostgreSQL's own limit is 131072 */

/* NULL: more digits than NUM_MAX_DIGITS, or a scale beyond NUM_MAX_SCALE. */
const num *num_of(arena *a, int64_t v);
const num *num_add(arena *a, const num *x, const num *y);
const num *num_sub(arena *a, const num *x, const num *y);
const num *num_mul(arena *a, const num *x, const num *y);
const num *num_div(arena *a, const num *x, const num *y); /* y is not zero */
const num *num_mod(arena *a, const num *x, const num *y);
const num *num_neg(arena *a, const num *x);
/* Half away from zero; a larger scale adds zeros.  A negative scale rounds before the point. */
const num *num_round(arena *a, const num *x, int scale);
const num *num_trunc(arena *a, const num *x, int scale);
const num *num_floor(arena *a, const num *x);
const num *num_ceil(arena *a, const num *x);
int num_cmp(const num *x, const num *y);
uint64_t num_hash(const num *x); /* equal numbers, equal hashes; whole ones as num_hash_i64 */
uint64_t num_hash_i64(int64_t v);
/* A whole number, rounded half away from zero; false if it does not fit. */
bool num_to_i64(arena *a, const num *x, int64_t *out);
/* Decimal digits before the point (0 for |x| < 1). */
uint32_t num_whole_digits(const num *x);
/* [+-]digits[.digits][e[+-]digits]; false if it is anything else. */
bool num_parse(arena *a, const char *s, size_t n, const num **out);
void num_text(const num *x, strbuf *out);
size_t num_bytes(const num *x);

static inline int num_sign(const num *x)
{
    return x->neg ? -1 : x->n > 0;
}

#endif
