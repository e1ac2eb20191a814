/*
 * ahead_replay.c - see ahead_replay.h.
 *
 * Two batches are under way: while the answers of one are compared, the engine works on the other.
 * A batch ends with a synchronization point, so that an answer waits for at most one batch.
 */
#include "reference/ahead_replay.h"

#include <assert.h>

enum { AHEAD_TXNS = 32, AHEAD_BYTES = 32768 };

/* An error that depends on the moment is not to be expected here. */
static bool has_passing_error(const log_txn *t)
{
    for (uint32_t i = 0; i < t->n_stmts; i++)
        if (t->stmts[i].has_error && error_depends_on_time(t->stmts[i].error)) return true;
    return false;
}

/* Is the newest state, at this position, one that it may read? */
static bool may_read_newest_state(const snapshot_replay *r, uint32_t i)
{
    for (uint32_t k = r->high[i]; k < i; k++)
        if (!r->e->plan->no_state[r->order[k]]) return false;
    return true;
}

void ahead_choose(snapshot_replay *r)
{
    const reference_engine *e = r->e;
    bool some = !r->oldest_first && e->kind == ENGINE_POSTGRES && engine_may_run_ahead(e);
    r->runs_ahead = some;
    for (uint32_t i = 0; i < r->n; i++) {
        bool others = r->other_choices && r->low[i] < r->high[i] &&
                      !engine_txn_reads_only(e, r->order[i]) && !engine_txn_by_key(e, r->order[i]);
        r->alone[i] = !some || i >= r->alone_from || others || r->differed[i] ||
                      !may_read_newest_state(r, i) ||
                      has_passing_error(&e->plan->log->txns.at[r->order[i]]);
    }
}

uint32_t ahead_end(const snapshot_replay *r)
{
    uint32_t to = r->at;
    while (to < r->n && to != r->pause && !r->alone[to] && (to == r->at || r->until[to] <= to))
        to++;
    return to;
}

static size_t sent_bytes(const snapshot_replay *r, uint32_t i)
{
    const sql_log *l = r->e->plan->log;
    const log_txn *t = &l->txns.at[r->order[i]];
    size_t n = 0;
    for (uint32_t k = 0; k < t->n_stmts; k++) {
        n += l->texts.at[t->stmts[k].text].n;
        for (uint32_t p = 0; p < t->stmts[k].n_params; p++) n += t->stmts[k].params[p].n;
    }
    return n;
}

static uint32_t send_batch(snapshot_replay *r, engine_conn *c, uint32_t from, uint32_t to)
{
    size_t bytes = 0;
    uint32_t end = from;
    while (end < to && end - from < AHEAD_TXNS && bytes < AHEAD_BYTES)
        bytes += sent_bytes(r, end++);
    for (uint32_t i = from; i < end; i++)
        engine_sends_txn(r->e, c, r->serializable, r->order[i], i + 1 == end);
    return end;
}

bool ahead_run(snapshot_replay *r, uint32_t to, run_outcome *o)
{
    reference_engine *e = r->e;
    engine_conn *c = engine_ahead(e);
    if (!c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    *o = (run_outcome){0};
    uint32_t sent = send_batch(r, c, r->at, to), batch = sent, i = r->at;
    for (; i < to && o->how == ANSWERS_AGREE; batch = sent) {
        sent = send_batch(r, c, sent, to);
        for (; i < batch; i++) {
            run_outcome one = engine_txn_answered(e, c, r->order[i]);
            if (o->how != ANSWERS_AGREE) continue;
            *o = one;
            r->at = i;
            r->first_read[i] = r->high[i];
            if (one.how == ANSWERS_AGREE) replay_note_picks(r, i);
        }
        guard_poll(e->guard);
    }
    for (; i < sent; i++) engine_txn_answered(e, c, r->order[i]);
    if (o->how != ANSWERS_AGREE) return false;
    r->at = to;
    return true;
}
