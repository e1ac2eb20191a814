/*
 * added_search.c - see added_search.h.
 *
 * A choice is an obligation like a read: as long as the order meets it nothing is written down.
 * When one of its events moves it is looked at again, and when it is broken its clause is written,
 * once, and the literal with the shortest way is tried.  A set of one arc needs no variable of its
 * own; a larger one has a selector, which implies each of its arcs.
 *
 * Invariant (added_at_rest): a choice that is not queued is met by the current order.  Undoing
 * edges keeps the order, so it keeps the invariant.
 */
#include "decide/lazy/added_search.h"

#include <assert.h>

#include "decide/proof/justify.h"
#include "order/added_order.h"

struct added_search {
    const added_order *x;
    VEC(uint32_t) queue;
    uint8_t *queued;         /* per choice */
    uint8_t *written;        /* per choice: its clauses are with the solver */
    uint32_t *selector;      /* per set: its variable, or NONE */
    uint32_t *of_first, *of; /* per node: the choices that speak of it */
};

static bool arc_absent(const lazy *z, const added_arc *a)
{
    return (a->a != NO_ID && !z->present[a->a]) || (a->b != NO_ID && !z->present[a->b]);
}

static bool arc_met(const lazy *z, const added_arc *a)
{
    return arc_absent(z, a) || z->pos[a->from] < z->pos[a->to];
}

static bool choice_met(const lazy *z, uint32_t c)
{
    const added_order *x = z->added->x;
    const added_choice *said = &x->choices.at[c];
    for (uint32_t s = said->first_set; s < said->first_set + said->sets; s++) {
        bool met = true;
        for (uint32_t i = added_set_first(x, s); i < x->set_end.at[s] && met; i++)
            met = arc_met(z, &x->arcs.at[i]);
        if (met) return true;
    }
    return false;
}

static void enqueue_choice(lazy *z, uint32_t c)
{
    assert(c < z->added->x->choices.n);
    if (z->added->queued[c]) return;
    z->added->queued[c] = 1;
    vec_push(z->m, &z->added->queue, c);
}

/* The choices that speak of each transaction. */
static void index_choices(lazy *z)
{
    struct added_search *d = z->added;
    const added_order *x = d->x;
    d->of_first = mem_array0(z->m, uint32_t, (size_t)z->p->txns + 2);
    for (int fill = 0; fill < 2; fill++) {
        if (fill) {
            for (node_id v = 1; v <= z->p->txns; v++) d->of_first[v + 1] += d->of_first[v];
            d->of = mem_array(z->m, uint32_t, (size_t)d->of_first[z->p->txns + 1] + 1);
        }
        for (uint32_t c = 0; c < x->choices.n; c++) {
            const added_choice *said = &x->choices.at[c];
            uint32_t first = added_set_first(x, said->first_set);
            for (uint32_t i = first; i < x->set_end.at[said->first_set + said->sets - 1]; i++) {
                const node_id ends[] = {x->arcs.at[i].a, x->arcs.at[i].b};
                for (int e = 0; e < 2; e++) {
                    if (ends[e] == NO_ID) continue;
                    if (fill)
                        d->of[d->of_first[ends[e] + 1]++] = c;
                    else
                        d->of_first[ends[e] + 2]++;
                }
            }
        }
    }
}

void added_start(lazy *z)
{
    const added_order *x = z->p->added;
    if (!x || !x->choices.n) return;
    struct added_search *d = z->added = mem_zeroed(z->m, sizeof *d);
    d->x = x;
    d->queued = mem_array0(z->m, uint8_t, x->choices.n + 1);
    d->written = mem_array0(z->m, uint8_t, x->choices.n + 1);
    d->selector = mem_array(z->m, uint32_t, x->set_end.n + 1);
    memset(d->selector, 0xff, (x->set_end.n + 1) * sizeof *d->selector);
    index_choices(z);
    for (uint32_t c = (uint32_t)x->choices.n; c-- > 0;) enqueue_choice(z, c);
}

void added_moved(lazy *z, node_id v)
{
    const struct added_search *d = z->added;
    if (!d) return;
    for (uint32_t i = d->of_first[v]; i < d->of_first[v + 1]; i++) enqueue_choice(z, d->of[i]);
}

/* --- clauses ---------------------------------------------------------------------------------- */

/* The arc, or that one of its transactions took no part. */
static void clause_arc(lazy *z, const added_arc *a)
{
    if (a->a != NO_ID) lazy_clause_unless(z, a->a);
    if (a->b != NO_ID && a->b != a->a) lazy_clause_unless(z, a->b);
    if (a->from != a->to) lazy_clause_lit(z, lazy_before(z, a->from, a->to));
}

static void core_arc(lazy *z, const added_arc *a)
{
    if (a->a != NO_ID) lazy_add_core(z, a->a);
    if (a->b != NO_ID) lazy_add_core(z, a->b);
}

static bool is_single(const added_order *x, uint32_t set)
{
    return x->single.at[set];
}

/* The selector of a larger set implies each of its arcs. */
static void write_selector(lazy *z, uint32_t c, uint32_t set)
{
    struct added_search *d = z->added;
    const added_order *x = d->x;
    assert(d->selector[set] == NONE && !is_single(x, set));
    d->selector[set] = lazy_new_var(z);
    if (z->j) justify_is_chosen(z->j, d->selector[set], x->choices.at[c].of, x->set_of.at[set]);
    for (uint32_t i = added_set_first(x, set); i < x->set_end.at[set]; i++) {
        lazy_clause_start(z);
        if (z->j) justify_reason(z->j, BECAUSE_ADDED, c, set, i);
        lazy_clause_lit(z, lit_of(d->selector[set], true));
        clause_arc(z, &x->arcs.at[i]);
        lazy_clause_end(z);
    }
}

static void write_choice_clause(lazy *z, uint32_t c)
{
    struct added_search *d = z->added;
    const added_order *x = d->x;
    const added_choice *said = &x->choices.at[c];
    assert(!d->written[c] && said->sets);
    d->written[c] = 1;
    for (uint32_t s = said->first_set; s < said->first_set + said->sets; s++)
        if (!is_single(x, s)) write_selector(z, c, s);
    lazy_clause_start(z);
    if (z->j) justify_reason(z->j, BECAUSE_ADDED, c, NO_ID, NO_ID);
    for (uint32_t s = said->first_set; s < said->first_set + said->sets; s++) {
        uint32_t first = added_set_first(x, s);
        if (is_single(x, s))
            clause_arc(z, &x->arcs.at[first]);
        else
            lazy_clause_lit(z, lit_of(d->selector[s], false));
        for (uint32_t i = first; i < x->set_end.at[s]; i++) core_arc(z, &x->arcs.at[i]);
    }
    lazy_clause_end(z);
}

void added_write(lazy *z)
{
    for (uint32_t c = 0; z->added && c < z->added->x->choices.n; c++)
        if (z->added->x->choices.at[c].sets == 1) write_choice_clause(z, c);
}

/* --- mending ---------------------------------------------------------------------------------- */

/* How far the arc is from being met; 0: it is. */
static uint32_t arc_way(const lazy *z, const added_arc *a)
{
    assert(arc_met(z, a) || z->pos[a->from] >= z->pos[a->to]);
    return arc_met(z, a) ? 0 : z->pos[a->from] - z->pos[a->to] + 1;
}

/* The literal of a set that no value excludes, or LIT_NONE; *way: how much has to move. */
static uint32_t set_literal(lazy *z, uint32_t set, uint64_t *way)
{
    const struct added_search *d = z->added;
    const added_order *x = d->x;
    uint32_t first = added_set_first(x, set);
    const added_arc *only = &x->arcs.at[first];
    *way = 0;
    for (uint32_t i = first; i < x->set_end.at[set]; i++) *way += arc_way(z, &x->arcs.at[i]);
    uint32_t lit = LIT_NONE;
    if (!is_single(x, set))
        lit = lit_of(d->selector[set], false);
    else if (only->from != only->to)
        lit = lazy_before(z, only->from, only->to);
    return lit != LIT_NONE && !solver_value(z->s, lit) ? lit : LIT_NONE;
}

/* "It took no part", of a transaction that the choice speaks of and that is still free. */
static uint32_t outcome_literal(lazy *z, const added_choice *said)
{
    const added_order *x = z->added->x;
    uint32_t first = added_set_first(x, said->first_set);
    for (uint32_t i = first; i < x->set_end.at[said->first_set + said->sets - 1]; i++) {
        const node_id ends[] = {x->arcs.at[i].a, x->arcs.at[i].b};
        for (int e = 0; e < 2; e++) {
            if (ends[e] == NO_ID || !z->taken_var || z->taken_var[ends[e]] == NONE) continue;
            uint32_t lit = lit_of(z->taken_var[ends[e]], true);
            if (!solver_value(z->s, lit)) return lit;
        }
    }
    return THEORY_ANY;
}

static uint32_t mend_choice(lazy *z, uint32_t c)
{
    const added_choice *said = &z->added->x->choices.at[c];
    assert(z->added->queued[c] && !choice_met(z, c));
    if (!z->added->written[c]) {
        write_choice_clause(z, c);
        return THEORY_ANY;
    }
    uint32_t best = LIT_NONE;
    uint64_t shortest = UINT64_MAX;
    for (uint32_t s = said->first_set; s < said->first_set + said->sets; s++) {
        uint64_t way;
        uint32_t lit = set_literal(z, s, &way);
        if (lit == LIT_NONE || way >= shortest) continue;
        best = lit;
        shortest = way;
    }
    return best != LIT_NONE ? best : outcome_literal(z, said);
}

bool added_mend(lazy *z, uint32_t *answer)
{
    struct added_search *d = z->added;
    while (d && d->queue.n) {
        uint32_t c = d->queue.at[d->queue.n - 1];
        guard_tick(z->m->guard);
        if (!choice_met(z, c)) {
            *answer = mend_choice(z, c);
            return true;
        }
        d->queue.n--;
        d->queued[c] = 0;
    }
    return false;
}

bool added_clean(const lazy *z)
{
    return !z->added || !z->added->queue.n;
}

bool added_at_rest(const lazy *z)
{
    for (uint32_t c = 0; z->added && c < z->added->x->choices.n; c++)
        if (!z->added->queued[c] && !choice_met(z, c)) return false;
    return true;
}
