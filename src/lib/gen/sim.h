/*
 * sim.h - the state of a running simulation, shared by the driver (gen.c) and planting.c.
 */
#ifndef RATEL_GEN_SIM_H
#define RATEL_GEN_SIM_H

#include "base/rng.h"
#include "gen/plant.h"
#include "gen/simulated_store.h"
#include "gen/workload.h"

typedef struct own {
    uint32_t key, stamp, step;
} own;

typedef struct client {
    plan plan;
    uint32_t at;    /* steps taken */
    uint32_t stamp; /* entries of the own table with another stamp are of earlier attempts */
    uint32_t writes;
    uint32_t refusals;
    bool active, held;
    int64_t begin, began; /* by its own clock, by the store's */
    int64_t skew, shown;  /* of its clock: how far off it is, and the last time it has shown */
    VEC(store_row) rows;  /* of this attempt's ranges */
} client;

typedef struct sim {
    history *h;
    const gen_options *o;
    rng rng, clocks; /* clocks that drift do not change what happens */
    workload work;
    store store;
    client *clients;
    step *steps; /* of all clients, `longest` each */
    own *owns;   /* hash table of each client: the last own write of a key */
    uint32_t longest;
    size_t own_mask;
    uint32_t sessions, replicas, lag;
    uint32_t active;                  /* open transactions */
    uint64_t base, started, recorded; /* transactions that are not planted */
    int64_t clock, drift;
    bool timestamps;     /* the store tells its own */
    bool applied;        /* the transaction that is being written took effect */
    uint64_t lock_limit; /* a 32-bit draw below it means a read that locks */
    VEC(value_id) list;
    /* planting */
    uint64_t plants_left, due;
    uint32_t *counts; /* of each anomaly asked for, still to come */
    uint32_t held[PLANT_TXNS];
    uint32_t keys[PLANT_KEYS];  /* of the plant that is carried out */
    uint32_t slots[PLANT_KEYS]; /* of rotating keys among them, else NO_ID */
    uint32_t number;            /* hidden: unique values start here */
    bool holding, hidden;
    plant plant;
    truth_set violated;
    strbuf planted;
} sim;

/* gen.c: a transaction of a session is written between these. */
void sim_open(sim *m, uint32_t session, int64_t begin);
void sim_close(sim *m, uint32_t session, enum txn_status status);
/* What the clock of a session shows now. */
int64_t sim_time(sim *m, uint32_t session);

/* planting.c.  All that can be wrong with the plants is found by the first. */
void planting_plan(sim *m, uint64_t txns);
void planting_fall_due(sim *m);
void planting_hold(sim *m);        /* picks the next plant and its sessions */
bool planting_ready(const sim *m); /* ... which are idle now */
void planting_carry_out(sim *m);

#endif
