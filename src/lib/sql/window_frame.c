/*
 * window_frame.c - frames of ROWS, RANGE and GROUPS, and EXCLUDE.
 *
 * The ends of ROWS are counted in rows, those of GROUPS in groups of rows with equal keys, and
 * those of RANGE by the difference of the one key, as the in_range functions of PostgreSQL compare
 * it: of integers without overflow, of dates and timestamps by an interval.  A row whose key is
 * null is infinitely far away from the others, on the side where nulls are sorted.
 */
#include "sql/window_frame.h"

#include <assert.h>

#include "sql/calendar.h"
#include "sql/interval.h"
#include "sql/num.h"

int order_cmp(const aggregate *a, const value *l, const value *r)
{
    for (uint32_t i = 0; i < a->n_order; i++) {
        const order_key *k = &a->order[i];
        if (l[i].null || r[i].null) {
            if (l[i].null == r[i].null) continue;
            return l[i].null == k->nulls_first ? -1 : 1;
        }
        int c = value_cmp(k->e->t.id, l[i], r[i]);
        if (c) return (c < 0) != k->desc ? -1 : 1;
    }
    return 0;
}

static bool is_negative(const frame_bound *b, value v)
{
    type_id t = b->offset->t.id;
    if (t == T_NUMERIC) return num_sign(v.d) < 0;
    if (t == T_INTERVAL) return interval_cmp(interval_of(v), (interval){0, 0, 0}) < 0;
    return v.i < 0;
}

static value distance(sql_exec *x, const aggregate *a, const frame_bound *b, frame *up)
{
    frame f = {NULL, up, NULL};
    if (!b->offset) return value_int(0);
    value v = eval(x, b->offset, &f);
    if (v.null) sql_raise(&x->c, "22004", "frame offset must not be null");
    if (!is_negative(b, v)) return v;
    sql_raise(&x->c, "22013",
              a->mode == FRAME_OF_RANGE ? "invalid preceding or following size in window function"
                                        : "frame offset must not be negative");
}

void frame_distances(sql_exec *x, window_frame *w, frame *up)
{
    w->before = distance(x, w->a, &w->a->from, up);
    w->after = distance(x, w->a, &w->a->to, up);
}

static bool has_distance(const frame_bound *b)
{
    return b->kind == BOUND_BEFORE || b->kind == BOUND_AFTER;
}

static bool are_peers(const window_frame *w, int64_t i, int64_t k)
{
    return !order_cmp(w->a, w->v[i].keys, w->v[k].keys);
}

static void count_groups(sql_exec *x, window_frame *w)
{
    w->group_at = arena_array(&x->work, int64_t, (size_t)(w->to - w->from) + 1);
    w->n_groups = 0;
    for (int64_t i = w->from; i < w->to; i++) {
        guard_tick(x->c.guard);
        if (i == w->from || !are_peers(w, i - 1, i)) w->group_at[w->n_groups++] = i;
    }
    w->group_at[w->n_groups] = w->to;
}

void frame_enter(sql_exec *x, window_frame *w, int64_t from, int64_t to)
{
    assert(from < to);
    w->from = w->peers = w->strangers = w->lo = w->hi = from;
    w->to = to;
    w->group = -1;
    if (w->a->mode == FRAME_OF_GROUPS) count_groups(x, w);
}

void frame_current(sql_exec *x, window_frame *w, int64_t i)
{
    assert(i >= w->peers && i <= w->strangers && i < w->to);
    if (i < w->strangers) return;
    w->peers = i;
    w->group++;
    for (w->strangers = i + 1; w->strangers < w->to && are_peers(w, i, w->strangers);)
        guard_tick(x->c.guard), w->strangers++;
}

/* ---- the ends -------------------------------------------------------------------------------- */

static int64_t clamp(const window_frame *w, int64_t at)
{
    return at < w->from ? w->from : at > w->to ? w->to : at;
}

/* Rows and groups are fewer than this. */
static int64_t steps(value distance)
{
    return distance.i > UINT32_MAX ? UINT32_MAX : distance.i;
}

static int64_t group_edge(const window_frame *w, int64_t by, bool last)
{
    int64_t g = w->group + by + last;
    return g <= 0 ? w->from : g >= w->n_groups ? w->to : w->group_at[g];
}

/* How key `at` compares with the current key moved by the distance, upwards or downwards. */
static int cmp_moved(sql_exec *x, type_id t, value at, value current, value by, bool up)
{
    assert(!at.null && !current.null && !by.null);
    if (t == T_NUMERIC) {
        const num *edge =
            up ? num_add(&x->work, current.d, by.d) : num_sub(&x->work, current.d, by.d);
        return num_cmp(at.d, edge);
    }
    if (type_is_int(t)) {
        __int128 edge = up ? (__int128)current.i + by.i : (__int128)current.i - by.i;
        return at.i < edge ? -1 : at.i > edge;
    }
    int64_t unit = t == T_DATE ? DAY_US : 1;
    int64_t edge = interval_move(&x->c, current.i * unit, interval_of(by), up ? 1 : -1);
    return at.i * unit < edge ? -1 : at.i * unit > edge;
}

/* Does row k come before (last: not after) the end that is so far from the current row? */
static bool is_short_of(sql_exec *x, const window_frame *w, int64_t i, int64_t k,
                        const frame_bound *b, value by, bool last)
{
    const order_key *o = &w->a->order[0];
    value at = w->v[k].keys[0], current = w->v[i].keys[0];
    int c;
    if (at.null || current.null) {
        c = at.null == current.null ? 0 : at.null == o->nulls_first ? -1 : 1;
    } else {
        c = cmp_moved(x, o->e->t.id, at, current, by, (b->kind == BOUND_AFTER) != o->desc);
        if (o->desc) c = -c;
    }
    return last ? c <= 0 : c < 0;
}

/* Where the frame of row i begins, or (last) ends; `at`: where that of the row before did. */
static int64_t frame_edge(sql_exec *x, const window_frame *w, const frame_bound *b, value by,
                          int64_t i, bool last, int64_t at)
{
    assert(i >= w->peers && i < w->strangers);
    frame_mode mode = w->a->mode;
    if (b->kind == BOUND_FIRST) return w->from;
    if (b->kind == BOUND_LAST) return w->to;
    if (!has_distance(b)) return mode == FRAME_OF_ROWS ? i + last : last ? w->strangers : w->peers;
    if (mode == FRAME_OF_RANGE) {
        while (at < w->to && is_short_of(x, w, i, at, b, by, last)) {
            guard_tick(x->c.guard);
            at++;
        }
        return at;
    }
    int64_t n = b->kind == BOUND_BEFORE ? -steps(by) : steps(by);
    return mode == FRAME_OF_ROWS ? clamp(w, i + n + last) : group_edge(w, n, last);
}

void frame_ends(sql_exec *x, window_frame *w, int64_t i)
{
    w->lo = frame_edge(x, w, &w->a->from, w->before, i, false, w->lo);
    w->hi = frame_edge(x, w, &w->a->to, w->after, i, true, w->hi);
    assert(w->lo >= w->from && w->hi <= w->to);
}

bool frame_without(const window_frame *w, int64_t i, int64_t k)
{
    bool peer = k >= w->peers && k < w->strangers;
    switch (w->a->without) {
    case EXCLUDE_NOTHING: return false;
    case EXCLUDE_ROW: return k == i;
    case EXCLUDE_GROUP: return peer;
    case EXCLUDE_TIES: return peer && k != i;
    }
    return false;
}
