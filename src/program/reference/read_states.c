/*
 * read_states.c - do the snapshots that a replay chose have moments that fit together?
 */
#include "reference/read_states.h"

#include <assert.h>

#include "base/search.h"
#include "base/sort.h"

static const schedule_times *times_at(const snapshot_replay *r, uint32_t position)
{
    return &r->e->plan->times[r->order[position]];
}

void read_states_init(read_states *t, const snapshot_replay *r)
{
    mem *m = r->e->mem;
    t->n = 0;
    t->answer = mem_array(m, uint64_t, r->n + 1);
    t->tree = mem_array0(m, uint32_t, r->n + 1);
    for (uint32_t i = 0; i < r->n; i++)
        if (times_at(r, i)->known) t->answer[t->n++] = sort_key(times_at(r, i)->seen);
    sort_u64(t->answer, t->n);
}

void read_states_note(read_states *t, const snapshot_replay *r, uint32_t position, uint32_t state)
{
    if (!times_at(r, position)->known) return;
    size_t k = lower_bound_u64(t->answer, t->n, sort_key(times_at(r, position)->seen)) + 1;
    assert(k <= t->n);
    for (; k <= t->n; k += k & -k)
        if (state > t->tree[k]) t->tree[k] = state;
}

uint32_t read_states_least(const read_states *t, const snapshot_replay *r, uint32_t position)
{
    uint32_t least = 0;
    if (!times_at(r, position)->known) return 0;
    int64_t before = times_at(r, position)->begin - r->e->plan->drift;
    for (size_t k = lower_bound_u64(t->answer, t->n, sort_key(before)); k; k -= k & -k)
        if (t->tree[k] > least) least = t->tree[k];
    return least;
}

void read_states_free(read_states *t, const snapshot_replay *r)
{
    mem_put(r->e->mem, t->answer);
    mem_put(r->e->mem, t->tree);
}

bool snapshots_fit(const snapshot_replay *r)
{
    read_states t;
    bool fit = true;
    read_states_init(&t, r);
    for (uint32_t i = 0; i < r->n; i++) read_states_note(&t, r, i, r->first_read[i]);
    for (uint32_t i = 0; i < r->n && fit; i++)
        fit = r->first_read[i] >= read_states_least(&t, r, i);
    read_states_free(&t, r);
    return fit;
}
