/*
 * states.c - the public calls and the states of a history (ratel.h): what is allowed when, that a
 * refused call changes nothing, what outlives what, and that building equals reading.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"
#include "test.h"

typedef struct text {
    char at[8192];
    size_t n, stop; /* stop: refuse what goes beyond */
} text;

static int take(const void *buf, size_t len, void *payload)
{
    text *t = payload;
    if (t->n + len >= (t->stop ? t->stop : sizeof t->at)) return 1;
    memcpy(t->at + t->n, buf, len);
    t->n += len;
    t->at[t->n] = '\0';
    return 0;
}

typedef struct input {
    const char *at;
    size_t n;
    ratel *interrupt; /* while it is read */
    int error;
} input;

static ptrdiff_t give(void *buf, size_t cap, void *payload)
{
    input *in = payload;
    size_t n = in->n < cap ? in->n : cap;
    if (in->error) return -1;
    if (in->interrupt) ratel_interrupt(in->interrupt);
    memcpy(buf, in->at, n);
    in->at += n;
    in->n -= n;
    return (ptrdiff_t)n;
}

static ratel_history *read_text(ratel *r, const char *at)
{
    input in = {.at = at, .n = strlen(at)};
    ratel_history *h = NULL;
    if (ratel_history_read(&h, r, NULL, give, &in)) FAIL(ratel_errmsg(r));
    return h;
}

static ratel_value num(int64_t i)
{
    return (ratel_value){.type = RATEL_INT, .as.i = i};
}

static ratel_value str(const char *s)
{
    return (ratel_value){.type = RATEL_STR, .as.str = {s, strlen(s)}};
}

static ratel_value real(double r)
{
    return (ratel_value){.type = RATEL_REAL, .as.r = r};
}

static const ratel_value none = {.type = RATEL_NULL};
static const int64_t times[4] = {1, 2, 3, 4};

#define OK(call) EXPECT_EQ_INT(call, RATEL_OK)
#define WRONG(call) EXPECT_EQ_INT(call, RATEL_EINVAL)
/* refused with a reason in the history */
#define REFUSED(h, call)                                                                           \
    do {                                                                                           \
        WRONG(call);                                                                               \
        EXPECT(ratel_history_errmsg(h)[0] != '\0');                                                \
    } while (0)

/* Every builder call that needs an open transaction. */
static void expect_no_operations(ratel_history *h)
{
    ratel_row row = {str("a"), num(1)};
    ratel_value v = num(1);
    REFUSED(h, ratel_history_id(h, num(5)));
    REFUSED(h, ratel_history_instants(h, 1, 2));
    REFUSED(h, ratel_history_intervals(h, times));
    REFUSED(h, ratel_history_get(h, str("a"), num(1), 0));
    REFUSED(h, ratel_history_get_unknown(h, str("a"), 0));
    REFUSED(h, ratel_history_get_list(h, str("a"), &v, 1, 0));
    REFUSED(h, ratel_history_put(h, str("a"), num(1), 0));
    REFUSED(h, ratel_history_delete(h, str("a"), 0));
    REFUSED(h, ratel_history_append(h, str("a"), num(1), 0));
    REFUSED(h, ratel_history_scan(h, none, none, &row, 1, 0));
    REFUSED(h, ratel_history_iterate(h, none, none, &row, 1, 1, 0, 0));
    REFUSED(h, ratel_history_end(h, RATEL_COMMITTED));
}

static void expect_not_between(ratel_history *h)
{
    REFUSED(h, ratel_history_init(h, num(7)));
    REFUSED(h, ratel_history_init_key(h, str("a"), num(7)));
    REFUSED(h, ratel_history_init_unknown(h));
    REFUSED(h, ratel_history_begin(h, num(9)));
    REFUSED(h, ratel_history_freeze(h));
}

static void expect_no_streaming(ratel_history *h)
{
    ratel_txn t = 77;
    REFUSED(h, ratel_history_open(h, num(9), &t));
    REFUSED(h, ratel_history_select(h, 0));
    EXPECT_EQ_UINT(t, 77);
}

static void expect_not_frozen(ratel *r, ratel_history *h)
{
    ratel_stat stat;
    ratel_result *a = NULL;
    text t = {.n = 0};
    WRONG(ratel_history_write(h, r, "ratel", take, &t));
    EXPECT(ratel_errmsg(r)[0] != '\0');
    WRONG(ratel_history_write_path(h, r, "ratel", "/nonexistent/file"));
    WRONG(ratel_history_stat(&stat, r, h));
    WRONG(ratel_check(&a, r, h, "rc"));
    EXPECT(a == NULL);
    EXPECT_EQ_UINT(t.n, 0);
}

static const char expected[] =
    "{\"ratel\":1,\"init\":[[\"k\",\"v\"],[3,null]]}\n"
    "{\"session\":1,\"id\":\"a\",\"begin\":-5,\"end\":9,\"ops\":[[\"w\",\"x\",1],[\"r\",3,null,"
    "{\"lock\":true}],[\"r\",18446744073709551615]]}\n"
    "{\"session\":\"two\",\"id\":1,\"status\":\"aborted\",\"times\":[1,2,3,4],"
    "\"ops\":[[\"d\",\"x\"],"
    "[\"w\",\"y\",1.5,{\"ok\":false}],[\"w\",\"y\",true],[\"w\",\"y\",-9223372036854775808]]}\n"
    "{\"session\":1,\"id\":2,\"status\":\"unknown\",\"ops\":[[\"append\",\"l\",1],"
    "[\"r\",\"l\",[1,\"b\"]],[\"r\",\"l\",[]],[\"scan\",null,\"z\",[[\"k\",\"v\"]]],"
    "[\"iter\",1,null,[[3,1]],false,{\"reverse\":true}]]}\n";

/* Builds `expected`; with `meddle`, every wrong call of each state is tried on the way. */
static ratel_history *build(ratel *r, int meddle)
{
    ratel_history *h = NULL;
    ratel_value list[2] = {num(1), str("b")}, max = {.type = RATEL_UINT, .as.u = UINT64_MAX};
    ratel_row row = {str("k"), str("v")}, row3 = {num(3), num(1)};
    OK(ratel_history_new(&h, r));
    if (!h) return NULL;
    if (meddle) expect_no_operations(h), expect_not_frozen(r, h);
    OK(ratel_history_init_key(h, str("k"), str("v")));
    OK(ratel_history_init_key(h, num(3), none));
    if (meddle) {
        REFUSED(h, ratel_history_init_key(h, real(1), num(1)));
        REFUSED(h, ratel_history_init(h, real(NAN)));
        REFUSED(h, ratel_history_begin(h, none));
        REFUSED(h, ratel_history_begin(h, real(1)));
        REFUSED(h, ratel_history_begin(h, (ratel_value){.type = (ratel_type)77}));
    }
    OK(ratel_history_begin(h, num(1)));
    if (meddle) expect_not_between(h), expect_not_frozen(r, h), expect_no_streaming(h);
    OK(ratel_history_id(h, str("a")));
    OK(ratel_history_instants(h, -5, 9));
    OK(ratel_history_put(h, str("x"), num(1), 0));
    if (meddle) {
        REFUSED(h, ratel_history_put(h, str("x"), none, 0)); /* a delete is another call */
        REFUSED(h, ratel_history_append(h, str("x"), none, 0));
        REFUSED(h, ratel_history_put(h, none, num(1), 0));
        REFUSED(h, ratel_history_put(h, real(2), num(1), 0));
        REFUSED(h, ratel_history_put(h, str("x"), real(INFINITY), 0));
        REFUSED(h, ratel_history_put(h, str("x"), real(NAN), 0));
        REFUSED(h, ratel_history_put(h, str("\xff"), num(1), 0)); /* no UTF-8 */
        REFUSED(h, ratel_history_put(h, str("x"), str("\xc3"), 0));
        REFUSED(h, ratel_history_put(h, str("x"), num(2), 0x80));
        REFUSED(h, ratel_history_get(h, str("x"), (ratel_value){.type = (ratel_type)9}, 0));
        REFUSED(h, ratel_history_get_list(h, str("x"), NULL, 2, 0));
        REFUSED(h, ratel_history_scan(h, real(1), none, NULL, 0, 0));
        REFUSED(h, ratel_history_scan(h, none, none, NULL, 1, 0));
        REFUSED(h, ratel_history_intervals(h, NULL));
        REFUSED(h, ratel_history_id(h, none));
        REFUSED(h, ratel_history_end(h, (ratel_status)3));
        ratel_row bad[2] = {{str("a"), num(1)}, {none, num(2)}};
        REFUSED(h, ratel_history_scan(h, none, none, bad, 2, 0));
    }
    OK(ratel_history_get(h, num(3), none, RATEL_OP_LOCK));
    OK(ratel_history_get_unknown(h, max, 0));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    if (meddle) expect_no_operations(h), expect_not_frozen(r, h);
    OK(ratel_history_begin(h, str("two")));
    OK(ratel_history_intervals(h, times));
    OK(ratel_history_delete(h, str("x"), 0));
    OK(ratel_history_put(h, str("y"), real(1.5), RATEL_OP_FAILED));
    OK(ratel_history_put(h, str("y"), (ratel_value){.type = RATEL_BOOL, .as.b = 5}, 0));
    OK(ratel_history_put(h, str("y"), num(INT64_MIN), 0));
    OK(ratel_history_end(h, RATEL_ABORTED));
    OK(ratel_history_begin(h, num(1)));
    OK(ratel_history_append(h, str("l"), num(1), 0));
    OK(ratel_history_get_list(h, str("l"), list, 2, 0));
    OK(ratel_history_get_list(h, str("l"), NULL, 0, 0));
    OK(ratel_history_scan(h, none, str("z"), &row, 1, 0));
    OK(ratel_history_iterate(h, num(1), none, &row3, 1, 0, 1, 0));
    OK(ratel_history_end(h, RATEL_STATUS_UNKNOWN));
    OK(ratel_history_freeze(h));
    if (meddle) expect_no_operations(h), expect_not_between(h), expect_no_streaming(h);
    return h;
}

TEST(building_equals_reading)
{
    ratel *r = NULL;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    for (int meddle = 0; meddle < 2; meddle++) {
        text t = {.n = 0}, again = {.n = 0};
        ratel_history *h = build(r, meddle);
        REQUIRE(h != NULL);
        OK(ratel_history_write(h, r, "ratel", take, &t));
        EXPECT_STR(t.at, expected);
        EXPECT_STR(ratel_history_format(h), "ratel");
        EXPECT_STR(ratel_lost(r), "");
        ratel_history *same = read_text(r, t.at);
        REQUIRE(same != NULL);
        OK(ratel_history_write(same, r, "ratel", take, &again));
        EXPECT_STR(again.at, expected);
        ratel_stat a, b;
        memset(&a, 0, sizeof a);
        memset(&b, 0, sizeof b);
        OK(ratel_history_stat(&a, r, h));
        OK(ratel_history_stat(&b, r, same));
        EXPECT_MEM(&a, &b, sizeof a);
        EXPECT_EQ_UINT(a.txns, 1);
        EXPECT_EQ_UINT(a.aborted, 1);
        EXPECT_EQ_UINT(a.unknown, 1);
        ratel_history_free(same);
        ratel_history_free(h);
    }
    ratel_close(r);
}

/* The same history, its transactions fed side by side in turns; the second one is begun alone. */
static ratel_history *stream(ratel *r, int meddle)
{
    ratel_history *h = NULL;
    ratel_value list[2] = {num(1), str("b")}, max = {.type = RATEL_UINT, .as.u = UINT64_MAX};
    ratel_row row = {str("k"), str("v")}, row3 = {num(3), num(1)};
    ratel_txn a = 0, b = 0, c = 0;
    OK(ratel_history_new(&h, r));
    if (!h) return NULL;
    OK(ratel_history_init_key(h, str("k"), str("v")));
    OK(ratel_history_init_key(h, num(3), none));
    OK(ratel_history_open(h, num(1), &a));
    OK(ratel_history_put(h, str("x"), num(1), 0));
    if (meddle) {
        expect_not_between(h), expect_not_frozen(r, h);
        REFUSED(h, ratel_history_open(h, num(1), &b)); /* the session is busy */
        REFUSED(h, ratel_history_open(h, none, &b));
        REFUSED(h, ratel_history_open(h, num(2), NULL));
        REFUSED(h, ratel_history_select(h, 1));
        REFUSED(h, ratel_history_end_open(h, (ratel_status)3));
    }
    OK(ratel_history_open(h, str("two"), &b));
    OK(ratel_history_intervals(h, times));
    OK(ratel_history_delete(h, str("x"), 0));
    OK(ratel_history_select(h, a));
    OK(ratel_history_get(h, num(3), none, RATEL_OP_LOCK));
    OK(ratel_history_instants(h, -5, 9));
    OK(ratel_history_select(h, b));
    OK(ratel_history_put(h, str("y"), real(1.5), RATEL_OP_FAILED));
    OK(ratel_history_select(h, a));
    OK(ratel_history_get_unknown(h, max, 0));
    OK(ratel_history_id(h, str("a")));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    if (meddle) {
        expect_no_operations(h); /* b is open, but not selected */
        REFUSED(h, ratel_history_select(h, a));
    }
    OK(ratel_history_open(h, num(1), &c));
    OK(ratel_history_append(h, str("l"), num(1), 0));
    OK(ratel_history_select(h, b));
    OK(ratel_history_put(h, str("y"), (ratel_value){.type = RATEL_BOOL, .as.b = 5}, 0));
    OK(ratel_history_select(h, c));
    OK(ratel_history_get_list(h, str("l"), list, 2, 0));
    OK(ratel_history_get_list(h, str("l"), NULL, 0, 0));
    OK(ratel_history_scan(h, none, str("z"), &row, 1, 0));
    OK(ratel_history_select(h, b));
    OK(ratel_history_put(h, str("y"), num(INT64_MIN), 0));
    OK(ratel_history_end(h, RATEL_ABORTED));
    OK(ratel_history_select(h, c));
    OK(ratel_history_iterate(h, num(1), none, &row3, 1, 0, 1, 0));
    OK(ratel_history_end_open(h, RATEL_STATUS_UNKNOWN));
    if (meddle) expect_no_operations(h), expect_not_frozen(r, h);
    OK(ratel_history_freeze(h));
    if (meddle) expect_no_operations(h), expect_not_between(h), expect_no_streaming(h);
    return h;
}

TEST(streaming_equals_building)
{
    ratel *r = NULL;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    for (int meddle = 0; meddle < 2; meddle++) {
        text t = {.n = 0};
        ratel_history *h = stream(r, meddle);
        REQUIRE(h != NULL);
        OK(ratel_history_write(h, r, "ratel", take, &t));
        EXPECT_STR(t.at, expected);
        ratel_history_free(h);
    }
    ratel_close(r);
}

/* Transactions begun alone before, between and after those that were open side by side; and a
   freezing that fails leaves all of it in order. */
TEST(streaming_and_building_mix)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_txn a, b;
    text t = {.n = 0};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    OK(ratel_history_new(&h, r));
    OK(ratel_history_begin(h, num(1)));
    OK(ratel_history_put(h, str("x"), num(1), 0));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    for (int round = 0; round < 2; round++) {
        OK(ratel_history_open(h, num(1), &a));
        OK(ratel_history_open(h, num(2), &b));
        OK(ratel_history_put(h, str("x"), num(2), 0));
        OK(ratel_history_select(h, a));
        OK(ratel_history_put(h, str("x"), num(3), 0));
        OK(ratel_history_end_open(h, RATEL_COMMITTED));
        OK(ratel_history_begin(h, num(3)));
        OK(ratel_history_put(h, str("x"), num(4 + round), 0));
        if (!round) OK(ratel_history_id(h, num(0))); /* the first one's */
        OK(ratel_history_end(h, RATEL_COMMITTED));
        if (!round) EXPECT_EQ_INT(ratel_history_freeze(h), RATEL_EHISTORY);
    }
    EXPECT_EQ_INT(ratel_history_freeze(h), RATEL_EHISTORY);
    ratel_history_free(h);
    OK(ratel_history_new(&h, r));
    OK(ratel_history_begin(h, num(1)));
    OK(ratel_history_put(h, str("x"), num(1), 0));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    OK(ratel_history_open(h, num(1), &a));
    OK(ratel_history_open(h, num(2), &b));
    OK(ratel_history_put(h, str("x"), num(2), 0));
    OK(ratel_history_select(h, a));
    OK(ratel_history_put(h, str("x"), num(3), 0));
    OK(ratel_history_end_open(h, RATEL_ABORTED));
    OK(ratel_history_begin(h, num(3)));
    OK(ratel_history_put(h, str("x"), num(4), 0));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    OK(ratel_history_open(h, num(3), &a));
    OK(ratel_history_put(h, str("x"), num(5), 0));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    OK(ratel_history_freeze(h));
    OK(ratel_history_write(h, r, "ratel", take, &t));
    EXPECT_STR(t.at, "{\"ratel\":1,\"init\":null}\n"
                     "{\"session\":1,\"id\":0,\"ops\":[[\"w\",\"x\",1]]}\n"
                     "{\"session\":1,\"id\":1,\"status\":\"aborted\",\"ops\":[[\"w\",\"x\",3]]}\n"
                     "{\"session\":2,\"id\":2,\"status\":\"aborted\",\"ops\":[[\"w\",\"x\",2]]}\n"
                     "{\"session\":3,\"id\":3,\"ops\":[[\"w\",\"x\",4]]}\n"
                     "{\"session\":3,\"id\":4,\"ops\":[[\"w\",\"x\",5]]}\n");
    ratel_history_free(h);
    ratel_close(r);
}

TEST(null_arguments)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    ratel_stat stat;
    text t = {.n = 0};
    WRONG(ratel_open(NULL, NULL));
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    ratel_close(NULL);
    ratel_history_free(NULL);
    ratel_result_free(NULL);
    ratel_interrupt(NULL);
    WRONG(ratel_history_new(NULL, r));
    WRONG(ratel_history_new(&h, NULL));
    WRONG(ratel_history_read(NULL, r, NULL, give, &t));
    WRONG(ratel_history_read(&h, r, NULL, NULL, NULL));
    WRONG(ratel_history_read_path(&h, r, NULL, NULL));
    WRONG(ratel_history_read_with(&h, r, NULL, NULL, NULL));
    WRONG(ratel_history_read_with(NULL, r, NULL, "x", NULL));
    WRONG(ratel_history_begin(NULL, num(1)));
    WRONG(ratel_history_open(NULL, num(1), NULL));
    WRONG(ratel_history_select(NULL, 0));
    WRONG(ratel_history_end_open(NULL, RATEL_COMMITTED));
    WRONG(ratel_history_freeze(NULL));
    WRONG(ratel_history_stat(&stat, r, NULL));
    WRONG(ratel_history_write(NULL, r, "ratel", take, &t));
    WRONG(ratel_check(&a, r, NULL, "rc"));
    WRONG(ratel_result_write(NULL, r, "text", NULL, take, &t));
    WRONG(ratel_result_warning(NULL, 0, NULL, NULL));
    WRONG(ratel_result_stage(NULL, 0, NULL, NULL));
    EXPECT(!*ratel_result_decided_by(NULL));
    WRONG(ratel_set(r, NULL, 1));
    WRONG(ratel_set(NULL, "ryow", 1));
    WRONG(ratel_level_implies(NULL, "rc", 1));
    WRONG(ratel_level_named(NULL, NULL));
    EXPECT_EQ_INT(ratel_result_verdict(NULL), RATEL_UNDECIDED);
    EXPECT_STR(ratel_result_reason(NULL), "");
    h = read_text(r, expected);
    WRONG(ratel_check(NULL, r, h, "rc"));
    WRONG(ratel_check(&a, r, h, NULL));
    WRONG(ratel_history_write(h, r, NULL, take, &t));
    WRONG(ratel_history_write(h, r, "ratel", NULL, NULL));
    ratel_history_free(h);
    ratel_close(r);
}

TEST(names_and_options)
{
    ratel *r = NULL;
    ratel_option o;
    ratel_result *a = NULL;
    text t = {.n = 0};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    for (size_t i = 0; ratel_option_at(&o, i) == RATEL_OK; i++) {
        OK(ratel_set(r, o.name, o.def));
        OK(ratel_set(r, o.name, o.lo));
        OK(ratel_set(r, o.name, o.hi));
        if (o.lo > INT64_MIN) WRONG(ratel_set(r, o.name, o.lo - 1));
        if (o.hi < INT64_MAX) WRONG(ratel_set(r, o.name, o.hi + 1));
        OK(ratel_set(r, o.name, o.def));
        EXPECT(o.help[0] != '\0');
    }
    WRONG(ratel_option_at(&o, 1000));
    WRONG(ratel_set(r, "no such option", 1));
    EXPECT(strstr(ratel_errmsg(r), "no such option") != NULL);
    ratel_history *h = read_text(r, expected);
    WRONG(ratel_check(&a, r, h, "no such level"));
    EXPECT(strstr(ratel_errmsg(r), "no such level") != NULL);
    WRONG(ratel_history_write(h, r, "no such format", take, &t));
    ratel_history_free(h);
    WRONG(ratel_history_read_path(&h, r, "no such format", "/dev/null"));
    EXPECT(h == NULL);
    EXPECT_EQ_INT(ratel_history_read_path(&h, r, NULL, "/nonexistent"), RATEL_EIO);
    EXPECT_EQ_INT(ratel_history_read_path(&h, r, NULL, "/dev/null"), RATEL_EPARSE);
    for (int code = 0; code > -12; code--) EXPECT(ratel_strerror(code)[0] != '\0');
    const char *base = NULL;
    OK(ratel_level_named("si", &base));
    EXPECT_STR(base, "snapshot-isolation");
    WRONG(ratel_level_named("serialisable", &base));
    EXPECT_STR(base, "serializable");
    EXPECT_EQ_INT(ratel_level_implies("causal", "rc", 1), 1);
    EXPECT_EQ_INT(ratel_level_implies("rc", "causal", 1), 0);
    WRONG(ratel_level_implies("rc", "nothing", 1));
    EXPECT(ratel_version_number() > 0 && strchr(ratel_version(), '.') != NULL);
    ratel_close(r);
}

TEST(errors_have_a_place)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    uint64_t line = 0, column = 0;
    const char *bad = "{\"ratel\":1}\n\n{\"session\":1,\"ops\":[[\"r\"]]}\n";
    input in = {.at = bad, .n = strlen(bad)};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    EXPECT_EQ_INT(ratel_history_read(&h, r, NULL, give, &in), RATEL_EPARSE);
    EXPECT(h == NULL);
    OK(ratel_errpos(r, &line, &column));
    EXPECT_EQ_UINT(line, 3);
    EXPECT_EQ_UINT(column, 25);
    const char *twice =
        "{\"session\":1,\"id\":1,\"ops\":[]}\n{\"session\":1,\"id\":1,\"ops\":[]}\n";
    input again = {.at = twice, .n = strlen(twice)};
    EXPECT_EQ_INT(ratel_history_read(&h, r, NULL, give, &again), RATEL_EHISTORY);
    WRONG(ratel_errpos(r, &line, &column)); /* no place: it is about two lines */
    input broken = {.at = twice, .n = strlen(twice), .error = 1};
    EXPECT_EQ_INT(ratel_history_read(&h, r, "ratel", give, &broken), RATEL_EIO);
    h = read_text(r, expected);
    EXPECT_STR(ratel_errmsg(r), ""); /* a call that went well leaves none */
    text t = {.stop = 10};
    EXPECT_EQ_INT(ratel_history_write(h, r, "ratel", take, &t), RATEL_EIO);
    EXPECT(ratel_errmsg(r)[0] != '\0');
    ratel_result *a = NULL;
    OK(ratel_check(&a, r, h, "rc"));
    EXPECT_EQ_INT(ratel_result_write(a, r, "json", NULL, take, &t), RATEL_EIO);
    WRONG(ratel_result_write(a, r, "yaml", NULL, take, &t));
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
}

TEST(a_duplicate_id_is_found_by_freezing)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    REQUIRE(ratel_history_new(&h, r) == RATEL_OK);
    for (int i = 0; i < 2; i++) {
        OK(ratel_history_begin(h, num(i)));
        OK(ratel_history_id(h, str("same")));
        OK(ratel_history_end(h, RATEL_COMMITTED));
    }
    EXPECT_EQ_INT(ratel_history_freeze(h), RATEL_EHISTORY);
    EXPECT(strstr(ratel_history_errmsg(h), "same") != NULL);
    EXPECT_EQ_INT(ratel_history_freeze(h), RATEL_EHISTORY); /* still building */
    OK(ratel_history_begin(h, num(5)));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    ratel_history_free(h);
    REQUIRE(ratel_history_new(&h, r) == RATEL_OK); /* freed while a transaction is open */
    OK(ratel_history_begin(h, num(5)));
    ratel_history_free(h);
    ratel_close(r);
}

TEST(histories_and_results_outlive_their_context)
{
    ratel *r = NULL, *other = NULL;
    ratel_result *a = NULL;
    text t = {.n = 0};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    REQUIRE(ratel_open(&other, NULL) == RATEL_OK);
    ratel_history *h = read_text(r, "{\"session\":1,\"id\":\"a\",\"ops\":[[\"r\",\"x\",1]]}\n");
    REQUIRE(h != NULL);
    OK(ratel_check(&a, r, h, "rc"));
    ratel_close(r);
    EXPECT_EQ_INT(ratel_result_verdict(a), RATEL_VIOLATED);
    EXPECT_STR(ratel_result_level(a), "read-committed");
    EXPECT_STR(ratel_result_anomaly(a), "garbage-read");
    EXPECT(strstr(ratel_result_reason(a), "x") != NULL);
    EXPECT_EQ_INT(ratel_result_session_order(a), 1);
    const char *id = NULL, *why = NULL;
    OK(ratel_result_warning(a, 0, &id, &why));
    EXPECT(id && why && strchr(id, '-') != NULL);
    WRONG(ratel_result_warning(a, 100, &id, &why));
    WRONG(ratel_result_stage(a, 100, NULL, NULL));
    OK(ratel_result_write(a, other, "json", NULL, take, &t));
    EXPECT(strstr(t.at, "\"verdict\":\"violated\"") != NULL);
    OK(ratel_result_recheck(a, other, h));
    ratel_result_free(a);
    t.n = 0;
    OK(ratel_dump(h, other, "rc", "asg", take, &t));
    EXPECT(strstr(t.at, "fault garbage-read a x = 1 at 0") != NULL);
    EXPECT_EQ_INT(ratel_dump(h, other, "si", "ir", take, &t), RATEL_EUNSUPPORTED);
    WRONG(ratel_dump(h, other, "si", "tree", take, &t));
    WRONG(ratel_dump(h, other, "best", "asg", take, &t));
    WRONG(ratel_dump(h, other, "si", NULL, take, &t));
    t.n = 0;
    OK(ratel_history_write(h, other, "ratel", take, &t));
    ratel_history_free(h);
    ratel_close(other);
}

TEST(interrupting_a_read)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    input in = {.at = expected, .n = strlen(expected), .interrupt = r};
    EXPECT_EQ_INT(ratel_history_read(&h, r, "ratel", give, &in), RATEL_EINTERRUPT);
    EXPECT(h == NULL);
    ratel_close(r);
}

typedef struct worker {
    const ratel_history *h;
    char levels[512];
    int bad;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    ratel *r = NULL;
    ratel_level l;
    if (ratel_open(&r, NULL)) return NULL;
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; !ratel_level_at(&l, i); i++) {
            ratel_result *a = NULL;
            text t = {.n = 0};
            if (!l.decided) continue;
            if (ratel_check(&a, r, w->h, l.name) || ratel_history_write(w->h, r, "ratel", take, &t))
                w->bad = 1;
            if (round == 0) strcat(w->levels, ratel_result_verdict(a) == RATEL_HOLDS ? "+" : "-");
            ratel_result_free(a);
        }
    ratel_close(r);
    return NULL;
}

TEST(threads_share_a_frozen_history)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    worker w[THREADS];
    ratel *r = NULL;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    ratel_history *h = read_text(r, expected);
    memset(w, 0, sizeof w);
    for (int i = 0; i < THREADS; i++) {
        w[i].h = h;
        EXPECT_EQ_INT(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        EXPECT_EQ_INT(w[i].bad, 0);
        EXPECT(strlen(w[i].levels) >= 5);
        EXPECT_STR(w[i].levels, w[0].levels);
    }
    ratel_history_free(h);
    ratel_close(r);
}

typedef struct watched {
    int calls, ended, stop;
    const char *stop_at; /* a stage */
    char stages[256];
} watched;

static int watch(const ratel_progress *p, void *payload)
{
    watched *w = payload;
    if (!p) {
        w->ended++;
        return 0;
    }
    w->calls++;
    if (strlen(w->stages) + strlen(p->stage) + 2 < sizeof w->stages) {
        strcat(w->stages, p->stage);
        strcat(w->stages, " ");
    }
    if (p->total && p->done > p->total) FAIL("more than all is done");
    return w->stop || (w->stop_at && !strcmp(p->stage, w->stop_at));
}

TEST(progress_is_told_and_can_stop)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    watched w = {0};
    input in = {.at = expected, .n = strlen(expected)};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    WRONG(ratel_on_progress(NULL, watch, &w));
    OK(ratel_on_progress(r, watch, &w));
    OK(ratel_history_read(&h, r, "ratel", give, &in));
    EXPECT(w.calls >= 1);
    EXPECT_EQ_INT(w.ended, 1);
    EXPECT(strstr(w.stages, "read") != NULL);
    ratel_history_free(h);
    w.stop = 1;
    in = (input){.at = expected, .n = strlen(expected)};
    h = NULL;
    EXPECT_EQ_INT(ratel_history_read(&h, r, "ratel", give, &in), RATEL_EINTERRUPT);
    EXPECT(h == NULL);
    /* nobody watches any more; and it was no lasting interrupt */
    OK(ratel_on_progress(r, NULL, NULL));
    w.calls = 0;
    h = read_text(r, expected);
    OK(ratel_check(&a, r, h, "ser"));
    EXPECT_EQ_INT(w.calls, 0);
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
}

TEST(shrinking_wants_a_violated_answer_of_this_history)
{
    static const char cycle[] =
        "{\"session\":1,\"id\":\"a\",\"ops\":[[\"w\",\"x\",1],[\"r\",\"y\",1],[\"w\",\"z\",3]]}\n"
        "{\"session\":2,\"id\":\"b\",\"ops\":[[\"w\",\"y\",1],[\"r\",\"x\",1]]}\n"
        "{\"session\":3,\"id\":\"c\",\"ops\":[[\"r\",\"z\",3]]}\n";
    ratel *r = NULL;
    ratel_history *h, *other, *part = NULL;
    ratel_result *bad = NULL, *fine = NULL;
    ratel_shrunk s;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    h = read_text(r, cycle);
    other = read_text(r, cycle);
    OK(ratel_check(&bad, r, h, "read-committed"));
    OK(ratel_check(&fine, r, h, "read-uncommitted"));
    WRONG(ratel_shrink(NULL, r, h, bad, &s));
    WRONG(ratel_shrink(&part, r, h, NULL, &s));
    WRONG(ratel_shrink(&part, r, h, fine, &s));
    WRONG(ratel_shrink(&part, r, other, bad, &s));
    WRONG(ratel_shrink_by(&part, r, h, NULL, NULL, &s));
    EXPECT(part == NULL);
    OK(ratel_shrink(&part, r, h, bad, &s));
    EXPECT_EQ_INT(s.txns, 2);
    EXPECT_EQ_INT(s.ops, 4);
    EXPECT_EQ_INT(s.minimal, 1);
    EXPECT_STR(s.anomaly, "circular-information-flow");
    EXPECT_STR(ratel_history_format(part), "ratel");
    /* stopped once something was found: that is the answer, and it says so */
    watched w = {.stop_at = "shrink"};
    ratel_history *early = NULL;
    OK(ratel_on_progress(r, watch, &w));
    OK(ratel_shrink(&early, r, h, bad, &s));
    EXPECT_EQ_INT(s.minimal, 0);
    EXPECT_STR(s.reason, "interrupted");
    OK(ratel_on_progress(r, NULL, NULL));
    ratel_result *again = NULL;
    OK(ratel_check(&again, r, early, "read-committed"));
    EXPECT_EQ_INT(ratel_result_verdict(again), RATEL_VIOLATED);
    ratel_result_free(again);
    ratel_history_free(early);
    ratel_result_free(bad);
    ratel_result_free(fine);
    ratel_history_free(h);
    ratel_history_free(other);
    /* what is left stands alone */
    OK(ratel_check(&bad, r, part, "read-committed"));
    EXPECT_EQ_INT(ratel_result_verdict(bad), RATEL_VIOLATED);
    ratel_result_free(bad);
    ratel_history_free(part);
    ratel_close(r);
}

TEST(a_survey_chooses_and_explains_a_level)
{
    /* write skew: snapshot isolation holds, nothing above it */
    static const char skew[] =
        "{\"ratel\":1,\"init\":0}\n"
        "{\"session\":1,\"id\":\"a\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"y\",1]]}\n"
        "{\"session\":2,\"id\":\"b\",\"ops\":[[\"r\",\"y\",0],[\"w\",\"x\",1]]}\n";
    ratel *r = NULL;
    ratel_survey *s = NULL;
    ratel_telling t = {0};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    ratel_history *h = read_text(r, skew);
    WRONG(ratel_survey_run(NULL, r, h, NULL));
    WRONG(ratel_survey_run(&s, r, NULL, NULL));
    WRONG(ratel_survey_run(&s, r, h, "ssi"));
    EXPECT(s == NULL);
    EXPECT(ratel_survey_result(NULL) == NULL);
    OK(ratel_survey_run(&s, r, h, NULL));
    EXPECT_EQ_INT(ratel_result_verdict(ratel_survey_result(s)), RATEL_VIOLATED);
    EXPECT_EQ_INT(ratel_explanation_shown(ratel_survey_explanation(s), NULL), 1);
    ratel_survey_tell(s, &t);
    EXPECT(t.n_found > 10 && !t.instead_of && t.session_order);
    for (size_t i = 0; i < t.n_found; i++) {
        ratel_result *a = NULL; /* what follows from other answers is what a check says */
        OK(ratel_check(&a, r, h, t.found[i].level));
        EXPECT_EQ_INT(t.found[i].verdict, ratel_result_verdict(a));
        EXPECT(strcmp(t.found[i].level, "strict-serializable") != 0); /* there are no times */
        ratel_result_free(a);
    }
    ratel_survey_free(s);
    OK(ratel_survey_run(&s, r, h, "snapshot-isolation"));
    EXPECT_EQ_INT(ratel_result_verdict(ratel_survey_result(s)), RATEL_HOLDS);
    ratel_survey_free(s);
    ratel_history_free(h);
    ratel_close(r);
}

TEST_MAIN
