/*
 * exhaustive_graph.c - the levels between read-committed and serializability, of at most 8
 * transactions, by trying.
 *
 * All these levels ask that session order (where it counts), read-from and version order have no
 * cycle, so each witness is a commit order, in which versions are ordered by their commits, and a
 * source before it for each read.  The search places one transaction after the other, with each
 * source that can have given its reads what they returned, and tests the level's condition on what
 * is placed.  Every condition here grows with the order (what leads to a transaction stands before
 * it; cycles stay), so a part that fails has no completion.
 *
 * Two neighbours without a common key, session or hint may change places: of such pairs only one
 * order is tried, except at prefix, where a snapshot is a part of the whole order.
 */
#include <assert.h>

#include "decide/exhaustive/exhaustive.h"
#include "order/order_problem.h"

typedef uint8_t set; /* of nodes */

typedef struct graph_search {
    const level_rule *rule;
    uint32_t *rf;            /* per obligation */
    set session[WEAK_SMALL]; /* all that stand before it in its session; empty if not counted */
    set related[WEAK_SMALL]; /* may not change places */
    set led[WEAK_SMALL];     /* per placed node: all that leads to it */
} graph_search;

static set bit(node_id v)
{
    assert(v < WEAK_SMALL && WEAK_SMALL <= 8 * sizeof(set));
    return (set)(1u << v);
}

static bool strict(const asg *g, const level_rule *rule, uint32_t ob)
{
    bool item = !(g->ob_flags[ob] & OB_PRED);
    if (rule->events || !item) return false;
    return rule->strict == STRICT_ITEM ||
           (rule->strict == STRICT_OWN && asg_install(g, g->ob_node[ob], g->ob_key[ob]) != NO_ID);
}

static uint32_t place_of(const small *z, uint32_t rf)
{
    return rf < WEAK_SMALL ? z->place[rf] : 0; /* 0: the initial version */
}

/* --- conditions ------------------------------------------------------------------------------ */

/* Does a version behind the one that was read come from the set? */
static bool missed(const small *z, uint32_t ob, set from)
{
    const graph_search *t = z->more;
    const asg *g = z->g;
    assert(z->n <= WEAK_SMALL);
    if (t->rf[ob] == RF_NONE) return false;
    for (uint32_t p = place_of(z, t->rf[ob]); p < z->n; p++)
        if (from & bit(z->order[p]) && asg_install(g, z->order[p], g->ob_key[ob]) != NO_ID &&
            z->order[p] != g->ob_node[ob])
            return true;
    return false;
}

/* What leads to v in one step, by its operations before `end`. */
static set one_step(const small *z, node_id v, op_id end)
{
    const graph_search *t = z->more;
    const asg *g = z->g;
    set from = t->rule->path & PATH_SO ? t->session[v] : 0;
    assert(z->place[v] && z->order[z->place[v] - 1] == v);
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
        if (t->rf[ob] < RF_LAST && g->ob_op[ob] < end) from |= bit(t->rf[ob]);
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        if (!(t->rule->path & (PATH_WW | PATH_NEXT)) || g->inst_op[j] >= end) continue;
        for (uint32_t p = z->place[v] - 1; p-- > 0;) {
            if (asg_install(g, z->order[p], g->inst_key[j]) == NO_ID) continue;
            from |= bit(z->order[p]);
            if (t->rule->path & PATH_NEXT) break;
        }
    }
    return from;
}

static set many_steps(const small *z, set from)
{
    const graph_search *t = z->more;
    set all = from;
    assert(!(from >> (z->g->nodes - 1) >> 1)); /* nodes only */
    for (node_id u = 0; u < z->g->nodes; u++)
        if (from & bit(u)) all |= t->led[u];
    return all;
}

static bool paths_ok(const small *z, node_id v)
{
    graph_search *t = z->more;
    const asg *g = z->g;
    t->led[v] = many_steps(z, one_step(z, v, NO_ID));
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        /* Rows of one scan are one event: simultaneous, where only one step counts. */
        op_id end = !t->rule->arrives_earlier ? NO_ID
                    : t->rule->single_step    ? g->ob_op[ob]
                                              : g->ob_op[ob] + 1;
        set seen = one_step(z, v, end);
        if (!t->rule->single_step) seen = many_steps(z, seen);
        if (missed(z, ob, seen)) return false;
    }
    return true;
}

/* All reads fit one prefix of the order, the own session in it. */
static bool prefix_ok(const small *z, node_id v)
{
    const graph_search *t = z->more;
    const asg *g = z->g;
    for (uint32_t s = 0; s < z->place[v]; s++) {
        bool fits = true;
        for (uint32_t p = s; p < z->place[v]; p++)
            fits = fits && !(t->session[v] & bit(z->order[p]));
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1] && fits; ob++) {
            uint32_t w = place_of(z, t->rf[ob]);
            if (t->rf[ob] == RF_NONE) continue;
            fits = w <= s;
            for (uint32_t p = w; p < s; p++)
                fits = fits && asg_install(g, z->order[p], g->ob_key[ob]) == NO_ID;
        }
        if (fits) return true;
    }
    return false;
}

/* No cycle of session order, read-from, version order and anti-dependencies among the updates, nor
   with any one reader. */
static bool updates_ok(const small *z)
{
    const graph_search *t = z->more;
    const asg *g = z->g;
    set to[WEAK_SMALL] = {0}, placed = 0, updates = 0;
    for (uint32_t p = 0; p < z->n; p++) placed |= bit(z->order[p]);
    for (node_id v = 0; v < g->nodes; v++) {
        if (!(placed & bit(v))) continue;
        if (g->inst_first[v] < g->inst_first[v + 1]) updates |= bit(v);
        for (node_id u = 0; u < g->nodes; u++) {
            if (!(placed & bit(u)) || u == v) continue;
            if (t->session[v] & bit(u)) to[u] |= bit(v);
            for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
                if (t->rf[ob] == u) to[u] |= bit(v);
                if (missed(z, ob, bit(u))) to[v] |= bit(u);
            }
            for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
                if (asg_install(g, u, g->inst_key[j]) != NO_ID && z->place[u] < z->place[v])
                    to[u] |= bit(v);
        }
    }
    set reach[WEAK_SMALL];
    for (node_id v = 0; v < g->nodes; v++) reach[v] = updates & bit(v) ? to[v] & updates : 0;
    for (node_id m = 0; m < g->nodes; m++)
        for (node_id v = 0; v < g->nodes; v++)
            if (reach[v] & bit(m)) reach[v] |= reach[m];
    for (node_id v = 0; v < g->nodes; v++) {
        if (reach[v] & bit(v)) return false;
        if (!(placed & bit(v)) || updates & bit(v)) continue;
        set after = to[v] & updates;
        for (node_id u = 0; u < g->nodes; u++)
            if (to[v] & updates & bit(u)) after |= reach[u];
        for (node_id u = 0; u < g->nodes; u++)
            if (after & bit(u) && to[u] & bit(v)) return false;
    }
    return true;
}

/* --- the search ------------------------------------------------------------------------------ */

static bool place_next(small *z);

static bool place_txn(small *z, node_id v)
{
    const graph_search *t = z->more;
    assert(z->n < WEAK_SMALL && !z->place[v] && !z->out[v]);
    z->order[z->n++] = v;
    z->place[v] = z->n;
    bool ok = t->rule->events                     ? prefix_ok(z, v)
              : t->rule->strict == STRICT_UPDATES ? updates_ok(z)
              : t->rule->path                     ? paths_ok(z, v)
                                                  : true;
    if (ok && place_next(z)) return true;
    z->place[v] = 0;
    z->n--;
    return false;
}

/* Tries every source for each read of v from ob on, with v placed after all that are placed. */
static bool choose_sources(small *z, node_id v, uint32_t ob)
{
    graph_search *t = z->more;
    asg *g = z->g;
    if (ob == g->ob_first[v + 1]) return place_txn(z, v);
    key_id k = g->ob_key[ob];
    version own = {0};
    enum own kind = g->list_key[k] ? version_own(g, ob, &own) : OWN_NOTHING;
    vec_free(g->m, &own.list);
    for (uint32_t s = z->n + 1; s-- > 0;) {
        if (s && asg_install(g, z->order[s - 1], k) == NO_ID) continue;
        key_list bound = {0};
        t->rf[ob] = kind == OWN_SETS ? RF_NONE : s ? z->order[s - 1] : RF_INIT;
        bool found = small_sees(z, ob, s, &bound) && choose_sources(z, v, ob + 1);
        for (size_t i = 0; i < bound.n && !found; i++) z->initial[bound.at[i]].bound = false;
        vec_free(g->m, &bound);
        if (found) return true;
        /* Own writes need no source, and own appends are behind the version they saw. */
        if (kind != OWN_NOTHING || strict(g, t->rule, ob)) break;
    }
    return false;
}

static bool place_next(small *z)
{
    const graph_search *t = z->more;
    const asg *g = z->g;
    if (z->n == z->want) return true;
    guard_tick(g->m->guard);
    for (node_id v = 0; v < g->nodes; v++) {
        if (z->out[v] || z->place[v] || !small_ready(z, v)) continue;
        if (z->n && !t->rule->events) {
            node_id last = z->order[z->n - 1];
            if (v < last && !(t->related[v] & bit(last))) continue;
        }
        if (choose_sources(z, v, g->ob_first[v])) return true;
    }
    return false;
}

/* --- setting up ------------------------------------------------------------------------------ */

static bool touches(const asg *g, node_id v, key_id k)
{
    bool yes = asg_install(g, v, k) != NO_ID;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) yes |= g->ob_key[ob] == k;
    return yes;
}

static bool common_key(const asg *g, node_id u, node_id v)
{
    bool yes = false;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
        yes |= touches(g, u, g->ob_key[ob]);
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
        yes |= touches(g, u, g->inst_key[j]);
    return yes;
}

bool small_graph(asg *g, const level_rule *rule, bool so, node_id *order, uint32_t *rf, uint32_t *n)
{
    graph_search t = {.rule = rule, .rf = rf};
    small z = {.g = g, .so = so, .more = &t};
    for (node_id v = 0; v < g->nodes; v++) {
        for (node_id u = so ? g->so_pred[v] : NO_ID; u != NO_ID; u = g->so_pred[u])
            t.session[v] |= bit(u);
        for (node_id u = 0; u < g->nodes; u++)
            if (common_key(g, u, v)) t.related[v] |= bit(u);
    }
    for (node_id v = 0; v < g->nodes; v++)
        for (node_id u = 0; u < g->nodes; u++)
            if (t.session[v] & bit(u)) t.related[u] |= bit(v), t.related[v] |= bit(u);
    for (size_t i = 0; i < g->hint_extra; i++) {
        t.related[g->extra.at[i].from] |= bit(g->extra.at[i].to);
        t.related[g->extra.at[i].to] |= bit(g->extra.at[i].from);
    }
    if (!small_outcomes(&z, place_next)) return false;
    assert(z.n == z.want);
    *n = z.n;
    memcpy(order, z.order, z.n * sizeof *order);
    for (uint32_t i = 0; i < z.n; i++) assert(z.place[order[i]] == i + 1);
    return true;
}
