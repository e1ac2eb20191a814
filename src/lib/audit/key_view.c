/*
 * key_view.c - a log of SQL as a history of keys: the column of a row is a key, named
 * TABLE:ROW.COLUMN, that transactions read, write and delete.
 *
 * Only what statements and their answers show becomes an operation: rows that a SELECT of one table
 * returned with their key, values that are constants or parameters, and what RETURNING says; and
 * what follows from values that nobody else could change: those that the transaction has written
 * itself or read with a lock.  What is still missing comes out of a replay of the log, where the
 * log leaves no doubt about it (hidden_values.h).  A read that is not shown is passed over, which
 * only weakens the history.  A write whose value stays unknown takes its whole key out, one whose
 * rows are not known the whole column, and a statement that is not understood every column that it
 * may have written: so no write is ever missing from a key that is in the history.
 */
#include "audit/audit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit_internal.h"
#include "audit/hidden_values.h"
#include "audit/named_tables.h"
#include "base/map.h"

#define NULL_VALUE "(null)" /* a row that is there, without a value */
#define NAMED_MOST 20u
#define SEVERAL UINT32_MAX
#define LISTED_MOST 256u /* keys of one IN */

typedef struct key_column { /* one column of one table, by the table's key */
    table *t;
    uint32_t key, column;
    const char *why; /* it is left out; NULL: it is not */
    bool in_doubt;   /* a transaction of unknown outcome wrote the table */
} key_column;

typedef struct row_key {
    uint32_t of; /* key_column */
    const char *name;
    const char *why;
    const char *held;           /* its value while no other transaction can write it ... */
    uint64_t held_in;           /* ... in this epoch */
    uint32_t deleter, inserter; /* 1 + the transaction, or SEVERAL; 0: none */
    bool hidden;                /* `why` is that a written value is not shown */
} row_key;

typedef struct key_op {
    char kind; /* 'r', 'w', 'd'; 'a': a read that found nothing */
    uint32_t key;
    const char *value;
    uint64_t line; /* of its statement */
    bool inserts;  /* a row that was not there, as far as the database looked */
} key_op;

typedef struct key_rest { /* a value of one key was computed from the other */
    uint32_t key, on;
} key_rest;

typedef struct viewer {
    audit *a;
    engine *e;
    mem *mem;
    arena kept;
    VEC(key_column) columns;
    VEC(row_key) keys;
    id_index index;
    VEC(key_op) ops;
    size_t *first; /* by transaction: its first operation */
    strbuf scratch;
    audit_key_view *out;
    uint64_t line;  /* of the statement */
    bool counts;    /* the transaction may have committed: what it wrote unseen matters */
    bool computes;  /* what was undone is passed over, so that held values are the right ones */
    bool inserts;   /* the statement is an INSERT */
    bool locks;     /* the statement locks the rows that it reads */
    uint64_t epoch; /* a transaction, or what follows a statement whose writes are not known */
    uint32_t txn, stmt;
    bool names;              /* a statement writes only tables that it names */
    bool hides;              /* some value is not shown that the replay may tell */
    hidden_values *replayed; /* or NULL: it was not asked, or failed ... */
    const char *unexplained; /* ... for this reason */
    VEC(key_rest) rests;
} viewer;

/* ---- keys ------------------------------------------------------------------------------------ */

static const char *viewer_text(viewer *w)
{
    return arena_text(&w->kept, w->scratch.n ? w->scratch.at : "", w->scratch.n);
}

/* How much of a row's key tells it from others: 1.50 and 1.5 are one number, and the spaces that
   fill up a character(n) do not count. */
static size_t telling_length(type_id is, const char *row)
{
    size_t n = strlen(row);
    if (is == T_CHAR)
        while (n && row[n - 1] == ' ') n--;
    if (is == T_NUMERIC && memchr(row, '.', n)) {
        while (row[n - 1] == '0') n--;
        n -= row[n - 1] == '.';
    }
    return n;
}

/* The key's number, or UINT32_MAX; its name is left in `scratch`. */
static uint32_t key_found(viewer *w, uint32_t column, const char *row, uint64_t *hash)
{
    assert(column < w->columns.n && row);
    const key_column *c = &w->columns.at[column];
    w->scratch.n = 0;
    strbuf_printf(&w->scratch, "%s:%.*s.%s", c->t->name,
                  (int)telling_length(c->t->cols[c->key].t.id, row), row,
                  c->t->cols[c->column].name);
    *hash = hash_bytes(w->scratch.at, w->scratch.n, column);
    for (index_walk i = id_index_walk(&w->index, *hash); id_index_next(&w->index, &i);) {
        const row_key *k = &w->keys.at[i.id];
        if (k->of == column && strlen(k->name) == w->scratch.n &&
            !memcmp(k->name, w->scratch.at, w->scratch.n))
            return i.id;
    }
    return UINT32_MAX;
}

static uint32_t key_named(viewer *w, uint32_t column, const char *row)
{
    uint64_t hash;
    uint32_t id = key_found(w, column, row, &hash);
    if (id != UINT32_MAX) return id;
    id = (uint32_t)w->keys.n;
    vec_push(w->mem, &w->keys, ((row_key){.of = column, .name = viewer_text(w)}));
    id_index_add(w->mem, &w->index, hash, id);
    return id;
}

static const char *reason_at(viewer *w, const char *what)
{
    w->scratch.n = 0;
    strbuf_printf(&w->scratch, "%s, line %llu", what, (unsigned long long)w->line);
    return viewer_text(w);
}

static const char not_shown[] = "a value that was written is not shown";

static void leave_key(viewer *w, uint32_t column, const char *row, const char *what)
{
    uint32_t k = key_named(w, column, row);
    w->keys.at[k].held_in = 0;
    if (!w->counts || w->keys.at[k].why) return;
    w->keys.at[k].why = reason_at(w, what);
    w->keys.at[k].hidden = what == not_shown;
    w->hides |= what == not_shown;
}

/* All columns of the table; NULL: of every table. */
static void leave_table(viewer *w, const table *t, const char *what)
{
    w->epoch++;
    for (size_t i = 0; w->counts && i < w->columns.n; i++) {
        key_column *c = &w->columns.at[i];
        if ((!t || c->t == t) && !c->why) c->why = reason_at(w, what);
    }
}

static void add_op(viewer *w, char kind, uint32_t column, const char *row, const char *is)
{
    assert((kind == 'r' || kind == 'w') == (is != NULL)); /* the others have no value */
    vec_push(w->mem, &w->ops, ((key_op){kind, key_named(w, column, row), is, w->line, w->inserts}));
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *value_shown(viewer *w, type_id t, value v)
{
    if (v.null) return NULL_VALUE;
    w->scratch.n = 0;
    value_print(t, v, &w->scratch);
    return viewer_text(w);
}

/* The value of an expression that no row decides, as the column holds it; NULL: not such a one. */
static const char *fixed_value(viewer *w, const expr *e, type_id column)
{
    const sql_exec *x = &w->e->x;
    if (!e || e->t.id != column) return NULL;
    if (e->kind == E_CONST) return e->v.open ? NULL : value_shown(w, column, e->v);
    if (e->kind == E_PARAM && e->index < x->regs.n_params)
        return value_shown(w, column, x->regs.params[e->index]);
    if (e->kind != E_CAST || e->n != 1) return NULL;
    const expr *in = e->arg[0];
    value v;
    if (in->kind == E_CONST && !in->v.open)
        v = in->v;
    else if (in->kind == E_PARAM && in->index < x->regs.n_params)
        v = x->regs.params[in->index];
    else
        return NULL;
    return value_shown(w, column, value_cast(&w->e->x.c, v, in->t, e->t, e->cast));
}

static const char *cell_value(viewer *w, const table *t, uint32_t column, const cell *c)
{
    assert(c && column < t->n_cols); /* a row of the width that the statement gives */
    if (c->kind == CELL_NULL) return NULL_VALUE;
    type to = t->cols[column].t;
    return value_shown(w, to.id, value_parse(&w->e->x.c, to, c->s, c->n));
}

/* Is the condition a conjunction with key = constant?  Then that constant; `only`: nothing else. */
static const char *key_of_condition(viewer *w, const expr *e, const table *t, uint32_t key,
                                    bool *only)
{
    if (!e) return NULL;
    if (e->kind == E_AND) {
        *only = false;
        for (uint32_t i = 0; i < e->n; i++) {
            const char *k = key_of_condition(w, e->arg[i], t, key, only);
            if (k) return k;
        }
        return NULL;
    }
    if (e->kind != E_COMPARE || e->op != OP_EQ || e->n != 2) return NULL;
    for (int side = 0; side < 2; side++) {
        const expr *c = e->arg[side];
        if (c->kind != E_COLUMN || c->slot || c->up || c->index != key) continue;
        const char *k = fixed_value(w, e->arg[!side], t->cols[key].t.id);
        return k && strcmp(k, NULL_VALUE) ? k : NULL;
    }
    return NULL;
}

/* Is a part of the condition key IN (constants)?  Their number, each once, or 0. */
static uint32_t keys_of_condition(viewer *w, const expr *e, const table *t, uint32_t key,
                                  const char ***names)
{
    for (uint32_t i = 0; e && e->kind == E_AND && i < e->n; i++) {
        uint32_t n = keys_of_condition(w, e->arg[i], t, key, names);
        if (n) return n;
    }
    if (!e || e->kind != E_OR || e->n > LISTED_MOST) return 0;
    uint32_t n = 0;
    *names = arena_array(&w->kept, const char *, e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        bool only = true, again = false;
        const char *name = key_of_condition(w, e->arg[i], t, key, &only);
        if (!name) return 0;
        for (uint32_t k = 0; k < n; k++) again |= !strcmp((*names)[k], name);
        if (!again) (*names)[n++] = name;
    }
    return n;
}

/* Where a list of outputs has this column of slot 0, or UINT32_MAX. */
static uint32_t output_of(const out_column *out, uint32_t n, uint32_t column)
{
    for (uint32_t i = 0; i < n; i++) {
        const expr *e = out[i].e;
        if (e->kind == E_COLUMN && !e->slot && !e->up && e->index == column) return i;
    }
    return UINT32_MAX;
}

/* ---- statements ------------------------------------------------------------------------------ */

static const cell *cell_at(const log_stmt *s, uint32_t row, uint32_t column)
{
    assert(row < s->n_rows && column < s->n_cols);
    return &s->cells[(size_t)row * s->n_cols + column];
}

static void view_select(viewer *w, const query *q, const log_stmt *s)
{
    if (!q || q->set || !q->from || q->from->kind != J_REL || !q->from->table || q->from->slot ||
        q->grouped || q->n_windows || q->spread || !s->has_rows ||
        (s->n_rows && s->n_cols != q->n_out))
        return;
    for (uint32_t i = 0; i < w->columns.n; i++) {
        const key_column *c = &w->columns.at[i];
        if (c->t != q->from->table) continue;
        uint32_t shown = output_of(q->out, q->n_out, c->column);
        uint32_t key = output_of(q->out, q->n_out, c->key);
        bool only = true;
        const char *row = key_of_condition(w, q->where, c->t, c->key, &only);
        bool all = !q->limit && !q->offset && !q->skips; /* SKIP LOCKED passes over rows */
        if (row && only && !s->n_rows && all) add_op(w, 'a', i, row, NULL);
        if (shown == UINT32_MAX || (key == UINT32_MAX && !row)) continue;
        for (uint32_t r = 0; r < s->n_rows; r++) {
            const char *name = row ? row : cell_value(w, c->t, c->key, cell_at(s, r, key));
            add_op(w, 'r', i, name, cell_value(w, c->t, c->column, cell_at(s, r, shown)));
        }
    }
}

/* How many rows a change had, if the answer says so. */
static bool rows_changed(const log_stmt *s, uint64_t *n)
{
    assert(!s->has_error); /* it has changed something, or nothing */
    *n = s->has_rows ? s->n_rows : s->count;
    return s->has_rows || s->has_count;
}

static const expr *set_of(const plan *p, uint32_t column)
{
    for (uint32_t i = 0; i < p->n_set; i++)
        if (p->set[i].column == column) return p->set[i].e;
    return NULL;
}

static bool sets(const plan *p, uint32_t column)
{
    for (uint32_t i = 0; i < p->n_set; i++)
        if (p->set[i].column == column) return true;
    return false;
}

static uint32_t column_viewed(const viewer *w, const table *t, uint32_t key, uint32_t column)
{
    for (uint32_t i = 0; i < w->columns.n; i++) {
        const key_column *c = &w->columns.at[i];
        if (c->t == t && c->key == key && c->column == column) return i;
    }
    return UINT32_MAX;
}

/* Puts the values that an expression needs into `row`; false: one is not known, or the expression
   is of a kind that may depend on more. */
static bool fill_row(viewer *w, const expr *e, const key_column *c, const char *name, value *row)
{
    switch (e->kind) {
    case E_CONST: return !e->v.open;
    case E_PARAM: return e->index < w->e->x.regs.n_params;
    case E_COLUMN: {
        if (e->slot || e->up) return false;
        uint32_t of = column_viewed(w, c->t, c->key, e->index);
        if (of == UINT32_MAX) return false;
        uint32_t id = key_named(w, of, name); /* may move the keys */
        const row_key *k = &w->keys.at[id];
        if (k->held_in != w->epoch) return false;
        assert(k->held && e->index < c->t->n_cols);
        type to = c->t->cols[e->index].t;
        row[e->index] = strcmp(k->held, NULL_VALUE)
                            ? value_parse(&w->e->x.c, to, k->held, strlen(k->held))
                            : value_null();
        return true;
    }
    case E_ARITH:
    case E_NEGATE:
    case E_CAST:
    case E_CONCAT:
        for (uint32_t i = 0; i < e->n; i++)
            if (!fill_row(w, e->arg[i], c, name, row)) return false;
        return true;
    default: return false;
    }
}

/* What an expression gives for a row whose values the transaction holds; NULL: not known. */
static const char *held_value(viewer *w, const expr *e, const key_column *c, const char *name)
{
    if (!w->computes || !e || e->t.id != c->t->cols[c->column].t.id) return NULL;
    value *row = arena_array(&w->e->x.work, value, c->t->n_cols);
    for (uint32_t i = 0; i < c->t->n_cols; i++) row[i] = value_null();
    if (!fill_row(w, e, c, name, row)) return NULL;
    const value *slots[1] = {row};
    frame f = {.slots = slots};
    return value_shown(w, e->t.id, eval(&w->e->x, e, &f));
}

/* After a statement: what the transaction now holds.  Not before, because all that an UPDATE sets
   is computed from the row as it was. */
static void hold_values(viewer *w, size_t from)
{
    assert(from <= w->ops.n && w->epoch); /* epoch 0 is of what nobody holds */
    for (size_t i = from; i < w->ops.n; i++) {
        const key_op *op = &w->ops.at[i];
        row_key *k = &w->keys.at[op->key];
        if (op->kind == 'w' || (op->kind == 'r' && w->locks)) {
            k->held = op->value;
            k->held_in = w->epoch;
        } else if (op->kind == 'd') {
            k->held_in = 0;
        }
    }
}

/* May the value of the expression differ between executions that agree about the row's versions?
   It rests on other columns of the row: their keys are noted. */
static bool rests_on_row(viewer *w, const expr *e, uint32_t column, const char *name)
{
    if (!e) return true;
    const key_column *c = &w->columns.at[column];
    if (e->q || e->kind == E_ROUTINE || e->kind == E_VAR || e->kind == E_AGGREGATE) return false;
    if (e->kind == E_COLUMN && e->up) return false;
    if (e->kind == E_COLUMN && !e->slot && e->index != c->column && e->index != c->key) {
        uint32_t of = column_viewed(w, c->t, c->key, e->index);
        if (of == UINT32_MAX) return false;
        key_rest r = {key_named(w, column, name), key_named(w, of, name)};
        vec_push(w->mem, &w->rests, r);
    }
    for (uint32_t i = 0; i < e->n; i++)
        if (!rests_on_row(w, e->arg[i], column, name)) return false;
    return true;
}

/* What a replay of the log says that the statement wrote; NULL and *why: not known for certain. */
static const char *replayed_value(viewer *w, const plan *p, const expr *e, uint32_t column,
                                  const char *name, const char **why)
{
    if (w->unexplained) *why = w->unexplained;
    if (!w->replayed) return NULL;
    const key_column *c = &w->columns.at[column];
    if (c->in_doubt) {
        *why = "a value that was written is not shown, and a transaction of unknown outcome wrote "
               "the table";
        return NULL;
    }
    *why = "a value that was written is not shown, and depends on more than its row";
    if (!sql_writes_newest(p) || !rests_on_row(w, e, column, name)) return NULL;
    uint32_t key = key_named(w, column, name);
    const char *is = hidden_value_of(w->replayed, key, w->txn, w->stmt, why);
    w->out->computed += is != NULL;
    return is;
}

/* One row that an UPDATE or DELETE changed; `shown`: its new value, if the answer has it. */
static void change_row(viewer *w, const plan *p, uint32_t column, const char *name,
                       const char *shown)
{
    assert(column < w->columns.n && w->columns.at[column].t == p->target);
    const key_column *c = &w->columns.at[column];
    const expr *e = set_of(p, c->column);
    if (p->kind == S_DELETE) {
        add_op(w, 'd', column, name, NULL);
        return;
    }
    const char *is = fixed_value(w, e, c->t->cols[c->column].t.id);
    if (!is) is = shown ? shown : held_value(w, e, c, name);
    const char *why = not_shown;
    if (!is) is = replayed_value(w, p, e, column, name, &why);
    if (is)
        add_op(w, 'w', column, name, is);
    else
        leave_key(w, column, name, why);
}

/* UPDATE and DELETE of rows that the condition lists: all of them, or nobody knows which. */
static void change_listed(viewer *w, const plan *p, uint32_t column, const char *const *names,
                          uint32_t listed, uint64_t n)
{
    assert(listed && names);
    for (uint32_t i = 0; i < listed; i++)
        if (n == listed)
            change_row(w, p, column, names[i], NULL);
        else
            leave_key(w, column, names[i], "it is not shown which rows a statement changed");
}

/* UPDATE and DELETE. */
static void view_change(viewer *w, const plan *p, const log_stmt *s)
{
    bool dies = p->kind == S_DELETE;
    assert(p->target && (dies || p->kind == S_UPDATE));
    uint64_t n;
    bool known = rows_changed(s, &n);
    if (known && !n) return;
    if (s->has_rows && s->n_cols != p->n_returning) {
        leave_table(w, p->target, "an answer of another width");
        return;
    }
    for (uint32_t i = 0; i < w->columns.n; i++) {
        const key_column *c = &w->columns.at[i];
        if (c->t != p->target || (!dies && !sets(p, c->column) && !sets(p, c->key))) continue;
        bool only = true;
        const char *row = key_of_condition(w, p->where, c->t, c->key, &only);
        uint32_t key = output_of(p->returning, p->n_returning, c->key);
        uint32_t shown = output_of(p->returning, p->n_returning, c->column);
        bool named = row || (key != UINT32_MAX && s->has_rows);
        const char **names = NULL;
        uint32_t listed = named || !known || sets(p, c->key)
                              ? 0
                              : keys_of_condition(w, p->where, c->t, c->key, &names);
        if (sets(p, c->key) || !known || (!named && !listed)) {
            leave_table(w, c->t, "it is not shown which rows a statement changed");
            return;
        }
        if (listed) {
            change_listed(w, p, i, names, listed, n);
            continue;
        }
        for (uint32_t r = 0; r < n && (r < 1 || !row); r++) {
            const char *name = row ? row : cell_value(w, c->t, c->key, cell_at(s, r, key));
            bool has = shown != UINT32_MAX && s->has_rows;
            change_row(w, p, i, name,
                       has ? cell_value(w, c->t, c->column, cell_at(s, r, shown)) : NULL);
        }
    }
}

/* What an INSERT puts into a column in its r-th row of VALUES; NULL: not shown. */
static const char *inserted(viewer *w, const plan *p, uint32_t r, uint32_t column)
{
    const table *t = p->target;
    assert(r < p->n_rows && column < t->n_cols);
    for (uint32_t i = 0; i < p->n_columns; i++)
        if (p->columns[i] == column && p->rows && p->rows[(size_t)r * p->n_columns + i])
            return fixed_value(w, p->rows[(size_t)r * p->n_columns + i], t->cols[column].t.id);
    const expr *e = t->cols[column].fallback;
    return e ? fixed_value(w, e, t->cols[column].t.id) : NULL_VALUE;
}

/* ON CONFLICT DO UPDATE: does the row that is changed instead have the key of the new one, and keep
   it? */
static bool meets_by(const plan *p, uint32_t key)
{
    if (p->arbiter < 0 || sets(p, key)) return false;
    const unique_key *u = &p->target->unique[p->arbiter];
    return u->n == 1 && u->cols[0] == key;
}

static void view_insert(viewer *w, const plan *p, const log_stmt *s)
{
    uint64_t n;
    bool known = rows_changed(s, &n), listed = !p->q && known && n == p->n_rows;
    if (known && !n) return;
    if (s->has_rows && s->n_cols != p->n_returning) {
        leave_table(w, p->target, "an answer of another width");
        return;
    }
    for (uint32_t i = 0; i < w->columns.n; i++) {
        const key_column *c = &w->columns.at[i];
        if (c->t != p->target) continue;
        uint32_t key = output_of(p->returning, p->n_returning, c->key);
        uint32_t shown = output_of(p->returning, p->n_returning, c->column);
        bool updates = p->conflict == ON_CONFLICT_UPDATE;
        for (uint32_t r = 0; r < (known ? n : 1); r++) {
            const char *name = NULL, *is = NULL;
            if (known && s->has_rows && key != UINT32_MAX)
                name = cell_value(w, c->t, c->key, cell_at(s, r, key));
            else if (listed && (!updates || meets_by(p, c->key)))
                name = inserted(w, p, r, c->key);
            if (known && s->has_rows && shown != UINT32_MAX)
                is = cell_value(w, c->t, c->column, cell_at(s, r, shown));
            else if (listed && !updates)
                is = inserted(w, p, r, c->column);
            if (!name || !strcmp(name, NULL_VALUE)) {
                leave_table(w, c->t, "it is not shown which rows a statement added");
                return;
            }
            const char *why = not_shown;
            if (!is && (!updates || sets(p, c->column)))
                is = replayed_value(w, p, set_of(p, c->column), i, name, &why);
            if (is)
                add_op(w, 'w', i, name, is);
            else
                leave_key(w, i, name, why);
        }
    }
}

/* What the transaction wrote may be there or not. */
static void doubt_table(viewer *w, const table *t)
{
    for (size_t i = 0; i < w->columns.n; i++)
        if (w->columns.at[i].t == t) w->columns.at[i].in_doubt = true;
}

/* Statements that write nothing themselves. */
static bool is_harmless(stmt_kind kind)
{
    switch (kind) {
    case S_SAVEPOINT:
    case S_RELEASE:
    case S_ROLLBACK_TO:
    case S_PREPARE:
    case S_DEALLOCATE:
    case S_CREATE:
    case S_VIEW:
    case S_DROP_VIEW:
    case S_DECLARE:
    case S_CLOSE:
    case S_CONSTRAINTS:
    case S_UNSEEN:
    case S_NOTHING: return true;
    default: return false;
    }
}

static void view_plan(viewer *w, const plan *p, const log_stmt *s)
{
    bool routines = w->e->store.routines.n > 0;
    if (w->e->log->txns.at[w->txn].status == LOG_UNKNOWN && p->target) doubt_table(w, p->target);
    if (p->n_writes || (p->target && p->target->n_triggers)) {
        leave_table(w, NULL, "a statement whose writes are not shown");
        return;
    }
    if (routines && (p->nested || p->kind == S_FETCH)) {
        leave_table(w, NULL, "a statement may call a function that writes");
        return;
    }
    switch (p->kind) {
    case S_SELECT: view_select(w, p->q, s); return;
    case S_INSERT: view_insert(w, p, s); return;
    case S_UPDATE:
    case S_DELETE: view_change(w, p, s); return;
    case S_FETCH: return;
    default:
        if (!is_harmless(p->kind)) leave_table(w, NULL, "a statement whose writes are not shown");
    }
}

/* The same of MySQL, whose statements PostgreSQL's grammar may read in another way. */
static void view_unknown_mysql(viewer *w, const log_stmt *s)
{
    static const char why[] = "a statement that is not understood";
    const log_text *text = &w->e->log->texts.at[s->text];
    named_kind kind = w->names ? statement_writes(text) : NAMED_ANY;
    if (kind == NAMED_ANY) leave_table(w, NULL, why);
    for (size_t i = 0; kind == NAMED_TABLES && i < w->columns.n; i++)
        if (statement_names(text, w->columns.at[i].t->name))
            leave_table(w, w->columns.at[i].t, why);
}

/* A statement that is not understood: what it may have written is left out. */
static void view_unknown(viewer *w, const log_stmt *s)
{
    const engine *e = w->e;
    log_txn alone = {.n_stmts = 1, .stmts = s};
    /* what hides behind a name may call a function */
    bool reads = engine_only_reads(e, &alone) && !e->log->hidden_routines;
    if (e->log->dialect == DIALECT_MYSQL && !reads) {
        view_unknown_mysql(w, s);
        return;
    }
    const table *t = engine_writes_one(e, &e->log->texts.at[s->text]) ? e->x.regs.target : NULL;
    if (!reads) leave_table(w, t, "a statement that is not understood");
}

static bool begins_with(const char *at, const char *word)
{
    while (*word && (*at | 32) == *word) at++, word++;
    return !*word;
}

/* Does a statement of MySQL or MariaDB mean the same in PostgreSQL's grammar, where that reads it?
   Not with escapes, texts in double quotes, comments that are executed, -- without a space, ||,
   floating point (which is rounded to even), and truth values, which are numbers there. */
static bool is_read_alike(const viewer *w, const log_stmt *s)
{
    if (w->e->log->dialect != DIALECT_MYSQL) return true;
    const log_text *t = &w->e->log->texts.at[s->text];
    for (const char *at = t->at; *at; at++) {
        char next = at[1];
        if (*at == '\\' || *at == '"' || (*at == '|' && next == '|')) return false;
        if (*at == '/' && next == '*' && (at[2] == '!' || at[2] == 'M')) return false;
        if (*at == '-' && next == '-' && (unsigned char)at[2] > ' ') return false;
        bool digit = *at == '.' || (*at >= '0' && *at <= '9');
        if (digit && (next | 32) == 'e' && strchr("+-0123456789", at[2]) && at[2]) return false;
        if (begins_with(at, "true") || begins_with(at, "false")) return false;
    }
    return true;
}

/* Can nobody else change what the query returned?  FOR KEY SHARE lets others write values. */
static bool locks_values(const query *q)
{
    if (!q || !q->locking || q->n_locks != 1) return false;
    return q->locks[0].slot == 0 && !q->locks[0].keys_only;
}

static void view_statement(viewer *w, const log_stmt *s)
{
    engine *e = w->e;
    guard *g = e->guard, outer;
    w->line = s->line;
    if (s->has_error) return;
    memcpy(&outer, g, sizeof outer);
    e->x.regs.target = NULL;
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        if (code != SQL_RAISED && code != SQL_REFUSED) {
            g->code = code;
            guard_fail_again(g);
        }
        view_unknown(w, s);
        arena_reset(&e->x.work);
        return;
    }
    size_t from = w->ops.n;
    const plan *p = engine_plan(e, s);
    if (!is_read_alike(w, s))
        sql_refuse(&e->x.c, -1, "a statement that MySQL reads in its own way");
    w->inserts = p->kind == S_INSERT;
    w->locks = p->kind == S_SELECT && locks_values(p->q);
    view_plan(w, p, s);
    hold_values(w, from);
    guard_restore(g, &outer);
    arena_reset(&e->x.work);
}

/* ---- which columns --------------------------------------------------------------------------- */

static uint32_t column_called(const table *t, const char *at, size_t n)
{
    for (uint32_t i = 0; t && i < t->n_cols; i++)
        if (strlen(t->cols[i].name) == n && !memcmp(t->cols[i].name, at, n)) return i;
    return UINT32_MAX;
}

static bool is_unique(const table *t, uint32_t column)
{
    for (uint32_t i = 0; i < t->n_unique; i++)
        if (t->unique[i].n == 1 && t->unique[i].cols[0] == column && !t->unique[i].deferrable)
            return true;
    return false;
}

static void add_column(viewer *w, table *t, uint32_t key, uint32_t column)
{
    assert(key < t->n_cols && column < t->n_cols);
    key_column c = {.t = t, .key = key, .column = column};
    for (uint32_t i = 0; i < t->n_foreign; i++)
        if (t->foreign[i].on_delete != REFER_CHECK || t->foreign[i].on_update != REFER_CHECK)
            c.why = "other tables write it through a foreign key";
    type_id is = t->cols[column].t.id;
    if (w->e->log->dialect == DIALECT_MYSQL && (is == T_DATE || is == T_STAMP || is == T_STAMPTZ))
        c.why = "MySQL and MariaDB read times by rules of their own";
    if (t->cols[column].computed || t->cols[key].computed)
        c.why = "the database computes it from other columns";
    vec_push(w->mem, &w->columns, c);
}

/* accounts:id->balance,products:id->stock; fails through the guard. */
static void columns_given(viewer *w, const char *keys)
{
    guard *g = w->e->guard;
    while (*keys) {
        size_t n = strcspn(keys, ",");
        const char *colon = memchr(keys, ':', n), *arrow = colon ? strstr(colon, "->") : NULL;
        if (!arrow || arrow > keys + n)
            guard_fail(g, GUARD_INVAL, "--keys: \"%.*s\" is not TABLE:KEY->VALUE", (int)n, keys);
        const char *name = arena_text(&w->kept, keys, (size_t)(colon - keys));
        table *t = vs_find(&w->e->store, name, 0);
        if (!t) guard_fail(g, GUARD_INVAL, "--keys: the log has no table \"%.200s\"", name);
        uint32_t key = column_called(t, colon + 1, (size_t)(arrow - colon - 1));
        uint32_t column = column_called(t, arrow + 2, (size_t)(keys + n - arrow - 2));
        if (key == UINT32_MAX || column == UINT32_MAX)
            guard_fail(g, GUARD_INVAL, "--keys: table \"%.200s\" has no such column", name);
        if (!is_unique(t, key))
            guard_fail(g, GUARD_INVAL, "--keys: column \"%.200s\" of \"%.200s\" is not unique",
                       t->cols[key].name, name);
        add_column(w, t, key, column);
        keys += n + (keys[n] == ',');
    }
}

/* Every other column of each table with a primary key of one column. */
static void columns_of_primary_keys(viewer *w)
{
    for (size_t i = 0; i < w->e->store.tables.n; i++) {
        table *t = w->e->store.tables.at[i];
        for (uint32_t u = 0; u < t->n_unique; u++) {
            if (!t->unique[u].primary || t->unique[u].n != 1 || t->unique[u].deferrable) continue;
            for (uint32_t c = 0; c < t->n_cols; c++)
                if (c != t->unique[u].cols[0] && !column_hidden(&t->cols[c]))
                    add_column(w, t, t->unique[u].cols[0], c);
        }
    }
}

static void columns_of_schema(viewer *w)
{
    columns_of_primary_keys(w);
    if (!w->columns.n)
        guard_fail(w->e->guard, GUARD_INVAL, "no table of the log has a primary key of one column");
}

/* ---- the history ----------------------------------------------------------------------------- */

static const char *why_left(const viewer *w, const row_key *k)
{
    assert(k->of < w->columns.n);
    return w->columns.at[k->of].why ? w->columns.at[k->of].why : k->why;
}

static void put_text(strbuf *o, const char *s)
{
    strbuf_json(o, s, strlen(s));
}

/* Sequences and the like give a row of the initial state values that the log does not show. */
static void leave_open_initial(viewer *w)
{
    for (uint32_t i = 0; i < w->columns.n; i++) {
        key_column *c = &w->columns.at[i];
        for (size_t r = 0; !c->why && !c->t->unknown && r < c->t->rows.n; r++) {
            const row_version *v = vs_at(c->t, (uint32_t)r, 0, 0);
            if (!v || v->dead) continue;
            if (v->cols[c->key].open) {
                c->why = "the keys of its first rows are not known";
            } else if (v->cols[c->column].open) {
                const char *row = value_shown(w, c->t->cols[c->key].t.id, v->cols[c->key]);
                uint32_t id = key_named(w, i, row); /* may move the keys */
                w->keys.at[id].why = "its first value is not known";
            }
        }
    }
}

/* The rows before the log. */
static void put_initial(viewer *w, strbuf *o)
{
    bool unknown = false, any = false;
    strbuf_str(o, "{\"ratel\":1,\"made_by\":\"ratel trace to-history\",\"init\":[");
    for (uint32_t i = 0; i < w->columns.n; i++) {
        const key_column *c = &w->columns.at[i];
        unknown |= c->t->unknown;
        for (size_t r = 0; !c->why && !c->t->unknown && r < c->t->rows.n; r++) {
            const row_version *v = vs_at(c->t, (uint32_t)r, 0, 0);
            if (!v || v->dead || v->cols[c->key].open || v->cols[c->column].open) continue;
            const char *row = value_shown(w, c->t->cols[c->key].t.id, v->cols[c->key]);
            uint32_t id = key_named(w, i, row); /* may move the keys */
            const row_key *k = &w->keys.at[id];
            if (why_left(w, k)) continue;
            strbuf_str(o, any ? ",[" : "[");
            put_text(o, k->name);
            strbuf_char(o, ',');
            put_text(o, value_shown(w, c->t->cols[c->column].t.id, v->cols[c->column]));
            strbuf_char(o, ']');
            any = true;
        }
    }
    strbuf_str(o, unknown ? "],\"init_unknown\":true}\n" : "]}\n");
}

static void put_op(viewer *w, strbuf *o, const key_op *op)
{
    assert(op->key < w->keys.n && !why_left(w, &w->keys.at[op->key]));
    char kind[2] = {op->kind == 'a' ? 'r' : op->kind, 0};
    strbuf_printf(o, "[\"%s\",", kind);
    put_text(o, w->keys.at[op->key].name);
    if (op->value) {
        strbuf_char(o, ',');
        put_text(o, op->value);
    }
    strbuf_str(o, op->kind == 'a' ? ",null]" : "]");
    w->out->reads += *kind == 'r';
    w->out->writes += *kind == 'w';
    w->out->deletes += *kind == 'd';
}

static void put_times(const viewer *w, strbuf *o, const log_txn *t, size_t number)
{
    if (t->has_times) {
        uint32_t takes = w->e->marks.takes[number];
        bool taken =
            takes < t->n_stmts && t->stmts[takes].has_time && t->stmts[takes].answer <= t->times[2];
        strbuf_printf(o, ",\"times\":[%lld,", (long long)t->times[0]);
        if (taken)
            strbuf_i64(o, t->stmts[takes].answer);
        else
            strbuf_str(o, "null");
        /* (a history has no use for the end of an unknown outcome) */
        strbuf_printf(o, ",%lld,%lld]", (long long)t->times[2],
                      (long long)t->times[t->times[3] == LOG_NO_END ? 2 : 3]);
    } else {
        if (t->has_begin) strbuf_printf(o, ",\"begin\":%lld", (long long)t->begin);
        if (t->has_end) strbuf_printf(o, ",\"end\":%lld", (long long)t->end);
    }
    /* (in a history it would say that the transaction did commit) */
    if (t->has_commit && t->status == LOG_COMMITTED)
        strbuf_printf(o, ",\"commit_ts\":%lld", (long long)t->commit);
}

static void put_history(viewer *w, strbuf *o)
{
    static const char *const status[] = {"committed", "aborted", "unknown"};
    const sql_log *l = w->e->log;
    assert(w->first[l->txns.n] == w->ops.n); /* every operation is some transaction's */
    put_initial(w, o);
    for (size_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        bool any = false;
        size_t start = o->n;
        strbuf_str(o, "{\"session\":");
        put_text(o, l->sessions.at[t->session]);
        strbuf_str(o, ",\"id\":");
        put_text(o, t->id);
        if (t->status) strbuf_printf(o, ",\"status\":\"%s\"", status[t->status]);
        put_times(w, o, t, i);
        strbuf_str(o, ",\"ops\":[");
        for (size_t k = w->first[i]; k < w->first[i + 1]; k++) {
            if (why_left(w, &w->keys.at[w->ops.at[k].key])) continue;
            if (any) strbuf_char(o, ',');
            put_op(w, o, &w->ops.at[k]);
            any = true;
        }
        strbuf_str(o, "]}\n");
        if (any)
            w->out->txns++;
        else
            o->n = start;
    }
}

static void name_left(viewer *w)
{
    const char **names = arena_array(&w->kept, const char *, NAMED_MOST + 1);
    size_t n = 0;
    for (size_t i = 0; i < w->columns.n; i++) {
        const key_column *c = &w->columns.at[i];
        if (!c->why) continue;
        w->out->left_columns++;
        if (n == NAMED_MOST) continue;
        w->scratch.n = 0;
        strbuf_printf(&w->scratch, "%s.%s: %s", c->t->name, c->t->cols[c->column].name, c->why);
        names[n++] = viewer_text(w);
    }
    for (size_t i = 0; i < w->keys.n; i++) {
        const row_key *k = &w->keys.at[i];
        w->out->keys += !why_left(w, k);
        if (!k->why || w->columns.at[k->of].why) continue;
        w->out->left_keys++;
        if (n == NAMED_MOST) continue;
        w->scratch.n = 0;
        strbuf_printf(&w->scratch, "%s: %s", k->name, k->why);
        names[n++] = viewer_text(w);
    }
    w->out->left = names;
    w->out->n_left = n;
}

/* undone_too: what ROLLBACK TO undid counts as well, as in what others may have read of it. */
static void view_transactions(viewer *w, bool undone_too)
{
    const sql_log *l = w->e->log;
    if (!w->first) w->first = mem_array0(w->mem, size_t, l->txns.n + 2);
    w->ops.n = 0;
    w->computes = !undone_too && l->dialect != DIALECT_MYSQL;
    for (size_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        const uint32_t *undone = w->e->marks.undone[i];
        w->first[i] = w->ops.n;
        w->epoch++;
        w->counts = undone_too || t->status != LOG_ABORTED;
        w->e->x.session = t->session;
        w->txn = (uint32_t)i;
        for (w->stmt = 0; w->stmt < t->n_stmts; w->stmt++)
            if (undone_too || !undone || !undone[w->stmt]) view_statement(w, &t->stmts[w->stmt]);
        w->first[i + 1] = w->ops.n;
    }
}

static void add_actor(uint32_t *who, uint32_t txn)
{
    *who = !*who || *who == txn + 1 ? txn + 1 : SEVERAL;
}

/* A snapshot of PostgreSQL can show a row that another transaction has deleted since, and beside it
   a row with the same key that was inserted after that: the unique index looks at what is committed
   now.  Those are two rows and no lost update, but with one key they would look like one. */
static void leave_inserted_again(viewer *w)
{
    const sql_log *l = w->e->log;
    assert(w->first && w->first[l->txns.n] == w->ops.n);
    for (uint32_t t = 0; t < l->txns.n; t++)
        for (size_t i = w->first[t]; l->txns.at[t].status != LOG_ABORTED && i < w->first[t + 1];
             i++) {
            const key_op *op = &w->ops.at[i];
            row_key *k = &w->keys.at[op->key];
            if (op->kind == 'd') add_actor(&k->deleter, t);
            if (op->kind == 'w' && op->inserts) add_actor(&k->inserter, t);
        }
    for (size_t i = 0; i < w->keys.n; i++) {
        row_key *k = &w->keys.at[i];
        if (!k->deleter || !k->inserter || k->why) continue;
        if (k->deleter == SEVERAL || k->deleter != k->inserter)
            k->why = "one transaction deleted the row, and another inserted it again";
    }
}

/* ---- values out of a replay ------------------------------------------------------------------ */

static bool column_wanted(void *ud, uint32_t i, const char *name, uint32_t *key, uint32_t *column)
{
    const viewer *w = ud;
    const key_column *c = &w->columns.at[i];
    if (c->why || strcmp(c->t->name, name) != 0) return false;
    *key = c->key;
    *column = c->column;
    return true;
}

static uint32_t key_wanted(void *ud, uint32_t column, const char *row)
{
    viewer *w = ud;
    uint64_t hash;
    uint32_t id = key_found(w, column, row, &hash);
    return id != UINT32_MAX && w->keys.at[id].hidden ? id : UINT32_MAX;
}

/* A computed value is as good as those it was computed from.  Keys rest on keys of the same row
   only, so that no more rounds are needed than a table has columns. */
static void leave_what_rests_on_left(viewer *w)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < w->rests.n; i++) {
            row_key *k = &w->keys.at[w->rests.at[i].key];
            const row_key *on = &w->keys.at[w->rests.at[i].on];
            if (k->why || !why_left(w, on)) continue;
            k->why = "a value that was written is not shown, and was computed from another column "
                     "that is left out";
            more = true;
        }
    }
}

/* Replays the log with states of its own, and goes over the transactions once more. */
static void view_with_replay(viewer *w)
{
    audit *a = w->a;
    engine *e = arena_array(&w->kept, engine, 1);
    hidden_wanted wanted = {w, (uint32_t)w->columns.n, column_wanted, key_wanted, NULL_VALUE};
    const char *why = NULL;
    mem_free_all(&a->shrunk);
    audit_engine(e, w->e->guard, w->mem, &a->shrunk, w->e->o, w->e->log);
    w->replayed = hidden_values_replay(e, &wanted, (uint32_t)w->keys.n, &why);
    w->scratch.n = 0;
    strbuf_printf(&w->scratch, "%s, and %s", not_shown, w->replayed ? "" : why);
    if (!w->replayed) w->unexplained = viewer_text(w);
    for (size_t i = 0; i < w->keys.n; i++) {
        row_key *k = &w->keys.at[i];
        if (k->hidden) k->why = NULL;
        k->hidden = false;
        k->held_in = 0;
    }
    view_transactions(w, false);
    mem_free_all(&a->shrunk);
}

static void view_log(viewer *w, const char *keys)
{
    const sql_log *l = w->e->log;
    engine_reset(w->e);
    if (l->gaps || log_incomplete(l))
        guard_fail(w->e->guard, GUARD_HISTORY,
                   "not everything was logged, and what is missing may have written any key");
    if (keys)
        columns_given(w, keys);
    else
        columns_of_schema(w);
    w->names = named_writes_hold(l);
    view_transactions(w, false);
    if (w->hides) view_with_replay(w);
    leave_inserted_again(w);
    leave_open_initial(w);
    leave_what_rests_on_left(w);
    strbuf out;
    strbuf_init(&out, w->mem);
    put_history(w, &out);
    name_left(w);
    w->out->text = out.at;
    w->out->n = out.n;
}

/* ---- values from elsewhere ------------------------------------------------------------------- */

static uint64_t version_hash(uint32_t key, const char *is)
{
    return hash_bytes(is, strlen(is), key);
}

typedef struct origins { /* every version that something in the log explains */
    VEC(key_op) of;
    id_index index;
} origins;

static bool has_origin(const origins *s, uint32_t key, const char *is)
{
    for (index_walk i = id_index_walk(&s->index, version_hash(key, is));
         id_index_next(&s->index, &i);)
        if (s->of.at[i.id].key == key && !strcmp(s->of.at[i.id].value, is)) return true;
    return false;
}

static void add_origin(viewer *w, origins *s, uint32_t key, const char *is)
{
    if (has_origin(s, key, is)) return;
    id_index_add(w->mem, &s->index, version_hash(key, is), (uint32_t)s->of.n);
    vec_push(w->mem, &s->of, ((key_op){.kind = 'w', .key = key, .value = is}));
}

static void initial_origins(viewer *w, origins *s)
{
    for (uint32_t i = 0; i < w->columns.n; i++) {
        const key_column *c = &w->columns.at[i];
        for (size_t r = 0; !c->t->unknown && r < c->t->rows.n; r++) {
            const row_version *v = vs_at(c->t, (uint32_t)r, 0, 0);
            if (!v || v->dead || v->cols[c->key].open || v->cols[c->column].open) continue;
            const char *row = value_shown(w, c->t->cols[c->key].t.id, v->cols[c->key]);
            add_origin(w, s, key_named(w, i, row),
                       value_shown(w, c->t->cols[c->column].t.id, v->cols[c->column]));
        }
    }
}

void audit_foreign_values(audit *a, engine *e, foreign_value_cb *tell, void *ud)
{
    const sql_log *l = e->log;
    viewer w = {.a = a, .e = e, .mem = &a->work};
    origins s = {0};
    /* what was not logged may have written anything; MySQL's server changes values on their way */
    if (l->gaps || log_incomplete(l) || l->dialect == DIALECT_MYSQL) return;
    arena_init(&w.kept, &a->work);
    strbuf_init(&w.scratch, &a->work);
    columns_of_primary_keys(&w);
    if (!w.columns.n) return;
    leave_open_initial(&w);
    initial_origins(&w, &s);
    view_transactions(&w, true);
    for (size_t i = 0; i < w.ops.n; i++)
        if (w.ops.at[i].kind == 'w') add_origin(&w, &s, w.ops.at[i].key, w.ops.at[i].value);
    for (size_t t = 0; t < l->txns.n; t++)
        for (size_t i = w.first[t]; i < w.first[t + 1]; i++) {
            const key_op *op = &w.ops.at[i];
            const row_key *k = &w.keys.at[op->key];
            guard_tick(e->guard);
            if (op->kind != 'r' || w.columns.at[k->of].t->unknown || why_left(&w, k)) continue;
            if (!has_origin(&s, op->key, op->value))
                tell(ud, &l->txns.at[t], op->line, k->name, op->value);
        }
}

int audit_keys(audit *a, const audit_options *o, const char *keys, audit_key_view *out)
{
    memset(out, 0, sizeof *out);
    if (!a || !a->read) return GUARD_INVAL;
    mem_free_all(&a->store);
    mem_free_all(&a->work);
    memset(&a->e, 0, sizeof a->e);
    audit_limits(a, o);
    if (guard_armed(&a->guard)) {
        snprintf(a->text, sizeof a->text, "%s", a->guard.text);
        a->line = a->column = 0;
        return a->guard.code == SQL_RAISED || a->guard.code == SQL_REFUSED ? GUARD_HISTORY
                                                                           : a->guard.code;
    }
    audit_engine(&a->e, &a->guard, &a->work, &a->store, o, &a->log);
    viewer w = {.a = a, .e = &a->e, .mem = &a->work, .out = out};
    arena_init(&w.kept, &a->work);
    strbuf_init(&w.scratch, &a->work);
    view_log(&w, keys);
    return 0;
}
