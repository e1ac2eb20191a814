/*
 * fuzz.h - the workload sql-fuzz: a schema and statements that the seed draws, and invariants that
 * must hold of what is left in the end; and workloads of one kind of these statements.
 *
 * Two or three tables t0, t1, t2 with keys, unique columns, indexes and references are written in
 * every way that the engine has; what the statements answered is for audit to judge.  Two more
 * tables need no judge: `counters` are only ever incremented, `accounts` only hand money to each
 * other.  What the engine does not have (upserts, RETURNING, savepoints) is found out by trying.
 */
#ifndef RATEL_WORK_FUZZ_H
#define RATEL_WORK_FUZZ_H

#include <stdatomic.h>

#include "work/sql_run.h"

enum { FUZZ_TABLES = 3, FUZZ_COUNTERS = 4, FUZZ_ACCOUNTS = 6, FUZZ_MONEY = 100, FUZZ_IDS = 12 };

/* What an engine may have or not. */
enum fuzz_feature {
    FUZZ_SAVEPOINTS = 1,
    FUZZ_UPSERTS = 2,
    FUZZ_RETURNING = 4,
    FUZZ_ROW_LOCKS = 8,
    FUZZ_FOREIGN_KEYS = 16,
    FUZZ_CURSORS = 32
};

typedef struct fuzz_table {
    bool unique, references; /* column u is; column p refers to t0 */
    bool indexed, indexed_pair;
} fuzz_table;

typedef struct fuzz {
    db *db;
    enum sql_drawn kind; /* of statements */
    const char *dialect; /* as in the header of a log */
    uint32_t tables;
    fuzz_table table[FUZZ_TABLES];
    unsigned features; /* enum fuzz_feature */
    bool own_commit;   /* statements outside of a transaction have its isolation */
    /* Increments of transactions that asked for their commit, and of those that got it. */
    atomic_ullong sent[FUZZ_COUNTERS], committed[FUZZ_COUNTERS];
    atomic_ullong odd_errors; /* neither conflicts nor constraints */
    char odd_error[DB_ERROR]; /* the first of them, once odd_errors is above 0 */
    uint32_t broken;          /* invariants */
    char finding[DB_ERROR];   /* the first of them, as a sentence */
} fuzz;

/* The dialect of logs of this database (doc/formats/sql-log.md). */
const char *fuzz_dialect(const db *d);
void fuzz_draw(fuzz *f, db *d, enum sql_drawn kind, uint64_t seed);
void fuzz_setup(const fuzz *f, strbuf *out);
/* Which features are there?  By a session that nobody else has seen. */
void fuzz_probe(fuzz *f, sql_session *s);
/* What a connection needs before its first transaction. */
void fuzz_connected(sql_session *s);

/* One transaction of sql_workload.txn. */
enum db_answer fuzz_transaction(sql_session *s);
/* The same of the workload cursors (fuzz_cursors.c). */
enum db_answer fuzz_with_cursors(sql_session *s);
/* A statement of it: DB_REFUSED also after an error that is no conflict. */
enum db_answer fuzz_execute(sql_session *s, const char *text);
/* Was the last failure that of a constraint, and does the transaction go on after it? */
bool fuzz_is_constraint(const sql_session *s);
bool fuzz_goes_on(const sql_session *s);
/* Shall the next transaction be a statement of its own?  And that statement. */
bool fuzz_alone(sql_session *s);
enum db_answer fuzz_single(sql_session *s);
/* Before the commit is asked for, and after it was answered. */
void fuzz_commits(sql_session *s);
void fuzz_committed(sql_session *s, enum db_answer answer);
/* Now and then, between transactions: index DDL, VACUUM, checkpoints; false: reopen the
   connection. */
bool fuzz_maintain(sql_session *s);

/* Reads everything, as statements of one transaction. */
enum db_answer fuzz_final_reads(sql_session *s);
/* Do the invariants hold?  f->broken and f->finding say what does not. */
void fuzz_invariants(fuzz *f, sql_session *s);

#endif
