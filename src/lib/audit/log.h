/*
 * log.h - logs of SQL transactions (doc/formats/sql-log.md): statements and what came back.
 *
 * One JSON object a line: a header, rows of the initial state, transactions.  Texts of statements
 * are kept once, by number, so that what a million transactions repeat is parsed once.
 */
#ifndef RATEL_AUDIT_LOG_H
#define RATEL_AUDIT_LOG_H

#include "base/map.h"
#include "base/strbuf.h"
#include "read/byte_source.h"
#include "sql/arena.h"

typedef enum cell_kind { CELL_NULL, CELL_FALSE, CELL_TRUE, CELL_NUMBER, CELL_TEXT } cell_kind;

typedef struct cell {
    uint32_t kind; /* enum cell_kind */
    uint32_t n;
    const char *s; /* the number's text, or the string */
} cell;

typedef struct log_stmt {
    uint32_t text; /* number of its text */
    uint32_t n_params;
    const cell *params;
    bool has_rows, has_count, has_error, has_time;
    uint32_t n_rows, n_cols;
    const cell *cells; /* n_rows * n_cols */
    uint64_t count;
    char error[6];
    uint64_t insert_id; /* the number that the server gave the first row; 0: none, or not known */
    const char *opaque; /* why the recorder does not know the whole statement, or NULL */
    int64_t call, answer;
    bool of_dump;          /* its line is one of the dump */
    uint64_t line, column; /* of the statement in the log */
} log_stmt;

/* The end of a commit whose answer never came: it may take effect at any time. */
#define LOG_NO_END (INT64_MAX / 2)

typedef enum log_status { LOG_COMMITTED, LOG_ABORTED, LOG_UNKNOWN } log_status;

typedef struct log_txn {
    const char *id;
    uint32_t session;
    log_status status;
    uint32_t n_stmts;
    const log_stmt *stmts;
    bool has_begin, has_end, has_times, has_commit;
    bool commit_unknown; /* it may have one that the recorder did not see: null */
    int64_t begin, end, times[4], commit;
    const char *isolation; /* that it asked for, in PostgreSQL's words, or NULL */
    uint64_t line;
} log_txn;

typedef struct log_text {
    const char *at;
    uint32_t n;
} log_text;

typedef struct log_rows { /* {"table": ..., "rows": ...} */
    const char *table;
    uint32_t n_rows, n_cols;
    const cell *cells;
    const char **columns; /* n_cols of them; NULL: all of the table, in its order */
    bool of_dump;
    uint64_t line;
} log_rows;

/* The tables in the words of the database's own dialect, for a reference engine of its product. */
typedef struct log_native {
    bool given;
    const char *sql_mode; /* of the server, or NULL */
    VEC(log_stmt) setup;
    VEC(log_rows) rows; /* of tables that are not in the log's setup; names are in backticks */
} log_native;

typedef enum finding_id {
#define FINDING(id, name, severity, unit, text, advice) FINDING_##id,
#include "audit/findings.def"
#undef FINDING
    FINDINGS
} finding_id;

typedef struct log_note { /* what a linting reader passed over */
    finding_id id;
    uint64_t line;
    const char *text;
} log_note;

/* Whose SQL it is: what an error does to a transaction, how errors are named, and which statement
   takes the snapshot.  `generic` claims nothing that products do differently. */
typedef enum log_dialect {
    DIALECT_POSTGRES,
    DIALECT_MYSQL,
    DIALECT_SQLITE,
    DIALECT_DUCKDB,
    DIALECT_GENERIC,
    DIALECTS
} log_dialect;
extern const char *const log_dialect_names[DIALECTS];

/* An error of which the log does not tell the SQLSTATE. */
#define LOG_SOME_ERROR "HY000"

typedef struct sql_log {
    mem *mem;
    arena kept;
    VEC(log_text) texts;
    VEC(log_text) written; /* by text: as the log has it, where that is not the same; at is NULL */
    id_index text_index;   /* texts by content */
    VEC(log_stmt) setup;
    VEC(log_rows) rows;
    log_native native;
    VEC(const char *) unknown; /* tables whose initial rows are not known */
    VEC(const char *) sessions;
    VEC(log_txn) txns;
    log_dialect dialect;
    const char *level;     /* of the header, or NULL */
    const char *usual;     /* the header's isolation, in PostgreSQL's words, or NULL */
    const char *weakest;   /* the weakest isolation that a transaction asked for, or NULL */
    bool some_usual;       /* some transactions asked for none */
    bool hidden_routines;  /* the database has functions that the setup does not create */
    bool named_writes;     /* a statement writes only tables that it names */
    const char *collation; /* of the database, if it is not C's; or NULL */
    bool traced;           /* a trace, which has all writes of the traced */
    bool recorded;         /* by a recorder that ends its logs with a mark, as traces end, too */
    bool ended;            /* the last line is that mark */
    uint64_t missing;      /* lines that end marks count and that are not there */
    uint64_t added;        /* lines that they do not count */
    uint64_t gaps;         /* stretches that were not logged */
    uint64_t gap_line;     /* of the first */
    const char *gap_why;
    uint64_t statements;
    bool linting; /* set after log_begin: what can be passed over is noted, no failure */
    VEC(log_note) notes;
} sql_log;

/* Is the end missing that its recorder would have written? */
bool log_cut_off(const sql_log *l);
/* How many lines of what a recorder wrote are missing before its end mark. */
uint64_t log_missing(const sql_log *l);
/* One or the other. */
bool log_incomplete(const sql_log *l);
/* The weaker of two isolations, in PostgreSQL's words; either may be NULL. */
const char *log_weaker_isolation(const char *a, const char *b);
void log_begin(sql_log *l, mem *m);
/* Of a log that was begun.  Fails through the source's guard, with line and column. */
void log_read(sql_log *l, source *s);
/* The number of a text, which is kept once. */
uint32_t log_text_number(sql_log *l, const char *at, size_t n);
/* A text in the words of the log's own dialect. */
log_text log_text_as_written(const sql_log *l, uint32_t text);
/* The log as text, with this level in its header. */
void log_write(const sql_log *l, const char *level, strbuf *out);

#endif
