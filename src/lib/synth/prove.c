/*
 * prove.c - implications between levels for histories of every size, from their text.
 *
 * A level that is commit(P) gets weaker as P shrinks, so P_b inside P_a proves that a implies b
 * (doc/synth.md).  Levels over vis and ar whose axioms are rules have a least visibility, which
 * is such a P; those shapes are recognised here.  Inclusion is decided by a few sound rules
 * over so, wr, ww within co, co transitive; what they do not show is simply not proved.
 */
#include <string.h>

#include "synth/synth_search.h"

/* Premises as trees of their own; P_STEP is co? ; kid. */
enum { P_SO, P_WR, P_WW, P_NEAR, P_CO, P_CO_UPD, P_UPD_CO_UPD, P_JOIN, P_PLUS, P_STEP };

typedef struct premise {
    int op;
    struct premise *a, *b;
} premise;

/* Everything is inside co, which is transitive: so a closure of a closure is one of them. */
static premise *make(mem *m, int op, premise *a, premise *b)
{
    if (op == P_STEP || op == P_PLUS) {
        if (a->op == P_STEP) return a;
        if (a->op == P_PLUS) a = a->a;
    }
    premise *p = mem_get(m, sizeof *p);
    *p = (premise){op, a, b};
    return p;
}

static const iso_node *unfold(const iso_node *x)
{
    while (x->op == ISO_USE && !x->kid[0]) x = x->def->body;
    return x;
}

static bool is_order(const iso_node *x)
{
    x = unfold(x);
    return x->op == ISO_CO_REL || x->op == ISO_AR;
}

/* A relation as a premise, or NULL if it is of no known shape. */
static premise *read_premise(mem *m, const iso_node *x)
{
    x = unfold(x);
    switch (x->op) {
    case ISO_SO: return make(m, P_SO, NULL, NULL);
    case ISO_WR: return make(m, P_WR, NULL, NULL);
    case ISO_WW: return make(m, P_WW, NULL, NULL);
    case ISO_CO_REL:
    case ISO_AR: return make(m, P_CO, NULL, NULL);
    case ISO_PLUS: {
        premise *a = read_premise(m, x->kid[0]);
        return a ? make(m, P_PLUS, a, NULL) : NULL;
    }
    case ISO_JOIN: {
        premise *a = read_premise(m, x->kid[0]), *b = read_premise(m, x->kid[1]);
        return a && b ? make(m, P_JOIN, a, b) : NULL;
    }
    case ISO_SEQ: {
        const iso_node *l = unfold(x->kid[0]), *r = unfold(x->kid[1]);
        if (l->op == ISO_OPT && is_order(l->kid[0])) {
            premise *b = read_premise(m, r);
            return b ? make(m, P_STEP, b, NULL) : NULL;
        }
        if (is_order(l) && r->op == ISO_DIAG && unfold(r->kid[0])->op == ISO_UPD)
            return make(m, P_CO_UPD, NULL, NULL);
        return NULL;
    }
    case ISO_MEET: {
        const iso_node *l = unfold(x->kid[0]), *r = unfold(x->kid[1]);
        if (is_order(l) && r->op == ISO_PRODUCT && unfold(r->kid[0])->op == ISO_UPD &&
            unfold(r->kid[1])->op == ISO_UPD)
            return make(m, P_UPD_CO_UPD, NULL, NULL);
        return NULL;
    }
    default: return NULL;
    }
}

static bool equal(const premise *a, const premise *b)
{
    if (!a || !b) return a == b;
    return a->op == b->op && equal(a->a, b->a) && equal(a->b, b->b);
}

/* a inside b, by rules that are each sound; everything here is inside co.  The size falls in every
   step, so it ends; where it would take long, it is given up: what is not shown is not proved. */
static bool shown(const premise *a, const premise *b, uint32_t *patience)
{
    if (!*patience) return false;
    --*patience;
    if (equal(a, b) || b->op == P_CO) return true;
    if (a->op == P_JOIN) return shown(a->a, b, patience) && shown(a->b, b, patience);
    if (a->op == P_STEP && a->a->op == P_JOIN) /* composition distributes over union */
        return shown(&(premise){P_STEP, a->a->a, NULL}, b, patience) &&
               shown(&(premise){P_STEP, a->a->b, NULL}, b, patience);
    if (a->op == P_NEAR && shown(&(premise){P_WW, NULL, NULL}, b, patience)) return true;
    if (a->op == P_UPD_CO_UPD && b->op == P_CO_UPD) return true;
    if (a->op == P_WW && (b->op == P_CO_UPD || b->op == P_UPD_CO_UPD)) return true;
    if (b->op == P_JOIN && (shown(a, b->a, patience) || shown(a, b->b, patience))) return true;
    if (b->op == P_PLUS) {
        if (a->op == P_PLUS && shown(a->a, b, patience)) return true;
        if (shown(a, b->a, patience)) return true;
    }
    if (b->op == P_STEP) {
        /* co ; (co? ; X) is inside co? ; X; so is a path whose last step is */
        if ((a->op == P_PLUS || a->op == P_STEP) && shown(a->a, b, patience)) return true;
        if (shown(a, b->a, patience)) return true;
    }
    return false;
}

#define PATIENCE 100000

static bool within(const premise *a, const premise *b)
{
    uint32_t patience = PATIENCE;
    return shown(a, b, &patience);
}

/* ---- levels as premises -------------------------------------------------------------------- */

static bool is_vis(const iso_node *x)
{
    return unfold(x)->op == ISO_VIS;
}

static premise *from_vis(mem *m, const iso_axiom_list *all)
{
    bool transitive = false, prefix = false;
    premise *p = make(m, P_JOIN, make(m, P_SO, NULL, NULL), make(m, P_WR, NULL, NULL));
    for (size_t i = 0; i < all->n; i++) {
        const iso_node *f = all->at[i]->form;
        if (f->op == ISO_TRUE) continue;
        if (iso_is_noconflict(f)) {
            p = make(m, P_JOIN, p, make(m, P_WW, NULL, NULL));
        } else if (iso_is_near(f)) {
            p = make(m, P_JOIN, p, make(m, P_NEAR, NULL, NULL));
        } else if (f->op == ISO_TRANSITIVE && is_vis(f->kid[0])) {
            transitive = true;
        } else if (f->op == ISO_IN && is_vis(f->kid[1]) && f->kid[0]->op == ISO_SEQ &&
                   is_vis(f->kid[0]->kid[1])) {
            if (is_vis(f->kid[0]->kid[0]))
                transitive = true;
            else if (is_order(f->kid[0]->kid[0]))
                prefix = true;
            else
                return NULL;
        } else if (f->op == ISO_TOTAL && is_vis(f->kid[0]) && f->kid[1]->op == ISO_TXNS) {
            p = make(m, P_CO, NULL, NULL);
        } else if (f->op == ISO_TOTAL && is_vis(f->kid[0]) && f->kid[1]->op == ISO_UPD) {
            p = make(m, P_JOIN, p, make(m, P_UPD_CO_UPD, NULL, NULL));
        } else {
            return NULL;
        }
    }
    if (prefix) return make(m, P_STEP, p, NULL);
    return transitive ? make(m, P_PLUS, p, NULL) : p;
}

/* so, wr, ww and, if asked for, rw: each of them, and nothing else. */
static uint32_t union_of(const iso_node *x)
{
    x = unfold(x);
    switch (x->op) {
    case ISO_JOIN: return union_of(x->kid[0]) | union_of(x->kid[1]);
    case ISO_SO: return 1;
    case ISO_WR: return 2;
    case ISO_WW: return 4;
    case ISO_RW: return 8;
    default: return 16;
    }
}

/* Levels by a graph without a cycle.  The order of such a graph is a commit order itself:
   acyclic(so | wr | ww | rw) is serializability, acyclic((so | wr | ww) ; rw?) snapshot isolation
   (Adya 1999; Cerone and Gotsman 2018).  It may be another order than the one of other axioms, so
   this must be the only one. */
static premise *from_graph(mem *m, const iso_node *f)
{
    if (f->op != ISO_ACYCLIC) return NULL;
    const iso_node *x = unfold(f->kid[0]);
    if (union_of(x) == 15) return make(m, P_CO, NULL, NULL);
    if (x->op != ISO_SEQ || union_of(x->kid[0]) != 7) return NULL;
    const iso_node *r = unfold(x->kid[1]);
    if (r->op != ISO_OPT || unfold(r->kid[0])->op != ISO_RW) return NULL;
    premise *p = make(m, P_JOIN, make(m, P_SO, NULL, NULL), make(m, P_WR, NULL, NULL));
    return make(m, P_STEP, make(m, P_JOIN, p, make(m, P_WW, NULL, NULL)), NULL);
}

/* The P of commit(P), or of irreflexive(P ; rw), which says the same of a P inside co. */
static const iso_node *commits_to(const iso_node *f)
{
    if (f->op == ISO_COMMIT) return f->kid[0];
    if (f->op != ISO_IRREFLEXIVE) return NULL;
    const iso_node *x = unfold(f->kid[0]);
    return x->op == ISO_SEQ && unfold(x->kid[1])->op == ISO_RW ? x->kid[0] : NULL;
}

/* Several commits are one: commit(P) and commit(Q) is commit(P | Q). */
static premise *from_commits(mem *m, const iso_axiom_list *all)
{
    premise *p = NULL;
    if (all->n == 1 && (p = from_graph(m, all->at[0]->form))) return p;
    for (size_t i = 0; i < all->n; i++) {
        const iso_node *of = commits_to(all->at[i]->form);
        if (!of) return NULL;
        premise *q = read_premise(m, of);
        if (!q) return NULL;
        p = p ? make(m, P_JOIN, p, q) : q;
    }
    return p;
}

static premise *premise_of(mem *m, const iso_level *l)
{
    iso_axiom_list all = {0};
    iso_axioms(m, l, &all);
    for (size_t i = 0; i < all.n; i++)
        if (all.at[i]->form->size > ISO_MOST_UNFOLDED) return NULL;
    if (l->witness == ISO_CO) return from_commits(m, &all);
    if (l->witness == ISO_VIS_AR) return from_vis(m, &all);
    return NULL;
}

bool prove_implies(mem *m, const iso_level *a, const iso_level *b, const char **why)
{
    if (a == b) {
        *why = "the two definitions are the same";
        return true;
    }
    premise *p = premise_of(m, a), *q = premise_of(m, b);
    if (!p || !q || !within(q, p)) return false;
    *why = "everything that the forbidden level requires, the allowed level requires too";
    return true;
}
