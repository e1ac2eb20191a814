/*
 * decide_iso.c - a level of a file on a history that leaves choices open: outcomes, who reads whom.
 *
 * Two ways.  commit(P) with a P that speaks of session order and read-from alone, no choice open:
 * the pairs that P forces are one round over the reads, and the level is kept iff they make no
 * cycle with session order and read-from (any order that extends them is a witness).  P is a matrix
 * of bits.  Everything else: a solver searches outcomes, writers and witness at once, exactly.
 */
#include <string.h>

#include "synth/synth_search.h"

/* ---- by saturation -------------------------------------------------------------------------- */

typedef struct bits {
    uint64_t *at;
    size_t words; /* of a row */
} bits;

typedef struct plain {
    mem *mem;
    const synth_facts *h;
    uint32_t n; /* with transaction 0 */
    bool *updates;
} plain;

static bits bits_new(const plain *p)
{
    bits b = {.words = ((size_t)p->n + 63) / 64};
    b.at = mem_array0(p->mem, uint64_t, b.words * p->n);
    return b;
}

static uint64_t *row(bits b, uint32_t i)
{
    return b.at + (size_t)i * b.words;
}

static bool bit(bits b, uint32_t i, uint32_t j)
{
    return row(b, i)[j / 64] >> (j % 64) & 1;
}

static void set_bit(bits b, uint32_t i, uint32_t j)
{
    row(b, i)[j / 64] |= (uint64_t)1 << (j % 64);
}

/* The next column from j on that holds in the row, or n. */
static uint32_t next_bit(bits b, uint32_t n, uint32_t i, uint32_t j)
{
    const uint64_t *r = row(b, i);
    while (j < n) {
        uint64_t left = r[j / 64] >> (j % 64);
        if (left) return j + (uint32_t)__builtin_ctzll(left);
        j = (j / 64 + 1) * 64;
    }
    return n;
}

static void or_row(bits into, uint32_t i, bits b, uint32_t j)
{
    uint64_t *x = row(into, i);
    const uint64_t *y = row(b, j);
    for (size_t w = 0; w < into.words; w++) x[w] |= y[w];
}

/* An order in which every pair of the relation rises; false: it has a cycle. */
static bool topological(const plain *p, bits r, uint32_t *order)
{
    uint32_t *before = mem_array0(p->mem, uint32_t, p->n), n = p->n, done = 0, found = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = next_bit(r, n, i, 0); j < n; j = next_bit(r, n, i, j + 1)) before[j]++;
    for (uint32_t i = 0; i < n; i++)
        if (!before[i]) order[found++] = i;
    for (; done < found; done++) {
        uint32_t i = order[done];
        guard_tick(p->mem->guard);
        for (uint32_t j = next_bit(r, n, i, 0); j < n; j = next_bit(r, n, i, j + 1))
            if (!--before[j]) order[found++] = j;
    }
    mem_put(p->mem, before);
    return found == n;
}

static void close(const plain *p, bits r)
{
    uint32_t n = p->n, *order = mem_array(p->mem, uint32_t, n);
    if (topological(p, r, order)) { /* successors are closed before their predecessors */
        for (uint32_t k = n; k--;) {
            uint32_t i = order[k];
            guard_tick(p->mem->guard);
            for (uint32_t j = next_bit(r, n, i, 0); j < n; j = next_bit(r, n, i, j + 1))
                or_row(r, i, r, j);
        }
    } else {
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t i = 0; i < n; i++) {
                guard_tick(p->mem->guard);
                if (bit(r, i, k)) or_row(r, i, r, k);
            }
    }
    mem_put(p->mem, order);
}

/* Only what the history settles: no order, no key. */
static bool is_settled(const iso_node *x)
{
    if (!x) return true;
    if (x->uses || x->open) return false;
    if (x->op == ISO_USE) return is_settled(x->def->body);
    return x->op != ISO_MAX && is_settled(x->kid[0]) && is_settled(x->kid[1]);
}

static bool in_set(const plain *p, const iso_node *x, uint32_t t)
{
    switch (x->op) {
    case ISO_INIT: return !t;
    case ISO_TXNS: return true;
    case ISO_UPD: return p->updates[t];
    case ISO_RO: return !p->updates[t];
    case ISO_MEET: return in_set(p, x->kid[0], t) && in_set(p, x->kid[1], t);
    case ISO_MINUS: return in_set(p, x->kid[0], t) && !in_set(p, x->kid[1], t);
    case ISO_JOIN: return in_set(p, x->kid[0], t) || in_set(p, x->kid[1], t);
    default: return in_set(p, x->def->body, t); /* ISO_USE */
    }
}

static bits relation(const plain *p, const iso_node *x);

static void put_sessions(const plain *p, bits out)
{
    uint32_t *last = mem_array0(p->mem, uint32_t, p->h->sessions + 1); /* of each session */
    for (uint32_t t = 1; t < p->n; t++) set_bit(out, 0, t);
    for (uint32_t t = p->n; p->h->session && --t;) { /* backwards: a row takes that of its next */
        uint32_t s = p->h->session[t];
        if (last[s]) or_row(out, t, out, last[s]), set_bit(out, t, last[s]);
        last[s] = t;
    }
    mem_put(p->mem, last);
}

static void put_reads(const plain *p, bits out)
{
    for (size_t i = 0; i < p->h->n_reads; i++)
        set_bit(out, p->h->candidate[p->h->read[i].first], p->h->read[i].txn);
}

static void combine(bits a, bits b, uint32_t n, enum iso_op op)
{
    for (size_t i = 0; i < a.words * n; i++)
        a.at[i] = op == ISO_JOIN   ? a.at[i] | b.at[i]
                  : op == ISO_MEET ? a.at[i] & b.at[i]
                                   : a.at[i] & ~b.at[i];
}

static bits derived(const plain *p, const iso_node *x)
{
    bits a = x->kid[0]->type == ISO_REL ? relation(p, x->kid[0]) : bits_new(p), out = a;
    switch (x->op) {
    case ISO_DIAG:
        for (uint32_t t = 0; t < p->n; t++)
            if (in_set(p, x->kid[0], t)) set_bit(out, t, t);
        break;
    case ISO_PRODUCT:
        for (uint32_t t = 0; t < p->n; t++)
            for (uint32_t u = 0; in_set(p, x->kid[0], t) && u < p->n; u++)
                if (in_set(p, x->kid[1], u)) set_bit(out, t, u);
        break;
    case ISO_PLUS:
    case ISO_STAR: close(p, out); break;
    case ISO_INVERSE:
        out = bits_new(p);
        for (uint32_t i = 0; i < p->n; i++)
            for (uint32_t j = next_bit(a, p->n, i, 0); j < p->n; j = next_bit(a, p->n, i, j + 1))
                set_bit(out, j, i);
        break;
    case ISO_SEQ: {
        bits b = relation(p, x->kid[1]);
        out = bits_new(p);
        for (uint32_t i = 0; i < p->n; i++)
            for (uint32_t j = next_bit(a, p->n, i, 0); j < p->n; j = next_bit(a, p->n, i, j + 1))
                or_row(out, i, b, j);
        break;
    }
    default: break;
    }
    if (x->op == ISO_STAR || x->op == ISO_OPT)
        for (uint32_t t = 0; t < p->n; t++) set_bit(out, t, t);
    return out;
}

static bits relation(const plain *p, const iso_node *x)
{
    bits out;
    guard_poll(p->mem->guard);
    switch (x->op) {
    case ISO_USE: return relation(p, x->def->body);
    case ISO_JOIN:
    case ISO_MEET:
    case ISO_MINUS:
        out = relation(p, x->kid[0]);
        combine(out, relation(p, x->kid[1]), p->n, x->op);
        return out;
    case ISO_SO:
    case ISO_WR:
    case ISO_ID:
        out = bits_new(p);
        if (x->op == ISO_SO) put_sessions(p, out);
        if (x->op == ISO_WR) put_reads(p, out);
        for (uint32_t t = 0; x->op == ISO_ID && t < p->n; t++) set_bit(out, t, t);
        return out;
    default: return derived(p, x);
    }
}

/* The writers of each key: those of x are list[first[x]] to list[first[x + 1] - 1]. */
static uint32_t *writers_of(const plain *p, uint32_t *first)
{
    const synth_facts *h = p->h;
    uint32_t *list = mem_array(p->mem, uint32_t, h->n_writes + 1);
    for (size_t i = 0; i < h->n_writes; i++) first[h->write[i].key + 2]++;
    for (uint32_t x = 0; x < h->keys; x++) first[x + 2] += first[x + 1];
    for (size_t i = 0; i < h->n_writes; i++) list[first[h->write[i].key + 1]++] = h->write[i].txn;
    return list;
}

/* commit(P): what P forces goes into `order`.  false: a writer would stand before transaction 0. */
static bool force(const plain *p, bits premise, bits order)
{
    const synth_facts *h = p->h;
    uint32_t *first = mem_array0(p->mem, uint32_t, (size_t)h->keys + 2);
    uint32_t *list = writers_of(p, first);
    for (size_t i = 0; i < h->n_reads; i++) {
        uint32_t from = h->candidate[h->read[i].first], x = h->read[i].key;
        for (uint32_t k = first[x]; k < first[x + 1]; k++) {
            guard_tick(p->mem->guard);
            if (list[k] == from || !bit(premise, list[k], h->read[i].txn)) continue;
            if (!from) return false;
            set_bit(order, list[k], from);
        }
    }
    return true;
}

static bool is_saturable(mem *m, const iso_level *l, const synth_facts *h)
{
    iso_axiom_list all = {0};
    iso_axioms(m, l, &all);
    if (l->witness != ISO_CO) return false;
    for (size_t i = 0; i < all.n; i++)
        if (all.at[i]->form->op != ISO_COMMIT || all.at[i]->form->size > ISO_MOST_UNFOLDED ||
            !is_settled(all.at[i]->form->kid[0]))
            return false;
    for (size_t i = 0; i < h->n_reads; i++)
        if (h->read[i].n != 1) return false;
    for (uint32_t t = 1; h->maybe && t <= h->txns; t++)
        if (h->maybe[t]) return false;
    return true;
}

static bool saturate(mem *m, const iso_level *l, const synth_facts *h)
{
    iso_axiom_list all = {0};
    plain p = {.mem = m, .h = h, .n = h->txns + 1};
    iso_axioms(m, l, &all);
    p.updates = mem_array0(m, bool, p.n);
    p.updates[0] = true;
    for (size_t i = 0; i < h->n_writes; i++) p.updates[h->write[i].txn] = true;
    bits order = bits_new(&p);
    put_sessions(&p, order);
    put_reads(&p, order);
    for (size_t i = 0; i < all.n; i++)
        if (!force(&p, relation(&p, all.at[i]->form->kid[0]), order)) return false;
    return topological(&p, order, mem_array(m, uint32_t, p.n));
}

/* ---- by search ------------------------------------------------------------------------------ */

static void one_of(gates *g, gate act, const gate *in, size_t n)
{
    size_t o = gate_open(g);
    gate_push(g, gate_not(act));
    for (size_t i = 0; i < n; i++) {
        gate_push(g, in[i]);
        for (size_t k = 0; k < i; k++) {
            gate both[2] = {gate_not(in[i]), gate_not(in[k])};
            gate_clause(g, both, 2);
        }
    }
    gate_clause(g, g->stack.at + o, n + 1);
    g->stack.n = o;
}

/* One writer for each read of whoever takes part, and it takes part itself. */
static void put_choices(world *w, const synth_facts *h)
{
    gates *g = w->g;
    for (size_t i = 0; i < h->n_reads; i++) {
        const synth_read *r = &h->read[i];
        gate act = w->act[r->txn], *in = mem_array(g->mem, gate, (size_t)r->n + 1);
        for (uint32_t k = 0; k < r->n; k++) {
            uint32_t from = h->candidate[r->first + k];
            gate *rf = &w->rf[((size_t)r->txn * w->keys + r->key) * w->size + from];
            in[k] = r->n == 1 ? act : gate_and(g, gate_new(g), act);
            gate both[2] = {gate_not(in[k]), w->act[from]};
            gate_clause(g, both, 2);
            *rf = gate_or(g, *rf, in[k]);
        }
        one_of(g, act, in, r->n);
        mem_put(g->mem, in);
    }
}

static void world_of(world *w, gates *g, const synth_facts *h)
{
    world_alloc(w, g, h->txns + 1, h->keys);
    w->act[0] = GATE_TRUE;
    for (uint32_t t = 1; t < w->size; t++)
        w->act[t] = h->maybe && h->maybe[t] ? gate_new(g) : GATE_TRUE;
    for (uint32_t x = 0; x < h->keys; x++) w->w[x] = GATE_TRUE, w->key[x] = GATE_FALSE;
    for (size_t i = 0; i < h->n_writes; i++) {
        gate act = w->act[h->write[i].txn], *key = &w->key[h->write[i].key];
        w->w[(size_t)h->write[i].txn * w->keys + h->write[i].key] = act;
        *key = gate_or(g, *key, act);
    }
    for (size_t i = 0; i < h->n_reads; i++) {
        gate *key = &w->key[h->read[i].key];
        *key = gate_or(g, *key, w->act[h->read[i].txn]);
    }
    put_choices(w, h);
    for (uint32_t b = 1; b < w->size; b++) {
        w->so[b] = w->act[b];
        for (uint32_t a = 1; h->session && a < b; a++) /* none leaves what may not have happened */
            if (h->session[a] == h->session[b] && w->act[a] == GATE_TRUE)
                w->so[(size_t)a * w->size + b] = w->act[b];
    }
    world_derive(w);
}

static bool by_search(mem *m, const iso_level *l, const synth_facts *h)
{
    gates g;
    world w;
    gates_init(&g, m, NULL, NULL);
    world_of(&w, &g, h);
    gate *order = order_any(&w), *sees = l->witness == ISO_VIS_AR ? vis_any(&w, order) : NULL;
    gate_assert(&g, level_holds(&w, l, order, sees));
    bool yes = gates_solve(&g, NULL, 0);
    gates_free(&g);
    return yes;
}

bool decide_facts(mem *m, const iso_level *l, const synth_facts *h, bool *searched)
{
    *searched = !is_saturable(m, l, h);
    if (!*searched) return saturate(m, l, h);
    if (h->txns > SYNTH_MOST_SEARCHED)
        guard_fail(m->guard, GUARD_UNSUPPORTED,
                   "this level is searched exactly, up to %d transactions that may take part",
                   SYNTH_MOST_SEARCHED);
    return by_search(m, l, h);
}
