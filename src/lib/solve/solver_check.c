/*
 * solver_check.c - the invariants of solver_internal.h, clause.h and heap.h, walked one by one.
 * For tests and debuggers; each check names its rule by the line that returns 0.
 */
#include "solve/solver_internal.h"

static int check_trail(const solver *s)
{
    uint32_t assigned = 0, level = 0;
    for (uint32_t var = 0; var < s->vars; var++) {
        if (s->values[2 * var] != -s->values[2 * var + 1]) return 0;
        if (s->values[2 * var]) assigned++;
        if (s->marks[var]) return 0;
    }
    if (assigned != s->trail_n || s->propagated > s->trail_n || s->told > s->trail_n) return 0;
    for (uint32_t i = 0; i < s->trail_n; i++) {
        uint32_t lit = s->trail[i];
        const var_state *v = s->states + lit_var(lit);
        while (level < s->levels.n && s->levels.at[level].start <= i) level++;
        if (s->values[lit] <= 0 || v->level != level) return 0;
        if (!level && v->reason != REF_NONE) return 0;
        if (v->reason >= REF_THEORY) continue;
        if (v->reason >= s->arena.n) return 0;
        const clause *c = solve_clause(s, v->reason);
        int found = 0;
        for (uint32_t k = 0; k < c->size; k++) {
            if (c->lits[k] == lit)
                found++;
            else if (s->values[c->lits[k]] >= 0)
                return 0;
        }
        if (found != 1 || c->garbage) return 0;
    }
    return 1;
}

static int watched_by(const solver *s, uint32_t lit, uint32_t ref, const clause *c)
{
    const watch_list *l = s->lists + lit;
    int count = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        watch w = s->pool.at[l->start + i];
        if (watch_ref(w) != ref) continue;
        count++;
        if (watch_binary(w) != (c->size == 2)) return 0;
        if (c->size == 2 && w.blocker != (c->lits[0] ^ c->lits[1] ^ lit)) return 0;
    }
    return count == 1;
}

static int check_clauses(const solver *s)
{
    size_t redundant = 0, irredundant = 0, dead = 0, watches = 0, watched = 0;
    bool at_rest = s->propagated == s->trail_n;
    for (size_t at = 0; at < s->arena.n;) {
        uint32_t ref = (uint32_t)at;
        const clause *c = solve_clause(s, ref);
        if (!c->size || c->moved || c->reason) return 0;
        at += CLAUSE_WORDS + c->size;
        if (at > s->arena.n) return 0;
        if (c->garbage) {
            dead += CLAUSE_WORDS + c->size;
            continue;
        }
        if (c->redundant)
            redundant++;
        else
            irredundant++;
        bool falsified = true;
        for (uint32_t i = 0; i < c->size; i++) {
            if (lit_var(c->lits[i]) >= s->vars) return 0;
            if (s->values[c->lits[i]] >= 0) falsified = false;
        }
        if (falsified && at_rest && s->consistent) return 0;
        if (c->size < 2) continue;
        watched += 2;
        if (!watched_by(s, c->lits[0], ref, c) || !watched_by(s, c->lits[1], ref, c)) return 0;
    }
    for (uint32_t lit = 0; lit < 2 * s->vars; lit++) {
        const watch_list *l = s->lists + lit;
        if (l->n > l->cap || l->start + (size_t)l->cap > s->pool.n) return 0;
        watches += l->n;
    }
    return redundant == s->redundant && irredundant == s->irredundant && dead == s->dead &&
           watches == watched;
}

static int check_orders(const solver *s)
{
    const heap *h = &s->heap;
    for (uint32_t i = 0; i < h->n; i++) {
        if (h->place[h->at[i]] != i) return 0;
        if (i && h->score[h->at[(i - 1) / 2]] < h->score[h->at[i]]) return 0;
    }
    const queue *q = &s->queue;
    uint32_t n = 0, prev = NO_VAR;
    bool behind = false;
    for (uint32_t var = q->first; var != NO_VAR; prev = var, var = q->links[var].next) {
        if (++n > s->vars || q->links[var].prev != prev) return 0;
        if (prev != NO_VAR && q->stamps[prev] >= q->stamps[var]) return 0;
        bool open = !s->values[2 * var] && s->decidable[var];
        if (open && (behind || q->search == NO_VAR || !heap_holds(h, var))) return 0;
        if (var == q->search) behind = true;
    }
    return n == s->vars && q->last == prev;
}

int solver_check(const solver *s)
{
    return check_trail(s) && check_clauses(s) && check_orders(s);
}
