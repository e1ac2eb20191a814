/*
 * late_uniques.c - unique constraints that are DEFERRABLE: tested when the statement ends, or the
 * transaction.
 *
 * PostgreSQL puts such a key into its index at once, and looks again later whether another row has
 * it.  Whoever finds it there waits for the other transaction's end, so that what is tested are
 * the newest rows.  Kept is the number of the row: one that was deleted since, or whose writing was
 * taken back, has nothing to be tested, and one that was written again is tested as it is then.
 */
#include <assert.h>

#include "sql/modify.h"

void late_unique_note(sql_exec *x, table *t, uint32_t key, uint32_t row)
{
    assert(key < t->n_unique && row < t->rows.n && t->unique[key].deferrable);
    arena_push(&x->work, &x->rekeys, ((key_event){t, key, row}));
}

static void test_row(sql_exec *x, table *t, const unique_key *u, uint32_t r)
{
    if (r >= t->rows.n || !t->rows.at[r].head) return;
    const row_version *v = exec_now(x, t, r);
    if (!v || v->dead || v->commit != PENDING) return;
    if (modify_is_taken(x, t, u, v->cols, r))
        sql_raise(&x->c, "23505", "duplicate key value violates unique constraint");
}

void late_uniques_check(sql_exec *x, size_t from)
{
    assert(from <= x->rekeys.n);
    for (size_t i = from; i < x->rekeys.n; i++) {
        key_event e = x->rekeys.at[i];
        const unique_key *u = &e.t->unique[e.key];
        guard_tick(x->c.guard);
        if (refer_is_late(x, u->name, u->deferrable, u->deferred))
            vec_push(x->s->mem, &x->late, ((late_key){.child = e.t, .u = u, .row = e.row}));
        else
            test_row(x, e.t, u, e.row);
    }
    x->rekeys.n = from;
}

void late_unique_test(sql_exec *x, const late_key *k)
{
    assert(k->u && k->u->deferrable && !k->f);
    test_row(x, k->child, k->u, k->row);
}
