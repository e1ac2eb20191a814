/*
 * lists.c - list keys: what appends and list reads say (doc/algorithms/lists.md).
 *
 * All lists that were read of a key must be prefixes of one list; that list, cut into blocks of
 * one transaction's appends each, is the version order of the writers it shows.  Appends that no
 * read shows come after it, in an order of their own.  A read after own appends is a read of the
 * list without them, and pins the transaction's place.
 *
 * This is exact while each element has one appender and the key is only appended to.  A key with
 * repeated elements, writes or deletes among the appends, or whose readers may or may not have
 * committed, is "wild" (list_key 2): its order is left to the search.
 */
#include <assert.h>

#include "asg/asg.h"
#include "base/map.h"
#include "opt/anomaly.h"

typedef struct elem { /* one append, or one element of the initial list */
    value_id value;
    node_id node;   /* RF_INIT for the initial list */
    uint32_t index; /* among the transaction's appends of the key */
    bool last;      /* no later append of the key in the transaction */
} elem;

typedef struct lists {
    asg *g;
    uint32_t *app_first, *app_op; /* append operations of nodes by key, in node and program order */
    uint32_t *app_node;
    uint32_t *ob_first, *ob_index; /* obligations by key */
    VEC(elem) elems;               /* of the current key */
    id_map elem_of;                /* value -> its index in elems */
    VEC(node_id) chain;            /* writers in the observed order */
    uint32_t *stamp;               /* per node: key + 1 if in the observed order */
    id_map aborted;   /* what aborted transactions wrote: (key, value) -> the first operation */
    bool has_aborted; /* it is made on demand, and has been */
} lists;

static atom list_atom(const history *h, value_id v)
{
    return v == VALUE_NULL ? (atom){.kind = ATOM_LIST} : value_atom(h, v);
}

static uint32_t find_elem(const lists *l, value_id v)
{
    uint32_t i = id_map_get(&l->elem_of, v);
    assert(i == NO_ID || (i < l->elems.n && l->elems.at[i].value == v));
    return i;
}

/* Loads the key's appends; false if it is wild. */
static bool load_key(lists *l, key_id k)
{
    asg *g = l->g;
    const history *h = g->h;
    l->elems.n = 0;
    value_id init = h->key_init[k];
    if (init != VALUE_NULL && value_atom(h, init).kind != ATOM_LIST) return false;
    atom p = list_atom(h, init);
    for (uint32_t i = 0; i < p.len; i++) {
        elem e = {h->elements.at[p.as.offset + i], RF_INIT, i, i + 1 == p.len};
        vec_push(g->m, &l->elems, e);
    }
    for (uint32_t i = l->app_first[k]; i < l->app_first[k + 1]; i++) {
        node_id v = l->app_node[l->app_op[i]];
        op_id o = l->app_op[i];
        size_t n = l->elems.n;
        uint32_t index = n && l->elems.at[n - 1].node == v ? l->elems.at[n - 1].index + 1 : 0;
        if (index) l->elems.at[n - 1].last = false;
        assert(v < g->nodes && (!n || l->elems.at[n - 1].node == RF_INIT ||
                                l->elems.at[n - 1].node <= v)); /* so indices count up */
        elem e = {h->op_value[o], v, index, true};
        vec_push(g->m, &l->elems, e);
    }
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++)
        if ((h->op_kind[g->inst_op[g->kw_inst[i]]] & OP_KIND_MASK) != OP_APPEND) return false;
    if (h->init_unknown) return false;
    id_map_restart(g->m, &l->elem_of, l->elems.n);
    for (uint32_t i = 0; i < l->elems.n; i++) {
        uint32_t *at = id_map_at(g->m, &l->elem_of, l->elems.at[i].value);
        if (*at != NO_ID) return false; /* repeated */
        *at = i;
    }
    return true;
}

/* A write or delete that is not the installed one also makes the key wild: some transaction
   appended after it, starting from a list that only the search knows. */
static void find_mixed(asg *g)
{
    const history *h = g->h;
    for (node_id v = 0; v < g->nodes; v++) {
        txn_id t = g->node_txn[v];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (h->op_kind[o] & OP_FAILED || (kind != OP_WRITE && kind != OP_DELETE)) continue;
            if (g->list_key[h->op_key[o]]) g->list_key[h->op_key[o]] = 2;
        }
    }
}

/* How often the reading transaction appended to the key before the read. */
static uint32_t own_appends(const lists *l, uint32_t ob)
{
    const asg *g = l->g;
    const history *h = g->h;
    uint32_t own = 0;
    for (op_id o = h->txn_op[g->node_txn[g->ob_node[ob]]]; o < g->ob_op[ob]; o++)
        own += (h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) == OP_APPEND &&
               h->op_key[o] == g->ob_key[ob];
    return own;
}

/* The own appends before the read: how many end the list, or NO_ID if it does not end so. */
static uint32_t own_suffix(const lists *l, uint32_t ob, atom seen)
{
    const asg *g = l->g;
    const history *h = g->h;
    uint32_t own = own_appends(l, ob);
    if (h->op_kind[g->ob_op[ob]] & OP_LOCAL) return NO_ID;
    if (!own) return 0;
    if (own > seen.len) return NO_ID;
    uint32_t at = seen.len - own;
    for (op_id o = h->txn_op[g->node_txn[g->ob_node[ob]]]; o < g->ob_op[ob]; o++) {
        if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) != OP_APPEND ||
            h->op_key[o] != g->ob_key[ob])
            continue;
        if (h->elements.at[seen.as.offset + at++] != h->op_value[o]) return NO_ID;
    }
    assert(at == seen.len);
    return own;
}

static void load_aborted(lists *l)
{
    asg *g = l->g;
    const history *h = g->h;
    for (size_t t = 0; t < h->txns; t++) {
        bool aborted = txn_status_of(h, (txn_id)t) == TXN_ABORTED;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (!aborted && !op_is_local_write(h, o)) continue;
            if (op_failed(h, o) || kind == OP_READ || kind >= OP_SCAN) continue;
            uint32_t *at = id_map_at(g->m, &l->aborted, map_pair(h->op_key[o], h->op_value[o]));
            if (*at == NO_ID) *at = o;
        }
    }
    l->has_aborted = true;
}

/* The first aborted transaction that appended, wrote or deleted x at k, or NO_ID. */
static txn_id aborted_writer(lists *l, key_id k, value_id x)
{
    static_assert(NO_ID == MAP_NONE, "a pair that is not in the map has no operation");
    const history *h = l->g->h;
    if (!l->has_aborted) load_aborted(l);
    op_id o = id_map_get(&l->aborted, map_pair(k, x));
    if (o == NO_ID) return NO_ID;
    assert(h->op_key[o] == k && h->op_value[o] == x);
    return txn_of_op(h, o);
}

/* A read of x (an element, a scalar, or nothing at all) that no transaction of the graph wrote. */
static void blame(lists *l, uint32_t ob, value_id x)
{
    asg *g = l->g;
    key_id k = g->ob_key[ob];
    txn_id t = aborted_writer(l, k, x);
    asg_fault(g, t != NO_ID ? ANOMALY_ABORTED_READ : ANOMALY_GARBAGE_READ, g->ob_node[ob],
              g->ob_op[ob], k, g->ob_value[ob], t);
}

/* A list names its writer by its last element: a hint can only agree. */
static void check_hint(asg *g, uint32_t ob)
{
    bool found, init;
    label l = asg_hint(g, ob, &found, &init);
    if (!found) return;
    g->uses_hints = true;
    uint32_t rf = g->ob_rf[ob];
    if (init ? rf == RF_INIT : rf < RF_LAST && g->h->txn_label[g->node_txn[rf]] == l) return;
    strbuf b;
    strbuf_init(&b, g->m);
    label_text(g->h, g->h->txn_label[g->node_txn[g->ob_node[ob]]], &b);
    guard_fail(g->m->guard, GUARD_HISTORY,
               "transaction %.200s: \"from\" names a writer that did not append the last element",
               strbuf_cstr(&b));
}

/* Sets ob_rf of one list read; false and a fault (for a node that surely takes part) if no
   version has that list. */
static bool resolve_list(lists *l, uint32_t ob)
{
    asg *g = l->g;
    const history *h = g->h;
    key_id k = g->ob_key[ob];
    node_id v = g->ob_node[ob];
    atom seen = list_atom(h, g->ob_value[ob]);
    bool sure = asg_in(g, v);
    assert(g->list_key[k] == 1 && g->ob_flags[ob] & OB_LIST);
    g->ob_rf[ob] = RF_NONE;
    if (seen.kind != ATOM_LIST) {
        if (sure) blame(l, ob, g->ob_value[ob]);
        return false;
    }
    uint32_t own = own_suffix(l, ob, seen);
    if (own == NO_ID) {
        if (sure) asg_fault(g, ANOMALY_NOT_OWN_WRITE, v, g->ob_op[ob], k, g->ob_value[ob], NO_ID);
        return false;
    }
    const value_id *e = h->elements.at + seen.as.offset;
    uint32_t external = seen.len - own, unknown = NO_ID;
    bool future = false;
    for (uint32_t i = 0; i < external; i++) {
        uint32_t x = find_elem(l, e[i]);
        if (x != NO_ID) {
            future = future || l->elems.at[x].node == v;
            continue;
        }
        /* garbage weighs more than an aborted element: even read-uncommitted rejects it */
        if (unknown == NO_ID || aborted_writer(l, k, e[i]) == NO_ID) unknown = i;
        if (aborted_writer(l, k, e[i]) == NO_ID) break;
    }
    if (unknown != NO_ID) {
        if (sure) blame(l, ob, e[unknown]);
        return false;
    }
    if (future) {
        if (sure) asg_fault(g, ANOMALY_FUTURE_READ, v, g->ob_op[ob], k, g->ob_value[ob], NO_ID);
        return false;
    }
    if (!external) {
        if (list_atom(h, h->key_init[k]).len) {
            if (sure) blame(l, ob, VALUE_NULL);
            return false;
        }
        g->ob_rf[ob] = RF_INIT;
        check_hint(g, ob);
        return true;
    }
    const elem *last = &l->elems.at[find_elem(l, e[external - 1])];
    assert(last->node != v); /* else the read would be one of the future */
    if (!last->last) {
        bool initial = last->node == RF_INIT; /* only a part of the initial list */
        if (sure)
            asg_fault(g, initial ? ANOMALY_INCOMPATIBLE_ORDER : ANOMALY_INTERMEDIATE_READ, v,
                      g->ob_op[ob], k, g->ob_value[ob], initial ? NO_ID : g->node_txn[last->node]);
        return false;
    }
    g->ob_rf[ob] = last->node;
    check_hint(g, ob);
    return true;
}

static void incompatible(lists *l, uint32_t ob, node_id other)
{
    asg *g = l->g;
    asg_fault(g, ANOMALY_INCOMPATIBLE_ORDER, g->ob_node[ob], g->ob_op[ob], g->ob_key[ob],
              g->ob_value[ob], other < RF_LAST ? g->node_txn[other] : NO_ID);
}

/* The longest list that was read, cut into blocks; false if it is no sequence of blocks. */
static bool cut_blocks(lists *l, uint32_t ob, key_id k)
{
    asg *g = l->g;
    const history *h = g->h;
    atom a = list_atom(h, g->ob_value[ob]);
    const value_id *e = h->elements.at + a.as.offset;
    l->chain.n = 0;
    uint32_t init_len = list_atom(h, h->key_init[k]).len;
    for (uint32_t i = 0; i < a.len; i++) {
        assert(find_elem(l, e[i]) != NO_ID); /* resolve_list found them all */
        const elem *x = &l->elems.at[find_elem(l, e[i])];
        bool starts = x->index == 0;
        if (x->node == RF_INIT) {
            if (x->index != i) return false;
            continue;
        }
        if (i < init_len) return false;
        if (starts) {
            const elem *p = i ? &l->elems.at[find_elem(l, e[i - 1])] : NULL;
            if (p && !p->last) return false;
            if (l->stamp[x->node] == k + 1) return false;
            l->stamp[x->node] = k + 1;
            vec_push(g->m, &l->chain, x->node);
        } else {
            const elem *p = i ? &l->elems.at[find_elem(l, e[i - 1])] : NULL;
            if (!p || p->node != x->node || p->index + 1 != x->index) return false;
        }
    }
    return true;
}

static void order_key(lists *l, key_id k)
{
    asg *g = l->g;
    const history *h = g->h;
    if (!load_key(l, k)) {
        g->list_key[k] = 2;
        g->wild_lists++;
        return;
    }
    uint32_t longest = NO_ID, longest_len = 0;
    for (uint32_t i = l->ob_first[k]; i < l->ob_first[k + 1]; i++) {
        uint32_t ob = l->ob_index[i];
        if (!resolve_list(l, ob) || !asg_in(g, g->ob_node[ob])) continue;
        uint32_t len = list_atom(h, g->ob_value[ob]).len;
        if (longest == NO_ID || len > longest_len) {
            longest = ob;
            longest_len = len;
        }
    }
    node_id tail = NO_ID;
    if (longest != NO_ID) {
        atom a = list_atom(h, g->ob_value[longest]);
        if (!cut_blocks(l, longest, k)) {
            incompatible(l, longest, NO_ID);
            return;
        }
        for (uint32_t i = l->ob_first[k]; i < l->ob_first[k + 1]; i++) {
            uint32_t ob = l->ob_index[i];
            if (g->ob_rf[ob] == RF_NONE || !asg_in(g, g->ob_node[ob])) continue;
            atom b = list_atom(h, g->ob_value[ob]);
            if (b.len && memcmp(h->elements.at + a.as.offset, h->elements.at + b.as.offset,
                                b.len * sizeof(value_id)))
                incompatible(l, ob, g->ob_node[longest]);
        }
        for (size_t i = 1; i < l->chain.n; i++)
            asg_add_edge(g, l->chain.at[i - 1], l->chain.at[i], EDGE_WW, k, longest);
        assert(l->chain.n <= g->kw_first[k + 1] - g->kw_first[k]);
        if (l->chain.n) tail = l->chain.at[l->chain.n - 1];
    }
    if (tail == NO_ID) return;
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id v = g->inst_node[g->kw_inst[i]];
        if (l->stamp[v] != k + 1 && v != tail) asg_add_edge(g, tail, v, EDGE_WW, k, longest);
    }
}

/* --- transactions that must have committed ------------------------------------------------- */

typedef VEC(node_id) node_queue;

/* The read ob shows that u committed. */
static void force_node(asg *g, node_id u, uint32_t ob, node_queue *work)
{
    if (g->forced[u]) return;
    g->forced[u] = 1;
    g->forced_by[u] = ob;
    vec_push(g->m, work, u);
}

/* An unknown transaction is forced if a read of one that takes part has it as the only candidate
   (register), or shows one of its elements (list): levels.md H-3. */
static void force(asg *g, lists *l)
{
    const history *h = g->h;
    g->forced = mem_array(g->m, uint8_t, (size_t)g->nodes + 1);
    for (node_id v = 0; v < g->nodes; v++) g->forced[v] = !g->maybe[v];
    if (!g->unknown) return;
    /* (key, element) -> its appender, if that is a transaction of unknown outcome.  There is only
       one, because a key with repeated elements is wild. */
    id_map appender = {0};
    for (key_id k = 0; l && k < history_keys(h); k++)
        for (uint32_t i = l->app_first[k]; i < l->app_first[k + 1]; i++) {
            op_id o = l->app_op[i];
            if (!g->maybe[l->app_node[o]] || g->list_key[k] != 1) continue;
            uint32_t *at = id_map_at(g->m, &appender, map_pair(k, h->op_value[o]));
            assert(*at == NO_ID);
            *at = l->app_node[o];
        }
    g->forced_by = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    memset(g->forced_by, 0xff, ((size_t)g->nodes + 1) * sizeof *g->forced_by);
    /* breadth first, so that explanations get the shortest chains of readers */
    node_queue work = {0};
    for (node_id v = 0; v < g->nodes; v++)
        if (g->forced[v]) vec_push(g->m, &work, v);
    for (size_t head = 0; head < work.n; head++) {
        node_id v = work.at[head];
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t rf = g->ob_rf[ob];
            if (rf < RF_LAST) force_node(g, rf, ob, &work);
            if (!(g->ob_flags[ob] & OB_LIST) || g->list_key[g->ob_key[ob]] != 1) continue;
            atom a = list_atom(h, g->ob_value[ob]);
            if (a.kind != ATOM_LIST) continue;
            for (uint32_t i = 0; i < a.len; i++) {
                value_id e = h->elements.at[a.as.offset + i];
                node_id u = id_map_get(&appender, map_pair(g->ob_key[ob], e));
                if (u != NO_ID) force_node(g, u, ob, &work);
            }
        }
        guard_tick(g->m->guard);
    }
    vec_free(g->m, &work);
    id_map_free(g->m, &appender);
}

/* A list read by a transaction that may or may not have committed: only the search can tell
   whether it constrains the order. */
static void find_unsure_readers(asg *g)
{
    bool search = g->open.n != 0; /* else whoever took part is known */
    for (size_t k = 0; k < history_keys(g->h) && !search; k++) search = g->list_key[k] == 2;
    if (!search) return;
    for (uint32_t ob = 0; ob < asg_obs(g); ob++) {
        if (!(g->ob_flags[ob] & OB_LIST) || asg_in(g, g->ob_node[ob])) continue;
        bool can_be_taken = g->inst_first[g->ob_node[ob]] < g->inst_first[g->ob_node[ob] + 1];
        if (can_be_taken) g->list_key[g->ob_key[ob]] = 2;
    }
}

static bool load_appends(asg *g, lists *l)
{
    const history *h = g->h;
    size_t keys = history_keys(h);
    bool any = false;
    for (size_t k = 0; k < keys && !any; k++) any = g->list_key[k] != 0;
    if (!any) return false;
    VEC(uint32_t) key = {0}, op = {0};
    l->app_node = mem_array(g->m, uint32_t, h->ops + 1);
    for (node_id v = 0; v < g->nodes; v++) {
        txn_id t = g->node_txn[v];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) != OP_APPEND) continue;
            vec_push(g->m, &key, h->op_key[o]);
            vec_push(g->m, &op, o);
            l->app_node[o] = v;
        }
    }
    uint32_t *index = asg_group(g, key.at, key.n, keys, &l->app_first);
    for (size_t i = 0; i < key.n; i++) index[i] = op.at[index[i]];
    l->app_op = index;
    vec_free(g->m, &key);
    vec_free(g->m, &op);
    return true;
}

/* Some faults were found before it was known which transactions must have committed.  A fault of
   any other transaction only says that this one did not commit. */
static void drop_unsure_faults(asg *g)
{
    size_t kept = 0;
    g->garbage = false;
    for (size_t i = 0; i < g->faults.n; i++) {
        fault f = g->faults.at[i];
        assert(f.node < g->nodes && kept <= i);
        if (!asg_in(g, f.node)) {
            g->barred[f.node] = 1;
            continue;
        }
        if (f.anomaly == ANOMALY_MALFORMED_RESULT || f.anomaly == ANOMALY_GARBAGE_READ)
            g->garbage = true;
        g->faults.at[kept++] = f;
    }
    g->faults.n = kept;
}

void asg_lists(asg *g)
{
    g->barred = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    lists l = {.g = g};
    size_t keys = history_keys(g->h);
    if (!load_appends(g, &l)) {
        force(g, NULL);
        drop_unsure_faults(g);
        return;
    }
    asg_by_key(g);
    find_mixed(g);
    for (size_t k = 0; k < keys; k++) /* repeated elements name no writer: known before forcing */
        if (g->list_key[k] == 1 && !load_key(&l, (key_id)k)) g->list_key[k] = 2;
    force(g, &l);
    drop_unsure_faults(g);
    find_unsure_readers(g);
    l.ob_index = asg_group(g, g->ob_key, asg_obs(g), keys, &l.ob_first);
    l.stamp = mem_array0(g->m, uint32_t, (size_t)g->nodes + 1);
    for (size_t k = 0; k < keys; k++) {
        if (g->list_key[k] == 1)
            order_key(&l, (key_id)k);
        else if (g->list_key[k] == 2)
            g->wild_lists++;
        guard_tick(g->m->guard);
    }
    vec_free(g->m, &l.elems);
    vec_free(g->m, &l.chain);
    id_map_free(g->m, &l.elem_of);
    mem_put(g->m, l.stamp);
    id_map_free(g->m, &l.aborted);
    mem_put(g->m, l.ob_index);
    mem_put(g->m, l.ob_first);
    mem_put(g->m, l.app_first);
    mem_put(g->m, l.app_op);
    mem_put(g->m, l.app_node);
}

/* --- read-uncommitted ------------------------------------------------------------------------- */

bool asg_list_orders(asg *g, size_t *fault_at)
{
    const history *h = g->h;
    lists l = {.g = g};
    if (!load_appends(g, &l)) return true;
    size_t keys = history_keys(h);
    bool ok = true;
    asg_by_key(g);
    l.ob_index = asg_group(g, g->ob_key, asg_obs(g), keys, &l.ob_first);
    for (size_t k = 0; k < keys && ok; k++) {
        if (g->list_key[k] != 1 || !load_key(&l, (key_id)k)) continue;
        for (uint32_t i = l.ob_first[k]; i < l.ob_first[k + 1] && ok; i++) {
            uint32_t ob = l.ob_index[i];
            atom a = list_atom(h, g->ob_value[ob]);
            if (g->maybe[g->ob_node[ob]] || a.kind != ATOM_LIST) continue;
            node_id before = NO_ID, self = g->ob_node[ob];
            for (uint32_t j = 0; j < a.len && ok; j++) {
                uint32_t x = find_elem(&l, h->elements.at[a.as.offset + j]);
                if (x == NO_ID) continue; /* aborted, or garbage that is reported elsewhere */
                /* An aborted transaction appended it too: this one may have come from there. */
                if (aborted_writer(&l, (key_id)k, l.elems.at[x].value) != NO_ID) continue;
                node_id v = l.elems.at[x].node;
                if (v == RF_INIT) {
                    ok = before == NO_ID;
                } else if (!g->maybe[v]) {
                    if (before != NO_ID && before != v)
                        asg_add_edge(g, before, v, EDGE_WW, (key_id)k, ob);
                    before = v;
                }
            }
            if (!ok) {
                incompatible(&l, ob, NO_ID);
                *fault_at = g->faults.n - 1;
            } else if (before != NO_ID && before != self && own_appends(&l, ob)) {
                asg_add_edge(g, before, self, EDGE_WW, (key_id)k, ob);
            }
        }
        guard_tick(g->m->guard);
    }
    vec_free(g->m, &l.elems);
    id_map_free(g->m, &l.aborted);
    id_map_free(g->m, &l.elem_of);
    mem_put(g->m, l.ob_index);
    mem_put(g->m, l.ob_first);
    mem_put(g->m, l.app_first);
    mem_put(g->m, l.app_op);
    mem_put(g->m, l.app_node);
    return ok;
}
