/*
 * plan_check.c - the invariants of plans, written once and asserted for every plan that is bound.
 *
 * A `level` stands for a frame of eval.c: the rows that an expression may read, and those of the
 * queries around it.  Subqueries of an expression have its level above them; relations of FROM have
 * the level above their query, since no relation reads another one's rows.
 */
#include "sql/plan_check.h"

#include <assert.h>

#ifdef NDEBUG

void plan_check(const plan *p)
{
    (void)p;
}

#else

#include <string.h>

#include "sql/table_store.h"

#define MANY UINT32_MAX

typedef struct level {
    const struct level *up;
    uint32_t slots, aggs;
} level;

/* How many arguments an expression has; E_CALL and E_ROUTINE are asked by name. */
static const struct {
    uint32_t least, most;
} arguments[] = {
    [E_CONST] = {0, 0},      [E_PARAM] = {0, 0},      [E_COLUMN] = {0, 0},
    [E_AND] = {1, MANY},     [E_OR] = {1, MANY},      [E_NOT] = {1, 1},
    [E_COMPARE] = {2, 2},    [E_ARITH] = {2, 2},      [E_NEGATE] = {1, 1},
    [E_CONCAT] = {2, 2},     [E_IS_NULL] = {1, 1},    [E_IS_BOOL] = {1, 1},
    [E_DISTINCT] = {2, 2},   [E_CASE] = {3, MANY},    [E_COALESCE] = {1, MANY},
    [E_NULLIF] = {3, 3},     [E_EXTREME] = {1, MANY}, [E_CAST] = {1, 1},
    [E_CALL] = {1, 3},       [E_LIKE] = {2, 2},       [E_EXISTS] = {0, 0},
    [E_TEXTS] = {1, MANY},   [E_ANY] = {2, 2},        [E_IN_QUERY] = {1, MANY},
    [E_SCALAR] = {0, 0},     [E_AGGREGATE] = {0, 0},  [E_VAR] = {0, 0},
    [E_ROUTINE] = {0, MANY}, [E_OPEN] = {0, 0},       [E_BUILTIN] = {0, MANY},
};

static const struct {
    uint32_t least, most;
} call_arguments[] = {
#define CALL(id, name, low, high) {low, high},
    SQL_CALLS
#undef CALL
};

static void check_query(const plan *p, const query *q, const level *up);

static void check_call(const expr *e)
{
    assert(e->op >= 0 && (size_t)e->op < sizeof call_arguments / sizeof call_arguments[0]);
    assert(e->n >= call_arguments[e->op].least && e->n <= call_arguments[e->op].most);
}

static void check_column(const expr *e, const level *l)
{
    for (uint32_t i = 0; i < e->up; i++) {
        assert(l && "a column of a query around this one");
        l = l->up;
    }
    assert(l && e->slot < l->slots);
}

static void check_expr(const plan *p, const expr *e, const level *l)
{
    assert(e && (size_t)e->kind < sizeof arguments / sizeof arguments[0]);
    assert(e->n >= arguments[e->kind].least && e->n <= arguments[e->kind].most);
    assert(!e->n || e->arg);
    for (uint32_t i = 0; i < e->n; i++) check_expr(p, e->arg[i], l);
    switch (e->kind) {
    case E_COLUMN: check_column(e, l); break;
    case E_PARAM: assert(e->index < p->n_params); break;
    case E_AGGREGATE: assert(l && e->index < l->aggs); break;
    case E_AND:
    case E_OR:
    case E_NOT: assert(e->t.id == T_BOOL); break;
    case E_COMPARE: assert(e->op >= OP_EQ && e->op <= OP_GE && e->t.id == T_BOOL); break;
    case E_ARITH: assert(e->op && strchr("+-*/%", e->op)); break;
    case E_CASE: assert(e->n % 2 == 1); break;
    case E_EXTREME: assert(e->op == 1 || e->op == -1); break;
    case E_CALL: check_call(e); break;
    case E_BUILTIN: assert(e->builtin); break;
    case E_ROUTINE: assert(e->routine && e->n == e->routine->n_params); break;
    case E_IN_QUERY: assert(e->q && e->q->n_out == e->n); break;
    case E_SCALAR: assert(e->q && e->index < e->q->n_out); break;
    case E_EXISTS: assert(e->q); break;
    default: assert(!e->q); break;
    }
    if (e->q) check_query(p, e->q, l);
}

static void check_join(const plan *p, const join *j, const level *l)
{
    assert(j->kind != J_RIGHT && "bound as J_LEFT");
    if (j->on) check_expr(p, j->on, l);
    if (j->kind != J_REL) {
        assert(j->left && j->right && !j->table && !j->sub);
        check_join(p, j->left, l);
        check_join(p, j->right, l);
        return;
    }
    assert(j->slot < l->slots);
    assert(!j->table != !j->sub && "one of the two");
    assert(!j->n_lookups || (j->table && j->lookups));
    for (uint32_t i = 0; i < j->n_lookups; i++) {
        const lookup *look = &j->lookups[i];
        assert(look->n && look->column < j->table->n_cols);
        for (uint32_t k = 0; k < look->n; k++) check_expr(p, look->keys[k], l);
    }
    for (uint32_t i = 0; i < j->n_filters; i++) check_expr(p, j->filters[i], l);
    if (j->sub) check_query(p, j->sub, j->lateral ? l : l->up);
}

static void check_aggregates(const plan *p, const aggregate *a, uint32_t n, bool window,
                             const level *l)
{
    for (uint32_t i = 0; i < n; i++) {
        assert(window || a[i].kind < AGG_ROW_NUMBER);
        assert(window || !a[i].n_keys);
        assert(!a[i].second || a[i].kind == AGG_LAG || a[i].kind == AGG_LEAD ||
               a[i].kind == AGG_NTH_VALUE);
        assert(a[i].arg || a[i].kind == AGG_COUNT || a[i].kind >= AGG_ROW_NUMBER);
        assert(a[i].kind != AGG_STRING_AGG || a[i].between);
        if (a[i].arg) check_expr(p, a[i].arg, l);
        if (a[i].filter) check_expr(p, a[i].filter, l);
        for (uint32_t k = 0; k < a[i].n_keys; k++) check_expr(p, a[i].keys[k], l);
        for (uint32_t k = 0; k < a[i].n_order; k++) check_expr(p, a[i].order[k].e, l);
    }
}

static void check_output(const plan *p, const query *q, const level *l)
{
    for (uint32_t i = 0; i < q->n_out; i++) {
        assert(q->out[i].name && q->out[i].e);
        bool elsewhere = q->set || q->n_rows || q->call || q->series[0] || q->writes;
        if (!elsewhere) check_expr(p, q->out[i].e, l);
    }
    for (uint32_t i = 0; i < q->n_sort; i++) {
        assert(q->sort[i].e || q->sort[i].column < q->n_out);
        assert(!q->sort[i].e || (!q->set && !q->n_rows));
        if (q->sort[i].e) check_expr(p, q->sort[i].e, l);
    }
}

/* Which members go together. */
static void check_members(const query *q)
{
    assert(q->shared != q && (!q->shared || !q->shared->shared));
    assert(q->grouped || (!q->n_aggs && !q->n_keys && !q->having));
    assert(!q->n_sets || !q->n_windows);
    assert(!q->spread || (!q->grouped && !q->n_windows && !q->locking && q->spread->n_out == 1));
    assert(!q->locking || (q->from && !q->grouped && !q->distinct && !q->n_windows));
    for (uint32_t i = 0; i < q->n_locks; i++)
        assert(q->locking && q->locks[i].t && q->locks[i].slot < q->slots);
    assert(!q->set || (q->left && q->right && !q->from && !q->n_rows));
    assert(!q->set || (q->left->n_out == q->n_out && q->right->n_out == q->n_out));
    assert(!q->n_rows || (q->rows && !q->from));
    assert(!q->call || (q->call->kind == E_ROUTINE && q->call->routine->n_in <= q->call->n));
}

static void check_query(const plan *p, const query *q, const level *up)
{
    uint32_t more = q->n_sets ? q->n_keys + q->n_groupings : 0;
    level rows = {up, q->slots, 0}, groups = {up, q->slots, q->n_aggs + more},
          whole = {up, q->slots, q->n_aggs + more + q->n_windows}, none = {up, 0, 0};
    check_members(q);
    if (q->set) check_query(p, q->left, up), check_query(p, q->right, up);
    for (size_t i = 0; i < (size_t)q->n_rows * q->n_out; i++) check_expr(p, q->rows[i], &none);
    if (q->call) check_expr(p, q->call, &none);
    for (int i = 0; i < 3; i++)
        if (q->series[i]) check_expr(p, q->series[i], &none);
    for (uint32_t i = 0; i < q->n_side; i++) check_expr(p, q->side[i], &none);
    if (q->limit) check_expr(p, q->limit, &none);
    if (q->offset) check_expr(p, q->offset, &none);
    if (q->from) check_join(p, q->from, &rows);
    if (q->where) check_expr(p, q->where, &rows);
    for (uint32_t i = 0; i < q->n_keys; i++) check_expr(p, q->keys[i], &rows);
    check_aggregates(p, q->aggs, q->n_aggs, false, &rows);
    check_aggregates(p, q->windows, q->n_windows, true, q->grouped ? &groups : &rows);
    if (q->spread) check_query(p, q->spread, &rows);
    if (q->having) check_expr(p, q->having, &groups);
    for (uint32_t i = 0; i < q->n_on; i++) check_expr(p, q->on[i], &whole);
    check_output(p, q, &whole);
}

static void check_write(const plan *p)
{
    const table *t = p->target;
    bool inserts = p->kind == S_INSERT;
    level rows = {NULL, inserts ? 2 : p->slots, 0}, none = {NULL, 0, 0};
    assert(t && t->n_unique <= UINT32_MAX / 2);
    assert(p->arbiter < (int)t->n_unique);
    assert(!inserts || !(p->q && p->n_rows));
    assert(inserts || (p->scan && p->slots && !p->q && p->conflict == ON_CONFLICT_RAISE));
    assert(p->kind != S_DELETE || !p->n_set);
    assert(!inserts || !p->n_set || p->conflict == ON_CONFLICT_UPDATE);
    for (uint32_t i = 0; i < p->n_columns; i++) assert(p->columns[i] < t->n_cols);
    for (size_t i = 0; i < (size_t)p->n_rows * p->n_columns; i++)
        if (p->rows[i]) check_expr(p, p->rows[i], &none);
    for (uint32_t i = 0; i < p->n_set; i++) {
        assert(p->set[i].column < t->n_cols);
        if (p->set[i].e) check_expr(p, p->set[i].e, &rows);
    }
    if (p->scan) check_join(p, p->scan, &rows);
    if (p->where) check_expr(p, p->where, &rows);
    if (p->conflict_where) check_expr(p, p->conflict_where, &rows);
    for (uint32_t i = 0; i < p->n_returning; i++) check_expr(p, p->returning[i].e, &rows);
}

static void check_merge(const plan *p)
{
    level rows = {NULL, p->slots, 0};
    assert(p->target && p->scan && p->scan->kind == J_LEFT && p->scan->right->table == p->target);
    check_join(p, p->scan, &rows);
    for (uint32_t i = 0; i < p->n_actions; i++) {
        const plan *a = p->actions[i];
        assert(a->target == p->target && !a->scan && !a->n_returning);
        assert(a->matched ? a->kind != S_INSERT : a->kind == S_INSERT || a->kind == S_NOTHING);
        if (a->where) check_expr(p, a->where, &rows);
        for (uint32_t k = 0; k < a->n_set; k++)
            if (a->set[k].e) check_expr(p, a->set[k].e, &rows);
        for (uint32_t k = 0; k < a->n_rows * a->n_columns; k++)
            if (a->rows[k]) check_expr(p, a->rows[k], &rows);
    }
}

static void check_kind(const plan *p)
{
    switch (p->kind) {
    case S_WRITING_SELECT:
    case S_SELECT: assert(p->q && !p->n_writes == (p->kind == S_SELECT)); break;
    case S_INSERT:
    case S_UPDATE:
    case S_DELETE: check_write(p); break;
    case S_MERGE: check_merge(p); break;
    case S_CREATE: assert(p->created && p->created->name && !p->created->rows.n); break;
    case S_REFRESH:
    case S_ALTER: assert(p->altered && !p->created == (p->kind == S_REFRESH)); break;
    case S_ROUTINE: assert(p->routine && p->routine->name && !p->routine->view); break;
    case S_VIEW: assert(p->routine && p->routine->view); break;
    case S_CALL: assert(p->call && p->call->kind == E_ROUTINE && p->call->routine); break;
    case S_DO: assert(p->body); break;
    case S_DROP_ROUTINE: assert(!p->n_names || p->dropped); break;
    case S_UNSEEN:
    case S_NOTHING: break;
    default: /* what is named: savepoints, cursors, ... */
        assert(p->names && p->names[0]);
        assert(p->q || p->kind != S_DECLARE);
        break;
    }
}

void plan_check(const plan *p)
{
    assert(!p->n_params || p->params);
    assert(!p->simple || p->kind == S_SELECT);
    assert(!p->fails || p->simple);
    check_kind(p);
    if (p->q) check_query(p, p->q, NULL);
}

#endif
