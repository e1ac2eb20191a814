/*
 * portfolio.c - see portfolio.h.
 *
 * Every seed gets the true answer, so it does not matter who is first; only the order found, or
 * the cycle, may be another.  Workers share the semantic graph, which nobody changes any more: each
 * has a shallow copy of it whose region is the worker's.
 */
#include "decide/portfolio.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/task.h"

#define NAP 200000u /* nanoseconds between looks at the workers, at first */
#define LONG_NAP 20000000u

typedef struct race {
    atomic_int winner; /* index, or -1 */
    volatile int stop; /* the interrupt of the workers' guards */
} race;

typedef struct worker {
    task task; /* first: task_start hands it to run */
    race *race;
    int index;
    mem mem;
    asg g;
    tuning tune;
    order_question ask;
    order_decider decide;
    order_problem p;
    decision a;
} worker;

static void run(task *t)
{
    worker *w = (worker *)(void *)t;
    problem_build(&w->p, &w->g, &w->ask);
    w->decide(&w->p, 0, &w->a);
    int none = -1;
    if (!w->a.undecided) atomic_compare_exchange_strong(&w->race->winner, &none, w->index);
}

/* Until all have stopped; tells them to when one has won, or when we are told to. */
static void watch(race *r, worker *w, uint32_t n, const guard *g)
{
    uint64_t nap = NAP;
    for (uint32_t done = 0; done < n;) {
        clock_nap(nap);
        if (nap < LONG_NAP) nap += nap / 4;
        if (atomic_load(&r->winner) >= 0 || (g->interrupt && *g->interrupt)) r->stop = 1;
        done = 0;
        for (uint32_t i = 0; i < n; i++) done += atomic_load(&w[i].task.done);
    }
    for (uint32_t i = 0; i < n; i++) task_wait(&w[i].task);
}

void portfolio_decide(order_problem *p, asg *g, const order_question *ask, order_decider decide,
                      decision *a)
{
    mem *m = g->m;
    uint32_t n = ask->tune->portfolio;
    assert(n > 1 && ask->rule);
    asg_by_key(g); /* made on demand, so not by the workers */
    worker *w = mem_array0(m, worker, n);
    race r = {.stop = 0};
    atomic_init(&r.winner, -1);
    guard like = {.interrupt = &r.stop, .deadline = m->guard->deadline};
    for (uint32_t i = 0; i < n; i++) {
        w[i] = (worker){.race = &r,
                        .index = (int)i,
                        .g = *g,
                        .tune = *ask->tune,
                        .ask = *ask,
                        .decide = decide};
        w[i].task.run = run;
        w[i].tune.seed += i;
        w[i].ask.tune = &w[i].tune;
        mem_init(&w[i].mem, m->fn, m->ud, &w[i].task.guard);
        if (m->limit) w[i].mem.limit = (m->limit - m->used) / n + 1;
        w[i].g.m = &w[i].mem;
        task_start(&w[i].task, &like);
    }
    watch(&r, w, n, m->guard);
    int won = atomic_load(&r.winner);
    uint32_t keep = won >= 0 ? (uint32_t)won : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == keep)
            mem_give_all(&w[i].mem, m);
        else
            mem_free_all(&w[i].mem);
    }
    if (won < 0) task_raise(&w[0].task, m->guard);
    assert(!w[keep].a.undecided || won < 0);
    *p = w[keep].p;
    *a = w[keep].a;
    p->g = g;
    p->m = m;
    p->tune = ask->tune;
}
