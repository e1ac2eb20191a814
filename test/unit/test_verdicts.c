/*
 * Small histories with known verdicts, at places where a fault that was planted in the product went
 * unnoticed by the random suites (test/mutants): bounds of ranges, times of unknown outcomes,
 * shortest cycles, refusals of certificates.
 */
#include <stdbool.h>

#define RATEL_EXPERIMENTAL
#include "base/hash.h"
#include "ratel.h"
#include "test.h"

typedef struct bytes {
    const char *at;
    size_t n;
} bytes;

static ptrdiff_t give_bytes(void *buf, size_t cap, void *payload)
{
    bytes *b = payload;
    size_t n = b->n < cap ? b->n : cap;
    memcpy(buf, b->at, n);
    b->at += n;
    b->n -= n;
    return (ptrdiff_t)n;
}

typedef struct asked {
    ratel *r;
    ratel_history *h;
    ratel_result *a;
} asked;

static void close_asked(asked *q)
{
    ratel_result_free(q->a);
    ratel_history_free(q->h);
    ratel_close(q->r);
}

static asked ask(const char *history, const char *level)
{
    asked q = {0};
    bytes in = {history, strlen(history)};
    if (ratel_open(&q.r, NULL) || ratel_history_read(&q.h, q.r, "ratel", give_bytes, &in) ||
        ratel_check(&q.a, q.r, q.h, level))
        FAIL(q.r ? ratel_errmsg(q.r) : "no context");
    return q;
}

static ratel_verdict verdict_of(const char *history, const char *level)
{
    asked q = ask(history, level);
    ratel_verdict v = q.a ? ratel_result_verdict(q.a) : RATEL_UNDECIDED;
    close_asked(&q);
    return v;
}

static size_t steps_of(const char *history, const char *level)
{
    asked q = ask(history, level);
    ratel_step s;
    size_t n = 0;
    while (q.a && !ratel_result_step_at(q.a, n, &s)) n++;
    close_asked(&q);
    return n;
}

/* Rows belong to [from, to): the first key after the range, the bound itself, is no row of it. */
TEST(a_row_at_the_upper_bound)
{
    static const char *const format =
        "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"a\",1],[\"w\",\"m\",1],[\"w\",\"z\",1]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"scan\",\"a\",\"%s\",[%s]%s]]}\n";
    static const struct {
        const char *to, *rows, *marks;
        ratel_verdict v;
    } cases[] = {
        {"m", "[\"a\",1]", "", RATEL_HOLDS},
        {"m", "[\"a\",1],[\"m\",1]", "", RATEL_VIOLATED},
        {"m", "[\"a\",1],[\"m\",1]", ",{\"incl\":true}", RATEL_HOLDS},
        {"m", "[\"a\",1],[\"m\",1],[\"z\",1]", ",{\"incl\":true}", RATEL_VIOLATED},
        {"n", "[\"a\",1],[\"m\",1]", "", RATEL_HOLDS},
        {"n", "[\"a\",1],[\"m\",1],[\"z\",1]", "", RATEL_VIOLATED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, format, cases[i].to, cases[i].rows, cases[i].marks);
        EXPECT_EQ_INT(verdict_of(text, "read-committed"), cases[i].v);
        EXPECT_EQ_INT(verdict_of(text, "serializable"), cases[i].v);
    }
}

/* The end of a transaction of unknown outcome says nothing: it may take effect later. */
TEST(an_unknown_outcome_has_no_end)
{
    static const char *const format =
        "{\"ratel\":1,\"init\":0}\n"
        "{\"session\":1,\"id\":1,\"begin\":1,\"end\":2%s,\"ops\":[[\"w\",\"x\",1]]}\n"
        "{\"session\":2,\"id\":2,\"begin\":3,\"end\":4,\"ops\":[[\"r\",\"x\",0]]}\n"
        "{\"session\":3,\"id\":3,\"begin\":5,\"end\":6,\"ops\":[[\"r\",\"x\",1]]}\n";
    static const char *const levels[] = {"strict-serializable", "strong-snapshot-isolation",
                                         "realtime-snapshot-isolation"};
    char text[512];
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        snprintf(text, sizeof text, format, ",\"status\":\"unknown\"");
        EXPECT_EQ_INT(verdict_of(text, levels[i]), RATEL_HOLDS);
        snprintf(text, sizeof text, format, "");
        EXPECT_EQ_INT(verdict_of(text, levels[i]), RATEL_VIOLATED);
    }
}

/* Of a long cycle with a chord, the short one is told. */
TEST(the_cycle_is_short)
{
    static const char history[] =
        "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"a\",1],[\"r\",\"e\",1]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"a\",1],[\"w\",\"b\",1]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"b\",1],[\"w\",\"c\",1],[\"r\",\"f\",1]]}\n"
        "{\"session\":4,\"id\":4,\"ops\":[[\"r\",\"c\",1],[\"w\",\"d\",1],[\"w\",\"f\",1]]}\n"
        "{\"session\":5,\"id\":5,\"ops\":[[\"r\",\"d\",1],[\"w\",\"e\",1]]}\n";
    static const char *const levels[] = {"read-committed", "causal", "serializable"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        EXPECT_EQ_INT(steps_of(history, levels[i]), 2);
}

static size_t core_of(const char *history, const char *level)
{
    asked q = ask(history, level);
    size_t n = 0, t;
    while (q.a && !ratel_result_core_at(q.a, n, &t)) n++;
    close_asked(&q);
    return n;
}

/* Those that are needed, and nobody else: readers that show an order belong to it. */
TEST(the_core_is_what_shows_it)
{
    static const char orders[] =
        "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1],[\"append\",\"y\",1]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"append\",\"x\",2],[\"append\",\"y\",2]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"x\",[1,2]]]}\n"
        "{\"session\":4,\"id\":4,\"ops\":[[\"r\",\"y\",[2,1]]]}\n";
    static char lost[16384];
    static const char *const levels[] = {"read-committed", "causal", "snapshot-isolation",
                                         "serializable"};
    size_t n = 0;
    for (int i = 1; i <= 60; i++) { /* a chain of updates; two of them replace the same version */
        char seen[16] = "null";
        if (i > 1) snprintf(seen, sizeof seen, "%d", i == 31 ? 29 : i - 1);
        n += (size_t)snprintf(
            lost + n, sizeof lost - n,
            "{\"session\":%d,\"id\":%d,\"ops\":[[\"r\",\"x\",%s],[\"w\",\"x\",%d]]}\n", i, i, seen,
            i);
    }
    EXPECT_EQ_INT(core_of(lost, "serializable"), 3);
    EXPECT_EQ_INT(core_of(lost, "snapshot-isolation"), 3);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        EXPECT_EQ_INT(core_of(orders, levels[i]), 4);
}

/* Lists with elements that nobody appended, or more often than they were appended. */
TEST(impossible_lists)
{
    static const struct {
        const char *history;
        ratel_verdict v;
    } cases[] = {
        {"{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1]]}\n"
         "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",[1,7]]]}\n",
         RATEL_VIOLATED},
        {"{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1]]}\n"
         "{\"session\":2,\"id\":2,\"status\":\"unknown\",\"ops\":[[\"r\",\"x\",[1,7]]]}\n",
         RATEL_HOLDS},
        {"{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1],[\"append\",\"y\",5]]}\n"
         "{\"session\":2,\"id\":2,\"ops\":[[\"append\",\"y\",5]]}\n"
         "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"y\",[5,5]]]}\n",
         RATEL_HOLDS},
        {"{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1],[\"append\",\"y\",5]]}\n"
         "{\"session\":2,\"id\":2,\"ops\":[[\"append\",\"y\",5]]}\n"
         "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"y\",[5,5]],[\"r\",\"x\",[1,1]]]}\n",
         RATEL_VIOLATED},
    };
    static const char *const levels[] = {"read-uncommitted", "read-committed", "serializable"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
            EXPECT_EQ_INT(verdict_of(cases[i].history, levels[k]), cases[i].v);
}

/* Nobody appended null, however often it was read: absent is not an element. */
TEST(elements_that_are_null)
{
    static const char history[] = "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1]]}\n"
                                  "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",[null,null]]]}\n";
    static const char *const levels[] = {"read-uncommitted", "read-committed", "serializable"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        asked q = ask(history, levels[i]);
        EXPECT_STR(q.a ? ratel_result_anomaly(q.a) : "", "garbage-read");
        close_asked(&q);
    }
}

/* The last element of a list names its writer; a hint may agree, and nothing else. */
TEST(hints_of_lists)
{
    static const char *const format =
        "{\"session\":1,\"id\":\"A\",\"ops\":[[\"append\",\"x\",1]]}\n"
        "{\"session\":2,\"id\":\"B\",\"ops\":[[\"append\",\"x\",2]]}\n"
        "{\"session\":3,\"id\":\"C\",\"ops\":[[\"r\",\"x\",[1,2],{\"from\":\"%s\"}]]}\n";
    static const char *const writers[] = {"B", "A"};
    for (int i = 0; i < 2; i++) {
        char history[512];
        ratel *r = NULL;
        ratel_history *h = NULL;
        ratel_result *a = NULL;
        snprintf(history, sizeof history, format, writers[i]);
        bytes in = {history, strlen(history)};
        if (ratel_open(&r, NULL) || ratel_history_read(&h, r, "ratel", give_bytes, &in))
            FAIL(r ? ratel_errmsg(r) : "no context");
        else
            EXPECT_EQ_INT(ratel_check(&a, r, h, "serializable"), i ? RATEL_EHISTORY : RATEL_OK);
        ratel_result_free(a);
        ratel_history_free(h);
        ratel_close(r);
    }
}

/* --- lists ------------------------------------------------------------------------------------ */

typedef struct level_case {
    const char *level;
    ratel_verdict v;
} level_case;

/* Small histories are decided by trying all orders; with transactions that have nothing to do with
   them they are too large for that: then the verdict is the same, or none if that is lenient. */
static void expect_verdicts(const char *history, const level_case *cases, size_t n, bool lenient)
{
    static char large[8192];
    size_t used = (size_t)snprintf(large, sizeof large, "%s", history);
    for (int i = 0; i < 9; i++)
        used +=
            (size_t)snprintf(large + used, sizeof large - used,
                             "{\"session\":%d,\"id\":\"other%d\",\"ops\":[[\"w\",\"other\",%d]]}\n",
                             100 + i, i, 100 + i);
    for (size_t i = 0; i < n; i++) {
        if (verdict_of(history, cases[i].level) != cases[i].v)
            test_fail(__FILE__, __LINE__, "%s: another verdict\n%s", cases[i].level, history);
        ratel_verdict v = verdict_of(large, cases[i].level);
        if (v != cases[i].v && !(lenient && v == RATEL_UNDECIDED))
            test_fail(__FILE__, __LINE__, "%s: another verdict\n%s", cases[i].level, large);
    }
}

#define EXPECT_SMALL(history, ...)                                                                 \
    do {                                                                                           \
        static const level_case expected[] = {__VA_ARGS__};                                        \
        expect_verdicts(history, expected, sizeof expected / sizeof *expected, true);              \
    } while (0)
#define EXPECT_VERDICTS(history, ...)                                                              \
    do {                                                                                           \
        static const level_case expected[] = {__VA_ARGS__};                                        \
        expect_verdicts(history, expected, sizeof expected / sizeof *expected, false);             \
    } while (0)

/* A list that ends within the appends of one transaction shows a state that was never committed. */
TEST(lists_that_end_within_a_transaction)
{
    static const char *const format =
        "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1],[\"append\",\"x\",2]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"append\",\"x\",3]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"x\",%s]]}\n";
    static const struct {
        const char *list;
        ratel_verdict v;
    } cases[] = {{"[1]", RATEL_VIOLATED},   {"[1,2]", RATEL_HOLDS},      {"[3,1]", RATEL_VIOLATED},
                 {"[3,1,2]", RATEL_HOLDS},  {"[1,3,2]", RATEL_VIOLATED}, {"[1,2,3]", RATEL_HOLDS},
                 {"[2,1]", RATEL_VIOLATED}, {"[1,3]", RATEL_VIOLATED}};
    char text[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, format, cases[i].list);
        EXPECT_EQ_INT(verdict_of(text, "read-committed"), cases[i].v);
        EXPECT_EQ_INT(verdict_of(text, "serializable"), cases[i].v);
    }
}

/* What an aborted transaction read is not what it wrote, and its lists count for nothing. */
TEST(reads_of_aborted_transactions)
{
    EXPECT_VERDICTS("{\"session\":1,\"id\":1,\"status\":\"aborted\",\"ops\":[[\"r\",\"x\",7]]}\n"
                    "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",[7]]]}\n"
                    "{\"session\":3,\"id\":3,\"ops\":[[\"append\",\"x\",1]]}\n",
                    {"read-uncommitted", RATEL_VIOLATED}, {"read-committed", RATEL_VIOLATED});
    EXPECT_VERDICTS(
        "{\"session\":1,\"id\":1,\"status\":\"aborted\",\"ops\":[[\"append\",\"x\",7]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",[7]]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"append\",\"x\",1]]}\n",
        {"read-uncommitted", RATEL_HOLDS}, {"read-committed", RATEL_VIOLATED});
    EXPECT_VERDICTS(
        "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1]]}\n"
        "{\"session\":2,\"id\":2,\"status\":\"aborted\",\"ops\":[[\"r\",\"x\",[1,1]]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"x\",[1]]]}\n",
        {"read-uncommitted", RATEL_HOLDS}, {"serializable", RATEL_HOLDS});
}

/* An append cannot stand within the initial list, whatever element it has. */
TEST(appends_come_after_the_initial_list)
{
    static const char *const format =
        "{\"ratel\":1,\"init\":{\"x\":[1]}}\n"
        "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1],[\"w\",\"y\",1]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"append\",\"x\",1],[\"w\",\"z\",1]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"x\",%s],[\"r\",\"y\",1],[\"r\",\"z\",1]]}\n";
    char text[512];
    snprintf(text, sizeof text, format, "[1,1]");
    EXPECT_VERDICTS(text, {"read-committed", RATEL_HOLDS}, {"read-atomic", RATEL_VIOLATED},
                    {"causal", RATEL_VIOLATED}, {"snapshot-isolation", RATEL_VIOLATED},
                    {"serializable", RATEL_VIOLATED});
    snprintf(text, sizeof text, format, "[1,1,1]");
    EXPECT_VERDICTS(text, {"read-atomic", RATEL_HOLDS}, {"serializable", RATEL_HOLDS});
}

/* An unknown initial list may be the beginning of what was read. */
TEST(unknown_initial_lists)
{
    static const char *const format =
        "{\"ratel\":1,\"init\":{\"y\":0},\"init_unknown\":true}\n"
        "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",2],[\"w\",\"y\",1]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",%s],[\"r\",\"y\",1]]}\n";
    char text[512];
    snprintf(text, sizeof text, format, "[1,2]");
    EXPECT_VERDICTS(text, {"read-uncommitted", RATEL_HOLDS}, {"read-committed", RATEL_HOLDS},
                    {"read-atomic", RATEL_HOLDS}, {"causal", RATEL_HOLDS},
                    {"snapshot-isolation", RATEL_HOLDS}, {"serializable", RATEL_HOLDS});
    snprintf(text, sizeof text, format, "[1,2,3]");
    EXPECT_VERDICTS(text, {"read-atomic", RATEL_VIOLATED}, {"serializable", RATEL_VIOLATED});
}

/* U read a list that no order has: it did not commit, so y was read from A, but z was not. */
TEST(lists_of_unknown_outcomes)
{
    static const char *const format =
        "{\"ratel\":1,\"init\":{\"z\":0}}\n"
        "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"append\",\"x\",2]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"x\",[1,2]]]}\n"
        "{\"session\":4,\"id\":\"U\",\"status\":\"unknown\",\"ops\":[[\"r\",\"x\",%s],"
        "[\"w\",\"y\",1]]}\n"
        "{\"session\":5,\"id\":\"A\",\"ops\":[[\"w\",\"y\",1],[\"w\",\"z\",1]]}\n"
        "{\"session\":6,\"id\":\"B\",\"ops\":[[\"r\",\"y\",1],[\"r\",\"z\",0]]}\n";
    char text[1024];
    snprintf(text, sizeof text, format, "[2]");
    EXPECT_SMALL(text, {"read-atomic", RATEL_VIOLATED}, {"causal", RATEL_VIOLATED},
                 {"snapshot-isolation", RATEL_VIOLATED}, {"serializable", RATEL_VIOLATED});
    snprintf(text, sizeof text, format, "[1]");
    EXPECT_SMALL(text, {"read-atomic", RATEL_HOLDS}, {"causal", RATEL_HOLDS},
                 {"snapshot-isolation", RATEL_HOLDS}, {"serializable", RATEL_HOLDS});
}

static bool warns_of(const char *history, const char *level, const char *warning)
{
    asked q = ask(history, level);
    const char *id, *sentence;
    bool found = false;
    for (size_t i = 0; q.a && !ratel_result_warning(q.a, i, &id, &sentence); i++)
        found = found || !strcmp(id, warning);
    close_asked(&q);
    return found;
}

TEST(values_that_nobody_wrote_are_warned_of)
{
    EXPECT(warns_of("{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"a\",1]]}\n"
                    "{\"session\":2,\"id\":2,\"ops\":[[\"scan\",\"a\",\"b\",[[\"c\",1]]]]}\n",
                    "read-committed", "never-written-reads"));
    static const char *const format = "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"x\",1]]}\n"
                                      "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",%d]]}\n";
    char text[256];
    for (int value = 1; value <= 2; value++) {
        snprintf(text, sizeof text, format, value);
        EXPECT(warns_of(text, "read-committed", "never-written-reads") == (value == 2));
        EXPECT(warns_of(text, "serializable", "never-written-reads") == (value == 2));
    }
    EXPECT(!warns_of("{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1]]}\n"
                     "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",[1,1]]]}\n",
                     "read-committed", "never-written-reads"));
}

/* U cannot have committed, since nobody wrote 7: then B read from A, and that is allowed. */
TEST(innodb_unknown_outcomes)
{
    static const char *const format =
        "{\"ratel\":1,\"init\":{\"x\":0,\"y\":0}}\n"
        "{\"session\":1,\"id\":\"A\",\"ops\":[[\"w\",\"x\",1]]}\n"
        "{\"session\":2,\"id\":\"U\",\"status\":\"unknown\",\"ops\":[[\"r\",\"y\",7],"
        "[\"w\",\"x\",1],[\"w\",\"z\",1]]}\n"
        "{\"session\":3,\"id\":\"B\",\"ops\":[[\"r\",\"x\",1],[\"r\",\"z\",%s]]}\n";
    char text[512];
    snprintf(text, sizeof text, format, "null");
    EXPECT_VERDICTS(text, {"innodb-repeatable-read", RATEL_HOLDS}, {"serializable", RATEL_HOLDS});
    snprintf(text, sizeof text, format, "1");
    EXPECT_VERDICTS(text, {"innodb-repeatable-read", RATEL_VIOLATED},
                    {"serializable", RATEL_VIOLATED});
}

/* B did not see A, so it read x from U, which must have committed, or from nobody. */
TEST(innodb_outcomes_that_are_needed)
{
    static const char *const format =
        "{\"ratel\":1,\"init\":{\"x\":0,\"z\":0}}\n"
        "{\"session\":1,\"id\":\"A\",\"ops\":[[\"w\",\"x\",1],[\"w\",\"z\",1]]}\n"
        "{\"session\":2,\"id\":\"U\",\"status\":\"%s\",\"ops\":[[\"w\",\"x\",1]]}\n"
        "{\"session\":3,\"id\":\"B\",\"ops\":[[\"r\",\"x\",1],[\"r\",\"z\",0]]}\n";
    char text[512];
    snprintf(text, sizeof text, format, "unknown");
    EXPECT_VERDICTS(text, {"innodb-repeatable-read-tight", RATEL_HOLDS},
                    {"serializable", RATEL_HOLDS});
    snprintf(text, sizeof text, format, "aborted");
    EXPECT_VERDICTS(text, {"innodb-repeatable-read-tight", RATEL_VIOLATED},
                    {"serializable", RATEL_VIOLATED});
}

/* Positions order the versions of an unknown transaction, too, if somebody read from it. */
TEST(positions_of_an_unknown_outcome)
{
    static const char *const format =
        "{\"session\":1,\"id\":\"A\",\"ops\":[[\"w\",\"x\",2,{\"ver\":%d}],[\"w\",\"y\",1]]}\n"
        "{\"session\":2,\"id\":\"U\",\"status\":\"unknown\",\"ops\":[[\"r\",\"y\",1],"
        "[\"w\",\"x\",1,{\"ver\":%d}]]}\n"
        "{\"session\":3,\"id\":\"B\",\"ops\":[[\"r\",\"x\",1]]}\n";
    char text[512];
    snprintf(text, sizeof text, format, 2, 1);
    EXPECT_VERDICTS(text, {"read-committed", RATEL_VIOLATED}, {"serializable", RATEL_VIOLATED});
    snprintf(text, sizeof text, format, 1, 2);
    EXPECT_VERDICTS(text, {"read-committed", RATEL_HOLDS}, {"serializable", RATEL_HOLDS});
}

/* Large write sets are kept sorted by key; small ones are not, and random histories have no
   others. The keys are written from the last to the first, and one is read from the other writer.
   */
TEST(large_write_sets)
{
    enum { KEYS = 50 };
    static char history[16384];
    for (int odd = -1; odd < KEYS; odd += 7) {
        size_t n = 0;
        for (int writer = 1; writer <= 2; writer++) {
            n += (size_t)snprintf(history + n, sizeof history - n,
                                  "{\"session\":%d,\"id\":%d,\"ops\":[", writer, writer);
            for (int k = KEYS; k-- > 0;)
                n += (size_t)snprintf(history + n, sizeof history - n, "[\"w\",\"k%02d\",%d]%s", k,
                                      writer, k ? "," : "]}\n");
        }
        n += (size_t)snprintf(history + n, sizeof history - n, "{\"session\":3,\"id\":3,\"ops\":[");
        for (int k = 0; k < KEYS; k++)
            n += (size_t)snprintf(history + n, sizeof history - n, "[\"r\",\"k%02d\",%d]%s", k,
                                  k == odd ? 1 : 2, k < KEYS - 1 ? "," : "]}\n");
        ratel_verdict v = odd < 0 ? RATEL_HOLDS : RATEL_VIOLATED;
        EXPECT_EQ_INT(verdict_of(history, "read-committed"), RATEL_HOLDS);
        EXPECT_EQ_INT(verdict_of(history, "read-atomic"), v);
        EXPECT_EQ_INT(verdict_of(history, "serializable"), v);
        EXPECT_EQ_INT(verdict_of(history, "snapshot-isolation"), v);
    }
}

/* More sessions than a block of clocks has, and each of them writes one key twice, without reading:
   the random histories of the other suites have fewer. One more session sees the second write of
   session 3, and the last one sees that session and then reads x: the first write of session 3,
   which is too old, or the second one of session 50. */
TEST(many_sessions_that_write_one_key_twice)
{
    enum { SESSIONS = 70, SEEN = 3, OTHER = 50 };
    static char history[16384];
    for (int stale = 0; stale < 2; stale++) {
        size_t n = 0;
        for (int s = 0; s < SESSIONS; s++)
            for (int i = 0; i < 2; i++)
                n += (size_t)snprintf(history + n, sizeof history - n,
                                      "{\"session\":%d,\"ops\":[[\"w\",\"x\",%d]]}\n", s,
                                      2 * s + i + 1);
        snprintf(history + n, sizeof history - n,
                 "{\"session\":%d,\"ops\":[[\"r\",\"x\",%d],[\"w\",\"y\",1]]}\n"
                 "{\"session\":%d,\"ops\":[[\"r\",\"y\",1]]}\n"
                 "{\"session\":%d,\"ops\":[[\"r\",\"x\",%d]]}\n",
                 SESSIONS, 2 * SEEN + 2, SESSIONS + 1, SESSIONS + 1,
                 stale ? 2 * SEEN + 1 : 2 * OTHER + 2);
        ratel_verdict v = stale ? RATEL_VIOLATED : RATEL_HOLDS;
        EXPECT_EQ_INT(verdict_of(history, "read-atomic"), RATEL_HOLDS);
        EXPECT_EQ_INT(verdict_of(history, "causal"), v);
        EXPECT_EQ_INT(verdict_of(history, "serializable"), v);
        EXPECT_EQ_INT(verdict_of(history, "snapshot-isolation"), v);
    }
}

/* --- certificates of levels that are written as text ------------------------------------------ */

typedef struct text {
    char at[16384];
    size_t n;
} text;

static int add_text(const void *buf, size_t n, void *payload)
{
    text *t = payload;
    if (t->n + n >= sizeof t->at) return -1;
    memcpy(t->at + t->n, buf, n);
    t->n += n;
    t->at[t->n] = 0;
    return 0;
}

static const char definition[] = "level Own over co {\n    commit(co);\n}\n";
#define INIT "{\"ratel\":1,\"init\":{\"x\":0,\"y\":0}}\n"
static const char serial[] =
    INIT "{\"session\":1,\"id\":\"A\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1]]}\n"
         "{\"session\":2,\"id\":\"B\",\"ops\":[[\"r\",\"x\",1],[\"w\",\"y\",2]]}\n";
static const char circular[] =
    INIT "{\"session\":1,\"id\":\"A\",\"ops\":[[\"w\",\"x\",1],[\"r\",\"y\",2]]}\n"
         "{\"session\":2,\"id\":\"B\",\"ops\":[[\"w\",\"y\",2],[\"r\",\"x\",1]]}\n";
static const char garbage[] =
    INIT "{\"session\":1,\"id\":\"A\",\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",9]]}\n"
         "{\"session\":2,\"id\":\"B\",\"status\":\"unknown\",\"ops\":[[\"r\",\"x\",8]]}\n";

/* The head of the history's own certificate with another verdict and body: is it proved? */
static bool proves(const char *history, const char *body)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_verdict v;
    ratel_proof p = {0};
    text cert = {.n = 0};
    bytes in = {history, strlen(history)};
    if (ratel_open(&r, NULL) || ratel_history_read(&h, r, "ratel", give_bytes, &in) ||
        ratel_certify_definition(&v, r, h, definition, strlen(definition), NULL, add_text, &cert)) {
        FAIL(r ? ratel_errmsg(r) : "no context");
    } else {
        char *verdict = strstr(cert.at, "\nverdict ");
        cert.n = verdict ? (size_t)(verdict - cert.at) + 1 : 0;
        add_text(body, strlen(body), &cert);
        bytes forged = {cert.at, cert.n};
        if (ratel_verify(&p, r, h, give_bytes, &forged)) p.proved = 0;
    }
    ratel_history_free(h);
    ratel_close(r);
    return p.proved;
}

TEST(forged_orders_of_a_definition)
{
    EXPECT(proves(serial, "verdict holds\norder \"A\" \"B\"\nend 1\n"));
    EXPECT(proves(serial, "verdict holds\norder \"A\"\norder \"B\"\nend 2\n"));
    EXPECT(!proves(serial, "verdict holds\norder \"B\" \"A\"\nend 1\n"));
    EXPECT(!proves(serial, "verdict holds\norder \"A\"\nend 1\n"));
    EXPECT(!proves(serial, "verdict holds\norder \"B\"\nend 1\n"));
    EXPECT(!proves(serial, "verdict holds\nend 0\n"));
    EXPECT(!proves(serial, "verdict holds\norder \"A\" \"B\" \"A\"\nend 1\n"));
    EXPECT(!proves(circular, "verdict holds\norder \"A\" \"B\"\nend 1\n"));
    EXPECT(!proves(circular, "verdict holds\norder \"B\" \"A\"\nend 1\n"));
    EXPECT(!proves(circular, "verdict holds\nend 0\n"));
    EXPECT(!proves(garbage, "verdict holds\norder \"A\"\nend 1\n"));
}

TEST(forged_faults_of_a_definition)
{
    EXPECT(proves(garbage, "verdict violated\nfault \"A\" 1\nend 1\n"));
    EXPECT(!proves(garbage, "verdict violated\nfault \"A\" 0\nend 1\n"));
    EXPECT(!proves(garbage, "verdict violated\nfault \"A\" 2\nend 1\n"));
    EXPECT(!proves(garbage, "verdict violated\nfault \"B\" 0\nend 1\n")); /* it may have failed */
    EXPECT(!proves(serial, "verdict violated\nfault \"A\" 0\nend 1\n"));
    EXPECT(!proves(serial, "verdict violated\nfault \"B\" 0\nend 1\n"));
    /* about a part: what one outside of it wrote is no fault */
    EXPECT(proves(garbage, "verdict violated\npart \"A\"\nfault \"A\" 1\nend 2\n"));
    EXPECT(!proves(serial, "verdict violated\npart \"B\"\nfault \"B\" 0\nend 2\n"));
}

/* Whatever clauses are claimed, a history that is allowed cannot be refuted. */
TEST(forged_clauses_of_a_definition)
{
    char body[256];
    EXPECT(proves(circular, "verdict violated\nrup\nrup\nend 2\n"));
    EXPECT(!proves(circular, "verdict violated\nend 0\n"));
    EXPECT(!proves(serial, "verdict violated\nend 0\n"));
    EXPECT(!proves(serial, "verdict violated\nrup\nend 1\n"));
    for (int v = -40; v <= 40; v++)
        for (int w = -3; w <= 3; w++) {
            snprintf(body, sizeof body, "verdict violated\nrup %d\nrup %d\nrup\nend 3\n", v, w);
            EXPECT(!proves(serial, body));
            snprintf(body, sizeof body, "verdict violated\nrup %d %d\nend 1\n", v, w);
            EXPECT(!proves(serial, body));
        }
}

/* Ids that are numbers, and strings that look like them, are different names. */
TEST(certificates_name_numbers)
{
    static const char history[] =
        INIT "{\"session\":1,\"id\":1,\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1]]}\n"
             "{\"session\":2,\"id\":12,\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",2]]}\n"
             "{\"session\":3,\"id\":\"1\",\"ops\":[[\"r\",\"y\",0]]}\n"
             "{\"session\":4,\"id\":0,\"ops\":[[\"w\",\"y\",3]]}\n"
             "{\"session\":5,\"id\":9223372036854775807,\"ops\":[[\"r\",\"y\",3]]}\n";
    static const char *const levels[] = {"read-committed", "causal", "snapshot-isolation"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        asked q = ask(history, levels[i]);
        text cert = {.n = 0};
        ratel_proof p = {0};
        if (!q.a || ratel_result_certificate(q.a, q.r, q.h, add_text, &cert)) {
            FAIL("no certificate");
        } else {
            bytes in = {cert.at, cert.n};
            EXPECT_EQ_INT(ratel_verify(&p, q.r, q.h, give_bytes, &in), RATEL_OK);
            EXPECT(p.proved);
        }
        close_asked(&q);
    }
}

/* The history's own certificate at the level must be proved. */
static void expect_proved(const char *history, const char *level, ratel_verdict v)
{
    asked q = ask(history, level);
    text cert = {.n = 0};
    ratel_proof p = {0};
    if (!q.a || ratel_result_certificate(q.a, q.r, q.h, add_text, &cert)) {
        test_fail(__FILE__, __LINE__, "%s: no certificate: %s", level, ratel_errmsg(q.r));
    } else {
        bytes in = {cert.at, cert.n};
        EXPECT_EQ_INT(ratel_result_verdict(q.a), v);
        EXPECT_EQ_INT(ratel_verify(&p, q.r, q.h, give_bytes, &in), RATEL_OK);
        if (!p.proved) test_fail(__FILE__, __LINE__, "%s: %s\n%s", level, p.reason, cert.at);
    }
    close_asked(&q);
}

/* Whoever was read from, U or A, wrote y, too: whether U committed does not matter. */
TEST(certificates_with_unknown_sources)
{
    static const char history[] =
        INIT "{\"session\":1,\"id\":\"U\",\"status\":\"unknown\",\"ops\":[[\"w\",\"x\",1],"
             "[\"w\",\"y\",2]]}\n"
             "{\"session\":2,\"id\":\"A\",\"ops\":[[\"w\",\"x\",1],[\"w\",\"y\",3]]}\n"
             "{\"session\":3,\"id\":\"B\",\"ops\":[[\"r\",\"x\",1],[\"r\",\"y\",0]]}\n";
    static const char *const levels[] = {"read-atomic", "causal", "snapshot-isolation",
                                         "serializable"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        expect_proved(history, levels[i], RATEL_VIOLATED);
}

/* R read past U1, which leads to what it read; both must have committed, since they were read. */
TEST(certificates_of_readers)
{
    static const char history[] =
        INIT "{\"session\":1,\"id\":\"U1\",\"status\":\"unknown\",\"ops\":[[\"w\",\"y\",1]]}\n"
             "{\"session\":2,\"id\":\"U2\",\"status\":\"unknown\",\"ops\":[[\"r\",\"y\",1],"
             "[\"w\",\"x\",1]]}\n"
             "{\"session\":3,\"id\":\"R\",\"ops\":[[\"r\",\"x\",1],[\"r\",\"y\",0]]}\n";
    expect_proved(history, "update-serializable", RATEL_VIOLATED);
    expect_proved(history, "causal", RATEL_VIOLATED);
    expect_proved(history, "serializable", RATEL_VIOLATED);
}

/* Even dirty lists show one order of the committed appends. */
TEST(certificates_of_uncommitted_lists)
{
    static const char history[] =
        "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1],[\"append\",\"y\",1]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"append\",\"x\",2],[\"append\",\"y\",2]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"x\",[1,2]],[\"r\",\"y\",[2,1]]]}\n";
    expect_proved(history, "read-uncommitted", RATEL_VIOLATED);
    expect_proved(history, "read-committed", RATEL_VIOLATED);
    expect_proved(history, "serializable", RATEL_VIOLATED);
}

/* Two elements of the initial list, and one that was appended. */
TEST(certificates_of_initial_lists)
{
    static const char history[] = "{\"ratel\":1,\"init\":{\"x\":[8,9]}}\n"
                                  "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"x\",1]]}\n"
                                  "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",[8,9,1]]]}\n";
    expect_proved(history, "read-uncommitted", RATEL_HOLDS);
    expect_proved(history, "serializable", RATEL_HOLDS);
}

/* What positions show contradicts what was read, whichever z was read. */
TEST(certificates_of_positions)
{
    static const char history[] =
        "{\"session\":1,\"id\":1,\"ops\":[[\"r\",\"y\",5],[\"w\",\"x\",1,{\"ver\":1}]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"w\",\"x\",2,{\"ver\":2}],[\"w\",\"y\",5]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"w\",\"z\",1]]}\n"
        "{\"session\":4,\"id\":4,\"ops\":[[\"w\",\"z\",1]]}\n"
        "{\"session\":5,\"id\":5,\"ops\":[[\"r\",\"z\",1]]}\n";
    static const char *const levels[] = {"read-committed", "read-atomic", "causal", "serializable"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        expect_proved(history, levels[i], RATEL_VIOLATED);
}

/* The last item of an unfinished iterator was read, and nothing after it. */
TEST(certificates_of_unfinished_iterators)
{
    static const char *const format =
        "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"a\",1],[\"w\",\"b\",1],[\"w\",\"c\",1]]}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"w\",\"b\",2],[\"w\",\"d\",2]]}\n"
        "{\"session\":3,\"id\":3,\"ops\":[[\"r\",\"d\",%s],"
        "[\"iter\",\"a\",\"z\",[[\"a\",1],[\"b\",%d]],false]]}\n";
    char history[512];
    snprintf(history, sizeof history, format, "null", 2);
    expect_proved(history, "read-atomic", RATEL_VIOLATED);
    expect_proved(history, "serializable", RATEL_VIOLATED);
    expect_proved(history, "read-committed", RATEL_HOLDS);
    snprintf(history, sizeof history, format, "2", 2);
    expect_proved(history, "serializable", RATEL_HOLDS);
}

/* One of the violated histories needs clauses of literals; the others are refuted at once. */
TEST(certificates_of_a_definition)
{
    static const char lost[] =
        INIT "{\"session\":1,\"id\":\"A\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1]]}\n"
             "{\"session\":2,\"id\":\"B\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",2]]}\n";
    static const char skewed[] =
        INIT "{\"session\":1,\"id\":\"A\",\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",0],"
             "[\"w\",\"x\",1]]}\n"
             "{\"session\":2,\"id\":\"B\",\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",0],"
             "[\"w\",\"y\",2]]}\n";
    static const char branched[] =
        INIT "{\"session\":1,\"id\":\"A\",\"ops\":[[\"r\",\"y\",1],[\"w\",\"y\",1]]}\n"
             "{\"session\":2,\"id\":\"B\",\"ops\":[[\"r\",\"x\",2],[\"r\",\"y\",1],"
             "[\"w\",\"y\",1]]}\n"
             "{\"session\":3,\"id\":\"C\",\"ops\":[[\"w\",\"x\",2]]}\n"
             "{\"session\":4,\"id\":\"D\",\"ops\":[[\"r\",\"y\",1],[\"r\",\"x\",2]]}\n"
             "{\"session\":5,\"id\":\"E\",\"ops\":[[\"r\",\"y\",1],[\"r\",\"x\",2],"
             "[\"w\",\"y\",1],[\"w\",\"x\",2]]}\n";
    static const char *const histories[] = {lost, skewed, branched, circular, serial};
    for (size_t i = 0; i < sizeof histories / sizeof *histories; i++) {
        ratel *r = NULL;
        ratel_history *h = NULL;
        ratel_verdict v = RATEL_UNDECIDED;
        ratel_proof p = {0};
        text cert = {.n = 0};
        bytes in = {histories[i], strlen(histories[i])};
        if (ratel_open(&r, NULL) || ratel_history_read(&h, r, "ratel", give_bytes, &in) ||
            ratel_certify_definition(&v, r, h, definition, strlen(definition), NULL, add_text,
                                     &cert))
            FAIL(r ? ratel_errmsg(r) : "no context");
        bytes own = {cert.at, cert.n};
        EXPECT_EQ_INT(v, histories[i] == serial ? RATEL_HOLDS : RATEL_VIOLATED);
        EXPECT_EQ_INT(ratel_verify(&p, r, h, give_bytes, &own), RATEL_OK);
        EXPECT(p.proved);
        if (histories[i] == branched) EXPECT(!proves(branched, "verdict violated\nrup\nend 1\n"));
        ratel_history_free(h);
        ratel_close(r);
    }
}

/* --- steps that are refused, with the reason that is theirs ----------------------------------- */

/* The head of the history's own certificate with another body: why is it refused? */
static void expect_refusal(const char *history, const char *level, const char *body,
                           const char *reason)
{
    asked q = ask(history, level);
    text cert = {.n = 0};
    ratel_proof p = {0};
    if (!q.a || ratel_result_certificate(q.a, q.r, q.h, add_text, &cert)) {
        FAIL("no certificate");
    } else {
        char *verdict = strstr(cert.at, "\nverdict ");
        cert.n = verdict ? (size_t)(verdict - cert.at) + 1 : 0;
        add_text(body, strlen(body), &cert);
        bytes in = {cert.at, cert.n};
        EXPECT_EQ_INT(ratel_verify(&p, q.r, q.h, give_bytes, &in), RATEL_OK);
        EXPECT(!p.proved);
        if (!strstr(p.reason, reason)) test_fail(__FILE__, __LINE__, "%s: %s", body, p.reason);
    }
    close_asked(&q);
}

TEST(refused_steps)
{
    static const char history[] =
        INIT "{\"session\":1,\"id\":\"A\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1]]}\n"
             "{\"session\":2,\"id\":\"B\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",2]]}\n"
             "{\"session\":3,\"id\":\"C\",\"status\":\"aborted\",\"ops\":[[\"r\",\"y\",0]]}\n"
             "{\"session\":4,\"id\":\"D\",\"status\":\"unknown\",\"ops\":[[\"w\",\"y\",1]]}\n";
    static const struct {
        const char *level, *step, *reason;
    } cases[] = {
        {"serializable", "cycle \"A\" \"A\"", "an event is not before itself"},
        {"serializable", "cycle \"A\"", "two events at least"},
        {"serializable", "cycle \"A\" \"C\"", "an aborted transaction takes no part"},
        {"serializable", "rup \"A\"<\"A\" :", "an event is not before itself"},
        {"serializable", "stuck \"A\" fault \"A\"", "can be explained"},
        {"read-uncommitted", "stuck \"A\" fault \"A\"", "the level does not say so"},
        {"innodb-repeatable-read", "stuck \"C\" fault \"A\"", "an aborted transaction"},
        {"innodb-repeatable-read", "stuck \"A\" fault \"C\"", "an aborted transaction"},
        {"innodb-repeatable-read", "stuck \"A\" out \"C\"", "an aborted transaction"},
        {"innodb-repeatable-read", "stuck \"A\" out \"B\"", "one that committed took part"},
        {"innodb-repeatable-read", "stuck \"A\" fault \"A\"", "can be explained"},
        {"innodb-repeatable-read", "stuck \"A\" out \"D\"", "nothing says that it waits"},
        {"snapshot-isolation", "overlap \"x\" \"A\" \"C\"", "an aborted transaction"},
        {"serializable", "fault \"A\"", "can be explained"},
        {"serializable", "loop \"A\"", "the level does not say so"},
        {"update-serializable", "loop \"A\"", ""},
        {"read-committed", "read \"A\" 0 \"x\" init \"B\"", "the level does not say so"},
    };
    char body[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(body, sizeof body, "verdict violated\n1 %s\nend 1\n", cases[i].step);
        expect_refusal(history, cases[i].level, body, cases[i].reason);
    }
}

/* Orders that are no answer: a read past what had ended. */
TEST(refused_orders)
{
    static const char late[] =
        INIT "{\"session\":1,\"id\":\"W\",\"begin\":1,\"end\":2,\"ops\":[[\"w\",\"x\",1]]}\n"
             "{\"session\":2,\"id\":\"R\",\"begin\":3,\"end\":4,\"ops\":[[\"r\",\"x\",0]]}\n";
    static const char endless[] =
        INIT "{\"session\":1,\"id\":\"W\",\"begin\":1,\"end\":2,\"ops\":[[\"w\",\"x\",1]]}\n"
             "{\"session\":2,\"id\":\"R\",\"begin\":3,\"ops\":[[\"r\",\"x\",0]]}\n";
    expect_refusal(late, "realtime-update-serializable",
                   "verdict holds\norder \"W\" \"R\"\nend 1\n", "read past what leads");
    expect_refusal(late, "realtime-update-serializable",
                   "verdict holds\norder \"R\" \"W\"\nend 1\n", "");
    expect_refusal(endless, "realtime-update-serializable",
                   "verdict holds\norder \"W\" \"R\"\nend 1\n", "read past what leads");
}

/* Write skew, beside a key whose lists no step can speak of: all orders are tried, and one fits. */
TEST(refused_exhaustion)
{
    static const char skewed[] =
        INIT "{\"session\":1,\"id\":\"A\",\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",0],"
             "[\"w\",\"x\",1]]}\n"
             "{\"session\":2,\"id\":\"B\",\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",0],"
             "[\"w\",\"y\",2]]}\n";
    EXPECT_EQ_INT(verdict_of(skewed, "snapshot-isolation"), RATEL_HOLDS);
    expect_refusal(skewed, "snapshot-isolation", "verdict violated\n1 exhaustive\nend 1\n", "");
}

/* A certificate that ends too early: the place is the line that is missing. */
TEST(where_a_certificate_is_cut)
{
    asked q = ask(serial, "serializable");
    text cert = {.n = 0};
    ratel_proof p = {0};
    if (!q.a || ratel_result_certificate(q.a, q.r, q.h, add_text, &cert)) {
        FAIL("no certificate");
    } else {
        char *end = strstr(cert.at, "\nend ");
        cert.n = end ? (size_t)(end - cert.at) + 1 : 0;
        uint64_t lines = 0, line = 0, column = 0;
        for (size_t i = 0; i < cert.n; i++) lines += cert.at[i] == '\n';
        bytes in = {cert.at, cert.n};
        EXPECT_EQ_INT(ratel_verify(&p, q.r, q.h, give_bytes, &in), RATEL_EPARSE);
        EXPECT_EQ_INT(ratel_errpos(q.r, &line, &column), RATEL_OK);
        EXPECT_EQ_INT(line, lines + 1);
        EXPECT_EQ_INT(column, 1);
    }
    close_asked(&q);
}

/* Numbers are digits: nothing else may stand in them, and no zero before them. */
TEST(numbers_of_certificates)
{
    static const char *const numbers[] = {
        "", "1a", "a", "01", "-1", "+1", "1.", "0x1", " 1", "18446744073709551616", ":", "/;"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char body[128];
        asked q = ask(serial, "serializable");
        text cert = {.n = 0};
        ratel_proof p = {0};
        if (!q.a || ratel_result_certificate(q.a, q.r, q.h, add_text, &cert)) {
            FAIL("no certificate");
        } else {
            char *end = strstr(cert.at, "\nend ");
            cert.n = end ? (size_t)(end - cert.at) + 1 : 0;
            snprintf(body, sizeof body, "end %s\n", numbers[i]);
            add_text(body, strlen(body), &cert);
            bytes in = {cert.at, cert.n};
            EXPECT_EQ_INT(ratel_verify(&p, q.r, q.h, give_bytes, &in), RATEL_EPARSE);
        }
        close_asked(&q);
    }
}

/* Changes of modules name operations of transactions, and the initial state has none. */
TEST(changes_of_certificates)
{
    static const char *const changes[] = {
        "drop init 0",    "drop \"A\" 9",   "drop \"Z\" 0",       "drop \"A\"",
        "vanish \"A\" 0", "drop \"A\" 0 0", "absent-row \"A\" 0", "absent-row \"A\" 0 4294967295"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        asked q = ask(serial, "serializable");
        text cert = {.n = 0}, forged = {.n = 0};
        ratel_proof p = {0};
        if (!q.a || ratel_result_certificate(q.a, q.r, q.h, add_text, &cert)) {
            FAIL("no certificate");
        } else {
            char *verdict = strstr(cert.at, "\nverdict "), line[128];
            size_t head = verdict ? (size_t)(verdict - cert.at) + 1 : 0;
            snprintf(line, sizeof line, "changes 1 \"m\"\n%s\n", changes[i]);
            add_text(cert.at, head, &forged);
            add_text(line, strlen(line), &forged);
            add_text(cert.at + head, cert.n - head, &forged);
            bytes in = {forged.at, forged.n};
            if (ratel_verify(&p, q.r, q.h, give_bytes, &in) != RATEL_EPARSE)
                test_fail(__FILE__, __LINE__, "%s: %s", changes[i], p.reason);
        }
        close_asked(&q);
    }
}

/* --- the native format ------------------------------------------------------------------------ */

/* What rows and predicates were read from comes back as it was, for each operation by itself. */
TEST(marks_of_scans_come_back)
{
    static const char history[] =
        "{\"ratel\":1,\"init\":0}\n"
        "{\"session\":1,\"id\":\"A\",\"ops\":[[\"w\",\"a\",1],[\"w\",\"b\",2]]}\n"
        "{\"session\":2,\"id\":\"B\",\"ops\":[[\"scan\",\"a\",\"c\",[[\"a\",1],[\"b\",2]],"
        "{\"from\":[null,\"A\"]}],[\"scan\",\"a\",\"c\",[[\"a\",1],[\"b\",2]],{\"from\":[\"A\","
        "null],\"vset\":[[\"a\",\"A\"],[\"b\",null]]}],[\"scan\",\"a\",\"b\",[[\"a\",1]],"
        "{\"vset\":[[\"a\",\"A\"]]}],[\"scan\",\"a\",\"b\",[[\"a\",1]],{\"vset\":[[\"a\",null],"
        "[\"b\",\"A\"]]}]]}\n";
    static const char *const formats[] = {"ratel", "ratel-bin"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        ratel *r = NULL;
        ratel_history *h = NULL, *again = NULL;
        text middle = {.n = 0}, end = {.n = 0};
        bytes in = {history, strlen(history)};
        bool ok = !ratel_open(&r, NULL) && !ratel_history_read(&h, r, "ratel", give_bytes, &in) &&
                  !ratel_history_write(h, r, formats[i], add_text, &middle);
        bytes second = {middle.at, middle.n};
        ok = ok && !ratel_history_read(&again, r, formats[i], give_bytes, &second) &&
             !ratel_history_write(again, r, "ratel", add_text, &end);
        if (!ok) FAIL(r ? ratel_errmsg(r) : "no context");
        EXPECT(!strcmp(end.at, history));
        ratel_history_free(h);
        ratel_history_free(again);
        ratel_close(r);
    }
}

/* Sixteen marks, the last of a set the last of all: as many as their array has room for. */
TEST(marks_that_fill_their_array)
{
    char history[2048];
    int n = snprintf(history, sizeof history,
                     "{\"ratel\":1,\"init\":0}\n"
                     "{\"session\":1,\"id\":\"A\",\"ops\":[[\"w\",\"a\",1]]}\n"
                     "{\"session\":2,\"id\":\"B\",\"ops\":[");
    for (int i = 0; i < 8; i++)
        n +=
            snprintf(history + n, sizeof history - (size_t)n,
                     "%s[\"scan\",\"a\",\"b\",[[\"a\",1]],{\"vset\":[[\"a\",\"A\"],[\"b\",null]]}]",
                     i ? "," : "");
    snprintf(history + n, sizeof history - (size_t)n, "]}\n");
    ratel *r = NULL;
    ratel_history *h = NULL;
    text again = {.n = 0};
    bytes in = {history, strlen(history)};
    if (ratel_open(&r, NULL) || ratel_history_read(&h, r, "ratel", give_bytes, &in) ||
        ratel_history_write(h, r, "ratel", add_text, &again))
        FAIL(r ? ratel_errmsg(r) : "no context");
    EXPECT(!strcmp(again.at, history));
    ratel_history_free(h);
    ratel_close(r);
}

/* As many operations as their arrays have room for: no list is among them, which read-uncommitted
   would be refused for. */
TEST(operations_that_fill_their_array)
{
    char history[8192];
    int n = snprintf(history, sizeof history, "{\"ratel\":1,\"init\":0}\n");
    for (int i = 0; i < 4; i++) {
        n += snprintf(history + n, sizeof history - (size_t)n,
                      "{\"session\":%d,\"id\":%d,\"level\":\"%s\",\"ops\":[", i, i,
                      i ? "serializable" : "read-uncommitted");
        for (int k = 0; k < 64; k++)
            n += snprintf(history + n, sizeof history - (size_t)n, "%s[\"%s\",%d,%d]", k ? "," : "",
                          i ? "w" : "r", k, i);
        n += snprintf(history + n, sizeof history - (size_t)n, "]}\n");
    }
    EXPECT_EQ_INT(verdict_of(history, "mixed"), RATEL_HOLDS);
}

/* The bytes of a column of the binary format, whose checksum is made anew after a forgery. */
typedef struct column {
    char *at;
    size_t n;
    uint32_t tag;
} column;

static column column_of(text *file, const char *tag)
{
    column c = {0};
    for (size_t i = 16; i + 24 <= file->n && !c.at; i++) {
        if (memcmp(file->at + i, tag, 4) != 0) continue;
        uint32_t width;
        uint64_t count;
        memcpy(&c.tag, tag, 4);
        memcpy(&width, file->at + i + 4, 4);
        memcpy(&count, file->at + i + 8, 8);
        c.at = file->at + i + 16;
        c.n = (size_t)(width * count);
    }
    if (!c.at) FAIL("the file has no such column");
    return c;
}

static void seal_column(column c)
{
    uint64_t sum = hash_pair(c.tag, hash_bytes(c.at, c.n, 0));
    for (size_t i = 0; i < 8; i++) c.at[c.n + i] = (char)(sum >> (8 * i));
}

static int reads_as(const text *file)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    bytes in = {file->at, file->n};
    int code = ratel_open(&r, NULL);
    if (!code) code = ratel_history_read(&h, r, "ratel-bin", give_bytes, &in);
    ratel_history_free(h);
    ratel_close(r);
    return code;
}

/* Files with right checksums that speak of transactions and times which are not there. */
TEST(forged_binary_files)
{
    static const char history[] =
        "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"x\",1]],\"note\":\"a\"}\n"
        "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",1]],\"note\":\"b\"}\n";
    ratel *r = NULL;
    ratel_history *h = NULL;
    text file = {.n = 0};
    bytes in = {history, strlen(history)};
    if (ratel_open(&r, NULL) || ratel_history_read(&h, r, "ratel", give_bytes, &in) ||
        ratel_history_write(h, r, "ratel-bin", add_text, &file)) {
        FAIL(r ? ratel_errmsg(r) : "no context");
    } else {
        EXPECT_EQ_INT(reads_as(&file), RATEL_OK);
        column field = column_of(&file, "XTRA"), flag = column_of(&file, "TFLG");
        EXPECT_EQ_INT(field.n, 24);
        for (int t = 2; t < 256 && field.at; t += 50) {
            field.at[12] = (char)t; /* the transaction of the second field */
            seal_column(field);
            EXPECT_EQ_INT(reads_as(&file), RATEL_EPARSE);
        }
        field.at[12] = 1;
        seal_column(field);
        EXPECT_EQ_INT(reads_as(&file), RATEL_OK);
        for (int bit = 2; bit <= 7 && flag.at; bit++) { /* begin, end, and other times */
            char was = flag.at[0];
            flag.at[0] = (char)(was | (1 << bit));
            seal_column(flag);
            EXPECT_EQ_INT(reads_as(&file), RATEL_EPARSE);
            flag.at[0] = was;
        }
    }
    ratel_history_free(h);
    ratel_close(r);
}

TEST_MAIN
