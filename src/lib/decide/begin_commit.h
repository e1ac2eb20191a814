/*
 * begin_commit.h - snapshot isolation over begin/commit polygraphs.
 *
 * A baseline (Viper's scheme) on our own code, to see what each idea is worth; decides the same
 * problem as lazy.h and gives the same kind of answer.
 */
#ifndef RATEL_DECIDE_BEGIN_COMMIT_H
#define RATEL_DECIDE_BEGIN_COMMIT_H

#include "decide/lazy/lazy.h"

void bc_decide(order_problem *p, uint64_t conflicts, decision *a);

#endif
