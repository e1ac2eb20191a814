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
    bool aliased;        /* a name with its schema does not mean it */
    const uint32_t *map; /* a view that is written: `sub` has its columns, and these are they */
    bool *hidden;        /* columns that USING merged: not found without the relation's name */
} relation;

typedef struct merged_column { /* of JOIN ... USING, NATURAL JOIN */
    const char *name;
    expr *e;
    size_t first; /* relation at which the join begins */
    bool gone;    /* merged once more */
} merged_column;

typedef struct with_query {
    const char *name;
    query *q;
} with_query;

typedef struct scope {
    struct scope *up;
    VEC(relation) rels;
    VEC(merged_column) merged;
    query *q;
    bool aggregates; /* allowed here */
    bool in_aggregate, in_window;
    bool spreads; /* a function of rows may stand here: its rows multiply those of the query */
    VEC(aggregate) aggs, windows;
    uint32_t n_groupings; /* calls of GROUPING */
    size_t n_named;       /* WINDOW name AS (...) */
    node **named;
} scope;

struct pl_code;

typedef struct binder {
    sql_exec *x;
    arena *mem; /* of the plan */
    plan *p;
    VEC(type) params;
    VEC(expr *) early;
    VEC(with_query) withs;
    VEC(query *) writes; /* of WITH */
    uint32_t depth;
    bool side;            /* of UNION: literals wait for their type */
    bool sublinks, calls; /* there are subqueries; calls of routines */
    bool outer_joins;     /* there are some */
    bool definition;      /* what is bound outlives parameters and variables */
    const char *text;     /* the statement */
    struct pl_code *code; /* SQL of a body: names may be those of variables */
} binder;

/* bind_expr.c */
expr *bind_expr(binder *b, scope *s, const node *n);
static inline const PgQuery__RowExpr *bind_row_of(const node *n)
{
    return n && n->node_case == PG_QUERY__NODE__NODE_ROW_EXPR ? n->row_expr : NULL;
}
/* bind_json.c: an argument of a function of json, which may be a whole row. */
expr *bind_json_argument(binder *b, scope *s, const node *n);
expr *bind_json_part(binder *b, scope *s, expr *of, const PgQuery__AIndirection *a);
expr *bind_bool(binder *b, scope *s, const node *n, const char *what);
expr *expr_new(binder *b, expr_kind kind, type t, int position, uint32_t n);
expr *expr_coerce(binder *b, expr *e, type to, cast_kind kind);
void expr_settle(binder *b, expr *e); /* an unknown literal in the output is text */
bool expr_same(const expr *a, const expr *b);
expr *compare(binder *b, int op, expr *l, expr *r, int position);
expr *expr_and(binder *b, expr *l, expr *r);
expr *column_of(binder *b, const relation *r, uint32_t i, uint32_t up, int position);
type_id common_type(binder *b, expr **e, uint32_t n, const char *what);
type bind_type(binder *b, const PgQuery__TypeName *t);
value value_keep(binder *b, type_id t, value v);
const char *name_keep(binder *b, const char *s);
const char *string_of(binder *b, const node *n, int position);

/* The expression, or its value if it is constant. */
expr *expr_fold(binder *b, expr *e);

/* bind_builtin.c: a call of a function in the tables of builtin.h; NULL: none takes these types */
bool builtin_known(const char *name);
expr *bind_builtin(binder *b, const char *name, expr **arg, uint32_t n, int position);
/* The same for an operator, if one operand is of a type that the tables are for. */
expr *bind_operator(binder *b, const char *name, expr **arg, uint32_t n, int position);

/* Refuses a query whose keys are of a type without equality or order here. */
void refuse_key_types(binder *b, const query *q);

/* bind_enum.c */
void bind_create_enum(binder *b, plan *p, const PgQuery__CreateEnumStmt *c);
void bind_drop_type(binder *b, plan *p, const PgQuery__DropStmt *d);
bool enum_named(binder *b, const char *name, type *t);

/* bind_agg.c: an aggregate or window function of that name, or NULL */
expr *bind_aggregate(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name);

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
/* What a record of the running body looks like; NULL: no such record, or nothing is assigned. */
const struct pl_shape *bind_record(binder *b, const char *name);
expr *bind_variable(binder *b, const char *const *names, size_t n, int position);
expr *bind_argument(binder *b, int number, int position);

/* bind_from.c */
table *bind_table(binder *b, const PgQuery__RangeVar *r);
join *join_new(binder *b, join_kind kind);
join *table_relation(binder *b, scope *s, const PgQuery__RangeVar *r);
join *from_item(binder *b, scope *s, const node *n);
/* generate_series, unnest and their kin as a query; NULL: none of them. */
query *bind_series(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name);
void use_indexes(binder *b, join *j, const expr *where);
void add_relation(binder *b, scope *s, relation r, int position);
/* The queries of WITH, and how many there were before. */
size_t bind_with(binder *b, scope *up, const PgQuery__WithClause *w);

/* bind_view.c */
void bind_view(binder *b, plan *p, const PgQuery__ViewStmt *v);
routine *bind_view_named(const binder *b, const char *name); /* NULL: none */
routine *bind_view_meant(binder *b, const char *name);       /* also a partition's */
void bind_put_name(strbuf *t, const char *name);             /* in quotes */
query *bind_view_query(binder *b, const routine *r);
/* The relation of a view that is written, if the name is one of a view: rows and columns of one
   table.  The plan gets its condition. */
join *bind_view_target(binder *b, scope *s, const PgQuery__RangeVar *r, plan *p);

/* bind_locks.c: FOR UPDATE and its kin */
void bind_locks(binder *b, const scope *s, query *q, const PgQuery__SelectStmt *from);
/* The query stands where PostgreSQL may execute it more than once. */
void bind_unlocked(binder *b, const query *q, int position);

/* bind_open.c: what only the server knows; NULL: no such function */
expr *bind_open_call(binder *b, const PgQuery__FuncCall *f, const char *name);
expr *bind_current(binder *b, const PgQuery__SQLValueFunction *f);

/* bind_pattern.c */
bool bind_is_pattern(const char *name);
expr *bind_pattern(binder *b, scope *s, const PgQuery__AExpr *a, const char *op);
expr *bind_similar(binder *b, scope *s, const PgQuery__AExpr *a, const char *op);

/* bind_records.c: NULL where it is none of these */
expr *bind_record_value(binder *b, scope *s, const node *n);
expr *bind_row_field(binder *b, scope *s, const PgQuery__AIndirection *a);
bool bind_counts_rows(binder *b, scope *s, const node *n, int position);
expr *bind_special_call(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name);
expr *bind_set_part(binder *b, scope *s, const PgQuery__ResTarget *t, const table *of,
                    uint32_t column);

/* bind_names.c: how the store calls a table */
const char *table_key(binder *b, const char *catalog, const char *schema, const char *name,
                      int position);
const char *new_table_key(binder *b, const PgQuery__RangeVar *r);
const char *named_table_key(binder *b, const node *n); /* of a list of names */
const char *temporary_name(binder *b, const char *name);
const char *bare_table_name(const char *name); /* without its schema */
void bind_create_schema(binder *b, plan *p, const PgQuery__CreateSchemaStmt *c);
void bind_drop_schema(binder *b, plan *p, const PgQuery__DropStmt *d);

/* bind_create_as.c: CREATE TABLE AS, SELECT INTO */
void bind_create_as(binder *b, plan *p, const PgQuery__CreateTableAsStmt *c);
void bind_refresh(binder *b, plan *p, const PgQuery__RefreshMatViewStmt *r);
void bind_select_into(binder *b, plan *p, const PgQuery__SelectStmt *s);

/* A table that is being described; bind_table.c begins it, bind_alter.c goes on. */
typedef struct making {
    table *t;
    VEC(unique_key) unique;
    VEC(expr *) checks;
    VEC(const char *) check_names;
    VEC(foreign_key) foreign;
    bool behind_key, behind_unique; /* the constraint before was a foreign key, a unique one */
    scope s;
} making;

/* bind_table.c */
void bind_create_table(binder *b, plan *p, const PgQuery__CreateStmt *c);
at_commit on_commit_of(binder *b, int action);
making making_of(binder *b, plan *p, table *now);
void making_done(making *m);
void add_constraint(binder *b, making *m, const PgQuery__Constraint *c, int column);
void column_type(binder *b, const char *of_table, const PgQuery__ColumnDef *d, table_column *c);
/* Does the expression read the column? */
bool reads_column(const expr *e, uint32_t column);

/* bind_partition.c */
void bind_partitioning(binder *b, making *m, const PgQuery__PartitionSpec *s);
void bind_partition(binder *b, plan *p, const PgQuery__CreateStmt *c);
/* The partition of that name as a view of its table; NULL: there is none. */
routine *bind_partition_view(binder *b, const char *name);
void bind_not_partition(binder *b, const char *name, int position);

/* bind_like.c: the columns of LIKE, which `to` has room for, and what INCLUDING adds to them */
uint32_t like_columns(binder *b, const char *of_table, const PgQuery__TableLikeClause *l,
                      table_column *to);
void like_constraints(binder *b, making *m, const PgQuery__TableLikeClause *l, uint32_t first);

/* bind_packed.c: a copy whose columns have other numbers */
expr *expr_renumbered(binder *b, const expr *e, const uint32_t *to);
/* bind_packed.c: renumbers the columns of a table where many were dropped */
void bind_pack_columns(binder *b, plan *p, making *m);

/* bind_alter.c */
void bind_index(binder *b, plan *p, const PgQuery__IndexStmt *i);
void bind_drop_index(binder *b, plan *p, const PgQuery__DropStmt *d);
void bind_alter(binder *b, plan *p, const PgQuery__AlterTableStmt *a);
const char *unique_name(binder *b, const making *m, const unique_key *u, const char *given,
                        const char *end);
/* bind_rename.c: RENAME of a table or column */
void bind_rename(binder *b, plan *p, const PgQuery__RenameStmt *r);
void bind_truncate(binder *b, plan *p, const PgQuery__TruncateStmt *t);

/* bind_session.c: PREPARE, EXECUTE, cursors; false: none of them */
bool bind_session(binder *b, plan *p, const node *n);

/* bind_utility.c: statements without an effect on answers; false: none of them */
bool bind_utility(binder *b, plan *p, const node *n);
void bind_set_config(binder *b, const PgQuery__FuncCall *f);
/* bind_catalog.c: a query of the system catalogs alone */
bool bind_asks_catalogs(const sql_exec *x, const PgQuery__ParseResult *tree);
/* What the statement or expression is called, for refusals. */
const char *node_title(binder *b, const node *n);

/* bind_groups.c: GROUP BY with grouping sets, after everything else of the query is bound */
void bind_grouping_sets(binder *b, scope *s, query *q, node **list, size_t n);
expr *bind_grouping_call(binder *b, scope *s, const PgQuery__GroupingFunc *f);

/* bind_trigger.c */
void bind_create_trigger(binder *b, plan *p, const PgQuery__CreateTrigStmt *c);
void bind_drop_trigger(binder *b, plan *p, const PgQuery__DropStmt *d);
bool bind_switch_trigger(binder *b, making *m, const PgQuery__AlterTableCmd *c);
bool bind_is_trigger_function(const binder *b, const char *name);

/* bind_merge.c */
void bind_merge(binder *b, plan *p, const PgQuery__MergeStmt *m);

/* bind.c */
expr *bind_group_key(binder *b, scope *s, query *q, const node *n);
/* A column is one value a group if the primary key of its table is grouped by. */
bool bind_depends_on_keys(const scope *s, const query *q, uint32_t slot);
/* SET; the first relation of the scope is the one whose columns are set. */
void bind_set_list(binder *b, scope *s, plan *p, node **list, size_t n);
uint32_t column_named(binder *b, const table *t, const char *name, int position);
expr *assigned(binder *b, scope *s, const node *n, type to); /* NULL: DEFAULT */
query *bind_query(binder *b, const node *n);                 /* of a statement that holds one */
/* INSERT, UPDATE or DELETE as a part of another statement; false: it is something else. */
bool bind_write(binder *b, plan *p, const node *n);
query *query_new(binder *b);
/* Only a type and a name: where the rows come from elsewhere. */
out_column placeholder(binder *b, const char *name, type_id t);
plan *bind_text(sql_exec *x, arena *m, struct pl_code *code, const char *text, size_t n,
                const type *params, uint32_t n_params);
query *bind_select(binder *b, scope *up, const PgQuery__SelectStmt *s);

#endif
