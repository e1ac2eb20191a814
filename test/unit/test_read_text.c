/*
 * PolySI / Plume text: dialects, scattered lines, initial values, positions of errors.
 */
#include "read_help.h"

TEST_MAIN

static void native_of(const char *from, const char *want)
{
    EXPECT_NATIVE("text", from, strlen(from), want);
}

static void refused(const char *from, unsigned line, unsigned column, const char *why)
{
    EXPECT_REFUSED("text", from, strlen(from), GUARD_PARSE, line, column, why);
}

TEST(plain_lines)
{
    native_of("w(0,1,1,1)\nw(0,2,1,1)\nr(0,2,2,8)\n",
              "{\"ratel\":1,\"init\":0}\n"
              "{\"session\":1,\"id\":1,\"ops\":[[\"w\",0,1],[\"w\",0,2]]}\n"
              "{\"session\":2,\"id\":8,\"ops\":[[\"r\",0,2]]}\n");
    native_of("r(18446744073709551615,18446744073709551615,18446744073709551615,"
              "18446744073709551615)",
              "{\"ratel\":1,\"init\":0}\n"
              "{\"session\":18446744073709551615,\"id\":18446744073709551615,"
              "\"ops\":[[\"r\",18446744073709551615,18446744073709551615]]}\n");
    native_of("w(1,1,5,3)\r\nw(1,2,4,1)\r\n", "{\"ratel\":1,\"init\":0}\n"
                                              "{\"session\":5,\"id\":3,\"ops\":[[\"w\",1,1]]}\n"
                                              "{\"session\":4,\"id\":1,\"ops\":[[\"w\",1,2]]}\n");
    native_of("", "{\"ratel\":1,\"init\":0}\n");
}

TEST(scattered_lines)
{
    native_of("w(1,1,0,5)\nw(2,1,1,3)\nr(2,1,0,5)\nw(3,1,0,4)\nr(1,1,1,3)\nw(4,1,0,5)\n",
              "{\"ratel\":1,\"init\":0}\n"
              "{\"session\":0,\"id\":5,\"ops\":[[\"w\",1,1],[\"r\",2,1],[\"w\",4,1]]}\n"
              "{\"session\":1,\"id\":3,\"ops\":[[\"w\",2,1],[\"r\",1,1]]}\n"
              "{\"session\":0,\"id\":4,\"ops\":[[\"w\",3,1]]}\n");
}

/* Every line in another transaction than the one before, many times over. */
TEST(scattered_many)
{
    enum { TXNS = 3000, ROUNDS = 7 };
    text in = {0};
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < TXNS; i++) {
            int t = (i * 1009 + r) % TXNS;
            char line[80];
            int n = snprintf(line, sizeof line, "w(%d,%d,%d,%d)\n", t, r + 1, t % 10, t);
            text_add(line, (size_t)n, &in);
        }
    guard g;
    history *h = load(&g, NULL, in.at, in.n);
    free(in.at);
    EXPECT_STR(g.text, "");
    REQUIRE(h);
    EXPECT_EQ_UINT(h->txns, TXNS);
    EXPECT_EQ_UINT(h->sessions.n, 10);
    int wrong = 0;
    for (txn_id t = 0; t < h->txns; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            wrong += h->op_value[o] != o - h->txn_op[t] + 1;
            wrong += key_atom(h, h->op_key[o]).as.u != h->txn_label[t];
            wrong += h->sessions.at[h->txn_session[t]] != h->txn_label[t] % 10;
        }
    EXPECT_EQ_INT(wrong, 0);
    history_free(h);
}

TEST(aborted)
{
    native_of(
        "w(1,1,0,-1)\nw(2,1,0,-1)\nr(1,1,0,1)\nr(1,7,0,-1)\nw(3,1,0,-1)\nw(1,9,4,-1)\n",
        "{\"ratel\":1,\"init\":0,\"text_aborted_reads\":1}\n"
        "{\"session\":0,\"id\":\"aborted-0\",\"status\":\"aborted\",\"ops\":[[\"w\",1,1],"
        "[\"w\",2,1],[\"w\",3,1]]}\n"
        "{\"session\":0,\"id\":1,\"ops\":[[\"r\",1,1]]}\n"
        "{\"session\":4,\"id\":\"aborted-4\",\"status\":\"aborted\",\"ops\":[[\"w\",1,9]]}\n");
    expect_same_text("text", "w(1,1,0,-1)\nw(2,1,0,-1)\nr(1,1,0,1)\nw(1,9,4,-1)\n");
    /* ids that came before and after an aborted one are still found */
    native_of(
        "w(1,1,0,3)\nw(1,2,0,-1)\nw(1,3,0,3)\n",
        "{\"ratel\":1,\"init\":0}\n"
        "{\"session\":0,\"id\":3,\"ops\":[[\"w\",1,1],[\"w\",1,3]]}\n"
        "{\"session\":0,\"id\":\"aborted-0\",\"status\":\"aborted\",\"ops\":[[\"w\",1,2]]}\n");
}

TEST(explicit_zero)
{
    /* IsoVista: the first transaction installs the initial state */
    native_of("w(1,0,0,0)\nw(2,0,0,0)\nr(1,0,1,1)\nw(1,5,1,1)\n",
              "{\"ratel\":1,\"init\":null,\"text_init\":true}\n"
              "{\"session\":0,\"id\":0,\"ops\":[[\"w\",1,0],[\"w\",2,0]]}\n"
              "{\"session\":1,\"id\":1,\"ops\":[[\"r\",1,0],[\"w\",1,5]]}\n");
    expect_same_text("text", "w(1,0,0,0)\nw(2,0,0,0)\nr(1,0,1,1)\nw(1,5,1,1)\n");
    /* only the keys that are written 0 lose the implicit one; a session of several is no INIT */
    native_of("w(1,0,0,0)\nr(2,0,0,1)\n", "{\"ratel\":1,\"init\":[[2,0]]}\n"
                                          "{\"session\":0,\"id\":0,\"ops\":[[\"w\",1,0]]}\n"
                                          "{\"session\":0,\"id\":1,\"ops\":[[\"r\",2,0]]}\n");
    expect_same_text("text", "w(1,0,0,0)\nr(2,0,0,1)\n");
    /* an aborted write of 0 changes nothing */
    native_of("w(1,0,0,-1)\nr(1,0,0,1)\n",
              "{\"ratel\":1,\"init\":0}\n"
              "{\"session\":0,\"id\":\"aborted-0\",\"status\":\"aborted\",\"ops\":[[\"w\",1,0]]}\n"
              "{\"session\":0,\"id\":1,\"ops\":[[\"r\",1,0]]}\n");
}

TEST(errors_have_positions)
{
    refused("w(1,1,0,0)\n\nw(1,1,0,0)\n", 2, 1, "blank line");
    refused("w(1,1,0,0)\n\n", 2, 1, "blank line");
    refused("x(1,1,0,0)\n", 1, 1, "expected r( or w(");
    refused("w 1,1,0,0)\n", 1, 2, "expected (");
    refused("w(1,1,0,0)\nw(1, 2,0,0)\n", 2, 5, "unsigned number");
    refused("w(-1,1,0,0)\n", 1, 3, "unsigned number");
    refused("w(1,1,0,-2)\n", 1, 10, "the only negative");
    refused("w(1,1,0,-10)\n", 1, 11, "the only negative");
    refused("w(1,1,0)\n", 1, 8, "expected ,");
    refused("w(1,1,0,0\n", 1, 10, "expected )");
    refused("w(1,1,0,0)x\n", 1, 11, "end of the line");
    refused("w(1,1,0,0)\nw(1,18446744073709551616,0,0)\n", 2, 5, "64 bits");
    refused("w(1,99999999999999999999999,0,0)", 1, 5, "64 bits");
    refused("w(1,1,0,0)\nw(1,2,0", 2, 8, "expected ,");
    refused("w(1,1,0,0)\nw(1,2,0,", 2, 9, "unsigned number");
    refused("w", 1, 2, "expected (");
    EXPECT_REFUSED("text", "w(1,1,0,0)\0\n", 12, GUARD_PARSE, 1, 11, "end of the line");
}

TEST(one_id_in_two_sessions)
{
    refused("w(1,1,0,7)\nw(1,2,5,7)\n", 2, 7, "transaction 7 belongs to session 0, but here it");
    refused("w(1,1,0,7)\nw(1,2,5,8)\nw(1,3,5,7)\n", 3, 7, "transaction 7 belongs to session 0");
}

TEST(writing_renumbers)
{
    static const char native[] =
        "{\"ratel\":1,\"init\":{\"x\":9}}\n"
        "{\"session\":\"s\",\"id\":\"t\",\"begin\":1,\"ops\":[[\"r\",\"x\",9],[\"w\",\"x\",\"b\"],"
        "[\"w\",\"y\",-3]]}\n"
        "{\"session\":\"s\",\"id\":\"u\",\"ops\":[]}\n"
        "{\"session\":\"s\",\"id\":\"v\",\"status\":\"aborted\",\"ops\":[[\"r\",\"x\",\"b\"],"
        "[\"w\",\"x\",0],[\"d\",\"y\"],[\"w\",\"x\",1,{\"ok\":false}]]}\n";
    guard g;
    history *h = load(&g, "ratel", native, strlen(native));
    EXPECT_STR(g.text, "");
    REQUIRE(h);
    text t = dump(h, "text");
    EXPECT_STR(t.at, "r(0,0,0,0)\nw(0,1,0,0)\nw(1,2,0,0)\nw(0,3,0,-1)\n");
    EXPECT_EQ_UINT(t.lost, LOST(LABELS) | LOST(KEYS) | LOST(VALUES) | LOST(INIT) | LOST(TIMES) |
                               LOST(EMPTY) | LOST(ABORTED) | LOST(DELETES) | LOST(FAILED));
    free(t.at);
    history_free(h);
}

TEST(manifest)
{
    int n = check_manifest("text");
    if (n < 0) SKIP("no shared data (RATEL_SHARED)");
    EXPECT(n > 40);
}
