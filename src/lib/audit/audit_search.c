/*
 * audit_search.c - depth-first search over the positions of the order.
 *
 * First pass: the log's order, each transaction with its first choice that agrees with what was
 * observed.  That decides almost every log, keeps few versions, and takes nothing back.  If a
 * transaction has no choice left, a second pass searches with backtracking: an earlier transaction
 * takes its next choice, unless that writes the same.  Both keep to a window of states that is
 * widened while it was the window that failed.  Last, for logs small enough, other orders.
 *
 * `violated` is said only after a search that left nothing out, or of the order that the
 * database's commit timestamps (or real time, at strict levels) dictate.
 */
#include "audit/symbolic.h"

#include <assert.h>
#include <stdio.h>

#include "audit/reorder.h"
#include "audit/serial_order.h"
#include "base/sort.h"

#define FREE_ORDER 10u /* transactions of which every order is tried */
#define DEFAULT_RUNS 4000000u
#define BEFORE_SYMBOLIC 3000u /* runs with backtracking, before choices are left open instead */
#define FORGET_EVERY 64u
#define FIRST_KEEP 2048u /* states */
#define FIRST_WINDOW 64u
#define WIDE_WINDOW 4096u
#define MAX_TOLD 8u /* edges of a cycle in words */
#define NEAR 12u    /* places of the order that a commit may be away from its timestamp's */

typedef struct search {
    engine *e;
    trial *trials;
    trial one;    /* without backtracking, one serves every position */
    uint32_t *at; /* free order: transaction -> position + 1, 0: not placed */
    bool free, back;
    bool near;      /* free, but only transactions whose commits overlap change places */
    uint32_t first; /* near: everything before this place of the log's order is placed */
    uint32_t left;  /* committed ones that are not placed */
} search;

static trial *here(search *s, uint32_t position)
{
    return s->back ? &s->trials[position] : &s->one;
}

/* ---- times ----------------------------------------------------------------------------------- */

static bool times_of(const log_txn *t, int64_t *begin, int64_t *seen, int64_t *call, int64_t *end)
{
    if (t->has_times) {
        *begin = t->n_stmts && t->stmts[0].has_time ? t->stmts[0].call : t->times[0];
        *seen = t->n_stmts && t->stmts[0].has_time ? t->stmts[0].answer : t->times[2];
        *call = t->times[2];
        *end = t->times[3];
        return true;
    }
    if (!t->has_begin || !t->has_end) return false;
    *begin = *seen = t->begin;
    *call = *end = t->end;
    return true;
}

/* Must a come before b in real time? */
static bool before(const engine *e, const log_txn *a, const log_txn *b)
{
    int64_t begin, seen, call, end, begin2, seen2, call2, end2;
    if (!times_of(a, &begin, &seen, &call, &end) || !times_of(b, &begin2, &seen2, &call2, &end2))
        return false;
    return end + (int64_t)e->o->drift < begin2;
}

/* Had a committed before b's commit was sent? */
static bool committed_before(const engine *e, const log_txn *a, const log_txn *b)
{
    int64_t begin, seen, call, end, begin2, seen2, call2, end2;
    if (!times_of(a, &begin, &seen, &call, &end) || !times_of(b, &begin2, &seen2, &call2, &end2))
        return false;
    return end + (int64_t)e->o->drift < call2;
}

static bool shown_at(const engine *e, const log_txn *a, const log_txn *b)
{
    int64_t begin, seen, call, end, begin2, seen2, call2, end2;
    if (!times_of(a, &begin, &seen, &call, &end) || !times_of(b, &begin2, &seen2, &call2, &end2))
        return true;
    return call <= seen2 + (int64_t)e->o->drift;
}

typedef struct by_time {
    uint64_t *key;  /* sorted */
    uint32_t *most; /* the highest position among the keys up to here, + 1 */
    uint32_t n;
} by_time;

/* The state before it and after it are one: it wrote nothing, or would have been stamped. */
static bool no_state(const engine *e, const log_txn *t)
{
    return engine_only_reads(e, t) || (e->stamped && !t->has_commit);
}

static by_time sorted_times(engine *e, bool end)
{
    by_time r = {mem_array(e->mem, uint64_t, e->n + 1), mem_array(e->mem, uint32_t, e->n + 1), 0};
    uint64_t *key = mem_array(e->mem, uint64_t, e->n + 1);
    uint32_t *who = mem_array(e->mem, uint32_t, e->n + 1);
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t b, s, c, f;
        const log_txn *t = &e->l->txns.at[e->order[i]];
        if (!times_of(t, &b, &s, &c, &f)) continue;
        if (no_state(e, t)) continue;
        key[r.n] = sort_key(end ? f : c);
        who[r.n++] = i;
    }
    uint32_t *by = sort_by_key(e->mem, key, r.n), most = 0;
    for (uint32_t i = 0; i < r.n; i++) {
        r.key[i] = key[by[i]];
        if (who[by[i]] + 1 > most) most = who[by[i]] + 1;
        r.most[i] = most;
    }
    mem_put(e->mem, key);
    mem_put(e->mem, who);
    mem_put(e->mem, by);
    return r;
}

/* How many keys are below (or at) the limit. */
static uint32_t rank(const by_time *t, int64_t limit, bool at)
{
    uint64_t k = sort_key(limit);
    uint32_t low = 0, high = t->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (t->key[mid] < k || (at && t->key[mid] == k))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The highest position + 1 of a key below (or at) the limit. */
static uint32_t highest(const by_time *t, int64_t limit, bool at)
{
    uint32_t n = rank(t, limit, at);
    return n ? t->most[n - 1] : 0;
}

/* The last commit before each position that was sent when its snapshot was answered.  A tree of
   highest positions over the ranks of the calls, filled along the order: commits of later
   positions say nothing, not even its own. */
static void highs(engine *e)
{
    by_time calls = sorted_times(e, false);
    int64_t drift = (int64_t)e->o->drift;
    uint32_t *tree = mem_array0(e->mem, uint32_t, calls.n + 1);
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t b, s, c, f;
        const log_txn *t = &e->l->txns.at[e->order[i]];
        if (!times_of(t, &b, &s, &c, &f)) continue;
        uint32_t high = 0;
        for (uint32_t k = rank(&calls, s + drift, true); k; k -= k & -k)
            if (tree[k] > high) high = tree[k];
        if (high < e->high[i]) e->high[i] = high;
        if (no_state(e, t)) continue;
        for (uint32_t k = rank(&calls, c, false) + 1; k <= calls.n; k += k & -k)
            if (i + 1 > tree[k]) tree[k] = i + 1;
    }
    mem_put(e->mem, tree);
    mem_put(e->mem, calls.key);
    mem_put(e->mem, calls.most);
}

/* States that real time allows each position to read. */
void search_windows(engine *e)
{
    for (uint32_t i = 0; i < e->n; i++) e->low[i] = 0, e->high[i] = i;
    if (!e->level.strict) return;
    by_time ends = sorted_times(e, true);
    highs(e);
    int64_t drift = (int64_t)e->o->drift;
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t b, s, c, f;
        if (!times_of(&e->l->txns.at[e->order[i]], &b, &s, &c, &f)) continue;
        e->low[i] = highest(&ends, b - drift, false);
        if (e->high[i] < e->low[i] && e->low[i] <= i) e->high[i] = e->low[i];
    }
    mem_put(e->mem, ends.key);
    mem_put(e->mem, ends.most);
}

/* ---- the given order ------------------------------------------------------------------------- */

/* The database told when some committed; the others (they wrote nothing that it stamps) come as
   late as real time lets them. */
static void place_unstamped(engine *e, const uint32_t *who, uint64_t *key, uint32_t n)
{
    uint64_t *stamp = mem_array(e->mem, uint64_t, n + 1);
    uint32_t *of = mem_array(e->mem, uint32_t, n + 1);
    e->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!e->l->txns.at[who[i]].has_commit) continue;
        stamp[e->n] = sort_key(e->l->txns.at[who[i]].commit);
        of[e->n++] = i;
    }
    uint32_t *by = sort_by_key(e->mem, stamp, e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        e->order[i] = who[of[by[i]]];
        key[of[by[i]]] = 2 * (uint64_t)i;
    }
    by_time calls = sorted_times(e, false);
    for (uint32_t i = 0; i < n; i++) {
        const log_txn *t = &e->l->txns.at[who[i]];
        int64_t b, s, c, f;
        if (t->has_commit) continue;
        bool timed = times_of(t, &b, &s, &c, &f);
        key[i] = timed ? 2 * (uint64_t)highest(&calls, f, true) - 1 : 2 * (uint64_t)e->n;
        if (timed && !highest(&calls, f, true)) key[i] = 0;
    }
    mem_put(e->mem, calls.key);
    mem_put(e->mem, calls.most);
    mem_put(e->mem, stamp);
    mem_put(e->mem, of);
    mem_put(e->mem, by);
}

/* An order that goes against a session's is none that we may show.  One without a stamp wrote
   nothing and comes before the next of its session; others are put behind the one before, and then
   the order is no fact any more. */
static void keep_sessions(engine *e)
{
    const sql_log *l = e->l;
    mem *m = e->mem;
    uint64_t *key = mem_array(m, uint64_t, e->n + 1);
    uint32_t *line = mem_array(m, uint32_t, e->n + 1); /* transactions in the order of lines */
    uint32_t *rank_of = mem_array(m, uint32_t, l->txns.n + 1), n = 0;
    uint32_t *mate = mem_array(m, uint32_t, l->sessions.n + 1);
    bool moved = false;
    for (uint32_t i = 0; i < e->n; i++) rank_of[e->order[i]] = i;
    for (uint32_t i = 0; i < l->txns.n; i++)
        if (l->txns.at[i].status == LOG_COMMITTED) line[n++] = i;
    memset(mate, 0xff, (l->sessions.n + 1) * sizeof *mate);
    for (uint32_t i = n; i-- > 0;) {
        const log_txn *t = &l->txns.at[line[i]];
        uint32_t *r = &rank_of[line[i]], *next = &mate[t->session];
        if (e->stamped && !t->has_commit && *next < *r) *r = *next, moved = true;
        *next = *r;
    }
    memset(mate, 0, (l->sessions.n + 1) * sizeof *mate);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *r = &rank_of[line[i]], *last = &mate[l->txns.at[line[i]].session];
        if (*r < *last) *r = *last, moved = e->mended = true;
        *last = *r;
        key[i] = (uint64_t)*r << 32 | line[i];
    }
    if (moved) {
        uint32_t *by = sort_by_key(m, key, n);
        for (uint32_t i = 0; i < n; i++) e->order[i] = line[by[i]];
        mem_put(m, by);
    }
    mem_put(m, key);
    mem_put(m, line);
    mem_put(m, rank_of);
    mem_put(m, mate);
}

static void sort_order(engine *e)
{
    const sql_log *l = e->l;
    uint64_t *key = mem_array(e->mem, uint64_t, l->txns.n + 1);
    uint32_t *who = mem_array(e->mem, uint32_t, l->txns.n + 1);
    bool stamps = false, ends = true;
    uint32_t n = 0;
    e->order = mem_array(e->mem, uint32_t, l->txns.n + 1);
    for (uint32_t i = 0; i < l->txns.n; i++) {
        int64_t b, s, c, f;
        if (l->txns.at[i].status != LOG_COMMITTED) continue;
        if (!times_of(&l->txns.at[i], &b, &s, &c, &f)) ends = false;
        if (l->txns.at[i].has_commit) stamps = true;
        who[n++] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t b, s, c, f = (int64_t)i;
        if (ends) times_of(&l->txns.at[who[i]], &b, &s, &c, &f);
        key[i] = sort_key(f);
    }
    uint32_t *by = sort_by_key(e->mem, key, n);
    e->stamped = stamps;
    if (stamps) { /* those between the same two stamps stay in the order of their ends */
        uint32_t *ended = mem_array(e->mem, uint32_t, n + 1);
        for (uint32_t i = 0; i < n; i++) ended[i] = who[by[i]];
        memcpy(who, ended, n * sizeof *who);
        mem_put(e->mem, ended);
        mem_put(e->mem, by);
        place_unstamped(e, who, key, n);
        by = sort_by_key(e->mem, key, n);
    }
    e->n = n;
    for (uint32_t i = 0; i < e->n; i++) e->order[i] = who[by[i]];
    if (!e->o->no_session_order) keep_sessions(e);
    mem_put(e->mem, key);
    mem_put(e->mem, who);
    mem_put(e->mem, by);
    e->low = mem_array(e->mem, uint32_t, e->n + 1);
    e->high = mem_array(e->mem, uint32_t, e->n + 1);
    e->first_read = mem_array0(e->mem, uint32_t, l->txns.n + 2);
    e->state_name = mem_array0(e->mem, const char *, l->txns.n + 2);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Free order: may the transaction come next? */
static bool may_come(const search *s, uint32_t txn)
{
    const engine *e = s->e;
    const log_txn *t = &e->l->txns.at[txn];
    if (s->at[txn] || t->status == LOG_ABORTED) return false;
    for (uint32_t i = 0; i < e->l->txns.n; i++) {
        const log_txn *o = &e->l->txns.at[i];
        if (i == txn || s->at[i] || o->status != LOG_COMMITTED) continue;
        if (!e->o->no_session_order && i < txn && o->session == t->session) return false;
        if (e->level.strict && before(e, o, t)) return false;
        /* snapshots are states of the order of commits, which have times of their own */
        if (e->level.strict && e->mode == MODE_SNAPSHOT && committed_before(e, o, t)) return false;
    }
    return true;
}

bool search_interval(const engine *e, uint32_t txn, int64_t *begin, int64_t *end)
{
    int64_t seen, call;
    return times_of(&e->l->txns.at[txn], begin, &seen, &call, end);
}

bool search_may_swap(const engine *e, uint32_t early, uint32_t late)
{
    const log_txn *o = &e->l->txns.at[early], *a = &e->l->txns.at[late];
    int64_t b, seen, call, f, b2, seen2, call2, f2;
    if (o->session == a->session && !e->o->no_session_order) return false;
    if (!times_of(a, &b, &seen, &call, &f) || !times_of(o, &b2, &seen2, &call2, &f2))
        return !e->level.strict;
    return e->mode == MODE_LATEST ? !before(e, o, a) : f2 >= call;
}

/* Timestamps are taken before commits are seen: those of overlapping commits may be the wrong way
   round.  A transaction may come before others of which none is known to have ended before it. */
static bool next_near(search *s, trial *t)
{
    const engine *e = s->e;
    while (s->first < e->n && s->at[e->order[s->first]]) s->first++;
    uint32_t from = t->started ? t->slot + 1 : s->first, end = s->first + NEAR;
    t->started = true;
    for (uint32_t q = from; q < end && q < e->n; q++) {
        bool good = !s->at[e->order[q]];
        for (uint32_t r = s->first; good && r < q; r++)
            good = s->at[e->order[r]] || search_may_swap(e, e->order[r], e->order[q]);
        if (!good) continue;
        t->slot = q;
        t->txn = e->order[q];
        return true;
    }
    return false;
}

/* As free_window, looking only where it can matter: no position is NEAR away from its place. */
static void near_window(search *s, uint32_t position)
{
    engine *e = s->e;
    const trial *t = here(s, position);
    const log_txn *me = &e->l->txns.at[t->txn];
    uint32_t low = 0, high = position;
    if (e->level.strict) {
        uint32_t from = e->low[t->slot] > NEAR + 1 ? e->low[t->slot] - NEAR - 1 : 0;
        low = from;
        high = from;
        for (uint32_t k = from; k < position; k++) {
            const log_txn *o = &e->l->txns.at[s->trials[k].txn];
            if (no_state(e, o)) continue;
            if (k < e->low[t->slot] + NEAR && before(e, o, me)) low = k + 1;
            if (shown_at(e, o, me)) high = k + 1;
        }
        if (high < low) high = low;
    }
    e->run_low = low;
    e->run_high = high;
}

static void free_window(search *s, uint32_t txn, uint32_t position)
{
    engine *e = s->e;
    const log_txn *t = &e->l->txns.at[txn];
    uint32_t low = 0, high = position;
    if (e->level.strict) {
        high = 0;
        for (uint32_t i = 0; i < e->l->txns.n; i++) {
            const log_txn *o = &e->l->txns.at[i];
            if (!s->at[i]) continue;
            if (before(e, o, t) && s->at[i] > low) low = s->at[i];
            if (shown_at(e, o, t) && s->at[i] > high) high = s->at[i];
        }
        if (high < low) high = low;
    }
    e->run_low = low;
    e->run_high = high;
}

/* Puts the next candidate at the position; false if there is none. */
static bool next_txn(search *s, uint32_t position)
{
    trial *t = here(s, position);
    if (s->near) return next_near(s, t);
    uint32_t from = t->started ? t->txn + 1 : 0;
    t->started = true;
    for (uint32_t i = from; i < s->e->l->txns.n; i++)
        if (may_come(s, i)) {
            t->txn = i;
            return true;
        }
    return false;
}

static void classify(engine *e)
{
    failure *f = &e->fail;
    if (!f->any || f->classified || f->why == RUN_REFUSED) return;
    f->classified = true;
    f->semantic = f->why != RUN_CONFLICT && !engine_explainable(e, f->txn, f->position);
}

static outcome run_here(search *s, uint32_t position)
{
    engine *e = s->e;
    trial *t = here(s, position);
    if (s->near) {
        near_window(s, position);
    } else if (s->free) {
        free_window(s, t->txn, position);
    } else {
        e->run_low = e->low[position];
        e->run_high = e->high[position];
    }
    if (e->mode != MODE_LATEST && e->run_low < e->s.horizon) e->run_low = e->s.horizon;
    if (e->mode == MODE_LATEST && e->level.strict && e->run_low > position) {
        e->t = t;
        e->position = position;
        return RUN_MISMATCH;
    }
    if (!e->by_row || !e->by_row[position] || e->mode == MODE_LATEST)
        return engine_run(e, t, position);
    audit_mode mode = e->mode;
    write_rule rule = e->rule;
    e->mode = MODE_ROW;
    e->rule = WRITE_FREE;
    outcome r = engine_run(e, t, position);
    e->mode = mode;
    e->rule = rule;
    return r;
}

/* Did an earlier way write the same? */
static bool known_way(engine *e, trial *t)
{
    uint64_t h = engine_effects(e);
    for (size_t i = 0; i < t->effects.n; i++)
        if (t->effects.at[i] == h) return true;
    vec_push(e->mem, &t->effects, h);
    return false;
}

static void forget_ways(trial *t)
{
    t->choices.n = t->effects.n = t->reached.n = t->changed = 0;
}

/* Without backtracking the window is widened where it failed. */
static bool widen(search *s, trial *t)
{
    engine *e = s->e;
    if (s->back || !e->cut || e->window >= WIDE_WINDOW) return false;
    e->window = WIDE_WINDOW;
    e->cut = false;
    forget_ways(t);
    return true;
}

/* The next way to run the transaction at the position that agrees with the log and writes what no
   earlier way wrote.  Leaves the writes pending. */
static outcome find_way(search *s, uint32_t position, bool again)
{
    engine *e = s->e;
    trial *t = here(s, position);
    bool enough = again && engine_only_reads(e, &e->l->txns.at[t->txn]); /* writes nothing else */
    for (;; enough = false) {
        if (enough || (again && !engine_advance(e, t) && !widen(s, t))) {
            forget_ways(t);
            if (!s->free || !next_txn(s, position)) return RUN_MISMATCH;
        }
        again = true;
        if (e->runs >= e->max_runs) {
            e->cut = true;
            return RUN_MISMATCH;
        }
        outcome r = run_here(s, position);
        if (r == RUN_REFUSED) return r;
        if (r != RUN_OK) continue;
        if (!s->back || !known_way(e, t)) return RUN_OK;
        vs_rollback(&e->s, 0);
    }
}

static bool complete(const search *s)
{
    if (s->near) return !s->left;
    for (uint32_t i = 0; i < s->e->l->txns.n; i++)
        if (s->e->l->txns.at[i].status == LOG_COMMITTED && !s->at[i]) return false;
    return true;
}

static void step_back(search *s, uint32_t position)
{
    vs_uncommit(&s->e->s, position + 1);
    if (!s->free) return;
    uint32_t txn = here(s, position)->txn;
    s->at[txn] = 0;
    s->left++;
    if (s->near && here(s, position)->slot < s->first) s->first = here(s, position)->slot;
}

static void step_on(search *s, uint32_t position, const uint32_t *horizon)
{
    engine *e = s->e;
    uint32_t txn = here(s, position)->txn;
    if (e->commits) e->commits(e->commits_ud, position);
    vs_commit(&e->s, position + 1);
    e->state_name[position + 1] = e->l->txns.at[txn].id;
    if (s->free) s->at[txn] = position + 1, s->left--;
    if (s->back || (position + 1) % FORGET_EVERY) return;
    uint32_t low = position + 1 > e->keep ? position + 1 - e->keep : 0;
    if (horizon && horizon[position + 1] > low) low = horizon[position + 1];
    if (low) vs_forget(&e->s, low);
}

typedef enum order_kind { ORDER_GIVEN, ORDER_NEAR, ORDER_ANY } order_kind;

/* One pass; the store is rebuilt first. */
static found pass(engine *e, order_kind kind, bool back, const uint32_t *horizon)
{
    bool free_order = kind != ORDER_GIVEN;
    search s = {.e = e,
                .free = free_order,
                .near = kind == ORDER_NEAR,
                .back = back || free_order,
                .left = e->n};
    uint32_t end = free_order ? (uint32_t)e->l->txns.n : e->n;
    engine_reset(e);
    e->s.searching = s.back;
    uint32_t window = e->window;
    s.trials = mem_array0(e->mem, trial, (s.back ? end : 0) + 1);
    if (free_order) s.at = mem_array0(e->mem, uint32_t, e->l->txns.n + 1);
    uint32_t position = 0;
    bool again = false;
    found answer = FOUND_YES;
    while (free_order ? !complete(&s) : position < end) {
        trial *t = here(&s, position);
        if (!s.back) {
            forget_ways(t);
            e->window = window;
        }
        outcome r = RUN_OK;
        if (!again && !free_order) t->txn = e->order[position];
        if (!again && free_order) {
            t->started = false;
            if (!next_txn(&s, position)) r = RUN_MISMATCH;
        }
        if (r == RUN_OK) r = find_way(&s, position, again);
        if (r == RUN_OK) {
            step_on(&s, position++, horizon);
            again = false;
            continue;
        }
        if (r == RUN_REFUSED) {
            answer = FOUND_REFUSED;
            break;
        }
        e->stuck = position;
        if (!s.back && e->mode != MODE_LATEST && e->s.horizon > (horizon ? horizon[position] : 0))
            e->forgotten = e->cut = true;
        /* a pass that dropped versions cannot tell; one with backtracking follows */
        bool whole = s.back || e->mode == MODE_LATEST;
        if (whole && e->exploring && e->fail.any && e->fail.position == position) classify(e);
        forget_ways(t);
        t->started = false;
        bool spent =
            e->runs >= e->max_runs; /* perhaps by classify: something is left, all the same */
        if (s.back && position && spent) e->cut = true;
        if (!s.back || !position || spent) {
            answer = e->cut ? FOUND_CUT : FOUND_NO;
            break;
        }
        step_back(&s, --position);
        again = true;
    }
    if (answer == FOUND_YES && free_order) {
        e->n = position;
        for (uint32_t i = 0; i < e->l->txns.n; i++)
            if (s.at[i]) e->order[s.at[i] - 1] = i;
    }
    for (uint32_t i = 0; s.back && i < end; i++) {
        vec_free(e->mem, &s.trials[i].choices);
        vec_free(e->mem, &s.trials[i].effects);
        vec_free(e->mem, &s.trials[i].reached);
    }
    mem_put(e->mem, s.trials);
    vec_free(e->mem, &s.one.choices);
    vec_free(e->mem, &s.one.reached);
    mem_put(e->mem, s.at);
    return answer;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static const char *say(engine *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *say(engine *e, const char *format, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return arena_text(&e->kept, text, strlen(text));
}

/* States below these are not read from each position on. */
static uint32_t *horizons(engine *e)
{
    if (!e->level.strict && e->mode != MODE_LATEST) return NULL;
    uint32_t *h = mem_array(e->mem, uint32_t, e->n + 1);
    uint32_t least = e->n;
    for (uint32_t i = e->n + 1; i-- > 0;) {
        if (i < e->n && e->mode != MODE_LATEST && e->low[i] < least) least = e->low[i];
        h[i] = e->mode == MODE_LATEST ? i : least < i ? least : i;
    }
    return h;
}

static found one_pass(engine *e, order_kind kind, bool back, uint32_t window)
{
    uint32_t *h = back || kind ? NULL : horizons(e);
    e->cut = false;
    e->window = window;
    uint64_t before_runs = e->runs;
    e->runs = 0;
    found r = pass(e, kind, back, h);
    e->runs += before_runs;
    mem_put(e->mem, h);
    return r;
}

found search_replay(engine *e, bool back, uint32_t window)
{
    e->keep = UINT32_MAX;
    return one_pass(e, ORDER_GIVEN, back, window);
}

/* Each transaction with its first choice that agrees.  Only the newest states are kept; if one
   might have read an older one, from the start, with more of them. */
found search_quickly(engine *e, uint32_t window)
{
    found r = FOUND_CUT;
    bool all = e->o->off[AUDIT_PASS_WINDOW];
    for (uint64_t keep = all ? UINT32_MAX : FIRST_KEEP; r == FOUND_CUT; keep *= 16) {
        e->keep = keep < UINT32_MAX ? (uint32_t)keep : UINT32_MAX;
        e->forgotten = false;
        r = one_pass(e, ORDER_GIVEN, false, window);
        if (!e->forgotten) break;
    }
    return r;
}

static found in_given_order(engine *e)
{
    static const uint32_t sizes[] = {FIRST_WINDOW, WIDE_WINDOW, UINT32_MAX};
    found r = FOUND_NO;
    size_t first = e->o->off[AUDIT_PASS_WINDOW] ? 2 : 0;
    e->mode = e->level.mode;
    e->rule = e->level.rule;
    e->exploring = e->mode != MODE_ROW;
    if (e->mode != MODE_LATEST && !engine_uses(e, AUDIT_PASS_SEARCH)) return symbolic_decide(e);
    if (e->mode == MODE_ROW && engine_uses(e, AUDIT_PASS_STRONGER)) {
        /* a stronger level first: its executions are ours too */
        e->mode = MODE_STATEMENT;
        e->rule = WRITE_RECHECK;
        r = search_quickly(e, sizes[first]);
        if (r == FOUND_YES || r == FOUND_REFUSED) return r;
        e->mode = MODE_ROW;
        e->rule = WRITE_FREE;
        e->exploring = true;
    }
    /* (an old state costs this pass only the tries of one transaction, the next a search) */
    for (size_t i = first; i < sizeof sizes / sizeof sizes[0]; i++) {
        r = search_quickly(e, sizes[i]);
        if (r != FOUND_CUT) break;
    }
    if (r == FOUND_YES || r == FOUND_REFUSED || e->mode == MODE_LATEST) return r;
    for (size_t i = first; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t most = e->max_runs, few = BEFORE_SYMBOLIC + 4 * (uint64_t)e->n;
        if (i == first && most > few) e->max_runs = few;
        r = one_pass(e, ORDER_GIVEN, true, sizes[i]);
        e->max_runs = most;
        if (r != FOUND_CUT || e->runs >= e->max_runs) return r;
        if (i == first && (r = symbolic_decide(e)) != FOUND_CUT) return r;
        if (i == first) e->cut = true;
    }
    return r;
}

/* Isolation fails in the order of the timestamps: perhaps two commits stand the wrong way round. */
static found in_near_order(engine *e)
{
    uint64_t most = e->max_runs, runs = 4 * (uint64_t)e->n + 200000;
    e->mode = e->level.mode;
    e->rule = e->level.rule;
    if (e->mode == MODE_ROW) return FOUND_CUT;
    e->max_runs = runs < most ? runs : most;
    uint64_t before_runs = e->runs;
    e->runs = 0;
    found r = e->mode == MODE_LATEST ? FOUND_CUT : repair_order(e);
    e->runs += before_runs;
    if (r != FOUND_YES) r = one_pass(e, ORDER_NEAR, true, 16);
    e->max_runs = most;
    return r;
}

void search_tell_failure(engine *e, audit_answer *a)
{
    failure *f = &e->fail;
    if (!f->any) return;
    const log_txn *t = &e->l->txns.at[f->txn];
    a->txn = t->id;
    a->statement = f->stmt < t->n_stmts ? f->stmt + 1 : 0;
    a->line = t->line;
    a->semantic = f->semantic;
    a->possible = f->possible.at;
    a->n_possible = f->possible.n;
    const char **c = arena_array(&e->kept, const char *, f->conflicts.n + 1);
    for (size_t i = 0; i < f->conflicts.n; i++) {
        uint32_t s = f->conflicts.at[i];
        c[i] = s && s <= f->order.n ? f->order.at[s - 1] : "";
    }
    a->conflicts = c;
    a->n_conflicts = f->conflicts.n;
    a->observed = "commit";
    if (f->stmt >= t->n_stmts) return;
    const log_stmt *s = &t->stmts[f->stmt];
    a->line = s->line;
    a->column = s->column;
    a->sql = e->l->texts.at[s->text].at;
    strbuf b;
    strbuf_init(&b, e->mem);
    match_show_observed(s, &b);
    a->observed = say(e, "%s", strbuf_cstr(&b));
    strbuf_free(&b);
}

static void tell_holds(engine *e, audit_answer *a)
{
    const char **ids = arena_array(&e->kept, const char *, e->n + 1);
    for (uint32_t i = 0; i < e->n; i++) ids[i] = e->l->txns.at[e->order[i]].id;
    a->order = ids;
    a->n_order = e->n;
    a->read = e->first_read;
    a->verdict = AUDIT_HOLDS;
    a->reason = a->other_order ? "the answers are explained, in another order than the log's"
                               : "the answers are explained in the log's order";
    if (!e->unchecked) return;
    a->verdict = AUDIT_UNDECIDED;
    a->reason = say(e, "no contradiction, but %llu statements have unknown effects or answers",
                    (unsigned long long)e->unchecked);
}

/* "t1 before t2 (rw accounts 1), t2 before t1 (...)" */
static const char *cycle_text(engine *e, const audit_answer *a)
{
    strbuf b;
    strbuf_init(&b, e->mem);
    strbuf_str(&b, "no serial order: ");
    for (size_t i = 0; i < a->n_cycle && i < MAX_TOLD; i++) {
        const audit_edge *w = &a->cycle[i];
        strbuf_printf(&b, "%s%s before %s (%s%s%s)", i ? ", " : "", w->from, w->to, w->kind,
                      w->row ? " " : "", w->row ? w->row : "");
    }
    if (a->n_cycle > MAX_TOLD) strbuf_str(&b, ", ...");
    const char *text = arena_text(&e->kept, strbuf_cstr(&b), strlen(strbuf_cstr(&b)));
    strbuf_free(&b);
    return text;
}

static void tell_violated(engine *e, audit_answer *a)
{
    const failure *f = &e->fail;
    a->verdict = AUDIT_VIOLATED;
    search_tell_failure(e, a);
    if (a->n_cycle)
        a->reason = cycle_text(e, a);
    else if (!f->any)
        a->reason = "no order of the transactions agrees with real time";
    else if (f->why == RUN_CONFLICT)
        a->reason = say(
            e, "transaction %s must have failed: it writes a row that %s wrote after its snapshot",
            a->txn, a->n_conflicts ? a->conflicts[0] : "another one");
    else if (!a->statement)
        a->reason = say(e, "transaction %s cannot have committed", a->txn);
    else
        a->reason = say(e, "statement %u of transaction %s cannot have answered so",
                        (unsigned)a->statement, a->txn);
}

static void tell_undecided(engine *e, audit_answer *a, const char *why)
{
    a->verdict = AUDIT_UNDECIDED;
    search_tell_failure(e, a);
    a->reason = why;
}

/* Does the log leave no doubt about its order?  A serial order need not be that of the commits:
   only transactions that do not overlap have a known one, but versions are in that order. */
static bool order_is_fact(const engine *e, bool of_versions)
{
    bool serial = e->level.strict && e->level.mode == MODE_LATEST && !of_versions;
    if (e->mended) return false;
    for (uint32_t i = 0; i < e->n; i++) {
        const log_txn *t = &e->l->txns.at[e->order[i]];
        if (serial && i && !before(e, &e->l->txns.at[e->order[i - 1]], t)) return false;
        const log_txn *next = i + 1 < e->n ? &e->l->txns.at[e->order[i + 1]] : NULL;
        if (t->has_commit && next && next->has_commit && next->commit == t->commit) return false;
        if (t->has_commit || no_state(e, t)) continue;
        if (of_versions || !e->level.strict || t->has_times || !t->has_end) return false;
    }
    return true;
}

/* One session: its order is the only one.  (Of the newest state alone, only one way was tried.) */
static bool only_order(const engine *e)
{
    if (e->o->no_session_order || e->level.mode == MODE_LATEST) return false;
    for (uint32_t i = 1; i < e->n; i++)
        if (e->order[i] < e->order[i - 1] ||
            e->l->txns.at[e->order[i]].session != e->l->txns.at[e->order[0]].session)
            return false;
    return true;
}

static void tell_refused(engine *e, audit_answer *a)
{
    const failure *f = &e->fail;
    search_tell_failure(e, a);
    a->verdict = AUDIT_UNDECIDED;
    a->reason = say(e, "not understood: %s", f->text ? f->text : "a statement");
}

static void warn(engine *e, audit_answer *a, uint32_t unknown)
{
    const char **w = arena_array(&e->kept, const char *, 4);
    size_t n = 0;
    if (unknown) w[n++] = "unknown-outcomes";
    bool timed = true;
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t b, s, c, f;
        if (!times_of(&e->l->txns.at[e->order[i]], &b, &s, &c, &f)) timed = false;
    }
    if (e->level.strict && !timed) w[n++] = "no-times";
    if (e->unchecked) w[n++] = "unchecked-statements";
    a->warnings = w;
    a->n_warnings = n;
}

void search_decide(engine *e, audit_answer *a)
{
    uint32_t unknown = 0, any = 0;
    for (size_t i = 0; i < e->l->txns.n; i++) {
        unknown += e->l->txns.at[i].status == LOG_UNKNOWN;
        any += e->l->txns.at[i].status != LOG_ABORTED;
    }
    e->max_runs = e->o->runs ? e->o->runs : DEFAULT_RUNS;
    sort_order(e);
    search_windows(e);
    a->txns = e->n;
    if (!e->n) {
        engine_reset(e); /* what is wrong with the initial state is told all the same */
        a->verdict = AUDIT_UNDECIDED;
        a->reason = "nothing to check: no committed transaction";
        return;
    }
    const char *why = NULL;
    found r = in_given_order(e);
    if (e->level.mode == MODE_ROW && r == FOUND_CUT) e->exploring = true;
    bool serial = e->level.mode == MODE_LATEST;
    bool given_up =
        r == FOUND_CUT && !engine_uses(e, AUDIT_PASS_SEARCH) && e->level.mode != MODE_LATEST;
    if (r == FOUND_NO && !unknown && engine_uses(e, AUDIT_PASS_SEARCH) && only_order(e)) {
        a->all_orders = true;
    } else if ((r == FOUND_NO || r == FOUND_CUT) && symbolic_in_no_order(e)) {
        r = FOUND_NO;
        a->all_orders = true;
    } else if ((r == FOUND_NO || r == FOUND_CUT) && !given_up) {
        found other = FOUND_CUT;
        failure shown = e->fail;
        e->exploring = false;
        if (any <= FREE_ORDER)
            other = one_pass(e, ORDER_ANY, true, UINT32_MAX);
        else if (serial)
            other = serial_order(e, a, &why);
        else if (!shown.semantic)
            other = in_near_order(e);
        if (other == FOUND_CUT && serial && e->level.strict && any > FREE_ORDER)
            other = in_near_order(e);
        bool semantic = serial && other == FOUND_NO && !a->n_cycle && e->fail.any;
        if (!semantic) e->fail = shown;
        if (a->n_cycle) e->fail.semantic = false;
        bool fact = order_is_fact(e, a->n_cycle > 0) && !unknown;
        if (other == FOUND_YES) {
            r = FOUND_YES;
            a->other_order = true;
        } else if (other == FOUND_NO && any <= FREE_ORDER) {
            r = FOUND_NO;
            a->all_orders = true;
        } else if (other == FOUND_NO) {
            r = fact ? FOUND_NO : FOUND_CUT;
        } else if (serial || !fact || !shown.semantic) {
            r = FOUND_CUT;
        }
    }
    if (r == FOUND_YES)
        tell_holds(e, a);
    else if (r == FOUND_REFUSED)
        tell_refused(e, a);
    else if (r == FOUND_NO)
        tell_violated(e, a);
    else
        tell_undecided(e, a,
                       why ? why
                       : e->runs >= e->max_runs
                           ? "the search was given up; the transaction named is the first that was "
                             "not explained"
                           : "not explained in the log's order; not every other order was tried");
    if (a->verdict == AUDIT_UNDECIDED && e->symbolic_why)
        a->reason = say(e, "%s (choices left open: %s)", a->reason, e->symbolic_why);
    warn(e, a, unknown);
    a->unchecked = e->unchecked;
    a->runs = e->runs;
}
