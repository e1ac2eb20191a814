/*
 * statement_replay.c - see statement_replay.h.
 *
 * Each transaction has a connection, and its statements run one after the other in the order of the
 * log's times: a query from the moment on when it was sent, anything else when it was answered,
 * since that is when it had its locks.  A commit takes place when it was sent, in the order of the
 * commits.  A statement runs under a savepoint; if the answer differs, or if it would have to wait,
 * it is taken back and tried again after the next commit, until its transaction has to commit.
 */
#include "reference/statement_replay.h"

#include <assert.h>

#include "base/sort.h"

typedef struct rc_txn {
    uint32_t next; /* the statement that comes next */
    bool begun, active;
    bool failed; /* its last statement failed, as in the log */
    run_outcome last;
} rc_txn;

typedef struct statement_replay {
    snapshot_replay *r;
    reference_engine *e;
    rc_txn *txns;          /* by transaction */
    VEC(uint32_t) running; /* transactions that have begun */
    VEC(uint64_t) keys;    /* events: when, and what */
    VEC(uint32_t) what;    /* a transaction */
    VEC(bool) commits;
} statement_replay;

static int64_t due_time(const statement_replay *s, uint32_t txn, uint32_t stmt)
{
    const log_stmt *l = &s->e->plan->log->txns.at[txn].stmts[stmt];
    bool query = s->e->words[l->text].only_reads && !s->e->has_routines;
    return query ? l->call : l->answer;
}

static bool has_all_times(const audit_schedule *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        const log_txn *t = &plan->log->txns.at[plan->at[i]];
        if (!plan->times[plan->at[i]].known) return false;
        for (uint32_t k = 0; k < t->n_stmts; k++)
            if (!t->stmts[k].has_time) return false;
    }
    return true;
}

static void add_event(statement_replay *s, int64_t when, uint32_t txn, bool commit)
{
    mem *m = s->e->mem;
    vec_push(m, &s->keys, sort_key(when));
    vec_push(m, &s->what, txn);
    vec_push(m, &s->commits, commit);
}

/* Commits first, so that they come before statements of the same moment. */
static void find_events(statement_replay *s)
{
    const audit_schedule *plan = s->e->plan;
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < plan->n; i++) {
        const schedule_times *t = &plan->times[plan->at[i]];
        if (t->call > last) last = t->call;
        add_event(s, last, plan->at[i], true);
    }
    for (uint32_t i = 0; i < plan->n; i++)
        for (uint32_t k = 0; k < plan->log->txns.at[plan->at[i]].n_stmts; k++)
            add_event(s, due_time(s, plan->at[i], k), plan->at[i], false);
}

/* One attempt; false: the statement is taken back. */
static bool attempt(statement_replay *s, uint32_t txn, engine_conn *c)
{
    reference_engine *e = s->e;
    rc_txn *t = &s->txns[txn];
    const log_stmt *l = &e->plan->log->txns.at[txn].stmts[t->next];
    bool marked = !e->words[l->text].is_savepoint && !t->failed;
    if (marked && !engine_does(e, c, "SAVEPOINT ratel_statement")) engine_lost(e, c);
    t->last = engine_run_statement(e, c, txn, t->next);
    if (marked && t->last.how == ANSWERS_DIFFER && engine_may_force_rows(e, txn, t->next)) {
        if (!engine_does(e, c, "ROLLBACK TO SAVEPOINT ratel_statement")) engine_lost(e, c);
        e->forces = true;
        t->last = engine_run_statement(e, c, txn, t->next);
        e->forces = false;
    }
    if (t->last.how == ANSWERS_AGREE) {
        t->failed = l->has_error;
        if (marked && !t->failed && !engine_does(e, c, "RELEASE SAVEPOINT ratel_statement"))
            engine_lost(e, c);
        t->next++;
        return true;
    }
    if (marked && (!engine_does(e, c, "ROLLBACK TO SAVEPOINT ratel_statement") ||
                   !engine_does(e, c, "RELEASE SAVEPOINT ratel_statement")))
        engine_lost(e, c);
    return false;
}

/* The commit before it in its session may come late, where the order of the commits says so. */
static bool session_is_busy(const statement_replay *s, uint32_t txn)
{
    const sql_log *l = s->e->plan->log;
    for (size_t i = 0; i < s->running.n; i++)
        if (l->txns.at[s->running.at[i]].session == l->txns.at[txn].session) return true;
    return false;
}

/* Runs what is due of a transaction. */
static void drive(statement_replay *s, uint32_t txn, int64_t now)
{
    reference_engine *e = s->e;
    rc_txn *t = &s->txns[txn];
    engine_conn *c = engine_session(e, txn);
    if (!c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    guard_poll(e->guard);
    if (!t->begun && session_is_busy(s, txn)) return;
    if (!t->begun) {
        if (!engine_does(e, c, "BEGIN ISOLATION LEVEL READ COMMITTED") ||
            !engine_does(e, c, "SET LOCAL lock_timeout = '300ms'"))
            engine_lost(e, c);
        t->begun = t->active = true;
        vec_push(e->mem, &s->running, txn);
    }
    e->runs++;
    while (t->next < e->plan->log->txns.at[txn].n_stmts && due_time(s, txn, t->next) <= now)
        if (!attempt(s, txn, c)) return;
}

static bool commit_txn(statement_replay *s, uint32_t txn, int64_t now)
{
    reference_engine *e = s->e;
    bool conflict;
    drive(s, txn, INT64_MAX);
    if (s->txns[txn].next < e->plan->log->txns.at[txn].n_stmts) return false;
    if (!engine_commit(e, engine_session(e, txn), &conflict)) return false;
    s->txns[txn].active = false;
    size_t kept = 0;
    for (size_t i = 0; i < s->running.n; i++)
        if (s->txns[s->running.at[i]].active) s->running.at[kept++] = s->running.at[i];
    s->running.n = kept;
    for (size_t i = 0; i < s->running.n; i++) drive(s, s->running.at[i], now);
    return true;
}

reference_finding decide_statements(snapshot_replay *r)
{
    statement_replay s = {.r = r, .e = r->e};
    reference_engine *e = r->e;
    reference_finding f = {.end = REFERENCE_UNDECIDED, .txn = UINT32_MAX};
    if (!has_all_times(e->plan)) {
        f.why = "the log is not explained serially, and lacks the times of statements";
        return f;
    }
    if (!engine_begin_pass(e)) guard_fail(e->guard, GUARD_HISTORY, "%s", e->why);
    s.txns = mem_array0(e->mem, rc_txn, e->plan->log->txns.n + 1);
    find_events(&s);
    uint32_t n = (uint32_t)s.keys.n, *by = sort_by_key(e->mem, s.keys.at, n);
    uint32_t place = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t txn = s.what.at[by[i]];
        int64_t now = (int64_t)(s.keys.at[by[i]] ^ sort_key(0));
        if (!s.commits.at[by[i]]) {
            drive(&s, txn, now);
            continue;
        }
        if (commit_txn(&s, txn, now)) {
            r->first_read[place] = place;
            r->order[place++] = txn;
            continue;
        }
        r->at = place;
        r->tried.n = 0;
        vec_push(e->mem, &r->tried, ((tried_state){place, s.txns[txn].last}));
        f.txn = txn;
        f.why = "no place was found for a statement where its answer agrees; there may be others";
        return f;
    }
    f.end = REFERENCE_HOLDS;
    return f;
}
