/*
 * save_failure.c - a failing history made small, and written down for people.
 *
 * Lines (transactions) and then operations are left out one by one as long as the same kind of
 * failure remains.  Every try runs in a child of its own, because the failure may be a crash or a
 * search without end.  What is written: history.jsonl, small.jsonl, about.txt and, where there is
 * one, the certificate or the other telling of the history.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign.h"

enum { SAME_FAILURE = 42, SECONDS_A_TRY = 20 };

void limit_work(unsigned seconds)
{
    struct itimerval t = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_PROF, &t, NULL);
}

/* Does the history fail in the same way?  A crash has kind "crash". */
static bool fails_alike(campaign *c, const failure *f, const char *history, size_t n)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return false;
    if (!child) {
        failure g = {0};
        tally t = {0};
        c->t = &t;
        limit_work(SECONDS_A_TRY);
        bool crash = !strcmp(f->kind, "crash") || !strcmp(f->kind, "lattice");
        const cell *only = f->has_cell && !crash ? &f->at : NULL;
        bool ok = judge_one_history(c, history, n, false, only, &g);
        _exit(!ok && !strcmp(g.kind, f->kind) ? SAME_FAILURE : 0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status)) return !strcmp(f->kind, "crash");
    return WIFEXITED(status) && WEXITSTATUS(status) == SAME_FAILURE;
}

/* Tries t without [from, end); keeps it if it still fails. */
static bool leave_out(campaign *c, const failure *f, text *t, size_t from, size_t end)
{
    text less = {0};
    add_text(t->at, from, &less);
    add_text(t->at + end, t->n - end, &less);
    bool ok = fails_alike(c, f, less.at, less.n);
    if (ok) {
        free(t->at);
        *t = less;
    } else {
        free(less.at);
    }
    return ok;
}

static bool drop_lines(campaign *c, const failure *f, text *t)
{
    bool any = false;
    for (size_t from = 0, end; from < t->n;) {
        const char *newline = memchr(t->at + from, '\n', t->n - from);
        end = newline ? (size_t)(newline - t->at) + 1 : t->n;
        if (leave_out(c, f, t, from, end))
            any = true;
        else
            from = end;
    }
    return any;
}

/* The end of the bracket that opens at `from`; strings have no brackets in generated histories. */
static size_t bracket_end(const text *t, size_t from)
{
    int depth = 0;
    for (size_t i = from; i < t->n; i++) {
        depth += (t->at[i] == '[') - (t->at[i] == ']');
        if (!depth) return i + 1;
    }
    return t->n;
}

static bool drop_operations(campaign *c, const failure *f, text *t)
{
    bool any = false;
    for (size_t i = 0; i + 7 < t->n; i++) {
        if (strncmp(t->at + i, "\"ops\":[", 7)) continue;
        for (size_t from = i + 7; from < t->n && t->at[from] == '[';) {
            size_t end = bracket_end(t, from), start = from;
            if (end < t->n && t->at[end] == ',')
                end++;
            else if (t->at[start - 1] == ',')
                start--;
            if (leave_out(c, f, t, start, end)) {
                any = true;
                if (start < from) break; /* that was the last one */
            } else if (t->at[end - 1] != ',') {
                break;
            } else {
                from = end;
            }
        }
    }
    return any;
}

static void write_file(const char *folder, const char *name, const char *at, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(at, 1, n, file) != n) fprintf(stderr, "campaign: cannot write %s\n", path);
    if (file) fclose(file);
}

void save_failure(campaign *c, const char *folder, const char *history, size_t n, failure *f)
{
    char place[2048], about[2048];
    text t = {0};
    add_text(history, n, &t);
    snprintf(place, sizeof place, "%s/%llu-%s", folder, (unsigned long long)c->number, f->kind);
    mkdir(folder, 0777);
    mkdir(place, 0777);
    write_file(place, "history.jsonl", t.at, t.n);
    int lines = snprintf(about, sizeof about,
                         "%s: %s%s%s%s%s\n%s\nseed %llu, history %llu, shape %s; once more:\n"
                         "campaign --seed %llu --only %llu\n",
                         f->kind, f->has_cell ? c->levels[f->at.level].name : "the history",
                         f->has_cell ? ", session order " : "",
                         f->has_cell ? (f->at.session_order ? "on" : "off") : "",
                         f->has_cell ? ", ryow " : "", f->has_cell ? policies[f->at.policy] : "",
                         f->detail, (unsigned long long)c->seed, (unsigned long long)c->number,
                         c->shape, (unsigned long long)c->seed, (unsigned long long)c->number);
    write_file(place, "about.txt", about, lines > 0 ? (size_t)lines : 0);
    if (f->certificate.n) write_file(place, "certificate", f->certificate.at, f->certificate.n);
    if (f->other.n) write_file(place, "other.jsonl", f->other.at, f->other.n);
    if (fails_alike(c, f, t.at, t.n)) {
        bool less = true;
        while (less) {
            less = drop_lines(c, f, &t);
            less = drop_operations(c, f, &t) || less;
        }
        write_file(place, "small.jsonl", t.at, t.n);
    }
    printf("not ok - %s\n%s", place, about);
    fflush(stdout);
    free(t.at);
}
