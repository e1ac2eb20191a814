/*
 * Tests of src/lib/read/edn*.c: every quirk of the format, positions of errors,
 * the same history however the bytes arrive, and the way back through the writer.
 *
 * A history is compared as text, one line a transaction: session, id, status, [begin,end], then
 * the operations; extras and marks behind that where a test is about them.
 */
#include "test.h"

#include <stdlib.h>

#include "read/formats.h"

typedef struct text_source {
    const char *at;
    size_t left, chunk;
} text_source;

static ptrdiff_t bytes_read(void *buf, size_t cap, void *payload)
{
    text_source *t = payload;
    size_t n = t->left < cap ? t->left : cap;
    if (t->chunk && n > t->chunk) n = t->chunk;
    memcpy(buf, t->at, n);
    t->at += n;
    t->left -= n;
    return (ptrdiff_t)n;
}

typedef struct result {
    guard g;
    mem m; /* of source, sink and text */
    history *h;
    strbuf text;
    bool failed;
} result;

static void show_value(const history *h, value_id v, strbuf *b)
{
    if (v == VALUE_UNKNOWN)
        strbuf_char(b, '?');
    else
        atom_json(h, value_atom(h, v), b);
}

static void show(const history *h, strbuf *b)
{
    static const char *const status[] = {"ok", "fail", "info"};
    static const char *const kinds[] = {"r", "w", "d", "a", "scan", "iter"};
    for (txn_id t = 0; t < h->txns; t++) {
        atom_json(h, label_atom(h, h->sessions.at[h->txn_session[t]]), b);
        strbuf_char(b, ' ');
        atom_json(h, label_atom(h, h->txn_label[t]), b);
        strbuf_printf(b, " %s", status[txn_status_of(h, t)]);
        if (h->txn_flags[t] & TXN_HAS_BEGIN) strbuf_printf(b, " [%d,", (int)h->txn_begin[t]);
        if (h->txn_flags[t] & TXN_HAS_END) strbuf_printf(b, "%d]", (int)h->txn_end[t]);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            strbuf_printf(b, " %s(", kinds[op_kind_of(h, o)]);
            atom_json(h, key_atom(h, h->op_key[o]), b);
            strbuf_char(b, ',');
            show_value(h, h->op_value[o], b);
            strbuf_char(b, ')');
        }
        strbuf_char(b, '\n');
    }
}

static void show_string(const history *h, value_id v, strbuf *b)
{
    atom a = value_atom(h, v);
    strbuf_add(b, atom_bytes(h, a), a.len);
}

static void show_extras(const history *h, strbuf *b)
{
    for (size_t i = 0; i < h->extras.n; i++) {
        const extra *x = &h->extras.at[i];
        strbuf_printf(b, "%d ", x->txn == NO_ID ? -1 : (int)x->txn);
        show_string(h, x->name, b);
        strbuf_char(b, '=');
        show_string(h, x->text, b);
        strbuf_char(b, '\n');
    }
    for (size_t i = 0; i < h->marks.n; i++) {
        strbuf_printf(b, "mark %u ", h->marks.at[i].before);
        show_string(h, h->marks.at[i].text, b);
        strbuf_char(b, '\n');
    }
}

static void done(result *r)
{
    mem_free_all(&r->m);
    history_free(r->h);
    free(r);
}

/* On the heap: nothing that setjmp could leave undefined. */
static result *read_bytes(const char *text, size_t n, size_t chunk)
{
    result *r = calloc(1, sizeof *r);
    text_source t = {text, n, chunk};
    source s;
    guard_init(&r->g);
    mem_init(&r->m, NULL, NULL, &r->g);
    if (guard_armed(&r->g)) {
        r->failed = true;
        return r;
    }
    r->h = history_new(NULL, NULL, &r->g, 0);
    strbuf_init(&r->text, &r->m);
    source_init(&s, &r->m, &r->g, bytes_read, &t);
    edn_la_read(r->h, &s);
    history_freeze(r->h);
    return r;
}

static void expect_at(int line, const char *edn, const char *want, bool extras)
{
    static const size_t chunks[] = {0, 1, 7};
    for (size_t i = 0; i < 3; i++) {
        result *r = read_bytes(edn, strlen(edn), chunks[i]);
        if (r->failed) {
            test_fail(__FILE__, line, "%d:%d: %s", (int)r->g.line, (int)r->g.column, r->g.text);
        } else {
            const char *bad = history_check(r->h);
            if (bad) test_fail(__FILE__, line, "history broken: %s", bad);
            (extras ? show_extras : show)(r->h, &r->text);
            const char *got = strbuf_cstr(&r->text);
            if (strcmp(got, want))
                test_fail(__FILE__, line, "chunks of %d: got\n%swanted\n%s", (int)chunks[i], got,
                          want);
        }
        done(r);
    }
}

static void expect_error_at(int line, const char *edn, int at_line, int at_column, const char *part)
{
    for (size_t chunk = 0; chunk < 2; chunk++) {
        result *r = read_bytes(edn, strlen(edn), chunk);
        if (!r->failed)
            test_fail(__FILE__, line, "no error");
        else if ((int)r->g.line != at_line || (int)r->g.column != at_column ||
                 r->g.code != GUARD_PARSE || !strstr(r->g.text, part))
            test_fail(__FILE__, line, "got %d:%d: %s (code %d)", (int)r->g.line, (int)r->g.column,
                      r->g.text, r->g.code);
        done(r);
    }
}

#define EXPECT_HISTORY(edn, want) expect_at(__LINE__, edn, want, false)
#define EXPECT_EXTRAS(edn, want) expect_at(__LINE__, edn, want, true)
#define EXPECT_ERROR(edn, line, column, part) expect_error_at(__LINE__, edn, line, column, part)

#define OK0 "{:type :ok, :process 0, :f :txn, :value "

TEST(pairs_and_outcomes)
{
    EXPECT_HISTORY(
        "{:index 0, :time 0, :type :invoke, :process 0, :f :txn, :value [[:append 1 1]]}\n"
        "{:index 1, :type :invoke, :process 1, :f :txn, :value [[:append 1 2] [:r 2 nil]]}\n"
        "{:index 2, :type :invoke, :process 2, :f :txn, :value [[:append 1 3]]}\n"
        "{:index 3, :type :invoke, :process 3, :f :txn, :value [[:r 1 nil]]}\n"
        "{:index 4, :type :fail, :process 0, :f :txn, :value [[:append 1 1] [:r 1 5]]}\n"
        "{:index 5, :type :info, :process 1, :f :txn, :value [[:append 1 2] [:r 2 [9]]]}\n"
        "{:index 6, :type :ok, :process 2, :f :txn, :value [[:append 1 3]]}\n"
        "{:index 7, :type :ok, :process 3, :f :txn, :value [[:r 1 [1 2 3]] [:r 4 nil]]}\n",
        "0 4 fail [0,4] a(1,1) r(1,?)\n"
        "1 5 info [1,5] a(1,2) r(2,?)\n"
        "2 6 ok [2,6] a(1,3)\n"
        "3 7 ok [3,7] r(1,[1,2,3]) r(4,null)\n");
}

TEST(unfinished_come_last_in_their_order)
{
    EXPECT_HISTORY("{:type :invoke, :process 5, :value [[:w 1 1] [:r 2 nil]]}"
                   "{:type :invoke, :process 4, :value [[:w 1 2]]}"
                   "{:type :invoke, :process 3, :value [[:w 1 3]]}"
                   "{:type :ok, :process 4, :value [[:w 1 2]]}"
                   "{:type :invoke, :process 4, :value [[:w 1 4]]}",
                   "4 3 ok [1,3] w(1,2)\n"
                   "5 0 info [0, w(1,1) r(2,?)\n"
                   "3 2 info [2, w(1,3)\n"
                   "4 4 info [4, w(1,4)\n");
}

TEST(completion_without_value_takes_the_invocation)
{
    EXPECT_HISTORY(
        "{:type :invoke, :process 0, :value [[:w 1 1] [:r 2 nil] [:r 3 [1]]]}"
        "{:type :info, :process 0}"
        "{:type :invoke, :process 1, :value [[:w 1 2] [:r 2 nil]]} {:type :ok, :process 1}"
        "{:type :invoke, :process 2, :value nil} {:type :fail, :process 2, :value nil}",
        "0 1 info [0,1] w(1,1) r(2,?) r(3,?)\n"
        "1 3 ok [2,3] w(1,2) r(2,?)\n"
        "2 5 fail [4,5]\n");
}

TEST(completions_only_have_no_times)
{
    EXPECT_HISTORY("{:index 0, :time 0, :type :fail, :process 1, :f :txn, :value [[:append 1 1]]}\n"
                   "{:index 1, :time 0, :type :ok, :process 2, :f :txn, :value [[:r 1 [1]]]}",
                   "1 0 fail a(1,1)\n2 1 ok r(1,[1])\n");
}

TEST(numbers_follow_index_while_it_rises)
{
    EXPECT_HISTORY("{:index 10 :type :invoke :process 2 :value []}"
                   "{:index 11 :type :ok :process 2 :value []}"
                   "{:index 20 :type :invoke :process 2 :value []}"
                   "{:index 20 :type :ok :process 2 :value []}"
                   "{:index 5 :type :ok :process 2 :value []}"
                   "{:type :ok :process 2 :value []}"
                   "{:index 9223372036854775807 :type :ok :process 2 :value []}"
                   "{:index 30 :type :ok :process 2 :value []}",
                   "2 11 ok [10,11]\n2 21 ok [20,21]\n2 22 ok\n2 23 ok\n2 24 ok\n2 30 ok\n");
}

TEST(info_then_new_process)
{
    EXPECT_HISTORY(
        "{:type :invoke :process 3 :value [[:w 1 1]]}{:type :info :process 3 :value nil}"
        "{:type :invoke :process 13 :value [[:w 1 2]]}{:type :ok :process 13 :value nil}",
        "3 1 info [0,1] w(1,1)\n13 3 ok [2,3] w(1,2)\n");
}

TEST(top_level_shapes)
{
    const char *want = "0 0 ok r(1,2)\n0 1 ok w(1,3)\n";
    EXPECT_HISTORY(OK0 "[[:r 1 2]]}\n" OK0 "[[:w 1 3]]}", want);
    EXPECT_HISTORY("[" OK0 "[[:r 1 2]]} " OK0 "[[:w 1 3]]}]", want);
    EXPECT_HISTORY(" ( " OK0 "[[:r 1 2]]},\n\n" OK0 "[[:w 1 3]]} ) ; end", want);
    EXPECT_HISTORY("#jepsen.history.DenseHistory [#jepsen.history.Op" OK0 "[[:r 1 2]]}\n"
                   "#jepsen.history.Op " OK0 "[[:w 1 3]]}]\n",
                   want);
    EXPECT_HISTORY("\xef\xbb\xbf" OK0 "[[:r 1 2]]}" OK0 "[[:w 1 3]]}", want);
    EXPECT_HISTORY("", "");
    EXPECT_HISTORY(" \n; nothing\n", "");
    EXPECT_HISTORY("[]", "");
}

TEST(comments_and_discards)
{
    EXPECT_HISTORY("; {:type :ok}\n#_{:type :nonsense :value [1 2 #_ 3]} #_ #_ 1 2\n"
                   "{:type ; the type } ]\n :ok #_:process #_1 :process 7\n"
                   " :value [#_[:r 0 0] [:r #_\"]\" 1 ;]\n 2] ;\n [:w 1 #_ #_ 4 5 6]] #_ nil}",
                   "7 0 ok r(1,2) w(1,6)\n");
}

TEST(commas_and_spaces_anywhere)
{
    EXPECT_HISTORY("{:index 0 :type :ok,     :process 1,, :value [[ :append 4 2] [ :r 4 [ ]] ]}",
                   "1 0 ok a(4,2) r(4,[])\n");
    EXPECT_HISTORY("{,:type,:ok,:process,1,:value,[[:append,4,2],[:r,4,[1,,2]],]}",
                   "1 0 ok a(4,2) r(4,[1,2])\n");
    EXPECT_HISTORY("{\t:type :ok\r\n:process 1\f:value([:append\t4\n2](:r 4(1 2 )))}",
                   "1 0 ok a(4,2) r(4,[1,2])\n");
}

TEST(string_keys_and_names)
{
    EXPECT_HISTORY("{\"type\" \"ok\" \"process\" 1 \"f\" \"txn\" \"value\""
                   " [[\"r\" \"x\" 1] [\"w\" \"x\" \"y\"]"
                   " [\"append\" \"l\" 3]]}",
                   "1 0 ok r(\"x\",1) w(\"x\",\"y\") a(\"l\",3)\n");
}

/* Members whose names are no words are kept, and are none of those that mean something. */
TEST(names_that_are_no_words)
{
    EXPECT_HISTORY("{:type :ok, :process 1, 5 6, :value [[:r 1 2]]}", "1 0 ok r(1,2)\n");
    EXPECT_HISTORY("{:type :ok, :process 1, \"proc\\u0065dure\" 6, nil 7, :value [[:r 1 2]]}",
                   "1 0 ok r(1,2)\n");
}

TEST(keys_and_values_of_every_kind)
{
    EXPECT_HISTORY(OK0
                   "[[:w :x 1] [:w \"x\" 2] [:w a/b 3] [:w :a/b 4] [:w -7 5] [:w 7N -6N] [:w +8 +9]"
                   " [:w 18446744073709551615 18446744073709551615]"
                   " [:w 99999999999999999999 -99999999999999999999N]"
                   " [:w 1.5 2.5e3] [:w 1/2 1/3] [:w \\c \\newline] [:w 1.0M 2M] [:w nil true]"
                   " [:w false false] [:w #inst \"2020\" #uuid \"ab\"] [:w ##Inf ##-Inf]"
                   " [:w 1234567890123456789 -9223372036854775808]]}",
                   "0 0 ok w(\":x\",1) w(\"x\",2) w(\"a/b\",3) w(\":a/b\",4) w(-7,5) w(7,-6) w(8,9)"
                   " w(18446744073709551615,18446744073709551615)"
                   " w(\"99999999999999999999\",-99999999999999999999)"
                   " w(\"1.5\",2500.0) w(\"1/2\",\"1/3\") w(\"\\\\c\",\"\\\\newline\")"
                   " w(\"1.0M\",\"2M\") w(\"nil\",true) w(\"false\",false)"
                   " w(\"#inst \\\"2020\\\"\",\"#uuid \\\"ab\\\"\") w(\"##Inf\",\"##-Inf\")"
                   " w(1234567890123456789,-9223372036854775808)\n");
    EXPECT_HISTORY(
        OK0 "[[:r 1 [1 :a \"b\" nil [2 3] 4N]] [:r 1 #{1 2}] [:r 1 {:a  1, \"b\" [2]}] [:r 1]]}",
        "0 0 ok r(1,[1,\":a\",\"b\",null,\"[2,3]\",4]) r(1,\"[1,2]\")"
        " r(1,\"{\\\"a\\\":1,\\\"b\\\":[2]}\") r(1,?)\n");
}

TEST(one_and_one_n_are_the_same_value)
{
    const char *edn = OK0 "[[:w 1 1] [:w 1N 1N] [:w 1 1.0] [:w 1 \"1\"]]}";
    result *r = read_bytes(edn, strlen(edn), 0);
    REQUIRE(!r->failed);
    const history *h = r->h;
    EXPECT_EQ_UINT(h->op_key[0], h->op_key[1]);
    EXPECT_EQ_UINT(h->op_value[0], h->op_value[1]);
    EXPECT(h->op_value[0] != h->op_value[2]);
    EXPECT(h->op_value[0] != h->op_value[3]);
    done(r);
}

TEST(string_escapes)
{
    EXPECT_HISTORY(
        OK0 "[[:w 1 \"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u03bb\\ud83d\\ude00\\ud83d \\101\\0\"]]}",
        "0 0 ok w(1,\"a\\\"b\\\\c\\n\\t\\r\\u0008\\u000c\xce\xbb\xf0\x9f\x98\x80\xef\xbf\xbd A"
        "\\u0000\")\n");
}

TEST(processes_of_every_kind)
{
    EXPECT_HISTORY("{:type :invoke :process \"a\" :value []}{:type :invoke :process :w1 :value []}"
                   "{:type :invoke :process -1 :value []}"
                   "{:type :ok :process :w1 :value []}{:type :ok :process \"a\" :value []}"
                   "{:type :ok :process -1 :value []}",
                   "\":w1\" 3 ok [1,3]\n\"a\" 4 ok [0,4]\n-1 5 ok [2,5]\n");
}

TEST(missing_process)
{
    const char *pairs =
        "{:type :invoke :value [[:append 1 1]]}{:type :ok :value [[:append 1 1]]}"
        "{:type :invoke :process nil :value [[:r 1 nil]]}{:type :ok :value [[:r 1 [1]]]}";
    EXPECT_HISTORY(pairs, "\"nil\" 1 ok [0,1] a(1,1)\n\"nil\" 3 ok [2,3] r(1,[1])\n");
    EXPECT_EXTRAS(pairs, "-1 without_process=2\n");
    EXPECT_HISTORY("{:type :ok :value [[:append 1 1]]}{:type :ok :value [[:r 1 [1]]]}",
                   "\"event 0\" 0 ok a(1,1)\n\"event 1\" 1 ok r(1,[1])\n");
    EXPECT_ERROR("{:type :invoke :value []}\n {:type :invoke :value []}", 2, 2, "cannot be paired");
}

TEST(nemesis_and_other_events_are_marks)
{
    const char *edn =
        "{:type :info, :f :start-partition, :value [:isolated {\"n2\" #{\"n1\"}}]"
        ", :time 4783582962,"
        " :process :nemesis, :shard \"config\", :index 0}\n"
        "{:type :invoke, :f :txn, :value [[:append 7 1]], :time 4790254077, :process 0, :index 1}\n"
        "{:type :info :process :nemesis :f :txn :value nil}\n"
        "{:type :invoke, :f :read, :value nil, :process 1, :index 2}\n"
        "{:type :ok, :f :txn, :value [[:append 7 1]], :time 4790254078, :process 0, :index 3}\n";
    EXPECT_HISTORY(edn, "0 3 ok [1,3] a(7,1)\n");
    EXPECT_EXTRAS(
        edn,
        "-1 skipped_operations={\"read\":1}\n"
        "0 time=[4790254077,4790254078]\n"
        "mark 0 {\"mark\":\"nemesis\",\"at\":-1,\"type\":\":info\",\"f\":\":start-partition\","
        "\"time\":4783582962,\"value\":[\":isolated\",{\"n2\":[\"n1\"]}],\"shard\":\"config\"}\n"
        "mark 0 {\"mark\":\"nemesis\",\"at\":1,\"type\":\":info\",\"f\":\":txn\",\"value\":null}\n"
        "mark 0 {\"mark\":\"event\",\"at\":1,\"type\":\":invoke\",\"process\":1,\"f\":\":read\","
        "\"value\":null}\n");
}

TEST(operations_that_are_no_transactions_are_counted)
{
#define KIND(type, f) "{:type :" type " :process 1 :f " f " :value nil}"
    /* as many as there are invocations or completions, whichever are more */
    EXPECT_HISTORY(KIND("invoke", ":read") KIND("ok", ":read") KIND("invoke", ":read"), "");
    EXPECT_EXTRAS(
        KIND("invoke", ":read") KIND("ok", ":read") KIND("invoke", ":read") KIND("ok", "\"a\\\"b\"")
            KIND("info", "[:x 1]") KIND("fail", ":a/b"),
        "-1 skipped_operations={\"read\":2,\"a\\\"b\":1,\"[:x 1]\":1,\"a/b\":1}\n"
        "mark 0 {\"mark\":\"event\",\"at\":-1,\"type\":\":invoke\",\"process\":1,\"f\":\":read\","
        "\"value\":null}\n"
        "mark 0 {\"mark\":\"event\",\"at\":-1,\"type\":\":ok\",\"process\":1,\"f\":\":read\","
        "\"value\":null}\n"
        "mark 0 {\"mark\":\"event\",\"at\":-1,\"type\":\":invoke\",\"process\":1,\"f\":\":read\","
        "\"value\":null}\n"
        "mark 0 {\"mark\":\"event\",\"at\":-1,\"type\":\":ok\",\"process\":1,\"f\":\"a\\\"b\","
        "\"value\":null}\n"
        "mark 0 {\"mark\":\"event\",\"at\":-1,\"type\":\":info\",\"process\":1,\"f\":[\":x\",1],"
        "\"value\":null}\n"
        "mark 0 {\"mark\":\"event\",\"at\":-1,\"type\":\":fail\",\"process\":1,\"f\":\":a/b\","
        "\"value\":null}\n");
#undef KIND
}

TEST(unknown_fields_are_kept)
{
    EXPECT_EXTRAS(
        "{:type :invoke :process 0 :value [] :time 5 :node \"n\" :error 1}"
        "{:type :ok :process 0 :value [] :error [:conn 1.50 nil] :txn-info {:a/b #{x} :s \"t\\n\"}"
        " :session 9 :tagged #inst \"2020\" \"strange key\" \\x 12 (1/2 +3N 1. ##NaN) :time 9}",
        "0 time=[5,9]\n0 error=[\":conn\",1.50,null]\n"
        "0 txn-info={\"a/b\":[\"x\"],\"s\":\"t\\n\"}\n0 edn-session=9\n"
        "0 tagged={\"#inst\":\"2020\"}\n0 strange key=\"\\\\x\"\n"
        "0 12=[\"1/2\",3,1.0,\"##NaN\"]\n0 node=\"n\"\n");
    /* of an invocation those that its completion does not have; all if nothing follows */
    EXPECT_EXTRAS("{:type :invoke :process 0 :value [] :time 5 :node \"n1\"}",
                  "0 time=[5,null]\n0 node=\"n1\"\n");
    EXPECT_EXTRAS(
        "{:type :ok :process 0 :value [] :time 0}{:type :ok :process 0 :value [] :time -1}", "");
    EXPECT_EXTRAS("{:type :ok :process 0 :value [] :time 1.5 :index :x}",
                  "0 edn-time=1.5\n0 index=\":x\"\n");
}

TEST(times_that_run_backwards_are_counted)
{
    EXPECT_EXTRAS(
        "{:type :ok :process 0 :value [] :time 7}{:type :ok :process 0 :value [] :time 5}",
        "-1 time_backwards=1\n0 time=[null,7]\n1 time=[null,5]\n");
}

TEST(database_timestamps)
{
    const char *edn = "{:type :ok, :process 6, :value [], :ts {:rts 21881, :cts 21882}}"
                      "{:type :ok, :process 6, :value [], :ts {:rts 21890, :cts nil}}"
                      "{:type :ok, :process 6, :value [], :ts [1 2]}";
    result *r = read_bytes(edn, strlen(edn), 0);
    REQUIRE(!r->failed);
    const history *h = r->h;
    EXPECT_EQ_INT(h->txn_start_ts[0], 21881);
    EXPECT_EQ_INT(h->txn_commit_ts[0], 21882);
    EXPECT_EQ_INT(h->txn_commit_ts[1], 21890);
    EXPECT_EQ_INT(h->txn_flags[2] & (TXN_HAS_START_TS | TXN_HAS_COMMIT_TS), 0);
    done(r);
    EXPECT_EXTRAS(edn, "2 ts=[1,2]\n");
}

TEST(errors_of_syntax)
{
    EXPECT_ERROR("{:type :ok", 1, 11, "ends inside an event");
    EXPECT_ERROR("\n[{:type :ok :process 1 :value []}\n", 3, 1, "ends inside the vector");
    EXPECT_ERROR("{:type :ok :value [[:r 1 2)]}", 1, 27, "expected ']', found ')'");
    EXPECT_ERROR("{:type :ok :value [}", 1, 20, "expected ']', found '}'");
    EXPECT_ERROR("{:type :ok]", 1, 11, "expected '}'");
    EXPECT_ERROR("{:type :ok\n :value}", 2, 2, "without a value");
    EXPECT_ERROR("{:type :ok :error {:a}}", 1, 20, "without a value");
    EXPECT_ERROR("{:type :ok :x 12abc}", 1, 15, "malformed number");
    EXPECT_ERROR("{:type :ok :x 012}", 1, 15, "malformed number");
    EXPECT_ERROR("{:type :ok :x 1e}", 1, 15, "malformed number");
    EXPECT_ERROR("{:type :ok :x 1/}", 1, 15, "malformed number");
    EXPECT_ERROR("{:type :ok :x \"\\q\"}", 1, 16, "escape");
    EXPECT_ERROR("{:type :ok :x \"\\u12g4\"}", 1, 16, "hexadecimal");
    EXPECT_ERROR("{:type :ok :x : }", 1, 15, "keyword");
    EXPECT_ERROR("{:type :ok :x \\ }", 1, 15, "backslash");
    EXPECT_ERROR("{:type :ok :x a\001b}", 1, 16, "0x01");
    EXPECT_ERROR("{:type :ok :x \"\xc3\xa9\xff\"}", 1, 18, "UTF-8");
    EXPECT_ERROR("{:type :ok :x ^a}", 1, 15, "unexpected '^'");
    EXPECT_ERROR("{:type :ok :x #}", 1, 15, "tag");
    EXPECT_ERROR("{:type :ok :x #foo}", 1, 19, "unexpected '}'");
    EXPECT_ERROR("#_", 1, 3, "discarded form");
    EXPECT_ERROR("#foo", 1, 5, "tag");
    EXPECT_ERROR("[#foo ]", 1, 7, "expected an event");
    EXPECT_ERROR("; x\n  42", 2, 3, "expected an event");
    EXPECT_ERROR("[[{}]]", 1, 2, "expected an event");
    EXPECT_ERROR("]", 1, 1, "expected an event");
}

TEST(errors_of_meaning)
{
    EXPECT_ERROR("{:process 1}", 1, 1, "without :type");
    EXPECT_ERROR("{:type :okay}", 1, 8, "unknown :type :okay");
    EXPECT_ERROR("{:type 5}", 1, 8, "expected :invoke");
    EXPECT_ERROR("{:type :ok :type :ok}", 1, 12, "twice");
    EXPECT_ERROR(OK0 "[[:r 1 2]\n [:inc 1 2]]}", 2, 3, "unknown micro-operation :inc");
    EXPECT_ERROR("{:type :invoke :process 1 :value [[:x 1 2]]}", 1, 36,
                 "unknown micro-operation :x");
    EXPECT_ERROR(OK0 "[[:r]]}", 1, 45, "without a key");
    EXPECT_ERROR(OK0 "[[]]}", 1, 42, "empty micro-operation");
    EXPECT_ERROR(OK0 "[[:w 1]]}", 1, 47, "without a value");
    EXPECT_ERROR(OK0 "[[:w  1]]}", 1, 48, "without a value");
    EXPECT_ERROR(OK0 "[[:w 1 nil]]}", 1, 48, "nil cannot be written");
    EXPECT_ERROR(OK0 "[[:r 1 2 3]]}", 1, 50, "more than three");
    EXPECT_ERROR(OK0 "[[:r [1] 2]]}", 1, 46, "key must be");
    EXPECT_ERROR(OK0 "[5]}", 1, 42, "expected a micro-operation");
    EXPECT_ERROR(OK0 ":x}", 1, 41, "expected a vector");
    EXPECT_ERROR("{:type :invoke :process 1 :value []}\n{:type :invoke :process 1 :value []}", 2, 1,
                 "still open");
}

TEST(deep_nesting_is_an_error)
{
    enum { DEEP = 200000 };
    static const char *const openers[] = {"[", "{", "(", "#_", "#a ", "#{"};
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) {
        size_t n = strlen(openers[i]), at = 14;
        char *text = malloc(DEEP * n + 20);
        REQUIRE(text);
        memcpy(text, "{:type :ok :x ", at);
        for (int d = 0; d < DEEP; d++, at += n) memcpy(text + at, openers[i], n);
        result *r = read_bytes(text, at, 0);
        EXPECT(r->failed);
        EXPECT(strstr(r->g.text, "nested more than"));
        EXPECT_EQ_INT(r->g.column, 15 + 1000 * (int)n);
        done(r);
        free(text);
    }
}

/* A unit larger than the window, and many units. */
TEST(large_input)
{
    size_t cap = (size_t)4 << 20, n = 0;
    char *text = malloc(cap);
    REQUIRE(text);
    n += (size_t)snprintf(text + n, cap - n, "{:type :ok :process 0 :value [[:r 1 [");
    for (int i = 0; i < 100000; i++) n += (size_t)snprintf(text + n, cap - n, "%d ", i);
    n += (size_t)snprintf(text + n, cap - n, "]]]}\n");
    for (int i = 0; i < 20000; i++)
        n += (size_t)snprintf(text + n, cap - n,
                              "{:type :invoke :process %d :value [[:w 1 %d]]}"
                              "{:type :ok :process %d :value [[:w 1 %d]]}\n",
                              i, i, i, i);
    for (size_t chunk = 0; chunk < 2000; chunk += 999) {
        result *r = read_bytes(text, n, chunk);
        REQUIRE(!r->failed);
        EXPECT_EQ_UINT(r->h->txns, 20001);
        EXPECT_EQ_UINT(value_atom(r->h, r->h->op_value[0]).len, 100000);
        EXPECT_EQ_INT(r->h->txn_begin[20000], 39999);
        done(r);
    }
    free(text);
}

/* --- writing ------------------------------------------------------------------------------- */

typedef struct written {
    char *at;
    size_t n;
    uint64_t lost;
} written;

static int bytes_write(const void *buf, size_t n, void *payload)
{
    written *w = payload;
    w->at = realloc(w->at, w->n + n + 1);
    memcpy(w->at + w->n, buf, n);
    w->n += n;
    w->at[w->n] = 0;
    return 0;
}

static written write_again(result *r, void (*write)(const history *, sink *))
{
    written w = {NULL, 0, 0};
    sink out;
    sink_init(&out, &r->m, &r->g, bytes_write, &w);
    write(r->h, &out);
    sink_flush(&out);
    w.lost = out.lost_bits;
    if (!w.at) bytes_write("", 0, &w);
    return w;
}

static void round_trip(int line, const char *edn, size_t n, void (*write)(const history *, sink *))
{
    result *r = read_bytes(edn, n, 0);
    if (r->failed) {
        test_fail(__FILE__, line, "%d:%d: %s", (int)r->g.line, (int)r->g.column, r->g.text);
    } else {
        written w = write_again(r, write);
        result *again = read_bytes(w.at, w.n, 0);
        if (again->failed) {
            test_fail(__FILE__, line, "%d:%d: %s in\n%.2000s", (int)again->g.line,
                      (int)again->g.column, again->g.text, w.at);
        } else {
            show(r->h, &r->text), show_extras(r->h, &r->text);
            show(again->h, &again->text), show_extras(again->h, &again->text);
            if (strcmp(strbuf_cstr(&r->text), strbuf_cstr(&again->text)))
                test_fail(__FILE__, line, "%.2000s\nbecame\n%.2000s", r->text.at, again->text.at);
            if (w.lost) test_fail(__FILE__, line, "lost bits %llx", (unsigned long long)w.lost);
        }
        done(again);
        free(w.at);
    }
    done(r);
}

#define EXPECT_ROUND_TRIP(edn, write) round_trip(__LINE__, edn, strlen(edn), write)

TEST(what_is_read_is_written)
{
    EXPECT_ROUND_TRIP("", edn_rw_write);
    EXPECT_ROUND_TRIP(
        "{:type :info, :f :start, :value :all, :time 4, :process :nemesis, :shard \"a\"}\n"
        "{:index 3 :type :invoke :process 0 :time 7 :value [[:append :x 1] [:r \"y\" nil]]}\n"
        "{:index 9 :type :invoke :process \"p\" :value [[:append :x 2]]}\n"
        "{:type :info, :f :stop, :process :nemesis}\n"
        "{:index 10 :type :invoke :process 2 :value [[:append 5N -2]] :node \"n1\"}\n"
        "{:index 12 :type :fail :process \"p\""
        " :value [[:append :x 2] [:r 1 nil]] :error [:a {:b nil}]}\n"
        "{:index 13 :type :ok :process 0 :time 8"
        " :value [[:append :x 1] [:r \"y\" [1 :k \"s\\\"\\n\"]]]}\n"
        "{:type :invoke, :f :other, :process 7, :value nil}\n"
        "{:index 14 :type :invoke :process 0 :value []}\n"
        "{:index 15 :type :info :process 0 :value [] :session 4 :edn-id 5 :edn-foo 6}\n",
        edn_la_write);
    EXPECT_ROUND_TRIP(
        "{:index 4 :type :ok :process 1 :value [[:w :a 1.5] [:r 99999999999999999999999N true]"
        " [:w 1 18446744073709551615] [:r 2 nil] [:r \":not a keyword\" -99999999999999999999]]"
        " :ts {:rts 4 :cts 5}}"
        "{:index 6 :type :fail :process 1 :value [[:w :a 2] [:r :a nil]] :time 4 :ts {:rts 1}}",
        edn_rw_write);
}

TEST(losses_are_told)
{
    const char *edn = OK0 "[[:w 1 2] [:append 2 3] [:r 2 [3]] [:r 1 2] [:r 2 nil] [:r 1]]}";
    result *r = read_bytes(edn, strlen(edn), 0);
    REQUIRE(!r->failed);
    written w = write_again(r, edn_rw_write);
    EXPECT_STR(w.at, "{:index 0, :type :ok, :process 0, :f :txn, :value [[:w 1 2] [:r 1 2]]}\n");
    EXPECT_EQ_UINT(w.lost, 1u << LOST_LISTS | 1u << LOST_UNKNOWN_READS);
    free(w.at);
    w = write_again(r, edn_la_write);
    EXPECT_STR(w.at, "{:index 0, :type :ok, :process 0, :f :txn, :value"
                     " [[:append 2 3] [:r 2 [3]] [:r 2 nil]]}\n");
    EXPECT_EQ_UINT(w.lost, 1u << LOST_REGISTERS | 1u << LOST_UNKNOWN_READS);
    free(w.at);
    done(r);
}

/* A history of another origin. */
static result *built(void (*build)(history *))
{
    result *r = calloc(1, sizeof *r);
    guard_init(&r->g);
    mem_init(&r->m, NULL, NULL, &r->g);
    strbuf_init(&r->text, &r->m);
    if (guard_armed(&r->g)) {
        r->failed = true;
        return r;
    }
    r->h = history_new(NULL, NULL, &r->g, 0);
    build(r->h);
    history_freeze(r->h);
    return r;
}

static void one_txn(history *h, int session, int begin, int end, enum txn_status status, int value)
{
    history_begin(h);
    history_session(h, label_int(h, session));
    history_time(h, TXN_HAS_BEGIN, begin);
    if (end) history_time(h, TXN_HAS_END, end);
    history_op(h, OP_WRITE, key_int(h, 1), value_int(h, value));
    history_end(h, status);
}

static void build_timed(history *h)
{
    one_txn(h, 1, 10, 20, TXN_COMMITTED, 1);
    one_txn(h, 2, 20, 30, TXN_UNKNOWN, 2);
    one_txn(h, 2, 25, 40, TXN_COMMITTED, 3);
    one_txn(h, 3, 15, 0, TXN_UNKNOWN, 4);
}

static void build_overlapping(history *h)
{
    one_txn(h, 1, 10, 20, TXN_COMMITTED, 1);
    one_txn(h, 1, 15, 25, TXN_COMMITTED, 2);
}

static void build_init(history *h)
{
    history_init_scalar(h, value_int(h, 0));
    history_begin(h);
    history_op(h, OP_READ, key_int(h, 1), value_int(h, 0));
    history_op(h, OP_READ, key_int(h, 2), value_int(h, 0));
    history_op(h, OP_WRITE, key_int(h, 2), value_int(h, 0));
    history_op(h, OP_DELETE, key_int(h, 3), VALUE_NULL);
    history_end(h, TXN_COMMITTED);
    history_mark(h, "{\"mark\":\"fault\",\"at\":150}", 25);
}

TEST(times_order_the_events)
{
    result *r = built(build_timed);
    REQUIRE(!r->failed);
    written w = write_again(r, edn_rw_write);
    /* what ended when another began was not before it; an unknown outcome is told when it must */
    EXPECT_STR(w.at, "{:index 0, :type :invoke, :process 1, :f :txn, :value [[:w 1 1]]}\n"
                     "{:index 1, :type :invoke, :process 3, :f :txn, :value [[:w 1 4]]}\n"
                     "{:index 2, :type :invoke, :process 2, :f :txn, :value [[:w 1 2]]}\n"
                     "{:index 3, :type :ok, :process 1, :f :txn, :value [[:w 1 1]]}\n"
                     "{:index 4, :type :info, :process 2, :f :txn, :value [[:w 1 2]]}\n"
                     "{:index 5, :type :invoke, :process 2, :f :txn, :value [[:w 1 3]]}\n"
                     "{:index 6, :type :ok, :process 2, :f :txn, :value [[:w 1 3]]}\n"
                     "{:index 7, :type :info, :process 3, :f :txn, :value [[:w 1 4]]}\n");
    EXPECT_EQ_UINT(w.lost, 1u << LOST_LABELS);
    free(w.at);
    done(r);
}

static void build_marked(history *h)
{
    one_txn(h, 1, 10, 20, TXN_COMMITTED, 1);
    history_mark(h, "{\"mark\":\"fault\"}", 16);
    one_txn(h, 2, 30, 40, TXN_COMMITTED, 2);
}

/* A mark without a time of its own stays between the transactions that it stood between. */
TEST(marks_keep_their_place)
{
    result *r = built(build_marked);
    REQUIRE(!r->failed);
    written w = write_again(r, edn_rw_write);
    const char *between = strstr(w.at, "fault"), *first = strstr(w.at, ":ok, :process 1"),
               *second = strstr(w.at, ":ok, :process 2");
    EXPECT(between && first && second && first < between && between < second);
    free(w.at);
    done(r);
}

TEST(impossible_times_are_left_out)
{
    result *r = built(build_overlapping);
    REQUIRE(!r->failed);
    written w = write_again(r, edn_rw_write);
    EXPECT_STR(w.at, "{:index 0, :type :ok, :process 1, :f :txn, :value [[:w 1 1]]}\n"
                     "{:index 1, :type :ok, :process 1, :f :txn, :value [[:w 1 2]]}\n");
    EXPECT_EQ_UINT(w.lost, 1u << LOST_TIMES);
    free(w.at);
    done(r);
}

TEST(initial_values_become_nil)
{
    result *r = built(build_init);
    REQUIRE(!r->failed);
    written w = write_again(r, edn_rw_write);
    EXPECT_STR(w.at,
               "{:index 0, :type :ok, :process 0, :f :txn, :value [[:r 1 nil] [:r 2 0] [:w 2 0]]}\n"
               "{:type :info, :process :nemesis, :f :mark, :value {:mark \"fault\", :at 150}}\n");
    EXPECT_EQ_UINT(w.lost, 1u << LOST_INIT | 1u << LOST_DELETES);
    EXPECT_EXTRAS(w.at, "mark 1 {\"mark\":\"fault\",\"at\":150}\n");
    free(w.at);
    done(r);
}

/* --- recorded histories -------------------------------------------------------------------- */

static char *load(const char *dir, const char *name, size_t *n)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/data/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = malloc((size_t)8 << 20);
    *n = text ? fread(text, 1, (size_t)8 << 20, f) : 0;
    fclose(f);
    return text;
}

/* Committed transactions, their operations, sessions that have one, as the manifest counts. */
static void count(const history *h, size_t got[3])
{
    char *seen = calloc(h->sessions.n + 1, 1);
    memset(got, 0, 3 * sizeof *got);
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) != TXN_COMMITTED) continue;
        got[0]++;
        got[1] += h->txn_op[t + 1] - h->txn_op[t];
        got[2] += !seen[h->txn_session[t]];
        seen[h->txn_session[t]] = 1;
    }
    free(seen);
}

static void check_row(const char *dir, char *row)
{
    char *field[8];
    for (size_t i = 0; i < 8; i++) {
        field[i] = row;
        row = strchr(row, '\t');
        if (!row) return;
        *row++ = 0;
    }
    bool la = !strcmp(field[1], "edn-la");
    if (!la && strcmp(field[1], "edn-rw")) return;
    size_t n, got[3];
    char *text = load(dir, field[0], &n);
    if (!text) {
        test_fail(__FILE__, __LINE__, "%s is missing", field[0]);
        return;
    }
    result *r = read_bytes(text, n, 0);
    if (r->failed) {
        test_fail(__FILE__, __LINE__, "%s:%d: %s", field[0], (int)r->g.line, r->g.text);
    } else {
        count(r->h, got);
        for (size_t i = 0; i < 3; i++)
            if (got[i] != strtoul(field[4 + i], NULL, 10))
                test_fail(__FILE__, __LINE__, "%s: %zu, not %s", field[0], got[i], field[4 + i]);
    }
    bool nameless = !r->failed && r->h->extras.n && r->h->extras.at[0].txn == NO_ID;
    done(r);
    if (!nameless) round_trip(__LINE__, text, n, la ? edn_la_write : edn_rw_write);
    free(text);
}

TEST(manifest)
{
    const char *dir = getenv("RATEL_SHARED");
    size_t n;
    if (!dir) dir = "../shared";
    char *text = load(dir, "manifest.tsv", &n);
    if (!text) SKIP("no manifest.tsv: set RATEL_SHARED to the shared directory");
    text[n] = 0;
    for (char *row = strtok(text, "\n"); row; row = strtok(NULL, "\n")) check_row(dir, row);
    free(text);
}

TEST_MAIN
