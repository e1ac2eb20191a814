/*
 * Tests of src/lib/verify/recheck_words.c: random orders against levels that forbid closed walks.
 *
 * A history is made along an order, so that reads, sessions and versions agree with it, but reads
 * may have missed later versions.  Whether the order keeps the level is worked out twice: by the
 * product, which cuts the order into parts and walks chains, and here by relations over all pairs.
 */
#include "base/rng.h"
#include "read_help.h"

#include "verify/claim.h"
#include "verify/iso_clauses.h"

#define MOST 14u /* transactions */
#define KEYS 3u
#define HISTORIES 4000u

typedef struct rel {
    bool at[MOST][MOST];
} rel;

typedef struct made { /* a history along the order 0, 1, ... */
    uint32_t n, session[MOST];
    bool writes[MOST][KEYS], reads[MOST][KEYS];
    uint32_t from[MOST][KEYS]; /* who wrote what was read, plus one; 0: the initial state */
    char text[8192];
} made;

static void make(made *x, rng *g)
{
    size_t at;
    memset(x, 0, sizeof *x);
    x->n = 2 + (uint32_t)rng_below(g, MOST - 1);
    uint32_t sessions = 1 + (uint32_t)rng_below(g, 4), stale = (uint32_t)rng_below(g, 60);
    at = (size_t)snprintf(x->text, sizeof x->text, "{\"ratel\":1,\"init\":0}\n");
    for (uint32_t i = 0; i < x->n; i++) {
        x->session[i] = (uint32_t)rng_below(g, sessions);
        at += (size_t)snprintf(x->text + at, sizeof x->text - at,
                               "{\"session\":%u,\"id\":%u,\"ops\":[", x->session[i], i + 1);
        const char *between = "";
        for (uint32_t k = 0; k < KEYS; k++) {
            if (rng_below(g, 100) >= 55) continue;
            x->reads[i][k] = true;
            uint32_t writer = i;
            while (writer && !x->writes[writer - 1][k]) writer--;
            while (writer && rng_below(g, 100) < stale)
                for (writer--; writer && !x->writes[writer - 1][k];) writer--;
            x->from[i][k] = writer;
            at += (size_t)snprintf(x->text + at, sizeof x->text - at, "%s[\"r\",%u,%u]", between, k,
                                   writer);
            between = ",";
        }
        for (uint32_t k = 0; k < KEYS; k++) {
            if (rng_below(g, 100) >= 40) continue;
            x->writes[i][k] = true;
            at += (size_t)snprintf(x->text + at, sizeof x->text - at, "%s[\"w\",%u,%u]", between, k,
                                   i + 1);
            between = ",";
        }
        at += (size_t)snprintf(x->text + at, sizeof x->text - at, "]}\n");
    }
}

static bool updates(const made *x, uint32_t i)
{
    return x->writes[i][0] || x->writes[i][1] || x->writes[i][2];
}

/* --- relations -------------------------------------------------------------------------------- */

typedef struct relations {
    rel so, wr, ww, rw, co, id, upd;
} relations;

static void relate(relations *r, const made *x)
{
    memset(r, 0, sizeof *r);
    for (uint32_t i = 0; i < x->n; i++) {
        r->id.at[i][i] = true;
        r->upd.at[i][i] = updates(x, i);
        for (uint32_t j = 0; j < x->n; j++) {
            r->co.at[i][j] = i < j;
            r->so.at[i][j] = i < j && x->session[i] == x->session[j];
            for (uint32_t k = 0; k < KEYS; k++) {
                if (x->reads[j][k] && x->from[j][k] == i + 1) r->wr.at[i][j] = true;
                if (x->writes[i][k] && x->writes[j][k] && i < j) r->ww.at[i][j] = true;
                if (x->reads[i][k] && x->writes[j][k] && i != j && j + 1 > x->from[i][k])
                    r->rw.at[i][j] = true;
            }
        }
    }
}

static rel either(rel a, rel b)
{
    for (uint32_t i = 0; i < MOST; i++)
        for (uint32_t j = 0; j < MOST; j++) a.at[i][j] = a.at[i][j] || b.at[i][j];
    return a;
}

static rel then(rel a, rel b)
{
    rel x = {0};
    for (uint32_t i = 0; i < MOST; i++)
        for (uint32_t k = 0; k < MOST; k++)
            for (uint32_t j = 0; a.at[i][k] && j < MOST; j++) x.at[i][j] = x.at[i][j] || b.at[k][j];
    return x;
}

static rel many(rel a)
{
    for (uint32_t k = 1; k < MOST; k *= 2) a = either(a, then(a, a));
    return a;
}

static bool irreflexive(rel a)
{
    for (uint32_t i = 0; i < MOST; i++)
        if (a.at[i][i]) return false;
    return true;
}

/* --- levels ----------------------------------------------------------------------------------- */

static bool all_edges(const relations *r)
{
    return irreflexive(many(either(either(r->so, r->wr), either(r->ww, r->rw))));
}

static bool one_rw_in_a_row(const relations *r)
{
    rel dep = either(r->so, either(r->wr, r->ww));
    return irreflexive(many(either(dep, then(dep, r->rw))));
}

static bool two_rw(const relations *r)
{
    rel dep = either(r->so, either(r->wr, r->ww));
    return irreflexive(then(r->rw, then(many(dep), r->rw)));
}

static bool among_updates(const relations *r)
{
    rel all = either(either(r->so, r->wr), either(r->ww, r->rw));
    return irreflexive(many(then(r->upd, then(all, r->upd))));
}

static bool swapped(const relations *r)
{
    return irreflexive(then(r->rw, r->rw));
}

static bool reads_only(const relations *r)
{
    return irreflexive(many(either(r->wr, r->rw)));
}

static bool sessions_and_rw(const relations *r)
{
    return irreflexive(many(either(r->so, r->rw)));
}

static bool rw_between_sessions(const relations *r)
{
    rel so = either(r->id, r->so);
    return irreflexive(then(r->rw, then(so, then(r->rw, then(so, r->rw)))));
}

static bool rw_and_order(const relations *r)
{
    return irreflexive(many(then(r->rw, then(r->rw, either(r->id, r->co)))));
}

static const struct text_level {
    const char *axiom;
    bool (*keeps)(const relations *r);
} levels[] = {
    {"acyclic(so | wr | ww | rw);", all_edges},
    {"acyclic((so | wr | ww) ; rw?);", one_rw_in_a_row},
    {"irreflexive(rw ; (so | wr | ww)+ ; rw);", two_rw},
    {"acyclic([upd] ; (so | wr | ww | rw) ; [upd]);", among_updates},
    {"irreflexive(rw ; rw);", swapped},
    {"acyclic(wr | rw);", reads_only},
    {"acyclic(so | rw);", sessions_and_rw},
    {"irreflexive(rw ; so? ; rw ; so? ; rw);", rw_between_sessions},
    {"acyclic(rw ; rw ; co?);", rw_and_order},
};
enum { LEVELS_HERE = sizeof levels / sizeof *levels };

/* Does the product find that the order keeps the level? */
static bool order_stands(const made *x, const history *h, const char *axiom, mem *m, guard *g)
{
    static bool ok; /* static: it must survive the jump */
    char words[256];
    const char *why = NULL;
    txn_id order[MOST];
    int n = snprintf(words, sizeof words, "level mine over co {\n    %s\n}\n", axiom);
    for (uint32_t i = 0; i < x->n; i++) order[i] = i;
    ok = false;
    if (guard_armed(g)) {
        FAIL(g->text);
        return false;
    }
    claim c = {.session_order = true, .outcome = OUTCOME_HOLDS, .order = order, .ordered = x->n};
    level_named(&c.level, "read-committed");
    c.definition = iso_level_of(m, words, (size_t)n, "mine");
    ok = claim_recheck(&c, h, m, &why);
    /* (Not because something else was wrong with it.) */
    if (!ok && !strstr(why, "the definition ")) FAIL(why);
    return ok;
}

TEST(closed_walks_of_random_orders)
{
    static made x;
    static relations r;
    uint32_t kept[LEVELS_HERE] = {0}, refused[LEVELS_HERE] = {0};
    rng g;
    rng_seed(&g, 20261118);
    for (uint32_t round = 0; round < HISTORIES; round++) {
        guard history_guard, guard_here;
        mem m;
        make(&x, &g);
        relate(&r, &x);
        history *h = load(&history_guard, "ratel", x.text, strlen(x.text));
        REQUIRE(h);
        for (uint32_t i = 0; i < LEVELS_HERE; i++) {
            guard_init(&guard_here);
            mem_init(&m, NULL, NULL, &guard_here);
            bool truth = levels[i].keeps(&r);
            if (order_stands(&x, h, levels[i].axiom, &m, &guard_here) != truth)
                test_fail(__FILE__, __LINE__, "%s %s, and the product says otherwise:\n%s",
                          levels[i].axiom, truth ? "is kept" : "is not kept", x.text);
            kept[i] += truth;
            refused[i] += !truth;
            mem_free_all(&m);
        }
        history_free(h);
        if (test_all.failures) return;
    }
    for (uint32_t i = 0; i < LEVELS_HERE; i++) EXPECT(kept[i] > 100 && refused[i] > 100);
}

TEST_MAIN
