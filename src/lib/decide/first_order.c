/*
 * first_order.c - a total order of the events to start from.
 *
 * With client times: events by their times.  Else transactions by (ancestors - descendants) in the
 * graph of session order, read-from and known version order, both counted with chain clocks
 * (doc/algorithms/strong.md): strictly rising along edges, and a fair guess at time.
 * Session order guides the guess even where it does not count.  Either way the guess becomes a
 * linear extension by a topological sort that prefers early guesses.
 *
 * Invariant: pos is a permutation of the events that extends every known edge.  The clocks that the
 * guess was made of are kept as `reach`, if they fit, and only say what certain edges say.
 */
#include "decide/first_order.h"

#include <assert.h>

#include "base/sort.h"
#include "base/task.h"
#include "decide/rank_heap.h"

#define MOST_ROWS ((size_t)1 << 30) /* bytes of clocks that are kept */
#define SAMPLE 256u                 /* so many chains are enough for a guess */

/* --- a topological sort that takes the ready event with the smallest rank --------------------- */

/* Makes a linear extension of a permutation of the events, `rank`; there is nothing to do if it
   extends the graph already.  False: the graph has a cycle. */
static bool extend_rank(order_problem *p, const order_graph *k, const uint32_t *rank, uint32_t *pos)
{
    bool fits = true;
    for (size_t i = 0; i < p->known.n && fits; i++)
        fits = rank[p->known.at[i].from] < rank[p->known.at[i].to];
    if (fits) {
        memcpy(pos, rank, p->events * sizeof *pos);
        return true;
    }
    uint32_t *missing = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    rank_heap h = {mem_array(p->m, uint32_t, (size_t)p->events + 1), 0, rank};
    uint32_t done = 0;
    for (uint32_t e = 0; e < p->events; e++) {
        missing[e] = k->in_start[e + 1] - k->in_start[e];
        if (!missing[e]) rank_heap_push(&h, e);
    }
    while (h.n) {
        uint32_t e = rank_heap_pop(&h);
        assert(!missing[e]);
        pos[e] = done++;
        for (uint32_t i = k->out_start[e]; i < k->out_start[e + 1]; i++)
            if (!--missing[k->out[i]]) rank_heap_push(&h, k->out[i]);
        guard_tick(p->m->guard);
    }
    mem_put(p->m, missing);
    mem_put(p->m, h.at);
    return done == p->events;
}

/* Turns keys into a permutation. */
static void rank_by(order_problem *p, const uint64_t *key, uint32_t *rank)
{
    uint32_t *at = sort_by_key(p->m, key, p->events);
    for (uint32_t i = 0; i < p->events; i++) rank[at[i]] = i;
    mem_put(p->m, at);
}

bool first_order_by(order_problem *p, const order_graph *known, const uint64_t *key, uint32_t *pos)
{
    uint32_t *rank = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    rank_by(p, key, rank);
    bool ok = extend_rank(p, known, rank, pos);
    mem_put(p->m, rank);
    return ok;
}

/* --- by time ---------------------------------------------------------------------------------- */

static bool guess_by_time(order_problem *p, uint32_t *rank)
{
    const history *h = p->g->h;
    uint64_t *key = mem_array0(p->m, uint64_t, (size_t)p->events + 1);
    bool all = true;
    assert(p->events >= (p->si ? 2 * p->txns : p->txns));
    for (node_id v = 0; v < p->txns && all; v++) {
        int64_t b, e;
        if (!p->in[v]) continue;
        all = txn_begin_time(h, p->g->node_txn[v], &b) && txn_end_time(h, p->g->node_txn[v], &e);
        if (!all) break;
        /* With one event for the whole transaction: a writer takes effect at its end, while one
           that only reads mostly sees what stood at its begin. */
        bool reader = !p->si && p->g->inst_first[v] == p->g->inst_first[v + 1];
        /* Of the parts of a transaction only the snapshot is taken at the begin. */
        if (p->g->part_op) reader = p->g->part_op[v] == NO_ID;
        key[begin_of(p, v)] = sort_key(b);
        if (!reader) key[commit_of(p, v)] = sort_key(e);
    }
    if (all) rank_by(p, key, rank);
    mem_put(p->m, key);
    return all;
}

/* --- by ancestors and descendants ------------------------------------------------------------- */

static const order_pair *deps_from(const order_problem *p, size_t skip)
{
    static_assert(sizeof(arc) == sizeof(order_pair), "one layout");
    const arc *at = p->deps.n ? p->deps.at + skip : p->deps.at; /* there may be none at all */
    return (const order_pair *)(const void *)at;
}

typedef struct clocks {
    order_problem *p;
    guard *guard;
    uint32_t n; /* nodes: transactions, and with a shared graph its helpers */
    order_graph deps;
    uint32_t *at; /* the nodes in some topological order */
    uint32_t *chain, *place, *length;
    uint32_t chains;
    bool writers;           /* those who only read are in no chain */
    uint32_t blocks, width; /* a row has `width` entries, one for each chain of its block */
    uint32_t bytes, shift;  /* an entry has so many bytes, and a block 1 << shift chains */
    void *row;
    /* Where nodes share rows: each node's row, how many rows there are, their sums, and for each
       block where its chains' members begin and end in `at`.  NULL: row v is that of node v. */
    uint32_t *number, rows, *begin, *end;
    int64_t *sum;
    int64_t *score;
} clocks;

#define WORTH_A_THREAD 50000 /* nodes */
#define AHEAD 6              /* nodes whose rows are fetched before they are needed */
#define NO_CHAIN UINT32_MAX  /* gates and time points are passed through, not counted */

static void make_chains(clocks *c)
{
    asg *g = c->p->g;
    c->chain = mem_array(g->m, uint32_t, (size_t)c->n + 1);
    c->place = mem_array(g->m, uint32_t, (size_t)c->n + 1);
    c->length = mem_array0(g->m, uint32_t, (size_t)c->n + 1);
    for (node_id v = 0; v < c->n; v++) {
        /* Nothing is known to follow one of unknown outcome in its session, so it would need a
           chain of its own: as many of them as there are such.  That it is read is not counted. */
        if (v >= c->p->txns || g->maybe[v]) {
            c->chain[v] = NO_CHAIN;
            c->place[v] = 0;
            continue;
        }
        node_id before = c->p->so_pred[v];
        c->chain[v] = before != NO_ID ? c->chain[before] : c->chains++;
        c->place[v] = before != NO_ID ? c->place[before] + 1 : 1;
        assert(before == NO_ID || before < v);
        c->length[c->chain[v]] = c->place[v];
    }
    assert(c->chains <= c->n);
}

/* Does the node count in paths of writers? */
static bool is_writer(const clocks *c, node_id v)
{
    const asg *g = c->p->g;
    return v < c->p->txns && g->inst_first[v] < g->inst_first[v + 1];
}

/* Without session order, or with too many sessions: paths through the graph, each continued
   greedily.  writers: nodes that write nothing are passed through, not counted; held[v] is the end
   of the chain that a path through such a node v would continue. */
static void make_paths(clocks *c, bool writers)
{
    mem *m = c->p->m;
    uint32_t n = c->n;
    c->chain = mem_array(m, uint32_t, (size_t)n + 1);
    c->place = mem_array(m, uint32_t, (size_t)n + 1);
    c->length = mem_array0(m, uint32_t, (size_t)n + 1);
    uint32_t *end = mem_array(m, uint32_t, (size_t)n + 1); /* per chain: its last member */
    node_id *held = mem_array(m, node_id, (size_t)n + 1);
    c->chains = 0;
    for (uint32_t i = 0; i < n; i++) {
        node_id v = c->at[i], before = NO_ID;
        for (uint32_t j = c->deps.in_start[v]; j < c->deps.in_start[v + 1] && before == NO_ID;
             j++) {
            node_id u = held[c->deps.in[j]];
            if (u != NO_ID && end[c->chain[u]] == u) before = u;
        }
        held[v] = before;
        c->chain[v] = NO_CHAIN;
        c->place[v] = 0;
        if (writers && !is_writer(c, v)) continue;
        c->chain[v] = before != NO_ID ? c->chain[before] : c->chains++;
        c->place[v] = before != NO_ID ? c->place[before] + 1 : 1;
        c->length[c->chain[v]] = c->place[v];
        end[c->chain[v]] = held[v] = v;
    }
    mem_put(m, end);
    mem_put(m, held);
}

static void put_chains(const clocks *c)
{
    mem_put(c->p->m, c->chain);
    mem_put(c->p->m, c->place);
    mem_put(c->p->m, c->length);
}

/* Are so many chains needed that those who only read had better not be counted?  What the clocks
   are asked about are writers, but for ambiguous reads, whose candidates may stand after a reader.
   (Where paths break reads the guess matters more, and it is better if all are counted.) */
static bool want_writers(const clocks *c)
{
    const order_problem *p = c->p;
    return c->chains > SAMPLE && !p->g->open.n && !p->rule->path &&
           pass_on(p->tune, PASS_WRITER_CHAINS);
}

/* Paths of all nodes, or of those that write. */
static void choose_paths(clocks *c)
{
    make_paths(c, false);
    if (!want_writers(c)) return;
    put_chains(c);
    make_paths(c, true);
    c->writers = true;
}

/* Entries are as small as the longest chain allows, and a block of chains fills two cache lines, or
   what it needs of them. */
static void set_width(clocks *c)
{
    uint32_t longest = 0;
    for (uint32_t v = 0; v < c->n; v++) longest = c->place[v] > longest ? c->place[v] : longest;
    c->bytes = longest <= UINT8_MAX ? 1 : longest <= UINT16_MAX ? 2 : 4;
    c->shift = c->bytes == 1 ? 7 : c->bytes == 2 ? 6 : 5;
    uint32_t most = 1u << c->shift;
    /* One of the widths that run_pass knows. */
    c->width = c->chains > 32 ? most : c->chains > 24 ? 32 : c->chains > 16 ? 24 : 16;
    if (c->width > most) c->width = most;
    assert(c->width <= 128 && c->bytes * c->width <= 128);
    c->blocks = (c->chains + most - 1) >> c->shift;
}

/* One pass over all nodes, for entries of 8, 16 and 32 bits. */
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define T uint8_t
#define PASS_OF pass8_of
#define SHARED_OF shared8_of
#define ROW_OF row8
#define JOIN_OF join8
#define SUM uint32_t
#include "decide/lazy/clock_pass.inc"
#undef T
#undef PASS_OF
#undef SHARED_OF
#undef ROW_OF
#undef JOIN_OF
#define T uint16_t
#define PASS_OF pass16_of
#define SHARED_OF shared16_of
#define ROW_OF row16
#define JOIN_OF join16
#include "decide/lazy/clock_pass.inc"
#undef T
#undef PASS_OF
#undef SHARED_OF
#undef ROW_OF
#undef JOIN_OF
#undef SUM
#undef LARGER
/* Entries are below 2^30 (problem_build), so that signed maxima, which every machine has for
   vectors, are right. */
#define LARGER(a, b) ((int32_t)(a) > (int32_t)(b) ? (a) : (b))
#define T uint32_t
#define PASS_OF pass32_of
#define SHARED_OF shared32_of
#define ROW_OF row32
#define JOIN_OF join32
#define SUM uint64_t
#include "decide/lazy/clock_pass.inc"
#undef T
#undef PASS_OF
#undef SHARED_OF
#undef ROW_OF
#undef JOIN_OF
#undef SUM
#undef LARGER

static void run_dense(clocks *c, uint32_t lo, bool forward)
{
    switch (c->width * 8 + c->bytes) {
#define WIDTHS(bytes, pass_of)                                                                     \
    case 16 * 8 + bytes: pass_of(c, 16, lo, forward); break;                                       \
    case 24 * 8 + bytes: pass_of(c, 24, lo, forward); break;                                       \
    case 32 * 8 + bytes: pass_of(c, 32, lo, forward); break;
        WIDTHS(1, pass8_of)
        WIDTHS(2, pass16_of)
        WIDTHS(4, pass32_of)
#undef WIDTHS
    case 64 * 8 + 2: pass16_of(c, 64, lo, forward); break;
    case 128 * 8 + 1: pass8_of(c, 128, lo, forward); break;
    default: assert(false && "a width that set_width makes");
    }
}

/* With rows that nodes share: blocks are full then, except in builds that share always. */
static void run_shared(clocks *c, uint32_t lo, bool forward)
{
    switch (c->bytes) {
    case 1:
        c->width == 128 ? shared8_of(c, 128, lo, forward) : shared8_of(c, c->width, lo, forward);
        break;
    case 2:
        c->width == 64 ? shared16_of(c, 64, lo, forward) : shared16_of(c, c->width, lo, forward);
        break;
    default:
        c->width == 32 ? shared32_of(c, 32, lo, forward) : shared32_of(c, c->width, lo, forward);
    }
}

static void run_pass(clocks *c, uint32_t lo, bool forward)
{
    assert(c->row && lo % (1u << c->shift) == 0);
    if (c->number)
        run_shared(c, lo, forward);
    else
        run_dense(c, lo, forward);
}

/* Memory for the rows of one pass; one more than nodes where they are shared. */
static size_t row_bytes(const clocks *c)
{
    return mem_bytes(c->p->m, (size_t)c->n + 2, (size_t)c->width * c->bytes);
}

static bool rows_fit(const clocks *c)
{
    return mem_bytes(c->p->m, row_bytes(c), c->blocks) <= MOST_ROWS;
}

/* So many blocks, and nodes share rows: that costs more for each row, and the chains of a block are
   at rest only if there are many others. */
#ifdef RATEL_HOSTILE
#define BLOCKS_SHARED 1u
#else
#define BLOCKS_SHARED 4u
#endif

static void share_rows(clocks *c)
{
    mem *m = c->p->m;
    if (c->blocks < BLOCKS_SHARED || !pass_on(c->p->tune, PASS_SHARE_ROWS)) return;
    c->number = mem_array(m, uint32_t, (size_t)c->n + 1);
    c->sum = mem_array(m, int64_t, (size_t)c->n + 2);
    c->begin = mem_array(m, uint32_t, (size_t)c->blocks + 1);
    c->end = mem_array0(m, uint32_t, (size_t)c->blocks + 1);
    for (uint32_t block = 0; block < c->blocks; block++) c->begin[block] = c->n - 1;
    for (uint32_t i = c->n; i--;) {
        uint32_t chain = c->chain[c->at[i]], block = chain >> c->shift;
        if (chain == NO_CHAIN) continue;
        c->begin[block] = i;
        if (c->end[block] < i) c->end[block] = i;
        assert(block < c->blocks && c->begin[block] <= c->end[block]);
    }
}

static void unshare_rows(clocks *c)
{
    mem *m = c->p->m;
    mem_put(m, c->number);
    mem_put(m, c->sum);
    mem_put(m, c->begin);
    mem_put(m, c->end);
}

/* Keeps the rows of a pass that shares them, in no more memory than they need. */
static void keep_shared(const clocks *c, reach *r, uint32_t block)
{
    mem *m = c->p->m;
    size_t bytes = mem_bytes(m, c->rows, (size_t)c->width * c->bytes);
    assert(c->rows && c->rows <= c->n + 1);
    r->row[block] = mem_get(m, bytes);
    memcpy(r->row[block], c->row, bytes);
    r->number[block] = mem_array(m, uint32_t, (size_t)c->n + 1);
    memcpy(r->number[block], c->number, c->n * sizeof *c->number);
}

void first_order_free(mem *m, order_graph *g)
{
    mem_put(m, (void *)(uintptr_t)g->out_start);
    mem_put(m, (void *)(uintptr_t)g->out);
    mem_put(m, (void *)(uintptr_t)g->in_start);
    mem_put(m, (void *)(uintptr_t)g->in);
}

/* Topological order of the graph in c->at; false if there is a cycle. */
static bool sort_nodes(clocks *c)
{
    uint32_t *topo = mem_array(c->p->m, uint32_t, (size_t)c->n + 1);
    bool ok = order_graph_sort(c->p->m, c->n, &c->deps, topo);
    if (ok) {
        c->at = mem_array(c->p->m, uint32_t, (size_t)c->n + 1);
        for (uint32_t v = 0; v < c->n; v++) c->at[topo[v]] = v;
    }
    mem_put(c->p->m, topo);
    return ok;
}

static void keep_reach(const clocks *c, reach *r)
{
    r->blocks = c->blocks;
    r->width = c->width;
    r->bytes = c->bytes;
    r->shift = c->shift;
    r->chain = c->chain;
    r->place = c->place;
}

/* The forward passes of all blocks. */
static void run_forward(clocks *c, reach *r)
{
    mem *m = c->p->m;
    void *rows = c->number ? mem_get(m, row_bytes(c)) : NULL;
    r->row = mem_array0(m, void *, (size_t)c->blocks + 1);
    if (c->number) r->number = mem_array0(m, uint32_t *, (size_t)c->blocks + 1);
    for (uint32_t block = 0; block < c->blocks; block++) {
        c->row = rows ? rows : (r->row[block] = mem_get(m, row_bytes(c)));
        run_pass(c, block << c->shift, true);
        if (rows) keep_shared(c, r, block);
    }
    mem_put(m, rows);
}

/* Clocks over what is known without session order, if they fit. */
static void reach_without_sessions(order_problem *p, reach *r)
{
    clocks c = {.p = p, .guard = p->m->guard, .n = p->txns};
    order_graph_build(p->m, c.n, deps_from(p, p->so_deps), p->deps.n - p->so_deps, &c.deps);
    if (sort_nodes(&c)) {
        choose_paths(&c);
        set_width(&c);
        if (rows_fit(&c)) {
            c.score = mem_array0(p->m, int64_t, (size_t)c.n + 1);
            share_rows(&c);
            run_forward(&c, r);
            unshare_rows(&c);
            keep_reach(&c, r);
            mem_put(p->m, c.score);
        } else {
            mem_put(p->m, c.chain);
            mem_put(p->m, c.place);
        }
        mem_put(p->m, c.length);
        mem_put(p->m, c.at);
    }
    first_order_free(p->m, &c.deps);
}

void reach_free(mem *m, reach *r)
{
    for (uint32_t i = 0; i < r->blocks; i++) {
        mem_put(m, r->row[i]);
        if (r->number) mem_put(m, r->number[i]);
    }
    mem_put(m, r->row);
    mem_put(m, r->number);
    mem_put(m, r->chain);
    mem_put(m, r->place);
    *r = (reach){.wanted = r->wanted};
}

/* The graph that clocks run over, sorted; false if it has a cycle. */
static bool clock_graph(clocks *c, const order_graph *known)
{
    order_problem *p = c->p;
    if (p->shared) {
        c->n = p->events;
        c->deps = *known;
        return sort_nodes(c);
    }
    c->n = p->txns;
    for (size_t skip = 0;; skip = p->so_deps) {
        order_graph_build(p->m, c->n, deps_from(p, skip), p->deps.n - skip, &c->deps);
        if (sort_nodes(c)) return true;
        first_order_free(p->m, &c->deps);
        /* Session order that only guides may be left out. */
        if (skip || p->so || !p->so_deps) return false;
    }
}

/* Nodes by their score.  Where only a sample of the chains was counted scores may tie along an
   edge; the topological order then decides. */
static void rank_nodes(clocks *c, bool sampled, uint32_t *rank)
{
    order_problem flat = *c->p;
    flat.events = c->n;
    uint64_t *key = mem_array(c->p->m, uint64_t, (size_t)c->n + 1);
    int64_t least = 0;
    for (uint32_t v = 0; v < c->n; v++)
        if (c->score[v] < least) least = c->score[v];
    for (uint32_t v = 0; v < c->n; v++) key[v] = (uint64_t)(c->score[v] - least);
    if (sampled) {
        /* 2^24 transactions and more: the low bits wrap, and the guess is coarser, never wrong. */
        for (uint32_t i = 0; i < c->n; i++) key[c->at[i]] = key[c->at[i]] << 24 | (i & 0xffffff);
    }
    rank_by(&flat, key, rank);
    mem_put(c->p->m, key);
}

/* The backward pass beside the forward one, with rows and scores of its own.  A limit may strike
   in either; it is raised after both have ended. */
typedef struct half_pass {
    task task;
    clocks c;
    uint32_t lo;
    bool forward;
} half_pass;

static void run_half(task *t)
{
    half_pass *h = (half_pass *)(void *)t;
    h->c.guard = &t->guard;
    run_pass(&h->c, h->lo, h->forward);
}

static void both_passes(clocks *c, clocks *back, uint32_t lo)
{
    half_pass forward = {.task = {.run = run_half}, .c = *c, .lo = lo, .forward = true};
    half_pass backward = {.task = {.run = run_half}, .c = *back, .lo = lo};
    task_start(&backward.task, c->guard);
    task_here(&forward.task, c->guard);
    task_wait(&backward.task);
    c->rows = forward.c.rows;
    task_raise(&forward.task, c->guard);
    task_raise(&backward.task, c->guard);
}

/* Sessions as chains; or paths through the graph, if sessions are so short that paths are fewer. */
static void choose_chains(clocks *c)
{
    make_chains(c);
    if (c->chains <= SAMPLE) return;
    clocks paths = *c;
    choose_paths(&paths);
    clocks *worse = paths.chains < c->chains ? c : &paths;
    put_chains(worse);
    if (worse == c) *c = paths;
}

/* Prepares *r for the rows of all blocks.  May those of the round before be written over?  Mostly
   they fit, unless they are shared. */
static bool prepare_rows(const clocks *c, bool keep, reach *r)
{
    mem *m = c->p->m;
    bool same = r->blocks == c->blocks && r->width == c->width && r->bytes == c->bytes;
    bool again = r->row && same && !c->number && !r->number;
    if (r->row && !again) reach_free(m, r);
    if (keep && !again) r->row = mem_array0(m, void *, (size_t)c->blocks + 1);
    if (keep && c->number) r->number = mem_array0(m, uint32_t *, (size_t)c->blocks + 1);
    return again;
}

/* The same clocks with rows and scores of their own, for a second thread; and what it counted. */
static void split_clocks(const clocks *c, clocks *back)
{
    mem *m = c->p->m;
    *back = *c;
    back->row = mem_get(m, row_bytes(c));
    back->score = mem_array0(m, int64_t, (size_t)c->n + 1);
    if (!c->number) return;
    back->number = mem_array(m, uint32_t, (size_t)c->n + 1);
    back->sum = mem_array(m, int64_t, (size_t)c->n + 2);
}

static void unite_clocks(clocks *c, clocks *back)
{
    mem *m = c->p->m;
    for (uint32_t v = 0; v < c->n; v++) c->score[v] += back->score[v];
    mem_put(m, back->row);
    mem_put(m, back->score);
    if (!c->number) return;
    mem_put(m, back->number);
    mem_put(m, back->sum);
}

/* Runs the clocks, block by block.  The guess is made of the first blocks; the rows of all are kept
   in *r if they fit and say what precedes what, that is, if session order counts.  Returns whether
   they are kept; c->chain and c->place then belong to *r. */
static bool run_clocks(clocks *c, uint32_t guessed, reach *r)
{
    order_problem *p = c->p;
    bool keep = p->so && rows_fit(c), dense = keep && !c->number;
    bool again = prepare_rows(c, keep, r);
    void *spare = again ? r->row[c->blocks - 1] : mem_get(p->m, row_bytes(c));
    clocks back;
    bool two = p->tune->threads > 1 && c->n >= WORTH_A_THREAD;
    if (two) split_clocks(c, &back);
    for (uint32_t block = 0; block < c->blocks; block++) {
        if (!keep && block == guessed) break;
        uint32_t lo = block << c->shift;
        c->row = spare;
        if (block < guessed && !two) run_pass(c, lo, false);
        if (dense && block + 1 < c->blocks)
            c->row = r->row[block] = again ? r->row[block] : mem_get(p->m, row_bytes(c));
        else if (dense)
            r->row[block] = spare; /* the last block needs no array of its own */
        if (block < guessed && two)
            both_passes(c, &back, lo);
        else
            run_pass(c, lo, true);
        if (keep && !dense) keep_shared(c, r, block);
    }
    if (two) unite_clocks(c, &back);
    if (!dense) mem_put(p->m, spare);
    return keep;
}

/* From an order of the transactions to one of the events: helpers first, then begin and commit of
   each transaction next to each other. */
static void rank_events(clocks *c, bool sampled, uint32_t *rank)
{
    order_problem *p = c->p;
    uint32_t n = p->txns, *by_node = mem_array(p->m, uint32_t, (size_t)n + 1);
    rank_nodes(c, sampled, by_node);
    uint32_t points = p->events - (p->si ? 2 * n : n);
    for (node_id v = 0; v < n; v++) {
        assert(by_node[v] < n);
        if (p->si) {
            rank[2 * v] = 2 * by_node[v] + points;
            rank[2 * v + 1] = 2 * by_node[v] + 1 + points;
        } else {
            rank[v] = by_node[v] + points;
        }
    }
    for (uint32_t e = 0; e < points; e++) rank[p->events - points + e] = e;
    mem_put(p->m, by_node);
}

static bool guess_by_clocks(order_problem *p, const order_graph *known, uint32_t *rank, reach *r)
{
    clocks c = {.p = p, .guard = p->m->guard};
    if (!clock_graph(&c, known)) return false;
    choose_chains(&c);
    set_width(&c);
    c.score = mem_array0(p->m, int64_t, (size_t)c.n + 1);
    uint32_t guessed = (SAMPLE >> c.shift) + 1;     /* blocks that the guess is made of */
    bool sampled = c.blocks > guessed || c.writers; /* scores tie along an edge */
    share_rows(&c);
    if (run_clocks(&c, guessed, r)) {
        mem_put(p->m, r->chain);
        mem_put(p->m, r->place);
        keep_reach(&c, r);
    } else {
        mem_put(p->m, c.chain);
        mem_put(p->m, c.place);
    }
    mem_put(p->m, c.length);
    unshare_rows(&c);
    if (p->shared) {
        rank_nodes(&c, sampled, rank);
    } else {
        rank_events(&c, sampled, rank);
        first_order_free(p->m, &c.deps);
    }
    mem_put(p->m, c.score);
    mem_put(p->m, c.at);
    if (!p->so) reach_without_sessions(p, r);
    return true;
}

bool first_order(order_problem *p, const order_graph *known, uint32_t *pos, reach *r)
{
    uint32_t *rank = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    if (r->blocks && !p->so) reach_free(p->m, r);
    bool done = pass_on(p->tune, PASS_ORDER_TIMES) && guess_by_time(p, rank);
    if (done && r->wanted) {
        uint32_t *unused = mem_array(p->m, uint32_t, (size_t)p->events + 1);
        guess_by_clocks(p, known, unused, r);
        mem_put(p->m, unused);
    }
    if (!done) done = pass_on(p->tune, PASS_ORDER_CLOCKS) && guess_by_clocks(p, known, rank, r);
    if (!done)
        for (uint32_t e = 0; e < p->events; e++) rank[e] = e;
    bool ok = extend_rank(p, known, rank, pos);
    for (size_t i = 0; ok && i < p->known.n; i++)
        assert(pos[p->known.at[i].from] < pos[p->known.at[i].to]);
    mem_put(p->m, rank);
    return ok;
}

/* --- cycles of known edges -------------------------------------------------------------------- */

void answer_known_cycle(order_problem *p, const order_graph *k, decision *a)
{
    uint32_t n = p->events;
    uint8_t *colour = mem_array0(p->m, uint8_t, (size_t)n + 1);
    uint32_t *next = mem_array(p->m, uint32_t, (size_t)n + 1);
    VEC(uint32_t) stack = {0};
    a->known_cycle = true;
    for (uint32_t root = 0; root < n && !a->cycle.n; root++) {
        if (colour[root]) continue;
        vec_push(p->m, &stack, root);
        colour[root] = 1;
        next[root] = k->out_start[root];
        while (stack.n && !a->cycle.n) {
            uint32_t e = stack.at[stack.n - 1];
            if (next[e] == k->out_start[e + 1]) {
                colour[e] = 2;
                stack.n--;
                continue;
            }
            uint32_t t = k->out[next[e]++];
            if (!colour[t]) {
                colour[t] = 1;
                next[t] = k->out_start[t];
                vec_push(p->m, &stack, t);
            } else if (colour[t] == 1) {
                size_t i = stack.n;
                while (stack.at[i - 1] != t) i--;
                assert(i);
                for (i--; i < stack.n; i++) vec_push(p->m, &a->cycle, stack.at[i]);
            }
        }
    }
}
