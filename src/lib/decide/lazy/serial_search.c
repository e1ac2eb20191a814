/*
 * serial_search.c - a serial order by running transactions with backtracking, for ambiguous reads
 * (doc/algorithms/strong.md).
 *
 * Where values come again and again (balances, counters, flags), known edges say little about the
 * order, and a guess that is made of them breaks nearly every read.  But few transactions can run
 * next: those whose predecessors have run, and all of whose reads return what the store holds.  So
 * transactions are run one by one, as a database would.  One that only reads runs as soon as it
 * can, which spoils nothing.  Among those that write the one with the earliest guess is run; if
 * none can run, the last such choice is undone and the next one is taken.  States from which the
 * search came back are remembered.
 *
 * A writer is run only if nobody still has to read the version that it overwrites: no certain
 * reader, and no ambiguous one whose value no later version brings.  (Of two that both overwrite
 * what they read the second runs all the same: the solver then finds that contradiction at once.)
 *
 * The search looks at a limited number of transactions; histories in which a wrong choice shows
 * only much later are left to the solver.  The order that it finds is a first order like any other:
 * it extends the known graph, and is replayed.
 *
 * Invariant: undoing restores every array to what it was, element by element; `ready` holds the
 * events all of whose predecessors have run and which have not run.
 */
#include <assert.h>

#include "base/hash.h"
#include "decide/lazy/run_store.h"

/* How many events may be looked at: for each event of the history, and until one more has run than
   ever before.  Where a contradiction is in the way, the second limit ends the search soon. */
#define LOOKS_EACH 4000u
#define LOOKS_STUCK 1000000u

/* Where a writer was chosen: how many events had run, and the guess of the writer tried last. */
typedef struct choice {
    uint32_t height, rank;
    uint64_t state;
} choice;

typedef struct search {
    lazy *z;
    asg *g;
    order_problem *p;
    const order_graph *known;
    uint64_t looks, most_looks; /* looked at so far, and the limit as things stand */
    uint32_t furthest;          /* the most events that ever had run */
    uint32_t *missing;          /* per event: predecessors that have not run */
    uint32_t *ready, readies;
    uint32_t *slot;          /* per event that has run: where in `ready` it stood */
    uint32_t *trail, height; /* events that have run */
    uint32_t left;           /* transactions that must run and have not */
    run_store store;
    uint32_t *before; /* per install that has run: the version that it overwrote */
    uint64_t state;   /* a hash of what has run and what the store holds */
    key_set dead;     /* states from which nothing leads on */
    VEC(choice) choices;
} search;

static void start_search(search *s, lazy *z, const order_graph *known)
{
    order_problem *p = z->p;
    mem *m = z->m;
    size_t n = (size_t)p->events + 1;
    *s = (search){.z = z, .g = z->g, .p = p, .known = known};
    s->most_looks = LOOKS_STUCK;
    s->missing = mem_array(m, uint32_t, n);
    s->ready = mem_array(m, uint32_t, n);
    s->slot = mem_array(m, uint32_t, n);
    s->trail = mem_array(m, uint32_t, n);
    s->before = mem_array(m, uint32_t, z->g->insts + 1);
    run_store_start(&s->store, z);
    for (uint32_t e = 0; e < p->events; e++) {
        s->missing[e] = known->in_start[e + 1] - known->in_start[e];
        if (!s->missing[e]) s->ready[s->readies++] = e;
        if (e < p->txns && p->in[e]) s->left++;
    }
}

static void end_search(search *s)
{
    void *arrays[] = {s->missing, s->ready, s->slot, s->trail, s->before, s->choices.at};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(s->z->m, arrays[i]);
    key_set_free(s->z->m, &s->dead);
    run_store_end(&s->store);
}

/* --- running and undoing ---------------------------------------------------------------------- */

/* What has run counts by itself; of the store only values count, since later reads see no more. */
static uint64_t event_hash(uint32_t e)
{
    return hash_u64(map_pair(NONE, e));
}

static uint64_t version_hash(const search *s, key_id k, uint32_t j)
{
    uint64_t value = j == NONE ? 0 : (uint64_t)s->g->inst_value[j] + 1;
    return hash_u64(hash_u64(k) + value);
}

static void run_event(search *s, uint32_t at)
{
    asg *g = s->g;
    uint32_t e = s->ready[at];
    assert(!s->missing[e]);
    s->ready[at] = s->ready[--s->readies];
    s->slot[e] = at;
    s->trail[s->height++] = e;
    s->state ^= event_hash(e);
    for (uint32_t i = s->known->out_start[e]; i < s->known->out_start[e + 1]; i++)
        if (!--s->missing[s->known->out[i]]) s->ready[s->readies++] = s->known->out[i];
    if (e >= s->p->txns || !s->p->in[e]) return;
    s->left--;
    for (uint32_t ob = g->ob_first[e]; ob < g->ob_first[e + 1]; ob++)
        run_store_read(&s->store, ob, false);
    for (uint32_t j = g->inst_first[e]; j < g->inst_first[e + 1]; j++) {
        key_id k = g->inst_key[j];
        s->before[j] = s->store.version[k];
        s->state ^= version_hash(s, k, s->before[j]) ^ version_hash(s, k, j);
        run_store_write(&s->store, j);
    }
}

static void undo_event(search *s)
{
    asg *g = s->g;
    uint32_t e = s->trail[--s->height];
    s->state ^= event_hash(e);
    for (uint32_t i = s->known->out_start[e + 1]; i-- > s->known->out_start[e];)
        if (!s->missing[s->known->out[i]]++) s->readies--;
    s->ready[s->readies++] = s->ready[s->slot[e]];
    s->ready[s->slot[e]] = e;
    if (e >= s->p->txns || !s->p->in[e]) return;
    s->left++;
    for (uint32_t j = g->inst_first[e + 1]; j-- > g->inst_first[e];) {
        key_id k = g->inst_key[j];
        s->state ^= version_hash(s, k, s->before[j]) ^ version_hash(s, k, j);
        run_store_unwrite(&s->store, j, s->before[j]);
    }
    for (uint32_t ob = g->ob_first[e]; ob < g->ob_first[e + 1]; ob++)
        run_store_read(&s->store, ob, true);
}

/* --- choosing --------------------------------------------------------------------------------- */

/* Do the reads of v return what the store holds, and may what it overwrites go? */
static bool can_run(search *s, node_id v)
{
    asg *g = s->g;
    if (run_store_missed(&s->store, v) != NONE) return false;
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
        if (run_store_unread(&s->store, j)) return false;
    return true;
}

/* Where in `ready` the next event to run stands, or NONE: one that changes nothing, or else, with
   *chosen, the writer with the earliest guess after `rank`. */
static uint32_t next_event(search *s, uint32_t after, bool *chosen)
{
    asg *g = s->g;
    uint32_t best = NONE, best_rank = 0;
    *chosen = false;
    for (uint32_t i = 0; i < s->readies; i++) {
        uint32_t e = s->ready[i], rank = s->z->pos[e];
        if (e >= s->p->txns || !s->p->in[e]) return i;
        bool writes = g->inst_first[e] < g->inst_first[e + 1];
        if (writes && (rank < after || (best != NONE && rank > best_rank))) continue;
        s->looks++;
        if (!can_run(s, e)) continue;
        if (!writes) return i;
        best = i;
        best_rank = rank;
    }
    *chosen = best != NONE;
    return best;
}

/* Back to the last choice.  Returns the guess from which on writers have not been tried there, or
   NONE if there is no choice left. */
static uint32_t go_back(search *s)
{
    key_set_add(s->z->m, &s->dead, s->state);
    if (!s->choices.n) return NONE;
    choice c = s->choices.at[--s->choices.n];
    while (s->height > c.height) undo_event(s);
    assert(s->state == c.state);
    return c.rank + 1;
}

bool lazy_serial_search(lazy *z, const order_graph *known, uint32_t *pos)
{
    search s;
    assert(!z->p->si);
    start_search(&s, z, known);
    uint64_t limit = (uint64_t)LOOKS_EACH * z->p->events + LOOKS_STUCK;
    uint32_t after = 0;
    while (s.left && after != NONE && s.looks < s.most_looks && s.looks < limit) {
        bool chosen;
        uint32_t at = next_event(&s, after, &chosen);
        guard_tick(z->m->guard);
        if (at == NONE) {
            after = go_back(&s);
            continue;
        }
        if (chosen) {
            choice c = {s.height, z->pos[s.ready[at]], s.state};
            vec_push(z->m, &s.choices, c);
        }
        run_event(&s, at);
        after = 0;
        if (chosen && key_set_has(&s.dead, s.state)) after = go_back(&s);
        if (s.height <= s.furthest) continue;
        s.furthest = s.height;
        s.most_looks = s.looks + LOOKS_STUCK;
    }
    bool found = !s.left;
    /* What may follow anything stands at the end. */
    for (uint32_t at = 0; found && s.readies; at = 0) run_event(&s, at);
    for (uint32_t i = 0; found && i < s.height; i++) pos[s.trail[i]] = i;
    end_search(&s);
    return found;
}
