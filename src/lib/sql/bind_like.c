/*
 * bind_like.c - CREATE TABLE (LIKE other INCLUDING ...).
 *
 * The columns come with their types and NOT NULL; INCLUDING adds defaults, expressions, checks and
 * unique keys, which know columns by other numbers in the new table.  A column with a sequence gets
 * one of its own: that of the other table may go on to be used, which only makes less certain what
 * its next value is.
 */
#include <assert.h>
#include <stdio.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

enum {
    WITH_CHECKS = 4,
    WITH_DEFAULTS = 8,
    WITH_GENERATED = 16,
    WITH_IDENTITY = 32,
    WITH_KEYS = 64
};

static expr *own_sequence(binder *b, const char *of_table, const table_column *c)
{
    char name[200];
    expr *e = expr_new(b, E_OPEN, c->t, -1, 0);
    snprintf(name, sizeof name, "%.90s_%.90s_seq", of_table, c->name);
    e->index = vs_sequence(b->x->s, name);
    return e;
}

uint32_t like_columns(binder *b, const char *of_table, const PgQuery__TableLikeClause *l,
                      table_column *to)
{
    const table *from = bind_table(b, l->relation);
    uint32_t n = 0;
    assert(from && to);
    for (uint32_t i = 0; i < from->n_cols; i++) {
        const table_column *c = &from->cols[i];
        if (column_hidden(c)) continue;
        table_column made = {.name = c->name, .t = c->t, .not_null = c->not_null};
        bool counted = c->fallback && c->fallback->kind == E_OPEN && c->fallback->index;
        bool wanted = (l->options & (WITH_DEFAULTS | WITH_IDENTITY)) != 0;
        /* serial comes with DEFAULTS, an identity with IDENTITY: which one it is is not kept */
        if (counted && wanted && !(l->options & WITH_DEFAULTS && l->options & WITH_IDENTITY))
            sql_refuse(CTX(b), l->relation->location, "LIKE of a column with a sequence");
        if (counted && wanted)
            made.fallback = own_sequence(b, of_table, c);
        else if (!counted && l->options & WITH_DEFAULTS)
            made.fallback = c->fallback;
        made.always = wanted && c->always;
        to[n++] = made;
    }
    return n;
}

void like_constraints(binder *b, making *m, const PgQuery__TableLikeClause *l, uint32_t first)
{
    const table *from = bind_table(b, l->relation);
    uint32_t *to = arena_array(b->mem, uint32_t, from->n_cols + 1), next = first;
    for (uint32_t i = 0; i < from->n_cols; i++)
        to[i] = column_hidden(&from->cols[i]) ? NO_COLUMN : next++;
    assert(next <= m->t->n_cols);
    for (uint32_t i = 0; l->options & WITH_GENERATED && i < from->n_cols; i++)
        if (to[i] != NO_COLUMN)
            m->t->cols[to[i]].computed = expr_renumbered(b, from->cols[i].computed, to);
    for (uint32_t i = 0; l->options & WITH_CHECKS && i < from->n_checks; i++) {
        arena_push(b->mem, &m->checks, expr_renumbered(b, from->checks[i], to));
        arena_push(b->mem, &m->check_names, from->check_names[i]);
    }
    for (uint32_t i = 0; l->options & WITH_KEYS && i < from->n_unique; i++) {
        unique_key u = from->unique[i];
        if (u.n_keys || u.where)
            sql_refuse(CTX(b), l->relation->location, "LIKE of an index of expressions");
        u.same = NULL;
        u.cols = arena_array(b->mem, uint32_t, u.n + 1);
        for (uint32_t k = 0; k < u.n; k++) u.cols[k] = to[from->unique[i].cols[k]];
        u.name = unique_name(b, m, &u, "", u.index ? "idx" : "key");
        arena_push(b->mem, &m->unique, u);
    }
}
