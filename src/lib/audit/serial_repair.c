/*
 * serial_repair.c - replays a serial order, and mends it where a transaction does not fit.
 *
 * The edges that a replay of the commits shows (depend.c) do not tell everything: rows that were
 * inserted long after a condition was asked, edges over many positions, keys that were found taken.
 * Where the serial replay fails, it is known what the transaction has seen, since a snapshot of the
 * commits explains it: what others wrote up to that snapshot and nothing later.  So it is run once
 * more with an eye on the rows that it looks at: whoever wrote one of them after the snapshot must
 * come after it, and each such fact is an edge more.  A topological order that is kept up while
 * edges come (solve/order.h, after Pearce and Kelly) moves the few nodes between the two ends, the
 * states from the first of these on are taken back, and the replay goes on from there.
 *
 * Invariant: the order always extends the edges that were given, so that sessions and real time are
 * never broken.  An edge too many does no harm to the answer: an order counts when it has been
 * replayed, and what cannot be mended is left to others.
 */
#include "audit/serial_repair.h"

#include <assert.h>

#include "audit/txn_order.h"

#define MOST_WAYS 64  /* to run a transaction, where the planner chose rows */
#define MOST_MENDS 64 /* of one transaction */
#define REACH 4096u   /* positions that are looked at for what a transaction should have seen */

typedef struct repair {
    engine *e;
    const serial_nodes *nodes;
    order *o;
    uint8_t *mends; /* by node */
    pair_list wanted;
} repair;

static outcome run_node(repair *p, trial *t, uint32_t position)
{
    engine *e = p->e;
    assert(e->run.mode == MODE_LATEST && !e->store.undo.n);
    outcome r = engine_run(e, t, position);
    for (int i = 0; i < MOST_WAYS && (r == RUN_MISMATCH || r == RUN_CONFLICT); i++) {
        if (!engine_advance(e, t)) break;
        r = engine_run(e, t, position);
    }
    return r;
}

static void want(repair *p, uint32_t from, uint32_t to)
{
    assert(from != to && from < p->nodes->n && to < p->nodes->n);
    vec_push(p->e->mem, &p->wanted, ((order_pair){from, to}));
}

/* Who wrote what the transaction looks at although it has not seen it must come after it. */
static void want_unseen(repair *p, trial *t, uint32_t position)
{
    engine *e = p->e;
    uint32_t me = order_at(p->o, position);
    e->hooks.watches = true;
    outcome r = engine_run(e, t, position);
    e->hooks.watches = false;
    if (r == RUN_OK) vs_rollback(&e->store, 0);
    for (size_t i = 0; i < e->hooks.looks.n; i++) {
        uint32_t after = e->hooks.looks.at[i].after;
        assert(after <= position);
        uint32_t writer = after ? order_at(p->o, after - 1) : me;
        if (writer != me && writer >= p->nodes->state[me]) want(p, me, writer);
    }
}

/* No row tells (a key was found taken, or a row is missing): the transaction goes after all that it
   may have seen and before all that it has not, as far as other edges let it. */
static void want_neighbours(repair *p, uint32_t position)
{
    uint32_t me = order_at(p->o, position), n = p->nodes->n;
    uint32_t seen = p->nodes->state[me];
    uint32_t end = n - position > REACH ? position + REACH : n;
    for (uint32_t q = position + 1; q < end; q++)
        if (order_at(p->o, q) < seen) want(p, order_at(p->o, q), me);
    for (uint32_t q = position; q-- > 0 && position - q < REACH;)
        if (order_at(p->o, q) >= seen) want(p, me, order_at(p->o, q));
}

/* Inserts what is wanted; the first position that changed, UINT32_MAX if none did. */
static uint32_t insert_wanted(repair *p)
{
    uint32_t first = UINT32_MAX;
    size_t n;
    order_moved_clear(p->o);
    for (size_t i = 0; i < p->wanted.n; i++) {
        guard_tick(p->e->guard);
        order_fix(p->o, p->wanted.at[i].from, p->wanted.at[i].to); /* unless it closes a cycle */
    }
    p->wanted.n = 0;
    const order_move *moved = order_moved(p->o, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t now = order_pos(p->o, moved[i].node);
        if (now == moved[i].was) continue;
        if (now < first) first = now;
        if (moved[i].was < first) first = moved[i].was;
    }
    return first;
}

/* The transaction at the position does not fit.  Changes the order; the position to go on from, or
   UINT32_MAX. */
static uint32_t mend(repair *p, trial *t, uint32_t position)
{
    engine *e = p->e;
    uint32_t me = order_at(p->o, position);
    if (p->mends[me] >= MOST_MENDS) return UINT32_MAX;
    p->mends[me]++;
    want_unseen(p, t, position);
    uint32_t first = insert_wanted(p);
    if (first > position) {
        want_neighbours(p, position);
        uint32_t other = insert_wanted(p);
        if (other < first) first = other;
    }
    if (first == UINT32_MAX) return first;
    while (position > first) vs_uncommit(&e->store, position--);
    return position;
}

static found replay_and_mend(repair *p, uint32_t *stuck)
{
    engine *e = p->e;
    for (uint32_t i = 0; i < p->nodes->n;) {
        trial t = {.txn = p->nodes->txn[order_at(p->o, i)]};
        assert(e->store.log_from.n == i); /* states 1 to i have committed */
        outcome r = run_node(p, &t, i);
        uint32_t from = i + 1;
        if (r == RUN_OK) {
            vs_commit(&e->store, i + 1);
            e->order.state_name[i + 1] = e->log->txns.at[t.txn].id;
        } else if (r != RUN_REFUSED) {
            e->effort.stuck = i;
            *stuck = order_at(p->o, i);
            from = e->effort.runs < e->effort.max_runs ? mend(p, &t, i) : UINT32_MAX;
        }
        vec_free(e->mem, &t.choices);
        vec_free(e->mem, &t.reached);
        if (r == RUN_REFUSED) return FOUND_REFUSED;
        if (from == UINT32_MAX) return FOUND_CUT;
        i = from;
    }
    return FOUND_YES;
}

/* The first position that real time does not allow, UINT32_MAX if there is none.  The edges say so
   already; this is another way to see it. */
static uint32_t out_of_time(engine *e)
{
    order_windows(e);
    for (uint32_t i = 0; e->level.strict && i < e->order.n; i++)
        if (e->order.low[i] > i) return i;
    return UINT32_MAX;
}

found serial_repair(engine *e, const serial_nodes *nodes, const pair_list *edges, uint32_t *at,
                    uint32_t *stuck)
{
    repair p = {.e = e, .nodes = nodes};
    order_graph g;
    uint32_t *pos = mem_array(e->mem, uint32_t, nodes->n + 1);
    for (uint32_t i = 0; i < nodes->n; i++) pos[at[i]] = i;
    order_graph_build(e->mem, nodes->n, edges->at, edges->n, &g);
    p.o = order_new(e->mem, nodes->n, &g, pos);
    p.mends = mem_array0(e->mem, uint8_t, nodes->n + 1);
    e->run.mode = MODE_LATEST;
    e->run.rule = WRITE_FREE;
    e->exploring = false;
    e->effort.window = UINT32_MAX;
    e->effort.cut = false;
    engine_reset(e);
    e->store.searching = true;
    found r = replay_and_mend(&p, stuck);
    for (uint32_t i = 0; i < nodes->n; i++) {
        at[i] = order_at(p.o, i);
        e->order.at[i] = nodes->txn[at[i]];
    }
    uint32_t wrong = r == FOUND_YES ? out_of_time(e) : UINT32_MAX;
    if (wrong != UINT32_MAX) *stuck = at[wrong], r = FOUND_CUT;
    order_free(p.o);
    depend_graph_free(e->mem, &g);
    mem_put(e->mem, pos);
    mem_put(e->mem, p.mends);
    vec_free(e->mem, &p.wanted);
    return r;
}
