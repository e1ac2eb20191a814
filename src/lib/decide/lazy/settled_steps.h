/*
 * settled_steps.h - who leads to whom by a settled letter of an automaton (order/path_automaton.h),
 * without a list of all the pairs.
 *
 * Runs of transactions are laid out so that what leads to a transaction is the beginning of a few
 * runs, and a few single ones.  Session order is one run for each session; real time is one run,
 * all by their ends.  Real time between sessions alone has two runs for each bit of the sessions'
 * numbers, for the sessions that have the bit and for those that have not: another session differs
 * in some bit, the own one in none.  So there are n log(sessions) members.
 */
#ifndef RATEL_DECIDE_LAZY_SETTLED_STEPS_H
#define RATEL_DECIDE_LAZY_SETTLED_STEPS_H

#include "decide/lazy/paths_state.h"

typedef struct settled_steps {
    VEC(node_id) member;              /* the runs, one after another */
    VEC(uint32_t) run_of;             /* per member */
    VEC(uint32_t) run_first;          /* per run */
    VEC(uint32_t) ask, pair;          /* members, each with all of its run before it; and nodes */
    uint32_t *ask_first, *pair_first; /* per node, and one more */
} settled_steps;

/* `cells` go forward in every order (SETTLED_FORWARD).  Linear in what is made, unless the clocks
   of a session contradict its order: then its transactions are compared one by one. */
void settled_steps_make(settled_steps *out, const lazy *z, unsigned cells);

#endif
