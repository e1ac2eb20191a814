/*
 * symbolic_eval.c - expressions over guarded values.
 *
 * An operator is applied to every combination of its arguments' values by the interpreter itself
 * (sql/eval.c), so that overflow, rounding and nulls are what they are everywhere else; what raises
 * an error for some combination makes the statement fail there.  Sums, differences and comparisons
 * of numbers have a second way, as terms, for lists that would grow too long.
 */
#include <stdio.h>

#include "audit/symbolic_exec.h"

#include <assert.h>

#define MOST_COMBINED 65536u

_Noreturn void sx_refuse(sx *x, const char *what)
{
    sql_refuse(&x->e->x.c, -1, "%s", what);
}

static void fails(sx *x, fm when, const char *state)
{
    bool unclear = x->plan && sql_unclear(&x->e->x, x->plan, state, NULL);
    if (unclear)
        vec_push(x->p.m, &x->murky, when);
    else
        vec_push(x->p.m, &x->bad, when);
}

/* The operator on concrete arguments; false: it raised an error (said) or cannot be told. */
static bool apply(sx *x, const expr *e, const value *args, fm path, value *out)
{
    engine *en = x->e;
    guard *g = en->guard, outer;
    expr leaf[3], *arg[3], op = *e;
    for (uint32_t i = 0; i < e->n; i++) {
        leaf[i] = (expr){.kind = E_CONST, .t = e->arg[i]->t, .v = args[i]};
        arg[i] = &leaf[i];
    }
    op.arg = arg;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        g->code = code;
        if (code == SQL_RAISED) {
            fails(x, path, en->x.c.state);
            return false;
        }
        if (code == SQL_REFUSED) {
            vec_push(x->p.m, &x->murky, path);
            return false;
        }
        guard_fail_again(g);
    }
    *out = eval(&en->x, &op, NULL);
    guard_restore(g, &outer);
    return true;
}

/* ---- terms ----------------------------------------------------------------------------------- */

static const char *tens(sx *x, uint32_t n, const char *sign)
{
    size_t m = strlen(sign);
    char *s = arena_get(&x->work, n + m + 2);
    memset(s, '0', n + m + 1);
    memcpy(s, sign, m);
    s[m] = '1';
    s[n + m + 1] = 0;
    return s;
}

static gval scaled(sx *x, gval v, uint32_t scale)
{
    v.number = term_scale(&x->p, v.number, tens(x, scale - v.scale, ""));
    v.scale = scale;
    return v;
}

static void in_bounds(sx *x, gval v, fm path, const char *low, const char *high)
{
    fm good = fm_and2(&x->p, term_at_most(&x->p, term_const(&x->p, low), v.number),
                      term_at_most(&x->p, v.number, term_const(&x->p, high)));
    fails(x, fm_and(&x->p, (fm[]){path, fm_not(v.null), fm_not(good)}, 3), "22003");
}

static void in_type(sx *x, gval v, type t, fm path)
{
    if (t.id == T_INT2) in_bounds(x, v, path, "-32768", "32767");
    if (t.id == T_INT4) in_bounds(x, v, path, "-2147483648", "2147483647");
    if (t.id == T_INT8) in_bounds(x, v, path, "-9223372036854775808", "9223372036854775807");
    if (t.id != T_NUMERIC || t.width < 0) return;
    /* as many digits as the precision: below 10^precision, scaled */
    uint32_t n = (uint32_t)t.width;
    char *most = arena_get(&x->work, n + 2), *least = arena_get(&x->work, n + 3);
    memset(most, '9', n);
    most[n] = 0;
    snprintf(least, n + 2, "-%s", most);
    in_bounds(x, v, path, least, most);
}

static fm either_null(sx *x, gval a, gval b)
{
    return fm_or2(&x->p, a.null, b.null);
}

static gval bool_of(sx *x, fm yes, fm null)
{
    gmaker_begin(&x->maker, &x->p, T_BOOL);
    gmaker_add(&x->maker, fm_and2(&x->p, yes, fm_not(null)), value_bool(true));
    gmaker_add(&x->maker, fm_and2(&x->p, fm_not(yes), fm_not(null)), value_bool(false));
    gmaker_add(&x->maker, null, value_null());
    return gmaker_end(&x->maker);
}

static bool compare_terms(sx *x, const expr *e, gval a, gval b, gval *out)
{
    uint32_t scale = a.scale > b.scale ? a.scale : b.scale;
    a = scaled(x, a, scale);
    b = scaled(x, b, scale);
    fm le = term_at_most(&x->p, a.number, b.number), ge = term_at_most(&x->p, b.number, a.number);
    fm eq = term_equal(&x->p, a.number, b.number), yes;
    switch ((compare_op)e->op) {
    case OP_EQ: yes = eq; break;
    case OP_NE: yes = fm_not(eq); break;
    case OP_LT: yes = fm_not(ge); break;
    case OP_LE: yes = le; break;
    case OP_GT: yes = fm_not(le); break;
    default: yes = ge;
    }
    *out = bool_of(x, yes, either_null(x, a, b));
    return true;
}

static bool arith_terms(sx *x, const expr *e, gval a, gval b, fm path, gval *out)
{
    if (e->op != '+' && e->op != '-') return false;
    uint32_t scale = a.scale > b.scale ? a.scale : b.scale;
    a = scaled(x, a, scale);
    b = scaled(x, b, scale);
    if (e->op == '-') b.number = term_scale(&x->p, b.number, "-1");
    *out = (gval){.number = term_add(&x->p, a.number, b.number),
                  .scale = scale,
                  .null = either_null(x, a, b)};
    in_type(x, *out, e->t, path);
    return true;
}

static bool cast_term(sx *x, const expr *e, gval a, fm path, gval *out)
{
    type from = e->arg[0]->t, to = e->t;
    if (type_rank(from.id) && type_is_int(to.id) && !a.scale) {
        in_type(x, a, to, path);
        *out = a;
        return true;
    }
    if (!type_rank(from.id) || to.id != T_NUMERIC) return false;
    if (to.width >= 0) {
        if (to.scale < 0 || a.scale > (uint32_t)to.scale) return false;
        a = scaled(x, a, (uint32_t)to.scale);
        in_type(x, a, to, path);
    }
    *out = a;
    return true;
}

/* The operator as a term; false: it is none that terms have. */
static bool as_terms(sx *x, const expr *e, const gval *args, fm path, gval *out)
{
    gval a, b = {0};
    if (!e->n || e->n > 2) return false;
    if (!gval_term(&x->p, e->arg[0]->t.id, args[0], &a)) return false;
    if (e->n == 2 && !gval_term(&x->p, e->arg[1]->t.id, args[1], &b)) return false;
    switch (e->kind) {
    case E_COMPARE: return e->n == 2 && compare_terms(x, e, a, b, out);
    case E_ARITH: return e->n == 2 && arith_terms(x, e, a, b, path, out);
    case E_NEGATE:
        a.number = term_scale(&x->p, a.number, "-1");
        in_type(x, a, e->t, path);
        *out = a;
        return true;
    case E_CAST: return cast_term(x, e, a, path, out);
    case E_IS_NULL: {
        fm yes = e->op ? fm_not(a.null) : a.null;
        *out = bool_of(x, yes, FM_FALSE);
        return true;
    }
    default: return false;
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

gval sx_strict(sx *x, const expr *e, const gval *args, fm path)
{
    assert(e->n && e->n <= 3);
    uint64_t all = 1;
    for (uint32_t i = 0; i < e->n; i++) all *= args[i].n;
    if (e->n > 3) sx_refuse(x, "an operator with more than three arguments of unknown value");
    bool bool_result = e->t.id == T_BOOL;
    uint64_t most = bool_result ? MOST_COMBINED : 4 * gval_most(&x->p);
    gval out;
    if ((!all || all > most) && as_terms(x, e, args, path, &out)) return out;
    if (!all || all > MOST_COMBINED) sx_refuse(x, "an expression with too many possible values");
    gmaker k = {0};
    gmaker_begin(&k, &x->p, e->t.id);
    uint32_t at[3] = {0};
    for (uint64_t c = 0; c < all; c++) {
        fm when[4] = {path};
        value v[3], r;
        for (uint32_t i = 0; i < e->n; i++) {
            when[i + 1] = args[i].at[at[i]].when;
            v[i] = args[i].at[at[i]].v;
        }
        fm here = fm_and(&x->p, when + 1, e->n);
        fm there = fm_and2(&x->p, path, here);
        if (there != FM_FALSE && apply(x, e, v, there, &r)) gmaker_add(&k, here, r);
        for (uint32_t i = 0; i < e->n && ++at[i] == args[i].n; i++) at[i] = 0;
    }
    out = gmaker_end(&k);
    gmaker_free(&k);
    if (out.n > gval_most(&x->p) && !bool_result) {
        gval t;
        if (gval_term(&x->p, e->t.id, out, &t)) return t;
        sx_refuse(x, "an expression with too many possible values");
    }
    return out;
}

static gval truth(sx *x, fm yes, fm no)
{
    gmaker_begin(&x->maker, &x->p, T_BOOL);
    gmaker_add(&x->maker, yes, value_bool(true));
    gmaker_add(&x->maker, no, value_bool(false));
    gmaker_add(&x->maker, fm_and2(&x->p, fm_not(yes), fm_not(no)), value_null());
    return gmaker_end(&x->maker);
}

static fm gval_false(sx *x, gval v)
{
    (void)x;
    for (uint32_t i = 0; i < v.n; i++)
        if (!v.at[i].v.null && !v.at[i].v.i) return v.at[i].when;
    return FM_FALSE;
}

/* AND and OR: an argument is evaluated where those before it do not decide. */
static gval junction(sx *x, const expr *e, sframe *f, fm path)
{
    bool and = e->kind == E_AND;
    fm decided = FM_FALSE, open = FM_TRUE; /* all so far are of the other truth value */
    for (uint32_t i = 0; i < e->n; i++) {
        fm here = fm_and2(&x->p, path, fm_not(decided));
        if (here == FM_FALSE) break;
        gval v = sx_eval(x, e->arg[i], f, here);
        fm yes = gval_true(&x->p, v), no = gval_false(x, v);
        decided = fm_or2(&x->p, decided, and? no : yes);
        open = fm_and2(&x->p, open, and? yes : no);
    }
    return and? truth(x, open, decided) : truth(x, decided, open);
}

static gval pick(sx *x, type_id t, fm when, gval a, gval b)
{
    gval r = gval_ite(&x->p, &x->maker, t, when, a, b);
    if (!r.n && !r.number) sx_refuse(x, "numbers of different scales with too many values");
    return r;
}

static gval choice_of(sx *x, const expr *e, sframe *f, fm path)
{
    VEC(fm) when = {0};
    VEC(gval) v = {0};
    uint32_t i = 0;
    for (; i + 1 < e->n && path != FM_FALSE; i += 2) {
        fm c = sx_true(x, e->arg[i], f, path);
        fm here = fm_and2(&x->p, path, c);
        if (c == FM_FALSE || here == FM_FALSE) continue;
        arena_push(&x->work, &when, c);
        gval r = sx_eval(x, e->arg[i + 1], f, here);
        arena_push(&x->work, &v, r);
        path = fm_and2(&x->p, path, fm_not(c));
    }
    bool otherwise = i < e->n && e->n % 2 == 1 && path != FM_FALSE;
    gval r =
        otherwise ? sx_eval(x, e->arg[e->n - 1], f, path) : gval_of(&x->p, e->t.id, value_null());
    for (size_t k = v.n; k-- > 0;) r = pick(x, e->t.id, when.at[k], v.at[k], r);
    return r;
}

static gval first_given(sx *x, const expr *e, sframe *f, fm path)
{
    VEC(gval) v = {0};
    for (uint32_t i = 0; i < e->n && path != FM_FALSE; i++) {
        gval r = sx_eval(x, e->arg[i], f, path);
        arena_push(&x->work, &v, r);
        path = fm_and2(&x->p, path, gval_null(&x->p, r));
    }
    gval r = v.at[v.n - 1];
    for (size_t k = v.n - 1; k-- > 0;)
        r = pick(x, e->t.id, fm_not(gval_null(&x->p, v.at[k])), v.at[k], r);
    return r;
}

/* GREATEST and LEAST, two by two. */
static gval extreme(sx *x, const expr *e, sframe *f, fm path)
{
    gval r = {0};
    for (uint32_t i = 0; i < e->n; i++) {
        gval v = sx_eval(x, e->arg[i], f, path);
        expr two = *e, *args[2] = {e->arg[i], e->arg[i]};
        two.n = 2;
        two.arg = args;
        r = i ? sx_strict(x, &two, (gval[]){r, v}, path) : v;
    }
    return r;
}

gval sx_eval(sx *x, const expr *e, sframe *f, fm path)
{
    guard_tick(x->p.g);
    switch (e->kind) {
    case E_CONST: return gval_of(&x->p, e->t.id, e->v);
    case E_PARAM: return gval_of(&x->p, e->t.id, x->e->x.regs.params[e->index]);
    case E_COLUMN: {
        for (uint32_t i = 0; i < e->up; i++) f = f->up;
        const gval *r = f->slots[e->slot];
        return r ? r[e->index] : gval_of(&x->p, e->t.id, value_null());
    }
    case E_AND:
    case E_OR: return junction(x, e, f, path);
    case E_CASE: return choice_of(x, e, f, path);
    case E_COALESCE: return first_given(x, e, f, path);
    case E_EXTREME: return extreme(x, e, f, path);
    case E_AGGREGATE: return f->aggs[e->index];
    case E_EXISTS:
    case E_IN_QUERY:
    case E_SCALAR: sx_refuse(x, "a subquery");
    case E_VAR:
    case E_ROUTINE: sx_refuse(x, "a function of the log's own");
    case E_OPEN: sx_refuse(x, "a value that the database chose");
    case E_TEXTS: sx_refuse(x, "concat");
    case E_BUILTIN:
        if (e->n > 3) sx_refuse(x, "a function with more than three arguments");
        break;
    default: break; /* a function of its arguments */
    }
    gval args[3];
    if (e->n > 3) sx_refuse(x, "a function with more than three arguments");
    for (uint32_t i = 0; i < e->n; i++) args[i] = sx_eval(x, e->arg[i], f, path);
    return sx_strict(x, e, args, path);
}

fm sx_true(sx *x, const expr *e, sframe *f, fm path)
{
    gval v = sx_eval(x, e, f, path);
    return gval_true(&x->p, v);
}
