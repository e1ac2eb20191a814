/*
 * decide.h - one interface for every way to decide a level on a semantic graph.
 *
 * A `problem` is the graph and what is asked of it; a `decider` is a way to decide such problems.
 * decide() asks the deciders of one table in order and takes the first answer.  Judging a history,
 * making a violation smaller, naming it and proving it all call decide(), so that they mean the
 * same by "violated".
 *
 * A budget is a number of conflicts; time, memory and interrupts are the guard's business, which
 * leaves through the region of the graph.
 */
#ifndef RATEL_DECIDE_DECIDE_H
#define RATEL_DECIDE_DECIDE_H

#include "decide/decision.h"
#include "decide/weak/weak.h"

/* What was spent on one question, over all attempts. */
typedef struct cost {
    mem *m; /* of the stages */
    uint64_t ns_analyse, ns_solve;
    VEC(stage_time) stages;                          /* of the strategy, each name once */
    uint64_t vars, clauses, conflicts, instantiated; /* of the last search */
    uint64_t rounds, fixed, moved;                   /* the same, by stage: see decision.h */
    uint64_t width[CYCLE_WIDTHS];                    /* over all searches */
} cost;

/* Is a log of the search kept, from which a proof can be made (decide/proof/justify.h)? */
enum log_wish {
    KEEP_NO_LOG,
    KEEP_LOG_IF_CHEAP, /* where it changes nothing else, and up to CHEAP_LOG */
    KEEP_LOG           /* so only deciders that can keep one are asked */
};
#define CHEAP_LOG ((size_t)1 << 22)

typedef struct problem {
    /* What is asked.  The caller sets it; no decider changes it. */
    asg *g;             /* of the whole transactions */
    order_question ask; /* ask.rule NULL: only the test counts */
    bool tested;        /* the level has a polynomial test: */
    enum weak_level test;
    bool guess; /* ambiguous reads of the test are only guessed at, which can accept */
    bool plain; /* derive nothing before the search (order_problem.plain) */
    enum log_wish log;
    cost *cost; /* NULL: nobody counts */

    /* What deciding left: the order problem that the answer speaks of.  Its graph is g, `parts`
       (InnoDB's levels) or `segment`, so a problem is not copied once it was decided.  Not to be
       read unless `ordered`. */
    bool ordered;
    order_problem order;
    asg parts, segment;
    enum rule_split split; /* how `parts` was made; SPLIT_NONE: it was not */
    order_question shown;  /* BY_STRONGER: the question that was answered */
} problem;

typedef struct decider {
    enum decider_id id; /* its name is decider_at(id)->name */
    bool (*applies)(const problem *p);
    /* True: *a is the answer, which may be that there is none, for a reason that no later decider
       can mend.  False: ask the next one. */
    bool (*decide)(problem *p, uint64_t conflicts, decision *a);
} decider;

/* Decides the problem.  conflicts: of one search, 0: no limit. */
void decide(problem *p, uint64_t conflicts, decision *a);

/* NULL, or what is broken in the answer that decide gave. */
const char *decision_check(const problem *p, const decision *a);

/* Makes p->order for the question, on the graph that it needs. */
void decide_build(problem *p, const order_question *ask);

/* Serializability and snapshot isolation, which all strategies decide.  (Strict serializability is
   this rule with real time.) */
static inline bool rule_is_basic(const level_rule *rule)
{
    return rule->level == LEVEL_SER || rule->level == LEVEL_SI;
}

#endif
