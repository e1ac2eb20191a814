/*
 * fingerprint.c - a hash of what a verdict depends on.
 *
 * By content, never by interned ids, so that the same history in another format has the same one:
 * sessions as they come, transactions with session, id, outcome and times, operations with key,
 * value, range and hints, initial values.  It tells a wrong history at once; no proof rests on it.
 */
#include <assert.h>

#include "base/hash.h"
#include "verify/certificate.h"

static uint64_t of_atom(const history *h, atom a)
{
    uint64_t x = hash_pair(a.kind, a.kind == ATOM_LIST ? a.len : 0);
    switch ((enum atom_kind)a.kind) {
    case ATOM_STR:
    case ATOM_BIG: return hash_bytes(a.len ? atom_bytes(h, a) : "", a.len, x);
    case ATOM_LIST:
        for (uint32_t i = 0; i < a.len; i++)
            x = hash_pair(x, of_atom(h, value_atom(h, h->elements.at[a.as.offset + i])));
        return x;
    case ATOM_NULL: return x;
    default: return hash_pair(x, a.as.u);
    }
}

static uint64_t of_value(const history *h, value_id v)
{
    if (v == VALUE_UNKNOWN) return 1;
    return of_atom(h, value_atom(h, v == VALUE_EMPTY ? VALUE_NULL : v));
}

static uint64_t of_label(const history *h, label l)
{
    return of_atom(h, label_atom(h, l));
}

static uint64_t of_range(const history *h, const range *r)
{
    uint64_t x = hash_pair(r->from_kind * 2 + r->to_kind, r->rows);
    x = hash_pair(x, (uint64_t)r->done * 4 + (uint64_t)r->inclusive * 2 + r->reverse);
    if (r->from_kind == BOUND_AT) x = hash_pair(x, of_atom(h, h->bounds.atoms.at[r->from]));
    if (r->to_kind == BOUND_AT) x = hash_pair(x, of_atom(h, h->bounds.atoms.at[r->to]));
    for (uint32_t i = 0; i < r->rows; i++) {
        x = hash_pair(x, of_atom(h, key_atom(h, h->row_key.at[r->first_row + i])));
        x = hash_pair(x, of_value(h, h->row_value.at[r->first_row + i]));
    }
    return x;
}

/* Hints; what else operations carry decides nothing. */
static uint64_t of_attrs(const history *h, op_id o)
{
    uint64_t x = 0;
    const attr *end = h->attrs.at + h->attrs.n;
    for (const attr *a = op_attrs(h, o); a && a < end && a->op == o; a++) {
        switch ((enum attr_kind)a->kind) {
        case ATTR_FROM: x = hash_pair(x, of_label(h, a->a)); break;
        case ATTR_VER: x = hash_pair(x, a->a); break;
        case ATTR_VSET: x = hash_pair(x, of_label(h, a->a)); /* fall through */
        case ATTR_VSET_INIT: x = hash_pair(x, of_atom(h, key_atom(h, a->key))); break;
        case ATTR_ROW_FROM: x = hash_pair(x, of_label(h, a->a)); /* fall through */
        case ATTR_ROW_FROM_INIT: x = hash_pair(x, a->key); break;
        case ATTR_FROM_INIT: break;
        default: continue;
        }
        x = hash_pair(x, a->kind);
    }
    return x;
}

/* key: of each key. */
static uint64_t of_op(const history *h, op_id o, const uint64_t *key)
{
    enum op_kind kind = op_kind_of(h, o);
    uint64_t x = (uint64_t)kind << 8 | (h->op_kind[o] & (OP_FAILED | OP_TOMB));
    assert(!(h->op_kind[o] & OP_LOCAL)); /* it is of histories as they were recorded */
    if (kind == OP_SCAN || kind == OP_ITER)
        x = hash_pair(x, of_range(h, &h->ranges.at[h->op_key[o]]));
    else /* (no chain of mixing here: this is most of the time that the hash takes) */
        x += key[h->op_key[o]] + 3 * of_value(h, h->op_value[o]);
    return h->op_kind[o] & OP_ATTR ? hash_pair(x, of_attrs(h, o)) : x;
}

static uint64_t of_times(const history *h, txn_id t)
{
    unsigned flags = h->txn_flags[t];
    uint64_t x = flags & (TXN_STATUS_MASK | TXN_NO_BEGIN_RETURN);
    if (flags & TXN_HAS_BEGIN) x = hash_pair(x, (uint64_t)h->txn_begin[t]);
    if (flags & TXN_HAS_END) x = hash_pair(x, (uint64_t)h->txn_end[t] + 1);
    for (size_t i = 0; flags & TXN_HAS_TIMES && i < 4; i++)
        x = hash_pair(x, (uint64_t)h->txn_times[(size_t)t * 4 + i] + i);
    return x;
}

uint64_t certificate_hash(const history *h, mem *m)
{
    uint64_t *key = mem_array(m, uint64_t, history_keys(h) + 1);
    for (size_t k = 0; k < history_keys(h); k++) key[k] = of_atom(h, key_atom(h, (key_id)k));
    uint64_t x = hash_pair(h->txns, h->ops);
    for (txn_id t = 0; t < h->txns; t++) {
        x = hash_pair(x, of_label(h, h->sessions.at[h->txn_session[t]]));
        x = hash_pair(x, of_label(h, h->txn_label[t]));
        x = hash_pair(x, of_times(h, t));
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) x = hash_pair(x, of_op(h, o, key));
        guard_tick(m->guard);
    }
    uint64_t init = h->init_unknown; /* keys are numbered differently by each reader: a sum */
    for (size_t k = 0; k < history_keys(h); k++)
        init += hash_pair(key[k], of_value(h, h->key_init[k]));
    for (size_t i = 0; h->init_unknown && i < h->init_map.n; i++)
        init += 3 * of_atom(h, key_atom(h, h->init_map.at[i].key));
    mem_put(m, key);
    return hash_pair(x, init);
}
