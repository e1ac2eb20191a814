/*
 * reorder.c - moves commits that the log has in the wrong order.
 *
 * A timestamp is taken before its commit is seen by others.  Where a transaction has no snapshot,
 * the rows that it saw are asked: it saw what y wrote, and not what x wrote, though x stands before
 * y.  Then x goes after y, or y before x, as far as their commits overlap (any two may change
 * places at levels that know no real time), and the replay goes on from there.
 */
#include "audit/reorder.h"

#include <assert.h>

#include "audit/snapshot_moments.h"
#include "audit/txn_order.h"

#define MOST_TRIES 4000 /* to explain a transaction row by row */
#define MOST_MOVES 4u   /* of one transaction */
#define SOON 64u        /* a repair that was wrong shows within so many positions */

typedef struct repair {
    engine *e;
    bool *any;      /* for engine.by_row */
    uint8_t *moves; /* by transaction */
    uint32_t x, y;  /* the last one: states */
    bool other_left;
} repair;

static outcome explain(engine *e, trial *t, uint32_t position, int most)
{
    assert(most > 0 && !t->choices.n && !e->store.undo.n);
    outcome r = engine_run(e, t, position);
    for (int i = 0; i < most && (r == RUN_MISMATCH || r == RUN_CONFLICT); i++) {
        if (!engine_advance(e, t)) break;
        r = engine_run(e, t, position);
    }
    return r;
}

/* The state that wrote what was read, and the one that wrote the next version (0: none). */
static void around(const engine *e, const row_read *w, uint32_t *from, uint32_t *to)
{
    const table *t = e->store.tables.at[w->table];
    assert(w->table < e->store.tables.n && w->row < t->rows.n);
    *from = *to = 0;
    for (const row_version *v = t->rows.at[w->row].head; v; v = v->older) {
        if (v->commit <= w->state) {
            *from = v->commit;
            return;
        }
        *to = v->commit;
    }
}

/* A transaction that was read, and an earlier one that was not. */
static bool misplaced(repair *p, uint32_t position, uint32_t *x, uint32_t *y)
{
    engine *e = p->e;
    trial t = {.txn = e->order.at[position]};
    audit_mode mode = e->run.mode;
    write_rule rule = e->run.rule;
    e->run.mode = MODE_ROW;
    e->run.rule = WRITE_FREE;
    e->hooks.by_row = p->any;
    e->hooks.row_reads.n = 0;
    e->store.horizon = position > SOON ? position - SOON : 0; /* older rows are as they are */
    outcome r = explain(e, &t, position, MOST_TRIES);
    e->store.horizon = 0;
    if (r == RUN_OK) vs_rollback(&e->store, 0);
    e->hooks.by_row = NULL;
    e->run.mode = mode;
    e->run.rule = rule;
    vec_free(e->mem, &t.choices);
    vec_free(e->mem, &t.reached);
    if (r != RUN_OK) return false;
    uint32_t high =
        e->order.low[position]; /* answered before it began: it must have seen that, too */
    for (size_t i = 0; i < e->hooks.row_reads.n;) {
        size_t end = i;
        uint32_t low = UINT32_MAX, from, to;
        for (; end < e->hooks.row_reads.n; end++) {
            if (mode == MODE_STATEMENT &&
                e->hooks.row_reads.at[end].stmt != e->hooks.row_reads.at[i].stmt)
                break;
            around(e, &e->hooks.row_reads.at[end], &from, &to);
            if (from > high) high = from;
            if (to && to < low) low = to;
        }
        if (low < high) {
            *x = low;
            *y = high;
            return true;
        }
        i = end;
    }
    return false;
}

/* May state x come after y (back: may y come before x)? */
static bool may_move(const repair *p, uint32_t x, uint32_t y, bool back)
{
    assert(x && x < y && y <= p->e->order.n);
    const engine *e = p->e;
    for (uint32_t z = x; z < y; z++) {
        uint32_t early = back ? e->order.at[z - 1] : e->order.at[x - 1];
        uint32_t late = back ? e->order.at[y - 1] : e->order.at[z];
        bool same = e->log->txns.at[early].session == e->log->txns.at[late].session;
        if (e->level.strict ? !order_may_swap(e, early, late) : same) return false;
    }
    return true;
}

/* Puts x after y, or (back) y before x. */
static void rotate(engine *e, uint32_t x, uint32_t y, bool back)
{
    assert(x && x < y && y <= e->order.n);
    uint32_t *o = e->order.at, first = o[x - 1], last = o[y - 1];
    if (back) {
        memmove(o + x, o + x - 1, (y - x) * sizeof *o);
        o[x - 1] = last;
    } else {
        memmove(o + x - 1, o + x, (y - x) * sizeof *o);
        o[y - 1] = first;
    }
    order_windows(e);
}

static uint32_t back_to(engine *e, uint32_t position, uint32_t state)
{
    while (position >= state) vs_uncommit(&e->store, position--);
    assert(position + 1 == state || position < state);
    return position;
}

/* Changes the order; the position to go on from, or UINT32_MAX. */
static uint32_t mend(repair *p, uint32_t position)
{
    engine *e = p->e;
    uint32_t x = 0, y = 0;
    bool found_pair = misplaced(p, position, &x, &y);
    if (found_pair && p->moves[e->order.at[x - 1]] < MOST_MOVES && may_move(p, x, y, false)) {
        p->moves[e->order.at[x - 1]]++;
        p->other_left = may_move(p, x, y, true);
        position = back_to(e, position, x);
        rotate(e, x, y, false);
        p->x = x;
        p->y = y;
        return position;
    }
    if (found_pair && p->moves[e->order.at[y - 1]] < MOST_MOVES && may_move(p, x, y, true)) {
        p->moves[e->order.at[y - 1]]++;
        p->other_left = false;
        position = back_to(e, position, x);
        rotate(e, x, y, true);
        return position;
    }
    if (!p->other_left || position > p->y + SOON) return UINT32_MAX;
    p->other_left = false;
    position = back_to(e, position, p->x);
    rotate(e, p->x, p->y, true); /* x is first again */
    rotate(e, p->x, p->y, true);
    return position;
}

static found go(repair *p)
{
    engine *e = p->e;
    for (uint32_t i = 0; i < e->order.n;) {
        trial t = {.txn = e->order.at[i]};
        e->run.low = e->order.low[i];
        e->run.high = e->order.high[i];
        outcome r = explain(e, &t, i, MOST_TRIES);
        assert(e->store.log_from.n == i); /* states 1 to i have committed */
        vec_free(e->mem, &t.choices);
        vec_free(e->mem, &t.reached);
        if (r == RUN_REFUSED) return FOUND_REFUSED;
        if (r == RUN_OK) {
            vs_commit(&e->store, ++i);
            e->order.state_name[i] = e->log->txns.at[t.txn].id;
            continue;
        }
        i = mend(p, i);
        if (i == UINT32_MAX || e->effort.runs >= e->effort.max_runs) return FOUND_CUT;
    }
    uint32_t early, late;
    return moments_matter(e) && !moments_fit(e, NULL, e->order.n, &early, &late) ? FOUND_CUT
                                                                                 : FOUND_YES;
}

found repair_order(engine *e)
{
    repair p = {.e = e};
    uint32_t *given = mem_array(e->mem, uint32_t, e->order.n + 1), n = e->order.n;
    memcpy(given, e->order.at, n * sizeof *given);
    p.any = mem_array0(e->mem, bool, n + 1);
    p.moves = mem_array0(e->mem, uint8_t, e->log->txns.n + 1);
    e->exploring = false;
    e->effort.window = UINT32_MAX;
    e->effort.cut = false;
    engine_reset(e);
    e->store.searching = true;
    found r = go(&p);
    if (r != FOUND_YES) {
        memcpy(e->order.at, given, n * sizeof *given);
        order_windows(e);
    }
    mem_put(e->mem, given);
    mem_put(e->mem, p.any);
    mem_put(e->mem, p.moves);
    return r == FOUND_REFUSED ? FOUND_CUT : r;
}
