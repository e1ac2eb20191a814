/*
 * additions.h - what modules add to a history: assumptions about the order of its transactions.
 *
 * An addition says that at least one of its sets of edges is true.  One set is a plain statement;
 * sets of one edge each are a clause; the rest are choices.  An edge joins two events: the begin or
 * the commit of a transaction, or a helper point, which is nothing but a place in the order.
 *
 *   orders    the first event stands before the second; a level that gives a transaction one place
 *             in the order takes that place for both of its events
 *   depends   all of the first transaction stands before all of the second, and the second saw it,
 *             as session order has it: a step of the paths of levels that have session order in
 *             them.  Steps of this kind join: of three transactions, the third saw the first.
 *
 * What is said of a transaction holds if it took part: an edge of one that did not is true.
 * Invariant (additions_check): every number is in its range; points stand only in edges that an
 * addition with one set says, and never in `depends`.
 */
#ifndef RATEL_HISTORY_ADDITIONS_H
#define RATEL_HISTORY_ADDITIONS_H

#include "base/mem.h"
#include "base/vec.h"

enum added_at { AT_BEGIN, AT_COMMIT, AT_POINT };
enum added_kind { ADDED_ORDERS, ADDED_DEPENDS };

typedef struct added_edge {
    uint32_t from, to;      /* transactions, or points */
    uint8_t from_at, to_at; /* enum added_at */
    uint8_t kind, reserved; /* enum added_kind; 0 */
} added_edge;

typedef struct addition {
    uint32_t module; /* whose, in `modules` */
    uint32_t reason; /* where its text begins in `text`, which ends with 0 */
    uint32_t first_set, sets;
} addition;

typedef struct additions {
    mem *m;
    VEC(uint32_t) modules; /* where each name begins in `text` */
    VEC(char) text;
    uint32_t points;
    VEC(addition) at;
    VEC(uint32_t) set_end; /* of each set: the end of its edges; it begins where the last ended */
    VEC(added_edge) edges;
} additions;

additions *additions_new(mem *m);
/* What follows is said by that module. */
void additions_module(additions *a, const char *name);
/* One addition: its sets, each closed by additions_set_end. */
void additions_begin(additions *a, const char *reason);
void additions_edge(additions *a, added_edge e);
void additions_set_end(additions *a);

static inline uint32_t additions_set_first(const additions *a, uint32_t set)
{
    return set ? a->set_end.at[set - 1] : 0;
}
static inline const char *additions_reason(const additions *a, size_t i)
{
    return a->text.at + a->at.at[i].reason;
}
static inline const char *additions_name(const additions *a, uint32_t module)
{
    return a->text.at + a->modules.at[module];
}

/* NULL if all is in its range, for a history of that many transactions; else what is wrong. */
const char *additions_check(const additions *a, size_t txns);
/* The additions of a part of the history, in which transaction t is now[t], or is not (NO_ID).
   What is said of those that are left out is true.  NULL: nothing is left to say. */
additions *additions_restrict(mem *m, const additions *a, const uint32_t *now);
/* The same and those of b, which speak of the same transactions. */
additions *additions_join(mem *m, const additions *a, const additions *b);

#endif
