/*
 * solver.c - the solver as its users see it, and the loop of the search.
 *
 * Conflict-driven clause learning: propagate; on a conflict learn and jump back; otherwise tend
 * the database now and then, and decide.  What each step does is in the file of its name.
 */
#include "solve/solver_internal.h"
#include "base/sort.h"

/* ---- making and freeing -------------------------------------------------------------------- */

solver *solver_new(mem *m)
{
    assert(m && m->guard);
    solver *s = mem_zeroed(m, sizeof *s);
    s->mem = m;
    s->guard = m->guard;
    s->consistent = true;
    s->bump = 1;
    s->queue.first = s->queue.last = s->queue.search = NO_VAR;
    solve_options_init(&s->opt);
    rng_seed(&s->rng, 0);
    /* never empty again: slices of length 0 have a place to point to */
    vec_reserve(m, &s->pool, 1);
    vec_reserve(m, &s->pending_lits, 1);
    return s;
}

void solver_free(solver *s)
{
    if (!s) return;
    mem *m = s->mem;
    void *arrays[] = {
        s->values,     s->states,         s->marks,          s->decidable,      s->saved,
        s->target,     s->best,           s->hint,           s->model,          s->heap.at,
        s->heap.place, s->heap.score,     s->queue.links,    s->queue.stamps,   s->trail,
        s->lists,      s->levels.at,      s->arena.at,       s->pool.at,        s->core.at,
        s->learned.at, s->analyzed.at,    s->minimized.at,   s->keys.at,        s->add.at,
        s->pending.at, s->seen_levels.at, s->assumptions.at, s->pending_lits.at};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(m, arrays[i]);
    mem_put(m, s);
}

void solver_set_theory(solver *s, const theory *t)
{
    assert(!s->theory && !s->searching && !s->stats.solves);
    assert(!t->cb_propagate || t->cb_add_reason_clause);
    s->theory = t;
}

void solver_set_proof(solver *s, const proof *p)
{
    assert(!s->proof && !s->stats.clauses);
    s->proof = p;
}

/* ---- variables ----------------------------------------------------------------------------- */

static void grow_array(solver *s, void *slot, size_t count, size_t size)
{
    void *p;
    memcpy(&p, slot, sizeof p);
    p = mem_resize(s->mem, p, mem_bytes(s->mem, count, size));
    memcpy(slot, &p, sizeof p);
}

#define GROW(field, count) grow_array(s, &(field), (count), sizeof *(field))

/* var_cap is raised last: running out of memory on the way leaves arrays only too long. */
static void grow_vars(solver *s)
{
    uint32_t cap = s->var_cap ? 2 * s->var_cap : VAR_CAP_FIRST;
    if (cap > VAR_MAX) guard_fail(s->guard, GUARD_NOMEM, "out of memory: too many variables");
    GROW(s->values, 2 * (size_t)cap);
    GROW(s->lists, 2 * (size_t)cap);
    GROW(s->states, cap);
    GROW(s->marks, cap);
    GROW(s->decidable, cap);
    GROW(s->saved, cap);
    GROW(s->target, cap);
    GROW(s->best, cap);
    GROW(s->hint, cap);
    GROW(s->model, cap);
    GROW(s->heap.at, cap);
    GROW(s->heap.place, cap);
    GROW(s->heap.score, cap);
    GROW(s->queue.links, cap);
    GROW(s->queue.stamps, cap);
    GROW(s->trail, cap);
    s->var_cap = cap;
}

uint32_t solver_var(solver *s)
{
    assert(!s->notifying); /* the theory is looking at the trail */
    if (s->vars == s->var_cap) grow_vars(s);
    uint32_t var = s->vars++;
    s->values[2 * var] = s->values[2 * var + 1] = 0;
    s->lists[2 * var] = s->lists[2 * var + 1] = (watch_list){0};
    s->states[var] = (var_state){0, REF_NONE};
    s->marks[var] = 0;
    s->decidable[var] = 1;
    s->saved[var] = s->target[var] = s->best[var] = s->hint[var] = s->model[var] = 0;
    s->heap.place[var] = HEAP_ABSENT;
    s->heap.score[var] = 0;
    solve_queue_var(s, var);
    solve_add_decidable(s, var);
    return var;
}

uint32_t solver_vars(const solver *s)
{
    return s->vars;
}

void solver_decidable(solver *s, uint32_t var, bool yes)
{
    assert(var < s->vars);
    s->decidable[var] = yes; /* heap and queue skip the others when they meet them */
    if (yes) solve_add_decidable(s, var);
}

void solver_bump(solver *s, uint32_t var)
{
    assert(var < s->vars);
    solve_bump_var(s, var);
}

void solver_phase(solver *s, uint32_t lit)
{
    assert(lit_var(lit) < s->vars);
    uint32_t var = lit_var(lit);
    s->hint[var] = s->saved[var] = lit_negative(lit) ? -1 : 1;
    s->target[var] = 0;
}

int solver_value(const solver *s, uint32_t lit)
{
    assert(lit_var(lit) < s->vars);
    return s->values[lit];
}

int solver_fixed(const solver *s, uint32_t lit)
{
    assert(lit_var(lit) < s->vars);
    return s->states[lit_var(lit)].level ? 0 : s->values[lit];
}

uint32_t solver_level(const solver *s)
{
    return solve_level(s);
}

uint32_t solver_level_of(const solver *s, uint32_t var)
{
    assert(var < s->vars && s->values[2 * var]);
    return s->states[var].level;
}

double solver_activity(const solver *s, uint32_t var)
{
    assert(var < s->vars);
    return s->opt.vmtf && !s->stable ? (double)s->queue.stamps[var] : s->heap.score[var];
}

int solver_saved_phase(const solver *s, uint32_t var)
{
    assert(var < s->vars);
    return s->saved[var];
}

const solve_stats *solver_stats(const solver *s)
{
    return &s->stats;
}

/* ---- clauses ------------------------------------------------------------------------------- */

static void add_clause(solver *s, const uint32_t *lits, size_t n, bool lemma, uint64_t tag,
                       bool forgettable)
{
    if (!s->consistent) return;
    solve_enqueue_clause(s, lits, n, lemma, tag, forgettable);
    if (s->searching) return;
    solve_backtrack(s, 0); /* a call that was cut short may have left levels open */
    while (s->consistent && solve_is_pending(s)) {
        pending_clause p = s->pending.at[s->pending_next++];
        bool progress = false;
        uint32_t conflict = solve_add_now(s, &p, &progress);
        assert(conflict == REF_NONE);
        (void)conflict;
    }
    s->pending.n = s->pending_next = s->pending_lits.n = 0;
}

void solver_add_clause(solver *s, const uint32_t *lits, size_t n)
{
    assert(lits || !n);
    add_clause(s, lits, n, false, 0, false);
}

void solver_add_lemma(solver *s, const uint32_t *lits, size_t n, uint64_t tag, bool forgettable)
{
    assert(lits || !n);
    add_clause(s, lits, n, true, tag, forgettable);
}

bool solver_consistent(const solver *s)
{
    return s->consistent;
}

/* ---- search -------------------------------------------------------------------------------- */

/* A seed other than 0 shuffles the order in which variables are first decided. */
static void shuffle(solver *s)
{
    rng_seed(&s->rng, (uint64_t)s->opt.seed);
    if (!s->opt.seed) return;
    s->keys.n = 0;
    for (uint32_t var = 0; var < s->vars; var++) {
        s->heap.score[var] += rng_unit(&s->rng) * 1e-4;
        vec_push(s->mem, &s->keys, (rng_next(&s->rng) >> 32 << 32) | var);
    }
    sort_u64(s->keys.at, s->keys.n);
    s->heap.n = 0;
    for (uint32_t var = 0; var < s->vars; var++) s->heap.place[var] = HEAP_ABSENT;
    s->queue.first = s->queue.last = s->queue.search = NO_VAR;
    s->queue.stamp = 0;
    for (size_t i = 0; i < s->keys.n; i++) {
        uint32_t var = (uint32_t)s->keys.at[i];
        solve_queue_var(s, var);
        if (s->decidable[var]) solve_add_decidable(s, var);
    }
}

/* Unit propagation and theory in turn until both are at rest. */
static uint32_t propagate(solver *s)
{
    for (;;) {
        uint32_t conflict = solve_propagate(s);
        if (conflict != REF_NONE || (!s->theory && !solve_is_pending(s))) return conflict;
        bool progress = false;
        conflict = solve_theory_step(s, &progress);
        if (conflict != REF_NONE || !progress || !s->consistent) return conflict;
    }
}

/* The solver is in order here, so it survives being jumped out of. */
static void poll_guard(solver *s)
{
    uint64_t work = s->stats.propagations + 10 * s->stats.conflicts;
    if (s->theory) /* its steps may be long ones */
        work += 100 * (s->stats.decisions + s->stats.theory_clauses + s->stats.theory_checks);
    if (work < s->limit.poll) return;
    s->limit.poll = work + POLL_INTERVAL;
    s->searching = false;
    guard_poll_at(s->guard, s->stats.conflicts);
    s->searching = true;
}

static bool giving_up(const solver *s)
{
    return s->limit.conflicts && s->stats.conflicts >= s->limit.conflicts;
}

static solve_status search(solver *s)
{
    solve_status status = SOLVE_UNKNOWN;
    while (!status) {
        poll_guard(s);
        uint32_t conflict = propagate(s);
        if (conflict != REF_NONE)
            solve_analyze(s, conflict);
        else if (!s->consistent)
            break;
        else if (giving_up(s))
            return SOLVE_UNKNOWN;
        else if (solve_switching(s))
            solve_switch(s);
        else if (solve_restarting(s))
            solve_restart(s);
        else if (solve_rephasing(s))
            solve_rephase(s);
        else if (solve_reducing(s))
            solve_reduce(s);
        else if (solve_simplifying(s))
            solve_collect(s);
        else
            status = solve_decide(s);
        if (!s->consistent) status = SOLVE_UNSAT;
    }
    return s->consistent ? status : SOLVE_UNSAT;
}

static void keep_model(solver *s)
{
    for (uint32_t var = 0; var < s->vars; var++) s->model[var] = s->values[2 * var];
    s->model_vars = s->vars;
}

solve_status solver_solve(solver *s, const uint32_t *assumptions, size_t n)
{
    assert(!s->notifying && (assumptions || !n));
    solve_backtrack(s, 0);
    s->status = SOLVE_UNKNOWN;
    s->core.n = s->assumptions.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (lit_var(assumptions[i]) >= s->vars)
            guard_fail(s->guard, GUARD_INVAL, "assumption with an unknown variable");
        vec_push(s->mem, &s->assumptions, assumptions[i]);
    }
    if (!s->stats.solves++) {
        shuffle(s);
        solve_init_limits(s);
    }
    s->limit.conflicts = s->opt.conflicts ? s->stats.conflicts + (uint64_t)s->opt.conflicts : 0;
    s->rejected_at = 0;
    if (!s->consistent) return s->status = SOLVE_UNSAT;

    s->searching = true;
    solve_status status = search(s);
    if (status == SOLVE_SAT) keep_model(s);
    solve_backtrack(s, 0);
    s->searching = false;
    return s->status = status;
}

int solver_model(const solver *s, uint32_t lit)
{
    assert(s->status == SOLVE_SAT);
    if (lit_var(lit) >= s->model_vars) return 0;
    int value = s->model[lit_var(lit)];
    return lit_negative(lit) ? -value : value;
}

bool solver_failed(const solver *s, uint32_t assumption)
{
    assert(s->status == SOLVE_UNSAT);
    for (size_t i = 0; i < s->core.n; i++)
        if (s->core.at[i] == assumption) return true;
    return false;
}

const uint32_t *solver_core(const solver *s, size_t *n)
{
    assert(s->status == SOLVE_UNSAT && n);
    *n = s->core.n;
    return s->core.at;
}
