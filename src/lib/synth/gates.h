/*
 * gates.h - formulas as solver literals, with constants folded and equal gates shared.
 *
 * A gate is a literal of the solver behind it.  GATE_TRUE is the literal of variable 0, which is
 * fixed; so with constant inputs everything folds, and building a formula is evaluating it.
 */
#ifndef RATEL_SYNTH_GATES_H
#define RATEL_SYNTH_GATES_H

#include "base/map.h"
#include "base/vec.h"
#include "solve/solve.h"
#include "synth/synth.h"

typedef uint32_t gate;
#define GATE_TRUE 0u
#define GATE_FALSE 1u

/* An engine from outside and its open state, which no region owns: the border closes it. */
typedef struct foreign {
    const synth_engine *engine; /* NULL: the solver of `check` */
    void *state;
} foreign;
void foreign_close(foreign *f); /* closed already is a no-op */

typedef struct gates {
    mem *mem;
    solver *solver; /* or NULL: */
    foreign *foreign;
    uint32_t vars;
    VEC(gate) pool;  /* inputs of the and-gates: count, inputs..., output */
    id_index known;  /* places in the pool, by their inputs */
    VEC(gate) stack; /* inputs being collected */
    uint64_t clauses;
} gates;

void gates_init(gates *g, mem *m, const proof *log, foreign *f); /* log and f may be NULL */
void gates_free(gates *g);
gate gate_new(gates *g); /* a free input */
void gate_clause(gates *g, const gate *lits, size_t n);
void gate_assert(gates *g, gate a);
gate gate_and_all(gates *g, gate *lits, size_t n); /* reorders lits */
gate gate_or_all(gates *g, gate *lits, size_t n);  /* the same */
gate gate_and(gates *g, gate a, gate b);
gate gate_or(gates *g, gate a, gate b);

static inline gate gate_not(gate a)
{
    return a ^ 1;
}

static inline gate gate_implies(gates *g, gate a, gate b)
{
    return gate_or(g, gate_not(a), b);
}

/* Many inputs without an array of the caller's: open, push, then close as a conjunction or
   disjunction.  Nests. */
size_t gate_open(gates *g);
void gate_push(gates *g, gate a);
gate gate_close_and(gates *g, size_t opened);
gate gate_close_or(gates *g, size_t opened);

/* Is there an assignment?  Fails through the guard when time is over. */
bool gates_solve(gates *g, const gate *assume, size_t n);
bool gate_value(const gates *g, gate a); /* in the last one found */
uint64_t gates_conflicts(const gates *g);

/* out[k] for k < limit: at least k + 1 of the inputs hold. */
void gate_count(gates *g, const gate *in, size_t n, gate *out, size_t limit);

#endif
