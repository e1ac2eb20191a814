/*
 * spec.h - scripts of interleavings: the language of PostgreSQL's isolationtester, and what litmus
 * adds to it (doc/litmus.md).
 *
 * A script names sessions, their steps, and permutations: orders in which the steps are started.
 * Our additions say what the script is about and when its anomaly has happened; a text may have
 * other forms for other dialects.
 */
#ifndef RATEL_STEP_SPEC_H
#define RATEL_STEP_SPEC_H

#include "base/map.h"

typedef struct spec_form { /* a text in one dialect */
    const char *dialect;   /* NULL: in all that have no form of their own */
    const char *sql;       /* NULL: it cannot be said in that dialect */
} spec_form;

typedef struct spec_text {
    uint32_t first, n; /* of spec.forms */
    uint32_t line;
} spec_text;

typedef struct spec_step {
    const char *name;
    uint32_t session;
    spec_text text;
} spec_step;

typedef struct spec_session {
    const char *name;
    const char *node;          /* of a cluster: its role or its letter; NULL: where one can write */
    bool held;                 /* its commits are held until all other steps are over */
    spec_text setup, teardown; /* n 0: none */
    uint32_t first, n;         /* of spec.steps */
} spec_session;

/* What a step within a permutation waits for before it is reported as complete. */
enum spec_blocker_kind {
    BLOCKER_ONCE,    /* (*): it is reported as waiting once, whether it waits or not */
    BLOCKER_STEP,    /* (other): until that step is complete */
    BLOCKER_NOTICES, /* (other notices n): until the other session has sent so many more notices */
};

typedef struct spec_blocker {
    enum spec_blocker_kind kind;
    uint32_t step;    /* not of BLOCKER_ONCE */
    uint32_t notices; /* of BLOCKER_NOTICES */
} spec_blocker;

typedef struct spec_turn { /* a step within a permutation */
    uint32_t step;
    uint32_t first_blocker, n_blockers; /* of spec.blockers */
} spec_turn;

typedef struct spec_permutation {
    uint32_t first, n; /* of spec.turns */
    uint32_t line;
} spec_permutation;

/* A step that must have returned just these rows. */
typedef struct spec_sign {
    uint32_t step;
    const char *rows; /* one row a line, cells with | between, in any order; "": none */
} spec_sign;

typedef struct spec {
    const char *file;
    const char *title, *anomaly, *forbidden, *source; /* NULL: not said */
    VEC(const char *) only, except;                   /* dialects and adapters */
    VEC(spec_form) forms;
    VEC(spec_text) setups;
    spec_text teardown;
    VEC(spec_session) sessions;
    VEC(spec_step) steps;
    VEC(spec_turn) turns;
    VEC(spec_blocker) blockers;
    VEC(spec_permutation) permutations;
    VEC(spec_sign) signs;
    id_index step_names; /* of steps, by name */
    uint64_t name_seed;
} spec;

/* Reads a script; its texts live in m.  A mistake ends through m's guard with its line and column.
 */
void spec_read(spec *s, mem *m, const char *file, const char *text, size_t n);
/* The text in this dialect; NULL: it has none. */
const char *spec_sql(const spec *s, spec_text t, const char *dialect);
/* Does the script say that it is about this dialect or adapter? */
bool spec_applies(const spec *s, const char *dialect, const char *adapter);

#endif
