/*
 * path_automaton.c - from regular expressions to an automaton of few states.
 *
 * Positions automata (Glushkov 1961): a state for each letter of the expression, and the start.
 * Tests become sets of classes at the moves that pass them.  States with equal futures are merged
 * until nothing changes, so (so | wr | ww)+ has two states.
 */
#include "order/path_automaton.h"

#include <assert.h>
#include <string.h>

#define MOST_POSITIONS 64 /* of one expression; tables are of this squared */
#define MOST_ARROWS 8192  /* of all axioms, before states are merged */

/* --- positions -------------------------------------------------------------------------------- */

typedef struct place { /* a position, and the classes at which it may be first or last */
    uint32_t at;
    uint8_t classes;
} place;

typedef VEC(place) places;

typedef struct parts { /* of an expression */
    uint8_t empty;     /* classes of a transaction at which it may be no step at all */
    places first, last;
} parts;

typedef struct positions {
    mem *m;
    VEC(uint8_t) letter; /* per position */
    uint8_t *follow;     /* [p * MOST_POSITIONS + q]: classes between them */
    bool too_many;
} positions;

static void add_places(positions *p, places *to, const places *from, uint8_t classes)
{
    for (size_t i = 0; i < from->n; i++) {
        place x = {from->at[i].at, from->at[i].classes & classes};
        if (x.classes) vec_push(p->m, to, x);
    }
}

static void add_follow(positions *p, const places *last, const places *first)
{
    assert(p->letter.n <= MOST_POSITIONS);
    for (size_t i = 0; i < last->n; i++)
        for (size_t k = 0; k < first->n; k++)
            p->follow[last->at[i].at * MOST_POSITIONS + first->at[k].at] |=
                last->at[i].classes & first->at[k].classes;
}

static parts parts_of(positions *p, const path_regex *r)
{
    parts x = {0}, a, b;
    switch (r->op) {
    case REGEX_LETTER: {
        place here = {(uint32_t)p->letter.n, CLASS_ALL};
        if (p->letter.n == MOST_POSITIONS) {
            p->too_many = true;
            return x;
        }
        vec_push(p->m, &p->letter, r->letter);
        vec_push(p->m, &x.first, here);
        vec_push(p->m, &x.last, here);
        return x;
    }
    case REGEX_TEST: x.empty = r->classes; return x;
    case REGEX_PLUS:
        x = parts_of(p, r->a);
        add_follow(p, &x.last, &x.first);
        return x;
    case REGEX_OR:
    case REGEX_SEQ: break;
    }
    a = parts_of(p, r->a);
    b = parts_of(p, r->b);
    bool seq = r->op == REGEX_SEQ;
    x.empty = seq ? a.empty & b.empty : a.empty | b.empty;
    add_places(p, &x.first, &a.first, CLASS_ALL);
    add_places(p, &x.first, &b.first, seq ? a.empty : CLASS_ALL);
    add_places(p, &x.last, &b.last, CLASS_ALL);
    add_places(p, &x.last, &a.last, seq ? b.empty : CLASS_ALL);
    if (seq) add_follow(p, &a.last, &b.first);
    return x;
}

static void positions_start(positions *p, mem *m)
{
    memset(p, 0, sizeof *p);
    p->m = m;
    p->follow = mem_array0(m, uint8_t, MOST_POSITIONS * MOST_POSITIONS);
}

bool regex_has_letter(mem *m, const path_regex *r, enum path_letter letter)
{
    positions p;
    positions_start(&p, m);
    parts x = parts_of(&p, r);
    uint8_t classes = 0;
    for (size_t i = 0; i < x.first.n; i++)
        for (size_t k = 0; k < x.last.n; k++)
            if (x.first.at[i].at == x.last.at[k].at && p.letter.at[x.first.at[i].at] == letter &&
                x.first.at[i].classes == CLASS_ALL && x.last.at[k].classes == CLASS_ALL)
                classes = CLASS_ALL;
    return classes == CLASS_ALL && !p.too_many;
}

unsigned regex_empty_at(const path_regex *r)
{
    switch (r->op) {
    case REGEX_LETTER: return 0;
    case REGEX_TEST: return r->classes;
    case REGEX_PLUS: return regex_empty_at(r->a);
    case REGEX_SEQ: return regex_empty_at(r->a) & regex_empty_at(r->b);
    case REGEX_OR: break;
    }
    return regex_empty_at(r->a) | regex_empty_at(r->b);
}

static const path_regex *regex_copy(mem *m, path_regex r)
{
    path_regex *x = mem_array0(m, path_regex, 1);
    *x = r;
    return x;
}

/* Only the last letters change.  a ; b ends in b, or in a where b is no step. */
const path_regex *regex_arriving(mem *m, const path_regex *r, bool upto)
{
    path_regex x = *r;
    assert(r->op != REGEX_LETTER || !(LETTERS_LAST >> r->letter & 1));
    switch (r->op) {
    case REGEX_LETTER:
        if (r->letter == LETTER_WR) x.letter = upto ? LETTER_WR_UPTO : LETTER_WR_BEFORE;
        if (r->letter == LETTER_WW) x.letter = upto ? LETTER_WW_UPTO : LETTER_WW_BEFORE;
        break;
    case REGEX_TEST: x.classes = 0; break; /* no step arrives nowhere */
    case REGEX_OR:
        x.a = regex_arriving(m, r->a, upto);
        x.b = regex_arriving(m, r->b, upto);
        break;
    case REGEX_SEQ: {
        uint8_t empty = (uint8_t)regex_empty_at(r->b);
        x.b = regex_arriving(m, r->b, upto);
        if (!empty) break;
        path_regex test = {.op = REGEX_TEST, .classes = empty};
        path_regex early = {.op = REGEX_SEQ, .a = regex_arriving(m, r->a, upto)};
        early.b = regex_copy(m, test);
        path_regex both = {.op = REGEX_OR, .a = regex_copy(m, x), .b = regex_copy(m, early)};
        return regex_copy(m, both);
    }
    case REGEX_PLUS: {
        path_regex last = {.op = REGEX_SEQ, .a = r, .b = regex_arriving(m, r->a, upto)};
        path_regex both = {.op = REGEX_OR, .a = regex_copy(m, last), .b = last.b};
        return regex_copy(m, both);
    }
    }
    return regex_copy(m, x);
}

/* --- states ----------------------------------------------------------------------------------- */

typedef struct arrow {
    uint32_t from, to;
    uint8_t letter, classes;
} arrow;

struct automaton_builder {
    mem *m;
    uint32_t states; /* 0 is the start */
    VEC(arrow) arrows;
    VEC(uint8_t) accept; /* per state */
    uint32_t settled_n;
    uint16_t settled[LETTERS - LETTER_SETTLED];
};

automaton_builder *automaton_begin(mem *m)
{
    automaton_builder *b = mem_array0(m, automaton_builder, 1);
    b->m = m;
    b->states = 1;
    vec_push(m, &b->accept, 0);
    return b;
}

enum path_letter automaton_settled(automaton_builder *b, unsigned cells)
{
    uint32_t i = 0;
    assert(cells && !(cells & ~SETTLED_FORWARD));
    while (i < b->settled_n && b->settled[i] != cells) i++;
    if (i == LETTERS - LETTER_SETTLED) return LETTERS;
    if (i == b->settled_n) b->settled[b->settled_n++] = (uint16_t)cells;
    return (enum path_letter)(LETTER_SETTLED + i);
}

static uint32_t new_states(automaton_builder *b, uint32_t n)
{
    uint32_t first = b->states;
    for (uint32_t i = 0; i < n; i++) vec_push(b->m, &b->accept, 0);
    b->states += n;
    return first;
}

static void add_arrow(automaton_builder *b, uint32_t from, uint8_t letter, uint32_t to,
                      uint8_t classes)
{
    arrow x = {from, to, letter, classes};
    assert(from < b->states && to && to < b->states && letter < LETTERS);
    if (classes) vec_push(b->m, &b->arrows, x);
}

/* The walk as seen from the step `rw` at position r: the rest of the word, then, at the same
   transaction (or, if ordered, at a later one), its beginning up to r.  early + p: state after
   position p in the rest; late + p: in the beginning; start: before its first step. */
typedef struct turned {
    automaton_builder *b;
    const positions *p;
    const parts *x;
    bool ordered;
    uint32_t r, early, late, start;
} turned;

/* What accepts where a walk that was turned at this step is over. */
static uint8_t accept_of(uint8_t letter, uint8_t classes)
{
    assert(LETTERS_RW >> letter & 1 && classes <= CLASS_ALL);
    unsigned item = letter != LETTER_RW_PRED ? ACCEPT_ITEM(classes) : 0u;
    unsigned pred = letter != LETTER_RW_ITEM ? ACCEPT_PRED((unsigned)classes) : 0u;
    return (uint8_t)(item | pred);
}

static uint8_t classes_at(const places *of, uint32_t p)
{
    uint8_t classes = 0;
    for (size_t i = 0; i < of->n; i++)
        if (of->at[i].at == p) classes |= of->at[i].classes;
    return classes;
}

/* The steps that lead on from the beginning's start, also from state `from`, which stands there if
   the transaction is of these classes. */
static void begin_again(const turned *t, uint32_t from, uint8_t classes)
{
    const places *first = &t->x->first;
    for (size_t i = 0; i < first->n; i++) {
        uint32_t q = first->at[i].at;
        add_arrow(t->b, from, t->p->letter.at[q], t->late + q, classes & first->at[i].classes);
    }
    t->b->accept.at[from] |= accept_of(t->p->letter.at[t->r], classes & classes_at(first, t->r));
}

/* The moves of the state after position p of the rest, as moves of `from`. */
static void rest_after(const turned *t, uint32_t p, uint32_t from)
{
    uint8_t over = classes_at(&t->x->last, p);
    for (uint32_t q = 0; q < t->p->letter.n; q++)
        add_arrow(t->b, from, t->p->letter.at[q], t->early + q,
                  t->p->follow[p * MOST_POSITIONS + q]);
    if (!over) return;
    begin_again(t, from, over);
    if (t->ordered) add_arrow(t->b, from, LETTER_CO, t->start, over);
}

const char *automaton_add_closed(automaton_builder *b, const path_regex *r, bool ordered)
{
    positions p;
    positions_start(&p, b->m);
    parts x = parts_of(&p, r);
    uint32_t n = (uint32_t)p.letter.n;
    assert(n <= MOST_POSITIONS && b->accept.n == b->states);
    if (p.too_many) return "a relation that is too long";
    if (x.empty) return "a relation that relates a transaction to itself";
    for (uint32_t at = 0; at < n; at++) {
        if (!(LETTERS_RW >> p.letter.at[at] & 1)) continue;
        turned t = {b, &p, &x, ordered, at, 0, 0, 0};
        t.early = new_states(b, 2 * n + 1);
        t.late = t.early + n;
        t.start = t.late + n;
        rest_after(&t, at, 0);
        for (uint32_t q = 0; q < n; q++) {
            rest_after(&t, q, t.early + q);
            for (uint32_t s = 0; s < n; s++)
                add_arrow(b, t.late + q, p.letter.at[s], t.late + s,
                          p.follow[q * MOST_POSITIONS + s]);
            b->accept.at[t.late + q] |=
                accept_of(p.letter.at[at], p.follow[q * MOST_POSITIONS + at]);
        }
        begin_again(&t, t.start, CLASS_ALL);
        if (b->arrows.n > MOST_ARROWS) return "a relation that is too long";
    }
    return NULL;
}

/* --- fewer states ----------------------------------------------------------------------------- */

/* Marks the states from which an accepting one is reached, and that are reached themselves. */
static uint8_t *useful_states(const automaton_builder *b)
{
    uint8_t *useful = mem_array0(b->m, uint8_t, b->states + 1);
    uint8_t *found = mem_array0(b->m, uint8_t, b->states + 1);
    found[0] = 1;
    for (uint32_t s = 1; s < b->states; s++) useful[s] = b->accept.at[s] != 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < b->arrows.n; i++) {
            const arrow *e = &b->arrows.at[i];
            if (found[e->from] && !found[e->to]) found[e->to] = more = true;
            if (useful[e->to] && !useful[e->from]) useful[e->from] = more = true;
        }
    }
    for (uint32_t s = 0; s < b->states; s++) useful[s] = useful[s] && found[s];
    return useful;
}

static bool arrow_less(const arrow *a, const arrow *b)
{
    if (a->from != b->from) return a->from < b->from;
    if (a->letter != b->letter) return a->letter < b->letter;
    return a->to < b->to;
}

/* Arrows between classes of states, sorted, each pair and letter once. */
static void settle_arrows(automaton_builder *b, const uint32_t *name, const uint8_t *useful)
{
    size_t n = 0;
    for (size_t i = 0; i < b->arrows.n; i++) {
        arrow e = b->arrows.at[i];
        if (useful && (!useful[e.from] || !useful[e.to])) continue;
        e.from = name[e.from];
        e.to = name[e.to];
        size_t k = n++;
        for (; k && arrow_less(&e, &b->arrows.at[k - 1]); k--)
            b->arrows.at[k] = b->arrows.at[k - 1];
        b->arrows.at[k] = e;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        arrow *before = kept ? &b->arrows.at[kept - 1] : NULL;
        const arrow *e = &b->arrows.at[i];
        if (before && !arrow_less(before, e))
            before->classes |= e->classes;
        else
            b->arrows.at[kept++] = *e;
    }
    b->arrows.n = kept;
}

static size_t arrows_of(const automaton_builder *b, uint32_t s, size_t *n)
{
    size_t first = 0;
    while (first < b->arrows.n && b->arrows.at[first].from < s) first++;
    *n = first;
    while (*n < b->arrows.n && b->arrows.at[*n].from == s) ++*n;
    *n -= first;
    return first;
}

static bool same_future(const automaton_builder *b, uint32_t s, uint32_t t)
{
    size_t ns, nt, i = arrows_of(b, s, &ns), k = arrows_of(b, t, &nt);
    if (b->accept.at[s] != b->accept.at[t] || ns != nt) return false;
    for (size_t j = 0; j < ns; j++) {
        const arrow *x = &b->arrows.at[i + j], *y = &b->arrows.at[k + j];
        if (x->letter != y->letter || x->to != y->to || x->classes != y->classes) return false;
    }
    return true;
}

/* Gives the states that are kept new numbers, the start 0; returns how many there are. */
static uint32_t rename_states(automaton_builder *b, uint32_t *name, const uint8_t *kept)
{
    uint32_t n = 1;
    name[0] = 0;
    for (uint32_t s = 1; s < b->states; s++)
        if (kept[s]) {
            name[s] = n;
            b->accept.at[n++] = b->accept.at[s];
        }
    return n;
}

static void merge_states(automaton_builder *b)
{
    uint32_t *name = mem_array0(b->m, uint32_t, b->states + 1);
    uint8_t *kept = useful_states(b);
    uint32_t left = rename_states(b, name, kept);
    assert(left && left <= b->states && !name[0]);
    settle_arrows(b, name, kept);
    b->states = left;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t s = 1; s < b->states; s++) {
            uint32_t t = 1;
            while (t < s && !same_future(b, s, t)) t++;
            if (t == s) continue;
            for (uint32_t i = 0; i < b->states; i++) name[i] = i == s ? t : i > s ? i - 1 : i;
            for (uint32_t i = s; i + 1 < b->states; i++) b->accept.at[i] = b->accept.at[i + 1];
            for (size_t i = 0; i < b->arrows.n; i++) /* its own arrows are those of t */
                if (b->arrows.at[i].from == s) b->arrows.at[i].from = t;
            for (size_t i = 0; i < b->arrows.n; i++)
                if (b->arrows.at[i].to == s) b->arrows.at[i].to = t;
            settle_arrows(b, name, NULL);
            b->states--;
            more = true;
            break;
        }
    }
    mem_put(b->m, name);
    mem_put(b->m, kept);
}

/* --- slots and groups ------------------------------------------------------------------------- */

/* Is the slot of arrow x left by the same moves as that of y? */
static bool same_moves(const automaton_builder *b, const path_slot *x, const path_slot *y)
{
    for (uint32_t s = 0; s < b->states; s++) {
        uint8_t of_x = 0, of_y = 0;
        for (size_t i = 0; i < b->arrows.n; i++) {
            const arrow *e = &b->arrows.at[i];
            if (e->from != s) continue;
            if (e->letter == x->letter && e->to == x->to) of_x = e->classes;
            if (e->letter == y->letter && e->to == y->to) of_y = e->classes;
        }
        if (of_x != of_y) return false;
    }
    return true;
}

static void fill_slots(path_automaton *a, automaton_builder *b)
{
    a->slot = mem_array0(b->m, path_slot, b->arrows.n + 1);
    for (uint32_t letter = 0; letter < LETTERS; letter++) {
        a->slot_first[letter] = a->slots;
        for (size_t i = 0; i < b->arrows.n; i++) {
            const arrow *e = &b->arrows.at[i];
            uint32_t k = a->slot_first[letter];
            if (e->letter != letter) continue;
            while (k < a->slots && a->slot[k].to != e->to) k++;
            if (k == a->slots) a->slot[a->slots++] = (path_slot){letter, e->to, 0};
            a->letters |= 1u << letter;
        }
    }
    a->slot_first[LETTERS] = a->slots;
    assert(a->slots <= b->arrows.n);
}

static void fill_moves(path_automaton *a, automaton_builder *b)
{
    a->move = mem_array0(b->m, path_move, b->arrows.n + 1);
    a->move_first = mem_array0(b->m, uint32_t, (size_t)a->slots + 2);
    for (uint32_t k = 0; k < a->slots; k++) {
        uint32_t like = 0;
        while (like < k && !same_moves(b, &a->slot[like], &a->slot[k])) like++;
        if (like < k) {
            a->slot[k].group = a->slot[like].group;
            continue;
        }
        a->slot[k].group = a->groups;
        a->move_first[a->groups] = a->moves;
        for (size_t i = 0; i < b->arrows.n; i++) {
            const arrow *e = &b->arrows.at[i];
            if (e->letter == a->slot[k].letter && e->to == a->slot[k].to)
                a->move[a->moves++] = (path_move){e->from, a->groups, e->classes};
        }
        a->move_first[++a->groups] = a->moves;
    }
}

const path_automaton *automaton_end(automaton_builder *b)
{
    path_automaton *a = mem_array0(b->m, path_automaton, 1);
    merge_states(b);
    a->states = b->states;
    a->accept = mem_array0(b->m, uint8_t, (size_t)b->states + 1);
    for (uint32_t s = 1; s < b->states; s++) a->accept[s] = b->accept.at[s];
    fill_slots(a, b);
    fill_moves(a, b);
    memcpy(a->settled, b->settled, sizeof a->settled);
    assert(a->groups <= a->slots && a->moves <= b->arrows.n);
    assert(!a->accept[0] && a->slot_first[0] == 0);
    return a;
}
