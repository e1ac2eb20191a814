/*
 * The test frame: a test program is one .c file of TEST(name) { ... } bodies and TEST_MAIN.
 *
 * Output is TAP-like, one "ok"/"not ok" line a test, and ends with the closing line that
 * test/run adds up: "N passed, N failed, N skipped". Arguments select tests by substring.
 *
 * EXPECT* note a failure and go on; REQUIRE leaves the test, for what later lines stand on.
 * SKIP("reason") leaves it too and is counted and printed: never skip in silence.
 * Registration is by constructor, so a test cannot be written and then forgotten in a table.
 */
#ifndef RATEL_TEST_H
#define RATEL_TEST_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
} test_case;

typedef struct test_state {
    test_case *first, *last;
    const char *skip; /* the running test's reason to be skipped, or NULL */
    int failures;     /* failed expectations of the running test */
} test_state;

extern test_state test_all;

static inline void test_register(test_case *t)
{
    if (test_all.last != NULL)
        test_all.last->next = t;
    else
        test_all.first = t;
    test_all.last = t;
}

__attribute__((format(printf, 3, 4))) static inline void test_fail(const char *file, int line,
                                                                   const char *format, ...)
{
    va_list ap;
    test_all.failures++;
    printf("# %s:%d: ", file, line);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
}

static inline int test_same_str(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

#define TEST(name_)                                                                                \
    static void test_run_##name_(void);                                                            \
    static test_case test_case_##name_ = {#name_, test_run_##name_, NULL};                         \
    __attribute__((constructor)) static void test_add_##name_(void)                                \
    {                                                                                              \
        test_register(&test_case_##name_);                                                         \
    }                                                                                              \
    static void test_run_##name_(void)

#define EXPECT(cond)                                                                               \
    do {                                                                                           \
        if (!(cond)) test_fail(__FILE__, __LINE__, "not true: %s", #cond);                         \
    } while (0)

#define FAIL(text) test_fail(__FILE__, __LINE__, "%s", (text))

#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            test_fail(__FILE__, __LINE__, "required: %s", #cond);                                  \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define EXPECT_EQ_INT(got, want)                                                                   \
    do {                                                                                           \
        intmax_t got_ = (intmax_t)(got), want_ = (intmax_t)(want);                                 \
        if (got_ != want_)                                                                         \
            test_fail(__FILE__, __LINE__, "%s is %" PRIdMAX ", not %" PRIdMAX, #got, got_, want_); \
    } while (0)

#define EXPECT_EQ_UINT(got, want)                                                                  \
    do {                                                                                           \
        uintmax_t got_ = (uintmax_t)(got), want_ = (uintmax_t)(want);                              \
        if (got_ != want_)                                                                         \
            test_fail(__FILE__, __LINE__, "%s is %" PRIuMAX ", not %" PRIuMAX, #got, got_, want_); \
    } while (0)

#define EXPECT_STR(got, want)                                                                      \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (!test_same_str(got_, want_))                                                           \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #got,                        \
                      got_ ? got_ : "(null)", want_ ? want_ : "(null)");                           \
    } while (0)

#define EXPECT_MEM(got, want, len)                                                                 \
    do {                                                                                           \
        if (memcmp((got), (want), (len)) != 0)                                                     \
            test_fail(__FILE__, __LINE__, "bytes differ: %s, %s", #got, #want);                    \
    } while (0)

#define SKIP(reason)                                                                               \
    do {                                                                                           \
        test_all.skip = (reason);                                                                  \
        return;                                                                                    \
    } while (0)

static inline int test_selected(const test_case *t, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strstr(t->name, argv[i]) != NULL) return 1;
    return argc < 2;
}

static inline int test_main(int argc, char **argv)
{
    int n = 0, passed = 0, failed = 0, skipped = 0;

    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not swallow the lines before it */
    for (test_case *t = test_all.first; t != NULL; t = t->next) {
        if (!test_selected(t, argc, argv)) continue;
        test_all.failures = 0;
        test_all.skip = NULL;
        t->run();
        n++;
        if (test_all.failures > 0) {
            failed++;
            printf("not ok %d - %s\n", n, t->name);
        } else if (test_all.skip != NULL) {
            skipped++;
            printf("ok %d - %s # SKIP %s\n", n, t->name, test_all.skip);
        } else {
            passed++;
            printf("ok %d - %s\n", n, t->name);
        }
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed > 0 || n == 0;
}

/* Once in each test program, at file level. */
#define TEST_MAIN                                                                                  \
    test_state test_all;                                                                           \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return test_main(argc, argv);                                                              \
    }

#endif
