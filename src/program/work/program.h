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

enum act_kind { ACT_READ, ACT_WRITE, ACT_DELETE, ACT_APPEND, ACT_SCAN, ACT_ITER };

typedef struct act {
    enum act_kind kind;
    bool lock;      /* a locking read */
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
    bool lists;  /* keys hold lists, ACT_READ returns them */
    bool unique; /* no value of a key is ever written twice */
    /* Rows to begin with, in the order of their keys; all other keys are absent. */
    const db_row *rows;
    size_t n_rows;
    void (*plan)(void *state, uint32_t session);         /* a new transaction */
    bool (*next)(void *state, uint32_t session, act *a); /* false: time to commit */
    void (*seen)(void *state, uint32_t session, bool absent, int64_t value); /* by ACT_READ */
} program;

#endif
