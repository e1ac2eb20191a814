/*
 * cadical.c - CaDiCaL through its C interface, as an engine of synth and as a back end of check.
 *
 * IPASIR numbers variables from 1 and signs literals.  CaDiCaL throws away variables that it has
 * eliminated unless they are frozen, but brings them back by itself when a clause or an assumption
 * names them again (its default, "restore"), so nothing is frozen here.
 */
#include <ccadical.h>
#include <stdlib.h>

#include "cli/backends.h"
#include "cli/synth_engines.h"

static int literal(uint32_t lit)
{
    int v = (int)(lit >> 1) + 1;
    return lit & 1 ? -v : v;
}

static void *open_cadical(void)
{
    CCaDiCaL *c = ccadical_init();
    if (c) ccadical_set_option(c, "quiet", 1);
    return c;
}

static void close_cadical(void *state)
{
    ccadical_release(state);
}

static void add_clause(void *state, const uint32_t *lits, size_t n)
{
    for (size_t i = 0; i < n; i++) ccadical_add(state, literal(lits[i]));
    ccadical_add(state, 0);
}

static int solve(void *state, const uint32_t *assume, size_t n, int (*stop)(void *ud), void *ud)
{
    ccadical_set_terminate(state, ud, stop);
    for (size_t i = 0; i < n; i++) ccadical_assume(state, literal(assume[i]));
    int got = ccadical_solve(state);
    ccadical_set_terminate(state, NULL, NULL);
    return got;
}

/* Versions differ in what they return for a false literal of negative sign; of a variable, all
   return something positive if it is true. */
static bool value(void *state, uint32_t lit)
{
    return (ccadical_val(state, literal(lit & ~1u)) > 0) != (lit & 1);
}

const synth_engine engine_cadical = {
    .name = "cadical",
    .open = open_cadical,
    .close = close_cadical,
    .clause = add_clause,
    .solve = solve,
    .value = value,
};

/* --- as a back end of check --- */

/* DIMACS text that the library wrote: comments, a header, and numbers. */
static void add_dimacs(CCaDiCaL *c, const char *p)
{
    while (*p) {
        if (*p == 'c' || *p == 'p') {
            while (*p && *p != '\n') p++;
        } else if (*p == '\n' || *p == ' ') {
            p++;
        } else {
            char *end;
            ccadical_add(c, (int)strtol(p, &end, 10));
            if (end == p) return; /* not ours */
            p = end;
        }
    }
}

typedef struct dimacs_solver {
    CCaDiCaL *c;
    uint64_t mib; /* that it may take; 0: any */
} dimacs_solver;

typedef struct limits {
    int (*stop)(void *ud);
    void *ud;
    uint64_t most_kib; /* of the process; 0: any */
} limits;

static int stop_or_full(void *ud)
{
    const limits *l = ud;
    return (l->most_kib && peak_rss_kib() > l->most_kib) || l->stop(l->ud);
}

static int solve_dimacs(void *ud, const char *problem, size_t n, int (*stop)(void *), void *stop_ud)
{
    dimacs_solver *s = ud;
    limits l = {stop, stop_ud,
                s->mib && s->mib < UINT64_MAX >> 20 ? peak_rss_kib() + (s->mib << 10) : 0};
    (void)n; /* the text ends with a NUL byte */
    if (s->c) ccadical_release(s->c);
    s->c = open_cadical();
    if (!s->c) return 0;
    add_dimacs(s->c, problem);
    ccadical_set_terminate(s->c, &l, stop_or_full);
    int got = ccadical_solve(s->c);
    ccadical_set_terminate(s->c, NULL, NULL);
    return got;
}

static int64_t dimacs_value(void *ud, const char *name)
{
    const dimacs_solver *s = ud;
    return ccadical_val(s->c, (int)strtol(name, NULL, 10)) > 0;
}

ratel_backend *cadical_backend(uint64_t mib)
{
    ratel_backend *b = calloc(1, sizeof *b);
    dimacs_solver *s = calloc(1, sizeof *s);
    if (!b || !s) {
        free(b);
        free(s);
        return NULL;
    }
    s->mib = mib;
    *b = (ratel_backend){"cadical", "dimacs", solve_dimacs, dimacs_value, NULL};
    b->payload = s; /* by itself: cppcheck does not see that the initialiser keeps it */
    return b;
}

void cadical_backend_close(ratel_backend *b)
{
    dimacs_solver *s = b->payload;
    if (s->c) ccadical_release(s->c);
    free(s);
    free(b);
}
