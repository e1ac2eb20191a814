/*
 * join_versions.c - joins a history and the certificate of its versions (cdc.c).
 *
 * Both are histories; a version of one is a version of the other if key and value are the same, in
 * content: ids mean nothing across histories.  A version that several transactions wrote is not
 * identified by them, and is left alone; so are positions and timestamps that the history has.
 * What contradicts the reads is found when a level is decided, as with any other hint.
 */
#include <assert.h>

#include "base/map.h"
#include "read/formats.h"

typedef struct match {
    op_id op;
    txn_id txn;
    uint32_t version; /* operation of the certificate */
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

static const attr *position(const history *h, op_id o)
{
    const attr *a = op_attrs(h, o), *end = h->attrs.n ? h->attrs.at + h->attrs.n : NULL;
    for (; a && a < end && a->op == o; a++)
        if (a->kind == ATTR_VER) return a;
    return NULL;
}

typedef struct version_table {
    const history *c;
    id_index ops; /* of the certificate */
} version_table;

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
    version_table t = {.c = c};
    for (op_id o = 0; o < c->ops; o++) {
        if (!is_write(c, o) || !position(c, o) || find_version(&t, c, o) != NO_ID) continue;
        id_index_add(m, &t.ops, version_hash(c, o), o);
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
            uint32_t version = installed && is_write(h, o) ? find_version(&t, h, o) : NO_ID;
            if (version == NO_ID) continue;
            match fresh = {o, x, version};
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
        if (writers[x->version] != 1) continue;
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
    mem_put(m, writers);
    mem_put(m, last);
}
