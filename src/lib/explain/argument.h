/*
 * argument.h - why a few transactions violate a level: a tree of cases, a contradiction in each.
 *
 * A level says that there is a source for each read and an order of the versions of each key such
 * that certain cycles do not exist (doc/levels.md).  An argument against it is a tree: an inner
 * node splits on one of these choices (which of two writes of a key came first; whom a read read
 * from), and each branch ends with a read that nothing explains or with a cycle that the level
 * forbids, made of facts of the history and of what was assumed on the way.  A split with all
 * branches but one that end at once is an inference, and is told as one.
 *
 * The tree speaks of the scene's actors.  argument_check looks every fact, split and cycle up in
 * the history again; nothing is told that does not pass.
 */
#ifndef RATEL_EXPLAIN_ARGUMENT_H
#define RATEL_EXPLAIN_ARGUMENT_H

#include "explain/scene.h"

enum link_kind { LINK_SO, LINK_RT, LINK_WR, LINK_WW, LINK_RW };

/* What shows a link. */
enum link_why {
    SHOWN_SESSION,
    SHOWN_TIME,    /* `times` says which */
    SHOWN_READ,    /* wr: the only source the read can have had */
    SHOWN_CHOICE,  /* wr: the source that was assumed; ww: the order that was assumed */
    SHOWN_LIST,    /* ww: a list that was read has them in this order */
    SHOWN_LACKING, /* ww, rw: a list that was read does not have the later one */
    SHOWN_HINT,    /* ww: the history gives their places */
    SHOWN_INITIAL, /* rw: the initial version was read */
    SHOWN_ORDER,   /* rw: the version that was read comes before in the version order: `before` */
    SHOWN_NEXT     /* ww: and nobody's version between them (no-lost-update) */
};

enum link_times { TIMES_COMMIT_BEGIN, TIMES_COMMIT_COMMIT, TIMES_BEGIN_COMMIT };

typedef struct arg_link {
    uint8_t kind, why, times;
    uint8_t from, to;   /* actors */
    bool predicate;     /* rw: what was overtaken is that a scan did not find the key */
    bool alone;         /* rw: and no transaction of another level wrote in between (mixture.h) */
    key_id key;         /* NO_ID: none */
    uint32_t read;      /* wr, rw, and lists: index of scene.reads; else NO_ID */
    uint32_t source;    /* SHOWN_ORDER: the actor whose version was read */
    uint32_t order_why; /* SHOWN_ORDER: what shows that order, and by which read */
    uint32_t order_read;
} arg_link;

enum arg_kind {
    ARG_CYCLE,     /* links: a cycle */
    ARG_FAULT,     /* read: nothing explains it */
    ARG_MALFORMED, /* a: its scan has impossible rows */
    ARG_INITIALS,  /* read, other: both saw the initial version, but different values */
    ARG_TWICE,     /* read, other: of one transaction and key, and saw two versions */
    ARG_ORDER,     /* split: a's version of the key before b's; or b's before a's */
    ARG_SOURCE     /* split: read, from each of its sources in turn, the initial state first */
};

typedef struct arg_node {
    uint8_t kind;
    uint8_t a, b;
    key_id key;
    uint32_t read, other;
    uint32_t first, n; /* links of a cycle; children of a split (in argument.child) */
} arg_node;

/* That an actor of unknown outcome committed: a read of one that did shows its write. */
typedef struct arg_outcome {
    uint32_t actor, read;
} arg_outcome;

typedef struct argument {
    mem *m;
    VEC(arg_outcome) committed; /* of those that the argument needs; each after its reader's */
    VEC(arg_link) links;
    VEC(arg_node) nodes;
    VEC(uint32_t) child;
    uint32_t root;
} argument;

static inline bool arg_leaf(const arg_node *n)
{
    return n->kind != ARG_ORDER && n->kind != ARG_SOURCE;
}

/* How much there is to tell of a leaf: where two branches end at once, the lighter one only rules
   its alternative out, and the other is what the argument leads to. */
uint32_t argument_weight(const argument *a, uint32_t leaf);
/* Of a split with two leaves: the branch that goes on, or NO_ID if they are two cases. */
uint32_t argument_goes_on(const argument *a, const arg_node *split);

/* The sources of a read, as the children of its split stand: initial state (as NO_ID), then actors;
   returns how many. */
uint32_t argument_sources(const scene_read *r, uint32_t *out);

/* What is asked: the level, with what counts. */
typedef struct arg_ask {
    enum level_id level;
    bool so, rt; /* rt: by the prefix of the name; levels that have real time, have it */
    int64_t drift;
} arg_ask;

/* refute.c: an argument that uses as few of the scene's transactions as can be; false: none was
   found, which says nothing.  `used` are those that it needs. */
bool argument_find(argument *out, const scene *s, const arg_ask *ask, actors *used);

/* check_argument.c: NULL, or what is wrong with it. */
const char *argument_check(const argument *a, const scene *s, const arg_ask *ask, mem *m);

#endif
