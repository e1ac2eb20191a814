/*
 * bind_routine.c - functions and procedures: their creation, their calls, and the variables that
 * the SQL of a running body refers to.
 *
 * Overloading is resolved only where one candidate has the right number of arguments or takes
 * their types exactly; what else PostgreSQL would choose is not guessed.
 */
#include <assert.h>

#include "sql/bind.h"
#include "sql/pl.h"

#define CTX(b) (&(b)->x->c)

/* ---- variables ------------------------------------------------------------------------------- */

static expr *variable(binder *b, uint32_t var, const char *field, int position)
{
    const pl_frame *f = b->x->regs.pl;
    const pl_var *v = &f->body->vars.at[var];
    expr *e = expr_new(b, E_VAR, type_plain(T_TEXT), position, 0);
    e->index = var;
    if (v->kind == PL_SCALAR) {
        e->t = type_plain(f->types[var].id);
        return e;
    }
    if (v->kind == PL_CURSOR) sql_refuse(CTX(b), position, "a cursor in an expression");
    if (!field) sql_refuse(CTX(b), position, "a whole record in an expression");
    const pl_shape *shape = f->recs[var].shape;
    if (!shape) sql_raise(CTX(b), "55000", "record \"%s\" is not assigned yet", v->name);
    for (uint32_t i = 0; i < shape->n; i++) {
        if (strcmp(shape->names[i], field) != 0) continue;
        e->slot = i;
        e->op = 1;
        e->t = type_plain(shape->types[i].id);
        bool noted = false;
        for (size_t k = 0; k < b->code->uses.n; k++) noted |= b->code->uses.at[k].var == var;
        if (!noted) arena_push(b->mem, &b->code->uses, ((pl_use){var, shape}));
        return e;
    }
    sql_raise(CTX(b), "42703", "record \"%s\" has no field \"%s\"", v->name, field);
}

const pl_shape *bind_record(binder *b, const char *name)
{
    if (!b->code || !b->x->regs.pl) return NULL;
    int v = pl_find(b->code->scope, NULL, name);
    if (v < 0) return NULL;
    pl_var_kind kind = b->x->regs.pl->body->vars.at[v].kind;
    return kind == PL_RECORD || kind == PL_ROW ? b->x->regs.pl->recs[v].shape : NULL;
}

expr *bind_variable(binder *b, const char *const *names, size_t n, int position)
{
    if (!b->code || !b->x->regs.pl) return NULL;
    const pl_scope *s = b->code->scope;
    const pl_body *body = b->x->regs.pl->body;
    int v = pl_find(s, NULL, names[0]);
    if (n == 1) return v < 0 ? NULL : variable(b, (uint32_t)v, NULL, position);
    bool record = v >= 0 && (body->vars.at[v].kind == PL_RECORD || body->vars.at[v].kind == PL_ROW);
    if (n == 2 && record) return variable(b, (uint32_t)v, names[1], position);
    v = pl_find(s, names[0], names[1]);
    if (v < 0) return NULL;
    return variable(b, (uint32_t)v, n > 2 ? names[2] : NULL, position);
}

expr *bind_argument(binder *b, int number, int position)
{
    const pl_frame *f = b->x->regs.pl;
    int at = 0;
    for (uint32_t i = 0; f->r && i < f->r->n_params; i++) {
        /* SQL functions count what is passed in, PL/pgSQL everything */
        if (f->r->sql && f->r->params[i].mode != PARAM_IN && f->r->params[i].mode != PARAM_INOUT)
            continue;
        if (++at == number) return variable(b, i, NULL, position);
    }
    sql_raise(CTX(b), "42P02", "there is no parameter $%d", number);
}

/* ---- CREATE ---------------------------------------------------------------------------------- */

static const pl_shape *shape_of_table(binder *b, const table *t)
{
    pl_shape *s = arena_get(b->mem, sizeof *s);
    s->n = t->n_cols;
    s->names = arena_array(b->mem, const char *, t->n_cols + 1);
    s->types = arena_array(b->mem, type, t->n_cols + 1);
    for (uint32_t i = 0; i < t->n_cols; i++) {
        s->names[i] = name_keep(b, t->cols[i].name);
        s->types[i] = t->cols[i].t;
    }
    return s;
}

static const char *type_word(binder *b, const PgQuery__TypeName *t)
{
    return t->n_names ? string_of(b, t->names[t->n_names - 1], t->location) : "";
}

/* Types of parameters and results have no width. */
static type param_type(binder *b, const PgQuery__TypeName *t)
{
    return type_plain(bind_type(b, t).id);
}

static void parameters(binder *b, routine *r, const PgQuery__CreateFunctionStmt *c)
{
    r->n_params = (uint32_t)c->n_parameters;
    r->params = arena_array(b->mem, routine_param, r->n_params + 1);
    bool fallback = false;
    for (uint32_t i = 0; i < r->n_params; i++) {
        const PgQuery__FunctionParameter *f = c->parameters[i]->function_parameter;
        routine_param *p = &r->params[i];
        memset(p, 0, sizeof *p);
        p->name = name_keep(b, f->name ? f->name : "");
        switch (f->mode) {
        case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_IN:
        case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_DEFAULT: p->mode = PARAM_IN; break;
        case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_OUT: p->mode = PARAM_OUT; break;
        case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_INOUT: p->mode = PARAM_INOUT; break;
        case PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_TABLE: p->mode = PARAM_TABLE; break;
        default: sql_refuse(CTX(b), f->arg_type->location, "VARIADIC parameters");
        }
        p->t = param_type(b, f->arg_type);
        bool in = p->mode == PARAM_IN || p->mode == PARAM_INOUT;
        r->n_in += in;
        if (f->defexpr) {
            scope none = {0};
            p->fallback = expr_coerce(b, bind_expr(b, &none, f->defexpr), p->t, CAST_ASSIGN);
            fallback = true;
        } else if (fallback && in) {
            sql_raise(CTX(b), "42P13",
                      "input parameters after one with a default value must also "
                      "have defaults");
        }
    }
}

static bool is_output(const routine_param *p)
{
    return p->mode != PARAM_IN;
}

static void returns(binder *b, routine *r, const PgQuery__TypeName *t)
{
    uint32_t outs = 0;
    for (uint32_t i = 0; i < r->n_params; i++) outs += is_output(&r->params[i]);
    if (r->procedure || (!t && !outs)) {
        if (!r->procedure) sql_raise(CTX(b), "42P13", "function result type must be specified");
        return;
    }
    const char *word = t ? type_word(b, t) : "";
    r->set = t && t->setof;
    if (outs) {
        pl_shape *s = arena_get(b->mem, sizeof *s);
        s->n = 0;
        s->names = arena_array(b->mem, const char *, outs + 1);
        s->types = arena_array(b->mem, type, outs + 1);
        for (uint32_t i = 0; i < r->n_params; i++) {
            if (!is_output(&r->params[i])) continue;
            s->names[s->n] = r->params[i].name;
            if (!*s->names[s->n]) sql_refuse(CTX(b), -1, "OUT parameters without a name");
            s->types[s->n++] = r->params[i].t;
        }
        r->rows = s;
        r->returns = outs > 1 ? RETURN_ROW : RETURN_VALUE;
        r->t = s->types[0];
        return;
    }
    if (!strcmp(word, "void") && !t->setof) {
        r->t = type_plain(T_VOID);
        return;
    }
    if (!strcmp(word, "trigger")) {
        r->returns = RETURN_TRIGGER;
        return;
    }
    table *row = t->pct_type || t->n_array_bounds ? NULL : vs_find(b->x->s, word, b->x->latest);
    if (row) {
        r->returns = RETURN_ROW;
        r->rows = shape_of_table(b, row);
        return;
    }
    if (!strcmp(word, "record")) sql_refuse(CTX(b), t->location, "RETURNS record without columns");
    PgQuery__TypeName one = *t;
    one.setof = false;
    r->returns = RETURN_VALUE;
    r->t = param_type(b, &one);
    if (!r->set) return;
    pl_shape *s = arena_get(b->mem, sizeof *s); /* as a relation: one column of its name */
    s->n = 1;
    s->names = arena_array(b->mem, const char *, 1);
    s->types = arena_array(b->mem, type, 1);
    s->names[0] = r->name;
    s->types[0] = r->t;
    r->rows = s;
}

static const char *option_text(binder *b, const PgQuery__DefElem *d)
{
    const node *n = d->arg;
    if (n && n->node_case == PG_QUERY__NODE__NODE_LIST && n->list->n_items == 1)
        n = n->list->items[0];
    return string_of(b, n, d->location);
}

typedef struct body_options {
    const char *language, *text;
} body_options;

static body_options options(binder *b, routine *r, node **list, size_t n)
{
    static const char *const ignored[] = {"security", "leakproof", "cost", "rows", "parallel"};
    body_options o = {NULL, NULL};
    for (size_t i = 0; i < n; i++) {
        const PgQuery__DefElem *d = list[i]->def_elem;
        bool known = false;
        for (size_t k = 0; k < sizeof ignored / sizeof ignored[0]; k++)
            known |= !strcmp(d->defname, ignored[k]);
        if (!strcmp(d->defname, "as"))
            o.text = option_text(b, d);
        else if (!strcmp(d->defname, "language"))
            o.language = option_text(b, d);
        else if (r && !strcmp(d->defname, "volatility"))
            r->fixed = strcmp(option_text(b, d), "volatile") != 0;
        else if (r && !strcmp(d->defname, "strict") && d->arg &&
                 d->arg->node_case == PG_QUERY__NODE__NODE_BOOLEAN)
            r->strict = d->arg->boolean->boolval;
        else if (!known)
            sql_refuse(CTX(b), d->location, "%s of a function", d->defname);
    }
    return o;
}

static pl_body *body_of(binder *b, const routine *r, const char *text)
{
    pl_param *params = arena_array(b->mem, pl_param, r->n_params + 1);
    for (uint32_t i = 0; i < r->n_params; i++)
        params[i] = (pl_param){r->params[i].name, r->params[i].t};
    return r->sql ? pl_parse_sql(b->x, b->mem, r->name, text, params, r->n_params)
                  : pl_parse(b->x, b->mem, r->name, text, params, r->n_params);
}

/* RETURN expression: the same as a body of one SELECT.  (What it names is looked up now by
   PostgreSQL, by us at each call: dropping it afterwards fails there.) */
static void standard_body(binder *b, const node *n, body_options *o)
{
    if (n->node_case != PG_QUERY__NODE__NODE_RETURN_STMT) sql_refuse(CTX(b), -1, "BEGIN ATOMIC");
    const char *text = pl_after(b->x, b->mem, b->text, "return");
    size_t len = strlen(text);
    char *made = arena_get(b->mem, len + 8);
    memcpy(made, "SELECT ", 7);
    memcpy(made + 7, text, len + 1);
    o->text = made;
    if (!o->language) o->language = "sql";
}

void bind_create_routine(binder *b, plan *p, const PgQuery__CreateFunctionStmt *c)
{
    p->kind = S_ROUTINE;
    p->quiet = c->replace;
    routine *r = p->routine = arena_get(b->mem, sizeof *r);
    memset(r, 0, sizeof *r);
    if (c->n_funcname != 1) sql_refuse(CTX(b), -1, "the schema of a function");
    r->name = name_keep(b, string_of(b, c->funcname[0], -1));
    r->procedure = c->is_procedure;
    r->t = type_plain(T_VOID);
    parameters(b, r, c);
    returns(b, r, c->return_type);
    body_options o = options(b, r, c->options, c->n_options);
    if (c->sql_body) standard_body(b, c->sql_body, &o);
    if (!o.language || !o.text) sql_refuse(CTX(b), -1, "a function without language or body");
    r->sql = !strcmp(o.language, "sql");
    if (!r->sql && strcmp(o.language, "plpgsql") != 0)
        sql_refuse(CTX(b), -1, "LANGUAGE %s", o.language);
    if (r->returns == RETURN_TRIGGER) { /* read when a trigger calls it */
        r->source = arena_text(b->mem, o.text, strlen(o.text));
        return;
    }
    r->body = body_of(b, r, arena_text(b->mem, o.text, strlen(o.text)));
}

void bind_do(binder *b, plan *p, const PgQuery__DoStmt *d)
{
    p->kind = S_DO;
    body_options o = options(b, NULL, d->args, d->n_args);
    if ((o.language && strcmp(o.language, "plpgsql") != 0) || !o.text)
        sql_refuse(CTX(b), -1, "DO in another language");
    const char *text = arena_text(b->mem, o.text, strlen(o.text));
    p->body = pl_parse(b->x, b->mem, "inline_code_block", text, NULL, 0);
}

/* ---- DROP ------------------------------------------------------------------------------------ */

static bool same_types(binder *b, const routine *r, const PgQuery__ObjectWithArgs *o)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->n_params; i++) {
        if (!r->procedure && r->params[i].mode != PARAM_IN && r->params[i].mode != PARAM_INOUT)
            continue;
        if (at >= o->n_objargs || o->objargs[at]->node_case != PG_QUERY__NODE__NODE_TYPE_NAME)
            return false;
        if (bind_type(b, o->objargs[at++]->type_name).id != r->params[i].t.id) return false;
    }
    return at == o->n_objargs;
}

void bind_drop_routine(binder *b, plan *p, const PgQuery__DropStmt *d)
{
    p->kind = S_DROP_ROUTINE;
    p->quiet = d->missing_ok;
    p->n_names = (uint32_t)d->n_objects;
    p->dropped = arena_array(b->mem, routine *, d->n_objects + 1);
    for (size_t i = 0; i < d->n_objects; i++) {
        const node *n = d->objects[i];
        if (n->node_case != PG_QUERY__NODE__NODE_OBJECT_WITH_ARGS ||
            n->object_with_args->n_objname != 1)
            sql_refuse(CTX(b), -1, "this DROP");
        const PgQuery__ObjectWithArgs *o = n->object_with_args;
        const char *name = string_of(b, o->objname[0], -1);
        routine *found = NULL, *r;
        for (uint32_t k = 0; (r = vs_routine(b->x->s, name, b->x->latest, k)); k++) {
            if (r->view || (!o->args_unspecified && !same_types(b, r, o))) continue;
            if (found) sql_raise(CTX(b), "42725", "function name \"%s\" is not unique", name);
            if (bind_is_trigger_function(b, name))
                sql_refuse(CTX(b), -1, "DROP of a function that a trigger calls");
            found = r;
        }
        bool kind = !found || d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_ROUTINE ||
                    found->procedure == (d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_PROCEDURE);
        if (!kind) sql_raise(CTX(b), "42809", "\"%s\" is not of that kind", name);
        if (!found && !d->missing_ok) sql_raise(CTX(b), "42883", "\"%s\" does not exist", name);
        p->dropped[i] = found;
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool takes(const routine *r, uint32_t i)
{
    return r->procedure || r->params[i].mode == PARAM_IN || r->params[i].mode == PARAM_INOUT;
}

/* The argument for each parameter, -1: its default; false: not this routine. */
static bool place_args(binder *b, const routine *r, const PgQuery__FuncCall *f, int *of)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->n_params; i++) of[i] = -1;
    for (size_t k = 0; k < f->n_args; k++) {
        const node *a = f->args[k];
        if (a->node_case != PG_QUERY__NODE__NODE_NAMED_ARG_EXPR) {
            while (at < r->n_params && !takes(r, at)) at++;
            if (at == r->n_params) return false;
            of[at++] = (int)k;
            continue;
        }
        uint32_t i = 0;
        while (i < r->n_params &&
               (!takes(r, i) || strcmp(r->params[i].name, a->named_arg_expr->name) != 0))
            i++;
        if (i == r->n_params || of[i] >= 0) return false;
        of[i] = (int)k;
    }
    for (uint32_t i = 0; i < r->n_params; i++)
        if (takes(r, i) && of[i] < 0 && !r->params[i].fallback) return false;
    (void)b;
    return true;
}

static const node *arg_node(const PgQuery__FuncCall *f, int k)
{
    const node *a = f->args[k];
    return a->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR ? a->named_arg_expr->arg : a;
}

/* The argument of parameter i; place: where it stands in the call, < 0: nowhere. */
static expr *argument_of(binder *b, scope *s, const PgQuery__FuncCall *f, const routine *r,
                         uint32_t i, int place)
{
    type t = r->params[i].t;
    param_mode mode = r->params[i].mode;
    if (!takes(r, i) || (r->procedure && mode == PARAM_OUT && !b->code))
        return expr_new(b, E_CONST, t, f->location, 0);
    if (place < 0) return r->params[i].fallback;
    expr *e = bind_expr(b, s, arg_node(f, place));
    if (r->procedure && mode != PARAM_IN && b->code) return e; /* a variable */
    type_id from = e->t.id;
    if (from != T_UNKNOWN && !cast_exists(from, t.id, CAST_IMPLICIT))
        sql_raise(CTX(b), "42883", "no function \"%s\" takes a %s here", r->name, type_name(from));
    return expr_coerce(b, e, t, CAST_IMPLICIT);
}

static expr *call_of(binder *b, scope *s, const PgQuery__FuncCall *f, bool procedure)
{
    const char *name = string_of(b, f->funcname[f->n_funcname - 1], f->location);
    routine *r, *found = NULL;
    uint32_t named = 0, fitting = 0;
    int *of = NULL;
    if (f->agg_star || f->agg_distinct || f->agg_filter || f->over || f->n_agg_order ||
        f->func_variadic)
        return NULL;
    for (uint32_t k = 0; (r = vs_routine(b->x->s, name, b->x->latest, k)); k++) {
        int *place = arena_array(b->mem, int, r->n_params + 1);
        if (r->view) continue;
        named++;
        if (!place_args(b, r, f, place)) continue;
        fitting++;
        if (!found || r->n_params < found->n_params) found = r, of = place;
    }
    if (!named) return NULL;
    if (fitting > 1) sql_refuse(CTX(b), f->location, "a call of overloaded function \"%s\"", name);
    if (!found || found->procedure != procedure)
        sql_raise(CTX(b), found ? "42809" : "42883", "no %s \"%s\" takes these arguments",
                  procedure ? "procedure" : "function", name);
    if (found->returns == RETURN_TRIGGER)
        sql_raise(CTX(b), "0A000", "trigger functions can only be called as triggers");
    expr *e = expr_new(b, E_ROUTINE, found->t, f->location, found->n_params);
    e->routine = found;
    for (uint32_t i = 0; i < found->n_params; i++)
        e->arg[i] = argument_of(b, s, f, found, i, of[i]);
    b->p->planner_chooses = b->calls = true;
    if (found->fixed) b->p->reads = true;
    return e;
}

expr *bind_routine_call(binder *b, scope *s, const PgQuery__FuncCall *f)
{
    expr *e = call_of(b, s, f, false);
    if (!e) return NULL;
    if (e->routine->set)
        sql_refuse(CTX(b), f->location, "a function that returns a set, in an expression");
    if (e->routine->returns == RETURN_ROW)
        sql_refuse(CTX(b), f->location, "a function that returns a row, in an expression");
    return e;
}

query *bind_function_rows(binder *b, scope *s, const PgQuery__FuncCall *f)
{
    scope none = {.up = s->up};
    expr *e = call_of(b, &none, f, false);
    if (!e) sql_refuse(CTX(b), f->location, "this function in FROM");
    const routine *r = e->routine;
    query *q = arena_get(b->mem, sizeof *q);
    memset(q, 0, sizeof *q);
    q->position = f->location;
    q->call = e;
    q->n_out = r->rows ? r->rows->n : 1;
    q->out = arena_array(b->mem, out_column, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) {
        type t = r->rows ? r->rows->types[i] : r->t;
        bool own = r->rows && (r->rows->n > 1 || r->returns == RETURN_ROW || r->n_params > r->n_in);
        q->out[i].name = own ? r->rows->names[i] : r->name;
        q->out[i].e = expr_new(b, E_CONST, type_plain(t.id), f->location, 0);
    }
    return q;
}

void bind_call(binder *b, plan *p, const PgQuery__CallStmt *c)
{
    scope none = {0};
    p->kind = S_CALL;
    p->call = call_of(b, &none, c->funccall, true);
    if (!p->call)
        sql_refuse(CTX(b), c->funccall->location, "procedure %s",
                   string_of(b, c->funccall->funcname[c->funccall->n_funcname - 1], -1));
    p->planner_chooses = false; /* what its statements are is seen when they run */
}
