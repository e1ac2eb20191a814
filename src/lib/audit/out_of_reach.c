/*
 * out_of_reach.c - bounds of sums and counts over all versions of the rows.
 *
 * Where each row may come from a state of its own, a sum over a few rows with a thousand versions
 * each has more values than can be tried.  But it lies between the sum of what each row gives at
 * least and the sum of what it gives at most: the row's argument in any version that the condition
 * takes, or nothing in a version that it leaves out, or where there is no row.  An answer outside
 * these bounds is given by no mixture of versions.  Only queries of one table with sum() of
 * integers and count() are asked, with conditions of that table's columns alone.
 */
#include "audit/out_of_reach.h"

#include <assert.h>

typedef struct bounds {
    int64_t low, high;
    bool overflow;
} bounds;

/* Nothing that a clock, a sequence, another table or a body gives. */
static bool is_settled(const expr *e)
{
    if (!e) return true;
    if (e->kind == E_OPEN || e->kind == E_ROUTINE || e->kind == E_VAR || e->q || e->clocked)
        return false;
    for (uint32_t i = 0; i < e->n; i++)
        if (!is_settled(e->arg[i])) return false;
    return true;
}

static bool is_plain_call(const query *q, uint32_t column)
{
    const expr *out = q->out[column].e;
    if (out->kind != E_AGGREGATE || out->op || out->index >= q->n_aggs) return false;
    const aggregate *a = &q->aggs[out->index];
    if (a->distinct || a->filter || a->n_order || a->n_keys || !is_settled(a->arg)) return false;
    if (a->kind == AGG_COUNT) return true;
    return a->kind == AGG_SUM && a->t.id == T_INT8 && a->arg && type_is_int(a->arg->t.id);
}

/* One table, one row, nothing that makes the answer more than its calls. */
static bool is_plain_query(const plan *p)
{
    const query *q = p->kind == S_SELECT && !p->nested ? p->q : NULL;
    if (!q || !q->from || q->from->kind != J_REL || !q->from->table || q->slots != 1) return false;
    if (!q->grouped || q->n_keys || q->n_sets || q->n_windows || q->spread || q->set) return false;
    if (q->having || q->limit || q->offset || q->distinct || q->locking) return false;
    if (!is_settled(q->where)) return false;
    const table *t = q->from->table;
    return !t->unknown && !t->truncated && !t->parts && t->dropped == NEVER && !t->created;
}

/* What a version gives to the call; false: nothing. */
static bool given_by(engine *e, const query *q, const aggregate *a, const row_version *v,
                     int64_t *is)
{
    assert(v->commit != PENDING);
    for (uint32_t c = 0; !v->dead && c < q->from->table->n_cols; c++)
        if (v->cols[c].open) sql_refuse(&e->x.c, -1, "a value that nobody has seen");
    const value *tuple[1] = {v->cols};
    frame f = {tuple, NULL, NULL};
    if (v->dead || (q->where && !eval_true(&e->x, q->where, &f))) return false;
    *is = 1;
    if (!a->arg) return true;
    value x = eval(&e->x, a->arg, &f);
    assert(!x.open);
    if (a->kind == AGG_SUM && !x.null) *is = x.i;
    return !x.null;
}

/* Adds what a row gives at least and at most. */
static void add_row(engine *e, const query *q, const aggregate *a, const stored_row *row,
                    uint32_t low, bounds *b)
{
    int64_t least = 0, most = 0, is;
    bool any = false, none = true; /* no row at `low`, until a version of that time is met */
    guard_tick(e->guard);
    if (!row->head) return;
    for (const row_version *v = row->head; v && none; v = v->older) {
        bool last = v->commit <= low; /* nothing older is read */
        if (last) none = false;
        if (!given_by(e, q, a, v, &is)) {
            least = any && least < 0 ? least : 0;
            most = any && most > 0 ? most : 0;
            any = true;
            continue;
        }
        if (!any || is < least) least = is;
        if (!any || is > most) most = is;
        any = true;
    }
    if (none && least > 0) least = 0;
    if (none && most < 0) most = 0;
    b->overflow |= __builtin_add_overflow(b->low, least, &b->low);
    b->overflow |= __builtin_add_overflow(b->high, most, &b->high);
}

static bool is_outside(engine *e, const query *q, uint32_t column, const cell *c, uint32_t low)
{
    const aggregate *a = &q->aggs[q->out[column].e->index];
    const table *t = q->from->table;
    bounds b = {0};
    if (c->kind == CELL_NULL) return false; /* the sum of no rows */
    value is = value_parse(&e->x.c, a->t, c->s, c->n);
    assert(a->t.id == T_INT8 && !is.null);
    for (uint32_t r = 0; r < t->rows.n && !b.overflow; r++)
        add_row(e, q, a, &t->rows.at[r], low, &b);
    return !b.overflow && (is.i < b.low || is.i > b.high);
}

bool answer_out_of_reach(engine *e, uint32_t txn, uint32_t stmt, uint32_t low)
{
    const log_txn *x = &e->log->txns.at[txn];
    const log_stmt *s = stmt < x->n_stmts ? &x->stmts[stmt] : NULL;
    guard *g = e->guard, outer;
    assert(!e->store.undo.n);
    if (!s || s->has_error || s->opaque || !s->has_rows || s->n_rows != 1) return false;
    if (!engine_only_reads(e, x) || e->plans.changes_schema) return false;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        g->code = code;
        if (code != SQL_RAISED && code != SQL_REFUSED) guard_fail_again(g);
        arena_reset(&e->x.work);
        return false;
    }
    const plan *p = engine_plan(e, s);
    bool outside = false;
    for (uint32_t i = 0; is_plain_query(p) && i < p->q->n_out && i < s->n_cols && !outside; i++)
        outside = is_plain_call(p->q, i) && is_outside(e, p->q, i, &s->cells[i], low);
    guard_restore(g, &outer);
    arena_reset(&e->x.work);
    return outside;
}
