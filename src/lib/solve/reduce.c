/*
 * reduce.c - keeping the clause database small: reduction, simplification, collection.
 *
 * Reduction deletes the learned clauses of high glue (Audemard and Simon, 2009) that took no part
 * in conflicts lately.  Collection copies what lives into a new arena, at level 0 without false
 * literals and satisfied clauses, and rebuilds the watch lists, binary clauses first.
 *
 * Invariant: literals 0 and 1 are kept in place above level 0, so the rebuilt watches are the ones
 * that were there; reasons follow their clause.
 */
#include "solve/solver_internal.h"
#include "base/sort.h"

bool solve_reducing(const solver *s)
{
    return s->opt.reduce && s->redundant && s->stats.conflicts >= s->limit.reduce;
}

/* New units since the last sweep, and we happen to be at level 0. */
bool solve_simplifying(const solver *s)
{
    return s->opt.simplify && !solve_level(s) && s->trail_n != s->simplified;
}

static void protect_reasons(solver *s, bool protect)
{
    for (uint32_t i = 0; i < s->trail_n; i++) {
        uint32_t ref = s->states[lit_var(s->trail[i])].reason;
        if (ref < REF_THEORY) solve_clause(s, ref)->reason = protect;
    }
}

/* A key that sorts the worst first: high glue, then long; the reference is its lower half. */
static uint64_t uselessness(const clause *c, uint32_t ref)
{
    uint64_t glue = c->glue < 0xffff ? c->glue : 0xffff;
    uint64_t size = c->size < 0xffff ? c->size : 0xffff;
    return ~(glue << 48 | size << 32 | ref);
}

static void gather_candidates(solver *s)
{
    s->keys.n = 0;
    for (size_t at = 0; at < s->arena.n;) {
        uint32_t ref = (uint32_t)at;
        clause *c = solve_clause(s, ref);
        at += CLAUSE_WORDS + c->size;
        if (!c->redundant || c->garbage || c->reason) continue;
        if (c->used) {
            c->used = (c->used - 1u) & 3;
            continue;
        }
        if (c->size > 1 && c->glue <= (uint64_t)s->opt.tier1) continue;
        vec_push(s->mem, &s->keys, uselessness(c, ref));
    }
}

static void delete_worst(solver *s)
{
    sort_u64(s->keys.at, s->keys.n);
    size_t n = s->keys.n * (size_t)s->opt.reducefraction / 100;
    assert(n <= s->keys.n && n <= s->redundant);
    for (size_t i = 0; i < n; i++) solve_mark_garbage(s, ~(uint32_t)s->keys.at[i]);
    s->stats.deleted += n;
}

/* ---- collection ---------------------------------------------------------------------------- */

static bool satisfied_at_root(const solver *s, const clause *c)
{
    for (uint32_t i = 0; i < c->size; i++)
        if (s->values[c->lits[i]] > 0 && !s->states[lit_var(c->lits[i])].level) return true;
    return false;
}

/* Copies the clause to the end of the new arena, which has room for it; true if it is shorter. */
static bool copy_clause(const solver *s, const clause *from, clause *to, bool at_root)
{
    *to = *from;
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->size; i++) {
        uint32_t lit = from->lits[i];
        if (!at_root || s->values[lit] >= 0) to->lits[n++] = lit;
    }
    to->size = n;
    return n < from->size;
}

static void copy_arena(solver *s, bool at_root)
{
    size_t room = s->arena.n - s->dead;
    uint32_t *old = s->arena.at, *fresh = mem_array(s->mem, uint32_t, room ? room : 1);
    size_t n = 0, end = s->arena.n;
    for (size_t at = 0; at < end;) {
        clause *c = solve_clause(s, (uint32_t)at);
        at += CLAUSE_WORDS + c->size;
        if (!c->garbage && at_root && satisfied_at_root(s, c)) {
            solve_mark_garbage(s, (uint32_t)(at - CLAUSE_WORDS - c->size));
            s->stats.simplified++;
        }
        if (c->garbage) continue;
        clause *to = (clause *)(void *)(fresh + n);
        if (copy_clause(s, c, to, at_root)) {
            assert(to->size >= 2);
            solve_log_learned(s, to->lits, to->size);
            solve_log_deleted(s, c->lits, c->size);
            if (to->glue > to->size) to->glue = to->size & GLUE_MAX;
            s->stats.simplified++;
        }
        c->moved = 1;
        c->lits[0] = (uint32_t)n;
        n += CLAUSE_WORDS + to->size;
        assert(n <= room);
    }
    for (uint32_t i = 0; i < s->trail_n; i++) {
        var_state *v = s->states + lit_var(s->trail[i]);
        assert(v->level || v->reason == REF_NONE);
        if (v->reason >= REF_THEORY) continue;
        const clause *c = solve_clause(s, v->reason);
        assert(c->moved && !c->garbage);
        v->reason = c->lits[0];
    }
    mem_put(s->mem, old);
    s->arena.at = fresh;
    s->arena.n = n;
    s->arena.cap = room ? room : 1;
    s->dead = 0;
}

/* Each list gets room for its watches and some growth, so that few of them move at once. */
static void lay_out_lists(solver *s)
{
    size_t total = 0;
    for (uint32_t lit = 0; lit < 2 * s->vars; lit++) {
        watch_list *l = s->lists + lit;
        l->cap = l->n ? l->n + l->n / 2 + 2 : 0;
        l->start = (uint32_t)total;
        l->n = 0;
        total += l->cap;
        if (total > UINT32_MAX)
            guard_fail(s->guard, GUARD_NOMEM, "out of memory: the watch lists are full");
    }
    s->pool.n = 0;
    vec_reserve(s->mem, &s->pool, total);
    s->pool.n = total;
}

static void rebuild_watches(solver *s)
{
    for (uint32_t lit = 0; lit < 2 * s->vars; lit++) s->lists[lit].n = 0;
    for (size_t at = 0; at < s->arena.n;) {
        const clause *c = solve_clause(s, (uint32_t)at);
        at += CLAUSE_WORDS + c->size;
        assert(c->size && !c->garbage && !c->moved);
        if (c->size < 2) continue;
        s->lists[c->lits[0]].n++;
        s->lists[c->lits[1]].n++;
    }
    lay_out_lists(s);
    for (int binary = 1; binary >= 0; binary--) {
        for (size_t at = 0; at < s->arena.n;) {
            uint32_t ref = (uint32_t)at, size = solve_clause(s, ref)->size;
            at += CLAUSE_WORDS + size;
            if (size >= 2 && (size == 2) == binary) solve_watch_clause(s, ref);
        }
    }
}

void solve_collect(solver *s)
{
    bool at_root = s->opt.simplify && !solve_level(s);
    assert(!at_root || s->propagated == s->trail_n);
    s->stats.collections++;
    copy_arena(s, at_root);
    rebuild_watches(s);
    if (at_root) s->simplified = s->trail_n;
}

void solve_reduce(solver *s)
{
    s->stats.reductions++;
    protect_reasons(s, true);
    gather_candidates(s);
    delete_worst(s);
    protect_reasons(s, false);
    solve_collect(s);
    s->limit.reduce = s->stats.conflicts + REDUCE_INTERVAL(s, ++s->limit.reductions);
}
