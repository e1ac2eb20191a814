/*
 * initial_rows.h - what a log shows of tables whose rows before the log are not known.
 *
 * Two things are taken from it.  A guess: rows with which the log may hold, for if it holds with
 * some rows, it holds.  And what is certain: a row, or its absence, that was observed before any
 * other transaction that writes it could have been seen, so that it was so before the log; only
 * this can show that an answer is wrong.
 */
#ifndef RATEL_AUDIT_INITIAL_ROWS_H
#define RATEL_AUDIT_INITIAL_ROWS_H

#include "audit/replay.h"

enum { OPEN_TABLES = 64 }; /* more are too many: sets of them are bits */

typedef struct open_column {
    const char *name;
    type t;
    bool hidden, not_null;
    bool used; /* some statement looks at it */
} open_column;

typedef struct open_table {
    const char *name;
    uint32_t n_cols;
    open_column *cols;
    uint32_t n_key; /* of the primary key; 0: none that is understood */
    const uint32_t *key;
    bool linked;    /* by foreign keys */
    bool more_keys; /* beside the primary key */
    bool lost;      /* a statement writes rows of it that nobody can tell */
    bool whole;     /* all of its rows are certain: those of this answer */
    uint32_t whole_txn, whole_stmt;
    const uint32_t *whole_place; /* by column: its place in the answer */
    VEC(uint32_t) writers;       /* transactions, rising */
} open_table;

typedef enum touch_kind {
    TOUCH_SEEN,   /* the row was there; `shown` says with which values */
    TOUCH_ABSENT, /* it was not */
    TOUCH_UPDATE,
    TOUCH_DELETE,
    TOUCH_INSERT
} touch_kind;

typedef struct column_change {
    uint32_t column;
    char how;         /* '=' a constant, '+' adds `text`, '?' something else */
    const char *text; /* NULL: null */
} column_change;

typedef struct row_touch {
    uint32_t row, txn, stmt;
    touch_kind kind;
    bool own;         /* its transaction has written the row before */
    bool undone;      /* by a ROLLBACK TO */
    bool newest;      /* it read the last committed version, whatever its snapshot is */
    bool upsert;      /* or it was not there, and was inserted */
    const num *bound; /* a condition: `bound_column` was at least this much; NULL: none */
    uint32_t bound_column;
    const cell **shown; /* by column; NULL: not shown */
    uint32_t n_changes;
    const column_change *changes;
} row_touch;

typedef struct open_row {
    uint32_t table;
    const char **key;    /* by column of the key, as the column prints it */
    uint32_t written_by; /* 1 + the transaction that wrote it last, while statements are seen */
    bool certain;        /* presence, and every column that is used */
    bool absent;         /* if it is certain */
    const cell **is;     /* by column, what was shown first; NULL: nothing was */
    VEC(uint32_t) writers;
} open_row;

/* A statement that names one of the tables. */
typedef struct open_use {
    uint32_t txn, stmt;
    uint64_t tables; /* bits */
    bool by_row;     /* it looks at and writes the rows `first` to `end` of rows_used alone */
    bool writes;
    uint32_t first, end;
} open_use;

typedef struct initial_rows {
    engine *e; /* its catalog is read while statements are seen */
    arena *kept;
    uint32_t n_tables;
    open_table *tables;
    VEC(open_row) rows;
    id_index index;
    VEC(row_touch) touches;
    VEC(uint32_t) rows_used;
    VEC(open_use) uses;
    uint64_t *mentions; /* by text: tables that it names */
    const char *lost;   /* why nothing can be shown to be wrong, or NULL */
    bool times_count;   /* real time tells what a statement cannot have seen */
    bool timed;         /* what is certain rests on times */
    strbuf scratch;
    uint32_t txn, stmt;
} initial_rows;

/* Reads the log; the engine is ready, and its state the initial one.  false: nothing is gained. */
bool initial_rows_see(initial_rows *w, engine *e, arena *kept);
/* Which rows are certain, and which statements depend on nothing else (open_use.by_row stays). */
void initial_rows_settle(initial_rows *w);
/* Does the statement depend on nothing but rows that are certain? */
bool initial_use_is_certain(const initial_rows *w, const open_use *u);

#endif
