/*
 * join_versions.c - joins a history and the certificate of its versions (cdc.c).
 *
 * Both are histories; a version of one is a version of the other if key and value are the same, in
 * content.  A version that several transactions of either wrote is not identified by them.  Then,
 * and for deletes, the names of the transactions are asked, if they are texts (numbers may be those
 * of lines): a database's number of a transaction, say.  What is still open is left alone; so are
 * positions and timestamps that the history has.
 * What contradicts the reads is found when a level is decided, as with any other hint.
 */
#include <assert.h>

#include "base/map.h"
#include "read/formats.h"

typedef struct match {
    op_id op;
    txn_id txn;
    uint32_t version; /* operation of the certificate */
    bool named;       /* the transactions have the same name */
} match;

static uint64_t atom_hash(const history *h, atom a)
{
    if (a.kind == ATOM_STR || a.kind == ATOM_BIG)
        return hash_bytes(atom_bytes(h, a), a.len, a.kind);
    return hash_pair(a.kind, a.as.u);
}

static bool same_atom(const history *h, atom a, const history *c, atom b)
{
    if (a.kind != b.kind || a.kind == ATOM_LIST) return false;
    if (a.kind != ATOM_STR && a.kind != ATOM_BIG) return a.as.u == b.as.u;
    return a.len == b.len && (!a.len || !memcmp(atom_bytes(h, a), atom_bytes(c, b), a.len));
}

static uint64_t version_hash(const history *h, op_id o)
{
    return hash_pair(atom_hash(h, key_atom(h, h->op_key[o])),
                     atom_hash(h, value_atom(h, h->op_value[o])));
}

static bool is_write(const history *h, op_id o)
{
    return (h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) == OP_WRITE;
}

static bool is_delete(const history *h, op_id o)
{
    return (h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) == OP_DELETE;
}

static const attr *position(const history *h, op_id o)
{
    const attr *a = op_attrs(h, o), *end = h->attrs.n ? h->attrs.at + h->attrs.n : NULL;
    for (; a && a < end && a->op == o; a++)
        if (a->kind == ATTR_VER) return a;
    return NULL;
}

typedef struct version_table {
    const history *c;
    id_index ops;    /* of the certificate, by key and value */
    bool *repeated;  /* by operation of the certificate: another one wrote the same */
    id_index by_txn; /* the same, and deletes, by the name of the transaction and key */
} version_table;

static bool is_named(const history *h, txn_id x)
{
    return label_atom(h, h->txn_label[x]).kind == ATOM_STR;
}

static uint64_t named_hash(const history *h, txn_id x, op_id o)
{
    return hash_pair(atom_hash(h, label_atom(h, h->txn_label[x])),
                     atom_hash(h, key_atom(h, h->op_key[o])));
}

/* What the transaction of the same name did to the same key. */
static uint32_t find_named(const version_table *t, const history *h, txn_id x, op_id o)
{
    const history *c = t->c;
    if (!is_named(h, x)) return NO_ID;
    for (index_walk w = id_index_walk(&t->by_txn, named_hash(h, x, o));
         id_index_next(&t->by_txn, &w);) {
        txn_id y = txn_of_op(c, w.id);
        if (same_atom(h, label_atom(h, h->txn_label[x]), c, label_atom(c, c->txn_label[y])) &&
            same_atom(h, key_atom(h, h->op_key[o]), c, key_atom(c, c->op_key[w.id])))
            return w.id;
    }
    return NO_ID;
}

static uint32_t find_version(const version_table *t, const history *h, op_id o)
{
    const history *c = t->c;
    for (index_walk w = id_index_walk(&t->ops, version_hash(h, o)); id_index_next(&t->ops, &w);) {
        op_id x = w.id;
        if (same_atom(h, key_atom(h, h->op_key[o]), c, key_atom(c, c->op_key[x])) &&
            same_atom(h, value_atom(h, h->op_value[o]), c, value_atom(c, c->op_value[x])))
            return x;
    }
    return NO_ID;
}

static version_table make_table(const history *c, mem *m)
{
    version_table t = {.c = c, .repeated = mem_array0(m, bool, c->ops + 1)};
    for (op_id o = (op_id)c->ops; o-- > 0;) { /* of a transaction, the last one on a key counts */
        if (!is_write(c, o) && !is_delete(c, o)) continue;
        if (!position(c, o)) continue;
        txn_id x = txn_of_op(c, o);
        if (is_named(c, x) && find_named(&t, c, x, o) == NO_ID)
            id_index_add(m, &t.by_txn, named_hash(c, x, o), o);
        if (!is_write(c, o)) continue;
        uint32_t same = find_version(&t, c, o);
        if (same == NO_ID)
            id_index_add(m, &t.ops, version_hash(c, o), o);
        else if (txn_of_op(c, same) != x)
            t.repeated[same] = true;
    }
    return t;
}

static void give_times(history *h, const match *x, const history *c)
{
    txn_id from = txn_of_op(c, x->version);
    unsigned has = h->txn_flags[x->txn], given = c->txn_flags[from];
    if (!(has & TXN_HAS_START_TS) && given & TXN_HAS_START_TS)
        history_time_of(h, x->txn, TXN_HAS_START_TS, c->txn_start_ts[from]);
    if (!(has & TXN_HAS_COMMIT_TS) && given & TXN_HAS_COMMIT_TS)
        history_time_of(h, x->txn, TXN_HAS_COMMIT_TS, c->txn_commit_ts[from]);
}

/* The version that the operation installed. */
static bool find_match(const version_table *t, const history *h, txn_id x, op_id o, match *out)
{
    uint32_t own = find_named(t, h, x, o);
    bool fits = own != NO_ID && (is_delete(h, o) ? is_delete(t->c, own) : is_write(t->c, own));
    if (fits && is_write(h, o))
        fits = same_atom(h, value_atom(h, h->op_value[o]), t->c,
                         value_atom(t->c, t->c->op_value[own]));
    uint32_t version = fits ? own : is_write(h, o) ? find_version(t, h, o) : NO_ID;
    *out = (match){o, x, version, fits};
    return version != NO_ID;
}

void read_versions(history *h, const history *certificate)
{
    const history *c = certificate;
    mem *m = &h->mem;
    assert(!h->frozen && !h->open);
    version_table t = make_table(c, m);
    uint32_t *writers = mem_array0(m, uint32_t, c->ops + 1); /* of each version */
    uint32_t *last = mem_array0(m, uint32_t, history_keys(h) + 1);
    VEC(match) found = {0}; /* in the order of operations, a transaction's own reversed */
    for (txn_id x = 0; x < h->txns; x++) {
        if (txn_status_of(h, x) == TXN_ABORTED) continue;
        size_t from = found.n;
        for (op_id o = h->txn_op[x + 1]; o-- > h->txn_op[x];) {
            unsigned kind = h->op_kind[o] & OP_KIND_MASK;
            if (kind == OP_READ || kind > OP_DELETE || h->op_kind[o] & OP_FAILED) continue;
            bool installed = last[h->op_key[o]] != x + 1;
            last[h->op_key[o]] = x + 1;
            match fresh;
            if (!installed || !find_match(&t, h, x, o, &fresh)) continue;
            uint32_t version = fresh.version;
            vec_push(m, &found, fresh);
            writers[version]++;
        }
        for (size_t i = from, j = found.n; i + 1 < j; i++) {
            match swap = found.at[i];
            found.at[i] = found.at[--j];
            found.at[j] = swap;
        }
        guard_tick(m->guard);
    }
    VEC(attr) merged = {0};
    size_t next = 0;
    for (size_t i = 0; i < found.n; i++) {
        const match *x = &found.at[i];
        if (!x->named && (writers[x->version] != 1 || t.repeated[x->version])) continue;
        give_times(h, x, c);
        if (position(h, x->op)) continue;
        while (next < h->attrs.n && h->attrs.at[next].op <= x->op)
            vec_push(m, &merged, h->attrs.at[next++]);
        attr a = {.op = x->op, .kind = ATTR_VER, .a = position(c, x->version)->a};
        vec_push(m, &merged, a);
        h->op_kind[x->op] |= OP_ATTR;
    }
    while (next < h->attrs.n) vec_push(m, &merged, h->attrs.at[next++]);
    vec_free(m, &h->attrs);
    h->attrs.at = merged.at;
    h->attrs.n = merged.n;
    h->attrs.cap = merged.cap;
    vec_free(m, &found);
    id_index_free(m, &t.ops);
    id_index_free(m, &t.by_txn);
    mem_put(m, t.repeated);
    mem_put(m, writers);
    mem_put(m, last);
}
