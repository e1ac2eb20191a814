/*
 * emit_units.c - what a formula settles by its unit clauses alone, so that the rest speaks only of
 * what is open.
 *
 * An encoding is built, its units are collected (an event before another, a transaction that takes
 * part, the source of a read, a step of paths), orders and paths are closed transitively, and the
 * encoding is built again: literals that are settled vanish from clauses, and so do clauses that
 * are satisfied.  This ends when a round has no new unit.  The facts stand in front as unit
 * clauses, so the formula is equivalent to the first one; of an order, only the pairs with nothing
 * between them are written.
 *
 * Paths: a step lies in the order `steps_in`, so if b is known to come before a, no path leads from
 * a to b, and neither that variable nor the clauses that would make it true are written.  A model
 * of the rest has every other path, since a prefix of a path is one too.
 */
#include "emit/formula.h"

/* Each round costs as much as the encoding itself; further ones rarely find more. */
#define MOST_ROUNDS 12

static size_t row_words(uint32_t n)
{
    return ((size_t)n + 63) / 64;
}

static bool bit_at(const uint64_t *rows, uint32_t n, uint32_t a, uint32_t b)
{
    return rows[a * row_words(n) + b / 64] >> (b % 64) & 1;
}

static bool bit_put(uint64_t *rows, uint32_t n, uint32_t a, uint32_t b)
{
    bool fresh = !bit_at(rows, n, a, b);
    rows[a * row_words(n) + b / 64] |= (uint64_t)1 << (b % 64);
    return fresh;
}

static void close_rows(const emit_formula *f, uint64_t *rows, uint32_t n)
{
    size_t words = row_words(n);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t a = 0; a < n; a++) {
            if (!bit_at(rows, n, a, k)) continue;
            for (size_t w = 0; w < words; w++) rows[a * words + w] |= rows[k * words + w];
            guard_tick(f->m->guard);
        }
}

bool units_order(const emit_formula *f, uint32_t order, uint32_t a, uint32_t b)
{
    return f->known[order] && bit_at(f->known[order], f->events[order], a, b);
}

bool units_path(const emit_formula *f, uint32_t graph, uint32_t a, uint32_t b)
{
    return f->sure && !graph && bit_at(f->sure, f->n, a, b);
}

bool units_no_path(const emit_formula *f, uint32_t graph, uint32_t a, uint32_t b)
{
    return f->sure && !graph && units_order(f, f->steps_in, b, a);
}

/* Is there nothing between a and b?  (In a relation with a cycle there may always be something.) */
static bool is_next(const uint64_t *rows, uint32_t n, uint32_t a, uint32_t b)
{
    for (uint32_t x = 0; x < n; x++)
        if (x != a && x != b && bit_at(rows, n, a, x) && bit_at(rows, n, x, b)) return false;
    return true;
}

static bool has_cycle(const uint64_t *rows, uint32_t n)
{
    for (uint32_t a = 0; a < n; a++)
        if (bit_at(rows, n, a, a)) return true;
    return false;
}

/* The pairs of rows from which the others follow. */
typedef void (*pair_fn)(emit_formula *f, uint32_t which, uint32_t a, uint32_t b);

static void each_next(emit_formula *f, const uint64_t *rows, uint32_t n, uint32_t which, pair_fn fn)
{
    bool cyclic = has_cycle(rows, n);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            if (a == b || !bit_at(rows, n, a, b)) continue;
            guard_tick(f->m->guard);
            if (cyclic || is_next(rows, n, a, b)) fn(f, which, a, b);
        }
}

static void state_before(emit_formula *f, uint32_t order, uint32_t a, uint32_t b)
{
    CLAUSE(f, formula_before_var(f, order, a, b));
}

void units_state(emit_formula *f)
{
    for (uint32_t o = 0; o < f->orders; o++)
        if (f->known[o]) each_next(f, f->known[o], f->events[o], o, state_before);
    for (uint32_t v = 0; f->settled_in && v < f->n; v++)
        if (f->settled_in[v]) CLAUSE(f, formula_in_var(f, v) ^ (f->settled_in[v] == SETTLED_FALSE));
    for (uint32_t r = 0; f->settled_source && r < f->read.n; r++)
        for (uint32_t i = 0; i < f->read.at[r].n; i++) {
            uint8_t is = f->settled_source[f->read.at[r].first + i];
            if (is) CLAUSE(f, formula_source_var(f, r, i) ^ (is == SETTLED_FALSE));
        }
}

/* A step that is sure continues every path; clauses for the others follow from these. */
static void continue_paths(emit_formula *f, uint32_t graph, uint32_t b, uint32_t c)
{
    for (uint32_t a = 0; a < f->n; a++)
        if (a != b && a != c && !units_no_path(f, graph, a, c))
            CLAUSE(f, lit_not(formula_path(f, graph, a, b)), formula_path(f, graph, a, c));
}

void units_close_paths(emit_formula *f, uint32_t graph)
{
    if (f->sure && !graph) each_next(f, f->sure, f->n, graph, continue_paths);
}

static void make_room(emit_formula *f)
{
    if (f->sure) return;
    for (uint32_t o = 0; o < f->orders; o++)
        f->known[o] = mem_array0(f->m, uint64_t, f->events[o] * row_words(f->events[o]) + 1);
    f->sure = mem_array0(f->m, uint64_t, f->n * row_words(f->n) + 1);
    f->settled_in = mem_array0(f->m, uint8_t, (size_t)f->n + 1);
    f->settled_source = mem_array0(f->m, uint8_t, f->candidate.n + 1);
}

static bool settle(uint8_t *what, uint32_t lit)
{
    if (*what) return false;
    *what = lit & 1 ? SETTLED_FALSE : SETTLED_TRUE;
    return true;
}

/* "a is not before b" says nothing more: events that no clause compares may share a place. */
static bool unit_learn(emit_formula *f, uint32_t lit)
{
    const emit_var *v = &f->var.at[lit / 2];
    switch ((enum emit_kind)v->kind) {
    case VAR_IN: return settle(&f->settled_in[v->a], lit);
    case VAR_SOURCE: return settle(&f->settled_source[f->read.at[v->a].first + v->b], lit);
    case VAR_BEFORE: return !(lit & 1) && bit_put(f->known[v->a], f->events[v->a], v->b, v->c);
    case VAR_STEP: return !(lit & 1) && !v->a && bit_put(f->sure, f->n, v->b, v->c);
    case VAR_PART_SOURCE:
    case VAR_PATH:
    case VAR_DEPENDS:
    case VAR_CHOSEN:
    case VAR_AUX: break;
    }
    return false;
}

static bool units_learn(emit_formula *f)
{
    bool more = false;
    make_room(f);
    for (size_t at = 0; at < f->lit.n; at += f->lit.at[at] + 1)
        if (f->lit.at[at] == 1) more |= unit_learn(f, f->lit.at[at + 1]);
    for (uint32_t o = 0; more && o < f->orders; o++) close_rows(f, f->known[o], f->events[o]);
    if (more) close_rows(f, f->sure, f->n);
    return more;
}

static void forget_clauses(emit_formula *f)
{
    f->var.n = f->lit.n = f->clauses = 0;
    for (size_t i = 0; i < f->source.n; i++) f->source.at[i] = NO_ID;
    id_map_restart(f->m, &f->in, 0);
    for (uint32_t x = 0; x < 2; x++) {
        id_map_restart(f->m, &f->before[x], 0);
        id_map_restart(f->m, &f->path[x], 0);
        id_map_restart(f->m, &f->step[x], 0);
    }
}

void units_simplify(emit_formula *f, void (*build)(emit_formula *f))
{
    for (unsigned round = 0; round < MOST_ROUNDS && units_learn(f); round++) {
        forget_clauses(f);
        build(f);
    }
}
