/*
 * trusted_timestamps.c - deciding by the database's own timestamps (--trust-timestamps), in one
 * walk.
 *
 * The commit order is that of commit_ts, and a snapshot is what had committed at start_ts, a commit
 * at the same moment included (TimeKiller's rule).  So there is nothing to search: each read finds
 * one state, and either returned what is there or not.
 *
 *   snapshot isolation   reads at start_ts; writers of a key do not overlap; with session order, a
 *                        session begins after what it committed
 *   serializability      reads and writes at commit_ts
 *
 * A transaction of unknown outcome committed iff it has a commit_ts.  The walk gives up, and the
 * ordinary decision begins, where timestamps say less than an order: one is missing, two updates
 * share one (and no key), or hints and lists are of a kind that a walk over states does not read.
 * Two versions of a key with the same commit_ts, or a start after its commit, are bad input.
 */
#include <assert.h>

#include "asg/duplicates.h"
#include "base/sort.h"

#include "verdict/verdict.h"

#define FREE VALUE_UNKNOWN /* an initial value that no read has fixed yet */

typedef struct list {
    VEC(value_id) at;
} list;

typedef struct walk {
    verdict *v;
    const history *h;
    mem *m;
    bool si, keep;  /* keep: reads are ambiguous, so what they saw is part of the answer */
    value_id *now;  /* per key */
    txn_id *writer; /* per key; NO_ID: the initial state */
    list **lists;   /* per key, or NULL: no list key */
    uint8_t *is_list;
    uint32_t *own; /* per key: transaction + 1 that last wrote it, while its reads are checked */
    value_id *own_value;
    list mine; /* what the transaction at hand appended to the key at hand */
    enum trusted_answer answer;
} walk;

static int64_t start_of(const history *h, txn_id t)
{
    return h->txn_start_ts[t];
}
static int64_t commit_of_txn(const history *h, txn_id t)
{
    return h->txn_flags[t] & TXN_HAS_COMMIT_TS ? h->txn_commit_ts[t] : h->txn_start_ts[t];
}

static bool takes_part(const history *h, txn_id t)
{
    enum txn_status s = txn_status_of(h, t);
    return s == TXN_COMMITTED || (s == TXN_UNKNOWN && h->txn_flags[t] & TXN_HAS_COMMIT_TS);
}

static bool writes(const history *h, op_id o)
{
    unsigned kind = h->op_kind[o] & (OP_KIND_MASK | OP_FAILED);
    return kind == OP_WRITE || kind == OP_DELETE || kind == OP_APPEND;
}

static bool updates(const history *h, txn_id t)
{
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
        if (writes(h, o)) return true;
    return false;
}

/* --- saying what is wrong --------------------------------------------------------------------- */

static void name(const walk *w, strbuf *b, txn_id t)
{
    label l = w->h->txn_label[t];
    if (!(l >> 63)) strbuf_char(b, 'T');
    label_text(w->h, l, b);
}

static void say_value(const walk *w, strbuf *b, value_id x)
{
    size_t before = b->n;
    if (x == FREE)
        strbuf_str(b, "?");
    else
        atom_text(w->h, value_atom(w->h, x), b);
    if (b->n - before > 80) {
        b->n = before + 77;
        strbuf_str(b, "...");
    }
}

static bool violated(walk *w, uint32_t anomaly, strbuf *b, txn_id a, txn_id c, op_id o, key_id k)
{
    verdict *v = w->v;
    assert(w->answer == TRUSTED_HOLDS && anomaly < ANOMALIES); /* the first fault is the last */
    v->anomaly = anomaly;
    v->reason = mem_get(v->mem, b->n + 1);
    memcpy(v->reason, strbuf_cstr(b), b->n + 1);
    strbuf_free(b);
    vec_push(v->mem, &v->core, a);
    if (c != NO_ID && c != a) vec_push(v->mem, &v->core, c);
    v->at_op = o;
    v->at_key = k;
    w->answer = TRUSTED_VIOLATED;
    return false;
}

/* Who wrote the value, of whatever outcome: names the fault. */
static uint32_t read_fault(const walk *w, txn_id t, key_id k, value_id x, txn_id *who)
{
    const history *h = w->h;
    uint32_t found = ANOMALY_GARBAGE_READ;
    *who = NO_ID;
    for (txn_id u = 0; u < h->txns; u++) {
        bool last = true, in = takes_part(h, u);
        for (op_id o = h->txn_op[u + 1]; o-- > h->txn_op[u];) {
            bool local = op_is_local_write(h, o);
            if ((!writes(h, o) && !local) || h->op_key[o] != k) continue;
            bool same = value_or_absent(h->op_value[o]) == x;
            in = in && !local;
            if (same && in && last && u != t) {
                *who = u;
                return ANOMALY_STALE_READ;
            }
            if (same) {
                found = u == t                                      ? ANOMALY_FUTURE_READ
                        : txn_status_of(h, u) == TXN_ABORTED || !in ? ANOMALY_ABORTED_READ
                                                                    : ANOMALY_INTERMEDIATE_READ;
                *who = u;
            }
            last = false;
        }
        guard_tick(w->m->guard);
    }
    if (value_or_absent(h->key_init[k]) == x && found == ANOMALY_GARBAGE_READ)
        found = ANOMALY_STALE_READ;
    return found;
}

static bool bad_read(walk *w, txn_id t, op_id o, key_id k, value_id x, bool own)
{
    strbuf b;
    txn_id who = NO_ID;
    uint32_t anomaly = own             ? ANOMALY_NOT_OWN_WRITE
                       : w->is_list[k] ? ANOMALY_STALE_READ
                                       : read_fault(w, t, k, x, &who);
    strbuf_init(&b, w->v->mem);
    name(w, &b, t);
    strbuf_str(&b, " read ");
    atom_text(w->h, key_atom(w->h, k), &b);
    strbuf_str(&b, " = ");
    say_value(w, &b, x);
    if (who != NO_ID && anomaly == ANOMALY_STALE_READ) {
        if (commit_of_txn(w->h, who) > (w->si ? start_of(w->h, t) : commit_of_txn(w->h, t)))
            anomaly = ANOMALY_TIMESTAMP_INVERSION;
        strbuf_str(&b, " of ");
        name(w, &b, who);
        strbuf_printf(&b, " (commit_ts %lld)", (long long)commit_of_txn(w->h, who));
    }
    if (own) {
        strbuf_str(&b, ", although it had written another value before");
        return violated(w, anomaly, &b, t, NO_ID, o, k);
    }
    txn_id right = w->writer[k];
    strbuf_printf(&b, "; at its %s %lld the value was ", w->si ? "start_ts" : "commit_ts",
                  (long long)(w->si ? start_of(w->h, t) : commit_of_txn(w->h, t)));
    if (right == NO_ID) {
        strbuf_str(&b, "the initial value");
    } else {
        if (!w->is_list[k]) say_value(w, &b, w->now[k]), strbuf_str(&b, " of ");
        if (w->is_list[k]) strbuf_str(&b, "the list of ");
        name(w, &b, right);
        strbuf_printf(&b, " (commit_ts %lld)", (long long)commit_of_txn(w->h, right));
    }
    violated(w, anomaly, &b, t, who, o, k);
    if (right != NO_ID && right != t) vec_push(w->v->mem, &w->v->core, right);
    return false;
}

/* --- reads ------------------------------------------------------------------------------------ */

static bool give_up(walk *w)
{
    w->answer = TRUSTED_UNUSABLE;
    return false;
}

static bool check_list(walk *w, txn_id t, op_id first, op_id o, key_id k, value_id x)
{
    const history *h = w->h;
    assert(w->is_list[k] && w->lists);
    const list *l = w->lists[k];
    w->mine.at.n = 0;
    for (op_id p = first; p < o && w->own[k] == t + 1; p++)
        if (writes(h, p) && h->op_key[p] == k) vec_push(w->m, &w->mine.at, h->op_value[p]);
    size_t n = l ? l->at.n : 0, more = w->mine.at.n;
    atom a = {.kind = ATOM_LIST};
    if (value_or_absent(x) != VALUE_NULL) a = value_atom(h, x);
    if (h->op_kind[o] & OP_LOCAL) return bad_read(w, t, o, k, x, true);
    if (a.kind != ATOM_LIST) return bad_read(w, t, o, k, x, false);
    const value_id *e = a.len ? h->elements.at + a.as.offset : NULL;
    bool same = a.len == n + more && (!n || !memcmp(e, l->at.at, n * sizeof *e)) &&
                (!more || !memcmp(e + n, w->mine.at.at, more * sizeof *e));
    return same || bad_read(w, t, o, k, x, false);
}

/* Checks what operation o of t saw of key k. */
static bool check_key(walk *w, txn_id t, op_id o, key_id k, value_id x)
{
    assert(k < history_keys(w->h) && takes_part(w->h, t));
    if (w->is_list[k]) return check_list(w, t, w->h->txn_op[t], o, k, x);
    x = value_or_absent(x);
    if (w->own[k] == t + 1 && w->v->ryow != RYOW_EXTERNAL) {
        if (w->own_value[k] == x) return true;
        if (w->v->ryow == RYOW_MUST) return bad_read(w, t, o, k, x, true);
    }
    if (w->now[k] == FREE) w->now[k] = x;
    if (w->now[k] != x) return bad_read(w, t, o, k, x, false);
    if (w->keep) {
        chosen c = {o, k, w->writer[k]};
        vec_push(w->v->mem, &w->v->choices, c);
    }
    return true;
}

static bool check_range(walk *w, txn_id t, op_id o)
{
    const history *h = w->h;
    const range *r = &h->ranges.at[h->op_key[o]];
    uint32_t lo, hi, before = 0, row = 0;
    range_ranks(h, r, &lo, &hi);
    assert(lo <= hi && hi <= history_keys(h));
    for (uint32_t i = 0; i < r->rows; i++) {
        uint32_t rank = h->key_rank[h->row_key.at[r->first_row + i]];
        value_id x = h->row_value.at[r->first_row + i];
        bool wrong = rank < lo || rank >= hi || x == VALUE_NULL || x == VALUE_UNKNOWN;
        wrong = wrong || (i && (r->reverse ? before <= rank : before >= rank));
        if (wrong) {
            strbuf b;
            strbuf_init(&b, w->v->mem);
            name(w, &b, t);
            strbuf_str(&b, " has a scan whose rows are out of its range, out of order, repeated or "
                           "null");
            return violated(w, ANOMALY_MALFORMED_RESULT, &b, t, NO_ID, o, NO_ID);
        }
        before = rank;
    }
    if (!r->done) {
        if (!r->rows) return true;
        if (r->reverse)
            lo = before;
        else
            hi = before + 1;
    }
    for (uint32_t rank = lo; rank < hi; rank++) {
        key_id k = h->key_sorted[rank];
        uint32_t at = r->first_row + (r->reverse ? r->rows - 1 - row : row);
        bool shown = row < r->rows && h->row_key.at[at] == k;
        if (!check_key(w, t, o, k, shown ? h->row_value.at[at] : VALUE_NULL)) return false;
        row += shown;
    }
    assert(row == r->rows); /* the rows are in order and in range, so all were met */
    return true;
}

static bool check_reads(walk *w, txn_id t)
{
    const history *h = w->h;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        unsigned kind = h->op_kind[o];
        if (op_failed(h, o)) continue;
        kind &= OP_KIND_MASK;
        bool ok = true;
        if (kind == OP_SCAN || kind == OP_ITER) {
            ok = check_range(w, t, o);
        } else if (kind == OP_READ) {
            if (h->op_value[o] != VALUE_UNKNOWN)
                ok = check_key(w, t, o, h->op_key[o], h->op_value[o]);
        } else {
            w->own[h->op_key[o]] = t + 1;
            w->own_value[h->op_key[o]] = value_or_absent(h->op_value[o]);
        }
        if (!ok) return false;
    }
    return true;
}

/* --- writes ----------------------------------------------------------------------------------- */

static bool overlaps(walk *w, txn_id t, txn_id before, key_id k)
{
    strbuf b;
    strbuf_init(&b, w->v->mem);
    name(w, &b, t);
    strbuf_printf(&b, " (start_ts %lld) and ", (long long)start_of(w->h, t));
    name(w, &b, before);
    strbuf_printf(&b, " (commit_ts %lld) overlap, and both wrote ",
                  (long long)commit_of_txn(w->h, before));
    atom_text(w->h, key_atom(w->h, k), &b);
    return violated(w, ANOMALY_LOST_UPDATE, &b, t, before, NO_ID, k);
}

static bool install(walk *w, txn_id t)
{
    const history *h = w->h;
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        if (!writes(h, o)) continue;
        key_id k = h->op_key[o];
        txn_id before = w->writer[k];
        /* Writers are installed by their timestamps. */
        assert(before == NO_ID || commit_of_txn(h, before) <= commit_of_txn(h, t));
        if (before != NO_ID && before != t) {
            if (w->si && commit_of_txn(h, before) > start_of(h, t))
                return overlaps(w, t, before, k);
        }
        w->writer[k] = t;
        if (!w->is_list[k]) {
            w->now[k] = value_or_absent(h->op_value[o]);
            continue;
        }
        if ((h->op_kind[o] & OP_KIND_MASK) != OP_APPEND) return give_up(w);
        if (!w->lists[k]) w->lists[k] = mem_array0(w->m, list, 1);
        vec_push(w->m, &w->lists[k]->at, h->op_value[o]);
    }
    return true;
}

/* --- setting up ------------------------------------------------------------------------------- */

static bool load_keys(walk *w)
{
    const history *h = w->h;
    size_t keys = history_keys(h);
    bool lists = false;
    w->now = mem_array(w->m, value_id, keys + 1);
    w->writer = mem_array(w->m, txn_id, keys + 1);
    w->own = mem_array0(w->m, uint32_t, keys + 1);
    w->own_value = mem_array(w->m, value_id, keys + 1);
    w->is_list = mem_array0(w->m, uint8_t, keys + 1);
    memset(w->writer, 0xff, (keys + 1) * sizeof *w->writer);
    for (size_t k = 0; k < keys; k++) {
        w->now[k] = h->init_unknown ? FREE : value_or_absent(h->key_init[k]);
        w->is_list[k] = value_atom(h, h->key_init[k]).kind == ATOM_LIST;
    }
    for (size_t i = 0; h->init_unknown && i < h->init_map.n; i++)
        w->now[h->init_map.at[i].key] = value_or_absent(h->init_map.at[i].value);
    for (size_t o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & OP_KIND_MASK;
        value_id x = h->op_value[o];
        if (kind == OP_WRITE && value_or_absent(x) == value_or_absent(h->key_init[h->op_key[o]]))
            w->keep = true; /* the initial value, written again */
        if (kind == OP_APPEND || (kind == OP_READ && x > VALUE_NULL && x != VALUE_UNKNOWN &&
                                  value_atom(h, x).kind == ATOM_LIST))
            w->is_list[h->op_key[o]] = lists = true;
    }
    for (size_t i = 0; i < h->row_key.n; i++)
        if (value_atom(h, h->row_value.at[i]).kind == ATOM_LIST)
            w->is_list[h->row_key.at[i]] = lists = true;
    for (size_t k = 0; k < keys; k++) lists = lists || w->is_list[k];
    if (!lists) return true;
    if (h->init_unknown) return false;
    w->lists = mem_array0(w->m, list *, keys + 1);
    for (size_t k = 0; k < keys; k++) {
        if (!w->is_list[k] || value_or_absent(h->key_init[k]) == VALUE_NULL) continue;
        atom a = value_atom(h, h->key_init[k]);
        if (a.kind != ATOM_LIST) return false;
        w->lists[k] = mem_array0(w->m, list, 1);
        for (uint32_t i = 0; i < a.len; i++)
            vec_push(w->m, &w->lists[k]->at, h->elements.at[a.as.offset + i]);
    }
    return true;
}

/* Are there timestamps enough?  And nothing that a walk over states would not look at. */
static bool usable(const history *h, mem *m)
{
    if (!h->txn_start_ts) return false;
    for (size_t i = 0; i < h->attrs.n; i++)
        if (h->attrs.at[i].kind != ATTR_CALL && h->attrs.at[i].kind != ATTR_RETURN &&
            h->attrs.at[i].kind != ATTR_EXTRA && h->attrs.at[i].kind != ATTR_VER)
            return false;
    const unsigned both = TXN_HAS_START_TS | TXN_HAS_COMMIT_TS;
    for (txn_id t = 0; t < h->txns; t++) {
        if (!takes_part(h, t)) continue;
        unsigned has = h->txn_flags[t] & both;
        /* Who only reads commits nothing, and mostly has no timestamp for it. */
        if (has != both && !(has == TXN_HAS_START_TS && !updates(h, t))) return false;
        if (has == both && h->txn_start_ts[t] > h->txn_commit_ts[t]) {
            strbuf b;
            strbuf_init(&b, m);
            label_text(h, h->txn_label[t], &b);
            guard_fail(m->guard, GUARD_HISTORY, "transaction %.200s: start_ts is after commit_ts",
                       strbuf_cstr(&b));
        }
    }
    return true;
}

/* Does an update share its moment with the transaction before it in its session?  Then that one may
   or may not have seen it. */
static bool session_tie(const walk *w, txn_id before, txn_id t)
{
    const history *h = w->h;
    int64_t at = commit_of_txn(h, t);
    if (commit_of_txn(h, before) != at || !updates(h, t)) return false;
    return !w->si || (start_of(h, t) == at && start_of(h, before) == at);
}

static bool check_sessions(walk *w, bool ties)
{
    const history *h = w->h;
    for (size_t s = 0; s < h->sessions.n; s++) {
        txn_id before = NO_ID;
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1]; j++) {
            txn_id t = h->sess_txn[j];
            if (!takes_part(h, t)) continue;
            if (before != NO_ID) {
                int64_t ended = commit_of_txn(h, before);
                int64_t at = w->si ? start_of(h, t) : commit_of_txn(h, t);
                if (ties && session_tie(w, before, t)) return give_up(w);
                if (!ties && ended > at) {
                    strbuf b;
                    strbuf_init(&b, w->v->mem);
                    name(w, &b, before);
                    strbuf_printf(&b, " has commit_ts %lld, and ", (long long)ended);
                    name(w, &b, t);
                    strbuf_printf(&b, ", which follows it in its session, %s %lld",
                                  w->si ? "start_ts" : "commit_ts", (long long)at);
                    return violated(w, ANOMALY_TIMESTAMP_INVERSION, &b, t, before, NO_ID, NO_ID);
                }
            }
            if (txn_status_of(h, t) == TXN_COMMITTED) before = t;
        }
    }
    return true;
}

/* At one moment: commits, then who begins and commits at once, then begins. */
enum moment { COMMITS, AT_ONCE, BEGINS, MOMENTS };

typedef struct event {
    txn_id txn;
    uint32_t what; /* enum moment */
} event;
typedef VEC(event) events;

/* Of transaction t: its events of one kind, with its time. */
static bool event_of(const walk *w, txn_id t, enum moment what, int64_t *at)
{
    const history *h = w->h;
    bool update = updates(h, t);
    *at = commit_of_txn(h, t);
    assert(!w->si || start_of(h, t) <= *at);
    if (!w->si) return what == (update ? AT_ONCE : BEGINS);
    bool long_one = start_of(h, t) < *at;
    if (what == BEGINS) *at = start_of(h, t);
    return what == COMMITS ? long_one : what == AT_ONCE ? !long_one && update : long_one || !update;
}

static uint32_t *sort_events(const walk *w, events *all)
{
    VEC(uint64_t) key = {0};
    for (uint32_t what = 0; what < MOMENTS; what++)
        for (txn_id t = 0; t < w->h->txns; t++) {
            int64_t at;
            if (!takes_part(w->h, t) || !event_of(w, t, (enum moment)what, &at)) continue;
            event e = {t, what};
            vec_push(w->m, all, e);
            vec_push(w->m, &key, sort_key(at));
        }
    if (all->n >= NO_ID) guard_fail(w->m->guard, GUARD_UNSUPPORTED, "more than 2^31 transactions");
    uint32_t *by = sort_by_key(w->m, key.at, (uint32_t)all->n); /* stable: kinds stay in order */
    vec_free(w->m, &key);
    return by;
}

static bool take(walk *w, const event *e)
{
    txn_id t = e->txn;
    if (e->what != COMMITS && !check_reads(w, t)) return false;
    if (e->what != BEGINS && !install(w, t)) return false;
    /* (who begins now and commits later is placed then) */
    bool later = e->what == BEGINS && w->si && start_of(w->h, t) < commit_of_txn(w->h, t);
    assert(w->v->ordered < w->h->txns);
    if (!later) w->v->order[w->v->ordered++] = t;
    return true;
}

/* Updates with one commit_ts: of one key they cannot be, and where they may have seen each other
   the order is open. */
static bool check_ties(walk *w, const events *all, const uint32_t *by)
{
    const history *h = w->h;
    uint32_t group = 0, at_once = 0;
    int64_t last = 0;
    bool open = false;
    uint32_t *seen = mem_array0(w->m, uint32_t, history_keys(h) + 1);
    for (size_t i = 0; i < all->n; i++) {
        const event *e = &all->at[by[i]];
        if (e->what == BEGINS) continue;
        int64_t at = commit_of_txn(h, e->txn);
        if (!group || at != last) group++, at_once = 0;
        last = at;
        at_once += e->what == AT_ONCE;
        open = open || at_once > 1;
        for (op_id o = h->txn_op[e->txn]; o < h->txn_op[e->txn + 1]; o++) {
            if (!writes(h, o)) continue;
            key_id k = h->op_key[o];
            if (seen[k] == group && w->writer[k] != e->txn) {
                strbuf b;
                strbuf_init(&b, w->m);
                atom_text(h, key_atom(h, k), &b);
                guard_fail(w->m->guard, GUARD_HISTORY, "key %.200s: two versions of commit_ts %lld",
                           strbuf_cstr(&b), (long long)at);
            }
            seen[k] = group;
            w->writer[k] = e->txn;
        }
    }
    memset(w->writer, 0xff, (history_keys(h) + 1) * sizeof *w->writer);
    mem_put(w->m, seen);
    return !open;
}

static void walk_events(walk *w)
{
    events all = {0};
    uint32_t *by = sort_events(w, &all);
    if (!check_ties(w, &all, by)) {
        give_up(w);
        return;
    }
    if (w->v->session_order && !(check_sessions(w, true) && check_sessions(w, false))) return;
    w->v->order = mem_array(w->v->mem, txn_id, w->h->txns + 1);
    for (size_t i = 0; i < all.n; i++) {
        const event *e = &all.at[by[i]];
        if (!take(w, e)) return;
        guard_tick(w->m->guard);
    }
}

/* A list with an element that was not appended so often violates every level, whatever the
   timestamps say, and is reported without them. */
static bool has_duplicates(const history *h, mem *m)
{
    duplicate_reads found = {0};
    bool some = false;
    find_duplicates(h, m, &found);
    for (size_t i = 0; i < found.n; i++)
        some = some || txn_status_of(h, found.at[i].txn) == TXN_COMMITTED;
    vec_free(m, &found);
    return some;
}

enum trusted_answer trusted_decide(verdict *v, const history *h, const facts *f, bool si, mem *work)
{
    walk w = {.v = v, .h = h, .m = work, .si = si, .answer = TRUSTED_HOLDS};
    if (!usable(h, work) || !load_keys(&w) || has_duplicates(h, work)) return TRUSTED_UNUSABLE;
    w.keep = w.keep || f->duplicate_writes || f->deletes || f->scans || f->iterators ||
             f->unknown || h->init_unknown;
    walk_events(&w);
    assert((w.answer == TRUSTED_VIOLATED) == (v->anomaly != ANOMALIES && v->reason));
    if (w.answer != TRUSTED_HOLDS) v->ordered = 0, v->choices.n = 0;
    if (w.answer == TRUSTED_UNUSABLE) return w.answer;
    v->trusted = true;
    v->outcome = w.answer == TRUSTED_HOLDS ? OUTCOME_HOLDS : OUTCOME_VIOLATED;
    return w.answer;
}
