/*
 * z3.c - see smt.h; Z3 through its C interface.
 *
 * Contexts without reference counts: what is made lives until the context is deleted, and the
 * array of handles is all that is kept here.  Errors are looked up, never thrown: after one, every
 * answer is `unknown`.
 */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <z3.h>

#include "base/vec.h"
#include "audit/smt.h"

struct smt {
    Z3_context c;
    Z3_solver s;
    Z3_model model;
    Z3_sort ints, bools;
    mem *m;
    VEC(Z3_ast) made;
    VEC(Z3_ast) parts;
    unsigned bits; /* 0: whole numbers without bound */
    bool failed;
};

bool smt_here(const char **why)
{
    *why = NULL;
    return true;
}

static void keep_quiet(Z3_context c, Z3_error_code e)
{
    (void)c, (void)e;
}

smt *smt_open(mem *m, size_t mib, unsigned bits)
{
    smt *s = mem_zeroed(m, sizeof *s);
    s->m = m;
    if (mib) {
        char text[32];
        snprintf(text, sizeof text, "%zu", mib);
        Z3_global_param_set("memory_max_size", text);
    }
    Z3_config config = Z3_mk_config();
    s->c = Z3_mk_context(config);
    Z3_del_config(config);
    if (!s->c) return NULL;
    Z3_set_error_handler(s->c, keep_quiet);
    s->s = Z3_mk_solver_for_logic(s->c, Z3_mk_string_symbol(s->c, bits ? "QF_BV" : "QF_LIA"));
    Z3_solver_inc_ref(s->c, s->s);
    s->bits = bits;
    s->ints = bits ? Z3_mk_bv_sort(s->c, bits) : Z3_mk_int_sort(s->c);
    s->bools = Z3_mk_bool_sort(s->c);
    return s;
}

void smt_close(smt *s)
{
    if (!s) return;
    if (s->model) Z3_model_dec_ref(s->c, s->model);
    Z3_solver_dec_ref(s->c, s->s);
    Z3_del_context(s->c);
    vec_free(s->m, &s->made);
    vec_free(s->m, &s->parts);
    mem_put(s->m, s);
}

static uint32_t keep(smt *s, Z3_ast a)
{
    if (!a || Z3_get_error_code(s->c) != Z3_OK || s->made.n > UINT32_MAX / 4) s->failed = true;
    if (s->failed) return 0;
    vec_push(s->m, &s->made, a);
    return (uint32_t)s->made.n - 1;
}

static Z3_ast formula(const smt *s, uint32_t f)
{
    if (s->failed || f / 2 >= s->made.n) return Z3_mk_true(s->c);
    return f & 1 ? Z3_mk_not(s->c, s->made.at[f / 2]) : s->made.at[f / 2];
}

static Z3_ast number_ast(const smt *s, uint32_t t)
{
    return s->failed || t >= s->made.n ? Z3_mk_int(s->c, 0, s->ints) : s->made.at[t];
}

uint32_t smt_bool(smt *s)
{
    return 2 * keep(s, Z3_mk_fresh_const(s->c, "b", s->bools));
}

static void parts_of(smt *s, const uint32_t *f, size_t n)
{
    s->parts.n = 0;
    for (size_t i = 0; i < n; i++) vec_push(s->m, &s->parts, formula(s, f[i]));
}

uint32_t smt_and(smt *s, const uint32_t *f, size_t n)
{
    parts_of(s, f, n);
    return 2 * keep(s, Z3_mk_and(s->c, (unsigned)n, s->parts.at));
}

uint32_t smt_at_most(smt *s, uint32_t a, uint32_t b)
{
    Z3_ast x = number_ast(s, a), y = number_ast(s, b);
    return 2 * keep(s, s->bits ? Z3_mk_bvsle(s->c, x, y) : Z3_mk_le(s->c, x, y));
}

static Z3_ast constant(smt *s, const char *digits)
{
    if (!s->bits) return Z3_mk_numeral(s->c, digits, s->ints);
    return Z3_mk_int64(s->c, strtoll(digits, NULL, 10), s->ints);
}

uint32_t smt_const(smt *s, const char *digits)
{
    return keep(s, constant(s, digits));
}

uint32_t smt_ite(smt *s, uint32_t when, uint32_t a, uint32_t b)
{
    return keep(s, Z3_mk_ite(s->c, formula(s, when), number_ast(s, a), number_ast(s, b)));
}

uint32_t smt_add(smt *s, uint32_t a, uint32_t b)
{
    Z3_ast two[2] = {number_ast(s, a), number_ast(s, b)};
    return keep(s, s->bits ? Z3_mk_bvadd(s->c, two[0], two[1]) : Z3_mk_add(s->c, 2, two));
}

uint32_t smt_times(smt *s, uint32_t a, const char *digits)
{
    Z3_ast two[2] = {number_ast(s, a), constant(s, digits)};
    return keep(s, s->bits ? Z3_mk_bvmul(s->c, two[0], two[1]) : Z3_mk_mul(s->c, 2, two));
}

void smt_assert(smt *s, const uint32_t *any, size_t n)
{
    parts_of(s, any, n);
    const Z3_ast *at = s->parts.at;
    Z3_solver_assert(s->c, s->s, n == 1 ? at[0] : Z3_mk_or(s->c, (unsigned)n, at));
    if (Z3_get_error_code(s->c) != Z3_OK) s->failed = true;
}

/* Roughly what Z3 4.8.12 does in a millisecond of CPU time, measured on four kinds of problems:
   clauses alone 850, integers that all differ 2080, linear sums 2030, products 3750.  So a check
   lasts from 0.4 to 1.8 times what it was given. */
enum { STEPS_PER_MS = 1500 };

smt_answer smt_check(smt *s, unsigned ms)
{
    if (s->failed) return SMT_UNKNOWN;
    Z3_params p = Z3_mk_params(s->c);
    Z3_params_inc_ref(s->c, p);
    /* Steps instead of "timeout": Z3's timer is a thread, and Z3 4.8.12 was seen to wait for ever
       for the timer's lock, which it held itself.  So the limit is approximate. */
    unsigned steps = ms < UINT_MAX / STEPS_PER_MS ? ms * STEPS_PER_MS : UINT_MAX;
    Z3_params_set_uint(s->c, p, Z3_mk_string_symbol(s->c, "rlimit"), steps);
    Z3_solver_set_params(s->c, s->s, p);
    Z3_params_dec_ref(s->c, p);
    Z3_lbool r = Z3_solver_check(s->c, s->s);
    if (r == Z3_L_UNDEF || Z3_get_error_code(s->c) != Z3_OK) return SMT_UNKNOWN;
    if (r == Z3_L_FALSE) return SMT_UNSAT;
    s->model = Z3_solver_get_model(s->c, s->s);
    if (!s->model) return SMT_UNKNOWN;
    Z3_model_inc_ref(s->c, s->model);
    return SMT_SAT;
}

bool smt_true(const smt *s, uint32_t f)
{
    Z3_ast v = NULL;
    if (!s->model || !Z3_model_eval(s->c, s->model, formula(s, f), true, &v) || !v) return false;
    return Z3_get_bool_value(s->c, v) == Z3_L_TRUE;
}

/* --- whole problems as text --- */

struct smt_text {
    Z3_context c;
    Z3_solver s;
    Z3_model model;
    Z3_sort ints, bools;
    size_t mib; /* memory that it may take; 0: any */
};

smt_text *smt_text_open(size_t mib)
{
    smt_text *t = mem_libc(NULL, NULL, 0, sizeof *t);
    if (!t) return NULL;
    *t = (smt_text){.mib = mib};
    Z3_config config = Z3_mk_config();
    t->c = Z3_mk_context(config);
    Z3_del_config(config);
    if (!t->c) {
        mem_libc(NULL, t, sizeof *t, 0);
        return NULL;
    }
    Z3_set_error_handler(t->c, keep_quiet);
    t->ints = Z3_mk_int_sort(t->c);
    t->bools = Z3_mk_bool_sort(t->c);
    return t;
}

static void forget_solver(smt_text *t)
{
    if (t->model) Z3_model_dec_ref(t->c, t->model);
    if (t->s) Z3_solver_dec_ref(t->c, t->s);
    t->model = NULL;
    t->s = NULL;
}

void smt_text_close(smt_text *t)
{
    if (!t) return;
    forget_solver(t);
    Z3_del_context(t->c);
    mem_libc(NULL, t, sizeof *t, 0);
}

/* Looked at between rounds: with a limit of its own (memory_max_size), Z3 ends the whole process
   when a problem that was read as text reaches it. */
static bool is_full(const smt_text *t)
{
    return t->mib && Z3_get_estimated_alloc_size() >> 20 >= t->mib;
}

static Z3_lbool check_steps(smt_text *t, unsigned steps)
{
    Z3_params p = Z3_mk_params(t->c);
    Z3_params_inc_ref(t->c, p);
    Z3_params_set_uint(t->c, p, Z3_mk_string_symbol(t->c, "rlimit"), steps);
    Z3_solver_set_params(t->c, t->s, p);
    Z3_params_dec_ref(t->c, p);
    return Z3_solver_check(t->c, t->s);
}

smt_answer smt_text_solve(smt_text *t, const char *problem, int (*stop)(void *ud), void *ud)
{
    assert(problem && stop);
    forget_solver(t);
    t->s = Z3_mk_solver_for_logic(t->c, Z3_mk_string_symbol(t->c, "QF_IDL"));
    if (!t->s) return SMT_UNKNOWN;
    Z3_solver_inc_ref(t->c, t->s);
    Z3_solver_from_string(t->c, t->s, problem);
    if (Z3_get_error_code(t->c) != Z3_OK) return SMT_UNKNOWN;
    Z3_lbool r = Z3_L_UNDEF;
    for (unsigned steps = 4000000; r == Z3_L_UNDEF && !stop(ud) && !is_full(t); steps *= 2) {
        r = check_steps(t, steps);
        if (Z3_get_error_code(t->c) != Z3_OK || steps > UINT_MAX / 2) break;
    }
    if (r == Z3_L_UNDEF || Z3_get_error_code(t->c) != Z3_OK) return SMT_UNKNOWN;
    if (r == Z3_L_FALSE) return SMT_UNSAT;
    t->model = Z3_solver_get_model(t->c, t->s);
    if (!t->model) return SMT_UNKNOWN;
    Z3_model_inc_ref(t->c, t->model);
    return SMT_SAT;
}

/* Names of events begin with e, and are whole numbers; all others are Booleans. */
int64_t smt_text_value(smt_text *t, const char *name)
{
    Z3_ast v = NULL;
    int64_t number = 0;
    assert(name && *name);
    if (!t->model) return 0;
    Z3_ast x =
        Z3_mk_const(t->c, Z3_mk_string_symbol(t->c, name), name[0] == 'e' ? t->ints : t->bools);
    if (!Z3_model_eval(t->c, t->model, x, true, &v) || !v) return 0;
    if (name[0] == 'e') return Z3_get_numeral_int64(t->c, v, &number) ? number : 0;
    return Z3_get_bool_value(t->c, v) == Z3_L_TRUE;
}
