/*
 * bind_session.c - what lives longer than a statement: PREPARE and cursors.
 *
 * EXECUTE is bound to a name only; the statement of that name is the session's, and looked up when
 * it runs.
 */
#include "sql/bind.h"
#include "sql/pl.h"

#define CTX(b) (&(b)->x->c)

static void named(binder *b, plan *p, stmt_kind kind, const char *name)
{
    p->kind = kind;
    p->n_names = 1;
    p->names = arena_array(b->mem, const char *, 1);
    p->names[0] = name_keep(b, name ? name : "");
}

static void prepare(binder *b, plan *p, const PgQuery__PrepareStmt *s)
{
    named(b, p, S_PREPARE, s->name);
    VEC(type) given = {0};
    for (size_t i = 0; i < s->n_argtypes; i++) {
        if (s->argtypes[i]->node_case != PG_QUERY__NODE__NODE_TYPE_NAME)
            sql_refuse(CTX(b), -1, "this PREPARE");
        type t = type_plain(bind_type(b, s->argtypes[i]->type_name).id);
        arena_push(b->mem, &given, t);
    }
    p->text = pl_after(b->x, b->mem, b->text, "as");
    /* what is wrong with it is told now, and its parameters get their types */
    plan *inner =
        bind_text(b->x, b->mem, NULL, p->text, strlen(p->text), given.at, (uint32_t)given.n);
    if (inner->kind != S_SELECT && inner->kind != S_INSERT && inner->kind != S_UPDATE &&
        inner->kind != S_DELETE)
        sql_refuse(CTX(b), -1, "PREPARE of this statement");
    p->n_args = inner->n_params;
    p->args = arena_array(b->mem, expr *, p->n_args + 1);
    for (uint32_t i = 0; i < p->n_args; i++) {
        type t = inner->params[i];
        if (t.id == T_UNKNOWN)
            sql_raise(CTX(b), "42P18", "could not determine data type of parameter $%u",
                      (unsigned)i + 1);
        p->args[i] = expr_new(b, E_CONST, t, -1, 0);
    }
}

static void execute(binder *b, plan *p, const PgQuery__ExecuteStmt *s)
{
    scope none = {0};
    named(b, p, S_EXECUTE, s->name);
    p->n_args = (uint32_t)s->n_params;
    p->args = arena_array(b->mem, expr *, s->n_params + 1);
    for (size_t i = 0; i < s->n_params; i++) p->args[i] = bind_expr(b, &none, s->params[i]);
}

#define CURSOR_HOLD 0x0020 /* of PostgreSQL's parse nodes */

static void declare(binder *b, plan *p, const PgQuery__DeclareCursorStmt *s)
{
    named(b, p, S_DECLARE, s->portalname);
    if (s->options & CURSOR_HOLD) sql_refuse(CTX(b), -1, "a cursor WITH HOLD");
    p->q = bind_query(b, s->query);
}

static void fetch(binder *b, plan *p, const PgQuery__FetchStmt *s)
{
    named(b, p, S_FETCH, s->portalname);
    p->move_only = s->ismove;
    p->how_many = s->how_many;
    switch (s->direction) {
    case PG_QUERY__FETCH_DIRECTION__FETCH_FORWARD: p->direction = FETCH_FORWARD; break;
    case PG_QUERY__FETCH_DIRECTION__FETCH_BACKWARD: p->direction = FETCH_BACKWARD; break;
    case PG_QUERY__FETCH_DIRECTION__FETCH_ABSOLUTE: p->direction = FETCH_ABSOLUTE; break;
    default: p->direction = FETCH_RELATIVE;
    }
}

bool bind_session(binder *b, plan *p, const node *n)
{
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_PREPARE_STMT: prepare(b, p, n->prepare_stmt); return true;
    case PG_QUERY__NODE__NODE_EXECUTE_STMT: execute(b, p, n->execute_stmt); return true;
    case PG_QUERY__NODE__NODE_DEALLOCATE_STMT:
        named(b, p, S_DEALLOCATE, n->deallocate_stmt->name);
        return true;
    case PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT:
        declare(b, p, n->declare_cursor_stmt);
        return true;
    case PG_QUERY__NODE__NODE_FETCH_STMT: fetch(b, p, n->fetch_stmt); return true;
    case PG_QUERY__NODE__NODE_CLOSE_PORTAL_STMT:
        named(b, p, S_CLOSE, n->close_portal_stmt->portalname);
        return true;
    default: return false;
    }
}
