/*
 * bind_expr.c - expressions of the parse tree, with names resolved and types checked.
 *
 * The rules are PostgreSQL's: an untyped literal takes the type of its neighbour, implicit casts
 * lead to the common type, and names are looked for in the query, then in the queries around it,
 * then among the variables of a body.  What PostgreSQL rejects is raised with its SQLSTATE; what
 * is not known here is refused by name, with its position.  Constants are folded.
 */
#include <assert.h>
#include <stdio.h>

#include "sql/bind.h"
#include "sql/builtin.h"
#include "sql/pl.h"
#include "sql/sql_text.h"

#define CTX(b) (&(b)->x->c)

const char *name_keep(binder *b, const char *s)
{
    return arena_text(b->mem, s, strlen(s));
}

value value_keep(binder *b, type_id t, value v)
{
    if (v.null || v.open) return v;
    if (type_is_bytes(t)) return value_text(arena_text(b->mem, v.s, v.n), v.n);
    if (t != T_NUMERIC) return v;
    void *copy = arena_get(b->mem, num_bytes(v.d));
    memcpy(copy, v.d, num_bytes(v.d));
    return value_num(copy);
}

expr *expr_new(binder *b, expr_kind kind, type t, int position, uint32_t n)
{
    expr *e = arena_get(b->mem, sizeof *e);
    memset(e, 0, sizeof *e);
    e->kind = kind;
    e->t = t;
    e->position = position;
    e->n = n;
    e->arg = arena_array(b->mem, expr *, n + 1);
    e->v = value_null();
    return e;
}

const char *string_of(binder *b, const node *n, int position)
{
    if (!n || n->node_case != PG_QUERY__NODE__NODE_STRING)
        sql_refuse(CTX(b), position, "this name");
    return n->string->sval;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    type_id t;
} type_names[] = {
    {"bool", T_BOOL},         {"int2", T_INT2}, {"int4", T_INT4},           {"int8", T_INT8},
    {"numeric", T_NUMERIC},   {"text", T_TEXT}, {"varchar", T_VARCHAR},     {"bpchar", T_CHAR},
    {"timestamp", T_STAMP},   {"date", T_DATE}, {"timestamptz", T_STAMPTZ}, {"uuid", T_UUID},
    {"interval", T_INTERVAL}, {"time", T_TIME}, {"float4", T_FLOAT4},       {"float8", T_FLOAT8},
    {"bytea", T_BYTEA},       {"json", T_JSON}, {"jsonb", T_JSONB},
};

static int32_t modifier(binder *b, const PgQuery__TypeName *t, size_t i)
{
    const node *n = t->typmods[i];
    if (n->node_case != PG_QUERY__NODE__NODE_A_CONST ||
        n->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL)
        sql_refuse(CTX(b), t->location, "this type modifier");
    return n->a_const->ival->ival;
}

static type array_type(binder *b, const PgQuery__TypeName *t)
{
    PgQuery__TypeName element = *t;
    element.n_array_bounds = 0;
    type of = bind_type(b, &element);
    if (t->n_array_bounds > 1 || of.width >= 0 || !type_has_arrays(of.id))
        sql_refuse(CTX(b), t->location, "an array of this type");
    return type_plain(type_array_of(of.id == T_VARCHAR ? T_TEXT : of.id));
}

type bind_type(binder *b, const PgQuery__TypeName *t)
{
    if (t->setof || t->pct_type || !t->n_names) sql_refuse(CTX(b), t->location, "sets as types");
    if (t->n_array_bounds) return array_type(b, t);
    const char *name = string_of(b, t->names[t->n_names - 1], t->location);
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (strcmp(type_names[i].name, name) != 0) continue;
        type r = type_plain(type_names[i].t);
        if (!t->n_typmods) return r;
        r.width = modifier(b, t, 0);
        if (r.id == T_NUMERIC && t->n_typmods <= 2) {
            r.scale = t->n_typmods > 1 ? modifier(b, t, 1) : 0;
            if (r.width < 1 || r.width > 1000 || r.scale < 0 || r.scale > r.width)
                sql_refuse(CTX(b), t->location, "numeric(%d, %d)", r.width, r.scale);
            return r;
        }
        if ((r.id == T_VARCHAR || r.id == T_CHAR) && t->n_typmods == 1 && r.width > 0) return r;
        bool moment = r.id == T_STAMP || r.id == T_STAMPTZ || r.id == T_TIME;
        if (moment && t->n_typmods == 1 && r.width >= 0) return r.width < 6 ? r : type_plain(r.id);
        break;
    }
    type made;
    if (!t->n_typmods && t->n_names == 1 && enum_named(b, name, &made)) return made;
    sql_refuse(CTX(b), t->location, "type %s%s", name, t->n_typmods ? " with a modifier" : "");
}

/* ---- coercion -------------------------------------------------------------------------------- */

static void settle_param(binder *b, expr *e, type_id t)
{
    type *p = &b->params.at[e->index];
    if (p->id != T_UNKNOWN && p->id != t)
        sql_refuse(CTX(b), e->position, "parameter $%u with two types", (unsigned)e->index + 1);
    *p = type_plain(t);
    e->t = *p;
}

/* An unknown literal or parameter becomes one of type t (without width). */
static void resolve(binder *b, expr *e, type_id t)
{
    assert(e->t.id == T_UNKNOWN);
    if (t == T_UNKNOWN) t = T_TEXT;
    if (e->kind == E_PARAM) {
        settle_param(b, e, t);
        return;
    }
    if (!e->v.null) e->v = value_keep(b, t, value_parse(CTX(b), type_plain(t), e->v.s, e->v.n));
    e->t = type_plain(t);
}

void expr_settle(binder *b, expr *e)
{
    if (e->t.id == T_UNKNOWN) resolve(b, e, T_TEXT);
}

static bool is_const(const expr *e)
{
    for (uint32_t i = 0; i < e->n; i++)
        if (e->arg[i]->kind != E_CONST) return false;
    return e->n > 0;
}

static bool strict_kind(const expr *e)
{
    expr_kind k = e->kind;
    if (k == E_BUILTIN) /* a subscript is no function: its container is looked at all the same */
        return !(e->builtin->flags & BUILTIN_NULLS) && *e->builtin->name != '[';
    return k == E_COMPARE || k == E_ARITH || k == E_NEGATE || k == E_CONCAT || k == E_CAST ||
           k == E_CALL || k == E_LIKE || k == E_NOT;
}

static expr *null_const(binder *b, const expr *like)
{
    return expr_new(b, E_CONST, like->t, like->position, 0);
}

/* Has one value for the whole statement. */
static bool steady(const expr *e)
{
    if (e->kind == E_COLUMN || e->kind == E_AGGREGATE || e->kind == E_ROUTINE ||
        e->kind == E_OPEN || e->q)
        return false;
    for (uint32_t i = 0; i < e->n; i++)
        if (!steady(e->arg[i])) return false;
    return true;
}

/* PostgreSQL evaluates constants when it plans (eval_const_expressions), whether or not a row ever
   needs them; an operator with a null constant is null, and its other side never looked at. */
static expr *fold(binder *b, expr *volatile e)
{
    for (uint32_t i = 0; strict_kind(e) && i < e->n; i++)
        if (e->arg[i]->kind == E_CONST && e->arg[i]->v.null) return null_const(b, e);
    if (e->kind == E_BUILTIN && e->builtin->flags & BUILTIN_STABLE) return e;
    if (!is_const(e)) {
        if (strict_kind(e) && steady(e)) arena_push(b->mem, &b->early, e);
        return e;
    }
    guard *g = b->x->c.guard, outer;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        bool raised = g->code == SQL_RAISED;
        guard_restore(g, &outer);
        if (!raised) guard_fail_again(g);
        b->p->fails = true;
        return e;
    }
    value v = eval(b->x, e, NULL);
    guard_restore(g, &outer);
    expr *c = expr_new(b, E_CONST, e->t, e->position, 0);
    c->v = value_keep(b, e->t.id, v);
    return c;
}

expr *expr_fold(binder *b, expr *e)
{
    return fold(b, e);
}

expr *expr_coerce(binder *b, expr *e, type to, cast_kind kind)
{
    if (e->t.id == T_UNKNOWN) resolve(b, e, to.id);
    if (e->t.id == to.id && to.width < 0) return e;
    if (!cast_exists(e->t.id, to.id, kind))
        sql_raise(CTX(b), kind == CAST_EXPLICIT ? "42846" : "42804", "cannot cast type %s to %s",
                  type_name(e->t.id), type_name(to.id));
    expr *c = expr_new(b, E_CAST, to, e->position, 1);
    c->arg[0] = e;
    c->cast = kind;
    /* now() is an instant already, though it is typed as a plain timestamp */
    c->clocked = e->t.id == T_STAMP && to.id == T_STAMPTZ && clock_inside(e);
    return fold(b, c);
}

/* AND, OR: constants that decide, or that do not matter. */
static expr *simple_junction(binder *b, expr *e)
{
    bool and = e->kind == E_AND, null = false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        expr *a = e->arg[i];
        if (a->kind != E_CONST) {
            e->arg[n++] = a;
        } else if (a->v.null) {
            if (!null) e->arg[n++] = a;
            null = true;
        } else if (!a->v.i == and) {
            return a;
        }
    }
    e->n = n;
    if (n == 1) return e->arg[0];
    if (n) return e;
    expr *c = null_const(b, e);
    c->v = value_bool(and);
    return c;
}

static expr *simple_coalesce(binder *b, expr *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        expr *a = e->arg[i];
        if (a->kind == E_CONST && a->v.null) continue;
        if (a->kind == E_CONST && !n) return a;
        e->arg[n++] = a;
        if (a->kind == E_CONST) break;
    }
    e->n = n;
    return n ? e : null_const(b, e);
}

/* Conditions that are constant leave, or end the CASE. */
static expr *simple_case(expr *e)
{
    uint32_t n = 0, i = 0;
    expr *otherwise = e->arg[e->n - 1];
    for (; i + 1 < e->n; i += 2) {
        const expr *c = e->arg[i];
        if (c->kind == E_CONST && (c->v.null || !c->v.i)) continue;
        if (c->kind == E_CONST) {
            otherwise = e->arg[i + 1];
            break;
        }
        e->arg[n++] = e->arg[i];
        e->arg[n++] = e->arg[i + 1];
    }
    if (!n) return otherwise;
    e->arg[n++] = otherwise;
    e->n = n;
    return e;
}

/* The type that values of several expressions have in common (CASE, COALESCE, IN, ...). */
type_id common_type(binder *b, expr **e, uint32_t n, const char *what)
{
    type_id t = T_UNKNOWN;
    for (uint32_t i = 0; i < n; i++) {
        type_id o = e[i]->t.id == T_VARCHAR ? T_TEXT : e[i]->t.id;
        if (o == T_UNKNOWN || o == t) continue;
        if (t == T_UNKNOWN)
            t = o;
        else if (type_is_text(t) && type_is_text(o)) /* which one is taken depends on the order */
            sql_refuse(CTX(b), e[i]->position, "char beside text");
        else if (type_rank(t) && type_rank(o))
            t = type_rank(o) > type_rank(t) ? o : t;
        else if ((t == T_STAMP && o == T_DATE) || (t == T_DATE && o == T_STAMP))
            t = T_STAMP;
        else if ((type_is_float(t) || type_rank(t)) && (type_is_float(o) || type_rank(o)))
            t = t == T_FLOAT8 || o == T_FLOAT8 ? T_FLOAT8 : T_FLOAT4;
        else if (type_is_moment(t) && type_is_moment(o) && CTX(b)->zone != ZONE_UTC)
            sql_refuse(CTX(b), e[i]->position, "what depends on the session's time zone");
        else if (type_is_moment(t) && type_is_moment(o))
            t = T_STAMPTZ;
        else
            sql_raise(CTX(b), "42804", "%s types %s and %s cannot be matched", what, type_name(t),
                      type_name(o));
    }
    return t == T_UNKNOWN ? T_TEXT : t;
}

static void coerce_all(binder *b, expr **e, uint32_t n, type_id t)
{
    for (uint32_t i = 0; i < n; i++) e[i] = expr_coerce(b, e[i], type_plain(t), CAST_IMPLICIT);
}

/* ---- operators ------------------------------------------------------------------------------- */

static bool comparable(type_id l, type_id r)
{
    return l == r || (type_is_float(l) && type_is_float(r)) || (type_rank(l) && type_rank(r)) ||
           (type_is_text(l) && type_is_text(r)) ||
           ((l == T_STAMP || l == T_DATE) && (r == T_STAMP || r == T_DATE));
}

/* json has no operators, and the order of jsonb is not known here. */
static bool json_unordered(type_id l, type_id r, const char *op)
{
    return l == T_JSON || r == T_JSON ||
           (l == T_JSONB && r == T_JSONB && *op != '=' && op[1] != '>');
}

static type_id operands(binder *b, expr **e, const char *op, int position)
{
    for (int i = 0; i < 2; i++) {
        type_id o = e[1 - i]->t.id;
        if (o == T_RECORD) sql_refuse(CTX(b), position, "operator %s of a row", op);
        if (e[i]->t.id == T_UNKNOWN && o != T_UNKNOWN)
            resolve(b, e[i], o == T_VARCHAR ? T_TEXT : o);
    }
    type_id l = e[0]->t.id, r = e[1]->t.id;
    for (int i = 0; i < 2; i++)
        if (e[i]->t.id == T_STAMP && e[1 - i]->t.id == T_STAMPTZ && clock_inside(e[i]))
            return T_STAMPTZ;
    bool zoned =
        l != r && type_is_moment(l) && type_is_moment(r) && (l == T_STAMPTZ || r == T_STAMPTZ);
    if (zoned && CTX(b)->zone == ZONE_UTC) return T_STAMPTZ;
    if (zoned) sql_refuse(CTX(b), position, "what depends on the session's time zone");
    if (type_is_float(l) != type_is_float(r) && (type_rank(l) || type_rank(r)))
        return T_FLOAT8; /* real beside an integer, too */
    if (json_unordered(l, r, op))
        sql_refuse(CTX(b), position, "operator %s of %s", op, type_name(l));
    if (!comparable(l, r))
        sql_raise(CTX(b), "42883", "operator does not exist: %s %s %s", type_name(l), op,
                  type_name(r));
    if ((l == T_CHAR) != (r == T_CHAR) && type_is_text(l) && type_is_text(r)) {
        if (l == T_VARCHAR || r == T_VARCHAR) sql_refuse(CTX(b), position, "char beside varchar");
        return T_TEXT;
    }
    return common_type(b, e, 2, op);
}

expr *compare(binder *b, int op, expr *l, expr *r, int position)
{
    static const char *const names[] = {"=", "<>", "<", "<=", ">", ">="};
    expr *e = expr_new(b, E_COMPARE, type_plain(T_BOOL), position, 2);
    e->op = op;
    e->arg[0] = l;
    e->arg[1] = r;
    e->sub = operands(b, e->arg, names[op], position);
    coerce_all(b, e->arg, 2, e->sub);
    clock_mark(e);
    return fold(b, e);
}

/* date + integer, date - integer, date - date; the rest needs intervals. */
static expr *date_arithmetic(binder *b, int op, expr *l, expr *r, int position)
{
    if (op == '+' && r->t.id == T_DATE) {
        expr *swap = l;
        l = r;
        r = swap;
    }
    bool days = r->t.id == T_INT4 || r->t.id == T_INT2, both = r->t.id == T_DATE;
    if (l->t.id != T_DATE || !(op == '+' ? days : op == '-' && (days || both)))
        sql_refuse(CTX(b), position, "arithmetic on times");
    assert(days != both);
    expr *e = expr_new(b, E_CALL, type_plain(both ? T_INT4 : T_DATE), position, 2);
    e->op = both ? CALL_DAYS_BETWEEN : op == '+' ? CALL_DAYS_AFTER : CALL_DAYS_BEFORE;
    e->sub = T_DATE;
    e->arg[0] = l;
    e->arg[1] = r;
    return fold(b, e);
}

static expr *arithmetic(binder *b, int op, expr *l, expr *r, int position)
{
    char name[2] = {(char)op, 0};
    expr *e = expr_new(b, E_ARITH, type_plain(T_INT4), position, 2);
    e->op = op;
    e->arg[0] = l;
    e->arg[1] = r;
    if (l->t.id == T_UNKNOWN && r->t.id == T_UNKNOWN)
        sql_raise(CTX(b), "42725", "operator is not unique: unknown %s unknown", name);
    if (type_is_moment(l->t.id) || type_is_moment(r->t.id))
        return date_arithmetic(b, op, l, r, position);
    type_id t = operands(b, e->arg, name, position);
    if (type_is_float(t) && *name == '%')
        sql_raise(CTX(b), "42883", "operator does not exist: %s %s %s", type_name(l->t.id), name,
                  type_name(r->t.id));
    if (!type_rank(t) && !type_is_float(t)) {
        if (type_is_text(t)) /* PostgreSQL may try implicit casts of unknown literals */
            sql_refuse(CTX(b), position, "arithmetic on texts");
        sql_raise(CTX(b), "42883", "operator does not exist: %s %s %s", type_name(l->t.id), name,
                  type_name(r->t.id));
    }
    coerce_all(b, e->arg, 2, t);
    e->t = type_plain(t);
    e->sub = t;
    return fold(b, e);
}

static expr *negate(binder *b, expr *a, int position)
{
    if (!type_rank(a->t.id) && !type_is_float(a->t.id))
        sql_refuse(CTX(b), position, "minus before %s", type_name(a->t.id));
    expr *e = expr_new(b, E_NEGATE, type_plain(a->t.id), position, 1);
    e->arg[0] = a;
    return fold(b, e);
}

static bool is_number(type_id t)
{
    return type_rank(t) || type_is_float(t);
}

static expr *concat(binder *b, expr *l, expr *r, int position)
{
    bool left = type_is_array(l->t.id), right = type_is_array(r->t.id);
    type_id of = left ? type_element(l->t.id) : l->t.id;
    type_id with = right ? type_element(r->t.id) : r->t.id;
    if ((left || right) && is_number(of) && is_number(with))
        sql_refuse(CTX(b), position, "operator || of different numbers");
    if (!type_is_text(l->t.id) && !type_is_text(r->t.id))
        sql_raise(CTX(b), "42883", "operator does not exist: %s || %s", type_name(l->t.id),
                  type_name(r->t.id));
    expr *e = expr_new(b, E_CONCAT, type_plain(T_TEXT), position, 2);
    e->arg[0] = l;
    e->arg[1] = r;
    for (int i = 0; i < 2; i++)
        e->arg[i] = expr_coerce(b, e->arg[i], type_plain(T_TEXT), CAST_ASSIGN);
    return fold(b, e);
}

static expr *junction(binder *b, expr_kind kind, expr *l, expr *r, int position)
{
    expr *e = expr_new(b, kind, type_plain(T_BOOL), position, 2);
    e->arg[0] = l;
    e->arg[1] = r;
    return simple_junction(b, e);
}

static expr * not(binder * b, expr *a, int position)
{
    expr *e = expr_new(b, E_NOT, type_plain(T_BOOL), position, 1);
    e->arg[0] = a;
    return fold(b, e);
}

expr *expr_and(binder *b, expr *l, expr *r)
{
    return junction(b, E_AND, l, r, -1);
}

static int compare_op_of(const char *s)
{
    static const char *const names[] = {"=", "<>", "<", "<=", ">", ">="};
    for (int i = 0; i < 6; i++)
        if (!strcmp(s, names[i])) return i;
    return -1;
}

/* ---- rows, ANY and ALL ----------------------------------------------------------------------- */

/* (a, b) op (c, d): equal if all are, different if one is, else the first that differ decide; a
   null before that makes it unknown, which AND and OR do by themselves. */
static expr *compare_rows(binder *b, scope *s, int op, const node *left, const node *right,
                          int position)
{
    const PgQuery__RowExpr *l = bind_row_of(left), *r = bind_row_of(right);
    if (!l || !r) sql_refuse(CTX(b), position, "a row beside something else");
    if (l->n_args != r->n_args)
        sql_raise(CTX(b), "42601", "unequal number of entries in row expressions");
    if (!l->n_args) sql_refuse(CTX(b), position, "an empty row");
    assert(op >= OP_EQ && op <= OP_GE);
    expr *e = NULL;
    int strict = op == OP_LE ? OP_LT : op == OP_GE ? OP_GT : op;
    for (size_t i = l->n_args; i-- > 0;) {
        bool last = i + 1 == l->n_args;
        expr *one = compare(b, op == OP_EQ || op == OP_NE || last ? op : strict,
                            bind_expr(b, s, l->args[i]), bind_expr(b, s, r->args[i]), position);
        if (last) {
            e = one;
        } else if (op == OP_EQ || op == OP_NE) {
            e = junction(b, op == OP_EQ ? E_AND : E_OR, one, e, position);
        } else {
            expr *same = compare(b, OP_EQ, bind_expr(b, s, l->args[i]), bind_expr(b, s, r->args[i]),
                                 position);
            e = junction(b, E_OR, one, junction(b, E_AND, same, e, position), position);
        }
    }
    b->p->planner_chooses = true;
    return e;
}

/* One of the elements, or every one, compares so. */
static expr *compare_each(binder *b, scope *s, int op, bool all, const node *left, node **items,
                          size_t n, int position)
{
    expr *e = expr_new(b, all ? E_AND : E_OR, type_plain(T_BOOL), position, (uint32_t)n);
    assert(n && items);
    expr **both = arena_array(b->mem, expr *, n + 1);
    both[0] = bind_expr(b, s, left);
    for (size_t i = 0; i < n; i++) both[i + 1] = bind_expr(b, s, items[i]);
    type_id t = common_type(b, both + 1, (uint32_t)n, "ARRAY");
    for (size_t i = 0; i < n; i++) {
        expr *l = i ? bind_expr(b, s, left) : both[0];
        if (both[i + 1]->t.id == T_UNKNOWN && l->t.id == T_UNKNOWN)
            sql_refuse(CTX(b), position, "an array of values without a type");
        if (t != T_TEXT || both[i + 1]->t.id != T_UNKNOWN)
            both[i + 1] = expr_coerce(b, both[i + 1], type_plain(t), CAST_IMPLICIT);
        /* the left side is not evaluated beside a null here, but may be there, and may fail */
        if (both[i + 1]->kind == E_CONST && both[i + 1]->v.null) b->p->planner_chooses = true;
        e->arg[i] = compare(b, op, l, both[i + 1], position);
    }
    return simple_junction(b, e);
}

/* The array is text at run time: a parameter, or a literal '{1,2}'. */
static expr *compare_text_array(binder *b, scope *s, int op, bool all, const node *left,
                                const node *right, int position)
{
    const PgQuery__TypeName *to = NULL;
    if (right->node_case == PG_QUERY__NODE__NODE_TYPE_CAST) {
        to = right->type_cast->type_name;
        right = right->type_cast->arg;
    }
    bool text =
        right->node_case == PG_QUERY__NODE__NODE_PARAM_REF ||
        (right->node_case == PG_QUERY__NODE__NODE_A_CONST &&
         (right->a_const->isnull || right->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL));
    if (!text || (to && to->n_array_bounds != 1))
        sql_refuse(CTX(b), position, "ANY or ALL of this array");
    expr *e = expr_new(b, E_ANY, type_plain(T_BOOL), position, 2);
    e->arg[0] = bind_expr(b, s, left);
    e->arg[1] = bind_expr(b, s, right);
    if (e->arg[1]->t.id == T_UNKNOWN)
        e->arg[1] = expr_coerce(b, e->arg[1], type_plain(T_TEXT), CAST_IMPLICIT);
    if (e->arg[1]->t.id != T_TEXT) sql_refuse(CTX(b), position, "ANY or ALL of this parameter");
    expr_settle(b, e->arg[0]);
    type_id of = e->arg[0]->t.id == T_VARCHAR ? T_TEXT : e->arg[0]->t.id;
    if (to) {
        PgQuery__TypeName element = *to;
        element.n_array_bounds = 0;
        of = bind_type(b, &element).id;
        if (of == T_VARCHAR) of = T_TEXT;
        expr *pair[2] = {e->arg[0], expr_new(b, E_CONST, type_plain(of), position, 0)};
        type_id common = common_type(b, pair, 2, "ANY");
        if (common != of && type_rank(common) && e->arg[0]->t.id == common)
            of = common; /* integers in an array beside a bigint or numeric */
        else
            e->arg[0] = expr_coerce(b, e->arg[0], type_plain(of), CAST_IMPLICIT);
    }
    if (of == T_CHAR) sql_refuse(CTX(b), position, "ANY or ALL of char(n)");
    e->arg[0] = expr_coerce(b, e->arg[0], type_plain(of), CAST_IMPLICIT);
    e->sub = of;
    e->op = op | (all ? ALL_OF : b->outer_joins ? NEAR_OUTER_JOIN : 0);
    if (e->arg[1]->kind == E_CONST && !e->arg[1]->v.null) /* a constant is read when it is bound */
        array_check(b->x, position, e->arg[1]->v, of);
    return fold(b, e);
}

static bool literal_array(const node *n)
{
    if (n->node_case == PG_QUERY__NODE__NODE_TYPE_CAST) n = n->type_cast->arg;
    return n->node_case == PG_QUERY__NODE__NODE_A_CONST ||
           n->node_case == PG_QUERY__NODE__NODE_PARAM_REF;
}

/* The array is a value: a column, or what a function gives. */
static expr *compare_array_value(binder *b, scope *s, int op, bool all, const PgQuery__AExpr *a)
{
    expr *e = expr_new(b, E_ANY, type_plain(T_BOOL), a->location, 2);
    e->arg[0] = bind_expr(b, s, a->lexpr);
    e->arg[1] = bind_expr(b, s, a->rexpr);
    if (!type_is_array(e->arg[1]->t.id))
        sql_refuse(CTX(b), a->location, "ANY or ALL of this array");
    type_id of = type_element(e->arg[1]->t.id);
    if (of == T_JSON || of == T_JSONB || of == T_STAMPTZ)
        sql_refuse(CTX(b), a->location, "ANY or ALL of an array of %s", type_name(of));
    if (e->arg[0]->t.id == T_UNKNOWN) resolve(b, e->arg[0], of);
    type_id is = e->arg[0]->t.id == T_VARCHAR ? T_TEXT : e->arg[0]->t.id;
    if (is != of) { /* the array follows the value, as its items alone would */
        if (!type_rank(is) || !type_rank(of))
            sql_refuse(CTX(b), a->location, "ANY or ALL of an array of another type");
        of = type_rank(is) > type_rank(of) ? is : of;
        e->arg[1] = expr_coerce(b, e->arg[1], type_plain(type_array_of(of)), CAST_IMPLICIT);
    }
    e->arg[0] = expr_coerce(b, e->arg[0], type_plain(of), CAST_IMPLICIT);
    e->sub = of;
    e->op = op | (all ? ALL_OF : b->outer_joins ? NEAR_OUTER_JOIN : 0);
    return fold(b, e);
}

static expr *compare_array(binder *b, scope *s, const PgQuery__AExpr *a, const char *name, bool all)
{
    int op = compare_op_of(name);
    if (op < 0) sql_refuse(CTX(b), a->location, "operator %s with ANY or ALL", name);
    if (bind_row_of(a->lexpr)) sql_refuse(CTX(b), a->location, "a row beside ANY or ALL");
    const node *r = a->rexpr;
    if (r->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR && r->a_array_expr->n_elements)
        return compare_each(b, s, op, all, a->lexpr, r->a_array_expr->elements,
                            r->a_array_expr->n_elements, a->location);
    if (!literal_array(r)) return compare_array_value(b, s, op, all, a);
    return compare_text_array(b, s, op, all, a->lexpr, a->rexpr, a->location);
}

static expr *rows_in_list(binder *b, scope *s, const PgQuery__AExpr *a, bool negated)
{
    const PgQuery__List *list = a->rexpr->list;
    expr *e = expr_new(b, negated ? E_AND : E_OR, type_plain(T_BOOL), a->location,
                       (uint32_t)list->n_items);
    for (uint32_t i = 0; i < e->n; i++)
        e->arg[i] =
            compare_rows(b, s, negated ? OP_NE : OP_EQ, a->lexpr, list->items[i], a->location);
    return simple_junction(b, e);
}

static expr *in_list(binder *b, scope *s, const PgQuery__AExpr *a, bool negated)
{
    if (!a->rexpr || a->rexpr->node_case != PG_QUERY__NODE__NODE_LIST || !a->rexpr->list->n_items)
        sql_refuse(CTX(b), a->location, "this IN");
    if (bind_row_of(a->lexpr)) return rows_in_list(b, s, a, negated);
    const PgQuery__List *list = a->rexpr->list;
    expr **all = arena_array(b->mem, expr *, list->n_items + 1);
    uint32_t n = (uint32_t)list->n_items;
    all[0] = bind_expr(b, s, a->lexpr);
    for (uint32_t i = 0; i < n; i++) {
        all[i + 1] = bind_expr(b, s, list->items[i]);
        /* the left side is looked at beside a null, too, and may fail */
        if (all[i + 1]->kind == E_CONST && all[i + 1]->v.null) b->p->planner_chooses = true;
    }
    type_id t = common_type(b, all, n + 1, "IN");
    expr *left = expr_coerce(b, all[0], type_plain(t), CAST_IMPLICIT);
    /* NOT IN is an AND of inequalities, of which the planner may test any first */
    expr *e = expr_new(b, negated ? E_AND : E_OR, type_plain(T_BOOL), a->location, n);
    for (uint32_t i = 0; i < n; i++)
        e->arg[i] = compare(b, negated ? OP_NE : OP_EQ, left, all[i + 1], a->location);
    return simple_junction(b, e);
}

/* BETWEEN SYMMETRIC: between the two in either order. */
static expr *between_either(binder *b, scope *s, const PgQuery__AExpr *a, bool negated)
{
    if (!a->rexpr || a->rexpr->node_case != PG_QUERY__NODE__NODE_LIST ||
        a->rexpr->list->n_items != 2)
        sql_refuse(CTX(b), a->location, "this BETWEEN");
    expr *side[2];
    for (int k = 0; k < 2; k++) {
        expr *low = compare(b, OP_GE, bind_expr(b, s, a->lexpr),
                            bind_expr(b, s, a->rexpr->list->items[k]), a->location);
        expr *high = compare(b, OP_LE, bind_expr(b, s, a->lexpr),
                             bind_expr(b, s, a->rexpr->list->items[1 - k]), a->location);
        side[k] = junction(b, E_AND, low, high, a->location);
    }
    expr *e = junction(b, E_OR, side[0], side[1], a->location);
    return negated ? not(b, e, a->location) : e;
}

static expr *between(binder *b, scope *s, const PgQuery__AExpr *a, bool negated)
{
    if (!a->rexpr || a->rexpr->node_case != PG_QUERY__NODE__NODE_LIST ||
        a->rexpr->list->n_items != 2)
        sql_refuse(CTX(b), a->location, "this BETWEEN");
    expr *l = bind_expr(b, s, a->lexpr), *l2 = bind_expr(b, s, a->lexpr);
    expr *low = compare(b, OP_GE, l, bind_expr(b, s, a->rexpr->list->items[0]), a->location);
    expr *high = compare(b, OP_LE, l2, bind_expr(b, s, a->rexpr->list->items[1]), a->location);
    expr *e = junction(b, E_AND, low, high, a->location);
    return negated ? not(b, e, a->location) : e;
}

static expr *distinct(binder *b, scope *s, const PgQuery__AExpr *a, bool negated)
{
    expr *e = expr_new(b, E_DISTINCT, type_plain(T_BOOL), a->location, 2);
    e->arg[0] = bind_expr(b, s, a->lexpr);
    e->arg[1] = bind_expr(b, s, a->rexpr);
    e->op = negated;
    e->sub = operands(b, e->arg, "=", a->location);
    coerce_all(b, e->arg, 2, e->sub);
    return fold(b, e);
}

static expr *nullif(binder *b, scope *s, const PgQuery__AExpr *a)
{
    expr *e = expr_new(b, E_NULLIF, type_plain(T_TEXT), a->location, 3);
    e->arg[0] = bind_expr(b, s, a->lexpr);
    e->arg[1] = bind_expr(b, s, a->rexpr);
    e->sub = operands(b, e->arg, "=", a->location);
    expr_settle(b, e->arg[0]);
    e->arg[2] = e->arg[0];
    e->t = type_plain(e->arg[0]->t.id);
    coerce_all(b, e->arg, 2, e->sub);
    for (int i = 0; i < 2; i++) /* never equal */
        if (e->arg[i]->kind == E_CONST && e->arg[i]->v.null) return e->arg[2];
    return fold(b, e);
}

static const struct {
    const char *name;
    uint32_t low, high;
} calls[] = {
#define CALL(id, name, low, high) {name, low, high},
    SQL_CALLS
#undef CALL
};

/* & | # << >> of integers, and ~ of one (r NULL); any other operator is refused. */
static expr *bit_operation(binder *b, const char *name, expr *l, expr *r, int position)
{
    uint32_t n = r ? 2 : 1;
    int op = CALL_BIT_AND;
    while (op <= CALL_SHIFT_RIGHT && (strcmp(name, calls[op].name) != 0 || calls[op].low != n))
        op++;
    if (op > CALL_SHIFT_RIGHT) sql_refuse(CTX(b), position, "operator %s", name);
    expr *e = expr_new(b, E_CALL, type_plain(T_INT4), position, n);
    e->op = op;
    assert(l && calls[op].low == n);
    e->arg[0] = l;
    e->arg[1] = r;
    bool shift = op == CALL_SHIFT_LEFT || op == CALL_SHIFT_RIGHT;
    e->sub = n == 1 || shift ? l->t.id : operands(b, e->arg, name, position);
    if (!type_is_int(e->sub) || (shift && r->t.id != T_INT4))
        sql_refuse(CTX(b), position, "operator %s of %s", name, type_name(e->sub));
    if (!shift) coerce_all(b, e->arg, n, e->sub);
    e->t = type_plain(e->sub);
    return fold(b, e);
}

static expr *prefix_operator(binder *b, const char *name, expr *e, int position)
{
    expr *newer = bind_operator(b, name, &e, 1, position);
    if (newer) return newer;
    if (!strcmp(name, "-")) return negate(b, e, position);
    if (!strcmp(name, "+")) return e;
    return bit_operation(b, name, e, NULL, position);
}

/* An operator that is written between two expressions, or before one. */
static expr *plain_operator(binder *b, scope *s, const PgQuery__AExpr *a, const char *name)
{
    if (!a->rexpr) sql_refuse(CTX(b), a->location, "operator %s", name);
    if (!a->lexpr) return prefix_operator(b, name, bind_expr(b, s, a->rexpr), a->location);
    int op = compare_op_of(name);
    if (op >= 0 && (bind_row_of(a->lexpr) || bind_row_of(a->rexpr)))
        return compare_rows(b, s, op, a->lexpr, a->rexpr, a->location);
    if (bind_is_pattern(name)) return bind_pattern(b, s, a, name);
    expr *l = bind_expr(b, s, a->lexpr), *r = bind_expr(b, s, a->rexpr);
    if (op >= 0) return compare(b, op, l, r, a->location);
    expr *newer = bind_operator(b, name, (expr *[]){l, r}, 2, a->location);
    if (newer) return newer;
    if (!strcmp(name, "||")) return concat(b, l, r, a->location);
    newer = strcmp(name, "^") ? NULL : bind_builtin(b, name, (expr *[]){l, r}, 2, a->location);
    if (newer) return newer;
    if (name[0] && !name[1] && strchr("+-*/%", name[0]))
        return arithmetic(b, name[0], l, r, a->location);
    return bit_operation(b, name, l, r, a->location);
}

static expr *operator(binder *b, scope *s, const PgQuery__AExpr *a)
{
    const char *name = a->n_name == 1 ? string_of(b, a->name[0], a->location) : "";
    switch (a->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP: return plain_operator(b, s, a, name);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN: return in_list(b, s, a, !strcmp(name, "<>"));
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN: return between(b, s, a, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN: return between(b, s, a, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM: return between_either(b, s, a, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM: return between_either(b, s, a, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT: return distinct(b, s, a, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT: return distinct(b, s, a, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: return nullif(b, s, a);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE: return bind_pattern(b, s, a, name);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY: return compare_array(b, s, a, name, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL: return compare_array(b, s, a, name, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR: return bind_similar(b, s, a, name);
    default: sql_refuse(CTX(b), a->location, "this kind of condition (%s)", name);
    }
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static expr *constant(binder *b, const PgQuery__AConst *c)
{
    expr *e = expr_new(b, E_CONST, type_plain(T_UNKNOWN), c->location, 0);
    if (c->isnull) return e;
    switch (c->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
        e->t = type_plain(T_INT4);
        e->v = value_int(c->ival->ival);
        break;
    case PG_QUERY__A__CONST__VAL_FVAL: {
        const char *s = c->fval->fval;
        const num *d = NULL;
        if (!num_parse(&b->x->work, s, strlen(s), &d))
            sql_refuse(CTX(b), c->location, "number %s", s);
        int64_t i;
        bool whole = !strpbrk(s, ".eE");
        d = value_need(CTX(b), d);
        if (whole && num_to_i64(&b->x->work, d, &i)) {
            e->t = type_plain(i >= INT32_MIN && i <= INT32_MAX ? T_INT4 : T_INT8);
            e->v = value_int(i);
        } else {
            e->t = type_plain(T_NUMERIC);
            e->v = value_keep(b, T_NUMERIC, value_num(d));
        }
        break;
    }
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
        e->t = type_plain(T_BOOL);
        e->v = value_bool(c->boolval->boolval);
        break;
    case PG_QUERY__A__CONST__VAL_SVAL:
        e->v = value_keep(b, T_TEXT, value_text(c->sval->sval, strlen(c->sval->sval)));
        break;
    default: sql_refuse(CTX(b), c->location, "bit strings");
    }
    return e;
}

expr *column_of(binder *b, const relation *r, uint32_t i, uint32_t up, int position)
{
    type t = r->t ? r->t->cols[i].t : r->sub->out[i].e->t;
    expr *e = expr_new(b, E_COLUMN, type_plain(t.id), position, 0);
    e->slot = r->slot;
    e->index = r->map ? r->map[i] : i;
    e->up = up;
    return e;
}

/* A variable of the body with this name, or NULL. */
static expr *variable_ref(binder *b, const PgQuery__ColumnRef *c)
{
    const char *names[3];
    if (!b->code || c->n_fields > 3) return NULL;
    for (size_t i = 0; i < c->n_fields; i++) {
        if (c->fields[i]->node_case != PG_QUERY__NODE__NODE_STRING) return NULL;
        names[i] = c->fields[i]->string->sval;
    }
    expr *e = bind_variable(b, names, c->n_fields, c->location);
    if (e && b->definition) sql_refuse(CTX(b), c->location, "a variable in a definition");
    return e;
}

/* A name that is both is an error in PL/pgSQL, and the column in an SQL function. */
static bool also_variable(binder *b, const PgQuery__ColumnRef *c)
{
    if (!b->code || b->definition || (b->x->regs.pl->r && b->x->regs.pl->r->sql) || c->n_fields > 1)
        return false;
    const char *name = c->fields[0]->string->sval;
    return pl_find(b->code->scope, NULL, name) >= 0;
}

static expr *merged_ref(binder *b, const scope *s, const char *name, uint32_t up)
{
    expr *found = NULL;
    for (size_t i = 0; i < s->merged.n; i++) {
        const merged_column *m = &s->merged.at[i];
        if (m->gone || strcmp(m->name, name) != 0) continue;
        if (found) sql_raise(CTX(b), "42702", "column reference \"%s\" is ambiguous", name);
        if (up) sql_refuse(CTX(b), -1, "a column of USING in a subquery");
        found = m->e;
    }
    return found;
}

/* Names that PostgreSQL knows and we do not: they must not be taken for wrong ones. */
static void refuse_hidden_names(binder *b, const scope *s, const PgQuery__ColumnRef *c,
                                const char *rel, const char *name)
{
    static const char *const system_columns[] = {"ctid", "xmin", "xmax",
                                                 "cmin", "cmax", "tableoid"};
    for (size_t i = 0; i < sizeof system_columns / sizeof system_columns[0]; i++)
        if (!strcmp(name, system_columns[i]))
            sql_refuse(CTX(b), c->location, "the system column \"%s\"", name);
    for (const scope *at = s; at; at = at->up)
        for (size_t i = 0; i < at->rels.n; i++) {
            if (!rel && !strcmp(name, at->rels.at[i].name))
                sql_refuse(CTX(b), c->location, "the whole row \"%s\"", name);
            if (rel && !strcmp(rel, at->rels.at[i].name) &&
                vs_routine(b->x->s, name, b->x->latest, 0))
                sql_refuse(CTX(b), c->location, "a function called as a column, \"%s\"", name);
        }
}

/* Is it the relation that a name with these parts before the column's means? */
static bool is_relation(binder *b, const relation *r, const char *schema, const char *rel,
                        int position)
{
    if (strcmp(rel, r->name) != 0) return false;
    if (!schema) return true;
    return r->t && !r->aliased && !strcmp(r->t->name, table_key(b, "", schema, rel, position));
}

/* The part of a name that is the `last` from its end; NULL: it has none. */
static const char *name_part(binder *b, const PgQuery__ColumnRef *c, size_t last)
{
    return c->n_fields < last ? NULL : string_of(b, c->fields[c->n_fields - last], c->location);
}

static expr *column_ref(binder *b, scope *s, const PgQuery__ColumnRef *c)
{
    if (c->n_fields == 3 && b->code) {
        expr *v = variable_ref(b, c);
        if (v) return v;
    }
    if (!c->n_fields || c->n_fields > 3)
        sql_refuse(CTX(b), c->location, "a name of %zu parts", c->n_fields);
    const char *name = name_part(b, c, 1), *rel = name_part(b, c, 2), *schema = name_part(b, c, 3);
    uint32_t up = 0;
    for (scope *at = s; at; at = at->up, up++) {
        expr *found = rel ? NULL : merged_ref(b, at, name, up);
        bool rel_found = false;
        for (size_t i = 0; i < at->rels.n; i++) {
            const relation *r = &at->rels.at[i];
            if (rel && !is_relation(b, r, schema, rel, c->location)) continue;
            rel_found = rel != NULL;
            uint32_t n = r->t ? r->t->n_cols : r->sub->n_out;
            for (uint32_t k = 0; k < n; k++) {
                if (strcmp(r->t ? r->t->cols[k].name : r->sub->out[k].name, name) != 0) continue;
                if (!rel && (!strcmp(r->name, "excluded") || (r->hidden && r->hidden[k]))) continue;
                if (found) sql_raise(CTX(b), "42702", "column reference \"%s\" is ambiguous", name);
                found = column_of(b, r, k, up, c->location);
            }
        }
        if (found) {
            for (scope *in = s; in != at; in = in->up)
                if (in->q) in->q->correlated = true;
            if (also_variable(b, c))
                sql_raise(CTX(b), "42702", "column reference \"%s\" is ambiguous", name);
            return found;
        }
        if (rel_found) break;
    }
    expr *v = variable_ref(b, c);
    if (v) return v;
    refuse_hidden_names(b, s, c, rel, name);
    if (!s || !s->rels.n) sql_raise(CTX(b), rel ? "42P01" : "42703", "\"%s\" does not exist", name);
    sql_raise(CTX(b), rel ? "42P01" : "42703", "column \"%s\" does not exist", name);
}

static expr *parameter(binder *b, const PgQuery__ParamRef *p)
{
    if (p->number < 1 || p->number > 65535)
        sql_raise(CTX(b), "42P02", "there is no parameter $%d", p->number);
    if (b->definition) sql_refuse(CTX(b), p->location, "a parameter in a definition");
    if (b->code) return bind_argument(b, p->number, p->location);
    uint32_t i = (uint32_t)p->number - 1;
    while (b->params.n <= i) arena_push(b->mem, &b->params, type_plain(T_UNKNOWN));
    expr *e = expr_new(b, E_PARAM, b->params.at[i], p->location, 0);
    e->index = i;
    return e;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Of the calls from LENGTH on: three arguments, then the result; text, integer, boolean. */
static const char text_shapes[][5] = {
    [CALL_LENGTH - CALL_LENGTH] = "t--i",       [CALL_CHAR_LENGTH - CALL_LENGTH] = "t--i",
    [CALL_LOWER - CALL_LENGTH] = "t--t",        [CALL_UPPER - CALL_LENGTH] = "t--t",
    [CALL_SUBSTR - CALL_LENGTH] = "tiit",       [CALL_SUBSTRING - CALL_LENGTH] = "tiit",
    [CALL_LEFT - CALL_LENGTH] = "ti-t",         [CALL_RIGHT - CALL_LENGTH] = "ti-t",
    [CALL_REPEAT - CALL_LENGTH] = "ti-t",       [CALL_LPAD - CALL_LENGTH] = "titt",
    [CALL_RPAD - CALL_LENGTH] = "titt",         [CALL_REVERSE - CALL_LENGTH] = "t--t",
    [CALL_REPLACE - CALL_LENGTH] = "tttt",      [CALL_STRPOS - CALL_LENGTH] = "tt-i",
    [CALL_POSITION - CALL_LENGTH] = "tt-i",     [CALL_SPLIT_PART - CALL_LENGTH] = "ttit",
    [CALL_TRANSLATE - CALL_LENGTH] = "tttt",    [CALL_BTRIM - CALL_LENGTH] = "tt-t",
    [CALL_LTRIM - CALL_LENGTH] = "tt-t",        [CALL_RTRIM - CALL_LENGTH] = "tt-t",
    [CALL_STARTS_WITH - CALL_LENGTH] = "tt-b",  [CALL_ASCII - CALL_LENGTH] = "t--i",
    [CALL_OCTET_LENGTH - CALL_LENGTH] = "t--i",
};

static void call_types(binder *b, expr *e)
{
    type_id t = e->arg[0]->t.id;
    switch ((call_id)e->op) {
    case CALL_ABS:
        if (!type_rank(t)) break;
        e->sub = t;
        e->t = type_plain(t);
        return;
    case CALL_MOD:
        e->sub = operands(b, e->arg, "%", e->position);
        if (!type_rank(e->sub)) break;
        coerce_all(b, e->arg, 2, e->sub);
        e->t = type_plain(e->sub);
        return;
    case CALL_DIV:
        for (int i = 0; i < 2; i++) {
            if (!type_rank(e->arg[i]->t.id)) sql_refuse(CTX(b), e->position, "div of this type");
            e->arg[i] = expr_coerce(b, e->arg[i], type_plain(T_NUMERIC), CAST_IMPLICIT);
        }
        e->sub = T_NUMERIC;
        e->t = type_plain(T_NUMERIC);
        return;
    case CALL_ROUND:
    case CALL_TRUNC:
    case CALL_FLOOR:
    case CALL_CEIL:
    case CALL_CEILING:
    case CALL_SIGN:
        if (t != T_NUMERIC && (e->n < 2 || !type_rank(t)))
            break; /* of integers: double precision */
        e->arg[0] = expr_coerce(b, e->arg[0], type_plain(T_NUMERIC), CAST_IMPLICIT);
        if (e->n > 1) e->arg[1] = expr_coerce(b, e->arg[1], type_plain(T_INT4), CAST_IMPLICIT);
        e->sub = T_NUMERIC;
        e->t = type_plain(T_NUMERIC);
        return;
    default:
        for (uint32_t i = 0; i < e->n; i++) {
            type_id want = text_shapes[e->op - CALL_LENGTH][i] == 'i' ? T_INT4 : T_TEXT;
            type_id is = e->arg[i]->t.id;
            if (is == T_CHAR && e->op == CALL_OCTET_LENGTH)
                sql_refuse(CTX(b), e->position, "octet_length of char(n)");
            if (want == T_TEXT ? !type_is_text(is) : is != T_INT4 && is != T_INT2)
                sql_refuse(CTX(b), e->position, "function %s with these types", calls[e->op].name);
            e->arg[i] = expr_coerce(b, e->arg[i], type_plain(want), CAST_IMPLICIT);
        }
        e->sub = T_TEXT;
        char result = text_shapes[e->op - CALL_LENGTH][3];
        e->t = type_plain(result == 'i' ? T_INT4 : result == 'b' ? T_BOOL : T_TEXT);
        return;
    }
    sql_refuse(CTX(b), e->position, "function %s of %s", calls[e->op].name, type_name(t));
}

static expr *concat_all(binder *b, scope *s, const PgQuery__FuncCall *f, bool separated)
{
    assert(f->n_args);
    expr *e = expr_new(b, E_TEXTS, type_plain(T_TEXT), f->location, (uint32_t)f->n_args);
    e->op = separated;
    for (uint32_t i = 0; i < e->n; i++) {
        e->arg[i] = bind_expr(b, s, f->args[i]);
        expr_settle(b, e->arg[i]);
        if (e->arg[i]->t.id == T_STAMPTZ && CTX(b)->zone != ZONE_UTC)
            sql_refuse(CTX(b), f->location, "what depends on the session's time zone");
    }
    return fold(b, e);
}

static bool makes_json(const char *name)
{
    static const char *const names[] = {
        "row_to_json",        "to_json",          "to_jsonb",         "json_build_object",
        "jsonb_build_object", "json_build_array", "jsonb_build_array"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* A call that the tables of builtin.h have; else NULL, the arguments bound in *args if the name is
   theirs. */
static expr *from_tables(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name,
                         expr ***args)
{
    if (!builtin_known(name) || f->over || f->agg_distinct || f->func_variadic) return NULL;
    *args = arena_array(b->mem, expr *, f->n_args + 1);
    for (uint32_t i = 0; i < f->n_args; i++)
        (*args)[i] =
            makes_json(name) ? bind_json_argument(b, s, f->args[i]) : bind_expr(b, s, f->args[i]);
    if (!strcmp(name, "row_to_json") && (!f->n_args || (*args)[0]->builtin != &row_object))
        sql_refuse(CTX(b), f->location, "row_to_json of something else than a row");
    return bind_builtin(b, name, *args, (uint32_t)f->n_args, f->location);
}

/* A function of rows in the output list: one slot more of the query has its value. */
static expr *spread_call(binder *b, scope *s, const PgQuery__FuncCall *f, const char *name)
{
    if (!s || !s->spreads || s->in_aggregate || s->in_window) return NULL;
    query *rows = bind_series(b, s, f, name);
    if (!rows) return NULL;
    if (s->q->spread || rows->n_out != 1)
        sql_refuse(CTX(b), f->location, "this function of rows in an output list");
    s->q->spread = rows;
    expr *e = expr_new(b, E_COLUMN, type_plain(rows->out[0].e->t.id), f->location, 0);
    e->slot = s->q->slots++;
    return e;
}

static expr *function_call(binder *b, scope *s, const PgQuery__FuncCall *f)
{
    const char *name =
        f->n_funcname ? string_of(b, f->funcname[f->n_funcname - 1], f->location) : "";
    const char *schema = f->n_funcname > 1 ? string_of(b, f->funcname[0], f->location) : "public";
    if (strcmp(schema, "public") != 0 && strcmp(schema, "pg_catalog") != 0)
        sql_refuse(CTX(b), f->location, "schema \"%s\"", schema);
    expr *special = bind_aggregate(b, s, f, name);
    if (!special) special = bind_special_call(b, s, f, name);
    if (special) return special;
    if (!strcmp(name, "set_config")) bind_set_config(b, f);
    if (!strcmp(name, "setval") && f->n_args > 1) {
        expr *to = bind_expr(b, s, f->args[1]);
        return bind_builtin(b, name, &to, 1, f->location);
    }
    if ((!strcmp(name, "concat") || !strcmp(name, "concat_ws")) && f->n_args && !f->func_variadic)
        return concat_all(b, s, f, name[6] != 0);
    expr **args = NULL, *known = from_tables(b, s, f, name, &args);
    if (known) return known;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(name, calls[i].name) != 0) continue;
        if (f->n_args < calls[i].low || f->n_args > calls[i].high || f->over || f->agg_distinct)
            break;
        expr *e = expr_new(b, E_CALL, type_plain(T_TEXT), f->location, (uint32_t)f->n_args);
        e->op = (int)i;
        for (uint32_t k = 0; k < e->n; k++)
            e->arg[k] = args ? args[k] : bind_expr(b, s, f->args[k]);
        call_types(b, e);
        return fold(b, e);
    }
    expr *made = bind_open_call(b, f, name);
    if (!made) made = bind_routine_call(b, s, f);
    if (!made) made = spread_call(b, s, f, name);
    if (made) return made;
    sql_refuse(CTX(b), f->location, "function %s", name);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Left side, operator and the columns of the subquery; more than one column only with = and <>. */
static expr *in_query(binder *b, scope *s, const PgQuery__SubLink *l, query *q)
{
    bool all = l->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK;
    const char *name = l->n_oper_name ? string_of(b, l->oper_name[0], l->location) : "=";
    int op = compare_op_of(name);
    const PgQuery__RowExpr *row = bind_row_of(l->testexpr);
    uint32_t n = row ? (uint32_t)row->n_args : 1;
    if (op < 0) sql_refuse(CTX(b), l->location, "operator %s with ANY or ALL", name);
    if (q->n_out != n) sql_raise(CTX(b), "42601", "subquery has another number of columns");
    if (n > 1 && op != OP_EQ && op != OP_NE)
        sql_refuse(CTX(b), l->location, "ANY or ALL of rows that are not tested for equality");
    expr *e = expr_new(b, E_IN_QUERY, type_plain(T_BOOL), l->location, n);
    assert(op < ALL_OF && q->n_out == n);
    e->op = op | (all ? ALL_OF : 0);
    e->q = q;
    for (uint32_t i = 0; i < n; i++) {
        expr *pair[2] = {bind_expr(b, s, row ? row->args[i] : l->testexpr), q->out[i].e};
        if (pair[0]->t.id == T_UNKNOWN)
            pair[0] = expr_coerce(b, pair[0], type_plain(pair[1]->t.id), CAST_IMPLICIT);
        e->sub = operands(b, pair, name, l->location);
        e->arg[i] = expr_coerce(b, pair[0], type_plain(e->sub), CAST_IMPLICIT);
    }
    return e;
}

/* ARRAY(SELECT ...) */
static expr *array_query(binder *b, const PgQuery__SubLink *l, query *q)
{
    if (q->n_out != 1) sql_raise(CTX(b), "42601", "subquery must return only one column");
    type_id of = q->out[0].e->t.id == T_VARCHAR ? T_TEXT : q->out[0].e->t.id;
    if (!type_has_arrays(of)) sql_refuse(CTX(b), l->location, "an array of this type");
    expr *e = expr_new(b, E_SCALAR, type_plain(type_array_of(of)), l->location, 0);
    e->q = q;
    e->op = 1;
    return e;
}

static expr *sub_link(binder *b, scope *s, const PgQuery__SubLink *l)
{
    if (!l->subselect || l->subselect->node_case != PG_QUERY__NODE__NODE_SELECT_STMT)
        sql_refuse(CTX(b), l->location, "this subquery");
    if (s && (s->aggs.n || s->windows.n || s->in_aggregate))
        sql_refuse(CTX(b), l->location, "a subquery beside aggregates");
    query *q = bind_select(b, s, l->subselect->select_stmt);
    b->p->planner_chooses = b->sublinks = true;
    if (l->sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK || q->correlated)
        bind_unlocked(b, q, l->location);
    if (q->skips) q->kept = true;
    expr *e;
    switch (l->sub_link_type) {
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK:
        e = expr_new(b, E_EXISTS, type_plain(T_BOOL), l->location, 0);
        e->q = q;
        return e;
    case PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK:
        if (q->n_out != 1) sql_raise(CTX(b), "42601", "subquery must return only one column");
        e = expr_new(b, E_SCALAR, type_plain(q->out[0].e->t.id), l->location, 0);
        e->q = q;
        return e;
    case PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK: return array_query(b, l, q);
    case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK:
    case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK: return in_query(b, s, l, q);
    default: sql_refuse(CTX(b), l->location, "this kind of subquery");
    }
}

/* PostgreSQL refuses functions of rows inside of CASE and COALESCE. */
static bool hide_spreads(scope *s, bool spreads)
{
    bool before = s && s->spreads;
    if (s) s->spreads = spreads;
    return before;
}

static expr *case_expr(binder *b, scope *s, const PgQuery__CaseExpr *c)
{
    uint32_t n = (uint32_t)c->n_args;
    bool spreads = hide_spreads(s, false);
    expr *e = expr_new(b, E_CASE, type_plain(T_TEXT), c->location, 2 * n + 1);
    expr **results = arena_array(b->mem, expr *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (c->args[i]->node_case != PG_QUERY__NODE__NODE_CASE_WHEN)
            sql_refuse(CTX(b), c->location, "this CASE");
        const PgQuery__CaseWhen *w = c->args[i]->case_when;
        if (c->arg)
            e->arg[2 * i] =
                compare(b, OP_EQ, bind_expr(b, s, c->arg), bind_expr(b, s, w->expr), w->location);
        else
            e->arg[2 * i] = bind_bool(b, s, w->expr, "CASE");
        results[i] = bind_expr(b, s, w->result);
    }
    if (c->defresult) {
        results[n] = bind_expr(b, s, c->defresult);
    } else {
        results[n] = expr_new(b, E_CONST, type_plain(T_UNKNOWN), c->location, 0);
    }
    hide_spreads(s, spreads);
    type_id t = common_type(b, results, n + 1, "CASE");
    coerce_all(b, results, n + 1, t);
    for (uint32_t i = 0; i < n; i++) e->arg[2 * i + 1] = results[i];
    e->arg[2 * n] = results[n];
    e->t = type_plain(t);
    return simple_case(e);
}

static expr *of_list(binder *b, scope *s, expr_kind kind, node **args, size_t n, int position)
{
    expr *e = expr_new(b, kind, type_plain(T_TEXT), position, (uint32_t)n);
    bool spreads = hide_spreads(s, false);
    for (uint32_t i = 0; i < e->n; i++) e->arg[i] = bind_expr(b, s, args[i]);
    hide_spreads(s, spreads);
    type_id t = common_type(b, e->arg, e->n, "COALESCE");
    coerce_all(b, e->arg, e->n, t);
    e->t = type_plain(t);
    return e;
}

static expr *bool_expr(binder *b, scope *s, const PgQuery__BoolExpr *x)
{
    expr_kind kind = x->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR  ? E_AND
                     : x->boolop == PG_QUERY__BOOL_EXPR_TYPE__OR_EXPR ? E_OR
                                                                      : E_NOT;
    expr *e = expr_new(b, kind, type_plain(T_BOOL), x->location, (uint32_t)x->n_args);
    for (uint32_t i = 0; i < e->n; i++) e->arg[i] = bind_bool(b, s, x->args[i], "AND, OR, NOT");
    return kind == E_NOT ? fold(b, e) : simple_junction(b, e);
}

/* A condition that must be true for a row: a row for which ANY is false goes in any case. */
static void drops_rows(expr *e)
{
    if (e->kind == E_ANY) e->op &= ~NEAR_OUTER_JOIN;
    for (uint32_t i = 0; e->kind == E_AND && i < e->n; i++) drops_rows(e->arg[i]);
}

expr *bind_bool(binder *b, scope *s, const node *n, const char *what)
{
    expr *e = bind_expr(b, s, n);
    if (!strcmp(what, "WHERE")) drops_rows(e);
    if (e->t.id != T_BOOL && e->t.id != T_UNKNOWN)
        sql_raise(CTX(b), "42804", "argument of %s must be type boolean", what);
    return expr_coerce(b, e, type_plain(T_BOOL), CAST_IMPLICIT);
}

/* Texts compare by bytes here, which is what these collations do. */
static expr *collated(binder *b, scope *s, const PgQuery__CollateClause *c)
{
    const char *name = c->n_collname ? string_of(b, c->collname[c->n_collname - 1], -1) : "";
    if (strcmp(name, "C") != 0 && strcmp(name, "POSIX") != 0 && strcmp(name, "ucs_basic") != 0)
        sql_refuse(CTX(b), c->location, "COLLATE \"%s\"", name);
    expr *e = bind_expr(b, s, c->arg);
    expr_settle(b, e);
    if (!type_is_text(e->t.id))
        sql_raise(CTX(b), "42804", "collations are not supported by type %s", type_name(e->t.id));
    return e;
}

/* ARRAY[...]; in a cast the items have the type that it names. */
static expr *array_of(binder *b, scope *s, const PgQuery__AArrayExpr *a, type_id of)
{
    expr *e = expr_new(b, E_BUILTIN, type_plain(T_TEXT), a->location, (uint32_t)a->n_elements);
    e->builtin = &array_constructor;
    for (uint32_t i = 0; i < e->n; i++) e->arg[i] = bind_expr(b, s, a->elements[i]);
    if (!e->n && of == T_UNKNOWN)
        sql_raise(CTX(b), "42P18", "cannot determine type of empty array");
    if (of == T_UNKNOWN) of = common_type(b, e->arg, e->n, "ARRAY");
    if (!type_has_arrays(of)) sql_refuse(CTX(b), a->location, "an array of this type");
    for (uint32_t i = 0; i < e->n; i++)
        e->arg[i] = expr_coerce(b, e->arg[i], type_plain(of), CAST_EXPLICIT);
    e->t = type_plain(type_array_of(of));
    if (e->n) return fold(b, e);
    expr *none = expr_new(b, E_CONST, e->t, a->location, 0);
    none->v = value_keep(b, e->t.id, e->builtin->run(b->x, e, NULL));
    return none;
}

/* array[i], array[i:k] */
static expr *part_of(binder *b, scope *s, const PgQuery__AIndirection *a)
{
    expr *field = bind_row_field(b, s, a);
    if (field) return field;
    for (size_t i = 0; i < a->n_indirection; i++)
        if (a->indirection[i]->node_case != PG_QUERY__NODE__NODE_A_INDICES)
            sql_refuse(CTX(b), -1, "this part of a value");
    const PgQuery__AIndices *at = a->indirection[0]->a_indices;
    expr *arg[3] = {bind_expr(b, s, a->arg)};
    if (arg[0]->t.id == T_JSONB) return bind_json_part(b, s, arg[0], a);
    if (a->n_indirection != 1) sql_refuse(CTX(b), arg[0]->position, "this part of a value");
    if (!type_is_array(arg[0]->t.id)) sql_refuse(CTX(b), arg[0]->position, "a part of this type");
    uint32_t n = 1;
    if (at->is_slice && (!at->lidx || !at->uidx))
        sql_refuse(CTX(b), arg[0]->position, "a slice of an array without both ends");
    if (at->is_slice) arg[n++] = bind_expr(b, s, at->lidx);
    arg[n++] = bind_expr(b, s, at->uidx);
    for (uint32_t i = 1; i < n; i++)
        arg[i] = expr_coerce(b, arg[i], type_plain(T_INT4), CAST_ASSIGN);
    return bind_builtin(b, n > 2 ? "[:]" : "[]", arg, n, arg[0]->position);
}

static expr *bind_node(binder *b, scope *s, const node *n)
{
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST: return constant(b, n->a_const);
    case PG_QUERY__NODE__NODE_COLUMN_REF: return column_ref(b, s, n->column_ref);
    case PG_QUERY__NODE__NODE_PARAM_REF: return parameter(b, n->param_ref);
    case PG_QUERY__NODE__NODE_A_EXPR: return operator(b, s, n->a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR: return bool_expr(b, s, n->bool_expr);
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
        type to = bind_type(b, n->type_cast->type_name);
        const node *in = n->type_cast->arg;
        if (type_is_array(to.id) && in->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR)
            return array_of(b, s, in->a_array_expr, type_element(to.id));
        return expr_coerce(b, bind_expr(b, s, n->type_cast->arg), to, CAST_EXPLICIT);
    }
    case PG_QUERY__NODE__NODE_FUNC_CALL: return function_call(b, s, n->func_call);
    case PG_QUERY__NODE__NODE_SUB_LINK: return sub_link(b, s, n->sub_link);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return case_expr(b, s, n->case_expr);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
        return simple_coalesce(b, of_list(b, s, E_COALESCE, n->coalesce_expr->args,
                                          n->coalesce_expr->n_args, n->coalesce_expr->location));
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: {
        const PgQuery__MinMaxExpr *m = n->min_max_expr;
        expr *e = of_list(b, s, E_EXTREME, m->args, m->n_args, m->location);
        e->op = m->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? 1 : -1;
        return fold(b, e);
    }
    case PG_QUERY__NODE__NODE_NULL_TEST: {
        expr *e = expr_new(b, E_IS_NULL, type_plain(T_BOOL), n->null_test->location, 1);
        e->arg[0] = bind_expr(b, s, n->null_test->arg);
        if (e->arg[0]->t.id == T_RECORD) sql_refuse(CTX(b), e->position, "IS NULL of a row");
        expr_settle(b, e->arg[0]);
        e->op = n->null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NOT_NULL;
        return fold(b, e);
    }
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST: {
        expr *e = expr_new(b, E_IS_BOOL, type_plain(T_BOOL), n->boolean_test->location, 1);
        e->arg[0] = bind_bool(b, s, n->boolean_test->arg, "IS TRUE");
        e->op = (int)n->boolean_test->booltesttype;
        return fold(b, e);
    }
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return bind_grouping_call(b, s, n->grouping_func);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return bind_current(b, n->sqlvalue_function);
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return array_of(b, s, n->a_array_expr, T_UNKNOWN);
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return part_of(b, s, n->a_indirection);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return collated(b, s, n->collate_clause);
    default: sql_refuse(CTX(b), -1, "%s in an expression", node_title(b, n));
    }
}

expr *bind_expr(binder *b, scope *s, const node *n)
{
    if (!n) sql_refuse(CTX(b), -1, "an empty expression");
    guard_tick(b->x->c.guard);
    if (++b->depth > 2000) sql_refuse(CTX(b), -1, "a statement nested this deep");
    expr *e = bind_node(b, s, n);
    b->depth--;
    return e;
}

bool expr_same(const expr *a, const expr *b)
{
    if (a->kind != b->kind || a->op != b->op || a->t.id != b->t.id || a->t.width != b->t.width ||
        a->n != b->n || a->builtin != b->builtin || a->slot != b->slot || a->index != b->index ||
        a->up != b->up || a->q || b->q || a->routine || b->routine)
        return false;
    if (a->kind == E_CONST && !value_identical(a->t.id, a->v, b->v)) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!expr_same(a->arg[i], b->arg[i])) return false;
    return true;
}
