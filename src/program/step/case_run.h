/*
 * case_run.h - a script on a database: its permutations are run, the result is compared with what
 * the script says of its anomaly, and what was seen is written down as a history and as a log.
 */
#ifndef RATEL_STEP_CASE_RUN_H
#define RATEL_STEP_CASE_RUN_H

#include "step/stepper.h"

/* What became of the anomaly, the worst first; of several permutations the worst counts. */
enum case_outcome {
    CASE_HAPPENED,
    CASE_ABORTED, /* a transaction was refused */
    CASE_BLOCKED, /* nothing was refused, but a session had to wait */
    CASE_ABSENT,  /* all ran through and read right */
    CASE_NOT_APPLICABLE,
    CASE_ERROR,
    CASE_OUTCOMES
};
/* "happened", "aborted", ... */
const char *case_outcome_name(enum case_outcome o);

typedef struct case_run {
    enum case_outcome outcome;
    uint32_t permutation; /* that it is the outcome of */
    uint32_t n;
    step_result *results;
    const uint32_t *steps;
    const char *why; /* not applicable, error: one sentence */
    double seconds;
} case_run;

/* Where the script is run: the sessions are connected once and used by many scripts. */
typedef struct case_bench {
    db *db;
    mem *mem;
    const char *dialect; /* the adapter's name, or "keys" */
    bool sql;
    stepper *stepper; /* NULL until the first script */
    uint32_t sessions;
    uint32_t *nodes;        /* of them */
    bool (*stop)(void *ud); /* must the permutations that are left not be run?  NULL: never */
    void *ud;
} case_bench;

void bench_open(case_bench *b, db *d, mem *m);
void bench_close(case_bench *b);
/* Runs one order of steps on fresh tables. */
void case_run_order(case_bench *b, const spec *s, const uint32_t *steps, uint32_t n, case_run *r);
/* Runs all permutations that the script lists until one shows the anomaly. */
void case_run_all(case_bench *b, const spec *s, case_run *r);

/* Rows of the table at first, as the setup inserts them; false: that is not only test(id, value).
 */
bool case_rows(const spec *s, const char *dialect, mem *m, db_row **rows, uint32_t *n);
/* Does the setup make a table of lists, test(id, value text), whose rows are all empty at first? */
bool case_lists(const spec *s, const char *dialect);
/* The run as a native history; false: some statement is no operation on keys. */
bool case_history(const case_bench *b, const spec *s, const case_run *r, strbuf *out);
/* The run as a log of SQL. */
void case_log(const case_bench *b, const spec *s, const case_run *r, strbuf *out);
/* The steps in their order with what they returned, one a line. */
void case_story(const spec *s, const char *dialect, const case_run *r, strbuf *out);

#endif
