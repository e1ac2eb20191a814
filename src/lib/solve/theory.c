/*
 * theory.c - the theory's side of propagation, and clauses that arrive during search.
 *
 * A clause added at level l > 0 is brought into one of four states before it is attached:
 *   - two literals not false: it waits, watched
 *   - all but one false: backjump to the level of the highest false one, where it is unit (option
 *     `late`: propagate it where we are)
 *   - all false, one of them on a higher level than the rest: the same
 *   - all false, two on the highest level: backtrack to that level, where it is a conflict
 * So the trail stays ordered by level and analysis never sees a conflict from below.
 */
#include "solve/solver_internal.h"

/* ---- the queue ----------------------------------------------------------------------------- */

bool solve_is_pending(const solver *s)
{
    return s->pending_next < s->pending.n;
}

void solve_enqueue_clause(solver *s, const uint32_t *lits, size_t n, bool lemma, uint64_t tag,
                          bool forgettable)
{
    assert(lits || !n);
    assert(lemma || (!tag && !forgettable));
    pending_clause p = {s->pending_lits.n, n, tag, forgettable, lemma};
    vec_reserve(s->mem, &s->pending_lits, n);
    vec_push(s->mem, &s->pending, p);
    if (n) memcpy(s->pending_lits.at + s->pending_lits.n, lits, n * sizeof *lits);
    s->pending_lits.n += n;
}

/* ---- adding a clause at any level ---------------------------------------------------------- */

/* Copies the clause to s->add without repeated literals and what level 0 made false; false if it
 * is satisfied for good, by a tautology or at level 0. */
static bool normalize(solver *s, const uint32_t *lits, size_t n)
{
    bool keep = true;
    s->add.n = 0;
    vec_reserve(s->mem, &s->add, n);
    for (size_t i = 0; i < n && keep; i++) {
        uint32_t lit = lits[i], var = lit_var(lit);
        if (var >= s->vars) guard_fail(s->guard, GUARD_INVAL, "clause with an unknown variable");
        uint8_t mark = (uint8_t)(1u << lit_negative(lit));
        if (s->values[lit] && !s->states[var].level) {
            keep = s->values[lit] < 0;
            continue;
        }
        if (s->marks[var] & (mark ^ 3)) keep = false;
        if (s->marks[var]) continue;
        assert(s->add.n < s->add.cap);
        s->marks[var] = mark;
        s->add.at[s->add.n++] = lit;
    }
    for (size_t i = 0; i < s->add.n; i++) s->marks[lit_var(s->add.at[i])] = 0;
    return keep;
}

/* How late a literal becomes useless as a watch: true, unassigned, then false of high level. */
static uint64_t watch_rank(const solver *s, uint32_t lit)
{
    if (!s->values[lit]) return (uint64_t)1 << 32;
    if (s->values[lit] > 0) return (uint64_t)2 << 32;
    return s->states[lit_var(lit)].level;
}

static void choose_watches(const solver *s, uint32_t *lits, size_t n)
{
    assert(n >= 2);
    for (size_t k = 0; k < 2; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (watch_rank(s, lits[i]) > watch_rank(s, lits[best])) best = i;
        uint32_t lit = lits[k];
        lits[k] = lits[best];
        lits[best] = lit;
    }
}

static void add_unit(solver *s, uint32_t lit, bool *progress)
{
    assert(!s->values[lit] || s->states[lit_var(lit)].level);
    solve_backtrack(s, 0);
    assert(!s->values[lit]);
    solve_assign(s, lit, REF_NONE);
    *progress = true;
}

/* Adds the clause; returns it if it is a conflict of the (new) current level.  `progress` is set
 * when the trail has changed. */
uint32_t solve_add_now(solver *s, const pending_clause *p, bool *progress)
{
    const uint32_t *given = s->pending_lits.at + p->start;
    assert(s->consistent && p->start + p->n <= s->pending_lits.n);
    if (p->lemma) {
        solve_log_lemma(s, given, p->n, p->tag);
        s->stats.theory_clauses++;
    } else {
        solve_log_original(s, given, p->n);
        s->stats.clauses++;
    }
    bool keep = normalize(s, given, p->n);
    size_t n = s->add.n;
    if (!keep) {
        solve_log_deleted(s, given, p->n);
        return REF_NONE;
    }
    if (n != p->n && n) {
        solve_log_learned(s, s->add.at, n);
        solve_log_deleted(s, given, p->n);
    }
    if (!n) {
        solve_backtrack(s, 0);
        solve_log_empty(s);
        return REF_NONE;
    }
    if (n == 1) {
        if (s->values[s->add.at[0]] < 0) s->stats.theory_conflicts += p->lemma;
        add_unit(s, s->add.at[0], progress);
        return REF_NONE;
    }
    choose_watches(s, s->add.at, n);
    uint32_t glue = p->forgettable ? solve_count_levels(s, s->add.at, n) : 0;
    uint32_t ref = solve_new_clause(s, s->add.at, n, p->forgettable, glue);
    solve_clause(s, ref)->used = p->forgettable;
    solve_watch_clause(s, ref);

    uint32_t first = s->add.at[0], second = s->add.at[1];
    if (s->values[second] >= 0 || s->values[first] > 0) return REF_NONE;
    uint32_t low = solve_state(s, second)->level;
    assert(low > 0);
    if (s->values[first] < 0) {
        s->stats.theory_conflicts += p->lemma;
        assert(solve_state(s, first)->level >= low);
        if (solve_state(s, first)->level == low) {
            solve_backtrack(s, low);
            return ref;
        }
    }
    /* `late` keeps the trail at the price of forgetting the literal too early (solver_internal.h).
       */
    if (!s->opt.late || s->values[first] < 0) solve_backtrack(s, low);
    assert(!s->values[first] && s->values[second] < 0);
    solve_assign(s, first, ref);
    *progress = true;
    return REF_NONE;
}

/* ---- reasons ------------------------------------------------------------------------------- */

/* The theory's reason becomes a learned clause of its own: it may be needed again. */
static uint32_t ask_reason(solver *s, uint32_t lit)
{
    const theory *t = s->theory;
    theory_clause given = {0};
    assert(t->cb_add_reason_clause);
    t->cb_add_reason_clause(t->state, lit, &given);
    s->stats.theory_reasons++;
    solve_log_lemma(s, given.lits, given.n, given.tag);

    /* No normalize() here: analysis is under way and uses the marks. */
    bool found = false;
    s->add.n = 0;
    vec_push(s->mem, &s->add, lit);
    for (size_t i = 0; i < given.n; i++) {
        uint32_t other = given.lits[i];
        if (other == lit) {
            found = true;
            continue;
        }
        if (lit_var(other) >= s->vars || s->values[other] >= 0)
            guard_fail(s->guard, GUARD_BUG, "reason of the theory with a literal not false");
        if (!solve_state(s, other)->level) continue;
        bool twice = false;
        for (size_t k = 1; k < s->add.n && !twice; k++) twice = s->add.at[k] == other;
        if (!twice) vec_push(s->mem, &s->add, other);
    }
    if (!found) guard_fail(s->guard, GUARD_BUG, "reason of the theory without its literal");
    if (s->add.n != given.n) {
        solve_log_learned(s, s->add.at, s->add.n);
        solve_log_deleted(s, given.lits, given.n);
    }
    for (size_t i = 2; i < s->add.n; i++) {
        uint32_t other = s->add.at[i];
        if (solve_state(s, other)->level > solve_state(s, s->add.at[1])->level) {
            s->add.at[i] = s->add.at[1];
            s->add.at[1] = other;
        }
    }
    assert(s->add.at[0] == lit);
    uint32_t glue = solve_count_levels(s, s->add.at, s->add.n);
    uint32_t ref = solve_new_clause(s, s->add.at, s->add.n, true, glue);
    solve_clause(s, ref)->used = 1;
    if (s->add.n > 1)
        solve_watch_clause(s, ref);
    else
        solve_enqueue_clause(s, s->add.at, 1, true, given.tag, false);
    return ref;
}

/* The reason of a literal as a clause; may move the arena. */
uint32_t solve_reason(solver *s, uint32_t lit)
{
    var_state *v = solve_state(s, lit);
    assert(s->values[lit] > 0);
    if (v->reason == REF_THEORY) v->reason = ask_reason(s, lit);
    return v->reason;
}

/* ---- one step ------------------------------------------------------------------------------ */

static void tell_assignments(solver *s)
{
    const theory *t = s->theory;
    uint32_t from = s->told;
    assert(from <= s->trail_n && !s->notifying);
    s->told = s->trail_n;
    if (from == s->trail_n || !t->notify_assignment) return;
    s->notifying = true;
    t->notify_assignment(t->state, s->trail + from, s->trail_n - from);
    s->notifying = false;
}

static uint32_t add_pending(solver *s, bool *progress)
{
    uint32_t conflict = REF_NONE;
    assert(s->pending_next <= s->pending.n);
    while (conflict == REF_NONE && !*progress && s->consistent && solve_is_pending(s)) {
        pending_clause p = s->pending.at[s->pending_next++];
        conflict = solve_add_now(s, &p, progress);
    }
    if (!solve_is_pending(s)) s->pending.n = s->pending_next = s->pending_lits.n = 0;
    return conflict;
}

static uint32_t ask_clauses(solver *s, bool *progress)
{
    const theory *t = s->theory;
    uint32_t conflict = REF_NONE;
    theory_clause c = {0};
    if (!t->cb_add_external_clause) return conflict;
    while (conflict == REF_NONE && !*progress && s->consistent &&
           t->cb_add_external_clause(t->state, &c)) {
        solve_enqueue_clause(s, c.lits, c.n, true, c.tag, c.forgettable);
        conflict = add_pending(s, progress);
        c = (theory_clause){0};
    }
    return conflict;
}

static uint32_t ask_propagations(solver *s, bool *progress)
{
    const theory *t = s->theory;
    if (!t->cb_propagate) return REF_NONE;
    for (uint32_t lit; (lit = t->cb_propagate(t->state)) != LIT_NONE;) {
        if (lit_var(lit) >= s->vars)
            guard_fail(s->guard, GUARD_BUG, "theory propagates an unknown variable");
        int value = s->values[lit];
        if (value > 0) continue;
        if (!value) {
            s->stats.theory_propagations++;
            *progress = true;
            if (solve_level(s)) {
                solve_assign(s, lit, REF_THEORY);
                continue;
            }
        }
        /* A conflict; or level 0, where the proof needs the clause at once. */
        theory_clause c = {0};
        t->cb_add_reason_clause(t->state, lit, &c);
        s->stats.theory_reasons++;
        solve_enqueue_clause(s, c.lits, c.n, true, c.tag, true);
        return add_pending(s, progress);
    }
    return REF_NONE;
}

/* Tells the theory what unit propagation found and takes what it has to say. */
uint32_t solve_theory_step(solver *s, bool *progress)
{
    assert(s->consistent && s->propagated == s->trail_n);
    uint32_t conflict = add_pending(s, progress);
    if (conflict != REF_NONE || *progress || !s->consistent || !s->theory) return conflict;
    tell_assignments(s);
    conflict = add_pending(s, progress);
    if (conflict == REF_NONE && !*progress && s->consistent) conflict = ask_clauses(s, progress);
    if (conflict == REF_NONE && !*progress && s->consistent)
        conflict = ask_propagations(s, progress);
    return conflict;
}
