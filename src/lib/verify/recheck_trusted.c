/*
 * recheck_trusted.c - what an answer says against the database's timestamps, looked up.
 *
 * Only the read, the pair of writers or the step of a session that the answer names: of all
 * versions of the key, the last one whose commit_ts is not behind the reader's moment must not be
 * the one that was returned.  (What holds is replayed like any other answer, without timestamps.)
 */
#include "base/sort.h"
#include "verify/recheck.h"

static bool part_of(const history *h, txn_id t)
{
    enum txn_status s = txn_status_of(h, t);
    return s == TXN_COMMITTED || (s == TXN_UNKNOWN && h->txn_flags[t] & TXN_HAS_COMMIT_TS);
}

static bool stamped(const history *h, txn_id t, int64_t *start, int64_t *commit)
{
    if (t >= h->txns || !part_of(h, t) || !(h->txn_flags[t] & TXN_HAS_START_TS)) return false;
    *start = *commit = h->txn_start_ts[t];
    if (h->txn_flags[t] & TXN_HAS_COMMIT_TS) *commit = h->txn_commit_ts[t];
    return true;
}

static bool find_shown(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    (void)t;
    if (o != c->v->at_op || k != c->v->at_key) return true;
    c->value = x;
    c->found = true;
    return false;
}

/* The installed writes of the key that the reader must see, by commit_ts. */
static uint32_t *visible_writes(checker *c, txn_id t, int64_t start, int64_t commit, uint32_t *n)
{
    const history *h = c->h;
    bool si = c->v->level.id == LEVEL_SI, reader = c->w_first[t] == c->w_first[t + 1];
    VEC(uint32_t) found = {0};
    VEC(uint64_t) at = {0};
    for (txn_id u = 0; u < h->txns; u++) {
        int64_t begun, ended;
        uint32_t w = u == t ? NO_ID : recheck_install(c, u, c->v->at_key);
        if (w == NO_ID || !stamped(h, u, &begun, &ended)) continue;
        if (si ? ended > start : reader ? ended > commit : ended >= commit) continue;
        vec_push(c->m, &found, w);
        vec_push(c->m, &at, sort_key(ended));
    }
    uint32_t *by = sort_by_key(c->m, at.at, (uint32_t)found.n);
    for (size_t i = 0; i < found.n; i++) by[i] = found.at[by[i]];
    *n = (uint32_t)found.n;
    vec_free(c->m, &found);
    vec_free(c->m, &at);
    return by;
}

static bool list_differs(checker *c, txn_id t, const uint32_t *write, uint32_t n)
{
    const history *h = c->h;
    key_id k = c->v->at_key;
    VEC(value_id) all = {0};
    seq first = content(h, &h->key_init[k]), read = content(h, &c->value);
    for (uint32_t i = 0; i < first.n; i++) vec_push(c->m, &all, first.at[i]);
    for (uint32_t i = 0; i <= n; i++) { /* the last are its own, before the read */
        uint32_t lo, hi;
        hi = i < n ? recheck_own(c, c->w_txn[write[i]], k, NO_ID, &lo)
                   : recheck_own(c, t, k, c->v->at_op, &lo);
        for (; lo < hi; lo++) vec_push(c->m, &all, h->op_value[c->w_op[lo]]);
    }
    return !same((seq){all.at, (uint32_t)all.n, false}, read);
}

static bool bad_read(checker *c)
{
    const history *h = c->h;
    const claim *v = c->v;
    txn_id t = v->core.n ? v->core.at[0] : NO_ID;
    int64_t start, commit;
    if (!stamped(h, t, &start, &commit) || v->at_op < h->txn_op[t] || v->at_op >= h->txn_op[t + 1])
        return recheck_no(c, NO_ID, "the read is not of the transaction named");
    unsigned kind = op_kind_of(h, v->at_op);
    if (v->at_key == NO_ID)
        return ((kind == OP_SCAN || kind == OP_ITER) &&
                recheck_malformed(h, &h->ranges.at[h->op_key[v->at_op]])) ||
               recheck_no(c, t, "the scan is not malformed");
    c->found = false;
    recheck_visit(c, t, find_shown);
    if (!c->found) return recheck_no(c, t, "has no such read");
    int own = c->is_list[v->at_key] ? 0 : recheck_internal(c, t, v->at_op, v->at_key, c->value);
    if (own < 0) return true;
    if (own > 0) return recheck_no(c, t, "read its own write, as it should");
    uint32_t n, *write = visible_writes(c, t, start, commit, &n);
    bool wrong;
    if (c->is_list[v->at_key])
        wrong = list_differs(c, t, write, n);
    else if (n)
        wrong = plain(h->op_value[c->w_op[write[n - 1]]]) != plain(c->value);
    else
        wrong = c->init[v->at_key] != plain(c->value);
    return wrong || recheck_no(c, t, "read what stood there at its timestamp");
}

bool recheck_trusted(checker *c)
{
    const history *h = c->h;
    const claim *v = c->v;
    if (v->at_op != NO_ID) return bad_read(c);
    int64_t start[2], commit[2];
    txn_id a = v->core.n > 1 ? v->core.at[0] : NO_ID, b = v->core.n > 1 ? v->core.at[1] : NO_ID;
    if (!stamped(h, a, &start[0], &commit[0]) || !stamped(h, b, &start[1], &commit[1]))
        return recheck_no(c, NO_ID, "the answer names no two transactions with timestamps");
    bool si = v->level.id == LEVEL_SI;
    if (v->at_key == NO_ID)
        return (v->session_order && h->txn_session[a] == h->txn_session[b] && b < a &&
                txn_status_of(h, b) == TXN_COMMITTED && commit[1] > (si ? start[0] : commit[0])) ||
               recheck_no(c, a, "its session does not run backwards");
    bool both =
        recheck_install(c, a, v->at_key) != NO_ID && recheck_install(c, b, v->at_key) != NO_ID;
    return (si && both && start[0] < commit[1] && start[1] < commit[0]) ||
           recheck_no(c, a, "the two writers do not overlap");
}
