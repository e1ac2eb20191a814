/*
 * serial_among.c - what `mixed-pg` asks of the serializable transactions among themselves
 * (doc/levels.md, "Mixed levels"): no cycle of session order, read-from, version order and
 * anti-dependencies between them alone, where an anti-dependency leads to the next version of the
 * whole history, and only if a serializable transaction installed that.
 *
 * The order of the solver satisfies everything else before anybody asks here.  Then all such edges
 * are listed and transactions are placed one after the other.  What cannot be placed holds a cycle,
 * and the shortest one through some transaction of it becomes a clause: a version order of it is
 * the other way round, or a transaction of another level wrote between a version that was read and
 * the next one, or a read saw another version, or somebody of unknown outcome took no part.
 *
 * Reads of serializable transactions with several candidates have their source chosen outright, as
 * in update_readers.c, so that a clause can name the choice.
 */
#include "decide/lazy/serial_among.h"

#include <assert.h>

#include "base/hash.h"
#include "decide/lazy/slot_search.h"

typedef struct tie { /* from leads to `to` */
    node_id from, to;
    uint32_t kind; /* EDGE_SO, EDGE_WR, EDGE_WW, STEP_RW */
    uint32_t ob;   /* EDGE_WR, STEP_RW: the read */
    uint32_t inst; /* EDGE_WW: the version of `to`; STEP_RW: the version that was read, or NONE */
} tie;

struct serial_among {
    node_id *prev;  /* per node: the serializable transaction before it in its session, or NO_ID */
    uint64_t epoch; /* choices were queued for this one */
    uint64_t clean; /* the epoch in which no cycle was found; 0: none */
    VEC(tie) ties;
    uint32_t *first; /* per node, into `by_from`: its ties */
    uint32_t *by_from;
    uint32_t *missing; /* per node: ties into it from nodes that are not placed */
    VEC(node_id) todo;
    uint32_t *via; /* per node: the tie by which a search came, or NONE */
};

void among_start(lazy *z)
{
    asg *g = z->g;
    if (!g->serial) return;
    serial_among *x = z->among = mem_array0(z->m, serial_among, 1);
    size_t n = (size_t)g->nodes + 2;
    x->prev = mem_array(z->m, node_id, n);
    x->first = mem_array(z->m, uint32_t, n);
    x->missing = mem_array(z->m, uint32_t, n);
    x->via = mem_array(z->m, uint32_t, n);
    for (node_id v = 0; v < g->nodes; v++) {
        node_id b = z->p->so ? g->so_pred[v] : NO_ID;
        assert(b == NO_ID || b < v);
        x->prev[v] = b == NO_ID || g->serial[b] ? b : x->prev[b];
    }
}

/* --- the edges -------------------------------------------------------------------------------- */

/* Has the read a source now?  *inst is its install, or NONE for the initial version; *cand the
   candidate, if that was a choice. */
static bool read_source(lazy *z, uint32_t ob, uint32_t *inst, uint32_t *cand)
{
    const asg *g = z->g;
    uint32_t rf = z->p->rf[ob];
    *cand = *inst = NONE;
    if (rf == RF_OPEN && g->ob_flags[ob] & OB_LIST && !slots_own(z, ob)) return false;
    if (rf == RF_OPEN) {
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
static uint32_t next_version_of(const lazy *z, key_id k, uint32_t inst)
{
    const asg *g = z->g;
    if (inst != NONE) return lazy_next_version(z, inst);
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++)
        if (z->present[g->inst_node[z->list[i]]]) return z->list[i];
    return NONE;
}

static void add_tie(lazy *z, tie t)
{
    const asg *g = z->g;
    assert(t.from < g->nodes && t.to < g->nodes);
    if (t.from == t.to || !g->serial[t.from] || !g->serial[t.to]) return;
    if (!z->present[t.from] || !z->present[t.to]) return;
    vec_push(z->m, &z->among->ties, t);
}

static void list_ties_of(lazy *z, node_id v)
{
    const asg *g = z->g;
    const serial_among *x = z->among;
    if (x->prev[v] != NO_ID) add_tie(z, (tie){x->prev[v], v, EDGE_SO, NO_ID, NONE});
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t inst, cand;
        if (!read_source(z, ob, &inst, &cand)) continue;
        if (inst != NONE) add_tie(z, (tie){g->inst_node[inst], v, EDGE_WR, ob, NONE});
        uint32_t next = next_version_of(z, g->ob_key[ob], inst);
        if (next != NONE) add_tie(z, (tie){v, g->inst_node[next], STEP_RW, ob, inst});
    }
    guard_tick(z->m->guard);
}

/* Of each key, from one version of a serializable transaction to the next such. */
static void list_version_ties(lazy *z)
{
    const asg *g = z->g;
    for (size_t k = 0; k < history_keys(g->h); k++) {
        uint32_t before = NONE;
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
            uint32_t j = z->list[i];
            node_id v = g->inst_node[j];
            if (!z->present[v] || !g->serial[v]) continue;
            if (before != NONE) add_tie(z, (tie){g->inst_node[before], v, EDGE_WW, NO_ID, j});
            before = j;
        }
        guard_tick(z->m->guard);
    }
}

static void list_ties(lazy *z)
{
    const asg *g = z->g;
    serial_among *x = z->among;
    x->ties.n = 0;
    for (node_id v = 0; v < g->nodes; v++)
        if (g->serial[v] && z->present[v]) list_ties_of(z, v);
    list_version_ties(z);
    memset(x->first, 0, ((size_t)g->nodes + 2) * sizeof *x->first);
    memset(x->missing, 0, ((size_t)g->nodes + 2) * sizeof *x->missing);
    mem_put(z->m, x->by_from);
    x->by_from = mem_array(z->m, uint32_t, x->ties.n + 1);
    for (size_t i = 0; i < x->ties.n; i++) {
        x->first[x->ties.at[i].from + 1]++;
        x->missing[x->ties.at[i].to]++;
    }
    for (uint32_t v = 0; v < g->nodes; v++) x->first[v + 1] += x->first[v];
    uint32_t *at = mem_array(z->m, uint32_t, (size_t)g->nodes + 1);
    memcpy(at, x->first, ((size_t)g->nodes + 1) * sizeof *at);
    for (uint32_t i = 0; i < x->ties.n; i++) x->by_from[at[x->ties.at[i].from]++] = i;
    mem_put(z->m, at);
}

/* --- the cycle -------------------------------------------------------------------------------- */

/* Places whatever can be placed; some node that cannot, with another such before it, or NO_ID. */
static node_id place_serial(lazy *z)
{
    const asg *g = z->g;
    serial_among *x = z->among;
    x->todo.n = 0;
    for (node_id v = 0; v < g->nodes; v++)
        if (!x->missing[v]) vec_push(z->m, &x->todo, v);
    for (size_t i = 0; i < x->todo.n; i++) {
        node_id v = x->todo.at[i];
        for (uint32_t k = x->first[v]; k < x->first[v + 1]; k++) {
            node_id to = x->ties.at[x->by_from[k]].to;
            if (!--x->missing[to]) vec_push(z->m, &x->todo, to);
        }
    }
    if (x->todo.n == g->nodes) return NO_ID;
    node_id v = 0;
    while (!x->missing[v]) v++;
    return v;
}

/* A node that is left has a tie from another one that is left: going back along these ends in a
   cycle, of which this returns a member. */
static node_id member_of_cycle(lazy *z, node_id v)
{
    const asg *g = z->g;
    serial_among *x = z->among;
    memset(x->via, 0xff, ((size_t)g->nodes + 1) * sizeof *x->via);
    for (uint32_t i = 0; i < x->ties.n; i++) {
        const tie *t = &x->ties.at[i];
        if (x->missing[t->from] && x->missing[t->to]) x->via[t->to] = i;
    }
    for (uint32_t steps = 0; steps <= g->nodes; steps++) {
        assert(x->via[v] != NONE);
        v = x->ties.at[x->via[v]].from;
    }
    return v;
}

/* A shortest cycle through v: the ties from v on, until they are back, in x->todo. */
static void shortest_cycle(lazy *z, node_id v)
{
    const asg *g = z->g;
    serial_among *x = z->among;
    memset(x->via, 0xff, ((size_t)g->nodes + 1) * sizeof *x->via);
    x->todo.n = 0;
    vec_push(z->m, &x->todo, v);
    for (size_t i = 0; i < x->todo.n && x->via[v] == NONE; i++) {
        node_id u = x->todo.at[i];
        for (uint32_t k = x->first[u]; k < x->first[u + 1]; k++) {
            uint32_t t = x->by_from[k];
            node_id to = x->ties.at[t].to;
            if (!x->missing[to] || x->via[to] != NONE) continue;
            x->via[to] = t;
            vec_push(z->m, &x->todo, to);
        }
    }
    assert(x->via[v] != NONE);
    x->todo.n = 0;
    node_id u = v;
    do {
        vec_push(z->m, &x->todo, x->via[u]);
        u = x->ties.at[x->via[u]].from;
    } while (u != v);
}

/* --- its clause ------------------------------------------------------------------------------- */

typedef struct among_clause {
    uint32_t lit, way; /* the free literal with the shortest way so far */
} among_clause;

static void offer(lazy *z, among_clause *c, uint32_t lit, uint32_t way)
{
    lazy_clause_lit(z, lit);
    if (solver_value(z->s, lit) || (c->lit != LIT_NONE && c->way <= way)) return;
    c->lit = lit;
    c->way = way;
}

/* The version of b, which now is after that of a, might be before it. */
static void offer_turn(lazy *z, among_clause *c, node_id a, node_id b)
{
    uint32_t from = commit_of(z->p, b), to = version_target(z->p, a);
    assert(a != b && z->present[a] && z->present[b]);
    lazy_add_core(z, a);
    lazy_add_core(z, b);
    if (lazy_ruled_out(z, a, b)) return;
    uint32_t way = z->pos[from] > z->pos[to] ? z->pos[from] - z->pos[to] : 0;
    offer(z, c, lazy_before(z, from, to), way);
}

/* Between the version that was read (NONE: the initial one) and that of `next` one of another level
   might stand. */
static void offer_between(lazy *z, among_clause *c, const tie *t)
{
    const asg *g = z->g;
    key_id k = g->ob_key[t->ob];
    node_id read = t->inst == NONE ? NO_ID : g->inst_node[t->inst];
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id y = g->inst_node[z->list[i]];
        if (g->serial[y] || y == read) continue;
        if (!z->present[y])
            offer(z, c, lit_of(z->taken_var[y], false), UINT32_MAX - 1);
        else if (z->pos[commit_of(z->p, y)] > z->pos[commit_of(z->p, t->to)])
            offer_turn(z, c, t->to, y);
        else
            offer_turn(z, c, y, read);
    }
}

/* For the proof: on which side of both versions the others stand. */
static void justify_among_sides(lazy *z, const tie *t)
{
    const asg *g = z->g;
    key_id k = g->ob_key[t->ob];
    node_id read = t->inst == NONE ? NO_ID : g->inst_node[t->inst];
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id y = g->inst_node[z->list[i]];
        if (g->serial[y] || y == read) continue;
        if (!z->present[y])
            justify_hop(z->j, (proof_hop){HOP_OUT, y, 0, NO_ID});
        else if (z->pos[commit_of(z->p, y)] > z->pos[commit_of(z->p, t->to)])
            justify_hop(z->j, (proof_hop){HOP_BEHIND, y, 0, NO_ID});
    }
}

/* For the proof, from the end of the cycle, as it was found. */
static void justify_among(lazy *z)
{
    const asg *g = z->g;
    const serial_among *x = z->among;
    for (size_t i = 0; i < x->todo.n; i++) {
        const tie *t = &x->ties.at[x->todo.at[i]];
        proof_hop hop = {HOP_SO, t->from, t->ob, NO_ID};
        if (t->kind == EDGE_WR) hop.kind = HOP_WR;
        if (t->kind == EDGE_WW) hop.kind = HOP_WW;
        if (t->kind == EDGE_WW) hop.with = g->inst_key[t->inst];
        if (t->kind == STEP_RW) hop.kind = HOP_RW;
        if (t->kind == STEP_RW && t->inst != NONE) hop.from = g->inst_node[t->inst];
        justify_hop(z->j, hop);
        if (t->kind == STEP_RW) justify_among_sides(z, t);
    }
    justify_reason(z->j, BECAUSE_AMONG, NO_ID, NO_ID, x->ties.at[x->todo.at[0]].to);
}

/* The steps of the cycle, for the answer if nothing else is left. */
static void keep_steps(lazy *z)
{
    const asg *g = z->g;
    const serial_among *x = z->among;
    z->a->path.steps.n = 0;
    for (size_t i = x->todo.n; i-- > 0;) {
        const tie *t = &x->ties.at[x->todo.at[i]];
        key_id k = t->kind == EDGE_WW   ? g->inst_key[t->inst]
                   : t->kind == EDGE_SO ? NO_ID
                                        : g->ob_key[t->ob];
        step s = {t->from, t->to, t->kind, k, t->ob};
        vec_push(z->m, &z->a->path.steps, s);
    }
}

/* The clause against the cycle in x->todo; if it stands already, a literal of it to decide. */
static uint32_t write_among(lazy *z)
{
    const asg *g = z->g;
    const serial_among *x = z->among;
    among_clause c = {.lit = LIT_NONE};
    lazy_clause_start(z);
    for (size_t i = 0; i < x->todo.n; i++) {
        const tie *t = &x->ties.at[x->todo.at[i]];
        uint32_t inst, cand = NONE;
        lazy_clause_unless(z, t->from);
        lazy_add_core(z, t->from);
        if (t->ob != NO_ID) read_source(z, t->ob, &inst, &cand);
        if (cand != NONE) offer(z, &c, lit_not(lazy_cand_lit(z, cand)), UINT32_MAX);
        if (t->kind == EDGE_WW) offer_turn(z, &c, t->from, t->to);
        if (t->kind != STEP_RW) continue;
        if (t->inst != NONE) lazy_clause_unless(z, g->inst_node[t->inst]);
        if (t->inst != NONE) offer_turn(z, &c, g->inst_node[t->inst], t->to);
        offer_between(z, &c, t);
    }
    uint64_t hash = (uint64_t)1 << 63; /* from 0 it could stay 0, the name of a clause of a read */
    for (size_t i = 0; i < z->lits.n; i++) hash = hash_u64(hash ^ z->lits.at[i]) + i;
    if (c.lit != LIT_NONE && !lazy_first_time(z, (uint32_t)(hash >> 32), (uint32_t)hash))
        return c.lit;
    if (z->j) justify_among(z);
    if (!z->lits.n) keep_steps(z);
    lazy_clause_end(z);
    return THEORY_ANY;
}

/* --- for lazy.c ------------------------------------------------------------------------------- */

bool among_look_again(lazy *z)
{
    serial_among *x = z->among;
    const asg *g = z->g;
    if (!x || x->epoch == z->epoch) return false;
    x->epoch = z->epoch;
    size_t before = z->queue.n;
    for (size_t i = 0; i < g->open.n; i++) {
        node_id v = g->ob_node[g->open.at[i]];
        if (z->present[v] && g->serial[v]) lazy_enqueue(z, g->open.at[i]);
    }
    return z->queue.n > before;
}

bool among_broken(lazy *z, uint32_t *answer)
{
    serial_among *x = z->among;
    if (among_clean(z)) return false;
    list_ties(z);
    node_id left = place_serial(z);
    if (left == NO_ID) {
        x->clean = z->epoch;
        return false;
    }
    shortest_cycle(z, member_of_cycle(z, left));
    *answer = write_among(z);
    return true;
}

bool among_clean(const lazy *z)
{
    return !z->among || z->among->clean == z->epoch;
}
