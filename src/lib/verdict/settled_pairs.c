/*
 * settled_pairs.c - see settled_pairs.h.
 *
 * A set of kinds has a bit for each.  36 are of two ordinary transactions: three ways to stand in a
 * session, three in real time, two classes each.  The rest: a transaction and itself (by class),
 * one and the initial state (to it, from it; by class), and the initial state and itself.
 */
#include "verdict/settled_pairs.h"

#include <assert.h>

#define OF_INIT 4u /* as a class of its own, beside those of path_automaton.h */
#define ITSELF 36u
#define TO_INIT 38u
#define FROM_INIT 40u
#define INIT_ITSELF 42u
#define KINDS 43u

static unsigned pair_kind(unsigned session, unsigned time, unsigned from, unsigned to)
{
    assert(session < 3 && time < 3 && from < 2 && to < 2);
    return ((session * 3 + time) * 2 + from) * 2 + to;
}

static uint64_t one_kind(unsigned kind)
{
    assert(kind < KINDS);
    return (uint64_t)1 << kind;
}

/* The classes of a set, with the initial state; ~0u: it is another kind of set. */
static unsigned settled_classes(const iso_node *x)
{
    unsigned a, b;
    switch (x->op) {
    case ISO_TXNS: return CLASS_ALL | OF_INIT;
    case ISO_UPD: return CLASS_UPDATES | OF_INIT;
    case ISO_RO: return CLASS_READERS;
    case ISO_INIT: return OF_INIT;
    case ISO_USE: return x->kid[0] ? ~0u : settled_classes(x->def->body);
    case ISO_JOIN:
    case ISO_MEET:
    case ISO_MINUS:
        a = settled_classes(x->kid[0]);
        b = settled_classes(x->kid[1]);
        if (a == ~0u || b == ~0u) return ~0u;
        return x->op == ISO_JOIN ? a | b : x->op == ISO_MEET ? a & b : a & ~b;
    default: return ~0u;
    }
}

/* All pairs of a member of one set and a member of the other. */
static uint64_t product_kinds(unsigned a, unsigned b)
{
    uint64_t kinds = 0;
    for (unsigned from = 0; from < 2; from++)
        for (unsigned to = 0; to < 2; to++)
            for (unsigned cell = 0; cell < 9; cell++)
                if (a >> from & 1 && b >> to & 1)
                    kinds |= one_kind(pair_kind(cell / 3, cell % 3, from, to));
    for (unsigned of = 0; of < 2; of++) {
        if (a >> of & 1 && b >> of & 1) kinds |= one_kind(ITSELF + of);
        if (a >> of & 1 && b & OF_INIT) kinds |= one_kind(TO_INIT + of);
        if (b >> of & 1 && a & OF_INIT) kinds |= one_kind(FROM_INIT + of);
    }
    if (a & b & OF_INIT) kinds |= one_kind(INIT_ITSELF);
    return kinds;
}

#define IDENTITY (one_kind(ITSELF) | one_kind(ITSELF + 1) | one_kind(INIT_ITSELF))

static uint64_t side_kinds(bool of_time)
{
    uint64_t kinds = 0;
    for (unsigned i = 0; i < 12; i++) {
        unsigned other = i / 4, from = i / 2 % 2, to = i % 2;
        kinds |= one_kind(of_time ? pair_kind(other, SIDE_BEFORE, from, to)
                                  : pair_kind(SIDE_BEFORE, other, from, to));
    }
    return of_time ? kinds : kinds | one_kind(FROM_INIT) | one_kind(FROM_INIT + 1);
}

static unsigned turned_side(unsigned side)
{
    assert(side <= SIDE_NEITHER);
    return side == SIDE_BEFORE ? SIDE_AFTER : side == SIDE_AFTER ? SIDE_BEFORE : side;
}

static uint64_t inverse_kinds(uint64_t kinds)
{
    uint64_t out = kinds & IDENTITY;
    for (unsigned i = 0; i < 36; i++)
        if (kinds >> i & 1)
            out |=
                one_kind(pair_kind(turned_side(i / 12), turned_side(i / 4 % 3), i % 2, i / 2 % 2));
    for (unsigned of = 0; of < 2; of++) {
        if (kinds >> (TO_INIT + of) & 1) out |= one_kind(FROM_INIT + of);
        if (kinds >> (FROM_INIT + of) & 1) out |= one_kind(TO_INIT + of);
    }
    return out;
}

static const iso_node *named_body(const iso_node *x)
{
    while (x->op == ISO_USE && !x->kid[0]) x = x->def->body;
    return x;
}

/* [A] ; r and r ; [B]: the pairs of r that begin, or end, there. */
static bool read_tested(settled_pairs *out, const iso_node *x)
{
    const iso_node *left = named_body(x->kid[0]), *right = named_body(x->kid[1]);
    bool before = left->op == ISO_DIAG;
    if (!before && right->op != ISO_DIAG) return false;
    unsigned classes = settled_classes(before ? left->kid[0] : right->kid[0]);
    unsigned all = CLASS_ALL | OF_INIT;
    if (classes == ~0u || !settled_read(out, before ? right : left)) return false;
    out->kinds &= before ? product_kinds(classes, all) : product_kinds(all, classes);
    return true;
}

static bool read_two(settled_pairs *out, const iso_node *x)
{
    settled_pairs a, b;
    if (!settled_read(&a, x->kid[0]) || !settled_read(&b, x->kid[1])) return false;
    out->speaks_of_time = a.speaks_of_time || b.speaks_of_time;
    out->kinds = x->op == ISO_JOIN   ? a.kinds | b.kinds
                 : x->op == ISO_MEET ? a.kinds & b.kinds
                                     : a.kinds & ~b.kinds;
    return true;
}

bool settled_read(settled_pairs *out, const iso_node *x)
{
    unsigned a, b;
    x = named_body(x);
    *out = (settled_pairs){0};
    switch (x->op) {
    case ISO_SO: out->kinds = side_kinds(false); return true;
    case ISO_RT: *out = (settled_pairs){side_kinds(true), true}; return true;
    case ISO_ID: out->kinds = IDENTITY; return true;
    case ISO_DIAG:
        a = settled_classes(x->kid[0]);
        if (a == ~0u) return false;
        out->kinds = product_kinds(a, a) & IDENTITY;
        return true;
    case ISO_PRODUCT:
        a = settled_classes(x->kid[0]);
        b = settled_classes(x->kid[1]);
        if (a == ~0u || b == ~0u) return false;
        out->kinds = product_kinds(a, b);
        return true;
    case ISO_JOIN:
    case ISO_MEET:
    case ISO_MINUS: return read_two(out, x);
    case ISO_SEQ: return read_tested(out, x);
    case ISO_INVERSE:
        if (!settled_read(out, x->kid[0])) return false;
        out->kinds = inverse_kinds(out->kinds);
        return true;
    case ISO_OPT:
        if (!settled_read(out, x->kid[0])) return false;
        out->kinds |= IDENTITY;
        return true;
    case ISO_PLUS: /* both are transitive */
    case ISO_STAR: {
        enum iso_op of = named_body(x->kid[0])->op;
        if ((of != ISO_SO && of != ISO_RT) || !settled_read(out, x->kid[0])) return false;
        if (x->op == ISO_STAR) out->kinds |= IDENTITY;
        return true;
    }
    default: return false;
    }
}

static bool has_inverse(const iso_node *x)
{
    x = named_body(x);
    if (x->op == ISO_INVERSE || x->op == ISO_PRODUCT) return true;
    if (x->op == ISO_MINUS || x->op == ISO_MEET || x->op == ISO_JOIN)
        return has_inverse(x->kid[0]) || (x->op == ISO_JOIN && has_inverse(x->kid[1]));
    return false;
}

bool settled_is_wanted(const iso_node *x)
{
    if (x->op == ISO_INVERSE || x->op == ISO_PRODUCT) return true;
    if (x->op != ISO_MINUS && x->op != ISO_MEET) return false;
    return named_body(x->kid[1])->op != ISO_PRODUCT || has_inverse(x->kid[0]);
}

static unsigned cells_of_classes(const settled_pairs *p, unsigned from, unsigned to)
{
    unsigned cells = 0;
    assert(from < 2 && to < 2);
    for (unsigned cell = 0; cell < 9; cell++)
        if (p->kinds >> pair_kind(cell / 3, cell % 3, from, to) & 1) cells |= 1u << cell;
    return cells;
}

unsigned settled_cells(const settled_pairs *p, unsigned from, unsigned to)
{
    unsigned cells[2][2];
    assert(from && from <= CLASS_ALL && to && to <= CLASS_ALL);
    for (unsigned i = 0; i < 4; i++) cells[i / 2][i % 2] = cells_of_classes(p, i / 2, i % 2);
    bool together = cells[0][0] == cells[1][0] && cells[0][1] == cells[1][1];
    if (together != (from == CLASS_ALL)) return 0;
    const unsigned *of = cells[together ? 0 : from - 1];
    if ((of[0] == of[1]) != (to == CLASS_ALL)) return 0;
    return of[to == CLASS_ALL ? 0 : to - 1];
}

bool settled_itself(const settled_pairs *p)
{
    return p->kinds >> ITSELF & 3;
}

bool settled_goes_forward(const settled_pairs *p)
{
    assert(!(p->kinds >> KINDS));
    for (unsigned i = 0; i < 36; i++)
        if (p->kinds >> i & 1 && !(SETTLED_FORWARD >> i / 4 & 1)) return false;
    return !(p->kinds >> TO_INIT & 3);
}
