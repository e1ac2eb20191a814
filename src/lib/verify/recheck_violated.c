/*
 * recheck_violated.c - is what a negative answer claims there in the history?  (recheck.c)
 *
 * A fault: some read of the core's transactions shows it.  A cycle: it is closed, and each edge is
 * one that the history shows.
 */
#include "verify/recheck.h"

#include <assert.h>

/* --- faults ---------------------------------------------------------------------------------- */

/* Is some other value that nobody wrote read of the key?  Then that is the unknown initial one. */
static bool find_other(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    if (k == c->key && x != c->value && !recheck_internal(c, t, o, k, x) && !recheck_wrote(c, k, x))
        c->found = true;
    return !c->found;
}

static bool initial(checker *c, key_id k, value_id x)
{
    if (!c->open[k]) return c->init[k] == x;
    c->key = k;
    c->value = x;
    for (txn_id t = 0; t < c->h->txns && !c->found; t++)
        if (txn_status_of(c->h, t) == TXN_COMMITTED) recheck_visit(c, t, find_other);
    bool taken = c->found;
    c->found = false;
    return !taken;
}

/* Who wrote x to k: bits of the anomalies that a read of it by t, which nobody explains, shows. */
enum { BY_ABORTED = 1, BY_ITSELF = 2, BY_OTHER = 4 };
static unsigned writers_of(const checker *c, txn_id t, key_id k, value_id x)
{
    unsigned by = 0;
    for (uint32_t w = recheck_wrote(c, k, x); w; w = c->w_next[w - 1]) {
        txn_id u = c->w_txn[w - 1];
        bool aborted = txn_status_of(c->h, u) == TXN_ABORTED || write_is_local(c, w - 1);
        bool itself = u == t && !(c->is_list[k] && write_is_local(c, w - 1));
        by |= itself ? BY_ITSELF : aborted ? BY_ABORTED : BY_OTHER;
    }
    return by;
}

static bool shows(uint32_t anomaly, unsigned by)
{
    switch (anomaly) {
    case ANOMALY_GARBAGE_READ: return !by;
    case ANOMALY_ABORTED_READ: return by & BY_ABORTED;
    case ANOMALY_FUTURE_READ: return by & BY_ITSELF;
    case ANOMALY_INTERMEDIATE_READ: return by & BY_OTHER;
    default: return false;
    }
}

/* Transactions other than t that can have been read: not aborted, installing x at k. */
static uint32_t candidate(const checker *c, txn_id t, op_id o, key_id k, value_id x, txn_id except)
{
    hint f = recheck_hint(c, o, k);
    for (uint32_t w = recheck_wrote(c, k, x); w; w = c->w_next[w - 1]) {
        txn_id u = c->w_txn[w - 1];
        if (u != t && u != except && txn_status_of(c->h, u) != TXN_ABORTED && installed(c, w - 1) &&
            recheck_allowed(c, o, f, x == VALUE_NULL, w - 1))
            return w - 1;
    }
    return NO_ID;
}

/* Write b right behind write a (NO_ID: the initial list): no sequence of whole transactions. */
static bool torn(const checker *c, uint32_t a, uint32_t b)
{
    if (a != NO_ID && c->w_txn[a] == c->w_txn[b]) return b != a + 1;
    bool starts = b == c->w_first[c->w_txn[b]] || c->w_key.at[b - 1] != c->w_key.at[b];
    return !starts || (a != NO_ID && !installed(c, a));
}

/* The only write of element e of k that is not aborted, or NO_ID. */
static uint32_t appender(const checker *c, key_id k, value_id e)
{
    uint32_t one = NO_ID;
    for (uint32_t w = recheck_wrote(c, k, e); w; w = c->w_next[w - 1]) {
        if (txn_status_of(c->h, c->w_txn[w - 1]) == TXN_ABORTED || write_is_local(c, w - 1))
            continue;
        if (one != NO_ID) return NO_ID;
        one = w - 1;
    }
    return one;
}

/* Does the list contradict the initial one or the appends: is it no sequence of whole ones? */
static bool impossible(checker *c, key_id k, seq x)
{
    seq init = content(c->h, &c->init[k]);
    uint32_t before = NO_ID, end = init.n;
    bool bad = init.n > x.n || !same((seq){x.at, init.n, false}, init);
    for (; !bad && end < x.n; end++) {
        uint32_t w = appender(c, k, x.at[end]);
        bad = w == NO_ID ? contains(init, x.at[end]) : c->used[w] || torn(c, before, w);
        if (w == NO_ID || bad) break;
        c->used[w] = 1;
        before = w;
    }
    while (end-- > init.n) c->used[appender(c, k, x.at[end])] = 0;
    return bad;
}

/* Does it contradict a list that the core read before? */
static bool diverges(const checker *c, key_id k, seq x)
{
    for (size_t i = 0; i < c->reads.n; i++) {
        if (c->reads.at[i].key != k) continue;
        seq y = content(c->h, &c->reads.at[i].value);
        uint32_t n = x.n < y.n ? x.n : y.n;
        if (n && !y.scalar && memcmp(x.at, y.at, n * sizeof *x.at)) return true;
    }
    return false;
}

static bool list_shows(checker *c, txn_id t, key_id k, value_id value, seq x)
{
    uint32_t anomaly = c->v->anomaly;
    seq init = content(c->h, &c->init[k]);
    if (x.scalar) return shows(anomaly, writers_of(c, t, k, value));
    if (!x.n) return init.n && shows(anomaly, writers_of(c, t, k, VALUE_NULL));
    bool last_only = anomaly == ANOMALY_INTERMEDIATE_READ;
    for (uint32_t i = last_only ? x.n - 1 : 0; i < x.n; i++) {
        unsigned by = contains(init, x.at[i]) ? BY_OTHER : writers_of(c, t, k, x.at[i]);
        if (last_only) {
            uint32_t w = appender(c, k, x.at[i]);
            return w != NO_ID && c->w_txn[w] != t && !installed(c, w);
        }
        if (anomaly == ANOMALY_ABORTED_READ ? by == BY_ABORTED : shows(anomaly, by)) return true;
    }
    return false;
}

/* Is c->to the only one that this read of t can have seen?  Found: stops. */
static bool find_sole_source(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    if (recheck_internal(c, t, o, k, x) || recheck_install(c, c->to, k) == NO_ID) return true;
    if (c->is_list[k]) {
        seq s = content(c->h, &x);
        for (uint32_t i = 0; i < s.n && !s.scalar && !c->found; i++) {
            uint32_t w = appender(c, k, s.at[i]);
            c->found = w != NO_ID && c->w_txn[w] == c->to &&
                       !contains(content(c->h, &c->init[k]), s.at[i]);
        }
        return !c->found;
    }
    uint32_t w = candidate(c, t, o, k, x, NO_ID);
    c->found = w != NO_ID && c->w_txn[w] == c->to && candidate(c, t, o, k, x, c->to) == NO_ID;
    if (!c->found) return true;
    hint f = recheck_hint(c, o, k);
    c->found = false;
    c->found = !(recheck_allowed(c, o, f, x == VALUE_NULL, NO_ID) && initial(c, k, x));
    return !c->found;
}

bool recheck_committed(checker *c, txn_id t)
{
    const history *h = c->h;
    const txn_ids *core = &c->v->core;
    if (txn_status_of(h, t) == TXN_COMMITTED) return true;
    uint8_t *in = mem_array0(c->m, uint8_t, core->n + 1);
    for (size_t i = 0; i < core->n; i++) in[i] = txn_status_of(h, core->at[i]) == TXN_COMMITTED;
    bool more = true, shown = false;
    while (more && !shown) {
        more = false;
        for (size_t i = 0; i < core->n && !shown; i++) {
            if (in[i] || txn_status_of(h, core->at[i]) == TXN_ABORTED) continue;
            c->found = false;
            c->to = core->at[i];
            for (size_t j = 0; j < core->n && !c->found; j++)
                if (in[j]) recheck_visit(c, core->at[j], find_sole_source);
            if (!c->found) continue;
            in[i] = 1;
            more = true;
            shown = core->at[i] == t;
        }
    }
    mem_put(c->m, in);
    return shown;
}

/* Does this read show the anomaly that the answer names?  Found: stops. */
static bool find_fault(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    int own = recheck_internal(c, t, o, k, x);
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo);
    seq s = content(c->h, &x);
    bool ends = !c->is_list[k] || recheck_sets(c, lo, hi) || recheck_strip(c, lo, hi, &s);
    if (c->v->anomaly == ANOMALY_DUPLICATE_ELEMENTS) {
        c->found = recheck_duplicates(c, k, x);
    } else if (c->v->anomaly == ANOMALY_INCOMPATIBLE_ORDER) {
        seq whole = content(c->h, &x);
        c->found =
            c->is_list[k] && !whole.scalar && (impossible(c, k, whole) || diverges(c, k, whole));
    } else if (own < 0 || !ends) {
        c->found = c->v->anomaly == ANOMALY_NOT_OWN_WRITE;
    } else if (!own && c->is_list[k]) {
        c->found = list_shows(c, t, k, x, s);
    } else if (!own) {
        hint f = recheck_hint(c, o, k);
        c->found = shows(c->v->anomaly, writers_of(c, t, k, x)) &&
                   candidate(c, t, o, k, x, NO_ID) == NO_ID &&
                   !(recheck_allowed(c, o, f, x == VALUE_NULL, NO_ID) && initial(c, k, x));
    }
    seen r = {k, o, x, NO_ID};
    if (c->is_list[k]) vec_push(c->m, &c->reads, r);
    return !c->found;
}

static bool check_fault(checker *c)
{
    const history *h = c->h;
    c->used = mem_array0(c->m, uint8_t, c->w_key.n + 1);
    for (size_t i = 0; i < c->v->core.n && !c->found; i++) {
        txn_id t = c->v->core.at[i];
        if (txn_status_of(h, t) == TXN_ABORTED) continue;
        bool bad_scan = false;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            bad_scan = bad_scan || (!(h->op_kind[o] & OP_FAILED) && op_kind_of(h, o) >= OP_SCAN &&
                                    recheck_malformed(h, &h->ranges.at[h->op_key[o]]));
        if (c->v->anomaly == ANOMALY_MALFORMED_RESULT)
            c->found = bad_scan;
        else
            recheck_visit(c, t, find_fault);
        if (c->found)
            return recheck_committed(c, t) ||
                   recheck_no(c, t, "nothing shows that the transaction committed");
    }
    return recheck_no(c, NO_ID, "no read of the named transactions shows the anomaly");
}

/* --- cycles ---------------------------------------------------------------------------------- */

/* to has an external read of key whose value from installs (of a list: its last element). */
static bool find_wr(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    if (k != c->key || recheck_internal(c, t, o, k, x)) return true;
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo), w = recheck_install(c, c->from, k);
    seq s = content(c->h, &x);
    if (c->is_list[k] && !recheck_sets(c, lo, hi) && !recheck_strip(c, lo, hi, &s)) return true;
    bool is_last = s.n && c->h->op_value[c->w_op[w]] == s.at[s.n - 1];
    c->found = (c->is_list[k] ? is_last : plain(c->h->op_value[c->w_op[w]]) == x) &&
               recheck_allowed(c, o, recheck_hint(c, o, k), x == VALUE_NULL, w);
    return !c->found;
}

/* from has an external read of key that can have seen a version other than the one of to. */
static bool find_rw(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    if (k != c->key || recheck_internal(c, t, o, k, x)) return true;
    uint32_t w = recheck_install(c, c->to, k);
    value_id y = plain(c->h->op_value[c->w_op[w]]);
    if (c->is_list[k])
        c->found = !contains(content(c->h, &x), y);
    else
        c->found =
            x != y || c->open[k] || c->init[k] == x || candidate(c, t, o, k, x, c->to) != NO_ID;
    return !c->found;
}

/* The commit of a, whose outcome is known, came before the begin of b.  (By how much, the drift
   that was asked for, the answer does not tell.) */
static bool real_time(const history *h, txn_id a, txn_id b)
{
    bool calls_a = h->txn_flags[a] & TXN_HAS_TIMES, calls_b = h->txn_flags[b] & TXN_HAS_TIMES;
    if (txn_status_of(h, a) != TXN_COMMITTED) return false;
    if (!calls_a && !(h->txn_flags[a] & TXN_HAS_END)) return false;
    if (!calls_b && !(h->txn_flags[b] & TXN_HAS_BEGIN)) return false;
    int64_t end = calls_a ? h->txn_times[4 * (size_t)a + 3] : h->txn_end[a];
    int64_t begin = calls_b ? h->txn_times[4 * (size_t)b] : h->txn_begin[b];
    return end < begin;
}

/* At generalized SI and its stronger forms commits are ordered by real time too, after commits and
   begins that returned before they were called. */
static bool real_commits(const checker *c, txn_id a, txn_id b)
{
    enum level_id level = c->v->level.id;
    int64_t from, to;
    if (level != LEVEL_GSI && level != LEVEL_PCSI && level != LEVEL_STRONG_SI) return false;
    if (!recheck_stamp(c->h, b, 2, &to)) return false;
    return (recheck_stamp(c->h, a, 3, &from) && from < to) ||
           (recheck_stamp(c->h, a, 1, &from) && from < to);
}

static bool writes_common_key(const checker *c, txn_id a, txn_id b)
{
    for (uint32_t w = c->w_first[a]; w < c->w_first[a + 1]; w++)
        if (recheck_install(c, b, c->w_key.at[w]) != NO_ID) return true;
    return false;
}

/* Two committed writers of a key, each of which had begun when the other's commit was called: where
   writers of a key do not overlap, and begins and commits stand in real time. */
static bool check_overlap(checker *c)
{
    enum level_id level = c->v->level.id;
    const txn_ids *core = &c->v->core;
    int64_t at[4];
    if (core->n == 1 && txn_status_of(c->h, core->at[0]) == TXN_COMMITTED &&
        recheck_stamp(c->h, core->at[0], 0, &at[0]) &&
        recheck_stamp(c->h, core->at[0], 3, &at[3]) && at[3] < at[0])
        return true; /* it ended before it began */
    if (level != LEVEL_GSI && level != LEVEL_PCSI && level != LEVEL_STRONG_SI)
        return recheck_no(c, NO_ID, "writers may overlap at the level");
    for (size_t i = 0; i < core->n; i++)
        for (size_t j = i + 1; j < core->n; j++) {
            txn_id a = core->at[i], b = core->at[j];
            if (txn_status_of(c->h, a) == TXN_COMMITTED &&
                txn_status_of(c->h, b) == TXN_COMMITTED && recheck_stamp(c->h, a, 1, &at[0]) &&
                recheck_stamp(c->h, a, 2, &at[1]) && recheck_stamp(c->h, b, 1, &at[2]) &&
                recheck_stamp(c->h, b, 2, &at[3]) && at[0] < at[3] && at[2] < at[1] &&
                writes_common_key(c, a, b))
                return true;
        }
    return recheck_no(c, NO_ID, "no two of the named transactions overlap and write one key");
}

static bool check_edge(checker *c, const cycle_link *e)
{
    const history *h = c->h;
    c->from = e->from;
    c->to = e->to;
    c->key = e->key;
    c->found = false;
    if (e->from >= h->txns || e->to >= h->txns || e->from == e->to)
        return recheck_no(c, NO_ID, "an edge of the cycle is none");
    if (txn_status_of(h, e->from) == TXN_ABORTED || txn_status_of(h, e->to) == TXN_ABORTED)
        return recheck_no(c, e->from, "an aborted transaction is on the cycle");
    if (!strcmp(e->edge, "so"))
        return (c->v->session_order && txn_status_of(h, e->from) == TXN_COMMITTED &&
                h->txn_session[e->from] == h->txn_session[e->to] && e->from < e->to) ||
               recheck_no(c, e->from, "session order does not order these two");
    if (!strcmp(e->edge, "rt"))
        return real_time(h, e->from, e->to) || real_commits(c, e->from, e->to) ||
               recheck_no(c, e->from, "real time does not order these two");
    if (e->key >= history_keys(h)) return recheck_no(c, e->from, "an edge without its key");
    bool from = recheck_install(c, e->from, e->key) != NO_ID,
         to = recheck_install(c, e->to, e->key) != NO_ID;
    if (!strcmp(e->edge, "ww")) {
        c->found = from && to;
    } else if (!strcmp(e->edge, "wr")) {
        if (from) recheck_visit(c, e->to, find_wr);
    } else if (!strcmp(e->edge, "rw")) {
        if (to) recheck_visit(c, e->from, find_rw);
    }
    return c->found ||
           recheck_no(c, e->from, "an edge of the cycle that the history does not show");
}

static bool is_fault(uint32_t anomaly)
{
    return anomaly == ANOMALY_ABORTED_READ || anomaly == ANOMALY_INTERMEDIATE_READ ||
           anomaly == ANOMALY_GARBAGE_READ || anomaly == ANOMALY_FUTURE_READ ||
           anomaly == ANOMALY_NOT_OWN_WRITE || anomaly == ANOMALY_MALFORMED_RESULT ||
           anomaly == ANOMALY_INCOMPATIBLE_ORDER || anomaly == ANOMALY_DUPLICATE_ELEMENTS;
}

/* Was it this level, asked for or implied, whose violation decided? */
static bool decided(const claim *v, enum level_id id)
{
    return v->through ? !strcmp(v->through, level_at(id)->name) : v->level.id == id;
}

static bool check_cycle(checker *c)
{
    const claim *v = c->v;
    size_t n = v->cycle.n, reads = 0, anti = 0;
    for (size_t i = 0; i < n; i++) {
        if (v->cycle.at[i].to != v->cycle.at[(i + 1) % n].from)
            return recheck_no(c, NO_ID, "the cycle is not closed");
        if (!check_edge(c, &v->cycle.at[i])) return false;
        reads += !strcmp(v->cycle.at[i].edge, "wr");
        anti += !strcmp(v->cycle.at[i].edge, "rw");
    }
    bool misnamed = is_fault(v->anomaly) || (v->anomaly == ANOMALY_DIRTY_WRITE && reads + anti) ||
                    (v->anomaly == ANOMALY_CIRCULAR_INFORMATION_FLOW && anti) ||
                    (decided(v, LEVEL_RU) && reads + anti) || (decided(v, LEVEL_RC) && anti);
    return !misnamed || recheck_no(c, NO_ID, "the cycle is not of the kind that the answer names");
}

bool recheck_violated(checker *c)
{
    const claim *v = c->v;
    static const char *const searched[] = {"reads are ambiguous", "every order of the writers"};
    for (size_t i = 0; i < v->core.n; i++)
        if (v->core.at[i] >= c->h->txns) return recheck_no(c, NO_ID, "the core names nobody");
    for (size_t i = 0; v->reason && i < sizeof searched / sizeof *searched; i++)
        if (!strncmp(v->reason, searched[i], strlen(searched[i]))) return true;
    recheck_load_writes(c);
    recheck_load_keys(c);
    recheck_index_values(c);
    if (v->trusted) return recheck_trusted(c);
    /* The contradiction is one of many clauses; its certificate is what proves it. */
    if (v->anomaly == ANOMALY_BROKEN_ASSUMPTION)
        return c->h->assumed || recheck_no(c, NO_ID, "no module assumed anything");
    if (v->cycle.n) return check_cycle(c);
    bool at_ru = v->anomaly == ANOMALY_GARBAGE_READ || v->anomaly == ANOMALY_MALFORMED_RESULT ||
                 v->anomaly == ANOMALY_INCOMPATIBLE_ORDER ||
                 v->anomaly == ANOMALY_DUPLICATE_ELEMENTS;
    if (v->anomaly == ANOMALY_FUZZY_READ || v->anomaly == ANOMALY_PHANTOM)
        return recheck_repeated(c);
    if (v->anomaly == ANOMALY_TIMESTAMP_INVERSION) return check_overlap(c);
    if (!is_fault(v->anomaly)) return recheck_no(c, NO_ID, "neither a fault nor a cycle");
    if (decided(v, LEVEL_RU) && !at_ru) return recheck_no(c, NO_ID, "the level allows the anomaly");
    return check_fault(c);
}
