/*
 * cmd_test.c - ratel test: a mix of workloads, each checked for what the product documents.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/live.h"

/* Where values repeat or ranges are long, longer histories are no better but dear to decide. */
enum { MOST_AMBIGUOUS = 3000, MOST_RANGES = 4000 };

/* Few hot keys where a race is wanted, many where the checker should have a wide history; with
   lists the version order is seen, with random-rmw-range phantoms are. */
static const struct {
    const char *workload;
    uint64_t keys, ops, txns; /* 0: published; txns: as many as the time allows */
    const char *knob;
} mix[] = {
    {"rw-register", 8, 6, 0, NULL},
    {"list-append", 6, 4, 0, NULL},
    {"write-skew", 0, 0, 0, NULL},
    {"lost-update", 0, 0, 0, NULL},
    {"bank", 0, 0, MOST_AMBIGUOUS, NULL},
    {"random-rmw-range", 30, 4, MOST_RANGES, NULL},
    {"range-b", 40, 4, MOST_RANGES, "span=10"},
    {"rw-register", 4, 4, MOST_AMBIGUOUS, "duplicates=1"},
};
#define RUNS (sizeof mix / sizeof *mix)
enum { SESSIONS = 8, CHECK_MS = 60000 };

/* A violation in a history without a name is worth keeping. */
static void keep_history(int fd, size_t number, const char *workload)
{
    char name[128], buf[1 << 16];
    snprintf(name, sizeof name, "ratel-test-%zu-%s.jsonl", number, workload);
    int to = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool bad = to < 0 || lseek(fd, 0, SEEK_SET) < 0;
    for (ssize_t n; !bad && (n = read(fd, buf, sizeof buf)) != 0;)
        bad = n < 0 || write(to, buf, (size_t)n) != n;
    if (to >= 0 && close(to)) bad = true;
    if (bad)
        perror(name);
    else
        fprintf(stderr, "the history is in %s (ratel explain shows what is wrong with it)\n", name);
}

static int run_one(live *l, args *a, const contract *c, size_t i, live_options *o)
{
    char path[4096];
    const char *dir = a->value[O_OUTPUT];
    if (dir) {
        snprintf(path, sizeof path, "%.3900s/%zu-%s.jsonl", dir, i + 1, mix[i].workload);
        o->output = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (o->output < 0) perror(path);
    } else {
        o->output = live_scratch();
        snprintf(path, sizeof path, "/dev/fd/%d", o->output);
    }
    if (o->output < 0) return EXIT_IO;
    o->output_name = dir ? path : NULL;
    o->workload = mix[i].workload;
    o->keys = mix[i].keys;
    o->ops = mix[i].ops;
    o->txns = mix[i].txns;
    o->knobs = &mix[i].knob;
    o->n_knobs = mix[i].knob != NULL;
    run_counts counts;
    int status = live_run(l, a, o, &counts);
    if (status == EXIT_HOLDS) {
        if (!a->value[O_QUIET])
            fprintf(stderr, "%s, %s, %s: %llu committed, %llu aborted, %llu unknown\n",
                    l->db.version, l->db.isolation, o->workload,
                    (unsigned long long)counts.committed, (unsigned long long)counts.aborted,
                    (unsigned long long)counts.unknown);
        status = live_check(a, path, dir ? NULL : mix[i].workload, live_level(l, a, c, &counts));
        if (status == EXIT_VIOLATED && !dir) keep_history(o->output, i + 1, mix[i].workload);
    }
    close(o->output);
    o->output_name = NULL;
    return status;
}

int cmd_test(args *a)
{
    if (a->value[O_LIST]) {
        live_list();
        return EXIT_HOLDS;
    }
    live_options o = {.sessions = SESSIONS, .seed = 1, .seconds = 60};
    if (!args_u64(a, O_SESSIONS, &o.sessions) || !args_u64(a, O_SEED, &o.seed) ||
        !live_seconds(a, O_FOR, &o.seconds))
        return EXIT_USAGE;
    o.seconds /= (double)RUNS;
    if (a->n_files) {
        complain("test: unexpected argument \"%s\"", a->files[0]);
        return EXIT_USAGE;
    }
    const char *dir = a->value[O_OUTPUT];
    if (dir && mkdir(dir, 0777) && errno != EEXIST) {
        perror(dir);
        return EXIT_IO;
    }
    if (!a->value[O_TIME]) ratel_set(a->context, "time", CHECK_MS);
    live l;
    int status = live_open(&l, a);
    const contract *c = status == EXIT_HOLDS ? live_contract(&l, a) : NULL;
    if (status == EXIT_HOLDS && !c) {
        complain("test: Ratel knows no documented level of %s at %s", l.db.version, l.db.isolation);
        status = EXIT_USAGE;
    }
    if (c && !a->value[O_QUIET])
        fprintf(stderr, "%s at %s documents %s: %s\n", l.db.version, l.db.isolation, c->level,
                c->source);
    for (size_t i = 0; c && i < RUNS && !interrupted(); i++) {
        int one = run_one(&l, a, c, i, &o);
        if (one == EXIT_VIOLATED || (status != EXIT_VIOLATED && one > status)) status = one;
        if (one == EXIT_IO || one == EXIT_USAGE) break;
    }
    live_close(&l);
    return interrupted() && status == EXIT_HOLDS ? EXIT_UNDECIDED : status;
}
