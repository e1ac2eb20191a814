/*
 * bind_builtin.c - which function or operator of the tables (builtin.h) a call means.
 *
 * The rules are a part of PostgreSQL's: the candidate with the most arguments of exactly its types
 * wins; an untyped literal beside one operand is first taken to have that operand's type, and else
 * goes to a candidate that takes text.  Where more than one candidate is left the call is refused,
 * since PostgreSQL's preferred types would have to decide.
 */
#include <assert.h>

#include "sql/bind.h"
#include "sql/builtin.h"

#define CTX(b) (&(b)->x->c)

static const builtin *const tables[] = {moment_builtins,  json_builtins,     array_builtins,
                                        text_builtins,    float_builtins,    format_builtins,
                                        number_builtins,  digest_builtins,   byte_builtins,
                                        measure_builtins, template_builtins, path_builtins};
#define N_TABLES (sizeof tables / sizeof tables[0])

bool builtin_known(const char *name)
{
    for (size_t t = 0; t < N_TABLES; t++)
        for (const builtin *c = tables[t]; c->name; c++)
            if (!strcmp(c->name, name)) return true;
    return false;
}

/* Types that operators of the tables are for. */
static bool newer_type(type_id t)
{
    return type_is_moment(t) || (int)t >= (int)T_INTERVAL;
}

static type_id type_of_letter(char c)
{
    static const char letters[] = "b248nfFtdpzimyujJ";
    static const type_id is[] = {T_BOOL,   T_INT2,  T_INT4, T_INT8,  T_NUMERIC, T_FLOAT4,
                                 T_FLOAT8, T_TEXT,  T_DATE, T_STAMP, T_STAMPTZ, T_INTERVAL,
                                 T_TIME,   T_BYTEA, T_UUID, T_JSON,  T_JSONB};
    const char *at = strchr(letters, c);
    if (c == 'T') return type_array_of(T_TEXT);
    assert(at && *at);
    return is[at - letters];
}

/* How many arguments have exactly their types; -1: the candidate does not fit. */
static int fit(const builtin *c, expr **arg, uint32_t n, type_id array)
{
    int exact = 0;
    const char *s = c->shape;
    for (uint32_t i = 0; i < n; i++) {
        type_id t = arg[i]->t.id;
        if (*s == '>') return -1;
        char letter = *s;
        if (s[1] != '.') s++; /* "*..." repeats */
        if (letter == '*') {
            if (t == T_RECORD) return -1;
            continue;
        }
        if ((letter == 'A' || letter == 'e') && array == T_UNKNOWN) return -1;
        if (letter == 'A') {
            if (t != T_UNKNOWN && t != array) return -1;
            exact += t == array;
            continue;
        }
        type_id want = letter == 'e' ? (array == T_UNKNOWN ? T_UNKNOWN : type_element(array))
                                     : type_of_letter(letter);
        if (t == T_VARCHAR && want == T_TEXT) t = T_TEXT;
        if (t == want && t != T_UNKNOWN)
            exact++;
        else if (t != T_UNKNOWN && (letter == 'e' || !cast_exists(t, want, CAST_IMPLICIT)))
            return -1;
    }
    if (s[0] && s[1] == '.') s += 4;
    if (c->flags & BUILTIN_EXACT && exact != (int)n) return -1;
    return *s == '>' ? exact : -1;
}

/* How many untyped arguments would be text. */
static int texts_of(const builtin *c, expr **arg, uint32_t n)
{
    int found = 0;
    for (uint32_t i = 0; i < n && c->shape[i] != '>'; i++)
        found += arg[i]->t.id == T_UNKNOWN && c->shape[i] == 't';
    return found;
}

static const builtin *choose(binder *b, const char *name, expr **arg, uint32_t n, type_id array,
                             int position)
{
    const builtin *best = NULL;
    int most = -1, texts = 0;
    bool tie = false;
    for (size_t t = 0; t < N_TABLES; t++)
        for (const builtin *c = tables[t]; c->name; c++) {
            if (strcmp(c->name, name) != 0) continue;
            int exact = fit(c, arg, n, array);
            if (exact < 0) continue;
            int as_text = texts_of(c, arg, n);
            if (exact > most || (exact == most && as_text > texts)) {
                best = c;
                most = exact;
                texts = as_text;
                tie = false;
            } else if (exact == most && as_text == texts) {
                tie = true;
            }
        }
    if (tie) sql_refuse(CTX(b), position, "%s of these types, of which several would do", name);
    return best;
}

/* The array type that "any array" stands for. */
static type_id array_among(expr **arg, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (type_is_array(arg[i]->t.id)) return arg[i]->t.id;
    return T_UNKNOWN;
}

static expr *call_of(binder *b, const builtin *c, expr **arg, uint32_t n, type_id array,
                     int position)
{
    const char *s = c->shape, result = s[strlen(s) - 1];
    type_id t = result == 'A'   ? array
                : result == 'e' ? type_element(array)
                                : type_of_letter(result);
    expr *e = expr_new(b, E_BUILTIN, type_plain(t), position, n);
    e->builtin = c;
    for (uint32_t i = 0; i < n; i++) {
        char letter = *s;
        if (s[1] != '.') s++;
        e->arg[i] = arg[i];
        if (letter == '*') {
            expr_settle(b, e->arg[i]);
            continue;
        }
        type_id want = letter == 'A'   ? array
                       : letter == 'e' ? type_element(array)
                                       : type_of_letter(letter);
        e->arg[i] = expr_coerce(b, arg[i], type_plain(want), CAST_IMPLICIT);
    }
    return expr_fold(b, e);
}

expr *bind_builtin(binder *b, const char *name, expr **arg, uint32_t n, int position)
{
    type_id array = array_among(arg, n);
    const builtin *c = choose(b, name, arg, n, array, position);
    return c ? call_of(b, c, arg, n, array, position) : NULL;
}

expr *bind_operator(binder *b, const char *name, expr **arg, uint32_t n, int position)
{
    bool newer = newer_type(arg[0]->t.id) || (n > 1 && newer_type(arg[1]->t.id));
    if (!newer) return NULL;
    for (uint32_t i = 0; i < 2 && n == 2; i++) {
        if (arg[i]->t.id != T_UNKNOWN) continue;
        expr like = *arg[1 - i], *same[2] = {arg[0], arg[1]};
        same[i] = &like;
        type_id array = array_among(same, 2);
        for (size_t t = 0; t < N_TABLES; t++)
            for (const builtin *c = tables[t]; c->name; c++)
                if (!strcmp(c->name, name) && fit(c, same, 2, array) == 2)
                    return call_of(b, c, arg, 2, array, position);
    }
    return bind_builtin(b, name, arg, n, position);
}

/* ---- what can be a key ----------------------------------------------------------------------- */

static void need_equality(binder *b, const query *q, type_id t)
{
    if (t == T_RECORD) sql_refuse(CTX(b), q->position, "rows that are tested for equality");
    if (t == T_JSON || t == type_array_of(T_JSON))
        sql_refuse(CTX(b), q->position, "json where values are tested for equality");
}

static void need_order(binder *b, const query *q, type_id t)
{
    need_equality(b, q, t);
}

static void check_aggregate_keys(binder *b, const query *q, const aggregate *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].distinct && a[i].arg) need_equality(b, q, a[i].arg->t.id);
        for (uint32_t k = 0; k < a[i].n_keys; k++) need_equality(b, q, a[i].keys[k]->t.id);
        for (uint32_t k = 0; k < a[i].n_order; k++) need_order(b, q, a[i].order[k].e->t.id);
    }
}

void refuse_key_types(binder *b, const query *q)
{
    bool whole = q->distinct || (q->set && !q->all);
    for (uint32_t i = 0; i < q->n_keys; i++) need_equality(b, q, q->keys[i]->t.id);
    for (uint32_t i = 0; i < q->n_on; i++) need_equality(b, q, q->on[i]->t.id);
    for (uint32_t i = 0; whole && i < q->n_out; i++) need_equality(b, q, q->out[i].e->t.id);
    for (uint32_t i = 0; i < q->n_sort; i++) {
        const order_key *k = &q->sort[i];
        need_order(b, q, k->e ? k->e->t.id : q->out[k->column].e->t.id);
    }
    check_aggregate_keys(b, q, q->aggs, q->n_aggs);
    check_aggregate_keys(b, q, q->windows, q->n_windows);
}
