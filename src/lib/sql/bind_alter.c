/*
 * bind_alter.c - ALTER TABLE and unique indexes: the description that a table has afterwards.
 *
 * Columns keep their numbers, since constraints, other tables' foreign keys and the versions of
 * rows know them by these.  A column that is dropped stays, without a name, until bind_packed.c
 * takes it out.  An index of an expression, or with WHERE, is a unique key of hidden columns that
 * are computed like GENERATED ones: an expression, or with WHERE the key where the condition is
 * true and null elsewhere, and nulls are never equal.
 */
#include <stdio.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

/* ---- unique indexes -------------------------------------------------------------------------- */

const char *unique_name(binder *b, const making *m, const unique_key *u, const char *given,
                        const char *end)
{
    char name[64];
    const char *bare = bare_table_name(m->t->name);
    size_t n = (size_t)snprintf(name, sizeof name, "%s", bare);
    if (*given) return name_keep(b, given);
    if (u->n_keys) return NULL;
    for (uint32_t i = 0; !u->primary && i < u->n && n < sizeof name; i++)
        n += (size_t)snprintf(name + n, sizeof name - n, "_%s", m->t->cols[u->cols[i]].name);
    if (n < sizeof name)
        n += (size_t)snprintf(name + n, sizeof name - n, "_%s", u->primary ? "pkey" : end);
    if (n >= sizeof name || vs_find(b->x->s, name, b->x->latest)) return NULL;
    for (size_t i = 0; i < m->unique.n; i++)
        if (!m->unique.at[i].name || !strcmp(m->unique.at[i].name, name)) return NULL;
    return name_keep(b, name);
}

static bool needs_database(const expr *e)
{
    if (e->kind == E_OPEN || e->kind == E_ROUTINE || e->kind == E_PARAM || e->q) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (needs_database(e->arg[i])) return true;
    return false;
}

static uint32_t hidden_column(binder *b, making *m, expr *e)
{
    table *t = m->t;
    if (needs_database(e)) sql_refuse(CTX(b), e->position, "this expression in a unique index");
    t->cols[t->n_cols] = (table_column){.name = "", .t = type_plain(e->t.id), .computed = e};
    return t->n_cols++;
}

/* The key where the condition is true, else null. */
static expr *key_where(binder *b, expr *key, expr *where)
{
    if (!where) return key;
    expr *e = expr_new(b, E_CASE, type_plain(key->t.id), key->position, 3);
    e->arg[0] = where;
    e->arg[1] = key;
    e->arg[2] = expr_new(b, E_CONST, type_plain(key->t.id), -1, 0);
    return e;
}

static void index_key(binder *b, making *m, unique_key *u, uint32_t k, const PgQuery__IndexElem *e)
{
    expr *key;
    if (e->n_opclass || e->n_collation)
        sql_refuse(CTX(b), -1, "a unique index with an operator class or collation");
    if (e->expr) {
        key = bind_expr(b, &m->s, e->expr);
        expr_settle(b, key);
    } else {
        key = column_of(b, &m->s.rels.at[0], column_named(b, m->t, e->name, -1), 0, -1);
    }
    u->keys[k] = key;
    if (!e->expr && !u->where) {
        u->cols[k] = key->index;
        return;
    }
    if (key->t.id == T_JSON || key->t.id == T_CHAR)
        sql_refuse(CTX(b), -1, "a unique index of this type");
    u->cols[k] = hidden_column(b, m, key_where(b, key, u->where));
    u->n_keys = u->n;
}

void bind_index(binder *b, plan *p, const PgQuery__IndexStmt *i)
{
    p->kind = S_NOTHING; /* an index changes no answer, unless it is unique */
    table *now = bind_table(b, i->relation);
    if (!i->unique) return;
    if (now->parts) sql_refuse(CTX(b), -1, "a unique index of a partitioned table");
    if (i->nulls_not_distinct && i->where_clause)
        sql_refuse(CTX(b), -1, "a unique index with NULLS NOT DISTINCT and WHERE");
    if (i->n_index_params > 32) sql_refuse(CTX(b), -1, "a unique index of this width");
    making m = making_of(b, p, now);
    unique_key u = {.n = (uint32_t)i->n_index_params,
                    .cols = arena_array(b->mem, uint32_t, i->n_index_params + 1),
                    .keys = arena_array(b->mem, expr *, i->n_index_params + 1),
                    .index = true,
                    .nulls_equal = i->nulls_not_distinct};
    if (i->where_clause) {
        u.where = bind_bool(b, &m.s, i->where_clause, "WHERE");
        u.n_keys = u.n;
    }
    for (uint32_t k = 0; k < u.n; k++) index_key(b, &m, &u, k, i->index_params[k]->index_elem);
    for (size_t k = 0; i->if_not_exists && k < m.unique.n; k++) {
        if (m.unique.at[k].name && strcmp(m.unique.at[k].name, i->idxname) != 0) continue;
        sql_refuse(CTX(b), -1, "CREATE UNIQUE INDEX IF NOT EXISTS of what may exist");
    }
    u.name = unique_name(b, &m, &u, i->idxname, "idx");
    arena_push(b->mem, &m.unique, u);
    making_done(&m);
}

/* Indexes that are not unique are not kept: dropping one changes no answer. */
void bind_drop_index(binder *b, plan *p, const PgQuery__DropStmt *d)
{
    const store *s = b->x->s;
    p->kind = S_NOTHING;
    for (size_t i = 0; i < d->n_objects; i++) {
        const char *name = bare_table_name(named_table_key(b, d->objects[i]));
        for (size_t t = 0; t < s->tables.n; t++) {
            table *of = s->tables.at[t];
            if (vs_find(s, of->name, b->x->latest) != of) continue;
            for (uint32_t k = 0; k < of->n_unique; k++) {
                const unique_key *u = &of->unique[k];
                if (u->name && strcmp(u->name, name) != 0) continue;
                if (!u->name || !u->index || d->n_objects > 1)
                    sql_refuse(CTX(b), -1, "DROP INDEX of what may be a unique index");
                making m = making_of(b, p, of);
                memmove(&m.unique.at[k], &m.unique.at[k + 1], (m.unique.n - k - 1) * sizeof *u);
                m.unique.n--;
                making_done(&m);
                return;
            }
        }
    }
}

/* ---- ALTER TABLE ----------------------------------------------------------------------------- */

/* Owner, storage and statistics change no answer. */
static bool keeps_table(const PgQuery__AlterTableCmd *c)
{
    switch (c->subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ChangeOwner:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetStatistics:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetStorage:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetCompression:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetRelOptions:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ResetRelOptions:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ClusterOn:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DisableRowSecurity:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_NoForceRowSecurity:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ReplicaIdentity: return true;
    default: return false;
    }
}

/* Policies do not bind the owner of a table, and who enables them is one.  Other sessions may
   belong to other users. */
static bool secures_rows(binder *b, const PgQuery__AlterTableCmd *c)
{
    if (c->subtype != PG_QUERY__ALTER_TABLE_TYPE__AT_EnableRowSecurity) return false;
    if (!b->x->single_session) sql_refuse(CTX(b), -1, "ROW LEVEL SECURITY beside other sessions");
    return true;
}

static void remove_unique(making *m, size_t i)
{
    memmove(&m->unique.at[i], &m->unique.at[i + 1], (m->unique.n - i - 1) * sizeof *m->unique.at);
    m->unique.n--;
}

static void remove_check(making *m, size_t i)
{
    size_t after = m->checks.n - i - 1;
    memmove(&m->checks.at[i], &m->checks.at[i + 1], after * sizeof *m->checks.at);
    memmove(&m->check_names.at[i], &m->check_names.at[i + 1], after * sizeof *m->check_names.at);
    m->checks.n--;
    m->check_names.n--;
}

static void remove_foreign(making *m, size_t i)
{
    memmove(&m->foreign.at[i], &m->foreign.at[i + 1],
            (m->foreign.n - i - 1) * sizeof *m->foreign.at);
    m->foreign.n--;
}

static bool is_named(const char *name, const char *wanted, bool *unknown)
{
    if (!name) *unknown = true;
    return name && !strcmp(name, wanted);
}

static void drop_constraint(binder *b, plan *p, making *m, const PgQuery__AlterTableCmd *c)
{
    bool unknown = false;
    if (m->t->n_loose) sql_refuse(CTX(b), -1, "DROP CONSTRAINT beside one that is NOT VALID");
    for (size_t i = 0; i < m->unique.n; i++) {
        const unique_key *u = &m->unique.at[i];
        if (!is_named(u->name, c->name, &unknown) || u->index) continue;
        if (refer_child(b->x, p->altered, NULL, 0) || m->foreign.n)
            sql_refuse(CTX(b), -1, "DROP CONSTRAINT where foreign keys may rest on it");
        remove_unique(m, i);
        return;
    }
    for (size_t i = 0; i < m->checks.n; i++)
        if (is_named(m->check_names.at[i], c->name, &unknown)) {
            remove_check(m, i);
            return;
        }
    for (size_t i = 0; i < m->foreign.n; i++)
        if (is_named(m->foreign.at[i].name, c->name, &unknown)) {
            remove_foreign(m, i);
            return;
        }
    if (unknown) sql_refuse(CTX(b), -1, "DROP CONSTRAINT of one whose name is not known");
    if (!c->missing_ok)
        sql_raise(CTX(b), "42704", "constraint \"%s\" of relation \"%s\" does not exist", c->name,
                  m->t->name);
}

/* Another table refers to the column. */
static bool is_referred_to(const binder *b, const table *t, uint32_t column)
{
    const store *s = b->x->s;
    for (size_t i = 0; i < s->tables.n; i++) {
        const table *o = s->tables.at[i];
        if (vs_find(s, o->name, b->x->latest) != o) continue;
        for (uint32_t k = 0; k < o->n_foreign; k++)
            for (uint32_t c = 0; c < o->foreign[k].n; c++)
                if (!strcmp(o->foreign[k].parent, t->name) && o->foreign[k].refs[c] == column)
                    return true;
    }
    return false;
}

static bool key_has(const making *m, const unique_key *u, uint32_t column)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (u->cols[i] == column || reads_column(m->t->cols[u->cols[i]].computed, column))
            return true;
    return u->where && reads_column(u->where, column);
}

static void drop_column(binder *b, plan *p, making *m, const PgQuery__AlterTableCmd *c)
{
    table *t = m->t;
    uint32_t at = 0;
    while (at < t->n_cols && strcmp(t->cols[at].name, c->name) != 0) at++;
    if (at == t->n_cols && c->missing_ok) return;
    at = column_named(b, t, c->name, -1);
    if (alter_view_reads(b->x, t)) sql_refuse(CTX(b), -1, "DROP COLUMN of what a view may read");
    bool used = is_referred_to(b, p->altered, at);
    for (size_t i = 0; i < m->foreign.n; i++) /* of this table to itself */
        for (uint32_t k = 0; k < m->foreign.at[i].n; k++)
            if (!strcmp(m->foreign.at[i].parent, t->name) && m->foreign.at[i].refs[k] == at)
                sql_refuse(CTX(b), -1, "DROP COLUMN that the table itself refers to");
    for (uint32_t i = 0; i < t->n_cols; i++)
        used |= !column_hidden(&t->cols[i]) && reads_column(t->cols[i].computed, at);
    if (used && c->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE)
        sql_refuse(CTX(b), -1, "DROP COLUMN ... CASCADE of a column that something depends on");
    if (used) sql_raise(CTX(b), "2BP01", "other objects depend on column \"%s\"", c->name);
    for (size_t i = m->unique.n; i-- > 0;)
        if (key_has(m, &m->unique.at[i], at)) remove_unique(m, i);
    for (size_t i = m->checks.n; i-- > 0;)
        if (reads_column(m->checks.at[i], at)) remove_check(m, i);
    for (size_t i = m->foreign.n; i-- > 0;)
        for (uint32_t k = 0; k < m->foreign.at[i].n; k++)
            if (m->foreign.at[i].cols[k] == at) {
                remove_foreign(m, i);
                break;
            }
    for (uint32_t i = 0; i < t->n_cols; i++) /* what indexes had computed from it */
        if (column_hidden(&t->cols[i]) && reads_column(t->cols[i].computed, at))
            t->cols[i].computed = NULL;
    t->cols[at] = (table_column){.name = "", .t = t->cols[at].t, .holes = t->cols[at].holes};
}

/* Changes that PostgreSQL makes without writing the rows anew. */
static bool keeps_values(type from, type to)
{
    bool text = from.id == T_VARCHAR && (to.id == T_VARCHAR || to.id == T_TEXT);
    if (text) return to.width < 0 || (from.width >= 0 && from.width <= to.width);
    if (from.id == T_TEXT && to.id == T_VARCHAR) return to.width < 0;
    if (from.id != to.id) return false;
    if (from.id == T_NUMERIC)
        return to.width < 0 ||
               (from.width >= 0 && from.scale == to.scale && from.width <= to.width);
    if (from.id == T_STAMP || from.id == T_STAMPTZ || from.id == T_TIME)
        return to.width < 0 || (from.width >= 0 && from.width <= to.width);
    return from.width == to.width && from.scale == to.scale;
}

/* Values of both types are kept and compared in the same way. */
static bool is_alike(type from, type to)
{
    bool texts =
        (from.id == T_TEXT || from.id == T_VARCHAR) && (to.id == T_TEXT || to.id == T_VARCHAR);
    return texts || (type_is_int(from.id) && type_is_int(to.id));
}

/* Nothing in the condition depends on the type of a column beyond how its values compare. */
static bool only_compares(const expr *e)
{
    switch (e->kind) {
    case E_CONST:
    case E_COLUMN:
    case E_AND:
    case E_OR:
    case E_NOT:
    case E_COMPARE:
    case E_IS_NULL: break;
    case E_CAST:
        if (e->t.id != T_TEXT || !type_is_text(e->arg[0]->t.id) || e->arg[0]->t.id == T_CHAR)
            return false;
        break;
    default: return false;
    }
    for (uint32_t i = 0; i < e->n; i++)
        if (!only_compares(e->arg[i])) return false;
    return true;
}

static void retype_column(binder *b, plan *p, making *m, const PgQuery__AlterTableCmd *c)
{
    table *t = m->t;
    const PgQuery__ColumnDef *d = c->def->column_def;
    uint32_t at = column_named(b, t, c->name, -1);
    type to = bind_type(b, d->type_name), from = t->cols[at].t;
    bool alike = is_alike(from, to) && !d->raw_default,
         used = t->cols[at].computed || d->coll_clause;
    if (alter_view_reads(b->x, t)) sql_refuse(CTX(b), -1, "TYPE of what a view may read");
    for (uint32_t i = 0; i < t->n_cols; i++) used |= reads_column(t->cols[i].computed, at);
    for (size_t i = 0; i < m->checks.n; i++)
        used |= reads_column(m->checks.at[i], at) && !(alike && only_compares(m->checks.at[i]));
    used |= !alike && is_referred_to(b, p->altered, at);
    for (size_t i = 0; !alike && i < m->foreign.n; i++)
        for (uint32_t k = 0; k < m->foreign.at[i].n; k++) used |= m->foreign.at[i].cols[k] == at;
    if (used)
        sql_refuse(CTX(b), -1,
                   "ALTER TABLE ... TYPE of a column with other constraints than UNIQUE");
    if (!p->convert) {
        p->convert = arena_array(b->mem, expr *, t->n_cols + 65u);
        memset(p->convert, 0, (t->n_cols + 65u) * sizeof *p->convert);
    }
    if (t->n_cols != p->altered->n_cols || p->convert[at])
        sql_refuse(CTX(b), -1, "ALTER TABLE ... TYPE beside other changes");
    relation old = {.name = bare_table_name(t->name), .t = p->altered};
    if (d->raw_default) {
        scope s = {.q = m->s.q};
        arena_push(b->mem, &s.rels, old);
        expr *e = bind_expr(b, &s, d->raw_default);
        if (needs_database(e)) sql_refuse(CTX(b), -1, "USING of this expression");
        p->convert[at] = expr_coerce(b, e, to, CAST_ASSIGN);
    } else if (!keeps_values(from, to)) {
        p->convert[at] = expr_coerce(b, column_of(b, &old, at, 0, -1), to, CAST_ASSIGN);
    }
    if (t->cols[at].fallback)
        t->cols[at].fallback = expr_coerce(b, t->cols[at].fallback, to, CAST_ASSIGN);
    t->cols[at].t = to;
}

static void add_new_column(binder *b, making *m, const PgQuery__AlterTableCmd *c)
{
    table *t = m->t;
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
}

/* ADD CONSTRAINT; NOT VALID tests new rows alone. */
static void add_late(binder *b, plan *p, making *m, PgQuery__Constraint *c)
{
    bool loose = c->skip_validation && !c->initially_valid, unknown = false, taken = false;
    for (size_t i = 0; *c->conname && i < m->check_names.n; i++)
        taken |= is_named(m->check_names.at[i], c->conname, &unknown);
    for (size_t i = 0; *c->conname && i < m->foreign.n; i++)
        taken |= is_named(m->foreign.at[i].name, c->conname, &unknown);
    if (taken)
        sql_raise(CTX(b), "42710", "constraint \"%s\" for relation \"%s\" already exists",
                  c->conname, m->t->name);
    bool known = c->contype == PG_QUERY__CONSTR_TYPE__CONSTR_CHECK ||
                 c->contype == PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN;
    if (loose && !known) sql_refuse(CTX(b), c->location, "NOT VALID of this constraint");
    if (!loose) {
        add_constraint(b, m, c, -1);
        return;
    }
    PgQuery__Constraint tested = *c;
    tested.skip_validation = false;
    add_constraint(b, m, &tested, -1);
    m->t->n_loose++;
    p->tests_none = true;
}

/* VALIDATE CONSTRAINT: the rows that were there when it was added are tested now. */
static void validate(binder *b, plan *p, making *m, const PgQuery__AlterTableCmd *c)
{
    bool unknown = false, found = false;
    for (size_t i = 0; i < m->check_names.n; i++)
        found |= is_named(m->check_names.at[i], c->name, &unknown);
    for (size_t i = 0; i < m->foreign.n; i++)
        found |= is_named(m->foreign.at[i].name, c->name, &unknown);
    if (!found) sql_refuse(CTX(b), -1, "VALIDATE CONSTRAINT of one whose name is not known");
    if (m->t->unguarded) sql_refuse(CTX(b), -1, "VALIDATE beside DISABLE TRIGGER ALL");
    if (!m->t->n_loose) return; /* all are valid: nothing is tested */
    if (m->t->n_loose > 1)
        sql_refuse(CTX(b), -1, "VALIDATE CONSTRAINT beside another one that is NOT VALID");
    m->t->n_loose = 0;
    p->tests_all = true;
}

static void alter_one(binder *b, plan *p, making *m, const PgQuery__AlterTableCmd *c)
{
    table *t = m->t;
    switch (c->subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddColumn: add_new_column(b, m, c); return;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddConstraint:
        add_late(b, p, m, c->def->constraint);
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
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropColumn: drop_column(b, p, m, c); return;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropConstraint: drop_constraint(b, p, m, c); return;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AlterColumnType: retype_column(b, p, m, c); return;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ValidateConstraint: validate(b, p, m, c); return;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ColumnDefault: {
        scope none = {0};
        table_column *col = &t->cols[column_named(b, t, c->name, -1)];
        col->fallback = c->def ? assigned(b, &none, c->def, col->t) : NULL;
        return;
    }
    default:
        if (!bind_switch_trigger(b, m, c)) sql_refuse(CTX(b), -1, "this ALTER TABLE");
    }
}

void bind_alter(binder *b, plan *p, const PgQuery__AlterTableStmt *a)
{
    if (a->objtype != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE || a->n_cmds > 64)
        sql_refuse(CTX(b), -1, "this ALTER");
    table *now = bind_table(b, a->relation);
    if (now->read_only) sql_refuse(CTX(b), -1, "ALTER of a materialized view");
    if (now->parts) sql_refuse(CTX(b), -1, "ALTER of a partitioned table");
    making m = making_of(b, p, now);
    bool changes = false;
    for (size_t i = 0; i < a->n_cmds; i++) {
        const PgQuery__AlterTableCmd *c = a->cmds[i]->alter_table_cmd;
        if (keeps_table(c) || secures_rows(b, c)) continue;
        alter_one(b, p, &m, c);
        changes = true;
    }
    bind_pack_columns(b, p, &m);
    making_done(&m);
    if ((p->tests_none || p->tests_all) && a->n_cmds > 1)
        sql_refuse(CTX(b), -1, "NOT VALID or VALIDATE beside other changes");
    if (p->convert && m.t->n_cols != p->altered->n_cols)
        sql_refuse(CTX(b), -1, "ALTER TABLE ... TYPE beside other changes");
    if (changes) return;
    p->kind = S_NOTHING;
    p->altered = p->created = NULL;
}
