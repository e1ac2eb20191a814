/*
 * replay.h - executing one logged transaction under one choice of the states that it reads.
 *
 * A run is determined by a list of choices: the snapshot of the transaction, of each statement, or
 * of each row read, as the level has it.  Choices are tried from the newest state down; what a run
 * read tells the oldest state that would have looked the same, and the next try is one below that:
 * no two tries see the same thing, and nothing is left out.
 */
#ifndef RATEL_AUDIT_REPLAY_H
#define RATEL_AUDIT_REPLAY_H

#include "audit/audit.h"
#include "audit/log.h"
#include "audit/match_results.h"
#include "audit/txn_marks.h"
#include "sql/sql.h"

typedef enum audit_mode { MODE_LATEST, MODE_SNAPSHOT, MODE_STATEMENT, MODE_ROW } audit_mode;

typedef struct level_row { /* .log of a record of opt/levels.def, in the words of this room */
    const char *name;
    audit_mode mode;
    write_rule rule;
    bool strict;
} level_row;

typedef struct choice {
    uint32_t now, low;   /* the state chosen, the lowest allowed */
    uint32_t valid_from; /* the run would have been the same from this state on */
    uint32_t jumps;
} choice;

typedef struct reached { /* after a statement: what was written, and how old the next may read */
    uint64_t effects;
    uint32_t stmt, floor;
} reached;

typedef struct state_span { /* from and to are states, both inclusive */
    uint32_t from, to;
} state_span;

typedef struct trial { /* the transaction at one position of the order */
    uint32_t txn;
    uint32_t slot; /* its place in the order of the log, where orders near that are tried */
    bool started;
    VEC(choice) choices;
    VEC(uint64_t) effects; /* of the choices that were good */
    size_t changed;        /* the choice that engine_advance moved */
    uint32_t unstable;     /* the store's, when the first of the choices was made */
    uint32_t write_born;   /* of the run: see sql_exec */
    bool bound;
    VEC(reached) reached;  /* a run that comes to one of these again need not go on */
    VEC(state_span) spans; /* states that explain it with the same writes (snapshot_moments.h) */
} trial;

typedef enum outcome {
    RUN_OK,
    RUN_MISMATCH, /* another result */
    RUN_CONFLICT, /* it must have failed with 40001 */
    RUN_REFUSED
} outcome;

typedef struct seen_row {
    const table *t;
    uint32_t row, state;
} seen_row;

typedef struct looked { /* see sql_exec.saw */
    const table *t;
    uint32_t row, after, before;
    bool fits;
    uint64_t unread; /* columns, a bit each */
} looked;

typedef struct row_read { /* of a transaction that was replayed row by row */
    uint32_t position, stmt, table, row, state;
} row_read;

typedef struct failure {
    bool any;
    uint32_t position, txn, stmt; /* stmt from 0; n_stmts: the commit */
    outcome why;
    uint32_t conflict; /* state */
    VEC(audit_possible) possible;
    VEC(uint32_t) conflicts; /* states */
    VEC(const char *) order; /* ids up to the failure */
    bool semantic, classified;
    const char *text;
    uint32_t not_after; /* 1 + a transaction whose snapshot is newer, though it was answered before
                           this one began; 0: none */
} failure;

/* What was bound of the log's texts.  Invariant: a text has a plan, or a refusal, or was not asked
   for since the last flush; a plan whose catalog is not the store's is bound anew. */
typedef struct engine_plans {
    arena arena;
    plan **of; /* by text */
    const char **refusal;
    uint32_t *refused_at;
    const char **refused_table;   /* the table that a refused text would write, or NULL: any */
    uint32_t bound;               /* plans made since the last flush */
    VEC(const char *) routines;   /* names that the log creates: calling one may write */
    bool sequences_rise;          /* nothing sets one back */
    bool changes_schema;          /* a transaction creates, drops or alters something */
    bool several_change_schema;   /* those of more than one session do, beside temporary
                                   tables, which are their sessions' own */
    uint32_t schema_session;      /* the only one, or the last of several; NO_ID: none does */
    bool lost_prepares;           /* a transaction that is not run may have prepared something */
    VEC(const char *) own_tables; /* names that temporary tables have, and nothing else */
    bool sets_style;              /* some text names IntervalStyle */
} engine_plans;

/* The order in which transactions are replayed; state i + 1 is what position i commits.
   Invariants: at[] has n different transactions that were not aborted; low[i] and high[i] are
   states <= i, or low[i] > i: real time allows position i no state at all. */
typedef struct engine_order {
    uint32_t n;
    uint32_t *at;            /* by position: the transaction */
    bool stamped;            /* the database told when some transactions committed */
    bool mended;             /* stamps or times went against the order of a session */
    const bool *supposed;    /* by transaction: of unknown outcome, but takes part; or NULL */
    uint32_t *low, *high;    /* by position: the states that a strict level allows */
    const char **state_name; /* by state: the transaction that made it */
    uint32_t *first_read;    /* by position: the state that the first statement read */
    uint32_t *same_from; /* by position, one snapshot each: the oldest state that looks the same */
} engine_order;

/* What a replay may cost, and what it left out for that.
   Invariant: `cut` is set whenever something was left out, so that no `violated` follows. */
typedef struct engine_effort {
    uint32_t window; /* jumps of one choice */
    uint32_t keep;   /* states before the newest whose versions are kept */
    uint64_t runs, max_runs;
    bool cut;       /* something was left out */
    bool forgotten; /* a run failed that might have read a state no longer kept */
    bool collect;   /* strict snapshots: the newest states of some replay had no common moments */
    uint32_t stuck; /* the position that a replay failed at */
} engine_effort;

typedef struct draw { /* what a sequence gave */
    int64_t value;
    uint32_t sequence, txn, stmt, row;
} draw;

/* Statements that one ROLLBACK TO takes back.  Their locks and keys were given back then, so that
   they are judged by what had committed by that time: one state for all of them, a choice. */
typedef struct rolled_back {
    uint32_t until; /* the ROLLBACK TO */
    uint32_t latest;
    size_t choice;
} rolled_back;

/* The transaction that is being run.  Invariants: used <= trial->choices.n; seen_from <= seen.n;
   at MODE_STATEMENT cur < trial->choices.n while a statement runs. */
typedef struct running_txn {
    audit_mode mode;
    write_rule rule;
    trial *trial;
    const log_txn *txn;
    const log_stmt *statement; /* that is running */
    uint32_t position;
    uint32_t low, high; /* states that it may read */
    size_t used;        /* choices of the trial that the run has come to */
    VEC(seen_row) seen;
    size_t seen_from;         /* of the statement that is running */
    size_t cur;               /* the running statement's choice, at MODE_STATEMENT */
    uint32_t floor;           /* the oldest state that the next statement may read */
    uint32_t least;           /* the oldest state that a statement of a body has read */
    VEC(draw) drawn;          /* by the statement */
    VEC(uint32_t) cids;       /* with hooks.commits: by statement, the first number of its writes */
    VEC(rolled_back) regions; /* that the statement is in, the innermost last */
    uint32_t focus;   /* 1 + a statement: only its rows have states of their own, and what comes
                         before it need not agree; 0: none */
    uint32_t upto;    /* only so many statements, of a transaction that was rolled back; answers
                         before the last of them are not compared; 0: all */
    bool writes_only; /* what queries answered is not compared; statements that failed, that were
                         taken back, or that changed nothing, do nothing */
    bool unclear;     /* with writes_only: the run ended where other rows may have been written */
    uint32_t written_from; /* at MODE_LATEST: what statements wrote that read more than the rows
                              which they change is the same at every state from this one on */
} running_txn;

/* How others take part in a run: NULL where nobody does. */
typedef struct engine_hooks {
    uint32_t (*choose)(void *ud, table *t, uint32_t row); /* instead of trying states of rows */
    void *chooser; /* the argument of engine_statement's choose, which gets the engine */
    void (*commits)(void *ud, uint32_t position); /* before each position commits */
    void *commits_ud;
    bool watches;       /* a run at the newest state keeps its looks, too */
    VEC(looked) looks;  /* with `commits`: the rows that a run at a snapshot looked at */
    const bool *by_row; /* by position: its rows come from states of their own */
    VEC(row_read) row_reads;
} engine_hooks;

typedef struct engine {
    guard *guard;
    mem *mem;       /* plans, orders, the answer */
    mem *store_mem; /* everything that a new replay forgets */
    const audit_options *o;
    const sql_log *log;
    level_row level;
    arena kept; /* texts of the answer */
    store store;
    sql_exec x;
    engine_plans plans;
    txn_marks marks;
    sql_zone zone; /* of all sessions; the setup's is not known */
    engine_order order;
    engine_effort effort;
    running_txn run;
    engine_hooks hooks;
    bool exploring; /* record in `fail` what would be possible */
    failure fail;
    uint64_t unchecked;
    uint64_t catalog_queries;    /* of a trace: passed over */
    VEC(draw) drawn;             /* by statements that agree, each once */
    VEC(const char *) sequences; /* draw.sequence */
    uint32_t *drawn_upto;        /* by transaction: statements from here on are not in it */
    bool picked;                 /* some run had a choice of the planner's in it */
    bool keep_states;            /* no version of a row is forgotten */
    const char *unsure;          /* why a run that does not agree might yet be right, or NULL */
    bool in_dump;                /* the setup's present statement came from a dump */
    struct symbolic *symbolic;   /* whose choices hooks.choose makes */
    const char *symbolic_why;    /* why it did not decide, or NULL */
} engine;

static inline bool engine_uses(const engine *e, audit_pass p)
{
    return !e->o->off[p];
}
/* (Re)builds the initial state. */
void engine_reset(engine *e);
/* Runs the transaction of `t` on top of state `position`; RUN_OK leaves its writes pending. */
outcome engine_run(engine *e, trial *t, uint32_t position);
/* The same, statement by statement; `choose` says what each row is read at. */
void engine_begin(engine *e, trial *t, uint32_t position);
outcome engine_statement(engine *e, uint32_t stmt, uint32_t (*choose)(void *, table *, uint32_t));
/* Must it fail with 25P02 in a transaction that has failed?  ROLLBACK and its kin need not. */
bool engine_fails_in_aborted(const engine *e, const log_stmt *s);
/* The present choice of the run, or a new one. */
choice *engine_choice(engine *e, uint32_t low, uint32_t high);
/* The next choices; false if there are none. */
bool engine_advance(engine *e, trial *t);
uint64_t engine_effects(const engine *e);
/* Records as the failure that transaction `txn` reads an older state than `before`, whose snapshot
   had been answered before it began. */
void engine_record_moments(engine *e, uint32_t position, uint32_t txn, uint32_t before);
/* Could it be explained if every row came from a state of its own?  Where that is too much to try,
   the failing statement alone is asked, with what comes before it read from the newest state. */
bool engine_explainable(engine *e, uint32_t txn, uint32_t position);
/* Could the query have given its answer if every row came from a state of its own, none older than
   `low`?  What the transaction wrote before it was written on the newest state. */
bool engine_query_explainable(engine *e, uint32_t txn, uint32_t stmt, uint32_t position,
                              uint32_t low);
/* Does the statement write the same if every row that it looks at comes from a state of its own,
   none older than `low` nor than what the n states in `shown` wrote, and agrees with the log?
   False if there are too many ways to try. */
bool engine_writes_same(engine *e, trial *t, uint32_t stmt, uint32_t low, const uint32_t *shown,
                        size_t n);
/* Would an UPDATE or DELETE have written a row with these columns?  True if that is not known. */
bool engine_would_match(engine *e, const log_stmt *s, const value *cols);
/* Once, before anything is asked. */
/* Does the transaction change which tables, columns and functions there are? */
bool engine_changes_schema(const engine *e, const log_txn *t);
/* Does a transaction change what other sessions see of the schema?  (No temporary table.) */
static inline bool engine_shares_changes(const engine *e)
{
    return e->plans.schema_session != NO_ID;
}
void engine_find_routines(engine *e);
/* SELECTs only, as far as their texts tell. */
bool engine_only_reads(const engine *e, const log_txn *t);
/* A statement that was refused and has a target: can nothing else have been written, by a part of
   it or by a function? */
bool engine_writes_one(const engine *e, const log_text *t);
/* Would every run of the trial's transaction that agrees with the log write what this one did?  It
   may read states from `low` on. */
bool engine_writes_fixed(const engine *e, const trial *t, uint32_t low);
const char *engine_state(const engine *e, uint32_t state);
/* The statement's plan, its parameters bound.  Jumps. */
const plan *engine_plan(engine *e, const log_stmt *s);

#endif
