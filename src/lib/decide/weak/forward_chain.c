/*
 * forward_chain.c - read-committed with ambiguous reads, by forward chaining
 * (doc/algorithms/weak.md).
 *
 * Take any transaction whose session predecessor is taken and each of whose reads has a taken
 * candidate, until nothing moves.  Taking never hurts another transaction, so the order of taking
 * does not matter, and the history satisfies the level iff every committed one is taken.  Reads
 * with the same candidates wait together, so that a group of candidates is walked once.
 */
#include <assert.h>

#include "decide/weak/weak.h"

typedef struct chain {
    asg *g;
    bool so;
    const uint8_t *present;
    decision *a;
    uint32_t *missing; /* per node: what it still waits for */
    uint8_t *taken;
    uint32_t *wait_first, *wait_ob; /* obligations that wait for a node */
    uint32_t *in_first, *in_group;  /* groups of candidates that a node is in */
    uint32_t *group_first, *open;   /* open obligations by group, as indices of g->open: */
    uint32_t *group_end;            /* those that still wait stand first, up to here */
    uint32_t *succ_first, *succ;    /* extra edges by source */
} chain;

/* what[i], in the order of i, for each node who[i]. */
static uint32_t *by_node(asg *g, const uint32_t *who, const uint32_t *what, size_t n,
                         uint32_t **first)
{
    uint32_t *index = asg_group(g, who, n, g->nodes, first);
    for (size_t i = 0; i < n; i++) index[i] = what[index[i]];
    return index;
}

static void index_waits(chain *c)
{
    asg *g = c->g;
    VEC(uint32_t) who = {0}, what = {0};
    for (uint32_t ob = 0; ob < asg_obs(g); ob++) {
        guard_tick(g->m->guard);
        if (g->ob_rf[ob] >= RF_LAST) continue;
        vec_push(g->m, &who, g->ob_rf[ob]);
        vec_push(g->m, &what, ob);
    }
    c->wait_ob = by_node(g, who.at, what.at, who.n, &c->wait_first);
    who.n = what.n = 0;
    for (size_t i = 0; i < g->extra.n; i++) {
        vec_push(g->m, &who, g->extra.at[i].from);
        vec_push(g->m, &what, g->extra.at[i].to);
    }
    c->succ = by_node(g, who.at, what.at, who.n, &c->succ_first);
    vec_free(g->m, &who);
    vec_free(g->m, &what);
}

/* What each group's members, and the reads that have it, are. */
static void index_groups(chain *c)
{
    asg *g = c->g;
    VEC(uint32_t) who = {0}, what = {0};
    for (uint32_t i = 0; i < g->cand_groups.n; i++) {
        cand_group x = g->cand_groups.at[i];
        for (uint32_t j = x.first; j < x.first + x.n; j++) {
            if (g->cand_pool.at[j] >= RF_LAST) continue;
            vec_push(g->m, &who, g->cand_pool.at[j]);
            vec_push(g->m, &what, i);
        }
        guard_tick(g->m->guard);
    }
    c->in_group = by_node(g, who.at, what.at, who.n, &c->in_first);
    vec_free(g->m, &who);
    vec_free(g->m, &what);
    uint32_t *group = mem_array(g->m, uint32_t, g->open.n + 1);
    for (size_t i = 0; i < g->open.n; i++) group[i] = g->cand_ref.at[i].group;
    c->open = asg_group(g, group, g->open.n, g->cand_groups.n, &c->group_first);
    c->group_end = mem_array(g->m, uint32_t, g->cand_groups.n + 1);
    for (size_t i = 0; i < g->cand_groups.n; i++) c->group_end[i] = c->group_first[i + 1];
    mem_put(g->m, group);
}

static void count_missing(chain *c)
{
    asg *g = c->g;
    for (node_id v = 0; v < g->nodes; v++) {
        uint32_t n = c->so && g->so_pred[v] != NO_ID;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            n += g->ob_rf[ob] != RF_INIT;
        /* Who cannot have committed waits for something that never comes; so does one of unknown
           outcome that wrote nothing: nobody needs it, and its list reads order no versions. */
        bool useless = g->maybe[v] && g->inst_first[v] == g->inst_first[v + 1];
        if (c->present) useless = !c->present[v];
        c->missing[v] = g->barred[v] || useless ? n + 1 : n;
    }
    /* The initial state is always there: a read that may have seen it waits for nobody. */
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i];
        if (!asg_cand_init(g, i)) continue;
        c->a->rf[ob] = RF_INIT;
        c->missing[g->ob_node[ob]]--;
    }
    for (size_t i = 0; i < g->extra.n; i++)
        if (!c->present || c->present[g->extra.at[i].from]) c->missing[g->extra.at[i].to]++;
}

/* A step to something that v waits for and that is not taken either; open_of: the place of each
   ambiguous read among them. */
static step blocked_by(const chain *c, node_id v, const uint32_t *open_of)
{
    asg *g = c->g;
    if (c->so && g->so_pred[v] != NO_ID && !c->taken[g->so_pred[v]])
        return (step){g->so_pred[v], v, EDGE_SO, NO_ID, NO_ID};
    for (uint32_t i = g->extra_head[v]; i != NO_ID; i = g->extra.at[i].next)
        if (!c->taken[g->extra.at[i].from])
            return (step){g->extra.at[i].from, v, EDGE_WW, g->extra.at[i].key, NO_ID};
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t rf = c->a->rf[ob];
        if (rf < RF_LAST && !c->taken[rf]) return (step){rf, v, EDGE_WR, g->ob_key[ob], ob};
        if (rf == RF_NONE) return (step){NO_ID, v, EDGE_WR, g->ob_key[ob], ob};
        if (rf != RF_OPEN) continue;
        uint32_t first = g->cand_first.at[open_of[ob]];
        return (step){asg_cand(g, open_of[ob], first), v, EDGE_WR, g->ob_key[ob], ob};
    }
    if (g->barred[v]) return (step){NO_ID, v, EDGE_SO, NO_ID, NO_ID};
    assert(false && "a transaction that waits for nothing");
    return (step){NO_ID, v, EDGE_SO, NO_ID, NO_ID};
}

/* Walks from a committed transaction that was not taken, each time to something it waits for. */
static void explain(chain *c, node_id v)
{
    asg *g = c->g;
    uint32_t *seen = mem_array0(g->m, uint32_t, (size_t)g->nodes + 1);
    uint32_t *open_of = mem_array(g->m, uint32_t, asg_obs(g) + 1);
    for (uint32_t i = 0; i < g->open.n; i++) open_of[g->open.at[i]] = i;
    VEC(step) walk = {0};
    while (!seen[v]) {
        seen[v] = (uint32_t)walk.n + 1;
        step s = blocked_by(c, v, open_of);
        vec_push(g->m, &walk, s);
        if (s.from == NO_ID) break; /* an unknown transaction that cannot have committed */
        v = s.from;
    }
    assert(walk.n && walk.n <= g->nodes);
    if (walk.at[walk.n - 1].from == NO_ID) {
        c->a->why = WHY_SEARCH; /* no cycle: somebody who had to commit cannot have */
    } else {
        for (size_t i = walk.n; i-- > seen[v] - 1;) vec_push(g->m, &c->a->path.steps, walk.at[i]);
    }
    vec_free(g->m, &walk);
    mem_put(g->m, open_of);
    mem_put(g->m, seen);
}

static void satisfy(chain *c, uint32_t ob)
{
    node_id u = c->g->ob_node[ob];
    if (!--c->missing[u]) c->a->order[c->a->n++] = u;
}

/* v, which is taken, explains all reads that wait for its group, except one whose own transaction
   it is of: that one waits for the next. */
static void satisfy_group(chain *c, uint32_t group, node_id v)
{
    asg *g = c->g;
    const node_id *member = g->cand_pool.at + g->cand_groups.at[group].first;
    uint32_t left = c->group_first[group];
    assert(c->taken[v] && left <= c->group_end[group]);
    assert(c->group_end[group] <= c->group_first[group + 1]);
    for (uint32_t i = left; i < c->group_end[group]; i++) {
        uint32_t open = c->open[i], ob = g->open.at[open], skip = g->cand_ref.at[open].skip;
        if (c->a->rf[ob] != RF_OPEN) continue; /* the initial state explains it */
        if (skip != NO_ID && member[skip] == v) {
            c->open[left++] = open;
            continue;
        }
        c->a->rf[ob] = v;
        satisfy(c, ob);
        guard_tick(g->m->guard);
    }
    c->group_end[group] = left;
}

void chain_decide(asg *g, bool so, const uint8_t *present, decision *a)
{
    chain c = {.g = g, .so = so, .present = present, .a = a};
    c.missing = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    c.taken = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    index_waits(&c);
    index_groups(&c);
    count_missing(&c);
    uint32_t head = 0;
    a->n = 0;
    for (node_id v = 0; v < g->nodes; v++)
        if (!c.missing[v]) a->order[a->n++] = v;
    while (head < a->n) {
        node_id v = a->order[head++];
        assert(!c.taken[v] && !c.missing[v]);
        c.taken[v] = 1;
        for (node_id u = v + 1; so && u < g->nodes && g->so_pred[u] == v; u++)
            if (!--c.missing[u]) a->order[a->n++] = u;
        for (uint32_t i = c.succ_first[v]; i < c.succ_first[v + 1]; i++)
            if (!--c.missing[c.succ[i]]) a->order[a->n++] = c.succ[i];
        for (uint32_t i = c.wait_first[v]; i < c.wait_first[v + 1]; i++) satisfy(&c, c.wait_ob[i]);
        for (uint32_t i = c.in_first[v]; i < c.in_first[v + 1]; i++)
            satisfy_group(&c, c.in_group[i], v);
        guard_tick(g->m->guard);
    }
    assert(a->n <= g->nodes); /* everyone is taken at most once */
    a->holds = true;
    for (node_id v = 0; v < g->nodes; v++) {
        a->out[v] = !c.taken[v];
        bool may_miss = present ? !present[v] : g->maybe[v];
        if (c.taken[v] || may_miss || !a->holds) continue;
        a->holds = false;
        if (present) continue; /* the caller looks at who is out */
        a->why = WHY_CYCLE;
        explain(&c, v);
    }
    mem_put(g->m, c.missing);
    mem_put(g->m, c.taken);
    mem_put(g->m, c.wait_first);
    mem_put(g->m, c.wait_ob);
    mem_put(g->m, c.in_first);
    mem_put(g->m, c.in_group);
    mem_put(g->m, c.group_first);
    mem_put(g->m, c.group_end);
    mem_put(g->m, c.open);
    mem_put(g->m, c.succ_first);
    mem_put(g->m, c.succ);
}
