/*
 * shrink.c - shrinks random tiny histories, for test/diff/shrunk to judge.
 *
 *     shrink [histories [seed]]    default 300, seed from RATEL_TEST_SEED or 1
 *
 * One JSON object a line.  For each history of each profile of random_history, some levels, with
 * session order and policy in turn: {"level","so","ryow","whole","part","anomaly","of"} with both
 * histories as text, if it is violated.  And {"base","moves":[...]}: everything that is tried when
 * nothing helps, which are the single things that can be left out (and heaps of them).  Two runs
 * with one seed must give the same part; a limit of no time must still give an answer.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "diff/diff_text.h"
#include "diff/oracle_levels.h"
#include "oracle/random_history.h"
#include "ratel.h"

static const char *const policies[] = {"must", "external", "may"};

static uint64_t failed;

static void put_text(const char *s)
{
    putchar('"');
    for (; *s; s++)
        if (*s == '\n')
            fputs("\\n", stdout);
        else
            printf(*s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    putchar('"');
}

static void fail(const char *what, const char *history)
{
    printf("{\"failed\":\"%s\",\"history\":", what);
    put_text(history);
    puts("}");
    failed++;
}

/* --- moves ------------------------------------------------------------------------------------ */

typedef struct logger {
    ratel *r;
    size_t seen;
    text now;
} logger;

/* The first one is a copy of the whole: yes; then no to all. */
static int no_to_all(const ratel_history *h, void *payload)
{
    logger *l = payload;
    l->now.n = 0;
    if (ratel_history_write(h, l->r, "ratel", add_text, &l->now)) abort();
    fputs(l->seen == 0 ? "" : l->seen == 1 ? ",\"moves\":[" : ",", stdout);
    put_text(l->now.at);
    return l->seen++ == 0;
}

static void log_moves(ratel *r, ratel *other, const ratel_history *h, const char *whole)
{
    logger l = {.r = other};
    ratel_history *part = NULL;
    printf("{\"whole\":");
    put_text(whole);
    printf(",\"base\":");
    int code = ratel_shrink_by(&part, r, h, no_to_all, &l, NULL);
    puts(l.seen > 1 ? "]}" : ",\"moves\":[]}");
    if (code) fail(ratel_errmsg(r), whole);
    ratel_history_free(part);
    free(l.now.at);
}

/* --- parts ------------------------------------------------------------------------------------ */

static void shrink(ratel *r, const ratel_history *h, const char *whole, int level, int so,
                   int policy)
{
    ratel_result *a = NULL;
    ratel_history *part = NULL, *once_more = NULL;
    ratel_shrunk s, again;
    text one = {0}, two = {0};
    ratel_set(r, "session_order", so);
    ratel_set(r, "ryow", policy);
    if (ratel_check(&a, r, h, levels[level])) return; /* hints that no execution can have */
    if (ratel_result_verdict(a) != RATEL_VIOLATED) {
        if (ratel_shrink(&part, r, h, a, &s) != RATEL_EINVAL) fail("shrunk what holds", whole);
    } else if (ratel_shrink(&part, r, h, a, &s) || ratel_shrink(&once_more, r, h, a, &again)) {
        fail(ratel_errmsg(r), whole);
    } else {
        ratel_history_write(part, r, "ratel", add_text, &one);
        ratel_history_write(once_more, r, "ratel", add_text, &two);
        if (strcmp(one.at, two.at)) fail("two runs differ", whole);
        if (!s.minimal) fail("not minimal", whole);
        printf("{\"level\":\"%s\",\"so\":\"%s\",\"ryow\":\"%s\",\"of\":\"%s\",\"anomaly\":\"%s\","
               "\"whole\":",
               levels[level], so ? "on" : "off", policies[policy], ratel_result_anomaly(a),
               s.anomaly);
        put_text(whole);
        printf(",\"part\":");
        put_text(one.at);
        puts("}");
    }
    ratel_history_free(part);
    ratel_history_free(once_more);
    ratel_result_free(a);
    free(one.at);
    free(two.at);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t profiles = 0;
    ratel *r, *other;
    if (ratel_open(&r, NULL) || ratel_open(&other, NULL)) return 1;
    while (random_profiles[profiles]) profiles++;
    for (uint64_t i = 0; i < count; i++) {
        size_t n;
        char *t = random_history(seed * 1000003 + i, random_profiles[i % profiles], &n);
        text in = {.at = t, .n = n};
        ratel_history *h = NULL;
        if (ratel_history_read(&h, r, "ratel", read_text, &in)) {
            fail(ratel_errmsg(r), t);
        } else {
            /* different levels, seeds, orders and policies for each, but all in turn */
            ratel_set(r, "seed", (int64_t)(i % 3));
            for (uint64_t k = 0; k < 8; k++) {
                uint64_t turn = i / profiles + k * 5;
                shrink(r, h, t, (int)((i + k * 3) % ORACLE_LEVELS), turn % 3 != 0,
                       turn % 4 < 2 ? 0 : (int)(turn % 4 - 1));
            }
            if (i % 2 == 0) log_moves(r, other, h, t);
        }
        ratel_history_free(h);
        free(t);
    }
    ratel_close(r);
    ratel_close(other);
    return failed > 0;
}
