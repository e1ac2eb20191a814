/*
 * compile_iso.c - from the axioms of a level to closed walks that it forbids.
 *
 * Each axiom that is understood says irreflexive(R) for a regular R over so, wr, ww, rw, co and rt:
 *
 *     commit(P)          irreflexive(P ; rw), for a P that relates no transaction to itself
 *     commit(P ; po)     the same for the walks that arrive at an operation before the read
 *     acyclic(E)         irreflexive(E+)
 *     X in co            irreflexive(X ; co?)
 *     over vis, ar       the axioms say what must be visible; the least such visibility V is
 *                        regular, and reads see the last visible version: commit(V)
 *
 * All are positive in what is chosen, so a finding is a walk, and its clause the negation.
 * Differences and inverses are of what the history settles (settled_pairs.c).
 *
 * The order of acyclic(E) where so, wr and ww are inside E: any order of E is as good as the one
 * that was chosen, since the versions of a key stand the same way in both, and if no axiom speaks
 * of co nothing else is said about it.  So E may be asked to lie in the order itself, and then a
 * step back is enough, instead of a whole cycle (`ordered`).  So is an E that does not contain them
 * but loses nothing by them, such as (so | wr | ww)+ ; rw (`wider`).
 */
#include "verdict/compile_iso.h"

#include <assert.h>
#include <string.h>

#include "verdict/settled_pairs.h"

#define MOST_PARTS 4096u /* of all expressions together; definitions may double each other */

typedef struct compiler {
    mem *m;
    uint32_t parts;
    iso_rule *out;
    automaton_builder *b;
    bool uses_co, has_ordered;
    const path_regex *ordered; /* acyclic(E) that is kept for the end */
    const path_regex *wider;   /* the same with the steps that every order keeps, or NULL */
    /* Over vis: what must be visible, and what may stand before and after it. */
    const path_regex *visible, *before, *after;
    bool transitive, total;
} compiler;

static const path_regex *outside(compiler *c, const iso_node *x, const char *what)
{
    if (!c->out->outside) {
        c->out->outside = what;
        c->out->line = x->line;
        c->out->column = x->column;
    }
    return NULL;
}

/* --- expressions ------------------------------------------------------------------------------ */

static const path_regex *regex_new(compiler *c, path_regex r)
{
    path_regex *x = mem_array0(c->m, path_regex, 1);
    *x = r;
    c->parts++;
    return x;
}

static const path_regex *letter_of(compiler *c, enum path_letter letter)
{
    c->uses_co = c->uses_co || letter == LETTER_CO;
    c->out->real_time = c->out->real_time || letter == LETTER_RT;
    return regex_new(c, (path_regex){REGEX_LETTER, (uint8_t)letter, 0, NULL, NULL});
}

static const path_regex *test_of(compiler *c, unsigned classes)
{
    return regex_new(c, (path_regex){REGEX_TEST, 0, (uint8_t)classes, NULL, NULL});
}

static const path_regex *regex_pair(compiler *c, enum regex_op op, const path_regex *a,
                                    const path_regex *b)
{
    if (!a || !b) return NULL;
    return regex_new(c, (path_regex){op, 0, 0, a, b});
}

static const path_regex *plus_of(compiler *c, const path_regex *a)
{
    return a ? regex_new(c, (path_regex){REGEX_PLUS, 0, 0, a, NULL}) : NULL;
}

static const path_regex *option_of(compiler *c, const path_regex *a)
{
    return regex_pair(c, REGEX_OR, a, test_of(c, CLASS_ALL));
}

/* The classes of a set, or ~0u.  The initial transaction is on no closed walk. */
static unsigned classes_of(compiler *c, const iso_node *x)
{
    unsigned a, b;
    assert(x->type == ISO_SET);
    switch (x->op) {
    case ISO_TXNS: return CLASS_ALL;
    case ISO_UPD: return CLASS_UPDATES;
    case ISO_RO: return CLASS_READERS;
    case ISO_INIT: return 0;
    case ISO_USE:
        if (x->kid[0]) break;
        return classes_of(c, x->def->body);
    case ISO_JOIN:
    case ISO_MEET:
    case ISO_MINUS:
        a = classes_of(c, x->kid[0]);
        b = classes_of(c, x->kid[1]);
        if (a == ~0u || b == ~0u) return ~0u;
        return x->op == ISO_JOIN ? a | b : x->op == ISO_MEET ? a & b : a & ~b;
    default: break;
    }
    outside(c, x, "a set other than txn, init, upd and ro");
    return ~0u;
}

static const iso_node *unfolded(const iso_node *x)
{
    while (x->op == ISO_USE && !x->kid[0]) x = x->def->body;
    return x;
}

static void add_choice(compiler *c, const path_regex **to, const path_regex *r)
{
    if (!r) return;
    *to = *to ? regex_pair(c, REGEX_OR, *to, r) : r;
}

static const path_regex *regex_of(compiler *c, const iso_node *x);

/* A relation that the history settles: a letter for each set of kinds of pairs, between the tests
   of the classes that have it.  All its pairs must go forward in the order: a step back could close
   a walk that has no rw, and would lead to the initial state, which is on no walk otherwise. */
static const path_regex *regex_of_settled(compiler *c, const iso_node *x, const settled_pairs *p)
{
    const path_regex *all = NULL;
    c->out->real_time = c->out->real_time || p->speaks_of_time;
    if (!settled_goes_forward(p))
        return outside(c, x,
                       "an inverse (^-1) or a difference (\\) that may lead back in the order");
    if (settled_itself(p)) /* (? says so, and then it is no step, and arrives nowhere) */
        return outside(c, x, "an inverse or a difference that relates transactions to themselves");
    for (unsigned from = 1; from <= CLASS_ALL; from++)
        for (unsigned to = 1; to <= CLASS_ALL; to++) {
            unsigned cells = settled_cells(p, from, to);
            if (!cells) continue;
            assert(!(cells & ~SETTLED_FORWARD));
            enum path_letter letter = cells == SETTLED_ROW(SIDE_BEFORE) ? LETTER_SO
                                      : cells == SETTLED_COLUMN(SIDE_BEFORE)
                                          ? LETTER_RT
                                          : automaton_settled(c->b, cells);
            if (letter == LETTERS)
                return outside(c, x, "more than eight relations that \\ and ^-1 make");
            const path_regex *r = letter_of(c, letter);
            if (to != CLASS_ALL) r = regex_pair(c, REGEX_SEQ, r, test_of(c, to));
            if (from != CLASS_ALL) r = regex_pair(c, REGEX_SEQ, test_of(c, from), r);
            add_choice(c, &all, r);
        }
    return all ? all : test_of(c, 0);
}

/* r & (A x B), r \ (A x B) */
static const path_regex *limited(compiler *c, const iso_node *x)
{
    const iso_node *product = unfolded(x->kid[1]);
    bool meet = x->op == ISO_MEET;
    if (product->op != ISO_PRODUCT)
        return outside(c, x,
                       meet ? "an intersection (&) of what is chosen with something else than a "
                              "product of sets"
                            : "a difference (\\) of what is chosen and something else than a "
                              "product of sets");
    const path_regex *r = regex_of(c, x->kid[0]);
    unsigned a = classes_of(c, product->kid[0]), b = classes_of(c, product->kid[1]);
    if (!r || a == ~0u || b == ~0u) return NULL;
    if (meet)
        return regex_pair(c, REGEX_SEQ, test_of(c, a), regex_pair(c, REGEX_SEQ, r, test_of(c, b)));
    return regex_pair(c, REGEX_OR, regex_pair(c, REGEX_SEQ, test_of(c, CLASS_ALL & ~a), r),
                      regex_pair(c, REGEX_SEQ, r, test_of(c, CLASS_ALL & ~b)));
}

/* Words that are a step, and words that are outside with what is said of them. */
static const struct {
    enum iso_op op;
    int letter; /* -1: outside */
    const char *name;
} step_words[] = {
    {ISO_SO, LETTER_SO, NULL},
    {ISO_RT, LETTER_RT, NULL},
    {ISO_WR, LETTER_WR, NULL},
    {ISO_WW, LETTER_WW, NULL},
    {ISO_RW, LETTER_RW, NULL},
    {ISO_RW_ITEM, LETTER_RW_ITEM, NULL},
    {ISO_RW_PRED, LETTER_RW_PRED, NULL},
    {ISO_CO_REL, LETTER_CO, NULL},
    {ISO_AR, LETTER_CO, NULL},
    {ISO_INVERSE, -1, "an inverse (^-1) of what is chosen"},
    {ISO_PRODUCT, -1, "a product of other sets than txn, init, upd and ro"},
    {ISO_WRX, -1, "wr of one key"},
    {ISO_WWX, -1, "ww of one key"},
    {ISO_RWX, -1, "rw of one key"},
    {ISO_RWX_ITEM, -1, "rw-item of one key"},
    {ISO_RWX_PRED, -1, "rw-pred of one key"},
    {ISO_CC, -1, "cc, the real order of commits"},
    {ISO_BC, -1, "bc, begins as events of their own"},
    {ISO_VIS, -1, "vis in another form than a rule of what must be visible"},
};

static const path_regex *regex_of_word(compiler *c, const iso_node *x)
{
    for (size_t i = 0; i < sizeof step_words / sizeof *step_words; i++) {
        if (step_words[i].op != x->op) continue;
        if (step_words[i].letter < 0) return outside(c, x, step_words[i].name);
        assert(step_words[i].letter < LETTERS);
        return letter_of(c, (enum path_letter)step_words[i].letter);
    }
    return outside(c, x, "a relation that is not regular");
}

static const path_regex *regex_of(compiler *c, const iso_node *x)
{
    unsigned classes;
    settled_pairs p;
    assert(x->type == ISO_REL);
    if (c->out->outside) return NULL;
    if (c->parts > MOST_PARTS) return outside(c, x, "a relation that is too long");
    if (settled_is_wanted(x) && settled_read(&p, x)) return regex_of_settled(c, x, &p);
    switch (x->op) {
    case ISO_ID: return test_of(c, CLASS_ALL);
    case ISO_DIAG:
        classes = classes_of(c, x->kid[0]);
        return classes == ~0u ? NULL : test_of(c, classes);
    case ISO_USE:
        if (x->kid[0]) return outside(c, x, "a relation with a parameter");
        return regex_of(c, x->def->body);
    case ISO_SEQ: return regex_pair(c, REGEX_SEQ, regex_of(c, x->kid[0]), regex_of(c, x->kid[1]));
    case ISO_JOIN: return regex_pair(c, REGEX_OR, regex_of(c, x->kid[0]), regex_of(c, x->kid[1]));
    case ISO_PLUS: return plus_of(c, regex_of(c, x->kid[0]));
    case ISO_STAR: return option_of(c, plus_of(c, regex_of(c, x->kid[0])));
    case ISO_OPT: return option_of(c, regex_of(c, x->kid[0]));
    case ISO_MEET:
    case ISO_MINUS: return limited(c, x);
    default: return regex_of_word(c, x);
    }
}

static bool speaks_of(const path_regex *r, unsigned letters)
{
    if (!r) return false;
    if (r->op == REGEX_LETTER) return letters >> r->letter & 1;
    return speaks_of(r->a, letters) || speaks_of(r->b, letters);
}

/* --- axioms ----------------------------------------------------------------------------------- */

static void forbid_closed(compiler *c, const path_regex *r, bool ordered, const iso_node *at)
{
    const char *why = r ? automaton_add_closed(c->b, r, ordered) : NULL;
    if (why) outside(c, at, why);
}

static void forbid_missed(compiler *c, const path_regex *p, enum iso_arrival arrival,
                          const iso_node *at)
{
    if (!p) return;
    if (speaks_of(p, LETTERS_RW))
        outside(c, at, "rw inside of commit(...)");
    else if (regex_empty_at(p))
        outside(c, at, "commit(...) of a relation that relates a transaction to itself");
    if (c->out->outside) return;
    if (arrival != ISO_ANYWHERE) p = regex_arriving(c->m, p, arrival == ISO_UPTO);
    forbid_closed(c, regex_pair(c, REGEX_SEQ, p, letter_of(c, LETTER_RW)), false, at);
}

/* commit(P), commit(P ; po) */
static void forbid_commit(compiler *c, const iso_node *f)
{
    enum iso_arrival arrival;
    const iso_node *p = iso_premise(f, &arrival);
    forbid_missed(c, regex_of(c, p), arrival, f);
}

/* all x:key | irreflexive(ww[x] ; rw[x]) */
static void forbid_own_key(compiler *c, const iso_node *f, const iso_node *read)
{
    enum path_letter of = read->op == ISO_RWX_ITEM   ? LETTER_RW_ITEM
                          : read->op == ISO_RWX_PRED ? LETTER_RW_PRED
                                                     : LETTER_RW;
    forbid_closed(c, regex_pair(c, REGEX_SEQ, letter_of(c, LETTER_KEY), letter_of(c, of)), false,
                  f);
}

static bool lies_in_order(const compiler *c, const path_regex *e)
{
    return regex_has_letter(c->m, e, LETTER_SO) && regex_has_letter(c->m, e, LETTER_WR) &&
           regex_has_letter(c->m, e, LETTER_WW);
}

/* Does the expression have every step of D, which every order keeps? */
static bool has_kept_steps(const compiler *c, const path_regex *e)
{
    return lies_in_order(c, e) && (!c->out->real_time || regex_has_letter(c->m, e, LETTER_RT));
}

/* Is D ; e inside of e (or, not before, e ; D)? */
static bool takes_in(const compiler *c, const path_regex *e, bool before)
{
    switch (e->op) {
    case REGEX_PLUS: return has_kept_steps(c, e->a) || takes_in(c, e->a, before);
    case REGEX_SEQ: return takes_in(c, before ? e->a : e->b, before);
    case REGEX_OR:
        if (e->b->op == REGEX_TEST) /* a star */
            return e->a->op == REGEX_PLUS && has_kept_steps(c, e->a->a);
        return takes_in(c, e->a, before) && takes_in(c, e->b, before);
    default: return false;
    }
}

/* The steps of D may be added to an E that takes them in, as (so | wr | ww)+ ; rw does: on a cycle
   with a step of E each step of D goes into that of E next to it, and D has no cycles. */
static const path_regex *widened(compiler *c, const path_regex *e)
{
    assert(!c->ordered && !lies_in_order(c, e));
    if (!takes_in(c, e, true) && !takes_in(c, e, false)) return NULL;
    const path_regex *d = letter_of(c, LETTER_SO);
    add_choice(c, &d, letter_of(c, LETTER_WR));
    add_choice(c, &d, letter_of(c, LETTER_WW));
    if (c->out->real_time) add_choice(c, &d, letter_of(c, LETTER_RT));
    return regex_pair(c, REGEX_OR, d, e);
}

static void forbid_cycles(compiler *c, const iso_node *of)
{
    const path_regex *e = regex_of(c, of);
    if (!e) return;
    const path_regex *wider = c->ordered || lies_in_order(c, e) ? NULL : widened(c, e);
    if (!c->ordered && (wider || lies_in_order(c, e))) {
        c->ordered = e; /* decided when all axioms are known */
        c->wider = wider;
    } else {
        forbid_closed(c, plus_of(c, e), false, of);
    }
}

static bool is_order_node(const iso_node *x)
{
    x = unfolded(x);
    return x->op == ISO_CO_REL || x->op == ISO_AR;
}

static bool is_vis_node(const iso_node *x)
{
    return unfolded(x)->op == ISO_VIS;
}

/* X in vis, X ; vis in vis, vis ; X in vis, vis ; vis in vis */
static void see_inside(compiler *c, const iso_node *x)
{
    x = unfolded(x);
    if (x->op == ISO_JOIN) {
        see_inside(c, x->kid[0]);
        see_inside(c, x->kid[1]);
    } else if (x->op == ISO_SEQ && is_vis_node(x->kid[0]) && is_vis_node(x->kid[1])) {
        c->transitive = true;
    } else if (x->op == ISO_SEQ && is_vis_node(x->kid[1])) {
        add_choice(c, &c->before, regex_of(c, x->kid[0]));
    } else if (x->op == ISO_SEQ && is_vis_node(x->kid[0])) {
        add_choice(c, &c->after, regex_of(c, x->kid[1]));
    } else if (!is_vis_node(x)) {
        add_choice(c, &c->visible, regex_of(c, x));
    }
}

static void see_all(compiler *c, const iso_node *f)
{
    assert(f->op == ISO_TOTAL && is_vis_node(f->kid[0]));
    unsigned classes = classes_of(c, f->kid[1]);
    if (classes == ~0u) return;
    add_choice(c, &c->visible,
               regex_pair(c, REGEX_SEQ, test_of(c, classes),
                          regex_pair(c, REGEX_SEQ, letter_of(c, LETTER_CO), test_of(c, classes))));
}

static void compile_axiom(compiler *c, const iso_node *f, bool over_vis);

static void compile_inside(compiler *c, const iso_node *f, bool over_vis)
{
    if (over_vis && is_vis_node(f->kid[1])) {
        see_inside(c, f->kid[0]);
    } else if (f->kid[0]->type == ISO_REL && is_order_node(f->kid[1])) {
        const path_regex *r = regex_of(c, f->kid[0]);
        forbid_closed(c, regex_pair(c, REGEX_SEQ, r, option_of(c, letter_of(c, LETTER_CO))), false,
                      f->kid[0]);
    } else {
        outside(c, f, "`in` with something else than co, ar or vis on its right");
    }
}

static void compile_axiom(compiler *c, const iso_node *f, bool over_vis)
{
    const iso_node *read;
    switch (f->op) {
    case ISO_TRUE: return;
    case ISO_AND:
        compile_axiom(c, f->kid[0], over_vis);
        compile_axiom(c, f->kid[1], over_vis);
        return;
    case ISO_COMMIT: forbid_commit(c, f); return;
    case ISO_IRREFLEXIVE: forbid_closed(c, regex_of(c, f->kid[0]), false, f); return;
    case ISO_ACYCLIC: forbid_cycles(c, f->kid[0]); return;
    case ISO_IN: compile_inside(c, f, over_vis); return;
    case ISO_TRANSITIVE:
        if (!over_vis || !is_vis_node(f->kid[0])) break;
        c->transitive = true;
        return;
    case ISO_TOTAL:
        if (!over_vis || !is_vis_node(f->kid[0])) break;
        see_all(c, f);
        return;
    case ISO_ALL:
        if (iso_is_own_key(f, &read)) {
            forbid_own_key(c, f, read);
            return;
        }
        if (!over_vis || !iso_is_noconflict(f)) break;
        add_choice(c, &c->visible, letter_of(c, LETTER_WW));
        return;
    default: break;
    }
    static const struct {
        enum iso_op op;
        const char *name;
    } names[] = {
        {ISO_ALL, "a quantifier (all)"},
        {ISO_SOME, "a quantifier (some)"},
        {ISO_NOT, "a negation (not)"},
        {ISO_OR, "an alternative (or)"},
        {ISO_IMPLIES, "an implication"},
        {ISO_IFF, "an equivalence"},
        {ISO_EMPTY, "empty(...)"},
        {ISO_TOTAL, "total(...) of something else than vis"},
        {ISO_TRANSITIVE, "transitive(...) of something else than vis"},
    };
    const char *what = "an axiom of another kind";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].op == f->op) what = names[i].name;
    outside(c, f, what);
}

/* V = before* ; (so | wr | visible) ; after*, closed under itself if it is transitive. */
static void compile_visible(compiler *c, const iso_level *l)
{
    assert(l->witness == ISO_VIS_AR);
    iso_node here = {.line = l->line, .column = l->column};
    const path_regex *v = regex_pair(c, REGEX_OR, letter_of(c, LETTER_SO), letter_of(c, LETTER_WR));
    if (c->out->outside) return;
    add_choice(c, &v, c->visible);
    if (c->before) v = regex_pair(c, REGEX_SEQ, option_of(c, plus_of(c, c->before)), v);
    if (c->after) v = regex_pair(c, REGEX_SEQ, v, option_of(c, plus_of(c, c->after)));
    if (c->transitive) v = plus_of(c, v);
    if (speaks_of(v, LETTERS_RW))
        outside(c, &here, "rw in what must be visible");
    else
        forbid_missed(c, v, ISO_ANYWHERE, &here);
}

void compile_iso(iso_rule *out, const iso_level *l, mem *m)
{
    iso_axiom_list all = {0};
    memset(out, 0, sizeof *out);
    compiler c = {.m = m, .out = out, .b = automaton_begin(m)};
    iso_node here = {.line = l->line, .column = l->column};
    bool over_vis = l->witness == ISO_VIS_AR;
    if (l->witness == ISO_NONE) outside(&c, &here, "a level over nothing");
    iso_axioms(m, l, &all);
    assert(c.b && !out->outside == (l->witness != ISO_NONE));
    for (size_t i = 0; i < all.n && !out->outside; i++) {
        if (all.at[i]->form->size > ISO_MOST_UNFOLDED)
            outside(&c, all.at[i]->form, "a relation that is too long");
        else
            compile_axiom(&c, all.at[i]->form, over_vis);
    }
    if (over_vis) compile_visible(&c, l);
    if (c.ordered && !out->outside) {
        /* (Speaking of real time is not enough: an order of E need keep only what is in E.) */
        const path_regex *e = c.wider ? c.wider : c.ordered;
        assert(lies_in_order(&c, e));
        bool ordered = !c.uses_co && (!out->real_time || regex_has_letter(m, e, LETTER_RT));
        forbid_closed(&c, ordered ? e : plus_of(&c, c.ordered), ordered, &here);
    }
    if (out->outside) return;
    out->rule = (level_rule){
        .id = RULE_RC, .level = LEVEL_RC, .path = PATH_WORDS, .automaton = automaton_end(c.b)};
}
