/*
 * bind_catalog.c - queries of the system catalogs, which drivers and frameworks send.
 *
 * What the catalogs hold is nothing that a log tells.  In PostgreSQL's dialect, and in a log that
 * was recorded on the way, the rows are not compared (S_UNSEEN) and the audit counts such queries;
 * elsewhere they are refused.
 * Only a SELECT that locks nothing, names no table of the log's and calls no function of the log's
 * is taken: nothing else can depend on it.  The whole parse tree is looked at, by the descriptions
 * that libpg_query's messages carry.
 */
#include <assert.h>
#include <strings.h>

#include "sql/bind.h"

typedef struct catalog_look {
    const sql_exec *x;
    bool asks;  /* a catalog, or a function of the server itself */
    bool other; /* something that is not: a table of the log's, a function that may do something */
} catalog_look;

/* Functions of the server itself; a dash: all that begin so. */
static const char *const server_functions[] = {
    "col_description",
    "current_database",
    "current_schema",
    "current_schemas",
    "format_type",
    "has_-",
    "inet_-",
    "obj_description",
    "pg_-",
    "shobj_description",
    "to_regclass",
    "to_regnamespace",
    "to_regproc",
    "to_regtype",
    "txid_-",
    "version",
};
/* Those of them, and others, that do something. */
static const char *const acting_functions[] = {
    "dblink-",      "lo_-",       "nextval",   "pg_advisory-",
    "pg_logical-",  "pg_notify",  "pg_sleep-", "pg_try_advisory-",
    "query_to_xml", "set_config", "setval",
};
static const char *const catalog_types[] = {
    "name",    "oid",     "regclass",     "regnamespace", "regoper",
    "regproc", "regrole", "regprocedure", "regtype",
};

static bool is_listed(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(list[i]);
        assert(len > 1);
        bool begins = list[i][len - 1] == '-';
        if (begins ? !strncmp(name, list[i], len - 1) : !strcmp(name, list[i])) return true;
    }
    return false;
}
#define IS_LISTED(list, name) is_listed(list, sizeof(list) / sizeof(list)[0], name)

static bool is_catalog_schema(const char *schema)
{
    return !strcmp(schema, "pg_catalog") || !strcmp(schema, "information_schema");
}

static void look_at_table(catalog_look *k, const PgQuery__RangeVar *r)
{
    const store *s = k->x->s;
    if (is_catalog_schema(r->schemaname)) {
        k->asks = true;
        return;
    }
    for (size_t i = 0; i < s->tables.n; i++)
        k->other |= !strcmp(bare_table_name(s->tables.at[i]->name), r->relname);
    k->other |= vs_routine(s, r->relname, k->x->latest, 0) != NULL; /* a view */
    k->asks |= !strncmp(r->relname, "pg_", 3);
}

static const char *last_text(node **list, size_t n)
{
    const node *last = n ? list[n - 1] : NULL;
    return last && last->node_case == PG_QUERY__NODE__NODE_STRING ? last->string->sval : "";
}

static void look_at_call(catalog_look *k, const PgQuery__FuncCall *f)
{
    const char *name = last_text(f->funcname, f->n_funcname);
    k->other |= IS_LISTED(acting_functions, name) || vs_routine(k->x->s, name, k->x->latest, 0);
    k->asks |= IS_LISTED(server_functions, name);
}

static void look(catalog_look *k, const ProtobufCMessage *m);

static void look_at_field(catalog_look *k, const ProtobufCMessage *m,
                          const ProtobufCFieldDescriptor *f)
{
    if (f->type != PROTOBUF_C_TYPE_MESSAGE) return;
    const char *at = (const char *)m + f->offset, *counter = (const char *)m + f->quantifier_offset;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        ProtobufCMessage *const *list = *(ProtobufCMessage *const *const *)(const void *)at;
        size_t n = *(const size_t *)(const void *)counter;
        for (size_t i = 0; i < n; i++) look(k, list[i]);
        return;
    }
    bool one_of = (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    if (one_of && *(const uint32_t *)(const void *)counter != f->id) return;
    look(k, *(const ProtobufCMessage *const *)(const void *)at);
}

static void look(catalog_look *k, const ProtobufCMessage *m)
{
    if (!m || k->other) return;
    const ProtobufCMessageDescriptor *d = m->descriptor;
    assert(d && !k->other);
    if (d == &pg_query__range_var__descriptor)
        look_at_table(k, (const PgQuery__RangeVar *)(const void *)m);
    else if (d == &pg_query__func_call__descriptor)
        look_at_call(k, (const PgQuery__FuncCall *)(const void *)m);
    else if (d == &pg_query__type_name__descriptor)
        k->asks |= IS_LISTED(catalog_types,
                             last_text(((const PgQuery__TypeName *)(const void *)m)->names,
                                       ((const PgQuery__TypeName *)(const void *)m)->n_names));
    else if (d == &pg_query__insert_stmt__descriptor || d == &pg_query__update_stmt__descriptor ||
             d == &pg_query__delete_stmt__descriptor || d == &pg_query__into_clause__descriptor ||
             d == &pg_query__locking_clause__descriptor)
        k->other = true;
    for (unsigned i = 0; i < d->n_fields; i++) look_at_field(k, m, &d->fields[i]);
}

bool bind_asks_catalogs(const sql_exec *x, const PgQuery__ParseResult *tree)
{
    catalog_look k = {.x = x};
    const node *n = tree->n_stmts == 1 ? tree->stmts[0]->stmt : NULL;
    if (!n || n->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) return false;
    assert(n->select_stmt);
    look(&k, &n->select_stmt->base);
    return k.asks && !k.other;
}
