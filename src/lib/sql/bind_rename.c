/*
 * bind_rename.c - RENAME of tables and columns.
 *
 * Constraints know columns by their number, so that a new name changes nothing for them.  Views
 * and bodies are kept as texts with the old names, and foreign keys know their parent by its name:
 * where there are such, RENAME is refused.
 */
#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

void bind_rename(binder *b, plan *p, const PgQuery__RenameStmt *r)
{
    bool column = r->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_COLUMN;
    if ((!column && r->rename_type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE) || r->missing_ok ||
        (column && r->relation_type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE))
        sql_refuse(CTX(b), -1, "RENAME of anything but a table or column");
    table *now = bind_table(b, r->relation);
    if (b->x->s->routines.n) sql_refuse(CTX(b), -1, "RENAME beside views or functions");
    table *t = arena_get(b->mem, sizeof *t);
    *t = *now;
    p->kind = S_ALTER;
    p->altered = now;
    p->created = t;
    const char *name = name_keep(b, r->newname);
    if (!column) {
        if (refer_child(b->x, now, NULL, 0) || now->n_foreign)
            sql_refuse(CTX(b), -1, "RENAME of a table with foreign keys");
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
