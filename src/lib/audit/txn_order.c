/*
 * txn_order.c - the order of the transactions, as far as the log tells it.
 *
 * The database's commit timestamps decide where there are any, else the ends of transactions, else
 * the order of lines; where the first choice explains nothing, others are tried (order_source).
 * Sessions keep their order in any case.  The states that real time allows each position to read
 * are its window: low is the last commit that had ended when it began, high the last commit that
 * had been sent when its snapshot was answered.  Sorting and windows take O(n log n).
 */
#include "audit/txn_order.h"

#include <assert.h>

#include "base/search.h"
#include "base/sort.h"

/* ---- times ----------------------------------------------------------------------------------- */

/* Where there is no snapshot but a place in a serial order, a transaction begins with whatever it
   did first. */
txn_times times_of(const engine *e, const log_txn *t)
{
    if (t->has_times) {
        size_t number = (size_t)(t - e->log->txns.at);
        bool serial = e->level.mode == MODE_LATEST;
        uint32_t may = serial ? 0 : e->marks.may_take[number], takes = e->marks.takes[number];
        bool begun = may < t->n_stmts && t->stmts[may].has_time;
        bool taken = takes < t->n_stmts && t->stmts[takes].has_time;
        return (txn_times){.known = true,
                           .begin = begun ? t->stmts[may].call : t->times[0],
                           .seen = taken ? t->stmts[takes].answer : t->times[2],
                           .call = t->times[2],
                           .end = t->times[3]};
    }
    if (!t->has_begin || !t->has_end) return (txn_times){.known = false};
    return (txn_times){
        .known = true, .begin = t->begin, .seen = t->begin, .call = t->end, .end = t->end};
}

bool ended_before(const engine *e, const log_txn *a, const log_txn *b)
{
    assert(e->o->drift <= INT64_MAX / 2);
    txn_times ta = times_of(e, a), tb = times_of(e, b);
    if (!ta.known || !tb.known) return false;
    return ta.end + (int64_t)e->o->drift < tb.begin;
}

bool committed_before(const engine *e, const log_txn *a, const log_txn *b)
{
    txn_times ta = times_of(e, a), tb = times_of(e, b);
    if (!ta.known || !tb.known) return false;
    return ta.end + (int64_t)e->o->drift < tb.call;
}

bool may_be_shown_to(const engine *e, const log_txn *a, const log_txn *b)
{
    txn_times ta = times_of(e, a), tb = times_of(e, b);
    if (!ta.known || !tb.known) return true;
    return ta.call <= tb.seen + (int64_t)e->o->drift;
}

typedef struct by_time {
    uint64_t *key;  /* sorted */
    uint32_t *most; /* the highest position among the keys up to here, + 1 */
    uint32_t n;
} by_time;

static bool is_supposed(const engine *e, const log_txn *t)
{
    return e->order.supposed && e->order.supposed[t - e->log->txns.at];
}

bool takes_part(const engine *e, uint32_t txn)
{
    const log_txn *t = &e->log->txns.at[txn];
    assert(txn < e->log->txns.n && (!is_supposed(e, t) || t->status == LOG_UNKNOWN));
    return t->status == LOG_COMMITTED || is_supposed(e, t);
}

bool makes_no_state(const engine *e, const log_txn *t)
{
    if (engine_only_reads(e, t)) return true;
    return e->order.stamped && !t->has_commit && !is_supposed(e, t);
}

static by_time sorted_times(engine *e, bool end)
{
    by_time r = {mem_array(e->mem, uint64_t, e->order.n + 1),
                 mem_array(e->mem, uint32_t, e->order.n + 1), 0};
    uint64_t *key = mem_array(e->mem, uint64_t, e->order.n + 1);
    uint32_t *who = mem_array(e->mem, uint32_t, e->order.n + 1);
    for (uint32_t i = 0; i < e->order.n; i++) {
        const log_txn *t = &e->log->txns.at[e->order.at[i]];
        txn_times times = times_of(e, t);
        if (!times.known || makes_no_state(e, t)) continue;
        key[r.n] = sort_key(end ? times.end : times.call);
        who[r.n++] = i;
    }
    uint32_t *by = sort_by_key(e->mem, key, r.n), most = 0;
    assert(r.n <= e->order.n);
    for (uint32_t i = 0; i < r.n; i++) {
        r.key[i] = key[by[i]];
        if (who[by[i]] + 1 > most) most = who[by[i]] + 1;
        r.most[i] = most;
        assert(!i || r.key[i - 1] <= r.key[i]);
    }
    mem_put(e->mem, key);
    mem_put(e->mem, who);
    mem_put(e->mem, by);
    return r;
}

/* How many keys are below (or at) the limit. */
static uint32_t rank(const by_time *t, int64_t limit, bool at)
{
    uint64_t k = sort_key(limit);
    return (uint32_t)(at ? upper_bound_u64(t->key, t->n, k) : lower_bound_u64(t->key, t->n, k));
}

/* The highest position + 1 of a key below (or at) the limit. */
static uint32_t highest(const by_time *t, int64_t limit, bool at)
{
    assert(t->key && t->most);
    uint32_t n = rank(t, limit, at);
    return n ? t->most[n - 1] : 0;
}

/* Lowers high[i] to the last commit before position i that had been sent when i's snapshot was
   answered.  A Fenwick tree of highest positions over the ranks of the calls, filled along the
   order: commits of later positions, and i's own, do not count. */
static void lower_highs(engine *e)
{
    by_time calls = sorted_times(e, false);
    int64_t drift = (int64_t)e->o->drift;
    uint32_t *tree = mem_array0(e->mem, uint32_t, calls.n + 1);
    for (uint32_t i = 0; i < e->order.n; i++) {
        const log_txn *t = &e->log->txns.at[e->order.at[i]];
        txn_times times = times_of(e, t);
        if (!times.known) continue;
        uint32_t high = 0;
        for (uint32_t k = rank(&calls, times.seen + drift, true); k; k -= k & -k)
            if (tree[k] > high) high = tree[k];
        if (high < e->order.high[i]) e->order.high[i] = high;
        assert(e->order.high[i] <= i); /* only positions before it are in the tree */
        if (makes_no_state(e, t)) continue;
        for (uint32_t k = rank(&calls, times.call, false) + 1; k <= calls.n; k += k & -k)
            if (i + 1 > tree[k]) tree[k] = i + 1;
    }
    mem_put(e->mem, tree);
    mem_put(e->mem, calls.key);
    mem_put(e->mem, calls.most);
}

void order_windows(engine *e)
{
    for (uint32_t i = 0; i < e->order.n; i++) e->order.low[i] = 0, e->order.high[i] = i;
    if (!e->level.strict) return;
    by_time ends = sorted_times(e, true);
    assert(e->level.strict);
    lower_highs(e);
    int64_t drift = (int64_t)e->o->drift;
    for (uint32_t i = 0; i < e->order.n; i++) {
        txn_times times = times_of(e, &e->log->txns.at[e->order.at[i]]);
        if (!times.known) continue;
        e->order.low[i] = highest(&ends, times.begin - drift, false);
        if (e->order.high[i] < e->order.low[i] && e->order.low[i] <= i)
            e->order.high[i] = e->order.low[i];
    }
    mem_put(e->mem, ends.key);
    mem_put(e->mem, ends.most);
}

/* ---- the given order ------------------------------------------------------------------------- */

/* The database told when some transactions committed.  The others wrote nothing that it stamps:
   they come as late as real time allows. */
static void place_unstamped(engine *e, const uint32_t *who, uint64_t *key, uint32_t n)
{
    uint64_t *stamp = mem_array(e->mem, uint64_t, n + 1);
    uint32_t *of = mem_array(e->mem, uint32_t, n + 1);
    e->order.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!e->log->txns.at[who[i]].has_commit) continue;
        stamp[e->order.n] = sort_key(e->log->txns.at[who[i]].commit);
        of[e->order.n++] = i;
    }
    uint32_t *by = sort_by_key(e->mem, stamp, e->order.n);
    assert(e->order.n && e->order.n <= n);
    for (uint32_t i = 0; i < e->order.n; i++) {
        e->order.at[i] = who[of[by[i]]];
        key[of[by[i]]] = 2 * (uint64_t)i;
    }
    by_time calls = sorted_times(e, false);
    for (uint32_t i = 0; i < n; i++) {
        const log_txn *t = &e->log->txns.at[who[i]];
        if (t->has_commit) continue;
        txn_times times = times_of(e, t);
        /* (nobody knows when an unknown outcome took effect, but its end is no bound) */
        int64_t late = is_supposed(e, t) ? times.call : times.end;
        uint32_t after = times.known ? highest(&calls, late, true) : 0;
        key[i] = !times.known ? 2 * (uint64_t)e->order.n : after ? 2 * (uint64_t)after - 1 : 0;
    }
    mem_put(e->mem, calls.key);
    mem_put(e->mem, calls.most);
    mem_put(e->mem, stamp);
    mem_put(e->mem, of);
    mem_put(e->mem, by);
}

/* No order that contradicts the order of a session may be shown.  A transaction without a stamp
   wrote nothing and is put before the next one of its session; any other is put after the one
   before it, and then the order is no longer a fact (`mended`). */
static void keep_sessions(engine *e)
{
    const sql_log *l = e->log;
    mem *m = e->mem;
    uint64_t *key = mem_array(m, uint64_t, e->order.n + 1);
    uint32_t *line =
        mem_array(m, uint32_t, e->order.n + 1); /* transactions in the order of lines */
    uint32_t *rank_of = mem_array(m, uint32_t, l->txns.n + 1), n = 0;
    uint32_t *mate = mem_array(m, uint32_t, l->sessions.n + 1);
    bool moved = false;
    for (uint32_t i = 0; i < e->order.n; i++) rank_of[e->order.at[i]] = i;
    for (uint32_t i = 0; i < l->txns.n; i++)
        if (takes_part(e, i)) line[n++] = i;
    assert(n == e->order.n);
    memset(mate, 0xff, (l->sessions.n + 1) * sizeof *mate);
    for (uint32_t i = n; i-- > 0;) {
        const log_txn *t = &l->txns.at[line[i]];
        uint32_t *r = &rank_of[line[i]], *next = &mate[t->session];
        if (e->order.stamped && !t->has_commit && *next < *r) *r = *next, moved = true;
        *next = *r;
    }
    memset(mate, 0, (l->sessions.n + 1) * sizeof *mate);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *r = &rank_of[line[i]], *last = &mate[l->txns.at[line[i]].session];
        if (*r < *last) *r = *last, moved = e->order.mended = true;
        *last = *r;
        key[i] = (uint64_t)*r << 32 | line[i];
    }
    if (moved) {
        uint32_t *by = sort_by_key(m, key, n);
        for (uint32_t i = 0; i < n; i++) e->order.at[i] = line[by[i]];
        mem_put(m, by);
    }
    mem_put(m, key);
    mem_put(m, line);
    mem_put(m, rank_of);
    mem_put(m, mate);
}

/* Unknown times: the order of lines. */
static uint64_t place_key(const engine *e, order_source by, bool times, uint32_t txn)
{
    txn_times t = times_of(e, &e->log->txns.at[txn]);
    assert(by < ORDER_SOURCES && (!times || t.known));
    if (!times || by == ORDER_BY_LINE) return txn;
    bool called = by == ORDER_BY_CALL || is_supposed(e, &e->log->txns.at[txn]);
    return sort_key(called ? t.call : t.end);
}

void order_sort(engine *e, order_source from)
{
    const sql_log *l = e->log;
    uint64_t *key = mem_array(e->mem, uint64_t, l->txns.n + 1);
    uint32_t *who = mem_array(e->mem, uint32_t, l->txns.n + 1);
    bool stamps = false, all = true, ends = true;
    uint32_t n = 0;
    e->order.at = mem_array(e->mem, uint32_t, l->txns.n + 1);
    for (uint32_t i = 0; i < l->txns.n; i++) {
        if (!takes_part(e, i)) continue;
        if (!times_of(e, &l->txns.at[i]).known) ends = false;
        if (l->txns.at[i].has_commit) stamps = true;
        if (l->txns.at[i].commit_unknown && !engine_only_reads(e, &l->txns.at[i])) all = false;
        who[n++] = i;
    }
    stamps = stamps && all; /* one that is missing may lie anywhere between the others */
    for (uint32_t i = 0; i < n; i++) {
        key[i] = place_key(e, stamps ? ORDER_BY_END : from, ends, who[i]);
    }
    uint32_t *by = sort_by_key(e->mem, key, n);
    e->order.stamped = stamps;
    e->order.mended = false;
    if (stamps) { /* those between the same two stamps stay in the order of their ends */
        uint32_t *ended = mem_array(e->mem, uint32_t, n + 1);
        for (uint32_t i = 0; i < n; i++) ended[i] = who[by[i]];
        memcpy(who, ended, n * sizeof *who);
        mem_put(e->mem, ended);
        mem_put(e->mem, by);
        place_unstamped(e, who, key, n);
        by = sort_by_key(e->mem, key, n);
    }
    e->order.n = n;
    for (uint32_t i = 0; i < e->order.n; i++) e->order.at[i] = who[by[i]];
    if (!e->o->no_session_order) keep_sessions(e);
    mem_put(e->mem, key);
    mem_put(e->mem, who);
    mem_put(e->mem, by);
    e->order.low = mem_array(e->mem, uint32_t, e->order.n + 1);
    e->order.high = mem_array(e->mem, uint32_t, e->order.n + 1);
    e->order.first_read = mem_array0(e->mem, uint32_t, l->txns.n + 2);
    e->order.same_from = mem_array0(e->mem, uint32_t, l->txns.n + 2);
    e->order.state_name = mem_array0(e->mem, const char *, l->txns.n + 2);
}

bool order_may_swap(const engine *e, uint32_t early, uint32_t late)
{
    assert(early < e->log->txns.n && late < e->log->txns.n && early != late);
    const log_txn *o = &e->log->txns.at[early], *a = &e->log->txns.at[late];
    if (o->session == a->session && !e->o->no_session_order) return false;
    txn_times first = times_of(e, o), second = times_of(e, a);
    if (!first.known || !second.known) return !e->level.strict;
    return e->run.mode == MODE_LATEST ? !ended_before(e, o, a) : first.end >= second.call;
}

/* A serial order need not be that of the commits: only transactions that do not overlap have a
   known one, but versions are in that order. */
bool order_is_fact(const engine *e, bool of_versions)
{
    assert(e->order.n && e->order.n <= e->log->txns.n);
    bool serial = e->level.strict && e->level.mode == MODE_LATEST && !of_versions;
    if (e->order.mended) return false;
    for (uint32_t i = 0; i < e->order.n; i++) {
        const log_txn *t = &e->log->txns.at[e->order.at[i]];
        if (serial && i && !ended_before(e, &e->log->txns.at[e->order.at[i - 1]], t)) return false;
        const log_txn *next = i + 1 < e->order.n ? &e->log->txns.at[e->order.at[i + 1]] : NULL;
        if (t->has_commit && next && next->has_commit && next->commit == t->commit) return false;
        bool placed = t->has_commit && e->order.stamped;
        if (placed || makes_no_state(e, t)) continue;
        if (of_versions || !e->level.strict || t->has_times || !t->has_end) return false;
    }
    return true;
}

bool order_is_total(const engine *e)
{
    for (uint32_t i = 1; i < e->order.n; i++) {
        const log_txn *before = &e->log->txns.at[e->order.at[i - 1]];
        if (!ended_before(e, before, &e->log->txns.at[e->order.at[i]])) return false;
    }
    return e->order.n > 0;
}

/* (At MODE_LATEST only one way to run each transaction was tried, so the answer is no.) */
bool order_is_the_only_one(const engine *e)
{
    if (e->o->no_session_order || e->level.mode == MODE_LATEST) return false;
    for (uint32_t i = 1; i < e->order.n; i++)
        if (e->order.at[i] < e->order.at[i - 1] ||
            e->log->txns.at[e->order.at[i]].session != e->log->txns.at[e->order.at[0]].session)
            return false;
    return true;
}
