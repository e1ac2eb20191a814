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

#include "base/search.h"
#include "verify/recheck.h"

void recheck_load_installers(checker *c)
{
    installers *x = &c->by_key;
    size_t keys = history_keys(c->h);
    x->first = mem_array0(c->m, uint32_t, keys + 2);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++)
            if (installed(c, w)) x->first[c->w_key.at[w] + 2]++;
    }
    for (size_t k = 2; k < keys + 2; k++) x->first[k] += x->first[k - 1];
    x->place = mem_array(c->m, uint32_t, (size_t)x->first[keys + 1] + 1);
    x->value = mem_array(c->m, value_id, (size_t)x->first[keys + 1] + 1);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
            if (!installed(c, w)) continue;
            uint32_t at = x->first[c->w_key.at[w] + 1]++;
            x->place[at] = p;
            x->value[at] = plain(c->h->op_value[c->w_op[w]]);
        }
    }
}

uint32_t recheck_next_installer(const installers *x, const seen *r, uint32_t p3)
{
    uint32_t lo = x->first[r->key], end = x->first[r->key + 1], hi = end;
    if (r->next != NO_ID) lo = hi = r->next;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->place[mid] <= r->value)
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
    SEARCH_FIRST(uint32_t, at, x->first[k], x->first[k + 1], x->place[at] >= p);
    return at > x->first[k] ? x->place[at - 1] : 0;
}

/* --- real time of snapshot isolation --------------------------------------------------------- */

typedef struct times {
    bool commits, begins;    /* which rules count: of GSI; commit before begin */
    instant *called, *ended; /* commits by the time of their call, of their return */
    uint32_t n_called, n_ended;
    uint64_t drift;
} times;

/* Which of the four calls and returns: 0 begin called ... 3 commit returned. */
bool recheck_stamp(const history *h, txn_id t, unsigned which, int64_t *at)
{
    unsigned flags = h->txn_flags[t];
    if (which >= 2 && (flags & TXN_STATUS_MASK) == TXN_UNKNOWN) return false;
    if (which == 1 && flags & TXN_NO_BEGIN_RETURN) return false;
    if (flags & TXN_HAS_TIMES)
        *at = h->txn_times[(size_t)t * 4 + which];
    else if (flags & (which >= 2 ? TXN_HAS_END : TXN_HAS_BEGIN))
        *at = which >= 2 ? h->txn_end[t] : h->txn_begin[t];
    else
        return false;
    return true;
}

static bool happened_before(const times *z, int64_t a, int64_t b)
{
    return a < b && (uint64_t)b - (uint64_t)a >= z->drift;
}

/* Heap sort by time. */
static void sift(instant *a, size_t i, size_t n)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && a[child + 1].at > a[child].at) child++;
        if (a[i].at >= a[child].at) return;
        instant swap = a[i];
        a[i] = a[child];
        a[child] = swap;
    }
}

static void sort_instants(instant *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) sift(a, i, n);
    for (size_t i = n; i-- > 1;) {
        instant swap = a[0];
        a[0] = a[i];
        a[i] = swap;
        sift(a, 0, i);
    }
}

/* The places of all transactions by the time of one of their calls and returns. */
static instant *sort_stamps(checker *c, unsigned which, uint32_t *n)
{
    instant *a = mem_array(c->m, instant, (size_t)c->n + 1);
    *n = 0;
    for (uint32_t p = 1; p <= c->n; p++) {
        instant x = {0, p, p};
        if (recheck_stamp(c->h, c->v->order[p - 1], which, &x.at)) a[(*n)++] = x;
    }
    sort_instants(a, *n);
    return a;
}

instant *recheck_sort_ends(checker *c, uint32_t *n)
{
    return sort_stamps(c, 3, n);
}

instant *recheck_sort_begins(checker *c, uint32_t *n)
{
    return sort_stamps(c, 0, n);
}

static void load_times(checker *c, times *z)
{
    enum level_id level = c->v->level.id;
    memset(z, 0, sizeof *z);
    z->commits = level == LEVEL_GSI || level == LEVEL_PCSI || level == LEVEL_STRONG_SI;
    z->begins = level == LEVEL_STRONG_SI || c->v->level.realtime;
    z->drift = c->v->drift > 0 ? (uint64_t)c->v->drift : 0;
    if (!z->commits && !z->begins) return;
    z->called = mem_array(c->m, instant, (size_t)c->n + 1);
    z->ended = recheck_sort_ends(c, &z->n_ended);
    for (uint32_t p = 1; p <= c->n; p++) {
        instant x = {0, p, p};
        if (recheck_stamp(c->h, c->v->order[p - 1], 2, &x.at)) z->called[z->n_called++] = x;
    }
    sort_instants(z->called, z->n_called);
    for (uint32_t i = z->n_called; i-- > 1;)
        if (z->called[i].bound < z->called[i - 1].bound)
            z->called[i - 1].bound = z->called[i].bound;
    for (uint32_t i = 1; i < z->n_ended; i++)
        if (z->ended[i - 1].bound > z->ended[i].bound) z->ended[i].bound = z->ended[i - 1].bound;
}

/* What real time says of a snapshot: nothing that was committed after the begin, and, for some,
   everything that was committed before it. */
static void real_bounds(const checker *c, const times *z, txn_id t, uint32_t *lo, uint32_t *hi)
{
    int64_t at;
    if (z->commits && recheck_stamp(c->h, t, 1, &at)) {
        uint32_t a = 0, b = z->n_called; /* the first commit that was called after it */
        while (a < b) {
            uint32_t mid = a + (b - a) / 2;
            if (happened_before(z, at, z->called[mid].at))
                b = mid;
            else
                a = mid + 1;
        }
        if (a < z->n_called && z->called[a].bound - 1 < *hi) *hi = z->called[a].bound - 1;
    }
    if (z->begins && recheck_stamp(c->h, t, 0, &at)) {
        uint32_t a = 0, b = z->n_ended; /* how many commits returned before it */
        while (a < b) {
            uint32_t mid = a + (b - a) / 2;
            if (happened_before(z, z->ended[mid].at, at))
                a = mid + 1;
            else
                b = mid;
        }
        if (a && z->ended[a - 1].bound > *lo) *lo = z->ended[a - 1].bound;
    }
}

/* Commits stand in their real order. */
static bool check_commits(checker *c, const times *z)
{
    int64_t earliest = INT64_MAX, at; /* return of a commit that stands behind */
    bool any = false;
    for (uint32_t p = c->n; p >= 1 && z->commits; p--) {
        txn_id t = c->v->order[p - 1];
        if (recheck_stamp(c->h, t, 3, &at) && (!any || at < earliest)) { /* its own, too */
            earliest = at;
            any = true;
        }
        if (any && recheck_stamp(c->h, t, 2, &at) && happened_before(z, earliest, at))
            return recheck_no(c, t,
                              "committed after itself, or after one that comes later in the order");
    }
    return true;
}

/* Does the snapshot of t end before the next version of what it read? */
static bool bounds_snapshot(const checker *c, txn_id t, const seen *r)
{
    unsigned row = c->row ? c->row[t] : ROW_SI;
    return row >= ROW_SI || (row == ROW_RR && !recheck_predicate(c->h, r->op, r->key));
}

/* May no other writer of the key commit between the snapshot of t and t? */
static bool excludes_writers(const checker *c, txn_id t, key_id k)
{
    if (c->row) return c->row[t] == ROW_SI && !(c->lax && c->lax[k]);
    return c->v->level.id != LEVEL_PC;
}

/* before: of each key, how many installers stand before p. */
static bool check_snapshot(checker *c, const installers *x, const times *z, uint32_t p,
                           uint32_t *before)
{
    txn_id t = c->v->order[p - 1];
    uint32_t lo = c->v->session_order ? c->so_pred[p] : 0, hi = p - 1;
    real_bounds(c, z, t, &lo, &hi);
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
        const seen *r = &c->reads.at[i];
        uint32_t next = recheck_next_installer(x, r, p);
        if (r->value > lo) lo = r->value;
        if (next - 1 < hi && bounds_snapshot(c, t, r)) hi = next - 1;
    }
    for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
        key_id k = c->w_key.at[w];
        if (!installed(c, w)) continue;
        uint32_t prior = before[k] ? x->place[x->first[k] + before[k] - 1] : 0;
        before[k]++;
        if (prior > lo && excludes_writers(c, t, k)) lo = prior;
    }
    /* Only snapshots begin earlier than they commit (MIX-1). */
    if (c->row && c->row[t] != ROW_SI && hi != p - 1)
        return recheck_no(c, t, "read a version that was not the newest at its place");
    if (c->snapshot) {
        if (c->snapshot[p] < lo || c->snapshot[p] > hi)
            return recheck_no(c, t, "its begin does not fit its reads, session and writes");
        return true;
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

bool recheck_real_time(checker *c)
{
    int64_t earliest_end = INT64_MAX; /* of those behind */
    uint64_t drift = c->v->drift > 0 ? (uint64_t)c->v->drift : 0;
    for (uint32_t p = c->n; p >= 1; p--) {
        txn_id t = c->v->order[p - 1];
        int64_t begin, end;
        /* its own end counts, too: one that ended before it began has no place */
        if (time_of(c->h, t, true, &end) && end < earliest_end) earliest_end = end;
        if (time_of(c->h, t, false, &begin) && earliest_end < begin &&
            (uint64_t)begin - (uint64_t)earliest_end >= drift)
            return recheck_no(
                c, t,
                "began after its own end, or after the end of one that comes later in the order");
    }
    return true;
}

bool recheck_strong(checker *c)
{
    enum level_id level = c->v->level.id;
    bool timed = level == LEVEL_SSER || level == LEVEL_LIN || c->v->level.realtime;
    bool serial = level == LEVEL_SER || level == LEVEL_SSER || level == LEVEL_LIN;
    if (serial && timed && !recheck_real_time(c)) return false;
    if (serial) return check_serial(c);
    times z;
    load_times(c, &z);
    if (!check_commits(c, &z)) return false;
    uint32_t *before = mem_array0(c->m, uint32_t, history_keys(c->h) + 1);
    for (uint32_t p = 1; p <= c->n; p++) {
        if (!check_snapshot(c, &c->by_key, &z, p, before)) return false;
        guard_tick(c->m->guard);
    }
    return !c->serial || recheck_serial_among(c);
}
