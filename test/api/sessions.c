/*
 * sessions.c - the public calls of synth (ratel.h) and of audit (ratel-audit.h): what they refuse,
 * what they answer, and that every allocation may fail.
 */
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel-audit.h"
#include "test.h"

#define OK(call) EXPECT_EQ_INT(call, RATEL_OK)
#define WRONG(call) EXPECT_EQ_INT(call, RATEL_EINVAL)

/* --- synth --- */

TEST(a_session_has_its_own_levels)
{
    ratel *r = NULL;
    ratel_synth *s = NULL;
    int a = -1, b = -1;
    uint64_t line = 0, column = 0;
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    WRONG(ratel_synth_open(NULL, r));
    WRONG(ratel_synth_open(&s, NULL));
    OK(ratel_synth_open(&s, r));
    WRONG(ratel_synth_named(s, NULL, &a));
    WRONG(ratel_synth_named(s, "no-such-level", &a));
    EXPECT(strstr(ratel_errmsg(r), "no-such-level") != NULL);
    EXPECT_EQ_INT(a, -1);
    EXPECT(ratel_synth_level_name(s, 0) == NULL);
    OK(ratel_synth_named(s, "ser", &a));
    EXPECT_STR(ratel_synth_level_name(s, a), "serializable");
    EXPECT_EQ_INT(ratel_synth_defined(s, "level x over co { nonsense }", 28, NULL, &b),
                  RATEL_EPARSE);
    OK(ratel_errpos(r, &line, &column));
    EXPECT(line == 1 && column > 18);
    EXPECT_EQ_INT(ratel_synth_condition(s, "some t | nothing(t", &b), RATEL_EPARSE);
    EXPECT_EQ_INT(b, -1);
    WRONG(ratel_synth_proves(s, a, 99));
    WRONG(ratel_synth_proves(s, -1, a));
    EXPECT_EQ_INT(ratel_synth_proves(s, a, a), 1);
    ratel_synth_close(s);
    ratel_synth_close(NULL);
    ratel_close(r);
}

TEST(searching_finds_proves_and_refuses)
{
    ratel *r = NULL;
    ratel_synth *s = NULL;
    ratel_history *h = NULL;
    ratel_synth_answer out;
    ratel_stat n;
    int ser = 0, si = 0, level[1] = {99};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    OK(ratel_synth_open(&s, r));
    OK(ratel_synth_named(s, "ser", &ser));
    OK(ratel_synth_named(s, "si", &si));
    ratel_synth_question q = {.allow = &si, .n_allow = 1, .forbid = &ser, .n_forbid = 1};
    OK(ratel_synth_search(&h, s, &q, &out));
    EXPECT_EQ_INT(out.result, RATEL_SYNTH_HISTORY);
    EXPECT_EQ_INT(out.txns, 2);
    OK(ratel_history_stat(&n, r, h));
    EXPECT_EQ_INT(n.txns, 2);
    ratel_history_free(h);
    q = (ratel_synth_question){.allow = &ser, .n_allow = 1, .forbid = &si, .n_forbid = 1};
    OK(ratel_synth_search(&h, s, &q, &out));
    EXPECT(h == NULL);
    EXPECT_EQ_INT(out.result, RATEL_SYNTH_PROVED);
    EXPECT(out.why[0] != '\0');
    q = (ratel_synth_question){.allow = level, .n_allow = 1};
    WRONG(ratel_synth_search(&h, s, &q, &out));
    q = (ratel_synth_question){.n_allow = 1};
    WRONG(ratel_synth_search(&h, s, &q, &out));
    q = (ratel_synth_question){0};
    WRONG(ratel_synth_search(&h, s, &q, &out));
    q = (ratel_synth_question){.allow = &si, .n_allow = 1, .txns = 1000};
    WRONG(ratel_synth_search(&h, s, &q, &out));
    ratel_interrupt(r);
    q = (ratel_synth_question){
        .allow = &si, .n_allow = 1, .forbid = &ser, .n_forbid = 1, .txns = 8, .keys = 8};
    int code = ratel_synth_search(&h, s, &q, &out); /* short, so it may end before it looks */
    EXPECT(code == RATEL_OK && (h != NULL) == (out.result == RATEL_SYNTH_HISTORY));
    ratel_history_free(h);
    ratel_synth_close(s);
    ratel_close(r);
}

TEST(definitions_come_along)
{
    const char *name, *text, *builtin;
    size_t n = 0;
    for (; !ratel_definition_at(&name, &text, &builtin, n); n++) {
        EXPECT(strstr(text, "level") != NULL);
        EXPECT(!*builtin || !ratel_level_named(builtin, NULL));
    }
    EXPECT(n > 20);
    OK(ratel_definition_at(NULL, NULL, NULL, 0));
}

/* --- audit --- */

static const char good[] =
    "{\"ratel_sql\":1,\"setup\":[\"CREATE TABLE a (id int PRIMARY KEY, n int)\","
    "\"INSERT INTO a VALUES (1, 10), (2, 20)\"]}\n"
    "{\"session\":1,\"id\":\"t1\",\"statements\":[{\"sql\":\"UPDATE a SET n = n + 1 WHERE id = "
    "1\",\"count\":1}]}\n"
    "{\"session\":2,\"id\":\"t2\",\"statements\":[{\"sql\":\"SELECT n FROM a WHERE id = 1\","
    "\"rows\":[[11]]}]}\n";
static const char bad[] =
    "{\"ratel_sql\":1,\"setup\":[\"CREATE TABLE a (id int PRIMARY KEY, n int)\","
    "\"INSERT INTO a VALUES (1, 10), (2, 20)\"]}\n"
    "{\"session\":1,\"id\":\"t0\",\"statements\":[{\"sql\":\"UPDATE a SET n = n + 1 WHERE id = "
    "2\",\"count\":1}]}\n"
    "{\"session\":1,\"id\":\"t1\",\"statements\":[{\"sql\":\"UPDATE a SET n = n + 1 WHERE id = "
    "1\",\"count\":1}]}\n"
    "{\"session\":2,\"id\":\"t2\",\"statements\":[{\"sql\":\"SELECT n FROM a WHERE id = 1\","
    "\"rows\":[[77]]}]}\n";

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

static int run_text(ratel_audit *a, const ratel_audit_options *o, const char *log,
                    ratel_audit_answer *out)
{
    input in = {log, strlen(log)};
    return ratel_audit_run(a, o, give, &in, out);
}

TEST(an_audit_without_sql_says_so)
{
    ratel_audit *a = NULL;
    ratel_audit_answer r;
    if (ratel_audit_available()) return;
    REQUIRE(ratel_audit_open(&a, NULL) == RATEL_OK);
    EXPECT_EQ_INT(run_text(a, NULL, good, &r), RATEL_EUNSUPPORTED);
    EXPECT(strstr(ratel_audit_errmsg(a), "libpg_query") != NULL);
    ratel_audit_close(a);
}

TEST(an_audit_answers)
{
    ratel_audit *a = NULL;
    ratel_audit_answer r;
    ratel_audit_options o = {.level = "no-such-level"};
    const char *txn, *after, *result;
    static text t;
    if (!ratel_audit_available()) return;
    WRONG(ratel_audit_open(NULL, NULL));
    REQUIRE(ratel_audit_open(&a, NULL) == RATEL_OK);
    WRONG(ratel_audit_again(a, NULL, &r));
    WRONG(ratel_audit_write(a, "text", NULL, keep_text, &t));
    WRONG(run_text(a, &o, good, &r));
    OK(run_text(a, NULL, good, &r));
    EXPECT_EQ_INT(r.verdict, RATEL_HOLDS);
    EXPECT_EQ_INT(r.txns, 2);
    OK(ratel_audit_order_at(a, 0, &txn));
    EXPECT_STR(txn, "t1");
    WRONG(ratel_audit_order_at(a, 2, &txn));
    OK(ratel_audit_write(a, "witness", "log", keep_text, &t));
    EXPECT(strstr(t.at, "t2") != NULL);
    o.level = "snapshot-isolation";
    OK(ratel_audit_again(a, &o, &r));
    EXPECT_EQ_INT(r.verdict, RATEL_HOLDS);
    EXPECT_STR(r.level, "snapshot-isolation");
    OK(run_text(a, NULL, bad, &r));
    EXPECT_EQ_INT(r.verdict, RATEL_VIOLATED);
    EXPECT_STR(r.txn, "t2");
    OK(ratel_audit_possible_at(a, 0, &after, &result));
    WRONG(ratel_audit_write(a, "witness", "log", keep_text, &t));
    WRONG(ratel_audit_write(a, "yaml", "log", keep_text, &t));
    t.n = 0;
    OK(ratel_audit_write(a, "json", "log", keep_text, &t));
    EXPECT(strstr(t.at, "\"verdict\":\"violated\"") != NULL);
    ratel_audit_shrunk part;
    t.n = 0;
    OK(ratel_audit_shrink(a, NULL, &part, keep_text, &t));
    EXPECT_EQ_INT(part.minimal, 1);
    EXPECT(part.txns < 3 && strstr(t.at, "\"t2\"") != NULL && !strstr(t.at, "\"t0\""));
    EXPECT_EQ_INT(run_text(a, NULL, "{\"ratel_sql\":1}\n{\"session\":", &r), RATEL_EPARSE);
    uint64_t line = 0;
    OK(ratel_audit_errpos(a, &line, NULL));
    EXPECT_EQ_INT(line, 2);
    WRONG(ratel_audit_order_at(a, 0, &txn));
    WRONG(ratel_audit_shrink(a, NULL, &part, keep_text, &t));
    ratel_audit_close(a);
}

TEST(an_audit_lints)
{
    ratel_audit *a = NULL;
    ratel_finding f;
    ratel_audit_answer r;
    input in = {good, strlen(good)};
    if (!ratel_audit_available()) return;
    REQUIRE(ratel_audit_open(&a, NULL) == RATEL_OK);
    OK(ratel_audit_lint(a, NULL, give, &in));
    for (size_t i = 0; !ratel_audit_finding_at(a, i, &f); i++) EXPECT(f.id && f.text && f.advice);
    WRONG(ratel_audit_again(a, NULL, &r)); /* what lint reads may be no log that can be decided */
    ratel_audit_close(a);
}

typedef struct ration {
    long count, refuse;
    size_t live;
} ration;

static void *ration_alloc(void *ud, void *p, size_t osize, size_t nsize)
{
    ration *m = ud;
    if (nsize == 0) {
        if (p) m->live -= osize;
        free(p);
        return NULL;
    }
    if (++m->count == m->refuse) return NULL;
    void *q = realloc(p, nsize);
    if (q) m->live += nsize - (p ? osize : 0);
    return q;
}

static int whole_audit(ration *m)
{
    ratel_alloc alloc = {ration_alloc, m};
    ratel_audit *a = NULL;
    ratel_audit_answer r;
    ratel_audit_shrunk part;
    static text t;
    t.n = 0;
    int code = ratel_audit_open(&a, &alloc);
    if (!code) code = run_text(a, NULL, good, &r);
    if (!code) code = ratel_audit_again(a, NULL, &r);
    if (!code) code = run_text(a, NULL, bad, &r);
    if (!code) code = ratel_audit_write(a, "text", "log", keep_text, &t);
    if (!code) code = ratel_audit_shrink(a, NULL, &part, keep_text, &t);
    input in = {good, strlen(good)};
    if (!code) code = ratel_audit_lint(a, NULL, give, &in);
    if (code && a && !ratel_audit_errmsg(a)[0]) FAIL("an error without text");
    ratel_audit_close(a);
    return code;
}

TEST(every_allocation_of_an_audit_may_fail)
{
    if (!ratel_audit_available()) return;
    for (long n = 1; n < 100000; n++) {
        ration m = {.refuse = n};
        int code = whole_audit(&m);
        EXPECT_EQ_INT(m.live, 0);
        int refused = m.count >= n;
        if (code != (refused ? RATEL_ENOMEM : RATEL_OK))
            test_fail(__FILE__, __LINE__, "request %ld of %ld: code %d", n, m.count, code);
        if (!refused || test_all.failures > 10) break;
    }
}

TEST_MAIN
