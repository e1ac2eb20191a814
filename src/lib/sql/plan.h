/*
 * plan.h - statements as typed trees, names resolved.
 *
 * bind.c makes them from libpg_query's parse tree and the catalog; eval.c, query.c and modify.c run
 * them.  A tree refers to tables by pointer and is valid while the catalog does not change.
 */
#ifndef RATEL_SQL_PLAN_H
#define RATEL_SQL_PLAN_H

#include "sql/value.h"

typedef struct table table;
typedef struct query query;
typedef struct routine routine;

typedef enum expr_kind {
    E_CONST,
    E_PARAM,  /* index */
    E_COLUMN, /* slot, index, up */
    E_AND,    /* args */
    E_OR,
    E_NOT,
    E_COMPARE, /* op, two args of type `sub` */
    E_ARITH,   /* op, two args of the type of the result */
    E_NEGATE,
    E_CONCAT,
    E_IS_NULL,
    E_IS_BOOL,  /* op: BoolTestType */
    E_DISTINCT, /* two args of type `sub` */
    E_CASE,     /* condition, result, ..., [else] */
    E_COALESCE,
    E_NULLIF,
    E_EXTREME, /* GREATEST (op 1) and LEAST (op -1) */
    E_CAST,
    E_CALL,      /* op: enum call_id */
    E_LIKE,      /* op: LIKE_* */
    E_BUILTIN,   /* a call of `builtin`, args of its types */
    E_TEXTS,     /* concat (op 0), concat_ws (op 1): nulls are left out */
    E_ANY,       /* arg 0 op ANY (op & ALL_OF: ALL) of the array that text arg 1 writes */
    E_EXISTS,    /* query */
    E_IN_QUERY,  /* args, query; a row of it compares so (op; op & ALL_OF: every row) */
    E_SCALAR,    /* query: column `index` of its row; op 1: of all its rows, as an array */
    E_AGGREGATE, /* index */
    E_VAR,       /* variable `index` of a running body; of a record: field `slot` */
    E_ROUTINE,   /* a call of `routine` */
    E_OPEN       /* nextval, now, random: whatever was observed */
} expr_kind;

enum { LIKE_NOT = 1, LIKE_ANY_CASE = 2, LIKE_REGEX = 4 };
/* E_AGGREGATE: of a window, with its number among these; an entry that is bound later; of a window,
   with its number after the aggregates */
enum { WINDOW_NUMBER = 1, GROUPING_CALL = 2, WINDOW_CALL = 3 };
enum { ALL_OF = 16, NEAR_OUTER_JOIN = 32 }; /* beside a compare_op */

typedef enum compare_op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE } compare_op;

/* name, arguments at least and at most */
#define SQL_CALLS                                                                                  \
    CALL(ABS, "abs", 1, 1)                                                                         \
    CALL(MOD, "mod", 2, 2)                                                                         \
    CALL(ROUND, "round", 1, 2)                                                                     \
    CALL(TRUNC, "trunc", 1, 2)                                                                     \
    CALL(FLOOR, "floor", 1, 1)                                                                     \
    CALL(CEIL, "ceil", 1, 1)                                                                       \
    CALL(CEILING, "ceiling", 1, 1)                                                                 \
    CALL(SIGN, "sign", 1, 1)                                                                       \
    CALL(BIT_AND, "&", 2, 2)                                                                       \
    CALL(BIT_OR, "|", 2, 2)                                                                        \
    CALL(BIT_XOR, "#", 2, 2)                                                                       \
    CALL(BIT_NOT, "~", 1, 1)                                                                       \
    CALL(SHIFT_LEFT, "<<", 2, 2)                                                                   \
    CALL(SHIFT_RIGHT, ">>", 2, 2)                                                                  \
    CALL(DAYS_AFTER, "date +", 2, 2)                                                               \
    CALL(DAYS_BEFORE, "date -", 2, 2)                                                              \
    CALL(DAYS_BETWEEN, "date - date", 2, 2)                                                        \
    CALL(DIV, "div", 2, 2)                                                                         \
    CALL(LENGTH, "length", 1, 1)                                                                   \
    CALL(CHAR_LENGTH, "char_length", 1, 1)                                                         \
    CALL(LOWER, "lower", 1, 1)                                                                     \
    CALL(UPPER, "upper", 1, 1)                                                                     \
    CALL(SUBSTR, "substr", 2, 3)                                                                   \
    CALL(SUBSTRING, "substring", 2, 3)                                                             \
    CALL(LEFT, "left", 2, 2)                                                                       \
    CALL(RIGHT, "right", 2, 2)                                                                     \
    CALL(REPEAT, "repeat", 2, 2)                                                                   \
    CALL(LPAD, "lpad", 2, 3)                                                                       \
    CALL(RPAD, "rpad", 2, 3)                                                                       \
    CALL(REVERSE, "reverse", 1, 1)                                                                 \
    CALL(REPLACE, "replace", 3, 3)                                                                 \
    CALL(STRPOS, "strpos", 2, 2)                                                                   \
    CALL(POSITION, "position", 2, 2)                                                               \
    CALL(SPLIT_PART, "split_part", 3, 3)                                                           \
    CALL(TRANSLATE, "translate", 3, 3)                                                             \
    CALL(BTRIM, "btrim", 1, 2)                                                                     \
    CALL(LTRIM, "ltrim", 1, 2)                                                                     \
    CALL(RTRIM, "rtrim", 1, 2)                                                                     \
    CALL(STARTS_WITH, "starts_with", 2, 2)                                                         \
    CALL(ASCII, "ascii", 1, 1)                                                                     \
    CALL(OCTET_LENGTH, "octet_length", 1, 1)

typedef enum call_id {
#define CALL(id, name, low, high) CALL_##id,
    SQL_CALLS
#undef CALL
} call_id;

typedef struct expr {
    expr_kind kind;
    type t;
    int op;
    type_id sub;  /* type of the arguments */
    int position; /* byte of the statement, -1: unknown */
    uint32_t slot, index, up;
    uint32_t n;
    struct expr **arg;
    value v;
    query *q;
    cast_kind cast;
    const routine *routine;
    const struct builtin *builtin;
    bool clocked; /* E_COMPARE: a side depends on when the clock is read... */
    int slope[2]; /* ... and rises (1) or falls (-1) with it, or does not (0) */
} expr;

/* E_OPEN, op: what is known of the value. */
enum { OPEN_OTHER, OPEN_CLOCK, OPEN_UNIT, OPEN_ABOVE_ZERO };

/* id, name; from ROW_NUMBER on only over a window */
#define SQL_AGGREGATES                                                                             \
    AGGREGATE(COUNT, "count")                                                                      \
    AGGREGATE(SUM, "sum")                                                                          \
    AGGREGATE(AVG, "avg")                                                                          \
    AGGREGATE(MIN, "min")                                                                          \
    AGGREGATE(MAX, "max")                                                                          \
    AGGREGATE(BOOL_AND, "bool_and")                                                                \
    AGGREGATE(BOOL_OR, "bool_or")                                                                  \
    AGGREGATE(EVERY, "every")                                                                      \
    AGGREGATE(STRING_AGG, "string_agg")                                                            \
    AGGREGATE(ARRAY_AGG, "array_agg")                                                              \
    AGGREGATE(JSON_AGG, "json_agg")                                                                \
    AGGREGATE(JSONB_AGG, "jsonb_agg")                                                              \
    AGGREGATE(JSON_OBJECT_AGG, "json_object_agg")                                                  \
    AGGREGATE(JSONB_OBJECT_AGG, "jsonb_object_agg")                                                \
    AGGREGATE(VAR_SAMP, "var_samp")                                                                \
    AGGREGATE(VARIANCE, "variance")                                                                \
    AGGREGATE(VAR_POP, "var_pop")                                                                  \
    AGGREGATE(STDDEV_SAMP, "stddev_samp")                                                          \
    AGGREGATE(STDDEV, "stddev")                                                                    \
    AGGREGATE(STDDEV_POP, "stddev_pop")                                                            \
    AGGREGATE(BIT_AND, "bit_and")                                                                  \
    AGGREGATE(BIT_OR, "bit_or")                                                                    \
    AGGREGATE(PERCENTILE_CONT, "percentile_cont")                                                  \
    AGGREGATE(PERCENTILE_DISC, "percentile_disc")                                                  \
    AGGREGATE(MODE, "mode")                                                                        \
    AGGREGATE(ROW_NUMBER, "row_number")                                                            \
    AGGREGATE(RANK, "rank")                                                                        \
    AGGREGATE(DENSE_RANK, "dense_rank")                                                            \
    AGGREGATE(PERCENT_RANK, "percent_rank")                                                        \
    AGGREGATE(CUME_DIST, "cume_dist")                                                              \
    AGGREGATE(NTILE, "ntile")                                                                      \
    AGGREGATE(LAG, "lag")                                                                          \
    AGGREGATE(LEAD, "lead")                                                                        \
    AGGREGATE(FIRST_VALUE, "first_value")                                                          \
    AGGREGATE(LAST_VALUE, "last_value")                                                            \
    AGGREGATE(NTH_VALUE, "nth_value")

typedef enum agg_kind {
#define AGGREGATE(id, name) AGG_##id,
    SQL_AGGREGATES
#undef AGGREGATE
} agg_kind;

typedef struct order_key {
    expr *e; /* NULL: output column `column` */
    uint32_t column;
    bool desc, nulls_first;
} order_key;

/* One end of a window's frame: so far before or after the current row, or its peers, or the
   partition's end. */
typedef enum bound_kind {
    BOUND_FIRST,
    BOUND_BEFORE,
    BOUND_CURRENT,
    BOUND_AFTER,
    BOUND_LAST
} bound_kind;

typedef struct frame_bound {
    bound_kind kind;
    expr *offset; /* BOUND_BEFORE, BOUND_AFTER */
} frame_bound;

typedef enum frame_mode { FRAME_OF_RANGE, FRAME_OF_ROWS, FRAME_OF_GROUPS } frame_mode;

typedef enum frame_exclusion {
    EXCLUDE_NOTHING,
    EXCLUDE_ROW,
    EXCLUDE_GROUP,
    EXCLUDE_TIES
} frame_exclusion;

typedef struct aggregate {
    agg_kind kind;
    bool distinct;
    expr *arg;              /* NULL: count(*) */
    expr *filter, *between; /* FILTER; what string_agg puts between, the value of an object_agg,
                               the fraction of a percentile */
    uint32_t n_order;
    order_key *order;
    uint32_t n_keys; /* OVER: PARTITION BY */
    expr **keys;
    expr *second, *third; /* lag, lead: how far, and what there is beyond; nth_value: which */
    frame_mode mode;      /* OVER: of the frame */
    frame_bound from, to;
    frame_exclusion without;
    type t;
} aggregate;

typedef enum record_kind { RECORD_NOT, RECORD_ONE, RECORD_MANY } record_kind;

typedef enum join_kind {
    J_REL,
    J_INNER,
    J_LEFT,
    J_RIGHT, /* bound as J_LEFT, the sides exchanged */
    J_FULL
} join_kind;

typedef enum set_kind { SET_NONE, SET_UNION, SET_INTERSECT, SET_EXCEPT } set_kind;

/* A condition `column of the slot = expression over earlier slots`, or an OR of such with one
   column: an index finds the rows. */
typedef struct lookup {
    uint32_t column;
    uint32_t n;
    const expr **keys;
} lookup;

typedef struct join {
    join_kind kind;
    uint32_t slot; /* J_REL */
    table *table;  /* J_REL: NULL if sub is the relation */
    query *sub;
    bool lateral; /* sub may read the slots before this one */
    lookup *lookups;
    uint32_t n_lookups;
    const expr **filters; /* conditions that need no later slot: tested as rows come */
    uint32_t n_filters;
    uint64_t unread; /* columns of the table that nothing in the query reads, a bit each */
    struct join *left, *right;
    expr *on; /* may be NULL */
} join;

typedef struct out_column {
    const char *name;
    expr *e;
} out_column;

/* FOR UPDATE, NO KEY UPDATE, SHARE, KEY SHARE of one table of a query. */
typedef struct row_lock {
    uint32_t slot;
    table *t;
    bool keys_only; /* FOR KEY SHARE: in the way of those alone who change or delete the key */
} row_lock;

struct query {
    uint32_t slots;
    join *from; /* NULL: one row without columns */
    expr *where;
    bool grouped; /* GROUP BY or aggregates */
    uint32_t n_keys;
    expr **keys;
    uint32_t n_sets; /* GROUPING SETS: masks of the keys; values of the keys, and of the calls of
                        GROUPING, come after the aggregates.  0: one set of all keys */
    uint64_t *sets;
    uint32_t n_groupings;
    uint32_t **groupings; /* how many arguments, then which keys */
    uint32_t n_aggs;
    aggregate *aggs;
    uint32_t n_windows; /* of the rows, or of the groups: E_AGGREGATE with WINDOW_CALL, numbered
                           after the aggregates */
    aggregate *windows;
    struct query *spread; /* a function of rows in the output list: each of its rows makes a row;
                             it stands in the last slot */
    expr *having;
    uint32_t n_out;
    out_column *out;
    bool distinct;
    uint32_t n_on; /* DISTINCT ON */
    expr **on;
    uint32_t n_sort;
    order_key *sort;
    expr *limit, *offset;
    bool ties;    /* FETCH FIRST ... WITH TIES: and the rows that equal the last */
    bool locking; /* FOR UPDATE and its kin, of the rows that `locks` lists */
    bool skips;   /* SKIP LOCKED */
    uint32_t n_locks;
    row_lock *locks;
    bool correlated; /* reads rows of an outer query */
    set_kind set;    /* of `left` and `right`; `out` has types and names */
    bool all;
    struct query *left, *right;
    uint32_t n_rows; /* VALUES: n_rows * n_out */
    expr **rows;
    bool kept;            /* WITH: executed once a statement */
    struct query *shared; /* the same with other names */
    expr *call;           /* rows of a function: a call, whose columns are `out` */
    expr *series[3];      /* generate_series: from, to, step (may be NULL); else its argument */
    uint32_t n_side;      /* unnest of several arrays, the first of which is series[0], too */
    expr **side;
    record_kind records; /* jsonb_to_record, jsonb_to_recordset */
    bool numbered;       /* WITH ORDINALITY: the last column */
    struct query *work;  /* WITH RECURSIVE: stands for the rows of the last round in `right` */
    bool referred;       /* a `work` that is read */
    struct plan *writes; /* WITH of a statement that writes: its RETURNING is the rows */
    int position;
};

typedef struct set_clause {
    uint32_t column;
    expr *e; /* NULL: DEFAULT */
} set_clause;

typedef enum conflict_kind {
    ON_CONFLICT_RAISE,
    ON_CONFLICT_NOTHING,
    ON_CONFLICT_UPDATE
} conflict_kind;

typedef enum fetch_direction {
    FETCH_FORWARD,
    FETCH_BACKWARD,
    FETCH_ABSOLUTE,
    FETCH_RELATIVE
} fetch_direction;

#define NO_COLUMN UINT32_MAX

typedef enum stmt_kind {
    S_SELECT,
    S_INSERT,
    S_UPDATE,
    S_DELETE,
    S_MERGE,
    S_CREATE,
    S_DROP,
    S_SAVEPOINT,
    S_RELEASE,
    S_ROLLBACK_TO,
    S_ROUTINE, /* CREATE FUNCTION, PROCEDURE */
    S_DROP_ROUTINE,
    S_CALL,
    S_DO,
    S_PREPARE,
    S_EXECUTE,
    S_DEALLOCATE,
    S_ALTER,
    S_VIEW,
    S_DROP_VIEW,
    S_TRUNCATE,
    S_REFRESH, /* of a materialized view, `altered`; quiet: CONCURRENTLY */
    S_DECLARE, /* a cursor; query */
    S_FETCH,
    S_CLOSE,
    S_CONSTRAINTS,    /* SET CONSTRAINTS; cascade: DEFERRED, no names: ALL */
    S_WRITING_SELECT, /* a SELECT whose WITH writes */
    S_UNSEEN,         /* SHOW, EXPLAIN: no effect, and rows that are not compared */
    S_NOTHING         /* BEGIN, COMMIT, SET, CREATE INDEX: no effect that a log shows */
} stmt_kind;

typedef struct plan {
    stmt_kind kind;
    bool planner_chooses; /* which rows and conditions are evaluated is the planner's choice, and
                             with it whether a division by zero or an overflow is met */
    bool reads;           /* tables, or calls what reads with our snapshot */
    bool asks_catalogs;   /* of the system; S_UNSEEN */
    bool fails;           /* some constant does, when the statement is planned */
    bool simple;          /* SELECT expression: nothing to scan */
    bool nested;          /* has subqueries or calls of routines */
    bool joins;           /* reads more than one table, or one more than once */
    uint64_t catalog;     /* the catalog that it was bound to */
    uint32_t session;  /* the one it was bound for, which matters if there are temporary tables */
    uint32_t as_of;    /* kept by who bound it: the state whose tables it knows */
    uint32_t n_writes; /* statements of WITH that write: executed first, in order */
    query **writes;
    uint32_t n_params;
    type *params;
    uint32_t n_early; /* of parameters and variables alone: may be evaluated by the planner */
    expr **early;
    query *q; /* SELECT, and the source of INSERT ... SELECT */
    /* INSERT, UPDATE, DELETE: the table is slot 0, for ON CONFLICT "excluded" slot 1 */
    table *target;
    uint32_t n_columns; /* of an INSERT */
    uint32_t *columns;
    uint32_t n_rows;
    expr **rows; /* n_rows * n_columns; NULL: DEFAULT */
    join *scan;
    uint32_t slots; /* of UPDATE and DELETE */
    expr *where;
    expr *view_where; /* what the view that is written asks of rows; a part of `where` */
    expr *view_check; /* the same, if rows that are written must fulfil it, too */
    uint32_t n_set;
    set_clause *set;
    conflict_kind conflict;
    int arbiter; /* unique constraint of the table, -1: any */
    expr *conflict_where;
    bool of_partition; /* the view is a partition, and `view_check` are its bounds */
    uint32_t n_returning;
    out_column *returning;
    uint32_t n_actions; /* MERGE: one for each WHEN; `scan` is the source LEFT JOIN the target */
    struct plan **actions;
    bool matched; /* of an action: WHEN MATCHED; its condition is `where` */
    /* CREATE, DROP, savepoints */
    table *created; /* a description; executing installs a copy, and fills it from q */
    bool no_rows;   /* WITH NO DATA */
    table *altered;
    const uint32_t
        *packed;     /* by column of `created`: which one of `altered` it is, NO_COLUMN: none;
                               NULL: numbers stay */
    expr **convert;  /* by column of `altered`: its values in a new type; NULL: they stay */
    bool tests_none; /* ALTER TABLE ... NOT VALID: no row that is there is tested */
    bool tests_all;  /* ALTER TABLE ... VALIDATE: every row, for every constraint */
    bool quiet;      /* IF [NOT] EXISTS */
    bool cascade;
    uint32_t n_names;
    const char **names;
    routine *routine; /* S_ROUTINE */
    routine **dropped;
    expr *call;           /* S_CALL: arguments of all parameters */
    struct pl_body *body; /* S_DO */
    const char *text;     /* S_PREPARE */
    uint32_t n_args;
    expr **args;   /* S_EXECUTE */
    int direction; /* S_FETCH: enum fetch_direction */
    int64_t how_many;
    bool move_only;
} plan;

#endif
