/*
 * dimacs.h - the text formats of ratel-sat: DIMACS CNF, and Cobra's polygraphs.  Both fail through
 * the region's guard with line and column.
 */
#ifndef RATEL_SOLVE_DIMACS_H
#define RATEL_SOLVE_DIMACS_H

#include "base/vec.h"
#include "solve/order.h"

/* Clauses one after another, each closed by LIT_NONE. */
typedef struct cnf {
    uint32_t vars;
    size_t clauses;
    VEC(uint32_t) lits;
} cnf;

/* Edges that are known, and choices: the first edge of a pair or the second. */
typedef struct polyg_choice {
    order_pair first, second;
} polyg_choice;

typedef struct polyg {
    uint32_t nodes;
    VEC(order_pair) edges;
    VEC(polyg_choice) choices;
} polyg;

bool polyg_looks_like(const char *text, size_t n);
void polyg_read(mem *m, const char *text, size_t n, polyg *out);
void dimacs_read(mem *m, const char *text, size_t n, cnf *out);

#endif
