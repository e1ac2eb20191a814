/*
 * update_readers.c - update serializability (doc/levels.md PL-3U): transactions that write are
 * ordered as at serializability, and each one that only reads must fit that order by itself.
 *
 * A reader takes no part in the order of the solver beyond standing behind what it read.  It is
 * broken by a path, among the updates, from one that comes after it (it overwrote what the reader
 * read, or follows in the session) to one that comes before it (the reader read from it, or it
 * precedes in the session).  The order extends all edges among updates once every read of an update
 * is satisfied, so mostly a look at places is enough: the last one before the reader stands before
 * the first one after it.  Else a search goes back over session order, read-from, version order and
 * anti-dependencies.  With session order a cycle without anti-dependencies may also lead through
 * several readers (read-committed with sessions); that is looked for when all readers fit.
 *
 * Real time counts like session order: among updates it is known to the order, an update that ended
 * before the reader began comes before it, one that began after its end comes after it.
 *
 * What is found rests on facts of version order and on choices; the clause is that one of them is
 * otherwise, as in paths.c.
 */
#include <assert.h>

#include "base/hash.h"
#include "decide/lazy/slot_search.h"
#include "decide/lazy/update_times.h"

/* The edge by which a transaction leads on. */
typedef struct link {
    node_id to;
    uint32_t kind; /* enum edge_kind, STEP_RW or STEP_RT */
    uint32_t ob;   /* EDGE_WR, STEP_RW */
    uint32_t inst; /* EDGE_WW, STEP_RW: the later version */
} link;

struct updates {
    node_id *prev;               /* per node: the update before it in its session, or NO_ID */
    uint32_t *next_first, *next; /* per reader: updates that follow in its session */
    VEC(node_id) readers;
    /* Invariant: in `epoch`, the readers before `at` that `left` no longer counts are not
       broken. */
    size_t at, left; /* the reader to look at next, and how many are left to look at */
    uint64_t epoch;
    bool clean;      /* nothing is broken in that epoch */
    uint32_t *seen;  /* per node: the search that reached it */
    uint32_t *after; /* per node: the search in which it comes after the reader */
    uint32_t search;
    link *link;  /* per node: the edge by which it leads on */
    link *enter; /* per node that comes after the reader: by which edge */
    VEC(node_id) todo;
    uint32_t *topo;      /* per node: its place in the order of the answer */
    update_times *times; /* NULL: real time does not count */
    uint32_t ended;      /* how many of times->end the search has looked at */
};

static bool is_update(const asg *g, node_id v)
{
    return g->inst_first[v] < g->inst_first[v + 1];
}

/* The updates that follow a reader directly: one that committed, and before it any of unknown
   outcome, from which nothing follows. */
static void index_next(lazy *z)
{
    asg *g = z->g;
    updates *x = z->updates;
    x->next_first = mem_array0(z->m, uint32_t, (size_t)g->nodes + 2);
    for (int fill = 0; fill < 2; fill++) {
        for (node_id v = 0; v < g->nodes; v++) {
            if (!is_update(g, v)) continue;
            for (node_id r = g->so_pred[v]; r != NO_ID && !is_update(g, r); r = g->so_pred[r]) {
                if (fill)
                    x->next[x->next_first[r + 1]++] = v;
                else
                    x->next_first[r + 2]++;
                guard_tick(z->m->guard);
            }
        }
        if (fill) break;
        for (uint32_t r = 2; r < g->nodes + 2; r++) x->next_first[r] += x->next_first[r - 1];
        x->next = mem_array(z->m, uint32_t, (size_t)x->next_first[g->nodes + 1] + 1);
    }
}

void updates_start(lazy *z)
{
    asg *g = z->g;
    if (z->p->rule->strict != STRICT_UPDATES) return;
    updates *x = z->updates = mem_array0(z->m, updates, 1);
    size_t n = (size_t)g->nodes + 1;
    x->epoch = UINT64_MAX;
    x->prev = mem_array(z->m, node_id, n);
    x->times = update_times_new(z);
    x->seen = mem_array0(z->m, uint32_t, n);
    x->after = mem_array0(z->m, uint32_t, n);
    x->link = mem_array(z->m, link, n + (x->times ? x->times->points : 0));
    x->enter = mem_array(z->m, link, n);
    x->topo = mem_array(z->m, uint32_t, n);
    for (node_id v = 0; v < g->nodes; v++) {
        node_id b = z->p->so ? g->so_pred[v] : NO_ID;
        x->prev[v] = b == NO_ID || is_update(g, b) ? b : x->prev[b];
        if (!is_update(g, v)) vec_push(z->m, &x->readers, v);
    }
    if (z->p->so) index_next(z);
}

/* --- sources --------------------------------------------------------------------------------- */

/* Has the obligation a source now?  *inst is its install, or NONE for the initial version; *cand is
   the candidate if the source was chosen, else NONE. */
static bool source_now(lazy *z, uint32_t ob, uint32_t *inst, uint32_t *cand)
{
    asg *g = z->g;
    uint32_t rf = z->p->rf[ob];
    *cand = *inst = NONE;
    if (rf == RF_OPEN && (slots_own(z, ob) || !(g->ob_flags[ob] & OB_LIST))) {
        *cand = paths_choice(z, ob);
        if (*cand == NONE) return false;
        rf = asg_cand(g, z->open_of[ob], *cand);
        if (rf < RF_LAST) *inst = asg_install(g, rf, g->ob_key[ob]);
    } else if (rf < RF_LAST) {
        *inst = z->p->rf_inst[ob];
    }
    return rf < RF_LAST || rf == RF_INIT;
}

/* The first version of the key after inst (NONE: after the initial one), or NONE. */
static uint32_t version_after(const lazy *z, key_id k, uint32_t inst)
{
    const asg *g = z->g;
    if (inst != NONE) return lazy_next_version(z, inst);
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++)
        if (z->present[g->inst_node[z->list[i]]]) return z->list[i];
    return NONE;
}

/* --- searching back -------------------------------------------------------------------------- */

/* The search has come to u, unless it was there or u stands before `low`. */
static void reach_back(lazy *z, node_id u, uint32_t low, link by)
{
    updates *x = z->updates;
    assert(u < z->g->nodes && by.to < z->g->nodes);
    if (x->seen[u] == x->search || z->pos[u] < low) return;
    x->seen[u] = x->search;
    x->link[u] = by;
    vec_push(z->m, &x->todo, u);
}

/* The search goes back to updates that read the version before install j of v. */
static void readers_back(lazy *z, node_id v, uint32_t j, uint32_t prior, uint32_t low)
{
    asg *g = z->g;
    key_id k = g->inst_key[j];
    if (prior != NONE)
        for (uint32_t i = z->p->reader_first[prior]; i < z->p->reader_first[prior + 1]; i++) {
            uint32_t ob = z->p->reader[i];
            node_id u = g->ob_node[ob];
            if (u != v && z->present[u] && is_update(g, u))
                reach_back(z, u, low, (link){v, STEP_RW, ob, j});
        }
    /* Reads of the initial version and chosen ones are not listed by install. */
    if (!z->unlisted_first || (prior != NONE && !g->open.n)) return;
    for (uint32_t i = z->unlisted_first[k]; i < z->unlisted_first[k + 1]; i++) {
        uint32_t ob = z->unlisted[i], inst, cand;
        node_id u = g->ob_node[ob];
        if (u == v || !z->present[u] || !is_update(g, u) || z->pos[u] < low) continue;
        if (z->p->rf[ob] < RF_LAST || !source_now(z, ob, &inst, &cand) || inst != prior) continue;
        reach_back(z, u, low, (link){v, STEP_RW, ob, j});
    }
}

/* The search goes back to updates that ended before v began.  Those that ended before somebody else
   of the search began have been looked at. */
static void ended_back(lazy *z, node_id v, uint32_t low)
{
    updates *x = z->updates;
    const update_times *t = x->times;
    if (!t) return;
    uint32_t n = update_times_ended(t, z->g, v);
    for (uint32_t i = n; i > x->ended && t->last[i - 1] >= low; i--)
        reach_back(z, t->end[i - 1].node, low, (link){v, STEP_RT, NO_ID, NONE});
    if (n > x->ended) x->ended = n;
}

/* The search goes on from v to all that come before it by one edge. */
static void search_back(lazy *z, node_id v, uint32_t low)
{
    asg *g = z->g;
    const updates *x = z->updates;
    if (x->prev[v] != NO_ID) reach_back(z, x->prev[v], low, (link){v, EDGE_SO, NO_ID, NONE});
    ended_back(z, v, low);
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t inst, cand;
        if (source_now(z, ob, &inst, &cand) && inst != NONE)
            reach_back(z, g->inst_node[inst], low, (link){v, EDGE_WR, ob, NONE});
    }
    if (!is_update(g, v)) return;
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        uint32_t prior = lazy_version_before(z, j);
        if (prior != NONE) reach_back(z, g->inst_node[prior], low, (link){v, EDGE_WW, NO_ID, j});
        readers_back(z, v, j, prior, low);
        guard_tick(z->m->guard);
    }
}

/* Notes that u comes after the reader, by which edge, and the earliest place of all such. */
static void comes_after(lazy *z, node_id u, link by, uint32_t *low)
{
    updates *x = z->updates;
    if (!z->present[u] || x->after[u] == x->search) return;
    x->after[u] = x->search;
    x->enter[u] = by;
    if (z->pos[u] < *low) *low = z->pos[u];
}

/* Does u, which the search has reached, come after the reader? */
static bool is_after(lazy *z, node_id u, node_id r)
{
    updates *x = z->updates;
    if (x->after[u] == x->search) return true;
    if (!x->times || !update_times_before(x->times, z->g, r, u)) return false;
    x->after[u] = x->search;
    x->enter[u] = (link){r, STEP_RT, NO_ID, NONE};
    return true;
}

/* An update that comes after reader r and leads to one before it, or NO_ID. */
static node_id find_broken(lazy *z, node_id r)
{
    assert(z->present[r] && !is_update(z->g, r));
    asg *g = z->g;
    updates *x = z->updates;
    uint32_t low = UINT32_MAX;
    if (!++x->search) { /* the stamps have come round */
        memset(x->seen, 0, ((size_t)g->nodes + 1) * sizeof *x->seen);
        memset(x->after, 0, ((size_t)g->nodes + 1) * sizeof *x->after);
        x->search = 1;
    }
    for (uint32_t ob = g->ob_first[r]; ob < g->ob_first[r + 1]; ob++) {
        uint32_t inst, cand, u;
        if (!source_now(z, ob, &inst, &cand)) continue;
        u = version_after(z, g->ob_key[ob], inst);
        if (u != NONE) comes_after(z, g->inst_node[u], (link){r, STEP_RW, ob, u}, &low);
    }
    for (uint32_t i = x->next ? x->next_first[r] : 0; x->next && i < x->next_first[r + 1]; i++)
        comes_after(z, x->next[i], (link){r, EDGE_SO, NO_ID, NONE}, &low);
    if (x->times) {
        uint32_t began = update_times_low(x->times, g, r);
        if (began < low) low = began;
    }
    if (low == UINT32_MAX) return NO_ID;
    x->todo.n = 0;
    x->ended = 0;
    search_back(z, r, low);
    for (size_t i = 0; i < x->todo.n; i++) {
        node_id u = x->todo.at[i];
        if (is_after(z, u, r)) return u;
        search_back(z, u, low);
    }
    return NO_ID;
}

/* --- clauses --------------------------------------------------------------------------------- */

typedef struct loop_clause {
    uint32_t lit, way; /* the free literal with the shortest way so far */
    cycle steps;
    VEC(proof_hop) hops; /* the steps, for the proof */
} loop_clause;

static void offer_literal(lazy *z, loop_clause *c, uint32_t lit, uint32_t way)
{
    lazy_clause_lit(z, lit);
    if (solver_value(z->s, lit) || (c->lit != LIT_NONE && c->way <= way)) return;
    c->lit = lit;
    c->way = way;
}

/* Adds what the edge from v by that link rests on. */
static void offer_link(lazy *z, loop_clause *c, node_id v, const link *by)
{
    asg *g = z->g;
    uint32_t before = NONE, cand = NONE;
    step s = {v, by->to, by->kind, NO_ID, by->ob};
    bool keyed = by->kind != EDGE_SO && by->kind != STEP_RT;
    if (by->kind == EDGE_WW)
        before = asg_install(g, v, g->inst_key[by->inst]);
    else if (keyed)
        source_now(z, by->ob, &before, &cand);
    if (keyed) s.key = by->inst != NONE ? g->inst_key[by->inst] : g->ob_key[by->ob];
    if (cand != NONE) offer_literal(z, c, lit_not(lazy_cand_lit(z, cand)), UINT32_MAX);
    if (by->kind != EDGE_WR && before != NONE && by->inst != NONE) {
        node_id a = g->inst_node[before], b = g->inst_node[by->inst];
        lazy_clause_unless(z, a);
        if (!lazy_ruled_out(z, a, b))
            offer_literal(z, c, lazy_before(z, b, a), z->pos[b] - z->pos[a]);
        lazy_add_core(z, a);
    }
    lazy_clause_unless(z, v);
    lazy_add_core(z, v);
    vec_push(z->m, &c->steps.steps, s);
    if (!z->j) return;
    proof_hop x = {HOP_SO, v, by->ob, NO_ID};
    if (by->kind == STEP_RT) x.kind = HOP_RT;
    if (by->kind == EDGE_WR) x.kind = HOP_WR;
    if (by->kind == EDGE_WW) x.kind = HOP_WW;
    if (by->kind == EDGE_WW) x.with = s.key;
    if (by->kind == STEP_RW) x.kind = HOP_RW;
    if (by->kind == STEP_RW && before != NONE) x.from = g->inst_node[before];
    vec_push(z->m, &c->hops, x);
}

static uint32_t finish_clause(lazy *z, loop_clause *c)
{
    uint64_t hash = (uint64_t)1 << 63; /* from 0 it could stay 0, the name of a clause of a read */
    for (size_t i = 0; i < z->lits.n; i++) hash = hash_u64(hash ^ z->lits.at[i]) + i;
    if (c->lit != LIT_NONE && !lazy_first_time(z, (uint32_t)(hash >> 32), (uint32_t)hash)) {
        vec_free(z->m, &c->steps.steps);
        vec_free(z->m, &c->hops);
        return c->lit;
    }
    for (size_t i = c->hops.n; i-- > 0;)
        justify_hop(z->j, c->hops.at[i]); /* a proof has them from the end */
    if (z->j) justify_reason(z->j, BECAUSE_LOOP, NO_ID, NO_ID, c->steps.steps.at[0].from);
    vec_free(z->m, &c->hops);
    lazy_clause_end(z);
    /* one step alone: real time, of a transaction that ended before it began */
    assert(c->steps.steps.n > 1 || (c->steps.steps.n && c->steps.steps.at[0].kind == STEP_RT));
    if (!z->lits.n) z->a->path = c->steps;
    return THEORY_ANY;
}

static uint32_t write_broken(lazy *z, node_id r, node_id u)
{
    const updates *x = z->updates;
    assert(x->after[u] == x->search && x->seen[u] == x->search);
    loop_clause c = {.lit = LIT_NONE};
    link in = x->enter[u];
    in.to = u;
    lazy_clause_start(z);
    offer_link(z, &c, r, &in);
    for (node_id t = u; t != r; t = x->link[t].to) offer_link(z, &c, t, &x->link[t]);
    return finish_clause(z, &c);
}

/* --- read-committed with sessions ------------------------------------------------------------ */

typedef struct arrival {
    node_id from;
    link by;
} arrival;

typedef VEC(arrival) arrivals;

/* Session order, read-from and version order into v. */
static void list_arrivals(lazy *z, node_id v, arrivals *all)
{
    asg *g = z->g;
    if (z->p->so && g->so_pred[v] != NO_ID) {
        arrival x = {g->so_pred[v], {v, EDGE_SO, NO_ID, NONE}};
        vec_push(z->m, all, x);
    }
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t inst, cand;
        if (!source_now(z, ob, &inst, &cand) || inst == NONE) continue;
        arrival x = {g->inst_node[inst], {v, EDGE_WR, ob, NONE}};
        vec_push(z->m, all, x);
    }
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        uint32_t prior = lazy_version_before(z, j);
        if (prior == NONE) continue;
        arrival x = {g->inst_node[prior], {v, EDGE_WW, NO_ID, j}};
        vec_push(z->m, all, x);
    }
    guard_tick(z->m->guard);
}

/* Real time, through points: numbers from g->nodes on, one for each begin, in the order of time.  A
   point comes after the one before it and after those that ended before it; who began there comes
   after the point.  `first` has an entry for each of them. */
static void list_point_arrivals(lazy *z, arrivals *all, size_t *first)
{
    asg *g = z->g;
    const update_times *t = z->updates->times;
    uint32_t *head = mem_array(z->m, uint32_t, (size_t)t->points + 1);
    uint32_t *next = mem_array(z->m, uint32_t, (size_t)g->nodes + 1);
    memset(head, 0xff, ((size_t)t->points + 1) * sizeof *head);
    for (node_id v = 0; v < g->nodes; v++) {
        if (!z->present[v]) continue;
        uint32_t i = update_times_point(t, g, v);
        next[v] = head[i];
        head[i] = v;
    }
    for (uint32_t i = 0; i < t->points; i++) {
        link by = {g->nodes + i, STEP_RT, NO_ID, NONE};
        first[g->nodes + i] = all->n;
        if (i) {
            arrival x = {g->nodes + i - 1, by};
            vec_push(z->m, all, x);
        }
        for (uint32_t v = head[i]; v != NO_ID; v = next[v]) {
            arrival x = {v, by};
            vec_push(z->m, all, x);
        }
    }
    mem_put(z->m, head);
    mem_put(z->m, next);
}

/* Everything that comes right before each transaction and point; first[n] is where those of n
   begin.  Returns how many transactions and points there are. */
static uint32_t list_all_arrivals(lazy *z, arrivals *all, size_t **first)
{
    asg *g = z->g;
    const update_times *t = z->updates->times;
    uint32_t n = g->nodes + (t ? t->points : 0);
    uint32_t *point = mem_array(z->m, uint32_t, (size_t)g->nodes + 1); /* that it began at */
    *first = mem_array(z->m, size_t, (size_t)n + 1);
    memset(point, 0xff, ((size_t)g->nodes + 1) * sizeof *point);
    for (uint32_t i = 0; t && i < t->points; i++) point[t->call[i].node] = g->nodes + i;
    for (node_id v = 0; v < g->nodes; v++) {
        (*first)[v] = all->n;
        if (!z->present[v]) continue;
        list_arrivals(z, v, all);
        if (point[v] == NO_ID) continue;
        arrival x = {point[v], {v, STEP_RT, NO_ID, NONE}};
        vec_push(z->m, all, x);
    }
    if (t) list_point_arrivals(z, all, *first);
    (*first)[n] = all->n;
    mem_put(z->m, point);
    return n;
}

/* The clause against the cycle that leads from `from` by its link, and on by links until it is
   back.  Points on it stand for real time. */
static uint32_t write_cycle(lazy *z, node_id from)
{
    const asg *g = z->g;
    const updates *x = z->updates;
    loop_clause c = {.lit = LIT_NONE};
    lazy_clause_start(z);
    while (from >= g->nodes) from = x->link[from].to; /* points alone make no cycle */
    node_id v = from;
    do {
        link by = x->link[v];
        while (by.to >= g->nodes) by.to = x->link[by.to].to;
        offer_link(z, &c, v, &by);
        v = by.to;
    } while (v != from);
    return finish_clause(z, &c);
}

/* Depth first from each node to all that come before it; a node is placed when all of those are.
   Meeting a node that is on the stack closes a cycle, and its clause is written: false. */
static bool place_all(lazy *z, uint32_t *answer)
{
    asg *g = z->g;
    updates *x = z->updates;
    enum { FRESH, OPEN, PLACED };
    arrivals all = {0};
    size_t *first;
    uint32_t placed = 0, n = list_all_arrivals(z, &all, &first);
    uint8_t *state = mem_array0(z->m, uint8_t, (size_t)n + 1);
    size_t *next = mem_array(z->m, size_t, (size_t)n + 1);
    bool ok = true;
    memcpy(next, first, ((size_t)n + 1) * sizeof *next);
    for (node_id root = 0; root < g->nodes && ok; root++) {
        if (state[root] != FRESH) continue;
        x->todo.n = 0;
        vec_push(z->m, &x->todo, root);
        state[root] = OPEN;
        while (x->todo.n && ok) {
            node_id v = x->todo.at[x->todo.n - 1];
            if (next[v] == first[v + 1]) {
                state[v] = PLACED;
                if (v < g->nodes) x->topo[v] = placed++;
                x->todo.n--;
                continue;
            }
            const arrival *e = &all.at[next[v]++];
            if (state[e->from] == FRESH) {
                state[e->from] = OPEN;
                x->link[e->from] = e->by;
                vec_push(z->m, &x->todo, e->from);
            } else if (state[e->from] == OPEN) {
                x->link[e->from] = e->by;
                *answer = write_cycle(z, e->from);
                ok = false;
            }
        }
    }
    vec_free(z->m, &all);
    mem_put(z->m, state);
    mem_put(z->m, first);
    mem_put(z->m, next);
    return ok;
}

/* --- for lazy.c ------------------------------------------------------------------------------ */

/* Queues all choices: the solver undoes them, and makes them again by propagation, unnoticed. */
static bool choices_wait(lazy *z)
{
    asg *g = z->g;
    size_t before = z->queue.n;
    for (size_t i = 0; i < g->open.n; i++)
        if (z->present[g->ob_node[g->open.at[i]]]) lazy_enqueue(z, g->open.at[i]);
    return z->queue.n > before;
}

bool updates_look_again(lazy *z)
{
    updates *x = z->updates;
    if (!x || x->epoch == z->epoch) return false;
    x->epoch = z->epoch;
    x->left = x->readers.n;
    x->clean = false;
    return choices_wait(z);
}

bool updates_broken(lazy *z, uint32_t *answer)
{
    updates *x = z->updates;
    if (!x || x->clean) return false;
    assert(x->epoch == z->epoch);
    if (x->times) update_times_refresh(x->times, z);
    /* From where the last finding was, so that a long row of findings is one walk. */
    for (; x->left; x->left--) {
        if (x->at >= x->readers.n) x->at = 0;
        node_id r = x->readers.at[x->at], u;
        if (z->present[r] && (u = find_broken(z, r)) != NO_ID) {
            *answer = write_broken(z, r, u);
            return true;
        }
        x->at++;
        guard_tick(z->m->guard);
    }
    if (!place_all(z, answer)) return true;
    x->clean = true;
    return false;
}

bool updates_clean(const lazy *z)
{
    return !z->updates || (z->updates->clean && z->updates->epoch == z->epoch);
}

const uint32_t *updates_order(const lazy *z)
{
    return z->updates->topo;
}
