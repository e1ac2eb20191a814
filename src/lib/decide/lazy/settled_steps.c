/*
 * settled_steps.c - see settled_steps.h.
 *
 * Within a session those before a transaction mostly ended before it began, so the beginning of the
 * session that surely did, by the latest end in it, is asked for as a whole; the rest is compared.
 * Nothing follows a transaction of unknown outcome, neither in its session nor in time.
 */
#include "decide/lazy/settled_steps.h"

#include <assert.h>

#include "base/search.h"
#include "base/sort.h"

typedef struct session_line { /* those of known outcome, session by session */
    uint32_t n;
    node_id *node;
    uint32_t *first;                 /* per member: where its session begins in the line */
    uint32_t *end;                   /* per member: where it ends */
    node_id *latest_end, *first_end; /* per member: of the session up to it */
    node_id *latest_begin, *first_begin;
    node_id *first_end_after; /* of the session from it on */
    uint32_t *at;             /* per node: how many of its session come before it, as a place of
                                 the line; NONE: its session has none */
} session_line;

typedef struct step_maker {
    settled_steps *out;
    const lazy *z;
    unsigned cells;
    session_line line;
    uint32_t line_run; /* the first member of the line's runs */
    uint32_t *number;  /* per node: of its session */
    uint32_t bits;     /* that tell sessions apart */
    uint32_t whole;    /* the run of all by their ends, or NONE */
    uint32_t *bit_run; /* [2 * bit + value]: the runs of sessions by a bit */
} step_maker;

/* --- pairs ------------------------------------------------------------------------------------ */

static bool ended_before(const lazy *z, node_id u, node_id v)
{
    return z->p->in[u] && !z->g->maybe[u] && paths_rt_before(z, u, v);
}

static enum settled_side side_in_time(const lazy *z, node_id u, node_id v)
{
    return ended_before(z, u, v) ? SIDE_BEFORE : ended_before(z, v, u) ? SIDE_AFTER : SIDE_NEITHER;
}

static bool has_cell(const step_maker *s, enum settled_side session, enum settled_side time)
{
    return s->cells & SETTLED_CELL((unsigned)session, (unsigned)time);
}

/* --- runs ------------------------------------------------------------------------------------- */

static uint32_t start_run(step_maker *s)
{
    uint32_t run = (uint32_t)s->out->run_first.n;
    vec_push(s->z->m, &s->out->run_first, (uint32_t)s->out->member.n);
    return run;
}

static void add_member(step_maker *s, node_id v)
{
    uint32_t run = (uint32_t)s->out->run_first.n - 1;
    assert(s->out->run_first.n && v < s->z->g->nodes);
    vec_push(s->z->m, &s->out->member, v);
    vec_push(s->z->m, &s->out->run_of, run);
    guard_tick(s->z->m->guard);
}

static void ask_for(step_maker *s, uint32_t member)
{
    assert(member < s->out->member.n);
    vec_push(s->z->m, &s->out->ask, member);
}

static uint32_t run_end(const step_maker *s, uint32_t run)
{
    bool last = run + 1 == s->out->run_first.n;
    assert(run < s->out->run_first.n);
    return last ? (uint32_t)s->out->member.n : s->out->run_first.at[run + 1];
}

/* --- sessions --------------------------------------------------------------------------------- */

static int64_t end_or(const lazy *z, node_id v, int64_t otherwise)
{
    int64_t t;
    return txn_end_time(z->g->h, z->g->node_txn[v], &t) ? t : otherwise;
}

static int64_t begin_or(const lazy *z, node_id v, int64_t otherwise)
{
    int64_t t;
    return txn_begin_time(z->g->h, z->g->node_txn[v], &t) ? t : otherwise;
}

static node_id later_of(const lazy *z, int64_t (*time)(const lazy *, node_id, int64_t),
                        int64_t otherwise, node_id a, node_id b)
{
    return time(z, a, otherwise) < time(z, b, otherwise) ? b : a;
}

static node_id earlier_of(const lazy *z, int64_t (*time)(const lazy *, node_id, int64_t),
                          int64_t otherwise, node_id a, node_id b)
{
    return time(z, b, otherwise) < time(z, a, otherwise) ? b : a;
}

/* Without an end nothing comes after, and without a begin nothing comes before. */
static void sum_up_line(session_line *l, const lazy *z)
{
    for (uint32_t i = 0; i < l->n; i++) {
        node_id v = l->node[i];
        bool first = l->first[i] == i;
        l->latest_end[i] = first ? v : later_of(z, end_or, INT64_MAX, l->latest_end[i - 1], v);
        l->first_end[i] = first ? v : earlier_of(z, end_or, INT64_MAX, l->first_end[i - 1], v);
        l->latest_begin[i] =
            first ? v : later_of(z, begin_or, INT64_MIN, l->latest_begin[i - 1], v);
        l->first_begin[i] =
            first ? v : earlier_of(z, begin_or, INT64_MIN, l->first_begin[i - 1], v);
    }
    for (uint32_t i = l->n; i-- > 0;) {
        node_id v = l->node[i];
        bool last = i + 1 == l->end[i];
        l->first_end_after[i] =
            last ? v : earlier_of(z, end_or, INT64_MAX, l->first_end_after[i + 1], v);
    }
}

static void lay_line(step_maker *s)
{
    const lazy *z = s->z;
    const paths *x = z->paths;
    uint32_t nodes = z->g->nodes;
    session_line *l = &s->line;
    uint64_t *key = mem_array(z->m, uint64_t, (size_t)nodes + 1);
    uint32_t *known = mem_array(z->m, uint32_t, (size_t)nodes + 1), n = 0;
    for (node_id v = 0; v < nodes; v++)
        if (!z->g->maybe[v]) {
            known[n] = v;
            key[n++] = (uint64_t)x->chain[v] << 32 | x->place[v];
        }
    uint32_t *by = sort_by_key(z->m, key, n);
    uint32_t **arrays[] = {&l->node,      &l->first,        &l->end,         &l->latest_end,
                           &l->first_end, &l->latest_begin, &l->first_begin, &l->first_end_after};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = mem_array(z->m, uint32_t, (size_t)n + 1);
    l->n = n;
    l->at = mem_array(z->m, uint32_t, (size_t)nodes + 1);
    memset(l->at, 0xff, ((size_t)nodes + 1) * sizeof *l->at);
    for (uint32_t i = 0; i < n; i++) {
        node_id v = l->node[i] = known[by[i]];
        bool first = !i || x->chain[l->node[i - 1]] != x->chain[v];
        l->first[i] = first ? i : l->first[i - 1];
        l->at[v] = i;
        assert(x->place[v] == i - l->first[i] + 1);
    }
    for (uint32_t i = n; i-- > 0;)
        l->end[i] = i + 1 == n || l->first[i + 1] == i + 1 ? i + 1 : l->end[i + 1];
    for (node_id v = 0; v < nodes; v++) { /* one of unknown outcome stands after its predecessor */
        node_id before = z->g->so_pred[v];
        if (z->g->maybe[v] && before != NO_ID) l->at[v] = l->at[before] + 1;
    }
    sum_up_line(l, z);
    mem_put(z->m, key), mem_put(z->m, known), mem_put(z->m, by);
}

static void run_line(step_maker *s)
{
    s->line_run = (uint32_t)s->out->member.n;
    for (uint32_t i = 0; i < s->line.n; i++) {
        if (s->line.first[i] == i) start_run(s);
        add_member(s, s->line.node[i]);
    }
}

/* The end of the longest part of [first, end) that begins at first and stands to v in time as its
   first member does. */
static uint32_t alike_until(const step_maker *s, uint32_t first, uint32_t end, node_id v,
                            enum settled_side side)
{
    const session_line *l = &s->line;
    const lazy *z = s->z;
    assert(first < end && side_in_time(z, l->node[first], v) == side);
    if (side == SIDE_BEFORE) {
        SEARCH_FIRST(uint32_t, i, first, end, !ended_before(z, l->latest_end[i], v));
        return i;
    }
    if (side == SIDE_AFTER) {
        SEARCH_FIRST(uint32_t, i, first, end, !ended_before(z, v, l->first_begin[i]));
        return i;
    }
    SEARCH_FIRST(uint32_t, i, first, end,
                 ended_before(z, l->first_end[i], v) || ended_before(z, v, l->latest_begin[i]));
    return i;
}

static void ask_session(step_maker *s, node_id v)
{
    const session_line *l = &s->line;
    const lazy *z = s->z;
    uint32_t at = l->at[v];
    if (!z->p->so || at == NONE) return;
    bool maybe = z->g->maybe[v],
         any = at < l->n && z->paths->chain[l->node[at]] == z->paths->chain[v];
    uint32_t first = any ? l->first[at] : l->first[at - 1], from = first;
    uint32_t end = any ? l->end[at] : at, after = maybe ? at : at + 1;
    unsigned row = s->cells & SETTLED_ROW(SIDE_BEFORE);
    assert(first <= at && at <= end && end <= l->n);
    if (row && from < at) {
        enum settled_side side = side_in_time(z, l->node[from], v);
        bool all = row == SETTLED_ROW(SIDE_BEFORE);
        from = all ? at : alike_until(s, from, at, v, side);
        if (all || has_cell(s, SIDE_BEFORE, side)) ask_for(s, s->line_run + from - 1);
        for (; from < at; from++) {
            if (has_cell(s, SIDE_BEFORE, side_in_time(z, l->node[from], v)))
                vec_push(z->m, &s->out->pair, l->node[from]);
            guard_tick(z->m->guard);
        }
    }
    /* Later ones of the session that ended before it began: only if the clocks are wrong. */
    enum settled_side side = maybe ? SIDE_NEITHER : SIDE_AFTER;
    if (!has_cell(s, side, SIDE_BEFORE) || after >= end) return;
    if (!ended_before(z, l->first_end_after[after], v)) return;
    for (; after < end; after++) {
        if (ended_before(z, l->node[after], v)) vec_push(z->m, &s->out->pair, l->node[after]);
        guard_tick(z->m->guard);
    }
}

/* --- other sessions --------------------------------------------------------------------------- */

static void number_sessions(step_maker *s)
{
    const paths *x = s->z->paths;
    uint32_t nodes = s->z->g->nodes, n = 0;
    s->number = mem_array(s->z->m, uint32_t, (size_t)nodes + 1);
    for (node_id v = 0; v < nodes; v++)
        if (x->chain[v] == v) s->number[v] = n++;
    for (node_id v = 0; v < nodes; v++) s->number[v] = s->number[x->chain[v]];
    while (n > 1 && (n - 1) >> s->bits) s->bits++;
}

static void run_times(step_maker *s)
{
    const paths *x = s->z->paths;
    bool own = has_cell(s, SIDE_BEFORE, SIDE_BEFORE) && has_cell(s, SIDE_AFTER, SIDE_BEFORE);
    s->whole = NONE;
    assert(!s->bit_run && s->out->run_of.n == s->out->member.n);
    if (!has_cell(s, SIDE_NEITHER, SIDE_BEFORE)) return;
    if (own || !s->z->p->so) { /* all that ended, whatever their session */
        s->whole = start_run(s);
        for (size_t i = 0; i < x->ended.n; i++) add_member(s, x->ended.at[i]);
        return;
    }
    number_sessions(s);
    s->bit_run = mem_array(s->z->m, uint32_t, 2 * (size_t)s->bits + 1);
    for (uint32_t i = 0; i < 2 * s->bits; i++) {
        s->bit_run[i] = start_run(s);
        for (size_t k = 0; k < x->ended.n; k++)
            if ((s->number[x->ended.at[k]] >> (i / 2) & 1) == (i & 1))
                add_member(s, x->ended.at[k]);
    }
}

static void ask_run_before(step_maker *s, uint32_t run, node_id v)
{
    const node_id *member = s->out->member.at;
    uint32_t first = s->out->run_first.at[run];
    assert(first <= run_end(s, run) && v < s->z->g->nodes);
    SEARCH_FIRST(uint32_t, end, first, run_end(s, run), !ended_before(s->z, member[end], v));
    if (end > first) ask_for(s, end - 1);
}

static void ask_times(step_maker *s, node_id v)
{
    if (s->whole != NONE) ask_run_before(s, s->whole, v);
    for (uint32_t i = 0; s->bit_run && i < s->bits; i++)
        ask_run_before(s, s->bit_run[2 * i + !(s->number[v] >> i & 1)], v);
}

void settled_steps_make(settled_steps *out, const lazy *z, unsigned cells)
{
    step_maker s = {.out = out, .z = z, .cells = cells};
    uint32_t nodes = z->g->nodes;
    assert(cells && !(cells & ~SETTLED_FORWARD) && z->paths);
    memset(out, 0, sizeof *out);
    lay_line(&s);
    run_line(&s);
    run_times(&s);
    out->ask_first = mem_array(z->m, uint32_t, (size_t)nodes + 2);
    out->pair_first = mem_array(z->m, uint32_t, (size_t)nodes + 2);
    for (node_id v = 0; v < nodes; v++) {
        out->ask_first[v] = (uint32_t)out->ask.n;
        out->pair_first[v] = (uint32_t)out->pair.n;
        ask_session(&s, v);
        ask_times(&s, v);
    }
    out->ask_first[nodes] = (uint32_t)out->ask.n;
    out->pair_first[nodes] = (uint32_t)out->pair.n;
}
