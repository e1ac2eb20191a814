/*
 * sql_run.h - SQL workloads: sessions that run transactions of a small application against tables
 * of its own, and the log of what they got (doc/formats/sql-log.md).
 */
#ifndef RATEL_WORK_SQL_RUN_H
#define RATEL_WORK_SQL_RUN_H

#include "base/replace_file.h"
#include "base/rng.h"
#include "driver/driver.h"
#include "work/faults.h"

typedef struct sql_session sql_session;
struct turns;
struct fuzz;

typedef struct sql_sizes { /* 0, and below 0 for shares: the workload's own */
    uint32_t keys;         /* accounts, users */
    uint32_t warehouses, districts, customers, items;
    double reads; /* bank: share of transactions that only read */
    double blind; /* bank: share of the writes that return nothing */
    double rows;  /* bank: share of the accounts that are used */
} sql_sizes;

/* Workloads whose schema and statements are drawn (fuzz.h): of all kinds, or of one. */
enum sql_drawn { SQL_GIVEN, SQL_ALL, SQL_PREDICATES, SQL_UPSERTS, SQL_CONSTRAINTS, SQL_CURSORS };

typedef struct sql_workload {
    const char *name, *about;
    bool procedures;     /* it calls some of its own */
    bool plain;          /* its texts are those of MySQL, too, if all writes are blind */
    enum sql_drawn fuzz; /* not SQL_GIVEN: setup is NULL */
    sql_sizes normal;
    /* Statements that make the tables and fill them, each ended by a line break. */
    void (*setup)(strbuf *out, const sql_sizes *z);
    /* One transaction: its statements through sql_do; anything but DB_OK ends it. */
    enum db_answer (*txn)(sql_session *s);
} sql_workload;

extern const sql_workload sql_workloads[]; /* ends with a NULL name */
const sql_workload *sql_workload_named(const char *name);

struct sql_session {
    struct worker *worker;
    /* Before a statement is sent that others may see the effect of at once; NULL: they do not. */
    void (*announce)(sql_session *s, const char *text);
    db_session db;
    rng rng;
    sql_sizes z;
    uint32_t number, sessions;
    uint64_t next;       /* ids that only this session hands out */
    struct turns *turns; /* of the stepwise schedule, or NULL */
    bool count_calls;
    uint64_t after;    /* of the reads at the end: the last call of all, if calls are counted */
    struct fuzz *fuzz; /* what the workload drew, or NULL */
    uint32_t increments[4]; /* of each counter, by the open transaction */
    bool half_done;         /* a transfer failed halfway: the transaction must not commit */
    bool roll_back;         /* the transaction is to be rolled back instead of committed */
    strbuf line;
    guard guard;
    mem mem;
};

/* Runs a statement and writes it down; the format has a letter for each parameter: i int64_t,
   s const char *. */
enum db_answer sql_do(sql_session *s, const char *text, const char *format, ...);
/* Before and after any other call: when it was sent, and when it returned.  `frees`: it may have
   ended a transaction. */
uint64_t sql_call_sent(sql_session *s);
uint64_t sql_call_returned(sql_session *s, bool frees);
/* A cell of the last result as a number; 0 if there is none. */
int64_t sql_int(const sql_session *s, uint32_t row, uint32_t col);
uint32_t sql_below(sql_session *s, uint32_t n);
bool sql_chance(sql_session *s, double share);

typedef struct sql_run {
    db *db;
    const sql_workload *w;
    sql_sizes z;
    uint64_t txns;  /* 0: no limit */
    double seconds; /* 0: no limit */
    uint32_t sessions;
    uint64_t seed;
    const char *level;    /* for the header */
    const char *recorder; /* the same: program and version */
    int output;
    replace_file *file; /* as in run.h */
    const char *output_name;
    const volatile int *interrupt;
    bool stepped, count_calls;                        /* as in run.h */
    const fault_plan *faults;                         /* of temporary servers; not if stepped */
    uint64_t committed, aborted, unknown, statements; /* out */
    uint64_t n_faults, reconnected;                   /* out */
    uint64_t acknowledged; /* when the engine was last killed: commits that had to be there */
    uint64_t read_back;    /* tables that were read then */
    uint64_t learnt;       /* commits whose answer was lost, but not their outcome */
    uint64_t stamped;      /* committed ones of which the database told when */
    double took;
    struct fuzz *fuzz;      /* made by sql_run_all, in the memory of db; NULL: no such workload */
    uint64_t odd_commits;   /* that failed for no reason that engines document */
    char finding[DB_ERROR]; /* about commits: the first of them */
    bool hung;              /* a session never came back: nothing that it uses may be freed */
    bool unread;            /* it failed because nobody reads the log any more */
    char error[DB_ERROR];
} sql_run;

/* false: r->error says why. */
bool sql_run_all(sql_run *r);

#endif
