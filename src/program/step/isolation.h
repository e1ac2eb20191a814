/*
 * isolation.h - runs a script as PostgreSQL's isolationtester does, to the letter: each step is
 * sent as it stands, the output is the same text, and what it is compared with are PostgreSQL's own
 * expected outputs.
 *
 * The rules are those of src/test/isolation/README of PostgreSQL: a step that waits for a lock is
 * reported as waiting, a blocker mark delays the report that a step is complete, and a script
 * without permutations runs in every order that keeps the order within each session.
 */
#ifndef RATEL_STEP_ISOLATION_H
#define RATEL_STEP_ISOLATION_H

#include "driver/pg_stage.h"
#include "step/spec.h"

/* Whoever watches, for a log; functions do not fail. */
typedef struct isolation_user {
    void *ud;
    /* The tables are there, and no session has done anything yet. */
    void (*begin)(void *ud, uint32_t permutation);
    void (*sent)(void *ud, uint32_t session, const char *sql);
    void (*answer)(void *ud, uint32_t session, const stage_answer *a);
    void (*ready)(void *ud, uint32_t session, char status);
    void (*end)(void *ud);  /* of the permutation: the sessions are torn down, the tables are not */
    bool (*stop)(void *ud); /* must the run end now? */
} isolation_user;

typedef struct isolation_result {
    uint32_t permutations; /* that ran to their end */
    uint32_t waits;        /* steps that were reported as waiting */
    uint32_t errors;       /* steps that were answered with an error */
    bool stopped;          /* by isolation_user.stop */
    const char *failed;    /* why the script could not go on, or NULL */
} isolation_result;

/* Runs all permutations; `out` is what isolationtester would have printed, messages of failures
   included.  `application` is the name that the server sees. */
void isolation_run(db *d, mem *m, const spec *s, const char *application,
                   const isolation_user *user, strbuf *out, isolation_result *r);

/* The next order in which the sessions take turns, in rising order of their numbers; false: that
   was the last one.  The first one is rising itself. */
bool isolation_next_order(uint32_t *sessions, uint32_t n);

#endif
