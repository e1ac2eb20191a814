/*
 * bind.c - statements; see bind.h.  The only file that calls libpg_query.
 *
 * Nothing jumps across its frames: a text is parsed and unpacked to the end, and the tree is
 * given back on every way out of the border in sql_bind.
 */
#include "sql/bind.h"

#include <assert.h>
#include <pg_query.h>
#include <stdio.h>

#include "sql/plan_check.h"
#include "sql/sql.h"

#define CTX(b) (&(b)->x->c)

/* ---- the output list ------------------------------------------------------------------------- */

/* The name of an output column, and how good it is (FigureColname of PostgreSQL): 2 a name that the
   text has, 1 that of a type or of CASE, 0 none. */
static int title(const node *n, const char **name)
{
    *name = "?column?";
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF: {
        const PgQuery__ColumnRef *c = n->column_ref;
        const node *last = c->fields[c->n_fields - 1];
        if (last->node_case == PG_QUERY__NODE__NODE_STRING) *name = last->string->sval;
        return 2;
    }
    case PG_QUERY__NODE__NODE_FUNC_CALL: {
        const PgQuery__FuncCall *f = n->func_call;
        *name = f->funcname[f->n_funcname - 1]->string->sval;
        return 2;
    }
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
        const PgQuery__TypeName *t = n->type_cast->type_name;
        if (title(n->type_cast->arg, name) > 1) return 2;
        *name = t->names[t->n_names - 1]->string->sval;
        return 1;
    }
    case PG_QUERY__NODE__NODE_CASE_EXPR:
        if (n->case_expr->defresult && title(n->case_expr->defresult, name) > 1) return 2;
        *name = "case";
        return 1;
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return title(n->collate_clause->arg, name);
    case PG_QUERY__NODE__NODE_A_INDIRECTION: {
        const PgQuery__AIndirection *a = n->a_indirection;
        for (size_t i = a->n_indirection; i-- > 0;) {
            if (a->indirection[i]->node_case != PG_QUERY__NODE__NODE_STRING) continue;
            *name = a->indirection[i]->string->sval;
            return 2;
        }
        return title(a->arg, name);
    }
    case PG_QUERY__NODE__NODE_ROW_EXPR: *name = "row"; return 2;
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: *name = "array"; return 2;
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: *name = "grouping"; return 2;
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: *name = "coalesce"; return 2;
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
        *name = n->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest" : "least";
        return 2;
    case PG_QUERY__NODE__NODE_A_EXPR:
        if (n->a_expr->kind != PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF) return 0;
        *name = "nullif";
        return 2;
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
        switch (n->sqlvalue_function->op) {
        case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE: *name = "current_date"; break;
        case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
        case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N:
            *name = "localtimestamp";
            break;
        default: *name = "current_timestamp";
        }
        return 2;
    case PG_QUERY__NODE__NODE_SUB_LINK:
        if (n->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK) {
            *name = "exists";
            return 2;
        }
        if (n->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK) {
            *name = "array";
            return 2;
        }
        if (n->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK) {
            const PgQuery__SelectStmt *s = n->sub_link->subselect->select_stmt;
            const PgQuery__ResTarget *t = s->target_list[0]->res_target;
            if (*t->name) {
                *name = t->name;
                return 2;
            }
            return title(t->val, name);
        }
        return 0;
    default: return 0;
    }
}

static const char *column_title(const node *n)
{
    const char *name;
    title(n, &name);
    return name;
}

static bool is_star(const node *n)
{
    if (n->node_case != PG_QUERY__NODE__NODE_COLUMN_REF || !n->column_ref->n_fields) return false;
    const PgQuery__ColumnRef *c = n->column_ref;
    return c->fields[c->n_fields - 1]->node_case == PG_QUERY__NODE__NODE_A_STAR;
}

typedef VEC(out_column) out_columns;

static void star(binder *b, scope *s, const PgQuery__ColumnRef *c, out_columns *out)
{
    const char *rel = c->n_fields == 2 ? string_of(b, c->fields[0], c->location) : NULL;
    bool any = false;
    if (c->n_fields > 2) sql_refuse(CTX(b), c->location, "a name of %zu parts", c->n_fields);
    for (size_t i = s->merged.n; !rel && i-- > 0;) { /* the outermost join's first */
        size_t end = i + 1;
        while (i > 0 && s->merged.at[i - 1].first == s->merged.at[i].first) i--;
        for (size_t k = i; k < end; k++)
            if (!s->merged.at[k].gone)
                arena_push(b->mem, out, ((out_column){s->merged.at[k].name, s->merged.at[k].e}));
    }
    for (size_t i = 0; i < s->rels.n; i++) {
        const relation *r = &s->rels.at[i];
        if (rel ? strcmp(rel, r->name) != 0 : !strcmp(r->name, "excluded")) continue;
        any = true;
        uint32_t n = r->t ? r->t->n_cols : r->sub->n_out;
        for (uint32_t k = 0; k < n; k++) {
            if (!rel && r->hidden && r->hidden[k]) continue;
            if (r->t && column_hidden(&r->t->cols[k])) continue;
            type t = r->t ? r->t->cols[k].t : r->sub->out[k].e->t;
            expr *e = expr_new(b, E_COLUMN, type_plain(t.id), c->location, 0);
            e->slot = r->slot;
            e->index = r->map ? r->map[k] : k;
            const char *name = r->t ? r->t->cols[k].name : r->sub->out[k].name;
            arena_push(b->mem, out, ((out_column){name, e}));
        }
    }
    if (!any) sql_raise(CTX(b), rel ? "42P01" : "42601", "nothing for * to stand for");
}

static void target_list(binder *b, scope *s, node **list, size_t n, uint32_t *n_out,
                        out_column **out)
{
    out_columns cols = {0};
    for (size_t i = 0; i < n; i++) {
        if (list[i]->node_case != PG_QUERY__NODE__NODE_RES_TARGET || !list[i]->res_target->val)
            sql_refuse(CTX(b), -1, "this output list");
        const PgQuery__ResTarget *t = list[i]->res_target;
        if (is_star(t->val)) {
            star(b, s, t->val->column_ref, &cols);
            continue;
        }
        expr *e = bind_record_value(b, s, t->val);
        if (!e) e = bind_expr(b, s, t->val);
        if (!b->side) expr_settle(b, e);
        const char *name = *t->name ? t->name : column_title(t->val);
        arena_push(b->mem, &cols, ((out_column){name_keep(b, name), e}));
    }
    *n_out = (uint32_t)cols.n;
    *out = cols.at;
}

/* ---- GROUP BY, ORDER BY ---------------------------------------------------------------------- */

static int ordinal(const node *n)
{
    if (n->node_case != PG_QUERY__NODE__NODE_A_CONST ||
        n->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL || n->a_const->isnull)
        return -1;
    return n->a_const->ival->ival;
}

static const char *bare_name(const node *n)
{
    if (n->node_case != PG_QUERY__NODE__NODE_COLUMN_REF || n->column_ref->n_fields != 1)
        return NULL;
    const node *f = n->column_ref->fields[0];
    return f->node_case == PG_QUERY__NODE__NODE_STRING ? f->string->sval : NULL;
}

static int output_named(binder *b, const query *q, const char *name)
{
    int found = -1;
    for (uint32_t i = 0; i < q->n_out; i++) {
        if (strcmp(q->out[i].name, name) != 0) continue;
        if (found >= 0 && !expr_same(q->out[found].e, q->out[i].e))
            sql_raise(CTX(b), "42702", "ORDER BY \"%s\" is ambiguous", name);
        if (found < 0) found = (int)i;
    }
    return found;
}

static int output_position(binder *b, const query *q, const node *n)
{
    int k = ordinal(n);
    if (n->node_case == PG_QUERY__NODE__NODE_A_CONST && k < 0)
        sql_refuse(CTX(b), n->a_const->location, "a constant in ORDER BY or GROUP BY");
    if (k < 0) return -1;
    if (k < 1 || (uint32_t)k > q->n_out)
        sql_raise(CTX(b), "42P10", "ORDER BY position %d is not in select list", k);
    return k - 1;
}

static bool input_has(const scope *s, const char *name)
{
    for (size_t i = 0; i < s->rels.n; i++) {
        const relation *r = &s->rels.at[i];
        uint32_t n = r->t ? r->t->n_cols : r->sub->n_out;
        for (uint32_t k = 0; k < n; k++)
            if (!strcmp(r->t ? r->t->cols[k].name : r->sub->out[k].name, name)) return true;
    }
    return false;
}

static bool has_aggregate(const expr *e)
{
    if (e->kind == E_AGGREGATE) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (has_aggregate(e->arg[i])) return true;
    return false;
}

expr *bind_group_key(binder *b, scope *s, query *q, const node *n)
{
    const char *name = bare_name(n);
    int k = output_position(b, q, n);
    if (name && !input_has(s, name)) k = output_named(b, q, name);
    expr *e = k >= 0 ? q->out[k].e : bind_expr(b, s, n);
    if (has_aggregate(e))
        sql_raise(CTX(b), "42803", "aggregate functions are not allowed in GROUP BY");
    expr_settle(b, e);
    return e;
}

static bool key_column(const query *q, uint32_t slot, uint32_t column)
{
    for (uint32_t i = 0; i < q->n_keys; i++) {
        const expr *k = q->keys[i];
        if (k->kind == E_COLUMN && !k->up && k->slot == slot && k->index == column) return true;
    }
    return false;
}

bool bind_depends_on_keys(const scope *s, const query *q, uint32_t slot)
{
    for (size_t i = 0; i < s->rels.n; i++) {
        const relation *r = &s->rels.at[i];
        if (r->slot != slot || !r->t) continue;
        for (uint32_t k = 0; k < r->t->n_unique; k++) {
            const unique_key *u = &r->t->unique[k];
            uint32_t c = 0;
            while (u->primary && !u->deferrable && c < u->n && key_column(q, slot, u->cols[c])) c++;
            if (u->primary && c == u->n) return true;
        }
    }
    return false;
}

static void check_grouped(binder *b, const scope *s, const query *q, const expr *e)
{
    for (uint32_t i = 0; i < q->n_keys; i++)
        if (expr_same(e, q->keys[i])) return;
    if (e->q) sql_refuse(CTX(b), e->position, "a subquery in the output of a grouped query");
    if (e->kind == E_COLUMN && !e->up && !bind_depends_on_keys(s, q, e->slot))
        sql_raise(CTX(b), "42803", "column must appear in the GROUP BY clause");
    for (uint32_t i = 0; i < e->n; i++) check_grouped(b, s, q, e->arg[i]);
}

/* What windows over groups read. */
static void check_grouped_window(binder *b, const scope *s, const query *q, const aggregate *w)
{
    const expr *of[] = {w->arg, w->second, w->third, w->filter, w->between};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        if (of[i]) check_grouped(b, s, q, of[i]);
    for (uint32_t i = 0; i < w->n_keys; i++) check_grouped(b, s, q, w->keys[i]);
    for (uint32_t i = 0; i < w->n_order; i++) check_grouped(b, s, q, w->order[i].e);
}

static void group_by(binder *b, scope *s, query *q, node **list, size_t n)
{
    q->keys = arena_array(b->mem, expr *, n + 1);
    q->n_keys = (uint32_t)n;
    for (size_t i = 0; i < n; i++) q->keys[i] = bind_group_key(b, s, q, list[i]);
    for (uint32_t i = 0; i < q->n_out; i++) check_grouped(b, s, q, q->out[i].e);
    if (q->having) check_grouped(b, s, q, q->having);
    for (uint32_t i = 0; i < q->n_sort; i++)
        if (q->sort[i].e) check_grouped(b, s, q, q->sort[i].e);
    for (uint32_t i = 0; i < q->n_on; i++) check_grouped(b, s, q, q->on[i]);
    for (uint32_t i = 0; i < q->n_windows; i++) check_grouped_window(b, s, q, &q->windows[i]);
}

static void order_by(binder *b, scope *s, query *q, node **list, size_t n)
{
    q->sort = arena_array(b->mem, order_key, n + 1);
    q->n_sort = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        if (list[i]->node_case != PG_QUERY__NODE__NODE_SORT_BY)
            sql_refuse(CTX(b), -1, "this ORDER BY");
        const PgQuery__SortBy *o = list[i]->sort_by;
        if (o->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING)
            sql_refuse(CTX(b), o->location, "ORDER BY USING");
        order_key k = {.desc = o->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC};
        k.nulls_first = o->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST ||
                        (o->sortby_nulls != PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST && k.desc);
        const char *name = bare_name(o->node);
        int at = output_position(b, q, o->node);
        if (at < 0 && name) at = output_named(b, q, name);
        if (at >= 0) {
            k.column = (uint32_t)at;
        } else {
            k.e = bind_expr(b, s, o->node);
            expr_settle(b, k.e);
            for (uint32_t c = 0; c < q->n_out; c++)
                if (k.e && expr_same(k.e, q->out[c].e)) k.e = NULL, k.column = c;
            if (k.e && q->distinct)
                sql_raise(CTX(b), "42P10",
                          "for SELECT DISTINCT, ORDER BY must be in the select list");
        }
        q->sort[i] = k;
    }
}

/* The expressions of DISTINCT ON; the first keys of ORDER BY must be among them. */
static void distinct_on(binder *b, scope *s, query *q, node **list, size_t n)
{
    q->n_on = (uint32_t)n;
    q->on = arena_array(b->mem, expr *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *name = bare_name(list[i]);
        int at = output_position(b, q, list[i]);
        if (at < 0 && name) at = output_named(b, q, name);
        q->on[i] = at >= 0 ? q->out[at].e : bind_expr(b, s, list[i]);
        expr_settle(b, q->on[i]);
    }
    for (uint32_t i = 0; i < q->n_sort && i < q->n_on; i++) {
        const expr *key = q->sort[i].e ? q->sort[i].e : q->out[q->sort[i].column].e;
        uint32_t k = 0;
        while (k < q->n_on && !expr_same(key, q->on[k])) k++;
        if (k == q->n_on)
            sql_raise(CTX(b), "42P10",
                      "SELECT DISTINCT ON expressions must match initial ORDER BY expressions");
    }
    if (n) b->p->planner_chooses = true;
}

static expr *count_expr(binder *b, scope *s, const node *n)
{
    if (!n) return NULL;
    scope none = {.up = s->up, .q = s->q};
    expr *e = bind_expr(b, &none, n);
    if (e->t.id != T_UNKNOWN && !type_rank(e->t.id))
        sql_raise(CTX(b), "42804", "argument of LIMIT must be type bigint");
    return expr_coerce(b, e, type_plain(T_INT8), CAST_ASSIGN);
}

/* ---- SELECT ---------------------------------------------------------------------------------- */

query *query_new(binder *b)
{
    query *q = arena_get(b->mem, sizeof *q);
    memset(q, 0, sizeof *q);
    q->position = -1;
    return q;
}

/* ORDER BY of UNION and VALUES: output columns only. */
static void order_output(binder *b, query *q, const PgQuery__SelectStmt *s)
{
    scope none = {.q = q};
    for (size_t i = 0; i < s->n_sort_clause; i++) {
        const node *n = s->sort_clause[i]->sort_by->node;
        const char *name = bare_name(n);
        if (output_position(b, q, n) < 0 && (!name || output_named(b, q, name) < 0)) {
            if (name) sql_raise(CTX(b), "42703", "column \"%s\" does not exist", name);
            sql_raise(CTX(b), "0A000", "invalid UNION/INTERSECT/EXCEPT ORDER BY clause");
        }
    }
    order_by(b, &none, q, s->sort_clause, s->n_sort_clause);
    if (s->limit_count || s->limit_offset) b->p->planner_chooses = true;
    q->limit = count_expr(b, &none, s->limit_count);
    q->offset = count_expr(b, &none, s->limit_offset);
    if (s->n_locking_clause) sql_refuse(CTX(b), -1, "FOR UPDATE of this query");
}

out_column placeholder(binder *b, const char *name, type_id t)
{
    return (out_column){name, expr_new(b, E_CONST, type_plain(t), -1, 0)};
}

static query *values_query(binder *b, scope *up, const PgQuery__SelectStmt *s)
{
    query *q = query_new(b);
    scope in = {.up = up, .q = q};
    q->n_rows = (uint32_t)s->n_values_lists;
    q->n_out = (uint32_t)s->values_lists[0]->list->n_items;
    q->rows = arena_array(b->mem, expr *, (size_t)q->n_rows * q->n_out + 1);
    q->out = arena_array(b->mem, out_column, q->n_out + 1);
    b->p->planner_chooses = true;
    for (uint32_t i = 0; i < q->n_rows; i++) {
        const PgQuery__List *l = s->values_lists[i]->list;
        if (l->n_items != q->n_out)
            sql_raise(CTX(b), "42601", "VALUES lists must all be the same length");
        for (uint32_t k = 0; k < q->n_out; k++)
            q->rows[i * q->n_out + k] = bind_expr(b, &in, l->items[k]);
    }
    expr **column = arena_array(b->mem, expr *, q->n_rows + 1);
    for (uint32_t k = 0; k < q->n_out; k++) {
        for (uint32_t i = 0; i < q->n_rows; i++) column[i] = q->rows[i * q->n_out + k];
        type_id t = common_type(b, column, q->n_rows, "VALUES");
        for (uint32_t i = 0; i < q->n_rows; i++)
            q->rows[i * q->n_out + k] = expr_coerce(b, column[i], type_plain(t), CAST_IMPLICIT);
        char name[32];
        int len = snprintf(name, sizeof name, "column%u", (unsigned)k + 1);
        q->out[k] = placeholder(b, arena_text(b->mem, name, (size_t)len), t);
    }
    order_output(b, q, s);
    return q;
}

static query *set_query(binder *b, scope *up, const PgQuery__SelectStmt *s)
{
    query *q = query_new(b);
    bool side = b->side;
    q->set = s->op == PG_QUERY__SET_OPERATION__SETOP_UNION       ? SET_UNION
             : s->op == PG_QUERY__SET_OPERATION__SETOP_INTERSECT ? SET_INTERSECT
                                                                 : SET_EXCEPT;
    q->all = s->all;
    b->side = true;
    q->left = bind_select(b, up, s->larg);
    q->right = bind_select(b, up, s->rarg);
    b->side = side;
    q->correlated = q->left->correlated || q->right->correlated;
    b->p->planner_chooses = true;
    q->n_out = q->left->n_out;
    if (q->right->n_out != q->n_out)
        sql_raise(CTX(b), "42601", "each query of a UNION must have the same number of columns");
    q->out = arena_array(b->mem, out_column, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) {
        expr *pair[2] = {q->left->out[i].e, q->right->out[i].e};
        type_id t = common_type(b, pair, 2, "UNION");
        for (int k = 0; k < 2; k++) { /* literals without a type become this one */
            query *of = k ? q->right : q->left;
            if (pair[k]->t.id == T_UNKNOWN) {
                if (of->set || of->n_rows || of->distinct || of->grouped || of->n_sort)
                    sql_refuse(CTX(b), pair[k]->position, "a literal without a type in UNION");
                of->out[i].e = expr_coerce(b, pair[k], type_plain(t), CAST_IMPLICIT);
            }
        }
        q->out[i] = placeholder(b, q->left->out[i].name, t);
    }
    order_output(b, q, s);
    return q;
}

static query *bind_plain(binder *b, scope *up, const PgQuery__SelectStmt *s);

query *bind_select(binder *b, scope *up, const PgQuery__SelectStmt *s)
{
    if (++b->depth > 2000) sql_refuse(CTX(b), -1, "a statement nested this deep");
    if (s->into_clause) sql_refuse(CTX(b), -1, "SELECT INTO");
    bool ties = s->limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES;
    if (ties && s->n_locking_clause) sql_refuse(CTX(b), -1, "WITH TIES beside FOR UPDATE");
    bool side = b->side;
    if (s->with_clause) b->side = false;
    size_t withs = bind_with(b, up, s->with_clause);
    b->side = side;
    query *q = s->op != PG_QUERY__SET_OPERATION__SETOP_NONE ? set_query(b, up, s)
               : s->n_values_lists                          ? values_query(b, up, s)
                                                            : bind_plain(b, up, s);
    refuse_key_types(b, q);
    if (ties && !q->n_sort) sql_raise(CTX(b), "42601", "WITH TIES requires ORDER BY");
    q->ties = ties;
    b->withs.n = withs;
    b->depth--;
    return q;
}

/* The values of windows come after those of the aggregates, of which only now is known how many
   there are. */
static void number_windows_in(const query *q, expr *e)
{
    if (e->kind == E_AGGREGATE && e->op == WINDOW_NUMBER) {
        e->index += q->n_aggs;
        e->op = WINDOW_CALL;
    }
    for (uint32_t i = 0; i < e->n; i++) number_windows_in(q, e->arg[i]);
}

static bool has_window(const expr *e)
{
    if (e->kind == E_AGGREGATE && (e->op == WINDOW_NUMBER || e->op == WINDOW_CALL)) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (has_window(e->arg[i])) return true;
    return false;
}

static void number_windows(query *q)
{
    for (uint32_t i = 0; i < q->n_out; i++) number_windows_in(q, q->out[i].e);
    for (uint32_t i = 0; i < q->n_sort; i++)
        if (q->sort[i].e) number_windows_in(q, q->sort[i].e);
}

static void bind_from(binder *b, scope *in, const PgQuery__SelectStmt *s)
{
    query *q = in->q;
    for (size_t i = 0; i < s->n_from_clause; i++) {
        join *j = from_item(b, in, s->from_clause[i]);
        if (!q->from) {
            q->from = j;
            continue;
        }
        join *both = join_new(b, J_INNER);
        both->left = q->from;
        both->right = j;
        q->from = both;
    }
}

/* Windows and functions of rows, where PostgreSQL allows them and we know them. */
static void check_windows(binder *b, const scope *in, const query *q)
{
    if (q->n_windows && (in->n_groupings || q->n_on))
        sql_refuse(CTX(b), -1, "window functions beside GROUPING or DISTINCT ON");
    if (q->spread && (q->n_aggs || q->n_windows || q->n_on))
        sql_refuse(CTX(b), q->spread->position,
                   "a function of rows beside aggregates, windows or DISTINCT ON");
    if (q->having && has_window(q->having))
        sql_raise(CTX(b), "42P20", "window functions are not allowed in HAVING");
    if (q->n_windows || q->spread) b->p->planner_chooses = true;
}

static query *bind_plain(binder *b, scope *up, const PgQuery__SelectStmt *s)
{
    query *q = query_new(b);
    bool side = b->side;
    scope in = {.up = up, .q = q};
    b->side = false;
    bind_from(b, &in, s);
    if (s->where_clause) q->where = bind_bool(b, &in, s->where_clause, "WHERE");
    if (q->where && q->where->kind == E_AND) b->p->planner_chooses = true;
    use_indexes(b, q->from, q->where);
    bool plain = s->n_distinct_clause == 1 &&
                 s->distinct_clause[0]->node_case == PG_QUERY__NODE__NODE__NOT_SET;
    q->distinct = plain;
    in.n_named = s->n_window_clause;
    in.named = s->window_clause;
    in.aggregates = true;
    b->side = side;
    in.spreads = !s->n_group_clause && !s->n_locking_clause && !s->having_clause;
    target_list(b, &in, s->target_list, s->n_target_list, &q->n_out, &q->out);
    in.spreads = false;
    b->side = false;
    if (s->having_clause) q->having = bind_bool(b, &in, s->having_clause, "HAVING");
    order_by(b, &in, q, s->sort_clause, s->n_sort_clause);
    if (!plain) distinct_on(b, &in, q, s->distinct_clause, s->n_distinct_clause);
    q->n_aggs = (uint32_t)in.aggs.n;
    q->aggs = in.aggs.at;
    q->n_windows = (uint32_t)in.windows.n;
    q->windows = in.windows.at;
    check_windows(b, &in, q);
    q->grouped = s->n_group_clause || q->n_aggs || q->having || in.n_groupings;
    if (q->grouped) {
        in.aggregates = false;
        bool sets = in.n_groupings > 0;
        for (size_t i = 0; i < s->n_group_clause; i++)
            sets |= s->group_clause[i]->node_case == PG_QUERY__NODE__NODE_GROUPING_SET;
        if (s->group_distinct) sql_refuse(CTX(b), -1, "GROUP BY DISTINCT");
        if (sets && q->n_windows) sql_refuse(CTX(b), -1, "window functions beside grouping sets");
        if (sets)
            bind_grouping_sets(b, &in, q, s->group_clause, s->n_group_clause);
        else
            group_by(b, &in, q, s->group_clause, s->n_group_clause);
    }
    if (q->n_windows) number_windows(q);
    if (s->limit_count || s->limit_offset || (q->where && q->where->kind == E_AND))
        b->p->planner_chooses = true;
    q->limit = count_expr(b, &in, s->limit_count);
    q->offset = count_expr(b, &in, s->limit_offset);
    bind_locks(b, &in, q, s);
    b->side = side;
    return q;
}

query *bind_query(binder *b, const node *n)
{
    if (!n || n->node_case != PG_QUERY__NODE__NODE_SELECT_STMT)
        sql_refuse(CTX(b), -1, "something else than SELECT here");
    query *q = bind_select(b, NULL, n->select_stmt);
    bind_unlocked(b, q, -1);
    return q;
}

/* ---- INSERT, UPDATE, DELETE ------------------------------------------------------------------ */

uint32_t column_named(binder *b, const table *t, const char *name, int position)
{
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (!strcmp(t->cols[i].name, name)) return i;
    (void)position;
    sql_raise(CTX(b), "42703", "column \"%s\" of relation \"%s\" does not exist", name, t->name);
}

/* NULL: DEFAULT. */
expr *assigned(binder *b, scope *s, const node *n, type to)
{
    if (n->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT) return NULL;
    return expr_coerce(b, bind_expr(b, s, n), to, CAST_ASSIGN);
}

/* SET (a, b) = (SELECT x, y): each column is a part of the row that the query gives. */
static expr *set_from_query(binder *b, scope *s, const PgQuery__MultiAssignRef *m, int position)
{
    const PgQuery__SubLink *l = m->source->sub_link;
    if (l->sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK || !l->subselect ||
        l->subselect->node_case != PG_QUERY__NODE__NODE_SELECT_STMT)
        sql_refuse(CTX(b), position, "SET (...) = of this subquery");
    query *q = bind_select(b, s, l->subselect->select_stmt);
    bind_unlocked(b, q, position);
    b->p->planner_chooses = b->sublinks = true;
    if (q->n_out != (uint32_t)m->ncolumns || m->colno < 1 || m->colno > m->ncolumns)
        sql_raise(CTX(b), "42601", "number of columns does not match number of values");
    uint32_t at = (uint32_t)m->colno - 1;
    expr *e = expr_new(b, E_SCALAR, type_plain(q->out[at].e->t.id), position, 0);
    e->q = q;
    e->index = at;
    return e;
}

/* What a column is set to: of SET (a, b) = (x, y), its part of the row.  NULL: DEFAULT. */
static expr *set_source(binder *b, scope *s, const PgQuery__ResTarget *t, type to)
{
    if (t->val->node_case != PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF)
        return assigned(b, s, t->val, to);
    const PgQuery__MultiAssignRef *m = t->val->multi_assign_ref;
    if (m->source->node_case == PG_QUERY__NODE__NODE_SUB_LINK) {
        expr *e = set_from_query(b, s, m, t->location);
        if (type_is_text(e->t.id) && !type_is_text(to.id)) /* perhaps an untyped literal */
            sql_refuse(CTX(b), t->location, "SET (...) = (SELECT ...) of a text");
        return expr_coerce(b, e, to, CAST_ASSIGN);
    }
    if (m->source->node_case != PG_QUERY__NODE__NODE_ROW_EXPR)
        sql_refuse(CTX(b), t->location, "SET (...) = of something else than a row");
    const PgQuery__RowExpr *r = m->source->row_expr;
    if ((size_t)m->ncolumns != r->n_args || m->colno < 1 || m->colno > m->ncolumns)
        sql_raise(CTX(b), "42601", "number of columns does not match number of values");
    return assigned(b, s, r->args[m->colno - 1], to);
}

/* A column of the table, by the name that it has there or in the view. */
static uint32_t target_column(binder *b, const scope *s, const char *name, int position)
{
    const relation *r = &s->rels.at[0];
    if (!r->map) return column_named(b, r->t, name, position);
    for (uint32_t i = 0; i < r->sub->n_out; i++)
        if (!strcmp(r->sub->out[i].name, name)) return r->map[i];
    sql_raise(CTX(b), "42703", "column \"%s\" of relation \"%s\" does not exist", name, r->name);
}

void bind_set_list(binder *b, scope *s, plan *p, node **list, size_t n)
{
    p->n_set = (uint32_t)n;
    p->set = arena_array(b->mem, set_clause, n + 1);
    for (size_t i = 0; i < n; i++) {
        const PgQuery__ResTarget *t = list[i]->res_target;
        if (!t->val) sql_refuse(CTX(b), t->location, "SET without a value");
        uint32_t c = target_column(b, s, t->name, t->location);
        for (size_t k = 0; k < i; k++)
            if (p->set[k].column == c && (t->n_indirection || list[k]->res_target->n_indirection))
                sql_refuse(CTX(b), t->location, "SET of several parts of a value");
            else if (p->set[k].column == c)
                sql_raise(CTX(b), "42601", "multiple assignments to same column \"%s\"", t->name);
        p->set[i] = (set_clause){c, t->n_indirection ? bind_set_part(b, s, t, p->target, c)
                                                     : set_source(b, s, t, p->target->cols[c].t)};
        if (p->target->cols[c].computed && p->set[i].e)
            sql_raise(CTX(b), "428C9", "column \"%s\" can only be updated to DEFAULT", t->name);
    }
}

static scope target_scope(binder *b, plan *p, const PgQuery__RangeVar *r, query *q)
{
    memset(q, 0, sizeof *q);
    scope s = {.q = q};
    p->scan = bind_view_target(b, &s, r, p);
    if (!p->scan) p->scan = table_relation(b, &s, r);
    p->target = b->x->regs.target = p->scan->table;
    if (p->target->read_only)
        sql_raise(CTX(b), "42809", "cannot change materialized view \"%s\"", p->target->name);
    if (p->target->n_triggers) b->calls = b->p->reads = true;
    return s;
}

static void returning(binder *b, scope *s, plan *p, node **list, size_t n)
{
    target_list(b, s, list, n, &p->n_returning, &p->returning);
}

static int constraint_named(binder *b, const table *t, const char *name, int position)
{
    for (uint32_t i = 0; i < t->n_unique; i++) {
        const unique_key *u = &t->unique[i];
        if (!u->name) sql_refuse(CTX(b), position, "the constraint \"%s\"", name);
        if (!u->index && !strcmp(u->name, name)) return (int)i;
    }
    sql_raise(CTX(b), "42704", "constraint \"%s\" for table \"%s\" does not exist", name, t->name);
}

/* Is the condition that the index has one of those that ON CONFLICT ... WHERE has? */
static bool implies(const expr *given, const expr *wanted)
{
    if (expr_same(given, wanted)) return true;
    for (uint32_t i = 0; given->kind == E_AND && i < given->n; i++)
        if (expr_same(given->arg[i], wanted)) return true;
    return false;
}

/* Has the unique key these columns and expressions, and no others? */
static bool is_key_of(const unique_key *u, expr **elems, size_t n)
{
    uint32_t hits = 0;
    if (n != u->n) return false;
    for (size_t k = 0; k < n; k++)
        for (uint32_t m = 0; m < u->n; m++)
            hits += u->n_keys ? expr_same(u->keys[m], elems[k])
                              : elems[k]->kind == E_COLUMN && u->cols[m] == elems[k]->index;
    return hits == u->n;
}

static void conflict_target(binder *b, scope *s, plan *p, const PgQuery__InferClause *f)
{
    const table *t = p->target;
    p->arbiter = -1;
    if (!f) return;
    if (*f->conname) {
        p->arbiter = constraint_named(b, t, f->conname, f->location);
        return;
    }
    scope one = {.q = s->q};
    arena_push(b->mem, &one.rels, s->rels.at[0]);
    expr **elems = arena_array(b->mem, expr *, f->n_index_elems + 1);
    for (size_t k = 0; k < f->n_index_elems; k++) {
        const PgQuery__IndexElem *e = f->index_elems[k]->index_elem;
        if (e->n_opclass || e->n_collation)
            sql_refuse(CTX(b), f->location, "ON CONFLICT with an operator class or collation");
        if (e->expr) {
            elems[k] = bind_expr(b, &one, e->expr);
            expr_settle(b, elems[k]);
            continue;
        }
        uint32_t c = column_named(b, one.rels.at[0].t, e->name, f->location);
        elems[k] = column_of(b, &one.rels.at[0], c, 0, f->location);
    }
    expr *where = f->where_clause ? bind_bool(b, &one, f->where_clause, "WHERE") : NULL;
    bool doubt = false;
    for (int partial = 0; partial < 2; partial++) /* one without a condition covers the others */
        for (uint32_t i = 0; i < t->n_unique; i++) {
            const unique_key *u = &t->unique[i];
            if ((u->where != NULL) != (partial == 1) || !is_key_of(u, elems, f->n_index_elems))
                continue;
            if (!u->where || (where && implies(where, u->where))) {
                if (p->arbiter >= 0)
                    sql_refuse(CTX(b), f->location, "ON CONFLICT that several indexes are for");
                p->arbiter = (int)i;
                if (!u->where) return;
            }
            doubt |= u->where && where;
        }
    if (p->arbiter >= 0) return;
    if (doubt) sql_refuse(CTX(b), f->location, "ON CONFLICT ... WHERE of another condition");
    sql_raise(CTX(b), "42P10", "no unique constraint matches the ON CONFLICT specification");
}

static void on_conflict(binder *b, scope *s, plan *p, const PgQuery__OnConflictClause *c)
{
    if (!c || c->action == PG_QUERY__ON_CONFLICT_ACTION__ONCONFLICT_NONE) return;
    conflict_target(b, s, p, c->infer);
    for (uint32_t i = 0; i < p->target->n_unique; i++) /* PostgreSQL: 55000 */
        if (p->target->unique[i].deferrable && (p->arbiter < 0 || p->arbiter == (int)i))
            sql_refuse(CTX(b), -1, "ON CONFLICT with a deferrable constraint");
    p->conflict = ON_CONFLICT_NOTHING;
    if (c->action != PG_QUERY__ON_CONFLICT_ACTION__ONCONFLICT_UPDATE) return;
    if (p->arbiter < 0) sql_raise(CTX(b), "42601", "ON CONFLICT DO UPDATE requires a target");
    p->conflict = ON_CONFLICT_UPDATE;
    scope both = *s;
    both.rels.at = NULL;
    both.rels.n = both.rels.cap = 0;
    arena_push(b->mem, &both.rels, s->rels.at[0]);
    arena_push(b->mem, &both.rels, ((relation){.name = "excluded", .t = p->target, .slot = 1}));
    bind_set_list(b, &both, p, c->target_list, c->n_target_list);
    if (c->where_clause) p->conflict_where = bind_bool(b, &both, c->where_clause, "WHERE");
}

static void insert_values(binder *b, plan *p, node **lists, size_t n)
{
    scope none = {0};
    p->n_rows = (uint32_t)n;
    p->rows = arena_array(b->mem, expr *, n * p->n_columns + 1);
    for (size_t i = 0; i < n; i++) {
        const PgQuery__List *l = lists[i]->list;
        if (l->n_items > p->n_columns)
            sql_raise(CTX(b), "42601", "INSERT has more expressions than target columns");
        if (i == 0 && l->n_items < p->n_columns) p->n_columns = (uint32_t)l->n_items;
        if (l->n_items != p->n_columns)
            sql_raise(CTX(b), "42601", "VALUES lists must all be the same length");
        for (size_t k = 0; k < l->n_items; k++)
            p->rows[i * p->n_columns + k] =
                assigned(b, &none, l->items[k], p->target->cols[p->columns[k]].t);
    }
}

/* The columns that are given values, by the names of the table or view. */
static void insert_columns(binder *b, scope *s, plan *p, const PgQuery__InsertStmt *i)
{
    const table *t = p->target;
    assert(t && s->rels.n == 1);
    p->columns = arena_array(b->mem, uint32_t, i->n_cols + t->n_cols + 1);
    p->n_columns = (uint32_t)i->n_cols;
    const relation *as = &s->rels.at[0];
    if (as->map && i->on_conflict_clause)
        sql_refuse(CTX(b), i->relation->location, "ON CONFLICT of a view");
    for (uint32_t k = 0; as->map && !i->n_cols && k < as->sub->n_out; k++)
        p->columns[p->n_columns++] = as->map[k];
    for (uint32_t k = 0; !as->map && !i->n_cols && k < t->n_cols; k++)
        if (!column_hidden(&t->cols[k])) p->columns[p->n_columns++] = k;
    for (uint32_t k = 0; i->n_cols && k < p->n_columns; k++) {
        const PgQuery__ResTarget *c = i->cols[k]->res_target;
        if (c->n_indirection) sql_refuse(CTX(b), c->location, "this column");
        p->columns[k] = target_column(b, s, c->name, c->location);
        for (uint32_t m = 0; m < k; m++)
            if (p->columns[m] == p->columns[k])
                sql_raise(CTX(b), "42701", "column \"%s\" specified more than once", c->name);
    }
}

/* A literal of the output list that has no type yet gets that of its column. */
static void type_literals(binder *b, plan *p, const PgQuery__SelectStmt *s)
{
    bool plain = s->op == PG_QUERY__SET_OPERATION__SETOP_NONE && !s->n_distinct_clause &&
                 !s->n_sort_clause && !s->n_group_clause && s->n_target_list == p->q->n_out;
    for (uint32_t k = 0; plain && k < p->q->n_out && k < p->n_columns; k++) {
        const node *n = s->target_list[k]->res_target->val;
        expr *e = p->q->out[k].e;
        if (n->node_case != PG_QUERY__NODE__NODE_A_CONST || e->kind != E_CONST) continue;
        if (e->t.id != T_TEXT && e->t.id != T_UNKNOWN) continue;
        expr *literal = expr_new(b, E_CONST, type_plain(T_UNKNOWN), e->position, 0);
        literal->v = e->v;
        p->q->out[k].e = expr_coerce(b, literal, p->target->cols[p->columns[k]].t, CAST_ASSIGN);
    }
}

static void insert(binder *b, plan *p, const PgQuery__InsertStmt *i)
{
    p->kind = S_INSERT;
    bind_with(b, NULL, i->with_clause);
    query *q = arena_get(b->mem, sizeof *q);
    scope s = target_scope(b, p, i->relation, q);
    table *t = p->target;
    insert_columns(b, &s, p, i);
    if (i->override == PG_QUERY__OVERRIDING_KIND__OVERRIDING_USER_VALUE)
        sql_refuse(CTX(b), -1, "OVERRIDING USER VALUE");
    bool system = i->override == PG_QUERY__OVERRIDING_KIND__OVERRIDING_SYSTEM_VALUE;
    for (uint32_t k = 0; i->select_stmt && k < p->n_columns; k++)
        if ((t->cols[p->columns[k]].always && !system) ||
            (i->n_cols && t->cols[p->columns[k]].computed))
            sql_refuse(CTX(b), -1, "a value for a GENERATED ALWAYS column");
    if (!i->select_stmt) {
        p->n_columns = 0;
        p->n_rows = 1;
    } else if (i->select_stmt->select_stmt->n_values_lists) {
        const PgQuery__SelectStmt *v = i->select_stmt->select_stmt;
        if (v->limit_count || v->limit_offset || v->n_sort_clause || v->with_clause)
            sql_refuse(CTX(b), -1, "this VALUES");
        insert_values(b, p, v->values_lists, v->n_values_lists);
    } else {
        p->q = bind_select(b, NULL, i->select_stmt->select_stmt);
        if (p->q->n_out > p->n_columns)
            sql_raise(CTX(b), "42601", "INSERT has more expressions than target columns");
        if (i->n_cols && p->q->n_out < p->n_columns)
            sql_raise(CTX(b), "42601", "INSERT has more target columns than expressions");
        p->n_columns = p->q->n_out;
        type_literals(b, p, i->select_stmt->select_stmt);
        for (uint32_t k = 0; k < p->n_columns; k++) {
            type_id from = p->q->out[k].e->t.id, to = t->cols[p->columns[k]].t.id;
            if (type_is_text(from) && !type_is_text(to)) /* perhaps an untyped literal */
                sql_refuse(CTX(b), -1, "INSERT ... SELECT of a text into %s", type_name(to));
            if (!cast_exists(from, to, CAST_ASSIGN))
                sql_raise(CTX(b), "42804", "column is of type %s", type_name(to));
            if (p->q->out[k].e->kind ==
                E_CONST) /* a constant is cast when the statement is planned */
                expr_coerce(b, p->q->out[k].e, t->cols[p->columns[k]].t, CAST_ASSIGN);
        }
    }
    on_conflict(b, &s, p, i->on_conflict_clause);
    returning(b, &s, p, i->returning_list, i->n_returning_list);
}

/* FROM of UPDATE, USING of DELETE. */
static void more_tables(binder *b, scope *s, plan *p, node **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        join *both = join_new(b, J_INNER);
        both->left = p->scan;
        both->right = from_item(b, s, list[i]);
        p->scan = both;
    }
    p->slots = s->q->slots;
}

static void condition(binder *b, scope *s, plan *p, const node *where)
{
    if (where) p->where = bind_bool(b, s, where, "WHERE");
    if (p->view_where && p->where) p->planner_chooses = true;
    if (p->view_where) p->where = p->where ? expr_and(b, p->view_where, p->where) : p->view_where;
    use_indexes(b, p->scan, p->where);
    if (p->where && p->where->kind == E_AND) p->planner_chooses = true;
}

static void update(binder *b, plan *p, const PgQuery__UpdateStmt *u)
{
    p->kind = S_UPDATE;
    bind_with(b, NULL, u->with_clause);
    query *q = arena_get(b->mem, sizeof *q);
    scope s = target_scope(b, p, u->relation, q);
    more_tables(b, &s, p, u->from_clause, u->n_from_clause);
    bind_set_list(b, &s, p, u->target_list, u->n_target_list);
    condition(b, &s, p, u->where_clause);
    returning(b, &s, p, u->returning_list, u->n_returning_list);
}

static void delete (binder *b, plan *p, const PgQuery__DeleteStmt *d)
{
    p->kind = S_DELETE;
    bind_with(b, NULL, d->with_clause);
    query *q = arena_get(b->mem, sizeof *q);
    scope s = target_scope(b, p, d->relation, q);
    more_tables(b, &s, p, d->using_clause, d->n_using_clause);
    condition(b, &s, p, d->where_clause);
    returning(b, &s, p, d->returning_list, d->n_returning_list);
}

bool bind_write(binder *b, plan *p, const node *n)
{
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_INSERT_STMT: insert(b, p, n->insert_stmt); return true;
    case PG_QUERY__NODE__NODE_UPDATE_STMT: update(b, p, n->update_stmt); return true;
    case PG_QUERY__NODE__NODE_DELETE_STMT: delete (b, p, n->delete_stmt); return true;
    default: return false;
    }
}

static void names_of(binder *b, plan *p, const char *one)
{
    p->n_names = 1;
    p->names = arena_array(b->mem, const char *, 1);
    p->names[0] = name_keep(b, one);
}

static void drop(binder *b, plan *p, const PgQuery__DropStmt *d)
{
    if (d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_FUNCTION ||
        d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_PROCEDURE ||
        d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_ROUTINE) {
        bind_drop_routine(b, p, d);
        return;
    }
    bool view = d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW;
    if (d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TRIGGER) {
        bind_drop_trigger(b, p, d);
        return;
    }
    if (d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX) {
        bind_drop_index(b, p, d);
        return;
    }
    if (d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TYPE) {
        bind_drop_type(b, p, d);
        return;
    }
    if (d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_SEQUENCE ||
        d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_POLICY) {
        p->kind = S_NOTHING;
        return;
    }
    if (d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_SCHEMA) {
        bind_drop_schema(b, p, d);
        return;
    }
    bool made = d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_MATVIEW;
    if (!view && !made && d->remove_type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE)
        sql_refuse(CTX(b), -1, "DROP of this kind of object");
    p->kind = view ? S_DROP_VIEW : S_DROP;
    p->cascade = d->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
    p->quiet = d->missing_ok;
    p->n_names = (uint32_t)d->n_objects;
    p->names = arena_array(b->mem, const char *, d->n_objects + 1);
    for (size_t i = 0; i < d->n_objects; i++) {
        p->names[i] = named_table_key(b, d->objects[i]);
        bind_not_partition(b, p->names[i], -1);
        const table *t = vs_find(b->x->s, p->names[i], b->x->latest);
        if (t && (view || made != t->read_only))
            sql_raise(CTX(b), "42809", "\"%s\" is another kind of object", p->names[i]);
    }
}

static void transaction(binder *b, plan *p, const PgQuery__TransactionStmt *t)
{
    switch (t->kind) {
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_BEGIN:
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_START:
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT: p->kind = S_NOTHING; return;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_SAVEPOINT: p->kind = S_SAVEPOINT; break;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_RELEASE: p->kind = S_RELEASE; break;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK_TO: p->kind = S_ROLLBACK_TO; break;
    default: sql_refuse(CTX(b), -1, "ROLLBACK and two-phase commit in a committed transaction");
    }
    names_of(b, p, t->savepoint_name);
}

/* The statement makes something that later statements evaluate, with other parameters or none.
   PostgreSQL refuses parameters there, and does not take variables of a body. */
static bool is_definition(const node *n)
{
    return n->node_case == PG_QUERY__NODE__NODE_CREATE_STMT ||
           n->node_case == PG_QUERY__NODE__NODE_CREATE_TRIG_STMT ||
           n->node_case == PG_QUERY__NODE__NODE_CREATE_FUNCTION_STMT ||
           n->node_case == PG_QUERY__NODE__NODE_INDEX_STMT ||
           n->node_case == PG_QUERY__NODE__NODE_ALTER_TABLE_STMT ||
           n->node_case == PG_QUERY__NODE__NODE_VIEW_STMT;
}

static void bind_statement(binder *b, plan *p, const node *n)
{
    b->definition = is_definition(n);
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT:
        if (n->select_stmt->into_clause) {
            bind_select_into(b, p, n->select_stmt);
            break;
        }
        p->kind = S_SELECT;
        p->q = bind_select(b, NULL, n->select_stmt);
        break;
    case PG_QUERY__NODE__NODE_INSERT_STMT:
    case PG_QUERY__NODE__NODE_UPDATE_STMT:
    case PG_QUERY__NODE__NODE_DELETE_STMT: bind_write(b, p, n); break;
    case PG_QUERY__NODE__NODE_CREATE_TRIG_STMT:
        bind_create_trigger(b, p, n->create_trig_stmt);
        break;
    case PG_QUERY__NODE__NODE_MERGE_STMT: bind_merge(b, p, n->merge_stmt); break;
    case PG_QUERY__NODE__NODE_CREATE_STMT: bind_create_table(b, p, n->create_stmt); break;
    case PG_QUERY__NODE__NODE_DROP_STMT: drop(b, p, n->drop_stmt); break;
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT: transaction(b, p, n->transaction_stmt); break;
    case PG_QUERY__NODE__NODE_INDEX_STMT: bind_index(b, p, n->index_stmt); break;
    case PG_QUERY__NODE__NODE_ALTER_TABLE_STMT: bind_alter(b, p, n->alter_table_stmt); break;
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
        bind_create_as(b, p, n->create_table_as_stmt);
        break;
    case PG_QUERY__NODE__NODE_CREATE_SCHEMA_STMT:
        bind_create_schema(b, p, n->create_schema_stmt);
        break;
    case PG_QUERY__NODE__NODE_RENAME_STMT: bind_rename(b, p, n->rename_stmt); break;
    case PG_QUERY__NODE__NODE_VIEW_STMT: bind_view(b, p, n->view_stmt); break;
    case PG_QUERY__NODE__NODE_CREATE_ENUM_STMT: bind_create_enum(b, p, n->create_enum_stmt); break;
    case PG_QUERY__NODE__NODE_REFRESH_MAT_VIEW_STMT:
        bind_refresh(b, p, n->refresh_mat_view_stmt);
        break;
    case PG_QUERY__NODE__NODE_TRUNCATE_STMT: bind_truncate(b, p, n->truncate_stmt); break;
    case PG_QUERY__NODE__NODE_CREATE_FUNCTION_STMT:
        bind_create_routine(b, p, n->create_function_stmt);
        break;
    case PG_QUERY__NODE__NODE_CALL_STMT: bind_call(b, p, n->call_stmt); break;
    case PG_QUERY__NODE__NODE_DO_STMT: bind_do(b, p, n->do_stmt); break;
    default:
        if (!bind_session(b, p, n) && !bind_utility(b, p, n))
            sql_refuse(CTX(b), -1, "%s", node_title(b, n));
    }
}

/* ---- the border to libpg_query --------------------------------------------------------------- */

static void add_writes(binder *b, plan *p)
{
    p->n_writes = (uint32_t)b->writes.n;
    p->writes = b->writes.at;
    if (p->kind == S_SELECT) p->kind = S_WRITING_SELECT;
    if (p->kind != S_WRITING_SELECT && p->kind != S_INSERT && p->kind != S_UPDATE &&
        p->kind != S_DELETE)
        sql_refuse(CTX(b), -1, "WITH of a statement that writes, in this place");
    b->sublinks = p->planner_chooses = true;
}

static void bind_parsed(binder *b, plan *p, const PgQuery__ParseResult *tree)
{
    if (tree->n_stmts != 1) sql_refuse(CTX(b), -1, "%zu statements in one text", tree->n_stmts);
    bind_statement(b, p, tree->stmts[0]->stmt);
    p->catalog = b->x->s->catalog;
    if (b->writes.n) add_writes(b, p);
    const query *q = p->q;
    p->simple = p->kind == S_SELECT && q->n_out == 1 && !q->from && !q->where && !q->grouped &&
                !q->distinct && !q->n_sort && !q->limit && !q->offset && !q->locking && !q->call &&
                !q->set && !q->n_rows && !q->n_windows && !b->sublinks;
    if (p->simple) p->planner_chooses = false;
    p->nested = b->sublinks || b->calls;
    p->joins |= p->nested;
    if (p->fails && (!p->simple || b->calls))
        sql_refuse(CTX(b), -1, "a constant expression that fails (%s)", b->x->c.state);
    bool one_row = p->kind == S_INSERT && !p->q && p->n_rows == 1 && !p->conflict;
    if (!p->simple && !one_row) {
        p->n_early = (uint32_t)b->early.n;
        p->early = b->early.at;
    }
    p->n_params = (uint32_t)b->params.n;
    p->params = b->params.at;
}

/* The last byte of a dollar-quoted string (of the text, if it has no end); 0: none begins here. */
static size_t dollar_end(const char *s, size_t n, size_t i)
{
    size_t tag = i + 1;
    while (tag < n && ((s[tag] | 32) >= 'a' || s[tag] == '_' || (s[tag] >= '0' && s[tag] <= '9')))
        tag++;
    if (tag >= n || s[tag] != '$' || (s[i + 1] >= '0' && s[i + 1] <= '9')) return 0;
    size_t len = tag + 1 - i;
    for (size_t k = tag + 1; k + len <= n; k++)
        if (s[k] == '$' && !memcmp(s + k, s + i, len)) return k + len - 1;
    return n - 1;
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The last byte of the word that begins at i. */
static size_t word_end(const char *s, size_t n, size_t i)
{
    assert(i < n && is_letter(s[i]));
    while (i + 1 < n && (is_letter(s[i + 1]) || is_digit(s[i + 1]) || s[i + 1] == '_')) i++;
    return i;
}

static bool makes_list(const char *word, size_t n)
{
    return (n == 3 && (!memcmp(word, "AND", 3) || !memcmp(word, "and", 3))) ||
           (n == 2 && (!memcmp(word, "OR", 2) || !memcmp(word, "or", 2)));
}

/* libpg_query and protobuf-c recurse along the tree without a limit; so we look at the text first.
   A tree is no deeper than its parentheses, plus the tokens that no comma, AND or OR (which make
   lists) stand between. */
static bool too_deep(const char *s, size_t n)
{
    size_t tokens = 0, open = 0;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        size_t from = i;
        size_t quoted = c == '$' ? dollar_end(s, n, i) : 0;
        if (quoted) { /* a body: its statements are looked at when they are bound */
            i = quoted;
        } else if (c == '\'' || c == '"') {
            for (i++; i < n && s[i] != c; i++) continue;
        } else if (is_letter(c)) {
            i = word_end(s, n, i);
            if (makes_list(s + from, i - from + 1)) tokens = 0;
        } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || is_digit(c)) {
            continue;
        } else if (c == ',') {
            tokens = 0;
        } else if (c == '(' || c == '[') {
            open++;
        } else if ((c == ')' || c == ']') && open) {
            open--;
        }
        if (++tokens > 1500 || open > 400) return true;
    }
    return false;
}

plan *sql_bind(sql_exec *x, arena *m, const char *text, size_t n)
{
    x->regs.pl = NULL;
    x->c.place.routine = NULL;
    x->views = 0;
    return bind_text(x, m, NULL, text, n, NULL, 0);
}

/* What these describe is kept by the store. */
static bool outlives_plan(const node *n)
{
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_CREATE_STMT:
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
    case PG_QUERY__NODE__NODE_CREATE_SCHEMA_STMT:
    case PG_QUERY__NODE__NODE_CREATE_FUNCTION_STMT:
    case PG_QUERY__NODE__NODE_PREPARE_STMT:
    case PG_QUERY__NODE__NODE_VIEW_STMT:
    case PG_QUERY__NODE__NODE_CREATE_ENUM_STMT:
    case PG_QUERY__NODE__NODE_CREATE_TRIG_STMT:
    case PG_QUERY__NODE__NODE_INDEX_STMT:
    case PG_QUERY__NODE__NODE_DROP_STMT: /* of an index: the table that is left */
    case PG_QUERY__NODE__NODE_ALTER_TABLE_STMT:
    case PG_QUERY__NODE__NODE_RENAME_STMT:
    case PG_QUERY__NODE__NODE_CONSTRAINTS_SET_STMT:
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT: return true;
    case PG_QUERY__NODE__NODE_SELECT_STMT: return n->select_stmt->into_clause != NULL;
    default: return false;
    }
}

plan *bind_text(sql_exec *x, arena *volatile m, struct pl_code *code, const char *text, size_t n,
                const type *params, uint32_t n_params)
{
    if (memchr(text, 0, n)) sql_refuse(&x->c, -1, "a NUL character");
    if (n > SQL_MAX_TEXT)
        sql_refuse(&x->c, -1, "a statement of %zu bytes (%d are taken)", n, SQL_MAX_TEXT);
    if (too_deep(text, n)) sql_refuse(&x->c, -1, "a statement nested this deep");
    PgQueryProtobufParseResult parsed = pg_query_parse_protobuf(text);
    PgQuery__ParseResult *volatile tree = NULL;
    if (!parsed.error)
        tree = pg_query__parse_result__unpack(NULL, parsed.parse_tree.len,
                                              (const uint8_t *)parsed.parse_tree.data);
    char message[200] = "out of memory";
    int position = -1;
    bool wrong = parsed.error && parsed.error->message;
    if (wrong) {
        size_t len = strnlen(parsed.error->message, sizeof message - 1);
        memcpy(message, parsed.error->message, len);
        message[len] = 0;
        position = parsed.error->cursorpos - 1;
    }
    bool short_of_memory = !tree && !strcmp(message, "out of memory");
    pg_query_free_protobuf_parse_result(parsed);
    if (short_of_memory) guard_fail(x->c.guard, GUARD_NOMEM, "out of memory in the SQL parser");
    x->c.unparsed = !tree;
    if (!tree) sql_refuse(&x->c, position, "a statement that does not parse (%s)", message);

    guard *g = x->c.guard, outer;
    memcpy(&outer, g, sizeof outer);
    plan *volatile unseen = NULL;
    if (guard_armed(g)) {
        bool catalogs = g->code == SQL_REFUSED && unseen && bind_asks_catalogs(x, tree);
        pg_query__parse_result__free_unpacked(tree, NULL);
        guard_restore(g, &outer);
        if (catalogs) return unseen;
        guard_fail_again(g);
    }
    /* tables and savepoints outlive their plan */
    const node *first = tree->n_stmts ? tree->stmts[0]->stmt : NULL;
    if (first && outlives_plan(first)) m = &x->s->names;
    plan *p = arena_get(m, sizeof *p);
    memset(p, 0, sizeof *p);
    p->arbiter = -1;
    p->session = x->session;
    if (!code && x->leaves_catalogs) {
        unseen = arena_get(m, sizeof *p);
        *unseen = *p;
        unseen->kind = S_UNSEEN;
        unseen->catalog = x->s->catalog;
        unseen->asks_catalogs = true;
    }
    binder b = {.x = x, .mem = m, .p = p, .code = code, .text = text};
    for (uint32_t i = 0; i < n_params; i++) arena_push(m, &b.params, params[i]);
    bind_parsed(&b, p, tree);
    plan_check(p);
    plan_note_unread(p);
    guard_restore(g, &outer);
    pg_query__parse_result__free_unpacked(tree, NULL);
    return p;
}
