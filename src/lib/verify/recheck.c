/*
 * recheck.c - the second opinion: re-proves an answer on the history, from doc/levels.md alone.
 *
 * Shares nothing with the deciding code (asg, ir): it reads the history, the answer, and nobody's
 * derived tables.  Places in the commit order count from 1; 0 is the initial state.
 *
 * Holds: the answer's order and choices are a witness, and Biswas and Enea's axiom (MAV-1, RA-1,
 * CC-1) is checked on it literally: r in t3 reads k from t1; then t1 comes before t3, and every
 * other t2 that installs k and is visible to r comes before t1.  `last[k]` is the latest place of a
 * visible installer of k, so the axiom is last[k] <= place of t1.  Version orders are the commit
 * order: lists are replayed along it (H-8), `ver` hints must rise along it.
 *
 * Violated: what the answer claims is looked up in the history: the operation that shows a fault,
 * or each edge of a closed cycle.  Not proved: that no other choice of writers, outcomes of unknown
 * transactions or version order would do; that a ww edge and the version order behind an rw edge
 * are forced; the finer name of an anomaly.  An answer found by search shows no cycle: of it only
 * the transactions are looked at.  Nor are commit_ts and start_ts used.
 */
#include "verify/recheck.h"

#include <assert.h>

#include "base/sort.h"

/* --- the order ------------------------------------------------------------------------------- */

static bool load_order(checker *c)
{
    const claim *v = c->v;
    const history *h = c->h;
    c->n = v->ordered;
    c->place = mem_array0(c->m, uint32_t, h->txns + 1);
    c->so_pred = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (uint32_t i = 0; i < c->n; i++) {
        txn_id t = v->order[i];
        if (t >= h->txns)
            return recheck_no(c, NO_ID, "the order names a transaction that is not there");
        if (c->place[t]) return recheck_no(c, t, "stands twice in the order");
        if (txn_status_of(h, t) == TXN_ABORTED)
            return recheck_no(c, t, "aborted, but in the order");
        c->place[t] = i + 1;
    }
    bool by_key = v->level.id == LEVEL_LIN;
    uint32_t *before_of = by_key ? mem_array(c->m, uint32_t, history_keys(h) + 1) : NULL;
    uint32_t *session_of = by_key ? mem_array0(c->m, uint32_t, history_keys(h) + 1) : NULL;
    for (size_t s = 0; s < h->sessions.n; s++) {
        uint32_t whole = 0;
        for (uint32_t j = h->sess_first[s]; j < h->sess_first[s + 1]; j++) {
            txn_id t = h->sess_txn[j];
            bool committed = txn_status_of(h, t) == TXN_COMMITTED;
            uint32_t p = c->place[t];
            if (committed && !p) return recheck_no(c, t, "committed, but not in the order");
            if (!p || !v->session_order) continue;
            uint32_t *before = &whole;
            if (by_key) { /* (LIN-1: session order counts within a key) */
                bool larger;
                key_id k = recheck_single_key(h, t, &larger);
                if (k == NO_ID) continue;
                before = &before_of[k];
                if (session_of[k] != s + 1) *before = 0;
                session_of[k] = (uint32_t)s + 1;
            }
            if (p < *before) return recheck_no(c, t, "stands before its session predecessor");
            c->so_pred[p] = *before;
            if (committed) *before = p; /* nothing follows from an unknown outcome (H-3) */
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
                    return recheck_no(c, t, "the order goes against a version position");
                known[k] = 1;
                at[k] = (int64_t)a->a;
            }
        }
    }
    mem_put(c->m, at);
    mem_put(c->m, known);
    return true;
}

/* By operation, and the key within: reads are asked about in the order of their operations, and a
   hash table would miss the cache each time. */
static void load_choices(checker *c)
{
    const chosen *at = c->v->choices.at;
    uint32_t n = (uint32_t)c->v->choices.n;
    if (!n) return;
    uint64_t *key = mem_array(c->m, uint64_t, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) key[i] = (uint64_t)at[i].op << 32 | at[i].key;
    c->choice = sort_by_key(c->m, key, n);
    c->choice_first = mem_array(c->m, uint32_t, c->h->ops + 2);
    for (size_t o = 0, i = 0; o <= c->h->ops; o++) {
        while (i < n && at[c->choice[i]].op < o) i++;
        c->choice_first[o] = (uint32_t)i;
    }
    mem_put(c->m, key);
}

static const chosen *choice_of(const checker *c, op_id o, key_id k)
{
    const chosen *at = c->v->choices.at;
    if (!c->choice) return NULL;
    uint32_t lo = c->choice_first[o], end = c->choice_first[o + 1], hi = end;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (at[c->choice[mid]].key < k)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < end && at[c->choice[lo]].key == k ? &at[c->choice[lo]] : NULL;
}

/* --- external reads and their writers -------------------------------------------------------- */

static bool collect(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    int own = recheck_internal(c, t, o, k, x);
    if (own < 0) return recheck_no(c, t, "did not read its own write");
    seen r = {k, o, x, NO_ID};
    if (!own) vec_push(c->m, &c->reads, r);
    return true;
}

/* A mixture: of read-uncommitted transactions only values that nobody wrote count, and where the
   initial value is unknown one of those is what was there. */
static bool collect_mixed(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    if (c->row[t] != ROW_RU) return collect(c, t, o, k, x);
    if (recheck_internal(c, t, o, k, x) || recheck_wrote(c, k, x)) return true;
    if (c->init[k] == FREE) c->init[k] = x;
    return c->init[k] == x || recheck_no(c, t, "a value that nobody wrote");
}

static bool collect_all(checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    (void)t;
    seen r = {k, o, x, NO_ID};
    vec_push(c->m, &c->reads, r);
    return true;
}

static bool load_reads(checker *c, read_fn fn)
{
    c->r_first = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (uint32_t p = 1; p <= c->n; p++) {
        c->r_first[p] = (uint32_t)c->reads.n;
        if (!recheck_visit(c, c->v->order[p - 1], fn)) return false;
        if (c->reads.n > UINT32_MAX - 16) {
            c->why = claim_too_large;
            return false;
        }
    }
    c->r_first[c->n + 1] = (uint32_t)c->reads.n;
    return true;
}

/* A register: by the choice, the hint, or the only transaction that installs the value. */
static bool resolve(checker *c, uint32_t p, seen *r)
{
    txn_id t = c->v->order[p - 1];
    value_id x = r->value;
    hint f = recheck_hint(c, r->op, r->key);
    const chosen *pick = choice_of(c, r->op, r->key);
    uint32_t writers = 0, w = NO_ID;
    recheck_index_values(c);
    if (pick && pick->writer != NO_ID) {
        if (pick->writer >= c->h->txns || !c->place[pick->writer])
            return recheck_no(c, t, "a chosen writer takes no part");
        w = recheck_install(c, pick->writer, r->key);
        if (w == NO_ID || plain(c->h->op_value[c->w_op[w]]) != x ||
            !recheck_allowed(c, r->op, f, x == VALUE_NULL, w))
            return recheck_no(c, t, "a chosen writer did not install what was read");
    } else if (!pick) {
        for (uint32_t i = recheck_wrote(c, r->key, x); i && writers < 2; i = c->w_next[i - 1]) {
            bool takes_part = c->place[c->w_txn[i - 1]] && c->w_txn[i - 1] != t;
            if (recheck_too_large(c, 1)) return false;
            if (!takes_part || !installed(c, i - 1) ||
                !recheck_allowed(c, r->op, f, x == VALUE_NULL, i - 1))
                continue;
            w = i - 1;
            writers++;
        }
    }
    bool initial = (c->init[r->key] == x || c->init[r->key] == FREE) &&
                   recheck_allowed(c, r->op, f, x == VALUE_NULL, NO_ID);
    /* a free initial value is only used where nothing else explains the read */
    if (!pick && writers + (initial && !c->open[r->key]) > 1)
        return recheck_no(c, t, "a read has several possible writers, and the answer names none");
    if (w == NO_ID) {
        if (!initial)
            return recheck_no(c, t, "read a value that no transaction of the order installs");
        c->init[r->key] = x; /* one initial value per key */
    }
    r->value = w == NO_ID ? 0 : c->place[c->w_txn[w]];
    if (r->value >= p) return recheck_no(c, t, "reads from a transaction that comes later");
    return true;
}

#define LOOK_BACK 8

/* A read that says nothing of its writer saw, if nothing is against it, the last version before its
   place that has its value: any version that explains it makes a witness.  `at`: how many
   installers of the key stand before p.  False: look for it by the value. */
static bool resolve_recent(const checker *c, seen *r, uint32_t at)
{
    const installers *x = &c->by_key;
    if (c->v->choices.n || c->h->op_kind[r->op] & (OP_ATTR | OP_TOMB)) return false;
    for (uint32_t i = 0; i < LOOK_BACK && i < at; i++) {
        uint32_t v = x->first[r->key] + at - 1 - i;
        if (x->value[v] != r->value) continue;
        r->value = x->place[v];
        r->next = v + 1;
        return true;
    }
    if (at >= LOOK_BACK || c->open[r->key] || c->init[r->key] != r->value) return false;
    r->value = 0;
    r->next = x->first[r->key];
    return true;
}

/* --- lists ----------------------------------------------------------------------------------- */

seq recheck_content(const checker *c, const version *x)
{
    return (seq){x->len ? c->text.at + x->base : NULL, x->len, x->scalar};
}

/* Applies all that t did to k to the content that ends the text. */
void recheck_apply(checker *c, txn_id t, key_id k, version *x)
{
    uint32_t w, hi = recheck_own(c, t, k, NO_ID, &w);
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
        recheck_apply(c, t, k, &x[i]);
    }
}

/* The version of k that place p installs, or NO_ID. */
uint32_t recheck_version_at(const checker *c, key_id k, uint32_t p)
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
   own (H-8).  False: the list does not end with them. */
static bool external(const checker *c, uint32_t p, const seen *r, seq *x, bool *pin)
{
    uint32_t lo, hi = recheck_own(c, c->v->order[p - 1], r->key, r->op, &lo);
    *x = content(c->h, &r->value);
    *pin = lo < hi;
    return recheck_strip(c, lo, hi, x);
}

/* The version that the answer says was read, or NO_ID if it leaves that to the content. */
static uint32_t named_version(const checker *c, uint32_t p, const seen *r, bool pin)
{
    const chosen *pick = choice_of(c, r->op, r->key);
    if (pick && pick->writer == NO_ID) return c->v_first[r->key];
    if (pick && (pick->writer >= c->h->txns || !c->place[pick->writer])) return NO_ID;
    if (pick) return recheck_version_at(c, r->key, c->place[pick->writer]);
    return pin ? recheck_version_at(c, r->key, p) - 1 : NO_ID;
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
        if (c->versions[lo].place == p || !same(recheck_content(c, &c->versions[lo]), x)) continue;
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
    if (!external(c, p, r, &x, &pin)) return recheck_no(c, t, "did not read its own appends");
    uint32_t v = named_version(c, p, r, pin);
    if (v == NO_ID && choice_of(c, r->op, r->key))
        return recheck_no(c, t, "a chosen writer does not install the list");
    if (v == NO_ID) v = find_version(c, p, r->key, x);
    if (v == NO_ID || !same(recheck_content(c, &c->versions[v]), x))
        return recheck_no(c, t, "read a list that the appends in this order do not give");
    uint32_t from = c->versions[v].place;
    if (pin && v + 1 != recheck_version_at(c, r->key, p))
        return recheck_no(c, t, "read another list than the one it appended to");
    uint32_t w = from ? recheck_install(c, c->v->order[from - 1], r->key) : NO_ID;
    hint f = recheck_hint(c, r->op, r->key);
    if (pin && f.given && !f.init && f.from == c->h->txn_label[t]) f.given = false;
    if (!recheck_allowed(c, r->op, f, x.n == 0, w))
        return recheck_no(c, t, "a list read goes against its hint");
    r->value = from;
    return from < p || recheck_no(c, t, "reads from a transaction that comes later");
}

static bool resolve_all(checker *c)
{
    uint32_t *before = mem_array0(c->m, uint32_t, history_keys(c->h) + 1); /* installers by key */
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
            seen *r = &c->reads.at[i];
            if (c->is_list[r->key] ? !resolve_list(c, p, r)
                                   : !resolve_recent(c, r, before[r->key]) && !resolve(c, p, r))
                return false;
        }
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++)
            before[c->w_key.at[w]] += installed(c, w);
        guard_tick(c->m->guard);
    }
    return true;
}

/* --- the axiom ------------------------------------------------------------------------------- */

static void see_key(checker *c, key_id k, uint32_t p)
{
    if (c->stamp[k] != c->epoch) {
        c->stamp[k] = c->epoch;
        c->last[k] = 0;
    }
    if (c->last[k] < p) c->last[k] = p;
}

/* p2 is visible from now on: what it installs counts. */
void recheck_see(checker *c, uint32_t p2)
{
    txn_id t = c->v->order[p2 - 1];
    for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) see_key(c, c->w_key.at[w], p2);
}

/* The same, once, for the reads of p3 alone: whichever of p2's writes and p3's reads are fewer. */
bool recheck_see_for(checker *c, uint32_t p2, uint32_t p3)
{
    if (!p2 || c->source[p2] == p3) return true;
    c->source[p2] = p3;
    txn_id t = c->v->order[p2 - 1];
    uint32_t writes = c->w_first[t + 1] - c->w_first[t], lo = c->r_first[p3];
    uint32_t reads = c->r_first[p3 + 1] - lo;
    if (writes <= 8 || writes < 4 * reads) {
        recheck_see(c, p2);
    } else {
        for (uint32_t i = lo; i < lo + reads; i++)
            if (recheck_install(c, t, c->reads.at[i].key) != NO_ID)
                see_key(c, c->reads.at[i].key, p2);
    }
    return !recheck_too_large(c, (writes < 4 * reads ? writes : 4 * reads) + 1);
}

/* No visible installer of the key is later than the one that was read. */
bool recheck_read_ok(checker *c, uint32_t p3, uint32_t i)
{
    const seen *r = &c->reads.at[i];
    if (c->stamp[r->key] != c->epoch || c->last[r->key] <= r->value) return true;
    return recheck_no(c, c->v->order[p3 - 1], "read past a transaction that was visible to it");
}

/* Monotonic atomic view: visible is what an earlier operation of t3 read from.  The reads of one
   scan are simultaneous. */
static bool check_mav(checker *c)
{
    for (uint32_t p = 1; p <= c->n; p++) {
        c->epoch++;
        for (uint32_t i = c->r_first[p], j; i < c->r_first[p + 1]; i = j) {
            for (j = i; j < c->r_first[p + 1] && c->reads.at[j].op == c->reads.at[i].op; j++)
                if (!recheck_read_ok(c, p, j)) return false;
            for (uint32_t s = i; s < j; s++)
                if (!recheck_see_for(c, c->reads.at[s].value, p)) return false;
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
            if (!recheck_see_for(c, c->reads.at[i].value, p)) return false;
        }
        for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++)
            if (!recheck_read_ok(c, p, i)) return false;
        if (!c->v->session_order || txn_status_of(h, t) != TXN_COMMITTED) continue;
        for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++) {
            by[c->w_key.at[w]] = s;
            c->session_last[c->w_key.at[w]] = p;
        }
    }
    return true;
}

/* --- read-uncommitted ------------------------------------------------------------------------ */

/* Written by nobody, of whatever status, and not initial (C-1); of lists, element by
   element; an empty one needs a delete. */
static bool garbage(const checker *c, key_id k, seq x, seq init)
{
    bool bad = !x.n && !recheck_wrote(c, k, VALUE_NULL);
    for (uint32_t i = 0; i < x.n; i++) {
        uint32_t w = recheck_wrote(c, k, x.at[i]);
        while (w && x.scalar && op_kind_of(c->h, c->w_op[w - 1]) == OP_APPEND) w = c->w_next[w - 1];
        bad = bad || (!w && (x.scalar || !contains(init, x.at[i])));
    }
    return bad && !same(x, init);
}

/* Does the list show an element more often than the initial list and all writes together, of
   whatever status?  (C-8)  Both lists are sorted, so that equal elements are neighbours. */
bool recheck_duplicates(const checker *c, key_id k, value_id x)
{
    if (x == VALUE_UNKNOWN || c->h->init_unknown) return false;
    seq s = content(c->h, &x), init = content(c->h, &c->h->key_init[k]);
    if (s.scalar || s.n < 2) return false;
    uint64_t *e = mem_array(c->m, uint64_t, (size_t)s.n + init.n), *f = e + s.n;
    for (uint32_t i = 0; i < s.n; i++) e[i] = s.at[i];
    for (uint32_t i = 0; i < init.n; i++) f[i] = init.at[i];
    sort_u64(e, s.n);
    sort_u64(f, init.n);
    bool more = false;
    for (uint32_t i = 0, j = 0, end; i < s.n && !more; i = end) {
        uint32_t there = 0, wanted;
        for (end = i; end < s.n && e[end] == e[i];) end++;
        wanted = end - i;
        if (wanted < 2) continue;
        for (uint32_t w = recheck_wrote(c, k, (value_id)e[i]); w && there < wanted;
             w = c->w_next[w - 1])
            there++;
        while (j < init.n && f[j] < e[i]) j++;
        for (; j < init.n && f[j] == e[i]; j++) there++;
        more = there && there < wanted;
        guard_tick(c->m->guard);
    }
    mem_put(c->m, e);
    return more;
}

/* The elements of a list come from writers in version order, and those before own appends from
   writers before the reader (RU-2; test/oracle/README.md).  Each may come from anyone who wrote
   it, so the earliest possible writer is best; one that takes no part constrains nothing. */
static bool in_order(checker *c, uint32_t p, const seen *r, seq x, seq init, bool own_appends)
{
    uint32_t reached = 0;
    for (uint32_t i = 0; i < x.n && !x.scalar; i++) {
        uint32_t best = NO_ID, any = recheck_wrote(c, r->key, x.at[i]);
        bool initial = contains(init, x.at[i]), free_choice = !any && !initial;
        if (initial && !reached) best = 0;
        for (uint32_t w = any; w; w = c->w_next[w - 1]) {
            uint32_t q = write_is_local(c, w - 1) ? 0 : c->place[c->w_txn[w - 1]];
            if (!q) free_choice = true;
            if (q && q >= reached && q < best) best = q;
        }
        if (!free_choice && best == NO_ID) return false;
        if (!free_choice) reached = best;
    }
    return !own_appends || reached <= p;
}

/* Own writes are not judged at this level, nor are they garbage. */
bool recheck_garbage(const checker *c, txn_id t, op_id o, key_id k, value_id x)
{
    uint32_t lo, hi = recheck_own(c, t, k, o, &lo);
    seq rest = content(c->h, &x);
    bool judged = lo < hi && !recheck_sets(c, lo, hi) ? recheck_strip(c, lo, hi, &rest)
                                                      : !recheck_internal(c, t, o, k, x);
    return judged && garbage(c, k, rest, content(c->h, &c->init[k]));
}

static bool check_ru_read(checker *c, uint32_t p, const seen *r, seq init)
{
    txn_id t = c->v->order[p - 1];
    uint32_t lo, hi = recheck_own(c, t, r->key, r->op, &lo);
    bool sets = recheck_sets(c, lo, hi), appends = lo < hi && !sets;
    seq x = content(c->h, &r->value), rest = x;
    /* own writes are not judged at this level, nor are they garbage */
    bool judged = appends ? recheck_strip(c, lo, hi, &rest)
                          : !recheck_internal(c, t, r->op, r->key, r->value);
    if (recheck_duplicates(c, r->key, r->value))
        return recheck_no(c, t, "a list shows an element more often than it was appended");
    if (judged && garbage(c, r->key, rest, init)) {
        if (c->is_list[r->key] || c->init[r->key] != FREE)
            return recheck_no(c, t, "a value that nobody wrote");
        c->init[r->key] = r->value; /* then it was there before the trace */
    }
    if (recheck_too_large(c, (uint64_t)x.n * (1 + init.n))) return false;
    return in_order(c, p, r, x, init, appends) ||
           recheck_no(c, t, "a list shows its elements against the order");
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

/* --- one walk -------------------------------------------------------------------------------- */

/* Registers without hints, ranges or unknown beginnings, and an order that leaves nothing open. */
static bool is_plain(const checker *c)
{
    const history *h = c->h;
    if (h->attrs.n || h->ranges.n || h->init_unknown || c->v->choices.n) return false;
    for (op_id o = 0; o < h->ops; o++) {
        unsigned kind = h->op_kind[o] & ~OP_LOCK;
        if (kind != OP_READ && kind != OP_WRITE && kind != OP_DELETE) return false;
        if (h->op_value[o] > VALUE_NULL && h->op_value[o] != VALUE_UNKNOWN &&
            value_atom(h, h->op_value[o]).kind == ATOM_LIST)
            return false;
    }
    for (key_id k = 0; k < history_keys(h); k++)
        if (h->key_init[k] > VALUE_NULL && value_atom(h, h->key_init[k]).kind == ATOM_LIST)
            return false;
    return true;
}

/* Serializability of such a history: run it. */
static bool run(checker *c)
{
    const history *h = c->h;
    size_t keys = history_keys(h);
    struct state {
        value_id now, own;
        uint32_t place; /* of `own` */
    } *s = mem_array0(c->m, struct state, keys + 1);
    for (key_id k = 0; k < keys; k++) s[k].now = plain(h->key_init[k]);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            struct state *x = &s[h->op_key[o]];
            value_id v = plain(h->op_value[o]);
            if ((h->op_kind[o] & OP_KIND_MASK) != OP_READ) {
                x->own = v;
                x->place = p;
                continue;
            }
            if (v == VALUE_UNKNOWN) continue;
            bool own = x->place == p && c->v->ryow != RYOW_EXTERNAL;
            if (own && x->own == v) continue;
            if (own && c->v->ryow == RYOW_MUST)
                return recheck_no(c, t, "did not read its own write");
            if (x->now != v)
                return recheck_no(c, t, "read a version that was not the newest at its place");
        }
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++)
            if ((h->op_kind[o] & OP_KIND_MASK) != OP_READ)
                s[h->op_key[o]].now = s[h->op_key[o]].own;
        guard_tick(c->m->guard);
    }
    return true;
}

static bool check_holds(checker *c)
{
    enum level_id level = c->v->level.id;
    bool weak = level == LEVEL_RU || level == LEVEL_RC || level == LEVEL_MAV || level == LEVEL_RA ||
                level == LEVEL_CC;
    bool strong = level == LEVEL_SER || level == LEVEL_SSER || level == LEVEL_LIN ||
                  level == LEVEL_SI || level == LEVEL_GSI || level == LEVEL_PCSI ||
                  level == LEVEL_STRONG_SI || level == LEVEL_MIXED || level == LEVEL_MIXED_PG;
    bool graph = level == LEVEL_CS || level == LEVEL_RR || level == LEVEL_PC || level == LEVEL_CV ||
                 level == LEVEL_PSI || level == LEVEL_MV || level == LEVEL_UA ||
                 level == LEVEL_NLU || level == LEVEL_FCV || level == LEVEL_US;
    bool session =
        level == LEVEL_RYW || level == LEVEL_MR || level == LEVEL_MW || level == LEVEL_WFR;
    weak = weak || session;
    bool split = level == LEVEL_INNODB_RR || level == LEVEL_INNODB_RR_TIGHT;
    bool real =
        c->v->level.realtime && level != LEVEL_SER && level != LEVEL_SI && !level_is_mixed(level);
    if (real && level != LEVEL_MAV && level != LEVEL_RU) graph = graph || weak;
    if (c->h->assumed && (level == LEVEL_RA || level == LEVEL_CC)) graph = true;
    if (!weak && !strong && !graph && !split)
        return recheck_no(c, NO_ID, "no recheck for this level yet");
    if (!load_order(c) || !recheck_load_rows(c)) return false;
    if (c->h->assumed && !recheck_assumed(c)) return false;
    /* What is serializable in this order satisfies every level, but for those that want the real
       order of commits. */
    bool serial = level == LEVEL_SER || level == LEVEL_SSER || level == LEVEL_LIN;
    bool commits = level == LEVEL_GSI || level == LEVEL_PCSI || level == LEVEL_STRONG_SI;
    const struct iso_level *words = c->v->definition;
    /* snapshots are not free */
    bool given = c->h->assumed && (recheck_orders_begins(level) || c->row);
    if (!commits && !given && is_plain(c) && (!words || recheck_words_known(c))) {
        bool timed =
            level == LEVEL_SSER || level == LEVEL_LIN || level == LEVEL_FCV || c->v->level.realtime;
        bool ok = (!timed || recheck_real_time(c)) && run(c);
        if (ok || serial) return ok;
        c->why = NULL;
    }
    recheck_load_writes(c);
    recheck_load_keys(c);
    load_choices(c);
    if (c->row) recheck_index_values(c);
    read_fn reads = level == LEVEL_RU ? collect_all : c->row ? collect_mixed : collect;
    if (!check_positions(c) || !load_reads(c, reads)) return false;
    if (level == LEVEL_RU) {
        recheck_index_values(c);
        return (!real || recheck_real_time(c)) && check_ru(c);
    }
    size_t keys = history_keys(c->h);
    c->last = mem_array0(c->m, uint32_t, keys + 1);
    c->stamp = mem_array0(c->m, uint32_t, keys + 1);
    c->source = mem_array0(c->m, uint32_t, (size_t)c->n + 1);
    recheck_load_installers(c);
    load_lists(c);
    value_id *what = split ? mem_array(c->m, value_id, c->reads.n + 1) : NULL;
    for (size_t i = 0; split && i < c->reads.n; i++) what[i] = c->reads.at[i].value;
    if (!resolve_all(c)) return false;
    mem_put(c->m, c->slot); /* nothing is looked up by value any more */
    mem_put(c->m, c->w_next);
    if (real && level == LEVEL_MAV && !recheck_real_time(c)) return false;
    if (words) return (!real || recheck_real_time(c)) && recheck_words(c);
    if (graph && level != LEVEL_PC) return recheck_graph(c);
    switch (level) {
    case LEVEL_INNODB_RR:
    case LEVEL_INNODB_RR_TIGHT: return recheck_split(c, what);
    case LEVEL_RYW:
    case LEVEL_MR:
    case LEVEL_MW:
    case LEVEL_WFR: return recheck_session(c);
    case LEVEL_MAV: return check_mav(c);
    case LEVEL_RA: return check_ra(c);
    case LEVEL_CC: return recheck_causal(c);
    case LEVEL_RC: return true; /* writers come before readers, and that is all */
    default: return recheck_strong(c);
    }
}

bool claim_recheck(const claim *v, const history *h, mem *m, const char **why)
{
    assert(h->frozen);
    checker c = {.v = v, .h = h, .m = m};
    bool ok = v->outcome == OUTCOME_UNDECIDED;
    if (!ok && recheck_single(&c))
        ok = v->outcome == OUTCOME_HOLDS ? check_holds(&c) : recheck_violated(&c);
    *why = ok ? NULL : c.why;
    assert(ok || c.why);
    return ok;
}
