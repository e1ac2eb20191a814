/*
 * audit_search.c - depth-first search over the positions of the order.
 *
 * First replay: the log's order, each transaction with its first choice that agrees with what was
 * observed.  That decides almost every log, keeps few versions, and takes nothing back.  If a
 * transaction has no choice left, a second replay searches with backtracking: an earlier
 * transaction takes its next choice, unless that writes the same.  Both keep to a window of states
 * that is widened while it was the window that failed.  Last, for logs small enough, other orders.
 *
 * `violated` is said only after a search that left nothing out, or of the order that the
 * database's commit timestamps (or real time, at strict levels) dictate.  The order of the log is
 * made in txn_order.c, the sentences of the answer in audit_answer.c.
 */
#include "audit/symbolic.h"

#include <assert.h>
#include <string.h>

#include "audit/aborted_errors.h"
#include "audit/audit_answer.h"
#include "audit/chosen_values.h"
#include "audit/log_doubt.h"
#include "audit/reorder.h"
#include "audit/serial_order.h"
#include "audit/snapshot_moments.h"
#include "audit/timed_orders.h"
#include "audit/txn_order.h"
#include "base/search.h"
#include "base/sort.h"

#define DEFAULT_RUNS 4000000u
#define BEFORE_SYMBOLIC 3000u /* runs with backtracking, before choices are left open instead */
#define FORGET_EVERY 64u
#define FIRST_KEEP 2048u /* states */
#define FIRST_WINDOW 64u
#define WIDE_WINDOW 4096u
#define MOST_UNFIT 64u /* executions of a longer log that were found but have no moments */
#define NEAR 12u       /* places of the order that a commit may be away from its timestamp's */

typedef enum order_kind { ORDER_GIVEN, ORDER_NEAR, ORDER_ANY } order_kind;

typedef struct search {
    engine *e;
    trial *trials;
    trial one;    /* without backtracking, one serves every position */
    uint32_t *at; /* free order: transaction -> position + 1, 0: not placed */
    bool free, back;
    bool collect;   /* all states that explain each position, not the newest ones alone */
    bool near;      /* free, but only transactions whose commits overlap change places */
    uint32_t first; /* near: everything before this place of the log's order is placed */
    uint32_t left;  /* committed ones that are not placed */
    uint32_t unfit; /* executions whose snapshots have no moments that fit together */
} search;

static trial *here(search *s, uint32_t position)
{
    return s->back ? &s->trials[position] : &s->one;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Free order: may the transaction come next? */
static bool may_come(const search *s, uint32_t txn)
{
    assert(s->free && !s->near && txn < s->e->log->txns.n);
    const engine *e = s->e;
    const log_txn *t = &e->log->txns.at[txn];
    if (s->at[txn] || t->status == LOG_ABORTED) return false;
    for (uint32_t i = 0; i < e->log->txns.n; i++) {
        const log_txn *o = &e->log->txns.at[i];
        if (i == txn || s->at[i] || o->status != LOG_COMMITTED) continue;
        if (!e->o->no_session_order && i < txn && o->session == t->session) return false;
        if (e->level.strict && ended_before(e, o, t)) return false;
        /* snapshots are states of the order of commits, which have times of their own */
        if (e->level.strict && e->run.mode == MODE_SNAPSHOT && committed_before(e, o, t))
            return false;
    }
    return true;
}

/* Timestamps are taken before commits are seen: those of overlapping commits may be the wrong way
   round.  A transaction may come before others of which none is known to have ended before it. */
static bool next_near(search *s, trial *t)
{
    assert(s->near && s->free && s->back);
    const engine *e = s->e;
    while (s->first < e->order.n && s->at[e->order.at[s->first]]) s->first++;
    uint32_t from = t->started ? t->slot + 1 : s->first, end = s->first + NEAR;
    t->started = true;
    for (uint32_t q = from; q < end && q < e->order.n; q++) {
        bool good = !s->at[e->order.at[q]];
        for (uint32_t r = s->first; good && r < q; r++)
            good = s->at[e->order.at[r]] || order_may_swap(e, e->order.at[r], e->order.at[q]);
        if (!good) continue;
        t->slot = q;
        assert(q >= s->first && q < s->first + NEAR);
        t->txn = e->order.at[q];
        return true;
    }
    return false;
}

/* As free_window, looking only where it can matter: no position is NEAR away from its place. */
static void near_window(search *s, uint32_t position)
{
    engine *e = s->e;
    const trial *t = here(s, position);
    const log_txn *me = &e->log->txns.at[t->txn];
    uint32_t low = 0, high = position;
    if (e->level.strict) {
        uint32_t from = e->order.low[t->slot] > NEAR + 1 ? e->order.low[t->slot] - NEAR - 1 : 0;
        low = from;
        high = from;
        for (uint32_t k = from; k < position; k++) {
            const log_txn *o = &e->log->txns.at[s->trials[k].txn];
            if (makes_no_state(e, o)) continue;
            if (k < e->order.low[t->slot] + NEAR && ended_before(e, o, me)) low = k + 1;
            if (may_be_shown_to(e, o, me)) high = k + 1;
        }
        if (high < low) high = low;
    }
    e->run.low = low;
    e->run.high = high;
}

static void free_window(search *s, uint32_t txn, uint32_t position)
{
    engine *e = s->e;
    const log_txn *t = &e->log->txns.at[txn];
    uint32_t low = 0, high = position;
    if (e->level.strict) {
        high = 0;
        for (uint32_t i = 0; i < e->log->txns.n; i++) {
            const log_txn *o = &e->log->txns.at[i];
            if (!s->at[i]) continue;
            if (ended_before(e, o, t) && s->at[i] > low) low = s->at[i];
            if (may_be_shown_to(e, o, t) && s->at[i] > high) high = s->at[i];
        }
        if (high < low) high = low;
    }
    e->run.low = low;
    e->run.high = high;
}

/* Puts the next candidate at the position; false if there is none. */
static bool next_txn(search *s, uint32_t position)
{
    trial *t = here(s, position);
    if (s->near) return next_near(s, t);
    uint32_t from = t->started ? t->txn + 1 : 0;
    t->started = true;
    for (uint32_t i = from; i < s->e->log->txns.n; i++)
        if (may_come(s, i)) {
            t->txn = i;
            return true;
        }
    return false;
}

static void classify(engine *e)
{
    assert(!e->fail.any || e->fail.txn < e->log->txns.n);
    failure *f = &e->fail;
    if (!f->any || f->classified || f->why == RUN_REFUSED) return;
    f->classified = true;
    f->semantic = f->why != RUN_CONFLICT && !engine_explainable(e, f->txn, f->position);
}

/* No run at the position reads an older state. */
static uint32_t lowest_state(const search *s, uint32_t position)
{
    const engine *e = s->e;
    return s->free || e->run.mode == MODE_STATEMENT ? 0 : e->order.low[position];
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
        e->run.low = e->order.low[position];
        e->run.high = e->order.high[position];
    }
    if (e->run.mode != MODE_LATEST && e->run.low < e->store.horizon) e->run.low = e->store.horizon;
    if (e->run.mode == MODE_LATEST && e->level.strict && e->run.low > position) {
        e->run.trial = t;
        e->run.position = position;
        return RUN_MISMATCH;
    }
    if (!e->hooks.by_row || !e->hooks.by_row[position] || e->run.mode == MODE_LATEST)
        return engine_run(e, t, position);
    audit_mode mode = e->run.mode;
    write_rule rule = e->run.rule;
    e->run.mode = MODE_ROW;
    assert(mode != MODE_ROW && !e->run.focus);
    e->run.rule = WRITE_FREE;
    outcome r = engine_run(e, t, position);
    e->run.mode = mode;
    e->run.rule = rule;
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
    t->choices.n = t->effects.n = t->reached.n = t->spans.n = t->changed = 0;
}

/* Without backtracking the window is widened where it failed. */
static bool widen(search *s, trial *t)
{
    engine *e = s->e;
    if (s->back || !e->effort.cut || e->effort.window >= WIDE_WINDOW) return false;
    e->effort.window = WIDE_WINDOW;
    e->effort.cut = false;
    forget_ways(t);
    return true;
}

/* The next way to run the transaction at the position that agrees with the log and writes what no
   earlier way wrote.  Leaves the writes pending. */
static outcome find_way(search *s, uint32_t position, bool again)
{
    engine *e = s->e;
    trial *t = here(s, position);
    /* writes nothing else, or the same in any other way */
    bool enough = again && ((engine_only_reads(e, &e->log->txns.at[t->txn]) && !t->bound) ||
                            engine_writes_fixed(e, t, lowest_state(s, position)));
    assert(!again || s->back); /* without backtracking nothing is tried again */
    for (;; enough = false) {
        if (enough || (again && !engine_advance(e, t) && !widen(s, t))) {
            forget_ways(t);
            if (!s->free || !next_txn(s, position)) return RUN_MISMATCH;
        }
        again = true;
        if (e->effort.runs >= e->effort.max_runs) {
            e->effort.cut = true;
            return RUN_MISMATCH;
        }
        outcome r = run_here(s, position);
        if (r == RUN_REFUSED) return r;
        if (r != RUN_OK) continue;
        if (!s->back || !known_way(e, t)) {
            if (s->collect) moments_collect(e, t, position);
            return RUN_OK;
        }
        vs_rollback(&e->store, 0);
    }
}

static bool complete(const search *s)
{
    if (s->near) return !s->left;
    for (uint32_t i = 0; i < s->e->log->txns.n; i++)
        if (s->e->log->txns.at[i].status == LOG_COMMITTED && !s->at[i]) return false;
    return true;
}

static void step_back(search *s, uint32_t position)
{
    assert(s->back && !s->e->store.undo.n);
    vs_uncommit(&s->e->store, position + 1);
    if (!s->free) return;
    uint32_t txn = here(s, position)->txn;
    s->at[txn] = 0;
    if (takes_part(s->e, txn)) s->left++;
    assert(s->left <= s->e->order.n);
    if (s->near && here(s, position)->slot < s->first) s->first = here(s, position)->slot;
}

static void step_on(search *s, uint32_t position, const uint32_t *horizon)
{
    engine *e = s->e;
    uint32_t txn = here(s, position)->txn;
    if (e->hooks.commits) e->hooks.commits(e->hooks.commits_ud, position);
    assert(e->log->txns.at[txn].status != LOG_ABORTED);
    assert(!s->free || !s->at[txn]);
    if (s->collect && !s->back) {
        s->trials[position] = (trial){.txn = txn, .spans = s->one.spans};
        memset(&s->one.spans, 0, sizeof s->one.spans);
    }
    vs_commit(&e->store, position + 1);
    e->order.state_name[position + 1] = e->log->txns.at[txn].id;
    if (s->free) s->at[txn] = position + 1;
    if (s->free && takes_part(e, txn)) s->left--;
    if (s->back || (position + 1) % FORGET_EVERY) return;
    uint32_t low = position + 1 > e->effort.keep ? position + 1 - e->effort.keep : 0;
    assert(!e->store.searching);
    if (horizon && horizon[position + 1] > low) low = horizon[position + 1];
    if (low && !e->keep_states) vs_forget(&e->store, low);
}

static void free_search(search *s, uint32_t end)
{
    engine *e = s->e;
    for (uint32_t i = 0; (s->back || s->collect) && i < end; i++) {
        vec_free(e->mem, &s->trials[i].choices);
        vec_free(e->mem, &s->trials[i].effects);
        vec_free(e->mem, &s->trials[i].reached);
        vec_free(e->mem, &s->trials[i].spans);
    }
    mem_put(e->mem, s->trials);
    vec_free(e->mem, &s->one.choices);
    vec_free(e->mem, &s->one.reached);
    vec_free(e->mem, &s->one.spans);
    mem_put(e->mem, s->at);
}

/* The next way for the position: of its present transaction if it was stepped back to (`again`),
   else of the first transaction that may come. */
static outcome way_at(search *s, uint32_t position, bool again)
{
    trial *t = here(s, position);
    if (!again && !s->free) t->txn = s->e->order.at[position];
    if (!again && s->free) {
        t->started = false;
        if (!next_txn(s, position)) return RUN_MISMATCH;
    }
    return find_way(s, position, again);
}

/* The position has no way left.  Returns whether the search steps back; else *answer is set. */
static bool no_way_at(search *s, uint32_t position, const uint32_t *horizon, found *answer)
{
    engine *e = s->e;
    engine_effort *effort = &e->effort;
    effort->stuck = position;
    if (!s->back && e->run.mode != MODE_LATEST &&
        e->store.horizon > (horizon ? horizon[position] : 0))
        effort->forgotten = effort->cut = true;
    /* a replay that dropped versions cannot tell; one with backtracking follows */
    bool whole = s->back || e->run.mode == MODE_LATEST;
    if (whole && e->exploring && e->fail.any && e->fail.position == position) classify(e);
    trial *t = here(s, position);
    forget_ways(t);
    t->started = false;
    bool spent = effort->runs >= effort->max_runs; /* perhaps by classify: ways are left then */
    if (s->back && position && spent) effort->cut = true;
    if (s->back && position && !spent) return true;
    *answer = effort->cut ? FOUND_CUT : FOUND_NO;
    return false;
}

/* The order of a free search becomes the engine's. */
static void take_over_order(search *s, uint32_t positions)
{
    engine *e = s->e;
    e->order.n = positions;
    for (uint32_t i = 0; i < e->log->txns.n; i++) {
        assert(s->at[i] <= positions);
        if (s->at[i]) e->order.at[s->at[i] - 1] = i;
    }
}

/* Every position has a way.  Do the snapshots have moments that fit together?  If not, a search
   goes on with other ways. */
static bool is_explained(search *s, uint32_t positions, found *answer)
{
    engine *e = s->e;
    uint32_t early, late;
    *answer = FOUND_YES;
    if (!moments_matter(e) || !positions) return true;
    if (moments_fit(e, s->collect ? s->trials : NULL, positions, &early, &late)) return true;
    if (e->exploring && s->collect)
        engine_record_moments(e, late, s->trials[late].txn, s->trials[early].txn);
    e->effort.stuck = late;
    e->effort.collect = true; /* the next replay looks further */
    if (s->collect && !s->back && e->effort.keep < positions) e->effort.forgotten = true;
    s->unfit++;
    if (!s->back || (s->unfit > MOST_UNFIT && positions > FREE_ORDER)) e->effort.cut = true;
    *answer = e->effort.cut ? FOUND_CUT : FOUND_NO;
    return false;
}

/* One replay from the initial state on: the store is rebuilt first. */
static found replay(engine *e, order_kind kind, bool back, const uint32_t *horizon)
{
    search s = {.e = e,
                .free = kind != ORDER_GIVEN,
                .near = kind == ORDER_NEAR,
                .back = back || kind != ORDER_GIVEN,
                .left = e->order.n};
    uint32_t end = s.free ? (uint32_t)e->log->txns.n : e->order.n;
    engine_reset(e);
    e->store.searching = s.back;
    uint32_t window = e->effort.window;
    s.collect = moments_matter(e) && (s.back || e->effort.collect);
    s.trials = mem_array0(e->mem, trial, (s.back || s.collect ? end : 0) + 1);
    if (s.free) s.at = mem_array0(e->mem, uint32_t, e->log->txns.n + 1);
    uint32_t position = 0;
    bool again = false;
    found answer = FOUND_YES;
    for (;;) {
        if (s.free ? complete(&s) : position == end) {
            if (is_explained(&s, position, &answer) || answer == FOUND_CUT) break;
            step_back(&s, --position);
            again = true;
        }
        assert(position < end &&
               vs_mark(&e->store) == 0); /* nothing is pending between positions */
        if (!s.back) {
            forget_ways(here(&s, position));
            e->effort.window = window;
        }
        outcome r = way_at(&s, position, again);
        if (r == RUN_OK) {
            step_on(&s, position++, horizon);
            again = false;
            continue;
        }
        if (r == RUN_REFUSED) {
            answer = FOUND_REFUSED;
            break;
        }
        if (!no_way_at(&s, position, horizon, &answer)) break;
        step_back(&s, --position);
        again = true;
    }
    if (answer == FOUND_YES && s.free) take_over_order(&s, position);
    free_search(&s, end);
    return answer;
}

/* States below these are not read from each position on. */
static uint32_t *horizons(engine *e)
{
    if (!e->level.strict && e->run.mode != MODE_LATEST) return NULL;
    uint32_t *h = mem_array(e->mem, uint32_t, e->order.n + 1);
    uint32_t least = e->order.n;
    for (uint32_t i = e->order.n + 1; i-- > 0;) {
        if (i < e->order.n && e->run.mode != MODE_LATEST && e->order.low[i] < least)
            least = e->order.low[i];
        h[i] = e->run.mode == MODE_LATEST ? i : least < i ? least : i;
    }
    return h;
}

static found one_replay(engine *e, order_kind kind, bool back, uint32_t window)
{
    assert(window && e->order.n);
    uint32_t *h = back || kind ? NULL : horizons(e);
    e->effort.cut = false;
    e->effort.window = window;
    uint64_t before_runs = e->effort.runs;
    e->effort.runs = 0;
    found r = replay(e, kind, back, h);
    assert(r != FOUND_NO || !e->effort.cut);
    assert(r == FOUND_YES || r == FOUND_REFUSED || e->effort.stuck <= e->log->txns.n);
    e->effort.runs += before_runs;
    mem_put(e->mem, h);
    return r;
}

found search_replay(engine *e, bool back, uint32_t window)
{
    e->effort.keep = UINT32_MAX;
    return one_replay(e, ORDER_GIVEN, back, window);
}

/* Each transaction with its first choice that agrees.  Only the newest states are kept; if one
   might have read an older one, from the start, with more of them. */
found search_quickly(engine *e, uint32_t window)
{
    found r = FOUND_CUT;
    bool all = e->o->off[AUDIT_PASS_WINDOW];
    for (uint64_t keep = all ? UINT32_MAX : FIRST_KEEP; r == FOUND_CUT; keep *= 16) {
        e->effort.keep = keep < UINT32_MAX ? (uint32_t)keep : UINT32_MAX;
        e->effort.forgotten = false;
        bool collects = e->effort.collect;
        r = one_replay(e, ORDER_GIVEN, false, window);
        if (r == FOUND_CUT && e->effort.collect && !collects)
            r = one_replay(e, ORDER_GIVEN, false, window);
        if (!e->effort.forgotten) break;
    }
    return r;
}

static found in_given_order(engine *e)
{
    static const uint32_t sizes[] = {FIRST_WINDOW, WIDE_WINDOW, UINT32_MAX};
    found r = FOUND_NO;
    size_t first = e->o->off[AUDIT_PASS_WINDOW] ? 2 : 0;
    e->run.mode = e->level.mode;
    e->run.rule = e->level.rule;
    e->exploring = e->run.mode != MODE_ROW;
    if (e->run.mode != MODE_LATEST && !engine_uses(e, AUDIT_PASS_SEARCH)) return symbolic_decide(e);
    if (e->run.mode == MODE_ROW && engine_uses(e, AUDIT_PASS_STRONGER)) {
        /* a stronger level first: its executions are ours too */
        e->run.mode = MODE_STATEMENT;
        e->run.rule = WRITE_RECHECK;
        r = search_quickly(e, sizes[first]);
        if (r == FOUND_YES || r == FOUND_REFUSED) return r;
        e->run.mode = MODE_ROW;
        e->run.rule = WRITE_FREE;
        e->exploring = true;
    }
    /* (an old state costs this replay only the tries of one transaction, the next a search) */
    for (size_t i = first; i < sizeof sizes / sizeof sizes[0]; i++) {
        r = search_quickly(e, sizes[i]);
        if (r != FOUND_CUT) break;
    }
    if (r == FOUND_YES || r == FOUND_REFUSED || e->run.mode == MODE_LATEST) return r;
    for (size_t i = first; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t most = e->effort.max_runs, few = BEFORE_SYMBOLIC + 4 * (uint64_t)e->order.n;
        if (i == first && most > few) e->effort.max_runs = few;
        r = one_replay(e, ORDER_GIVEN, true, sizes[i]);
        e->effort.max_runs = most;
        if (r != FOUND_CUT || e->effort.runs >= e->effort.max_runs) return r;
        if (i == first && (r = symbolic_decide(e)) != FOUND_CUT) return r;
        if (i == first) e->effort.cut = true;
    }
    return r;
}

/* Isolation fails in the order of the timestamps: perhaps two commits stand the wrong way round. */
static found in_near_order(engine *e)
{
    assert(!e->exploring); /* what the log's order showed is kept */
    uint64_t most = e->effort.max_runs, runs = 4 * (uint64_t)e->order.n + 200000;
    e->run.mode = e->level.mode;
    e->run.rule = e->level.rule;
    if (e->run.mode == MODE_ROW) return FOUND_CUT;
    e->effort.max_runs = runs < most ? runs : most;
    uint64_t before_runs = e->effort.runs;
    e->effort.runs = 0;
    found r = e->run.mode == MODE_LATEST ? FOUND_CUT : repair_order(e);
    e->effort.runs += before_runs;
    if (r != FOUND_YES) r = one_replay(e, ORDER_NEAR, true, 16);
    e->effort.max_runs = most;
    return r;
}

/* ---- unknown outcomes ------------------------------------------------------------------------ */

static void drop_order(engine *e)
{
    mem_put(e->mem, e->order.at);
    mem_put(e->mem, e->order.low);
    mem_put(e->mem, e->order.high);
    mem_put(e->mem, e->order.first_read);
    mem_put(e->mem, e->order.same_from);
    mem_put(e->mem, e->order.state_name);
}

/* One replay with those that are supposed to have committed; of a level whose order may not be that
   of the commits, as snapshots.  `far`: how many that did commit are explained. */
static found replay_supposed(engine *e, uint32_t *far)
{
    bool ordered = e->level.mode != MODE_LATEST || e->level.strict;
    order_sort(e, ORDER_BY_END);
    if (ordered) order_windows(e);
    for (uint32_t i = 0; !ordered && i < e->order.n; i++) e->order.low[i] = 0, e->order.high[i] = i;
    e->run.mode = e->level.mode == MODE_ROW ? MODE_STATEMENT : e->level.mode;
    e->run.rule = e->level.mode == MODE_ROW ? WRITE_RECHECK : e->level.rule;
    if (!ordered) e->run.mode = MODE_SNAPSHOT, e->run.rule = WRITE_CONFLICT;
    e->exploring = false;
    found r = search_quickly(e, FIRST_WINDOW);
    uint32_t end = r == FOUND_YES ? e->order.n : e->effort.stuck;
    assert(end <= e->order.n);
    *far = 0;
    for (uint32_t i = 0; i < end; i++)
        *far += e->log->txns.at[e->order.at[i]].status == LOG_COMMITTED;
    return r;
}

/* Supposes of one transaction after the other that it committed, if more is explained then. */
static found suppose_some(engine *e, bool *supposed, uint32_t *chosen, uint64_t most)
{
    uint32_t far, best, n = (uint32_t)e->log->txns.n;
    uint64_t begun = e->effort.runs;
    found r = replay_supposed(e, &best);
    *chosen = 0;
    for (bool more = true; more && r != FOUND_YES;) {
        more = false;
        for (uint32_t i = 0; i < n && r != FOUND_YES; i++) {
            const log_txn *t = &e->log->txns.at[i];
            if (t->status != LOG_UNKNOWN || supposed[i] || engine_only_reads(e, t)) continue;
            if (e->effort.runs - begun > most || r == FOUND_REFUSED) return r;
            drop_order(e);
            supposed[i] = true;
            r = replay_supposed(e, &far);
            supposed[i] = r == FOUND_YES || far > best;
            if (!supposed[i]) continue;
            more = true;
            best = far;
            ++*chosen;
        }
    }
    return r;
}

/* The orders that are tried of any log whose own order does not explain it. */
static found order_supposed(engine *e, const audit_answer *a, const bool *supposed, found r)
{
    bool serial = e->level.mode == MODE_LATEST;
    if (r == FOUND_REFUSED || (r == FOUND_YES && (!serial || e->level.strict))) return r;
    drop_order(e);
    e->order.supposed = supposed;
    order_sort(e, ORDER_BY_END);
    order_windows(e);
    if (!serial || e->level.strict) return in_near_order(e);
    audit_answer other = *a;
    const char *why;
    other.n_cycle = 0;
    return serial_order(e, &other, &why);
}

/* Where a recorder was killed, or connections were lost, the last transactions of sessions are of
   unknown outcome, and others have seen what some of them wrote.  Logs that are small enough are
   searched for that in every order; of others the most likely places are tried: the timestamp
   that the recorder foresaw, or where the commit was sent.  Only `holds` follows. */
static bool suppose_outcomes(engine *e, const audit_answer *a)
{
    engine_order order = e->order;
    engine_effort effort = e->effort;
    failure shown = e->fail;
    audit_mode mode = e->run.mode;
    write_rule rule = e->run.rule;
    bool exploring = e->exploring;
    uint32_t chosen;
    bool *supposed = mem_array0(e->mem, bool, e->log->txns.n + 1);
    e->order.supposed = supposed;
    assert(!order.supposed && e->order.n);
    found r = suppose_some(e, supposed, &chosen, 200000 + 64 * (uint64_t)order.n);
    if (chosen) r = order_supposed(e, a, supposed, r);
    if (chosen && r == FOUND_YES) return true;
    drop_order(e);
    mem_put(e->mem, supposed);
    e->order = order;
    e->effort = effort;
    e->run.mode = mode;
    e->run.rule = rule;
    e->fail = shown;
    e->exploring = exploring;
    return false;
}

/* How the search ended, and what that rests on. */
typedef struct finding {
    found r;
    const char *why;       /* undecided: a sentence, or NULL */
    const char *timed_why; /* the same, of orders within the times */
    bool timed;            /* these were asked */
    bool supposed;         /* so was what unknown outcomes may have been */
    uint32_t unknown, ran; /* transactions: of unknown outcome; that were not aborted */
} finding;

/* Other orders than the log's, as many as can be afforded. */
static found in_another_order(engine *e, audit_answer *a, finding *f)
{
    bool serial = e->level.mode == MODE_LATEST, few = f->ran <= FREE_ORDER;
    found r = FOUND_CUT;
    e->exploring = false;
    if (few)
        r = one_replay(e, ORDER_ANY, true, UINT32_MAX);
    else if (serial)
        r = serial_order(e, a, &f->why);
    else if (!e->fail.semantic)
        r = in_near_order(e);
    if (r == FOUND_CUT && serial && e->level.strict && !few) r = in_near_order(e);
    return r;
}

/* The log's order does not explain the answers.  What do other orders say of the log? */
static void ask_other_orders(engine *e, audit_answer *a, finding *f)
{
    bool serial = e->level.mode == MODE_LATEST;
    failure shown = e->fail;
    found other = in_another_order(e, a, f);
    assert(other != FOUND_YES || !a->n_cycle);
    /* what the log's order showed is kept, unless the search of orders found what none explains */
    bool semantic = serial && other == FOUND_NO && !a->n_cycle && e->fail.any;
    if (!semantic) e->fail = shown;
    if (a->n_cycle) e->fail.semantic = false;
    bool fact = order_is_fact(e, a->n_cycle > 0) && !f->unknown;
    if (other == FOUND_YES) {
        f->r = FOUND_YES;
        a->other_order = true;
    } else if (other == FOUND_NO && f->ran <= FREE_ORDER) {
        f->r = FOUND_NO;
        a->all_orders = true;
    } else if (other == FOUND_NO) {
        f->r = fact ? FOUND_NO : FOUND_CUT;
    } else if (serial || !fact || !shown.semantic) {
        f->r = FOUND_CUT;
    }
}

/* Is something explained in no order that the times allow?  Levels without real time allow others,
   which are asked first. */
static bool is_in_no_timed_order(engine *e, audit_answer *a, finding *f)
{
    if (f->timed || f->ran <= FREE_ORDER || f->unknown) return false;
    f->timed = true;
    if (!in_no_timed_order(e, &f->timed_why)) return false;
    a->timed_orders = true;
    f->r = FOUND_NO;
    return true;
}

/* The same before a serializable log is searched for orders, which may take all the time that there
   is although an answer far behind is wrong in every order.  Only what no version of the rows
   explains counts here, and only so much work is done. */
static bool shows_early(engine *e, audit_answer *a, finding *f)
{
    uint64_t most = e->effort.max_runs;
    uint64_t few = e->effort.runs + BEFORE_SYMBOLIC + 400 * (uint64_t)e->order.n;
    assert(e->level.mode == MODE_LATEST && (f->r == FOUND_CUT || f->r == FOUND_NO));
    failure shown = e->fail;
    found r = f->r;
    if (few < most) e->effort.max_runs = few;
    bool no = is_in_no_timed_order(e, a, f), ended = e->effort.runs < e->effort.max_runs;
    e->effort.max_runs = most;
    if (no && e->fail.semantic) return true;
    if (no) {
        f->r = r;
        a->timed_orders = false;
        e->fail = shown;
    }
    if (no || !ended) { /* it is asked again at the end */
        f->timed = false;
        f->timed_why = NULL;
    }
    return false;
}

static bool suppose_once(engine *e, audit_answer *a, finding *f)
{
    if (!f->unknown || f->ran <= FREE_ORDER || f->supposed) return false;
    f->supposed = true;
    if (!suppose_outcomes(e, a)) return false;
    f->r = FOUND_YES;
    a->other_order = true;
    return true;
}

static void search_orders(engine *e, audit_answer *a, finding *f)
{
    bool searches = engine_uses(e, AUDIT_PASS_SEARCH);
    f->r = in_given_order(e);
    if (e->level.mode == MODE_ROW && f->r == FOUND_CUT) e->exploring = true;
    if (f->r != FOUND_NO && f->r != FOUND_CUT) return;
    if (suppose_once(e, a, f)) return;
    bool given_up = f->r == FOUND_CUT && !searches && e->level.mode != MODE_LATEST;
    /* what no version of the rows explains is mostly wrong in every order that the times allow;
       without that, a serializable log would be searched for orders until the time is up */
    bool first = e->level.strict || (e->fail.any && e->fail.semantic);
    if (first && !order_is_fact(e, false) && is_in_no_timed_order(e, a, f)) return;
    bool early = !first && e->level.mode == MODE_LATEST && !e->order.stamped;
    if (early && shows_early(e, a, f)) return;
    bool serial = e->level.strict && e->level.mode == MODE_LATEST;
    /* a serial replay tries one way to run each transaction: there must have been no other */
    bool only = order_is_the_only_one(e) ||
                (serial && !e->order.stamped && !e->picked && order_is_total(e));
    if (f->r == FOUND_NO && !f->unknown && searches && only) {
        a->all_orders = true;
    } else if (symbolic_in_no_order(e)) {
        f->r = FOUND_NO;
        a->all_orders = true;
    } else if (!given_up) {
        ask_other_orders(e, a, f);
    }
}

/* Is the engine's order another one than these? */
static bool is_new_order(const engine *e, uint32_t *const *tried, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!memcmp(tried[i], e->order.at, e->order.n * sizeof *e->order.at)) return false;
    return true;
}

/* Without commit timestamps the log's order is a guess: other guesses may explain the log.  What
   the first one showed is what is reported if none does. */
static void guess_other_orders(engine *e, audit_answer *a, finding *f)
{
    if (f->r != FOUND_CUT || e->order.stamped || f->ran <= FREE_ORDER || e->o->no_session_order)
        return;
    uint32_t *tried[ORDER_SOURCES] = {e->order.at}, n = 1;
    engine_order order = e->order;
    failure shown = e->fail;
    for (order_source s = ORDER_BY_END + 1; s < ORDER_SOURCES; s++) {
        order_sort(e, s);
        if (!is_new_order(e, tried, n)) continue;
        tried[n++] = e->order.at;
        order_windows(e);
        finding g = {.unknown = f->unknown, .ran = f->ran, .timed = true, .supposed = true};
        audit_answer b = *a;
        b.n_cycle = 0; /* of the first guess */
        b.replayed_writes = b.all_orders = false;
        memset(&e->fail, 0, sizeof e->fail);
        search_orders(e, &b, &g);
        assert(n <= ORDER_SOURCES);
        if (g.r != FOUND_YES) continue;
        f->r = FOUND_YES;
        a->other_order = true;
        a->n_cycle = 0;
        a->replayed_writes = false;
        return;
    }
    e->order = order;
    e->fail = shown;
}

/* No order of the transactions lets a sequence give a value twice. */
static void look_for_repeats(engine *e, audit_answer *a, finding *f)
{
    draw first, second;
    if (f->r == FOUND_NO || !chosen_twice(e, &first, &second)) return;
    e->fail = (failure){.any = true,
                        .txn = second.txn,
                        .stmt = second.stmt,
                        .why = RUN_MISMATCH,
                        .semantic = true,
                        .classified = true};
    a->repeated = e->sequences.at[second.sequence];
    a->repeated_by = e->log->txns.at[first.txn].id;
    a->all_orders = true;
    f->r = FOUND_NO;
}

/* The committed transactions are explained.  Errors of the others may yet be wrong. */
static void look_at_aborted(engine *e, audit_answer *a, finding *f)
{
    bool by_rows;
    if (f->r != FOUND_YES || a->other_order || aborted_errors_explained(e, &by_rows)) return;
    a->all_orders = !by_rows;
    f->r = FOUND_NO;
}

/* Catalogs are not read at a transaction's snapshot: a transaction that comes before another one by
   the rows that it read may see the tables and columns that the other one made. */
static bool sees_new_schema(const engine *e)
{
    bool serial = e->level.mode == MODE_LATEST && e->log->dialect == DIALECT_POSTGRES;
    return serial && engine_shares_changes(e) && e->log->sessions.n > 1 && !e->fail.semantic;
}

/* TRUNCATE, and an ALTER TABLE that writes all rows anew, leave an empty table to whoever has an
   older snapshot, as the manual documents.  In no serial order is the table empty at that place. */
static bool finds_tables_empty(const engine *e)
{
    if (e->level.mode != MODE_LATEST || e->log->dialect != DIALECT_POSTGRES) return false;
    return e->log->sessions.n > 1 && log_empties(e);
}

/* A statement finds the tables that were committed when it was called; a replay of whole
   transactions finds those of its place in the order.  IF NOT EXISTS then makes another choice, and
   what comes after it is not what the database did. */
static bool mixes_schemas(const engine *e)
{
    return e->plans.several_change_schema && e->log->dialect == DIALECT_POSTGRES;
}

/* Is a schema changed while the transaction runs?  `ends`, sorted, are when the transactions ended
   that do so, all of one session, and `began` when each had begun. */
static bool overlaps_change(const engine *e, const log_txn *t, const uint64_t *ends,
                            const uint64_t *began, uint32_t n)
{
    txn_times x = times_of(e, t);
    int64_t drift = (int64_t)e->o->drift, begin = t->has_times ? t->times[0] : x.begin;
    if (!x.known) return true;
    uint32_t at = (uint32_t)lower_bound_u64(ends, n, sort_key(begin - drift));
    return at < n && began[at] <= sort_key(x.end + drift);
}

/* ROLLBACK TO gives back the locks on the tables that were read since the savepoint, so that
   another session may alter them before the transaction goes on: what was taken back found other
   columns and constraints than the rest. */
static bool undone_met_older_schema(engine *e)
{
    const sql_log *l = e->log;
    if (!e->plans.changes_schema || l->dialect != DIALECT_POSTGRES) return false;
    uint64_t *ends = mem_array(e->mem, uint64_t, l->txns.n + 1);
    uint64_t *began = mem_array(e->mem, uint64_t, l->txns.n + 1);
    uint32_t n = 0;
    bool met = false, known = true;
    for (size_t i = 0; i < l->txns.n; i++) { /* those of one session stand in their order */
        const log_txn *t = &l->txns.at[i];
        if (t->session != e->plans.schema_session || !engine_changes_schema(e, t)) continue;
        txn_times x = times_of(e, t);
        ends[n] = sort_key(x.end);
        began[n] = sort_key(x.begin);
        known &= x.known && (!n || ends[n - 1] <= ends[n]);
        n++;
    }
    for (uint32_t i = 0; !met && i < e->order.n; i++) {
        const log_txn *t = &l->txns.at[e->order.at[i]];
        bool other = e->marks.undone[e->order.at[i]] && t->session != e->plans.schema_session;
        met = other && (!known || overlaps_change(e, t, ends, began, n));
    }
    mem_put(e->mem, ends);
    mem_put(e->mem, began);
    return met;
}

/* Why changes of the schema may explain what no order of transactions does, or NULL. */
static const char *schema_doubt(engine *e)
{
    if (sees_new_schema(e))
        return "not explained by a serial order, but PostgreSQL's manual documents that "
               "transactions see new tables and columns of others at once, whatever their "
               "isolation, and that may explain it";
    if (finds_tables_empty(e))
        return "not explained by a serial order, but PostgreSQL's manual documents that a table is "
               "empty for snapshots from before a TRUNCATE or an ALTER TABLE that rewrites it, and "
               "that may explain it";
    if (mixes_schemas(e))
        return "not explained, but several sessions create, alter or drop tables, and which of "
               "them a statement found is not known";
    if (undone_met_older_schema(e))
        return "not explained, but another session alters tables, which statements before a "
               "ROLLBACK TO may have met as they were, and that may explain it";
    return NULL;
}

static const char *why_undecided(const engine *e, const finding *f)
{
    if (f->timed_why) return f->timed_why;
    if (f->why) return f->why;
    return e->effort.runs >= e->effort.max_runs
               ? "the search was given up; the transaction named is the first that was "
                 "not explained"
               : "not explained in the log's order; not every other order was tried";
}

void search_decide(engine *e, audit_answer *a)
{
    finding f = {0};
    for (size_t i = 0; i < e->log->txns.n; i++) {
        f.unknown += e->log->txns.at[i].status == LOG_UNKNOWN;
        f.ran += e->log->txns.at[i].status != LOG_ABORTED;
    }
    e->effort.max_runs = e->o->runs ? e->o->runs : DEFAULT_RUNS;
    order_sort(e, ORDER_BY_END);
    order_windows(e);
    a->txns = e->order.n;
    if (!e->order.n) {
        engine_reset(e); /* an initial state that is wrong is an error all the same */
        a->verdict = AUDIT_UNDECIDED;
        a->reason = "nothing to check: no committed transaction";
        return;
    }
    search_orders(e, a, &f);
    guess_other_orders(e, a, &f);
    if (f.r == FOUND_CUT && is_in_no_timed_order(e, a, &f)) a->n_cycle = 0;
    if (f.r != FOUND_REFUSED) look_for_repeats(e, a, &f);
    look_at_aborted(e, a, &f);
    if (f.r == FOUND_NO && !e->unsure) e->unsure = schema_doubt(e);
    if (f.r == FOUND_NO && e->unsure) {
        f.r = FOUND_CUT;
        f.timed_why = NULL;
        f.why = e->unsure;
        a->all_orders = false;
        a->n_cycle = 0;
    }
    const char *doubt = f.r == FOUND_NO ? log_doubt(e) : NULL;
    if (f.r == FOUND_NO && !doubt) doubt = log_foreign(e->log);
    if (doubt) {
        f.r = FOUND_CUT;
        f.timed_why = NULL;
        f.why = doubt;
        a->all_orders = false;
        a->n_cycle = 0;
    }
    a->traced = e->log->traced;
    assert(f.r != FOUND_NO || e->fail.any || a->n_cycle || a->all_orders || e->level.strict);
    switch (f.r) {
    case FOUND_YES: answer_holds(e, a); break;
    case FOUND_NO: answer_violated(e, a); break;
    case FOUND_CUT: answer_undecided(e, a, why_undecided(e, &f)); break;
    case FOUND_REFUSED: answer_refused(e, a); break;
    }
    answer_open_choices(e, a);
    answer_warnings(e, a, f.unknown);
    a->unchecked = e->unchecked;
    a->runs = e->effort.runs;
}
