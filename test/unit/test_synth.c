/*
 * synth.c - the language of levels and the search, through the border of the room.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ratel.h"
#include "solve/solve.h"
#include "synth/synth.h"
#include "test.h"

static synth *s;

static int read_level(const char *text)
{
    return synth_level_read(s, "my.iso", NULL, text, strlen(text));
}

/* Refused, at this place, with a message that contains this. */
static void refused(const char *text, unsigned line, unsigned column, const char *message)
{
    uint64_t l, c;
    s = synth_open(0, 0, NULL);
    int code = read_level(text);
    const char *got = synth_error(s, &l, &c);
    if (code != RATEL_EPARSE || l != line || c != column || !strstr(got, message))
        printf("# %s\n# code %d, %u:%u: %s\n", text, code, (unsigned)l, (unsigned)c, got);
    EXPECT_EQ_INT(code, RATEL_EPARSE);
    EXPECT_EQ_UINT(l, line);
    EXPECT_EQ_UINT(c, column);
    EXPECT(strstr(got, message) != NULL);
    synth_close(s);
}

TEST(errors_say_where_and_what)
{
    refused("", 1, 1, "defines no level");
    refused("relx a = so;", 1, 1, "did you mean rel?");
    refused("level a over co { commit(sow); }", 1, 26, "\"sow\" is not defined; did you mean so?");
    refused("level a over co {\n  comit(so);\n}", 2, 3, "did you mean commit?");
    refused("level a over co { commit(so) }", 1, 30, "\";\" at the end of the formula");
    refused("level a over co { commit(so);", 1, 30, "the file ends");
    refused("level a over co { so in upd; }", 1, 25, "this is a set, expected a relation");
    refused("level a over co { so; }", 1, 19, "this is a relation, expected a formula");
    refused("level a over co { all x:key, t:W[x] | R[t](t); }", 1, 41, "is a transaction");
    refused("level a over co { vis in co; }", 1, 19, "\"vis\" needs vis, ar");
    refused("level a over none { acyclic(ww); }", 1, 29, "needs an order");
    refused("level a over vis { true; }", 1, 18, "ar");
    refused("level a { true; } level a { true; }", 1, 25, "defined twice");
    refused("rel a = so; rel a = wr; level l { true; }", 1, 17, "defined twice");
    refused("level so { true; }", 1, 7, "is a keyword");
    refused("rel f[x] = wr[x]; level l { acyclic(f); }", 1, 37, "needs a key");
    refused("rel f = wr; level l { all x:key | acyclic(f[x]); }", 1, 43, "takes no key");
    refused("level l { @ }", 1, 11, "'@' is not part of the language");
    refused("level l over co extends nothing { true; }", 1, 25, "no level \"nothing\"");
    refused("level l over co extends si-cerone { true; }", 1, 25, "cannot extend");
}

TEST(cyclic_definitions_are_refused)
{
    refused("rel a = b; rel b = a | so; level l { acyclic(a); }", 1, 20, "cyclic");
    refused("rel a = a; level l { true; }", 1, 9, "cyclic");
    refused("level a extends b { } level b extends a { }", 1, 39, "cyclic");
}

TEST(deep_and_large_texts_end_in_an_error)
{
    static char text[400000];
    size_t n = (size_t)snprintf(text, sizeof text, "level l { acyclic(");
    for (int i = 0; i < 50000; i++) text[n++] = '(';
    text[n] = 0;
    s = synth_open(0, 0, NULL);
    EXPECT_EQ_INT(read_level(text), RATEL_EPARSE);
    n = (size_t)snprintf(text, sizeof text, "level l { acyclic(so");
    for (int i = 0; i < 50000; i++) n += (size_t)snprintf(text + n, sizeof text - n, "|so");
    EXPECT_EQ_INT(read_level(text), RATEL_EPARSE);
    EXPECT(strstr(synth_error(s, NULL, NULL), "too large") != NULL);
    synth_close(s);
}

TEST(every_definition_of_the_library_reads)
{
    const char *name, *text, *builtin;
    s = synth_open(0, 0, NULL);
    size_t i = 0;
    for (; synth_library_at(i, &name, &text, &builtin); i++) {
        int level = synth_level_named(s, name);
        EXPECT(level >= 0);
        if (level >= 0) EXPECT_STR(synth_level_name(s, level), name);
        EXPECT(!*builtin || !ratel_level_named(builtin, NULL));
        EXPECT(text && strstr(text, name));
    }
    EXPECT(i > 25);
    synth_close(s);
}

/* ---- meaning ------------------------------------------------------------------------------- */

/* t1: r(x,0) w(x); t2: r(x,0) w(x): a lost update, in two sessions. */
static const uint32_t from[] = {SYNTH_NONE_READ, 0, 0};
static const bool writes[] = {true, true, true};
static const bool so[] = {false, true, true, false, false, false, false, false, false};

static int on_lost_update(const char *text)
{
    s = synth_open(0, 0, NULL);
    int level = read_level(text);
    int got = level < 0 ? level : synth_check(s, level, 2, 1, from, writes, so, NULL);
    if (level < 0) printf("# %s: %s\n", text, synth_error(s, NULL, NULL));
    synth_close(s);
    return got;
}

TEST(operators_mean_what_they_say)
{
    EXPECT_EQ_INT(on_lost_update("level l { true; }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l { false; }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l over co { commit(co); }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l over co { commit(so | wr); }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l { acyclic(so | wr); }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l over co { acyclic(so | wr | ww | rw); }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l over co { irreflexive(rw ; rw); }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l over co { irreflexive(rw); }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l { empty(ro); }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l { empty(upd \\ init); }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l { init x (txn \\ init) in wr; }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l { wr = init x (txn \\ init); }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l { wr^-1 ; wr in id; }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l { all x:key | some t:W[x] | not R[x](t); }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l { all x:key, t:txn | W[x](t) <=> R[x](t); }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l { all t:txn \\ init | t in upd and init in (wr . t); }"),
                  1);
    EXPECT_EQ_INT(on_lost_update("level l { all t:init | (t . wr) = txn \\ t . so* ; }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l over co { total(co, txn); transitive(co); }"), 1);
    EXPECT_EQ_INT(on_lost_update("level l { total(so, txn); }"), 0);
    EXPECT_EQ_INT(
        on_lost_update("rel f[x] = wr[x] ; [W[x]];\nlevel l { all x:key | empty(f[x]); }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l over co { all x:key | max(co, W[x]) in init; }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l over vis, ar { total(vis, txn); }"), 0);
    EXPECT_EQ_INT(on_lost_update("level a over co { commit(so); }\nlevel b extends a, ser { }"), 0);
    EXPECT_EQ_INT(on_lost_update("level l over vis, ar { not (vis = ar); }"), 1);
}

/* ---- searching ----------------------------------------------------------------------------- */

static synth_result search(const char *allow, const char *forbid, synth_problem p,
                           synth_answer *out)
{
    s = synth_open(0, 0, NULL);
    int a = synth_level_named(s, allow), f = synth_level_named(s, forbid);
    EXPECT(a >= 0 && f >= 0);
    p.allow = &a;
    p.forbid = &f;
    p.n_allow = p.n_forbid = 1;
    EXPECT_EQ_INT(synth_search(s, &p, out), 0);
    return out->result;
}

TEST(answers_are_smallest)
{
    synth_answer r;
    synth_problem p = {.txns = 5, .keys = 3, .values = 5};
    EXPECT_EQ_INT(search("si", "ser", p, &r), SYNTH_HISTORY);
    EXPECT_EQ_UINT(r.txns, 2);
    EXPECT_EQ_UINT(r.keys, 2);
    synth_close(s);
    EXPECT_EQ_INT(search("cc", "pc", p, &r), SYNTH_HISTORY);
    EXPECT_EQ_UINT(r.txns, 4);
    synth_close(s);
}

TEST(scopes_bind)
{
    synth_answer r;
    synth_problem p = {.txns = 3, .keys = 3, .values = 5};
    EXPECT_EQ_INT(search("cc", "pc", p, &r), SYNTH_NONE); /* needs 4 transactions */
    synth_close(s);
    p = (synth_problem){.txns = 4, .keys = 1, .values = 5};
    EXPECT_EQ_INT(search("si", "ser", p, &r), SYNTH_NONE); /* needs 2 keys */
    synth_close(s);
    p = (synth_problem){.txns = 4, .keys = 3, .values = 1};
    EXPECT_EQ_INT(search("si", "ser", p, &r), SYNTH_NONE); /* nobody writes */
    synth_close(s);
    p = (synth_problem){.txns = 4, .keys = 3, .values = 5, .sessions = 1};
    EXPECT_EQ_INT(search("si", "ser", p, &r), SYNTH_NONE);
    synth_close(s);
    p = (synth_problem){.txns = 4, .keys = 3, .values = 5, .ops = 1};
    EXPECT_EQ_INT(search("pc", "ser", p, &r), SYNTH_NONE);
    synth_close(s);
}

/* ---- engines from outside: our own solver, as if it were one ------------------------------- */

typedef struct outside {
    guard guard;
    mem mem;
    solver *solver;
} outside;

static int opened, stubborn; /* stubborn: stops when asked to, and says that it has no answer */

static void *outside_open(void)
{
    outside *o = calloc(1, sizeof *o);
    guard_init(&o->guard);
    mem_init(&o->mem, NULL, NULL, &o->guard);
    if (guard_armed(&o->guard)) abort();
    o->solver = solver_new(&o->mem);
    opened++;
    return o;
}

static void outside_close(void *state)
{
    outside *o = state;
    solver_free(o->solver);
    mem_free_all(&o->mem);
    free(o);
    opened--;
}

static void outside_clause(void *state, const uint32_t *lits, size_t n)
{
    outside *o = state;
    for (size_t i = 0; i < n; i++)
        while (solver_vars(o->solver) <= lit_var(lits[i])) solver_var(o->solver);
    solver_add_clause(o->solver, lits, n);
}

static int outside_solve(void *state, const uint32_t *assume, size_t n, int (*stop)(void *ud),
                         void *ud)
{
    outside *o = state;
    while (stubborn && !stop(ud)) continue;
    return stubborn ? 0 : (int)solver_solve(o->solver, assume, n);
}

static bool outside_value(void *state, uint32_t lit)
{
    return solver_model(((outside *)state)->solver, lit) > 0;
}

static const synth_engine outside_engine = {"outside",      outside_open,  outside_close,
                                            outside_clause, outside_solve, outside_value};

TEST(another_engine_gives_the_same_answers_and_is_closed)
{
    synth_answer r;
    synth_problem p = {.txns = 5, .keys = 3, .values = 5, .no_prove = true};
    p.engine = &outside_engine;
    EXPECT_EQ_INT(search("cc", "pc", p, &r), SYNTH_HISTORY);
    EXPECT_EQ_UINT(r.txns, 4);
    synth_close(s);
    EXPECT_EQ_INT(search("si-biswas", "si-cerone", p, &r), SYNTH_NONE);
    synth_close(s);
    EXPECT_EQ_INT(opened, 0);
}

TEST(another_engine_that_is_stopped_is_closed)
{
    synth_answer r;
    s = synth_open(0.01, 0, NULL);
    int a = synth_level_named(s, "si"), f = synth_level_named(s, "ser");
    synth_problem p = {.allow = &a, .forbid = &f, .n_allow = 1, .n_forbid = 1};
    p.txns = p.keys = p.values = 3;
    p.engine = &outside_engine;
    stubborn = 1;
    EXPECT_EQ_INT(synth_search(s, &p, &r), 0);
    stubborn = 0;
    EXPECT_EQ_INT(r.result, SYNTH_UNDECIDED);
    EXPECT_EQ_INT(opened, 0);
    synth_close(s);
}

/* ---- levels on histories with choices ------------------------------------------------------ */

/* t1 and t2 write the same value of x, t3 reads it; t2's outcome may be unknown. */
static int on_choice(const char *text, bool unknown, bool *searched)
{
    static const synth_write w[] = {{1, 0}, {2, 0}, {2, 1}};
    static const uint32_t candidates[] = {1, 2, 0};
    static const synth_read reads[] = {{3, 0, 0, 2}, {3, 1, 2, 1}};
    bool maybe[] = {false, false, unknown, false};
    synth_facts f = {.txns = 3, .keys = 2, .maybe = maybe, .write = w, .n_writes = 3};
    f.read = reads;
    f.n_reads = 2;
    f.candidate = candidates;
    s = synth_open(0, 0, NULL);
    int level = read_level(text);
    int got = level < 0 ? level : synth_decide(s, level, &f, searched);
    synth_close(s);
    return got;
}

TEST(choices_are_searched)
{
    bool searched;
    EXPECT_EQ_INT(on_choice("level l over co { commit(co); true; }", false, &searched), 1);
    EXPECT(searched);
    /* every writer is read from: only if t2 did not happen */
    EXPECT_EQ_INT(
        on_choice("level l { all x:key, t:W[x] \\ init | not empty(t . wr); }", false, &searched),
        0);
    EXPECT_EQ_INT(
        on_choice("level l { all x:key, t:W[x] \\ init | not empty(t . wr); }", true, &searched),
        1);
}

TEST(proofs_hold_for_all_sizes_and_only_then)
{
    synth_answer r;
    synth_problem p = {.txns = 3, .keys = 2, .values = 5};
    EXPECT_EQ_INT(search("ser", "si-cerone", p, &r), SYNTH_PROVED);
    synth_close(s);
    p.no_prove = true;
    EXPECT_EQ_INT(search("ser", "si-cerone", p, &r), SYNTH_NONE);
    EXPECT_EQ_UINT(r.candidates, 0);
    synth_close(s);
}

/* Whatever is proved must be true: no pair of the library that a search separates is proved. */
TEST(no_proof_of_what_a_history_refutes)
{
    const char *a, *b;
    size_t proved = 0;
    for (size_t i = 0; synth_library_at(i, &a, NULL, NULL); i++)
        for (size_t j = 0; synth_library_at(j, &b, NULL, NULL); j++) {
            synth *t = synth_open(0, 0, NULL);
            int x = synth_level_named(t, a), y = synth_level_named(t, b);
            bool yes = i != j && synth_proves(t, x, y) == 1;
            synth_close(t);
            if (!yes) continue;
            proved++;
            synth_answer r;
            synth_problem p = {.txns = 3, .keys = 2, .values = 4, .no_prove = true};
            EXPECT_EQ_INT(search(a, b, p, &r), SYNTH_NONE);
            synth_close(s);
        }
    EXPECT(proved > 100);
}

TEST(a_level_that_is_no_set_of_rules)
{
    /* Someone sees somebody: not a rule, so visibility is searched for. */
    static const char text[] = "level odd over vis, ar {\n"
                               "  some a,b:txn \\ init | vis(a,b);\n}\n";
    synth_answer r;
    s = synth_open(0, 0, NULL);
    int odd = synth_level_read(s, "odd.iso", NULL, text, sizeof text - 1);
    int ra = synth_level_named(s, "ra-cerone");
    REQUIRE(odd >= 0 && ra >= 0);
    synth_problem p = {&ra, &odd, 1, 1, .txns = 3, .keys = 2, .values = 4};
    EXPECT_EQ_INT(synth_search(s, &p, &r), 0);
    EXPECT_EQ_INT(r.result, SYNTH_HISTORY);
    EXPECT_EQ_UINT(r.txns, 1); /* nobody to see */
    p.allow = &odd;
    p.forbid = &ra;
    EXPECT_EQ_INT(synth_search(s, &p, &r), 0);
    EXPECT_EQ_INT(r.result, SYNTH_NONE);
    synth_close(s);
}

TEST(limits_are_answers)
{
    synth_answer r;
    volatile int stop = 1;
    s = synth_open(0, 0, &stop);
    int a = synth_level_named(s, "ua"), f = synth_level_named(s, "tap-cc");
    synth_problem p = {&a, &f, 1, 1, .txns = 8, .keys = 5, .values = 5};
    EXPECT_EQ_INT(synth_search(s, &p, &r), 0);
    EXPECT_EQ_INT(r.result, SYNTH_UNDECIDED);
    synth_close(s);
    s = synth_open(0, 100000, NULL);
    a = synth_level_named(s, "cc"), f = synth_level_named(s, "tap-cc");
    EXPECT_EQ_INT(synth_search(s, &p, &r), 0);
    EXPECT_EQ_INT(r.result, SYNTH_UNDECIDED);
    synth_close(s);
}

TEST_MAIN
