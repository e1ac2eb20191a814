/*
 * world.h - a history as gates, and levels as formulas over it.
 *
 * A world is a history whose facts are gates: free ones when a history is looked for, constants
 * when one is given.  Transaction 0 writes the initial value of every key and is before all others.
 * Values are left out: unique values are labels, and who reads from whom says it all.
 * A witness is an order (and a visibility), again gates.
 */
#ifndef RATEL_SYNTH_WORLD_H
#define RATEL_SYNTH_WORLD_H

#include "synth/gates.h"
#include "iso/iso.h"

/* A history without values.  Transactions 1..n, and 0; keys 0..keys-1. */
typedef struct tiny {
    uint32_t n, keys;
    uint32_t *from; /* [t * keys + x]: whom t reads x from; TINY_NONE: it does not read x */
    bool *writes;   /* [t * keys + x] */
    bool *so;       /* [a * (n + 1) + b] */
} tiny;
#define TINY_NONE UINT32_MAX

tiny *tiny_new(mem *m, uint32_t n, uint32_t keys);
void tiny_free(mem *m, tiny *h);

typedef struct world {
    gates *g;
    uint32_t size, keys; /* size counts transaction 0 */
    gate *act;           /* [t] takes part */
    gate *key;           /* [x] occurs; quantifiers range over these keys only */
    gate *w;             /* [t * keys + x] */
    gate *rf;            /* [(t * keys + x) * size + s]: t reads x from s */
    gate *so, *wr;       /* [a * size + b] */
    gate *upd;           /* [t] */
} world;

void world_alloc(world *w, gates *g, uint32_t size, uint32_t keys);
void world_derive(world *w); /* wr and upd from the rest */
void world_constant(world *w, gates *g, const tiny *h);

/* Allocates a matrix and gates for an order of the active transactions. */
gate *order_constant(const world *w, const uint32_t *place); /* place[t]: its rank */
gate *order_any(const world *w); /* clauses that make it a strict total order, 0 first */
gate *vis_any(const world *w, const gate *order);

/* Is the level kept with this order (and visibility)?  vis may be NULL for levels over co. */
gate level_holds(const world *w, const iso_level *l, const gate *order, const gate *vis);
/* The same with the visibility computed from history and order: the least that the axioms ask for.
   Whatever it is, it is a witness; where vis_is_ruled it is the best one, so this is then exact. */
gate level_holds_least(const world *w, const iso_level *l, const gate *order);
bool vis_is_ruled(const iso_level *l);

/* What a level asks for, in parts that say something each: their conjunction is level_holds. */
enum part_kind {
    PART_EDGE, /* a before b (co) or visible to b (vis): session order, or b reads from a */
    PART_READ, /* c reads x from a: if b, which writes x, is in the premise of c, b is before a */
    PART_FORMULA, /* an axiom, or an instance of one */
    PART_PAIR     /* an axiom `left in right` at (a, b) */
};
typedef struct part {
    enum part_kind kind;
    gate gate;
    uint32_t x, a, b, c;
    bool sure;              /* PART_READ: b is in the premise of c, whatever is chosen */
    bool negated;           /* PART_FORMULA: it must not hold */
    const iso_axiom *axiom; /* NULL: of every level over this witness */
    const iso_node *node;   /* PART_READ: the premise (NULL: vis); else the formula */
    const uint32_t *env;    /* values of its free variables, by slot; during the call only */
    uint32_t slots;
} part;
typedef void (*part_fn)(void *ud, const part *p);
void level_parts(const world *w, const iso_level *l, const gate *order, const gate *vis,
                 part_fn tell, void *ud);

#endif
