/*
 * slot_search.c - lists with repeated elements in the search: which slot (asg/list_slots.h) each
 * transaction has is a choice.
 *
 * Clauses, all written before the search: each element of the longest list is covered by exactly
 * one slot or by the initial list; a transaction that took part has exactly one slot or comes after
 * the list, and only one that took part has a slot.  Each border between elements is an event of
 * the order (order_problem.slot_event): a slot stands after the border where it begins and before
 * the border where it ends, so the order of versions is that of the slots.  A read of n elements
 * stands after border n, and was from the transaction whose slot ends there: the literal of its
 * candidate is that slot's.
 *
 * At most one of many is a chain of variables, as in initial_values.c.
 */
#include "decide/lazy/slot_search.h"

#include <assert.h>

#include "decide/lazy/chain_search.h"

struct slot_search {
    uint32_t *slot_var;      /* per slot */
    uint32_t *initial_lit;   /* per key and border from lo to hi: the initial list ends there */
    uint32_t *initial_at;    /* per key: where its literals begin */
    VEC(uint32_t) cover;     /* literals that cover an element, all elements one after the other, */
    VEC(size_t) cover_first; /* ... and where those of each begin */
    size_t *key_first;       /* per key: its first element among all */
    uint32_t *reached;       /* per key: so many of its elements were covered ... */
    uint64_t *since;         /* ... when the solver had gone back so often */
    size_t at;               /* the key to look at next */
    uint64_t looked;         /* how often choices had been undone when all reads were queued */
    uint32_t *held;          /* per read of lists: the candidate that satisfied it last, or NONE */
    uint64_t covered;        /* the epoch in which everything was covered */
    chain_search *chains;    /* keys that are not only appended to, or NULL */
};

bool slots_own(const lazy *z, uint32_t ob)
{
    return z->slots && z->open_of && z->g->ob_flags[ob] & OB_LIST && z->p->rf[ob] == RF_OPEN &&
           z->open_of[ob] != NONE;
}

static uint32_t positive(lazy *z)
{
    return lit_of(lazy_new_var(z), false);
}

static void say(lazy *z, uint32_t a, uint32_t b, uint32_t c)
{
    lazy_clause_start(z);
    lazy_clause_lit(z, a);
    if (b != LIT_NONE) lazy_clause_lit(z, b);
    if (c != LIT_NONE) lazy_clause_lit(z, c);
    lazy_clause_end(z);
}

void slots_at_most_one(lazy *z, const uint32_t *lits, size_t n)
{
    uint32_t before = LIT_NONE;
    for (size_t i = 0; i < n; i++) {
        uint32_t here = i + 1 < n ? positive(z) : LIT_NONE;
        if (here != LIT_NONE) say(z, lit_not(lits[i]), here, LIT_NONE);
        if (before != LIT_NONE) {
            say(z, lit_not(before), lit_not(lits[i]), LIT_NONE);
            if (here != LIT_NONE) say(z, lit_not(before), here, LIT_NONE);
        }
        before = here;
        guard_tick(z->m->guard);
    }
}

/* The initial list of a key: `covers` gets, for each element that may or may not be part of it, the
   literal that it is. */
static void write_initial(lazy *z, const slot_key *y, uint32_t *ends, uint32_t *covers)
{
    assert(y->lo <= y->hi && y->hi <= y->len);
    uint32_t n = y->hi - y->lo;
    for (uint32_t i = 0; i < n; i++) {
        covers[i] = positive(z);
        if (i) say(z, lit_not(covers[i]), covers[i - 1], LIT_NONE);
    }
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t up_to = i ? covers[i - 1] : LIT_NONE, on = i < n ? covers[i] : LIT_NONE;
        ends[i] = positive(z);
        if (up_to != LIT_NONE) say(z, lit_not(ends[i]), up_to, LIT_NONE);
        if (on != LIT_NONE) say(z, lit_not(ends[i]), lit_not(on), LIT_NONE);
        say(z, ends[i], up_to == LIT_NONE ? on : lit_not(up_to), up_to == LIT_NONE ? LIT_NONE : on);
        const value_id *settled = z->p->initial; /* of lists: how many elements */
        if (settled && settled[y->key] != VALUE_UNKNOWN && settled[y->key] != y->lo + i)
            say(z, lit_not(ends[i]), LIT_NONE, LIT_NONE);
    }
}

/* Each element is covered, and once. */
static void write_cover(lazy *z, uint32_t key, const uint32_t *covers)
{
    slot_search *x = z->slots;
    const list_slots *s = z->g->slots;
    const slot_key *y = &s->keys.at[key];
    uint32_t n = y->len - y->lo;
    size_t *fill = mem_array0(z->m, size_t, (size_t)n + 2), first = x->cover.n;
    for (uint32_t i = y->slots; i < y->end; i++)
        for (uint32_t j = 0; j < s->slot.at[i].n; j++) fill[s->slot.at[i].at - y->lo + j + 1]++;
    for (uint32_t t = 0; t < n; t++) fill[t + 1] += fill[t] + (t < y->hi - y->lo);
    for (size_t i = 0; i < fill[n]; i++) vec_push(z->m, &x->cover, LIT_NONE);
    x->key_first[key] = x->cover_first.n;
    for (uint32_t t = 0; t < n; t++) vec_push(z->m, &x->cover_first, first + fill[t]);
    for (uint32_t t = 0; t < n && t < y->hi - y->lo; t++)
        x->cover.at[first + fill[t]++] = covers[t];
    for (uint32_t i = y->slots; i < y->end; i++)
        for (uint32_t j = 0; j < s->slot.at[i].n; j++)
            x->cover.at[first + fill[s->slot.at[i].at - y->lo + j]++] =
                lit_of(x->slot_var[i], false);
    for (uint32_t t = 0; t < n; t++) {
        size_t from = x->cover_first.at[x->cover_first.n - n + t], end = first + fill[t];
        lazy_clause_start(z);
        for (size_t i = from; i < end; i++) lazy_clause_lit(z, x->cover.at[i]);
        lazy_clause_end(z);
        slots_at_most_one(z, x->cover.at + from, end - from);
    }
    mem_put(z->m, fill);
}

/* A transaction that took part has one slot, or comes after the list. */
static void write_writer(lazy *z, uint32_t key, const list_writer *w)
{
    const list_slots *s = z->g->slots;
    const slot_key *y = &s->keys.at[key];
    uint32_t border = z->p->slot_event[key] - y->lo, target = version_target(z->p, w->node);
    bool maybe = z->taken_var && z->taken_var[w->node] != NONE;
    assert(w->node < z->p->txns && (!w->pinned || w->first != NO_ID));
    VEC(uint32_t) one = {0};
    if (!w->pinned) {
        uint32_t behind = positive(z);
        vec_push(z->m, &one, behind);
        order_edge(z->o, behind, border + y->len, target);
    }
    for (uint32_t i = w->first; i != NO_ID; i = s->slot.at[i].next) {
        const list_slot *a = &s->slot.at[i];
        uint32_t lit = lit_of(z->slots->slot_var[i], false);
        vec_push(z->m, &one, lit);
        order_edge(z->o, lit, border + a->at, target);
        order_edge(z->o, lit, commit_of(z->p, w->node), border + a->at + a->n);
        if (maybe) say(z, lit_not(lit), lit_of(z->taken_var[w->node], false), LIT_NONE);
    }
    lazy_clause_start(z);
    lazy_clause_unless(z, w->node);
    for (size_t i = 0; i < one.n; i++) lazy_clause_lit(z, one.at[i]);
    lazy_clause_end(z);
    slots_at_most_one(z, one.at, one.n);
    lazy_add_core(z, w->node);
    vec_free(z->m, &one);
}

/* Reads get the literals of their candidates, one of which is true. */
static void write_reads(lazy *z)
{
    asg *g = z->g;
    const list_slots *s = g->slots;
    for (uint32_t o = s->first_open; o < s->end_open; o++) {
        uint32_t key = s->read_key.at[o - s->first_open];
        const slot_key *y = &s->keys.at[key];
        lazy_clause_start(z);
        for (uint32_t i = g->cand_first.at[o]; i < g->cand_first.at[o + 1]; i++) {
            uint32_t slot = s->cand_slot.at[i - s->first_cand];
            uint32_t ends = s->ends.at[o - s->first_open] - y->lo;
            z->cand_var[i] = slot == SLOT_INITIAL
                                 ? lit_var(z->slots->initial_lit[z->slots->initial_at[key] + ends])
                                 : z->slots->slot_var[slot];
            lazy_clause_lit(z, lazy_cand_lit(z, i));
        }
        assert(z->lits.n && slots_own(z, g->open.at[o]));
        lazy_clause_end(z);
        z->chosen_clause[o] = 1;
        lazy_add_core(z, g->ob_node[g->open.at[o]]);
    }
}

void slots_start(lazy *z)
{
    const list_slots *s = z->g->slots;
    if (!s) return;
    assert(!s->impossible && s->first_open + s->ends.n == s->end_open);
    slot_search *x = z->slots = mem_array0(z->m, slot_search, 1);
    x->looked = x->covered = UINT64_MAX;
}

void slots_write(lazy *z)
{
    const list_slots *s = z->g->slots;
    slot_search *x = z->slots;
    if (!x) return;
    size_t borders = 0;
    x->slot_var = mem_array(z->m, uint32_t, s->slot.n + 1);
    x->initial_at = mem_array(z->m, uint32_t, s->keys.n + 1);
    x->key_first = mem_array(z->m, size_t, s->keys.n + 1);
    x->reached = mem_array0(z->m, uint32_t, s->keys.n + 1);
    x->since = mem_array0(z->m, uint64_t, s->keys.n + 1);
    for (size_t i = 0; i < s->slot.n; i++) x->slot_var[i] = lazy_new_var(z);
    for (size_t k = 0; k < s->keys.n; k++) {
        x->initial_at[k] = (uint32_t)borders;
        borders += (size_t)(s->keys.at[k].hi - s->keys.at[k].lo) + 1;
    }
    x->initial_lit = mem_array(z->m, uint32_t, borders + 1);
    uint32_t *covers = mem_array(z->m, uint32_t, borders + 1);
    for (uint32_t k = 0; k < s->keys.n; k++) {
        const slot_key *y = &s->keys.at[k];
        write_initial(z, y, x->initial_lit + x->initial_at[k], covers);
        write_cover(z, k, covers);
        for (uint32_t i = y->writers; i < y->last; i++) write_writer(z, k, &s->writer.at[i]);
    }
    mem_put(z->m, covers);
    write_reads(z);
    if (s->chains.keys.n) x->chains = chains_write(z);
}

void slots_hold(lazy *z, uint32_t ob, uint32_t cand)
{
    slot_search *x = z->slots;
    if (!x->held) {
        size_t n = z->g->open.n - z->g->slots->first_open + 1;
        x->held = mem_array(z->m, uint32_t, n);
        memset(x->held, 0xff, n * sizeof *x->held);
    }
    assert(z->open_of[ob] >= z->g->slots->first_open && cand < asg_cands(z->g));
    assert(!z->paths && !z->updates && "elsewhere a source that stays chosen may be broken");
    x->held[z->open_of[ob] - z->g->slots->first_open] = cand;
}

/* Is the choice that satisfied the read still there? */
static bool is_held(const lazy *z, size_t open)
{
    const slot_search *x = z->slots;
    uint32_t cand = x->held ? x->held[open - z->g->slots->first_open] : NONE;
    return cand != NONE && solver_value(z->s, lit_of(z->cand_var[cand], false)) > 0;
}

/* A read that is satisfied loses its source only when choices are undone: what is chosen besides
   takes nothing back, and moves wake it (lazy_watch). */
bool slots_look_again(lazy *z)
{
    slot_search *x = z->slots;
    const asg *g = z->g;
    if (!x || x->looked == z->backtracks) return false;
    size_t before = z->queue.n;
    x->looked = z->backtracks;
    for (size_t o = g->slots->first_open; o < g->open.n; o++)
        if (z->present[g->ob_node[g->open.at[o]]] && !is_held(z, o)) lazy_enqueue(z, g->open.at[o]);
    return z->queue.n > before;
}

/* Of the free literals that cover an element, the one whose transaction stands first; *done: one is
   true already. */
static uint32_t earliest_cover(lazy *z, size_t from, size_t end, bool *done)
{
    slot_search *x = z->slots;
    const list_slots *s = z->g->slots;
    uint32_t best = LIT_NONE, best_at = UINT32_MAX;
    *done = false;
    for (size_t i = from; i < end && !*done; i++) {
        uint32_t lit = x->cover.at[i], slot = lit_var(lit) - x->slot_var[0];
        int value = solver_value(z->s, lit);
        *done = value > 0;
        if (value) continue;
        /* The initial list is tried last: as short as it can be. */
        uint32_t at =
            slot < s->slot.n ? z->pos[commit_of(z->p, s->slot.at[slot].node)] : UINT32_MAX;
        if (best != LIT_NONE && at >= best_at) continue;
        best = lit;
        best_at = at;
    }
    return best;
}

/* The first element of the key that is not covered: a literal that covers it, or LIT_NONE. */
static uint32_t cover_next(lazy *z, size_t key)
{
    slot_search *x = z->slots;
    const slot_key *y = &z->g->slots->keys.at[key];
    uint32_t n = y->len - y->lo;
    if (x->since[key] != z->backtracks) x->reached[key] = 0; /* choices may have been undone */
    x->since[key] = z->backtracks;
    for (; x->reached[key] < n; x->reached[key]++) {
        size_t t = x->key_first[key] + x->reached[key];
        size_t end = t + 1 < x->cover_first.n ? x->cover_first.at[t + 1] : x->cover.n;
        bool done;
        uint32_t lit = earliest_cover(z, x->cover_first.at[t], end, &done);
        guard_tick(z->m->guard);
        if (done) continue;
        assert(lit != LIT_NONE && "an element that nothing covers breaks a clause");
        return lit;
    }
    return LIT_NONE;
}

/* Of the free candidates of a read of a chain, the version that stands right before it: where the
   order is an answer already, every such choice agrees with it. */
static uint32_t version_there(lazy *z, uint32_t ob, uint32_t open)
{
    const asg *g = z->g;
    uint32_t seen = lazy_version_seen(z, g->ob_key[ob], g->ob_node[ob]);
    node_id w = seen == NONE ? RF_INIT : g->inst_node[seen];
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        if (asg_cand(g, open, i) == w && !solver_value(z->s, lazy_cand_lit(z, i)))
            return lazy_cand_lit(z, i);
    return lazy_likeliest(z, open);
}

uint32_t slots_cover(lazy *z, uint32_t ob)
{
    uint32_t o = z->open_of[ob];
    assert(slots_own(z, ob) && o >= z->g->slots->first_open);
    if (o >= z->g->slots->end_open) return version_there(z, ob, o);
    uint32_t lit = cover_next(z, z->g->slots->read_key.at[o - z->g->slots->first_open]);
    return lit != LIT_NONE ? lit : lazy_likeliest(z, o);
}

bool slots_broken(lazy *z, uint32_t *answer)
{
    slot_search *x = z->slots;
    if (!x || x->covered == z->epoch) return false;
    size_t n = z->g->slots->keys.n;
    for (size_t left = n; left; left--, x->at++) {
        if (x->at >= n) x->at = 0;
        *answer = cover_next(z, x->at);
        if (*answer != LIT_NONE) return true;
    }
    if (x->chains && chains_broken(z, x->chains, answer)) return true;
    x->covered = z->epoch;
    return false;
}

bool slots_clean(const lazy *z)
{
    return !z->slots || z->slots->covered == z->epoch;
}

size_t slots_initial_lits(const lazy *z)
{
    if (!z->slots) return 0;
    return z->g->slots->keys.n + z->g->slots->chains.keys.n;
}

void slots_initial_chosen(const lazy *z, value_id *value, uint32_t *lits, size_t *n)
{
    const slot_search *x = z->slots;
    const list_slots *s = z->g->slots;
    for (size_t k = 0; x && k < s->keys.n; k++) {
        const slot_key *y = &s->keys.at[k];
        for (uint32_t i = 0; y->lo < y->hi && i <= y->hi - y->lo; i++) {
            uint32_t lit = x->initial_lit[x->initial_at[k] + i];
            if (solver_value(z->s, lit) <= 0) continue;
            value[y->key] = y->lo + i;
            lits[(*n)++] = lit;
        }
    }
    if (x && x->chains) chains_initial_chosen(z, x->chains, value, lits, n);
}
