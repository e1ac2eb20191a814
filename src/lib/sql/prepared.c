/*
 * prepared.c - prepared statements and the cursors of a transaction.
 *
 * A prepared statement belongs to its session and outlives transactions, also those that are rolled
 * back.  Transactions that the log shows as aborted are not run, so if one of these prepared or
 * deallocated something we do not know what a name stands for, and say so.
 */
#include <assert.h>

#include "sql/bind.h"
#include "sql/pl.h"

static prepared *find(sql_exec *x, const char *name)
{
    for (size_t i = x->s->prepared.n; i-- > 0;) {
        prepared *p = &x->s->prepared.at[i];
        if (p->session == x->session && p->gone == NEVER && !strcmp(p->name, name)) return p;
    }
    return NULL;
}

static void sure(sql_exec *x)
{
    if (x->lost_prepares)
        sql_refuse(&x->c, -1, "prepared statements, beside PREPARE in transactions that failed");
}

static void prepare(sql_exec *x, const plan *p)
{
    assert(p->text && p->names[0]);
    sure(x);
    if (find(x, p->names[0]))
        sql_raise(&x->c, "42P05", "prepared statement \"%s\" already exists", p->names[0]);
    prepared e = {.session = x->session,
                  .name = p->names[0],
                  .text = p->text,
                  .n = p->n_args,
                  .types = arena_array(&x->s->names, type, p->n_args + 1),
                  .made = PENDING,
                  .gone = NEVER};
    for (uint32_t i = 0; i < p->n_args; i++) e.types[i] = p->args[i]->t;
    vec_push(x->s->mem, &x->s->prepared, e);
}

static value argument(sql_exec *x, const expr *e, type to)
{
    frame none = {NULL, NULL, NULL};
    value v = eval(x, e, &none);
    if (v.null) return v;
    if (e->t.id == T_UNKNOWN) return value_parse(&x->c, to, v.s, v.n);
    if (!cast_exists(e->t.id, to.id, CAST_ASSIGN))
        sql_raise(&x->c, "42804", "a parameter of type %s cannot be coerced to %s",
                  type_name(e->t.id), type_name(to.id));
    return value_cast(&x->c, v, e->t, to, CAST_ASSIGN);
}

static void execute(sql_exec *x, const plan *p, sql_result *out)
{
    sure(x);
    prepared *e = find(x, p->names[0]);
    if (!e)
        sql_refuse(&x->c, -1, "prepared statement %s, which the log does not show", p->names[0]);
    if (p->n_args != e->n)
        sql_raise(&x->c, "42601", "wrong number of parameters for prepared statement");
    store *s = x->s;
    if (!e->p || e->epoch != s->epoch || e->p->catalog != s->catalog) {
        e->p = NULL;
        s->bound++;
        e->p = bind_text(x, &s->bodies, NULL, e->text, strlen(e->text), e->types, e->n);
        e->epoch = s->epoch;
    }
    value *v = arena_array(&x->work, value, e->n + 1);
    for (uint32_t i = 0; i < e->n; i++) v[i] = argument(x, p->args[i], e->types[i]);
    x->regs.params = v;
    assert(e->p->n_params == e->n);
    x->regs.n_params = e->n;
    if (e->p->planner_chooses) x->planner_chose = true;
    exec_inner(x, e->p, out);
}

static void deallocate(sql_exec *x, const plan *p)
{
    assert(p->names && p->names[0]);
    sure(x);
    bool all = !*p->names[0];
    prepared *e = all ? NULL : find(x, p->names[0]);
    if (!all && !e)
        sql_refuse(&x->c, -1, "prepared statement %s, which the log does not show", p->names[0]);
    if (e) e->gone = PENDING;
    for (size_t i = 0; all && i < x->s->prepared.n; i++) {
        prepared *o = &x->s->prepared.at[i];
        if (o->session == x->session && o->gone == NEVER) o->gone = PENDING;
    }
}

/* PostgreSQL makes the rows as they are fetched: an error in one may come later, or never. */
static void declare(sql_exec *x, const plan *p)
{
    guard *g = x->c.guard, outer;
    sql_result r;
    if (exec_portal(x, p->names[0]))
        sql_raise(&x->c, "42P03", "cursor \"%s\" already exists", p->names[0]);
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        bool data = g->code == SQL_RAISED && x->c.state[0] == '2';
        guard_restore(g, &outer);
        if (data) sql_refuse(&x->c, -1, "a cursor whose query fails with %s", x->c.state);
        guard_fail_again(g);
    }
    exec_query(x, p->q, NULL, &r);
    guard_restore(g, &outer);
    exec_cut(x, p->q, &r);
    exec_open(x, p->names[0], &r);
}

typedef VEC(const value *) fetched;

static void steps(sql_exec *x, sql_portal *c, int64_t count, int64_t by, fetched *out)
{
    assert(by == 1 || by == -1);
    assert(c->at >= 0 && c->at <= (int64_t)c->r.n + 1);
    if (!count && c->at >= 1 && c->at <= (int64_t)c->r.n) /* the row it stands on, again */
        arena_push(&x->work, out, c->r.rows[c->at - 1]);
    for (; count > 0; count--) {
        guard_tick(x->c.guard);
        const value *row = exec_fetch(x, c, c->at + by);
        if (!row) break;
        arena_push(&x->work, out, row);
    }
}

/* FETCH and MOVE; the rows come in this order. */
static void fetch(sql_exec *x, const plan *p, sql_result *out)
{
    sql_portal *c = exec_portal(x, p->names[0]);
    if (!c) sql_raise(&x->c, "34000", "cursor \"%s\" does not exist", p->names[0]);
    int64_t count = p->how_many, by = p->direction == FETCH_BACKWARD ? -1 : 1;
    fetched rows = {0};
    if (p->direction == FETCH_FORWARD || p->direction == FETCH_BACKWARD) {
        if (count < 0) by = -by, count = count == INT64_MIN ? INT64_MAX : -count;
        steps(x, c, count, by, &rows);
    } else {
        int64_t to = p->direction == FETCH_RELATIVE ? c->at + count : count;
        if (p->direction == FETCH_ABSOLUTE && count < 0) to = (int64_t)c->r.n + 1 + count;
        const value *row = exec_fetch(x, c, to);
        if (row) arena_push(&x->work, &rows, row);
    }
    out->count = rows.n;
    if (p->move_only) return;
    out->has_rows = true;
    out->n = (uint32_t)rows.n;
    out->rows = rows.at;
    out->n_cols = c->r.n_cols;
    out->names = c->r.names;
    out->types = c->r.types;
    out->tie = arena_array(&x->work, uint32_t, out->n + 1);
    for (uint32_t i = 0; i < out->n; i++) out->tie[i] = i;
}

static void close_cursor(sql_exec *x, const plan *p)
{
    if (!*p->names[0]) {
        x->portals.n = 0;
        return;
    }
    sql_portal *c = exec_portal(x, p->names[0]);
    if (!c) sql_raise(&x->c, "34000", "cursor \"%s\" does not exist", p->names[0]);
    exec_close(x, c);
}

void exec_session(sql_exec *x, const plan *p, sql_result *out)
{
    if (x->regs.calls) sql_refuse(&x->c, -1, "this statement in a body");
    switch (p->kind) {
    case S_PREPARE: prepare(x, p); break;
    case S_EXECUTE: execute(x, p, out); break;
    case S_DEALLOCATE: deallocate(x, p); break;
    case S_DECLARE: declare(x, p); break;
    case S_FETCH: fetch(x, p, out); break;
    default: assert(p->kind == S_CLOSE); close_cursor(x, p);
    }
}
