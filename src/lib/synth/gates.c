/*
 * gates.c - and-gates over a solver (Tseitin's clauses, both directions), shared by hashing.
 *
 * Both directions are written because a learned constraint and a level's own formula share gates
 * under both signs.
 */
#include "synth/gates.h"

#include "base/clock.h"

void gates_init(gates *g, mem *m, const proof *log, foreign *f)
{
    *g = (gates){.mem = m};
    if (f && f->engine) {
        g->foreign = f;
        f->state = f->engine->open();
        if (!f->state) guard_fail(m->guard, GUARD_NOMEM, "%s cannot be started", f->engine->name);
    } else {
        g->solver = solver_new(m);
    }
    if (log && g->solver) solver_set_proof(g->solver, log);
    gate one = gate_new(g);
    gate_clause(g, &one, 1);
}

void foreign_close(foreign *f)
{
    if (f->state) f->engine->close(f->state);
    f->state = NULL;
}

void gates_free(gates *g)
{
    if (g->solver) solver_free(g->solver);
    if (g->foreign) foreign_close(g->foreign);
    g->solver = NULL;
}

gate gate_new(gates *g)
{
    if (g->solver) solver_var(g->solver);
    if (g->vars >= UINT32_MAX / 4) guard_fail(g->mem->guard, GUARD_NOMEM, "too many variables");
    return lit_of(g->vars++, false);
}

void gate_clause(gates *g, const gate *lits, size_t n)
{
    g->clauses++;
    if (g->solver)
        solver_add_clause(g->solver, lits, n);
    else
        g->foreign->engine->clause(g->foreign->state, lits, n);
}

/* Asked from within the foreign engine, whose frames must not be jumped over. */
static int due(void *ud)
{
    const guard *g = ud;
    return (g->interrupt && *g->interrupt) || (g->deadline && clock_now() > g->deadline);
}

bool gates_solve(gates *g, const gate *assume, size_t n)
{
    if (g->solver) return solver_solve(g->solver, assume, n) == SOLVE_SAT;
    guard *stop = g->mem->guard;
    const synth_engine *e = g->foreign->engine;
    int got = e->solve(g->foreign->state, assume, n, due, stop);
    if (got != SOLVE_SAT && got != SOLVE_UNSAT) {
        guard_poll(stop);
        guard_fail(stop, GUARD_UNSUPPORTED, "%s gave no answer", e->name);
    }
    return got == SOLVE_SAT;
}

bool gate_value(const gates *g, gate a)
{
    if (g->solver) return solver_model(g->solver, a) > 0;
    return g->foreign->engine->value(g->foreign->state, a);
}

uint64_t gates_conflicts(const gates *g)
{
    return g->solver ? solver_stats(g->solver)->conflicts : 0;
}

void gate_assert(gates *g, gate a)
{
    gate_clause(g, &a, 1);
}

static uint64_t hash_of(const gate *lits, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) h = (h ^ lits[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return h;
}

/* The gate with these sorted inputs; made if there is none. */
static gate shared(gates *g, const gate *lits, size_t n)
{
    uint64_t hash = hash_of(lits, n);
    for (index_walk w = id_index_walk(&g->known, hash); id_index_next(&g->known, &w);) {
        const gate *in = g->pool.at + w.id;
        if (in[-1] == n && !memcmp(in, lits, n * sizeof *lits)) return in[n];
    }
    guard_tick(g->mem->guard);
    gate out = gate_new(g);
    if (g->pool.n + n + 2 > UINT32_MAX) guard_fail(g->mem->guard, GUARD_NOMEM, "too many gates");
    vec_reserve(g->mem, &g->pool, n + 2);
    g->pool.at[g->pool.n++] = (gate)n;
    uint32_t at = (uint32_t)g->pool.n;
    id_index_add(g->mem, &g->known, hash, at);
    memcpy(g->pool.at + g->pool.n, lits, n * sizeof *lits);
    g->pool.n += n;
    g->pool.at[g->pool.n++] = out;
    const gate *in = g->pool.at + at;
    size_t opened = gate_open(g);
    gate_push(g, out);
    for (size_t i = 0; i < n; i++) {
        gate pair[2] = {gate_not(out), in[i]};
        gate_clause(g, pair, 2);
        gate_push(g, gate_not(in[i]));
    }
    gate_clause(g, g->stack.at + opened, n + 1);
    g->stack.n = opened;
    return out;
}

static void sort_gates(gate *a, size_t n)
{
    for (size_t gap = n / 2; gap; gap /= 2)
        for (size_t i = gap; i < n; i++) {
            gate x = a[i];
            size_t j = i;
            for (; j >= gap && a[j - gap] > x; j -= gap) a[j] = a[j - gap];
            a[j] = x;
        }
}

gate gate_and_all(gates *g, gate *lits, size_t n)
{
    sort_gates(lits, n);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (lits[i] == GATE_TRUE || (kept && lits[kept - 1] == lits[i])) continue;
        if (lits[i] == GATE_FALSE || (kept && lits[kept - 1] == gate_not(lits[i])))
            return GATE_FALSE;
        lits[kept++] = lits[i];
    }
    return !kept ? GATE_TRUE : kept == 1 ? lits[0] : shared(g, lits, kept);
}

gate gate_or_all(gates *g, gate *lits, size_t n)
{
    for (size_t i = 0; i < n; i++) lits[i] = gate_not(lits[i]);
    return gate_not(gate_and_all(g, lits, n));
}

gate gate_and(gates *g, gate a, gate b)
{
    gate pair[2] = {a, b};
    return gate_and_all(g, pair, 2);
}

gate gate_or(gates *g, gate a, gate b)
{
    gate pair[2] = {a, b};
    return gate_or_all(g, pair, 2);
}

size_t gate_open(gates *g)
{
    return g->stack.n;
}

void gate_push(gates *g, gate a)
{
    vec_push(g->mem, &g->stack, a);
}

/* `shared` pushes on the same stack, above what it reads: it copies its inputs first. */
gate gate_close_and(gates *g, size_t opened)
{
    size_t n = g->stack.n - opened;
    gate out = gate_and_all(g, g->stack.at ? g->stack.at + opened : NULL, n);
    g->stack.n = opened;
    return out;
}

gate gate_close_or(gates *g, size_t opened)
{
    size_t n = g->stack.n - opened;
    gate out = gate_or_all(g, g->stack.at ? g->stack.at + opened : NULL, n);
    g->stack.n = opened;
    return out;
}

/* A sequential counter: row i is the count of the first i inputs. */
void gate_count(gates *g, const gate *in, size_t n, gate *out, size_t limit)
{
    for (size_t k = 0; k < limit; k++) out[k] = GATE_FALSE;
    for (size_t i = 0; i < n; i++)
        for (size_t k = limit; k--;)
            out[k] = gate_or(g, out[k], gate_and(g, in[i], k ? out[k - 1] : GATE_TRUE));
}
