/*
 * justify_stuck.c - why whole transactions wait in a circle, as hops of one step (`stuck`).
 *
 * InnoDB's levels order the parts of transactions, and want the whole ones to be read-committed
 * too.  Forward chaining (decide/weak/forward_chain.c) has left some out, of those that exist in
 * the model: each of them waits for others.  From one of them on, each gives one reason: a read
 * whose sources all wait or do not exist, or an older version of one that waits.
 */
#include <assert.h>

#include "decide/proof/justify_internal.h"

typedef struct waiting {
    justify *j;
    const asg *g; /* of whole transactions */
    const decision *a;
    const uint8_t *present;
    const node_id *part;
    uint32_t *open_of;
    uint8_t *told; /* per node: it is in `todo`, or was; or it is said to be out */
    u32s todo;
} waiting;

static void wait_for(waiting *w, node_id v)
{
    if (w->told[v]) return;
    w->told[v] = 1;
    if (w->present[v])
        vec_push(w->j->m, &w->todo, v);
    else
        justify_hop(w->j, (proof_hop){HOP_OUT, w->part[v], 0, 0});
}

static bool waits(const waiting *w, uint32_t v)
{
    return v < RF_LAST && (!w->present[v] || w->a->out[v]);
}

/* A read of v none of whose sources was there before it; false: there is none. */
static bool tell_read(waiting *w, node_id v)
{
    const asg *g = w->g;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t rf = w->a->rf[ob], open = w->open_of ? w->open_of[ob] : NONE;
        if (rf != RF_OPEN && !waits(w, rf)) continue;
        justify_hop(w->j, (proof_hop){HOP_WAITS, w->part[v], g->ob_op[ob], g->ob_key[ob]});
        if (g->ob_rf[ob] != RF_OPEN) {
            wait_for(w, g->ob_rf[ob]);
            return true;
        }
        assert(open != NONE);
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
            if (asg_cand(g, open, i) < RF_LAST) wait_for(w, asg_cand(g, open, i));
        return true;
    }
    return false;
}

static void tell_reason(waiting *w, node_id v)
{
    const asg *g = w->g;
    if (g->barred[v]) {
        justify_hop(w->j, (proof_hop){HOP_WRONG, w->part[v], 0, 0});
        return;
    }
    if (tell_read(w, v)) return;
    for (uint32_t i = g->extra_head[v]; i != NO_ID; i = g->extra.at[i].next) {
        node_id from = g->extra.at[i].from;
        if (!w->present[from] || !w->a->out[from]) continue;
        /* (edges of parts have the numbers of those of whole transactions) */
        justify_hop(w->j, (proof_hop){HOP_AFTER, w->part[v], i, w->part[from]});
        wait_for(w, from);
        return;
    }
    assert(false && "a transaction that waits for nothing");
}

void justify_stuck(justify *j, const decision *a, const uint8_t *present, const node_id *part)
{
    asg *g = j->g->unsplit;
    node_id first = NO_ID;
    waiting w = {.j = j, .g = g, .a = a, .present = present, .part = part};
    for (node_id v = 0; v < g->nodes; v++) /* one that surely committed says most */
        if (present[v] && a->out[v] && (first == NO_ID || (g->maybe[first] && !g->maybe[v])))
            first = v;
    assert(first != NO_ID && j->g->base_extra >= g->base_extra);
    if (g->open.n) w.open_of = asg_open_of(g);
    w.told = mem_array0(j->m, uint8_t, (size_t)g->nodes + 1);
    j->hops.n = 0;
    justify_reason(j, BECAUSE_STUCK, NO_ID, NO_ID, part[first]);
    wait_for(&w, first);
    while (w.todo.n) tell_reason(&w, w.todo.at[--w.todo.n]);
    mem_put(j->m, w.told);
    mem_put(j->m, w.open_of);
    vec_free(j->m, &w.todo);
}
