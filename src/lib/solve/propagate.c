/*
 * propagate.c - assigning literals and unit propagation over two watched literals.
 *
 * The loop is minisat's with the blocker in the watch; binary clauses are settled from the watch
 * alone.  The implied literal may be literal 0 or 1 of its reason: analysis skips it by value.
 */
#include "solve/solver_internal.h"

static inline void assign(solver *s, uint32_t lit, uint32_t reason)
{
    assert(!s->values[lit] && !s->values[lit_not(lit)]);
    assert(s->trail_n < s->vars);
    uint32_t level = solve_level(s);
    if (!level) {
        /* Level 0 needs no reasons, so clauses can be deleted freely; the proof gets the unit. */
        if (reason != REF_NONE) solve_log_learned(s, &lit, 1);
        reason = REF_NONE;
        s->stats.units++;
    }
    s->values[lit] = 1;
    s->values[lit_not(lit)] = -1;
    s->states[lit_var(lit)] = (var_state){level, reason};
    s->trail[s->trail_n++] = lit;
}

void solve_assign(solver *s, uint32_t lit, uint32_t reason)
{
    assert(lit_var(lit) < s->vars);
    assign(s, lit, reason);
}

/* Visits the clauses in which `dead` has just become false. */
static uint32_t propagate_literal(solver *s, uint32_t dead)
{
    const int8_t *values = s->values;
    watch_list *list = s->lists + dead;
    watch *begin = s->pool.at + list->start, *end = begin + list->n, *i = begin, *j = begin;
    uint32_t conflict = REF_NONE;

    while (i != end) {
        watch w = *j++ = *i++;
        int8_t blocker = values[w.blocker];
        if (blocker > 0) continue;
        if (watch_binary(w)) {
            if (blocker < 0) {
                conflict = watch_ref(w);
                break;
            }
            assign(s, w.blocker, watch_ref(w));
            continue;
        }
        clause *c = (clause *)(void *)(s->arena.at + watch_ref(w));
        uint32_t *lits = c->lits;
        assert(!c->garbage && (lits[0] == dead || lits[1] == dead));
        uint32_t other = lits[0] ^ lits[1] ^ dead;
        int8_t value = values[other];
        if (value > 0) {
            j[-1].blocker = other;
            continue;
        }
        const uint32_t *k = lits + 2, *stop = lits + c->size;
        while (k != stop && values[*k] < 0) k++;
        if (k != stop) {
            uint32_t found = *k;
            if (values[found] > 0) { /* satisfied: as blocker it is as good as watched */
                j[-1].blocker = found;
                continue;
            }
            assert(found != other && found != dead);
            lits[0] = other;
            lits[1] = found;
            lits[k - lits] = dead;
            j--;
            watch_list *to = s->lists + found;
            if (to->n == to->cap) { /* the pool may move under our feet */
                size_t at_i = (size_t)(i - begin), at_j = (size_t)(j - begin);
                size_t at_end = (size_t)(end - begin);
                solve_push_watch(s, found, watch_of(other, watch_ref(w), false));
                begin = s->pool.at + list->start;
                i = begin + at_i;
                j = begin + at_j;
                end = begin + at_end;
            } else {
                s->pool.at[to->start + to->n++] = watch_of(other, watch_ref(w), false);
            }
        } else if (!value) {
            assign(s, other, watch_ref(w));
        } else {
            conflict = watch_ref(w);
            break;
        }
    }
    if (i != j) {
        while (i != end) *j++ = *i++;
        list->n = (uint32_t)(j - begin);
    }
    return conflict;
}

uint32_t solve_propagate(solver *s)
{
    uint32_t conflict = REF_NONE, first = s->propagated;
    assert(first <= s->trail_n);
    while (conflict == REF_NONE && s->propagated < s->trail_n)
        conflict = propagate_literal(s, lit_not(s->trail[s->propagated++]));
    s->stats.propagations += s->propagated - first;
    return conflict;
}
