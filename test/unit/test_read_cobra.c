/*
 * Cobra logs: records, both variants of S and C, special ids, VeriStrong's general values.
 */
#include "read_help.h"

#include <sys/stat.h>
#include <unistd.h>

TEST_MAIN

#define INIT 0xbebeebeeu
#define NONE 0xdeadbeefu
#define GENERAL 0xabddefeeu

static char file[1 << 16];
static size_t used;

static void rec(char kind, int n, const uint64_t *v)
{
    file[used++] = kind;
    for (int i = 0; i < n; i++)
        for (int b = 7; b >= 0; b--) file[used++] = (char)(v[i] >> (8 * b));
}
#define S(...) rec('S', sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define C(...) rec('C', sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define A(...) rec('A', sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define W(id, key, hash) rec('W', 3, (uint64_t[]){id, key, hash})
#define R(txn, id, key, hash) rec('R', 4, (uint64_t[]){txn, id, key, hash})

TEST(records)
{
    used = 0;
    S(0x10000d), W(100003, 166, 1), C(0x10000d);
    S(5), R(0x10000d, 100003, 166, 1), R(INIT, INIT, UINT64_MAX, 77), R(NONE, NONE, 3, 0), C(5);
    S(6), A(6);
    EXPECT_NATIVE(NULL, file, used,
                  "{\"ratel\":1,\"init\":null}\n"
                  "{\"session\":0,\"id\":1048589,\"ops\":[[\"w\",166,100003]]}\n"
                  "{\"session\":0,\"id\":5,\"ops\":[[\"r\",166,100003],[\"r\",18446744073709551615,"
                  "null],[\"r\",3,null]]}\n"
                  "{\"session\":0,\"id\":6,\"status\":\"aborted\",\"ops\":[]}\n");
    EXPECT_NATIVE("cobra", "", 0, "{\"ratel\":1,\"init\":null,\"sessions\":1}\n");
}

TEST(special_ids)
{
    used = 0;
    S(1);
    R(INIT, 0x23332333, 1, 0), R(INIT, 0x66666666, 1, 0); /* garbage collection */
    R(9, 0x23332333, 1, 0);                               /* an id like others */
    W(0xabcdefab, 2, 0), R(0xabcdefab, 0xabcdefab, 2, 0); /* delete */
    R(0xadeafbee, 0xadeafbee, 3, 0);                      /* missing */
    C(1);
    EXPECT_NATIVE(NULL, file, used,
                  "{\"ratel\":1,\"init\":null}\n"
                  "{\"session\":0,\"id\":1,\"ops\":[[\"r\",1,null],[\"r\",1,null],[\"r\",1,"
                  "590553907],[\"d\",2],[\"r\",2,null],[\"r\",3,null]]}\n");
    used = 0;
    S(1), W(INIT, 1, 1), C(1);
    EXPECT_REFUSED("cobra", file, used, GUARD_PARSE, 0, 10, "reserved id 0xbebeebee");
}

/* The hash is the value then, and cannot be mistaken for a write id. */
TEST(general_values)
{
    used = 0;
    S(1), W(GENERAL, 7, 0x1234), W(0x1234, 7, 0x1234), C(1);
    S(2), R(GENERAL, GENERAL, 7, 0x1234), R(INIT, INIT, 7, 5), C(2);
    EXPECT_NATIVE(NULL, file, used,
                  "{\"ratel\":1,\"init\":null}\n"
                  "{\"session\":0,\"id\":1,\"ops\":[[\"w\",7,\"#0000000000001234\"],[\"w\",7,4660]]"
                  "}\n"
                  "{\"session\":0,\"id\":2,\"ops\":[[\"r\",7,\"#0000000000001234\"],[\"r\",7,null]]"
                  "}\n");
    guard g;
    history *h = load(&g, NULL, file, used);
    REQUIRE(h);
    text t = dump_member(h, "cobra", 0);
    EXPECT_EQ_UINT(t.lost, 0);
    EXPECT_EQ_UINT(t.n, used);
    history *back = load(&g, NULL, t.at, t.n);
    REQUIRE(back);
    EXPECT_SAME(h, back);
    free(t.at);
    history_free(h);
    history_free(back);
    /* as long as a hash, and all digits, but none: it gets a number */
    static const char native[] =
        "{\"ratel\":1,\"init\":null}\n"
        "{\"session\":1,\"id\":1,\"ops\":[[\"w\",7,\"00000000000001234\"]]}\n";
    h = load(&g, "ratel", native, strlen(native));
    REQUIRE(h);
    t = dump_member(h, "cobra", 0);
    EXPECT_EQ_UINT(t.lost, LOST(VALUES));
    free(t.at);
    history_free(h);
}

TEST(timestamps)
{
    used = 0;
    S(1, 100), W(5, 7, 1), C(1, 140);
    S(2, 150), R(1, 5, 7, 1), C(2, 160);
    EXPECT_NATIVE(NULL, file, used,
                  "{\"ratel\":1,\"init\":null}\n"
                  "{\"session\":0,\"id\":1,\"begin\":100,\"end\":140,\"ops\":[[\"w\",7,5]]}\n"
                  "{\"session\":0,\"id\":2,\"begin\":150,\"end\":160,\"ops\":[[\"r\",7,5]]}\n");
    guard g;
    history *h = load(&g, NULL, file, used);
    REQUIRE(h);
    text t = dump_member(h, "cobra", 0);
    EXPECT_EQ_UINT(t.lost, 0);
    EXPECT_EQ_UINT(t.n, used);
    history *back = load(&g, NULL, t.at, t.n);
    REQUIRE(back);
    EXPECT_SAME(h, back);
    free(t.at);
    history_free(h);
    history_free(back);
    /* a plain log whose write id has a letter where a stamped one would have its next record */
    used = 0;
    S(1), W(0x4357, 7, 1), C(1);
    h = load(&g, NULL, file, used);
    REQUIRE(h);
    EXPECT(h->txn_begin == NULL);
    EXPECT_EQ_UINT(h->ops, 1);
    history_free(h);
}

TEST(broken_logs)
{
    used = 0;
    S(1), W(5, 7, 1), C(1), S(2), R(1, 5, 7, 1), C(2);
    guard g;
    for (size_t n = 1; n < used; n++) {
        history *h = load(&g, "cobra", file, n);
        size_t borders[] = {9, 34, 43, 52, 85};
        bool whole = false;
        for (int i = 0; i < 5; i++) whole |= borders[i] == n;
        if (whole) {
            EXPECT_STR(g.text, "");
            if (h && n != 43) /* no C at the end: the outcome is not known */
                EXPECT_EQ_INT(txn_status_of(h, (txn_id)h->txns - 1), TXN_UNKNOWN);
        } else {
            EXPECT(!h);
            EXPECT_EQ_INT(g.code, GUARD_PARSE);
            EXPECT_EQ_UINT(g.offset, n);
        }
        history_free(h);
    }
    file[used] = (char)0xff;
    EXPECT_REFUSED("cobra", file, used + 1, GUARD_PARSE, 0, used, "found the byte 0xff");
    used = 0;
    S(1), S(2);
    EXPECT_REFUSED("cobra", file, used, GUARD_PARSE, 0, 9, "starts inside transaction 0x1");
    used = 0;
    S(1), C(1), C(1);
    EXPECT_REFUSED("cobra", file, used, GUARD_PARSE, 0, 18, "outside a transaction");
    used = 0;
    S(1), W(1, 1, 1), C(2);
    EXPECT_REFUSED("cobra", file, used, GUARD_PARSE, 0, 35, "ends with the id 0x2");
}

/* Values that are no write ids, or the same under two keys, are numbered anew. */
TEST(writing_other_values)
{
    static const char native[] =
        "{\"ratel\":1,\"init\":0}\n"
        "{\"session\":1,\"id\":1,\"ops\":[[\"r\",1,0],[\"w\",1,5],[\"w\",2,5]]}\n"
        "{\"session\":1,\"id\":2,\"status\":\"aborted\",\"ops\":[[\"w\",1,6]]}\n"
        "{\"session\":2,\"id\":3,\"ops\":[[\"r\",1,5],[\"r\",2,5],[\"r\",1,6]]}\n";
    guard g;
    history *h = load(&g, "ratel", native, strlen(native));
    REQUIRE(h);
    text t = dump_member(h, "cobra", 1);
    EXPECT_EQ_UINT(t.lost, LOST(VALUES) | LOST(INIT) | LOST(ABORTED));
    EXPECT_EQ_UINT(t.n, 9 + 3 * 33 + 9);
    /* writers 1, 1 and the aborted 2; three different ids */
    EXPECT_EQ_INT(t.at[9 + 8], 1);
    EXPECT_EQ_INT(t.at[9 + 33 + 8], 1);
    EXPECT_EQ_INT(t.at[9 + 66 + 8], 2);
    EXPECT(memcmp(t.at + 9 + 9, t.at + 9 + 33 + 9, 8) != 0);
    free(t.at);
    history_free(h);
}

static void put_file(const char *dir, const char *name, const void *at, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(at, 1, n, f);
    fclose(f);
}

TEST(directory)
{
    char dir[] = "/tmp/ratel-cobra-XXXXXX";
    REQUIRE(mkdtemp(dir));
    used = 0;
    S(10), W(1, 1, 1), C(10);
    put_file(dir, "T10.log", file, used);
    used = 0;
    S(9), W(2, 1, 1), C(9);
    put_file(dir, "T9.log", file, used);
    put_file(dir, "T11.log", "", 0);
    put_file(dir, "T9.debug", "not a log", 9);
    guard g;
    history *h = load_path(&g, NULL, dir);
    EXPECT_STR(g.text, "");
    if (h) {
        EXPECT_EQ_UINT(h->sessions.n, 3);
        EXPECT_EQ_UINT(h->sessions.at[0], 9);
        EXPECT_EQ_UINT(h->sessions.at[1], 10);
        EXPECT_EQ_UINT(h->sessions.at[2], 11);
        EXPECT_EQ_UINT(h->txns, 2);
    }
    history_free(h);
    put_file(dir, "T9.log", file, used - 1);
    h = load_path(&g, NULL, dir);
    EXPECT(!h);
    EXPECT_STR(g.member, "T9.log");
    EXPECT_EQ_UINT(g.offset, used - 1);
    history_free(h);
    static const char *const names[] = {"T9.log", "T10.log", "T11.log", "T9.debug"};
    for (int i = 0; i < 4; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

TEST(manifest)
{
    int n = check_manifest("cobra");
    if (n < 0) SKIP("no shared data (RATEL_SHARED)");
    EXPECT(n > 10);
}
