/*
 * converted.c - a history in another format gets the same verdicts, or is not written.
 *
 *     converted [histories [seed]]    default 40, seed from RATEL_TEST_SEED or 1
 *
 * Random tiny histories of every shape, some with levels of their own, are written in every format
 * as `convert` does without --lossy.  What was written is read back, and must have the verdict of
 * the first history at every level; or it was refused, with what is lost and how often.  Two more
 * histories, which are violated, have nothing that is hard to hold: every format that can be
 * checked holds one of them.
 */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATEL_EXPERIMENTAL
#include "diff/diff_text.h"
#include "diff/oracle_levels.h"
#include "oracle/random_history.h"
#include "ratel.h"

enum { MOST_FORMATS = 32, ASKED = ORACLE_LEVELS + 1 };

typedef struct tally {
    uint64_t written, refused, violated;
} tally;

static uint64_t passed, failed;
static char folder[64];

static const char *level_at(int i)
{
    return i < ORACLE_LEVELS ? levels[i] : "linearizable";
}

/* The verdict, or a negative error. */
static int verdict_of(ratel *r, const ratel_history *h, int level)
{
    ratel_result *a;
    int code = ratel_check(&a, r, h, level_at(level));
    if (code) return -1;
    int verdict = (int)ratel_result_verdict(a);
    ratel_result_free(a);
    return verdict;
}

static void complain(const char *what, const char *format, const char *history, const char *detail)
{
    printf("not ok - %s: %s: %s\n%s", format, what, detail, history);
    failed++;
}

/* Writes h and reads it back; NULL: it was refused. */
static ratel_history *convert(ratel *r, const ratel_history *h, const char *format, bool *refused)
{
    char path[96];
    ratel_history *back = NULL;
    snprintf(path, sizeof path, "%s/history", folder);
    ratel_set(r, "whole", 1);
    int code = ratel_history_write_path(h, r, format, path);
    *refused = code == RATEL_EUNSUPPORTED;
    if (!code) code = ratel_history_read_path(&back, r, format, path);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/history", folder);
    if (system(command)) abort();
    return code ? NULL : back;
}

/* All of the verdicts, with session order and without; false: they differ. */
static bool same_verdicts(ratel *r, const ratel_history *h, const ratel_history *back,
                          const char *format, const char *shown, tally *n)
{
    for (int so = 0; so < 2; so++) {
        ratel_set(r, "session_order", so);
        for (int i = 0; i < ASKED; i++) {
            int x = verdict_of(r, h, i), y = verdict_of(r, back, i);
            n->violated += x == RATEL_VIOLATED && y == x;
            if (x == y) continue;
            char detail[120];
            snprintf(detail, sizeof detail, "%s, session order %s: %d, and then %d", level_at(i),
                     so ? "on" : "off", x, y);
            complain("another verdict", format, shown, detail);
            ratel_set(r, "session_order", 1);
            return false;
        }
    }
    return true;
}

/* To standard output the same is written, or the same refused. */
static bool same_stream(ratel *r, const ratel_history *h, const char *format, bool refused)
{
    text out = {0};
    ratel_set(r, "whole", 1);
    int code = ratel_history_write(h, r, format, add_text, &out);
    bool same = (code == RATEL_EUNSUPPORTED) == refused && (!refused || !out.n);
    free(out.at);
    return same;
}

static void judge(ratel *r, const ratel_history *h, const char *format, const char *shown, tally *n)
{
    bool refused;
    ratel_history *back = convert(r, h, format, &refused);
    bool directory = !strcmp(format, "cobra") || !strcmp(format, "viper");
    if (!directory && !same_stream(r, h, format, refused)) {
        complain("written to a stream and not to a file, or the other way", format, shown,
                 ratel_errmsg(r));
    } else if (refused) {
        bool says = strstr(ratel_errmsg(r), "cannot hold") && strchr(ratel_errmsg(r), '(');
        n->refused++;
        passed += says;
        if (!says) complain("does not say what is lost", format, shown, ratel_errmsg(r));
    } else if (!back) {
        complain("what was written is not read back", format, shown, ratel_errmsg(r));
    } else {
        n->written++;
        passed += same_verdicts(r, h, back, format, shown, n);
    }
    ratel_history_free(back);
}

static void all_formats(ratel *r, char *history, size_t n, tally *count)
{
    text in = {history, n, n, 0};
    ratel_history *h;
    const char *format;
    if (ratel_history_read(&h, r, "ratel", read_text, &in)) abort();
    for (size_t i = 0; !ratel_format_at(&format, NULL, i); i++)
        judge(r, h, format, history, &count[i]);
    ratel_history_free(h);
}

static void one_history(ratel *r, uint64_t seed, const char *shape, tally *count)
{
    size_t n;
    char *made = random_history(seed, shape, &n);
    if (seed % 4 == 3) made = random_levels(made, seed, &n);
    all_formats(r, made, n, count);
    free(made);
}

/* A lost update of registers, and one of lists. */
static void plain_histories(ratel *r, tally *count)
{
    static const char *const plain[] = {
        "{\"ratel\":1}\n{\"session\":1,\"ops\":[[\"w\",1,1]]}\n"
        "{\"session\":2,\"ops\":[[\"r\",1,1],[\"w\",1,2]]}\n"
        "{\"session\":3,\"ops\":[[\"r\",1,1],[\"w\",1,3]]}\n",
        "{\"ratel\":1}\n{\"session\":1,\"ops\":[[\"append\",1,1]]}\n"
        "{\"session\":2,\"ops\":[[\"r\",1,[1]],[\"append\",1,2]]}\n"
        "{\"session\":3,\"ops\":[[\"r\",1,[1]],[\"append\",1,3]]}\n"
        "{\"session\":4,\"ops\":[[\"r\",1,[1,2,3]]]}\n"};
    const char *format;
    for (size_t i = 0; i < 2; i++) {
        char *copy = strdup(plain[i]);
        if (!copy) abort();
        all_formats(r, copy, strlen(copy), count);
        free(copy);
    }
    for (size_t i = 0; !ratel_format_at(&format, NULL, i); i++) {
        bool some =
            count[i].violated || !strcmp(format, "timekiller-cdc"); /* (which has no reads) */
        passed += some;
        if (!some) complain("does not hold a plain history", format, "", "\n");
    }
}

int main(int argc, char **argv)
{
    const char *env = getenv("RATEL_TEST_SEED"), *format;
    uint64_t histories = argc > 1 ? strtoull(argv[1], NULL, 10) : 40;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    tally count[MOST_FORMATS] = {0};
    ratel *r;
    snprintf(folder, sizeof folder, "/tmp/ratel-converted-XXXXXX");
    if (ratel_open(&r, NULL) || !mkdtemp(folder)) return 1;
    plain_histories(r, count);
    for (uint64_t i = 0; i < histories; i++)
        for (size_t s = 0; random_shapes[s]; s++)
            one_history(r, seed * 1000003 + i, random_shapes[s], count);
    for (size_t i = 0; !ratel_format_at(&format, NULL, i); i++)
        printf("# %-16s written %" PRIu64 ", refused %" PRIu64 "; %" PRIu64 " cells violated\n",
               format, count[i].written, count[i].refused, count[i].violated);
    rmdir(folder);
    ratel_close(r);
    printf("# seed %" PRIu64 "\n%" PRIu64 " passed, %" PRIu64 " failed\n", seed, passed, failed);
    return failed != 0;
}
