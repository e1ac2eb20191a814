/*
 * hearing.h - one level asked of one history, while it is being decided.
 *
 * The question stands in a hearing from the start and is not changed: to ask another level, or the
 * same without session order, a hearing of its own is opened.  The graph, the problem and the
 * decision are scratch, gone with the next attempt.  What was found is written into `found`, a copy
 * of the verdict, and reaches the caller's verdict only as a whole, by hearing_publish.
 */
#ifndef RATEL_VERDICT_HEARING_H
#define RATEL_VERDICT_HEARING_H

#include "verdict/fuzzy_read.h"
#include "verdict/verdict.h"

typedef struct hearing {
    /* The question: constant. */
    const history *h;
    const question *q;
    const facts *f;
    level_ref asked; /* by the user; what is decided here may be another level */
    bool so;         /* of what is decided here */
    bool tested;     /* it has a polynomial test: */
    enum weak_level test;
    const level_rule *rule; /* it is a rule about orders; NULL: it is not */
    bool rt;                /* ... with real time */
    enum decider_id by;     /* who is named as having decided; BY_NOBODY: the decider */
    verdict blank;          /* the verdict before anything was found, but for its warnings */

    /* Scratch of the last attempt, in `work`.  g, p and a belong together. */
    mem *work;
    uint64_t begun; /* when the hearing was opened */
    uint32_t ticks; /* those of the guard then */
    unsigned flags; /* ASG_* of the graph */
    asg g;
    problem p;
    decision a;
    bool fuzzy; /* instead of a decision, if the level is violated: */
    repeated_read twice;

    /* The answer: what the attempt found, and where whole answers go. */
    verdict found;
    verdict *v;
} hearing;

/* The level of a hearing: how this build decides it.  Neither a test nor a rule: not by itself. */
void hearing_of(hearing *x, const level_ref *level, bool so);

/* Decides p (its question) on a fresh graph; with_free: before a violation is held against the
   history, keys of unknown initial contents get every initial value as their chance. */
void hearing_decide(hearing *x, const problem *asked, unsigned flags, bool with_free);
/* The same under what modules added to the history, by the strategy lazy; false, with the reason in
   *why: the level or the history does not take that. */
bool hearing_decide_added(hearing *x, const problem *asked, const char **why);
/* The same for the hearing's own problem; a transaction that read a key twice with different
   results is looked for first. */
void hearing_decide_level(hearing *x, const problem *asked);
/* The problem of the hearing's own level. */
problem hearing_problem(const hearing *x);
/* Is a violation of this hearing worth looking for a few transactions that show it? */
bool hearing_reduces(const hearing *x);
/* Adds to the blank verdict the warnings that the graph of the last attempt gives cause for. */
void hearing_warn(hearing *x);
/* Was the last graph made without assuming anything about unknown initial contents? */
bool hearing_is_final(const hearing *x);
/* Writes what hearing_decide found into x->found, in the terms of the history. */
void hearing_tell(hearing *x);
void hearing_publish(hearing *x);

/* look_into.c: publishes the violation in x->found, then makes it small, gives it a finer name and
   finds out what it rests on; each improvement is published, too. */
void look_into(hearing *x);

/* assumed.c: decides the level with what modules added.  False: there is no answer yet, and the
   history must be decided without the additions; if it holds so, x->found has what to say. */
bool assumed_hear(hearing *x);

void verdict_reason(verdict *v, const char *text);
/* judge.c: what was asked and the counts of the history; false if there is nothing to check, which
   the verdict then says. */
bool judge_open(verdict *v, const history *h, const question *q, facts *f, mem *work);

#endif
