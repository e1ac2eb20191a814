/*
 * iso_engine.c - random levels as text on random tiny histories: the engine against the clauses.
 *
 * A level is made at random from the constructs that the engine decides (and now and then from one
 * that it must refuse).  Its answer (ratel_check_definition), with and without the passes that
 * answer before the engine does, must be that of the certificate (ratel_certify_definition), which
 * comes from clauses over all pairs of transactions, made by other code from the same text.  And
 * the definitions that come with the program get the answers of the built-in levels.
 *
 *     iso_engine [histories [seed]]   default 2000, seed from RATEL_TEST_SEED or 1
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "diff/diff_text.h"
#include "iso/iso.h"
#include "opt/level.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"

static uint64_t library, outside_library, holds, violated, unfit, outside, states[16];
static uint64_t settled; /* levels that the engine decides, with a difference or an inverse */

/* --- levels ----------------------------------------------------------------------------------- */

typedef struct writer {
    rng *g;
    char *at;
    size_t n, cap;
    bool rw; /* rw may be said here */
    bool co;
    bool rt;
    bool settled; /* differences and inverses may be said */
} writer;

static void put(writer *w, const char *s)
{
    size_t k = strlen(s);
    if (w->n + k + 1 > w->cap) abort();
    memcpy(w->at + w->n, s, k + 1);
    w->n += k;
}

static const char *any_set(writer *w)
{
    static const char *const sets[] = {"upd", "ro", "txn", "(upd | ro)", "(txn \\ ro)"};
    return sets[rng_below(w->g, 5)];
}

static void put_expr(writer *w, int depth);

/* Made of what the history settles; much of it may lead back in the order, and is refused. */
static void put_settled(writer *w, int depth)
{
    static const char *const atoms[] = {"so", "rt",         "so",          "rt",
                                        "id", "(upd x ro)", "(txn x txn)", "[upd]"};
    static const char *const ops[] = {" \\ ", " \\ ", " & ", " | "};
    uint64_t kind = depth ? rng_below(w->g, 8) : 0;
    put(w, "(");
    if (kind < 2) {
        put(w, atoms[rng_below(w->g, 8)]);
    } else if (kind < 6) {
        put_settled(w, depth - 1);
        put(w, ops[rng_below(w->g, 4)]);
        put_settled(w, depth - 1);
    } else {
        put_settled(w, depth - 1);
        put(w, kind == 6 ? "^-1" : "?");
    }
    put(w, ")");
}

/* Those that lead forward only. */
static void put_difference(writer *w)
{
    static const char *const some[] = {"(rt \\ so)",
                                       "(so \\ rt)",
                                       "(rt \\ (so | so^-1))",
                                       "(so & rt)",
                                       "((rt^-1 | id)^-1)",
                                       "(rt \\ (so & (upd x txn)))",
                                       "((so | rt) \\ (so & rt))",
                                       "(so^-1)^-1",
                                       "(([upd] ; rt) \\ so)",
                                       "(rt & (txn x txn \\ so))"};
    put(w, some[rng_below(w->g, sizeof some / sizeof *some)]);
}

static void put_atom(writer *w)
{
    if (w->settled && rng_below(w->g, 2)) {
        if (rng_below(w->g, 3))
            put_difference(w);
        else
            put_settled(w, 3);
        return;
    }
    static const char *const atoms[] = {"so", "wr", "ww", "so", "wr",      "ww",
                                        "rw", "co", "rt", "rw", "rw-item", "rw-pred"};
    for (;;) {
        const char *s = atoms[rng_below(w->g, 12)];
        if ((!w->rw && !strncmp(s, "rw", 2)) || (!w->co && !strcmp(s, "co"))) continue;
        if (!w->rt && !strcmp(s, "rt")) continue;
        put(w, s);
        return;
    }
}

static void put_pair(writer *w, int depth, const char *op)
{
    put(w, "(");
    put_expr(w, depth - 1);
    put(w, op);
    put_expr(w, depth - 1);
    put(w, ")");
}

static void put_expr(writer *w, int depth)
{
    uint64_t kind = depth ? rng_below(w->g, 20) : 0;
    if (kind < 5) {
        put_atom(w);
    } else if (kind < 9) {
        put_pair(w, depth, " | ");
    } else if (kind < 14) {
        put_pair(w, depth, " ; ");
    } else if (kind < 17) {
        static const char *const ends[] = {"+", "?", "*"};
        put(w, "(");
        put_expr(w, depth - 1);
        put(w, ")");
        put(w, ends[rng_below(w->g, 3)]);
    } else if (kind == 17) {
        put(w, "([");
        put(w, any_set(w));
        put(w, "] ; ");
        put_expr(w, depth - 1);
        put(w, ")");
    } else {
        put(w, "(");
        put_expr(w, depth - 1);
        put(w, kind == 18 ? " & (" : " \\ (");
        put(w, any_set(w));
        put(w, " x ");
        put(w, any_set(w));
        put(w, "))");
    }
}

static void put_axiom(writer *w, bool vis)
{
    uint64_t kind = rng_below(w->g, vis ? 12 : 8);
    w->co = rng_below(w->g, 3) == 0;
    w->rt = rng_below(w->g, 3) == 0;
    w->rw = kind >= 3 && kind < 8;
    if (kind < 3) {
        static const char *const ends[] = {")", ")", " ; po)", " ; po?)"};
        put(w, "commit((");
        put_expr(w, 3);
        put(w, ")");
        put(w, ends[rng_below(w->g, 4)]);
    } else if (kind == 3 && rng_below(w->g, 4) == 0) {
        static const char *const reads[] = {"rw", "rw-item", "rw-pred"};
        put(w, "all x:key | irreflexive(ww[x] ; ");
        put(w, reads[rng_below(w->g, 3)]);
        put(w, "[x])");
    } else if (kind == 3) {
        static const char *const reads[] = {" ; rw)", " ; rw-item)", " ; rw-pred)"};
        put(w, "irreflexive((");
        put_expr(w, 3);
        put(w, ")");
        put(w, reads[rng_below(w->g, 3)]);
    } else if (kind == 4) {
        put(w, "irreflexive(");
        put_expr(w, 3);
        put(w, ")");
    } else if (kind == 5 && rng_below(w->g, 2)) {
        put(w, "acyclic(");
        put_expr(w, 3);
        put(w, ")");
    } else if (kind == 5) { /* what loses nothing by so, wr and ww of their own */
        bool first = rng_below(w->g, 2);
        put(w, "acyclic(");
        if (!first) put_expr(w, 2);
        put(w, first ? "(so | wr | ww" : " ; (so | wr | ww");
        if (rng_below(w->g, 2)) put(w, " | rt");
        if (rng_below(w->g, 3) == 0) {
            put(w, " | ");
            put_expr(w, 1);
        }
        put(w, rng_below(w->g, 2) ? ")+" : ")*");
        if (first) {
            put(w, " ; ");
            put_expr(w, 2);
        }
        put(w, ")");
    } else if (kind == 6) {
        put(w, "acyclic(so | wr | ww | ");
        put_expr(w, 3);
        put(w, ")");
    } else if (kind == 7) {
        put_expr(w, 2);
        put(w,
            rng_below(w->g, 4) ? (vis ? " in ar" : " in co") : " in so"); /* the last is refused */
    } else if (kind == 8) {
        put(w, rng_below(w->g, 2) ? "transitive(vis)" : "total(vis, upd)");
    } else if (kind == 9) {
        put_expr(w, 1);
        put(w, " ; vis in vis");
    } else if (kind == 10) {
        put(w, "vis ; ");
        put_expr(w, 1);
        put(w, " in vis");
    } else {
        put_expr(w, 2);
        put(w, " in vis");
    }
    put(w, ";\n");
}

static void put_level(writer *w)
{
    bool vis = rng_below(w->g, 4) == 0;
    w->settled = rng_below(w->g, 2) == 0;
    uint64_t axioms = 1 + rng_below(w->g, 3);
    w->n = 0;
    put(w, vis ? "level own over vis, ar {\n" : "level own over co {\n");
    for (uint64_t i = 0; i < axioms; i++) put_axiom(w, vis);
    put(w, "}\n");
    if (vis) /* the order is called ar here */
        for (char *p = w->at; (p = strstr(p, "co"));) {
            bool word =
                (p == w->at || !((p[-1] >= 'a' && p[-1] <= 'z'))) && !(p[2] >= 'a' && p[2] <= 'z');
            if (word) memcpy(p, "ar", 2);
            p += 2;
        }
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool complain(const char *what, const char *why, const char *history, const char *level)
{
    printf("# %s: %s\n%s\n%s\n", what, why, history, level);
    return false;
}

static int forget(const void *p, size_t n, void *payload)
{
    (void)p, (void)n, (void)payload;
    return 0;
}

static bool compare(ratel *r, const ratel_history *h, const char *history, const char *level)
{
    ratel_definition d;
    ratel_verdict v;
    size_t n = strlen(level);
    int code = ratel_certify_definition(&v, r, h, level, n, NULL, forget, NULL);
    if (code && code != RATEL_EUNSUPPORTED)
        return complain("no certificate", ratel_errmsg(r), history, level);
    unfit += code != 0;
    for (int pass = 0; pass < 2; pass++) {
        ratel_set_pass(r, "serial-first", !pass);
        ratel_set_pass(r, "sessions-first", !pass);
        ratel_set_pass(r, "unsat-search", !pass);
        if (ratel_check_definition(&d, r, h, level, n, NULL))
            return complain("no answer", ratel_errmsg(r), history, level);
        if (d.outside) {
            outside++;
            break;
        }
        if (code) continue; /* (it must not fail) */
        states[d.states < 15 ? d.states : 15]++;
        settled += strstr(level, "\\ so") || strstr(level, "\\ rt") || strstr(level, "^-1");
        if (d.verdict == RATEL_UNDECIDED && strstr(d.reason, "lists with")) {
            unfit++;
            continue;
        }
        if (d.verdict == RATEL_UNDECIDED) return complain("undecided", d.reason, history, level);
        if (d.verdict != v)
            return complain(v == RATEL_HOLDS ? "the clauses hold" : "the clauses are violated",
                            d.reason, history, level);
        holds += v == RATEL_HOLDS;
        violated += v == RATEL_VIOLATED;
    }
    return true;
}

/* The definitions that come with the program, by the engine: the answers of the built-in levels. */
static bool compare_library(ratel *r, const ratel_history *h, const char *history, bool sessions)
{
    const char *name, *definition, *builtin;
    ratel_definition d;
    for (size_t i = 0; iso_library_at(i, &name, &definition, &builtin); i++) {
        ratel_result *a = NULL;
        level_ref l;
        if (!*builtin || !level_named(&l, builtin)) continue;
        /* Some built-in levels have session order in any case; a text has it by the option. */
        if (!sessions && level_at(l.id)->session_order != LEVEL_OPTION) continue;
        if (ratel_check_definition(&d, r, h, definition, strlen(definition), NULL))
            return complain("no answer", ratel_errmsg(r), history, definition);
        if (d.outside || d.verdict == RATEL_UNDECIDED) {
            outside_library += d.outside != 0;
            continue;
        }
        if (ratel_check(&a, r, h, builtin))
            return complain("no answer", ratel_errmsg(r), history, builtin);
        ratel_verdict v = ratel_result_verdict(a);
        ratel_result_free(a);
        if (v == RATEL_UNDECIDED) continue;
        if (v != d.verdict)
            return complain(v == RATEL_HOLDS ? "the built-in level holds" : "it is violated",
                            d.reason, history, definition);
        library++;
    }
    return true;
}

static bool one_history(ratel *r, rng *g, char *t, size_t n, bool sessions)
{
    char level[1 << 14];
    writer w = {.g = g, .at = level, .cap = sizeof level};
    text in = {t, n, 0, 0};
    ratel_history *h = NULL;
    bool ok = !ratel_history_read(&h, r, "ratel", read_text, &in);
    for (int i = 0; ok && i < 8; i++) {
        put_level(&w);
        ok = compare(r, h, t, level);
    }
    if (ok) ok = compare_library(r, h, t, sessions);
    ratel_history_free(h);
    return ok;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0, profiles = 0;
    rng g;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    ratel_set(r, "ryow", 0);
    rng_seed(&g, seed);
    while (random_shapes[profiles]) profiles++;
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; i < count && failed < 5; i++) {
        size_t n;
        /* A third has clocks: differences are mostly of session order and real time. */
        const char *shape = i % 3 ? random_shapes[i % profiles] : "times";
        char *t = random_history(seed * 1000003 + i, shape, &n);
        ratel_set(r, "session_order", i / profiles % 4 != 0);
        ratel_set(r, "drift", i % 9 == 0 ? 2 : 0);
        bool ok = t && one_history(r, &g, t, n, i / profiles % 4 != 0);
        passed += ok;
        failed += !ok;
        free(t);
    }
    printf("# holds %" PRIu64 ", violated %" PRIu64 "; outside of the engine %" PRIu64
           ", of the clauses %" PRIu64 "\n# states:",
           holds, violated, outside, unfit);
    printf(" with differences or inverses %" PRIu64 ";", settled);
    for (int i = 0; i < 16; i++) printf(" %" PRIu64, states[i]);
    printf("\n# library: %" PRIu64 " as the built-in levels, %" PRIu64 " outside\n", library,
           outside_library);
    if (count >= 100 && (!holds || !violated || !outside || !settled)) failed++;
    ratel_close(r);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
