/*
 * asg.c - from a frozen history to nodes, installs, obligations and read-from.
 *
 * Three passes.  (1) Transactions in session order: the last write of each key is installed,
 * reads are internal or external by the policy (doc/levels.md 3), scans are expanded (H-7).
 * (2) Installs and obligations are grouped by key with counting sorts.  (3) Key by key, a small
 * table from value to writers resolves each obligation: this stays in cache where one table
 * over all (key, value) pairs would miss on every read.
 */
#include "asg/asg.h"

#include <assert.h>
#include <stdio.h>

#include "asg/duplicates.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/search.h"
#include "base/sort.h"
#include "opt/anomaly.h"

/* --- pass 1: transactions ------------------------------------------------------------------ */

typedef struct visit_scratch {
    uint32_t *slot;   /* per key: install of the current transaction, valid if >= its first */
    uint8_t *has_key; /* per key: some transaction installs it, or it exists at first */
    uint32_t *row_of; /* per key: row of the current scan + 1 */
    struct written_pairs *all; /* of mixtures with read-uncommitted transactions, else NULL */
    size_t reads, writes;      /* point operations of the nodes: how much room the arrays need */
} visit_scratch;

static void grow_installs(asg *g, size_t cap)
{
    g->inst_key = mem_resize(g->m, g->inst_key, mem_bytes(g->m, cap, sizeof(key_id)));
    g->inst_value = mem_resize(g->m, g->inst_value, mem_bytes(g->m, cap, sizeof(value_id)));
    g->inst_op = mem_resize(g->m, g->inst_op, mem_bytes(g->m, cap, sizeof(op_id)));
    g->inst_node = mem_resize(g->m, g->inst_node, mem_bytes(g->m, cap, sizeof(node_id)));
    g->inst_cap = cap;
}

static void grow_obs(asg *g, size_t cap)
{
    if (cap > RF_LAST)
        guard_fail(g->m->guard, GUARD_UNSUPPORTED, "more than 2^32 reads after expanding scans");
    g->ob_key = mem_resize(g->m, g->ob_key, mem_bytes(g->m, cap, sizeof(key_id)));
    g->ob_value = mem_resize(g->m, g->ob_value, mem_bytes(g->m, cap, sizeof(value_id)));
    g->ob_op = mem_resize(g->m, g->ob_op, mem_bytes(g->m, cap, sizeof(op_id)));
    g->ob_node = mem_resize(g->m, g->ob_node, mem_bytes(g->m, cap, sizeof(node_id)));
    g->ob_flags = mem_resize(g->m, g->ob_flags, cap);
    g->ob_cap = cap;
}

static inline void push_install(asg *g, node_id node, key_id k, value_id v, op_id o)
{
    assert(g->inst_cap);
    if (g->insts == g->inst_cap) grow_installs(g, g->inst_cap * 2);
    assert(node < g->nodes && g->insts < g->inst_cap);
    size_t i = g->insts++;
    g->inst_key[i] = k;
    g->inst_value[i] = v;
    g->inst_op[i] = o;
    g->inst_node[i] = node;
}

static inline void push_ob(asg *g, node_id node, key_id k, value_id v, op_id o, unsigned flags)
{
    assert(g->ob_cap);
    if (g->obs == g->ob_cap) grow_obs(g, g->ob_cap * 2);
    assert(node < g->nodes && g->obs < g->ob_cap && o < g->h->ops);
    size_t i = g->obs++;
    g->ob_key[i] = k;
    g->ob_value[i] = v;
    g->ob_op[i] = o;
    g->ob_node[i] = node;
    g->ob_flags[i] = (uint8_t)flags;
}

void asg_fault(asg *g, uint32_t anomaly, node_id v, op_id o, key_id k, value_id x, txn_id other)
{
    assert(v < g->nodes && o < g->h->ops);
    fault f = {anomaly, v, o, k, x, other, VALUE_NULL};
    vec_push(g->m, &g->faults, f);
    if (anomaly == ANOMALY_MALFORMED_RESULT || anomaly == ANOMALY_GARBAGE_READ) g->garbage = true;
}

static value_id plain(value_id v)
{
    return v == VALUE_EMPTY ? VALUE_NULL : v; /* [] and absent are the same */
}

/* The writer that the history names for what operation o saw of k. */
static label hint_of(const asg *g, op_id o, key_id k, bool *found, bool *init)
{
    const history *h = g->h;
    *found = *init = false;
    if (g->flags & ASG_NO_HINTS) return 0;
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    bool is_range = op_kind_of(h, o) == OP_SCAN || op_kind_of(h, o) == OP_ITER;
    for (; a && a < end && a->op == o; a++) {
        bool mine = !is_range && (a->kind == ATTR_FROM || a->kind == ATTR_FROM_INIT);
        if (is_range && (a->kind == ATTR_VSET || a->kind == ATTR_VSET_INIT)) mine = a->key == k;
        if (is_range && (a->kind == ATTR_ROW_FROM || a->kind == ATTR_ROW_FROM_INIT)) {
            const range *r = &h->ranges.at[h->op_key[o]];
            mine = a->key < r->rows && h->row_key.at[r->first_row + a->key] == k;
        }
        if (!mine) continue;
        *found = true;
        *init =
            a->kind == ATTR_FROM_INIT || a->kind == ATTR_VSET_INIT || a->kind == ATTR_ROW_FROM_INIT;
        return a->a;
    }
    return 0;
}

label asg_hint(const asg *g, uint32_t ob, bool *found, bool *init)
{
    return hint_of(g, g->ob_op[ob], g->ob_key[ob], found, init);
}

/* Does the history name another writer than the transaction itself for this read? */
static bool named_other(const asg *g, node_id v, op_id o, key_id k)
{
    bool found, init;
    if (!(g->h->op_kind[o] & OP_ATTR)) return false;
    label l = hint_of(g, o, k, &found, &init);
    return found && (init || l != g->h->txn_label[g->node_txn[v]]);
}

/* One table over all pairs of key and value that were written, by whatever transaction.  It is made
   only when some read needs it: `next` is NULL until then. */
typedef struct written_pairs written_pairs;
struct written_pairs {
    id_map first; /* (key, value) -> the first operation that wrote it */
    op_id *next;  /* per operation: the next one that wrote the same, or NO_ID */
};

static void load_written_pairs(asg *g, written_pairs *w)
{
    const history *h = g->h;
    static_assert(NO_ID == MAP_NONE, "a pair that is new in the map has no operation");
    w->next = mem_array(g->m, op_id, h->ops + 1);
    for (op_id o = (op_id)h->ops; o-- > 0;) { /* backwards, so that chains run forwards */
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        if (op_failed(h, o) || (kind != OP_WRITE && kind != OP_DELETE)) continue;
        uint32_t *first = id_map_at(g->m, &w->first, map_pair(h->op_key[o], plain(h->op_value[o])));
        assert(*first == NO_ID || *first > o);
        w->next[o] = *first;
        *first = o;
    }
}

/* The first operation that wrote x to k, or NO_ID; its transaction may have any outcome.  Others
   that wrote the same follow by w->next. */
static op_id first_write_of(const written_pairs *w, key_id k, value_id x)
{
    assert(w->next);
    return id_map_get(&w->first, map_pair(k, x));
}

/* At read-uncommitted a read is judged only if nobody, of whatever outcome, wrote the value. */
static bool is_unjudged(const asg *g, const visit_scratch *s, node_id v, key_id k, value_id seen)
{
    if (!s->all || g->row[v] != ROW_RU) return false;
    return (!g->h->init_unknown && plain(g->h->key_init[k]) == seen) ||
           first_write_of(s->all, k, seen) != NO_ID;
}

/* The own latest write of k in the current transaction, or VALUE_UNKNOWN.  Appends are handled in
   lists.c, which sees every read of a list key as external. */
static bool own_write(const asg *g, const visit_scratch *s, key_id k, uint32_t first, value_id *v)
{
    uint32_t i = s->slot[k];
    if (i < first || i >= g->insts || g->inst_key[i] != k) return false;
    *v = g->inst_value[i];
    return true;
}

static void read_key(asg *g, const visit_scratch *s, node_id v, uint32_t first, op_id o, key_id k,
                     value_id seen, unsigned flags)
{
    if (g->list_key[k]) {
        push_ob(g, v, k, plain(seen), o, flags | OB_LIST);
        return;
    }
    value_id own;
    seen = plain(seen);
    if (own_write(g, s, k, first, &own) && g->ryow != RYOW_EXTERNAL) {
        if (own == seen && !named_other(g, v, o, k)) return;
        if (g->ryow == RYOW_MUST && g->row && g->row[v] == ROW_RU) return;
        if (g->ryow == RYOW_MUST) {
            asg_fault(g, ANOMALY_NOT_OWN_WRITE, v, o, k, seen, NO_ID);
            return;
        }
    }
    if (is_unjudged(g, s, v, k, seen)) return;
    push_ob(g, v, k, seen, o, flags);
}

static bool rows_malformed(const history *h, const range *r, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = 0; i < r->rows; i++) {
        key_id k = h->row_key.at[r->first_row + i];
        uint32_t rank = h->key_rank[k];
        value_id x = h->row_value.at[r->first_row + i];
        if (rank < lo || rank >= hi || x == VALUE_NULL || x == VALUE_UNKNOWN) return true;
        if (i) {
            uint32_t before = h->key_rank[h->row_key.at[r->first_row + i - 1]];
            if (r->reverse ? before <= rank : before >= rank) return true;
        }
    }
    return false;
}

static void read_range(asg *g, visit_scratch *s, node_id v, uint32_t first, op_id o)
{
    const history *h = g->h;
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi;
    range_ranks(h, r, &lo, &hi);
    if (rows_malformed(h, r, lo, hi)) {
        asg_fault(g, ANOMALY_MALFORMED_RESULT, v, o, NO_ID, VALUE_UNKNOWN, NO_ID);
        return;
    }
    if (!r->done) { /* nothing is known past the last item */
        if (!r->rows) return;
        uint32_t last = h->key_rank[h->row_key.at[r->first_row + r->rows - 1]];
        if (r->reverse)
            lo = last;
        else
            hi = last + 1;
        assert(lo < hi); /* every row lies within the range */
    }
    for (uint32_t i = 0; i < r->rows; i++) {
        key_id k = h->row_key.at[r->first_row + i];
        s->row_of[k] = r->first_row + i + 1;
        read_key(g, s, v, first, o, k, h->row_value.at[r->first_row + i], 0);
    }
    for (uint32_t rank = lo; rank < hi; rank++) {
        key_id k = h->key_sorted[rank];
        if (s->row_of[k] > r->first_row && s->row_of[k] <= r->first_row + r->rows) continue;
        if (s->has_key[k]) read_key(g, s, v, first, o, k, VALUE_NULL, OB_PRED);
    }
    guard_tick(g->m->guard);
}

static void visit_txn(asg *g, visit_scratch *s, node_id v)
{
    const history *h = g->h;
    txn_id t = g->node_txn[v];
    uint32_t first = (uint32_t)g->insts;
    bool local = false;
    assert(v < g->nodes && g->txn_node[t] == v);
    g->inst_first[v] = first;
    g->ob_first[v] = (uint32_t)g->obs;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        unsigned kind = h->op_kind[o];
        if (kind & OP_FAILED) {
            if (!op_is_local_write(h, o)) continue;
            local = true; /* seen by own reads below, then taken away */
        }
        key_id k = h->op_key[o];
        switch ((enum op_kind)(kind & OP_KIND_MASK)) {
        case OP_READ:
            if (h->op_value[o] != VALUE_UNKNOWN) read_key(g, s, v, first, o, k, h->op_value[o], 0);
            break;
        case OP_WRITE:
        case OP_DELETE:
        case OP_APPEND: {
            uint32_t i = s->slot[k];
            if (i >= first && i < g->insts && g->inst_key[i] == k) {
                g->inst_value[i] = plain(h->op_value[o]);
                g->inst_op[i] = o;
            } else {
                s->slot[k] = (uint32_t)g->insts;
                push_install(g, v, k, plain(h->op_value[o]), o);
            }
            break;
        }
        case OP_SCAN:
        case OP_ITER: read_range(g, s, v, first, o); break;
        }
    }
    if (local) g->insts = first; /* an aborted transaction installs nothing */
    guard_tick_at(g->m->guard, v);
}

static void number_nodes(asg *g)
{
    const history *h = g->h;
    g->node_txn = mem_array(g->m, txn_id, h->txns + 1);
    g->txn_node = mem_array(g->m, node_id, h->txns + 1);
    g->so_pred = mem_array(g->m, node_id, h->txns + 1);
    g->maybe = mem_array(g->m, uint8_t, h->txns + 1);
    if (h->txns >= RF_LAST)
        guard_fail(g->m->guard, GUARD_UNSUPPORTED, "more than 2^32 transactions");
    for (size_t i = 0; i < h->sessions.n; i++) {
        node_id before = NO_ID;
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++) {
            txn_id t = h->sess_txn[j];
            enum txn_status status = txn_status_of(h, t);
            g->txn_node[t] = NO_ID;
            if (status == TXN_ABORTED) continue;
            node_id v = g->nodes++;
            g->node_txn[v] = t;
            g->txn_node[t] = v;
            g->so_pred[v] = before;
            g->maybe[v] = status == TXN_UNKNOWN;
            /* No session edge leaves a transaction of unknown outcome (levels.md H-3). */
            if (status == TXN_COMMITTED)
                before = v;
            else
                g->unknown++;
        }
    }
    assert(g->nodes <= h->txns && g->unknown <= g->nodes);
}

/* Which keys are lists, and (for scans) which keys need an obligation when not returned. */
static void classify_keys(asg *g, visit_scratch *s)
{
    const history *h = g->h;
    size_t keys = history_keys(h);
    g->list_key = mem_array0(g->m, uint8_t, keys + 1);
    s->has_key = mem_array0(g->m, uint8_t, keys + 1);
    for (size_t k = 0; k < keys; k++) {
        value_id x = h->key_init[k];
        if (plain(x) != VALUE_NULL || h->init_unknown) s->has_key[k] = 1;
        if (value_atom(h, x).kind == ATOM_LIST) g->list_key[k] = 1;
        if (h->shown_list && h->shown_list[k]) g->list_key[k] = 1;
    }
    for (size_t t = 0; t < h->txns; t++) {
        bool aborted = txn_status_of(h, (txn_id)t) == TXN_ABORTED;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (op_failed(h, o) || kind == OP_SCAN || kind == OP_ITER) continue;
            if (!aborted) {
                s->reads += kind == OP_READ;
                s->writes += kind != OP_READ;
            }
            if (kind != OP_READ && !aborted) s->has_key[h->op_key[o]] = 1;
            if (kind == OP_APPEND) g->list_key[h->op_key[o]] = 1;
            value_id x = h->op_value[o];
            if (kind == OP_READ && x > VALUE_NULL && x != VALUE_UNKNOWN &&
                value_atom(h, x).kind == ATOM_LIST)
                g->list_key[h->op_key[o]] = 1;
        }
    }
    for (size_t i = 0; i < h->row_key.n; i++)
        if (h->row_value.at[i] > VALUE_NULL && h->row_value.at[i] != VALUE_UNKNOWN &&
            value_atom(h, h->row_value.at[i]).kind == ATOM_LIST)
            g->list_key[h->row_key.at[i]] = 1;
}

/* --- pass 2: by key -------------------------------------------------------------------------- */

uint32_t *asg_group(asg *g, const uint32_t *key, size_t n, size_t keys, uint32_t **first)
{
    uint32_t *start = mem_array0(g->m, uint32_t, keys + 2);
    uint32_t *index = mem_array(g->m, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        assert(key[i] < keys);
        start[key[i] + 2]++;
    }
    for (size_t k = 2; k < keys + 2; k++) start[k] += start[k - 1];
    for (size_t i = 0; i < n; i++) {
        index[start[key[i] + 1]++] = (uint32_t)i;
        guard_tick(g->m->guard);
    }
    assert(!start[0] && start[keys] == n); /* all have found their place */
    *first = start;
    return index;
}

/* Large write sets are sorted by key so that asg_install can search them. */
static void sort_installs(asg *g, node_id v)
{
    uint32_t lo = g->inst_first[v], n = g->inst_first[v + 1] - lo;
    if (n <= 32) return;
    uint64_t *key = mem_array(g->m, uint64_t, n);
    value_id *val = mem_array(g->m, value_id, n);
    op_id *op = mem_array(g->m, op_id, n);
    for (uint32_t i = 0; i < n; i++) {
        key[i] = g->inst_key[lo + i];
        val[i] = g->inst_value[lo + i];
        op[i] = g->inst_op[lo + i];
    }
    uint32_t *at = sort_by_key(g->m, key, n);
    for (uint32_t i = 0; i < n; i++) {
        g->inst_key[lo + i] = (key_id)key[at[i]];
        g->inst_value[lo + i] = val[at[i]];
        g->inst_op[lo + i] = op[at[i]];
        assert(!i || g->inst_key[lo + i - 1] < g->inst_key[lo + i]);
    }
    mem_put(g->m, at);
    mem_put(g->m, op);
    mem_put(g->m, val);
    mem_put(g->m, key);
}

void asg_by_key(asg *g)
{
    if (g->kw_inst) return;
    g->kw_inst = asg_group(g, g->inst_key, g->insts, history_keys(g->h), &g->kw_first);
}

/* --- pass 3: read-from ------------------------------------------------------------------------ */

#define AHEAD 12 /* reads and writers whose memory is fetched before it is needed */

/* The writers of one key, by value.  The chain of a value runs over places in the key's own list of
   installs, so that a walk along it stays within a few cache lines. */
typedef struct key_writers {
    id_map first;         /* value -> place of its first writer */
    uint32_t *next;       /* per place: the next one of the same value, or NO_ID */
    node_id *node;        /* per place: the transaction that wrote it */
    const uint32_t *inst; /* per place: the install */
    written_pairs *all;   /* the writes of all keys and of transactions of any outcome */
    uint8_t *named;       /* with an unknown initial state, per key: the header names its value */
    size_t places;
    uint32_t *group; /* two per place that is the first of its value: see group_of */
} key_writers;

static void load_key_writers(asg *g, key_writers *w, key_id k)
{
    uint32_t lo = g->kw_first[k], hi = g->kw_first[k + 1];
    if (hi - lo > w->places) {
        w->places = 2 * (size_t)(hi - lo);
        mem_put(g->m, w->next);
        mem_put(g->m, w->node);
        mem_put(g->m, w->group);
        w->group = mem_array(g->m, uint32_t, 2 * w->places);
        w->next = mem_array(g->m, uint32_t, w->places);
        w->node = mem_array(g->m, node_id, w->places);
    }
    assert(lo <= hi && hi <= g->insts);
    w->inst = g->kw_inst + lo;
    for (uint32_t i = 0; i < 2 * (hi - lo); i++) w->group[i] = NO_ID;
    id_map_restart(g->m, &w->first, hi - lo);
    for (uint32_t i = hi - lo; i-- > 0;) { /* backwards, so that chains run in node order */
        if (i >= AHEAD) {
            __builtin_prefetch(g->inst_value + w->inst[i - AHEAD]);
            __builtin_prefetch(g->inst_node + w->inst[i - AHEAD]);
        }
        uint32_t x = g->inst_value[w->inst[i]];
        w->node[i] = g->inst_node[w->inst[i]];
        uint32_t *first = id_map_at(g->m, &w->first, x);
        assert(g->inst_key[w->inst[i]] == k && (*first == NO_ID || w->node[i] < w->node[*first]));
        w->next[i] = *first;
        if (*first != NO_ID && x != VALUE_NULL) g->duplicate_values = true;
        *first = i;
    }
}

static uint32_t first_writer_of(const key_writers *w, value_id x)
{
    return id_map_get(&w->first, x);
}

/* With an unknown initial state, the header may still name some keys. */
static bool named_init(const key_writers *w, key_id k)
{
    return w->named && w->named[k];
}

static _Noreturn void bad_hint(const asg *g, uint32_t ob, const char *what)
{
    strbuf b;
    strbuf_init(&b, g->m);
    label_text(g->h, g->h->txn_label[g->node_txn[g->ob_node[ob]]], &b);
    guard_fail(g->m->guard, GUARD_HISTORY, "transaction %.200s: %s", strbuf_cstr(&b), what);
}

/* Narrows an obligation to the writer that the history names. */
static void apply_hint(asg *g, uint32_t ob, bool init_ok, uint32_t chain, const key_writers *w)
{
    bool found, init;
    label l = asg_hint(g, ob, &found, &init);
    if (!found) return;
    g->uses_hints = true;
    if (init) {
        bool unknown = g->h->init_unknown && !named_init(w, g->ob_key[ob]);
        if (!init_ok && !unknown)
            bad_hint(g, ob, "\"from\": null, but the initial state does not hold that value");
        g->ob_rf[ob] = init_ok ? RF_INIT : RF_NONE;
        return;
    }
    for (uint32_t i = chain; i != NO_ID; i = w->next[i]) {
        node_id v = w->node[i];
        if (g->h->txn_label[g->node_txn[v]] != l) continue;
        g->ob_rf[ob] = v;
        return;
    }
    /* The named writer may be aborted or have written the value in between: a fault, which the
       caller finds by the empty candidate set; only a writer that never wrote it is nonsense. */
    const history *h = g->h;
    if (!w->all->next) load_written_pairs(g, w->all);
    op_id o = first_write_of(w->all, g->ob_key[ob], g->ob_value[ob]);
    for (; o != NO_ID; o = w->all->next[o]) {
        if (h->txn_label[txn_of_op(h, o)] != l) continue;
        g->ob_rf[ob] = RF_NONE;
        return;
    }
    bad_hint(g, ob, "\"from\" names a writer that did not write the value");
}

/* The group of the writers whose chain starts at that place, after the initial state if `init`;
   only those that left a tombstone if `tomb`.  For one chain `init` depends on `tomb` alone. */
static uint32_t group_of(asg *g, const key_writers *w, uint32_t chain, bool init, bool tomb)
{
    uint32_t *group = chain != NO_ID ? &w->group[2 * chain + tomb] : NULL;
    if (group && *group != NO_ID) return *group;
    size_t first = g->cand_pool.n;
    if (init) vec_push(g->m, &g->cand_pool, RF_INIT);
    for (uint32_t i = chain; i != NO_ID; i = w->next[i])
        if (!tomb || g->h->op_kind[g->inst_op[w->inst[i]]] & OP_TOMB)
            vec_push(g->m, &g->cand_pool, w->node[i]);
    uint32_t made = asg_cand_group(g, first);
    if (group) *group = made;
    return made;
}

/* The place of v in a group, or NO_ID.  Writers stand there in node order. */
static uint32_t place_of(const asg *g, uint32_t group, node_id v)
{
    const cand_group *x = &g->cand_groups.at[group];
    const node_id *at = g->cand_pool.at + x->first;
    uint32_t init = x->n && at[0] == RF_INIT;
    uint32_t i = init + (uint32_t)lower_bound_u32(at + init, x->n - init, v);
    return i < x->n && at[i] == v ? i : NO_ID;
}

/* How many members of a group that has no initial state are not v, 2 standing for more; *one: the
   first of them. */
static uint32_t count_tombs(const asg *g, uint32_t group, node_id v, node_id *one)
{
    cand_group x = g->cand_groups.at[group];
    uint32_t count = 0;
    for (uint32_t i = 0; i < x.n && count < 2; i++) {
        node_id w = g->cand_pool.at[x.first + i];
        if (w == v) continue;
        if (!count++) *one = w;
    }
    return count;
}

static void resolve_ob(asg *g, uint32_t ob, const key_writers *w, value_id init, bool init_open)
{
    value_id x = g->ob_value[ob];
    node_id self = g->ob_node[ob];
    uint32_t chain = first_writer_of(w, x), count = 0;
    node_id one = NO_ID;
    bool init_ok = init == x;
    bool tomb = x == VALUE_NULL && g->h->op_kind[g->ob_op[ob]] & OP_TOMB;
    if (tomb && chain != NO_ID) /* most of the chain may be no tombstones: it is walked once */
        count = count_tombs(g, group_of(g, w, chain, false, true), self, &one);
    for (uint32_t i = chain; i != NO_ID && count < 2 && !tomb; i = w->next[i]) {
        node_id v = w->node[i];
        if (v == self) continue;
        one = v;
        count++;
    }
    /* An unknown initial state may hold any one value (native.md 3). */
    bool init_cand = (init_ok || init_open) && !tomb;
    count += init_cand;
    g->ob_rf[ob] = RF_OPEN;
    if (g->h->op_kind[g->ob_op[ob]] & OP_ATTR) apply_hint(g, ob, init_cand, chain, w);
    if (g->ob_rf[ob] == RF_INIT && init_open) { /* one of the reads that fix the initial value */
        asg_open(g, ob, group_of(g, w, NO_ID, true, false), NO_ID);
        g->ob_rf[ob] = RF_OPEN;
        return;
    }
    if (g->ob_rf[ob] != RF_OPEN) return;
    assert(count <= 3 && (one == NO_ID || one != self));
    if (count == 0) {
        g->ob_rf[ob] = RF_NONE;
    } else if (count == 1 && !init_open) { /* an open initial value is always a choice */
        g->ob_rf[ob] = init_cand ? RF_INIT : one;
    } else {
        uint32_t group = group_of(g, w, chain, init_cand, tomb);
        asg_open(g, ob, group, place_of(g, group, self));
    }
}

/* The initial value of a key whose contents before the trace are unknown: the one value that is
   read and that nobody wrote (a second such value is garbage); VALUE_UNKNOWN: none was read. */
static value_id unknown_init(asg *g, const key_writers *w, written_pairs *all, const uint32_t *obs,
                             uint32_t n, key_id k)
{
    for (uint32_t i = 0; i < n; i++) {
        value_id x = g->ob_value[obs[i]];
        /* A transaction that may not have committed fixes nothing. */
        if (g->maybe[g->ob_node[obs[i]]] || first_writer_of(w, x) != NO_ID) continue;
        if (!all->next) load_written_pairs(g, all);
        if (first_write_of(all, k, x) == NO_ID) return x;
    }
    return VALUE_UNKNOWN;
}

/* Resolves the obligations `obs`, all of which read keys that are marked in `slow`: each such key
   gets a table of its writers. */
static void resolve_slowly(asg *g, written_pairs *all, const uint8_t *slow, const uint32_t *obs,
                           size_t n)
{
    size_t keys = history_keys(g->h);
    uint32_t *key = mem_array(g->m, uint32_t, n + 1), *start;
    for (size_t i = 0; i < n; i++) key[i] = g->ob_key[obs[i]];
    uint32_t *by_key = asg_group(g, key, n, keys, &start);
    for (size_t i = 0; i < n; i++) by_key[i] = obs[by_key[i]];
    key_writers w = {.all = all};
    if (g->h->init_unknown) {
        w.named = mem_array0(g->m, uint8_t, keys + 1);
        for (size_t i = 0; i < g->h->init_map.n; i++) w.named[g->h->init_map.at[i].key] = 1;
    }
    asg_by_key(g);
    for (size_t k = 0; k < keys; k++) {
        if (!slow[k] || g->list_key[k]) continue;
        if (start[k] == start[k + 1] && g->kw_first[k] == g->kw_first[k + 1]) continue;
        load_key_writers(g, &w, (key_id)k);
        value_id init = plain(g->h->key_init[k]);
        bool open_init = false;
        bool init_free = (g->flags & ASG_INIT_FREE) != 0;
        if (g->h->init_unknown && !named_init(&w, (key_id)k)) {
            init = unknown_init(g, &w, all, by_key + start[k], start[k + 1] - start[k], (key_id)k);
            open_init = init == VALUE_UNKNOWN && init_free;
            if (init == VALUE_UNKNOWN && !init_free) g->init_assumed = true;
            if (open_init) {
                if (!g->init_open) g->init_open = mem_array0(g->m, uint8_t, keys + 1);
                g->init_open[k] = 1;
            }
        }
        for (uint32_t i = start[k]; i < start[k + 1]; i++) {
            if (i + AHEAD < start[k + 1]) {
                __builtin_prefetch(g->ob_value + by_key[i + AHEAD]);
                __builtin_prefetch(g->ob_node + by_key[i + AHEAD]);
                __builtin_prefetch(g->ob_op + by_key[i + AHEAD]);
            }
            if (i + AHEAD / 2 < start[k + 1])
                __builtin_prefetch(g->h->op_kind + g->ob_op[by_key[i + AHEAD / 2]]);
            resolve_ob(g, by_key[i], &w, init, open_init);
        }
        guard_tick(g->m->guard);
    }
    id_map_free(g->m, &w.first);
    mem_put(g->m, w.next);
    mem_put(g->m, w.node);
    mem_put(g->m, w.group);
    mem_put(g->m, w.named);
    mem_put(g->m, by_key);
    mem_put(g->m, start);
    mem_put(g->m, key);
}

/* Most keys hold small integers, each written once: then (key, value) indexes one array of
   writers, and a read costs one access.  Keys with anything else are marked slow. */

typedef struct dense {
    uint64_t *base;   /* per key: where its values start */
    uint32_t *span;   /* per key: its values are below this; 0: slow */
    uint32_t *writer; /* installs */
} dense;

static uint8_t *load_dense(asg *g, dense *d)
{
    const history *h = g->h;
    size_t keys = history_keys(h);
    uint8_t *slow = mem_array0(g->m, uint8_t, keys + 1);
    uint32_t *count = mem_array0(g->m, uint32_t, keys + 1);
    d->base = mem_array(g->m, uint64_t, keys + 1);
    d->span = mem_array0(g->m, uint32_t, keys + 1);
    for (size_t i = 0; i < g->insts; i++) {
        key_id k = g->inst_key[i];
        value_id x = g->inst_value[i];
        count[k]++;
        if (x >= VALUE_TABLE)
            slow[k] = 1;
        else if (x >= d->span[k])
            d->span[k] = x + 1;
    }
    uint64_t total = 0;
    for (size_t k = 0; k < keys; k++) {
        if (h->init_unknown || d->span[k] / 4 > (uint64_t)count[k] + 4) slow[k] = 1;
        if (slow[k]) d->span[k] = 0;
        d->base[k] = total;
        total += d->span[k];
    }
    mem_put(g->m, count);
    d->writer = mem_array(g->m, uint32_t, total + 1);
    memset(d->writer, 0xff, total * sizeof *d->writer);
    for (size_t i = 0; i < g->insts; i++) {
        key_id k = g->inst_key[i];
        /* The table is larger than the cache: ask for the lines early. */
        if (i + AHEAD < g->insts && d->span[g->inst_key[i + AHEAD]])
            __builtin_prefetch(
                &d->writer[d->base[g->inst_key[i + AHEAD]] + g->inst_value[i + AHEAD]], 1);
        if (slow[k]) continue;
        assert(g->inst_value[i] < d->span[k] && d->base[k] + d->span[k] <= total);
        uint32_t *at = &d->writer[d->base[k] + g->inst_value[i]];
        if (*at != NO_ID) {
            slow[k] = 1;
            g->duplicate_values = true;
        }
        *at = (uint32_t)i;
    }
    return slow;
}

/* Where the table has the writer of what obligation ob saw, or NULL. */
static inline const uint32_t *slot_of(const asg *g, const dense *d, size_t ob)
{
    if (ob >= g->obs || g->ob_value[ob] >= d->span[g->ob_key[ob]]) return NULL;
    return &d->writer[d->base[g->ob_key[ob]] + g->ob_value[ob]];
}

static void resolve(asg *g, written_pairs *all)
{
    const history *h = g->h;
    dense d;
    uint8_t *slow = load_dense(g, &d);
    VEC(uint32_t) rest = {0};
    vec_push(g->m, &g->cand_first, 0);
    g->ob_rf = mem_array(g->m, uint32_t, g->obs + 1);
    g->ob_inst = mem_array(g->m, uint32_t, g->obs + 1);
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        guard_tick(g->m->guard);
        key_id k = g->ob_key[ob];
        value_id x = g->ob_value[ob];
        const uint32_t *far = slot_of(g, &d, (size_t)ob + 2 * AHEAD),
                       *near = slot_of(g, &d, (size_t)ob + AHEAD);
        if (far) __builtin_prefetch(far);
        if (near && *near != NO_ID) __builtin_prefetch(&g->inst_node[*near]);
        if (slow[k] || h->op_kind[g->ob_op[ob]] & (OP_ATTR | OP_TOMB) || g->list_key[k]) {
            g->ob_rf[ob] = RF_OPEN;
            vec_push(g->m, &g->late, ob);
            if (g->list_key[k]) continue;
            slow[k] = 1; /* hints: this read needs the list of key_writers */
            vec_push(g->m, &rest, ob);
            continue;
        }
        uint32_t inst = x < d.span[k] ? d.writer[d.base[k] + x] : NO_ID;
        node_id w = inst != NO_ID ? g->inst_node[inst] : NO_ID;
        bool init = plain(h->key_init[k]) == x;
        if (w == g->ob_node[ob]) w = NO_ID;
        assert(inst == NO_ID || (g->inst_key[inst] == k && g->inst_value[inst] == x));
        g->ob_inst[ob] = inst;
        if (init && w != NO_ID) {
            g->ob_rf[ob] = RF_OPEN;
            vec_push(g->m, &g->late, ob);
            slow[k] = 1; /* a transaction wrote the initial value again */
            vec_push(g->m, &rest, ob);
        } else {
            g->ob_rf[ob] = init ? RF_INIT : w != NO_ID ? w : RF_NONE;
        }
    }
    mem_put(g->m, d.base);
    mem_put(g->m, d.span);
    mem_put(g->m, d.writer);
    bool any = rest.n > 0;
    for (size_t k = 0; k < history_keys(h) && !any; k++) any = slow[k] && !g->list_key[k];
    if (any) resolve_slowly(g, all, slow, rest.at, rest.n);
    vec_free(g->m, &rest);
    mem_put(g->m, slow);
}

/* --- faults: reads that nothing explains ------------------------------------------------------ */

/* Reports the fault that the read is, and the transaction that is to blame for it. */
static void classify_fault(asg *g, const written_pairs *w, uint32_t ob)
{
    const history *h = g->h;
    node_id v = g->ob_node[ob];
    key_id k = g->ob_key[ob];
    value_id x = g->ob_value[ob];
    txn_id aborted = NO_ID, own = NO_ID, middle = NO_ID;
    assert(g->ob_rf[ob] == RF_NONE);
    for (op_id o = first_write_of(w, k, x); o != NO_ID; o = w->next[o]) {
        txn_id t = txn_of_op(h, o);
        if (t == g->node_txn[v])
            own = t;
        else if (txn_status_of(h, t) == TXN_ABORTED || op_is_local_write(h, o))
            aborted = t;
        else
            middle = t;
    }
    uint32_t anomaly = aborted != NO_ID  ? ANOMALY_ABORTED_READ
                       : own != NO_ID    ? ANOMALY_FUTURE_READ
                       : middle != NO_ID ? ANOMALY_INTERMEDIATE_READ
                                         : ANOMALY_GARBAGE_READ;
    asg_fault(g, anomaly, v, g->ob_op[ob], k, x,
              aborted != NO_ID ? aborted
              : own != NO_ID   ? own
                               : middle);
}

/* Only reads of transactions that must have committed are faults; an unknown one with such a read
   is one that cannot have committed, which the chooser learns from RF_NONE. */
static void find_faults(asg *g, written_pairs *w)
{
    for (uint32_t ob = 0; ob < asg_obs(g); ob++) {
        if (g->ob_rf[ob] != RF_NONE || g->ob_flags[ob] & OB_LIST) continue;
        if (g->maybe[g->ob_node[ob]] && !asg_in(g, g->ob_node[ob])) continue;
        if (!w->next) load_written_pairs(g, w);
        classify_fault(g, w, ob);
        guard_tick(g->m->guard);
    }
    id_map_free(g->m, &w->first);
    mem_put(g->m, w->next);
}

/* --- version hints ---------------------------------------------------------------------------- */

/* A version's position as the history gives it, and its writer. */
typedef struct hinted_version {
    int64_t at;
    node_id node;
} hinted_version;

typedef VEC(hinted_version) hinted_versions;

static void collect_hints(asg *g, key_id k, hinted_versions *v)
{
    const history *h = g->h;
    v->n = 0;
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        uint32_t inst = g->kw_inst[i];
        const attr *a = op_attrs(h, g->inst_op[inst]);
        const attr *end = a ? h->attrs.at + h->attrs.n : NULL;
        for (; a && a < end && a->op == g->inst_op[inst]; a++) {
            if (a->kind != ATTR_VER) continue;
            hinted_version p = {(int64_t)a->a, g->inst_node[inst]};
            vec_push(g->m, v, p);
        }
    }
}

static void sort_hints(asg *g, hinted_versions *v)
{
    size_t n = v->n;
    if (n < 2) return;
    uint64_t *key = mem_array(g->m, uint64_t, n);
    hinted_version *sorted = mem_array(g->m, hinted_version, n);
    for (size_t i = 0; i < n; i++) key[i] = sort_key(v->at[i].at);
    uint32_t *order = sort_by_key(g->m, key, (uint32_t)n);
    for (size_t i = 0; i < n; i++) sorted[i] = v->at[order[i]];
    memcpy(v->at, sorted, n * sizeof *sorted);
    for (size_t i = 1; i < n; i++) assert(v->at[i - 1].at <= v->at[i].at);
    mem_put(g->m, order);
    mem_put(g->m, sorted);
    mem_put(g->m, key);
}

static void add_hinted_edge(asg *g, key_id k, const hinted_version *a, const hinted_version *b)
{
    const history *h = g->h;
    if (a->at != b->at) {
        assert(a->at < b->at);
        asg_add_edge(g, a->node, b->node, EDGE_WW, k, NO_ID);
    } else if (!g->maybe[b->node] && !g->maybe[a->node]) {
        strbuf text;
        strbuf_init(&text, g->m);
        atom_text(h, key_atom(h, k), &text);
        guard_fail(g->m->guard, GUARD_HISTORY, "key %.200s: two versions in position %lld",
                   strbuf_cstr(&text), (long long)b->at);
    } else { /* only one of the two can have committed */
        asg_add_edge(g, a->node, b->node, EDGE_WW, k, NO_ID);
        asg_add_edge(g, b->node, a->node, EDGE_WW, k, NO_ID);
    }
}

/* Version orders that the history's own positions show. */
static void version_hints(asg *g)
{
    const history *h = g->h;
    hinted_versions v = {0};
    bool any = false;
    for (size_t i = 0; i < h->attrs.n; i++) any = any || h->attrs.at[i].kind == ATTR_VER;
    if (!any) return;
    asg_by_key(g);
    for (key_id k = 0; k < history_keys(h); k++) {
        collect_hints(g, k, &v);
        sort_hints(g, &v);
        /* A chain through those that surely take part; between two of them, unknown transactions
           that may each be left out, so that every pair has its own edge. */
        size_t from = 0; /* the last sure one, or the first of all */
        for (size_t i = 0; i < v.n; i++) {
            for (size_t j = from; j < i; j++) add_hinted_edge(g, k, &v.at[j], &v.at[i]);
            if (!g->maybe[v.at[i].node]) from = i;
            g->uses_hints = true;
            guard_tick(g->m->guard);
        }
    }
    vec_free(g->m, &v);
}

/* --- lists that nothing explains -------------------------------------------------------------- */

/* Before all other faults: one read may show several, and this one violates every level. */
static void find_duplicate_elements(asg *g)
{
    duplicate_reads found = {0};
    find_duplicates(g->h, g->m, &found);
    for (size_t i = 0; i < found.n; i++) {
        const duplicate_read *r = &found.at[i];
        node_id v = g->txn_node[r->txn];
        assert(v != NO_ID); /* all that did not abort are nodes */
        asg_fault(g, ANOMALY_DUPLICATE_ELEMENTS, v, r->op, r->key, r->list, r->appender);
        g->faults.at[g->faults.n - 1].element = r->element;
    }
    vec_free(g->m, &found);
}

/* --- assembling ------------------------------------------------------------------------------- */

void asg_build(asg *g, const history *h, mem *m, enum ryow ryow, unsigned flags)
{
    assert(h->frozen);
    memset(g, 0, sizeof *g);
    g->h = h;
    g->m = m;
    g->ryow = ryow;
    g->flags = flags;
    size_t keys = history_keys(h);
    visit_scratch s = {0};
    s.slot = mem_array(m, uint32_t, keys + 1);
    memset(s.slot, 0xff, (keys + 1) * sizeof *s.slot);
    s.row_of = mem_array0(m, uint32_t, keys + 1);
    number_nodes(g);
    asg_mixed_rows(g);
    guard_stage(m->guard, "analyse", "transactions", g->nodes);
    find_duplicate_elements(g);
    classify_keys(g, &s);
    g->inst_first = mem_array(m, uint32_t, (size_t)g->nodes + 1);
    g->ob_first = mem_array(m, uint32_t, (size_t)g->nodes + 1);
    grow_installs(g, s.writes + 16);
    grow_obs(g, s.reads + 16);
    written_pairs all = {0};
    if (g->unread) {
        load_written_pairs(g, &all);
        s.all = &all;
    }
    for (node_id v = 0; v < g->nodes; v++) visit_txn(g, &s, v);
    g->inst_first[g->nodes] = (uint32_t)g->insts;
    g->ob_first[g->nodes] = (uint32_t)g->obs;
    mem_put(m, s.slot);
    mem_put(m, s.row_of);
    mem_put(m, s.has_key);
    for (node_id v = 0; v < g->nodes; v++) sort_installs(g, v);
    g->extra_head = mem_array(m, uint32_t, (size_t)g->nodes + 1);
    memset(g->extra_head, 0xff, ((size_t)g->nodes + 1) * sizeof *g->extra_head);
    resolve(g, &all);
    if (!(flags & ASG_NO_HINTS)) version_hints(g);
    g->hint_extra = g->extra.n;
    asg_lists(g);
    find_faults(g, &all);
    for (size_t i = 0; i < g->late.n; i++) { /* reads that were not resolved by table */
        uint32_t ob = g->late.at[i], rf = g->ob_rf[ob];
        g->ob_inst[ob] = rf < RF_LAST ? asg_install(g, rf, g->ob_key[ob]) : NO_ID;
    }
    g->base_extra = g->extra.n;
    assert(!asg_check(g));
}

uint32_t asg_install(const asg *g, node_id v, key_id k)
{
    uint32_t lo = g->inst_first[v], hi = g->inst_first[v + 1];
    assert(v < g->nodes && lo <= hi);
    if (hi - lo <= 32) {
        for (uint32_t i = lo; i < hi; i++)
            if (g->inst_key[i] == k) return i;
        return NO_ID;
    }
    uint32_t at = lo + (uint32_t)lower_bound_u32(g->inst_key + lo, hi - lo, k);
    return at < hi && g->inst_key[at] == k ? at : NO_ID;
}

void asg_add_edge(asg *g, node_id from, node_id to, enum edge_kind kind, key_id key, uint32_t ob)
{
    assert(from < g->nodes && to < g->nodes && from != to);
    if (g->extra.n >= UINT32_MAX - 16)
        guard_fail(g->m->guard, GUARD_UNSUPPORTED, "more than 2^32 derived edges");
    edge e = {from, to, g->extra_head[to], kind, key, ob};
    g->extra_head[to] = (uint32_t)g->extra.n;
    vec_push(g->m, &g->extra, e);
}

void asg_drop_edges(asg *g, size_t keep)
{
    assert(keep <= g->extra.n);
    while (g->extra.n > keep) {
        const edge *e = &g->extra.at[--g->extra.n];
        assert(g->extra_head[e->to] == g->extra.n);
        g->extra_head[e->to] = e->next;
    }
}

uint32_t *asg_open_of(const asg *g)
{
    uint32_t *open_of = mem_array(g->m, uint32_t, g->obs + 1);
    memset(open_of, 0xff, (g->obs + 1) * sizeof *open_of);
    for (uint32_t i = 0; i < g->open.n; i++) {
        assert(g->open.at[i] < g->obs && open_of[g->open.at[i]] == NO_ID);
        open_of[g->open.at[i]] = i;
    }
    return open_of;
}

const char *asg_check(const asg *g)
{
    for (node_id v = 0; v < g->nodes; v++) {
        if (g->txn_node[g->node_txn[v]] != v) return "node numbering broken";
        if (g->so_pred[v] != NO_ID && (g->so_pred[v] >= v || g->maybe[g->so_pred[v]]))
            return "session order broken";
        if (g->inst_first[v] > g->inst_first[v + 1] || g->ob_first[v] > g->ob_first[v + 1])
            return "partition broken";
    }
    for (uint32_t i = 0; i < asg_obs(g); i++) {
        uint32_t rf = g->ob_rf[i];
        if (rf < RF_LAST && rf >= g->nodes) return "read-from out of range";
        if (rf < RF_LAST && asg_install(g, rf, g->ob_key[i]) == NO_ID)
            return "read from a transaction that does not install the key";
        if (rf < RF_LAST && g->ob_inst[i] != asg_install(g, rf, g->ob_key[i]))
            return "read from an install of another transaction or key";
    }
    return NULL;
}
