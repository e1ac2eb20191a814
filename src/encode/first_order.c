/*
 * first_order.c - see first_order.h.
 *
 * With client times: events by their times.  Else transactions by (ancestors - descendants) in the
 * graph of session order, read-from and known version order, both counted with chain clocks
 * (doc/algorithms/strong.md): strictly rising along edges, and a fair guess at time.
 * Session order guides the guess even where it does not count.  Either way the guess becomes a
 * linear extension by a topological sort that prefers early guesses.
 */
#include "encode/first_order.h"

#include <assert.h>

#define WIDTH REACH_WIDTH
#define MOST_ROWS ((size_t)1 << 28) /* entries of clocks that are kept: 1 GiB */
#define MOST_BLOCKS 8               /* more sessions than 256: a sample is enough for a guess */

/* --- a topological sort that takes the ready event with the smallest rank --------------------- */

typedef struct heap {
    uint32_t *at; /* events */
    uint32_t n;
    const uint32_t *rank;
} heap;

static void push(heap *h, uint32_t e)
{
    uint32_t i = h->n++;
    while (i && h->rank[h->at[(i - 1) / 2]] > h->rank[e]) {
        h->at[i] = h->at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->at[i] = e;
}

static uint32_t pop(heap *h)
{
    uint32_t top = h->at[0], e = h->at[--h->n], i = 0;
    for (uint32_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->rank[h->at[child + 1]] < h->rank[h->at[child]]) child++;
        if (h->rank[h->at[child]] >= h->rank[e]) break;
        h->at[i] = h->at[child];
    }
    h->at[i] = e;
    return top;
}

/* rank: a permutation of the events.  Nothing to do if it extends the graph already. */
static bool extend(strong *p, const order_graph *k, const uint32_t *rank, uint32_t *pos)
{
    bool fits = true;
    for (size_t i = 0; i < p->known.n && fits; i++)
        fits = rank[p->known.at[i].from] < rank[p->known.at[i].to];
    if (fits) {
        memcpy(pos, rank, p->events * sizeof *pos);
        return true;
    }
    uint32_t *missing = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    heap h = {mem_array(p->m, uint32_t, (size_t)p->events + 1), 0, rank};
    uint32_t done = 0;
    for (uint32_t e = 0; e < p->events; e++) {
        missing[e] = k->in_start[e + 1] - k->in_start[e];
        if (!missing[e]) push(&h, e);
    }
    while (h.n) {
        uint32_t e = pop(&h);
        pos[e] = done++;
        for (uint32_t i = k->out_start[e]; i < k->out_start[e + 1]; i++)
            if (!--missing[k->out[i]]) push(&h, k->out[i]);
        guard_tick(p->m->guard);
    }
    mem_put(p->m, missing);
    mem_put(p->m, h.at);
    return done == p->events;
}

/* Turns keys into a permutation: a stable radix sort of the events by key. */
static void rank_by(strong *p, const uint64_t *key, uint32_t *rank)
{
    uint32_t n = p->events;
    uint32_t *a = mem_array(p->m, uint32_t, (size_t)n + 1),
             *b = mem_array(p->m, uint32_t, (size_t)n + 1);
    uint64_t all_or = 0, all_and = ~(uint64_t)0;
    for (uint32_t e = 0; e < n; e++) {
        a[e] = e;
        all_or |= key[e];
        all_and &= key[e];
    }
    for (unsigned shift = 0; shift < 64; shift += 11) {
        if (!((all_or ^ all_and) >> shift & 2047)) continue;
        uint32_t count[2048] = {0}, sum = 0;
        for (uint32_t i = 0; i < n; i++) count[key[a[i]] >> shift & 2047]++;
        for (uint32_t i = 0; i < 2048; i++) {
            uint32_t c = count[i];
            count[i] = sum;
            sum += c;
        }
        for (uint32_t i = 0; i < n; i++) b[count[key[a[i]] >> shift & 2047]++] = a[i];
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    for (uint32_t i = 0; i < n; i++) rank[a[i]] = i;
    mem_put(p->m, a);
    mem_put(p->m, b);
}

/* --- by time ---------------------------------------------------------------------------------- */

static bool guess_by_time(strong *p, uint32_t *rank)
{
    const history *h = p->g->h;
    uint64_t *key = mem_array0(p->m, uint64_t, (size_t)p->events + 1);
    bool all = true;
    for (node_id v = 0; v < p->txns && all; v++) {
        int64_t b, e;
        if (!p->in[v]) continue;
        all = txn_begin_time(h, p->g->node_txn[v], &b) && txn_end_time(h, p->g->node_txn[v], &e);
        if (!all) break;
        /* One event for all of it: a writer takes effect at its end, while who only reads mostly
           sees what stood at its begin. */
        bool reader = !p->si && p->g->inst_first[v] == p->g->inst_first[v + 1];
        key[begin_of(p, v)] = (uint64_t)b ^ (uint64_t)1 << 63;
        if (!reader) key[commit_of(p, v)] = (uint64_t)e ^ (uint64_t)1 << 63;
    }
    if (all) rank_by(p, key, rank);
    mem_put(p->m, key);
    return all;
}

/* --- by ancestors and descendants ------------------------------------------------------------- */

static const order_pair *deps_from(const strong *p, size_t skip)
{
    static_assert(sizeof(arc) == sizeof(order_pair), "one layout");
    const arc *at = p->deps.n ? p->deps.at + skip : p->deps.at; /* there may be none at all */
    return (const order_pair *)(const void *)at;
}

typedef struct clocks {
    strong *p;
    order_graph deps;
    uint32_t *topo; /* position of each transaction in some topological order */
    uint32_t *at;   /* and back */
    uint32_t *chain, *place, *length;
    uint32_t chains;
    uint32_t *row; /* WIDTH per transaction */
    int64_t *score;
} clocks;

static void make_chains(clocks *c)
{
    asg *g = c->p->g;
    uint32_t n = c->p->txns;
    c->chain = mem_array(g->m, uint32_t, (size_t)n + 1);
    c->place = mem_array(g->m, uint32_t, (size_t)n + 1);
    c->length = mem_array0(g->m, uint32_t, (size_t)n + 1);
    for (node_id v = 0; v < n; v++) {
        node_id before = g->maybe[v] ? NO_ID : g->so_pred[v];
        c->chain[v] = before != NO_ID ? c->chain[before] : c->chains++;
        c->place[v] = before != NO_ID ? c->place[before] + 1 : 1;
        c->length[c->chain[v]] = c->place[v];
    }
}

static void join(clocks *c, uint32_t *row, node_id other, uint32_t lo, bool forward)
{
    const uint32_t *from = c->row + (size_t)other * WIDTH;
    for (uint32_t i = 0; i < WIDTH; i++) row[i] = from[i] > row[i] ? from[i] : row[i];
    uint32_t k = c->chain[other] - lo;
    if (k >= WIDTH) return;
    uint32_t x = forward ? c->place[other] : c->length[c->chain[other]] - c->place[other] + 1;
    if (x > row[k]) row[k] = x;
}

/* Forward: how many of each chain are ancestors.  Backward: how many are descendants, counted from
   the chain's end, so that both are maxima. */
static void pass(clocks *c, uint32_t lo, bool forward)
{
    uint32_t n = c->p->txns;
    const uint32_t *start = forward ? c->deps.in_start : c->deps.out_start;
    const uint32_t *list = forward ? c->deps.in : c->deps.out;
    for (uint32_t i = 0; i < n; i++) {
        node_id v = c->at[forward ? i : n - 1 - i];
        uint32_t *row = c->row + (size_t)v * WIDTH;
        for (uint32_t j = start[v]; j < start[v + 1]; j++) {
            __builtin_prefetch(c->row + (size_t)list[j] * WIDTH);
            __builtin_prefetch(c->row + (size_t)list[j] * WIDTH + 16);
        }
        memset(row, 0, WIDTH * sizeof *row);
        for (uint32_t j = start[v]; j < start[v + 1]; j++) join(c, row, list[j], lo, forward);
        int64_t sum = 0;
        for (uint32_t j = 0; j < WIDTH; j++) sum += row[j];
        c->score[v] += forward ? sum : -sum;
        guard_tick(c->p->m->guard);
    }
}

/* Without session order: paths through the dependencies, each continued greedily. */
static void make_paths(clocks *c)
{
    mem *m = c->p->m;
    uint32_t n = c->p->txns;
    c->chain = mem_array(m, uint32_t, (size_t)n + 1);
    c->place = mem_array(m, uint32_t, (size_t)n + 1);
    uint32_t *end = mem_array(m, uint32_t, (size_t)n + 1); /* per chain: its last member */
    for (uint32_t i = 0; i < n; i++) {
        node_id v = c->at[i], before = NO_ID;
        for (uint32_t j = c->deps.in_start[v]; j < c->deps.in_start[v + 1] && before == NO_ID; j++)
            if (end[c->chain[c->deps.in[j]]] == c->deps.in[j]) before = c->deps.in[j];
        c->chain[v] = before != NO_ID ? c->chain[before] : c->chains++;
        c->place[v] = before != NO_ID ? c->place[before] + 1 : 1;
        end[c->chain[v]] = v;
    }
    mem_put(m, end);
}

void first_order_free(mem *m, order_graph *g)
{
    mem_put(m, (void *)(uintptr_t)g->out_start);
    mem_put(m, (void *)(uintptr_t)g->out);
    mem_put(m, (void *)(uintptr_t)g->in_start);
    mem_put(m, (void *)(uintptr_t)g->in);
}

/* Clocks over what is known without session order, if they fit. */
static void reach_without_sessions(strong *p, reach *r)
{
    clocks c = {.p = p};
    uint32_t n = p->txns;
    order_graph_build(p->m, n, deps_from(p, p->so_deps), p->deps.n - p->so_deps, &c.deps);
    c.topo = mem_array(p->m, uint32_t, (size_t)n + 1);
    if (!order_graph_sort(p->m, n, &c.deps, c.topo)) return;
    c.at = mem_array(p->m, uint32_t, (size_t)n + 1);
    for (uint32_t v = 0; v < n; v++) c.at[c.topo[v]] = v;
    make_paths(&c);
    uint32_t all = (c.chains + WIDTH - 1) / WIDTH;
    size_t row_size = mem_bytes(p->m, (size_t)n + 1, WIDTH);
    if (row_size * all <= MOST_ROWS) {
        c.score = mem_array0(p->m, int64_t, (size_t)n + 1);
        r->row = mem_array0(p->m, uint32_t *, (size_t)all + 1);
        for (uint32_t lo = 0, block = 0; lo < c.chains; lo += WIDTH, block++) {
            c.row = r->row[block] = mem_array(p->m, uint32_t, row_size);
            pass(&c, lo, true);
        }
        r->blocks = all;
        r->chain = c.chain;
        r->place = c.place;
        mem_put(p->m, c.score);
    }
    mem_put(p->m, c.topo);
    mem_put(p->m, c.at);
    first_order_free(p->m, &c.deps);
}

void reach_free(mem *m, reach *r)
{
    for (uint32_t i = 0; i < r->blocks; i++) mem_put(m, r->row[i]);
    mem_put(m, r->row);
    mem_put(m, r->chain);
    mem_put(m, r->place);
    memset(r, 0, sizeof *r);
}

static bool guess_by_clocks(strong *p, uint32_t *rank, reach *r)
{
    clocks c = {.p = p};
    uint32_t n = p->txns;
    size_t skip = 0;
    c.topo = mem_array(p->m, uint32_t, (size_t)n + 1);
    for (;;) {
        const order_pair *pairs =
            (const order_pair *)(const void *)(skip ? p->deps.at + skip : p->deps.at);
        order_graph_build(p->m, n, pairs, p->deps.n - skip, &c.deps);
        if (order_graph_sort(p->m, n, &c.deps, c.topo)) break;
        if (skip || p->so || !p->so_deps) return false;
        skip = p->so_deps; /* session order only guided: do without */
    }
    c.at = mem_array(p->m, uint32_t, (size_t)n + 1);
    for (uint32_t v = 0; v < n; v++) c.at[c.topo[v]] = v;
    make_chains(&c);
    size_t row_size = mem_bytes(p->m, (size_t)n + 1, WIDTH);
    c.score = mem_array0(p->m, int64_t, (size_t)n + 1);
    /* The clocks know what precedes what only if session order counts. */
    uint32_t all = (c.chains + WIDTH - 1) / WIDTH;
    bool keep = p->so && row_size * all <= MOST_ROWS;
    if (keep) r->row = mem_array0(p->m, uint32_t *, (size_t)all + 1);
    uint32_t *spare = mem_array(p->m, uint32_t, row_size);
    for (uint32_t lo = 0, block = 0; lo < c.chains; lo += WIDTH, block++) {
        if (!keep && block == MOST_BLOCKS) break;
        c.row = spare;
        if (block < MOST_BLOCKS) pass(&c, lo, false);
        if (keep) c.row = r->row[block] = mem_array(p->m, uint32_t, row_size);
        pass(&c, lo, true);
    }
    mem_put(p->m, spare);
    if (keep) {
        r->blocks = all;
        r->chain = c.chain;
        r->place = c.place;
    }
    /* Equal scores (a sample of chains) fall back on the topological order. */
    uint64_t *key = mem_array0(p->m, uint64_t, (size_t)p->events + 1);
    int64_t least = 0;
    for (uint32_t v = 0; v < n; v++)
        if (c.score[v] < least) least = c.score[v];
    uint32_t *by_topo = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    for (uint32_t v = 0; v < n; v++) key[v] = c.topo[v];
    strong flat = *p; /* rank transactions first */
    flat.events = n;
    rank_by(&flat, key, by_topo);
    for (uint32_t v = 0; v < n; v++)
        key[v] = (uint64_t)(c.score[v] - least) << 24 | (by_topo[v] & 0xffffff);
    /* 2^24 transactions and more: the low bits wrap, and the guess is coarser, never wrong. */
    rank_by(&flat, key, by_topo);
    uint32_t points = p->events - (p->si ? 2 * n : n);
    for (node_id v = 0; v < n; v++) {
        if (p->si) {
            rank[2 * v] = 2 * by_topo[v] + points;
            rank[2 * v + 1] = 2 * by_topo[v] + 1 + points;
        } else {
            rank[v] = by_topo[v] + points;
        }
    }
    for (uint32_t e = 0; e < points; e++) rank[p->events - points + e] = e;
    mem_put(p->m, key);
    mem_put(p->m, by_topo);
    mem_put(p->m, c.score);
    if (!keep) {
        mem_put(p->m, c.chain);
        mem_put(p->m, c.place);
    }
    mem_put(p->m, c.length);
    mem_put(p->m, c.at);
    mem_put(p->m, c.topo);
    first_order_free(p->m, &c.deps);
    if (!p->so) reach_without_sessions(p, r);
    return true;
}

bool first_order(strong *p, const order_graph *known, uint32_t *pos, reach *r)
{
    uint32_t *rank = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    memset(r, 0, sizeof *r);
    bool done = pass_on(p->tune, PASS_ORDER_TIMES) && guess_by_time(p, rank);
    if (!done) done = pass_on(p->tune, PASS_ORDER_CLOCKS) && guess_by_clocks(p, rank, r);
    if (!done)
        for (uint32_t e = 0; e < p->events; e++) rank[e] = e;
    bool ok = extend(p, known, rank, pos);
    mem_put(p->m, rank);
    return ok;
}

/* --- cycles of known edges -------------------------------------------------------------------- */

void answer_known_cycle(strong *p, const order_graph *k, lazy_answer *a)
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
                for (i--; i < stack.n; i++) vec_push(p->m, &a->cycle, stack.at[i]);
            }
        }
    }
}
