/*
 * symbolic_modify.c - INSERT, UPDATE, DELETE over guarded rows, and a whole statement.
 *
 * The rules are those of sql/modify.c: constraints look at the newest versions, a row to be written
 * is judged by the level's rule, errors make the statement one that the client did not see.
 */
#include "audit/symbolic_exec.h"

#include <assert.h>

static fm when_null(sx *x, gval v)
{
    return gval_null(&x->p, v);
}

static void check_row(sx *x, const table *t, const gval *row, fm when)
{
    fm_pool *p = &x->p;
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (t->cols[i].not_null) vec_push(p->m, &x->bad, fm_and2(p, when, when_null(x, row[i])));
    sframe f = {&row, NULL, NULL};
    for (uint32_t i = 0; i < t->n_checks; i++) {
        gval v = sx_eval(x, t->checks[i], &f, when);
        fm ok = fm_or2(p, gval_true(p, v), when_null(x, v));
        vec_push(p->m, &x->bad, fm_and2(p, when, fm_not(ok)));
    }
}

static fm same_value(sx *x, type t, gval a, gval b, fm path)
{
    assert((a.n || a.number) && (b.n || b.number));
    expr l = {.kind = E_CONST, .t = t}, *args[2] = {&l, &l};
    expr e = {
        .kind = E_COMPARE, .t = type_plain(T_BOOL), .op = OP_EQ, .sub = t.id, .n = 2, .arg = args};
    return gval_true(&x->p, sx_strict(x, &e, (gval[]){a, b}, path));
}

static fm same_key(sx *x, const table *t, const unique_key *u, const gval *a, const gval *b,
                   fm path)
{
    for (uint32_t i = 0; i < u->n && path != FM_FALSE; i++) {
        uint32_t c = u->cols[i];
        path = fm_and2(&x->p, path, same_value(x, t->cols[c].t, a[c], b[c], path));
    }
    return path;
}

/* When another row holds the key now. */
static fm held(sx *x, sym_table *t, const unique_key *u, const gval *row, uint32_t self, fm path)
{
    assert(u->n && (self == UINT32_MAX || self < t->rows.n));
    row_list rows = {0};
    uint32_t c = u->cols[0];
    for (uint32_t i = 0; i < u->n; i++)
        if (gval_plain(row[u->cols[i]])) c = u->cols[i];
    if (gval_plain(row[c])) {
        if (row[c].at[0].v.null) return FM_FALSE;
        sx_lookup(x, t, c, value_hash(t->t->cols[c].t.id, row[c].at[0].v), &rows);
    } else {
        for (uint32_t r = 0; r < t->rows.n; r++) arena_push(&x->work, &rows, r);
    }
    fm any = FM_FALSE;
    for (size_t i = 0; i < rows.n; i++) {
        if (rows.at[i] == self) continue;
        sym_content now = sx_latest(x, t, rows.at[i], true);
        fm here = fm_and2(&x->p, path, now.alive);
        if (here == FM_FALSE) continue;
        any = fm_or2(&x->p, any, same_key(x, t->t, u, row, now.cols, here));
    }
    return any;
}

static void returning(sx *x, const plan *p, const gval *row, fm when)
{
    gval *out = arena_array(&x->work, gval, p->n_returning + 1);
    const gval *slots[2] = {row, NULL};
    sframe f = {slots, NULL, NULL};
    for (uint32_t i = 0; i < p->n_returning; i++) out[i] = sx_eval(x, p->returning[i].e, &f, when);
    vec_push(x->p.m, &x->out, ((sym_out){when, out}));
}

/* ---- INSERT ---------------------------------------------------------------------------------- */

static void insert_row(sx *x, const plan *p, const gval *row, fm when)
{
    assert(p->kind == S_INSERT && when != FM_FALSE);
    sym_table *t = sx_table(x, p->target);
    check_row(x, p->target, row, when);
    for (uint32_t i = 0; i < p->target->n_unique; i++)
        vec_push(x->p.m, &x->bad, held(x, t, &p->target->unique[i], row, UINT32_MAX, when));
    sx_insert(x, t, when, row);
    returning(x, p, row, when);
}

static gval *blank_row(sx *x, const plan *p)
{
    const table *t = p->target;
    sframe none = {NULL, NULL, NULL};
    gval *row = arena_array(&x->p.keep, gval, t->n_cols + 1);
    for (uint32_t i = 0; i < t->n_cols; i++) {
        uint32_t k = 0;
        while (k < p->n_columns && p->columns[k] != i) k++;
        bool left_out = k == p->n_columns && t->cols[i].fallback;
        row[i] = left_out ? sx_eval(x, t->cols[i].fallback, &none, FM_TRUE)
                          : gval_of(&x->p, t->cols[i].t.id, value_null());
    }
    return row;
}

static void insert(sx *x, const plan *p)
{
    const table *t = p->target;
    sframe none = {NULL, NULL, NULL};
    if (p->conflict != ON_CONFLICT_RAISE) sx_refuse(x, "ON CONFLICT");
    if (p->q) {
        sx_query(x, p->q, NULL, FM_TRUE);
        size_t n = x->out.n;
        sym_out *from = arena_array(&x->work, sym_out, n + 1);
        if (n) memcpy(from, x->out.at, n * sizeof *from);
        x->out.n = 0;
        for (size_t i = 0; i < n; i++) {
            gval *row = blank_row(x, p);
            for (uint32_t k = 0; k < p->n_columns; k++) {
                expr l = {.kind = E_CONST, .t = p->q->out[k].e->t}, *args[1] = {&l};
                expr e = {.kind = E_CAST,
                          .t = t->cols[p->columns[k]].t,
                          .n = 1,
                          .arg = args,
                          .cast = CAST_ASSIGN};
                row[p->columns[k]] = sx_strict(x, &e, &from[i].cols[k], from[i].when);
            }
            insert_row(x, p, row, from[i].when);
        }
    }
    for (uint32_t i = 0; i < p->n_rows; i++) {
        gval *row = blank_row(x, p);
        for (uint32_t k = 0; k < p->n_columns; k++) {
            const expr *e = p->rows[(size_t)i * p->n_columns + k];
            if (!e) e = t->cols[p->columns[k]].fallback;
            row[p->columns[k]] = e ? sx_eval(x, e, &none, FM_TRUE)
                                   : gval_of(&x->p, t->cols[p->columns[k]].t.id, value_null());
        }
        insert_row(x, p, row, FM_TRUE);
    }
}

/* ---- UPDATE, DELETE -------------------------------------------------------------------------- */

/* The rows to be written, as they are when their turn comes. */
static void find_targets(sx *x, const plan *p, sym_tuples *out)
{
    fm_pool *pool = &x->p;
    sym_table *t = sx_table(x, p->target);
    sx_join(x, p->scan, 1, NULL, FM_TRUE, out);
    for (size_t i = 0; i < out->n; i++) {
        sym_tuple *at = &out->at[i];
        sframe f = {at->slots, NULL, NULL};
        if (p->where) at->when = fm_and2(pool, at->when, sx_true(x, p->where, &f, at->when));
        if (at->when == FM_FALSE || x->e->run.rule == WRITE_FREE) continue;
        if (x->e->run.rule == WRITE_CONFLICT) {
            fm theirs = fm_not(sx_own(x, &t->rows.at[at->row]));
            fm conflict[3] = {at->when, theirs, sx_overtaken(x, t, at->row)};
            vec_push(pool->m, &x->bad, fm_and(pool, conflict, 3));
            /* without a conflict what it read is the newest, which is often plain */
            const gval **newest = arena_array(&x->work, const gval *, 1);
            newest[0] = sx_latest(x, t, at->row, false).cols;
            if (newest[0]) at->slots = newest;
            continue;
        }
        sym_content now = sx_latest(x, t, at->row, false);
        at->when = fm_and2(pool, at->when, now.alive);
        const gval **slot = arena_array(&x->work, const gval *, 1);
        slot[0] = now.cols;
        at->slots = slot;
        sframe again = {slot, NULL, NULL};
        if (p->where && at->when != FM_FALSE)
            at->when = fm_and2(pool, at->when, sx_true(x, p->where, &again, at->when));
    }
}

static bool sets(const plan *p, const unique_key *u)
{
    for (uint32_t i = 0; i < p->n_set; i++)
        for (uint32_t k = 0; k < u->n; k++)
            if (p->set[i].column == u->cols[k]) return true;
    return false;
}

static const gval *set_row(sx *x, const plan *p, const gval *old, sframe *f, fm when)
{
    const table *t = p->target;
    gval *row = arena_array(&x->p.keep, gval, t->n_cols + 1);
    memcpy(row, old, t->n_cols * sizeof *row);
    for (uint32_t i = 0; i < p->n_set; i++) {
        const set_clause *s = &p->set[i];
        const expr *e = s->e ? s->e : t->cols[s->column].fallback;
        row[s->column] =
            e ? sx_eval(x, e, f, when) : gval_of(&x->p, t->cols[s->column].t.id, value_null());
    }
    return row;
}

static void update(sx *x, const plan *p)
{
    sym_table *t = sx_table(x, p->target);
    sym_tuples all = {0};
    find_targets(x, p, &all);
    size_t live = 0;
    for (size_t i = 0; i < all.n; i++) live += all.at[i].when != FM_FALSE;
    for (size_t i = 0; i < all.n; i++) {
        fm when = all.at[i].when;
        if (when == FM_FALSE) continue;
        const gval *old = all.at[i].slots[0];
        sframe f = {all.at[i].slots, NULL, NULL};
        const gval *row = set_row(x, p, old, &f, when);
        check_row(x, p->target, row, when);
        for (uint32_t k = 0; k < p->target->n_unique; k++) {
            const unique_key *u = &p->target->unique[k];
            if (!sets(p, u)) continue;
            fm moved = fm_and2(&x->p, when, fm_not(same_key(x, p->target, u, row, old, when)));
            if (moved == FM_FALSE) continue;
            if (live > 1) sx_refuse(x, "an UPDATE of unique keys of several rows");
            vec_push(x->p.m, &x->bad, held(x, t, u, row, all.at[i].row, moved));
        }
        sx_write(x, t, all.at[i].row, when, row);
        returning(x, p, row, when);
    }
}

static void delete_rows(sx *x, const plan *p)
{
    sym_table *t = sx_table(x, p->target);
    sym_tuples all = {0};
    find_targets(x, p, &all);
    for (size_t i = 0; i < all.n; i++) {
        fm when = all.at[i].when;
        if (when == FM_FALSE) continue;
        sx_write(x, t, all.at[i].row, when, NULL);
        returning(x, p, all.at[i].slots[0], when);
    }
}

/* ---- a statement ----------------------------------------------------------------------------- */

/* What a statement that has no symbolic execution is called; NULL: it has one. */
static const char *not_symbolic(stmt_kind kind)
{
    switch (kind) {
    case S_SELECT:
    case S_INSERT:
    case S_UPDATE:
    case S_DELETE:
    case S_UNSEEN:
    case S_NOTHING: return NULL;
    case S_MERGE: return "MERGE";
    case S_WRITING_SELECT: return "WITH of a statement that writes";
    case S_CREATE:
    case S_DROP:
    case S_ALTER:
    case S_REFRESH:
    case S_TRUNCATE: return "CREATE, ALTER, DROP or TRUNCATE TABLE";
    case S_VIEW:
    case S_DROP_VIEW: return "CREATE or DROP VIEW";
    case S_CONSTRAINTS: return "SET CONSTRAINTS";
    case S_SAVEPOINT:
    case S_RELEASE:
    case S_ROLLBACK_TO: return "a savepoint";
    case S_ROUTINE:
    case S_DROP_ROUTINE:
    case S_CALL:
    case S_DO: return "a function or procedure of the log's own";
    case S_PREPARE:
    case S_EXECUTE:
    case S_DEALLOCATE: return "a prepared statement";
    case S_DECLARE:
    case S_FETCH:
    case S_CLOSE: return "a cursor";
    }
    return "this kind of statement";
}

static void refuse_target(sx *x, const plan *p)
{
    if (p->target->unknown) sx_refuse(x, "a table whose initial contents are unknown");
    if (x->foreign) sx_refuse(x, "foreign keys");
    for (uint32_t i = 0; i < p->target->n_cols; i++)
        if (p->target->cols[i].computed) sx_refuse(x, "generated columns");
    if (p->target->n_triggers) sx_refuse(x, "triggers");
    for (uint32_t i = 0; i < p->target->n_unique; i++)
        if (p->target->unique[i].deferrable || p->target->unique[i].nulls_equal)
            sx_refuse(x, "unique keys that are deferrable, or whose nulls are equal");
    if (p->view_check) sx_refuse(x, "WITH CHECK OPTION");
    if (p->target->parts) sx_refuse(x, "partitions");
    if (p->slots > 1) sx_refuse(x, "UPDATE FROM or DELETE USING");
}

fm sx_statement(sx *x, const plan *p, const log_stmt *s, uint32_t cid)
{
    assert(cid && x->txn && p->catalog == x->e->store.catalog);
    x->plan = p;
    x->cid = cid;
    x->bad.n = x->murky.n = x->out.n = 0;
    arena_reset(&x->work);
    if (s->has_error) sx_refuse(x, "a statement that failed");
    if (p->fails) sx_refuse(x, "a constant expression that fails");
    x->e->x.planner_chose = p->planner_chooses;
    sframe none = {NULL, NULL, NULL};
    for (uint32_t i = 0; i < p->n_early; i++) sx_eval(x, p->early[i], &none, FM_TRUE);
    for (size_t i = 0; i < x->bad.n; i++) vec_push(x->p.m, &x->murky, x->bad.at[i]);
    x->bad.n = 0;
    uint32_t n = 0;
    const out_column *cols = NULL;
    const query *q = NULL;
    if (p->target) refuse_target(x, p);
    if (p->n_writes) sx_refuse(x, not_symbolic(S_WRITING_SELECT));
    if (p->kind == S_NOTHING || p->kind == S_UNSEEN) return FM_TRUE;
    const char *foreign = not_symbolic(p->kind);
    if (foreign) sx_refuse(x, foreign);
    if (p->kind == S_SELECT) {
        q = p->q;
        cols = q->out;
        n = q->n_out;
        sx_query(x, q, NULL, FM_TRUE);
    } else if (p->kind == S_INSERT) {
        insert(x, p);
    } else if (p->kind == S_UPDATE) {
        update(x, p);
    } else {
        assert(p->kind == S_DELETE);
        delete_rows(x, p);
    }
    if (!q && p->n_returning) {
        cols = p->returning;
        n = p->n_returning;
    }
    type_id *types = arena_array(&x->work, type_id, n + 1);
    for (uint32_t i = 0; i < n; i++) types[i] = cols[i].e->t.id;
    fm good = FM_TRUE;
    if (s->has_rows && !n && !q) { /* rows of a statement that gives none */
        if (s->n_rows) return FM_FALSE;
        log_stmt counted = *s;
        counted.has_rows = false;
        good = sx_match(x, NULL, types, 0, &counted);
    } else {
        good = sx_match(x, q, types, n, s);
    }
    if (x->no_errors) return good;
    fm no = fm_or(&x->p, x->bad.at, x->bad.n);
    return fm_and2(&x->p, good, fm_not(no));
}
