/*
 * decision.h - what every way to decide answers: an order, a contradiction, or neither.
 *
 * Exactly one of three is true.  `holds`: there is an order that explains every read, and it is
 * here.  `undecided`: nothing was found out, and the text says why.  Neither of the two: the level
 * is violated, and the contradiction is here.  A decider fills the fields of its own kind of order
 * and contradiction; the others stay zero.  Arrays belong to the region of the graph.
 */
#ifndef RATEL_DECIDE_DECISION_H
#define RATEL_DECIDE_DECISION_H

#include "base/clock.h"
#include "opt/decider.h"
#include "order/order_problem.h"

/* The contradictions of polynomial tests and plain faults, which are described edge by edge. */
enum contradiction {
    WHY_NONE,  /* an order problem's: path, events or core say more */
    WHY_FAULT, /* a read that nothing explains: `fault` */
    WHY_CYCLE, /* a cycle of known and forced edges: `path` */
    WHY_INIT,  /* `bad_ob` read the initial state although `bad_node` was visible to it */
    WHY_SEARCH /* every choice was tried */
};

#define CYCLE_WIDTHS 8u

typedef struct decision {
    bool holds;
    const char *undecided; /* NULL, or why there is no answer: static text */
    enum decider_id by;    /* who decided; set by decide() */

    /* Holds.  Who takes part, what every read saw, and one order: either the nodes in the order of
       their commits (`order`), or the place of every event of the order problem (`pos`). */
    uint32_t *rf;           /* per obligation: the node that it reads from, or RF_* */
    uint8_t *out;           /* per node: 1 if its outcome is unknown and it is taken as aborted */
    node_id *order;         /* NULL if `pos` has the order */
    uint32_t n;             /* nodes of `order` */
    uint32_t *pos;          /* NULL if `order` has the order */
    struct decision *whole; /* InnoDB's levels: the order of the whole transactions; NULL: any that
                               forward chaining finds */
    bool all_sources; /* rf is a choice of the search for every read of `order`, not only for the
                         ambiguous ones */

    /* Violated, by a test of one level or by a plain fault. */
    enum contradiction why;
    size_t fault;     /* WHY_FAULT: index of g->faults */
    uint32_t bad_ob;  /* WHY_INIT */
    node_id bad_node; /* WHY_INIT */

    /* Violated: the cycle of WHY_CYCLE, or a read that known edges of an order problem alone
       break; may be empty. */
    cycle path;

    /* Violated order problem. */
    bool known_cycle;    /* by known edges and what they force: `cycle` */
    VEC(uint32_t) cycle; /* its events, in order */
    VEC(node_id) core;   /* transactions of the clauses that were written */

    bool brief; /* running the transactions one by one was given up early (order_problem.brief) */

    /* What it cost. */
    uint64_t tried;   /* tests of the search for sources */
    uint64_t derived; /* version-order edges that the last test forced */
    uint64_t vars, clauses, conflicts, moved, fixed, rounds;
    /* Cycles that the order theory refused, by their width: how many edges of them were choices.
       The last entry counts all wider ones (VeriStrong, Figure 5). */
    uint64_t width[CYCLE_WIDTHS];
    VEC(stage_time) stages;
} decision;

static inline bool decision_violated(const decision *a)
{
    return !a->holds && !a->undecided;
}

/* Notes what a stage took: all since *since, which becomes now. */
static inline void answer_stage(mem *m, decision *a, const char *name, uint64_t *since)
{
    uint64_t now = clock_now();
    stage_time s = {name, now - *since};
    vec_push(m, &a->stages, s);
    *since = now;
}

/* A way to decide an order problem.  conflicts: give up after that many; 0: never. */
typedef void (*order_decider)(order_problem *p, uint64_t conflicts, decision *a);

#endif
