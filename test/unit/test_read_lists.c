/*
 * elle-cli JSON and VeriStrong's list-append text: events and lines, positions of errors, writing.
 */
#include "read_help.h"

TEST_MAIN

#define ELLE(from, want) EXPECT_NATIVE("elle-json", from, strlen(from), want)
#define STRONG(from, want) EXPECT_NATIVE("veristrong-la", from, strlen(from), want)
#define BAD(format, from, line, column, why)                                                       \
    EXPECT_REFUSED(format, from, sizeof(from) - 1, GUARD_PARSE, line, column, why)
#define BAD_ELLE(from, line, column, why) BAD("elle-json", from, line, column, why)
#define BAD_STRONG(from, line, column, why) BAD("veristrong-la", from, line, column, why)

/* --- elle-cli JSON --------------------------------------------------------------------------- */

TEST(elle_events_are_those_of_edn)
{
    static const char json[] =
        "[{\"index\":0,\"type\":\"invoke\",\"process\":1,\"f\":\"txn\",\"value\":[[\"append\",5,1],"
        "[\"r\",6,null]]},\n"
        "{\"index\":1,\"type\":\"invoke\",\"process\":2,\"f\":\"txn\","
        "\"value\":[[\"append\",5,2]]},\n"
        "{\"type\":\"ok\",\"index\":2,\"process\":1,\"f\":\"txn\",\"value\":[[\"append\",5,1],"
        "[\"r\",6,[1,3]]]},\n"
        "{\"value\":[[\"append\",5,2]],\"index\":3,\"type\":\"fail\",\"process\":2,"
        "\"f\":\"txn\"},\n"
        "{\"index\":4,\"type\":\"info\",\"process\":\"nemesis\",\"f\":\"cut\",\"value\":null},\n"
        "{\"index\":5,\"type\":\"invoke\",\"process\":1,\"f\":\"txn\",\"value\":[[\"w\",\"x\",7]],"
        "\"error\":{\"a:b\":[null,\"n:\\\"\"]}}]\n";
    static const char want[] =
        "{\"ratel\":1,\"init\":null}\n"
        "{\"session\":1,\"id\":2,\"begin\":0,\"end\":2,"
        "\"ops\":[[\"append\",5,1],[\"r\",6,[1,3]]]}\n"
        "{\"session\":2,\"id\":3,\"status\":\"aborted\",\"begin\":1,\"end\":3,"
        "\"ops\":[[\"append\",5,2]]}\n"
        "{\"mark\":\"nemesis\",\"at\":3,\"type\":\"info\",\"f\":\"cut\",\"value\":null}\n"
        "{\"session\":1,\"id\":5,\"status\":\"unknown\",\"begin\":5,"
        "\"error\":{\"a:b\":[null,\"n:\\\"\"]},\"ops\":[[\"w\",\"x\",7]]}\n";
    ELLE(json, want);
}

/* One after another without an array, white space, a byte order mark, carriage returns. */
TEST(elle_shapes)
{
    static const char want[] = "{\"ratel\":1,\"init\":null}\n"
                               "{\"session\":0,\"id\":0,\"ops\":[[\"w\",\"x\",2]]}\n"
                               "{\"session\":0,\"id\":1,\"ops\":[[\"r\",\"x\",null]]}\n";
    ELLE("\xef\xbb\xbf{\"type\" : \"ok\" , \"process\":0,\"value\":[[\"w\",\"x\",2]]}\r\n"
         "{\"type\":\"ok\",\"process\":0,\"value\":[ [ \"r\" , \"x\" ,\tnull ] ]}\r\n",
         want);
    ELLE(" [ {\"type\":\"ok\",\"process\":0,\"value\":[[\"w\",\"x\",2]]}\n,\n"
         "{\"type\":\"ok\",\"process\":0,\"value\":[[\"r\",\"x\"  ,null]]}\n]",
         want);
    ELLE("", "{\"ratel\":1,\"init\":null}\n");
    ELLE(" [ ] ", "{\"ratel\":1,\"init\":null}\n");
}

/* null in a read of unknown outcome says nothing; nil and [] are the initial list. */
TEST(elle_reads_of_nothing)
{
    ELLE("[{\"type\":\"info\",\"process\":0,\"value\":[[\"r\",1,null]]},"
         "{\"type\":\"ok\",\"process\":1,\"value\":[[\"r\",1,[]],[\"r\",2,null],[\"r\",3,0]]}]",
         "{\"ratel\":1,\"init\":null}\n"
         "{\"session\":0,\"id\":0,\"status\":\"unknown\",\"ops\":[[\"r\",1]]}\n"
         "{\"session\":1,\"id\":1,\"ops\":[[\"r\",1,[]],[\"r\",2,null],[\"r\",3,0]]}\n");
}

TEST(elle_keys_and_values)
{
    ELLE("[{\"type\":\"ok\",\"process\":\"p\\u00e9\\/\",\"value\":[[\"w\",-3,18446744073709551615],"
         "[\"w\",\"k\\n\\/\",-1.5e3],[\"w\",18446744073709551615,123456789012345678901234567890],"
         "[\"w\",1,true],[\"w\",2,\":kw\"],[\"r\",3,\"\\ud83d\\ude00\"]]}]",
         "{\"ratel\":1,\"init\":null}\n"
         "{\"session\":\"p\xc3\xa9/\",\"id\":0,\"ops\":[[\"w\",-3,18446744073709551615],"
         "[\"w\",\"k\\n/\",-1500.0],[\"w\",18446744073709551615,123456789012345678901234567890],"
         "[\"w\",1,true],[\"w\",2,\":kw\"],[\"r\",3,\"\xf0\x9f\x98\x80\"]]}\n");
}

TEST(elle_errors_have_positions)
{
    BAD_ELLE("[1]", 1, 2, "expected an event");
    BAD_ELLE("[{\"type\":\"ok\"}\n{\"type\":\"ok\"}]", 2, 1, "expected ',' or ']'");
    BAD_ELLE("[{\"type\":\"ok\"},]", 1, 16, "expected an event");
    BAD_ELLE("[{\"type\":\"ok\"}] 1", 1, 17, "there is text after the array");
    BAD_ELLE("[{\"type\":\"ok\"", 1, 14, "the input ends here");
    BAD_ELLE("[\n{\"process\":1}]", 2, 1, "event without :type");
    BAD_ELLE("[\n{\"type\":\"oops\"}]", 2, 9, "unknown :type");
    BAD_ELLE("[\n{\"type\" \"ok\"}]", 2, 9, "expected ':'");
    BAD_ELLE("[\n{\"type\":\"ok\",\"type\":\"ok\"}]", 2, 14, "occurs twice");
    BAD_ELLE("[\n{\"type\":\"ok\",\"value\":[[\"cas\",1,2]]}]", 2, 24, "unknown micro-operation");
    BAD_ELLE("[\n{\"type\":\"ok\",\"value\":[[\"w\",1,null]]}]", 2, 30, "nil cannot be written");
    BAD_ELLE("[\n{\"type\":\"ok\",\"value\":[[\"w\",1]]}]", 2, 29, "without a value");
    BAD_ELLE("[\n{\"type\":\"ok\",\"value\":[[\"w\",1,[2]]]}]", 2, 30, "a list cannot be written");
    BAD_ELLE("[\n{\"type\":\"ok\",\"value\":[[\"r\" 1 2]]}]", 2, 28, "expected ',' or ']'");
    BAD_ELLE("[\n{\"type\":\"ok\",\"value\":[[\"r\",01,2]]}]", 2, 28, "a leading zero");
    BAD_ELLE("[{\"type\":\"ok\",\"x\":\"\xc3(\"}]", 1, 20, "invalid UTF-8");
    BAD_ELLE("[{\"type\":\"ok\0\"}]", 1, 13, "control byte 0x00");
    BAD_ELLE("[{\"type\":\"ok\"}\0]", 1, 15, "found byte 0x00");
    BAD_ELLE("[{\"type\":\"invoke\",\"process\":1},{\"type\":\"invoke\",\"process\":1}]", 1, 32,
             "still open");
    static char deep[300000] = "[{\"type\":\"ok\",\"x\":";
    memset(deep + 18, '[', sizeof deep - 18);
    guard g;
    EXPECT(!load(&g, "elle-json", deep, sizeof deep));
    EXPECT_STR(g.text, "nested deeper than 1000 levels");
}

TEST(elle_round_trips)
{
    expect_same_text("elle-json",
                     "[{\"index\":0,\"time\":5,\"type\":\"invoke\",\"process\":1,\"f\":\"txn\","
                     "\"value\":[[\"append\",5,1],[\"r\",6,null]]},\n"
                     "{\"process\":\"nemesis\",\"type\":\"info\",\"f\":\"cut\"},\n"
                     "{\"index\":2,\"time\":9,\"type\":\"ok\",\"process\":1,\"f\":\"txn\","
                     "\"value\":[[\"append\",5,1],[\"r\",6,[1,3]]],\"ts\":{\"rts\":4,\"cts\":7},"
                     "\"node\":\":n1\",\"error\":{\"a\":[null]}},\n"
                     "{\"index\":3,\"type\":\"invoke\",\"process\":\"p\",\"f\":\"txn\","
                     "\"value\":[[\"w\",\"x\",18446744073709551615],[\"r\",\"y\",null]]},\n"
                     "{\"index\":4,\"type\":\"ok\",\"process\":\"p\",\"f\":\"txn\","
                     "\"value\":[[\"w\",\"x\",18446744073709551615],[\"r\",\"y\",null]]}]\n");
    expect_written("elle-json", "{\"ratel\":1}\n", "[]\n", 0);
}

/* EDN and JSON tell the same history, marks of either origin included. */
TEST(elle_and_edn)
{
    static const char edn[] =
        "{:index 0, :type :invoke, :process 1, :f :txn, :value [[:append 5 1]]}\n"
        "{:process :nemesis, :type :info, :f :cut, :value {:n1 [:n2]}}\n"
        "{:index 1, :type :ok, :process 1, :f :txn, :value [[:append 5 1]], :node \"n1\"}\n";
    guard g;
    history *h = load(&g, NULL, edn, sizeof edn - 1);
    REQUIRE(h);
    text json = dump(h, "elle-json");
    EXPECT_EQ_UINT(json.lost, 0);
    history *again = load(&g, NULL, json.at, json.n);
    EXPECT_STR(g.text, "");
    REQUIRE(again);
    EXPECT_SAME(h, again);
    text back = dump(again, "edn-la");
    EXPECT_STR(back.at, edn);
    free(json.at);
    free(back.at);
    history_free(h);
    history_free(again);
}

TEST(elle_writing)
{
    expect_written(
        "elle-json",
        "{\"ratel\":1,\"init\":0}\n"
        "{\"session\":1,\"id\":\"a\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1],[\"d\",\"x\"]]}\n",
        "[{\"index\":0,\"type\":\"ok\",\"process\":1,\"f\":\"txn\","
        "\"value\":[[\"r\",\"x\",null],[\"w\",\"x\",1]]}]\n",
        LOST(INIT) | LOST(LABELS) | LOST(DELETES));
    /* a client of that name would come back as a fault */
    static const char nemesis[] = "{\"session\":\"nemesis\",\"id\":1,\"ops\":[]}\n";
    guard g;
    history *h = load(&g, "ratel", nemesis, sizeof nemesis - 1);
    REQUIRE(h);
    mem m;
    text t = {0};
    mem_init(&m, NULL, NULL, &g);
    if (!guard_armed(&g)) {
        sink out;
        sink_init(&out, &m, &g, text_add, &t);
        read_format_named("elle-json")->write(h, &out);
    }
    EXPECT_EQ_INT(g.code, GUARD_UNSUPPORTED);
    EXPECT(strstr(g.text, "the session \"nemesis\""));
    mem_free_all(&m);
    history_free(h);
}

/* --- VeriStrong ------------------------------------------------------------------------------ */

TEST(strong_lines)
{
    static const char want[] = "{\"ratel\":1,\"init\":null}\n"
                               "{\"session\":1,\"id\":10,\"ops\":[[\"append\",5,1],[\"r\",6,[]]]}\n"
                               "{\"session\":2,\"id\":20,\"ops\":[[\"r\",5,[1,-2]]]}\n";
    STRONG("3\n1 10 A 5 1\n1 10 R 6 0\n2 20 R 5 2 1 -2\n", want);
    STRONG("\xef\xbb\xbf 3 1 10\r\nA 5 1 1 10 R\t6 0 2 20 R 5 2 1\r\n-2", want);
    STRONG("", "{\"ratel\":1,\"init\":null}\n");
    STRONG("0\n", "{\"ratel\":1,\"init\":null}\n");
    STRONG("1 -9223372036854775808 9223372036854775807 A -1 9223372036854775807",
           "{\"ratel\":1,\"init\":null}\n{\"session\":-9223372036854775808,"
           "\"id\":9223372036854775807,\"ops\":[[\"append\",-1,9223372036854775807]]}\n");
}

/* Session order is that of first appearance; operations keep their order. */
TEST(strong_lines_apart)
{
    STRONG("6\n1 9 A 1 1\n2 5 A 1 2\n1 3 A 1 3\n1 9 R 1 1 1\n2 5 R 1 2 1 2\n1 3 A 2 4\n",
           "{\"ratel\":1,\"init\":null}\n"
           "{\"session\":1,\"id\":9,\"ops\":[[\"append\",1,1],[\"r\",1,[1]]]}\n"
           "{\"session\":2,\"id\":5,\"ops\":[[\"append\",1,2],[\"r\",1,[1,2]]]}\n"
           "{\"session\":1,\"id\":3,\"ops\":[[\"append\",1,3],[\"append\",2,4]]}\n");
}

TEST(strong_many_lines_apart)
{
    enum { TXNS = 3000, ROUNDS = 5 };
    text in = {0};
    char line[80];
    text_add(line, (size_t)snprintf(line, sizeof line, "%d\n", TXNS * ROUNDS), &in);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < TXNS; i++) {
            int t = (i * 1009 + r) % TXNS;
            int n = snprintf(line, sizeof line, "%d %d A %d %d\n", t % 10, t, t, r + 1);
            text_add(line, (size_t)n, &in);
        }
    guard g;
    history *h = load(&g, NULL, in.at, in.n);
    free(in.at);
    EXPECT_STR(g.text, "");
    REQUIRE(h);
    EXPECT_EQ_UINT(h->txns, TXNS);
    int wrong = 0;
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            wrong += h->op_value[o] != o - h->txn_op[t] + 1;
    EXPECT_EQ_INT(wrong, 0);
    history_free(h);
}

TEST(strong_errors_have_positions)
{
    BAD_STRONG("2\n1 1 A 5 1\n", 3, 1, "the input ends after 1 of 2 operations");
    BAD_STRONG("1\n1 1 R 5 3 1 2", 2, 14, "the input ends after 0 of 1 operations");
    BAD_STRONG("1\n1 1 A 5 1\n1 1 A 5 2\n", 3, 1, "more than the 1 operations");
    BAD_STRONG("1\n1 1 W 5 1\n", 2, 5, "expected R or A");
    BAD_STRONG("1\n1 1 AR 5 1\n", 2, 5, "expected R or A");
    BAD_STRONG("1\n1 x A 5 1\n", 2, 3, "expected a transaction");
    BAD_STRONG("1\n1 1 A 5 1x\n", 2, 10, "expected a value");
    BAD_STRONG("1\n1 1 A - 1\n", 2, 7, "expected a key");
    BAD_STRONG("1\n1 1 A 9223372036854775808 1\n", 2, 7, "a key beyond 64 bits");
    BAD_STRONG("1\n1 1 R 5 -1\n", 2, 9, "the length of a list below zero");
    BAD_STRONG("-1\n", 1, 1, "the number of operations below zero");
    BAD_STRONG("99999999999999999999\n", 1, 1, "the number of operations beyond 64 bits");
    BAD_STRONG("9223372036854775807\n1 1 R 5 9223372036854775807 1", 2, 30, "ends after 0 of");
    BAD_STRONG("2\n1 1 A 5 1\n2 1 A 5 2\n", 3, 4,
               "transaction 1 is of session 1, here it is of "
               "session 2");
    BAD_STRONG("3\n1 1 A 5 1\n2 2 A 5 2\n2 1 A 5 3", 4, 4, "transaction 1 is of session 1");
    BAD_STRONG("1\n1 1 A \0 1\n", 2, 7, "expected a key");
}

TEST(strong_round_trips)
{
    expect_same_text("veristrong-la", "4\n1 9 A 1 1\n1 9 R 1 1 1\n2 5 R 1 2 1 -2\n1 3 R 7 0\n");
}

/* Sessions and transactions called 0 are VeriStrong's own; unknown ones count if they were seen. */
TEST(strong_writing)
{
    expect_written("veristrong-la", "{\"session\":0,\"id\":5,\"ops\":[[\"append\",1,1]]}\n",
                   "1\n1 1 A 1 1\n", LOST(LABELS));
    expect_written(
        "veristrong-la",
        "{\"session\":1,\"id\":1,\"status\":\"unknown\",\"ops\":[[\"append\",\"k\",\"a\"],"
        "[\"r\",\"m\",[7]]]}\n"
        "{\"session\":2,\"id\":2,\"status\":\"unknown\",\"ops\":[[\"append\",\"k\",\"b\"]]}\n"
        "{\"session\":3,\"id\":3,\"status\":\"aborted\",\"ops\":[[\"append\",\"k\",\"c\"]]}\n"
        "{\"session\":4,\"id\":4,\"ops\":[[\"r\",\"k\",[\"a\"]],[\"r\",\"m\",null],"
        "[\"r\",\"x\",null],[\"w\",\"x\",1]]}\n"
        "{\"session\":5,\"id\":5,\"status\":\"unknown\",\"ops\":[[\"append\",\"m\",7]]}\n",
        "5\n1 1 A 0 2147483650\n1 1 R 1 1 7\n4 4 R 0 1 2147483650\n4 4 R 1 0\n5 5 A 1 7\n",
        LOST(KEYS) | LOST(VALUES) | LOST(UNKNOWN) | LOST(ABORTED) | LOST(REGISTERS));
}

TEST(manifest)
{
    int n = check_manifest("elle-json");
    if (n < 0) SKIP("no ../shared/data: the histories of other projects are not here");
    EXPECT(n > 0);
}
