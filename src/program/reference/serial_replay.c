/*
 * serial_replay.c - see serial_replay.h.
 *
 * A serial execution that agrees explains the log at every level that knows no real time, and at
 * the others if each transaction may have read the newest state.  Where the order of the commits
 * does not agree, PostgreSQL executes the log once more at SERIALIZABLE on pinned snapshots: if all
 * transactions commit, its own check has shown that there is a serial order.  Small logs are tried
 * in every order, within one transaction that is rolled back: a prefix that does not agree is left
 * at once.
 */
#include "reference/serial_replay.h"

#include <assert.h>
#include <stdio.h>

enum { EVERY_ORDER = 8 };

/* ---- every order ----------------------------------------------------------------------------- */

typedef struct all_orders {
    snapshot_replay *r;
    engine_conn *c;
    uint32_t placed[EVERY_ORDER], n;
    bool used[EVERY_ORDER]; /* by position of the given order */
    bool unclear;
} all_orders;

static bool may_come_next(const all_orders *a, uint32_t i)
{
    const audit_schedule *plan = a->r->e->plan;
    uint32_t x = a->r->order[i];
    for (uint32_t k = 0; k < a->r->n; k++) {
        uint32_t y = a->r->order[k];
        if (k == i || a->used[k]) continue;
        if (y < x && plan->log->txns.at[y].session == plan->log->txns.at[x].session) return false;
        if (plan->strict && surely_seen(plan, y, x)) return false;
    }
    return true;
}

static bool place_next(all_orders *a)
{
    reference_engine *e = a->r->e;
    if (a->n == a->r->n) return true;
    for (uint32_t i = 0; i < a->r->n; i++) {
        char mark[48], back[64];
        const char *first[] = {mark, NULL};
        if (a->used[i] || !may_come_next(a, i)) continue;
        snprintf(mark, sizeof mark, "SAVEPOINT ratel_place_%u", (unsigned)a->n);
        snprintf(back, sizeof back, "ROLLBACK TO SAVEPOINT ratel_place_%u", (unsigned)a->n);
        run_outcome o = engine_run_txn(e, a->c, first, a->r->order[i]);
        a->unclear |= o.how == ANSWERS_UNSURE;
        if (o.how == ANSWERS_AGREE) {
            a->used[i] = true;
            a->placed[a->n++] = i;
            if (place_next(a)) return true;
            a->n--;
            a->used[i] = false;
        }
        if (!engine_does(e, a->c, back)) engine_lost(e, a->c);
    }
    return false;
}

/* An order that agrees becomes the replay's. */
static bool find_order(snapshot_replay *r, bool *unclear)
{
    reference_engine *e = r->e;
    all_orders a = {.r = r};
    *unclear = true;
    if (!engine_stays_in_a_transaction(e)) return false;
    if (!engine_begin_pass(e)) guard_fail(e->guard, GUARD_HISTORY, "%s", e->why);
    a.c = engine_session(e, r->order[0]);
    if (!a.c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    if (!engine_does(e, a.c, e->kind == ENGINE_MARIADB ? "START TRANSACTION" : "BEGIN"))
        engine_lost(e, a.c);
    e->patient = true;
    bool found = place_next(&a);
    e->patient = false;
    engine_rollback(e, a.c);
    *unclear = a.unclear;
    if (!found) return false;
    uint32_t order[EVERY_ORDER] = {0};
    for (uint32_t i = 0; i < r->n; i++) order[i] = r->order[a.placed[i]];
    memcpy(r->order, order, r->n * sizeof *order);
    return true;
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* May every position have read the newest state? */
static bool may_read_newest(const audit_schedule *plan)
{
    if (!plan->strict || plan->reads == READS_LATEST) return true;
    for (uint32_t i = 0; i < plan->n; i++) {
        uint32_t high = i;
        while (high && plan->no_state[plan->at[high - 1]]) high--;
        if (plan->low[i] > i || plan->high[i] < high) return false;
    }
    return true;
}

static bool has_one_session(const audit_schedule *plan)
{
    for (uint32_t i = 1; i < plan->n; i++)
        if (plan->at[i] < plan->at[i - 1] ||
            plan->log->txns.at[plan->at[i]].session != plan->log->txns.at[plan->at[0]].session)
            return false;
    return true;
}

/* Does real time or the one session leave no other order?  Then a serial level is decided, and at
   strong levels each transaction has read the newest state. */
static bool order_is_forced(const audit_schedule *plan)
{
    if (plan->strict && plan->total) return true;
    return plan->reads == READS_LATEST && has_one_session(plan);
}

static reference_finding serial_failure(snapshot_replay *r)
{
    const audit_schedule *plan = r->e->plan;
    reference_finding f = {.end = REFERENCE_UNDECIDED, .txn = r->order[r->at]};
    f.why = why_no_violation(r);
    if (!f.why && order_is_forced(plan)) {
        f.end = REFERENCE_VIOLATED;
        f.all_orders = true;
    }
    return f;
}

static reference_finding try_every_order(snapshot_replay *r, reference_finding f)
{
    bool unclear, could_be = f.why == NULL;
    VEC(tried_state) tried = {0};
    for (size_t i = 0; i < r->tried.n; i++) vec_push(r->e->mem, &tried, r->tried.at[i]);
    uint32_t at = r->at;
    if (find_order(r, &unclear)) {
        replay_windows(r);
        if (replay_run(r) == REPLAY_AGREES)
            return (reference_finding){REFERENCE_HOLDS, NULL, UINT32_MAX, true, false};
        f.why = "the reference engine did not answer the same twice";
        return f;
    }
    r->at = at;
    r->tried.n = 0;
    for (size_t i = 0; i < tried.n; i++) vec_push(r->e->mem, &r->tried, tried.at[i]);
    if (could_be && !unclear) {
        f.end = REFERENCE_VIOLATED;
        f.all_orders = true;
    }
    return f;
}

reference_finding decide_serially(snapshot_replay *r)
{
    const audit_schedule *plan = r->e->plan;
    reference_finding f = {.end = REFERENCE_HOLDS, .txn = UINT32_MAX};
    r->newest_only = true;
    replay_windows(r);
    bool agrees = replay_run(r) == REPLAY_AGREES;
    if (agrees && may_read_newest(plan)) return f;
    if (agrees) {
        f.end = REFERENCE_UNDECIDED;
        f.why = "a serial execution agrees, but some transactions must have read an older state";
        return f;
    }
    f = serial_failure(r);
    bool serial = plan->reads == READS_LATEST;
    if (f.end == REFERENCE_VIOLATED || !serial) {
        if (!serial && f.end != REFERENCE_VIOLATED && !f.why)
            f.why = "this engine executes serially only, and no serial execution agrees";
        return f;
    }
    if (r->n <= EVERY_ORDER) f = try_every_order(r, f);
    if (f.end != REFERENCE_UNDECIDED) return f;
    if (!f.why)
        f.why = "the order of the commits does not explain the answers; not every other order was "
                "tried";
    if (r->e->kind != ENGINE_POSTGRES || plan->strict) return f;
    snapshot_replay s;
    replay_init(&s, r->e);
    s.serializable = true;
    if (decide_snapshots(&s).end != REFERENCE_HOLDS) return f;
    memcpy(r->order, s.order, r->n * sizeof *r->order);
    memcpy(r->first_read, s.first_read, r->n * sizeof *r->first_read);
    return (reference_finding){REFERENCE_HOLDS, NULL, UINT32_MAX, true, false};
}
