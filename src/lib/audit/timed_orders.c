/*
 * timed_orders.c - a proof that no order explains an answer, without commit timestamps.
 *
 * A commit took place somewhere between its call and its answer, so that many orders are possible.
 * Two facts are the same in all of them.  A statement sees no commit that was called after it was
 * answered: whatever a transaction has seen stands before it in the order of the calls, unless it
 * was still at work when its commit was called, as a statement that commits by itself is: such a
 * one stands where its answer came if it only reads, and the log is given up if it writes while
 * another commit is called.  And who
 * writes a row has seen the version that it replaces (first committer wins, or the row is read
 * again as last committed, or the new value is computed from the old one), so that the versions of
 * each row come in the order of the calls, too.
 *
 * So the log is replayed along the calls.  Writes are made on the newest versions.  They are the
 * same in every order if each statement that writes computes its rows from the newest versions and
 * tells how many it wrote (sql_writes_newest, compared_writes of replay.c); a log where that is not
 * so is given up.  A query may have read each of its rows at any state that had been called by then
 * (at strict levels, none older than what had been answered when the transaction began).  What is
 * not even explained so is explained in no order.
 */
#include "audit/timed_orders.h"

#include <assert.h>

#include "audit/txn_order.h"
#include "base/search.h"
#include "base/sort.h"

#define SNAPSHOT_TRIES                                                                             \
    400 /* to explain all answers by snapshots, before rows are asked one by one */

typedef struct blind_write { /* of a statement that did not look at what it replaced */
    uint32_t position;
    const table *t;
} blind_write;

typedef struct timed {
    engine *e;
    uint64_t *ended; /* by position: the latest answer of a commit up to here, as a sort_key */
    VEC(blind_write) blind;
    VEC(uint32_t) shown; /* states whose writes the transaction has seen for certain */
    const char *why;
} timed;

static const char overlapping[] =
    "not explained in the log's order; the order of two overlapping commits that write one table "
    "is not known";

/* ---- the order of the calls ------------------------------------------------------------------ */

/* When a transaction had its last answer but that of its commit: after the call of the commit, if a
   statement commits by itself, or COMMIT was sent along with it. */
static int64_t last_answer(const engine *e, const log_txn *t)
{
    txn_times times = times_of(e, t);
    int64_t last = times.call;
    for (uint32_t i = 0; i < t->n_stmts; i++) {
        bool known = t->stmts[i].has_time;
        int64_t answer = known                                        ? t->stmts[i].answer
                         : t->has_times && t->times[0] == t->times[2] ? times.end
                                                                      : last;
        if (answer > last) last = answer;
    }
    return last;
}

/* Its place among the calls: nobody sees what only reads. */
static int64_t place_of(const engine *e, const log_txn *t)
{
    return makes_no_state(e, t) ? last_answer(e, t) : times_of(e, t).call;
}

/* May a transaction that writes have seen one that stands behind it? */
static bool saw_later(const engine *e)
{
    int64_t latest = INT64_MIN;
    for (uint32_t i = 0; i < e->order.n; i++) {
        const log_txn *t = &e->log->txns.at[e->order.at[i]];
        if (makes_no_state(e, t)) continue;
        txn_times times = times_of(e, t);
        if (times.call <= latest) return true;
        int64_t last = last_answer(e, t);
        if (last > times.call && last > latest) latest = last;
    }
    return false;
}

/* Had it all its answers before its commit was called? */
static bool was_done(const engine *e, const log_txn *t)
{
    int64_t call = times_of(e, t).call;
    for (uint32_t i = 0; i < t->n_stmts; i++)
        if (!t->stmts[i].has_time || t->stmts[i].answer >= call) return false;
    return true;
}

/* Orders transactions that have the same place.  What only reads comes last: it may have seen the
   others, and is only asked what it may have seen.  Two that write and were done before their calls
   have not seen each other, and so wrote no row in common: either order will do.  False: of two
   others nobody knows which came first. */
static bool order_at_one_place(const engine *e, uint32_t *at, uint32_t n)
{
    uint32_t *readers = mem_array(e->mem, uint32_t, n + 1), write = 0, read = 0;
    bool one_session = true, done = true;
    assert(n > 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t who = at[i];
        const log_txn *t = &e->log->txns.at[who];
        if (makes_no_state(e, t)) {
            readers[read++] = who;
            continue;
        }
        one_session &= !write || e->log->txns.at[at[0]].session == t->session;
        done &= was_done(e, t);
        at[write++] = who; /* those of one session stay in the order of their lines */
    }
    memcpy(at + write, readers, read * sizeof *at);
    mem_put(e->mem, readers);
    return one_session || done;
}

/* Fills e->order.at; false if the times do not tell. */
static bool sort_by_calls(timed *p)
{
    engine *e = p->e;
    const sql_log *l = e->log;
    uint64_t *key = mem_array(e->mem, uint64_t, l->txns.n + 1);
    uint32_t *who = mem_array(e->mem, uint32_t, l->txns.n + 1), n = 0;
    bool known = !e->o->drift;
    for (uint32_t i = 0; known && i < l->txns.n; i++) {
        if (l->txns.at[i].status == LOG_ABORTED) continue;
        txn_times t = times_of(e, &l->txns.at[i]);
        if (!t.known || l->txns.at[i].status == LOG_UNKNOWN) known = false;
        key[n] = sort_key(place_of(e, &l->txns.at[i]));
        who[n++] = i;
    }
    assert(!known || n == e->order.n);
    uint32_t *by = sort_by_key(e->mem, key, known ? n : 0);
    for (uint32_t i = 0; known && i < n; i++) e->order.at[i] = who[by[i]];
    for (uint32_t i = 0, end; known && i < n; i = end) {
        for (end = i + 1; end < n && key[by[end]] == key[by[i]];) end++;
        known = end - i == 1 || order_at_one_place(e, e->order.at + i, end - i);
    }
    if (known && saw_later(e)) p->why = overlapping;
    for (uint32_t i = 0; known && i < n; i++) {
        uint64_t end = sort_key(times_of(e, &l->txns.at[e->order.at[i]]).end);
        p->ended[i] = i && p->ended[i - 1] > end ? p->ended[i - 1] : end;
    }
    mem_put(e->mem, key);
    mem_put(e->mem, who);
    mem_put(e->mem, by);
    return known;
}

/* Every order has the commits of the states up to this one before the transaction began. */
static uint32_t oldest_state(const timed *p, uint32_t position)
{
    const engine *e = p->e;
    if (!e->level.strict) return 0;
    uint64_t begin = sort_key(times_of(e, &e->log->txns.at[e->order.at[position]]).begin);
    return (uint32_t)lower_bound_u64(p->ended, position, begin);
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* Are the writes of a statement, in the run that has just been, the only ones that agree with the
   log? */
static bool is_certain(const engine *e, const trial *t, const log_stmt *s)
{
    const plan *p = e->plans.of[s->text];
    const uint32_t *undone = e->marks.undone[t->txn];
    if (s->has_error) return true;
    if (undone && undone[s - e->log->txns.at[t->txn].stmts]) return true;
    if (!p || p->catalog != e->store.catalog) return false;
    bool marks = p->kind == S_SAVEPOINT || p->kind == S_RELEASE || p->kind == S_ROLLBACK_TO;
    if (marks || p->kind == S_SELECT) return true;
    bool told = p->kind == S_INSERT || s->has_count || s->has_rows;
    bool everywhere = sql_writes_fixed(p) && e->x.write_born <= e->run.low;
    return sql_writes_newest(p) && (told || everywhere);
}

static bool writes_are_certain(const engine *e, const trial *t, uint32_t stmts)
{
    const log_txn *x = &e->log->txns.at[t->txn];
    assert(stmts <= x->n_stmts && e->run.low <= e->run.position);
    for (uint32_t i = 0; i < stmts; i++)
        if (!is_certain(e, t, &x->stmts[i])) return false;
    return !t->bound;
}

/* A transaction with one snapshot, or one place in a serial order, has seen all that those wrote
   whose versions it replaces. */
static void note_shown(timed *p)
{
    engine *e = p->e;
    p->shown.n = 0;
    for (size_t i = 0; e->level.mode != MODE_STATEMENT && i < e->store.undo.n; i++) {
        store_undo u = e->store.undo.at[i];
        const row_version *v = u.row < UNDO_LEAST ? u.t->rows.at[u.row].head : NULL;
        while (v && v->commit == PENDING) v = v->older;
        if (v && v->commit) vec_push(e->mem, &p->shown, v->commit);
    }
}

/* The same, where statements that are not certain by their words are run in every way.  Nothing is
   pending. */
static bool writes_turn_out_certain(timed *p, trial *t, uint32_t stmts)
{
    engine *e = p->e;
    const log_txn *x = &e->log->txns.at[t->txn];
    uint32_t low = e->run.low;
    assert(stmts <= x->n_stmts && !e->store.undo.n);
    for (uint32_t i = 0; i < stmts && !t->bound; i++) {
        if (is_certain(e, t, &x->stmts[i])) continue;
        const plan *w = e->plans.of[x->stmts[i].text];
        bool plain = w && w->catalog == e->store.catalog && !e->plans.routines.n &&
                     !(w->target && w->target->n_triggers) &&
                     (w->kind == S_UPDATE || w->kind == S_DELETE ||
                      (w->kind == S_INSERT && w->conflict == ON_CONFLICT_RAISE));
        if (!plain || !engine_writes_same(e, t, i, low, p->shown.at, p->shown.n)) return false;
    }
    return !t->bound;
}

/* A SELECT may call what writes. */
static bool queries_write(const engine *e, const log_txn *x)
{
    for (uint32_t i = 0; i < x->n_stmts; i++) {
        const plan *p = e->plans.of[x->stmts[i].text];
        if (p && p->kind == S_SELECT && p->nested && e->plans.routines.n) return true;
    }
    return e->log->hidden_routines;
}

/* Would the statement have written a row as it was before the blind write? */
static bool finds_replaced(engine *e, const log_stmt *s, blind_write b)
{
    const store *at = &e->store;
    assert(b.position < at->log_from.n); /* it has committed */
    size_t from = at->log_from.at[b.position];
    size_t to = b.position + 1 < at->log_from.n ? at->log_from.at[b.position + 1] : at->log.n;
    for (size_t i = from; i < to; i++) {
        store_undo u = at->log.at[i];
        if (u.row >= UNDO_LEAST || u.t != b.t) continue;
        const row_version *v = u.t->rows.at[u.row].head;
        while (v && (v->commit == PENDING || v->commit > b.position)) v = v->older;
        if (v && !v->dead && engine_would_match(e, s, v->cols)) return true;
    }
    return false;
}

/* Where transactions have no snapshot, one that did not look at what it replaced may come after a
   commit that was called later.  Does the transaction write a table in which such a write overlaps
   its commit?  Notes its own blind writes. */
static bool versions_are_ordered(timed *p, uint32_t position)
{
    engine *e = p->e;
    const log_txn *x = &e->log->txns.at[e->order.at[position]];
    int64_t call = times_of(e, x).call;
    size_t n = p->blind.n;
    assert(position < e->order.n && (!n || p->blind.at[n - 1].position < position));
    if (e->level.mode != MODE_LATEST) return true;
    for (uint32_t i = 0; i < x->n_stmts; i++) {
        const plan *w = e->plans.of[x->stmts[i].text];
        if (w && (w->kind == S_MERGE || (w->target && w->target->n_triggers))) return false;
        if (!w || (w->kind != S_UPDATE && w->kind != S_DELETE)) continue;
        for (size_t k = n; k-- > 0;) {
            blind_write b = p->blind.at[k];
            if (p->ended[b.position] < sort_key(call)) break; /* nothing before it overlaps */
            const log_txn *o = &e->log->txns.at[e->order.at[b.position]];
            bool overlaps = b.t == w->target && times_of(e, o).end >= call;
            if (overlaps && finds_replaced(e, &x->stmts[i], b)) return false;
        }
        if (sql_writes_blindly(w))
            vec_push(e->mem, &p->blind, ((blind_write){position, w->target}));
    }
    return true;
}

/* Rows that go with others, and tables that come and go. */
static bool writes_spread(const engine *e)
{
    if (engine_shares_changes(e) || e->plans.lost_prepares) return true;
    for (size_t i = 0; i < e->store.tables.n; i++) {
        const table *t = e->store.tables.at[i];
        for (uint32_t k = 0; k < t->n_foreign; k++)
            if (t->foreign[k].on_delete != REFER_CHECK || t->foreign[k].on_update != REFER_CHECK)
                return true;
    }
    return false;
}

/* ---- one transaction after the other --------------------------------------------------------- */

/* All answers at the newest state, or (`writes`) those of what writes; the writes stay pending. */
static outcome run_newest(engine *e, trial *t, uint32_t position, bool writes)
{
    e->run.mode = MODE_LATEST;
    e->run.rule = WRITE_FREE;
    e->run.writes_only = writes;
    e->run.unclear = false;
    t->choices.n = t->reached.n = t->effects.n = t->changed = 0;
    outcome r = engine_run(e, t, position);
    e->run.writes_only = false;
    return r;
}

/* By one snapshot, or one for each statement, as most are. */
static bool snapshots_explain(engine *e, trial *t, uint32_t position)
{
    e->run.mode = e->level.mode == MODE_STATEMENT ? MODE_STATEMENT : MODE_SNAPSHOT;
    e->run.rule = WRITE_RECHECK;
    t->choices.n = t->reached.n = t->effects.n = t->changed = 0;
    outcome r = engine_run(e, t, position);
    for (int i = 0; i < SNAPSHOT_TRIES && (r == RUN_MISMATCH || r == RUN_CONFLICT); i++) {
        if (!engine_advance(e, t)) break;
        r = engine_run(e, t, position);
    }
    if (r == RUN_OK) vs_rollback(&e->store, 0);
    return r == RUN_OK || r == RUN_REFUSED;
}

/* The first query that no versions explain; n_stmts: none. */
static uint32_t unexplained_query(engine *e, const trial *t, uint32_t position, uint32_t low)
{
    const log_txn *x = &e->log->txns.at[t->txn];
    uint32_t i = 0;
    assert(!e->store.undo.n && low <= position);
    for (; i < x->n_stmts; i++) {
        const plan *p = e->plans.of[x->stmts[i].text];
        bool told = x->stmts[i].has_rows || x->stmts[i].has_count;
        const uint32_t *undone = e->marks.undone[t->txn];
        if (undone && undone[i]) continue;
        if (!p || p->kind != S_SELECT || !told || x->stmts[i].has_error) continue;
        if (!engine_query_explainable(e, t->txn, i, position, low)) break;
    }
    return i;
}

/* What the answer could have been, for the report: at the newest state, then at older ones. */
static void tell_query(engine *e, trial *t, uint32_t position, uint32_t stmt)
{
    e->exploring = true;
    e->run.focus = stmt + 1;
    e->run.writes_only = true;
    e->run.mode = MODE_ROW;
    e->run.rule = WRITE_FREE;
    t->choices.n = t->reached.n = t->effects.n = t->changed = 0;
    outcome r = engine_run(e, t, position);
    for (int i = 0; i < 8 && r == RUN_MISMATCH && engine_advance(e, t); i++)
        r = engine_run(e, t, position);
    if (r == RUN_OK) vs_rollback(&e->store, 0);
    e->run.focus = 0;
    e->run.writes_only = false;
    e->exploring = false;
    e->fail.any = true;
    e->fail.txn = t->txn;
    e->fail.stmt = stmt;
    e->fail.position = position;
    e->fail.why = RUN_MISMATCH;
}

static const char other_writes[] =
    "not explained in the log's order; other orders that its times allow were not excluded, since "
    "what some transactions wrote depends on the order";

/* Explains the transaction and leaves its writes pending.  False: p->why, or it is in no order. */
static bool explain_position(timed *p, trial *t, uint32_t position)
{
    engine *e = p->e;
    const log_txn *x = &e->log->txns.at[t->txn];
    e->run.low = oldest_state(p, position);
    e->run.high = position;
    outcome r = run_newest(e, t, position, false);
    if (r == RUN_OK && !queries_write(e, x) && writes_are_certain(e, t, x->n_stmts)) return true;
    bool agreed = r == RUN_OK;
    note_shown(p); /* nothing, if the run failed */
    if (agreed) vs_rollback(&e->store, 0);
    if (!agreed && r != RUN_REFUSED) {
        e->exploring = true;
        e->fail = (failure){0};
        r = run_newest(e, t, position, true);
        e->fail.semantic = true;
        e->exploring = false;
        note_shown(p);
        if (r == RUN_OK) vs_rollback(&e->store, 0);
    }
    uint32_t upto = r == RUN_OK || !e->fail.any ? x->n_stmts : e->fail.stmt;
    bool unclear = r == RUN_REFUSED || (r != RUN_OK && e->run.unclear) || queries_write(e, x);
    if (unclear || !writes_turn_out_certain(p, t, upto)) p->why = other_writes;
    if (r != RUN_OK || p->why) return false;
    if (!agreed && !snapshots_explain(e, t, position)) {
        uint32_t stmt = unexplained_query(e, t, position, e->run.low);
        if (stmt < x->n_stmts) {
            e->fail = (failure){0};
            tell_query(e, t, position, stmt);
            e->fail.semantic =
                !e->run.low || !engine_query_explainable(e, t->txn, stmt, position, 0);
            return false;
        }
    }
    r = run_newest(e, t, position, true);
    assert(r == RUN_OK);
    return r == RUN_OK;
}

/* The replay; true: the transaction that e->fail names is in no order. */
static bool replay_calls(timed *p)
{
    engine *e = p->e;
    assert(!e->hooks.commits && !e->hooks.by_row && !e->run.writes_only);
    engine_reset(e);
    e->store.searching = true; /* every state may be read */
    if (writes_spread(e)) p->why = other_writes;
    bool shown = false, picked = e->picked;
    e->picked = false;
    for (uint32_t i = 0; !p->why && !shown && i < e->order.n; i++) {
        trial t = {.txn = e->order.at[i]};
        if (e->effort.runs >= e->effort.max_runs) {
            p->why = "the search was given up; the transaction named is the first that was not "
                     "explained";
            break;
        }
        bool explained = explain_position(p, &t, i);
        if (!p->why && e->picked) /* rows that SKIP LOCKED left out, say: one way of several */
            p->why = "not explained in the log's order; other orders that its times allow were not "
                     "excluded, since the database chose rows";
        if (!p->why && !versions_are_ordered(p, i)) p->why = overlapping;
        if (!p->why && !explained) shown = true;
        if (!p->why && explained) {
            vs_commit(&e->store, i + 1);
            e->order.state_name[i + 1] = e->log->txns.at[t.txn].id;
        }
        vec_free(e->mem, &t.choices);
        vec_free(e->mem, &t.reached);
    }
    if (e->unchecked) shown = false;
    e->picked |= picked;
    if (e->store.undo.n) vs_rollback(&e->store, 0);
    return shown;
}

bool in_no_timed_order(engine *e, const char **why)
{
    timed p = {.e = e};
    if (e->level.mode == MODE_ROW || e->o->lenient || e->o->no_session_order) return false;
    engine_order order = e->order;
    failure shown = e->fail;
    bool exploring = e->exploring;
    uint32_t window = e->effort.window;
    e->order.at = mem_array(e->mem, uint32_t, order.n + 1);
    p.ended = mem_array(e->mem, uint64_t, order.n + 1);
    e->exploring = false;
    e->effort.window = UINT32_MAX;
    bool known = sort_by_calls(&p), found = known && replay_calls(&p);
    if (known && p.why) *why = p.why;
    e->fail.classified |= found;
    if (!found) e->fail = shown;
    assert(!found || e->fail.any);
    mem_put(e->mem, e->order.at);
    mem_put(e->mem, p.ended);
    vec_free(e->mem, &p.blind);
    vec_free(e->mem, &p.shown);
    e->order = order;
    e->exploring = exploring;
    e->effort.window = window;
    e->run.mode = e->level.mode;
    e->run.rule = e->level.rule;
    return found;
}
