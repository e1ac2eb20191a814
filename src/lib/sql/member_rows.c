/*
 * member_rows.c - is a value among the rows of a subquery?
 *
 * A subquery that reads no row of the outer query has the same rows for each of them: PostgreSQL
 * executes it once in a statement, and so do we.  Its only column is then kept in a hash table, so
 * that n outer rows and m inner ones cost n + m steps and not n * m.  Inside of the body of a
 * function this is not done: there the variables that a subquery reads change between two
 * evaluations.
 */
#include "sql/exec.h"

struct member_table {
    uint32_t cap;   /* a power of two */
    uint32_t *slot; /* row + 1, 0: empty */
    value *v;       /* of each row, cast to the type of the comparison */
    bool nulls;     /* one of them is null */
    bool open;      /* one of them is unknown: the rows are compared one by one */
};

/* = ANY and <> ALL of one column: one equal row decides. */
static bool asks_for_equal(const expr *e)
{
    return e->n == 1 && (e->op == OP_EQ || e->op == (OP_NE | ALL_OF));
}

static const member_table *make_table(sql_exec *x, const expr *e, const sql_result *r)
{
    member_table *t = arena_array(&x->work, member_table, 1);
    type_id id = e->arg[0]->t.id;
    *t = (member_table){.cap = 16};
    while (t->cap / 2 < r->n && t->cap < 1u << 31) t->cap *= 2;
    t->slot = arena_array(&x->work, uint32_t, t->cap);
    memset(t->slot, 0, t->cap * sizeof *t->slot);
    t->v = arena_array(&x->work, value, (size_t)r->n + 1);
    for (uint32_t i = 0; i < r->n; i++) {
        value v = t->v[i] = value_cast(&x->c, r->rows[i][0], type_plain(r->types[0]),
                                       type_plain(id), CAST_IMPLICIT);
        t->open |= v.open != 0;
        t->nulls |= v.null;
        if (v.open || v.null) continue;
        uint32_t at = (uint32_t)value_hash(id, v) & (t->cap - 1);
        while (t->slot[at] && value_cmp(id, t->v[t->slot[at] - 1], v)) at = (at + 1) & (t->cap - 1);
        if (!t->slot[at]) t->slot[at] = i + 1;
    }
    return t;
}

const kept_result *member_rows(sql_exec *x, const expr *e, frame *f)
{
    if (e->q->correlated || x->regs.pl) return NULL;
    for (size_t i = x->regs.kept_from; i < x->kept.n; i++)
        if (x->kept.at[i].q == e->q) return &x->kept.at[i];
    kept_result k = {.q = e->q};
    exec_query(x, e->q, f, &k.r);
    exec_cut(x, e->q, &k.r);
    if (asks_for_equal(e) && k.r.n < UINT32_MAX / 4) k.table = make_table(x, e, &k.r);
    arena_push(&x->work, &x->kept, k);
    return &x->kept.at[x->kept.n - 1];
}

bool member_found(const expr *e, const kept_result *k, value v, value *answer)
{
    const member_table *t = k->table;
    bool all = (e->op & ALL_OF) != 0;
    if (!t || t->open || v.open) return false;
    type_id id = e->arg[0]->t.id;
    *answer = t->nulls || (v.null && k->r.n) ? value_null() : value_bool(all);
    if (v.null) return true;
    uint32_t at = (uint32_t)value_hash(id, v) & (t->cap - 1);
    while (t->slot[at] && value_cmp(id, t->v[t->slot[at] - 1], v)) at = (at + 1) & (t->cap - 1);
    if (t->slot[at]) *answer = value_bool(!all);
    return true;
}
