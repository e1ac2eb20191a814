/*
 * Tests of src/lib/gen: sizes, determinism, what the simulated store promises on histories too
 * large for the oracle, errors.  That the ground truth is true: test/diff/gen_truth.
 */
#include "test.h"
#include "counter.h"

#include <stdlib.h>

#include "gen/gen.h"
#include "opt/anomaly.h"

typedef struct made {
    guard guard;
    mem mem;
    history *h;
    strbuf truth;
} made;

/* The code the generator failed with, or 0. */
static int make(made *m, const gen_options *o)
{
    memset(m, 0, sizeof *m);
    guard_init(&m->guard);
    mem_init(&m->mem, NULL, NULL, &m->guard);
    strbuf_init(&m->truth, &m->mem);
    if (guard_armed(&m->guard)) return m->guard.code;
    m->h = history_new(NULL, NULL, &m->guard, 0);
    gen_history(m->h, o, &m->truth);
    history_freeze(m->h);
    return 0;
}

static void drop(made *m)
{
    history_free(m->h);
    mem_free_all(&m->mem);
}

static bool same_history(const history *a, const history *b)
{
    return a->txns == b->txns && a->ops == b->ops && a->elements.n == b->elements.n &&
           !memcmp(a->op_kind, b->op_kind, a->ops) && !memcmp(a->op_key, b->op_key, a->ops * 4) &&
           !memcmp(a->op_value, b->op_value, a->ops * 4) &&
           !memcmp(a->txn_op, b->txn_op, (a->txns + 1) * 4) &&
           !memcmp(a->txn_session, b->txn_session, a->txns * 4) &&
           !memcmp(a->txn_flags, b->txn_flags, a->txns) &&
           !memcmp(a->txn_begin, b->txn_begin, a->txns * 8) &&
           !memcmp(a->txn_end, b->txn_end, a->txns * 8);
}

TEST(seed_decides_all)
{
    gen_anomaly plants[] = {{ANOMALY_LOST_UPDATE, 2}, {ANOMALY_LONG_FORK, 3}};
    for (size_t w = 0; gen_workload_at(w, NULL); w++)
        for (size_t i = 0; gen_isolation_at(i, NULL); i++) {
            gen_options o = {.workload = gen_workload_at(w, NULL),
                             .isolation = gen_isolation_at(i, NULL),
                             .txns = 300,
                             .seed = 5,
                             .aborted = 0.1,
                             .unknown = 0.1,
                             .anomalies = plants,
                             .n_anomalies = 2};
            made a, b, c;
            EXPECT_EQ_INT(make(&a, &o), 0);
            EXPECT_EQ_INT(make(&b, &o), 0);
            o.seed = 6;
            EXPECT_EQ_INT(make(&c, &o), 0);
            EXPECT(same_history(a.h, b.h));
            EXPECT(a.truth.n == b.truth.n && !memcmp(a.truth.at, b.truth.at, a.truth.n));
            EXPECT(!same_history(a.h, c.h));
            EXPECT_EQ_UINT(a.h->txns, 300);
            EXPECT_STR(history_check(a.h), NULL);
            drop(&a);
            drop(&b);
            drop(&c);
        }
}

/* Histories of one release must come out of the next: a change here is a break, say it in NEWS. */
TEST(first_transactions_stay)
{
    gen_options o = {.txns = 100, .seed = 1};
    made m;
    REQUIRE(make(&m, &o) == 0);
    uint64_t sum = 0;
    for (size_t i = 0; i < m.h->ops; i++)
        sum = sum * 31 + m.h->op_kind[i] + 3u * m.h->op_key[i] + 7u * m.h->op_value[i];
    for (size_t t = 0; t < m.h->txns; t++)
        sum = sum * 31 + (uint64_t)m.h->txn_begin[t] + 3u * (uint64_t)m.h->txn_end[t];
    EXPECT_EQ_UINT(sum, UINT64_C(14325045219957862211));
    drop(&m);
}

TEST(published_sizes)
{
    gen_options o = {.seed = 2};
    made m;
    REQUIRE(make(&m, &o) == 0); /* blindw-rw, serializable */
    EXPECT_EQ_UINT(m.h->txns, 10000);
    EXPECT_EQ_UINT(m.h->ops, 80000);
    EXPECT_EQ_UINT(m.h->sessions.n, 24);
    EXPECT(history_keys(m.h) > 9900 && history_keys(m.h) <= 10000);
    size_t read_only = 0;
    for (txn_id t = 0; t < m.h->txns; t++) {
        EXPECT_EQ_UINT(m.h->txn_label[t], t + 1);
        size_t reads = 0;
        for (op_id i = m.h->txn_op[t]; i < m.h->txn_op[t + 1]; i++)
            reads += op_kind_of(m.h, i) == OP_READ;
        EXPECT(reads == 0 || reads == 8);
        read_only += reads == 8;
    }
    EXPECT(read_only > 4700 && read_only < 5300);
    drop(&m);

    o.workload = "blindw-rm";
    REQUIRE(make(&m, &o) == 0);
    read_only = 0;
    for (txn_id t = 0; t < m.h->txns; t++) read_only += op_kind_of(m.h, m.h->txn_op[t]) == OP_READ;
    EXPECT(read_only > 8800 && read_only < 9200);
    drop(&m);

    o.workload = "ycsb";
    REQUIRE(make(&m, &o) == 0);
    EXPECT_EQ_UINT(m.h->txns, 2000);
    EXPECT_EQ_UINT(m.h->ops, 40000);
    EXPECT_EQ_UINT(m.h->sessions.n, 20);
    drop(&m);
}

static int by_key_value(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return *a < *b ? -1 : *a > *b;
}

/* How many writes repeat a value of their key. */
static size_t repeated(const history *h)
{
    uint64_t *all = calloc(h->ops + 1, sizeof *all);
    size_t n = 0, again = 0;
    for (op_id i = 0; i < h->ops; i++)
        if (op_kind_of(h, i) == OP_WRITE || op_kind_of(h, i) == OP_APPEND)
            all[n++] = (uint64_t)h->op_key[i] << 32 | h->op_value[i];
    qsort(all, n, sizeof *all, by_key_value);
    for (size_t i = 1; i < n; i++) again += all[i] == all[i - 1];
    free(all);
    return again;
}

/* Workloads whose values repeat; with duplicates=0 all but the last four do not. */
static const char *const repeating[] = {"ycsb",         "twitter",      "rubis",
                                        "random-bench", "random-range", "bank",
                                        "counter",      "increments",   "fs-metadata"};

static size_t repeats(const char *name)
{
    size_t i = 0, n = sizeof repeating / sizeof *repeating;
    while (i < n && strncmp(name, repeating[i], strlen(repeating[i]))) i++;
    return i;
}

TEST(values_repeat_where_they_should)
{
    for (size_t w = 0; gen_workload_at(w, NULL); w++) {
        gen_options o = {.workload = gen_workload_at(w, NULL), .txns = 3000, .aborted = 0.1};
        made m;
        REQUIRE(make(&m, &o) == 0);
        if (repeats(o.workload) < 8)
            EXPECT(repeated(m.h) > 0);
        else if (repeats(o.workload) > 8) /* a file may be renamed back, or not */
            EXPECT_EQ_UINT(repeated(m.h), 0);
        drop(&m);
        if (repeats(o.workload) >= 5) continue;
        knob_give(&o.knobs, KNOB_DUPLICATES, 0);
        REQUIRE(make(&m, &o) == 0);
        EXPECT_EQ_UINT(repeated(m.h), 0);
        drop(&m);
    }
}

/* --- replay: snapshot levels on large histories ------------------------------------------- */

typedef struct installed {
    int64_t end;
    value_id value;
    uint32_t older; /* index + 1 */
} installed;

typedef struct replayer {
    const history *h;
    bool serializable;
    uint32_t *newest; /* of each key: index + 1 */
    installed *all;
    size_t n, wrong, concurrent;
} replayer;

static bool is_write(const history *h, op_id i)
{
    return op_kind_of(h, i) == OP_WRITE || op_kind_of(h, i) == OP_DELETE;
}

static bool changed_since(replayer *r, key_id key, txn_id t)
{
    uint32_t v = r->newest[key];
    bool changed = v && r->all[v - 1].end > r->h->txn_begin[t];
    r->concurrent += changed;
    return changed;
}

/* Operation i of t found this value at the key, or VALUE_NULL. */
static void replay_read(replayer *r, txn_id t, op_id i, key_id key, value_id found, bool writes)
{
    const history *h = r->h;
    for (op_id j = i; j-- > h->txn_op[t];) {
        if (!is_write(h, j) || h->op_key[j] != key) continue;
        r->wrong += h->op_value[j] != found;
        return;
    }
    r->wrong += changed_since(r, key, t) && r->serializable && writes;
    uint32_t v = r->newest[key];
    while (v && r->all[v - 1].end > h->txn_begin[t]) v = r->all[v - 1].older;
    r->wrong += found != (v ? r->all[v - 1].value : h->key_init[key]);
}

/* Every key of the range that was looked at: its row, or that there is none. */
static void replay_range(replayer *r, txn_id t, op_id i, bool writes)
{
    const history *h = r->h;
    const range *g = &h->ranges.at[h->op_key[i]];
    uint32_t lo, hi, row = g->first_row, end = g->first_row + g->rows;
    range_ranks(h, g, &lo, &hi);
    for (uint32_t k = lo; k < hi && (g->done || row < end); k++) {
        key_id key = h->key_sorted[k];
        bool there = row < end && h->row_key.at[row] == key;
        replay_read(r, t, i, key, there ? h->row_value.at[row] : VALUE_NULL, writes);
        row += there;
    }
    r->wrong += row != end;
}

/* With times recorded, snapshot isolation and serializable are decided by replay: an external
   read returns the newest version that ended before the reader began; nobody who writes under
   snapshot isolation overwrites, and nobody who writes under serializable has read, what has
   changed since. */
static size_t replay(const char *workload, const char *isolation, bool serializable)
{
    gen_options o = {.workload = workload,
                     .isolation = isolation,
                     .txns = 8000,
                     .sessions = 40,
                     .keys = 300,
                     .seed = 11,
                     .aborted = 0.05};
    made m;
    if (make(&m, &o) != 0) return 0;
    const history *h = m.h;
    replayer r = {.h = h,
                  .serializable = serializable,
                  .newest = calloc(history_keys(h), sizeof *r.newest),
                  .all = calloc(h->ops + 1, sizeof *r.all)};
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) != TXN_COMMITTED) continue;
        op_id first = h->txn_op[t], end = h->txn_op[t + 1];
        bool writes = false;
        for (op_id i = first; i < end; i++) writes |= is_write(h, i);
        for (op_id i = first; i < end; i++) {
            if (is_write(h, i))
                r.wrong += changed_since(&r, h->op_key[i], t) && !serializable;
            else if (op_kind_of(h, i) == OP_READ)
                replay_read(&r, t, i, h->op_key[i], h->op_value[i], writes);
            else
                replay_range(&r, t, i, writes);
        }
        for (op_id i = first; i < end; i++) {
            if (!is_write(h, i)) continue;
            uint32_t *slot = &r.newest[h->op_key[i]];
            if (*slot && r.all[*slot - 1].end == h->txn_end[t]) {
                r.all[*slot - 1].value = h->op_value[i]; /* the last write is the installed one */
                continue;
            }
            r.all[r.n++] = (installed){h->txn_end[t], h->op_value[i], *slot};
            *slot = (uint32_t)r.n;
        }
    }
    EXPECT_EQ_UINT(r.wrong, 0);
    free(r.newest);
    free(r.all);
    drop(&m);
    return r.concurrent;
}

static void replay_all(const char *isolation, bool serializable)
{
    size_t busy = 0, works = 0;
    for (size_t w = 0; gen_workload_at(w, NULL); w++) {
        if (!strcmp(gen_workload_at(w, NULL), "list-append")) continue;
        busy += replay(gen_workload_at(w, NULL), isolation, serializable) > 100;
        works++;
    }
    EXPECT(busy + 5 > works); /* a workload without conflicts shows nothing */
}

TEST(snapshots_by_replay)
{
    replay_all("snapshot-isolation", false);
}

TEST(serializable_by_replay)
{
    replay_all("serializable", true);
}

/* Reads of all accounts add up to one total wherever snapshots are whole, and do not at levels
   that lose updates. */
static size_t wrong_totals(const char *isolation)
{
    gen_options o = {.workload = "bank", .isolation = isolation, .txns = 5000, .seed = 3};
    made m;
    if (make(&m, &o) != 0) return SIZE_MAX;
    size_t wrong = 0;
    for (txn_id t = 0; t < m.h->txns; t++) {
        uint64_t sum = 0;
        op_id first = m.h->txn_op[t], end = m.h->txn_op[t + 1];
        if (end - first != 8) continue;
        for (op_id i = first; i < end; i++) sum += m.h->op_value[i];
        wrong += sum != 800;
    }
    drop(&m);
    return wrong;
}

TEST(bank_total)
{
    EXPECT_EQ_UINT(wrong_totals("serializable"), 0);
    EXPECT_EQ_UINT(wrong_totals("snapshot-isolation"), 0);
    EXPECT(wrong_totals("read-committed") > 100);
    EXPECT(wrong_totals("read-atomic") > 100);
    EXPECT(wrong_totals("causal") > 100);
}

TEST(lists_stay_short)
{
    gen_options o = {.workload = "list-append", .txns = 20000};
    knob_give(&o.knobs, KNOB_WRITES_PER_KEY, 20);
    made m;
    REQUIRE(make(&m, &o) == 0);
    uint32_t longest = 0;
    for (op_id i = 0; i < m.h->ops; i++) {
        if (op_kind_of(m.h, i) != OP_READ) continue;
        atom a = value_atom(m.h, m.h->op_value[i]);
        if (a.len > longest) longest = a.len;
    }
    EXPECT(longest > 10 && longest <= 20);
    drop(&m);
}

/* Zero is a number like any other. */
TEST(knobs_do_what_they_say)
{
    gen_options o = {.txns = 2000};
    made m;
    size_t n[2] = {0}, first = 0;
    knob_give(&o.knobs, KNOB_READS, 0);
    knob_give(&o.knobs, KNOB_HOT, 0.5);
    knob_give(&o.knobs, KNOB_VALUES, 10);
    REQUIRE(make(&m, &o) == 0);
    key_id hot = 0;
    while (key_atom(m.h, hot).as.i) hot++;
    for (op_id i = 0; i < m.h->ops; i++) {
        n[op_kind_of(m.h, i) == OP_READ]++;
        first += m.h->op_key[i] == hot;
        EXPECT(m.h->op_value[i] >= 1 && m.h->op_value[i] <= 10);
    }
    EXPECT_EQ_UINT(n[true], 0);
    EXPECT(first > n[false] * 45 / 100 && first < n[false] * 55 / 100);
    drop(&m);

    o = (gen_options){.workload = "ycsb-wh", .txns = 2000};
    knob_give(&o.knobs, KNOB_READS, 1);
    REQUIRE(make(&m, &o) == 0);
    for (op_id i = 0; i < m.h->ops; i++) EXPECT(op_kind_of(m.h, i) == OP_READ);
    drop(&m);

    o = (gen_options){.workload = "tpcc", .txns = 200};
    REQUIRE(make(&m, &o) == 0);
    EXPECT(key_atom(m.h, 0).kind == ATOM_STR);
    drop(&m);
    knob_give(&o.knobs, KNOB_NAMES, 0);
    REQUIRE(make(&m, &o) == 0);
    EXPECT(key_atom(m.h, 0).kind == ATOM_INT);
    drop(&m);
}

TEST(clocks_drift_within_bounds)
{
    gen_options o = {.txns = 20000, .sessions = 6};
    made m;
    REQUIRE(make(&m, &o) == 0);
    knob_give(&o.knobs, KNOB_DRIFT, 30);
    made d;
    REQUIRE(make(&d, &o) == 0);
    int64_t least = 0, most = 0,
            last[6] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    for (txn_id t = 0; t < d.h->txns; t++) {
        int64_t off = d.h->txn_end[t] - m.h->txn_end[t];
        if (off < least) least = off;
        if (off > most) most = off;
        uint32_t s = d.h->txn_session[t];
        EXPECT(d.h->txn_begin[t] >= last[s] && d.h->txn_end[t] >= d.h->txn_begin[t]);
        last[s] = d.h->txn_end[t];
    }
    EXPECT(least >= -15 && most <= 15 && least < -5 && most > 5);
    drop(&m);
    drop(&d);
}

TEST(outcomes_at_their_rates)
{
    gen_options o = {.txns = 10000, .aborted = 0.2, .unknown = 0.1};
    made m;
    REQUIRE(make(&m, &o) == 0);
    size_t n[3] = {0};
    for (txn_id t = 0; t < m.h->txns; t++) n[txn_status_of(m.h, t)]++;
    EXPECT(n[TXN_ABORTED] > 1800 && n[TXN_ABORTED] < 2200);
    EXPECT(n[TXN_UNKNOWN] > 900 && n[TXN_UNKNOWN] < 1100);
    drop(&m);
}

TEST(times_can_be_left_out)
{
    gen_options o = {.txns = 100, .no_times = true};
    made m;
    REQUIRE(make(&m, &o) == 0);
    EXPECT(m.h->txn_begin == NULL && m.h->txn_end == NULL);
    drop(&m);
}

TEST(odd_sizes)
{
    for (size_t w = 0; gen_workload_at(w, NULL); w++)
        for (size_t i = 0; gen_isolation_at(i, NULL); i++) {
            gen_options o = {.workload = gen_workload_at(w, NULL),
                             .isolation = gen_isolation_at(i, NULL),
                             .txns = 50,
                             .sessions = 1,
                             .keys = 1,
                             .ops = 1};
            for (unsigned k = KNOB_WRITES_PER_KEY; k < KNOBS; k++)
                if (k < KNOB_SAVEPOINTS || k > KNOB_REVERSE) /* those between are for run */
                    knob_give(&o.knobs, (enum gen_knob)k, 1);
            made m;
            EXPECT_EQ_INT(make(&m, &o), 0);
            EXPECT_EQ_UINT(m.h->txns, 50);
            drop(&m);
            o = (gen_options){.workload = gen_workload_at(w, NULL),
                              .isolation = gen_isolation_at(i, NULL),
                              .txns = 400,
                              .sessions = 500,
                              .keys = 5,
                              .ops = 100};
            knob_give(&o.knobs, KNOB_REPLICAS, 20);
            knob_give(&o.knobs, KNOB_CHOICE, GEN_ZIPF);
            knob_give(&o.knobs, KNOB_THETA, 2);
            EXPECT_EQ_INT(make(&m, &o), 0);
            EXPECT_EQ_UINT(m.h->txns, 400);
            drop(&m);
        }
}

static int code_of(gen_options o)
{
    made m;
    int code = make(&m, &o);
    EXPECT(code == 0 || m.guard.text[0] != 0);
    drop(&m);
    return code;
}

static int knob_code(const char *text)
{
    guard g;
    knob_set k = {0};
    guard_init(&g);
    if (guard_armed(&g)) return g.code;
    knob_parse(&k, &g, text);
    return 0;
}

TEST(what_cannot_be_made_is_said)
{
    EXPECT_EQ_INT(code_of((gen_options){.workload = "tpcx"}), GUARD_INVAL);
    EXPECT_EQ_INT(code_of((gen_options){.isolation = "chaos"}), GUARD_INVAL);
    EXPECT_EQ_INT(code_of((gen_options){.aborted = 0.8, .unknown = 0.8}), GUARD_INVAL);
    EXPECT_EQ_INT(code_of((gen_options){.aborted = -1}), GUARD_INVAL);
    static const char *const bad[] = {"theta=-1",  "theta=65", "theta=",     "reads=1.5",
                                      "reads=nan", "reads",    "choice=big", "balance=-1",
                                      "lag=1x",    "nope=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT_EQ_INT(knob_code(bad[i]), GUARD_INVAL);
    EXPECT_EQ_INT(knob_code("theta=1.5"), 0);
    EXPECT_EQ_INT(knob_code("choice=zipf"), 0);
    EXPECT_EQ_INT(code_of((gen_options){.sessions = UINT64_MAX}), GUARD_INVAL);
    EXPECT_EQ_INT(code_of((gen_options){.txns = UINT64_MAX}), GUARD_INVAL);
    EXPECT_EQ_INT(code_of((gen_options){.isolation = "si", .txns = 10}), 0);

    gen_anomaly a = {ANOMALY_PHANTOM, 1};
    gen_options o = {.txns = 10, .anomalies = &a, .n_anomalies = 1};
    EXPECT_EQ_INT(code_of(o), GUARD_UNSUPPORTED);
    a.kind = ANOMALY_DIRTY_WRITE; /* lists only */
    EXPECT_EQ_INT(code_of(o), GUARD_UNSUPPORTED);
    o.workload = "list-append";
    EXPECT_EQ_INT(code_of(o), 0);
    a.kind = ANOMALY_LONG_FORK;
    o.sessions = 3; /* it needs four */
    EXPECT_EQ_INT(code_of(o), GUARD_INVAL);
    a.kind = ANOMALY_STALE_READ;
    EXPECT_EQ_INT(code_of(o), 0);
    o.no_times = true;
    EXPECT_EQ_INT(code_of(o), GUARD_INVAL);
}

TEST(anomaly_names)
{
    EXPECT_EQ_INT(gen_anomaly_named("lost-update"), ANOMALY_LOST_UPDATE);
    EXPECT_EQ_INT(gen_anomaly_named("P4"), ANOMALY_LOST_UPDATE);
    EXPECT_EQ_INT(gen_anomaly_named("G1a"), ANOMALY_ABORTED_READ);
    EXPECT_EQ_INT(gen_anomaly_named("g2"), ANOMALY_G2);
    EXPECT_EQ_INT(gen_anomaly_named("G2"), ANOMALY_PREDICATE_WRITE_SKEW);
    EXPECT_EQ_INT(gen_anomaly_named(""), -1);
    EXPECT_EQ_INT(gen_anomaly_named("G"), -1);
    size_t n = 0;
    while (gen_anomaly_at(n, NULL)) n++;
    EXPECT(n >= 25);
}

/* The truth names the planted transactions: here those that touch the plant's key. */
TEST(truth_names_the_planted)
{
    gen_anomaly a = {ANOMALY_LOST_UPDATE, 1};
    gen_options o = {.txns = 500, .keys = 50, .seed = 9, .anomalies = &a, .n_anomalies = 1};
    made m;
    REQUIRE(make(&m, &o) == 0);
    char ids[100] = "\"txns\":[";
    for (txn_id t = 0; t < m.h->txns; t++) {
        atom k = key_atom(m.h, m.h->op_key[m.h->txn_op[t]]);
        if (k.as.u < 50) continue;
        size_t n = strlen(ids);
        snprintf(ids + n, sizeof ids - n, "%s\"%u\"", ids[n - 1] == '[' ? "" : ",", t + 1);
    }
    EXPECT(strstr(strbuf_cstr(&m.truth), ids) != NULL);
    EXPECT(strstr(strbuf_cstr(&m.truth), "\"weakest\":[\"cursor-stability\"") != NULL);
    EXPECT(strstr(strbuf_cstr(&m.truth), "\"holds\":[\"") != NULL);
    drop(&m);
}

/* True if it was made; otherwise no memory is left behind. */
static bool made_with(long allocations)
{
    gen_anomaly a = {ANOMALY_WRITE_SKEW, 1};
    gen_options o = {.workload = "list-append",
                     .isolation = "causal",
                     .txns = 60,
                     .anomalies = &a,
                     .n_anomalies = 1};
    counter c = {0, allocations};
    guard g;
    guard_init(&g);
    history *volatile h = NULL;
    volatile bool done = false;
    if (!guard_armed(&g)) {
        h = history_new(count_fn, &c, &g, 0);
        strbuf truth;
        strbuf_init(&truth, &h->mem);
        gen_history(h, &o, &truth);
        done = true;
    } else {
        EXPECT_EQ_INT(g.code, GUARD_NOMEM);
    }
    history_free(h);
    EXPECT_EQ_UINT(c.live, 0);
    return done;
}

TEST(every_allocation_may_fail)
{
    long n = 0;
    while (!made_with(n) && n < 100000) n++;
    EXPECT(n > 20 && n < 100000);
}

TEST_MAIN
