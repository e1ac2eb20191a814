/*
 * pl_run.c - running the bodies of functions, procedures and DO.
 *
 * Every SQL statement of a VOLATILE body is a statement of its own: it sees what came before it in
 * the transaction, and at levels with a snapshot a statement it takes a new one (exec_enter).  In
 * STABLE and IMMUTABLE bodies all read what the caller's statement reads.  EXCEPTION takes back to
 * where its block began, as PostgreSQL's subtransaction does.  The order in which rows come to a
 * loop without ORDER BY is asked for (x->pick), since it is the planner's.
 */
#include <assert.h>

#include "base/hash.h"
#include "sql/bind.h"
#include "sql/pl.h"
#include "sql/row_triggers.h"

#define MAX_CALLS 100
#define MAX_STEPS 2000000u
#define MAX_BOUND 8192u

typedef enum flow { FLOW_ON, FLOW_EXIT, FLOW_CONTINUE, FLOW_RETURN } flow;

static flow run_list(sql_exec *x, const pl_list *l);

value pl_value(sql_exec *x, const expr *e)
{
    const pl_frame *f = x->regs.pl;
    if (f->secret[e->index]) sql_refuse(&x->c, e->position, "the text of an error message");
    return e->op ? f->recs[e->index].v[e->slot] : f->vars[e->index];
}

value pl_cast(sql_exec *x, value v, type from, type to)
{
    if (v.null || v.open || (from.id == to.id && to.width < 0)) return v;
    if (cast_exists(from.id, to.id, CAST_ASSIGN))
        return value_cast(&x->c, v, from, to, CAST_ASSIGN);
    strbuf b;
    strbuf_init(&b, x->work.mem);
    value_write(&x->c, from.id, v, &b);
    const char *text = arena_text(&x->work, b.at, b.n);
    size_t n = b.n;
    strbuf_free(&b);
    return value_parse(&x->c, to, text, n);
}

/* ---- statements inside ----------------------------------------------------------------------- */

void exec_enter(sql_exec *x, exec_view *v, bool fresh)
{
    assert(x->regs.kept_from <= x->kept.n && x->regs.refers_from <= x->refers.n);
    *v = (exec_view){.regs = x->regs,
                     .place = x->c.place,
                     .kept = x->kept.n,
                     .refers = x->refers.n,
                     .after = x->after.n,
                     .rekeys = x->rekeys.n,
                     .state = x->state,
                     .valid_from = x->valid_from};
    if (x->view) x->view(x->ud, v, VIEW_SAVE);
    if (!fresh) return;
    if (x->regs.cid > x->last_cid) x->last_cid = x->regs.cid;
    x->regs.cid = ++x->last_cid;
    if (x->view) {
        if (x->regs.many) sql_refuse(&x->c, -1, "a volatile function called for several rows");
        x->view(x->ud, v, VIEW_FRESH);
    }
}

void exec_leave(sql_exec *x, const exec_view *v)
{
    if (x->view) {
        exec_view copy = *v;
        x->view(x->ud, &copy, VIEW_BACK);
    }
    assert(v->regs.cid <= x->regs.cid || v->regs.cid > x->last_cid);
    x->regs = v->regs;
    x->c.place = v->place;
    x->kept.n = v->kept;
    x->refers.n = v->refers;
    x->after.n = v->after;
    x->rekeys.n = v->rekeys;
}

static void step(sql_exec *x, uint32_t line)
{
    guard_tick(x->c.guard);
    x->c.place.line = line;
    if (++x->steps > MAX_STEPS)
        sql_refuse(&x->c, -1, "a body that runs for over %u steps", (unsigned)MAX_STEPS);
}

static bool same_shape(const pl_shape *a, const pl_shape *b)
{
    if (a == b) return true;
    if (!a || !b || a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->types[i].id != b->types[i].id || strcmp(a->names[i], b->names[i]) != 0) return false;
    return true;
}

static const pl_shape *shape_keep(arena *m, const pl_shape *s)
{
    pl_shape *k = arena_get(m, sizeof *k);
    k->n = s->n;
    k->names = arena_array(m, const char *, s->n + 1);
    k->types = arena_array(m, type, s->n + 1);
    for (uint32_t i = 0; i < s->n; i++) {
        k->names[i] = arena_text(m, s->names[i], strlen(s->names[i]));
        k->types[i] = s->types[i];
    }
    return k;
}

static plan *plan_of(sql_exec *x, pl_code *c)
{
    assert(x->regs.pl && c->text);
    store *s = x->s;
    x->c.place.line = c->line;
    if (c->p && c->epoch == s->epoch && c->catalog == s->catalog) {
        size_t i = 0;
        while (i < c->uses.n &&
               same_shape(c->uses.at[i].shape, x->regs.pl->recs[c->uses.at[i].var].shape))
            i++;
        if (i == c->uses.n) return c->p;
        /* PostgreSQL's answer depends on what the session planned before */
        if (x->regs.pl->recs[c->uses.at[i].var].shape)
            sql_refuse(&x->c, -1, "a record whose columns change");
    }
    c->p = NULL;
    memset(&c->uses, 0, sizeof c->uses);
    s->bound++;
    plan *p = bind_text(x, &s->bodies, c, c->text, c->n, NULL, 0);
    for (size_t i = 0; i < c->uses.n; i++)
        c->uses.at[i].shape = shape_keep(&s->bodies, c->uses.at[i].shape);
    c->epoch = s->epoch;
    c->catalog = p->catalog;
    c->p = p;
    return p;
}

static void may_run(sql_exec *x, const plan *p)
{
    bool writes = p->kind != S_SELECT && p->kind != S_CALL;
    if (p->kind == S_SAVEPOINT || p->kind == S_RELEASE || p->kind == S_ROLLBACK_TO ||
        p->kind == S_NOTHING || p->kind == S_UNSEEN)
        sql_refuse(&x->c, -1, "this statement in a body");
    if (!writes) return;
    if (x->regs.pl->fixed) sql_raise(&x->c, "0A000", "not allowed in a non-volatile function");
    if (x->regs.many)
        sql_refuse(&x->c, -1, "a function that writes, called for several rows or in a condition");
}

/* A deadlock may hit any statement that takes locks; where a handler catches it, the log does not
   show that it did. */
static void may_deadlock(sql_exec *x, const plan *p)
{
    bool locks = p->kind == S_INSERT || p->kind == S_UPDATE || p->kind == S_DELETE ||
                 p->kind == S_MERGE || (p->kind == S_SELECT && p->q->locking);
    if (x->regs.moments && !x->single_session && locks) x->moment_caught = true;
    if (!x->regs.caught || x->single_session || !locks || !x->pick) return;
    if (x->pick(x->ud, 2)) sql_raise(&x->c, "40P01", "deadlock detected");
}

static void run_plan(sql_exec *x, const plan *p, sql_result *out)
{
    assert(x->regs.pl && x->regs.calls);
    exec_view v;
    if (x->regs.several_rows && (p->reads || p->kind != S_SELECT))
        sql_refuse(&x->c, -1, "a trigger that reads or writes tables, for several rows");
    if (p->planner_chooses) x->planner_chose = true;
    may_run(x, p);
    may_deadlock(x, p);
    exec_enter(x, &v, !x->regs.pl->fixed && (p->reads || p->kind != S_SELECT));
    x->regs.many = 0;
    x->regs.planner_may_raise = p->planner_chooses;
    exec_inner(x, p, out);
    exec_leave(x, &v);
}

/* An expression; its type is in `t`. */
static value eval_code(sql_exec *x, pl_code *c, type *t)
{
    plan *p = plan_of(x, c);
    if (p->kind != S_SELECT) sql_refuse(&x->c, -1, "this expression");
    if (p->simple) {
        frame none = {NULL, NULL, NULL};
        exec_view v;
        bool fresh = p->reads && !x->regs.pl->fixed;
        *t = p->q->out[0].e->t;
        if (fresh) exec_enter(x, &v, true);
        x->regs.planner_may_raise = false;
        value r = eval_open(x, p->q->out[0].e, &none);
        if (r.open == OPEN_FREE) r = (value){.open = OPEN_FIXED, .n = r.n};
        if (fresh) exec_leave(x, &v);
        exec_planned(x, p);
        return r;
    }
    sql_result r;
    run_plan(x, p, &r);
    exec_cut(x, p->q, &r);
    if (r.n_cols != 1) sql_raise(&x->c, "42601", "query returned %u columns", (unsigned)r.n_cols);
    if (r.n > 1) sql_raise(&x->c, "21000", "query returned more than one row");
    x->regs.pl->row_count = r.n;
    *t = type_plain(r.types[0]);
    return r.n ? r.rows[0][0] : value_null();
}

static value eval_as(sql_exec *x, pl_code *c, type to)
{
    type t;
    value v = eval_code(x, c, &t);
    return pl_cast(x, v, t, to);
}

static bool eval_cond(sql_exec *x, pl_code *c)
{
    value v = eval_as(x, c, type_plain(T_BOOL));
    if (v.open) sql_refuse(&x->c, -1, "a condition on a value that was not observed");
    return !v.null && v.i;
}

/* ---- variables ------------------------------------------------------------------------------- */

static void set_found(sql_exec *x, bool found)
{
    assert(x->regs.pl->body->found < x->regs.pl->body->vars.n);
    x->regs.pl->vars[x->regs.pl->body->found] = value_bool(found);
}

static void set_var(sql_exec *x, uint32_t var, value v, type from)
{
    pl_frame *f = x->regs.pl;
    const pl_var *d = &f->body->vars.at[var];
    assert(var < f->body->vars.n);
    if (d->kind != PL_SCALAR) sql_refuse(&x->c, -1, "a value assigned to a record or cursor");
    v = pl_cast(x, v, from, f->types[var]);
    if (v.null && d->not_null)
        sql_raise(&x->c, "22004", "null value cannot be assigned to variable \"%s\"", d->name);
    f->vars[var] = v;
}

static uint32_t field_of(sql_exec *x, const pl_record *r, const pl_target *t)
{
    const char *name = x->regs.pl->body->vars.at[t->var].name;
    if (!r->shape) sql_raise(&x->c, "55000", "record \"%s\" is not assigned yet", name);
    for (uint32_t i = 0; i < r->shape->n; i++)
        if (!strcmp(r->shape->names[i], t->field)) return i;
    sql_raise(&x->c, "42703", "record \"%s\" has no field \"%s\"", name, t->field);
}

static void set_target(sql_exec *x, const pl_target *t, value v, type from)
{
    if (!t->field) {
        set_var(x, t->var, v, from);
        return;
    }
    pl_record *r = &x->regs.pl->recs[t->var];
    assert(t->var < x->regs.pl->body->vars.n);
    uint32_t i = field_of(x, r, t);
    r->v[i] = pl_cast(x, v, from, r->shape->types[i]);
}

static const pl_shape *shape_of_result(sql_exec *x, const sql_result *r)
{
    pl_shape *s = arena_get(&x->work, sizeof *s);
    s->n = r->n_cols;
    s->names = arena_array(&x->work, const char *, r->n_cols + 1);
    s->types = arena_array(&x->work, type, r->n_cols + 1);
    for (uint32_t i = 0; i < r->n_cols; i++) {
        s->names[i] = r->names[i];
        s->types[i] = type_plain(r->types[i]);
    }
    return s;
}

/* A row, or NULL, into a record or a list of variables. */
static void set_row(sql_exec *x, const pl_stmt *s, const sql_result *r, const value *row)
{
    pl_frame *f = x->regs.pl;
    const pl_target *t = s->into.at;
    pl_var_kind kind = f->body->vars.at[t->var].kind;
    if (s->into.n == 1 && !t->field && kind == PL_RECORD) {
        pl_record *rec = &f->recs[t->var];
        value *copy = arena_array(&x->work, value, r->n_cols + 1);
        for (uint32_t i = 0; i < r->n_cols; i++) copy[i] = row ? row[i] : value_null();
        rec->shape = shape_of_result(x, r);
        rec->v = copy;
        return;
    }
    if (s->into.n == 1 && !t->field && kind == PL_ROW) {
        pl_record *rec = &f->recs[t->var];
        for (uint32_t i = 0; i < rec->shape->n; i++)
            rec->v[i] = row && i < r->n_cols
                            ? pl_cast(x, row[i], type_plain(r->types[i]), rec->shape->types[i])
                            : value_null();
        return;
    }
    for (uint32_t i = 0; i < s->into.n; i++) {
        bool given = row && i < r->n_cols;
        set_target(x, &s->into.at[i], given ? row[i] : value_null(),
                   type_plain(given ? r->types[i] : T_TEXT));
    }
}

/* ---- the order of rows ----------------------------------------------------------------------- */

static bool rows_identical(const sql_result *r, const value *a, const value *b)
{
    for (uint32_t i = 0; i < r->n_cols; i++)
        if (!value_identical(r->types[i], a[i], b[i])) return false;
    return true;
}

/* Puts one of the rows that may come next at `at`. */
static void settle_row(sql_exec *x, sql_result *r, uint32_t at)
{
    assert(at < r->n && (!r->tie || r->tie[at] <= at));
    uint32_t to = at + 1;
    bool same = true;
    while (to < r->n && (!r->tie || r->tie[to] == r->tie[at])) {
        same &= rows_identical(r, r->rows[at], r->rows[to]);
        to++;
    }
    if (same) return;
    if (!x->pick) sql_refuse(&x->c, -1, "rows that come one by one, in no order");
    uint32_t k = at + x->pick(x->ud, to - at);
    assert(k >= at && k < to);
    const value *chosen = r->rows[k];
    memmove(&r->rows[at + 1], &r->rows[at], (k - at) * sizeof r->rows[0]);
    r->rows[at] = chosen;
}

/* LIMIT and OFFSET of a query whose rows are taken one by one. */
static void cut_rows(sql_exec *x, const plan *p, sql_result *r)
{
    if (p->kind == S_SELECT) exec_cut(x, p->q, r);
}

/* The rows of a loop or cursor are made when it is opened, all of them; PostgreSQL makes them as
   they are asked for, so that an error in one may come late or never. */
static void open_rows(sql_exec *x, pl_code *c, sql_result *r)
{
    plan *p = plan_of(x, c);
    guard *g = x->c.guard, outer;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        bool data = g->code == SQL_RAISED && x->c.state[0] == '2';
        guard_restore(g, &outer);
        if (data) sql_refuse(&x->c, -1, "a loop or cursor whose query fails with %s", x->c.state);
        guard_fail_again(g);
    }
    run_plan(x, p, r);
    guard_restore(g, &outer);
    if (!r->has_rows) sql_refuse(&x->c, -1, "a loop over a statement without rows");
    cut_rows(x, p, r);
}

/* ---- statements ------------------------------------------------------------------------------ */

static flow run_assign(sql_exec *x, const pl_stmt *s)
{
    type t;
    const pl_target *to = s->into.at;
    pl_var_kind kind = x->regs.pl->body->vars.at[to->var].kind;
    if (kind != PL_SCALAR && !to->field) sql_refuse(&x->c, -1, "an assignment of a whole record");
    value v = eval_code(x, s->e, &t);
    set_target(x, to, v, t);
    return FLOW_ON;
}

static flow run_if(sql_exec *x, const pl_stmt *s)
{
    for (size_t i = 0; i < s->branches.n; i++)
        if (eval_cond(x, s->branches.at[i].cond)) return run_list(x, &s->branches.at[i].body);
    return s->has_else ? run_list(x, &s->otherwise) : FLOW_ON;
}

static flow run_case(sql_exec *x, const pl_stmt *s)
{
    static const char *const v[] = {"v"};
    if (s->e) {
        type t;
        value *one = arena_array(&x->work, value, 1);
        one[0] = eval_code(x, s->e, &t);
        pl_shape *shape = arena_get(&x->work, sizeof *shape);
        shape->n = 1;
        shape->names = arena_array(&x->work, const char *, 1);
        shape->names[0] = v[0];
        shape->types = arena_array(&x->work, type, 1);
        shape->types[0] = t;
        x->regs.pl->recs[s->var] = (pl_record){shape, one};
    }
    for (size_t i = 0; i < s->branches.n; i++)
        if (eval_cond(x, s->branches.at[i].cond)) return run_list(x, &s->branches.at[i].body);
    if (!s->has_else) sql_raise(&x->c, "20000", "case not found");
    return run_list(x, &s->otherwise);
}

/* What a loop does after its body: true if it ends, with *f what its statement does. */
static bool loop_ends(pl_frame *p, const pl_stmt *s, flow *f)
{
    assert(*f == FLOW_EXIT || *f == FLOW_CONTINUE || !p->label);
    bool mine = !p->label || (s->label && !strcmp(p->label, s->label));
    if (*f == FLOW_ON) return false;
    if (*f == FLOW_RETURN || !mine) return true;
    p->label = NULL;
    bool again = *f == FLOW_CONTINUE;
    *f = FLOW_ON;
    return !again;
}

static flow run_loop(sql_exec *x, const pl_stmt *s)
{
    assert(s->kind == PL_LOOP || (s->kind == PL_WHILE && s->e));
    for (;;) {
        step(x, s->line);
        if (s->kind == PL_WHILE && !eval_cond(x, s->e)) return FLOW_ON;
        flow f = run_list(x, &s->body);
        if (loop_ends(x->regs.pl, s, &f)) return f;
    }
}

static int64_t bound_of(sql_exec *x, pl_code *c, const char *what)
{
    value v = eval_as(x, c, type_plain(T_INT4));
    if (v.open) sql_refuse(&x->c, -1, "a loop up to a value that was not observed");
    if (v.null) sql_raise(&x->c, "22004", "%s of FOR loop cannot be null", what);
    return v.i;
}

static flow run_for_int(sql_exec *x, const pl_stmt *s)
{
    int64_t i = bound_of(x, s->e, "lower bound"), end = bound_of(x, s->e2, "upper bound"), by = 1;
    if (s->e3) by = bound_of(x, s->e3, "BY value");
    if (by <= 0) sql_raise(&x->c, "22023", "BY value of FOR loop must be greater than zero");
    bool any = false;
    flow f = FLOW_ON;
    for (; s->reverse ? i >= end : i <= end; i += s->reverse ? -by : by) {
        if (i > INT32_MAX || i < INT32_MIN) break;
        any = true;
        step(x, s->line);
        x->regs.pl->vars[s->var] = value_int(i);
        f = run_list(x, &s->body);
        if (loop_ends(x->regs.pl, s, &f)) break;
    }
    set_found(x, any);
    return f;
}

static flow loop_rows(sql_exec *x, const pl_stmt *s, sql_result *r)
{
    flow f = FLOW_ON;
    if (!r->n) set_row(x, s, r, NULL);
    for (uint32_t i = 0; i < r->n; i++) {
        step(x, s->line);
        settle_row(x, r, i);
        set_row(x, s, r, r->rows[i]);
        f = run_list(x, &s->body);
        if (loop_ends(x->regs.pl, s, &f)) break;
    }
    set_found(x, r->n > 0);
    return f;
}

/* The text of EXECUTE, bound for this once. */
static plan *dynamic_plan(sql_exec *x, const pl_stmt *s)
{
    value text = eval_as(x, s->e, type_plain(T_TEXT));
    if (text.null) sql_raise(&x->c, "22004", "query string argument of EXECUTE is null");
    uint32_t n = (uint32_t)s->args.n;
    value *v = arena_array(&x->work, value, n + 1);
    type *t = arena_array(&x->work, type, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = eval_code(x, s->args.at[i], &t[i]);
        t[i] = type_plain(t[i].id);
    }
    plan *p = bind_text(x, &x->s->bodies, NULL, arena_text(&x->work, text.s, text.n), text.n, t, n);
    x->s->bound++;
    x->regs.params = v; /* until the statement is left */
    x->regs.n_params = n;
    return p;
}

static flow run_for_query(sql_exec *x, const pl_stmt *s)
{
    sql_result r;
    if (s->dynamic) {
        exec_view v;
        exec_enter(x, &v, false);
        plan *p = dynamic_plan(x, s);
        run_plan(x, p, &r);
        exec_leave(x, &v);
        if (!r.has_rows) sql_refuse(&x->c, -1, "a loop over a statement without rows");
        cut_rows(x, p, &r);
    } else {
        open_rows(x, s->e, &r);
    }
    return loop_rows(x, s, &r);
}

static flow run_exit(sql_exec *x, const pl_stmt *s)
{
    if (s->e && !eval_cond(x, s->e)) return FLOW_ON;
    x->regs.pl->label = s->label;
    return s->kind == PL_EXIT ? FLOW_EXIT : FLOW_CONTINUE;
}

static void take_rows(sql_exec *x, const sql_result *r)
{
    assert(r->has_rows && x->regs.pl->out);
    pl_frame *f = x->regs.pl;
    if (r->n_cols != f->out->n)
        sql_raise(&x->c, "42804", "structure of query does not match function result type");
    for (uint32_t i = 0; i < r->n; i++) {
        value *row = arena_array(&x->work, value, r->n_cols + 1);
        for (uint32_t k = 0; k < r->n_cols; k++) {
            if (r->types[k] != f->out->types[k].id)
                sql_raise(&x->c, "42804", "structure of query does not match function result type");
            row[k] = r->rows[i][k];
        }
        const value *kept = row;
        arena_push(&x->work, &f->rows, kept);
    }
}

static flow run_return_query(sql_exec *x, const pl_stmt *s)
{
    sql_result r;
    exec_view v;
    if (!x->regs.pl->r || !x->regs.pl->r->set) sql_refuse(&x->c, -1, "RETURN QUERY here");
    exec_enter(x, &v, false);
    plan *p = s->dynamic ? dynamic_plan(x, s) : plan_of(x, s->e);
    run_plan(x, p, &r);
    exec_leave(x, &v);
    cut_rows(x, p, &r);
    if (r.tie) sql_refuse(&x->c, -1, "RETURN QUERY with ORDER BY"); /* would be kept in order */
    take_rows(x, &r);
    x->regs.pl->row_count = r.n;
    set_found(x, r.n > 0);
    return FLOW_ON;
}

static const value *outputs(sql_exec *x)
{
    pl_frame *f = x->regs.pl;
    value *row = arena_array(&x->work, value, f->r->n_params + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->r->n_params; i++)
        if (f->r->params[i].mode != PARAM_IN) row[n++] = f->vars[i];
    return row;
}

/* RETURN of a trigger: a record, or NULL. */
static flow return_row(sql_exec *x, const pl_stmt *s)
{
    pl_frame *f = x->regs.pl;
    const pl_var *v = s->into.n == 1 ? &f->body->vars.at[s->into.at[0].var] : NULL;
    if (s->kind != PL_RETURN || !s->e) sql_refuse(&x->c, -1, "this RETURN of a trigger");
    if (v && !s->into.at[0].field && (v->kind == PL_RECORD || v->kind == PL_ROW)) {
        f->row = f->recs[s->into.at[0].var];
    } else {
        type t;
        value null = eval_code(x, s->e, &t);
        if (!null.null) sql_refuse(&x->c, -1, "a trigger that returns something else than a row");
        f->row = (pl_record){NULL, NULL};
    }
    f->returned = true;
    return FLOW_RETURN;
}

static flow run_return(sql_exec *x, const pl_stmt *s)
{
    assert(s->kind == PL_RETURN || s->kind == PL_RETURN_NEXT);
    pl_frame *f = x->regs.pl;
    const routine *r = f->r;
    bool next = s->kind == PL_RETURN_NEXT;
    if (r && r->returns == RETURN_TRIGGER) return return_row(x, s);
    if (next && (!r || !r->set)) sql_refuse(&x->c, -1, "RETURN NEXT here");
    if (next && r->n_params > r->n_in && !s->e) {
        const value *row = outputs(x);
        arena_push(&x->work, &f->rows, row);
        return FLOW_ON;
    }
    if (s->e && (next || (r && !r->set && r->returns != RETURN_NONE))) {
        const pl_var *v = s->into.n ? &f->body->vars.at[s->into.at[0].var] : NULL;
        bool whole = v && !s->into.at[0].field && (v->kind == PL_RECORD || v->kind == PL_ROW);
        value *row;
        if (whole != (r->returns == RETURN_ROW)) sql_refuse(&x->c, -1, "RETURN of this expression");
        if (whole) {
            const pl_record *rec = &f->recs[s->into.at[0].var];
            if (!rec->shape || rec->shape->n != r->rows->n)
                sql_refuse(&x->c, -1, "RETURN of a record with other columns");
            row = arena_array(&x->work, value, rec->shape->n + 1);
            for (uint32_t i = 0; i < rec->shape->n; i++) {
                if (rec->shape->types[i].id != r->rows->types[i].id)
                    sql_refuse(&x->c, -1, "RETURN of a record with other columns");
                row[i] = rec->v[i];
            }
        } else {
            row = arena_array(&x->work, value, 1);
            row[0] = eval_as(x, s->e, r->t);
            f->result = row[0];
        }
        const value *kept = row;
        if (next || r->returns == RETURN_ROW) arena_push(&x->work, &f->rows, kept);
    } else if (s->e) {
        sql_refuse(&x->c, -1, "RETURN of a value here");
    }
    if (next) return FLOW_ON;
    f->returned = true;
    return FLOW_RETURN;
}

/* A statement sets FOUND and ROW_COUNT before a wrong number of rows is an error, which a block
   around it may catch; EXECUTE (found false) leaves FOUND alone. */
static void one_row(sql_exec *x, const plan *p, const pl_stmt *s, sql_result *r, bool found)
{
    bool select = p->kind == S_SELECT, strict = s->strict;
    cut_rows(x, p, r);
    if (found && r->has_rows) {
        set_found(x, r->n > 0);
        x->regs.pl->row_count = r->n;
    }
    if (!r->has_rows) sql_raise(&x->c, "42601", "INTO used with a command that returns no data");
    if (!r->n && strict) sql_raise(&x->c, "P0002", "query returned no rows");
    if (r->n > 1 && (strict || !select))
        sql_raise(&x->c, "P0003", "query returned more than one row");
    if (r->n > 1) settle_row(x, r, 0);
    set_row(x, s, r, r->n ? r->rows[0] : NULL);
}

static flow run_sql(sql_exec *x, const pl_stmt *s)
{
    sql_result r;
    plan *p = plan_of(x, s->e);
    if (p->kind == S_SELECT && !s->has_into)
        sql_raise(&x->c, "42601", "query has no destination for result data");
    if (p->n_returning && !s->has_into)
        sql_raise(&x->c, "42601", "query has no destination for result data");
    run_plan(x, p, &r);
    uint64_t count = r.count;
    if (s->has_into) {
        one_row(x, p, s, &r, true);
        count = r.n ? 1 : 0;
    }
    x->regs.pl->row_count = (int64_t)count;
    if (p->kind == S_SELECT || p->kind == S_INSERT || p->kind == S_UPDATE || p->kind == S_DELETE ||
        p->kind == S_MERGE)
        set_found(x, count > 0);
    return FLOW_ON;
}

static flow run_perform(sql_exec *x, const pl_stmt *s)
{
    sql_result r;
    plan *p = plan_of(x, s->e);
    run_plan(x, p, &r);
    cut_rows(x, p, &r);
    x->regs.pl->row_count = r.n;
    set_found(x, r.n > 0);
    return FLOW_ON;
}

static flow run_execute(sql_exec *x, const pl_stmt *s)
{
    sql_result r;
    exec_view v;
    exec_enter(x, &v, false);
    plan *p = dynamic_plan(x, s);
    run_plan(x, p, &r);
    exec_leave(x, &v);
    cut_rows(x, p, &r);
    x->regs.pl->row_count = (int64_t)r.count;
    if (s->has_into) {
        one_row(x, p, s, &r, false);
        x->regs.pl->row_count = r.n ? 1 : 0;
    }
    return FLOW_ON;
}

static flow run_call(sql_exec *x, const pl_stmt *s)
{
    sql_result r;
    plan *p = plan_of(x, s->e);
    const routine *f = p->call->routine;
    assert(p->kind == S_CALL && f->procedure);
    run_plan(x, p, &r);
    uint32_t at = 0;
    for (uint32_t i = 0; i < f->n_params; i++) {
        const expr *to = p->call->arg[i];
        if (f->params[i].mode == PARAM_IN) continue;
        if (to->kind != E_VAR)
            sql_raise(&x->c, "42601", "the argument of an output parameter is not writable");
        if (to->op) sql_refuse(&x->c, -1, "a field of a record as output of CALL");
        set_var(x, to->index, r.rows[0][at++], f->params[i].t);
    }
    return FLOW_ON;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *message_of(sql_exec *x, const pl_stmt *s)
{
    if (s->e3) {
        value v = eval_as(x, s->e3, type_plain(T_TEXT));
        return v.null ? "" : arena_text(&x->work, v.s, v.n);
    }
    if (!s->text) return NULL;
    strbuf b;
    strbuf_init(&b, x->work.mem);
    size_t at = 0;
    for (const char *t = s->text; *t; t++) {
        if (*t != '%') {
            strbuf_char(&b, *t);
        } else if (t[1] == '%') {
            strbuf_char(&b, *t++);
        } else {
            if (at >= s->args.n) sql_refuse(&x->c, -1, "RAISE with too few arguments");
            type from;
            value v = eval_code(x, s->args.at[at++], &from);
            if (v.null)
                strbuf_str(&b, "<NULL>");
            else
                value_write(&x->c, from.id, v, &b);
        }
    }
    if (at < s->args.n) sql_refuse(&x->c, -1, "RAISE with too many arguments");
    const char *text = arena_text(&x->work, b.at, b.n);
    strbuf_free(&b);
    return text;
}

static flow run_raise(sql_exec *x, const pl_stmt *s)
{
    pl_frame *f = x->regs.pl;
    bool plain = !s->text && !s->state && !s->e2 && !s->e3;
    if (plain) { /* again what is being handled */
        if (!f->state) sql_raise(&x->c, "0Z002", "RAISE without parameters, outside a handler");
        x->c.exact = f->exact;
        sql_raise(&x->c, f->state, "%s", f->message);
    }
    const char *text = message_of(x, s), *state = s->state ? s->state : "P0001";
    if (s->e2) {
        value v = eval_as(x, s->e2, type_plain(T_TEXT));
        if (v.null) sql_raise(&x->c, "22004", "RAISE statement option cannot be null");
        const char *code = arena_text(&x->work, v.s, v.n);
        const char *named = pl_condition(code, 0);
        if (!named && v.n != 5) sql_refuse(&x->c, -1, "this ERRCODE");
        state = named ? named : code;
    }
    if (!s->error) return FLOW_ON;
    x->c.exact = text != NULL;
    sql_raise(&x->c, state, "%s", text ? text : s->state);
}

static flow run_assert(sql_exec *x, const pl_stmt *s)
{
    if (!eval_cond(x, s->e)) sql_raise(&x->c, "P0004", "assertion failed");
    return FLOW_ON;
}

static flow run_diagnostics(sql_exec *x, const pl_stmt *s)
{
    pl_frame *f = x->regs.pl;
    if (s->strict && !f->state)
        sql_raise(&x->c, "0Z002", "GET STACKED DIAGNOSTICS outside an exception handler");
    for (size_t i = 0; i < s->into.n; i++) {
        const char *item = s->items.at[i];
        if (!strcmp(item, "row_count")) {
            set_target(x, &s->into.at[i], value_int(f->row_count), type_plain(T_INT8));
            continue;
        }
        bool state = !strcmp(item, "returned_sqlstate");
        if (!state && !f->exact) sql_refuse(&x->c, -1, "the text of an error message");
        const char *t = state ? f->state : f->message;
        set_target(x, &s->into.at[i], value_text(t, strlen(t)), type_plain(T_TEXT));
    }
    return FLOW_ON;
}

/* ---- cursors --------------------------------------------------------------------------------- */

static value value_held(sql_exec *x, type_id t, value v)
{
    if (v.null || v.open) return v;
    if (type_is_bytes(t)) return value_text(arena_text(&x->held, v.s, v.n), v.n);
    if (t != T_NUMERIC) return v;
    void *copy = arena_get(&x->held, num_bytes(v.d));
    memcpy(copy, v.d, num_bytes(v.d));
    return value_num(copy);
}

sql_portal *exec_portal(sql_exec *x, const char *name)
{
    for (size_t i = 0; i < x->portals.n; i++)
        if (!strcmp(x->portals.at[i].name, name)) return &x->portals.at[i];
    return NULL;
}

sql_portal *exec_open(sql_exec *x, const char *name, const sql_result *r)
{
    assert(r->has_rows && !r->has_limit && !r->offset); /* LIMIT was applied before */
    if (exec_portal(x, name)) sql_raise(&x->c, "42P03", "cursor \"%s\" already in use", name);
    sql_portal p = {.name = arena_text(&x->held, name, strlen(name)), .at = 0};
    p.r = *r;
    p.r.names = arena_array(&x->held, const char *, r->n_cols + 1);
    p.r.types = arena_array(&x->held, type_id, r->n_cols + 1);
    p.r.rows = arena_array(&x->held, const value *, r->n + 1);
    p.r.tie = r->tie ? arena_array(&x->held, uint32_t, r->n + 1) : NULL;
    p.settled = 0;
    for (uint32_t c = 0; c < r->n_cols; c++) {
        p.r.names[c] = arena_text(&x->held, r->names[c], strlen(r->names[c]));
        p.r.types[c] = r->types[c];
    }
    for (uint32_t i = 0; i < r->n; i++) {
        value *row = arena_array(&x->held, value, r->n_cols + 1);
        for (uint32_t c = 0; c < r->n_cols; c++) row[c] = value_held(x, r->types[c], r->rows[i][c]);
        p.r.rows[i] = row;
        if (r->tie) p.r.tie[i] = r->tie[i];
    }
    vec_push(x->s->mem, &x->portals, p);
    return &x->portals.at[x->portals.n - 1];
}

uint64_t exec_hidden(const sql_exec *x)
{
    uint64_t h = x->clock.reading;
    if (h && h <= x->s->readings.n) {
        const reading *r = &x->s->readings.at[h - 1];
        h = hash_pair(hash_pair(h, r->same), hash_pair((uint64_t)r->lo, (uint64_t)r->hi));
    }
    for (size_t i = 0; i < x->portals.n; i++) {
        const sql_portal *p = &x->portals.at[i];
        h = hash_pair(h, hash_pair((uint64_t)p->at, p->r.n));
        for (uint32_t r = 0; r < p->r.n; r++)
            for (uint32_t c = 0; c < p->r.n_cols; c++)
                h = hash_pair(h, value_hash(p->r.types[c], p->r.rows[r][c]));
    }
    return h;
}

/* Moves to place `to` (0: before the first row, n + 1: after the last); the row there, or NULL. */
const value *exec_fetch(sql_exec *x, sql_portal *p, int64_t to)
{
    assert(p->settled >= 0 && p->settled <= (int64_t)p->r.n);
    int64_t n = p->r.n;
    if (to < 0) to = 0;
    if (to > n + 1) to = n + 1;
    p->at = to;
    for (; p->settled < to && p->settled < n; p->settled++)
        settle_row(x, &p->r, (uint32_t)p->settled);
    return to >= 1 && to <= n ? p->r.rows[to - 1] : NULL;
}

static int64_t place_of(const sql_portal *p, pl_move move, int64_t count)
{
    switch (move) {
    case MOVE_RELATIVE: return p->at + count;
    case MOVE_PRIOR: return p->at - count;
    case MOVE_ABSOLUTE: return count < 0 ? (int64_t)p->r.n + 1 + count : count;
    case MOVE_FIRST: return 1;
    default: return (int64_t)p->r.n;
    }
}

static void cursor_args(sql_exec *x, const pl_stmt *s, uint32_t var)
{
    const pl_var *c = &x->regs.pl->body->vars.at[var];
    if (s->args.n != c->n_args)
        sql_refuse(&x->c, -1, "a cursor with other arguments than declared");
    value *v = arena_array(&x->work, value, c->n_args + 1);
    for (uint32_t i = 0; i < c->n_args; i++)
        v[i] = eval_as(x, s->args.at[i], x->regs.pl->types[c->args + i]);
    for (uint32_t i = 0; i < c->n_args; i++) x->regs.pl->vars[c->args + i] = v[i];
}

/* The name of a cursor that has none is made up, and never that of another. */
static const char *cursor_name(sql_exec *x, uint32_t var)
{
    pl_frame *f = x->regs.pl;
    if (!f->vars[var].null) return f->vars[var].s;
    const pl_var *c = &f->body->vars.at[var];
    char name[40];
    strbuf b;
    strbuf_init(&b, x->work.mem);
    strbuf_printf(&b, "<unnamed portal %u>", (unsigned)++x->unnamed);
    size_t n = b.n < sizeof name ? b.n : sizeof name - 1;
    memcpy(name, b.at, n);
    name[n] = 0;
    strbuf_free(&b);
    const char *given = c->init ? c->name : arena_text(&x->held, name, n);
    f->vars[var] = value_text(given, strlen(given));
    return given;
}

static flow run_open(sql_exec *x, const pl_stmt *s)
{
    const pl_var *c = &x->regs.pl->body->vars.at[s->var];
    sql_result r;
    if (!x->regs.pl->vars[s->var].null && exec_portal(x, x->regs.pl->vars[s->var].s))
        sql_raise(&x->c, "42P03", "cursor \"%s\" already in use", c->name);
    if (c->init) cursor_args(x, s, s->var);
    if (!c->init && !s->e) sql_raise(&x->c, "42601", "OPEN without a query");
    open_rows(x, c->init ? c->init : s->e, &r);
    exec_open(x, cursor_name(x, s->var), &r);
    return FLOW_ON;
}

static sql_portal *opened(sql_exec *x, uint32_t var)
{
    pl_frame *f = x->regs.pl;
    if (f->vars[var].null)
        sql_raise(&x->c, "22004", "cursor variable \"%s\" is null", f->body->vars.at[var].name);
    sql_portal *p = exec_portal(x, f->vars[var].s);
    if (!p) sql_raise(&x->c, "34000", "cursor \"%s\" does not exist", f->vars[var].s);
    return p;
}

static flow run_fetch(sql_exec *x, const pl_stmt *s)
{
    sql_portal *p = opened(x, s->var);
    int64_t count = 1;
    if (s->e) {
        value v = eval_as(x, s->e, type_plain(T_INT4));
        if (v.null) sql_raise(&x->c, "22004", "relative or absolute cursor position is null");
        count = v.i;
    }
    if (s->move != MOVE_RELATIVE || count != 1) x->planner_chose = true;
    const value *row = exec_fetch(x, p, place_of(p, s->move, count));
    if (!s->move_only) set_row(x, s, &p->r, row);
    x->regs.pl->row_count = row ? 1 : 0;
    set_found(x, row != NULL);
    return FLOW_ON;
}

void exec_close(sql_exec *x, const sql_portal *p)
{
    size_t i = (size_t)(p - x->portals.at);
    assert(i < x->portals.n);
    memmove(&x->portals.at[i], &x->portals.at[i + 1],
            (x->portals.n - i - 1) * sizeof x->portals.at[0]);
    x->portals.n--;
}

static flow run_close(sql_exec *x, const pl_stmt *s)
{
    exec_close(x, opened(x, s->var));
    return FLOW_ON;
}

/* The cursor is open while the loop runs. */
static flow run_for_cursor(sql_exec *x, const pl_stmt *s)
{
    const pl_var *c = &x->regs.pl->body->vars.at[s->first];
    sql_result r;
    bool unnamed = x->regs.pl->vars[s->first].null;
    if (!unnamed && exec_portal(x, x->regs.pl->vars[s->first].s))
        sql_raise(&x->c, "42P03", "cursor \"%s\" already in use", c->name);
    cursor_args(x, s, s->first);
    open_rows(x, c->init, &r);
    const char *name = cursor_name(x, s->first);
    exec_open(x, name, &r);
    flow f = loop_rows(x, s, &r);
    sql_portal *p = exec_portal(x, name);
    if (p) exec_close(x, p);
    if (unnamed) x->regs.pl->vars[s->first] = value_null();
    return f;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool catches(const pl_handler *h, const char *state)
{
    assert(h->states.n && strlen(state) == 5);
    for (size_t i = 0; i < h->states.n; i++) {
        const char *s = h->states.at[i];
        if (!s && strcmp(state, "57014") != 0 && strcmp(state, "P0004") != 0) return true;
        if (!s) continue;
        if (!strcmp(s, state)) return true;
        if (!strcmp(s + 2, "000") && !strncmp(s, state, 2)) return true;
    }
    return false;
}

static const pl_handler *handler_of(const pl_stmt *b, const char *state)
{
    for (size_t i = 0; i < b->handlers.n; i++)
        if (catches(&b->handlers.at[i], state)) return &b->handlers.at[i];
    return NULL;
}

static void init_vars(sql_exec *x, const pl_stmt *b)
{
    assert(b->kind == PL_BLOCK && b->first + b->n_vars <= x->regs.pl->body->vars.n);
    pl_frame *f = x->regs.pl;
    for (uint32_t i = b->first; i < b->first + b->n_vars; i++) {
        const pl_var *v = &f->body->vars.at[i];
        f->vars[i] = value_null();
        if (v->kind == PL_RECORD) f->recs[i] = (pl_record){NULL, NULL};
        if (v->kind == PL_ROW)
            for (uint32_t k = 0; k < f->recs[i].shape->n; k++) f->recs[i].v[k] = value_null();
        if (v->kind == PL_CURSOR && v->init) f->vars[i] = value_text(v->name, strlen(v->name));
        if (v->kind != PL_SCALAR && v->kind != PL_CURSOR && v->init)
            sql_refuse(&x->c, -1, "a record with a default");
        if (v->kind != PL_SCALAR) continue;
        if (v->init) {
            type t;
            value r = eval_code(x, v->init, &t);
            set_var(x, i, r, t);
        } else if (v->not_null) {
            sql_raise(&x->c, "22004", "variable \"%s\" must have a default value", v->name);
        }
    }
}

static flow end_block(pl_frame *f, const pl_stmt *b, flow r)
{
    if (r == FLOW_EXIT && f->label && b->label && !strcmp(f->label, b->label)) {
        f->label = NULL;
        return FLOW_ON;
    }
    return r;
}

/* The block failed and one of its handlers takes it. */
static flow handle(sql_exec *x, const pl_stmt *b, const pl_handler *h, bool exact)
{
    pl_frame *f = x->regs.pl;
    const char *state = f->state, *message = f->message;
    bool was = f->exact;
    f->state = arena_text(&x->work, x->c.state, 5);
    x->regs.planner_may_raise = false;
    f->message = arena_text(&x->work, x->c.guard->text, strlen(x->c.guard->text));
    f->exact = exact;
    f->vars[b->sqlstate] = value_text(f->state, 5);
    f->vars[b->sqlerrm] = value_text(f->message, strlen(f->message));
    f->secret[b->sqlerrm] = !exact;
    flow r = run_list(x, &h->body);
    f->state = state;
    f->message = message;
    f->exact = was;
    return r;
}

static flow run_block(sql_exec *x, const pl_stmt *b)
{
    if (!b->handlers.n) {
        init_vars(x, b);
        return end_block(x->regs.pl, b, run_list(x, &b->body));
    }
    guard *g = x->c.guard, outer;
    exec_view v;
    size_t mark = vs_mark(x->s), portals = x->portals.n, savepoints = x->savepoints.n;
    init_vars(x, b);
    exec_enter(x, &v, false);
    if (handler_of(b, "40P01")) x->regs.caught++;
    /* a block that catches them is a savepoint: whether it came to them depends on what others had
       committed, or not yet taken back, at that moment; its locks and keys are given back */
    if (handler_of(b, "23505") || handler_of(b, "23503") || handler_of(b, "40001") ||
        handler_of(b, "55P03"))
        x->regs.moments++;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        int code = g->code;
        bool exact = x->c.exact;
        guard_restore(g, &outer);
        g->code = code;
        const pl_handler *h = code == SQL_RAISED ? handler_of(b, x->c.state) : NULL;
        if (!h) guard_fail_again(g);
        x->c.exact = false;
        if (x->regs.planner_may_raise && x->c.state[0] == '2' && x->c.state[1] == '2')
            sql_refuse(&x->c, -1, "an error that is caught, and depends on the planner (%s)",
                       x->c.state);
        vs_rollback(x->s, mark);
        x->portals.n = portals < x->portals.n ? portals : x->portals.n;
        x->savepoints.n = savepoints;
        exec_leave(x, &v);
        x->regs.pl->label = NULL;
        return end_block(x->regs.pl, b, handle(x, b, h, exact));
    }
    flow r = run_list(x, &b->body);
    guard_restore(g, &outer);
    x->regs.caught = v.regs.caught;
    x->regs.moments = v.regs.moments;
    assert(x->savepoints.n == savepoints); /* no body sets any */
    return end_block(x->regs.pl, b, r);
}

static flow run_null(sql_exec *x, const pl_stmt *s)
{
    (void)x;
    (void)s;
    return FLOW_ON;
}

static flow (*const runs[])(sql_exec *, const pl_stmt *) = {
    [PL_BLOCK] = run_block,
    [PL_ASSIGN] = run_assign,
    [PL_IF] = run_if,
    [PL_CASE] = run_case,
    [PL_LOOP] = run_loop,
    [PL_WHILE] = run_loop,
    [PL_FOR_INT] = run_for_int,
    [PL_FOR_QUERY] = run_for_query,
    [PL_FOR_CURSOR] = run_for_cursor,
    [PL_EXIT] = run_exit,
    [PL_CONTINUE] = run_exit,
    [PL_RETURN] = run_return,
    [PL_RETURN_NEXT] = run_return,
    [PL_RETURN_QUERY] = run_return_query,
    [PL_SQL] = run_sql,
    [PL_PERFORM] = run_perform,
    [PL_EXECUTE] = run_execute,
    [PL_CALL] = run_call,
    [PL_OPEN] = run_open,
    [PL_FETCH] = run_fetch,
    [PL_CLOSE] = run_close,
    [PL_RAISE] = run_raise,
    [PL_ASSERT] = run_assert,
    [PL_DIAGNOSTICS] = run_diagnostics,
    [PL_NULL] = run_null,
};

static flow run_list(sql_exec *x, const pl_list *l)
{
    for (size_t i = 0; i < l->at.n; i++) {
        const pl_stmt *s = l->at.at[i];
        step(x, s->line);
        flow f = runs[s->kind](x, s);
        assert(f == FLOW_EXIT || f == FLOW_CONTINUE || !x->regs.pl->label);
        if (f != FLOW_ON) return f;
    }
    return FLOW_ON;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const table *table_of(sql_exec *x, const char *name)
{
    const table *t = vs_find(x->s, name, x->latest);
    if (!t) sql_raise(&x->c, "42P01", "relation \"%s\" does not exist", name);
    return t;
}

const pl_shape *pl_shape_of_rows(sql_exec *x, const table *t)
{
    pl_shape *s = arena_get(&x->work, sizeof *s);
    s->n = 0;
    s->names = arena_array(&x->work, const char *, t->n_cols + 1);
    s->types = arena_array(&x->work, type, t->n_cols + 1);
    for (uint32_t i = 0; i < t->n_cols; i++) {
        if (column_hidden(&t->cols[i])) continue;
        s->names[s->n] = t->cols[i].name;
        s->types[s->n++] = t->cols[i].t;
    }
    return s;
}

/* t.a%TYPE, v%TYPE, t%ROWTYPE, t, or what SQL calls a type. */
static void declare_type(sql_exec *x, pl_frame *f, uint32_t var)
{
    const pl_var *v = &f->body->vars.at[var];
    const char *text = v->type_text, *percent = text ? strchr(text, '%') : NULL;
    char name[200];
    if (!text || v->kind == PL_RECORD || v->kind == PL_CURSOR) {
        f->types[var] = v->t;
        return;
    }
    size_t n = percent ? (size_t)(percent - text) : strlen(text);
    while (n && text[n - 1] == ' ') n--;
    if (n >= sizeof name) sql_refuse(&x->c, -1, "a type of %zu bytes", n);
    for (size_t i = 0; i < n; i++)
        name[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    name[n] = 0;
    const table *t = NULL;
    if (v->kind == PL_ROW) {
        t = table_of(x, name);
    } else if (percent) {
        char *dot = strchr(name, '.');
        int other = dot ? -1 : pl_find(v->scope, NULL, name);
        if (other >= 0 && f->body->vars.at[other].kind == PL_SCALAR) {
            f->types[var] = f->types[other];
            return;
        }
        if (!dot || strchr(dot + 1, '.')) sql_refuse(&x->c, -1, "type %s", text);
        *dot = 0;
        t = table_of(x, name);
        for (uint32_t i = 0; i < t->n_cols; i++)
            if (!strcmp(t->cols[i].name, dot + 1)) {
                f->types[var] = t->cols[i].t;
                return;
            }
        sql_raise(&x->c, "42703", "column \"%s\" does not exist", dot + 1);
    } else if (vs_find(x->s, name, x->latest)) {
        sql_refuse(&x->c, -1, "a table as a type (write %s%%ROWTYPE)", name);
    } else {
        strbuf b;
        strbuf_init(&b, x->work.mem);
        strbuf_printf(&b, "SELECT NULL::%s", text);
        const char *sql = arena_text(&x->work, b.at, b.n);
        size_t len = b.n;
        strbuf_free(&b);
        plan *p = bind_text(x, &x->work, NULL, sql, len, NULL, 0);
        f->types[var] = p->q->out[0].e->t;
        return;
    }
    f->recs[var] = (pl_record){pl_shape_of_rows(x, t), arena_array(&x->work, value, t->n_cols + 1)};
    for (uint32_t i = 0; i < t->n_cols; i++) f->recs[var].v[i] = value_null();
}

static void begin_body(sql_exec *x, pl_frame *f, const pl_body *body, const routine *r,
                       exec_view *v)
{
    exec_enter(x, v, false);
    if (++x->regs.calls > MAX_CALLS)
        sql_refuse(&x->c, -1, "calls nested more than %d deep", MAX_CALLS);
    memset(f, 0, sizeof *f);
    f->body = body;
    f->r = r;
    f->fixed = r && r->fixed;
    f->out = r ? r->rows : NULL;
    f->result = value_null();
    size_t n = body->vars.n;
    f->vars = arena_array(&x->work, value, n + 1);
    f->types = arena_array(&x->work, type, n + 1);
    f->recs = arena_array(&x->work, pl_record, n + 1);
    memset(f->recs, 0, (n + 1) * sizeof *f->recs);
    f->secret = arena_array(&x->work, bool, n + 1);
    memset(f->secret, 0, n + 1);
    for (size_t i = 0; i < n; i++) f->vars[i] = value_null();
    x->c.place.routine = body->name;
    x->c.place.line = 1;
    x->regs.pl = f;
    for (uint32_t i = 0; i < n; i++) declare_type(x, f, i);
    assert(!body->block || body->found < n);
    if (body->block) f->vars[body->found] = value_bool(false);
}

/* LANGUAGE sql: the rows of the last statement. */
static void run_sql_body(sql_exec *x, pl_frame *f, sql_result *out)
{
    assert(!f->body->block && f->r && f->r->sql);
    memset(out, 0, sizeof *out);
    const pl_list *l = &f->body->statements;
    for (size_t i = 0; i < l->at.n; i++) {
        step(x, l->at.at[i]->line);
        plan *p = plan_of(x, l->at.at[i]->e);
        run_plan(x, p, out);
        cut_rows(x, p, out);
    }
}

/* The rows of the last statement, as what the function returns. */
static void run_sql_function(sql_exec *x, pl_frame *f, const routine *r)
{
    sql_result last;
    run_sql_body(x, f, &last);
    if (r->returns == RETURN_NONE && !r->procedure) return;
    if (r->procedure) {
        for (uint32_t i = 0; i < r->n_params; i++)
            if (r->params[i].mode != PARAM_IN)
                sql_refuse(&x->c, -1, "OUT parameters of LANGUAGE sql");
        return;
    }
    uint32_t want = r->returns == RETURN_ROW ? r->rows->n : 1;
    if (!last.has_rows || last.n_cols != want)
        sql_refuse(&x->c, -1, "a body that returns something else");
    if (!r->set && last.n > 1) settle_row(x, &last, 0);
    uint32_t n = r->set ? last.n : last.n ? 1 : 0;
    if (r->set && last.tie) sql_refuse(&x->c, -1, "ORDER BY in a function that returns a set");
    for (uint32_t i = 0; i < n; i++) {
        value *row = arena_array(&x->work, value, want);
        for (uint32_t k = 0; k < want; k++) {
            type to = r->rows ? r->rows->types[k] : r->t;
            if (!cast_exists(last.types[k], to.id, CAST_ASSIGN))
                sql_refuse(&x->c, -1, "a body that returns another type");
            row[k] = value_cast(&x->c, last.rows[i][k], type_plain(last.types[k]), to, CAST_ASSIGN);
        }
        const value *kept = row;
        if (!i) f->result = row[0];
        arena_push(&x->work, &f->rows, kept);
    }
}

static void run_body(sql_exec *x, pl_frame *f, const routine *r, const value *args)
{
    assert(x->regs.pl == f && f->r == r && r->sql == !f->body->block);
    for (uint32_t i = 0; i < r->n_params; i++)
        if (r->params[i].mode == PARAM_IN || r->params[i].mode == PARAM_INOUT) f->vars[i] = args[i];
    if (!r->sql) {
        flow w = run_block(x, f->body->block);
        if (w == FLOW_EXIT || w == FLOW_CONTINUE) sql_refuse(&x->c, -1, "EXIT outside of a loop");
        bool outs = r->n_params > r->n_in || (r->procedure && r->n_params);
        if (!f->returned && !r->procedure && r->returns != RETURN_NONE && !r->set && !outs)
            sql_raise(&x->c, "2F005", "control reached end of function without RETURN");
        return;
    }
    run_sql_function(x, f, r);
}

value pl_call(sql_exec *x, const routine *r, const value *args, value *out)
{
    pl_frame f;
    exec_view v;
    for (uint32_t i = 0; r->strict && i < r->n_params; i++)
        if (r->params[i].mode != PARAM_OUT && r->params[i].mode != PARAM_TABLE && args[i].null)
            return value_null();
    begin_body(x, &f, r->body, r, &v);
    run_body(x, &f, r, args);
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_params; i++) {
        if (r->params[i].mode == PARAM_IN) continue;
        if (!n && !r->procedure && !r->sql) f.result = f.vars[i];
        if (out) out[n] = f.vars[i];
        n++;
    }
    exec_leave(x, &v);
    /* void: nothing of PL/pgSQL, null of SQL */
    if (!r->procedure && r->returns == RETURN_NONE)
        return r->sql ? value_null() : value_text("", 0);
    return f.result;
}

void pl_call_rows(sql_exec *x, const routine *r, const value *args, sql_result *out)
{
    pl_frame f;
    exec_view v;
    memset(out, 0, sizeof *out);
    bool null = false;
    for (uint32_t i = 0; r->strict && i < r->n_params; i++)
        null |= r->params[i].mode != PARAM_OUT && r->params[i].mode != PARAM_TABLE && args[i].null;
    out->n_cols = r->rows ? r->rows->n : 1;
    begin_body(x, &f, r->body, r, &v);
    if (!null) run_body(x, &f, r, args);
    if (!r->set && !null && !r->sql && r->n_params > r->n_in) { /* OUT parameters: one row */
        f.rows.n = 0;
        const value *row = outputs(x);
        arena_push(&x->work, &f.rows, row);
    } else if (!r->set && (null || r->returns != RETURN_ROW)) {
        value *one = arena_array(&x->work, value, out->n_cols + 1);
        for (uint32_t i = 0; i < out->n_cols; i++) one[i] = value_null();
        if (!null && r->returns == RETURN_NONE)
            one[0] = r->sql ? value_null() : value_text("", 0);
        else if (!null)
            one[0] = f.result;
        f.rows.n = 0;
        const value *kept = one;
        arena_push(&x->work, &f.rows, kept);
    }
    exec_leave(x, &v);
    out->has_rows = true;
    out->n = (uint32_t)f.rows.n;
    out->rows = f.rows.at;
    out->count = out->n;
}

void pl_do(sql_exec *x, const pl_body *b)
{
    assert(b->block);
    pl_frame f;
    exec_view v;
    begin_body(x, &f, b, NULL, &v);
    flow w = run_block(x, b->block);
    if (w == FLOW_EXIT || w == FLOW_CONTINUE) sql_refuse(&x->c, -1, "EXIT outside of a loop");
    exec_leave(x, &v);
}

pl_record pl_trigger(sql_exec *x, const routine *r, const pl_body *body, const pl_record *rows,
                     const trigger_call *call)
{
    assert(body->block && r->returns == RETURN_TRIGGER && body->vars.n > 9);
    pl_frame f;
    exec_view v;
    const char *texts[] = {call->event == TRIGGER_INSERT   ? "INSERT"
                           : call->event == TRIGGER_DELETE ? "DELETE"
                           : call->event == TRIGGER_UPDATE ? "UPDATE"
                                                           : "TRUNCATE",
                           call->name,
                           call->table,
                           call->table,
                           call->before ? "BEFORE" : "AFTER",
                           call->statement ? "STATEMENT" : "ROW",
                           "public"};
    begin_body(x, &f, body, r, &v);
    x->regs.several_rows |= call->several;
    x->regs.many = 0;
    f.recs[0] = rows[0];
    f.recs[1] = rows[1];
    for (uint32_t i = 0; i < 7; i++) f.vars[2 + i] = value_text(texts[i], strlen(texts[i]));
    flow w = run_block(x, body->block);
    if (w == FLOW_EXIT || w == FLOW_CONTINUE) sql_refuse(&x->c, -1, "EXIT outside of a loop");
    if (!f.returned)
        sql_raise(&x->c, "2F005", "control reached end of trigger procedure without RETURN");
    pl_record out = f.row;
    exec_leave(x, &v);
    return out;
}

/* What the SQL of bodies was bound to is forgotten now and then; nothing of it is in use here. */
void pl_flush(store *s)
{
    if (s->bound < MAX_BOUND) return;
    s->bound = 0;
    s->epoch++;
    arena_free(&s->bodies);
}
