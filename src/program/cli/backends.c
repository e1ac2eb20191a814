/*
 * backends.c - see backends.h: the table of solvers, and what --backend and --emit exclude.
 */
#include "cli/backends.h"

#include <stdlib.h>
#include <string.h>

#include "audit/smt.h"
#include "config.h"

static int solve_z3(void *ud, const char *problem, size_t n, int (*stop)(void *), void *stop_ud)
{
    (void)n; /* the text ends with a NUL byte */
    return (int)smt_text_solve(ud, problem, stop, stop_ud);
}

static int64_t value_z3(void *ud, const char *name)
{
    return smt_text_value(ud, name);
}

static ratel_backend *z3_backend(uint64_t mib)
{
    ratel_backend *b = calloc(1, sizeof *b);
    smt_text *t = b ? smt_text_open((size_t)mib) : NULL;
    if (!t) {
        free(b);
        return NULL;
    }
    *b = (ratel_backend){"z3", "smt2", solve_z3, value_z3, t};
    return b;
}

static void z3_backend_close(ratel_backend *b)
{
    smt_text_close(b->payload);
    free(b);
}

#ifndef HAVE_CADICAL
ratel_backend *cadical_backend(uint64_t mib)
{
    (void)mib;
    return NULL;
}

void cadical_backend_close(ratel_backend *b)
{
    (void)b;
}
#endif

static const struct {
    const char *name;
    bool here;
    const char *package;
    ratel_backend *(*open)(uint64_t mib);
    void (*close)(ratel_backend *b);
} backends[] = {
#ifdef HAVE_Z3
    {"z3", true, "libz3-dev", z3_backend, z3_backend_close},
#else
    {"z3", false, "libz3-dev", z3_backend, z3_backend_close},
#endif
#ifdef HAVE_CADICAL
    {"cadical", true, "libcadical-dev", cadical_backend, cadical_backend_close},
#else
    {"cadical", false, "libcadical-dev", cadical_backend, cadical_backend_close},
#endif
};
enum { BACKENDS = sizeof backends / sizeof *backends };

/* What would be answered by our own engine must not look as if the other solver had said it. */
static bool options_fit(const args *a)
{
    static const enum option_id own[] = {O_CERTIFICATE, O_COVERAGE, O_ALL_ANOMALIES,
                                         O_DUMP,        O_STRATEGY, O_PORTFOLIO};
    const char *what = a->value[O_EMIT] ? "emit" : "backend";
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (a->value[own[i]]) {
            complain("check: --%s cannot be combined with --%s", what, option_table[own[i]].name);
            return false;
        }
    if (a->value[O_EMIT] && a->n_files > 1) {
        complain(
            "check: --emit %s takes one history, and %zu files were given; the formula goes to "
            "standard output, or to a file with -o FILE",
            a->value[O_EMIT], a->n_files);
        return false;
    }
    if (a->value[O_EMIT] && (a->value[O_JSON] || a->value[O_RECHECK])) {
        complain("check: --emit writes a formula and gives no answer: leave out --json, --recheck");
        return false;
    }
    return true;
}

static bool encoding_known(const char *name)
{
    const char *known;
    for (size_t i = 0; !ratel_encoding_at(&known, NULL, i); i++)
        if (!strcmp(known, name)) return true;
    complain("--encoding: \"%s\" is not one of plain, gsi, adya, viper, polysi", name);
    return false;
}

bool backend_open(args *a, bool searched)
{
    const char *name = a->value[O_BACKEND];
    bool other = name && strcmp(name, "own") != 0;
    if (a->value[O_ENCODING] && !encoding_known(a->value[O_ENCODING])) return false;
    if (a->value[O_ENCODING] && !other && !a->value[O_EMIT]) {
        complain("check: --encoding is for --emit and for --backend z3 or cadical");
        return false;
    }
    if (!other && !a->value[O_EMIT]) return true;
    if (!options_fit(a)) return false;
    if (searched) {
        complain("check: --backend and --emit need built-in levels");
        return false;
    }
    for (size_t i = 0; other && i < BACKENDS; i++) {
        if (strcmp(backends[i].name, name)) continue;
        if (!backends[i].here) {
            complain("--backend: this build has no %s (Debian: %s)", name, backends[i].package);
            return false;
        }
        uint64_t mib = 0; /* beside what the library takes for the history and the formula */
        if (!args_u64(a, O_MEMORY, &mib)) return false;
        a->backend = backends[i].open(mib);
        if (!a->backend) complain("out of memory");
        return a->backend != NULL;
    }
    if (other) complain("--backend: \"%s\" is not one of own, z3, cadical", name);
    return !other;
}

void backend_close(args *a)
{
    for (size_t i = 0; a->backend && i < BACKENDS; i++)
        if (!strcmp(backends[i].name, a->backend->name)) {
            backends[i].close(a->backend);
            break;
        }
    a->backend = NULL;
}

int check_by_backend(const args *a, ratel_result **out, const ratel_history *h, const char *level)
{
    if (!a->backend) return ratel_check(out, a->context, h, level);
    return ratel_check_by(out, a->context, h, level, a->value[O_ENCODING], a->backend);
}

int emit_level(const args *a, const ratel_history *h, const char *level, FILE *out)
{
    return ratel_emit(h, a->context, level, a->value[O_EMIT], a->value[O_ENCODING], write_file_cb,
                      out);
}
