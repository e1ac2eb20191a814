/*
 * Viper logs: both flavours of micro-operations, tombstones, ranges, the initial state, stamps.
 */
#include "read_help.h"

#include <sys/stat.h>
#include <unistd.h>

TEST_MAIN

#define HEAD "{\"ratel\":1,\"init\":null,\"init_inferred\":true}\n"
#define GIVEN "{\"ratel\":1,\"init\":null}\n"
/* The whole log says its initial state, so that nothing is inferred. */
#define INITIAL "{\"value\": [], \"isInitial\": true, \"isFinal\": false}\n"

#define LOG(in, want) EXPECT_NATIVE("viper", in, strlen(in), want)
#define BAD(in, line, column, why)                                                                 \
    EXPECT_REFUSED("viper", in, strlen(in), GUARD_PARSE, line, column, why)

TEST(points)
{
    const char *in = "{\"value\": [[\"w\", 1, -5, true], [\"r\", \"k\", 0, false]]}\n"
                     "{\"value\":[[\"r\",1,-5,true],[\"w\",2,7,false]]}\n"
                     "\n"
                     "{\"value\": []}";
    LOG(in, HEAD "{\"session\":0,\"id\":1,\"ops\":[[\"w\",1,-5],[\"r\",\"k\",null]]}\n"
                 "{\"session\":0,\"id\":2,\"ops\":[[\"r\",1,-5,{\"tomb\":true}],"
                 "[\"w\",2,7,{\"ok\":false}]]}\n"
                 "{\"session\":0,\"id\":4,\"ops\":[]}\n");
    EXPECT_NATIVE(NULL, in, strlen(in),
                  HEAD "{\"session\":0,\"id\":1,\"ops\":[[\"w\",1,-5],[\"r\",\"k\",null]]}\n"
                       "{\"session\":0,\"id\":2,\"ops\":[[\"r\",1,-5,{\"tomb\":true}],"
                       "[\"w\",2,7,{\"ok\":false}]]}\n"
                       "{\"session\":0,\"id\":4,\"ops\":[]}\n");
    EXPECT_NATIVE("viper", "", 0,
                  "{\"ratel\":1,\"init\":null,\"sessions\":1,\"init_inferred\":true}\n");
}

/* A delete writes a tombstone; what failed neither read nor wrote. */
TEST(inserts_and_deletes)
{
    LOG(INITIAL "{\"value\": [[\"i\", 1, 5, 0, false, true], [\"d\", 1, 6, 5, false, true]]}\n"
                "{\"value\": [[\"i\", 1, 7, 6, true, false], [\"d\", 1, 0, 6, true, true]]}\n"
                "{\"value\": [[\"d\", 1, 8, null, false, true], [\"i\", 1, 0, 0, false, false]]}\n",
        GIVEN "{\"session\":0,\"id\":2,\"ops\":[[\"r\",1,null],[\"w\",1,5],[\"r\",1,5],"
              "[\"w\",1,6,{\"tomb\":true}]]}\n"
              "{\"session\":0,\"id\":3,\"ops\":[[\"r\",1,6,{\"ok\":false,\"tomb\":true}],"
              "[\"w\",1,7,{\"ok\":false}],[\"r\",1,6,{\"tomb\":true}],[\"d\",1]]}\n"
              "{\"session\":0,\"id\":4,\"ops\":[[\"w\",1,8,{\"tomb\":true}],[\"r\",1,null,"
              "{\"ok\":false}],"
              "[\"w\",1,0,{\"ok\":false}]]}\n");
}

/* Live rows and tombstones are one range, in the order of keys; a row of 0 is no row. */
TEST(ranges)
{
    LOG(INITIAL "{\"value\": [[\"range\", 1, 9, [{\"id\": 7, \"sk\": 7, \"val\": 70}, {\"id\": 2, "
                "\"sk\": 2, \"val\": 20}], [{\"id\": 3, \"sk\": 3, \"val\": 30}]]]}\n"
                "{\"value\": [[\"range\", \"nil\", \"nil\", [], []], [\"range\", \"a\", \"nil\", "
                "[{\"val\": 0, \"id\": \"b\"}, {\"val\": 4, \"id\": \"c\"}], []]]}\n",
        GIVEN
        "{\"session\":0,\"id\":2,\"ops\":[[\"scan\",1,9,[[2,20],[3,30],[7,70]],{\"incl\":true,"
        "\"dead\":[1]}]]}\n"
        "{\"session\":0,\"id\":3,\"ops\":[[\"scan\",null,null,[]],[\"scan\",\"a\",null,"
        "[[\"c\",4]]]]}\n");
}

TEST(objects)
{
    LOG(INITIAL
        "{\"value\": [{\"key\": 1, \"value\": 5, \"succ\": true, \"opType\": \"w\", \"reqTS\": 3, "
        "\"resTS\": 4}, {\"opType\": \"r\", \"key\": 1, \"value\": 5, \"isDead\": false}]}\n"
        "{\"value\": [{\"opType\": \"d\", \"key\": 1, \"value\": 6, \"readValue\": 5, \"isDead\": "
        "false, \"succ\": true}, {\"opType\": \"range\", \"key1\": -9223372036854775808, \"key2\": "
        "9223372036854775807, \"liveKVs\": [], \"deadKVs\": [{\"id\": 1, \"val\": 6}]}]}\n",
        GIVEN "{\"session\":0,\"id\":2,\"ops\":[[\"w\",1,5,{\"t\":[3,4]}],[\"r\",1,5]]}\n"
              "{\"session\":0,\"id\":3,\"ops\":[[\"r\",1,5],[\"w\",1,6,{\"tomb\":true}],"
              "[\"scan\",null,null,[[1,6]],{\"dead\":[0]}]]}\n");
}

TEST(lists)
{
    LOG(INITIAL "{\"value\": [[\"append\", 1, 0], [\"r\", 1, [0, 2]], [\"r\", 1, []]]}\n",
        GIVEN "{\"session\":0,\"id\":2,\"ops\":[[\"append\",1,0],[\"r\",1,[0,2]],[\"r\",1,[]]]}\n");
}

/* Without isInitial, what was read and never written was there; a failed write does not count. */
TEST(initial_state)
{
    LOG("{\"value\": [[\"r\", 1, 8, false], [\"w\", 1, 9, true], [\"w\", 2, 5, false]]}\n"
        "{\"value\": [[\"r\", 1, 9, false], [\"r\", 2, 5, false], [\"r\", 2, 6, false], "
        "[\"range\", 3, "
        "3, [{\"id\": 3, \"val\": 1}], []]]}\n",
        "{\"ratel\":1,\"init\":[[1,8],[2,5],[3,1]],\"init_inferred\":true}\n"
        "{\"session\":0,\"id\":1,\"ops\":[[\"r\",1,8],[\"w\",1,9],[\"w\",2,5,{\"ok\":false}]]}\n"
        "{\"session\":0,\"id\":2,\"ops\":[[\"r\",1,9],[\"r\",2,5],[\"r\",2,6],"
        "[\"scan\",3,3,[[3,1]],"
        "{\"incl\":true}]]}\n");
    LOG("{\"value\": [[\"r\", 1, 8, false]]}\n"
        "{\"isInitial\": true, \"value\": [[\"range\", \"nil\", \"nil\", [{\"id\": 1, "
        "\"val\": 3}], "
        "[{\"id\": 2, \"val\": 4}]]], \"preBeginTS\": 1}\n",
        "{\"ratel\":1,\"init\":[[1,3],[2,4]]}\n{\"session\":0,\"id\":1,\"ops\":[[\"r\",1,8]]}\n");
    BAD(INITIAL INITIAL, 2, 1, "a second transaction with \"isInitial\"");
    BAD("{\"value\": [[\"r\", 1, 2, false]], \"isInitial\": true}\n", 1, 1, "other operations");
    BAD("{\"value\": [[\"range\", 1, \"nil\", [], []]], \"isInitial\": true}\n", 1, 1,
        "with bounds");
}

TEST(stamps_and_unknown_fields)
{
    LOG(INITIAL "{\"preBeginTS\": 1, \"postBeginTS\": 2, \"preCommitTS\": 3, \"postCommitTS\": 4, "
                "\"value\": []}\n"
                "{\"value\": [], \"postCommitTS\": 9, \"tid\": {\"x\": [1]}, \"isFinal\": true}\n",
        GIVEN "{\"session\":0,\"id\":2,\"times\":[1,2,3,4],\"ops\":[]}\n"
              "{\"session\":0,\"id\":3,\"tid\":{\"x\": [1]},\"isFinal\":true,\"postCommitTS\":9,"
              "\"ops\":[]}\n");
}

/* Names that the native format would take for its own. */
TEST(fields_with_taken_names)
{
    LOG(INITIAL "{\"value\": [], \"id\": 7, \"mark\": 1, \"viper-id\": 2, \"viper-x\": 3}\n",
        GIVEN "{\"session\":0,\"id\":2,\"viper-id\":7,\"viper-mark\":1,\"viper-viper-id\":2,"
              "\"viper-x\":3,\"ops\":[]}\n");
    const char *native = "{\"session\":0,\"id\":\"J0:1\",\"viper-id\":7,\"viper-viper-id\":2,"
                         "\"viper-x\":3,\"postBeginTS\":-5,\"preBeginTS\":\"x\",\"ops\":[]}\n";
    guard g;
    history *h = load(&g, "ratel", native, strlen(native));
    EXPECT_STR(g.text, "");
    text t = dump_member(h, "viper", 0);
    EXPECT_STR(t.at, "{\"value\": [], \"id\": 7, \"viper-id\": 2, \"viper-x\": 3, "
                     "\"postBeginTS\": -5}\n");
    EXPECT_EQ_UINT(t.lost, LOST(EXTRAS));
    free(t.at);
    history_free(h);
}

TEST(wrong_lines)
{
    BAD("{\"value\": [[\"w\", 1, 0, true]]}\n", 1, 12, "the value 0 means");
    BAD("{\"value\": [[\"w\", 1, [1], true]]}\n", 1, 12, "a list cannot be written");
    BAD("{\"value\": []}\n{\"value\": [[\"x\", 1, 1]]}\n", 2, 13, "unknown micro-operation");
    BAD("{\"value\": [[\"w\", 1, 1, true, 4]]}\n", 1, 28, "expected ']'");
    BAD("{\"value\": [[\"d\", 1, 1, true]]}\n", 1, 28, "expected ','");
    BAD("{\"values\": []}\n", 1, 1, "without \"value\"");
    BAD("{\"value\": [], \"value\": []}\n", 1, 15, "occurs twice");
    BAD("{\"value\": [{\"opType\": \"r\", \"value\": 1}]}\n", 1, 12, "without \"key\"");
    BAD("{\"value\": [{\"opType\": \"r\", \"key\": 1}]}\n", 1, 12, "without \"value\"");
    BAD("{\"value\": [{\"key\": 1, \"value\": 1}]}\n", 1, 12, "without \"opType\"");
    BAD("{\"value\": [[\"range\", 1, 2, [{\"id\": 1, \"sk\": 2, \"val\": 3}], []]]}\n", 1, 29,
        "\"sk\"");
    BAD("{\"value\": [[\"range\", 1, 2, [{\"val\": 3}], []]]}\n", 1, 29, "without \"id\"");
    BAD("{\"value\": []} x\n", 1, 15, "end of the line");
    BAD("[1]\n", 1, 1, "expected '{'");
}

/* --- directories -------------------------------------------------------------------------- */

static char dir[] = "/tmp/ratel-viper-XXXXXX";

static void put_file(const char *name, const char *content)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(content, f) < 0 || fclose(f)) test_fail(__FILE__, __LINE__, "%s", path);
}

static void new_dir(void)
{
    memcpy(dir + sizeof dir - 7, "XXXXXX", 6);
    if (!mkdtemp(dir)) test_fail(__FILE__, __LINE__, "mkdtemp");
}

static void drop_dir(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s' '%s.out'", dir, dir);
    if (system(command)) test_fail(__FILE__, __LINE__, "%s", command);
}

/* Written to a directory and read again, it is the same, if nothing is told to be lost. */
static void there_and_back(const history *h, uint64_t lost)
{
    guard g;
    write_file w;
    char path[100];
    snprintf(path, sizeof path, "%s.out", dir);
    guard_init(&g);
    write_file_init(&w, NULL, NULL, &g);
    if (!guard_armed(&g)) write_path(&w, h, "viper", path);
    EXPECT_STR(g.text, "");
    EXPECT_EQ_UINT(w.out.lost_bits, lost);
    write_file_close(&w);
    history *back = load_path(&g, "viper", path);
    EXPECT_STR(g.text, "");
    if (back && !lost) EXPECT_SAME(h, back);
    history_free(back);
}

TEST(directory)
{
    guard g;
    new_dir();
    put_file("J10.log",
             "{\"value\": [[\"r\", 1, 5, false], [\"d\", 1, 6, 5, false, true], "
             "[\"range\", 1, 4, [], [{\"id\": 1, \"sk\": 1, \"val\": 6}]]], \"x\": 1}\n");
    put_file("J9.log", "{\"preBeginTS\": 1, \"postBeginTS\": 2, \"preCommitTS\": 3, "
                       "\"postCommitTS\": 4, \"value\": [[\"w\", 1, 5, true]]}\n");
    put_file("J11.log", "");
    put_file("Jx.log", "{\"value\": [[\"i\", 2, 7, 0, false, false]]}\n");
    put_file("notes.txt", "nothing\n");
    history *h = load_path(&g, NULL, dir);
    EXPECT_STR(g.text, "");
    if (h) {
        text t = dump(h, "ratel");
        EXPECT_STR(
            t.at,
            "{\"ratel\":1,\"init\":null,\"sessions\":4,\"init_inferred\":true}\n"
            "{\"session\":9,\"id\":\"J9:1\",\"times\":[1,2,3,4],\"ops\":[[\"w\",1,5]]}\n"
            "{\"session\":10,\"id\":\"J10:1\",\"x\":1,\"ops\":[[\"r\",1,5],[\"r\",1,5],[\"w\",1,6,"
            "{\"tomb\":true}],[\"scan\",1,4,[[1,6]],{\"incl\":true,\"dead\":[0]}]]}\n"
            "{\"session\":\"Jx.log\",\"id\":\"Jx:1\",\"ops\":[[\"r\",2,null,{\"ok\":false}],"
            "[\"w\",2,7,{\"ok\":false}]]}\n");
        free(t.at);
        there_and_back(h, LOST(LABELS)); /* sessions that are no numbers */
    }
    history_free(h);
    drop_dir();
    new_dir();
    put_file("J1.log", "{\"value\": [[\"w\", 1, 5, true]]}\n");
    put_file("J2.log", "");
    put_file("J3.log",
             "{\"value\": [[\"w\", 1, 4, true], [\"w\", \"k\", 9, true]], \"isInitial\": true}\n");
    h = load_path(&g, NULL, dir);
    EXPECT_STR(g.text, "");
    if (h) {
        text t = dump(h, "ratel");
        EXPECT_STR(t.at, "{\"ratel\":1,\"init\":[[1,4],[\"k\",9]],\"sessions\":2}\n"
                         "{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"w\",1,5]]}\n");
        free(t.at);
        there_and_back(h, 0);
    }
    history_free(h);
    drop_dir();
}

/* Only empty logs: a history without a transaction, never a crash; and all its sessions. */
TEST(empty_logs)
{
    guard g;
    new_dir();
    put_file("J24.log", "");
    put_file("J25.log", "\n\n");
    history *h = load_path(&g, NULL, dir);
    EXPECT_STR(g.text, "");
    EXPECT(h && h->txns == 0 && h->sessions.n == 2);
    if (h) there_and_back(h, 0);
    history_free(h);
    drop_dir();
}

/* A delete is one piece with the read before it only if that read the same key. */
TEST(deletes_of_other_keys)
{
    static const struct {
        int deleted;
        const char *written;
    } cases[] = {
        {2, "{\"value\": [[\"w\", 1, 5, true], [\"r\", 1, 5, false], "
            "[\"d\", 2, 0, null, false, true]]}\n"},
        {1, "{\"value\": [[\"w\", 1, 5, true], [\"d\", 1, 0, 5, false, true]]}\n"},
    };
    for (size_t i = 0; i < 2; i++) {
        guard g;
        char line[128];
        int n = snprintf(line, sizeof line,
                         "{\"session\":1,\"id\":\"J1:1\",\"ops\":"
                         "[[\"w\",1,5],[\"r\",1,5],[\"d\",%d]]}\n",
                         cases[i].deleted);
        history *h = load(&g, "ratel", line, (size_t)n);
        REQUIRE(h);
        text t = dump_member(h, "viper", 0);
        EXPECT_STR(t.at, cases[i].written);
        free(t.at);
        history_free(h);
    }
}

/* Rows that were deleted have a list of their own. */
TEST(dead_rows_of_ranges)
{
    static const char line[] =
        "{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"scan\",1,4,[[1,6],[2,7],[3,8]],"
        "{\"incl\":true,\"dead\":[0,2]}]]}\n";
    guard g;
    history *h = load(&g, "ratel", line, strlen(line));
    REQUIRE(h);
    text t = dump_member(h, "viper", 0);
    EXPECT_STR(t.at,
               "{\"value\": [[\"range\", 1, 4, [{\"id\": 2, \"sk\": 2, \"val\": 7}], "
               "[{\"id\": 1, \"sk\": 1, \"val\": 6}, {\"id\": 3, \"sk\": 3, \"val\": 8}]]]}\n");
    free(t.at);
    history_free(h);
}

/* What the format cannot hold is told. */
TEST(losses)
{
    static const struct {
        const char *line;
        uint64_t lost;
    } cases[] = {
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"w\",1,5],[\"r\",1,5],[\"d\",1],"
         "[\"r\",1,null]]}\n",
         0},
        {"{\"session\":1,\"id\":\"a\",\"ops\":[]}\n", LOST(LABELS)},
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"w\",1,0]]}\n", LOST(VALUES)},
        {"{\"session\":1,\"id\":\"J1:1\",\"begin\":1,\"end\":2,\"ops\":[]}\n", LOST(TIMES)},
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"r\",1]]}\n", LOST(UNKNOWN_READS)},
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"r\",1,null,{\"lock\":true}]]}\n", LOST(ATTRS)},
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"r\",1,2,{\"ok\":false}]]}\n", LOST(FAILED)},
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"scan\",\"a\",\"b\",[]]]}\n", LOST(RANGES)},
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"scan\",1,4,[]]]}\n", 0},
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"scan\",1,4,[[3,1],[2,1]]]]}\n", LOST(RANGES)},
        {"{\"session\":1,\"id\":\"J1:1\",\"ops\":[[\"iter\",1,4,[],false]]}\n", LOST(RANGES)},
        {"{\"session\":1,\"id\":\"J1:1\",\"value\":1,\"ops\":[]}\n", LOST(EXTRAS)},
        {"{\"session\":1,\"id\":\"J1:1\",\"status\":\"aborted\",\"ops\":[]}\n", LOST(ABORTED)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        guard g;
        history *h = load(&g, "ratel", cases[i].line, strlen(cases[i].line));
        EXPECT_STR(g.text, "");
        text t = dump_member(h, "viper", 0);
        if (t.lost != cases[i].lost)
            test_fail(__FILE__, __LINE__, "%s lost %llx", cases[i].line,
                      (unsigned long long)t.lost);
        free(t.at);
        history_free(h);
    }
    /* [1, 4) is 1..3 */
    guard g;
    history *h = load(&g, "ratel", cases[8].line, strlen(cases[8].line));
    text t = dump_member(h, "viper", 0);
    EXPECT_STR(t.at, "{\"value\": [[\"range\", 1, 3, [], []]]}\n");
    free(t.at);
    history_free(h);
}

TEST(manifest)
{
    int n = check_manifest("viper");
    if (n < 0) SKIP("no shared data");
    EXPECT_EQ_INT(n, 13);
}
