/*
 * symbolic_solve.h - formulas given to the solver of src/lib/solve, as far as they are asked for.
 *
 * A node becomes a variable when something that is asserted reaches it.  Variables that say
 * something of terms are free here: what is contradictory is so all the same, but a model may not
 * be one (`terms`).
 */
#ifndef RATEL_AUDIT_SYMBOLIC_SOLVE_H
#define RATEL_AUDIT_SYMBOLIC_SOLVE_H

#include "audit/symbolic_fm.h"
#include "solve/solve.h"

typedef struct fm_solver {
    fm_pool *p;
    mem *m;
    solver *s;
    VEC(uint32_t) code; /* by node: variable + 1 */
    VEC(uint32_t) work;
    VEC(uint32_t) lits;
    VEC(uint32_t) due; /* links to be told */
    size_t links;      /* those before it were looked at */
    bool terms;
} fm_solver;

void fsolver_begin(fm_solver *f, fm_pool *p, mem *m);
void fsolver_assert(fm_solver *f, fm g);
uint32_t fsolver_lit(fm_solver *f, fm g);
/* SOLVE_UNKNOWN: given up after so many conflicts (0: never). */
solve_status fsolver_solve(fm_solver *f, const fm *assume, size_t n, uint64_t conflicts);
/* In the model; what nobody asked for is false. */
bool fsolver_true(const fm_solver *f, fm variable);
void fsolver_end(fm_solver *f);

#endif
