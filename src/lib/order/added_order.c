/*
 * added_order.c - see added_order.h.
 */
#include "order/added_order.h"

#include <assert.h>

#include "asg/asg.h"

const char *added_refusal(const level_rule *rule, const additions *add)
{
    if (!rule || rule->strict == STRICT_IGNORED)
        return "the level does not take what modules add: it has no order of transactions";
    if (rule->path & PATH_WORDS)
        return "the level does not take what modules add: its paths are those of a file";
    if (rule->strict == STRICT_UPDATES)
        return "the level does not take what modules add: its readers are in no common order";
    if (rule_split_of(rule->level) != SPLIT_NONE)
        return "the level does not take what modules add: it orders parts of transactions";
    if (rule->path & (PATH_SAW | PATH_VIA) || (rule->path && !(rule->path & PATH_WR)))
        return "the level does not take what modules add: it is a guarantee of sessions alone";
    for (size_t i = 0; i < add->at.n && rule->path & PATH_SO; i++) {
        const addition *x = &add->at.at[i];
        uint32_t end = add->set_end.at[x->first_set + x->sets - 1];
        for (uint32_t e = additions_set_first(add, x->first_set); e < end && x->sets > 1; e++)
            if (add->edges.at[e].kind == ADDED_DEPENDS)
                return "a module added a dependency in a clause or a choice, which levels of "
                       "paths do not take";
    }
    return NULL;
}

/* --- from edges to arcs ----------------------------------------------------------------------- */

enum arc_truth { ARC_OPEN, ARC_TRUE };

static uint32_t event_at(const order_problem *p, uint32_t of, uint8_t at, node_id *node)
{
    *node = NO_ID;
    if (at == AT_POINT) return p->added->first_point + of;
    *node = p->g->txn_node[of];
    if (*node == NO_ID) return NO_ID;
    return at == AT_BEGIN ? begin_of(p, *node) : commit_of(p, *node);
}

/* The arc of an edge; ARC_TRUE: there is nothing to ask for. */
static enum arc_truth arc_of(const order_problem *p, const added_edge *e, added_arc *out)
{
    out->from = event_at(p, e->from, e->from_at, &out->a);
    out->to = event_at(p, e->to, e->to_at, &out->b);
    if (out->from == NO_ID || out->to == NO_ID) return ARC_TRUE; /* one of them was aborted */
    bool own = out->a != NO_ID && out->a == out->b;
    return own && e->from_at == AT_BEGIN && e->to_at == AT_COMMIT ? ARC_TRUE : ARC_OPEN;
}

static bool surely_in(const order_problem *p, node_id v)
{
    return v == NO_ID || p->in[v];
}

/* One choice of one set of one arc. */
static void add_single(order_problem *p, added_order *x, uint32_t of, uint32_t number,
                       added_arc between)
{
    added_choice c = {of, number, (uint32_t)x->set_end.n, 1};
    vec_push(p->m, &x->arcs, between);
    vec_push(p->m, &x->set_end, (uint32_t)x->arcs.n);
    vec_push(p->m, &x->set_of, 0);
    vec_push(p->m, &x->single, 1);
    vec_push(p->m, &x->choices, c);
}

/* A plain statement: each of its edges counts. */
static void add_plain(order_problem *p, added_order *x, uint32_t of, bool logged)
{
    const additions *add = x->from;
    uint32_t set = add->at.at[of].first_set, first = additions_set_first(add, set);
    for (uint32_t e = first; e < add->set_end.at[set]; e++) {
        added_arc between;
        if (arc_of(p, &add->edges.at[e], &between) == ARC_TRUE) continue;
        between.edge = e - first;
        bool whole = between.a != NO_ID && between.b != NO_ID && between.a != between.b &&
                     between.from == commit_of(p, between.a) &&
                     between.to == begin_of(p, between.b);
        bool in = surely_in(p, between.a);
        arc known = {between.from, between.to};
        if (logged || between.from == between.to)
            add_single(p, x, of, e - first, between);
        else if (in && whole && surely_in(p, between.b))
            problem_depend(p, between.a, between.b);
        else if (in)
            vec_push(p->m, &p->known, known);
        else
            vec_push(p->m, &p->unsure, known);
    }
}

/* A clause or a choice. */
static void add_choice(order_problem *p, added_order *x, uint32_t of)
{
    const additions *add = x->from;
    const addition *said = &add->at.at[of];
    added_choice c = {of, NO_ID, (uint32_t)x->set_end.n, 0};
    size_t arcs = x->arcs.n;
    for (uint32_t s = 0; s < said->sets; s++) {
        uint32_t set = said->first_set + s;
        uint32_t first = additions_set_first(add, set);
        size_t before = x->arcs.n;
        for (uint32_t e = first; e < add->set_end.at[set]; e++) {
            added_arc between;
            if (arc_of(p, &add->edges.at[e], &between) == ARC_TRUE) continue;
            between.edge = e - first;
            vec_push(p->m, &x->arcs, between);
        }
        if (x->arcs.n == before) { /* the set is true, whatever the order */
            x->arcs.n = arcs;
            x->set_end.n = x->set_of.n = x->single.n = c.first_set;
            return;
        }
        vec_push(p->m, &x->single, add->set_end.at[set] - first == 1);
        vec_push(p->m, &x->set_end, (uint32_t)x->arcs.n);
        vec_push(p->m, &x->set_of, s);
        c.sets++;
    }
    vec_push(p->m, &x->choices, c);
}

/* The steps of paths: plain dependencies, by the transaction that depends. */
static void index_depends(order_problem *p, added_order *x)
{
    const additions *add = x->from;
    x->dep_first = mem_array0(p->m, uint32_t, (size_t)p->txns + 2);
    for (int fill = 0; fill < 2; fill++) {
        if (fill) {
            for (node_id v = 1; v <= p->txns; v++) x->dep_first[v + 1] += x->dep_first[v];
            x->dep = mem_array(p->m, node_id, (size_t)x->dep_first[p->txns + 1] + 1);
            x->dep_of = mem_array(p->m, uint32_t, (size_t)x->dep_first[p->txns + 1] + 1);
        }
        for (size_t i = 0; i < add->at.n; i++) {
            const addition *said = &add->at.at[i];
            if (said->sets != 1) continue;
            uint32_t end = add->set_end.at[said->first_set];
            for (uint32_t e = additions_set_first(add, said->first_set); e < end; e++) {
                added_arc between;
                if (add->edges.at[e].kind != ADDED_DEPENDS) continue;
                if (arc_of(p, &add->edges.at[e], &between) == ARC_TRUE || between.a == between.b)
                    continue;
                if (!fill) {
                    x->dep_first[between.b + 2]++;
                    continue;
                }
                x->dep_of[x->dep_first[between.b + 1]] = (uint32_t)i;
                x->dep[x->dep_first[between.b + 1]++] = between.a;
            }
        }
    }
    /* Filling moved each border to the next one. */
    assert(x->dep_first[0] == 0);
}

void added_build(order_problem *p, const additions *add, bool logged)
{
    added_order *x = mem_zeroed(p->m, sizeof *x);
    assert(!p->added && !additions_check(add, p->g->h->txns));
    p->added = x;
    x->from = add;
    x->first_point = p->events;
    if (add->points > UINT32_MAX / 4 - p->events)
        guard_fail(p->m->guard, GUARD_UNSUPPORTED, "a module made more than 2^29 helper points");
    p->events += add->points;
    for (uint32_t i = 0; i < add->at.n; i++) {
        if (add->at.at[i].sets == 1)
            add_plain(p, x, i, logged);
        else
            add_choice(p, x, i);
        guard_tick(p->m->guard);
    }
    index_depends(p, x);
    assert(x->set_end.n == x->set_of.n && x->set_end.n == x->single.n);
}

/* --- after the search ------------------------------------------------------------------------- */

bool added_kept(const order_problem *p, const uint32_t *pos, const uint8_t *out)
{
    const added_order *x = p->added;
    for (size_t i = 0; x && i < x->from->at.n; i++) {
        const addition *said = &x->from->at.at[i];
        bool kept = false;
        for (uint32_t s = said->first_set; s < said->first_set + said->sets && !kept; s++) {
            kept = true;
            for (uint32_t e = additions_set_first(x->from, s); e < x->from->set_end.at[s]; e++) {
                added_arc between;
                if (arc_of(p, &x->from->edges.at[e], &between) == ARC_TRUE) continue;
                bool absent = (between.a != NO_ID && out[between.a]) ||
                              (between.b != NO_ID && out[between.b]);
                if (!absent && pos[between.from] >= pos[between.to]) kept = false;
            }
        }
        if (!kept) return false;
    }
    return true;
}
