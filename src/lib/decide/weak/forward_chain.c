/*
 * forward_chain.c - read-committed with ambiguous reads, by forward chaining
 * (doc/algorithms/weak.md).
 *
 * Take any transaction whose session predecessor is taken and each of whose reads has a taken
 * candidate, until nothing moves.  Taking never hurts another transaction, so the order of taking
 * does not matter, and the history satisfies the level iff every committed one is taken.  Each
 * pair of read and candidate is looked at once.
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
    uint32_t *succ_first, *succ;    /* extra edges by source */
} chain;

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
    for (size_t i = 0; i < g->open.n; i++) {
        guard_tick(g->m->guard);
        for (uint32_t j = g->cand_first.at[i]; j < g->cand_first.at[i + 1]; j++) {
            if (g->cand.at[j] >= RF_LAST) continue;
            vec_push(g->m, &who, g->cand.at[j]);
            vec_push(g->m, &what, g->open.at[i]);
        }
    }
    uint32_t *index = asg_group(g, who.at, who.n, g->nodes, &c->wait_first);
    for (size_t i = 0; i < who.n; i++) index[i] = what.at[index[i]];
    c->wait_ob = index;
    who.n = what.n = 0;
    for (size_t i = 0; i < g->extra.n; i++) {
        vec_push(g->m, &who, g->extra.at[i].from);
        vec_push(g->m, &what, g->extra.at[i].to);
    }
    index = asg_group(g, who.at, who.n, g->nodes, &c->succ_first);
    for (size_t i = 0; i < who.n; i++) index[i] = what.at[index[i]];
    c->succ = index;
    vec_free(g->m, &who);
    vec_free(g->m, &what);
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
        if (g->cand.at[g->cand_first.at[i]] != RF_INIT) continue;
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
        return (step){g->cand.at[first], v, EDGE_WR, g->ob_key[ob], ob};
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

void chain_decide(asg *g, bool so, const uint8_t *present, decision *a)
{
    chain c = {.g = g, .so = so, .present = present, .a = a};
    c.missing = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    c.taken = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    index_waits(&c);
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
        for (uint32_t i = c.wait_first[v]; i < c.wait_first[v + 1]; i++) {
            uint32_t ob = c.wait_ob[i];
            node_id u = g->ob_node[ob];
            if (g->ob_rf[ob] == RF_OPEN) {
                if (a->rf[ob] != RF_OPEN) continue; /* satisfied already */
                a->rf[ob] = v;
            }
            if (!--c.missing[u]) a->order[a->n++] = u;
        }
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
    mem_put(g->m, c.succ_first);
    mem_put(g->m, c.succ);
}
