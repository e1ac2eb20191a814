/*
 * verdict.h - an answer in the terms of the history: what was asked, what holds, and why not.
 *
 * A verdict owns its memory (one region) and refers to the history by transaction and key ids
 * only.  A violation carries an anomaly name, a sentence, a cycle (where there is one) and the
 * transactions that matter; a positive answer a commit order and the choices that it rests on,
 * which recheck.c replays with code of its own.
 */
#ifndef RATEL_VERDICT_VERDICT_H
#define RATEL_VERDICT_VERDICT_H

#include "asg/asg.h"
#include "level/level.h"
#include "lint/lint.h"
#include "opt/anomaly.h"

enum outcome { OUTCOME_UNDECIDED, OUTCOME_HOLDS, OUTCOME_VIOLATED };

/* --ryow, with the automatic choice */
enum policy { POLICY_MUST, POLICY_EXTERNAL, POLICY_MAY, POLICY_AUTO };

typedef struct cycle_link {
    txn_id from, to;
    const char *edge; /* "so", "wr", "ww", "rw" */
    key_id key;       /* NO_ID: none */
} cycle_link;

/* What one read saw, where the trace leaves a choice. */
typedef struct chosen {
    op_id op;
    key_id key;
    txn_id writer; /* NO_ID: the initial state */
} chosen;

#define RESTS_SESSION 1u
#define RESTS_REALTIME 2u
#define RESTS_HINTS 4u

typedef struct verdict {
    mem mem;  /* of the answer */
    mem work; /* of deciding; empty afterwards */
    const history *h;
    level_ref level;
    char given[64];
    bool session_order;
    enum ryow ryow;
    int64_t drift;
    enum outcome outcome;
    uint32_t anomaly; /* enum anomaly; ANOMALIES if none */
    char *reason;     /* one sentence */
    VEC(cycle_link) cycle;
    VEC(txn_id) core;
    char *through; /* the weaker level whose violation decided it, or NULL */
    lint_set warnings;
    uint32_t rests_on; /* bits */

    txn_id *order; /* holds: a commit order of the transactions that take part */
    uint32_t ordered;
    VEC(chosen) choices;

    uint64_t txns, ops, sessions, keys; /* committed */
    uint64_t ns_analyse, ns_solve;
    uint64_t vars, clauses, conflicts, instantiated;

    /* for limits that strike while a violation that was found is looked into */
    bool settled;
    struct verdict *kept;
} verdict;

typedef struct question {
    const char *level;
    bool session_order;
    enum policy policy;
    int64_t drift;
    size_t memory_limit; /* bytes for deciding, 0: none */
    bool quick;          /* do not look for what the violation rests on */
} question;

/* Fills *v (whose regions the caller has opened and frees).  Limits and failures leave through
   the regions' guard. */
void judge(verdict *v, const history *h, const question *q);
/* After a limit struck in judge: true if a violation had been found, which *v then tells. */
bool judge_limited(verdict *v);

/* quick.c: true if running the transactions by their client times explains every read; then the
   order is kept in v. */
bool quick_accept(verdict *v, const history *h, const facts *f);

/* recheck.c: true if the answer stands on the history; else *why says what is wrong. */
bool recheck(const verdict *v, const history *h, mem *m, const char **why);

#endif
