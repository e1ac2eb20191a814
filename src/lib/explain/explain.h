/*
 * explain.h - why a history violates a level, as an argument about a few of its transactions.
 *
 * The room starts from the transactions that the answer names, adds others that have to do with
 * them until there is an argument (argument.h), and lets only one that check_argument.c has looked
 * up in the history out.  It knows histories and levels, and nothing of the code that found the
 * answer.
 */
#ifndef RATEL_EXPLAIN_EXPLAIN_H
#define RATEL_EXPLAIN_EXPLAIN_H

#include "explain/argument.h"
#include "explain/cycle_shape.h"

typedef struct explanation {
    mem *m;
    const history *h;
    arg_ask ask;
    scene scene;
    argument arg;
    bool argued;         /* there is an argument, and it was checked */
    actors who;          /* whom it needs */
    const char *why_not; /* else: why there is none */
    uint32_t anomaly;    /* enum anomaly: as the answer says, or finer */
} explanation;

/* The names of an anomaly elsewhere; "" where there is none (names.def). */
typedef struct anomaly_names {
    const char *adya, *elle, *berenson, *gist;
} anomaly_names;
const anomaly_names *anomaly_names_of(uint32_t anomaly);

/* A violation, as whoever found it tells it. */
typedef struct explain_ask {
    level_ref level;
    bool session_order;
    enum ryow ryow;
    int64_t drift;
    uint32_t anomaly;   /* enum anomaly */
    const txn_id *core; /* transactions that are to blame */
    size_t n;
    bool alone; /* only these are looked at; else also those who have to do with them */
} explain_ask;
void explain(explanation *e, mem *m, const history *h, const explain_ask *q);

#endif
