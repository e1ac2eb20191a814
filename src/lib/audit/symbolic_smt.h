/*
 * symbolic_smt.h - formulas with terms, given to the solver of src/lib/audit/smt.h.
 */
#ifndef RATEL_AUDIT_SYMBOLIC_SMT_H
#define RATEL_AUDIT_SYMBOLIC_SMT_H

#include "audit/symbolic_fm.h"
#include "audit/smt.h"

typedef struct fm_smt {
    fm_pool *p;
    smt *s;                  /* owned by who opened it */
    VEC(uint32_t) code;      /* by node: formula + 1 */
    VEC(uint32_t) term_code; /* by term: + 1 */
    VEC(uint32_t) work;      /* 2 * node, 2 * term + 1 */
    VEC(uint32_t) parts;
} fm_smt;

/* Bits that hold every term of the pool; 0: more than 62. */
unsigned fsmt_bits(const fm_pool *p);
void fsmt_begin(fm_smt *f, fm_pool *p, smt *s);
void fsmt_assert(fm_smt *f, fm g);
/* Until the guard's deadline, or so many seconds. */
smt_answer fsmt_check(fm_smt *f, double seconds);
bool fsmt_true(const fm_smt *f, fm variable);

#endif
