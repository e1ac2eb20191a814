/*
 * refute.c - the search for an argument (argument.h).
 *
 * Depth first over choices.  At each point the links that follow from facts and assumptions are
 * written out; a forbidden cycle among them ends the branch.  Else every open choice is tried for
 * one step: alternatives that end at once are ruled out, and where one is left it is taken.  Only
 * when that leads nowhere is a choice split, with all branches searched in turn; the number of
 * splits on a path is raised from none, and of the choices to split the one with the smallest
 * tree wins.
 *
 * Each branch says which assumptions it used; a split whose branch did without it is dropped.  So
 * is, at the end, each transaction without which there is still an argument.
 */
#include <assert.h>

#include "explain/cycle_shape.h"
#include "explain/mixture.h"

#define OPEN 0xfeu
#define INITIAL 0xffu
#define ASSUMPTIONS 255u /* on one path */
#define MOST_SPLITS 4u
#define LOOKS_AT_ONCE 60000u /* at a set of links, in one search */

typedef struct used {
    uint64_t w[4];
} used;

typedef struct pair { /* two writers of a key */
    uint8_t a, b;
    key_id key;
} pair;

/* An order of a pair that is known: 0 open, 1 a first, 2 b first. */
typedef struct known {
    uint8_t first, why;
    uint32_t read;
    used by;
} known;

typedef struct state {
    uint8_t *rf;    /* per read: an actor, INITIAL or OPEN; of those that are a choice */
    uint8_t *order; /* per pair: as known.first, by assumption */
    uint8_t *rf_by; /* the assumption */
    uint8_t *order_by;
} state;

typedef struct search {
    const scene *s;
    const arg_ask *ask;
    const forbids *shape;
    unsigned times;
    mem *m;
    argument *out;
    actors active;
    VEC(pair) pairs;
    uint32_t looks, most_looks;
    uint32_t splits, most_splits; /* that were needed; that may be tried */

    /* of the last look */
    actors in;
    used in_by[SCENE_MOST];
    VEC(arg_outcome) entered; /* of unknown outcome, as they came to take part */
    known *known;
    priced_links links;
    cycle_of_links cycle;
} search;

static void join(used *to, const used *from)
{
    for (int i = 0; i < 4; i++) to->w[i] |= from->w[i];
}

static void assume(used *u, uint32_t id)
{
    u->w[id / 64] |= (uint64_t)1 << id % 64;
}

static bool uses(const used *u, uint32_t id)
{
    return u->w[id / 64] >> id % 64 & 1;
}

static bool takes_part(const search *x, uint32_t a)
{
    return x->in >> a & 1;
}

/* Reads of read-uncommitted say nothing of whom they read from. */
static bool ignored(const search *x, const scene_read *r)
{
    return mixture_ignores(x->s, x->ask->level, r->actor);
}

/* --- reads ------------------------------------------------------------------------------------ */

uint32_t argument_sources(const scene_read *r, uint32_t *out)
{
    uint32_t n = 0;
    if (r->initial) out[n++] = NO_ID;
    for (uint32_t a = 0; a < SCENE_MOST; a++)
        if (r->from & actor_bit(a)) out[n++] = a;
    return n;
}

/* Does it say whom it may have read from, all of them active? */
static bool tells(const search *x, const scene_read *r)
{
    return r->usable && r->whole && !r->fault && !(r->from & ~x->active) &&
           x->active & actor_bit(r->actor);
}

static bool one_source(const scene_read *r)
{
    return r->initial ? !r->from : !(r->from & (r->from - 1));
}

/* What read i saw: an actor, INITIAL or OPEN. */
static uint8_t source_of(const search *x, const state *st, size_t i)
{
    const scene_read *r = &x->s->reads.at[i];
    if (!one_source(r)) return st->rf[i];
    if (r->initial) return INITIAL;
    uint8_t a = 0;
    while (!(r->from >> a & 1)) a++;
    return a;
}

/* --- who takes part --------------------------------------------------------------------------- */

static bool enter(search *x, uint32_t a, uint32_t read, const used *by)
{
    arg_outcome o = {a, read};
    if (takes_part(x, a) || !(x->active & actor_bit(a))) return false;
    x->in |= actor_bit(a);
    x->in_by[a] = *by;
    vec_push(x->m, &x->entered, o);
    return true;
}

/* The committed, and those of unknown outcome that one of them read from. */
static void find_in(search *x, const state *st)
{
    const scene *s = x->s;
    memset(x->in_by, 0, sizeof x->in_by);
    x->in = x->active & ~s->maybe;
    x->entered.n = 0;
    for (bool more = s->maybe != 0; more;) {
        more = false;
        for (uint32_t i = 0; i < s->reads.n; i++) {
            const scene_read *r = &s->reads.at[i];
            if (!takes_part(x, r->actor) || !r->usable || ignored(x, r)) continue;
            used by = x->in_by[r->actor];
            for (uint32_t a = 0; r->list && !r->fault && a < s->n; a++)
                if (r->shown & actor_bit(a)) more = enter(x, a, i, &by) || more;
            if (!tells(x, r)) continue;
            uint8_t from = source_of(x, st, i);
            if (from >= OPEN) continue;
            if (!one_source(r)) assume(&by, st->rf_by[i]);
            more = enter(x, from, i, &by) || more;
        }
    }
}

/* --- version orders --------------------------------------------------------------------------- */

static size_t pair_of(const search *x, uint32_t a, uint32_t b, key_id k)
{
    uint32_t lo = a < b ? a : b, hi = a < b ? b : a;
    for (size_t i = 0; i < x->pairs.n; i++)
        if (x->pairs.at[i].key == k && x->pairs.at[i].a == lo && x->pairs.at[i].b == hi) return i;
    return x->pairs.n;
}

static void push(search *x, arg_link l, uint32_t cost, const used *by)
{
    priced p = {.link = l, .cost = cost};
    used all = *by;
    join(&all, &x->in_by[l.from]);
    join(&all, &x->in_by[l.to]);
    memcpy(p.uses, all.w, sizeof p.uses);
    vec_push(x->m, &x->links, p);
}

/* a's version of k before b's, as a fact: told by the history. */
static void show(search *x, uint32_t a, uint32_t b, key_id k, enum link_why why, uint32_t read)
{
    used by = {0};
    if (a == b || !takes_part(x, a) || !takes_part(x, b)) return;
    if (read != NO_ID) by = x->in_by[x->s->reads.at[read].actor];
    arg_link l = {.kind = LINK_WW,
                  .why = (uint8_t)why,
                  .from = (uint8_t)a,
                  .to = (uint8_t)b,
                  .key = k,
                  .read = read,
                  .source = NO_ID,
                  .order_read = NO_ID};
    push(x, l, 11, &by);
    size_t p = pair_of(x, a, b, k);
    if (p == x->pairs.n || x->known[p].first) return;
    x->known[p] = (known){a < b ? 1 : 2, (uint8_t)why, read, by};
}

static void list_orders(search *x, uint32_t i)
{
    const scene *s = x->s;
    const scene_read *r = &s->reads.at[i];
    bool weakest = ignored(x, r);
    if (!r->usable || !r->list || !takes_part(x, r->actor)) return;
    if (weakest ? !r->plainly_shown || s->maybe & actor_bit(r->actor) : r->fault == SCENE_NOT_OWN)
        return;
    if (!weakest && r->fault == SCENE_NO_SOURCE) return;
    const uint8_t *chain = r->n ? s->chain.at + r->first : NULL;
    for (uint32_t a = 0; a < r->n; a++)
        for (uint32_t b = a + 1; b < r->n; b++) show(x, chain[a], chain[b], r->key, SHOWN_LIST, i);
    /* The reader comes last: at the weakest level also if it does not see what it appended. */
    if (weakest ? scene_wrote_before(s, r->actor, r->op, r->key)
                : r->own && !(r->shown & actor_bit(r->actor)))
        for (uint32_t a = 0; a < r->n; a++) show(x, chain[a], r->actor, r->key, SHOWN_LIST, i);
    if (weakest || r->fault) return;
    /* Who is not shown stands behind all that are, and if the reader's own appends are, behind
       these. */
    const scene_key *k = scene_key_of(s, r->key);
    bool told = r->initial || (r->from && r->from & x->active);
    for (uint32_t u = 0; u < s->n && k; u++) {
        if (!(k->writers & actor_bit(u)) || r->shown & actor_bit(u) || u == r->actor) continue;
        if (!takes_part(x, u)) continue;
        if (told && r->n) show(x, chain[r->n - 1], u, r->key, SHOWN_LACKING, i);
        if (r->own) show(x, r->actor, u, r->key, SHOWN_LACKING, i);
        arg_link l = {.kind = LINK_RW,
                      .why = SHOWN_LACKING,
                      .from = (uint8_t)r->actor,
                      .to = (uint8_t)u,
                      .key = r->key,
                      .read = i,
                      .source = NO_ID,
                      .order_read = NO_ID,
                      .predicate = r->predicate};
        used none = {0};
        push(x, l, 10, &none);
    }
    /* The reader's own version, if it has not appended yet. */
    if (told && r->n && !r->own && k && k->writers & actor_bit(r->actor))
        show(x, chain[r->n - 1], r->actor, r->key, SHOWN_LACKING, i);
}

static void find_orders(search *x, const state *st)
{
    const scene *s = x->s;
    memset(x->known, 0, (x->pairs.n + 1) * sizeof *x->known);
    for (size_t i = 0; i < s->writes.n; i++)
        for (size_t j = 0; j < s->writes.n; j++) {
            const scene_write *a = &s->writes.at[i], *b = &s->writes.at[j];
            if (a->key == b->key && a->placed && b->placed && a->place < b->place)
                show(x, a->actor, b->actor, a->key, SHOWN_HINT, NO_ID);
        }
    for (uint32_t i = 0; i < s->reads.n; i++) list_orders(x, i);
    for (size_t p = 0; p < x->pairs.n; p++) {
        const pair *q = &x->pairs.at[p];
        if (x->known[p].first || !st->order[p]) continue;
        if (!takes_part(x, q->a) || !takes_part(x, q->b)) continue;
        known k = {st->order[p], SHOWN_CHOICE, NO_ID, {{0}}};
        assume(&k.by, st->order_by[p]);
        x->known[p] = k;
        uint8_t first = k.first == 1 ? q->a : q->b, second = k.first == 1 ? q->b : q->a;
        arg_link l = {.kind = LINK_WW,
                      .why = SHOWN_CHOICE,
                      .from = first,
                      .to = second,
                      .key = q->key,
                      .read = NO_ID,
                      .source = NO_ID,
                      .order_read = NO_ID};
        push(x, l, 12, &k.by);
    }
}

/* Is a's version known to come before b's? */
static const known *ordered(const search *x, uint32_t a, uint32_t b, key_id k)
{
    size_t p = pair_of(x, a, b, k);
    if (p == x->pairs.n) return NULL;
    return x->known[p].first == (a < b ? 1 : 2) ? &x->known[p] : NULL;
}

/* Nobody's version of the key between a's and b's: only if everybody who writes it is here. */
static void find_next(search *x)
{
    const scene *s = x->s;
    for (size_t p = 0; p < x->pairs.n; p++) {
        const pair *q = &x->pairs.at[p];
        const scene_key *k = scene_key_of(s, q->key);
        uint32_t n = 0;
        for (uint32_t a = 0; a < s->n; a++) n += k->writers & x->in & actor_bit(a) ? 1u : 0u;
        if (!x->known[p].first || n != k->all) continue;
        uint32_t a = x->known[p].first == 1 ? q->a : q->b, b = x->known[p].first == 1 ? q->b : q->a;
        used by = x->known[p].by;
        bool next = true;
        for (uint32_t u = 0; u < s->n && next; u++) {
            if (u == a || u == b || !(k->writers & actor_bit(u))) continue;
            const known *before = ordered(x, u, a, q->key), *behind = ordered(x, b, u, q->key);
            next = before || behind;
            if (next) join(&by, before ? &before->by : &behind->by);
        }
        if (!next) continue;
        arg_link l = {.kind = LINK_WW,
                      .why = SHOWN_NEXT,
                      .from = (uint8_t)a,
                      .to = (uint8_t)b,
                      .key = q->key,
                      .read = NO_ID,
                      .source = NO_ID,
                      .order_read = NO_ID};
        push(x, l, 15, &by);
    }
}

/* --- links ------------------------------------------------------------------------------------ */

static void read_links(search *x, const state *st, uint32_t i)
{
    const scene *s = x->s;
    const scene_read *r = &s->reads.at[i];
    if (!takes_part(x, r->actor) || !tells(x, r) || ignored(x, r)) return;
    uint8_t from = source_of(x, st, i);
    if (from == OPEN) return;
    used by = {0};
    bool chosen = !one_source(r);
    if (chosen) assume(&by, st->rf_by[i]);
    arg_link l = {.kind = LINK_WR,
                  .why = chosen ? SHOWN_CHOICE : SHOWN_READ,
                  .from = from,
                  .to = (uint8_t)r->actor,
                  .key = r->key,
                  .read = i,
                  .source = NO_ID,
                  .order_read = NO_ID};
    if (from != INITIAL) push(x, l, chosen ? 11 : 10, &by);
    if (r->list) return; /* list_orders made its anti-dependencies */
    const scene_key *k = scene_key_of(s, r->key);
    for (uint32_t u = 0; u < s->n && k; u++) {
        if (!(k->writers & actor_bit(u)) || u == r->actor || u == from || !takes_part(x, u))
            continue;
        arg_link rw = {.kind = LINK_RW,
                       .why = SHOWN_INITIAL,
                       .from = (uint8_t)r->actor,
                       .to = (uint8_t)u,
                       .key = r->key,
                       .read = i,
                       .predicate = r->predicate,
                       .source = NO_ID,
                       .order_read = NO_ID};
        used all = by;
        uint32_t cost = 10;
        if (from != INITIAL) {
            const known *o = ordered(x, from, u, r->key);
            if (!o) continue;
            join(&all, &o->by);
            rw.why = SHOWN_ORDER;
            rw.source = from;
            rw.order_why = o->why;
            rw.order_read = o->read;
            cost = o->why == SHOWN_CHOICE ? 12 : 11;
        }
        push(x, rw, cost + chosen, &all);
    }
}

/* Is everybody of a lower level who writes the key before the version that the reader saw, or after
   that of l->to?  *by: what shows it. */
static bool none_between(const search *x, const arg_link *l, used *by)
{
    const scene *s = x->s;
    const scene_key *k = scene_key_of(s, l->key);
    actors shown = l->why == SHOWN_LACKING ? s->reads.at[l->read].shown : 0;
    uint32_t n = 0;
    for (uint32_t y = 0; y < s->n; y++) {
        if (s->row[y] == ROW_SER || !(k->writers & x->in & actor_bit(y))) continue;
        n++;
        if (shown & actor_bit(y) || (l->why == SHOWN_ORDER && y == l->source)) continue;
        const known *o = ordered(x, l->to, y, l->key);
        if (!o && l->why == SHOWN_ORDER) o = ordered(x, y, l->source, l->key);
        if (!o) return false;
        join(by, &o->by);
        join(by, &x->in_by[y]);
    }
    return n == k->lower;
}

/* MIXPG-3: the anti-dependencies that count among serializable transactions. */
static void find_alone(search *x)
{
    const scene *s = x->s;
    size_t n = x->links.n;
    for (size_t i = 0; i < n; i++) {
        priced p = x->links.at[i];
        used by;
        if (p.link.kind != LINK_RW) continue;
        if (s->row[p.link.from] != ROW_SER || s->row[p.link.to] != ROW_SER) continue;
        memcpy(by.w, p.uses, sizeof by.w);
        if (!none_between(x, &p.link, &by)) continue;
        p.link.alone = true;
        memcpy(p.uses, by.w, sizeof p.uses);
        vec_push(x->m, &x->links, p);
    }
}

/* Dearer than what was read and written: an argument that does without shows more. */
static void fixed_links(search *x)
{
    const scene *s = x->s;
    static const enum scene_when from[] = {COMMIT_RETURNED, COMMIT_RETURNED, BEGIN_RETURNED},
                                 to[] = {BEGIN_CALLED, COMMIT_CALLED, COMMIT_CALLED};
    const used none = {{0}};
    for (uint32_t a = 0; a < s->n; a++)
        for (uint32_t b = 0; b < s->n; b++) {
            if (a == b || !takes_part(x, a) || !takes_part(x, b)) continue;
            arg_link l = {.from = (uint8_t)a,
                          .to = (uint8_t)b,
                          .key = NO_ID,
                          .read = NO_ID,
                          .source = NO_ID,
                          .order_read = NO_ID};
            if (x->ask->so && scene_session(s, a, b)) {
                l.kind = LINK_SO;
                l.why = SHOWN_SESSION;
                push(x, l, 11, &none);
            }
            for (unsigned t = 0; t < 3; t++) {
                if (!(x->times >> t & 1) || !scene_before(s, a, from[t], b, to[t], x->ask->drift))
                    continue;
                l.kind = LINK_RT;
                l.why = SHOWN_TIME;
                l.times = (uint8_t)t;
                push(x, l, 12, &none);
            }
        }
}

/* --- contradictions --------------------------------------------------------------------------- */

static uint32_t new_node(search *x, arg_node n)
{
    vec_push(x->m, &x->out->nodes, n);
    return (uint32_t)x->out->nodes.n - 1;
}

static uint32_t fault_leaf(search *x, used *by)
{
    const scene *s = x->s;
    for (uint32_t a = 0; a < s->n; a++)
        if (takes_part(x, a) && s->malformed[a] != NO_ID) {
            *by = x->in_by[a];
            return new_node(x, (arg_node){.kind = ARG_MALFORMED,
                                          .a = (uint8_t)a,
                                          .key = NO_ID,
                                          .read = NO_ID,
                                          .other = NO_ID});
        }
    for (uint32_t i = 0; i < s->reads.n; i++) {
        const scene_read *r = &s->reads.at[i];
        if (!r->fault || !r->usable || !takes_part(x, r->actor)) continue;
        if (ignored(x, r) && !r->initial_late && r->fault != SCENE_REPEATED &&
            !(r->fault == SCENE_NO_SOURCE && r->nobody))
            continue;
        *by = x->in_by[r->actor];
        return new_node(x, (arg_node){.kind = ARG_FAULT,
                                      .a = (uint8_t)r->actor,
                                      .key = r->key,
                                      .read = i,
                                      .other = NO_ID});
    }
    return NO_ID;
}

/* Two values of one initial version: possible only where the header leaves it open. */
static uint32_t initials_leaf(search *x, const state *st, used *by)
{
    const scene *s = x->s;
    if (!s->h->init_unknown) return NO_ID;
    for (uint32_t i = 0; i < s->reads.n; i++)
        for (uint32_t j = i + 1; j < s->reads.n; j++) {
            const scene_read *a = &s->reads.at[i], *b = &s->reads.at[j];
            if (a->key != b->key || a->value == b->value || a->list) continue;
            if (!takes_part(x, a->actor) || !takes_part(x, b->actor)) continue;
            if (!tells(x, a) || !tells(x, b) || ignored(x, a) || ignored(x, b)) continue;
            if (source_of(x, st, i) != INITIAL || source_of(x, st, j) != INITIAL) continue;
            *by = x->in_by[a->actor];
            join(by, &x->in_by[b->actor]);
            if (!one_source(a)) assume(by, st->rf_by[i]);
            if (!one_source(b)) assume(by, st->rf_by[j]);
            return new_node(x, (arg_node){.kind = ARG_INITIALS,
                                          .a = (uint8_t)a->actor,
                                          .b = (uint8_t)b->actor,
                                          .key = a->key,
                                          .read = i,
                                          .other = j});
        }
    return NO_ID;
}

/* Where two reads of a key see one version, a transaction that saw two is contradiction enough: the
   levels of which read-atomic, repeatable-read or consistent-view is one, or follows. */
static bool one_version(const search *x, uint32_t actor, bool items)
{
    enum level_id level = x->ask->level;
    switch (level) {
    case LEVEL_MIXED:
    case LEVEL_MIXED_PG: return mixture_one_version(x->s, level, actor, items);
    case LEVEL_RR: return items;
    case LEVEL_RU:
    case LEVEL_RC:
    case LEVEL_CS:
    case LEVEL_MAV:
    case LEVEL_MV:
    case LEVEL_RYW:
    case LEVEL_MR:
    case LEVEL_MW:
    case LEVEL_WFR:
    case LEVEL_INNODB_RR:
    case LEVEL_INNODB_RR_TIGHT: return false;
    default: return shape_of(level) && shape_of(level)->cycle & SHAPE_WR;
    }
}

static uint32_t twice_leaf(search *x, used *by)
{
    const scene *s = x->s;
    for (uint32_t j = 1; j < s->reads.n; j++)
        for (uint32_t i = j; i-- > 0 && s->reads.at[i].actor == s->reads.at[j].actor;) {
            const scene_read *a = &s->reads.at[i], *b = &s->reads.at[j];
            if (a->key != b->key || a->value == b->value || a->op == b->op) continue;
            if (!takes_part(x, a->actor)) continue;
            if (!one_version(x, a->actor, !a->predicate && !b->predicate)) continue;
            if (scene_wrote_before(s, b->actor, a->op > b->op ? a->op : b->op, b->key)) continue;
            *by = x->in_by[a->actor];
            return new_node(x, (arg_node){.kind = ARG_TWICE,
                                          .a = (uint8_t)a->actor,
                                          .key = a->key,
                                          .read = i,
                                          .other = j});
        }
    return NO_ID;
}

/* The contradiction that these assumptions have by themselves, or NO_ID. */
static uint32_t look(search *x, const state *st, used *by, uint32_t *cost)
{
    memset(by, 0, sizeof *by);
    guard_tick(x->m->guard);
    x->looks++;
    find_in(x, st);
    x->links.n = 0;
    *cost = 5;
    uint32_t leaf = fault_leaf(x, by);
    if (leaf == NO_ID) leaf = twice_leaf(x, by);
    if (leaf == NO_ID) leaf = initials_leaf(x, st, by);
    if (leaf != NO_ID) return leaf;
    fixed_links(x);
    find_orders(x, st);
    for (uint32_t i = 0; i < x->s->reads.n; i++) read_links(x, st, i);
    if (x->shape->back & SHAPE_NEXT) find_next(x);
    if (x->ask->level == LEVEL_MIXED_PG) find_alone(x);
    if (!shape_find(x->shape, x->s, &x->links, x->m, &x->cycle, cost)) return NO_ID;
    arg_node n = {.kind = ARG_CYCLE,
                  .key = NO_ID,
                  .read = NO_ID,
                  .other = NO_ID,
                  .first = (uint32_t)x->out->links.n,
                  .n = (uint32_t)x->cycle.n};
    for (size_t i = 0; i < x->cycle.n; i++) {
        const priced *p = &x->links.at[x->cycle.at[i]];
        used all;
        memcpy(all.w, p->uses, sizeof all.w);
        join(by, &all);
        vec_push(x->m, &x->out->links, p->link);
    }
    return new_node(x, n);
}

/* --- choices ---------------------------------------------------------------------------------- */

static size_t state_bytes(const search *x)
{
    return 2 * (x->s->reads.n + x->pairs.n) + 4;
}

static void lay_out(const search *x, state *st, uint8_t *at)
{
    size_t reads = x->s->reads.n, pairs = x->pairs.n;
    st->rf = at;
    st->rf_by = at + reads;
    st->order = at + 2 * reads;
    st->order_by = at + 2 * reads + pairs;
}

static state copy(const search *x, const state *from)
{
    state to;
    lay_out(x, &to, mem_get(x->m, state_bytes(x)));
    memcpy(to.rf, from->rf, state_bytes(x));
    return to;
}

/* A choice: a read of the scene, or behind those a pair of writers. */
typedef struct choice {
    bool source;
    uint32_t at;
    uint32_t n; /* alternatives */
    uint32_t from[SCENE_MOST + 1];
} choice;

/* Valid after a look: x->in and x->known are of the state. */
static bool open_choice(const search *x, const state *st, uint32_t i, choice *c)
{
    size_t reads = x->s->reads.n;
    memset(c, 0, sizeof *c);
    if (i < reads) {
        const scene_read *r = &x->s->reads.at[i];
        bool open =
            !ignored(x, r) && takes_part(x, r->actor) && tells(x, r) && source_of(x, st, i) == OPEN;
        c->source = true;
        c->at = i;
        if (open) c->n = argument_sources(r, c->from);
        return open;
    }
    c->at = i - (uint32_t)reads;
    c->n = 2;
    const pair *q = &x->pairs.at[c->at];
    return !x->known[c->at].first && takes_part(x, q->a) && takes_part(x, q->b);
}

static void take(const choice *c, state *st, uint32_t alternative, uint32_t path)
{
    if (c->source) {
        uint32_t from = c->from[alternative];
        st->rf[c->at] = from == NO_ID ? INITIAL : (uint8_t)from;
        st->rf_by[c->at] = (uint8_t)path;
    } else {
        st->order[c->at] = (uint8_t)(alternative + 1);
        st->order_by[c->at] = (uint8_t)path;
    }
}

typedef struct tree {
    uint32_t node; /* NO_ID: none */
    uint32_t cost;
    used by;
} tree;

static const tree no_tree = {.node = NO_ID};

/* The split with these branches; a branch that does without the assumption is the whole tree. */
static tree split(search *x, const choice *c, const tree *branch, uint32_t path)
{
    tree t = {.cost = 4};
    for (uint32_t i = 0; i < c->n; i++)
        if (!uses(&branch[i].by, path)) return branch[i];
    arg_node n = {.kind = c->source ? ARG_SOURCE : ARG_ORDER,
                  .key = NO_ID,
                  .read = NO_ID,
                  .other = NO_ID,
                  .first = (uint32_t)x->out->child.n,
                  .n = c->n};
    if (c->source) {
        n.read = c->at;
        n.a = (uint8_t)x->s->reads.at[c->at].actor;
        n.key = x->s->reads.at[c->at].key;
        /* (the choice is there because its reader takes part) */
        join(&t.by, &x->in_by[n.a]);
    } else {
        n.a = x->pairs.at[c->at].a;
        n.b = x->pairs.at[c->at].b;
        n.key = x->pairs.at[c->at].key;
        join(&t.by, &x->in_by[n.a]);
        join(&t.by, &x->in_by[n.b]);
    }
    for (uint32_t i = 0; i < c->n; i++) {
        vec_push(x->m, &x->out->child, branch[i].node);
        t.cost += branch[i].cost;
        join(&t.by, &branch[i].by);
    }
    t.by.w[path / 64] &= ~((uint64_t)1 << path % 64);
    t.node = new_node(x, n);
    return t;
}

static tree refute(search *x, const state *st, uint32_t splits, uint32_t path);

/* An inference: of the alternatives one is left, `left` (NO_ID: none). */
typedef struct inference {
    choice c;
    uint32_t left, path;
    tree *branch;
} inference;

/* Every open choice for one step.  Returns true with the best tree if one has no way out. */
static bool infer(search *x, const state *st, uint32_t path, inference *out, size_t *n, tree *best)
{
    size_t choices = x->s->reads.n + x->pairs.n;
    state probe = copy(x, st);
    actors in = x->in;
    used in_by[SCENE_MOST];
    known *facts = mem_array(x->m, known, x->pairs.n + 1);
    memcpy(in_by, x->in_by, sizeof in_by);
    memcpy(facts, x->known, (x->pairs.n + 1) * sizeof *facts);
    *n = 0;
    *best = no_tree;
    for (uint32_t i = 0; i < choices && path + *n < ASSUMPTIONS; i++) {
        inference f = {.left = NO_ID, .path = path + (uint32_t)*n};
        x->in = in;
        memcpy(x->in_by, in_by, sizeof in_by);
        memcpy(x->known, facts, (x->pairs.n + 1) * sizeof *facts);
        if (!open_choice(x, st, i, &f.c)) continue;
        f.branch = mem_array(x->m, tree, f.c.n + 1);
        uint32_t open = 0;
        for (uint32_t j = 0; j < f.c.n && open < 2; j++) {
            memcpy(probe.rf, st->rf, state_bytes(x));
            take(&f.c, &probe, j, f.path);
            f.branch[j].node = look(x, &probe, &f.branch[j].by, &f.branch[j].cost);
            if (f.branch[j].node != NO_ID) continue;
            open++;
            f.left = j;
        }
        if (open == 0) {
            x->in = in;
            memcpy(x->in_by, in_by, sizeof in_by);
            tree t = split(x, &f.c, f.branch, f.path);
            if (best->node == NO_ID || t.cost < best->cost) *best = t;
        }
        if (open == 1)
            out[(*n)++] = f;
        else
            mem_put(x->m, f.branch);
    }
    x->in = in;
    memcpy(x->in_by, in_by, sizeof in_by);
    memcpy(x->known, facts, (x->pairs.n + 1) * sizeof *facts);
    mem_put(x->m, facts);
    mem_put(x->m, probe.rf);
    return best->node != NO_ID;
}

/* Splits on each open choice in turn; the smallest tree. */
static tree try_splits(search *x, const state *st, uint32_t splits, uint32_t path)
{
    size_t choices = x->s->reads.n + x->pairs.n;
    tree best = no_tree;
    actors in = x->in;
    used in_by[SCENE_MOST];
    known *facts = mem_array(x->m, known, x->pairs.n + 1);
    memcpy(in_by, x->in_by, sizeof in_by);
    memcpy(facts, x->known, (x->pairs.n + 1) * sizeof *facts);
    for (uint32_t i = 0; i < choices && x->looks < x->most_looks; i++) {
        choice c;
        x->in = in;
        memcpy(x->in_by, in_by, sizeof in_by);
        memcpy(x->known, facts, (x->pairs.n + 1) * sizeof *facts);
        if (!open_choice(x, st, i, &c)) continue;
        tree *branch = mem_array(x->m, tree, c.n + 1);
        bool all = true;
        for (uint32_t j = 0; j < c.n && all; j++) {
            state next = copy(x, st);
            take(&c, &next, j, path);
            branch[j] = refute(x, &next, splits - 1, path + 1);
            all = branch[j].node != NO_ID;
            mem_put(x->m, next.rf);
        }
        if (all) {
            x->in = in;
            memcpy(x->in_by, in_by, sizeof in_by);
            tree t = split(x, &c, branch, path);
            if (best.node == NO_ID || t.cost < best.cost) best = t;
        }
        mem_put(x->m, branch);
    }
    mem_put(x->m, facts);
    return best;
}

static tree refute(search *x, const state *st, uint32_t splits, uint32_t path)
{
    tree t;
    if (path >= ASSUMPTIONS || x->looks >= x->most_looks) return no_tree;
    t.node = look(x, st, &t.by, &t.cost);
    if (t.node != NO_ID) return t;
    size_t n, choices = x->s->reads.n + x->pairs.n;
    inference *found = mem_array(x->m, inference, choices + 1);
    if (!infer(x, st, path, found, &n, &t)) {
        if (n) {
            used in_by[SCENE_MOST];
            memcpy(in_by, x->in_by, sizeof in_by);
            state next = copy(x, st);
            for (size_t i = 0; i < n; i++) take(&found[i].c, &next, found[i].left, found[i].path);
            t = refute(x, &next, splits, path + (uint32_t)n);
            for (size_t i = n; i-- > 0 && t.node != NO_ID;) {
                found[i].branch[found[i].left] = t;
                memcpy(x->in_by, in_by, sizeof in_by);
                t = split(x, &found[i].c, found[i].branch, found[i].path);
            }
            mem_put(x->m, next.rf);
        } else if (splits) {
            t = try_splits(x, st, splits, path);
        } else {
            t = no_tree;
        }
    }
    for (size_t i = 0; i < n; i++) mem_put(x->m, found[i].branch);
    mem_put(x->m, found);
    return t;
}

/* --- few transactions ------------------------------------------------------------------------- */

static void find_pairs(search *x)
{
    const scene *s = x->s;
    for (size_t i = 0; i < s->keys.n; i++)
        for (uint32_t a = 0; a < s->n; a++)
            for (uint32_t b = a + 1; b < s->n; b++) {
                actors both = actor_bit(a) | actor_bit(b);
                pair p = {(uint8_t)a, (uint8_t)b, s->keys.at[i].key};
                if ((s->keys.at[i].writers & both) == both) vec_push(x->m, &x->pairs, p);
            }
}

static void add_actors(const argument *a, const scene *s, uint32_t node, actors *who)
{
    const arg_node *n = &a->nodes.at[node];
    if (n->kind != ARG_CYCLE) *who |= actor_bit(n->a);
    if (n->kind == ARG_ORDER || n->kind == ARG_INITIALS) *who |= actor_bit(n->b);
    if (n->kind == ARG_SOURCE) *who |= s->reads.at[n->read].from;
    for (uint32_t i = 0; !arg_leaf(n) && i < n->n; i++) {
        add_actors(a, s, a->child.at[n->first + i], who);
        n = &a->nodes.at[node];
    }
    for (uint32_t i = 0; n->kind == ARG_CYCLE && i < n->n; i++) {
        const arg_link *l = &a->links.at[n->first + i];
        *who |= actor_bit(l->from) | actor_bit(l->to);
        if (l->source != NO_ID) *who |= actor_bit(l->source);
        if (l->read != NO_ID) *who |= actor_bit(s->reads.at[l->read].actor);
        if (l->order_read != NO_ID) *who |= actor_bit(s->reads.at[l->order_read].actor);
        if (l->why == SHOWN_NEXT || l->alone) *who |= scene_key_of(s, l->key)->writers;
        /* an order behind a list that was read is told by its last element too */
        if (l->why == SHOWN_LACKING && l->read != NO_ID) *who |= s->reads.at[l->read].from;
    }
}

/* Those that the argument names, and whose reads show that a named one of unknown outcome
   committed: all of these, since which of them is not kept. */
static actors named(const search *x)
{
    const scene *s = x->s;
    actors who = 0, before;
    add_actors(x->out, s, x->out->root, &who);
    do {
        before = who;
        for (size_t i = 0; i < s->reads.n; i++) {
            const scene_read *r = &s->reads.at[i];
            if ((r->from | r->shown) & who & s->maybe) who |= actor_bit(r->actor) | r->from;
        }
        who &= x->active;
    } while (who != before);
    return who;
}

/* With the active ones only, and as few splits as can be. */
static bool attempt(search *x, const state *empty)
{
    for (uint32_t splits = 0; splits <= x->most_splits; splits++) {
        x->looks = 0;
        x->out->links.n = x->out->nodes.n = x->out->child.n = 0;
        tree t = refute(x, empty, splits, 0);
        if (t.node == NO_ID && x->looks < x->most_looks) continue;
        x->out->root = t.node;
        x->splits = splits;
        return t.node != NO_ID;
    }
    return false;
}

bool argument_find(argument *out, const scene *s, const arg_ask *ask, actors *who)
{
    search x = {.s = s,
                .ask = ask,
                .m = out->m,
                .out = out,
                .most_looks = LOOKS_AT_ONCE / (1 + s->n * s->n / 32),
                .most_splits = MOST_SPLITS};
    x.shape = shape_of(ask->level);
    if (!x.shape || !mixture_defined(s, ask->level)) return false;
    x.times = shape_times(ask);
    find_pairs(&x);
    x.known = mem_array(x.m, known, x.pairs.n + 1);
    state empty;
    lay_out(&x, &empty, mem_zeroed(x.m, state_bytes(&x)));
    memset(empty.rf, OPEN, s->reads.n);
    x.active = s->n == 64 ? ~(actors)0 : actor_bit(s->n) - 1;
    bool found = attempt(&x, &empty);
    if (found) {
        /* First those that the argument does not name, then one by one; an argument about fewer is
           not looked for longer than this one. */
        actors best = 0, tried = 0;
        x.most_splits = x.splits;
        x.most_looks = 4 * x.looks + 1000;
        best = named(&x);
        x.active = best;
        if (!attempt(&x, &empty)) best = x.active = s->n == 64 ? ~(actors)0 : actor_bit(s->n) - 1;
        for (uint32_t a = 0; a < s->n; a++) {
            if (!(best & actor_bit(a)) || tried & actor_bit(a)) continue;
            tried |= actor_bit(a);
            x.active = best & ~actor_bit(a);
            if (!attempt(&x, &empty)) continue;
            best = named(&x);
        }
        x.active = best;
        found = attempt(&x, &empty);
        *who = best;
        find_in(&x, &empty);
        out->committed.n = 0;
        for (size_t i = 0; i < x.entered.n; i++) vec_push(x.m, &out->committed, x.entered.at[i]);
    }
    vec_free(x.m, &x.pairs);
    vec_free(x.m, &x.links);
    vec_free(x.m, &x.cycle);
    vec_free(x.m, &x.entered);
    mem_put(x.m, x.known);
    mem_put(x.m, empty.rf);
    return found;
}
