/*
 * meaning.c - see meaning.h.
 *
 * The transactions that a verdict can depend on are paired, session by session, as they come.  Then
 * one walk over all pairs binds each key of the first history to one of the second, and each value
 * of a key to a value: a name that is bound to two others is a difference.  Absence is a value like
 * others for keys that are only read and written as a whole and that no scan passes; elsewhere it
 * stays absence.
 *
 * What is not compared decides nothing: failed statements; transactions that did nothing, unless
 * real time may lead through them; notes.  Aborted transactions that read nothing count with their
 * writes alone, wherever in their session, because formats put several of them into one; what
 * aborted transactions read counts where both histories know it.
 */
#include "read/meaning.h"

#include <assert.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/search.h"
#include "base/sort.h"
#include "history/header_notes.h"
#include "history/own_levels.h"

/* One of the two histories. */
typedef struct side {
    const history *h;
    uint32_t sessions;   /* that count */
    uint32_t *session;   /* which they are */
    uint32_t *first;     /* of each: its transactions in `txn`; one more */
    txn_id *txn;         /* that count */
    uint32_t *pair;      /* per transaction: 1 + its place in the first history's `txn`; 0: none */
    uint8_t *special;    /* per key: its absence is not a value like others */
    uint8_t *read;       /* per key: somebody read it */
    uint8_t *init_named; /* per key: its initial value is known; NULL: of all keys */
    id_map by_label;     /* transactions */
} side;

typedef struct comparison {
    mem *m;
    side a, b;
    id_map key_to, key_from;     /* keys, both ways */
    id_map value_to, value_from; /* (key, value) -> value, keys of the side it comes from */
    changes *out;
} comparison;

static bool counts_op(const history *h, op_id o)
{
    return !op_failed(h, o) || op_undone(h, o);
}

static bool is_range(const history *h, op_id o)
{
    return op_kind_of(h, o) == OP_SCAN || op_kind_of(h, o) == OP_ITER;
}

static bool reads(const history *h, op_id o)
{
    return op_kind_of(h, o) == OP_READ || is_range(h, o);
}

/* A time of a transaction, as real time counts it: the call and the return of begin (0, 1) and of
   commit (2, 3). */
static bool stamp_of(const history *h, txn_id t, unsigned which, int64_t *at)
{
    unsigned flags = h->txn_flags[t];
    if (which >= 2 && txn_status_of(h, t) == TXN_UNKNOWN) return false;
    if (which == 1 && flags & TXN_NO_BEGIN_RETURN) return false;
    if (flags & TXN_HAS_TIMES)
        *at = h->txn_times[(size_t)t * 4 + which];
    else if (which < 2 && flags & TXN_HAS_BEGIN)
        *at = h->txn_begin[t];
    else if (which >= 2 && flags & TXN_HAS_END)
        *at = h->txn_end[t];
    else
        return false;
    return true;
}

/* --- what counts ------------------------------------------------------------------------------ */

enum part { PART_NONE, PART_WRITES, PART_WHOLE };

/* What of a transaction counts; an aborted one without reads: its writes alone. */
static enum part part_of(const history *h, txn_id t)
{
    enum txn_status status = txn_status_of(h, t);
    bool any = false, read = false;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1] && !read; o++) {
        if (!counts_op(h, o)) continue;
        any = true;
        read = reads(h, o);
    }
    if (any) return status == TXN_ABORTED && !read ? PART_WRITES : PART_WHOLE;
    int64_t at;
    bool timed = stamp_of(h, t, 0, &at) || stamp_of(h, t, 3, &at);
    return status == TXN_COMMITTED && timed ? PART_WHOLE : PART_NONE;
}

static void mark_keys(side *s)
{
    const history *h = s->h;
    for (op_id o = 0; o < h->ops; o++) {
        if (is_range(h, o)) continue;
        enum op_kind kind = op_kind_of(h, o);
        bool list =
            h->op_value[o] != VALUE_UNKNOWN && value_atom(h, h->op_value[o]).kind == ATOM_LIST;
        if (kind == OP_DELETE || kind == OP_APPEND || list || h->op_kind[o] & OP_TOMB)
            s->special[h->op_key[o]] = 1;
        if (kind == OP_READ) s->read[h->op_key[o]] = 1;
    }
    for (size_t i = 0; i < h->row_key.n; i++) s->read[h->row_key.at[i]] = 1;
}

/* order: in which the sessions are to be taken; NULL: as they come. */
static void load_side(comparison *c, side *s, const history *h, const uint32_t *order)
{
    mem *m = c->m;
    size_t keys = history_keys(h);
    *s = (side){.h = h};
    s->session = mem_array(m, uint32_t, h->sessions.n + 1);
    s->first = mem_array(m, uint32_t, h->sessions.n + 2);
    s->txn = mem_array(m, txn_id, h->txns + 1);
    s->pair = mem_array0(m, uint32_t, h->txns + 1);
    s->special = mem_array0(m, uint8_t, keys + 1);
    s->read = mem_array0(m, uint8_t, keys + 1);
    uint32_t n = 0;
    for (uint32_t at = 0; at < h->sessions.n; at++) {
        uint32_t i = order ? order[at] : at;
        bool some = false;
        s->first[s->sessions] = n;
        for (uint32_t j = h->sess_first[i]; j < h->sess_first[i + 1]; j++) {
            enum part part = part_of(h, h->sess_txn[j]);
            some |= part != PART_NONE;
            if (part == PART_WHOLE) s->txn[n++] = h->sess_txn[j];
            guard_tick(m->guard);
        }
        if (some) s->session[s->sessions++] = i;
    }
    s->first[s->sessions] = n;
    mark_keys(s);
    if (h->init_unknown) {
        s->init_named = mem_array0(m, uint8_t, keys + 1);
        for (size_t i = 0; i < h->init_map.n; i++) s->init_named[h->init_map.at[i].key] = 1;
    }
    for (txn_id t = 0; t < h->txns; t++) id_map_put(m, &s->by_label, h->txn_label[t], t);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Binds two names to each other; false: one of them is bound to another. */
static bool bind(mem *m, id_map *to, id_map *from, uint64_t x, uint64_t y, uint32_t x_id,
                 uint32_t y_id)
{
    uint32_t *at = id_map_at(m, to, x);
    if (*at != MAP_NONE && *at != y_id) return false;
    *at = y_id;
    at = id_map_at(m, from, y);
    if (*at != MAP_NONE && *at != x_id) return false;
    *at = x_id;
    return true;
}

static bool same_key(comparison *c, key_id x, key_id y)
{
    return bind(c->m, &c->key_to, &c->key_from, x, y, x, y);
}

static bool is_list(const history *h, value_id v)
{
    return value_atom(h, v).kind == ATOM_LIST;
}

/* One value that is no list. */
static bool same_scalar(comparison *c, key_id k, value_id x, key_id l, value_id y)
{
    bool absence = c->a.h->ranges.n || c->b.h->ranges.n || c->a.special[k] || c->b.special[l];
    if ((x == VALUE_NULL) != (y == VALUE_NULL) && absence) return false;
    return bind(c->m, &c->value_to, &c->value_from, map_pair(k, x), map_pair(l, y), x, y);
}

static bool same_value(comparison *c, key_id k, value_id x, key_id l, value_id y)
{
    if (x == VALUE_UNKNOWN || y == VALUE_UNKNOWN) return x == y;
    const history *h = c->a.h, *g = c->b.h;
    x = value_or_absent(x);
    y = value_or_absent(y);
    if (!is_list(h, x) && !is_list(g, y)) return same_scalar(c, k, x, l, y);
    if (!is_list(h, x) || !is_list(g, y)) return false;
    atom p = value_atom(h, x), q = value_atom(g, y);
    bool same = p.len == q.len;
    for (uint32_t i = 0; i < p.len && same; i++)
        same =
            same_value(c, k, h->elements.at[p.as.offset + i], l, g->elements.at[q.as.offset + i]);
    return same;
}

static bool same_text(const history *h, atom x, const history *g, atom y)
{
    if (x.kind != y.kind) return false;
    if (x.kind != ATOM_STR && x.kind != ATOM_BIG) return x.as.u == y.as.u;
    return x.len == y.len && (!x.len || !memcmp(atom_bytes(h, x), atom_bytes(g, y), x.len));
}

/* The transactions that two labels name; those that nobody has must be the same text. */
static bool same_writer(const comparison *c, label x, label y)
{
    uint32_t t = id_map_get(&c->a.by_label, x), u = id_map_get(&c->b.by_label, y);
    if (t != MAP_NONE && u != MAP_NONE && c->a.pair[t]) return c->a.pair[t] == c->b.pair[u];
    return same_text(c->a.h, label_atom(c->a.h, x), c->b.h, label_atom(c->b.h, y));
}

/* --- operations ------------------------------------------------------------------------------- */

static const attr *next_hint(const history *h, op_id o, const attr *a)
{
    const attr *end = h->attrs.at + h->attrs.n;
    for (; a && a < end && a->op == o; a++)
        if (a->kind != ATTR_CALL && a->kind != ATTR_RETURN && a->kind != ATTR_EXTRA) return a;
    return NULL;
}

static bool same_hint(comparison *c, const attr *x, const attr *y)
{
    if (x->kind != y->kind) return false;
    bool writer = x->kind == ATTR_FROM || x->kind == ATTR_VSET || x->kind == ATTR_ROW_FROM;
    if (writer && !same_writer(c, x->a, y->a)) return false;
    if (x->kind == ATTR_VER) return x->a == y->a;
    if (x->kind == ATTR_VSET || x->kind == ATTR_VSET_INIT) return same_key(c, x->key, y->key);
    return (x->kind != ATTR_ROW_FROM && x->kind != ATTR_ROW_FROM_INIT) || x->key == y->key;
}

static bool same_hints(comparison *c, op_id o, op_id p)
{
    const history *h = c->a.h, *g = c->b.h;
    const attr *x = next_hint(h, o, op_attrs(h, o)), *y = next_hint(g, p, op_attrs(g, p));
    while (x && y) {
        if (!same_hint(c, x, y)) return false;
        x = next_hint(h, o, x + 1);
        y = next_hint(g, p, y + 1);
    }
    return !x && !y;
}

static void compare_range(comparison *c, op_id o, op_id p)
{
    const history *h = c->a.h, *g = c->b.h;
    const range *x = &h->ranges.at[h->op_key[o]], *y = &g->ranges.at[g->op_key[p]];
    uint32_t lo, hi, low, high;
    range_ranks(h, x, &lo, &hi);
    range_ranks(g, y, &low, &high);
    bool same = lo == low && hi == high && x->done == y->done && x->rows == y->rows &&
                (x->reverse == y->reverse || x->rows < 2);
    bool values = true;
    for (uint32_t i = 0; i < x->rows && same; i++) {
        key_id k = h->row_key.at[x->first_row + i], l = g->row_key.at[y->first_row + i];
        same = same_key(c, k, l);
        values &= same && same_value(c, k, h->row_value.at[x->first_row + i], l,
                                     g->row_value.at[y->first_row + i]);
    }
    c->out->n[CHANGE_RANGES] += !same;
    c->out->n[CHANGE_RESULTS] += same && !values;
}

/* Operations of the same kind.  loose: of an aborted transaction. */
static void compare_op(comparison *c, op_id o, op_id p, bool loose)
{
    const history *h = c->a.h, *g = c->b.h;
    unsigned differ = h->op_kind[o] ^ g->op_kind[p];
    changes *out = c->out;
    out->n[CHANGE_LOCKS] += (differ & OP_LOCK) != 0;
    out->n[CHANGE_TOMBSTONES] += (differ & OP_TOMB) != 0;
    out->n[CHANGE_UNDONE] += op_undone(h, o) != op_undone(g, p);
    if ((h->op_kind[o] | g->op_kind[p]) & OP_ATTR) out->n[CHANGE_HINTS] += !same_hints(c, o, p);
    if (is_range(h, o)) {
        compare_range(c, o, p);
        return;
    }
    key_id k = h->op_key[o], l = g->op_key[p];
    value_id x = h->op_value[o], y = g->op_value[p];
    if (loose && op_kind_of(h, o) == OP_READ && (x == VALUE_UNKNOWN || y == VALUE_UNKNOWN)) return;
    if (!same_key(c, k, l) || !same_value(c, k, x, l, y)) out->n[CHANGE_RESULTS]++;
}

static op_id next_op(const history *h, op_id o, op_id end)
{
    while (o < end && !counts_op(h, o)) o++;
    return o;
}

/* Two transactions; false: they did not do the same kinds of things. */
static bool compare_ops(comparison *c, txn_id t, txn_id u, bool loose)
{
    const history *h = c->a.h, *g = c->b.h;
    op_id o = h->txn_op[t], p = g->txn_op[u], end = h->txn_op[t + 1], stop = g->txn_op[u + 1];
    for (;; o++, p++) {
        o = next_op(h, o, end);
        p = next_op(g, p, stop);
        if (o == end || p == stop) return o == end && p == stop;
        if (op_kind_of(h, o) != op_kind_of(g, p)) return false;
        compare_op(c, o, p, loose);
    }
}

/* The next write of aborted transactions of session i that read nothing, after *j and *o. */
static bool next_aborted(const history *h, uint32_t i, uint32_t *j, op_id *o)
{
    for (; *j < h->sess_first[i + 1]; (*j)++, *o = NO_ID) {
        txn_id t = h->sess_txn[*j];
        if (part_of(h, t) != PART_WRITES) continue;
        *o = next_op(h, *o == NO_ID ? h->txn_op[t] : *o + 1, h->txn_op[t + 1]);
        if (*o < h->txn_op[t + 1]) return true;
    }
    return false;
}

static void compare_aborted(comparison *c, uint32_t s, uint32_t r)
{
    const history *h = c->a.h, *g = c->b.h;
    uint32_t i = h->sess_first[s], j = g->sess_first[r];
    op_id o = NO_ID, p = NO_ID;
    for (;;) {
        bool more = next_aborted(h, s, &i, &o), also = next_aborted(g, r, &j, &p);
        if (!more && !also) return;
        if (!more || !also || op_kind_of(h, o) != op_kind_of(g, p)) {
            c->out->n[CHANGE_OPERATIONS]++;
            return;
        }
        compare_op(c, o, p, true);
    }
}

/* --- transactions ----------------------------------------------------------------------------- */

static bool same_level(const comparison *c, txn_id t, txn_id u)
{
    size_t n, k;
    const char *x = history_level_text(c->a.h, t, &n), *y = history_level_text(c->b.h, u, &k);
    return n == k && !x == !y && (!x || !memcmp(x, y, n));
}

static const extra *member_named(const history *h, txn_id t, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = txn_extras(h, t); i < h->extras.n && h->extras.at[i].txn == t; i++) {
        atom a = value_atom(h, h->extras.at[i].name);
        if (a.len == len && !memcmp(atom_bytes(h, a), name, len)) return &h->extras.at[i];
    }
    return NULL;
}

static bool same_member(const history *h, const extra *x, const history *g, const extra *y)
{
    if (!x || !y) return !x && !y;
    return same_text(h, value_atom(h, x->text), g, value_atom(g, y->text));
}

/* Operations that add to what is there are told by members beside them. */
static void compare_sums(comparison *c)
{
    static const char *const names[] = {"operation", "argument"};
    const history *h = c->a.h, *g = c->b.h;
    const extra *x = history_header_member(h, "model"), *y = history_header_member(g, "model");
    if (!x && !y) return;
    bool same = same_member(h, x, g, y);
    for (uint32_t i = 0; i < c->a.first[c->a.sessions]; i++) {
        txn_id t = c->a.txn[i], u = c->b.txn[i];
        bool kept = same;
        for (size_t n = 0; n < 2; n++)
            kept &= same_member(h, member_named(h, t, names[n]), g, member_named(g, u, names[n]));
        c->out->n[CHANGE_SUMS] += !kept;
    }
}

/* For each transaction of a side, a sum that tells which ones have `early` before its `late`. */
static uint64_t *before_sums(const comparison *c, const side *s, unsigned early, unsigned late)
{
    mem *m = c->m;
    const history *h = s->h;
    uint32_t n = s->first[s->sessions], timed = 0;
    uint64_t *key = mem_array(m, uint64_t, (size_t)n + 1);
    uint32_t *who = mem_array(m, uint32_t, (size_t)n + 1);
    uint64_t *sum = mem_array(m, uint64_t, (size_t)n + 1),
             *out = mem_array0(m, uint64_t, (size_t)n + 1);
    int64_t at;
    for (uint32_t i = 0; i < n; i++) {
        if (txn_status_of(h, s->txn[i]) == TXN_ABORTED || !stamp_of(h, s->txn[i], early, &at))
            continue;
        who[timed] = i;
        key[timed++] = sort_key(at);
    }
    uint32_t *by = sort_by_key(m, key, timed);
    sum[0] = 0;
    for (uint32_t i = 0; i < timed; i++) sum[i + 1] = sum[i] + hash_u64((uint64_t)who[by[i]] + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (txn_status_of(h, s->txn[i]) == TXN_ABORTED || !stamp_of(h, s->txn[i], late, &at))
            continue;
        uint64_t end = sort_key(at);
        SEARCH_FIRST(uint32_t, first, 0, timed, key[by[first]] >= end);
        out[i] = sum[first];
        /* (its own begin is before its own commit anyway) */
        if (stamp_of(h, s->txn[i], early, &at) && sort_key(at) < end)
            out[i] -= hash_u64((uint64_t)i + 1);
    }
    mem_put(m, key);
    mem_put(m, who);
    mem_put(m, sum);
    mem_put(m, by);
    return out;
}

static void compare_times(comparison *c)
{
    uint32_t n = c->a.first[c->a.sessions];
    uint8_t *differs = mem_array0(c->m, uint8_t, (size_t)n + 1);
    for (unsigned early = 1; early < 4; early += 2)
        for (unsigned late = 0; late < 4; late += 2) {
            uint64_t *x = before_sums(c, &c->a, early, late),
                     *y = before_sums(c, &c->b, early, late);
            for (uint32_t i = 0; i < n; i++) differs[i] |= x[i] != y[i];
            mem_put(c->m, x);
            mem_put(c->m, y);
        }
    for (uint32_t i = 0; i < n; i++) c->out->n[CHANGE_TIMES] += differs[i];
    mem_put(c->m, differs);
}

static const unsigned stamp_flags[] = {TXN_HAS_START_TS, TXN_HAS_COMMIT_TS};

/* The database's timestamps as ranks, two for each transaction; 0: it has none. */
static uint32_t *stamp_ranks(const comparison *c, const side *s)
{
    mem *m = c->m;
    const history *h = s->h;
    uint32_t n = s->first[s->sessions], some = 0, rank = 0;
    uint32_t *out = mem_array0(m, uint32_t, 2 * (size_t)n + 1);
    uint32_t *where = mem_array(m, uint32_t, 2 * (size_t)n + 1);
    uint64_t *key = mem_array(m, uint64_t, 2 * (size_t)n + 1);
    for (uint32_t i = 0; i < 2 * n; i++) {
        txn_id t = s->txn[i / 2];
        if (!(h->txn_flags[t] & stamp_flags[i % 2])) continue;
        where[some] = i;
        key[some++] = sort_key(i % 2 ? h->txn_commit_ts[t] : h->txn_start_ts[t]);
    }
    uint32_t *by = sort_by_key(m, key, some);
    for (uint32_t i = 0; i < some; i++) {
        rank += !i || key[by[i]] != key[by[i - 1]];
        out[where[by[i]]] = rank;
    }
    mem_put(m, where);
    mem_put(m, key);
    mem_put(m, by);
    return out;
}

static void compare_stamps(comparison *c)
{
    uint32_t n = c->a.first[c->a.sessions];
    uint32_t *x = stamp_ranks(c, &c->a), *y = stamp_ranks(c, &c->b);
    for (uint32_t i = 0; i < n; i++)
        c->out->n[CHANGE_STAMPS] += x[2 * i] != y[2 * i] || x[2 * i + 1] != y[2 * i + 1];
    mem_put(c->m, x);
    mem_put(c->m, y);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Scans see keys in their order, and also those that nobody else named. */
static void compare_key_order(comparison *c)
{
    const history *h = c->a.h, *g = c->b.h;
    if (!h->ranges.n && !g->ranges.n) return;
    bool same = history_keys(h) == history_keys(g) && h->ranges.n == g->ranges.n;
    for (uint32_t i = 0; i < history_keys(h) && same; i++)
        same = same_key(c, h->key_sorted[i], g->key_sorted[i]);
    if (!same) c->out->n[CHANGE_RANGES] += h->ranges.n ? h->ranges.n : g->ranges.n;
}

/* What each key that was read held at first. */
static void compare_initial(comparison *c)
{
    const side *a = &c->a, *b = &c->b;
    bool all = a->h->ranges.n != 0;
    for (key_id k = 0; k < history_keys(a->h); k++) {
        key_id l = id_map_get(&c->key_to, k);
        if (l == MAP_NONE || !(all || a->read[k])) continue;
        bool named = !a->init_named || a->init_named[k];
        bool also = !b->init_named || b->init_named[l];
        if (named != also || (named && !same_value(c, k, a->h->key_init[k], l, b->h->key_init[l])))
            c->out->n[CHANGE_INIT]++;
        guard_tick(c->m->guard);
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool some_committed(const history *h)
{
    txn_id t = 0;
    while (t < h->txns && txn_status_of(h, t) != TXN_COMMITTED) t++;
    return t < h->txns;
}

/* How many keys the second history sets in a first session that the other does not have, and in
   which there is one transaction of nothing but writes: an initial state that no longer is one. */
static uint64_t initial_writes(const side *a, const side *b)
{
    const history *h = b->h;
    if (b->sessions != a->sessions + 1 || b->first[1] != 1) return 0;
    txn_id t = b->txn[0];
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
        if (op_kind_of(h, o) != OP_WRITE) return 0;
    return h->txn_op[t + 1] - h->txn_op[t];
}

/* Do the sessions have as many transactions each? */
static bool same_shape(comparison *c)
{
    const side *a = &c->a, *b = &c->b;
    uint64_t n = a->first[a->sessions], k = b->first[b->sessions];
    if (some_committed(a->h) && !some_committed(b->h)) { /* then there is nothing to decide */
        c->out->n[CHANGE_TXNS] = a->h->txns;
        return false;
    }
    uint64_t as_writes = initial_writes(a, b);
    if (as_writes) {
        c->out->n[CHANGE_INIT] = as_writes;
        return false;
    }
    if (a->sessions != b->sessions) {
        c->out->n[CHANGE_SESSIONS] =
            a->sessions > b->sessions ? a->sessions - b->sessions : b->sessions - a->sessions;
        return false;
    }
    for (uint32_t i = 0; i < a->sessions && n == k; i++)
        if (a->first[i] != b->first[i]) c->out->n[CHANGE_SESSIONS]++;
    if (n != k) c->out->n[CHANGE_TXNS] = n > k ? n - k : k - n;
    return n == k && !c->out->n[CHANGE_SESSIONS];
}

/* How much differs; where already the sessions do, the rest was not even looked at. */
static uint64_t changes_of(const changes *x)
{
    uint64_t n = 0;
    for (size_t i = 0; i < CHANGE_COUNT; i++) n += x->n[i];
    return n + ((uint64_t)(x->n[CHANGE_SESSIONS] || x->n[CHANGE_TXNS]) << 40);
}

static void compare_in_order(const history *a, const history *b, const uint32_t *order, mem *m,
                             changes *out)
{
    comparison c = {.m = m, .out = out};
    *out = (changes){0};
    load_side(&c, &c.a, a, NULL);
    load_side(&c, &c.b, b, order);
    if (!same_shape(&c)) return;
    for (uint32_t i = 0; i < c.a.first[c.a.sessions]; i++)
        c.a.pair[c.a.txn[i]] = c.b.pair[c.b.txn[i]] = i + 1;
    for (uint32_t i = 0; i < c.a.first[c.a.sessions]; i++) {
        txn_id t = c.a.txn[i], u = c.b.txn[i];
        bool loose = txn_status_of(a, t) == TXN_ABORTED;
        out->n[CHANGE_OUTCOMES] += txn_status_of(a, t) != txn_status_of(b, u);
        out->n[CHANGE_LEVELS] += !same_level(&c, t, u);
        out->n[CHANGE_OPERATIONS] += !compare_ops(&c, t, u, loose);
        guard_tick(m->guard);
    }
    for (uint32_t i = 0; i < c.a.sessions; i++) compare_aborted(&c, c.a.session[i], c.b.session[i]);
    compare_times(&c);
    compare_stamps(&c);
    compare_sums(&c);
    compare_key_order(&c);
    compare_initial(&c);
}

/* The sessions of b in the order in which a has those of the same names; NULL: the names are not
   the same.  A session without transactions may be missing. */
static uint32_t *order_by_name(const history *a, const history *b, mem *m)
{
    uint32_t *order = mem_array(m, uint32_t, b->sessions.n + 1);
    uint8_t *taken = mem_array0(m, uint8_t, b->sessions.n + 1);
    strbuf name;
    id_index names = {0};
    uint32_t n = 0, from = 0;
    strbuf_init(&name, m);
    for (uint32_t i = 0; i < b->sessions.n; i++) {
        name.n = 0;
        label_text(b, b->sessions.at[i], &name);
        id_index_add(m, &names, hash_bytes(name.at, name.n, b->secret), i);
    }
    for (; from < a->sessions.n; from++) {
        name.n = 0;
        label_text(a, a->sessions.at[from], &name);
        index_walk w = id_index_walk(&names, hash_bytes(name.at, name.n, b->secret));
        if (!id_index_next(&names, &w)) continue;
        if (taken[w.id]) break;
        taken[w.id] = 1;
        order[n++] = w.id;
    }
    strbuf_free(&name);
    id_index_free(m, &names);
    mem_put(m, taken);
    if (from == a->sessions.n && n == b->sessions.n) return order;
    mem_put(m, order);
    return NULL;
}

void meaning_compare(const history *a, const history *b, mem *m, changes *out)
{
    compare_in_order(a, b, NULL, m, out);
    if (meaning_same(out)) return;
    /* Sessions that kept their names may stand in another order: files in a directory do. */
    changes x;
    uint32_t *order = order_by_name(a, b, m);
    if (!order) return;
    compare_in_order(a, b, order, m, &x);
    if (changes_of(&x) < changes_of(out)) *out = x;
}

bool meaning_same(const changes *x)
{
    for (size_t i = 0; i < CHANGE_COUNT; i++)
        if (x->n[i]) return false;
    return true;
}

void meaning_text(const changes *x, strbuf *out)
{
    static const char *const texts[] = {
#define X(name, text, unit) text,
        CHANGE_LIST(X)
#undef X
    };
    static const char *const units[] = {
#define X(name, text, unit) unit,
        CHANGE_LIST(X)
#undef X
    };
    bool some = false;
    for (size_t i = 0; i < CHANGE_COUNT; i++) {
        if (!x->n[i]) continue;
        size_t len = strlen(units[i]) - (x->n[i] == 1);
        strbuf_printf(out, "%s%s (%llu %.*s)", some ? ", " : "", texts[i],
                      (unsigned long long)x->n[i], (int)len, units[i]);
        some = true;
    }
}
