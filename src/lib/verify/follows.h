/*
 * follows.h - clauses, and others that follow from them by unit propagation.
 */
#ifndef RATEL_VERIFY_FOLLOWS_H
#define RATEL_VERIFY_FOLLOWS_H

#include "base/mem.h"
#include "base/vec.h"

typedef struct rup rup;

/* Literals are 2 * variable + negated, variables 1 .. vars. */
rup *rup_new(mem *m, uint32_t vars);
/* A clause that is taken as it is. */
void rup_take(rup *r, const uint32_t *lits, size_t n);
/* Does the clause follow: does propagating its negation end in a contradiction?  Then it is taken
   too. */
bool rup_follows(rup *r, const uint32_t *lits, size_t n);
/* Do the clauses contradict each other already? */
bool rup_refuted(const rup *r);

#endif
