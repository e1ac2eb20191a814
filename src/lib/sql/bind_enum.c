/*
 * bind_enum.c - CREATE TYPE ... AS ENUM.
 *
 * The labels of every enumeration that a log has created stay in a list of the store, and the place
 * in it is the id of the type.  Whether the type exists at a moment is a matter of the catalog: an
 * entry like that of a view, under a name that no identifier has.
 */
#include <assert.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

static const char *entry_name(arena *m, const char *name)
{
    size_t n = strlen(name);
    char *t = arena_get(m, n + 6);
    memcpy(t, "type ", 5);
    memcpy(t + 5, name, n + 1);
    return t;
}

bool enum_named(binder *b, const char *name, type *t)
{
    const routine *r = vs_routine(b->x->s, entry_name(&b->x->work, name), b->x->latest, 0);
    if (!r) return false;
    *t = r->t;
    return true;
}

static bool same_labels(const enum_labels *e, const char *name, const char **label, uint32_t n)
{
    if (strcmp(e->name, name) != 0 || e->n != n) return false;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(e->label[i], label[i]) != 0) return false;
    return true;
}

/* The id of an enumeration, the same whenever the statement is bound again. */
static type_id enum_id(store *s, const char *name, const char **label, uint32_t n)
{
    enum_list *l = &s->enums;
    for (uint32_t i = 0; i < l->n; i++)
        if (same_labels(&l->at[i], name, label, n)) return (type_id)(2 * N_SCALARS + (int)i);
    enum_labels *longer = arena_array(&s->names, enum_labels, l->n + 1);
    if (l->n) memcpy(longer, l->at, l->n * sizeof *longer);
    longer[l->n] = (enum_labels){name, n, label};
    l->at = longer;
    return (type_id)(2 * N_SCALARS + (int)l->n++);
}

void bind_create_enum(binder *b, plan *p, const PgQuery__CreateEnumStmt *c)
{
    store *s = b->x->s;
    if (c->n_type_name != 1) sql_refuse(CTX(b), -1, "a type in another schema");
    const char *name = string_of(b, c->type_name[0], -1);
    type known;
    if (enum_named(b, name, &known)) sql_raise(CTX(b), "42710", "type \"%s\" already exists", name);
    if (vs_find(s, name, b->x->latest)) /* whose rows are a type of this name */
        sql_refuse(CTX(b), -1, "a type with the name of a table");
    uint32_t n = (uint32_t)c->n_vals;
    const char **label = arena_array(&s->names, const char *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const char *text = string_of(b, c->vals[i], -1);
        if (strlen(text) > 63) sql_raise(CTX(b), "42602", "invalid enum label");
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(label[k], text)) sql_raise(CTX(b), "23505", "duplicate label");
        label[i] = arena_text(&s->names, text, strlen(text));
    }
    routine *r = p->routine = arena_get(b->mem, sizeof *r);
    memset(r, 0, sizeof *r);
    r->name = entry_name(&s->names, name);
    r->view = r->name;
    r->t = type_plain(enum_id(s, arena_text(&s->names, name, strlen(name)), label, n));
    p->kind = S_VIEW;
    assert(type_is_enum(r->t.id));
}

/* DROP TYPE: as of a view, with an error of its own. */
void bind_drop_type(binder *b, plan *p, const PgQuery__DropStmt *d)
{
    const store *s = b->x->s;
    const PgQuery__TypeName *n = d->n_objects == 1 ? d->objects[0]->type_name : NULL;
    if (!n || n->n_names != 1 || n->n_array_bounds) sql_refuse(CTX(b), -1, "this DROP TYPE");
    const char *name = string_of(b, n->names[0], -1);
    type t;
    p->kind = S_NOTHING;
    if (!enum_named(b, name, &t)) {
        if (!d->missing_ok || vs_find(s, name, b->x->latest))
            sql_refuse(CTX(b), -1, "DROP TYPE of a type that is not an enumeration");
        return;
    }
    for (size_t i = 0; i < s->routines.n; i++) /* a variable or parameter may have the type */
        if (s->routines.at[i]->dropped == NEVER &&
            s->routines.at[i]->view != s->routines.at[i]->name)
            sql_refuse(CTX(b), -1, "DROP TYPE beside views or functions");
    for (size_t i = 0; i < s->tables.n; i++) {
        const table *of = s->tables.at[i];
        if (vs_find(s, of->name, b->x->latest) != of) continue;
        for (uint32_t k = 0; k < of->n_cols; k++) {
            if (of->cols[k].t.id != t.id || column_hidden(&of->cols[k])) continue;
            if (d->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE)
                sql_refuse(CTX(b), -1, "DROP TYPE ... CASCADE of a type that columns have");
            sql_raise(CTX(b), "2BP01", "other objects depend on type \"%s\"", name);
        }
    }
    assert(type_is_enum(t.id));
    p->kind = S_DROP_VIEW;
    p->n_names = 1;
    p->names = arena_array(b->mem, const char *, 1);
    p->names[0] = entry_name(b->mem, name);
}
