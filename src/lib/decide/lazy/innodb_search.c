/*
 * innodb_search.c - InnoDB's levels in the search: the parts of transactions are ordered by lazy.c,
 * while the whole ones must be read-committed by themselves, with sources of their own (levels.md
 * MDB-1).
 *
 * What is certain of that was decided before the search.  Here it is asked again of the
 * transactions of unknown outcome that exist in the model: if some wait for each other in a circle,
 * one of them does not exist, or somebody else does whom one of them read from.
 *
 * Where initial values are a choice, both orders must agree on these too; and the order of lists
 * with repeated elements, writes or deletes is searched in each of the two by itself.  Then
 * chaining is not enough: read-committed is a search of its own, with the outcomes and values of
 * the model.  If it fails, one of these is otherwise.
 *
 * Who takes no part in the model may be undecided still, and only cb_decide decides it: a clause
 * that leaves two of these free moves nothing, and would be asked for again for ever.
 */
#include <assert.h>

#include "decide/lazy/initial_values.h"
#include "decide/lazy/slot_search.h"
#include "decide/weak/weak.h"

/* Does the read wait for a source, because none took part, or the one it had was left out? */
static bool waits_for_source(const decision *a, uint32_t ob)
{
    uint32_t rf = a->rf[ob];
    return rf == RF_OPEN || (rf < RF_LAST && a->out[rf]);
}

/* Nothing in the clause that was begun is true now.  With two free literals or more it would move
   nothing: then the first of them is to be decided, and the clause is not to be written yet. */
static bool must_decide(const lazy *z, uint32_t *answer)
{
    size_t n_free = 0;
    *answer = THEORY_ANY;
    for (size_t i = 0; i < z->lits.n; i++) {
        int value = solver_value(z->s, z->lits.at[i]);
        assert(value <= 0 && "the model breaks the clause");
        if (value == 0 && !n_free++) *answer = z->lits.at[i];
    }
    if (n_free > 1) return true;
    *answer = THEORY_ANY;
    return false;
}

/* Writes that one of those that wait in a circle does not take part, or that a source which takes
   no part now does; or answers with such a source. */
static uint32_t write_stuck(lazy *z, const decision *a, const uint8_t *present, const node_id *part)
{
    const asg *g = z->g->unsplit;
    assert(!a->holds && z->taken_var);
    uint32_t answer;
    lazy_clause_start(z);
    for (node_id v = 0; v < g->nodes; v++) {
        if (!a->out[v] || !z->present[part[v]]) continue;
        lazy_clause_unless(z, part[v]);
        lazy_add_core(z, part[v]);
    }
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i];
        if (!z->present[part[g->ob_node[ob]]] || !waits_for_source(a, ob)) continue;
        for (uint32_t j = g->cand_first.at[i]; j < g->cand_first.at[i + 1]; j++) {
            uint32_t c = asg_cand(g, i, j);
            if (c >= RF_LAST || z->present[part[c]]) continue;
            lazy_clause_lit(z, lit_of(z->taken_var[part[c]], false));
        }
    }
    if (must_decide(z, &answer)) return answer;
    if (z->j) justify_stuck(z->j, a, present, part);
    lazy_clause_end(z);
    return answer;
}

void whole_decide(order_problem *p, asg *g, const tuning *tune, const uint8_t *present,
                  const value_id *initial, decision *a)
{
    order_question ask = {
        .rule = rule_of(LEVEL_RC), .tune = tune, .present = present, .initial = initial};
    problem_build(p, g, &ask);
    lazy_decide(p, 0, a);
    if (a->holds) lazy_commit_order(p, a);
}

/* With initial values or the order of lists to choose: are the whole transactions read-committed,
   with the initial values of the model and its outcomes? */
static bool search_whole(lazy *z, uint32_t *answer)
{
    asg *s = z->g, *g = s->unsplit;
    size_t n;
    uint8_t *present = mem_array(z->m, uint8_t, (size_t)g->nodes + 1);
    value_id *initial = mem_array(z->m, value_id, history_keys(g->h) + 1);
    uint32_t *lits = mem_array(z->m, uint32_t, initial_lits(z) + slots_initial_lits(z) + 1);
    decision *whole = mem_array0(z->m, decision, 1);
    for (node_id v = 0; v < s->nodes; v++) present[s->whole[v]] = z->present[v];
    initial_chosen(z, initial, lits, &n);
    slots_initial_chosen(z, initial, lits, &n);
    order_problem p;
    whole_decide(&p, g, z->p->tune, present, initial, whole);
    if (whole->holds || whole->undecided) {
        z->a->whole = whole; /* undecided: so is the whole question, and the search is to end */
        z->whole = z->epoch;
    } else {
        lazy_clause_start(z);
        for (size_t i = 0; i < n; i++) lazy_clause_lit(z, lit_not(lits[i]));
        for (size_t i = 0; i < z->unknown.n; i++) {
            node_id v = z->unknown.at[i];
            lazy_clause_lit(z, lit_of(z->taken_var[v], z->present[v]));
            lazy_add_core(z, v);
        }
        if (!must_decide(z, answer)) lazy_clause_end(z);
    }
    return !whole->holds && !whole->undecided;
}

bool split_broken(lazy *z, uint32_t *answer)
{
    asg *s = z->g, *g = s->unsplit;
    if (split_clean(z)) return false;
    if (z->initial || z->slots) return search_whole(z, answer);
    node_id *part = mem_array(z->m, node_id, (size_t)g->nodes + 1); /* one of its parts */
    uint8_t *present = mem_array(z->m, uint8_t, (size_t)g->nodes + 1);
    for (node_id v = 0; v < s->nodes; v++) {
        part[s->whole[v]] = v;
        present[s->whole[v]] = z->present[v];
    }
    decision a = {0};
    a.order = mem_array(z->m, node_id, (size_t)g->nodes + 1);
    a.out = mem_array(z->m, uint8_t, (size_t)g->nodes + 1);
    a.rf = mem_array(z->m, uint32_t, g->obs + 1);
    memcpy(a.rf, g->ob_rf, g->obs * sizeof *a.rf);
    chain_decide(g, false, present, &a);
    bool broken = !a.holds;
    if (broken) {
        *answer = write_stuck(z, &a, present, part);
    } else {
        z->whole = z->epoch;
    }
    mem_put(z->m, part);
    mem_put(z->m, present);
    mem_put(z->m, a.order);
    mem_put(z->m, a.out);
    mem_put(z->m, a.rf);
    return broken;
}

bool split_clean(const lazy *z)
{
    return !z->g->unsplit || !(z->unknown.n || z->initial || z->slots) || z->whole == z->epoch;
}
