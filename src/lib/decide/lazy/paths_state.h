/*
 * paths_state.h - the state of the path levels, shared by paths.c (sources, findings, clauses) and
 * path_sweep.c (clocks over the graph as it stands).
 */
#ifndef RATEL_DECIDE_LAZY_PATHS_STATE_H
#define RATEL_DECIDE_LAZY_PATHS_STATE_H

#include "decide/lazy/lazy_state.h"

/* The edge by which transaction `at` leads on to `to`. */
typedef struct hop {
    node_id at, to;
    uint32_t kind; /* PATH_* */
    uint32_t with; /* PATH_WR, PATH_RW: the obligation; PATH_WW, PATH_NEXT: the later install;
                      PATH_ADDED: the addition */
} hop;

/* A broken read, and the path: hops[first..first + n), from the later version to the reader. */
typedef struct finding {
    uint32_t ob;
    size_t first, n;
} finding;

/* A literal of a finding's clause, and the fact that it denies. */
typedef struct support {
    uint32_t lit;
    enum { OF_ORDER, OF_CHOICE, OF_OUTCOME } kind;
    uint32_t a, b;  /* OF_ORDER: events, a stands before b; OF_CHOICE: obligation, its source */
    node_id behind; /* OF_CHOICE: a source after this one would do; NO_ID: nothing is known */
} support;

typedef struct supports {
    size_t first, n;
} supports;

struct paths {
    uint32_t *chain, *place; /* per node: its session, and its place in it */
    hop *hop;                /* per node: its hop in the finding at hand */
    VEC(uint32_t) ended;     /* with real time: the committed transactions by their ends */
    /* Reads that the next sweep looks at: suspects, and reads with literals.  Invariant:
       is_parked[ob] if and only if ob stands once in `parked`. */
    VEC(uint32_t) parked;
    uint8_t *is_parked;
    uint32_t *stands; /* per open read: install, FROM_INIT or NONE (paths_note) */
    uint64_t queued;  /* the epoch in which all parked reads were queued again */
    uint64_t swept;   /* the epoch in which a sweep found nothing */
    VEC(finding) findings;
    VEC(hop) hops;
    VEC(support) support;
    VEC(supports) said;    /* findings with clauses */
    VEC(uint32_t) waiting; /* indices of `said`: the findings that are to be mended */
    bool again;            /* the waiting findings were mended before */
    struct sweep *sweep;
    struct word_sweep *words;
    hop *back; /* per node: scratch of added_before; NULL until it is needed */
    VEC(node_id) reached;
};

/* The first version after `inst` (FROM_INIT: of all) whose transaction is present, or NONE. */
uint32_t paths_next_version(const lazy *z, key_id k, uint32_t inst);
bool paths_early_enough(const lazy *z, uint32_t ob, op_id op);
bool paths_rt_before(const lazy *z, node_id u, node_id v);

/* path_sweep.c: finds all broken suspects (x->parked) of a level whose paths have many steps. */
void sweep_many(lazy *z);
/* automaton_sweep.c: the same for a level whose paths an automaton accepts. */
void sweep_words(lazy *z);

#endif
