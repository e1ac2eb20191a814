/*
 * analyze.c - learning from conflicts: first unique implication point, minimization, backjump.
 *
 * Starting from the falsified clause, literals of the current level are resolved away in the
 * reverse order of the trail until one is left.  A literal of the clause is redundant if its
 * reason's literals are in the clause or redundant themselves (Soerensson and Biere, 2009).
 * Reasons the theory holds back are asked for only on the way to the implication point; for
 * minimization an unknown reason counts as none.
 *
 * Invariant: on entry the falsified clause has a literal of the current level; marks, seen_levels
 * and analyzed are empty before and after.
 */
#include "solve/solver_internal.h"

/* ---- bookkeeping of what was met ----------------------------------------------------------- */

/* A learned clause that takes part in conflicts is worth keeping; its glue may have improved. */
static void use_clause(solver *s, clause *c)
{
    if (!c->redundant) return;
    if (c->glue > (uint64_t)s->opt.tier1) {
        uint32_t glue = solve_count_levels(s, c->lits, c->size);
        if (glue < c->glue) c->glue = glue & GLUE_MAX;
    }
    c->used = c->glue <= (uint64_t)s->opt.tier2 ? 2 : 1;
}

static void meet_literal(solver *s, uint32_t lit, uint32_t *open)
{
    uint32_t var = lit_var(lit), level = s->states[var].level;
    assert(s->values[lit] < 0);
    if (!level || s->marks[var]) return;
    s->marks[var] = SEEN;
    vec_push(s->mem, &s->analyzed, var);
    level_frame *f = s->levels.at + level - 1;
    if (level == solve_level(s)) {
        ++*open;
        return;
    }
    if (!f->seen++) vec_push(s->mem, &s->seen_levels, level);
    assert(level < solve_level(s));
    vec_push(s->mem, &s->learned, lit);
}

static void meet_clause(solver *s, uint32_t ref, uint32_t implied, uint32_t *open)
{
    clause *c = solve_clause(s, ref);
    assert(!c->garbage);
    use_clause(s, c);
    for (uint32_t i = 0; i < c->size; i++)
        if (c->lits[i] != implied) meet_literal(s, c->lits[i], open);
}

static void forget_marks(solver *s)
{
    for (size_t i = 0; i < s->analyzed.n; i++) s->marks[s->analyzed.at[i]] = 0;
    for (size_t i = 0; i < s->minimized.n; i++) s->marks[s->minimized.at[i]] = 0;
    for (size_t i = 0; i < s->seen_levels.n; i++) s->levels.at[s->seen_levels.at[i] - 1].seen = 0;
    s->analyzed.n = s->minimized.n = s->seen_levels.n = 0;
}

/* ---- minimization -------------------------------------------------------------------------- */

static bool redundant_literal(solver *s, uint32_t lit, int64_t depth)
{
    uint32_t var = lit_var(lit);
    const var_state *v = s->states + var;
    uint8_t mark = s->marks[var];
    assert(s->values[lit]);
    if (!v->level || mark & REMOVABLE || (depth && mark & SEEN)) return true;
    if (mark & POISON || v->reason == REF_NONE || v->reason == REF_THEORY) return false;
    if (v->level == solve_level(s)) return false;       /* only the implication point is there */
    if (!s->levels.at[v->level - 1].seen) return false; /* its decision is not in the clause */
    if (depth > s->opt.minimizedepth || (depth && s->opt.minimize < 2)) return false;

    /* No clause is made below, so the pointer is good for the whole loop. */
    const clause *c = solve_clause(s, v->reason);
    bool all = true;
    for (uint32_t i = 0; all && i < c->size; i++)
        if (lit_var(c->lits[i]) != var) all = redundant_literal(s, c->lits[i], depth + 1);
    s->marks[var] |= all ? REMOVABLE : POISON;
    if (!(mark & SEEN)) vec_push(s->mem, &s->minimized, var);
    return all;
}

static void minimize(solver *s)
{
    size_t keep = 1;
    for (size_t i = 1; i < s->learned.n; i++) {
        uint32_t lit = s->learned.at[i];
        if (!redundant_literal(s, lit, 0)) s->learned.at[keep++] = lit;
    }
    s->stats.minimized_literals += s->learned.n - keep;
    s->learned.n = keep;
}

/* ---- learning ------------------------------------------------------------------------------ */

/* Leaves the learned clause in s->learned, the implication point first. */
static void derive(solver *s, uint32_t conflict)
{
    uint32_t open = 0, uip = LIT_NONE, ref = conflict;
    size_t i = s->trail_n;
    s->learned.n = 0;
    vec_push(s->mem, &s->learned, LIT_NONE);
    for (;;) {
        meet_clause(s, ref, uip, &open);
        do {
            if (!i || !open)
                guard_fail(s->guard, GUARD_BUG, "reason of the theory is younger than its literal");
            uip = s->trail[--i];
        } while (!s->marks[lit_var(uip)]);
        assert(s->states[lit_var(uip)].level == solve_level(s));
        if (!--open) break;
        ref = solve_reason(s, uip);
        assert(ref != REF_NONE);
    }
    s->learned.at[0] = lit_not(uip);
}

/* The second watch is the literal that becomes free last: one of the level we jump to. */
static uint32_t jump_level(solver *s)
{
    uint32_t *lits = s->learned.at;
    if (s->learned.n == 1) return 0;
    size_t best = 1;
    for (size_t i = 2; i < s->learned.n; i++)
        if (s->states[lit_var(lits[i])].level > s->states[lit_var(lits[best])].level) best = i;
    uint32_t lit = lits[best];
    lits[best] = lits[1];
    lits[1] = lit;
    return s->states[lit_var(lit)].level;
}

static void learn(solver *s, uint32_t glue)
{
    uint32_t ref = REF_NONE, unit = s->learned.at[0];
    assert(s->learned.n && !s->values[unit]);
    s->stats.learned++;
    s->stats.learned_literals += s->learned.n;
    solve_log_learned(s, s->learned.at, s->learned.n);
    if (s->learned.n > 1) {
        ref = solve_new_clause(s, s->learned.at, s->learned.n, true, glue);
        solve_clause(s, ref)->used = 1 + (glue <= (uint64_t)s->opt.tier2);
        solve_watch_clause(s, ref);
    }
    solve_assign(s, unit, ref);
}

void solve_analyze(solver *s, uint32_t conflict)
{
    assert(s->consistent && conflict != REF_NONE);
    assert(!s->analyzed.n && !s->minimized.n && !s->seen_levels.n);
    s->stats.conflicts++;
    if (!solve_level(s)) {
        solve_log_empty(s);
        return;
    }
    derive(s, conflict);
    if (s->opt.minimize) minimize(s);
    uint32_t glue = solve_count_levels(s, s->learned.at, s->learned.n), jump = jump_level(s);
    assert(glue >= 1 && jump < solve_level(s));
    solve_bump_analyzed(s);
    forget_marks(s);
    solve_average_add(&s->fast, glue);
    solve_average_add(&s->slow, glue);
    solve_note_trail(s);
    solve_backtrack(s, jump);
    learn(s, glue);
}

/* The assumption `failed` is false: collect the assumptions that make it so. */
void solve_analyze_final(solver *s, uint32_t failed)
{
    assert(s->values[failed] < 0 && !s->analyzed.n);
    s->core.n = 0;
    vec_push(s->mem, &s->core, failed);
    if (solve_state(s, failed)->level) {
        uint32_t open = 1;
        s->marks[lit_var(failed)] = SEEN;
        vec_push(s->mem, &s->analyzed, lit_var(failed));
        for (uint32_t i = s->trail_n; open && i-- > s->levels.at[0].start;) {
            uint32_t lit = s->trail[i], var = lit_var(lit);
            if (!s->marks[var]) continue;
            open--;
            uint32_t ref = solve_reason(s, lit);
            if (ref == REF_NONE) { /* a decision below the last assumption is an assumption */
                if (lit != failed) vec_push(s->mem, &s->core, lit);
                continue;
            }
            const clause *c = solve_clause(s, ref);
            for (uint32_t k = 0; k < c->size; k++) {
                uint32_t other = lit_var(c->lits[k]);
                if (s->marks[other] || !s->states[other].level) continue;
                s->marks[other] = SEEN;
                vec_push(s->mem, &s->analyzed, other);
                open++;
            }
        }
        assert(!open);
        forget_marks(s);
    }
    /* The clause that says so, for the proof. */
    s->learned.n = 0;
    for (size_t i = 0; i < s->core.n; i++) vec_push(s->mem, &s->learned, lit_not(s->core.at[i]));
    solve_log_learned(s, s->learned.at, s->learned.n);
}
