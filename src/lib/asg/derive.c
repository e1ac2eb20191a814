/*
 * derive.c - the version orders that read atomicity, monotonic atomic view and causality force.
 *
 * Biswas-Enea's form (doc/algorithms/weak.md): if r in t3 reads x from t1, and t2 != t1 installs
 * x and is visible to r by the level's premise, then t2 precedes t1.  The premises:
 *
 *   MAV     t3 read from t2 in an operation before r
 *   RA      t3 reads from t2, or t2 is before t3 in its session
 *   causal  t2 reaches t3 through session order and read-from
 *
 * Only edges that can matter are made: of a session's visible writers of x the last one, and none
 * that session order or causality already implies (AWDIT's observation).  MAV and RA walk, for
 * each pair of t3 and t2, the smaller of t2's write set and t3's reads, which is what keeps them
 * at O(n^1.5).  Causality uses clocks: for each chain of writers (a session, or a path along
 * session order and read-from, whichever are fewer) the last member that reaches a node, computed
 * for 32 chains at a time, so that memory does not grow with the number of sessions.
 *
 * If t1 is the initial state, a visible t2 is a contradiction by itself.
 */
#include <assert.h>

#include "asg/asg.h"
#include "base/search.h"

typedef struct deriver {
    asg *g;
    const view *w;
    uint32_t *bad_ob;
    node_id *bad_node;
    /* per key: the obligations of the current t3 that read it, newest first */
    uint32_t *head; /* ob + 1, valid if >= first + 1 of t3 */
    uint32_t *next; /* ob - ob_first[t3] -> ob + 1 of the same key */
    size_t next_cap;
    node_id *seen_by; /* per node: the t3 that seen_op is of */
} deriver;

/* t2 must precede what ob read.  False if that is the initial state. */
static bool precede(deriver *d, node_id t2, uint32_t ob)
{
    uint32_t t1 = d->w->rf[ob];
    assert(ob < d->g->obs && asg_install(d->g, t2, d->g->ob_key[ob]) != NO_ID);
    if (t1 == t2) return true;
    if (t1 == RF_INIT) {
        *d->bad_ob = ob;
        *d->bad_node = t2;
        return false;
    }
    if (t1 >= RF_LAST) return true; /* an open choice says nothing yet */
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
        assert(!mine || h <= first + i); /* the chain leads back, so it ends */
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
                if (ob + 16 < g->obs && w->rf[ob + 16] < RF_LAST) {
                    __builtin_prefetch(&g->inst_first[w->rf[ob + 16]]);
                    __builtin_prefetch(&g->extra_head[w->rf[ob + 16]]);
                    __builtin_prefetch(&g->so_pred[w->rf[ob + 16]]);
                }
                if (ob + 8 < g->obs && w->rf[ob + 8] < RF_LAST)
                    __builtin_prefetch(&g->inst_key[g->inst_first[w->rf[ob + 8]]]);
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
#ifdef RATEL_HOSTILE
#define MANY ((size_t)0)
#else
#define MANY ((size_t)16) /* edges for each read and transaction; below, cycles stay short */
#endif

typedef struct causal {
    asg *g;
    const view *w;
    uint32_t chains;
    bool by_node;    /* chains are sessions, in which places rise with node numbers */
    uint32_t *chain; /* per node, or NO_ID: none is needed, for it writes nothing */
    uint32_t *place; /* per node: position in its chain, from 1 */
    uint32_t *clock; /* per node, BLOCK entries: place of the last member of the chain that
                        reaches the node; 0 none */
    uint32_t *ob_start, *by_key;
    uint32_t *kw_first, *kw_inst;
    uint32_t *index; /* per node: which of the key's writers it is */
    /* of the current key */
    node_id *w_node;
    uint32_t *w_chain, *w_place, *unseen;
    uint32_t run_start[BLOCK], run_end[BLOCK], run_at[BLOCK];
    size_t many; /* so many edges: leave out those that a read before it in its session has made */
} causal;

/* Sessions as chains, those in which somebody writes; node order is chain order then. */
static void chain_sessions(causal *c)
{
    asg *g = c->g;
    c->chains = 0;
    for (node_id v = 0, end; v < g->nodes; v = end) {
        bool writes = g->inst_first[v] < g->inst_first[v + 1];
        for (end = v + 1; end < g->nodes && g->so_pred[end] == end - 1; end++)
            writes = writes || g->inst_first[end] < g->inst_first[end + 1];
        for (node_id u = v; u < end; u++) {
            c->chain[u] = writes ? c->chains : NO_ID;
            c->place[u] = u - v + 1;
        }
        c->chains += writes;
    }
    c->by_node = true;
}

/* A chain whose last member so far was `end` when it was seen to lead somewhere. */
typedef struct chain_end {
    uint32_t chain;
    node_id end;
} chain_end;

/* Threads all that write into paths, greedily: each continues a chain whose end leads to it, maybe
   through transactions that only read. */
static void chain_paths(causal *c, const node_id *order, uint32_t n)
{
    asg *g = c->g;
    const view *w = c->w;
    node_id *end = mem_array(g->m, node_id, (size_t)g->nodes + 1); /* per chain */
    chain_end *leads = mem_array(g->m, chain_end, (size_t)g->nodes + 1);
    c->chains = 0;
    memset(c->chain, 0xff, ((size_t)g->nodes + 1) * sizeof *c->chain);
    for (uint32_t i = 0; i < n; i++) {
        node_id v = order[i], p = w->so ? g->so_pred[v] : NO_ID;
        chain_end x = {NO_ID, NO_ID};
        if (p != NO_ID) x = leads[p];
        bool found = x.chain != NO_ID && end[x.chain] == x.end;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1] && !found; ob++) {
            if (w->rf[ob] >= RF_LAST) continue;
            x = leads[w->rf[ob]]; /* who was read from stands before v in the order */
            found = x.chain != NO_ID && end[x.chain] == x.end;
        }
        if (!found) x = (chain_end){NO_ID, NO_ID};
        if (g->inst_first[v] < g->inst_first[v + 1]) {
            c->place[v] = found ? c->place[x.end] + 1 : 1;
            if (!found) x.chain = c->chains++;
            c->chain[v] = x.chain;
            end[x.chain] = x.end = v;
        }
        leads[v] = x;
    }
    c->by_node = false;
    mem_put(g->m, leads);
    mem_put(g->m, end);
}

/* Sessions are chains where they are few, so that one block has them all.  Transactions of unknown
   outcome have no session successor, and without session order nobody has: then paths are.  They
   also are, if fewer, where sessions are many; and in small histories, which tests compare. */
static void make_chains(causal *c, const node_id *order, uint32_t n)
{
    asg *g = c->g;
    c->chain = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    c->place = mem_array0(g->m, uint32_t, (size_t)g->nodes + 1);
    bool sessions = c->w->so && !g->unknown;
    if (sessions) chain_sessions(c);
    if (sessions && c->chains <= BLOCK && g->nodes > 1024) return;
    uint32_t before = c->chains;
    chain_paths(c, order, n);
    if (sessions && c->chains >= before) chain_sessions(c);
}

/* The installs of each key, by chain and then by place. */
static void sort_writers(causal *c, const node_id *order, uint32_t n)
{
    asg *g = c->g;
    if (c->by_node) {
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

/* Rows are visited key by key, so each is a cache miss; asked for early, misses overlap. */
#define AHEAD 12u
static inline void fetch_row(const causal *c, node_id v)
{
    const uint32_t *row = c->clock + (size_t)v * BLOCK;
    __builtin_prefetch(row);
    __builtin_prefetch(row + 16);
}

/* Rows have a fixed length so that these loops become a few vector instructions. */
static void join(causal *c, uint32_t *row, node_id pred, uint32_t lo)
{
    const uint32_t *other = c->clock + (size_t)pred * BLOCK;
    for (uint32_t i = 0; i < BLOCK; i++) row[i] = other[i] > row[i] ? other[i] : row[i];
    uint32_t k = c->chain[pred] - lo;
    if (k < BLOCK && c->place[pred] > row[k]) row[k] = c->place[pred];
}

static void run_clocks(causal *c, const node_id *order, uint32_t n, uint32_t lo)
{
    asg *g = c->g;
    const view *w = c->w;
    for (uint32_t i = 0; i < n; i++) {
        node_id v = order[i];
        uint32_t *row = c->clock + (size_t)v * BLOCK;
        memset(row, 0, BLOCK * sizeof *row);
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            if (w->rf[ob] < RF_LAST) fetch_row(c, w->rf[ob]);
        if (w->so && g->so_pred[v] != NO_ID) join(c, row, g->so_pred[v], lo);
        node_id before = NO_ID;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t rf = w->rf[ob];
            if (rf >= RF_LAST || rf == before) continue;
            join(c, row, rf, lo);
            before = rf;
        }
        /* Nothing of v's own chain but what stands before v leads to v. */
        assert(c->chain[v] - lo >= BLOCK || row[c->chain[v] - lo] < c->place[v]);
        guard_tick(g->m->guard);
    }
}

/* The key's writers that take part, by chain and place, as local arrays. */
static uint32_t load_writers(causal *c, key_id k)
{
    asg *g = c->g;
    const view *w = c->w;
    uint32_t n = 0;
    for (uint32_t i = c->kw_first[k]; i < c->kw_first[k + 1]; i++) {
        node_id v = g->inst_node[c->kw_inst[i]];
        if (w->out && w->out[v]) continue;
        c->w_node[n] = v;
        c->w_chain[n] = c->chain[v];
        c->w_place[n] = c->place[v];
        assert(!n || c->w_chain[n - 1] < c->w_chain[n] ||
               (c->w_chain[n - 1] == c->w_chain[n] && c->w_place[n - 1] < c->w_place[n]));
        c->index[v] = n++;
    }
    return n;
}

/* For each writer t1 and each chain of the block: the place of the chain's first writer of the key
   that does not lead to t1.  Within t1's own chain clocks only grow, so cursors only advance; they
   are for chains with several writers of the key.  Where sessions are many most have one. */
static void first_unseen(causal *c, uint32_t n, uint32_t lo)
{
    uint32_t longer = 0, *first = c->unseen + (size_t)n * BLOCK; /* row n: the initial state */
    for (uint32_t i = 0; i < BLOCK; i++) first[i] = UINT32_MAX;
    for (uint32_t i = 0; i < n;) {
        uint32_t end = i + 1, j = c->w_chain[i] - lo;
        while (end < n && c->w_chain[end] == c->w_chain[i]) end++;
        if (j < BLOCK) first[j] = c->w_place[i];
        if (j < BLOCK && end > i + 1) {
            assert(longer < BLOCK);
            c->run_start[longer] = i;
            c->run_end[longer++] = end;
        }
        i = end;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!i || c->w_chain[i] != c->w_chain[i - 1])
            for (uint32_t r = 0; r < longer; r++) c->run_at[r] = c->run_start[r];
        uint32_t *row = c->unseen + (size_t)i * BLOCK, own = c->w_chain[i] - lo;
        const uint32_t *clock = c->clock + (size_t)c->w_node[i] * BLOCK;
        if (i + AHEAD < n) fetch_row(c, c->w_node[i + AHEAD]);
        for (uint32_t j = 0; j < BLOCK; j++) row[j] = clock[j] < first[j] ? first[j] : UINT32_MAX;
        if (own < BLOCK) row[own] = UINT32_MAX; /* unless it has more writers: below */
        for (uint32_t r = 0; r < longer; r++) {
            uint32_t at = c->run_at[r], end = c->run_end[r];
            uint32_t j = c->w_chain[c->run_start[r]] - lo, seen = clock[j];
            if (j == own) seen = c->w_place[i];
            while (at < end && c->w_place[at] <= seen) at++;
            c->run_at[r] = at;
            row[j] = at < end ? c->w_place[at] : UINT32_MAX;
        }
    }
}

/* The read saw more of chain ch than what it read from: the last such writer precedes that.  From
   then on it counts as seen by what was read, so that other reads of the same version, of which
   there may be as many as transactions, make no edge that is known already. */
static bool unseen_writer(deriver *d, causal *c, uint32_t n, uint32_t ob, uint32_t ch,
                          uint32_t upto, uint32_t *unseen)
{
    /* The last writer of the chain whose place is not after `upto` stands right before i. */
    SEARCH_FIRST(uint32_t, i, 0, n,
                 c->w_chain[i] > ch || (c->w_chain[i] == ch && c->w_place[i] > upto));
    assert(i > 0 && c->w_chain[i - 1] == ch);
    *unseen = i < n && c->w_chain[i] == ch ? c->w_place[i] : UINT32_MAX;
    return precede(d, c->w_node[i - 1], ob);
}

/* A read of the key before read i, by the same transaction or one before it in its session, in
   by_key; or NO_ID.  Every writer that it saw precedes what it read, which read i sees too: of
   those writers only the one that it read must precede what i read. */
static uint32_t read_before(const causal *c, uint32_t i, key_id k)
{
    const asg *g = c->g;
    if (!c->w->so || i == c->ob_start[k] || g->extra.n < c->many) return NO_ID;
    uint32_t before = c->by_key[i - 1], rf = c->w->rf[before];
    node_id u = g->ob_node[before], v = g->ob_node[c->by_key[i]];
    const uint32_t *session = g->h->txn_session;
    if (rf >= RF_LAST || (c->w->out && c->w->out[u])) return NO_ID;
    if (u != v && (g->maybe[u] || session[g->node_txn[u]] != session[g->node_txn[v]])) return NO_ID;
    return before;
}

static bool causal_key(deriver *d, causal *c, key_id k, uint32_t lo)
{
    asg *g = c->g;
    const view *w = c->w;
    uint32_t n = load_writers(c, k);
    if (!n) return true;
    first_unseen(c, n, lo);
    for (uint32_t i = c->ob_start[k]; i < c->ob_start[k + 1]; i++) {
        uint32_t ob = c->by_key[i], t1 = w->rf[ob];
        node_id t3 = g->ob_node[ob];
        if (i + AHEAD < c->ob_start[k + 1]) fetch_row(c, g->ob_node[c->by_key[i + AHEAD]]);
        if (i + 2 * AHEAD < c->ob_start[k + 1]) {
            __builtin_prefetch(&w->rf[c->by_key[i + 2 * AHEAD]]);
            __builtin_prefetch(&g->ob_node[c->by_key[i + 2 * AHEAD]]);
        }
        if ((t1 >= RF_LAST && t1 != RF_INIT) || (w->out && w->out[t3])) continue;
        assert(t1 == RF_INIT || (c->index[t1] < n && c->w_node[c->index[t1]] == t1));
        const uint32_t *row = c->clock + (size_t)t3 * BLOCK;
        uint32_t *unseen = c->unseen + (size_t)(t1 == RF_INIT ? n : c->index[t1]) * BLOCK;
        uint32_t any = 0;
        for (uint32_t j = 0; j < BLOCK; j++) any |= row[j] >= unseen[j];
        if (!any) continue;
        uint32_t before = read_before(c, i, k);
        const uint32_t *old =
            before == NO_ID ? NULL : c->clock + (size_t)g->ob_node[before] * BLOCK;
        uint32_t kept = before == NO_ID ? 0 : c->chain[w->rf[before]] - lo;
        for (uint32_t j = 0; j < BLOCK; j++) {
            if (row[j] < unseen[j] || (old && row[j] == old[j] && j != kept)) continue;
            if (!unseen_writer(d, c, n, ob, lo + j, row[j], &unseen[j])) return false;
        }
        guard_tick(g->m->guard);
    }
    return true;
}

static bool derive_causal(deriver *d, const node_id *order, uint32_t n)
{
    asg *g = d->g;
    causal c = {.g = g, .w = d->w};
    c.many = g->extra.n + MANY * (asg_obs(g) + g->nodes);
    asg_by_key(g);
    size_t keys = history_keys(g->h);
    make_chains(&c, order, n);
    sort_writers(&c, order, n);
    c.clock = mem_array(g->m, uint32_t, mem_bytes(g->m, (size_t)g->nodes + 1, BLOCK));
    c.by_key = asg_group(g, g->ob_key, asg_obs(g), keys, &c.ob_start);
    size_t most = 0;
    for (size_t k = 0; k < keys; k++)
        if (c.kw_first[k + 1] - c.kw_first[k] > most) most = c.kw_first[k + 1] - c.kw_first[k];
    c.index = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    c.w_node = mem_array(g->m, node_id, most + 1);
    c.w_chain = mem_array(g->m, uint32_t, most + 1);
    c.w_place = mem_array(g->m, uint32_t, most + 1);
    c.unseen = mem_array(g->m, uint32_t, mem_bytes(g->m, most + 1, BLOCK));
    bool ok = true;
    for (uint32_t lo = 0; lo < c.chains && ok; lo += BLOCK) {
        run_clocks(&c, order, n, lo);
        for (size_t k = 0; k < keys && ok; k++)
            if (c.ob_start[k] < c.ob_start[k + 1]) ok = causal_key(d, &c, (key_id)k, lo);
    }
    mem_put(g->m, c.index);
    mem_put(g->m, c.w_node);
    mem_put(g->m, c.w_chain);
    mem_put(g->m, c.w_place);
    mem_put(g->m, c.unseen);
    mem_put(g->m, c.chain);
    mem_put(g->m, c.place);
    mem_put(g->m, c.clock);
    mem_put(g->m, c.by_key);
    mem_put(g->m, c.ob_start);
    if (c.kw_first != g->kw_first) {
        mem_put(g->m, c.kw_first);
        mem_put(g->m, c.kw_inst);
    }
    return ok;
}

/* Without sessions, or if they are many, the past of most transactions is small: walk it, node by
   node.  Gives up (and forgets its edges) when that costs more than the clocks would: returns -1
   then. */
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

/* Hostile builds walk in every history, so that small ones, which the oracle knows, do so, too. */
#ifdef RATEL_HOSTILE
#define FEW_SESSIONS 0u
#else
#define FEW_SESSIONS 256u
#endif

/* Has the history so many sessions that the clocks of all of them cost more than most pasts? */
static bool many_sessions(const asg *g, const view *w)
{
    uint32_t n = 0;
    for (node_id v = 0; w->so && v < g->nodes && n <= FEW_SESSIONS; v++)
        n += g->so_pred[v] == NO_ID;
    return n > FEW_SESSIONS;
}

bool derive_edges(asg *g, const view *w, enum derive_level level, const node_id *order, uint32_t n,
                  uint32_t *bad_ob, node_id *bad_node)
{
    deriver d = {.g = g, .w = w, .bad_ob = bad_ob, .bad_node = bad_node};
    if (level == DERIVE_CC && w->so && !g->unknown && !many_sessions(g, w))
        return derive_causal(&d, order, n);
    size_t keys = history_keys(g->h);
    d.head = mem_array0(g->m, uint32_t, keys + 1);
    d.seen_by = mem_array(g->m, node_id, (size_t)g->nodes + 1);
    memset(d.seen_by, 0xff, ((size_t)g->nodes + 1) * sizeof *d.seen_by);
    int ok;
    if (level == DERIVE_CC) {
        uint64_t size = (uint64_t)asg_obs(g) + g->nodes;
        ok = derive_causal_walk(&d, w->so && !g->unknown ? 8 * size : 64 * size + 100000);
        if (ok == -1) ok = derive_causal(&d, order, n);
    } else {
        ok = derive_direct(&d, level == DERIVE_RA);
    }
    mem_put(g->m, d.head);
    mem_put(g->m, d.next);
    mem_put(g->m, d.seen_by);
    return ok == 1;
}
