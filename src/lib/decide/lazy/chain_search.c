/*
 * chain_search.c - lists that are also written or deleted, in the search: on which content each
 * transaction stands (asg/list_chains.h), and which version is right before it, are choices.
 *
 * Literals: "v stands on that content", "w is the version right before v, and left that content",
 * "the read was from w", and for an unknown initial state "that was there at first".  Clauses
 * written before the search: a stand has a version right before it, which left the content, because
 * it set the key or because it has the stand that leaves it; at most one stand for a transaction.
 * A read has a source that left what it saw; one that saw its own appends saw the version right
 * before its own transaction.
 *
 * That no transaction stands between the two is written only where the order has one there:
 *
 *     not "w is right before v"   or   u before w   or   v before u
 *
 * For a proof every literal is told what it means and every clause why it holds.  At most one of
 * many is then said of each two, without helper literals, and only where the search needs it:
 * stands and versions right before them exclude each other by the rest of the clauses, too.
 */
#include "decide/lazy/chain_search.h"

#include <assert.h>

#include "base/map.h"
#include "decide/lazy/slot_search.h"
#include "decide/proof/justify.h"

struct chain_search {
    uint32_t *stand_lit;  /* per stand */
    uint32_t *leaver_lit; /* per leaver: it left the content; LIT_NONE: it surely did */
    uint32_t *pred_first; /* per stand: its literals are [pred_first, pred_end) of pred_lit */
    uint32_t *pred_end;
    VEC(uint32_t) pred_lit;    /* "that one is right before it", ... */
    VEC(uint32_t) pred_leaver; /* ... and which leaver it is */
    key_set between;           /* clauses that were written: (index of pred_lit, install) */
    size_t at;                 /* the key to look at next */
};

#define MOST_PAIRED 64u /* stands of one transaction that exclude each other two by two */

static uint32_t new_lit(lazy *z)
{
    return lit_of(lazy_new_var(z), false);
}

/* a implies b. */
static void write_implied(lazy *z, uint32_t a, uint32_t b)
{
    lazy_clause_start(z);
    lazy_clause_lit(z, lit_not(a));
    lazy_clause_lit(z, b);
    lazy_clause_end(z);
}

/* The literal that v took part, or LIT_NONE if that is sure. */
static uint32_t taken_lit(const lazy *z, node_id v)
{
    bool maybe = z->taken_var && z->taken_var[v] != NONE;
    return maybe ? lit_of(z->taken_var[v], false) : LIT_NONE;
}

static const list_chains *chains_of(const lazy *z)
{
    return &z->g->slots->chains;
}

/* --- literals ---------------------------------------------------------------------------------
   All literals get their edges before the first clause is written, because that may settle some. */

static uint32_t make_leaver(lazy *z, const chain_search *x, const list_leaver *l)
{
    if (l->stand == LEFT_AT_FIRST) return new_lit(z);
    if (l->stand == LEFT_SURELY) return l->node == RF_INIT ? LIT_NONE : taken_lit(z, l->node);
    return x->stand_lit[l->stand];
}

/* For each content of an unknown initial state its literal, and what that means. */
static void tell_initial(lazy *z, const chain_search *x)
{
    const list_chains *c = chains_of(z);
    for (uint32_t i = 0; i < c->content.n; i++) {
        uint32_t first = c->content.at[i].leavers;
        if (first < c->content.at[i].end && c->leaver.at[first].stand == LEFT_AT_FIRST)
            justify_is_first(z->j, lit_var(x->leaver_lit[first]), i);
    }
}

/* Those that may be right before the stand. */
static void make_preds(lazy *z, chain_search *x, uint32_t stand)
{
    const list_chains *c = chains_of(z);
    const list_stand *s = &c->stand.at[stand];
    x->pred_first[stand] = (uint32_t)x->pred_lit.n;
    for (uint32_t content = s->before, twin = 0; content != NO_ID && twin < 2; twin++) {
        const list_content *on = &c->content.at[content];
        assert(on->leavers <= on->end && on->end <= c->leaver.n);
        for (uint32_t i = on->leavers; i < on->end; i++) {
            node_id w = c->leaver.at[i].node;
            if (w == s->node) continue;
            /* (one literal for both contents that the initial state may have had) */
            if (twin && c->leaver.at[i].stand == LEFT_AT_FIRST) continue;
            uint32_t before = new_lit(z);
            vec_push(z->m, &x->pred_lit, before);
            vec_push(z->m, &x->pred_leaver, i);
            if (z->j) justify_is_right(z->j, lit_var(before), stand, i);
            if (w != RF_INIT)
                order_edge(z->o, before, commit_of(z->p, w), version_target(z->p, s->node));
            guard_tick(z->m->guard);
        }
        content = on->twin;
    }
    x->pred_end[stand] = (uint32_t)x->pred_lit.n;
}

/* The literal that the candidate is the source; a reader of its own appends saw what is right
   before its own version. */
static uint32_t pred_of(const chain_search *x, uint32_t stand, uint32_t leaver)
{
    uint32_t i = x->pred_first[stand];
    while (x->pred_leaver.at[i] != leaver) i++;
    assert(i < x->pred_end[stand]);
    return x->pred_lit.at[i];
}

static void make_sources(lazy *z, const chain_search *x)
{
    asg *g = z->g;
    const list_chains *c = chains_of(z);
    for (uint32_t o = c->first_open; o < g->open.n; o++) {
        uint32_t ob = g->open.at[o], stand = c->read_stand.at[o - c->first_open];
        for (uint32_t i = g->cand_first.at[o]; i < g->cand_first.at[o + 1]; i++) {
            /* In a proof these are two literals, one of which implies the other. */
            uint32_t lit = stand == NO_ID || z->j
                               ? new_lit(z)
                               : pred_of(x, stand, c->cand_leaver.at[i - c->first_cand]);
            node_id w = asg_cand(g, o, i);
            z->cand_var[i] = lit_var(lit);
            if (z->j) justify_is_read(z->j, z->cand_var[i], ob, w < RF_LAST ? w : NO_ID);
            if (w < RF_LAST)
                order_edge(z->o, lit, commit_of(z->p, w), begin_of(z->p, g->ob_node[ob]));
        }
    }
}

/* --- clauses ---------------------------------------------------------------------------------- */

/* Why the next clause holds: rules of chains (opt/proof_step.h).  at: a node, an
   obligation, or of CHAIN_OWN a read. */
static void chain_why(lazy *z, enum chain_rule rule, uint32_t at, uint32_t content, node_id w,
                      node_id u)
{
    if (z->j) justify_chain(z->j, rule, at, content, w < RF_LAST ? w : NO_ID, u);
}

/* At most one of the literals is true: a clause for each pair.  The caller's `why` says what the
   two are, for the proof. */
static void write_pairs(lazy *z, const uint32_t *lits, const uint32_t *contents, size_t n,
                        node_id who)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            chain_why(z, CHAIN_ONE, who, contents[i], NO_ID, contents[k]);
            lazy_clause_start(z);
            lazy_clause_lit(z, lit_not(lits[i]));
            lazy_clause_lit(z, lit_not(lits[k]));
            lazy_clause_end(z);
            guard_tick(z->m->guard);
        }
}

/* The version right before the stand left its content. */
static void write_left(lazy *z, const chain_search *x, uint32_t stand, uint32_t pred)
{
    const list_chains *c = chains_of(z);
    const list_stand *s = &c->stand.at[stand];
    uint32_t leaver = x->pred_leaver.at[pred], left = x->leaver_lit[leaver];
    uint32_t twin = c->content.at[s->before].twin;
    chain_why(z, CHAIN_IS, s->node, s->before, c->leaver.at[leaver].node, NO_ID);
    write_implied(z, x->pred_lit.at[pred], x->stand_lit[stand]);
    if (left == LIT_NONE) return;
    chain_why(z, CHAIN_LEFT, s->node, s->before, c->leaver.at[leaver].node, NO_ID);
    lazy_clause_start(z);
    lazy_clause_lit(z, lit_not(x->pred_lit.at[pred]));
    lazy_clause_lit(z, left);
    if (c->leaver.at[leaver].stand == LEFT_AT_FIRST && twin != NO_ID)
        lazy_clause_lit(z, x->leaver_lit[c->content.at[twin].leavers]);
    lazy_clause_end(z);
}

/* One stand: some version that left its content is right before it. */
static void write_stand(lazy *z, const chain_search *x, uint32_t stand)
{
    const list_stand *s = &chains_of(z)->stand.at[stand];
    uint32_t lit = x->stand_lit[stand], taken = taken_lit(z, s->node);
    uint32_t first = x->pred_first[stand], end = x->pred_end[stand];
    if (taken != LIT_NONE) {
        chain_why(z, CHAIN_IN, s->node, s->before, NO_ID, NO_ID);
        write_implied(z, lit, taken);
    }
    chain_why(z, CHAIN_ON, s->node, s->before, NO_ID, NO_ID);
    lazy_clause_start(z);
    lazy_clause_lit(z, lit_not(lit));
    for (uint32_t i = first; i < end; i++) lazy_clause_lit(z, x->pred_lit.at[i]);
    lazy_clause_end(z);
    for (uint32_t i = first; i < end; i++) {
        write_left(z, x, stand, i);
        guard_tick(z->m->guard);
    }
    if (first < end && !z->j) slots_at_most_one(z, x->pred_lit.at + first, end - first);
    if (!s->pinned) return;
    chain_why(z, CHAIN_OWN, s->pinned_by, s->before, NO_ID, s->node);
    lazy_clause_start(z);
    lazy_clause_unless(z, s->node);
    lazy_clause_lit(z, lit);
    lazy_clause_end(z);
}

static void write_writers(lazy *z, const chain_search *x, const chain_key *y)
{
    const list_chains *c = chains_of(z);
    VEC(uint32_t) one = {0}, on = {0};
    for (uint32_t i = y->writers; i < y->writer_end; i++) {
        one.n = on.n = 0;
        for (uint32_t s = c->writer.at[i].first; s != NO_ID; s = c->stand.at[s].next) {
            write_stand(z, x, s);
            vec_push(z->m, &one, x->stand_lit[s]);
            vec_push(z->m, &on, c->stand.at[s].before);
        }
        if (!z->j)
            slots_at_most_one(z, one.at, one.n);
        else if (one.n <= MOST_PAIRED)
            write_pairs(z, one.at, on.at, one.n, c->writer.at[i].node);
        lazy_add_core(z, c->writer.at[i].node);
    }
    vec_free(z->m, &one);
    vec_free(z->m, &on);
}

/* At most one content was there at first, and what another order has settled. */
static void write_initial_content(lazy *z, const chain_search *x, const chain_key *y)
{
    const list_chains *c = chains_of(z);
    const value_id *settled = z->p->initial;
    VEC(uint32_t) one = {0}, is = {0};
    for (uint32_t i = y->contents; y->open && i < y->content_end; i++) {
        uint32_t lit = x->leaver_lit[c->content.at[i].leavers];
        assert(c->leaver.at[c->content.at[i].leavers].stand == LEFT_AT_FIRST);
        vec_push(z->m, &one, lit);
        vec_push(z->m, &is, i);
        if (!settled || settled[y->key] == VALUE_UNKNOWN || settled[y->key] == i) continue;
        lazy_clause_start(z);
        lazy_clause_lit(z, lit_not(lit));
        lazy_clause_end(z);
    }
    if (z->j)
        write_pairs(z, one.at, is.at, one.n, NO_ID);
    else
        slots_at_most_one(z, one.at, one.n);
    vec_free(z->m, &one);
    vec_free(z->m, &is);
}

static void write_chain_reads(lazy *z, const chain_search *x)
{
    asg *g = z->g;
    const list_chains *c = chains_of(z);
    for (uint32_t o = c->first_open; o < g->open.n; o++) {
        uint32_t ob = g->open.at[o], first = g->cand_first.at[o], end = g->cand_first.at[o + 1];
        uint32_t stand = c->read_stand.at[o - c->first_open];
        uint32_t saw = c->read_content.at[o - c->first_open];
        if (z->j) justify_reason(z->j, BECAUSE_FROM, ob, NO_ID, NO_ID);
        lazy_clause_start(z);
        lazy_clause_unless(z, g->ob_node[ob]);
        for (uint32_t i = first; i < end; i++) lazy_clause_lit(z, lazy_cand_lit(z, i));
        lazy_clause_end(z);
        for (uint32_t i = first; i < end; i++) {
            uint32_t leaver = c->cand_leaver.at[i - c->first_cand], left = x->leaver_lit[leaver];
            if (left != LIT_NONE) {
                chain_why(z, CHAIN_READ, ob, saw, asg_cand(g, o, i), NO_ID);
                write_implied(z, lazy_cand_lit(z, i), left);
            }
            if (stand == NO_ID || !z->j) continue;
            chain_why(z, CHAIN_SOURCE, ob, c->stand.at[stand].before, asg_cand(g, o, i), NO_ID);
            write_implied(z, lazy_cand_lit(z, i), pred_of(x, stand, leaver));
        }
        z->chosen_clause[o] = 1;
        lazy_add_core(z, g->ob_node[ob]);
    }
}

/* The stands of v on the key. */
static uint32_t stands_of(const list_chains *c, const chain_key *y, node_id v)
{
    uint32_t lo = y->writers, hi = y->writer_end;
    assert(lo <= hi && hi <= c->writer.n); /* they stand in the order of nodes */
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->writer.at[mid].node < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < y->writer_end && c->writer.at[lo].node == v ? c->writer.at[lo].first : NO_ID;
}

/* A transaction that read the key and then wrote it, at a level where nobody may write in between,
   stands on what it read: on nothing else.  Without this the search would find out by trying all
   orders of those that read the same. */
static void write_read_stands(lazy *z, const chain_search *x)
{
    const asg *g = z->g;
    const list_chains *c = chains_of(z);
    size_t k = 0;
    if (z->p->si && !z->p->tight) return;
    for (uint32_t o = c->first_open; o < g->open.n; o++) {
        uint32_t ob = g->open.at[o], saw = c->read_content.at[o - c->first_open];
        assert(saw < c->content.n);
        while (c->keys.at[k].key != g->ob_key[ob]) k++; /* reads stand by key, as the keys do */
        if (!strict_read(z->p, ob) || is_lax_key(z->p, g->ob_key[ob])) continue;
        uint32_t s = stands_of(c, &c->keys.at[k], g->ob_node[ob]);
        for (; s != NO_ID; s = c->stand.at[s].next) {
            if (c->stand.at[s].before == content_as_list(c, saw)) continue;
            chain_why(z, CHAIN_SAW, ob, c->stand.at[s].before, NO_ID, NO_ID);
            lazy_clause_start(z);
            lazy_clause_lit(z, lit_not(x->stand_lit[s]));
            lazy_clause_end(z);
        }
    }
}

chain_search *chains_write(lazy *z)
{
    const list_chains *c = chains_of(z);
    chain_search *x = mem_array0(z->m, chain_search, 1);
    assert(c->first_open + c->read_content.n == z->g->open.n);
    assert(c->read_stand.n == c->read_content.n);
    x->stand_lit = mem_array(z->m, uint32_t, c->stand.n + 1);
    x->leaver_lit = mem_array(z->m, uint32_t, c->leaver.n + 1);
    x->pred_first = mem_array(z->m, uint32_t, c->stand.n + 1);
    x->pred_end = mem_array(z->m, uint32_t, c->stand.n + 1);
    for (uint32_t i = 0; i < c->stand.n; i++) {
        x->stand_lit[i] = new_lit(z);
        if (z->j) justify_is_stand(z->j, lit_var(x->stand_lit[i]), i);
    }
    for (size_t i = 0; i < c->leaver.n; i++) x->leaver_lit[i] = make_leaver(z, x, &c->leaver.at[i]);
    if (z->j) tell_initial(z, x);
    for (uint32_t i = 0; i < c->stand.n; i++) make_preds(z, x, i);
    make_sources(z, x);
    for (size_t k = 0; k < c->keys.n; k++) {
        write_writers(z, x, &c->keys.at[k]);
        write_initial_content(z, x, &c->keys.at[k]);
    }
    write_chain_reads(z, x);
    write_read_stands(z, x);
    for (size_t i = 0; i < c->barred.n; i++) {
        if (z->j) justify_reason(z->j, BECAUSE_FAULT, NO_ID, NO_ID, c->barred.at[i]);
        lazy_clause_start(z);
        lazy_clause_unless(z, c->barred.at[i]);
        lazy_clause_end(z);
    }
    return x;
}

/* --- the search ------------------------------------------------------------------------------- */

/* The version that a leaver is; NONE: the initial one. */
static uint32_t version_of(const lazy *z, const list_leaver *l, key_id k)
{
    return l->node == RF_INIT ? NONE : asg_install(z->g, l->node, k);
}

/* Of those that may be right before the stand: the one that stands there already, else the last one
   before it, else the first one after it. */
static uint32_t likeliest_before(lazy *z, const chain_search *x, uint32_t stand, key_id k,
                                 uint32_t there)
{
    const list_chains *c = chains_of(z);
    uint32_t at = z->pos[commit_of(z->p, c->stand.at[stand].node)], best = LIT_NONE, best_at = 0;
    bool best_early = false;
    for (uint32_t i = x->pred_first[stand]; i < x->pred_end[stand]; i++) {
        if (solver_value(z->s, x->pred_lit.at[i])) continue;
        uint32_t w = version_of(z, &c->leaver.at[x->pred_leaver.at[i]], k);
        if (w == there) return x->pred_lit.at[i];
        uint32_t w_at = w == NONE ? 0 : commit_pos(z, w);
        bool early = w == NONE || w_at < at;
        bool better = best == LIT_NONE ||
                      (early ? !best_early || w_at > best_at : !best_early && w_at < best_at);
        if (!better) continue;
        best = x->pred_lit.at[i];
        best_at = w_at;
        best_early = early;
    }
    return best;
}

/* The chosen version w (NONE: the initial one) is not right before v's: u is there. */
static uint32_t move_between(lazy *z, chain_search *x, uint32_t pred, uint32_t w, uint32_t u,
                             node_id v, uint32_t on)
{
    const asg *g = z->g;
    node_id un = g->inst_node[u];
    uint32_t earlier = LIT_NONE, way = 0, commit = commit_of(z->p, un);
    uint32_t later = lazy_before(z, commit_of(z->p, v), version_target(z->p, un));
    assert(u != w && un != v && solver_value(z->s, x->pred_lit.at[pred]) > 0);
    if (w != NONE) {
        earlier = lazy_before(z, commit, version_target(z->p, g->inst_node[w]));
        way = z->pos[commit] - z->pos[version_target(z->p, g->inst_node[w])];
    }
    if (key_set_add(z->m, &x->between, map_pair(pred, u))) {
        chain_why(z, CHAIN_BETWEEN, v, on, w == NONE ? NO_ID : g->inst_node[w], un);
        lazy_clause_start(z);
        lazy_clause_lit(z, lit_not(x->pred_lit.at[pred]));
        lazy_clause_unless(z, un);
        if (earlier != LIT_NONE) lazy_clause_lit(z, earlier);
        lazy_clause_lit(z, later);
        lazy_clause_end(z);
        lazy_add_core(z, un);
        return THEORY_ANY;
    }
    if (earlier == LIT_NONE || solver_value(z->s, earlier)) return later;
    if (solver_value(z->s, later)) return earlier;
    return way <= z->pos[commit_of(z->p, v)] - z->pos[version_target(z->p, un)] ? earlier : later;
}

/* The initial state is right before the stand, and was a list of one element or that element as a
   scalar.  Which of them must not stay open: InnoDB's levels ask it of two orders, and both must
   begin with the same.  A literal to choose by, or LIT_NONE if that is settled. */
static uint32_t choose_twin(const lazy *z, const chain_search *x, uint32_t stand, uint32_t leaver)
{
    const list_chains *c = chains_of(z);
    uint32_t twin = c->content.at[c->stand.at[stand].before].twin;
    if (c->leaver.at[leaver].stand != LEFT_AT_FIRST || twin == NO_ID) return LIT_NONE;
    uint32_t list = x->leaver_lit[leaver], scalar = x->leaver_lit[c->content.at[twin].leavers];
    assert(c->leaver.at[c->content.at[twin].leavers].stand == LEFT_AT_FIRST);
    bool open = !solver_value(z->s, list) && solver_value(z->s, scalar) <= 0;
    return open ? list : LIT_NONE;
}

/* Is the stand, which is true, on what the version before it left?  Else *answer mends it. */
static bool stand_kept(lazy *z, chain_search *x, uint32_t stand, key_id k, uint32_t *answer)
{
    const list_chains *c = chains_of(z);
    node_id v = c->stand.at[stand].node;
    uint32_t there = lazy_version_before(z, asg_install(z->g, v, k)), i = x->pred_first[stand];
    assert(z->present[v]);
    while (i < x->pred_end[stand] && solver_value(z->s, x->pred_lit.at[i]) <= 0) i++;
    if (i == x->pred_end[stand]) {
        *answer = likeliest_before(z, x, stand, k, there);
        assert(*answer != LIT_NONE && "a stand without a version before it breaks a clause");
        return false;
    }
    uint32_t w = version_of(z, &c->leaver.at[x->pred_leaver.at[i]], k);
    if (w == there) {
        *answer = choose_twin(z, x, stand, x->pred_leaver.at[i]);
        return *answer == LIT_NONE;
    }
    assert(there != NONE && "the chosen version stands before it");
    *answer = move_between(z, x, i, w, there, v, c->stand.at[stand].before);
    return false;
}

bool chains_broken(lazy *z, chain_search *x, uint32_t *answer)
{
    const list_chains *c = chains_of(z);
    for (size_t left = c->keys.n; left; left--, x->at++) {
        if (x->at >= c->keys.n) x->at = 0;
        const chain_key *y = &c->keys.at[x->at];
        for (uint32_t i = y->writers; i < y->writer_end; i++) {
            guard_tick(z->m->guard);
            if (!z->present[c->writer.at[i].node]) continue;
            for (uint32_t s = c->writer.at[i].first; s != NO_ID; s = c->stand.at[s].next)
                if (solver_value(z->s, x->stand_lit[s]) > 0 && !stand_kept(z, x, s, y->key, answer))
                    return true;
        }
    }
    return false;
}

void chains_initial_chosen(const lazy *z, const chain_search *x, value_id *value, uint32_t *lits,
                           size_t *n)
{
    const list_chains *c = chains_of(z);
    for (size_t k = 0; k < c->keys.n; k++) {
        const chain_key *y = &c->keys.at[k];
        for (uint32_t i = y->contents; y->open && i < y->content_end; i++) {
            uint32_t lit = x->leaver_lit[c->content.at[i].leavers];
            if (solver_value(z->s, lit) <= 0) continue;
            value[y->key] = i;
            lits[(*n)++] = lit;
        }
    }
}
