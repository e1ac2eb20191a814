/*
 * exhaustive.h - what the exhaustive searches of at most WEAK_SMALL transactions share: outcomes
 * tried one by one, commit orders grown from the front, the state of a key after any of the
 * commits.
 */
#ifndef RATEL_DECIDE_EXHAUSTIVE_EXHAUSTIVE_H
#define RATEL_DECIDE_EXHAUSTIVE_EXHAUSTIVE_H

#include "decide/exhaustive/key_state.h"
#include "decide/weak/weak.h"

typedef struct binding { /* the initial value of a key, found by the first read that saw it */
    bool bound;
    version value;
} binding;

typedef VEC(key_id) key_list;

typedef struct small {
    asg *g;
    bool si, so, rt;
    int64_t drift;
    uint8_t *out;
    node_id order[WEAK_SMALL];
    uint32_t snapshot[WEAK_SMALL]; /* per place: commits that its reads saw */
    uint32_t place[WEAK_SMALL];    /* per node: its place in order, from 1; 0: not placed */
    uint32_t n, want;
    uint8_t *named;   /* per key: its initial value is known */
    binding *initial; /* per key */
    void *more;       /* the search's own */
} small;

/* Orders the transactions that are not out; true: found. */
typedef bool (*small_search)(small *z);

/* Runs the search for every choice of outcomes, until it finds. */
bool small_outcomes(small *z, small_search search);
/* Everything that must commit before v has. */
bool small_ready(const small *z, node_id v);
/* Could the obligation have been met after s commits?  May fix an initial value, and notes that. */
bool small_sees(small *z, uint32_t ob, uint32_t s, key_list *bound);

#endif
