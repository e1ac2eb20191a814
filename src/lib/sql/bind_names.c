/*
 * bind_names.c - which table a name means: schemas and temporary tables.
 *
 * A table of schema `public` is known by its name alone, one of another schema as "schema.table",
 * and a temporary one as "pg_temp_SESSION.table", so that no other session finds it.  A schema is a
 * table without columns called "schema.", which makes it come and go with its transaction.  Names
 * with a dot in them would be mistaken for these: they are refused.
 */
#include <stdio.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

static const char *joined_name(binder *b, const char *schema, const char *name)
{
    size_t n = strlen(schema), m = strlen(name);
    char *s = arena_get(b->mem, n + m + 2);
    memcpy(s, schema, n);
    s[n] = '.';
    memcpy(s + n + 1, name, m + 1);
    return s;
}

const char *temporary_name(binder *b, const char *name)
{
    char schema[32];
    snprintf(schema, sizeof schema, "pg_temp_%u", (unsigned)b->x->session);
    return joined_name(b, schema, name);
}

const char *bare_table_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool is_temporary_of_any(const binder *b, const char *name)
{
    const store *s = b->x->s;
    for (size_t i = 0; i < s->tables.n; i++)
        if (s->tables.at[i]->temporary && !strcmp(bare_table_name(s->tables.at[i]->name), name))
            return true;
    return false;
}

static bool schema_exists(binder *b, const char *schema)
{
    return vs_find(b->x->s, joined_name(b, schema, ""), b->x->latest) != NULL;
}

/* What is bound once for several sessions must not depend on their temporary tables. */
static const char *own_temporary(binder *b, const char *name, int position)
{
    if (!b->x->s->temporaries || !is_temporary_of_any(b, name)) return NULL;
    if (b->code || b->x->views)
        sql_refuse(CTX(b), position, "a temporary table \"%s\" in a view or function", name);
    const char *key = temporary_name(b, name);
    return vs_find(b->x->s, key, b->x->latest) ? key : NULL;
}

const char *table_key(binder *b, const char *catalog, const char *schema, const char *name,
                      int position)
{
    if (*catalog) sql_refuse(CTX(b), position, "database \"%s\"", catalog);
    if (strchr(name, '.') || strchr(schema, '.'))
        sql_refuse(CTX(b), position, "a name with a dot in it, \"%s\"", name);
    if (!*schema) {
        const char *own = own_temporary(b, name, position);
        return own ? own : name_keep(b, name);
    }
    if (!strcmp(schema, "public")) return name_keep(b, name);
    if (!strcmp(schema, "pg_temp")) return temporary_name(b, name);
    if (!schema_exists(b, schema)) sql_refuse(CTX(b), position, "schema \"%s\"", schema);
    return joined_name(b, schema, name);
}

const char *new_table_key(binder *b, const PgQuery__RangeVar *r)
{
    const char *schema = r->schemaname;
    bool temporary = *r->relpersistence == 't' || !strcmp(schema, "pg_temp");
    if (*r->catalogname || strchr(r->relname, '.'))
        sql_refuse(CTX(b), r->location, "a table of this name");
    if (temporary && *schema && strcmp(schema, "pg_temp") != 0)
        sql_raise(CTX(b), "42P16", "cannot create a temporary table in another schema");
    if (temporary) return temporary_name(b, r->relname);
    if (!*schema || !strcmp(schema, "public")) return name_keep(b, r->relname);
    if (!strncmp(schema, "pg_", 3) || !strcmp(schema, "information_schema"))
        sql_refuse(CTX(b), r->location, "schema \"%s\"", schema);
    if (!schema_exists(b, schema)) sql_refuse(CTX(b), r->location, "schema \"%s\"", schema);
    return joined_name(b, schema, r->relname);
}

const char *named_table_key(binder *b, const node *n)
{
    if (n->node_case != PG_QUERY__NODE__NODE_LIST || !n->list->n_items || n->list->n_items > 2)
        sql_refuse(CTX(b), -1, "this DROP");
    const char *schema = n->list->n_items > 1 ? string_of(b, n->list->items[0], -1) : "";
    return table_key(b, "", schema, string_of(b, n->list->items[n->list->n_items - 1], -1), -1);
}

void bind_create_schema(binder *b, plan *p, const PgQuery__CreateSchemaStmt *c)
{
    if (!*c->schemaname || c->n_schema_elts || strchr(c->schemaname, '.'))
        sql_refuse(CTX(b), -1, "CREATE SCHEMA with objects in it, or without a name");
    if (!strncmp(c->schemaname, "pg_", 3))
        sql_raise(CTX(b), "42939", "unacceptable schema name \"%s\"", c->schemaname);
    p->quiet = c->if_not_exists;
    bool exists = !strcmp(c->schemaname, "public") || schema_exists(b, c->schemaname);
    if (!strcmp(c->schemaname, "information_schema"))
        sql_refuse(CTX(b), -1, "schema \"information_schema\"");
    if (exists && !p->quiet)
        sql_raise(CTX(b), "42P06", "schema \"%s\" already exists", c->schemaname);
    p->kind = exists ? S_NOTHING : S_CREATE;
    if (exists) return;
    table *t = p->created = arena_get(b->mem, sizeof *t);
    memset(t, 0, sizeof *t);
    t->name = joined_name(b, c->schemaname, "");
}

/* The schema's tables go with it, if CASCADE is said. */
void bind_drop_schema(binder *b, plan *p, const PgQuery__DropStmt *d)
{
    const store *s = b->x->s;
    VEC(const char *) names = {0};
    p->kind = S_DROP;
    p->quiet = d->missing_ok;
    p->cascade = d->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
    for (size_t i = 0; i < d->n_objects; i++) {
        const char *schema = string_of(b, d->objects[i], -1);
        if (!strcmp(schema, "public") || !strncmp(schema, "pg_", 3))
            sql_refuse(CTX(b), -1, "DROP SCHEMA \"%s\"", schema);
        if (!schema_exists(b, schema)) {
            if (p->quiet) continue;
            sql_raise(CTX(b), "3F000", "schema \"%s\" does not exist", schema);
        }
        const char *prefix = joined_name(b, schema, "");
        size_t n = strlen(prefix);
        arena_push(b->mem, &names, prefix);
        for (size_t k = 0; k < s->tables.n; k++) {
            const table *t = s->tables.at[k];
            if (strncmp(t->name, prefix, n) != 0 || !t->name[n] ||
                vs_find(s, t->name, b->x->latest) != t)
                continue;
            if (!p->cascade)
                sql_raise(CTX(b), "2BP01", "cannot drop schema \"%s\", which has tables", schema);
            arena_push(b->mem, &names, t->name);
        }
    }
    if (!names.n) p->kind = S_NOTHING;
    p->n_names = (uint32_t)names.n;
    p->names = names.at;
}
