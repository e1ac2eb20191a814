/*
 * dbcop's JSON, text and YAML: shapes, traps of the initial state, places of errors, round trips.
 */
#include "read_help.h"

TEST_MAIN

#define JSON(from, want) EXPECT_NATIVE("dbcop-json", from, strlen(from), want)
#define HIST(from, want) EXPECT_NATIVE("dbcop-hist", from, strlen(from), want)
#define YAML(from, want) EXPECT_NATIVE("dbcop-yaml", from, strlen(from), want)
#define BAD(format, from, line, column, why)                                                       \
    EXPECT_REFUSED(format, from, sizeof(from) - 1, GUARD_PARSE, line, column, why)
#define BAD_JSON(from, line, column, why) BAD("dbcop-json", from, line, column, why)
#define BAD_HIST(from, line, column, why) BAD("dbcop-hist", from, line, column, why)
#define BAD_YAML(from, line, column, why) BAD("dbcop-yaml", from, line, column, why)

/* --- JSON ------------------------------------------------------------------------------------ */

TEST(json_shapes_of_events)
{
    static const char want[] = "{\"ratel\":1,\"init\":null}\n"
                               "{\"session\":1,\"id\":0,\"ops\":[[\"w\",0,1],[\"r\",7,null]]}\n"
                               "{\"session\":2,\"id\":1,\"status\":\"aborted\","
                               "\"ops\":[[\"r\",0,1]]}\n";
    JSON("[[{\"events\":[[\"w\",0,1],[\"r\",7,null]],\"committed\":true}],"
         "[{\"events\":[[\"r\",0,1]],\"committed\":false}]]",
         want);
    JSON("\xef\xbb\xbf [ [ {\"committed\" : true , \"events\":\r\n[ {\"Write\":{\"version\":1,"
         "\"variable\":0}}, {\"Read\" :{\"variable\":7,\"version\":null} }]}],\r\n"
         "[{\"events\":[{\"Read\":{\"variable\":0,\"version\":1}}],\"committed\":false}]]\r\n\r\n",
         want);
    JSON("[[{\"events\":[{\"Read\":{\"variable\":3}}],\"committed\":true}]]",
         "{\"ratel\":1,\"init\":null}\n{\"session\":1,\"id\":0,\"ops\":[[\"r\",3,null]]}\n");
    JSON("[[{\"events\":[[\"w\",18446744073709551615,18446744073709551615]],\"committed\":true}]]",
         "{\"ratel\":1,\"init\":null}\n{\"session\":1,\"id\":0,"
         "\"ops\":[[\"w\",18446744073709551615,18446744073709551615]]}\n");
}

TEST(json_header_members_in_any_order)
{
    JSON("{\"data\":[[{\"note\": {\"a\" : \" b \"}, \"events\":[],\"committed\":true}]],"
         "\"end\":\"e\",\"info\":\"x\\/y\",\"params\":{ \"id\" : 1, \"n_node\":2,"
         "\"n_variable\":3,\"n_transaction\":4,\"n_event\":5},\n\"start\":\"s\",\"odd\":[1, 2]}",
         "{\"ratel\":1,\"init\":null,\"dbcop_end\":\"e\",\"dbcop_info\":\"x\\/y\","
         "\"dbcop_params\":[1,2,3,4,5],\"dbcop_start\":\"s\",\"dbcop_odd\":[1,2]}\n"
         "{\"session\":1,\"id\":0,\"dbcop_note\":{\"a\":\" b \"},\"ops\":[]}\n");
    /* params of another shape stay what they are */
    JSON("{\"params\":{\"id\":1},\"data\":[]}",
         "{\"ratel\":1,\"init\":null,\"dbcop_params\":{\"id\":1}}\n");
    JSON("{\"params\":{\"n_node\":2,\"id\":1,\"n_variable\":3,\"n_transaction\":4,\"n_event\":5},"
         "\"data\":[]}",
         "{\"ratel\":1,\"init\":null,\"dbcop_params\":{\"n_node\":2,\"id\":1,\"n_variable\":3,"
         "\"n_transaction\":4,\"n_event\":5}}\n");
}

/* Version 0 is the initial state only where nobody, not even who aborted, writes version 0. */
TEST(json_version_zero)
{
    JSON("[[{\"events\":[[\"r\",1,0],[\"r\",2,0],[\"r\",3,0]],\"committed\":true}],"
         "[{\"events\":[[\"w\",2,0]],\"committed\":true},{\"events\":[[\"w\",3,0]],"
         "\"committed\":false}]]",
         "{\"ratel\":1,\"init\":null}\n"
         "{\"session\":1,\"id\":0,\"ops\":[[\"r\",1,null],[\"r\",2,0],[\"r\",3,0]]}\n"
         "{\"session\":2,\"id\":1,\"ops\":[[\"w\",2,0]]}\n"
         "{\"session\":2,\"id\":2,\"status\":\"aborted\",\"ops\":[[\"w\",3,0]]}\n");
}

TEST(json_empty_things)
{
    JSON("", "{\"ratel\":1,\"init\":null}\n");
    JSON(" \n", "{\"ratel\":1,\"init\":null}\n");
    JSON("[]", "{\"ratel\":1,\"init\":null}\n");
    JSON("[[],[{\"events\":[],\"committed\":true}],[]]",
         "{\"ratel\":1,\"init\":null,\"sessions\":3}\n{\"session\":2,\"id\":0,\"ops\":[]}\n");
}

TEST(json_errors_have_positions)
{
    BAD_JSON("[[{\"events\":[[\"x\",0,1]]", 1, 15, "expected \"r\" or \"w\"");
    BAD_JSON("[[{\"events\":[[\"w\",0,null]]", 1, 21, "a write needs a version");
    BAD_JSON("[[{\"events\":[[\"w\",-1,1]]", 1, 19, "unsigned integer of 64 bits");
    BAD_JSON("[[{\"events\":[[\"w\",1,18446744073709551616]]", 1, 21, "unsigned integer of 64");
    BAD_JSON("[[{\"events\":[[\"w\",1,1.5]]", 1, 21, "unsigned integer of 64 bits");
    BAD_JSON("[[{\"events\":[[\"w\",\"k\",1]]", 1, 19, "expected a variable");
    BAD_JSON("[[{\"events\":[[\"r\",1,1,1]]", 1, 22, "expected ']'");
    BAD_JSON("[[{\"events\":[{\"Delete\":{}}]", 1, 15, "expected \"Read\" or \"Write\"");
    BAD_JSON("[[{\"events\":[{\"Read\":{\"version\":1}}]", 1, 22, "an event without \"variable\"");
    BAD_JSON("[[{\"events\":[{\"Write\":{\"variable\":1}}]", 1, 23, "a write without \"version\"");
    BAD_JSON("[[{\"events\":[{\"Read\":{\"variable\":1,\"variable\":2}}]", 1, 36, "occurs twice");
    BAD_JSON("[[{\"events\":[{\"Read\":{\"key\":1}}]", 1, 23, "unknown member");
    BAD_JSON("[[\n{\"events\":[]}\n]]", 2, 1, "a transaction without \"committed\"");
    BAD_JSON("[[\n{\"committed\":true}\n]]", 2, 1, "a transaction without \"events\"");
    BAD_JSON("[[{\"committed\":1}]]", 1, 16, "expected true or false");
    BAD_JSON("[[{\"committed\":true,\"committed\":true}]]", 1, 21, "occurs twice");
    BAD_JSON("[{}]", 1, 2, "expected a session");
    BAD_JSON("[[1]]", 1, 3, "expected a transaction");
    BAD_JSON("[[],]", 1, 5, "expected a session");
    BAD_JSON("[[]] x", 1, 6, "there is text after the history");
    BAD_JSON("{\"params\":{}}", 1, 13, "a history without \"data\"");
    BAD_JSON("{}", 1, 2, "a history without \"data\"");
    BAD_JSON("{\"data\":[],\"data\":[]}", 1, 19, "occurs twice");
    BAD_JSON("{\"info\":\"a\x01\"}", 1, 11, "control byte 0x01");
    BAD_JSON("{\"info\":\"\xff\",\"data\":[]}", 1, 10, "invalid UTF-8");
    BAD_JSON("[[\0]]", 1, 3, "found byte 0x00");
    BAD_JSON("7", 1, 1, "expected an array of sessions");
}

TEST(json_truncated_anywhere)
{
    static const char whole[] =
        "{\"params\":{\"id\":1},\"info\":\"a\\n\",\"data\":[[{\"events\":[[\"w\",0,1],"
        "{\"Read\":{\"variable\":7,\"version\":null}}],\"committed\":true}],[]]}";
    guard g;
    for (size_t n = 1; n < sizeof whole - 1; n++) {
        history *h = load_pieces(&g, "dbcop-json", whole, n, n % 5 + 1);
        EXPECT(!h);
        EXPECT_EQ_INT(g.code, GUARD_PARSE);
        EXPECT(g.column <= n + 1 && g.column + 4 > n + 1); /* the end, or a word cut there */
        history_free(h);
    }
}

TEST(json_deep_nesting)
{
    static char deep[200000];
    memset(deep, '[', sizeof deep);
    guard g;
    EXPECT(!load(&g, "dbcop-json", deep, sizeof deep));
    EXPECT_EQ_INT(g.code, GUARD_PARSE);
    memcpy(deep, "{\"odd\":", 7);
    EXPECT(!load(&g, "dbcop-json", deep, sizeof deep));
    EXPECT_STR(g.text, "nested deeper than 1000 levels");
}

TEST(json_round_trips)
{
    expect_same_text("dbcop-json",
                     "[\n[{\"events\":[[\"w\",0,1],[\"r\",7,null]],\"committed\":true},\n"
                     "{\"events\":[],\"committed\":false}],\n[]]\n");
    expect_same_text(
        "dbcop-json",
        "{\"params\":{\"id\":1,\"n_node\":2,\"n_variable\":3,\"n_transaction\":4,"
        "\"n_event\":5},\n\"info\":\"x\",\n\"start\":\"s\",\n\"odd\":{\"a\":[]},\n\"data\":[\n"
        "[{\"events\":[[\"w\",0,0],[\"r\",0,0],[\"r\",0,null]],\"committed\":true,"
        "\"note\":1}]]}\n");
}

/* The header of bincode survives the way through JSON and back. */
TEST(json_and_bincode_share_a_header)
{
    static const char native[] =
        "{\"ratel\":1,\"init\":0,\"dbcop_params\":[3,2,1,2,2],\"dbcop_info\":\"generated\","
        "\"dbcop_start\":\"a\",\"dbcop_end\":\"b\"}\n{\"session\":1,\"id\":0,\"ops\":[]}\n";
    expect_written(
        "dbcop-json", native,
        "{\"params\":{\"id\":3,\"n_node\":2,\"n_variable\":1,\"n_transaction\":2,"
        "\"n_event\":2},\n\"info\":\"generated\",\n\"start\":\"a\",\n\"end\":\"b\",\n\"data\":[\n"
        "[{\"events\":[],\"committed\":true}]]}\n",
        LOST(INIT));
}

/* 0 stays 0 where it comes back as a value, and is another number where it would not. */
TEST(json_zero_that_is_no_initial_value)
{
    expect_written("dbcop-json",
                   "{\"ratel\":1}\n{\"session\":1,\"id\":0,\"ops\":[[\"r\",1,0],[\"r\",1,null]]}\n",
                   "[\n[{\"events\":[[\"r\",1,1],[\"r\",1,null]],\"committed\":true}]]\n",
                   LOST(VALUES));
    expect_written("dbcop-json",
                   "{\"ratel\":1}\n{\"session\":1,\"id\":0,\"ops\":[[\"r\",1,0],[\"r\",1,null]]}\n"
                   "{\"session\":1,\"id\":1,\"status\":\"aborted\",\"ops\":[[\"w\",1,0]]}\n",
                   "[\n[{\"events\":[[\"r\",1,0],[\"r\",1,null]],\"committed\":true},\n"
                   "{\"events\":[[\"w\",1,0]],\"committed\":false}]]\n",
                   0);
    /* an initial value that is written again is one value, whoever it was read from */
    expect_written(
        "dbcop-json",
        "{\"ratel\":1,\"init\":5}\n{\"session\":1,\"id\":0,\"ops\":[[\"r\",1,5],[\"w\",1,5],"
        "[\"r\",2,5]]}\n",
        "[\n[{\"events\":[[\"r\",1,0],[\"w\",1,0],[\"r\",2,null]],\"committed\":true}]]\n",
        LOST(INIT));
}

TEST(json_losses_are_told)
{
    expect_written(
        "dbcop-json",
        "{\"ratel\":1,\"mine\":1}\n"
        "{\"session\":\"s\",\"id\":9,\"begin\":1,\"end\":2,\"note\":\"n\",\"ops\":[[\"w\",\"x\","
        "\"v\"],[\"d\",\"x\"],[\"r\",\"l\",[1]],[\"r\",\"x\",\"v\",{\"ok\":false}]]}\n"
        "{\"session\":\"s\",\"id\":10,\"status\":\"unknown\",\"ops\":[[\"w\",\"x\",2]]}\n",
        "[\n[{\"events\":[[\"w\",0,1]],\"committed\":true},\n"
        "{\"events\":[[\"w\",0,2]],\"committed\":false}]]\n",
        LOST(LABELS) | LOST(TIMES) | LOST(KEYS) | LOST(VALUES) | LOST(DELETES) | LOST(LISTS) |
            LOST(FAILED) | LOST(UNKNOWN) | LOST(EXTRAS));
    /* an extra that would be taken for a member that has a meaning */
    expect_written("dbcop-json",
                   "{\"ratel\":1,\"dbcop_data\":1}\n"
                   "{\"session\":1,\"id\":0,\"dbcop_events\":1,\"dbcop_committed\":0,\"ops\":[]}\n",
                   "[\n[{\"events\":[],\"committed\":true}]]\n", LOST(EXTRAS));
}

/* --- text ------------------------------------------------------------------------------------ */

TEST(hist_documented_example)
{
    HIST("// session 1\n[x:=1 y:=2] [y==2 x:=3]\n---\n[x==1 y:=4]\n",
         "{\"ratel\":1,\"init\":null}\n"
         "{\"session\":1,\"id\":0,\"ops\":[[\"w\",\"x\",1],[\"w\",\"y\",2]]}\n"
         "{\"session\":1,\"id\":1,\"ops\":[[\"r\",\"y\",2],[\"w\",\"x\",3]]}\n"
         "{\"session\":2,\"id\":2,\"ops\":[[\"r\",\"x\",1],[\"w\",\"y\",4]]}\n");
}

TEST(hist_marks_and_blanks)
{
    HIST("\xef\xbb\xbf\r\n[x==?\t  _y9:=18446744073709551615]![a==0][0:=1]\t\r\n  \r\n-\r\n",
         "{\"ratel\":1,\"init\":null,\"sessions\":2}\n"
         "{\"session\":1,\"id\":0,\"status\":\"aborted\",\"ops\":[[\"r\",\"x\",null],"
         "[\"w\",\"_y9\",18446744073709551615]]}\n"
         "{\"session\":1,\"id\":1,\"ops\":[[\"r\",\"a\",null]]}\n"
         "{\"session\":1,\"id\":2,\"ops\":[[\"w\",\"0\",1]]}\n");
    HIST("[x==0 x:=0]", "{\"ratel\":1,\"init\":null}\n"
                        "{\"session\":1,\"id\":0,\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",0]]}\n");
    HIST("", "{\"ratel\":1,\"init\":null}\n");
    HIST("---\n[x:=1]\n--\n", "{\"ratel\":1,\"init\":null,\"sessions\":3}\n"
                              "{\"session\":2,\"id\":0,\"ops\":[[\"w\",\"x\",1]]}\n");
}

TEST(hist_errors_have_positions)
{
    BAD_HIST("[x:=1]\n[]\n", 2, 2, "expected a variable");
    BAD_HIST("[ x:=1]\n", 1, 2, "expected a variable");
    BAD_HIST("[x :=1]\n", 1, 3, "expected := or ==");
    BAD_HIST("[x:= 1]\n", 1, 5, "expected a version");
    BAD_HIST("[x:=?]\n", 1, 5, "expected a version");
    BAD_HIST("[x=1]\n", 1, 3, "expected := or ==");
    BAD_HIST("[x:=-1]\n", 1, 5, "expected a version");
    BAD_HIST("[x:=18446744073709551616]\n", 1, 5, "a version beyond 64 bits");
    BAD_HIST("[x:=1", 1, 6, "expected a space or ], but the line ends here");
    BAD_HIST("[x:=1\ny:=2]\n", 1, 6, "but the line ends here");
    BAD_HIST("[x:=1 ]\n", 1, 7, "expected a variable");
    BAD_HIST("[x:=1] // not here\n", 1, 8, "expected a transaction");
    BAD_HIST("[x:=1]\n-- x\n", 2, 4, "expected the end of the line");
    BAD_HIST("x:=1\n", 1, 1, "expected a transaction");
    BAD_HIST("[x:=1\0]\n", 1, 6, "found byte 0x00");
    BAD_HIST("[\xc3\xa4:=1]\n", 1, 2, "found byte 0xc3");
}

TEST(hist_round_trips)
{
    expect_same_text("dbcop-hist", "// session 1\n[x:=1 y==?]\n[y==2]!\n---\n// session 2\n---\n"
                                   "// session 3\n[_0==1 x:=0]\n");
    expect_written("dbcop-hist",
                   "{\"ratel\":1}\n{\"session\":1,\"id\":0,\"ops\":[[\"w\",5,1],[\"r\",7,null]]}\n"
                   "{\"session\":1,\"id\":1,\"ops\":[]}\n",
                   "// session 1\n[k5:=1 k7==?]\n", LOST(KEYS) | LOST(EMPTY));
    /* a name that could be mistaken for a number's is renamed with the others */
    expect_written("dbcop-hist",
                   "{\"ratel\":1}\n{\"session\":1,\"id\":0,\"ops\":[[\"w\",\"k1\",1],[\"w\",0,2],"
                   "[\"w\",\"a b\",3]]}\n",
                   "// session 1\n[k0:=1 k1:=2 k2:=3]\n", LOST(KEYS));
}

/* --- YAML ------------------------------------------------------------------------------------ */

#define YAML_WANT                                                                                  \
    "{\"ratel\":1,\"init\":0,\"sessions\":3}\n"                                                    \
    "{\"session\":0,\"id\":0,\"ops\":[[\"w\",0,1],[\"r\",1,0]]}\n"                                 \
    "{\"session\":0,\"id\":1,\"status\":\"aborted\",\"ops\":[]}\n"                                 \
    "{\"session\":2,\"id\":2,\"ops\":[[\"r\",0,1,{\"ok\":false}]]}\n"

TEST(yaml_styles)
{
    YAML("---\n- - events:\n      - write: true\n        variable: 0\n        value: 1\n"
         "        success: true\n      - write: false\n        variable: 1\n        value: 0\n"
         "        success: true\n    success: true\n  - events: []\n    success: false\n- []\n"
         "- - events:\n      - write: false\n        variable: 0\n        value: 1\n"
         "        success: false\n    success: true\n",
         YAML_WANT);
    /* names in any order, lists in the column of their name, comments, quotes, carriage returns */
    YAML("\xef\xbb\xbf\r\n---  # c\r\n-\r\n  -   success: True # t\r\n      events:   # e\r\n"
         "      - value: 1\r\n        \"write\": TRUE\r\n\r\n        success: true\r\n"
         "        'variable': 0\r\n      # between\r\n"
         "      - {write: false, variable: 1, value: 0, success: true}\r\n"
         "  - {success: false, events: []}\r\n- []\r\n-\r\n  - events: [ {write: false,\r\n"
         "variable: 0, value: 1, success: False,} ]\r\n    success: true\r\n...\r\n# end\r\n",
         YAML_WANT);
    /* JSON is YAML */
    YAML("[[{\"events\":[{\"write\":true,\"variable\":0,\"value\":1,\"success\":true},"
         "{\"write\":false,\"variable\":1,\"value\":0,\"success\":true}],\"success\":true},"
         "{\"events\":[],\"success\":false}],[],[{\"events\":[{\"write\":false,\"variable\":0,"
         "\"value\":1,\"success\":false}],\"success\":true}]]",
         YAML_WANT);
    YAML("", "{\"ratel\":1,\"init\":0}\n");
    YAML("# nothing\n---\n", "{\"ratel\":1,\"init\":0}\n");
    YAML("--- []\n", "{\"ratel\":1,\"init\":0}\n");
}

#define EV "- - success: true\n    events:\n    - "

TEST(yaml_errors_have_positions)
{
    BAD_YAML("- - success: true\n", 2, 1, "lacks events or success");
    BAD_YAML("- - events: []\n", 2, 1, "lacks events or success");
    BAD_YAML(EV "write: true\n", 4, 1, "lacks one of write, variable, value, success");
    BAD_YAML(EV "write: yes\n", 3, 14, "expected true or false, found 'y'");
    BAD_YAML(EV "variable: -1\n", 3, 17, "expected an unsigned number");
    BAD_YAML(EV "variable: 1x\n", 3, 18, "expected an unsigned number");
    BAD_YAML(EV "value: 18446744073709551616\n", 3, 14, "beyond 64 bits");
    BAD_YAML(EV "value:1\n", 3, 12, "expected ':' and a space");
    BAD_YAML(EV "value: 1\n      value: 2\n", 4, 7, "occurs twice");
    BAD_YAML(EV "value: 1 2\n", 3, 16, "expected the end of the line");
    BAD_YAML(EV "value: 1\n        write: true\n", 4, 9, "indented too far");
    BAD_YAML(EV "value: 1\n     write: true\n", 4, 6, "lacks one of");
    BAD_YAML(EV "value:\n      write: true\n", 4, 7, "expected an unsigned number");
    BAD_YAML(EV "key: 1\n", 3, 7, "unknown name");
    BAD_YAML("- - deeds: []\n", 1, 5, "unknown name");
    BAD_YAML("- - events: - write: true\n", 1, 13, "expected the list on lines of its own");
    BAD_YAML("- events: []\n", 1, 3, "expected a session");
    BAD_YAML("-\n- []\n", 2, 1, "expected a session");
    BAD_YAML("events: []\n", 1, 1, "expected a list of sessions");
    BAD_YAML("- []\n  - []\n", 2, 3, "indented too far");
    BAD_YAML("- []\nx\n", 2, 1, "expected the end of the document");
    BAD_YAML("- []\n---\n- []\n", 2, 1, "more than one document");
    BAD_YAML("- []\n...\nx\n", 3, 1, "there is text after");
    BAD_YAML("- - events: []\n\t  success: true\n", 2, 1, "a tab in the indentation");
    BAD_YAML("- [{events: [], success: true]\n", 1, 30, "expected ',' or '}', found ']'");
    BAD_YAML("- [\n", 2, 1, "expected a transaction, but the input ends here");
    BAD_YAML("- &a []\n", 1, 3, "expected a session");
    BAD_YAML("- - \0\n", 1, 5, "found byte 0x00");
}

TEST(yaml_truncated_anywhere_never_crashes)
{
    static const char whole[] = EV "{write: false, variable: 1, value: 0, success: true}\n";
    guard g;
    for (size_t n = 1; n < sizeof whole - 2; n++) {
        history *h = load_pieces(&g, "dbcop-yaml", whole, n, n % 5 + 1);
        EXPECT(!h);
        EXPECT_EQ_INT(g.code, GUARD_PARSE);
        history_free(h);
    }
}

/* Flow style nests through brackets, which the shape of the history limits. */
TEST(yaml_deep_nesting)
{
    static char deep[100000];
    guard g;
    memset(deep, '[', sizeof deep);
    EXPECT(!load(&g, "dbcop-yaml", deep, sizeof deep));
    EXPECT_EQ_INT(g.code, GUARD_PARSE);
    for (size_t i = 0; i < sizeof deep; i++) deep[i] = i % 2 ? ' ' : '-';
    EXPECT(!load(&g, "dbcop-yaml", deep, sizeof deep));
    EXPECT_EQ_INT(g.code, GUARD_PARSE);
}

TEST(yaml_round_trips)
{
    expect_same_text("dbcop-yaml", "---\n- - events:\n      - write: true\n        variable: 0\n"
                                   "        value: 1\n        success: true\n    success: true\n"
                                   "  - events: []\n    success: false\n- []\n- - events:\n"
                                   "      - write: false\n        variable: 0\n        value: 0\n"
                                   "        success: false\n    success: true\n");
    expect_written("dbcop-yaml", "{\"ratel\":1}\n", "--- []\n", 0);
    expect_written("dbcop-yaml",
                   "{\"ratel\":1}\n{\"session\":0,\"id\":0,\"ops\":[[\"append\",1,2]]}\n",
                   "---\n- - events: []\n    success: true\n", LOST(LISTS));
}

TEST(manifest)
{
    int json = check_manifest("dbcop-json"), hist = check_manifest("dbcop-hist");
    if (json < 0) SKIP("no ../shared/data: the histories of other projects are not here");
    EXPECT(json > 0 && hist > 0);
}
