/*
 * weak.h - deciding the levels whose test is polynomial once every read has its writer:
 * read-uncommitted, read-committed, monotonic atomic view, read atomic, causal.
 *
 * Where reads are ambiguous, read-committed is still decided by forward chaining; see
 * doc/algorithms/weak.md.  For the others the choices are searched, depth first, each partial
 * choice tested by the same polynomial test: constraints only grow with choices, so a failing part
 * cannot be completed.
 */
#ifndef RATEL_DECIDE_WEAK_WEAK_H
#define RATEL_DECIDE_WEAK_WEAK_H

#include "decide/decision.h"
#include "opt/level.h"

/* A history of at most this many transactions is always decided, however long it takes. */
#define WEAK_SMALL 8u
#define WEAK_CHOICES ((uint64_t)1 << 20)

/* `search` false: a larger ambiguous history is only guessed at, which can accept it. */
void weak_decide(asg *g, enum weak_level level, bool so, bool search, decision *a);

/* What read-uncommitted asks of reads: fills a->out and a->rf, which exist, and adds the version
   orders that lists show.  False: a fault that even this level rejects is the answer. */
bool weak_unread_orders(asg *g, decision *a);

/* The polynomial test on one assignment; open reads count for nothing. */
bool weak_test(asg *g, const view *w, enum weak_level level, decision *a, bool explain);

/* forward_chain.c.  present: per node, exactly those take part; NULL: any of unknown outcome may.
   */
void chain_decide(asg *g, bool so, const uint8_t *present, decision *a);
/* session_guarantees.c: weak_test of the last four. */
bool session_test(asg *g, const view *w, enum weak_level level, decision *a);
/* choose_sources.c */
void choose_decide(asg *g, enum weak_level level, bool so, bool search, decision *a);

#endif
