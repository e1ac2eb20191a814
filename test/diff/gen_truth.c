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
#define ISOLATION(id, name, others, keeps, about) keeps,
#include "gen/isolations.def"
#undef ISOLATION
};

/* --- a history and its oracle -------------------------------------------------------------- */

static void print_op(const history *h, op_id i, strbuf *b)
{
    static const char *const kinds[] = {"r", "w", "d", "append"};
    strbuf_printf(b, "[\"%s\",", kinds[op_kind_of(h, i)]);
    atom_json(h, key_atom(h, h->op_key[i]), b);
    strbuf_char(b, ',');
    atom_json(h, value_atom(h, h->op_value[i]), b);
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
    oracle_question q = {.level = level_names[level], .session_order = 1, .ryow = ORACLE_MUST};
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
    if (!strncmp(o.workload, "blindw", 6)) knob_give(&o.knobs, KNOB_READS, 0.5);
    if (!strcmp(o.workload, "tpcc")) o.ops = 1;
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
static void mode_is_weak(size_t isolation, int level)
{
    int violated = 0, n = 500;
    for (int seed = 1; seed <= n; seed++) {
        gen_options o = contended(3, isolation, (uint64_t)seed); /* rw-register */
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

TEST(serializable_holds)
{
    modes_hold(0, 1000);
}
TEST(snapshot_isolation_holds)
{
    modes_hold(1, 1000);
}
TEST(read_committed_holds)
{
    modes_hold(2, 1000);
}
TEST(read_atomic_holds)
{
    modes_hold(3, 1000);
}
TEST(causal_holds)
{
    modes_hold(4, 1000);
}

TEST(modes_are_no_stronger)
{
    mode_is_weak(1, TRUTH_INDEX_SER);
    mode_is_weak(2, TRUTH_INDEX_RA);
    mode_is_weak(3, TRUTH_INDEX_CC);
    mode_is_weak(4, TRUTH_INDEX_PC);
    mode_is_weak(4, TRUTH_INDEX_UA);
}

/* --- plants -------------------------------------------------------------------------------- */

static bool can_show(const anomaly_info *a, bool lists)
{
    return a->plantable == 1 || (a->plantable == 2 && lists);
}

/* The plant's row is exact: alone in a history it violates its levels and no others. */
static void plants_alone(bool lists)
{
    bool print = getenv("PRINT_PLANTS") != NULL; /* to fill plants.def */
    for (uint32_t k = 0; k < ANOMALIES; k++) {
        const anomaly_info *info = anomaly_at(k);
        if (!can_show(info, lists)) continue;
        gen_anomaly a = {.kind = k, .count = 1};
        gen_options o = {.workload = lists ? "list-append" : "rw-register",
                         .isolation = "serializable",
                         .txns = 1,
                         .sessions = 5,
                         .keys = 2,
                         .seed = k,
                         .anomalies = &a,
                         .n_anomalies = 1};
        sample s;
        if (sample_make(&s, &o)) {
            plant p;
            plant_parse(&p, &s.guard, k, lists);
            truth_set all = ((truth_set)1 << TRUTHS) - 1, found = 0;
            for (int l = 0; l < TRUTHS; l++)
                if (ask(&s, l) == ORACLE_VIOLATED) found |= (truth_set)1 << l;
            if (print) {
                printf("# %s %s: weakest", lists ? "lists" : "registers", info->name);
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
    plants_alone(false);
}
TEST(plants_alone_lists)
{
    plants_alone(true);
}

/* Among other transactions a plant does the same harm and no more. */
static void plants_among(size_t isolation, uint64_t seeds)
{
    for (uint32_t k = 0; k < ANOMALIES; k++)
        for (uint64_t seed = 1; seed <= seeds && !test_all.failures; seed++) {
            size_t w = seed % WORKLOADS;
            bool lists = !strcmp(gen_workload_at(w, NULL), "list-append");
            if (!can_show(anomaly_at(k), lists)) continue;
            gen_anomaly a = {.kind = k, .count = 1};
            gen_options o = contended(w, isolation, seed);
            plant p;
            guard g;
            guard_init(&g);
            plant_parse(&p, &g, k, lists);
            o.anomalies = &a;
            o.n_anomalies = 1;
            o.sessions = p.sessions < 3 ? 3 : p.sessions;
            o.txns = p.txns + 2 + seed % 2;
            o.no_times = false;
            sample s;
            if (sample_make(&s, &o))
                judge(&s, &o, truth_strongest(truth_down(kept[isolation]) & ~p.violates),
                      truth_weakest(p.violates));
            else
                test_fail(__FILE__, __LINE__, "%s", s.guard.text);
            sample_free(&s);
        }
}

TEST(plants_among_serializable)
{
    plants_among(0, 60);
}
TEST(plants_among_snapshot_isolation)
{
    plants_among(1, 60);
}
TEST(plants_among_read_committed)
{
    plants_among(2, 60);
}
TEST(plants_among_read_atomic)
{
    plants_among(3, 60);
}
TEST(plants_among_causal)
{
    plants_among(4, 60);
}

/* An oracle that gives up now and then is no judge of what it skipped. */
TEST(oracle_decided)
{
    printf("# %ld questions, %ld too big\n", asked, too_big);
    EXPECT(too_big * 100 <= asked);
}

TEST_MAIN
