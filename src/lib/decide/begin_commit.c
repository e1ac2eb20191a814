/*
 * begin_commit.c - snapshot isolation by graphs of begins and commits (doc/algorithms/bc.md): Zhang
 * et al., "Viper", EuroSys 2023, sections 3 and 6; combining writes and coalescing constraints: Tan
 * et al., "Cobra", OSDI 2020.
 *
 * The writers of a key are cut into chains, each of one transaction or of several that read each
 * other's writes and replace them at once (pass combine-writes).  For two chains a, b of a key:
 *
 *     a first:  C(last of a) -> B(first of b),  and B(r) -> C(first of b) for each reader r of last
 *     b first:  the same the other way
 *
 * One variable decides it (pass coalesce), or one for each edge.  What depends on a choice (which
 * writer a read saw, whether an unknown transaction committed) is guarded by its literal.
 *
 * Heuristic edges of distance k hang on one literal, which is assumed: C(x) -> B(y) for all y that
 * begin at least k places after C(x) in the first order.  What follows from them is not written
 * while they are assumed; a larger k writes what is still missing into the same solver.
 *
 * Invariant of the rounds: with the heuristic edges, what is written says all; without them, it
 * says nothing that is not true of every witness.  So an accept is one, and a refutation that does
 * not use the assumption is a violation.
 */
#include "decide/begin_commit.h"

#include <assert.h>

#include "base/map.h"
#include "base/search.h"
#include "solve/order.h"

#define NONE UINT32_MAX
#define MOST_TXNS 50000u
#define FIRST_K 64u /* the first distance, in places; less in short histories */

/* Writers of one key that follow each other in every witness. */
typedef struct chain {
    uint32_t head, tail;  /* installs */
    uint32_t begin;       /* place of the head's begin in the first order */
    uint32_t head_commit; /* place of the head's commit */
    uint32_t commit;      /* place of the tail's commit */
    uint32_t reach;       /* place of the last commit among the tail and its readers */
    bool sure;            /* its transactions surely committed */
    uint32_t latest;      /* the last commit of this chain and those before it */
    uint32_t earliest;    /* the first commit of a sure head of this chain and those after it */
} chain;

/* What a variable decides: the heads of two coalesced chains, or NONE. */
typedef struct pair_info {
    uint32_t a, b;
} pair_info;

/* A literal that cannot be true: the known edges lead from the end of its edge to the start. */
typedef struct barred_edge {
    uint32_t lit, from, to;
} barred_edge;

typedef struct bc {
    order_problem *p;
    asg *g;
    mem *m;
    decision *a;
    solver *s;
    order *o;
    const order_graph *base; /* the known edges, and the points */
    const theory *inner;     /* the order theory, to which most callbacks are passed on */

    uint32_t *place;      /* of each event in the first order */
    uint32_t *next, *was; /* per install: its neighbours in the chain, or NONE */
    chain *chains;        /* by key, by place of the begin */
    uint32_t *chain_first;

    uint32_t points;    /* time points of the heuristic edges, numbered after the events */
    uint32_t *at;       /* the events by place */
    uint32_t *point_of; /* by place: the first point there or later, or NONE */

    uint32_t *taken;    /* per node: variable of an unknown outcome, or NONE; NULL: none unknown */
    uint32_t *cand_var; /* parallel to g->cand */
    uint32_t choices;   /* the first variables: outcomes and candidates */

    id_map pair_lits;    /* (from, to) -> literal */
    VEC(pair_info) info; /* by variable */
    VEC(uint32_t) lits;

    VEC(barred_edge) pruned;
    uint32_t *reached; /* per node of the order: the last walk that came by */
    uint32_t *via;     /* per node: through which node that walk came */
    uint32_t walks;
    uint32_t assumed; /* the literal of the heuristic edges, or LIT_NONE */
    uint8_t *in_core;
} bc;

/* --- the first order -------------------------------------------------------------------------- */

typedef struct layer_scratch {
    uint32_t *sorted, *bucket;
} layer_scratch;

/* Sorts the events of one layer, at[first..last), by their ties: by counting, and only the ties
   that occur. */
static void sort_layer(const bc *z, uint32_t first, uint32_t last, const uint32_t *tie,
                       layer_scratch *x)
{
    assert(first < last);
    uint32_t low = tie[z->at[first]], high = low;
    for (uint32_t i = first; i < last; i++) {
        uint32_t t = tie[z->at[i]];
        low = t < low ? t : low;
        high = t > high ? t : high;
    }
    memset(x->bucket + low, 0, ((size_t)high - low + 2) * sizeof *x->bucket);
    for (uint32_t i = first; i < last; i++) x->bucket[tie[z->at[i]] + 1]++;
    for (uint32_t t = low; t < high; t++) x->bucket[t + 1] += x->bucket[t];
    for (uint32_t i = first; i < last; i++) x->sorted[x->bucket[tie[z->at[i]]]++] = z->at[i];
    memcpy(z->at + first, x->sorted, (last - first) * sizeof *x->sorted);
}

/* Events by layers of a breadth-first topological sort, those of a layer by their place in the
   session (pass session-ties), else as they come.  Fills at[0..n); less than all: a cycle. */
static uint32_t place_by_layers(const bc *z, const order_graph *k, const uint32_t *tie,
                                uint32_t ties)
{
    uint32_t n = z->p->events, done = 0, end = 0;
    uint32_t *missing = mem_array(z->m, uint32_t, (size_t)n + 1);
    uint32_t *sorted = mem_array(z->m, uint32_t, (size_t)n + 1);
    uint32_t *bucket = mem_array0(z->m, uint32_t, (size_t)ties + 2);
    for (uint32_t e = 0; e < n; e++) {
        missing[e] = k->in_start[e + 1] - k->in_start[e];
        if (!missing[e]) z->at[end++] = e;
    }
    while (done < end) {
        uint32_t first = done, last = end;
        if (tie) sort_layer(z, first, last, tie, &(layer_scratch){sorted, bucket});
        for (; done < last; done++) {
            uint32_t e = z->at[done];
            for (uint32_t i = k->out_start[e]; i < k->out_start[e + 1]; i++)
                if (!--missing[k->out[i]]) z->at[end++] = k->out[i];
        }
        guard_tick(z->m->guard);
    }
    assert(done == end && end <= n);
    mem_put(z->m, missing);
    mem_put(z->m, sorted);
    mem_put(z->m, bucket);
    return end;
}

/* Each event that the sort could not place has a predecessor that it could not place: walk back
   until an event recurs. */
static void keep_known_cycle(bc *z, const order_graph *k, uint32_t placed)
{
    uint32_t n = z->p->events;
    assert(placed < n);
    uint8_t *done = mem_array0(z->m, uint8_t, (size_t)n + 1);
    uint32_t *step_at = mem_array0(z->m, uint32_t, (size_t)n + 1); /* 1 + its index in path */
    VEC(uint32_t) path = {0};
    uint32_t e = 0;
    for (uint32_t i = 0; i < placed; i++) done[z->at[i]] = 1;
    while (done[e]) e++;
    while (!step_at[e]) {
        vec_push(z->m, &path, e);
        step_at[e] = (uint32_t)path.n;
        uint32_t i = k->in_start[e];
        while (done[k->in[i]]) i++;
        e = k->in[i];
    }
    for (size_t i = path.n; i >= step_at[e]; i--) vec_push(z->m, &z->a->cycle, path.at[i - 1]);
    z->a->known_cycle = true;
    mem_put(z->m, done);
    mem_put(z->m, step_at);
    vec_free(z->m, &path);
}

/* Places all events; false, and the cycle in the answer, if the known edges have one. */
static bool first_places(bc *z, const order_graph *k)
{
    order_problem *p = z->p;
    uint32_t *tie = NULL, ties = 0;
    if (pass_on(p->tune, PASS_SESSION_TIES)) {
        tie = mem_array0(z->m, uint32_t, (size_t)p->events + 1);
        for (node_id v = 0; v < p->txns; v++) {
            node_id before = z->g->so_pred[v];
            uint32_t t = before == NO_ID ? 0 : tie[2 * before] + 1;
            tie[begin_of(p, v)] = tie[commit_of(p, v)] = t;
            if (t >= ties) ties = t + 1;
        }
    }
    z->at = mem_array(z->m, uint32_t, (size_t)p->events + 1);
    z->place = mem_array(z->m, uint32_t, (size_t)p->events + 1);
    uint32_t placed = place_by_layers(z, k, tie, ties);
    mem_put(z->m, tie);
    if (placed < p->events) {
        keep_known_cycle(z, k, placed);
        return false;
    }
    for (uint32_t i = 0; i < p->events; i++) z->place[z->at[i]] = i;
    for (uint32_t e = 0; e < p->events; e++) assert(z->at[z->place[e]] == e); /* a permutation */
    return true;
}

/* --- chains ----------------------------------------------------------------------------------- */

static bool surely_installed(const bc *z, uint32_t inst)
{
    return z->p->in[z->g->inst_node[inst]];
}

/* A transaction that reads a version and replaces it follows that version at once; other readers of
   the version begin before the one that replaces it commits. */
static void combine_writes(bc *z)
{
    asg *g = z->g;
    order_problem *p = z->p;
    z->next = mem_array(z->m, uint32_t, g->insts + 1);
    z->was = mem_array(z->m, uint32_t, g->insts + 1);
    memset(z->next, 0xff, (g->insts + 1) * sizeof *z->next);
    memset(z->was, 0xff, (g->insts + 1) * sizeof *z->was);
    if (!pass_on(p->tune, PASS_COMBINE_WRITES)) return;
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        node_id v = g->ob_node[ob];
        if (g->ob_rf[ob] >= RF_LAST || !p->in[v]) continue;
        uint32_t w = g->ob_inst[ob], own = asg_install(g, v, g->ob_key[ob]);
        if (own == NO_ID || z->next[w] != NONE || z->was[own] != NONE) continue;
        assert(w != own && g->inst_key[w] == g->inst_key[own]);
        z->next[w] = own;
        z->was[own] = w;
    }
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        node_id v = g->ob_node[ob];
        if (g->ob_rf[ob] >= RF_LAST || !p->in[v]) continue;
        uint32_t after = z->next[g->ob_inst[ob]];
        if (after == NONE || g->inst_node[after] == v) continue;
        arc known = {begin_of(p, v), commit_of(p, g->inst_node[after])};
        forced why = {v, g->inst_node[after], ob, true};
        vec_push(p->m, &p->known, known);
        vec_push(p->m, &p->forced, why);
    }
}

static void describe_chain(bc *z, chain *c)
{
    asg *g = z->g;
    order_problem *p = z->p;
    node_id head = g->inst_node[c->head], tail = g->inst_node[c->tail];
    c->begin = z->place[begin_of(p, head)];
    c->head_commit = z->place[commit_of(p, head)];
    c->commit = c->reach = z->place[commit_of(p, tail)];
    c->sure = surely_installed(z, c->head);
    for (uint32_t i = p->reader_first[c->tail]; i < p->reader_first[c->tail + 1]; i++) {
        uint32_t at = z->place[commit_of(p, g->ob_node[p->reader[i]])];
        if (at > c->reach) c->reach = at;
    }
}

/* The chains of each key, in the order of their begins. */
static void make_chains(bc *z)
{
    asg *g = z->g;
    size_t keys = history_keys(g->h);
    asg_by_key(g);
    z->chain_first = mem_array0(z->m, uint32_t, keys + 2);
    for (uint32_t i = 0; i < g->insts; i++)
        if (z->was[i] == NONE) z->chain_first[g->inst_key[i] + 2]++;
    for (size_t k = 2; k < keys + 2; k++) z->chain_first[k] += z->chain_first[k - 1];
    z->chains = mem_array(z->m, chain, (size_t)z->chain_first[keys + 1] + 1);
    for (uint32_t i = 0; i < z->p->events; i++) { /* begins in their order */
        uint32_t e = z->at[i];
        if (e >= 2 * z->p->txns || e != begin_of(z->p, txn_of(z->p, e))) continue;
        node_id v = txn_of(z->p, e);
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
            if (z->was[j] != NONE) continue;
            chain *c = &z->chains[z->chain_first[g->inst_key[j] + 1]++];
            c->head = c->tail = j;
            while (z->next[c->tail] != NONE) c->tail = z->next[c->tail];
            describe_chain(z, c);
        }
        guard_tick(z->m->guard);
    }
    assert(z->chain_first[keys] == z->chain_first[keys + 1]); /* all chains found their place */
    for (size_t k = 0; k < keys; k++) {
        uint32_t first = z->chain_first[k], end = z->chain_first[k + 1];
        for (uint32_t i = first; i < end; i++) {
            chain *c = &z->chains[i];
            assert(i == first || c[-1].begin < c->begin); /* begins are searched */
            c->latest = i > first && c[-1].latest > c->commit ? c[-1].latest : c->commit;
        }
        for (uint32_t i = end; i-- > first;) {
            chain *c = &z->chains[i];
            c->earliest = i + 1 < end ? c[1].earliest : NONE;
            if (c->sure && c->head_commit < c->earliest) c->earliest = c->head_commit;
        }
    }
}

/* --- literals and clauses --------------------------------------------------------------------- */

/* The slot of a pair of events; a fresh one holds LIT_NONE. */
static uint32_t *pair_slot(bc *z, uint32_t from, uint32_t to)
{
    static_assert(LIT_NONE == MAP_NONE, "a new slot of the map holds no literal");
    assert(from != to);
    return id_map_at(z->m, &z->pair_lits, map_pair(from, to));
}

/* A literal whose truth puts `from` before `to`. */
static uint32_t before_lit(bc *z, uint32_t from, uint32_t to)
{
    uint32_t *slot = pair_slot(z, from, to);
    if (*slot != LIT_NONE) return *slot;
    uint32_t lit = *slot = lit_of(solver_var(z->s), false);
    order_edge(z->o, lit, from, to);
    return lit;
}

static void clause_lit(bc *z, uint32_t lit)
{
    vec_push(z->m, &z->lits, lit);
}

/* The clause holds only if v committed: adds the literal that v did not. */
static void clause_unless(bc *z, node_id v)
{
    if (z->taken && z->taken[v] != NONE) clause_lit(z, lit_of(z->taken[v], true));
}

static void clause_end(bc *z)
{
    solver_add_clause(z->s, z->lits.at, z->lits.n);
    z->lits.n = 0;
    z->a->clauses++;
}

/* Ends the clause with two more literals. */
static void clause_either(bc *z, uint32_t a, uint32_t b)
{
    assert(a != b && a != lit_not(b));
    clause_lit(z, a);
    clause_lit(z, b);
    clause_end(z);
}

/* --- pairs of chains -------------------------------------------------------------------------- */

/* Is reader i of the install another transaction than the reader before it?  Reads of one
   transaction stand next to each other. */
static bool fresh_reader(const bc *z, uint32_t inst, uint32_t i)
{
    const order_problem *p = z->p;
    return i == p->reader_first[inst] ||
           z->g->ob_node[p->reader[i]] != z->g->ob_node[p->reader[i - 1]];
}

/* The edges of "a before b", if both are sure: on the literal all at once, or each a variable that
   is the opposite of `other`, the literal of "b before a".  Readers that may not have committed
   get their clause. */
static void readers_before(bc *z, const chain *a, const chain *b, uint32_t lit, uint32_t other)
{
    asg *g = z->g;
    order_problem *p = z->p;
    bool one = pass_on(p->tune, PASS_COALESCE);
    node_id to = g->inst_node[b->head];
    for (uint32_t i = p->reader_first[a->tail]; i < p->reader_first[a->tail + 1]; i++) {
        node_id r = g->ob_node[p->reader[i]];
        if (r == to || !fresh_reader(z, a->tail, i)) continue;
        if (p->in[r] && one) {
            order_edge(z->o, lit, begin_of(p, r), commit_of(p, to));
            continue;
        }
        uint32_t edge_lit = before_lit(z, begin_of(p, r), commit_of(p, to));
        clause_unless(z, r);
        clause_either(z, edge_lit, other);
        if (p->in[r]) clause_either(z, lit_not(edge_lit), lit_not(other));
    }
}

/* As readers_before(), where a or b has an unknown outcome: each edge gets its own literal. */
static void readers_unless(bc *z, const chain *a, const chain *b, uint32_t other)
{
    asg *g = z->g;
    order_problem *p = z->p;
    node_id to = g->inst_node[b->head];
    for (uint32_t i = p->reader_first[a->tail]; i < p->reader_first[a->tail + 1]; i++) {
        node_id r = g->ob_node[p->reader[i]];
        if (r == to || !fresh_reader(z, a->tail, i)) continue;
        uint32_t edge_lit = before_lit(z, begin_of(p, r), commit_of(p, to));
        clause_unless(z, r);
        clause_unless(z, to);
        clause_either(z, edge_lit, other);
    }
}

static void write_pair(bc *z, const chain *a, const chain *b)
{
    asg *g = z->g;
    order_problem *p = z->p;
    assert(a != b && g->inst_key[a->head] == g->inst_key[b->head]);
    uint32_t a_from = commit_of(p, g->inst_node[a->tail]),
             a_to = begin_of(p, g->inst_node[a->head]);
    uint32_t b_from = commit_of(p, g->inst_node[b->tail]),
             b_to = begin_of(p, g->inst_node[b->head]);
    if (!a->sure || !b->sure || !pass_on(p->tune, PASS_COALESCE)) {
        uint32_t a_first = before_lit(z, a_from, b_to), b_first = before_lit(z, b_from, a_to);
        clause_unless(z, g->inst_node[a->head]);
        clause_unless(z, g->inst_node[b->head]);
        clause_either(z, a_first, b_first);
        if (a->sure && b->sure) {
            clause_either(z, lit_not(a_first), lit_not(b_first));
            readers_before(z, a, b, a_first, b_first);
            readers_before(z, b, a, b_first, a_first);
        } else {
            readers_unless(z, a, b, b_first);
            readers_unless(z, b, a, a_first);
        }
        return;
    }
    uint32_t var = solver_var(z->s), lit = lit_of(var, false);
    assert(z->info.n <= var);
    while (z->info.n < var) vec_push(z->m, &z->info, ((pair_info){NONE, NONE}));
    vec_push(z->m, &z->info, ((pair_info){a->head, b->head}));
    order_edge(z->o, lit, a_from, b_to);
    order_edge(z->o, lit_not(lit), b_from, a_to);
    z->a->clauses++;
    if (z->choices) { /* a literal that is there already stays: it says no less */
        uint32_t *slot = pair_slot(z, a_from, b_to);
        if (*slot == LIT_NONE) *slot = lit;
        slot = pair_slot(z, b_from, a_to);
        if (*slot == LIT_NONE) *slot = lit_not(lit);
    }
    readers_before(z, a, b, lit, lit_not(lit));
    readers_before(z, b, a, lit_not(lit), lit);
}

/* The heuristic edges put a before b.  Readers of a, where the heuristic edges do not put them
   before b as well, get their edge. */
static void write_far(bc *z, const chain *a, const chain *b, uint64_t k)
{
    asg *g = z->g;
    order_problem *p = z->p;
    node_id to = g->inst_node[b->head];
    assert(z->assumed != LIT_NONE && b->begin >= a->commit + k);
    for (uint32_t i = p->reader_first[a->tail]; i < p->reader_first[a->tail + 1]; i++) {
        node_id r = g->ob_node[p->reader[i]];
        if (r == to || !fresh_reader(z, a->tail, i)) continue;
        if (b->begin >= z->place[commit_of(p, r)] + k) continue;
        if (p->in[r] && b->sure) {
            order_edge(z->o, z->assumed, begin_of(p, r), commit_of(p, to));
            continue;
        }
        uint32_t edge_lit = before_lit(z, begin_of(p, r), commit_of(p, to));
        clause_unless(z, r);
        clause_unless(z, to);
        clause_either(z, lit_not(z->assumed), edge_lit);
    }
}

/* Writes all pairs that distance k leaves open and distance `had` did not.  Chains are sorted by
   their begins, so if one begins far after a, so do all that follow it. */
static void write_pairs(bc *z, bool any_had, uint64_t had, uint64_t k)
{
    for (size_t key = 0; key < history_keys(z->g->h); key++) {
        uint32_t end = z->chain_first[key + 1];
        for (uint32_t i = z->chain_first[key]; i < end; i++) {
            const chain *a = &z->chains[i];
            for (uint32_t j = i + 1; j < end; j++) {
                const chain *b = &z->chains[j];
                if (b->begin >= a->reach + k) break;
                if (b->begin >= a->commit + k)
                    write_far(z, a, b, k);
                else if (!any_had || b->begin >= a->commit + had)
                    write_pair(z, a, b);
            }
            guard_tick(z->m->guard);
        }
    }
}

/* --- open reads ------------------------------------------------------------------------------- */

/* A read that may have seen any of several writers. */
typedef struct source_choice {
    uint32_t ob, lit; /* the candidate's literal */
    node_id v;        /* the reader */
    uint32_t inst;    /* the candidate's install */
    const chain *c;   /* the chain that the install ends */
} source_choice;

/* Do the heuristic edges of distance k settle where u stands? */
static bool far_apart(const bc *z, const source_choice *x, const chain *u, uint64_t k)
{
    return x->c->begin >= u->commit + k || u->begin >= z->place[commit_of(z->p, x->v)] + k;
}

/* Do the heuristic edges put some writer after the candidate and before the reader? */
static bool ruled_out(const bc *z, const source_choice *x, uint64_t k)
{
    key_id key = z->g->ob_key[x->ob];
    uint32_t end = z->chain_first[key + 1];
    SEARCH_FIRST(uint32_t, i, z->chain_first[key], end, z->chains[i].begin >= x->c->commit + k);
    return i < end && z->chains[i].earliest != NONE &&
           z->place[begin_of(z->p, x->v)] >= z->chains[i].earliest + k;
}

static void write_choice(bc *z, const source_choice *x, bool any_had, uint64_t had, uint64_t k)
{
    asg *g = z->g;
    order_problem *p = z->p;
    key_id key = g->ob_key[x->ob];
    if (ruled_out(z, x, k)) {
        clause_either(z, lit_not(z->assumed), lit_not(x->lit));
        return;
    }
    bool wrote = any_had && !ruled_out(z, x, had);
    uint32_t end = z->chain_first[key + 1];
    /* All chains before i are far before the candidate. */
    SEARCH_FIRST(uint32_t, i, z->chain_first[key], end, x->c->begin < z->chains[i].latest + k);
    for (; i < end; i++) {
        const chain *u = &z->chains[i];
        node_id head = g->inst_node[u->head];
        if (u->begin >= z->place[commit_of(p, x->v)] + k) break;
        if (u == x->c || head == x->v || far_apart(z, x, u, k)) continue;
        if (wrote && !far_apart(z, x, u, had)) continue;
        clause_lit(z, lit_not(x->lit));
        clause_unless(z, x->v);
        clause_unless(z, head);
        clause_lit(z, before_lit(z, commit_of(p, g->inst_node[u->tail]),
                                 begin_of(p, g->inst_node[x->c->head])));
        clause_lit(z, before_lit(z, begin_of(p, x->v), commit_of(p, head)));
        clause_end(z);
    }
    guard_tick(z->m->guard);
}

static const chain *chain_ending(const bc *z, uint32_t inst)
{
    key_id key = z->g->inst_key[inst];
    uint32_t head = inst;
    while (z->was[head] != NONE) head = z->was[head];
    uint32_t at = z->place[begin_of(z->p, z->g->inst_node[head])];
    SEARCH_FIRST(uint32_t, i, z->chain_first[key], z->chain_first[key + 1],
                 z->chains[i].begin >= at);
    assert(i < z->chain_first[key + 1]);
    assert(z->chains[i].head == head && z->chains[i].tail == inst);
    return &z->chains[i];
}

static void write_choices(bc *z, bool any_had, uint64_t had, uint64_t k)
{
    asg *g = z->g;
    for (uint32_t open = 0; open < g->open.n; open++) {
        uint32_t ob = g->open.at[open];
        if (g->ob_flags[ob] & OB_LIST) continue;
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++) {
            if (asg_cand(g, open, i) >= RF_LAST) continue;
            uint32_t inst = asg_install(g, asg_cand(g, open, i), g->ob_key[ob]);
            if (z->next[inst] != NONE) continue; /* its own edges say enough */
            source_choice x = {ob, lit_of(z->cand_var[i], false), g->ob_node[ob], inst,
                               chain_ending(z, inst)};
            write_choice(z, &x, any_had, had, k);
        }
    }
}

/* v begins before all writers of the key, if lit is true. */
static void before_all(bc *z, uint32_t lit, node_id v, key_id key)
{
    asg *g = z->g;
    order_problem *p = z->p;
    for (uint32_t i = z->chain_first[key]; i < z->chain_first[key + 1]; i++) {
        node_id u = g->inst_node[z->chains[i].head];
        if (u == v) continue;
        if (z->chains[i].sure) {
            order_edge(z->o, lit, begin_of(p, v), commit_of(p, u));
            continue;
        }
        uint32_t edge_lit = before_lit(z, begin_of(p, v), commit_of(p, u));
        clause_unless(z, u);
        clause_either(z, lit_not(lit), edge_lit);
    }
}

/* The reader stands before the one that replaced at once what it read, if lit is true. */
static void before_next(bc *z, uint32_t lit, node_id v, uint32_t inst)
{
    uint32_t after = z->next[inst];
    if (after == NONE || z->g->inst_node[after] == v) return;
    order_edge(z->o, lit, begin_of(z->p, v), commit_of(z->p, z->g->inst_node[after]));
}

/* Each candidate's literal, what it means by itself, and that one of them is true.  At first the
   last candidate that commits before the reader begins is tried. */
static void write_candidates(bc *z, uint32_t open)
{
    asg *g = z->g;
    order_problem *p = z->p;
    uint32_t ob = g->open.at[open], likely = NONE, likely_at = 0;
    node_id v = g->ob_node[ob];
    uint32_t begin = z->place[begin_of(p, v)];
    uint32_t first = g->cand_first.at[open], end = g->cand_first.at[open + 1];
    for (uint32_t i = first; i < end; i++) {
        node_id c = asg_cand(g, open, i);
        uint32_t lit = lit_of(z->cand_var[i], false);
        solver_phase(z->s, lit_not(lit));
        if (c >= RF_LAST) {
            before_all(z, lit, v, g->ob_key[ob]);
            if (likely == NONE) likely = i;
            continue;
        }
        uint32_t at = z->place[commit_of(p, c)];
        order_edge(z->o, lit, commit_of(p, c), begin_of(p, v));
        before_next(z, lit, v, asg_install(g, c, g->ob_key[ob]));
        if (z->taken && z->taken[c] != NONE)
            clause_either(z, lit_not(lit), lit_of(z->taken[c], false));
        if (at >= begin || (likely != NONE && at < likely_at)) continue;
        likely = i;
        likely_at = at;
    }
    if (likely != NONE) solver_phase(z->s, lit_of(z->cand_var[likely], false));
    clause_unless(z, v);
    for (uint32_t i = first; i < end; i++) clause_lit(z, lit_of(z->cand_var[i], false));
    clause_end(z);
}

/* The variables of all choices come first, so that a small number tells them from pairs. */
static void make_choices(bc *z)
{
    asg *g = z->g;
    order_problem *p = z->p;
    for (node_id v = 0; v < p->txns; v++) {
        if (p->in[v]) continue;
        if (!z->taken) {
            z->taken = mem_array(z->m, uint32_t, (size_t)p->txns + 1);
            memset(z->taken, 0xff, ((size_t)p->txns + 1) * sizeof *z->taken);
        }
        z->taken[v] = solver_var(z->s);
    }
    z->cand_var = mem_array(z->m, uint32_t, asg_cands(g) + 1);
    for (uint32_t i = 0; i < asg_cands(g); i++) z->cand_var[i] = solver_var(z->s);
    z->choices = solver_vars(z->s);
}

/* --- unknown outcomes ------------------------------------------------------------------------- */

/* A transaction that committed has its reads, and with them their writers. */
static void write_outcome(bc *z, node_id v)
{
    asg *g = z->g;
    order_problem *p = z->p;
    assert(!p->in[v] && z->taken[v] != NONE);
    uint32_t taken = lit_of(z->taken[v], false);
    bool impossible = g->barred[v];
    solver_phase(z->s, lit_not(taken));
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t rf = g->ob_rf[ob];
        if (rf == RF_NONE) impossible = true;
        if (rf == RF_INIT) before_all(z, taken, v, g->ob_key[ob]);
        if (rf >= RF_LAST) continue;
        order_edge(z->o, taken, commit_of(p, rf), begin_of(p, v));
        before_next(z, taken, v, g->ob_inst[ob]);
        if (!p->in[rf]) clause_either(z, lit_not(taken), lit_of(z->taken[rf], false));
    }
    if (!impossible) return;
    clause_lit(z, lit_not(taken));
    clause_end(z);
}

static void write_unknown(bc *z)
{
    asg *g = z->g;
    order_problem *p = z->p;
    if (!z->taken) return;
    for (node_id v = 0; v < p->txns; v++)
        if (!p->in[v]) write_outcome(z, v);
    for (size_t i = 0; i < g->extra.n; i++) { /* version orders that lists or hints show */
        const edge *e = &g->extra.at[i];
        if (p->in[e->from] && p->in[e->to]) continue;
        uint32_t lit = before_lit(z, commit_of(p, e->from), begin_of(p, e->to));
        clause_unless(z, e->from);
        clause_unless(z, e->to);
        clause_lit(z, lit);
        clause_end(z);
    }
}

/* --- heuristic edges -------------------------------------------------------------------------- */

/* Each begin hangs below a point, and the points are a chain in the first order; the points have
   no other edges in, so they say nothing until commits lead to them. */
static void add_points(bc *z)
{
    order_problem *p = z->p;
    z->point_of = mem_array(z->m, uint32_t, (size_t)p->events + 1);
    uint32_t after = NONE;
    z->points = p->txns;
    for (uint32_t i = p->events, point = z->points; i-- > 0;) {
        uint32_t e = z->at[i];
        if (e < 2 * p->txns && e == begin_of(p, txn_of(p, e))) after = p->events + --point;
        z->point_of[i] = after;
    }
    assert(!p->txns || after == p->events); /* one point for each begin */
}

/* A new literal, to be assumed, that brings the heuristic edges of distance k. */
static void assume_distance(bc *z, uint64_t k)
{
    assert(k && z->point_of);
    order_problem *p = z->p;
    z->assumed = lit_of(solver_var(z->s), false);
    solver_decidable(z->s, lit_var(z->assumed), false);
    for (node_id v = 0; v < p->txns; v++) {
        uint64_t at = z->place[commit_of(p, v)] + k;
        if (at >= p->events || z->point_of[at] == NONE) continue;
        order_edge(z->o, z->assumed, commit_of(p, v), z->point_of[at]);
    }
}

static void make_order(bc *z, order_graph *base)
{
    order_problem *p = z->p;
    static_assert(sizeof(arc) == sizeof(order_pair), "one layout");
    uint32_t nodes = p->events + z->points;
    VEC(order_pair) all = {0};
    vec_reserve(z->m, &all, p->known.n + 2 * (size_t)z->points + 1);
    if (p->known.n) memcpy(all.at, p->known.at, p->known.n * sizeof *all.at);
    all.n = p->known.n;
    uint32_t *pos = mem_array(z->m, uint32_t, (size_t)nodes + 1), passed = 0;
    for (uint32_t i = 0; i < p->events; i++) {
        uint32_t e = z->at[i];
        if (z->points && e < 2 * p->txns && e == begin_of(p, txn_of(p, e))) {
            uint32_t point = p->events + passed;
            assert(z->point_of[i] == point);
            vec_push(z->m, &all, ((order_pair){point, e}));
            if (passed) vec_push(z->m, &all, ((order_pair){point - 1, point}));
            pos[point] = i + passed++;
        }
        pos[e] = i + passed;
    }
    assert(passed == z->points);
    order_graph_build(z->m, nodes, all.at, all.n, base);
    z->o = order_new(z->m, nodes, base, pos);
    vec_free(z->m, &all);
    mem_put(z->m, pos);
}

/* --- what the known edges rule out ------------------------------------------------------------ */

/* Marks what is reachable from a node through known edges and stands at most at `bound`. */
static void mark_reachable(bc *z, uint32_t from, uint32_t bound)
{
    VEC(uint32_t) queue = {0};
    vec_push(z->m, &queue, from);
    z->reached[from] = ++z->walks;
    for (size_t i = 0; i < queue.n; i++) {
        uint32_t x = queue.at[i];
        for (uint32_t j = z->base->out_start[x]; j < z->base->out_start[x + 1]; j++) {
            uint32_t y = z->base->out[j];
            if (z->reached[y] == z->walks || order_pos(z->o, y) > bound) continue;
            z->reached[y] = z->walks;
            z->via[y] = x;
            vec_push(z->m, &queue, y);
        }
    }
    vec_free(z->m, &queue);
    guard_tick(z->m->guard);
}

/* Makes false, before the search, every literal from variable `first` on that closes a cycle with
   known edges alone.  The solver would find each by a conflict, and start over each time. */
static void prune_literals(bc *z, uint32_t first)
{
    VEC(barred_edge) maybe = {0};
    VEC(uint32_t) key = {0};
    uint32_t nodes = order_nodes(z->o), *group_first;
    if (!pass_on(z->p->tune, PASS_PRUNE_KNOWN)) return;
    for (uint32_t lit = lit_of(first, false); lit < 2 * solver_vars(z->s); lit++) {
        if (lit == z->assumed) continue;
        for (uint32_t id = order_first_edge(z->o, lit); id != NONE;
             id = order_next_edge(z->o, id)) {
            barred_edge x = {lit, 0, 0};
            order_edge_ends(z->o, id, &x.from, &x.to);
            if (order_before(z->o, x.from, x.to))
                continue; /* the order shows that it is
                                                               possible */
            vec_push(z->m, &maybe, x);
            vec_push(z->m, &key, x.to);
        }
    }
    uint32_t *group = asg_group(z->g, key.at, key.n, nodes, &group_first);
    for (uint32_t to = 0; to < nodes; to++) {
        uint32_t bound = 0;
        for (uint32_t i = group_first[to]; i < group_first[to + 1]; i++) {
            uint32_t at = order_pos(z->o, maybe.at[group[i]].from);
            if (at > bound) bound = at;
        }
        if (!bound) continue;
        mark_reachable(z, to, bound);
        for (uint32_t i = group_first[to]; i < group_first[to + 1]; i++) {
            const barred_edge *x = &maybe.at[group[i]];
            if (z->reached[x->from] != z->walks || solver_fixed(z->s, x->lit) < 0) continue;
            vec_push(z->m, &z->pruned, *x);
            solver_add_clause(z->s, (uint32_t[]){lit_not(x->lit)}, 1);
            z->a->fixed++;
        }
    }
    mem_put(z->m, group);
    mem_put(z->m, group_first);
    vec_free(z->m, &maybe);
    vec_free(z->m, &key);
}

/* --- the core --------------------------------------------------------------------------------- */

static void core_node(bc *z, node_id v)
{
    assert(v < z->p->txns);
    z->in_core[v] = 1;
}

static void core_chain(bc *z, uint32_t inst)
{
    for (; inst != NONE; inst = z->next[inst]) core_node(z, z->g->inst_node[inst]);
}

/* The chains of a coalesced pair. */
static void core_pair(bc *z, uint32_t var)
{
    if (var >= z->info.n) return;
    core_chain(z, z->info.at[var].a);
    core_chain(z, z->info.at[var].b);
}

/* The core has the transactions on every cycle that the theory refuted, and the chains of the pairs
   that the cycle uses.  Cycles with heuristic edges do not count, and no refutation without the
   assumption uses them. */
static void see_lemma(void *state, const uint32_t *lits, size_t n, uint64_t tag)
{
    bc *z = state;
    (void)tag;
    for (size_t i = 0; i < n; i++)
        if (z->assumed != LIT_NONE && lit_var(lits[i]) == lit_var(z->assumed)) return;
    for (size_t i = 0; i < n; i++) core_pair(z, lit_var(lits[i]));
    size_t nodes;
    const uint32_t *at = order_cycle_nodes(z->o, &nodes);
    for (size_t i = 0; i < nodes; i++)
        if (at[i] < 2 * z->p->txns) core_node(z, txn_of(z->p, at[i]));
}

static bool has_core(const bc *z, uint32_t event)
{
    return event >= 2 * z->p->txns || z->in_core[txn_of(z->p, event)];
}

/* Why a literal was pruned: the known path. */
static void core_path(bc *z, const barred_edge *x)
{
    core_pair(z, lit_var(x->lit));
    mark_reachable(z, x->to, order_pos(z->o, x->from));
    assert(z->reached[x->from] == z->walks);
    for (uint32_t e = x->from;; e = z->via[e]) {
        if (e < 2 * z->p->txns) core_node(z, txn_of(z->p, e));
        if (e == x->to) break;
    }
}

static void keep_core(bc *z)
{
    asg *g = z->g;
    bool any = false;
    size_t n = 0;
    uint8_t *sides = mem_array0(z->m, uint8_t, (size_t)solver_vars(z->s) + 1);
    for (size_t i = 0; i < z->pruned.n; i++)
        sides[lit_var(z->pruned.at[i].lit)] |= 1u << lit_negative(z->pruned.at[i].lit);
    for (size_t i = 0; i < z->pruned.n; i++) {
        const barred_edge *x = &z->pruned.at[i];
        bool both = sides[lit_var(x->lit)] == 3;
        if (both || (has_core(z, x->from) && has_core(z, x->to))) z->pruned.at[n++] = *x;
    }
    mem_put(z->m, sides);
    for (size_t i = 0; i < n; i++) core_path(z, &z->pruned.at[i]);
    for (uint32_t open = 0; open < g->open.n; open++) {
        if (!z->in_core[g->ob_node[g->open.at[open]]]) continue;
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
            if (asg_cand(g, open, i) < RF_LAST) core_node(z, asg_cand(g, open, i));
    }
    for (node_id v = 0; v < z->p->txns; v++) any = any || z->in_core[v];
    for (node_id v = 0; v < z->p->txns; v++) /* outcomes and candidates alone may refute */
        if (z->in_core[v] || !any) vec_push(z->m, &z->a->core, v);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void keep_model(bc *z)
{
    asg *g = z->g;
    order_problem *p = z->p;
    decision *a = z->a;
    uint32_t *last = mem_array(z->m, uint32_t, history_keys(g->h) + 1);
    memset(last, 0xff, (history_keys(g->h) + 1) * sizeof *last);
    a->pos = mem_array(z->m, uint32_t, (size_t)p->events + 1);
    a->rf = mem_array(z->m, uint32_t, g->obs + 1);
    a->out = mem_array0(z->m, uint8_t, (size_t)p->txns + 1);
    if (g->obs) memcpy(a->rf, g->ob_rf, g->obs * sizeof *a->rf);
    for (node_id v = 0; v < p->txns; v++)
        a->out[v] = !p->in[v] && solver_model(z->s, lit_of(z->taken[v], false)) <= 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->events + z->points; i++) {
        uint32_t e = order_at(z->o, i);
        if (e >= p->events) continue;
        assert(n < p->events);
        a->pos[e] = n++;
        if (e >= 2 * p->txns || a->out[txn_of(p, e)]) continue;
        node_id v = txn_of(p, e);
        if (e == begin_of(p, v)) {
            for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
                if (g->ob_rf[ob] == RF_OPEN)
                    a->rf[ob] = last[g->ob_key[ob]] == NONE ? RF_INIT : last[g->ob_key[ob]];
        } else {
            for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++)
                last[g->inst_key[j]] = v;
        }
    }
    mem_put(z->m, last);
}

/* --- the theory ------------------------------------------------------------------------------- */

/* The order theory's callbacks; only cb_phase is ours. */
static void pass_assignment(void *state, const uint32_t *lits, size_t n)
{
    const bc *z = state;
    z->inner->notify_assignment(z->inner->state, lits, n);
}

static void pass_new_level(void *state)
{
    const bc *z = state;
    z->inner->notify_new_level(z->inner->state);
}

static void pass_backtrack(void *state, uint32_t level)
{
    const bc *z = state;
    z->inner->notify_backtrack(z->inner->state, level);
}

static uint32_t pass_propagate(void *state)
{
    const bc *z = state;
    return z->inner->cb_propagate(z->inner->state);
}

static void pass_reason(void *state, uint32_t lit, theory_clause *out)
{
    const bc *z = state;
    z->inner->cb_add_reason_clause(z->inner->state, lit, out);
}

static bool pass_conflict(void *state, theory_clause *out)
{
    const bc *z = state;
    return z->inner->cb_add_external_clause(z->inner->state, out);
}

/* How many edges of a literal the order breaks. */
static uint32_t broken_edges(const bc *z, uint32_t lit)
{
    uint32_t n = 0, a, b;
    for (uint32_t id = order_first_edge(z->o, lit); id != NONE; id = order_next_edge(z->o, id)) {
        order_edge_ends(z->o, id, &a, &b);
        n += !order_before(z->o, a, b);
    }
    return n;
}

/* Choices keep their phase.  Of other literals, one that the order satisfies already costs
   nothing. */
static uint32_t choose_phase(void *state, uint32_t lit)
{
    const bc *z = state;
    uint32_t yes = lit_of(lit_var(lit), false), no = lit_not(yes);
    if (lit_var(lit) < z->choices) return lit;
    return broken_edges(z, yes) <= broken_edges(z, no) ? yes : no;
}

static const theory forward = {
    .notify_assignment = pass_assignment,
    .notify_new_level = pass_new_level,
    .notify_backtrack = pass_backtrack,
    .cb_propagate = pass_propagate,
    .cb_add_reason_clause = pass_reason,
    .cb_add_external_clause = pass_conflict,
    .cb_phase = choose_phase,
};

/* --- rounds ----------------------------------------------------------------------------------- */

/* The rounds' names, by the binary logarithm of k. */
static const char *const round_name[] = {
    "solve-k-1",     "solve-k-2",     "solve-k-4",      "solve-k-8",     "solve-k-16",
    "solve-k-32",    "solve-k-64",    "solve-k-128",    "solve-k-256",   "solve-k-512",
    "solve-k-1024",  "solve-k-2048",  "solve-k-4096",   "solve-k-8192",  "solve-k-16384",
    "solve-k-32768", "solve-k-65536", "solve-k-131072", "solve-k-262144"};
enum { ROUND_NAMES = sizeof round_name / sizeof *round_name };

static void solve_in_rounds(bc *z, uint64_t *since)
{
    decision *a = z->a;
    uint32_t n = z->p->events;
    bool guess = z->points != 0;
    unsigned log = 0;
    while (((uint64_t)2 << log) <= n / 16 && ((uint64_t)2 << log) <= FIRST_K) log++;
    bool any_had = false;
    uint64_t had = 0;
    for (;; log++, a->rounds++) {
        uint64_t k = (uint64_t)1 << log;
        guess = guess && k < n;
        if (guess)
            assume_distance(z, k);
        else
            k = UINT32_MAX;
        uint32_t fresh = any_had ? solver_vars(z->s) : 0;
        write_pairs(z, any_had, had, k);
        write_choices(z, any_had, had, k);
        answer_stage(z->m, a, "write", since);
        prune_literals(z, fresh);
        answer_stage(z->m, a, "prune", since);
        guard_stage(z->m->guard, "solve", "conflicts", 0);
        solve_status status = solver_solve(z->s, &z->assumed, guess);
        answer_stage(z->m, a, guess && log < ROUND_NAMES ? round_name[log] : "solve", since);
        a->holds = status == SOLVE_SAT;
        if (status == SOLVE_UNKNOWN) a->undecided = "gave up after too many conflicts";
        if (status != SOLVE_UNSAT || !guess || !solver_failed(z->s, z->assumed)) return;
        /* The refutation speaks against the heuristic edges only. */
        solver_add_clause(z->s, (uint32_t[]){lit_not(z->assumed)}, 1);
        z->assumed = LIT_NONE;
        any_had = true;
        had = k;
    }
}

void bc_decide(order_problem *p, uint64_t conflicts, decision *a)
{
    memset(a, 0, sizeof *a);
    bc z = {.p = p, .g = p->g, .m = p->m, .a = a, .assumed = LIT_NONE};
    asg *g = p->g;
    uint64_t since = clock_now();
    if (!p->si) {
        a->undecided = "strategy bc decides snapshot isolation";
        return;
    }
    if (p->txns > MOST_TXNS) {
        a->undecided = "strategy bc writes out all pairs of a key's writers and takes at most "
                       "50 000 transactions";
        return;
    }
    order_graph known, base;
    combine_writes(&z);
    order_graph_build(z.m, p->events, (const order_pair *)(const void *)p->known.at, p->known.n,
                      &known);
    bool acyclic = first_places(&z, &known);
    answer_stage(z.m, a, "order", &since);
    if (!acyclic) return;
    make_chains(&z);
    if (pass_on(p->tune, PASS_HEURISTIC_EDGES)) add_points(&z);
    make_order(&z, &base);
    z.base = &base;
    z.reached = mem_array0(z.m, uint32_t, (size_t)order_nodes(z.o) + 1);
    z.via = mem_array(z.m, uint32_t, (size_t)order_nodes(z.o) + 1);
    z.s = solver_new(z.m);
    z.inner = order_theory(z.o, z.s, true);
    theory t = forward;
    t.state = &z;
    solver_set_theory(z.s, &t);
    z.in_core = mem_array0(z.m, uint8_t, (size_t)p->txns + 1);
    const proof watch = {.state = &z, .lemma = see_lemma};
    solver_set_proof(z.s, &watch);
    if (conflicts) solver_set_option(z.s, "conflicts", (int64_t)conflicts);
    solver_set_option(z.s, "seed", (int64_t)(p->tune->seed & INT64_MAX));

    /* Units come one by one, and simplifying at each would be quadratic. */
    solver_set_option(z.s, "simplify", 0);
    make_choices(&z);
    for (uint32_t open = 0; open < g->open.n; open++)
        if (!(g->ob_flags[g->open.at[open]] & OB_LIST)) write_candidates(&z, open);
    write_unknown(&z);
    solve_in_rounds(&z, &since);
    a->vars = solver_vars(z.s);
    a->conflicts = solver_stats(z.s)->conflicts;
    static_assert(CYCLE_WIDTHS == ORDER_WIDTHS, "both count cycles by their width");
    memcpy(a->width, order_statistics(z.o)->width, sizeof a->width);
    if (a->undecided) return;
    if (a->holds)
        keep_model(&z);
    else
        keep_core(&z);
    answer_stage(z.m, a, "write", &since);
}
