/*
 * synth_search.c - finds a history that some levels allow and others forbid.
 *
 * Counterexample-guided: the solver proposes a history with a witness for each allowed level; a
 * second, small solver looks for a witness of a forbidden level on that history; its order becomes
 * a constraint on all histories (¬N(H, order), visibility computed from H).  Three choices make it
 * quick (doc/synth.md): the index order is the order of the first allowed level, so it has no
 * variables; every allowed level's own order must fail each forbidden level from the start, which
 * closes most impossible problems without any candidate; scopes are assumptions, so the solver
 * keeps what it learned when they grow.  Each choice can be switched off, to see what it is worth.
 */
#include <string.h>

#include "synth/prooflog.h"
#include "synth/synth_search.h"

typedef struct search {
    mem *mem;
    const synth_problem *p;
    iso_level *const *levels;
    gates g;
    foreign *foreign;
    prooflog log; /* of g, if a proof is wanted */
    world w;
    gate *used;    /* [key] */
    gate *reads;   /* [t * keys + x] */
    gate *follows; /* [t]: has a predecessor in its session */
    tiny *found;
    gate least[8]; /* assumptions that make a history smallest */
    size_t n_least;
    VEC(tiny *) others; /* as small as found, none like another */
    bool all;
    synth_answer *out;
} search;

static const iso_level *allowed(const search *s, size_t i)
{
    return s->levels[s->p->allow[i]];
}

static const iso_level *forbidden(const search *s, size_t i)
{
    return s->levels[s->p->forbid[i]];
}

/* ---- the space of histories ---------------------------------------------------------------- */

static void implies2(gates *g, gate a, gate b)
{
    gate c[2] = {gate_not(a), b};
    gate_clause(g, c, 2);
}

static void at_most(gates *g, const gate *in, size_t n, size_t most)
{
    if (n <= most) return;
    gate *count = mem_array(g->mem, gate, most + 1);
    gate_count(g, in, n, count, most + 1);
    gate_assert(g, gate_not(count[most]));
    mem_put(g->mem, count);
}

static void build_operations(search *s)
{
    gates *g = &s->g;
    world *w = &s->w;
    uint32_t keys = w->keys;
    w->act[0] = GATE_TRUE;
    for (uint32_t t = 1; t < w->size; t++) {
        w->act[t] = gate_new(g);
        implies2(g, w->act[t], w->act[t - 1]);
    }
    for (uint32_t x = 0; x < keys; x++) w->w[x] = GATE_TRUE;
    for (uint32_t t = 1; t < w->size; t++) {
        gate *ops = mem_array(g->mem, gate, 2 * (size_t)keys);
        for (uint32_t x = 0; x < keys; x++) {
            size_t cell = (size_t)t * keys + x;
            w->w[cell] = gate_new(g);
            implies2(g, w->w[cell], w->act[t]);
            gate *rf = &w->rf[cell * w->size];
            size_t o = gate_open(g);
            for (uint32_t r = 0; r < t; r++) {
                rf[r] = gate_new(g);
                implies2(g, rf[r], w->act[t]);
                if (r) implies2(g, rf[r], w->w[(size_t)r * keys + x]);
                for (uint32_t q = 0; q < r; q++) implies2(g, rf[r], gate_not(rf[q]));
                gate_push(g, rf[r]);
            }
            s->reads[cell] = gate_close_or(g, o);
            if (s->p->no_blind) implies2(g, w->w[cell], s->reads[cell]);
            ops[2 * x] = w->w[cell];
            ops[2 * x + 1] = s->reads[cell];
        }
        if (s->p->ops) at_most(g, ops, 2 * (size_t)keys, s->p->ops);
        implies2(g, w->act[t], gate_or_all(g, ops, 2 * (size_t)keys));
    }
    if (!s->p->values) return;
    gate *writers = mem_array(g->mem, gate, w->size);
    for (uint32_t x = 0; x < keys; x++) {
        for (uint32_t t = 1; t < w->size; t++) writers[t - 1] = w->w[(size_t)t * keys + x];
        at_most(g, writers, w->size - 1, s->p->values - 1);
    }
}

/* Session order by pairs: an equivalence (chains, since the index orders it), or any partial
   order. */
static void build_sessions(search *s)
{
    gates *g = &s->g;
    world *w = &s->w;
    uint32_t n = w->size;
    for (uint32_t j = 1; j < n; j++) {
        w->so[j] = w->act[j];
        for (uint32_t i = 1; i < j; i++) {
            w->so[(size_t)i * n + j] = gate_new(g);
            implies2(g, w->so[(size_t)i * n + j], w->act[j]);
        }
    }
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            for (uint32_t k = j + 1; k < n; k++) {
                gate ij = w->so[(size_t)i * n + j], jk = w->so[(size_t)j * n + k];
                gate ik = w->so[(size_t)i * n + k];
                gate rules[3][3] = {{gate_not(ij), gate_not(jk), ik},
                                    {gate_not(ij), gate_not(ik), jk},
                                    {gate_not(ik), gate_not(jk), ij}};
                for (int r = 0; r < (s->p->partial ? 1 : 3); r++) gate_clause(g, rules[r], 3);
            }
    gate *firsts = mem_array(g->mem, gate, n);
    for (uint32_t j = 1; j < n; j++) {
        size_t o = gate_open(g);
        for (uint32_t i = 1; i < j; i++) gate_push(g, w->so[(size_t)i * n + j]);
        s->follows[j] = gate_close_or(g, o);
        firsts[j - 1] = gate_and(g, w->act[j], gate_not(s->follows[j]));
    }
    if (s->p->sessions) at_most(g, firsts, n - 1, s->p->sessions);
}

/* Keys are interchangeable: their columns stand in descending lexicographic order, unused last. */
static void build_keys(search *s)
{
    gates *g = &s->g;
    world *w = &s->w;
    uint32_t keys = w->keys;
    for (uint32_t x = 0; x < keys; x++) {
        size_t o = gate_open(g);
        for (uint32_t t = 1; t < w->size; t++) {
            gate_push(g, w->w[(size_t)t * keys + x]);
            gate_push(g, s->reads[(size_t)t * keys + x]);
        }
        s->used[x] = gate_close_or(g, o);
    }
    for (uint32_t x = 0; x + 1 < keys; x++) {
        gate same = GATE_TRUE; /* equal so far */
        for (uint32_t t = 1; t < w->size; t++)
            for (uint32_t r = 0; r <= t; r++) {
                size_t here = (size_t)t * keys + x;
                gate a = r == t ? w->w[here] : w->rf[here * w->size + r];
                gate b = r == t ? w->w[here + 1] : w->rf[(here + 1) * w->size + r];
                gate c[3] = {gate_not(same), a, gate_not(b)};
                gate_clause(g, c, 3);
                /* a >= b while equal, so they stay equal if a implies b */
                same = gate_and(g, same, gate_implies(g, a, b));
            }
        implies2(g, s->used[x + 1], s->used[x]);
    }
}

/* ---- levels -------------------------------------------------------------------------------- */

/* No history may keep the level with this order and this visibility, or with the least one. */
static void refuse(search *s, const iso_level *l, const gate *order, const gate *vis)
{
    gate kept = vis ? level_holds(&s->w, l, order, vis) : level_holds_least(&s->w, l, order);
    gate_assert(&s->g, gate_not(kept));
}

static gate kept_with(const world *w, const iso_level *l, const gate *order, gate **vis)
{
    *vis = NULL;
    if (l->witness != ISO_VIS_AR || vis_is_ruled(l)) return level_holds_least(w, l, order);
    *vis = vis_any(w, order);
    return level_holds(w, l, order, *vis);
}

static void refuse_all(search *s, const gate *order)
{
    for (size_t j = 0; j < s->p->n_forbid; j++) refuse(s, forbidden(s, j), order, NULL);
}

static void build_levels(search *s)
{
    uint32_t *rank = mem_array(s->mem, uint32_t, s->w.size);
    for (uint32_t t = 0; t < s->w.size; t++) rank[t] = t;
    gate *index = order_constant(&s->w, rank);
    bool first = true; /* the index order is not given away yet */
    if (s->p->brute) return;
    for (size_t i = 0; i < s->p->n_allow; i++) {
        const iso_level *l = allowed(s, i);
        bool fixed = (first && !s->p->no_fixed) || l->witness == ISO_NONE;
        gate *order = fixed ? index : order_any(&s->w), *vis;
        gate_assert(&s->g, kept_with(&s->w, l, order, &vis));
        if (l->witness == ISO_NONE) continue;
        first = false;
        if (!s->p->no_smart) refuse_all(s, order);
    }
    if (first && !s->p->no_smart) refuse_all(s, index);
}

static void build(search *s, uint32_t txns)
{
    if (s->p->proof) prooflog_init(&s->log, s->mem);
    gates_init(&s->g, s->mem, s->p->proof ? &s->log.hooks : NULL, s->foreign);
    world_alloc(&s->w, &s->g, txns + 1, s->p->keys);
    s->used = mem_array(s->mem, gate, s->p->keys);
    s->reads = mem_array0(s->mem, gate, (size_t)(txns + 1) * s->p->keys);
    s->follows = mem_array0(s->mem, gate, txns + 1);
    build_operations(s);
    build_sessions(s);
    build_keys(s);
    memcpy(s->w.key, s->used, s->p->keys * sizeof *s->used);
    world_derive(&s->w);
    build_levels(s);
}

/* ---- verifying ----------------------------------------------------------------------------- */

bool search_allows(mem *m, const tiny *h, const iso_level *l, uint32_t *rank, bool *vis)
{
    void *start = mem_get(m, 1);
    gates g;
    world w;
    gates_init(&g, m, NULL, NULL);
    world_constant(&w, &g, h);
    gate *order = order_any(&w), *sees = l->witness == ISO_VIS_AR ? vis_any(&w, order) : NULL;
    gate_assert(&g, level_holds(&w, l, order, sees));
    bool yes = gates_solve(&g, NULL, 0);
    for (uint32_t b = 0; yes && rank && b < w.size; b++) {
        rank[b] = 0;
        for (uint32_t a = 0; a < w.size; a++)
            rank[b] += gate_value(&g, order[(size_t)a * w.size + b]);
    }
    if (yes && vis && sees)
        for (size_t i = 0; i < (size_t)w.size * w.size; i++) vis[i] = gate_value(&g, sees[i]);
    gates_free(&g);
    mem_free_since(m, start);
    return yes;
}

/* Does this witness make the history keep the level?  Constants fold. */
static bool kept_by(mem *m, const tiny *h, const iso_level *l, const uint32_t *rank,
                    const bool *vis)
{
    void *start = mem_get(m, 1);
    gates g;
    world w;
    gates_init(&g, m, NULL, NULL);
    world_constant(&w, &g, h);
    size_t cells = (size_t)w.size * w.size;
    gate *order = order_constant(&w, rank), *sees = mem_array(m, gate, cells);
    for (size_t i = 0; i < cells; i++) sees[i] = vis[i] ? GATE_TRUE : GATE_FALSE;
    bool yes = level_holds(&w, l, order, sees) == GATE_TRUE;
    gates_free(&g);
    mem_free_since(m, start);
    return yes;
}

/* Shown is a visibility of which nothing can be left out: the solver's may hold more than the level
   asks for.  Of larger histories the solver's own, since each trial evaluates the level. */
#define MOST_THINNED 12

static void thin_out(mem *m, const tiny *h, const iso_level *l, const uint32_t *rank, bool *vis)
{
    if (h->n > MOST_THINNED || !kept_by(m, h, l, rank, vis)) return;
    size_t n = h->n + 1;
    for (size_t i = n; i < n * n; i++) { /* the first row: all see transaction 0 */
        if (!vis[i]) continue;
        vis[i] = false;
        if (!kept_by(m, h, l, rank, vis)) vis[i] = true;
    }
}

/* With its least visibility and this order, does the history keep the level?  Constants fold. */
static bool kept_by_least(mem *m, const tiny *h, const iso_level *l, const uint32_t *rank)
{
    void *start = mem_get(m, 1);
    gates g;
    world w;
    gates_init(&g, m, NULL, NULL);
    world_constant(&w, &g, h);
    gate *order = order_constant(&w, rank);
    bool yes = level_holds_least(&w, l, order) == GATE_TRUE;
    gates_free(&g);
    mem_free_since(m, start);
    return yes;
}

static tiny *read_model(search *s)
{
    const gates *v = &s->g;
    const world *w = &s->w;
    uint32_t n = 0, keys = 0;
    while (n + 1 < w->size && gate_value(v, w->act[n + 1])) n++;
    while (keys < w->keys && gate_value(v, s->used[keys])) keys++;
    tiny *h = tiny_new(s->mem, n, keys);
    for (uint32_t t = 1; t <= n; t++) {
        for (uint32_t x = 0; x < keys; x++) {
            size_t cell = (size_t)t * w->keys + x;
            h->writes[(size_t)t * keys + x] = gate_value(v, w->w[cell]);
            for (uint32_t r = 0; r < t; r++)
                if (gate_value(v, w->rf[cell * w->size + r])) h->from[(size_t)t * keys + x] = r;
        }
        for (uint32_t b = t + 1; b <= n; b++)
            h->so[(size_t)t * (n + 1) + b] = gate_value(v, w->so[(size_t)t * w->size + b]);
    }
    return h;
}

/* The witness's order, those that do not take part after all others. */
static void learn(search *s, const tiny *h, const iso_level *l, const uint32_t *rank,
                  const bool *vis)
{
    uint32_t n = s->w.size, *full = mem_array(s->mem, uint32_t, n);
    for (uint32_t t = 0; t < n; t++) full[t] = t <= h->n ? rank[t] : t;
    gate *order = order_constant(&s->w, full);
    if (l->witness != ISO_VIS_AR) {
        refuse(s, l, order, NULL);
        return;
    }
    bool least = !s->p->no_least && kept_by_least(s->mem, h, l, rank);
    if (!s->p->no_least) refuse(s, l, order, NULL);
    if (least) return;
    gate *sees = mem_array(s->mem, gate, (size_t)n * n);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            bool yes = !a || (a <= h->n && b <= h->n && vis[(size_t)a * (h->n + 1) + b]);
            sees[(size_t)a * n + b] = yes ? order[(size_t)a * n + b] : GATE_FALSE;
        }
    refuse(s, l, order, sees);
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void block(search *s, const tiny *h);

/* Allowed by all and forbidden by all?  If not, no such history is proposed again: learns from the
   witness of each forbidden level that has one. */
static bool fits(search *s, const tiny *h)
{
    bool one_by_one = s->p->no_learn || s->p->brute, fit = true;
    size_t n = h->n + 1;
    uint32_t *rank = mem_array(s->mem, uint32_t, n);
    bool *vis = mem_array(s->mem, bool, n *n);
    for (size_t i = 0; fit && s->p->brute && i < s->p->n_allow; i++)
        fit = search_allows(s->mem, h, allowed(s, i), NULL, NULL);
    for (size_t j = 0; (fit || !one_by_one) && j < s->p->n_forbid; j++) {
        const iso_level *l = forbidden(s, j);
        if (!search_allows(s->mem, h, l, rank, vis)) continue;
        fit = false;
        if (!one_by_one) learn(s, h, l, rank, vis);
    }
    if (!fit && one_by_one) block(s, h);
    mem_put(s->mem, vis);
    mem_put(s->mem, rank);
    return fit;
}

static bool same(const tiny *a, const tiny *b)
{
    size_t cells = (size_t)(a->n + 1) * a->keys, pairs = (size_t)(a->n + 1) * (a->n + 1);
    return a->n == b->n && a->keys == b->keys &&
           !memcmp(a->from, b->from, cells * sizeof *a->from) &&
           !memcmp(a->writes, b->writes, cells * sizeof *a->writes) &&
           !memcmp(a->so, b->so, pairs * sizeof *a->so);
}

static bool look(search *s, const gate *assume, size_t n)
{
    tiny *last = NULL;
    bool yes;
    while ((yes = gates_solve(&s->g, assume, n))) {
        tiny *h = read_model(s);
        if (fits(s, h)) {
            s->found = h;
            break;
        }
        guard_poll(s->mem->guard);
        if (last && same(last, h)) /* it would go on for ever */
            guard_fail(s->mem->guard, GUARD_BUG, "a history that was excluded was proposed again");
        if (last) tiny_free(s->mem, last);
        last = h;
        s->out->candidates++;
    }
    if (last) tiny_free(s->mem, last);
    return yes;
}

static size_t assume_txns(const search *s, uint32_t n, gate *out)
{
    size_t k = 0;
    out[k++] = s->w.act[n];
    if (n + 1 < s->w.size) out[k++] = gate_not(s->w.act[n + 1]);
    return k;
}

static uint32_t count_ops(const tiny *h)
{
    uint32_t many = 0;
    for (size_t i = h->keys; i < (size_t)(h->n + 1) * h->keys; i++)
        many += (uint32_t)h->writes[i] + (h->from[i] != TINY_NONE);
    return many;
}

/* Fewest inputs that hold: asks for less until there is no such history.  What is assumed from now
   on keeps the number reached, so that a later wish cannot undo an earlier one. */
static void fewest(search *s, const gate *in, size_t n, uint32_t have, gate *assume, size_t *used,
                   uint32_t (*count)(const tiny *))
{
    gate *out = mem_array(s->mem, gate, (size_t)have + 1); /* [k]: more than k */
    gate_count(&s->g, in, n, out, (size_t)have + 1);
    while (have) {
        assume[*used] = gate_not(out[have - 1]);
        if (!look(s, assume, *used + 1)) break;
        have = count(s->found);
    }
    assume[(*used)++] = gate_not(out[have]);
}

static uint32_t count_session_edges(const tiny *h)
{
    uint32_t many = 0;
    for (uint32_t b = 1; b <= h->n; b++) {
        bool follows = false;
        for (uint32_t a = 1; a < b; a++) follows |= h->so[(size_t)a * (h->n + 1) + b];
        many += follows;
    }
    return many;
}

/* ---- all of the smallest -------------------------------------------------------------------- */

/* Is b the history a with transactions and keys renamed? */
static bool maps(const tiny *a, const tiny *b, const uint32_t *txn, const uint32_t *key)
{
    size_t n = a->n + 1;
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t x = 0; x < a->keys; x++) {
            size_t i = (size_t)t * a->keys + x, j = (size_t)txn[t] * a->keys + key[x];
            uint32_t from = a->from[i];
            if (a->writes[i] != b->writes[j]) return false;
            if ((from == TINY_NONE ? from : txn[from]) != b->from[j]) return false;
        }
        for (uint32_t u = 0; u < n; u++)
            if (a->so[t * n + u] != b->so[txn[t] * n + txn[u]]) return false;
    }
    return true;
}

/* Tries every renaming: place i of txns, then of keys.  Smallest histories are tiny. */
static bool renamed(guard *g, const tiny *a, const tiny *b, uint32_t *txn, uint32_t *key,
                    uint32_t i)
{
    guard_tick(g);
    bool keys = i > a->n;
    uint32_t *list = keys ? key : txn, at = keys ? i - a->n - 1 : i;
    uint32_t n = keys ? a->keys : a->n + 1;
    if (keys && at == a->keys) return maps(a, b, txn, key);
    for (uint32_t v = keys ? 0 : 1; v < n; v++) {
        bool taken = false;
        for (uint32_t k = keys ? 0 : 1; k < at; k++) taken |= list[k] == v;
        if (taken) continue;
        list[at] = v;
        if (renamed(g, a, b, txn, key, i + 1)) return true;
    }
    return false;
}

static bool known(search *s, const tiny *h)
{
    uint32_t *txn = mem_array0(s->mem, uint32_t, h->n + 1);
    uint32_t *key = mem_array0(s->mem, uint32_t, h->keys + 1);
    for (size_t i = 0; i <= s->others.n; i++) {
        const tiny *o = i ? s->others.at[i - 1] : s->found;
        if (o != h && renamed(s->mem->guard, o, h, txn, key, 1)) return true;
    }
    return false;
}

/* No history just like this one, under these names. */
static void block(search *s, const tiny *h)
{
    const world *w = &s->w;
    size_t o = gate_open(&s->g);
    for (uint32_t t = 1; t <= h->n; t++) {
        for (uint32_t x = 0; x < h->keys; x++) {
            size_t cell = (size_t)t * w->keys + x, i = (size_t)t * h->keys + x;
            gate_push(&s->g, h->writes[i] ? gate_not(w->w[cell]) : w->w[cell]);
            gate_push(&s->g, h->from[i] == TINY_NONE
                                 ? s->reads[cell]
                                 : gate_not(w->rf[cell * w->size + h->from[i]]));
        }
        for (uint32_t u = t + 1; u <= h->n; u++) {
            gate so = w->so[(size_t)t * w->size + u];
            gate_push(&s->g, h->so[(size_t)t * (h->n + 1) + u] ? gate_not(so) : so);
        }
    }
    if (h->n + 1 < w->size) gate_push(&s->g, w->act[h->n + 1]);
    if (h->keys < w->keys) gate_push(&s->g, s->used[h->keys]);
    gate_clause(&s->g, s->g.stack.at + o, s->g.stack.n - o);
    s->g.stack.n = o;
}

static void enumerate(search *s)
{
    tiny *first = s->found;
    if (!s->p->more) return;
    block(s, first);
    while (s->others.n < s->p->more) {
        if (!look(s, s->least, s->n_least)) {
            s->all = true;
            break;
        }
        tiny *h = s->found;
        s->found = first;
        block(s, h);
        if (!known(s, h)) vec_push(s->mem, &s->others, h);
    }
    s->found = first;
}

/* The number of transactions is least already; now keys, operations, session edges. */
static void minimise(search *s)
{
    gate *assume = s->least;
    uint32_t n = s->found->n;
    size_t k = assume_txns(s, n, assume);
    for (uint32_t keys = 1; keys < s->found->keys; keys++) {
        assume[k] = gate_not(s->used[keys]);
        if (look(s, assume, k + 1)) break;
    }
    uint32_t keys = s->found->keys;
    if (keys < s->w.keys) assume[k++] = gate_not(s->used[keys]);
    gate *ops = mem_array(s->mem, gate, 2 * (size_t)n * keys + 1);
    size_t many = 0;
    for (uint32_t t = 1; t <= n; t++)
        for (uint32_t x = 0; x < keys; x++) {
            ops[many++] = s->w.w[(size_t)t * s->w.keys + x];
            ops[many++] = s->reads[(size_t)t * s->w.keys + x];
        }
    fewest(s, ops, many, count_ops(s->found), assume, &k, count_ops);
    fewest(s, &s->follows[1], n, count_session_edges(s->found), assume, &k, count_session_edges);
    s->n_least = k;
    enumerate(s);
}

static void add_work(search *s)
{
    s->out->variables += s->g.vars;
    s->out->clauses += s->g.clauses;
    s->out->conflicts += gates_conflicts(&s->g);
}

/* Each size was refuted as "has n, not n + 1"; so "has the first" leads to a contradiction. */
static void hand_over_proof(search *s, uint32_t from)
{
    if (!s->p->proof) return;
    strbuf formula;
    strbuf_init(&formula, s->mem);
    prooflog_end(&s->log, s->g.solver, s->w.act[from], &formula);
    s->p->proof(s->p->proof_ud, s->w.size - 1, formula.at, formula.n, s->log.steps.at,
                s->log.steps.n);
}

/* Small sizes one by one in a small encoding, where most answers are; then the rest at once. */
static void look_everywhere(search *s)
{
    uint32_t small = s->p->txns < 4 ? s->p->txns : 4;
    gate assume[2];
    void *start = mem_get(s->mem, 1);
    build(s, small);
    for (uint32_t n = 1; n <= small; n++)
        if (look(s, assume, assume_txns(s, n, assume))) {
            minimise(s);
            add_work(s);
            return;
        }
    add_work(s);
    hand_over_proof(s, 1);
    if (s->p->txns == small) return;
    gates_free(&s->g);
    mem_free_since(s->mem, start);
    build(s, s->p->txns);
    assume[0] = s->w.act[small + 1];
    if (look(s, assume, 1)) {
        uint32_t most = s->found->n;
        for (uint32_t n = small + 1; n < most; n++)
            if (look(s, assume, assume_txns(s, n, assume))) break;
        minimise(s);
    } else {
        hand_over_proof(s, small + 1);
    }
    add_work(s);
}

/* Chains that cover the session order: each transaction goes after the last one of the first chain
   that precedes it.  Exact for chains. */
static const uint32_t *sessions_of(mem *m, const tiny *h)
{
    uint32_t *session = mem_array0(m, uint32_t, h->n + 1), *last = mem_array(m, uint32_t, h->n + 1);
    uint32_t many = 0;
    for (uint32_t t = 1; t <= h->n; t++) {
        for (uint32_t c = 0; c < many && !session[t]; c++)
            if (h->so[(size_t)last[c] * (h->n + 1) + t]) session[t] = c + 1, last[c] = t;
        if (!session[t]) last[many] = t, session[t] = ++many;
    }
    return session;
}

static void describe(search *s, tiny *h, synth_answer *out)
{
    mem *m = s->mem;
    uint32_t **witness = mem_array(m, uint32_t *, s->p->n_allow + 1);
    bool **vis = mem_array0(m, bool *, s->p->n_allow + 1);
    for (size_t i = 0; i < s->p->n_allow; i++) {
        uint32_t *rank = mem_array0(m, uint32_t, h->n + 1);
        witness[i] = mem_array(m, uint32_t, h->n + 1);
        vis[i] = allowed(s, i)->witness == ISO_VIS_AR
                     ? mem_array0(m, bool, (size_t)(h->n + 1) * (h->n + 1))
                     : NULL;
        if (!search_allows(m, h, allowed(s, i), rank, vis[i]))
            guard_fail(m->guard, GUARD_BUG, "the history found is not allowed by %s",
                       allowed(s, i)->name);
        if (vis[i]) thin_out(m, h, allowed(s, i), rank, vis[i]);
        for (uint32_t t = 1; t <= h->n; t++) witness[i][rank[t] - 1] = t;
    }
    out->txns = h->n;
    out->keys = h->keys;
    out->from = h->from;
    out->writes = h->writes;
    out->so = h->so;
    out->session = sessions_of(m, h);
    out->witness = witness;
    out->vis = vis;
}

void search_run(mem *m, const synth_problem *p, iso_level *const *levels, foreign *f,
                synth_answer *out)
{
    search s = {.mem = m, .p = p, .levels = levels, .foreign = f, .out = out};
    look_everywhere(&s);
    out->result = s.found ? SYNTH_HISTORY : SYNTH_NONE;
    if (!s.found) return;
    describe(&s, s.found, out);
    synth_answer *others = mem_array(m, synth_answer, s.others.n + 1);
    for (size_t i = 0; i < s.others.n; i++) {
        others[i] = (synth_answer){.result = SYNTH_HISTORY};
        describe(&s, s.others.at[i], &others[i]);
    }
    out->others = others;
    out->n_others = s.others.n;
    out->all = s.all;
}
