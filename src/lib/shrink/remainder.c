/*
 * remainder.c - copies what is left of a history after some of it was left out.
 *
 * First the writes of every key that matters are put into a table by key and value; then each read
 * that is left looks up what it may have seen.  Linear in the history, so that a few transactions
 * can be cut out of a million.  The copy interns its keys and values anew: it is as small as what
 * it holds.
 */
#include "shrink/remainder.h"

#include <assert.h>

#include "base/map.h"
#include "history/additions.h"
#include "history/cut_off.h"

/* What is known of a key. */
#define KEY_WANTED 1u   /* somebody who is left reads it */
#define KEY_LIST 2u     /* appended to, or read as a list */
#define KEY_APPENDED 4u /* by whomever */
#define KEY_SET 8u      /* written or deleted */
#define KEY_TWICE 16u   /* an element was appended twice */
#define KEY_CUT 32u     /* a write of it is left out */
#define KEY_UNDEAD 64u  /* a delete that may explain its absence is left out */
#define KEY_PLACED 128u /* a write of it has a place in the version order */

typedef struct writer {
    op_id op;
    txn_id txn;
    uint32_t next; /* of the same key and value, or NO_ID */
    bool last;     /* of its transaction and key: what is installed */
} writer;

typedef struct maker {
    const history *h;
    const sub_mask *out;
    const sub_order *order;
    mem *m;
    history *to;
    uint8_t *key;
    int32_t *ranges; /* per key: how many ranges that are left say something of it */
    VEC(writer) writers;
    id_map writer_of;   /* (key, value) -> index of its newest writer */
    int32_t *stand_ins; /* per newest writer of a value: stand-ins less reads; NULL: none counts */
    uint32_t *undead; /* by rank: keys before it that are KEY_UNDEAD; NULL if there are no ranges */
    op_id *own;       /* per key: the last write of the transaction being copied ... */
    txn_id *own_txn;  /* ... if this is it */
    uint32_t *new_key;               /* per key: its id in the copy, or NO_ID */
    uint32_t *by_key, *by_key_first; /* writers by key, where an order is known */
    uint32_t **floor;                /* per key: floor_of, once asked for */
    uint32_t *shade;                 /* shade_of the last read that was asked about: */
    txn_id shade_txn;
    key_id shade_key;
    VEC(value_id) list;
    id_map txn_of_label; /* made when it is asked for the first time */
} maker;

static bool is_list(const history *h, value_id v)
{
    return v > VALUE_NULL && v != VALUE_UNKNOWN && value_atom(h, v).kind == ATOM_LIST;
}

static bool is_range(const history *h, op_id o)
{
    return op_kind_of(h, o) >= OP_SCAN;
}

static bool is_write(const history *h, op_id o)
{
    enum op_kind k = op_kind_of(h, o);
    return k == OP_WRITE || k == OP_DELETE || k == OP_APPEND;
}

static bool failed(const history *h, op_id o)
{
    return h->op_kind[o] & OP_FAILED;
}

/* The value that a write leaves, or the element that it appends. */
static value_id written(const history *h, op_id o)
{
    return op_kind_of(h, o) == OP_DELETE ? VALUE_NULL : value_or_absent(h->op_value[o]);
}

static bool gone(const maker *k, txn_id t, op_id o)
{
    if (k->out->txn[t] || k->out->op[o]) return true;
    return !is_range(k->h, o) && k->out->key[k->h->op_key[o]];
}

/* --- who wrote what --------------------------------------------------------------------------- */

/* The keys that a range says something about: ranks [*lo, *hi). */
static void covered(const history *h, const range *r, uint32_t *lo, uint32_t *hi)
{
    range_ranks(h, r, lo, hi);
    if (r->done) return;
    if (!r->rows) {
        *hi = *lo;
        return;
    }
    uint32_t last = h->key_rank[h->row_key.at[r->first_row + r->rows - 1]];
    if (r->reverse && last >= *lo) *lo = last;
    if (!r->reverse && last < *hi) *hi = last + 1;
}

static void want_range(maker *k, op_id o, int32_t *change)
{
    const history *h = k->h;
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi;
    covered(h, r, &lo, &hi);
    if (lo < hi) {
        change[lo]++;
        change[hi]--;
    }
    for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++) {
        k->key[h->row_key.at[i]] |= KEY_WANTED;
        if (is_list(h, h->row_value.at[i])) k->key[h->row_key.at[i]] |= KEY_LIST;
    }
}

/* Marks the keys that are read by those who are left. */
static void want_keys(maker *k)
{
    const history *h = k->h;
    size_t keys = history_keys(h);
    int32_t *change = mem_array0(k->m, int32_t, keys + 2);
    for (txn_id t = 0; t < h->txns; t++) {
        guard_tick(k->m->guard);
        if (k->out->txn[t]) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (gone(k, t, o)) continue;
            if (is_range(h, o)) {
                want_range(k, o, change);
            } else if (op_kind_of(h, o) == OP_READ) {
                k->key[h->op_key[o]] |= KEY_WANTED;
                if (is_list(h, h->op_value[o])) k->key[h->op_key[o]] |= KEY_LIST;
            }
        }
    }
    int32_t open = 0;
    for (size_t i = 0; h->key_sorted && i < keys; i++) {
        open += change[i];
        k->ranges[h->key_sorted[i]] = open;
        if (open > 0) k->key[h->key_sorted[i]] |= KEY_WANTED;
    }
    for (size_t i = 0; i < keys; i++)
        if (is_list(h, h->key_init[i])) k->key[i] |= KEY_LIST;
    mem_put(k->m, change);
}

/* The newest writer of the value, or NO_ID. */
static uint32_t writers_of(const maker *k, key_id key, value_id v)
{
    return id_map_get(&k->writer_of, map_pair(key, v));
}

static bool has_place(const history *h, op_id o)
{
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    while (a && a < end && a->op == o && a->kind != ATTR_VER) a++;
    return a && a < end && a->op == o;
}

static void find_writers(maker *k)
{
    const history *h = k->h;
    size_t keys = history_keys(h);
    txn_id *seen = mem_array(k->m, txn_id, keys + 1);
    memset(seen, 0xff, (keys + 1) * sizeof *seen);
    for (txn_id t = 0; t < h->txns; t++) {
        guard_tick(k->m->guard);
        for (op_id o = h->txn_op[t + 1]; o-- > h->txn_op[t];) {
            if (!is_write(h, o) || !(k->key[h->op_key[o]] & KEY_WANTED)) continue;
            key_id key = h->op_key[o];
            bool append = op_kind_of(h, o) == OP_APPEND;
            writer w = {.op = o, .txn = t, .next = NO_ID};
            w.last = !failed(h, o) && seen[key] != t;
            if (!failed(h, o)) seen[key] = t;
            k->key[key] |= append ? KEY_APPENDED | KEY_LIST : KEY_SET;
            if (gone(k, t, o)) k->key[key] |= KEY_CUT;
            if (has_place(h, o)) k->key[key] |= KEY_PLACED;
            vec_push(k->m, &k->writers, w);
        }
    }
    mem_put(k->m, seen);
    id_map_reserve(k->m, &k->writer_of, k->writers.n);
    for (size_t i = 0; i < k->writers.n; i++) {
        writer *w = &k->writers.at[i];
        key_id key = h->op_key[w->op];
        uint32_t *newest = id_map_at(k->m, &k->writer_of, map_pair(key, written(h, w->op)));
        if (*newest != MAP_NONE) {
            w->next = *newest;
            k->key[key] |= KEY_TWICE;
        }
        *newest = (uint32_t)i;
    }
    /* an element of the initial list, appended once more */
    for (key_id key = 0; key < keys; key++) {
        if (!(k->key[key] & KEY_APPENDED) || !is_list(h, h->key_init[key])) continue;
        atom a = value_atom(h, h->key_init[key]);
        for (uint32_t i = 0; i < a.len; i++)
            if (writers_of(k, key, h->elements.at[a.as.offset + i]) != NO_ID)
                k->key[key] |= KEY_TWICE;
    }
}

static void group_writers(maker *k)
{
    size_t keys = history_keys(k->h);
    if (!k->order || !k->order->known) return;
    k->by_key_first = mem_array0(k->m, uint32_t, keys + 2);
    k->by_key = mem_array(k->m, uint32_t, k->writers.n + 1);
    k->floor = mem_array0(k->m, uint32_t *, keys + 1);
    for (size_t i = 0; i < k->writers.n; i++)
        k->by_key_first[k->h->op_key[k->writers.at[i].op] + 2]++;
    for (size_t i = 2; i < keys + 2; i++) k->by_key_first[i] += k->by_key_first[i - 1];
    for (uint32_t i = 0; i < k->writers.n; i++)
        k->by_key[k->by_key_first[k->h->op_key[k->writers.at[i].op] + 1]++] = i;
}

/* --- writers that stand in for others --------------------------------------------------------- */

/* How many of what is left there are: of each transaction's operations, each session's
   transactions. */
typedef struct left_counts {
    uint32_t *ops, *txns;
} left_counts;

static void count_left(maker *k, left_counts *n)
{
    const history *h = k->h;
    n->ops = mem_array0(k->m, uint32_t, h->txns + 1);
    n->txns = mem_array0(k->m, uint32_t, h->sessions.n + 1);
    for (txn_id t = 0; t < h->txns; t++) {
        if (k->out->txn[t]) continue;
        n->txns[h->txn_session[t]]++;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) n->ops[t] += !gone(k, t, o);
    }
}

/* May the writer be moved to the place of any other that writes the same?  Nothing ties it to its
   own place: it does nothing else, nobody of its session is left, and no hint or time counts. */
static bool movable(const maker *k, const writer *w, const left_counts *n)
{
    const history *h = k->h;
    unsigned times =
        TXN_HAS_BEGIN | TXN_HAS_END | TXN_HAS_TIMES | TXN_HAS_START_TS | TXN_HAS_COMMIT_TS;
    if (gone(k, w->txn, w->op) || !w->last || n->ops[w->txn] != 1) return false;
    if (txn_status_of(h, w->txn) == TXN_ABORTED || h->op_kind[w->op] & OP_ATTR) return false;
    if (k->order->times && h->txn_flags[w->txn] & times) return false;
    return !k->order->sessions || n->txns[h->txn_session[w->txn]] == 1;
}

static void want_stand_in(maker *k, key_id key, value_id v, int32_t reads)
{
    uint32_t newest = v == VALUE_UNKNOWN ? NO_ID : writers_of(k, key, value_or_absent(v));
    if (newest != NO_ID) k->stand_ins[newest] -= reads;
}

/* Every read of the value by those who are left may need a stand-in of its own. */
static void count_reads(maker *k)
{
    const history *h = k->h;
    for (txn_id t = 0; t < h->txns; t++) {
        guard_tick(k->m->guard);
        if (k->out->txn[t]) continue;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (gone(k, t, o) || failed(h, o)) continue;
            if (op_kind_of(h, o) == OP_READ) want_stand_in(k, h->op_key[o], h->op_value[o], 1);
            if (!is_range(h, o)) continue;
            const range *r = &h->ranges.at[h->op_key[o]];
            for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
                want_stand_in(k, h->row_key.at[i], h->row_value.at[i], 1);
        }
    }
}

/* A value of a key is stood in for if as many of its writers that are left may be moved as there
   are reads of it: then each writer that some read saw, and that is left out, has one of these in
   its place.  (Whom nobody sees may be anywhere.) */
static void find_stand_ins(maker *k)
{
    const history *h = k->h;
    left_counts n;
    if (!k->order || !k->order->stand_ins || h->assumed) return;
    k->stand_ins = mem_array0(k->m, int32_t, k->writers.n + 1);
    count_left(k, &n);
    count_reads(k);
    for (size_t i = 0; i < history_keys(h); i++)
        if (k->ranges[i]) want_stand_in(k, (key_id)i, VALUE_NULL, k->ranges[i]);
    for (size_t i = 0; i < k->writers.n; i++) {
        const writer *w = &k->writers.at[i];
        if (movable(k, w, &n)) want_stand_in(k, h->op_key[w->op], written(h, w->op), -1);
    }
    mem_put(k->m, n.ops);
    mem_put(k->m, n.txns);
}

static bool stood_in(const maker *k, key_id key, value_id v)
{
    uint32_t newest = k->stand_ins ? writers_of(k, key, v) : NO_ID;
    return newest != NO_ID && !(k->key[key] & KEY_PLACED) && k->stand_ins[newest] >= 0;
}

/* A list of which it is not certain who appended what: its reads may depend on every write. */
static bool tangled(const maker *k, key_id key)
{
    return k->key[key] & KEY_LIST && k->key[key] & (KEY_SET | KEY_TWICE);
}

/* --- what a read goes with -------------------------------------------------------------------- */

typedef struct hint {
    bool named, init;
    label writer;
} hint;

/* Whom the history names as the writer of what operation o saw of the key. */
static hint find_hint(const history *h, op_id o, key_id key)
{
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    for (; a && a < end && a->op == o; a++) {
        bool mine = false, init = false;
        switch (a->kind) {
        case ATTR_FROM_INIT: init = true; /* fall through */
        case ATTR_FROM: mine = true; break;
        case ATTR_VSET_INIT: init = true; /* fall through */
        case ATTR_VSET: mine = is_range(h, o) && a->key == key; break;
        case ATTR_ROW_FROM_INIT: init = true; /* fall through */
        case ATTR_ROW_FROM: {
            const range *r = &h->ranges.at[h->op_key[o]];
            mine = a->key < r->rows && h->row_key.at[r->first_row + a->key] == key;
            break;
        }
        default: break;
        }
        if (mine) return (hint){true, init, a->a};
    }
    return (hint){0};
}

/* --- what is known of the order --------------------------------------------------------------- */

static bool surely_before(const maker *k, txn_id a, txn_id b)
{
    return known_before(k->order->known, k->order->whole[a], k->order->whole[b]);
}

/* Per session, the first transaction of the whole that is not before all writers of the key that
   are left, or in whose place others may stand. */
static const uint32_t *floor_of(maker *k, key_id key)
{
    const known_order *o = k->order->known;
    if (k->floor[key]) return k->floor[key];
    uint32_t *at = k->floor[key] = mem_array(k->m, uint32_t, (size_t)o->sessions + 1);
    memset(at, 0xff, ((size_t)o->sessions + 1) * sizeof *at);
    for (uint32_t i = k->by_key_first[key]; i < k->by_key_first[key + 1]; i++) {
        const writer *w = &k->writers.at[k->by_key[i]];
        bool placed = !gone(k, w->txn, w->op) || stood_in(k, key, written(k->h, w->op));
        if (txn_status_of(k->h, w->txn) == TXN_ABORTED || !placed) continue;
        const uint32_t *clock = o->clock + (size_t)k->order->whole[w->txn] * o->sessions;
        for (uint32_t s = 0; s < o->sessions; s++)
            if (clock[s] < at[s]) at[s] = clock[s];
    }
    return at;
}

/* Did transaction t, which is left out, come before every one that is left and writes the key? */
static bool before_writers(maker *k, txn_id t, key_id key)
{
    txn_id whole = k->order->whole[t];
    return txn_status_of(k->h, t) == TXN_COMMITTED &&
           floor_of(k, key)[k->order->known->h->txn_session[whole]] > whole;
}

/* Per session, the first transaction of the whole that is not surely before a write of the key that
   transaction t, which reads it, does not miss. */
static const uint32_t *shade_of(maker *k, txn_id t, key_id key)
{
    const known_order *o = k->order->known;
    if (k->shade && k->shade_txn == t && k->shade_key == key) return k->shade;
    if (!k->shade) k->shade = mem_array(k->m, uint32_t, (size_t)o->sessions + 1);
    memset(k->shade, 0, ((size_t)o->sessions + 1) * sizeof *k->shade);
    k->shade_txn = t;
    k->shade_key = key;
    for (uint32_t i = k->by_key_first[key]; i < k->by_key_first[key + 1]; i++) {
        const writer *w = &k->writers.at[k->by_key[i]];
        bool own = k->h->txn_session[w->txn] == k->h->txn_session[t];
        if (!w->last || w->txn == t || !(k->order->sees_past || own)) continue;
        if (!surely_before(k, w->txn, t)) continue;
        const uint32_t *clock = o->clock + (size_t)k->order->whole[w->txn] * o->sessions;
        for (uint32_t s = 0; s < o->sessions; s++)
            if (clock[s] > k->shade[s]) k->shade[s] = clock[s];
    }
    return k->shade;
}

/* Was what c wrote surely overwritten, by somebody whom transaction t does not miss? */
static bool surely_overwritten(maker *k, txn_id c, txn_id t, key_id key)
{
    txn_id whole = k->order->whole[c];
    if (!k->order->sees_past && !k->order->sees_session) return false;
    return txn_status_of(k->h, c) == TXN_COMMITTED &&
           shade_of(k, t, key)[k->order->known->h->txn_session[whole]] > whole;
}

/* Writer w, which is left out, of what transaction t read: does that not matter? */
static bool spared(maker *k, txn_id t, key_id key, const writer *w, bool initial)
{
    if (!k->order || !k->order->known) return false;
    if (surely_before(k, t, w->txn) || surely_overwritten(k, w->txn, t, key)) return true;
    return initial && before_writers(k, w->txn, key);
}

/* Must a read of transaction t, that saw v (no list) of the key, go? */
static bool goes_with_writer(maker *k, txn_id t, key_id key, value_id v, hint hinted)
{
    const history *h = k->h;
    uint32_t first = writers_of(k, key, value_or_absent(v));
    bool any = false, cut = false, explained = false;
    if (hinted.named && hinted.init) return false;
    for (uint32_t i = first; hinted.named && i != NO_ID; i = k->writers.at[i].next) {
        const writer *w = &k->writers.at[i];
        if (h->txn_label[w->txn] != hinted.writer) continue;
        any = true;
        cut = cut || gone(k, w->txn, w->op);
    }
    if (any) return cut;
    bool initial = !h->init_unknown && value_or_absent(h->key_init[key]) == value_or_absent(v);
    bool source = initial; /* something that is left explains it */
    bool moved = stood_in(k, key, value_or_absent(v));
    explained = initial;
    for (uint32_t i = first; i != NO_ID && !cut; i = k->writers.at[i].next) {
        const writer *w = &k->writers.at[i];
        if (!w->last || w->txn == t || txn_status_of(h, w->txn) == TXN_ABORTED) continue;
        explained = true;
        bool out = gone(k, w->txn, w->op);
        source = source || !out;
        cut = out && !moved && !spared(k, t, key, w, initial);
    }
    if (explained) return cut || !source;
    /* Nobody can have been read from: then whoever wrote the value is what explains that. */
    for (uint32_t i = first; i != NO_ID && !cut; i = k->writers.at[i].next)
        cut = gone(k, k->writers.at[i].txn, k->writers.at[i].op);
    return cut;
}

/* Did the transaction append it to the key before operation o? */
static bool own_before(const maker *k, const writer *w, txn_id t, op_id o)
{
    return w->txn == t && w->op < o && !failed(k->h, w->op);
}

/* Are the own appends before the read that are left out among the elements that end its list?  If
   not, that they are missing is a fault, and goes with them. */
static bool own_shown(const maker *k, txn_id t, op_id o, key_id key, const value_id *e, uint32_t n)
{
    const history *h = k->h;
    for (op_id p = h->txn_op[t]; p < o; p++) {
        if (!is_write(h, p) || failed(h, p) || h->op_key[p] != key || !gone(k, t, p)) continue;
        uint32_t i = 0;
        while (i < n && e[i] != h->op_value[p]) i++;
        if (i == n) return false;
    }
    return true;
}

/* The list that is left of one that transaction t read, or false if the read must go. */
static bool cut_list(maker *k, txn_id t, op_id o, key_id key, value_id *v)
{
    const history *h = k->h;
    atom a = is_list(h, *v) ? value_atom(h, *v) : (atom){.kind = ATOM_LIST};
    const value_id *e = h->elements.at + a.as.offset;
    uint32_t outer = a.len; /* what stands before the own appends */
    bool less = false;
    while (outer) {
        uint32_t i = writers_of(k, key, e[outer - 1]);
        if (i == NO_ID || !own_before(k, &k->writers.at[i], t, o)) break;
        outer--;
    }
    if (k->own_txn[key] == t && !own_shown(k, t, o, key, e + outer, a.len - outer)) return false;
    k->list.n = 0;
    for (uint32_t i = 0; i < a.len; i++) {
        uint32_t at = writers_of(k, key, e[i]);
        const writer *w = at == NO_ID ? NULL : &k->writers.at[at];
        if (!w || !gone(k, w->txn, w->op)) {
            vec_push(k->m, &k->list, e[i]);
            continue;
        }
        /* The last one names who was read from; an own one that stands elsewhere, or comes later,
           is a fault that would look like another. */
        if (i + 1 == outer || (w->txn == t && i < outer)) return false;
        less = true;
    }
    if (less) *v = VALUE_UNKNOWN; /* k->list */
    return true;
}

/* What operation o of transaction t saw of the key: false if it must go; *v is VALUE_UNKNOWN if
   only k->list is left of a list. */
static bool stays(maker *k, txn_id t, op_id o, key_id key, value_id *v)
{
    const history *h = k->h;
    if (*v == VALUE_UNKNOWN) return true;
    if (tangled(k, key)) return !(k->key[key] & KEY_CUT);
    hint hinted = find_hint(h, o, key);
    if (k->key[key] & KEY_LIST) {
        if (hinted.named && !hinted.init && k->key[key] & KEY_CUT) return false;
        return cut_list(k, t, o, key, v);
    }
    if (k->own_txn[key] == t && gone(k, t, k->own[key])) return false;
    return !goes_with_writer(k, t, key, *v, hinted);
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Keys whose absence may be due to a delete that is left out, counted by rank. */
static void count_undead(maker *k)
{
    const history *h = k->h;
    size_t keys = history_keys(h);
    if (!h->key_sorted) return;
    for (size_t i = 0; i < k->writers.n; i++) {
        const writer *w = &k->writers.at[i];
        key_id key = h->op_key[w->op];
        if (op_kind_of(h, w->op) == OP_DELETE && !k->out->key[key] && gone(k, w->txn, w->op))
            k->key[key] |= KEY_UNDEAD;
    }
    k->undead = mem_array(k->m, uint32_t, keys + 2);
    k->undead[0] = 0;
    for (size_t i = 0; i < keys; i++)
        k->undead[i + 1] = k->undead[i] + (k->key[h->key_sorted[i]] & KEY_UNDEAD ? 1 : 0);
}

static bool has_row(const history *h, const range *r, key_id key)
{
    for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++)
        if (h->row_key.at[i] == key) return true;
    return false;
}

/* Is what the range did not return still absent for the reasons it had? */
static bool absent_stay(maker *k, txn_id t, op_id o, const range *r)
{
    const history *h = k->h;
    uint32_t lo, hi;
    covered(h, r, &lo, &hi);
    if (lo >= hi) return true;
    for (uint32_t i = lo; k->undead[hi] > k->undead[lo] && i < hi; i++) {
        key_id key = h->key_sorted[i];
        value_id none = VALUE_NULL;
        if (!(k->key[key] & KEY_UNDEAD) || has_row(h, r, key)) continue;
        if (!stays(k, t, o, key, &none)) return false;
    }
    /* own writes before it */
    for (op_id w = h->txn_op[t]; w < o; w++) {
        if (!is_write(h, w) || failed(h, w) || !gone(k, t, w)) continue;
        key_id key = h->op_key[w];
        uint32_t rank = h->key_rank[key];
        if (!k->out->key[key] && rank >= lo && rank < hi) return false;
    }
    return true;
}

/* The transaction of that label, or NO_ID. */
static txn_id labelled(maker *k, label l)
{
    const history *h = k->h;
    if (!k->txn_of_label.n) {
        id_map_reserve(k->m, &k->txn_of_label, h->txns);
        for (txn_id t = 0; t < h->txns; t++) id_map_put(k->m, &k->txn_of_label, h->txn_label[t], t);
    }
    return id_map_get(&k->txn_of_label, l);
}

/* Is a write of the key by whom a hint names left out?  Then the hint would name nobody. */
static bool names_gone(maker *k, op_id o)
{
    const history *h = k->h;
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    for (; a && a < end && a->op == o; a++) {
        if (a->kind != ATTR_VSET || k->out->key[a->key]) continue;
        txn_id w = labelled(k, a->a);
        for (op_id p = w == NO_ID ? 0 : h->txn_op[w]; w != NO_ID && p < h->txn_op[w + 1]; p++)
            if (is_write(h, p) && h->op_key[p] == a->key && gone(k, w, p)) return true;
    }
    return false;
}

static bool range_stays(maker *k, txn_id t, op_id o)
{
    const history *h = k->h;
    const range *r = &h->ranges.at[h->op_key[o]];
    if (names_gone(k, o)) return false;
    for (uint32_t i = r->first_row; i < r->first_row + r->rows; i++) {
        value_id v = h->row_value.at[i];
        if (k->out->key[h->row_key.at[i]]) continue;
        if (!stays(k, t, o, h->row_key.at[i], &v)) return false;
    }
    return absent_stay(k, t, o, r);
}

/* --- copying ---------------------------------------------------------------------------------- */

static value_id new_value(maker *k, value_id v)
{
    history *to = k->to;
    if (v <= VALUE_EMPTY || v == VALUE_UNKNOWN) return v;
    atom a = value_atom(k->h, v);
    const char *s = atom_bytes(k->h, a);
    switch (a.kind) {
    case ATOM_INT: return value_int(to, a.as.i);
    case ATOM_UINT: return value_uint(to, a.as.u);
    case ATOM_BIG: return value_big(to, s, a.len);
    case ATOM_REAL: return value_real(to, a.as.r);
    case ATOM_STR: return value_str(to, s, a.len);
    case ATOM_BOOL: return value_bool(to, a.as.u != 0);
    case ATOM_LIST: {
        value_id *e = mem_array(k->m, value_id, (size_t)a.len + 1);
        for (uint32_t i = 0; i < a.len; i++)
            e[i] = new_value(k, k->h->elements.at[a.as.offset + i]);
        value_id made = value_list(to, e, a.len);
        mem_put(k->m, e);
        return made;
    }
    default: return VALUE_NULL;
    }
}

/* The value, or what cut_list left of it. */
static value_id new_seen(maker *k, value_id was, value_id v)
{
    if (v != VALUE_UNKNOWN || was == VALUE_UNKNOWN) return new_value(k, v);
    for (size_t i = 0; i < k->list.n; i++) k->list.at[i] = new_value(k, k->list.at[i]);
    return value_list(k->to, k->list.at, k->list.n);
}

static label new_label(maker *k, label l)
{
    return l >> 63 ? (label)1 << 63 | new_value(k, (value_id)l) : l;
}

static key_id new_key(maker *k, key_id key)
{
    if (k->new_key[key] != NO_ID) return k->new_key[key];
    atom a = key_atom(k->h, key);
    key_id made = a.kind == ATOM_STR    ? key_str(k->to, atom_bytes(k->h, a), a.len)
                  : a.kind == ATOM_UINT ? key_uint(k->to, a.as.u)
                                        : key_int(k->to, a.as.i);
    return k->new_key[key] = made;
}

static uint32_t new_bound(maker *k, uint32_t bound)
{
    atom a = k->h->bounds.atoms.at[bound];
    if (a.kind == ATOM_STR) return bound_str(k->to, atom_bytes(k->h, a), a.len);
    return a.kind == ATOM_UINT ? bound_uint(k->to, a.as.u) : bound_int(k->to, a.as.i);
}

/* The row that a row of a range has become. */
static uint32_t new_row(const maker *k, const range *r, uint32_t row)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < row; i++) n += !k->out->key[k->h->row_key.at[r->first_row + i]];
    return n;
}

/* Was it the last write of its key?  Places of others never counted, and must not begin to. */
static bool installed(const history *h, txn_id t, op_id o)
{
    for (op_id p = o + 1; p < h->txn_op[t + 1]; p++)
        if (is_write(h, p) && !failed(h, p) && h->op_key[p] == h->op_key[o]) return false;
    return true;
}

static void copy_attrs(maker *k, txn_id t, op_id o, op_id fresh)
{
    const history *h = k->h;
    const attr *a = op_attrs(h, o), *end = h->attrs.at + h->attrs.n;
    const range *r = is_range(h, o) ? &h->ranges.at[h->op_key[o]] : NULL;
    for (; a && a < end && a->op == o; a++) {
        attr x = *a;
        bool row = x.kind == ATTR_ROW_FROM || x.kind == ATTR_ROW_FROM_INIT;
        bool member = x.kind == ATTR_VSET || x.kind == ATTR_VSET_INIT;
        if (x.kind == ATTR_VER && is_write(h, o) && !installed(h, t, o)) continue;
        if (row && r && x.key < r->rows) {
            if (k->out->key[h->row_key.at[r->first_row + x.key]]) continue;
            x.key = new_row(k, r, x.key);
        }
        if (member && k->out->key[x.key]) continue;
        if (member) x.key = new_key(k, x.key);
        if (x.kind == ATTR_FROM || x.kind == ATTR_VSET || x.kind == ATTR_ROW_FROM)
            x.a = new_label(k, x.a);
        if (x.kind == ATTR_EXTRA) {
            x.key = new_value(k, x.key);
            x.a = new_value(k, (value_id)x.a);
        }
        history_attr(k->to, fresh, (enum attr_kind)x.kind, x.key, x.a);
    }
}

static op_id copy_range(maker *k, txn_id t, op_id o, bool claims)
{
    const history *h = k->h;
    range r = h->ranges.at[h->op_key[o]];
    for (uint32_t i = r.first_row; i < r.first_row + r.rows; i++) {
        key_id key = h->row_key.at[i];
        value_id was = h->row_value.at[i], v = was;
        if (k->out->key[key]) continue;
        if (claims) stays(k, t, o, key, &v);
        v = new_seen(k, was, v);
        history_row(k->to, new_key(k, key), v);
    }
    if (r.from_kind == BOUND_AT) r.from = new_bound(k, r.from);
    if (r.to_kind == BOUND_AT) r.to = new_bound(k, r.to);
    return history_range(k->to, h->op_kind[o] & ~OP_ATTR, r);
}

static void copy_op(maker *k, txn_id t, op_id o)
{
    const history *h = k->h;
    value_id was = h->op_value[o], v = was;
    op_id fresh;
    bool read = op_kind_of(h, o) == OP_READ, many = is_range(h, o);
    /* A statement that failed claims nothing, nor, unless it was asked for, what an aborted
       transaction read. */
    bool claims = !failed(h, o) && (txn_status_of(h, t) != TXN_ABORTED || k->out->aborted_read);
    bool keep = !gone(k, t, o);
    if (keep && claims && many) keep = range_stays(k, t, o);
    if (keep && claims && read) keep = stays(k, t, o, h->op_key[o], &v);
    if (!keep) {
        k->out->op[o] = 1;
    } else {
        fresh = many ? copy_range(k, t, o, claims)
                     : history_op(k->to, h->op_kind[o] & ~OP_ATTR, new_key(k, h->op_key[o]),
                                  new_seen(k, was, v));
        copy_attrs(k, t, o, fresh);
    }
    if (is_write(h, o) && !failed(h, o)) {
        k->own[h->op_key[o]] = o;
        k->own_txn[h->op_key[o]] = t;
    }
}

static void copy_times(maker *k, txn_id t)
{
    const history *h = k->h;
    unsigned flags = h->txn_flags[t];
    if (flags & TXN_HAS_BEGIN) history_time(k->to, TXN_HAS_BEGIN, h->txn_begin[t]);
    if (flags & TXN_HAS_END) history_time(k->to, TXN_HAS_END, h->txn_end[t]);
    if (flags & TXN_HAS_TIMES) history_times(k->to, h->txn_times + 4 * (size_t)t);
    if (flags & TXN_NO_BEGIN_RETURN) history_no_begin_return(k->to);
    if (flags & TXN_HAS_START_TS) history_time(k->to, TXN_HAS_START_TS, h->txn_start_ts[t]);
    if (flags & TXN_HAS_COMMIT_TS) history_time(k->to, TXN_HAS_COMMIT_TS, h->txn_commit_ts[t]);
}

static void copy_init(maker *k)
{
    const history *h = k->h;
    if (h->init == INIT_SCALAR) history_init_scalar(k->to, new_value(k, h->init_scalar));
    for (size_t i = 0; i < h->init_map.n; i++) {
        init_entry e = h->init_map.at[i];
        if (!k->out->key[e.key])
            history_init_entry(k->to, new_key(k, e.key), new_value(k, e.value));
    }
    k->to->init_unknown = h->init_unknown;
}

static void copy_extras(maker *k, size_t *at, uint32_t of, uint32_t fresh)
{
    const history *h = k->h;
    while (*at < h->extras.n && of != NO_ID && h->extras.at[*at].txn != NO_ID &&
           h->extras.at[*at].txn < of)
        ++*at;
    for (; *at < h->extras.n && h->extras.at[*at].txn == of; ++*at) {
        extra x = {fresh, new_value(k, h->extras.at[*at].name),
                   new_value(k, h->extras.at[*at].text)};
        vec_push(&k->to->mem, &k->to->extras, x);
    }
}

/* Marks between the first transaction that is left and the last one. */
static void copy_marks(maker *k, size_t *at, txn_id before)
{
    const history *h = k->h;
    for (; *at < h->marks.n && h->marks.at[*at].before <= before; ++*at) {
        if (!k->to->txns) continue;
        atom a = value_atom(h, h->marks.at[*at].text);
        history_mark(k->to, atom_bytes(h, a), a.len);
    }
}

static void copy(maker *k)
{
    const history *h = k->h;
    size_t extras = 0, marks = 0;
    copy_init(k);
    copy_extras(k, &extras, NO_ID, NO_ID);
    for (txn_id t = 0; t < h->txns; t++) {
        guard_tick(k->m->guard);
        if (k->out->txn[t]) continue;
        copy_marks(k, &marks, t);
        txn_id fresh = history_begin(k->to);
        history_label(k->to, new_label(k, h->txn_label[t]));
        history_session(k->to, new_label(k, h->sessions.at[h->txn_session[t]]));
        if (txn_line_of(h, t)) history_line(k->to, txn_line_of(h, t));
        copy_times(k, t);
        copy_extras(k, &extras, t, fresh);
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) copy_op(k, t, o);
        history_end(k->to, txn_status_of(h, t));
    }
    history_copy_end(k->to, h); /* without it the part would look cut off */
    history_recount_lines(k->to, h);
}

/* What modules said of the transactions that are left: it is restricted, and never asked again. */
static void copy_assumed(maker *k)
{
    const history *h = k->h;
    if (!h->assumed) return;
    uint32_t *now = mem_array(k->m, uint32_t, h->txns + 1), fresh = 0;
    for (txn_id t = 0; t < h->txns; t++) now[t] = k->out->txn[t] ? NO_ID : fresh++;
    assert(fresh == k->to->txns);
    k->to->assumed = additions_restrict(&k->to->mem, h->assumed, now);
    mem_put(k->m, now);
}

void sub_history(history *to, const history *h, const sub_mask *out, const sub_order *order,
                 mem *work)
{
    size_t keys = history_keys(h) + 1;
    maker k = {.h = h, .out = out, .order = order, .m = work, .to = to};
    k.key = mem_array0(work, uint8_t, keys);
    k.ranges = mem_array0(work, int32_t, keys);
    want_keys(&k);
    find_writers(&k);
    find_stand_ins(&k);
    count_undead(&k);
    group_writers(&k);
    k.own = mem_array(work, op_id, keys);
    k.own_txn = mem_array(work, txn_id, keys);
    k.new_key = mem_array(work, uint32_t, keys);
    memset(k.own_txn, 0xff, keys * sizeof *k.own_txn);
    memset(k.new_key, 0xff, keys * sizeof *k.new_key);
    copy(&k);
    copy_assumed(&k);
    history_freeze(to);
    assert(!history_check(to));
    mem_free_all(work);
}
