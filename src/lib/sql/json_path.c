/*
 * json_path.c - jsonb_path_exists, jsonb_path_query and their kin, for the paths that applications
 * write: $, .key, ."key", .*, [n], [last], [*], and filters ? (@.key op literal).
 *
 * The mode is lax: arrays are taken apart where a member or a comparison is asked of them, what is
 * not there is left out, and a comparison of different types selects nothing.  Any other path, of
 * mode strict, with arithmetic, methods, variables, && or like_regex, is refused.
 */
#include <assert.h>

#include "sql/builtin.h"
#include "sql/jsonb.h"

typedef VEC(jsonb_node *) node_list;

typedef struct path_reader {
    sql_exec *x;
    const expr *e;
    const char *p, *end;
} path_reader;

_Noreturn static void refuse_path(const path_reader *r)
{
    sql_refuse(&r->x->c, r->e->position, "this path into a jsonb");
}

static void skip_blanks(path_reader *r)
{
    while (r->p < r->end && strchr(" \t\r\n", *r->p)) r->p++;
}

static bool take(path_reader *r, char c)
{
    skip_blanks(r);
    if (r->p == r->end || *r->p != c) return false;
    r->p++;
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

/* A key, bare or in double quotes without escapes. */
static value take_key(path_reader *r)
{
    skip_blanks(r);
    bool quoted = r->p < r->end && *r->p == '"';
    const char *from = r->p += quoted;
    while (r->p < r->end && (quoted ? *r->p != '"' && *r->p != '\\' : is_word(*r->p))) r->p++;
    value key = value_text(from, (size_t)(r->p - from));
    bool digit = !quoted && key.n && *from >= '0' && *from <= '9';
    if (digit || (!quoted && !key.n) || (quoted && (r->p == r->end || *r->p++ != '"')))
        refuse_path(r);
    if (!quoted && r->p < r->end && *r->p == '(') refuse_path(r); /* a method */
    return key;
}

static void add_member(path_reader *r, node_list *to, jsonb_node *j, const value *key)
{
    if (j->kind != JSON_OBJECT) return;
    if (key) {
        int at = jsonb_key_at(j, *key);
        if (at >= 0) arena_push(&r->x->work, to, j->items[at]);
        return;
    }
    for (uint32_t i = 0; i < j->n; i++) arena_push(&r->x->work, to, j->items[i]);
}

/* .key, or .* (no key) */
static node_list members(path_reader *r, const node_list *of, const value *key)
{
    node_list to = {0};
    for (size_t i = 0; i < of->n; i++) {
        jsonb_node *j = of->at[i];
        guard_tick(r->x->c.guard);
        if (j->kind != JSON_ARRAY) {
            add_member(r, &to, j, key);
            continue;
        }
        for (uint32_t k = 0; k < j->n; k++) add_member(r, &to, j->items[k], key);
    }
    return to;
}

/* Every item of an array, and what is no array itself. */
static node_list unwrapped(path_reader *r, const node_list *of)
{
    node_list to = {0};
    for (size_t i = 0; i < of->n; i++) {
        jsonb_node *j = of->at[i];
        if (j->kind != JSON_ARRAY) arena_push(&r->x->work, &to, j);
        for (uint32_t k = 0; j->kind == JSON_ARRAY && k < j->n; k++)
            arena_push(&r->x->work, &to, j->items[k]);
    }
    return to;
}

static node_list item_at(path_reader *r, const node_list *of, int64_t at, bool last)
{
    node_list to = {0};
    for (size_t i = 0; i < of->n; i++) {
        jsonb_node *j = of->at[i];
        bool array = j->kind == JSON_ARRAY;
        int64_t n = array ? j->n : 1, k = last ? n - 1 : at;
        if (k >= 0 && k < n) arena_push(&r->x->work, &to, array ? j->items[k] : j);
    }
    return to;
}

static node_list subscript_step(path_reader *r, const node_list *of)
{
    node_list to;
    if (take(r, '*')) {
        to = unwrapped(r, of);
    } else if (r->end - r->p >= 4 && !memcmp(r->p, "last", 4)) {
        r->p += 4;
        to = item_at(r, of, 0, true);
    } else {
        int64_t at = 0;
        const char *from = r->p;
        while (r->p < r->end && *r->p >= '0' && *r->p <= '9' && r->p - from < 9)
            at = at * 10 + (*r->p++ - '0');
        if (r->p == from) refuse_path(r);
        to = item_at(r, of, at, false);
    }
    if (!take(r, ']')) refuse_path(r);
    return to;
}

/* ---- filters --------------------------------------------------------------------------------- */

static int take_compare(path_reader *r)
{
    static const char *const names[] = {"==", "!=", "<>", "<=", ">=", "<", ">"};
    static const int is[] = {OP_EQ, OP_NE, OP_NE, OP_LE, OP_GE, OP_LT, OP_GT};
    skip_blanks(r);
    for (int i = 0; i < 7; i++) {
        size_t n = strlen(names[i]);
        if ((size_t)(r->end - r->p) < n || memcmp(r->p, names[i], n) != 0) continue;
        r->p += n;
        return is[i];
    }
    refuse_path(r);
}

/* A number, a text without escapes, true, false or null: as json writes it. */
static const jsonb_node *take_literal(path_reader *r)
{
    skip_blanks(r);
    const char *from = r->p;
    bool quoted = r->p < r->end && *r->p == '"';
    if (quoted)
        for (r->p++; r->p < r->end && *r->p != '"'; r->p++)
            if (*r->p == '\\' || (unsigned char)*r->p >= 0x80) refuse_path(r);
    if (quoted && r->p++ == r->end) refuse_path(r);
    while (!quoted && r->p < r->end && (is_word(*r->p) || *r->p == '.' || *r->p == '-')) r->p++;
    size_t n = (size_t)(r->p - from);
    bool word = (n == 4 && (!memcmp(from, "true", 4) || !memcmp(from, "null", 4))) ||
                (n == 5 && !memcmp(from, "false", 5));
    bool digits = n > 0;
    for (size_t i = 0; i < n; i++)
        digits &= (from[i] >= '0' && from[i] <= '9') || (i && i + 1 < n && from[i] == '.');
    if (!quoted && !word && (!digits || (n > 1 && *from == '0' && from[1] != '.'))) refuse_path(r);
    return jsonb_read(&r->x->c, from, n);
}

static bool is_truth(const jsonb_node *j)
{
    return j->kind == JSON_TRUE || j->kind == JSON_FALSE;
}

/* False also where nobody knows. */
static bool node_compares(path_reader *r, const jsonb_node *a, int op, const jsonb_node *b)
{
    if (a->kind == JSON_NULL || b->kind == JSON_NULL)
        return a->kind == b->kind ? eval_compares(op, 0) : op == OP_NE;
    if (is_truth(a) && is_truth(b))
        return eval_compares(op, (a->kind == JSON_TRUE) - (b->kind == JSON_TRUE));
    if (a->kind != b->kind || a->kind == JSON_OBJECT || a->kind == JSON_ARRAY) return false;
    if (a->kind == JSON_STRING) {
        for (uint32_t i = 0; i < a->text.n; i++) /* their order is that of UTF-16 */
            if ((unsigned char)a->text.s[i] >= 0x80) refuse_path(r);
        return eval_compares(op, value_cmp(T_TEXT, a->text, b->text));
    }
    const num *x = NULL, *y = NULL;
    if (!num_parse(&r->x->work, a->text.s, a->text.n, &x) ||
        !num_parse(&r->x->work, b->text.s, b->text.n, &y))
        refuse_path(r);
    return eval_compares(op, num_cmp(value_need(&r->x->c, x), value_need(&r->x->c, y)));
}

static node_list steps(path_reader *r, node_list at, bool in_filter);

/* ? (@.key op literal): of each item, those of arrays too. */
static node_list filter_step(path_reader *r, const node_list *of)
{
    node_list items = unwrapped(r, of), to = {0};
    const char *from = r->p, *behind = NULL;
    for (size_t i = 0; i <= items.n; i++) { /* once more than there are, to read its end */
        node_list one = {0};
        r->p = from;
        guard_tick(r->x->c.guard);
        if (i < items.n) arena_push(&r->x->work, &one, items.at[i]);
        if (!take(r, '(') || !take(r, '@')) refuse_path(r);
        node_list left = steps(r, one, true);
        int op = take_compare(r);
        const jsonb_node *right = take_literal(r);
        if (!take(r, ')')) refuse_path(r);
        behind = r->p;
        left = unwrapped(r, &left);
        bool yes = false;
        for (size_t k = 0; k < left.n && !yes; k++) yes = node_compares(r, left.at[k], op, right);
        if (yes) arena_push(&r->x->work, &to, items.at[i]);
    }
    r->p = behind;
    return to;
}

static node_list steps(path_reader *r, node_list at, bool in_filter)
{
    for (;;) {
        if (take(r, '.')) {
            if (take(r, '*')) {
                if (r->p < r->end && *r->p == '*') refuse_path(r);
                at = members(r, &at, NULL);
                continue;
            }
            value key = take_key(r);
            at = members(r, &at, &key);
        } else if (take(r, '[')) {
            skip_blanks(r);
            at = subscript_step(r, &at);
        } else if (!in_filter && take(r, '?')) {
            at = filter_step(r, &at);
        } else {
            return at;
        }
    }
}

static node_list found(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    path_reader r = {x, e, v[1].s, v[1].s + v[1].n};
    node_list at = {0};
    skip_blanks(&r);
    if (r.end - r.p >= 4 && !memcmp(r.p, "lax ", 4)) r.p += 4;
    if (!take(&r, '$')) refuse_path(&r);
    if (r.p < r.end && (is_word(*r.p) || *r.p == '"')) refuse_path(&r); /* a variable */
    arena_push(&x->work, &at, jsonb_read(&x->c, v[0].s, v[0].n));
    at = steps(&r, at, false);
    skip_blanks(&r);
    if (r.p != r.end) refuse_path(&r);
    return at;
}

static value path_exists(sql_exec *x, const expr *e, const value *v)
{
    return value_bool(found(x, e, v).n > 0);
}
static value path_first(sql_exec *x, const expr *e, const value *v)
{
    node_list at = found(x, e, v);
    return at.n ? jsonb_write(&x->c, at.at[0]) : value_null();
}
static value path_array(sql_exec *x, const expr *e, const value *v)
{
    node_list at = found(x, e, v);
    jsonb_node *all = jsonb_new(&x->work, JSON_ARRAY, (uint32_t)at.n);
    for (uint32_t i = 0; i < all->n; i++) all->items[i] = at.at[i];
    return jsonb_write(&x->c, all);
}

const builtin path_builtins[] = {
    {"@?", "Jt>b", path_exists, 0},
    {"jsonb_path_exists", "Jt>b", path_exists, 0},
    {"jsonb_path_query_first", "Jt>J", path_first, 0},
    {"jsonb_path_query_array", "Jt>J", path_array, 0},
    {NULL, NULL, NULL, 0},
};
