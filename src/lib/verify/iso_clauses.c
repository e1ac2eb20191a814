/*
 * iso_clauses.c - see iso_clauses.h.
 *
 * Relations are matrices of literals over the transactions, sets are vectors; a formula is a
 * literal.  Where everything below it is known a literal is ISO_YES or ISO_NO, so a witness is
 * checked by the same code that makes clauses to be refuted.  A conjunction of two literals has one
 * variable wherever it occurs.
 */
#include "verify/iso_clauses.h"

#include <assert.h>

/* --- literals and clauses --------------------------------------------------------------------- */

static uint32_t new_literal(iso_clauses *c)
{
    if (c->vars >= UINT32_MAX / 4 - 1)
        guard_fail(c->m->guard, GUARD_UNSUPPORTED, "more than 2^30 literals");
    return 2 * ++c->vars;
}

/* One of these; what is false is left out. */
static void add_clause(iso_clauses *c, const uint32_t *lits, size_t n)
{
    size_t start = c->lits.n;
    for (size_t i = 0; i < n; i++) {
        if (lits[i] == ISO_YES) {
            c->lits.n = start;
            return;
        }
        if (lits[i] != ISO_NO) vec_push(c->m, &c->lits, lits[i]);
    }
    if (c->lits.n == start) c->empty = true;
    vec_push(c->m, &c->first, c->lits.n);
    guard_tick(c->m->guard);
}

static uint32_t both(iso_clauses *c, uint32_t a, uint32_t b)
{
    if (a == ISO_NO || b == ISO_NO || a == (b ^ 1)) return ISO_NO;
    if (a == ISO_YES || a == b) return b;
    if (b == ISO_YES) return a;
    uint32_t *at = id_map_at(c->m, &c->pairs, a < b ? map_pair(a, b) : map_pair(b, a));
    if (*at != MAP_NONE) return *at;
    uint32_t x = *at = new_literal(c);
    add_clause(c, (uint32_t[]){x ^ 1, a}, 2);
    add_clause(c, (uint32_t[]){x ^ 1, b}, 2);
    add_clause(c, (uint32_t[]){x, a ^ 1, b ^ 1}, 3);
    return x;
}

static uint32_t either(iso_clauses *c, uint32_t a, uint32_t b)
{
    return both(c, a ^ 1, b ^ 1) ^ 1;
}

/* --- the world -------------------------------------------------------------------------------- */

typedef struct reading {
    iso_clauses *c;
    iso_facts *f;
    uint32_t n, keys;
    uint32_t *writes;   /* [t * keys + x] */
    uint32_t *rf;       /* [(t * keys + x) * n + s]: t reads x from s */
    uint32_t *key;      /* [x]: it occurs */
    uint32_t *upd;      /* [t] */
    uint32_t *so, *wr;  /* [a * n + b] */
    uint32_t *ww, *rw;  /* once asked for */
    uint32_t *clock[3]; /* rt, cc, bc, once asked for */
    uint32_t **known;   /* [node]: matrices of relations without free variables */
    uint32_t *env;      /* [slot] */
} reading;

static uint32_t *square(const reading *e)
{
    return mem_array0(e->c->m, uint32_t, (size_t)e->n * e->n + 1);
}

static void load_writes(reading *e)
{
    const iso_facts *f = e->f;
    const checker *c = &f->c;
    iso_clauses *out = e->c;
    e->writes = mem_array0(out->m, uint32_t, (size_t)e->n * e->keys + 1);
    e->key = mem_array0(out->m, uint32_t, (size_t)e->keys + 1);
    e->upd = mem_array0(out->m, uint32_t, (size_t)e->n + 1);
    e->upd[0] = e->keys ? ISO_YES : ISO_NO;
    for (uint32_t x = 0; x < e->keys; x++) e->writes[x] = ISO_YES;
    for (uint32_t t = 1; t < e->n; t++)
        for (uint32_t w = c->w_first[f->txn[t]]; w < c->w_first[f->txn[t] + 1]; w++) {
            uint32_t x = f->key_number[c->w_key.at[w]] - 1;
            e->writes[(size_t)t * e->keys + x] = out->act[t];
            e->key[x] = either(out, e->key[x], out->act[t]);
            e->upd[t] = out->act[t];
        }
}

/* Every read of one that took part saw exactly one, which took part too. */
static void load_reads(reading *e, const iso_chosen *w)
{
    const iso_facts *f = e->f;
    iso_clauses *c = e->c;
    e->rf = mem_array0(c->m, uint32_t, (size_t)e->n * e->n * e->keys + 1);
    c->saw = mem_array0(c->m, uint32_t, f->candidate.n + 1);
    uint32_t *some = mem_array(c->m, uint32_t, (size_t)e->n + 2);
    for (size_t i = 0; i < f->reads.n; i++) {
        const iso_read *r = &f->reads.at[i];
        uint32_t act = c->act[r->txn], *saw = c->saw + r->first;
        e->key[r->key] = either(c, e->key[r->key], act);
        for (uint32_t k = 0; k < r->n; k++) {
            uint32_t from = f->candidate.at[r->first + k];
            saw[k] = w          ? both(c, act, w->saw[i] == from ? ISO_YES : ISO_NO)
                     : r->n > 1 ? new_literal(c)
                                : act;
            some[k] = saw[k];
            add_clause(c, (uint32_t[]){saw[k] ^ 1, act}, 2);
            add_clause(c, (uint32_t[]){saw[k] ^ 1, c->act[from]}, 2);
            for (uint32_t j = 0; j < k; j++) add_clause(c, (uint32_t[]){saw[k] ^ 1, saw[j] ^ 1}, 2);
            uint32_t *cell = &e->rf[((size_t)r->txn * e->keys + r->key) * e->n + from];
            *cell = either(c, *cell, saw[k]);
        }
        some[r->n] = act ^ 1;
        add_clause(c, some, (size_t)r->n + 1);
    }
}

/* The initial state before all; in a session, those of known outcome before what comes later. */
static void load_sessions(reading *e)
{
    const iso_facts *f = e->f;
    const history *h = f->c.h;
    e->so = square(e);
    e->wr = square(e);
    for (uint32_t b = 1; b < e->n; b++) {
        e->so[b] = e->c->act[b];
        for (uint32_t a = 1; a < b && f->session_order; a++)
            if (!f->maybe[a] && h->txn_session[f->txn[a]] == h->txn_session[f->txn[b]])
                e->so[(size_t)a * e->n + b] = e->c->act[b];
    }
    for (uint32_t a = 0; a < e->n; a++)
        for (uint32_t b = 0; b < e->n; b++)
            for (uint32_t x = 0; x < e->keys && a != b; x++) {
                uint32_t *cell = &e->wr[(size_t)a * e->n + b];
                *cell = either(e->c, *cell, e->rf[((size_t)b * e->keys + x) * e->n + a]);
            }
}

/* Any order of all, the initial state first; those that took part count. */
static void load_order(reading *e, const iso_chosen *w)
{
    iso_clauses *c = e->c;
    uint32_t n = e->n, *p = c->before = square(e);
    c->order = square(e);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            uint32_t x = !a  ? ISO_YES
                         : w ? w->place[a] < w->place[b] ? ISO_YES : ISO_NO
                             : new_literal(c);
            p[(size_t)a * n + b] = x;
            p[(size_t)b * n + a] = x ^ 1;
        }
    for (uint32_t x = 1; x < n && !w; x++)
        for (uint32_t y = 1; y < n; y++)
            for (uint32_t z = 1; z < n; z++)
                if (x != y && y != z && x != z)
                    add_clause(c,
                               (uint32_t[]){p[(size_t)x * n + y] ^ 1, p[(size_t)y * n + z] ^ 1,
                                            p[(size_t)x * n + z]},
                               3);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (a != b)
                c->order[(size_t)a * n + b] =
                    both(c, p[(size_t)a * n + b], both(c, c->act[a], c->act[b]));
}

/* The place that the history gives to a's version of a key, if it does. */
static bool version_place(const checker *c, uint32_t w, int64_t *place)
{
    const history *h = c->h;
    op_id o = c->w_op[w];
    if (!(h->op_kind[o] & OP_ATTR)) return false;
    for (const attr *a = op_attrs(h, o); a < h->attrs.at + h->attrs.n && a->op == o; a++)
        if (a->kind == ATTR_VER) {
            *place = (int64_t)a->a;
            return true;
        }
    return false;
}

/* Versions with places stand in their order; two at one place cannot both be there. */
static void load_version_places(reading *e)
{
    const checker *v = &e->f->c;
    iso_clauses *c = e->c;
    for (uint32_t a = 1; a < e->n; a++)
        for (uint32_t w = v->w_first[e->f->txn[a]]; w < v->w_first[e->f->txn[a] + 1]; w++) {
            int64_t here, there;
            if (!installed(v, w) || !version_place(v, w, &here)) continue;
            for (uint32_t b = 1; b < e->n; b++) {
                uint32_t other = b == a ? NO_ID : recheck_install(v, e->f->txn[b], v->w_key.at[w]);
                if (other == NO_ID || !version_place(v, other, &there) || here > there) continue;
                uint32_t clause[] = {c->act[a] ^ 1, c->act[b] ^ 1,
                                     here < there ? c->before[(size_t)a * e->n + b] : ISO_NO};
                add_clause(c, clause, 3);
            }
            guard_tick(c->m->guard);
        }
}

/* Any part of the order; the initial state is visible to all. */
static void load_visible(reading *e, const iso_chosen *w)
{
    iso_clauses *c = e->c;
    c->vis = square(e);
    for (size_t i = 0; i < (size_t)e->n * e->n; i++) {
        if (c->order[i] == ISO_NO) continue;
        uint32_t x = i < e->n ? ISO_YES : w ? w->sees[i] ? ISO_YES : ISO_NO : new_literal(c);
        c->vis[i] = both(c, x, c->order[i]);
    }
}

/* --- relations and sets ----------------------------------------------------------------------- */

static uint32_t related(reading *e, const iso_node *x, uint32_t a, uint32_t b);
static uint32_t related_by_parts(reading *e, const iso_node *x, uint32_t a, uint32_t b);
static uint32_t member(reading *e, const iso_node *x, uint32_t a);
static uint32_t truth(reading *e, const iso_node *x);

static uint32_t reads_from(const reading *e, uint32_t t, uint32_t x, uint32_t s)
{
    return e->rf[((size_t)t * e->keys + x) * e->n + s];
}

static uint32_t writes(const reading *e, uint32_t t, uint32_t x)
{
    return e->writes[(size_t)t * e->keys + x];
}

static uint32_t *version_order(reading *e)
{
    if (e->ww) return e->ww;
    e->ww = square(e);
    for (uint32_t a = 0; a < e->n; a++)
        for (uint32_t b = 0; b < e->n; b++) {
            uint32_t common = ISO_NO;
            for (uint32_t x = 0; x < e->keys; x++)
                common = either(e->c, common, both(e->c, writes(e, a, x), writes(e, b, x)));
            e->ww[(size_t)a * e->n + b] = both(e->c, common, e->c->order[(size_t)a * e->n + b]);
        }
    return e->ww;
}

/* From a reader of a version to whoever writes a later one. */
static uint32_t *anti_dependency(reading *e)
{
    iso_clauses *c = e->c;
    if (e->rw) return e->rw;
    e->rw = square(e);
    for (uint32_t r = 0; r < e->n; r++)
        for (uint32_t x = 0; x < e->keys; x++)
            for (uint32_t s = 0; s < e->n; s++) {
                uint32_t saw = reads_from(e, r, x, s);
                for (uint32_t t = 0; t < e->n && saw != ISO_NO; t++) {
                    uint32_t *cell = &e->rw[(size_t)r * e->n + t];
                    uint32_t later = both(c, writes(e, t, x), c->order[(size_t)s * e->n + t]);
                    if (r != t) *cell = either(c, *cell, both(c, saw, later));
                }
            }
    return e->rw;
}

/* --- what the clocks of clients say: settled, between those that took part --- */

enum stamp_of { BEGIN_CALLED, BEGIN_RETURNED, COMMIT_CALLED, COMMIT_RETURNED };

/* Did the first event of a return before the second event of b was called? */
static bool clock_before(const iso_facts *f, uint32_t a, unsigned first, uint32_t b,
                         unsigned second)
{
    const history *h = f->c.h;
    int64_t returned, called;
    uint64_t drift = f->c.v->drift > 0 ? (uint64_t)f->c.v->drift : 0;
    return recheck_stamp(h, f->txn[a], first, &returned) &&
           recheck_stamp(h, f->txn[b], second, &called) && returned < called &&
           (uint64_t)called - (uint64_t)returned >= drift;
}

/* Nothing follows one of unknown outcome: nobody knows when it ended, if at all. */
static uint32_t *by_clock(reading *e, enum iso_op op)
{
    static const struct {
        enum stamp_of first, second;
    } of[3] = {{COMMIT_RETURNED, BEGIN_CALLED},
               {COMMIT_RETURNED, COMMIT_CALLED},
               {BEGIN_RETURNED, COMMIT_CALLED}};
    unsigned k = op == ISO_RT ? 0 : op == ISO_CC ? 1 : 2;
    const iso_facts *f = e->f;
    if (e->clock[k]) return e->clock[k];
    uint32_t *m = e->clock[k] = square(e);
    for (uint32_t a = 1; a < e->n; a++)
        for (uint32_t b = 1; b < e->n; b++) /* one that ended before it began is before itself */
            if ((a != b || op != ISO_BC) && (!f->maybe[a] || op == ISO_BC) &&
                clock_before(f, a, of[k].first, b, of[k].second))
                m[(size_t)a * e->n + b] = both(e->c, e->c->act[a], e->c->act[b]);
    return m;
}

static uint32_t reads_later_of(reading *e, uint32_t r, uint32_t t, uint32_t x)
{
    uint32_t any = ISO_NO;
    for (uint32_t s = 0; s < e->n && r != t; s++) {
        uint32_t later = both(e->c, writes(e, t, x), e->c->order[(size_t)s * e->n + t]);
        any = either(e->c, any, both(e->c, reads_from(e, r, x, s), later));
    }
    return any;
}

/* Of one key: who writes it, in order; who reads it, to who writes a later version. */
static uint32_t of_one_key(reading *e, const iso_node *x, uint32_t a, uint32_t b)
{
    uint32_t k = e->env[x->kid[0]->slot];
    if (x->op == ISO_RWX_PRED) return ISO_NO; /* the history has item reads only */
    if (x->op != ISO_WWX) return reads_later_of(e, a, b, k);
    return both(e->c, e->c->order[(size_t)a * e->n + b],
                both(e->c, writes(e, a, k), writes(e, b, k)));
}

static uint32_t *filled(reading *e, const iso_node *x)
{
    uint32_t *m = square(e);
    for (uint32_t a = 0; a < e->n; a++)
        for (uint32_t b = 0; b < e->n; b++) m[(size_t)a * e->n + b] = related(e, x, a, b);
    return m;
}

static uint32_t *composed(reading *e, const uint32_t *p, const uint32_t *q)
{
    uint32_t *m = square(e);
    size_t n = e->n;
    for (size_t a = 0; a < n; a++)
        for (size_t k = 0; k < n; k++)
            for (size_t b = 0; b < n && p[a * n + k] != ISO_NO; b++)
                m[a * n + b] = either(e->c, m[a * n + b], both(e->c, p[a * n + k], q[k * n + b]));
    return m;
}

/* In place: paths through the first k, for each k. */
static uint32_t *closed(reading *e, uint32_t *m)
{
    size_t n = e->n;
    for (size_t k = 0; k < n; k++)
        for (size_t a = 0; a < n; a++) {
            uint32_t first = m[a * n + k];
            for (size_t b = 0; b < n && first != ISO_NO; b++)
                m[a * n + b] = either(e->c, m[a * n + b], both(e->c, first, m[k * n + b]));
        }
    return m;
}

/* A relation that is made as a whole. */
static const uint32_t *whole(reading *e, const iso_node *x)
{
    uint32_t *m = x->open ? NULL : e->known[x->id];
    if (m) return m;
    if (x->op == ISO_SEQ) {
        uint32_t *p = filled(e, x->kid[0]), *q = filled(e, x->kid[1]);
        m = composed(e, p, q);
    } else if (x->op != ISO_PLUS && x->op != ISO_STAR) {
        m = square(e);
        for (uint32_t a = 0; a < e->n; a++)
            for (uint32_t b = 0; b < e->n; b++)
                m[(size_t)a * e->n + b] = related_by_parts(e, x, a, b);
    } else {
        m = closed(e, filled(e, x->kid[0]));
        for (uint32_t a = 0; a < e->n && x->op == ISO_STAR; a++)
            m[(size_t)a * e->n + a] = e->c->act[a];
    }
    if (!x->open) e->known[x->id] = m;
    return m;
}

/* The variable that a definition with a parameter is used with. */
static void bind(reading *e, const iso_node *x)
{
    if (x->kid[0]) e->env[x->def->param] = e->env[x->kid[0]->slot];
}

/* Definitions may use each other many times over: what has no free variables is made once. */
static uint32_t related(reading *e, const iso_node *x, uint32_t a, uint32_t b)
{
    bool made = x->op == ISO_MEET || x->op == ISO_MINUS || x->op == ISO_JOIN ||
                x->op == ISO_PRODUCT || x->op == ISO_DIAG || x->op == ISO_INVERSE ||
                x->op == ISO_OPT;
    if (iso_too_large(e->c)) return ISO_NO;
    e->c->work++;
    guard_tick(e->c->m->guard);
    if (made && !x->open) return whole(e, x)[(size_t)a * e->n + b];
    return related_by_parts(e, x, a, b);
}

static uint32_t related_by_parts(reading *e, const iso_node *x, uint32_t a, uint32_t b)
{
    iso_clauses *c = e->c;
    size_t at = (size_t)a * e->n + b;
    const iso_node *p = x->kid[0], *q = x->kid[1];
    uint32_t any = ISO_NO;
    switch (x->op) {
    case ISO_SO: return e->so[at];
    case ISO_WR: return e->wr[at];
    case ISO_CO_REL:
    case ISO_AR: return c->order[at];
    case ISO_VIS: return c->vis[at];
    case ISO_WW: return version_order(e)[at];
    case ISO_RW:
    case ISO_RW_ITEM: return anti_dependency(e)[at];
    case ISO_RW_PRED: return ISO_NO; /* iso_facts_load knows item reads only */
    case ISO_RT:
    case ISO_CC:
    case ISO_BC: return by_clock(e, x->op)[at];
    case ISO_WWX:
    case ISO_RWX:
    case ISO_RWX_ITEM:
    case ISO_RWX_PRED: return of_one_key(e, x, a, b);
    case ISO_ID: return a == b ? c->act[a] : ISO_NO;
    case ISO_WRX: return a == b ? ISO_NO : reads_from(e, b, e->env[p->slot], a);
    case ISO_USE: bind(e, x); return related(e, x->def->body, a, b);
    case ISO_DIAG: return a == b ? member(e, p, a) : ISO_NO;
    case ISO_OPT: return a == b ? c->act[a] : related(e, p, a, b);
    case ISO_INVERSE: return related(e, p, b, a);
    case ISO_PRODUCT: return both(c, member(e, p, a), member(e, q, b));
    case ISO_MEET: return both(c, related(e, p, a, b), related(e, q, a, b));
    case ISO_MINUS: return both(c, related(e, p, a, b), related(e, q, a, b) ^ 1);
    case ISO_JOIN: return either(c, related(e, p, a, b), related(e, q, a, b));
    case ISO_SEQ:
        for (uint32_t k = 0; x->open && k < e->n; k++) {
            uint32_t first = related(e, p, a, k);
            if (first != ISO_NO) any = either(c, any, both(c, first, related(e, q, k, b)));
        }
        return x->open ? any : whole(e, x)[at];
    case ISO_PLUS:
    case ISO_STAR: return whole(e, x)[at];
    default: break;
    }
    guard_fail(c->m->guard, GUARD_BUG, "a relation that the verifier does not know");
}

/* The one of the set to which all others lead. */
static uint32_t greatest(reading *e, const iso_node *x, uint32_t a)
{
    uint32_t yes = member(e, x->kid[1], a);
    for (uint32_t v = 0; v < e->n && yes != ISO_NO; v++)
        if (v != a)
            yes = both(e->c, yes,
                       either(e->c, member(e, x->kid[1], v) ^ 1, related(e, x->kid[0], v, a)));
    return yes;
}

static uint32_t member(reading *e, const iso_node *x, uint32_t a)
{
    iso_clauses *c = e->c;
    const iso_node *p = x->kid[0], *q = x->kid[1];
    uint32_t any = ISO_NO;
    if (iso_too_large(c)) return ISO_NO;
    c->work++;
    switch (x->op) {
    case ISO_INIT: return a ? ISO_NO : ISO_YES;
    case ISO_TXNS: return c->act[a];
    case ISO_UPD: return e->upd[a];
    case ISO_RO: return both(c, c->act[a], e->upd[a] ^ 1);
    case ISO_W: return writes(e, a, e->env[p->slot]);
    case ISO_R:
        for (uint32_t s = 0; s < e->n; s++)
            any = either(c, any, reads_from(e, a, e->env[p->slot], s));
        return any;
    case ISO_PREDS: return related(e, p, a, e->env[q->slot]);
    case ISO_SUCCS: return related(e, p, e->env[q->slot], a);
    case ISO_MEET: return both(c, member(e, p, a), member(e, q, a));
    case ISO_MINUS: return both(c, member(e, p, a), member(e, q, a) ^ 1);
    case ISO_JOIN: return either(c, member(e, p, a), member(e, q, a));
    case ISO_MAX: return greatest(e, x, a);
    case ISO_USE: bind(e, x); return member(e, x->def->body, a);
    default: break;
    }
    guard_fail(c->m->guard, GUARD_BUG, "a set that the verifier does not know");
}

/* --- formulas --------------------------------------------------------------------------------- */

/* What t read x from a, b writes x too, and P(b, t): then b is before a. */
static uint32_t commit_rule(reading *e, const uint32_t *p)
{
    iso_clauses *c = e->c;
    uint32_t all = ISO_YES;
    for (uint32_t x = 0; x < e->keys; x++)
        for (uint32_t t = 1; t < e->n; t++)
            for (uint32_t a = 0; a < e->n; a++) {
                uint32_t saw = reads_from(e, t, x, a);
                for (uint32_t b = 1; b < e->n && saw != ISO_NO; b++) {
                    if (a == b) continue;
                    uint32_t led = both(c, writes(e, b, x), p[(size_t)b * e->n + t]);
                    uint32_t late = both(c, led, c->order[(size_t)b * e->n + a] ^ 1);
                    all = both(c, all, both(c, saw, late) ^ 1);
                }
            }
    return all;
}

/* --- commit(P ; po): where in its reader a walk arrives --- */

/* Is x, at t, no step at all? */
static uint32_t no_step(reading *e, const iso_node *x, uint32_t t)
{
    iso_clauses *c = e->c;
    switch (x->op) {
    case ISO_ID:
    case ISO_STAR:
    case ISO_OPT: return c->act[t];
    case ISO_DIAG: return member(e, x->kid[0], t);
    case ISO_PLUS: return no_step(e, x->kid[0], t);
    case ISO_USE: bind(e, x); return no_step(e, x->def->body, t);
    case ISO_SEQ: return both(c, no_step(e, x->kid[0], t), no_step(e, x->kid[1], t));
    case ISO_JOIN: return either(c, no_step(e, x->kid[0], t), no_step(e, x->kid[1], t));
    case ISO_MEET: return both(c, no_step(e, x->kid[0], t), related(e, x->kid[1], t, t));
    case ISO_MINUS: return both(c, no_step(e, x->kid[0], t), related(e, x->kid[1], t, t) ^ 1);
    default: return ISO_NO;
    }
}

typedef struct late { /* the read in question */
    const iso_read *r;
    bool upto;
} late;

static bool in_time(const late *q, op_id op)
{
    return q->upto ? op <= q->r->op : op < q->r->op;
}

/* A step from u that is a read of the reader in time, or a write of it. */
static uint32_t arrives_by_step(reading *e, enum iso_op op, uint32_t u, const late *q)
{
    const iso_facts *f = e->f;
    iso_clauses *c = e->c;
    uint32_t t = q->r->txn, any = ISO_NO;
    for (size_t i = 0; op == ISO_WR && i < f->reads.n; i++) {
        const iso_read *r = &f->reads.at[i];
        for (uint32_t k = 0; r->txn == t && in_time(q, r->op) && k < r->n; k++)
            if (f->candidate.at[r->first + k] == u && u != t)
                any = either(c, any, c->saw[r->first + k]);
    }
    txn_id own = f->txn[t];
    for (uint32_t w = f->c.w_first[own]; op == ISO_WW && w < f->c.w_first[own + 1]; w++) {
        if (!installed(&f->c, w) || !in_time(q, f->c.w_op[w])) continue;
        uint32_t x = f->key_number[f->c.w_key.at[w]] - 1;
        any = either(c, any, both(c, writes(e, u, x), c->order[(size_t)u * e->n + t]));
    }
    return any;
}

/* Does a walk of x lead from u to the reader, its last step in time? */
static uint32_t arrives(reading *e, const iso_node *x, uint32_t u, const late *q)
{
    iso_clauses *c = e->c;
    const iso_node *a = x->kid[0], *b = x->kid[1];
    uint32_t t = q->r->txn, any = ISO_NO;
    if (iso_too_large(c)) return ISO_NO;
    c->work++;
    guard_tick(c->m->guard);
    switch (x->op) {
    case ISO_WR:
    case ISO_WW: return arrives_by_step(e, x->op, u, q);
    case ISO_ID:
    case ISO_DIAG: return ISO_NO;
    case ISO_USE: bind(e, x); return arrives(e, x->def->body, u, q);
    case ISO_OPT: return arrives(e, a, u, q);
    case ISO_JOIN: return either(c, arrives(e, a, u, q), arrives(e, b, u, q));
    case ISO_MEET: return both(c, arrives(e, a, u, q), related(e, b, u, t));
    case ISO_MINUS: return both(c, arrives(e, a, u, q), related(e, b, u, t) ^ 1);
    case ISO_SEQ:
        for (uint32_t k = 0; k < e->n; k++) {
            uint32_t first = related(e, a, u, k);
            if (first != ISO_NO) any = either(c, any, both(c, first, arrives(e, b, k, q)));
        }
        return either(c, any, both(c, arrives(e, a, u, q), no_step(e, b, t)));
    case ISO_PLUS:
    case ISO_STAR: {
        const uint32_t *many = whole(e, x);
        any = arrives(e, a, u, q);
        for (uint32_t k = 0; k < e->n; k++)
            if (many[(size_t)u * e->n + k] != ISO_NO)
                any = either(c, any, both(c, many[(size_t)u * e->n + k], arrives(e, a, k, q)));
        return any;
    }
    default: return related(e, x, u, t); /* at the beginning of the reader */
    }
}

static uint32_t commit_in_time(reading *e, const iso_node *p, bool upto)
{
    const iso_facts *f = e->f;
    iso_clauses *c = e->c;
    uint32_t all = ISO_YES;
    for (size_t i = 0; i < f->reads.n; i++) {
        late q = {&f->reads.at[i], upto};
        for (uint32_t b = 1; b < e->n; b++) {
            uint32_t wrote = writes(e, b, q.r->key);
            if (wrote == ISO_NO || b == q.r->txn) continue;
            uint32_t led = both(c, wrote, arrives(e, p, b, &q));
            for (uint32_t k = 0; led != ISO_NO && k < q.r->n; k++) {
                uint32_t a = f->candidate.at[q.r->first + k];
                if (a == b) continue;
                uint32_t late_one = both(c, led, c->order[(size_t)b * e->n + a] ^ 1);
                all = both(c, all, both(c, c->saw[q.r->first + k], late_one) ^ 1);
            }
        }
    }
    return all;
}

static uint32_t truth_of_commit(reading *e, const iso_node *x)
{
    enum iso_arrival arrival;
    const iso_node *p = iso_premise(x, &arrival);
    if (arrival != ISO_ANYWHERE) return commit_in_time(e, p, arrival == ISO_UPTO);
    return commit_rule(e, filled(e, p));
}

/* Over transactions of a set, or over the keys that occur. */
static uint32_t quantified(reading *e, const iso_node *x)
{
    bool all = x->op == ISO_ALL;
    uint32_t many = x->kid[0] ? e->n : e->keys, sum = ISO_NO; /* of "all": somebody fails */
    for (uint32_t v = 0; v < many; v++) {
        e->env[x->slot] = v;
        uint32_t in = x->kid[0] ? member(e, x->kid[0], v) : e->key[v];
        if (in == ISO_NO) continue;
        e->env[x->slot] = v;
        uint32_t body = truth(e, x->kid[1]);
        sum = either(e->c, sum, both(e->c, in, all ? body ^ 1 : body));
        guard_tick(e->c->m->guard);
    }
    return all ? sum ^ 1 : sum;
}

/* Is there an entry of x that y lacks?  y may be NULL: an entry at all. */
static uint32_t beyond(reading *e, const iso_node *x, const iso_node *y)
{
    iso_clauses *c = e->c;
    uint32_t any = ISO_NO;
    for (uint32_t a = 0; a < e->n; a++) {
        if (x->type == ISO_SET) {
            uint32_t in = member(e, x, a);
            any = either(c, any, both(c, in, y ? member(e, y, a) ^ 1 : ISO_YES));
            continue;
        }
        for (uint32_t b = 0; b < e->n; b++) {
            uint32_t in = related(e, x, a, b);
            if (in != ISO_NO)
                any = either(c, any, both(c, in, y ? related(e, y, a, b) ^ 1 : ISO_YES));
        }
    }
    return any;
}

static uint32_t reflexive_somewhere(reading *e, const uint32_t *m)
{
    uint32_t any = ISO_NO;
    for (uint32_t a = 0; a < e->n; a++) any = either(e->c, any, m[(size_t)a * e->n + a]);
    return any;
}

static uint32_t is_transitive(reading *e, const iso_node *x)
{
    uint32_t *p = filled(e, x), *pp = composed(e, p, p), bad = ISO_NO;
    for (size_t i = 0; i < (size_t)e->n * e->n; i++)
        bad = either(e->c, bad, both(e->c, pp[i], p[i] ^ 1));
    return bad ^ 1;
}

static uint32_t is_total(reading *e, const iso_node *x)
{
    iso_clauses *c = e->c;
    uint32_t bad = ISO_NO;
    for (uint32_t a = 0; a < e->n; a++)
        for (uint32_t b = a + 1; b < e->n; b++) {
            uint32_t two = both(c, member(e, x->kid[1], a), member(e, x->kid[1], b));
            uint32_t one = either(c, related(e, x->kid[0], a, b), related(e, x->kid[0], b, a));
            bad = either(c, bad, both(c, two, one ^ 1));
        }
    return bad ^ 1;
}

static uint32_t is_equal(reading *e, const iso_node *a, const iso_node *b)
{
    if (a->type == ISO_TXN || a->type == ISO_KEY)
        return e->env[a->slot] == e->env[b->slot] ? ISO_YES : ISO_NO;
    return both(e->c, beyond(e, a, b) ^ 1, beyond(e, b, a) ^ 1);
}

/* Formulas about relations and sets. */
static uint32_t truth_of_relations(reading *e, const iso_node *x)
{
    const iso_node *a = x->kid[0], *b = x->kid[1];
    switch (x->op) {
    case ISO_IN: return beyond(e, a, b) ^ 1;
    case ISO_EQ: return is_equal(e, a, b);
    case ISO_NE: return is_equal(e, a, b) ^ 1;
    case ISO_APPLY2: return related(e, a, e->env[b->slot], e->env[x->kid[2]->slot]);
    case ISO_APPLY1: return member(e, a, e->env[b->slot]);
    case ISO_ACYCLIC: return reflexive_somewhere(e, closed(e, filled(e, a))) ^ 1;
    case ISO_IRREFLEXIVE: return reflexive_somewhere(e, filled(e, a)) ^ 1;
    case ISO_TRANSITIVE: return is_transitive(e, a);
    case ISO_EMPTY: return beyond(e, a, NULL) ^ 1;
    case ISO_TOTAL: return is_total(e, x);
    case ISO_COMMIT: return truth_of_commit(e, x);
    default: break;
    }
    guard_fail(e->c->m->guard, GUARD_BUG, "a formula that the verifier does not know");
}

static uint32_t truth(reading *e, const iso_node *x)
{
    iso_clauses *c = e->c;
    const iso_node *a = x->kid[0], *b = x->kid[1];
    guard_tick(c->m->guard);
    if (iso_too_large(c)) return ISO_NO;
    c->work++;
    switch (x->op) {
    case ISO_TRUE: return ISO_YES;
    case ISO_FALSE: return ISO_NO;
    case ISO_NOT: return truth(e, a) ^ 1;
    case ISO_AND: {
        uint32_t left = truth(e, a);
        return left == ISO_NO ? left : both(c, left, truth(e, b));
    }
    case ISO_OR: {
        uint32_t left = truth(e, a);
        return left == ISO_YES ? left : either(c, left, truth(e, b));
    }
    case ISO_IMPLIES: {
        uint32_t left = truth(e, a);
        return left == ISO_NO ? ISO_YES : either(c, left ^ 1, truth(e, b));
    }
    case ISO_IFF: {
        uint32_t left = truth(e, a), right = truth(e, b);
        return both(c, either(c, left ^ 1, right), either(c, right ^ 1, left));
    }
    case ISO_ALL:
    case ISO_SOME: return quantified(e, x);
    default: return truth_of_relations(e, x);
    }
}

/* --- levels ----------------------------------------------------------------------------------- */

static void demand(reading *e, uint32_t lit)
{
    add_clause(e->c, &lit, 1);
}

/* Each module numbers its nodes and variables for itself. */
static void demand_axioms(reading *e, const iso_level *of)
{
    iso_level_list line = {0};
    iso_line(e->c->m, of, &line);
    for (size_t k = 0; k < line.n; k++) {
        const iso_level *l = line.at[k];
        e->known = mem_array0(e->c->m, uint32_t *, (size_t)l->module->nodes + 1);
        e->env = mem_array0(e->c->m, uint32_t, (size_t)l->module->slots + 1);
        for (size_t i = 0; i < l->axioms.n; i++) demand(e, truth(e, l->axioms.at[i].form));
    }
}

/* Session order and read-from lie in the order; of visibility: in what is visible, which lies in
   the order, and a read misses nothing that is visible. */
static void demand_witness(reading *e, const iso_level *l)
{
    iso_clauses *c = e->c;
    if (l->witness == ISO_NONE) return;
    const uint32_t *in = l->witness == ISO_CO ? c->order : c->vis;
    for (size_t i = 0; i < (size_t)e->n * e->n; i++) {
        add_clause(c, (uint32_t[]){e->so[i] ^ 1, in[i]}, 2);
        add_clause(c, (uint32_t[]){e->wr[i] ^ 1, in[i]}, 2);
    }
    /* A level that speaks of real time has it in its order. */
    for (size_t i = 0; iso_level_uses(l, ISO_USES_RT) && i < (size_t)e->n * e->n; i++)
        add_clause(c, (uint32_t[]){by_clock(e, ISO_RT)[i] ^ 1, c->order[i]}, 2);
    if (l->witness == ISO_VIS_AR) demand(e, commit_rule(e, c->vis));
}

void iso_clauses_make(iso_clauses *out, iso_facts *f, const iso_level *l, const iso_chosen *w,
                      mem *m)
{
    memset(out, 0, sizeof *out);
    out->m = m;
    vec_push(m, &out->first, 0);
    reading e = {.c = out, .f = f, .n = f->n, .keys = f->keys};
    out->act = mem_array0(m, uint32_t, (size_t)f->n + 1);
    out->act[0] = ISO_YES;
    for (uint32_t t = 1; t < f->n; t++)
        out->act[t] = !f->maybe[t] ? ISO_YES : w ? w->in[t] ? ISO_YES : ISO_NO : new_literal(out);
    load_writes(&e);
    load_reads(&e, w);
    load_sessions(&e);
    load_order(&e, w);
    if (l->witness != ISO_NONE) load_version_places(&e);
    if (l->witness == ISO_VIS_AR) load_visible(&e, w);
    demand_witness(&e, l);
    demand_axioms(&e, l);
    assert(!w || !out->vars);
}

/* --- definitions ------------------------------------------------------------------------------ */

/* `extends NAME` of what the text itself does not define: a definition of the program. */
static iso_level *from_library(void *ud, const char *given)
{
    mem *m = ud;
    const char *name = iso_library_name(given, NULL), *key, *text = NULL;
    if (!name) return NULL;
    for (size_t i = 0; iso_library_at(i, &key, &text, NULL) && strcmp(key, name); i++) text = NULL;
    if (!text) return NULL;
    const iso_module *module = iso_parse(m, name, text, strlen(text), from_library, m, NULL);
    return module->levels.at[module->levels.n - 1];
}

const iso_level *iso_level_of(mem *m, const char *text, size_t n, const char *name)
{
    const iso_module *module = iso_parse(m, "definition", text, n, from_library, m, NULL);
    if (!name) return module->levels.at[module->levels.n - 1];
    for (size_t i = 0; i < module->levels.n; i++)
        if (!strcmp(module->levels.at[i]->name, name)) return module->levels.at[i];
    return NULL;
}
