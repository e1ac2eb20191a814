/*
 * weak.c - see weak.h.
 */
#include "decide/weak/weak.h"

#include <assert.h>

#include "decide/exhaustive/unordered_lists.h"
#include "opt/anomaly.h"

bool weak_test(asg *g, const view *w, enum weak_level level, decision *a, bool explain)
{
    if (level >= WEAK_RYW) return session_test(g, w, level, a);
    size_t keep = g->extra.n;
    assert(level > WEAK_RU && level <= WEAK_CC && a->order);
    view base = *w;
    bool ok = true;
    a->why = WHY_NONE;
    if (level == WEAK_CC) {
        /* Causality is a matter of so and wr alone: version orders do not make it. */
        base.extra = false;
        ok = graph_order(g, &base, a->order, &a->n, &a->path);
        if (!ok) a->why = WHY_CYCLE;
    }
    if (ok && level > WEAK_RC) {
        enum derive_level d = level == WEAK_MAV  ? DERIVE_MAV
                              : level == WEAK_RA ? DERIVE_RA
                                                 : DERIVE_CC;
        ok = derive_edges(g, w, d, a->order, a->n, &a->bad_ob, &a->bad_node);
        if (!ok) a->why = WHY_INIT;
    }
    if (ok) {
        base = *w;
        ok = graph_order(g, &base, a->order, &a->n, &a->path);
        if (!ok) a->why = WHY_CYCLE;
    }
    if (!ok && explain && a->why == WHY_CYCLE) graph_shorten(g, &base, &a->path);
    a->derived = g->extra.n - keep;
    asg_drop_edges(g, keep);
    assert(g->extra.n == keep && ok == (a->why == WHY_NONE));
    return ok;
}

/* Is there anything to choose?  Unknown transactions that nobody must have read from are left
   out, which is always the weaker choice (levels.md H-3). */
static bool ambiguous(const asg *g)
{
    if (g->wild_lists || g->init_open) return true;
    for (size_t i = 0; i < g->open.n; i++)
        if (asg_in(g, g->ob_node[g->open.at[i]])) return true;
    return false;
}

static bool unsure_order(const asg *g)
{
    for (size_t i = 0; i < g->extra.n; i++)
        if (!asg_in(g, g->extra.at[i].from)) return true;
    return false;
}

bool weak_unread_orders(asg *g, decision *a)
{
    for (size_t i = 0; i < g->faults.n; i++) {
        uint32_t kind = g->faults.at[i].anomaly;
        if (kind != ANOMALY_MALFORMED_RESULT && kind != ANOMALY_GARBAGE_READ &&
            kind != ANOMALY_DUPLICATE_ELEMENTS)
            continue;
        if (g->maybe[g->faults.at[i].node]) continue; /* needed by reads only: left out here */
        a->why = WHY_FAULT;
        a->fault = i;
        return false;
    }
    /* Reads do not count, so nobody needs an unknown transaction. */
    for (node_id v = 0; v < g->nodes; v++) a->out[v] = g->maybe[v];
    assert(g->hint_extra <= g->extra.n);
    asg_drop_edges(g, g->hint_extra);
    for (uint32_t ob = 0; ob < asg_obs(g); ob++) a->rf[ob] = RF_NONE;
    if (asg_list_orders(g, &a->fault)) return true;
    a->why = WHY_FAULT;
    return false;
}

static void decide_ru(asg *g, bool so, decision *a)
{
    bool ok;
    if (!weak_unread_orders(g, a)) return;
    view w = {.so = so, .extra = true, .rf = NULL, .out = a->out};
    if (!g->wild_lists) {
        ok = weak_test(g, &w, WEAK_RC, a, true);
    } else if (g->nodes > WEAK_SMALL) {
        a->undecided = "lists with repeated elements, writes or deletes need a search that this "
                       "build does for up to 8 transactions";
        return;
    } else {
        ok = wild_decide(g, WEAK_RU, so, a);
        if (!ok) a->why = WHY_SEARCH;
    }
    a->holds = ok;
}

void weak_decide(asg *g, enum weak_level level, bool so, bool search, decision *a)
{
    memset(a, 0, sizeof *a);
    guard_stage(g->m->guard, "decide", NULL, 0);
    a->order = mem_array(g->m, node_id, (size_t)g->nodes + 1);
    a->out = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    a->rf = g->ob_rf;
    assert(level != WEAK_NONE);
    if (level == WEAK_RU) {
        a->rf = mem_array(g->m, uint32_t, asg_obs(g) + 1);
        decide_ru(g, so, a);
        return;
    }
    if (g->faults.n) {
        a->why = WHY_FAULT;
        return;
    }
    if (!ambiguous(g)) {
        for (node_id v = 0; v < g->nodes; v++) a->out[v] = !asg_in(g, v);
        view w = {.so = so, .extra = true, .rf = g->ob_rf, .out = a->out};
        a->holds = weak_test(g, &w, level, a, true);
        return;
    }
    a->rf = mem_array(g->m, uint32_t, asg_obs(g) + 1);
    memcpy(a->rf, g->ob_rf, asg_obs(g) * sizeof *a->rf);
    bool chains = !g->wild_lists && !g->init_open && !unsure_order(g);
    /* What is not read-committed is refuted before many outcomes are tried. */
    bool first = search && g->unknown && g->nodes > WEAK_SMALL &&
                 (level == WEAK_MAV || level == WEAK_RA || level == WEAK_CC);
    if (chains && (level == WEAK_RC || first)) {
        chain_decide(g, so, NULL, a);
        a->by = BY_CHAINING;
        if (level == WEAK_RC || !a->holds) return;
        a->holds = false;
        a->n = 0;
        memcpy(a->rf, g->ob_rf, asg_obs(g) * sizeof *a->rf);
        memset(a->out, 0, g->nodes);
    }
    choose_decide(g, level, so, search, a);
    a->by = g->wild_lists ? BY_EXHAUSTIVE : BY_SOURCES;
}
