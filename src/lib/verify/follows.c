/*
 * follows.c - reverse unit propagation, with two watched literals for each clause.
 *
 * What follows without any assumption stays assigned.  For each clause that is to follow, its
 * literals are assumed false; when a contradiction is met, or none, all of that is taken back.
 * Invariant: a clause that is watched has two literals that are not false, or it is satisfied, or
 * it has been propagated since.
 */
#include "verify/follows.h"

#include <assert.h>

typedef VEC(uint32_t) u32s;

struct rup {
    mem *m;
    uint32_t vars;
    u32s lits; /* of all clauses */
    VEC(uint64_t) first;
    u32s *watch;   /* by literal: clauses that watch it, the first or the second of theirs */
    int8_t *value; /* by literal */
    u32s trail;
    size_t head;
    bool refuted;
};

rup *rup_new(mem *m, uint32_t vars)
{
    rup *r = mem_zeroed(m, sizeof *r);
    r->m = m;
    r->vars = vars;
    r->watch = mem_zeroed(m, mem_bytes(m, 2 * (size_t)vars + 2, sizeof *r->watch));
    r->value = mem_array0(m, int8_t, 2 * (size_t)vars + 2);
    vec_push(m, &r->first, 0);
    return r;
}

bool rup_refuted(const rup *r)
{
    return r->refuted;
}

static void assign(rup *r, uint32_t lit)
{
    assert(!r->value[lit]);
    r->value[lit] = 1;
    r->value[lit ^ 1] = -1;
    vec_push(r->m, &r->trail, lit);
}

/* False: a clause is false. */
static bool propagate(rup *r)
{
    while (r->head < r->trail.n) {
        uint32_t off = r->trail.at[r->head++] ^ 1;
        u32s *list = &r->watch[off];
        size_t keep = 0, i = 0;
        bool fine = true;
        for (; i < list->n && fine; i++) {
            uint32_t id = list->at[i];
            uint32_t *c = r->lits.at + r->first.at[id];
            size_t n = (size_t)(r->first.at[id + 1] - r->first.at[id]), k = 2;
            if (c[0] == off) c[0] = c[1], c[1] = off;
            if (r->value[c[0]] <= 0)
                while (k < n && r->value[c[k]] < 0) k++;
            if (r->value[c[0]] <= 0 && k < n) { /* another one to watch */
                c[1] = c[k];
                c[k] = off;
                vec_push(r->m, &r->watch[c[1]], id);
                list = &r->watch[off];
                continue;
            }
            list->at[keep++] = id;
            if (r->value[c[0]] < 0) fine = false;
            if (!r->value[c[0]]) assign(r, c[0]);
        }
        while (i < list->n) list->at[keep++] = list->at[i++];
        list->n = keep;
        if (!fine) return false;
        guard_tick(r->m->guard);
    }
    return true;
}

void rup_take(rup *r, const uint32_t *lits, size_t n)
{
    size_t start = r->lits.n;
    uint32_t id = (uint32_t)r->first.n - 1;
    bool satisfied = false;
    if (r->first.n >= UINT32_MAX - 2)
        guard_fail(r->m->guard, GUARD_UNSUPPORTED, "more than 2^32 clauses");
    for (size_t i = 0; i < n; i++) { /* what is false now stays so, and adds nothing */
        assert(lits[i] >= 2 && lits[i] / 2 <= r->vars);
        satisfied = satisfied || r->value[lits[i]] > 0;
        if (!r->value[lits[i]]) vec_push(r->m, &r->lits, lits[i]);
    }
    size_t open = r->lits.n - start;
    if (satisfied || r->refuted) {
        r->lits.n = start;
        return;
    }
    if (open < 2) {
        if (open)
            assign(r, r->lits.at[start]);
        else
            r->refuted = true;
        r->lits.n = start;
        if (open && !propagate(r)) r->refuted = true;
        return;
    }
    vec_push(r->m, &r->first, r->lits.n);
    vec_push(r->m, &r->watch[r->lits.at[start]], id);
    vec_push(r->m, &r->watch[r->lits.at[start + 1]], id);
}

bool rup_follows(rup *r, const uint32_t *lits, size_t n)
{
    if (r->refuted) return true;
    size_t keep = r->trail.n;
    bool contradiction = false;
    assert(r->head == keep);
    for (size_t i = 0; i < n && !contradiction; i++) {
        if (r->value[lits[i]] > 0) contradiction = true; /* it is true already */
        if (!r->value[lits[i]]) assign(r, lits[i] ^ 1);
    }
    if (!contradiction) contradiction = !propagate(r);
    while (r->trail.n > keep) {
        uint32_t lit = r->trail.at[--r->trail.n];
        r->value[lit] = r->value[lit ^ 1] = 0;
    }
    r->head = keep;
    if (contradiction) rup_take(r, lits, n);
    return contradiction;
}
