/*
 * live.h - what run and test share: gen's workloads as a program for the runner, and one run.
 */
#ifndef RATEL_CLI_LIVE_H
#define RATEL_CLI_LIVE_H

#include "cli/cli.h"
#include "work/run.h"

/* A database and the memory of everything live. */
typedef struct live {
    guard guard;
    mem mem;
    db db;
    bool open;
    const char *told; /* the level that the last note was about */
    /* Of the program that runs: sessions use it, under the runner's lock. */
    guard work_guard;
    mem work_mem;
} live;

typedef struct live_options {
    const char *workload;
    uint64_t txns, sessions, keys, ops, seed;
    double seconds, rate, locking;
    fault_plan faults;
    const char *const *knobs;
    size_t n_knobs;
    bool mute, tombstones, ids;
    bool stepped, count_calls; /* as in run.h */
    int output;
    const char *output_name; /* for messages; NULL: it has no name */
    replace_file file;       /* behind output, if it has a name */
} live_options;

/* A workload as `test` runs it. */
typedef struct test_mix {
    const char *workload;
    uint64_t keys, ops, txns; /* 0: published; txns: as many as the time allows */
    const char *knob;
    unsigned needs; /* enum db_lack: what the driver must not be without */
} test_mix;
/* The i-th, or NULL. */
const test_mix *test_mix_at(size_t i);
/* The operation of the driver that a workload of the mix needs and that is not there, or NULL. */
const char *test_mix_lacks(const test_mix *m, const db *d);

/* EXIT_HOLDS, or the status after a complaint. */
int live_open(live *l, const args *a);
/* From here on, memory that the database lacks is a failure of the caller's, who is armed: nobody
   may jump into live_open, which has returned. */
void live_fails_to(live *l, guard *g);
/* (Also of what was never opened, and twice.) */
void live_close(live *l);
/* Can all of --faults happen to this database?  False after a complaint. */
bool live_can_disturb(const live *l, const live_options *o);
int live_run(live *l, const args *a, const live_options *o, run_counts *c);
/* Sets the options of the context to what the product documents; NULL: it documents nothing. */
const contract *live_contract(const live *l, const args *a);
/* The level to check a run for; a note tells, once, if that is not the contract's own. */
const char *live_level(live *l, const args *a, const contract *c, const run_counts *n);
/* Tells what the run has shown by itself: commits that are missing after a kill, and COMMITs that
   hung or ended without an answer. */
void live_findings(const args *a, const run_counts *c);
/* Decides a recorded history; shown under its path if `shown` is NULL. */
int live_check(const args *a, const char *path, const char *shown, const char *level);
void live_list(void);

/* The i-th workload's name, or NULL. */
const char *live_workload_at(size_t i);
/* --schedule, --faults, --deletes, --write-ids; false after a complaint. */
bool live_manner(const args *a, live_options *o);
/* 500ms, 10s, 2m, 1h; a number alone is seconds. */
bool live_seconds(const args *a, enum option_id o, double *out);
/* Opens the file in which the history is recorded under this name, which it gets when the database
   was reached; false after a complaint. */
bool live_record(const args *a, live_options *o, const char *path);
/* Closes what live_record or live_scratch opened. */
void live_recorded(live_options *o);
/* A file without a name, for histories that need not be kept; -1 after a complaint. */
int live_scratch(void);

#endif
