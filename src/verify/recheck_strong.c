/*
 * recheck_strong.c - replaying a commit order at serializability and snapshot isolation.
 *
 * Serializability: walk the order; each read must find the version that it was resolved to.
 *
 * Snapshot isolation: the answer gives only the commits, so each transaction looks for a snapshot
 * of its own (SI in the form of Crooks et al.: a state before the commit).  A snapshot is a number
 * of commits; each read allows an interval of them, from its writer to the next writer of the key,
 * and so do session order and the keys that the transaction writes.  There must be one in all.
 *
 * Strict serializability: nobody who ended before another began stands behind it in the order.
 */
#include <assert.h>

#include "verify/recheck.h"

void recheck_load_installers(checker *c, installers *x)
{
    size_t keys = history_keys(c->h);
    x->first = mem_array0(c->m, uint32_t, keys + 2);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++)
            if (installed(c, w)) x->first[c->w_key.at[w] + 2]++;
    }
    for (size_t k = 2; k < keys + 2; k++) x->first[k] += x->first[k - 1];
    x->place = mem_array(c->m, uint32_t, (size_t)x->first[keys + 1] + 1);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++)
            if (installed(c, w)) x->place[x->first[c->w_key.at[w] + 1]++] = p;
    }
}

/* The first installer of k behind place p, p3 itself aside; UINT32_MAX: none. */
uint32_t recheck_next_installer(const installers *x, key_id k, uint32_t p, uint32_t p3)
{
    uint32_t lo = x->first[k], hi = x->first[k + 1], end = hi;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->place[mid] <= p)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < end && x->place[lo] == p3) lo++;
    return lo < end ? x->place[lo] : UINT32_MAX;
}

/* The last installer of k before place p; 0: none. */
uint32_t recheck_installer_before(const installers *x, key_id k, uint32_t p)
{
    uint32_t lo = x->first[k], hi = x->first[k + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->place[mid] < p)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > x->first[k] ? x->place[lo - 1] : 0;
}

static bool check_snapshot(checker *c, const installers *x, uint32_t p)
{
    txn_id t = c->v->order[p - 1];
    uint32_t lo = c->v->session_order ? c->so_pred[p] : 0, hi = p - 1;
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
        const seen *r = &c->reads.at[i];
        uint32_t next = recheck_next_installer(x, r->key, r->value, p);
        if (r->value > lo) lo = r->value;
        if (next - 1 < hi) hi = next - 1;
    }
    for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
        uint32_t before = installed(c, w) ? recheck_installer_before(x, c->w_key.at[w], p) : 0;
        if (before > lo) lo = before;
    }
    return lo <= hi || recheck_no(c, t, "no snapshot fits its reads, session and writes");
}

static bool check_serial(checker *c)
{
    uint32_t *last = mem_array0(c->m, uint32_t, history_keys(c->h) + 1);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (last[c->reads.at[i].key] != c->reads.at[i].value)
                return recheck_no(c, t, "read a version that was not the newest at its place");
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++)
            if (installed(c, w)) last[c->w_key.at[w]] = p;
        guard_tick(c->m->guard);
    }
    return true;
}

static bool time_of(const history *h, txn_id t, bool end, int64_t *at)
{
    unsigned flags = h->txn_flags[t];
    if (end && (flags & TXN_STATUS_MASK) == TXN_UNKNOWN) return false;
    if (flags & TXN_HAS_TIMES)
        *at = h->txn_times[(size_t)t * 4 + (end ? 3 : 0)];
    else if (flags & (end ? TXN_HAS_END : TXN_HAS_BEGIN))
        *at = end ? h->txn_end[t] : h->txn_begin[t];
    else
        return false;
    return true;
}

static bool check_real_time(checker *c)
{
    int64_t earliest_end = INT64_MAX; /* of those behind */
    uint64_t drift = c->v->drift > 0 ? (uint64_t)c->v->drift : 0;
    for (uint32_t p = c->n; p >= 1; p--) {
        txn_id t = c->v->order[p - 1];
        int64_t begin, end;
        if (time_of(c->h, t, false, &begin) && earliest_end < begin &&
            (uint64_t)begin - (uint64_t)earliest_end >= drift)
            return recheck_no(c, t, "began after the end of one that stands behind it");
        if (time_of(c->h, t, true, &end) && end < earliest_end) earliest_end = end;
    }
    return true;
}

bool recheck_strong(checker *c)
{
    enum level_id level = c->v->level.id;
    assert(level == LEVEL_SER || level == LEVEL_SSER || level == LEVEL_SI);
    if ((level == LEVEL_SSER || c->v->level.realtime) && !check_real_time(c)) return false;
    if (level != LEVEL_SI) return check_serial(c);
    installers x;
    recheck_load_installers(c, &x);
    for (uint32_t p = 1; p <= c->n; p++) {
        if (!check_snapshot(c, &x, p)) return false;
        guard_tick(c->m->guard);
    }
    return true;
}
