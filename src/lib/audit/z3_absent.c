/*
 * z3_absent.c - the room in a build without Z3: it says so, and nobody opens a solver.
 */
#include "audit/smt.h"

bool smt_here(const char **why)
{
    *why = "sums of unknown numbers, and this build has no Z3 (Debian: libz3-dev)";
    return false;
}

smt *smt_open(mem *m, size_t mib, unsigned bits)
{
    (void)m, (void)mib, (void)bits;
    return NULL;
}

void smt_close(smt *s)
{
    (void)s;
}

uint32_t smt_bool(smt *s)
{
    (void)s;
    return 0;
}

uint32_t smt_and(smt *s, const uint32_t *f, size_t n)
{
    (void)s, (void)f, (void)n;
    return 0;
}

uint32_t smt_at_most(smt *s, uint32_t a, uint32_t b)
{
    (void)s, (void)a, (void)b;
    return 0;
}

uint32_t smt_const(smt *s, const char *digits)
{
    (void)s, (void)digits;
    return 0;
}

uint32_t smt_ite(smt *s, uint32_t when, uint32_t a, uint32_t b)
{
    (void)s, (void)when, (void)a, (void)b;
    return 0;
}

uint32_t smt_add(smt *s, uint32_t a, uint32_t b)
{
    (void)s, (void)a, (void)b;
    return 0;
}

uint32_t smt_times(smt *s, uint32_t a, const char *digits)
{
    (void)s, (void)a, (void)digits;
    return 0;
}

void smt_assert(smt *s, const uint32_t *any, size_t n)
{
    (void)s, (void)any, (void)n;
}

smt_answer smt_check(smt *s, unsigned ms)
{
    (void)s, (void)ms;
    return SMT_UNKNOWN;
}

bool smt_true(const smt *s, uint32_t f)
{
    (void)s, (void)f;
    return false;
}

smt_text *smt_text_open(size_t mib)
{
    (void)mib;
    return NULL;
}

void smt_text_close(smt_text *t)
{
    (void)t;
}

smt_answer smt_text_solve(smt_text *t, const char *problem, int (*stop)(void *ud), void *ud)
{
    (void)t, (void)problem, (void)stop, (void)ud;
    return SMT_UNKNOWN;
}

int64_t smt_text_value(smt_text *t, const char *name)
{
    (void)t, (void)name;
    return 0;
}
