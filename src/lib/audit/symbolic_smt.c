/*
 * symbolic_smt.c - formulas and terms, made for Z3 as they are reached.
 *
 * Formulas hold terms (comparisons) and terms formulas (choices), both far deeper than a stack of
 * calls could follow: one list of work holds both.
 */
#include "audit/symbolic_smt.h"

#include <assert.h>

#include "base/clock.h"

unsigned fsmt_bits(const fm_pool *p)
{
    unsigned bits = 2;
    for (size_t i = 1; i < p->terms.n; i++) {
        const term *t = &p->terms.at[i];
        if (t->wide) return 0;
        while (bits < 64 && (t->high >> (bits - 1) > 0 || t->low >> (bits - 1) < -1)) bits++;
    }
    return bits;
}

void fsmt_begin(fm_smt *f, fm_pool *p, smt *s)
{
    memset(f, 0, sizeof *f);
    f->p = p;
    f->s = s;
}

static bool done(fm_smt *f, uint32_t item)
{
    return item & 1 ? f->term_code.at[item >> 1] != 0 : f->code.at[item >> 1] != 0;
}

static uint32_t formula(const fm_smt *f, fm g)
{
    assert(g >> 1 < f->code.n && f->code.at[g >> 1]);
    return (f->code.at[g >> 1] - 1) | (g & 1);
}

static void need(fm_smt *f, uint32_t item)
{
    if (!done(f, item)) vec_push(f->p->m, &f->work, item);
}

static void need_node(fm_smt *f, const fm_node *n)
{
    for (uint32_t i = 0; i < n->n; i++) need(f, f->p->parts.at[n->from + i] & ~1u);
    if (!n->a) return;
    need(f, 2 * n->a + 1);
    need(f, 2 * n->b + 1);
}

static void need_term(fm_smt *f, const term *t)
{
    if (t->kind == TERM_ITE) need(f, t->when & ~1u);
    if (t->kind != TERM_CONST) need(f, 2 * t->a + 1);
    if (t->kind == TERM_ITE || t->kind == TERM_ADD) need(f, 2 * t->b + 1);
}

static uint32_t make_node(fm_smt *f, uint32_t node)
{
    const fm_node *n = &f->p->nodes.at[node];
    if (n->a) return smt_at_most(f->s, f->term_code.at[n->a] - 1, f->term_code.at[n->b] - 1);
    if (!n->n && node) return smt_bool(f->s);
    f->parts.n = 0;
    for (uint32_t i = 0; i < n->n; i++)
        vec_push(f->p->m, &f->parts, formula(f, f->p->parts.at[n->from + i]));
    return smt_and(f->s, f->parts.at, f->parts.n);
}

static uint32_t make_term(fm_smt *f, const term *t)
{
    assert(t->kind == TERM_CONST || f->term_code.at[t->a]);
    const uint32_t *c = f->term_code.at;
    switch ((term_kind)t->kind) {
    case TERM_CONST: return smt_const(f->s, t->digits);
    case TERM_ITE: return smt_ite(f->s, formula(f, t->when), c[t->a] - 1, c[t->b] - 1);
    case TERM_ADD: return smt_add(f->s, c[t->a] - 1, c[t->b] - 1);
    case TERM_SCALE: break;
    }
    return smt_times(f->s, c[t->a] - 1, t->digits);
}

static void code_from(fm_smt *f, fm g)
{
    while (f->code.n < f->p->nodes.n) vec_push(f->p->m, &f->code, 0);
    while (f->term_code.n < f->p->terms.n) vec_push(f->p->m, &f->term_code, 0);
    f->work.n = 0;
    need(f, g & ~1u);
    while (f->work.n) {
        uint32_t item = f->work.at[f->work.n - 1], at = item >> 1;
        size_t before = f->work.n;
        guard_tick(f->p->g);
        if (done(f, item)) {
            f->work.n--;
            continue;
        }
        if (item & 1)
            need_term(f, &f->p->terms.at[at]);
        else
            need_node(f, &f->p->nodes.at[at]);
        if (f->work.n > before) continue;
        f->work.n--;
        if (item & 1)
            f->term_code.at[at] = make_term(f, &f->p->terms.at[at]) + 1;
        else
            f->code.at[at] = make_node(f, at) + 1;
    }
}

void fsmt_assert(fm_smt *f, fm g)
{
    code_from(f, g);
    uint32_t one = formula(f, g);
    smt_assert(f->s, &one, 1);
}

/* What variables imply; coding one may bring others. */
static void tell_links(fm_smt *f)
{
    size_t n = f->p->links.n;
    unsigned char *told = mem_array0(f->p->m, unsigned char, n + 1);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            fm_link l = f->p->links.at[i];
            if (told[i] || (l.when >> 1) >= f->code.n || !f->code.at[l.when >> 1]) continue;
            code_from(f, l.then);
            uint32_t either[2] = {formula(f, l.when) ^ 1, formula(f, l.then)};
            smt_assert(f->s, either, 2);
            told[i] = 1;
            more = true;
        }
    }
    mem_put(f->p->m, told);
}

/* Z3 does not look at our clock: it gets no longer than is left. */
static unsigned slice(const guard *g, unsigned ms)
{
    uint64_t now = clock_now();
    if (!g->deadline) return ms;
    uint64_t left = g->deadline > now ? (g->deadline - now) / 1000000 + 1 : 1;
    return left < ms ? (unsigned)left : ms;
}

smt_answer fsmt_check(fm_smt *f, double seconds)
{
    assert(f->s && seconds > 0);
    tell_links(f);
    unsigned ms = 250;
    for (double left = seconds * 1000; left > 0; left -= ms / 2.0) {
        smt_answer r = smt_check(f->s, slice(f->p->g, ms));
        if (r != SMT_UNKNOWN) return r;
        guard_poll(f->p->g); /* the deadline, an interrupt */
        if (ms < 16000) ms *= 2;
    }
    return SMT_UNKNOWN;
}

bool fsmt_true(const fm_smt *f, fm variable)
{
    if ((variable >> 1) >= f->code.n || !f->code.at[variable >> 1]) return false;
    return smt_true(f->s, formula(f, variable));
}
