/*
 * list_writes.c - see list_writes.h.
 */
#include "asg/list_writes.h"
#include "base/search.h"

#include <assert.h>

void list_writes_load(asg *g, list_writes *w)
{
    const history *h = g->h;
    VEC(uint32_t) key = {0}, op = {0};
    w->node = mem_array(g->m, node_id, h->ops + 1);
    for (node_id v = 0; v < g->nodes; v++) {
        txn_id t = g->node_txn[v];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & (OP_KIND_MASK | OP_FAILED);
            if (kind != OP_WRITE && kind != OP_DELETE && kind != OP_APPEND) continue;
            if (g->list_key[h->op_key[o]] != 2) continue;
            vec_push(g->m, &key, h->op_key[o]);
            vec_push(g->m, &op, o);
            w->node[o] = v;
        }
    }
    w->op = asg_group(g, key.at, key.n, history_keys(h), &w->first);
    for (size_t i = 0; i < key.n; i++) w->op[i] = op.at[w->op[i]];
    vec_free(g->m, &key);
    vec_free(g->m, &op);
}

void list_writes_free(mem *m, list_writes *w)
{
    mem_put(m, w->first);
    mem_put(m, w->op);
    mem_put(m, w->node);
}

uint32_t list_writes_end(const list_writes *w, key_id k, uint32_t i)
{
    uint32_t last = w->first[k + 1];
    node_id v = w->node[w->op[i]];
    assert(i >= w->first[k] && i < last);
    while (i < last && w->node[w->op[i]] == v) i++;
    return i;
}

void list_writes_of(const list_writes *w, key_id k, node_id v, uint32_t *first, uint32_t *end)
{
    SEARCH_FIRST(uint32_t, at, w->first[k], w->first[k + 1], w->node[w->op[at]] >= v);
    *first = *end = at;
    if (at < w->first[k + 1] && w->node[w->op[at]] == v) *end = list_writes_end(w, k, at);
}

bool list_init_named(const history *h, key_id k)
{
    if (!h->init_unknown) return true;
    for (size_t i = 0; i < h->init_map.n; i++)
        if (h->init_map.at[i].key == k) return true;
    return false;
}

bool list_hint_allows(const asg *g, uint32_t ob, node_id w, bool own)
{
    bool found, init;
    label l = asg_hint(g, ob, &found, &init);
    if (own && !init && l == g->h->txn_label[g->node_txn[g->ob_node[ob]]]) found = false;
    if (!found) return true;
    return w == RF_INIT ? init : !init && g->h->txn_label[g->node_txn[w]] == l;
}
