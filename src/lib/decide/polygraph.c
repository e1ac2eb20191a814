/*
 * polygraph.c - serializability and snapshot isolation by a polygraph that is written out
 * (doc/algorithms/polygraph.md).
 *
 * A variable for every two writers of a common key says which comes first, and brings the edges
 * that follow from it: between the two, and from the known readers of the first to the second.  A
 * read with several candidates has a literal for each.  Before that, reachability among known
 * edges (one bit for every two events) takes out what is impossible, to a fixpoint; cycles of few
 * literals become clauses up front; the rest is CDCL with the theory of acyclic orders.
 *
 *     ww(a, b)   a -> b,  r -> b for readers r of a's version     SI: C(a) -> B(b), B(r) -> C(b)
 *     wr(a, r)   a -> r;  with ww(a, b): r -> b                   SI: C(a) -> B(r)
 *
 * A transaction of unknown outcome has a literal.  No known edge leaves it, so that pruning never
 * settles that it comes first, and each literal with an edge that leaves it implies that it took
 * part, or has an opposite without: left out, it can stand after all others.
 */
#include "decide/polygraph.h"

#include <assert.h>

#include "base/hash.h"
#include "base/map.h"
#include "decide/first_order.h"

#define NONE UINT32_MAX
#define MOST_TXNS 50000u
#define MOST_PAIRS ((uint64_t)1 << 30)
#define WIDEST 4

enum { OPEN, LOW_FIRST, HIGH_FIRST };

/* Two writers of common keys, low < high, with the installs that meet. */
typedef struct writers {
    node_id low, high;
    uint32_t meets; /* index of the first meeting */
    uint32_t var;
} writers;

typedef struct meeting {
    uint32_t low, high; /* installs */
    uint32_t next;
} meeting;

/* A read that pruning gave its writer. */
typedef struct settled {
    uint32_t ob, next;
} settled;

/* An edge between events that a literal brings. */
typedef struct brought_edge {
    uint32_t lit, from, to;
} brought_edge;

typedef struct poly {
    order_problem *p;
    asg *g;
    mem *m;
    decision *a;
    uint8_t *absent; /* per node: its outcome is unknown, and taken as aborted */

    id_map by_nodes; /* low, high -> index of pairs */
    VEC(writers) pairs;
    VEC(meeting) meetings;
    uint8_t *first; /* per pair: OPEN, or which of the two comes first */

    uint8_t *dead;           /* per candidate */
    uint32_t *rf;            /* per open read: what pruning found, or RF_OPEN */
    uint32_t *settled_first; /* per install; NULL if there are no open reads */
    VEC(settled) settled;

    order_graph known;
    uint32_t *pos;
    uint64_t *reach; /* rows: events; columns: events of transactions */
    size_t words;

    solver *s;
    order *o;
    uint32_t *taken_var; /* per node; true: left out */
    uint32_t *cand_var;
    id_map by_events; /* edge -> variable of an anti-dependency */
    VEC(brought_edge) choices;
    uint32_t *by_pos, *at_pos; /* choices by the place of their source */
    key_set written;           /* cycle clauses, by hash: a clash only loses a redundant one */
    VEC(uint32_t) lits;
} poly;

static bool poly_pass_on(const poly *z, enum pass x)
{
    return pass_on(z->p->tune, x);
}

/* --- build ------------------------------------------------------------------------------------ */

/* Transactions of unknown outcome that cannot have committed, or need not have.  A list read by one
   of them says more than its last writer, which is all that is asked here; but the key of such a
   read would be wild (asg/lists.c) if any read might need that transaction. */
static void find_absent(poly *z)
{
    asg *g = z->g;
    z->absent = mem_array0(z->m, uint8_t, (size_t)z->p->txns + 1);
    for (node_id v = 0; v < z->p->txns; v++) {
        if (z->p->in[v]) continue;
        z->absent[v] = g->barred[v];
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            if (g->ob_rf[ob] == RF_NONE || g->ob_flags[ob] & OB_LIST) z->absent[v] = 1;
    }
}

static uint32_t pair_of(const poly *z, node_id a, node_id b)
{
    assert(a != b);
    return id_map_get(&z->by_nodes, a < b ? map_pair(a, b) : map_pair(b, a));
}

static bool build_pairs(poly *z)
{
    asg *g = z->g;
    uint64_t all = 0;
    asg_by_key(g);
    for (size_t k = 0; k < history_keys(g->h); k++) {
        uint64_t n = g->kw_first[k + 1] - g->kw_first[k];
        all += n * (n - (n > 0)) / 2;
    }
    if (all > MOST_PAIRS) {
        z->a->undecided = "the strategy polygraph writes out every two writers of a key, and there "
                          "are more than 2^30 of them";
        return false;
    }
    vec_reserve(z->m, &z->meetings, all);
    for (size_t k = 0; k < history_keys(g->h); k++)
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++)
            for (uint32_t j = i + 1; j < g->kw_first[k + 1]; j++) {
                uint32_t low = g->kw_inst[i], high = g->kw_inst[j];
                node_id a = g->inst_node[low], b = g->inst_node[high];
                assert(a < b); /* installs of a key stand in node order */
                if (z->absent[a] || z->absent[b]) continue;
                uint32_t *at = id_map_at(z->m, &z->by_nodes, map_pair(a, b));
                if (*at == NONE) {
                    writers w = {a, b, NONE, NONE};
                    *at = (uint32_t)z->pairs.n;
                    vec_push(z->m, &z->pairs, w);
                }
                meeting x = {low, high, z->pairs.at[*at].meets};
                z->pairs.at[*at].meets = (uint32_t)z->meetings.n;
                vec_push(z->m, &z->meetings, x);
                guard_tick(z->m->guard);
            }
    z->first = mem_array0(z->m, uint8_t, z->pairs.n + 1);
    return true;
}

static void build_open(poly *z)
{
    asg *g = z->g;
    if (!g->open.n) return;
    z->dead = mem_array0(z->m, uint8_t, asg_cands(g) + 1);
    z->rf = mem_array(z->m, uint32_t, g->open.n + 1);
    z->settled_first = mem_array(z->m, uint32_t, g->insts + 1);
    for (size_t i = 0; i < g->open.n; i++) z->rf[i] = RF_OPEN;
    memset(z->settled_first, 0xff, (g->insts + 1) * sizeof *z->settled_first);
}

/* The readers of an install whose reads are certain: known ones first, then those that pruning
   settled.  Start with a zeroed walk. */
typedef struct reader_walk {
    uint32_t next, settled;
    bool begun;
} reader_walk;

static uint32_t next_reader(const poly *z, uint32_t inst, reader_walk *w)
{
    if (!w->begun) {
        w->begun = true;
        w->next = z->p->reader_first[inst];
        w->settled = z->settled_first ? z->settled_first[inst] : NONE;
    }
    while (w->next < z->p->reader_first[inst + 1]) {
        uint32_t ob = z->p->reader[w->next++];
        assert(z->g->ob_inst[ob] == inst);
        if (z->p->in[z->g->ob_node[ob]]) return ob;
    }
    if (w->settled == NONE) return NONE;
    uint32_t ob = z->settled.at[w->settled].ob;
    w->settled = z->settled.at[w->settled].next;
    return ob;
}

/* --- reachability ----------------------------------------------------------------------------- */

static uint32_t txn_events(const poly *z)
{
    return z->p->si ? 2 * z->p->txns : z->p->txns;
}

static bool reaches_event(const poly *z, uint32_t from, uint32_t to)
{
    assert(z->reach && from < z->p->events && to < txn_events(z));
    return z->reach[(size_t)from * z->words + to / 64] >> (to % 64) & 1;
}

static void close_reach(poly *z)
{
    uint32_t n = z->p->events, columns = txn_events(z);
    uint32_t *at = mem_array(z->m, uint32_t, (size_t)n + 1);
    for (uint32_t e = 0; e < n; e++) at[z->pos[e]] = e;
    if (!z->reach) {
        z->words = ((size_t)columns + 63) / 64;
        z->reach = mem_array(z->m, uint64_t, mem_bytes(z->m, (size_t)n + 1, z->words));
    }
    for (uint32_t i = n; i-- > 0;) {
        uint32_t e = at[i];
        uint64_t *row = z->reach + (size_t)e * z->words;
        memset(row, 0, z->words * sizeof *row);
        for (uint32_t j = z->known.out_start[e]; j < z->known.out_start[e + 1]; j++) {
            uint32_t to = z->known.out[j];
            if (to < columns) {
                if (row[to / 64] >> (to % 64) & 1) continue; /* with all that it reaches */
                row[to / 64] |= (uint64_t)1 << (to % 64);
            }
            const uint64_t *other = z->reach + (size_t)to * z->words;
            for (size_t k = 0; k < z->words; k++) row[k] |= other[k];
            guard_tick(z->m->guard);
        }
    }
    mem_put(z->m, at);
}

static void add_core(poly *z, node_id v)
{
    assert(v < z->p->txns);
    vec_push(z->m, &z->a->core, v);
}

/* Sorts the known graph; false and the answer if it has a cycle. */
static bool sort_known(poly *z)
{
    order_problem *p = z->p;
    if (z->known.out_start) first_order_free(z->m, &z->known);
    order_graph_build(z->m, p->events, (const order_pair *)(const void *)p->known.at, p->known.n,
                      &z->known);
    if (order_graph_sort(z->m, p->events, &z->known, z->pos)) return true;
    answer_known_cycle(p, &z->known, z->a);
    if (z->settled.n) { /* a read that was settled by ruling others out is no edge to explain */
        z->a->known_cycle = false;
        for (size_t i = 0; i < z->a->cycle.n; i++)
            if (z->a->cycle.at[i] < txn_events(z)) add_core(z, txn_of(p, z->a->cycle.at[i]));
    }
    return false;
}

/* --- pruning ---------------------------------------------------------------------------------- */

static void add_known(poly *z, uint32_t from, uint32_t to)
{
    assert(from < z->p->events && to < z->p->events && from != to);
    arc x = {from, to};
    vec_push(z->p->m, &z->p->known, x);
}

static void add_forced(poly *z, node_id from, node_id to, uint32_t ob, bool rw)
{
    assert(ob < z->g->obs && (!rw || from == z->g->ob_node[ob]));
    forced f = {from, to, ob, rw};
    vec_push(z->p->m, &z->p->forced, f);
}

/* Would b -> a, writers of a key, close a cycle with what is known? */
static bool comes_first(const poly *z, node_id a, node_id b)
{
    return reaches_event(z, begin_of(z->p, a), commit_of(z->p, b));
}

/* Can the pair's `low` not come first (or `high`, if !low_first)?  *why: the read that says so. */
static bool impossible(const poly *z, const writers *w, bool low_first, uint32_t *why)
{
    node_id a = low_first ? w->low : w->high, b = low_first ? w->high : w->low;
    *why = NONE;
    if (poly_pass_on(z, PASS_PRUNE_WW) && comes_first(z, b, a)) return true;
    if (!poly_pass_on(z, PASS_PRUNE_RW)) return false;
    for (uint32_t i = w->meets; i != NONE; i = z->meetings.at[i].next) {
        const meeting *x = &z->meetings.at[i];
        reader_walk r = {0};
        for (uint32_t ob; (ob = next_reader(z, low_first ? x->low : x->high, &r)) != NONE;) {
            node_id v = z->g->ob_node[ob];
            if (v == b || !reaches_event(z, commit_of(z->p, b), begin_of(z->p, v))) continue;
            *why = ob;
            return true;
        }
    }
    return false;
}

static void settle_pair(poly *z, size_t i, bool low_first, uint32_t why)
{
    assert(z->first[i] == OPEN);
    const writers *w = &z->pairs.at[i];
    node_id a = low_first ? w->low : w->high, b = low_first ? w->high : w->low;
    assert(z->p->in[a]);
    z->first[i] = low_first ? LOW_FIRST : HIGH_FIRST;
    z->a->fixed++;
    if (!reaches_event(z, commit_of(z->p, a), begin_of(z->p, b))) {
        add_known(z, commit_of(z->p, a), begin_of(z->p, b));
        if (why != NONE) add_forced(z, a, b, why, false);
    }
    for (uint32_t k = w->meets; k != NONE; k = z->meetings.at[k].next) {
        const meeting *x = &z->meetings.at[k];
        reader_walk r = {0};
        for (uint32_t ob; (ob = next_reader(z, low_first ? x->low : x->high, &r)) != NONE;) {
            node_id v = z->g->ob_node[ob];
            if (v == b || reaches_event(z, begin_of(z->p, v), commit_of(z->p, b))) continue;
            add_known(z, begin_of(z->p, v), commit_of(z->p, b));
            add_forced(z, v, b, ob, true);
        }
    }
}

/* Adds the transactions on a known way from one event to another, with both ends. */
static void core_path(poly *z, uint32_t from, uint32_t to)
{
    uint32_t *came = mem_array(z->m, uint32_t, (size_t)z->p->events + 1);
    VEC(uint32_t) queue = {0};
    memset(came, 0xff, ((size_t)z->p->events + 1) * sizeof *came);
    vec_push(z->m, &queue, from);
    came[from] = from;
    for (size_t i = 0; i < queue.n && came[to] == NONE; i++) {
        uint32_t e = queue.at[i];
        for (uint32_t j = z->known.out_start[e]; j < z->known.out_start[e + 1]; j++) {
            if (came[z->known.out[j]] != NONE) continue;
            came[z->known.out[j]] = e;
            vec_push(z->m, &queue, z->known.out[j]);
        }
    }
    for (uint32_t e = to; came[e] != NONE; e = came[e]) {
        if (e < txn_events(z)) add_core(z, txn_of(z->p, e));
        if (e == from) break;
    }
    vec_free(z->m, &queue);
    mem_put(z->m, came);
}

/* Neither order of the two is possible: adds why. */
static void core_pair(poly *z, const writers *w, const uint32_t *why)
{
    for (int side = 0; side < 2; side++) { /* why low (high) cannot come first */
        node_id a = side ? w->high : w->low, b = side ? w->low : w->high;
        if (why[side] == NONE) {
            core_path(z, begin_of(z->p, b), commit_of(z->p, a));
        } else {
            add_core(z, a);
            core_path(z, commit_of(z->p, b), begin_of(z->p, z->g->ob_node[why[side]]));
        }
    }
}

static bool prune_pairs(poly *z, bool *changed)
{
    for (size_t i = 0; i < z->pairs.n; i++) {
        const writers *w = &z->pairs.at[i];
        guard_tick(z->m->guard);
        if (z->first[i] != OPEN) continue;
        uint32_t why[2];
        bool low = impossible(z, w, true, &why[0]), high = impossible(z, w, false, &why[1]);
        if (low && high) {
            core_pair(z, w, why);
            return false;
        }
        if (!low && !high) continue;
        settle_pair(z, i, high, low ? why[0] : why[1]);
        *changed = true;
    }
    return true;
}

/* Can the obligation not have read candidate c? */
static bool not_read(const poly *z, uint32_t ob, uint32_t c)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob];
    key_id k = g->ob_key[ob];
    if (c < RF_LAST && reaches_event(z, begin_of(z->p, v), commit_of(z->p, c))) return true;
    if (!poly_pass_on(z, PASS_PRUNE_RW)) return false;
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id b = g->inst_node[g->kw_inst[i]];
        if (b == c || b == v || !z->p->in[b]) continue;
        if (!reaches_event(z, commit_of(z->p, b), begin_of(z->p, v))) continue;
        if (c >= RF_LAST || comes_first(z, c, b)) return true;
    }
    return false;
}

static void settle_read(poly *z, uint32_t open, uint32_t c)
{
    asg *g = z->g;
    uint32_t ob = g->open.at[open];
    node_id v = g->ob_node[ob];
    key_id k = g->ob_key[ob];
    z->rf[open] = c;
    z->a->fixed++;
    if (c < RF_LAST) {
        uint32_t inst = asg_install(g, c, k);
        settled s = {ob, z->settled_first[inst]};
        z->settled_first[inst] = (uint32_t)z->settled.n;
        vec_push(z->m, &z->settled, s);
        add_known(z, commit_of(z->p, c), begin_of(z->p, v));
    } else {
        settled s = {ob, NONE}; /* counts, but belongs to no install */
        vec_push(z->m, &z->settled, s);
    }
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id b = g->inst_node[g->kw_inst[i]];
        if (b == c || b == v || z->absent[b]) continue;
        bool behind = c >= RF_LAST;
        if (!behind) { /* pairs that were settled without this reader */
            uint32_t pair = pair_of(z, c, b);
            behind = z->first[pair] == (c < b ? LOW_FIRST : HIGH_FIRST);
        }
        if (behind) add_known(z, begin_of(z->p, v), commit_of(z->p, b));
    }
}

static bool prune_reads(poly *z, bool *changed)
{
    asg *g = z->g;
    for (uint32_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i], left = 0, last = RF_NONE;
        node_id v = g->ob_node[ob];
        if (z->rf[i] != RF_OPEN || !z->p->in[v]) continue;
        for (uint32_t j = g->cand_first.at[i]; j < g->cand_first.at[i + 1]; j++) {
            uint32_t c = asg_cand(g, i, j);
            if (!z->dead[j] && ((c < RF_LAST && z->absent[c]) || not_read(z, ob, c))) {
                z->dead[j] = 1;
                *changed = true;
            }
            if (z->dead[j]) continue;
            left++;
            last = c;
            guard_tick(z->m->guard);
        }
        if (!left) {
            add_core(z, v);
            for (uint32_t j = g->cand_first.at[i]; j < g->cand_first.at[i + 1]; j++)
                if (asg_cand(g, i, j) < RF_LAST) add_core(z, asg_cand(g, i, j));
            return false;
        }
        if (left > 1 || (last < RF_LAST && !z->p->in[last])) continue;
        settle_read(z, i, last);
        *changed = true;
    }
    return true;
}

/* Prunes to the fixpoint; false: violated, and the answer says why. */
static bool prune_choices(poly *z)
{
    bool pairs = poly_pass_on(z, PASS_PRUNE_WW) || poly_pass_on(z, PASS_PRUNE_RW),
         reads = poly_pass_on(z, PASS_PRUNE_WR);
    bool cycles = poly_pass_on(z, PASS_CYCLES_2) || poly_pass_on(z, PASS_CYCLES_3) ||
                  poly_pass_on(z, PASS_CYCLES_4);
    for (;; z->a->rounds++) {
        bool changed = false;
        if (!sort_known(z)) return false;
        if (pairs || reads || cycles) close_reach(z);
        if (pairs && !prune_pairs(z, &changed)) return false;
        if (reads && !prune_reads(z, &changed)) return false;
        if (!changed) return true;
    }
}

/* --- clauses ---------------------------------------------------------------------------------- */

static void clause_start(poly *z)
{
    z->lits.n = 0;
}

static void clause_lit(poly *z, uint32_t lit)
{
    vec_push(z->m, &z->lits, lit);
}

/* The literal "v took part"; LIT_NONE if that is sure. */
static uint32_t taken_lit(const poly *z, node_id v)
{
    return z->p->in[v] ? LIT_NONE : lit_of(z->taken_var[v], true);
}

static void clause_unless(poly *z, uint32_t lit)
{
    if (lit != LIT_NONE) clause_lit(z, lit_not(lit));
}

static void clause_end(poly *z)
{
    solver_add_clause(z->s, z->lits.at, z->lits.n);
    z->a->clauses++;
    guard_tick(z->m->guard);
}

/* The literal, made true, puts one event before the other. */
static void bring_edge(poly *z, uint32_t lit, uint32_t from, uint32_t to)
{
    assert(lit != LIT_NONE && from != to && from < z->p->events && to < z->p->events);
    brought_edge c = {lit, from, to};
    vec_push(z->m, &z->choices, c);
    order_edge(z->o, lit, from, to);
}

/* --- encode ----------------------------------------------------------------------------------- */

static void encode_pairs(poly *z)
{
    for (size_t i = 0; i < z->pairs.n; i++) {
        writers *w = &z->pairs.at[i];
        if (z->first[i] != OPEN) continue;
        w->var = solver_var(z->s);
        for (int side = 0; side < 2; side++) {
            node_id a = side ? w->high : w->low, b = side ? w->low : w->high;
            uint32_t lit = lit_of(w->var, side);
            bring_edge(z, lit, commit_of(z->p, a), begin_of(z->p, b));
            for (uint32_t k = w->meets; k != NONE; k = z->meetings.at[k].next) {
                const meeting *x = &z->meetings.at[k];
                reader_walk r = {0};
                for (uint32_t ob; (ob = next_reader(z, side ? x->high : x->low, &r)) != NONE;)
                    if (z->g->ob_node[ob] != b)
                        bring_edge(z, lit, begin_of(z->p, z->g->ob_node[ob]), commit_of(z->p, b));
            }
        }
        guard_tick(z->m->guard);
    }
}

/* The literal of an anti-dependency that no pair brings by itself. */
static uint32_t rw_lit(poly *z, uint32_t from, uint32_t to)
{
    uint32_t *var = id_map_at(z->m, &z->by_events, map_pair(from, to));
    if (*var == NONE) {
        *var = solver_var(z->s);
        bring_edge(z, lit_of(*var, false), from, to);
    }
    return lit_of(*var, false);
}

/* If `reads` (v reads a's version of key k) holds, v stands before every writer b that comes after
   a. */
static void encode_read(poly *z, uint32_t reads, node_id v, node_id a, key_id k)
{
    asg *g = z->g;
    assert(a != v && asg_install(g, a, k) != NO_ID);
    bring_edge(z, reads, commit_of(z->p, a), begin_of(z->p, v));
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id b = g->inst_node[g->kw_inst[i]];
        if (b == a) continue;
        uint32_t pair = pair_of(z, a, b), from = begin_of(z->p, v), to = commit_of(z->p, b);
        if (pair == NONE) continue; /* one of them did not commit */
        if (z->first[pair] == (a < b ? LOW_FIRST : HIGH_FIRST)) {
            if (b != v) bring_edge(z, reads, from, to);
        } else if (z->first[pair] == OPEN) {
            assert(z->pairs.at[pair].var != NONE);
            uint32_t first = lit_of(z->pairs.at[pair].var, b < a);
            clause_start(z);
            clause_lit(z, lit_not(reads));
            if (b == v) { /* v replaces what it read */
                clause_lit(z, first);
            } else {
                clause_lit(z, lit_not(first));
                /* A derived edge that cannot be would be a cycle of these two literals. */
                if (!poly_pass_on(z, PASS_CYCLES_2) || !reaches_event(z, to, from))
                    clause_lit(z, rw_lit(z, from, to));
            }
            clause_end(z);
        }
    }
}

static void encode_initial(poly *z, uint32_t reads, node_id v, key_id k)
{
    asg *g = z->g;
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id b = g->inst_node[g->kw_inst[i]];
        if (b != v && !z->absent[b]) bring_edge(z, reads, begin_of(z->p, v), commit_of(z->p, b));
    }
}

static void encode_open(poly *z)
{
    asg *g = z->g;
    z->cand_var = mem_array(z->m, uint32_t, asg_cands(g) + 1);
    for (uint32_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i], first = g->cand_first.at[i], end = g->cand_first.at[i + 1];
        node_id v = g->ob_node[ob];
        if (z->rf[i] != RF_OPEN || z->absent[v]) continue;
        for (uint32_t j = first; j < end; j++) {
            uint32_t c = asg_cand(g, i, j);
            if (z->dead[j]) continue;
            uint32_t lit = lit_of(z->cand_var[j] = solver_var(z->s), false);
            if (c >= RF_LAST) {
                encode_initial(z, lit, v, g->ob_key[ob]);
                continue;
            }
            encode_read(z, lit, v, c, g->ob_key[ob]);
            if (taken_lit(z, c) == LIT_NONE) continue;
            clause_start(z);
            clause_lit(z, lit_not(lit));
            clause_lit(z, taken_lit(z, c));
            clause_end(z);
        }
        clause_start(z);
        clause_unless(z, taken_lit(z, v));
        for (uint32_t j = first; j < end; j++)
            if (!z->dead[j]) clause_lit(z, lit_of(z->cand_var[j], false));
        clause_end(z);
        for (uint32_t j = first; j < end; j++)
            for (uint32_t k = j + 1; k < end; k++) {
                if (z->dead[j] || z->dead[k]) continue;
                clause_start(z);
                clause_lit(z, lit_of(z->cand_var[j], true));
                clause_lit(z, lit_of(z->cand_var[k], true));
                clause_end(z);
            }
    }
}

static void encode_outcomes(poly *z)
{
    asg *g = z->g;
    for (node_id v = 0; v < z->p->txns; v++) {
        if (z->p->in[v]) continue;
        uint32_t lit = taken_lit(z, v);
        if (z->absent[v]) {
            clause_start(z);
            clause_lit(z, lit_not(lit));
            clause_end(z);
            continue;
        }
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t rf = g->ob_rf[ob];
            if (rf == RF_INIT) encode_initial(z, lit, v, g->ob_key[ob]);
            if (rf >= RF_LAST) continue;
            encode_read(z, lit, v, rf, g->ob_key[ob]);
            if (taken_lit(z, rf) == LIT_NONE) continue;
            clause_start(z);
            clause_lit(z, lit_not(lit));
            clause_lit(z, taken_lit(z, rf));
            clause_end(z);
        }
    }
    /* Version orders that lists or hints show, with an unknown transaction in them. */
    for (size_t i = 0; i < g->extra.n; i++) {
        const edge *e = &g->extra.at[i];
        if (z->p->in[e->from] && z->p->in[e->to]) continue;
        uint32_t both = lit_of(solver_var(z->s), false);
        clause_start(z);
        clause_unless(z, taken_lit(z, e->from));
        clause_unless(z, taken_lit(z, e->to));
        clause_lit(z, both);
        clause_end(z);
        bring_edge(z, both, commit_of(z->p, e->from), begin_of(z->p, e->to));
    }
}

/* --- short cycles ----------------------------------------------------------------------------- */

static void index_choices(poly *z)
{
    uint32_t n = z->p->events;
    z->at_pos = mem_array0(z->m, uint32_t, (size_t)n + 2);
    z->by_pos = mem_array(z->m, uint32_t, z->choices.n + 1);
    for (size_t i = 0; i < z->choices.n; i++) z->at_pos[z->pos[z->choices.at[i].from] + 2]++;
    for (size_t i = 2; i < (size_t)n + 2; i++) z->at_pos[i] += z->at_pos[i - 1];
    for (size_t i = 0; i < z->choices.n; i++)
        z->by_pos[z->at_pos[z->pos[z->choices.at[i].from] + 1]++] = (uint32_t)i;
}

/* Writes that not all of the literals are true. */
static void exclude_together(poly *z, const uint32_t *lits, size_t n)
{
    uint32_t sorted[WIDEST] = {0};
    size_t k = 0;
    assert(n <= WIDEST);
    for (size_t i = 0; i < n; i++) {
        size_t at = k;
        while (at && sorted[at - 1] > lits[i]) at--;
        if (at && sorted[at - 1] == lits[i]) continue;
        memmove(sorted + at + 1, sorted + at, (k - at) * sizeof *sorted);
        sorted[at] = lits[i];
        k++;
    }
    uint64_t hash = hash_bytes(sorted, k * sizeof *sorted, 0);
    if (!key_set_add(z->m, &z->written, hash)) return;
    clause_start(z);
    for (size_t i = 0; i < k; i++) clause_lit(z, lit_not(sorted[i]));
    clause_end(z);
}

/* Extends the way lits[0..n), which leads from event `start` to event `at` by choices and known
   edges.  Of the sources on a cycle `start` has the last place, so that each is found once. */
static void close_cycles(poly *z, uint32_t start, uint32_t at, uint32_t *lits, size_t n,
                         unsigned widths)
{
    for (uint32_t i = z->pos[at]; i <= z->pos[start]; i++) {
        uint32_t lo = z->at_pos[i], hi = z->at_pos[i + 1];
        if (lo == hi) continue;
        uint32_t from = z->choices.at[z->by_pos[lo]].from;
        if (from != at && (at >= txn_events(z) || !reaches_event(z, at, from))) continue;
        for (uint32_t j = lo; j < hi; j++) {
            const brought_edge *c = &z->choices.at[z->by_pos[j]];
            bool clash = false;
            for (size_t k = 0; k < n; k++) clash = clash || c->lit == lit_not(lits[k]);
            if (clash) continue;
            lits[n] = c->lit;
            if (c->to == start || reaches_event(z, c->to, start)) {
                if (widths >> (n + 1) & 1) exclude_together(z, lits, n + 1);
            } else if (widths >> (n + 2)) {
                close_cycles(z, start, c->to, lits, n + 1, widths);
            }
            guard_tick(z->m->guard);
        }
    }
}

static void encode_cycles(poly *z)
{
    unsigned widths = (unsigned)poly_pass_on(z, PASS_CYCLES_2) << 2 |
                      (unsigned)poly_pass_on(z, PASS_CYCLES_3) << 3 |
                      (unsigned)poly_pass_on(z, PASS_CYCLES_4) << 4;
    if (!widths) return;
    index_choices(z);
    for (size_t i = 0; i < z->choices.n; i++) {
        const brought_edge *c = &z->choices.at[i];
        assert(z->pos[c->from] != z->pos[c->to]);
        uint32_t lits[WIDEST] = {c->lit};
        if (z->pos[c->to] > z->pos[c->from] || reaches_event(z, c->to, c->from)) continue;
        close_cycles(z, c->from, c->to, lits, 1, widths);
    }
}

/* --- solve ------------------------------------------------------------------------------------ */

/* The phase that the current order satisfies already. */
static uint32_t phase_by_order(void *state, uint32_t lit)
{
    const order *o = state;
    uint32_t yes = lit_of(lit_var(lit), false);
    for (uint32_t e = order_first_edge(o, yes); e != NONE; e = order_next_edge(o, e)) {
        uint32_t a, b;
        order_edge_ends(o, e, &a, &b);
        if (!order_before(o, a, b)) return lit_not(yes);
    }
    return yes;
}

static void keep_model(poly *z)
{
    asg *g = z->g;
    z->a->pos = mem_array(z->m, uint32_t, (size_t)z->p->events + 1);
    memcpy(z->a->pos, order_positions(z->o), z->p->events * sizeof *z->a->pos);
    z->a->out = mem_array0(z->m, uint8_t, (size_t)z->p->txns + 1);
    for (node_id v = 0; v < z->p->txns; v++)
        z->a->out[v] = !z->p->in[v] && solver_model(z->s, taken_lit(z, v)) <= 0;
    z->a->rf = mem_array(z->m, uint32_t, g->obs + 1);
    memcpy(z->a->rf, g->ob_rf, g->obs * sizeof *z->a->rf);
    for (uint32_t i = 0; i < g->open.n; i++) {
        uint32_t *rf = &z->a->rf[g->open.at[i]];
        node_id v = g->ob_node[g->open.at[i]];
        *rf = z->rf[i];
        if (*rf != RF_OPEN || z->a->out[v]) continue;
        for (uint32_t j = g->cand_first.at[i]; j < g->cand_first.at[i + 1]; j++)
            if (!z->dead[j] && solver_model(z->s, lit_of(z->cand_var[j], false)) > 0)
                *rf = asg_cand(g, i, j);
    }
}

/* The core is whoever took part in conflicts, as far as the solver's scores tell. */
static void keep_core(poly *z)
{
    for (size_t i = 0; i < z->choices.n; i++) {
        const brought_edge *c = &z->choices.at[i];
        if (solver_activity(z->s, lit_var(c->lit)) <= 0 && !solver_fixed(z->s, c->lit)) continue;
        add_core(z, txn_of(z->p, c->from));
        add_core(z, txn_of(z->p, c->to));
    }
}

void polygraph_decide(order_problem *p, uint64_t conflicts, decision *a)
{
    memset(a, 0, sizeof *a);
    poly z = {.p = p, .g = p->g, .m = p->m, .a = a};
    uint64_t since = clock_now();
    if (p->txns > MOST_TXNS) {
        a->undecided = "the strategy polygraph refuses more than 50000 transactions: its memory "
                       "grows with their square";
        return;
    }
    z.pos = mem_array(z.m, uint32_t, (size_t)p->events + 1);
    find_absent(&z);
    if (!build_pairs(&z)) return;
    build_open(&z);
    answer_stage(z.m, a, "build", &since);
    bool possible = prune_choices(&z);
    answer_stage(z.m, a, "prune", &since);
    if (!possible) return;

    z.s = solver_new(z.m);
    z.o = order_new(z.m, p->events, &z.known, z.pos);
    z.taken_var = mem_array(z.m, uint32_t, (size_t)p->txns + 1);
    for (node_id v = 0; v < p->txns; v++) z.taken_var[v] = p->in[v] ? NONE : solver_var(z.s);
    encode_pairs(&z);
    encode_outcomes(&z);
    if (p->g->open.n) encode_open(&z);
    encode_cycles(&z);
    answer_stage(z.m, a, "encode", &since);

    theory t = *order_theory(z.o, z.s, false);
    t.cb_phase = poly_pass_on(&z, PASS_TOPOLOGICAL) ? phase_by_order : NULL;
    solver_set_theory(z.s, &t);
    if (conflicts) solver_set_option(z.s, "conflicts", (int64_t)conflicts);
    solver_set_option(z.s, "seed", (int64_t)(p->tune->seed & INT64_MAX));
    guard_stage(z.m->guard, "solve", "conflicts", 0);
    solve_status status = solver_solve(z.s, NULL, 0);
    a->holds = status == SOLVE_SAT;
    if (status == SOLVE_UNKNOWN) a->undecided = "gave up after too many conflicts";
    a->vars = solver_vars(z.s);
    a->conflicts = solver_stats(z.s)->conflicts;
    static_assert(CYCLE_WIDTHS == ORDER_WIDTHS, "both count cycles by their width");
    memcpy(a->width, order_statistics(z.o)->width, sizeof a->width);
    if (a->holds)
        keep_model(&z);
    else
        keep_core(&z);
    answer_stage(z.m, a, "solve", &since);
}
