/*
 * Tests of src/lib/verdict: what an answer says when a limit strikes, wherever that is.
 *
 * The limit is an allocation of the working memory that fails.  Every allocation of a whole run is
 * failed once, so every place from which judge can be left early is left early, each time at the
 * same spot: no clock takes part.
 */
#include <limits.h>
#include <stdio.h>

#include "base/rng.h"
#include "counter.h"
#include "read_help.h"

#include "verdict/survey.h"
#include "verdict/verdict.h"

#define HEAD "{\"ratel\":1,\"init\":{\"x\":0,\"y\":0}}\n"
#define TXN(session, id, ops)                                                                      \
    "{\"session\":" session ",\"id\":\"" id "\",\"status\":\"committed\",\"ops\":[" ops "]}\n"
#define R(k, v) "[\"r\",\"" k "\"," v "]"
#define W(k, v) "[\"w\",\"" k "\"," v "]"

static const char *const histories[] = {
    /* write skew: at some levels nothing decides it, after every weaker level was asked */
    HEAD TXN("1", "T1", R("x", "0") "," R("y", "0") "," W("x", "1"))
        TXN("2", "T2", R("x", "0") "," R("y", "0") "," W("y", "1")),
    /* lost update */
    HEAD TXN("1", "T1", R("x", "0") "," W("x", "1")) TXN("2", "T2", R("x", "0") "," W("x", "2")),
    /* a session that does not see its own write: session order is what is violated */
    HEAD TXN("1", "T1", W("x", "1")) TXN("1", "T2", R("x", "0")) TXN("2", "T3", R("y", "0")),
    /* a read that nothing explains */
    HEAD TXN("1", "T1", R("x", "7")) TXN("2", "T2", W("y", "1")),
    /* serializable */
    HEAD TXN("1", "T1", W("x", "1")) TXN("2", "T2", R("x", "1") "," W("y", "1")),
};

typedef struct asked_level {
    const char *name;
    bool asked, counts; /* session order as it is asked for, and as the answer must say */
} asked_level;

static const asked_level levels[] = {
    {"realtime-update-serializable", false, true},
    {"realtime-update-serializable", true, true},
    {"innodb-repeatable-read", true, false},
    {"serializable", true, true},
    {"serializable", false, false},
    {"strict-serializable", false, true},
    {"snapshot-isolation", true, true},
    {"parallel-snapshot-isolation", false, true},
    {"causal", true, true},
    {"causal", false, false},
    {"read-committed", true, true},
};

typedef struct run {
    guard guard;
    counter counter;
    mem mem, work;
    verdict v;
    bool whole; /* no limit struck */
} run;

/* Judges with `left` allocations of working memory. */
static void judge_with(run *r, const history *h, const asked_level *l, long left)
{
    memset(r, 0, sizeof *r);
    guard_init(&r->guard);
    r->counter.left = left;
    mem_init(&r->mem, NULL, NULL, &r->guard);
    mem_init(&r->work, count_fn, &r->counter, &r->guard);
    r->v.mem = &r->mem;
    level_named(&r->v.level, l->name);
    question q = {.level = l->name, .session_order = l->asked, .policy = POLICY_MUST};
    if (guard_armed(&r->guard)) return;
    judge(&r->v, h, &q, &r->work);
    r->whole = true;
}

static void close_run(run *r)
{
    mem_free_all(&r->work);
    mem_free_all(&r->mem);
    EXPECT_EQ_UINT(r->counter.live, 0);
}

/* What stands in a verdict is always a whole answer, and the answer to what was asked. */
static void expect_whole_answer(const run *r, const history *h, const asked_level *l)
{
    const verdict *v = &r->v;
    EXPECT(v->h == h);
    EXPECT_STR(v->level.name, l->name);
    EXPECT_EQ_INT(v->session_order, l->counts);
    EXPECT_EQ_INT(v->outcome == OUTCOME_UNDECIDED, v->decided_by == BY_NOBODY);
    EXPECT_EQ_INT(v->outcome == OUTCOME_VIOLATED, v->anomaly < ANOMALIES);
    if (v->outcome == OUTCOME_UNDECIDED) {
        EXPECT(!v->cycle.n && !v->core.n && !v->ordered && !v->through && !v->rests_on);
    } else {
        EXPECT(v->reason && *v->reason);
        EXPECT_EQ_INT(v->decided_by == BY_WEAKER, v->through && v->outcome == OUTCOME_VIOLATED);
    }
}

/* A limit leaves an undecided answer, or the violation that the whole run finds. */
TEST(limits_leave_whole_answers)
{
    enum { MOST = 5000 };
    static long n;                  /* static: it must survive the jump */
    static size_t violated_limited; /* violations that were told although a limit struck */
    violated_limited = 0;
    for (size_t i = 0; i < sizeof histories / sizeof *histories; i++) {
        guard failed;
        history *h = load(&failed, "ratel", histories[i], strlen(histories[i]));
        REQUIRE(h != NULL);
        for (size_t j = 0; j < sizeof levels / sizeof *levels; j++) {
            const asked_level *l = &levels[j];
            run whole, r;
            judge_with(&whole, h, l, LONG_MAX);
            REQUIRE(whole.whole);
            expect_whole_answer(&whole, h, l);
            for (n = 0; n < MOST; n++) {
                judge_with(&r, h, l, n);
                expect_whole_answer(&r, h, l);
                bool done = r.whole;
                if (!done) {
                    EXPECT_EQ_INT(r.guard.code, GUARD_NOMEM);
                    EXPECT(r.v.outcome == OUTCOME_UNDECIDED || r.v.outcome == OUTCOME_VIOLATED);
                    violated_limited += r.v.outcome == OUTCOME_VIOLATED;
                }
                if (r.v.outcome != OUTCOME_UNDECIDED) EXPECT_EQ_INT(r.v.outcome, whole.v.outcome);
                close_run(&r);
                if (done) break;
            }
            EXPECT(n < MOST);
            close_run(&whole);
        }
        history_free(h);
    }
    EXPECT(violated_limited > 0); /* else nothing here tests what a limit leaves of a violation */
}

/* The step that decides is named, whichever it is. */
TEST(steps_are_named)
{
    static const struct {
        size_t history;
        const char *level;
        enum decider_id by;
    } asked[] = {
        {0, "serializable", BY_LAZY},
        {0, "causal", BY_TEST},
        {1, "causal", BY_TEST},
        {1, "realtime-update-serializable", BY_LAZY},
        {3, "serializable", BY_FAULTS},
        {3, "causal", BY_FAULTS},
        {4, "snapshot-isolation", BY_STRONGER},
        {0, "realtime-update-serializable", BY_LAZY},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *json = histories[asked[i].history];
        guard failed;
        run r;
        history *h = load(&failed, "ratel", json, strlen(json));
        REQUIRE(h != NULL);
        asked_level l = {asked[i].level, true, true};
        judge_with(&r, h, &l, LONG_MAX);
        EXPECT(r.whole);
        EXPECT_EQ_INT(r.v.decided_by, asked[i].by);
        EXPECT((decider_at(r.v.decided_by) == NULL) == (asked[i].by == BY_NOBODY));
        close_run(&r);
        history_free(h);
    }
}

/* One session of many transactions, one of which reads a version that was overwritten long before:
   the answer is found at once, and what it rests on is not, since without session order any of them
   may stand anywhere. */
static history *session_with_stale_read(void)
{
    enum { TXNS = 5000, KEYS = 200, EACH = 4 };
    static char json[TXNS * 100];
    uint32_t last[KEYS] = {0}, old = 0, value = 0;
    size_t n = (size_t)snprintf(json, sizeof json, "{\"ratel\":1,\"init\":0}\n");
    rng luck;
    rng_seed(&luck, 1);
    for (uint32_t i = 0; i < TXNS; i++) {
        n += (size_t)snprintf(json + n, sizeof json - n, "{\"session\":0,\"ops\":[");
        bool stale = i == TXNS / 3 * 2;
        for (uint32_t j = 0; j < (stale ? 1 : EACH); j++) {
            uint32_t key = (uint32_t)rng_below(&luck, KEYS);
            bool writes = rng_below(&luck, 2);
            if (stale) key = 0;
            if (i == TXNS / 3) old = last[0];
            if (writes && !stale) last[key] = ++value;
            n += (size_t)snprintf(json + n, sizeof json - n, "%s[\"%s\",%u,%u]", j ? "," : "",
                                  writes && !stale ? "w" : "r", key, stale ? old : last[key]);
        }
        n += (size_t)snprintf(json + n, sizeof json - n, "]}\n");
    }
    guard failed;
    history *h = load(&failed, "ratel", json, n);
    EXPECT(h != NULL && old != 0 && old != last[0]);
    return h;
}

static uint32_t steps_of(const history *h, const char *level, bool quick)
{
    run r = {0};
    guard_init(&r.guard);
    mem_init(&r.mem, NULL, NULL, &r.guard);
    mem_init(&r.work, NULL, NULL, &r.guard);
    r.v.mem = &r.mem;
    EXPECT(level_named(&r.v.level, level));
    question q = {.level = level, .session_order = true, .policy = POLICY_MUST, .quick = quick};
    if (!guard_armed(&r.guard)) judge(&r.v, h, &q, &r.work);
    EXPECT_EQ_INT(r.guard.code, GUARD_OK);
    EXPECT_EQ_INT(r.v.outcome, OUTCOME_VIOLATED);
    uint32_t steps = r.guard.ticks;
    EXPECT_EQ_INT(r.guard.most_ticks, 0);
    close_run(&r);
    return steps;
}

/* Asking what a violation rests on costs half as much as the answer, not as much as it takes. */
TEST(what_it_rests_on_costs_little)
{
    history *h = session_with_stale_read();
    REQUIRE(h != NULL);
    static const char *const asked[] = {"snapshot-isolation", "update-serializable"};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        uint32_t quick = steps_of(h, asked[i], true), whole = steps_of(h, asked[i], false);
        EXPECT(quick > 0 && quick <= whole);
        /* (the limit is looked at now and then) */
        EXPECT(whole <= (uint64_t)quick * 3 / 2 + 8 * (uint64_t)h->ops + 65536 + 8192);
    }
    history_free(h);
}

static void learn(survey *s, const char *name, enum outcome outcome)
{
    level_ref level;
    REQUIRE(level_named(&level, name));
    survey_learn(s, &level, true, outcome);
}

/* What a limit left undecided may be violated: that a weaker level holds is no answer. */
TEST(survey_does_not_choose_what_holds_while_others_are_undecided)
{
    survey s;
    survey_begin(&s, (survey_facts){0}, true, true, 300);
    learn(&s, "read-uncommitted", OUTCOME_HOLDS);
    learn(&s, "serializable", OUTCOME_UNDECIDED);
    EXPECT(survey_choice(&s) == LEVEL_RC || survey_choice(&s) == LEVEL_SER);
    learn(&s, "read-committed", OUTCOME_VIOLATED);
    EXPECT_EQ_INT(survey_choice(&s), LEVEL_RC);
    survey_begin(&s, (survey_facts){0}, true, true, 300);
    learn(&s, "serializable", OUTCOME_HOLDS);
    EXPECT_EQ_INT(survey_choice(&s), LEVEL_SER);
}

/* The caller's limit is one for all levels, and no level may use all of it. */
TEST(survey_shares_the_limit)
{
    survey s;
    enum level_id level;
    int64_t ms, sum = 0;
    survey_begin(&s, (survey_facts){0}, true, true, 300);
    while (survey_next(&s, &level, &ms)) {
        EXPECT(ms > 0 && ms <= 100);
        learn(&s, level_at(level)->name, OUTCOME_UNDECIDED);
        survey_spent(&s, ms);
        sum += ms;
    }
    EXPECT_EQ_INT(sum, 300);
    survey_begin(&s, (survey_facts){0}, true, true, 0);
    EXPECT(survey_next(&s, &level, &ms));
    EXPECT_EQ_INT(ms, 0);
}

TEST_MAIN
