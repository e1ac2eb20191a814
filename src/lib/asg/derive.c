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
 * for 32 chains at a time, so that memory does not grow with the number of sessions.  Nodes whose
 * clocks are equal share one row, and of a block only the keys are looked at that its chains write.
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

#ifdef RATEL_HOSTILE
#define BLOCK 4u /* so that small histories, which the oracle knows, have several blocks */
#else
#define BLOCK 32u
#endif
#define FROM_INIT (NO_ID - 1) /* as a source: the initial state */
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
    uint32_t *clock; /* rows of BLOCK entries: place of the last member of the chain that reaches
                        the node; 0 none.  Row 0 is all zeros */
    uint32_t *row;   /* per node: its row, which it may share with others */
    uint32_t rows;   /* so many rows are in use */
    /* The writers of each key that take part, by chain and then by place. */
    uint32_t *kw_first;
    node_id *w_node;
    uint32_t *w_chain, *w_place;
    /* The reads of each key, with the reader and the place of the writer among w_node; or
       FROM_INIT, or NO_ID: it says nothing. */
    uint32_t *ob_start, *by_key, *source;
    node_id *reader;
    /* Per block: the keys that its chains write, and where in w_node the first such write is. */
    uint32_t *block_start, *block_key, *block_from;
    /* Of the current key and block, per chain: its writers, and the place of the first one. */
    uint32_t from[BLOCK], end[BLOCK], first[BLOCK];
    uint32_t near[BLOCK];             /* where the last search among the chain's writers ended */
    uint32_t longer[BLOCK], n_longer; /* the chains with several writers */
    /* ... and per writer, made when it is needed (made[i] == turn): see unseen_by. */
    uint32_t *unseen, *made, turn;
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

/* Fills the writers of each key. */
static void sort_writers(causal *c, const node_id *order, uint32_t n)
{
    asg *g = c->g;
    const view *w = c->w;
    size_t m = 0;
    uint32_t *inst = mem_array(g->m, uint32_t, g->insts + 1);
    uint32_t *group = mem_array(g->m, uint32_t, g->insts + 1);
    /* Places rise along the order; along node numbers, if chains are sessions, chains do, too. */
    for (uint32_t i = 0; i < (c->by_node ? g->nodes : n); i++) {
        node_id v = c->by_node ? i : order[i];
        if (w->out && w->out[v]) continue;
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
            inst[m] = j;
            group[m++] = c->chain[v];
        }
    }
    if (!c->by_node) {
        uint32_t *first, *by_chain = asg_group(g, group, m, c->chains, &first);
        for (size_t i = 0; i < m; i++) by_chain[i] = inst[by_chain[i]];
        mem_put(g->m, first);
        mem_put(g->m, inst);
        inst = by_chain;
    }
    for (size_t i = 0; i < m; i++) group[i] = g->inst_key[inst[i]];
    uint32_t *by_key = asg_group(g, group, m, history_keys(g->h), &c->kw_first);
    c->w_node = mem_array(g->m, node_id, m + 1);
    c->w_chain = mem_array(g->m, uint32_t, m + 1);
    c->w_place = mem_array(g->m, uint32_t, m + 1);
    for (size_t i = 0; i < m; i++) {
        node_id v = c->w_node[i] = g->inst_node[inst[by_key[i]]];
        c->w_chain[i] = c->chain[v];
        c->w_place[i] = c->place[v];
    }
    mem_put(g->m, inst);
    mem_put(g->m, group);
    mem_put(g->m, by_key);
}

/* Fills the reads of each key. */
static void sort_reads(causal *c)
{
    asg *g = c->g;
    const view *w = c->w;
    uint32_t *index = mem_array(g->m, uint32_t, (size_t)g->nodes + 1);
    c->by_key = asg_group(g, g->ob_key, asg_obs(g), history_keys(g->h), &c->ob_start);
    c->source = mem_array(g->m, uint32_t, (size_t)asg_obs(g) + 1);
    c->reader = mem_array(g->m, node_id, (size_t)asg_obs(g) + 1);
    for (key_id k = 0; k < history_keys(g->h); k++) {
        if (c->ob_start[k] == c->ob_start[k + 1]) continue;
        for (uint32_t i = c->kw_first[k]; i < c->kw_first[k + 1]; i++) index[c->w_node[i]] = i;
        for (uint32_t i = c->ob_start[k]; i < c->ob_start[k + 1]; i++) {
            uint32_t rf = w->rf[c->by_key[i]];
            node_id v = c->reader[i] = g->ob_node[c->by_key[i]];
            c->source[i] = rf == RF_INIT ? FROM_INIT : rf < RF_LAST ? index[rf] : NO_ID;
            if (w->out && w->out[v]) c->source[i] = NO_ID;
            assert(c->source[i] >= FROM_INIT || c->w_node[c->source[i]] == rf);
        }
        guard_tick(g->m->guard);
    }
    mem_put(g->m, index);
}

/* Groups the keys by the blocks whose chains write them. */
static void keys_by_block(causal *c)
{
    asg *g = c->g;
    VEC(uint32_t) key = {0}, from = {0}, block = {0};
    for (uint32_t k = 0; k < history_keys(g->h); k++) {
        if (c->ob_start[k] == c->ob_start[k + 1]) continue;
        uint32_t last = NO_ID;
        for (uint32_t i = c->kw_first[k]; i < c->kw_first[k + 1]; i++) {
            assert(i == c->kw_first[k] || c->w_chain[i - 1] < c->w_chain[i] ||
                   (c->w_chain[i - 1] == c->w_chain[i] && c->w_place[i - 1] < c->w_place[i]));
            if (c->w_chain[i] / BLOCK == last) continue;
            last = c->w_chain[i] / BLOCK;
            vec_push(g->m, &key, k);
            vec_push(g->m, &from, i);
            vec_push(g->m, &block, last);
        }
    }
    uint32_t *at = asg_group(g, block.at, block.n, c->chains / BLOCK + 1, &c->block_start);
    c->block_key = mem_array(g->m, uint32_t, key.n + 1);
    c->block_from = mem_array(g->m, uint32_t, key.n + 1);
    for (size_t i = 0; i < key.n; i++) {
        c->block_key[i] = key.at[at[i]];
        c->block_from[i] = from.at[at[i]];
    }
    mem_put(g->m, at);
    vec_free(g->m, &key);
    vec_free(g->m, &from);
    vec_free(g->m, &block);
}

static inline uint32_t *row_at(const causal *c, uint32_t row)
{
    return c->clock + (size_t)row * BLOCK;
}

static inline const uint32_t *row_of(const causal *c, node_id v)
{
    return row_at(c, c->row[v]);
}

/* Rows are visited key by key, so each is a cache miss; asked for early, misses overlap. */
#define AHEAD 12u
static inline void fetch_row(const causal *c, node_id v)
{
    const uint32_t *row = row_of(c, v);
    __builtin_prefetch(row);
    __builtin_prefetch(row + 16);
}

/* Joins a row with that of a predecessor and with the predecessor itself.  Returns the result: one
   of the two rows if it is at least the other, else the first free one, c->rows, which then has it.
   Rows have a fixed length so that these loops become a few vector instructions. */
static uint32_t join(causal *c, uint32_t at, node_id pred, uint32_t lo)
{
    uint32_t id = c->row[pred], more = 0, less = 0, *free = row_at(c, c->rows);
    assert(at <= c->rows && id < c->rows);
    if (id != at && id) {
        const uint32_t *row = row_at(c, at), *other = row_at(c, id);
        for (uint32_t i = 0; i < BLOCK; i++) more |= other[i] > row[i];
        for (uint32_t i = 0; i < BLOCK; i++) less |= other[i] < row[i];
        if (more && !less) at = id;
        if (more && less) {
            for (uint32_t i = 0; i < BLOCK; i++) free[i] = other[i] > row[i] ? other[i] : row[i];
            at = c->rows;
        }
    }
    uint32_t k = c->chain[pred] - lo;
    if (k >= BLOCK || c->place[pred] <= row_at(c, at)[k]) return at;
    if (at != c->rows) memcpy(free, row_at(c, at), BLOCK * sizeof *free);
    free[k] = c->place[pred];
    return c->rows;
}

static void run_clocks(causal *c, const node_id *order, uint32_t n, uint32_t lo)
{
    asg *g = c->g;
    const view *w = c->w;
    memset(c->clock, 0, BLOCK * sizeof *c->clock);
    c->rows = 1;
    for (uint32_t i = 0; i < n; i++) {
        node_id v = order[i];
        uint32_t at = 0;
        if (w->so && g->so_pred[v] != NO_ID) at = join(c, at, g->so_pred[v], lo);
        node_id before = NO_ID;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t rf = w->rf[ob];
            if (rf >= RF_LAST || rf == before) continue;
            at = join(c, at, rf, lo);
            before = rf;
        }
        c->row[v] = at;
        c->rows += at == c->rows;
        assert(c->rows <= n + 1);
        /* Nothing of v's own chain but what stands before v leads to v. */
        assert(c->chain[v] - lo >= BLOCK || row_at(c, at)[c->chain[v] - lo] < c->place[v]);
        guard_tick(g->m->guard);
    }
}

/* The writers of the key in the block's chains; `from` is the first of them. */
static void load_block(causal *c, key_id k, uint32_t from, uint32_t lo)
{
    c->turn++;
    c->n_longer = 0;
    for (uint32_t j = 0; j < BLOCK; j++) {
        c->first[j] = UINT32_MAX;
        c->from[j] = c->end[j] = 0;
    }
    for (uint32_t i = from, end = c->kw_first[k + 1]; i < end && c->w_chain[i] - lo < BLOCK; i++) {
        uint32_t j = c->w_chain[i] - lo;
        if (!c->end[j]) {
            c->from[j] = c->near[j] = i;
            c->first[j] = c->w_place[i];
        } else if (c->end[j] == c->from[j] + 1) {
            c->longer[c->n_longer++] = j;
        }
        c->end[j] = i + 1;
    }
}

#define STEPS 8 /* before the whole chain is searched */

/* The place of the first writer of the chain that is not in its first `seen` places.  Questions
   that follow each other are mostly about neighbours. */
static uint32_t next_writer(causal *c, uint32_t j, uint32_t seen)
{
    const uint32_t *place = c->w_place;
    uint32_t i = c->near[j], from = c->from[j], end = c->end[j], steps = STEPS;
    for (; i < end && place[i] <= seen && steps; steps--) i++;
    for (; i > from && place[i - 1] > seen && steps; steps--) i--;
    if (!steps) {
        SEARCH_FIRST(uint32_t, at, from, end, place[at] > seen);
        i = at;
    }
    assert((i == from || place[i - 1] <= seen) && (i == end || place[i] > seen));
    c->near[j] = i;
    return i < end ? place[i] : UINT32_MAX;
}

/* For a writer t1 of the key (FROM_INIT: the initial state) and each chain of the block: the place
   of the chain's first writer of the key that does not lead to t1.  Most chains have one. */
static uint32_t *unseen_by(causal *c, key_id k, uint32_t t1, uint32_t lo)
{
    uint32_t first = c->kw_first[k],
             slot = t1 == FROM_INIT ? c->kw_first[k + 1] - first : t1 - first;
    uint32_t *unseen = c->unseen + (size_t)slot * BLOCK;
    if (c->made[slot] == c->turn) return unseen;
    c->made[slot] = c->turn;
    if (t1 == FROM_INIT) {
        memcpy(unseen, c->first, sizeof c->first);
        return unseen;
    }
    const uint32_t *clock = row_of(c, c->w_node[t1]);
    uint32_t own = c->w_chain[t1] - lo;
    for (uint32_t j = 0; j < BLOCK; j++)
        unseen[j] = clock[j] < c->first[j] ? c->first[j] : UINT32_MAX;
    if (own < BLOCK) unseen[own] = UINT32_MAX; /* unless it has more writers: */
    for (uint32_t i = 0; i < c->n_longer; i++) {
        uint32_t j = c->longer[i];
        unseen[j] = next_writer(c, j, j == own ? c->w_place[t1] : clock[j]);
    }
    return unseen;
}

/* The read saw more of chain ch than what it read from: the last such writer precedes that.  From
   then on it counts as seen by what was read, so that other reads of the same version, of which
   there may be as many as transactions, make no edge that is known already. */
static bool unseen_writer(deriver *d, const causal *c, uint32_t ob, uint32_t j, uint32_t upto,
                          uint32_t *unseen)
{
    /* The last writer of the chain whose place is not after `upto` stands right before i. */
    SEARCH_FIRST(uint32_t, i, c->from[j], c->end[j], c->w_place[i] > upto);
    assert(i > c->from[j]);
    *unseen = i < c->end[j] ? c->w_place[i] : UINT32_MAX;
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

static bool causal_key(deriver *d, causal *c, key_id k, uint32_t from, uint32_t lo)
{
    asg *g = c->g;
    const view *w = c->w;
    uint32_t end = c->ob_start[k + 1];
    load_block(c, k, from, lo);
    for (uint32_t i = c->ob_start[k]; i < end; i++) {
        uint32_t ob = c->by_key[i], t1 = c->source[i], at = c->row[c->reader[i]];
        if (i + AHEAD < end) fetch_row(c, c->reader[i + AHEAD]);
        if (i + 2 * AHEAD < end) __builtin_prefetch(&c->row[c->reader[i + 2 * AHEAD]]);
        /* Nothing of the block led to the reader, or just what led to t1. */
        if (!at || t1 == NO_ID) continue;
        if (t1 != FROM_INIT && c->row[c->w_node[t1]] == at && c->w_chain[t1] - lo >= BLOCK)
            continue;
        const uint32_t *row = row_at(c, at);
        uint32_t *unseen = unseen_by(c, k, t1, lo), any = 0;
        for (uint32_t j = 0; j < BLOCK; j++) any |= row[j] >= unseen[j];
        if (!any) continue;
        uint32_t before = read_before(c, i, k);
        const uint32_t *old = before == NO_ID ? NULL : row_of(c, g->ob_node[before]);
        uint32_t kept = before == NO_ID ? 0 : c->chain[w->rf[before]] - lo;
        for (uint32_t j = 0; j < BLOCK; j++) {
            if (row[j] < unseen[j] || (old && row[j] == old[j] && j != kept)) continue;
            if (!unseen_writer(d, c, ob, j, row[j], &unseen[j])) return false;
        }
        guard_tick(g->m->guard);
    }
    return true;
}

static void free_causal(causal *c)
{
    mem *m = c->g->m;
    uint32_t *arrays[] = {c->chain,     c->place,     c->clock,   c->row,    c->kw_first,
                          c->w_node,    c->w_chain,   c->w_place, c->by_key, c->ob_start,
                          c->source,    c->reader,    c->unseen,  c->made,   c->block_start,
                          c->block_key, c->block_from};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(m, arrays[i]);
}

static bool derive_causal(deriver *d, const node_id *order, uint32_t n)
{
    asg *g = d->g;
    causal c = {.g = g, .w = d->w};
    c.many = g->extra.n + MANY * (asg_obs(g) + g->nodes);
    size_t most = 0;
    make_chains(&c, order, n);
    sort_writers(&c, order, n);
    sort_reads(&c);
    keys_by_block(&c);
    for (size_t k = 0; k < history_keys(g->h); k++)
        if (c.kw_first[k + 1] - c.kw_first[k] > most) most = c.kw_first[k + 1] - c.kw_first[k];
    c.clock = mem_array(g->m, uint32_t, mem_bytes(g->m, (size_t)g->nodes + 2, BLOCK));
    c.row = mem_array0(g->m, uint32_t, (size_t)g->nodes + 1);
    c.unseen = mem_array(g->m, uint32_t, mem_bytes(g->m, most + 1, BLOCK));
    c.made = mem_array0(g->m, uint32_t, most + 1);
    bool ok = true;
    for (uint32_t lo = 0; lo < c.chains && ok; lo += BLOCK) {
        uint32_t block = lo / BLOCK;
        run_clocks(&c, order, n, lo);
        for (uint32_t i = c.block_start[block]; i < c.block_start[block + 1] && ok; i++)
            ok = causal_key(d, &c, c.block_key[i], c.block_from[i], lo);
    }
    free_causal(&c);
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
        ok = derive_causal_walk(&d, w->so && !g->unknown ? 8 * size : 16 * size + 100000);
        if (ok == -1) ok = derive_causal(&d, order, n);
    } else {
        ok = derive_direct(&d, level == DERIVE_RA);
    }
    mem_put(g->m, d.head);
    mem_put(g->m, d.next);
    mem_put(g->m, d.seen_by);
    return ok == 1;
}
