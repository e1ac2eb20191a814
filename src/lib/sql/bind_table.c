/*
 * bind_table.c - tables and their constraints.
 *
 * Descriptions live as long as the store.  What alters a table makes a new description of it.
 */
#include <assert.h>
#include <stdio.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

bool reads_column(const expr *e, uint32_t column)
{
    if (!e) return false;
    if (e->kind == E_COLUMN && !e->up && e->index == column) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (reads_column(e->arg[i], column)) return true;
    return false;
}

/* TABLE_COLUMN_end, as PostgreSQL calls constraints that have no name; NULL: it would shorten the
   name, or has to find another one. */
static const char *default_name(binder *b, const making *m, const uint32_t *cols, uint32_t n,
                                const char *end)
{
    char name[64];
    size_t len = (size_t)snprintf(name, sizeof name, "%s", bare_table_name(m->t->name));
    for (uint32_t i = 0; i < n && len < sizeof name; i++)
        len += (size_t)snprintf(name + len, sizeof name - len, "_%s", m->t->cols[cols[i]].name);
    if (len < sizeof name) len += (size_t)snprintf(name + len, sizeof name - len, "_%s", end);
    if (len >= sizeof name) return NULL;
    for (size_t i = 0; i < m->check_names.n; i++)
        if (!m->check_names.at[i] || !strcmp(m->check_names.at[i], name)) return NULL;
    for (size_t i = 0; i < m->foreign.n; i++)
        if (!m->foreign.at[i].name || !strcmp(m->foreign.at[i].name, name)) return NULL;
    return name_keep(b, name);
}

static const char *check_name(binder *b, const making *m, const expr *e, const char *given)
{
    uint32_t n = 0, column = 0;
    if (*given) return name_keep(b, given);
    for (uint32_t c = 0; c < m->t->n_cols; c++)
        if (reads_column(e, c)) n++, column = c;
    return default_name(b, m, &column, n == 1, "check");
}

/* What it is tested beside would come in an order that is not known here. */
static void refuse_deferrable(binder *b, const making *m, const PgQuery__Constraint *c)
{
    if (m->t->n_triggers)
        sql_refuse(CTX(b), c->location, "a deferrable constraint of a table with triggers");
    if (m->t->parts) sql_refuse(CTX(b), c->location, "a deferrable constraint over partitions");
}

static void add_unique(binder *b, making *m, const PgQuery__Constraint *c, int column)
{
    uint32_t n = column >= 0 ? 1 : (uint32_t)c->n_keys;
    unique_key u = {.n = n,
                    .cols = arena_array(b->mem, uint32_t, n + 1),
                    .primary = c->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY};
    u.nulls_equal = c->nulls_not_distinct;
    u.deferrable = c->deferrable;
    u.deferred = c->initdeferred;
    for (uint32_t i = 0; i < n; i++) {
        u.cols[i] = column >= 0
                        ? (uint32_t)column
                        : column_named(b, m->t, string_of(b, c->keys[i], c->location), c->location);
        if (u.primary) m->t->cols[u.cols[i]].not_null = true;
    }
    u.name = unique_name(b, m, &u, c->conname, "key");
    if (u.deferrable) refuse_deferrable(b, m, c);
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
    case 'd': return REFER_DEFAULT;
    default: sql_refuse(CTX(b), c->location, "this action of a foreign key");
    }
}

static bool restricts(const char *action)
{
    return action && *action == 'r';
}

static void refuse_late_restrict(binder *b, const PgQuery__Constraint *c, const foreign_key *f)
{
    if (f->deferrable && f->restricts)
        sql_refuse(CTX(b), c->location, "a deferrable foreign key with RESTRICT");
}

/* [NOT] DEFERRABLE, INITIALLY ... behind a constraint of a column. */
static bool add_attribute(binder *b, making *m, const PgQuery__Constraint *c)
{
    switch (c->contype) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_NOT_DEFERRABLE:
    case PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_IMMEDIATE: return true;
    case PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_DEFERRABLE:
    case PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_DEFERRED: break;
    default: return false;
    }
    bool deferred = c->contype == PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_DEFERRED;
    if (m->behind_unique) {
        unique_key *u = &m->unique.at[m->unique.n - 1];
        u->deferrable = true;
        u->deferred |= deferred;
        refuse_deferrable(b, m, c);
        return true;
    }
    if (!m->behind_key) sql_refuse(CTX(b), c->location, "a deferrable constraint of this kind");
    foreign_key *f = &m->foreign.at[m->foreign.n - 1];
    assert(m->foreign.n);
    f->deferrable = true;
    refuse_late_restrict(b, c, f);
    f->deferred |= deferred;
    return true;
}

/* Keys of both types are kept, looked up and compared in the same way. */
static bool compares_alike(type_id a, type_id b)
{
    bool texts = (a == T_TEXT || a == T_VARCHAR) && (b == T_TEXT || b == T_VARCHAR);
    return a == b || texts || (type_is_int(a) && type_is_int(b));
}

/* The unique key that is referred to: of the columns that are named, or else the primary one, whose
   columns are filled in. */
static const unique_key *referred_key(const unique_key *unique, uint32_t n_unique, foreign_key *f,
                                      bool named)
{
    for (uint32_t i = 0; i < n_unique; i++) {
        const unique_key *u = &unique[i];
        uint32_t hits = 0;
        if (u->n != f->n) continue;
        if (!named && u->primary) {
            memcpy(f->refs, u->cols, f->n * sizeof *f->refs);
            return u;
        }
        for (uint32_t k = 0; named && k < f->n; k++)
            for (uint32_t q = 0; q < u->n; q++) hits += u->cols[q] == f->refs[k];
        if (named && hits == f->n) return u;
    }
    return NULL;
}

static void add_foreign(binder *b, making *m, const PgQuery__Constraint *c, int column)
{
    uint32_t n = column >= 0 ? 1 : (uint32_t)c->n_fk_attrs;
    foreign_key f = {.n = n, .cols = arena_array(b->mem, uint32_t, n + 1)};
    if (c->skip_validation || *c->fk_matchtype == 'f' || c->n_fk_del_set_cols)
        sql_refuse(CTX(b), c->location, "this kind of foreign key");
    if (column >= 0)
        f.cols[0] = (uint32_t)column;
    else
        key_columns(b, m->t, c->fk_attrs, n, f.cols);
    f.parent = table_key(b, c->pktable->catalogname, c->pktable->schemaname, c->pktable->relname,
                         c->pktable->location);
    bool self = !strcmp(f.parent, m->t->name);
    const table *t = self ? m->t : bind_table(b, c->pktable);
    uint32_t n_unique = self ? (uint32_t)m->unique.n : t->n_unique;
    const unique_key *unique = self ? m->unique.at : t->unique;
    f.refs = arena_array(b->mem, uint32_t, n + 1);
    if (c->n_pk_attrs) {
        if (c->n_pk_attrs != n) sql_raise(CTX(b), "42830", "number of columns disagrees");
        key_columns(b, t, c->pk_attrs, n, f.refs);
    }
    const unique_key *key = referred_key(unique, n_unique, &f, c->n_pk_attrs > 0);
    if (!key) sql_raise(CTX(b), "42830", "there is no unique constraint matching given keys");
    if (key->deferrable)
        sql_refuse(CTX(b), c->location, "a foreign key to a deferrable constraint");
    if (m->t->unguarded || t->unguarded)
        sql_refuse(CTX(b), c->location, "a foreign key beside DISABLE TRIGGER ALL");
    for (uint32_t i = 0; i < n; i++)
        if (!compares_alike(m->t->cols[f.cols[i]].t.id, t->cols[f.refs[i]].t.id))
            sql_refuse(CTX(b), c->location, "a foreign key of another type than what it refers to");
    if (m->t->temporary || t->temporary)
        sql_refuse(CTX(b), c->location, "a foreign key of a temporary table");
    f.name = *c->conname ? name_keep(b, c->conname) : default_name(b, m, f.cols, n, "fkey");
    f.on_delete = action_of(b, c, c->fk_del_action);
    f.on_update = action_of(b, c, c->fk_upd_action);
    f.restricts = restricts(c->fk_del_action) || restricts(c->fk_upd_action);
    f.deferrable = c->deferrable;
    f.deferred = c->initdeferred;
    assert(f.deferrable || !f.deferred);
    refuse_late_restrict(b, c, &f);
    arena_push(b->mem, &m->foreign, f);
}

void add_constraint(binder *b, making *m, const PgQuery__Constraint *c, int column)
{
    if (add_attribute(b, m, c)) return;
    m->behind_key = c->contype == PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN;
    m->behind_unique = c->contype == PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE ||
                       c->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY;
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
        const char *name = check_name(b, m, e, c->conname);
        arena_push(b->mem, &m->checks, e);
        arena_push(b->mem, &m->check_names, name);
        break;
    }
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY:
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE: add_unique(b, m, c, column); break;
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN: add_foreign(b, m, c, column); break;
    default: sql_refuse(CTX(b), c->location, "this kind of constraint");
    }
}

/* serial is an integer with a sequence for a default; what that gives is observed or not known. */
void column_type(binder *b, const char *of_table, const PgQuery__ColumnDef *d, table_column *c)
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

at_commit on_commit_of(binder *b, int action)
{
    switch (action) {
    case PG_QUERY__ON_COMMIT_ACTION__ON_COMMIT_ACTION_UNDEFINED:
    case PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_NOOP:
    case PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_PRESERVE_ROWS: return COMMIT_KEEPS;
    case PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_DELETE_ROWS: return COMMIT_EMPTIES;
    case PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_DROP: return COMMIT_DROPS;
    default: sql_refuse(CTX(b), -1, "this ON COMMIT");
    }
}

static void refuse_twice(binder *b, const table_column *cols, size_t n, const char *name)
{
    for (size_t k = 0; k < n; k++)
        if (!strcmp(cols[k].name, name))
            sql_raise(CTX(b), "42701", "column \"%s\" specified more than once", name);
}

static uint32_t visible_columns(const table *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_cols; i++) n += !column_hidden(&t->cols[i]);
    return n;
}

/* What INCLUDING adds comes after the constraints that are written. */
static void add_likes(binder *b, making *m, const PgQuery__CreateStmt *c)
{
    uint32_t at = 0;
    for (size_t i = 0; i < c->n_table_elts; i++) {
        const node *n = c->table_elts[i];
        at += n->node_case == PG_QUERY__NODE__NODE_COLUMN_DEF;
        if (n->node_case != PG_QUERY__NODE__NODE_TABLE_LIKE_CLAUSE) continue;
        like_constraints(b, m, n->table_like_clause, at);
        at += visible_columns(bind_table(b, n->table_like_clause->relation));
    }
}

void bind_create_table(binder *b, plan *p, const PgQuery__CreateStmt *c)
{
    if (c->partbound) {
        bind_partition(b, p, c);
        return;
    }
    p->kind = S_CREATE;
    p->quiet = c->if_not_exists;
    if (c->n_inh_relations || c->of_typename)
        sql_refuse(CTX(b), c->relation->location, "INHERITS and OF in CREATE TABLE");
    bind_not_partition(b, c->relation->relname, c->relation->location);
    table *t = arena_get(b->mem, sizeof *t);
    memset(t, 0, sizeof *t);
    p->created = t;
    t->name = new_table_key(b, c->relation);
    t->temporary = !strncmp(t->name, "pg_temp_", 8);
    t->on_commit = on_commit_of(b, (int)c->oncommit);
    if (t->on_commit && !t->temporary)
        sql_raise(CTX(b), "42P16", "ON COMMIT can only be used on temporary tables");
    VEC(table_column) cols = {0};
    for (size_t i = 0; i < c->n_table_elts; i++) {
        if (c->table_elts[i]->node_case == PG_QUERY__NODE__NODE_TABLE_LIKE_CLAUSE) {
            const PgQuery__TableLikeClause *l = c->table_elts[i]->table_like_clause;
            table_column *liked =
                arena_array(b->mem, table_column, bind_table(b, l->relation)->n_cols + 1);
            uint32_t n = like_columns(b, t->name, l, liked);
            for (uint32_t k = 0; k < n; k++) {
                refuse_twice(b, cols.at, cols.n, liked[k].name);
                arena_push(b->mem, &cols, liked[k]);
            }
            continue;
        }
        if (c->table_elts[i]->node_case != PG_QUERY__NODE__NODE_COLUMN_DEF) continue;
        const PgQuery__ColumnDef *d = c->table_elts[i]->column_def;
        if (d->coll_clause) sql_refuse(CTX(b), d->location, "COLLATE of a column");
        refuse_twice(b, cols.at, cols.n, d->colname);
        table_column made = {.name = name_keep(b, d->colname)};
        column_type(b, t->name, d, &made);
        arena_push(b->mem, &cols, made);
    }
    t->n_cols = (uint32_t)cols.n;
    t->cols = cols.at;
    query *q = arena_get(b->mem, sizeof *q);
    memset(q, 0, sizeof *q);
    making m = {.t = t, .s = {.q = q}};
    arena_push(b->mem, &m.s.rels, ((relation){.name = bare_table_name(t->name), .t = t}));
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
        } else if (n->node_case == PG_QUERY__NODE__NODE_TABLE_LIKE_CLAUSE) {
            at += (int)visible_columns(bind_table(b, n->table_like_clause->relation));
        } else {
            sql_refuse(CTX(b), -1, "this part of CREATE TABLE");
        }
    }
    add_likes(b, &m, c);
    if (c->partspec) bind_partitioning(b, &m, c->partspec);
    making_done(&m);
}

/* ---- changes of tables ----------------------------------------------------------------------  */

/* What there is, to be added to. */
making making_of(binder *b, plan *p, table *now)
{
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
    for (uint32_t i = 0; i < t->n_checks; i++) {
        arena_push(b->mem, &m.checks, t->checks[i]);
        arena_push(b->mem, &m.check_names, t->check_names[i]);
    }
    for (uint32_t i = 0; i < t->n_foreign; i++) arena_push(b->mem, &m.foreign, t->foreign[i]);
    arena_push(b->mem, &m.s.rels, ((relation){.name = bare_table_name(t->name), .t = t}));
    return m;
}

/* Columns at the end that were dropped, or were keys of indexes that are gone, leave: rows would
   grow with every change of the table. */
static void drop_last_columns(making *m)
{
    table *t = m->t;
    for (; t->n_cols && column_hidden(&t->cols[t->n_cols - 1]); t->n_cols--) {
        bool used = false;
        for (size_t i = 0; i < m->unique.n; i++)
            for (uint32_t k = 0; k < m->unique.at[i].n; k++)
                used |= m->unique.at[i].cols[k] == t->n_cols - 1;
        if (used) break;
    }
}

void making_done(making *m)
{
    drop_last_columns(m);
    m->t->n_unique = (uint32_t)m->unique.n;
    m->t->unique = m->unique.at;
    m->t->n_checks = (uint32_t)m->checks.n;
    m->t->checks = m->checks.at;
    m->t->check_names = m->check_names.at;
    m->t->n_foreign = (uint32_t)m->foreign.n;
    m->t->foreign = m->foreign.at;
}

void bind_truncate(binder *b, plan *p, const PgQuery__TruncateStmt *t)
{
    p->kind = S_TRUNCATE;
    p->cascade = t->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
    p->n_names = (uint32_t)t->n_relations;
    p->names = arena_array(b->mem, const char *, t->n_relations + 1);
    for (size_t i = 0; i < t->n_relations; i++) {
        const table *of = bind_table(b, t->relations[i]->range_var);
        p->names[i] = of->name;
        if (of->n_triggers) b->calls = true;
    }
}
