/*
 * writer.c - a program that records itself with libratel-trace, for test/envelope/run.
 *
 * usage: writer PATH THREADS TXNS [fork|tell|bench]
 *
 * Each thread is a session that adds 1 to a key of its own, TXNS times (0: for ever), as a database
 * without faults would.  `tell` writes one byte to standard output after each commit was recorded.
 * `fork` does half of the work in a child, with the handles of its parent.  `bench` prints the
 * nanoseconds of an event.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ratel-trace.h"

typedef struct worker {
    ratel_trace *trace;
    ratel_trace_session *session;
    long txns;
    int number;
    int tells;
    int64_t value;
} worker;

static void work(worker *w)
{
    char key[32];
    snprintf(key, sizeof key, "k%d.%ld", w->number, (long)getpid());
    for (long i = 0; !w->txns || i < w->txns; i++) {
        ratel_trace_begin(w->session);
        ratel_trace_begun(w->session);
        ratel_trace_input_read(w->session, key);
        if (w->value)
            ratel_trace_output_int(w->session, w->value);
        else
            ratel_trace_output_absent(w->session);
        ratel_trace_input_write(w->session, key, ++w->value);
        ratel_trace_output(w->session, RATEL_TRACE_DONE, NULL, 0);
        ratel_trace_commit(w->session);
        ratel_trace_ended(w->session, RATEL_TRACE_DONE);
        if (w->tells && write(1, ".", 1) != 1) return;
    }
}

static void *work_in_thread(void *ud)
{
    work(ud);
    return NULL;
}

static void work_in_threads(worker *all, int threads)
{
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    for (int i = 0; ids && i < threads; i++)
        if (pthread_create(&ids[i], NULL, work_in_thread, &all[i])) abort();
    for (int i = 0; ids && i < threads; i++) pthread_join(ids[i], NULL);
    free(ids);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    int threads = atoi(argv[2]);
    const char *how = argc > 4 ? argv[4] : "";
    ratel_trace *t;
    if (threads < 1 || ratel_trace_open(&t, argv[1], "{\"ratel\":1,\"unique_values\":true}", 0)) {
        perror(argv[1]);
        return 1;
    }
    worker *all = calloc((size_t)threads, sizeof *all);
    if (!all) return 1;
    for (int i = 0; i < threads; i++) {
        char name[32];
        snprintf(name, sizeof name, "w\"%d", i);
        all[i] =
            (worker){.trace = t, .txns = atol(argv[3]), .number = i, .tells = !strcmp(how, "tell")};
        if (ratel_trace_session_open(&all[i].session, t, name)) return 1;
    }
    if (!strcmp(how, "bench")) {
        double from = seconds();
        work(&all[0]);
        printf("%.0f\n", (seconds() - from) * 1e9 / (8.0 * (double)all[0].txns));
    } else if (!strcmp(how, "fork")) {
        work_in_threads(all, threads);
        pid_t child = fork();
        for (int i = 0; !child && i < threads; i++) all[i].value = 0;
        work_in_threads(all, threads);
        if (!child) _exit(0);
        if (waitpid(child, NULL, 0) != child) return 1;
    } else {
        work_in_threads(all, threads);
    }
    for (int i = 0; i < threads; i++) ratel_trace_session_close(all[i].session);
    printf("%llu", (unsigned long long)ratel_trace_lost(t));
    ratel_trace_close(t);
    free(all);
    return 0;
}
