/*
 * bind.h - from libpg_query's parse tree to typed trees: shared by the files that do it.
 *
 * Names are resolved against the catalog of the store, types follow PostgreSQL's rules for
 * operators, unknown literals and parameters.  Whatever is not understood completely is refused
 * with its position; nothing is guessed.
 */
#ifndef RATEL_SQL_BIND_H
#define RATEL_SQL_BIND_H

#include <pg_query/pg_query.pb-c.h>

#include "sql/exec.h"

typedef PgQuery__Node node;

typedef struct relation {
    const char *name; /* alias or table */
    table *t;
    query *sub;
    uint32_t slot;
} relation;

typedef struct scope {
    struct scope *up;
    VEC(relation) rels;
    query *q;
    bool aggregates; /* allowed here */
    bool in_aggregate;
    VEC(aggregate) aggs;
} scope;

struct pl_code;

typedef struct binder {
    sql_exec *x;
    arena *mem; /* of the plan */
    plan *p;
    VEC(type) params;
    VEC(expr *) early;
    uint32_t depth;
    bool sublinks, calls; /* there are subqueries; calls of routines */
    struct pl_code *code; /* SQL of a body: names may be those of variables */
} binder;

/* bind_expr.c */
expr *bind_expr(binder *b, scope *s, const node *n);
expr *bind_bool(binder *b, scope *s, const node *n, const char *what);
expr *expr_new(binder *b, expr_kind kind, type t, int position, uint32_t n);
expr *expr_coerce(binder *b, expr *e, type to, cast_kind kind);
void expr_settle(binder *b, expr *e); /* an unknown literal in the output is text */
bool expr_same(const expr *a, const expr *b);
type bind_type(binder *b, const PgQuery__TypeName *t);
value value_keep(binder *b, type_id t, value v);
const char *name_keep(binder *b, const char *s);
const char *string_of(binder *b, const node *n, int position);

/* bind_routine.c */
void bind_create_routine(binder *b, plan *p, const PgQuery__CreateFunctionStmt *c);
void bind_drop_routine(binder *b, plan *p, const PgQuery__DropStmt *d);
void bind_call(binder *b, plan *p, const PgQuery__CallStmt *c);
void bind_do(binder *b, plan *p, const PgQuery__DoStmt *d);
/* A call of a function that was created, or NULL if there is none of that name. */
expr *bind_routine_call(binder *b, scope *s, const PgQuery__FuncCall *f);
/* The relation that a function in FROM is. */
query *bind_function_rows(binder *b, scope *s, const PgQuery__FuncCall *f);
/* A variable of the body, or NULL. */
expr *bind_variable(binder *b, const char *const *names, size_t n, int position);
expr *bind_argument(binder *b, int number, int position);

/* bind.c */
plan *bind_text(sql_exec *x, arena *m, struct pl_code *code, const char *text, size_t n,
                const type *params, uint32_t n_params);
query *bind_select(binder *b, scope *up, const PgQuery__SelectStmt *s);

#endif
