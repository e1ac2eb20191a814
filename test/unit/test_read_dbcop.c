/*
 * dbcop bincode: a worked example, its quirks, hostile files, round trips.
 */
#include "read_help.h"

TEST_MAIN

/* A file under construction. */
static char file[4096];
static size_t used;

static void u64(uint64_t v)
{
    for (int i = 0; i < 8; i++) file[used++] = (char)(v >> (8 * i));
}
static void string(const char *s)
{
    u64(strlen(s));
    memcpy(file + used, s, strlen(s));
    used += strlen(s);
}
static void header(void)
{
    used = 0;
    u64(3), u64(2), u64(1), u64(2), u64(2);
    string("generated");
    string("2019-03-21T02:37:14.400748048+01:00");
    string("");
}
static void event(int write, uint64_t key, uint64_t value, int ok)
{
    file[used++] = (char)write;
    u64(key);
    u64(value);
    file[used++] = (char)ok;
}

#define HEAD                                                                                       \
    "{\"ratel\":1,\"init\":0,\"dbcop_params\":[3,2,1,2,2],\"dbcop_info\":\"generated\","           \
    "\"dbcop_start\":\"2019-03-21T02:37:14.400748048+01:00\",\"dbcop_end\":\"\""

TEST(failed_transactions_and_events)
{
    header();
    u64(2);
    u64(2);
    u64(3), event(1, 7, 1, 1), event(0, 7, 0, 0), event(1, 8, UINT64_MAX, 0), file[used++] = 1;
    u64(1), event(1, 7, 2, 1), file[used++] = 0;
    u64(1);
    u64(1), event(0, 7, 0, 1), file[used++] = 1;
    EXPECT_NATIVE(NULL, file, used,
                  HEAD "}\n"
                       "{\"session\":0,\"id\":0,\"ops\":[[\"w\",7,1],[\"r\",7,0,{\"ok\":false}],"
                       "[\"w\",8,18446744073709551615,{\"ok\":false}]]}\n"
                       "{\"session\":0,\"id\":1,\"status\":\"aborted\",\"ops\":[[\"w\",7,2]]}\n"
                       "{\"session\":1,\"id\":2,\"ops\":[[\"r\",7,0]]}\n");
    guard g;
    history *h = load(&g, "dbcop", file, used);
    REQUIRE(h);
    text t = dump(h, "dbcop"); /* nothing is lost, not even a byte */
    EXPECT_EQ_UINT(t.n, used);
    EXPECT_MEM(t.at, file, used);
    EXPECT_EQ_UINT(t.lost, 0);
    free(t.at);
    history_free(h);
}

TEST(empty_sessions_and_transactions)
{
    header();
    u64(3);
    u64(0);
    u64(1), u64(0), file[used++] = 1;
    u64(0);
    guard g;
    history *h = load(&g, NULL, file, used);
    REQUIRE(h);
    EXPECT_EQ_UINT(h->sessions.n, 3);
    EXPECT_EQ_UINT(h->txns, 1);
    text t = dump(h, "dbcop");
    EXPECT_EQ_UINT(t.n, used);
    EXPECT_MEM(t.at, file, used);
    free(t.at);
    history_free(h);
    header();
    u64(0);
    h = load(&g, NULL, file, used);
    REQUIRE(h);
    EXPECT_EQ_UINT(h->txns, 0);
    history_free(h);
    h = load(&g, "dbcop", "", 0); /* on demand, an empty file is an empty history */
    REQUIRE(h);
    EXPECT_EQ_UINT(h->txns, 0);
    history_free(h);
}

TEST(every_truncation_is_refused)
{
    header();
    u64(1);
    u64(2);
    u64(2), event(1, 7, 1, 1), event(0, 7, 0, 1), file[used++] = 1;
    u64(1), event(1, 7, 2, 1), file[used++] = 1;
    guard g;
    for (size_t n = 1; n < used; n++) {
        history *h = load(&g, "dbcop", file, n);
        EXPECT(!h);
        EXPECT_EQ_INT(g.code, GUARD_PARSE);
        EXPECT(g.has_offset);
        EXPECT_EQ_UINT(g.offset, n);
        history_free(h);
    }
    file[used] = 0;
    EXPECT_REFUSED("dbcop", file, used + 1, GUARD_PARSE, 0, used, "bytes follow the last session");
}

TEST(lies_cost_nothing)
{
    header();
    u64(UINT64_MAX); /* sessions */
    EXPECT_REFUSED(NULL, file, used, GUARD_PARSE, 0, used, "ends inside");
    header();
    u64(1);
    u64((uint64_t)1 << 60); /* transactions */
    EXPECT_REFUSED(NULL, file, used, GUARD_PARSE, 0, used, "ends inside");
    header();
    u64(1);
    u64(1);
    u64((uint64_t)1 << 59); /* events */
    EXPECT_REFUSED(NULL, file, used, GUARD_PARSE, 0, used, "ends inside");
    used = 0;
    u64(0), u64(0), u64(0), u64(0), u64(0);
    u64(UINT64_MAX - 7); /* length of a string */
    EXPECT_REFUSED("dbcop", file, used, GUARD_PARSE, 0, used, "info");
}

TEST(bytes_that_are_no_bools)
{
    header();
    u64(1), u64(1), u64(1);
    size_t at = used;
    event(1, 7, 1, 1), file[used++] = 1;
    file[at] = 2;
    EXPECT_REFUSED(NULL, file, used, GUARD_PARSE, 0, at, "0 or 1, found 2");
    file[at] = 1, file[at + 17] = (char)255;
    EXPECT_REFUSED(NULL, file, used, GUARD_PARSE, 0, at + 17, "0 or 1, found 255");
    file[at + 17] = 1, file[at + 18] = 3;
    EXPECT_REFUSED(NULL, file, used, GUARD_PARSE, 0, at + 18, "0 or 1, found 3");
}

TEST(header_strings_are_utf8)
{
    used = 0;
    u64(0), u64(0), u64(0), u64(0), u64(0);
    string("caf\xc3\xa9 \"\\\n\x01");
    string("\xc3");
    string("");
    u64(0);
    EXPECT_REFUSED("dbcop", file, used, GUARD_PARSE, 0, 40 + 8 + 10 + 8 + 1, "not UTF-8");
    used = 0;
    u64(0), u64(0), u64(0), u64(0), u64(0);
    string("caf\xc3\xa9 \"\\\n\x01");
    string("s");
    string("");
    u64(0);
    guard g;
    history *h = load(&g, "dbcop", file, used);
    REQUIRE(h);
    text t = dump(h, "dbcop");
    EXPECT_EQ_UINT(t.n, used);
    EXPECT_MEM(t.at, file, used);
    free(t.at);
    history_free(h);
}

/* Strings, nulls and unknown outcomes, put into a format that has none of them. */
TEST(writing_what_does_not_fit)
{
    static const char native[] =
        "{\"ratel\":1,\"init\":null}\n"
        "{\"session\":\"a\",\"id\":\"t\",\"ops\":[[\"r\",\"x\",null],[\"w\",\"x\",\"one\"]]}\n"
        "{\"session\":\"b\",\"id\":\"u\",\"status\":\"unknown\",\"ops\":[[\"w\",\"y\",0]]}\n"
        "{\"session\":\"b\",\"id\":\"v\",\"status\":\"unknown\",\"ops\":[[\"w\",\"y\",5]]}\n"
        "{\"session\":\"c\",\"id\":\"w\",\"ops\":[[\"r\",\"y\",0],[\"r\",\"x\",\"one\"],[\"r\","
        "\"x\"]]}\n";
    guard g;
    history *h = load(&g, "ratel", native, strlen(native));
    REQUIRE(h);
    text t = dump(h, "dbcop");
    EXPECT_EQ_UINT(t.lost, LOST(LABELS) | LOST(KEYS) | LOST(VALUES) | LOST(NULLS) | LOST(UNKNOWN) |
                               LOST(UNKNOWN_READS));
    history *back = load(&g, NULL, t.at, t.n);
    EXPECT_STR(g.text, "");
    free(t.at);
    history_free(h);
    REQUIRE(back);
    t = dump(back, "text"); /* the shortest way to show it; v was never seen: aborted */
    EXPECT_STR(t.at, "r(0,0,0,0)\nw(0,1,0,0)\nw(1,2,1,1)\nw(1,3,1,-1)\nr(1,2,2,3)\nr(0,1,2,3)\n");
    free(t.at);
    history_free(back);
}

TEST(worked_example)
{
    const char *path = shared_path("dbcop/c4-testcase/tap-b/history.bincode");
    if (!path) SKIP("no shared data (RATEL_SHARED)");
    guard g;
    history *h = load_path(&g, NULL, path);
    EXPECT_STR(g.text, "");
    REQUIRE(h);
    text t = dump(h, "text");
    EXPECT_STR(t.at, "w(1,1,0,0)\nr(1,2,1,1)\n");
    free(t.at);
    t = dump(h, "dbcop");
    EXPECT_EQ_UINT(t.n, 215);
    free(t.at);
    history_free(h);
}

TEST(manifest)
{
    int n = check_manifest("dbcop");
    if (n < 0) SKIP("no shared data (RATEL_SHARED)");
    EXPECT(n > 100);
}
