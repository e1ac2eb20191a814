/*
 * symbolic_fm.c - the pool of formulas, and lists of guarded values.
 *
 * Conjunctions are sorted, flattened and made once (a hash table of their parts), so that equal
 * formulas have equal numbers and most tests end at a comparison.  What has been assumed is known
 * from then on, with everything that it implies.  A conjunction is made of older nodes only, so
 * there is no cycle.  A list collects its values in a gmaker, which puts equal ones together.
 */
#include "audit/symbolic_fm.h"

#include <assert.h>

#include <stdio.h>

#include "base/hash.h"

#define MOST_NODES 8000000u
#define MOST_ASKED 1500000u
#define FLAT 64u /* parts of a conjunction that are taken into another */

static void grow_slots(fm_pool *p)
{
    size_t cap = p->cap ? p->cap * 2 : 1024;
    uint32_t *slot = mem_array0(p->m, uint32_t, cap);
    for (size_t i = 1; i < p->nodes.n; i++) {
        const fm_node *n = &p->nodes.at[i];
        if (!n->n) continue;
        uint64_t h = hash_bytes(&p->parts.at[n->from], n->n * sizeof(fm), n->n);
        while (slot[h & (cap - 1)]) h++;
        slot[h & (cap - 1)] = (uint32_t)i;
    }
    mem_put(p->m, p->slot);
    p->slot = slot;
    p->cap = cap;
}

void fm_init(fm_pool *p, mem *m)
{
    memset(p, 0, sizeof *p);
    p->m = m;
    p->g = m->guard;
    p->most = MOST_NODES;
    p->most_asked = MOST_ASKED;
    arena_init(&p->keep, m);
    vec_push(m, &p->nodes, ((fm_node){.truth = 1})); /* node 0: true */
    vec_push(m, &p->terms, ((term){0}));
}

fm fm_var(fm_pool *p)
{
    vec_push(p->m, &p->nodes, ((fm_node){0}));
    if (p->nodes.n >= p->most) p->full = true;
    return (fm)(2 * (p->nodes.n - 1));
}

void fm_imply(fm_pool *p, fm variable, fm then)
{
    assert(!(variable & 1) && variable >> 1 < p->nodes.n && !fm_at(p, variable)->n);
    assert(then >> 1 < p->nodes.n);
    fm_node *n = &p->nodes.at[variable >> 1];
    vec_push(p->m, &p->links, ((fm_link){variable, then, n->links}));
    n->links = (uint32_t)p->links.n;
}

fm fm_known(const fm_pool *p, fm f)
{
    assert(f >> 1 < p->nodes.n);
    signed char t = fm_at(p, f)->truth;
    if (!t) return f;
    return (t > 0) == !(f & 1) ? FM_TRUE : FM_FALSE;
}

static void sort_parts(fm *a, size_t n)
{
    for (size_t i = 1; i < n; i++) { /* almost always short, or sorted already */
        fm x = a[i];
        size_t k = i;
        while (k && a[k - 1] > x) a[k] = a[k - 1], k--;
        a[k] = x;
    }
}

static void heap_parts(fm *a, size_t n)
{
    if (n < 32) {
        sort_parts(a, n);
        return;
    }
    for (size_t end = n, root = n / 2; end > 1;) {
        if (root)
            root--;
        else {
            fm x = a[--end];
            a[end] = a[0];
            a[0] = x;
        }
        for (size_t at = root;;) {
            size_t kid = 2 * at + 1;
            if (kid >= end) break;
            if (kid + 1 < end && a[kid + 1] > a[kid]) kid++;
            if (a[at] >= a[kid]) break;
            fm x = a[at];
            a[at] = a[kid];
            a[kid] = x;
            at = kid;
        }
    }
}

fm fm_and(fm_pool *p, const fm *f, size_t n)
{
    size_t base = p->work.n;
    guard_tick(p->g);
    for (size_t i = 0; i < n; i++) {
        fm x = fm_known(p, f[i]);
        if (x == FM_TRUE) continue;
        if (x == FM_FALSE) {
            p->work.n = base;
            return FM_FALSE;
        }
        const fm_node *c = fm_at(p, x);
        if (x & 1 || !c->n || c->n > FLAT) {
            vec_push(p->m, &p->work, x);
            continue;
        }
        for (uint32_t k = 0; k < c->n; k++) vec_push(p->m, &p->work, p->parts.at[c->from + k]);
    }
    fm *w = p->work.at ? p->work.at + base : NULL;
    size_t m = p->work.n - base, out = 0;
    heap_parts(w, m);
    assert(m < 2 || w[0] <= w[m - 1]);
    p->work.n = base;
    for (size_t i = 0; i < m; i++) {
        fm x = fm_known(p, w[i]);
        if (x == FM_FALSE || (out && w[out - 1] == fm_not(x))) return FM_FALSE;
        if (x == FM_TRUE || (out && w[out - 1] == x)) continue;
        w[out++] = x;
    }
    if (!out) return FM_TRUE;
    if (out == 1) return w[0];
    assert(out <= m && w[0] < w[out - 1]);
    if (p->nodes.n * 2 >= p->cap) grow_slots(p);
    uint64_t h = hash_bytes(w, out * sizeof *w, out);
    for (uint32_t s; (s = p->slot[h & (p->cap - 1)]) != 0; h++) {
        const fm_node *c = &p->nodes.at[s];
        if (c->n == out && !memcmp(&p->parts.at[c->from], w, out * sizeof *w)) return 2 * s;
    }
    if (p->nodes.n >= p->most || p->parts.n > UINT32_MAX - 2 * out) {
        p->full = true;
        return FM_TRUE; /* of no use any more: who sees `full` gives up */
    }
    fm_node c = {.from = (uint32_t)p->parts.n, .n = (uint32_t)out};
    vec_reserve(p->m, &p->parts, out);
    memcpy(p->parts.at + p->parts.n, w, out * sizeof *w);
    p->parts.n += out;
    p->slot[h & (p->cap - 1)] = (uint32_t)p->nodes.n;
    vec_push(p->m, &p->nodes, c);
    return (fm)(2 * (p->nodes.n - 1));
}

fm fm_or(fm_pool *p, const fm *f, size_t n)
{
    fm *w = mem_array(p->m, fm, n + 1);
    for (size_t i = 0; i < n; i++) w[i] = fm_not(f[i]);
    fm r = fm_not(fm_and(p, w, n));
    mem_put(p->m, w);
    return r;
}

fm fm_and2(fm_pool *p, fm a, fm b)
{
    if (a == FM_TRUE || a == b) return b;
    if (b == FM_TRUE) return a;
    if (a == FM_FALSE || b == FM_FALSE || a == fm_not(b)) return FM_FALSE;
    return fm_and(p, (fm[]){a, b}, 2);
}

fm fm_or2(fm_pool *p, fm a, fm b)
{
    return fm_not(fm_and2(p, fm_not(a), fm_not(b)));
}

fm fm_exactly(fm_pool *p, const fm *f, size_t n, uint64_t k)
{
    fm *open = mem_array(p->m, fm, n + 1);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        fm x = fm_known(p, f[i]);
        if (x == FM_TRUE && !k) {
            mem_put(p->m, open);
            return FM_FALSE;
        }
        if (x == FM_TRUE)
            k--;
        else if (x != FM_FALSE)
            open[m++] = x;
    }
    fm r = FM_FALSE;
    if (k == m) {
        assert(m <= n);
        r = fm_and(p, open, m);
    } else if (k < m) { /* at[j]: exactly j of those so far */
        fm *at = mem_array(p->m, fm, (size_t)k + 1);
        for (uint64_t j = 0; j <= k; j++) at[j] = j ? FM_FALSE : FM_TRUE;
        for (size_t i = 0; i < m; i++)
            for (uint64_t j = k + 1; j-- > 0;) {
                fm stay = fm_and2(p, at[j], fm_not(open[i]));
                at[j] = j ? fm_or2(p, stay, fm_and2(p, at[j - 1], open[i])) : stay;
            }
        r = at[k];
        mem_put(p->m, at);
    }
    mem_put(p->m, open);
    return r;
}

void fm_assume(fm_pool *p, fm f)
{
    assert(f >> 1 < p->nodes.n && p->nodes.at[0].truth == 1);
    size_t base = p->work.n;
    vec_push(p->m, &p->work, f);
    while (p->work.n > base) {
        f = p->work.at[--p->work.n];
        fm_node *n = &p->nodes.at[f >> 1];
        if (n->truth) continue;
        n->truth = f & 1 ? -1 : 1;
        for (uint32_t i = 0; !(f & 1) && i < n->n; i++)
            vec_push(p->m, &p->work, p->parts.at[n->from + i]);
        for (uint32_t l = f & 1 ? 0 : n->links; l; l = p->links.at[l - 1].next)
            vec_push(p->m, &p->work, p->links.at[l - 1].then);
    }
}

/* ---- guarded values -------------------------------------------------------------------------- */

static value keep_value(fm_pool *p, type_id t, value v)
{
    assert(!v.open); /* what the database chose is refused before */
    if (v.null) return value_null();
    if (t == T_NUMERIC) {
        size_t n = num_bytes(v.d);
        num *d = arena_get(&p->keep, n);
        memcpy(d, v.d, n);
        return value_num(d);
    }
    if (type_is_bytes(t)) return value_text(arena_text(&p->keep, v.s, v.n), v.n);
    return v;
}

void gmaker_begin(gmaker *k, fm_pool *p, type_id t)
{
    k->p = p;
    k->t = t;
    k->v.n = k->parts.n = 0;
}

static uint64_t maker_hash(const gmaker *k, value v)
{
    uint64_t h = value_hash(k->t, v);
    return k->t == T_NUMERIC && !v.null ? hash_pair(h, v.d->scale) : h;
}

static uint32_t maker_find(gmaker *k, value v)
{
    mem *m = k->p->m;
    if (k->v.n < 8) {
        for (size_t i = 0; i < k->v.n; i++)
            if (value_identical(k->t, k->v.at[i], v)) return (uint32_t)i;
        return UINT32_MAX;
    }
    if (k->v.n * 2 >= k->cap || k->v.n == 8) {
        uint32_t cap = k->cap > 64 ? k->cap : 64;
        while (k->v.n * 2 >= cap) cap *= 2;
        if (cap != k->cap) {
            mem_put(m, k->slot);
            k->slot = mem_array(m, uint32_t, cap);
            k->cap = cap;
        }
        memset(k->slot, 0xff, cap * sizeof *k->slot);
        for (uint32_t i = 0; i < k->v.n; i++) {
            uint64_t h = maker_hash(k, k->v.at[i]);
            while (k->slot[h & (cap - 1)] != UINT32_MAX) h++;
            k->slot[h & (cap - 1)] = i;
        }
    }
    uint64_t h = maker_hash(k, v);
    for (uint32_t s; (s = k->slot[h & (k->cap - 1)]) != UINT32_MAX; h++)
        if (value_identical(k->t, k->v.at[s], v)) return s;
    k->slot[h & (k->cap - 1)] = (uint32_t)k->v.n;
    return UINT32_MAX;
}

void gmaker_add(gmaker *k, fm when, value v)
{
    mem *m = k->p->m;
    if (when == FM_FALSE) return;
    uint32_t at = maker_find(k, v);
    if (at == UINT32_MAX) {
        at = (uint32_t)k->v.n;
        vec_push(m, &k->v, keep_value(k->p, k->t, v));
    }
    vec_push(m, &k->parts, ((gval_part){at, when}));
    assert(at < k->v.n);
}

gval gmaker_end(gmaker *k)
{
    fm_pool *p = k->p;
    uint32_t n = (uint32_t)k->v.n;
    if (!n) return gval_of(p, k->t, value_null()); /* nowhere: anything will do */
    gcase *c = arena_array(&p->keep, gcase, n);
    assert(k->parts.n >= n); /* each value has a part */
    if (n == 1) {
        c[0] = (gcase){FM_TRUE, k->v.at[0]};
        return (gval){.n = 1, .at = c};
    }
    size_t parts = k->parts.n;
    uint32_t *from = mem_array0(p->m, uint32_t, n + 2);
    fm *sorted = mem_array(p->m, fm, parts + 1);
    for (size_t i = 0; i < parts; i++) from[k->parts.at[i].which + 2]++;
    for (uint32_t i = 2; i < n + 2; i++) from[i] += from[i - 1];
    for (size_t i = 0; i < parts; i++)
        sorted[from[k->parts.at[i].which + 1]++] = k->parts.at[i].when;
    uint32_t out = 0;
    for (uint32_t i = 0; i < n; i++) {
        fm when = fm_or(p, sorted + from[i], from[i + 1] - from[i]);
        if (when != FM_FALSE) c[out++] = (gcase){when, k->v.at[i]};
    }
    mem_put(p->m, from);
    mem_put(p->m, sorted);
    if (!out) return gval_of(p, k->t, value_null());
    if (out == 1) c[0].when = FM_TRUE;
    return (gval){.n = out, .at = c};
}

void gmaker_free(gmaker *k)
{
    if (!k->p) return;
    vec_free(k->p->m, &k->v);
    vec_free(k->p->m, &k->parts);
    mem_put(k->p->m, k->slot);
    k->slot = NULL;
    k->cap = 0;
}

gval gval_of(fm_pool *p, type_id t, value v)
{
    gcase *c = arena_array(&p->keep, gcase, 1);
    *c = (gcase){FM_TRUE, keep_value(p, t, v)};
    return (gval){.n = 1, .at = c};
}

static gval term_ite_of(fm_pool *p, fm when, gval a, gval b)
{
    assert(!a.n && !b.n && a.number && b.number && a.scale == b.scale);
    fm null = fm_or2(p, fm_and2(p, when, a.null), fm_and2(p, fm_not(when), b.null));
    return (gval){.number = term_ite(p, when, a.number, b.number), .scale = a.scale, .null = null};
}

gval gval_ite(fm_pool *p, gmaker *k, type_id t, fm when, gval a, gval b)
{
    if (when == FM_TRUE) return a;
    if (when == FM_FALSE) return b;
    if (!a.n || !b.n || a.n + b.n > gval_most(p)) {
        gval x, y;
        bool terms = gval_term(p, t, a, &x) && gval_term(p, t, b, &y);
        if (terms && x.null == FM_TRUE) x.scale = y.scale; /* null is of any scale */
        if (terms && y.null == FM_TRUE) y.scale = x.scale;
        if (terms && x.scale == y.scale) return term_ite_of(p, when, x, y);
        if (!a.n || !b.n) return (gval){0};
    }
    gmaker_begin(k, p, t);
    for (uint32_t i = 0; i < a.n; i++) gmaker_add(k, fm_and2(p, when, a.at[i].when), a.at[i].v);
    fm not = fm_not(when);
    for (uint32_t i = 0; i < b.n; i++) gmaker_add(k, fm_and2(p, not, b.at[i].when), b.at[i].v);
    return gmaker_end(k);
}

fm gval_true(fm_pool *p, gval v)
{
    (void)p;
    for (uint32_t i = 0; i < v.n; i++)
        if (!v.at[i].v.null && v.at[i].v.i) return v.at[i].when;
    return FM_FALSE;
}

fm gval_null(fm_pool *p, gval v)
{
    (void)p;
    if (!v.n) return v.null;
    for (uint32_t i = 0; i < v.n; i++)
        if (v.at[i].v.null) return v.at[i].when;
    return FM_FALSE;
}

gval gval_settled(fm_pool *p, gval v)
{
    assert(v.n || v.number);
    uint32_t left = 0;
    if (v.n < 2) return v;
    for (uint32_t i = 0; i < v.n; i++) {
        fm k = fm_known(p, v.at[i].when);
        if (k == FM_TRUE) {
            gcase *c = arena_array(&p->keep, gcase, 1);
            *c = (gcase){FM_TRUE, v.at[i].v};
            return (gval){.n = 1, .at = c};
        }
        left += k != FM_FALSE;
    }
    if (left == v.n || !left) return v;
    gcase *c = arena_array(&p->keep, gcase, left);
    gval r = {.n = 0, .at = c};
    for (uint32_t i = 0; i < v.n; i++)
        if (fm_known(p, v.at[i].when) != FM_FALSE) c[r.n++] = v.at[i];
    if (r.n == 1) c[0].when = FM_TRUE;
    return r;
}

bool gval_term(fm_pool *p, type_id t, gval v, gval *out)
{
    if (!v.n) {
        *out = v;
        return v.number != 0;
    }
    if (!type_rank(t)) return false;
    uint32_t scale = UINT32_MAX;
    for (uint32_t i = 0; i < v.n; i++) {
        if (v.at[i].v.null) continue;
        uint32_t s = t == T_NUMERIC ? v.at[i].v.d->scale : 0;
        if (scale != UINT32_MAX && s != scale) return false;
        scale = s;
    }
    gval r = {.scale = scale == UINT32_MAX ? 0 : scale, .null = gval_null(p, v)};
    strbuf b;
    strbuf_init(&b, p->m);
    for (uint32_t i = v.n; i-- > 0;) {
        if (v.at[i].v.null) continue;
        b.n = 0;
        value_print(t, v.at[i].v, &b);
        char *text = arena_get(&p->keep, b.n + 1), *to = text; /* without the point */
        for (size_t k = 0; k < b.n; k++)
            if (b.at[k] != '.') *to++ = b.at[k];
        *to = 0;
        uint32_t c = term_const(p, text);
        r.number = r.number ? term_ite(p, v.at[i].when, c, r.number) : c;
    }
    if (!r.number) r.number = term_const(p, "0");
    strbuf_free(&b);
    *out = r;
    return true;
}
