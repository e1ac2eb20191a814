/*
 * bind_view.c - CREATE VIEW, and what a view means where it is named.
 *
 * A view is kept as the text of its query, which is read again wherever the view is named.  A view
 * that is columns and rows of one table may be written; WITH CHECK OPTION tests the rows that are.
 */
#include <assert.h>
#include <strings.h>

#include "sql/bind.h"
#include "sql/pl.h"

#define CTX(b) (&(b)->x->c)

routine *bind_view_named(const binder *b, const char *name)
{
    routine *r = vs_routine(b->x->s, name, b->x->latest, 0);
    return r && r->view ? r : NULL;
}

routine *bind_view_meant(binder *b, const char *name)
{
    routine *r = bind_view_named(b, name);
    return r ? r : bind_partition_view(b, name);
}

void bind_put_name(strbuf *t, const char *name)
{
    assert(name && *name);
    strbuf_char(t, '"');
    for (; *name; name++) {
        if (*name == '"') strbuf_char(t, '"');
        strbuf_char(t, *name);
    }
    strbuf_char(t, '"');
}

/* The query of a view, read again. */
query *bind_view_query(binder *b, const routine *r)
{
    if (++b->x->views > 50) sql_refuse(CTX(b), -1, "views nested this deep");
    sql_zone zone = CTX(b)->zone;
    CTX(b)->zone = ZONE_UNSET; /* its literals were read when it was created */
    plan *p = bind_text(b->x, b->mem, NULL, r->view, strlen(r->view), NULL, 0);
    CTX(b)->zone = zone;
    b->x->views--;
    b->p->reads |= p->reads;
    b->calls |= p->nested;
    b->p->planner_chooses = true;
    query *q = p->q;
    for (uint32_t i = 0; i < r->n_names; i++) q->out[i].name = r->names[i];
    return q;
}

/* Has the view one table, and rows and columns of it alone? */
static bool is_written(const query *q)
{
    bool plain = q->from && q->from->kind == J_REL && q->from->table && !q->grouped &&
                 !q->distinct && !q->n_on && !q->n_windows && !q->limit && !q->offset &&
                 !q->locking && !q->set && !q->n_rows;
    for (uint32_t i = 0; plain && i < q->n_out; i++) {
        const expr *e = q->out[i].e;
        if (e->kind != E_COLUMN || e->up || e->slot) return false;
        for (uint32_t k = 0; k < i; k++)
            if (q->out[k].e->index == e->index) return false;
    }
    return plain;
}

join *bind_view_target(binder *b, scope *s, const PgQuery__RangeVar *r, plan *p)
{
    const routine *view = bind_view_meant(b, r->relname);
    const char *key = table_key(b, r->catalogname, r->schemaname, r->relname, r->location);
    if (!view || strcmp(key, view->name) != 0 || vs_find(b->x->s, key, b->x->latest)) return NULL;
    bool calls = b->calls;
    query *q = bind_view_query(b, view);
    if (!is_written(q) || b->calls != calls)
        sql_refuse(CTX(b), r->location, "a view that is more than columns and rows of a table");
    if (r->alias && r->alias->n_colnames) sql_refuse(CTX(b), r->location, "column aliases in FROM");
    uint32_t *map = arena_array(b->mem, uint32_t, q->n_out + 1);
    for (uint32_t i = 0; i < q->n_out; i++) map[i] = q->out[i].e->index;
    join *j = join_new(b, J_REL);
    j->table = q->from->table;
    j->slot = s->q->slots++;
    assert(!j->slot);
    const char *name = r->alias ? r->alias->aliasname : r->relname;
    add_relation(b, s,
                 (relation){.name = name_keep(b, name), .sub = q, .slot = j->slot, .map = map},
                 r->location);
    p->view_where = q->where;
    if (view->checked) p->view_check = q->where;
    p->of_partition = view->part;
    b->p->reads = true;
    return j;
}

/* CREATE OR REPLACE VIEW keeps the columns that there are, and may add others. */
static void replace_view(binder *b, const PgQuery__ViewStmt *v, const query *q)
{
    const routine *old = vs_routine(b->x->s, v->view->relname, b->x->latest, 0);
    if (!v->replace || !old || !old->view) return;
    const query *was = bind_view_query(b, old);
    for (uint32_t i = 0; i < was->n_out; i++) {
        const char *name = i < v->n_aliases ? string_of(b, v->aliases[i], -1)
                           : i < q->n_out   ? q->out[i].name
                                            : "";
        type_id t = i < q->n_out ? q->out[i].e->t.id : T_VOID;
        if (t != was->out[i].e->t.id || strcmp(name, was->out[i].name) != 0)
            sql_raise(CTX(b), "42P16", "cannot change column \"%s\" of view", was->out[i].name);
        if (q->out[i].e->t.width != was->out[i].e->t.width ||
            q->out[i].e->t.scale != was->out[i].e->t.scale || t == T_UNKNOWN)
            sql_refuse(CTX(b), v->view->location, "CREATE OR REPLACE of a view of other widths");
    }
}

/* Does the text end with this word?  Its length is cut to what stands before. */
static bool cut_word(const char *text, size_t *n, const char *word)
{
    size_t end = *n, len = strlen(word);
    while (end && strchr(" \t\n\r;", text[end - 1])) end--;
    if (end < len || strncasecmp(text + end - len, word, len) != 0) return false;
    if (end == len || !strchr(" \t\n\r)", text[end - len - 1])) return false;
    *n = end - len;
    return true;
}

/* The query without WITH [CASCADED | LOCAL] CHECK OPTION. */
static const char *without_check(binder *b, const char *text)
{
    size_t n = strlen(text);
    if (!cut_word(text, &n, "option") || !cut_word(text, &n, "check"))
        sql_refuse(CTX(b), -1, "WITH CHECK OPTION and something behind it");
    if (!cut_word(text, &n, "cascaded")) cut_word(text, &n, "local");
    if (!cut_word(text, &n, "with"))
        sql_refuse(CTX(b), -1, "WITH CHECK OPTION and something behind it");
    return arena_text(b->mem, text, n);
}

/* CREATE RECURSIVE VIEW v (a, b) AS query: the parser made a WITH of it, which stands nowhere in
   the text. */
static bool is_recursive(const PgQuery__ViewStmt *v)
{
    const node *q = v->query;
    const PgQuery__WithClause *w =
        q->node_case == PG_QUERY__NODE__NODE_SELECT_STMT ? q->select_stmt->with_clause : NULL;
    return w && w->recursive && w->location < 0;
}

static void put_columns(binder *b, strbuf *t, const PgQuery__ViewStmt *v)
{
    for (size_t i = 0; i < v->n_aliases; i++) {
        if (i) strbuf_char(t, ',');
        bind_put_name(t, string_of(b, v->aliases[i], -1));
    }
}

static const char *recursive_text(binder *b, const PgQuery__ViewStmt *v, const char *text)
{
    strbuf t;
    size_t n = strlen(text);
    assert(v->n_aliases);
    while (n && strchr(" \t\n\r;", text[n - 1])) n--;
    strbuf_init(&t, b->mem->mem);
    strbuf_str(&t, "WITH RECURSIVE ");
    bind_put_name(&t, v->view->relname);
    strbuf_char(&t, '(');
    put_columns(b, &t, v);
    strbuf_str(&t, ") AS (");
    strbuf_add(&t, text, n);
    strbuf_str(&t, "\n) SELECT ");
    put_columns(b, &t, v);
    strbuf_str(&t, " FROM ");
    bind_put_name(&t, v->view->relname);
    const char *kept = arena_text(b->mem, t.at, t.n);
    strbuf_free(&t);
    return kept;
}

static bool has_query(const expr *e)
{
    if (e->q || e->kind == E_ROUTINE || e->kind == E_OPEN) return true;
    for (uint32_t i = 0; i < e->n; i++)
        if (has_query(e->arg[i])) return true;
    return false;
}

/* WITH (check_option = ...) and the words behind the query; other options are refused. */
static bool is_checked(binder *b, const PgQuery__ViewStmt *v)
{
    bool checked = false;
    for (size_t i = 0; i < v->n_options; i++) {
        const PgQuery__DefElem *d = v->options[i]->def_elem;
        if (!strcmp(d->defname, "security_barrier") || !strcmp(d->defname, "security_invoker"))
            continue;
        if (strcmp(d->defname, "check_option") != 0)
            sql_refuse(CTX(b), v->view->location, "WITH (%s) of a view", d->defname);
        checked = true;
    }
    return checked || v->with_check_option > PG_QUERY__VIEW_CHECK_OPTION__NO_CHECK_OPTION;
}

void bind_view(binder *b, plan *p, const PgQuery__ViewStmt *v)
{
    p->kind = S_VIEW;
    p->quiet = v->replace;
    if (*v->view->schemaname || *v->view->relpersistence != 'p')
        sql_refuse(CTX(b), v->view->location, "this kind of view");
    routine *r = p->routine = arena_get(b->mem, sizeof *r);
    memset(r, 0, sizeof *r);
    r->name = name_keep(b, v->view->relname);
    r->view = pl_after(b->x, b->mem, b->text, "as");
    r->checked = is_checked(b, v);
    if (v->with_check_option > PG_QUERY__VIEW_CHECK_OPTION__NO_CHECK_OPTION)
        r->view = without_check(b, r->view);
    if (is_recursive(v)) r->view = recursive_text(b, v, r->view);
    r->n_names = (uint32_t)v->n_aliases;
    r->names = arena_array(b->mem, const char *, v->n_aliases + 1);
    for (size_t i = 0; i < v->n_aliases; i++)
        r->names[i] = name_keep(b, string_of(b, v->aliases[i], -1));
    b->x->views++;
    const query *q = bind_query(b, v->query); /* what is wrong with it is told now */
    b->x->views--;
    if (r->checked && (!is_written(q) || (q->where && has_query(q->where))))
        sql_refuse(CTX(b), v->view->location,
                   "CHECK OPTION of a view that is more than columns and rows of a table");
    replace_view(b, v, q);
    if (v->n_aliases > q->n_out) sql_raise(CTX(b), "42601", "more columns than the query has");
    for (uint32_t i = 0; i < q->n_out; i++)
        for (uint32_t k = 0; k < i && !v->n_aliases; k++)
            if (!strcmp(q->out[i].name, q->out[k].name))
                sql_raise(CTX(b), "42701", "column \"%s\" specified more than once",
                          q->out[i].name);
}
