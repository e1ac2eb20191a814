/*
 * Tests of src/lib/verify/recheck*.c: answers that are right stand, answers that were tampered with
 * do not.  That no answer on random histories is refused: test/diff/levels.
 */
#include "counter.h"
#include "read_help.h"

#include "verdict/verdict.h"

typedef struct answer {
    guard guard, history_guard;
    history *h;
    verdict v;
    mem mem, work;
    char why[512];
} answer;

static void close_answer(answer *a)
{
    history_free(a->h);
    mem_free_all(&a->mem);
    mem_free_all(&a->work);
}

static bool open_answer(answer *a, const char *json, const char *level, bool so)
{
    memset(a, 0, sizeof *a);
    guard_init(&a->guard);
    mem_init(&a->mem, NULL, NULL, &a->guard);
    mem_init(&a->work, NULL, NULL, &a->guard);
    a->h = load(&a->history_guard, "ratel", json, strlen(json));
    a->v.mem = &a->mem;
    a->v.session_order = so;
    a->v.anomaly = ANOMALIES;
    return a->h && level_named(&a->v.level, level);
}

/* The product's own answer. */
static bool ask(answer *a, const char *json, const char *level, bool so)
{
    if (!open_answer(a, json, level, so) || guard_armed(&a->guard)) return false;
    question q = {.level = level, .session_order = so, .policy = POLICY_MUST, .quick = true};
    judge(&a->v, a->h, &q, &a->work);
    return true;
}

static bool stands(answer *a)
{
    static bool ok; /* static: it must survive the jump */
    const char *why = NULL;
    mem m;
    guard_init(&a->guard);
    mem_init(&m, NULL, NULL, &a->guard);
    ok = false;
    if (!guard_armed(&a->guard)) {
        ok = recheck(&a->v, a->h, &m, &why);
        snprintf(a->why, sizeof a->why, "%s", why ? why : "");
        if (!ok) EXPECT(why && *why);
    } else {
        FAIL(a->guard.text);
    }
    mem_free_all(&m);
    return ok;
}

static txn_id named(const history *h, const char *id)
{
    for (txn_id t = 0; t < h->txns; t++) {
        atom a = label_atom(h, h->txn_label[t]);
        if (a.kind == ATOM_STR && a.len == strlen(id) && !memcmp(atom_bytes(h, a), id, a.len))
            return t;
    }
    return NO_ID;
}

static key_id key_named(const history *h, const char *name)
{
    for (key_id k = 0; k < history_keys(h); k++) {
        atom a = key_atom(h, k);
        if (a.kind == ATOM_STR && a.len == strlen(name) && !memcmp(atom_bytes(h, a), name, a.len))
            return k;
    }
    return NO_ID;
}

static void choose(answer *a, op_id op, const char *key, const char *writer)
{
    chosen c = {op, key_named(a->h, key), *writer ? named(a->h, writer) : NO_ID};
    vec_push(&a->mem, &a->v.choices, c);
}

/* --- which orders are witnesses -------------------------------------------------------------- */

/* Tries every order of the transactions that `all` names (one letter each); exactly those of
   `good` must be accepted as witnesses that the level holds. */
static void permute(answer *a, char *order, size_t done, size_t n, const char *good,
                    const char *what)
{
    if (done == n) {
        for (size_t i = 0; i < n; i++) {
            char id[2] = {order[i], 0};
            a->v.order[i] = named(a->h, id);
        }
        bool want = strstr(good, order) != NULL, got = stands(a);
        if (got != want)
            test_fail(__FILE__, __LINE__, "%s: order %s %s %s", what, order,
                      got ? "was accepted" : "was refused:", a->why);
        return;
    }
    for (size_t i = done; i < n; i++) {
        char x = order[done];
        order[done] = order[i];
        order[i] = x;
        permute(a, order, done + 1, n, good, what);
        x = order[done];
        order[done] = order[i];
        order[i] = x;
    }
}

static void orders(const char *level, bool so, const char *all, const char *good, const char *json)
{
    answer a;
    char order[8], what[160];
    snprintf(order, sizeof order, "%s", all);
    snprintf(what, sizeof what, "%s%s of %.100s", level, so ? "" : " without sessions", json);
    REQUIRE(open_answer(&a, json, level, so));
    a.v.outcome = OUTCOME_HOLDS;
    a.v.ordered = (uint32_t)strlen(all);
    a.v.order = mem_array(&a.mem, txn_id, 8);
    permute(&a, order, 0, a.v.ordered, good, what);
    close_answer(&a);
}

#define T(session, id, ops) "{\"session\":" #session ",\"id\":\"" id "\",\"ops\":[" ops "]}\n"
#define U(session, id, ops)                                                                        \
    "{\"session\":" #session ",\"id\":\"" id "\",\"status\":\"unknown\",\"ops\":[" ops "]}\n"
#define A(session, id, ops)                                                                        \
    "{\"session\":" #session ",\"id\":\"" id "\",\"status\":\"aborted\",\"ops\":[" ops "]}\n"
#define R(k, v) "[\"r\",\"" k "\"," v "]"
#define W(k, v) "[\"w\",\"" k "\"," v "]"
#define APPEND(k, v) "[\"append\",\"" k "\"," v "]"
#define ALL3 "abc acb bac bca cab cba"

TEST(writers_come_first)
{
    const char *h =
        T(1, "a", W("x", "1")) T(2, "b", R("x", "1") "," W("x", "2")) T(3, "c", R("x", "2"));
    orders("ru", true, "abc", ALL3, h);
    orders("rc", true, "abc", "abc", h);
    orders("mav", false, "abc", "abc", h);
    orders("ra", true, "abc", "abc", h);
    orders("causal", false, "abc", "abc", h);
}

TEST(session_before)
{
    const char *h = T(1, "a", W("x", "1")) T(2, "b", W("x", "2")) T(1, "c", R("x", "2"));
    orders("ru", true, "abc", "abc acb bac", h);
    orders("ru", false, "abc", ALL3, h);
    orders("rc", true, "abc", "abc bac", h);
    orders("rc", false, "abc", "abc bac bca", h);
    orders("mav", true, "abc", "abc bac", h);
    orders("ra", true, "abc", "abc", h);
    orders("ra", false, "abc", "abc bac bca", h);
    orders("causal", true, "abc", "abc", h);
}

TEST(read_in_an_earlier_operation)
{
    const char *h = T(1, "a", W("x", "1") "," W("y", "1")) T(2, "b", W("y", "2"))
        T(3, "c", R("x", "1") "," R("y", "2"));
    orders("rc", true, "abc", "abc bac", h);
    orders("mav", true, "abc", "abc", h);
    orders("ra", false, "abc", "abc", h);
    h = T(1, "a", W("x", "1") "," W("y", "1")) T(2, "b", W("y", "2"))
        T(3, "c", R("y", "2") "," R("x", "1"));
    orders("mav", true, "abc", "abc bac", h);
    orders("ra", true, "abc", "abc", h);
    /* the rows of one scan are simultaneous */
    h = T(1, "a", W("x", "1") "," W("y", "1")) T(2, "b", W("y", "2"))
        T(3, "c", "[\"scan\",null,null,[[\"x\",1],[\"y\",2]]]");
    orders("mav", true, "abc", "abc bac", h);
    orders("ra", true, "abc", "abc", h);
}

#define CAUSAL                                                                                     \
    T(1, "a", W("x", "1"))                                                                         \
    T(2, "b", R("x", "1") "," W("y", "1"))                                                         \
    T(3, "c", W("x", "2")) T(4, "d", R("y", "1") "," R("x", "2"))

TEST(reached_by_a_path)
{
    orders("ra", true, "abcd", "abcd acbd cabd", CAUSAL);
    orders("causal", true, "abcd", "abcd acbd", CAUSAL);
    orders("causal", false, "abcd", "abcd acbd", CAUSAL);
}

TEST(initial_state)
{
    const char *h =
        T(1, "a", W("x", "1") "," W("y", "1")) T(2, "b", R("x", "1") "," R("y", "null"));
    orders("rc", true, "ab", "ab", h);
    orders("mav", true, "ab", "", h);
    orders("ra", true, "ab", "", h);
    orders("causal", false, "ab", "", h);
    h = "{\"ratel\":1,\"init\":{\"x\":7}}\n" T(1, "a", W("x", "1")) T(2, "b", R("x", "7"));
    orders("causal", true, "ab", "ab ba", h);
    h = "{\"ratel\":1,\"init_unknown\":true}\n" T(1, "a", R("x", "7")) T(2, "b", R("x", "7"));
    orders("causal", true, "ab", "ab ba", h);
    orders("ru", true, "ab", "ab ba", h);
    h = "{\"ratel\":1,\"init_unknown\":true}\n" T(1, "a", R("x", "7")) T(2, "b", R("x", "8"));
    orders("causal", true, "ab", "", h);
    orders("ru", true, "ab", "", h);
}

TEST(lists)
{
    const char *h =
        T(1, "a", APPEND("l", "1")) T(2, "b", APPEND("l", "2")) T(3, "c", R("l", "[1,2]"));
    orders("ru", true, "abc", "abc acb cab", h);
    orders("rc", true, "abc", "abc", h);
    /* a read after own appends pins the place */
    h = T(1, "a", APPEND("l", "1")) T(2, "b", APPEND("l", "2") "," R("l", "[1,2]"))
        T(3, "c", APPEND("l", "3"));
    orders("ru", true, "abc", "abc acb cab", h);
    orders("rc", true, "abc", "abc", h);
    /* unread appends float behind */
    h = T(1, "a", APPEND("l", "1")) T(2, "b", APPEND("l", "2")) T(3, "c", R("l", "[1]"));
    orders("rc", true, "abc", "abc acb", h);
    /* repeated elements, and a write among the appends: replay is enough */
    h = T(1, "a", APPEND("l", "1")) T(2, "b", APPEND("l", "1")) T(3, "c", R("l", "[1,1]"));
    orders("rc", true, "abc", "abc bac", h);
    h = T(1, "a", APPEND("l", "1")) T(2, "b", W("l", "5")) T(3, "c", R("l", "[5,1]"));
    orders("rc", true, "abc", "bac", h);
    h = "{\"ratel\":1,\"init\":{\"l\":[9]}}\n" T(1, "a", APPEND("l", "1")) T(2, "b", R("l", "[9]"))
        T(3, "c", R("l", "[9,1]"));
    orders("rc", true, "abc", "abc acb bac", h);
    orders("causal", true, "abc", "abc acb bac", h);
}

TEST(hints)
{
    const char *h =
        T(1, "a", "[\"w\",\"x\",1,{\"ver\":2}]") T(2, "b", "[\"w\",\"x\",2,{\"ver\":1}]");
    orders("ru", true, "ab", "ba", h);
    orders("rc", true, "ab", "ba", h);
    h = T(1, "a", W("x", "1")) T(2, "b", W("x", "1")) T(3, "c", "[\"r\",\"x\",1,{\"from\":\"b\"}]");
    orders("rc", true, "abc", "abc bac bca", h);
    h = "{\"ratel\":1,\"init\":{\"x\":1}}\n" T(1, "a", W("x", "1"))
        T(2, "b", "[\"r\",\"x\",1,{\"from\":null}]");
    orders("rc", true, "ab", "ab ba", h);
    h = T(1, "a", "[\"d\",\"x\"]") T(2, "b", "[\"scan\",null,null,[],{\"vset\":[[\"x\",\"a\"]]}]");
    orders("rc", true, "ab", "ab", h);
}

TEST(unknown_outcomes)
{
    const char *h = T(1, "a", W("x", "1")) U(1, "u", R("x", "1")) T(1, "c", W("x", "2"));
    orders("rc", true, "auc", "auc acu", h);
    orders("rc", true, "ac", "ac", h); /* it may be left out */
    orders("rc", true, "au", "", h);   /* a committed one may not */
    orders("causal", true, "auc", "auc acu", h);
    orders("ra", true, "auc", "auc acu", h);
    h = A(1, "a", W("x", "1")) T(1, "b", R("x", "null"));
    orders("rc", true, "b", "b", h);
    orders("rc", true, "ab", "", h);
}

TEST(own_writes)
{
    const char *h = T(1, "a", W("x", "1") "," R("x", "1")) T(2, "b", W("x", "2"));
    orders("causal", true, "ab", "ab ba", h);
    h = T(1, "a", W("x", "1") "," R("x", "2")) T(2, "b", W("x", "2"));
    orders("causal", true, "ab", "", h);
    orders("ru", true, "ab", "ab ba", h);
}

TEST(past_the_first_block_of_chains)
{
    /* sixty sessions before the ones that matter */
    char json[8192];
    size_t n = 0;
    for (int i = 0; i < 60; i++)
        n += (size_t)snprintf(json + n, sizeof json - n,
                              "{\"session\":%d,\"id\":%d,\"ops\":[[\"w\",\"f%d\",1]]}\n", 10 + i, i,
                              i);
    snprintf(json + n, sizeof json - n, "%s", CAUSAL);
    answer a;
    REQUIRE(open_answer(&a, json, "causal", true));
    a.v.outcome = OUTCOME_HOLDS;
    a.v.ordered = 64;
    a.v.order = mem_array(&a.mem, txn_id, 64);
    for (txn_id t = 0; t < 64; t++) a.v.order[t] = t;
    EXPECT(stands(&a));
    a.v.order[60] = 62; /* c before a */
    a.v.order[61] = 60;
    a.v.order[62] = 61;
    EXPECT(!stands(&a));
    close_answer(&a);
}

/* --- choices --------------------------------------------------------------------------------- */

TEST(choices)
{
    const char *h = T(1, "a", W("x", "1")) T(2, "b", W("x", "1")) T(3, "c", R("x", "1"))
        T(4, "d", W("x", "2") "," W("y", "1")) A(5, "z", W("x", "1"));
    static const struct {
        const char *writer, *order;
        bool stands;
    } cases[] = {{"a", "abcd", true},  {"b", "abcd", true},  {"a", "acbd", true},
                 {"b", "acbd", false}, {"c", "abcd", false}, {"d", "dabc", false},
                 {"z", "abcd", false}, {"", "abcd", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        answer a;
        REQUIRE(open_answer(&a, h, "rc", true));
        a.v.outcome = OUTCOME_HOLDS;
        a.v.ordered = 4;
        a.v.order = mem_array(&a.mem, txn_id, 4);
        for (size_t j = 0; j < 4; j++) {
            char id[2] = {cases[i].order[j], 0};
            a.v.order[j] = named(a.h, id);
        }
        EXPECT(stands(&a)); /* two writers, and none named: the last one before it */
        choose(&a, 2, "x", cases[i].writer);
        if (stands(&a) != cases[i].stands)
            test_fail(__FILE__, __LINE__, "writer %s, order %s: %s", cases[i].writer,
                      cases[i].order, a.why);
        close_answer(&a);
    }
}

/* Where one writer is named, the others must be. */
TEST(choices_are_for_all_reads)
{
    const char *h =
        T(1, "a", W("x", "1")) T(2, "b", W("x", "1")) T(3, "c", R("x", "1")) T(4, "d", R("x", "1"));
    answer a;
    REQUIRE(open_answer(&a, h, "rc", true));
    a.v.outcome = OUTCOME_HOLDS;
    a.v.ordered = 4;
    a.v.order = mem_array(&a.mem, txn_id, 4);
    for (txn_id t = 0; t < 4; t++) a.v.order[t] = t;
    choose(&a, 2, "x", "a");
    EXPECT(!stands(&a));
    EXPECT(strstr(a.why, "several possible writers"));
    choose(&a, 3, "x", "b");
    EXPECT(stands(&a));
    close_answer(&a);
}

/* --- the product's answers, tampered with ---------------------------------------------------- */

static const char *const good_histories[] = {
    T(1, "a", W("x", "1")) T(2, "b", R("x", "1") "," W("x", "2")) T(1, "c", R("x", "2")),
    T(1, "a", W("x", "1")) T(1, "b", W("x", "1")) T(2, "c", R("x", "1")) T(2, "d", W("x", "1")),
    T(1, "a", APPEND("l", "1")) T(1, "b", APPEND("l", "2") "," R("l", "[1,2]"))
        T(2, "c", R("l", "[1]")),
    T(1, "a", W("x", "1")) U(2, "b", R("x", "1") "," W("x", "2")) T(1, "c", R("x", "2"))
        A(3, "d", W("x", "3")),
};

TEST(orders_tampered_with)
{
    for (size_t i = 0; i < sizeof good_histories / sizeof *good_histories; i++)
        for (const char *const *level = (const char *const[]){"rc", "mav", "ra", "causal", NULL};
             *level; level++) {
            answer a;
            REQUIRE(ask(&a, good_histories[i], *level, true));
            EXPECT_EQ_INT(a.v.outcome, OUTCOME_HOLDS);
            EXPECT(stands(&a));
            REQUIRE(a.v.ordered >= 3);
            txn_id kept = a.v.order[0];
            a.v.order[0] = a.v.order[1]; /* one twice, one not at all */
            EXPECT(!stands(&a));
            a.v.order[0] = (txn_id)a.h->txns;
            EXPECT(!stands(&a));
            a.v.order[0] = kept;
            for (uint32_t j = 0; j < a.v.ordered; j++) { /* first and second of session 1 */
                txn_id t = a.v.order[j];
                a.v.order[j] = a.v.order[0];
                a.v.order[0] = t;
                EXPECT(stands(&a) == (j == 0));
                a.v.order[0] = a.v.order[j];
                a.v.order[j] = t;
            }
            a.v.ordered--; /* the last is left out */
            EXPECT(!stands(&a));
            a.v.ordered++;
            EXPECT(stands(&a));
            close_answer(&a);
        }
}

typedef struct bad {
    const char *json, *level;
    uint32_t anomaly;
} bad;

static const bad faults[] = {
    {A(1, "a", W("x", "1")) T(2, "b", R("x", "1")), "rc", ANOMALY_ABORTED_READ},
    {A(1, "a", APPEND("l", "1")) T(2, "b", R("l", "[1]")), "rc", ANOMALY_ABORTED_READ},
    {T(1, "a", W("x", "1") "," W("x", "2")) T(2, "b", R("x", "1")), "rc",
     ANOMALY_INTERMEDIATE_READ},
    {T(1, "a", APPEND("l", "1") "," APPEND("l", "2")) T(2, "b", R("l", "[1]")), "rc",
     ANOMALY_INTERMEDIATE_READ},
    {T(1, "a", R("x", "1")) T(2, "b", W("x", "2")), "ru", ANOMALY_GARBAGE_READ},
    {T(1, "a", R("l", "[1,5]")) T(2, "b", APPEND("l", "1")), "causal", ANOMALY_GARBAGE_READ},
    {"{\"ratel\":1,\"init_unknown\":true}\n" T(1, "a", R("x", "1")) T(2, "b", R("x", "2")), "rc",
     ANOMALY_GARBAGE_READ},
    {T(1, "a", R("x", "1") "," W("x", "1")), "rc", ANOMALY_FUTURE_READ},
    {T(1, "a", R("l", "[1]") "," APPEND("l", "1")), "rc", ANOMALY_FUTURE_READ},
    {T(1, "a", W("x", "1") "," R("x", "2")) T(2, "b", W("x", "2")), "rc", ANOMALY_NOT_OWN_WRITE},
    {T(1, "a", APPEND("l", "1") "," R("l", "[2]")) T(2, "b", APPEND("l", "2")), "rc",
     ANOMALY_NOT_OWN_WRITE},
    {T(1, "a", "[\"scan\",\"a\",\"c\",[[\"d\",1]]]") T(1, "b", W("d", "1")), "ru",
     ANOMALY_MALFORMED_RESULT},
    {T(1, "a", APPEND("l", "1")) T(2, "b", APPEND("l", "2")) T(3, "c", R("l", "[1,2]"))
         T(4, "d", R("l", "[2,1]")),
     "rc", ANOMALY_INCOMPATIBLE_ORDER},
    {T(1, "a", APPEND("l", "1") "," APPEND("l", "3")) T(2, "b", APPEND("l", "2"))
         T(3, "c", R("l", "[1,2,3]")),
     "rc", ANOMALY_INCOMPATIBLE_ORDER},
    {"{\"ratel\":1,\"init\":{\"l\":[9]}}\n" T(1, "a", APPEND("l", "1")) T(3, "c", R("l", "[1,9]")),
     "ru", ANOMALY_INCOMPATIBLE_ORDER},
};

TEST(faults_tampered_with)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        answer a;
        REQUIRE(ask(&a, faults[i].json, faults[i].level, true));
        EXPECT_EQ_INT(a.v.outcome, OUTCOME_VIOLATED);
        EXPECT_STR(anomaly_at(a.v.anomaly)->name, anomaly_at(faults[i].anomaly)->name);
        if (!stands(&a)) test_fail(__FILE__, __LINE__, "%s: %s", faults[i].json, a.why);
        uint32_t right = a.v.anomaly;
        for (uint32_t x = 0; x < ANOMALIES; x++) {
            a.v.anomaly = x;
            if (x != right && stands(&a))
                test_fail(__FILE__, __LINE__, "%s: passes for %s", faults[i].json,
                          anomaly_at(x)->name);
        }
        a.v.anomaly = right;
        bool guilty[8] = {false};
        for (size_t j = 0; j < a.v.core.n; j++) guilty[a.v.core.at[j]] = true;
        a.v.core.n = 0;
        for (txn_id t = 0; t < a.h->txns; t++) /* blame those who have nothing to do with it */
            if (!guilty[t]) vec_push(&a.mem, &a.v.core, t);
        /* of two values that nobody wrote, either is the wrong one */
        if (!a.h->init_unknown) EXPECT(!stands(&a));
        a.v.core.n = 0;
        vec_push(&a.mem, &a.v.core, 0);
        a.v.core.at[0] = (txn_id)a.h->txns;
        EXPECT(!stands(&a));
        a.v.core.n = 0;
        EXPECT(!stands(&a));
        close_answer(&a);
    }
}

/* A list shows the appenders of its elements, and not those of the list that was read next. */
TEST(who_committed_is_shown_by_a_list)
{
    for (int shown = 0; shown < 2; shown++) {
        answer a;
        const char *h =
            shown ? T(1, "a", APPEND("l", "1")) U(2, "b", APPEND("l", "2") "," R("x", "99"))
                        T(3, "c", R("l", "[1,2]")) A(4, "d", R("l", "[2]"))
                  : T(1, "a", APPEND("l", "1")) U(2, "b", APPEND("l", "2") "," R("x", "99"))
                        T(3, "c", R("l", "[1]")) A(4, "d", R("l", "[2]"));
        REQUIRE(open_answer(&a, h, "rc", true));
        a.v.outcome = OUTCOME_VIOLATED;
        a.v.anomaly = ANOMALY_GARBAGE_READ;
        vec_push(&a.mem, &a.v.core, named(a.h, "b"));
        vec_push(&a.mem, &a.v.core, named(a.h, "c"));
        if (stands(&a) != (bool)shown) test_fail(__FILE__, __LINE__, "%s: %s", h, a.why);
        close_answer(&a);
    }
}

/* An element that was appended once is in the list twice: there is no order of the appends. */
TEST(lists_that_are_impossible)
{
    const char *h =
        T(1, "a", APPEND("l", "1")) T(2, "b", APPEND("l", "2")) T(3, "c", R("l", "[1,2,1]"));
    answer a;
    REQUIRE(open_answer(&a, h, "rc", true));
    a.v.outcome = OUTCOME_VIOLATED;
    a.v.anomaly = ANOMALY_INCOMPATIBLE_ORDER;
    vec_push(&a.mem, &a.v.core, named(a.h, "c"));
    EXPECT(stands(&a));
    close_answer(&a);
}

/* A list of whole transactions, one of which appended to another key before: nothing is wrong. */
TEST(lists_that_are_possible)
{
    const char *h = T(1, "a", APPEND("k", "1") "," APPEND("l", "2") "," APPEND("l", "3"))
        T(2, "b", APPEND("l", "4")) T(3, "c", R("l", "[2,3,4]"));
    answer a;
    REQUIRE(open_answer(&a, h, "rc", true));
    a.v.outcome = OUTCOME_VIOLATED;
    for (txn_id t = 0; t < 3; t++) vec_push(&a.mem, &a.v.core, t);
    for (uint32_t x = 0; x < ANOMALIES; x++) {
        a.v.anomaly = x;
        if (stands(&a)) test_fail(__FILE__, __LINE__, "passes for %s", anomaly_at(x)->name);
    }
    close_answer(&a);
}

static const bad cycles[] = {
    {T(1, "a", R("x", "1") "," W("y", "1")) T(2, "b", R("y", "1") "," W("x", "1")), "rc",
     ANOMALY_CIRCULAR_INFORMATION_FLOW},
    {T(1, "a", W("x", "1") "," W("y", "1")) T(2, "b", R("x", "1") "," R("y", "null")), "mav",
     ANOMALY_OBSERVED_TRANSACTION_VANISHES},
    {T(1, "a", W("x", "1") "," W("y", "1")) T(2, "b", R("y", "null") "," R("x", "1")), "ra",
     ANOMALY_FRACTURED_READ},
    {T(1, "a", W("x", "1")) T(1, "b", R("x", "null")), "ra", ANOMALY_READ_YOUR_WRITES_VIOLATION},
    {T(1, "a", W("x", "1")) T(2, "b", R("x", "1") "," W("y", "1"))
         T(3, "c", R("y", "1") "," R("x", "null")),
     "causal", ANOMALY_CAUSALITY_VIOLATION},
    {T(1, "a", APPEND("l", "1") "," APPEND("m", "1"))
         T(2, "b", APPEND("l", "2") "," APPEND("m", "2"))
             T(3, "c", R("l", "[1,2]") "," R("m", "[2,1]")),
     "ru", ANOMALY_DIRTY_WRITE},
};

TEST(cycles_tampered_with)
{
    for (size_t i = 0; i < sizeof cycles / sizeof *cycles; i++) {
        answer a;
        REQUIRE(ask(&a, cycles[i].json, cycles[i].level, true));
        EXPECT_EQ_INT(a.v.outcome, OUTCOME_VIOLATED);
        EXPECT_STR(anomaly_at(a.v.anomaly)->name, anomaly_at(cycles[i].anomaly)->name);
        if (!stands(&a)) test_fail(__FILE__, __LINE__, "%s: %s", cycles[i].json, a.why);
        REQUIRE(a.v.cycle.n >= 2);
        for (size_t j = 0; j < a.v.cycle.n; j++) {
            cycle_link *e = &a.v.cycle.at[j], right = *e;
            e->from = right.to; /* turned round: no longer closed */
            e->to = right.from;
            EXPECT(!stands(&a));
            *e = right;
            e->to = e->from;
            EXPECT(!stands(&a));
            *e = right;
            e->to = (txn_id)a.h->txns;
            EXPECT(!stands(&a));
            *e = right;
            for (const char *const *k = (const char *const[]){"so", "wr", "ww", "rw", "xx", NULL};
                 *k; k++) {
                /* a wr edge may well be a ww edge too; what must not pass is what is not there */
                if (!strcmp(*k, right.edge) || (!strcmp(*k, "ww") && i == 5)) continue;
                e->edge = *k;
                if (stands(&a))
                    test_fail(__FILE__, __LINE__, "%s: %s passes for %s", cycles[i].json,
                              right.edge, *k);
            }
            *e = right;
            if (right.key != NO_ID) {
                e->key = NO_ID;
                EXPECT(!stands(&a));
                *e = right;
            }
        }
        uint32_t right = a.v.anomaly;
        for (size_t j = 0; j < sizeof faults / sizeof *faults; j++) {
            a.v.anomaly = faults[j].anomaly;
            EXPECT(!stands(&a));
        }
        a.v.anomaly = right;
        a.v.cycle.n--;
        EXPECT(!stands(&a));
        a.v.cycle.n = 0;
        EXPECT(!stands(&a));
        close_answer(&a);
    }
}

TEST(levels_allow_what_they_allow)
{
    answer a;
    REQUIRE(ask(&a, faults[0].json, "rc", true)); /* an aborted read */
    EXPECT(stands(&a));
    EXPECT(level_named(&a.v.level, "ru"));
    EXPECT(!stands(&a));
    close_answer(&a);
    REQUIRE(ask(&a, cycles[2].json, "ra", true)); /* a fractured read */
    EXPECT(stands(&a));
    EXPECT(level_named(&a.v.level, "rc"));
    EXPECT(!stands(&a));
    close_answer(&a);
    REQUIRE(ask(&a, cycles[3].json, "ra", true)); /* rests on the session */
    a.v.session_order = false;
    EXPECT(!stands(&a));
    a.v.outcome = OUTCOME_UNDECIDED;
    EXPECT(stands(&a));
    close_answer(&a);
}

/* --- size and limits ------------------------------------------------------------------------- */

/* Pairs of a writer and its reader, without end; then the causal pattern.  Without session order
   there are so many chains that pasts are walked. */
TEST(many_chains)
{
    enum { PAIRS = 70000 };
    answer a;
    memset(&a, 0, sizeof a);
    guard_init(&a.guard);
    mem_init(&a.mem, NULL, NULL, &a.guard);
    mem_init(&a.work, NULL, NULL, &a.guard);
    if (guard_armed(&a.guard)) {
        FAIL(a.guard.text);
        return;
    }
    history *h = a.h = history_new(NULL, NULL, &a.guard, 0);
    key_id x = key_str(h, "x", 1), y = key_str(h, "y", 1);
    static const struct {
        unsigned kind;
        int key; /* 0 x, 1 y, 2 a key of its own */
        int value;
    } ops[4][2] = {{{OP_WRITE, 0, 1}, {OP_READ, 2, 0}},
                   {{OP_READ, 0, 1}, {OP_WRITE, 1, 1}},
                   {{OP_WRITE, 0, 2}, {OP_READ, 2, 0}},
                   {{OP_READ, 1, 1}, {OP_READ, 0, 2}}};
    for (int i = 0; i < 2 * PAIRS + 4; i++) {
        history_begin(h);
        history_label(h, label_int(h, i));
        history_session(h, label_int(h, i % 100));
        if (i < 2 * PAIRS) {
            key_id k = key_int(h, i / 2);
            history_op(h, i % 2 ? OP_READ : OP_WRITE, k, value_int(h, 1));
        }
        for (int j = 0; i >= 2 * PAIRS && j < 2; j++) {
            int k = ops[i - 2 * PAIRS][j].key;
            if (k == 2) continue;
            history_op(h, ops[i - 2 * PAIRS][j].kind, k ? y : x,
                       value_int(h, ops[i - 2 * PAIRS][j].value));
        }
        history_end(h, TXN_COMMITTED);
    }
    history_freeze(h);
    for (int so = 0; so < 2; so++) {
        EXPECT(level_named(&a.v.level, "causal"));
        a.v.session_order = so;
        a.v.outcome = OUTCOME_HOLDS;
        a.v.ordered = 2 * PAIRS + 4;
        a.v.order = mem_array(&a.mem, txn_id, a.v.ordered);
        for (txn_id t = 0; t < a.v.ordered; t++) a.v.order[t] = t;
        if (!stands(&a)) FAIL(a.why);
        txn_id *end = a.v.order + 2 * PAIRS;
        end[0] = 2 * PAIRS + 2; /* c before a */
        end[1] = 2 * PAIRS;
        end[2] = 2 * PAIRS + 1;
        EXPECT(!stands(&a));
        EXPECT(level_named(&a.v.level, "ra"));
        EXPECT(stands(&a));
    }
    close_answer(&a);
}

TEST(memory_runs_out)
{
    const struct {
        const char *json, *level;
    } asked[] = {{good_histories[0], "causal"},
                 {good_histories[2], "ra"},
                 {good_histories[2], "ru"},
                 {faults[13].json, "rc"}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        answer a;
        REQUIRE(ask(&a, asked[i].json, asked[i].level, true));
        static long n; /* static: it must survive the jump */
        static bool done;
        for (n = 0, done = false; !done && n < 1000; n++) {
            counter c = {0, n};
            const char *why;
            mem m;
            guard_init(&a.guard);
            mem_init(&m, count_fn, &c, &a.guard);
            if (!guard_armed(&a.guard)) {
                EXPECT(recheck(&a.v, a.h, &m, &why));
                done = true;
            } else {
                EXPECT_EQ_INT(a.guard.code, GUARD_NOMEM);
            }
            mem_free_all(&m);
            EXPECT_EQ_UINT(c.live, 0);
        }
        EXPECT(done);
        close_answer(&a);
    }
}

TEST_MAIN
