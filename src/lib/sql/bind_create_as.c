/*
 * bind_create_as.c - CREATE TABLE AS, SELECT INTO, materialized views.
 *
 * The new table has the types of the query's columns.  A width (varchar(10), numeric(8,2)) comes
 * along where PostgreSQL passes it on: of a column, a cast, or a UNION of equal ones.  Where an
 * expression might pass one on by other rules, the statement is refused.
 */
#include "sql/bind.h"
#include "sql/pl.h"

#define CTX(b) (&(b)->x->c)

static bool has_width(type_id t)
{
    return t == T_VARCHAR || t == T_CHAR || t == T_NUMERIC || t == T_STAMP || t == T_TIME;
}

static const join *join_of_slot(const join *j, uint32_t slot)
{
    if (!j) return NULL;
    if (j->kind == J_REL) return j->slot == slot ? j : NULL;
    const join *left = join_of_slot(j->left, slot);
    return left ? left : join_of_slot(j->right, slot);
}

static type output_type(binder *b, const query *q, uint32_t column);

/* PostgreSQL calls it varchar where this is a text here; which width it has is another matter. */
static bool chooses_varchar(const query *q, const expr *e)
{
    while (e->kind == E_CAST && e->cast == CAST_IMPLICIT) e = e->arg[0];
    if (e->t.id == T_VARCHAR) return true;
    if (e->kind != E_CASE && e->kind != E_COALESCE && e->kind != E_EXTREME && e->kind != E_NULLIF &&
        e->kind != E_SCALAR)
        return false;
    if (e->kind == E_SCALAR) return chooses_varchar(e->q, e->q->out[e->index].e);
    for (uint32_t i = 0; i < e->n; i++)
        if (chooses_varchar(q, e->arg[i])) return true;
    return false;
}

static type expr_type(binder *b, const query *q, const expr *e)
{
    if (e->t.id == T_TEXT && e->kind != E_COLUMN && chooses_varchar(q, e))
        sql_refuse(CTX(b), e->position, "CREATE TABLE AS with a column of varchar made so");
    if (!has_width(e->t.id) && e->t.id != T_TEXT) return type_plain(e->t.id);
    if (e->kind == E_CONST || e->kind == E_CAST) return e->t;
    if (e->kind == E_COLUMN && !e->up) {
        const join *j = join_of_slot(q->from, e->slot);
        if (j && j->table) return j->table->cols[e->index].t;
        if (j && j->sub) return output_type(b, j->sub, e->index);
    }
    if (e->kind == E_CALL || e->kind == E_ARITH || e->kind == E_NEGATE || e->kind == E_CONCAT ||
        e->kind == E_BUILTIN || e->kind == E_AGGREGATE || e->kind == E_TEXTS || e->t.id == T_TEXT)
        return type_plain(e->t.id);
    sql_refuse(CTX(b), e->position, "CREATE TABLE AS with a column of %s made so",
               type_name(e->t.id));
}

static type output_type(binder *b, const query *q, uint32_t column)
{
    const expr *e = q->out[column].e;
    if (!has_width(e->t.id) && e->t.id != T_TEXT) return type_plain(e->t.id);
    if (q->set) {
        type l = output_type(b, q->left, column), r = output_type(b, q->right, column);
        bool same = r.id == l.id && l.width == r.width && l.scale == r.scale;
        if (l.id != r.id && type_is_text(l.id))
            sql_refuse(CTX(b), q->position, "CREATE TABLE AS of a UNION of text and varchar");
        return same ? l : type_plain(l.id == r.id ? l.id : e->t.id);
    }
    if (q->n_rows || q->call || q->series[0] || q->writes || q->work || q->shared)
        sql_refuse(CTX(b), q->position, "CREATE TABLE AS with a column of %s from there",
                   type_name(e->t.id));
    return expr_type(b, q, e);
}

static void describe_new(binder *b, plan *p, const PgQuery__IntoClause *into)
{
    const query *q = p->q;
    table *t = p->created = arena_get(b->mem, sizeof *t);
    memset(t, 0, sizeof *t);
    t->name = new_table_key(b, into->rel);
    t->temporary = !strncmp(t->name, "pg_temp_", 8);
    t->on_commit = on_commit_of(b, (int)into->on_commit);
    if (t->on_commit && !t->temporary)
        sql_raise(CTX(b), "42P16", "ON COMMIT can only be used on temporary tables");
    p->no_rows = into->skip_data;
    if (into->n_col_names > q->n_out)
        sql_raise(CTX(b), "42601", "too many column names were specified");
    t->n_cols = q->n_out;
    t->cols = arena_array(b->mem, table_column, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) {
        const char *name =
            i < into->n_col_names ? string_of(b, into->col_names[i], -1) : q->out[i].name;
        type is = output_type(b, q, i);
        if (is.id == T_VOID || is.id == T_UNKNOWN || is.id == T_STAMPTZ || is.id == T_RECORD)
            sql_refuse(CTX(b), -1, "CREATE TABLE AS with a column of %s", type_name(is.id));
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(t->cols[k].name, name))
                sql_raise(CTX(b), "42701", "column \"%s\" specified more than once", name);
        t->cols[i] = (table_column){.name = name_keep(b, name), .t = is};
    }
}

/* An E_OPEN (now(), nextval) is typed here as what it is taken for, not as PostgreSQL does. */
static void refuse_open(binder *b, const expr *e)
{
    if (e->kind == E_OPEN) sql_refuse(CTX(b), e->position, "CREATE TABLE AS with such a value");
    for (uint32_t i = 0; i < e->n; i++) refuse_open(b, e->arg[i]);
}

void bind_create_as(binder *b, plan *p, const PgQuery__CreateTableAsStmt *c)
{
    bool view = c->objtype == PG_QUERY__OBJECT_TYPE__OBJECT_MATVIEW;
    if (!view && c->objtype != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE)
        sql_refuse(CTX(b), -1, "this CREATE ... AS");
    if (c->query->node_case != PG_QUERY__NODE__NODE_SELECT_STMT)
        sql_refuse(CTX(b), -1, "CREATE TABLE AS of something else than a query");
    p->kind = S_CREATE;
    p->quiet = c->if_not_exists;
    p->q = bind_query(b, c->query);
    for (uint32_t i = 0; i < p->q->n_out; i++) refuse_open(b, p->q->out[i].e);
    describe_new(b, p, c->into);
    p->created->read_only = view;
    if (!view) return;
    if (p->no_rows) sql_refuse(CTX(b), -1, "a materialized view WITH NO DATA");
    p->created->source = pl_after(b->x, b->mem, b->text, "as");
}

/* REFRESH MATERIALIZED VIEW: the query is read again, and fills the table anew. */
void bind_refresh(binder *b, plan *p, const PgQuery__RefreshMatViewStmt *r)
{
    table *t = bind_table(b, r->relation);
    bool keyed = false;
    if (!t->read_only) sql_raise(CTX(b), "0A000", "\"%s\" is not a materialized view", t->name);
    if (r->skip_data) sql_refuse(CTX(b), -1, "a materialized view WITH NO DATA");
    for (uint32_t i = 0; i < t->n_unique; i++) keyed |= !t->unique[i].n_keys && !t->unique[i].where;
    if (r->concurrent && !keyed)
        sql_raise(CTX(b), "55000", "cannot refresh materialized view concurrently");
    const routine view = {.name = t->name, .view = t->source};
    p->kind = S_REFRESH;
    p->altered = t;
    p->quiet = r->concurrent;
    p->q = bind_view_query(b, &view);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_cols; i++) n += !column_hidden(&t->cols[i]);
    bool same = n == p->q->n_out;
    for (uint32_t i = 0; same && i < n; i++) same = p->q->out[i].e->t.id == t->cols[i].t.id;
    if (!same) sql_refuse(CTX(b), -1, "REFRESH of a view whose columns have changed");
}

void bind_select_into(binder *b, plan *p, const PgQuery__SelectStmt *s)
{
    PgQuery__SelectStmt plain = *s;
    plain.into_clause = NULL;
    p->kind = S_CREATE;
    p->q = bind_select(b, NULL, &plain);
    bind_unlocked(b, p->q, -1);
    for (uint32_t i = 0; i < p->q->n_out; i++) refuse_open(b, p->q->out[i].e);
    describe_new(b, p, s->into_clause);
}
