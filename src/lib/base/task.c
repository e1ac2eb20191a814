/*
 * task.c - a second thread whose failures stay in it.
 *
 * The thread's first function arms the task's own guard; what fails below ends there and leaves
 * its code in the task.  The one who waits reads that code after joining, never before.  Where no
 * thread can be started, the work is done in the caller's thread: slower, with the same result.
 *
 * Invariant: `done` is set last, and by the task alone; it is the only field that both threads
 * touch while the task runs, and therefore atomic.
 */
#include "base/task.h"

static void *border(void *arg)
{
    task *t = arg;
    if (guard_armed(&t->guard))
        t->code = t->guard.code;
    else
        t->run(t);
    atomic_store(&t->done, true);
    return NULL;
}

static void prepare(task *t, const guard *like)
{
    guard_init(&t->guard);
    t->guard.interrupt = like->interrupt;
    t->guard.deadline = like->deadline;
    t->code = GUARD_OK;
    atomic_init(&t->done, false);
    t->threaded = false;
}

void task_here(task *t, const guard *like)
{
    prepare(t, like);
    t->guard.progress = like->progress; /* told in the caller's thread only */
    border(t);
}

void task_start(task *t, const guard *like)
{
    prepare(t, like);
    t->threaded = pthread_create(&t->thread, NULL, border, t) == 0;
    if (!t->threaded) border(t);
}

void task_wait(task *t)
{
    if (t->threaded) pthread_join(t->thread, NULL);
    t->threaded = false;
}

void task_raise(const task *t, guard *g)
{
    if (t->code) guard_fail(g, t->code, "%s", t->guard.text);
}
