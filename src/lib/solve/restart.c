/*
 * restart.c - restarts, the change between focused and stable mode, resetting of phases.
 *
 * Focused mode restarts when the glue of recent conflicts is worse than usual (glucose, as moving
 * averages: Biere and Froehlich, 2015); stable mode by the Luby sequence and prefers the phases of
 * the longest trail without conflict (target phases).  The first mode lasts a number of conflicts,
 * later ones as many propagations as that took, times a square: both get the same time.
 */
#include "solve/solver_internal.h"

static void start_average(average *a, double window)
{
    *a = (average){.alpha = 1 / window, .beta = 1 - 1 / window, .power = 1};
}

void solve_average_add(average *a, double x)
{
    assert(a->alpha > 0);
    a->biased += a->alpha * (x - a->biased);
    if (a->power > 1e-9) a->power *= a->beta;
    a->value = a->biased / (1 - a->power);
}

/* Luby et al. 1993 in Knuth's "reluctant doubling" form: 1 1 2 1 1 2 4 ... */
static uint64_t next_luby(solver *s)
{
    uint64_t u = s->limit.luby_u, v = s->limit.luby_v, result = v;
    assert(u > 0 && v > 0);
    if ((u & (~u + 1)) == v) {
        s->limit.luby_u = u + 1;
        s->limit.luby_v = 1;
    } else {
        s->limit.luby_v = 2 * v;
    }
    return result;
}

static void set_restart_limit(solver *s)
{
    uint64_t gap = s->stable ? next_luby(s) * RESTART_LUBY_UNIT(s) : (uint64_t)s->opt.restartint;
    s->limit.restart = s->stats.conflicts + gap;
}

/* At the first call of solver_solve, when the options are known. */
void solve_init_limits(solver *s)
{
    start_average(&s->fast, 33);
    start_average(&s->slow, 1e5);
    s->stable = s->opt.stable == 2;
    s->limit.luby_u = s->limit.luby_v = 1;
    set_restart_limit(s);
    s->limit.reduce = s->stats.conflicts + REDUCE_INTERVAL(s, ++s->limit.reductions);
    s->limit.rephase = s->stats.conflicts + REPHASE_INTERVAL(s, ++s->limit.rephases);
    s->limit.mode = s->stats.conflicts + STABLE_INTERVAL(s);
}

bool solve_restarting(const solver *s)
{
    if (!s->opt.restart || solve_level(s) <= s->assumptions.n) return false;
    if (s->stats.conflicts < s->limit.restart) return false;
    if (s->stable) return true;
    return s->fast.value > s->slow.value * (1 + (double)s->opt.restartmargin / 100);
}

void solve_restart(solver *s)
{
    s->stats.restarts++;
    uint32_t keep = solve_reusable_level(s);
    assert(keep <= solve_level(s));
    s->stats.reused_levels += keep;
    if (s->stable) solve_note_trail(s);
    solve_backtrack(s, keep);
    set_restart_limit(s);
}

/* ---- modes --------------------------------------------------------------------------------- */

bool solve_switching(const solver *s)
{
    if (s->opt.stable != 1) return false;
    if (!s->limit.modes) return s->stats.conflicts >= s->limit.mode;
    return s->stats.propagations >= s->limit.mode_ticks;
}

void solve_switch(solver *s)
{
    assert(s->opt.stable == 1);
    s->stats.switches++;
    if (!s->limit.modes) s->limit.mode_length = s->stats.propagations;
    uint64_t k = s->limit.modes++ / 2 + 1;
    s->limit.mode_ticks = s->stats.propagations + s->limit.mode_length * k * k + 1;
    solve_backtrack(s, s->assumptions.n < solve_level(s) ? (uint32_t)s->assumptions.n
                                                         : solve_level(s));
    s->stable = !s->stable;
    s->target_assigned = 0;
    s->limit.luby_u = s->limit.luby_v = 1;
    set_restart_limit(s);
}

/* ---- phases -------------------------------------------------------------------------------- */

static void keep_phases(const solver *s, int8_t *phases, uint32_t height)
{
    for (uint32_t i = 0; i < height; i++) {
        uint32_t lit = s->trail[i];
        phases[lit_var(lit)] = lit_negative(lit) ? -1 : 1;
    }
}

/* What stands below the current level led to no conflict so far. */
void solve_note_trail(solver *s)
{
    if (!s->stable || !solve_level(s)) return;
    uint32_t height = s->levels.at[solve_level(s) - 1].start;
    assert(height <= s->trail_n);
    if (s->opt.target && height > s->target_assigned) {
        keep_phases(s, s->target, height);
        s->target_assigned = height;
    }
    if (s->opt.rephase && height > s->best_assigned) {
        keep_phases(s, s->best, height);
        s->best_assigned = height;
    }
}

bool solve_rephasing(const solver *s)
{
    return s->opt.rephase && s->stable && s->stats.conflicts >= s->limit.rephase;
}

/* In turn: as at the start, best, inverted, best, flipped at random, best. */
void solve_rephase(solver *s)
{
    uint64_t turn = s->stats.rephased++ % 6;
    solve_backtrack(s, solve_level(s) < s->assumptions.n ? solve_level(s)
                                                         : (uint32_t)s->assumptions.n);
    for (uint32_t var = 0; var < s->vars; var++) {
        int8_t first = s->hint[var] ? s->hint[var] : s->opt.phase ? 1 : -1;
        switch (turn) {
        case 0: s->saved[var] = first; break;
        case 2: s->saved[var] = (int8_t)-first; break;
        case 4:
            if (rng_below(&s->rng, 8) == 0) s->saved[var] = (int8_t)-s->saved[var];
            break;
        default:
            if (s->best[var]) s->saved[var] = s->best[var];
            break;
        }
        s->target[var] = 0;
    }
    s->target_assigned = 0;
    if (turn & 1) s->best_assigned = 0;
    s->limit.rephase = s->stats.conflicts + REPHASE_INTERVAL(s, ++s->limit.rephases);
}
