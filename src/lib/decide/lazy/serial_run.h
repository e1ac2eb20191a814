/*
 * serial_run.h - transactions run one by one, and undone again, for the searches of a serial order
 * (serial_search.c, wide_search.c).
 *
 * An event is ready once all its predecessors in the known graph have run.  Events beyond those of
 * transactions, and transactions of unknown outcome, change nothing and can always run.
 *
 * Invariant: undoing restores every array to what it was, element by element; `ready` holds the
 * events all of whose predecessors have run and which have not run.
 */
#ifndef RATEL_DECIDE_LAZY_SERIAL_RUN_H
#define RATEL_DECIDE_LAZY_SERIAL_RUN_H

#include "decide/lazy/run_store.h"

typedef struct serial_run {
    lazy *z;
    asg *g;
    order_problem *p;
    const order_graph *known;
    uint32_t *missing; /* per event: predecessors that have not run */
    uint32_t *ready, readies;
    uint32_t *slot; /* per event that is ready: where in `ready`; that has run: where it was */
    uint32_t *trail, height; /* events that have run */
    uint32_t left;           /* transactions that must run and have not */
    run_store store;
    uint32_t *before; /* per install that has run: the version that it overwrote */
    uint32_t *wanted; /* per class: ambiguous reads of events in `ready` */
    uint64_t misses;  /* those of them that the store does not show now */
    uint64_t state;   /* a hash of what has run and what the store holds */
} serial_run;

void serial_run_start(serial_run *s, lazy *z, const order_graph *known);
void serial_run_end(serial_run *s);

/* Runs the event at place `at` of `ready`; undoes the last one. */
void serial_run_event(serial_run *s, uint32_t at);
void serial_run_undo(serial_run *s);

/* Does the event order nothing: is it no transaction, or one that need not take part? */
static inline bool serial_run_idle(const serial_run *s, uint32_t e)
{
    return e >= s->p->txns || !s->p->in[e];
}
static inline bool serial_run_writes(const serial_run *s, node_id v)
{
    return s->g->inst_first[v] < s->g->inst_first[v + 1];
}
/* Do the reads of v return what the store holds, and may what it overwrites go? */
bool serial_run_can(const serial_run *s, node_id v);
/* How much a writer helps: by how many fewer reads of ready events are missing after it. */
int64_t serial_run_merit(const serial_run *s, node_id v);
/* How many of `most` looks a search may take until one more event has run than ever before: few if
   what is left is so little that the solver mends it sooner, or if there are other questions. */
static inline uint64_t serial_run_patience(const serial_run *s, uint32_t furthest, uint64_t most)
{
    if (s->p->brief) most /= 8;
    return furthest >= s->p->events - s->p->events / 128 ? most / 16 : most;
}
/* Fills pos with the events of `first`, and the others after them by their guess, which extends the
   known graph as a run does. */
void serial_run_order(const serial_run *s, const uint32_t *first, uint32_t n, uint32_t *pos);

#endif
