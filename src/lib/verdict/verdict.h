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
#include "decide/decide.h"
#include "history/aborted_readers.h"
#include "opt/level.h"
#include "lint/lint.h"
#include "opt/anomaly.h"
#include "opt/tuning.h"
#include "verify/claim.h"

/* --ryow, with the automatic choice */
enum policy {
#define RYOW(id, name) POLICY_##id,
#include "opt/ryow.def"
#undef RYOW
    POLICY_AUTO
};

#define RESTS_SESSION 1u
#define RESTS_REALTIME 2u
#define RESTS_HINTS 4u

/* A verdict is plain data and may be copied: judge works on copies and writes the caller's verdict
   only with a whole answer, so that a limit, whenever it strikes, leaves what was found before. */
typedef struct verdict {
    mem *mem; /* of what the answer points to; the caller opens and frees it */

    /* What was asked: judge sets it first, and nothing that is found changes it. */
    const history *h; /* the one that was judged: judge_history */
    level_ref level;  /* set by the caller */
    char given[64];   /* the level's name as the user wrote it */
    bool session_order;
    enum ryow ryow;
    int64_t drift;
    bool aborted_read; /* of the question; h has them, unless nothing aborted */

    /* The answer.  anomaly, cycle, core and rests_on belong to a violation. */
    enum outcome outcome;
    enum decider_id decided_by; /* BY_NOBODY: undecided */
    char *reason;               /* one sentence */
    uint32_t anomaly;           /* enum anomaly; ANOMALIES if none */
    cycle_links cycle;
    txn_ids core;
    uint32_t rests_on; /* RESTS_* */
    lint_set warnings;
    char *skipped; /* the warning of what was skipped, with numbers; NULL: nothing was */
    char *lost;    /* the same of lines that are missing */

    /* Another level that decided it: the weaker one whose violation is told, or the stronger one
       that holds.  through: the order, if there is one, is of that level and session order. */
    char *through;
    bool through_so;
    const char *shown; /* holds: a stronger level that was shown to hold on the way */

    /* Decided by the database's timestamps; at_op and at_key: as claim.h says, if violated. */
    bool trusted;
    op_id at_op;
    key_id at_key;

    /* Holds: a commit order of the transactions that take part, and what ambiguous reads saw. */
    txn_id *order;
    uint32_t ordered;
    chosen_reads choices;
    point_order points; /* of claim.h */
    chosen_reads point_choices;

    /* What modules added (history.assumed) counted: the answer is one under their assumptions.
       Holds: `events` keeps all of them.  Violated: `used` are those that the contradiction needs,
       as indices; none: it was not found out, so it may need all. */
    bool assumed;
    event_order events; /* of claim.h */
    VEC(uint32_t) used;

    uint64_t txns, ops, sessions, keys; /* committed */
    cost *cost; /* one object for all copies, so that a limit loses no count; NULL: none yet */
} verdict;

typedef struct question {
    const char *level;
    bool session_order;
    enum policy policy;
    int64_t drift;
    tuning tune;
    bool trust;        /* the database's timestamps */
    bool aborted_read; /* reads of aborted transactions are held to the level, too (H-9) */
    bool quick;        /* do not look for what the violation rests on */
} question;

/* The history that the question is about, in the region m if it is not h itself. */
const history *judge_history(const history *h, const question *q, mem *m);

/* Fills *v, of which the caller has set mem, level and given.  work is emptied.  Limits and
   failures leave through the guard of the regions; after a limit *v is undecided, or tells a
   violation that had been found. */
void judge(verdict *v, const history *h, const question *q, mem *work);
/* Fills *v, whose level and session order are set, from an answer that a stronger level holds. */
void judge_implied(verdict *v, const verdict *stronger);
/* The sentence of a warning (enum lint_id) about this history. */
const char *verdict_warning_text(const verdict *v, uint32_t warning);

enum dump_stage {
#define STAGE(id, name, help) DUMP_##id,
#include "opt/stages.def"
#undef STAGE
    DUMP_STAGES
};
/* dump_stages.c: the stage as text.  GUARD_UNSUPPORTED if the level or the history has no such
   stage. */
void judge_dump(const level_ref *level, const history *h, const question *q, enum dump_stage stage,
                printer *d, mem *work);

/* client_times.c: true if running the transactions by their client times explains every read; then
   the order is kept in v. */
bool quick_accept(verdict *v, const history *h, const facts *f, mem *work);

/* trusted_timestamps.c: by the database's timestamps; fills v unless they say too little. */
enum trusted_answer { TRUSTED_UNUSABLE, TRUSTED_HOLDS, TRUSTED_VIOLATED };
enum trusted_answer trusted_decide(verdict *v, const history *h, const facts *f, bool si,
                                   mem *work);

/* certify.c: the answer with its proof, as text (verify/certificate.h).  Fails through the guard:
   GUARD_INVAL if it is undecided, GUARD_UNSUPPORTED if there is no proof of that kind. */
void certify(const verdict *v, const history *h, mem *work, strbuf *out);
/* certify.c: true if the answer stands on the history; else *why says what is wrong. */
bool recheck(const verdict *v, const history *h, mem *m, const char **why);

/* The answer as a claim, which the room verify can recheck; it borrows v's arrays. */
claim claim_of(const verdict *v);

#endif
