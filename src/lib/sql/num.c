/*
 * num.c - see num.h.  Schoolbook arithmetic on limbs of base 10^9; division is Knuth's algorithm D.
 */
#include "sql/num.h"

#include <assert.h>

#include "base/hash.h"

#define BASE 1000000000u
static const uint32_t pow10_small[10] = {1,      10,      100,      1000,      10000,
                                         100000, 1000000, 10000000, 100000000, 1000000000};

static num *fresh(arena *a, size_t limbs)
{
    num *x = arena_get(a, sizeof *x + limbs * sizeof x->limb[0]);
    x->n = (uint32_t)limbs;
    x->scale = 0;
    x->neg = false;
    return x;
}

static void trim(num *x)
{
    assert(x->scale <= NUM_MAX_SCALE + 1);
    while (x->n && !x->limb[x->n - 1]) x->n--;
    if (!x->n) x->neg = false;
}

size_t num_bytes(const num *x)
{
    return sizeof *x + x->n * sizeof x->limb[0];
}

const num *num_of(arena *a, int64_t v)
{
    num *x = fresh(a, 3);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    for (int i = 0; i < 3; i++) {
        x->limb[i] = (uint32_t)(u % BASE);
        u /= BASE;
    }
    x->neg = v < 0;
    trim(x);
    return x;
}

/* x's magnitude times 10^k. */
static num *shifted(arena *a, const num *x, uint32_t k)
{
    uint32_t limbs = k / 9, m = pow10_small[k % 9];
    num *r = fresh(a, (size_t)x->n + limbs + 1);
    r->neg = x->neg;
    r->scale = x->scale;
    memset(r->limb, 0, limbs * sizeof r->limb[0]);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        carry += (uint64_t)x->limb[i] * m;
        r->limb[limbs + i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
    r->limb[limbs + x->n] = (uint32_t)carry;
    trim(r);
    return r;
}

static const num *at_scale(arena *a, const num *x, uint32_t scale)
{
    assert(scale >= x->scale);
    if (scale == x->scale) return x;
    num *r = shifted(a, x, scale - x->scale);
    r->scale = (uint16_t)scale;
    return r;
}

static int cmp_mag(const num *x, const num *y)
{
    assert(!x->n || x->limb[x->n - 1]);
    assert(!y->n || y->limb[y->n - 1]);
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    for (uint32_t i = x->n; i-- > 0;)
        if (x->limb[i] != y->limb[i]) return x->limb[i] < y->limb[i] ? -1 : 1;
    return 0;
}

static num *add_mag(arena *a, const num *x, const num *y)
{
    uint32_t n = x->n > y->n ? x->n : y->n;
    num *r = fresh(a, (size_t)n + 1);
    uint32_t carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = carry + (i < x->n ? x->limb[i] : 0) + (i < y->n ? y->limb[i] : 0);
        carry = s >= BASE;
        r->limb[i] = carry ? s - BASE : s;
    }
    r->limb[n] = carry;
    return r;
}

/* |x| >= |y| */
static num *sub_mag(arena *a, const num *x, const num *y)
{
    assert(x->n >= y->n);
    num *r = fresh(a, x->n);
    uint32_t borrow = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t s = (i < y->n ? y->limb[i] : 0) + borrow;
        borrow = x->limb[i] < s;
        r->limb[i] = borrow ? x->limb[i] + BASE - s : x->limb[i] - s;
    }
    assert(!borrow);
    return r;
}

static const num *add_signed(arena *a, const num *x, const num *y, bool y_neg)
{
    uint32_t scale = x->scale > y->scale ? x->scale : y->scale;
    x = at_scale(a, x, scale);
    y = at_scale(a, y, scale);
    num *r;
    if (x->neg == y_neg) {
        r = add_mag(a, x, y);
        r->neg = x->neg;
    } else {
        bool swap = cmp_mag(x, y) < 0;
        r = swap ? sub_mag(a, y, x) : sub_mag(a, x, y);
        r->neg = swap ? y_neg : x->neg;
    }
    r->scale = (uint16_t)scale;
    trim(r);
    return r->n > NUM_MAX_DIGITS / 9 ? NULL : r;
}

const num *num_add(arena *a, const num *x, const num *y)
{
    return add_signed(a, x, y, y->neg);
}

const num *num_sub(arena *a, const num *x, const num *y)
{
    return add_signed(a, x, y, y->n ? !y->neg : y->neg);
}

const num *num_neg(arena *a, const num *x)
{
    num *r = fresh(a, x->n);
    memcpy(r, x, num_bytes(x));
    r->neg = x->n && !x->neg;
    return r;
}

const num *num_mul(arena *a, const num *x, const num *y)
{
    if ((uint32_t)x->scale + y->scale > NUM_MAX_SCALE || x->n + y->n > NUM_MAX_DIGITS / 9)
        return NULL;
    num *r = fresh(a, (size_t)x->n + y->n);
    memset(r->limb, 0, r->n * sizeof r->limb[0]);
    for (uint32_t i = 0; i < x->n; i++) {
        uint64_t carry = 0;
        for (uint32_t k = 0; k < y->n; k++) {
            carry += (uint64_t)x->limb[i] * y->limb[k] + r->limb[i + k];
            r->limb[i + k] = (uint32_t)(carry % BASE);
            carry /= BASE;
        }
        r->limb[i + y->n] = (uint32_t)carry;
    }
    r->scale = (uint16_t)(x->scale + y->scale);
    r->neg = x->neg != y->neg;
    trim(r);
    return r;
}

static uint32_t div_small(uint32_t *limb, uint32_t n, uint32_t d)
{
    assert(d && d < BASE);
    uint64_t rest = 0;
    for (uint32_t i = n; i-- > 0;) {
        rest = rest * BASE + limb[i];
        limb[i] = (uint32_t)(rest / d);
        rest %= d;
    }
    return (uint32_t)rest;
}

/* One digit of the quotient: takes q * v out of the n+1 limbs at u; Knuth 4.3.1, steps D3 to D6. */
static uint32_t quotient_digit(uint32_t *u, const uint32_t *v, uint32_t n)
{
    assert(n >= 2 && v[n - 1] >= BASE / 2); /* normalised, step D1 */
    uint64_t top = (uint64_t)u[n] * BASE + u[n - 1];
    uint64_t q = top / v[n - 1], rest = top % v[n - 1];
    while (q >= BASE || q * v[n - 2] > rest * BASE + u[n - 2]) {
        q--;
        rest += v[n - 1];
        if (rest >= BASE) break;
    }
    uint64_t carry = 0;
    uint32_t borrow = 0;
    for (uint32_t i = 0; i < n; i++) {
        carry += q * v[i];
        uint32_t s = (uint32_t)(carry % BASE) + borrow;
        carry /= BASE;
        borrow = u[i] < s;
        u[i] = borrow ? u[i] + BASE - s : u[i] - s;
    }
    uint64_t s = carry + borrow;
    if (u[n] >= s) {
        u[n] = (uint32_t)(u[n] - s);
        return (uint32_t)q;
    }
    u[n] = (uint32_t)(u[n] + BASE - s); /* one too many: add v back */
    uint32_t c = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t t = u[i] + v[i] + c;
        c = t >= BASE;
        u[i] = c ? t - BASE : t;
    }
    u[n] = (u[n] + c) % BASE;
    return (uint32_t)q - 1;
}

/* |x| / |y| as whole numbers; the remainder is not kept. */
static num *quotient(arena *a, const num *x, const num *y)
{
    assert(y->n);
    if (cmp_mag(x, y) < 0) return fresh(a, 0);
    num *q = fresh(a, x->n);
    if (y->n == 1) {
        memcpy(q->limb, x->limb, x->n * sizeof q->limb[0]);
        div_small(q->limb, x->n, y->limb[0]);
        trim(q);
        return q;
    }
    uint32_t d = BASE / (y->limb[y->n - 1] + 1), n = y->n, m = x->n - n;
    uint32_t *u = arena_array(a, uint32_t, (size_t)x->n + 1), *v = arena_array(a, uint32_t, n);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        carry += (uint64_t)x->limb[i] * d;
        u[i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
    u[x->n] = (uint32_t)carry;
    carry = 0;
    assert(n >= 2 && m <= x->n);
    for (uint32_t i = 0; i < n; i++) {
        carry += (uint64_t)y->limb[i] * d;
        v[i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
    q->n = m + 1;
    for (uint32_t k = m + 1; k-- > 0;) q->limb[k] = quotient_digit(u + k, v, n);
    trim(q);
    return q;
}

/* Exponent of the leading decimal digit of a number that is not zero. */
static int64_t leading(const num *x)
{
    assert(x->n && x->limb[x->n - 1] && x->limb[x->n - 1] < BASE);
    uint32_t top = x->limb[x->n - 1], digits = 0;
    while (top) digits++, top /= 10;
    return ((int64_t)x->n - 1) * 9 + digits - 1 - x->scale;
}

uint32_t num_whole_digits(const num *x)
{
    int64_t e = x->n ? leading(x) : -1;
    return e < 0 ? 0 : (uint32_t)e + 1;
}

/* Weight and first digit in base 10000, as PostgreSQL keeps numbers. */
static int64_t weight(arena *a, const num *x, uint32_t *first)
{
    *first = 0;
    if (!x->n) return 0;
    int64_t e = leading(x), w = e >= 0 ? e / 4 : -((-e + 3) / 4);
    int64_t drop = w * 4 + x->scale; /* digits of the whole number after that group */
    const num *q = x;
    if (drop > 0) {
        num *ten = shifted(a, num_of(a, 1), (uint32_t)drop);
        q = quotient(a, x, ten);
    } else if (drop < 0) {
        q = shifted(a, x, (uint32_t)-drop);
    }
    *first = q->limb[0];
    assert(q->n == 1 && q->limb[0] && q->limb[0] < 10000);
    return w;
}

const num *num_div(arena *a, const num *x, const num *y)
{
    assert(y->n && "the caller raises division by zero");
    uint32_t first_x, first_y;
    int64_t wx = weight(a, x, &first_x), wy = weight(a, y, &first_y);
    int64_t w = wx - wy - (first_x <= first_y), scale = 16 - w * 4;
    if (scale < x->scale) scale = x->scale;
    if (scale < y->scale) scale = y->scale;
    if (scale < 0) scale = 0;
    if (scale > 1000) scale = 1000;
    /* x / y at scale + 1 digits, the rest cut off: rounding half away needs no more */
    int64_t k = scale + 1 + y->scale - x->scale;
    const num *top = k >= 0 ? shifted(a, x, (uint32_t)k) : x;
    const num *low = k >= 0 ? y : shifted(a, y, (uint32_t)-k);
    num *q = quotient(a, top, low);
    q->scale = (uint16_t)(scale + 1);
    q->neg = q->n && x->neg != y->neg;
    return num_round(a, q, (int)scale);
}

const num *num_trunc(arena *a, const num *x, int scale)
{
    if (scale > NUM_MAX_SCALE) scale = NUM_MAX_SCALE;
    if (scale >= x->scale) return at_scale(a, x, (uint32_t)scale);
    int64_t drop = (int64_t)x->scale - scale;
    if (drop > (int64_t)x->n * 9) drop = (int64_t)x->n * 9 + 1;
    num *r = quotient(a, x, shifted(a, num_of(a, 1), (uint32_t)drop));
    if (scale < 0) r = shifted(a, r, (uint32_t)-scale);
    r->scale = (uint16_t)(scale < 0 ? 0 : scale);
    r->neg = r->n && x->neg;
    return r;
}

const num *num_round(arena *a, const num *x, int scale)
{
    if (scale > NUM_MAX_SCALE) scale = NUM_MAX_SCALE;
    if (scale >= x->scale) return at_scale(a, x, (uint32_t)scale);
    int64_t drop = (int64_t)x->scale - scale;
    if (drop > (int64_t)x->n * 9 + 1) return num_trunc(a, x, scale);
    num *half = shifted(a, num_of(a, 5), (uint32_t)drop - 1);
    half->scale = x->scale;
    half->neg = x->neg;
    const num *moved = num_add(a, x, half);
    return moved ? num_trunc(a, moved, scale) : NULL;
}

const num *num_floor(arena *a, const num *x)
{
    const num *t = num_trunc(a, x, 0);
    return num_cmp(t, x) > 0 ? num_sub(a, t, num_of(a, 1)) : t;
}

const num *num_ceil(arena *a, const num *x)
{
    const num *t = num_trunc(a, x, 0);
    return num_cmp(t, x) < 0 ? num_add(a, t, num_of(a, 1)) : t;
}

const num *num_mod(arena *a, const num *x, const num *y)
{
    assert(y->n && "the caller raises division by zero");
    uint32_t scale = x->scale > y->scale ? x->scale : y->scale;
    const num *top = at_scale(a, x, scale), *low = at_scale(a, y, scale);
    num *q = quotient(a, top, low);
    q->neg = q->n && x->neg != y->neg;
    const num *back = num_mul(a, q, low);
    return back ? num_sub(a, top, back) : NULL;
}

/* Compares limbs at unequal scales without memory: from the leading digit down. */
static uint32_t digit_at(const num *x, int64_t exponent)
{
    int64_t at = exponent + x->scale;
    if (at < 0 || at / 9 >= x->n) return 0;
    return x->limb[at / 9] / pow10_small[at % 9] % 10;
}

int num_cmp(const num *x, const num *y)
{
    int sx = num_sign(x), sy = num_sign(y);
    if (sx != sy) return sx < sy ? -1 : 1;
    if (!sx) return 0;
    int c = 0;
    if (x->scale == y->scale) {
        c = cmp_mag(x, y);
    } else {
        int64_t ex = leading(x), ey = leading(y), low = -(int64_t)x->scale;
        if (ex != ey) return ex < ey ? -sx : sx;
        if (-(int64_t)y->scale < low) low = -(int64_t)y->scale;
        for (int64_t e = ex; e >= low && !c; e--) {
            uint32_t dx = digit_at(x, e), dy = digit_at(y, e);
            c = dx < dy ? -1 : dx > dy;
        }
    }
    return c * sx;
}

uint64_t num_hash_i64(int64_t v)
{
    return hash_u64((uint64_t)v + 0x9e3779b97f4a7c15u);
}

uint64_t num_hash(const num *x)
{
    if (!x->n) return num_hash_i64(0);
    int64_t low = -(int64_t)x->scale, e = leading(x);
    while (!digit_at(x, low)) low++; /* the last digit that counts */
    assert(low <= e);
    if (low >= 0 && e < 18) {
        int64_t v = 0;
        for (int64_t i = e; i >= 0; i--) v = v * 10 + digit_at(x, i);
        return num_hash_i64(x->neg ? -v : v);
    }
    if (low >= 0 && e == 18) { /* 19 digits: perhaps an int64 */
        uint64_t v = 0;
        for (int64_t i = e; i >= 0; i--) v = v * 10 + digit_at(x, i);
        if (v <= (uint64_t)INT64_MAX + x->neg) return num_hash_i64((int64_t)(x->neg ? 0 - v : v));
    }
    uint64_t h = hash_pair((uint64_t)e, x->neg);
    for (; e >= low; e--) h = h * 31 + digit_at(x, e);
    return hash_u64(h);
}

bool num_to_i64(arena *a, const num *x, int64_t *out)
{
    const num *r = num_round(a, x, 0);
    if (!r || r->n > 3) return false;
    uint64_t v = 0;
    for (uint32_t i = r->n; i-- > 0;) {
        if (v > (UINT64_MAX - r->limb[i]) / BASE) return false;
        v = v * BASE + r->limb[i];
    }
    if (v > (uint64_t)INT64_MAX + r->neg) return false;
    *out = (int64_t)(r->neg ? 0 - v : v);
    return true;
}

bool num_parse(arena *a, const char *s, size_t n, const num **out)
{
    const char *end = s + n;
    bool neg = false;
    if (s < end && (*s == '+' || *s == '-')) neg = *s++ == '-';
    const char *from = s;
    size_t digits = 0;
    int64_t scale = 0;
    bool point = false;
    for (; s < end; s++) {
        if (*s == '.' && !point) {
            point = true;
        } else if (*s >= '0' && *s <= '9') {
            digits++;
            scale += point;
        } else {
            break;
        }
    }
    const char *stop = s;
    if (!digits) return false;
    int64_t e = 0;
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        bool down = false;
        if (s < end && (*s == '+' || *s == '-')) down = *s++ == '-';
        if (s == end) return false;
        for (; s < end && *s >= '0' && *s <= '9'; s++)
            if (e < 100000) e = e * 10 + (*s - '0');
        if (down) e = -e;
    }
    if (s != end) return false;
    if (digits > NUM_MAX_DIGITS || e > NUM_MAX_DIGITS || scale - e > NUM_MAX_SCALE) {
        *out = NULL;
        return true;
    }
    num *x = fresh(a, digits / 9 + 1);
    memset(x->limb, 0, x->n * sizeof x->limb[0]);
    size_t at = digits;
    for (s = from; s < stop; s++) {
        if (*s == '.') continue;
        at--;
        x->limb[at / 9] += (uint32_t)(*s - '0') * pow10_small[at % 9];
    }
    x->neg = neg;
    trim(x);
    if (scale - e < 0) {
        x = shifted(a, x, (uint32_t)(e - scale));
        scale = e;
    }
    x->scale = (uint16_t)(scale - e);
    assert(!x->n || x->limb[x->n - 1] < BASE);
    *out = x;
    return true;
}

void num_text(const num *x, strbuf *out)
{
    if (x->neg) strbuf_char(out, '-');
    int64_t e = x->n ? leading(x) : 0;
    if (e < 0) e = 0;
    for (; e >= -(int64_t)x->scale; e--) {
        if (e == -1) strbuf_char(out, '.');
        strbuf_char(out, (char)('0' + digit_at(x, e)));
    }
}
