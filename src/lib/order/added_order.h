/*
 * added_order.h - what modules add (history/additions.h), between the events of an order problem.
 *
 * A plain statement about transactions that surely take part is a known edge, and one that leaves a
 * transaction of unknown outcome is an edge that counts if that one takes part, as for real time.
 * What is left are choices: at least one of some sets of arcs.  Where a proof is wanted all
 * statements are choices, because the log has no reasons for known edges but those that the history
 * gives.
 *
 * An arc between two events of one transaction at one place is never true (from == to): its choice
 * can only be met by another set, or if the transaction took no part.
 */
#ifndef RATEL_ORDER_ADDED_ORDER_H
#define RATEL_ORDER_ADDED_ORDER_H

#include "history/additions.h"
#include "order/order_problem.h"

typedef struct added_arc {
    uint32_t from, to; /* events */
    node_id a, b;      /* their transactions; NO_ID: a helper point */
    uint32_t edge;     /* its number in its set of the addition, from 0 */
} added_arc;

typedef struct added_choice {
    uint32_t of;   /* index of the addition */
    uint32_t edge; /* of a plain statement: the number of the edge, from 0; NO_ID: all its sets */
    uint32_t first_set, sets;
} added_choice;

typedef struct added_order {
    const additions *from;
    uint32_t first_point; /* the event of point 0 */
    VEC(added_choice) choices;
    VEC(uint32_t) set_end; /* of each set: the end of its arcs */
    VEC(uint32_t) set_of;  /* of each set: its number in its addition */
    VEC(uint8_t) single;   /* of each set: the addition has one edge there */
    VEC(added_arc) arcs;
    /* The steps of paths: of node v, those that it depends on are dep[dep_first[v]..) */
    uint32_t *dep_first;
    node_id *dep;
    uint32_t *dep_of; /* parallel: the addition that says so */
} added_order;

static inline uint32_t added_set_first(const added_order *x, uint32_t set)
{
    return set ? x->set_end.at[set - 1] : 0;
}

/* Puts the additions into the problem; logged: a proof is wanted. */
void added_build(order_problem *p, const additions *add, bool logged);
/* Why the level cannot take these additions, or NULL. */
const char *added_refusal(const level_rule *rule, const additions *add);
/* Does the order keep all that was added?  pos: of every event; out: per node, takes no part. */
bool added_kept(const order_problem *p, const uint32_t *pos, const uint8_t *out);

#endif
