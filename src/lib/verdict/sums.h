/*
 * sums.h - steps of judge.c for counters and banks (doc/formats/others.md, "Jepsen's models").
 *
 * Their operations add to what is there, which reads and writes of values cannot express; so the
 * level is decided here, from the members "operation" and "argument" of the transactions.
 */
#ifndef RATEL_VERDICT_SUMS_H
#define RATEL_VERDICT_SUMS_H

#include "verdict/hearing.h"

/* Is the history one of a counter or a bank (its header says "model")? */
bool history_has_sums(const history *h);
bool judging_sums(const hearing *x);
bool judge_sums(hearing *x); /* always the answer, which may be undecided */

#endif
