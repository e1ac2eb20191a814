/*
 * decisions.c - opening and closing levels, and what to decide next.
 *
 * Two orders of variables stand side by side: the activity heap (EVSIDS of minisat) for the stable
 * mode, and move-to-front (VMTF of siege, in Biere and Froehlich's form with a search pointer) for
 * the focused one.  Only the one in use is bumped; both are kept complete on backtracking.
 */
#include "solve/solver_internal.h"
#include "base/sort.h"

#define SCORE_LIMIT 1e150

static bool deciding_by_queue(const solver *s)
{
    return s->opt.vmtf && !s->stable;
}

/* ---- move to front ------------------------------------------------------------------------- */

static void unlink_var(queue *q, uint32_t var)
{
    queue_link *l = q->links + var;
    assert(l->prev != var && l->next != var);
    if (l->prev == NO_VAR)
        q->first = l->next;
    else
        q->links[l->prev].next = l->next;
    if (l->next == NO_VAR)
        q->last = l->prev;
    else
        q->links[l->next].prev = l->prev;
}

static void link_last(queue *q, uint32_t var)
{
    queue_link *l = q->links + var;
    l->prev = q->last;
    l->next = NO_VAR;
    if (q->last == NO_VAR)
        q->first = var;
    else
        q->links[q->last].next = var;
    q->last = var;
    q->stamps[var] = ++q->stamp;
}

/* Stamps must fit 32 bits, for they share a sort key with the variable. */
static void restamp(queue *q)
{
    q->stamp = 0;
    for (uint32_t var = q->first; var != NO_VAR; var = q->links[var].next)
        q->stamps[var] = ++q->stamp;
}

static bool open_to_decision(const solver *s, uint32_t var)
{
    return !s->values[2 * var] && s->decidable[var];
}

/* A variable has become open: the search must not miss it. */
static void search_from(queue *q, uint32_t var)
{
    if (q->search == NO_VAR || q->stamps[q->search] < q->stamps[var]) q->search = var;
}

static uint32_t next_of_queue(solver *s)
{
    queue *q = &s->queue;
    uint32_t var = q->search;
    while (var != NO_VAR && !open_to_decision(s, var)) var = q->links[var].prev;
    q->search = var;
    assert(var == NO_VAR || open_to_decision(s, var));
    return var;
}

void solve_queue_var(solver *s, uint32_t var)
{
    assert(var < s->vars);
    link_last(&s->queue, var);
}

/* ---- activity ------------------------------------------------------------------------------ */

void solve_rescale(solver *s)
{
    for (uint32_t var = 0; var < s->vars; var++) s->heap.score[var] *= 1 / SCORE_LIMIT;
    s->bump *= 1 / SCORE_LIMIT;
}

static uint32_t next_of_heap(solver *s)
{
    while (s->heap.n) {
        uint32_t var = s->heap.at[0];
        if (open_to_decision(s, var)) return var;
        heap_pop(&s->heap);
    }
    return NO_VAR;
}

/* ---- both ---------------------------------------------------------------------------------- */

void solve_add_decidable(solver *s, uint32_t var)
{
    assert(var < s->vars && s->decidable[var]);
    if (s->values[2 * var]) return; /* it comes in when it is unassigned */
    if (!heap_holds(&s->heap, var)) heap_push(&s->heap, var);
    search_from(&s->queue, var);
}

void solve_bump_var(solver *s, uint32_t var)
{
    assert(var < s->vars);
    if (deciding_by_queue(s)) {
        queue *q = &s->queue;
        if (q->links[var].next == NO_VAR) return;
        if (q->search == var) q->search = q->links[var].prev;
        unlink_var(q, var);
        link_last(q, var);
        if (q->search == NO_VAR || open_to_decision(s, var)) search_from(q, var);
        return;
    }
    s->heap.score[var] += s->bump;
    if (heap_holds(&s->heap, var)) heap_up(&s->heap, s->heap.place[var]);
    if (s->heap.score[var] > SCORE_LIMIT) solve_rescale(s);
}

/* All variables of the last analysis.  For the queue their order must survive the move. */
void solve_bump_analyzed(solver *s)
{
    if (deciding_by_queue(s)) {
        if (s->queue.stamp >= UINT32_MAX - s->analyzed.n) restamp(&s->queue);
        s->keys.n = 0;
        for (size_t i = 0; i < s->analyzed.n; i++) {
            uint32_t var = s->analyzed.at[i];
            assert(s->queue.stamps[var] <= UINT32_MAX);
            vec_push(s->mem, &s->keys, s->queue.stamps[var] << 32 | var);
        }
        sort_u64(s->keys.at, s->keys.n);
        for (size_t i = 0; i < s->keys.n; i++) solve_bump_var(s, (uint32_t)s->keys.at[i]);
        return;
    }
    for (size_t i = 0; i < s->analyzed.n; i++) solve_bump_var(s, s->analyzed.at[i]);
    assert(s->bump > 0);
    s->bump *= 1 / (1 - (double)s->opt.decay / 1000);
    if (s->bump > SCORE_LIMIT) solve_rescale(s);
}

static uint32_t next_variable(solver *s)
{
    if (s->opt.random && s->heap.n && rng_below(&s->rng, 1000) < (uint32_t)s->opt.random) {
        uint32_t var = s->heap.at[rng_below(&s->rng, s->heap.n)];
        if (open_to_decision(s, var)) return var;
    }
    return deciding_by_queue(s) ? next_of_queue(s) : next_of_heap(s);
}

static uint32_t with_phase(const solver *s, uint32_t var)
{
    int phase = 0;
    if (s->stable && s->opt.target) phase = s->target[var];
    if (!phase) phase = s->saved[var];
    if (!phase) phase = s->hint[var];
    if (!phase) phase = s->opt.phase ? 1 : -1;
    assert(phase == 1 || phase == -1);
    return lit_of(var, phase < 0);
}

/* The levels a restart would decide again in the same way (van der Tak et al., 2011). */
uint32_t solve_reusable_level(solver *s)
{
    uint32_t keep = (uint32_t)s->assumptions.n, level = solve_level(s);
    if (keep > level) keep = level;
    if (!s->opt.reuse || (s->theory && s->theory->cb_decide)) return keep;
    uint32_t next = next_variable(s);
    if (next == NO_VAR) return keep;
    bool by_queue = deciding_by_queue(s);
    for (; keep < level; keep++) {
        const level_frame *f = s->levels.at + keep;
        assert(f->start < s->trail_n);
        uint32_t var = lit_var(s->trail[f->start]);
        bool before = by_queue ? s->queue.stamps[var] > s->queue.stamps[next]
                               : s->heap.score[var] > s->heap.score[next];
        if (!before) break;
    }
    return keep;
}

void solve_open_level(solver *s)
{
    assert(s->propagated == s->trail_n);
    assert(!s->theory || s->told == s->trail_n);
    level_frame f = {.start = s->trail_n};
    vec_push(s->mem, &s->levels, f);
    if (s->theory && s->theory->notify_new_level) s->theory->notify_new_level(s->theory->state);
}

void solve_backtrack(solver *s, uint32_t level)
{
    assert(level <= solve_level(s));
    if (level == solve_level(s)) return;
    uint32_t height = s->levels.at[level].start;
    for (uint32_t i = s->trail_n; i-- > height;) {
        uint32_t lit = s->trail[i], var = lit_var(lit);
        assert(s->values[lit] > 0 && s->states[var].level > level);
        s->values[lit] = s->values[lit_not(lit)] = 0;
        s->saved[var] = lit_negative(lit) ? -1 : 1;
        if (!s->decidable[var]) continue;
        if (!heap_holds(&s->heap, var)) heap_push(&s->heap, var);
        search_from(&s->queue, var);
    }
    assert(height <= s->trail_n);
    s->trail_n = height;
    s->levels.n = level;
    if (s->propagated > height) s->propagated = height;
    if (s->told > height) s->told = height;
    if (s->theory && s->theory->notify_backtrack)
        s->theory->notify_backtrack(s->theory->state, level);
}

static void decide(solver *s, uint32_t lit)
{
    assert(!s->values[lit]);
    solve_open_level(s);
    solve_assign(s, lit, REF_NONE);
    s->stats.decisions++;
}

/* Assumptions are the decisions of the first levels; one that holds already gets an empty level,
 * so that level and number of assumptions stay in step. */
static bool decide_assumption(solver *s, solve_status *status)
{
    while (solve_level(s) < s->assumptions.n) {
        uint32_t lit = s->assumptions.at[solve_level(s)];
        int value = s->values[lit];
        if (value < 0) {
            solve_analyze_final(s, lit);
            *status = SOLVE_UNSAT;
            return true;
        }
        s->stats.assumed++;
        if (!value) {
            decide(s, lit);
            return true;
        }
        solve_open_level(s);
    }
    return false;
}

/* Nothing is left to decide, or the theory has enough.  A theory that neither accepts nor moves
 * would loop for ever, and that is its bug. */
static solve_status found_model(solver *s)
{
    const theory *t = s->theory;
    if (!t || !t->cb_check_found_model) return SOLVE_SAT;
    s->stats.theory_checks++;
    if (t->cb_check_found_model(t->state)) return solve_is_pending(s) ? SOLVE_UNKNOWN : SOLVE_SAT;
    uint64_t moves = s->stats.decisions + s->stats.conflicts + s->stats.theory_clauses +
                     s->stats.propagations + s->vars + solve_is_pending(s) + 1;
    if (moves == s->rejected_at)
        guard_fail(s->guard, GUARD_BUG, "theory rejects the same model again without a clause");
    s->rejected_at = moves;
    return SOLVE_UNKNOWN;
}

solve_status solve_decide(solver *s)
{
    assert(s->consistent && s->propagated == s->trail_n);
    solve_status status = SOLVE_UNKNOWN;
    if (decide_assumption(s, &status)) return status;

    const theory *t = s->theory;
    if (t && t->cb_decide) {
        uint32_t lit = t->cb_decide(t->state);
        if (solve_is_pending(s)) return SOLVE_UNKNOWN;
        if (lit == THEORY_STOP) return found_model(s);
        if (lit != THEORY_ANY) {
            if (lit_var(lit) >= s->vars || s->values[lit])
                guard_fail(s->guard, GUARD_BUG, "theory decides an assigned literal");
            decide(s, lit);
            s->stats.theory_decisions++;
            return SOLVE_UNKNOWN;
        }
    }
    uint32_t var = next_variable(s);
    if (var == NO_VAR) return found_model(s);
    uint32_t lit = with_phase(s, var);
    if (t && t->cb_phase) {
        lit = t->cb_phase(t->state, lit);
        assert(lit_var(lit) == var);
    }
    decide(s, lit);
    return SOLVE_UNKNOWN;
}
