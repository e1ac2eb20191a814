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

/* When faults come: those with a time at it and once, the others whenever one is due. */
typedef struct fault_clock {
    const fault_plan *plan;
    uint32_t next; /* of those with a time */
    uint64_t due;  /* of the others, in ns of the run; 0: not yet set */
} fault_clock;

/* The fault whose time has come when the run is so many ns old, or NULL; and it is over. */
const fault *inflict_due(fault_clock *c, inflictor *i, uint64_t ran);
void inflict_over(fault_clock *c, inflictor *i, const fault *f, uint64_t ran);

/* Recovery takes a while; a server that does not come back is an end, not a quiet time.  True: it
   is back, or the run `ended` meanwhile.  False: `why` of so many bytes says why not. */
bool inflict_comes_back(db *d, uint32_t node, bool (*ended)(void *ud), void *ud, char *why,
                        size_t cap);
/* Are the servers such that all of it can happen?  Else `error` of so many bytes says what not. */
bool inflict_possible(const db *d, const fault_plan *p, char *error, size_t cap);
/* Returns when it is over; false: error says what failed. */
bool inflict(inflictor *i, const fault *f);

#endif
