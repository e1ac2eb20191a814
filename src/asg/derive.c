/*
 * derive.c - the version orders that read atomicity, monotonic atomic view and causality force.
 *
 * Biswas-Enea's form (LEVELS.md 4.2): if r in t3 reads x from t1, and t2 != t1 installs x and is
 * visible to r by the level's premise, then t2 precedes t1.  The premises:
 *
 *   MAV     t3 read from t2 in an operation before r
 *   RA      t3 reads from t2, or t2 is before t3 in its session
 *   causal  t2 reaches t3 through session order and read-from
 *
 * Only edges that can matter are made: of a session's visible writers of x the last one, and none
 * that session order or causality already implies (AWDIT's observation).  MAV and RA walk, for
 * each pair of t3 and t2, the smaller of t2's write set and t3's reads, which is what keeps them
 * at O(n^1.5).  Causality uses clocks: for each chain (a session, or a transaction of unknown
 * outcome) the last member that reaches a node, computed for 32 chains at a time, so that memory
 * does not grow with the number of sessions.
 *
 * If t1 is the initial state, a visible t2 is a contradiction by itself.
 */
#include <assert.h>

#include "asg/asg.h"

typedef struct deriver {
    asg *g;
    const view *w;
    uint32_t *bad_ob;
    node_id *bad_node;
    /* per key: the obligations of the current t3 that read it, newest first */
    uint32_t *head; /* ob + 1, valid if >= first + 1 of t3 */
    uint32_t *next; /* ob - ob_first[t3] -> ob + 1 of the same key */
    size_t next_cap;
    node_id *seen_by;  /* per node: the t3 that seen_op is of */
} deriver;

/* t2 must precede what ob read.  False if that is the initial state. */
static bool precede(deriver *d, node_id t2, uint32_t ob)
{
    uint32_t t1 = d->w->rf[ob];
    if (t1 == t2) return true;
    if (t1 == RF_INIT) {
        *d->bad_ob = ob;
        *d->bad_node = t2;
        return false;
    }
    if (t1 >= RF_LAST) return true; /* an open choice: says nothing yet */
    if (d->w->so && d->g->so_pred[t1] == t2) return true;
    uint32_t newest = d->g->extra_head[t1];
    if (newest != NO_ID && d->g->extra.at[newest].from == t2) return true; /* known already */
    asg_add_edge(d->g, t2, t1, EDGE_FORCE, d->g->ob_key[ob], ob);
    return true;
}

/* All obligations of t3 on key k whose operation is after `after` (NO_ID: all). */
static bool precede_key(deriver *d, node_id t3, node_id t2, key_id k, op_id after)
{
    uint32_t first = d->g->ob_first[t3];
    uint32_t i = d->head[k];
    if (i <= first || i > d->g->ob_first[t3 + 1] || d->g->ob_key[i - 1] != k) return true;
    for (; i; i = d->next[i - 1 - first]) {
        if (after != NO_ID && d->g->ob_op[i - 1] <= after) continue;
        if (!precede(d, t2, i - 1)) return false;
    }
    return true;
}

static void index_reads(deriver *d, node_id t3)
{
    asg *g = d->g;
    uint32_t first = g->ob_first[t3], n = g->ob_first[t3 + 1] - first;
    if (n > d->next_cap) {
        d->next_cap = n * 2;
        d->next = mem_resize(g->m, d->next, mem_bytes(g->m, d->next_cap, sizeof *d->next));
    }
    for (uint32_t i = 0; i < n; i++) {
        key_id k = g->ob_key[first + i];
        uint32_t h = d->head[k];
        bool mine = h > first && h <= first + n && g->ob_key[h - 1] == k && h < first + i + 1;
        d->next[i] = mine ? h : 0;
        d->head[k] = first + i + 1;
    }
}

static bool visible_source(deriver *d, node_id t3, node_id t2, op_id after)
{
    asg *g = d->g;
    uint32_t reads = g->ob_first[t3 + 1] - g->ob_first[t3];
    uint32_t lo = g->inst_first[t2], hi = g->inst_first[t2 + 1];
    if (hi - lo <= 32 || hi - lo <= reads) {
        for (uint32_t i = lo; i < hi; i++)
            if (!precede_key(d, t3, t2, g->inst_key[i], after)) return false;
        return true;
    }
    for (uint32_t ob = g->ob_first[t3]; ob < g->ob_first[t3 + 1]; ob++) {
        if (after != NO_ID && g->ob_op[ob] <= after) continue;
        if (asg_install(g, t2, g->ob_key[ob]) != NO_ID && !precede(d, t2, ob)) return false;
    }
    return true;
}

static bool derive_direct(deriver *d, bool ra)
{
    asg *g = d->g;
    const view *w = d->w;
    /* RA: last committed writer of each key in the session so far, and the session it is of. */
    size_t keys = history_keys(g->h);
    node_id *last_writer = NULL;
    if (ra && w->so) {
        last_writer = mem_array(g->m, node_id, keys + 1);
        memset(last_writer, 0xff, (keys + 1) * sizeof *last_writer);
    }
    node_id session_start = 0;
    bool ok = true;
    for (node_id t3 = 0; t3 < g->nodes && ok; t3++) {
        guard_tick(g->m->guard);
        const uint32_t *session = g->h->txn_session;
        if (t3 && session[g->node_txn[t3 - 1]] != session[g->node_txn[t3]]) session_start = t3;
        bool in = !w->out || !w->out[t3];
        if (in && g->ob_first[t3] < g->ob_first[t3 + 1]) {
            index_reads(d, t3);
            for (uint32_t ob = g->ob_first[t3]; ob < g->ob_first[t3 + 1] && ok; ob++) {
                uint32_t t2 = w->rf[ob];
                if (last_writer) {
                    node_id own = last_writer[g->ob_key[ob]];
                    if (own != NO_ID && own >= session_start && own != t3) ok = precede(d, own, ob);
                }
                if (!ok || t2 >= RF_LAST) continue;
                if (d->seen_by[t2] == t3) continue; /* an earlier operation counts already */
                d->seen_by[t2] = t3;
                ok = visible_source(d, t3, t2, ra ? NO_ID : g->ob_op[ob]);
            }
        }
        if (last_writer && in && !g->maybe[t3])
            for (uint32_t i = g->inst_first[t3]; i < g->inst_first[t3 + 1]; i++)
                last_writer[g->inst_key[i]] = t3;
    }
    mem_put(g->m, last_writer);
    return ok;
}

/* --- causality -------------------------------------------------------------------------------- */

#define BLOCK 32u

typedef struct causal {
    asg *g;
    const view *w;
    uint32_t chains;
    uint32_t *chain; /* per node */
    uint32_t *place; /* per node: position in its chain, from 1; monotone with the node number */
    uint32_t *clock; /* per node, `width` entries: place of the last member of the chain that
                        reaches the node; 0 none */
    uint32_t width;
    uint32_t *ob_start, *by_key;
    uint32_t *kw_first, *kw_inst;
    uint32_t *group; /* scratch: per chain of the block, cursor into the key's writers */
} causal;

/* Sessions are chains while session order counts.  Transactions of unknown outcome have no
   session successor, and without session order nobody has: then nodes are threaded greedily into
   paths, each continuing the chain of a predecessor that is still its chain's end. */
static void make_chains(causal *c, const node_id *order, uint32_t n)
{
    asg *g = c->g;
    const view *w = c->w;
    c->chain = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    c->place = mem_array0(g->m, uint32_t, (size_t)g->nodes + 1);
    if (w->so && !g->unknown) {
        for (node_id v = 0; v < g->nodes; v++) {
            node_id p = g->so_pred[v];
            c->chain[v] = p != NO_ID ? c->chain[p] : c->chains++;
            c->place[v] = p != NO_ID ? c->place[p] + 1 : 1;
        }
        return;
    }
    node_id *end = mem_array(g->m, node_id, (size_t)g->nodes + 1); /* per chain */
    for (uint32_t i = 0; i < n; i++) {
        node_id v = order[i], p = w->so ? g->so_pred[v] : NO_ID;
        bool found = p != NO_ID && end[c->chain[p]] == p;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1] && !found; ob++) {
            p = w->rf[ob];
            found = p < RF_LAST && end[c->chain[p]] == p;
        }
        c->chain[v] = found ? c->chain[p] : c->chains++;
        c->place[v] = found ? c->place[p] + 1 : 1;
        end[c->chain[v]] = v;
    }
    mem_put(g->m, end);
}

/* The installs of each key, by chain and then by place. */
static void sort_writers(causal *c, const node_id *order, uint32_t n)
{
    asg *g = c->g;
    if (c->w->so && !g->unknown) { /* node order is chain order */
        c->kw_first = g->kw_first;
        c->kw_inst = g->kw_inst;
        return;
    }
    size_t insts = g->insts, m = 0;
    uint32_t *inst = mem_array(g->m, uint32_t, insts + 1);
    uint32_t *chain = mem_array(g->m, uint32_t, insts + 1);
    for (uint32_t i = 0; i < n; i++) /* places rise along the order */
        for (uint32_t j = g->inst_first[order[i]]; j < g->inst_first[order[i] + 1]; j++) {
            inst[m] = j;
            chain[m++] = c->chain[order[i]];
        }
    uint32_t *first;
    uint32_t *by_chain = asg_group(g, chain, m, c->chains, &first);
    mem_put(g->m, first);
    for (size_t i = 0; i < m; i++) by_chain[i] = inst[by_chain[i]];
    for (size_t i = 0; i < m; i++) chain[i] = g->inst_key[by_chain[i]];
    c->kw_inst = asg_group(g, chain, m, history_keys(g->h), &c->kw_first);
    for (size_t i = 0; i < m; i++) c->kw_inst[i] = by_chain[c->kw_inst[i]];
    mem_put(g->m, inst);
    mem_put(g->m, chain);
    mem_put(g->m, by_chain);
}

static void join(causal *c, uint32_t *row, node_id pred, uint32_t lo)
{
    const uint32_t *other = c->clock + (size_t)pred * c->width;
    for (uint32_t i = 0; i < c->width; i++)
        if (other[i] > row[i]) row[i] = other[i];
    uint32_t k = c->chain[pred] - lo;
    if (k < c->width && c->place[pred] > row[k]) row[k] = c->place[pred];
}

static void run_clocks(causal *c, const node_id *order, uint32_t n, uint32_t lo)
{
    asg *g = c->g;
    const view *w = c->w;
    for (uint32_t i = 0; i < n; i++) {
        node_id v = order[i];
        uint32_t *row = c->clock + (size_t)v * c->width;
        memset(row, 0, c->width * sizeof *row);
        if (w->so && g->so_pred[v] != NO_ID) join(c, row, g->so_pred[v], lo);
        node_id before = NO_ID;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t rf = w->rf[ob];
            if (rf >= RF_LAST || rf == before) continue;
            join(c, row, rf, lo);
            before = rf;
        }
        guard_tick(g->m->guard);
    }
}

/* One key: for each read and each chain of the block, the last visible writer. */
static bool causal_key(deriver *d, causal *c, key_id k, uint32_t lo)
{
    asg *g = c->g;
    const view *w = c->w;
    const uint32_t *writers = c->kw_inst + c->kw_first[k];
    uint32_t n = c->kw_first[k + 1] - c->kw_first[k];
    /* Those of one chain are a run, rising in place. */
    uint32_t first = 0;
    while (first < n && c->chain[g->inst_node[writers[first]]] < lo) first++;
    uint32_t end = first;
    while (end < n && c->chain[g->inst_node[writers[end]]] < lo + c->width) end++;
    if (first == end) return true;
    for (uint32_t i = c->ob_start[k]; i < c->ob_start[k + 1]; i++) {
        uint32_t ob = c->by_key[i], t1 = w->rf[ob];
        node_id t3 = g->ob_node[ob];
        if ((t1 >= RF_LAST && t1 != RF_INIT) || (w->out && w->out[t3])) continue;
        const uint32_t *row = c->clock + (size_t)t3 * c->width;
        const uint32_t *row1 = t1 < RF_LAST ? c->clock + (size_t)t1 * c->width : NULL;
        for (uint32_t a = first; a < end;) {
            uint32_t ch = c->chain[g->inst_node[writers[a]]], upto = row[ch - lo];
            uint32_t b = a; /* end of the run */
            node_id t2 = NO_ID;
            /* Runs are short or searched from a remembered cursor; galloping keeps both cheap. */
            uint32_t step_ = 1;
            while (b < end && c->chain[g->inst_node[writers[b]]] == ch &&
                   c->place[g->inst_node[writers[b]]] <= upto) {
                t2 = g->inst_node[writers[b]];
                uint32_t jump = b + step_;
                if (jump < end && c->chain[g->inst_node[writers[jump]]] == ch &&
                    c->place[g->inst_node[writers[jump]]] <= upto) {
                    b = jump;
                    step_ *= 2;
                } else if (step_ > 1) {
                    step_ = 1;
                } else {
                    b++;
                }
            }
            if (t2 != NO_ID && (!w->out || !w->out[t2]) && t2 != t1 && t2 != t3) {
                bool implied = row1 && row1[ch - lo] >= c->place[t2];
                if (!implied && row1 && c->chain[t1] == ch && c->place[t1] > c->place[t2])
                    implied = true;
                if (!implied && !precede(d, t2, ob)) return false;
            }
            a = c->group[a];
        }
        guard_tick(g->m->guard);
    }
    return true;
}

static bool derive_causal(deriver *d, const node_id *order, uint32_t n)
{
    asg *g = d->g;
    causal c = {.g = g, .w = d->w};
    asg_by_key(g);
    size_t keys = history_keys(g->h);
    make_chains(&c, order, n);
    sort_writers(&c, order, n);
    c.width = c.chains < BLOCK ? (c.chains ? c.chains : 1) : BLOCK;
    c.clock = mem_array(g->m, uint32_t, mem_bytes(g->m, (size_t)g->nodes + 1, c.width));
    c.by_key = asg_group(g, g->ob_key, asg_obs(g), keys, &c.ob_start);
    uint32_t most = 0;
    for (size_t k = 0; k < keys; k++)
        if (c.kw_first[k + 1] - c.kw_first[k] > most) most = c.kw_first[k + 1] - c.kw_first[k];
    c.group = mem_array(g->m, uint32_t, (size_t)most + 1);
    bool ok = true;
    for (uint32_t lo = 0; lo < c.chains && ok; lo += c.width) {
        run_clocks(&c, order, n, lo);
        for (size_t k = 0; k < keys && ok; k++) {
            if (c.ob_start[k] == c.ob_start[k + 1]) continue;
            /* group[i]: where the run of writer i's chain ends */
            const uint32_t *wr = c.kw_inst + c.kw_first[k];
            uint32_t m = c.kw_first[k + 1] - c.kw_first[k];
            for (uint32_t i = m; i-- > 0;)
                c.group[i] = i + 1 < m && c.chain[g->inst_node[wr[i]]] ==
                                              c.chain[g->inst_node[wr[i + 1]]]
                                 ? c.group[i + 1]
                                 : i + 1;
            ok = causal_key(d, &c, (key_id)k, lo);
        }
    }
    mem_put(g->m, c.chain);
    mem_put(g->m, c.place);
    mem_put(g->m, c.clock);
    mem_put(g->m, c.by_key);
    mem_put(g->m, c.ob_start);
    mem_put(g->m, c.group);
    if (c.kw_first != g->kw_first) {
        mem_put(g->m, c.kw_first);
        mem_put(g->m, c.kw_inst);
    }
    return ok;
}

/* Without sessions the past of most transactions is small: walk it, node by node.  Gives up (and
   forgets its edges) when that costs more than the clocks would: returns -1 then. */
static int derive_causal_walk(deriver *d, uint64_t budget)
{
    asg *g = d->g;
    const view *w = d->w;
    size_t keep = g->extra.n;
    VEC(node_id) work = {0};
    int ok = 1;
    for (node_id t3 = 0; t3 < g->nodes && ok == 1; t3++) {
        if ((w->out && w->out[t3]) || g->ob_first[t3] == g->ob_first[t3 + 1]) continue;
        index_reads(d, t3);
        work.n = 0;
        vec_push(g->m, &work, t3);
        while (work.n && ok == 1) {
            node_id v = work.at[--work.n];
            if (v != t3 && !visible_source(d, t3, v, NO_ID)) ok = 0;
            uint64_t cost = g->ob_first[v + 1] - g->ob_first[v] + 1;
            if (budget < cost) ok = -1;
            budget -= cost;
            if (w->so && g->so_pred[v] != NO_ID && d->seen_by[g->so_pred[v]] != t3) {
                d->seen_by[g->so_pred[v]] = t3;
                vec_push(g->m, &work, g->so_pred[v]);
            }
            for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
                uint32_t rf = w->rf[ob];
                if (rf >= RF_LAST || d->seen_by[rf] == t3) continue;
                d->seen_by[rf] = t3;
                vec_push(g->m, &work, rf);
            }
            guard_tick(g->m->guard);
        }
    }
    vec_free(g->m, &work);
    if (ok == -1) asg_drop_edges(g, keep);
    return ok;
}

bool derive_edges(asg *g, const view *w, enum derive_level level, const node_id *order, uint32_t n,
                  uint32_t *bad_ob, node_id *bad_node)
{
    deriver d = {.g = g, .w = w, .bad_ob = bad_ob, .bad_node = bad_node};
    if (level == DERIVE_CC && w->so && !g->unknown) return derive_causal(&d, order, n);
    size_t keys = history_keys(g->h);
    d.head = mem_array0(g->m, uint32_t, keys + 1);
    d.seen_by = mem_array(g->m, node_id, (size_t)g->nodes + 1);
    memset(d.seen_by, 0xff, ((size_t)g->nodes + 1) * sizeof *d.seen_by);
    int ok;
    if (level == DERIVE_CC) {
        ok = derive_causal_walk(&d, 64 * ((uint64_t)asg_obs(g) + g->nodes) + 100000);
        if (ok == -1) ok = derive_causal(&d, order, n);
    } else {
        ok = derive_direct(&d, level == DERIVE_RA);
    }
    mem_put(g->m, d.head);
    mem_put(g->m, d.next);
    mem_put(g->m, d.seen_by);
    return ok == 1;
}
