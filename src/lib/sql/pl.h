/*
 * pl.h - bodies of PL/pgSQL: statements as parsed, and the frame of a body that runs.
 *
 * pl_parse.c reads a body by PostgreSQL's grammar.  SQL inside of it stays text (pl_code) and is
 * bound when it first runs, as PostgreSQL does: a table may come after the function, and a record
 * has columns only when it has been assigned.  pl_run.c executes.
 */
#ifndef RATEL_SQL_PL_H
#define RATEL_SQL_PL_H

#include "sql/exec.h"

typedef struct pl_name {
    const char *name;
    uint32_t var;
} pl_name;

/* Names that a block, a loop or the function itself declares. */
typedef struct pl_scope {
    const struct pl_scope *up;
    const char *label;
    VEC(pl_name) names;
} pl_scope;

typedef struct pl_shape { /* of a record */
    uint32_t n;
    const char **names;
    type *types;
} pl_shape;

typedef struct pl_use { /* a record that a bound text refers to, as it was then */
    uint32_t var;
    const pl_shape *shape;
} pl_use;

typedef struct pl_code {
    const char *text;
    uint32_t n, line;
    const pl_scope *scope;
    plan *p; /* bound at `epoch` of the store */
    uint64_t epoch, catalog;
    VEC(pl_use) uses;
} pl_code;

typedef enum pl_var_kind { PL_SCALAR, PL_RECORD, PL_ROW, PL_CURSOR } pl_var_kind;

typedef struct pl_var {
    const char *name;
    pl_var_kind kind;
    bool constant, not_null;
    const char *type_text; /* NULL: `t` is given */
    type t;
    const pl_scope *scope; /* in which the type is looked up */
    pl_code *init;         /* or the query of a cursor */
    uint32_t args, n_args; /* a cursor's parameters are these variables */
} pl_var;

typedef struct pl_stmt pl_stmt;
typedef struct pl_list {
    VEC(pl_stmt *) at;
} pl_list;

typedef struct pl_target { /* a variable, or a field of a record */
    uint32_t var;
    const char *field;
} pl_target;

typedef struct pl_branch {
    pl_code *cond;
    pl_list body;
} pl_branch;

typedef struct pl_handler {
    VEC(const char *) states; /* NULL: OTHERS */
    pl_list body;
} pl_handler;

typedef enum pl_kind {
    PL_BLOCK,
    PL_ASSIGN,
    PL_IF,
    PL_CASE,
    PL_LOOP,
    PL_WHILE,
    PL_FOR_INT,
    PL_FOR_QUERY,
    PL_FOR_CURSOR,
    PL_EXIT,
    PL_CONTINUE,
    PL_RETURN,
    PL_RETURN_NEXT,
    PL_RETURN_QUERY,
    PL_SQL,
    PL_PERFORM,
    PL_EXECUTE,
    PL_CALL,
    PL_OPEN,
    PL_FETCH,
    PL_CLOSE,
    PL_RAISE,
    PL_ASSERT,
    PL_DIAGNOSTICS,
    PL_NULL
} pl_kind;

typedef enum pl_move { MOVE_RELATIVE, MOVE_ABSOLUTE, MOVE_FIRST, MOVE_LAST, MOVE_PRIOR } pl_move;

struct pl_stmt {
    pl_kind kind;
    uint32_t line;
    const char *label; /* of a block or loop; where EXIT goes */
    pl_code *e, *e2, *e3;
    pl_list body, otherwise;
    bool has_else, strict, reverse, dynamic, move_only, has_into;
    VEC(pl_branch) branches;
    VEC(pl_target) into;
    VEC(pl_code *) args;
    VEC(pl_handler) handlers;
    uint32_t first, n_vars; /* a block's variables, initialised on entry */
    uint32_t sqlstate, sqlerrm;
    uint32_t var; /* loop variable, cursor */
    pl_move move;
    const char *text; /* RAISE: format; condition in `state` */
    const char *state;
    bool error; /* RAISE EXCEPTION */
    VEC(const char *) items;
};

typedef struct pl_body {
    const char *name; /* of the function, in messages */
    VEC(pl_var) vars; /* parameters first, then FOUND */
    uint32_t n_params, found;
    pl_stmt *block; /* NULL: LANGUAGE sql, and these: */
    pl_list statements;
    pl_scope *scope;
} pl_body;

typedef struct pl_param {
    const char *name;
    type t;
} pl_param;

pl_body *pl_parse(sql_exec *x, arena *m, const char *name, const char *text, const pl_param *params,
                  uint32_t n_params);
/* A body in LANGUAGE sql: statements, no block. */
pl_body *pl_parse_sql(sql_exec *x, arena *m, const char *name, const char *text,
                      const pl_param *params, uint32_t n_params);
/* The body of a trigger's function: its variables are NEW and OLD, then the texts of TG_*. */
pl_body *pl_parse_trigger(sql_exec *x, arena *m, const char *name, const char *text);
/* What stands after the first such word outside of parentheses. */
const char *pl_after(sql_exec *x, arena *m, const char *text, const char *word);
/* The SQLSTATEs of a condition: the i-th, or NULL. */
const char *pl_condition(const char *name, uint32_t i);

typedef struct pl_record {
    const pl_shape *shape; /* NULL: not assigned yet */
    value *v;
} pl_record;

struct pl_frame {
    const routine *r; /* NULL: DO */
    const pl_body *body;
    bool fixed; /* STABLE and IMMUTABLE: reads with the caller's snapshot, writes nothing */
    value *vars;
    type *types;
    pl_record *recs;
    bool *secret;      /* holds a message whose text we do not know */
    const char *label; /* where EXIT or CONTINUE is going */
    bool returned;
    value result;
    pl_record row;
    const pl_shape *out; /* columns of a function that returns rows */
    VEC(const value *) rows;
    int64_t row_count;
    const char *state; /* the error that is being handled */
    const char *message;
    bool exact; /* its message is the program's own */
};

/* The variable that a name stands for in a scope, or -1. */
int pl_find(const pl_scope *s, const char *label, const char *name);

/* pl_run.c */
value pl_value(sql_exec *x, const expr *e);
/* A function or procedure; its OUT parameters are left in `out` (n of them). */
value pl_call(sql_exec *x, const struct routine *r, const value *args, value *out);
void pl_call_rows(sql_exec *x, const struct routine *r, const value *args, sql_result *out);
void pl_do(sql_exec *x, const pl_body *b);
typedef struct trigger_call {
    const char *name, *table;
    bool before, statement;
    int event;
    bool several; /* the statement has other rows, too */
} trigger_call;
/* A trigger's function with NEW and OLD in `rows`; what it returns has no shape if it is null. */
pl_record pl_trigger(sql_exec *x, const struct routine *r, const pl_body *body,
                     const pl_record *rows, const trigger_call *call);
/* The columns of a table's rows, in the arena of the statement. */
const pl_shape *pl_shape_of_rows(sql_exec *x, const table *t);
void pl_flush(store *s);
/* As an assignment in PL/pgSQL casts: through the text where there is no cast. */
value pl_cast(sql_exec *x, value v, type from, type to);

#endif
