/*
 * recheck_words.c - replaying a commit order against a level that is written as text.
 *
 * The definition is read here once more, from its own text: each axiom becomes a network of steps
 * (Thompson 1968), and the walks that it forbids are looked for in the order, backwards.  Nothing
 * is shared with what decides (src/lib/verdict/compile_iso.c and decide/lazy/automaton_sweep.c):
 * that works forward, by another construction of automata.
 *
 *     commit(P), irreflexive(P ; rw)     no later version of what was read leads to the reader
 *     commit(P ; po)                     ... and arrives there before the read
 *     acyclic(E)                         no cycle of steps of E (Tarjan 1972)
 *     irreflexive(R), X in co            no walk of R from a transaction to itself
 *
 * All steps but rw go forward in the order, which was checked before: so a walk without rw is no
 * closed one, and axioms that have none need no search.
 */
#include <assert.h>

#include "base/sort.h"
#include "iso/iso.h"
#include "verify/recheck.h"
#include "verify/settled_words.h"

/* Early: the last step to a reader, at an operation before the read (or, `upto`, at that one). */
enum word_letter {
    W_SO,
    W_WR,
    W_WW,
    W_RW,
    W_CO,
    W_RT,
    W_RW_ITEM,
    W_RW_PRED,
    W_WR_EARLY,
    W_WW_EARLY,
    W_SETTLED, /* see settled_words.h */
    W_TEST
};

typedef struct wire { /* of the network */
    uint32_t from, to;
    enum word_letter letter;
    uint8_t classes;  /* W_TEST; of an early letter: upto; W_SETTLED: the ways to stand */
    uint32_t ordinal; /* among the wires of its letter */
} wire;

typedef struct net {
    uint32_t in, out;
    bool bad;      /* no network: the definition says something else */
    bool turns;    /* has rw */
    uint8_t empty; /* classes at which it may be no step at all */
} net;

typedef struct words {
    checker *c;
    uint32_t states;
    VEC(wire) wires;
    VEC(uint32_t) of_letter[W_TEST + 1];
    uint32_t *into_first, *into; /* wires by where they lead */
    uint8_t *class;              /* per place */
    uint32_t *ended, n_ended;    /* places by their ends, if real time is spoken of */
    uint32_t *ended_rank;        /* per place: its index there, plus one; 0: it has no end */
    uint32_t *ended_before;      /* per place: how many of them ended before it began */
    bool timed;
    settled_chains *chains[32];        /* by the ways to stand; NULL: not used */
    size_t chain_links[33];            /* where the links of each begin, among those of W_SETTLED */
    size_t chain_numbers[33];          /* how many chains those before it have */
    uint8_t *is_first;                 /* per version: the first of its key */
    uint32_t *readers_first, *readers; /* places by the version they read (place in by_key), twice,
                                          plus one if by a predicate */
    uint32_t *begin_readers_first, *begin_readers; /* by key: readers of the initial state */
    /* the search */
    VEC(uint64_t) todo;
    uint32_t *mark, epoch; /* per node */
    size_t nodes;
    size_t links_from[W_TEST + 1]; /* where the links of each letter's chains begin; then the end */
} words;

#define ALL_CLASSES 3u
#define MOST_WIRES 65536u /* definitions may double each other */

/* --- networks --------------------------------------------------------------------------------- */

static uint32_t new_state(words *w)
{
    return w->states++;
}

static void add_wire(words *w, uint32_t from, enum word_letter letter, uint8_t classes, uint32_t to)
{
    wire x = {from, to, letter, classes, (uint32_t)w->of_letter[letter].n};
    uint32_t index = (uint32_t)w->wires.n;
    vec_push(w->c->m, &w->of_letter[letter], index);
    vec_push(w->c->m, &w->wires, x);
}

static net net_of_step(words *w, enum word_letter letter, uint8_t classes)
{
    net x = {.in = new_state(w), .out = new_state(w)};
    x.turns = letter == W_RW || letter == W_RW_ITEM || letter == W_RW_PRED;
    x.empty = letter == W_TEST ? classes : 0;
    w->timed = w->timed || letter == W_RT || letter == W_SETTLED;
    add_wire(w, x.in, letter, classes, x.out);
    return x;
}

static net no_net(void)
{
    return (net){.bad = true};
}

static net net_seq(words *w, net a, net b)
{
    if (a.bad || b.bad) return no_net();
    add_wire(w, a.out, W_TEST, ALL_CLASSES, b.in);
    return (net){a.in, b.out, false, a.turns || b.turns, a.empty & b.empty};
}

static net net_or(words *w, net a, net b)
{
    if (a.bad || b.bad) return no_net();
    net x = {new_state(w), new_state(w), false, a.turns || b.turns, a.empty | b.empty};
    add_wire(w, x.in, W_TEST, ALL_CLASSES, a.in);
    add_wire(w, x.in, W_TEST, ALL_CLASSES, b.in);
    add_wire(w, a.out, W_TEST, ALL_CLASSES, x.out);
    add_wire(w, b.out, W_TEST, ALL_CLASSES, x.out);
    return x;
}

static net net_plus(words *w, net a)
{
    if (!a.bad) add_wire(w, a.out, W_TEST, ALL_CLASSES, a.in);
    return a;
}

static net net_maybe(words *w, net a)
{
    return net_or(w, a, net_of_step(w, W_TEST, ALL_CLASSES));
}

/* The classes of a set of transactions; 4: it is another kind of set. */
static uint8_t set_classes(const iso_node *x)
{
    uint8_t a, b;
    switch (x->op) {
    case ISO_TXNS: return ALL_CLASSES;
    case ISO_UPD: return 1;
    case ISO_RO: return 2;
    case ISO_INIT: return 0; /* nothing leads to it, so it is on no walk that counts */
    case ISO_USE: return x->kid[0] ? 4 : set_classes(x->def->body);
    case ISO_JOIN:
    case ISO_MEET:
    case ISO_MINUS:
        a = set_classes(x->kid[0]);
        b = set_classes(x->kid[1]);
        if (a == 4 || b == 4) return 4;
        return x->op == ISO_JOIN ? a | b : x->op == ISO_MEET ? a & b : a & (uint8_t)~b;
    default: return 4;
    }
}

static const iso_node *meant(const iso_node *x)
{
    while (x->op == ISO_USE && !x->kid[0]) x = x->def->body;
    return x;
}

static net net_of(words *w, const iso_node *x);

/* A relation within a product of sets, or outside of it. */
static net net_of_limits(words *w, const iso_node *x)
{
    const iso_node *sets = meant(x->kid[1]);
    if (sets->op != ISO_PRODUCT) return no_net();
    uint8_t a = set_classes(sets->kid[0]), b = set_classes(sets->kid[1]);
    if (a == 4 || b == 4) return no_net();
    if (x->op == ISO_MEET)
        return net_seq(w, net_of_step(w, W_TEST, a),
                       net_seq(w, net_of(w, x->kid[0]), net_of_step(w, W_TEST, b)));
    return net_or(
        w, net_seq(w, net_of_step(w, W_TEST, ALL_CLASSES & (uint8_t)~a), net_of(w, x->kid[0])),
        net_seq(w, net_of(w, x->kid[0]), net_of_step(w, W_TEST, ALL_CLASSES & (uint8_t)~b)));
}

/* A relation that the history settles, by the classes of either side. */
static net net_of_settled(words *w, const settled_meaning *s)
{
    net all = net_of_step(w, W_TEST, 0);
    for (unsigned i = 0; i < 4; i++) {
        if (!s->ways[i / 2][i % 2]) continue;
        net step = net_of_step(w, W_SETTLED, s->ways[i / 2][i % 2]);
        step = net_seq(w, net_of_step(w, W_TEST, (uint8_t)(1u << i / 2)), step);
        all = net_or(w, all, net_seq(w, step, net_of_step(w, W_TEST, (uint8_t)(1u << i % 2))));
    }
    return all;
}

static net net_of(words *w, const iso_node *x)
{
    settled_meaning settled;
    x = meant(x);
    if (w->wires.n > MOST_WIRES) return no_net();
    if (settled_operator(x) && settled_meaning_of(&settled, x)) {
        bool alike = !memcmp(settled.ways[0], settled.ways[1], 2) &&
                     settled.ways[0][0] == settled.ways[0][1];
        return alike && settled.ways[0][0] ? net_of_step(w, W_SETTLED, settled.ways[0][0])
                                           : net_of_settled(w, &settled);
    }
    switch (x->op) {
    case ISO_SO: return net_of_step(w, W_SO, 0);
    case ISO_RT: return net_of_step(w, W_RT, 0);
    case ISO_RW_ITEM: return net_of_step(w, W_RW_ITEM, 0);
    case ISO_RW_PRED: return net_of_step(w, W_RW_PRED, 0);
    case ISO_WR: return net_of_step(w, W_WR, 0);
    case ISO_WW: return net_of_step(w, W_WW, 0);
    case ISO_RW: return net_of_step(w, W_RW, 0);
    case ISO_CO_REL:
    case ISO_AR: return net_of_step(w, W_CO, 0);
    case ISO_ID: return net_of_step(w, W_TEST, ALL_CLASSES);
    case ISO_DIAG: {
        uint8_t classes = set_classes(x->kid[0]);
        return classes == 4 ? no_net() : net_of_step(w, W_TEST, classes);
    }
    case ISO_SEQ: {
        net a = net_of(w, x->kid[0]);
        return net_seq(w, a, net_of(w, x->kid[1]));
    }
    case ISO_JOIN: {
        net a = net_of(w, x->kid[0]);
        return net_or(w, a, net_of(w, x->kid[1]));
    }
    case ISO_PLUS: return net_plus(w, net_of(w, x->kid[0]));
    case ISO_STAR: return net_maybe(w, net_plus(w, net_of(w, x->kid[0])));
    case ISO_OPT: return net_maybe(w, net_of(w, x->kid[0]));
    case ISO_MEET:
    case ISO_MINUS: return net_of_limits(w, x);
    default: return no_net();
    }
}

/* The classes at which an expression may be no step at all. */
static uint8_t no_step_at(const iso_node *x)
{
    x = meant(x);
    switch (x->op) {
    case ISO_ID:
    case ISO_STAR:
    case ISO_OPT: return ALL_CLASSES;
    case ISO_DIAG: return set_classes(x->kid[0]) & ALL_CLASSES;
    case ISO_PLUS: return no_step_at(x->kid[0]);
    case ISO_SEQ: return no_step_at(x->kid[0]) & no_step_at(x->kid[1]);
    case ISO_JOIN: return no_step_at(x->kid[0]) | no_step_at(x->kid[1]);
    default: return 0;
    }
}

/* The walks of x whose last step arrives early; the others of its steps are as they were. */
static net net_arriving(words *w, const iso_node *x, bool upto)
{
    settled_meaning settled;
    x = meant(x);
    if (w->wires.n > MOST_WIRES) return no_net();
    switch (x->op) {
    case ISO_WR: return net_of_step(w, W_WR_EARLY, upto);
    case ISO_WW: return net_of_step(w, W_WW_EARLY, upto);
    case ISO_ID:
    case ISO_DIAG: return net_of_step(w, W_TEST, 0);
    case ISO_OPT: return net_arriving(w, x->kid[0], upto);
    case ISO_JOIN: {
        net a = net_arriving(w, x->kid[0], upto);
        return net_or(w, a, net_arriving(w, x->kid[1], upto));
    }
    case ISO_PLUS:
    case ISO_STAR: {
        net many = net_maybe(w, net_plus(w, net_of(w, x->kid[0])));
        return net_seq(w, many, net_arriving(w, x->kid[0], upto));
    }
    case ISO_SEQ: {
        uint8_t skip = no_step_at(x->kid[1]);
        net a = net_of(w, x->kid[0]), b = net_seq(w, a, net_arriving(w, x->kid[1], upto));
        if (!skip) return b;
        net first = net_arriving(w, x->kid[0], upto);
        return net_or(w, b, net_seq(w, first, net_of_step(w, W_TEST, skip)));
    }
    case ISO_MEET:
    case ISO_MINUS: {
        const iso_node *sets = meant(x->kid[1]);
        if (settled_operator(x) && settled_meaning_of(&settled, x)) return net_of(w, x);
        if (sets->op != ISO_PRODUCT) return no_net();
        uint8_t a = set_classes(sets->kid[0]), b = set_classes(sets->kid[1]);
        if (a == 4 || b == 4) return no_net();
        net r = net_arriving(w, x->kid[0], upto);
        if (x->op == ISO_MEET)
            return net_seq(w, net_of_step(w, W_TEST, a), net_seq(w, r, net_of_step(w, W_TEST, b)));
        net other = net_arriving(w, x->kid[0], upto);
        return net_or(w, net_seq(w, net_of_step(w, W_TEST, ALL_CLASSES & (uint8_t)~a), r),
                      net_seq(w, other, net_of_step(w, W_TEST, ALL_CLASSES & (uint8_t)~b)));
    }
    default: return net_of(w, x);
    }
}

/* --- the graph, backwards ---------------------------------------------------------------------
   Nodes: a place and a state; or a link of a chain and a wire, which stands for "the step came from
   here or from further back". */

static void reach_node(words *w, uint64_t node)
{
    if (w->mark[node] == w->epoch) return;
    w->mark[node] = w->epoch;
    vec_push(w->c->m, &w->todo, node);
}

static uint64_t place_node(const words *w, uint32_t place, uint32_t state)
{
    return (uint64_t)place * w->states + state;
}

static uint64_t link_node(const words *w, uint32_t link, const wire *e)
{
    return w->links_from[e->letter] + (uint64_t)link * w->of_letter[e->letter].n + e->ordinal;
}

/* The index in by_key of the version of key k that place p installed. */
static uint32_t version_of(const checker *c, key_id k, uint32_t p)
{
    const installers *x = &c->by_key;
    uint32_t lo = x->first[k], hi = x->first[k + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->place[mid] < p)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t count_ended_before(const words *w, uint32_t p)
{
    const checker *c = w->c;
    int64_t begin, end;
    uint64_t drift = c->v->drift > 0 ? (uint64_t)c->v->drift : 0;
    uint32_t lo = 0, hi = w->n_ended;
    if (!recheck_stamp(c->h, c->v->order[p - 1], 0, &begin)) return 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        bool before = recheck_stamp(c->h, c->v->order[w->ended[mid] - 1], 3, &end) && end < begin &&
                      (uint64_t)begin - (uint64_t)end >= drift;
        if (before)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void back_to_reader(words *w, uint32_t p, uint32_t reader, const wire *e)
{
    bool pred = reader & 1;
    if (reader / 2 == p || (e->letter == W_RW_ITEM && pred) || (e->letter == W_RW_PRED && !pred))
        return;
    reach_node(w, place_node(w, reader / 2, e->from));
}

/* From a writer back to the readers of earlier versions. */
static void back_to_readers(words *w, uint32_t p, key_id k, const wire *e)
{
    const checker *c = w->c;
    uint32_t at = version_of(c, k, p);
    for (uint32_t i = c->by_key.first[k]; i < at; i++)
        for (uint32_t r = w->readers_first[i]; r < w->readers_first[i + 1]; r++)
            back_to_reader(w, p, w->readers[r], e);
    for (uint32_t r = w->begin_readers_first[k]; r < w->begin_readers_first[k + 1]; r++)
        back_to_reader(w, p, w->begin_readers[r], e);
    w->c->steps += at - c->by_key.first[k];
}

static void back_over_keys(words *w, uint32_t p, uint32_t e)
{
    const checker *c = w->c;
    txn_id t = c->v->order[p - 1];
    for (uint32_t i = c->w_first[t]; i < c->w_first[t + 1]; i++) {
        if (!installed(c, i)) continue;
        key_id k = c->w_key.at[i];
        if (w->wires.at[e].letter != W_WW) {
            back_to_readers(w, p, k, &w->wires.at[e]);
            continue;
        }
        uint32_t at = version_of(c, k, p);
        if (at > c->by_key.first[k]) reach_node(w, link_node(w, at - 1, &w->wires.at[e]));
    }
}

static void back_over_wire(words *w, uint32_t p, uint32_t index)
{
    const checker *c = w->c;
    const wire *e = &w->wires.at[index];
    uint32_t n;
    switch (e->letter) {
    case W_TEST:
        if (e->classes & w->class[p]) reach_node(w, place_node(w, p, e->from));
        return;
    case W_SO:
        if (c->v->session_order && c->so_pred[p]) reach_node(w, link_node(w, c->so_pred[p], e));
        return;
    case W_WR:
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (c->reads.at[i].value) reach_node(w, place_node(w, c->reads.at[i].value, e->from));
        return;
    case W_WW:
    case W_RW:
    case W_RW_ITEM:
    case W_RW_PRED: back_over_keys(w, p, index); return;
    case W_WR_EARLY:
    case W_WW_EARLY: return; /* of a reader's own walk only: hand_early */
    case W_CO:
        if (p > 1) reach_node(w, link_node(w, p - 1, e));
        return;
    case W_RT:
        n = w->ended_before[p];
        if (n) reach_node(w, link_node(w, n - 1, e));
        return;
    case W_SETTLED: {
        const settled_chains *x = w->chains[e->classes];
        size_t base = w->chain_links[e->classes];
        for (uint32_t i = x->upto_first[p]; i < x->upto_first[p + 1]; i++)
            reach_node(w, link_node(w, (uint32_t)(base + x->upto.at[i]), e));
        for (uint32_t i = x->single_first[p]; i < x->single_first[p + 1]; i++)
            reach_node(w, place_node(w, x->single.at[i], e->from));
        return;
    }
    }
}

/* The links of chains: the transaction there, and the link before it. */
static void back_over_link(words *w, uint64_t node)
{
    const checker *c = w->c;
    enum word_letter letter = W_SO;
    while (node >= w->links_from[letter + 1]) letter++;
    size_t n = w->of_letter[letter].n;
    uint32_t link = (uint32_t)((node - w->links_from[letter]) / n), p = link, before = UINT32_MAX;
    const wire *e = &w->wires.at[w->of_letter[letter].at[(node - w->links_from[letter]) % n]];
    switch (letter) {
    case W_SO:
        if (c->so_pred[link]) before = c->so_pred[link];
        break;
    case W_CO:
        if (link > 1) before = link - 1;
        break;
    case W_WW:
        p = c->by_key.place[link];
        if (!w->is_first[link]) before = link - 1;
        break;
    case W_SETTLED: {
        const settled_chains *x = w->chains[e->classes];
        uint32_t member = link - (uint32_t)w->chain_links[e->classes];
        p = x->place.at[member];
        if (member > x->first.at[x->chain.at[member]]) before = link - 1;
        break;
    }
    default: /* W_RT */
        p = w->ended[link];
        if (link) before = link - 1;
        break;
    }
    reach_node(w, place_node(w, p, e->from));
    if (before != UINT32_MAX) reach_node(w, link_node(w, before, e));
}

static void back_from_node(words *w, uint64_t node)
{
    w->c->steps++;
    guard_tick(w->c->m->guard);
    if (node >= w->links_from[W_SO]) {
        back_over_link(w, node);
        return;
    }
    uint32_t p = (uint32_t)(node / w->states), state = (uint32_t)(node % w->states);
    for (uint32_t i = w->into_first[state]; i < w->into_first[state + 1]; i++)
        back_over_wire(w, p, w->into[i]);
}

/* --- loading ---------------------------------------------------------------------------------- */

/* Groups `n` pairs (list, member) by list: counts first, then fills. */
static void load_readers(words *w)
{
    const checker *c = w->c;
    size_t keys = history_keys(c->h), versions = c->by_key.first[keys];
    uint32_t **first[2] = {&w->readers_first, &w->begin_readers_first};
    uint32_t **list[2] = {&w->readers, &w->begin_readers};
    size_t lists[2] = {versions, keys};
    for (int of = 0; of < 2; of++) {
        *first[of] = mem_array0(c->m, uint32_t, lists[of] + 3);
        *list[of] = mem_array(c->m, uint32_t, c->reads.n + 1);
    }
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t p = 1; p <= c->n; p++)
            for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
                const seen *r = &c->reads.at[i];
                int of = !r->value;
                size_t at = of ? r->key : version_of(c, r->key, r->value);
                if (fill)
                    (*list[of])[(*first[of])[at + 1]++] =
                        2 * p + recheck_predicate(c->h, r->op, r->key);
                else
                    (*first[of])[at + 2]++;
            }
        for (int of = 0; !fill && of < 2; of++)
            for (size_t i = 0; i <= lists[of]; i++) (*first[of])[i + 2] += (*first[of])[i + 1];
    }
}

static void load_classes(words *w)
{
    const checker *c = w->c;
    w->class = mem_array0(c->m, uint8_t, (size_t)c->n + 1);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        w->class[p] = c->w_first[t] < c->w_first[t + 1] ? 1 : 2;
    }
    size_t keys = history_keys(c->h);
    w->is_first = mem_array0(c->m, uint8_t, (size_t)c->by_key.first[keys] + 1);
    for (key_id k = 0; k < keys; k++) w->is_first[c->by_key.first[k]] = 1;
}

static void load_ends(words *w)
{
    checker *c = w->c;
    uint32_t n = 0;
    if (!w->timed) return;
    const instant *by_end = recheck_sort_ends(c, &n);
    w->ended = mem_array(c->m, uint32_t, (size_t)n + 1);
    w->ended_rank = mem_array0(c->m, uint32_t, (size_t)c->n + 1);
    for (uint32_t i = 0; i < n; i++) {
        w->ended[i] = by_end[i].place;
        w->ended_rank[by_end[i].place] = i + 1;
    }
    w->n_ended = n;
    w->ended_before = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (uint32_t p = 1; p <= c->n; p++) w->ended_before[p] = count_ended_before(w, p);
}

static void load_settled(words *w)
{
    checker *c = w->c;
    size_t links = 0, numbers = 0;
    for (size_t i = 0; i < w->of_letter[W_SETTLED].n; i++) {
        uint8_t ways = w->wires.at[w->of_letter[W_SETTLED].at[i]].classes;
        if (w->chains[ways]) continue;
        w->chains[ways] = mem_array0(c->m, settled_chains, 1);
        settled_chains_make(w->chains[ways], c, ways, w->ended, w->n_ended, w->ended_rank,
                            w->ended_before);
        w->chain_links[ways] = links;
        w->chain_numbers[ways] = numbers;
        links += w->chains[ways]->place.n;
        numbers += w->chains[ways]->first.n;
    }
    w->chain_links[32] = links;
    w->chain_numbers[32] = numbers;
}

/* Wires by where they lead, and the numbers of nodes; after all networks are made. */
static void load_graph(words *w)
{
    checker *c = w->c;
    size_t n = w->wires.n;
    w->into_first = mem_array0(c->m, uint32_t, (size_t)w->states + 3);
    w->into = mem_array(c->m, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) w->into_first[w->wires.at[i].to + 2]++;
    for (uint32_t s = 0; s <= w->states; s++) w->into_first[s + 2] += w->into_first[s + 1];
    for (uint32_t i = 0; i < n; i++) w->into[w->into_first[w->wires.at[i].to + 1]++] = i;
    size_t links[W_TEST] = {[W_SO] = (size_t)c->n + 1,
                            [W_WW] = c->by_key.first[history_keys(c->h)],
                            [W_CO] = (size_t)c->n + 1,
                            [W_RT] = w->n_ended,
                            [W_SETTLED] = w->chain_links[32]};
    w->nodes = ((size_t)c->n + 1) * w->states;
    for (int letter = W_SO; letter < W_TEST; letter++) {
        w->links_from[letter] = w->nodes;
        w->nodes += links[letter] * w->of_letter[letter].n;
    }
    w->links_from[W_TEST] = w->nodes;
    w->mark = mem_array0(c->m, uint32_t, w->nodes + 1);
}

/* --- reads ------------------------------------------------------------------------------------
   Readers that have missed a version are looked at together, MANY at a time, one bit for each.  The
   order is walked backwards from the last of them: whatever a node has is handed on to those that
   lead to it, all of which stand before it, so each place is done once and then forgotten. */

#define ROW_WORDS 4u
#define MANY (64u * ROW_WORDS)

typedef struct bit_row {
    uint64_t word[ROW_WORDS];
} bit_row;

typedef struct missing_reader {
    uint32_t place, lowest; /* all that it misses stands after the latter */
    uint32_t read;          /* the one that is asked about; NO_ID: all of them */
} missing_reader;

enum read_class { ALL_READS, ITEM_READS, PREDICATE_READS };

typedef struct chain_sum {
    uint32_t wire, first; /* whose it is, and the chain's first link */
    uint32_t low, top;    /* links below top may have bits; from low on they are summed up */
    uint32_t bottom;      /* no link below it has any */
} chain_sum;

typedef struct back_walk {
    words *w;
    net x;
    uint32_t lo, hi;               /* the places that are walked */
    bit_row *at;                   /* per node */
    bit_row *missed;               /* per place: the readers that miss a version of it */
    chain_sum *sums;               /* see hand_to_chain */
    VEC(uint32_t) used;            /* of these, the ones that have bits */
    const missing_reader *readers; /* whose bits these are */
    uint32_t n;
    enum read_class of;
} back_walk;

static bool any_bit(const bit_row *a)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < ROW_WORDS; i++) all |= a->word[i];
    return all != 0;
}

static void hand_on(back_walk *b, uint64_t node, const bit_row *row)
{
    for (uint32_t i = 0; i < ROW_WORDS; i++) b->at[node].word[i] |= row->word[i];
}

/* Chains whose members are visited in another order than they stand in: those that ended, and
   settled steps.  The bits of a link are for all members up to it.  Whoever hands them over stands
   after those members in the order, so when one of them is visited the links from it on get no
   more: each link then takes what the one after it has, from `low` on. */
static void hand_to_chain(back_walk *b, const wire *e, size_t sum, uint32_t first, uint32_t link,
                          const bit_row *row)
{
    chain_sum *s = &b->sums[sum];
    if (!s->top) {
        s->wire = (uint32_t)(e - b->w->wires.at);
        s->first = first;
        s->bottom = link;
        vec_push(b->w->c->m, &b->used, (uint32_t)sum);
    }
    assert(link < s->low || s->low == s->top);
    if (link >= s->top) s->low = s->top = link + 1;
    if (link < s->bottom) s->bottom = link;
    hand_on(b, link_node(b->w, first + link, e), row);
}

static void take_chain(back_walk *b, const wire *e, size_t sum, uint32_t first, uint32_t link,
                       uint32_t p)
{
    const words *w = b->w;
    chain_sum *s = &b->sums[sum];
    if (link >= s->top) return;
    for (; s->low > link; s->low--)
        if (s->low < s->top)
            hand_on(b, link_node(w, first + s->low - 1, e),
                    &b->at[link_node(w, first + s->low, e)]);
    hand_on(b, place_node(w, p, e->from), &b->at[link_node(w, first + link, e)]);
}

static void forget_chains(back_walk *b)
{
    for (size_t i = 0; i < b->used.n; i++) {
        chain_sum *s = &b->sums[b->used.at[i]];
        const wire *e = &b->w->wires.at[s->wire];
        for (uint32_t k = s->bottom < s->low ? s->bottom : s->low; k < s->top; k++) {
            bit_row *row = &b->at[link_node(b->w, s->first + k, e)];
            memset(row, 0, sizeof *row);
        }
        memset(s, 0, sizeof *s);
    }
    b->used.n = 0;
}

/* The number of the sums of a wire, and of a chain if it is a settled one. */
static size_t sum_of(const words *w, const wire *e, uint32_t chain)
{
    if (e->letter == W_RT) return e->ordinal;
    size_t all = w->chain_numbers[e->classes] + chain;
    return w->of_letter[W_RT].n + all * w->of_letter[W_SETTLED].n + e->ordinal;
}

static void hand_to_settled(back_walk *b, const wire *e, uint32_t p, const bit_row *row)
{
    const words *w = b->w;
    const settled_chains *x = w->chains[e->classes];
    for (uint32_t i = x->upto_first[p]; i < x->upto_first[p + 1]; i++) {
        uint32_t chain = x->chain.at[x->upto.at[i]], first = x->first.at[chain];
        hand_to_chain(b, e, sum_of(w, e, chain), (uint32_t)w->chain_links[e->classes] + first,
                      x->upto.at[i] - first, row);
    }
    for (uint32_t i = x->single_first[p]; i < x->single_first[p + 1]; i++)
        if (x->single.at[i] >= b->lo) hand_on(b, place_node(w, x->single.at[i], e->from), row);
}

static void take_chains(back_walk *b, uint32_t p)
{
    const words *w = b->w;
    for (size_t i = 0; i < w->of_letter[W_RT].n && w->ended_rank[p]; i++) {
        const wire *e = &w->wires.at[w->of_letter[W_RT].at[i]];
        take_chain(b, e, sum_of(w, e, 0), 0, w->ended_rank[p] - 1, p);
    }
    for (size_t i = 0; i < w->of_letter[W_SETTLED].n; i++) {
        const wire *e = &w->wires.at[w->of_letter[W_SETTLED].at[i]];
        const settled_chains *x = w->chains[e->classes];
        for (uint32_t j = x->member_first[p]; j < x->member_first[p + 1]; j++) {
            uint32_t chain = x->chain.at[x->member[j]], first = x->first.at[chain];
            take_chain(b, e, sum_of(w, e, chain), (uint32_t)w->chain_links[e->classes] + first,
                       x->member[j] - first, p);
        }
    }
}

/* The same for the last step of readers at p: what leads there must arrive early enough. */
static void hand_early(back_walk *b, uint32_t p, const wire *e, const bit_row *row)
{
    const words *w = b->w;
    const checker *c = w->c;
    txn_id t = c->v->order[p - 1];
    for (uint32_t i = 0; i < b->n; i++) {
        bit_row own = {{0}};
        if (b->readers[i].place != p || !(row->word[i / 64] >> (i % 64) & 1)) continue;
        own.word[i / 64] = (uint64_t)1 << (i % 64);
        op_id end = c->reads.at[b->readers[i].read].op + (e->classes ? 1 : 0);
        for (uint32_t k = c->r_first[p]; e->letter == W_WR_EARLY && k < c->r_first[p + 1]; k++)
            if (c->reads.at[k].op < end && c->reads.at[k].value >= b->lo)
                hand_on(b, place_node(w, c->reads.at[k].value, e->from), &own);
        for (uint32_t k = c->w_first[t]; e->letter == W_WW_EARLY && k < c->w_first[t + 1]; k++) {
            if (!installed(c, k) || c->w_op[k] >= end) continue;
            for (uint32_t at = version_of(c, c->w_key.at[k], p); !w->is_first[at]; at--) {
                if (c->by_key.place[at - 1] < b->lo) break;
                hand_on(b, place_node(w, c->by_key.place[at - 1], e->from), &own);
                b->w->c->steps++;
            }
        }
        b->w->c->steps += c->r_first[p + 1] - c->r_first[p];
        guard_tick(c->m->guard);
    }
}

/* From the transaction at p, in the state after wire e, to whatever leads there by e. */
static void hand_over_wire(back_walk *b, uint32_t p, const wire *e, const bit_row *row)
{
    const words *w = b->w;
    const checker *c = w->c;
    txn_id t = c->v->order[p - 1];
    switch (e->letter) {
    case W_SO:
        if (c->v->session_order && c->so_pred[p] >= b->lo)
            hand_on(b, link_node(w, c->so_pred[p], e), row);
        return;
    case W_CO:
        if (p > b->lo) hand_on(b, link_node(w, p - 1, e), row);
        return;
    case W_WR:
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (c->reads.at[i].value >= b->lo)
                hand_on(b, place_node(w, c->reads.at[i].value, e->from), row);
        return;
    case W_WW:
        for (uint32_t i = c->w_first[t]; i < c->w_first[t + 1]; i++) {
            if (!installed(c, i)) continue;
            uint32_t at = version_of(c, c->w_key.at[i], p);
            if (!w->is_first[at] && c->by_key.place[at - 1] >= b->lo)
                hand_on(b, link_node(w, at - 1, e), row);
        }
        return;
    case W_RT: {
        uint32_t n = w->ended_before[p];
        if (n) hand_to_chain(b, e, sum_of(w, e, 0), 0, n - 1, row);
        return;
    }
    case W_SETTLED: hand_to_settled(b, e, p, row); return;
    case W_WR_EARLY:
    case W_WW_EARLY: hand_early(b, p, e, row); return;
    default: return; /* W_TEST is handed on at the place itself; the others do not come here */
    }
}

/* The links of chains at p: their bits arrive at p, and go on to the link before. */
static void take_links(back_walk *b, uint32_t p)
{
    const words *w = b->w;
    const checker *c = w->c;
    txn_id t = c->v->order[p - 1];
    static const enum word_letter along[] = {W_SO, W_CO};
    for (uint32_t k = 0; k < 2; k++)
        for (size_t i = 0; i < w->of_letter[along[k]].n; i++) {
            const wire *e = &w->wires.at[w->of_letter[along[k]].at[i]];
            bit_row *link = &b->at[link_node(w, p, e)];
            uint32_t before = along[k] == W_SO ? c->so_pred[p] : p - 1;
            if (!any_bit(link)) continue;
            hand_on(b, place_node(w, p, e->from), link);
            if (before >= b->lo) hand_on(b, link_node(w, before, e), link);
            memset(link, 0, sizeof *link);
        }
    for (uint32_t i = c->w_first[t]; w->of_letter[W_WW].n && i < c->w_first[t + 1]; i++) {
        if (!installed(c, i)) continue;
        uint32_t at = version_of(c, c->w_key.at[i], p);
        for (size_t k = 0; k < w->of_letter[W_WW].n; k++) {
            const wire *e = &w->wires.at[w->of_letter[W_WW].at[k]];
            bit_row *link = &b->at[link_node(w, at, e)];
            if (!any_bit(link)) continue;
            hand_on(b, place_node(w, p, e->from), link);
            if (!w->is_first[at] && c->by_key.place[at - 1] >= b->lo)
                hand_on(b, link_node(w, at - 1, e), link);
            memset(link, 0, sizeof *link);
        }
    }
}

/* Tests are steps that stay: until nothing changes. */
static void take_tests(back_walk *b, uint32_t p)
{
    const words *w = b->w;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < w->of_letter[W_TEST].n; i++) {
            const wire *e = &w->wires.at[w->of_letter[W_TEST].at[i]];
            const bit_row *from = &b->at[place_node(w, p, e->to)];
            bit_row *to = &b->at[place_node(w, p, e->from)], was = *to;
            if (!(e->classes & w->class[p])) continue;
            for (uint32_t k = 0; k < ROW_WORDS; k++) to->word[k] |= from->word[k];
            more = more || memcmp(&was, to, sizeof was) != 0;
        }
    }
}

/* True if the transaction at p is a version that a reader misses, and leads to that reader. */
static bool walk_back(back_walk *b, uint32_t p)
{
    words *w = b->w;
    bit_row *row = &b->at[place_node(w, p, 0)];
    bool found = false;
    take_links(b, p);
    take_chains(b, p);
    take_tests(b, p);
    for (uint32_t k = 0; k < ROW_WORDS; k++)
        found = found || row[b->x.in].word[k] & b->missed[p].word[k];
    for (uint32_t state = 0; state < w->states; state++) {
        if (!any_bit(&row[state])) continue;
        for (uint32_t i = w->into_first[state]; i < w->into_first[state + 1]; i++)
            hand_over_wire(b, p, &w->wires.at[w->into[i]], &row[state]);
        w->c->steps++;
    }
    memset(row, 0, w->states * sizeof *row);
    memset(&b->missed[p], 0, sizeof *b->missed);
    guard_tick(w->c->m->guard);
    return found;
}

/* Marks the versions that the reader misses; false: there are none. */
static bool find_missed(const checker *c, missing_reader *r, enum read_class of, uint32_t bit,
                        bit_row *missed)
{
    const installers *x = &c->by_key;
    r->lowest = UINT32_MAX;
    for (uint32_t i = c->r_first[r->place]; i < c->r_first[r->place + 1]; i++) {
        const seen *read = &c->reads.at[i];
        if (r->read != NO_ID && r->read != i) continue;
        if (of != ALL_READS &&
            recheck_predicate(c->h, read->op, read->key) != (of == PREDICATE_READS))
            continue;
        uint32_t at = version_of(c, read->key, read->value + 1);
        for (; at < x->first[read->key + 1] && x->place[at] < r->place; at++) {
            if (read->value < r->lowest) r->lowest = read->value;
            if (!missed) break;
            missed[x->place[at]].word[bit / 64] |= (uint64_t)1 << (bit % 64);
        }
    }
    return r->lowest != UINT32_MAX;
}

static bool check_some(back_walk *b, missing_reader *readers, uint32_t n, uint32_t *culprit)
{
    b->lo = UINT32_MAX;
    b->hi = 0;
    b->readers = readers;
    b->n = n;
    for (uint32_t i = 0; i < n; i++) {
        if (readers[i].lowest + 1 < b->lo) b->lo = readers[i].lowest + 1;
        if (readers[i].place > b->hi) b->hi = readers[i].place;
    }
    for (uint32_t i = 0; i < n; i++) {
        find_missed(b->w->c, &readers[i], b->of, i, b->missed);
        b->at[place_node(b->w, readers[i].place, b->x.out)].word[i / 64] |= (uint64_t)1 << (i % 64);
    }
    bool ok = true;
    for (uint32_t p = b->hi; p >= b->lo; p--)
        if (walk_back(b, p) && ok) {
            ok = false;
            *culprit = p;
        }
    forget_chains(b);
    return ok;
}

/* Readers whose parts are of a like length together, so that none is long for the sake of one. */
static uint32_t *sort_readers(checker *c, const missing_reader *r, uint32_t n)
{
    uint64_t *key = mem_array(c->m, uint64_t, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t size = 63u - (uint64_t)__builtin_clzll((uint64_t)(r[i].place - r[i].lowest) | 1);
        key[i] = size / 2 << 32 | r[i].lowest;
    }
    uint32_t *by = sort_by_key(c->m, key, n);
    mem_put(c->m, key);
    return by;
}

/* `each`: every read has a bit of its own, since walks must arrive before it. */
static bool check_reads(words *w, net x, enum read_class of, bool each)
{
    checker *c = w->c;
    back_walk b = {.w = w, .x = x, .of = of};
    VEC(missing_reader) all = {0};
    missing_reader some[MANY];
    uint32_t culprit = 0;
    for (uint32_t p = 1; p <= c->n; p++) {
        uint32_t first = each ? c->r_first[p] : 0, end = each ? c->r_first[p + 1] : 1;
        for (uint32_t i = first; i < end; i++) {
            missing_reader r = {p, 0, each ? i : NO_ID};
            if (find_missed(c, &r, of, 0, NULL)) vec_push(c->m, &all, r);
        }
    }
    if (!all.n) return true;
    b.at = mem_array0(c->m, bit_row, w->nodes + 1);
    b.missed = mem_array0(c->m, bit_row, (size_t)c->n + 1);
    b.sums =
        mem_array0(c->m, chain_sum,
                   w->of_letter[W_RT].n + w->chain_numbers[32] * w->of_letter[W_SETTLED].n + 1);
    uint32_t *by = sort_readers(c, all.at, (uint32_t)all.n);
    bool ok = true;
    for (size_t i = 0; ok && i < all.n; i += MANY) {
        uint32_t n = all.n - i < MANY ? (uint32_t)(all.n - i) : MANY;
        for (uint32_t k = 0; k < n; k++) some[k] = all.at[by[i + k]];
        ok = check_some(&b, some, n, &culprit);
        if (recheck_too_large(c, 0)) return false;
    }
    mem_put(c->m, b.at);
    mem_put(c->m, b.missed);
    mem_put(c->m, b.sums);
    if (ok) return true;
    return recheck_no(c, c->v->order[culprit - 1],
                      "is missed by a reader that the definition wants to see it");
}

/* Who reads and writes a key overwrites what it read. */
static bool check_own_keys(words *w, enum read_class of)
{
    const checker *c = w->c;
    for (uint32_t p = 1; p <= c->n; p++)
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            const seen *read = &c->reads.at[i];
            bool pred = recheck_predicate(c->h, read->op, read->key);
            if (of != ALL_READS && pred != (of == PREDICATE_READS)) continue;
            if (recheck_install(c, c->v->order[p - 1], read->key) == NO_ID) continue;
            uint32_t next = version_of(c, read->key, read->value + 1);
            if (c->by_key.place[next] < p)
                return recheck_no(w->c, c->v->order[p - 1],
                                  "overwrites another version than the one that it read");
        }
    return true;
}

/* --- closed walks ----------------------------------------------------------------------------- */

static bool check_closed(words *w, net x)
{
    checker *c = w->c;
    for (uint32_t p = 1; p <= c->n; p++) {
        uint64_t goal = place_node(w, p, x.in);
        w->epoch++;
        w->todo.n = 0;
        reach_node(w, place_node(w, p, x.out));
        while (w->todo.n) {
            uint64_t node = w->todo.at[--w->todo.n];
            if (node == goal)
                return recheck_no(c, c->v->order[p - 1],
                                  "stands on a closed walk that the definition forbids");
            back_from_node(w, node);
        }
        if (recheck_too_large(c, 0)) return false;
    }
    return true;
}

/* Tarjan's search for strong components, without recursion: `low` is the lowest number that is
   reached from a node and is still open. */
typedef struct frame {
    uint64_t node;
    size_t first, next; /* its neighbours on the stack of them */
} frame;

typedef struct components {
    uint32_t *number, *low;
    uint32_t last;
    VEC(frame) frames;
    VEC(uint64_t) open, neighbours;
} components;

#define CLOSED_COMPONENT UINT32_MAX

static void open_component(words *w, components *z, uint64_t node)
{
    frame f = {node, z->neighbours.n, z->neighbours.n};
    z->number[node] = z->low[node] = ++z->last;
    vec_push(w->c->m, &z->open, node);
    w->epoch++; /* every node has its own list of neighbours */
    w->todo.n = 0;
    back_from_node(w, node);
    for (size_t i = 0; i < w->todo.n; i++) vec_push(w->c->m, &z->neighbours, w->todo.at[i]);
    vec_push(w->c->m, &z->frames, f);
}

/* True if the component that ends with this node has a node where a walk of x begins, and more
   than that. */
static bool close_component(const words *w, components *z, uint64_t node, net x)
{
    bool more = z->open.at[z->open.n - 1] != node, begins = false;
    for (uint64_t last = node + 1; last != node;) {
        last = z->open.at[--z->open.n];
        z->low[last] = CLOSED_COMPONENT;
        begins = begins || (last < w->links_from[W_SO] && last % w->states == x.in);
    }
    return more && begins;
}

static bool cycle_from(words *w, components *z, uint64_t root, net x)
{
    open_component(w, z, root);
    while (z->frames.n) {
        frame *f = &z->frames.at[z->frames.n - 1];
        if (f->next < z->neighbours.n) {
            uint64_t node = f->node, other = z->neighbours.at[f->next++];
            if (!z->number[other])
                open_component(w, z, other);
            else if (z->low[other] != CLOSED_COMPONENT && z->number[other] < z->low[node])
                z->low[node] = z->number[other];
            continue;
        }
        uint64_t node = f->node;
        z->neighbours.n = f->first;
        z->frames.n--;
        if (z->frames.n) {
            frame *above = &z->frames.at[z->frames.n - 1];
            if (z->low[node] < z->low[above->node]) z->low[above->node] = z->low[node];
        }
        if (z->low[node] == z->number[node] && close_component(w, z, node, x)) return true;
    }
    return false;
}

/* The network's end leads back to its beginning. */
static bool check_cycles(words *w, net x)
{
    checker *c = w->c;
    components z = {.number = mem_array0(c->m, uint32_t, w->nodes + 1),
                    .low = mem_array0(c->m, uint32_t, w->nodes + 1)};
    for (uint32_t p = 1; p <= c->n; p++) {
        uint64_t root = place_node(w, p, x.in);
        if (!z.number[root] && cycle_from(w, &z, root, x))
            return recheck_no(c, c->v->order[p - 1],
                              "stands on a cycle that the definition forbids");
        if (recheck_too_large(c, 0)) return false;
    }
    mem_put(c->m, z.number);
    mem_put(c->m, z.low);
    return true;
}

/* --- axioms ----------------------------------------------------------------------------------- */

enum forbidden { MISSED_VERSIONS, MISSED_EARLIER, OWN_KEYS, CLOSED_WALKS, CYCLES };

typedef struct demand {
    enum forbidden what;
    net x;
    enum read_class of; /* which reads */
} demand;

typedef struct reading { /* of a definition */
    words *w;
    VEC(demand) demands;
    bool over_vis, bad, transitive;
    bool has_visible, has_before, has_after;
    net visible, before, after;
} reading;

static void add_demand(reading *r, enum forbidden what, net x)
{
    demand d = {what, x, ALL_READS};
    bool of_reads = what == MISSED_VERSIONS || what == MISSED_EARLIER;
    if (x.bad || x.empty) r->bad = true;
    if (!of_reads && !x.turns) return; /* no closed walk without rw */
    if (of_reads && x.turns) r->bad = true;
    vec_push(r->w->c->m, &r->demands, d);
}

static bool is_order_name(const iso_node *x)
{
    x = meant(x);
    return x->op == ISO_CO_REL || x->op == ISO_AR;
}

static bool is_vis_name(const iso_node *x)
{
    return meant(x)->op == ISO_VIS;
}

static void widen(reading *r, bool *has, net *to, net x)
{
    if (x.bad) r->bad = true;
    *to = *has ? net_or(r->w, *to, x) : x;
    *has = true;
}

static void read_visible(reading *r, const iso_node *x)
{
    x = meant(x);
    bool composed = x->op == ISO_SEQ;
    if (x->op == ISO_JOIN) {
        read_visible(r, x->kid[0]);
        read_visible(r, x->kid[1]);
    } else if (composed && is_vis_name(x->kid[0]) && is_vis_name(x->kid[1])) {
        r->transitive = true;
    } else if (composed && is_vis_name(x->kid[1])) {
        widen(r, &r->has_before, &r->before, net_of(r->w, x->kid[0]));
    } else if (composed && is_vis_name(x->kid[0])) {
        widen(r, &r->has_after, &r->after, net_of(r->w, x->kid[1]));
    } else if (!is_vis_name(x)) {
        widen(r, &r->has_visible, &r->visible, net_of(r->w, x));
    }
}

static void read_total(reading *r, const iso_node *f)
{
    uint8_t classes = set_classes(f->kid[1]);
    if (classes == 4) {
        r->bad = true;
        return;
    }
    net step =
        net_seq(r->w, net_of_step(r->w, W_TEST, classes),
                net_seq(r->w, net_of_step(r->w, W_CO, 0), net_of_step(r->w, W_TEST, classes)));
    widen(r, &r->has_visible, &r->visible, step);
}

static enum read_class class_of_reads(enum iso_op op)
{
    if (op == ISO_RW_ITEM || op == ISO_RWX_ITEM) return ITEM_READS;
    return op == ISO_RW_PRED || op == ISO_RWX_PRED ? PREDICATE_READS : ALL_READS;
}

static void read_commit(reading *r, const iso_node *f)
{
    enum iso_arrival arrival;
    const iso_node *p = iso_premise(f, &arrival);
    if (arrival == ISO_ANYWHERE) {
        add_demand(r, MISSED_VERSIONS, net_of(r->w, p));
        return;
    }
    if (no_step_at(p)) r->bad = true;
    add_demand(r, MISSED_EARLIER, net_arriving(r->w, p, arrival == ISO_UPTO));
}

static bool read_own_key(reading *r, const iso_node *f)
{
    const iso_node *last;
    if (!iso_is_own_key(f, &last)) return false;
    demand d = {.what = OWN_KEYS, .of = class_of_reads(last->op)};
    vec_push(r->w->c->m, &r->demands, d);
    return true;
}

static void read_irreflexive(reading *r, const iso_node *of)
{
    const iso_node *x = meant(of), *last = x->op == ISO_SEQ ? meant(x->kid[1]) : x;
    if (x->op == ISO_SEQ &&
        (last->op == ISO_RW || last->op == ISO_RW_ITEM || last->op == ISO_RW_PRED)) {
        net p = net_of(r->w, x->kid[0]);
        /* A transaction does not overwrite what it read itself, so a P that relates it to itself
           changes nothing here. */
        if (!p.bad && !p.turns) {
            demand d = {MISSED_VERSIONS, p, class_of_reads(last->op)};
            vec_push(r->w->c->m, &r->demands, d);
            return;
        }
    }
    add_demand(r, CLOSED_WALKS, net_of(r->w, of));
}

/* A beginning of its own, to which only the end of a whole walk leads back: E itself may have loops
   at its first state. */
static net net_of_cycle(words *w, const iso_node *e)
{
    net begin = net_of_step(w, W_TEST, ALL_CLASSES);
    return net_plus(w, net_seq(w, begin, net_of(w, e)));
}

static void read_axiom(reading *r, const iso_node *f)
{
    words *w = r->w;
    switch (f->op) {
    case ISO_TRUE: return;
    case ISO_AND:
        read_axiom(r, f->kid[0]);
        read_axiom(r, f->kid[1]);
        return;
    case ISO_COMMIT: read_commit(r, f); return;
    case ISO_IRREFLEXIVE: read_irreflexive(r, f->kid[0]); return;
    case ISO_ACYCLIC: add_demand(r, CYCLES, net_of_cycle(w, f->kid[0])); return;
    case ISO_IN:
        if (r->over_vis && is_vis_name(f->kid[1])) {
            read_visible(r, f->kid[0]);
            return;
        }
        if (f->kid[0]->type != ISO_REL || !is_order_name(f->kid[1])) break;
        net x = net_of(w, f->kid[0]);
        if (x.empty) break;
        add_demand(r, CLOSED_WALKS, net_seq(w, x, net_maybe(w, net_of_step(w, W_CO, 0))));
        return;
    case ISO_TRANSITIVE:
        if (!r->over_vis || !is_vis_name(f->kid[0])) break;
        r->transitive = true;
        return;
    case ISO_TOTAL:
        if (!r->over_vis || !is_vis_name(f->kid[0])) break;
        read_total(r, f);
        return;
    case ISO_ALL:
        if (read_own_key(r, f)) return;
        if (!r->over_vis || !iso_is_noconflict(f)) break;
        widen(r, &r->has_visible, &r->visible, net_of_step(w, W_WW, 0));
        return;
    default: break;
    }
    r->bad = true;
}

/* The least visibility: session order, read-from and what the axioms add; every other one shows
   more, and a read that misses a version of the least misses it there too. */
static void read_least_visible(reading *r)
{
    words *w = r->w;
    net v = net_or(w, net_of_step(w, W_SO, 0), net_of_step(w, W_WR, 0));
    if (r->bad) return;
    if (r->has_visible) v = net_or(w, v, r->visible);
    if (r->has_before) v = net_seq(w, net_maybe(w, net_plus(w, r->before)), v);
    if (r->has_after) v = net_seq(w, v, net_maybe(w, net_plus(w, r->after)));
    if (r->transitive) v = net_plus(w, v);
    add_demand(r, MISSED_VERSIONS, v);
}

static void read_definition(reading *r, const iso_level *l)
{
    iso_axiom_list all = {0};
    r->over_vis = l->witness == ISO_VIS_AR;
    r->bad = l->witness == ISO_NONE;
    iso_axioms(r->w->c->m, l, &all);
    for (size_t i = 0; i < all.n && !r->bad; i++) {
        if (all.at[i]->form->size > ISO_MOST_UNFOLDED)
            r->bad = true;
        else
            read_axiom(r, all.at[i]->form);
    }
    if (r->over_vis) read_least_visible(r);
}

bool recheck_words_known(checker *c)
{
    words w = {.c = c};
    reading r = {.w = &w};
    read_definition(&r, c->v->definition);
    return !r.bad;
}

bool recheck_words(checker *c)
{
    words w = {.c = c};
    reading r = {.w = &w};
    read_definition(&r, c->v->definition);
    if (r.bad) return recheck_no(c, NO_ID, "no recheck for what the definition says");
    load_classes(&w);
    load_ends(&w);
    load_settled(&w);
    load_readers(&w);
    load_graph(&w);
    for (size_t i = 0; i < r.demands.n; i++) {
        const demand *d = &r.demands.at[i];
        bool ok = false;
        switch (d->what) {
        case MISSED_VERSIONS: ok = check_reads(&w, d->x, d->of, false); break;
        case MISSED_EARLIER: ok = check_reads(&w, d->x, d->of, true); break;
        case OWN_KEYS: ok = check_own_keys(&w, d->of); break;
        case CLOSED_WALKS: ok = check_closed(&w, d->x); break;
        case CYCLES: ok = check_cycles(&w, d->x); break;
        }
        if (!ok) return false;
    }
    return true;
}
