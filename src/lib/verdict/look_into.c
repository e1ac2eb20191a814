/*
 * look_into.c - what is done with a violation once it is found.
 *
 * It is made small (core.h).  If a weaker level is violated too, the violation is described at that
 * level, where names are finer and cycles shorter.  Then the history is asked what the violation
 * rests on.  All of this only improves an answer that stands already, so the answer is published
 * first, and again after every improvement; a limit that strikes in between loses the improvement
 * that it interrupts and nothing else.
 *
 * What it rests on is asked of the whole history once more, and that question may be far harder
 * than the one that was asked: it is given half as many steps as the answer took.  Steps, and not
 * seconds, so that one history gets one answer on every machine.
 */
#include <assert.h>

#include "verdict/core.h"
#include "verdict/describe.h"
#include "verdict/hearing.h"
#include "verdict/sparse_suspects.h"

/* Looking into a violation may take as long again as finding it took, and a second. */
static void allow(const hearing *x, uint64_t spent)
{
    guard *g = x->work->guard;
    uint64_t until = clock_now() + 2 * spent + 1000000000u;
    if (!g->deadline || until < g->deadline) g->deadline = until;
}

/* --- asking again, for a limited number of steps ---------------------------------------------- */

#define STEPS_AT_LEAST 65536u
#define STEPS_EACH 8u /* operation */

/* How many steps a question about what the violation rests on may take. */
static uint32_t steps_allowed(const hearing *x)
{
    const guard *g = x->work->guard;
    uint64_t most = (uint64_t)(uint32_t)(g->ticks - x->ticks) / 2 + STEPS_AT_LEAST +
                    STEPS_EACH * (uint64_t)x->h->ops;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* What the guard was before a limit of its own; what was counted since is kept. */
static void end_steps(guard *now, const guard *before)
{
    guard_restore(now, before);
    now->ticks += before->ticks;
    now->most_ticks = before->most_ticks;
}

/* Decides the problem in at most so many steps; false if they did not suffice, and the graph is not
   to be used any more. */
static bool decide_within(uint32_t steps, hearing *x, const problem *p, unsigned flags,
                          bool with_free)
{
    guard *now = x->work->guard, before = *now;
    if (before.most_ticks) { /* an outer limit stays */
        uint32_t left = before.most_ticks > before.ticks ? before.most_ticks - before.ticks : 1;
        if (left < steps) steps = left;
    }
    now->ticks = 0;
    now->most_ticks = steps;
    if (!guard_armed(now)) {
        hearing_decide(x, p, flags, with_free);
        end_steps(now, &before);
        return true;
    }
    bool ours = now->code == GUARD_TIME && now->ticks > now->most_ticks;
    end_steps(now, &before);
    if (!ours) guard_fail_again(now);
    now->code = before.code;
    return false;
}

/* --- levels with a test ----------------------------------------------------------------------- */

static bool holds_weakly(hearing *x, uint32_t steps, bool so, unsigned flags)
{
    problem p = {.ask = {.so = so, .tune = &x->q->tune}, .tested = true, .test = x->test};
    return decide_within(steps, x, &p, flags, true) && x->a.holds;
}

/* Would it hold without session order, without hints? */
static void find_rests_weak(hearing *x, bool uses_hints)
{
    uint32_t steps = steps_allowed(x);
    if (x->so && holds_weakly(x, steps, false, 0)) {
        x->found.rests_on |= RESTS_SESSION;
        hearing_publish(x);
    }
    if (uses_hints && holds_weakly(x, steps, x->so, ASG_NO_HINTS)) {
        x->found.rests_on |= RESTS_HINTS;
        hearing_publish(x);
    }
}

static void look_into_weak(hearing *x)
{
    bool hints = x->g.uses_hints;
    core_tell_weak(&x->found, &x->blank, &x->p, &x->a, x->work);
    hearing_publish(x);
    if (!x->q->quick) find_rests_weak(x, hints);
}

/* --- levels that are rules about orders ------------------------------------------------------- */

static bool implies_weak(const hearing *x, enum level_id id)
{
    return x->asked.id != id &&
           level_implies(x->asked.id, x->so, x->asked.realtime, id, x->so, false);
}

/* Does the history violate the i-th of core_weaker, without a search? */
static bool violates_weaker(hearing *x, uint32_t i)
{
    problem p = {.ask = {.so = x->so, .tune = &x->q->tune},
                 .tested = true,
                 .test = core_weaker[i],
                 .guess = true};
    hearing_decide(x, &p, 0, true);
    return decision_violated(&x->a) && x->a.why != WHY_SEARCH;
}

/* Describes the violation at the weakest level of core_weaker that is violated, too.  levels: how
   many of core_weaker are worth asking. */
static void name_by_weaker(hearing *x, uint32_t levels)
{
    verdict *v = &x->found;
    bool is_fault = v->anomaly < ANOMALIES && !v->cycle.n && v->core.n <= 2;
    if (is_fault || !levels) return;
    assert(levels <= CORE_WEAKER);
    /* The strongest first: if that holds, so do the others.  (Or it was what decided.) */
    bool asked = x->a.by == BY_CAUSAL && levels == CORE_WEAKER;
    if (implies_weak(x, level_with_test(core_weaker[levels - 1])) &&
        ((!asked && !violates_weaker(x, levels - 1)) || x->g.init_assumed))
        return;
    for (uint32_t i = 0; i < levels; i++) {
        if (!implies_weak(x, level_with_test(core_weaker[i]))) continue;
        /* (the only one was asked just now) */
        if (levels > 1 && !violates_weaker(x, i)) continue;
        enum decider_id by = v->decided_by;
        *v = x->blank;
        v->outcome = OUTCOME_VIOLATED;
        v->decided_by = by;
        words_decision(v, &x->p, &x->a);
        core_tell_weak(v, &x->blank, &x->p, &x->a, x->work);
        return;
    }
}

/* Would it hold without session order, real time, or hints?  Each is a hearing of its own. */
static void find_rests(hearing *x, bool hints, uint32_t without)
{
    bool timed = rule_real_time(x->rule->level) != 0;
    uint32_t steps = steps_allowed(x);
    for (unsigned what = RESTS_SESSION; what <= RESTS_HINTS; what *= 2) {
        bool applies = what == RESTS_SESSION    ? x->so && !x->rt && !timed
                       : what == RESTS_REALTIME ? x->rt || timed
                                                : hints;
        unsigned flags = what == RESTS_HINTS ? ASG_NO_HINTS : 0;
        if (!applies || without & what) continue;
        hearing probe = *x;
        probe.tested = false;
        probe.blank.cost = NULL;
        if (what == RESTS_SESSION) probe.so = false;
        if (what == RESTS_REALTIME) probe.rt = false;
        if (what == RESTS_REALTIME && timed) probe.rule = rule_of(LEVEL_SI);
        problem p = hearing_problem(&probe);
        p.log = KEEP_NO_LOG;
        if (!decide_within(steps, &probe, &p, flags, false)) continue;
        hearing_tell(&probe);
        if (probe.found.outcome != OUTCOME_HOLDS) continue;
        x->found.rests_on |= what;
        hearing_publish(x);
    }
}

/* Of several sets of suspects, the one that shrinks to the fewest describes the violation. */
static core_told tell_smallest(hearing *x, parts *few)
{
    core_told best = {.weaker = CORE_WEAKER};
    for (size_t i = 0; i < few->n; i++) {
        verdict v = x->found;
        core_told core = core_tell(&v, &x->blank, few->at[i], &x->p.ask, x->work);
        part_free(few->at[i]);
        if (core.told && (!best.told || v.core.n < x->found.core.n)) {
            x->found = v;
            best = core;
            hearing_publish(x);
        }
        if (few->n == 1) best = core;
    }
    return best;
}

/* Makes it small, names it and asks what it rests on; of a few transactions that show it, if there
   are such, before it asks the whole. */
static void look_into_order(hearing *x)
{
    core_told core = {.weaker = CORE_WEAKER};
    bool hints = x->g.uses_hints, small = x->found.core.n <= CORE_SMALL;
    bool weaker = x->a.by == BY_CAUSAL;
    bool contradiction = x->p.ordered || x->a.by == BY_EXHAUSTIVE || weaker;
    if (contradiction && hearing_is_final(x) && hearing_reduces(x) &&
        (rule_is_basic(x->rule) || !small || weaker || x->tested)) {
        parts few = {0};
        if (!small || x->tested) sparse_suspects(&x->found, &x->p, &few);
        if (!few.n) {
            part *named = core_suspects(&x->found, &x->p, &x->a);
            if (named) vec_push(x->found.mem, &few, named);
        }
        core = tell_smallest(x, &few);
    }
    name_by_weaker(x, core.weaker);
    hearing_publish(x);
    if (!x->q->quick) find_rests(x, hints, core.without);
}

void look_into(hearing *x)
{
    assert(x->found.outcome == OUTCOME_VIOLATED && decision_violated(&x->a));
    hearing_publish(x);
    if (x->fuzzy) return; /* nothing is smaller, and it rests on nothing else */
    if (x->tested && !x->p.ordered) {
        look_into_weak(x);
        return;
    }
    guard_stage(x->work->guard, "explain", NULL, 0);
    allow(x, clock_now() - x->begun);
    look_into_order(x);
}
