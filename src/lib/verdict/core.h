/*
 * core.h - the few transactions that a violation is made of.
 *
 * A violation of a huge history is found by deductions that name a handful of transactions.  Those
 * (the suspects) are cut out as a history of their own (subhistory.h), which is then made smaller
 * while it stays violated; what remains is shown to the user.  What the violation rests on is asked
 * of the part first: if a part is violated without session order, so is the whole.
 */
#ifndef RATEL_VERDICT_CORE_H
#define RATEL_VERDICT_CORE_H

#include "verdict/subhistory.h"
#include "verdict/verdict.h"

/* Is what violates the rule among few transactions a violation of the whole? */
bool core_reduces(const level_rule *rule);
#define CORE_SMALL 10u /* a violation of another level that names so few is left as it is */

/* While the graph of the whole is there: the suspects, in the region of v's answer, or NULL if
   there is no time to find them or no proof names them.  p and a: the problem and the decision that
   v describes. */
part *core_suspects(const verdict *v, const problem *p, const decision *a);

/* Levels that may show what a strong one rejects, weakest first. */
#define CORE_WEAKER 4
extern const enum weak_level core_weaker[CORE_WEAKER];

typedef struct core_told {
    bool told;        /* v describes the part */
    uint32_t weaker;  /* how many of core_weaker may have a better name in the whole history */
    uint32_t without; /* RESTS_*: it is violated without these too */
} core_told;

/* Makes the violation that v tells smaller; v is as it was if that fails.  blank: v before anything
   was found.  work is emptied. */
core_told core_tell(verdict *v, const verdict *blank, part *suspects, const order_question *ask,
                    mem *work);

/* The same for a weak level: p and a are of the whole (its graph is gone afterwards). */
void core_tell_weak(verdict *v, const verdict *blank, const problem *p, const decision *a,
                    mem *work);

#endif
