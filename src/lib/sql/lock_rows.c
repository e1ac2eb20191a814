/*
 * lock_rows.c - FOR UPDATE and its kin: what a locked row is, and which rows SKIP LOCKED leaves.
 *
 * A lock is held up to the commit, so that a locked row is the newest one then.  Where a
 * transaction has one snapshot, a newer version than the snapshot's is an error; at READ COMMITTED
 * the row is read again, and the conditions of the query are tested anew with it.  FOR KEY SHARE
 * lets others change what is no key: it reads the snapshot's version as long as the key stays.
 */
#include <assert.h>

#include "sql/exec.h"

static bool has_version(const table *t, uint32_t r, const value *cols)
{
    const row_version *v = t->rows.at[r].head;
    while (v && v->cols != cols) v = v->older;
    return v != NULL;
}

/* The row that has a version with these columns. */
static uint32_t row_with(sql_exec *x, table *t, const value *cols)
{
    uint32_t c = t->n_unique && t->unique[0].n ? t->unique[0].cols[0] : 0;
    if (t->n_cols && !t->cols[c].holes && !x->no_index) {
        vs_lookup(x->s, t, c, value_hash(t->cols[c].t.id, cols[c]), false);
        for (size_t i = 0; i < x->s->found.n; i++)
            if (has_version(t, x->s->found.at[i], cols)) return x->s->found.at[i];
    }
    for (uint32_t r = 0; r < t->rows.n; r++) {
        guard_tick(x->c.guard);
        if (has_version(t, r, cols)) return r;
    }
    sql_refuse(&x->c, -1, "FOR UPDATE of a row that is made of values nobody observed");
}

/* A key in PostgreSQL's sense is what a foreign key may refer to: no index of expressions, and none
   with WHERE.  (RelationGetIndexAttrBitmap asks for no more.) */
static bool same_keys(const table *t, const row_version *a, const row_version *b)
{
    for (uint32_t i = 0; i < t->n_unique; i++)
        for (uint32_t k = 0; !t->unique[i].n_keys && !t->unique[i].where && k < t->unique[i].n;
             k++) {
            uint32_t c = t->unique[i].cols[k];
            if (!value_identical(t->cols[c].t.id, a->cols[c], b->cols[c])) return false;
        }
    return true;
}

/* Has nobody changed a key between the two versions, nor deleted the row? */
static bool keys_stayed(const table *t, const row_version *now, const row_version *then)
{
    for (const row_version *v = now; v != then; v = v->older)
        if (!v || v->dead || !v->older || v->older->dead || !same_keys(t, v, v->older))
            return false;
    return true;
}

static bool is_missing(const join *j, const value *const *tuple)
{
    if (j->kind == J_REL) return !tuple[j->slot];
    return is_missing(j->left, tuple) && is_missing(j->right, tuple);
}

static void leave_out(const join *j, const value **tuple)
{
    if (j->kind == J_REL) {
        tuple[j->slot] = NULL;
        return;
    }
    leave_out(j->left, tuple);
    leave_out(j->right, tuple);
}

/* The conditions of the joins, for a tuple some of whose rows have changed.  PostgreSQL joins the
   rows of this very tuple again: what an outer join had found may have to go, and nothing that it
   had not found comes. */
static bool joins_still(sql_exec *x, const join *j, const value **tuple, frame *up)
{
    frame f = {tuple, up, NULL};
    if (j->kind == J_REL) return true;
    assert(j->kind != J_FULL && "no row of a full join is locked");
    assert(j->left && j->right);
    if (!joins_still(x, j->left, tuple, up)) return false;
    if (j->kind == J_LEFT && is_missing(j->right, tuple)) return true;
    bool both = joins_still(x, j->right, tuple, up) && (!j->on || eval_true(x, j->on, &f));
    if (!both && j->kind == J_LEFT) leave_out(j->right, tuple);
    return both || j->kind == J_LEFT;
}

bool exec_lock_tuple(sql_exec *x, const query *q, frame *up, const value ***tuple,
                     uint32_t *conflict)
{
    const value **old = *tuple;
    bool changed = false;
    for (uint32_t i = 0; i < q->n_locks; i++) {
        const row_lock *l = &q->locks[i];
        const value *cols = old[l->slot];
        if (!cols) continue;
        uint32_t r = row_with(x, l->t, cols);
        const row_version *now = exec_latest(x, l->t, r);
        const row_version *then = vs_at(l->t, r, x->state, x->regs.cid);
        vec_push(x->s->mem, &x->locked, ((written_row){l->t, r}));
        if (now == then || !now || x->rule == WRITE_FREE) continue;
        if (l->keys_only && keys_stayed(l->t, now, then)) {
            x->key_shared = true;
            continue;
        }
        x->key_changed |= l->keys_only && !now->dead;
        if (x->rule == WRITE_CONFLICT) {
            *conflict = now->commit;
            continue;
        }
        if (now->dead) return false;
        if (!changed) {
            *tuple = arena_array(&x->work, const value *, q->slots + 1);
            memcpy(*tuple, old, q->slots * sizeof *old);
        }
        (*tuple)[l->slot] = now->cols;
        changed = true;
    }
    if (*conflict && q->skips) return false; /* whoever changed it had it locked */
    if (!changed) return true;
    if (!joins_still(x, q->from, *tuple, up)) return false;
    frame f = {*tuple, up, NULL};
    return !q->where || eval_true(x, q->where, &f);
}

#define MOST_SKIPPED 16

void exec_skip(sql_exec *x, const query *q, sql_result *r)
{
    uint64_t most = r->has_limit ? r->limit : UINT64_MAX;
    uint32_t n = 0;
    assert(r->skips && !r->offset);
    r->skips = false;
    if (!x->pick) sql_refuse(&x->c, q->position, "rows that SKIP LOCKED may have left out");
    if (most == 1 && r->n) { /* one of them, or none */
        uint32_t at = x->pick(x->ud, r->n + 1);
        r->rows += at < r->n ? at : 0;
        n = at < r->n;
    } else {
        if (r->n > MOST_SKIPPED && most)
            sql_refuse(&x->c, q->position, "SKIP LOCKED of many rows inside of a statement");
        for (uint32_t i = 0; i < r->n && n < most; i++)
            if (!x->pick(x->ud, 2)) r->rows[n++] = r->rows[i];
    }
    r->tie = r->turn = NULL;
    r->n = n;
    r->count = n;
    r->has_limit = false;
}
