/*
 * reorder.c - moves commits that the log has in the wrong order.
 *
 * A timestamp is taken before its commit is seen by others.  Where a transaction has no snapshot,
 * the rows that it saw are asked: it saw what y wrote, and not what x wrote, though x stands before
 * y.  Then x goes after y, or y before x, as far as their commits overlap (any two may change
 * places at levels that know no real time), and the replay goes on from there.  A transaction that
 * replaced an older version of a row than x's, which stands before it, committed before x.
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
    trial *trials;  /* by position: the states that explain it; NULL: only one stretch is known */
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

/* Of the rows that the transaction at the position, whose writes are pending, has replaced: the
   first state that wrote a version which it has not seen, by its answers or by the times.  0: it
   has seen them all. */
static uint32_t overwritten(const engine *e, uint32_t position)
{
    const log_txn *self = &e->log->txns.at[e->order.at[position]];
    uint32_t first = 0;
    for (size_t i = 0; i < e->hooks.row_reads.n; i++) {
        const row_read *w = &e->hooks.row_reads.at[i];
        const row_version *v = e->store.tables.at[w->table]->rows.at[w->row].head;
        if (v->commit != PENDING) continue; /* it was only read */
        while (v && v->commit == PENDING) v = v->older;
        for (; v && v->commit; v = v->older) {
            const log_txn *writer = &e->log->txns.at[e->order.at[v->commit - 1]];
            if (v->commit <= w->state && may_be_shown_to(e, writer, self)) break;
            if (!first || v->commit < first) first = v->commit;
        }
    }
    return first;
}

/* A transaction that was read, and an earlier one that was not; or (y is the position's own state)
   an earlier one that it overwrote without having seen it. */
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
    /* (where no times bind the order, a stale write could always be explained so) */
    bool asked = r == RUN_OK && rule != WRITE_FREE && e->level.strict;
    uint32_t unseen = asked ? overwritten(e, position) : 0;
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
    *x = unseen;
    *y = position + 1;
    return unseen != 0;
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

/* State x must come after y.  Changes the order; the position to go on from, or UINT32_MAX. */
static uint32_t separate(repair *p, uint32_t position, uint32_t x, uint32_t y)
{
    engine *e = p->e;
    if (p->moves[e->order.at[x - 1]] < MOST_MOVES && may_move(p, x, y, false)) {
        p->moves[e->order.at[x - 1]]++;
        p->other_left = may_move(p, x, y, true);
        position = back_to(e, position, x);
        rotate(e, x, y, false);
        p->x = x;
        p->y = y;
        return position;
    }
    if (p->moves[e->order.at[y - 1]] < MOST_MOVES && may_move(p, x, y, true)) {
        p->moves[e->order.at[y - 1]]++;
        p->other_left = false;
        position = back_to(e, position, x);
        rotate(e, x, y, true);
        return position;
    }
    return UINT32_MAX;
}

/* The same for the transaction at the position, which is not explained. */
static uint32_t mend(repair *p, uint32_t position)
{
    engine *e = p->e;
    uint32_t x = 0, y = 0;
    uint32_t from = misplaced(p, position, &x, &y) ? separate(p, position, x, y) : UINT32_MAX;
    if (from != UINT32_MAX) return from;
    if (!p->other_left || position > p->y + SOON) return UINT32_MAX;
    p->other_left = false;
    position = back_to(e, position, p->x);
    rotate(e, p->x, p->y, true); /* x is first again */
    rotate(e, p->x, p->y, true);
    return position;
}

/* The newest state that explains a position. */
static uint32_t newest_state(const repair *p, uint32_t position)
{
    if (!p->trials) return p->e->order.first_read[position];
    uint32_t newest = 0;
    for (size_t i = 0; i < p->trials[position].spans.n; i++) {
        uint32_t to = p->trials[position].spans.at[i].to;
        if (to > newest) newest = to;
    }
    return newest;
}

/* The first n positions are explained, each by itself.  If one has seen state y, and another whose
   snapshot is later has not seen x, which stands before y, then x goes after y.  The position to go
   on from, or UINT32_MAX. */
static uint32_t mend_moments(repair *p, uint32_t n)
{
    engine *e = p->e;
    uint32_t early, late, from = n;
    if (!moments_matter(e)) return n;
    uint32_t *read = mem_array(e->mem, uint32_t, n + 1);
    memcpy(read, e->order.first_read, n * sizeof *read);
    bool fit = moments_fit(e, p->trials, n, &early, &late);
    uint32_t y = fit ? 0 : e->order.first_read[early];
    if (!fit || n < e->order.n) memcpy(e->order.first_read, read, n * sizeof *read);
    mem_put(e->mem, read);
    uint32_t x = fit ? 0 : newest_state(p, late) + 1;
    if (!fit && !p->trials) { /* once more, with all states that explain each of them */
        p->trials = mem_array0(e->mem, trial, e->order.n + 1);
        return back_to(e, n, 1);
    }
    if (!fit) from = x < y ? separate(p, n, x, y) : UINT32_MAX;
    assert(from <= n || from == UINT32_MAX);
    return from;
}

/* The run of the position succeeded, its writes are pending. */
static void keep_states(repair *p, trial *t, uint32_t position)
{
    if (!p->trials) return;
    moments_collect(p->e, t, position);
    vec_free(p->e->mem, &p->trials[position].spans);
    p->trials[position].txn = t->txn;
    memcpy(&p->trials[position].spans, &t->spans, sizeof t->spans);
}

static found go(repair *p)
{
    engine *e = p->e;
    uint32_t stretch = e->order.n / 16 > 1024 ? e->order.n / 16 : 1024, asked = 0;
    for (uint32_t i = 0; i < e->order.n || asked < e->order.n;) {
        if (i == e->order.n || i == asked + stretch) { /* early, since a move takes it all back */
            asked = i;
            i = mend_moments(p, i);
            if (i == UINT32_MAX || e->effort.runs >= e->effort.max_runs) return FOUND_CUT;
            if (i < asked) asked = i;
            continue;
        }
        trial t = {.txn = e->order.at[i]};
        e->run.low = e->order.low[i];
        e->run.high = e->order.high[i];
        outcome r = explain(e, &t, i, MOST_TRIES);
        assert(e->store.log_from.n == i); /* states 1 to i have committed */
        if (r == RUN_OK) keep_states(p, &t, i);
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
        if (i < asked) asked = i;
    }
    return FOUND_YES;
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
    for (uint32_t i = 0; p.trials && i < n; i++) vec_free(e->mem, &p.trials[i].spans);
    mem_put(e->mem, p.trials);
    return r == FOUND_REFUSED ? FOUND_CUT : r;
}
