/*
 * exhaust.c - every order of a few transactions, tried by running them.
 *
 * For histories that steps cannot speak about: lists with repeated elements, writes or deletes
 * among appends, unknown initial states.  A transaction is placed next in the order of commits if
 * session, real time and version positions allow it and its reads return what the keys hold after
 * all commits before it (serializability), or after some of them, its snapshot, since which nobody
 * has committed a key that it writes (snapshot isolation in the form of Crooks et al. 2017).  At
 * the weaker levels, and under what modules added, every order with every choice of writers is put
 * to recheck.c as a claim; an order of events then, where transactions have a begin of their own.
 */
#include <assert.h>

#include "history/additions.h"
#include "verify/certificate.h"
#include "verify/proof_check.h"

#define MOST 8u

typedef struct initial { /* of a key whose first contents are unknown */
    bool bound;
    seq value;
} initial;

typedef struct run {
    checker *c;
    bool si, rt;
    txn_id t[MOST]; /* those that may take part */
    uint32_t n;
    uint32_t r_first[MOST + 1]; /* their external reads in c->reads */
    bool never[MOST];           /* its own reads show that it did not commit */
    uint32_t before[MOST];      /* session predecessor, or MOST */

    bool in[MOST];
    uint32_t order[MOST], place[MOST]; /* place: from 1; 0: not placed */
    uint32_t placed, want;
    initial *init; /* per key */
    VEC(key_id) bound;
    VEC(value_id) text;
} run;

/* --- what the keys hold ----------------------------------------------------------------------- */

/* k after the first s commits, in r->text; *known false: behind an unknown initial list. */
static seq held(run *r, key_id k, uint32_t s, bool *known, uint32_t *writer)
{
    checker *c = r->c;
    bool scalar = false;
    *known = !c->open[k] || r->init[k].bound;
    *writer = NO_ID;
    r->text.n = 0;
    if (*known) {
        seq x = c->open[k] ? r->init[k].value : content(c->h, &c->init[k]);
        for (uint32_t i = 0; i < x.n; i++) vec_push(c->m, &r->text, x.at[i]);
        scalar = x.scalar;
    }
    for (uint32_t i = 0; i < s; i++) {
        uint32_t w, end = recheck_own(c, r->t[r->order[i]], k, NO_ID, &w);
        if (w < end && write_is_local(c, w)) continue;
        for (; w < end; w++) {
            value_id e = plain(c->h->op_value[c->w_op[w]]);
            enum op_kind kind = op_kind_of(c->h, c->w_op[w]);
            if (kind != OP_APPEND) {
                r->text.n = 0;
                *known = true;
            }
            scalar = kind == OP_WRITE;
            if (kind != OP_DELETE) vec_push(c->m, &r->text, e);
            *writer = w;
        }
    }
    return (seq){r->text.n ? r->text.at : NULL, (uint32_t)r->text.n, scalar && r->text.n};
}

static bool ends_with(seq x, seq tail)
{
    return x.n >= tail.n &&
           (!tail.n || (!x.scalar && !memcmp(x.at + x.n - tail.n, tail.at, tail.n * sizeof *x.at)));
}

/* Does t, with s commits before its snapshot, see this?  May bind an initial value. */
static bool fits(run *r, txn_id t, const seen *x, uint32_t s)
{
    checker *c = r->c;
    seq want = content(c->h, &x->value);
    uint32_t lo, hi = recheck_own(c, t, x->key, x->op, &lo), writer;
    bool own = c->is_list[x->key] && lo < hi, known;
    if (own && !recheck_strip(c, lo, hi, &want)) return false;
    seq now = held(r, x->key, s, &known, &writer);
    if (known) {
        /* (A read of own appends to a plain value has no version that explains it.) */
        if (!same(now, want)) return false;
    } else {
        if (!ends_with(want, now)) return false;
        want.n -= now.n;
        r->init[x->key] = (initial){true, want};
        vec_push(c->m, &r->bound, x->key);
    }
    hint f = recheck_hint(c, x->op, x->key);
    /* what ends with its own appends may be said to be its own */
    if (own && f.given && !f.init && f.from == c->h->txn_label[t]) f.given = false;
    return recheck_allowed(c, x->op, f, x->value == VALUE_NULL, writer);
}

static void unbind(run *r, size_t keep)
{
    while (r->bound.n > keep) r->init[r->bound.at[--r->bound.n]].bound = false;
}

static bool reads_fit(run *r, uint32_t i, uint32_t s)
{
    size_t keep = r->bound.n;
    for (uint32_t j = r->r_first[i]; j < r->r_first[i + 1]; j++)
        if (!fits(r, r->t[i], &r->c->reads.at[j], s)) {
            unbind(r, keep);
            return false;
        }
    return true;
}

/* --- who may come next ------------------------------------------------------------------------ */

static bool ended_before(const run *r, uint32_t a, uint32_t b)
{
    const history *h = r->c->h;
    txn_id s = r->t[a], t = r->t[b];
    bool calls_s = h->txn_flags[s] & TXN_HAS_TIMES, calls_t = h->txn_flags[t] & TXN_HAS_TIMES;
    if (!r->rt || txn_status_of(h, s) != TXN_COMMITTED) return false;
    if (!calls_s && !(h->txn_flags[s] & TXN_HAS_END)) return false;
    if (!calls_t && !(h->txn_flags[t] & TXN_HAS_BEGIN)) return false;
    int64_t end = calls_s ? h->txn_times[4 * (size_t)s + 3] : h->txn_end[s];
    int64_t begin = calls_t ? h->txn_times[4 * (size_t)t] : h->txn_begin[t];
    uint64_t drift = r->c->v->drift > 0 ? (uint64_t)r->c->v->drift : 0;
    return end < begin && (uint64_t)begin - (uint64_t)end >= drift;
}

static bool position(const checker *c, uint32_t w, int64_t *at)
{
    const history *h = c->h;
    const attr *end = h->attrs.at + h->attrs.n;
    if (!(h->op_kind[c->w_op[w]] & OP_ATTR)) return false;
    for (const attr *a = op_attrs(h, c->w_op[w]); a && a < end && a->op == c->w_op[w]; a++)
        if (a->kind == ATTR_VER) {
            *at = (int64_t)a->a;
            return true;
        }
    return false;
}

/* The positions of its versions are behind those of the versions that are there. */
static bool positions_fit(const run *r, uint32_t i)
{
    const checker *c = r->c;
    txn_id t = r->t[i];
    for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
        int64_t own, other;
        if (!installed(c, w) || !position(c, w, &own)) continue;
        for (uint32_t j = 0; j < r->placed; j++) {
            uint32_t v = recheck_install(c, r->t[r->order[j]], c->w_key.at[w]);
            if (v != NO_ID && position(c, v, &other) && other >= own) return false;
        }
    }
    return true;
}

static bool ready(const run *r, uint32_t i)
{
    if (r->before[i] != MOST && !r->place[r->before[i]]) return false;
    for (uint32_t j = 0; j < r->n; j++) /* itself, too: one that ended before it began never is */
        if (r->in[j] && !r->place[j] && ended_before(r, j, i)) return false;
    return positions_fit(r, i);
}

/* The first snapshot that it may have: behind its session and the writers of what it writes. */
static uint32_t earliest(const run *r, uint32_t i)
{
    const checker *c = r->c;
    uint32_t s = r->before[i] != MOST ? r->place[r->before[i]] : 0;
    for (uint32_t j = s; j < r->placed; j++) {
        bool behind = ended_before(r, r->order[j], i);
        for (uint32_t w = c->w_first[r->t[i]]; w < c->w_first[r->t[i] + 1] && !behind; w++)
            behind = recheck_install(c, r->t[r->order[j]], c->w_key.at[w]) != NO_ID;
        if (behind) s = j + 1;
    }
    return s;
}

static bool found(run *r)
{
    guard_tick(r->c->m->guard);
    if (r->placed == r->want) return true;
    for (uint32_t i = 0; i < r->n; i++) {
        if (!r->in[i] || r->place[i] || !ready(r, i)) continue;
        for (uint32_t s = r->placed + 1, lo = r->si ? earliest(r, i) : r->placed; s-- > lo;) {
            size_t keep = r->bound.n;
            if (!reads_fit(r, i, s)) continue;
            r->order[r->placed++] = i;
            r->place[i] = r->placed;
            if (found(r)) return true;
            r->place[i] = 0;
            r->placed--;
            unbind(r, keep);
        }
    }
    return false;
}

/* --- setting up ------------------------------------------------------------------------------- */

static bool collect(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    int own = recheck_internal(c, t, o, k, x);
    seen r = {k, o, x, NO_ID};
    if (own < 0) {
        c->found = true;
        return false;
    }
    if (!own) vec_push(c->m, &c->reads, r);
    return true;
}

/* Own writes are not judged at read uncommitted, and whom reads are from is no matter. */
static bool ignores_reads(const checker *c, txn_id t)
{
    return c->v->level.id == LEVEL_RU || (c->row && c->row[t] == ROW_RU);
}

static bool gather(run *r)
{
    checker *c = r->c;
    const history *h = c->h;
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) == TXN_ABORTED) continue;
        if (r->n == MOST) return false;
        r->t[r->n++] = t;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        r->r_first[i] = (uint32_t)c->reads.n;
        c->found = false;
        r->never[i] = !ignores_reads(c, r->t[i]) && !recheck_visit(c, r->t[i], collect);
        r->before[i] = MOST;
        for (uint32_t j = 0; j < i && c->v->session_order; j++)
            if (recheck_same_session(c, r->t[j], r->t[i]) &&
                txn_status_of(h, r->t[j]) == TXN_COMMITTED)
                r->before[i] = j;
    }
    r->r_first[r->n] = (uint32_t)c->reads.n;
    return true;
}

/* --- levels without one place for a transaction ----------------------------------------------- */

const char exhaust_too_many[] = "too many orders and choices to try them all";

#define MOST_TRIES ((uint64_t)1 << 22)

/* Every order, and for every read every writer that comes before it there, as a claim. */
typedef struct trial {
    run *r;
    sources *s;
    claim claim;
    const history *h;
    txn_id order[MOST];
    chosen_reads choices;
    uint64_t tries;

    /* Under what modules added, which has no points here (recheck_without_points). */
    bool runs;                     /* reads are of one state: orders that break one are cut off */
    bool apart[MOST], begun[MOST]; /* it has a begin of its own; which stands */
    uint32_t snapshot[MOST];       /* so many commits before that */
    uint32_t stands_before[2 * MOST]; /* per event: those that must not stand before it, as a set */
    uint32_t there;                   /* the events that have a place */
    bool tangled;                     /* the order of two begins may matter by itself */
    event_order events;
} trial;

static bool stands(trial *x)
{
    const char *why;
    mem *m = x->r->c->m;
    void *from = mem_get(m, 1);
    x->claim.choices = x->choices;
    bool yes = claim_recheck(&x->claim, x->h, m, &why);
    x->tries = !yes && why == claim_too_large ? MOST_TRIES + 1 : x->tries + 1; /* proves nothing */
    mem_free_since(m, from);
    guard_tick(m->guard);
    return yes;
}

/* Can the list have been read after the first s commits? */
static bool may_hold(run *r, const seen *read, uint32_t s)
{
    bool known;
    uint32_t writer;
    seq want = content(r->c->h, &read->value), now = held(r, read->key, s, &known, &writer);
    return known ? same(now, want) : ends_with(want, now);
}

/* Chooses for the reads from j on of the transaction at place `at`, and of those behind it. */
static bool choose(trial *x, uint32_t at, uint32_t j)
{
    run *r = x->r;
    const checker *c = r->c;
    while (at < r->placed && j == r->r_first[r->order[at] + 1])
        if (++at < r->placed) j = r->r_first[r->order[at]];
    if (at == r->placed) return stands(x);
    if (x->tries > MOST_TRIES) return false;
    const seen *read = &c->reads.at[j];
    bool list = c->is_list[read->key], own = false;
    txn_id t = r->t[r->order[at]];
    if (list) {
        uint32_t lo, hi = recheck_own(c, t, read->key, read->op, &lo);
        own = lo < hi; /* then its place in the order names what it read */
    }
    if (own) return choose(x, at, j + 1);
    for (uint32_t i = 0; i <= at; i++) {
        txn_id w = i < at ? r->t[r->order[i]] : NO_ID;
        bool may = list ? (w == NO_ID || recheck_install(c, w, read->key) != NO_ID) &&
                              may_hold(r, read, w == NO_ID ? 0 : i + 1)
                        : source_may(x->s, t, read->op, read->key, read->value, w);
        if (!may) continue;
        chosen pick = {read->op, read->key, w};
        vec_push(c->m, &x->choices, pick);
        if (choose(x, at, j + 1)) return true;
        x->choices.n--;
    }
    return false;
}

/* --- events, under what modules added --------------------------------------------------------- */

static uint32_t event_of(const trial *x, uint32_t i, uint32_t at)
{
    return 2 * i + (at == AT_COMMIT || !x->apart[i]);
}

/* The number of a transaction among those that are tried; MOST: it takes no part. */
static uint32_t tried(const run *r, txn_id t)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->t[i] == t) return i;
    return MOST;
}

/* Plain statements cut the search short; all of them are looked at again by recheck_assumed. */
static void load_events(trial *x, const additions *add)
{
    const run *r = x->r;
    for (uint32_t i = 0; i < r->n; i++) x->apart[i] = recheck_begins_apart(r->c, r->t[i]);
    for (size_t k = 0; k < add->at.n; k++) {
        const addition *said = &add->at.at[k];
        uint32_t e = additions_set_first(add, said->first_set);
        for (uint32_t end = add->set_end.at[said->first_set + said->sets - 1]; e < end; e++) {
            const added_edge *g = &add->edges.at[e];
            uint32_t a = tried(r, g->from), b = tried(r, g->to);
            if (a == MOST || b == MOST || a == b) continue;
            if (g->from_at == AT_BEGIN && g->to_at == AT_BEGIN && x->apart[a] && x->apart[b])
                x->tangled = true;
            if (said->sets == 1)
                x->stands_before[event_of(x, a, g->from_at)] |= 1u << event_of(x, b, g->to_at);
        }
    }
}

/* Gives the event the next place; false: what modules added is against it. */
static bool place_event(trial *x, uint32_t i, uint32_t at)
{
    uint32_t e = event_of(x, i, at);
    ordered_event next = {x->r->t[i], at};
    if (x->stands_before[e] & x->there) return false;
    x->there |= 1u << e;
    vec_push(x->r->c->m, &x->events, next);
    return true;
}

static void take_event(trial *x, uint32_t i, uint32_t at)
{
    x->there &= ~(1u << event_of(x, i, at));
    x->events.n--;
}

static bool some_order(trial *x);

/* Begins side by side are tried in one order only, unless that may matter. */
static bool begins_next(trial *x, uint32_t i)
{
    const ordered_event *last = x->events.n ? &x->events.at[x->events.n - 1] : NULL;
    if (!x->tangled && last && last->at == AT_BEGIN && last->of > x->r->t[i]) return false;
    size_t keep = x->r->bound.n;
    bool yes = false;
    x->snapshot[i] = x->r->placed;
    if (x->runs && !reads_fit(x->r, i, x->r->placed)) return false;
    if (place_event(x, i, AT_BEGIN)) {
        x->begun[i] = true;
        yes = some_order(x);
        x->begun[i] = false;
        take_event(x, i, AT_BEGIN);
    }
    unbind(x->r, keep);
    return yes;
}

static bool commits_next(trial *x, uint32_t i)
{
    run *r = x->r;
    size_t keep = r->bound.n;
    bool yes = false;
    if (!ready(r, i) || (x->runs && x->apart[i] && earliest(r, i) > x->snapshot[i])) return false;
    if (x->runs && !x->apart[i] && !reads_fit(r, i, r->placed)) return false;
    if (!x->h->assumed || place_event(x, i, AT_COMMIT)) {
        r->order[r->placed++] = i;
        r->place[i] = r->placed;
        yes = some_order(x);
        r->place[i] = 0;
        r->placed--;
        if (x->h->assumed) take_event(x, i, AT_COMMIT);
    }
    unbind(r, keep);
    return yes;
}

static bool some_order(trial *x)
{
    run *r = x->r;
    if (x->h->assumed) x->tries++;
    if (x->tries > MOST_TRIES) return false;
    if (r->placed == r->want) {
        for (uint32_t i = 0; i < r->placed; i++) x->order[i] = r->t[r->order[i]];
        x->claim.ordered = r->placed;
        x->claim.events = x->events;
        x->choices.n = 0;
        return choose(x, 0, r->placed ? r->r_first[r->order[0]] : 0);
    }
    for (uint32_t i = 0; i < r->n; i++) {
        if (!r->in[i] || r->place[i]) continue;
        if (x->apart[i] && !x->begun[i] ? begins_next(x, i) : commits_next(x, i)) return true;
    }
    return false;
}

bool exhaust(checker *c, sources *s, const char **why)
{
    const history *h = c->h;
    run r = {.c = c,
             .si = c->v->level.id == LEVEL_SI,
             .rt = c->v->level.id == LEVEL_SSER || c->v->level.id == LEVEL_LIN ||
                   c->v->level.realtime};
    enum level_id l = c->v->level.id;
    if (l == LEVEL_INNODB_RR || l == LEVEL_INNODB_RR_TIGHT) {
        *why = "orders of the parts of transactions are not tried";
        return false;
    }
    if (!gather(&r)) {
        *why = "more than 8 transactions: too many to try all orders";
        return false;
    }
    bool runs = l == LEVEL_SER || l == LEVEL_SSER || l == LEVEL_LIN || l == LEVEL_SI;
    trial x = {.r = &r, .s = s, .claim = *c->v, .h = h, .runs = runs};
    history flat = *h;
    if (h->assumed) {
        *why = l == LEVEL_LIN
                   ? "orders of single operations are not tried together with assumptions"
                   : recheck_refuses_additions(c);
        if (*why) return false;
        additions *add = recheck_without_points(c);
        if (!add) return true; /* helper points in a circle have no place in any order */
        flat.assumed = add;
        x.h = &flat;
        load_events(&x, add);
        vec_reserve(c->m, &x.events, 2 * MOST);
    }
    x.claim.outcome = OUTCOME_HOLDS;
    x.claim.order = x.order;
    vec_reserve(c->m, &x.choices, c->reads.n + 1); /* it must not move between mark and release */
    r.init = mem_array0(c->m, initial, history_keys(h) + 1);
    for (unsigned set = 0; set < 1u << r.n; set++) {
        bool possible = true;
        r.want = 0;
        for (uint32_t i = 0; i < r.n; i++) {
            r.in[i] = set >> i & 1;
            r.want += r.in[i];
            if (r.in[i] ? r.never[i] : txn_status_of(h, r.t[i]) == TXN_COMMITTED) possible = false;
        }
        memset(r.place, 0, sizeof r.place);
        r.placed = 0;
        if (possible && (runs && !h->assumed ? found(&r) : some_order(&x))) {
            *why = "an order of the transactions explains every read";
            return false;
        }
    }
    if (x.tries > MOST_TRIES) {
        *why = exhaust_too_many;
        return false;
    }
    return true;
}
