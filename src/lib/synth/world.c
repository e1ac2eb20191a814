/*
 * world.c - from the syntax tree of a level to gates over a world.
 *
 * Closed relations are built once for each witness as matrices; what has free variables is built
 * entry by entry.  Quantifiers are expanded; a domain that folds to false costs nothing, so with a
 * constant order half of the work is never done.
 */
#include <string.h>

#include "synth/world.h"

tiny *tiny_new(mem *m, uint32_t n, uint32_t keys)
{
    tiny *h = mem_zeroed(m, sizeof *h);
    size_t size = n + 1;
    h->n = n;
    h->keys = keys;
    h->from = mem_array(m, uint32_t, size * keys);
    for (size_t i = 0; i < size * keys; i++) h->from[i] = TINY_NONE;
    h->writes = mem_array0(m, bool, size *keys);
    h->so = mem_array0(m, bool, size *size);
    for (size_t x = 0; x < keys; x++) h->writes[x] = true;
    for (size_t t = 1; t < size; t++) h->so[t] = true;
    return h;
}

void tiny_free(mem *m, tiny *h)
{
    mem_put(m, h->from);
    mem_put(m, h->writes);
    mem_put(m, h->so);
    mem_put(m, h);
}

static gate *matrix(mem *m, size_t n)
{
    gate *r = mem_array(m, gate, n);
    for (size_t i = 0; i < n; i++) r[i] = GATE_FALSE;
    return r;
}

void world_alloc(world *w, gates *g, uint32_t size, uint32_t keys)
{
    *w = (world){.g = g, .size = size, .keys = keys};
    size_t cells = (size_t)size * keys;
    w->act = matrix(g->mem, size);
    w->key = mem_array0(g->mem, gate, keys + 1); /* GATE_TRUE */
    w->w = matrix(g->mem, cells);
    w->rf = matrix(g->mem, cells * size);
    w->so = matrix(g->mem, (size_t)size * size);
    w->wr = matrix(g->mem, (size_t)size * size);
    w->upd = matrix(g->mem, size);
}

void world_derive(world *w)
{
    gates *g = w->g;
    for (uint32_t a = 0; a < w->size; a++) {
        for (uint32_t b = 0; b < w->size; b++) {
            size_t o = gate_open(g);
            for (uint32_t x = 0; x < w->keys; x++)
                gate_push(g, w->rf[((size_t)b * w->keys + x) * w->size + a]);
            w->wr[(size_t)a * w->size + b] = gate_close_or(g, o);
        }
        size_t o = gate_open(g);
        for (uint32_t x = 0; x < w->keys; x++) gate_push(g, w->w[(size_t)a * w->keys + x]);
        w->upd[a] = gate_close_or(g, o);
    }
}

void world_constant(world *w, gates *g, const tiny *h)
{
    world_alloc(w, g, h->n + 1, h->keys);
    for (uint32_t t = 0; t <= h->n; t++) {
        w->act[t] = GATE_TRUE;
        for (uint32_t x = 0; x < h->keys; x++) {
            size_t cell = (size_t)t * h->keys + x;
            if (h->writes[cell]) w->w[cell] = GATE_TRUE;
            if (h->from[cell] != TINY_NONE) w->rf[cell * w->size + h->from[cell]] = GATE_TRUE;
        }
        for (uint32_t b = 0; b <= h->n; b++)
            if (h->so[(size_t)t * w->size + b]) w->so[(size_t)t * w->size + b] = GATE_TRUE;
    }
    world_derive(w);
}

gate *order_constant(const world *w, const uint32_t *place)
{
    gate *o = matrix(w->g->mem, (size_t)w->size * w->size);
    for (uint32_t a = 0; a < w->size; a++)
        for (uint32_t b = 0; b < w->size; b++)
            if (place[a] < place[b])
                o[(size_t)a * w->size + b] = gate_and(w->g, w->act[a], w->act[b]);
    return o;
}

gate *order_any(const world *w)
{
    gates *g = w->g;
    uint32_t n = w->size;
    gate *before = matrix(g->mem, (size_t)n * n), *o = matrix(g->mem, (size_t)n * n);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            gate x = a ? gate_new(g) : GATE_TRUE;
            before[(size_t)a * n + b] = x;
            before[(size_t)b * n + a] = gate_not(x);
        }
    for (uint32_t a = 1; a < n; a++)
        for (uint32_t b = 1; b < n; b++)
            for (uint32_t c = 1; c < n; c++) {
                if (a == b || b == c || a == c) continue;
                gate rule[3] = {gate_not(before[(size_t)a * n + b]),
                                gate_not(before[(size_t)b * n + c]), before[(size_t)a * n + c]};
                gate_clause(g, rule, 3);
            }
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (a != b)
                o[(size_t)a * n + b] =
                    gate_and(g, before[(size_t)a * n + b], gate_and(g, w->act[a], w->act[b]));
    return o;
}

gate *vis_any(const world *w, const gate *order)
{
    gates *g = w->g;
    uint32_t n = w->size;
    gate *v = matrix(g->mem, (size_t)n * n);
    for (size_t i = 0; i < (size_t)n * n; i++) {
        if (order[i] == GATE_FALSE) continue;
        if (i < n) { /* what transaction 0 wrote is visible to all */
            v[i] = order[i];
            continue;
        }
        v[i] = gate_and(g, gate_new(g), order[i]);
    }
    return v;
}

/* ---- expressions --------------------------------------------------------------------------- */

typedef struct eval {
    const world *w;
    gates *g;
    uint32_t n, keys;
    const gate *order, *vis;
    gate **memo; /* [node]: matrices of closed relations, vectors of closed sets */
    uint32_t *env;
    gate *ww, *rw;
    gate *none; /* what no history here has: clocks, predicate reads */
} eval;

static gate form(eval *e, const iso_node *x);
static gate rel_at(eval *e, const iso_node *x, uint32_t a, uint32_t b);
static gate set_at(eval *e, const iso_node *x, uint32_t a);

static size_t at(const eval *e, uint32_t a, uint32_t b)
{
    return (size_t)a * e->n + b;
}

/* Keys from e->keys on are imagined ones that nobody touches (needs_key). */
static gate writes(const eval *e, uint32_t t, uint32_t x)
{
    if (x >= e->keys) return t ? GATE_FALSE : GATE_TRUE;
    return e->w->w[(size_t)t * e->keys + x];
}

static gate reads_from(const eval *e, uint32_t t, uint32_t x, uint32_t s)
{
    if (x >= e->keys) return GATE_FALSE;
    return e->w->rf[((size_t)t * e->keys + x) * e->n + s];
}

/* Writers of a common key, in order. */
static const gate *version_order(eval *e)
{
    if (e->ww) return e->ww;
    e->ww = matrix(e->g->mem, (size_t)e->n * e->n);
    for (uint32_t a = 0; a < e->n; a++)
        for (uint32_t b = 0; b < e->n; b++) {
            if (e->order[at(e, a, b)] == GATE_FALSE) continue;
            size_t o = gate_open(e->g);
            for (uint32_t x = 0; x < e->keys; x++)
                gate_push(e->g, gate_and(e->g, writes(e, a, x), writes(e, b, x)));
            e->ww[at(e, a, b)] = gate_and(e->g, gate_close_or(e->g, o), e->order[at(e, a, b)]);
        }
    return e->ww;
}

/* From a reader to who overwrites what it read. */
static const gate *anti_dependency(eval *e)
{
    if (e->rw) return e->rw;
    e->rw = matrix(e->g->mem, (size_t)e->n * e->n);
    for (uint32_t r = 0; r < e->n; r++)
        for (uint32_t t = 0; t < e->n; t++) {
            if (r == t) continue;
            size_t o = gate_open(e->g);
            for (uint32_t x = 0; x < e->keys; x++)
                for (uint32_t s = 0; s < e->n; s++) {
                    gate in[3] = {reads_from(e, r, x, s), writes(e, t, x), e->order[at(e, s, t)]};
                    gate_push(e->g, gate_and_all(e->g, in, 3));
                }
            e->rw[at(e, r, t)] = gate_close_or(e->g, o);
        }
    return e->rw;
}

static gate *compose(eval *e, const gate *a, const gate *b)
{
    gate *out = matrix(e->g->mem, (size_t)e->n * e->n);
    for (uint32_t i = 0; i < e->n; i++)
        for (uint32_t j = 0; j < e->n; j++) {
            size_t o = gate_open(e->g);
            for (uint32_t k = 0; k < e->n; k++)
                gate_push(e->g, gate_and(e->g, a[at(e, i, k)], b[at(e, k, j)]));
            out[at(e, i, j)] = gate_close_or(e->g, o);
        }
    return out;
}

/* Warshall: after round k, paths through the first k. */
static gate *closure(eval *e, const gate *a)
{
    gate *out = matrix(e->g->mem, (size_t)e->n * e->n);
    memcpy(out, a, (size_t)e->n * e->n * sizeof *out);
    for (uint32_t k = 0; k < e->n; k++)
        for (uint32_t i = 0; i < e->n; i++) {
            gate first = out[at(e, i, k)];
            if (first == GATE_FALSE) continue;
            for (uint32_t j = 0; j < e->n; j++)
                out[at(e, i, j)] =
                    gate_or(e->g, out[at(e, i, j)], gate_and(e->g, first, out[at(e, k, j)]));
        }
    return out;
}

static const gate *empty_rel(eval *e)
{
    if (!e->none) e->none = matrix(e->g->mem, (size_t)e->n * e->n);
    return e->none;
}

/* ww[x], rw[x] */
static gate of_one_key(eval *e, const iso_node *x, uint32_t a, uint32_t b)
{
    gates *g = e->g;
    uint32_t k = e->env[x->kid[0]->slot];
    if (a == b || x->op == ISO_RWX_PRED) return GATE_FALSE;
    if (x->op == ISO_WWX)
        return gate_and(g, e->order[at(e, a, b)], gate_and(g, writes(e, a, k), writes(e, b, k)));
    size_t o = gate_open(g);
    for (uint32_t s = 0; s < e->n; s++)
        gate_push(g, gate_and(g, reads_from(e, a, k, s), e->order[at(e, s, b)]));
    return gate_and(g, gate_close_or(g, o), writes(e, b, k));
}

static gate *build_rel(eval *e, const iso_node *x);

/* A matrix; kept for closed relations. */
static const gate *rel(eval *e, const iso_node *x)
{
    switch (x->op) {
    case ISO_SO: return e->w->so;
    case ISO_WR: return e->w->wr;
    case ISO_CO_REL:
    case ISO_AR: return e->order;
    case ISO_VIS: return e->vis;
    case ISO_WW: return version_order(e);
    case ISO_RW:
    case ISO_RW_ITEM: return anti_dependency(e);
    case ISO_RW_PRED:
    case ISO_RT:
    case ISO_CC:
    case ISO_BC: return empty_rel(e);
    case ISO_USE:
        if (!x->kid[0]) return rel(e, x->def->body);
        break;
    default: break;
    }
    if (x->open) return build_rel(e, x);
    if (!e->memo[x->id]) e->memo[x->id] = build_rel(e, x);
    return e->memo[x->id];
}

static gate *build_rel(eval *e, const iso_node *x)
{
    if (x->op == ISO_SEQ) return compose(e, rel(e, x->kid[0]), rel(e, x->kid[1]));
    if (x->op == ISO_PLUS) return closure(e, rel(e, x->kid[0]));
    if (x->op == ISO_USE && x->kid[0]) {
        e->env[x->def->param] = e->env[x->kid[0]->slot];
        return build_rel(e, x->def->body);
    }
    gate *out = matrix(e->g->mem, (size_t)e->n * e->n);
    if (x->op == ISO_STAR) {
        gate *plus = closure(e, rel(e, x->kid[0]));
        for (uint32_t a = 0; a < e->n; a++) plus[at(e, a, a)] = e->w->act[a];
        return plus;
    }
    for (uint32_t a = 0; a < e->n; a++)
        for (uint32_t b = 0; b < e->n; b++) out[at(e, a, b)] = rel_at(e, x, a, b);
    return out;
}

static gate rel_at(eval *e, const iso_node *x, uint32_t a, uint32_t b)
{
    gates *g = e->g;
    guard_tick(g->mem->guard);
    switch (x->op) {
    case ISO_ID: return a == b ? e->w->act[a] : GATE_FALSE;
    case ISO_WRX: return reads_from(e, b, e->env[x->kid[0]->slot], a);
    case ISO_WWX:
    case ISO_RWX:
    case ISO_RWX_ITEM:
    case ISO_RWX_PRED: return of_one_key(e, x, a, b);
    case ISO_DIAG: return a == b ? set_at(e, x->kid[0], a) : GATE_FALSE;
    case ISO_OPT: return a == b ? e->w->act[a] : rel_at(e, x->kid[0], a, b);
    case ISO_INVERSE: return rel_at(e, x->kid[0], b, a);
    case ISO_PRODUCT: return gate_and(g, set_at(e, x->kid[0], a), set_at(e, x->kid[1], b));
    case ISO_MEET: return gate_and(g, rel_at(e, x->kid[0], a, b), rel_at(e, x->kid[1], a, b));
    case ISO_MINUS:
        return gate_and(g, rel_at(e, x->kid[0], a, b), gate_not(rel_at(e, x->kid[1], a, b)));
    case ISO_JOIN: return gate_or(g, rel_at(e, x->kid[0], a, b), rel_at(e, x->kid[1], a, b));
    case ISO_USE:
        if (!x->kid[0]) break;
        e->env[x->def->param] = e->env[x->kid[0]->slot];
        return rel_at(e, x->def->body, a, b);
    case ISO_SEQ:
        if (x->open) {
            size_t o = gate_open(g);
            for (uint32_t k = 0; k < e->n; k++) {
                gate first = rel_at(e, x->kid[0], a, k);
                if (first == GATE_FALSE) continue;
                gate_push(g, gate_and(g, first, rel_at(e, x->kid[1], k, b)));
            }
            return gate_close_or(g, o);
        }
        break;
    default: break;
    }
    return rel(e, x)[at(e, a, b)];
}

static gate set_at(eval *e, const iso_node *x, uint32_t a)
{
    gates *g = e->g;
    guard_tick(g->mem->guard);
    switch (x->op) {
    case ISO_INIT: return a ? GATE_FALSE : GATE_TRUE;
    case ISO_TXNS: return e->w->act[a];
    case ISO_UPD: return e->w->upd[a];
    case ISO_RO: return gate_and(g, e->w->act[a], gate_not(e->w->upd[a]));
    case ISO_W: return writes(e, a, e->env[x->kid[0]->slot]);
    case ISO_R: {
        size_t o = gate_open(g);
        for (uint32_t s = 0; s < e->n; s++)
            gate_push(g, reads_from(e, a, e->env[x->kid[0]->slot], s));
        return gate_close_or(g, o);
    }
    case ISO_PREDS: return rel_at(e, x->kid[0], a, e->env[x->kid[1]->slot]);
    case ISO_SUCCS: return rel_at(e, x->kid[0], e->env[x->kid[1]->slot], a);
    case ISO_MEET: return gate_and(g, set_at(e, x->kid[0], a), set_at(e, x->kid[1], a));
    case ISO_MINUS: return gate_and(g, set_at(e, x->kid[0], a), gate_not(set_at(e, x->kid[1], a)));
    case ISO_JOIN: return gate_or(g, set_at(e, x->kid[0], a), set_at(e, x->kid[1], a));
    case ISO_MAX: {
        gate own = set_at(e, x->kid[1], a);
        if (own == GATE_FALSE) return own;
        size_t o = gate_open(g);
        gate_push(g, own);
        for (uint32_t v = 0; v < e->n; v++)
            if (v != a)
                gate_push(g, gate_implies(g, set_at(e, x->kid[1], v), rel_at(e, x->kid[0], v, a)));
        return gate_close_and(g, o);
    }
    case ISO_USE:
        if (x->kid[0]) e->env[x->def->param] = e->env[x->kid[0]->slot];
        return set_at(e, x->def->body, a);
    default: return GATE_FALSE;
    }
}

/* ---- formulas ------------------------------------------------------------------------------ */

/* wr_x(t1,t3), t2 writes x, P(t2,t3), t2 not t1: then t2 before t1.  For each t1 the disjunction
   over the t2 that are not before it is shared by all that read from t1. */
static gate commit(eval *e, const gate *p)
{
    gates *g = e->g;
    size_t all = gate_open(g);
    for (uint32_t x = 0; x < e->keys; x++)
        for (uint32_t t3 = 1; t3 < e->n; t3++)
            for (uint32_t t1 = 0; t1 < e->n; t1++) {
                gate r = reads_from(e, t3, x, t1);
                if (r == GATE_FALSE) continue;
                size_t o = gate_open(g);
                for (uint32_t t2 = 1; t2 < e->n; t2++) {
                    if (t2 == t1) continue;
                    gate in[3] = {writes(e, t2, x), p[at(e, t2, t3)],
                                  gate_not(e->order[at(e, t2, t1)])};
                    gate_push(g, gate_and_all(g, in, 3));
                }
                gate_push(g, gate_not(gate_and(g, r, gate_close_or(g, o))));
            }
    return gate_close_and(g, all);
}

/* Keys that do not occur are no keys, so their instances of the body are guarded; unless the body
   says nothing of a key that nobody touches, as is the rule.  Each slot imagines its own key. */
static bool needs_key(eval *e, const iso_node *x)
{
    uint32_t k = 0;
    while (k < e->keys && e->w->key[k] == GATE_TRUE) k++;
    if (x->kid[0] || k == e->keys) return false;
    e->env[x->slot] = e->keys + x->slot;
    return form(e, x->kid[1]) != (x->op == ISO_ALL ? GATE_TRUE : GATE_FALSE);
}

static gate quantify(eval *e, const iso_node *x)
{
    bool all = x->op == ISO_ALL, guarded = needs_key(e, x);
    uint32_t many = x->kid[0] ? e->n : e->keys;
    size_t o = gate_open(e->g);
    for (uint32_t v = 0; v < many; v++) {
        e->env[x->slot] = v;
        gate in = x->kid[0] ? set_at(e, x->kid[0], v) : guarded ? e->w->key[v] : GATE_TRUE;
        if (in == GATE_FALSE) continue;
        e->env[x->slot] = v;
        gate body = form(e, x->kid[1]);
        gate_push(e->g, all ? gate_implies(e->g, in, body) : gate_and(e->g, in, body));
    }
    return all ? gate_close_and(e->g, o) : gate_close_or(e->g, o);
}

/* Does every entry of a that holds hold in b? */
static gate inside(eval *e, const iso_node *x, const iso_node *y)
{
    size_t o = gate_open(e->g);
    if (x->type == ISO_SET) {
        for (uint32_t a = 0; a < e->n; a++) {
            gate in = set_at(e, x, a);
            if (in != GATE_FALSE) gate_push(e->g, gate_implies(e->g, in, set_at(e, y, a)));
        }
    } else {
        const gate *p = rel(e, x), *q = rel(e, y);
        for (size_t i = 0; i < (size_t)e->n * e->n; i++)
            gate_push(e->g, gate_implies(e->g, p[i], q[i]));
    }
    return gate_close_and(e->g, o);
}

static gate none_in(eval *e, const iso_node *x)
{
    size_t o = gate_open(e->g);
    if (x->type == ISO_SET) {
        for (uint32_t a = 0; a < e->n; a++) gate_push(e->g, set_at(e, x, a));
    } else {
        const gate *p = rel(e, x);
        for (size_t i = 0; i < (size_t)e->n * e->n; i++) gate_push(e->g, p[i]);
    }
    return gate_not(gate_close_or(e->g, o));
}

static gate total(eval *e, const iso_node *x)
{
    size_t o = gate_open(e->g);
    for (uint32_t a = 0; a < e->n; a++)
        for (uint32_t b = a + 1; b < e->n; b++) {
            gate both = gate_and(e->g, set_at(e, x->kid[1], a), set_at(e, x->kid[1], b));
            gate one = gate_or(e->g, rel_at(e, x->kid[0], a, b), rel_at(e, x->kid[0], b, a));
            gate_push(e->g, gate_implies(e->g, both, one));
        }
    return gate_close_and(e->g, o);
}

static gate irreflexive(eval *e, const gate *p)
{
    size_t o = gate_open(e->g);
    for (uint32_t a = 0; a < e->n; a++) gate_push(e->g, p[at(e, a, a)]);
    return gate_not(gate_close_or(e->g, o));
}

static gate equal(eval *e, const iso_node *a, const iso_node *b)
{
    if (a->type == ISO_TXN || a->type == ISO_KEY)
        return e->env[a->slot] == e->env[b->slot] ? GATE_TRUE : GATE_FALSE;
    gate one = inside(e, a, b);
    return gate_and(e->g, one, inside(e, b, a));
}

static gate form(eval *e, const iso_node *x)
{
    gates *g = e->g;
    const iso_node *a = x->kid[0], *b = x->kid[1];
    guard_tick(g->mem->guard);
    switch (x->op) {
    case ISO_TRUE: return GATE_TRUE;
    case ISO_FALSE: return GATE_FALSE;
    case ISO_NOT: return gate_not(form(e, a));
    case ISO_AND: {
        gate l = form(e, a);
        return l == GATE_FALSE ? l : gate_and(g, l, form(e, b));
    }
    case ISO_OR: {
        gate l = form(e, a);
        return l == GATE_TRUE ? l : gate_or(g, l, form(e, b));
    }
    case ISO_IMPLIES: {
        gate l = form(e, a);
        return l == GATE_FALSE ? GATE_TRUE : gate_implies(g, l, form(e, b));
    }
    case ISO_IFF: {
        gate l = form(e, a), r = form(e, b);
        return gate_and(g, gate_implies(g, l, r), gate_implies(g, r, l));
    }
    case ISO_ALL:
    case ISO_SOME: return quantify(e, x);
    case ISO_IN: return inside(e, a, b);
    case ISO_EQ: return equal(e, a, b);
    case ISO_NE: return gate_not(equal(e, a, b));
    case ISO_APPLY2: return rel_at(e, a, e->env[b->slot], e->env[x->kid[2]->slot]);
    case ISO_APPLY1: return set_at(e, a, e->env[b->slot]);
    case ISO_ACYCLIC: return irreflexive(e, closure(e, rel(e, a)));
    case ISO_IRREFLEXIVE: return irreflexive(e, rel(e, a));
    case ISO_TRANSITIVE: {
        const gate *p = rel(e, a), *pp = compose(e, p, p);
        size_t o = gate_open(g);
        for (size_t i = 0; i < (size_t)e->n * e->n; i++) gate_push(g, gate_implies(g, pp[i], p[i]));
        return gate_close_and(g, o);
    }
    case ISO_EMPTY: return none_in(e, a);
    case ISO_TOTAL: return total(e, x);
    case ISO_COMMIT: return commit(e, rel(e, a));
    default: return GATE_FALSE;
    }
}

/* Session order and read-from within a relation. */
static gate base_inside(eval *e, const gate *p)
{
    size_t o = gate_open(e->g);
    for (size_t i = 0; i < (size_t)e->n * e->n; i++) {
        gate_push(e->g, gate_implies(e->g, e->w->so[i], p[i]));
        gate_push(e->g, gate_implies(e->g, e->w->wr[i], p[i]));
    }
    return gate_close_and(e->g, o);
}

static void eval_init(eval *e, const world *w, const iso_level *l, const gate *order,
                      const gate *vis)
{
    *e = (eval){.w = w, .g = w->g, .n = w->size, .keys = w->keys, .order = order, .vis = vis};
    e->memo = mem_array0(w->g->mem, gate *, l->module->nodes);
    e->env = mem_array0(w->g->mem, uint32_t, l->module->slots + 1);
}

/* rules: those that the least visibility keeps by its making are left out. */
static gate axioms_hold(const world *w, const iso_level *l, const gate *order, const gate *vis,
                        bool rules)
{
    eval e;
    eval_init(&e, w, l, order, vis);
    size_t o = gate_open(w->g);
    for (size_t i = 0; i < l->bases.n; i++)
        gate_push(w->g, axioms_hold(w, l->bases.at[i].level, order, vis, rules));
    for (size_t i = 0; i < l->axioms.n; i++) {
        const iso_node *f = l->axioms.at[i].form;
        if (rules && f->uses & ISO_USES_VIS) continue;
        gate_push(w->g, form(&e, f));
    }
    return gate_close_and(w->g, o);
}

static gate holds(const world *w, const iso_level *l, const gate *order, const gate *vis,
                  bool rules)
{
    eval e;
    eval_init(&e, w, l, order, vis);
    size_t o = gate_open(w->g);
    if (l->witness == ISO_CO) gate_push(w->g, base_inside(&e, order));
    if (l->witness == ISO_VIS_AR) {
        gate_push(w->g, base_inside(&e, vis));
        for (size_t i = 0; i < (size_t)e.n * e.n; i++)
            gate_push(w->g, gate_implies(w->g, vis[i], order[i]));
        gate_push(w->g, commit(&e, vis)); /* EXT, since values are unique */
    }
    gate_push(w->g, axioms_hold(w, l, order, vis, rules));
    return gate_close_and(w->g, o);
}

gate level_holds(const world *w, const iso_level *l, const gate *order, const gate *vis)
{
    return holds(w, l, order, vis, false);
}

/* ---- parts of a level ----------------------------------------------------------------------- */

typedef struct telling {
    eval *e;
    uint32_t slots;
    const iso_axiom *axiom;
    part_fn tell;
    void *ud;
} telling;

static void tell_part(const telling *t, part p)
{
    p.axiom = t->axiom;
    p.env = t->e->env;
    p.slots = t->slots;
    if (p.gate != GATE_TRUE) t->tell(t->ud, &p);
}

static void tell_reads(const telling *t, const iso_node *premise, const gate *p)
{
    eval *e = t->e;
    for (uint32_t x = 0; x < e->keys; x++)
        for (uint32_t c = 1; c < e->n; c++)
            for (uint32_t a = 0; a < e->n; a++)
                for (uint32_t b = 1; b < e->n; b++) {
                    if (a == b) continue;
                    gate in[4] = {reads_from(e, c, x, a), writes(e, b, x), p[at(e, b, c)],
                                  gate_not(e->order[at(e, b, a)])};
                    bool sure = p[at(e, b, c)] == GATE_TRUE;
                    gate no = gate_not(gate_and_all(e->g, in, 4));
                    tell_part(t, (part){.kind = PART_READ,
                                        .gate = no,
                                        .x = x,
                                        .a = a,
                                        .b = b,
                                        .c = c,
                                        .sure = sure,
                                        .node = premise});
                }
}

static void tell_formula(const telling *t, const iso_node *x, bool yes);

/* Every instance of a quantifier over what the history settles. */
static void tell_instances(const telling *t, const iso_node *x, bool yes)
{
    eval *e = t->e;
    for (uint32_t v = 0; v < (x->kid[0] ? e->n : e->keys); v++) {
        e->env[x->slot] = v;
        if (x->kid[0] && set_at(e, x->kid[0], v) == GATE_FALSE) continue;
        e->env[x->slot] = v;
        tell_formula(t, x->kid[1], yes);
    }
}

static void tell_pairs(const telling *t, const iso_node *x)
{
    eval *e = t->e;
    const gate *p = rel(e, x->kid[0]), *q = rel(e, x->kid[1]);
    for (uint32_t i = 0; i < e->n; i++)
        for (uint32_t j = 0; j < e->n; j++) {
            gate fits = gate_implies(e->g, p[at(e, i, j)], q[at(e, i, j)]);
            tell_part(t, (part){.kind = PART_PAIR, .gate = fits, .a = i, .b = j, .node = x});
        }
}

/* That the formula holds, or that it does not.  What is a conjunction comes apart; what the history
   alone settles is not told. */
static void tell_formula(const telling *t, const iso_node *x, bool yes)
{
    const iso_node *a = x->kid[0], *b = x->kid[1];
    gate whole = form(t->e, x);
    if (whole == (yes ? GATE_TRUE : GATE_FALSE)) return;
    switch (x->op) {
    case ISO_NOT: tell_formula(t, a, !yes); return;
    case ISO_AND:
    case ISO_OR: {
        gate first = form(t->e, a), idle = x->op == ISO_AND ? GATE_TRUE : GATE_FALSE;
        if ((x->op == ISO_AND) == yes) {
            tell_formula(t, a, yes);
            tell_formula(t, b, yes);
            return;
        }
        if (first != idle || (b->op != ISO_ALL && b->op != ISO_SOME)) break;
        tell_formula(t, b, yes);
        return;
    }
    case ISO_COMMIT:
        if (!yes) break;
        tell_reads(t, a, rel(t->e, a));
        return;
    case ISO_IN:
        if (!yes || a->type != ISO_REL) break;
        tell_pairs(t, x);
        return;
    case ISO_ALL:
    case ISO_SOME:
        if ((x->op == ISO_ALL) != yes || (a && a->uses)) break;
        tell_instances(t, x, yes);
        return;
    default: break;
    }
    tell_part(t, (part){.kind = PART_FORMULA,
                        .gate = yes ? whole : gate_not(whole),
                        .negated = !yes,
                        .node = x});
}

static void tell_axioms(const world *w, const iso_level *l, const gate *order, const gate *vis,
                        telling t)
{
    eval e;
    eval_init(&e, w, l, order, vis);
    t.e = &e;
    t.slots = l->module->slots;
    for (size_t i = 0; i < l->bases.n; i++) tell_axioms(w, l->bases.at[i].level, order, vis, t);
    for (size_t i = 0; i < l->axioms.n; i++) {
        t.axiom = &l->axioms.at[i];
        tell_formula(&t, t.axiom->form, true);
    }
}

/* The world is one of constants: what its sets hold is settled. */
void level_parts(const world *w, const iso_level *l, const gate *order, const gate *vis,
                 part_fn tell, void *ud)
{
    eval e;
    eval_init(&e, w, l, order, vis);
    telling t = {.e = &e, .tell = tell, .ud = ud};
    const gate *into = l->witness == ISO_VIS_AR ? vis : order;
    for (uint32_t a = 1; l->witness != ISO_NONE && a < e.n; a++)
        for (uint32_t b = 1; b < e.n; b++) {
            gate based = gate_or(e.g, w->so[at(&e, a, b)], w->wr[at(&e, a, b)]);
            gate fits = gate_implies(e.g, based, into[at(&e, a, b)]);
            tell_part(&t, (part){.kind = PART_EDGE, .gate = fits, .a = a, .b = b});
        }
    if (l->witness == ISO_VIS_AR) tell_reads(&t, NULL, vis);
    tell_axioms(w, l, order, vis, t);
}

/* ---- the least visibility ------------------------------------------------------------------ */

/* Axioms over vis are mostly rules, "so much must be visible".  Where all are, and at most one
   kind of them feeds on vis itself, the least visibility is reached in two steps and is the best
   one: EXT gets harder as vis grows. */
enum { NO_RULE, PLAIN, CLOSED_UNDER_VIS, CLOSED_UNDER_ORDER };

static bool mirrored(const iso_node *a, const iso_node *b)
{
    return a->op == ISO_APPLY2 && b->op == ISO_APPLY2 && a->kid[0]->op == ISO_VIS &&
           b->kid[0]->op == ISO_VIS && a->kid[1]->slot == b->kid[2]->slot &&
           a->kid[2]->slot == b->kid[1]->slot;
}

static int rule_kind(const iso_node *x)
{
    const iso_node *a = x->kid[0], *b = x->kid[1];
    bool plain = !a || !(a->uses & ISO_USES_VIS);
    switch (x->op) {
    case ISO_ALL: {
        int k = plain ? rule_kind(b) : NO_RULE;
        return k == PLAIN ? k : NO_RULE;
    }
    case ISO_IMPLIES: return plain && rule_kind(b) == PLAIN ? PLAIN : NO_RULE;
    case ISO_OR: return mirrored(a, b) ? PLAIN : NO_RULE;
    case ISO_APPLY2: return a->op == ISO_VIS ? PLAIN : NO_RULE;
    case ISO_TRANSITIVE: return a->op == ISO_VIS ? CLOSED_UNDER_VIS : NO_RULE;
    case ISO_TOTAL: return a->op == ISO_VIS && !(b->uses & ISO_USES_VIS) ? PLAIN : NO_RULE;
    case ISO_IN:
        if (plain && (b->op == ISO_VIS || (b->op == ISO_PREDS && b->kid[0]->op == ISO_VIS)))
            return PLAIN;
        if (b->op != ISO_VIS || a->op != ISO_SEQ || a->kid[1]->op != ISO_VIS) return NO_RULE;
        return a->kid[0]->op == ISO_VIS  ? CLOSED_UNDER_VIS
               : a->kid[0]->op == ISO_AR ? CLOSED_UNDER_ORDER
                                         : NO_RULE;
    default: return NO_RULE;
    }
}

/* Which closure the rules of the level ask for; PLAIN: none; NO_RULE: an axiom is no rule. */
static int level_rules(const iso_level *l)
{
    int kind = PLAIN;
    for (size_t i = 0; i < l->bases.n + l->axioms.n; i++) {
        bool base = i < l->bases.n;
        const iso_node *f = base ? NULL : l->axioms.at[i - l->bases.n].form;
        if (f && !(f->uses & ISO_USES_VIS)) continue;
        int k = base ? level_rules(l->bases.at[i].level) : rule_kind(f);
        if (k == NO_RULE) return k;
        if (k > kind) kind = k; /* closed under the order, and within it: closed under itself */
    }
    return kind;
}

bool vis_is_ruled(const iso_level *l)
{
    return l->witness == ISO_VIS_AR && level_rules(l) != NO_RULE;
}

/* Asked for, even against the order: then the visibility is not within it, and nothing fits. */
static void add(eval *e, gate *vis, uint32_t a, uint32_t b, gate why)
{
    vis[at(e, a, b)] = gate_or(e->g, vis[at(e, a, b)], why);
}

/* One of the two directions is asked for: the one of the order.  Nobody is visible to itself. */
static void add_either(eval *e, gate *vis, uint32_t a, uint32_t b, gate why)
{
    add(e, vis, a, b, a == b ? why : gate_and(e->g, why, e->order[at(e, a, b)]));
    add(e, vis, b, a, a == b ? why : gate_and(e->g, why, e->order[at(e, b, a)]));
}

/* What the formula asks of vis, given that `why` holds, goes into it. */
static void demand(eval *e, const iso_node *x, gate why, gate *vis)
{
    gates *g = e->g;
    const iso_node *a = x->kid[0], *b = x->kid[1];
    if (why == GATE_FALSE || !(x->uses & ISO_USES_VIS)) return;
    switch (x->op) {
    case ISO_AND: demand(e, a, why, vis), demand(e, b, why, vis); return;
    case ISO_OR:
        if (mirrored(a, b)) {
            add_either(e, vis, e->env[a->kid[1]->slot], e->env[a->kid[2]->slot], why);
            return;
        }
        demand(e, a, b->uses & ISO_USES_VIS ? why : gate_and(g, why, gate_not(form(e, b))), vis);
        demand(e, b, a->uses & ISO_USES_VIS ? why : gate_and(g, why, gate_not(form(e, a))), vis);
        return;
    case ISO_IMPLIES: demand(e, b, gate_and(g, why, form(e, a)), vis); return;
    case ISO_ALL: {
        bool guarded = false;
        if (!a) { /* as in needs_key: does it ask for anything by a key that nobody touches? */
            gate *copy = mem_array(g->mem, gate, (size_t)e->n * e->n);
            memcpy(copy, vis, (size_t)e->n * e->n * sizeof *copy);
            e->env[x->slot] = e->keys + x->slot;
            demand(e, b, why, copy);
            guarded = memcmp(copy, vis, (size_t)e->n * e->n * sizeof *copy) != 0;
        }
        for (uint32_t v = 0; v < (a ? e->n : e->keys); v++) {
            e->env[x->slot] = v;
            gate in = a ? set_at(e, a, v) : guarded ? e->w->key[v] : GATE_TRUE;
            if (in == GATE_FALSE) continue;
            e->env[x->slot] = v;
            demand(e, b, gate_and(g, why, in), vis);
        }
        return;
    }
    case ISO_IN:
        if (b->op == ISO_VIS) {
            const gate *p = rel(e, a);
            for (uint32_t i = 0; i < e->n; i++)
                for (uint32_t j = 0; j < e->n; j++)
                    add(e, vis, i, j, gate_and(g, why, p[at(e, i, j)]));
        } else if (b->op == ISO_PREDS && b->kid[0]->op == ISO_VIS) {
            uint32_t t = e->env[b->kid[1]->slot];
            for (uint32_t i = 0; i < e->n; i++)
                add(e, vis, i, t, gate_and(g, why, set_at(e, a, i)));
        }
        return;
    case ISO_APPLY2:
        if (a->op == ISO_VIS) add(e, vis, e->env[b->slot], e->env[x->kid[2]->slot], why);
        return;
    case ISO_TRANSITIVE:
        if (a->op == ISO_VIS) {
            gate *p = closure(e, e->vis);
            for (uint32_t i = 0; i < e->n; i++)
                for (uint32_t j = 0; j < e->n; j++)
                    add(e, vis, i, j, gate_and(g, why, p[at(e, i, j)]));
        }
        return;
    case ISO_TOTAL:
        if (a->op != ISO_VIS) return;
        for (uint32_t i = 0; i < e->n; i++)
            for (uint32_t j = i + 1; j < e->n; j++) {
                gate in[3] = {why, set_at(e, b, i), set_at(e, b, j)};
                add_either(e, vis, i, j, gate_and_all(g, in, 3));
            }
        return;
    default: return;
    }
}

static void demand_all(const world *w, const iso_level *l, const gate *order, const gate *old,
                       gate *vis, bool plain)
{
    for (size_t i = 0; i < l->bases.n; i++)
        demand_all(w, l->bases.at[i].level, order, old, vis, plain);
    eval e;
    eval_init(&e, w, l, order, old);
    for (size_t i = 0; i < l->axioms.n; i++) {
        const iso_node *f = l->axioms.at[i].form;
        if (!plain || rule_kind(f) == PLAIN) demand(&e, f, GATE_TRUE, vis);
    }
}

static gate *vis_least(const world *w, const iso_level *l, const gate *order)
{
    size_t cells = (size_t)w->size * w->size;
    gate *vis = matrix(w->g->mem, cells);
    for (size_t i = 0; i < cells; i++)
        vis[i] = i < w->size ? order[i] : gate_or(w->g, w->so[i], w->wr[i]);
    /* Doubling rules (transitivity) need log2 rounds; a rule that needs more gives a weaker
       constraint, not a wrong one. */
    for (uint32_t round = 0, reach = 1; reach < 2 * w->size; round++, reach *= 2) {
        gate *more = mem_array(w->g->mem, gate, cells);
        memcpy(more, vis, cells * sizeof *more);
        demand_all(w, l, order, vis, more, false);
        bool same = !memcmp(more, vis, cells * sizeof *more);
        vis = more;
        if (same) break;
    }
    return vis;
}

/* The plain rules once, then the closure once. */
static gate *vis_by_rules(const world *w, const iso_level *l, const gate *order)
{
    size_t cells = (size_t)w->size * w->size;
    gate *start = matrix(w->g->mem, cells), *vis = matrix(w->g->mem, cells);
    for (size_t i = 0; i < cells; i++) vis[i] = start[i] = gate_or(w->g, w->so[i], w->wr[i]);
    demand_all(w, l, order, start, vis, true);
    eval e;
    eval_init(&e, w, l, order, vis);
    int kind = level_rules(l);
    if (kind == CLOSED_UNDER_VIS) return closure(&e, vis);
    if (kind != CLOSED_UNDER_ORDER) return vis;
    gate *upto = matrix(w->g->mem, cells);
    memcpy(upto, order, cells * sizeof *upto);
    for (uint32_t a = 0; a < w->size; a++) upto[at(&e, a, a)] = w->act[a];
    return compose(&e, upto, vis);
}

gate level_holds_least(const world *w, const iso_level *l, const gate *order)
{
    if (l->witness != ISO_VIS_AR) return level_holds(w, l, order, NULL);
    if (vis_is_ruled(l)) return holds(w, l, order, vis_by_rules(w, l, order), true);
    return level_holds(w, l, order, vis_least(w, l, order));
}
