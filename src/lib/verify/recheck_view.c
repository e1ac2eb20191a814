/*
 * recheck_view.c - what a history says, read off once more for recheck.c: who wrote what, what
 * each transaction was shown, and which of that its own writes explain (levels.md H-5
 * to H-8, section 3).
 */
#include "verify/recheck.h"

#include <assert.h>

#include "base/hash.h"

bool recheck_no(checker *c, txn_id t, const char *what)
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

const char claim_too_large[] = "too large to recheck: more than 2^34 steps";

bool recheck_too_large(checker *c, uint64_t steps)
{
    c->steps += steps;
    guard_tick(c->m->guard);
    if (c->steps <= RECHECK_WORK) return false;
    c->why = claim_too_large;
    return true;
}

/* --- what the history says ------------------------------------------------------------------- */

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
    return !op_failed(h, o) && (kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND);
}

/* The first write of x to k, + 1; others of any transaction and status follow by w_next. */
uint32_t recheck_wrote(const checker *c, key_id k, value_id x)
{
    assert(c->slot);
    size_t at = (size_t)hash_pair(k, x) & c->mask;
    for (; c->slot[at]; at = (at + 1) & c->mask) {
        uint32_t i = c->slot[at] - 1;
        if (c->w_key.at[i] == k && plain(c->h->op_value[c->w_op[i]]) == x) return i + 1;
    }
    return 0;
}

/* Enters the writes of t that are local, or are not, by key. */
static void enter_writes(checker *c, txn_id t, bool local)
{
    const history *h = c->h;
    VEC(uint64_t) own = {0};
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
        if (is_write(h, o) && op_is_local_write(h, o) == local)
            vec_push(c->m, &own, (uint64_t)h->op_key[o] << 32 | o);
    sort(own.at, own.n);
    for (size_t i = 0; i < own.n; i++) {
        size_t w = c->w_key.n++;
        c->w_key.at[w] = (key_id)(own.at[i] >> 32);
        c->w_op[w] = (op_id)own.at[i];
        c->w_txn[w] = t;
    }
    vec_free(c->m, &own);
    guard_tick(c->m->guard);
}

void recheck_load_writes(checker *c)
{
    const history *h = c->h;
    size_t total = 0, local = 0;
    for (op_id o = 0; o < h->ops; o++) {
        total += is_write(h, o);
        local += is_write(h, o) && op_is_local_write(h, o);
    }
    c->w_first = mem_array(c->m, uint32_t, h->txns + 1);
    c->w_op = mem_array(c->m, op_id, total + 1);
    c->w_txn = mem_array(c->m, txn_id, total + 1);
    vec_reserve(c->m, &c->w_key, total + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        c->w_first[t] = (uint32_t)c->w_key.n;
        enter_writes(c, t, false);
    }
    c->w_first[h->txns] = (uint32_t)c->w_key.n;
    if (!local) return;
    c->local_first = mem_array(c->m, uint32_t, h->txns + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        c->local_first[t] = (uint32_t)c->w_key.n;
        enter_writes(c, t, true);
    }
    c->local_first[h->txns] = (uint32_t)c->w_key.n;
}

void recheck_index_values(checker *c)
{
    if (c->slot) return;
    const history *h = c->h;
    size_t total = c->w_key.n, slots = 64;
    while (slots < 2 * total) slots *= 2;
    c->mask = slots - 1;
    c->w_next = mem_array(c->m, uint32_t, total + 1);
    c->slot = mem_array0(c->m, uint32_t, slots);
    for (uint32_t i = 0; i < total; i++) {
        value_id x = plain(h->op_value[c->w_op[i]]);
        size_t at = (size_t)hash_pair(c->w_key.at[i], x) & c->mask;
        while (c->slot[at] && (c->w_key.at[c->slot[at] - 1] != c->w_key.at[i] ||
                               plain(h->op_value[c->w_op[c->slot[at] - 1]]) != x))
            at = (at + 1) & c->mask;
        c->w_next[i] = c->slot[at];
        c->slot[at] = i + 1;
    }
}

static bool a_list(const history *h, value_id x)
{
    return x > VALUE_NULL && x != VALUE_UNKNOWN && value_atom(h, x).kind == ATOM_LIST;
}

/* Which keys are lists, which exist at all, and what they hold at first: `init` of
   doc/formats/native.md. */
void recheck_load_keys(checker *c)
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

/* The first write of t that is not before (k, o). */
static uint32_t first_write(const checker *c, txn_id t, key_id k, op_id o)
{
    uint32_t a = c->w_first[t], b = c->w_first[t + 1];
    if (c->local_first && a == b) {
        a = c->local_first[t];
        b = c->local_first[t + 1];
    }
    while (a < b) {
        uint32_t mid = a + (b - a) / 2;
        if (c->w_key.at[mid] < k || (c->w_key.at[mid] == k && c->w_op[mid] < o))
            a = mid + 1;
        else
            b = mid;
    }
    return a;
}

/* The writes of k by t before operation o: [*lo, returned).  Of lists only those that are part of
   a version: a list that an aborted transaction read has been cut (H-9). */
uint32_t recheck_own(const checker *c, txn_id t, key_id k, op_id o, uint32_t *lo)
{
    *lo = first_write(c, t, k, 0);
    uint32_t hi = first_write(c, t, k, o);
    return *lo < hi && c->is_list && c->is_list[k] && write_is_local(c, *lo) ? *lo : hi;
}

/* The statement of t whose result the read o of k shows: its last own write before o, or NO_ID. */
op_id recheck_own_statement(const checker *c, txn_id t, key_id k, op_id o)
{
    uint32_t lo = first_write(c, t, k, 0), hi = first_write(c, t, k, o);
    return lo < hi ? c->w_op[hi - 1] : NO_ID;
}

/* The write of k that t installs (H-5: its last), or NO_ID. */
uint32_t recheck_install(const checker *c, txn_id t, key_id k)
{
    uint32_t lo, hi = recheck_own(c, t, k, NO_ID, &lo);
    return lo < hi && !write_is_local(c, lo) ? hi - 1 : NO_ID;
}

/* Own writes [lo, hi) of a key: does one of them replace the content? */
bool recheck_sets(const checker *c, uint32_t lo, uint32_t hi)
{
    for (; lo < hi; lo++)
        if (op_kind_of(c->h, c->w_op[lo]) != OP_APPEND) return true;
    return false;
}

/* Takes the own appends [lo, hi) off the end of x; false if it does not end with them. */
bool recheck_strip(const checker *c, uint32_t lo, uint32_t hi, seq *x)
{
    if (lo < hi && (x->scalar || x->n < hi - lo)) return false;
    for (; lo < hi; hi--)
        if (x->at[--x->n] != c->h->op_value[c->w_op[hi - 1]]) return false;
    return true;
}

/* Is x what the own writes [lo, hi), the last replacing one and the appends behind it, left? */
bool recheck_own_value(const checker *c, uint32_t lo, uint32_t hi, seq x)
{
    uint32_t set = hi;
    while (op_kind_of(c->h, c->w_op[set - 1]) == OP_APPEND && set - 1 > lo) set--;
    value_id written = plain(c->h->op_value[c->w_op[set - 1]]);
    seq base = content(c->h, &written);
    if (!recheck_strip(c, set, hi, &x)) return false;
    /* appending to a plain value makes a list of the two */
    if (set < hi && base.scalar && x.n == 1) x.scalar = true;
    return same(base, x);
}

/* The writer that the history names for what o returned of k; a version set outranks rows. */
hint recheck_hint(const checker *c, op_id o, key_id k)
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
bool recheck_allowed(const checker *c, op_id o, hint x, bool absent, uint32_t w)
{
    const history *h = c->h;
    /* a row read as a tombstone was deleted with one */
    if (absent && h->op_kind[o] & OP_TOMB && (w == NO_ID || !(h->op_kind[c->w_op[w]] & OP_TOMB)))
        return false;
    if (!x.given) return true;
    return w == NO_ID ? x.init : !x.init && h->txn_label[c->w_txn[w]] == x.from;
}

bool recheck_malformed(const history *h, const range *r)
{
    uint32_t lo, hi;
    range_ranks(h, r, &lo, &hi);
    uint32_t before = 0;
    for (uint32_t i = 0; i < r->rows; i++) {
        uint32_t rank = h->key_rank[h->row_key.at[r->first_row + i]];
        value_id x = h->row_value.at[r->first_row + i];
        if (rank < lo || rank >= hi || x == VALUE_NULL || x == VALUE_UNKNOWN) return true;
        if (i && (r->reverse ? before <= rank : before >= rank)) return true;
        before = rank;
    }
    return false;
}

/* A scan read every key that it covers (H-7); rows stand in the order of keys. */
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
    return !recheck_too_large(c, hi - lo);
}

/* A covered key that a scan did not return? */
bool recheck_predicate(const history *h, op_id o, key_id k)
{
    unsigned kind = h->op_kind[o] & OP_KIND_MASK;
    if (kind != OP_SCAN && kind != OP_ITER) return false;
    const range *x = &h->ranges.at[h->op_key[o]];
    for (uint32_t i = 0; i < x->rows; i++)
        if (h->row_key.at[x->first_row + i] == k) return false;
    return true;
}

/* Calls fn for every key and value that t was shown, in program order. */
bool recheck_visit(checker *c, txn_id t, read_fn fn)
{
    const history *h = c->h;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (h->op_kind[o] & OP_FAILED) continue;
        enum op_kind kind = op_kind_of(h, o);
        if (kind == OP_SCAN || kind == OP_ITER) {
            if (recheck_malformed(h, &h->ranges.at[h->op_key[o]]))
                return recheck_no(c, t, "malformed result");
            if (!visit_range(c, t, o, fn)) return false;
        } else if (kind == OP_READ && h->op_value[o] != VALUE_UNKNOWN) {
            if (!fn(c, t, o, h->op_key[o], plain(h->op_value[o]))) return false;
        }
    }
    guard_tick(c->m->guard);
    return true;
}

/* Is what t read internal (section 3; of lists only *must*)?  -1: it should be, and is not. */
int recheck_internal(const checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo);
    enum ryow policy = c->is_list[k] ? RYOW_MUST : c->v->ryow;
    if (c->is_list[k] && c->h->op_kind[o] & OP_LOCAL) return -1; /* not what it had appended */
    if (lo == hi || policy == RYOW_EXTERNAL || !recheck_sets(c, lo, hi)) return 0;
    hint f = recheck_hint(c, o, k);
    bool own = !f.given || (!f.init && f.from == c->h->txn_label[t]);
    if (own && recheck_own_value(c, lo, hi, content(c->h, &x))) return 1;
    return policy == RYOW_MUST ? -1 : 0;
}
