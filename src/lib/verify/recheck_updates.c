/*
 * recheck_updates.c - update serializability on a commit order (PL-3U).
 *
 * The order stands for read-committed: session order and read-from go forward in it (load_order,
 * resolve), and it orders the versions.  Left to show: no cycle of session order, read-from,
 * version order and anti-dependencies among the transactions that write, nor with one more that
 * only reads.  All edges but those between readers are written out, version order and
 * anti-dependencies to the next version only: the later ones are reached from there.  The updates
 * are sorted, and a reader is suspicious only if something that comes after it is sorted before
 * something that comes before it; then the paths between the two are walked.
 *
 * Real time, where it counts, goes through points: nodes of their own after the last place, one for
 * each begin of an update, in the order of time.  Whoever ended leads to the first point after
 * that, a point to the next one and to the update that began there.
 */
#include "verify/recheck.h"

typedef struct graph { /* over places; 0 is not used; then points */
    checker *c;
    uint32_t n;    /* places and points */
    instant *ends; /* of updates, by time; bound: the highest rank up to there */
    uint32_t n_ends;
    instant *begins; /* of updates, by time */
    uint32_t n_begins;
    uint64_t drift;
    VEC(uint32_t) from, to;
    uint32_t *first, *next; /* by source */
    uint32_t *rank;         /* of updates: in a topological order */
    uint8_t *update;
    uint32_t *prev; /* the update before it in its session, or 0 */
} graph;

static void add(graph *g, uint32_t from, uint32_t to)
{
    if (!from || to > g->c->n || from == to) return;
    if (!g->update[from] && !g->update[to]) return;
    vec_push(g->c->m, &g->from, from);
    vec_push(g->c->m, &g->to, to);
}

static void add_edges(graph *g, const installers *x, uint32_t p)
{
    checker *c = g->c;
    txn_id t = c->v->order[p - 1];
    add(g, g->prev[p], p);
    /* an update also follows the readers in between */
    for (uint32_t q = c->so_pred[p]; q > g->prev[p] && g->update[p]; q = c->so_pred[q])
        add(g, q, p);
    for (uint32_t i = c->r_first[p]; i < c->r_first[p + 1]; i++) {
        const seen *r = &c->reads.at[i];
        add(g, r->value, p);
        add(g, p, recheck_next_installer(x, r, p));
    }
    for (uint32_t w = c->w_first[t]; w < c->w_first[t + 1]; w++)
        if (installed(c, w)) add(g, recheck_installer_before(x, c->w_key.at[w], p), p);
}

static bool over_before(const graph *g, int64_t end, int64_t begin)
{
    return end < begin && (uint64_t)begin - (uint64_t)end >= g->drift;
}

/* How many updates ended before the transaction at place p began. */
static uint32_t ended_before(const graph *g, uint32_t p)
{
    int64_t begin;
    uint32_t lo = 0, hi = g->n_ends;
    if (!hi || !recheck_stamp(g->c->h, g->c->v->order[p - 1], 0, &begin)) return 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (over_before(g, g->ends[mid].at, begin))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The edge of the transaction at place p to the first point after its end. */
static void add_end(graph *g, uint32_t p)
{
    int64_t end;
    uint32_t lo = 0, hi = g->n_begins;
    if (!recheck_stamp(g->c->h, g->c->v->order[p - 1], 3, &end)) return;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (over_before(g, end, g->begins[mid].at))
            hi = mid;
        else
            lo = mid + 1;
    }
    if (lo == g->n_begins) return;
    vec_push(g->c->m, &g->from, p);
    vec_push(g->c->m, &g->to, g->c->n + 1 + lo);
}

static void add_real_time(graph *g)
{
    checker *c = g->c;
    for (uint32_t p = 1; p <= c->n; p++) add_end(g, p);
    for (uint32_t i = 0; i < g->n_begins; i++) {
        uint32_t point = c->n + 1 + i;
        g->update[point] = 1;
        vec_push(c->m, &g->from, point);
        vec_push(c->m, &g->to, g->begins[i].place);
        if (i + 1 == g->n_begins) break;
        vec_push(c->m, &g->from, point);
        vec_push(c->m, &g->to, point + 1);
    }
}

/* Sorts the times of the updates, and says how many points they need. */
static void load_real_time(graph *g)
{
    checker *c = g->c;
    uint32_t n = 0;
    g->drift = c->v->drift > 0 ? (uint64_t)c->v->drift : 0;
    instant *all = recheck_sort_ends(c, &n);
    for (uint32_t i = 0; i < n; i++)
        if (g->update[all[i].place]) all[g->n_ends++] = all[i];
    g->ends = all;
    g->begins = recheck_sort_begins(c, &n);
    for (uint32_t i = 0; i < n; i++)
        if (g->update[g->begins[i].place]) g->begins[g->n_begins++] = g->begins[i];
}

static void index_edges(graph *g)
{
    mem *m = g->c->m;
    uint32_t n = g->n;
    g->first = mem_array0(m, uint32_t, (size_t)n + 3);
    g->next = mem_array(m, uint32_t, g->to.n + 1);
    for (size_t i = 0; i < g->from.n; i++) g->first[g->from.at[i] + 2]++;
    for (uint32_t p = 2; p < n + 3; p++) g->first[p] += g->first[p - 1];
    for (size_t i = 0; i < g->from.n; i++) g->next[g->first[g->from.at[i] + 1]++] = g->to.at[i];
}

/* Ranks the updates; false if they have a cycle. */
static bool sort_updates(graph *g)
{
    checker *c = g->c;
    uint32_t *missing = mem_array0(c->m, uint32_t, (size_t)g->n + 2), done = 0, all = 0;
    VEC(uint32_t) ready = {0};
    g->rank = mem_array0(c->m, uint32_t, (size_t)g->n + 2);
    for (size_t i = 0; i < g->from.n; i++) missing[g->to.at[i]] += g->update[g->from.at[i]];
    for (uint32_t p = 1; p <= g->n; p++) {
        all += g->update[p];
        if (g->update[p] && !missing[p]) vec_push(c->m, &ready, p);
    }
    while (ready.n) {
        uint32_t p = ready.at[--ready.n];
        g->rank[p] = ++done;
        for (uint32_t i = g->first[p]; i < g->first[p + 1]; i++) {
            uint32_t q = g->next[i];
            if (g->update[q] && !--missing[q]) vec_push(c->m, &ready, q);
        }
        guard_tick(c->m->guard);
    }
    vec_free(c->m, &ready);
    mem_put(c->m, missing);
    return done == all || recheck_no(c, NO_ID, "the transactions that write form a cycle");
}

/* Does anything behind reader p lead to something that p follows, none of it ranked beyond `high`?
   stamp: the reader that last reached a place; before: the one that last followed it. */
static bool check_reader(graph *g, uint32_t p, const uint32_t *before, uint32_t high,
                         uint32_t *stamp)
{
    checker *c = g->c;
    VEC(uint32_t) todo = {0};
    bool ok = true;
    uint32_t ended = ended_before(g, p);
    int64_t last = ended ? g->ends[ended - 1].at : INT64_MIN, end; /* the latest of those */
    vec_push(c->m, &todo, p);
    while (todo.n && ok) {
        uint32_t at = todo.at[--todo.n];
        for (uint32_t i = g->first[at]; i < g->first[at + 1] && ok; i++) {
            uint32_t q = g->next[i];
            if (!g->update[q] || stamp[q] == p || g->rank[q] > high) continue;
            bool over = ended && q <= c->n && recheck_stamp(c->h, c->v->order[q - 1], 3, &end) &&
                        end <= last;
            if (before[q] == p || over)
                ok = recheck_no(c, c->v->order[p - 1],
                                "read past what leads to something that it read");
            stamp[q] = p;
            vec_push(c->m, &todo, q);
        }
        ok = ok && !recheck_too_large(c, g->first[at + 1] - g->first[at] + 1);
    }
    vec_free(c->m, &todo);
    return ok;
}

bool recheck_updates(checker *c)
{
    graph g = {.c = c};
    const installers *x = &c->by_key;
    bool timed = c->v->level.realtime;
    g.update = mem_array0(c->m, uint8_t, 2 * (size_t)c->n + 2);
    g.prev = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        uint32_t q = c->v->session_order ? c->so_pred[p] : 0;
        g.update[p] = c->w_first[t] < c->w_first[t + 1];
        g.prev[p] = q && !g.update[q] ? g.prev[q] : q;
    }
    if (timed && !recheck_real_time(c)) return false;
    if (timed) load_real_time(&g);
    g.n = c->n + g.n_begins;
    if (g.n >= UINT32_MAX - 16) return recheck_no(c, NO_ID, "too large to recheck");
    if (timed) add_real_time(&g);
    for (uint32_t p = 1; p <= c->n; p++) {
        add_edges(&g, x, p);
        guard_tick(c->m->guard);
    }
    if (g.from.n > UINT32_MAX - 16) return recheck_no(c, NO_ID, "too large to recheck");
    index_edges(&g);
    if (!sort_updates(&g)) return false;
    for (uint32_t i = 0; i < g.n_ends; i++) {
        uint32_t rank = g.rank[g.ends[i].place];
        g.ends[i].bound = i && g.ends[i - 1].bound > rank ? g.ends[i - 1].bound : rank;
    }
    uint32_t *before = mem_array0(c->m, uint32_t, (size_t)g.n + 2);
    uint32_t *stamp = mem_array0(c->m, uint32_t, (size_t)g.n + 2);
    for (uint32_t p = 1; p <= c->n; p++) {
        uint32_t high = 0;
        if (g.update[p]) continue;
        for (uint32_t i = c->r_first[p]; i <= c->r_first[p + 1]; i++) {
            uint32_t w = i < c->r_first[p + 1] ? c->reads.at[i].value : g.prev[p];
            if (!w) continue;
            before[w] = p;
            if (g.rank[w] > high) high = g.rank[w];
        }
        uint32_t ended = ended_before(&g, p);
        if (ended && g.ends[ended - 1].bound > high) high = g.ends[ended - 1].bound;
        if (!check_reader(&g, p, before, high, stamp)) return false;
        guard_tick(c->m->guard);
    }
    return true;
}
