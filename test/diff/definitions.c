/*
 * definitions.c - certificates of levels that are written as text, on random tiny histories.
 *
 * Every definition that comes with the program and claims to decide the same as a built-in level:
 * the certificate's answer must be the oracle's of that level, and verify must accept it.  Others
 * of our own must be accepted too.  Then the certificate is damaged: what is accepted all the same,
 * of the same definition, must say the same.
 *
 *     definitions [histories [seed]]   default 400, seed from RATEL_TEST_SEED or 1
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
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"

/* Levels that nobody else has; together they use every word of the language. */
static const char *const own[] = {
    "level own over vis, ar {\n"
    "    vis ; vis in vis;\n"
    "    all x : key, t, u : W[x] | t = u or vis(t, u) or vis(u, t);\n"
    "}\n",
    "rel dep = so | wr | ww;\n"
    "level own over co extends read-atomic {\n"
    "    axiom A: irreflexive(dep ; rw?);\n"
    "    axiom B: not some t : txn \\ init | t in upd and t in ro;\n"
    "    axiom C: empty([ro] & [upd]) and transitive(so+) and total(co, upd | init);\n"
    "}\n",
    "level own over none {\n"
    "    all x : key, t : R[x] | some s : W[x] | wr[x](s, t);\n"
    "    acyclic((so | wr)^-1 \\ id);\n"
    "}\n",
    "rel saw[k] = [W[k]] ; wr[k];\n"
    "level own over vis, ar {\n"
    "    all t : txn | all k : key | t in R[k] => max(ar, W[k] & vis . t) = wr[k] . t;\n"
    "    all k : key | saw[k] in ar and saw[k]* in (ar | id);\n"
    "    all t, u : upd | t != u and (ar(t, u) <=> not ar(u, t)) or t = u;\n"
    "    init x txn \\ id in ar;\n"
    "    all t : ro | empty(t . ww);\n"
    "}\n"};
enum { OWN = sizeof own / sizeof *own };

static uint64_t holds, violated, unfit, damaged, still_right, other_definition;

/* Words and lines in other places. */
static void damage(rng *g, const text *from, text *to)
{
    size_t a = rng_below(g, from->n), b = a, c = rng_below(g, from->n), d = c;
    bool line = !rng_below(g, 3);
    to->n = to->pos = 0;
    while (a && (line ? from->at[a - 1] != '\n' : from->at[a - 1] > ' ')) a--;
    while (b < from->n && (line ? from->at[b] != '\n' : from->at[b] > ' ')) b++;
    while (c && (line ? from->at[c - 1] != '\n' : from->at[c - 1] > ' ')) c--;
    while (d < from->n && (line ? from->at[d] != '\n' : from->at[d] > ' ')) d++;
    add_text(from->at, a, to);
    if (rng_below(g, 4)) add_text(from->at + c, d - c, to);
    add_text(from->at + b, from->n - b, to);
}

static bool say(const char *what, const char *why, const char *history, const char *definition,
                const text *certificate)
{
    printf("# %s: %s\n%s\n%s\n%s\n", what, why, history, definition,
           certificate->at ? certificate->at : "");
    return false;
}

/* expected: ORACLE_HOLDS or ORACLE_VIOLATED; else nobody knows. */
static bool certify(ratel *r, rng *g, const ratel_history *h, const char *history,
                    const char *definition, int expected, text *cert, text *bad)
{
    ratel_verdict v;
    ratel_proof p;
    cert->n = cert->pos = 0;
    int code =
        ratel_certify_definition(&v, r, h, definition, strlen(definition), NULL, add_text, cert);
    if (code == RATEL_EUNSUPPORTED) {
        unfit++;
        return true;
    }
    if (code) return say("no certificate", ratel_errmsg(r), history, definition, cert);
    holds += v == RATEL_HOLDS;
    violated += v == RATEL_VIOLATED;
    if ((expected == ORACLE_HOLDS && v != RATEL_HOLDS) ||
        (expected == ORACLE_VIOLATED && v != RATEL_VIOLATED))
        return say("another answer", oracle_verdict_name(expected), history, definition, cert);
    if (ratel_verify(&p, r, h, read_text, cert)) /* (it was verified before it was written) */
        return say("cannot be verified", ratel_errmsg(r), history, definition, cert);
    uint64_t hash = ratel_definition_hash(definition, strlen(definition));
    if (!p.proved || p.verdict != v || p.definition != hash)
        return say("refused", p.reason, history, definition, cert);
    for (int i = 0; i < 6; i++) {
        damage(g, cert, bad);
        damaged++;
        if (ratel_verify(&p, r, h, read_text, bad) || !p.proved) continue;
        still_right++;
        other_definition += p.definition != hash;
        if (p.definition == hash && p.session_order && p.verdict != v)
            return say("a false certificate passes", "damaged", history, definition, bad);
    }
    return true;
}

static bool one_history(ratel *r, rng *g, char *t, size_t n, text *cert, text *bad)
{
    char err[256];
    text in = {t, n, 0, 0};
    ratel_history *h = NULL;
    oracle *o = oracle_parse(t, n, err, sizeof err);
    bool ok = o && !ratel_history_read(&h, r, "ratel", read_text, &in);
    const char *name, *definition = NULL, *builtin;
    if (!ok) printf("# cannot be read\n%s\n", t);
    bool hinted = strstr(t, "\"from\"") || strstr(t, "\"ver\""); /* the language has no hints */
    for (size_t i = 0; ok && iso_library_at(i, &name, &definition, &builtin); i++) {
        oracle_question q = {builtin, 1, ORACLE_MUST, 0};
        int expected = *builtin && !hinted ? oracle_check(o, &q) : ORACLE_TOO_BIG;
        ok = certify(r, g, h, t, definition, expected, cert, bad);
    }
    for (size_t i = 0; ok && i < OWN; i++)
        ok = certify(r, g, h, t, own[i], ORACLE_TOO_BIG, cert, bad);
    ratel_history_free(h);
    oracle_free(o);
    return ok;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 400;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    uint64_t passed = 0, failed = 0, profiles = 0;
    text cert = {0}, bad = {0};
    rng g;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    ratel_set(r, "session_order", 1);
    ratel_set(r, "ryow", 0);
    rng_seed(&g, seed);
    while (random_profiles[profiles]) profiles++;
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; i < count && failed < 5; i++) {
        size_t n;
        char *t = random_history(seed * 1000003 + i, random_profiles[i % profiles], &n);
        bool ok = t && one_history(r, &g, t, n, &cert, &bad);
        passed += ok;
        failed += !ok;
        free(t);
    }
    printf("# certified: holds %" PRIu64 ", violated %" PRIu64
           "; the language does not fit %" PRIu64 "\n# %" PRIu64 " damaged, %" PRIu64
           " of them accepted, %" PRIu64 " of these of another definition\n",
           holds, violated, unfit, damaged, still_right, other_definition);
    if (count >= 100 && (!holds || !violated)) failed++;
    ratel_close(r);
    free(cert.at);
    free(bad.at);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
