/*
 * modify.c - INSERT, UPDATE, DELETE, tables and savepoints.
 *
 * Rows are written one by one, as PostgreSQL does: a constraint is tested when its row is written,
 * and a statement does not see its own writes (cid).  Where the order of the rows, which is the
 * planner's, would decide between success and an error, we refuse.
 */
#include <assert.h>
#include <stdio.h>

#include "base/hash.h"
#include "sql/modify.h"
#include "sql/partitions.h"
#include "sql/pl.h"
#include "sql/row_triggers.h"
#include "sql/sql.h"

/* GENERATED columns, of the values that the row now has. */
static void compute_row(sql_exec *x, const table *t, value *row)
{
    const value *slot = row;
    assert(row || !t->n_cols);
    frame f = {&slot, NULL, NULL};
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (t->cols[i].computed && !column_hidden(&t->cols[i])) {
            row[i] = eval(x, t->cols[i].computed, &f);
            exec_column_changes(x, &t->cols[i]);
        }
}

/* What unique indexes of expressions, or with WHERE, have for keys. */
void exec_index_row(sql_exec *x, const table *t, value *row)
{
    const value *slot = row;
    frame f = {&slot, NULL, NULL};
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (column_hidden(&t->cols[i])) {
            row[i] = t->cols[i].computed ? eval(x, t->cols[i].computed, &f) : value_null();
            exec_column_changes(x, &t->cols[i]);
        }
}

static void check_row(sql_exec *x, const table *t, const value *row)
{
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (t->cols[i].not_null && row[i].null)
            sql_raise(&x->c, "23502", "null value in column \"%s\" violates not-null constraint",
                      t->cols[i].name);
    frame f = {&row, NULL, NULL};
    for (uint32_t i = 0; i < t->n_checks; i++) {
        value v = eval(x, t->checks[i], &f);
        if (!v.null && !v.i) sql_raise(&x->c, "23514", "new row violates check constraint");
    }
}

/* WITH CHECK OPTION of the view, tested after everything that the table asks of its rows. */
static void check_view(sql_exec *x, const plan *p, const value *row)
{
    frame f = {&row, NULL, NULL};
    assert(row && p->target);
    if (p->view_check && !p->of_partition && !eval_true(x, p->view_check, &f))
        sql_raise(&x->c, "44000", "new row violates check option for view");
}

/* A row that is written to a partition by its own name must lie between its bounds. */
static void check_bounds(sql_exec *x, const plan *p, const value *row)
{
    frame f = {&row, NULL, NULL};
    assert(row && (p->view_check || !p->of_partition));
    if (p->of_partition && !eval_true(x, p->view_check, &f))
        sql_raise(&x->c, "23514", "new row violates partition constraint");
}

bool modify_key_null(const unique_key *u, const value *row)
{
    assert(u->n && u->cols);
    for (uint32_t i = 0; i < u->n; i++)
        if ((row[u->cols[i]].null && !u->nulls_equal) || row[u->cols[i]].open) return true;
    return false;
}

static bool key_same(const table *t, const unique_key *u, const value *a, const value *b)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (!value_same(t->cols[u->cols[i]].t.id, a[u->cols[i]], b[u->cols[i]])) return false;
    return true;
}

bool modify_same_key(const table *t, const unique_key *u, const value *a, const value *b)
{
    return !modify_key_null(u, a) && !modify_key_null(u, b) && key_same(t, u, a, b);
}

#define NO_ROW UINT32_MAX

/* Lists the rows that ever had the key, and some more: those of the column that has the fewest. */
static void find_key_rows(sql_exec *x, table *t, const unique_key *u, const value *row)
{
    uint32_t best = UINT32_MAX, column = 0;
    uint64_t hash = 0;
    for (int whole = 0; whole < 2 && best >= FEW; whole++) {
        best = UINT32_MAX;
        for (uint32_t i = 0; i < u->n; i++) {
            uint32_t c = u->cols[i];
            uint64_t h = value_hash(t->cols[c].t.id, row[c]);
            uint32_t n = vs_lookup_size(x->s, t, c, h, whole ? UINT32_MAX : FEW);
            if (n < best) best = n, column = c, hash = h;
        }
    }
    vs_lookup(x->s, t, column, hash, false);
}

/* ON CONFLICT, and no row is known to hold the key: but one has a key that nobody observed, or this
   key is one that a sequence gives, which somebody may have used. */
static void refuse_unseen_keys(sql_exec *x, const table *t, const unique_key *u, const value *row)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (t->cols[u->cols[i]].holes || row[u->cols[i]].open)
            sql_refuse(&x->c, -1, "ON CONFLICT with a key that was not observed");
}

/* Another row that holds the key now: committed by anybody, or ours.  A unique index does not look
   at snapshots. */
static uint32_t holder(sql_exec *x, table *t, const unique_key *u, const value *row, uint32_t self)
{
    if (x->any_key || modify_key_null(u, row)) return NO_ROW;
    find_key_rows(x, t, u, row);
    for (size_t i = 0; i < x->s->found.n; i++) {
        uint32_t r = x->s->found.at[i];
        const row_version *v = exec_now(x, t, r);
        assert(r < t->rows.n);
        if (r != self && v && !v->dead && key_same(t, u, row, v->cols)) return r;
    }
    return NO_ROW;
}

bool modify_is_taken(sql_exec *x, table *t, const unique_key *u, const value *row, uint32_t self)
{
    return holder(x, t, u, row, self) != NO_ROW;
}

/* The row was given new keys: those that are tested later. */
static void note_late_keys(sql_exec *x, table *t, const value *old, const value *row, uint32_t r)
{
    for (uint32_t i = 0; i < t->n_unique; i++)
        if (t->unique[i].deferrable && !t->unguarded &&
            !(old && key_same(t, &t->unique[i], row, old)) && !modify_key_null(&t->unique[i], row))
            late_unique_note(x, t, i, r);
}

/* ON CONFLICT DO NOTHING locks nothing: what it found may have gone, or changed, before the commit.
   Was there a row with the key at a time when the statement may have looked?  With a snapshot for
   the transaction it must be one that the snapshot shows; else any since the state that was read;
   where every row has a state of its own, any at all. */
static bool held_since(sql_exec *x, table *t, const unique_key *u, const value *row)
{
    if (x->any_key || modify_key_null(u, row)) return false;
    uint32_t since = x->choose ? 0 : x->state;
    bool held = false;
    find_key_rows(x, t, u, row);
    for (size_t i = 0; i < x->s->found.n; i++) {
        const row_version *v = t->rows.at[x->s->found.at[i]].head;
        if (v && v->commit == PENDING) continue; /* ours: nobody else has changed it since */
        for (; v; v = v->older) {
            if (v->commit > x->latest) continue;
            if (v->commit > x->latest_from) x->latest_from = v->commit;
            if (v->commit > x->valid_from && v->commit <= x->state) x->valid_from = v->commit;
            bool shown = x->rule != WRITE_CONFLICT || v->commit <= x->state;
            held |= shown && !v->dead && key_same(t, u, row, v->cols);
            if (v->commit <= since) break;
        }
    }
    return held;
}

/* ON CONFLICT DO NOTHING without a target looks at every unique key, and one is enough to leave the
   row out.  A key that somebody has taken since may have been free when the statement looked. */
static bool any_key_shown(sql_exec *x, const plan *p, const value *row)
{
    table *t = p->target;
    for (uint32_t i = 0; i < t->n_unique; i++) {
        if (p->arbiter >= 0 && (uint32_t)p->arbiter != i) continue;
        uint32_t r = holder(x, t, &t->unique[i], row, NO_ROW);
        if (r != NO_ROW && t->rows.at[r].head->commit == PENDING) return true;
        if (held_since(x, t, &t->unique[i], row)) return true;
    }
    return false;
}

/* The snapshot goes on showing a row that others have deleted since, beside the new one of its key.
   PostgreSQL's planner takes such a key for unique all the same: a join may then find one of the
   two rows only. */
static void note_twins(sql_exec *x, table *t, const unique_key *u, const value *row)
{
    if (x->rule == WRITE_CONFLICT && x->state < x->latest && held_since(x, t, u, row))
        x->twins = true;
}

static void returning(sql_exec *x, const plan *p, frame *f, sql_result *out, tuples *rows)
{
    for (size_t i = 0; x->drew && i < x->made.n; i++)
        if (x->made.at[i].draws)
            x->drew(x->ud, x->made.at[i].was.n, out->count, x->made.at[i].seen);
    x->made.n = 0;
    out->count++;
    if (!p->n_returning) return;
    value *row = arena_array(&x->work, value, p->n_returning);
    for (uint32_t i = 0; i < p->n_returning; i++) row[i] = eval_open(x, p->returning[i].e, f);
    const value **one = arena_array(&x->work, const value *, 1);
    one[0] = row;
    arena_push(&x->work, &rows->at, one);
}

static void returned(sql_exec *x, const plan *p, sql_result *out, tuples *rows)
{
    if (!p->n_returning) return;
    out->has_rows = true;
    out->n_cols = p->n_returning;
    out->types = arena_array(&x->work, type_id, p->n_returning);
    out->names = arena_array(&x->work, const char *, p->n_returning);
    for (uint32_t i = 0; i < p->n_returning; i++) {
        out->types[i] = p->returning[i].e->t.id;
        out->names[i] = p->returning[i].name;
    }
    out->n = (uint32_t)rows->at.n;
    out->rows = arena_array(&x->work, const value *, rows->at.n + 1);
    for (size_t i = 0; i < rows->at.n; i++) out->rows[i] = rows->at.at[i][0];
}

/* ---- INSERT ---------------------------------------------------------------------------------- */

/* A value that was just made by a sequence or clock is what RETURNING showed of its column, if the
   row gets there: ON CONFLICT and triggers may leave it out, or return another one in its place. */
static value made(sql_exec *x, const plan *p, uint32_t column, value v, uint64_t row)
{
    if (v.open != OPEN_FREE || x->regs.calls || !x->observed) return v;
    for (uint32_t i = 0; i < p->n_returning; i++) {
        const expr *e = p->returning[i].e;
        value seen;
        if (e->kind != E_COLUMN || e->slot || e->index != column) continue;
        if (!x->observed(x->ud, row, i, p->target->cols[column].t, &seen)) continue;
        bool draws = v.n && type_is_int(p->target->cols[column].t.id);
        vec_push(x->s->mem, &x->made, ((made_value){column, draws, v, seen.i}));
        return seen;
    }
    return v;
}

static value *set_columns(sql_exec *x, const plan *p, const value *old, frame *f,
                          uint64_t row_number)
{
    const table *t = p->target;
    value *row = arena_array(&x->work, value, t->n_cols);
    x->made.n = 0;
    memcpy(row, old, t->n_cols * sizeof *row);
    for (uint32_t i = 0; i < p->n_set; i++) {
        const set_clause *s = &p->set[i];
        const expr *e = s->e ? s->e : t->cols[s->column].fallback;
        row[s->column] = e ? made(x, p, s->column, eval_open(x, e, f), row_number) : value_null();
        exec_column_changes(x, &p->target->cols[s->column]);
    }
    return row;
}

value *modify_set_row(sql_exec *x, const plan *p, const value *old, frame *f, uint64_t number)
{
    value *row = set_columns(x, p, old, f, number);
    compute_row(x, p->target, row);
    exec_index_row(x, p->target, row);
    return row;
}

void modify_raise_conflict(sql_exec *x, const row_version *v)
{
    assert(x->rule == WRITE_CONFLICT && v);
    x->conflict = v->commit == PENDING ? 0 : v->commit;
    sql_raise(&x->c, "40001", "could not serialize access due to concurrent update");
}

/* BEFORE triggers of an UPDATE; false: the row is left as it is. */
static bool before_update(sql_exec *x, const plan *p, uint32_t r, const value *old, value *row,
                          bool several)
{
    const row_version *head = p->target->rows.at[r].head;
    if (!triggers_before(x, p, TRIGGER_UPDATE, old, row, several)) return false;
    if (p->target->rows.at[r].head != head)
        sql_refuse(&x->c, -1, "a row that its own BEFORE trigger writes");
    compute_row(x, p->target, row);
    exec_index_row(x, p->target, row);
    return true;
}

/* ON CONFLICT DO UPDATE of row r. */
static void update_instead(sql_exec *x, const plan *p, uint32_t r, value *proposed, sql_result *out,
                           tuples *rows)
{
    table *t = p->target;
    for (size_t i = 0; i < x->made.n; i++) /* RETURNING shows the old row, not what was proposed */
        proposed[x->made.at[i].column] = x->made.at[i].was;
    const row_version *v = exec_now(x, t, r);
    if (v->commit == PENDING && v->cid >= x->regs.cid)
        sql_raise(&x->c, "21000", "ON CONFLICT DO UPDATE cannot affect row a second time");
    if (x->rule == WRITE_CONFLICT && v != vs_at(t, r, x->state, x->regs.cid))
        modify_raise_conflict(x, v);
    if (x->rule == WRITE_FREE && v != exec_row(x, t, r, 0))
        sql_refuse(&x->c, -1, "ON CONFLICT with a row that is not visible, at this level");
    const value *slots[2] = {v->cols, proposed};
    frame f = {slots, NULL, NULL};
    if (p->conflict_where && !eval_true(x, p->conflict_where, &f)) return;
    value *row = modify_set_row(x, p, v->cols, &f, out->count);
    if (t->n_triggers && !before_update(x, p, r, v->cols, row, p->q != NULL)) return;
    partition_stays(x, t, v->cols, row);
    check_row(x, t, row);
    for (uint32_t i = 0; i < t->n_unique; i++)
        if (!t->unique[i].deferrable && !key_same(t, &t->unique[i], row, v->cols) &&
            holder(x, t, &t->unique[i], row, r) != NO_ROW)
            sql_raise(&x->c, "23505", "duplicate key value violates unique constraint");
    refer_note(x, t, v->cols, row);
    if (t->n_triggers) triggers_note(x, p, TRIGGER_UPDATE, v->cols, row);
    const value *was = v->cols;
    vs_update(x->s, t, r, row, x->regs.cid);
    note_late_keys(x, t, was, row, r);
    check_view(x, p, row);
    slots[0] = row;
    returning(x, p, &f, out, rows);
}

static void raise_taken(sql_exec *x, table *t, const value *row)
{
    assert(row || !t->n_unique);
    for (uint32_t i = 0; i < t->n_unique; i++)
        if (!t->unique[i].deferrable && holder(x, t, &t->unique[i], row, NO_ROW) != NO_ROW)
            sql_raise(&x->c, "23505", "duplicate key value violates unique constraint");
}

void modify_insert_row(sql_exec *x, const plan *p, value *row, sql_result *out, tuples *rows)
{
    assert(p->kind == S_INSERT && p->arbiter < (int)p->target->n_unique);
    table *t = p->target;
    x->touched++;
    if (x->any_key && p->conflict != ON_CONFLICT_RAISE)
        sql_refuse(&x->c, -1, "ON CONFLICT where keys are not looked at");
    bool several = p->q != NULL; /* rows of VALUES have an order */
    if (t->n_triggers && !triggers_before(x, p, TRIGGER_INSERT, NULL, row, several)) return;
    if (!p->of_partition) partition_check(x, t, row);
    compute_row(x, t, row);
    check_row(x, t, row);
    check_bounds(x, p, row);
    exec_index_row(x, t, row);
    for (uint32_t i = 0; p->conflict != ON_CONFLICT_RAISE && i < t->n_unique; i++) {
        if (p->arbiter >= 0 && (uint32_t)p->arbiter != i) continue;
        uint32_t r = holder(x, t, &t->unique[i], row, NO_ROW);
        if (r == NO_ROW) refuse_unseen_keys(x, t, &t->unique[i], row);
        if (r == NO_ROW) continue;
        if (p->conflict == ON_CONFLICT_UPDATE) {
            update_instead(x, p, r, row, out, rows);
        } else {
            /* at SI, doing nothing because of a row that the snapshot does not show is an error */
            const row_version *v = exec_now(x, t, r);
            if (x->rule == WRITE_CONFLICT && v->commit != PENDING && v->commit > x->state &&
                !any_key_shown(x, p, row))
                modify_raise_conflict(x, v);
        }
        return;
    }
    /* The key is free now, but was it when the statement looked? */
    for (uint32_t i = 0; p->conflict == ON_CONFLICT_NOTHING && i < t->n_unique; i++) {
        if (p->arbiter >= 0 && (uint32_t)p->arbiter != i) continue;
        if (!x->nothing_free && !held_since(x, t, &t->unique[i], row)) continue;
        if (!x->pick) sql_refuse(&x->c, -1, "a duplicate key that may have been gone again");
        if (x->pick(x->ud, 2)) return;
        break;
    }
    raise_taken(x, t, row);
    for (uint32_t i = 0; i < t->n_unique; i++) note_twins(x, t, &t->unique[i], row);
    note_late_keys(x, t, NULL, row, vs_insert(x->s, t, row, x->regs.cid));
    refer_note(x, t, NULL, row);
    if (t->n_triggers) triggers_note(x, p, TRIGGER_INSERT, NULL, row);
    check_view(x, p, row);
    const value *slots[2] = {row, NULL};
    frame f = {slots, NULL, NULL};
    returning(x, p, &f, out, rows);
}

value *modify_blank_row(sql_exec *x, const plan *p, uint64_t number)
{
    const table *t = p->target;
    value *row = arena_array(&x->work, value, t->n_cols + 1);
    frame none = {NULL, NULL, NULL};
    x->made.n = 0;
    for (uint32_t i = 0; i < t->n_cols; i++) row[i] = value_null();
    for (uint32_t i = 0; i < t->n_cols; i++) {
        uint32_t k = 0;
        while (k < p->n_columns && p->columns[k] != i) k++;
        if (k == p->n_columns && t->cols[i].fallback)
            row[i] = made(x, p, i, eval_open(x, t->cols[i].fallback, &none), number);
    }
    return row;
}

static void insert(sql_exec *x, const plan *p, sql_result *out)
{
    const table *t = p->target;
    tuples rows = {0};
    frame none = {NULL, NULL, NULL};
    if (p->q || p->n_rows > 1) x->regs.many = 1;
    if (p->q) {
        sql_result r;
        exec_query(x, p->q, NULL, &r);
        exec_cut(x, p->q, &r);
        for (uint32_t i = 0; i < r.n; i++) {
            value *row = modify_blank_row(x, p, out->count);
            for (uint32_t k = 0; k < p->n_columns; k++) {
                type to = t->cols[p->columns[k]].t;
                row[p->columns[k]] =
                    value_cast(&x->c, r.rows[i][k], p->q->out[k].e->t, to, CAST_ASSIGN);
            }
            modify_insert_row(x, p, row, out, &rows);
        }
    }
    for (uint32_t i = 0; i < p->n_rows; i++) {
        value *row = modify_blank_row(x, p, out->count);
        for (uint32_t k = 0; k < p->n_columns; k++) {
            const expr *e = p->rows[(size_t)i * p->n_columns + k];
            if (!e) e = t->cols[p->columns[k]].fallback;
            row[p->columns[k]] =
                e ? made(x, p, p->columns[k], eval_open(x, e, &none), out->count) : value_null();
        }
        modify_insert_row(x, p, row, out, &rows);
    }
    returned(x, p, out, &rows);
}

/* ---- UPDATE, DELETE -------------------------------------------------------------------------- */

typedef struct target {
    uint32_t row;
    const value **tuple; /* slot 0 is the row as it is now */
    const value *old;    /* what it was */
} target;
typedef VEC(target) target_list;

/* What a row is when its turn comes: what the snapshot showed, or what another transaction left.
   False: it is not written after all. */
static bool locked_now(sql_exec *x, const plan *p, uint32_t r, const value **tuple)
{
    table *t = p->target;
    const value *seen = tuple[0];
    assert(seen && r < t->rows.n && x->state <= x->latest);
    const row_version *head = t->rows.at[r].head;
    bool own = head && head->commit == PENDING;
    if (own && (head->cid == x->regs.cid || (t->n_triggers && head->cid > x->regs.cid)))
        sql_refuse(&x->c, -1, "a row that two parts of a statement write, or its trigger");
    const row_version *now = exec_latest(x, t, r);
    if (!now || now->cols == seen || x->rule == WRITE_FREE) return true;
    const row_version *then = vs_at(t, r, x->state, x->regs.cid);
    if (now == then) return true;
    if (x->rule == WRITE_CONFLICT) {
        if (x->by_value && !now->dead) { /* the published test: an equal value is no conflict */
            uint32_t i = 0;
            while (i < t->n_cols && value_identical(t->cols[i].t.id, now->cols[i], seen[i])) i++;
            if (i == t->n_cols) return true;
        }
        modify_raise_conflict(x, now);
    }
    if (now->dead) return false;
    tuple[0] = now->cols;
    frame f = {tuple, NULL, NULL};
    return !p->where || eval_true(x, p->where, &f);
}

static const join *target_scan(const join *j)
{
    while (j->kind != J_REL) j = j->left;
    return j;
}

/* Columns of a version -> its row.  Not an id_map: an error of SQL jumps out of a statement, and
   only what lies in the arena is forgotten then. */
typedef struct row_map {
    const value **cols;
    uint32_t *row, cap;
} row_map;

static uint32_t map_slot(const row_map *m, const value *cols)
{
    uint32_t at = (uint32_t)hash_u64((uintptr_t)cols) & (m->cap - 1);
    while (m->cols[at] && m->cols[at] != cols) at = (at + 1) & (m->cap - 1);
    return at;
}

/* A join does not tell row numbers: those of the target are looked up by what was read. */
static row_map rows_of_target(sql_exec *x, const plan *p)
{
    tuples t = {0};
    exec_join(x, target_scan(p->scan), p->slots, NULL, &t);
    row_map m = {.cap = 16};
    while (m.cap < 2 * t.at.n) m.cap *= 2;
    m.cols = arena_array(&x->work, const value *, m.cap);
    m.row = arena_array(&x->work, uint32_t, m.cap);
    memset(m.cols, 0, m.cap * sizeof *m.cols);
    for (size_t i = 0; i < t.at.n; i++) {
        uint32_t at = map_slot(&m, t.at.at[i][0]);
        m.cols[at] = t.at.at[i][0];
        m.row[at] = t.rows.at[i];
    }
    return m;
}

static void find_targets(sql_exec *x, const plan *p, target_list *out)
{
    query q = {.slots = p->slots, .from = p->scan, .where = p->where};
    tuples t = {0};
    row_map m = {0};
    /* the row is read again as it is now; the snapshot only says that it is there */
    x->any_version = x->rule == WRITE_RECHECK && !x->choose && sql_writes_fixed(p);
    exec_join(x, q.from, p->slots, NULL, &t);
    exec_where(x, &q, NULL, &t);
    x->any_version = false;
    bool joined = p->scan->kind != J_REL;
    if (joined) m = rows_of_target(x, p);
    x->sole_target = t.at.n == 1;
    for (size_t i = 0; i < t.at.n; i++) {
        x->touched++;
        const value **tuple = t.at.at[i];
        uint32_t r = joined ? m.row[map_slot(&m, tuple[0])] : t.rows.at[i];
        if (!locked_now(x, p, r, tuple)) continue;
        const stored_row *w = &p->target->rows.at[r];
        if (w->head->commit != PENDING && w->born > x->write_born) x->write_born = w->born;
        arena_push(&x->work, out, ((target){r, tuple, tuple[0]}));
    }
    x->sole_target = false;
}

/* A row that FROM or USING found more than once is written once, from any of what was found. */
static bool again(sql_exec *x, const plan *p, const target_list *all, size_t i, uint32_t *first,
                  const value *row)
{
    const table *t = p->target;
    if (p->scan->kind == J_REL) return false;
    uint32_t k = first[all->at[i].row];
    if (!k) {
        first[all->at[i].row] = (uint32_t)i + 1;
        return false;
    }
    const row_version *v = t->rows.at[all->at[i].row].head;
    bool same = !p->n_returning;
    for (uint32_t c = 0; row && same && c < t->n_cols; c++)
        same = value_identical(t->cols[c].t.id, row[c], v->cols[c]);
    if (!same) sql_refuse(&x->c, -1, "a row to be written that FROM finds more than once");
    return true;
}

static uint32_t *first_times(sql_exec *x, const plan *p)
{
    assert(p->kind == S_UPDATE || p->kind == S_DELETE);
    if (p->scan->kind == J_REL) return NULL;
    if (p->target->n_triggers)
        sql_refuse(&x->c, -1, "UPDATE ... FROM or DELETE ... USING of a table with triggers");
    size_t n = p->target->rows.n + 1;
    uint32_t *first = arena_array(&x->work, uint32_t, n);
    memset(first, 0, n * sizeof *first);
    return first;
}

static bool sets(const plan *p, const unique_key *u)
{
    for (uint32_t k = 0; k < u->n; k++)
        if (p->target->cols[u->cols[k]].computed) return true;
    for (uint32_t i = 0; i < p->n_set; i++)
        for (uint32_t k = 0; k < u->n; k++)
            if (p->set[i].column == u->cols[k]) return true;
    return false;
}

/* A new key that another target of the statement has, or had: which row comes first decides.
   `keys` are made when they are first needed. */
static void order_matters(sql_exec *x, const plan *p, const target_list *all, uint32_t self,
                          uint32_t key, const value *row, old_keys **keys)
{
    if (!keys[key]) {
        const value **old = arena_array(&x->work, const value *, all->n + 1);
        for (size_t i = 0; i < all->n; i++) old[i] = all->at[i].old;
        keys[key] = old_keys_of(x, p->target, &p->target->unique[key], old, (uint32_t)all->n);
    }
    if (old_keys_have(keys[key], row, self))
        sql_refuse(&x->c, -1,
                   "an UPDATE of unique keys whose success depends on the order of rows");
}

void modify_update_row(sql_exec *x, const plan *p, uint32_t r, const value *old, value *row)
{
    table *t = p->target;
    assert(old && row && r < t->rows.n);
    if (!p->of_partition) partition_check(x, t, row);
    check_row(x, t, row);
    check_bounds(x, p, row);
    for (uint32_t k = 0; k < t->n_unique; k++) {
        const unique_key *u = &t->unique[k];
        if ((!sets(p, u) && !t->n_triggers) || key_same(t, u, row, old)) continue;
        if (!u->deferrable && holder(x, t, u, row, r) != NO_ROW)
            sql_raise(&x->c, "23505", "duplicate key value violates unique constraint");
        note_twins(x, t, u, row);
    }
    vs_update(x->s, t, r, row, x->regs.cid);
    note_late_keys(x, t, old, row, r);
    refer_note(x, t, old, row);
    if (t->n_triggers) triggers_note(x, p, TRIGGER_UPDATE, old, row);
    check_view(x, p, row);
}

void modify_delete_row(sql_exec *x, const plan *p, uint32_t r, const value *old)
{
    assert(old && r < p->target->rows.n);
    vs_update(x->s, p->target, r, NULL, x->regs.cid);
    refer_note(x, p->target, old, NULL);
    if (p->target->n_triggers) triggers_note(x, p, TRIGGER_DELETE, old, NULL);
}

static void update(sql_exec *x, const plan *p, sql_result *out)
{
    assert(p->n_set && p->scan && target_scan(p->scan)->table == p->target);
    table *t = p->target;
    tuples rows = {0};
    target_list all = {0};
    x->regs.many = 1;
    find_targets(x, p, &all);
    uint32_t *first = first_times(x, p);
    old_keys **keys = arena_array(&x->work, old_keys *, t->n_unique + 1);
    memset(keys, 0, (t->n_unique + 1) * sizeof *keys);
    for (uint32_t i = 0; i < all.n; i++) {
        const value **slots = all.at[i].tuple, *old = slots[0];
        frame f = {slots, NULL, NULL};
        value *row = modify_set_row(x, p, old, &f, out->count);
        if (again(x, p, &all, i, first, row)) continue;
        uint32_t r = all.at[i].row;
        if (t->n_triggers && !before_update(x, p, r, old, row, all.n > 1)) continue;
        for (uint32_t k = 0; k < t->n_unique; k++)
            if ((t->n_triggers || sets(p, &t->unique[k])) && !t->unique[k].deferrable &&
                !key_same(t, &t->unique[k], row, old))
                order_matters(x, p, &all, i, k, row, keys);
        modify_update_row(x, p, r, old, row);
        slots[0] = row;
        returning(x, p, &f, out, &rows);
    }
    returned(x, p, out, &rows);
}

static bool before_delete(sql_exec *x, const plan *p, const target *at, bool several)
{
    const row_version *head = p->target->rows.at[at->row].head;
    if (!triggers_before(x, p, TRIGGER_DELETE, at->tuple[0], NULL, several)) return false;
    if (p->target->rows.at[at->row].head != head)
        sql_refuse(&x->c, -1, "a row that its own BEFORE trigger writes");
    return true;
}

static void delete (sql_exec *x, const plan *p, sql_result *out)
{
    assert(!p->n_set && p->scan && target_scan(p->scan)->table == p->target);
    tuples rows = {0};
    target_list all = {0};
    x->regs.many = 1;
    find_targets(x, p, &all);
    uint32_t *first = first_times(x, p);
    for (size_t i = 0; i < all.n; i++) {
        frame f = {all.at[i].tuple, NULL, NULL};
        if (again(x, p, &all, i, first, NULL)) continue;
        if (p->target->n_triggers && !before_delete(x, p, &all.at[i], all.n > 1)) continue;
        modify_delete_row(x, p, all.at[i].row, all.at[i].tuple[0]);
        returning(x, p, &f, out, &rows);
    }
    returned(x, p, out, &rows);
}

/* ---- tables and savepoints ------------------------------------------------------------------- */

static void create(sql_exec *x, const plan *p, sql_result *out)
{
    if (vs_find(x->s, p->created->name, x->latest)) {
        if (p->quiet) return;
        sql_raise(&x->c, "42P07", "relation \"%s\" already exists", p->created->name);
    }
    sql_result r = {0};
    if (p->q) {
        x->regs.many = 1;
        exec_query(x, p->q, NULL, &r);
        exec_cut(x, p->q, &r);
    }
    table *t = arena_get(&x->s->names, sizeof *t);
    *t = *p->created;
    t->cols = arena_array(&x->s->names, table_column, t->n_cols + 1u);
    if (t->n_cols) memcpy(t->cols, p->created->cols, t->n_cols * sizeof *t->cols);
    if (t->temporary) x->s->temporaries = true;
    vs_create(x->s, t);
    if (!p->q || p->no_rows) return;
    for (uint32_t i = 0; i < r.n; i++) {
        guard_tick(x->c.guard);
        vs_insert(x->s, t, r.rows[i], x->regs.cid);
    }
    out->count = r.n;
}

void exec_end(sql_exec *x)
{
    if (!x->s->temporaries) return;
    char own[40];
    int n = snprintf(own, sizeof own, "pg_temp_%u.", (unsigned)x->session);
    for (size_t i = 0; i < x->s->tables.n; i++) {
        table *t = x->s->tables.at[i];
        if (!t->on_commit || strncmp(t->name, own, (size_t)n) != 0 ||
            vs_find(x->s, t->name, x->latest) != t)
            continue;
        if (t->on_commit == COMMIT_DROPS) {
            vs_drop(x->s, t);
            continue;
        }
        x->regs.cid = ++x->last_cid;
        for (uint32_t r = 0; r < t->rows.n; r++) {
            const row_version *v = exec_now(x, t, r);
            if (v && !v->dead) vs_update(x->s, t, r, NULL, x->regs.cid);
        }
    }
}

static void drop_tables(sql_exec *x, const plan *p)
{
    for (uint32_t i = 0; i < p->n_names; i++) {
        table *t = vs_find(x->s, p->names[i], x->latest);
        if (!t && !p->quiet) sql_raise(&x->c, "42P01", "table \"%s\" does not exist", p->names[i]);
        if (t && refer_child(x, t, p->names, p->n_names)) {
            if (p->cascade)
                sql_refuse(&x->c, -1, "DROP ... CASCADE of a table that is referred to");
            sql_raise(&x->c, "2BP01", "other objects depend on table \"%s\"", t->name);
        }
        if (t && alter_view_reads(x, t))
            sql_refuse(&x->c, -1, "DROP of a table that a view may read");
        if (t) vs_drop(x->s, t);
    }
}

/* In the transaction that created the table, while it has no rows, the description is replaced:
   taking the table back takes that back, too. */
static void alter(sql_exec *x, const plan *p)
{
    table *t = p->altered;
    const table *to = p->created;
    bool rows = t->rows.n > t->free_rows.n;
    if (t->created != PENDING || x->savepoints.n || x->regs.calls || rows || p->convert ||
        strcmp(t->name, to->name) != 0) {
        exec_alter(x, p);
        return;
    }
    uint32_t primary = 0;
    for (uint32_t i = 0; i < to->n_unique; i++) primary += to->unique[i].primary;
    if (primary > 1) sql_raise(&x->c, "42P16", "multiple primary keys are not allowed");
    t->n_cols = to->n_cols;
    t->cols = to->cols;
    t->n_unique = to->n_unique;
    t->unique = to->unique;
    t->n_checks = to->n_checks;
    t->checks = to->checks;
    t->check_names = to->check_names;
    t->n_foreign = to->n_foreign;
    t->foreign = to->foreign;
    t->n_loose = to->n_loose;
    t->parts = to->parts;
    t->n_triggers = to->n_triggers;
    t->triggers = to->triggers;
    t->unguarded = to->unguarded;
    t->index = NULL;
    x->s->catalog++;
}

static void create_view(sql_exec *x, const plan *p)
{
    const char *name = p->routine->name;
    routine *old = vs_routine(x->s, name, x->latest, 0);
    if (vs_find(x->s, name, x->latest) || (old && (!old->view || !p->quiet)))
        sql_raise(&x->c, "42P07", "relation \"%s\" already exists", name);
    if (old) vs_drop_routine(x->s, old);
    routine *r = arena_get(&x->s->names, sizeof *r);
    *r = *p->routine;
    vs_create_routine(x->s, r);
}

static void drop_views(sql_exec *x, const plan *p)
{
    for (uint32_t i = 0; i < p->n_names; i++) {
        routine *r = vs_routine(x->s, p->names[i], x->latest, 0);
        bool view = r && r->view;
        if (!view && !p->quiet)
            sql_raise(&x->c, "42P01", "view \"%s\" does not exist", p->names[i]);
        if (view) vs_drop_routine(x->s, r);
    }
}

/* The tables of a TRUNCATE; with CASCADE also those that refer to one of them, and so on. */
static const char **truncated_tables(sql_exec *x, const plan *p, uint32_t *n)
{
    const char **names = arena_array(&x->work, const char *, x->s->tables.n + p->n_names + 1);
    memcpy(names, p->names, p->n_names * sizeof *names);
    *n = p->n_names;
    for (uint32_t i = 0; p->cascade && i < *n; i++) {
        const char *child;
        while ((child = refer_child(x, vs_find(x->s, names[i], x->latest), names, *n)))
            names[(*n)++] = child;
    }
    return names;
}

/* Not as DELETE: whoever reads an older state finds nothing. */
static void truncate(sql_exec *x, const plan *p)
{
    uint32_t n;
    const char **names = truncated_tables(x, p, &n);
    for (uint32_t i = 0; i < n; i++) {
        table *t = vs_find(x->s, names[i], x->latest);
        if (refer_child(x, t, names, n))
            sql_raise(&x->c, "0A000",
                      "cannot truncate a table referenced in a foreign key constraint");
        if (t->unknown)
            sql_refuse(&x->c, -1, "table \"%s\", whose initial contents are unknown", t->name);
        for (uint32_t r = 0; r < t->rows.n; r++) {
            guard_tick(x->c.guard);
            const row_version *v = exec_now(x, t, r);
            if (v && !v->dead) vs_update(x->s, t, r, NULL, x->regs.cid);
        }
        t->truncated = true;
    }
}

static size_t find_savepoint(sql_exec *x, const char *name)
{
    size_t i = x->savepoints.n;
    while (i > 0 && strcmp(x->savepoints.at[i - 1].name, name) != 0) i--;
    if (!i) sql_raise(&x->c, "3B001", "savepoint \"%s\" does not exist", name);
    return i - 1;
}

static bool same_inputs(const routine *a, const routine *b)
{
    if (a->n_in != b->n_in) return false;
    for (uint32_t i = 0, k = 0; i < a->n_params; i++) {
        if (a->params[i].mode != PARAM_IN && a->params[i].mode != PARAM_INOUT) continue;
        while (b->params[k].mode != PARAM_IN && b->params[k].mode != PARAM_INOUT) k++;
        if (a->params[i].t.id != b->params[k++].t.id) return false;
    }
    return true;
}

static void create_routine(sql_exec *x, const plan *p)
{
    assert(p->routine && p->routine->n_in <= p->routine->n_params);
    const routine *made = p->routine;
    routine *old;
    for (uint32_t i = 0; (old = vs_routine(x->s, made->name, x->latest, i)); i++) {
        if (!same_inputs(old, made)) continue;
        if (!p->quiet) sql_raise(&x->c, "42723", "function \"%s\" already exists", made->name);
        if (old->procedure != made->procedure)
            sql_raise(&x->c, "42809", "cannot change routine kind");
        if (old->returns != made->returns || old->set != made->set || old->t.id != made->t.id)
            sql_raise(&x->c, "42P13", "cannot change return type of existing function");
        vs_drop_routine(x->s, old);
        break;
    }
    routine *r = arena_get(&x->s->names, sizeof *r);
    *r = *made;
    vs_create_routine(x->s, r);
}

/* CALL answers with a row of the output parameters, if there are any. */
static void call(sql_exec *x, const plan *p, sql_result *out)
{
    const routine *r = p->call->routine;
    frame none = {NULL, NULL, NULL};
    assert(r->procedure && p->call->n == r->n_params);
    value *args = eval_args(x, p->call, &none);
    for (uint32_t i = 0; i < r->n_params; i++) /* inside of a body they are given as variables */
        if (r->params[i].mode == PARAM_INOUT)
            args[i] = pl_cast(x, args[i], p->call->arg[i]->t, r->params[i].t);
    value *row = arena_array(&x->work, value, r->n_params + 1);
    pl_call(x, r, args, row);
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_params; i++) n += r->params[i].mode != PARAM_IN;
    if (!n) return;
    out->has_rows = true;
    out->n_cols = n;
    out->n = 1;
    out->names = arena_array(&x->work, const char *, n);
    out->types = arena_array(&x->work, type_id, n);
    out->rows = arena_array(&x->work, const value *, 1);
    out->rows[0] = row;
    n = 0;
    for (uint32_t i = 0; i < r->n_params; i++) {
        if (r->params[i].mode == PARAM_IN) continue;
        out->names[n] = r->params[i].name;
        out->types[n++] = r->params[i].t.id;
    }
}

static void roll_back_to(sql_exec *x, const plan *p)
{
    size_t i = find_savepoint(x, p->names[0]);
    vs_rollback(x->s, x->savepoints.at[i].mark);
    x->savepoints.n = i + 1;
    x->modes.n = x->savepoints.at[i].modes;
    if (x->portals.n > x->savepoints.at[i].portals) x->portals.n = x->savepoints.at[i].portals;
}

static void drop_routines(sql_exec *x, const plan *p)
{
    for (uint32_t i = 0; i < p->n_names; i++)
        if (p->dropped[i]) vs_drop_routine(x->s, p->dropped[i]);
}

/* Is what was put off about a table that the statement names? */
static bool is_of_late(const late_key *k, const plan *p)
{
    for (uint32_t i = 0; i <= p->n_names; i++) {
        const char *name = i < p->n_names ? p->names[i] : p->altered ? p->altered->name : NULL;
        if (!name) continue;
        if (!strcmp(k->child->name, name) || (k->f && !strcmp(k->f->parent, name))) return true;
    }
    return false;
}

/* PostgreSQL raises 55006, if it still has something to test in that table. */
static void refuse_beside_late(sql_exec *x, const plan *p)
{
    bool schema =
        p->kind == S_ALTER || p->kind == S_DROP || p->kind == S_TRUNCATE || p->kind == S_REFRESH;
    bool met = p->cascade;
    for (size_t i = 0; schema && !met && i < x->late.n; i++) met = is_of_late(&x->late.at[i], p);
    if (schema && met && x->late.n)
        sql_refuse(&x->c, -1, "ALTER, DROP or TRUNCATE before deferred constraints are tested");
}

void exec_modify(sql_exec *x, const plan *p, sql_result *out)
{
    refuse_beside_late(x, p);
    switch (p->kind) {
    case S_INSERT: insert(x, p, out); break;
    case S_UPDATE: update(x, p, out); break;
    case S_DELETE: delete (x, p, out); break;
    case S_MERGE: exec_merge(x, p, out); break;
    case S_CREATE: create(x, p, out); break;
    case S_DROP: drop_tables(x, p); break;
    case S_SAVEPOINT:
        vec_push(x->s->mem, &x->savepoints,
                 ((savepoint){p->names[0], vs_mark(x->s), x->portals.n, x->modes.n}));
        break;
    case S_RELEASE: x->savepoints.n = find_savepoint(x, p->names[0]); break;
    case S_ROLLBACK_TO: roll_back_to(x, p); break;
    case S_ROUTINE: create_routine(x, p); break;
    case S_DROP_ROUTINE: drop_routines(x, p); break;
    case S_CALL: call(x, p, out); break;
    case S_DO: pl_do(x, p->body); break;
    case S_ALTER: alter(x, p); break;
    case S_VIEW: create_view(x, p); break;
    case S_DROP_VIEW: drop_views(x, p); break;
    case S_TRUNCATE: truncate(x, p); break;
    case S_REFRESH: exec_refresh(x, p); break;
    case S_PREPARE:
    case S_EXECUTE:
    case S_DEALLOCATE:
    case S_DECLARE:
    case S_FETCH:
    case S_CLOSE: exec_session(x, p, out); break;
    case S_CONSTRAINTS: refer_modes(x, p); break;
    case S_UNSEEN: out->unseen = true; break;
    case S_SELECT:
    case S_WRITING_SELECT:
    case S_NOTHING: break;
    }
}
