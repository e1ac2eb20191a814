/*
 * bind_pattern.c - LIKE, ILIKE, regular expressions and SIMILAR TO.
 *
 * A pattern of SIMILAR TO that is a constant is written as a regular expression: % is .*, _ is any
 * character, and the characters that mean nothing in it are escaped.
 */
#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

expr *bind_pattern(binder *b, scope *s, const PgQuery__AExpr *a, const char *op)
{
    expr *e = expr_new(b, E_LIKE, type_plain(T_BOOL), a->location, 2);
    e->arg[0] = bind_expr(b, s, a->lexpr);
    e->arg[1] = bind_expr(b, s, a->rexpr);
    e->op = *op == '!' ? LIKE_NOT : 0;
    if (op[strlen(op) - 1] == '*') e->op |= LIKE_ANY_CASE;
    if (!strstr(op, "~~")) e->op |= LIKE_REGEX;
    for (int i = 0; i < 2; i++) {
        if (!type_is_text(e->arg[i]->t.id))
            sql_raise(CTX(b), "42883", "operator does not exist: %s", op);
        if (e->arg[i]->t.id == T_CHAR) sql_refuse(CTX(b), a->location, "a pattern on char(n)");
        e->arg[i] = expr_coerce(b, e->arg[i], type_plain(T_TEXT), CAST_IMPLICIT);
    }
    return expr_fold(b, e);
}

bool bind_is_pattern(const char *name)
{
    if (*name == '!') name++;
    return !strcmp(name, "~") || !strcmp(name, "~*");
}

/* The pattern of similar_to_escape(pattern), as a regular expression. */
static value as_regex(binder *b, const node *n, int position)
{
    bool call = n->node_case == PG_QUERY__NODE__NODE_FUNC_CALL && n->func_call->n_args == 1;
    const node *arg = call ? n->func_call->args[0] : n;
    bool text = call && arg->node_case == PG_QUERY__NODE__NODE_A_CONST && !arg->a_const->isnull &&
                arg->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
    if (!text) sql_refuse(CTX(b), position, "SIMILAR TO with ESCAPE or what is no constant");
    const char *s = arg->a_const->sval->sval;
    char *to = arena_get(b->mem, 2 * strlen(s) + 8);
    size_t k = 0;
    to[k++] = '^';
    to[k++] = '(';
    for (; *s; s++) {
        if (strchr("[]\\\"", *s))
            sql_refuse(CTX(b), position, "SIMILAR TO with \"%c\" in the pattern", *s);
        if (*s == '%') {
            to[k++] = '.';
            to[k++] = '*';
        } else if (*s == '_') {
            to[k++] = '.';
        } else {
            if (strchr(".^$", *s)) to[k++] = '\\';
            to[k++] = *s;
        }
    }
    to[k++] = ')';
    to[k++] = '$';
    return value_text(to, k);
}

expr *bind_similar(binder *b, scope *s, const PgQuery__AExpr *a, const char *op)
{
    expr *e = expr_new(b, E_LIKE, type_plain(T_BOOL), a->location, 2);
    e->op = LIKE_REGEX | (*op == '!' ? LIKE_NOT : 0);
    e->arg[0] = bind_expr(b, s, a->lexpr);
    e->arg[1] = expr_new(b, E_CONST, type_plain(T_TEXT), a->location, 0);
    e->arg[1]->v = as_regex(b, a->rexpr, a->location);
    if (!type_is_text(e->arg[0]->t.id) || e->arg[0]->t.id == T_CHAR)
        sql_refuse(CTX(b), a->location, "SIMILAR TO of this type");
    e->arg[0] = expr_coerce(b, e->arg[0], type_plain(T_TEXT), CAST_IMPLICIT);
    return expr_fold(b, e);
}
