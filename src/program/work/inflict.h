/*
 * inflict.h - makes the faults of a plan happen to temporary servers, and undoes them.
 *
 * One fault is over before the next begins.  Each begins and ends with a mark in the history.
 */
#ifndef RATEL_WORK_INFLICT_H
#define RATEL_WORK_INFLICT_H

#include "base/rng.h"
#include "driver/driver.h"
#include "work/faults.h"

typedef struct inflictor {
    db *db;
    rng rng;
    void (*mark)(void *ud, const char *what);
    void (*wait)(void *ud, uint64_t ns);         /* less if the run ends */
    bool (*comes_back)(void *ud, uint32_t node); /* false: it does not, and that was told */
    bool (*read_back)(
        void *ud); /* an engine is back, for the probe alone: is what was committed? */
    void *ud;
    char error[DB_ERROR]; /* "": it was told */
} inflictor;

/* Are the servers such that all of it can happen?  Else `error` of so many bytes says what not. */
bool inflict_possible(const db *d, const fault_plan *p, char *error, size_t cap);
/* Returns when it is over; false: error says what failed. */
bool inflict(inflictor *i, const fault *f);

#endif
