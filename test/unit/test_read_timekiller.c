/*
 * TimeKiller JSON: shapes of the file, clocks, the initial state; and version certificates.
 */
#include "read_help.h"

TEST_MAIN

#define FILE_(in, want) EXPECT_NATIVE("timekiller", in, strlen(in), want)
#define BAD(in, line, column, why)                                                                 \
    EXPECT_REFUSED("timekiller", in, strlen(in), GUARD_PARSE, line, column, why)
#define HEAD "{\"ratel\":1,\"init\":null}\n"

/* Members in any order, pretty-printed or not, numbers as strings, any case of the names. */
TEST(shapes)
{
    const char *want =
        HEAD "{\"session\":19,\"id\":67,\"start_ts\":5,\"commit_ts\":9,\"ops\":[[\"w\",7,2],"
             "[\"r\",8,3],[\"r\",9,null],[\"d\",4]]}\n"
             "{\"session\":\"a\",\"id\":\"x\",\"start_ts\":9,\"commit_ts\":9,\"ops\":[]}\n";
    const char *one =
        "[{\"tid\":67,\"sid\":19,\"sts\":{\"p\":5,\"l\":0},\"cts\":{\"p\":9,\"l\":0},"
        "\"ops\":[{\"t\":\"w\",\"k\":7,\"v\":2},{\"t\":\"r\",\"k\":8,\"v\":3},"
        "{\"t\":\"r\",\"k\":9},{\"t\":\"w\",\"k\":4,\"v\":null}]},"
        "{\"tid\":\"x\",\"sid\":\"a\",\"sts\":{\"p\":9},\"cts\":{\"p\":9},\"ops\":[]}]";
    FILE_(one, want);
    EXPECT_NATIVE(NULL, one, strlen(one), want);
    const char *other =
        "\n[\n  {\n \"cts\": {\"l\": \"0\", \"p\": \"9\"},\n \"ops\": [\n {\"v\": 2, \"k\": 7, "
        "\"t\": \"WRITE\"},\n {\"t\": \"Read\", \"k\": 8, \"v\": 3}, {\"k\": 9, \"t\": "
        "\"R\", \"v\": null}, {\"t\":\"w\",\"k\":4}],\n\"sts\":{\"p\":5,\"l\":0},\"sid\":19,"
        "\"tid\":67}\n,\n{\"tid\":\"x\",\"sid\":\"a\",\"sts\":{\"p\":9},\"cts\":{\"p\":9},"
        "\"ops\":[]}\n]\n";
    FILE_(other, want);
    const char *posted = "{\"tid\":67,\"sid\":19,\"rtts\": { \"a b\" : 1 },\"ops\":[]}\n"
                         "{\"tid\":68,\"sid\":19,\"ops\":[]}\n";
    FILE_(posted, HEAD "{\"session\":19,\"id\":67,\"rtts\":{\"a b\":1},\"ops\":[]}\n"
                       "{\"session\":19,\"id\":68,\"ops\":[]}\n");
    FILE_("[ ]", HEAD);
    FILE_("", HEAD);
}

/* Names that the native format would take for its own. */
TEST(members_with_taken_names)
{
    const char *in = "[{\"tid\":1,\"sid\":2,\"id\":7,\"mark\":1,\"timekiller-id\":2,\"ops\":[]}]";
    const char *want = HEAD "{\"session\":2,\"id\":1,\"timekiller-id\":7,\"timekiller-mark\":1,"
                            "\"timekiller-timekiller-id\":2,\"ops\":[]}\n";
    FILE_(in, want);
    guard g;
    history *h = load(&g, "timekiller", in, strlen(in));
    text t = dump(h, "timekiller");
    EXPECT_STR(t.at, "[{\"tid\":1,\"sid\":2,\"ops\":[],\"id\":7,\"mark\":1,"
                     "\"timekiller-id\":2}]\n");
    EXPECT_EQ_UINT(t.lost, 0);
    free(t.at);
    history_free(h);
}

TEST(lists)
{
    FILE_("[{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"a\",\"k\":1,\"v\":5},{\"t\":\"append\","
          "\"k\":1,\"v\":6},"
          "{\"t\":\"r\",\"k\":1,\"v\":[5,6]},{\"t\":\"r\",\"k\":2,\"v\":[]}]}]",
          HEAD "{\"session\":1,\"id\":1,\"ops\":[[\"append\",1,5],[\"append\",1,6],[\"r\",1,[5,6]],"
               "[\"r\",2,[]]]}\n");
}

#define TIMED(tid, p1, l1, p2, l2)                                                                 \
    "{\"tid\":" tid ",\"sid\":" tid ",\"ops\":[],\"sts\":{\"p\":" p1 ",\"l\":" l1                  \
    "},\"cts\":{\"p\":" p2 ",\"l\":" l2 "}}"

/* The logical part takes the low bits; what does not fit becomes ranks, equal ones equal. */
TEST(clocks)
{
    FILE_("[" TIMED("1", "3", "0", "3", "5") "," TIMED("2", "3", "5", "4", "0") "]",
          "{\"ratel\":1,\"init\":null,\"hlc_bits\":3}\n"
          "{\"session\":1,\"id\":1,\"start_ts\":24,\"commit_ts\":29,\"ops\":[]}\n"
          "{\"session\":2,\"id\":2,\"start_ts\":29,\"commit_ts\":32,\"ops\":[]}\n");
    FILE_("[" TIMED("1", "9223372036854775806", "1", "9223372036854775807",
                    "2") "," TIMED("2", "\"-5\"", "0", "9223372036854775806", "1") "]",
          "{\"ratel\":1,\"init\":null,\"hlc_ranks\":true}\n"
          "{\"session\":1,\"id\":1,\"start_ts\":1,\"commit_ts\":2,\"ops\":[]}\n"
          "{\"session\":2,\"id\":2,\"start_ts\":0,\"commit_ts\":1,\"ops\":[]}\n");
    BAD("[" TIMED("1", "3", "6", "3", "5") "]", 1, 2, "starts (sts) after its commit");
    BAD("[{\"tid\":1,\"sid\":1,\"sts\":{\"p\":\"1x\"}}]", 1, 30, "not a number");
    BAD("[{\"tid\":1,\"sid\":1,\"sts\":{\"p\":\"9223372036854775808\"}}]", 1, 30, "beyond 64 bits");
    BAD("[{\"tid\":1,\"sid\":1,\"sts\":{\"l\":1}}]", 1, 25, "without \"p\"");
}

#define READS(tid, ops) "{\"tid\":" tid ",\"sid\":1,\"ops\":[" ops "]}"
#define R(k, v) "{\"t\":\"r\",\"k\":" k ",\"v\":" v "}"
#define W(k, v) "{\"t\":\"w\",\"k\":" k ",\"v\":" v "}"

/* 0 that nobody wrote was there, unless absence was seen; own writes that are not seen tell
   nothing. */
TEST(initial_state)
{
    FILE_("[" READS("1", R("1", "0")) "," READS("2", W("2", "3") "," R("2", "null")) "]",
          "{\"ratel\":1,\"init\":0,\"init_inferred\":true}\n"
          "{\"session\":1,\"id\":1,\"ops\":[[\"r\",1,0]]}\n"
          "{\"session\":1,\"id\":2,\"ops\":[[\"w\",2,3],[\"r\",2,null]]}\n");
    FILE_("[" READS("1", R("1", "0")) "," READS(
              "2", R("2", "null") "," R("3", "0") "," R("3", "null")) "]",
          "{\"ratel\":1,\"init\":[[1,0]],\"init_inferred\":true}\n"
          "{\"session\":1,\"id\":1,\"ops\":[[\"r\",1,0]]}\n"
          "{\"session\":1,\"id\":2,\"ops\":[[\"r\",2,null],[\"r\",3,0],[\"r\",3,null]]}\n");
    FILE_("[" READS("1", R("1", "0")) "," READS("2", W("1", "0")) "]",
          HEAD "{\"session\":1,\"id\":1,\"ops\":[[\"r\",1,0]]}\n"
               "{\"session\":1,\"id\":2,\"ops\":[[\"w\",1,0]]}\n");
    /* a list starts empty, whatever the registers of the file do */
    FILE_("[" READS("1", R("1", "0") ",{\"t\":\"a\",\"k\":2,\"v\":5}," R("3", "[]")) "]",
          "{\"ratel\":1,\"init\":[[1,0]],\"init_inferred\":true}\n"
          "{\"session\":1,\"id\":1,\"ops\":[[\"r\",1,0],[\"append\",2,5],[\"r\",3,[]]]}\n");
}

TEST(wrong_files)
{
    BAD("[{\"sid\":1,\"ops\":[]}]", 1, 2, "without \"tid\"");
    BAD("[{\"tid\":1,\"ops\":[]}]", 1, 2, "without \"sid\"");
    BAD("[{\"tid\":1,\"sid\":1}]", 1, 2, "without \"ops\"");
    BAD("[{\"tid\":1,\n\"tid\":1}]", 2, 1, "occurs twice");
    BAD("[{\"tid\":1,\"sid\":1,\"ops\":[{\"k\":1}]}]", 1, 26, "without \"t\"");
    BAD("[{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"r\"}]}]", 1, 26, "without \"k\"");
    BAD("[{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"x\",\"k\":1}]}]", 1, 31, "unknown operation");
    BAD("[{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"a\",\"k\":1}]}]", 1, 26, "append of null");
    BAD("[{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":[]}]}]", 1, 26, "a list cannot");
    BAD("[1]", 1, 2, "an object");
    BAD("[{\"tid\":1,\"sid\":1,\"ops\":[]}", 1, 28, "ends here");
    BAD("[] []", 1, 4, "the end of the file");
    BAD("[{\"tid\":1,\"sid\":1,\"ops\":[]},]", 1, 29, "an object");
    EXPECT_REFUSED("timekiller", "[" READS("1", "") "," READS("1", "") "]",
                   strlen("[" READS("1", "") "," READS("1", "") "]"), GUARD_HISTORY, 0, 0,
                   "occurs twice");
}

static void round_trip(const char *format, const char *native, uint64_t lost)
{
    guard g;
    history *h = load(&g, "ratel", native, strlen(native));
    EXPECT_STR(g.text, "");
    text t = dump(h, format);
    if (t.lost != lost)
        test_fail(__FILE__, __LINE__, "%s lost %llx", native, (unsigned long long)t.lost);
    history *back = load(&g, format, t.at, t.n);
    EXPECT_STR(g.text, "");
    if (back && !lost) EXPECT_SAME(h, back);
    history_free(back);
    free(t.at);
    history_free(h);
}

TEST(writing)
{
    round_trip(
        "timekiller",
        "{\"ratel\":1,\"init\":[[1,0],[2,0]],\"init_inferred\":true,\"hlc_bits\":2}\n"
        "{\"session\":1,\"id\":1,\"start_ts\":5,\"commit_ts\":7,\"x\":[1],\"ops\":[[\"r\",1,0],"
        "[\"w\",1,3],[\"d\",2],[\"append\",3,1],[\"r\",3,[1,5000000000]]]}\n",
        0);
#define ONE(members, ops) "{\"session\":1,\"id\":1" members ",\"ops\":[" ops "]}\n"
    round_trip("timekiller", ONE("", "[\"w\",\"k\",1]"), LOST(KEYS));
    round_trip("timekiller", ONE("", "[\"w\",1,\"v\"]"), LOST(VALUES));
    round_trip("timekiller", "{\"ratel\":1,\"init\":5}\n" ONE("", "[\"r\",1,5]"), LOST(INIT));
    round_trip("timekiller", "{\"ratel\":1,\"init_unknown\":true}\n" ONE("", ""), LOST(INIT));
    round_trip("timekiller", ONE(",\"begin\":1", ""), LOST(TIMES));
    round_trip("timekiller", ONE(",\"start_ts\":8,\"commit_ts\":4", ""), LOST(TIMES));
    round_trip("timekiller", ONE(",\"sts\":1", ""), LOST(EXTRAS));
    round_trip("timekiller", ONE(",\"status\":\"aborted\"", ""), LOST(ABORTED));
    round_trip("timekiller", ONE("", "[\"r\",1]"), LOST(UNKNOWN_READS));
    round_trip("timekiller", ONE("", "[\"scan\",1,2,[]]"), LOST(RANGES));
    round_trip("timekiller", ONE("", "[\"r\",1,2,{\"lock\":true}]"), LOST(ATTRS));
    round_trip("timekiller", ONE("", "[\"w\",1,2,{\"ok\":false}]"), LOST(FAILED));
}

/* --- version certificates ------------------------------------------------------------------- */

#define V(k, v, s, c, pre)                                                                         \
    "\"{'k': " k ", 'v': " v "}\": {\"start_ts\": " s ", \"commit_ts\": " c                        \
    ", \"pre_write\": " pre "}"
#define CDC_BAD(in, code, line, column, why)                                                       \
    EXPECT_REFUSED("timekiller-cdc", in, strlen(in), code, line, column, why)

TEST(certificates)
{
    const char *in = "{" V("1", "5", "10", "20", "{\"k\": 1, \"v\": 4}") ",\n" V(
        "1", "3", "21", "30", "{\"k\": 1, \"v\": 5}") ",\n" V("'a b'", "'x'", "10", "20",
                                                              "null") "}\n";
    EXPECT_NATIVE(
        NULL, in, strlen(in),
        "{\"ratel\":1,\"init\":[[1,4]]}\n"
        "{\"session\":\"10-20\",\"id\":\"10-20\",\"start_ts\":10,\"commit_ts\":20,\"ops\":"
        "[[\"w\",1,5,{\"ver\":1}],[\"w\",\"a b\",\"x\",{\"ver\":1}]]}\n"
        "{\"session\":\"21-30\",\"id\":\"21-30\",\"start_ts\":21,\"commit_ts\":30,\"ops\":"
        "[[\"w\",1,3,{\"ver\":2}]]}\n");
    CDC_BAD("{" V("1", "5", "3", "2", "null") "}", GUARD_PARSE, 1, 22, "starts after its commit");
    CDC_BAD("{\"k\": 1}", GUARD_PARSE, 1, 2, "the name of a version");
    CDC_BAD("{" V("1", "5", "1", "2", "{\"k\": 2, \"v\": 1}") "}", GUARD_PARSE, 1, 67,
            "another key");
    CDC_BAD("{" V("1", "5", "1", "2", "null") "," V("1", "5", "3", "4", "null") "}", GUARD_HISTORY,
            0, 0, "occurs twice");
    CDC_BAD("{" V("1", "5", "1", "2", "{\"k\": 1, \"v\": 6}") "," V("1", "6", "3", "4", "null") "}",
            GUARD_HISTORY, 0, 0, "disagree");
    round_trip("timekiller-cdc",
               "{\"ratel\":1,\"init\":[[1,4]]}\n"
               "{\"session\":\"10-20\",\"id\":\"10-20\",\"start_ts\":10,\"commit_ts\":20,\"ops\":"
               "[[\"w\",1,5,{\"ver\":1}],[\"w\",\"a\\\"b\",\"x\",{\"ver\":1}]]}\n",
               0);
}

/* Given to the history that it belongs to: positions and times, where one wrote the version. */
TEST(certificates_applied)
{
    guard g, cg;
    const char *cdc = "{" V("1", "5", "10", "20", "null") "," V("1", "3", "21", "30", "null") "," V(
        "2", "8", "21", "30", "null") "," V("9", "1", "21", "30", "null") "}";
    const char *native =
        "{\"session\":1,\"id\":1,\"ops\":[[\"w\",1,4],[\"w\",1,5],[\"r\",2,8,{\"ver\":1}]]}\n"
        "{\"session\":1,\"id\":2,\"start_ts\":1,\"ops\":[[\"w\",1,3],[\"w\",2,8]]}\n"
        "{\"session\":1,\"id\":3,\"ops\":[[\"w\",2,8],[\"w\",1,3],[\"w\",1,7]]}\n";
    history *certificate = load(&cg, "timekiller-cdc", cdc, strlen(cdc));
    EXPECT_STR(cg.text, "");
    bytes b = {native, strlen(native), SIZE_MAX};
    read_file f;
    history *volatile h = NULL;
    guard_init(&g);
    read_file_init(&f);
    if (!guard_armed(&g)) {
        h = history_new(NULL, NULL, &g, 0);
        read_stream(&f, h, bytes_read, &b, "ratel");
        read_versions(h, certificate);
        history_freeze(h);
        EXPECT(!history_check(h));
    }
    read_file_close(&f);
    EXPECT_STR(g.text, "");
    text t = dump(h, "ratel");
    EXPECT_STR(
        t.at, HEAD
        "{\"session\":1,\"id\":1,\"start_ts\":10,\"commit_ts\":20,\"ops\":[[\"w\",1,4],"
        "[\"w\",1,5,{\"ver\":1}],[\"r\",2,8,{\"ver\":1}]]}\n"
        "{\"session\":1,\"id\":2,\"start_ts\":1,\"commit_ts\":30,\"ops\":[[\"w\",1,3,{\"ver\":2}],"
        "[\"w\",2,8]]}\n"
        "{\"session\":1,\"id\":3,\"ops\":[[\"w\",2,8],[\"w\",1,3],[\"w\",1,7]]}\n");
    free(t.at);
    history_free(h);
    history_free(certificate);
}

TEST(manifest)
{
    int n = check_manifest("timekiller");
    if (n < 0) SKIP("no shared data");
    EXPECT_EQ_INT(n, 3);
}
