/*
 * client_times.c - accepting a plain history by one walk.
 *
 * If every transaction has client times, run them one after the other: writers in the order of
 * their ends, readers where they began.  If sessions stay in order and every read returns what
 * then stands there, the history is serializable in that order, and so it satisfies everything
 * that serializability implies.  A guess that fails says nothing.
 *
 * Only for histories in which every read has one possible writer: registers, unique values, no
 * deletes, ranges, hints or unknown outcomes.  The rest goes the ordinary way.
 */
#include <assert.h>

#include "base/sort.h"

#include "verdict/verdict.h"

static bool plain_history(const history *h, const facts *f)
{
    return !f->unknown && !f->deletes && !f->appends && !f->scans && !f->iterators && !f->failed &&
           !f->duplicate_writes && !f->aborted && !h->attrs.n && !h->ranges.n && !h->init_unknown;
}

/* Rises with the time at which the transaction seems to have taken effect; false: no times. */
static bool effect_time(const history *h, txn_id t, uint64_t *at)
{
    unsigned both = TXN_HAS_BEGIN | TXN_HAS_END;
    if ((h->txn_flags[t] & both) != both) return false;
    bool writes = false;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1] && !writes; o++)
        writes = (h->op_kind[o] & OP_KIND_MASK) == OP_WRITE;
    *at = sort_key(writes ? h->txn_end[t] : h->txn_begin[t]);
    return true;
}

bool quick_accept(verdict *v, const history *h, const facts *f, mem *work)
{
    if (!plain_history(h, f) || v->ryow != RYOW_MUST) return false;
    size_t keys = history_keys(h);
    uint64_t *key = mem_array(work, uint64_t, h->txns + 1);
    for (size_t t = 0; t < h->txns; t++)
        if (!effect_time(h, (txn_id)t, &key[t])) return false;
    txn_id *order = sort_by_key(work, key, (uint32_t)h->txns);
    value_id *now = mem_array(work, value_id, keys + 1);
    uint32_t *last = mem_array0(work, uint32_t, h->sessions.n + 1); /* per session, txn + 1 */
    memcpy(now, h->key_init, keys * sizeof *now);
    for (size_t i = 0; i < h->txns; i++) {
        txn_id t = order[i];
        uint32_t *before = &last[h->txn_session[t]];
        assert(!i || key[order[i - 1]] <= key[t]);
        if (*before > t) return false; /* a session runs backwards */
        *before = t + 1;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            key_id k = h->op_key[o];
            value_id x = h->op_value[o];
            assert(k < keys && (h->op_kind[o] & OP_KIND_MASK) <= OP_WRITE); /* plain_history */
            if (x > VALUE_NULL && (x == VALUE_UNKNOWN || value_atom(h, x).kind == ATOM_LIST))
                return false;
            if ((h->op_kind[o] & OP_KIND_MASK) == OP_READ) {
                if (now[k] != x) return false;
            } else {
                if (x == h->key_init[k]) return false; /* reads of it would be ambiguous */
                now[k] = x;
            }
        }
        guard_tick(work->guard);
    }
    v->order = mem_array(v->mem, txn_id, h->txns + 1);
    memcpy(v->order, order, h->txns * sizeof *order);
    v->ordered = (uint32_t)h->txns;
    return true;
}
