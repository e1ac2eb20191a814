/*
 * emit_baselines.c - snapshot isolation as published checkers state it, so that their ideas can be
 * compared under one solver: Adya's graph with start-depends edges (the baseline adya-SI+Z3 of
 * Viper's evaluation), Viper's BC-polygraph without its heuristics, PolySI's induced graph.
 *
 * All of them assume what those checkers assume: each value of a key is written once, and every
 * outcome is known.  So every read has one source, and only the order of each two versions of a key
 * is chosen: one variable for each pair, which both the version order and the anti-dependencies of
 * the readers follow (a "constraint" of Viper, a "generalized constraint" of PolySI).
 */
#include "emit/formula.h"

#define INDUCED 0 /* graphs of step variables */
#define START 1

static void refuse_ambiguity(const emit_formula *f)
{
    for (uint32_t v = 0; v < f->n; v++)
        if (f->maybe[v])
            guard_fail(f->m->guard, GUARD_UNSUPPORTED,
                       "this encoding assumes that every outcome is known");
    for (size_t r = 0; r < f->read.n; r++)
        if (f->read.at[r].n > 1)
            guard_fail(f->m->guard, GUARD_UNSUPPORTED,
                       "this encoding assumes that each value of a key is written once");
}

static uint32_t source_of(const emit_formula *f, const emit_read *r)
{
    return r->n ? f->candidate.at[r->first] : FROM_INIT;
}

/* One edge of the encoding, if `when` is true. */
typedef void (*edge_fn)(emit_formula *f, uint32_t from, uint32_t to, uint32_t when);

/* If `when`, a's version of k stands before b's: so do all readers of a's. */
static void choose_versions(emit_formula *f, key_id k, uint32_t a, uint32_t b, uint32_t when,
                            edge_fn dep, edge_fn anti)
{
    dep(f, a, b, when);
    for (uint32_t r = 0; r < f->read.n; r++) {
        const emit_read *read = &f->read.at[r];
        if (read->n && read->key == k && source_of(f, read) == a && read->node != b)
            anti(f, read->node, b, when);
    }
}

static void walk_edges(emit_formula *f, edge_fn dep, edge_fn anti)
{
    for (uint32_t a = 0; a < f->n; a++)
        for (uint32_t b = 0; b < f->n; b++)
            if (f->ordered[(size_t)a * f->n + b]) dep(f, a, b, LIT_TRUE);
    for (uint32_t r = 0; r < f->read.n; r++) {
        const emit_read read = f->read.at[r];
        uint32_t s = source_of(f, &read);
        if (s != FROM_INIT) dep(f, s, read.node, LIT_TRUE);
        for (uint32_t x = f->key_first[read.key]; s == FROM_INIT && x < f->key_first[read.key + 1];
             x++)
            if (read.n && f->install[x].node != read.node)
                anti(f, read.node, f->install[x].node, LIT_TRUE);
    }
    for (key_id k = 0; k < history_keys(f->h); k++)
        for (uint32_t i = f->key_first[k]; i < f->key_first[k + 1]; i++)
            for (uint32_t j = i + 1; j < f->key_first[k + 1]; j++) {
                uint32_t a = f->install[i].node, b = f->install[j].node;
                uint32_t choice = formula_var(f, VAR_AUX, k, a, b);
                choose_versions(f, k, a, b, choice, dep, anti);
                choose_versions(f, k, b, a, lit_not(choice), dep, anti);
            }
}

/* --- Viper: begins and commits --- */

static void viper_dep(emit_formula *f, uint32_t a, uint32_t b, uint32_t when)
{
    CLAUSE(f, lit_not(when), formula_before(f, 0, 2 * a + 1, 2 * b));
}

static void viper_anti(emit_formula *f, uint32_t a, uint32_t b, uint32_t when)
{
    CLAUSE(f, lit_not(when), formula_before(f, 0, 2 * a, 2 * b + 1));
}

static void order_events(emit_formula *f)
{
    f->split = true;
    f->events[0] = 2 * f->n;
    for (uint32_t a = 0; a < f->n; a++) CLAUSE(f, formula_before(f, 0, 2 * a, 2 * a + 1));
}

void encode_viper(emit_formula *f)
{
    refuse_ambiguity(f);
    f->orders = 1;
    order_events(f);
    walk_edges(f, viper_dep, viper_anti);
}

/* --- PolySI: dependencies, and dependencies followed by an anti-dependency, have no cycle --- */

static void polysi_dep(emit_formula *f, uint32_t a, uint32_t b, uint32_t when)
{
    CLAUSE(f, lit_not(when), formula_step(f, INDUCED, a, b));
}

static void polysi_anti(emit_formula *f, uint32_t a, uint32_t b, uint32_t when)
{
    CLAUSE(f, lit_not(when), formula_step(f, START, a, b)); /* here: the graph of rw */
}

void encode_polysi(emit_formula *f)
{
    refuse_ambiguity(f);
    f->orders = 1;
    f->events[0] = f->n;
    walk_edges(f, polysi_dep, polysi_anti);
    size_t vars = f->var.n;
    for (size_t d = 0; d < vars; d++) {
        emit_var dep = f->var.at[d];
        if (dep.kind != VAR_STEP || dep.a != INDUCED) continue;
        CLAUSE(f, lit_not(2 * (uint32_t)d), formula_before(f, 0, dep.b, dep.c));
        for (uint32_t c = 0; c < f->n; c++) {
            uint32_t anti = id_map_get(&f->step[START], map_pair(dep.c, c));
            if (anti != MAP_NONE)
                CLAUSE(f, lit_not(2 * (uint32_t)d), lit_not(anti),
                       formula_before(f, 0, dep.b, c)); /* b == c: a cycle by itself */
        }
    }
}

/* --- Adya: G1 by order 1; G-SIa and G-SIb with start-depends edges and their closure ---

   a start-depends on b if b committed before a began. */

static void adya_dep(emit_formula *f, uint32_t a, uint32_t b, uint32_t when)
{
    CLAUSE(f, lit_not(when), formula_before(f, 1, a, b));             /* G1c */
    CLAUSE(f, lit_not(when), formula_before(f, 0, 2 * a + 1, 2 * b)); /* G-SIa */
}

static void adya_anti(emit_formula *f, uint32_t a, uint32_t b, uint32_t when)
{
    CLAUSE(f, lit_not(when), lit_not(formula_path(f, START, b, a))); /* G-SIb */
}

void encode_adya(emit_formula *f)
{
    refuse_ambiguity(f);
    f->orders = 2;
    order_events(f);
    f->events[1] = f->n;
    walk_edges(f, adya_dep, adya_anti);
    for (uint32_t a = 0; a < f->n; a++)
        for (uint32_t b = 0; b < f->n; b++) {
            if (a == b) continue;
            uint32_t started = formula_before(f, 0, 2 * a + 1, 2 * b);
            CLAUSE(f, started, formula_before(f, 0, 2 * b, 2 * a + 1));
            CLAUSE(f, lit_not(started), formula_step(f, START, a, b));
        }
    formula_close_paths(f, START, f->n);
}
