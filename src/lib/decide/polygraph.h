/*
 * polygraph.h - serializability and snapshot isolation with every pair written out.
 *
 * A baseline (VeriStrong's scheme) on our own code, to see what each idea is worth; it decides the
 * same problem as lazy.h and gives the same kind of answer.
 */
#ifndef RATEL_DECIDE_POLYGRAPH_H
#define RATEL_DECIDE_POLYGRAPH_H

#include "decide/lazy/lazy.h"

void polygraph_decide(order_problem *p, uint64_t conflicts, decision *a);

#endif
