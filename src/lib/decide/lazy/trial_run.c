/*
 * trial_run.c - a first order made by running the transactions (doc/algorithms/strong.md).
 *
 * Where many reads are broken in the guessed order, most of them are broken by transactions that
 * stand between a version and its readers: one key that everybody overwrites is the extreme.  So
 * the transactions are run one by one, as a database would, each as early as its guess says, but
 *
 *     - one that overwrites a version waits until those who read that version have run;
 *     - one that writes a version waits until what its readers wait for otherwise has run;
 *     - an ambiguous read waits until its key has the value that it reported.
 *
 * An event that waits stands in the list of what it waits for, and is looked at again when that
 * changes.  If everybody waits, the one with the earliest guess is run all the same, and the reads
 * that it breaks are left to the search.  The result is an order like any other first order: it
 * extends the known graph, and whether it is better is found out by replaying it.
 *
 * Invariant: an event all of whose predecessors have run, and which has not run, stands in the heap
 * `ready` or in exactly one list, and in the heap `waiting` if it ever stood in a list.
 *
 * Cost: looking at an event costs as much as it has operations; the sum is limited (`effort`) to a
 * multiple of the size of the history, and after that events run in the order of their guesses.
 */
#include <assert.h>

#include "base/search.h"
#include "decide/lazy/run_store.h"
#include "decide/rank_heap.h"

#define EFFORT 64u /* operations looked at, for each operation of the history */

typedef struct run_edge {
    uint32_t to, next;
} run_edge;

typedef struct run {
    lazy *z;
    asg *g;
    order_problem *p;
    const order_graph *known;
    uint64_t effort;
    rank_heap ready, waiting;
    uint32_t *missing;    /* per event: predecessors that have not run */
    uint32_t *held_back;  /* per event: the same, of edges beyond the known graph */
    uint32_t *first_edge; /* per event: the first of its edges beyond the known graph, or NONE */
    VEC(run_edge) edges;
    uint8_t *ran;   /* per event */
    uint8_t *waits; /* per event: it stands in the heap `waiting` */
    uint32_t *next; /* per event: the one after it in its list, or NONE */

    /* Lists of events that wait: per key, until its version may be overwritten; per event, until
       that one has run; per class of versions, until its key has a version of that class. */
    uint32_t *first_at_key, *last_at_key, *first_for_class;

    run_store store;
    node_id *writing; /* per key: one that has begun, writes it and excludes others; or NO_ID */
} run;

/* --- preparing -------------------------------------------------------------------------------- */

static uint32_t *filled_array(mem *m, size_t n, int byte)
{
    uint32_t *a = mem_array(m, uint32_t, n + 1);
    memset(a, byte, (n + 1) * sizeof *a);
    return a;
}

static void start_run(run *r, lazy *z, const order_graph *known)
{
    asg *g = z->g;
    mem *m = z->m;
    order_problem *p = z->p;
    size_t keys = history_keys(g->h);
    *r = (run){.z = z, .g = g, .p = p, .known = known};
    r->effort = EFFORT * ((uint64_t)g->obs + g->insts + p->events + p->known.n);
    r->ready = (rank_heap){mem_array(m, uint32_t, (size_t)p->events + 1), 0, z->pos};
    r->waiting = (rank_heap){mem_array(m, uint32_t, (size_t)p->events + 1), 0, z->pos};
    r->missing = mem_array(m, uint32_t, (size_t)p->events + 1);
    r->ran = mem_array0(m, uint8_t, (size_t)p->events + 1);
    r->waits = mem_array0(m, uint8_t, (size_t)p->events + 1);
    r->next = filled_array(m, p->events, 0xff);
    r->first_at_key = filled_array(m, keys, 0xff);
    r->last_at_key = filled_array(m, keys, 0xff);
    r->held_back = filled_array(m, p->events, 0);
    r->first_edge = filled_array(m, p->events, 0xff);
    r->writing = filled_array(m, keys, 0xff);
    run_store_start(&r->store, z);
    if (g->open.n) r->first_for_class = filled_array(m, r->store.classes, 0xff);
}

static void end_run(run *r)
{
    void *arrays[] = {r->ready.at, r->waiting.at, r->missing,         r->ran,
                      r->waits,    r->next,       r->first_at_key,    r->last_at_key,
                      r->writing,  r->held_back,  r->first_for_class, r->first_edge,
                      r->edges.at};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_put(r->z->m, arrays[i]);
    run_store_end(&r->store);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void wait_in_list(run *r, uint32_t e, uint32_t *first)
{
    r->next[e] = *first;
    *first = e;
}

/* The event waits for the key of install j.  One that may go on before the others stands first: it
   has begun to write the key, or it overwrites the version that stands there and was read. */
static void wait_for_key(run *r, uint32_t e, uint32_t j)
{
    key_id k = r->g->inst_key[j];
    bool soon = r->writing[k] == r->g->inst_node[j] ||
                (r->store.prior[j] != NONE && r->store.prior[j] == r->store.version[k]);
    if (soon && r->first_at_key[k] != NONE) {
        wait_in_list(r, e, &r->first_at_key[k]);
        return;
    }
    if (r->first_at_key[k] == NONE)
        r->first_at_key[k] = e;
    else
        r->next[r->last_at_key[k]] = e;
    r->last_at_key[k] = e;
    r->next[e] = NONE;
}

static void wake_list(run *r, uint32_t *first)
{
    for (uint32_t e = *first, next; e != NONE; e = next) {
        next = r->next[e];
        if (!r->ran[e]) rank_heap_push(&r->ready, e);
    }
    *first = NONE;
}

/* --- looking at an event ---------------------------------------------------------------------- */

/* Must the event wait because of its install j?  A begin waits for another writer that has begun, a
   commit for the readers of the version that it overwrites. */
static bool must_wait(const run *r, uint32_t e, uint32_t j)
{
    node_id v = r->g->inst_node[j], writer = r->writing[r->g->inst_key[j]];
    if (writer != NO_ID && writer != v) return true;
    return e == commit_of(r->p, v) && run_store_unread(&r->store, j);
}

/* One of those that wait for the key may go on.  The next one follows when that one has run, or
   waits for something else. */
static void wake_one_at_key(run *r, key_id k)
{
    while (r->first_at_key[k] != NONE) {
        uint32_t e = r->first_at_key[k];
        if (!r->ran[e] && must_wait(r, e, asg_install(r->g, txn_of(r->p, e), k))) return;
        r->first_at_key[k] = r->next[e];
        if (r->ran[e]) continue;
        rank_heap_push(&r->ready, e);
        return;
    }
}

/* May the event run now?  If not, it stands in the list of what it waits for. */
static bool may_run(run *r, uint32_t e)
{
    order_problem *p = r->p;
    asg *g = r->g;
    node_id v = txn_of(p, e);
    uint32_t reads = g->ob_first[v + 1] - g->ob_first[v];
    uint64_t size = (uint64_t)1 + reads + g->inst_first[v + 1] - g->inst_first[v];
    if (!p->in[v] || r->effort <= size) return true;
    r->effort -= size;
    if (e != begin_of(p, v) && e != commit_of(p, v)) return true; /* it means nothing */
    uint32_t c = e == begin_of(p, v) ? run_store_missed(&r->store, v) : NONE;
    if (c != NONE && r->store.supply[c]) { /* else no such version comes any more */
        wait_in_list(r, e, &r->first_for_class[c]);
        return false;
    }
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        if (!must_wait(r, e, j)) continue;
        wait_for_key(r, e, j);
        return false;
    }
    return true;
}

/* --- what follows from sessions ------------------------------------------------------------------

   Versions of a key, each of which overwrites the one that its writer read, are a chain, and with
   their readers they stand together: another version of the key comes before all of them or after.
   So if a transaction that touches one chain of the key leads to one that touches another, it
   stands before the first version of the latter.  Looked at for neighbours in a session, and for
   writers of what was read and those before them in their sessions. */

/* Who touches a key, by key and node: reads (certain ones) and installs. */
typedef struct touches {
    uint32_t *first; /* per key, into the arrays below */
    node_id *node;
    uint32_t *head; /* the first version of the chain that is touched */
    uint8_t *wrote;
} touches;

static uint32_t txn_events(const run *r)
{
    return r->p->si ? 2 * r->p->txns : r->p->txns;
}

/* Per install: the first version of its chain. */
static uint32_t *chain_heads(run *r)
{
    asg *g = r->g;
    uint32_t *head = mem_array(r->z->m, uint32_t, g->insts + 1), end = r->p->events;
    uint32_t *at = mem_array(r->z->m, uint32_t, (size_t)end + 1);
    for (uint32_t e = 0; e < end; e++) at[r->z->pos[e]] = e;
    for (uint32_t j = 0; j < g->insts; j++) head[j] = j;
    for (uint32_t i = 0; i < end; i++) {
        if (at[i] >= txn_events(r)) continue;
        node_id v = txn_of(r->p, at[i]);
        if (at[i] != commit_of(r->p, v)) continue;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            if (!run_store_certain(&r->store, ob)) continue;
            uint32_t j = asg_install(g, v, g->ob_key[ob]);
            if (j != NO_ID) head[j] = head[r->p->rf_inst[ob]];
        }
    }
    mem_put(r->z->m, at);
    return head;
}

static void collect_touches(run *r, touches *t)
{
    asg *g = r->g;
    mem *m = r->z->m;
    size_t keys = history_keys(g->h), all = g->obs + g->insts;
    uint32_t *head = chain_heads(r);
    t->first = mem_array0(m, uint32_t, keys + 2);
    t->node = mem_array(m, node_id, all + 1);
    t->head = mem_array(m, uint32_t, all + 1);
    t->wrote = mem_array(m, uint8_t, all + 1);
    for (uint32_t ob = 0; ob < g->obs; ob++)
        if (run_store_certain(&r->store, ob)) t->first[g->ob_key[ob] + 2]++;
    for (uint32_t j = 0; j < g->insts; j++)
        if (r->p->in[g->inst_node[j]]) t->first[g->inst_key[j] + 2]++;
    for (size_t k = 2; k <= keys; k++) t->first[k] += t->first[k - 1];
    for (node_id v = 0; v < r->p->txns; v++) {
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            if (!run_store_certain(&r->store, ob)) continue;
            uint32_t at = t->first[g->ob_key[ob] + 1]++;
            t->node[at] = v;
            t->head[at] = head[r->p->rf_inst[ob]];
            t->wrote[at] = 0;
        }
        for (uint32_t j = g->inst_first[v]; r->p->in[v] && j < g->inst_first[v + 1]; j++) {
            uint32_t at = t->first[g->inst_key[j] + 1]++;
            t->node[at] = v;
            t->head[at] = head[j];
            t->wrote[at] = 1;
        }
    }
    mem_put(m, head);
}

static void add_edge(run *r, uint32_t from, uint32_t to)
{
    run_edge e = {to, r->first_edge[from]};
    r->first_edge[from] = (uint32_t)r->edges.n;
    vec_push(r->z->m, &r->edges, e);
    r->held_back[to]++;
}

static bool same_session(const run *r, node_id a, node_id b)
{
    const history *h = r->g->h;
    return h->txn_session[r->g->node_txn[a]] == h->txn_session[r->g->node_txn[b]];
}

/* Whoever touches key k last among p and those before it in its session, leads to somebody that
   touches the chain of `head`. */
static void add_touch_edge(run *r, const touches *t, node_id p, key_id k, uint32_t head)
{
    asg *g = r->g;
    node_id first = g->inst_node[head];
    SEARCH_FIRST(uint32_t, i, t->first[k], t->first[k + 1], t->node[i] > p);
    if (i == t->first[k] || t->head[i - 1] == head) return;
    node_id u = t->node[i - 1];
    if (asg_same(g, u, first) || (u != p && (!r->p->so || !same_session(r, u, p)))) return;
    if (t->wrote[i - 1])
        add_edge(r, commit_of(r->p, u), version_target(r->p, first));
    else
        add_edge(r, begin_of(r->p, u), commit_of(r->p, first));
}

/* Half of the effort at most: for transactions of many reads it would be quadratic. */
static void add_edges(run *r)
{
    asg *g = r->g;
    touches t;
    uint64_t half = r->effort / 2;
    r->effort -= half;
    collect_touches(r, &t);
    for (size_t k = 0; k < history_keys(g->h); k++)
        for (uint32_t i = t.first[k]; i < t.first[k + 1]; i++) {
            node_id v = t.node[i], p = r->p->so_pred[v];
            if (p != NO_ID) add_touch_edge(r, &t, p, (key_id)k, t.head[i]);
            for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1] && r->effort; ob++) {
                r->effort--;
                if (g->ob_key[ob] != k && r->p->rf[ob] < RF_LAST)
                    add_touch_edge(r, &t, r->p->rf[ob], (key_id)k, t.head[i]);
            }
            guard_tick(r->z->m->guard);
        }
    r->effort += half;
    mem_put(r->z->m, t.first);
    mem_put(r->z->m, t.node);
    mem_put(r->z->m, t.head);
    mem_put(r->z->m, t.wrote);
}

/* --- running ---------------------------------------------------------------------------------- */

static void run_reads(run *r, node_id v)
{
    asg *g = r->g;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        run_store_read(&r->store, ob, false);
        wake_one_at_key(r, g->ob_key[ob]);
    }
}

static void run_writes(run *r, node_id v)
{
    asg *g = r->g;
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        key_id k = g->inst_key[j];
        uint32_t c = r->store.class_of ? r->store.class_of[j] : NONE;
        run_store_write(&r->store, j);
        r->writing[k] = NO_ID;
        if (c != NONE) wake_list(r, &r->first_for_class[c]);
        wake_one_at_key(r, k);
    }
}

/* Until it commits no other may begin that writes the same keys. */
static void hold_keys(run *r, node_id v)
{
    asg *g = r->g;
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
        r->writing[g->inst_key[j]] = v;
}

static void note_waiting(run *r, uint32_t e)
{
    if (r->waits[e]) return;
    r->waits[e] = 1;
    rank_heap_push(&r->waiting, e);
}

/* All that is known to stand before the event has run. */
static void become_ready(run *r, uint32_t e)
{
    if (!r->held_back[e])
        rank_heap_push(&r->ready, e);
    else
        note_waiting(r, e);
}

static void run_event(run *r, uint32_t e, uint32_t place, uint32_t *pos)
{
    order_problem *p = r->p;
    const order_graph *known = r->known;
    assert(!r->ran[e] && !r->missing[e]);
    r->ran[e] = 1;
    pos[e] = place;
    for (uint32_t i = known->out_start[e]; i < known->out_start[e + 1]; i++)
        if (!--r->missing[known->out[i]]) become_ready(r, known->out[i]);
    for (uint32_t i = r->first_edge[e]; i != NONE; i = r->edges.at[i].next) {
        uint32_t to = r->edges.at[i].to;
        if (!--r->held_back[to] && !r->missing[to] && !r->ran[to]) rank_heap_push(&r->ready, to);
    }
    if (e < txn_events(r) && p->in[txn_of(p, e)]) {
        node_id v = txn_of(p, e);
        if (e == begin_of(p, v)) run_reads(r, v);
        bool begins = e == begin_of(p, v) && e != commit_of(p, v);
        if (begins && p->rule->exclusive) hold_keys(r, v);
        if (e == commit_of(p, v)) run_writes(r, v);
    }
}

/* The event waits now: those that wait for a key that it writes need not wait for it. */
static void pass_on_keys(run *r, uint32_t e)
{
    asg *g = r->g;
    node_id v = txn_of(r->p, e);
    note_waiting(r, e);
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
        wake_one_at_key(r, g->inst_key[j]);
}

void lazy_trial_run(lazy *z, const order_graph *known, uint32_t *pos)
{
    run r;
    start_run(&r, z, known);
    uint32_t done = 0;
    for (uint32_t e = 0; e < z->p->events; e++)
        r.missing[e] = known->in_start[e + 1] - known->in_start[e];
    add_edges(&r);
    for (uint32_t e = 0; e < z->p->events; e++)
        if (!r.missing[e]) become_ready(&r, e);
    while (r.ready.n || r.waiting.n) {
        bool stuck = !r.ready.n;
        uint32_t e = rank_heap_pop(stuck ? &r.waiting : &r.ready);
        if (r.ran[e]) continue;
        guard_tick(z->m->guard);
        if (stuck || e >= txn_events(&r) || may_run(&r, e))
            run_event(&r, e, done++, pos);
        else
            pass_on_keys(&r, e);
    }
    assert(done == z->p->events);
    end_run(&r);
}
