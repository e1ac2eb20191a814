/*
 * lint.c - findings, repairs and shapes through the public header: what is found stays readable
 * when history and context are gone, wrong calls are refused, and nothing is quadratic in a
 * history that is bad all over. What is found in which history is test/lint/run's matter.
 */
#include <stdio.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"
#include "test.h"

static ratel_value num(int64_t i)
{
    return (ratel_value){.type = RATEL_INT, .as.i = i};
}

static ratel_value str(const char *s)
{
    return (ratel_value){.type = RATEL_STR, .as.str = {s, strlen(s)}};
}

static const ratel_finding *finding_named(const ratel_lint *l, const char *id)
{
    static ratel_finding f;
    for (size_t i = 0; !ratel_lint_at(l, i, &f); i++)
        if (!strcmp(f.id, id)) return &f;
    return NULL;
}

/* Two sessions whose transactions write the same values, and an unknown one. */
static ratel_history *small(ratel *r)
{
    ratel_history *h = NULL;
    if (ratel_history_new(&h, r)) return NULL;
    for (int i = 0; i < 4; i++) {
        ratel_history_begin(h, num(i % 2));
        ratel_history_instants(h, i, i + 3);
        ratel_history_put(h, str("x"), num(i / 2), 0);
        ratel_history_get(h, str("x"), num(i / 2), 0);
        ratel_history_end(h, i == 3 ? RATEL_STATUS_UNKNOWN : RATEL_COMMITTED);
    }
    ratel_history_freeze(h);
    return h;
}

TEST(findings_outlive_history_and_context)
{
    ratel *r;
    REQUIRE(!ratel_open(&r, NULL));
    ratel_history *h = small(r);
    ratel_lint *l = NULL;
    REQUIRE(!ratel_lint_run(&l, r, h));
    ratel_history_free(h);
    ratel_close(r);
    const ratel_finding *f = finding_named(l, "duplicate-values");
    REQUIRE(f != NULL);
    EXPECT_EQ_INT(f->severity, RATEL_WARNING);
    EXPECT_EQ_UINT(f->count, 1);
    EXPECT_STR(f->unit, "writes");
    EXPECT_STR(f->example, "T0 and T1 wrote x = 0");
    EXPECT_STR(f->txn[0], "0");
    EXPECT_STR(f->txn[1], "1");
    EXPECT_STR(f->key, "x");
    EXPECT(f->fix == NULL && f->advice[0] && f->text[0]);
    EXPECT(finding_named(l, "session-overlap") != NULL);
    EXPECT(finding_named(l, "no-reads") == NULL);
    ratel_lint_free(l);
    ratel_lint_free(NULL);
}

TEST(rules_are_a_table)
{
    ratel_lint_rule a, b;
    size_t n = 0;
    for (; !ratel_lint_rule_at(&a, n); n++) {
        EXPECT(a.id[0] && a.text[0] && a.advice[0]);
        EXPECT(a.severity >= RATEL_NOTE && a.severity <= RATEL_MEANINGLESS);
        for (size_t i = 0; i < n; i++) {
            ratel_lint_rule_at(&b, i);
            EXPECT(strcmp(a.id, b.id) != 0);
        }
    }
    EXPECT(n > 20);
    EXPECT_EQ_INT(ratel_lint_rule_at(NULL, 0), RATEL_EINVAL);
}

TEST(wrong_calls)
{
    ratel *r;
    ratel_history *h, *fixed = NULL;
    ratel_lint *l = NULL, *done = NULL;
    ratel_finding f;
    ratel_stat s;
    ratel_shape p;
    REQUIRE(!ratel_open(&r, NULL));
    REQUIRE(!ratel_history_new(&h, r));
    EXPECT_EQ_INT(ratel_lint_run(&l, r, h), RATEL_EINVAL); /* not frozen */
    EXPECT(ratel_errmsg(r)[0] && !l);
    EXPECT_EQ_INT(ratel_history_fix(&fixed, &done, r, h, NULL, NULL), RATEL_EINVAL);
    memset(&s, 0, sizeof s);
    EXPECT_EQ_INT(ratel_history_shape(&p, r, h, &s), RATEL_EINVAL);
    ratel_history_free(h);
    h = small(r);
    EXPECT_EQ_INT(ratel_lint_run(NULL, r, h), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_lint_run(&l, NULL, h), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_lint_run(&l, r, NULL), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_history_shape(&p, r, h, NULL), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_history_fix(&fixed, NULL, r, h, NULL, NULL), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_history_fix(&fixed, &done, r, h, "nosuch", NULL), RATEL_EINVAL);
    EXPECT(strstr(ratel_errmsg(r), "nosuch") != NULL);
    EXPECT_EQ_INT(ratel_history_fix(&fixed, &done, r, h, NULL, "nosuch"), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_history_fix(&fixed, &done, r, h, NULL, "0"), RATEL_EINVAL); /* it reads */
    EXPECT(!fixed && !done);
    REQUIRE(!ratel_lint_run(&l, r, h));
    EXPECT_EQ_INT(ratel_lint_at(l, 1000, &f), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_lint_at(l, 0, NULL), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_lint_at(NULL, 0, &f), RATEL_EINVAL);
    ratel_lint_free(l);
    ratel_interrupt(r);
    ratel_history_free(h);
    ratel_close(r);
}

TEST(shape_of_a_small_history)
{
    ratel *r;
    ratel_stat s;
    ratel_shape p;
    REQUIRE(!ratel_open(&r, NULL));
    ratel_history *h = small(r);
    REQUIRE(!ratel_history_stat(&s, r, h) && !ratel_history_shape(&p, r, h, &s));
    EXPECT_EQ_UINT(p.timed, 4);
    EXPECT_EQ_INT(p.first, 0);
    EXPECT_EQ_INT(p.last, 6);
    EXPECT(p.open[0] > 0.99 && p.open[0] < 1.01);
    EXPECT(p.open[RATEL_SHAPE_BINS / 2 - 1] > 2.99 && p.open[RATEL_SHAPE_BINS / 2 - 1] < 3.01);
    EXPECT_EQ_UINT(p.sizes[2], 3);
    EXPECT_EQ_UINT(p.hot, 1);
    EXPECT_EQ_UINT(p.hot_keys[0].reads, 3);
    EXPECT_EQ_UINT(p.hot_keys[0].writes, 3);
    EXPECT_EQ_UINT(p.touches, 6);
    EXPECT_EQ_UINT(p.top1, 6);
    EXPECT_EQ_UINT(p.session_max, 2);
    EXPECT_EQ_UINT(p.session_min, 1);
    EXPECT_STR(p.session_small, "1");
    EXPECT(p.ambiguity_counted);
    EXPECT_EQ_UINT(p.ambiguous_reads, 4); /* 0 and 1 were both written twice */
    EXPECT_EQ_UINT(p.most_sources, 2);
    ratel_history_free(h);
    ratel_close(r);
}

/* Times whose distance is nothing as doubles, or more than a signed number holds. */
TEST(times_far_away_and_far_apart)
{
    static const int64_t spans[][2] = {{INT64_MAX - 1, INT64_MAX}, {INT64_MIN, INT64_MAX}, {5, 5}};
    for (int i = 0; i < 3; i++) {
        ratel *r;
        ratel_history *h;
        ratel_stat s;
        ratel_shape p;
        REQUIRE(!ratel_open(&r, NULL) && !ratel_history_new(&h, r));
        for (int t = 0; t < 2; t++) {
            ratel_history_begin(h, num(t));
            ratel_history_instants(h, spans[i][0], spans[i][1]);
            ratel_history_end(h, RATEL_COMMITTED);
        }
        REQUIRE(!ratel_history_freeze(h));
        REQUIRE(!ratel_history_stat(&s, r, h) && !ratel_history_shape(&p, r, h, &s));
        for (int k = 0; k < RATEL_SHAPE_BINS; k++)
            EXPECT(i == 2 ? p.open[k] == 0 : p.open[k] > 1.99 && p.open[k] < 2.01);
        ratel_history_free(h);
        ratel_close(r);
    }
}

/* One session that overlaps itself all over, one key, one value, failed statements and unknown
   outcomes: every loop that is not linear would show here as minutes. */
TEST(large_and_bad_all_over)
{
    enum { N = 200000 };
    ratel *r;
    ratel_history *h, *fixed;
    ratel_lint *l, *done;
    ratel_stat s;
    ratel_shape p;
    REQUIRE(!ratel_open(&r, NULL));
    REQUIRE(!ratel_history_new(&h, r));
    for (int i = 0; i < N; i++) {
        ratel_history_begin(h, num(0));
        ratel_history_instants(h, i, (int64_t)2 * N - i % 7);
        ratel_history_put(h, str("x"), num(i % 2), 0);
        ratel_history_get(h, str("x"), num(i % 3), 0);
        ratel_history_put(h, str("x"), num(i), RATEL_OP_FAILED);
        ratel_history_end(h, i % 4 ? RATEL_COMMITTED : RATEL_STATUS_UNKNOWN);
    }
    REQUIRE(!ratel_history_freeze(h));
    REQUIRE(!ratel_lint_run(&l, r, h));
    const ratel_finding *f = finding_named(l, "session-overlap");
    REQUIRE(f != NULL);
    EXPECT_EQ_UINT(f->count, N - 2); /* the end of the first is unknown */
    f = finding_named(l, "duplicate-values");
    REQUIRE(f != NULL);
    EXPECT_EQ_UINT(f->count, N - N / 4 - 2);
    f = finding_named(l, "failed-statements");
    EXPECT(f && f->count == N - N / 4);
    ratel_lint_free(l);
    REQUIRE(!ratel_history_fix(&fixed, &done, r, h, NULL, NULL));
    REQUIRE(!ratel_lint_run(&l, r, fixed));
    EXPECT(finding_named(l, "session-overlap") == NULL);
    EXPECT(!finding_named(l, "failed-statements") || /* 0, 1 and 2 were read */
           finding_named(l, "failed-statements")->count <= 3);
    REQUIRE(!ratel_history_stat(&s, r, h) && !ratel_history_shape(&p, r, h, &s));
    EXPECT(p.most_sources >= N / 2 - 1);
    ratel_lint_free(l);
    ratel_lint_free(done);
    ratel_history_free(fixed);
    ratel_history_free(h);
    ratel_close(r);
}

TEST_MAIN
