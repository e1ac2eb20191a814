/*
 * shrink.h - the smallest sub-history that is still violated.
 *
 * Starts from the transactions that the violation's own answer names, and leaves out
 * transactions, keys and operations (remainder.h), many at once and then one by one, as long as the
 * question is answered as before.  At the end no single one of them can be left out.  First the
 * anomaly must keep its name; what can still go when any violation will do, goes then (but for
 * faults of single reads, which stay what they are).
 */
#ifndef RATEL_SHRINK_SHRINK_H
#define RATEL_SHRINK_SHRINK_H

#include "shrink/remainder.h"
#include "verdict/verdict.h"

/* Another judge than ours, for levels that this library does not know: 1 violated, 0 not. */
typedef int (*shrink_judge)(const history *h, void *payload);

typedef struct shrinking {
    mem *m; /* for as long as the work takes; its guard has the limits */
    size_t memory_limit;
    const question *q; /* as the whole was asked */
    level_ref level;
    const verdict *whole; /* what was found; NULL: `other` judges */
    shrink_judge other;
    void *payload;
    uint64_t seed; /* of the order in which things are tried; 0: from the end */

    /* what was found; also if a limit strikes meanwhile */
    history *best;          /* the caller frees it; NULL: nothing smaller than the whole yet */
    history *base, *trying; /* of ours: shrink_close */
    known_order known;      /* of the whole history */
    mem scratch;
    verdict v; /* of a trial, with its regions: */
    mem keep, work;
    uint32_t anomaly; /* of best */
    bool minimal;
    uint64_t trials;
} shrinking;

void shrink_history(shrinking *s, const history *h);
/* What of a known order counts at the level, with session order. */
bool shrink_knows(const level_ref *level, bool session_order);
bool shrink_sees_past(const level_ref *level);
bool shrink_sees_session(const level_ref *level);
/* Sets in *out whether, and when, writers of a value may stand in for each other. */
void shrink_lets_stand_in(sub_order *out, const level_ref *level, bool session_order, bool trust);
/* Frees everything but the best, also after a limit struck. */
void shrink_close(shrinking *s);

#endif
