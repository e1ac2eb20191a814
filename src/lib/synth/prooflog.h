/*
 * prooflog.h - what shows that a scope has no history: clauses (DIMACS), their refutation (DRAT).
 *
 * The formula is every clause that the search gave its solver, constraints from counterexamples
 * included, and "there is a transaction" (of the sizes of this encoding).
 */
#ifndef RATEL_SYNTH_PROOFLOG_H
#define RATEL_SYNTH_PROOFLOG_H

#include "base/strbuf.h"
#include "solve/solve.h"

typedef struct prooflog {
    proof hooks;
    strbuf clauses, steps;
    uint64_t n_clauses;
} prooflog;

void prooflog_init(prooflog *p, mem *m);
/* Closes both texts: the literal is assumed, and every assumption has been refuted. */
void prooflog_end(prooflog *p, const solver *s, uint32_t assumed, strbuf *formula);

#endif
