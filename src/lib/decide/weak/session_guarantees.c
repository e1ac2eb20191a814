/*
 * session_guarantees.c - read-your-writes, monotonic-reads, monotonic-writes, writes-follow-reads
 * (doc/levels.md 5), once every read has its writer.
 *
 * Each says that some transactions S are visible to a reader: if one of them installs the key that
 * was read, it comes before the version that was returned.  These edges, with session order,
 * read-from and known version orders, must have no cycle.  Of what a session wrote only the last
 * version of the key needs an edge: the others precede it in the session.  Of what it read,
 * monotonic reads forget what a later read of the key has come behind.  Writes-follow-reads forgets
 * nothing, so that its edges start at helpers: one for each (session, key, source), each behind the
 * one before it, so that a prefix of them is one edge.  Any other range of sources is a few edges
 * from blocks, helpers for 2^level sources each, which are made when they are first asked for.
 */
#include <assert.h>

#include "base/map.h"
#include "base/search.h"
#include "base/sort.h"
#include "decide/weak/weak.h"

typedef struct arc_in {
    uint32_t from, to;
    uint32_t kind; /* enum edge_kind */
    key_id key;
    uint32_t ob;
} arc_in;

typedef struct source {
    node_id by, from; /* `by`, of the session, read from `from` */
    key_id key;       /* that `from` installs */
} source;

/* Of one session, the last two transactions that somebody read from; `before` may be NO_ID. */
typedef struct session_end {
    node_id last, before;
} session_end;

typedef struct tester {
    asg *g;
    const view *w;
    decision *a;
    uint32_t nodes; /* with helpers */
    VEC(arc_in) arcs;
    node_id *start; /* per node: the first of its session */
    bool ok;
    VEC(source) sources; /* by key, then as they were read */
    uint32_t *src_first;
    id_map seen_by;          /* (first of the session, source) -> the first reader of the source */
    VEC(uint64_t) read_from; /* of the reader at hand, sorted */
    VEC(session_end) ends;
    id_map blocks; /* (level, index) -> helper of the sources [index << level, + 1 << level) */
} tester;

static bool in(const tester *t, node_id v)
{
    return !t->w->out || !t->w->out[v];
}

static void add(tester *t, uint32_t from, uint32_t to, uint32_t kind, key_id key, uint32_t ob)
{
    arc_in x = {from, to, kind, key, ob};
    assert(from < t->nodes && to < t->nodes && from != to);
    if (t->arcs.n >= UINT32_MAX - 16)
        guard_fail(t->g->m->guard, GUARD_UNSUPPORTED, "more than 2^32 edges");
    vec_push(t->g->m, &t->arcs, x);
}

/* S is visible to the reader of ob. */
static void visible(tester *t, node_id s, uint32_t ob)
{
    const asg *g = t->g;
    uint32_t rf = t->w->rf[ob];
    if (s == rf || s == g->ob_node[ob] || !in(t, s) || !t->ok) return;
    if (rf == RF_INIT) {
        t->a->bad_ob = ob;
        t->a->bad_node = s;
        t->a->why = WHY_INIT;
        t->ok = false;
    } else if (rf < RF_LAST) {
        add(t, s, rf, EDGE_FORCE, g->ob_key[ob], ob);
    }
}

static void find_starts(tester *t)
{
    const asg *g = t->g;
    t->start = mem_array(g->m, node_id, (size_t)g->nodes + 1);
    for (node_id v = 0; v < g->nodes; v++) {
        bool same = v && g->h->txn_session[g->node_txn[v]] == g->h->txn_session[g->node_txn[v - 1]];
        t->start[v] = same ? t->start[v - 1] : v;
        assert(g->so_pred[v] == NO_ID || g->so_pred[v] >= t->start[v]);
    }
}

/* --- what a session wrote --------------------------------------------------------------------- */

/* The last committed transaction of v's session before v that installs k, or NO_ID. */
static node_id wrote_before(const tester *t, node_id v, key_id k)
{
    const asg *g = t->g;
    uint32_t first = g->kw_first[k];
    SEARCH_FIRST(uint32_t, i, first, g->kw_first[k + 1], g->inst_node[g->kw_inst[i]] >= v);
    for (; i > first; i--) {
        node_id u = g->inst_node[g->kw_inst[i - 1]];
        if (u < t->start[v]) break;
        if (!g->maybe[u]) return u;
    }
    return NO_ID;
}

/* Read your writes: `end` is the reader.  Monotonic writes: who it read from. */
static void see_writes(tester *t, node_id end, uint32_t ob)
{
    node_id s = wrote_before(t, end, t->g->ob_key[ob]);
    if (s != NO_ID) visible(t, s, ob);
}

/* --- what a session read ---------------------------------------------------------------------- */

typedef struct cell { /* of a list by key */
    node_id node;
    uint32_t next; /* index + 1 */
} cell;

static void monotonic_reads(tester *t)
{
    asg *g = t->g;
    size_t keys = history_keys(g->h);
    VEC(cell) cells = {0};
    uint32_t *head = mem_array0(g->m, uint32_t, keys + 1);
    node_id *of = mem_array(g->m, node_id, keys + 1); /* session of head */
    node_id *seen = mem_array(g->m, node_id, (size_t)g->nodes + 1);
    memset(of, 0xff, (keys + 1) * sizeof *of);
    memset(seen, 0xff, ((size_t)g->nodes + 1) * sizeof *seen);
#define PUSH(k, s)                                                                                 \
    do {                                                                                           \
        cell c_ = {s, of[k] == t->start[v] ? head[k] : 0};                                         \
        vec_push(g->m, &cells, c_);                                                                \
        head[k] = (uint32_t)cells.n;                                                               \
        of[k] = t->start[v];                                                                       \
    } while (0)
    for (node_id v = 0; v < g->nodes && t->ok; v++) {
        if (v == t->start[v]) cells.n = 0;
        if (!in(t, v)) continue;
        uint32_t lo = g->ob_first[v], hi = g->ob_first[v + 1];
        for (uint32_t ob = lo; ob < hi; ob++) {
            key_id k = g->ob_key[ob];
            if (of[k] != t->start[v]) continue;
            for (uint32_t i = head[k]; i; i = cells.at[i - 1].next)
                visible(t, cells.at[i - 1].node, ob);
        }
        if (g->maybe[v]) continue; /* nothing follows from it */
        for (uint32_t ob = lo; ob < hi; ob++)
            if (t->w->rf[ob] < RF_LAST) of[g->ob_key[ob]] = NO_ID;
        for (uint32_t ob = lo; ob < hi; ob++) {
            uint32_t s = t->w->rf[ob];
            if (s >= RF_LAST) continue;
            key_id own = g->ob_key[ob];
            PUSH(own, s);
            bool again = seen[s] == t->start[v];
            seen[s] = t->start[v];
            for (uint32_t i = g->inst_first[s]; i < g->inst_first[s + 1] && !again; i++)
                if (g->inst_key[i] != own) PUSH(g->inst_key[i], s);
        }
        guard_tick(g->m->guard);
    }
#undef PUSH
    vec_free(g->m, &cells);
    mem_put(g->m, head);
    mem_put(g->m, of);
    mem_put(g->m, seen);
}

/* Who read from whom first, in each session, by the keys of the source; with their helpers. */
static void load_sources(tester *t)
{
    asg *g = t->g;
    VEC(source) found = {0};
    VEC(uint32_t) key = {0};
    for (node_id v = 0; v < g->nodes; v++) {
        if (!in(t, v) || g->maybe[v]) continue;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t s = t->w->rf[ob];
            if (s >= RF_LAST) continue;
            uint32_t *reader = id_map_at(g->m, &t->seen_by, map_pair(t->start[v], s));
            if (*reader != MAP_NONE) continue;
            *reader = v;
            for (uint32_t i = g->inst_first[s]; i < g->inst_first[s + 1]; i++) {
                source x = {v, s, g->inst_key[i]};
                vec_push(g->m, &found, x);
                vec_push(g->m, &key, g->inst_key[i]);
            }
        }
        guard_tick(g->m->guard);
    }
    assert(found.n == key.n && t->nodes == g->nodes); /* helper i stands for source i */
    uint32_t *by = asg_group(g, key.at, key.n, history_keys(g->h), &t->src_first);
    for (size_t i = 0; i < found.n; i++) {
        const source x = found.at[by[i]];
        vec_push(g->m, &t->sources, x);
        uint32_t helper = t->nodes++;
        add(t, x.from, helper, EDGE_FORCE, x.key, NO_ID);
        const source *before = i > t->src_first[x.key] ? &t->sources.at[i - 1] : NULL;
        if (before && t->start[before->by] == t->start[x.by])
            add(t, helper - 1, helper, EDGE_FORCE, x.key, NO_ID);
    }
    vec_free(g->m, &found);
    vec_free(g->m, &key);
    mem_put(g->m, by);
}

/* The helper that stands behind all sources of the block, all of which are of one key. */
static uint32_t block_helper(tester *t, uint32_t level, uint32_t index)
{
    uint64_t name = map_pair(level, index);
    uint32_t *known = id_map_at(t->g->m, &t->blocks, name);
    if (*known != MAP_NONE) return *known;
    uint32_t helper = *known = t->nodes++;
    key_id k = t->sources.at[index << level].key;
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t part = 2 * index + half;
        uint32_t from = level > 1 ? block_helper(t, level - 1, part) : t->sources.at[part].from;
        add(t, from, helper, EDGE_FORCE, k, NO_ID);
    }
    return helper;
}

/* The sources [from, end), none of which the read of ob returned, stand before the one that it did.
   In blocks as large as they fit, so that one long session costs a logarithm for each read. */
static void see_range(tester *t, uint32_t from, uint32_t end, uint32_t ob)
{
    while (from < end && t->ok) {
        uint32_t level = 0;
        while (level < 31 && !(from & ((2u << level) - 1)) && from + (2u << level) <= end) level++;
        if (!level)
            visible(t, t->sources.at[from].from, ob);
        else
            add(t, block_helper(t, level, from >> level), t->w->rf[ob], EDGE_FORCE,
                t->g->ob_key[ob], ob);
        from += 1u << level;
    }
}

/* All that the session of w read before w, and that installs the key of ob. */
static void see_reads(tester *t, node_id w, uint32_t ob)
{
    const asg *g = t->g;
    key_id k = g->ob_key[ob];
    uint32_t lo = t->src_first[k], hi = t->src_first[k + 1], first, rf = t->w->rf[ob];
    node_id bound[2] = {t->start[w], w};
    uint32_t range_of[2];
    for (int i = 0; i < 2; i++) { /* the first that was read by `bound` or later */
        SEARCH_FIRST(uint32_t, at, lo, hi, t->sources.at[at].by >= bound[i]);
        range_of[i] = at;
    }
    first = range_of[0];
    hi = range_of[1];
    assert(first <= hi && hi <= t->sources.n);
    if (first == hi) return;
    if (rf == RF_INIT) {
        for (; first < hi && t->ok; first++) visible(t, t->sources.at[first].from, ob);
        return;
    }
    uint32_t reader = id_map_get(&t->seen_by, map_pair(t->start[w], rf));
    if (reader != MAP_NONE && reader < w) {
        /* The version itself is among them: a prefix up to it, and the rest in blocks. */
        uint32_t own;
        SEARCH_FIRST(uint32_t, at, first, hi, t->sources.at[at].by >= reader);
        own = at;
        while (own < hi && t->sources.at[own].from != rf) own++;
        assert(own < hi);
        if (own > first) add(t, g->nodes + own - 1, rf, EDGE_FORCE, k, ob);
        see_range(t, own + 1, hi, ob);
    } else {
        add(t, g->nodes + hi - 1, rf, EDGE_FORCE, k, ob);
    }
    guard_tick(g->m->guard);
}

/* --- assembling ------------------------------------------------------------------------------- */

/* Whom v read from.  What a session did before one of its transactions it did before every later
   one, so that the last of them says all; the one before it is for reads of the last itself. */
static void find_ends(tester *t, node_id v)
{
    const asg *g = t->g;
    t->read_from.n = t->ends.n = 0;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
        if (t->w->rf[ob] < RF_LAST) vec_push(g->m, &t->read_from, (uint64_t)t->w->rf[ob]);
    if (t->read_from.n > 1) sort_u64(t->read_from.at, t->read_from.n);
    for (size_t i = 0; i < t->read_from.n; i++) {
        node_id u = (node_id)t->read_from.at[i];
        session_end *e = t->ends.n ? &t->ends.at[t->ends.n - 1] : NULL;
        if (e && e->last == u) continue;
        if (e && t->start[e->last] == t->start[u]) {
            e->before = e->last;
            e->last = u;
        } else {
            session_end next = {u, NO_ID};
            vec_push(g->m, &t->ends, next);
        }
    }
}

/* The reader's own end, or everyone it read from. */
static void each_read(tester *t, enum weak_level level)
{
    const asg *g = t->g;
    for (node_id v = 0; v < g->nodes && t->ok; v++) {
        if (!in(t, v)) continue;
        if (level != WEAK_RYW) find_ends(t, v); /* by another read */
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1] && t->ok; ob++) {
            uint32_t rf = t->w->rf[ob];
            if (rf >= RF_LAST && rf != RF_INIT) continue;
            if (level == WEAK_RYW && v != rf) see_writes(t, v, ob);
            for (size_t i = 0; level != WEAK_RYW && i < t->ends.n && t->ok; i++) {
                node_id end = t->ends.at[i].last != rf ? t->ends.at[i].last : t->ends.at[i].before;
                if (end == NO_ID) continue;
                if (level == WEAK_WFR)
                    see_reads(t, end, ob);
                else
                    see_writes(t, end, ob);
            }
        }
        guard_tick(g->m->guard);
    }
    vec_free(g->m, &t->read_from);
    vec_free(g->m, &t->ends);
}

static void base_edges(tester *t)
{
    const asg *g = t->g;
    for (node_id v = 0; v < g->nodes; v++) {
        if (!in(t, v)) continue;
        node_id p = g->so_pred[v];
        if (t->w->so && p != NO_ID && in(t, p)) add(t, p, v, EDGE_SO, NO_ID, NO_ID);
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            if (t->w->rf[ob] < RF_LAST) add(t, t->w->rf[ob], v, EDGE_WR, g->ob_key[ob], ob);
    }
    for (size_t i = 0; i < g->extra.n && t->w->extra; i++) {
        const edge *e = &g->extra.at[i];
        if (in(t, e->from) && in(t, e->to)) add(t, e->from, e->to, e->kind, e->key, e->ob);
    }
}

/* From an edge that starts at a helper back to the transaction behind it that is on no order. */
static void walk_cycle(tester *t, const uint32_t *in_first, const uint32_t *in_arc,
                       const uint8_t *done)
{
    asg *g = t->g;
    uint32_t *at = mem_array0(g->m, uint32_t, (size_t)t->nodes + 1), v = 0;
    VEC(uint32_t) walk = {0};
    while (done[v]) v++;
    while (!at[v]) {
        at[v] = (uint32_t)walk.n + 1;
        uint32_t i = in_first[v];
        while (done[t->arcs.at[in_arc[i]].from]) i++;
        vec_push(g->m, &walk, in_arc[i]);
        v = t->arcs.at[in_arc[i]].from;
    }
    /* forward, helpers left out: the edge that leaves the last of them has the reason */
    uint32_t from = NO_ID;
    size_t low = at[v] - 1, n = walk.n - low;
    size_t seam = 0; /* so that it begins at a transaction */
    while (t->arcs.at[walk.at[low + (n - 1 - seam % n)]].from >= g->nodes) seam++;
    for (size_t x = 0; x < n; x++) {
        const arc_in *e = &t->arcs.at[walk.at[low + (2 * n - 1 - seam - x) % n]];
        if (e->from < g->nodes) from = e->from;
        if (e->to >= g->nodes) continue;
        step s = {from, e->to, e->kind, e->key, e->ob};
        vec_push(g->m, &t->a->path.steps, s);
    }
    assert(n && t->a->path.steps.n);
    t->a->why = WHY_CYCLE;
    vec_free(g->m, &walk);
    mem_put(g->m, at);
}

static bool sort_all(tester *t)
{
    asg *g = t->g;
    size_t n = t->arcs.n;
    uint32_t *to = mem_array(g->m, uint32_t, n + 1), *from = mem_array(g->m, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        to[i] = t->arcs.at[i].to;
        from[i] = t->arcs.at[i].from;
    }
    uint32_t *in_first, *out_first;
    uint32_t *in_arc = asg_group(g, to, n, t->nodes, &in_first);
    uint32_t *out_arc = asg_group(g, from, n, t->nodes, &out_first);
    uint32_t *missing = mem_array(g->m, uint32_t, (size_t)t->nodes + 1);
    uint32_t *ready = mem_array(g->m, uint32_t, (size_t)t->nodes + 1), head = 0, tail = 0;
    uint8_t *done = mem_array0(g->m, uint8_t, (size_t)t->nodes + 1);
    t->a->n = 0;
    for (uint32_t v = 0; v < t->nodes; v++) {
        missing[v] = in_first[v + 1] - in_first[v];
        if (!missing[v]) ready[tail++] = v;
    }
    while (head < tail) {
        uint32_t v = ready[head++];
        done[v] = 1;
        if (v < g->nodes && in(t, v)) t->a->order[t->a->n++] = v;
        for (uint32_t i = out_first[v]; i < out_first[v + 1]; i++)
            if (!--missing[to[out_arc[i]]]) ready[tail++] = to[out_arc[i]];
        guard_tick(g->m->guard);
    }
    bool ok = tail == t->nodes;
    assert(head == tail && tail <= t->nodes && t->a->n <= g->nodes);
    if (!ok) walk_cycle(t, in_first, in_arc, done);
    mem_put(g->m, to);
    mem_put(g->m, from);
    mem_put(g->m, in_first);
    mem_put(g->m, in_arc);
    mem_put(g->m, out_first);
    mem_put(g->m, out_arc);
    mem_put(g->m, missing);
    mem_put(g->m, ready);
    mem_put(g->m, done);
    return ok;
}

bool session_test(asg *g, const view *w, enum weak_level level, decision *a)
{
    tester t = {.g = g, .w = w, .a = a, .nodes = g->nodes, .ok = true};
    a->path.steps.n = 0;
    a->why = WHY_NONE;
    asg_by_key(g);
    find_starts(&t);
    if (w->so && level == WEAK_MR) monotonic_reads(&t);
    if (w->so && level == WEAK_WFR) load_sources(&t);
    if (w->so && level != WEAK_MR) each_read(&t, level);
    a->derived = t.arcs.n;
    bool ok = t.ok;
    if (ok) {
        base_edges(&t);
        ok = sort_all(&t);
    }
    vec_free(g->m, &t.arcs);
    vec_free(g->m, &t.sources);
    mem_put(g->m, t.start);
    mem_put(g->m, t.src_first);
    id_map_free(g->m, &t.seen_by);
    id_map_free(g->m, &t.blocks);
    return ok;
}
