/*
 * campaign.c - random histories of all shapes against the oracle, for as long as you like.
 *
 *     campaign [--seconds N | --histories N] [--seed N] [--first N] [--jobs N] [--folder DIR]
 *     campaign --seed N --only I         one history again, in this process
 *     campaign --plant N ...             a fault in the campaign itself, which it must find
 *     campaign --thorough N ...          of N histories one gets more than its verdicts compared
 *     campaign --stop 1 ...              ends at the first failure, which is told but not saved
 *
 * `make campaign SECONDS=n SEED=s` runs it on all cores.  What is asked of each history is in
 * judge_history.c; what went wrong is made small and saved in the folder, which the summary names.
 * Each job is a process of its own that takes every n-th history; one that crashes, or needs
 * minutes for a history, has failed at that history and is started again at its next one.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "campaign.h"
#include "wary_memory.h"

enum { MOST_JOBS = 256, MOST_FAILURES = 50, SECONDS_A_HISTORY = 120 };

typedef struct plan {
    uint64_t seconds, histories, seed, first, thorough;
    int64_t only;
    enum plant plant;
    bool stop;
    uint64_t jobs;
    char folder[1024];
    double start;
} plan;

/* Shared with the jobs. */
typedef struct job {
    pid_t pid;
    uint64_t at; /* the history at hand */
    bool busy;
    tally t;
} job;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- levels ----------------------------------------------------------------------------------- */

static void add_level(campaign *c, const char *name, bool asks, bool may_refuse)
{
    if (c->n_levels == MOST_LEVELS) abort();
    level_row *l = &c->levels[c->n_levels++];
    snprintf(l->name, sizeof l->name, "%s", name);
    l->asks_session_order = asks;
    l->may_refuse = may_refuse;
}

/* Levels whose definition has real time in it, whatever their names. */
static bool has_real_time(const char *name)
{
    return strstr(name, "realtime") || strstr(name, "strict-") || strstr(name, "strong-snapshot") ||
           strstr(name, "forward-") || strstr(name, "generalized-") ||
           strstr(name, "prefix-consistent");
}

/* Every level that the product decides, and each of them with real time if it can be had. */
static void list_levels(campaign *c)
{
    static const char history[] = "{\"session\":1,\"ops\":[[\"w\",\"x\",1]]}\n";
    char err[200], name[80];
    oracle *o = oracle_parse(history, sizeof history - 1, err, sizeof err);
    ratel_level l;
    for (size_t i = 0; !ratel_level_at(&l, i); i++) {
        if (!l.decided) continue;
        oracle_question q = {l.name, 1, ORACLE_MUST, 0};
        if (oracle_check(o, &q) != ORACLE_UNKNOWN_LEVEL)
            add_level(c, l.name, !strcmp(l.session_order, "option"),
                      has_real_time(l.name) || strstr(l.name, "innodb") ||
                          !strncmp(l.name, "mixed", 5));
        if (has_real_time(l.name)) continue;
        snprintf(name, sizeof name, "realtime-%s", l.name);
        q.level = name;
        if (!ratel_level_named(name, NULL) && oracle_check(o, &q) != ORACLE_UNKNOWN_LEVEL)
            add_level(c, name, false, true);
    }
    oracle_free(o);
    for (int so = 0; so < 2; so++)
        for (int a = 0; a < c->n_levels; a++)
            for (int b = 0; b < c->n_levels; b++)
                c->implies[so][a][b] =
                    ratel_level_implies(c->levels[a].name, c->levels[b].name, so) == 1;
}

/* --- one job ---------------------------------------------------------------------------------- */

static const char *shape_of_number(uint64_t number, uint64_t *at)
{
    uint64_t n = 0;
    while (random_shapes[n]) n++;
    *at = number % n;
    return random_shapes[*at];
}

static bool do_history(campaign *c, uint64_t number, const plan *p)
{
    failure f = {0};
    uint64_t shape;
    size_t n;
    c->number = number;
    c->shape = shape_of_number(number, &shape);
    char *history = random_history(c->seed * 1000003 + number, c->shape, &n);
    limit_work(SECONDS_A_HISTORY);
    bool ok = judge_one_history(c, history, n, true, NULL, &f);
    limit_work(0);
    c->t->histories++;
    c->t->shapes[shape]++;
    if (!ok) {
        c->t->failures++;
        if (p->stop)
            printf("not ok - history %" PRIu64 ": %s: %s\n", number, f.kind, f.detail);
        else
            save_failure(c, p->folder, history, n, &f);
    }
    free(f.certificate.at);
    free(f.other.at);
    free(history);
    return ok;
}

static bool is_over(const plan *p, const job *all, uint64_t number)
{
    uint64_t failures = 0;
    if (p->histories && number >= p->first + p->histories) return true;
    if (!p->histories && now() - p->start >= (double)p->seconds) return true;
    for (uint64_t i = 0; i < p->jobs; i++) failures += all[i].t.failures;
    return failures >= (p->stop ? 1 : MOST_FAILURES);
}

static void do_job(campaign *c, const plan *p, job *all, uint64_t which, uint64_t number)
{
    job *me = &all[which];
    c->t = &me->t;
    for (; !is_over(p, all, number); number += p->jobs) {
        me->at = number;
        me->busy = true;
        do_history(c, number, p);
        me->busy = false;
    }
}

static void start_job(campaign *c, const plan *p, job *all, uint64_t which, uint64_t number)
{
    all[which].busy = false;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("campaign: fork");
        exit(4);
    }
    if (!child) {
        do_job(c, p, all, which, number);
        fflush(NULL);
        _exit(0);
    }
    all[which].pid = child;
}

/* A job that ended before its time: the history that it was at has failed. */
static void note_crash(campaign *c, const plan *p, job *all, uint64_t which, int status)
{
    failure f = {0};
    uint64_t shape;
    size_t n;
    c->t = &all[which].t;
    c->number = all[which].at;
    c->shape = shape_of_number(c->number, &shape);
    char *history = random_history(c->seed * 1000003 + c->number, c->shape, &n);
    fail_cell(&f, "crash", NULL,
              "signal %d, exit status %d (signal %d: no end within %d s of work)",
              WIFSIGNALED(status) ? WTERMSIG(status) : 0,
              WIFEXITED(status) ? WEXITSTATUS(status) : 0, SIGPROF, SECONDS_A_HISTORY);
    c->t->failures++;
    c->t->histories++;
    if (!p->stop) save_failure(c, p->folder, history, n, &f);
    free(history);
}

static void run_jobs(campaign *c, const plan *p, job *all)
{
    uint64_t running = p->jobs;
    for (uint64_t i = 0; i < p->jobs; i++) start_job(c, p, all, i, p->first + i);
    while (running) {
        int status;
        pid_t ended = wait(&status);
        if (ended < 0) {
            if (errno == EINTR) continue;
            break;
        }
        for (uint64_t i = 0; i < p->jobs; i++) {
            if (all[i].pid != ended) continue;
            if (WIFEXITED(status) && !WEXITSTATUS(status) && !all[i].busy) {
                running--;
                continue;
            }
            note_crash(c, p, all, i, status);
            start_job(c, p, all, i, all[i].at + p->jobs);
        }
    }
}

/* --- the summary ------------------------------------------------------------------------------ */

static void add_up(tally *sum, const job *all, uint64_t jobs)
{
    uint64_t *to = (uint64_t *)sum;
    for (uint64_t i = 0; i < jobs; i++) {
        const uint64_t *from = (const uint64_t *)&all[i].t;
        for (size_t j = 0; j < sizeof *sum / sizeof *to; j++) to[j] += from[j];
    }
}

static void show_summary(const campaign *c, const plan *p, const tally *t)
{
    static const char *const told[VARIANTS] = {
        "",        "renamed",        "interleaved",      "bystander", "failed write",
        "aborted", "without a read", "without a reader", "binary"};
    double seconds = now() - p->start;
    printf("# %-44s %10s %10s %10s\n", "level", "holds", "violated", "undecided");
    for (int i = 0; i < c->n_levels; i++)
        printf("# %-44s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n", c->levels[i].name,
               t->said[i][1], t->said[i][2], t->said[i][0]);
    printf("# shapes:");
    for (int i = 0; random_shapes[i]; i++) printf(" %s %" PRIu64, random_shapes[i], t->shapes[i]);
    printf("\n# told otherwise, answers compared:");
    for (int i = 1; i < VARIANTS; i++) printf(" %s %" PRIu64, told[i], t->variants[i]);
    printf("\n# %" PRIu64 " answers, %" PRIu64 " of them replayed; %" PRIu64
           " implications between levels\n",
           t->answers, t->rechecked, t->implications);
    printf("# %" PRIu64 " certificates verified; %" PRIu64 " forged, of which %" PRIu64
           " were believed and true\n",
           t->certificates, t->forged, t->forged_true);
    printf("# %" PRIu64 " arguments checked again (%" PRIu64
           " violations had none); none found against %" PRIu64 " that hold; %" PRIu64
           " shrunk and judged\n",
           t->arguments, t->unargued, t->refuted, t->shrunk);
    printf("# not counted as cells: %" PRIu64 " with impossible hints, %" PRIu64
           " with nothing committed, %" PRIu64 " too large for the oracle\n",
           t->impossible_hints, t->nothing, t->too_large);
    printf("# seed %" PRIu64 ", histories %" PRIu64 " to %" PRIu64 ", %" PRIu64
           " jobs, %.0f s, ratel %s\n",
           p->seed, p->first, p->first + t->histories - (t->histories > 0), p->jobs, seconds,
           ratel_version());
    printf("# %" PRIu64 " histories, %" PRIu64 " history-level cells, %" PRIu64
           " wrong; %.0f cells a second\n",
           t->histories, t->cells, t->failures, (double)t->cells / (seconds > 0 ? seconds : 1));
    if (t->failures) printf("# failures are in %s\n", p->folder);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", t->histories - t->failures, t->failures);
}

static int usage(const char *what)
{
    fprintf(stderr,
            "campaign: %s\nusage: campaign [--seconds N | --histories N] [--seed N] [--first N] "
            "[--jobs N] [--folder DIR] [--only I] [--plant N] [--stop 1] [--thorough N]\n",
            what);
    return 64;
}

static int read_plan(plan *p, int argc, char **argv)
{
    const char *env = getenv("RATEL_TEST_SEED");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    p->seed = env ? strtoull(env, NULL, 10) : 1;
    p->seconds = 60;
    p->thorough = 1;
    p->only = -1;
    p->jobs = cores > 0 ? (uint64_t)cores : 1;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return usage("an option has no value");
        char *end;
        uint64_t n = strtoull(argv[i + 1], &end, 10);
        bool folder = !strcmp(argv[i], "--folder");
        if (!folder && (*end || end == argv[i + 1])) return usage("a number is expected");
        if (folder)
            snprintf(p->folder, sizeof p->folder, "%s", argv[i + 1]);
        else if (!strcmp(argv[i], "--seconds"))
            p->seconds = n;
        else if (!strcmp(argv[i], "--histories"))
            p->histories = n;
        else if (!strcmp(argv[i], "--seed"))
            p->seed = n;
        else if (!strcmp(argv[i], "--first"))
            p->first = n;
        else if (!strcmp(argv[i], "--jobs"))
            p->jobs = n;
        else if (!strcmp(argv[i], "--only"))
            p->only = (int64_t)n;
        else if (!strcmp(argv[i], "--thorough"))
            p->thorough = n;
        else if (!strcmp(argv[i], "--stop"))
            p->stop = n > 0;
        else if (!strcmp(argv[i], "--plant"))
            p->plant = (enum plant)n;
        else
            return usage(argv[i]);
    }
    if (!p->thorough) return usage("--thorough is 1 or more");
    if (!p->jobs || p->jobs > MOST_JOBS) return usage("--jobs is 1 to 256");
    if (!*p->folder) snprintf(p->folder, sizeof p->folder, "campaign-failures-%" PRIu64, p->seed);
    return 0;
}

int main(int argc, char **argv)
{
    static campaign c;
    static tally sum;
    plan p = {0};
    ratel_pass pass;
    int code = read_plan(&p, argc, argv);
    if (code) return code;
    job *all = mmap(NULL, MOST_JOBS * sizeof *all, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ratel_alloc wary = {wary_memory, NULL};
    if (all == MAP_FAILED || ratel_open(&c.plain, &wary) || ratel_open(&c.turning, &wary)) return 4;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* a crash is repeated, not dissected */
    c.seed = p.seed;
    c.plant = p.plant;
    c.thorough = p.thorough;
    while (!ratel_pass_at(&pass, c.passes)) c.passes++;
    list_levels(&c);
    p.start = now();
    if (p.only >= 0) {
        c.t = &all[0].t;
        do_history(&c, (uint64_t)p.only, &p);
        p.first = (uint64_t)p.only;
    } else {
        run_jobs(&c, &p, all);
    }
    add_up(&sum, all, p.jobs);
    show_summary(&c, &p, &sum);
    ratel_close(c.plain);
    ratel_close(c.turning);
    return sum.failures > 0;
}
