/*
 * key_sessions.c - see key_sessions.h.
 *
 * Invariant: transactions of a new session are those of an old one that have the same key, in the
 * same order; a transaction that did nothing, or aborted, has a session of its own.
 */
#include "history/key_sessions.h"

#include <assert.h>

#include "base/map.h"

key_id txn_single_key(const history *h, txn_id t, bool *several)
{
    key_id key = NO_ID;
    unsigned n = 0;
    bool reads_first = false;
    *several = false;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        enum op_kind kind = op_kind_of(h, o);
        if (op_failed(h, o)) continue;
        bool scans = kind == OP_SCAN || kind == OP_ITER;
        bool second = n == 1 && reads_first && kind != OP_READ && h->op_key[o] == key;
        if (scans || (n && !second)) {
            *several = true;
            return NO_ID;
        }
        if (!n) {
            key = h->op_key[o];
            reads_first = kind == OP_READ;
        }
        n++;
    }
    return key;
}

txn_id history_first_larger(const history *h)
{
    for (txn_id t = 0; t < h->txns; t++) {
        bool several;
        if (txn_status_of(h, t) == TXN_ABORTED) continue;
        txn_single_key(h, t, &several);
        if (several) return t;
    }
    return NO_ID;
}

/* The number of the session of t in the new history. */
static uint32_t session_by_key(history *to, const history *h, mem *m, id_map *known, txn_id t)
{
    bool several = false;
    key_id key = NO_ID;
    if (txn_status_of(h, t) != TXN_ABORTED) key = txn_single_key(h, t, &several);
    assert(!several);
    uint32_t fresh = (uint32_t)to->sessions.n;
    if (key != NO_ID) {
        uint32_t *at = id_map_at(m, known, map_pair(h->txn_session[t], key));
        if (*at != MAP_NONE) return *at;
        *at = fresh;
    }
    vec_push(m, &to->sessions, h->sessions.at[h->txn_session[t]]);
    return fresh;
}

const history *key_sessions(const history *h, mem *m)
{
    assert(h->frozen && history_first_larger(h) == NO_ID);
    history *to = mem_zeroed(m, sizeof *to);
    id_map known = {0};
    *to = *h;
    memset(&to->sessions, 0, sizeof to->sessions);
    to->txn_session = mem_array(m, uint32_t, h->txns + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        to->txn_session[t] = session_by_key(to, h, m, &known, t);
        guard_tick(m->guard);
    }
    id_map_free(m, &known);
    to->declared_sessions = 0;
    size_t n = to->sessions.n;
    to->sess_first = mem_array0(m, uint32_t, n + 2);
    to->sess_txn = mem_array(m, txn_id, h->txns + 1);
    for (txn_id t = 0; t < h->txns; t++) to->sess_first[to->txn_session[t] + 2]++;
    for (size_t i = 2; i < n + 2; i++) to->sess_first[i] += to->sess_first[i - 1];
    for (txn_id t = 0; t < h->txns; t++) to->sess_txn[to->sess_first[to->txn_session[t] + 1]++] = t;
    assert(to->sess_first[n] == h->txns);
    return to;
}
