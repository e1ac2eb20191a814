/*
 * snapshot_moments.c - do the snapshots of a replay have moments that fit together?
 *
 * The window of a position (txn_order.c) holds its snapshot against every commit.  It does not hold
 * two snapshots against each other: if the snapshot of A had been answered before B began, then B's
 * moment is later, and B's state is not older than A's.  Windows and this rule together suffice.
 * The events of an order are commits and snapshots; each has an interval; moments exist if and only
 * if no event that must come first begins its interval after a later one's has ended.
 *
 * So the positions are taken in the order of their begins, and each reads the oldest state that
 * explains its answers and is as new as those of all snapshots that had been answered by then.  An
 * older choice never hinders a later one, so this finds a choice if there is one.
 */
#include "audit/snapshot_moments.h"

#include <assert.h>

#include "audit/txn_order.h"
#include "base/sort.h"

/* ---- what explains a position ---------------------------------------------------------------- */

static void add_span(engine *e, trial *t)
{
    const choice *c = &t->choices.at[0];
    uint32_t from = c->valid_from > c->low ? c->valid_from : c->low;
    assert(t->choices.n && from <= c->now);
    vec_push(e->mem, &t->spans, ((state_span){from, c->now}));
}

/* (The planner may have had a choice, too: the same states may come twice.) */
void moments_collect(engine *e, trial *t, uint32_t position)
{
    uint64_t effects = engine_effects(e);
    size_t n = t->choices.n, changed = t->changed;
    choice *kept = mem_array(e->mem, choice, n + 1);
    memcpy(kept, t->choices.at, n * sizeof *kept);
    bool exploring = e->exploring, cut = e->effort.cut;
    assert(moments_matter(e) && n);
    e->exploring = false;
    t->spans.n = 0;
    add_span(e, t);
    vs_rollback(&e->store, 0);
    while (engine_advance(e, t)) {
        outcome r = engine_run(e, t, position);
        if (r == RUN_REFUSED) break;
        if (r != RUN_OK) continue;
        if (engine_effects(e) == effects) add_span(e, t);
        vs_rollback(&e->store, 0);
    }
    t->choices.n = 0;
    for (size_t i = 0; i < n; i++) vec_push(e->mem, &t->choices, kept[i]);
    mem_put(e->mem, kept);
    outcome again = engine_run(e, t, position);
    assert(again == RUN_OK && engine_effects(e) == effects);
    (void)again;
    t->changed = changed;
    e->exploring = exploring;
    e->effort.cut |= cut;
}

/* The oldest state from `need` on that explains the position. */
static bool oldest_state(const engine *e, const trial *trials, uint32_t position, uint32_t need,
                         uint32_t *state)
{
    state_span own = {e->order.same_from[position], e->order.first_read[position]};
    const state_span *at = trials ? trials[position].spans.at : &own;
    size_t n = trials ? trials[position].spans.n : 1;
    *state = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t from = at[i].from > need ? at[i].from : need;
        if (from <= at[i].to && from < *state) *state = from;
    }
    return *state != UINT32_MAX;
}

/* ---- the choice of all ----------------------------------------------------------------------- */

/* The positions by begin, or by the answer of the snapshot; those without times are left out. */
static uint32_t *by_moment(engine *e, const trial *trials, uint32_t n, bool seen, uint32_t *known)
{
    uint64_t *key = mem_array(e->mem, uint64_t, n + 1);
    uint32_t *who = mem_array(e->mem, uint32_t, n + 1);
    *known = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t txn = trials ? trials[i].txn : e->order.at[i];
        txn_times t = times_of(e, &e->log->txns.at[txn]);
        if (!t.known) continue;
        key[*known] = sort_key(seen ? t.seen : t.begin);
        who[(*known)++] = i;
    }
    uint32_t *by = sort_by_key(e->mem, key, *known);
    for (uint32_t i = 0; i < *known; i++) by[i] = who[by[i]];
    mem_put(e->mem, key);
    mem_put(e->mem, who);
    return by;
}

bool moments_fit(engine *e, const trial *trials, uint32_t n, uint32_t *early, uint32_t *late)
{
    uint32_t known, need = 0, answered = 0;
    uint32_t *begins = by_moment(e, trials, n, false, &known);
    uint32_t *answers = by_moment(e, trials, n, true, &known);
    int64_t drift = (int64_t)e->o->drift;
    bool fits = true;
    assert(moments_matter(e));
    *early = *late = 0;
    for (uint32_t i = 0; i < known && fits; i++) {
        uint32_t p = begins[i], state;
        txn_times t = times_of(e, &e->log->txns.at[trials ? trials[p].txn : e->order.at[p]]);
        for (; answered < known; answered++) {
            uint32_t q = answers[answered];
            uint32_t txn = trials ? trials[q].txn : e->order.at[q];
            if (times_of(e, &e->log->txns.at[txn]).seen + drift >= t.begin) break;
            /* it began before its answer, so its state has been chosen */
            if (e->order.first_read[q] > need) need = e->order.first_read[q], *early = q;
        }
        *late = p;
        fits = oldest_state(e, trials, p, need, &state);
        if (fits) e->order.first_read[p] = state;
    }
    mem_put(e->mem, begins);
    mem_put(e->mem, answers);
    return fits;
}
