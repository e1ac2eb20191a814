/*
 * unordered_lists.c - small histories with lists whose version order the reads do not give away:
 * repeated elements, writes and deletes among appends, an unknown initial list, readers of unknown
 * outcome (lists.c calls such keys wild).
 *
 * The general definition, enumerated: which unknown transactions committed, what the initial
 * value was, in which order each wild key was written.  Along an order the state of every version
 * is computed; a read can have seen the versions whose state it returned.  What is left open then
 * goes through the ordinary search.  Only for at most WEAK_SMALL transactions.
 *
 * Appending to a scalar makes a list of the two (no source says otherwise).
 */
#include "decide/exhaustive/unordered_lists.h"
#include "asg/list_writes.h"

#include "decide/exhaustive/key_state.h"

#include <assert.h>

typedef struct wild {
    asg *g;
    decision *a;
    enum weak_level level;
    bool so;
    VEC(key_id) keys;
    struct version states[WEAK_SMALL + 1]; /* of the current key's order; [0] is the initial one */
    uint32_t rank[WEAK_SMALL]; /* per node: place in the current key's order, from 1; 0 none */
} wild;

/* Pushes the candidates of one read as an open obligation; false if it has none. */
static bool add_candidates(wild *w, uint32_t ob, const node_id *order, uint32_t m)
{
    asg *g = w->g;
    assert(m <= WEAK_SMALL && g->list_key[g->ob_key[ob]] == 2);
    version own = {0}, seen = {0};
    version_load(w->g, &seen, g->ob_value[ob]);
    enum own kind = version_own(w->g, ob, &own);
    node_id self = g->ob_node[ob];
    bool ok = true;
    if (kind == OWN_SETS) {
        ok = version_same(&own, &seen, 0); /* internal: no obligation */
    } else {
        size_t drop = kind == OWN_APPENDS ? own.list.n : 0, before = g->cand_pool.n;
        if (drop &&
            (seen.scalar || seen.list.n < drop ||
             memcmp(seen.list.at + seen.list.n - drop, own.list.at, drop * sizeof(value_id))))
            ok = false;
        for (uint32_t p = 0; ok && p <= m; p++) {
            if (p && order[p - 1] == self) continue;
            if (drop && p + 1 != w->rank[self]) continue; /* own appends pin the place */
            if (!version_same(&w->states[p], &seen, drop)) continue;
            if (!list_hint_allows(g, ob, p ? order[p - 1] : RF_INIT, drop != 0)) continue;
            vec_push(g->m, &g->cand_pool, p ? order[p - 1] : RF_INIT);
        }
        ok = ok && g->cand_pool.n > before;
        if (ok)
            asg_open(g, ob, asg_cand_group(g, before), NO_ID);
        else
            g->cand_pool.n = before;
    }
    vec_free(g->m, &own.list);
    vec_free(g->m, &seen.list);
    return ok;
}

/* Written by nobody of any status, and not initial (levels.md C-1); a list is judged by element. */
static bool is_garbage(const wild *w, key_id k, const version *seen)
{
    const history *h = w->g->h;
    if (version_same(&w->states[0], seen, 0)) return false;
    for (size_t i = 0; i < seen->list.n || (i == 0 && !seen->list.n); i++) {
        bool known = false;
        for (size_t j = 0; j < w->states[0].list.n && seen->list.n && !seen->scalar; j++)
            known = known || (!w->states[0].scalar && w->states[0].list.at[j] == seen->list.at[i]);
        for (size_t o = 0; o < h->ops && !known; o++) {
            if (!version_written(h, (op_id)o, k)) continue;
            enum op_kind kind = op_kind_of(h, (op_id)o);
            if (!seen->list.n)
                known = kind == OP_DELETE;
            else
                known = kind != OP_DELETE && h->op_value[o] == seen->list.at[i] &&
                        !(seen->scalar && kind == OP_APPEND);
        }
        if (!known) return true;
    }
    return false;
}

/* read-uncommitted: the elements of a list read come from writers in version order (5.5); taking
   the earliest possible writer each time is best, so there is nothing to search. */
static bool elements_in_order(wild *w, uint32_t ob)
{
    asg *g = w->g;
    const history *h = g->h;
    key_id k = g->ob_key[ob];
    version seen = {0}, own = {0};
    version_load(w->g, &seen, g->ob_value[ob]);
    uint32_t reached = 0;
    bool ok = true;
    /* What is garbage is the list without the own appends; one that does not end with them is
       an own-write violation, which this level allows. */
    enum own kind = version_own(w->g, ob, &own);
    size_t drop = kind == OWN_APPENDS ? own.list.n : 0, all = seen.list.n;
    bool ends = !drop || (!seen.scalar && all >= drop &&
                          !memcmp(seen.list.at + all - drop, own.list.at, drop * sizeof(value_id)));
    if (kind != OWN_SETS && ends) {
        seen.list.n -= drop;
        ok = !is_garbage(w, k, &seen);
        seen.list.n = all;
    }
    for (size_t i = 0; i < seen.list.n && ok && !seen.scalar; i++) {
        uint32_t best = UINT32_MAX;
        bool free_choice = false, anyone = false;
        const version *first = &w->states[0];
        for (size_t j = 0; j < first->list.n && !first->scalar; j++) {
            if (first->list.at[j] != seen.list.at[i]) continue;
            anyone = true;
            if (!reached) best = 0;
        }
        for (size_t t = 0; t < h->txns; t++)
            for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
                if (!version_written(h, o, k) || h->op_value[o] != seen.list.at[i]) continue;
                anyone = true;
                node_id v = g->txn_node[t];
                if (v == NO_ID || w->a->out[v] || op_is_local_write(h, o))
                    free_choice = true;
                else if (w->rank[v] >= reached && w->rank[v] < best)
                    best = w->rank[v];
            }
        if (free_choice || !anyone) continue;
        if (best == UINT32_MAX)
            ok = false;
        else
            reached = best;
    }
    if (ok && kind == OWN_APPENDS) ok = reached <= w->rank[g->ob_node[ob]];
    vec_free(g->m, &seen.list);
    vec_free(g->m, &own.list);
    return ok;
}

static bool order_keys(wild *w, size_t i);

/* One complete order of one key. */
static bool try_order(wild *w, size_t i, const node_id *order, uint32_t m)
{
    asg *g = w->g;
    const history *h = g->h;
    key_id k = w->keys.at[i];
    size_t open = g->open.n, groups = g->cand_groups.n, edges = g->extra.n;
    for (uint32_t p = 0; p < m; p++) {
        version *x = &w->states[p + 1];
        const version *before = &w->states[p];
        x->list.n = 0;
        x->scalar = before->scalar;
        for (size_t j = 0; j < before->list.n; j++) vec_push(g->m, &x->list, before->list.at[j]);
        txn_id t = g->node_txn[order[p]];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if (version_writes(h, o, k)) version_apply(g, x, o);
        assert(!p || order[p - 1] != order[p]);
        w->rank[order[p]] = p + 1;
        if (p) asg_add_edge(g, order[p - 1], order[p], EDGE_WW, k, NO_ID);
    }
    bool ok = true;
    for (uint32_t ob = 0; ob < asg_obs(g) && ok; ob++) {
        if (g->ob_key[ob] != k || w->a->out[g->ob_node[ob]]) continue;
        ok = w->level == WEAK_RU ? elements_in_order(w, ob) : add_candidates(w, ob, order, m);
    }
    bool found = ok && order_keys(w, i + 1);
    asg_unopen(g, open, groups);
    asg_drop_edges(g, edges);
    assert(g->extra.n == edges);
    return found;
}

static bool permute_writers(wild *w, size_t i, node_id *order, uint32_t done, uint32_t m)
{
    assert(done <= m && m <= WEAK_SMALL);
    if (done == m) {
        return try_order(w, i, order, m);
    }
    for (uint32_t j = done; j < m; j++) {
        node_id x = order[done];
        order[done] = order[j];
        order[j] = x;
        if (permute_writers(w, i, order, done + 1, m)) return true;
        x = order[done];
        order[done] = order[j];
        order[j] = x;
    }
    return false;
}

static bool try_initial_value(wild *w, size_t i, value_id init, size_t keep)
{
    asg *g = w->g;
    key_id k = w->keys.at[i];
    node_id order[WEAK_SMALL];
    uint32_t m = 0;
    version saved[WEAK_SMALL + 1];
    uint32_t ranks[WEAK_SMALL];
    /* The states are per key and the recursion goes from key to key. */
    memcpy(saved, w->states, sizeof saved);
    memcpy(ranks, w->rank, sizeof ranks);
    memset(w->states, 0, sizeof w->states);
    memset(w->rank, 0, sizeof w->rank);
    version_load(w->g, &w->states[0], init);
    if (keep != SIZE_MAX) { /* only a beginning of that list */
        if (w->states[0].list.n > keep) w->states[0].list.n = keep;
        w->states[0].scalar = false;
    }
    assert(g->kw_first[k + 1] - g->kw_first[k] <= WEAK_SMALL);
    for (uint32_t j = g->kw_first[k]; j < g->kw_first[k + 1]; j++)
        if (!w->a->out[g->inst_node[g->kw_inst[j]]]) order[m++] = g->inst_node[g->kw_inst[j]];
    bool found = permute_writers(w, i, order, 0, m);
    for (size_t p = 0; p <= WEAK_SMALL; p++) vec_free(g->m, &w->states[p].list);
    memcpy(w->states, saved, sizeof saved);
    memcpy(w->rank, ranks, sizeof ranks);
    return found;
}

static bool order_keys(wild *w, size_t i)
{
    asg *g = w->g;
    const history *h = g->h;
    assert(i <= w->keys.n && g->cand_first.n == g->open.n + 1);
    if (i == w->keys.n) {
        if (w->level != WEAK_RU) return choose_fixed(g, w->level, w->so, w->a);
        view v = {.so = w->so, .extra = true, .rf = NULL, .out = w->a->out};
        w->a->tried++;
        return weak_test(g, &v, WEAK_RC, w->a, false);
    }
    key_id k = w->keys.at[i];
    bool named = !h->init_unknown;
    for (size_t j = 0; j < h->init_map.n; j++) named = named || h->init_map.at[j].key == k;
    if (named) return try_initial_value(w, i, h->key_init[k], SIZE_MAX);
    if (try_initial_value(w, i, VALUE_NULL, SIZE_MAX)) return true;
    for (uint32_t ob = 0; ob < asg_obs(g); ob++) {
        if (g->ob_key[ob] != k || w->a->out[g->ob_node[ob]]) continue;
        value_id v = g->ob_value[ob];
        if (try_initial_value(w, i, v, SIZE_MAX)) return true;
        atom a = v == VALUE_NULL ? (atom){0} : value_atom(h, v);
        for (uint32_t n = 1; a.kind == ATOM_LIST && n < a.len; n++)
            if (try_initial_value(w, i, v, n)) return true;
    }
    return false;
}

/* Does v take part in every case?  read-uncommitted ignores reads, so they force nobody. */
static bool surely_takes_part(const wild *w, node_id v)
{
    return w->level == WEAK_RU ? !w->g->maybe[v] : asg_in(w->g, v);
}

/* Unknown transactions that are not forced, each taken as committed or not. */
static bool try_outcomes(wild *w, node_id v)
{
    asg *g = w->g;
    while (v < g->nodes && surely_takes_part(w, v)) v++;
    if (v == g->nodes) {
        for (uint32_t ob = 0; ob < asg_obs(g); ob++) {
            if (w->a->out[g->ob_node[ob]] || w->level == WEAK_RU) continue;
            uint32_t rf = g->ob_rf[ob];
            if (rf == RF_NONE || (rf < RF_LAST && w->a->out[rf])) return false;
        }
        return order_keys(w, 0);
    }
    w->a->out[v] = 1;
    if (try_outcomes(w, v + 1)) return true;
    w->a->out[v] = 0;
    if (!g->barred[v] && try_outcomes(w, v + 1)) return true;
    w->a->out[v] = 1;
    return false;
}

bool wild_decide(asg *g, enum weak_level level, bool so, decision *a)
{
    assert(g->nodes <= WEAK_SMALL);
    wild w = {.g = g, .a = a, .level = level, .so = so};
    asg_by_key(g);
    for (key_id k = 0; k < history_keys(g->h); k++)
        if (g->list_key[k] == 2) vec_push(g->m, &w.keys, k);
    for (node_id v = 0; v < g->nodes; v++) a->out[v] = !surely_takes_part(&w, v);
    return try_outcomes(&w, 0);
}
