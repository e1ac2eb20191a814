/*
 * bind_trigger.c - CREATE and DROP TRIGGER: a change of the table's description.
 */
#include <assert.h>

#include "sql/bind.h"
#include "sql/row_triggers.h"

#define CTX(b) (&(b)->x->c)

/* Does the condition read the slot? */
static bool reads_slot(const expr *e, uint32_t slot)
{
    if (e->kind == E_COLUMN && !e->up && e->slot == slot) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (reads_slot(e->arg[i], slot)) return true;
    return false;
}

static expr *when_of(binder *b, table *t, const PgQuery__CreateTrigStmt *c)
{
    if (!c->when_clause) return NULL;
    query *q = query_new(b);
    q->slots = 2;
    scope s = {.q = q};
    arena_push(b->mem, &s.rels, ((relation){.name = "new", .t = t, .slot = 0, .aliased = true}));
    arena_push(b->mem, &s.rels, ((relation){.name = "old", .t = t, .slot = 1, .aliased = true}));
    expr *e = bind_bool(b, &s, c->when_clause, "WHEN");
    if (b->sublinks) sql_refuse(CTX(b), -1, "a subquery in WHEN of a trigger");
    if ((reads_slot(e, 0) && c->events & TRIGGER_DELETE) ||
        (reads_slot(e, 1) && c->events & TRIGGER_INSERT))
        sql_raise(CTX(b), "42P17", "WHEN condition cannot reference these values");
    return e;
}

static void refuse_trigger(binder *b, const PgQuery__CreateTrigStmt *c, const table *t)
{
    int events = TRIGGER_INSERT | TRIGGER_DELETE | TRIGGER_UPDATE | (c->row ? 0 : TRIGGER_TRUNCATE);
    if (c->deferrable) sql_refuse(CTX(b), c->relation->location, "a deferrable trigger");
    if (c->constrrel) sql_refuse(CTX(b), c->relation->location, "FROM of a constraint trigger");
    if (c->n_transition_rels || c->n_args || (c->timing & ~TRIGGER_BEFORE) ||
        (c->events & ~events) || c->n_funcname != 1 || (!c->row && c->when_clause))
        sql_refuse(CTX(b), c->relation->location,
                   "a trigger with REFERENCING, arguments, INSTEAD OF or WHEN of statements");
    for (uint32_t i = 0; i < t->n_cols; i++)
        if (t->cols[i].computed && !column_hidden(&t->cols[i]))
            sql_refuse(CTX(b), -1, "a trigger of a table with generated columns");
    for (uint32_t i = 0; i < t->n_unique; i++)
        if (t->unique[i].deferrable)
            sql_refuse(CTX(b), -1, "a trigger of a table with a deferrable unique constraint");
    bool keys = t->n_foreign || refer_child(b->x, t, NULL, 0);
    if (keys && strcmp(c->trigname, "RI_ConstraintTrigger_z") < 0)
        sql_refuse(CTX(b), -1, "a trigger whose name comes before those of foreign keys");
    if (t->temporary || t->read_only || t->parts) sql_refuse(CTX(b), -1, "a trigger of this table");
}

void bind_create_trigger(binder *b, plan *p, const PgQuery__CreateTrigStmt *c)
{
    table *now = bind_table(b, c->relation);
    refuse_trigger(b, c, now);
    const char *function = string_of(b, c->funcname[0], -1);
    const routine *r = vs_routine(b->x->s, function, b->x->latest, 0);
    if (!r || r->view) sql_raise(CTX(b), "42883", "function %s() does not exist", function);
    if (r->returns != RETURN_TRIGGER)
        sql_raise(CTX(b), "42P17", "function %s must return type trigger", function);
    if (!r->source || r->sql) sql_refuse(CTX(b), -1, "a trigger with this function");
    making m = making_of(b, p, now);
    row_trigger g = {.name = name_keep(b, c->trigname),
                     .function = name_keep(b, function),
                     .before = (c->timing & TRIGGER_BEFORE) != 0,
                     .statement = !c->row,
                     .events = c->events,
                     .n_columns = (uint32_t)c->n_columns};
    g.columns = arena_array(b->mem, uint32_t, g.n_columns + 1);
    for (uint32_t i = 0; i < g.n_columns; i++)
        g.columns[i] = column_named(b, now, string_of(b, c->columns[i], -1), -1);
    g.when = when_of(b, now, c);
    table *t = m.t;
    row_trigger *all = arena_array(b->mem, row_trigger, t->n_triggers + 2);
    uint32_t at = 0;
    while (at < t->n_triggers && strcmp(t->triggers[at].name, g.name) < 0) at++;
    bool there = at < t->n_triggers && !strcmp(t->triggers[at].name, g.name);
    if (there && !c->replace) sql_raise(CTX(b), "42710", "trigger \"%s\" already exists", g.name);
    if (at) memcpy(all, t->triggers, at * sizeof *all);
    all[at] = g;
    uint32_t rest = at + there;
    if (rest < t->n_triggers)
        memcpy(all + at + 1, t->triggers + rest, (t->n_triggers - rest) * sizeof *all);
    t->triggers = all;
    t->n_triggers += !there;
    making_done(&m);
    assert(p->kind == S_ALTER);
}

void bind_drop_trigger(binder *b, plan *p, const PgQuery__DropStmt *d)
{
    assert(d->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TRIGGER);
    const PgQuery__List *names = d->n_objects == 1 ? d->objects[0]->list : NULL;
    if (!names || names->n_items != 2) sql_refuse(CTX(b), -1, "this DROP TRIGGER");
    const char *of = string_of(b, names->items[0], -1), *name = string_of(b, names->items[1], -1);
    table *now = vs_find(b->x->s, of, b->x->latest);
    p->kind = S_NOTHING;
    if (!now && d->missing_ok) return;
    if (!now) sql_raise(CTX(b), "42P01", "relation \"%s\" does not exist", of);
    uint32_t at = 0;
    while (at < now->n_triggers && strcmp(now->triggers[at].name, name) != 0) at++;
    if (at == now->n_triggers && d->missing_ok) return;
    if (at == now->n_triggers) sql_raise(CTX(b), "42704", "trigger \"%s\" does not exist", name);
    making m = making_of(b, p, now);
    table *t = m.t;
    row_trigger *all = arena_array(b->mem, row_trigger, t->n_triggers + 1);
    memcpy(all, t->triggers, at * sizeof *all);
    memcpy(all + at, t->triggers + at + 1, (t->n_triggers - at - 1) * sizeof *all);
    t->triggers = all;
    t->n_triggers--;
    making_done(&m);
}

bool bind_is_trigger_function(const binder *b, const char *name)
{
    const store *s = b->x->s;
    for (size_t i = 0; i < s->tables.n; i++) {
        const table *t = s->tables.at[i];
        if (vs_find(s, t->name, b->x->latest) != t) continue;
        for (uint32_t k = 0; k < t->n_triggers; k++)
            if (!strcmp(t->triggers[k].function, name)) return true;
    }
    return false;
}

/* DISABLE and ENABLE TRIGGER.  ALL are also those that PostgreSQL makes for foreign keys, of both
   tables, and for deferrable keys. */
bool bind_switch_trigger(binder *b, making *m, const PgQuery__AlterTableCmd *c)
{
    table *t = m->t;
    int kind = (int)c->subtype;
    bool on = kind == PG_QUERY__ALTER_TABLE_TYPE__AT_EnableTrig ||
              kind == PG_QUERY__ALTER_TABLE_TYPE__AT_EnableTrigAll ||
              kind == PG_QUERY__ALTER_TABLE_TYPE__AT_EnableTrigUser;
    bool named = kind == PG_QUERY__ALTER_TABLE_TYPE__AT_EnableTrig ||
                 kind == PG_QUERY__ALTER_TABLE_TYPE__AT_DisableTrig;
    bool all = kind == PG_QUERY__ALTER_TABLE_TYPE__AT_EnableTrigAll ||
               kind == PG_QUERY__ALTER_TABLE_TYPE__AT_DisableTrigAll;
    if (!on && !all && !named && kind != PG_QUERY__ALTER_TABLE_TYPE__AT_DisableTrigUser)
        return false;
    row_trigger *g = arena_array(b->mem, row_trigger, t->n_triggers + 1);
    bool found = !named;
    assert(!(named && all));
    if (t->n_triggers) memcpy(g, t->triggers, t->n_triggers * sizeof *g);
    for (uint32_t i = 0; i < t->n_triggers; i++) {
        if (named && strcmp(g[i].name, c->name) != 0) continue;
        found = true;
        g[i].disabled = !on;
    }
    if (!found) sql_raise(CTX(b), "42704", "trigger \"%s\" does not exist", c->name);
    t->triggers = g;
    if (all) t->unguarded = !on;
    return true;
}
