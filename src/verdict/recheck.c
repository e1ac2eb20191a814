/*
 * recheck.c - the second opinion: re-proves an answer on the history, from LEVELS.md alone.
 *
 * Shares nothing with the deciding code (asg, ir): it reads the history, the answer, and nobody's
 * derived tables.  Places in the commit order count from 1; 0 is the initial state.
 *
 * Holds: the answer's order and choices are a witness, and Biswas-Enea's axiom (LEVELS.md 4.2) is
 * checked on it literally: r in t3 reads k from t1; then t1 comes before t3, and every other t2
 * that installs k and is visible to r comes before t1.  `last[k]` is the latest place of a visible
 * installer of k, so the axiom is last[k] <= place of t1.  Version orders are the commit order:
 * lists are replayed along it (5.5), `ver` hints must rise along it.
 *
 * Violated: what the answer claims is looked up in the history: the operation that shows a fault,
 * or each edge of a closed cycle.  Not proved: that no other choice of writers, outcomes of unknown
 * transactions or version order would do; that a ww edge and the version order behind an rw edge
 * are forced; the finer name of an anomaly.  An answer found by search shows no cycle: of it only
 * the transactions are looked at.  Nor are commit_ts and start_ts used.
 */
#include "verdict/verdict.h"

#include <assert.h>

#include "base/hash.h"

#define WORK ((uint64_t)1 << 34) /* elementary steps after which an answer is too large */
#define WIDTH 32u                /* chains whose clocks are kept at a time */
#define FREE VALUE_UNKNOWN       /* an initial value that nothing has fixed yet */

typedef struct seen { /* an external read */
    key_id key;
    op_id op;
    uint32_t value; /* what it returned; once resolved, the place of the writer */
} seen;

typedef struct version { /* of a list key: its content is text[base .. base + len) */
    uint32_t place, base, len;
    bool scalar; /* one plain value, no list */
    bool set;    /* rests on a write or delete, not on the initial content */
} version;

typedef struct seq { /* the content of a list key, or of a value */
    const value_id *at;
    uint32_t n;
    bool scalar;
} seq;

typedef struct checker {
    const verdict *v;
    const history *h;
    mem *m;
    const char *why;
    uint64_t steps;

    uint32_t n;        /* transactions of the order */
    uint32_t *place;   /* per transaction; 0: takes no part */
    uint32_t *so_pred; /* per place: that of the committed transaction before it in its session */
    uint8_t *is_list;  /* per key (LEVELS.md 5.5) */
    uint8_t *exists;   /* per key: written by anyone, or not surely absent at first */
    uint8_t *open;     /* per key: unknown initial value (LEVELS.md 3) */
    value_id *init;    /* per key */

    /* All writes, deletes and appends of whatever status: those of t are [w_first[t],
       w_first[t+1]), by key and then by operation; the last one of a key is installed. */
    uint32_t *w_first;
    VEC(key_id) w_key;
    op_id *w_op;
    txn_id *w_txn;
    uint32_t *slot, *w_next; /* (key, value) -> index + 1, and the next one of the same pair */
    size_t mask;

    uint32_t *choice; /* (op, key) -> index + 1 of v->choices */
    size_t choice_mask;

    VEC(seen) reads; /* of place p: [r_first[p], r_first[p+1]) */
    uint32_t *r_first;

    uint32_t *v_first; /* versions of a list key, the initial one first; NULL: no list keys */
    version *versions;
    VEC(value_id) text;

    uint32_t *last, *stamp, epoch; /* per key: see above; valid if stamp[k] == epoch */
    uint32_t *source;              /* per place: the place that last counted it as a source */
    uint32_t *session_last;        /* RA: as last[], of the session so far */
    uint8_t *used;                 /* per write: occurs in the list at hand */

    txn_id from, to; /* the edge at hand */
    key_id key;
    bool found;
} checker;

/* What is to be done with a value that t was given for k; false stops. */
typedef bool (*read_fn)(checker *c, txn_id t, op_id o, key_id k, value_id x);

static bool no(checker *c, txn_id t, const char *what)
{
    strbuf b;
    strbuf_init(&b, c->m);
    if (t != NO_ID) {
        strbuf_str(&b, "transaction ");
        label_text(c->h, c->h->txn_label[t], &b);
        strbuf_str(&b, ": ");
    }
    strbuf_str(&b, what);
    c->why = strbuf_cstr(&b);
    return false;
}

static bool too_large(checker *c, uint64_t steps)
{
    c->steps += steps;
    guard_tick(c->m->guard);
    return c->steps > WORK && !no(c, NO_ID, "too large to recheck: more than 2^34 steps");
}

static value_id plain(value_id x)
{
    return x == VALUE_EMPTY ? VALUE_NULL : x;
}

static seq content(const history *h, const value_id *x)
{
    if (*x == VALUE_NULL || *x == VALUE_EMPTY) return (seq){NULL, 0, false};
    atom a = value_atom(h, *x);
    if (a.kind != ATOM_LIST) return (seq){x, 1, true};
    return (seq){h->elements.at + a.as.offset, a.len, false};
}

static bool same(seq a, seq b)
{
    return a.n == b.n && a.scalar == b.scalar && (!a.n || !memcmp(a.at, b.at, a.n * sizeof *a.at));
}

static bool contains(seq a, value_id e)
{
    for (uint32_t i = 0; i < a.n && !a.scalar; i++)
        if (a.at[i] == e) return true;
    return false;
}

/* --- what the history says ------------------------------------------------------------------ */

static void sort(uint64_t *a, size_t n)
{
    for (size_t gap = n / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < n; i++) {
            uint64_t x = a[i];
            size_t j = i;
            for (; j >= gap && a[j - gap] > x; j -= gap) a[j] = a[j - gap];
            a[j] = x;
        }
}

static bool is_write(const history *h, op_id o)
{
    unsigned kind = h->op_kind[o] & OP_KIND_MASK;
    return !(h->op_kind[o] & OP_FAILED) &&
           (kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND);
}

/* The first write of x to k, + 1; others of any transaction and status follow by w_next. */
static uint32_t wrote(const checker *c, key_id k, value_id x)
{
    size_t at = (size_t)hash_pair(k, x) & c->mask;
    for (; c->slot[at]; at = (at + 1) & c->mask) {
        uint32_t i = c->slot[at] - 1;
        if (c->w_key.at[i] == k && plain(c->h->op_value[c->w_op[i]]) == x) return i + 1;
    }
    return 0;
}

static void load_writes(checker *c)
{
    const history *h = c->h;
    size_t total = 0, slots = 64;
    for (op_id o = 0; o < h->ops; o++) total += is_write(h, o);
    while (slots < 2 * total) slots *= 2;
    c->mask = slots - 1;
    c->w_first = mem_array(c->m, uint32_t, h->txns + 1);
    c->w_op = mem_array(c->m, op_id, total + 1);
    c->w_txn = mem_array(c->m, txn_id, total + 1);
    c->w_next = mem_array(c->m, uint32_t, total + 1);
    c->slot = mem_array0(c->m, uint32_t, slots);
    vec_reserve(c->m, &c->w_key, total + 1);
    VEC(uint64_t) own = {0};
    for (txn_id t = 0; t < h->txns; t++) {
        own.n = 0;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if (is_write(h, o)) vec_push(c->m, &own, (uint64_t)h->op_key[o] << 32 | o);
        sort(own.at, own.n);
        c->w_first[t] = (uint32_t)c->w_key.n;
        for (size_t i = 0; i < own.n; i++) {
            size_t w = c->w_key.n++;
            c->w_key.at[w] = (key_id)(own.at[i] >> 32);
            c->w_op[w] = (op_id)own.at[i];
            c->w_txn[w] = t;
        }
        guard_tick(c->m->guard);
    }
    c->w_first[h->txns] = (uint32_t)c->w_key.n;
    for (uint32_t i = 0; i < total; i++) {
        value_id x = plain(h->op_value[c->w_op[i]]);
        size_t at = (size_t)hash_pair(c->w_key.at[i], x) & c->mask;
        while (c->slot[at] && (c->w_key.at[c->slot[at] - 1] != c->w_key.at[i] ||
                               plain(h->op_value[c->w_op[c->slot[at] - 1]]) != x))
            at = (at + 1) & c->mask;
        c->w_next[i] = c->slot[at];
        c->slot[at] = i + 1;
    }
    vec_free(c->m, &own);
}

static bool a_list(const history *h, value_id x)
{
    return x > VALUE_NULL && x != VALUE_UNKNOWN && value_atom(h, x).kind == ATOM_LIST;
}

/* Which keys are lists, which exist at all, and what they hold at first (CLI.md, `init`). */
static void load_keys(checker *c)
{
    const history *h = c->h;
    size_t keys = history_keys(h);
    c->is_list = mem_array0(c->m, uint8_t, keys + 1);
    c->exists = mem_array0(c->m, uint8_t, keys + 1);
    c->open = mem_array0(c->m, uint8_t, keys + 1);
    c->init = mem_array(c->m, value_id, keys + 1);
    if (h->init_unknown) memset(c->open, 1, keys);
    for (size_t i = 0; i < h->init_map.n; i++) c->open[h->init_map.at[i].key] = 0;
    for (key_id k = 0; k < keys; k++) {
        c->is_list[k] = a_list(h, h->key_init[k]);
        c->init[k] = c->open[k] ? FREE : plain(h->key_init[k]);
        c->exists[k] = c->init[k] != VALUE_NULL;
    }
    for (size_t i = 0; i < c->w_key.n; i++) {
        c->exists[c->w_key.at[i]] = 1;
        if (op_kind_of(h, c->w_op[i]) == OP_APPEND) c->is_list[c->w_key.at[i]] = 1;
    }
    for (op_id o = 0; o < h->ops; o++)
        if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) == OP_READ && a_list(h, h->op_value[o]))
            c->is_list[h->op_key[o]] = 1;
    for (size_t i = 0; i < h->row_key.n; i++)
        if (a_list(h, h->row_value.at[i])) c->is_list[h->row_key.at[i]] = 1;
}

/* The writes of k by t before operation o: [*lo, returned). */
static uint32_t own_writes(const checker *c, txn_id t, key_id k, op_id o, uint32_t *lo)
{
    uint32_t a = c->w_first[t], b = c->w_first[t + 1];
    while (a < b) {
        uint32_t mid = a + (b - a) / 2;
        if (c->w_key.at[mid] < k)
            a = mid + 1;
        else
            b = mid;
    }
    *lo = a;
    while (a < c->w_first[t + 1] && c->w_key.at[a] == k && c->w_op[a] < o) a++;
    return a;
}

/* The write of k that t installs (LEVELS.md 1: its last), or NO_ID. */
static uint32_t install(const checker *c, txn_id t, key_id k)
{
    uint32_t lo, hi = own_writes(c, t, k, NO_ID, &lo);
    return lo < hi ? hi - 1 : NO_ID;
}

static bool installed(const checker *c, uint32_t w)
{
    return w + 1 == c->w_first[c->w_txn[w] + 1] || c->w_key.at[w + 1] != c->w_key.at[w];
}

/* Own writes [lo, hi) of a key: does one of them replace the content? */
static bool own_sets(const checker *c, uint32_t lo, uint32_t hi)
{
    for (; lo < hi; lo++)
        if (op_kind_of(c->h, c->w_op[lo]) != OP_APPEND) return true;
    return false;
}

/* Takes the own appends [lo, hi) off the end of x; false if it does not end with them. */
static bool strip(const checker *c, uint32_t lo, uint32_t hi, seq *x)
{
    if (lo < hi && (x->scalar || x->n < hi - lo)) return false;
    for (; lo < hi; hi--)
        if (x->at[--x->n] != c->h->op_value[c->w_op[hi - 1]]) return false;
    return true;
}

/* Is x what the own writes [lo, hi), the last replacing one and the appends behind it, left? */
static bool own_value(const checker *c, uint32_t lo, uint32_t hi, seq x)
{
    uint32_t set = hi;
    while (op_kind_of(c->h, c->w_op[set - 1]) == OP_APPEND && set - 1 > lo) set--;
    value_id written = plain(c->h->op_value[c->w_op[set - 1]]);
    seq base = content(c->h, &written);
    if (!strip(c, set, hi, &x)) return false;
    /* appending to a plain value makes a list of the two */
    if (set < hi && base.scalar && x.n == 1) x.scalar = true;
    return same(base, x);
}

typedef struct hint {
    bool given, init;
    label from;
} hint;

/* The writer that the history names for what o returned of k; a version set outranks rows. */
static hint hint_of(const checker *c, op_id o, key_id k)
{
    const history *h = c->h;
    hint x = {0};
    if (!(h->op_kind[o] & OP_ATTR)) return x;
    bool ranged = op_kind_of(h, o) == OP_SCAN || op_kind_of(h, o) == OP_ITER;
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    for (; a < end && a->op == o; a++) {
        bool set = ranged && (a->kind == ATTR_VSET || a->kind == ATTR_VSET_INIT) && a->key == k;
        bool row = false;
        if (ranged && (a->kind == ATTR_ROW_FROM || a->kind == ATTR_ROW_FROM_INIT)) {
            const range *r = &h->ranges.at[h->op_key[o]];
            row = a->key < r->rows && h->row_key.at[r->first_row + a->key] == k;
        }
        bool point = !ranged && (a->kind == ATTR_FROM || a->kind == ATTR_FROM_INIT);
        if (!set && !row && !point) continue;
        x.given = true;
        x.init =
            a->kind == ATTR_VSET_INIT || a->kind == ATTR_ROW_FROM_INIT || a->kind == ATTR_FROM_INIT;
        x.from = a->a;
        if (set) break;
    }
    return x;
}

/* May the read o, with this hint, have seen write w (NO_ID: the initial state) of its key? */
static bool allowed(const checker *c, op_id o, hint x, bool absent, uint32_t w)
{
    const history *h = c->h;
    /* a row read as a tombstone was deleted with one */
    if (absent && h->op_kind[o] & OP_TOMB && (w == NO_ID || !(h->op_kind[c->w_op[w]] & OP_TOMB)))
        return false;
    if (!x.given) return true;
    return w == NO_ID ? x.init : !x.init && h->txn_label[c->w_txn[w]] == x.from;
}

static bool malformed(const history *h, const range *r)
{
    uint32_t lo, hi;
    range_ranks(h, r, &lo, &hi);
    for (uint32_t i = 0; i < r->rows; i++) {
        const key_id *k = &h->row_key.at[r->first_row + i];
        value_id x = h->row_value.at[r->first_row + i];
        uint32_t rank = h->key_rank[*k];
        if (rank < lo || rank >= hi || x == VALUE_NULL || x == VALUE_UNKNOWN) return true;
        if (i && (r->reverse ? h->key_rank[k[-1]] <= rank : h->key_rank[k[-1]] >= rank))
            return true;
    }
    return false;
}

/* A scan read every key that it covers (LEVELS.md 1, 5.3); rows stand in the order of keys. */
static bool visit_range(checker *c, txn_id t, op_id o, read_fn fn)
{
    const history *h = c->h;
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi, row = r->first_row, end = r->first_row + r->rows;
    range_ranks(h, r, &lo, &hi);
    if (!r->done) { /* nothing is known past the last item */
        if (!r->rows) return true;
        uint32_t at = h->key_rank[h->row_key.at[end - 1]];
        if (r->reverse)
            lo = at;
        else
            hi = at + 1;
    }
    for (uint32_t i = 0; i < hi - lo; i++) {
        key_id k = h->key_sorted[r->reverse ? hi - 1 - i : lo + i];
        if (row < end && h->row_key.at[row] == k) {
            if (!fn(c, t, o, k, plain(h->row_value.at[row++]))) return false;
        } else if (c->exists[k] && !fn(c, t, o, k, VALUE_NULL)) {
            return false;
        }
    }
    return !too_large(c, hi - lo);
}

/* Calls fn for every key and value that t was shown, in program order. */
static bool visit(checker *c, txn_id t, read_fn fn)
{
    const history *h = c->h;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (h->op_kind[o] & OP_FAILED) continue;
        enum op_kind kind = op_kind_of(h, o);
        if (kind == OP_SCAN || kind == OP_ITER) {
            if (malformed(h, &h->ranges.at[h->op_key[o]])) return no(c, t, "malformed result");
            if (!visit_range(c, t, o, fn)) return false;
        } else if (kind == OP_READ && h->op_value[o] != VALUE_UNKNOWN) {
            if (!fn(c, t, o, h->op_key[o], plain(h->op_value[o]))) return false;
        }
    }
    guard_tick(c->m->guard);
    return true;
}

/* --- the order -------------------------------------------------------------------------------- */

static bool load_order(checker *c)
{
    const verdict *v = c->v;
    const history *h = c->h;
    c->n = v->ordered;
    c->place = mem_array0(c->m, uint32_t, h->txns + 1);
    c->so_pred = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (uint32_t i = 0; i < c->n; i++) {
        txn_id t = v->order[i];
        if (t >= h->txns) return no(c, NO_ID, "the order names a transaction that is not there");
        if (c->place[t]) return no(c, t, "stands twice in the order");
        if (txn_status_of(h, t) == TXN_ABORTED) return no(c, t, "aborted, but in the order");
        c->place[t] = i + 1;
    }
    for (size_t s = 0; s < h->sessions.n; s++) {
        uint32_t before = 0;
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1]; j++) {
            txn_id t = h->sess_txn[j];
            bool committed = txn_status_of(h, t) == TXN_COMMITTED;
            uint32_t p = c->place[t];
            if (committed && !p) return no(c, t, "committed, but not in the order");
            if (!p || !v->session_order) continue;
            if (p < before) return no(c, t, "stands before its session predecessor");
            c->so_pred[p] = before;
            if (committed) before = p; /* nothing follows from an unknown outcome (1) */
        }
    }
    return true;
}

/* Version positions rise along the order; they count on the installed write only. */
static bool check_positions(checker *c)
{
    const history *h = c->h;
    bool any = false;
    for (size_t i = 0; i < h->attrs.n; i++) any = any || h->attrs.at[i].kind == ATTR_VER;
    if (!any) return true;
    int64_t *at = mem_array(c->m, int64_t, history_keys(h) + 1);
    uint8_t *known = mem_array0(c->m, uint8_t, history_keys(h) + 1);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
            op_id o = c->w_op[w];
            key_id k = c->w_key.at[w];
            if (!installed(c, w) || !(h->op_kind[o] & OP_ATTR)) continue;
            for (const attr *a = op_attrs(h, o); a < h->attrs.at + h->attrs.n && a->op == o; a++) {
                if (a->kind != ATTR_VER) continue;
                if (known[k] && at[k] >= (int64_t)a->a)
                    return no(c, t, "the order goes against a version position");
                known[k] = 1;
                at[k] = (int64_t)a->a;
            }
        }
    }
    mem_put(c->m, at);
    mem_put(c->m, known);
    return true;
}

static void load_choices(checker *c)
{
    size_t n = 16;
    while (n < 2 * c->v->choices.n) n *= 2;
    c->choice = mem_array0(c->m, uint32_t, n);
    c->choice_mask = n - 1;
    for (uint32_t i = 0; i < c->v->choices.n; i++) {
        const chosen *x = &c->v->choices.at[i];
        size_t at = (size_t)hash_pair(x->op, x->key) & c->choice_mask;
        while (c->choice[at]) at = (at + 1) & c->choice_mask;
        c->choice[at] = i + 1;
    }
}

static const chosen *choice_of(const checker *c, op_id o, key_id k)
{
    size_t at = (size_t)hash_pair(o, k) & c->choice_mask;
    for (; c->choice[at]; at = (at + 1) & c->choice_mask) {
        const chosen *x = &c->v->choices.at[c->choice[at] - 1];
        if (x->op == o && x->key == k) return x;
    }
    return NULL;
}

/* --- external reads and their writers --------------------------------------------------------- */

/* Is what t read internal (LEVELS.md 5.1; of lists only *must*)?  -1: it should be, and is not. */
static int internal(const checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    uint32_t lo, hi = own_writes(c, t, k, o, &lo);
    enum ryow policy = c->is_list[k] ? RYOW_MUST : c->v->ryow;
    if (lo == hi || policy == RYOW_EXTERNAL || !own_sets(c, lo, hi)) return 0;
    hint f = hint_of(c, o, k);
    bool own = !f.given || (!f.init && f.from == c->h->txn_label[t]);
    if (own && own_value(c, lo, hi, content(c->h, &x))) return 1;
    return policy == RYOW_MUST ? -1 : 0;
}

static bool collect(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    int own = internal(c, t, o, k, x);
    if (own < 0) return no(c, t, "did not read its own write");
    seen r = {k, o, x};
    if (!own) vec_push(c->m, &c->reads, r);
    return true;
}

static bool collect_all(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    (void)t;
    seen r = {k, o, x};
    vec_push(c->m, &c->reads, r);
    return true;
}

static bool load_reads(checker *c, read_fn fn)
{
    c->r_first = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (uint32_t p = 1; p <= c->n; p++) {
        c->r_first[p] = (uint32_t)c->reads.n;
        if (!visit(c, c->v->order[p - 1], fn)) return false;
        if (c->reads.n > UINT32_MAX - 16) return no(c, NO_ID, "too large to recheck: 2^32 reads");
    }
    c->r_first[c->n + 1] = (uint32_t)c->reads.n;
    return true;
}

/* A register: by the choice, the hint, or the only transaction that installs the value. */
static bool resolve(checker *c, uint32_t p, seen *r)
{
    txn_id t = c->v->order[p - 1];
    value_id x = r->value;
    hint f = hint_of(c, r->op, r->key);
    const chosen *pick = choice_of(c, r->op, r->key);
    uint32_t writers = 0, w = NO_ID;
    if (pick && pick->writer != NO_ID) {
        if (pick->writer >= c->h->txns || !c->place[pick->writer])
            return no(c, t, "a chosen writer takes no part");
        w = install(c, pick->writer, r->key);
        if (w == NO_ID || plain(c->h->op_value[c->w_op[w]]) != x ||
            !allowed(c, r->op, f, x == VALUE_NULL, w))
            return no(c, t, "a chosen writer did not install what was read");
    } else if (!pick) {
        for (uint32_t i = wrote(c, r->key, x); i && writers < 2; i = c->w_next[i - 1]) {
            bool takes_part = c->place[c->w_txn[i - 1]] && c->w_txn[i - 1] != t;
            if (too_large(c, 1)) return false;
            if (!takes_part || !installed(c, i - 1) ||
                !allowed(c, r->op, f, x == VALUE_NULL, i - 1))
                continue;
            w = i - 1;
            writers++;
        }
    }
    bool initial = (c->init[r->key] == x || c->init[r->key] == FREE) &&
                   allowed(c, r->op, f, x == VALUE_NULL, NO_ID);
    /* a free initial value is only used where nothing else explains the read */
    if (!pick && writers + (initial && !c->open[r->key]) > 1)
        return no(c, t, "a read has several possible writers, and the answer names none");
    if (w == NO_ID) {
        if (!initial) return no(c, t, "read what no transaction of the order installs");
        c->init[r->key] = x; /* one initial value per key (3) */
    }
    r->value = w == NO_ID ? 0 : c->place[c->w_txn[w]];
    if (r->value >= p) return no(c, t, "reads from a transaction that comes later");
    return true;
}

/* --- lists ------------------------------------------------------------------------------------ */

static seq at_version(const checker *c, const version *x)
{
    return (seq){c->text.at + x->base, x->len, x->scalar};
}

/* Applies all that t did to k to the content that ends the text. */
static void apply(checker *c, txn_id t, key_id k, version *x)
{
    uint32_t w, hi = own_writes(c, t, k, NO_ID, &w);
    x->place = c->place[t];
    for (; w < hi; w++) {
        value_id e = plain(c->h->op_value[c->w_op[w]]);
        seq s = {&e, 1, false};
        if (op_kind_of(c->h, c->w_op[w]) != OP_APPEND) {
            *x = (version){x->place, (uint32_t)c->text.n, 0, false, true};
            s = content(c->h, &e);
        }
        for (uint32_t i = 0; i < s.n; i++) vec_push(c->m, &c->text, s.at[i]);
        x->len += s.n;
        x->scalar = s.scalar;
    }
}

/* The versions of a list key along the order, from the given initial content. */
static void replay(checker *c, key_id k, seq init)
{
    version *x = &c->versions[c->v_first[k]];
    x[0] = (version){0, (uint32_t)c->text.n, init.n, init.scalar, false};
    for (uint32_t i = 0; i < init.n; i++) vec_push(c->m, &c->text, init.at[i]);
    for (uint32_t i = 1; i < c->v_first[k + 1] - c->v_first[k]; i++) {
        txn_id t = c->v->order[x[i].place - 1];
        x[i] = x[i - 1];
        apply(c, t, k, &x[i]);
    }
}

/* The version of k that place p installs, or NO_ID. */
static uint32_t version_at(const checker *c, key_id k, uint32_t p)
{
    uint32_t lo = c->v_first[k], hi = c->v_first[k + 1];
    while (lo + 1 < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->versions[mid].place <= p)
            lo = mid;
        else
            hi = mid;
    }
    return c->versions[lo].place == p ? lo : NO_ID;
}

/* What place p read of a list key without its own appends, which *pin it to the version before its
   own (LEVELS.md 5.5).  False: the list does not end with them. */
static bool external(const checker *c, uint32_t p, const seen *r, seq *x, bool *pin)
{
    uint32_t lo, hi = own_writes(c, c->v->order[p - 1], r->key, r->op, &lo);
    *x = content(c->h, &r->value);
    *pin = lo < hi;
    return strip(c, lo, hi, x);
}

/* The version that the answer says was read, or NO_ID if it leaves that to the content. */
static uint32_t named_version(const checker *c, uint32_t p, const seen *r, bool pin)
{
    const chosen *pick = choice_of(c, r->op, r->key);
    if (pick && pick->writer == NO_ID) return c->v_first[r->key];
    if (pick && (pick->writer >= c->h->txns || !c->place[pick->writer])) return NO_ID;
    if (pick) return version_at(c, r->key, c->place[pick->writer]);
    return pin ? version_at(c, r->key, p) - 1 : NO_ID;
}

/* An unknown initial list: what a read of a version that still rests on it shows of it. */
static void find_initial(checker *c, key_id k)
{
    seq init = {0};
    bool direct = false;
    for (uint32_t p = 1; p <= c->n && !direct; p++)
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1] && !direct; i++) {
            seq x;
            bool pin;
            const seen *r = &c->reads.at[i];
            if (r->key != k || !external(c, p, r, &x, &pin)) continue;
            uint32_t v = named_version(c, p, r, pin);
            if (v == NO_ID || c->versions[v].set || c->versions[v].len > x.n) continue;
            direct = c->versions[v].len == 0; /* shows also whether it is a list */
            x.n -= c->versions[v].len;
            init = x;
        }
    replay(c, k, init);
}

static void load_lists(checker *c)
{
    size_t keys = history_keys(c->h), total = 0;
    uint32_t *first = mem_array0(c->m, uint32_t, keys + 2);
    for (key_id k = 0; k < keys; k++) total += c->is_list[k];
    if (!total) return;
    for (key_id k = 0; k < keys; k++) first[k + 1] = c->is_list[k]; /* the initial version */
    for (int fill = 0; fill < 2; fill++) { /* count, then place; along the order both times */
        for (uint32_t p = 1; p <= c->n; p++) {
            txn_id t = c->v->order[p - 1];
            for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
                key_id k = c->w_key.at[w];
                if (!c->is_list[k] || !installed(c, w)) continue;
                if (fill) c->versions[first[k] + ++c->last[k]].place = p;
                first[k + 1] += !fill;
                total++;
            }
        }
        if (fill) break;
        for (size_t k = 0; k < keys; k++) first[k + 1] += first[k];
        c->versions = mem_array(c->m, version, total + 1);
    }
    c->v_first = first;
    memset(c->last, 0, keys * sizeof *c->last);
    for (key_id k = 0; k < keys; k++) {
        if (!c->is_list[k]) continue;
        value_id x = c->open[k] ? VALUE_NULL : c->h->key_init[k];
        replay(c, k, content(c->h, &x));
        if (c->open[k]) find_initial(c, k);
    }
}

/* The version whose content is x: by its length where there are only appends, which lengthen it
   each time; else the only one of all. */
static uint32_t find_version(checker *c, uint32_t p, key_id k, seq x)
{
    uint32_t lo = c->v_first[k], hi = c->v_first[k + 1], found = NO_ID;
    if (!c->versions[hi - 1].set) {
        while (lo + 1 < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (c->versions[mid].len <= x.n)
                lo = mid;
            else
                hi = mid;
        }
        return lo;
    }
    for (; lo < hi; lo++) {
        if (c->versions[lo].place == p || !same(at_version(c, &c->versions[lo]), x)) continue;
        if (found != NO_ID) return NO_ID;
        found = lo;
    }
    return found;
}

static bool resolve_list(checker *c, uint32_t p, seen *r)
{
    txn_id t = c->v->order[p - 1];
    seq x;
    bool pin;
    if (!external(c, p, r, &x, &pin)) return no(c, t, "did not read its own appends");
    uint32_t v = named_version(c, p, r, pin);
    if (v == NO_ID && choice_of(c, r->op, r->key))
        return no(c, t, "a chosen writer does not install the list");
    if (v == NO_ID) v = find_version(c, p, r->key, x);
    if (v == NO_ID || !same(at_version(c, &c->versions[v]), x))
        return no(c, t, "read a list that the appends in this order do not give");
    uint32_t from = c->versions[v].place;
    if (pin && v + 1 != version_at(c, r->key, p))
        return no(c, t, "read another list than the one it appended to");
    uint32_t w = from ? install(c, c->v->order[from - 1], r->key) : NO_ID;
    hint f = hint_of(c, r->op, r->key);
    if (pin && f.given && !f.init && f.from == c->h->txn_label[t]) f.given = false;
    if (!allowed(c, r->op, f, x.n == 0, w)) return no(c, t, "a list read goes against its hint");
    r->value = from;
    return from < p || no(c, t, "reads from a transaction that comes later");
}

static bool resolve_all(checker *c)
{
    for (uint32_t p = 1; p <= c->n; p++) {
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            seen *r = &c->reads.at[i];
            if (!(c->is_list[r->key] ? resolve_list(c, p, r) : resolve(c, p, r))) return false;
        }
        guard_tick(c->m->guard);
    }
    return true;
}

/* --- the axiom -------------------------------------------------------------------------------- */

static void see_key(checker *c, key_id k, uint32_t p)
{
    if (c->stamp[k] != c->epoch) {
        c->stamp[k] = c->epoch;
        c->last[k] = 0;
    }
    if (c->last[k] < p) c->last[k] = p;
}

/* p2 is visible from now on: what it installs counts. */
static void see(checker *c, uint32_t p2)
{
    txn_id t = c->v->order[p2 - 1];
    for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) see_key(c, c->w_key.at[w], p2);
}

/* The same, once, for the reads of p3 alone: whichever of p2's writes and p3's reads are fewer. */
static bool see_for(checker *c, uint32_t p2, uint32_t p3)
{
    if (!p2 || c->source[p2] == p3) return true;
    c->source[p2] = p3;
    txn_id t = c->v->order[p2 - 1];
    uint32_t writes = c->w_first[t + 1] - c->w_first[t], lo = c->r_first[p3];
    uint32_t reads = c->r_first[p3 + 1] - lo;
    if (writes <= 8 || writes < 4 * reads) {
        see(c, p2);
    } else {
        for (uint32_t i = lo; i < lo + reads; i++)
            if (install(c, t, c->reads.at[i].key) != NO_ID) see_key(c, c->reads.at[i].key, p2);
    }
    return !too_large(c, (writes < 4 * reads ? writes : 4 * reads) + 1);
}

/* No visible installer of the key is later than the one that was read. */
static bool check_read(checker *c, uint32_t p3, uint32_t i)
{
    const seen *r = &c->reads.at[i];
    if (c->stamp[r->key] != c->epoch || c->last[r->key] <= r->value) return true;
    return no(c, c->v->order[p3 - 1], "read past a transaction that was visible to it");
}

/* Monotonic atomic view: visible is what an earlier operation of t3 read from.  The reads of one
   scan are simultaneous. */
static bool check_mav(checker *c)
{
    for (uint32_t p = 1; p <= c->n; p++) {
        c->epoch++;
        for (uint32_t i = c->r_first[p], j; i < c->r_first[p + 1]; i = j) {
            for (j = i; j < c->r_first[p + 1] && c->reads.at[j].op == c->reads.at[i].op; j++)
                if (!check_read(c, p, j)) return false;
            for (uint32_t s = i; s < j; s++)
                if (!see_for(c, c->reads.at[s].value, p)) return false;
        }
    }
    return true;
}

/* Read atomic: visible is what t3 reads from, and what came before it in its session. */
static bool check_ra(checker *c)
{
    const history *h = c->h;
    size_t keys = history_keys(h);
    uint32_t *by = mem_array0(c->m, uint32_t, keys + 1); /* session + 1 that session_last is of */
    c->session_last = mem_array0(c->m, uint32_t, keys + 1);
    for (uint32_t j = 0; j < h->txns; j++) {
        txn_id t = h->sess_txn[j];
        uint32_t p = c->place[t], s = h->txn_session[t] + 1;
        if (!p) continue;
        c->epoch++;
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            key_id k = c->reads.at[i].key;
            if (by[k] == s) see_key(c, k, c->session_last[k]);
            if (!see_for(c, c->reads.at[i].value, p)) return false;
        }
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (!check_read(c, p, i)) return false;
        if (!c->v->session_order || txn_status_of(h, t) != TXN_COMMITTED) continue;
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
            by[c->w_key.at[w]] = s;
            c->session_last[c->w_key.at[w]] = p;
        }
    }
    return true;
}

/* --- causality -------------------------------------------------------------------------------- */

/* Paths of session order and read-from that cover all transactions.  A session is one, while
   session order counts and all outcomes are known. */
typedef struct chains {
    uint32_t n;
    uint32_t *of, *rank;      /* per place; ranks from 1 */
    uint32_t *first, *member; /* places by chain */
    uint32_t *clock;          /* per place: of each chain at hand, the rank of the last member
                                 that reaches it; 0: none */
} chains;

static void make_chains(checker *c, chains *x)
{
    x->of = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    x->rank = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    uint32_t *tail = mem_array(c->m, uint32_t, (size_t)c->n + 1); /* per chain */
    for (uint32_t p = 1; p <= c->n; p++) {
        uint32_t q = c->so_pred[p];
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            if (q && tail[x->of[q]] == q) break;
            q = c->reads.at[i].value;
        }
        bool goes_on = q && tail[x->of[q]] == q;
        x->of[p] = goes_on ? x->of[q] : x->n++;
        x->rank[p] = goes_on ? x->rank[q] + 1 : 1;
        tail[x->of[p]] = p;
    }
    x->first = mem_array0(c->m, uint32_t, (size_t)x->n + 2);
    x->member = mem_array(c->m, uint32_t, (size_t)c->n + 1);
    for (uint32_t p = 1; p <= c->n; p++) x->first[x->of[p] + 1]++;
    for (uint32_t i = 0; i < x->n; i++) x->first[i + 1] += x->first[i];
    for (uint32_t p = 1; p <= c->n; p++) x->member[x->first[x->of[p]] + x->rank[p] - 1] = p;
    mem_put(c->m, tail);
}

static void join(const chains *x, uint32_t *row, uint32_t q, uint32_t lo, uint32_t width)
{
    const uint32_t *other = x->clock + (size_t)q * width;
    for (uint32_t i = 0; i < width; i++) row[i] = row[i] < other[i] ? other[i] : row[i];
    uint32_t own = x->of[q] - lo;
    if (own < width && row[own] < x->rank[q]) row[own] = x->rank[q];
}

/* Clocks grow along a chain: what becomes visible to it stays so. */
static bool check_chain(checker *c, const chains *x, uint32_t ch, uint32_t lo, uint32_t width)
{
    uint32_t at[WIDTH] = {0};
    c->epoch++;
    for (uint32_t j = x->first[ch]; j < x->first[ch + 1]; j++) {
        uint32_t p = x->member[j];
        const uint32_t *row = x->clock + (size_t)p * width;
        if (c->r_first[p] == c->r_first[p + 1]) continue;
        for (uint32_t i = 0; i < width; i++)
            for (; at[i] < row[i]; at[i]++) see(c, x->member[x->first[lo + i] + at[i]]);
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (!check_read(c, p, i)) return false;
    }
    guard_poll(c->m->guard);
    return true;
}

static bool check_clocks(checker *c, chains *x)
{
    uint32_t width = x->n < WIDTH ? x->n : WIDTH;
    x->clock = mem_array(c->m, uint32_t, mem_bytes(c->m, (size_t)c->n + 1, width));
    for (uint32_t lo = 0; lo < x->n; lo += width) {
        for (uint32_t p = 1; p <= c->n; p++) {
            uint32_t *row = x->clock + (size_t)p * width;
            memset(row, 0, width * sizeof *row);
            if (c->so_pred[p]) join(x, row, c->so_pred[p], lo, width);
            for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
                if (c->reads.at[i].value) join(x, row, c->reads.at[i].value, lo, width);
            guard_tick(c->m->guard);
        }
        for (uint32_t ch = 0; ch < x->n; ch++)
            if (!check_chain(c, x, ch, lo, width)) return false;
    }
    return true;
}

/* Many short chains: then the past of each transaction is walked instead. */
static bool check_walks(checker *c)
{
    VEC(uint32_t) todo = {0};
    for (uint32_t p3 = 1; p3 <= c->n; p3++) {
        if (c->r_first[p3] == c->r_first[p3 + 1]) continue;
        c->epoch++;
        todo.n = 0;
        vec_push(c->m, &todo, p3);
        while (todo.n) {
            uint32_t p = todo.at[--todo.n];
            if (p != p3 && c->source[p] == p3) continue;
            if (p != p3 && !see_for(c, p, p3)) return false;
            for (uint32_t i = c->r_first[p]; i <= c->r_first[p + 1]; i++) {
                uint32_t q = i < c->r_first[p + 1] ? c->reads.at[i].value : c->so_pred[p];
                if (q && c->source[q] != p3) vec_push(c->m, &todo, q);
            }
            if (too_large(c, c->r_first[p + 1] - c->r_first[p] + 1)) return false;
        }
        for (uint32_t i = c->r_first[p3]; i < c->r_first[p3 + 1]; i++)
            if (!check_read(c, p3, i)) return false;
    }
    return true;
}

static bool check_causal(checker *c)
{
    chains x = {0};
    make_chains(c, &x);
    uint64_t each = (uint64_t)c->n + c->reads.n + c->w_key.n + 1;
    return x.n < WORK / each ? check_clocks(c, &x) : check_walks(c);
}

/* --- read-uncommitted ------------------------------------------------------------------------- */

/* Written by nobody, of whatever status, and not initial (LEVELS.md 2); of lists, element by
   element; an empty one needs a delete. */
static bool garbage(const checker *c, key_id k, seq x, seq init)
{
    bool bad = !x.n && !wrote(c, k, VALUE_NULL);
    for (uint32_t i = 0; i < x.n; i++) {
        uint32_t w = wrote(c, k, x.at[i]);
        while (w && x.scalar && op_kind_of(c->h, c->w_op[w - 1]) == OP_APPEND) w = c->w_next[w - 1];
        bad = bad || (!w && (x.scalar || !contains(init, x.at[i])));
    }
    return bad && !same(x, init);
}

/* The elements of a list come from writers in version order, and those before own appends from
   writers before the reader (4.1, 5.5; test/oracle/README.md).  Each may come from anyone who wrote
   it, so the earliest possible writer is best; one that takes no part constrains nothing. */
static bool in_order(checker *c, uint32_t p, const seen *r, seq x, seq init, bool own_appends)
{
    uint32_t reached = 0;
    for (uint32_t i = 0; i < x.n && !x.scalar; i++) {
        uint32_t best = NO_ID, any = wrote(c, r->key, x.at[i]);
        bool initial = contains(init, x.at[i]), free_choice = !any && !initial;
        if (initial && !reached) best = 0;
        for (uint32_t w = any; w; w = c->w_next[w - 1]) {
            uint32_t q = c->place[c->w_txn[w - 1]];
            if (!q) free_choice = true;
            if (q && q >= reached && q < best) best = q;
        }
        if (!free_choice && best == NO_ID) return false;
        if (!free_choice) reached = best;
    }
    return !own_appends || reached <= p;
}

static bool check_ru_read(checker *c, uint32_t p, const seen *r, seq init)
{
    txn_id t = c->v->order[p - 1];
    uint32_t lo, hi = own_writes(c, t, r->key, r->op, &lo);
    bool sets = own_sets(c, lo, hi), appends = lo < hi && !sets;
    seq x = content(c->h, &r->value), rest = x;
    /* own writes are not judged at this level, nor are they garbage */
    bool judged = appends ? strip(c, lo, hi, &rest) : !internal(c, t, r->op, r->key, r->value);
    if (judged && garbage(c, r->key, rest, init)) {
        if (c->is_list[r->key] || c->init[r->key] != FREE)
            return no(c, t, "a value that nobody wrote");
        c->init[r->key] = r->value; /* then it was there before the trace */
    }
    if (too_large(c, (uint64_t)x.n * (1 + init.n))) return false;
    return in_order(c, p, r, x, init, appends) ||
           no(c, t, "a list shows its elements against the order");
}

/* All reads of key k (NO_ID: of all keys but lists of unknown initial content). */
static bool check_ru_key(checker *c, key_id k, seq init)
{
    for (uint32_t p = 1; p <= c->n; p++)
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            const seen *r = &c->reads.at[i];
            if (k == NO_ID ? c->open[r->key] && c->is_list[r->key] : r->key != k) continue;
            if (k == NO_ID) init = content(c->h, &c->init[r->key]);
            if (!check_ru_read(c, p, r, init)) return false;
        }
    return true;
}

/* An unknown initial list may be any: absent, or what was read, or the beginning of it. */
static bool check_ru_open(checker *c, key_id k)
{
    if (check_ru_key(c, k, (seq){0})) return true;
    for (size_t i = 0; i < c->reads.n; i++) {
        if (c->reads.at[i].key != k) continue;
        for (seq x = content(c->h, &c->reads.at[i].value); x.n; x.n--)
            if (check_ru_key(c, k, x)) return true;
    }
    return false;
}

static bool check_ru(checker *c)
{
    if (!check_ru_key(c, NO_ID, (seq){0})) return false;
    for (key_id k = 0; k < history_keys(c->h); k++)
        if (c->open[k] && c->is_list[k] && !check_ru_open(c, k)) return false;
    return true;
}

static bool check_holds(checker *c)
{
    enum level_id level = c->v->level.id;
    bool weak = level == LEVEL_RU || level == LEVEL_RC || level == LEVEL_MAV || level == LEVEL_RA ||
                level == LEVEL_CC;
    if (!weak || c->v->level.realtime) return no(c, NO_ID, "no recheck for this level yet");
    if (!load_order(c)) return false;
    load_writes(c);
    load_keys(c);
    load_choices(c);
    if (!check_positions(c) || !load_reads(c, level == LEVEL_RU ? collect_all : collect))
        return false;
    if (level == LEVEL_RU) return check_ru(c);
    size_t keys = history_keys(c->h);
    c->last = mem_array0(c->m, uint32_t, keys + 1);
    c->stamp = mem_array0(c->m, uint32_t, keys + 1);
    c->source = mem_array0(c->m, uint32_t, (size_t)c->n + 1);
    load_lists(c);
    if (!resolve_all(c)) return false;
    mem_put(c->m, c->slot); /* nothing is looked up by value any more */
    mem_put(c->m, c->w_next);
    switch (level) {
    case LEVEL_MAV: return check_mav(c);
    case LEVEL_RA: return check_ra(c);
    case LEVEL_CC: return check_causal(c);
    default: return true; /* read-committed: writers come before readers, and that is all */
    }
}

/* --- violations: faults ----------------------------------------------------------------------- */

/* Is some other value that nobody wrote read of k?  Then that is its unknown initial value. */
static bool find_other(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    if (k == c->key && x != c->init[k] && !internal(c, t, o, k, x) && !wrote(c, k, x))
        c->found = true;
    return !c->found;
}

static bool initial(checker *c, key_id k, value_id x)
{
    if (!c->open[k]) return c->init[k] == x;
    c->key = k;
    c->init[k] = x;
    c->found = false;
    for (txn_id t = 0; t < c->h->txns && !c->found; t++)
        if (txn_status_of(c->h, t) == TXN_COMMITTED) visit(c, t, find_other);
    bool taken = c->found;
    c->found = false;
    return !taken;
}

/* Who wrote x to k: bits of the anomalies that a read of it by t, which nobody explains, shows. */
enum { BY_ABORTED = 1, BY_ITSELF = 2, BY_OTHER = 4 };
static unsigned writers_of(const checker *c, txn_id t, key_id k, value_id x)
{
    unsigned by = 0;
    for (uint32_t w = wrote(c, k, x); w; w = c->w_next[w - 1]) {
        txn_id u = c->w_txn[w - 1];
        by |= txn_status_of(c->h, u) == TXN_ABORTED ? BY_ABORTED : u == t ? BY_ITSELF : BY_OTHER;
    }
    return by;
}

static bool shows(uint32_t anomaly, unsigned by)
{
    switch (anomaly) {
    case ANOMALY_GARBAGE_READ: return !by;
    case ANOMALY_ABORTED_READ: return by & BY_ABORTED;
    case ANOMALY_FUTURE_READ: return by & BY_ITSELF;
    case ANOMALY_INTERMEDIATE_READ: return by & BY_OTHER;
    default: return false;
    }
}

/* Transactions other than t that can have been read: not aborted, installing x at k. */
static uint32_t candidate(const checker *c, txn_id t, op_id o, key_id k, value_id x, txn_id except)
{
    hint f = hint_of(c, o, k);
    for (uint32_t w = wrote(c, k, x); w; w = c->w_next[w - 1]) {
        txn_id u = c->w_txn[w - 1];
        if (u != t && u != except && txn_status_of(c->h, u) != TXN_ABORTED && installed(c, w - 1) &&
            allowed(c, o, f, x == VALUE_NULL, w - 1))
            return w - 1;
    }
    return NO_ID;
}

/* Write b right behind write a (NO_ID: the initial list): no sequence of whole transactions. */
static bool torn(const checker *c, uint32_t a, uint32_t b)
{
    if (a != NO_ID && c->w_txn[a] == c->w_txn[b]) return b != a + 1;
    bool starts = b == c->w_first[c->w_txn[b]] || c->w_key.at[b - 1] != c->w_key.at[b];
    return !starts || (a != NO_ID && !installed(c, a));
}

/* The only write of element e of k that is not aborted, or NO_ID. */
static uint32_t appender(const checker *c, key_id k, value_id e)
{
    uint32_t one = NO_ID;
    for (uint32_t w = wrote(c, k, e); w; w = c->w_next[w - 1]) {
        if (txn_status_of(c->h, c->w_txn[w - 1]) == TXN_ABORTED) continue;
        if (one != NO_ID) return NO_ID;
        one = w - 1;
    }
    return one;
}

/* Does the list contradict the initial one, the appends, or a list that the core read before? */
static bool incompatible(checker *c, key_id k, seq x)
{
    seq init = content(c->h, &c->init[k]);
    uint32_t before = NO_ID;
    if (init.n > x.n || !same((seq){x.at, init.n, false}, init)) return true;
    for (uint32_t i = init.n; i < x.n; i++) {
        uint32_t w = appender(c, k, x.at[i]);
        if (w == NO_ID) return contains(init, x.at[i]);
        if (c->used[w]) return true;
        if (torn(c, before, w)) return true;
        c->used[w] = 1;
        before = w;
    }
    for (uint32_t i = init.n; i < x.n; i++) c->used[appender(c, k, x.at[i])] = 0;
    for (size_t i = 0; i < c->reads.n; i++) {
        if (c->reads.at[i].key != k) continue;
        seq y = content(c->h, &c->reads.at[i].value);
        if (!y.scalar && memcmp(x.at, y.at, (x.n < y.n ? x.n : y.n) * sizeof *x.at)) return true;
    }
    return false;
}

static bool list_shows(checker *c, txn_id t, key_id k, value_id value, seq x)
{
    uint32_t anomaly = c->v->anomaly;
    seq init = content(c->h, &c->init[k]);
    if (x.scalar) return shows(anomaly, writers_of(c, t, k, value));
    if (!x.n) return init.n && shows(anomaly, writers_of(c, t, k, VALUE_NULL));
    bool last_only = anomaly == ANOMALY_INTERMEDIATE_READ;
    for (uint32_t i = last_only ? x.n - 1 : 0; i < x.n; i++) {
        unsigned by = contains(init, x.at[i]) ? BY_OTHER : writers_of(c, t, k, x.at[i]);
        if (last_only) {
            uint32_t w = appender(c, k, x.at[i]);
            return w != NO_ID && c->w_txn[w] != t && !installed(c, w);
        }
        if (anomaly == ANOMALY_ABORTED_READ ? by == BY_ABORTED : shows(anomaly, by)) return true;
    }
    return false;
}

/* Does this read show the anomaly that the answer names?  Found: stops. */
static bool find_fault(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    int own = internal(c, t, o, k, x);
    uint32_t lo, hi = own_writes(c, t, k, o, &lo);
    seq s = content(c->h, &x);
    bool ends = !c->is_list[k] || own_sets(c, lo, hi) || strip(c, lo, hi, &s);
    if (c->v->anomaly == ANOMALY_INCOMPATIBLE_ORDER) {
        c->found =
            c->is_list[k] && !content(c->h, &x).scalar && incompatible(c, k, content(c->h, &x));
    } else if (own < 0 || !ends) {
        c->found = c->v->anomaly == ANOMALY_NOT_OWN_WRITE;
    } else if (!own && c->is_list[k]) {
        c->found = list_shows(c, t, k, x, s);
    } else if (!own && c->v->anomaly != ANOMALY_NOT_OWN_WRITE) {
        hint f = hint_of(c, o, k);
        bool init = allowed(c, o, f, x == VALUE_NULL, NO_ID) && initial(c, k, x);
        c->found = !init && candidate(c, t, o, k, x, NO_ID) == NO_ID &&
                   shows(c->v->anomaly, writers_of(c, t, k, x));
    }
    seen r = {k, o, x};
    if (c->is_list[k]) vec_push(c->m, &c->reads, r);
    return !c->found;
}

static bool check_fault(checker *c)
{
    const history *h = c->h;
    c->used = mem_array0(c->m, uint8_t, c->w_key.n + 1);
    for (size_t i = 0; i < c->v->core.n && !c->found; i++) {
        txn_id t = c->v->core.at[i];
        if (txn_status_of(h, t) == TXN_ABORTED) continue;
        bool bad_scan = false;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            bad_scan = bad_scan || (!(h->op_kind[o] & OP_FAILED) && op_kind_of(h, o) >= OP_SCAN &&
                                    malformed(h, &h->ranges.at[h->op_key[o]]));
        if (c->v->anomaly == ANOMALY_MALFORMED_RESULT)
            c->found = bad_scan;
        else
            visit(c, t, find_fault);
    }
    return c->found || no(c, NO_ID, "no read of the named transactions shows the anomaly");
}

/* --- violations: cycles ----------------------------------------------------------------------- */

/* to has an external read of key whose value from installs (of a list: its last element). */
static bool find_wr(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    if (k != c->key || internal(c, t, o, k, x)) return true;
    uint32_t lo, hi = own_writes(c, t, k, o, &lo), w = install(c, c->from, k);
    seq s = content(c->h, &x);
    if (c->is_list[k] && !own_sets(c, lo, hi) && !strip(c, lo, hi, &s)) return true;
    bool is_last = s.n && c->h->op_value[c->w_op[w]] == s.at[s.n - 1];
    c->found = (c->is_list[k] ? is_last : plain(c->h->op_value[c->w_op[w]]) == x) &&
               allowed(c, o, hint_of(c, o, k), x == VALUE_NULL, w);
    return !c->found;
}

/* from has an external read of key that can have seen a version other than the one of to. */
static bool find_rw(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    if (k != c->key || internal(c, t, o, k, x)) return true;
    uint32_t w = install(c, c->to, k);
    value_id y = plain(c->h->op_value[c->w_op[w]]);
    if (c->is_list[k])
        c->found = !contains(content(c->h, &x), y);
    else
        c->found =
            x != y || c->open[k] || c->init[k] == x || candidate(c, t, o, k, x, c->to) != NO_ID;
    return !c->found;
}

static bool check_edge(checker *c, const cycle_link *e)
{
    const history *h = c->h;
    c->from = e->from;
    c->to = e->to;
    c->key = e->key;
    c->found = false;
    if (e->from >= h->txns || e->to >= h->txns || e->from == e->to)
        return no(c, NO_ID, "an edge of the cycle is none");
    if (txn_status_of(h, e->from) == TXN_ABORTED || txn_status_of(h, e->to) == TXN_ABORTED)
        return no(c, e->from, "an aborted transaction on the cycle");
    if (!strcmp(e->edge, "so"))
        return (c->v->session_order && txn_status_of(h, e->from) == TXN_COMMITTED &&
                h->txn_session[e->from] == h->txn_session[e->to] && e->from < e->to) ||
               no(c, e->from, "a session edge that is none");
    if (e->key >= history_keys(h)) return no(c, e->from, "an edge without its key");
    bool from = install(c, e->from, e->key) != NO_ID, to = install(c, e->to, e->key) != NO_ID;
    if (!strcmp(e->edge, "ww")) {
        c->found = from && to;
    } else if (!strcmp(e->edge, "wr")) {
        if (from) visit(c, e->to, find_wr);
    } else if (!strcmp(e->edge, "rw")) {
        if (to) visit(c, e->from, find_rw);
    }
    return c->found || no(c, e->from, "an edge of the cycle that the history does not show");
}

static bool is_fault(uint32_t anomaly)
{
    return anomaly == ANOMALY_ABORTED_READ || anomaly == ANOMALY_INTERMEDIATE_READ ||
           anomaly == ANOMALY_GARBAGE_READ || anomaly == ANOMALY_FUTURE_READ ||
           anomaly == ANOMALY_NOT_OWN_WRITE || anomaly == ANOMALY_MALFORMED_RESULT ||
           anomaly == ANOMALY_INCOMPATIBLE_ORDER;
}

static bool check_cycle(checker *c)
{
    const verdict *v = c->v;
    size_t n = v->cycle.n, reads = 0, anti = 0;
    for (size_t i = 0; i < n; i++) {
        if (v->cycle.at[i].to != v->cycle.at[(i + 1) % n].from)
            return no(c, NO_ID, "the cycle is not closed");
        if (!check_edge(c, &v->cycle.at[i])) return false;
        reads += !strcmp(v->cycle.at[i].edge, "wr");
        anti += !strcmp(v->cycle.at[i].edge, "rw");
    }
    bool misnamed = is_fault(v->anomaly) || (v->anomaly == ANOMALY_DIRTY_WRITE && reads + anti) ||
                    (v->anomaly == ANOMALY_CIRCULAR_INFORMATION_FLOW && anti);
    return !misnamed || no(c, NO_ID, "the cycle is not of the kind that the answer names");
}

static bool check_violated(checker *c)
{
    const verdict *v = c->v;
    static const char searched[] = "reads are ambiguous";
    for (size_t i = 0; i < v->core.n; i++)
        if (v->core.at[i] >= c->h->txns) return no(c, NO_ID, "the core names nobody");
    if (v->reason && !strncmp(v->reason, searched, sizeof searched - 1)) return true;
    load_writes(c);
    load_keys(c);
    if (v->cycle.n) return check_cycle(c);
    if (!is_fault(v->anomaly)) return no(c, NO_ID, "neither a fault nor a cycle");
    return check_fault(c);
}

bool recheck(const verdict *v, const history *h, mem *m, const char **why)
{
    assert(h->frozen);
    checker c = {.v = v, .h = h, .m = m};
    bool ok = v->outcome == OUTCOME_UNDECIDED ||
              (v->outcome == OUTCOME_HOLDS ? check_holds(&c) : check_violated(&c));
    *why = ok ? NULL : c.why;
    assert(ok || c.why);
    return ok;
}
