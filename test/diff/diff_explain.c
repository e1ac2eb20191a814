/*
 * explain.c - arguments are found where a level is violated, and nowhere else.
 *
 * Random tiny histories of every profile, each level, session order on and off, every policy.
 * Where the product says violated (levels.c holds that against the oracle), ratel_explain must have
 * an argument, unless the history has lists whose order only a search over all orders can tell;
 * an element that nobody wrote needs no order.
 * Where it says holds, all transactions together must yield none, and neither may an argument
 * against another level of the same history, or a damaged one, pass as one against this.
 *
 *     explain [histories [seed]]   default 4000, seed from RATEL_TEST_SEED or 1
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"
#include "base/rng.h"
#include "explain/explain.h"
#include "oracle/random_history.h"

static const char *const policies[] = {"must", "external", "may"};

typedef struct text {
    const char *at;
    size_t n, pos;
} text;

typedef struct tally {
    uint64_t violated, unshown, held, refused, txns;
} tally;

static uint64_t failures;

static ptrdiff_t read_text(void *buf, size_t cap, void *payload)
{
    text *t = payload;
    size_t n = t->n - t->pos < cap ? t->n - t->pos : cap;
    if (n) memcpy(buf, t->at + t->pos, n);
    t->pos += n;
    return (ptrdiff_t)n;
}

static void fail(const char *what, const char *level, bool so, const char *policy, const char *h)
{
    if (++failures > 10) return;
    printf("FAIL %s: %s, session order %s, ryow %s\n%s\n", what, level, so ? "on" : "off", policy,
           h);
}

/* Lists with repeated elements, or written and deleted too: orders are tried, not derived. */
static bool wild(const history *h)
{
    for (size_t o = 0; o < h->ops; o++)
        for (size_t p = 0; p < h->ops; p++) {
            if (o == p || op_kind_of(h, (op_id)o) != OP_APPEND || h->op_key[o] != h->op_key[p])
                continue;
            enum op_kind k = op_kind_of(h, (op_id)p);
            if (k == OP_WRITE || k == OP_DELETE) return true;
            if (k == OP_APPEND && h->op_value[o] == h->op_value[p]) return true;
        }
    return h->init_unknown;
}

/* Does a committed list show an element that occurs nowhere else?  Then no order has to be tried,
   whatever else happens to the key; only own writes or deletes before it are another matter. */
static bool has_unheard_element(const history *h)
{
    for (txn_id t = 0; t < h->txns && !h->init_unknown; t++)
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            bool counts = txn_status_of(h, t) == TXN_COMMITTED && op_kind_of(h, o) == OP_READ &&
                          !(h->op_kind[o] & (OP_FAILED | OP_LOCAL)) &&
                          h->op_value[o] > VALUE_NULL && h->op_value[o] != VALUE_UNKNOWN &&
                          value_atom(h, h->op_value[o]).kind == ATOM_LIST;
            for (op_id p = h->txn_op[t]; p < o; p++)
                counts = counts && !(h->op_key[p] == h->op_key[o] && op_kind_of(h, p) != OP_READ);
            if (!counts) continue;
            atom seen = value_atom(h, h->op_value[o]), init = {0};
            if (h->key_init[h->op_key[o]] > VALUE_NULL)
                init = value_atom(h, h->key_init[h->op_key[o]]);
            for (uint32_t i = 0; i < seen.len; i++) {
                value_id e = h->elements.at[seen.as.offset + i];
                bool heard = false;
                for (op_id p = 0; p < h->ops; p++)
                    heard = heard || (h->op_key[p] == h->op_key[o] && h->op_value[p] == e);
                for (uint32_t j = 0; init.kind == ATOM_LIST && j < init.len; j++)
                    heard = heard || h->elements.at[init.as.offset + j] == e;
                if (!heard) return true;
            }
        }
    return false;
}

/* More reads of values that several wrote than an argument can choose writers for, one after the
   other (doc/explain.md, Limits). */
static bool has_many_choices(const history *h)
{
    uint32_t ambiguous = 0;
    for (op_id o = 0; o < h->ops; o++) {
        uint32_t writers = 0;
        for (op_id p = 0; p < h->ops && op_kind_of(h, o) == OP_READ; p++)
            writers += op_kind_of(h, p) == OP_WRITE && h->op_key[p] == h->op_key[o] &&
                       h->op_value[p] == h->op_value[o];
        ambiguous += writers > 1;
    }
    return ambiguous > 8;
}

/* The argument e with one thing changed. */
static void damage(argument *a, rng *g, uint32_t actors_n, size_t reads)
{
    arg_link *l = a->links.n ? &a->links.at[rng_below(g, a->links.n)] : NULL;
    arg_node *n = &a->nodes.at[rng_below(g, a->nodes.n)];
    switch (rng_below(g, 7)) {
    case 0:
        if (l) l->kind = (uint8_t)rng_below(g, 3);
        break;
    case 1:
        if (l) l->from = (uint8_t)rng_below(g, actors_n);
        break;
    case 2:
        if (l) l->to = (uint8_t)rng_below(g, actors_n);
        break;
    case 3:
        if (l && l->read != NO_ID) l->read = (uint32_t)rng_below(g, reads);
        break;
    case 4: n->n = n->n ? n->n - 1 : 0; break;
    case 5: n->a = (uint8_t)rng_below(g, actors_n); break;
    default:
        if (a->child.n) a->child.at[rng_below(g, a->child.n)] = a->root;
        break;
    }
}

/* Of a tree that was damaged: does it end?  (A child may now be one of its own parents.) */
static bool ends(const argument *a, uint32_t at, unsigned depth)
{
    const arg_node *n = &a->nodes.at[at];
    if (depth > 40) return false;
    for (uint32_t i = 0; !arg_leaf(n) && i < n->n; i++)
        if (!ends(a, a->child.at[n->first + i], depth + 1)) return false;
    return true;
}

typedef struct subject {
    ratel *r;
    const ratel_history *h;
    const char *written;
    rng *g;
    mem m;
    guard guard;
    explanation kept; /* the last argument against another level */
    bool has_kept;
    tally *t;
} subject;

static void try_holding(subject *s, const verdict *v, const char *level, bool so,
                        const char *policy)
{
    const history *h = s->h->model;
    txn_id all[SCENE_MOST];
    size_t n = 0;
    for (size_t t = 0; t < h->txns && n < SCENE_MOST; t++)
        if (txn_status_of(h, (txn_id)t) != TXN_ABORTED) all[n++] = (txn_id)t;
    scene sc;
    argument a = {.m = &s->m};
    actors who = 0;
    arg_ask ask = {v->level.id, v->session_order, v->level.realtime || v->level.id == LEVEL_SSER,
                   v->drift};
    s->t->held++;
    scene_build(&sc, &s->m, h, v->ryow, all, n);
    if (shape_of(ask.level) && argument_find(&a, &sc, &ask, &who))
        fail("an argument against a level that holds", level, so, policy, s->written);
    if (!s->has_kept || !shape_of(ask.level) || s->kept.scene.ryow != v->ryow) return;
    argument other = s->kept.arg;
    s->t->refused++;
    if (!argument_check(&other, &s->kept.scene, &ask, &s->m))
        fail("the argument against another level passes", level, so, policy, s->written);
    for (int i = 0; i < 3; i++) {
        argument bad = {.m = &s->m, .root = other.root};
        for (size_t j = 0; j < other.links.n; j++) vec_push(&s->m, &bad.links, other.links.at[j]);
        for (size_t j = 0; j < other.nodes.n; j++) vec_push(&s->m, &bad.nodes, other.nodes.at[j]);
        for (size_t j = 0; j < other.child.n; j++) vec_push(&s->m, &bad.child, other.child.at[j]);
        damage(&bad, s->g, s->kept.scene.n, s->kept.scene.reads.n);
        if (ends(&bad, bad.root, 0) && !argument_check(&bad, &s->kept.scene, &ask, &s->m))
            fail("a damaged argument passes", level, so, policy, s->written);
    }
}

/* Where explain has not always an argument (doc/explain.md, Limits) and says what check says: also
   where a transaction of unknown outcome may have written between two serializable ones. */
static bool unshaped(const history *h, const char *level)
{
    if (strstr(level, "mixed-pg"))
        for (txn_id t = 0; t < h->txns; t++)
            if (txn_status_of(h, t) == TXN_UNKNOWN) return true;
    return !strcmp(level, "no-lost-update");
}

static void try_level(subject *s, const char *level, bool so, const char *policy)
{
    ratel_result *a;
    ratel_explanation *e;
    size_t txns;
    if (ratel_check(&a, s->r, s->h, level)) return; /* hints that no execution can have */
    ratel_verdict found = ratel_result_verdict(a);
    if (found == RATEL_VIOLATED) {
        s->t->violated++;
        if (ratel_explain(&e, s->r, s->h, a)) {
            fail(ratel_errmsg(s->r), level, so, policy, s->written);
        } else {
            if (!ratel_explanation_shown(e, &txns)) {
                s->t->unshown++;
                bool plain = (!wild(s->h->model) && !has_many_choices(s->h->model)) ||
                             has_unheard_element(s->h->model);
                if (plain && !unshaped(s->h->model, level))
                    fail("no argument", level, so, policy, s->written);
            }
            s->t->txns += txns;
        }
        ratel_explanation_free(e);
        explain_ask q = {a->v.level,   a->v.session_order, a->v.ryow,   a->v.drift,
                         a->v.anomaly, a->v.core.at,       a->v.core.n, false};
        if (a->v.through) level_named(&q.level, a->v.through);
        explain(&s->kept, &s->m, s->h->model, &q);
        s->has_kept = s->kept.argued;
    } else if (found == RATEL_HOLDS && strcmp(level, "linearizable") != 0) {
        /* (that level is about another history, whose sessions are cut by key) */
        try_holding(s, &a->v, level, so, policy);
    }
    ratel_result_free(a);
}

/* Mixtures: the levels at which transactions are held to what each names itself; or all others, or
   `only` one of them. */
static void try_history(ratel *r, rng *g, const char *written, size_t n, bool mixtures,
                        const char *only, tally *t)
{
    text in = {written, n, 0};
    ratel_history *h;
    ratel_level l;
    char name[96];
    if (ratel_history_read(&h, r, "ratel", read_text, &in)) {
        fail(ratel_errmsg(r), "", false, "", written);
        return;
    }
    for (int so = 0; so < 2; so++) {
        uint64_t policy = rng_below(g, 3);
        subject s = {.r = r, .h = h, .written = written, .g = g, .t = t};
        guard_init(&s.guard);
        mem_init(&s.m, mem_libc, NULL, &s.guard);
        if (guard_armed(&s.guard)) {
            fail(s.guard.text, "", so, policies[policy], written);
            mem_free_all(&s.m);
            continue;
        }
        ratel_set(r, "session_order", so);
        ratel_set(r, "ryow", (int64_t)policy);
        for (size_t i = 0; !ratel_level_at(&l, i); i++) {
            if (!l.decided || mixtures != !strncmp(l.name, "mixed", 5)) continue;
            if (only && strcmp(only, l.name) != 0) continue;
            try_level(&s, l.name, so, policies[policy]);
            if (rng_below(g, 4)) continue;
            snprintf(name, sizeof name, "realtime-%s", l.name);
            if (!ratel_level_named(name, NULL)) try_level(&s, name, so, policies[policy]);
        }
        mem_free_all(&s.m);
    }
    ratel_history_free(h);
}

int main(int argc, char **argv)
{
    const char *env = getenv("RATEL_TEST_SEED");
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : env ? strtoull(env, NULL, 10) : 1;
    ratel *r;
    size_t profiles = 0;
    tally t[32] = {{0}};
    rng g, own;
    printf("seed %" PRIu64 ", %" PRIu64 " histories\n", seed, count);
    if (ratel_open(&r, NULL)) return 1;
    rng_seed(&g, seed);
    rng_seed(&own, seed + 1);
    while (random_profiles[profiles]) profiles++;
    for (uint64_t i = 0; i < count; i++) {
        size_t p = (size_t)(i % profiles), n;
        char *written = random_history(seed * 1000003u + i, random_profiles[p], &n);
        try_history(r, &g, written, n, false, NULL, &t[p]);
        written = random_levels(written, seed * 1000003u + i, &n);
        try_history(r, &own, written, n, true, NULL, &t[p]);
        free(written);
    }
    /* lists of all kinds, many of them, at the level that asks only what they look like */
    static const char *const lists[] = {"lists", "lists-set", "lists-dup"};
    tally weakest = {0};
    for (uint64_t i = 0; i < 3 * count; i++) {
        size_t n;
        char *written = random_history(seed * 1000033u + i, lists[i % 3], &n);
        try_history(r, &g, written, n, false, "read-uncommitted", &weakest);
        free(written);
    }
    printf("lists at read-uncommitted: %" PRIu64 " violated, %" PRIu64 " not shown, %" PRIu64
           " held\n",
           weakest.violated, weakest.unshown, weakest.held);
    uint64_t tries = weakest.violated + weakest.held + weakest.refused;
    for (size_t p = 0; p < profiles; p++) {
        printf("%-18s %6" PRIu64 " violated, %4" PRIu64 " not shown, %.2f transactions; %6" PRIu64
               " held, %6" PRIu64 " refused\n",
               random_profiles[p], t[p].violated, t[p].unshown,
               t[p].violated > t[p].unshown
                   ? (double)t[p].txns / (double)(t[p].violated - t[p].unshown)
                   : 0.0,
               t[p].held, t[p].refused);
        tries += t[p].violated + t[p].held + t[p].refused;
    }
    ratel_close(r);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", tries - failures, failures);
    return failures != 0;
}
