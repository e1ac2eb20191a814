/*
 * gen.h - histories with known ground truth, from a simulated multi-version store.
 *
 * Sessions run a workload against a store that keeps one isolation level by construction; a
 * seeded scheduler interleaves their steps on one logical clock.  Anomalies are planted as small
 * groups of extra transactions.  What then holds and what is violated is known without checking,
 * and is written as one JSON object beside the history.
 *
 * Same options and seed: the same history, byte for byte, on every machine.
 */
#ifndef RATEL_GEN_GEN_H
#define RATEL_GEN_GEN_H

#include "base/strbuf.h"
#include "gen/knob.h"
#include "history/history.h"

typedef struct gen_anomaly {
    uint32_t kind; /* enum anomaly, see gen_anomaly_named */
    uint32_t count;
} gen_anomaly;

/* Zero in a number: the workload's published default. */
typedef struct gen_options {
    const char *workload;  /* NULL: blindw-rw */
    const char *isolation; /* NULL: serializable */
    uint64_t txns;         /* recorded transactions, planted and aborted ones included */
    uint64_t sessions;
    uint64_t keys; /* with rotating keys (list-append, rw-register): how many at a time */
    uint64_t ops;  /* operations of a transaction; at most that many where the number varies */
    uint64_t seed;
    double aborted, unknown; /* share of transactions that end so */
    const gen_anomaly *anomalies;
    size_t n_anomalies;
    bool no_times; /* record no begin and end */
    bool hidden;   /* plants stand among the others' keys and need more than known paths */

    knob_set knobs; /* what the workload and the store else let one turn */
} gen_options;

/* The i-th name with one line about it, or NULL past the end. */
const char *gen_workload_at(size_t i, const char **about);
const char *gen_isolation_at(size_t i, const char **about);
/* The i-th anomaly that can be planted; `about`: its other names. */
const char *gen_anomaly_at(size_t i, const char **about);
/* enum anomaly of a name, -1 if there is no such anomaly.  Whether it can be planted is decided
   by gen_history, which fails with GUARD_UNSUPPORTED and the reason. */
int gen_anomaly_named(const char *name);

/* Builds into h, which is empty and stays unfrozen; fails through h->mem.guard.  `truth`, unless
   NULL, gets one JSON object: seed and options, the levels that hold, and for each plant its
   anomaly, transaction ids and the levels it violates. */
void gen_history(history *h, const gen_options *o, strbuf *truth);

#endif
