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

#include "asg/asg.h"
#include "opt/level.h"

enum weak_verdict { WEAK_UNDECIDED, WEAK_HOLDS, WEAK_VIOLATED };
enum weak_why { WHY_NONE, WHY_FAULT, WHY_CYCLE, WHY_INIT, WHY_SEARCH };

/* A history of at most this many transactions is always decided, however long it takes. */
#define WEAK_SMALL 8u
#define WEAK_CHOICES ((uint64_t)1 << 20)

typedef struct weak_answer {
    enum weak_verdict verdict;
    enum weak_why why; /* of a violation */
    node_id *order;    /* holds: a commit order of the nodes that take part */
    uint32_t n;
    uint32_t *rf;       /* holds: what each obligation reads from */
    uint8_t *out;       /* holds: 1 for unknown transactions taken as aborted */
    cycle cycle;        /* WHY_CYCLE */
    size_t fault;       /* WHY_FAULT: index of g->faults */
    uint32_t bad_ob;    /* WHY_INIT: read the initial state ... */
    node_id bad_node;   /* ... although this writer was visible */
    uint64_t tried;     /* tests of the search */
    uint64_t derived;   /* version-order edges that the last test forced */
    const char *reason; /* undecided: static text */
} weak_answer;

/* `search` false: a larger ambiguous history is only guessed at, which can accept it. */
void weak_decide(asg *g, enum weak_level level, bool so, bool search, weak_answer *a);

/* The polynomial test on one assignment; open reads count for nothing. */
bool weak_test(asg *g, const view *w, enum weak_level level, weak_answer *a, bool explain);

/* forward_chain.c.  present: per node, exactly those take part; NULL: any of unknown outcome may.
   */
void chain_decide(asg *g, bool so, const uint8_t *present, weak_answer *a);
/* session_guarantees.c: weak_test of the last four. */
bool session_test(asg *g, const view *w, enum weak_level level, weak_answer *a);
/* choose_sources.c */
void choose_decide(asg *g, enum weak_level level, bool so, bool search, weak_answer *a);

#endif
