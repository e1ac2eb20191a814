/*
 * serial_replay.c - see serial_replay.h.
 *
 * A serial execution that agrees explains the log at every level that knows no real time, and at
 * the others if each transaction may have read the newest state.  Where the order of the commits
 * does not agree, PostgreSQL executes the log once more at SERIALIZABLE on pinned snapshots: if all
 * transactions commit, its own check has shown that there is a serial order.  Then other orders are
 * looked for (serial_orders.h).
 */
#include "reference/serial_replay.h"

#include <assert.h>

#include "reference/serial_orders.h"

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
    bool could_be = f.why == NULL;
    const char *open;
    VEC(tried_state) tried = {0};
    for (size_t i = 0; i < r->tried.n; i++) vec_push(r->e->mem, &tried, r->tried.at[i]);
    uint32_t at = r->at;
    orders_end end = find_serial_order(r, &open);
    if (end == ORDERS_FOUND) {
        replay_windows(r);
        if (replay_run(r) == REPLAY_AGREES)
            return (reference_finding){REFERENCE_HOLDS, NULL, UINT32_MAX, true, false};
        f.why = "the reference engine did not answer the same twice";
        return f;
    }
    r->at = at;
    r->tried.n = 0;
    for (size_t i = 0; i < tried.n; i++) vec_push(r->e->mem, &r->tried, tried.at[i]);
    if (could_be && end == ORDERS_NONE) {
        f.end = REFERENCE_VIOLATED;
        f.all_orders = true;
    }
    if (could_be && end == ORDERS_OPEN) f.why = open;
    return f;
}

/* As snapshot isolation at SERIALIZABLE, where the engine's own check finds an order. */
static bool engine_finds_order(snapshot_replay *r)
{
    snapshot_replay s;
    replay_init(&s, r->e);
    s.serializable = true;
    if (decide_snapshots(&s).end != REFERENCE_HOLDS) return false;
    memcpy(r->order, s.order, r->n * sizeof *r->order);
    memcpy(r->first_read, s.first_read, r->n * sizeof *r->first_read);
    return true;
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
    if (r->e->kind == ENGINE_POSTGRES && !plan->strict && engine_finds_order(r))
        return (reference_finding){REFERENCE_HOLDS, NULL, UINT32_MAX, true, false};
    if (r->n <= ORDERED_TXNS) f = try_every_order(r, f);
    if (f.end == REFERENCE_UNDECIDED && !f.why)
        f.why = "the order of the commits does not explain the answers; not every other order was "
                "tried";
    return f;
}
