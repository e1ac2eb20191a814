/*
 * hints.c - the builder calls that say more (api_hints.c): building with hints equals reading them,
 * a refused hint changes nothing, and what a hint says counts.
 */
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"
#include "test.h"

typedef struct text {
    char at[8192];
    size_t n;
} text;

static int keep_text(const void *buf, size_t len, void *payload)
{
    text *t = payload;
    if (t->n + len >= sizeof t->at) return 1;
    memcpy(t->at + t->n, buf, len);
    t->n += len;
    t->at[t->n] = '\0';
    return 0;
}

typedef struct input {
    const char *at;
    size_t n;
} input;

static ptrdiff_t give(void *buf, size_t cap, void *payload)
{
    input *in = payload;
    size_t n = in->n < cap ? in->n : cap;
    memcpy(buf, in->at, n);
    in->at += n;
    in->n -= n;
    return (ptrdiff_t)n;
}

static ratel_value num(int64_t i)
{
    return (ratel_value){.type = RATEL_INT, .as.i = i};
}

static ratel_value str(const char *s)
{
    return (ratel_value){.type = RATEL_STR, .as.str = {s, strlen(s)}};
}

static const ratel_value none = {.type = RATEL_NULL};

#define OK(call) EXPECT_EQ_INT(call, RATEL_OK)
#define REFUSED(h, call)                                                                           \
    do {                                                                                           \
        EXPECT_EQ_INT(call, RATEL_EINVAL);                                                         \
        EXPECT(ratel_history_errmsg(h)[0] != '\0');                                                \
    } while (0)

static void write_native(ratel *r, const ratel_history *h, text *t)
{
    t->n = 0;
    OK(ratel_history_write(h, r, "ratel", keep_text, t));
}

/* What the native format writes of the history that build_whole makes. */
static const char whole[] =
    "{\"ratel\":1,\"init\":null,\"source\":\"here\"}\n"
    "{\"session\":1,\"id\":\"a\",\"start_ts\":5,\"commit_ts\":9,\"note\":{\"x\":[1,2]},\"ops\":"
    "[[\"w\",\"x\",1,{\"ver\":-3,\"node\":[1,null]}],[\"d\",\"y\",{\"tomb\":true,\"ver\":2}]]}\n"
    "{\"session\":2,\"id\":\"b\",\"ops\":[[\"r\",\"x\",1,{\"from\":\"a\",\"t\":[3,4]}],"
    "[\"r\",\"z\",null,{\"from\":null}],[\"scan\",\"a\",\"z\",[[\"x\",1]],"
    "{\"from\":[\"a\"],\"vset\":[[\"q\",null],[\"y\",\"a\"]]}]]}\n";

static void build_whole(ratel_history *h)
{
    ratel_row row = {str("x"), num(1)};
    ratel_value writer = str("a");
    OK(ratel_history_member(h, "source", " \"here\" ", 8));
    OK(ratel_history_begin(h, num(1)));
    OK(ratel_history_id(h, str("a")));
    OK(ratel_history_start_ts(h, 5));
    OK(ratel_history_commit_ts(h, 9));
    OK(ratel_history_member(h, "note", "{\"x\" : [1,\n2]}", 14));
    OK(ratel_history_put(h, str("x"), num(1), 0));
    OK(ratel_history_ver(h, -3));
    OK(ratel_history_attribute(h, "node", "[1, null]", 9));
    OK(ratel_history_delete(h, str("y"), RATEL_OP_TOMB));
    OK(ratel_history_ver(h, 2));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    OK(ratel_history_begin(h, num(2)));
    OK(ratel_history_id(h, str("b")));
    OK(ratel_history_get(h, str("x"), num(1), 0));
    OK(ratel_history_from(h, str("a")));
    OK(ratel_history_called(h, 3, 4));
    OK(ratel_history_get(h, str("z"), none, 0));
    OK(ratel_history_from(h, none));
    OK(ratel_history_scan(h, str("a"), str("z"), &row, 1, 0));
    OK(ratel_history_from_rows(h, &writer, 1));
    OK(ratel_history_vset(h, str("q"), none));
    OK(ratel_history_vset(h, str("y"), str("a")));
    OK(ratel_history_end(h, RATEL_COMMITTED));
}

TEST(building_hints_equals_reading_them)
{
    ratel *r = NULL;
    ratel_history *built = NULL, *read = NULL;
    static text a, b;
    input in = {whole, strlen(whole)};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    OK(ratel_history_new(&built, r));
    build_whole(built);
    OK(ratel_history_freeze(built));
    OK(ratel_history_read(&read, r, "ratel", give, &in));
    write_native(r, built, &a);
    write_native(r, read, &b);
    EXPECT_STR(a.at, b.at);
    EXPECT_STR(a.at, whole);
    ratel_history_free(built);
    ratel_history_free(read);
    ratel_close(r);
}

static void open_read(ratel_history *h, ratel_value session, ratel_txn *t)
{
    OK(ratel_history_open(h, session, t));
    OK(ratel_history_get(h, str("x"), num(7), 0));
}

TEST(hints_side_by_side_follow_their_operation)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_txn a, b;
    static text t;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    OK(ratel_history_new(&h, r));
    open_read(h, num(1), &a);
    open_read(h, num(2), &b);
    OK(ratel_history_from(h, str("w")));
    OK(ratel_history_member(h, "note", "2", 1));
    OK(ratel_history_select(h, a));
    /* its read is not the last operation any more */
    REFUSED(h, ratel_history_from(h, str("w")));
    OK(ratel_history_member(h, "note", "1", 1));
    OK(ratel_history_commit_ts(h, 12));
    OK(ratel_history_put(h, str("x"), num(8), 0));
    OK(ratel_history_ver(h, 3));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    REFUSED(h, ratel_history_ver(h, 4));
    REFUSED(h, ratel_history_member(h, "late", "1", 1));
    OK(ratel_history_end_open(h, RATEL_COMMITTED));
    OK(ratel_history_member(h, "late", "1", 1));
    OK(ratel_history_freeze(h));
    write_native(r, h, &t);
    EXPECT_STR(t.at,
               "{\"ratel\":1,\"init\":null,\"late\":1}\n"
               "{\"session\":1,\"id\":0,\"commit_ts\":12,\"note\":1,\"ops\":[[\"r\",\"x\",7],"
               "[\"w\",\"x\",8,{\"ver\":3}]]}\n"
               "{\"session\":2,\"id\":1,\"note\":2,\"ops\":[[\"r\",\"x\",7,{\"from\":\"w\"}]]}\n");
    ratel_history_free(h);
    ratel_close(r);
}

static void refuse_all(ratel_history *h)
{
    ratel_row row = {str("x"), num(1)};
    ratel_value two[2] = {str("a"), str("b")}, real = {.type = RATEL_REAL, .as.r = 1};
    OK(ratel_history_begin(h, num(1)));
    REFUSED(h, ratel_history_from(h, str("a"))); /* there is no operation */
    OK(ratel_history_put(h, str("x"), num(1), 0));
    REFUSED(h, ratel_history_from(h, str("a")));
    REFUSED(h, ratel_history_vset(h, str("x"), none));
    REFUSED(h, ratel_history_from_rows(h, two, 1));
    OK(ratel_history_ver(h, 1));
    REFUSED(h, ratel_history_ver(h, 2));
    OK(ratel_history_get(h, str("y"), num(1), 0));
    REFUSED(h, ratel_history_from(h, real));
    OK(ratel_history_from(h, str("b")));
    REFUSED(h, ratel_history_from(h, none));
    OK(ratel_history_called(h, 1, 2));
    REFUSED(h, ratel_history_called(h, 1, 2));
    REFUSED(h, ratel_history_attribute(h, "from", "1", 1));
    REFUSED(h, ratel_history_attribute(h, "", "1", 1));
    REFUSED(h, ratel_history_attribute(h, "a\xff", "1", 1));
    REFUSED(h, ratel_history_attribute(h, NULL, "1", 1));
    REFUSED(h, ratel_history_attribute(h, "a", NULL, 1));
    EXPECT_EQ_INT(ratel_history_attribute(h, "a", "", 0), RATEL_EPARSE);
    EXPECT_EQ_INT(ratel_history_attribute(h, "a", "[1", 2), RATEL_EPARSE);
    EXPECT_EQ_INT(ratel_history_attribute(h, "a", "1 2", 3), RATEL_EPARSE);
    EXPECT_EQ_INT(ratel_history_attribute(h, "a", "nul", 3), RATEL_EPARSE);
    OK(ratel_history_attribute(h, "a", "1", 1));
    REFUSED(h, ratel_history_attribute(h, "a", "2", 1));
    OK(ratel_history_scan(h, none, none, &row, 1, 0));
    REFUSED(h, ratel_history_ver(h, 2));
    REFUSED(h, ratel_history_from(h, none));
    REFUSED(h, ratel_history_from_rows(h, two, 2)); /* one row */
    REFUSED(h, ratel_history_from_rows(h, &real, 1));
    REFUSED(h, ratel_history_vset(h, none, none));
    OK(ratel_history_vset(h, str("v"), str("a")));
    OK(ratel_history_called(h, 1, 2));
    REFUSED(h, ratel_history_vset(h, str("w"), str("a"))); /* another list */
    REFUSED(h, ratel_history_scan(h, none, none, &row, 1, RATEL_OP_TOMB));
    REFUSED(h, ratel_history_member(h, "ops", "1", 1));
    REFUSED(h, ratel_history_member(h, "begin", "1", 1));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    REFUSED(h, ratel_history_start_ts(h, 1));
    REFUSED(h, ratel_history_ver(h, 1));
    REFUSED(h, ratel_history_member(h, "recorder", "\"me\"", 4));
}

TEST(a_refused_hint_changes_nothing)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    static text t;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    OK(ratel_history_new(&h, r));
    REFUSED(h, ratel_history_ver(h, 1));
    refuse_all(h);
    OK(ratel_history_freeze(h));
    REFUSED(h, ratel_history_member(h, "n", "1", 1));
    write_native(r, h, &t);
    EXPECT_STR(t.at, "{\"ratel\":1,\"init\":null}\n"
                     "{\"session\":1,\"id\":0,\"ops\":[[\"w\",\"x\",1,{\"ver\":1}],"
                     "[\"r\",\"y\",1,{\"from\":\"b\",\"t\":[1,2],\"a\":1}],"
                     "[\"scan\",null,null,[[\"x\",1]],{\"vset\":[[\"v\",\"a\"]],\"t\":[1,2]}]]}\n");
    ratel_history_free(h);
    EXPECT_EQ_INT(ratel_history_from(NULL, none), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_history_member(NULL, "a", "1", 1), RATEL_EINVAL);
    ratel_close(r);
}

TEST(a_member_that_occurs_twice_is_found_by_freezing)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    OK(ratel_history_new(&h, r));
    OK(ratel_history_begin(h, num(1)));
    OK(ratel_history_member(h, "n", "1", 1));
    OK(ratel_history_member(h, "n", "2", 1));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    EXPECT_EQ_INT(ratel_history_freeze(h), RATEL_EHISTORY);
    EXPECT(strstr(ratel_history_errmsg(h), "\"n\"") != NULL);
    ratel_history_free(h);
    ratel_close(r);
}

/* Two transactions write x = 1; b reads 1, and that a overwrote it is told by versions. */
static ratel_verdict read_from(const char *writer)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    ratel_verdict found = RATEL_UNDECIDED;
    if (ratel_open(&r, NULL) || ratel_history_new(&h, r)) FAIL("out of memory");
    for (int i = 0; i < 2; i++) {
        OK(ratel_history_begin(h, num(1)));
        OK(ratel_history_id(h, str(i ? "second" : "first")));
        OK(ratel_history_put(h, str("x"), num(1), 0));
        OK(ratel_history_end(h, RATEL_COMMITTED));
    }
    OK(ratel_history_begin(h, num(1)));
    OK(ratel_history_get(h, str("x"), num(1), 0));
    if (writer) OK(ratel_history_from(h, str(writer)));
    OK(ratel_history_end(h, RATEL_COMMITTED));
    OK(ratel_history_freeze(h));
    OK(ratel_check(&a, r, h, "serializable"));
    found = ratel_result_verdict(a);
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
    return found;
}

TEST(hints_count)
{
    EXPECT_EQ_INT(read_from(NULL), RATEL_HOLDS);
    EXPECT_EQ_INT(read_from("second"), RATEL_HOLDS);
    EXPECT_EQ_INT(read_from("first"), RATEL_VIOLATED);
}

TEST_MAIN
