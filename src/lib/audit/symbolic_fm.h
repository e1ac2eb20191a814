/*
 * symbolic_fm.h - formulas over "which state was read", and values that depend on them.
 *
 * A formula is a node times two plus a sign: variables, and conjunctions of formulas, each made
 * once.  A guarded value is a list of concrete values, each with the formula under which it is the
 * one: arithmetic stays the interpreter's own, only the choice between its results is symbolic.
 * Where the list would grow too long the value is a term of whole numbers (scaled decimals)
 * instead, for which src/lib/audit/smt.h has a solver.
 *
 * Invariants: the formulas of a list exclude each other wherever the value is used; a list of one
 * needs no formula, because nobody looks at a value where it does not exist.
 */
#ifndef RATEL_AUDIT_SYMBOLIC_FM_H
#define RATEL_AUDIT_SYMBOLIC_FM_H

#include "base/vec.h"
#include "sql/exec.h"

typedef uint32_t fm;
#define FM_TRUE 0u
#define FM_FALSE 1u

static inline fm fm_not(fm f)
{
    return f ^ 1;
}

typedef enum term_kind { TERM_CONST, TERM_ITE, TERM_ADD, TERM_SCALE } term_kind;

typedef struct term {
    uint32_t kind; /* enum term_kind */
    fm when;       /* TERM_ITE */
    uint32_t a, b;
    const char *digits; /* TERM_CONST: a whole number; TERM_SCALE: times this */
    bool wide;          /* it may be outside of 62 bits, else it is within these: */
    int64_t low, high;
    int64_t step, rest; /* not wide: it is rest + some multiple of step (0: it is rest) */
} term;

typedef struct fm_node {
    uint32_t from, n; /* of a conjunction: its parts in `parts` */
    uint32_t links;   /* of a variable: first of what it implies, + 1 */
    uint32_t a, b;    /* of a variable that says term a <= term b; 0: a plain one */
    signed char truth;
} fm_node;

typedef struct fm_link {
    fm when, then;
    uint32_t next;
} fm_link;

typedef struct fm_asked { /* is the term at most k, or equal to it? */
    uint32_t t;
    int64_t k;
    fm f;
    bool equal;
} fm_asked;

typedef struct fm_pool {
    mem *m;
    guard *g;
    arena keep;
    VEC(fm_node) nodes;
    VEC(fm) parts;
    VEC(fm_link) links;
    VEC(term) terms;     /* terms.at[0] is none */
    uint32_t *term_slot; /* hash tables */
    size_t term_cap;
    fm_asked *asked;
    size_t asked_cap, n_asked, most_asked;
    bool no_atoms; /* beyond most_asked the pool is full; else questions go to smt.h */
    uint32_t *slot;
    size_t cap;
    VEC(fm) work;
    size_t most; /* nodes; beyond it the pool is full and says so by `full` */
    bool full;
    bool short_lists; /* of one value */
} fm_pool;

void fm_init(fm_pool *p, mem *m);
fm fm_var(fm_pool *p);
void fm_imply(fm_pool *p, fm variable, fm then);
fm fm_and(fm_pool *p, const fm *f, size_t n);
fm fm_or(fm_pool *p, const fm *f, size_t n);
fm fm_and2(fm_pool *p, fm a, fm b);
fm fm_or2(fm_pool *p, fm a, fm b);
/* Exactly k of them. */
fm fm_exactly(fm_pool *p, const fm *f, size_t n, uint64_t k);
/* From here on it is taken for true. */
void fm_assume(fm_pool *p, fm f);
/* The formula, as far as it is known to be true or false. */
fm fm_known(const fm_pool *p, fm f);

static inline const fm_node *fm_at(const fm_pool *p, fm f)
{
    return &p->nodes.at[f >> 1];
}

uint32_t term_const(fm_pool *p, const char *digits);
uint32_t term_ite(fm_pool *p, fm when, uint32_t a, uint32_t b);
uint32_t term_add(fm_pool *p, uint32_t a, uint32_t b);
uint32_t term_scale(fm_pool *p, uint32_t a, const char *factor);
fm term_at_most(fm_pool *p, uint32_t a, uint32_t b); /* a <= b */
fm term_equal(fm_pool *p, uint32_t a, uint32_t b);

/* ---- guarded values -------------------------------------------------------------------------- */

/* Values of a list: many while there is room, then few. */
#define GVAL_MANY 128u
#define GVAL_FEW 2u
#define GVAL_ROOM 600000u /* nodes */

static inline uint32_t gval_most(const fm_pool *p)
{
    return p->short_lists ? 1 : p->nodes.n < GVAL_ROOM ? GVAL_MANY : GVAL_FEW;
}

typedef struct gcase {
    fm when;
    value v;
} gcase;

typedef struct gval {
    uint32_t n; /* 0: a term */
    const gcase *at;
    uint32_t number; /* the term */
    uint32_t scale;  /* that many of its digits stand after the point */
    fm null;         /* of a term */
} gval;

static inline bool gval_plain(gval v)
{
    return v.n == 1;
}

typedef struct gval_part {
    uint32_t which;
    fm when;
} gval_part;

/* Collects the parts of a list. */
typedef struct gmaker {
    fm_pool *p;
    type_id t;
    VEC(value) v;
    VEC(gval_part) parts;
    uint32_t *slot;
    uint32_t cap;
} gmaker;

void gmaker_begin(gmaker *k, fm_pool *p, type_id t);
void gmaker_add(gmaker *k, fm when, value v);
gval gmaker_end(gmaker *k);
void gmaker_free(gmaker *k);

gval gval_of(fm_pool *p, type_id t, value v);
/* The value as it would be where `when` holds, else the other. */
gval gval_ite(fm_pool *p, gmaker *k, type_id t, fm when, gval a, gval b);
/* When it is true (of booleans); when it is null. */
fm gval_true(fm_pool *p, gval v);
fm gval_null(fm_pool *p, gval v);
/* With what is known by now: if one of its values has come true, the others are gone. */
gval gval_settled(fm_pool *p, gval v);
/* As a term; false if it is no number, or its values differ in scale. */
bool gval_term(fm_pool *p, type_id t, gval v, gval *out);

#endif
