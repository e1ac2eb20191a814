/*
 * audit_schedule.c - the order of a log's transactions without executing any of them.
 */
#include "audit/audit_schedule.h"

#include <assert.h>

#include "audit/audit_internal.h"
#include "audit/log_doubt.h"
#include "audit/txn_order.h"

static void fill_schedule(engine *e, audit_schedule *out)
{
    static const schedule_reads reads[] = {[MODE_LATEST] = READS_LATEST,
                                           [MODE_SNAPSHOT] = READS_SNAPSHOT,
                                           [MODE_STATEMENT] = READS_STATEMENT,
                                           [MODE_ROW] = READS_ROW};
    const sql_log *l = e->log;
    assert(l && e->level.name && e->level.mode <= MODE_ROW);
    order_sort(e, ORDER_BY_END);
    order_windows(e);
    schedule_times *times = mem_array0(e->mem, schedule_times, l->txns.n + 1);
    bool *no_state = mem_array0(e->mem, bool, l->txns.n + 1);
    for (size_t i = 0; i < l->txns.n; i++) {
        txn_times t = times_of(e, &l->txns.at[i]);
        times[i] = (schedule_times){t.known, t.begin, t.seen, t.call, t.end};
        no_state[i] = makes_no_state(e, &l->txns.at[i]);
        out->unknown += l->txns.at[i].status == LOG_UNKNOWN;
    }
    assert(e->order.n + out->unknown <= l->txns.n && e->order.low && e->order.high);
    out->log = l;
    out->level = e->level.name;
    out->reads = reads[e->level.mode];
    out->strict = e->level.strict;
    out->n = e->order.n;
    out->at = e->order.at;
    out->low = e->order.low;
    out->high = e->order.high;
    out->times = times;
    out->no_state = no_state;
    out->stamped = e->order.stamped;
    out->fact = e->order.n && order_is_fact(e, true);
    out->total = order_is_total(e);
    out->doubt = e->order.n ? log_doubt(e) : NULL;
    out->drift = (int64_t)e->o->drift;
}

int audit_schedule_of(audit *a, const audit_options *o, audit_schedule *out)
{
    memset(out, 0, sizeof *out);
    if (!a || !a->read) return GUARD_INVAL;
    mem_free_all(&a->store);
    mem_free_all(&a->work);
    memset(&a->e, 0, sizeof a->e);
    audit_limits(a, o);
    if (guard_armed(&a->guard)) return audit_ended(a, &(audit_answer){0});
    audit_engine(&a->e, &a->guard, &a->work, &a->store, o, &a->log);
    fill_schedule(&a->e, out);
    assert(out->n <= a->log.txns.n && out->times && out->no_state);
    return 0;
}
