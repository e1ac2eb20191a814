/*
 * symbolic_term.c - whole numbers that depend on choices: sums, and which of two.
 *
 * A comparison with a constant goes down the term as far as it is one sum of a choice and a
 * constant after the other, and comes back as a formula: what is asked is mostly whether a chain of
 * updates can end in the observed number, and then only few numbers matter on the way.  Bounds and
 * remainders cut it short.  What is left, sums of two unknowns, is for the solver of
 * src/lib/audit/smt.h.
 */
#include <stdio.h>

#include "audit/symbolic_fm.h"

#include <assert.h>
#include "base/hash.h"

/* ---- terms ----------------------------------------------------------------------------------- */

#define WIDE ((int64_t)1 << 61)

static term bounded(term t, __int128 low, __int128 high)
{
    assert(low <= high);
    t.wide = low < -WIDE || high > WIDE;
    t.low = t.wide ? -WIDE : (int64_t)low;
    t.high = t.wide ? WIDE : (int64_t)high;
    return t;
}

static int64_t gcd(int64_t a, int64_t b)
{
    if (a < 0) a = -a;
    if (b < 0) b = -b;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static uint64_t term_hash(const term *t)
{
    uint64_t h = hash_pair((uint64_t)t->kind << 32 | t->when, (uint64_t)t->a << 32 | t->b);
    return t->digits ? hash_bytes(t->digits, strlen(t->digits), h) : h;
}

static bool same_term(const term *a, const term *b)
{
    assert((a->kind != TERM_CONST && a->kind != TERM_SCALE) || a->digits);
    return a->kind == b->kind && a->when == b->when && a->a == b->a && a->b == b->b &&
           (!a->digits || !strcmp(a->digits, b->digits));
}

/* The slot of an equal term, or an empty one. */
static size_t term_slot(fm_pool *p, const term *t)
{
    if (2 * p->terms.n >= p->term_cap) {
        mem_put(p->m, p->term_slot);
        p->term_cap = p->term_cap ? 2 * p->term_cap : 1024;
        p->term_slot = mem_array0(p->m, uint32_t, p->term_cap);
        for (uint32_t i = 1; i < p->terms.n; i++) {
            uint64_t h = term_hash(&p->terms.at[i]);
            while (p->term_slot[h & (p->term_cap - 1)]) h++;
            p->term_slot[h & (p->term_cap - 1)] = i;
        }
    }
    uint64_t h = term_hash(t);
    for (uint32_t s; (s = p->term_slot[h & (p->term_cap - 1)]) != 0; h++)
        if (same_term(&p->terms.at[s], t)) break;
    return h & (p->term_cap - 1);
}

/* The digits as a number; far beyond WIDE if there are too many of them. */
static __int128 digits_value(const char *digits)
{
    __int128 n = 0;
    for (const char *d = digits; *d && n < (__int128)WIDE * 4; d++)
        if (*d != '-') n = n * 10 + (*d - '0');
    return *digits == '-' ? -n : n;
}

static term with_bounds(term t, const term *a, const term *b, __int128 n)
{
    __int128 low = 0, high = 0;
    bool wide = t.kind != TERM_CONST && (a->wide || (t.kind != TERM_SCALE && b->wide));
    switch ((term_kind)t.kind) {
    case TERM_CONST: low = high = n; break;
    case TERM_ITE:
        low = a->low < b->low ? a->low : b->low;
        high = a->high > b->high ? a->high : b->high;
        break;
    case TERM_ADD:
        low = (__int128)a->low + b->low;
        high = (__int128)a->high + b->high;
        break;
    case TERM_SCALE:
        wide |= n < -WIDE || n > WIDE;
        low = wide ? 0 : n < 0 ? n * a->high : n * a->low;
        high = wide ? 0 : n < 0 ? n * a->low : n * a->high;
    }
    t = bounded(t, low, high);
    t.wide |= wide;
    return t;
}

/* Of a term that has its bounds: which multiples it may be. */
static term with_remainder(term t, const term *a, const term *b, __int128 n)
{
    t.step = 1;
    t.rest = 0;
    switch ((term_kind)t.kind) {
    case TERM_CONST:
        t.step = 0;
        t.rest = t.low;
        break;
    case TERM_ITE:
        t.step = gcd(gcd(a->step, b->step), a->rest - b->rest);
        t.rest = a->rest;
        break;
    case TERM_ADD:
        t.step = gcd(a->step, b->step);
        t.rest = a->rest + b->rest;
        break;
    case TERM_SCALE:
        if (t.wide) break;
        t.step = a->step * (int64_t)n;
        t.rest = a->rest * (int64_t)n;
    }
    if (t.wide) t.step = 1;
    if (t.step < 0) t.step = -t.step;
    if (t.step) t.rest %= t.step;
    assert(t.wide || t.low <= t.high);
    assert(t.step >= 0 && (t.kind != TERM_CONST || t.wide || !t.step));
    return t;
}

static uint32_t term_new(fm_pool *p, term t)
{
    assert(t.a < p->terms.n && t.b < p->terms.n); /* made of older terms: no cycle */
    assert((t.kind == TERM_CONST) == !t.a);
    size_t slot = term_slot(p, &t);
    if (p->term_slot[slot]) return p->term_slot[slot];
    if (t.digits) t.digits = arena_text(&p->keep, t.digits, strlen(t.digits));
    p->term_slot[slot] = (uint32_t)p->terms.n;
    const term *a = &p->terms.at[t.a], *b = &p->terms.at[t.b];
    __int128 n = t.digits ? digits_value(t.digits) : 0;
    t = with_remainder(with_bounds(t, a, b, n), a, b, n);
    vec_push(p->m, &p->terms, t);
    if (p->terms.n >= p->most) p->full = true;
    return (uint32_t)p->terms.n - 1;
}

uint32_t term_const(fm_pool *p, const char *digits)
{
    return term_new(p, (term){.kind = TERM_CONST, .digits = digits});
}

uint32_t term_ite(fm_pool *p, fm when, uint32_t a, uint32_t b)
{
    assert(a && b);
    if (a == b || when == FM_TRUE) return a;
    if (when == FM_FALSE) return b;
    return term_new(p, (term){.kind = TERM_ITE, .when = when, .a = a, .b = b});
}

uint32_t term_add(fm_pool *p, uint32_t a, uint32_t b)
{
    assert(a && b);
    return term_new(p, (term){.kind = TERM_ADD, .a = a, .b = b});
}

uint32_t term_scale(fm_pool *p, uint32_t a, const char *factor)
{
    if (!strcmp(factor, "1")) return a;
    return term_new(p, (term){.kind = TERM_SCALE, .a = a, .digits = factor});
}

static fm atom(fm_pool *p, uint32_t a, uint32_t b)
{
    assert(a && b && a != b);
    fm f = fm_var(p);
    p->nodes.at[f >> 1].a = a;
    p->nodes.at[f >> 1].b = b;
    return f;
}

/* ---- a term and a number --------------------------------------------------------------------- */

static const fm unasked = UINT32_MAX;

static size_t asked_at(const fm_pool *p, uint32_t t, int64_t k, bool equal)
{
    assert(p->asked_cap && 2 * p->n_asked <= p->asked_cap + 2);
    uint64_t h = hash_pair((uint64_t)t << 1 | equal, (uint64_t)k);
    for (;; h++) {
        const fm_asked *q = &p->asked[h & (p->asked_cap - 1)];
        if (!q->t || (q->t == t && q->k == k && q->equal == equal)) return h & (p->asked_cap - 1);
    }
}

static void more_asked(fm_pool *p)
{
    fm_asked *old = p->asked;
    size_t n = p->asked_cap;
    p->asked_cap = n ? 2 * n : 1024;
    p->asked = mem_array0(p->m, fm_asked, p->asked_cap);
    for (size_t i = 0; i < n; i++)
        if (old[i].t) p->asked[asked_at(p, old[i].t, old[i].k, old[i].equal)] = old[i];
    mem_put(p->m, old);
}

/* What bounds and remainders tell, and what was asked before. */
static fm known(fm_pool *p, uint32_t t, int64_t k, bool equal)
{
    assert(t && t < p->terms.n);
    const term *x = &p->terms.at[t];
    if (x->low > k) return FM_FALSE;
    if (!equal && x->high <= k) return FM_TRUE;
    if (equal) {
        if (x->high < k) return FM_FALSE;
        if (x->step ? (k - x->rest) % x->step : k != x->rest) return FM_FALSE;
        if (x->low == x->high) return FM_TRUE;
    }
    size_t at = asked_at(p, t, k, equal);
    return p->asked[at].t ? p->asked[at].f : unasked;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    assert(b > 0);
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* One question in terms of simpler ones; `unasked`: those in `sub` first. */
static fm reduce(fm_pool *p, fm_asked q, fm_asked sub[2])
{
    term x = p->terms.at[q.t];
    sub[0] = sub[1] = (fm_asked){0};
    switch ((term_kind)x.kind) {
    case TERM_CONST: return FM_FALSE; /* bounds have told */
    case TERM_ITE: {
        fm a = known(p, x.a, q.k, q.equal), b = known(p, x.b, q.k, q.equal);
        if (a == unasked) sub[0] = (fm_asked){x.a, q.k, 0, q.equal};
        if (b == unasked) sub[1] = (fm_asked){x.b, q.k, 0, q.equal};
        if (a == unasked || b == unasked) return unasked;
        return fm_or2(p, fm_and2(p, x.when, a), fm_and2(p, fm_not(x.when), b));
    }
    case TERM_ADD: {
        const term *a = &p->terms.at[x.a], *b = &p->terms.at[x.b];
        bool left = a->low == a->high, right = b->low == b->high;
        if (!left && !right) return unasked;
        sub[0] = (fm_asked){right ? x.a : x.b, q.k - (right ? b->low : a->low), 0, q.equal};
        break;
    }
    case TERM_SCALE: {
        int64_t size = 0; /* of the factor: a power of ten, or -1 */
        bool minus = *x.digits == '-';
        for (const char *d = x.digits + minus; *d; d++) size = size * 10 + (*d - '0');
        if (size <= 0) return unasked;
        if (q.equal && q.k % size) return FM_FALSE;
        int64_t part = floor_div(q.k, size);
        if (q.equal || !minus) {
            sub[0] = (fm_asked){x.a, minus ? -part : part, 0, q.equal};
            break;
        }
        int64_t least = -part; /* -size * a <= k is a >= -k / size, rounded up */
        fm r = known(p, x.a, least - 1, false);
        sub[0] = (fm_asked){x.a, least - 1, 0, false};
        return r == unasked ? r : fm_not(r);
    }
    }
    return known(p, sub[0].t, sub[0].k, sub[0].equal);
}

static fm ask(fm_pool *p, uint32_t t, int64_t k, bool equal, uint32_t number)
{
    if (!p->asked_cap) more_asked(p);
    fm r = known(p, t, k, equal);
    if (r != unasked) return r;
    VEC(fm_asked) work = {0};
    vec_push(p->m, &work, ((fm_asked){t, k, 0, equal}));
    while (work.n) {
        fm_asked q = work.at[work.n - 1], sub[2];
        guard_tick(p->g);
        if (known(p, q.t, q.k, q.equal) != unasked) {
            work.n--;
            continue;
        }
        bool room = p->n_asked < p->most_asked;
        r = room ? reduce(p, q, sub) : unasked;
        if (!room && p->no_atoms) p->full = true;
        if (r == unasked && room && (sub[0].t || sub[1].t)) {
            for (int i = 0; i < 2; i++)
                if (sub[i].t) vec_push(p->m, &work, sub[i]);
            continue;
        }
        if (r == unasked) {
            char digits[24];
            snprintf(digits, sizeof digits, "%lld", (long long)q.k);
            uint32_t c = q.k == k && number ? number : term_const(p, digits);
            r = q.equal ? fm_and2(p, atom(p, q.t, c), atom(p, c, q.t)) : atom(p, q.t, c);
        }
        if (2 * p->n_asked >= p->asked_cap) more_asked(p);
        q.f = r;
        p->asked[asked_at(p, q.t, q.k, q.equal)] = q;
        p->n_asked++;
        work.n--;
    }
    vec_free(p->m, &work);
    return known(p, t, k, equal);
}

static bool is_number(const fm_pool *p, uint32_t t)
{
    return !p->terms.at[t].wide && p->terms.at[t].low == p->terms.at[t].high;
}

fm term_equal(fm_pool *p, uint32_t a, uint32_t b)
{
    assert(a && b && a < p->terms.n && b < p->terms.n);
    const term *x = &p->terms.at[a], *y = &p->terms.at[b];
    if (a == b) return FM_TRUE;
    if (!x->wide && !y->wide) {
        int64_t s = gcd(x->step, y->step);
        if (x->high < y->low || y->high < x->low) return FM_FALSE;
        if (s ? (x->rest - y->rest) % s : x->rest != y->rest) return FM_FALSE;
        if (is_number(p, b)) return ask(p, a, y->low, true, b);
        if (is_number(p, a)) return ask(p, b, x->low, true, a);
    }
    return fm_and2(p, atom(p, a, b), atom(p, b, a));
}

fm term_at_most(fm_pool *p, uint32_t a, uint32_t b)
{
    assert(a && b && a < p->terms.n && b < p->terms.n);
    const term *x = &p->terms.at[a], *y = &p->terms.at[b];
    if (!x->wide && !y->wide) {
        if (x->high <= y->low) return FM_TRUE;
        if (x->low > y->high) return FM_FALSE;
        if (is_number(p, b)) return ask(p, a, y->low, false, b);
        if (is_number(p, a)) return fm_not(ask(p, b, x->low - 1, false, 0));
    }
    return atom(p, a, b);
}
