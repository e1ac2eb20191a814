/*
 * portfolio.h - the same order problem with several seeds side by side; the first answer counts.
 */
#ifndef RATEL_DECIDE_PORTFOLIO_H
#define RATEL_DECIDE_PORTFOLIO_H

#include "decide/decision.h"

/* Builds and decides tune->portfolio copies of the problem, each in a thread and a region of its
   own; *p and *a are as the winner leaves them, in g's region.  The allocator of that region must
   bear threads. */
void portfolio_decide(order_problem *p, asg *g, const order_question *ask, order_decider decide,
                      decision *a);

#endif
