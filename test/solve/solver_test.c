/*
 * solver_test.c - the solver through its interface: small cases by hand, then random sequences of
 * calls against enumeration, with a theory that hides clauses and speaks up at random times.
 * Every learned clause is checked as it is logged (rup.h).
 */
#include "../test.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "rup.h"
#include "solve/solve.h"

TEST_MAIN

#define POS(v) (2u * (v))
#define NEG(v) (2u * (v) + 1)
#define CLAUSE(s, ...)                                                                             \
    solver_add_clause((s), (uint32_t[]){__VA_ARGS__},                                              \
                      sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

typedef struct env {
    guard guard;
    mem mem;
    solver *s;
} env;

static void env_open(env *e)
{
    guard_init(&e->guard);
    mem_init(&e->mem, NULL, NULL, &e->guard);
    if (guard_armed(&e->guard)) {
        printf("# guard: %s\n", e->guard.text);
        abort(); /* tests that expect a failure arm the guard again */
    }
    e->s = solver_new(&e->mem);
}

static void env_close(env *e)
{
    solver_free(e->s);
    EXPECT(mem_check(&e->mem));
    EXPECT_EQ_UINT(e->mem.used, 0);
    mem_free_all(&e->mem);
}

/* ---- by hand ------------------------------------------------------------------------------- */

TEST(empty_formula)
{
    env e;
    env_open(&e);
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_SAT);
    EXPECT_EQ_INT(solver_model(e.s, POS(0)), 0);
    env_close(&e);
}

TEST(empty_clause)
{
    env e;
    env_open(&e);
    solver_add_clause(e.s, NULL, 0);
    EXPECT(!solver_consistent(e.s));
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_UNSAT);
    size_t n;
    solver_core(e.s, &n);
    EXPECT_EQ_UINT(n, 0);
    env_close(&e);
}

TEST(units_and_implications)
{
    env e;
    env_open(&e);
    for (int i = 0; i < 4; i++) solver_var(e.s);
    CLAUSE(e.s, NEG(0), POS(1));
    CLAUSE(e.s, NEG(1), POS(2));
    CLAUSE(e.s, NEG(2), NEG(3));
    CLAUSE(e.s, POS(0));
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_SAT);
    EXPECT_EQ_INT(solver_model(e.s, POS(2)), 1);
    EXPECT_EQ_INT(solver_model(e.s, POS(3)), -1);
    EXPECT_EQ_INT(solver_model(e.s, NEG(3)), 1);
    EXPECT_EQ_INT(solver_fixed(e.s, POS(2)), 1);
    CLAUSE(e.s, POS(3));
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_UNSAT);
    EXPECT(solver_check(e.s));
    env_close(&e);
}

TEST(assumptions_and_core)
{
    env e;
    env_open(&e);
    for (int i = 0; i < 5; i++) solver_var(e.s);
    CLAUSE(e.s, NEG(0), NEG(1), POS(2));
    CLAUSE(e.s, NEG(2), NEG(3));
    uint32_t a[] = {POS(4), POS(0), POS(1), POS(3)};
    EXPECT_EQ_INT(solver_solve(e.s, a, 4), SOLVE_UNSAT);
    EXPECT(!solver_failed(e.s, POS(4)));
    EXPECT(solver_failed(e.s, POS(0)) && solver_failed(e.s, POS(1)) && solver_failed(e.s, POS(3)));
    EXPECT(solver_consistent(e.s));
    EXPECT_EQ_INT(solver_solve(e.s, a, 3), SOLVE_SAT);
    EXPECT_EQ_INT(solver_model(e.s, POS(3)), -1);
    uint32_t both[] = {POS(4), NEG(4)};
    EXPECT_EQ_INT(solver_solve(e.s, both, 2), SOLVE_UNSAT);
    EXPECT(solver_failed(e.s, POS(4)) && solver_failed(e.s, NEG(4)));
    env_close(&e);
}

TEST(phases_and_hints)
{
    env e;
    env_open(&e);
    for (int i = 0; i < 3; i++) solver_var(e.s);
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_SAT);
    EXPECT_EQ_INT(solver_model(e.s, POS(0)), -1);
    solver_phase(e.s, POS(0));
    solver_decidable(e.s, 1, false);
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_SAT);
    EXPECT_EQ_INT(solver_model(e.s, POS(0)), 1);
    EXPECT_EQ_INT(solver_model(e.s, POS(1)), 0);
    env_close(&e);
}

TEST(options_by_name)
{
    env e;
    env_open(&e);
    EXPECT(solver_set_option(e.s, "seed", 7));
    EXPECT(!solver_set_option(e.s, "seed", -1));
    EXPECT(!solver_set_option(e.s, "no such thing", 1));
    solve_option o;
    size_t n = 0;
    while (solver_option_at(e.s, n, &o)) {
        EXPECT(o.low <= o.value && o.value <= o.high && o.help[0]);
        n++;
    }
    EXPECT(n > 10);
    for (n = 0; solver_stat_at(e.s, n, NULL, NULL); n++) {}
    EXPECT(n > 10);
    env_close(&e);
}

/* holes + 1 pigeons */
static void add_pigeons(solver *s, uint32_t holes)
{
    for (uint32_t i = 0; i < holes * (holes + 1); i++) solver_var(s);
    for (uint32_t p = 0; p <= holes; p++) {
        uint32_t c[16];
        for (uint32_t h = 0; h < holes; h++) c[h] = POS(p * holes + h);
        solver_add_clause(s, c, holes);
        for (uint32_t q = 0; q < p; q++)
            for (uint32_t h = 0; h < holes; h++) CLAUSE(s, NEG(p * holes + h), NEG(q * holes + h));
    }
}

TEST(conflict_limit)
{
    env e;
    env_open(&e);
    add_pigeons(e.s, 7);
    solver_set_option(e.s, "conflicts", 20);
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_UNKNOWN);
    EXPECT(solver_check(e.s));
    solver_set_option(e.s, "conflicts", 0);
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_UNSAT);
    env_close(&e);
}

TEST(deadline_leaves_a_usable_solver)
{
    static env e; /* static: not clobbered by the jump */
    static int jumped;
    env_open(&e);
    add_pigeons(e.s, 7);
    jumped = 0;
    if (guard_armed(&e.guard)) {
        jumped = 1;
        EXPECT_EQ_INT(e.guard.code, GUARD_TIME);
        e.guard.deadline = 0;
    } else {
        e.guard.deadline = clock_now() + 1000000;
        solver_solve(e.s, NULL, 0);
    }
    EXPECT(jumped);
    EXPECT(solver_check(e.s));
    if (guard_armed(&e.guard)) abort();
    CLAUSE(e.s, POS(0));
    EXPECT_EQ_INT(solver_fixed(e.s, POS(0)), 1); /* the search is over: it counts at once */
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_UNSAT);
    env_close(&e);
}

/* ---- a theory that keeps clauses to itself ------------------------------------------------- */

#define MAX_VARS 24
#define MAX_HIDDEN 64

typedef struct hidden {
    uint32_t lits[8];
    size_t n;
    int shown;
} hidden;

typedef struct keeper {
    solver *s;
    rng rng;
    theory theory;
    hidden hidden[MAX_HIDDEN];
    size_t n;
    signed char value[2 * MAX_VARS + 64]; /* what we were told */
    uint32_t trail[MAX_VARS + 32];
    size_t trail_n;
    size_t levels[MAX_VARS + 64];
    size_t levels_n;
    size_t why[2 * MAX_VARS + 64]; /* hidden clause that propagated the literal, + 1 */
    int eagerness;                 /* per cent of the chances to speak that are taken */
    int stops;                     /* accepts partial assignments */
    int decides;
    int wrong;
} keeper;

static int chance(keeper *k, int percent)
{
    return (int)rng_below(&k->rng, 100) < percent;
}

static void keeper_assignment(void *state, const uint32_t *lits, size_t n)
{
    keeper *k = state;
    for (size_t i = 0; i < n; i++) {
        if (k->value[lits[i]] || solver_value(k->s, lits[i]) <= 0) k->wrong++;
        if (solver_level_of(k->s, lit_var(lits[i])) != k->levels_n) k->wrong++;
        k->value[lits[i]] = 1;
        k->value[lits[i] ^ 1] = -1;
        k->trail[k->trail_n++] = lits[i];
    }
    if (k->n && chance(k, k->eagerness / 4)) {
        const hidden *h = k->hidden + rng_below(&k->rng, k->n);
        solver_add_lemma(k->s, h->lits, h->n, 2, chance(k, 50));
    }
}

static void keeper_new_level(void *state)
{
    keeper *k = state;
    k->levels[k->levels_n++] = k->trail_n;
}

static void keeper_backtrack(void *state, uint32_t level)
{
    keeper *k = state;
    if (level >= k->levels_n) k->wrong++;
    while (k->trail_n > k->levels[level]) {
        uint32_t lit = k->trail[--k->trail_n];
        k->value[lit] = k->value[lit ^ 1] = 0;
    }
    k->levels_n = level;
    if (k->n && chance(k, k->eagerness / 8)) {
        const hidden *h = k->hidden + rng_below(&k->rng, k->n);
        solver_add_lemma(k->s, h->lits, h->n, 3, chance(k, 50));
    }
}

static uint32_t unit_of(const keeper *k, const hidden *h)
{
    uint32_t unit = LIT_NONE;
    for (size_t i = 0; i < h->n; i++) {
        if (k->value[h->lits[i]] > 0) return LIT_NONE;
        if (k->value[h->lits[i]] < 0 || h->lits[i] == unit) continue;
        if (unit != LIT_NONE) return LIT_NONE;
        unit = h->lits[i];
    }
    return unit;
}

static uint32_t keeper_propagate(void *state)
{
    keeper *k = state;
    if (!k->n || !chance(k, k->eagerness)) return LIT_NONE;
    size_t start = rng_below(&k->rng, k->n);
    for (size_t i = 0; i < k->n; i++) {
        size_t at = (start + i) % k->n;
        const hidden *h = k->hidden + at;
        uint32_t unit = unit_of(k, h);
        if (unit == LIT_NONE || solver_value(k->s, unit) > 0) continue;
        if (solver_value(k->s, unit) < 0) {
            /* false already by another propagation of this round: its reason must still hold */
            k->why[unit] = at + 1;
            return unit;
        }
        k->why[unit] = at + 1;
        return unit;
    }
    return LIT_NONE;
}

static void keeper_reason(void *state, uint32_t lit, theory_clause *out)
{
    keeper *k = state;
    if (!k->why[lit]) {
        k->wrong++;
        return;
    }
    const hidden *h = k->hidden + k->why[lit] - 1;
    *out = (theory_clause){h->lits, h->n, 1, true};
}

static bool keeper_clause(void *state, theory_clause *out)
{
    keeper *k = state;
    if (!k->n || !chance(k, k->eagerness / 3)) return false;
    hidden *h = k->hidden + rng_below(&k->rng, k->n);
    h->shown = 1;
    *out = (theory_clause){h->lits, h->n, 4, chance(k, 50)};
    return true;
}

static uint32_t keeper_decide(void *state)
{
    keeper *k = state;
    if (!solver_check(k->s)) k->wrong++;
    if (k->n && chance(k, k->eagerness / 8)) { /* a clause and a decision in one breath */
        const hidden *h = k->hidden + rng_below(&k->rng, k->n);
        solver_add_lemma(k->s, h->lits, h->n, 7, chance(k, 50));
    }
    if (k->stops && chance(k, 30)) return THEORY_STOP;
    if (!k->decides || chance(k, 50)) return THEORY_ANY;
    uint32_t lit = rng_below(&k->rng, 2 * (uint64_t)solver_vars(k->s));
    return solver_value(k->s, lit) ? THEORY_ANY : lit;
}

/* Clauses of the caller, for partial models: they must be satisfied, too. */
static int (*all_satisfied)(const keeper *k);

static bool keeper_check(void *state)
{
    keeper *k = state;
    for (uint32_t lit = 0; lit < 2 * solver_vars(k->s); lit++)
        if (k->value[lit] != solver_value(k->s, lit)) k->wrong++;
    size_t bad = k->n;
    for (size_t i = 0; i < k->n && bad == k->n; i++) {
        int sat = 0;
        for (size_t j = 0; j < k->hidden[i].n; j++) sat |= k->value[k->hidden[i].lits[j]] > 0;
        if (!sat) bad = i;
    }
    if (bad == k->n) {
        if (!k->stops || all_satisfied(k)) return true;
        k->stops = 0; /* stopped too early: on with the search */
        return false;
    }
    hidden *h = k->hidden + bad;
    k->stops = 0;
    if (h->n >= 3 && solver_vars(k->s) < MAX_VARS + 24 && chance(k, 30)) {
        /* split it by a new variable, from within the callback */
        uint32_t v = solver_var(k->s);
        uint32_t left[] = {h->lits[0], POS(v)}, right[8] = {NEG(v)};
        memcpy(right + 1, h->lits + 1, (h->n - 1) * sizeof *right);
        solver_add_lemma(k->s, left, 2, 5, false);
        solver_add_lemma(k->s, right, h->n, 5, false);
    } else {
        solver_add_lemma(k->s, h->lits, h->n, 6, false);
    }
    return false;
}

static void keeper_open(keeper *k, solver *s, uint64_t seed)
{
    memset(k, 0, sizeof *k);
    k->s = s;
    rng_seed(&k->rng, seed);
    k->theory = (theory){
        .state = k,
        .notify_assignment = keeper_assignment,
        .notify_new_level = keeper_new_level,
        .notify_backtrack = keeper_backtrack,
        .cb_propagate = keeper_propagate,
        .cb_add_reason_clause = keeper_reason,
        .cb_add_external_clause = keeper_clause,
        .cb_decide = keeper_decide,
        .cb_check_found_model = keeper_check,
    };
    k->eagerness = (int[]){0, 10, 50, 95}[rng_below(&k->rng, 4)];
    k->decides = (int)rng_below(&k->rng, 2);
}

/* ---- random sequences of calls against enumeration ----------------------------------------- */

typedef struct model {
    hidden clauses[512];
    size_t n;
    uint32_t vars;
} model;

static model given;

static int clause_value(const hidden *h, const signed char *value)
{
    for (size_t i = 0; i < h->n; i++)
        if (value[h->lits[i]] > 0) return 1;
    return 0;
}

static int given_satisfied(const keeper *k)
{
    for (size_t i = 0; i < given.n; i++)
        if (!clause_value(given.clauses + i, k->value)) return 0;
    return 1;
}

static int satisfiable(const model *m, const keeper *k, const uint32_t *units, size_t n)
{
    for (uint32_t bits = 0; bits < 1u << m->vars; bits++) {
        signed char value[2 * MAX_VARS];
        for (uint32_t v = 0; v < m->vars; v++) {
            value[2 * v] = bits >> v & 1 ? 1 : -1;
            value[2 * v + 1] = (signed char)-value[2 * v];
        }
        int ok = 1;
        for (size_t i = 0; i < n && ok; i++) ok = value[units[i]] > 0;
        for (size_t i = 0; i < m->n && ok; i++) ok = clause_value(m->clauses + i, value);
        for (size_t i = 0; k && i < k->n && ok; i++) ok = clause_value(k->hidden + i, value);
        if (ok) return 1;
    }
    return 0;
}

static hidden random_clause(rng *r, uint32_t vars)
{
    hidden h = {.n = 2 + rng_below(r, 3)};
    if (rng_below(r, 40) == 0) h.n = 1;
    if (rng_below(r, 20) == 0) h.n = 7;
    for (size_t i = 0; i < h.n; i++) h.lits[i] = rng_below(r, 2 * (uint64_t)vars);
    return h;
}

static void expect_model(const solver *s, const keeper *k, const uint32_t *units, size_t n)
{
    signed char value[2 * MAX_VARS + 64];
    for (uint32_t lit = 0; lit < 2 * solver_vars(s); lit++)
        value[lit] = (signed char)solver_model(s, lit);
    for (size_t i = 0; i < given.n; i++) EXPECT(clause_value(given.clauses + i, value));
    for (size_t i = 0; k && i < k->n; i++) EXPECT(clause_value(k->hidden + i, value));
    for (size_t i = 0; i < n; i++) EXPECT(value[units[i]] > 0);
}

static void expect_core(const solver *s, const keeper *k, const uint32_t *units, size_t n,
                        const rup *log)
{
    size_t core_n;
    const uint32_t *core = solver_core(s, &core_n);
    for (size_t i = 0; i < core_n; i++) {
        int found = 0, logged = 0;
        for (size_t j = 0; j < n; j++) found |= units[j] == core[i];
        for (size_t j = 0; j < log->last_n; j++) logged |= log->last[j] == (core[i] ^ 1);
        EXPECT(found);
        EXPECT(logged);
        EXPECT(solver_failed(s, core[i]));
    }
    EXPECT_EQ_UINT(log->last_n, core_n);
    EXPECT(!satisfiable(&given, k, core, core_n));
}

static void random_options(solver *s, rng *r)
{
    static const char *const switches[] = {"late",  "phase",    "reduce", "rephase", "restart",
                                           "reuse", "simplify", "target", "vmtf"};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (rng_below(r, 3) == 0) solver_set_option(s, switches[i], rng_below(r, 2));
    solver_set_option(s, "minimize", rng_below(r, 3));
    solver_set_option(s, "stable", rng_below(r, 3));
    solver_set_option(s, "seed", rng_below(r, 5));
    if (rng_below(r, 2)) {
        solver_set_option(s, "reduceint", 1);
        solver_set_option(s, "luby", 1);
        solver_set_option(s, "stableint", 3);
        solver_set_option(s, "rephaseint", 2);
        solver_set_option(s, "random", 100);
    }
}

static void random_calls(uint64_t seed, int with_theory)
{
    static keeper k;
    static rup log;
    env e;
    rng r;
    rng_seed(&r, seed);
    env_open(&e);
    solver_set_proof(e.s, rup_open(&log));
    random_options(e.s, &r);
    given.n = 0;
    given.vars = 0;
    all_satisfied = given_satisfied;
    keeper_open(&k, e.s, seed);
    if (with_theory) solver_set_theory(e.s, &k.theory);
    keeper *kp = with_theory ? &k : NULL;

    uint32_t vars = 3 + rng_below(&r, 7);
    /* all the enumerated variables first: the theory makes its own after them */
    for (given.vars = 0; given.vars < vars; given.vars++) solver_var(e.s);
    for (size_t round = 0, rounds = 1 + rng_below(&r, 4); round < rounds; round++) {
        size_t more = rng_below(&r, vars * (with_theory ? 2u : 4u));
        for (size_t i = 0; i < more && given.n < 500; i++) {
            hidden h = random_clause(&r, vars);
            given.clauses[given.n++] = h;
            solver_add_clause(e.s, h.lits, h.n);
        }
        if (with_theory) {
            size_t secret = rng_below(&r, vars * 2u);
            for (size_t i = 0; i < secret && k.n < MAX_HIDDEN; i++)
                k.hidden[k.n++] = random_clause(&r, vars);
            k.stops = (int)rng_below(&r, 2);
        }
        uint32_t units[4];
        size_t n = rng_below(&r, 5);
        for (size_t i = 0; i < n; i++) units[i] = rng_below(&r, 2 * (uint64_t)vars);
        int want = satisfiable(&given, kp, units, n) ? SOLVE_SAT : SOLVE_UNSAT;
        int got = (int)solver_solve(e.s, units, n);
        EXPECT_EQ_INT(got, want);
        if (got == SOLVE_SAT) expect_model(e.s, kp, units, n);
        if (got == SOLVE_UNSAT) expect_core(e.s, kp, units, n, &log);
        EXPECT(solver_check(e.s));
        EXPECT_EQ_INT(log.wrong, 0);
        EXPECT_EQ_INT(k.wrong, 0);
        if (test_all.failures) {
            printf("# seed %llu round %zu\n", (unsigned long long)seed, round);
            break;
        }
    }
    rup_close(&log);
    env_close(&e);
}

#ifdef RATEL_HOSTILE
#define ROUNDS 20000
#else
#define ROUNDS 40000
#endif

TEST(random_calls_plain)
{
    for (uint64_t seed = 1; seed <= ROUNDS && !test_all.failures; seed++) random_calls(seed, 0);
}

TEST(random_calls_with_theory)
{
    for (uint64_t seed = 1; seed <= ROUNDS && !test_all.failures; seed++)
        random_calls(seed + 1000000, 1);
}

/* Larger ones, where restarts, reductions and modes come into play: incremental against fresh. */
static void add_random(solver *s, rng *r, uint32_t vars, size_t clauses, model *m)
{
    for (size_t i = 0; i < clauses; i++) {
        hidden h = {.n = 3};
        for (size_t j = 0; j < 3; j++) h.lits[j] = rng_below(r, 2 * (uint64_t)vars);
        solver_add_clause(s, h.lits, 3);
        m->clauses[m->n++] = h;
    }
}

TEST(incremental_against_fresh)
{
    static model m;
    for (uint64_t seed = 1; seed <= 60 && !test_all.failures; seed++) {
        env e;
        rng r;
        uint32_t vars = 100;
        rng_seed(&r, seed);
        env_open(&e);
        m.n = 0;
        for (uint32_t v = 0; v < vars; v++) solver_var(e.s);
        add_random(e.s, &r, vars, 390, &m);
        for (int round = 0; round < 8; round++) {
            uint32_t units[6];
            size_t n = rng_below(&r, 7);
            for (size_t i = 0; i < n; i++) units[i] = rng_below(&r, 2 * (uint64_t)vars);
            int got = (int)solver_solve(e.s, units, n);
            env f;
            env_open(&f);
            for (uint32_t v = 0; v < vars; v++) solver_var(f.s);
            for (size_t i = 0; i < m.n; i++) solver_add_clause(f.s, m.clauses[i].lits, 3);
            for (size_t i = 0; i < n; i++) solver_add_clause(f.s, units + i, 1);
            EXPECT_EQ_INT(got, solver_solve(f.s, NULL, 0));
            if (got == SOLVE_UNSAT) {
                size_t core_n;
                const uint32_t *core = solver_core(e.s, &core_n);
                env g;
                env_open(&g);
                for (uint32_t v = 0; v < vars; v++) solver_var(g.s);
                for (size_t i = 0; i < m.n; i++) solver_add_clause(g.s, m.clauses[i].lits, 3);
                EXPECT_EQ_INT(solver_solve(g.s, core, core_n), SOLVE_UNSAT);
                env_close(&g);
            }
            env_close(&f);
            add_random(e.s, &r, vars, 5, &m);
        }
        EXPECT(solver_check(e.s));
        env_close(&e);
    }
}

TEST(same_seed_same_search)
{
    uint64_t conflicts[2] = {0};
    for (int i = 0; i < 2; i++) {
        env e;
        env_open(&e);
        solver_set_option(e.s, "seed", 42);
        add_pigeons(e.s, 6);
        EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_UNSAT);
        conflicts[i] = solver_stats(e.s)->conflicts;
        env_close(&e);
    }
    EXPECT_EQ_UINT(conflicts[0], conflicts[1]);
}

/* Reductions after every conflict, of all that is not protected: the reasons of the trail stay. */
TEST(reductions_leave_reasons)
{
    env e;
    env_open(&e);
    static const struct {
        const char *name;
        int64_t value;
    } options[] = {
        {"reduceint", 1}, {"reducefraction", 100}, {"tier1", 1}, {"tier2", 1}, {"restart", 0}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        EXPECT(solver_set_option(e.s, options[i].name, options[i].value));
    rng r;
    rng_seed(&r, 5);
    for (int i = 0; i < 100; i++) solver_var(e.s);
    for (int i = 0; i < 430; i++) {
        uint32_t lits[3];
        for (size_t k = 0; k < 3; k++) lits[k] = rng_below(&r, 200);
        solver_add_clause(e.s, lits, 3);
    }
    solver_solve(e.s, NULL, 0);
    EXPECT(solver_stats(e.s)->reductions > 5);
    EXPECT(solver_check(e.s));
    env_close(&e);
}

static void add_to_text(void *ud, const char *at, size_t n)
{
    strbuf_add(ud, at, n);
}

/* The log of a refutation, in text: learned clauses, one a line, and the empty one last. */
TEST(drat_in_text)
{
    env e;
    env_open(&e);
    strbuf text;
    strbuf_init(&text, &e.mem);
    drat *d = drat_new(&e.mem, false, add_to_text, &text);
    solver_set_proof(e.s, drat_proof(d));
    for (int i = 0; i < 2; i++) solver_var(e.s);
    CLAUSE(e.s, POS(0), POS(1));
    CLAUSE(e.s, POS(0), NEG(1));
    CLAUSE(e.s, NEG(0), POS(1));
    CLAUSE(e.s, NEG(0), NEG(1));
    EXPECT_EQ_INT(solver_solve(e.s, NULL, 0), SOLVE_UNSAT);
    drat_flush(d);
    EXPECT_STR(strbuf_cstr(&text), "1 0\n2 0\n0\n");
    drat_free(d);
    strbuf_free(&text);
    env_close(&e);
}

/* ---- misuse by a theory is told, not suffered ---------------------------------------------- */

static bool reject(void *state)
{
    (void)state;
    return false;
}

static uint32_t propagate_first(void *state)
{
    int *asked = state;
    return (*asked)++ ? LIT_NONE : POS(1);
}

static void no_reason(void *state, uint32_t lit, theory_clause *out)
{
    (void)state;
    (void)lit;
    out->n = 0;
}

static int code_of(const theory *t)
{
    static env e;
    env_open(&e);
    for (int i = 0; i < 3; i++) solver_var(e.s);
    CLAUSE(e.s, NEG(1), POS(2));
    CLAUSE(e.s, NEG(1), NEG(2));
    CLAUSE(e.s, POS(0), POS(1));
    solver_set_theory(e.s, t);
    if (!guard_armed(&e.guard)) {
        uint32_t a = POS(0);
        solver_solve(e.s, &a, 1);
    }
    int code = e.guard.code;
    mem_free_all(&e.mem);
    return code;
}

/* Blocks that others follow: what lies after the end of one looks like values that are false. */
static void *followed_fn(void *ud, void *p, size_t osize, size_t nsize)
{
    (void)ud, (void)osize;
    if (!nsize) {
        free(p);
        return NULL;
    }
    unsigned char *fresh = realloc(p, nsize + 64);
    if (fresh) memset(fresh + nsize, 0xff, 64);
    return fresh;
}

typedef struct stranger { /* propagates a variable, because of one that does not exist */
    bool wants;
    uint32_t vars, lits[2];
} stranger;

static void want_to_propagate(void *state)
{
    stranger *x = state;
    x->wants = true;
}

static uint32_t propagate_if_wanted(void *state)
{
    stranger *x = state;
    bool wanted = x->wants;
    x->wants = false;
    return wanted ? POS(1) : LIT_NONE;
}

static void strange_reason(void *state, uint32_t lit, theory_clause *out)
{
    stranger *x = state;
    x->lits[0] = lit;
    x->lits[1] = POS(x->vars);
    *out = (theory_clause){.lits = x->lits, .n = 2};
}

static void expect_stranger_refused(uint32_t vars)
{
    static guard g; /* static: they must survive the jump */
    static mem m;
    static stranger x;
    static theory t;
    x = (stranger){.vars = vars};
    t = (theory){.state = &x,
                 .notify_new_level = want_to_propagate,
                 .cb_propagate = propagate_if_wanted,
                 .cb_add_reason_clause = strange_reason};
    guard_init(&g);
    mem_init(&m, followed_fn, NULL, &g);
    if (!guard_armed(&g)) {
        solver *s = solver_new(&m);
        for (uint32_t i = 0; i < vars; i++) solver_var(s);
        CLAUSE(s, NEG(0), NEG(1), POS(2));
        CLAUSE(s, NEG(0), NEG(1), NEG(2));
        solver_set_theory(s, &t);
        uint32_t a = POS(0);
        solver_solve(s, &a, 1);
    }
    EXPECT_EQ_INT(g.code, GUARD_BUG);
    if (!strstr(g.text, "a literal not false")) EXPECT_STR(g.text, "a literal not false");
    mem_free_all(&m);
}

/* Also where the arrays of the solver end just there. */
TEST(reasons_with_variables_that_do_not_exist)
{
    for (uint32_t vars = 3; vars <= 260 && !test_all.failures; vars++)
        expect_stranger_refused(vars);
}

TEST(misbehaving_theories)
{
    theory rejecting = {.cb_check_found_model = reject};
    EXPECT_EQ_INT(code_of(&rejecting), GUARD_BUG);
    int asked = 0;
    theory unreasonable = {
        .state = &asked, .cb_propagate = propagate_first, .cb_add_reason_clause = no_reason};
    code_of(&unreasonable); /* the empty clause is a contradiction, no crash */
}

/* ---- memory -------------------------------------------------------------------------------- */

typedef struct failing {
    uint64_t left; /* allocations until one fails */
    int64_t blocks;
} failing;

static void *failing_fn(void *ud, void *p, size_t osize, size_t nsize)
{
    failing *f = ud;
    (void)osize;
    if (!nsize) {
        if (p) f->blocks--;
        free(p);
        return NULL;
    }
    if (!f->left) return NULL;
    f->left--;
    void *fresh = realloc(p, nsize);
    if (!p) f->blocks++;
    return fresh;
}

static int solve_with(uint64_t allowed, failing *f, int *status)
{
    static guard g;
    static mem m;
    static keeper k;
    *f = (failing){allowed, 0};
    guard_init(&g);
    mem_init(&m, failing_fn, f, &g);
    if (!guard_armed(&g)) {
        solver *s = solver_new(&m);
        keeper_open(&k, s, 5);
        k.eagerness = 50;
        solver_set_theory(s, &k.theory);
        all_satisfied = given_satisfied;
        given.n = 0;
        rng r;
        rng_seed(&r, 11);
        for (int i = 0; i < 20; i++) solver_var(s);
        for (int i = 0; i < 30; i++) k.hidden[k.n++] = random_clause(&r, 20);
        for (int i = 0; i < 70; i++) {
            hidden h = random_clause(&r, 20);
            solver_add_clause(s, h.lits, h.n);
        }
        uint32_t a[] = {POS(0), POS(5)};
        solver_solve(s, a, 2);
        *status = (int)solver_solve(s, NULL, 0);
    }
    mem_free_all(&m);
    return g.code;
}

TEST(each_allocation_fails)
{
    failing f;
    int status = 0, code = GUARD_NOMEM;
    uint64_t n = 0;
    for (; n < 100000 && code == GUARD_NOMEM; n++) {
        code = solve_with(n, &f, &status);
        EXPECT_EQ_INT(f.blocks, 0);
        if (test_all.failures) break;
    }
    EXPECT_EQ_INT(code, GUARD_OK);
    EXPECT(status == SOLVE_SAT || status == SOLVE_UNSAT);
    EXPECT(n > 30);
}
