/*
 * AWDIT's test files: separators, no initial state, positions of errors, round trips.
 */
#include "read_help.h"

TEST_MAIN

#define NATIVE(from, want) EXPECT_NATIVE("awdit-test", from, strlen(from), want)
#define BAD(from, line, column, why)                                                               \
    EXPECT_REFUSED("awdit-test", from, sizeof(from) - 1, GUARD_PARSE, line, column, why)

#define LONG_FORK                                                                                  \
    "{\"ratel\":1,\"init\":null}\n"                                                                \
    "{\"session\":0,\"id\":0,\"ops\":[[\"w\",0,0],[\"w\",1,0]]}\n"                                 \
    "{\"session\":1,\"id\":1,\"ops\":[[\"w\",0,1]]}\n"                                             \
    "{\"session\":1,\"id\":2,\"ops\":[[\"r\",0,1],[\"r\",1,0]]}\n"

TEST(separators)
{
    NATIVE("w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0\n", LONG_FORK);
    NATIVE("w 0 0\nw 1 0\n=\nw 0 1\n-\nr 0 1\nr 1 0", LONG_FORK);
    /* empty transactions and sessions vanish, white space means nothing */
    NATIVE("\xef\xbb\xbf\n--\n===\n\t w  0\t0 \r\n  w 1 0\r\n\r\n---\n-\n=\n==\n-\nw 0 1\n- \n\n"
           "---\nr 0 1\n\nr 1 0\n=\n=\n-\n",
           LONG_FORK);
    NATIVE("w 0 0\nw 1 0=====\n=w 0 1 -----r 0 1\nr 1 0==--==", LONG_FORK);
    NATIVE("", "{\"ratel\":1,\"init\":null}\n");
    NATIVE("---\n=\n", "{\"ratel\":1,\"init\":null}\n");
    NATIVE("w 18446744073709551615 18446744073709551615",
           "{\"ratel\":1,\"init\":null}\n{\"session\":0,\"id\":0,"
           "\"ops\":[[\"w\",18446744073709551615,18446744073709551615]]}\n");
}

/* A read of 0 that nobody wrote is a read of nothing that ever was. */
TEST(nothing_is_implicit)
{
    NATIVE("r 3 0\n",
           "{\"ratel\":1,\"init\":null}\n{\"session\":0,\"id\":0,\"ops\":[[\"r\",3,0]]}\n");
}

TEST(errors_have_positions)
{
    BAD("w 0 0\nx 1 2\n", 2, 1, "expected r, w, or a line of - or =");
    BAD("w\n", 1, 2, "expected a space");
    BAD("w 1\n", 1, 4, "expected a space");
    BAD("w 1 \n", 1, 5, "expected a value, an unsigned number");
    BAD("w x 1\n", 1, 3, "expected a key, an unsigned number");
    BAD("w 1 -1\n", 1, 5, "expected a value");
    BAD("w 1 18446744073709551616\n", 1, 5, "a value beyond 64 bits");
    BAD("w 1 2 3\n", 1, 7, "expected the end of the line");
    BAD("w 1 2 r 1 2\n", 1, 7, "expected the end of the line");
    BAD("w 1 2x\n", 1, 6, "expected the end of the line");
    BAD("w 1 2\0\n", 1, 6, "expected the end of the line");
    BAD("w(1,2,3,4)\n", 1, 2, "expected a space");
}

TEST(round_trips)
{
    expect_same_text("awdit-test",
                     "w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0\n=====\nr 1 7\n");
    expect_same_text("awdit-test", "r 3 0\n");
}

/* What is read as initial has to be written by somebody, who is no longer before all others. */
TEST(initial_state_becomes_a_session)
{
    expect_written(
        "awdit-test",
        "{\"ratel\":1,\"init\":0}\n{\"session\":0,\"id\":0,\"ops\":[[\"r\",5,0],[\"w\",6,1]]}\n"
        "{\"session\":0,\"id\":1,\"ops\":[[\"r\",7,0]]}\n",
        "w 5 0\nw 7 0\n=====\nr 5 0\nw 6 1\n-----\nr 7 0\n", LOST(INIT));
    /* absent at first, and 0 is a value: another number, or two would be one */
    expect_written("awdit-test",
                   "{\"ratel\":1}\n{\"session\":0,\"id\":0,\"ops\":[[\"r\",5,null],[\"w\",5,0]]}\n",
                   "w 5 0\n=====\nr 5 0\nw 5 1\n", LOST(INIT) | LOST(NULLS) | LOST(VALUES));
}

TEST(losses_are_told)
{
    expect_written("awdit-test",
                   "{\"ratel\":1}\n{\"session\":\"a\",\"id\":4,\"ops\":[[\"w\",\"x\",\"v\"]]}\n"
                   "{\"session\":\"b\",\"id\":5,\"status\":\"aborted\",\"ops\":[[\"w\",\"x\",2]]}\n"
                   "{\"session\":\"c\",\"id\":6,\"ops\":[]}\n"
                   "{\"session\":\"d\",\"id\":7,\"status\":\"unknown\",\"ops\":[[\"w\",\"x\",3]]}\n"
                   "{\"session\":\"e\",\"id\":8,\"begin\":1,\"end\":2,\"ops\":[[\"r\",\"x\",3]]}\n",
                   "w 0 1\n=====\nw 0 3\n=====\nr 0 3\n",
                   LOST(KEYS) | LOST(VALUES) | LOST(LABELS) | LOST(ABORTED) | LOST(UNKNOWN) |
                       LOST(EMPTY) | LOST(TIMES));
}

TEST(manifest)
{
    int n = check_manifest("awdit-test");
    if (n < 0) SKIP("no ../shared/data: the histories of other projects are not here");
    EXPECT(n > 0);
}
