/*
 * bind_records.c - whole rows as values (c, ROW(...)), their columns, and calls whose meaning hangs
 * on how their arguments are written: pg_typeof, make_interval.
 *
 * A row is its text, as PostgreSQL prints a record; it can be shown and cast to text, and nothing
 * else is known of it.
 */
#include <assert.h>

#include "sql/bind.h"
#include "sql/builtin.h"

#define CTX(b) (&(b)->x->c)

/* The relation of this query that a name alone means; NULL: it is a column, or none. */
static const relation *row_named(const binder *b, const scope *s, const node *n)
{
    if (!s || b->code || n->node_case != PG_QUERY__NODE__NODE_COLUMN_REF ||
        n->column_ref->n_fields != 1 ||
        n->column_ref->fields[0]->node_case != PG_QUERY__NODE__NODE_STRING)
        return NULL;
    const char *name = n->column_ref->fields[0]->string->sval;
    const relation *found = NULL;
    for (const scope *at = s; at; at = at->up)
        for (size_t i = 0; i < at->rels.n; i++) {
            const relation *r = &at->rels.at[i];
            if (at == s && !strcmp(r->name, name)) found = r;
            uint32_t k = r->t ? r->t->n_cols : r->sub->n_out;
            while (k-- > 0)
                if (!strcmp(r->t ? r->t->cols[k].name : r->sub->out[k].name, name)) return NULL;
        }
    return found;
}

static void add_field(binder *b, expr *e, expr *field)
{
    expr_settle(b, field);
    type_id t = field->t.id;
    type_id of = type_is_array(t) ? type_element(t) : t; /* its text hangs on settings */
    if (type_is_float(of) || t == T_VOID || (of == T_STAMPTZ && CTX(b)->zone != ZONE_UTC))
        sql_refuse(CTX(b), e->position, "a row with a column of type %s", type_name(t));
    e->arg[e->n++] = field;
}

expr *bind_record_value(binder *b, scope *s, const node *n)
{
    const PgQuery__RowExpr *row = bind_row_of(n);
    const relation *r = row ? NULL : row_named(b, s, n);
    if (b->code || (!row && !r)) return NULL;
    int position = row ? row->location : n->column_ref->location;
    if (row ? !row->n_args : b->outer_joins || (r->sub && r->sub->call))
        sql_refuse(CTX(b), position, "this whole row");
    uint32_t most = row ? (uint32_t)row->n_args : r->t ? r->t->n_cols : r->sub->n_out;
    expr *e = expr_new(b, E_BUILTIN, type_plain(T_RECORD), position, most);
    e->builtin = &record_text;
    e->n = 0;
    for (uint32_t i = 0; i < most; i++) {
        if (!row && r->t && column_hidden(&r->t->cols[i])) continue;
        add_field(b, e, row ? bind_expr(b, s, row->args[i]) : column_of(b, r, i, 0, position));
    }
    return e;
}

/* (c).name */
expr *bind_row_field(binder *b, scope *s, const PgQuery__AIndirection *a)
{
    bool one = a->n_indirection == 1 && a->indirection[0]->node_case == PG_QUERY__NODE__NODE_STRING;
    if (!one || !row_named(b, s, a->arg)) return NULL;
    node *fields[2] = {a->arg->column_ref->fields[0], a->indirection[0]};
    PgQuery__ColumnRef both = *a->arg->column_ref;
    both.n_fields = 2;
    both.fields = fields;
    node of = *a->arg;
    of.column_ref = &both;
    return bind_expr(b, s, &of);
}

bool bind_counts_rows(binder *b, scope *s, const node *n, int position)
{
    if (!row_named(b, s, n)) return false;
    if (b->outer_joins) sql_refuse(CTX(b), position, "count of rows beside an outer join");
    return true;
}

/* ---- pg_typeof ------------------------------------------------------------------------------- */

/* Of columns and constants, whose types are here what they are there. */
static expr *type_of(binder *b, scope *s, const PgQuery__FuncCall *f)
{
    expr *e = bind_expr(b, s, f->args[0]);
    type_id t = e->t.id;
    bool column = e->kind == E_COLUMN && !e->up && s && e->slot < s->rels.n;
    for (size_t i = 0; column && i < s->rels.n; i++)
        if (s->rels.at[i].slot == e->slot && !s->rels.at[i].t) column = false;
    /* anything else is evaluated, and may fail */
    if ((!column && e->kind != E_CONST) || type_is_enum(t))
        sql_refuse(CTX(b), f->location, "pg_typeof of this expression");
    expr *name = expr_new(b, E_CONST, type_plain(T_TEXT), f->location, 0);
    name->v = value_text(type_name(t), strlen(type_name(t)));
    return name;
}

/* ---- make_interval --------------------------------------------------------------------------- */

static expr *interval_of_parts(binder *b, scope *s, const PgQuery__FuncCall *f)
{
    static const char *const names[] = {"years", "months", "weeks", "days",
                                        "hours", "mins",   "secs"};
    expr *part[7] = {NULL};
    for (size_t i = 0; i < f->n_args; i++) {
        const node *n = f->args[i];
        size_t at = i;
        if (n->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR) {
            for (at = 0; at < 7 && strcmp(names[at], n->named_arg_expr->name) != 0;) at++;
            n = n->named_arg_expr->arg;
        }
        if (at >= 7 || part[at]) sql_refuse(CTX(b), f->location, "these arguments");
        part[at] = bind_expr(b, s, n);
    }
    for (int i = 0; i < 7; i++) {
        if (part[i]) continue;
        part[i] = expr_new(b, E_CONST, type_plain(T_INT4), f->location, 0);
        part[i]->v = value_int(0);
    }
    return bind_builtin(b, "make_interval", part, 7, f->location);
}

expr *bind_special_call(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    if (f->over || f->agg_distinct || f->func_variadic) return NULL;
    if (!strcmp(name, "make_interval") && f->n_args <= 7) return interval_of_parts(b, s, f);
    if (!strcmp(name, "date") && f->n_args == 1) { /* a cast that is written as a call */
        expr *e = bind_expr(b, s, f->args[0]);
        if (e->t.id != T_UNKNOWN && !type_is_moment(e->t.id))
            sql_refuse(CTX(b), f->location, "date() of this type");
        return expr_coerce(b, e, type_plain(T_DATE), CAST_EXPLICIT);
    }
    if (!strcmp(name, "pg_typeof") && f->n_args == 1) return type_of(b, s, f);
    return NULL;
}

/* ---- SET of a part --------------------------------------------------------------------------- */

/* SET tags[1] = ..., SET note['key'] = ...: the column with this part changed. */
expr *bind_set_part(binder *b, scope *s, const PgQuery__ResTarget *t, const table *of,
                    uint32_t column)
{
    type is = of->cols[column].t;
    const PgQuery__AIndices *at =
        t->n_indirection == 1 && t->indirection[0]->node_case == PG_QUERY__NODE__NODE_A_INDICES
            ? t->indirection[0]->a_indices
            : NULL;
    bool array = type_is_array(is.id);
    if (!at || at->is_slice || !at->uidx || s->rels.at[0].map || (!array && is.id != T_JSONB) ||
        t->val->node_case == PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF)
        sql_refuse(CTX(b), t->location, "SET of this part of a value");
    expr *arg[3] = {expr_new(b, E_COLUMN, type_plain(is.id), t->location, 0), NULL, NULL};
    arg[0]->slot = s->rels.at[0].slot;
    arg[0]->index = column;
    arg[1] = bind_expr(b, s, at->uidx);
    if (array)
        arg[1] = expr_coerce(b, arg[1], type_plain(T_INT4), CAST_ASSIGN);
    else if (!type_is_text(arg[1]->t.id))
        sql_refuse(CTX(b), t->location, "SET of this part of a jsonb");
    else
        arg[1] = expr_coerce(b, arg[1], type_plain(T_TEXT), CAST_IMPLICIT);
    arg[2] = assigned(b, s, t->val, type_plain(array ? type_element(is.id) : T_JSONB));
    if (!arg[2]) sql_refuse(CTX(b), t->location, "SET of a part to DEFAULT");
    expr *e = expr_new(b, E_BUILTIN, type_plain(is.id), t->location, 3);
    e->builtin = array ? &array_item_set : &jsonb_member_set;
    memcpy(e->arg, arg, sizeof arg);
    return e;
}
