/*
 * bind_rename.c - RENAME of tables, columns, constraints and indexes.
 *
 * Constraints know columns by their number, so that a new name changes nothing for them.  Views
 * and bodies are kept as texts with the old names, and foreign keys know their parent by its name:
 * where there are such, RENAME is refused.
 */
#include <assert.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

/* A text that is kept may have the old name in it. */
static bool text_may_name(const binder *b, const table *t)
{
    const store *s = b->x->s;
    for (size_t i = 0; i < s->routines.n; i++) {
        const routine *r = s->routines.at[i];
        if (r->dropped == NEVER && (!r->view || r->view != r->name)) return true;
    }
    return alter_view_reads(b->x, t);
}

static bool refers_to_itself(const table *t)
{
    for (uint32_t i = 0; i < t->n_foreign; i++)
        if (!strcmp(t->foreign[i].parent, t->name)) return true;
    return false;
}

static void refuse_taken(binder *b, const making *m, const char *name)
{
    bool taken = vs_find(b->x->s, name, b->x->latest) != NULL;
    for (size_t i = 0; i < m->unique.n; i++)
        taken |= m->unique.at[i].name && !strcmp(m->unique.at[i].name, name);
    for (size_t i = 0; i < m->check_names.n; i++)
        taken |= m->check_names.at[i] && !strcmp(m->check_names.at[i], name);
    for (size_t i = 0; i < m->foreign.n; i++)
        taken |= m->foreign.at[i].name && !strcmp(m->foreign.at[i].name, name);
    if (taken) sql_refuse(CTX(b), -1, "RENAME to a name that something else has");
}

static void rename_constraint(binder *b, plan *p, const PgQuery__RenameStmt *r)
{
    making m = making_of(b, p, bind_table(b, r->relation));
    const char *name = name_keep(b, r->newname), **found = NULL;
    bool unknown = false;
    refuse_taken(b, &m, name);
    for (size_t i = 0; i < m.unique.n; i++) {
        const char **at = &m.unique.at[i].name;
        unknown |= !*at;
        if (*at && !m.unique.at[i].index && !strcmp(*at, r->subname)) found = at;
    }
    for (size_t i = 0; i < m.foreign.n; i++) {
        const char **at = &m.foreign.at[i].name;
        unknown |= !*at;
        if (*at && !strcmp(*at, r->subname)) found = at;
    }
    for (size_t i = 0; i < m.check_names.n; i++) {
        const char **at = &m.check_names.at[i];
        unknown |= !*at;
        if (*at && !strcmp(*at, r->subname)) found = at;
        if (found == at && m.check_names.n > 1) /* they are tried in the order of their names */
            sql_refuse(CTX(b), -1, "RENAME CONSTRAINT of one of several checks");
    }
    if (!found && unknown)
        sql_refuse(CTX(b), -1, "RENAME CONSTRAINT of one whose name is not known");
    if (!found)
        sql_raise(CTX(b), "42704", "constraint \"%s\" for table \"%s\" does not exist", r->subname,
                  m.t->name);
    *found = name;
    making_done(&m);
    assert(p->kind == S_ALTER && p->created == m.t);
}

/* Indexes that are not unique are not kept: their names change no answer. */
static void rename_index(binder *b, plan *p, const PgQuery__RenameStmt *r)
{
    const store *s = b->x->s;
    p->kind = S_NOTHING;
    for (size_t i = 0; i < s->tables.n; i++) {
        table *t = s->tables.at[i];
        if (vs_find(s, t->name, b->x->latest) != t) continue;
        for (uint32_t k = 0; k < t->n_unique; k++) {
            if (!t->unique[k].name)
                sql_refuse(CTX(b), -1, "RENAME of what may be an index whose name is not known");
            if (strcmp(t->unique[k].name, r->relation->relname) != 0) continue;
            making m = making_of(b, p, t);
            refuse_taken(b, &m, r->newname);
            m.unique.at[k].name = name_keep(b, r->newname);
            making_done(&m);
            return;
        }
    }
}

void bind_rename(binder *b, plan *p, const PgQuery__RenameStmt *r)
{
    if (r->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_TABCONSTRAINT && !r->missing_ok) {
        rename_constraint(b, p, r);
        return;
    }
    if (r->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX && !r->missing_ok) {
        rename_index(b, p, r);
        return;
    }
    bool column = r->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_COLUMN;
    if ((!column && r->rename_type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE) || r->missing_ok ||
        (column && r->relation_type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE))
        sql_refuse(CTX(b), -1, "RENAME of this kind of object");
    table *now = bind_table(b, r->relation);
    if (now->parts) sql_refuse(CTX(b), -1, "RENAME of a partitioned table");
    if (now->read_only) sql_refuse(CTX(b), -1, "RENAME of a materialized view");
    if (text_may_name(b, now)) sql_refuse(CTX(b), -1, "RENAME beside views or functions");
    table *t = arena_get(b->mem, sizeof *t);
    *t = *now;
    p->kind = S_ALTER;
    p->altered = now;
    p->created = t;
    const char *name = name_keep(b, r->newname);
    if (!column) {
        if (refer_child(b->x, now, NULL, 0) || refers_to_itself(now))
            sql_refuse(CTX(b), -1, "RENAME of a table that foreign keys refer to");
        t->name = name;
        return;
    }
    t->cols = arena_array(b->mem, table_column, t->n_cols + 1u);
    memcpy(t->cols, now->cols, t->n_cols * sizeof *t->cols);
    uint32_t at = column_named(b, now, r->subname, -1);
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (i != at && !strcmp(t->cols[i].name, name))
            sql_raise(CTX(b), "42701", "column \"%s\" already exists", name);
    t->cols[at].name = name;
}
