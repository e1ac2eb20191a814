/*
 * diff_modules.c - what modules add, against the oracle (doc/modules.md).
 *
 * Random tiny histories of every profile x random additions (edges, clauses, choices of edge sets,
 * helper points; orders and depends; of committed, aborted and unknown transactions) x levels: the
 * verdicts must be equal to those of the oracle, which tries every set of every choice.  What holds
 * is replayed; every answer has a certificate that verifies against the bare history.  The formula
 * of the same question (ratel_emit), solved by a solver that knows clauses alone, has the same
 * answer.  With nothing added the answers are those of the bare history.
 *
 *     diff_modules [histories [seed [level]]]   default 1500
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "diff/diff_text.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel-module.h"
#define RATEL_EXPERIMENTAL
#include "ratel.h"
#include "solve/dimacs.h"
#include "solve/solve.h"

static const char *const levels[] = {"serializable",
                                     "snapshot-isolation",
                                     "strict-serializable",
                                     "prefix",
                                     "repeatable-read",
                                     "cursor-stability",
                                     "read-committed",
                                     "monotonic-atomic-view",
                                     "generalized-snapshot-isolation",
                                     "prefix-consistent-snapshot-isolation",
                                     "strong-snapshot-isolation",
                                     "realtime-snapshot-isolation",
                                     "mixed",
                                     "mixed-pg",
                                     "read-atomic",
                                     "causal",
                                     "consistent-view",
                                     "parallel-snapshot-isolation",
                                     "monotonic-view",
                                     "update-atomic",
                                     "no-lost-update",
                                     "forward-consistent-view",
                                     "realtime-causal"};
/* Levels that take nothing: violated if the bare history is, else undecided. */
static const char *const refused[] = {"read-uncommitted", "update-serializable", "read-your-writes",
                                      "innodb-repeatable-read"};
enum { LEVELS = sizeof levels / sizeof *levels, PATHS = 14 };
enum { MOST_EDGES = 32, MOST_SETS = 16, MOST_SAID = 4 };

/* --- random additions ---------------------------------------------------------------------- */

typedef struct said {
    ratel_module_edge edge[MOST_EDGES];
    uint32_t size[MOST_SETS], sets, edges;
} said;

typedef struct plan {
    said at[MOST_SAID];
    uint32_t n, points;
} plan;

static ratel_module_edge random_edge(rng *g, uint32_t txns, const plan *p, bool plain, bool depends)
{
    ratel_module_edge e = {(uint32_t)rng_below(g, txns), (uint32_t)rng_below(g, txns),
                           (uint32_t)rng_below(g, 2), (uint32_t)rng_below(g, 2), RATEL_ORDERS};
    if (rng_below(g, 4) == 0) {
        e.from_at = RATEL_COMMIT;
        e.to_at = RATEL_BEGIN;
    }
    if (depends && rng_below(g, 2)) {
        e.from_at = RATEL_COMMIT;
        e.to_at = RATEL_BEGIN;
        e.kind = RATEL_DEPENDS;
    } else if (plain && p->points && rng_below(g, 3) == 0) {
        bool from = rng_below(g, 2);
        uint32_t point = (uint32_t)rng_below(g, p->points);
        if (from) {
            e.from = point;
            e.from_at = RATEL_POINT;
        } else {
            e.to = point;
            e.to_at = RATEL_POINT;
        }
    }
    return e;
}

static void draw(rng *g, uint32_t txns, plan *p)
{
    memset(p, 0, sizeof *p);
    p->n = 1 + (uint32_t)rng_below(g, MOST_SAID);
    if (rng_below(g, 3) == 0) p->points = 1 + (uint32_t)rng_below(g, 2);
    bool chosen = rng_below(g, 2);
    for (uint32_t i = 0; i < p->n; i++) {
        said *s = &p->at[i];
        s->sets = chosen && rng_below(g, 2) ? 2 + (uint32_t)rng_below(g, 2) : 1;
        for (uint32_t k = 0; k < s->sets; k++) {
            s->size[k] = rng_below(g, 3) ? 1 : 2;
            for (uint32_t e = 0; e < s->size[k]; e++)
                s->edge[s->edges++] = random_edge(g, txns, p, s->sets == 1, true);
        }
    }
}

static bool has_chosen_steps(const plan *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t e = 0; e < p->at[i].edges && p->at[i].sets > 1; e++)
            if (p->at[i].edge[e].kind == RATEL_DEPENDS) return true;
    return false;
}

static int say(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    const plan *p = self->user;
    for (uint32_t i = 0; i < p->points; i++) host->point(c);
    for (uint32_t i = 0; i < p->n; i++) {
        const said *s = &p->at[i];
        if (s->sets == 1)
            host->add(c, s->edge, s->edges, "a random statement");
        else
            host->choose(c, s->edge, s->size, s->sets, "a random choice");
    }
    return 0;
}

static void tell_oracle(oracle *o, const plan *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        oracle_edge e[MOST_EDGES];
        int size[MOST_SETS];
        const said *s = &p->at[i];
        for (uint32_t k = 0; k < s->edges; k++)
            e[k] = (oracle_edge){(int)s->edge[k].from, (int)s->edge[k].from_at, (int)s->edge[k].to,
                                 (int)s->edge[k].to_at, s->edge[k].kind == RATEL_DEPENDS};
        for (uint32_t k = 0; k < s->sets; k++) size[k] = (int)s->size[k];
        oracle_assume(o, e, size, (int)s->sets);
    }
}

/* --- the formula, for a solver that knows clauses alone --------------------------------------- */

typedef struct clause_solver {
    mem m;
    guard g;
    solver *s;
} clause_solver;

static int solve_clauses(void *ud, const char *problem, size_t n, int (*stop)(void *),
                         void *stop_ud)
{
    clause_solver *x = ud;
    cnf f = {0};
    (void)stop;
    (void)stop_ud;
    mem_free_all(&x->m);
    x->s = NULL;
    if (guard_armed(&x->g)) return 0;
    dimacs_read(&x->m, problem, n, &f);
    x->s = solver_new(&x->m);
    for (uint32_t v = 0; v < f.vars; v++) solver_var(x->s);
    for (size_t i = 0, first = 0; i < f.lits.n; i++) {
        if (f.lits.at[i] != LIT_NONE) continue;
        solver_add_clause(x->s, f.lits.at + first, i - first);
        first = i + 1;
    }
    return (int)solver_solve(x->s, NULL, 0);
}

static int64_t value_of(void *ud, const char *name)
{
    const clause_solver *x = ud;
    return solver_model(x->s, lit_of((uint32_t)strtoul(name, NULL, 10) - 1, false)) > 0;
}

/* --- comparing ----------------------------------------------------------------------------- */

static uint64_t passed, failed, agreed[2], assumed, undecided, certified, forged, skipped, stated;

static void complain(const char *what, const char *level, const char *history, const plan *p,
                     const char *detail)
{
    if (failed++ > 5) return;
    printf("FAIL %s at %s: %s\n%s\n", what, level, detail, history);
    for (uint32_t i = 0; i < p->n; i++) {
        const said *s = &p->at[i];
        uint32_t e = 0;
        printf("  said %u:", i);
        for (uint32_t k = 0; k < s->sets; k++) {
            printf(k ? " | " : " ");
            for (uint32_t j = 0; j < s->size[k]; j++, e++)
                printf("%c%u%s%c%u ", "bcp"[s->edge[e].from_at], s -> edge[e].from,
                       s->edge[e].kind ? "<<" : "<", "bcp"[s->edge[e].to_at], s -> edge[e].to);
        }
        printf("\n");
    }
}

/* The head of a certificate of what holds, which says that no order does: all are tried in vain. */
static void forge(ratel *r, const ratel_history *bare, const text *holds, const char *level,
                  const char *history, const plan *p)
{
    static const char line[] = "verdict holds\n", lie[] = "verdict violated\n1 exhaustive\nend 1\n";
    text t = {0};
    ratel_proof told = {0};
    const char *at = NULL;
    for (size_t i = 0; i + sizeof line <= holds->n && !at; i++)
        if (!memcmp(holds->at + i, line, sizeof line - 1)) at = holds->at + i;
    if (!at) {
        complain("a certificate without a verdict", level, history, p, "");
        return;
    }
    add_text(holds->at, (size_t)(at - holds->at), &t);
    add_text(lie, sizeof lie - 1, &t);
    int code = ratel_verify(&told, r, bare, read_text, &t);
    if (code || told.proved)
        complain("a forged certificate is accepted", level, history, p,
                 code ? ratel_errmsg(r) : "");
    else
        forged++;
    free(t.at);
}

static void check_certificate(ratel *r, const ratel_history *bare, const ratel_history *h,
                              const ratel_result *a, const char *level, const char *history,
                              const plan *p)
{
    text t = {0};
    ratel_proof told = {0};
    int code = ratel_result_certificate(a, r, h, add_text, &t);
    if (code) {
        complain("no certificate", level, history, p, ratel_errmsg(r));
    } else {
        t.pos = 0;
        if (ratel_verify(&told, r, bare, read_text, &t) || !told.proved)
            complain("the certificate is refused", level, history, p,
                     told.reason[0] ? told.reason : ratel_errmsg(r));
        else
            certified++;
        if (ratel_result_verdict(a) == RATEL_HOLDS) forge(r, bare, &t, level, history, p);
    }
    free(t.at);
}

static void compare_formula(ratel *r, const ratel_history *h, const char *level, int want,
                            const char *history, const plan *p)
{
    static clause_solver x; /* static: the guard's jump leaves it alone */
    guard_init(&x.g);
    mem_init(&x.m, NULL, NULL, &x.g);
    ratel_backend by = {"clauses", "dimacs", solve_clauses, value_of, &x};
    ratel_result *a = NULL;
    if (ratel_check_by(&a, r, h, level, NULL, &by)) {
        complain("an error of the formula", level, history, p, ratel_errmsg(r));
    } else if (ratel_result_verdict(a) != RATEL_UNDECIDED) {
        stated++;
        if ((ratel_result_verdict(a) == RATEL_HOLDS) != (want == ORACLE_HOLDS))
            complain("the formula says something else", level, history, p, ratel_result_reason(a));
        else if (want == ORACLE_HOLDS && ratel_result_recheck(a, r, h))
            complain("the order of the formula", level, history, p, ratel_errmsg(r));
    } else if (!strstr(ratel_result_reason(a), "no encoding")) {
        complain("the formula is undecided", level, history, p, ratel_result_reason(a));
    }
    ratel_result_free(a);
    mem_free_all(&x.m);
}

static void compare(ratel *r, const ratel_history *bare, const ratel_history *h, oracle *o,
                    const char *level, bool so, const char *history, const plan *p, bool certify)
{
    oracle_question q = {.level = level, .session_order = so, .ryow = ORACLE_MUST};
    int want = oracle_check(o, &q);
    ratel_result *a = NULL;
    if (want != ORACLE_HOLDS && want != ORACLE_VIOLATED) {
        skipped++;
        return;
    }
    if (ratel_check(&a, r, h, level)) {
        complain("an error", level, history, p, ratel_errmsg(r));
        return;
    }
    ratel_verdict got = ratel_result_verdict(a);
    const char *why = ratel_result_reason(a);
    if (got == RATEL_UNDECIDED && (strstr(why, "lists with") || strstr(why, "reads of lists"))) {
        undecided++;
    } else if ((got == RATEL_HOLDS) != (want == ORACLE_HOLDS) || got == RATEL_UNDECIDED) {
        char detail[600];
        snprintf(detail, sizeof detail, "session order %s, oracle %s, product %d (%s)",
                 so ? "on" : "off", oracle_verdict_name(want), got, why);
        complain("a wrong verdict", level, history, p, detail);
    } else {
        passed++;
        agreed[want == ORACLE_HOLDS]++;
        assumed += ratel_result_assumption(a, 0, NULL, NULL) == RATEL_OK && want == ORACLE_VIOLATED;
        if (ratel_result_recheck(a, r, h))
            complain("not replayed", level, history, p, ratel_errmsg(r));
        if (certify) check_certificate(r, bare, h, a, level, history, p);
    }
    if (certify) compare_formula(r, h, level, want, history, p);
    ratel_result_free(a);
}

/* A level that takes nothing. */
static void compare_refused(ratel *r, const ratel_history *bare, const ratel_history *h,
                            const char *level, const char *history, const plan *p)
{
    ratel_result *a = NULL, *b = NULL;
    if (ratel_check(&a, r, h, level) || ratel_check(&b, r, bare, level)) {
        complain("an error", level, history, p, ratel_errmsg(r));
    } else {
        bool violated = ratel_result_verdict(b) == RATEL_VIOLATED;
        if (ratel_result_verdict(a) != (violated ? RATEL_VIOLATED : RATEL_UNDECIDED))
            complain("a refused level", level, history, p, ratel_result_reason(a));
        else if (!violated && ratel_result_verdict(b) == RATEL_HOLDS &&
                 !strstr(ratel_result_reason(a), "random"))
            complain("the module is not named", level, history, p, ratel_result_reason(a));
        else
            passed++;
    }
    ratel_result_free(a);
    ratel_result_free(b);
}

static void one(ratel *r, rng *g, uint64_t i, const char *profile, const char *only)
{
    size_t n;
    char err[200], *history = random_history(i, profile, &n);
    if (i % 2) history = random_levels(history, i, &n); /* which mixtures look at */
    text t = {0};
    ratel_history *bare = NULL, *h = NULL;
    oracle *o = oracle_parse(history, n, err, sizeof err);
    ratel_stat stat;
    plan p;
    ratel_module module = {.abi = RATEL_MODULE_ABI,
                           .size = sizeof module,
                           .name = "random",
                           .about = "random additions",
                           .extend = say,
                           .user = &p};
    add_text(history, n, &t);
    if (!o || ratel_history_read(&bare, r, NULL, read_text, &t) ||
        ratel_history_stat(&stat, r, bare)) {
        skipped++; /* a hint that no execution can have */
        goto end;
    }
    uint64_t txns = stat.txns + stat.aborted + stat.unknown;
    if (txns < 2) goto end;
    draw(g, (uint32_t)txns, &p);
    if (ratel_module_add(&h, r, bare, &module, NULL)) {
        complain("the module", "-", history, &p, ratel_errmsg(r));
        goto end;
    }
    tell_oracle(o, &p);
    bool so = rng_below(g, 2);
    ratel_set(r, "session_order", so);
    ratel_set(r, "ryow", 0);
    for (int k = 0; k < 4; k++) {
        uint32_t l = (uint32_t)rng_below(g, LEVELS);
        if (strcmp(only, "") && strcmp(levels[l], only)) continue;
        if (l >= PATHS && has_chosen_steps(&p)) continue;
        compare(r, bare, h, o, levels[l], so, history, &p, k < 2);
    }
    if (!*only) compare_refused(r, bare, h, refused[rng_below(g, 4)], history, &p);
end:
    ratel_history_free(h);
    ratel_history_free(bare);
    oracle_free(o);
    free(history);
    free(t.at);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1500;
    const char *env = getenv("RATEL_TEST_SEED"), *only = argc > 3 ? argv[3] : "";
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    rng g;
    ratel *r;
    rng_seed(&g, seed);
    if (ratel_open(&r, NULL)) return 70;
    printf("seed %" PRIu64 "\n", seed);
    for (uint64_t i = 0; i < n; i++)
        for (size_t k = 0; random_profiles[k]; k++)
            one(r, &g, seed * 1000003 + i, random_profiles[k], only);
    ratel_close(r);
    printf("holds %" PRIu64 ", violated %" PRIu64 " (%" PRIu64 " by what was added), undecided "
           "lists %" PRIu64 ", skipped %" PRIu64 ", certificates %" PRIu64
           ", forged ones refused %" PRIu64 ", formulas %" PRIu64 "\n",
           agreed[1], agreed[0], assumed, undecided, skipped, certified, forged, stated);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed ? 1 : 0;
}
