/*
 * Tests of src/lib/base: regions, guards, arrays, text, random numbers.
 */
#include "test.h"
#include "counter.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/json_writer.h"
#include "base/rng.h"
#include "base/strbuf.h"

TEST(region_owns_all)
{
    counter c = {0, 100};
    guard g;
    mem m;
    guard_init(&g);
    mem_init(&m, count_fn, &c, &g);
    char *a = mem_get(&m, 100);
    int *b = mem_array0(&m, int, 50);
    EXPECT_EQ_UINT(m.used, 100 + 50 * sizeof *b);
    EXPECT_EQ_INT(b[0], 0);
    EXPECT_EQ_INT(b[49], 0);
    memset(a, 7, 100);
    a = mem_resize(&m, a, 100000);
    EXPECT_EQ_INT(a[99], 7);
    EXPECT(mem_check(&m));
    mem_put(&m, b);
    mem_put(&m, NULL);
    EXPECT_EQ_UINT(m.used, 100000);
    EXPECT(mem_check(&m));
    mem_free_all(&m);
    EXPECT_EQ_UINT(c.live, 0);
    EXPECT_EQ_UINT(m.used, 0);
}

TEST(region_gives_blocks_away)
{
    counter c = {0, 100};
    guard g;
    mem m, n;
    guard_init(&g);
    mem_init(&m, count_fn, &c, &g);
    mem_init(&n, count_fn, &c, &g);
    char *a = mem_get(&m, 10);
    char *b = mem_get(&m, 20);
    mem_give(&m, &n, a);
    mem_give(&m, &m, b);
    EXPECT_EQ_UINT(m.used, 20);
    EXPECT_EQ_UINT(n.used, 10);
    EXPECT(mem_check(&m) && mem_check(&n));
    mem_free_all(&m);
    a[9] = 1; /* still ours: ASan would tell */
    mem_free_all(&n);
    EXPECT_EQ_UINT(c.live, 0);
}

/* Everything in here may fail; the caller's guard says whether it did. */
static void some_work(mem *m)
{
    VEC(int) v = {0};
    strbuf b;
    strbuf_init(&b, m);
    for (int i = 0; i < 1000; i++) {
        vec_push(m, &v, i);
        strbuf_i64(&b, i);
    }
    vec_trim(m, &v);
    vec_free(m, &v);
    strbuf_free(&b);
}

/* The border, in a frame of its own so that no variable of the loop lives across the jump. */
static int survives(mem *m, guard *g)
{
    if (guard_armed(g)) return 0;
    some_work(m);
    return 1;
}

TEST(every_failed_allocation_is_an_error_and_no_leak)
{
    int done = 0;
    for (long n = 0; n < 200 && !done; n++) {
        counter c = {0, n};
        guard g;
        mem m;
        guard_init(&g);
        mem_init(&m, count_fn, &c, &g);
        done = survives(&m, &g);
        EXPECT_EQ_INT(g.code, done ? GUARD_OK : GUARD_NOMEM);
        EXPECT_EQ_INT(g.text[0] == '\0', done);
        EXPECT(mem_check(&m));
        mem_free_all(&m);
        EXPECT_EQ_UINT(c.live, 0);
    }
    EXPECT(done);
}

TEST(limit_and_overflow_are_errors)
{
    guard g;
    mem m;
    guard_init(&g);
    mem_init(&m, NULL, NULL, &g);
    m.limit = 1000;
    if (guard_armed(&g)) {
        EXPECT_EQ_INT(g.code, GUARD_NOMEM);
    } else {
        mem_get(&m, 900);
        mem_get(&m, 101);
        FAIL("the limit was passed");
    }
    mem_free_all(&m);
    m.limit = 0;
    if (guard_armed(&g)) {
        EXPECT_EQ_INT(g.code, GUARD_NOMEM);
    } else {
        mem_bytes(&m, SIZE_MAX / 4, 8);
        FAIL("the product overflowed");
    }
    mem_free_all(&m);
}

TEST(interrupt_and_deadline_stop)
{
    volatile int flag = 1;
    guard g;
    guard_init(&g);
    g.interrupt = &flag;
    if (guard_armed(&g)) {
        EXPECT_EQ_INT(g.code, GUARD_INTERRUPT);
    } else {
        for (int i = 0; i < 5000; i++) guard_tick(&g);
        FAIL("not interrupted");
    }
    guard_init(&g);
    g.deadline = 1;
    if (guard_armed(&g)) {
        EXPECT_EQ_INT(g.code, GUARD_TIME);
    } else {
        guard_poll(&g);
        FAIL("no deadline");
    }
}

/* Runs one text operation and compares; the region's failures would be bugs here. */
#define EXPECT_TEXT(call, want)                                                                    \
    do {                                                                                           \
        guard g_;                                                                                  \
        mem m_;                                                                                    \
        strbuf b_;                                                                                 \
        guard_init(&g_);                                                                           \
        mem_init(&m_, NULL, NULL, &g_);                                                            \
        strbuf_init(&b_, &m_);                                                                     \
        call;                                                                                      \
        EXPECT_STR(strbuf_cstr(&b_), want);                                                        \
        mem_free_all(&m_);                                                                         \
    } while (0)

TEST(numbers_as_text)
{
    EXPECT_TEXT(strbuf_i64(&b_, INT64_MIN), "-9223372036854775808");
    EXPECT_TEXT(strbuf_i64(&b_, INT64_MAX), "9223372036854775807");
    EXPECT_TEXT(strbuf_i64(&b_, 0), "0");
    EXPECT_TEXT(strbuf_u64(&b_, UINT64_MAX), "18446744073709551615");
    EXPECT_TEXT(strbuf_printf(&b_, "%s-%d", "a", 7), "a-7");
    EXPECT_TEXT(strbuf_printf(&b_, "%s", ""), "");
}

TEST(json_text_is_always_valid)
{
    EXPECT_TEXT(strbuf_json(&b_, "a\"b\\c\n\x01", 7), "\"a\\\"b\\\\c\\n\\u0001\"");
    EXPECT_TEXT(strbuf_json(&b_, "\xc3\xa9\xf0\x9f\x98\x80", 6), "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    EXPECT_TEXT(strbuf_json(&b_, "x\xff", 2), "\"x\\ufffd\"");
    EXPECT_TEXT(strbuf_json(&b_, "\xc3", 1), "\"\\ufffd\"");
}

static void write_nested(json_writer w)
{
    jw_object(&w);
    jw_member_u64(&w, "n", UINT64_MAX);
    jw_member_array(&w, "list");
    jw_i64(&w, INT64_MIN);
    jw_null(&w);
    jw_array(&w);
    jw_end_array(&w);
    jw_object(&w);
    jw_end_object(&w);
    jw_raw(&w, "1,2", 3);
    jw_raw(&w, "", 0);
    jw_decimal(&w, 0.5, 3);
    jw_end_array(&w);
    jw_member_object(&w, "a\"b");
    jw_end_object(&w);
    jw_member_optional(&w, "left out", NULL);
    jw_member_bool(&w, "yes", true);
    jw_name_bytes(&w, "id?", 2);
    jw_format(&w, "t%u", 7u);
    jw_end_object(&w);
    jw_end_line(&w);
    jw_text(&w, "a new document");
}

/* Commas stand between values and nowhere else, however brackets nest. */
TEST(json_nesting)
{
    EXPECT_TEXT(write_nested(jw_strbuf(&b_)),
                "{\"n\":18446744073709551615,\"list\":[-9223372036854775808,null,[],{},1,2,0.500],"
                "\"a\\\"b\":{},\"yes\":true,\"id\":\"t7\"}\n\"a new document\"");
}

/* Runs without escapes are written in one piece; an escape may stand at either end. */
TEST(json_runs)
{
    EXPECT_TEXT(strbuf_json(&b_,
                            "\nab\xc2\x85"
                            "cd\x7f",
                            8),
                "\"\\nab\\u0085cd\\u007f\"");
    EXPECT_TEXT(strbuf_json(&b_, "\0", 1), "\"\\u0000\"");
    EXPECT_TEXT(strbuf_json(&b_, "", 0), "\"\"");
}

TEST(terminal_text_is_harmless)
{
    EXPECT_TEXT(strbuf_visible(&b_, "a\x1b[0m", 5), "a\\x1b[0m");
    EXPECT_TEXT(strbuf_visible(&b_, "\xff", 1), "\\xff");
}

TEST(utf8)
{
    EXPECT_EQ_UINT(utf8_length("a", 1), 1);
    EXPECT_EQ_UINT(utf8_length("\xc3\xa9", 2), 2);
    EXPECT_EQ_UINT(utf8_length("\xe2\x82\xac", 3), 3);
    EXPECT_EQ_UINT(utf8_length("\xf0\x9f\x98\x80", 4), 4);
    EXPECT_EQ_UINT(utf8_length("\xe2\x82", 2), 0);         /* cut short */
    EXPECT_EQ_UINT(utf8_length("\x80", 1), 0);             /* starts in the middle */
    EXPECT_EQ_UINT(utf8_length("\xc0\xaf", 2), 0);         /* too long a form of '/' */
    EXPECT_EQ_UINT(utf8_length("\xe0\x80\xaf", 3), 0);     /* the same in three bytes */
    EXPECT_EQ_UINT(utf8_length("\xed\xa0\x80", 3), 0);     /* a surrogate */
    EXPECT_EQ_UINT(utf8_length("\xf4\x90\x80\x80", 4), 0); /* beyond U+10FFFF */
    EXPECT_EQ_UINT(utf8_length("", 0), 0);
}

TEST(random_numbers_reproduce)
{
    rng a, b;
    int seen[8] = {0};
    rng_seed(&a, 42);
    rng_seed(&b, 42);
    for (int i = 0; i < 1000; i++) {
        EXPECT_EQ_UINT(rng_next(&a), rng_next(&b));
        seen[rng_below(&a, 8)] = 1;
        rng_below(&b, 8);
        double u = rng_unit(&a);
        EXPECT(u >= 0.0 && u < 1.0);
        rng_unit(&b);
    }
    for (int i = 0; i < 8; i++) EXPECT(seen[i]);
    rng_seed(&b, 43);
    EXPECT(rng_next(&a) != rng_next(&b));
}

TEST(hash_depends_on_every_byte_and_the_length)
{
    char text[24] = {0};
    uint64_t h = hash_bytes(text, sizeof text, 1);
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = 1;
        EXPECT(hash_bytes(text, sizeof text, 1) != h);
        EXPECT(hash_bytes(text, i, 1) != h);
        text[i] = 0;
    }
    EXPECT(hash_bytes(text, sizeof text, 2) != h);
}

TEST_MAIN
