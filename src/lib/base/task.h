/*
 * task.h - work in a second thread, with a border of its own.
 *
 * A task has its own guard, so that what fails in it jumps to the task's border and not across
 * threads; who waits for it decides what the failure means.  Memory: a task uses regions of its
 * own, never one that another thread uses meanwhile.
 */
#ifndef RATEL_BASE_TASK_H
#define RATEL_BASE_TASK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/guard.h"

typedef struct task {
    guard guard;
    void (*run)(struct task *); /* finds its own struct around this one */
    pthread_t thread;
    bool threaded; /* else it ran within task_start */
    atomic_bool done;
    int code; /* after task_wait: GUARD_OK, or what the guard tells */
} task;

/* Runs t->run in a thread, under the limits of `like`; in this one if there is no other to be
   had. */
void task_start(task *t, const guard *like);
/* The same in this thread: for the other half of work that must not be left before both end. */
void task_here(task *t, const guard *like);
void task_wait(task *t);
/* Fails as the task failed, if it did. */
void task_raise(const task *t, guard *g);

#endif
