/*
 * exec.c - running one statement, of the log or of a body.
 *
 * A statement of the log (exec_plan) starts with fresh registers; one inside of a body (exec_inner)
 * gets those of its caller.  Queries are in query.c, everything that writes in modify.c.  Foreign
 * keys are tested when the statement that wrote the rows ends, as PostgreSQL does.
 *
 * sql_unclear says where success and failure are both right, since the planner decides which rows
 * and conditions are evaluated first: there an audit must not say `violated`.
 */
#include <assert.h>

#include "sql/pl.h"
#include "sql/row_triggers.h"
#include "sql/sql.h"

/* A plan made for these values fails when it is made, another one when a row is met. */
static void try_early(sql_exec *x, const plan *p)
{
    assert(p->n_early && p->early);
    guard *g = x->c.guard, outer;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        bool raised = g->code == SQL_RAISED;
        guard_restore(g, &outer);
        if (!raised) guard_fail_again(g);
        sql_refuse(&x->c, -1, "an expression without columns that fails (%s)", x->c.state);
    }
    frame none = {NULL, NULL, NULL};
    for (uint32_t i = 0; i < p->n_early; i++) eval(x, p->early[i], &none);
    guard_restore(g, &outer);
}

/* All parts of a statement read the same snapshot, and none sees what another one writes. */
static void exec_writes(sql_exec *x, const plan *p)
{
    for (uint32_t i = 0; i < p->n_writes; i++) {
        const query *q = p->writes[i];
        kept_result kept = {.q = q};
        assert(q->writes && q->writes->n_returning == q->n_out);
        if (q->writes->target->unknown)
            sql_refuse(&x->c, -1, "table \"%s\", whose initial contents are unknown",
                       q->writes->target->name);
        exec_modify(x, q->writes, &kept.r);
        arena_push(&x->work, &x->kept, kept);
    }
}

static bool has_statement_trigger(const table *t)
{
    for (uint32_t i = 0; t && i < t->n_triggers; i++)
        if (t->triggers[i].statement) return true;
    return false;
}

/* The table whose triggers FOR EACH STATEMENT the statement fires, or NULL. */
static const table *statement_table(sql_exec *x, const plan *p)
{
    const table *t = p->target;
    for (uint32_t i = 0; i < p->n_writes; i++)
        if (has_statement_trigger(p->writes[i]->writes->target))
            sql_refuse(&x->c, -1, "WITH that writes a table with triggers FOR EACH STATEMENT");
    for (uint32_t i = 0; p->kind == S_TRUNCATE && i < p->n_names; i++) {
        t = vs_find(x->s, p->names[i], x->latest);
        if (has_statement_trigger(t) && (p->n_names > 1 || p->cascade))
            sql_refuse(&x->c, -1, "TRUNCATE of several tables with triggers");
    }
    if (!has_statement_trigger(t)) return NULL;
    if (p->kind == S_MERGE || p->n_writes)
        sql_refuse(&x->c, -1, "this statement on a table with triggers FOR EACH STATEMENT");
    bool writes = p->kind == S_INSERT || p->kind == S_UPDATE || p->kind == S_DELETE;
    return writes || p->kind == S_TRUNCATE ? t : NULL;
}

void exec_inner(sql_exec *x, const plan *p, sql_result *out)
{
    size_t kept_from = x->regs.kept_from, after = x->after.n, refers = x->refers.n,
           refers_from = x->regs.refers_from, rekeys = x->rekeys.n;
    assert(kept_from <= x->kept.n && refers_from <= refers);
    assert(p->n_params <= x->regs.n_params || x->regs.pl || !p->n_params);
    assert(p->catalog == x->s->catalog && "bound to the catalog that is there");
    x->regs.refers_from = refers;
    memset(out, 0, sizeof *out);
    x->regs.target = p->target;
    x->regs.kept_from = x->kept.n;
    if (p->target && p->target->unknown)
        sql_refuse(&x->c, -1, "table \"%s\", whose initial contents are unknown", p->target->name);
    if (p->n_early) try_early(x, p);
    const table *triggered = statement_table(x, p);
    if (triggered) triggers_of_statement(x, p, triggered, true);
    exec_writes(x, p);
    if (p->kind == S_SELECT || p->kind == S_WRITING_SELECT)
        exec_query(x, p->q, NULL, out);
    else
        exec_modify(x, p, out);
    x->validating = p->kind == S_ALTER;
    if (x->rekeys.n > rekeys) late_uniques_check(x, rekeys);
    if (x->refers.n > refers) refer_check(x);
    if (x->after.n > after) triggers_after(x, after, p->kind == S_INSERT && !p->q && !p->n_writes);
    if (triggered) triggers_of_statement(x, p, triggered, false);
    x->regs.refers_from = refers_from;
    assert(x->refers.n == refers && "every foreign key was tested");
    assert(x->regs.kept_from <= x->kept.n);
    exec_planned(x, p);
    x->kept.n = x->regs.kept_from;
    x->regs.kept_from = kept_from;
}

void exec_plan(sql_exec *x, const plan *p, sql_result *out)
{
    assert(x->regs.cid && x->regs.cid <= x->last_cid); /* 0 is no statement */
    assert(x->state <= x->latest);
    x->touched = 0;
    x->regs.depth = 0;
    x->regs.many = x->regs.calls = x->regs.caught = x->regs.moments = 0;
    x->moment_caught = false;
    memset(&x->kept, 0, sizeof x->kept); /* lost with the arena */
    x->pairs.n = x->made.n = 0;          /* left by what a run jumped out of */
    x->sole_target = false;
    memset(&x->refers, 0, sizeof x->refers);
    memset(&x->after, 0, sizeof x->after);
    memset(&x->rekeys, 0, sizeof x->rekeys);
    x->regs.several_rows = false;
    x->regs.refers_from = 0;
    x->regs.kept_from = 0;
    x->steps = 0;
    x->planner_chose = p->planner_chooses;
    x->any_version = false; /* left so by what a run jumped out of */
    x->regs.pl = NULL;
    x->c.place.routine = NULL;
    pl_flush(x->s);
    exec_inner(x, p, out);
    assert(!x->regs.depth && !x->regs.calls && !x->regs.pl);
}

void exec_planned(sql_exec *x, const plan *p)
{
    if (p->fails) sql_refuse(&x->c, -1, "a constant expression that fails");
}

/* A sequence may have given a key that is there already. */
static bool unseen_key(const table *t)
{
    for (uint32_t i = 0; t && i < t->n_unique; i++)
        for (uint32_t k = 0; k < t->unique[i].n; k++)
            if (t->cols[t->unique[i].cols[k]].holes) return true;
    return false;
}

/* A key that is tested when the statement ends, beside rows that others have locked until then: an
   error that is not explained is not held against the database. */
static bool late_key_of(const table *t)
{
    for (uint32_t i = 0; t && i < t->n_unique; i++)
        if (t->unique[i].deferrable) return true;
    return false;
}

/* Rows of a query come in any order: one may free a key that another one takes. */
static bool frees_keys(const plan *p)
{
    if (p->kind == S_MERGE) return true;
    return p->kind == S_INSERT && p->q && p->conflict == ON_CONFLICT_UPDATE &&
           p->target->n_unique > 1;
}

bool sql_unclear(const sql_exec *x, const plan *p, const char *state, const char *other)
{
    assert(state || other);
    /* SQL inside of a body is read when it runs, by PostgreSQL when the function is created */
    if (!state && !strcmp(other, "23505") && unseen_key(p->target)) return true;
    bool one = !state || !other;
    if (one && !strcmp(state ? state : other, "23505") && (frees_keys(p) || late_key_of(p->target)))
        return true;
    if (!state && !strcmp(other, "23514") && p->target && p->target->parts) return true;
    if (p->kind == S_ROUTINE && !state) return !strncmp(other, "42", 2);
    bool data = (state && !strncmp(state, "22", 2)) || (other && !strncmp(other, "22", 2));
    if (state && other) { /* one row: the order of tests is PostgreSQL's, and ours */
        bool one_row = p->kind == S_INSERT && p->n_rows == 1;
        bool both = (state[0] == '2' || !strcmp(state, "44000")) &&
                    (other[0] == '2' || !strcmp(other, "44000"));
        return both && !one_row;
    }
    return data && x->planner_chose;
}
