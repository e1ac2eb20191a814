/*
 * merge_rows.c - MERGE: for each row of the source the rows of the target that match it, and for
 * each pair, or for a row without a match, the first action whose condition is true.
 *
 * What is to be written is found for all rows before the first one is written: conditions and new
 * values read the snapshot, as in PostgreSQL.  An action locks the row that it changes.  At READ
 * COMMITTED a row that has changed since is matched and asked again; one that is gone or matches no
 * more counts as not matched.  If a second row of the source meets such a row, PostgreSQL does not
 * treat it as an error, and we refuse; so do we where the order of the source rows, which is the
 * planner's, would decide between success and an error.
 */
#include <assert.h>

#include "base/sort.h"
#include "sql/modify.h"

typedef struct merge_write {
    const plan *action;
    uint32_t r;       /* of a match */
    const value *old; /* NULL: an INSERT */
    value *row;       /* NULL: a DELETE */
} merge_write;
typedef VEC(merge_write) merge_writes;
typedef VEC(uint64_t) row_numbers;

static const plan *chosen_action(sql_exec *x, const plan *p, bool matched, frame *f)
{
    for (uint32_t i = 0; i < p->n_actions; i++) {
        const plan *a = p->actions[i];
        if (a->matched != matched) continue;
        if (!a->where || eval_true(x, a->where, f)) return a;
    }
    return NULL;
}

static void note_insert(sql_exec *x, const plan *p, frame *f, merge_writes *all)
{
    const plan *a = chosen_action(x, p, false, f);
    if (!a || a->kind == S_NOTHING) return;
    assert(a->kind == S_INSERT && a->target == p->target);
    value *row = modify_blank_row(x, a, all->n);
    for (uint32_t k = 0; k < a->n_columns; k++) {
        const expr *e = a->rows[k];
        if (!e) e = p->target->cols[a->columns[k]].fallback;
        row[a->columns[k]] = e ? eval_open(x, e, f) : value_null();
    }
    arena_push(&x->work, all, ((merge_write){a, 0, NULL, row}));
}

/* What the row is when its turn comes; NULL: it is gone, or matches no more. */
static const value *locked_target(sql_exec *x, const plan *p, uint32_t r, const value **tuple)
{
    table *t = p->target;
    uint32_t slot = p->scan->right->slot;
    const row_version *now = exec_latest(x, t, r);
    assert(tuple[slot] && r < t->rows.n);
    if (!now || now->cols == tuple[slot] || x->rule == WRITE_FREE) return tuple[slot];
    if (now == vs_at(t, r, x->state, x->regs.cid)) return tuple[slot];
    if (x->rule == WRITE_CONFLICT) modify_raise_conflict(x, now);
    if (now->dead) return NULL;
    tuple[slot] = now->cols;
    frame f = {tuple, NULL, NULL};
    return eval_true(x, p->scan->on, &f) ? now->cols : NULL;
}

static void note_match(sql_exec *x, const plan *p, uint32_t r, const value **tuple,
                       merge_writes *all, row_numbers *changed)
{
    uint32_t slot = p->scan->right->slot;
    const value *seen = tuple[slot];
    frame f = {tuple, NULL, NULL};
    const plan *a = chosen_action(x, p, true, &f);
    if (!a || a->kind == S_NOTHING) return; /* nothing is locked */
    x->touched++;
    const value *old = locked_target(x, p, r, tuple);
    if (old != seen) arena_push(&x->work, changed, r);
    if (!old) {
        tuple[slot] = NULL;
        note_insert(x, p, &f, all);
        return;
    }
    if (old != seen) a = chosen_action(x, p, true, &f);
    if (!a || a->kind == S_NOTHING) return;
    const stored_row *w = &p->target->rows.at[r];
    if (w->head->commit != PENDING && w->born > x->write_born) x->write_born = w->born;
    value *row = a->kind == S_UPDATE ? modify_set_row(x, a, old, &f, all->n) : NULL;
    arena_push(&x->work, all, ((merge_write){a, r, old, row}));
}

/* PostgreSQL passes over a row that it has already written after waiting for another transaction,
   or takes it for one without a match. */
static void refuse_twice(sql_exec *x, row_numbers *changed)
{
    sort_u64(changed->at, changed->n);
    for (size_t i = 1; i < changed->n; i++)
        if (changed->at[i] == changed->at[i - 1])
            sql_refuse(&x->c, -1,
                       "a MERGE that meets a row twice which another session has changed");
}

/* A new key that another row of the statement has or had: which one comes first decides. */
static void refuse_order(sql_exec *x, const table *t, const unique_key *u, const merge_writes *all)
{
    const value **old = arena_array(&x->work, const value *, all->n + 1);
    for (size_t i = 0; i < all->n; i++) old[i] = all->at[i].old;
    const old_keys *keys = old_keys_of(x, t, u, old, (uint32_t)all->n);
    for (uint32_t i = 0; i < all->n; i++) {
        const merge_write *w = &all->at[i];
        guard_tick(x->c.guard);
        if (!w->row || (w->old && modify_same_key(t, u, w->row, w->old))) continue;
        if (old_keys_have(keys, w->row, i))
            sql_refuse(&x->c, -1, "a MERGE whose success depends on the order of rows");
    }
}

static void write_all(sql_exec *x, const plan *p, const merge_writes *all, sql_result *out)
{
    tuples none = {0};
    assert(p->kind == S_MERGE && p->n_actions);
    for (size_t i = 0; i < all->n; i++) {
        const merge_write *w = &all->at[i];
        guard_tick(x->c.guard);
        if (!w->old) {
            modify_insert_row(x, w->action, w->row, out, &none);
            continue;
        }
        const row_version *head = p->target->rows.at[w->r].head;
        if (head && head->commit == PENDING && head->cid == x->regs.cid)
            sql_raise(&x->c, "21000", "MERGE command cannot affect row a second time");
        if (w->row)
            modify_update_row(x, w->action, w->r, w->old, w->row);
        else
            modify_delete_row(x, w->action, w->r, w->old);
        out->count++;
    }
}

/* The pairs of one row of the source for which there is something to do go to x->pairs; what was
   needed to find them is given back, unless results of subqueries were kept in it.  A row of the
   target that an action meets for the third time is an error already and is not kept again. */
static void find_pairs(sql_exec *x, const plan *p, uint32_t source, const value **left,
                       uint8_t *times)
{
    arena_place before = arena_here(&x->work);
    size_t kept = x->kept.n;
    tuples found = {0};
    guard_tick(x->c.guard);
    exec_matches(x, p->scan, p->slots, left, &found);
    assert(found.rows.n == found.at.n);
    for (size_t k = 0; k < found.at.n; k++) {
        uint32_t r = found.rows.at[k];
        frame f = {found.at.at[k], NULL, NULL};
        const plan *a = chosen_action(x, p, true, &f);
        if (!a || a->kind == S_NOTHING || times[r] > 1) continue;
        times[r]++;
        merge_pair pair = {source, r, found.at.at[k][p->scan->right->slot]};
        vec_push(x->s->mem, &x->pairs, pair);
    }
    if (!found.at.n) vec_push(x->s->mem, &x->pairs, ((merge_pair){source, 0, NULL}));
    if (x->kept.n == kept) arena_back(&x->work, before);
}

void exec_merge(sql_exec *x, const plan *p, sql_result *out)
{
    assert(p->scan->kind == J_LEFT && p->scan->right->table == p->target);
    tuples source = {0};
    merge_writes all = {0};
    row_numbers changed = {0};
    x->regs.many = 1;
    exec_join(x, p->scan->left, p->slots, NULL, &source);
    uint8_t *times = arena_array(&x->work, uint8_t, p->target->rows.n + 1);
    memset(times, 0, p->target->rows.n + 1);
    size_t from = x->pairs.n;
    for (size_t i = 0; i < source.at.n; i++) find_pairs(x, p, (uint32_t)i, source.at.at[i], times);
    for (size_t i = from; i < x->pairs.n; i++) {
        merge_pair pair = x->pairs.at[i];
        const value **tuple = arena_array(&x->work, const value *, p->slots);
        memcpy(tuple, source.at.at[pair.source], p->slots * sizeof *tuple);
        tuple[p->scan->right->slot] = pair.target;
        frame f = {tuple, NULL, NULL};
        guard_tick(x->c.guard);
        if (pair.target)
            note_match(x, p, pair.row, tuple, &all, &changed);
        else
            note_insert(x, p, &f, &all);
    }
    x->pairs.n = from;
    refuse_twice(x, &changed);
    for (uint32_t k = 0; k < p->target->n_unique && all.n > 1; k++)
        if (!p->target->unique[k].deferrable)
            refuse_order(x, p->target, &p->target->unique[k], &all);
    write_all(x, p, &all, out);
}
