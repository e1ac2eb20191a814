/*
 * update_times.c - see update_times.h.
 *
 * Invariant: the arrays are sorted by time, so those that ended before a moment are a prefix of
 * `end`, and those that begin after a moment a suffix of `begin` and of `call`.  A distance below
 * the drift counts as none, which keeps both properties.
 */
#include "decide/lazy/update_times.h"

#include <assert.h>

#include "base/search.h"
#include "base/sort.h"

static bool far_enough(uint64_t drift, int64_t end, int64_t begin)
{
    return end < begin && (uint64_t)begin - (uint64_t)end >= drift;
}

/* The stamps of one kind by time; writing: of the updates only. */
static timed_node *sort_times(const asg *g, enum stamp_kind kind, bool writing, uint32_t *n)
{
    mem *m = g->m;
    timed_node *all = mem_array(m, timed_node, (size_t)g->nodes + 1);
    timed_node *sorted = mem_array(m, timed_node, (size_t)g->nodes + 1);
    uint64_t *key = mem_array(m, uint64_t, (size_t)g->nodes + 1);
    *n = 0;
    for (node_id v = 0; v < g->nodes; v++) {
        bool wanted = !writing || g->inst_first[v] < g->inst_first[v + 1];
        timed_node x = {0, v};
        if (!wanted || !txn_stamp(g->h, g->node_txn[v], kind, &x.at)) continue;
        key[*n] = sort_key(x.at);
        all[(*n)++] = x;
    }
    uint32_t *rising = sort_by_key(m, key, *n);
    for (uint32_t i = 0; i < *n; i++) {
        sorted[i] = all[rising[i]];
        assert(!i || sorted[i - 1].at <= sorted[i].at);
    }
    mem_put(m, rising);
    mem_put(m, key);
    mem_put(m, all);
    return sorted;
}

update_times *update_times_new(const lazy *z)
{
    if (!(z->p->rt & RT_CB)) return NULL;
    const asg *g = z->g;
    update_times *x = mem_array0(z->m, update_times, 1);
    x->drift = z->p->drift > 0 ? (uint64_t)z->p->drift : 0;
    x->end = sort_times(g, COMMIT_RETURN, true, &x->ends);
    x->begin = sort_times(g, BEGIN_CALL, true, &x->begins);
    x->call = sort_times(g, BEGIN_CALL, false, &x->points);
    x->last = mem_array(z->m, uint32_t, (size_t)x->ends + 1);
    x->first = mem_array(z->m, uint32_t, (size_t)x->begins + 1);
    return x;
}

void update_times_refresh(update_times *x, const lazy *z)
{
    uint32_t high = 0, low = UINT32_MAX;
    for (uint32_t i = 0; i < x->ends; i++) {
        uint32_t at = z->pos[x->end[i].node];
        assert(z->present[x->end[i].node]); /* an unknown outcome has no end */
        if (at > high) high = at;
        x->last[i] = high;
    }
    x->first[x->begins] = UINT32_MAX;
    for (uint32_t i = x->begins; i-- > 0;) {
        uint32_t at = z->pos[x->begin[i].node];
        if (z->present[x->begin[i].node] && at < low) low = at;
        x->first[i] = low;
    }
}

bool update_times_before(const update_times *x, const asg *g, node_id a, node_id b)
{
    int64_t end, begin;
    return txn_stamp(g->h, g->node_txn[a], COMMIT_RETURN, &end) &&
           txn_stamp(g->h, g->node_txn[b], BEGIN_CALL, &begin) && far_enough(x->drift, end, begin);
}

uint32_t update_times_ended(const update_times *x, const asg *g, node_id v)
{
    int64_t begin;
    if (!txn_stamp(g->h, g->node_txn[v], BEGIN_CALL, &begin)) return 0;
    SEARCH_FIRST(uint32_t, i, 0, x->ends, !far_enough(x->drift, x->end[i].at, begin));
    return i;
}

uint32_t update_times_low(const update_times *x, const asg *g, node_id v)
{
    int64_t end;
    if (!txn_stamp(g->h, g->node_txn[v], COMMIT_RETURN, &end)) return UINT32_MAX;
    SEARCH_FIRST(uint32_t, i, 0, x->begins, far_enough(x->drift, end, x->begin[i].at));
    return x->first[i];
}

uint32_t update_times_point(const update_times *x, const asg *g, node_id v)
{
    int64_t end;
    if (!txn_stamp(g->h, g->node_txn[v], COMMIT_RETURN, &end)) return x->points;
    SEARCH_FIRST(uint32_t, i, 0, x->points, far_enough(x->drift, end, x->call[i].at));
    return i;
}
