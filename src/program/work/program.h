/*
 * program.h - what the sessions of a run are to do: the border between the runner and workloads.
 *
 * The runner asks for one operation after the other and tells what reads have seen, so that later
 * operations may depend on it.  It calls under one lock and with the guard armed, so a program
 * needs no locks of its own and may fail through that guard.
 */
#ifndef RATEL_WORK_PROGRAM_H
#define RATEL_WORK_PROGRAM_H

#include "driver/driver.h"

enum act_kind {
    ACT_READ,
    ACT_WRITE,
    ACT_DELETE,
    ACT_APPEND,
    ACT_SCAN,
    ACT_ITER,
    ACT_ADD, /* adds `value` to a number in one statement; only where the adapter has it */
    /* No operations of the history: */
    ACT_SAVEPOINT,
    ACT_UNDO,    /* to the savepoint */
    ACT_KEEP,    /* releases it */
    ACT_ROLLBACK /* of the transaction; nothing follows */
};

typedef struct act {
    enum act_kind kind;
    bool lock;      /* a locking read */
    bool upsert;    /* of an addition: a row that is not there is made */
    bool reverse;   /* of a range: the last row comes first */
    bool instead;   /* set by the runner: a read in place of a write, where nothing can write */
    uint32_t limit; /* of an iterator; 0: none */
    int64_t key;    /* of a range the first */
    int64_t to;     /* the first behind it */
    int64_t value;
} act;

typedef struct program {
    void *state;
    guard *guard;
    const char *name;
    bool lists;   /* keys hold lists, ACT_READ returns them */
    bool singles; /* plan may say that it is one statement */
    bool unique;  /* no value of a key is ever written twice */
    /* Rows to begin with, in the order of their keys; all other keys are absent. */
    const db_row *rows;
    size_t n_rows;
    /* A new transaction, or the last one, which was refused, `again`; true: it is one statement,
       which needs no BEGIN and COMMIT. */
    bool (*plan)(void *state, uint32_t session, bool again);
    bool (*next)(void *state, uint32_t session, act *a); /* false: time to commit */
    void (*seen)(void *state, uint32_t session, bool absent, int64_t value); /* by ACT_READ */
} program;

#endif
