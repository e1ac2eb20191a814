/*
 * all_anomalies.h - check --all-anomalies: every independent violation of a history.
 */
#ifndef RATEL_CLI_ALL_ANOMALIES_H
#define RATEL_CLI_ALL_ANOMALIES_H

#include "cli/ci.h"

typedef struct violation {
    const char *anomaly;
    char shape[256];
    char *reason;
    char *ids;    /* of its transactions, one after the other */
    size_t *ends; /* where each of them ends in ids */
    size_t n_ids;
} violation;

typedef struct violation_list {
    violation *at;
    size_t n;
    bool complete; /* there is no further one */
    char why[256]; /* not complete: why */
} violation_list;

/* Is told of each further one; false: that was enough. */
typedef bool (*violation_seen)(void *payload, const ratel_history *h, const ratel_result *r);

/* All of them, `first` being the answer on h.  Without `seen` a hundred at most; in any case as
   long as the time of one history and level lasts. */
void violations_find(violation_list *l, const args *a, const ratel_history *h,
                     const ratel_result *first, violation_seen seen, void *payload);
void violations_print(const violation_list *l, FILE *f);
void violations_json(const violation_list *l, FILE *f, const char *history, const char *level);
void violations_free(violation_list *l);

#endif
