/*
 * serial_search.c - a serial order by running transactions with backtracking, for ambiguous reads
 * (doc/algorithms/strong.md).
 *
 * Where values come again and again (balances, counters, flags), known edges say little about the
 * order, and a guess that is made of them breaks nearly every read.  But few transactions can run
 * next: those whose predecessors have run, and all of whose reads return what the store holds.  So
 * transactions are run one by one, as a database would.  One that only reads runs as soon as it
 * can, which spoils nothing.  Among those that write the one that helps most is run (turn_of); if
 * none can run, the last such choice is undone and the next one is taken.  States from which the
 * search came back are remembered.
 *
 * A writer is run only if nobody still has to read the version that it overwrites: no certain
 * reader, and no ambiguous one whose value no later version brings.  (Of two that both overwrite
 * what they read the second runs all the same: the solver then finds that contradiction at once.)
 *
 * The search looks at a limited number of transactions; histories in which a wrong choice shows
 * only much later are left to the solver, which starts from the longest run if that had more than
 * half of the events.  The order that it finds is a first order like any other:
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
#define NO_TURN UINT64_MAX

/* Where a writer was chosen: how many events had run, and the turn of the writer tried last. */
typedef struct choice {
    uint32_t height;
    uint64_t turn; /* see turn_of */
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
    uint32_t *wanted; /* per class: ambiguous reads of events in `ready` */
    uint64_t state;   /* a hash of what has run and what the store holds */
    key_set dead;     /* states from which nothing leads on */
    VEC(choice) choices;
    uint32_t *best, best_height; /* a copy of the trail when it was nearly the longest */
} search;

/* The event stands in `ready` from now on, or by UINT32_MAX (counts are modulo 2^32) no more. */
static void count_wanted(search *s, uint32_t e, uint32_t by)
{
    const asg *g = s->g;
    if (e >= s->p->txns || !s->store.class_of) return;
    for (uint32_t ob = g->ob_first[e]; ob < g->ob_first[e + 1]; ob++)
        if (run_store_ambiguous(&s->store, ob))
            s->wanted[s->store.open_class[s->z->open_of[ob]]] += by;
}

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
    s->best = mem_array(m, uint32_t, n);
    s->before = mem_array(m, uint32_t, z->g->insts + 1);
    run_store_start(&s->store, z);
    s->wanted = mem_array0(m, uint32_t, (size_t)s->store.classes + 1);
    for (uint32_t e = 0; e < p->events; e++) {
        s->missing[e] = known->in_start[e + 1] - known->in_start[e];
        if (!s->missing[e]) {
            s->ready[s->readies++] = e;
            count_wanted(s, e, 1);
        }
        if (e < p->txns && p->in[e]) s->left++;
    }
}

static void end_search(search *s)
{
    void *arrays[] = {s->missing, s->ready, s->slot,   s->trail,
                      s->before,  s->best,  s->wanted, s->choices.at};
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
    count_wanted(s, e, UINT32_MAX);
    for (uint32_t i = s->known->out_start[e]; i < s->known->out_start[e + 1]; i++) {
        if (--s->missing[s->known->out[i]]) continue;
        s->ready[s->readies++] = s->known->out[i];
        count_wanted(s, s->known->out[i], 1);
    }
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
    for (uint32_t i = s->known->out_start[e + 1]; i-- > s->known->out_start[e];) {
        if (s->missing[s->known->out[i]]++) continue;
        s->readies--;
        count_wanted(s, s->known->out[i], UINT32_MAX);
    }
    count_wanted(s, e, 1);
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

/* When a writer's turn comes, among those that can run: a writer is better the more of those that
   are ready wait for what it writes, and the fewer for what it overwrites; one whose own reads are
   ambiguous uses the moment.  Then the earlier guess. */
static uint64_t turn_of(const search *s, node_id v)
{
    const asg *g = s->g;
    const run_store *t = &s->store;
    int64_t merit = 0;
    for (uint32_t j = g->inst_first[v]; t->class_of && j < g->inst_first[v + 1]; j++) {
        uint32_t old = run_store_shown(t, g->inst_key[j]), new = t->class_of[j];
        if (old == new) continue;
        if (new != NONE) merit += s->wanted[new];
        if (old != NONE) merit -= s->wanted[old];
        if (t->prior_class[j] != NONE) merit += 2;
    }
    assert(merit < INT32_MAX && merit > -INT32_MAX);
    return (uint64_t)(INT32_MAX - merit) << 32 | s->z->pos[v];
}

/* Where in `ready` the next event to run stands, or NONE: one that changes nothing, or else, with
   *turn, the writer with the first turn from `from` on. */
static uint32_t next_event(search *s, uint64_t from, uint64_t *turn)
{
    asg *g = s->g;
    uint32_t best = NONE;
    *turn = NO_TURN;
    for (uint32_t i = 0; i < s->readies; i++) {
        uint32_t e = s->ready[i];
        if (e >= s->p->txns || !s->p->in[e]) return i;
        s->looks++;
        if (!can_run(s, e)) continue;
        if (g->inst_first[e] == g->inst_first[e + 1]) {
            *turn = NO_TURN;
            return i;
        }
        uint64_t own = turn_of(s, e);
        if (own < from || own >= *turn) continue;
        best = i;
        *turn = own;
    }
    return best;
}

/* Keeps the trail if it is longer than the kept one by a share that makes copying cheap. */
static void keep_trail(search *s)
{
    if (s->height <= s->best_height + s->p->events / 128) return;
    memcpy(s->best, s->trail, s->height * sizeof *s->best);
    s->best_height = s->height;
}

/* Back to the last choice.  Returns the turn from which on writers have not been tried there, or
   NO_TURN if there is no choice left. */
static uint64_t go_back(search *s)
{
    key_set_add(s->z->m, &s->dead, s->state);
    keep_trail(s);
    if (!s->choices.n) return NO_TURN;
    choice c = s->choices.at[--s->choices.n];
    while (s->height > c.height) undo_event(s);
    assert(s->state == c.state);
    return c.turn + 1;
}

/* Without an order of all: the longest run that was kept, and the others after it by their guess,
   which extends the known graph as the run does. */
static void order_by_best(search *s, uint32_t *pos)
{
    uint32_t events = s->p->events, place = s->best_height;
    uint32_t *at = mem_array(s->z->m, uint32_t, (size_t)events + 1);
    memset(pos, 0xff, events * sizeof *pos);
    for (uint32_t i = 0; i < s->best_height; i++) pos[s->best[i]] = i;
    for (uint32_t e = 0; e < events; e++) at[s->z->pos[e]] = e;
    for (uint32_t i = 0; i < events; i++)
        if (pos[at[i]] == NONE) pos[at[i]] = place++;
    assert(place == events);
    mem_put(s->z->m, at);
}

bool lazy_serial_search(lazy *z, const order_graph *known, uint32_t *pos)
{
    search s;
    assert(!z->p->si);
    start_search(&s, z, known);
    uint64_t limit = (uint64_t)LOOKS_EACH * z->p->events + LOOKS_STUCK;
    uint64_t from = 0;
    while (s.left && from != NO_TURN && s.looks < s.most_looks && s.looks < limit) {
        uint64_t turn;
        uint32_t at = next_event(&s, from, &turn);
        bool chosen = turn != NO_TURN;
        guard_tick(z->m->guard);
        if (at == NONE) {
            from = go_back(&s);
            continue;
        }
        if (chosen) {
            choice c = {s.height, turn, s.state};
            vec_push(z->m, &s.choices, c);
        }
        run_event(&s, at);
        from = 0;
        if (chosen && key_set_has(&s.dead, s.state)) from = go_back(&s);
        if (s.height <= s.furthest) continue;
        s.furthest = s.height;
        s.most_looks = s.looks + LOOKS_STUCK;
    }
    bool found = !s.left, far = s.best_height > z->p->events / 2;
    /* What may follow anything stands at the end. */
    for (uint32_t at = 0; found && s.readies; at = 0) run_event(&s, at);
    for (uint32_t i = 0; found && i < s.height; i++) pos[s.trail[i]] = i;
    if (!found && far) order_by_best(&s, pos);
    end_search(&s);
    return found || far;
}
