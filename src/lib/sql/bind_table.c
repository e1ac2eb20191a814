/*
 * bind_table.c - tables, their constraints, what changes them, and views.
 *
 * Descriptions live as long as the store.  ALTER makes a new description; it is taken only in the
 * transaction that created the table, so that a state has one description of a table.
 */
#include <stdio.h>

#include "sql/bind.h"
#include "sql/pl.h"

#define CTX(b) (&(b)->x->c)

typedef struct making {
    table *t;
    VEC(unique_key) unique;
    VEC(expr *) checks;
    VEC(foreign_key) foreign;
    scope s;
} making;

/* The name that a constraint or index has, or that PostgreSQL gives it; NULL: it would shorten the
   name, or has to find another one. */
static const char *unique_name(binder *b, const making *m, const unique_key *u, const char *given,
                               const char *end)
{
    char name[64];
    size_t n = (size_t)snprintf(name, sizeof name, "%s", m->t->name);
    if (*given) return name_keep(b, given);
    for (uint32_t i = 0; !u->primary && i < u->n && n < sizeof name; i++)
        n += (size_t)snprintf(name + n, sizeof name - n, "_%s", m->t->cols[u->cols[i]].name);
    if (n < sizeof name)
        n += (size_t)snprintf(name + n, sizeof name - n, "_%s", u->primary ? "pkey" : end);
    if (n >= sizeof name || vs_find(b->x->s, name, b->x->latest)) return NULL;
    for (size_t i = 0; i < m->unique.n; i++)
        if (!m->unique.at[i].name || !strcmp(m->unique.at[i].name, name)) return NULL;
    return name_keep(b, name);
}

static void add_unique(binder *b, making *m, const PgQuery__Constraint *c, int column)
{
    uint32_t n = column >= 0 ? 1 : (uint32_t)c->n_keys;
    unique_key u = {.n = n,
                    .cols = arena_array(b->mem, uint32_t, n + 1),
                    .primary = c->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY};
    if (c->deferrable || c->nulls_not_distinct || c->n_including)
        sql_refuse(CTX(b), c->location, "deferrable, NULLS NOT DISTINCT or INCLUDE");
    for (uint32_t i = 0; i < n; i++) {
        u.cols[i] = column >= 0
                        ? (uint32_t)column
                        : column_named(b, m->t, string_of(b, c->keys[i], c->location), c->location);
        if (u.primary) m->t->cols[u.cols[i]].not_null = true;
    }
    u.name = unique_name(b, m, &u, c->conname, "key");
    arena_push(b->mem, &m->unique, u);
}

static void key_columns(binder *b, const table *t, node **names, size_t n, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) out[i] = column_named(b, t, string_of(b, names[i], -1), -1);
}

static refer_action action_of(binder *b, const PgQuery__Constraint *c, const char *word)
{
    switch (word ? *word : 'a') {
    case 'r':
    case 'a':
    case 0: return REFER_CHECK;
    case 'c': return REFER_CASCADE;
    case 'n': return REFER_NULL;
    default: sql_refuse(CTX(b), c->location, "ON DELETE SET DEFAULT");
    }
}

static void add_foreign(binder *b, making *m, const PgQuery__Constraint *c, int column)
{
    uint32_t n = column >= 0 ? 1 : (uint32_t)c->n_fk_attrs;
    foreign_key f = {.n = n, .cols = arena_array(b->mem, uint32_t, n + 1)};
    if (c->deferrable || c->skip_validation || *c->fk_matchtype == 'f' || c->n_fk_del_set_cols)
        sql_refuse(CTX(b), c->location, "this kind of foreign key");
    if (column >= 0)
        f.cols[0] = (uint32_t)column;
    else
        key_columns(b, m->t, c->fk_attrs, n, f.cols);
    f.parent = name_keep(b, c->pktable->relname);
    bool self = !strcmp(f.parent, m->t->name);
    const table *t = self ? m->t : bind_table(b, c->pktable);
    uint32_t n_unique = self ? (uint32_t)m->unique.n : t->n_unique;
    const unique_key *unique = self ? m->unique.at : t->unique;
    f.refs = arena_array(b->mem, uint32_t, n + 1);
    if (c->n_pk_attrs) {
        if (c->n_pk_attrs != n) sql_raise(CTX(b), "42830", "number of columns disagrees");
        key_columns(b, t, c->pk_attrs, n, f.refs);
    }
    bool found = false;
    for (uint32_t i = 0; i < n_unique && !found; i++) {
        uint32_t hits = 0;
        if (!c->n_pk_attrs && unique[i].primary && unique[i].n == n) {
            memcpy(f.refs, unique[i].cols, n * sizeof *f.refs);
            found = true;
        }
        for (uint32_t k = 0; c->n_pk_attrs && k < n; k++)
            for (uint32_t q = 0; q < unique[i].n; q++) hits += unique[i].cols[q] == f.refs[k];
        found |= c->n_pk_attrs && hits == n && unique[i].n == n;
    }
    if (!found) sql_raise(CTX(b), "42830", "there is no unique constraint matching given keys");
    for (uint32_t i = 0; i < n; i++)
        if (m->t->cols[f.cols[i]].t.id != t->cols[f.refs[i]].t.id)
            sql_refuse(CTX(b), c->location, "a foreign key of another type than what it refers to");
    f.on_delete = action_of(b, c, c->fk_del_action);
    f.on_update = action_of(b, c, c->fk_upd_action);
    arena_push(b->mem, &m->foreign, f);
}

static void add_constraint(binder *b, making *m, const PgQuery__Constraint *c, int column)
{
    switch (c->contype) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_NULL:
    case PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY: break;
    case PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL: m->t->cols[column].not_null = true; break;
    case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT: {
        scope none = {0};
        m->t->cols[column].fallback = assigned(b, &none, c->raw_expr, m->t->cols[column].t);
        break;
    }
    case PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED: {
        table_column *to = &m->t->cols[column];
        to->computed = expr_coerce(b, bind_expr(b, &m->s, c->raw_expr), to->t, CAST_ASSIGN);
        break;
    }
    case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK: {
        expr *e = bind_bool(b, &m->s, c->raw_expr, "CHECK");
        arena_push(b->mem, &m->checks, e);
        break;
    }
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY:
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE: add_unique(b, m, c, column); break;
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN: add_foreign(b, m, c, column); break;
    default: sql_refuse(CTX(b), c->location, "this kind of constraint");
    }
}

/* serial is an integer with a sequence for a default; what that gives is observed or not known. */
static void column_type(binder *b, const char *of_table, const PgQuery__ColumnDef *d,
                        table_column *c)
{
    static const struct {
        const char *name;
        type_id t;
    } serials[] = {{"serial", T_INT4},  {"serial4", T_INT4},     {"bigserial", T_INT8},
                   {"serial8", T_INT8}, {"smallserial", T_INT2}, {"serial2", T_INT2}};
    const PgQuery__TypeName *t = d->type_name;
    const char *word = t->n_names == 1 ? string_of(b, t->names[0], t->location) : "";
    bool counted = false;
    for (size_t i = 0; i < sizeof serials / sizeof serials[0]; i++)
        if (!strcmp(word, serials[i].name)) c->t = type_plain(serials[i].t), counted = true;
    if (!counted) c->t = bind_type(b, t);
    for (size_t i = 0; i < d->n_constraints; i++) {
        const PgQuery__Constraint *k = d->constraints[i]->constraint;
        if (k->contype != PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY) continue;
        counted = true;
        c->always = k->generated_when && *k->generated_when == 'a';
    }
    if (!counted) return;
    c->not_null = true;
    c->fallback = expr_new(b, E_OPEN, c->t, d->location, 0);
    char name[200];
    snprintf(name, sizeof name, "%.90s_%.90s_seq", of_table, c->name);
    c->fallback->index = vs_sequence(b->x->s, name);
}

void bind_create_table(binder *b, plan *p, const PgQuery__CreateStmt *c)
{
    p->kind = S_CREATE;
    p->quiet = c->if_not_exists;
    if (c->n_inh_relations || c->partbound || c->partspec || c->of_typename)
        sql_refuse(CTX(b), c->relation->location, "partitions, INHERITS and OF in CREATE TABLE");
    if (!strcmp(c->relation->relpersistence, "t"))
        sql_refuse(CTX(b), c->relation->location, "temporary tables");
    if (*c->relation->catalogname ||
        (*c->relation->schemaname && strcmp(c->relation->schemaname, "public") != 0))
        sql_refuse(CTX(b), c->relation->location, "schema \"%s\"", c->relation->schemaname);
    table *t = arena_get(b->mem, sizeof *t);
    memset(t, 0, sizeof *t);
    p->created = t;
    t->name = name_keep(b, c->relation->relname);
    VEC(table_column) cols = {0};
    for (size_t i = 0; i < c->n_table_elts; i++) {
        if (c->table_elts[i]->node_case != PG_QUERY__NODE__NODE_COLUMN_DEF) continue;
        const PgQuery__ColumnDef *d = c->table_elts[i]->column_def;
        if (d->coll_clause) sql_refuse(CTX(b), d->location, "COLLATE of a column");
        for (size_t k = 0; k < cols.n; k++)
            if (!strcmp(cols.at[k].name, d->colname))
                sql_raise(CTX(b), "42701", "column \"%s\" specified more than once", d->colname);
        table_column made = {.name = name_keep(b, d->colname)};
        column_type(b, t->name, d, &made);
        arena_push(b->mem, &cols, made);
    }
    t->n_cols = (uint32_t)cols.n;
    t->cols = cols.at;
    query *q = arena_get(b->mem, sizeof *q);
    memset(q, 0, sizeof *q);
    making m = {.t = t, .s = {.q = q}};
    arena_push(b->mem, &m.s.rels, ((relation){.name = t->name, .t = t}));
    int at = 0;
    for (size_t i = 0; i < c->n_table_elts; i++) {
        const node *n = c->table_elts[i];
        if (n->node_case == PG_QUERY__NODE__NODE_COLUMN_DEF) {
            const PgQuery__ColumnDef *d = n->column_def;
            for (size_t k = 0; k < d->n_constraints; k++)
                add_constraint(b, &m, d->constraints[k]->constraint, at);
            at++;
        } else if (n->node_case == PG_QUERY__NODE__NODE_CONSTRAINT) {
            add_constraint(b, &m, n->constraint, -1);
        } else {
            sql_refuse(CTX(b), -1, "LIKE in CREATE TABLE");
        }
    }
    t->n_unique = (uint32_t)m.unique.n;
    t->unique = m.unique.at;
    t->n_checks = (uint32_t)m.checks.n;
    t->checks = m.checks.at;
    t->n_foreign = (uint32_t)m.foreign.n;
    t->foreign = m.foreign.at;
}

/* ---- changes of tables, views ---------------------------------------------------------------- */

/* What there is, to be added to. */
static making making_of(binder *b, plan *p, const PgQuery__RangeVar *r)
{
    table *now = bind_table(b, r);
    table *t = arena_get(b->mem, sizeof *t);
    *t = *now;
    p->kind = S_ALTER;
    p->target = NULL;
    p->altered = now;
    p->created = t;
    t->cols = arena_array(b->mem, table_column, t->n_cols + 65u);
    memcpy(t->cols, now->cols, t->n_cols * sizeof *t->cols);
    query *q = arena_get(b->mem, sizeof *q);
    memset(q, 0, sizeof *q);
    making m = {.t = t, .s = {.q = q}};
    for (uint32_t i = 0; i < t->n_unique; i++) arena_push(b->mem, &m.unique, t->unique[i]);
    for (uint32_t i = 0; i < t->n_checks; i++) arena_push(b->mem, &m.checks, t->checks[i]);
    for (uint32_t i = 0; i < t->n_foreign; i++) arena_push(b->mem, &m.foreign, t->foreign[i]);
    arena_push(b->mem, &m.s.rels, ((relation){.name = t->name, .t = t}));
    return m;
}

static void made(making *m)
{
    m->t->n_unique = (uint32_t)m->unique.n;
    m->t->unique = m->unique.at;
    m->t->n_checks = (uint32_t)m->checks.n;
    m->t->checks = m->checks.at;
    m->t->n_foreign = (uint32_t)m->foreign.n;
    m->t->foreign = m->foreign.at;
}

void bind_index(binder *b, plan *p, const PgQuery__IndexStmt *i)
{
    p->kind = S_NOTHING; /* an index changes no answer, unless it is unique */
    bind_table(b, i->relation);
    if (!i->unique) return;
    making m = making_of(b, p, i->relation);
    unique_key u = {.n = (uint32_t)i->n_index_params,
                    .cols = arena_array(b->mem, uint32_t, i->n_index_params + 1),
                    .index = true};
    if (i->where_clause || i->nulls_not_distinct || i->n_index_including_params)
        sql_refuse(CTX(b), -1, "a unique index with WHERE, INCLUDE or NULLS NOT DISTINCT");
    for (uint32_t k = 0; k < u.n; k++) {
        const PgQuery__IndexElem *e = i->index_params[k]->index_elem;
        if (e->expr || !*e->name) sql_refuse(CTX(b), -1, "a unique index of an expression");
        u.cols[k] = column_named(b, m.t, e->name, -1);
    }
    u.name = unique_name(b, &m, &u, i->idxname, "idx");
    arena_push(b->mem, &m.unique, u);
    made(&m);
}

/* Indexes that are not unique are not kept: dropping one changes no answer. */
void bind_drop_index(binder *b, plan *p, const PgQuery__DropStmt *d)
{
    const store *s = b->x->s;
    for (size_t i = 0; i < d->n_objects; i++) {
        const node *n = d->objects[i];
        if (n->node_case != PG_QUERY__NODE__NODE_LIST || !n->list->n_items)
            sql_refuse(CTX(b), -1, "this DROP INDEX");
        const char *name = string_of(b, n->list->items[n->list->n_items - 1], -1);
        for (size_t t = 0; t < s->tables.n; t++)
            for (uint32_t k = 0; k < s->tables.at[t]->n_unique; k++) {
                const char *unique = s->tables.at[t]->unique[k].name;
                if (!unique || !strcmp(unique, name))
                    sql_refuse(CTX(b), -1, "DROP INDEX of what may be a unique index");
            }
    }
    p->kind = S_NOTHING;
}

/* Owner, storage and statistics change no answer. */
static bool keeps_table(const PgQuery__AlterTableCmd *c)
{
    switch (c->subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ChangeOwner:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetStatistics:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetRelOptions:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ResetRelOptions:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ClusterOn:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ReplicaIdentity: return true;
    default: return false;
    }
}

/* UNIQUE constraints alone have names that we know. */
static void drop_constraint(binder *b, making *m, const PgQuery__AlterTableCmd *c)
{
    for (size_t i = 0; i < m->unique.n; i++) {
        const unique_key *u = &m->unique.at[i];
        if (!u->name || u->primary || u->index || strcmp(u->name, c->name) != 0) continue;
        for (size_t t = 0; t < b->x->s->tables.n; t++)
            if (b->x->s->tables.at[t]->n_foreign)
                sql_refuse(CTX(b), -1, "DROP CONSTRAINT where foreign keys may rest on it");
        memmove(&m->unique.at[i], &m->unique.at[i + 1], (m->unique.n - i - 1) * sizeof *u);
        m->unique.n--;
        return;
    }
    sql_refuse(CTX(b), -1, "DROP CONSTRAINT of anything but UNIQUE");
}

static void alter_one(binder *b, making *m, const PgQuery__AlterTableCmd *c)
{
    table *t = m->t;
    switch (c->subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddColumn: {
        const PgQuery__ColumnDef *d = c->def->column_def;
        for (uint32_t i = 0; i < t->n_cols; i++)
            if (!strcmp(t->cols[i].name, d->colname)) {
                if (c->missing_ok) return;
                sql_raise(CTX(b), "42701", "column \"%s\" already exists", d->colname);
            }
        table_column made_column = {.name = name_keep(b, d->colname)};
        column_type(b, m->t->name, d, &made_column);
        t->cols[t->n_cols++] = made_column;
        for (size_t k = 0; k < d->n_constraints; k++)
            add_constraint(b, m, d->constraints[k]->constraint, (int)t->n_cols - 1);
        return;
    }
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddConstraint:
        add_constraint(b, m, c->def->constraint, -1);
        return;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetNotNull:
        t->cols[column_named(b, t, c->name, -1)].not_null = true;
        return;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropNotNull: {
        uint32_t at = column_named(b, t, c->name, -1);
        for (size_t i = 0; i < m->unique.n; i++)
            for (uint32_t k = 0; m->unique.at[i].primary && k < m->unique.at[i].n; k++)
                if (m->unique.at[i].cols[k] == at)
                    sql_raise(CTX(b), "42P16", "column \"%s\" is in a primary key", c->name);
        t->cols[at].not_null = false;
        return;
    }
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropColumn:
        sql_refuse(CTX(b), -1, "ALTER TABLE ... DROP COLUMN");
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropConstraint: drop_constraint(b, m, c); return;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AlterColumnType:
        sql_refuse(CTX(b), -1, "ALTER TABLE ... ALTER COLUMN ... TYPE");
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ColumnDefault: {
        scope none = {0};
        table_column *col = &t->cols[column_named(b, t, c->name, -1)];
        col->fallback = c->def ? assigned(b, &none, c->def, col->t) : NULL;
        return;
    }
    default: sql_refuse(CTX(b), -1, "this ALTER TABLE");
    }
}

void bind_alter(binder *b, plan *p, const PgQuery__AlterTableStmt *a)
{
    if (a->objtype != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE || a->n_cmds > 64)
        sql_refuse(CTX(b), -1, "this ALTER");
    making m = making_of(b, p, a->relation);
    bool changes = false;
    for (size_t i = 0; i < a->n_cmds; i++) {
        const PgQuery__AlterTableCmd *c = a->cmds[i]->alter_table_cmd;
        if (keeps_table(c)) continue;
        alter_one(b, &m, c);
        changes = true;
    }
    made(&m);
    if (changes) return;
    p->kind = S_NOTHING;
    p->altered = p->created = NULL;
}

void bind_view(binder *b, plan *p, const PgQuery__ViewStmt *v)
{
    p->kind = S_VIEW;
    p->quiet = v->replace;
    if (v->n_options || v->with_check_option > PG_QUERY__VIEW_CHECK_OPTION__NO_CHECK_OPTION ||
        *v->view->schemaname || *v->view->relpersistence != 'p')
        sql_refuse(CTX(b), v->view->location, "this kind of view");
    routine *r = p->routine = arena_get(b->mem, sizeof *r);
    memset(r, 0, sizeof *r);
    r->name = name_keep(b, v->view->relname);
    r->view = pl_after(b->x, b->mem, b->text, "as");
    r->n_names = (uint32_t)v->n_aliases;
    r->names = arena_array(b->mem, const char *, v->n_aliases + 1);
    for (size_t i = 0; i < v->n_aliases; i++)
        r->names[i] = name_keep(b, string_of(b, v->aliases[i], -1));
    const query *q = bind_query(b, v->query); /* what is wrong with it is told now */
    if (v->n_aliases > q->n_out) sql_raise(CTX(b), "42601", "more columns than the query has");
    for (uint32_t i = 0; i < q->n_out; i++)
        for (uint32_t k = 0; k < i && !v->n_aliases; k++)
            if (!strcmp(q->out[i].name, q->out[k].name))
                sql_raise(CTX(b), "42701", "column \"%s\" specified more than once",
                          q->out[i].name);
}

void bind_truncate(binder *b, plan *p, const PgQuery__TruncateStmt *t)
{
    p->kind = S_TRUNCATE;
    p->cascade = t->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
    p->n_names = (uint32_t)t->n_relations;
    p->names = arena_array(b->mem, const char *, t->n_relations + 1);
    for (size_t i = 0; i < t->n_relations; i++) {
        bind_table(b, t->relations[i]->range_var);
        p->names[i] = name_keep(b, t->relations[i]->range_var->relname);
    }
}
