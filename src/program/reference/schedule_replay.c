/*
 * schedule_replay.c - see schedule_replay.h.
 *
 * A statement runs when it was called, a commit when it was called: both are moments that real time
 * allows, at every level.  After each call the engine is given time until the statement is answered
 * or waits for another session (pg_blocking_pids); after each end, those that waited go on.  When
 * the log says that a statement was answered, it must have been answered here, too.  At READ
 * COMMITTED a query that does not agree is sent again after each commit until then.  If that does
 * not explain the log, writes run when they were answered: by then they had their locks.
 */
#include "reference/schedule_replay.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sort.h"

enum { SESSIONS = 40, LOOK_MS = 4, AROUND = 200, LONG_LOG = 2 * AROUND };
static const uint64_t patience = 2500000000u; /* ns: longer than the engine looks for deadlocks */

typedef enum event_kind { EVENT_ANSWER, EVENT_CALL } event_kind;

/* Ways to execute it, all of which real time allows. */
typedef struct sent_ways {
    bool writes_late;     /* they run when they were answered */
    bool without_aborted; /* what was rolled back does not run, unless it is all there is */
    bool forced;          /* queries that leave a choice get the rows of the log */
} sent_ways;

typedef struct sent_event {
    uint32_t txn, stmt; /* n_stmts: the end of the transaction */
    event_kind kind;
} sent_event;

typedef struct sent_txn {
    bool begun, pending, hasty;
    bool over;     /* rolled back where the log says that it was chosen to end a deadlock */
    bool again;    /* the query has had another answer, and may be sent again */
    bool last_try; /* it is sent for the last time */
    uint32_t stmt; /* that is pending, or sent again */
} sent_txn;

typedef struct schedule_replay {
    snapshot_replay *r;
    reference_engine *e;
    sent_txn *txns;
    uint32_t *pids;        /* by session; 0: not asked yet */
    VEC(uint32_t) waiting; /* transactions with a statement that waits */
    VEC(uint32_t) again;   /* with a query that may be sent again */
    sent_ways ways;
    /* of a long log, what is around one transaction */
    bool *inside;   /* by transaction; NULL: all of them */
    bool *crosses;  /* by transaction: it began before the last commit that was executed before */
    uint32_t about; /* the transaction that matters; UINT32_MAX: none */
    VEC(uint64_t) keys;
    VEC(sent_event) events;
    uint32_t commits;
    uint32_t stuck; /* the transaction that was not explained, or UINT32_MAX */
    run_outcome last;
} schedule_replay;

static bool is_committed(const schedule_replay *s, uint32_t txn)
{
    return s->e->plan->log->txns.at[txn].status == LOG_COMMITTED;
}

/* Must the answers agree?  Those of what was rolled back only if there are no others. */
static bool is_held(const schedule_replay *s, uint32_t txn)
{
    if (s->crosses && s->crosses[txn]) return false;
    return is_committed(s, txn) || !s->r->n;
}

/* ---- what is executed ------------------------------------------------------------------------ */

/* Is the whole log known, with its times, and may all of it be executed? */
static const char *why_not_as_sent(const reference_engine *e, bool without_aborted)
{
    const sql_log *l = e->plan->log;
    if (e->plan->unknown) return "a transaction has an unknown outcome";
    if (!engine_stays_in_a_transaction(e)) return "a statement commits by itself";
    if (l->sessions.n >= SESSIONS) return "the log has too many sessions to run beside each other";
    for (uint32_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        if (without_aborted && t->status != LOG_COMMITTED) continue;
        if (!t->has_times) return "the log lacks times";
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const statement_words *w = &e->words[t->stmts[k].text];
            if (!t->stmts[k].has_time) return "the log lacks the times of statements";
            if (t->stmts[k].opaque || w->beyond || w->ends ||
                engine_hides_parameters(e, &t->stmts[k]))
                return "a statement of a transaction that was rolled back is not executed";
        }
    }
    return NULL;
}

static void add_sent_event(schedule_replay *s, int64_t when, sent_event v)
{
    vec_push(s->e->mem, &s->keys, sort_key(when));
    vec_push(s->e->mem, &s->events, v);
}

static bool is_query(const schedule_replay *s, const log_stmt *l)
{
    return s->e->words[l->text].only_reads && !s->e->has_routines;
}

/* VACUUM and its kin refuse to run within a transaction.  In MariaDB a statement that was sent
   alone is not the same in a transaction: at SERIALIZABLE, only there do queries lock rows. */
static bool runs_alone(const schedule_replay *s, uint32_t txn)
{
    const log_txn *t = &s->e->plan->log->txns.at[txn];
    if (t->n_stmts != 1) return false;
    if (s->e->words[t->stmts[0].text].runs_alone) return true;
    return s->e->kind == ENGINE_MARIADB && t->times[0] == t->stmts[0].call &&
           t->times[2] == t->stmts[0].call && is_committed(s, txn);
}

/* The isolation of the level, or the transaction's own if that is stronger.  MariaDB's REPEATABLE
   READ is what its logs have if they name nothing; it is one of the ways to read committed rows. */
static engine_isolation isolation_of(const schedule_replay *s, uint32_t txn)
{
    schedule_reads reads = s->e->plan->reads;
    const char *own = s->e->plan->log->txns.at[txn].isolation;
    bool serial = own && !strcmp(own, "serializable"),
         repeatable = own && !strcmp(own, "repeatable read");
    if (reads == READS_LATEST || serial) return ENGINE_SERIAL;
    if (reads == READS_SNAPSHOT) return ENGINE_SNAPSHOT;
    if (s->e->kind == ENGINE_POSTGRES) return repeatable ? ENGINE_SNAPSHOT : ENGINE_STATEMENTS;
    return reads == READS_ROW && (repeatable || !own) ? ENGINE_REPEATABLE : ENGINE_STATEMENTS;
}

/* A query that waits for nobody. */
static bool is_plain_query(const schedule_replay *s, uint32_t txn, uint32_t stmt)
{
    const log_stmt *l = &s->e->plan->log->txns.at[txn].stmts[stmt];
    bool locks = s->e->kind == ENGINE_MARIADB && isolation_of(s, txn) == ENGINE_SERIAL;
    return is_query(s, l) && (!locks || runs_alone(s, txn));
}

/* Answers come before calls of the same moment. */
static void find_sent_events(schedule_replay *s)
{
    const sql_log *l = s->e->plan->log;
    for (int kind = EVENT_ANSWER; kind <= EVENT_CALL; kind++)
        for (uint32_t i = 0; i < l->txns.n; i++) {
            const log_txn *t = &l->txns.at[i];
            bool call = kind == EVENT_CALL;
            if (s->inside && !s->inside[i]) continue;
            if (s->ways.without_aborted && !is_committed(s, i) && s->r->n) continue;
            for (uint32_t k = 0; k < t->n_stmts; k++) {
                bool late = s->ways.writes_late && !is_plain_query(s, i, k);
                add_sent_event(s, call && !late ? t->stmts[k].call : t->stmts[k].answer,
                               (sent_event){i, k, (event_kind)kind});
            }
            /* a statement that is a transaction by itself is its own commit */
            int64_t end = t->times[call ? 2 : 3];
            if (t->n_stmts && t->stmts[t->n_stmts - 1].answer > end)
                end = t->stmts[t->n_stmts - 1].answer;
            add_sent_event(s, end, (sent_event){i, t->n_stmts, (event_kind)kind});
        }
}

/* ---- waiting --------------------------------------------------------------------------------- */

static uint32_t session_of(const schedule_replay *s, uint32_t txn)
{
    return s->e->plan->log->txns.at[txn].session;
}

static engine_conn *connection_of(schedule_replay *s, uint32_t txn)
{
    reference_engine *e = s->e;
    engine_conn *c = engine_session(e, txn);
    uint32_t session = session_of(s, txn);
    if (!c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    if (s->pids[session] || e->kind != ENGINE_POSTGRES) return c;
    if (!engine_does(e, c, "SELECT pg_backend_pid()") || !c->s.n_rows) engine_lost(e, c);
    s->pids[session] = (uint32_t)strtoul(c->s.text.at + c->s.cells.at[0].at, NULL, 10);
    return c;
}

static bool is_blocked(schedule_replay *s, uint32_t txn)
{
    char sql[80];
    if (s->e->kind == ENGINE_MARIADB)
        return s->e->db.driver->waits(&s->e->watcher.s, &connection_of(s, txn)->s) == DB_WAITS;
    snprintf(sql, sizeof sql, "SELECT cardinality(pg_blocking_pids(%u)) > 0",
             (unsigned)s->pids[session_of(s, txn)]);
    if (!engine_does(s->e, &s->e->watcher, sql) || !s->e->watcher.s.n_rows)
        engine_lost(s->e, &s->e->watcher);
    const db_session *w = &s->e->watcher.s;
    return w->text.at[w->cells.at[0].at] == 't';
}

/* A setting that only a superuser may change is about the reference. */
static bool is_refused_setting(const schedule_replay *s, uint32_t txn, uint32_t stmt,
                               const engine_conn *c)
{
    const log_stmt *l = &s->e->plan->log->txns.at[txn].stmts[stmt];
    return s->e->words[l->text].is_setting && !l->has_error && !strcmp(c->s.state, "42501");
}

/* A query that had no effect, at an isolation where each one has a state of its own. */
static bool may_try_again(const schedule_replay *s, uint32_t txn, const engine_conn *c)
{
    const sent_txn *t = &s->txns[txn];
    const log_stmt *l = &s->e->plan->log->txns.at[txn].stmts[t->stmt];
    return !t->last_try && !*c->s.state && is_query(s, l) &&
           isolation_of(s, txn) == ENGINE_STATEMENTS;
}

/* The answer of what is pending, if it is there; false: the log has another one. */
static bool take_answer(schedule_replay *s, uint32_t txn, int wait_ms)
{
    reference_engine *e = s->e;
    sent_txn *t = &s->txns[txn];
    engine_conn *c = connection_of(s, txn);
    run_outcome o = {.stmt = t->stmt};
    assert(t->pending);
    if (t->stmt == e->plan->log->txns.at[txn].n_stmts) {
        bool done;
        if (!engine_answered(e, c, wait_ms, &done)) return true;
        t->pending = false;
        if (done || !is_committed(s, txn) || !is_held(s, txn)) return true;
        o.how = ANSWERS_UNSURE;
        o.answer = "the commit fails";
    } else {
        if (!engine_statement_answered(e, c, txn, t->stmt, wait_ms, &o)) return true;
        t->pending = false;
        if (o.how == ANSWERS_AGREE || !is_held(s, txn)) return true;
        if (is_refused_setting(s, txn, t->stmt, c)) return true;
        if (may_try_again(s, txn, c)) {
            t->again = true;
            return true;
        }
    }
    s->stuck = txn;
    s->last = o;
    return false;
}

/* Until it is answered, or waits for another session. */
static bool let_go_on(schedule_replay *s, uint32_t txn)
{
    while (s->txns[txn].pending) {
        if (!take_answer(s, txn, LOOK_MS)) return false;
        if (!s->txns[txn].pending || is_blocked(s, txn)) break;
        guard_poll(s->e->guard);
    }
    return !s->txns[txn].pending || take_answer(s, txn, 0);
}

static bool let_all_go_on(schedule_replay *s)
{
    size_t kept = 0;
    bool good = true;
    for (size_t i = 0; i < s->waiting.n; i++) {
        uint32_t txn = s->waiting.at[i];
        if (good) good = let_go_on(s, txn);
        if (s->txns[txn].pending) s->waiting.at[kept++] = txn;
    }
    s->waiting.n = kept;
    return good;
}

static bool try_again(schedule_replay *s, uint32_t txn, bool last)
{
    sent_txn *t = &s->txns[txn];
    assert(t->again && !t->pending);
    t->again = false;
    t->last_try = last;
    engine_sends_statement(s->e, connection_of(s, txn), txn, t->stmt);
    t->pending = true;
    if (!let_go_on(s, txn)) return false;
    if (t->pending) vec_push(s->e->mem, &s->waiting, txn);
    t->last_try &= t->pending;
    return true;
}

/* After a commit. */
static bool try_all_again(schedule_replay *s)
{
    size_t kept = 0;
    bool good = true;
    for (size_t i = 0; i < s->again.n; i++) {
        uint32_t txn = s->again.at[i];
        if (good && s->txns[txn].again) good = try_again(s, txn, false);
        if (s->txns[txn].again || s->txns[txn].pending) s->again.at[kept++] = txn;
    }
    s->again.n = kept;
    return good;
}

/* The log has an answer by now. */
static bool await_answer(schedule_replay *s, uint32_t txn)
{
    uint64_t until = clock_now() + patience;
    while (s->txns[txn].pending && clock_now() < until) {
        if (!take_answer(s, txn, LOOK_MS)) return false;
        guard_poll(s->e->guard);
    }
    if (!s->txns[txn].pending) return let_all_go_on(s);
    s->stuck = txn;
    s->last = (run_outcome){ANSWERS_UNSURE, s->txns[txn].stmt, false, "it waits for a lock"};
    return false;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

/* A statement whose lock timed out in the log shall not wait long. */
static void set_patience(schedule_replay *s, uint32_t txn, uint32_t stmt, engine_conn *c)
{
    sent_txn *t = &s->txns[txn];
    const log_txn *l = &s->e->plan->log->txns.at[txn];
    bool postgres = s->e->kind == ENGINE_POSTGRES;
    bool hasty = stmt < l->n_stmts && l->stmts[stmt].has_error &&
                 !strncmp(l->stmts[stmt].error, postgres ? "55P03" : "HY000", 5);
    if (hasty == t->hasty) return;
    if (!postgres) {
        t->hasty = hasty && engine_does(s->e, c, "SET innodb_lock_wait_timeout = 1");
        if (!hasty) engine_does(s->e, c, "SET innodb_lock_wait_timeout = 20");
        return;
    }
    /* fails in a transaction that failed, where nothing waits anyway */
    if (engine_does(s->e, c,
                    hasty ? "SET LOCAL lock_timeout = '100ms'" : "SET LOCAL lock_timeout = '10s'"))
        t->hasty = hasty;
}

/* Which of those that wait for each other is rolled back is the engine's choice.  What the log's
   own choice had read is not held against anybody: it is rolled back before it runs into it. */
static bool ends_deadlock(const schedule_replay *s, uint32_t txn, uint32_t stmt)
{
    const log_txn *l = &s->e->plan->log->txns.at[txn];
    return stmt < l->n_stmts && !is_held(s, txn) && l->stmts[stmt].has_error &&
           !strncmp(l->stmts[stmt].error, "40P01", 5);
}

static bool send_call(schedule_replay *s, uint32_t txn, uint32_t stmt)
{
    reference_engine *e = s->e;
    sent_txn *t = &s->txns[txn];
    const log_txn *l = &e->plan->log->txns.at[txn];
    engine_conn *c = connection_of(s, txn);
    if (t->again && !try_again(s, txn, true)) return false;
    if (t->pending && !await_answer(s, txn)) return false;
    t->last_try = false;
    if (stmt < l->n_stmts && e->words[l->stmts[stmt].text].sets_level) return true;
    bool alone = runs_alone(s, txn);
    if (t->over || (alone && stmt == l->n_stmts)) return true;
    if (ends_deadlock(s, txn, stmt)) {
        t->over = true;
        if (t->begun) engine_rollback(e, c);
        return let_all_go_on(s);
    }
    if (!t->begun) engine_begins_sent(e, c, isolation_of(s, txn), alone);
    t->begun = true;
    if (!alone) set_patience(s, txn, stmt, c);
    if (stmt == l->n_stmts)
        engine_starts(e, c, is_committed(s, txn) ? "COMMIT" : "ROLLBACK");
    else
        engine_sends_statement(e, c, txn, stmt);
    t->pending = true;
    t->stmt = stmt;
    e->runs += !stmt;
    if (!let_go_on(s, txn)) return false;
    if (t->pending) vec_push(e->mem, &s->waiting, txn);
    if (stmt < l->n_stmts && is_query(s, &l->stmts[stmt]) && (t->again || t->pending))
        vec_push(e->mem, &s->again, txn);
    return let_all_go_on(s) && (stmt < l->n_stmts || try_all_again(s));
}

static void note_commit(schedule_replay *s, uint32_t txn)
{
    if (!is_committed(s, txn) || s->commits == s->r->n) return;
    s->r->first_read[s->commits] = s->commits;
    s->r->order[s->commits++] = txn;
}

static bool play_event(schedule_replay *s, const sent_event *v)
{
    bool ends = v->stmt == s->e->plan->log->txns.at[v->txn].n_stmts;
    if (v->kind == EVENT_CALL) {
        if (!send_call(s, v->txn, v->stmt)) return false;
        if (ends) note_commit(s, v->txn);
        return true;
    }
    const sent_txn *t = &s->txns[v->txn];
    if (t->again && t->stmt == v->stmt && !try_again(s, v->txn, true)) return false;
    return !t->pending || t->stmt != v->stmt || await_answer(s, v->txn);
}

/* What is left open is ended with the connections. */
static reference_finding not_as_sent(schedule_replay *s)
{
    snapshot_replay *r = s->r;
    reference_finding f = {.end = REFERENCE_UNDECIDED, .txn = s->stuck};
    r->tried.n = 0;
    vec_push(s->e->mem, &r->tried, ((tried_state){s->commits, s->last}));
    f.why = "the answers differ when the statements run in the order in which they were sent";
    return f;
}

/* What was committed before is executed in its order; the rest, as far as it meets the transaction
   at a position, as it was sent.  What began before the cut may see more than it did, and is not
   held to its answers.  False: the part before did not go well. */
static bool begin_around(schedule_replay *s, uint32_t at)
{
    snapshot_replay *r = s->r;
    reference_engine *e = s->e;
    const sql_log *l = e->plan->log;
    uint32_t cut = at - AROUND;
    const log_txn *last = &l->txns.at[r->order[at]], *first = &l->txns.at[r->order[cut]];
    int64_t from = first->times[0], upto = l->txns.at[r->order[cut - 1]].times[3];
    for (uint32_t i = cut; i <= at; i++)
        if (l->txns.at[r->order[i]].times[0] < from) from = l->txns.at[r->order[i]].times[0];
    s->inside = mem_array0(e->mem, bool, l->txns.n + 1);
    s->crosses = mem_array0(e->mem, bool, l->txns.n + 1);
    for (uint32_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        s->inside[i] = t->times[0] <= last->times[3] && t->times[3] >= from;
        s->crosses[i] = t->times[0] <= upto && i != r->order[at];
    }
    for (uint32_t i = 0; i < cut; i++) s->inside[r->order[i]] = false;
    s->about = r->order[at];
    s->commits = cut;
    replay_windows(r);
    r->pause = cut;
    replay_end end = replay_run(r);
    r->pause = UINT32_MAX;
    return end == REPLAY_PAUSED;
}

/* `at`: the position that matters, or UINT32_MAX for all of them. */
static reference_finding execute_as_sent(snapshot_replay *r, sent_ways ways, uint32_t at)
{
    reference_engine *e = r->e;
    schedule_replay s = {.r = r, .e = e, .stuck = UINT32_MAX, .ways = ways, .about = UINT32_MAX};
    reference_finding f = {.end = REFERENCE_UNDECIDED, .txn = UINT32_MAX};
    bool around = at != UINT32_MAX && at > LONG_LOG;
    if (around && !begin_around(&s, at)) return f;
    if (!around && !engine_begin_pass(e)) guard_fail(e->guard, GUARD_HISTORY, "%s", e->why);
    if (!e->watcher.open && !engine_connect(e, &e->watcher))
        guard_fail(e->guard, GUARD_IO, "%s", e->why);
    s.txns = mem_array0(e->mem, sent_txn, e->plan->log->txns.n + 1);
    s.pids = mem_array0(e->mem, uint32_t, e->plan->log->sessions.n + 1);
    find_sent_events(&s);
    uint32_t n = (uint32_t)s.keys.n, *by = sort_by_key(e->mem, s.keys.at, n);
    for (uint32_t i = 0; i < n; i++) {
        guard_tick(e->guard);
        const sent_event *v = &s.events.at[by[i]];
        if (!play_event(&s, v)) return not_as_sent(&s);
        bool ends = v->stmt == e->plan->log->txns.at[v->txn].n_stmts;
        if (v->txn == s.about && ends && v->kind == EVENT_CALL) break;
    }
    f.end = REFERENCE_HOLDS;
    f.other_order = memcmp(r->order, e->plan->at, r->n * sizeof *r->order) != 0;
    return f;
}

/* Where nothing was rolled back, or nothing else is left, there are fewer ways. */
static bool has_aborted(const snapshot_replay *r)
{
    const sql_log *l = r->e->plan->log;
    for (uint32_t i = 0; i < l->txns.n && r->n; i++)
        if (l->txns.at[i].status != LOG_COMMITTED) return true;
    return false;
}

/* Some statement leaves a choice of rows. */
static bool has_choices(const snapshot_replay *r)
{
    const sql_log *l = r->e->plan->log;
    for (uint32_t i = 0; i < l->txns.n; i++)
        for (uint32_t k = 0; k < l->txns.at[i].n_stmts; k++)
            if (engine_may_force_rows(r->e, i, k)) return true;
    return false;
}

static reference_finding decide_in_ways(snapshot_replay *r, uint32_t at)
{
    reference_finding f = {.end = REFERENCE_UNDECIDED, .txn = UINT32_MAX};
    bool others = has_aborted(r), choices = has_choices(r);
    for (int i = 0; i < 8 && f.end != REFERENCE_HOLDS; i++) {
        sent_ways ways = {
            .writes_late = i % 2 == 1, .forced = i / 2 % 2 == 1, .without_aborted = i > 3};
        if ((ways.forced && !choices) || (ways.without_aborted && !others)) continue;
        if (ways.without_aborted && choices && !ways.forced) continue;
        const char *why = why_not_as_sent(r->e, ways.without_aborted);
        r->e->forces = ways.forced;
        if (!why) f = execute_as_sent(r, ways, at);
        r->e->forces = false;
        if (why && !f.why) f.why = why;
    }
    return f;
}

reference_finding decide_as_sent(snapshot_replay *r)
{
    return decide_in_ways(r, UINT32_MAX);
}

bool agrees_as_sent(snapshot_replay *r, uint32_t txn)
{
    uint32_t at = 0;
    while (at < r->n && r->order[at] != txn) at++;
    assert(at < r->n);
    return decide_in_ways(r, at).end == REFERENCE_HOLDS;
}
