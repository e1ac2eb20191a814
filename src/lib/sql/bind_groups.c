/*
 * bind_groups.c - GROUPING SETS, ROLLUP and CUBE, and the function GROUPING.
 *
 * The keys of all sets are the keys of the query; a set is a mask of them.  What the output, HAVING
 * and ORDER BY read of a key is an entry after the aggregates (E_AGGREGATE), which is null in a
 * group whose set does not have the key; the arguments of aggregates read the rows.
 */
#include <assert.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)
#define MOST_SETS 4096

typedef VEC(uint64_t) set_list;
typedef struct grouping_binder {
    binder *b;
    scope *s;
    query *q;
    VEC(expr *) keys;
} grouping_binder;

static uint64_t key_mask(grouping_binder *g, const node *n)
{
    assert(g->keys.n <= 60);
    if (n->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
        uint64_t all = 0;
        for (size_t i = 0; i < n->row_expr->n_args; i++) all |= key_mask(g, n->row_expr->args[i]);
        return all;
    }
    expr *e = bind_group_key(g->b, g->s, g->q, n);
    size_t at = 0;
    while (at < g->keys.n && !expr_same(g->keys.at[at], e)) at++;
    if (at == 60) sql_refuse(CTX(g->b), -1, "more than 60 keys of grouping sets");
    if (at == g->keys.n) arena_push(g->b->mem, &g->keys, e);
    return (uint64_t)1 << at;
}

static void add_set(grouping_binder *g, set_list *out, uint64_t mask)
{
    if (out->n >= MOST_SETS) sql_raise(CTX(g->b), "54001", "too many grouping sets present");
    arena_push(g->b->mem, out, mask);
}

static void expand(grouping_binder *g, const node *n, set_list *out)
{
    if (n->node_case != PG_QUERY__NODE__NODE_GROUPING_SET) {
        add_set(g, out, key_mask(g, n));
        return;
    }
    const PgQuery__GroupingSet *s = n->grouping_set;
    bool cube = s->kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_CUBE;
    if (s->kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_SETS) {
        for (size_t i = 0; i < s->n_content; i++) expand(g, s->content[i], out);
        return;
    }
    if (cube && s->n_content > 12) sql_raise(CTX(g->b), "54011", "CUBE is limited to 12 elements");
    if (s->n_content > 60) sql_refuse(CTX(g->b), s->location, "a grouping set of this size");
    uint64_t part[60], sets = cube ? (uint64_t)1 << s->n_content : s->n_content + 1;
    if (s->kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_EMPTY) sets = 1;
    for (size_t i = 0; i < s->n_content; i++) part[i] = key_mask(g, s->content[i]);
    for (uint64_t k = 0; k < sets; k++) {
        uint64_t mask = 0;
        for (size_t i = 0; i < s->n_content; i++)
            if (cube ? k >> i & 1 : i < k) mask |= part[i];
        add_set(g, out, mask);
    }
}

/* GROUPING(a, b): which of its arguments are the keys with these numbers. */
static expr *grouping_call(grouping_binder *g, const expr *e)
{
    query *q = g->q;
    assert(e->op == GROUPING_CALL && q->groupings);
    uint32_t *keys = arena_array(g->b->mem, uint32_t, e->n + 2);
    keys[0] = e->n;
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t at = 0;
        while (at < q->n_keys && !expr_same(q->keys[at], e->arg[i])) at++;
        if (at == q->n_keys)
            sql_raise(CTX(g->b), "42803", "arguments to GROUPING must be grouping expressions");
        keys[i + 1] = at;
    }
    expr *r = expr_new(g->b, E_AGGREGATE, type_plain(T_INT4), e->position, 0);
    r->index = q->n_aggs + q->n_keys + q->n_groupings;
    q->groupings[q->n_groupings++] = keys;
    return r;
}

static expr *of_group(grouping_binder *g, expr *e)
{
    query *q = g->q;
    for (uint32_t k = 0; k < q->n_keys; k++) {
        if (!expr_same(e, q->keys[k])) continue;
        expr *r = expr_new(g->b, E_AGGREGATE, e->t, e->position, 0);
        r->index = q->n_aggs + k;
        return r;
    }
    if (e->kind == E_AGGREGATE) return e->op == GROUPING_CALL ? grouping_call(g, e) : e;
    if (e->q) sql_refuse(CTX(g->b), e->position, "a subquery in the output of a grouped query");
    if (e->kind == E_COLUMN && !e->up) {
        if (bind_depends_on_keys(g->s, q, e->slot))
            sql_refuse(CTX(g->b), e->position, "a column that depends on a key of grouping sets");
        sql_raise(CTX(g->b), "42803", "column must appear in the GROUP BY clause");
    }
    for (uint32_t i = 0; i < e->n; i++) e->arg[i] = of_group(g, e->arg[i]);
    return e;
}

void bind_grouping_sets(binder *b, scope *s, query *q, node **list, size_t n)
{
    grouping_binder g = {.b = b, .s = s, .q = q};
    set_list all = {0};
    add_set(&g, &all, 0);
    for (size_t i = 0; i < n; i++) { /* items side by side: every set of one with every other */
        set_list item = {0}, both = {0};
        expand(&g, list[i], &item);
        for (size_t l = 0; l < all.n; l++)
            for (size_t r = 0; r < item.n; r++) add_set(&g, &both, all.at[l] | item.at[r]);
        all = both;
    }
    q->keys = g.keys.at;
    q->n_keys = (uint32_t)g.keys.n;
    q->n_sets = (uint32_t)all.n;
    q->sets = all.at;
    q->groupings = arena_array(b->mem, uint32_t *, s->n_groupings + 1);
    if (s->n_groupings > MOST_SETS) sql_refuse(CTX(b), -1, "GROUPING this often");
    for (uint32_t i = 0; i < q->n_out; i++) q->out[i].e = of_group(&g, q->out[i].e);
    if (q->having) q->having = of_group(&g, q->having);
    for (uint32_t i = 0; i < q->n_sort; i++)
        if (q->sort[i].e) q->sort[i].e = of_group(&g, q->sort[i].e);
    for (uint32_t i = 0; i < q->n_on; i++) q->on[i] = of_group(&g, q->on[i]);
    assert(q->n_groupings <= s->n_groupings);
}

expr *bind_grouping_call(binder *b, scope *s, const PgQuery__GroupingFunc *f)
{
    if (!s || !s->aggregates || s->in_aggregate)
        sql_refuse(CTX(b), f->location, "GROUPING in this place");
    if (f->n_args > 31) sql_raise(CTX(b), "54023", "GROUPING must have fewer than 32 arguments");
    expr *e = expr_new(b, E_AGGREGATE, type_plain(T_INT4), f->location, (uint32_t)f->n_args);
    e->op = GROUPING_CALL;
    for (uint32_t i = 0; i < e->n; i++) e->arg[i] = bind_expr(b, s, f->args[i]);
    s->n_groupings++;
    return e;
}
