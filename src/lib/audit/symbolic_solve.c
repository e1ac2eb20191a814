/*
 * symbolic_solve.c - formulas as clauses, made when they are first reached.
 *
 * A conjunction gets a variable and clauses in both directions, after its parts have got theirs; a
 * list of work stands in for recursion, since formulas are deeper than the stack.  Implications
 * between variables are added once both ends are known to the solver.  Invariant: code.at[node] is
 * the solver's variable + 1, or 0 for a node that was not reached.
 */
#include "audit/symbolic_solve.h"

#include <assert.h>

void fsolver_begin(fm_solver *f, fm_pool *p, mem *m)
{
    memset(f, 0, sizeof *f);
    f->p = p;
    f->m = m;
    f->s = solver_new(m);
}

static uint32_t coded(const fm_solver *f, fm g)
{
    assert(g >> 1 < f->code.n && f->code.at[g >> 1]);
    return lit_of(f->code.at[g >> 1] - 1, g & 1);
}

static bool is_coded(const fm_solver *f, fm g)
{
    return (g >> 1) < f->code.n && f->code.at[g >> 1];
}

/* Both directions: a formula may be used with either sign. */
static void clauses_of(fm_solver *f, uint32_t node)
{
    const fm_node *n = &f->p->nodes.at[node];
    uint32_t me = lit_of(f->code.at[node] - 1, false);
    f->lits.n = 0;
    vec_push(f->m, &f->lits, me);
    for (uint32_t i = 0; i < n->n; i++) {
        uint32_t part = coded(f, f->p->parts.at[n->from + i]);
        solver_add_clause(f->s, (uint32_t[]){lit_not(me), part}, 2);
        vec_push(f->m, &f->lits, lit_not(part));
    }
    if (n->n) solver_add_clause(f->s, f->lits.at, f->lits.n);
    if (!node) solver_add_clause(f->s, &me, 1);
}

static void code_from(fm_solver *f, uint32_t start)
{
    while (f->code.n < f->p->nodes.n) vec_push(f->m, &f->code, 0);
    f->work.n = 0;
    vec_push(f->m, &f->work, start);
    while (f->work.n) {
        uint32_t node = f->work.at[f->work.n - 1];
        const fm_node *n = &f->p->nodes.at[node];
        guard_tick(f->p->g);
        if (f->code.at[node]) {
            f->work.n--;
            continue;
        }
        size_t before = f->work.n;
        for (uint32_t i = 0; i < n->n; i++) {
            uint32_t part = f->p->parts.at[n->from + i] >> 1;
            if (!f->code.at[part]) vec_push(f->m, &f->work, part);
        }
        if (f->work.n > before) continue; /* the parts first */
        f->work.n--;
        f->code.at[node] = solver_var(f->s) + 1;
        assert(!n->n || !n->a); /* a conjunction, or a variable that compares two terms */
        if (n->a) f->terms = true;
        clauses_of(f, node);
        if (!n->n) solver_phase(f->s, lit_of(f->code.at[node] - 1, false)); /* the newest state */
        for (uint32_t l = n->links; l; l = f->p->links.at[l - 1].next)
            if (l - 1 < f->links) vec_push(f->m, &f->due, l - 1); /* the others are told there */
    }
}

uint32_t fsolver_lit(fm_solver *f, fm g)
{
    code_from(f, g >> 1);
    return coded(f, g);
}

/* What variables imply, where the variable is known here.  Coding one may bring others. */
static void tell_links(fm_solver *f)
{
    for (; f->links < f->p->links.n; f->links++) /* new ones of variables that are known already */
        if (is_coded(f, f->p->links.at[f->links].when)) vec_push(f->m, &f->due, (uint32_t)f->links);
    while (f->due.n) {
        assert(f->links == f->p->links.n);
        fm_link l = f->p->links.at[f->due.at[--f->due.n]];
        uint32_t then = fsolver_lit(f, l.then);
        solver_add_clause(f->s, (uint32_t[]){lit_not(coded(f, l.when)), then}, 2);
    }
}

void fsolver_assert(fm_solver *f, fm g)
{
    assert(g >> 1 < f->p->nodes.n);
    const fm_node *n = fm_at(f->p, g);
    if (g == FM_TRUE) return;
    if (!n->n || !(g & 1)) {
        if (n->n) { /* a conjunction: each part */
            for (uint32_t i = 0; i < n->n; i++) fsolver_assert(f, f->p->parts.at[n->from + i]);
            return;
        }
        uint32_t lit = fsolver_lit(f, g);
        solver_add_clause(f->s, &lit, 1);
        return;
    }
    VEC(uint32_t) any = {0};
    for (uint32_t i = 0; i < n->n; i++) {
        uint32_t lit = fsolver_lit(f, fm_not(f->p->parts.at[n->from + i]));
        vec_push(f->m, &any, lit);
    }
    solver_add_clause(f->s, any.at, any.n);
    vec_free(f->m, &any);
}

solve_status fsolver_solve(fm_solver *f, const fm *assume, size_t n, uint64_t conflicts)
{
    VEC(uint32_t) lits = {0};
    for (size_t i = 0; i < n; i++) {
        uint32_t lit = fsolver_lit(f, assume[i]);
        vec_push(f->m, &lits, lit);
    }
    tell_links(f);
    solver_set_option(f->s, "conflicts", (int64_t)conflicts);
    solve_status r = solver_solve(f->s, lits.at, lits.n);
    vec_free(f->m, &lits);
    return r;
}

bool fsolver_true(const fm_solver *f, fm variable)
{
    if (!is_coded(f, variable)) return false;
    return solver_model(f->s, coded(f, variable)) > 0;
}

void fsolver_end(fm_solver *f)
{
    solver_free(f->s);
    vec_free(f->m, &f->code);
    vec_free(f->m, &f->work);
    vec_free(f->m, &f->lits);
    vec_free(f->m, &f->due);
    f->s = NULL;
}
