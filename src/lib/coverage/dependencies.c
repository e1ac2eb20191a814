/*
 * dependencies.c - which dependencies the history shows, and who never met anybody.
 *
 * Counted on the semantic graph, where scans stand key by key.  The order of versions is that of
 * the answer; a step of it is known if the later transaction read the earlier version, or if a list
 * or a hint shows it, inferred if the earlier transaction comes before the later one by known
 * dependencies, and else open: the answer would be the same with both exchanged, or only a search
 * shows that it would not.
 */
#include "coverage/coverage.h"

#include <stdlib.h>

#include "asg/asg.h"

enum { MOST_STEPS = 5000000 }; /* of all searches for inferred steps together */

typedef struct counter {
    covering *c;
    coverage *out;
    asg g;
    mem *m;
    uint32_t *place;  /* per node: in the order of the answer, from 1; 0: none */
    uint32_t *marked; /* per node: the search that saw it last */
    VEC(node_id) stack;
    uint64_t steps;
} counter;

/* --- conflicts -------------------------------------------------------------------------------- */

enum { NOBODY = 0xffffffffu, SEVERAL = 0xfffffffeu };

static uint32_t session_of_node(const asg *g, node_id v)
{
    return g->h->txn_session[g->node_txn[v]];
}

static void add_session(uint32_t *who, uint32_t session)
{
    *who = *who == NOBODY || *who == session ? session : SEVERAL;
}

static bool are_apart(uint32_t writers, uint32_t all)
{
    return writers == NOBODY || all != SEVERAL;
}

static void count_conflicts(counter *x)
{
    const asg *g = &x->g;
    size_t keys = history_keys(g->h), sessions = g->h->sessions.n;
    uint32_t *writers = mem_array(x->m, uint32_t, keys + 1);
    uint32_t *all = mem_array(x->m, uint32_t, keys + 1);
    uint8_t *met = mem_array0(x->m, uint8_t, sessions + 1);
    uint8_t *there = mem_array0(x->m, uint8_t, sessions + 1);
    memset(writers, 0xff, (keys + 1) * sizeof *writers);
    memset(all, 0xff, (keys + 1) * sizeof *all);
    for (size_t i = 0; i < g->insts; i++) {
        add_session(&writers[g->inst_key[i]], session_of_node(g, g->inst_node[i]));
        add_session(&all[g->inst_key[i]], session_of_node(g, g->inst_node[i]));
    }
    for (size_t i = 0; i < g->obs; i++)
        add_session(&all[g->ob_key[i]], session_of_node(g, g->ob_node[i]));
    for (node_id v = 0; v < g->nodes; v++) there[session_of_node(g, v)] = 1;
    for (size_t i = 0; i < g->insts; i++) /* a writer conflicts with everybody at its key */
        if (all[g->inst_key[i]] == SEVERAL) met[session_of_node(g, g->inst_node[i])] = 1;
    for (size_t i = 0; i < g->obs; i++) { /* a reader with writers of other sessions */
        uint32_t w = writers[g->ob_key[i]], s = session_of_node(g, g->ob_node[i]);
        if (w != NOBODY && w != s) met[s] = 1;
    }
    for (size_t k = 0; k < keys; k++) {
        if (all[k] == NOBODY) continue;
        x->out->keys++;
        if (!are_apart(writers[k], all[k])) continue;
        if (x->out->keys_apart < APART_NAMED) x->out->key_apart[x->out->keys_apart] = (key_id)k;
        x->out->keys_apart++;
    }
    for (size_t s = 0; s < sessions; s++) {
        x->out->sessions += there[s];
        if (!there[s] || met[s]) continue;
        if (x->out->sessions_apart < APART_NAMED)
            x->out->session_apart[x->out->sessions_apart] = (uint32_t)s;
        x->out->sessions_apart++;
    }
    mem_put(x->m, there);
    mem_put(x->m, met);
    mem_put(x->m, all);
    mem_put(x->m, writers);
}

/* --- updates of one key that overlap ---------------------------------------------------------- */

typedef struct update {
    key_id key;
    uint32_t session;
    int64_t begin, end;
} update;

static int compare_updates(const void *x, const void *y)
{
    const update *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->session > b->session) - (a->session < b->session);
}

/* When it was open; a transaction without times may have been open at any time. */
static void open_times(const history *h, txn_id t, int64_t *begin, int64_t *end)
{
    unsigned f = h->txn_flags[t];
    *begin = f & TXN_HAS_TIMES   ? h->txn_times[4 * t]
             : f & TXN_HAS_BEGIN ? h->txn_begin[t]
                                 : INT64_MIN;
    *end = f & TXN_HAS_TIMES ? h->txn_times[4 * t + 3]
           : f & TXN_HAS_END ? h->txn_end[t]
                             : INT64_MAX;
}

typedef VEC(update) updates;

/* Reads of a key before a write of it.  Aborted transactions and statements that failed count: if
   the database had let them pass, that would have been seen. */
static void gather_updates(counter *x, updates *all)
{
    const history *h = x->g.h;
    txn_id *reader = mem_array(x->m, txn_id, history_keys(h) + 1);
    memset(reader, 0xff, (history_keys(h) + 1) * sizeof *reader);
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            enum op_kind kind = op_kind_of(h, o);
            if (kind == OP_SCAN || kind == OP_ITER) {
                const range *r = &h->ranges.at[h->op_key[o]];
                for (uint32_t i = 0; i < r->rows; i++) reader[h->row_key.at[r->first_row + i]] = t;
            } else if (kind == OP_READ) {
                reader[h->op_key[o]] = t;
            } else if (reader[h->op_key[o]] == t) {
                update u = {.key = h->op_key[o], .session = h->txn_session[t]};
                open_times(h, t, &u.begin, &u.end);
                vec_push(x->m, all, u);
            }
        }
    mem_put(x->m, reader);
}

static void find_updates(counter *x)
{
    updates all = {0};
    gather_updates(x, &all);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, compare_updates);
    int64_t latest = INT64_MIN; /* end so far of this key's, and whose that is */
    uint32_t whose = NOBODY;
    for (size_t i = 0; i < all.n && !x->out->updates_overlap; i++) {
        const update *u = &all.at[i];
        bool same = i && all.at[i - 1].key == u->key;
        if (same && u->begin <= latest && whose != u->session) x->out->updates_overlap = true;
        if (!same || u->end > latest) {
            latest = u->end;
            whose = u->session;
        }
    }
    vec_free(x->m, &all);
}

/* --- what single anomalies need --------------------------------------------------------------- */

static void find_single_faults(counter *x)
{
    const history *h = x->g.h;
    size_t keys = history_keys(h);
    uint8_t *aborted = mem_array0(x->m, uint8_t, keys + 1);
    uint8_t *twice = mem_array0(x->m, uint8_t, keys + 1);
    txn_id *last = mem_array(x->m, txn_id, keys + 1);
    memset(last, 0xff, (keys + 1) * sizeof *last);
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            enum op_kind kind = op_kind_of(h, o);
            if (kind == OP_SCAN || kind == OP_ITER) x->out->ranges_read = true;
            if (kind != OP_WRITE && kind != OP_APPEND) continue;
            key_id k = h->op_key[o];
            if (txn_status_of(h, t) == TXN_ABORTED) aborted[k] = 1;
            if (last[k] == t) twice[k] = 1;
            last[k] = t;
        }
    for (size_t i = 0; i < x->g.obs; i++) {
        if (aborted[x->g.ob_key[i]]) x->out->aborted_read = true;
        if (twice[x->g.ob_key[i]]) x->out->overwritten_read = true;
    }
    mem_put(x->m, last);
    mem_put(x->m, twice);
    mem_put(x->m, aborted);
}

/* Some transaction reads two keys of which one other transaction writes both: looked for among the
   writers that its reads may have seen. */
static void find_pairs(counter *x)
{
    const asg *g = &x->g;
    uint32_t *first = mem_array0(x->m, uint32_t, (size_t)g->nodes + 1);
    key_id *key = mem_array(x->m, key_id, (size_t)g->nodes + 1);
    asg_by_key(&x->g);
    uint64_t work = 0;
    for (node_id v = 0; v < g->nodes && !x->out->pairs_read; v++)
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            key_id k = g->ob_key[ob];
            for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
                node_id w = g->inst_node[g->kw_inst[i]];
                if (w == v || ++work > MOST_STEPS) continue;
                if (first[w] == v + 1 && key[w] != k) x->out->pairs_read = true;
                first[w] = v + 1;
                key[w] = k;
            }
        }
    mem_put(x->m, key);
    mem_put(x->m, first);
}

/* --- the order of versions -------------------------------------------------------------------- */

static bool reads_version(const counter *x, node_id from, node_id to, key_id k)
{
    const asg *g = &x->g;
    for (uint32_t ob = g->ob_first[to]; ob < g->ob_first[to + 1]; ob++)
        if (g->ob_key[ob] == k && g->ob_rf[ob] == from) return true;
    for (uint32_t e = g->extra_head[to]; e != NO_ID; e = g->extra.at[e].next)
        if (g->extra.at[e].from == from && g->extra.at[e].key == k) return true;
    return false;
}

static bool push_before(counter *x, node_id v, node_id goal, uint32_t round)
{
    if (v == goal) return true;
    if (v >= x->g.nodes || x->place[v] <= x->place[goal] || x->marked[v] == round) return false;
    x->marked[v] = round;
    x->steps++;
    vec_push(x->m, &x->stack, v);
    return false;
}

/* Does `from` come before `to` by session order, reads and shown version orders? */
static bool comes_before(counter *x, node_id from, node_id to, uint32_t round)
{
    const asg *g = &x->g;
    x->stack.n = 0;
    push_before(x, to, from, round);
    while (x->stack.n && x->steps < MOST_STEPS) {
        node_id v = x->stack.at[--x->stack.n];
        if (x->c->v->session_order && g->so_pred[v] != NO_ID &&
            push_before(x, g->so_pred[v], from, round))
            return true;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            if (g->ob_rf[ob] < RF_LAST && push_before(x, g->ob_rf[ob], from, round)) return true;
        for (uint32_t e = g->extra_head[v]; e != NO_ID; e = g->extra.at[e].next)
            if (push_before(x, g->extra.at[e].from, from, round)) return true;
    }
    return false;
}

static void count_versions(counter *x)
{
    const verdict *v = x->c->v;
    asg *g = &x->g;
    if (!v->ordered) return;
    size_t keys = history_keys(g->h);
    node_id *last = mem_array(x->m, node_id, keys + 1);
    memset(last, 0xff, (keys + 1) * sizeof *last);
    x->place = mem_array0(x->m, uint32_t, (size_t)g->nodes + 1);
    x->marked = mem_array0(x->m, uint32_t, (size_t)g->nodes + 1);
    for (uint32_t i = 0; i < v->ordered; i++)
        if (g->txn_node[v->order[i]] != NO_ID) x->place[g->txn_node[v->order[i]]] = i + 1;
    uint32_t round = 0;
    for (uint32_t i = 0; i < v->ordered; i++) {
        node_id to = g->txn_node[v->order[i]];
        if (to == NO_ID) continue;
        for (uint32_t n = g->inst_first[to]; n < g->inst_first[to + 1]; n++) {
            key_id k = g->inst_key[n];
            node_id from = last[k];
            last[k] = to;
            if (from == NO_ID) continue;
            if (reads_version(x, from, to, k))
                x->out->versions_known++;
            else if (comes_before(x, from, to, ++round))
                x->out->versions_inferred++;
            else
                x->out->versions_open++;
        }
    }
}

void cover_dependencies(covering *c, const history *h)
{
    counter x = {.c = c, .out = c->out, .m = c->m};
    asg_build(&x.g, h, c->m, c->v->ryow, asg_level_flags(c->v->level.id));
    for (size_t i = 0; i < x.g.obs; i++)
        if (x.g.ob_rf[i] == RF_OPEN)
            x.out->reads_open++;
        else
            x.out->reads_known++;
    count_conflicts(&x);
    find_updates(&x);
    find_single_faults(&x);
    find_pairs(&x);
    count_versions(&x);
    mem_free_all(c->m);
}
