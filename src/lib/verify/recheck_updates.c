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
 */
#include "verify/recheck.h"

typedef struct graph { /* over places; 0 is not used */
    checker *c;
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

static void index_edges(graph *g)
{
    mem *m = g->c->m;
    uint32_t n = g->c->n;
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
    uint32_t *missing = mem_array0(c->m, uint32_t, (size_t)c->n + 2), done = 0, all = 0;
    VEC(uint32_t) ready = {0};
    g->rank = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (size_t i = 0; i < g->from.n; i++) missing[g->to.at[i]] += g->update[g->from.at[i]];
    for (uint32_t p = 1; p <= c->n; p++) {
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
    return done == all || recheck_no(c, NO_ID, "those that write have a cycle");
}

/* Does anything behind reader p lead to something that p follows, none of it ranked beyond `high`?
   stamp: the reader that last reached a place; before: the one that last followed it. */
static bool check_reader(graph *g, uint32_t p, const uint32_t *before, uint32_t high,
                         uint32_t *stamp)
{
    checker *c = g->c;
    VEC(uint32_t) todo = {0};
    bool ok = true;
    vec_push(c->m, &todo, p);
    while (todo.n && ok) {
        uint32_t at = todo.at[--todo.n];
        for (uint32_t i = g->first[at]; i < g->first[at + 1] && ok; i++) {
            uint32_t q = g->next[i];
            if (!g->update[q] || stamp[q] == p || g->rank[q] > high) continue;
            if (before[q] == p)
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
    g.update = mem_array0(c->m, uint8_t, (size_t)c->n + 2);
    g.prev = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (uint32_t p = 1; p <= c->n; p++) {
        txn_id t = c->v->order[p - 1];
        uint32_t q = c->v->session_order ? c->so_pred[p] : 0;
        g.update[p] = c->w_first[t] < c->w_first[t + 1];
        g.prev[p] = q && !g.update[q] ? g.prev[q] : q;
    }
    for (uint32_t p = 1; p <= c->n; p++) {
        add_edges(&g, x, p);
        guard_tick(c->m->guard);
    }
    if (g.from.n > UINT32_MAX - 16) return recheck_no(c, NO_ID, "too large to recheck");
    index_edges(&g);
    if (!sort_updates(&g)) return false;
    uint32_t *before = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    uint32_t *stamp = mem_array0(c->m, uint32_t, (size_t)c->n + 2);
    for (uint32_t p = 1; p <= c->n; p++) {
        uint32_t high = 0;
        if (g.update[p]) continue;
        for (uint32_t i = c->r_first[p]; i <= c->r_first[p + 1]; i++) {
            uint32_t w = i < c->r_first[p + 1] ? c->reads.at[i].value : g.prev[p];
            if (!w) continue;
            before[w] = p;
            if (g.rank[w] > high) high = g.rank[w];
        }
        if (!check_reader(&g, p, before, high, stamp)) return false;
        guard_tick(c->m->guard);
    }
    return true;
}
