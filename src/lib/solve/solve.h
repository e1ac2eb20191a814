/*
 * solve.h - the CDCL(T) solver: a propositional engine with a theory beside it.
 *
 * A solver lives in a memory region and fails through the region's guard: out of memory, the
 * deadline and the interrupt leave by its jump.  After GUARD_TIME and GUARD_INTERRUPT the solver
 * may be used on (unless a callback of the theory was what failed); after GUARD_NOMEM it can only
 * be freed.  SOLVE_UNKNOWN is returned only for the option `conflicts`.
 *
 *     solver *s = solver_new(m);
 *     uint32_t a = solver_var(s), b = solver_var(s);
 *     solver_add_clause(s, (uint32_t[]){lit_of(a, false), lit_of(b, true)}, 2);
 *     if (solver_solve(s, NULL, 0) == SOLVE_SAT) ... solver_model(s, lit_of(a, false)) > 0 ...
 *
 * Literals are 2 * variable + sign.  The theory speaks the vocabulary of IPASIR-UP (Fazekas et
 * al., SAT 2023); the engine is that of minisat and cadical.
 */
#ifndef RATEL_SOLVE_SOLVE_H
#define RATEL_SOLVE_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct solver solver;

#define LIT_NONE UINT32_MAX

static inline uint32_t lit_of(uint32_t var, bool negative)
{
    return 2 * var + negative;
}

static inline uint32_t lit_not(uint32_t lit)
{
    return lit ^ 1;
}

static inline uint32_t lit_var(uint32_t lit)
{
    return lit >> 1;
}

static inline bool lit_negative(uint32_t lit)
{
    return lit & 1;
}

typedef enum solve_status { SOLVE_UNKNOWN = 0, SOLVE_SAT = 10, SOLVE_UNSAT = 20 } solve_status;

/* ---- the solver ---------------------------------------------------------------------------- */

solver *solver_new(mem *m);
void solver_free(solver *s); /* NULL is a no-op */

/* A new variable: the next number, from 0 on.  Allowed at any time but in notify_*. */
uint32_t solver_var(solver *s);
uint32_t solver_vars(const solver *s);

/* Repeated literals, tautologies and satisfied clauses are all right.  During solver_solve (from a
 * callback of the theory, notify_* included) the clause waits in a queue and is added as soon as
 * the callback is over, at whatever level, whether it is satisfied, unit or falsified there. */
void solver_add_clause(solver *s, const uint32_t *lits, size_t n);

/* The same for what the theory vouches for: the proof log gets it as a lemma with its tag.  A
 * forgettable clause may be deleted like a learned one. */
void solver_add_lemma(solver *s, const uint32_t *lits, size_t n, uint64_t tag, bool forgettable);

/* Assumptions hold for this call only; clauses, learned clauses, phases stay. */
solve_status solver_solve(solver *s, const uint32_t *assumptions, size_t n);

/* After SOLVE_SAT: 1 true, -1 false, 0 not assigned (only when the theory stopped early). */
int solver_model(const solver *s, uint32_t lit);
/* After SOLVE_UNSAT: the assumptions that cannot hold together; none: the clauses alone cannot. */
bool solver_failed(const solver *s, uint32_t assumption);
const uint32_t *solver_core(const solver *s, size_t *n);
bool solver_consistent(const solver *s); /* false: unsatisfiable for good */

/* ---- what a theory may ask and say --------------------------------------------------------- */

int solver_value(const solver *s, uint32_t lit);          /* now: 1, -1, 0 */
int solver_fixed(const solver *s, uint32_t lit);          /* at level 0: 1, -1, 0 */
uint32_t solver_level(const solver *s);                   /* current decision level */
uint32_t solver_level_of(const solver *s, uint32_t var);  /* of an assigned variable */
double solver_activity(const solver *s, uint32_t var);    /* to choose between literals */
int solver_saved_phase(const solver *s, uint32_t var);    /* 1, -1; 0: never assigned */
void solver_bump(solver *s, uint32_t var);                /* as if met in a conflict */
void solver_phase(solver *s, uint32_t lit);               /* the value to try first */
void solver_decidable(solver *s, uint32_t var, bool yes); /* default yes; no: the solver itself
                                                             never decides it */

/* ---- the theory ---------------------------------------------------------------------------- */

typedef struct theory_clause {
    const uint32_t *lits; /* borrowed until the next callback */
    size_t n;
    uint64_t tag;     /* passed on to the proof log */
    bool forgettable; /* may be deleted as learned clauses are */
} theory_clause;

#define THEORY_ANY LIT_NONE                    /* cb_decide: let the solver choose */
#define THEORY_STOP ((uint32_t)(LIT_NONE - 1)) /* cb_decide: this assignment is enough */

/*
 * Every member but `state` may be NULL.  The order of calls: assignments are told after unit
 * propagation has come to rest and before the level grows, so all literals of one call belong to
 * the current level; after notify_backtrack(level) only those of levels <= level still hold.
 */
typedef struct theory {
    void *state;
    void (*notify_assignment)(void *state, const uint32_t *lits, size_t n);
    void (*notify_new_level)(void *state);
    void (*notify_backtrack)(void *state, uint32_t level);

    /* A literal that follows from the assignment, or LIT_NONE.  A false one is a conflict.  Asked
     * again until LIT_NONE. */
    uint32_t (*cb_propagate)(void *state);
    /* Why: a clause with lit, all others false and assigned before it.  Asked only if analysis
     * comes by, at most once for each assignment. */
    void (*cb_add_reason_clause)(void *state, uint32_t lit, theory_clause *out);

    /* A clause to be added now, falsified ones included; false: there is none. */
    bool (*cb_add_external_clause)(void *state, theory_clause *out);

    /* An unassigned literal to be made true, THEORY_ANY, or THEORY_STOP.  If it added clauses, the
     * answer is thrown away and the question put again after their propagation. */
    uint32_t (*cb_decide)(void *state);
    /* The last word on the polarity of the solver's own choice: lit or its negation. */
    uint32_t (*cb_phase)(void *state, uint32_t lit);

    /* Called when cb_decide said THEORY_STOP or nothing is left to decide; the assignment may be
     * partial.  true: accept.  false: go on; it must have added a clause or a variable, or let
     * cb_decide answer otherwise. */
    bool (*cb_check_found_model)(void *state);
} theory;

/* With the option `late`, or when the theory's clauses came after the literals that make them unit,
 * a backjump may leave a clause with one unassigned literal and no true one.  A theory that says
 * THEORY_STOP answers for its clauses being satisfied by other means than the assignment.
 *
 * The theory is borrowed and must outlive the solver's use of it.  Set before the first solve. */
void solver_set_theory(solver *s, const theory *t);

/* ---- proof log ----------------------------------------------------------------------------- */

/* Every learned clause is implied by unit propagation (RUP) from what was logged and not deleted.
 * The end of a refutation is the learned empty clause; under assumptions it is the learned clause
 * of the negated core.  Members may be NULL. */
typedef struct proof {
    void *state;
    void (*original)(void *state, const uint32_t *lits, size_t n);
    void (*lemma)(void *state, const uint32_t *lits, size_t n, uint64_t tag);
    void (*learned)(void *state, const uint32_t *lits, size_t n);
    void (*deleted)(void *state, const uint32_t *lits, size_t n);
} proof;

void solver_set_proof(solver *s, const proof *p); /* borrowed; before the first clause */

/* A writer of DRAT for plain formulas, where no lemma occurs. */
typedef struct drat drat;
typedef void (*drat_write)(void *ud, const char *bytes, size_t n);
drat *drat_new(mem *m, bool binary, drat_write write, void *ud);
const proof *drat_proof(drat *d);
void drat_flush(drat *d);
void drat_free(drat *d);

/* ---- options and statistics ---------------------------------------------------------------- */

typedef struct solve_option {
    const char *name;
    int64_t value, low, high;
    const char *help;
} solve_option;

/* false: no such option, or out of range. */
bool solver_set_option(solver *s, const char *name, int64_t value);
bool solver_option_at(const solver *s, size_t i, solve_option *out); /* false past the end */

typedef struct solve_stats {
#define STATISTIC(name, help) uint64_t name;
#include "solve/solve_stats.def"
#undef STATISTIC
} solve_stats;

const solve_stats *solver_stats(const solver *s);
/* Name and value of the i-th statistic; NULL past the end. */
const char *solver_stat_at(const solver *s, size_t i, uint64_t *value, const char **help);

/* Walks all invariants, O(size); 1 if they hold.  For tests. */
int solver_check(const solver *s);

#endif
