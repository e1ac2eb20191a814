/*
 * bind_json.c - whole rows where functions of json take them.
 */
#include <assert.h>
#include <stdio.h>

#include "sql/bind.h"
#include "sql/builtin.h"
#include "sql/pl.h"

#define CTX(b) (&(b)->x->c)

/* names and values of a row, as an object */
static expr *row_as_object(binder *b, const relation *r, const PgQuery__RowExpr *row, scope *s,
                           int position)
{
    assert(row || r);
    // cppcheck-suppress nullPointer ; either row or r is given
    uint32_t n = row ? (uint32_t)row->n_args : r->t ? r->t->n_cols : r->sub->n_out, at = 0;
    expr *e = expr_new(b, E_BUILTIN, type_plain(T_JSON), position, 2 * n);
    e->builtin = &row_object;
    for (uint32_t i = 0; i < n; i++) {
        char field[16];
        // cppcheck-suppress nullPointer ; either row or r is given
        if (!row && r->t && column_hidden(&r->t->cols[i])) continue;
        // cppcheck-suppress nullPointer ; either row or r is given
        const char *name = row ? field : r->t ? r->t->cols[i].name : r->sub->out[i].name;
        snprintf(field, sizeof field, "f%u", (unsigned)i + 1);
        expr *key = expr_new(b, E_CONST, type_plain(T_TEXT), position, 0);
        key->v = value_text(name_keep(b, name), strlen(name));
        e->arg[at++] = key;
        e->arg[at] = row ? bind_expr(b, s, row->args[i]) : column_of(b, r, i, 0, position);
        expr_settle(b, e->arg[at++]);
    }
    e->n = at;
    return e;
}

/* OLD and NEW in a trigger, which have all columns of their table. */
static expr *record_as_object(binder *b, const char *name, int position)
{
    const pl_shape *shape =
        strcmp(name, "old") && strcmp(name, "new") ? NULL : bind_record(b, name);
    if (!shape) return NULL;
    expr *e = expr_new(b, E_BUILTIN, type_plain(T_JSON), position, 2 * shape->n);
    e->builtin = &row_object;
    for (uint32_t i = 0; i < shape->n; i++) {
        const char *const names[] = {name, shape->names[i]};
        expr *key = expr_new(b, E_CONST, type_plain(T_TEXT), position, 0);
        key->v = value_text(name_keep(b, names[1]), strlen(names[1]));
        e->arg[2 * i] = key;
        e->arg[2 * i + 1] = bind_variable(b, names, 2, position);
    }
    return e;
}

/* An argument of a function that makes json: t and t.* are the row, if no column is called t. */
expr *bind_json_argument(binder *b, scope *s, const node *n)
{
    const PgQuery__RowExpr *row = bind_row_of(n);
    if (row && row->n_args) return row_as_object(b, NULL, row, s, row->location);
    if (n->node_case != PG_QUERY__NODE__NODE_COLUMN_REF) return bind_expr(b, s, n);
    const PgQuery__ColumnRef *c = n->column_ref;
    bool star = c->n_fields == 2 && c->fields[1]->node_case == PG_QUERY__NODE__NODE_A_STAR;
    if ((c->n_fields != 1 && !star) || c->fields[0]->node_case != PG_QUERY__NODE__NODE_STRING)
        return bind_expr(b, s, n);
    const char *name = c->fields[0]->string->sval;
    const relation *found = NULL;
    expr *record = star || !b->code ? NULL : record_as_object(b, name, c->location);
    if (record) return record;
    for (const scope *at = s; at; at = at->up)
        for (size_t i = 0; i < at->rels.n; i++) {
            const relation *r = &at->rels.at[i];
            if (at == s && !strcmp(r->name, name)) found = r;
            uint32_t k = r->t ? r->t->n_cols : r->sub->n_out;
            while (!star && k-- > 0)
                if (!strcmp(r->t ? r->t->cols[k].name : r->sub->out[k].name, name))
                    return bind_expr(b, s, n);
        }
    if (!found || b->code) return bind_expr(b, s, n);
    return row_as_object(b, found, NULL, s, c->location);
}

/* value['key'][0]: as the operator #> follows a path. */
expr *bind_json_part(binder *b, scope *s, expr *of, const PgQuery__AIndirection *a)
{
    expr *path = expr_new(b, E_BUILTIN, type_plain(type_array_of(T_TEXT)), of->position,
                          (uint32_t)a->n_indirection);
    path->builtin = &array_constructor;
    for (uint32_t i = 0; i < path->n; i++) {
        const PgQuery__AIndices *at = a->indirection[i]->a_indices;
        if (at->is_slice || !at->uidx) sql_refuse(CTX(b), of->position, "a slice of a jsonb");
        expr *e = bind_expr(b, s, at->uidx);
        if (!type_is_text(e->t.id) && e->t.id != T_INT4 && e->t.id != T_INT2)
            sql_refuse(CTX(b), of->position, "a part of a jsonb by a value of this type");
        path->arg[i] = expr_coerce(b, e, type_plain(T_TEXT), CAST_EXPLICIT);
    }
    return bind_builtin(b, "#>", (expr *[]){of, expr_fold(b, path)}, 2, of->position);
}
