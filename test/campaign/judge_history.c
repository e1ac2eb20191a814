/*
 * judge_history.c - everything that is asked about one random history.
 *
 * Every level of the product that the oracle knows, with two of the combinations of session order,
 * policy and clock uncertainty: the verdict must be the oracle's, as users have the program and
 * once more with another strategy or setting of its passes, and the answer must stand when it is
 * replayed.  The verdicts must keep the lattice.  Of some cells also the certificate, forgeries of
 * it, the argument of explain and what shrink leaves are judged.  Then the history is told
 * otherwise, in ways that change no verdict, or that can only turn violated into holds.
 */
#include <stdarg.h>
#include <stdio.h>

#include "campaign.h"

const char *const policies[3] = {"must", "external", "may"};

/* Purposes of draw_for, and how seldom the more expensive checks are made. */
enum {
    FOR_COMBINATION,
    FOR_DRIFT,
    FOR_SETTING,
    FOR_PASS,
    FOR_CERTIFICATE,
    FOR_FORGERY,
    FOR_ARGUMENT,
    FOR_SHRINK,
    FOR_VARIANT,
    FOR_TELLING
};
enum { CERTIFICATES = 12, FORGERIES = 6, SHRINKS = 300, TELLINGS_EACH = 2 };
enum { ARGUMENTS = 12, VAIN_ARGUMENTS = 80 }; /* looking for one where there is none takes long */

uint64_t draw_for(const campaign *c, uint64_t purpose, uint64_t which)
{
    uint64_t z = c->seed * 0x9e3779b97f4a7c15u + c->number * 0xd1342543de82ef95u +
                 purpose * 0xa0761d6478bd642fu + which * 0xe7037ed1a0b428dbu;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

bool fail_cell(failure *f, const char *kind, const cell *at, const char *format, ...)
{
    va_list ap;
    f->kind = kind;
    f->has_cell = at != NULL;
    if (at) f->at = *at;
    va_start(ap, format);
    vsnprintf(f->detail, sizeof f->detail, format, ap);
    va_end(ap);
    return false;
}

typedef struct subject {
    campaign *c;
    ratel_history *h;
    oracle *o;
    failure *f;
    cell cells[COMBINATIONS];               /* their level is not used */
    int8_t said[COMBINATIONS][MOST_LEVELS]; /* ratel_verdict; -1: not asked, or no answer */
    text cert, last, forged;
} subject;

static uint64_t which_cell(const cell *at)
{
    return (uint64_t)at->level * 12 + (uint64_t)at->policy * 2 + (uint64_t)at->session_order;
}

static void set_question(ratel *r, const cell *at)
{
    ratel_set(r, "session_order", at->session_order);
    ratel_set(r, "ryow", at->policy);
    ratel_set(r, "drift", at->drift);
}

static int ask_oracle(oracle *o, const char *level, int so, int policy, int64_t drift)
{
    oracle_question q = {level, so, (oracle_ryow)policy, drift};
    return oracle_check(o, &q);
}

static const char *verdict_word(int v)
{
    return v == RATEL_HOLDS ? "holds" : v == RATEL_VIOLATED ? "violated" : "undecided";
}

/* --- another strategy, other passes ----------------------------------------------------------- */

/* Strategies other than the first exist for three levels; these two are of one each. */
static void turn_setting(campaign *c, const cell *at, char *told, size_t cap)
{
    static const char *const modes[] = {"as they are", "all on",  "all off",
                                        "only",        "all but", "drawn"};
    const char *level = c->levels[at->level].name;
    uint64_t d = draw_for(c, FOR_SETTING, which_cell(at)), strategy = 0, induced = 0;
    bool si = !strcmp(level, "snapshot-isolation");
    if (si || !strcmp(level, "serializable") || !strcmp(level, "strict-serializable")) {
        strategy = d % 8 < 3 ? 1 : si && d % 8 < 5 ? 2 : 0;
        induced = si && d % 8 == 5;
    }
    uint64_t mode = (d >> 8) % 6, pass = (d >> 16) % c->passes, drawn = draw_for(c, FOR_PASS, d);
    ratel_set(c->turning, "strategy", (int64_t)strategy);
    ratel_set(c->turning, "si_encoding", (int64_t)induced);
    ratel_set(c->turning, "seed", (d >> 32) % 2 ? (int64_t)(d >> 40) : 0);
    ratel_set(c->turning, "quick", (d >> 33) % 2);
    ratel_pass p;
    const char *name = "";
    for (size_t i = 0; !ratel_pass_at(&p, i); i++) {
        int on = mode == 0   ? p.on
                 : mode == 1 ? 1
                 : mode == 2 ? 0
                 : mode == 3 ? i == pass
                 : mode == 4 ? i != pass
                             : (int)(drawn >> i % 64 & 1);
        ratel_set_pass(c->turning, p.name, on);
        if (i == pass && (mode == 3 || mode == 4)) name = p.name;
    }
    snprintf(told, cap, "strategy %s%s, passes %s %s",
             strategy == 0   ? "lazy"
             : strategy == 1 ? "polygraph"
                             : "bc",
             induced ? " (induced)" : "", modes[mode], name);
}

/* --- one cell --------------------------------------------------------------------------------- */

/* The answer of one context, held against the oracle's.  *out (or NULL) gets the result. */
static bool ask_product(subject *s, ratel *r, const cell *at, int expected, const char *setting,
                        ratel_result **out)
{
    campaign *c = s->c;
    const level_row *l = &c->levels[at->level];
    ratel_result *a = NULL;
    bool ok = true;
    set_question(r, at);
    int code = ratel_check(&a, r, s->h, l->name);
    c->t->answers++;
    int v = a ? (int)ratel_result_verdict(a) : -1;
    if (v == RATEL_VIOLATED && c->plant == PLANT_VERDICT && !strcmp(l->name, "serializable"))
        v = RATEL_HOLDS;
    if (v == RATEL_VIOLATED && c->plant == PLANT_CRASH && !strcmp(l->name, "causal")) abort();
    if (code) {
        ok = (code == RATEL_EHISTORY && expected == ORACLE_BAD_HINT) ||
             fail_cell(s->f, "verdict", at, "the oracle says %s; error: %s; %s",
                       oracle_verdict_name(expected), ratel_errmsg(r), setting);
    } else if (v == RATEL_UNDECIDED) {
        bool silent = expected == ORACLE_NOTHING || expected == ORACLE_NO_ROW;
        bool may = silent || l->may_refuse || strstr(setting, "bc");
        ok = may || fail_cell(s->f, "undecided", at, "the oracle says %s; undecided: %s; %s",
                              oracle_verdict_name(expected), ratel_result_reason(a), setting);
    } else if (expected != (v == RATEL_HOLDS ? ORACLE_HOLDS : ORACLE_VIOLATED)) {
        ok = fail_cell(s->f, "verdict", at, "the oracle says %s, the product %s; %s",
                       oracle_verdict_name(expected), verdict_word(v), setting);
    } else if (ratel_result_recheck(a, r, s->h)) {
        ok = fail_cell(s->f, "recheck", at, "%s; %s", ratel_errmsg(r), setting);
    } else {
        c->t->rechecked++;
    }
    if (out)
        *out = a;
    else
        ratel_result_free(a);
    return ok;
}

/* Is what a certificate claims true of the history? */
static bool claim_is_true(const subject *s, const ratel_proof *p)
{
    int policy = 0;
    for (int i = 0; i < 3; i++)
        if (!strcmp(policies[i], p->ryow)) policy = i;
    int expected = ask_oracle(s->o, p->level, p->session_order, policy, p->drift);
    return expected == ORACLE_TOO_BIG ||
           expected == (p->verdict == RATEL_HOLDS ? ORACLE_HOLDS : ORACLE_VIOLATED);
}

static bool judge_certificate(subject *s, const ratel_result *a, const cell *at, int v)
{
    campaign *c = s->c;
    const char *level = c->levels[at->level].name;
    ratel_proof p;
    s->cert.n = s->cert.pos = 0;
    int code = ratel_result_certificate(a, c->plain, s->h, add_text, &s->cert);
    if (code == RATEL_EUNSUPPORTED) return true; /* said so; the suite certificates counts these */
    if (code) return fail_cell(s->f, "certificate", at, "none: %s", ratel_errmsg(c->plain));
    c->t->certificates++;
    s->cert.pos = 0;
    code = ratel_verify(&p, c->plain, s->h, read_text, &s->cert);
    bool ok = !code && p.proved && (int)p.verdict == v && !strcmp(p.level, level);
    if (!ok)
        fail_cell(s->f, "certificate", at, "refused: %s", code ? ratel_errmsg(c->plain) : p.reason);
    if (!ok) add_text(s->cert.at, s->cert.n, &s->f->certificate);
    for (uint64_t i = 0; i < FORGERIES && ok; i++) {
        uint64_t d = draw_for(c, FOR_FORGERY, which_cell(at) * FORGERIES + i);
        forge_certificate(c, d, &s->cert, &s->last, &s->forged);
        c->t->forged++;
        s->forged.pos = 0;
        if (ratel_verify(&p, c->plain, s->h, read_text, &s->forged) || !p.proved) continue;
        c->t->forged_true++;
        if (claim_is_true(s, &p) && c->plant != PLANT_FORGERY) continue;
        ok = fail_cell(s->f, "forgery", at, "a false certificate passes: %s %s", p.level,
                       verdict_word((int)p.verdict));
        add_text(s->forged.at, s->forged.n, &s->f->certificate);
    }
    s->last.n = 0;
    add_text(s->cert.at, s->cert.n, &s->last);
    return ok;
}

/* What shrink leaves is violated for the oracle, too. */
static bool judge_shrunk(subject *s, const ratel_result *a, const cell *at)
{
    campaign *c = s->c;
    ratel_shrunk small;
    ratel_history *part = NULL;
    text t = {0};
    char err[256];
    int code = ratel_shrink(&part, c->plain, s->h, a, &small);
    if (!code) code = ratel_history_write(part, c->plain, "ratel", add_text, &t);
    bool ok = !code || fail_cell(s->f, "shrink", at, "%s", ratel_errmsg(c->plain));
    oracle *o = code ? NULL : oracle_parse(t.at, t.n, err, sizeof err);
    if (ok && !o) ok = fail_cell(s->f, "shrink", at, "the part cannot be read: %s", err);
    if (ok) {
        int v = ask_oracle(o, c->levels[at->level].name, at->session_order, at->policy, at->drift);
        if (v == ORACLE_HOLDS) ok = fail_cell(s->f, "shrink", at, "the part holds:\n%s", t.at);
        c->t->shrunk++;
    }
    oracle_free(o);
    ratel_history_free(part);
    free(t.at);
    return ok;
}

static bool judge_cell(subject *s, int combination, int level)
{
    campaign *c = s->c;
    cell at = s->cells[combination];
    ratel_result *a = NULL;
    char setting[160];
    at.level = level;
    int expected = ask_oracle(s->o, c->levels[level].name, at.session_order, at.policy, at.drift);
    c->t->too_large += expected == ORACLE_TOO_BIG;
    c->t->impossible_hints += expected == ORACLE_BAD_HINT;
    c->t->nothing += expected == ORACLE_NOTHING;
    if (expected == ORACLE_TOO_BIG) return true;
    if (expected == ORACLE_UNKNOWN_LEVEL)
        return fail_cell(s->f, "level", &at, "the oracle does not know it");
    c->t->cells += expected >= 0;
    ratel_set(c->plain, "quick", draw_for(c, FOR_SETTING, 0) % 2);
    bool ok = ask_product(s, c->plain, &at, expected, "as it is", &a);
    int v = a ? (int)ratel_result_verdict(a) : -1;
    uint64_t which = which_cell(&at);
    bool thorough = c->number % c->thorough == 0;
    if (a) s->said[combination][level] = (int8_t)v;
    if (ok && v >= 0) c->t->said[level][v == RATEL_HOLDS ? 1 : v == RATEL_VIOLATED ? 2 : 0]++;
    if (ok && thorough && v > 0 && draw_for(c, FOR_CERTIFICATE, which) % CERTIFICATES == 0)
        ok = judge_certificate(s, a, &at, v);
    int seldom = v == RATEL_HOLDS ? VAIN_ARGUMENTS : ARGUMENTS;
    if (ok && thorough && v > 0 && draw_for(c, FOR_ARGUMENT, which) % (uint64_t)seldom == 0)
        ok = judge_argument(c, s->h, a, &at, v == RATEL_HOLDS, s->f);
    if (ok && thorough && v == RATEL_VIOLATED && draw_for(c, FOR_SHRINK, which) % SHRINKS == 0)
        ok = judge_shrunk(s, a, &at);
    ratel_result_free(a);
    if (!ok || !thorough) return ok;
    turn_setting(c, &at, setting, sizeof setting);
    return ask_product(s, c->turning, &at, expected, setting, NULL);
}

/* --- all cells, and between them -------------------------------------------------------------- */

static void choose_combinations(subject *s)
{
    campaign *c = s->c;
    uint64_t d = draw_for(c, FOR_COMBINATION, 0), e = draw_for(c, FOR_DRIFT, 0);
    int64_t drift = e % 4 ? 0 : (int64_t)(1 + e / 4 % 3);
    int first = (int)(d % 3), second = (int)(d / 3 % 3);
    s->cells[0] = (cell){0, 1, first, drift};
    s->cells[1] = (cell){0, 0, second, drift};
}

/* The second combination may be the same question for levels that settle session order. */
static bool asked_twice(const subject *s, int combination, int level)
{
    return combination && s->cells[0].policy == s->cells[1].policy &&
           !s->c->levels[level].asks_session_order;
}

static bool judge_lattice(subject *s)
{
    campaign *c = s->c;
    bool same = s->cells[0].policy == s->cells[1].policy;
    for (int i = 0; i < COMBINATIONS; i++)
        for (int a = 0; a < c->n_levels; a++) {
            if (s->said[i][a] != RATEL_HOLDS) continue;
            const bool *implied = c->implies[s->cells[i].session_order][a];
            for (int b = 0; b < c->n_levels; b++) {
                if (!implied[b] || a == b) continue;
                c->t->implications++;
                if (s->said[i][b] != RATEL_VIOLATED) continue;
                cell at = s->cells[i];
                at.level = b;
                return fail_cell(s->f, "lattice", &at, "violated, but %s, which implies it, holds",
                                 c->levels[a].name);
            }
            if (i == 0 && same && s->said[1][a] == RATEL_VIOLATED) {
                cell at = s->cells[1];
                at.level = a;
                return fail_cell(s->f, "lattice", &at, "violated, but holds with session order");
            }
        }
    return true;
}

/* --- the same, told otherwise ----------------------------------------------------------------- */

static const char *const variant_words[VARIANTS] = {"as it is",
                                                    "renamed",
                                                    "interleaved otherwise",
                                                    "with a bystander",
                                                    "with a failed write",
                                                    "with an aborted transaction",
                                                    "without a read",
                                                    "without a reader",
                                                    "in binary"};

static bool compare_variant(subject *s, const ratel_history *h, int how)
{
    campaign *c = s->c;
    for (int i = 0; i < COMBINATIONS; i++)
        for (int level = 0; level < c->n_levels; level++) {
            int was = s->said[i][level];
            if (was != RATEL_HOLDS && was != RATEL_VIOLATED) continue;
            /* taking something away tells nothing of what was violated */
            bool less = how == TOLD_WITHOUT_READ || how == TOLD_WITHOUT_READER;
            if (less && was == RATEL_VIOLATED) continue;
            cell at = s->cells[i];
            ratel_result *a = NULL;
            at.level = level;
            set_question(c->plain, &at);
            int code = ratel_check(&a, c->plain, h, c->levels[level].name);
            int now = a ? (int)ratel_result_verdict(a) : -1;
            ratel_result_free(a);
            if (c->plant == PLANT_VARIANT && how == IN_BINARY) now = RATEL_UNDECIDED + 1;
            c->t->variants[how]++;
            if (now == was) continue;
            if (now == RATEL_UNDECIDED && (less || c->levels[level].may_refuse)) continue;
            return fail_cell(s->f, "variant", &at, "%s, but %s %s", verdict_word(was),
                             variant_words[how], code ? ratel_errmsg(c->plain) : verdict_word(now));
        }
    return true;
}

static bool judge_variant(subject *s, int how)
{
    campaign *c = s->c;
    text t = {0};
    ratel_history *h = NULL;
    int code;
    if (how == IN_BINARY) {
        code = ratel_history_write(s->h, c->plain, "ratel-bin", add_text, &t);
        if (!code) code = ratel_history_read(&h, c->plain, "ratel-bin", read_text, &t);
    } else {
        t.at =
            random_history_told(c->seed * 1000003 + c->number, c->shape, (enum random_telling)how,
                                draw_for(c, FOR_TELLING, (uint64_t)how), &t.n);
        if (!t.at) return true; /* this one cannot be told so */
        code = ratel_history_read(&h, c->plain, "ratel", read_text, &t);
    }
    bool ok = code ? fail_cell(s->f, "variant", NULL, "%s: %s", variant_words[how],
                               ratel_errmsg(c->plain))
                   : compare_variant(s, h, how);
    if (!ok && how != IN_BINARY) add_text(t.at, t.n, &s->f->other);
    ratel_history_free(h);
    free(t.at);
    return ok;
}

bool judge_one_history(campaign *c, const char *history, size_t n, bool variants, const cell *only,
                       failure *f)
{
    char err[256];
    text in = {(char *)(uintptr_t)history, n, 0, 0};
    subject s = {.c = c, .f = f};
    memset(s.said, -1, sizeof s.said);
    choose_combinations(&s);
    s.o = oracle_parse(history, n, err, sizeof err);
    int code = ratel_history_read(&s.h, c->plain, "ratel", read_text, &in);
    bool ok = true;
    if (!s.o || code)
        ok = fail_cell(f, "reading", NULL, "oracle: %s; product: %s", s.o ? "reads it" : err,
                       code ? ratel_errmsg(c->plain) : "reads it");
    for (int i = 0; i < COMBINATIONS && ok; i++)
        for (int level = 0; level < c->n_levels && ok; level++) {
            bool other =
                only && (level != only->level || s.cells[i].session_order != only->session_order);
            if (!other && !asked_twice(&s, i, level)) ok = judge_cell(&s, i, level);
        }
    ok = ok && judge_lattice(&s);
    variants = variants && c->number % c->thorough == 0;
    for (uint64_t i = 0; i < TELLINGS_EACH && ok && variants; i++)
        ok = judge_variant(&s, (int)(1 + draw_for(c, FOR_VARIANT, i) % (VARIANTS - 1)));
    ratel_history_free(s.h);
    oracle_free(s.o);
    free(s.cert.at);
    free(s.last.at);
    free(s.forged.at);
    return ok;
}
