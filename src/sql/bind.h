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

typedef struct binder {
    sql_exec *x;
    arena *mem; /* of the plan */
    plan *p;
    VEC(type) params;
    uint32_t depth;
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

/* bind.c */
query *bind_select(binder *b, scope *up, const PgQuery__SelectStmt *s);

#endif
