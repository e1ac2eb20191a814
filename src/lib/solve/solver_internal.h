/*
 * solver_internal.h - the state of the solver and the functions its files share.
 *
 * Invariants (walked by solver_check.c):
 *   - the trail holds each assigned variable once, ordered by level; levels[l - 1] is the height
 *     at which level l begins; literals of level 0 have no reason, their units are in the proof
 *   - propagated <= trail_n; at rest (no conflict, propagated == trail_n) no clause is falsified
 *   - a reason clause contains its literal, all others are false and stand before it
 *   - told <= trail_n: what the theory was notified of; told == trail_n when a level is opened
 *   - every unassigned decidable variable is in the heap and not behind queue.search
 *
 * A clause may be unit without having been propagated when the theory's clauses came late and a
 * backjump then went below: it is still watched, so falsifying its last literal is noticed.
 */
#ifndef RATEL_SOLVE_SOLVER_INTERNAL_H
#define RATEL_SOLVE_SOLVER_INTERNAL_H

#include "base/rng.h"
#include "base/vec.h"
#include "solve/clause.h"
#include "solve/heap.h"
#include "solve/solve.h"

/* A hostile build makes every rare event a daily one. */
#ifdef RATEL_HOSTILE
#define REDUCE_INTERVAL(s, k) 1
#define RESTART_LUBY_UNIT(s) 1
#define STABLE_INTERVAL(s) 7
#define REPHASE_INTERVAL(s, k) 3
#define VAR_CAP_FIRST 1
#define WATCH_CAP_FIRST 1
#define DRAT_BUFFER 16
#define POLL_INTERVAL 1
#else
#define REDUCE_INTERVAL(s, k) ((uint64_t)(s)->opt.reduceint * (k))
#define RESTART_LUBY_UNIT(s) ((uint64_t)(s)->opt.luby)
#define STABLE_INTERVAL(s) ((uint64_t)(s)->opt.stableint)
#define REPHASE_INTERVAL(s, k) ((uint64_t)(s)->opt.rephaseint * (k))
#define VAR_CAP_FIRST 64
#define WATCH_CAP_FIRST 4
#define DRAT_BUFFER (1 << 16)
#define POLL_INTERVAL 5000 /* propagations between two looks at the clock */
#endif

#define VAR_MAX (1u << 30)
#define NO_VAR UINT32_MAX

typedef struct solve_options {
#define OPTION(name, def, low, high, help) int64_t name;
#include "solve/solve_options.def"
#undef OPTION
} solve_options;

typedef struct var_state {
    uint32_t level, reason;
} var_state;

/* Marks of analysis, by variable. */
enum { SEEN = 1, REMOVABLE = 2, POISON = 4 };

typedef struct level_frame {
    uint32_t start; /* height of the trail when the level was opened */
    uint32_t seen;  /* literals of the clause under analysis on this level */
    uint32_t stamp; /* for counting levels */
} level_frame;

/* Move-to-front: a doubly linked list, the last bumped variable at its end. */
typedef struct queue_link {
    uint32_t prev, next;
} queue_link;

typedef struct queue {
    queue_link *links;
    uint64_t *stamps; /* ascending along the list */
    uint64_t stamp;
    uint32_t first, last;
    uint32_t search; /* all variables behind it are assigned or not decidable */
} queue;

/* Exponential moving average, corrected for its start as in ADAM. */
typedef struct average {
    double value, biased, alpha, beta, power;
} average;

typedef struct pending_clause {
    size_t start, n; /* in pending_lits */
    uint64_t tag;
    bool forgettable, lemma;
} pending_clause;

typedef VEC(uint32_t) lits_vec;

struct solver {
    mem *mem;
    guard *guard;
    solve_options opt;
    solve_stats stats;
    const theory *theory;
    const proof *proof;
    rng rng;

    bool consistent;     /* no empty clause was derived */
    bool searching;      /* inside solver_solve: clauses go to the queue */
    bool notifying;      /* inside notify_assignment: the trail must not move */
    bool stable;         /* mode */
    solve_status status; /* of the last call */

    /* variables */
    uint32_t vars, var_cap;
    int8_t *values;    /* by literal: 1, -1, 0 */
    var_state *states; /* by variable from here on */
    uint8_t *marks;
    uint8_t *decidable;
    int8_t *saved, *target, *best, *hint; /* phases: 1, -1, 0 */
    int8_t *model;
    uint32_t model_vars;
    heap heap;
    double bump; /* the weight of one bump */
    queue queue;

    /* trail */
    uint32_t *trail;
    uint32_t trail_n, propagated, told;
    VEC(level_frame) levels;
    uint32_t stamp;

    /* clauses */
    VEC(uint32_t) arena;
    size_t irredundant, redundant; /* number of clauses */
    size_t dead;                   /* words of garbage */
    watch_list *lists;             /* by literal */
    VEC(watch) pool;
    uint32_t simplified; /* units of level 0 when the clauses were last swept */

    /* assumptions */
    lits_vec assumptions, core;
    uint64_t rejected_at; /* sum of the counters at the last rejected model */

    /* analysis */
    lits_vec learned, analyzed, minimized, seen_levels;
    uint32_t glue;
    VEC(uint64_t) keys;

    /* clauses waiting to be added */
    lits_vec add, pending_lits;
    VEC(pending_clause) pending;
    size_t pending_next;

    /* limits: counts at which something is due */
    struct {
        uint64_t conflicts, reduce, restart, mode, rephase, poll;
        uint64_t reductions, rephases, modes;
        uint64_t mode_ticks, mode_length; /* propagations */
        uint64_t luby_u, luby_v;
    } limit;
    average fast, slow;
    uint32_t target_assigned, best_assigned;
};

static inline uint32_t solve_level(const solver *s)
{
    return (uint32_t)s->levels.n;
}

static inline clause *solve_clause(const solver *s, uint32_t ref)
{
    assert(ref < s->arena.n);
    return (clause *)(void *)(s->arena.at + ref);
}

static inline var_state *solve_state(const solver *s, uint32_t lit)
{
    assert(lit_var(lit) < s->vars);
    return s->states + lit_var(lit);
}

/* solver_options.c */
void solve_options_init(solve_options *o);

/* clause.c */
uint32_t solve_new_clause(solver *s, const uint32_t *lits, size_t n, bool redundant, uint32_t glue);
void solve_watch_clause(solver *s, uint32_t ref);
void solve_push_watch(solver *s, uint32_t lit, watch w);
void solve_mark_garbage(solver *s, uint32_t ref);
uint32_t solve_count_levels(solver *s, const uint32_t *lits, size_t n);

/* propagate.c */
void solve_assign(solver *s, uint32_t lit, uint32_t reason);
uint32_t solve_propagate(solver *s); /* the conflict, or REF_NONE */

/* decisions.c */
void solve_queue_var(solver *s, uint32_t var); /* a new one */
void solve_add_decidable(solver *s, uint32_t var);
void solve_open_level(solver *s);
void solve_backtrack(solver *s, uint32_t level);
solve_status solve_decide(solver *s); /* SOLVE_UNKNOWN: go on */
void solve_bump_analyzed(solver *s);
void solve_bump_var(solver *s, uint32_t var);
uint32_t solve_reusable_level(solver *s);
void solve_rescale(solver *s);

/* analyze.c */
void solve_analyze(solver *s, uint32_t conflict);
void solve_analyze_final(solver *s, uint32_t failed);

/* reduce.c */
bool solve_reducing(const solver *s);
void solve_reduce(solver *s);
bool solve_simplifying(const solver *s);
void solve_collect(solver *s);

/* restart.c */
void solve_init_limits(solver *s);
bool solve_restarting(const solver *s);
void solve_restart(solver *s);
bool solve_switching(const solver *s);
void solve_switch(solver *s);
bool solve_rephasing(const solver *s);
void solve_rephase(solver *s);
void solve_average_add(average *a, double x);
void solve_note_trail(solver *s); /* before a conflict is undone: target and best phases */

/* theory.c */
uint32_t solve_theory_step(solver *s, bool *progress); /* the conflict, or REF_NONE */
uint32_t solve_reason(solver *s, uint32_t lit);
uint32_t solve_add_now(solver *s, const pending_clause *p, bool *progress);
void solve_enqueue_clause(solver *s, const uint32_t *lits, size_t n, bool lemma, uint64_t tag,
                          bool forgettable);
bool solve_is_pending(const solver *s);

/* proof_log.c */
void solve_log_original(solver *s, const uint32_t *lits, size_t n);
void solve_log_lemma(solver *s, const uint32_t *lits, size_t n, uint64_t tag);
void solve_log_learned(solver *s, const uint32_t *lits, size_t n);
void solve_log_deleted(solver *s, const uint32_t *lits, size_t n);
void solve_log_empty(solver *s); /* and the solver is inconsistent from now on */

#endif
