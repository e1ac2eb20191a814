/*
 * bind_from.c - what a statement reads from: tables, functions, subqueries, WITH, joins; and which
 * of its equalities an index can answer.
 *
 * Slots are numbered in the order in which the executor binds them: the right side of a RIGHT JOIN
 * comes first.  So a key may use every slot below its own.
 */
#include <assert.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

/* ---- FROM ------------------------------------------------------------------------------------ */

table *bind_table(binder *b, const PgQuery__RangeVar *r)
{
    const char *key = table_key(b, r->catalogname, r->schemaname, r->relname, r->location);
    table *t = vs_find(b->x->s, key, b->x->latest);
    if (!t && !strncmp(r->relname, "pg_", 3))
        sql_refuse(CTX(b), r->location, "the system catalog \"%s\"", r->relname);
    b->p->reads = true;
    if (!t) bind_not_partition(b, r->relname, r->location);
    if (t && t->parts && !r->inh) sql_refuse(CTX(b), r->location, "ONLY of a partitioned table");
    if (!t && !strcmp(key, r->relname) && bind_view_named(b, r->relname))
        sql_refuse(CTX(b), r->location, "a view in this place");
    if (!t) sql_raise(CTX(b), "42P01", "relation \"%s\" does not exist", r->relname);
    return t;
}

join *join_new(binder *b, join_kind kind)
{
    join *j = arena_get(b->mem, sizeof *j);
    memset(j, 0, sizeof *j);
    j->kind = kind;
    return j;
}

void add_relation(binder *b, scope *s, relation r, int position)
{
    for (size_t i = 0; i < s->rels.n; i++)
        if (!strcmp(s->rels.at[i].name, r.name))
            sql_raise(CTX(b), "42712", "table name \"%s\" specified more than once", r.name);
    if (s->rels.n) b->p->planner_chooses = b->p->joins = true;
    if (s->rels.n > 1000) sql_refuse(CTX(b), position, "more than 1000 tables");
    arena_push(b->mem, &s->rels, r);
}

/* A query with other names for its columns. */
static query *renamed(binder *b, query *q, const PgQuery__Alias *a)
{
    if (!a || !a->n_colnames) return q;
    if (a->n_colnames > q->n_out)
        sql_raise(CTX(b), "42P10", "more column aliases specified than columns");
    query *copy = arena_get(b->mem, sizeof *copy);
    *copy = *q;
    copy->shared = q->shared ? q->shared : q;
    copy->out = arena_array(b->mem, out_column, q->n_out + 1);
    memcpy(copy->out, q->out, q->n_out * sizeof *q->out);
    for (size_t i = 0; i < a->n_colnames; i++)
        copy->out[i].name = name_keep(b, string_of(b, a->colnames[i], -1));
    return copy;
}

static query *with_named(const binder *b, const PgQuery__RangeVar *r)
{
    if (*r->schemaname || *r->catalogname) return NULL;
    for (size_t i = b->withs.n; i-- > 0;) {
        query *q = b->withs.at[i].q;
        if (strcmp(b->withs.at[i].name, r->relname) != 0) continue;
        (q->shared ? q->shared : q)->referred = true;
        return q;
    }
    return NULL;
}

static join *with_relation(binder *b, scope *s, const PgQuery__RangeVar *r, query *q)
{
    if (q->writes && !q->n_out)
        sql_raise(CTX(b), "0A000", "WITH query \"%s\" does not have a RETURNING clause",
                  r->relname);
    join *j = join_new(b, J_REL);
    j->sub = renamed(b, q, r->alias);
    j->slot = s->q->slots++;
    const char *name = r->alias ? r->alias->aliasname : r->relname;
    add_relation(b, s, (relation){.name = name_keep(b, name), .sub = j->sub, .slot = j->slot},
                 r->location);
    return j;
}

/* A statement of WITH that writes: executed once, and what it returns is kept. */
static query *writing_query(binder *b, scope *up, const PgQuery__CommonTableExpr *c)
{
    plan *outer = b->p, *p = arena_get(b->mem, sizeof *p);
    if (up || b->code || b->x->views)
        sql_refuse(CTX(b), c->location, "WITH of a statement that writes, in this place");
    memset(p, 0, sizeof *p);
    p->arbiter = -1;
    b->p = p;
    if (!bind_write(b, p, c->ctequery)) sql_refuse(CTX(b), c->location, "WITH of this statement");
    b->p = outer;
    outer->reads |= p->reads;
    query *q = query_new(b);
    q->writes = p;
    q->n_out = p->n_returning;
    q->out = arena_array(b->mem, out_column, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++)
        q->out[i] = placeholder(b, p->returning[i].name, p->returning[i].e->t.id);
    arena_push(b->mem, &b->writes, q);
    return q;
}

/* WITH RECURSIVE name AS (first UNION [ALL] next): `next` reads the rows that the round before
   gave, which `work` stands for.  A query that does not name itself is an ordinary one. */
static query *recursive_query(binder *b, scope *up, const PgQuery__CommonTableExpr *c)
{
    const PgQuery__SelectStmt *s = c->ctequery->select_stmt;
    PgQuery__Alias names = {.n_colnames = c->n_aliascolnames, .colnames = c->aliascolnames};
    if (s->n_sort_clause || s->limit_count || s->limit_offset || s->with_clause)
        sql_refuse(CTX(b), c->location, "ORDER BY, LIMIT or WITH in WITH RECURSIVE");
    query *q = query_new(b), *work = query_new(b);
    q->set = SET_UNION;
    q->all = s->all;
    q->left = bind_select(b, up, s->larg);
    q->n_out = work->n_out = q->left->n_out;
    q->out = arena_array(b->mem, out_column, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++)
        q->out[i] = placeholder(b, q->left->out[i].name, q->left->out[i].e->t.id);
    work->out = q->out;
    work->kept = true;
    with_query self = {name_keep(b, c->ctename), renamed(b, work, &names)};
    arena_push(b->mem, &b->withs, self);
    q->right = bind_select(b, up, s->rarg);
    b->withs.n--;
    if (q->right->n_out != q->n_out)
        sql_raise(CTX(b), "42601", "each UNION query must have the same number of columns");
    for (uint32_t i = 0; i < q->n_out; i++)
        if (q->right->out[i].e->t.id != q->out[i].e->t.id)
            sql_refuse(CTX(b), c->location, "WITH RECURSIVE of columns of different types");
    q->correlated = q->left->correlated || q->right->correlated;
    if (work->referred) q->work = work;
    return q;
}

static query *with_query_of(binder *b, scope *up, const PgQuery__CommonTableExpr *c, bool recursive)
{
    if (!c->ctequery) sql_refuse(CTX(b), c->location, "this WITH");
    if (c->search_clause || c->cycle_clause) sql_refuse(CTX(b), c->location, "SEARCH and CYCLE");
    if (c->ctequery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) return writing_query(b, up, c);
    const PgQuery__SelectStmt *s = c->ctequery->select_stmt;
    bool set = s->op == PG_QUERY__SET_OPERATION__SETOP_UNION;
    return recursive && set ? recursive_query(b, up, c) : bind_select(b, up, s);
}

size_t bind_with(binder *b, scope *up, const PgQuery__WithClause *w)
{
    size_t before = b->withs.n;
    if (!w) return before;
    for (size_t i = 0; i < w->n_ctes; i++) {
        const PgQuery__CommonTableExpr *c = w->ctes[i]->common_table_expr;
        for (size_t k = before; k < b->withs.n; k++)
            if (!strcmp(b->withs.at[k].name, c->ctename))
                sql_raise(CTX(b), "42712", "WITH query name \"%s\" specified twice", c->ctename);
        query *q = with_query_of(b, up, c, w->recursive);
        if (q->correlated) sql_refuse(CTX(b), c->location, "WITH of a query that refers outside");
        PgQuery__Alias names = {.n_colnames = c->n_aliascolnames, .colnames = c->aliascolnames};
        q->kept = true;
        b->p->planner_chooses = true;
        with_query one = {name_keep(b, c->ctename), renamed(b, q, &names)};
        arena_push(b->mem, &b->withs, one);
    }
    return before;
}

join *table_relation(binder *b, scope *s, const PgQuery__RangeVar *r)
{
    join *j = join_new(b, J_REL);
    if (r->alias && r->alias->n_colnames) sql_refuse(CTX(b), r->location, "column aliases in FROM");
    j->table = bind_table(b, r);
    j->slot = s->q->slots++;
    const char *name = r->alias ? r->alias->aliasname : r->relname;
    add_relation(b, s,
                 (relation){.name = name_keep(b, name),
                            .t = j->table,
                            .slot = j->slot,
                            .aliased = r->alias != NULL},
                 r->location);
    return j;
}

static join *sub_relation(binder *b, scope *s, const PgQuery__RangeSubselect *r)
{
    if (!r->alias || !r->subquery || r->subquery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT)
        sql_refuse(CTX(b), -1, "a subquery in FROM without an alias");
    join *j = join_new(b, J_REL);
    j->lateral = r->lateral;
    scope *outer = r->lateral ? s : s->up;
    j->sub = renamed(b, bind_select(b, outer, r->subquery->select_stmt), r->alias);
    bind_unlocked(b, j->sub, -1);
    j->slot = s->q->slots++;
    add_relation(
        b, s, (relation){.name = name_keep(b, r->alias->aliasname), .sub = j->sub, .slot = j->slot},
        -1);
    return j;
}

/* generate_series of timestamps, or at UTC of instants, which dates become. */
static query *stamp_series(binder *b, query *q, int position)
{
    type_id t =
        q->series[0]->t.id == T_STAMP && q->series[1]->t.id == T_STAMP ? T_STAMP : T_STAMPTZ;
    for (int i = 0; i < 2; i++)
        q->series[i] = expr_coerce(b, q->series[i], type_plain(t), CAST_IMPLICIT);
    q->series[2] = expr_coerce(b, q->series[2], type_plain(T_INTERVAL), CAST_IMPLICIT);
    q->position = position;
    q->n_out = 1;
    q->out = arena_array(b->mem, out_column, 1);
    q->out[0] = placeholder(b, "generate_series", t);
    return q;
}

static bool is_series_moment(const binder *b, type_id t)
{
    return t == T_STAMP || ((t == T_STAMPTZ || t == T_DATE) && b->x->c.zone == ZONE_UTC);
}

/* generate_series of integers; its arguments may use the tables before it. */
static query *series_query(binder *b, scope *s, const PgQuery__FuncCall *f)
{
    query *q = query_new(b);
    scope in = {.up = s, .q = q};
    if (f->n_args < 2 || f->n_args > 3) return NULL;
    for (size_t i = 0; i < f->n_args; i++) {
        q->series[i] = bind_expr(b, &in, f->args[i]);
        type_id first = q->series[0]->t.id;
        if (i == 1 && is_series_moment(b, first) && q->series[1]->t.id == T_UNKNOWN)
            q->series[1] = expr_coerce(b, q->series[1], type_plain(first), CAST_IMPLICIT);
        if (i < 2 && is_series_moment(b, q->series[i]->t.id) && f->n_args == 3) continue;
        if (i == 2 && is_series_moment(b, first) && is_series_moment(b, q->series[1]->t.id))
            return stamp_series(b, q, f->location);
        if (q->series[i]->t.id == T_UNKNOWN || !type_is_int(q->series[i]->t.id))
            sql_refuse(CTX(b), f->location, "generate_series of this type");
    }
    type_id t = common_type(b, q->series, (uint32_t)f->n_args, "generate_series");
    if (t == T_INT2) t = T_INT4;
    for (size_t i = 0; i < f->n_args; i++)
        q->series[i] = expr_coerce(b, q->series[i], type_plain(t), CAST_IMPLICIT);
    q->position = f->location;
    q->n_out = 1;
    q->out = arena_array(b->mem, out_column, 1);
    q->out[0] = placeholder(b, "generate_series", t);
    return q;
}

/* Functions of rows that are the items of what a function of values gives. */
static const struct {
    const char *name, *makes;
} made_items[] = {{"regexp_split_to_table", "regexp_split_to_array"},
                  {"string_to_table", "string_to_array"},
                  {"jsonb_object_keys", "jsonb_object_keys to array"},
                  {"jsonb_path_query", "jsonb_path_query_array"}};

static query *made_items_query(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    size_t k = 0;
    while (k < sizeof made_items / sizeof made_items[0] && strcmp(name, made_items[k].name)) k++;
    if (k == sizeof made_items / sizeof made_items[0]) return NULL;
    query *q = query_new(b);
    scope in = {.up = s, .q = q};
    expr **args = arena_array(b->mem, expr *, f->n_args + 1);
    for (size_t i = 0; i < f->n_args; i++) args[i] = bind_expr(b, &in, f->args[i]);
    q->series[0] = bind_builtin(b, made_items[k].makes, args, (uint32_t)f->n_args, f->location);
    if (!q->series[0]) return NULL;
    q->position = f->location;
    q->n_out = 1;
    q->out = arena_array(b->mem, out_column, 1);
    bool json = q->series[0]->t.id == T_JSONB;
    q->out[0] = placeholder(b, name_keep(b, name), json ? T_JSONB : T_TEXT);
    return q;
}

/* jsonb_each, jsonb_each_text: a row for each member of an object. */
static query *members_query(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    bool text = !strcmp(name, "jsonb_each_text");
    if ((!text && strcmp(name, "jsonb_each") != 0) || f->n_args != 1) return NULL;
    query *q = query_new(b);
    scope in = {.up = s, .q = q};
    q->series[0] =
        expr_coerce(b, bind_expr(b, &in, f->args[0]), type_plain(T_JSONB), CAST_IMPLICIT);
    q->position = f->location;
    q->n_out = 2;
    q->out = arena_array(b->mem, out_column, 2);
    q->out[0] = placeholder(b, "key", T_TEXT);
    q->out[1] = placeholder(b, "value", text ? T_TEXT : T_JSONB);
    return q;
}

/* Rows of one value. */
static query *items_query(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    bool unnest = !strcmp(name, "unnest"), text = !strcmp(name, "jsonb_array_elements_text");
    bool json = text || !strcmp(name, "jsonb_array_elements");
    if ((!unnest && !json) || f->n_args != 1) return NULL;
    query *q = query_new(b);
    scope in = {.up = s, .q = q};
    q->series[0] = bind_expr(b, &in, f->args[0]);
    if (json) q->series[0] = expr_coerce(b, q->series[0], type_plain(T_JSONB), CAST_IMPLICIT);
    type_id t = q->series[0]->t.id;
    if (unnest && !type_is_array(t)) sql_refuse(CTX(b), f->location, "unnest of this type");
    q->position = f->location;
    q->n_out = 1;
    q->out = arena_array(b->mem, out_column, 1);
    q->out[0] = placeholder(b, unnest ? "unnest" : "value",
                            unnest ? type_element(t)
                            : text ? T_TEXT
                                   : T_JSONB);
    return q;
}

/* unnest(a, b, ...): a column for each array. */
static query *side_query(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    if (strcmp(name, "unnest") != 0 || f->n_args < 2) return NULL;
    query *q = query_new(b);
    scope in = {.up = s, .q = q};
    q->n_side = q->n_out = (uint32_t)f->n_args;
    q->side = arena_array(b->mem, expr *, q->n_side + 1);
    q->out = arena_array(b->mem, out_column, q->n_side + 1);
    for (uint32_t i = 0; i < q->n_side; i++) {
        q->side[i] = bind_expr(b, &in, f->args[i]);
        if (!type_is_array(q->side[i]->t.id))
            sql_refuse(CTX(b), f->location, "unnest of this type");
        q->out[i] = placeholder(b, "unnest", type_element(q->side[i]->t.id));
    }
    q->series[0] = q->side[0];
    q->position = f->location;
    return q;
}

/* jsonb_to_record[set](...) AS r(a int, b text) */
static query *record_query(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name,
                           const PgQuery__RangeFunction *r)
{
    bool many = !strcmp(name, "jsonb_to_recordset");
    if ((!many && strcmp(name, "jsonb_to_record") != 0) || f->n_args != 1 || !r->n_coldeflist)
        return NULL;
    query *q = query_new(b);
    scope in = {.up = s, .q = q};
    q->records = many ? RECORD_MANY : RECORD_ONE;
    q->series[0] =
        expr_coerce(b, bind_expr(b, &in, f->args[0]), type_plain(T_JSONB), CAST_IMPLICIT);
    q->position = f->location;
    q->n_out = (uint32_t)r->n_coldeflist;
    q->out = arena_array(b->mem, out_column, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) {
        const PgQuery__ColumnDef *d = r->coldeflist[i]->column_def;
        type t = bind_type(b, d->type_name);
        if (type_is_array(t.id) || t.id == T_JSON || t.id == T_JSONB)
            sql_refuse(CTX(b), d->location, "a record with a column of this type");
        q->out[i] = placeholder(b, name_keep(b, d->colname), t.id);
        q->out[i].e->t = t;
    }
    return q;
}

/* WITH ORDINALITY: the number of the row, after the other columns. */
static void number_rows(binder *b, query *q)
{
    out_column *out = arena_array(b->mem, out_column, q->n_out + 1);
    memcpy(out, q->out, q->n_out * sizeof *out);
    out[q->n_out++] = placeholder(b, "ordinality", T_INT8);
    q->out = out;
    q->numbered = true;
}

query *bind_series(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    query *q = NULL;
    if (f->over || f->agg_distinct || f->agg_filter || f->func_variadic || f->agg_star) return NULL;
    if (!strcmp(name, "generate_series")) return series_query(b, s, f);
    q = items_query(b, s, f, name);
    if (!q) q = side_query(b, s, f, name);
    if (!q) q = made_items_query(b, s, f, name);
    return q ? q : members_query(b, s, f, name);
}

static query *function_query(binder *b, scope *s, const PgQuery__FuncCall *f, join *j,
                             const PgQuery__RangeFunction *r)
{
    const char *name = f->funcname[f->n_funcname - 1]->string->sval;
    query *series = record_query(b, s, f, name, r);
    if (!series && r->n_coldeflist)
        sql_refuse(CTX(b), f->location, "a list of columns after %s in FROM", name);
    if (!series) series = bind_series(b, s, f, name);
    if (!series && r->ordinality) sql_refuse(CTX(b), f->location, "WITH ORDINALITY of %s", name);
    if (series && r->ordinality) number_rows(b, series);
    j->lateral = series != NULL;
    return series ? series : bind_function_rows(b, s, f);
}

static join *function_relation(binder *b, scope *s, const PgQuery__RangeFunction *r)
{
    if (r->is_rowsfrom || r->n_functions != 1 ||
        r->functions[0]->node_case != PG_QUERY__NODE__NODE_LIST ||
        r->functions[0]->list->items[0]->node_case != PG_QUERY__NODE__NODE_FUNC_CALL)
        sql_refuse(CTX(b), -1, "this kind of function in FROM");
    const PgQuery__FuncCall *f = r->functions[0]->list->items[0]->func_call;
    join *j = join_new(b, J_REL);
    j->sub = function_query(b, s, f, j, r);
    if (r->lateral && !j->lateral) sql_refuse(CTX(b), f->location, "LATERAL of this function");
    j->slot = s->q->slots++;
    const char *name = f->funcname[f->n_funcname - 1]->string->sval;
    if (r->alias) {
        if (r->alias->n_colnames > j->sub->n_out)
            sql_raise(CTX(b), "42P10", "more column aliases than columns");
        name = r->alias->aliasname;
        if (j->sub->n_out - j->sub->numbered == 1 && !j->sub->records &&
            (!j->sub->call || !j->sub->call->routine->rows))
            j->sub->out[0].name = name_keep(b, name);
        for (size_t i = 0; i < r->alias->n_colnames; i++)
            j->sub->out[i].name = name_keep(b, string_of(b, r->alias->colnames[i], f->location));
    }
    add_relation(b, s, (relation){.name = name_keep(b, name), .sub = j->sub, .slot = j->slot},
                 f->location);
    return j;
}

/* ---- joins ----------------------------------------------------------------------------------- */

static uint32_t columns_of(const relation *r)
{
    return r->t ? r->t->n_cols : r->sub->n_out;
}

static const char *column_name(const relation *r, uint32_t i)
{
    return r->t ? r->t->cols[i].name : r->sub->out[i].name;
}

/* Slots of a side that was bound too early, or too late, move by `by`. */
static void move_slots(binder *b, expr *e, uint32_t from, uint32_t to, uint32_t by)
{
    if (!e) return;
    if (e->q) sql_refuse(CTX(b), e->position, "a subquery in ON beside a RIGHT or FULL JOIN");
    if (e->kind == E_COLUMN && !e->up && e->slot >= from && e->slot < to) e->slot += by;
    for (uint32_t i = 0; i < e->n; i++) move_slots(b, e->arg[i], from, to, by);
}

static void move_join(binder *b, join *j, uint32_t from, uint32_t to, uint32_t by)
{
    if (j->kind == J_REL) {
        if (j->lateral) sql_refuse(CTX(b), -1, "LATERAL in a RIGHT JOIN");
        if (j->slot >= from && j->slot < to) j->slot += by;
        return;
    }
    move_join(b, j->left, from, to, by);
    move_join(b, j->right, from, to, by);
    move_slots(b, j->on, from, to, by);
}

/* The right side [mid, end) is executed first: it takes the lower numbers. */
static void swap_sides(binder *b, scope *s, join *j, size_t rels, uint32_t from, uint32_t mid,
                       uint32_t end)
{
    uint32_t up = end - mid, down = 0 - (mid - from); /* wraps around to a subtraction */
    move_join(b, j->left, from, mid, up);
    move_join(b, j->right, mid, end, down);
    for (size_t i = rels; i < s->rels.n; i++) {
        relation *r = &s->rels.at[i];
        r->slot += r->slot < mid ? up : down;
    }
    for (size_t i = 0; i < s->merged.n; i++) {
        if (s->merged.at[i].first < rels) continue;
        sql_refuse(CTX(b), -1, "USING on a side of a RIGHT JOIN");
    }
    join *left = j->left;
    j->left = j->right;
    j->right = left;
    j->kind = J_LEFT;
}

/* A column of one side by its name: of a join that merged it, or of one relation. */
static expr *side_column(binder *b, scope *s, const char *name, size_t from, size_t to, bool hide)
{
    expr *found = NULL;
    for (size_t i = 0; i < s->merged.n; i++) {
        merged_column *m = &s->merged.at[i];
        if (m->gone || m->first < from || m->first >= to || strcmp(m->name, name) != 0) continue;
        if (found) sql_raise(CTX(b), "42702", "common column name \"%s\" appears twice", name);
        found = m->e;
        m->gone |= hide;
    }
    for (size_t i = from; i < to; i++) {
        relation *r = &s->rels.at[i];
        for (uint32_t k = 0; k < columns_of(r); k++) {
            if (strcmp(column_name(r, k), name) != 0 || (r->hidden && r->hidden[k])) continue;
            if (found) sql_raise(CTX(b), "42702", "common column name \"%s\" appears twice", name);
            found = column_of(b, r, k, 0, -1);
            if (!hide) continue;
            if (!r->hidden) {
                r->hidden = arena_array(b->mem, bool, columns_of(r) + 1);
                memset(r->hidden, 0, columns_of(r));
            }
            r->hidden[k] = true;
        }
    }
    return found;
}

static void merge_column(binder *b, scope *s, join *j, const PgQuery__JoinExpr *e, const char *name,
                         size_t from, size_t mid)
{
    expr *l = side_column(b, s, name, from, mid, true);
    expr *r = side_column(b, s, name, mid, s->rels.n, true);
    if (!l || !r)
        sql_raise(CTX(b), "42703", "column \"%s\" specified in USING clause does not exist", name);
    if (l->t.id != r->t.id) sql_refuse(CTX(b), -1, "USING of columns of different types");
    expr *eq = compare(b, OP_EQ, l, r, -1);
    j->on = j->on ? expr_and(b, j->on, eq) : eq;
    merged_column m = {name_keep(b, name), l, from, false};
    bool full = e->jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL;
    if (e->jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT) m.e = r;
    if (full) {
        m.e = expr_new(b, E_COALESCE, l->t, -1, 2);
        m.e->arg[0] = l;
        m.e->arg[1] = r;
    }
    arena_push(b->mem, &s->merged, m);
}

static void natural(binder *b, scope *s, join *j, const PgQuery__JoinExpr *e, size_t from,
                    size_t mid)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < s->merged.n; i++)
        if (!s->merged.at[i].gone && s->merged.at[i].first >= from && s->merged.at[i].first < mid &&
            side_column(b, s, s->merged.at[i].name, mid, s->rels.n, false))
            arena_push(b->mem, &names, s->merged.at[i].name);
    for (size_t i = from; i < mid; i++)
        for (uint32_t k = 0; k < columns_of(&s->rels.at[i]); k++) {
            const relation *r = &s->rels.at[i];
            const char *name = column_name(r, k);
            if (!*name || (r->hidden && r->hidden[k])) continue;
            if (side_column(b, s, name, mid, s->rels.n, false)) arena_push(b->mem, &names, name);
        }
    for (size_t i = 0; i < names.n; i++) merge_column(b, s, j, e, names.at[i], from, mid);
}

/* What PostgreSQL can hash or merge; the rest it refuses. */
static bool only_equalities(const expr *e)
{
    if (!e) return false;
    if (e->kind == E_COMPARE) return e->op == OP_EQ;
    for (uint32_t i = 0; i < e->n; i++)
        if (!only_equalities(e->arg[i])) return false;
    return e->kind == E_AND;
}

static join *joined(binder *b, scope *s, const PgQuery__JoinExpr *e)
{
    join_kind kind = e->jointype == PG_QUERY__JOIN_TYPE__JOIN_INNER   ? J_INNER
                     : e->jointype == PG_QUERY__JOIN_TYPE__JOIN_LEFT  ? J_LEFT
                     : e->jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT ? J_RIGHT
                     : e->jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL  ? J_FULL
                                                                      : J_REL;
    if (kind == J_REL || e->alias || e->join_using_alias)
        sql_refuse(CTX(b), -1, "this kind of join, or an alias of one");
    join *j = join_new(b, kind);
    b->outer_joins |= kind != J_INNER;
    size_t from = s->rels.n;
    uint32_t first = s->q->slots;
    j->left = from_item(b, s, e->larg);
    size_t mid = s->rels.n;
    uint32_t second = s->q->slots;
    j->right = from_item(b, s, e->rarg);
    if (kind == J_RIGHT) swap_sides(b, s, j, from, first, second, s->q->slots);
    if (e->is_natural) natural(b, s, j, e, from, mid);
    for (size_t i = 0; i < e->n_using_clause; i++)
        merge_column(b, s, j, e, string_of(b, e->using_clause[i], -1), from, mid);
    if (e->quals) { /* ON sees the two sides only */
        scope on = *s;
        on.rels.at += from;
        on.rels.n -= from;
        on.rels.cap = on.rels.n;
        on.aggregates = false;
        j->on = bind_bool(b, &on, e->quals, "JOIN/ON");
    }
    if (kind == J_FULL && !only_equalities(j->on))
        sql_refuse(CTX(b), -1, "FULL JOIN with another condition than equalities");
    return j;
}

join *from_item(binder *b, scope *s, const node *n)
{
    if (n && n->node_case == PG_QUERY__NODE__NODE_RANGE_VAR) {
        query *with = with_named(b, n->range_var);
        if (with) return with_relation(b, s, n->range_var, with);
        const routine *view = bind_view_meant(b, n->range_var->relname);
        const char *key = table_key(b, n->range_var->catalogname, n->range_var->schemaname,
                                    n->range_var->relname, n->range_var->location);
        if (view && !strcmp(key, view->name) && !vs_find(b->x->s, key, b->x->latest))
            return with_relation(b, s, n->range_var, bind_view_query(b, view));
        return table_relation(b, s, n->range_var);
    }
    if (n && n->node_case == PG_QUERY__NODE__NODE_JOIN_EXPR) return joined(b, s, n->join_expr);
    if (n && n->node_case == PG_QUERY__NODE__NODE_RANGE_SUBSELECT)
        return sub_relation(b, s, n->range_subselect);
    if (n && n->node_case == PG_QUERY__NODE__NODE_RANGE_FUNCTION)
        return function_relation(b, s, n->range_function);
    sql_refuse(CTX(b), -1, "this kind of FROM");
}

/* ---- which equalities an index can answer ---------------------------------------------------- */

typedef struct conditions {
    VEC(const expr *) at;
} conditions;

static void conjuncts(binder *b, const expr *e, conditions *out)
{
    if (!e) return;
    if (e->kind != E_AND) {
        arena_push(b->mem, &out->at, e);
        return;
    }
    for (uint32_t i = 0; i < e->n; i++) conjuncts(b, e->arg[i], out);
}

static bool widening(const expr *e)
{
    return e->kind == E_CAST && e->t.width < 0 && type_rank(e->arg[0]->t.id) &&
           type_rank(e->t.id) > type_rank(e->arg[0]->t.id);
}

/* Can be evaluated before the slot is bound, and cannot fail. */
static bool plain_key(const expr *e, uint32_t slot)
{
    while (widening(e)) e = e->arg[0];
    return e->kind == E_CONST || e->kind == E_PARAM || e->kind == E_VAR ||
           (e->kind == E_COLUMN && (e->up || e->slot < slot));
}

/* The key of `column of the slot = key`, or NULL. */
static const expr *equal_key(const expr *e, uint32_t slot, uint32_t *at)
{
    if (e->kind != E_COMPARE || e->op != OP_EQ) return NULL;
    for (int side = 0; side < 2; side++) {
        const expr *col = e->arg[side], *key = e->arg[1 - side];
        while (widening(col)) col = col->arg[0];
        if (col->kind != E_COLUMN || col->up || col->slot != slot || !plain_key(key, slot))
            continue;
        *at = col->index;
        return key;
    }
    return NULL;
}

static bool lookup_of(binder *b, const expr *e, uint32_t slot, lookup *out)
{
    uint32_t n = e->kind == E_OR ? e->n : 1, at = 0;
    out->n = n;
    out->keys = arena_array(b->mem, const expr *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        out->keys[i] = equal_key(e->kind == E_OR ? e->arg[i] : e, slot, &at);
        if (!out->keys[i] || (i && at != out->column)) return false;
        out->column = at;
    }
    return n > 0;
}

/* Needs this slot, and none after it; no subquery, which would be run for every row. */
static bool within_slot(const expr *e, uint32_t slot, bool *uses)
{
    if (e->q || e->kind == E_AGGREGATE || e->kind == E_ROUTINE) return false;
    if (e->kind == E_COLUMN && !e->up) {
        if (e->slot > slot) return false;
        *uses |= e->slot == slot;
    }
    for (uint32_t i = 0; i < e->n; i++)
        if (!within_slot(e->arg[i], slot, uses)) return false;
    return true;
}

static void add_lookups(binder *b, join *j, const conditions *c)
{
    VEC(lookup) found = {0};
    VEC(const expr *) filters = {0};
    for (size_t i = 0; i < c->at.n; i++) {
        lookup l = {0};
        bool uses = false;
        if (j->table && lookup_of(b, c->at.at[i], j->slot, &l)) arena_push(b->mem, &found, l);
        if (within_slot(c->at.at[i], j->slot, &uses) && uses)
            arena_push(b->mem, &filters, c->at.at[i]);
    }
    j->lookups = found.at;
    j->n_lookups = (uint32_t)found.n;
    j->filters = filters.at;
    j->n_filters = b->p->planner_chooses ? (uint32_t)filters.n : 0;
}

static void place_lookups(binder *b, join *j, const conditions *from_above)
{
    if (!j) return;
    if (j->kind == J_REL) {
        add_lookups(b, j, from_above);
        return;
    }
    conditions both = {0}, own = {0}, none = {0};
    if (j->kind == J_FULL) { /* each side comes whole */
        place_lookups(b, j->left, &none);
        place_lookups(b, j->right, &none);
        return;
    }
    conjuncts(b, j->on, &own);
    for (size_t i = 0; i < from_above->at.n; i++)
        arena_push(b->mem, &both.at, from_above->at.at[i]);
    for (size_t i = 0; i < own.at.n; i++) arena_push(b->mem, &both.at, own.at.at[i]);
    place_lookups(b, j->left, j->kind == J_LEFT ? from_above : &both);
    place_lookups(b, j->right, j->kind == J_LEFT ? &own : &both);
}

void use_indexes(binder *b, join *j, const expr *where)
{
    conditions c = {0};
    conjuncts(b, where, &c);
    place_lookups(b, j, &c);
}
