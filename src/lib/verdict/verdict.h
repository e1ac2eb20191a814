/*
 * verdict.h - an answer in the terms of the history: what was asked, what holds, and why not.
 *
 * A verdict owns its memory (one region) and refers to the history by transaction and key ids
 * only.  A violation carries an anomaly name, a sentence, a cycle (where there is one) and the
 * transactions that matter; a positive answer a commit order and the choices that it rests on,
 * which the room verify replays with code of its own.
 */
#ifndef RATEL_VERDICT_VERDICT_H
#define RATEL_VERDICT_VERDICT_H

#include "base/printer.h"
#include "asg/asg.h"
#include "base/clock.h"
#include "opt/level.h"
#include "lint/lint.h"
#include "opt/anomaly.h"
#include "opt/tuning.h"
#include "verify/claim.h"

/* --ryow, with the automatic choice */
enum policy { POLICY_MUST, POLICY_EXTERNAL, POLICY_MAY, POLICY_AUTO };

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
    cycle_links cycle;
    txn_ids core;
    char *through;   /* the weaker level whose violation decided it, or the stronger one that holds,
                      or NULL */
    bool through_so; /* its session order */
    const char *shown; /* holds: the stronger level that was shown to hold, if it was another */
    lint_set warnings;
    uint32_t rests_on; /* bits */
    bool trusted;      /* decided by the database's timestamps */
    op_id at_op;       /* trusted, violated: as claim.h says */
    key_id at_key;

    txn_id *order; /* holds: a commit order of the transactions that take part */
    uint32_t ordered;
    chosen_reads choices;
    point_order points; /* of claim.h */
    chosen_reads point_choices;

    uint64_t txns, ops, sessions, keys; /* committed */
    uint64_t ns_analyse, ns_solve;
    VEC(stage_time) stages; /* of the strategy, each name once */
    uint64_t vars, clauses, conflicts, instantiated;

    /* for limits that strike while a violation that was found is looked into */
    bool settled;
    struct verdict *kept;

    bool want_part;
    struct part *part; /* violated: transactions that show it (core.h); NULL when judged */
} verdict;

typedef struct question {
    const char *level;
    bool session_order;
    enum policy policy;
    int64_t drift;
    size_t memory_limit; /* bytes for deciding, 0: none */
    tuning tune;
    bool trust; /* the database's timestamps */
    bool quick; /* do not look for what the violation rests on */
} question;

/* Fills *v (whose regions the caller has opened and frees).  Limits and failures leave through
   the regions' guard. */
void judge(verdict *v, const history *h, const question *q);
/* Fills *v, whose level and session order are set, from an answer that a stronger level holds. */
void judge_implied(verdict *v, const verdict *stronger);
/* After a limit struck in judge: true if a violation had been found, which *v then tells. */
bool judge_limited(verdict *v);

/* Takes an answer back, for another attempt; what kept copies refer to stays. */
void verdict_forget(verdict *v);

enum dump_stage {
#define STAGE(id, name, help) DUMP_##id,
#include "opt/stages.def"
#undef STAGE
    DUMP_STAGES
};
/* dump_stages.c: the stage as text.  GUARD_UNSUPPORTED if the level or the history has no such
   stage. */
void judge_dump(verdict *v, const history *h, const question *q, enum dump_stage stage, printer *d);

/* client_times.c: true if running the transactions by their client times explains every read; then
   the order is kept in v. */
bool quick_accept(verdict *v, const history *h, const facts *f);

/* trusted_timestamps.c: by the database's timestamps; fills v unless they say too little. */
enum trusted_answer { TRUSTED_UNUSABLE, TRUSTED_HOLDS, TRUSTED_VIOLATED };
enum trusted_answer trusted_decide(verdict *v, const history *h, const facts *f, bool si);

/* certify.c: the answer with its proof, as text (verify/certificate.h).  Fails through the guard:
   GUARD_INVAL if it is undecided, GUARD_UNSUPPORTED if there is no proof of that kind. */
void certify(const verdict *v, const history *h, mem *work, strbuf *out);
/* certify.c: true if the answer stands on the history; else *why says what is wrong. */
bool recheck(const verdict *v, const history *h, mem *m, const char **why);

/* The answer as a claim, which the room verify can recheck; it borrows v's arrays. */
claim claim_of(const verdict *v);

#endif
