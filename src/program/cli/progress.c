/*
 * progress.c - the progress line of long calls, the table of --stats, and the clock of both.
 *
 * The line is drawn on standard error again and again in place.  It is erased before anything else
 * is printed, since the library reports the end of each call.  With -q, or where standard error is
 * not a terminal, there is no line.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define PATIENCE 2.0 /* seconds without a line */
#define BAR 24

/* Between calls: one program, one terminal. */
static struct line {
    uint64_t begun;           /* the command */
    const char *stage;        /* shown last */
    uint64_t stage_begun, at; /* clock, and what was done then */
    size_t level, levels;     /* which of several is being decided; levels 0: there is one */
    bool drawn;
} line;

static void erase(void)
{
    if (line.drawn) fputs("\r\033[K", stderr);
    line.drawn = false;
}

/* 12.3M of something. */
static void put_count(char *buf, size_t n, double x)
{
    static const char units[] = " kMGTP";
    size_t u = 0;
    while (x >= 10000 && u + 2 < sizeof units) x /= 1000, u++;
    if (u)
        snprintf(buf, n, "%.*f%c", x < 100 ? 1 : 0, x, units[u]);
    else
        snprintf(buf, n, "%.0f", x);
}

/* What is done in a second, and when the stage will have ended. */
static size_t put_rate(char *text, size_t cap, const ratel_progress *p, double since)
{
    char count[24];
    double rate = (double)(p->done - line.at) / since;
    bool bytes = !strcmp(p->unit, "bytes");
    put_count(count, sizeof count, rate);
    int n = bytes ? snprintf(text, cap, " %.1f MB/s", rate / 1e6)
                  : snprintf(text, cap, " %s%s%.20s/s", count, p->total ? " " : "",
                             p->total ? p->unit : "");
    if (p->total > p->done && rate > 0 && since > 1)
        n +=
            snprintf(text + n, cap - (size_t)n, " ETA %.0f s", (double)(p->total - p->done) / rate);
    return (size_t)n;
}

static void draw(const ratel_progress *p)
{
    char text[256], count[24];
    double since = seconds_since(line.stage_begun);
    size_t n = 0;
    if (line.levels)
        n = (size_t)snprintf(text, sizeof text, "level %zu of %zu: ", line.level, line.levels);
    n += (size_t)snprintf(text + n, sizeof text - n, "%-9.20s", p->stage);
    if (p->total) {
        double share = p->done < p->total ? (double)p->done / (double)p->total : 1;
        char bar[BAR + 1];
        for (int i = 0; i < BAR; i++) bar[i] = (double)i + 0.5 < share * BAR ? '#' : '.';
        bar[BAR] = 0;
        n += (size_t)snprintf(text + n, sizeof text - n, " [%s] %3.0f%%", bar, 100 * share);
    }
    if (*p->unit) {
        if (!p->total) {
            put_count(count, sizeof count, (double)p->done);
            n += (size_t)snprintf(text + n, sizeof text - n, " %s %.20s", count, p->unit);
        }
        if (since > 0.2) /* a rate of less is noise */
            n += put_rate(text + n, sizeof text - n, p, since);
    }
    snprintf(text + n, sizeof text - n, " %.0f s", seconds_since(line.begun));
    fprintf(stderr, "\r\033[K%.79s", text);
    fflush(stderr);
    line.drawn = true;
}

static int on_progress(const ratel_progress *p, void *payload)
{
    (void)payload;
    if (!p) {
        erase();
        line.stage = NULL;
        return 0;
    }
    if (p->stage != line.stage || p->done < line.at) { /* a stage may begin again */
        line.stage = p->stage;
        line.stage_begun = now();
        line.at = p->done;
    }
    if (seconds_since(line.begun) >= PATIENCE && *p->stage) draw(p);
    return 0;
}

void progress_level(size_t level, size_t levels)
{
    line.level = level;
    line.levels = levels > 1 ? levels : 0;
}

void show_progress(const args *a)
{
    const char *term = getenv("TERM");
    if (a->value[O_QUIET] || !isatty(STDERR_FILENO) || !term || !strcmp(term, "dumb")) return;
    line.begun = now();
    ratel_on_progress(a->context, on_progress, NULL);
}

/* --- clock and memory ------------------------------------------------------------------------- */

uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* (--time was found to be a number when the options were applied) */
void limit_rest(const args *a, uint64_t since)
{
    if (!a->value[O_TIME]) return;
    double ms = (strtod(a->value[O_TIME], NULL) - seconds_since(since)) * 1000;
    ratel_set(a->context, "time", ms < 1 ? 1 : (int64_t)ms);
}

double seconds_since(uint64_t start)
{
    return (double)(now() - start) / 1e9;
}

uint64_t peak_rss_kib(void)
{
    struct rusage u, child; /* the largest of the processes that worked for us */
    long most = getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_maxrss;
    if (!getrusage(RUSAGE_CHILDREN, &child) && child.ru_maxrss > most) most = child.ru_maxrss;
    return (uint64_t)most;
}

/* --- the table of --stats --------------------------------------------------------------------- */

#define NAMES 44 /* columns of what a row is about */

void stats_seconds(const args *a, const char *of, const char *what, double seconds)
{
    char name[128];
    snprintf(name, sizeof name, "%s %s", of, what);
    if (a->value[O_STATS]) fprintf(stderr, "%-*s %12.6f\n", NAMES, name, seconds);
}

void stats_number(const args *a, const char *of, const char *what, uint64_t n)
{
    char name[128];
    snprintf(name, sizeof name, "%s %s", of, what);
    if (a->value[O_STATS]) fprintf(stderr, "%-*s %12llu\n", NAMES, name, (unsigned long long)n);
}

static void stats_text(const args *a, const char *of, const char *what, const char *text)
{
    char name[128];
    snprintf(name, sizeof name, "%s %s", of, what);
    if (a->value[O_STATS]) fprintf(stderr, "%-*s %12s\n", NAMES, name, text);
}

void stats_result(const args *a, const ratel_result *r)
{
    const char *name, *level = ratel_result_level(r);
    double seconds;
    ratel_cost c;
    if (ratel_result_cost(r, &c)) return;
    if (*ratel_result_decided_by(r)) stats_text(a, level, "decided by", ratel_result_decided_by(r));
    stats_seconds(a, level, "analyse", c.analyse);
    for (size_t i = 0; !ratel_result_stage(r, i, &name, &seconds); i++)
        stats_seconds(a, level, name, seconds);
    stats_number(a, level, "vars", c.vars);
    stats_number(a, level, "clauses", c.clauses);
    stats_number(a, level, "conflicts", c.conflicts);
    stats_number(a, level, "instantiated", c.instantiated);
}
