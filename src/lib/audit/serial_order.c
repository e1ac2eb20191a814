/*
 * serial_order.c - a serial order from dependencies, or a cycle that no order can break.
 *
 * A replay at snapshots along the commits fixes who wrote what and in which order the versions of
 * a row come, and suggests who read what (depend.c).  An order of these dependencies that replays
 * serially is a proof.  If there is a cycle, or the replay fails, the reads of those who are to
 * blame are no longer taken from the replay: all sets of versions that explain their answers are
 * found (read_sets.c), and the checker's solver looks for an order with one of them each.  Who
 * fails in that order's replay is to blame next.  What has no order although no read was taken from
 * the replay is a violation, as far as the versions come in the order of the commits.
 */
#include "audit/serial_order.h"

#include <assert.h>

#include <stdio.h>

#include "audit/depend.h"
#include "audit/read_sets.h"
#include "audit/reorder.h"
#include "audit/serial_repair.h"
#include "audit/txn_order.h"
#include "base/sort.h"

#define ROUNDS 64
#define BUDGET 1000000u /* statements run to find all ways */

typedef struct serial {
    engine *e;
    uint32_t n;
    uint32_t *commits; /* the order of the log: node -> transaction */
    uint32_t *state;   /* by node: what it read in the replay */
    depend d;
    pair_list fixed; /* versions, sessions, real time */
    size_t n_versions;
    pair_list known; /* what the order of nodes was made from */
    VEC(uint32_t) blamed;
    exact *ways;     /* of these */
    bool *is_blamed; /* by node */
    uint32_t n_by_row;
    bool *by_row; /* by node: no snapshot explains it, rows of several states do */
    bool whole;   /* the store holds every state of the replay */
    uint64_t budget;
    uint32_t *order; /* nodes */
    bool *left;
    const char *why;
} serial;

/* ---- passes ---------------------------------------------------------------------------------- */

static void at_snapshots(serial *s, bool pinned)
{
    assert(s->n == s->e->order.n);
    engine *e = s->e;
    e->run.mode = MODE_SNAPSHOT;
    e->run.rule = WRITE_CONFLICT;
    e->exploring = false;
    memcpy(e->order.at, s->commits, s->n * sizeof s->commits[0]);
    for (uint32_t i = 0; i < s->n; i++) { /* real time is an edge of the graph */
        e->order.low[i] = pinned ? s->state[i] : 0;
        e->order.high[i] = pinned ? s->state[i] : i;
    }
}

/* The first replay tells the dependencies; what makes a row fit may fail where it was not asked. */
static found watched(serial *s, found (*replay)(engine *, uint32_t))
{
    engine *e = s->e;
    e->hooks.commits = depend_commit;
    e->hooks.commits_ud = &s->d;
    found r = replay(e, 64);
    e->hooks.commits = NULL;
    if (r != FOUND_REFUSED) return r;
    s->d.edges.n = s->d.owners.n = 0;
    return replay(e, 64);
}

static found pinned_replay(engine *e, uint32_t window)
{
    return search_replay(e, false, window);
}

static void keep_states(serial *s)
{
    memcpy(s->state, s->e->order.first_read, s->n * sizeof s->state[0]);
}

static found replay_commits(serial *s)
{
    engine *e = s->e;
    at_snapshots(s, false);
    found r = watched(s, search_quickly);
    keep_states(s);
    if (r == FOUND_YES || r == FOUND_REFUSED) return r;
    uint32_t stuck = e->effort.stuck;
    at_snapshots(s, false);
    r = repair_order(e);
    if (r == FOUND_YES) {
        memcpy(s->commits, e->order.at, s->n * sizeof s->commits[0]);
        keep_states(s);
        at_snapshots(s, true);
        return watched(s, pinned_replay);
    }
    at_snapshots(s, false);
    r = search_replay(e, true, 64);
    if (r == FOUND_CUT && e->effort.runs < e->effort.max_runs)
        r = search_replay(e, true, UINT32_MAX);
    if (r == FOUND_YES) {
        keep_states(s);
        at_snapshots(s, true);
        return watched(s, pinned_replay);
    }
    /* no snapshots explain it, but a serial order may */
    e->hooks.by_row = s->by_row;
    e->fail = (failure){0};
    for (found again = r; again == FOUND_NO || again == FOUND_CUT; stuck = e->effort.stuck) {
        if (s->by_row[stuck]) { /* not even that */
            assert(stuck < s->n);
            e->fail.semantic = e->fail.classified = true;
            return r;
        }
        s->by_row[stuck] = true;
        s->n_by_row++;
        at_snapshots(s, false);
        e->exploring = true;
        again = watched(s, search_quickly);
        keep_states(s);
        if (again == FOUND_YES || again == FOUND_REFUSED || s->n_by_row == ROUNDS) return again;
    }
    return r;
}

/* Replays the commits once more, and keeps every version. */
static bool whole_store(serial *s)
{
    if (s->whole) return true;
    assert(s->n == s->e->order.n);
    at_snapshots(s, true);
    s->whole = search_replay(s->e, true, 64) == FOUND_YES;
    if (!s->whole) s->why = "the replay of the commits cannot be repeated";
    return s->whole;
}

/* The order of nodes, serially, mended where that is possible.  A failure leaves its node in
   *stuck. */
static found replay_serially(serial *s, uint32_t *stuck)
{
    serial_nodes nodes = {s->n, s->commits, s->state};
    s->whole = false;
    return serial_repair(s->e, &nodes, &s->known, s->order, stuck);
}

/* ---- what no order may break ----------------------------------------------------------------- */

static void session_edges(serial *s)
{
    engine *e = s->e;
    if (e->o->no_session_order) return;
    uint32_t *node = mem_array(e->mem, uint32_t, e->log->txns.n + 1);
    uint32_t *last = mem_array0(e->mem, uint32_t, e->log->sessions.n + 1);
    memset(node, 0xff, e->log->txns.n * sizeof *node);
    for (uint32_t i = 0; i < s->n; i++) node[s->commits[i]] = i;
    for (uint32_t t = 0; t < e->log->txns.n; t++) {
        if (node[t] == UINT32_MAX) continue;
        assert(node[t] < s->n);
        uint32_t *before = &last[e->log->txns.at[t].session];
        if (*before) vec_push(e->mem, &s->fixed, ((order_pair){*before - 1, node[t]}));
        *before = node[t] + 1;
    }
    mem_put(e->mem, node);
    mem_put(e->mem, last);
}

/* An edge from each transaction that ended before another one began, except where edges through a
   third transaction already say so. */
static void time_edges(serial *s)
{
    engine *e = s->e;
    if (!e->level.strict) return;
    uint64_t *key = mem_array(e->mem, uint64_t, s->n + 1);
    int64_t *begin = mem_array(e->mem, int64_t, s->n + 1),
            *end = mem_array(e->mem, int64_t, s->n + 1);
    uint32_t *node = mem_array(e->mem, uint32_t, s->n + 1), n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        txn_times times = times_of(e, &e->log->txns.at[s->commits[i]]);
        if (!times.known) continue;
        begin[n] = times.begin;
        end[n] = times.end + (int64_t)e->o->drift;
        key[n] = sort_key(end[n]);
        node[n++] = i;
    }
    uint32_t *by_end = sort_by_key(e->mem, key, n);
    for (uint32_t i = 0; i < n; i++) key[i] = sort_key(begin[i]);
    uint32_t *by_begin = sort_by_key(e->mem, key, n), ended = 0;
    int64_t last = INT64_MIN; /* the latest begin of those that have ended */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t me = by_begin[i];
        for (; ended < n && end[by_end[ended]] < begin[me]; ended++)
            if (begin[by_end[ended]] > last) last = begin[by_end[ended]];
        for (uint32_t k = ended; k-- > 0 && end[by_end[k]] >= last;)
            vec_push(e->mem, &s->fixed, ((order_pair){node[by_end[k]], node[me]}));
    }
    mem_put(e->mem, key);
    mem_put(e->mem, begin);
    mem_put(e->mem, end);
    mem_put(e->mem, node);
    mem_put(e->mem, by_end);
    mem_put(e->mem, by_begin);
}

static void version_edges(serial *s)
{
    assert(s->d.edges.n == s->d.owners.n && !s->fixed.n);
    for (size_t i = 0; i < s->d.edges.n; i++)
        if (s->d.owners.at[i] == NO_OWNER) vec_push(s->e->mem, &s->fixed, s->d.edges.at[i]);
}

/* What is known without the blamed: the reads of the others, if `reads`. */
static void known_edges(serial *s, bool reads)
{
    const depend *d = &s->d;
    pair_list *out = &s->known;
    assert(d->edges.n == d->owners.n);
    out->n = 0;
    for (size_t i = 0; i < s->fixed.n; i++) vec_push(s->e->mem, out, s->fixed.at[i]);
    for (size_t i = 0; reads && i < d->edges.n; i++)
        if (d->owners.at[i] != NO_OWNER && !s->is_blamed[d->owners.at[i]])
            vec_push(s->e->mem, out, d->edges.at[i]);
}

/* ---- the solver ------------------------------------------------------------------------------ */

static void blame(serial *s, uint32_t node)
{
    engine *e = s->e;
    if (s->is_blamed[node]) return;
    assert(s->whole && node < s->n); /* what is tried reads every state */
    s->is_blamed[node] = true;
    exact *more = mem_array(e->mem, exact, s->blamed.n + 1);
    if (s->blamed.n) memcpy(more, s->ways, s->blamed.n * sizeof *more);
    mem_put(e->mem, s->ways);
    s->ways = more;
    exact_find(e, node, s->state[node], &s->budget, &s->ways[s->blamed.n]);
    vec_push(e->mem, &s->blamed, node);
}

typedef struct lit_edge {
    uint32_t lit;
    order_pair pair;
} lit_edge;

typedef VEC(lit_edge) lit_edges;

/* A clause for each statement: one of its ways. */
static void add_ways(serial *s, solver *sat, order *o, lit_edges *edges)
{
    engine *e = s->e;
    VEC(uint32_t) clause = {0};
    for (size_t b = 0; b < s->blamed.n; b++) {
        const exact *x = &s->ways[b];
        uint32_t me = s->blamed.at[b];
        for (size_t i = 0; i < x->ways.n && !x->cut; i++) {
            const option_set *w = &x->ways.at[i];
            uint32_t lit = lit_of(solver_var(sat), false);
            vec_push(e->mem, &clause, lit);
            for (size_t k = 0; k < w->spans.n; k++) {
                span p = w->spans.at[k];
                assert(p.from < p.to);
                order_pair pairs[2] = {{p.from - 1, me}, {me, p.to - 1}};
                for (int side = 0; side < 2; side++) {
                    if (side ? p.to == LAST_STATE : !p.from) continue;
                    order_edge(o, lit, pairs[side].from, pairs[side].to);
                    vec_push(e->mem, edges, ((lit_edge){lit, pairs[side]}));
                }
            }
            if (i + 1 < x->ways.n && x->ways.at[i + 1].stmt == w->stmt) continue;
            solver_add_clause(sat, clause.at, clause.n);
            clause.n = 0;
        }
    }
    vec_free(e->mem, &clause);
}

/* An order of what is known and one way each of the blamed, in s->order. */
static bool solve(serial *s, bool reads)
{
    engine *e = s->e;
    lit_edges edges = {0};
    known_edges(s, reads);
    bool good = depend_sort(e->mem, s->n, s->known.at, s->known.n, s->order, s->left);
    assert(s->n_versions <= s->fixed.n);
    if (good) {
        order_graph g;
        order_graph_build(e->mem, s->n, s->known.at, s->known.n, &g);
        uint32_t *pos = mem_array(e->mem, uint32_t, s->n + 1);
        for (uint32_t i = 0; i < s->n; i++) pos[s->order[i]] = i;
        order *o = order_new(e->mem, s->n, &g, pos);
        solver *sat = solver_new(e->mem);
        add_ways(s, sat, o, &edges);
        solver_set_theory(sat, order_theory(o, sat, true));
        good = solver_solve(sat, NULL, 0) == SOLVE_SAT;
        for (size_t i = 0; good && i < edges.n; i++)
            if (solver_model(sat, edges.at[i].lit) > 0)
                vec_push(e->mem, &s->known, edges.at[i].pair);
        solver_free(sat);
        order_free(o);
        depend_graph_free(e->mem, &g);
        mem_put(e->mem, pos);
        if (good) good = depend_sort(e->mem, s->n, s->known.at, s->known.n, s->order, s->left);
    }
    vec_free(e->mem, &edges);
    return good;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* by: the edge that each node was come to by, on the way back to `from`. */
static void add_cycle(serial *s, audit_answer *a, const told_edge *all, const uint32_t *by,
                      uint32_t from)
{
    engine *e = s->e;
    const log_txn *txns = e->log->txns.at;
    size_t n = 1;
    for (uint32_t v = all[by[from]].from; v != from; v = all[by[v]].from) n++;
    assert(n <= s->n);
    audit_edge *out = arena_array(&e->kept, audit_edge, n);
    uint32_t v = from;
    for (size_t i = n; i-- > 0; v = all[by[v]].from) {
        const told_edge *w = &all[by[v]];
        out[i] = (audit_edge){txns[s->commits[w->from]].id, txns[s->commits[w->to]].id, w->kind,
                              NULL, w->stmt == UINT32_MAX ? 0 : w->stmt + 1};
        if (w->table != UINT32_MAX) out[i].row = exact_row_name(e, w->table, w->row);
    }
    a->cycle = out;
    a->n_cycle = n;
}

/* The edges between versions: all of them, there are not more than writes. */
static void told_versions(serial *s, told_edge **all, size_t *n, size_t *cap)
{
    engine *e = s->e;
    for (uint32_t t = 0; t < e->store.tables.n; t++) {
        const table *at = e->store.tables.at[t];
        for (uint32_t r = 0; r < at->rows.n; r++)
            for (const row_version *v = at->rows.at[r].head; v && v->older; v = v->older) {
                if (!v->older->commit) continue;
                if (*n == *cap) *all = vec_grow_to(e->mem, *all, cap, *n + 1, sizeof **all);
                (*all)[(*n)++] =
                    (told_edge){v->older->commit - 1, v->commit - 1, UINT32_MAX, t, r, "ww"};
            }
    }
}

/* The shortest cycle of the reads that the replay suggested, through one of the blamed. */
static void tell_cycle(serial *s, audit_answer *a)
{
    engine *e = s->e;
    told_edge *all = NULL;
    size_t n = 0, cap = 0;
    uint32_t best = UINT32_MAX;
    if (!whole_store(s)) return;
    for (size_t b = 0; b < s->blamed.n; b++)
        for (size_t i = 0; i < s->ways[b].told.n; i++) {
            if (n == cap) all = vec_grow_to(e->mem, all, &cap, n + 1, sizeof *all);
            all[n++] = s->ways[b].told.at[i];
        }
    told_versions(s, &all, &n, &cap);
    for (size_t i = s->n_versions; i < s->fixed.n; i++) {
        order_pair p = s->fixed.at[i];
        bool same = e->log->txns.at[s->commits[p.from]].session ==
                    e->log->txns.at[s->commits[p.to]].session;
        if (n == cap) all = vec_grow_to(e->mem, all, &cap, n + 1, sizeof *all);
        all[n++] = (told_edge){p.from, p.to, UINT32_MAX, UINT32_MAX, 0, same ? "so" : "rt"};
    }
    uint32_t *first = mem_array0(e->mem, uint32_t, s->n + 2),
             *out = mem_array(e->mem, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) first[all[i].from + 1]++;
    for (uint32_t v = 0; v < s->n; v++) first[v + 1] += first[v];
    uint32_t *at = mem_array(e->mem, uint32_t, s->n + 1);
    memcpy(at, first, (s->n + 1) * sizeof *at);
    for (uint32_t i = 0; i < n; i++) out[at[all[i].from]++] = i;
    uint32_t *by = mem_array(e->mem, uint32_t, s->n + 1);
    uint32_t *queue = mem_array(e->mem, uint32_t, s->n + 1);
    uint32_t *depth = mem_array(e->mem, uint32_t, s->n + 1);
    for (size_t b = 0; b < s->blamed.n && b < ROUNDS; b++) {
        uint32_t from = s->blamed.at[b], head = 0, tail = 0;
        memset(by, 0xff, s->n * sizeof *by);
        depth[from] = 0;
        queue[tail++] = from;
        while (head < tail) {
            uint32_t v = queue[head++];
            if (depth[v] + 1 >= best) break;
            for (uint32_t k = first[v]; k < first[v + 1]; k++) {
                uint32_t w = all[out[k]].to;
                guard_tick(e->guard);
                if (by[w] != UINT32_MAX) continue;
                by[w] = out[k];
                if (w == from) {
                    best = depth[v] + 1;
                    add_cycle(s, a, all, by, from);
                    head = tail;
                    break;
                }
                depth[w] = depth[v] + 1;
                queue[tail++] = w;
            }
        }
    }
    uint32_t *parts[] = {first, out, at, by, queue, depth};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) mem_put(e->mem, parts[i]);
    mem_put(e->mem, all);
}

/* ---- deciding -------------------------------------------------------------------------------- */

static const char elsewhere[] =
    "dependencies form a cycle, but some transactions may have written something else";

/* Why the ways of the blamed prove nothing; NULL: they do. */
static const char *in_doubt(const serial *s)
{
    assert(s->blamed.n);
    const char *why = NULL;
    for (size_t b = 0; b < s->blamed.n; b++) {
        if (s->ways[b].cut)
            return "dependencies form a cycle, but not all ways to explain the answers were tried";
        if (s->ways[b].other_writes) why = elsewhere;
    }
    return why;
}

/* Would a transaction that is not blamed explain the log with other writes, too?  Then the values
   that the blamed ones read are not certain. */
static bool writes_certain(serial *s, audit_answer *a)
{
    engine *e = s->e;
    if (!whole_store(s)) return false;
    for (uint32_t i = 0; i < s->n; i++) {
        exact x;
        size_t end = i + 1 < e->store.log_from.n ? e->store.log_from.at[i + 1] : e->store.log.n;
        if (s->is_blamed[i] || e->store.log_from.at[i] == end) continue;
        exact_find(e, i, s->state[i], &s->budget, &x);
        bool cut = x.cut, other_writes = x.other_writes;
        exact_free(e, &x);
        if (other_writes) return false;
        if (cut) a->replayed_writes = true;
        if (!s->budget) break;
    }
    return true;
}

/* Tables that come and go, and keys that refer to others, are not for trying one by one. */
static bool tables_stand(const engine *e)
{
    for (size_t i = 0; i < e->store.tables.n; i++) {
        const table *t = e->store.tables.at[i];
        if (t->created || t->dropped != NEVER || t->truncated || t->n_foreign) return false;
    }
    return true;
}

/* Do the versions of each row come in the order of the timestamps?  The order may be a repaired
   one. */
static bool versions_stamped(const serial *s)
{
    const log_txn *t = s->e->log->txns.at;
    for (size_t i = 0; i < s->d.edges.n; i++) {
        if (s->d.owners.at[i] != NO_OWNER) continue;
        const log_txn *a = &t[s->commits[s->d.edges.at[i].from]];
        const log_txn *b = &t[s->commits[s->d.edges.at[i].to]];
        if (a->has_commit && b->has_commit && a->commit >= b->commit) return false;
    }
    return true;
}

static found no_order(serial *s, audit_answer *a)
{
    assert(!a->n_cycle);
    s->why = in_doubt(s);
    if (!s->why && !versions_stamped(s))
        s->why = "dependencies form a cycle, but the timestamps of commits are not in order";
    if (s->why) return FOUND_CUT;
    tell_cycle(s, a);
    if (writes_certain(s, a)) return FOUND_NO;
    s->why = elsewhere;
    return FOUND_CUT;
}

/* The dependencies that the replay suggested have no order: finds the transactions whose reads must
   have been others, one more in each round. */
static found among_ways(serial *s, audit_answer *a)
{
    uint32_t stuck = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (!solve(s, true) && !solve(s, false)) return no_order(s, a);
        found r = replay_serially(s, &stuck);
        if (r == FOUND_YES || r == FOUND_REFUSED) return r;
        if (s->is_blamed[stuck]) {
            s->why = "no serial order was found; not all were tried";
            return FOUND_CUT;
        }
        if (!whole_store(s)) return FOUND_CUT;
        blame(s, stuck);
    }
    s->why = "no serial order was found; the search was given up";
    return FOUND_CUT;
}

static found find_serial_order(serial *s, audit_answer *a)
{
    engine *e = s->e;
    found r = replay_commits(s);
    if (r != FOUND_YES) {
        s->why = "no order was found: the log is not even one of snapshots in the order of commits";
        return r;
    }
    version_edges(s);
    s->n_versions = s->fixed.n;
    session_edges(s);
    time_edges(s);
    known_edges(s, true);
    bool sorted =
        !s->n_by_row && depend_sort(e->mem, s->n, s->known.at, s->known.n, s->order, s->left);
    uint32_t stuck = UINT32_MAX;
    if (sorted) {
        r = replay_serially(s, &stuck);
        if (r == FOUND_YES || r == FOUND_REFUSED) return r;
    }
    bool *left = mem_array(e->mem, bool, s->n + 1);
    memcpy(left, s->left, s->n * sizeof *left);
    if (e->o->lenient || e->unchecked || !whole_store(s) || !tables_stand(e)) {
        s->why = "no serial order was found; not all were tried";
        return FOUND_CUT;
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (s->by_row[i] || (sorted ? i == stuck : !s->n_by_row && left[i])) blame(s, i);
    mem_put(e->mem, left);
    return among_ways(s, a);
}

found serial_order(engine *e, audit_answer *a, const char **why)
{
    assert(e->order.n && e->level.mode == MODE_LATEST);
    serial s = {.e = e, .n = e->order.n, .budget = BUDGET};
    s.commits = mem_array(e->mem, uint32_t, s.n + 1);
    memcpy(s.commits, e->order.at, s.n * sizeof s.commits[0]);
    s.state = mem_array(e->mem, uint32_t, s.n + 1);
    s.order = mem_array(e->mem, uint32_t, s.n + 1);
    s.left = mem_array(e->mem, bool, s.n + 1);
    s.by_row = mem_array0(e->mem, bool, s.n + 1);
    s.is_blamed = mem_array0(e->mem, bool, s.n + 1);
    depend_init(&s.d, e);
    found r = find_serial_order(&s, a);
    if (r != FOUND_YES) memcpy(e->order.at, s.commits, s.n * sizeof s.commits[0]);
    *why = s.why;
    for (size_t b = 0; b < s.blamed.n; b++) exact_free(e, &s.ways[b]);
    depend_free(&s.d);
    vec_free(e->mem, &s.fixed);
    vec_free(e->mem, &s.known);
    vec_free(e->mem, &s.blamed);
    mem_put(e->mem, s.ways);
    mem_put(e->mem, s.commits);
    mem_put(e->mem, s.state);
    mem_put(e->mem, s.order);
    mem_put(e->mem, s.left);
    mem_put(e->mem, s.is_blamed);
    mem_put(e->mem, s.by_row);
    e->hooks.by_row = NULL;
    e->hooks.row_reads.n = 0;
    e->run.mode = e->level.mode;
    e->run.rule = e->level.rule;
    order_windows(e);
    return r;
}
