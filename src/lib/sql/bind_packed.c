/*
 * bind_packed.c - columns that were dropped leave a table for good.
 *
 * A dropped column keeps its place at first, without a name, since constraints know columns by
 * their numbers.  When a few have come together the others are renumbered, so that a row does not
 * grow with every change of its table.  Tables that others refer to, or with triggers, stay as they
 * are.  Expressions are shared with the older description of the table, and are copied.
 */
#include "sql/bind.h"

#define FEW_DROPPED 8

static bool is_dropped(const making *m, uint32_t c)
{
    if (!column_hidden(&m->t->cols[c]) || m->t->cols[c].computed) return false;
    for (size_t i = 0; i < m->unique.n; i++)
        for (uint32_t k = 0; k < m->unique.at[i].n; k++)
            if (m->unique.at[i].cols[k] == c) return false;
    return true;
}

expr *expr_renumbered(binder *b, const expr *e, const uint32_t *to)
{
    if (!e) return NULL;
    expr *r = arena_get(b->mem, sizeof *r);
    *r = *e;
    if (e->kind == E_COLUMN && !e->up && !e->slot) r->index = to[e->index];
    r->arg = arena_array(b->mem, expr *, e->n + 1);
    for (uint32_t i = 0; i < e->n; i++) r->arg[i] = expr_renumbered(b, e->arg[i], to);
    return r;
}

static uint32_t *renumbered_list(binder *b, const uint32_t *cols, uint32_t n, const uint32_t *to)
{
    uint32_t *r = arena_array(b->mem, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) r[i] = to[cols[i]];
    return r;
}

static void renumber_key(binder *b, unique_key *u, const uint32_t *to)
{
    expr **keys = arena_array(b->mem, expr *, u->n_keys + 1);
    if (!u->same) u->same = u->cols;
    u->cols = renumbered_list(b, u->cols, u->n, to);
    for (uint32_t i = 0; i < u->n_keys; i++) keys[i] = expr_renumbered(b, u->keys[i], to);
    if (u->n_keys) u->keys = keys;
    u->where = expr_renumbered(b, u->where, to);
}

/* Does a foreign key, of this table or of another one, name columns of it by their numbers? */
static bool is_referred_to(binder *b, const plan *p, const making *m)
{
    for (size_t i = 0; i < m->foreign.n; i++)
        if (!strcmp(m->foreign.at[i].parent, m->t->name)) return true;
    return refer_child(b->x, p->altered, NULL, 0) != NULL;
}

void bind_pack_columns(binder *b, plan *p, making *m)
{
    table *t = m->t;
    uint32_t dropped = 0, n = 0;
    for (uint32_t c = 0; c < t->n_cols; c++) dropped += is_dropped(m, c);
    if (dropped < FEW_DROPPED || p->convert || t->n_triggers || is_referred_to(b, p, m)) return;
    uint32_t *to = arena_array(b->mem, uint32_t, t->n_cols + 1);
    uint32_t *from = arena_array(b->mem, uint32_t, t->n_cols + 1);
    for (uint32_t c = 0; c < t->n_cols; c++) {
        to[c] = is_dropped(m, c) ? NO_COLUMN : n;
        if (to[c] == NO_COLUMN) continue;
        from[n++] = c < p->altered->n_cols ? c : NO_COLUMN;
    }
    for (size_t i = 0; i < m->unique.n; i++) renumber_key(b, &m->unique.at[i], to);
    for (size_t i = 0; i < m->checks.n; i++)
        m->checks.at[i] = expr_renumbered(b, m->checks.at[i], to);
    for (size_t i = 0; i < m->foreign.n; i++)
        m->foreign.at[i].cols = renumbered_list(b, m->foreign.at[i].cols, m->foreign.at[i].n, to);
    for (uint32_t c = 0; c < t->n_cols; c++) {
        if (to[c] == NO_COLUMN) continue;
        t->cols[to[c]] = t->cols[c];
        t->cols[to[c]].computed = expr_renumbered(b, t->cols[c].computed, to);
    }
    t->n_cols = n;
    p->packed = from;
}
