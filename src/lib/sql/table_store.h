/*
 * table_store.h - tables whose rows keep their versions.
 *
 * State i is what transaction i of the order committed; state 0 is the initial one.  A row is a
 * chain of versions, newest first, each with the state that made it.  The transaction that is
 * being executed has its versions on top of the chains, marked PENDING and numbered by statement
 * (cid), so that a statement does not see its own writes and savepoints pop what came after them.
 * One transaction is executed at a time; committing renames its versions, un-committing (for
 * searches) takes the newest state back.
 *
 * Invariants: commits fall along a chain; an index has one entry for each run of equal values of
 * a chain; a row without versions is on the table's free list.
 */
#ifndef RATEL_SQL_TABLE_STORE_H
#define RATEL_SQL_TABLE_STORE_H

#include "base/vec.h"
#include "sql/plan.h"

#define PENDING UINT32_MAX
#define NEVER (UINT32_MAX - 1)

typedef struct row_version {
    struct row_version *older;
    uint32_t commit; /* a state, or PENDING */
    uint32_t cid;    /* of a pending one: the statement */
    uint32_t size;   /* of the block */
    bool dead;
    value cols[]; /* texts and numbers stand after them in the same block */
} row_version;

typedef struct stored_row {
    row_version *head;
    uint32_t seen;   /* last lookup that listed it */
    uint32_t queued; /* on the trim queue */
    uint32_t born;   /* the state that made it */
} stored_row;

typedef struct table_column {
    const char *name; /* "": no statement can name it; it was dropped, or is a key of an index */
    type t;
    bool not_null;
    expr *fallback; /* DEFAULT, cast to the column's type */
    expr *computed; /* GENERATED ALWAYS AS (expression) STORED: of the row's other columns */
    bool always;    /* GENERATED ALWAYS AS IDENTITY */
    bool changed;   /* by some UPDATE */
    bool holes;     /* has values that nobody observed: no index answers for them */
} table_column;

typedef struct unique_key {
    uint32_t n;
    uint32_t *cols;
    bool primary;
    bool index;                /* made by CREATE UNIQUE INDEX: no constraint */
    bool nulls_equal;          /* NULLS NOT DISTINCT */
    bool deferrable, deferred; /* tested when the statement or the transaction ends */
    const void *same; /* of the key that it was before columns were renumbered; NULL: `cols` */
    const char *name; /* NULL: PostgreSQL's choice of a name, which we do not know */
    uint32_t n_keys;  /* of an index of expressions, or with WHERE: what ON CONFLICT must name */
    expr **keys;
    expr *where;
} unique_key;

typedef enum refer_action { REFER_CHECK, REFER_CASCADE, REFER_NULL, REFER_DEFAULT } refer_action;

typedef struct foreign_key {
    uint32_t n;
    uint32_t *cols, *refs; /* ours, and those of the parent */
    const char *parent;
    const char *name; /* NULL: not known */
    refer_action on_delete, on_update;
    bool restricts;            /* says RESTRICT, which is never put off */
    bool deferrable, deferred; /* may be tested at the commit; is, if nothing else is said */
} foreign_key;

/* A trigger; its function is found by name when it runs. */
typedef struct row_trigger {
    const char *name, *function;
    bool before;
    bool statement; /* FOR EACH STATEMENT */
    bool disabled;
    int events; /* TRIGGER_* of row_triggers.h */
    uint32_t n_columns;
    uint32_t *columns; /* UPDATE OF */
    expr *when;        /* slot 0 is NEW, slot 1 OLD */
    struct pl_body *body;
    const routine *parsed; /* that `body` is the body of */
} row_trigger;

typedef struct table_index table_index;

/* What becomes of a temporary table when a transaction of its session commits. */
typedef enum at_commit { COMMIT_KEEPS, COMMIT_EMPTIES, COMMIT_DROPS } at_commit;

/* Hidden columns are in every row, and in no answer: a column that was dropped, or what an index
   of an expression or with WHERE has for a key. */
static inline bool column_hidden(const table_column *c)
{
    return !*c->name;
}

typedef struct partitioning partitioning;

struct table {
    const char *name;
    const partitioning *parts; /* partitions.h; NULL: it is not divided */
    uint32_t n_cols;
    table_column *cols;
    uint32_t n_unique;
    unique_key *unique;
    uint32_t n_checks;
    expr **checks;            /* by the name of the constraint, as PostgreSQL tries them */
    const char **check_names; /* NULL: not known */
    uint32_t n_foreign;
    foreign_key *foreign;
    uint32_t n_loose; /* constraints that are NOT VALID */
    uint32_t n_triggers;
    row_trigger *triggers; /* by name */
    bool unguarded;        /* DISABLE TRIGGER ALL: its foreign keys are not tested */
    at_commit on_commit;
    bool temporary;     /* its name begins with a schema of its session's own */
    bool read_only;     /* a materialized view */
    const char *source; /* its query */
    bool truncated;     /* older states of it cannot be read any more */
    bool unknown;       /* contents before the log are not known */
    uint32_t created, dropped;
    VEC(stored_row) rows;
    VEC(uint32_t) free_rows;
    VEC(uint32_t) changes; /* states that wrote it, rising */
    table_index **index;   /* by column; made when first asked for */
};

typedef enum param_mode { PARAM_IN, PARAM_OUT, PARAM_INOUT, PARAM_TABLE } param_mode;

typedef struct routine_param {
    const char *name; /* "" if it has none */
    param_mode mode;
    type t;
    expr *fallback;
} routine_param;

typedef enum return_kind { RETURN_NONE, RETURN_VALUE, RETURN_ROW, RETURN_TRIGGER } return_kind;

struct routine { /* a function or procedure */
    const char *name;
    bool procedure, strict, fixed; /* fixed: STABLE or IMMUTABLE */
    bool set;                      /* returns many */
    bool sql;                      /* LANGUAGE sql */
    uint32_t n_params, n_in;
    routine_param *params;
    return_kind returns;
    type t;                      /* RETURN_VALUE */
    const struct pl_shape *rows; /* RETURN_ROW */
    struct pl_body *body;
    const char *source; /* RETURN_TRIGGER: the text of the body */
    const char *view;   /* the text of a view's query, instead of all this */
    bool checked, part; /* of a view: WITH CHECK OPTION; it stands for a partition */
    uint32_t n_names;
    const char **names; /* of its columns, if they are given */
    uint32_t created, dropped;
};

/* PREPARE lasts for the session and is not taken back with the transaction. */
typedef struct prepared {
    uint32_t session;
    const char *name, *text;
    uint32_t n;
    type *types; /* of the parameters */
    uint32_t made, gone;
    plan *p;
    uint64_t epoch;
} prepared;

/* A value that a sequence, the clock or a random function gave, stored before anybody saw it.  The
   first observation binds it: from then on it is that value. */
typedef struct hole {
    type_id t;
    bool bound;
    uint32_t clock; /* the transaction's reading that it is, by number in `readings`; 0: none */
    value v;        /* in the store's memory */
} hole;

/* When a transaction read the clock, as far as its answers tell: from `lo` on and before `hi`, in
   microseconds.  What was stored and compared with a later reading was read shortly before that
   one, so both are one reading, `same`. */
typedef struct reading {
    int64_t lo, hi;
    uint32_t same; /* number; 0: itself */
} reading;

typedef struct store_undo {
    table *t;
    uint32_t row;  /* or one of these: */
    uint32_t hole; /* of UNDO_BIND; of UNDO_CLOCK a reading */
    routine *f;
} store_undo;
#define UNDO_CREATE UINT32_MAX
#define UNDO_ROUTINE (UINT32_MAX - 1)
#define UNDO_DROP_ROUTINE (UINT32_MAX - 2)
#define UNDO_DROP (UINT32_MAX - 3)
#define UNDO_HOLE (UINT32_MAX - 4)    /* the newest hole was made */
#define UNDO_BIND (UINT32_MAX - 5)    /* a hole was bound */
#define UNDO_READING (UINT32_MAX - 6) /* the newest reading of the clock was made */
#define UNDO_CLOCK (UINT32_MAX - 7)   /* something was learnt of a reading */
#define UNDO_LEAST UNDO_CLOCK

typedef struct store {
    mem *mem;
    arena names; /* descriptions of tables */
    VEC(table *) tables;
    VEC(routine *) routines;
    VEC(prepared) prepared;
    bool holes;                  /* some table has */
    VEC(hole) hole;              /* by number - 1: value.i of what is OPEN_FIXED; 0 has no number */
    VEC(reading) readings;       /* of the clock, by number - 1 */
    VEC(reading) reading_was;    /* what each UNDO_CLOCK gives back, in the same order */
    VEC(const char *) sequences; /* by number - 1: value.n of what is OPEN_FREE */
    enum_list enums;             /* never shorter: what is created is in the catalog */
    bool null_settings; /* current_setting(name, true) was called: what nobody saw may be null */
    bool temporaries;   /* there was a temporary table: what a name means depends on the session */
    uint64_t catalog;
    uint32_t unstable; /* columns that are `changed` */
    arena bodies;      /* what the SQL of bodies was bound to, up to the next epoch */
    uint64_t epoch;
    uint32_t bound;       /* since then */
    VEC(store_undo) undo; /* of the transaction being executed */
    bool searching;       /* keep what is needed to take states back */
    VEC(store_undo) log;
    VEC(size_t) log_from; /* by state, from state 1 on: where its part of the log begins */
    uint32_t horizon;     /* no state below it is read any more */
    VEC(store_undo) trim;
    size_t trim_from;
    uint32_t lookup; /* serial of row.seen */
    void *free_blocks[33];
    char *slab, *slab_end;
    VEC(uint32_t) found;
} store;

void vs_init(store *s, mem *m);

table *vs_find(const store *s, const char *name, uint32_t state);
/* Installs a description; its memory must live as long as the store. */
void vs_create(store *s, table *t);
void vs_drop(store *s, table *t);
/* Fills a table that was just created with every version of another one's rows; columns that it has
   beside those of the other are `added`, or what `fill` (NULL: nothing) puts there.  `places` says
   which column of the other each one is (NO_COLUMN: none; NULL: the one of its number). */
typedef void vs_fill(void *ud, const table *t, value *cols);
void vs_remake(store *s, const table *from, table *to, const uint32_t *places, const value *added,
               vs_fill *fill, void *ud);
static inline uint32_t vs_source(const table *from, const uint32_t *places, uint32_t column)
{
    return places ? places[column] : column < from->n_cols ? column : NO_COLUMN;
}
/* Functions and procedures of a name: the i-th, or NULL. */
routine *vs_routine(const store *s, const char *name, uint32_t state, uint32_t i);
void vs_create_routine(store *s, routine *f);
void vs_drop_routine(store *s, routine *f);
/* Forgets what a transaction that was given up prepared. */
void vs_unprepare(store *s, uint32_t state);

uint32_t vs_insert(store *s, table *t, const value *cols, uint32_t cid);
void vs_update(store *s, table *t, uint32_t r, const value *cols, uint32_t cid); /* NULL: delete */

/* What a transaction sees of a row at a state, before its statement cid: NULL if nothing. */
static inline const row_version *vs_at(const table *t, uint32_t r, uint32_t state, uint32_t cid)
{
    const row_version *v = t->rows.at[r].head;
    while (v && (v->commit == PENDING ? v->cid >= cid : v->commit > state)) v = v->older;
    return v;
}
/* The newest state <= `state` that wrote the table, 0 if none. */
uint32_t vs_changed(const table *t, uint32_t state);

/* Rows that have a version with such a value in the column, and perhaps a few more: in s->found.
   `more`: without those that the lookup before listed. */
void vs_lookup(store *s, table *t, uint32_t column, uint64_t hash, bool more);
/* How many there would be, counted up to `most`. */
uint32_t vs_lookup_size(store *s, table *t, uint32_t column, uint64_t hash, uint32_t most);
#define FEW 32u /* count so far first: the list of a value that most rows have is long */

/* What an open value is known to be, or itself. */
static inline value vs_known(const store *s, value v)
{
    if (v.open != OPEN_FIXED || !v.i || !s->hole.at[v.i - 1].bound) return v;
    return s->hole.at[v.i - 1].v;
}
/* Somebody saw what an open value is; taken back like a write. */
void vs_bind(store *s, value open, value is);
/* A transaction reads the clock for the first time: the number of its reading. */
uint32_t vs_read_clock(store *s, int64_t lo, int64_t hi);
/* More is known of a reading; taken back like a write. */
void vs_learn_clock(store *s, uint32_t number, reading r);
/* The number of a sequence, from 1. */
uint32_t vs_sequence(store *s, const char *name);

size_t vs_mark(const store *s);
void vs_rollback(store *s, size_t mark);
void vs_commit(store *s, uint32_t state);
void vs_uncommit(store *s, uint32_t state); /* the newest one */
/* No transaction will read a state below this one. */
void vs_forget(store *s, uint32_t horizon);

#endif
