/*
 * row_triggers.c - triggers, BEFORE and AFTER, whose functions are in PL/pgSQL.
 *
 * BEFORE triggers run when their row's turn comes, in the order of their names; each may change the
 * row or leave it out.  AFTER triggers run when the statement ends, after the foreign keys were
 * tested, row by row.  A body runs as that of a function does (pl_run.c), with NEW and OLD as
 * records.  Which row comes first is the planner's choice: where a statement has several, bodies
 * that read or write tables are refused.  A trigger for each statement runs once, whether there are
 * rows or not, AFTER it when everything of its rows is done.
 */
#include <assert.h>

#include "sql/pl.h"
#include "sql/row_triggers.h"

static bool sets_one_of(const plan *p, const row_trigger *g)
{
    if (!g->n_columns) return true;
    for (uint32_t i = 0; i < p->n_set; i++)
        for (uint32_t k = 0; k < g->n_columns; k++)
            if (p->set[i].column == g->columns[k]) return true;
    return false;
}

static bool fires(sql_exec *x, const plan *p, const row_trigger *g, bool before, int event,
                  const value *old, const value *row)
{
    if (g->before != before || !(g->events & event) || g->statement || g->disabled) return false;
    if (event == TRIGGER_UPDATE && !sets_one_of(p, g)) return false;
    const value *slots[2] = {row, old};
    frame f = {slots, NULL, NULL};
    return !g->when || eval_true(x, g->when, &f);
}

/* NEW or OLD; what the event does not have (NULL) reads as nulls. */
static pl_record record_of(sql_exec *x, const table *t, const value *row)
{
    pl_record r = {NULL, NULL};
    uint32_t n = 0;
    assert(t->n_cols && t->cols);
    r.shape = pl_shape_of_rows(x, t);
    r.v = arena_array(&x->work, value, t->n_cols + 1);
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (!column_hidden(&t->cols[i])) r.v[n++] = row ? row[i] : value_null();
    return r;
}

/* RETURN of what the event does not have is RETURN NULL. */
static bool is_empty(const pl_record *out, const pl_record *in, const value *row)
{
    if (row || out->v != in->v) return false;
    for (uint32_t i = 0; i < in->shape->n; i++)
        if (!in->v[i].null) return false;
    return true;
}

static const char *bare_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Calls the function; false: it returned null. */
static bool run_trigger(sql_exec *x, const table *t, row_trigger *g, int event, const value *old,
                        value *row, bool several)
{
    const routine *r = vs_routine(x->s, g->function, x->latest, 0);
    assert(g->before || old || row || g->statement);
    if (!r || r->returns != RETURN_TRIGGER || !r->source)
        sql_refuse(&x->c, -1, "a trigger whose function is gone");
    if (g->parsed != r) {
        g->body = pl_parse_trigger(x, &x->s->names, r->name, r->source);
        g->parsed = r;
    }
    if (event == TRIGGER_INSERT) old = NULL;
    value *given = event == TRIGGER_DELETE ? NULL : row;
    pl_record in[2] = {record_of(x, t, given), record_of(x, t, old)};
    trigger_call call = {g->name, bare_name(t->name), g->before, g->statement, event, several};
    pl_record out = pl_trigger(x, r, g->body, in, &call);
    if (!out.shape || g->statement) return false;
    if (is_empty(&out, &in[0], given) || is_empty(&out, &in[1], old)) return false;
    if (!g->before || event == TRIGGER_DELETE) return true;
    if (out.shape->n != in[0].shape->n) sql_refuse(&x->c, -1, "a trigger that returns another row");
    for (uint32_t i = 0; i < out.shape->n; i++)
        if (out.shape->types[i].id != in[0].shape->types[i].id)
            sql_refuse(&x->c, -1, "a trigger that returns another row");
    for (uint32_t i = 0, n = 0; i < t->n_cols; i++) {
        if (column_hidden(&t->cols[i])) continue;
        row[i] = out.v[n++];
        exec_column_changes(x, &t->cols[i]);
    }
    return true;
}

bool triggers_before(sql_exec *x, const plan *p, int event, const value *old, value *row,
                     bool several)
{
    const table *t = p->target;
    assert((row != NULL) == (event != TRIGGER_DELETE) &&
           (old != NULL) == (event != TRIGGER_INSERT));
    for (uint32_t i = 0; i < t->n_triggers; i++) {
        row_trigger *g = &t->triggers[i];
        if (!fires(x, p, g, true, event, old, event == TRIGGER_DELETE ? NULL : row)) continue;
        if (!run_trigger(x, t, g, event, old, row, several)) return false;
    }
    return true;
}

void triggers_note(sql_exec *x, const plan *p, int event, const value *old, const value *row)
{
    for (uint32_t i = 0; i < p->target->n_triggers; i++)
        if (!p->target->triggers[i].before && !p->target->triggers[i].statement &&
            p->target->triggers[i].events & event) {
            arena_push(&x->work, &x->after, ((after_event){p, event, old, row}));
            return;
        }
}

void triggers_after(sql_exec *x, size_t from, bool in_order)
{
    size_t to = x->after.n;
    assert(from < to && "called for rows that were noted");
    bool several = to - from > 1 && !in_order;
    for (size_t i = from; i < to; i++) {
        after_event e = x->after.at[i];
        const table *t = e.p->target;
        guard_tick(x->c.guard);
        if (to - from > 1 && (t->n_foreign || refer_child(x, t, NULL, 0)))
            sql_refuse(&x->c, -1, "AFTER triggers beside foreign keys, for several rows");
        for (uint32_t k = 0; k < t->n_triggers; k++) {
            row_trigger *g = &t->triggers[k];
            if (!fires(x, e.p, g, false, e.event, e.before, e.after)) continue;
            value *row = NULL;
            if (e.after) {
                row = arena_array(&x->work, value, t->n_cols + 1);
                memcpy(row, e.after, t->n_cols * sizeof *row);
            }
            run_trigger(x, t, g, e.event, e.before, row, several);
        }
    }
    x->after.n = from;
}

static void run_of_statement(sql_exec *x, const plan *p, const table *t, bool before, int event)
{
    for (uint32_t i = 0; i < t->n_triggers; i++) {
        row_trigger *g = &t->triggers[i];
        if (!g->statement || g->disabled || g->before != before || !(g->events & event)) continue;
        if (event == TRIGGER_UPDATE && !sets_one_of(p, g)) continue;
        run_trigger(x, t, g, event, NULL, NULL, false);
    }
}

/* INSERT ... ON CONFLICT DO UPDATE is both: the outer one is the INSERT. */
void triggers_of_statement(sql_exec *x, const plan *p, const table *t, bool before)
{
    bool both = p->kind == S_INSERT && p->conflict == ON_CONFLICT_UPDATE;
    int event = p->kind == S_INSERT   ? TRIGGER_INSERT
                : p->kind == S_UPDATE ? TRIGGER_UPDATE
                : p->kind == S_DELETE ? TRIGGER_DELETE
                                      : TRIGGER_TRUNCATE;
    assert(t->n_triggers && (p->kind != S_TRUNCATE || !both));
    if (both && !before) run_of_statement(x, p, t, before, TRIGGER_UPDATE);
    run_of_statement(x, p, t, before, event);
    if (both && before) run_of_statement(x, p, t, before, TRIGGER_UPDATE);
}
