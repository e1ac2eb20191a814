/*
 * emit_added.c - what modules added to the history, as clauses (doc/modules.md, "What it means").
 *
 * A statement is an order of events, and counts if its transactions take part; of several sets at
 * least one is true.  Where the level has one place for a transaction, that place is both of its
 * events; helper points are events of their own, behind all others.  At the levels with session
 * order among their steps a dependency is such a step, too, and dependencies are transitive:
 * `depends` holds literals that the statements make true, and which stand only in premises, so that
 * the least relation is always a choice.
 */
#include "emit/formula.h"

#include <string.h>

/* Why no clause here would say what the addition means at this level, or NULL. */
static const char *refusal_of(const emit_formula *f)
{
    switch (f->q.level.id) {
    case LEVEL_RU:
    case LEVEL_US:
    case LEVEL_RYW:
    case LEVEL_MR:
    case LEVEL_MW:
    case LEVEL_WFR:
    case LEVEL_INNODB_RR:
    case LEVEL_INNODB_RR_TIGHT: return "the level does not take what modules add";
    default: break;
    }
    if (f->q.encoding != EMIT_PLAIN && f->q.encoding != EMIT_GSI)
        return "the encodings of published checkers do not state what modules add";
    return NULL;
}

/* The levels with session order among their steps. */
static bool has_steps(enum level_id level)
{
    switch (level) {
    case LEVEL_RA:
    case LEVEL_CC:
    case LEVEL_UA:
    case LEVEL_NLU:
    case LEVEL_MV:
    case LEVEL_CV:
    case LEVEL_PSI:
    case LEVEL_FCV: return true;
    default: return false;
    }
}

static bool has_chosen_steps(const additions *add)
{
    for (size_t i = 0; i < add->at.n; i++) {
        const addition *said = &add->at.at[i];
        uint32_t end = add->set_end.at[said->first_set + said->sets - 1];
        for (uint32_t e = additions_set_first(add, said->first_set); said->sets > 1 && e < end; e++)
            if (add->edges.at[e].kind == ADDED_DEPENDS) return true;
    }
    return false;
}

void added_load(emit_formula *f)
{
    f->added = f->h->assumed;
    if (!f->added) return;
    const char *why = refusal_of(f);
    if (!why && has_steps(f->q.level.id) && has_chosen_steps(f->added))
        why = "a module added a dependency in a clause or a choice, which levels of paths do not "
              "take";
    if (why) guard_fail(f->m->guard, GUARD_UNSUPPORTED, "there is no encoding: %s", why);
    f->node_of = mem_array(f->m, uint32_t, (size_t)f->h->txns + 1);
    memset(f->node_of, 0xff, ((size_t)f->h->txns + 1) * sizeof *f->node_of);
    for (uint32_t v = 0; v < f->n; v++) f->node_of[f->txn[v]] = v;
}

/* --- edges --- */

typedef struct said_edge {
    uint32_t from, to; /* events of order 0 */
    uint32_t a, b;     /* nodes; NO_ID: a helper point */
} said_edge;

static uint32_t event_of(const emit_formula *f, uint32_t of, uint8_t at, uint32_t *node)
{
    *node = NO_ID;
    if (at == AT_POINT) return f->first_point + of;
    *node = f->node_of[of];
    if (*node == NO_ID) return NO_ID;
    if (!f->split) return *node;
    if (at == AT_COMMIT) return 2 * *node + 1;
    return f->row ? mixed_begin(f, *node) : 2 * *node;
}

/* False: the edge is true, since one of its transactions was aborted, or by itself. */
static bool edge_of(const emit_formula *f, const added_edge *e, said_edge *out)
{
    out->from = event_of(f, e->from, e->from_at, &out->a);
    out->to = event_of(f, e->to, e->to_at, &out->b);
    if (out->from == NO_ID || out->to == NO_ID) return false;
    bool own = out->a != NO_ID && out->a == out->b;
    return !own || e->from_at != AT_BEGIN || e->to_at != AT_COMMIT;
}

static uint32_t absent(emit_formula *f, uint32_t node)
{
    return node == NO_ID ? LIT_FALSE : lit_not(formula_in(f, node));
}

/* --- dependencies --- */

typedef void (*depends_fn)(emit_formula *f, const said_edge *e, void *ud);

static void each_depends(emit_formula *f, depends_fn fn, void *ud)
{
    const additions *add = f->added;
    for (size_t i = 0; i < add->at.n; i++) {
        const addition *said = &add->at.at[i];
        if (said->sets != 1) continue;
        uint32_t end = add->set_end.at[said->first_set];
        for (uint32_t k = additions_set_first(add, said->first_set); k < end; k++) {
            said_edge e;
            if (add->edges.at[k].kind != ADDED_DEPENDS) continue;
            if (edge_of(f, &add->edges.at[k], &e) && e.a != e.b) fn(f, &e, ud);
        }
    }
}

static void mark_depends(emit_formula *f, const said_edge *e, void *reached)
{
    ((uint8_t *)reached)[(size_t)e->a * f->n + e->b] = 1;
}

/* If both take part, b depends on a, and so does whoever depends on b. */
static void state_depends(emit_formula *f, const said_edge *e, void *ud)
{
    (void)ud;
    CLAUSE(f, absent(f, e->a), absent(f, e->b), added_depends(f, e->a, e->b));
    for (uint32_t c = 0; c < f->n; c++) {
        if (c == e->a || added_depends(f, e->b, c) == LIT_FALSE) continue;
        CLAUSE(f, absent(f, e->a), absent(f, e->b), lit_not(added_depends(f, e->b, c)),
               added_depends(f, e->a, c));
    }
}

/* Variables for all pairs that a chain of statements joins, whoever takes part. */
static void load_depends(emit_formula *f)
{
    size_t n = f->n;
    uint8_t *reached = mem_array0(f->m, uint8_t, n * n + 1);
    each_depends(f, mark_depends, reached);
    for (size_t k = 0; k < n; k++)
        for (size_t a = 0; a < n; a++) {
            if (!reached[a * n + k]) continue;
            for (size_t b = 0; b < n; b++) reached[a * n + b] |= reached[k * n + b];
            guard_tick(f->m->guard);
        }
    if (!f->depends) f->depends = mem_array(f->m, uint32_t, n * n + 1);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            f->depends[a * n + b] =
                reached[a * n + b] && a != b ? formula_var(f, VAR_DEPENDS, 0, a, b) : LIT_FALSE;
    mem_put(f->m, reached);
    each_depends(f, state_depends, NULL);
}

/* --- statements --- */

void added_open(emit_formula *f)
{
    if (!f->added) return;
    if (f->added->points > UINT32_MAX / 4 - f->events[0])
        guard_fail(f->m->guard, GUARD_UNSUPPORTED, "a module made more than 2^29 helper points");
    f->first_point = f->events[0];
    f->events[0] += f->added->points;
    if (has_steps(f->q.level.id)) load_depends(f);
}

/* All edges of a set, each under `when`, which is LIT_FALSE or the negation of "this set". */
static void state_set(emit_formula *f, uint32_t set, uint32_t when)
{
    for (uint32_t k = additions_set_first(f->added, set); k < f->added->set_end.at[set]; k++) {
        said_edge e;
        if (edge_of(f, &f->added->edges.at[k], &e))
            CLAUSE(f, when, absent(f, e.a), absent(f, e.b), formula_before(f, 0, e.from, e.to));
    }
}

static void state_choice(emit_formula *f, uint32_t number, const addition *said)
{
    uint32_t *is = mem_array(f->m, uint32_t, (size_t)said->sets + 1);
    for (uint32_t s = 0; s < said->sets; s++) is[s] = formula_var(f, VAR_CHOSEN, number, s, 0);
    clause_of(f, is, said->sets);
    for (uint32_t s = 0; s < said->sets; s++) state_set(f, said->first_set + s, lit_not(is[s]));
    mem_put(f->m, is);
}

void added_state(emit_formula *f)
{
    for (uint32_t i = 0; f->added && i < f->added->at.n; i++) {
        const addition *said = &f->added->at.at[i];
        if (said->sets == 1)
            state_set(f, said->first_set, LIT_FALSE);
        else
            state_choice(f, i, said);
        guard_tick(f->m->guard);
    }
}
