/*
 * bind_agg.c - aggregates and window functions.
 *
 * Both become E_AGGREGATE with a number: of the query's aggregates, or of its windows.  Windows of
 * a grouped query are over its groups, and may read its aggregates.
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
    FRAME_WITHOUT_ROW = 0x8000,
    FRAME_WITHOUT_GROUP = 0x10000,
    FRAME_WITHOUT_TIES = 0x20000
};

/* A distance of RANGE: what PostgreSQL has an in_range function for, but floats and times. */
static expr *range_offset(binder *b, const PgQuery__WindowDef *w, const aggregate *a, expr *offset)
{
    if (a->n_order != 1)
        sql_raise(CTX(b), "42P20",
                  "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
    type key = type_plain(a->order[0].e->t.id);
    bool moment = key.id == T_DATE || key.id == T_STAMP;
    if (moment) return expr_coerce(b, offset, type_plain(T_INTERVAL), CAST_IMPLICIT);
    bool unknown = offset->t.id == T_UNKNOWN;
    bool whole = type_is_int(key.id) && (unknown || type_is_int(offset->t.id));
    bool exact =
        key.id == T_NUMERIC && (unknown || offset->t.id == T_NUMERIC || type_is_int(offset->t.id));
    if (!whole && !exact)
        sql_refuse(CTX(b), w->location, "a frame of RANGE with a distance of this type");
    return whole && !unknown ? offset : expr_coerce(b, offset, key, CAST_IMPLICIT);
}

static frame_bound frame_end(binder *b, const PgQuery__WindowDef *w, const aggregate *a,
                             int options, const node *offset)
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
    to.offset = bind_expr(b, &none, offset);
    to.offset = a->mode == FRAME_OF_RANGE
                    ? range_offset(b, w, a, to.offset)
                    : expr_coerce(b, to.offset, type_plain(T_INT8), CAST_ASSIGN);
    return to;
}

/* After order_of(). */
static void frame_of(binder *b, const PgQuery__WindowDef *w, aggregate *a)
{
    int o = w->frame_options;
    a->from.kind = BOUND_FIRST;
    a->to.kind = BOUND_CURRENT;
    if (!(o & FRAME_GIVEN)) return;
    a->mode = o & FRAME_ROWS ? FRAME_OF_ROWS : o & FRAME_GROUPS ? FRAME_OF_GROUPS : FRAME_OF_RANGE;
    a->without = o & FRAME_WITHOUT_ROW     ? EXCLUDE_ROW
                 : o & FRAME_WITHOUT_GROUP ? EXCLUDE_GROUP
                 : o & FRAME_WITHOUT_TIES  ? EXCLUDE_TIES
                                           : EXCLUDE_NOTHING;
    if (a->mode == FRAME_OF_GROUPS && !a->n_order)
        sql_raise(CTX(b), "42P20", "GROUPS mode requires an ORDER BY clause");
    a->from = frame_end(b, w, a, o, w->start_offset);
    a->to = frame_end(b, w, a, o >> 1, w->end_offset);
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
    if (a->distinct || a->filter) sql_refuse(CTX(b), f->location, "DISTINCT or FILTER with OVER");
    a->n_keys = (uint32_t)w->n_partition_clause;
    a->keys = arena_array(b->mem, expr *, a->n_keys + 1);
    for (uint32_t i = 0; i < a->n_keys; i++) {
        a->keys[i] = bind_expr(b, s, w->partition_clause[i]);
        expr_settle(b, a->keys[i]);
    }
    order_of(b, s, w->order_clause, w->n_order_clause, a);
    frame_of(b, w, a);
}

static bool has_extremes(type_id t)
{
    return t != T_UNKNOWN && t != T_BOOL && t != T_UUID && t != T_BYTEA && t != T_JSON &&
           t != T_JSONB && t != T_RECORD && !type_is_array(t);
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

static bool makes_object(agg_kind k)
{
    return k == AGG_JSON_OBJECT_AGG || k == AGG_JSONB_OBJECT_AGG;
}

static type object_type(binder *b, const PgQuery__FuncCall *f, aggregate *a)
{
    expr_settle(b, a->arg);
    expr_settle(b, a->between);
    type_id key = a->arg->t.id;
    if (type_is_array(key) || key == T_JSON || key == T_JSONB || type_is_float(key) ||
        key == T_STAMPTZ)
        sql_refuse(CTX(b), f->location, "a key of this type");
    return type_plain(a->kind == AGG_JSON_OBJECT_AGG ? T_JSON : T_JSONB);
}

/* Aggregates that take numbers of any kind, or integers. */
static type number_type(binder *b, const PgQuery__FuncCall *f, const aggregate *a, type_id t)
{
    bool bits = a->kind == AGG_BIT_AND || a->kind == AGG_BIT_OR;
    if (bits ? !type_is_int(t) : !type_rank(t))
        sql_refuse(CTX(b), f->location, "%s of this type", names[a->kind]);
    return type_plain(bits ? t : T_NUMERIC);
}

static type rank_type(agg_kind k)
{
    if (k == AGG_NTILE) return type_plain(T_INT4);
    return type_plain(k <= AGG_DENSE_RANK ? T_INT8 : T_FLOAT8);
}

static type result_type(binder *b, const PgQuery__FuncCall *f, aggregate *a)
{
    type_id t = a->arg ? a->arg->t.id : T_INT8;
    if (makes_object(a->kind)) return object_type(b, f, a);
    if (a->kind >= AGG_ROW_NUMBER && a->kind <= AGG_NTILE) return rank_type(a->kind);
    if (a->kind >= AGG_VAR_SAMP && a->kind <= AGG_BIT_OR) return number_type(b, f, a, t);
    switch (a->kind) {
    case AGG_COUNT: return type_plain(T_INT8);
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
    bool object = makes_object(a->kind);
    bool offset = a->kind == AGG_LAG || a->kind == AGG_LEAD;
    uint32_t wanted = f->agg_star || (ranks && a->kind <= AGG_CUME_DIST) ? 0
                      : text || object || a->kind == AGG_NTH_VALUE       ? 2
                                                                         : 1;
    if (offset && f->n_args > 1 && f->n_args <= 3) wanted = (uint32_t)f->n_args;
    if (!s || !s->aggregates || s->in_aggregate || (s->in_window && f->over))
        sql_refuse(CTX(b), f->location, "an aggregate in this place");
    if (f->agg_within_group) sql_refuse(CTX(b), f->location, "WITHIN GROUP");
    if (ranks && !f->over)
        sql_raise(CTX(b), "42809", "window function %s requires OVER", names[a->kind]);
    if (f->n_args != wanted || (f->agg_star && a->kind != AGG_COUNT) || (text && f->over) ||
        (object && (a->distinct || f->over)))
        sql_refuse(CTX(b), f->location, "this aggregate");
}

/* The values of an aggregate with DISTINCT come sorted, by themselves if nothing else is said; what
   is said may be about them alone. */
static void order_distinct(binder *b, const PgQuery__FuncCall *f, aggregate *a)
{
    if (!a->distinct) return;
    if (a->kind == AGG_STRING_AGG && a->between->kind != E_CONST)
        sql_refuse(CTX(b), f->location, "DISTINCT with a separator that is not a constant");
    if (a->n_order > 1 || (a->n_order && !expr_same(a->order[0].e, a->arg)))
        sql_refuse(CTX(b), f->location, "DISTINCT with ORDER BY of something else");
    if (a->n_order) return;
    a->n_order = 1;
    a->order = arena_array(b->mem, order_key, 1);
    a->order[0] = (order_key){.e = a->arg};
}

/* `pair`: of two values. */
static void aggregate_arguments(binder *b, scope *s, const PgQuery__FuncCall *f, aggregate *a,
                                bool pair)
{
    bool json = a->kind == AGG_JSON_AGG || a->kind == AGG_JSONB_AGG;
    if (a->kind == AGG_COUNT && f->n_args == 1 && !f->agg_distinct &&
        bind_counts_rows(b, s, f->args[0], f->location))
        return;
    if (f->n_args)
        a->arg = json ? bind_json_argument(b, s, f->args[0]) : bind_expr(b, s, f->args[0]);
    if (pair)
        a->between = makes_object(a->kind) ? bind_json_argument(b, s, f->args[1])
                                           : bind_expr(b, s, f->args[1]);
    else if (f->n_args > 1)
        a->second = expr_coerce(b, bind_expr(b, s, f->args[1]), type_plain(T_INT4), CAST_IMPLICIT);
    if (f->n_args > 2) a->third = bind_expr(b, s, f->args[2]);
    if (a->kind == AGG_NTILE) a->arg = expr_coerce(b, a->arg, type_plain(T_INT4), CAST_IMPLICIT);
    if (f->agg_filter) a->filter = bind_bool(b, s, f->agg_filter, "FILTER");
    if (a->kind == AGG_COUNT && a->arg) expr_settle(b, a->arg);
}

/* percentile_cont, percentile_disc and mode: of the one value that WITHIN GROUP sorts by. */
static expr *ordered_set(binder *b, scope *s, const PgQuery__FuncCall *f, agg_kind k)
{
    aggregate a = {.kind = k};
    if (!s || !s->aggregates || s->in_aggregate || s->in_window || f->over || f->agg_distinct ||
        !f->agg_within_group || f->n_agg_order != 1 || f->n_args != (k != AGG_MODE))
        sql_refuse(CTX(b), f->location, "this use of %s", names[k]);
    s->in_aggregate = true;
    if (f->agg_filter) a.filter = bind_bool(b, s, f->agg_filter, "FILTER");
    order_of(b, s, f->agg_order, 1, &a);
    if (f->n_args) a.between = bind_expr(b, s, f->args[0]);
    if (a.between && type_is_array(a.between->t.id))
        sql_refuse(CTX(b), f->location, "%s of several fractions", names[k]);
    if (a.between) a.between = expr_coerce(b, a.between, type_plain(T_FLOAT8), CAST_IMPLICIT);
    s->in_aggregate = false;
    if (a.between && a.between->kind != E_CONST && a.between->kind != E_PARAM)
        sql_refuse(CTX(b), f->location, "%s of a fraction that is no constant", names[k]);
    a.arg = a.order[0].e;
    if (k == AGG_PERCENTILE_CONT && !type_rank(a.arg->t.id) && !type_is_float(a.arg->t.id))
        sql_refuse(CTX(b), f->location, "percentile_cont of this type");
    if (k == AGG_PERCENTILE_CONT)
        a.order[0].e = a.arg = expr_coerce(b, a.arg, type_plain(T_FLOAT8), CAST_IMPLICIT);
    if (a.arg->t.id == T_RECORD || a.arg->t.id == T_JSON)
        sql_refuse(CTX(b), f->location, "%s of this type", names[k]);
    a.t = type_plain(a.arg->t.id);
    expr *e = expr_new(b, E_AGGREGATE, a.t, f->location, 0);
    e->index = (uint32_t)s->aggs.n;
    arena_push(b->mem, &s->aggs, a);
    return e;
}

expr *bind_aggregate(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    size_t k = 0;
    while (k < sizeof names / sizeof names[0] && strcmp(name, names[k]) != 0) k++;
    if (k == sizeof names / sizeof names[0]) return NULL;
    if (k >= AGG_PERCENTILE_CONT && k <= AGG_MODE) return ordered_set(b, s, f, (agg_kind)k);
    aggregate a = {.kind = (agg_kind)k, .distinct = f->agg_distinct};
    bool text = a.kind == AGG_STRING_AGG || makes_object(a.kind);
    refuse_unknown(b, s, f, &a);
    bool in_window = s->in_window;
    if (f->over)
        s->in_window = true;
    else
        s->in_aggregate = true;
    aggregate_arguments(b, s, f, &a, text);
    bool collects = a.kind == AGG_ARRAY_AGG || a.kind == AGG_JSON_AGG || a.kind == AGG_JSONB_AGG;
    if (collects && f->over) sql_refuse(CTX(b), f->location, "%s with OVER", name);
    if (collects || text) a.t = result_type(b, f, &a); /* of what is put in order */
    order_of(b, s, f->agg_order, f->n_agg_order, &a);
    if (collects || text)
        order_distinct(b, f, &a);
    else if (a.distinct && f->n_agg_order)
        sql_refuse(CTX(b), f->location, "DISTINCT with ORDER BY");
    else
        a.n_order = 0; /* the others do not depend on it */
    if (f->over) window_of(b, s, f, &a);
    s->in_aggregate = false;
    s->in_window = in_window;
    if (!collects && !text) a.t = result_type(b, f, &a);
    expr *e = expr_new(b, E_AGGREGATE, a.t, f->location, 0);
    if (f->over) {
        e->index = (uint32_t)s->windows.n;
        e->op = WINDOW_NUMBER;
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
