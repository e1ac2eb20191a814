/*
 * core.h - the few transactions that a violation is made of.
 *
 * A violation of a huge history is found by deductions that name a handful of transactions.  Those
 * (the suspects) are cut out as a history of their own (subhistory.h), which is then made smaller
 * while it stays violated; the answer is told by what remains.  What it rests on is asked of the
 * part first: if a part is violated without session order, so is the whole.
 */
#ifndef RATEL_VERDICT_CORE_H
#define RATEL_VERDICT_CORE_H

#include "decide/lazy/lazy.h"
#include "decide/weak/weak.h"
#include "verdict/subhistory.h"
#include "verdict/verdict.h"

/* Words of the log that a run may keep for core_suspects without being asked. */
#define CORE_LOG ((size_t)1 << 22)

/* Is this how strong levels are told?  (Strict serializability is a rule and real time.) */
bool core_knows(const level_rule *rule);
/* Is what violates the rule among few transactions a violation of the whole? */
bool core_reduces(const level_rule *rule);
#define CORE_SMALL 10u /* a violation of another level that names so few is left as it is */

/* While the graph of the whole is there: v->part becomes the suspects.  p and a: a run of lazy.c
   with p->justify that was violated; NULL: there was none. */
void core_suspects(verdict *v, asg *g, const order_question *ask, order_problem *p,
                   const order_answer *a);

/* Levels that may show what a strong one rejects, weakest first. */
#define CORE_WEAKER 4
extern const enum weak_level core_weaker[CORE_WEAKER];

typedef struct core_told {
    bool told;        /* v is told by the part */
    uint32_t weaker;  /* how many of core_weaker may have a better name in the whole history */
    uint32_t without; /* RESTS_*: it is violated without these too */
} core_told;

/* Makes the violation that v tells smaller; v is as it was if that fails. */
core_told core_tell(verdict *v, const order_question *ask);

/* The same for a weak level: g is the graph of the whole (gone afterwards), a its answer. */
void core_tell_weak(verdict *v, asg *g, const weak_answer *a, enum weak_level level);

#endif
