/*
 * stepper.h - runs the steps of a script one at a time, each session in a thread and a connection
 * of its own.
 *
 * A step is started when the one before it has returned or waits for another session.  Whether it
 * waits is learnt from the server where the adapter can ask it, else from silence.  The steps of a
 * session that waits are kept until it goes on.  Of a cluster, a transaction on a node that only
 * reads begins when the node has all that was written before: how far it lags is no matter of
 * chance.
 */
#ifndef RATEL_STEP_STEPPER_H
#define RATEL_STEP_STEPPER_H

#include "driver/driver.h"
#include "step/spec.h"

enum step_end {
    STEP_UNRUN, /* its transaction had ended */
    STEP_DONE,
    STEP_REFUSED, /* an error; the transaction was rolled back */
    STEP_LOST,    /* the connection ended */
};

typedef struct step_result {
    uint32_t step, session;
    uint32_t txn; /* of its session, from 0 */
    enum step_end how;
    bool waited;           /* for another session, at some time */
    uint64_t begin, begun; /* of the transaction, if this step began it; else 0 */
    uint64_t call, end;
    /* what a statement returned */
    bool has_rows;
    uint32_t n_rows, n_cols;
    const db_cell *cells; /* n_rows * n_cols */
    const char *text;     /* in which the cells are */
    uint64_t affected;
    int64_t stamp; /* of a commit: when the database says that it was; else -1 */
    char state[6];
    char error[DB_ERROR];
} step_result;

typedef struct stepper stepper;

/* Connects so many sessions, each to its node; NULL: d->error says why.  `sql`: statements are sent
   as they are, else as the operations on keys that they stand for. */
stepper *stepper_open(db *d, mem *m, uint32_t sessions, const uint32_t *nodes, bool sql);
void stepper_close(stepper *s);
/* Runs the turns in this order; results[i] is that of the i-th turn.  What is still open at the end
   is rolled back.  false: d->error says why it cannot go on. */
bool stepper_run(stepper *s, const spec *script, const char *dialect, const uint32_t *steps,
                 uint32_t n, step_result *results);

#endif
