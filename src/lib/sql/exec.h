/*
 * exec.h - running typed statements against the versions of the store.
 *
 * What a statement reads is decided by its view: a state, and for levels that let each row come
 * from a state of its own, a function that chooses.  While it runs, `valid_from` rises to the
 * oldest state that would have looked the same, so that a search over states can jump.
 */
#ifndef RATEL_SQL_EXEC_H
#define RATEL_SQL_EXEC_H

#include "sql/table_store.h"

typedef enum write_rule {
    WRITE_FREE,     /* no rule: the version read is the version replaced */
    WRITE_CONFLICT, /* a newer version than the one read raises 40001 */
    WRITE_RECHECK   /* it is read again and the condition tested anew (READ COMMITTED) */
} write_rule;

typedef struct sql_result {
    bool has_rows;
    bool unseen; /* any rows will do */
    bool skips;  /* SKIP LOCKED beside other sessions: any of the rows may be left out */
    uint32_t n_cols;
    const char **names;
    type_id *types;
    uint32_t n;
    const value **rows; /* before LIMIT and OFFSET */
    uint32_t *tie;      /* rows of one number may come in any order; NULL: all may */
    uint32_t *turn; /* the same for queries of these rows: also the order of a subquery's rows */
    bool has_limit;
    uint64_t limit, offset;
    uint64_t count; /* of an INSERT, UPDATE, DELETE, SELECT */
} sql_result;

typedef struct written_row {
    table *t;
    uint32_t row;
} written_row;

typedef struct pl_frame pl_frame;

/* The registers of the interpreter: what a statement inside of a body changes and its caller gets
   back.  exec_enter copies them whole and exec_leave assigns them whole, so that a new register
   cannot be forgotten in one of the two.
   Invariants: cid <= last_cid while a body runs; kept_from <= kept.n; refers_from <= refers.n. */
typedef struct exec_regs {
    uint32_t cid;           /* the running statement: it sees the writes of smaller cids */
    uint32_t depth;         /* queries that are running inside of one another */
    uint32_t calls;         /* bodies that are running inside of one another */
    uint32_t caught;        /* blocks that would catch a deadlock */
    uint32_t moments;       /* blocks that would catch an error which depends on the moment */
    uint32_t many;          /* > 0: evaluating for each of several rows, in no order */
    bool planner_may_raise; /* the running statement's error may depend on the planner */
    uint32_t n_params;
    const value *params; /* of the plan's types */
    table *target;       /* that the statement being bound or run would write, if it is known */
    pl_frame *pl;        /* the body that is running */
    size_t kept_from;    /* results of WITH from here on belong to the running statement */
    size_t refers_from;  /* foreign keys to be tested from here on belong to it */
    bool several_rows;   /* a trigger runs for one of several rows, in no order */
} exec_regs;

/* What is put aside while a statement inside of a body runs. */
typedef struct exec_view {
    exec_regs regs;
    sql_place place;                /* sql_context.place */
    size_t kept, refers, after;     /* lengths of sql_exec.kept, .refers and .after */
    size_t rekeys;                  /* and of .rekeys */
    uint32_t state, valid_from;     /* given back by sql_exec.view, at levels that change them */
    size_t choice, seen, seen_from; /* owned by the function that chooses states */
} exec_view;

typedef enum view_move { VIEW_SAVE, VIEW_FRESH, VIEW_BACK } view_move;

/* SET CONSTRAINTS: for the rest of the transaction; without a name, of all. */
typedef struct constraint_mode {
    const char *name;
    bool deferred;
} constraint_mode;

typedef struct savepoint {
    const char *name; /* of the plan that set it */
    size_t mark, portals, modes;
} savepoint;

typedef struct sql_portal { /* an open cursor: its rows were made when it was opened */
    const char *name;
    sql_result r;
    int64_t at;      /* row it stands on, from 1 */
    int64_t settled; /* rows whose order is fixed */
} sql_portal;

typedef struct refer_event {
    table *t;
    const value *before, *after; /* NULL: it was not, or is no more */
} refer_event;

/* A foreign key to be tested when the transaction commits: of a row of the child that has been
   written, or (`gone`) of a row of the parent that is no more.  The row has its key alone, in the
   memory of the transaction. */
typedef struct late_key {
    table *child, *parent;
    const foreign_key *f;
    const value *key;
    bool gone;
    const unique_key *u; /* or a unique constraint of `child`, for this row; `f` is NULL */
    uint32_t row;
} late_key;

/* A key that a row was given, of a constraint that is not tested at once. */
typedef struct key_event {
    table *t;
    uint32_t key, row;
} key_event;

/* A row whose AFTER triggers run when the statement ends. */
typedef struct after_event {
    const plan *p;
    int event;
    const value *before, *after;
} after_event;

/* A value of the row that is being written which the database chose, taken from the answer. */
typedef struct made_value {
    uint32_t column;
    bool draws; /* a sequence gave it */
    value was;  /* before it was known */
    int64_t seen;
} made_value;

/* MERGE: a row of the source with a row of the target as it was seen, or NULL: with none. */
typedef struct merge_pair {
    uint32_t source, row;
    const value *target;
} merge_pair;

/* What the running transaction knows of the clock (clock_values.c). */
typedef struct clock_state {
    bool trying;  /* the clock and what was stored of it read as `trial` */
    bool aged;    /* some stored value did, while trying: */
    uint32_t old; /* its reading */
    int64_t trial;
    uint32_t reading; /* number in the store; 0: none yet */
    bool guessed;     /* an answer depends on when the clock was read, ever */
} clock_state;

typedef struct member_table member_table;

/* Of a query of WITH, or of IN and its kin, while its statement runs. */
typedef struct kept_result {
    const query *q;
    sql_result r;
    const member_table *table; /* member_rows.c; may be NULL */
} kept_result;

typedef struct sql_exec {
    sql_context c;
    store *s;
    arena work;
    uint32_t state;  /* the view */
    uint32_t latest; /* the newest state: constraints and locks look here.  Below the state that
                          the transaction commits on while a statement runs whose locks are given
                          back before the commit: it failed, or was rolled back to a savepoint */
    uint32_t latest_from; /* everything that constraints and locks looked at was there from here */
    uint32_t last_cid;    /* statements of bodies count on from here */
    exec_regs regs;       /* what a statement inside of a body changes and gives back */
    write_rule rule;
    bool leaves_catalogs; /* queries of system catalogs alone have rows that are not compared */
    bool any_key;      /* do not ask whether a key is taken: later states are in the store, too */
    bool no_index;     /* scan where an index would do */
    bool all_columns;  /* a query counts as reading each column of its tables */
    bool nothing_free; /* ON CONFLICT DO NOTHING may leave out a row whose key is free */
    bool by_value;     /* a conflict needs a changed value (the published test) */
    uint32_t (*choose)(void *ud, table *t, uint32_t row); /* NULL: `state` for every row */
    /* A statement of a body begins with a new snapshot, or is left; NULL: all read one state. */
    void (*view)(void *ud, exec_view *v, view_move move);
    /* What came back in a row and column of the statement's answer; false: not observed. */
    bool (*observed)(void *ud, uint64_t row, uint32_t column, type t, value *v);
    /* A sequence gave a value that the statement's answer shows in this row; NULL: nobody asks. */
    void (*drew)(void *ud, uint32_t sequence, uint64_t row, int64_t value);
    /* One of n that may all come next; NULL: what depends on it is refused. */
    uint32_t (*pick)(void *ud, uint32_t n);
    void *ud;
    /* NULL, or told of each row that a scan or lookup came to: states whose version of it decides
       what was seen.  It was read after `after` wrote it (0: the initial state, or no matter) and
       before `before` did (0: nobody has); `fits`: the row was used. */
    void (*saw)(void *ud, table *t, uint32_t row, uint32_t after, uint32_t before, bool fits,
                uint64_t unread);
    void *saw_ud;
    uint32_t valid_from;
    uint32_t conflict;       /* state that wrote the row a 40001 is about */
    VEC(written_row) locked; /* FOR UPDATE */
    uint64_t touched;    /* rows that the statement tried to write: the order of errors is theirs */
    bool single_session; /* no other session, so no deadlock */
    uint64_t steps;      /* of bodies, in this statement */
    bool moment_caught;  /* a write ran in a block that would have hidden an error of the moment */
    bool planner_chose;  /* the statement, or one in a body that it ran, has a planner's choice */
    bool bound;          /* a value that the database chose was observed for the first time */
    bool any_version;    /* which version of a row is seen does not matter, if one is */
    uint32_t write_born; /* the newest state that made a row which an UPDATE or DELETE found */
    bool sole_target;    /* looking at the only row that an UPDATE or DELETE found */
    bool key_shared;     /* FOR KEY SHARE read a version that is not the newest */
    bool key_changed;    /* FOR KEY SHARE met a row whose key others changed */
    bool twins;          /* the snapshot shows two rows of one key */
    clock_state clock;
    uint32_t session;
    bool lost_prepares; /* a transaction that is not run prepared or deallocated something */
    VEC(savepoint) savepoints;
    VEC(kept_result) kept; /* in the work arena */
    VEC(sql_portal) portals;
    arena held; /* their rows: up to the end of the transaction */
    uint32_t unnamed;
    uint32_t views;        /* being bound */
    VEC(merge_pair) pairs; /* of the MERGE that is running; not in the arena, which is cut back */
    VEC(made_value) made;  /* of the row that is being written; the same */
    VEC(after_event) after;
    bool validating; /* ADD FOREIGN KEY tests the rows at once, whatever is deferred */
    VEC(constraint_mode) modes;
    VEC(late_key) late;
    VEC(refer_event) refers; /* rows whose foreign keys are tested when the statement ends */
    VEC(key_event) rekeys;   /* unique keys that are */
} sql_exec;

typedef struct frame {
    const value **slots; /* a row for each slot; NULL: nulls */
    struct frame *up;
    const value *aggs;
} frame;

/* function_rows.c: the rows of a function in FROM. */
typedef VEC(value *) made_rows;
void series_rows(sql_exec *x, const query *q, frame *up, made_rows *out);

void exec_init(sql_exec *x, store *s, mem *m);

/* Runs one statement; jumps with SQL_RAISED or SQL_REFUSED. */
void exec_plan(sql_exec *x, const plan *p, sql_result *out);

/* A number for what later statements may depend on beside the store: open cursors. */
uint64_t exec_hidden(const sql_exec *x);
/* A transaction begins. */
void exec_begin(sql_exec *x);

/* within the room */
void exec_inner(sql_exec *x, const plan *p, sql_result *out);
/* A statement with a constant that fails is refused when it ends: PostgreSQL would not
   have begun it. */
void exec_planned(sql_exec *x, const plan *p);
/* foreign_keys.c: a row was written; at the end of the statement. */
void refer_note(sql_exec *x, table *t, const value *before, const value *after);
void refer_check(sql_exec *x);
/* Is a constraint tested at the commit, as SET CONSTRAINTS has it? */
bool refer_is_late(const sql_exec *x, const char *name, bool deferrable, bool deferred);
/* late_uniques.c: a row was given a key of a DEFERRABLE constraint; those noted from `from` on are
   tested, or put off; one that was put off is tested. */
void late_unique_note(sql_exec *x, table *t, uint32_t key, uint32_t row);
void late_uniques_check(sql_exec *x, size_t from);
void late_unique_test(sql_exec *x, const late_key *k);
/* What was put off until now, by constraints that are DEFERRABLE. */
void refer_late(sql_exec *x);
/* SET CONSTRAINTS */
void refer_modes(sql_exec *x, const plan *p);
/* A table outside `leaving` that has a foreign key to t, or NULL. */
const char *refer_child(const sql_exec *x, const table *t, const char *const *leaving, uint32_t n);
/* modify.c: hidden columns of a row that is to be written */
void exec_index_row(sql_exec *x, const table *t, value *row);
/* The transaction is going to commit: temporary tables are emptied or dropped. */
void exec_end(sql_exec *x);
/* alter_table.c: ALTER of a table that others may know. */
void exec_alter(sql_exec *x, const plan *p);
void exec_refresh(sql_exec *x, const plan *p);
/* Does the text of some view name the table? */
bool alter_view_reads(const sql_exec *x, const table *t);
void exec_session(sql_exec *x, const plan *p, sql_result *out);
void exec_enter(sql_exec *x, exec_view *v, bool fresh);
void exec_leave(sql_exec *x, const exec_view *v);
sql_portal *exec_portal(sql_exec *x, const char *name); /* NULL: none of that name */
sql_portal *exec_open(sql_exec *x, const char *name, const sql_result *r);
void exec_close(sql_exec *x, const sql_portal *p);
const value *exec_fetch(sql_exec *x, sql_portal *p, int64_t to);
value eval(sql_exec *x, const expr *e, frame *f);
value *eval_args(sql_exec *x, const expr *e, frame *f);
/* Where a value is only passed on: it need not be known. */
value eval_open(sql_exec *x, const expr *e, frame *f);
bool eval_true(sql_exec *x, const expr *e, frame *f);
bool eval_compares(int op, int c); /* enum compare_op, and how the sides compare */

/* clock_values.c: a comparison with now() and its kin.  Binding tells such comparisons. */
void clock_mark(expr *compare);
bool clock_inside(const expr *e);
value clock_compare(sql_exec *x, const expr *e, frame *f);
value clock_drawn(sql_exec *x, const expr *e);
value clock_stored(sql_exec *x, value v);
void exec_query(sql_exec *x, const query *q, frame *up, sql_result *out);
/* LIMIT and OFFSET applied; refuses if they cut between rows of which either might come. */
void exec_cut(sql_exec *x, const query *q, sql_result *r);

/* member_rows.c: the rows of the subquery of an E_IN_QUERY, if they are the same for each row of
   the outer query; else NULL. */
const kept_result *member_rows(sql_exec *x, const expr *e, frame *f);
/* The answer for one value, if it can be looked up; false: the rows must be compared one by one. */
bool member_found(const expr *e, const kept_result *k, value v, value *answer);
void exec_modify(sql_exec *x, const plan *p, sql_result *out);
const row_version *exec_row(sql_exec *x, table *t, uint32_t r, uint64_t unread);
/* What a constraint or lock finds of a row, at whatever snapshot: ours, or the newest committed. */
static inline const row_version *exec_now(sql_exec *x, const table *t, uint32_t r)
{
    const row_version *v = t->rows.at[r].head;
    if (v && v->commit == PENDING) return v;
    while (v && v->commit > x->latest) v = v->older;
    if (v && v->commit > x->latest_from) x->latest_from = v->commit;
    return v;
}
/* The same without what the running statement itself has written. */
static inline const row_version *exec_latest(sql_exec *x, const table *t, uint32_t r)
{
    const row_version *v = vs_at(t, r, x->latest, x->regs.cid);
    if (v && v->commit != PENDING && v->commit > x->latest_from) x->latest_from = v->commit;
    return v;
}

/* Some UPDATE gives the column another value, or tries to. */
static inline void exec_column_changes(sql_exec *x, table_column *c)
{
    if (!c->changed) x->s->unstable++;
    c->changed = true;
}

typedef struct tuples {
    VEC(const value **) at; /* each: a row for each slot of the query */
    VEC(uint32_t) rows;     /* of queries that lock or modify: row numbers of slot 0 */
} tuples;
/* Keeps the tuples that fulfil the query's condition. */
void exec_where(sql_exec *x, const query *q, frame *up, tuples *t);
/* lock_rows.c: a tuple is locked, and at READ COMMITTED read again; false: it is left out.
   `conflict`: the state that wrote a row of it after the snapshot, where that is an error. */
bool exec_lock_tuple(sql_exec *x, const query *q, frame *up, const value ***tuple,
                     uint32_t *conflict);
/* Which of the rows that SKIP LOCKED may have left out are there: a choice. */
void exec_skip(sql_exec *x, const query *q, sql_result *r);
void exec_join(sql_exec *x, const join *j, uint32_t slots, frame *up, tuples *out);
/* The rows of the right side, a table, that join with one tuple of the left; with row numbers. */
void exec_matches(sql_exec *x, const join *j, uint32_t slots, const value **left, tuples *out);

#endif
