/*
 * subgraph.c - the semantic graph of some of the transactions.
 *
 * What is kept holds in every execution of the whole history, with the others left out: reads that
 * can only have seen each other's versions or the initial state, session order, shown version
 * orders.  So a contradiction in the part is one in the whole.  Ids of transactions, operations,
 * keys and values stay those of the history; nodes, installs and obligations are counted anew.
 */
#include <assert.h>

#include "asg/asg.h"

typedef struct maker {
    const asg *g;
    asg *part;
    const node_id *fresh; /* per node of g: its number in the part, or NO_ID */
    uint32_t *ob_fresh;   /* per obligation of g, from ob_base on */
    uint32_t *open_of;    /* per obligation of g: its index in g->open, or NO_ID */
    uint32_t *group;      /* per group of candidates of g: the part's, or one of these two */
} maker;

#define GROUP_NEW NO_ID           /* nobody has asked yet */
#define GROUP_OUTSIDE (NO_ID - 1) /* some candidate is no member */

/* The part's copy of a group of candidates, or GROUP_OUTSIDE. */
static uint32_t group_within(const maker *k, uint32_t group)
{
    const asg *g = k->g;
    asg *p = k->part;
    cand_group x = g->cand_groups.at[group];
    const node_id *at = g->cand_pool.at + x.first;
    if (k->group[group] != GROUP_NEW) return k->group[group];
    k->group[group] = GROUP_OUTSIDE;
    for (uint32_t i = 0; i < x.n; i++)
        if (at[i] < RF_LAST && k->fresh[at[i]] == NO_ID) return GROUP_OUTSIDE;
    size_t first = p->cand_pool.n;
    for (uint32_t i = 0; i < x.n; i++)
        vec_push(p->m, &p->cand_pool, at[i] < RF_LAST ? k->fresh[at[i]] : at[i]);
    return k->group[group] = asg_cand_group(p, first);
}

/* Can the read have seen only members of the part?  Sets *open to its index in g->open, or to
   NO_ID. */
static bool within(const maker *k, uint32_t ob, uint32_t *open)
{
    const asg *g = k->g;
    uint32_t rf = g->ob_rf[ob];
    *open = NO_ID;
    if (rf == RF_INIT) return true;
    if (rf < RF_LAST) return k->fresh[rf] != NO_ID;
    if (rf != RF_OPEN || k->open_of[ob] == NO_ID) return false;
    if (g->ob_flags[ob] & OB_LIST) return false;
    *open = k->open_of[ob];
    /* The reader itself, which the group may hold as well, is a member. */
    return group_within(k, g->cand_ref.at[*open].group) != GROUP_OUTSIDE;
}

static void keep_read(maker *k, uint32_t ob, uint32_t open, node_id v)
{
    const asg *g = k->g;
    asg *p = k->part;
    assert(p->obs < p->ob_cap && v < p->nodes);
    uint32_t at = (uint32_t)p->obs++, rf = g->ob_rf[ob];
    k->ob_fresh[ob] = at;
    p->ob_key[at] = g->ob_key[ob];
    p->ob_value[at] = g->ob_value[ob];
    p->ob_op[at] = g->ob_op[ob];
    p->ob_flags[at] = g->ob_flags[ob];
    p->ob_node[at] = v;
    p->ob_rf[at] = rf < RF_LAST ? k->fresh[rf] : rf;
    p->ob_inst[at] = NO_ID;
    if (rf < RF_LAST)
        p->ob_inst[at] = p->inst_first[k->fresh[rf]] + g->ob_inst[ob] - g->inst_first[rf];
    assert(rf >= RF_LAST || p->inst_key[p->ob_inst[at]] == p->ob_key[at]);
    if (open == NO_ID) return;
    asg_open(p, at, group_within(k, g->cand_ref.at[open].group), g->cand_ref.at[open].skip);
}

static void keep_installs(maker *k, const node_id *nodes)
{
    const asg *g = k->g;
    asg *p = k->part;
    size_t n = 0;
    for (node_id v = 0; v < p->nodes; v++) {
        p->inst_first[v] = (uint32_t)n;
        for (uint32_t i = g->inst_first[nodes[v]]; i < g->inst_first[nodes[v] + 1]; i++, n++) {
            p->inst_key[n] = g->inst_key[i];
            p->inst_value[n] = g->inst_value[i];
            p->inst_op[n] = g->inst_op[i];
            p->inst_node[n] = v;
        }
    }
    assert(n == p->inst_cap);
    p->inst_first[p->nodes] = (uint32_t)n;
    p->insts = n;
}

/* What the members of a mixture are held to. */
static void keep_rows(asg *p, const asg *g, const node_id *nodes)
{
    size_t n = (size_t)p->nodes + 1;
    p->rows_deleted = g->rows_deleted;
    p->lax_key = g->lax_key;
    if (g->row) p->row = mem_array(p->m, uint8_t, n);
    if (g->serial) p->serial = mem_array(p->m, uint8_t, n);
    for (node_id v = 0; v < p->nodes; v++) {
        if (g->row) p->row[v] = g->row[nodes[v]];
        if (g->serial) p->serial[v] = g->serial[nodes[v]];
    }
}

void asg_part(asg *p, const asg *g, const node_id *nodes, uint32_t n, const node_id *fresh)
{
    mem *m = g->m;
    size_t insts = 0, obs = 0;
    const history *h = g->h;
    for (uint32_t i = 0; i < n; i++) {
        insts += g->inst_first[nodes[i] + 1] - g->inst_first[nodes[i]];
        obs += g->ob_first[nodes[i] + 1] - g->ob_first[nodes[i]];
    }
    *p = (asg){.h = h, .m = m, .ryow = g->ryow, .flags = g->flags, .nodes = n};
    p->list_key = g->list_key;
    keep_rows(p, g, nodes);
    p->node_txn = mem_array(m, txn_id, (size_t)n + 1);
    p->so_pred = mem_array(m, node_id, (size_t)n + 1);
    p->maybe = mem_array0(m, uint8_t, (size_t)n + 1);
    p->forced = mem_array(m, uint8_t, (size_t)n + 1);
    p->barred = mem_array0(m, uint8_t, (size_t)n + 1);
    p->extra_head = mem_array(m, uint32_t, (size_t)n + 1);
    p->inst_first = mem_array(m, uint32_t, (size_t)n + 2);
    p->ob_first = mem_array(m, uint32_t, (size_t)n + 2);
    p->inst_cap = insts;
    p->inst_key = mem_array(m, key_id, insts + 1);
    p->inst_value = mem_array(m, value_id, insts + 1);
    p->inst_op = mem_array(m, op_id, insts + 1);
    p->inst_node = mem_array(m, node_id, insts + 1);
    p->ob_cap = obs;
    p->ob_key = mem_array(m, key_id, obs + 1);
    p->ob_value = mem_array(m, value_id, obs + 1);
    p->ob_op = mem_array(m, op_id, obs + 1);
    p->ob_node = mem_array(m, node_id, obs + 1);
    p->ob_flags = mem_array(m, uint8_t, obs + 1);
    p->ob_rf = mem_array(m, uint32_t, obs + 1);
    p->ob_inst = mem_array(m, uint32_t, obs + 1);
    vec_push(m, &p->cand_first, 0);
    maker k = {.g = g, .part = p, .fresh = fresh};
    k.open_of = asg_open_of(g);
    k.group = mem_array(m, uint32_t, g->cand_groups.n + 1);
    for (size_t i = 0; i < g->cand_groups.n; i++) k.group[i] = GROUP_NEW;
    k.ob_fresh = mem_array(m, uint32_t, g->obs + 1);
    memset(k.ob_fresh, 0xff, (g->obs + 1) * sizeof *k.ob_fresh);
    keep_installs(&k, nodes);
    node_id last = NO_ID; /* the committed member before, and its session */
    for (node_id v = 0; v < n; v++) {
        node_id whole = nodes[v];
        assert(asg_in(g, whole) && (!v || nodes[v - 1] < whole));
        assert(fresh[whole] == v);
        txn_id t = g->node_txn[whole];
        bool same = last != NO_ID && h->txn_session[p->node_txn[last]] == h->txn_session[t];
        p->node_txn[v] = t;
        p->so_pred[v] = same ? last : NO_ID;
        p->maybe[v] = g->maybe[whole];
        p->forced[v] = 1;
        p->extra_head[v] = NO_ID;
        p->unknown += p->maybe[v];
        if (!p->maybe[v])
            last = v;
        else if (!same)
            last = NO_ID;
        p->ob_first[v] = (uint32_t)p->obs;
        for (uint32_t ob = g->ob_first[whole]; ob < g->ob_first[whole + 1]; ob++) {
            uint32_t open;
            if (within(&k, ob, &open)) keep_read(&k, ob, open, v);
        }
        guard_tick(m->guard);
    }
    p->ob_first[n] = (uint32_t)p->obs;
    for (size_t i = 0; i < g->extra.n; i++) {
        const edge *e = &g->extra.at[i];
        if (fresh[e->from] == NO_ID || fresh[e->to] == NO_ID) continue;
        uint32_t ob = e->ob == NO_ID ? NO_ID : k.ob_fresh[e->ob];
        if (e->ob != NO_ID && ob == NO_ID) continue; /* the read that shows it is not here */
        asg_add_edge(p, fresh[e->from], fresh[e->to], (enum edge_kind)e->kind, e->key, ob);
    }
    p->base_extra = p->extra.n;
    mem_put(m, k.open_of);
    mem_put(m, k.group);
    mem_put(m, k.ob_fresh);
}
