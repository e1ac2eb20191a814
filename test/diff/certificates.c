/*
 * certificates.c - every answer has a certificate that verifies; what is changed does not pass for
 * what it is not.
 *
 * Random tiny histories of every profile, each level that the product decides, session order on
 * and off, every policy: the certificate of the answer must verify (levels.c holds the answers
 * themselves against the oracle).  Then the certificate is damaged in every way we can think of
 * (lines dropped, repeated, swapped, words changed, cut off, another history, another question):
 * it must be refused, unless what it then claims is true, by the oracle.
 *
 *     certificates [histories [seed [text]]]   default 20000, seed from RATEL_TEST_SEED or 1; only
 *                                              levels whose name contains the text
 *     certificates FILE ...             these histories instead (the litmus set)
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "diff/diff_text.h"
#include "diff/oracle_levels.h"
#include "oracle/oracle.h"
#include "oracle/random_history.h"
#include "ratel.h"

static const char *const policies[] = {"must", "external", "may"};

static const char *only = "";
static uint64_t certified[ORACLE_LEVELS][2], exhaustive[ORACLE_LEVELS], damaged, passed_damage,
    refitted;

/* --- damage ----------------------------------------------------------------------------------- */

static size_t line_start(const text *t, size_t at)
{
    while (at && t->at[at - 1] != '\n') at--;
    return at;
}

static size_t line_end(const text *t, size_t at)
{
    while (at < t->n && t->at[at] != '\n') at++;
    return at < t->n ? at + 1 : at;
}

/* A word of t, starting at or after a random place. */
static void some_word(rng *g, const text *t, size_t *at, size_t *n)
{
    size_t a = rng_below(g, t->n), b;
    while (a && t->at[a - 1] != ' ' && t->at[a - 1] != '\n') a--;
    for (b = a; b < t->n && t->at[b] != ' ' && t->at[b] != '\n'; b++) {}
    *at = a;
    *n = b - a;
}

/* The line of t that begins with the word: *at, and its end. */
static size_t line_of(const text *t, const char *word, size_t *at)
{
    size_t n = strlen(word);
    for (*at = 0; *at < t->n; *at = line_end(t, *at))
        if (t->n - *at > n && !memcmp(t->at + *at, word, n) && t->at[*at + n] == ' ')
            return line_end(t, *at);
    return *at;
}

/* from, with its line `word ...` as given. */
static void replace_line(const text *from, text *to, const char *word, const char *line, size_t n)
{
    size_t a, b = line_of(from, word, &a);
    add_text(from->at, a, to);
    add_text(line, n, to);
    add_text(from->at + b, from->n - b, to);
}

static void set_line(const text *from, text *to, const char *word, const char *value)
{
    char line[120];
    int n = snprintf(line, sizeof line, "%s %s\n", word, value);
    replace_line(from, to, word, line, (size_t)n);
}

/* A certificate of another history, with what its head says of the history as in `of`. */
static void refit(const text *from, const text *of, text *to)
{
    static const char *const words[] = {"txns", "ops", "history"};
    text last = {0};
    add_text(from->at, from->n, &last);
    for (int i = 0; i < 3; i++) {
        size_t a, b = line_of(of, words[i], &a);
        to->n = to->pos = 0;
        replace_line(&last, to, words[i], of->at + a, b - a);
        last.n = 0;
        add_text(to->at, to->n, &last);
    }
    free(last.at);
}

static void damage(rng *g, const text *from, text *to)
{
    size_t a = line_start(from, rng_below(g, from->n)), b = line_end(from, a);
    size_t c = line_start(from, rng_below(g, from->n)), d = line_end(from, c), w, x, n, m;
    to->n = to->pos = 0;
    switch (rng_below(g, 10)) {
    case 0: /* a line less */
        add_text(from->at, a, to);
        add_text(from->at + b, from->n - b, to);
        break;
    case 1: /* a line twice, elsewhere */
        add_text(from->at, c, to);
        add_text(from->at + a, b - a, to);
        add_text(from->at + c, from->n - c, to);
        break;
    case 2: /* cut off */ add_text(from->at, rng_below(g, from->n), to); break;
    case 3: /* another byte */
        add_text(from->at, from->n, to);
        to->at[rng_below(g, to->n)] = "0123456789!@<=:. \nbcx\""[rng_below(g, 22)];
        break;
    case 4: /* two lines change places */
        if (c < a) {
            size_t swap = a;
            a = c;
            c = swap;
            swap = b;
            b = d;
            d = swap;
        }
        if (a == c) {
            add_text(from->at, from->n, to);
            break;
        }
        add_text(from->at, a, to);
        add_text(from->at + c, d - c, to);
        add_text(from->at + b, c - b, to);
        add_text(from->at + a, b - a, to);
        add_text(from->at + d, from->n - d, to);
        break;
    case 5: /* another question */
        if (rng_below(g, 2))
            set_line(from, to, "level", levels[rng_below(g, ORACLE_LEVELS)]);
        else
            set_line(from, to, "session-order", rng_below(g, 2) ? "on" : "off");
        break;
    case 6: /* the other answer */
        set_line(from, to, "verdict", strstr(from->at, "verdict holds") ? "violated" : "holds");
        break;
    default: /* a word in place of another */
        some_word(g, from, &w, &n);
        some_word(g, from, &x, &m);
        add_text(from->at, w, to);
        add_text(from->at + x, m, to);
        add_text(from->at + w + n, from->n - w - n, to);
        break;
    }
}

/* --- one answer ------------------------------------------------------------------------------- */

typedef struct subject {
    ratel *r;
    const ratel_history *h;
    oracle *o;
    const char *history;
} subject;

static bool say(const subject *s, int level, int so, int policy, const char *what, const char *why,
                const text *certificate)
{
    printf("# %s, session order %s, ryow %s: %s: %s\n%s\n%s\n", levels[level], so ? "on" : "off",
           policies[policy], what, why, s->history, certificate->at ? certificate->at : "");
    return false;
}

/* Is what a certificate claims true of the history? */
static bool is_true(const subject *s, const ratel_proof *p)
{
    oracle_question q = {p->level, p->session_order, ORACLE_MUST, p->drift};
    for (int i = 0; i < 3; i++)
        if (!strcmp(policies[i], p->ryow)) q.ryow = (oracle_ryow)i;
    int expected = oracle_check(s->o, &q);
    return expected == ORACLE_TOO_BIG ||
           expected == (p->verdict == RATEL_HOLDS ? ORACLE_HOLDS : ORACLE_VIOLATED);
}

static bool certify(const subject *s, rng *g, int level, int so, int policy, text *cert, text *bad)
{
    ratel_result *a = NULL;
    ratel_proof proof;
    ratel_set(s->r, "session_order", so);
    ratel_set(s->r, "ryow", policy);
    if (ratel_check(&a, s->r, s->h, levels[level])) return true; /* an impossible hint */
    ratel_verdict v = ratel_result_verdict(a);
    cert->n = cert->pos = 0;
    int code = v == RATEL_UNDECIDED ? RATEL_EINVAL
                                    : ratel_result_certificate(a, s->r, s->h, add_text, cert);
    ratel_result_free(a);
    if (v == RATEL_UNDECIDED) return true;
    if (code) return say(s, level, so, policy, "no certificate", ratel_errmsg(s->r), cert);
    certified[level][v == RATEL_HOLDS]++;
    exhaustive[level] += strstr(cert->at, " exhaustive\n") != NULL;
    code = ratel_verify(&proof, s->r, s->h, read_text, cert);
    if (code) return say(s, level, so, policy, "cannot be verified", ratel_errmsg(s->r), cert);
    if (!proof.proved) return say(s, level, so, policy, "refused", proof.reason, cert);
    if (proof.verdict != v || strcmp(proof.level, levels[level]))
        return say(s, level, so, policy, "proves something else", proof.level, cert);
    for (int i = 0; i < 3; i++) {
        damage(g, cert, bad);
        damaged++;
        if (ratel_verify(&proof, s->r, s->h, read_text, bad) || !proof.proved) continue;
        passed_damage++;
        if (!is_true(s, &proof))
            return say(s, level, so, policy, "a false certificate passes", "damaged", bad);
    }
    return true;
}

/* Every question about one history. */
static bool certify_all(ratel *r, rng *g, char *t, size_t n, text *cert, text *bad, text *last)
{
    char err[256];
    text in = {t, n, 0, 0};
    ratel_history *h = NULL;
    subject s = {r, NULL, oracle_parse(t, n, err, sizeof err), t};
    int code = ratel_history_read(&h, r, "ratel", read_text, &in);
    bool ok = !code && s.o;
    if (!ok) printf("# cannot be read: %s\n", code ? ratel_errmsg(r) : err);
    text kept = {0}; /* some certificate */
    s.h = h;
    for (int level = 0; level < ORACLE_LEVELS && ok; level++)
        for (int so = 0; so < 2 && ok && strstr(levels[level], only); so++)
            for (int policy = 0; policy < 3 && ok; policy++) {
                ok = certify(&s, g, level, so, policy, cert, bad);
                if (!cert->n || (kept.n && rng_below(g, 64))) continue;
                kept.n = 0;
                add_text(cert->at, cert->n, &kept);
            }
    if (!cert->n && kept.n) add_text(kept.at, kept.n, cert); /* for its head */
    if (ok && last->n && cert->n) {                          /* a certificate of another history */
        ratel_proof proof;
        last->pos = 0;
        ok = ratel_verify(&proof, r, h, read_text, last) || !proof.proved;
        if (!ok) printf("# a certificate of another history passes\n%s\n%s\n", t, last->at);
        refit(last, cert, bad);
        refitted++;
        if (ok && !ratel_verify(&proof, r, h, read_text, bad) && proof.proved) {
            ok = is_true(&s, &proof);
            if (!ok) printf("# a false certificate passes, refitted\n%s\n%s\n", t, bad->at);
        }
    }
    last->n = 0;
    if (kept.n) add_text(kept.at, kept.n, last);
    free(kept.at);
    ratel_history_free(h);
    oracle_free(s.o);
    return ok;
}

static char *file_text(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    text t = {0};
    char buf[4096];
    if (!f) return NULL;
    while ((*n = fread(buf, 1, sizeof buf, f))) add_text(buf, *n, &t);
    fclose(f);
    *n = t.n;
    return t.at;
}

int main(int argc, char **argv)
{
    bool files = argc > 1 && (argv[1][0] < '0' || argv[1][0] > '9');
    uint64_t count = files ? (uint64_t)argc - 1 : argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t seed = env ? strtoull(env, NULL, 10) : 1;
    if (!files && argc > 2) seed = strtoull(argv[2], NULL, 10);
    if (!files && argc > 3) only = argv[3];
    uint64_t passed = 0, failed = 0, profiles = 0;
    text cert = {0}, bad = {0}, last = {0};
    rng g;
    ratel *r;
    if (ratel_open(&r, NULL)) return 1;
    ratel_set(r, "quick", 1); /* what a violation rests on is no matter here */
    rng_seed(&g, seed);
    while (random_profiles[profiles]) profiles++;
    printf("# %" PRIu64 " histories from seed %" PRIu64 "\n", count, seed);
    for (uint64_t i = 0; i < count && failed < 10; i++) {
        size_t n;
        static const char *const more[] = {"lists-set", "lists-dup", "lists-hints", "all-at-once"};
        uint64_t at = i % (profiles + 4);
        const char *profile = at < profiles ? random_profiles[at] : more[at - profiles];
        char *t =
            files ? file_text(argv[i + 1], &n) : random_history(seed * 1000003 + i, profile, &n);
        if (t && !files) t = random_levels(t, seed * 1000003 + i, &n);
        bool ok = t && certify_all(r, &g, t, n, &cert, &bad, &last);
        if (!ok && files) printf("# %s\n", argv[i + 1]);
        if (files) last.n = 0; /* some of the litmus set are alike */
        passed += ok;
        failed += !ok;
        free(t);
    }
    for (int i = 0; i < ORACLE_LEVELS; i++)
        printf("# %-36s certified: holds %" PRIu64 ", violated %" PRIu64 ", %" PRIu64
               " of them by trying all orders\n",
               levels[i], certified[i][1], certified[i][0], exhaustive[i]);
    printf("# %" PRIu64 " damaged, %" PRIu64 " of them still right; %" PRIu64
           " of other histories\n",
           damaged, passed_damage, refitted);
    ratel_close(r);
    free(cert.at);
    free(bad.at);
    free(last.at);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}
