/*
 * recheck_words.c - replaying a commit order against a level that is written as text.
 *
 * The definition is read here once more, from its own text: each axiom becomes a network of steps
 * (Thompson 1968), and the walks that it forbids are looked for in the order, backwards.  Nothing
 * is shared with what decides (src/lib/verdict/compile_iso.c and decide/lazy/automaton_sweep.c):
 * that works forward, by another construction of automata.  Walks to readers are looked for in
 * missed_reads.c, closed walks here.
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

#include "iso/iso.h"
#include "verify/words_state.h"

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

/* The same, by plain letters where it is session order, real time or both. */
static net net_of_meaning(words *w, const settled_meaning *s)
{
    const unsigned so = WAY_SESSION_AND_TIME | WAY_SESSION | WAY_SESSION_LATE;
    const unsigned rt = WAY_SESSION_AND_TIME | WAY_TIME | WAY_TIME_LATE;
    unsigned all = s->ways[0][0];
    for (unsigned i = 1; i < 4; i++)
        if (s->ways[i / 2][i % 2] != all) return net_of_settled(w, s);
    if (all == so) return net_of_step(w, W_SO, 0);
    if (all == rt) return net_of_step(w, W_RT, 0);
    if (all == (so | rt)) return net_or(w, net_of_step(w, W_SO, 0), net_of_step(w, W_RT, 0));
    return all ? net_of_step(w, W_SETTLED, (uint8_t)all) : net_of_settled(w, s);
}

typedef struct join_parts {
    settled_meaning settled; /* what the settled ones of them relate, together */
    bool any, has_rest;      /* some are settled, some are not */
    net rest;
} join_parts;

static void divide_join(words *w, join_parts *j, const iso_node *x)
{
    settled_meaning own;
    x = meant(x);
    if (x->op == ISO_JOIN && !settled_operator(x)) {
        divide_join(w, j, x->kid[0]);
        divide_join(w, j, x->kid[1]);
        return;
    }
    bool letter = x->op == ISO_SO || x->op == ISO_RT;
    if ((letter || settled_operator(x)) && settled_meaning_of(&own, x)) {
        for (unsigned i = 0; i < 4; i++) j->settled.ways[i / 2][i % 2] |= own.ways[i / 2][i % 2];
        j->any = true;
        return;
    }
    net other = net_of(w, x);
    j->rest = j->has_rest ? net_or(w, j->rest, other) : other;
    j->has_rest = true;
}

/* What the history settles is one step, however many parts of the union name it: every chain that
   is divided by sessions costs the walks as much as all plain letters together. */
static net net_of_join(words *w, const iso_node *x)
{
    join_parts j = {0};
    divide_join(w, &j, x);
    if (!j.any) return j.rest;
    net settled = net_of_meaning(w, &j.settled);
    return j.has_rest ? net_or(w, j.rest, settled) : settled;
}

static net net_of(words *w, const iso_node *x)
{
    settled_meaning settled;
    x = meant(x);
    if (w->wires.n > MOST_WIRES) return no_net();
    if (settled_operator(x) && settled_meaning_of(&settled, x)) return net_of_meaning(w, &settled);
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
    case ISO_JOIN: return net_of_join(w, x);
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

static void reach_place(words *w, uint32_t place, uint32_t state)
{
    if (place >= w->lo && place <= w->hi) reach_node(w, (uint64_t)place * w->states + state);
}

static uint64_t place_node(const words *w, uint32_t place, uint32_t state)
{
    return (uint64_t)place * w->states + state;
}

static uint64_t link_node(const words *w, uint32_t link, const wire *e)
{
    return w->links_from[e->letter] + (uint64_t)link * w->of_letter[e->letter].n + e->ordinal;
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
    reach_place(w, reader / 2, e->from);
}

/* The link of a version stands for the readers of it and of all before it, and there is one more in
   front of those of a key, for the readers of the initial state. */
static uint32_t readers_link(key_id k, uint32_t of)
{
    return of + k + 1;
}

/* From a writer back to the readers of earlier versions.  It is not led to by its own reads: up to
   the first version that it read of the key, the readers are gone through one by one. */
static void back_to_readers(words *w, uint32_t p, key_id k, const wire *e)
{
    const checker *c = w->c;
    uint32_t first = c->by_key.first[k], at = words_version(c, k, p), own = at;
    bool initial = false;
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
        const seen *r = &c->reads.at[i];
        if (r->key != k) continue;
        uint32_t from = r->value ? words_version(c, k, r->value) : first;
        initial = initial || !r->value;
        own = from < own ? from : own;
    }
    for (uint32_t i = at; i > own;)
        for (uint32_t r = w->readers_first[--i]; r < w->readers_first[i + 1]; r++)
            back_to_reader(w, p, w->readers[r], e);
    w->c->steps += at - own;
    if (!initial) {
        reach_node(w, link_node(w, readers_link(k, own) - 1, e));
        return;
    }
    for (uint32_t r = w->begin_readers_first[k]; r < w->begin_readers_first[k + 1]; r++)
        back_to_reader(w, p, w->begin_readers[r], e);
}

/* From the link of a version to its readers, and to the link before it. */
static void back_over_readers(words *w, uint32_t link, const wire *e)
{
    const checker *c = w->c;
    key_id k = w->link_key[link];
    uint32_t none = UINT32_MAX; /* the writer is not known here */
    bool begin = link == c->by_key.first[k] + k;
    const uint32_t *first = begin ? &w->begin_readers_first[k] : &w->readers_first[link - k - 1];
    const uint32_t *readers = begin ? w->begin_readers : w->readers;
    for (uint32_t r = first[0]; r < first[1]; r++) back_to_reader(w, none, readers[r], e);
    w->c->steps += first[1] - first[0];
    if (!begin) reach_node(w, link_node(w, link - 1, e));
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
        uint32_t at = words_version(c, k, p);
        if (at > c->by_key.first[k] && c->by_key.place[at - 1] >= w->lo)
            reach_node(w, link_node(w, at - 1, &w->wires.at[e]));
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
        if (c->v->session_order && c->so_pred[p] && c->so_pred[p] >= w->lo)
            reach_node(w, link_node(w, c->so_pred[p], e));
        return;
    case W_WR:
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (c->reads.at[i].value) reach_place(w, c->reads.at[i].value, e->from);
        return;
    case W_WW:
    case W_RW:
    case W_RW_ITEM:
    case W_RW_PRED: back_over_keys(w, p, index); return;
    case W_WR_EARLY:
    case W_WW_EARLY: return; /* of a reader's own walk only: missed_reads.c */
    case W_CO:
        if (p > w->lo) reach_node(w, link_node(w, p - 1, e));
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
            reach_place(w, x->single.at[i], e->from);
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
        if (c->so_pred[link] && c->so_pred[link] >= w->lo) before = c->so_pred[link];
        break;
    case W_CO:
        if (link > w->lo) before = link - 1;
        break;
    case W_RW:
    case W_RW_ITEM:
    case W_RW_PRED: back_over_readers(w, link, e); return;
    case W_WW:
        p = c->by_key.place[link];
        if (!w->is_first[link] && c->by_key.place[link - 1] >= w->lo) before = link - 1;
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
    reach_place(w, p, e->from);
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
                size_t at = of ? r->key : words_version(c, r->key, r->value);
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
    size_t links = 0;
    for (size_t i = 0; i < w->of_letter[W_SETTLED].n; i++) {
        uint8_t ways = w->wires.at[w->of_letter[W_SETTLED].at[i]].classes;
        if (w->chains[ways]) continue;
        w->chains[ways] = mem_array0(c->m, settled_chains, 1);
        settled_chains_make(w->chains[ways], c, ways, w->ended, w->n_ended, w->ended_rank,
                            w->ended_before);
        w->chain_links[ways] = links;
        links += w->chains[ways]->place.n;
    }
    w->chain_links[32] = links;
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
    size_t keys = history_keys(c->h), versions = c->by_key.first[keys];
    size_t links[W_TEST] = {[W_SO] = (size_t)c->n + 1,     [W_WW] = versions,
                            [W_RW] = versions + keys,      [W_RW_ITEM] = versions + keys,
                            [W_RW_PRED] = versions + keys, [W_CO] = (size_t)c->n + 1,
                            [W_RT] = w->n_ended,           [W_SETTLED] = w->chain_links[32]};
    w->nodes = ((size_t)c->n + 1) * w->states;
    for (int letter = W_SO; letter < W_TEST; letter++) {
        w->links_from[letter] = w->nodes;
        w->nodes += links[letter] * w->of_letter[letter].n;
    }
    w->links_from[W_TEST] = w->nodes;
    w->mark = mem_array0(c->m, uint32_t, w->nodes + 1);
    w->link_key = mem_array(c->m, key_id, versions + keys + 1);
    for (key_id k = 0; k < keys; k++)
        for (size_t i = c->by_key.first[k]; i <= c->by_key.first[k + 1]; i++)
            w->link_key[i + k] = k;
}

/* What walks need; orders that nothing goes back in need none of it. */
static void load_walks(words *w)
{
    if (w->mark) return;
    load_classes(w);
    load_ends(w);
    load_settled(w);
    load_readers(w);
    load_graph(w);
}

/* --- a key of its own ------------------------------------------------------------------------- */

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
            uint32_t next = words_version(c, read->key, read->value + 1);
            if (c->by_key.place[next] < p)
                return recheck_no(w->c, c->v->order[p - 1],
                                  "overwrites another version than the one that it read");
        }
    return true;
}

/* --- closed walks ------------------------------------------------------------------------------
   The network's end leads back to its beginning (net_of_cycle), at which no other step arrives. */

/* Tarjan's search for strong components, without recursion: `low` is the lowest number that is
   reached from a node and is still open.  A node of a closed component has that one's number. */
typedef struct frame {
    uint64_t node;
    size_t first, next; /* its neighbours on the stack of them */
} frame;

typedef struct components {
    uint32_t *number, *low;
    uint32_t last, closed; /* how many nodes were opened, components closed */
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
    z->closed++;
    for (uint64_t last = node + 1; last != node;) {
        last = z->open.at[--z->open.n];
        z->low[last] = CLOSED_COMPONENT;
        z->number[last] = z->closed;
        begins = begins || (last < w->links_from[W_SO] && last % w->states == x.in);
    }
    return more && begins;
}

static bool cycle_from(words *w, components *z, uint64_t root, net x)
{
    bool found = false;
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
        if (z->low[node] == z->number[node] && close_component(w, z, node, x)) found = true;
    }
    return found;
}

/* A walk of the network from a place to itself.  It stays within the component of its ends. */
static bool is_closed_at(words *w, const components *z, net x, uint32_t p)
{
    uint64_t goal = place_node(w, p, x.in);
    uint32_t component = z->number[goal];
    w->epoch++;
    w->todo.n = 0;
    reach_node(w, place_node(w, p, x.out));
    while (w->todo.n) {
        uint64_t node = w->todo.at[--w->todo.n];
        if (node == goal) return true;
        bool other_begin = node < w->links_from[W_SO] && node % w->states == x.in;
        if (z->number[node] == component && !other_begin) back_from_node(w, node);
    }
    return false;
}

/* Where closed walks can be: all steps but rw go forward, so a walk that crosses the gap between
   two places comes back over it by an rw, from a reader to an earlier place.  Gaps that none goes
   over cut the order into parts.  Per place, the last one of its part; NULL if every part is one
   place. */
static uint32_t *order_parts(words *w)
{
    const checker *c = w->c;
    uint32_t *end = mem_array(c->m, uint32_t, (size_t)c->n + 2), last = 0;
    bool any = false;
    for (uint32_t p = 0; p <= c->n; p++) end[p] = p;
    for (uint32_t p = 1; p <= c->n; p++)
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            const seen *r = &c->reads.at[i];
            uint32_t next = words_version(c, r->key, r->value + 1);
            if (next == c->by_key.first[r->key + 1] || c->by_key.place[next] >= p) continue;
            end[c->by_key.place[next]] = p; /* (p rises) */
            any = true;
        }
    for (uint32_t p = 1; any && p <= c->n; p++) {
        last = end[p] > last ? end[p] : last;
        end[p] = last; /* at least p */
    }
    for (uint32_t p = c->n; any && p > 1; p--)
        if (end[p - 1] >= p) end[p - 1] = end[p];
    if (any) return end;
    mem_put(c->m, end);
    return NULL;
}

/* The places that are walked for this one.  The chains of real time and of settled steps have no
   places in their order, so with these all are walked. */
static void enter_part(words *w, const uint32_t *parts, uint32_t p)
{
    bool all = w->timed || w->of_letter[W_SETTLED].n;
    if (!all && p <= w->hi) return;
    w->lo = all ? 1 : p;
    w->hi = all ? w->c->n : parts[p];
}

static bool find_cycles(words *w, components *z, const uint32_t *parts, net x, bool once)
{
    checker *c = w->c;
    bool any = false;
    w->hi = 0;
    for (uint32_t p = 1; p <= c->n; p++) {
        enter_part(w, parts, p);
        uint64_t root = place_node(w, p, x.in);
        if (w->lo < w->hi && !z->number[root] && cycle_from(w, z, root, x)) any = true;
        if (any && !once)
            return recheck_no(c, c->v->order[p - 1],
                              "stands on a cycle that the definition forbids");
        if (recheck_too_large(c, 0)) return false;
    }
    w->hi = 0;
    for (uint32_t p = 1; any && p <= c->n; p++) {
        enter_part(w, parts, p);
        bool alone = z->number[place_node(w, p, x.in)] != z->number[place_node(w, p, x.out)];
        if (!alone && is_closed_at(w, z, x, p))
            return recheck_no(c, c->v->order[p - 1],
                              "stands on a closed walk that the definition forbids");
        if (recheck_too_large(c, 0)) return false;
    }
    return true;
}

/* `once`: of closed walks only those that are one walk of the network, not several in a row.  These
   are cycles, too, so the search for each is needed only where there is a cycle. */
static bool check_cycles(words *w, net x, bool once)
{
    checker *c = w->c;
    uint32_t *parts = order_parts(w);
    if (!parts) return true;
    load_walks(w);
    components z = {.number = mem_array0(c->m, uint32_t, w->nodes + 1),
                    .low = mem_array0(c->m, uint32_t, w->nodes + 1)};
    bool ok = find_cycles(w, &z, parts, x, once);
    mem_put(c->m, z.number);
    mem_put(c->m, z.low);
    mem_put(c->m, parts);
    return ok;
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

/* A beginning of its own, to which only the end of a whole walk leads back: E itself may have loops
   at its first state. */
static net net_of_cycle(words *w, net e)
{
    net begin = net_of_step(w, W_TEST, ALL_CLASSES);
    return net_plus(w, net_seq(w, begin, e));
}

/* --- walks that may not be closed, by their factors --------------------------------------------
   A closed walk is the same one wherever it is said to begin, so if a single factor is rw, the walk
   is one from a version that a reader missed to that reader: what stands after it, then what
   stands before it.  Unions that have an rw inside are taken apart for that. */

#define MOST_FACTORS 64u
#define MOST_CHOICES 64u /* lists of factors that one axiom is taken apart into */

typedef struct factors {
    const iso_node *at[MOST_FACTORS];
    uint32_t n;
    bool then_co; /* and at the end `co?` */
} factors;

static bool is_rw(const iso_node *x)
{
    return x->op == ISO_RW || x->op == ISO_RW_ITEM || x->op == ISO_RW_PRED;
}

static bool has_rw(const iso_node *x)
{
    x = meant(x);
    if (is_rw(x)) return true;
    for (int i = 0; i < 2; i++) {
        bool relation = x->op != ISO_USE && x->kid[i] && x->kid[i]->type == ISO_REL;
        if (relation && has_rw(x->kid[i])) return true;
    }
    return false;
}

/* The factors from one on to the one before another, in a circle; the same one: all. */
static net net_of_factors(words *w, const factors *f, uint32_t from, uint32_t to)
{
    net all = net_of_step(w, W_TEST, ALL_CLASSES);
    bool first = true;
    for (uint32_t i = from; first || i != to; i = (i + 1) % (f->n + 1)) {
        first = false;
        if (i < f->n)
            all = net_seq(w, all, net_of(w, f->at[i]));
        else if (f->then_co)
            all = net_seq(w, all, net_maybe(w, net_of_step(w, W_CO, 0)));
    }
    return all;
}

static void forbid_factors(reading *r, const factors *f)
{
    uint32_t turning = 0, rw = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        if (!has_rw(f->at[i])) continue;
        turning++;
        rw = i;
    }
    if (!turning) { /* no closed walk, if it is a walk at all */
        words apart = {.c = r->w->c};
        net x = net_of_factors(&apart, f, 0, 0);
        r->bad = r->bad || x.bad || x.empty;
    } else if (turning == 1 && is_rw(meant(f->at[rw]))) {
        /* A transaction does not overwrite what it read itself, so a rest that relates it to itself
           changes nothing here. */
        net rest = net_of_factors(r->w, f, (rw + 1) % (f->n + 1), rw);
        demand d = {MISSED_VERSIONS, rest, class_of_reads(meant(f->at[rw])->op)};
        r->bad = r->bad || rest.bad;
        vec_push(r->w->c->m, &r->demands, d);
    } else {
        net x = net_of_factors(r->w, f, 0, 0);
        if (x.bad || x.empty)
            r->bad = true;
        else
            add_demand(r, CLOSED_WALKS, net_of_cycle(r->w, x));
    }
}

/* Puts `n` factors in the place of one. */
static factors replaced(const factors *f, uint32_t at, const iso_node *const *by, uint32_t n)
{
    factors x = {.n = f->n - 1 + n, .then_co = f->then_co};
    for (uint32_t i = 0; i < x.n; i++)
        x.at[i] = i < at ? f->at[i] : i < at + n ? by[i - at] : f->at[i - n + 1];
    return x;
}

static void forbid_parts(reading *r, const factors *f, uint32_t *choices)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const iso_node *x = meant(f->at[i]);
        if (!has_rw(x) || is_rw(x)) continue;
        if (x->op == ISO_SEQ && f->n < MOST_FACTORS) {
            const iso_node *both[2] = {x->kid[0], x->kid[1]};
            factors longer = replaced(f, i, both, 2);
            forbid_parts(r, &longer, choices);
            return;
        }
        bool join = x->op == ISO_JOIN, option = x->op == ISO_OPT;
        if ((join || option) && *choices < MOST_CHOICES) {
            const iso_node *one[2] = {x->kid[0], x->kid[1]};
            factors a = replaced(f, i, &one[0], 1), b = replaced(f, i, &one[1], join ? 1 : 0);
            ++*choices;
            forbid_parts(r, &a, choices);
            forbid_parts(r, &b, choices);
            return;
        }
    }
    forbid_factors(r, f);
}

static void forbid_closed_walks(reading *r, const iso_node *of, bool then_co)
{
    factors f = {.at = {of}, .n = 1, .then_co = then_co};
    uint32_t choices = 0;
    forbid_parts(r, &f, &choices);
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
    case ISO_IRREFLEXIVE: forbid_closed_walks(r, f->kid[0], false); return;
    case ISO_ACYCLIC: add_demand(r, CYCLES, net_of_cycle(w, net_of(w, f->kid[0]))); return;
    case ISO_IN:
        if (r->over_vis && is_vis_name(f->kid[1])) {
            read_visible(r, f->kid[0]);
            return;
        }
        if (f->kid[0]->type != ISO_REL || !is_order_name(f->kid[1])) break;
        forbid_closed_walks(r, f->kid[0], true);
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
    if (!r.demands.n) return true;
    for (size_t i = 0; i < r.demands.n; i++) {
        const demand *d = &r.demands.at[i];
        bool ok = false;
        if (d->what == MISSED_VERSIONS || d->what == MISSED_EARLIER) load_walks(&w);
        switch (d->what) {
        case MISSED_VERSIONS: ok = words_reads_kept(&w, d->x, d->of, false); break;
        case MISSED_EARLIER: ok = words_reads_kept(&w, d->x, d->of, true); break;
        case OWN_KEYS: ok = check_own_keys(&w, d->of); break;
        case CLOSED_WALKS: ok = check_cycles(&w, d->x, true); break;
        case CYCLES: ok = check_cycles(&w, d->x, false); break;
        }
        if (!ok) return false;
    }
    return true;
}
