/*
 * smt.h - a solver for whole numbers, as far as this build has one (Z3).
 *
 * Formulas and terms are numbers handed out by the solver; a formula may be negated by its lowest
 * bit.  The room stands outside the library: what it is built on is linked to the program only.
 * No call is long but smt_check, which stops after the given time; only memory of ours makes one
 * jump, and then the solver must still be closed.
 */
#ifndef RATEL_AUDIT_SMT_H
#define RATEL_AUDIT_SMT_H

#include "base/mem.h"

typedef struct smt smt;

typedef enum smt_answer { SMT_UNKNOWN = 0, SMT_SAT = 10, SMT_UNSAT = 20 } smt_answer;

/* Has this build a solver?  If not, *why says so. */
bool smt_here(const char **why);
/* `mib`: memory that it may take, 0: any.  `bits`: all terms fit in so many (at most 64), which is
   faster; 0: no such bound.  NULL: none in this build. */
smt *smt_open(mem *m, size_t mib, unsigned bits);
void smt_close(smt *s); /* NULL is a no-op */

/* formulas: even numbers, + 1 for the negation */
uint32_t smt_bool(smt *s);
uint32_t smt_and(smt *s, const uint32_t *f, size_t n);
uint32_t smt_at_most(smt *s, uint32_t a, uint32_t b); /* of terms: a <= b */
/* terms */
uint32_t smt_const(smt *s, const char *digits);
uint32_t smt_ite(smt *s, uint32_t when, uint32_t a, uint32_t b);
uint32_t smt_add(smt *s, uint32_t a, uint32_t b);
uint32_t smt_times(smt *s, uint32_t a, const char *digits);

void smt_assert(smt *s, const uint32_t *any, size_t n);
smt_answer smt_check(smt *s, unsigned ms);
bool smt_true(const smt *s, uint32_t f); /* after SMT_SAT */

/* A whole problem as SMT-LIB 2 text (doc/backends.md).  NULL: out of memory, or no Z3. */
typedef struct smt_text smt_text;
smt_text *smt_text_open(size_t mib); /* mib: as of smt_open */
void smt_text_close(smt_text *t);
/* Ends when stop(ud) is not 0, which is asked after 2, 4, 8, ... times as many steps. */
smt_answer smt_text_solve(smt_text *t, const char *problem, int (*stop)(void *ud), void *ud);
/* After SMT_SAT: of a Boolean 0 or 1, of a whole number its value; 0 if there is no such name. */
int64_t smt_text_value(smt_text *t, const char *name);

#endif
