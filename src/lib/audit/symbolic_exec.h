/*
 * symbolic_exec.h - statements over rows whose contents depend on which states were read.
 *
 * A row is a list of versions, oldest first; the content of a version is what the state holds, that
 * is, a write that took place only under some formula is merged with what was there before.  The
 * transaction being executed has its own versions beside, numbered by statement.  A statement gives
 * candidate rows, each with the formula under which it is one, and conditions that hold if it went
 * as the log says; what would have raised an error becomes a condition too.
 */
#ifndef RATEL_AUDIT_SYMBOLIC_EXEC_H
#define RATEL_AUDIT_SYMBOLIC_EXEC_H

#include "audit/replay.h"
#include "audit/symbolic_fm.h"

typedef struct sym_version {
    uint32_t state; /* or, of the transaction's own, the statement (cid) */
    fm wrote;       /* did it write the row at all? */
    fm alive;
    const gval *cols;
} sym_version;

typedef struct sym_content {
    fm alive;
    const gval *cols;
} sym_content;

typedef struct sym_row {
    VEC(sym_version) versions;
    VEC(sym_version) own;      /* content where `wrote` holds; each includes the ones before */
    uint32_t seen;             /* the last lookup that listed it */
    uint32_t now_txn, now_cid; /* the statement that `now` is for: a row is read once in each */
    sym_content now;
} sym_row;

typedef struct sym_entry {
    uint64_t hash;
    uint32_t row, next;
} sym_entry;

typedef struct sym_index {
    VEC(sym_entry) entries;
    uint32_t *slot;
    uint32_t cap;
    VEC(uint32_t) any_value; /* rows that may have any value */
} sym_index;

typedef struct sym_table {
    table *t;
    uint32_t number; /* among the store's tables */
    VEC(sym_row) rows;
    sym_index **index; /* by column */
} sym_table;

typedef struct sym_touched {
    sym_table *t;
    uint32_t row;
} sym_touched;

typedef struct sym_insert {
    sym_table *t;
    uint32_t row, txn, cid;
    fm when;
} sym_insert;

/* The state that a transaction, a statement or a row was read at: `from` is a formula that holds
   if it was this state or a newer one. */
typedef struct sym_bound {
    uint32_t state;
    fm from;
} sym_bound;

typedef struct sym_id {
    uint32_t low, high;
    VEC(sym_bound) bounds; /* rising */
} sym_id;

typedef struct sym_read { /* one row of one statement, at levels where rows have their own states */
    uint32_t txn, cid;
    const sym_table *t;
    uint32_t row, id;
} sym_read;

typedef struct sframe {
    const gval **slots; /* NULL: nulls */
    struct sframe *up;
    const gval *aggs;
} sframe;

typedef struct sym_out { /* a row that came out, where `when` holds */
    fm when;
    const gval *cols;
} sym_out;

typedef struct sx {
    engine *e;
    fm_pool p;
    gmaker maker;
    arena work;   /* one statement */
    bool foreign; /* some table has foreign keys, whose checks are not made here */
    VEC(sym_table *) tables;
    VEC(sym_id) ids;
    VEC(sym_read) reads;
    VEC(sym_insert) inserts;
    VEC(sym_touched) recent;  /* rows with a new version */
    VEC(sym_touched) touched; /* rows with versions of the transaction's own */
    uint32_t txn, cid;        /* position + 1 (its state), statement */
    uint32_t snapshot;        /* id of the transaction; of statement i: snapshot + i */
    uint32_t n_stmts;
    uint32_t lookup;
    size_t window;   /* versions of a row that may be read; 0: all */
    bool windowed;   /* some were left out */
    bool distinct;   /* a version like one that the row has is not made */
    bool no_errors;  /* what would fail is not looked at */
    size_t versions; /* made so far */
    VEC(fm) bad;     /* when the statement fails */
    VEC(fm) murky;   /* when we cannot tell */
    VEC(sym_out) out;
    const plan *plan;
} sx;

/* Takes over the rows of the store as it stands. */
void sx_begin(sx *x, engine *e);
/* One transaction, at a state of the order. */
void sx_txn(sx *x, uint32_t state, uint32_t n_stmts, uint32_t low, uint32_t high);
/* Runs one statement; the formula says when it answers as observed.  Jumps with SQL_REFUSED. */
fm sx_statement(sx *x, const plan *p, const log_stmt *s, uint32_t cid);
void sx_commit(sx *x);

_Noreturn void sx_refuse(sx *x, const char *what);

/* symbolic_eval.c */
gval sx_eval(sx *x, const expr *e, sframe *f, fm path);
fm sx_true(sx *x, const expr *e, sframe *f, fm path);
gval sx_strict(sx *x, const expr *e, const gval *args, fm path);

/* symbolic_query.c */
void sx_query(sx *x, const query *q, sframe *up, fm path);
typedef struct sym_tuple {
    fm when;
    const gval **slots;
    uint32_t row; /* of slot 0 */
} sym_tuple;
typedef VEC(sym_tuple) sym_tuples;
void sx_join(sx *x, const join *j, uint32_t slots, sframe *up, fm path, sym_tuples *out);
fm sx_match(sx *x, const query *q, const type_id *types, uint32_t n_cols, const log_stmt *s);

/* symbolic_store.c */
sym_table *sx_table(sx *x, const table *t);
/* What the statement sees of a row. */
sym_content sx_row(sx *x, sym_table *t, uint32_t r);
/* What it is at the newest state, with what the transaction wrote before the statement (cid), or
   with everything it wrote (`all`). */
sym_content sx_latest(sx *x, sym_table *t, uint32_t r, bool all);
fm sx_own(const sx *x, const sym_row *r);
/* When a newer state than the one read has written it. */
fm sx_overtaken(sx *x, sym_table *t, uint32_t r);
uint32_t sx_insert(sx *x, sym_table *t, fm when, const gval *cols);
void sx_write(sx *x, sym_table *t, uint32_t r, fm when, const gval *cols); /* NULL: delete */
/* Rows that may have the value in the column: into out. */
typedef VEC(uint32_t) row_list;
void sx_lookup(sx *x, sym_table *t, uint32_t column, uint64_t hash, row_list *out);

#endif
