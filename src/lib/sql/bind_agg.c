/*
 * bind_agg.c - aggregates and window functions.
 *
 * Both become E_AGGREGATE with a number: of the query's aggregates, or of its windows.  A query has
 * one kind or the other; PostgreSQL allows windows over groups, which we do not know.
 */
#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

static const char *const names[] = {
#define AGGREGATE(id, name) name,
    SQL_AGGREGATES
#undef AGGREGATE
};

static void order_of(binder *b, scope *s, node **list, size_t n, aggregate *a)
{
    a->n_order = (uint32_t)n;
    a->order = arena_array(b->mem, order_key, n + 1);
    for (size_t i = 0; i < n; i++) {
        const PgQuery__SortBy *o = list[i]->sort_by;
        order_key k = {.desc = o->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC};
        if (o->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING)
            sql_refuse(CTX(b), o->location, "ORDER BY USING");
        k.nulls_first = o->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST ||
                        (o->sortby_nulls != PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST && k.desc);
        k.e = bind_expr(b, s, o->node);
        expr_settle(b, k.e);
        a->order[i] = k;
    }
}

/* FRAMEOPTION_* of PostgreSQL's parse nodes; the ends alternate, the first end before the last. */
enum {
    FRAME_GIVEN = 0x1,
    FRAME_ROWS = 0x4,
    FRAME_GROUPS = 0x8,
    FRAME_UNBOUNDED_PRECEDING = 0x20,
    FRAME_UNBOUNDED_FOLLOWING = 0x80,
    FRAME_CURRENT_ROW = 0x200,
    FRAME_OFFSET_PRECEDING = 0x800,
    FRAME_OFFSET_FOLLOWING = 0x2000,
    FRAME_EXCLUDE = 0x8000 | 0x10000 | 0x20000
};

static frame_bound frame_end(binder *b, const PgQuery__WindowDef *w, int options,
                             const node *offset)
{
    static const struct {
        int bit;
        bound_kind kind;
    } kinds[] = {{FRAME_UNBOUNDED_PRECEDING, BOUND_FIRST},
                 {FRAME_UNBOUNDED_FOLLOWING, BOUND_LAST},
                 {FRAME_CURRENT_ROW, BOUND_CURRENT},
                 {FRAME_OFFSET_PRECEDING, BOUND_BEFORE},
                 {FRAME_OFFSET_FOLLOWING, BOUND_AFTER}};
    frame_bound to = {BOUND_CURRENT, NULL};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (options & kinds[i].bit) to.kind = kinds[i].kind;
    if (to.kind != BOUND_BEFORE && to.kind != BOUND_AFTER) return to;
    scope none = {0};
    if (!(w->frame_options & FRAME_ROWS))
        sql_refuse(CTX(b), w->location, "a frame of RANGE with a distance");
    to.offset = expr_coerce(b, bind_expr(b, &none, offset), type_plain(T_INT8), CAST_ASSIGN);
    return to;
}

static void frame_of(binder *b, const PgQuery__WindowDef *w, aggregate *a)
{
    int o = w->frame_options;
    a->from.kind = BOUND_FIRST;
    a->to.kind = BOUND_CURRENT;
    if (!(o & FRAME_GIVEN)) return;
    if (o & (FRAME_GROUPS | FRAME_EXCLUDE))
        sql_refuse(CTX(b), w->location, "a frame of GROUPS or with EXCLUDE");
    a->by_rows = (o & FRAME_ROWS) != 0;
    a->from = frame_end(b, w, o, w->start_offset);
    a->to = frame_end(b, w, o >> 1, w->end_offset);
}

/* OVER name. */
static const PgQuery__WindowDef *window_named(binder *b, const scope *s, const char *name,
                                              int position)
{
    for (size_t i = 0; i < s->n_named; i++)
        if (!strcmp(s->named[i]->window_def->name, name)) return s->named[i]->window_def;
    (void)position;
    sql_raise(CTX(b), "42704", "window \"%s\" does not exist", name);
}

static void window_of(binder *b, scope *s, const PgQuery__FuncCall *f, aggregate *a)
{
    const PgQuery__WindowDef *w = f->over;
    if (*w->name) w = window_named(b, s, w->name, f->location);
    if (*w->refname) sql_refuse(CTX(b), f->location, "a window that is made from another one");
    frame_of(b, w, a);
    if (a->distinct || a->filter) sql_refuse(CTX(b), f->location, "DISTINCT or FILTER with OVER");
    a->n_keys = (uint32_t)w->n_partition_clause;
    a->keys = arena_array(b->mem, expr *, a->n_keys + 1);
    for (uint32_t i = 0; i < a->n_keys; i++) {
        a->keys[i] = bind_expr(b, s, w->partition_clause[i]);
        expr_settle(b, a->keys[i]);
    }
    order_of(b, s, w->order_clause, w->n_order_clause, a);
}

static bool has_extremes(type_id t)
{
    return t != T_UNKNOWN && t != T_BOOL && t != T_UUID && t != T_BYTEA && t != T_JSON &&
           t != T_JSONB && !type_is_array(t);
}

static type array_agg_type(binder *b, const PgQuery__FuncCall *f, aggregate *a)
{
    expr_settle(b, a->arg);
    type_id t = a->arg->t.id == T_VARCHAR ? T_TEXT : a->arg->t.id;
    if (!type_has_arrays(t)) sql_refuse(CTX(b), f->location, "array_agg of this type");
    return type_plain(type_array_of(t));
}

static type sum_type(binder *b, const PgQuery__FuncCall *f, const aggregate *a, type_id t)
{
    bool sum = a->kind == AGG_SUM;
    if (t == T_INTERVAL && !f->over) return type_plain(T_INTERVAL);
    if (type_is_float(t) && !f->over) return type_plain(sum ? t : T_FLOAT8);
    if (!type_rank(t)) sql_refuse(CTX(b), f->location, "sum or avg of this type");
    return type_plain(sum && (t == T_INT2 || t == T_INT4) ? T_INT8 : T_NUMERIC);
}

static type result_type(binder *b, const PgQuery__FuncCall *f, aggregate *a)
{
    type_id t = a->arg ? a->arg->t.id : T_INT8;
    switch (a->kind) {
    case AGG_COUNT:
    case AGG_ROW_NUMBER:
    case AGG_RANK:
    case AGG_DENSE_RANK: return type_plain(T_INT8);
    case AGG_NTILE: return type_plain(T_INT4);
    case AGG_LAG:
    case AGG_LEAD:
    case AGG_FIRST_VALUE:
    case AGG_LAST_VALUE:
    case AGG_NTH_VALUE:
        expr_settle(b, a->arg);
        if (a->third) a->third = expr_coerce(b, a->third, type_plain(a->arg->t.id), CAST_IMPLICIT);
        return type_plain(a->arg->t.id);
    case AGG_MIN:
    case AGG_MAX:
        if (!has_extremes(t)) sql_refuse(CTX(b), f->location, "min or max of this type");
        return type_plain(t == T_VARCHAR ? T_TEXT : t);
    case AGG_BOOL_AND:
    case AGG_BOOL_OR:
    case AGG_EVERY:
        if (t != T_BOOL) sql_refuse(CTX(b), f->location, "bool_and of this type");
        return type_plain(T_BOOL);
    case AGG_ARRAY_AGG: return array_agg_type(b, f, a);
    case AGG_JSON_AGG:
    case AGG_JSONB_AGG:
        expr_settle(b, a->arg);
        return type_plain(a->kind == AGG_JSON_AGG ? T_JSON : T_JSONB);
    case AGG_STRING_AGG:
        if (!type_is_text(t) || !type_is_text(a->between->t.id))
            sql_refuse(CTX(b), f->location, "string_agg of this type");
        a->arg = expr_coerce(b, a->arg, type_plain(T_TEXT), CAST_IMPLICIT);
        a->between = expr_coerce(b, a->between, type_plain(T_TEXT), CAST_IMPLICIT);
        return type_plain(T_TEXT);
    default: return sum_type(b, f, a, t);
    }
}

static bool same_expr(const expr *a, const expr *b)
{
    return !a == !b && (!a || expr_same(a, b));
}

static bool same_aggregate(const aggregate *a, const aggregate *b)
{
    return a->kind == b->kind && a->distinct == b->distinct && !a->n_order && !b->n_order &&
           !a->n_keys && !b->n_keys && same_expr(a->arg, b->arg) &&
           same_expr(a->filter, b->filter) && same_expr(a->between, b->between);
}

static void refuse_unknown(binder *b, const scope *s, const PgQuery__FuncCall *f,
                           const aggregate *a)
{
    bool ranks = a->kind >= AGG_ROW_NUMBER, text = a->kind == AGG_STRING_AGG;
    bool offset = a->kind == AGG_LAG || a->kind == AGG_LEAD;
    uint32_t wanted = f->agg_star || (ranks && a->kind <= AGG_DENSE_RANK) ? 0
                      : text || a->kind == AGG_NTH_VALUE                  ? 2
                                                                          : 1;
    if (offset && f->n_args > 1 && f->n_args <= 3) wanted = (uint32_t)f->n_args;
    if (!s || !s->aggregates || s->in_aggregate)
        sql_refuse(CTX(b), f->location, "an aggregate in this place");
    if (f->agg_within_group) sql_refuse(CTX(b), f->location, "WITHIN GROUP");
    if (ranks && !f->over)
        sql_raise(CTX(b), "42809", "window function %s requires OVER", names[a->kind]);
    if (f->n_args != wanted || (f->agg_star && a->kind != AGG_COUNT) ||
        (text && (a->distinct || f->over)))
        sql_refuse(CTX(b), f->location, "this aggregate");
}

expr *bind_aggregate(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    size_t k = 0;
    while (k < sizeof names / sizeof names[0] && strcmp(name, names[k]) != 0) k++;
    if (k == sizeof names / sizeof names[0]) return NULL;
    aggregate a = {.kind = (agg_kind)k, .distinct = f->agg_distinct};
    bool text = a.kind == AGG_STRING_AGG;
    refuse_unknown(b, s, f, &a);
    s->in_aggregate = true;
    if (f->n_args) a.arg = bind_expr(b, s, f->args[0]);
    if (text) a.between = bind_expr(b, s, f->args[1]);
    if (!text && f->n_args > 1)
        a.second = expr_coerce(b, bind_expr(b, s, f->args[1]), type_plain(T_INT4), CAST_IMPLICIT);
    if (f->n_args > 2) a.third = bind_expr(b, s, f->args[2]);
    if (a.kind == AGG_NTILE) a.arg = expr_coerce(b, a.arg, type_plain(T_INT4), CAST_IMPLICIT);
    if (f->agg_filter) a.filter = bind_bool(b, s, f->agg_filter, "FILTER");
    if (a.kind == AGG_COUNT && a.arg) expr_settle(b, a.arg);
    if (a.distinct && f->n_agg_order) sql_refuse(CTX(b), f->location, "DISTINCT with ORDER BY");
    order_of(b, s, f->agg_order, f->n_agg_order, &a);
    bool collects = a.kind == AGG_ARRAY_AGG || a.kind == AGG_JSON_AGG || a.kind == AGG_JSONB_AGG;
    if (collects && (f->over || a.distinct))
        sql_refuse(CTX(b), f->location, "%s with DISTINCT or OVER", name);
    if (!text && !collects) a.n_order = 0; /* the others do not depend on it */
    if (f->over) window_of(b, s, f, &a);
    s->in_aggregate = false;
    a.t = result_type(b, f, &a);
    expr *e = expr_new(b, E_AGGREGATE, a.t, f->location, 0);
    if (f->over) {
        e->index = (uint32_t)s->windows.n;
        e->op = 1;
        arena_push(b->mem, &s->windows, a);
        return e;
    }
    e->index = (uint32_t)s->aggs.n;
    for (uint32_t i = 0; i < s->aggs.n; i++)
        if (same_aggregate(&s->aggs.at[i], &a)) {
            e->index = i;
            return e;
        }
    arena_push(b->mem, &s->aggs, a);
    return e;
}
