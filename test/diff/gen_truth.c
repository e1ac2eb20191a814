/*
 * gen_truth.c - is the ground truth of the generator true?
 *
 * Tiny histories are generated, printed as native JSON lines and given to the brute-force oracle,
 * which shares no code with the generator: what the truth says to hold must hold, what it says to
 * be violated must be violated, with and without plants, for every isolation mode and workload.
 * Seeds are printed with each failure: `gen_truth NAME` runs one test again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/gen.h"
#include "gen/plant.h"
#include "gen/truth.h"
#include "gen/workload.h"
#include "oracle.h"
#include "test.h"

static const char *const level_names[] = {
#define TRUTH(id, name, implies) name,
#include "gen/truth.def"
#undef TRUTH
};

static const truth_set kept[] = {
#define ISOLATION(id, name, others, view, refuse, keeps, about) keeps,
#include "gen/isolations.def"
#undef ISOLATION
};

#define MODES (sizeof kept / sizeof *kept)

/* --- a history and its oracle -------------------------------------------------------------- */

static void print_range(const history *h, op_id i, strbuf *b)
{
    const range *g = &h->ranges.at[h->op_key[i]];
    bool scan = op_kind_of(h, i) == OP_SCAN;
    strbuf_str(b, scan ? "[\"scan\"," : "[\"iter\",");
    atom_json(h, h->bounds.atoms.at[g->from], b);
    strbuf_char(b, ',');
    atom_json(h, h->bounds.atoms.at[g->to], b);
    strbuf_str(b, ",[");
    for (uint32_t k = 0; k < g->rows; k++) {
        strbuf_str(b, k ? ",[" : "[");
        atom_json(h, key_atom(h, h->row_key.at[g->first_row + k]), b);
        strbuf_char(b, ',');
        atom_json(h, value_atom(h, h->row_value.at[g->first_row + k]), b);
        strbuf_char(b, ']');
    }
    strbuf_str(b, scan ? "]]" : g->done ? "],true]" : "],false]");
}

static void print_op(const history *h, op_id i, strbuf *b)
{
    static const char *const kinds[] = {"r", "w", "d", "append"};
    if (op_kind_of(h, i) >= OP_SCAN) {
        print_range(h, i, b);
        return;
    }
    strbuf_printf(b, "[\"%s\",", kinds[op_kind_of(h, i)]);
    atom_json(h, key_atom(h, h->op_key[i]), b);
    if (op_kind_of(h, i) != OP_DELETE) {
        strbuf_char(b, ',');
        atom_json(h, value_atom(h, h->op_value[i]), b);
    }
    strbuf_str(b, h->op_kind[i] & OP_LOCK ? ",{\"lock\":true}]" : "]");
}

static void print_history(const history *h, strbuf *b)
{
    static const char *const statuses[] = {"committed", "aborted", "unknown"};
    strbuf_str(b, "{\"ratel\":1,\"init\":");
    atom_json(h, value_atom(h, h->init == INIT_SCALAR ? h->init_scalar : VALUE_NULL), b);
    strbuf_str(b, "}\n");
    for (txn_id t = 0; t < h->txns; t++) {
        strbuf_str(b, "{\"session\":");
        atom_json(h, label_atom(h, h->sessions.at[h->txn_session[t]]), b);
        strbuf_str(b, ",\"id\":");
        atom_json(h, label_atom(h, h->txn_label[t]), b);
        strbuf_printf(b, ",\"status\":\"%s\"", statuses[txn_status_of(h, t)]);
        if (h->txn_flags[t] & TXN_HAS_BEGIN)
            strbuf_printf(b, ",\"begin\":%" PRId64, h->txn_begin[t]);
        if (h->txn_flags[t] & TXN_HAS_END) strbuf_printf(b, ",\"end\":%" PRId64, h->txn_end[t]);
        strbuf_str(b, ",\"ops\":[");
        for (op_id i = h->txn_op[t]; i < h->txn_op[t + 1]; i++) {
            if (i > h->txn_op[t]) strbuf_char(b, ',');
            print_op(h, i, b);
        }
        strbuf_str(b, "]}\n");
    }
}

typedef struct sample {
    guard guard;
    mem mem;
    history *history;
    strbuf text, truth;
    oracle *oracle;
    long long drift; /* what checkers are told */
} sample;

static void sample_free(sample *s)
{
    if (s->oracle) oracle_free(s->oracle);
    history_free(s->history);
    mem_free_all(&s->mem);
}

/* False: the generator failed (its message is in the guard). */
static bool sample_make(sample *s, const gen_options *o)
{
    memset(s, 0, sizeof *s);
    guard_init(&s->guard);
    mem_init(&s->mem, NULL, NULL, &s->guard);
    strbuf_init(&s->text, &s->mem);
    strbuf_init(&s->truth, &s->mem);
    if (guard_armed(&s->guard)) return false;
    s->history = history_new(NULL, NULL, &s->guard, 0);
    gen_history(s->history, o, &s->truth);
    history_freeze(s->history);
    if (history_check(s->history)) guard_fail(&s->guard, GUARD_BUG, "history_check");
    print_history(s->history, &s->text);
    char err[256] = "";
    s->oracle = oracle_parse(s->text.at, s->text.n, err, sizeof err);
    if (!s->oracle) guard_fail(&s->guard, GUARD_BUG, "oracle: %s", err);
    return true;
}

static int ask(sample *s, int level)
{
    oracle_question q = {
        .level = level_names[level], .session_order = 1, .ryow = ORACLE_MUST, .drift = s->drift};
    return oracle_check(s->oracle, &q);
}

static void complain(const sample *s, const gen_options *o, int level, int verdict)
{
    test_fail(__FILE__, __LINE__, "%s %s seed %llu: oracle says %s of %s\n%s%.*s", o->workload,
              o->isolation, (unsigned long long)o->seed, oracle_verdict_name(verdict),
              level_names[level], strbuf_cstr((strbuf *)(uintptr_t)&s->truth), (int)s->text.n,
              s->text.at);
}

static long asked, too_big;

/* All levels of `holds` hold and all of `violated` do not. */
static void judge(sample *s, const gen_options *o, truth_set holds, truth_set violated)
{
    for (int l = 0; l < TRUTHS && test_all.failures < 5; l++) {
        truth_set bit = (truth_set)1 << l;
        if (!((holds | violated) & bit)) continue;
        int verdict = ask(s, l);
        asked++;
        if (verdict == ORACLE_NOTHING) continue; /* all transactions aborted */
        if (verdict == ORACLE_TOO_BIG)
            too_big++;
        else if (verdict != (holds & bit ? ORACLE_HOLDS : ORACLE_VIOLATED))
            complain(s, o, l, verdict);
    }
}

/* --- the modes ----------------------------------------------------------------------------- */

/* Small enough to be decided, so full of conflicts that every mistake of the store shows. */
static gen_options contended(size_t work, size_t isolation, uint64_t seed)
{
    uint64_t s = seed % 8;
    gen_options o = {
        .workload = gen_workload_at(work, NULL),
        .isolation = gen_isolation_at(isolation, NULL),
        .seed = seed,
        .txns = 3 + seed % 4,
        .sessions = 2 + seed % 3 / 2,
        .keys = 2 + (s & 1),
        .ops = 3 + (s >> 1 & 1),
        .no_times = seed % 16 == 0,
        .aborted = seed % 5 == 0 ? 0.2 : 0,
        .unknown = seed % 7 == 0 ? 0.2 : 0,
    };
    knob_give(&o.knobs, KNOB_LAG, (double)(3 + seed % 7));
    knob_give(&o.knobs, KNOB_REPLICAS, 2);
    knob_give(&o.knobs, KNOB_VALUES, 2);
    knob_give(&o.knobs, KNOB_DUPLICATES, seed % 3 ? 0 : 0.5);
    knob_give(&o.knobs, KNOB_CHOICE, GEN_UNIFORM);
    knob_give(&o.knobs, KNOB_WRITES_PER_KEY, 12);
    knob_give(&o.knobs, KNOB_DISTRICTS, 1);
    knob_give(&o.knobs, KNOB_CUSTOMERS, 2);
    knob_give(&o.knobs, KNOB_ORDERS, 1);
    knob_give(&o.knobs, KNOB_ITEMS, 2);
    knob_give(&o.knobs, KNOB_SPAN, 3);
    if (!strncmp(o.workload, "blindw", 6)) knob_give(&o.knobs, KNOB_READS, 0.5);
    if (!strcmp(o.workload, "tpcc")) o.ops = 1;
    if (strstr(o.workload, "range") || !strcmp(o.workload, "random-bench")) o.ops = 2 + seed % 2;
    if (!strcmp(o.workload, "bank")) knob_give(&o.knobs, KNOB_BALANCE, 100);
    return o;
}

static void modes_hold(size_t isolation, uint64_t seeds)
{
    truth_set keeps = truth_strongest(truth_down(kept[isolation]));
    for (size_t w = 0; gen_workload_at(w, NULL); w++)
        for (uint64_t seed = 1; seed <= seeds && !test_all.failures; seed++) {
            gen_options o = contended(w, isolation, seed);
            sample s;
            if (sample_make(&s, &o))
                judge(&s, &o, keeps, 0);
            else
                test_fail(__FILE__, __LINE__, "%s", s.guard.text);
            sample_free(&s);
        }
}

/* A mode that were stronger than its name would hide what checkers must find. */
static void mode_is_weak(size_t isolation, int level, const char *work)
{
    int violated = 0, n = 500;
    for (int seed = 1; seed <= n; seed++) {
        gen_options o = contended(WORKLOAD_RW_REGISTER, isolation, (uint64_t)seed);
        o.workload = work;
        o.no_times = false;
        o.txns = 8;
        o.sessions = 4;
        sample s;
        if (sample_make(&s, &o)) violated += ask(&s, level) == ORACLE_VIOLATED;
        sample_free(&s);
    }
    printf("# %s: %d of %d violate %s\n", gen_isolation_at(isolation, NULL), violated, n,
           level_names[level]);
    EXPECT(violated >= 3);
}

#define MODE(id, test)                                                                             \
    TEST(test)                                                                                     \
    {                                                                                              \
        modes_hold(STORE_##id, 250);                                                               \
    }
MODE(SERIALIZABLE, serializable_holds)
MODE(SNAPSHOT, snapshot_isolation_holds)
MODE(READ_COMMITTED, read_committed_holds)
MODE(READ_ATOMIC, read_atomic_holds)
MODE(CAUSAL, causal_holds)
MODE(PARALLEL_SI, parallel_snapshot_isolation_holds)
MODE(PREFIX, prefix_holds)
MODE(REPEATABLE_READ, repeatable_read_holds)
MODE(NO_LOST_UPDATE, no_lost_update_holds)
MODE(STALE_SERIALIZABLE, stale_serializable_holds)
MODE(STALE_SNAPSHOT, prefix_consistent_snapshot_isolation_holds)
MODE(GENERALIZED_SI, generalized_snapshot_isolation_holds)
MODE(INNODB, innodb_repeatable_read_holds)

TEST(modes_are_no_stronger)
{
    static const struct {
        enum store_mode mode;
        int level;
        const char *workload;
    } weak[] = {
        {STORE_SNAPSHOT, TRUTH_INDEX_SER, "rw-register"},
        {STORE_INNODB, TRUTH_INDEX_CS, "rw-register"},
        {STORE_INNODB, TRUTH_INDEX_MAV, "rw-register"},
        {STORE_READ_COMMITTED, TRUTH_INDEX_RA, "rw-register"},
        {STORE_READ_ATOMIC, TRUTH_INDEX_CC, "rw-register"},
        {STORE_CAUSAL, TRUTH_INDEX_PC, "rw-register"},
        {STORE_CAUSAL, TRUTH_INDEX_UA, "rw-register"},
        {STORE_PARALLEL_SI, TRUTH_INDEX_PC, "long-fork"},
        {STORE_PREFIX, TRUTH_INDEX_NLU, "lost-update"},
        {STORE_REPEATABLE_READ, TRUTH_INDEX_SER, "random-range"},
        {STORE_NO_LOST_UPDATE, TRUTH_INDEX_UA, "rw-register"},
        {STORE_STALE_SERIALIZABLE, TRUTH_INDEX_SSER, "rw-register"},
        {STORE_STALE_SNAPSHOT, TRUTH_INDEX_STRONG_SI, "rw-register"},
        {STORE_STALE_SNAPSHOT, TRUTH_INDEX_SER, "rw-register"},
        {STORE_GENERALIZED_SI, TRUTH_INDEX_RA, "rw-register"},
    };
    for (size_t i = 0; i < sizeof weak / sizeof *weak; i++)
        mode_is_weak(weak[i].mode, weak[i].level, weak[i].workload);
}

/* Clocks that differ: nothing that looks at them is promised, unless checkers are told. */
TEST(drift_is_told)
{
    int wrong = 0;
    for (uint64_t seed = 1; seed <= 600 && !test_all.failures; seed++) {
        gen_options o =
            contended(seed % WORKLOADS, seed % 2 ? STORE_SERIALIZABLE : STORE_SNAPSHOT, seed);
        o.no_times = false;
        o.txns = 6;
        knob_give(&o.knobs, KNOB_DRIFT, 12);
        truth_set keeps = truth_down(kept[seed % 2 ? STORE_SERIALIZABLE : STORE_SNAPSHOT]);
        sample s;
        if (sample_make(&s, &o)) {
            judge(&s, &o, truth_strongest(keeps & ~TRUTH_TIMED), 0);
            wrong +=
                ask(&s, seed % 2 ? TRUTH_INDEX_SSER : TRUTH_INDEX_STRONG_SI) == ORACLE_VIOLATED;
            s.drift = 12;
            judge(&s, &o, truth_strongest(keeps), 0);
        } else {
            test_fail(__FILE__, __LINE__, "%s", s.guard.text);
        }
        sample_free(&s);
    }
    printf("# %d of 600 violate real time by drift\n", wrong);
    EXPECT(wrong > 10);
}

/* --- plants -------------------------------------------------------------------------------- */

enum shape { REGISTERS, LISTS, RANGES };
static const char *const shape_work[] = {"rw-register", "list-append", "random-range"};

static bool can_show(const anomaly_info *a, enum shape shape)
{
    return a->plantable == 1 || (a->plantable == 2 && shape == LISTS) ||
           (a->plantable == 3 && shape == RANGES);
}

static enum shape shape_of(const workload_info *w)
{
    return w->class->flags & WORK_LISTS    ? LISTS
           : w->class->flags & WORK_ABSENT ? RANGES
                                           : REGISTERS;
}

static void get_plant(plant *p, uint32_t kind, enum shape shape, bool hidden)
{
    guard g;
    guard_init(&g);
    plant_parse(p, &g, kind, shape == LISTS, shape == RANGES);
    if (hidden) plant_hide(p);
}

/* The plant's row is exact: alone in a history it violates its levels and no others. */
static void plants_alone(enum shape shape, bool hidden)
{
    bool print = getenv("PRINT_PLANTS") != NULL; /* to fill plants.def */
    for (uint32_t k = 0; k < ANOMALIES; k++) {
        const anomaly_info *info = anomaly_at(k);
        if (!can_show(info, shape)) continue;
        gen_anomaly a = {.kind = k, .count = 1};
        gen_options o = {.workload = shape_work[shape],
                         .isolation = "serializable",
                         .txns = 1,
                         .sessions = 8,
                         .keys = 12,
                         .seed = k,
                         .hidden = hidden,
                         .anomalies = &a,
                         .n_anomalies = 1};
        sample s;
        if (sample_make(&s, &o)) {
            plant p;
            get_plant(&p, k, shape, hidden);
            truth_set all = ((truth_set)1 << TRUTHS) - 1, found = 0;
            for (int l = 0; l < TRUTHS; l++)
                if (ask(&s, l) == ORACLE_VIOLATED) found |= (truth_set)1 << l;
            if (print) {
                printf("# %s %s: weakest", shape_work[shape], info->name);
                for (int l = 0; l < TRUTHS; l++)
                    if (truth_weakest(found) >> l & 1) printf(" %s", level_names[l]);
                printf("%s%s\n", found == p.violates ? "" : " DIFFERS",
                       truth_up(found) == found ? "" : " NOT CLOSED");
            }
            judge(&s, &o, all & ~p.violates, p.violates);
        } else {
            test_fail(__FILE__, __LINE__, "%s", s.guard.text);
        }
        sample_free(&s);
    }
}

TEST(plants_alone_registers)
{
    plants_alone(REGISTERS, false);
}
TEST(plants_alone_lists)
{
    plants_alone(LISTS, false);
}
TEST(plants_alone_ranges)
{
    plants_alone(RANGES, false);
}
TEST(hidden_plants_alone_registers)
{
    plants_alone(REGISTERS, true);
}
TEST(hidden_plants_alone_lists)
{
    plants_alone(LISTS, true);
}
TEST(hidden_plants_alone_ranges)
{
    plants_alone(RANGES, true);
}

static bool is_read(const plant_event *e)
{
    return e->what == PLANT_READ || e->what == PLANT_LOCK;
}

/* One step of what is known: the same session, or a read of a's write. */
static bool known_edge(const plant *p, uint32_t a, uint32_t b)
{
    uint32_t end_a = 0, begin_b = 0;
    for (uint32_t i = 0; i < p->events; i++) {
        const plant_event *e = &p->event[i];
        if (e->txn == a && e->what <= PLANT_ABORT) end_a = i;
        if (e->txn == b && e->what == PLANT_BEGIN) begin_b = i;
        for (uint32_t j = 0; j < p->events && e->txn == a && e->what == PLANT_WRITE; j++) {
            const plant_event *r = &p->event[j];
            if (r->txn == b && is_read(r) && r->key == e->key && r->value[0] == e->value[0])
                return true;
        }
    }
    return p->session[a] == p->session[b] && end_a < begin_b;
}

/* Hidden: from the writer of the version that was read, nothing known leads to the writers that
   must come later, except where these read it themselves (a lost update is nothing else). */
TEST(hidden_plants_leave_writers_unordered)
{
    int anchors = 0;
    for (uint32_t k = 0; k < ANOMALIES; k++) {
        if (!can_show(anomaly_at(k), REGISTERS)) continue;
        plant p;
        get_plant(&p, k, REGISTERS, true);
        bool path[PLANT_TXNS][PLANT_TXNS] = {0};
        for (uint32_t a = 0; a < p.txns; a++)
            for (uint32_t b = 0; b < p.txns; b++) path[a][b] = a != b && known_edge(&p, a, b);
        for (uint32_t m = 0; m < p.txns; m++)
            for (uint32_t a = 0; a < p.txns; a++)
                for (uint32_t b = 0; b < p.txns; b++) path[a][b] |= path[a][m] && path[m][b];
        for (uint32_t i = 0; i < p.events; i++) {
            const plant_event *base = &p.event[i];
            if (base->what != PLANT_WRITE || base->value[0] != PLANT_BASE) continue;
            anchors++;
            for (uint32_t j = 0; j < p.events; j++) {
                const plant_event *e = &p.event[j];
                if (e->what != PLANT_WRITE || e->key != base->key || e->txn == base->txn) continue;
                bool update = false;
                for (uint32_t n = 0; n < p.events; n++)
                    update |= is_read(&p.event[n]) && p.event[n].txn == e->txn &&
                              p.event[n].key == e->key;
                if (path[base->txn][e->txn] && !update)
                    test_fail(__FILE__, __LINE__, "%s: T%u comes before T%u, as everybody knows",
                              anomaly_at(k)->name, base->txn + 1, e->txn + 1);
            }
        }
    }
    EXPECT(anchors > 15);
}

/* Among other transactions a plant does the same harm and no more. */
static void plant_among(uint32_t k, size_t work, size_t isolation, bool hidden, uint64_t seed)
{
    enum shape shape = shape_of(workload_at(work));
    if (!can_show(anomaly_at(k), shape)) return;
    gen_anomaly a = {.kind = k, .count = 1};
    gen_options o = contended(work, isolation, seed);
    plant p;
    get_plant(&p, k, shape, hidden);
    o.anomalies = &a;
    o.n_anomalies = 1;
    o.hidden = hidden;
    o.sessions = p.sessions < 3 ? 3 : p.sessions;
    o.txns = p.txns + plant_overwritten(&p, hidden) + 2 + seed % 2;
    o.no_times = false;
    if (hidden && o.keys < 3) o.keys = 3;
    sample s;
    if (sample_make(&s, &o))
        judge(&s, &o, truth_strongest(truth_down(kept[isolation]) & ~p.violates),
              truth_weakest(p.violates));
    else
        test_fail(__FILE__, __LINE__, "%s", s.guard.text);
    sample_free(&s);
}

/* Ids of the planted transactions, as the truth has them. */
static bool is_planted(const sample *s, const char *id)
{
    const char *at = strstr(strbuf_cstr((strbuf *)(uintptr_t)&s->truth), "\"planted\":");
    while ((at = strstr(at, "\"txns\":[")) != NULL) {
        const char *end = strchr(at, ']'), *found = strstr(at, id);
        if (found && found < end) return true;
        at = end;
    }
    return false;
}

/* What is left without the planted transactions is what the store allows. */
static void rest_holds(size_t isolation, uint64_t seeds)
{
    for (uint64_t seed = 1; seed <= seeds && !test_all.failures; seed++) {
        size_t w = (seed + isolation) % WORKLOADS;
        gen_anomaly a = {.kind = (uint32_t)(seed * 7 % ANOMALIES), .count = 1};
        gen_options o = contended(w, isolation, seed);
        if (!can_show(anomaly_at(a.kind), shape_of(workload_at(w)))) continue;
        o.anomalies = &a;
        o.n_anomalies = 1;
        o.hidden = seed % 3 != 0;
        o.no_times = false;
        o.sessions = 8;
        o.txns = 14;
        sample s;
        if (sample_make(&s, &o)) {
            strbuf rest;
            strbuf_init(&rest, &s.mem);
            for (const char *at = strbuf_cstr(&s.text); *at;) {
                size_t n = strcspn(at, "\n") + 1;
                char id[32] = "";
                const char *tag = strstr(at, "\"id\":");
                if (tag && tag < at + n)
                    snprintf(id, sizeof id, "\"%lu\"", strtoul(tag + 5, NULL, 10));
                if (!id[0] || !is_planted(&s, id)) strbuf_add(&rest, at, n);
                at += n;
            }
            char err[256] = "";
            oracle_free(s.oracle);
            s.oracle = oracle_parse(rest.at, rest.n, err, sizeof err);
            if (s.oracle)
                judge(&s, &o, truth_strongest(truth_down(kept[isolation])), 0);
            else
                test_fail(__FILE__, __LINE__, "%s", err);
        } else {
            test_fail(__FILE__, __LINE__, "%s", s.guard.text);
        }
        sample_free(&s);
    }
}

TEST(the_rest_explains_itself)
{
    for (size_t i = 0; i < MODES; i++) rest_holds(i, 60);
}

/* Workload and store go on at paces that meet in every pair, as k and the seed do. */
static void plants_among(bool hidden, uint64_t seeds)
{
    for (uint32_t k = 0; k < ANOMALIES; k++)
        for (uint64_t seed = 1; seed <= seeds && !test_all.failures; seed++)
            plant_among(k, (seed + k) % WORKLOADS, (5 * seed + k / 2) % MODES, hidden, seed);
}

TEST(plants_among_others)
{
    plants_among(false, 130);
}
TEST(hidden_plants_among_others)
{
    plants_among(true, 15);
}

/* An oracle that gives up now and then is no judge of what it skipped. */
TEST(oracle_decided)
{
    printf("# %ld questions, %ld too big\n", asked, too_big);
    EXPECT(too_big * 100 <= asked);
}

TEST_MAIN
