/*
 * eval.c - expressions: three-valued logic, arithmetic with PostgreSQL's overflows, functions.
 */
#include <assert.h>

#include "sql/builtin.h"
#include "sql/sql_array.h"
#include "sql/sql_float.h"
#include "sql/pl.h"
#include "sql/sql_text.h"

/* From the grammar of libpg_query, so that no other file needs its header (BoolTestType). */
enum { TEST_TRUE = 1, TEST_NOT_TRUE, TEST_FALSE, TEST_NOT_FALSE, TEST_UNKNOWN, TEST_NOT_UNKNOWN };

static value arith_int(sql_exec *x, const expr *e, int64_t a, int64_t b)
{
    assert(e->op == '+' || e->op == '-' || e->op == '*' || e->op == '/' || e->op == '%');
    int64_t r = 0;
    bool over = false;
    switch (e->op) {
    case '+': over = __builtin_add_overflow(a, b, &r); break;
    case '-': over = __builtin_sub_overflow(a, b, &r); break;
    case '*': over = __builtin_mul_overflow(a, b, &r); break;
    default:
        if (!b) sql_raise(&x->c, "22012", "division by zero");
        if (b == -1) {
            if (e->op == '/') over = __builtin_sub_overflow(0, a, &r);
        } else {
            r = e->op == '/' ? a / b : a % b;
        }
    }
    if (over) sql_raise(&x->c, "22003", "bigint out of range");
    return value_int(value_int_range(&x->c, e->t.id, r));
}

static value arith_num(sql_exec *x, int op, const num *a, const num *b)
{
    assert(a && b);
    arena *w = &x->work;
    if ((op == '/' || op == '%') && !b->n) sql_raise(&x->c, "22012", "division by zero");
    const num *r = op == '+'   ? num_add(w, a, b)
                   : op == '-' ? num_sub(w, a, b)
                   : op == '*' ? num_mul(w, a, b)
                   : op == '/' ? num_div(w, a, b)
                               : num_mod(w, a, b);
    return value_num(value_need(&x->c, r));
}

bool eval_compares(int op, int c)
{
    assert(op >= OP_EQ && op <= OP_GE);
    switch (op) {
    case OP_EQ: return c == 0;
    case OP_NE: return c != 0;
    case OP_LT: return c < 0;
    case OP_LE: return c <= 0;
    case OP_GT: return c > 0;
    default: return c >= 0;
    }
}

/* The character of UTF-8 after the one at s. */
static const char *next_char(const char *s, const char *se)
{
    assert(s < se);
    s++;
    while (s < se && ((unsigned char)*s & 0xc0) == 0x80) s++;
    return s;
}

/* LIKE with % and _ and the backslash; characters of UTF-8 count as one.  What stands between two %
   is taken where it fits first: if the rest fits after a later place, it also fits after the first,
   so only the last % is ever tried again, and the time is at most the product of the lengths. */
static bool like(sql_exec *x, const char *s, const char *se, const char *p, const char *pe)
{
    const char *again = NULL,
               *from = NULL; /* the pattern after the last %, and where it was tried */
    assert(s <= se && p <= pe);
    for (;;) {
        guard_tick(x->c.guard);
        if (p == pe && s == se) return true;
        if (p < pe && *p == '%') {
            while (p < pe && *p == '%') p++;
            if (p == pe) return true;
            again = p;
            from = s;
            continue;
        }
        if (p < pe && *p == '_') {
            if (s < se) {
                s = next_char(s, se);
                p++;
                continue;
            }
        } else if (p < pe) {
            const char *c = p;
            if (*c == '\\') c++;
            if (c == pe && s < se) /* PostgreSQL looks at it while there is text left */
                sql_raise(&x->c, "22025", "LIKE pattern must not end with escape character");
            if (s < se && *s == *c) {
                s++;
                p = c + 1;
                continue;
            }
        }
        if (!again || from == se) return false;
        s = from = next_char(from, se);
        p = again;
    }
}

static value substring(sql_exec *x, value s, int64_t from, bool has_n, int64_t n)
{
    assert(!s.null && !s.open);
    int64_t end = INT64_MAX;
    if (has_n) {
        if (n < 0) sql_raise(&x->c, "22011", "negative substring length not allowed");
        end = from + n;
    }
    if (from < 1) from = 1;
    uint32_t i = 0, a = s.n, b = s.n;
    int64_t at = 0;
    for (; i < s.n; i++) {
        if (((unsigned char)s.s[i] & 0xc0) == 0x80) continue;
        at++;
        if (at == from) a = i;
        if (at == end) {
            b = i;
            break;
        }
    }
    if (end <= from) return value_text(s.s, 0);
    return b > a ? value_text(s.s + a, b - a) : value_text(s.s, 0);
}

/* Letters of ASCII alone, as PostgreSQL does in the C locale. */
static value in_case(sql_exec *x, value v, bool upper)
{
    char *t = arena_text(&x->work, v.s, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        if (!upper && t[i] >= 'A' && t[i] <= 'Z') t[i] = (char)(t[i] + 32);
        if (upper && t[i] >= 'a' && t[i] <= 'z') t[i] = (char)(t[i] - 32);
    }
    return value_text(t, v.n);
}

/* The bits that a type has count, and so much of the distance as the processor takes. */
static value shifted(const expr *e, int64_t v, int64_t by)
{
    unsigned width = e->t.id == T_INT8 ? 64 : 32, k = (unsigned)by & (width - 1);
    if (e->op == CALL_SHIFT_RIGHT) return value_int(v >> k);
    uint64_t bits = (uint64_t)v << k;
    if (e->t.id == T_INT8) return value_int((int64_t)bits);
    return value_int(e->t.id == T_INT2 ? (int64_t)(int16_t)bits : (int64_t)(int32_t)bits);
}

static value bits(const expr *e, const value *v)
{
    assert(type_is_int(e->t.id));
    switch (e->op) {
    case CALL_BIT_AND: return value_int(v[0].i & v[1].i);
    case CALL_BIT_OR: return value_int(v[0].i | v[1].i);
    case CALL_BIT_XOR: return value_int(v[0].i ^ v[1].i);
    case CALL_BIT_NOT: return value_int(~v[0].i);
    default: return shifted(e, v[0].i, v[1].i);
    }
}

/* The whole part of a quotient: what is left is taken away before. */
static value divided(sql_exec *x, const value *v)
{
    arena *w = &x->work;
    assert(v[0].d && v[1].d);
    if (!v[1].d->n) sql_raise(&x->c, "22012", "division by zero");
    const num *q = num_sub(w, v[0].d, value_need(&x->c, num_mod(w, v[0].d, v[1].d)));
    q = num_div(w, value_need(&x->c, q), v[1].d);
    return value_num(value_need(&x->c, num_round(w, value_need(&x->c, q), 0)));
}

/* Operators that are calls: of bits, and of days. */
static value operation(sql_exec *x, const expr *e, const value *v)
{
    if (e->op <= CALL_SHIFT_RIGHT) return bits(e, v);
    assert(e->n == 2 && e->sub == T_DATE);
    if (e->op == CALL_DAYS_BETWEEN) return value_int(v[0].i - v[1].i);
    return value_move_date(&x->c, v[0].i, e->op == CALL_DAYS_AFTER ? v[1].i : -v[1].i);
}

static value call(sql_exec *x, const expr *e, const value *v)
{
    arena *w = &x->work;
    bool is_num = e->sub == T_NUMERIC;
    if (e->op >= CALL_BIT_AND && e->op <= CALL_DAYS_BETWEEN) return operation(x, e, v);
    switch ((call_id)e->op) {
    case CALL_ABS:
        if (is_num) return v[0].d->neg ? value_num(num_neg(w, v[0].d)) : v[0];
        if (v[0].i >= 0) return v[0];
        if (v[0].i == INT64_MIN) sql_raise(&x->c, "22003", "bigint out of range");
        return value_int(value_int_range(&x->c, e->t.id, -v[0].i));
    case CALL_MOD: {
        expr as = {.op = '%', .t = e->t};
        return is_num ? arith_num(x, '%', v[0].d, v[1].d) : arith_int(x, &as, v[0].i, v[1].i);
    }
    case CALL_ROUND:
    case CALL_TRUNC: {
        int64_t scale = e->n > 1 ? v[1].i : 0;
        if (scale > 2000) scale = 2000;
        if (scale < -2000) scale = -2000;
        const num *r = e->op == CALL_ROUND ? num_round(w, v[0].d, (int)scale)
                                           : num_trunc(w, v[0].d, (int)scale);
        return value_num(value_need(&x->c, r));
    }
    case CALL_FLOOR: return value_num(value_need(&x->c, num_floor(w, v[0].d)));
    case CALL_CEIL:
    case CALL_CEILING: return value_num(value_need(&x->c, num_ceil(w, v[0].d)));
    case CALL_DIV: return divided(x, v);
    case CALL_SIGN: return value_num(num_of(w, num_sign(v[0].d)));
    case CALL_LENGTH:
    case CALL_CHAR_LENGTH: return value_int((int64_t)text_length(v[0]));
    case CALL_LOWER:
    case CALL_UPPER: return in_case(x, v[0], e->op == CALL_UPPER);
    case CALL_SUBSTR:
    case CALL_SUBSTRING: return substring(x, v[0], v[1].i, e->n > 2, e->n > 2 ? v[2].i : 0);
    default: return text_call(x, (call_id)e->op, v, e->n);
    }
}

static value junction(sql_exec *x, const expr *e, frame *f)
{
    assert(e->kind == E_AND || e->kind == E_OR);
    bool and = e->kind == E_AND, unknown = false;
    for (uint32_t i = 0; i < e->n; i++) {
        value v = eval(x, e->arg[i], f);
        if (v.null)
            unknown = true;
        else if (!v.i == and)
            return value_bool(!and);
    }
    return unknown ? value_null() : value_bool(and);
}

/* Does a row of the subquery compare so?  Several columns: = if all are equal, <> if one is not. */
static value row_compares(sql_exec *x, const expr *e, const value *v, const sql_result *r,
                          const value *row)
{
    int op = e->op & ~ALL_OF;
    assert(r->n_cols == e->n);
    bool unknown = false;
    for (uint32_t i = 0; i < e->n; i++) {
        type_id t = e->arg[i]->t.id;
        value w = value_cast(&x->c, row[i], type_plain(r->types[i]), type_plain(t), CAST_IMPLICIT);
        bool null = v[i].null || w.null;
        unknown |= null;
        if (null) continue;
        bool yes = eval_compares(op, value_cmp(t, v[i], w));
        if (e->n == 1) return value_bool(yes);
        if (yes == (op == OP_NE)) return value_bool(yes);
    }
    return unknown ? value_null() : value_bool(op == OP_EQ);
}

static value in_query(sql_exec *x, const expr *e, frame *f)
{
    value *v = eval_args(x, e, f), answer;
    const kept_result *kept = member_rows(x, e, f);
    sql_result r;
    if (kept) {
        if (member_found(e, kept, v[0], &answer)) return answer;
        r = kept->r;
    } else {
        exec_query(x, e->q, f, &r);
        exec_cut(x, e->q, &r);
    }
    bool unknown = false, all = (e->op & ALL_OF) != 0;
    for (uint32_t i = 0; i < r.n; i++) {
        value yes = row_compares(x, e, v, &r, r.rows[i]);
        unknown |= yes.null;
        if (!yes.null && (yes.i != 0) != all) return value_bool(!all);
    }
    return unknown ? value_null() : value_bool(all);
}

/* ARRAY(SELECT ...), where the order of the rows is known or does not matter. */
static value all_rows(sql_exec *x, const expr *e, const sql_result *r)
{
    assert(r->n_cols == 1 && type_is_array(e->t.id));
    value *items = arena_array(&x->work, value, r->n + 1u);
    for (uint32_t i = 0; i < r->n; i++) {
        items[i] = r->rows[i][0];
        bool tied = i && (!r->turn || r->turn[i] == r->turn[i - 1]);
        if (items[i].open || (tied && !value_identical(r->types[0], items[i - 1], items[i])))
            sql_refuse(&x->c, e->position, "an array of rows that may come in any order");
    }
    return array_make(&x->work, type_element(e->t.id), items, r->n);
}

static value scalar(sql_exec *x, const expr *e, frame *f)
{
    sql_result r;
    exec_query(x, e->q, f, &r);
    exec_cut(x, e->q, &r);
    if (e->op) return all_rows(x, e, &r);
    if (r.n > 1) sql_raise(&x->c, "21000", "more than one row returned by a subquery");
    return r.n ? r.rows[0][e->index] : value_null();
}

static value choice(sql_exec *x, const expr *e, frame *f)
{
    assert(e->n >= 2);
    uint32_t i = 0;
    for (; i + 1 < e->n; i += 2)
        if (eval_true(x, e->arg[i], f)) return eval(x, e->arg[i + 1], f);
    return i < e->n ? eval(x, e->arg[i], f) : value_null();
}

static value extreme(sql_exec *x, const expr *e, frame *f)
{
    assert(e->op == 1 || e->op == -1);
    value best = value_null();
    for (uint32_t i = 0; i < e->n; i++) {
        value v = eval(x, e->arg[i], f);
        if (v.null) continue;
        if (best.null || value_cmp(e->t.id, v, best) * e->op > 0) best = v;
    }
    return best;
}

static value concat(sql_exec *x, value a, value b)
{
    assert(!a.null && !b.null && !a.open && !b.open);
    size_t n = (size_t)a.n + b.n;
    if (n > UINT32_MAX / 4) sql_raise(&x->c, "54000", "requested length too large");
    char *t = arena_get(&x->work, n + 1);
    memcpy(t, a.s, a.n);
    memcpy(t + a.n, b.s, b.n);
    return value_text(t, n);
}

/* Every value as it is printed; nulls are left out, and so is all after a null separator. */
static value texts(sql_exec *x, const expr *e, frame *f)
{
    strbuf b;
    value *v = eval_args(x, e, f);
    assert(e->n && (e->op == 0 || e->op == 1));
    if (e->op && v[0].null) return value_null();
    bool any = false;
    strbuf_init(&b, x->work.mem);
    for (uint32_t i = e->op ? 1 : 0; i < e->n; i++) {
        if (v[i].null) continue;
        if (any && e->op) value_write(&x->c, e->arg[0]->t.id, v[0], &b);
        value_write(&x->c, e->arg[i]->t.id, v[i], &b);
        any = true;
    }
    value r = value_text(arena_text(&x->work, b.n ? b.at : "", b.n), b.n);
    strbuf_free(&b);
    return r;
}

static value is_bool(int test, value v)
{
    assert(test >= TEST_TRUE && test <= TEST_NOT_UNKNOWN && !v.open);
    bool t = !v.null && v.i, f = !v.null && !v.i;
    switch (test) {
    case TEST_TRUE: return value_bool(t);
    case TEST_NOT_TRUE: return value_bool(!t);
    case TEST_FALSE: return value_bool(f);
    case TEST_NOT_FALSE: return value_bool(!f);
    case TEST_UNKNOWN: return value_bool(v.null);
    default: return value_bool(!v.null);
    }
}

static void only_ascii(sql_exec *x, const expr *e, value v)
{
    for (uint32_t i = 0; i < v.n; i++)
        if ((unsigned char)v.s[i] >= 0x80)
            sql_refuse(&x->c, e->position, "a pattern or text beyond ASCII here");
}

static bool fits_pattern(sql_exec *x, const expr *e, value text, value pattern)
{
    if (e->op & (LIKE_ANY_CASE | LIKE_REGEX)) {
        only_ascii(x, e, text);
        only_ascii(x, e, pattern);
    }
    if (e->op & LIKE_REGEX)
        return regex_fits(x, e->position, pattern, text, (e->op & LIKE_ANY_CASE) != 0);
    if (e->op & LIKE_ANY_CASE) {
        text = in_case(x, text, false);
        pattern = in_case(x, pattern, false);
    }
    return like(x, text.s, text.s + text.n, pattern.s, pattern.s + pattern.n);
}

static int any_compares(const expr *e)
{
    return e->op & ~(ALL_OF | NEAR_OUTER_JOIN);
}

/* ANY: true if one element compares so; ALL: if every one does.  With no element it does not matter
   that the left side is null. */
static value any_of_none(sql_exec *x, const expr *e, value v)
{
    /* PostgreSQL's planner takes ANY for strict, and may drop the rows of an outer join for which
       it is not: `(b.y = ANY ('{}')) IS FALSE`. */
    if (v.null && e->op & NEAR_OUTER_JOIN)
        sql_refuse(&x->c, e->position, "ANY of no element near an outer join");
    return value_bool((e->op & ALL_OF) != 0);
}

static value any_of_text(sql_exec *x, const expr *e, value v, value array)
{
    const char *at = array.s, *end = array.s + array.n;
    bool all = (e->op & ALL_OF) != 0, unknown = false;
    value item;
    uint32_t n = 0;
    array_begin(x, e->position, &at, end);
    for (; array_item(x, e->position, &at, end, &item); n++) {
        guard_tick(x->c.guard);
        if (item.null || v.null) {
            unknown = true;
            continue;
        }
        item = value_parse(&x->c, type_plain(e->sub), item.s, item.n);
        if (eval_compares(any_compares(e), value_cmp(e->sub, v, item)) != all)
            return value_bool(!all);
    }
    if (!n) return any_of_none(x, e, v);
    return unknown ? value_null() : value_bool(all);
}

static value any_of_array(sql_exec *x, const expr *e, value v, value array)
{
    array_walk w = array_begin_walk(e->sub, array);
    bool all = (e->op & ALL_OF) != 0, unknown = false;
    value item;
    uint32_t n = 0;
    for (; array_next(&w, &item); n++) {
        guard_tick(x->c.guard);
        if (item.null || v.null)
            unknown = true;
        else if (eval_compares(any_compares(e), value_cmp(e->sub, v, item)) != all)
            return value_bool(!all);
    }
    if (!n) return any_of_none(x, e, v);
    return unknown ? value_null() : value_bool(all);
}

static value strict_two(sql_exec *x, const expr *e, value a, value b)
{
    if (b.null || (a.null && e->kind != E_ANY)) return value_null();
    switch (e->kind) {
    case E_COMPARE: return value_bool(eval_compares(e->op, value_cmp(e->sub, a, b)));
    case E_ARITH:
        if (type_is_float(e->t.id))
            return float_arith(&x->c, e->t.id, e->op, value_double(a), value_double(b));
        return e->t.id == T_NUMERIC ? arith_num(x, e->op, a.d, b.d) : arith_int(x, e, a.i, b.i);
    case E_CONCAT: return concat(x, a, b);
    case E_ANY:
        return type_is_array(e->arg[1]->t.id) ? any_of_array(x, e, a, b) : any_of_text(x, e, a, b);
    default: {
        bool r = fits_pattern(x, e, a, b);
        return value_bool(e->op & LIKE_NOT ? !r : r);
    }
    }
}

static value call_strict(sql_exec *x, const expr *e, frame *f)
{
    value v[3] = {{0}};
    assert(e->n <= 3);
    bool null = false;
    for (uint32_t i = 0; i < e->n; i++) {
        v[i] = eval(x, e->arg[i], f);
        null |= v[i].null;
    }
    return null ? value_null() : call(x, e, v);
}

static value known(sql_exec *x, const expr *e, value v)
{
    if (v.open)
        sql_refuse(&x->c, e->position, "a value that a sequence, clock or random function gave");
    return v;
}

/* Fresh: with the number of its sequence, if it is one's. */
static value drawn(sql_exec *x, const expr *e)
{
    if (e->op == OPEN_CLOCK) return clock_drawn(x, e);
    value v = value_open();
    v.n = e->index;
    return v;
}

/* now() + interval '1 day': what is made of a fresh value is fresh, unless something is null. */
static bool of_clock(sql_exec *x, const expr *e, frame *f)
{
    bool open = false;
    for (uint32_t i = 0; i < e->n; i++) {
        const expr *in = e->arg[i];
        while (in->kind == E_CAST) in = in->arg[0];
        if (in->kind == E_OPEN)
            open = true;
        else if (in->kind == E_CONST && in->v.null)
            return false;
    }
    for (uint32_t i = 0; open && i < e->n; i++) {
        const expr *in = e->arg[i];
        while (in->kind == E_CAST) in = in->arg[0];
        if (in->kind != E_OPEN && eval(x, e->arg[i], f).null) return false;
    }
    return open && !(e->builtin->flags & (BUILTIN_NULLS | BUILTIN_STABLE));
}

/* CASE and COALESCE pass one of their arguments on. */
static value passed_on(sql_exec *x, const expr *e, frame *f)
{
    uint32_t i = 0;
    if (e->kind == E_CASE) {
        while (i + 1 < e->n && !eval_true(x, e->arg[i], f)) i += 2;
        if (i < e->n) i += i + 1 < e->n;
        return i < e->n ? eval_open(x, e->arg[i], f) : value_null();
    }
    for (; i < e->n; i++) {
        value v = eval_open(x, e->arg[i], f);
        if (x->s->null_settings) v = known(x, e->arg[i], v);
        if (v.open || !v.null) return v;
    }
    return value_null();
}

value eval_open(sql_exec *x, const expr *e, frame *f)
{
    const expr *in = e;
    while (in->kind == E_CAST) in = in->arg[0];
    if (in->kind == E_OPEN) return drawn(x, in);
    if (e->kind == E_CASE || e->kind == E_COALESCE) return passed_on(x, e, f);
    if (in->kind == E_CASE || in->kind == E_COALESCE) {
        value v = eval_open(x, e->arg[0], f);
        return v.open ? v : value_cast(&x->c, v, e->arg[0]->t, e->t, e->cast);
    }
    if (in->kind == E_BUILTIN && of_clock(x, in, f)) return value_open();
    value v = value_null();
    if (in->kind == E_VAR) v = pl_value(x, in);
    if (in->kind == E_COLUMN) {
        const frame *of = f;
        for (uint32_t i = 0; i < in->up; i++) of = of->up;
        const value *r = of->slots[in->slot];
        if (r) v = vs_known(x->s, r[in->index]);
    }
    return v.open ? v : eval(x, e, f);
}

value *eval_args(sql_exec *x, const expr *e, frame *f)
{
    value *v = arena_array(&x->work, value, e->n + 1);
    for (uint32_t i = 0; i < e->n; i++) v[i] = eval(x, e->arg[i], f);
    return v;
}

static value call_builtin(sql_exec *x, const expr *e, frame *f)
{
    /* the subscripts of a null container are not evaluated (ExecInitSubscriptingRef) */
    if (*e->builtin->name == '[' && eval(x, e->arg[0], f).null) return value_null();
    value *v = eval_args(x, e, f);
    for (uint32_t i = 0; i < e->n && !(e->builtin->flags & BUILTIN_NULLS); i++)
        if (v[i].null) return value_null();
    return e->builtin->run(x, e, v);
}

/* Args 0 and 1 are compared as `sub`, arg 2 is the result. */
static value null_if(sql_exec *x, const expr *e, frame *f)
{
    value a = eval(x, e->arg[0], f), b = eval(x, e->arg[1], f);
    if (!a.null && !b.null && !value_cmp(e->sub, a, b)) return value_null();
    return eval(x, e->arg[2], f);
}

/* The kinds that conditions on rows seldom have. */
static value eval_seldom(sql_exec *x, const expr *e, frame *f)
{
    switch (e->kind) {
    case E_IS_NULL: { /* what a clock or sequence gave is not null, whatever it is */
        value v = eval_open(x, e->arg[0], f);
        if (x->s->null_settings) v = known(x, e->arg[0], v);
        return value_bool((!v.open && v.null) == !e->op);
    }
    case E_IS_BOOL: return is_bool(e->op, eval(x, e->arg[0], f));
    case E_DISTINCT: {
        value a = eval(x, e->arg[0], f);
        bool same = value_same(e->sub, a, eval(x, e->arg[1], f));
        return value_bool(same == (e->op != 0));
    }
    case E_CASE: return choice(x, e, f);
    case E_COALESCE:
        for (uint32_t i = 0; i < e->n; i++) {
            value v = eval(x, e->arg[i], f);
            if (!v.null) return v;
        }
        return value_null();
    case E_NULLIF: return null_if(x, e, f);
    case E_EXTREME: return extreme(x, e, f);
    case E_CAST: {
        value v = eval(x, e->arg[0], f);
        return e->clocked ? v : value_cast(&x->c, v, e->arg[0]->t, e->t, e->cast);
    }
    case E_CALL: return call_strict(x, e, f);
    case E_BUILTIN: return call_builtin(x, e, f);
    case E_TEXTS: return texts(x, e, f);
    case E_EXISTS: {
        sql_result r;
        exec_query(x, e->q, f, &r);
        uint64_t n = r.n > r.offset ? r.n - r.offset : 0;
        return value_bool(n && (!r.has_limit || r.limit));
    }
    case E_IN_QUERY: return in_query(x, e, f);
    case E_SCALAR: return scalar(x, e, f);
    case E_AGGREGATE: return f->aggs[e->index];
    case E_OPEN: return known(x, e, drawn(x, e));
    case E_VAR: return known(x, e, pl_value(x, e));
    case E_ROUTINE: return pl_call(x, e->routine, eval_args(x, e, f), NULL);
    default: assert(false && "a kind of expression that eval() handles");
    }
    return value_null();
}

value eval(sql_exec *x, const expr *e, frame *f)
{
    switch (e->kind) {
    case E_CONST: return e->v;
    case E_PARAM: return x->regs.params[e->index];
    case E_COLUMN: {
        for (uint32_t i = 0; i < e->up; i++) f = f->up;
        const value *r = f->slots[e->slot];
        if (!r) return value_null();
        value v = vs_known(x->s, r[e->index]);
        return v.open ? known(x, e, clock_stored(x, v)) : v;
    }
    case E_AND:
    case E_OR: return junction(x, e, f);
    case E_NOT: {
        value v = eval(x, e->arg[0], f);
        return v.null ? v : value_bool(!v.i);
    }
    case E_COMPARE:
        if (e->clocked) return clock_compare(x, e, f);
        /* fall through */
    case E_ARITH:
    case E_CONCAT:
    case E_ANY:
    case E_LIKE: {
        value a = eval(x, e->arg[0], f);
        return strict_two(x, e, a, eval(x, e->arg[1], f));
    }
    case E_NEGATE: {
        value v = eval(x, e->arg[0], f);
        if (v.null) return v;
        if (e->t.id == T_NUMERIC) return value_num(num_neg(&x->work, v.d));
        if (type_is_float(e->t.id)) return value_float(-value_double(v));
        if (v.i == INT64_MIN) sql_raise(&x->c, "22003", "bigint out of range");
        return value_int(value_int_range(&x->c, e->t.id, -v.i));
    }
    default: return eval_seldom(x, e, f);
    }
}

bool eval_true(sql_exec *x, const expr *e, frame *f)
{
    value v = eval(x, e, f);
    return !v.null && v.i;
}
