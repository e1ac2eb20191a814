/*
 * coverage.h - what the answer "holds" was worth: which anomalies could this history have shown?
 *
 * Two measures.  Reads are changed, one at a time, to every other value of their key that the
 * history knows, and the level is decided again (changed_reads.c): each change that is a violation
 * is a place where the anomaly of that name would have been seen, had it happened there.  And the
 * dependencies are counted that were known from the start, that follow from known ones, and that
 * the history leaves open (dependencies.c), with the keys and sessions that never met another.
 */
#ifndef RATEL_COVERAGE_COVERAGE_H
#define RATEL_COVERAGE_COVERAGE_H

#include "opt/anomaly.h"
#include "verdict/verdict.h"

enum { APART_NAMED = 8 }; /* of keys and sessions without a conflict, how many are named */

typedef struct coverage {
    /* changed_reads.c */
    uint64_t changes;           /* ways to change one read */
    uint64_t tried;             /* all of them, or a sample */
    uint64_t seen;              /* violated */
    uint64_t missed, undecided; /* not, and nobody knows */
    uint64_t places[ANOMALIES]; /* of those seen, by the name of the anomaly */

    /* dependencies.c */
    uint64_t reads_known, reads_open; /* one writer can have been read, or several */
    /* neighbours in the version order that the answer found: shown by a read, by a list or by a
       hint; following from known dependencies; or neither */
    uint64_t versions_known, versions_inferred, versions_open;
    uint64_t keys, keys_apart;         /* apart: no two sessions conflict on it */
    uint64_t sessions, sessions_apart; /* apart: conflicts with no other session */
    key_id key_apart[APART_NAMED];     /* the first of them */
    uint32_t session_apart[APART_NAMED];
    bool updates_overlap;  /* two overlapping transactions, of any outcome, update one key */
    bool aborted_read;     /* somebody reads a key that an aborted transaction wrote */
    bool overwritten_read; /* somebody reads a key that another transaction writes twice */
    bool pairs_read;       /* some transaction reads two keys that one other writes */
    bool ranges_read;      /* there are scans */
} coverage;

typedef struct covering {
    mem *m; /* for as long as the work takes; its guard has the limits */
    size_t memory_limit;
    const question *q; /* as the whole was asked */
    const verdict *v;  /* the answer, which holds */
    uint64_t most;     /* changes to try */
    uint64_t until;    /* clock_now() beyond which no further change is tried; 0: none */
    uint64_t seed;
    coverage *out;

    history *copy; /* of ours: covering_close */
    mem keep, work, scratch;
} covering;

void cover_changed_reads(covering *c, const history *h);
void cover_dependencies(covering *c, const history *h);
/* Frees everything, also after a limit struck. */
void covering_close(covering *c);

#endif
