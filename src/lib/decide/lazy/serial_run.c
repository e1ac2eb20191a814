/*
 * serial_run.c - see serial_run.h.
 */
#include "decide/lazy/serial_run.h"

#include <assert.h>

#include "base/hash.h"

/* The event stands in `ready` from now on, or by UINT32_MAX (counts are modulo 2^32) no more. */
static void count_wanted(serial_run *s, uint32_t e, uint32_t by)
{
    const asg *g = s->g;
    if (e >= s->p->txns || !s->store.class_of) return;
    for (uint32_t ob = g->ob_first[e]; ob < g->ob_first[e + 1]; ob++) {
        if (!run_store_ambiguous(&s->store, ob)) continue;
        uint32_t c = s->store.open_class[s->z->open_of[ob]];
        s->wanted[c] += by;
        if (run_store_shown(&s->store, g->ob_key[ob]) != c) s->misses += by == 1 ? 1 : UINT64_MAX;
    }
}

static void become_ready(serial_run *s, uint32_t e)
{
    s->slot[e] = s->readies;
    s->ready[s->readies++] = e;
    count_wanted(s, e, 1);
}

void serial_run_start(serial_run *s, lazy *z, const order_graph *known)
{
    order_problem *p = z->p;
    mem *m = z->m;
    size_t n = (size_t)p->events + 1;
    assert(!p->si);
    *s = (serial_run){.z = z, .g = z->g, .p = p, .known = known};
    s->missing = mem_array(m, uint32_t, n);
    s->ready = mem_array(m, uint32_t, n);
    s->slot = mem_array(m, uint32_t, n);
    s->trail = mem_array(m, uint32_t, n);
    s->before = mem_array(m, uint32_t, z->g->insts + 1);
    run_store_start(&s->store, z);
    s->wanted = mem_array0(m, uint32_t, (size_t)s->store.classes + 1);
    for (uint32_t e = 0; e < p->events; e++) {
        s->missing[e] = known->in_start[e + 1] - known->in_start[e];
        if (!s->missing[e]) become_ready(s, e);
        if (e < p->txns && p->in[e]) s->left++;
    }
}

void serial_run_end(serial_run *s)
{
    void *arrays[] = {s->missing, s->ready, s->slot, s->trail, s->before, s->wanted};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(s->z->m, arrays[i]);
    run_store_end(&s->store);
}

/* --- running and undoing ---------------------------------------------------------------------- */

/* What has run counts by itself; of the store only values count, since later reads see no more. */
static uint64_t event_hash(uint32_t e)
{
    return hash_u64(map_pair(NONE, e));
}

static uint64_t shown_hash(const serial_run *s, key_id k)
{
    const run_store *t = &s->store;
    uint32_t j = t->version[k];
    uint64_t value = j == NONE ? 0 : (uint64_t)s->g->inst_value[j] + 1;
    if (t->has_lists && t->lists.searched[k]) value = (uint64_t)t->lists.now[k] + 1;
    return hash_u64(hash_u64(k) + value);
}

/* The store shows another class of a key: from `old` to `new`. */
static void change_shown(serial_run *s, uint32_t old, uint32_t new)
{
    if (old == new) return;
    if (old != NONE) s->misses += s->wanted[old];
    if (new != NONE) s->misses -= s->wanted[new];
}

void serial_run_event(serial_run *s, uint32_t at)
{
    asg *g = s->g;
    uint32_t e = s->ready[at], last = s->ready[--s->readies];
    assert(!s->missing[e] && s->slot[e] == at);
    s->ready[at] = last;
    if (last != e) s->slot[last] = at;
    s->trail[s->height++] = e;
    s->state ^= event_hash(e);
    count_wanted(s, e, UINT32_MAX);
    for (uint32_t i = s->known->out_start[e]; i < s->known->out_start[e + 1]; i++)
        if (!--s->missing[s->known->out[i]]) become_ready(s, s->known->out[i]);
    if (serial_run_idle(s, e)) return;
    s->left--;
    for (uint32_t ob = g->ob_first[e]; ob < g->ob_first[e + 1]; ob++)
        run_store_read(&s->store, ob, false);
    for (uint32_t j = g->inst_first[e]; j < g->inst_first[e + 1]; j++) {
        key_id k = g->inst_key[j];
        uint32_t old = run_store_shown(&s->store, k);
        s->before[j] = s->store.version[k];
        s->state ^= shown_hash(s, k);
        run_store_write(&s->store, j);
        s->state ^= shown_hash(s, k);
        change_shown(s, old, run_store_shown(&s->store, k));
    }
}

void serial_run_undo(serial_run *s)
{
    asg *g = s->g;
    assert(s->height);
    uint32_t e = s->trail[--s->height];
    s->state ^= event_hash(e);
    if (!serial_run_idle(s, e)) {
        s->left++;
        for (uint32_t j = g->inst_first[e + 1]; j-- > g->inst_first[e];) {
            key_id k = g->inst_key[j];
            uint32_t old = run_store_shown(&s->store, k);
            s->state ^= shown_hash(s, k);
            run_store_unwrite(&s->store, j, s->before[j]);
            s->state ^= shown_hash(s, k);
            change_shown(s, old, run_store_shown(&s->store, k));
        }
        for (uint32_t ob = g->ob_first[e]; ob < g->ob_first[e + 1]; ob++)
            run_store_read(&s->store, ob, true);
    }
    for (uint32_t i = s->known->out_start[e + 1]; i-- > s->known->out_start[e];) {
        if (s->missing[s->known->out[i]]++) continue;
        s->readies--;
        count_wanted(s, s->known->out[i], UINT32_MAX);
    }
    uint32_t at = s->slot[e];
    if (at < s->readies) {
        s->slot[s->ready[at]] = s->readies;
        s->ready[s->readies] = s->ready[at];
    }
    assert(at <= s->readies);
    s->readies++;
    s->ready[at] = e;
    count_wanted(s, e, 1);
}

/* --- asking ----------------------------------------------------------------------------------- */

bool serial_run_can(const serial_run *s, node_id v)
{
    const asg *g = s->g;
    if (run_store_missed(&s->store, v) != NONE) return false;
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
        if (run_store_unread(&s->store, j)) return false;
    return true;
}

int64_t serial_run_merit(const serial_run *s, node_id v)
{
    const asg *g = s->g;
    const run_store *t = &s->store;
    int64_t merit = 0;
    for (uint32_t j = g->inst_first[v]; t->class_of && j < g->inst_first[v + 1]; j++) {
        uint32_t old = run_store_shown(t, g->inst_key[j]), new = run_store_next(t, j);
        if (old == new) continue;
        if (new != NONE) merit += s->wanted[new];
        if (old != NONE) merit -= s->wanted[old];
        if (t->prior_class[j] != NONE) merit += 2;
    }
    assert(merit < INT32_MAX && merit > -INT32_MAX);
    return merit;
}

void serial_run_order(const serial_run *s, const uint32_t *first, uint32_t n, uint32_t *pos)
{
    uint32_t events = s->p->events, place = n;
    uint32_t *at = mem_array(s->z->m, uint32_t, (size_t)events + 1);
    memset(pos, 0xff, events * sizeof *pos);
    for (uint32_t i = 0; i < n; i++) pos[first[i]] = i;
    for (uint32_t e = 0; e < events; e++) at[s->z->pos[e]] = e;
    for (uint32_t i = 0; i < events; i++)
        if (pos[at[i]] == NONE) pos[at[i]] = place++;
    assert(place == events);
    mem_put(s->z->m, at);
}
