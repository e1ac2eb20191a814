/*
 * justify_weak.c - proofs that read-uncommitted, read-committed, monotonic atomic view, read
 * atomic, causality or a session guarantee is violated.
 *
 * With every read's writer fixed, the test of decide/weak/weak.c finds a cycle of session order,
 * read-from, shown and forced version orders, or a read of the initial state past a visible writer;
 * each edge becomes a step.  Where there are choices (ambiguous reads, unknown outcomes) a solver
 * makes them, the test refutes them, and the part of the choices that the refutation used becomes a
 * clause; until no choice is left.
 */
#include <assert.h>

#include "decide/proof/justify_internal.h"

typedef struct blocked_edge {
    uint32_t kind; /* enum edge_kind */
    node_id from, to;
    uint32_t ob;
    key_id key;
    size_t hops, n; /* EDGE_FORCE: pairs of an obligation (NONE: session order) and a node */
} blocked_edge;

typedef struct blocked_choice {
    size_t first, n;
    bool initial; /* one edge to the initial state: no cycle */
    size_t lits, lits_n;
} blocked_choice;

struct blocked {
    VEC(blocked_edge) edges;
    VEC(blocked_choice) choices;
    u32s hops, lits;
};

typedef struct chooser {
    justify *j;
    asg *g;
    mem *m;
    enum weak_level level;
    bool so;
    solver *s;
    uint32_t *cand_var; /* parallel to g->cand; NONE: no choice */
    uint32_t *taken_var;
    decision a;
    node_id *via; /* search for hops */
    uint32_t *via_ob, *seen, round;
    u32s queue, clause;
} chooser;

/* --- choices ---------------------------------------------------------------------------------- */

static uint32_t candidates(const asg *g, uint32_t open)
{
    assert(open < g->open.n && g->cand_first.n == g->open.n + 1);
    return g->cand_first.at[open + 1] - g->cand_first.at[open];
}

static void add_clause(chooser *c)
{
    justify_clause(c->j, c->clause.at, c->clause.n);
    solver_add_clause(c->s, c->clause.at, c->clause.n);
    c->clause.n = 0;
}

static void put(chooser *c, uint32_t lit)
{
    vec_push(c->m, &c->clause, lit);
}

static void unless_out(chooser *c, node_id v)
{
    if (c->taken_var[v] != NONE) put(c, lit_of(c->taken_var[v], true));
}

static void make_vars(chooser *c)
{
    asg *g = c->g;
    c->cand_var = mem_array(c->m, uint32_t, asg_cands(g) + 1);
    c->taken_var = mem_array(c->m, uint32_t, (size_t)g->nodes + 1);
    for (node_id v = 0; v < g->nodes; v++) {
        c->taken_var[v] = NONE;
        if (asg_in(g, v)) continue;
        c->taken_var[v] = solver_var(c->s);
        justify_is_taken(c->j, c->taken_var[v], v);
        solver_phase(c->s, lit_of(c->taken_var[v], true)); /* rather without */
    }
    for (uint32_t open = 0; open < g->open.n; open++)
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++) {
            node_id w = asg_cand(g, open, i) < RF_LAST ? asg_cand(g, open, i) : NO_ID;
            c->cand_var[i] = NONE;
            if (candidates(g, open) < 2) continue;
            c->cand_var[i] = solver_var(c->s);
            justify_is_read(c->j, c->cand_var[i], g->open.at[open], w);
        }
}

static void write_choices(chooser *c)
{
    asg *g = c->g;
    for (uint32_t open = 0; open < g->open.n; open++) {
        uint32_t ob = g->open.at[open];
        if (candidates(g, open) < 2) continue;
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++) {
            node_id w = asg_cand(g, open, i);
            if (w >= RF_LAST || c->taken_var[w] == NONE) continue;
            justify_reason(c->j, BECAUSE_TAKEN, ob, w, NO_ID);
            put(c, lit_of(c->cand_var[i], true));
            put(c, lit_of(c->taken_var[w], false));
            add_clause(c);
        }
        justify_reason(c->j, BECAUSE_FROM, ob, NO_ID, NO_ID);
        unless_out(c, g->ob_node[ob]);
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
            put(c, lit_of(c->cand_var[i], false));
        add_clause(c);
        guard_tick(c->m->guard);
    }
    for (node_id v = 0; v < g->nodes; v++) {
        bool never = g->barred[v];
        if (c->taken_var[v] == NONE) continue;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t rf = g->ob_rf[ob];
            never = never || rf == RF_NONE;
            if (rf >= RF_LAST || c->taken_var[rf] == NONE) continue;
            justify_reason(c->j, BECAUSE_TAKEN, ob, rf, NO_ID);
            unless_out(c, v);
            put(c, lit_of(c->taken_var[rf], false));
            add_clause(c);
        }
        if (!never) continue;
        justify_reason(c->j, BECAUSE_FAULT, NO_ID, NO_ID, v);
        unless_out(c, v);
        add_clause(c);
    }
}

/* The solver's choices as an assignment for the test. */
static void load_choices(chooser *c)
{
    asg *g = c->g;
    for (node_id v = 0; v < g->nodes; v++)
        c->a.out[v] =
            c->taken_var[v] != NONE && solver_model(c->s, lit_of(c->taken_var[v], false)) <= 0;
    memcpy(c->a.rf, g->ob_rf, g->obs * sizeof *c->a.rf);
    for (uint32_t open = 0; open < g->open.n; open++) {
        uint32_t ob = g->open.at[open], end = g->cand_first.at[open + 1];
        if (c->a.out[g->ob_node[ob]]) continue;
        for (uint32_t i = g->cand_first.at[open]; i < end; i++) {
            bool yes =
                c->cand_var[i] == NONE || solver_model(c->s, lit_of(c->cand_var[i], false)) > 0;
            if (yes) c->a.rf[ob] = asg_cand(g, open, i);
            if (yes) break;
        }
        assert(c->a.rf[ob] != RF_OPEN); /* the clause of the read asks for one of them */
    }
}

/* "ob did not read what it is taken to have read", if that is a choice. */
static void unless_read(chooser *c, uint32_t ob)
{
    const asg *g = c->g;
    uint32_t open = c->j->open_of ? c->j->open_of[ob] : NONE;
    if (open == NONE || candidates(g, open) < 2) {
        unless_out(c, g->ob_node[ob]);
        return;
    }
    size_t before = c->clause.n;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        if (asg_cand(g, open, i) == c->a.rf[ob]) put(c, lit_of(c->cand_var[i], true));
    assert(c->clause.n == before + 1);
    (void)before;
}

/* --- why something was visible ---------------------------------------------------------------- */

static void add_hop(chooser *c, uint32_t ob, node_id to)
{
    vec_push(c->m, &c->j->blocked->hops, ob);
    vec_push(c->m, &c->j->blocked->hops, to);
    if (ob != NONE) unless_read(c, ob);
}

/* The read of `of` from `from`, earlier than operation `before`; NONE: there is none. */
static uint32_t read_of(const chooser *c, node_id of, node_id from, op_id earlier_than)
{
    const asg *g = c->g;
    for (uint32_t ob = g->ob_first[of]; ob < g->ob_first[of + 1]; ob++)
        if (c->a.rf[ob] == from && g->ob_op[ob] < earlier_than) return ob;
    return NONE;
}

static void reach_node(chooser *c, node_id v, node_id from, uint32_t ob)
{
    assert(v < c->g->nodes && c->round);
    if (c->seen[v] == c->round) return;
    c->seen[v] = c->round;
    c->via[v] = from;
    c->via_ob[v] = ob;
    vec_push(c->m, &c->queue, v);
}

/* Breadth first from the reader into its past, until t2 is met. */
static bool causal_hops(chooser *c, node_id t3, node_id t2)
{
    const asg *g = c->g;
    assert(t2 != t3);
    c->round++;
    c->queue.n = 0;
    reach_node(c, t3, NO_ID, NONE);
    for (size_t i = 0; i < c->queue.n && c->seen[t2] != c->round; i++) {
        node_id v = c->queue.at[i];
        if (c->so && g->so_pred[v] != NO_ID) reach_node(c, g->so_pred[v], v, NONE);
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            if (c->a.rf[ob] < RF_LAST) reach_node(c, c->a.rf[ob], v, ob);
        guard_tick(c->m->guard);
    }
    if (c->seen[t2] != c->round) return false;
    size_t first = c->j->blocked->hops.n;
    for (node_id v = t2; v != t3; v = c->via[v]) add_hop(c, c->via_ob[v], v);
    uint32_t *hops = c->j->blocked->hops.at + first; /* found backwards: turn the pairs round */
    size_t n = (c->j->blocked->hops.n - first) / 2;
    assert(n && hops[1] == t2);
    for (size_t i = 0; i < n / 2; i++)
        for (size_t k = 0; k < 2; k++) {
            uint32_t swap = hops[2 * i + k];
            hops[2 * i + k] = hops[2 * (n - 1 - i) + k];
            hops[2 * (n - 1 - i) + k] = swap;
        }
    return true;
}

static bool same_session(const asg *g, node_id a, node_id b)
{
    const uint32_t *session = g->h->txn_session;
    return session[g->node_txn[a]] == session[g->node_txn[b]];
}

static bool session_before(const chooser *c, node_id a, node_id b)
{
    return c->so && a < b && !c->g->maybe[a] && same_session(c->g, a, b);
}

/* t2 is before `end` in its session (or was read there, if `saw`): the last one or two hops. */
static bool session_hops(chooser *c, node_id end, node_id t2, bool saw)
{
    if (!saw) {
        bool before = session_before(c, t2, end);
        if (before) add_hop(c, NONE, t2);
        return before;
    }
    for (node_id v = end; v-- > 0 && same_session(c->g, v, end);) {
        if (c->a.out[v] || !session_before(c, v, end)) continue;
        uint32_t read = read_of(c, v, t2, NO_ID);
        guard_tick(c->m->guard);
        if (read == NONE) continue;
        add_hop(c, NONE, v);
        add_hop(c, read, t2);
        return true;
    }
    return false;
}

/* The session guarantees: by the reader's own session, or by that of one it read from. */
static bool guarantee_hops(chooser *c, node_id t3, node_id t2)
{
    const asg *g = c->g;
    bool saw = c->level == WEAK_MR || c->level == WEAK_WFR;
    if (c->level == WEAK_RYW || c->level == WEAK_MR) return session_hops(c, t3, t2, saw);
    for (uint32_t ob = g->ob_first[t3]; ob < g->ob_first[t3 + 1]; ob++) {
        if (c->a.rf[ob] >= RF_LAST) continue;
        size_t hops = c->j->blocked->hops.n, lits = c->clause.n;
        add_hop(c, ob, c->a.rf[ob]);
        if (session_hops(c, c->a.rf[ob], t2, saw)) return true;
        c->j->blocked->hops.n = hops;
        c->clause.n = lits;
    }
    return false;
}

static bool find_hops(chooser *c, uint32_t ob, node_id t2)
{
    const asg *g = c->g;
    node_id t3 = g->ob_node[ob];
    if (c->level >= WEAK_RYW) return guarantee_hops(c, t3, t2);
    if (c->level == WEAK_CC) return causal_hops(c, t3, t2);
    if (c->level == WEAK_RA && session_before(c, t2, t3)) {
        add_hop(c, NONE, t2);
        return true;
    }
    uint32_t read = read_of(c, t3, t2, c->level == WEAK_MAV ? g->ob_op[ob] : NO_ID);
    if (read != NONE) add_hop(c, read, t2);
    return read != NONE;
}

/* --- refuting a choice ------------------------------------------------------------------------ */

static bool add_edge(chooser *c, const step *s)
{
    struct blocked *b = c->j->blocked;
    blocked_edge e = {s->kind, s->from, s->to, s->ob, s->key, b->hops.n, 0};
    bool ok = true;
    switch (s->kind) {
    case EDGE_SO: break;
    case EDGE_WR: unless_read(c, s->ob); break;
    case EDGE_WW: unless_out(c, s->from); break;
    default: /* EDGE_FORCE */
        unless_read(c, s->ob);
        ok = find_hops(c, s->ob, s->from);
        break;
    }
    e.n = (b->hops.n - e.hops) / 2;
    vec_push(c->m, &b->edges, e);
    return ok;
}

/* What the test found, as edges and as a clause against the choices that they rest on. */
static bool block(chooser *c)
{
    struct blocked *b = c->j->blocked;
    blocked_choice x = {b->edges.n, 0, c->a.why == WHY_INIT, b->lits.n, 0};
    bool ok = true;
    assert(c->a.why == WHY_INIT || c->a.why == WHY_CYCLE);
    c->clause.n = 0;
    if (x.initial) {
        assert(c->a.rf[c->a.bad_ob] == RF_INIT);
        step s = {c->a.bad_node, NO_ID, EDGE_FORCE, c->g->ob_key[c->a.bad_ob], c->a.bad_ob};
        ok = add_edge(c, &s);
    }
    for (size_t i = 0; i < c->a.path.steps.n && !x.initial && ok; i++)
        ok = add_edge(c, &c->a.path.steps.at[i]);
    x.n = b->edges.n - x.first;
    assert(x.n && (!x.initial || x.n == 1));
    for (size_t i = 0; i < c->clause.n; i++) vec_push(c->m, &b->lits, c->clause.at[i]);
    x.lits_n = c->clause.n;
    justify_reason(c->j, BECAUSE_BLOCKED, (uint32_t)b->choices.n, NO_ID, NO_ID);
    vec_push(c->m, &b->choices, x);
    if (ok) add_clause(c);
    return ok;
}

static bool leave_read(chooser *c, uint32_t ob)
{
    uint32_t open = ob != NO_ID && c->j->open_of ? c->j->open_of[ob] : NONE;
    if (open == NONE || c->a.rf[ob] == RF_OPEN || candidates(c->g, open) < 2) return false;
    c->a.rf[ob] = RF_OPEN;
    return true;
}

static bool leave_open(chooser *c, const blocked_edge *e)
{
    const uint32_t *hops = c->j->blocked->hops.at + e->hops;
    bool any = (e->kind == EDGE_WR || e->kind == EDGE_FORCE) && leave_read(c, e->ob);
    for (size_t i = 0; i < 2 * e->n; i += 2) any = leave_read(c, hops[i]) || any;
    return any;
}

/* Two reads of one key that both take another value for the initial one. */
static bool two_initial(chooser *c, uint32_t *first)
{
    asg *g = c->g;
    if (!g->init_open) return false;
    for (uint32_t open = 0; open < g->open.n; open++) {
        uint32_t ob = g->open.at[open], k = g->ob_key[ob];
        if (c->a.rf[ob] != RF_INIT || !g->init_open[k] || c->a.out[g->ob_node[ob]]) continue;
        if (first[k] == NONE) first[k] = ob;
        assert(g->ob_key[first[k]] == k);
        if (g->ob_value[first[k]] == g->ob_value[ob]) continue;
        justify_reason(c->j, BECAUSE_INITIAL, first[k], ob, NO_ID);
        unless_read(c, first[k]);
        unless_read(c, ob);
        add_clause(c);
        return true;
    }
    return false;
}

static void set_up(chooser *c)
{
    asg *g = c->g;
    size_t n = (size_t)g->nodes + 1;
    c->s = solver_new(c->m);
    solver_set_proof(c->s, justify_proof(c->j));
    c->a.order = mem_array(c->m, node_id, n);
    c->a.out = mem_array0(c->m, uint8_t, n);
    c->a.rf = mem_array(c->m, uint32_t, g->obs + 1);
    c->via = mem_array(c->m, node_id, n);
    c->via_ob = mem_array(c->m, uint32_t, n);
    c->seen = mem_array0(c->m, uint32_t, n);
    c->j->blocked = mem_zeroed(c->m, sizeof *c->j->blocked);
    vec_reserve(c->m, &c->j->blocked->hops, 1); /* slices of length 0 have a place to point to */
    make_vars(c);
    write_choices(c);
}

/* All contradictions of the choices that share no choice: each one found is blocked, and what it
   rests on is left open for the next test.  False: one cannot be explained; *any: there was. */
static bool block_all(chooser *c, bool *any)
{
    view w = {.so = c->so, .extra = true, .rf = c->a.rf, .out = c->a.out};
    for (*any = false;; *any = true) {
        size_t from = c->j->blocked->edges.n;
        c->a.path.steps.n = 0;
        if (weak_test(c->g, &w, c->level, &c->a, true)) return true;
        if (!block(c)) return false;
        bool freed = false;
        for (size_t i = from; i < c->j->blocked->edges.n; i++)
            freed = leave_open(c, &c->j->blocked->edges.at[i]) || freed;
        if (!freed) { /* rests on outcomes only, or on no choice at all */
            *any = true;
            return true;
        }
    }
}

bool justify_weak(justify *j, enum weak_level level, bool so)
{
    chooser c = {.j = j, .g = j->g, .m = j->m, .level = level, .so = so};
    size_t keys = history_keys(j->g->h);
    uint32_t *first = mem_array(j->m, uint32_t, keys + 1);
    assert(level != WEAK_RU);
    justify_start(j);
    set_up(&c);
    bool any, open = true; /* first without any choice: often that is contradiction enough */
    while (solver_solve(c.s, NULL, 0) == SOLVE_SAT) {
        if (open) {
            memcpy(c.a.rf, j->g->ob_rf, j->g->obs * sizeof *c.a.rf);
            for (node_id v = 0; v < j->g->nodes; v++) c.a.out[v] = !asg_in(j->g, v);
        } else {
            load_choices(&c);
            memset(first, 0xff, (keys + 1) * sizeof *first);
            if (two_initial(&c, first)) continue;
        }
        if (!block_all(&c, &any) || (!any && !open)) return false;
        open = false;
        guard_poll(j->m->guard);
    }
    decision none = {0};
    return justify_steps(j, &none);
}

/* Read uncommitted: orders that list reads and positions show, and session order; whoever may not
   have committed is left out.  asg_list_orders has been called. */
bool justify_uncommitted(justify *j, bool so)
{
    chooser c = {.j = j, .g = j->g, .m = j->m, .level = WEAK_RU, .so = so};
    set_up(&c);
    for (node_id v = 0; v < j->g->nodes; v++) c.a.out[v] = j->g->maybe[v];
    view w = {.so = so, .extra = true, .rf = NULL, .out = c.a.out};
    if (weak_test(j->g, &w, WEAK_RC, &c.a, true) || c.a.why != WHY_CYCLE || !block(&c))
        return false;
    return justify_say_blocked(j, 0) != 0;
}

/* --- the steps -------------------------------------------------------------------------------- */

/* The reader of e->ob saw e->from, by the hops, and read e->to (NO_ID: the initial state). */
static uint32_t say_sees(justify *j, const blocked_edge *e)
{
    const uint32_t *pairs = j->blocked->hops.at + e->hops;
    VEC(proof_hop) hops = {0};
    for (size_t i = 0; i < 2 * e->n; i += 2) {
        bool so = pairs[i] == NONE;
        proof_hop x = {so ? HOP_SO : HOP_WR, pairs[i + 1], so ? 0 : pairs[i], NO_ID};
        vec_push(j->m, &hops, x);
    }
    uint32_t id = justify_say_sees(j, e->ob, e->to, hops.at, hops.n);
    vec_free(j->m, &hops);
    return id;
}

static uint32_t say_edge(justify *j, const blocked_edge *e)
{
    switch (e->kind) {
    case EDGE_SO: return justify_say_pair(j, PROOF_SO, e->from, e->to);
    case EDGE_WR: return justify_say_wr(j, e->ob, e->from);
    case EDGE_WW:
        return e->ob == NO_ID ? justify_say_ver(j, e->key, e->from, e->to)
                              : justify_say_list(j, e->ob, e->from, e->to);
    default: return say_sees(j, e);
    }
}

uint32_t justify_say_blocked(justify *j, uint32_t index)
{
    const struct blocked *b = j->blocked;
    assert(index < b->choices.n);
    const blocked_choice *x = &b->choices.at[index];
    assert(x->first + x->n <= b->edges.n && x->lits + x->lits_n <= b->lits.n);
    u32s steps = {0};
    bool ok = true;
    for (size_t i = 0; i < x->n && ok; i++) {
        uint32_t id = say_edge(j, &b->edges.at[x->first + i]);
        ok = id != 0;
        vec_push(j->m, &steps, id);
    }
    uint32_t id = 0;
    if (ok && x->initial) {
        id = steps.at[0];
    } else if (ok) {
        j->path.n = 0;
        for (size_t i = 0; i < x->n; i++) vec_push(j->m, &j->path, b->edges.at[x->first + i].from);
        id = justify_say_cycle(j);
        for (size_t i = 0; i < steps.n; i++) justify_hint(j, steps.at[i]);
        justify_hint(j, id);
        j->made.n = 0;
        for (size_t i = 0; i < x->lits_n; i++) {
            uint32_t lit = justify_translate(j, b->lits.at[x->lits + i]);
            if (lit < NEVER) vec_push(j->m, &j->made, lit); /* others are never true */
        }
        id = justify_rup(j);
    }
    vec_free(j->m, &steps);
    return id;
}
