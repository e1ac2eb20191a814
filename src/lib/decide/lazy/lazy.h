/*
 * lazy.h - serializability and snapshot isolation by a lazily written order problem.
 */
#ifndef RATEL_DECIDE_LAZY_LAZY_H
#define RATEL_DECIDE_LAZY_LAZY_H

#include "base/clock.h"
#include "order/order_problem.h"

typedef struct order_answer {
    bool holds;
    uint32_t *pos;       /* holds: the place of each event */
    uint32_t *rf;        /* holds: what each obligation reads from */
    uint8_t *out;        /* holds: 1 for unknown transactions taken as aborted */
    bool known_cycle;    /* violated by known edges and what they force */
    VEC(uint32_t) cycle; /* events of that cycle, in order */
    cycle path;          /* violated: by a read that known edges alone break; may be empty */
    VEC(node_id) core;   /* violated: transactions of the clauses that were written */
    uint64_t vars, clauses, conflicts, moved, fixed, rounds;
    VEC(stage_time) stages;
    const char *undecided; /* NULL, or why there is no answer */
} order_answer;

/* Notes what a stage took: all since *since, which becomes now. */
static inline void answer_stage(mem *m, order_answer *a, const char *name, uint64_t *since)
{
    uint64_t now = clock_now();
    stage_time s = {name, now - *since};
    vec_push(m, &a->stages, s);
    *since = now;
}

/* conflicts: give up after that many; 0: never. */
void lazy_decide(order_problem *p, uint64_t conflicts, order_answer *a);

#endif
