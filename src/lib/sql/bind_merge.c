/*
 * bind_merge.c - MERGE: the source as the left side of a join, the target as its right one, and an
 * action for each WHEN.
 *
 * WHEN MATCHED reads both, WHEN NOT MATCHED the source alone.  An action is a plan of its own kind
 * (UPDATE, DELETE, INSERT, nothing) that the statement's plan owns.
 */
#include <assert.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

/* INSERT [(columns)] VALUES (...) of one row, or DEFAULT VALUES. */
static void merge_insert(binder *b, scope *source, plan *a, const PgQuery__MergeWhenClause *w)
{
    const table *t = a->target;
    if (w->override > PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET)
        sql_refuse(CTX(b), -1, "OVERRIDING in MERGE");
    a->columns = arena_array(b->mem, uint32_t, w->n_target_list + t->n_cols + 1);
    for (size_t i = 0; i < w->n_target_list; i++) {
        const PgQuery__ResTarget *c = w->target_list[i]->res_target;
        if (c->n_indirection) sql_refuse(CTX(b), c->location, "this column");
        uint32_t at = column_named(b, t, c->name, c->location);
        for (uint32_t k = 0; k < a->n_columns; k++)
            if (a->columns[k] == at)
                sql_raise(CTX(b), "42701", "column \"%s\" specified more than once", c->name);
        a->columns[a->n_columns++] = at;
    }
    for (uint32_t i = 0; !w->n_target_list && w->n_values && i < t->n_cols; i++)
        if (!column_hidden(&t->cols[i])) a->columns[a->n_columns++] = i;
    if (w->n_values > a->n_columns)
        sql_raise(CTX(b), "42601", "INSERT has more expressions than target columns");
    if (w->n_target_list && w->n_values < a->n_columns)
        sql_raise(CTX(b), "42601", "INSERT has more target columns than expressions");
    a->n_columns = (uint32_t)w->n_values;
    a->n_rows = 1;
    a->rows = arena_array(b->mem, expr *, a->n_columns + 1);
    for (uint32_t i = 0; i < a->n_columns; i++) {
        const table_column *c = &t->cols[a->columns[i]];
        if (c->always || c->computed)
            sql_refuse(CTX(b), -1, "a value for a GENERATED ALWAYS column");
        a->rows[i] = assigned(b, source, w->values[i], c->t);
    }
}

static plan *merge_action(binder *b, scope *both, scope *source, table *target,
                          const PgQuery__MergeWhenClause *w)
{
    plan *a = arena_get(b->mem, sizeof *a);
    memset(a, 0, sizeof *a);
    a->arbiter = -1;
    a->target = target;
    a->matched = w->matched;
    scope *s = w->matched ? both : source;
    if (w->condition) a->where = bind_bool(b, s, w->condition, "WHEN");
    switch (w->command_type) {
    case PG_QUERY__CMD_TYPE__CMD_UPDATE:
        a->kind = S_UPDATE;
        bind_set_list(b, both, a, w->target_list, w->n_target_list);
        break;
    case PG_QUERY__CMD_TYPE__CMD_DELETE: a->kind = S_DELETE; break;
    case PG_QUERY__CMD_TYPE__CMD_INSERT:
        a->kind = S_INSERT;
        merge_insert(b, source, a, w);
        break;
    default: a->kind = S_NOTHING;
    }
    return a;
}

void bind_merge(binder *b, plan *p, const PgQuery__MergeStmt *m)
{
    p->kind = S_MERGE;
    bind_with(b, NULL, m->with_clause);
    query *q = query_new(b);
    scope s = {.q = q}, source, both;
    join *j = join_new(b, J_LEFT);
    j->left = from_item(b, &s, m->source_relation);
    source = s;
    j->right = table_relation(b, &s, m->relation);
    source.rels.n = source.rels.cap = s.rels.n - 1;
    source.rels.at = s.rels.at;
    p->scan = j;
    p->slots = q->slots;
    p->target = b->x->regs.target = j->right->table;
    p->planner_chooses = p->joins = true;
    if (p->target->read_only)
        sql_raise(CTX(b), "42809", "cannot change materialized view \"%s\"", p->target->name);
    if (p->target->n_triggers) sql_refuse(CTX(b), -1, "MERGE into a table with triggers");
    both = s;
    both.rels.at = NULL;
    both.rels.n = both.rels.cap = 0;
    arena_push(b->mem, &both.rels, s.rels.at[s.rels.n - 1]); /* what SET names */
    for (size_t i = 0; i + 1 < s.rels.n; i++) arena_push(b->mem, &both.rels, s.rels.at[i]);
    j->on = bind_bool(b, &both, m->join_condition, "MERGE");
    use_indexes(b, j, NULL);
    p->actions = arena_array(b->mem, plan *, m->n_merge_when_clauses + 1);
    bool last[2] = {false, false}; /* nothing comes to a WHEN after one without a condition */
    for (size_t i = 0; i < m->n_merge_when_clauses; i++) {
        const PgQuery__MergeWhenClause *w = m->merge_when_clauses[i]->merge_when_clause;
        if (last[w->matched])
            sql_raise(CTX(b), "42601", "unreachable WHEN clause specified after another");
        last[w->matched] = !w->condition;
        p->actions[p->n_actions++] = merge_action(b, &both, &source, p->target, w);
    }
    assert(p->n_actions == m->n_merge_when_clauses);
}
