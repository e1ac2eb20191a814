/*
 * foreign_keys.c - foreign keys, tested when a statement ends, as PostgreSQL's triggers do.
 *
 * A new reference must find its parent: with the transaction's snapshot where there is one a
 * transaction, else now; and the parent is locked, so that one deleted meanwhile is a conflict.  A
 * parent that goes, or whose key changes, is looked for in the newest rows of its children.
 *
 * What is deferred to the commit is kept as keys, not as rows: a row that was written again, or
 * taken back by a ROLLBACK TO, is not there any more, as PostgreSQL finds, too.
 */
#include "sql/exec.h"

#include <assert.h>

static bool refers_to(const foreign_key *f, const table *t)
{
    return !strcmp(f->parent, t->name);
}

const char *refer_child(const sql_exec *x, const table *t, const char *const *leaving, uint32_t n)
{
    for (size_t i = 0; i < x->s->tables.n; i++) {
        const table *o = x->s->tables.at[i];
        bool leaves = o == t || o != vs_find(x->s, o->name, x->latest);
        for (uint32_t k = 0; k < n; k++) leaves |= !strcmp(leaving[k], o->name);
        for (uint32_t k = 0; !leaves && k < o->n_foreign; k++)
            if (refers_to(&o->foreign[k], t)) return o->name;
    }
    return NULL;
}

static bool is_parent(const sql_exec *x, const table *t)
{
    for (size_t i = 0; i < x->s->tables.n; i++)
        for (uint32_t k = 0; k < x->s->tables.at[i]->n_foreign; k++)
            if (refers_to(&x->s->tables.at[i]->foreign[k], t)) return true;
    return false;
}

void refer_note(sql_exec *x, table *t, const value *before, const value *after)
{
    assert(before || after);
    if (t->unguarded) return;
    if (!t->n_foreign && !is_parent(x, t)) return;
    arena_push(&x->work, &x->refers, ((refer_event){t, before, after}));
}

static bool any_null(const value *row, const uint32_t *cols, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (row[cols[i]].null) return true;
    return false;
}

static bool same_key(const table *t, const value *a, const uint32_t *of_a, const value *b,
                     const uint32_t *of_b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!value_same(t->cols[of_a[i]].t.id, a[of_a[i]], b[of_b[i]])) return false;
    return true;
}

typedef VEC(uint32_t) row_list;

/* Rows of the table that may have the key. */
static row_list rows_with(sql_exec *x, table *t, const uint32_t *cols, const value *row,
                          const uint32_t *of, uint32_t n)
{
    row_list found = {0};
    assert(n && cols[0] < t->n_cols);
    if (t->unknown)
        sql_refuse(&x->c, -1, "a foreign key to table \"%s\", which is unknown", t->name);
    for (uint32_t i = 0; i < n; i++)
        if (row[of[i]].open || t->cols[cols[i]].holes)
            sql_refuse(&x->c, -1, "a foreign key that was not observed");
    vs_lookup(x->s, t, cols[0], value_hash(t->cols[cols[0]].t.id, row[of[0]]), false);
    for (size_t i = 0; i < x->s->found.n; i++) arena_push(&x->work, &found, x->s->found.at[i]);
    return found;
}

static void check_parent(sql_exec *x, const table *child, const foreign_key *f, const value *row)
{
    assert(f->n && row);
    table *t = vs_find(x->s, f->parent, x->latest);
    if (!t || any_null(row, f->cols, f->n)) return;
    row_list rows = rows_with(x, t, f->refs, row, f->cols, f->n);
    for (size_t i = 0; i < rows.n; i++) {
        uint32_t r = rows.at[i];
        const row_version *now = exec_now(x, t, r), *seen = now;
        if (x->rule == WRITE_CONFLICT && now && now->commit != PENDING) {
            seen = vs_at(t, r, x->state, x->regs.cid);
            if (seen && seen->commit > x->valid_from) x->valid_from = seen->commit;
        }
        if (!seen || seen->dead || !same_key(t, seen->cols, f->refs, row, f->cols, f->n)) continue;
        if (now == seen || (!now->dead && same_key(t, now->cols, f->refs, row, f->cols, f->n)))
            return;
        x->conflict = now->commit;
        sql_raise(&x->c, "40001", "could not serialize access due to concurrent update");
    }
    uint32_t changed = vs_changed(t, x->state);
    if (x->rule == WRITE_CONFLICT && changed > x->valid_from) x->valid_from = changed;
    sql_raise(&x->c, "23503", "insert or update on table \"%s\" violates foreign key constraint",
              child->name);
}

/* Is there still a row with the key that one had? */
static bool key_stays(sql_exec *x, table *t, const foreign_key *f, const value *row)
{
    row_list rows = rows_with(x, t, f->refs, row, f->refs, f->n);
    for (size_t i = 0; i < rows.n; i++) {
        const row_version *v = exec_now(x, t, rows.at[i]);
        if (v && !v->dead && same_key(t, v->cols, f->refs, row, f->refs, f->n)) return true;
    }
    return false;
}

/* What happens to rows that refer to the table, directly or by what follows. */
static void kinds(const sql_exec *x, const table *t, bool deleted, int depth, bool *check,
                  bool *follows)
{
    for (size_t i = 0; depth < 16 && i < x->s->tables.n; i++) {
        const table *o = x->s->tables.at[i];
        for (uint32_t k = 0; k < o->n_foreign; k++) {
            const foreign_key *f = &o->foreign[k];
            if (!refers_to(f, t)) continue;
            refer_action action = deleted ? f->on_delete : f->on_update;
            *check |= action == REFER_CHECK;
            *follows |= action != REFER_CHECK;
            if (action == REFER_CASCADE && o != t) kinds(x, o, deleted, depth + 1, check, follows);
        }
    }
}

static value default_of(sql_exec *x, const table_column *c)
{
    frame none = {NULL, NULL, NULL};
    value v = c->fallback ? eval(x, c->fallback, &none) : value_null();
    if (v.open) sql_refuse(&x->c, -1, "SET DEFAULT of a value that the database chooses");
    return v;
}

/* The parent's value as the child's column takes it: types and widths may differ. */
static value referring(sql_exec *x, const table *parent, const table *child, const foreign_key *f,
                       uint32_t i, const value *after)
{
    return value_cast(&x->c, after[f->refs[i]], parent->cols[f->refs[i]].t,
                      child->cols[f->cols[i]].t, CAST_ASSIGN);
}

/* ON DELETE, ON UPDATE of one child row. */
static void follow(sql_exec *x, const table *parent, table *child, const foreign_key *f, uint32_t r,
                   const value *after, bool open)
{
    const row_version *v = exec_now(x, child, r);
    if (child->n_triggers && (after ? f->on_update : f->on_delete) != REFER_CHECK)
        sql_refuse(&x->c, -1, "ON DELETE or ON UPDATE in a table with triggers");
    refer_action action = after ? f->on_update : f->on_delete;
    if (open) sql_refuse(&x->c, -1, "foreign keys whose answer depends on the order of rows");
    if (action == REFER_CHECK)
        sql_raise(&x->c, "23503", "row is still referenced from table \"%s\"", child->name);
    if (x->rule == WRITE_CONFLICT && v->commit != PENDING && v->commit > x->state) {
        x->conflict = v->commit;
        sql_raise(&x->c, "40001", "could not serialize access due to concurrent update");
    }
    const value *old = v->cols;
    value *row = NULL;
    if (after || action == REFER_NULL || action == REFER_DEFAULT) {
        row = arena_array(&x->work, value, child->n_cols + 1);
        memcpy(row, old, child->n_cols * sizeof *row);
        for (uint32_t i = 0; i < f->n; i++)
            row[f->cols[i]] = action == REFER_NULL      ? value_null()
                              : action == REFER_DEFAULT ? default_of(x, &child->cols[f->cols[i]])
                                                        : referring(x, parent, child, f, i, after);
        for (uint32_t i = 0; i < f->n; i++) exec_column_changes(x, &child->cols[f->cols[i]]);
        for (uint32_t i = 0; i < child->n_cols; i++)
            if (child->cols[i].computed)
                sql_refuse(&x->c, -1,
                           "ON UPDATE or SET of a foreign key in a table with computed columns");
        for (uint32_t i = 0; i < child->n_cols; i++)
            if (child->cols[i].not_null && row[i].null)
                sql_raise(&x->c, "23502", "null value violates not-null constraint");
        if (child->n_checks || child->n_unique > 1)
            sql_refuse(&x->c, -1, "ON UPDATE or SET of a foreign key beside other constraints");
        for (uint32_t i = 0; i < child->n_unique; i++)
            for (uint32_t k = 0; k < child->unique[i].n; k++)
                for (uint32_t c = 0; c < f->n; c++)
                    if (child->unique[i].cols[k] == f->cols[c])
                        sql_refuse(&x->c, -1, "ON UPDATE or SET of a foreign key that is a key");
    }
    vs_update(x->s, child, r, row, x->regs.cid);
    refer_note(x, child, old, row);
}

static void check_from(sql_exec *x, size_t from);

/* ---- tested at the commit -------------------------------------------------------------------- */

bool refer_is_late(const sql_exec *x, const char *name, bool deferrable, bool deferred)
{
    bool late = deferred;
    for (size_t i = 0; deferrable && i < x->modes.n; i++) {
        const char *said = x->modes.at[i].name;
        if (!said || (name && !strcmp(said, name))) late = x->modes.at[i].deferred;
    }
    return deferrable && late && !x->validating;
}

static bool is_late(const sql_exec *x, const foreign_key *f)
{
    return refer_is_late(x, f->name, f->deferrable, f->deferred);
}

/* The columns `of` of the row hold the key, or held it. */
static void put_off(sql_exec *x, table *child, table *parent, const foreign_key *f,
                    const value *row, const uint32_t *of, bool gone)
{
    assert(f->n && child);
    value *key = arena_array(&x->held, value, f->n + 1);
    if (any_null(row, of, f->n)) return;
    for (uint32_t i = 0; i < f->n; i++) {
        type_id t = child->cols[f->cols[i]].t.id;
        key[i] = row[of[i]];
        if (key[i].open) sql_refuse(&x->c, -1, "a foreign key that was not observed");
        if (t == T_NUMERIC) sql_refuse(&x->c, -1, "a deferred foreign key of numerics");
        if (type_is_bytes(t)) key[i].s = arena_text(&x->held, key[i].s, key[i].n);
    }
    vec_push(x->s->mem, &x->late,
             ((late_key){.child = child, .parent = parent, .f = f, .key = key, .gone = gone}));
}

static void test_late(sql_exec *x, const late_key *k)
{
    if (k->u) {
        late_unique_test(x, k);
        return;
    }
    uint32_t columns = k->child->n_cols;
    const foreign_key *f = k->f;
    assert(f->deferrable && f->n && (k->parent != NULL) == k->gone);
    value *row = arena_array(&x->work, value, columns + 1);
    for (uint32_t i = 0; i < columns; i++) row[i] = value_null();
    for (uint32_t i = 0; i < f->n; i++) row[f->cols[i]] = k->key[i];
    row_list rows = rows_with(x, k->child, f->cols, row, f->cols, f->n);
    bool any = false;
    for (size_t i = 0; i < rows.n && !any; i++) {
        const row_version *v = exec_now(x, k->child, rows.at[i]);
        any = v && !v->dead && (k->gone || v->commit == PENDING) &&
              same_key(k->child, v->cols, f->cols, row, f->cols, f->n);
    }
    if (!any) return;
    if (!k->gone) {
        check_parent(x, k->child, f, row);
        return;
    }
    value *old = arena_array(&x->work, value, k->parent->n_cols + 1);
    for (uint32_t i = 0; i < k->parent->n_cols; i++) old[i] = value_null();
    for (uint32_t i = 0; i < f->n; i++) old[f->refs[i]] = k->key[i];
    if (!key_stays(x, k->parent, f, old))
        sql_raise(&x->c, "23503", "row is still referenced from table \"%s\"", k->child->name);
}

void refer_late(sql_exec *x)
{
    for (size_t i = 0; i < x->late.n; i++) {
        guard_tick(x->c.guard);
        test_late(x, &x->late.at[i]);
    }
    x->late.n = 0;
}

/* Which of two constraints fails first is not looked into. */
static void refuse_both_kinds(sql_exec *x)
{
    size_t uniques = 0;
    for (size_t i = 0; i < x->late.n; i++) uniques += x->late.at[i].u != NULL;
    if (uniques && uniques < x->late.n)
        sql_refuse(&x->c, -1, "SET CONSTRAINTS with keys of both kinds to be tested");
}

void refer_modes(sql_exec *x, const plan *p)
{
    for (uint32_t i = 0; i < p->n_names; i++) {
        bool known = false;
        for (size_t t = 0; t < x->s->tables.n; t++)
            for (uint32_t k = 0; k < x->s->tables.at[t]->n_foreign; k++) {
                const foreign_key *f = &x->s->tables.at[t]->foreign[k];
                known |= f->deferrable && f->name && !strcmp(f->name, p->names[i]);
            }
        for (size_t t = 0; t < x->s->tables.n; t++)
            for (uint32_t k = 0; k < x->s->tables.at[t]->n_unique; k++) {
                const unique_key *u = &x->s->tables.at[t]->unique[k];
                known |= u->deferrable && u->name && !strcmp(u->name, p->names[i]);
            }
        if (!known)
            sql_refuse(&x->c, -1,
                       "SET CONSTRAINTS of a name that is no deferrable constraint, \"%s\"",
                       p->names[i]);
        vec_push(x->s->mem, &x->modes, ((constraint_mode){p->names[i], p->cascade}));
    }
    if (!p->n_names) vec_push(x->s->mem, &x->modes, ((constraint_mode){NULL, p->cascade}));
    size_t all = x->late.n, kept = 0; /* those that are not deferred any more are tested now */
    refuse_both_kinds(x);
    x->late.n = 0;
    for (size_t i = 0; i < all; i++) {
        late_key k = x->late.at[i];
        assert(k.child && (k.key || k.u));
        if (k.u ? refer_is_late(x, k.u->name, true, k.u->deferred) : is_late(x, k.f))
            x->late.at[kept++] = k;
        else
            test_late(x, &k);
    }
    assert(kept <= all && !x->late.n);
    x->late.n = kept;
}

/* ---- tested at the end of the statement ------------------------------------------------------ */

/* SET DEFAULT leaves the key as it is where it is the default: then the parent must stay. */
static void still_referred(sql_exec *x, table *child, table *parent, const foreign_key *f,
                           const value *key)
{
    row_list rows = rows_with(x, child, f->cols, key, f->refs, f->n);
    for (size_t r = 0; r < rows.n; r++) {
        const row_version *v = exec_now(x, child, rows.at[r]);
        if (v && !v->dead && same_key(child, v->cols, f->cols, key, f->refs, f->n) &&
            !key_stays(x, parent, f, key))
            sql_raise(&x->c, "23503", "row is still referenced from table \"%s\"", child->name);
    }
}

static void check_children(sql_exec *x, const refer_event *e, bool open)
{
    table *t = e->t;
    assert(e->before);
    for (size_t i = 0; i < x->s->tables.n; i++) {
        table *child = x->s->tables.at[i];
        for (uint32_t k = 0; k < child->n_foreign; k++) {
            const foreign_key *f = &child->foreign[k];
            if (!refers_to(f, t) || child != vs_find(x->s, child->name, x->latest)) continue;
            if (any_null(e->before, f->refs, f->n)) continue;
            if (e->after && same_key(t, e->before, f->refs, e->after, f->refs, f->n)) continue;
            refer_action action = e->after ? f->on_update : f->on_delete;
            if (action == REFER_CHECK && is_late(x, f)) {
                put_off(x, child, t, f, e->before, f->refs, true);
                continue;
            }
            if (action == REFER_CHECK && key_stays(x, t, f, e->before)) continue;
            size_t before = x->refers.n;
            row_list rows = rows_with(x, child, f->cols, e->before, f->refs, f->n);
            for (size_t r = 0; r < rows.n; r++) {
                guard_tick(x->c.guard);
                const row_version *v = exec_now(x, child, rows.at[r]);
                if (v && !v->dead && same_key(child, v->cols, f->cols, e->before, f->refs, f->n))
                    follow(x, t, child, f, rows.at[r], e->after, open);
            }
            check_from(x, before); /* what follows from that, before the next key */
            if (action == REFER_DEFAULT) still_referred(x, child, t, f, e->before);
        }
    }
}

/* The order of the rows is the planner's: if some keys forbid and others follow, it may decide. */
static void check_from(sql_exec *x, size_t from)
{
    size_t to = x->refers.n, changed = 0;
    assert(from <= to);
    bool check = false, follows = false;
    if (++x->regs.depth > 400)
        sql_refuse(&x->c, -1, "foreign keys that follow each other this far");
    for (size_t i = from; i < to; i++) changed += x->refers.at[i].before != NULL;
    if (changed > 1) kinds(x, x->refers.at[from].t, !x->refers.at[from].after, 0, &check, &follows);
    for (size_t i = from; i < to; i++) {
        refer_event e = x->refers.at[i];
        for (uint32_t k = 0; e.after && k < e.t->n_foreign; k++) {
            const foreign_key *f = &e.t->foreign[k];
            if (e.before && same_key(e.t, e.before, f->cols, e.after, f->cols, f->n)) continue;
            if (is_late(x, f))
                put_off(x, e.t, NULL, f, e.after, f->cols, false);
            else
                check_parent(x, e.t, f, e.after);
        }
        if (e.before) check_children(x, &e, check && follows);
    }
    x->refers.n = from;
    assert(x->regs.depth > 0);
    x->regs.depth--;
}

void refer_check(sql_exec *x)
{
    assert(x->regs.refers_from <= x->refers.n);
    check_from(x, x->regs.refers_from);
}
