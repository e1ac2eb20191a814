/*
 * exec.h - running typed statements against the versions of the store.
 *
 * What a statement reads is decided by its view: a state, and for levels that let each row come
 * from a state of its own, a function that chooses.  While it runs, `valid_from` rises to the
 * oldest state that would have looked the same, so that a search over states can jump.
 */
#ifndef RATEL_SQL_EXEC_H
#define RATEL_SQL_EXEC_H

#include "sql/store.h"

typedef enum write_rule {
    WRITE_FREE,     /* no rule: the version read is the version replaced */
    WRITE_CONFLICT, /* a newer version than the one read raises 40001 */
    WRITE_RECHECK   /* it is read again and the condition tested anew (READ COMMITTED) */
} write_rule;

typedef struct sql_result {
    bool has_rows;
    uint32_t n_cols;
    const char **names;
    type_id *types;
    uint32_t n;
    const value **rows; /* before LIMIT and OFFSET */
    uint32_t *tie;      /* rows of one number may come in any order; NULL: all may */
    bool has_limit;
    uint64_t limit, offset;
    uint64_t count; /* of an INSERT, UPDATE, DELETE, SELECT */
} sql_result;

typedef struct written_row {
    table *t;
    uint32_t row;
} written_row;

typedef struct savepoint {
    const char *name; /* of the plan that set it */
    size_t mark;
} savepoint;

typedef struct sql_exec {
    sql_context c;
    store *s;
    arena work;
    uint32_t state;  /* the view */
    uint32_t latest; /* the newest state: constraints and locks look here */
    uint32_t cid;
    write_rule rule;
    bool any_key;  /* do not ask whether a key is taken: later states are in the store, too */
    bool no_index; /* scan where an index would do */
    bool by_value; /* a conflict needs a changed value (the published test) */
    uint32_t (*choose)(void *ud, table *t, uint32_t row); /* NULL: `state` for every row */
    void *ud;
    /* NULL, or told of each row that a scan or lookup came to: states whose version of it decides
       what was seen.  It was read after `after` wrote it (0: the initial state, or no matter) and
       before `before` did (0: nobody has); `fits`: the row was used. */
    void (*saw)(void *ud, table *t, uint32_t row, uint32_t after, uint32_t before, bool fits);
    void *saw_ud;
    uint32_t valid_from;
    uint32_t conflict;       /* state that wrote the row a 40001 is about */
    VEC(written_row) locked; /* FOR UPDATE */
    uint32_t n_params;
    const value *params; /* of the plan's types */
    uint64_t touched;    /* rows that the statement tried to write: the order of errors is theirs */
    uint32_t depth;
    VEC(savepoint) savepoints;
    table *target; /* that the statement being bound or run would write, if it is known */
} sql_exec;

typedef struct frame {
    const value **slots; /* a row for each slot; NULL: nulls */
    struct frame *up;
    const value *aggs;
} frame;

void exec_init(sql_exec *x, store *s, mem *m);

/* Runs one statement; jumps with SQL_RAISED or SQL_REFUSED. */
void exec_plan(sql_exec *x, const plan *p, sql_result *out);

/* within the room */
value eval(sql_exec *x, const expr *e, frame *f);
bool eval_true(sql_exec *x, const expr *e, frame *f);
void exec_query(sql_exec *x, const query *q, frame *up, sql_result *out);
/* LIMIT and OFFSET applied; refuses if they cut between rows of which either might come. */
void exec_cut(sql_exec *x, const query *q, sql_result *r);
void exec_modify(sql_exec *x, const plan *p, sql_result *out);
const row_version *exec_row(sql_exec *x, table *t, uint32_t r);

typedef struct tuples {
    VEC(const value **) at; /* each: a row for each slot of the query */
    VEC(uint32_t) rows;     /* of queries that lock or modify: row numbers of slot 0 */
} tuples;
/* Keeps the tuples that fulfil the query's condition. */
void exec_where(sql_exec *x, const query *q, frame *up, tuples *t);
void exec_join(sql_exec *x, const join *j, uint32_t slots, frame *up, tuples *out);

#endif
