/*
 * exec_warden.h - starts and ends the programs of `exec:` drivers.
 *
 * A process of ours, forked before there are threads, starts every program, in a process group of
 * its own, and passes the pipes to us.  It kills a program with its whole group when told, and all
 * that is left when we have ended, by kill -9, too: its end of our socket closes then.  It adopts
 * what its children leave behind, so nothing that they have started outlives a run.
 */
#ifndef RATEL_DRIVER_EXEC_WARDEN_H
#define RATEL_DRIVER_EXEC_WARDEN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct exec_warden {
    int socket; /* -1: there is none */
    pid_t pid;
    pthread_mutex_t lock;
    atomic_int
        failed_here; /* 0, or the guard's code of what failed on our side, not the driver's */
} exec_warden;

typedef struct exec_process {
    pid_t pid;        /* 0: none */
    int in, out, err; /* our ends of its standard streams, not blocking */
} exec_process;

/* What the programs of a warden are: words of a command line and an environment (both end with
   NULL), or, if `serve` is given, a function of ours that is called in a process of its own. */
typedef struct exec_kind {
    char *const *words, *const *environment;
    int (*serve)(const void *ud);
    const void *ud;
} exec_kind;

bool exec_warden_start(exec_warden *w, const exec_kind *kind);
/* False: why says why, and there is no process. */
bool exec_warden_spawn(exec_warden *w, exec_process *p, char *why, size_t cap);
/* Kills the process and its group after it had so many milliseconds to end by itself, reaps it and
   says in `how` how it ended.  Our ends of its streams stay open.  Any thread may call. */
void exec_warden_kill(exec_warden *w, pid_t pid, int grace, char *how, size_t cap);
void exec_warden_stop(exec_warden *w);

#endif
