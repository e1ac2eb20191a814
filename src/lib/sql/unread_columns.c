/*
 * unread_columns.c - the columns of each table that a query does not read.
 *
 * Two versions of a row that differ in nothing else look the same to it.  Only queries are asked,
 * not what writes, and only the first 64 columns of a table.  The walk goes through the members of
 * a query as plan_check.c does: `level` is a query whose rows an expression may read.
 */
#include "sql/plan_check.h"

#include <assert.h>

#include "sql/table_store.h"

typedef struct level {
    const struct level *up;
    const query *q; /* NULL: no rows */
} level;

static void read_query(query *q, const level *up);

static join *join_of(join *j, uint32_t slot)
{
    if (!j) return NULL;
    if (j->kind == J_REL) return j->slot == slot ? j : NULL;
    join *found = join_of(j->left, slot);
    return found ? found : join_of(j->right, slot);
}

static void read_expr(const expr *e, const level *l)
{
    if (!e) return;
    assert(!e->n || e->arg);
    for (uint32_t i = 0; i < e->n; i++) read_expr(e->arg[i], l);
    if (e->q) read_query(e->q, l);
    if (e->kind != E_COLUMN) return;
    for (uint32_t i = 0; l && i < e->up; i++) l = l->up;
    join *j = l && l->q ? join_of(l->q->from, e->slot) : NULL;
    if (j && e->index < 64) j->unread &= ~(1ull << e->index);
}

/* Nothing is read yet but the keys: whether two rows of one key are there is asked of a scan. */
static void forget_reads(join *j)
{
    if (!j) return;
    j->unread = j->kind == J_REL && j->table ? UINT64_MAX : 0;
    assert(j->kind != J_REL || (!j->left && !j->right));
    for (uint32_t i = 0; j->unread && i < j->table->n_unique; i++)
        for (uint32_t k = 0; k < j->table->unique[i].n; k++) {
            uint32_t c = j->table->unique[i].cols[k];
            if (c < 64) j->unread &= ~(1ull << c);
        }
    forget_reads(j->left);
    forget_reads(j->right);
}

static void read_join(join *j, const level *l)
{
    if (!j) return;
    assert(l && l->q && (!j->n_lookups || j->table));
    read_expr(j->on, l);
    for (uint32_t i = 0; i < j->n_filters; i++) read_expr(j->filters[i], l);
    for (uint32_t i = 0; i < j->n_lookups; i++) {
        uint32_t column = j->lookups[i].column;
        if (column < 64) j->unread &= ~(1ull << column);
        for (uint32_t k = 0; k < j->lookups[i].n; k++) read_expr(j->lookups[i].keys[k], l);
    }
    if (j->sub) read_query(j->sub, j->lateral ? l : l->up);
    read_join(j->left, l);
    read_join(j->right, l);
}

static void read_aggregates(const aggregate *a, uint32_t n, const level *l)
{
    for (uint32_t i = 0; i < n; i++) {
        const expr *parts[] = {a[i].arg,   a[i].filter,      a[i].between,  a[i].second,
                               a[i].third, a[i].from.offset, a[i].to.offset};
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) read_expr(parts[k], l);
        for (uint32_t k = 0; k < a[i].n_keys; k++) read_expr(a[i].keys[k], l);
        for (uint32_t k = 0; k < a[i].n_order; k++) read_expr(a[i].order[k].e, l);
    }
}

static void read_members(query *q, const level *rows, const level *none)
{
    for (size_t i = 0; i < (size_t)q->n_rows * q->n_out; i++) read_expr(q->rows[i], none);
    for (uint32_t i = 0; i < q->n_side; i++) read_expr(q->side[i], none);
    for (int i = 0; i < 3; i++) read_expr(q->series[i], none);
    const expr *one[] = {q->call, q->limit, q->offset};
    for (int i = 0; i < 3; i++) read_expr(one[i], none);
    for (uint32_t i = 0; i < q->n_keys; i++) read_expr(q->keys[i], rows);
    for (uint32_t i = 0; i < q->n_on; i++) read_expr(q->on[i], rows);
    for (uint32_t i = 0; i < q->n_out; i++) read_expr(q->out[i].e, rows);
    for (uint32_t i = 0; i < q->n_sort; i++) read_expr(q->sort[i].e, rows);
    read_expr(q->where, rows);
    read_expr(q->having, rows);
    read_aggregates(q->aggs, q->n_aggs, rows);
    read_aggregates(q->windows, q->n_windows, rows);
}

static void read_query(query *q, const level *up)
{
    level rows = {up, q}, none = {up, NULL};
    assert(q && (!q->n_locks || q->locks));
    forget_reads(q->from);
    if (q->set) read_query(q->left, up), read_query(q->right, up);
    read_join(q->from, &rows);
    read_members(q, &rows, &none);
    if (q->spread) read_query(q->spread, &rows);
    for (uint32_t i = 0; i < q->n_locks; i++) { /* a row is locked as a whole */
        join *j = join_of(q->from, q->locks[i].slot);
        if (j) j->unread = 0;
    }
}

void plan_note_unread(plan *p)
{
    assert(p->kind != S_SELECT || p->q);
    if (p->kind == S_SELECT) read_query(p->q, NULL);
}
