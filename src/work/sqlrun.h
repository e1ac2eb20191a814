/*
 * sqlrun.h - SQL workloads: sessions that run transactions of a small application against tables of
 * its own, and the log of what they got (doc/formats/sql-log.md).
 */
#ifndef RATEL_WORK_SQLRUN_H
#define RATEL_WORK_SQLRUN_H

#include "base/rng.h"
#include "driver/driver.h"

typedef struct sql_session sql_session;

typedef struct sql_workload {
    const char *name, *about;
    /* Statements that make the tables and fill them, each ended by a line break. */
    void (*setup)(strbuf *out);
    /* One transaction: its statements through sql_do; anything but DB_OK ends it. */
    enum db_answer (*txn)(sql_session *s);
} sql_workload;

extern const sql_workload sql_workloads[]; /* ends with a NULL name */
const sql_workload *sql_workload_named(const char *name);

struct sql_session {
    db_session db;
    rng rng;
    uint32_t number, sessions;
    uint64_t next; /* ids that only this session hands out */
    strbuf line;
    guard guard;
    mem mem;
};

/* Runs a statement and writes it down; the format has a letter for each parameter: i int64_t,
   s const char *. */
enum db_answer sql_do(sql_session *s, const char *text, const char *format, ...);
/* A cell of the last result as a number; 0 if there is none. */
int64_t sql_int(const sql_session *s, uint32_t row, uint32_t col);
uint32_t sql_below(sql_session *s, uint32_t n);

typedef struct sql_run {
    db *db;
    const sql_workload *w;
    uint64_t txns;  /* 0: no limit */
    double seconds; /* 0: no limit */
    uint32_t sessions;
    uint64_t seed;
    const char *level; /* for the header */
    int output;
    const volatile int *interrupt;
    uint64_t committed, aborted, unknown, statements; /* out */
    double took;
    char error[DB_ERROR];
} sql_run;

/* false: r->error says why. */
bool sql_run_all(sql_run *r);

#endif
