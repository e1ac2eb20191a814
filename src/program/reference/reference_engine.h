/*
 * reference_engine.h - a real engine in a database of its own: the initial state of a log, and one
 * transaction of it at a time.
 *
 * Nothing is decided here.  Whoever schedules an execution says which transaction runs next, on
 * which connection and after which statements (BEGIN, the choice of a snapshot), and learns whether
 * every answer agreed.
 */
#ifndef RATEL_REFERENCE_REFERENCE_ENGINE_H
#define RATEL_REFERENCE_REFERENCE_ENGINE_H

#include "audit/audit_schedule.h"
#include "reference/compare_answers.h"
#include "reference/statement_words.h"

typedef struct engine_conn {
    db_session s;
    bool open;
    uint8_t *prepared; /* by text of the log: 1 it is, 2 it cannot be; NULL: none of them yet */
} engine_conn;

/* How a run of a transaction ended, and where it did not agree. */
typedef struct run_outcome {
    agreement how;
    uint32_t stmt;      /* that did not agree; the number of statements: the commit */
    bool unlike_error;  /* the log has an error that depends on time, and it did not come */
    const char *answer; /* the engine's, in a few words; lives as long as the decision */
} run_outcome;

typedef struct draws_known draws_known;

typedef struct reference_engine {
    mem *mem;
    guard *guard;
    db db;
    bool opened;
    engine_kind kind;
    const audit_schedule *plan;
    const statement_words *words; /* by text of the log */
    const bool *often;            /* by text: worth preparing */
    engine_conn *sessions;        /* by session of the log, up to SESSION_CONNS of them */
    uint32_t n_conns;
    engine_conn loader;      /* fills the database */
    engine_conn watcher;     /* is asked who waits */
    engine_conn ahead;       /* of transactions that are sent one behind the other */
    VEC(engine_conn *) open; /* all that are open, so that none outlives a failure */
    bool used;               /* the database is not empty any more */
    bool patient;            /* errors that do not come are left at that: no second run */
    uint64_t runs;           /* of transactions */
    bool no_snapshots;       /* a MariaDB that lets writes go past snapshots */
    const char *draws;       /* a word of the log lets the engine choose values: why, or NULL */
    bool setup_draws;        /* defaults or routines may do so */
    bool draws_other;        /* values are chosen that chosen_draws.h does not know */
    struct draws_known *draws_known;
    const char ***insert_ids;  /* by transaction and statement: insert_ids.h */
    struct my_clock *my_clock; /* my_clock.h, or NULL */
    bool draws_given;          /* statements get the values that are known of their draws */
    bool drawn_twice;          /* a sequence gave the same value twice */
    const char **texts;        /* by text of the log, if they are not the log's own */
    bool has_routines;         /* a query may write */
    uint32_t forced_errors;    /* statements whose error was not reproduced, in this pass */
    uint32_t forced_txn;       /* the last one of them */
    char version[128];
    char why[DB_ERROR + 128]; /* why the engine cannot go on, if it cannot */
    VEC(const char *) params;
    strbuf filled; /* a text with its parameters in it, for MariaDB */
    strbuf forced; /* a text that forces rows (forced_rows.h) */
    bool forces;   /* statements sent one by one force the rows of the log */
} reference_engine;

/* Starts or finds the engine of a URL; false: e->why.  `misuse`: what was asked was wrong. */
bool engine_open(reference_engine *e, mem *m, guard *g, const char *url, bool *misuse);
void engine_close(reference_engine *e);
/* The statements that make the initial state: the log's, or those of its product for the same. */
const log_stmt *engine_setup(const reference_engine *e, size_t *n);
/* Another log, with the memory of another decision; whatever was open is closed. */
void engine_take(reference_engine *e, mem *m, const audit_schedule *plan);

/* An empty database with the log's initial state in it; connections of before are closed.
   false: e->why. */
bool engine_begin_pass(reference_engine *e);

bool engine_connect(reference_engine *e, engine_conn *c);
void engine_disconnect(reference_engine *e, engine_conn *c);
/* The connection of a transaction's session; NULL: e->why. */
engine_conn *engine_session(reference_engine *e, uint32_t txn);

/* A statement of ours; true: it succeeded.  The answer is in c->s. */
bool engine_does(reference_engine *e, engine_conn *c, const char *sql);
/* The same in two halves, where the engine has them: between the halves others may work. */
void engine_starts(reference_engine *e, engine_conn *c, const char *sql);
bool engine_finishes(reference_engine *e, engine_conn *c);

typedef enum engine_isolation {
    ENGINE_STATEMENTS, /* READ COMMITTED */
    ENGINE_SNAPSHOT,   /* REPEATABLE READ; a conflict with a write after the snapshot is refused */
    ENGINE_SERIAL,     /* SERIALIZABLE */
    ENGINE_REPEATABLE  /* MariaDB's own REPEATABLE READ, where writes go past the snapshot */
} engine_isolation;

/* BEGIN, in the engine's words. */
void engine_begins(reference_engine *e, engine_conn *c, engine_isolation isolation);
/* `alone`: of a statement that is its own transaction. */
void engine_begins_sent(reference_engine *e, engine_conn *c, engine_isolation isolation,
                        bool alone);
/* MariaDB commits before and after each statement that changes the schema. */
bool engine_stays_in_a_transaction(const reference_engine *e);

/* Runs `first` (statements of ours, up to a NULL) and then the transaction's statements, and
   compares.  Neither commits nor rolls back. */
run_outcome engine_run_txn(reference_engine *e, engine_conn *c, const char *const *first,
                           uint32_t txn);
/* One statement of a transaction that is open. */
run_outcome engine_run_statement(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt);
/* The same in two halves; false: it is not answered yet. */
void engine_sends_statement(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt);
bool engine_statement_answered(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt,
                               int wait_ms, run_outcome *o);
/* Of a statement of ours that was started: `done` says whether it succeeded. */
bool engine_answered(reference_engine *e, engine_conn *c, int wait_ms, bool *done);
/* COMMIT; false: refused, and rolled back.  `conflict`: as a failure to serialize. */
bool engine_commit(reference_engine *e, engine_conn *c, bool *conflict);
void engine_rollback(reference_engine *e, engine_conn *c);

/* Transactions on the newest state can be sent one behind the other on one connection, before the
   first answers are read: if no statement leaves something behind in its session. */
bool engine_may_run_ahead(const reference_engine *e);
/* The connection; NULL: e->why. */
engine_conn *engine_ahead(reference_engine *e);
/* The transaction with its BEGIN and COMMIT.  `last`: the engine shall answer by now. */
void engine_sends_txn(reference_engine *e, engine_conn *c, bool serializable, uint32_t txn,
                      bool last);
/* Reads the answers to it.  Whatever they are, the engine goes on with what was sent. */
run_outcome engine_txn_answered(reference_engine *e, engine_conn *c, uint32_t txn);

/* Why a statement of the log is not executed, and which one; NULL: all are. */
const char *engine_refuses(reference_engine *e, uint32_t *txn, uint32_t *stmt);
/* Parameters are put into MariaDB's texts.  What a quote or a comment is depends on the server's
   mode, so that one might end up within it, and the rest of it outside: such a text is refused. */
bool engine_hides_parameters(const reference_engine *e, const log_stmt *s);
/* Do the words of all statements say that the transaction reads only? */
bool engine_txn_reads_only(const reference_engine *e, uint32_t txn);

/* Do they say that what it writes depends on no row but those that it writes? */
bool engine_txn_by_key(const reference_engine *e, uint32_t txn);

/* Can the statement be written so that the engine must choose the rows of the log? */
bool engine_may_force_rows(reference_engine *e, uint32_t txn, uint32_t stmt);

_Noreturn void engine_lost(reference_engine *e, const engine_conn *c);

#endif
