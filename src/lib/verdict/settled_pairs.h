/*
 * settled_pairs.h - relations of a definition that the history alone settles, as kinds of pairs.
 *
 * Session order, real time, the identity and products of sets relate two transactions by what these
 * two are, whatever else took part.  So everything that is made of them by |, &, \, ^-1 and ? is a
 * set of kinds of pairs: how the two stand in a session, how in real time, and of which classes
 * they are.  Compositions are not: (so ; so) asks for a third one.
 */
#ifndef RATEL_VERDICT_SETTLED_PAIRS_H
#define RATEL_VERDICT_SETTLED_PAIRS_H

#include "iso/iso.h"
#include "order/path_automaton.h"

typedef struct settled_pairs {
    uint64_t kinds;
    bool speaks_of_time;
} settled_pairs;

/* Is it a relation whose operator can only be understood so: an inverse, a product by itself, or a
   difference or intersection that is no test of the classes? */
bool settled_is_wanted(const iso_node *x);
/* False if the relation is not settled in this sense. */
bool settled_read(settled_pairs *out, const iso_node *x);
/* The kinds (SETTLED_CELL) of pairs from these classes to those.  Asked for all sets of classes, it
   gives every kind once, under sets that are as large as can be. */
unsigned settled_cells(const settled_pairs *p, unsigned from, unsigned to);
/* Does it relate transactions to themselves? */
bool settled_itself(const settled_pairs *p);
/* Does it lead only forward in every order that keeps session order and real time, and so never to
   the initial state? */
bool settled_goes_forward(const settled_pairs *p);

#endif
