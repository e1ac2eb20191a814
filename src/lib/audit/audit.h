/*
 * audit.h - observational correctness of a log of SQL transactions: the border of the room.
 *
 * Could a correct database at the level have answered so?  No call jumps out, none prints.
 * Levels are the records of opt/levels.def that have .log; doc/audit.md and doc/algorithms/audit.md
 * say what each means.
 */
#ifndef RATEL_AUDIT_AUDIT_H
#define RATEL_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct audit audit;

typedef enum audit_verdict { AUDIT_HOLDS, AUDIT_VIOLATED, AUDIT_UNDECIDED } audit_verdict;

typedef ptrdiff_t (*audit_read)(void *buf, size_t cap, void *payload);

typedef enum audit_pass {
#define PASS(id, name, about) AUDIT_PASS_##id,
#include "audit/audit_passes.def"
#undef PASS
    AUDIT_PASSES
} audit_pass;

typedef struct audit_options {
    const char *level;  /* any name of such a level; NULL: the log's, else serializable */
    bool lenient;       /* statements that we do not know have unknown effects */
    bool by_value;      /* write conflicts by value, the published test */
    bool unique_errors; /* unique errors that no serial order gives are accepted */
    bool no_session_order;
    bool keep_states;       /* all versions of rows, for audit_changes */
    bool off[AUDIT_PASSES]; /* passes that are not to be used */
    uint64_t drift;         /* uncertainty of the log's clock */
    uint64_t runs;          /* of transactions that a search may take; 0: the default */
    double seconds;         /* 0: no limit */
    size_t memory;          /* bytes; 0: no limit */
    const volatile int *interrupt;
    void *(*fn)(void *ud, void *p, size_t osize, size_t nsize); /* allocator; NULL: libc */
    void *ud;
    audit_read dump; /* a dump of the initial state, read before the log; or NULL */
    void *dump_payload;
} audit_options;

typedef struct audit_possible {
    const char *after; /* the transaction whose state was read; "" the initial one */
    const char *result;
} audit_possible;

typedef struct audit_edge { /* of a cycle that no serial order has */
    const char *from, *to;
    const char *kind;   /* wr, ww, rw, so */
    const char *row;    /* table and key, or NULL */
    uint32_t statement; /* of the reader, from 1; 0: none */
} audit_edge;

/* How an answer about a log with unknown tables came about. */
typedef enum audit_first_rows {
    FIRST_ROWS_GIVEN, /* nothing had to be concluded about rows before the log */
    FIRST_ROWS_FIT,   /* it holds with rows that fit its answers */
    FIRST_ROWS_SHOWN, /* it is violated by what its answers show of them */
    FIRST_ROWS_TIMED  /* the same; that these were before the log follows from times */
} audit_first_rows;

typedef struct audit_answer {
    audit_verdict verdict;
    const char *level;  /* the long name */
    const char *reason; /* one sentence */
    int limit;          /* undecided by a limit: its code of ratel.h */
    /* violated: the first transaction that cannot be explained */
    const char *txn;
    uint32_t statement; /* from 1; 0: none of them */
    uint64_t line, column;
    const char *sql, *observed;
    bool semantic; /* no level explains it; else it is the isolation that is wrong */
    size_t n_possible;
    const audit_possible *possible;
    size_t n_conflicts;
    const char *const *conflicts; /* transactions */
    bool all_orders;              /* shown for every order, not only for the log's */
    bool timed_orders;            /* for every order that the times allow */
    bool replayed_writes;         /* and for the writes of the replay: others were not excluded */
    size_t n_cycle;
    const audit_edge *cycle;
    const char *repeated;    /* a sequence that gave a value twice, or NULL */
    const char *repeated_by; /* the transaction that got it first */
    audit_first_rows first_rows;
    bool traced;      /* by a recorder: rests on all writers having been traced */
    bool other_order; /* it holds, but not in the log's order */
    size_t n_order;
    const char *const *order; /* it holds: a witness; transactions with the state each one read */
    const uint32_t *read;     /* by transaction of `order`: state of its first statement */
    const char *engine;       /* the reference engine that the answer rests on, or NULL */
    uint64_t txns, statements, sessions, unchecked, runs;
    size_t n_warnings;
    const char *const *warnings;
} audit_answer;

/* Level names; false past the end. */
bool audit_level_at(size_t i, const char **name, const char **alias, const char **about);
/* The long name, or NULL. */
const char *audit_level_named(const char *name);

/* Passes; false past the end. */
bool audit_pass_at(size_t i, const char **name, const char **about);

/* Reads a log and decides it.  0, or a code of ratel.h with audit_error; the answer lives until
   audit_free. */
int audit_run(audit **out, const audit_options *o, audit_read read, void *payload,
              audit_answer *answer);
/* The same log once more, at another level; the answer before is gone. */
int audit_again(audit *a, const audit_options *o, audit_answer *answer);

typedef struct audit_shrunk {
    uint64_t txns, statements, rows; /* what is left; rows of the initial state */
    uint64_t trials;
    bool minimal;       /* nothing more can be left out */
    const char *reason; /* why that is not known */
    const char *text;   /* the log */
    size_t n;
} audit_shrunk;

/* A smallest part of the log that fails in the same statement and way as `answer`, which is that of
   the last run and violated.  Lives until the next call. */
int audit_shrink(audit *a, const audit_options *o, const audit_answer *answer, audit_shrunk *out);

typedef struct audit_shown_stmt {
    const char *sql, *observed;
} audit_shown_stmt;

typedef struct audit_shown_txn {
    const char *id, *session;
    size_t n;
    const audit_shown_stmt *stmts;
} audit_shown_txn;

/* What the transactions did that an answer of this log is about, in the order of the log, at most
   20 of them.  Lives until audit_free. */
int audit_show(audit *a, const audit_answer *r, const audit_shown_txn **at, size_t *n);

typedef struct audit_change {
    uint32_t state; /* that the transaction made: its place in the order, from 1 */
    const char *table;
    const char *before, *after; /* the row as a JSON object; NULL: there was, or is, none */
} audit_change;

/* The rows that the transactions of a witness wrote, by state.  `r` is the answer of the last run,
   which holds, was found by Ratel's own replay, and had keep_states.  Lives until the next run. */
int audit_changes(audit *a, const audit_answer *r, const audit_change **at, size_t *n);

/* A log as a history of keys, in the native format. */
typedef struct audit_key_view {
    const char *text;
    size_t n;
    uint64_t txns, keys, reads, writes, deletes;
    uint64_t computed;                /* written values that a replay of the log gave */
    uint64_t left_columns, left_keys; /* what is not in it */
    const char *const *left;          /* names of some of them, each with the reason */
    size_t n_left;
} audit_key_view;

/* Of the log of the last run; keys: TABLE:KEY->VALUE,... or NULL: primary keys of one column.
   Lives until the next call; the answer before is gone. */
int audit_keys(audit *a, const audit_options *o, const char *keys, audit_key_view *out);

typedef enum audit_severity { AUDIT_NOTE, AUDIT_WARNING, AUDIT_MEANINGLESS } audit_severity;

typedef struct audit_finding {
    const char *id, *unit, *text, *advice;
    audit_severity severity;
    uint64_t count;
    const char *example; /* with its line, "" if the whole log is meant */
    const char *txn;     /* or NULL */
} audit_finding;

typedef struct audit_counts {
    uint64_t committed, aborted, unknown, sessions, statements, texts, answered, failed;
    uint64_t rows; /* returned */
    uint64_t read_only, stamped, timed, tables, initial_rows;
} audit_counts;

/* The i-th finding that there may be; false past the end. */
bool audit_finding_at(size_t i, audit_finding *out);
/* Is this a log of SQL transactions?  Looks at the first bytes only.  1: yes, 0: no, or they cannot
   be read, -1: there was no memory to look at them. */
int audit_sniff(audit_read read, void *payload);
/* Reads a log that may be wrong in many ways, and tells in which; lives until audit_free. */
int audit_lint(audit **out, const audit_options *o, audit_read read, void *payload,
               audit_counts *counts, const audit_finding **at, size_t *n);
const char *audit_error(const audit *a, uint64_t *line, uint64_t *column);
void audit_free(audit *a);
/* Is the SQL front end in this build? */
bool audit_available(void);

#endif
