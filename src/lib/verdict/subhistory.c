/*
 * subhistory.c - see subhistory.h.
 *
 * Values below 2^31 and the nameless ones keep their ids; others are numbered anew, so that tables
 * are as small as the part.  Bytes of strings are those of the whole history, which outlives the
 * part.
 */
#include "verdict/subhistory.h"

#include <assert.h>

#include "base/hash.h"

/* --- numbering -------------------------------------------------------------------------------- */

/* From ids of the whole to ids of the part, open addressing: pairs of key + 1 and value. */
typedef struct renumber {
    uint64_t *slot;
    size_t mask, n;
} renumber;

static uint32_t number_of(mem *m, renumber *r, uint32_t id, bool *fresh)
{
    if (!r->slot || 2 * r->n >= r->mask) {
        size_t size = r->slot ? 2 * (r->mask + 1) : 64;
        uint64_t *slot = mem_array0(m, uint64_t, size);
        for (size_t i = 0; r->slot && i <= r->mask; i++) {
            if (!r->slot[i]) continue;
            size_t at = (size_t)hash_u64(r->slot[i] >> 32) & (size - 1);
            while (slot[at]) at = (at + 1) & (size - 1);
            slot[at] = r->slot[i];
        }
        mem_put(m, r->slot);
        r->slot = slot;
        r->mask = size - 1;
    }
    assert(r->n < r->mask && id != NO_ID); /* a slot stays free, so the search ends */
    size_t at = (size_t)hash_u64(id) & r->mask;
    for (; r->slot[at]; at = (at + 1) & r->mask)
        if (r->slot[at] >> 32 == id) {
            *fresh = false;
            return (uint32_t)r->slot[at] - 1;
        }
    *fresh = true;
    r->slot[at] = (uint64_t)id << 32 | (r->n + 1);
    return (uint32_t)r->n++;
}

typedef struct maker {
    part *x;
    asg *g;
    renumber keys, values, sessions;
    uint32_t *of_node; /* per node: transaction of the part, or NO_ID */
    uint32_t *open_of; /* per obligation: index of asg.open, or NO_ID */
    VEC(key_id) key;
} maker;

static value_id new_value(maker *k, value_id v)
{
    if (v <= VALUE_EMPTY || v == VALUE_UNKNOWN) return v;
    part *x = k->x;
    bool fresh;
    uint32_t id = number_of(x->m, &k->values, v, &fresh);
    if (fresh) {
        atom a = value_atom(x->whole, v);
        /* A list as a value (an initial one, or of a key whose order is searched): its elements
           are scalars. */
        if (a.kind == ATOM_LIST) {
            size_t at = x->h.elements.n;
            for (uint32_t i = 0; i < a.len; i++)
                vec_push(x->m, &x->h.elements, x->whole->elements.at[a.as.offset + i]);
            a.as.offset = at;
        }
        vec_push(x->m, &x->h.values.atoms, a);
        /* the elements' numbers only now: they may make the table grow */
        for (uint32_t i = 0; a.kind == ATOM_LIST && i < a.len; i++) {
            value_id e = new_value(k, x->h.elements.at[a.as.offset + i]);
            assert(a.as.offset + i < x->h.elements.n);
            x->h.elements.at[a.as.offset + i] = e;
        }
    }
    return id + VALUE_TABLE + 2;
}

static label new_label(maker *k, label l)
{
    return l >> 63 ? (label)1 << 63 | new_value(k, (value_id)l) : l;
}

static key_id new_key(maker *k, key_id key)
{
    bool fresh;
    uint32_t id = number_of(k->x->m, &k->keys, key, &fresh);
    if (fresh) vec_push(k->x->m, &k->key, key);
    assert(k->key.at[id] == key); /* numbers are places in k->key */
    return id;
}

/* --- operations ------------------------------------------------------------------------------- */

static void add_write(maker *k, node_id v, op_id o)
{
    asg *g = k->g;
    const history *h = g->h;
    key_id key = h->op_key[o];
    bool list = g->list_key[key] != 0;
    uint32_t inst = asg_install(g, v, key);
    if (inst == NO_ID || (!list && g->inst_op[inst] != o)) return; /* overwritten by itself */
    part_op p = {.kind = h->op_kind[o] & (uint8_t)~OP_ATTR, .whole = o};
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    for (; a && a < end && a->op == o && g->inst_op[inst] == o; a++)
        if (a->kind == ATTR_VER) {
            p.placed = true;
            p.place = (int64_t)a->a;
        }
    p.key = new_key(k, key);
    p.value = new_value(k, h->op_value[o]);
    vec_push(k->x->m, &k->x->ops, p);
}

/* Candidates are found later, when all operations have their numbers: `first` is the obligation. */
static void add_read(maker *k, uint32_t ob)
{
    asg *g = k->g;
    op_id o = g->ob_op[ob];
    if (g->ob_rf[ob] == RF_NONE && g->list_key[g->ob_key[ob]] != 2) return;
    part_op p = {.kind = OP_READ, .whole = o, .first = ob};
    if (op_kind_of(g->h, o) == OP_READ) p.kind |= g->h->op_kind[o] & OP_TOMB;
    p.predicate = g->ob_flags[ob] & OB_PRED;
    p.key = new_key(k, g->ob_key[ob]);
    p.list = g->list_key[g->ob_key[ob]] == 1;
    if (!p.list) {
        bool init;
        p.value = new_value(k, g->ob_value[ob]);
        label l = asg_hint(g, ob, &p.hinted, &init);
        p.hinted_init = p.hinted && init;
        if (p.hinted && !init) p.hint = new_label(k, l);
    }
    vec_push(k->x->m, &k->x->ops, p);
}

static void add_txn(maker *k, node_id v)
{
    asg *g = k->g;
    const history *h = g->h;
    txn_id t = g->node_txn[v];
    uint32_t ob = g->ob_first[v];
    size_t before = k->x->ops.n;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        for (; ob < g->ob_first[v + 1] && g->ob_op[ob] == o; ob++) add_read(k, ob);
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        bool writes = kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND;
        if (writes && !(h->op_kind[o] & OP_FAILED)) add_write(k, v, o);
    }
    /* Obligations stand in the order of their operations, and find_op searches by that order. */
    assert(ob == g->ob_first[v + 1]);
    for (size_t i = before + 1; i < k->x->ops.n; i++)
        assert(k->x->ops.at[i - 1].whole <= k->x->ops.at[i].whole);
    (void)before;
}

/* The operation of the part for operation o of the whole, of transaction t, or NO_ID. */
static uint32_t find_op(const part *x, uint32_t t, op_id o)
{
    uint32_t lo = x->op_first[t], hi = x->op_first[t + 1];
    assert(t < x->txns && lo <= hi && hi <= x->ops.n);
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->ops.at[mid].whole < o)
            lo = mid + 1;
        else
            hi = mid;
    }
    bool found = lo < x->op_first[t + 1] && x->ops.at[lo].whole == o &&
                 (x->ops.at[lo].kind & OP_KIND_MASK) != OP_READ;
    return found ? lo : NO_ID;
}

static bool add_candidate(maker *k, node_id w, key_id key)
{
    uint32_t inst = w < RF_LAST ? asg_install(k->g, w, key) : NO_ID;
    if (w >= RF_LAST) return w == RF_INIT;
    if (k->of_node[w] == NO_ID || inst == NO_ID) return false;
    uint32_t o = find_op(k->x, k->of_node[w], k->g->inst_op[inst]);
    if (o == NO_ID) return false;
    vec_push(k->x->m, &k->x->writer, o);
    return true;
}

static bool add_candidates(maker *k, uint32_t ob)
{
    asg *g = k->g;
    key_id key = g->ob_key[ob];
    bool all = true;
    if (g->list_key[key] == 2 || (g->init_open && g->init_open[key])) {
        /* Who was read from may depend on every writer. */
        asg_by_key(g);
        for (uint32_t i = g->kw_first[key]; i < g->kw_first[key + 1] && all; i++) {
            node_id w = g->inst_node[g->kw_inst[i]];
            all = add_candidate(k, w, key);
            for (op_id o = g->h->txn_op[g->node_txn[w]];
                 all && o < g->h->txn_op[g->node_txn[w] + 1]; o++) {
                uint32_t p = find_op(k->x, k->of_node[w], o);
                if (p != NO_ID && g->h->op_key[o] == key) vec_push(k->x->m, &k->x->writer, p);
            }
        }
        return all;
    }
    if (g->ob_rf[ob] != RF_OPEN) return add_candidate(k, g->ob_rf[ob], key);
    uint32_t open = k->open_of[ob];
    if (open == NO_ID) return false;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1] && all; i++)
        all = add_candidate(k, asg_cand(g, open, i), key);
    return all;
}

/* Appends of the part by key and element, to find the elements of lists. */
typedef struct appends {
    uint32_t *slot; /* operation + 1 */
    size_t mask;
} appends;

static void index_appends(part *x, appends *a)
{
    size_t n = 64;
    while (n < 2 * x->ops.n) n *= 2;
    a->slot = mem_array0(x->m, uint32_t, n);
    a->mask = n - 1;
    for (size_t i = 0; i < x->ops.n; i++) {
        const part_op *p = &x->ops.at[i];
        if ((p->kind & OP_KIND_MASK) != OP_APPEND) continue;
        size_t at = (size_t)hash_pair(p->key, x->whole->op_value[p->whole]) & a->mask;
        while (a->slot[at]) at = (at + 1) & a->mask;
        a->slot[at] = (uint32_t)i + 1;
    }
}

static uint32_t find_append(const part *x, const appends *a, key_id key, value_id e)
{
    size_t at = (size_t)hash_pair(key, e) & a->mask;
    for (; a->slot[at]; at = (at + 1) & a->mask) {
        const part_op *p = &x->ops.at[a->slot[at] - 1];
        if (p->key == key && x->whole->op_value[p->whole] == e) return a->slot[at] - 1;
    }
    return NO_ID;
}

static bool in_initial(const history *h, key_id key, value_id e)
{
    value_id init = h->key_init[key];
    if (init <= VALUE_EMPTY || init == VALUE_UNKNOWN) return false;
    atom a = value_atom(h, init);
    for (uint32_t i = 0; a.kind == ATOM_LIST && i < a.len; i++)
        if (h->elements.at[a.as.offset + i] == e) return true;
    return false;
}

static void add_elements(maker *k, part_op *p, uint32_t ob, const appends *index)
{
    part *x = k->x;
    const history *h = k->g->h;
    value_id seen = k->g->ob_value[ob];
    assert(p->list && k->key.at[p->key] == k->g->ob_key[ob]);
    p->first_elem = (uint32_t)x->elem.n;
    x->lists++;
    if (seen == VALUE_NULL) return;
    atom a = value_atom(h, seen);
    for (uint32_t i = 0; a.kind == ATOM_LIST && i < a.len; i++) {
        value_id e = h->elements.at[a.as.offset + i];
        uint32_t o = find_append(x, index, p->key, e);
        if (o == NO_ID && !in_initial(h, k->key.at[p->key], e)) continue; /* of one left out */
        part_elem made = {new_value(k, e), o};
        vec_push(x->m, &x->elem, made);
        p->elems++;
    }
}

/* Reads that cannot be kept become nothing: a failed statement. */
static void resolve_reads(maker *k)
{
    part *x = k->x;
    appends index;
    index_appends(x, &index);
    for (size_t i = 0; i < x->ops.n; i++) {
        part_op *p = &x->ops.at[i];
        if ((p->kind & OP_KIND_MASK) != OP_READ) continue;
        uint32_t ob = p->first;
        assert(ob < asg_obs(k->g) && k->g->ob_op[ob] == p->whole);
        if (p->list) add_elements(k, p, ob, &index);
        p->first = (uint32_t)x->writer.n;
        if (!add_candidates(k, ob)) {
            x->writer.n = p->first;
            p->kind |= OP_FAILED;
        }
        p->n = (uint32_t)x->writer.n - p->first;
        assert(!(p->kind & OP_FAILED) || !p->n);
    }
    mem_put(x->m, index.slot);
}

/* --- making ----------------------------------------------------------------------------------- */

static void open_history(maker *k)
{
    part *x = k->x;
    const history *w = x->whole;
    history *h = &x->h;
    size_t txns = x->txns + 1, ops = x->ops.n + 1;
    x->keys = (uint32_t)k->key.n;
    x->key = k->key.at;
    x->sessions = (uint32_t)k->sessions.n;
    mem_init(&h->mem, x->m->fn, x->m->ud, x->m->guard); /* owns nothing: all of it is the part's */
    h->frozen = true;
    h->bytes.at = w->bytes.at;
    h->bytes.n = w->bytes.n;
    for (size_t i = 0; i < x->keys; i++) vec_push(x->m, &h->keys.atoms, key_atom(w, x->key[i]));
    h->init = w->init;
    h->init_unknown = w->init_unknown;
    h->key_init = mem_array(x->m, value_id, x->keys + 1);
    for (size_t i = 0; i < x->keys; i++) h->key_init[i] = new_value(k, w->key_init[x->key[i]]);
    x->list = mem_array(x->m, uint8_t, x->keys + 1);
    for (size_t i = 0; i < x->keys; i++) x->list[i] = k->g->list_key[x->key[i]] != 0;
    h->shown_list = x->list;
    h->init_scalar = w->init == INIT_SCALAR ? new_value(k, w->init_scalar) : VALUE_NULL;
    x->label = mem_array(x->m, label, txns);
    for (uint32_t t = 0; t < x->txns; t++) x->label[t] = new_label(k, w->txn_label[x->txn[t]]);
    h->op_kind = mem_array(x->m, uint8_t, ops);
    h->op_key = mem_array(x->m, uint32_t, ops);
    h->op_value = mem_array(x->m, value_id, ops);
    h->txn_op = mem_array(x->m, op_id, txns);
    h->txn_session = mem_array(x->m, uint32_t, txns);
    h->txn_label = mem_array(x->m, label, txns);
    h->txn_flags = mem_array(x->m, uint8_t, txns);
    if (w->txn_level) h->txn_level = mem_array(x->m, uint8_t, txns);
    for (size_t i = 0; i < w->level_texts.n; i++)
        vec_push(x->m, &h->level_texts, new_value(k, w->level_texts.at[i]));
    if (w->txn_begin) h->txn_begin = mem_array(x->m, int64_t, txns);
    if (w->txn_end) h->txn_end = mem_array(x->m, int64_t, txns);
    if (w->txn_times) h->txn_times = mem_array(x->m, int64_t, 4 * txns);
    for (uint32_t i = 0; i < x->sessions; i++) vec_push(x->m, &h->sessions, (label)i);
    h->sess_first = mem_array(x->m, uint32_t, (size_t)x->sessions + 2);
    h->sess_txn = mem_array(x->m, txn_id, txns);
    vec_reserve(x->m, &h->attrs, ops);
    vec_reserve(x->m, &h->elements, x->elem.n + 1);
    vec_reserve(x->m, &h->values.atoms, x->lists + 1);
    x->kept = mem_array(x->m, uint32_t, txns);
    x->op_kept = mem_array(x->m, uint32_t, ops);
    x->atoms = h->values.atoms.n;
    x->value_elements = h->elements.n;
}

part *part_new(mem *m, asg *g, const uint8_t *in)
{
    part *x = mem_zeroed(m, sizeof *x);
    maker k = {.x = x, .g = g};
    x->m = m;
    x->whole = g->h;
    k.of_node = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    k.open_of = mem_array(g->m, uint32_t, g->obs + 1);
    memset(k.open_of, 0xff, (g->obs + 1) * sizeof *k.open_of);
    for (uint32_t i = 0; i < g->open.n; i++) k.open_of[g->open.at[i]] = i;
    for (node_id v = 0; v < g->nodes; v++) x->txns += in[v] != 0;
    x->txn = mem_array(m, txn_id, (size_t)x->txns + 1);
    x->op_first = mem_array(m, uint32_t, (size_t)x->txns + 1);
    x->session = mem_array(m, uint32_t, (size_t)x->txns + 1);
    memset(k.of_node, 0xff, ((size_t)g->nodes + 1) * sizeof *k.of_node);
    /* Nodes rise by session, transactions of the part as in the input: session order stays. */
    uint32_t n = 0;
    for (txn_id t = 0; t < g->h->txns; t++) {
        node_id v = g->txn_node[t];
        bool fresh;
        if (v == NO_ID || !in[v]) continue;
        k.of_node[v] = n;
        x->txn[n] = t;
        x->session[n] = number_of(m, &k.sessions, g->h->txn_session[t], &fresh);
        x->op_first[n++] = (uint32_t)x->ops.n;
        add_txn(&k, v);
    }
    assert(n == x->txns);
    x->op_first[n] = (uint32_t)x->ops.n;
    resolve_reads(&k);
    open_history(&k);
    mem_put(g->m, k.of_node);
    mem_put(g->m, k.open_of);
    mem_put(m, k.keys.slot);
    mem_put(m, k.values.slot);
    mem_put(m, k.sessions.slot);
    return x;
}

void part_free(part *x)
{
    mem *m = x->m;
    history *h = &x->h;
    void *blocks[] = {
        x->txn,         x->op_first,    x->ops.at,      x->writer.at,     x->elem.at,
        x->key,         x->session,     x->label,       h->keys.atoms.at, h->values.atoms.at,
        h->elements.at, h->key_init,    h->op_kind,     h->op_key,        h->op_value,
        h->txn_op,      h->txn_session, h->txn_label,   h->txn_flags,     h->txn_begin,
        h->txn_end,     h->txn_times,   h->sessions.at, h->sess_first,    h->sess_txn,
        h->attrs.at,    x->kept,        x->op_kept,     h->txn_level,     h->level_texts.at,
        x->list};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) mem_put(m, blocks[i]);
    id_index_free(m, &x->cut);
    mem_put(m, x);
}

/* --- what remains ----------------------------------------------------------------------------- */

static bool list_is(const history *h, value_id v, const value_id *at, uint32_t n)
{
    atom a = value_atom(h, v);
    return a.len == n && !memcmp(h->elements.at + a.as.offset, at, n * sizeof *at);
}

/* The list that the read shows of the transactions that are left. */
static value_id cut_list(part *x, const part_op *p, const uint8_t *gone)
{
    history *h = &x->h;
    size_t from = h->elements.n;
    for (uint32_t i = p->first_elem; i < p->first_elem + p->elems; i++) {
        const part_elem *e = &x->elem.at[i];
        if (e->op != NO_ID && gone[e->op]) continue;
        vec_push(x->m, &h->elements, e->value);
    }
    uint32_t n = (uint32_t)(h->elements.n - from);
    if (!n) return VALUE_NULL;
    const value_id *at = h->elements.at + from;
    uint64_t hash = hash_bytes(at, n * sizeof *at, hash_secret(x));
    for (index_walk w = id_index_walk(&x->cut, hash); id_index_next(&x->cut, &w);) {
        if (!list_is(h, w.id, at, n)) continue;
        h->elements.n = from;
        return w.id;
    }
    atom a = {.kind = ATOM_LIST, .len = n, .as.offset = from};
    vec_push(x->m, &h->values.atoms, a);
    value_id fresh = (value_id)(h->values.atoms.n - 1) + VALUE_TABLE + 2;
    id_index_add(x->m, &x->cut, hash, fresh);
    return fresh;
}

static void keep_op(part *x, uint32_t i, const uint8_t *gone)
{
    history *h = &x->h;
    const part_op *p = &x->ops.at[i];
    op_id o = (op_id)h->ops;
    value_id value = p->value;
    assert(!gone[i] && h->ops < x->ops.n);
    if ((p->kind & OP_KIND_MASK) == OP_READ) {
        for (uint32_t j = p->first; j < p->first + p->n; j++)
            if (gone[x->writer.at[j]]) return;
        if (p->list) value = cut_list(x, p, gone);
    }
    attr a = {.op = o, .kind = ATTR_VER, .a = (uint64_t)p->place};
    if (p->hinted) a.kind = p->hinted_init ? ATTR_FROM_INIT : ATTR_FROM;
    if (p->hinted) a.a = p->hint;
    if (p->hinted || p->placed) vec_push(x->m, &h->attrs, a);
    h->op_kind[o] = (uint8_t)(p->kind | (p->hinted || p->placed ? OP_ATTR : 0));
    h->op_key[o] = p->key;
    h->op_value[o] = value;
    x->op_kept[o] = i;
    h->ops++;
}

static void keep_txn(part *x, uint32_t t, const uint8_t *gone)
{
    history *h = &x->h;
    const history *w = x->whole;
    size_t n = h->txns;
    txn_id whole = x->txn[t];
    assert(n <= t && t < x->txns); /* the order of the part is kept */
    h->txn_session[n] = x->session[t];
    h->txn_label[n] = x->label[t];
    if (w->txn_level) h->txn_level[n] = w->txn_level[whole];
    h->txn_flags[n] = w->txn_flags[whole] & (uint8_t) ~(TXN_HAS_START_TS | TXN_HAS_COMMIT_TS);
    /* (columns of times end with the last transaction that has one) */
    unsigned flags = w->txn_flags[whole];
    if (flags & TXN_HAS_BEGIN) h->txn_begin[n] = w->txn_begin[whole];
    if (flags & TXN_HAS_END) h->txn_end[n] = w->txn_end[whole];
    if (flags & TXN_HAS_TIMES)
        memcpy(h->txn_times + 4 * n, w->txn_times + 4 * (size_t)whole, 4 * sizeof *h->txn_times);
    h->txn_op[n] = (op_id)h->ops;
    for (uint32_t i = x->op_first[t]; i < x->op_first[t + 1]; i++)
        if (!gone[i]) keep_op(x, i, gone);
    x->kept[n] = t;
    h->txn_op[n + 1] = (op_id)h->ops;
    h->txns++;
}

const history *part_history(part *x, const uint8_t *txn_out, const uint8_t *op_out)
{
    history *h = &x->h;
    uint8_t *gone = mem_array(x->m, uint8_t, x->ops.n + 1);
    h->ops = h->txns = h->attrs.n = 0;
    h->values.atoms.n = x->atoms;
    h->elements.n = x->value_elements;
    h->txn_op[0] = 0;
    id_index_restart(x->m, &x->cut, x->lists);
    for (uint32_t t = 0; t < x->txns; t++)
        for (uint32_t i = x->op_first[t]; i < x->op_first[t + 1]; i++)
            gone[i] = txn_out[t] || op_out[i] || x->ops.at[i].kind & OP_FAILED;
    for (uint32_t t = 0; t < x->txns; t++)
        if (!txn_out[t]) keep_txn(x, t, gone);
    memset(h->sess_first, 0, ((size_t)x->sessions + 2) * sizeof *h->sess_first);
    for (size_t t = 0; t < h->txns; t++) h->sess_first[h->txn_session[t] + 2]++;
    for (size_t i = 2; i < (size_t)x->sessions + 2; i++) h->sess_first[i] += h->sess_first[i - 1];
    for (size_t t = 0; t < h->txns; t++)
        h->sess_txn[h->sess_first[h->txn_session[t] + 1]++] = (txn_id)t;
    assert(h->sess_first[x->sessions] == h->txns && h->txn_op[h->txns] == h->ops);
    mem_put(x->m, gone);
    return h;
}
