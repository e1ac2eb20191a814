/*
 * judge_iso.h - a level that is written as text, decided by the engine of the built-in levels.
 */
#ifndef RATEL_VERDICT_JUDGE_ISO_H
#define RATEL_VERDICT_JUDGE_ISO_H

#include "verdict/certify_iso.h"
#include "verdict/verdict.h"

typedef struct iso_judgement {
    enum outcome outcome;
    bool outside;        /* the definition says more than the engine decides: `reason` says what */
    const char *reason;  /* one sentence */
    bool unfit;          /* the history is of a kind that the engine does not decide */
    const char *anomaly; /* violated by a read that nothing explains: its name; else NULL */
    txn_id faulty;       /* ... and its reader; else NO_ID */
    txn_ids core;        /* violated: these transactions alone show it; empty: nobody looked */
    bool minimal;        /* none of them can be left out */
    txn_id *order;       /* holds: those that take part, in an order that was checked */
    uint32_t ordered;
    chosen_reads choices;
    uint32_t states; /* of the automaton */
    enum ryow ryow;
    uint64_t vars, clauses, conflicts, instantiated; /* of the last search */
} iso_judgement;

/* Fills *out, whose arrays are of the region `kept`.  work is emptied.  Wrong text leaves by the
   guard (GUARD_PARSE). */
void judge_iso(iso_judgement *out, const iso_question *ask, const question *q, const history *h,
               mem *kept, mem *work);

#endif
