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
 */
#include <assert.h>

#include "decide/lazy/serial_run.h"

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
    serial_run run;
    uint64_t looks, most_looks; /* looked at so far, and the limit as things stand */
    uint32_t furthest;          /* the most events that ever had run */
    key_set dead;               /* states from which nothing leads on */
    VEC(choice) choices;
    uint32_t *best, best_height; /* a copy of the trail when it was nearly the longest */
} search;

/* --- choosing --------------------------------------------------------------------------------- */

/* When a writer's turn comes, among those that can run: a writer is better the more of those that
   are ready wait for what it writes, and the fewer for what it overwrites; one whose own reads are
   ambiguous uses the moment.  Then the earlier guess. */
static uint64_t turn_of(const search *s, node_id v)
{
    int64_t merit = serial_run_merit(&s->run, v);
    return (uint64_t)(INT32_MAX - merit) << 32 | s->run.z->pos[v];
}

/* Where in `ready` the next event to run stands, or NONE: one that changes nothing, or else, with
   *turn, the writer with the first turn from `from` on. */
static uint32_t next_event(search *s, uint64_t from, uint64_t *turn)
{
    const serial_run *r = &s->run;
    uint32_t best = NONE;
    *turn = NO_TURN;
    for (uint32_t i = 0; i < r->readies; i++) {
        uint32_t e = r->ready[i];
        if (serial_run_idle(r, e)) return i;
        s->looks++;
        if (!serial_run_can(r, e)) continue;
        if (!serial_run_writes(r, e)) {
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
    const serial_run *r = &s->run;
    if (r->height <= s->best_height + r->p->events / 128) return;
    memcpy(s->best, r->trail, r->height * sizeof *s->best);
    s->best_height = r->height;
}

/* Back to the last choice.  Returns the turn from which on writers have not been tried there, or
   NO_TURN if there is no choice left. */
static uint64_t go_back(search *s)
{
    key_set_add(s->run.z->m, &s->dead, s->run.state);
    keep_trail(s);
    if (!s->choices.n) return NO_TURN;
    choice c = s->choices.at[--s->choices.n];
    while (s->run.height > c.height) serial_run_undo(&s->run);
    assert(s->run.state == c.state);
    return c.turn + 1;
}

uint32_t lazy_serial_search(lazy *z, const order_graph *known, uint32_t *pos)
{
    search s = {0};
    serial_run *r = &s.run;
    serial_run_start(r, z, known);
    s.most_looks = serial_run_patience(r, 0, LOOKS_STUCK);
    s.best = mem_array(z->m, uint32_t, (size_t)z->p->events + 1);
    uint64_t limit = (uint64_t)LOOKS_EACH * z->p->events + LOOKS_STUCK;
    uint64_t from = 0;
    while (r->left && from != NO_TURN && s.looks < s.most_looks && s.looks < limit) {
        uint64_t turn;
        uint32_t at = next_event(&s, from, &turn);
        bool chosen = turn != NO_TURN;
        guard_tick(z->m->guard);
        if (at == NONE) {
            from = go_back(&s);
            continue;
        }
        if (chosen) {
            choice c = {r->height, turn, r->state};
            vec_push(z->m, &s.choices, c);
        }
        serial_run_event(r, at);
        from = 0;
        if (chosen && key_set_has(&s.dead, r->state)) from = go_back(&s);
        if (r->height <= s.furthest) continue;
        s.furthest = r->height;
        s.most_looks = s.looks + serial_run_patience(r, s.furthest, LOOKS_STUCK);
    }
    bool found = !r->left;
    uint32_t ran = found ? z->p->events : s.best_height;
    if (found)
        serial_run_order(r, r->trail, r->height, pos); /* what may follow anything, at the end */
    else if (ran > z->p->events / 2)
        serial_run_order(r, s.best, ran, pos);
    mem_put(z->m, s.best);
    vec_free(z->m, &s.choices);
    key_set_free(z->m, &s.dead);
    serial_run_end(r);
    return ran;
}
