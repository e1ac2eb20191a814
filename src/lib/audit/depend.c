/*
 * depend.c - collects the edges of depend.h while a replay commits, and sorts by them.
 *
 * For each row there is a list of the transactions that saw its newest version; the writer of the
 * next version comes after all of them.  The lists share a ring of fixed size: the oldest readers
 * are forgotten, and so are edges over many positions, which keeps a long log linear.  Both are
 * sound, since an order is replayed before it counts.  Sorting moves as few nodes as it can.
 */
#include "audit/depend.h"

#include <assert.h>

/* Edges over so many positions, and of readers beyond the ring, are left out.  That is sound: an
   order that is found is replayed, and a cycle is made of the edges that are there. */
#define FAR 2048u
#define RING (1u << 22)

typedef struct reader {
    uint64_t older;  /* number of the one before it on the list of the row, + 1 */
    uint64_t unread; /* columns that it did not read */
    uint32_t who;
} reader;

typedef struct reader_list {
    const table *t;
    VEC(uint64_t) head; /* by row: number of the newest reader, + 1 */
} reader_list;

void depend_init(depend *d, engine *e)
{
    memset(d, 0, sizeof *d);
    d->e = e;
    d->mark = mem_array0(e->mem, uint32_t, e->order.n + 1);
    d->ring = mem_array(e->mem, reader, RING);
}

static void forget_readers(depend *d)
{
    for (size_t i = 0; i < d->n_lists; i++) vec_free(d->e->mem, &d->lists[i].head);
    mem_put(d->e->mem, d->lists);
    d->lists = NULL;
    d->n_lists = 0;
    d->next = 0;
}

void depend_free(depend *d)
{
    forget_readers(d);
    vec_free(d->e->mem, &d->edges);
    vec_free(d->e->mem, &d->owners);
    mem_put(d->e->mem, d->mark);
    mem_put(d->e->mem, d->ring);
}

static void add_edge(depend *d, uint32_t from, uint32_t to, uint32_t owner)
{
    assert(d->edges.n == d->owners.n);
    assert(owner == NO_OWNER || owner == from || owner == to);
    if (from == to) return;
    vec_push(d->e->mem, &d->edges, ((order_pair){from, to}));
    vec_push(d->e->mem, &d->owners, owner);
}

static uint64_t *readers_of(depend *d, const table *t, uint32_t row)
{
    size_t i = 0;
    while (i < d->n_lists && d->lists[i].t != t) i++;
    if (i == d->n_lists) {
        reader_list *more = mem_array0(d->e->mem, reader_list, d->n_lists + 1);
        if (d->n_lists) memcpy(more, d->lists, d->n_lists * sizeof *more);
        mem_put(d->e->mem, d->lists);
        d->lists = more;
        d->lists[d->n_lists++].t = t;
    }
    reader_list *l = &d->lists[i];
    while (l->head.n <= row) vec_push(d->e->mem, &l->head, 0);
    return &l->head.at[row];
}

static reader *reader_at(const depend *d, uint64_t number)
{
    return number && number + RING > d->next ? &d->ring[(number - 1) % RING] : NULL;
}

static void note_reader(depend *d, looked r, uint32_t who)
{
    uint64_t *head = readers_of(d, r.t, r.row);
    reader *last = reader_at(d, *head);
    if (last && last->who == who) {
        last->unread &= r.unread;
        return;
    }
    d->ring[d->next % RING] = (reader){*head, r.unread, who};
    *head = ++d->next;
}

static void looked_at(depend *d, looked r, uint32_t me)
{
    assert(r.after <= me && me < d->e->order.n); /* nobody reads what comes later */
    assert(!r.before || r.before <= me);
    if (r.after && r.after + FAR > me && d->mark[r.after - 1] != me + 1) {
        d->mark[r.after - 1] = me + 1;
        add_edge(d, r.after - 1, me, me);
    }
    if (r.before)
        add_edge(d, me, r.before - 1, me);
    else if (r.fits)
        note_reader(d, r, me);
}

/* The columns, a bit each, that are the same in both versions. */
static uint64_t same_columns(const table *t, const row_version *a, const row_version *b)
{
    uint64_t same = 0;
    assert(a != b);
    if (a->dead || b->dead) return 0;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        const value *x = &a->cols[c], *y = &b->cols[c];
        bool equal = !x->open && !y->open && value_identical(t->cols[c].t.id, *x, *y);
        if (c < 64 && equal) same |= 1ull << c;
        if (c >= 64 && !equal) return 0; /* nobody knows whether these were read */
    }
    return t->n_cols < 64 ? same | UINT64_MAX << t->n_cols : same;
}

static void wrote_row(depend *d, store_undo u, uint32_t me)
{
    assert(u.row < u.t->rows.n && me < d->e->order.n);
    const row_version *v = u.t->rows.at[u.row].head;
    const row_version *mine = v;
    while (v && v->commit == PENDING) v = v->older;
    if (v && v->commit) add_edge(d, v->commit - 1, me, NO_OWNER);
    uint64_t same = v && mine != v ? same_columns(u.t, v, mine) : 0, *link;
    reader *r;
    for (link = readers_of(d, u.t, u.row); (r = reader_at(d, *link)) && r->who + FAR > me;) {
        if (!(~same & ~r->unread)) { /* what it read stays as it was */
            link = &r->older;
            continue;
        }
        add_edge(d, r->who, me, r->who);
        *link = r->older;
    }
    *link = 0;
}

void depend_commit(void *ud, uint32_t position)
{
    depend *d = ud;
    engine *e = d->e;
    if (!position) { /* a pass begins */
        forget_readers(d);
        d->edges.n = d->owners.n = 0;
        memset(d->mark, 0, e->order.n * sizeof d->mark[0]);
    }
    for (size_t i = 0; i < e->hooks.looks.n; i++) looked_at(d, e->hooks.looks.at[i], position);
    for (size_t i = 0; i < e->store.undo.n; i++)
        if (e->store.undo.at[i].row < UNDO_LEAST) wrote_row(d, e->store.undo.at[i], position);
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* Each node in turn, after those that it depends on: a transaction that committed late but read
   early is pulled forward, nobody else is moved. */
static void pull(mem *m, uint32_t n, const order_graph *g, uint32_t *sorted)
{
    uint32_t *next = mem_array(m, uint32_t, n + 1), *stack = mem_array(m, uint32_t, n + 1);
    bool *placed = mem_array0(m, bool, n + 1);
    uint32_t done = 0;
    memcpy(next, g->in_start, n * sizeof *next);
    for (uint32_t v = 0; v < n; v++) {
        uint32_t depth = 0;
        if (!placed[v]) stack[depth++] = v;
        while (depth) {
            uint32_t top = stack[depth - 1];
            guard_tick(m->guard);
            while (next[top] < g->in_start[top + 1] && placed[g->in[next[top]]]) next[top]++;
            if (next[top] < g->in_start[top + 1]) {
                stack[depth++] = g->in[next[top]];
                continue;
            }
            placed[top] = true;
            sorted[done++] = top;
            assert(done <= n);
            depth--;
        }
    }
    mem_put(m, next);
    mem_put(m, stack);
    mem_put(m, placed);
}

typedef struct tarjan {
    uint32_t *number; /* by node: when it was come to, from 1; 0: not yet */
    uint32_t *low;    /* by node: the least number that it leads back to */
    uint32_t *stack, *path, *next;
    bool *waits; /* on the stack */
    uint32_t depth, height, numbers;
} tarjan;

static void enter_node(tarjan *t, const order_graph *g, uint32_t v)
{
    assert(!t->number[v] && !t->waits[v]);
    t->number[v] = t->low[v] = ++t->numbers;
    t->next[v] = g->out_start[v];
    t->path[t->depth++] = t->stack[t->height++] = v;
    t->waits[v] = true;
}

/* All that can be come to from the node has been seen.  Those of a component stand on the stack
   from its first node on. */
static void leave_node(tarjan *t, bool *left)
{
    uint32_t v = t->path[--t->depth];
    if (t->depth && t->low[v] < t->low[t->path[t->depth - 1]])
        t->low[t->path[t->depth - 1]] = t->low[v];
    if (t->low[v] != t->number[v]) return;
    bool several = t->stack[t->height - 1] != v;
    for (uint32_t w = UINT32_MAX; w != v;) {
        assert(t->height);
        w = t->stack[--t->height];
        t->waits[w] = false;
        left[w] = several;
    }
}

/* Of those that are left, which ones are on a cycle?  (Tarjan's components, without recursion.) */
static void find_cycles(mem *m, uint32_t n, const order_graph *g, bool *left)
{
    tarjan t = {mem_array0(m, uint32_t, n + 1),
                mem_array0(m, uint32_t, n + 1),
                mem_array(m, uint32_t, n + 1),
                mem_array(m, uint32_t, n + 1),
                mem_array(m, uint32_t, n + 1),
                mem_array0(m, bool, n + 1),
                0,
                0,
                0};
    for (uint32_t root = 0; root < n; root++) {
        if (t.number[root] || !left[root]) continue;
        enter_node(&t, g, root);
        while (t.depth) {
            uint32_t v = t.path[t.depth - 1];
            guard_tick(m->guard);
            if (t.next[v] == g->out_start[v + 1]) {
                leave_node(&t, left);
                continue;
            }
            uint32_t w = g->out[t.next[v]++];
            if (!t.number[w] && left[w])
                enter_node(&t, g, w);
            else if (t.waits[w] && t.number[w] < t.low[v])
                t.low[v] = t.number[w];
        }
    }
    uint32_t *parts[] = {t.number, t.low, t.stack, t.path, t.next};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) mem_put(m, parts[i]);
    mem_put(m, t.waits);
}

void depend_graph_free(mem *m, order_graph *g)
{
    const uint32_t *parts[] = {g->out_start, g->out, g->in_start, g->in};
    for (size_t i = 0; i < 4; i++) mem_put(m, (void *)(uintptr_t)parts[i]);
}

bool depend_sort(mem *m, uint32_t n, const order_pair *pairs, size_t n_pairs, uint32_t *sorted,
                 bool *left)
{
    order_graph g;
    order_graph_build(m, n, pairs, n_pairs, &g);
    uint32_t *ins = mem_array0(m, uint32_t, n + 1), done = 0, ready = 0;
    for (uint32_t v = 0; v < n; v++) {
        ins[v] = g.in_start[v + 1] - g.in_start[v];
        left[v] = true;
        if (!ins[v]) sorted[ready++] = v;
    }
    while (done < ready) {
        uint32_t v = sorted[done++];
        guard_tick(m->guard);
        left[v] = false;
        for (uint32_t i = g.out_start[v]; i < g.out_start[v + 1]; i++)
            if (!--ins[g.out[i]]) sorted[ready++] = g.out[i];
    }
    if (done < n)
        find_cycles(m, n, &g, left);
    else
        pull(m, n, &g, sorted);
    mem_put(m, ins);
    assert(done == ready && done <= n);
    depend_graph_free(m, &g);
    return done == n;
}
