/*
 * read_sources.c - what a read can have seen, by doc/levels.md 1 to 3 alone.
 *
 * A read of a register has as candidates the initial state and every transaction, not aborted and
 * not its own, that installs the value.  A read of a list has those that can have left it: by
 * setting the key to it, or because it ends with all of their appends.  A list that is only
 * appended to, whose elements have one appender each, must moreover consist of whole transactions'
 * appends.
 */
#include "verify/proof_check.h"

static bool note_unwritten(checker *c, txn_id t, op_id o, key_id k, value_id x);

/* recheck_visit hands callbacks the checker only; this one carries the sources behind it. */
typedef struct visit {
    checker c;
    sources *s;
    bool faulty;
} visit;

static bool note_unwritten(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    sources *s = ((visit *)c)->s;
    if (!c->open[k] || c->is_list[k] || s->two[k]) return true;
    if (recheck_internal(c, t, o, k, x) || recheck_wrote(c, k, x)) return true;
    if (s->unwritten[k] == FREE)
        s->unwritten[k] = x;
    else if (s->unwritten[k] != x)
        s->two[k] = 1;
    return true;
}

static bool malformed(const history *h, txn_id t)
{
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
        if (!(h->op_kind[o] & OP_FAILED) && op_kind_of(h, o) >= OP_SCAN &&
            recheck_malformed(h, &h->ranges.at[h->op_key[o]]))
            return true;
    return false;
}

void sources_load(sources *s, checker *c)
{
    const history *h = c->h;
    size_t keys = history_keys(h);
    s->c = c;
    s->mixed = mem_array0(c->m, uint8_t, keys + 1);
    s->whole = mem_array0(c->m, uint8_t, keys + 1);
    for (size_t w = 0; w < c->w_key.n; w++) {
        value_id x = plain(h->op_value[c->w_op[w]]);
        if (op_kind_of(h, c->w_op[w]) == OP_WRITE && x > VALUE_NULL && x != VALUE_UNKNOWN &&
            value_atom(h, x).kind == ATOM_LIST)
            s->whole[c->w_key.at[w]] = 1;
    }
    for (size_t w = 0; w < c->w_key.n; w++)
        if (op_kind_of(h, c->w_op[w]) != OP_APPEND && !write_is_local(c, (uint32_t)w) &&
            txn_status_of(h, c->w_txn[w]) != TXN_ABORTED)
            s->mixed[c->w_key.at[w]] = 1;
    for (key_id k = 0; k < keys; k++) {
        seq init = content(h, &c->init[k]);
        if (c->open[k] || (c->is_list[k] && init.scalar)) s->mixed[k] = 1;
        for (uint32_t i = 1; i < init.n && c->is_list[k] && !c->open[k]; i++)
            if (contains((seq){init.at, i, false}, init.at[i])) s->mixed[k] = 1;
    }
    if (!h->init_unknown) return;
    s->unwritten = mem_array(c->m, value_id, keys + 1);
    s->two = mem_array0(c->m, uint8_t, keys + 1);
    for (size_t k = 0; k < keys; k++) s->unwritten[k] = FREE;
    visit v = {*c, s, false};
    for (txn_id t = 0; t < h->txns; t++)
        if (txn_status_of(h, t) == TXN_COMMITTED && !malformed(h, t))
            recheck_visit(&v.c, t, note_unwritten);
}

/* --- which value ------------------------------------------------------------------------------ */

bool source_value(const sources *s, txn_id t, op_id o, key_id k, value_id *x)
{
    const history *h = s->c->h;
    enum op_kind kind = op_kind_of(h, o);
    if (o < h->txn_op[t] || o >= h->txn_op[t + 1] || h->op_kind[o] & OP_FAILED) return false;
    if (kind == OP_READ) {
        *x = plain(h->op_value[o]);
        return h->op_key[o] == k && *x != VALUE_UNKNOWN;
    }
    if (kind != OP_SCAN && kind != OP_ITER) return false;
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi, rank = h->key_rank[k];
    if (recheck_malformed(h, r)) return false;
    range_ranks(h, r, &lo, &hi);
    if (!r->done) {
        if (!r->rows) return false;
        uint32_t last = h->key_rank[h->row_key.at[r->first_row + r->rows - 1]];
        if (r->reverse)
            lo = last;
        else
            hi = last + 1;
    }
    if (rank < lo || rank >= hi) return false;
    *x = VALUE_NULL;
    for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
        if (h->row_key.at[i] == k) *x = plain(h->row_value.at[i]);
    return true;
}

/* --- registers -------------------------------------------------------------------------------- */

static bool may_be_initial(const sources *s, op_id o, key_id k, value_id x)
{
    const checker *c = s->c;
    if (!recheck_allowed(c, o, recheck_hint(c, o, k), x == VALUE_NULL, NO_ID)) return false;
    if (!c->open[k]) return c->init[k] == x;
    return s->unwritten[k] == FREE || s->unwritten[k] == x;
}

/* --- whoever left a list ---------------------------------------------------------------------- */

enum left_how source_left(const checker *c, key_id k, seq x, txn_id w, uint32_t *before)
{
    *before = 0;
    if (w == NO_ID) {
        if (c->open[k]) return LEFT_FIRST;
        return same(content(c->h, &c->init[k]), x) ? LEFT_SURELY : LEFT_NOT;
    }
    uint32_t lo, hi = recheck_own(c, w, k, NO_ID, &lo);
    if (lo == hi || write_is_local(c, lo) || txn_status_of(c->h, w) == TXN_ABORTED) return LEFT_NOT;
    if (recheck_sets(c, lo, hi)) return recheck_own_value(c, lo, hi, x) ? LEFT_SURELY : LEFT_NOT;
    if (!recheck_strip(c, lo, hi, &x)) return LEFT_NOT;
    *before = x.n;
    return LEFT_APPENDED;
}

txn_id source_leaver(const checker *c, key_id k, seq x, uint32_t *at)
{
    /* the last thing that it did to the key is the last element, or a delete */
    uint32_t before,
        w = *at ? c->w_next[*at - 1] : recheck_wrote(c, k, x.n ? x.at[x.n - 1] : VALUE_NULL);
    for (; w; w = c->w_next[w - 1]) {
        guard_tick(c->m->guard);
        if (!installed(c, w - 1) || source_left(c, k, x, c->w_txn[w - 1], &before) == LEFT_NOT)
            continue;
        *at = w;
        return c->w_txn[w - 1];
    }
    return NO_ID;
}

bool source_external(const checker *c, txn_id t, op_id o, key_id k, seq *x, bool *own)
{
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo);
    *own = lo < hi;
    /* (Those who replaced the content saw nothing of others.) */
    if (*own && recheck_sets(c, lo, hi)) return false;
    return recheck_strip(c, lo, hi, x);
}

/* May the read have been from w, by what the history says of it?  Its own appends, which it ends
   with, may be what is said. */
static bool list_allowed(const checker *c, txn_id t, op_id o, key_id k, value_id v, bool own,
                         txn_id w)
{
    hint f = recheck_hint(c, o, k);
    if (own && f.given && !f.init && f.from == c->h->txn_label[t]) f.given = false;
    return recheck_allowed(c, o, f, v == VALUE_NULL, w == NO_ID ? NO_ID : recheck_install(c, w, k));
}

static bool list_may(const checker *c, txn_id t, op_id o, key_id k, value_id v, txn_id w)
{
    seq x = content(c->h, &v);
    bool own;
    uint32_t before;
    if (w == t || !source_external(c, t, o, k, &x, &own)) return false;
    return source_left(c, k, x, w, &before) != LEFT_NOT && list_allowed(c, t, o, k, v, own, w);
}

static txn_id list_next(const checker *c, txn_id t, op_id o, key_id k, value_id v, uint32_t *at)
{
    seq x = content(c->h, &v);
    bool own;
    txn_id w;
    if (!source_external(c, t, o, k, &x, &own)) return NO_ID;
    while ((w = source_leaver(c, k, x, at)) != NO_ID)
        if (w != t && list_allowed(c, t, o, k, v, own, w)) return w;
    return NO_ID;
}

/* --- candidates ------------------------------------------------------------------------------- */

txn_id source_next(const sources *s, txn_id t, op_id o, key_id k, value_id x, uint32_t *at)
{
    const checker *c = s->c;
    if (c->is_list[k]) return list_next(c, t, o, k, x, at);
    hint f = recheck_hint(c, o, k);
    uint32_t w = *at ? c->w_next[*at - 1] : recheck_wrote(c, k, x);
    for (; w; w = c->w_next[w - 1]) {
        txn_id u = c->w_txn[w - 1];
        guard_tick(c->m->guard);
        if (u == t || txn_status_of(c->h, u) == TXN_ABORTED || !installed(c, w - 1) ||
            !recheck_allowed(c, o, f, x == VALUE_NULL, w - 1))
            continue;
        *at = w;
        return u;
    }
    return NO_ID;
}

bool source_may(const sources *s, txn_id t, op_id o, key_id k, value_id x, txn_id w)
{
    const checker *c = s->c;
    if (c->is_list[k]) return list_may(c, t, o, k, x, w);
    if (w == NO_ID) return may_be_initial(s, o, k, x);
    if (w == t || txn_status_of(c->h, w) == TXN_ABORTED) return false;
    uint32_t i = recheck_install(c, w, k);
    return i != NO_ID && plain(c->h->op_value[c->w_op[i]]) == x &&
           recheck_allowed(c, o, recheck_hint(c, o, k), x == VALUE_NULL, i);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* The only append of e to k by one that is not aborted; NO_ID: none, UINT32_MAX - 1: several. */
#define SEVERAL (NO_ID - 1)
static uint32_t appender(const checker *c, key_id k, value_id e)
{
    uint32_t one = NO_ID;
    for (uint32_t w = recheck_wrote(c, k, e); w; w = c->w_next[w - 1]) {
        if (txn_status_of(c->h, c->w_txn[w - 1]) == TXN_ABORTED || write_is_local(c, w - 1))
            continue;
        if (one != NO_ID) return SEVERAL;
        one = w - 1;
    }
    return one;
}

/* Behind the initial elements: whole transactions' appends, none twice, none of t. */
static enum source_kind walk_blocks(const sources *s, txn_id t, key_id k, seq x, uint32_t at,
                                    txn_id *one)
{
    const checker *c = s->c;
    seq init = content(c->h, &c->init[k]);
    enum source_kind kind = SOURCE_ONE;
    uint32_t start = at;
    *one = NO_ID;
    while (at < x.n && kind == SOURCE_ONE) {
        uint32_t w = appender(c, k, x.at[at]);
        if (w == SEVERAL || (w != NO_ID && contains(init, x.at[at]))) {
            kind = SOURCE_UNSURE;
            break;
        }
        uint32_t lo = 0, hi = 0;
        if (w != NO_ID) hi = recheck_own(c, c->w_txn[w], k, NO_ID, &lo);
        bool whole =
            w != NO_ID && w == lo && c->w_txn[w] != t && hi - lo <= x.n - at && !c->used[w];
        for (uint32_t i = lo; i < hi && whole; i++)
            whole = c->h->op_value[c->w_op[i]] == x.at[at + i - lo];
        if (!whole) {
            kind = SOURCE_NONE;
            break;
        }
        c->used[w] = 1;
        *one = c->w_txn[w];
        at += hi - lo;
    }
    while (start < at) { /* take the marks back */
        uint32_t w = appender(c, k, x.at[start]), lo,
                 hi = recheck_own(c, c->w_txn[w], k, NO_ID, &lo);
        c->used[w] = 0;
        start += hi - lo;
    }
    guard_tick(c->m->guard);
    return kind;
}

/* A list of whole transactions' appends, as far as the elements show whose they are. */
static enum source_kind cut_list(const sources *s, txn_id t, op_id o, key_id k, value_id x,
                                 txn_id *one)
{
    const checker *c = s->c;
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo);
    if (s->mixed[k]) return SOURCE_UNSURE;
    seq shown = content(c->h, &x), init = content(c->h, &c->init[k]);
    if (shown.scalar || !recheck_strip(c, lo, hi, &shown)) return SOURCE_NONE;
    if (shown.n < init.n || !same((seq){shown.at, init.n, false}, init)) return SOURCE_NONE;
    return walk_blocks(s, t, k, shown, init.n, one);
}

uint32_t source_shown(sources *s, key_id k, value_id x, txn_id t)
{
    const checker *c = s->c;
    if (!c->is_list[k] || s->mixed[k]) return UINT32_MAX;
    seq shown = content(c->h, &x), init = content(c->h, &c->init[k]);
    if (shown.scalar) return UINT32_MAX;
    for (uint32_t i = 0; i < shown.n; i++) {
        uint32_t w = appender(c, k, shown.at[i]);
        if (w < SEVERAL && c->w_txn[w] == t && !contains(init, shown.at[i])) return i + 1;
        guard_tick(c->m->guard);
    }
    return 0;
}

bool source_missing(sources *s, key_id k, value_id x, txn_id t)
{
    const checker *c = s->c;
    seq shown = content(c->h, &x);
    uint32_t lo, hi = recheck_own(c, t, k, NO_ID, &lo);
    if (shown.scalar) return false;
    for (; lo < hi; lo++)
        if (op_kind_of(c->h, c->w_op[lo]) == OP_APPEND &&
            !contains(shown, c->h->op_value[c->w_op[lo]]))
            return true;
    return false;
}

/* --- both ------------------------------------------------------------------------------------- */

enum source_kind source_of(sources *s, txn_id t, op_id o, key_id k, value_id x, txn_id *one)
{
    int own = recheck_internal(s->c, t, o, k, x);
    if (own) return own > 0 ? SOURCE_INTERNAL : SOURCE_NONE;
    if (s->c->is_list[k] && s->whole[k]) return cut_list(s, t, o, k, x, one);
    uint32_t at = 0;
    bool init = source_may(s, t, o, k, x, NO_ID);
    txn_id first = source_next(s, t, o, k, x, &at);
    *one = first;
    if (first == NO_ID) return init ? SOURCE_ONE : SOURCE_NONE;
    return init || source_next(s, t, o, k, x, &at) != NO_ID ? SOURCE_MANY : SOURCE_ONE;
}

static bool find_faulty(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    visit *v = (visit *)c;
    txn_id one;
    enum source_kind kind = source_of(v->s, t, o, k, x, &one);
    if (c->is_list[k] && kind != SOURCE_INTERNAL && kind != SOURCE_NONE)
        kind = cut_list(v->s, t, o, k, x, &one);
    v->faulty = kind == SOURCE_NONE || recheck_duplicates(c, k, x) ||
                (c->open[k] && !c->is_list[k] && v->s->two[k] && !recheck_wrote(c, k, x));
    return !v->faulty;
}

bool source_faulty(sources *s, txn_id t)
{
    if (malformed(s->c->h, t)) return true;
    visit v = {*s->c, s, false};
    recheck_visit(&v.c, t, find_faulty);
    return v.faulty;
}

/* --- read uncommitted ------------------------------------------------------------------------- */

/* The only transaction, of whatever outcome, that ever wrote e to k, if e is not initial too. */
static txn_id only_writer(const checker *c, key_id k, value_id e)
{
    txn_id one = NO_ID;
    for (uint32_t w = recheck_wrote(c, k, e); w; w = c->w_next[w - 1]) {
        if (write_is_local(c, w - 1)) return NO_ID; /* it has no place among the versions */
        if (one != NO_ID && one != c->w_txn[w - 1]) return NO_ID;
        one = c->w_txn[w - 1];
    }
    return one == NO_ID || contains(content(c->h, &c->init[k]), e) ? NO_ID : one;
}

static bool committed(const checker *c, txn_id t)
{
    return t != NO_ID && txn_status_of(c->h, t) == TXN_COMMITTED;
}

bool source_uncommitted(sources *s, txn_id t, op_id o, key_id k, value_id x, txn_id a, txn_id b)
{
    const checker *c = s->c;
    seq list = content(c->h, &x);
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo);
    bool own = lo < hi && !recheck_sets(c, lo, hi), seen_a = false;
    if (c->open[k] || !c->is_list[k] || list.scalar || !committed(c, t) || !committed(c, a) ||
        !committed(c, b))
        return false;
    for (uint32_t i = 0; i < list.n; i++) {
        txn_id w = only_writer(c, k, list.at[i]);
        if (seen_a && w == b) return true;
        seen_a = seen_a || w == a;
        guard_tick(c->m->guard);
    }
    return seen_a && own && b == t;
}

static bool find_garbage(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    visit *v = (visit *)c;
    bool open = c->open[k];
    if (open && c->is_list[k]) return true; /* an unknown list may have held anything */
    if (open) {
        v->faulty = v->s->two[k] && !recheck_internal(c, t, o, k, x) && !recheck_wrote(c, k, x);
        return !v->faulty;
    }
    v->faulty = recheck_garbage(c, t, o, k, x) || recheck_duplicates(c, k, x);
    /* an initial element behind one that somebody wrote */
    seq list = content(c->h, &x), init = content(c->h, &c->init[k]);
    bool written = false;
    for (uint32_t i = 0; i < list.n && c->is_list[k] && !list.scalar && !v->faulty; i++) {
        bool initial = contains(init, list.at[i]) && !recheck_wrote(c, k, list.at[i]);
        if (initial && written) v->faulty = true;
        written = written || committed(c, only_writer(c, k, list.at[i]));
    }
    return !v->faulty;
}

bool source_garbage(sources *s, txn_id t)
{
    if (malformed(s->c->h, t)) return true;
    visit v = {*s->c, s, false};
    recheck_visit(&v.c, t, find_garbage);
    return v.faulty;
}
