/*
 * initial_values.h - initial values that the search chooses (asg.init_open).
 */
#ifndef RATEL_DECIDE_LAZY_INITIAL_VALUES_H
#define RATEL_DECIDE_LAZY_INITIAL_VALUES_H

#include "decide/lazy/lazy_state.h"

/* Does nothing if the initial value of every key is known. */
void initial_start(lazy *z);
/* Is it a choice what the read can have seen of the initial state? */
bool initial_is_open(const lazy *z, uint32_t ob);
/* Was it the initial state and nothing else that the read can have seen?  (Then a version of the
   same value does not explain it.) */
bool initial_alone(const lazy *z, uint32_t ob);
/* The candidates of an open read have got their literals. */
void initial_written(lazy *z, uint32_t open);
/* May the read, one of whose candidates is the initial state, see it as things stand? */
bool initial_allowed(lazy *z, uint32_t ob);
/* Does the read see the initial state in the model that the solver found, by its choice? */
bool initial_in_model(const lazy *z, uint32_t ob);
/* The read sees the initial state and may not: a literal to decide, or THEORY_ANY. */
uint32_t initial_demand(lazy *z, uint32_t ob);
/* Queues the reads that see an initial version, since choices may have been undone; false if
   nothing has changed. */
bool initial_look_again(lazy *z);
/* The initial values that are chosen now, per key (VALUE_UNKNOWN: none), and the n literals that
   say so; there are at most initial_lits() of them. */
void initial_chosen(lazy *z, value_id *value, uint32_t *lits, size_t *n);
size_t initial_lits(const lazy *z);

#endif
