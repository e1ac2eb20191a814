/*
 * justify.c - the log of a refutation becomes steps that can be checked one by one.
 *
 * Two languages.  The log holds clauses of the solver, over its variables: written ones with their
 * reasons, cycles, learned ones.  The proof holds steps, over literals that the history knows
 * (events before events, who took part, who was read from); a table maps one to the other.
 *
 * First the log is trimmed: going back from the empty clause, each learned clause that is needed is
 * derived once more by unit propagation, and what took part in that is needed too (as drat-trim
 * does).  Then, going forward, each needed clause becomes a step, or several: what the clocks knew
 * and lazy.c left out of a clause is shown by a path of known edges, found by search; what was
 * derived before the search (order_problem.forced) is shown the same way, using only edges derived
 * before it.  Every clause by unit propagation is tried out here, so a proof that does not work is
 * never written.
 */
#include <assert.h>

#include "asg/list_slots.h"
#include "decide/proof/justify_internal.h"
#include "order/added_order.h"

justify *justify_new(order_problem *p)
{
    justify *j = mem_zeroed(p->m, sizeof *j);
    j->p = p;
    j->g = p->g;
    j->m = p->m;
    vec_push(j->m, &j->clause, 0);
    vec_reserve(j->m, &j->pool, 1); /* slices of length 0 have a place to point to */
    if (j->g->open.n) j->open_of = asg_open_of(j->g);
    return j;
}

void justify_limit(justify *j, size_t words)
{
    j->limit = words;
}

/* --- known edges ------------------------------------------------------------------------------ */

static uint32_t txn_events(const justify *j)
{
    return j->p->si ? 2 * j->p->txns : j->p->txns;
}

static void load_graph(justify *j)
{
    order_problem *p = j->p;
    size_t n = (size_t)p->events + 1, f = p->forced.n;
    assert(j->base_known <= p->known.n);
    if (j->forced_head) return;
    order_graph_build(j->m, p->events, (const order_pair *)(const void *)p->known.at, j->base_known,
                      &j->base);
    j->forced_head = mem_array0(j->m, uint32_t, n);
    j->forced_into = mem_array0(j->m, uint32_t, n);
    j->forced_next = mem_array0(j->m, uint32_t, f + 1);
    j->forced_into_next = mem_array0(j->m, uint32_t, f + 1);
    j->forced_step = mem_array0(j->m, uint32_t, f + 1);
    for (size_t i = f; i-- > 0;) { /* the oldest first in each list */
        const forced *x = &p->forced.at[i];
        uint32_t a = x->rw ? begin_of(p, x->from) : commit_of(p, x->from);
        uint32_t b = x->rw ? commit_of(p, x->to) : version_target(p, x->to);
        j->forced_next[i] = j->forced_head[a];
        j->forced_head[a] = (uint32_t)i + 1;
        j->forced_into_next[i] = j->forced_into[b];
        j->forced_into[b] = (uint32_t)i + 1;
    }
    for (int d = 0; d < 2; d++) {
        j->mark[d] = mem_array0(j->m, uint32_t, n);
        j->via[d] = mem_array(j->m, uint32_t, n);
    }
}

static uint32_t forced_event(const justify *j, uint32_t i, bool from)
{
    assert(i < j->p->forced.n);
    const forced *x = &j->p->forced.at[i];
    if (from) return x->rw ? begin_of(j->p, x->from) : commit_of(j->p, x->from);
    return x->rw ? commit_of(j->p, x->to) : version_target(j->p, x->to);
}

/* The search from end d has come to event e; true: the other end has been there. */
static bool reach_event(justify *j, int d, uint32_t e, uint32_t via)
{
    assert(e < j->p->events);
    if (j->mark[d][e] == j->round) return false;
    j->mark[d][e] = j->round;
    j->via[d][e] = via;
    vec_push(j->m, &j->front[d], e);
    return j->mark[!d][e] == j->round;
}

/* One layer of the search from one end; the event where both meet, or NONE. */
static uint32_t widen_search(justify *j, int d, size_t *head, uint32_t limit)
{
    size_t end = j->front[d].n;
    for (; *head < end; ++*head) {
        uint32_t e = j->front[d].at[*head];
        const uint32_t *start = d ? j->base.in_start : j->base.out_start;
        const uint32_t *list = d ? j->base.in : j->base.out;
        for (uint32_t i = start[e]; i < start[e + 1]; i++)
            if (reach_event(j, d, list[i], e)) return list[i];
        for (uint32_t i = d ? j->forced_into[e] : j->forced_head[e]; i;
             i = d ? j->forced_into_next[i - 1] : j->forced_next[i - 1]) {
            uint32_t other = forced_event(j, i - 1, d);
            if (i - 1 < limit && reach_event(j, d, other, e)) return other;
        }
        guard_tick(j->m->guard);
    }
    return NONE;
}

/* A shortest way from event a to event b through what is known and what was derived before
   `limit`, without helper events, in j->path; a and b included. */
static bool find_path(justify *j, uint32_t a, uint32_t b, uint32_t limit)
{
    size_t head[2] = {0, 0};
    uint32_t meet = NONE;
    j->round++;
    j->front[0].n = j->front[1].n = j->path.n = 0;
    reach_event(j, 0, a, NONE);
    if (reach_event(j, 1, b, NONE)) meet = b;
    while (meet == NONE) {
        size_t open0 = j->front[0].n - head[0], open1 = j->front[1].n - head[1];
        if (!open0 || !open1) return false;
        int d = open1 < open0;
        meet = widen_search(j, d, &head[d], limit);
    }
    for (uint32_t e = meet; e != NONE; e = j->via[0][e]) vec_push(j->m, &j->path, e);
    for (size_t i = 0, n = j->path.n; i < n / 2; i++) {
        uint32_t swap = j->path.at[i];
        j->path.at[i] = j->path.at[n - 1 - i];
        j->path.at[n - 1 - i] = swap;
    }
    for (uint32_t e = j->via[1][meet]; e != NONE; e = j->via[1][e]) vec_push(j->m, &j->path, e);
    size_t keep = 0;
    for (size_t i = 0; i < j->path.n; i++)
        if (j->path.at[i] < txn_events(j)) j->path.at[keep++] = j->path.at[i];
    j->path.n = keep;
    assert(!keep || a >= txn_events(j) || j->path.at[0] == a);
    return true;
}

/* Real time: the earlier event returned before the later one was called. */
static uint32_t prove_times(justify *j, uint32_t x, uint32_t y)
{
    const order_problem *p = j->p;
    const history *h = j->g->h;
    bool begin = p->si && x == begin_of(p, txn_of(p, x)), commit = p->si && y % 2;
    unsigned counts = commit ? (begin ? RT_BC : RT_CC) : begin ? 0 : RT_CB;
    int64_t from, to;
    uint64_t drift = p->drift > 0 ? (uint64_t)p->drift : 0;
    if (!(p->rt & counts)) return 0;
    if (!txn_stamp(h, j->g->node_txn[txn_of(p, x)], begin ? BEGIN_RETURN : COMMIT_RETURN, &from) ||
        !txn_stamp(h, j->g->node_txn[txn_of(p, y)], commit ? COMMIT_CALL : BEGIN_CALL, &to))
        return 0;
    return from < to && (uint64_t)to - (uint64_t)from >= drift ? justify_say_rt(j, x, y) : 0;
}

/* The commit of a is before the begin of b. */
static uint32_t prove_dependency(justify *j, node_id a, node_id b)
{
    asg *g = j->g;
    const uint32_t *session = g->h->txn_session;
    if (g->whole && asg_same(g, a, b)) return a < b ? justify_say_pair(j, PROOF_PO, a, b) : 0;
    if (j->p->so && a < b && !g->maybe[a] && session[g->node_txn[a]] == session[g->node_txn[b]])
        return justify_say_pair(j, PROOF_SO, a, b);
    bool counts = j->p->in[b] && j->p->rule->strict != STRICT_IGNORED;
    for (uint32_t ob = g->ob_first[b]; ob < g->ob_first[b + 1] && counts; ob++)
        if (g->ob_rf[ob] == a) return justify_say_wr(j, ob, a);
    return 0;
}

/* A list or a position shows a's version before b's. */
static uint32_t prove_shown(justify *j, node_id a, node_id b)
{
    asg *g = j->g;
    for (uint32_t i = g->extra_head[b]; i != NO_ID && j->p->in[a] && j->p->in[b];
         i = g->extra.at[i].next)
        if (g->extra.at[i].from == a) return justify_say_extra(j, &g->extra.at[i]);
    return 0;
}

/* The begin of a is before the commit of b: a read the initial version of what b writes. */
static uint32_t prove_initial(justify *j, node_id a, node_id b)
{
    asg *g = j->g;
    for (uint32_t ob = g->ob_first[a]; ob < g->ob_first[a + 1] && j->p->in[a]; ob++)
        if (g->ob_rf[ob] == RF_INIT && strict_read(j->p, ob) &&
            asg_install(g, b, g->ob_key[ob]) != NO_ID && !asg_same(g, a, b))
            return justify_say_read(j, ob, NO_ID, b);
    return 0;
}

/* A step that says that event x is before y, from what is known and was derived before `limit`.
   0: that is not known, or an edge that was derived, *missing - 1, must be shown first. */
static uint32_t say_edge(justify *j, uint32_t x, uint32_t y, uint32_t limit, uint32_t *missing)
{
    order_problem *p = j->p;
    node_id a = txn_of(p, x), b = txn_of(p, y);
    uint32_t id = 0;
    assert(x < txn_events(j) && y < txn_events(j));
    *missing = 0;
    if (a == b) return 0;
    if (x == commit_of(p, a) && y == begin_of(p, b)) id = prove_dependency(j, a, b);
    if (!id && x == commit_of(p, a) && y == version_target(p, b)) id = prove_shown(j, a, b);
    if (!id) id = prove_times(j, x, y);
    if (!id && x == begin_of(p, a) && y == commit_of(p, b)) id = prove_initial(j, a, b);
    for (uint32_t i = j->forced_head[x]; i && !id && !*missing; i = j->forced_next[i - 1]) {
        if (i - 1 >= limit || forced_event(j, i - 1, false) != y) continue;
        id = j->forced_step[i - 1];
        if (!id) *missing = i;
    }
    return id;
}

static bool own_edge(const justify *j, uint32_t x, uint32_t y)
{
    return j->p->si && x % 2 == 0 && y == x + 1 && y < txn_events(j);
}

/* Steps for the edges of a way, into `steps`; as say_edge. */
static bool say_way(justify *j, const u32s *way, uint32_t limit, u32s *steps, uint32_t *missing)
{
    steps->n = 0;
    *missing = 0;
    for (size_t i = 0; i + 1 < way->n; i++) {
        if (own_edge(j, way->at[i], way->at[i + 1])) continue;
        uint32_t id = say_edge(j, way->at[i], way->at[i + 1], limit, missing);
        if (!id) return false;
        vec_push(j->m, steps, id);
    }
    return true;
}

static void copy_path(justify *j, u32s *way)
{
    way->n = 0;
    for (size_t i = 0; i < j->path.n; i++) vec_push(j->m, way, j->path.at[i]);
}

/* The ends of the way that makes a derived edge certain: for "reader before u", w reaches u; for
   "u before w", u reaches the reader. */
static bool ends_of_forced(const justify *j, uint32_t i, uint32_t *x, uint32_t *y)
{
    const forced *f = &j->p->forced.at[i];
    node_id v = j->g->ob_node[f->ob], w = j->g->ob_rf[f->ob];
    if (w >= RF_LAST) return false;
    *x = f->rw ? version_target(j->p, w) : commit_of(j->p, f->from);
    *y = f->rw ? commit_of(j->p, f->to) : begin_of(j->p, v);
    return true;
}

/* An edge that was derived: of a pair, what is known rules out the other half.  It may rest on
   edges derived before, and those on others: a stack, since such chains are long. */
static uint32_t prove_forced(justify *j, uint32_t last)
{
    u32s stack = {0}, way = {0}, steps = {0};
    bool ok = true;
    vec_push(j->m, &stack, last);
    while (stack.n && ok) {
        uint32_t i = stack.at[stack.n - 1], x, y, missing;
        assert(!j->forced_step[i] && i <= last);
        const forced *f = &j->p->forced.at[i];
        ok = ends_of_forced(j, i, &x, &y) && find_path(j, x, y, i) && j->path.n > 1;
        if (!ok) break;
        copy_path(j, &way);
        if (!say_way(j, &way, i, &steps, &missing)) {
            ok = missing != 0;
            vec_push(j->m, &stack, missing - 1);
            continue;
        }
        uint32_t rule = justify_say_read(j, f->ob, j->g->ob_rf[f->ob], f->rw ? f->to : f->from);
        uint32_t closed = justify_say_cycle(j); /* nothing since has searched: j->path is the way */
        j->hints.n = j->made.n = 0;
        for (size_t k = 0; k < steps.n; k++) justify_hint(j, steps.at[k]);
        justify_hint(j, closed);
        justify_hint(j, rule);
        vec_push(j->m, &j->made,
                 justify_before(j, forced_event(j, i, true), forced_event(j, i, false)));
        j->forced_step[i] = rule ? justify_rup(j) : 0;
        ok = j->forced_step[i] != 0;
        stack.n--;
    }
    vec_free(j->m, &stack);
    vec_free(j->m, &way);
    vec_free(j->m, &steps);
    return j->forced_step[last];
}

/* Step for an edge, with all that it needs; 0: not known. */
static uint32_t prove_edge(justify *j, uint32_t x, uint32_t y)
{
    for (;;) {
        uint32_t missing, id = say_edge(j, x, y, NONE, &missing);
        if (id || !missing || !prove_forced(j, missing - 1)) return id;
    }
}

/* Steps that refute "y before x", because a known way leads from x to y. */
static bool refute_edge(justify *j, uint32_t x, uint32_t y, u32s *out)
{
    u32s way = {0}, steps = {0};
    bool ok = find_path(j, x, y, NONE) && j->path.n > 1;
    if (ok) copy_path(j, &way);
    for (uint32_t missing; ok && !say_way(j, &way, NONE, &steps, &missing);)
        ok = missing && prove_forced(j, missing - 1);
    if (ok) {
        j->path.n = 0;
        for (size_t i = 0; i < way.n; i++) vec_push(j->m, &j->path, way.at[i]);
        vec_push(j->m, &steps, justify_say_cycle(j));
        for (size_t i = 0; i < steps.n; i++) vec_push(j->m, out, steps.at[i]);
    }
    vec_free(j->m, &way);
    vec_free(j->m, &steps);
    return ok;
}

/* --- from the log to steps -------------------------------------------------------------------- */

/* The clause of the entry in j->made, without literals that are never true. */
static bool make_clause(justify *j, const log_entry *e)
{
    j->made.n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t lit = justify_translate(j, j->pool.at[e->lits + i]);
        if (lit == NONE) return false;
        assert(lit != ALWAYS);
        if (lit != NEVER) vec_push(j->m, &j->made, lit);
    }
    return true;
}

/* Does the clause of the entry say nothing, because two of its literals are the opposite of each
   other in the proof, or one is always true?  A read with one candidate saw it if its transaction
   took part, and has no literal of its own. */
static bool says_nothing(justify *j, const log_entry *e)
{
    bool nothing = false;
    j->made.n = 0;
    for (uint32_t i = 0; i < e->n && !nothing; i++) {
        uint32_t lit = justify_translate(j, j->pool.at[e->lits + i]);
        if (lit == ALWAYS) nothing = true;
        if (lit >= NEVER) continue;
        nothing = nothing || j->value.at[lit / 2] == (lit & 1 ? 1 : -1);
        j->value.at[lit / 2] = lit & 1 ? -1 : 1;
        vec_push(j->m, &j->made, lit);
    }
    for (size_t i = 0; i < j->made.n; i++) j->value.at[j->made.at[i] / 2] = 0;
    j->made.n = 0;
    return nothing;
}

/* The step `id`, of whose clause lazy.c left literals out because what is known rules them out. */
static uint32_t step_rule(justify *j, const log_entry *e, uint32_t id)
{
    u32s steps = {0}, missing = {0};
    bool ok = id && make_clause(j, e);
    for (size_t i = 0; ok && i < j->made.n; i++)
        j->value.at[j->made.at[i] / 2] = j->made.at[i] & 1 ? -1 : 1;
    for (size_t i = ok ? j->clause.at[id - 1] : 0; ok && i < j->clause.at[id]; i++) {
        uint32_t lit = j->lits.at[i];
        bool there = j->value.at[lit / 2] == (lit & 1 ? -1 : 1);
        if (!there && !(lit & 1) && j->names.at[lit / 2].kind == LITERAL_BEFORE)
            vec_push(j->m, &missing, lit);
    }
    for (size_t i = 0; ok && i < j->made.n; i++) j->value.at[j->made.at[i] / 2] = 0;
    for (size_t i = 0; ok && i < missing.n; i++) {
        const lit_name x = j->names.at[missing.at[i] / 2];
        ok = refute_edge(j, x.b, x.a, &steps);
    }
    if (ok && steps.n) {
        j->hints.n = 0;
        for (size_t i = 0; i < steps.n; i++) justify_hint(j, steps.at[i]);
        justify_hint(j, id);
        id = make_clause(j, e) ? justify_rup(j) : 0;
    }
    vec_free(j->m, &steps);
    vec_free(j->m, &missing);
    return ok ? id : 0;
}

static uint32_t step_clause(justify *j, const log_entry *e)
{
    const asg *g = j->g;
    switch ((enum justify_why)e->why) {
    case BECAUSE_READ: return step_rule(j, e, justify_say_read(j, e->ob, e->w, e->u));
    case BECAUSE_OVERLAP: return step_rule(j, e, justify_say_overlap(j, e->ob, e->u, e->w));
    case BECAUSE_FROM: return justify_say_from(j, e->ob);
    case BECAUSE_TAKEN: return justify_say_taken(j, e->ob, e->w);
    case BECAUSE_FAULT: return justify_say_fault(j, e->u);
    case BECAUSE_SHOWN: return justify_say_extra(j, &g->extra.at[e->ob]);
    case BECAUSE_INITIAL: return justify_say_initial(j, e->ob, e->w);
    case BECAUSE_BLOCKED: return justify_say_blocked(j, e->ob);
    case BECAUSE_ADDED: return justify_say_added(j, e->ob, e->w, e->u);
    case BECAUSE_CHAIN: {
        enum chain_rule rule = (enum chain_rule)j->pool.at[e->nodes];
        uint32_t content = j->pool.at[e->nodes + 2];
        return step_rule(j, e, justify_say_chain(j, rule, e->ob, content, e->w, e->u));
    }
    case BECAUSE_PATH:
    case BECAUSE_STUCK:
    case BECAUSE_AMONG:
    case BECAUSE_LOOP: {
        /* a copy: the pool of the log may move */
        proof_hop *hops = mem_get(j->m, e->len * sizeof(uint32_t) + 1);
        memcpy(hops, j->pool.at + e->nodes, e->len * sizeof(uint32_t));
        uint32_t id = e->why == BECAUSE_PATH    ? justify_say_sees(j, e->ob, e->w, hops, e->len / 4)
                      : e->why == BECAUSE_LOOP  ? justify_say_loop(j, e->u, hops, e->len / 4)
                      : e->why == BECAUSE_AMONG ? justify_say_among(j, e->u, hops, e->len / 4)
                                                : justify_say_stuck(j, e->u, hops, e->len / 4);
        mem_put(j->m, hops);
        return e->why == BECAUSE_STUCK ? id : step_rule(j, e, id);
    }
    case BECAUSE_UNSAID: break;
    }
    return 0;
}

/* A place that a module made, which has edges by literals only. */
static bool is_point(const justify *j, uint32_t event)
{
    const added_order *x = j->p->added;
    return x && event >= x->first_point && event - x->first_point < x->from->points;
}

/* The step that the edge is that of a version right before another one. */
static uint32_t right_edge(justify *j, const var_info *v, uint32_t x, uint32_t y)
{
    const list_chains *c = &j->g->slots->chains;
    const list_stand *s = &c->stand.at[v->a];
    node_id w = c->leaver.at[v->b].node;
    if (w >= RF_LAST || commit_of(j->p, w) != x || version_target(j->p, s->node) != y) return 0;
    return justify_say_chain(j, CHAIN_RIGHT, s->node, s->before, w, 0);
}

/* A literal of the cycle's clause whose edge this is. */
static bool edge_of_literal(justify *j, const log_entry *e, uint32_t x, uint32_t y, uint32_t *id)
{
    order_problem *p = j->p;
    *id = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t var = j->pool.at[e->lits + i] >> 1;
        if (var >= j->vars.n) return false;
        const var_info *v = &j->vars.at[var];
        if (v->kind == VAR_BEFORE && v->a == x && v->b == y) return true;
        if (is_point(j, x) || is_point(j, y)) continue;
        if (v->kind == VAR_READ && v->b < RF_LAST && commit_of(p, v->b) == x &&
            begin_of(p, j->g->ob_node[v->a]) == y) {
            *id = justify_say_wr(j, v->a, v->b);
            return *id != 0;
        }
        if (v->kind == VAR_RIGHT) {
            *id = right_edge(j, v, x, y);
            if (*id) return true;
        }
        if (v->kind == VAR_TAKEN && txn_of(p, x) == v->a) *id = prove_times(j, x, y);
        if (*id) return true;
        node_id at = txn_of(p, y); /* of v's transaction, the part that read */
        if (v->kind != VAR_TAKEN || begin_of(p, at) != y || !asg_same(j->g, at, v->a)) continue;
        for (uint32_t ob = j->g->ob_first[at]; ob < j->g->ob_first[at + 1]; ob++)
            if (j->g->ob_rf[ob] < RF_LAST && commit_of(p, j->g->ob_rf[ob]) == x) {
                *id = justify_say_wr(j, ob, j->g->ob_rf[ob]);
                return *id != 0;
            }
    }
    return false;
}

/* A cycle of events; edges that are not known stand for literals of the entry's clause, if any. */
static uint32_t step_cycle(justify *j, const uint32_t *nodes, size_t n, const log_entry *e)
{
    u32s way = {0}, steps = {0};
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        if (nodes[i] < txn_events(j) || is_point(j, nodes[i])) vec_push(j->m, &way, nodes[i]);
    for (size_t i = 0; i < way.n && ok; i++) {
        uint32_t x = way.at[i], y = way.at[(i + 1) % way.n], id;
        if (own_edge(j, x, y)) continue;
        id = is_point(j, x) || is_point(j, y) ? 0 : prove_edge(j, x, y);
        if (!id) ok = e && edge_of_literal(j, e, x, y, &id);
        if (ok && id) vec_push(j->m, &steps, id);
    }
    uint32_t result = 0;
    if (ok && way.n > 1) {
        j->path.n = 0;
        for (size_t i = 0; i < way.n; i++) vec_push(j->m, &j->path, way.at[i]);
        result = justify_say_cycle(j);
        if (steps.n || !e) {
            j->hints.n = j->made.n = 0;
            for (size_t i = 0; i < steps.n; i++) justify_hint(j, steps.at[i]);
            justify_hint(j, result);
            result = !e || make_clause(j, e) ? justify_rup(j) : 0;
        }
    }
    vec_free(j->m, &way);
    vec_free(j->m, &steps);
    return result;
}

static uint32_t step_learned(justify *j, const log_entry *e)
{
    assert(e->kind == LOG_LEARNED && e->needed);
    if (!make_clause(j, e)) return 0;
    j->hints.n = 0;
    for (uint32_t i = 0; i < e->hints_n; i++) {
        uint32_t id = j->entries.at[j->pool.at[e->hints + i]].done;
        assert(id);
        if (id != ALWAYS) justify_hint(j, id);
    }
    return justify_rup(j);
}

/* A known cycle, made as short as can be through its first edge. */
static bool prove_known_cycle(justify *j, const decision *a)
{
    u32s way = {0};
    size_t n = a->cycle.n, i = 0;
    uint32_t best = 0;
    while (i < n && a->cycle.at[i] >= txn_events(j)) i++;
    if (i == n) return false;
    uint32_t x = a->cycle.at[i], y = a->cycle.at[(i + 1) % n];
    if (find_path(j, y, x, NONE) && j->path.n > 1) {
        if (y >= txn_events(j) && j->path.at[0] == x) j->path.n = 0;
        for (size_t k = 0; k < j->path.n; k++) vec_push(j->m, &way, j->path.at[k]);
        if (way.n > 1) best = step_cycle(j, way.at, way.n, NULL);
    }
    if (!best) best = step_cycle(j, a->cycle.at, a->cycle.n, NULL);
    vec_free(j->m, &way);
    return best != 0;
}

bool justify_steps(justify *j, const decision *a)
{
    load_graph(j);
    if (a->known_cycle) return prove_known_cycle(j, a);
    if (j->full || !justify_trim(j)) return false;
    for (size_t i = 0; i < j->entries.n; i++) {
        if (!j->entries.at[i].needed) continue;
        log_entry e = j->entries.at[i]; /* a copy: the pool may move, entries do not */
        uint32_t id = 0;
        if (says_nothing(j, &e)) {
            j->entries.at[i].done = ALWAYS;
            continue;
        }
        switch ((enum log_kind)e.kind) {
        case LOG_CLAUSE: id = step_clause(j, &e); break;
        case LOG_CYCLE: id = step_cycle(j, j->pool.at + e.nodes, e.len, &e); break;
        case LOG_LEARNED: id = step_learned(j, &e); break;
        }
        if (!id) return false;
        j->entries.at[i].done = id;
        if (j->clause.at[id - 1] == j->clause.at[id]) return true; /* nothing is left to say */
        guard_tick(j->m->guard);
    }
    return false;
}

/* --- faults ----------------------------------------------------------------------------------- */

/* Two lists of a key where they first differ: each says that its writer there comes first. */
static bool lists_contradict(justify *j, uint32_t a, uint32_t b)
{
    asg *g = j->g;
    const history *h = g->h;
    atom x = value_atom(h, g->ob_value[a]), y = value_atom(h, g->ob_value[b]);
    if (x.kind != ATOM_LIST || y.kind != ATOM_LIST) return false;
    const value_id *ex = h->elements.at + x.as.offset, *ey = h->elements.at + y.as.offset;
    uint32_t at = 0;
    while (at < x.len && at < y.len && ex[at] == ey[at]) at++;
    if (at == x.len || at == y.len) return false;
    node_id first = NO_ID, second = NO_ID;
    asg_by_key(g);
    for (uint32_t i = g->kw_first[g->ob_key[a]]; i < g->kw_first[g->ob_key[a] + 1]; i++) {
        node_id v = g->inst_node[g->kw_inst[i]];
        txn_id t = g->node_txn[v];
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if ((h->op_kind[o] & (OP_KIND_MASK | OP_FAILED)) != OP_APPEND ||
                h->op_key[o] != g->ob_key[a])
                continue;
            if (h->op_value[o] == ex[at]) first = v;
            if (h->op_value[o] == ey[at]) second = v;
        }
    }
    if (first == NO_ID || second == NO_ID || first == second) return false;
    uint32_t one = justify_say_list(j, a, first, second),
             other = justify_say_list(j, b, second, first);
    if (!one || !other) return false;
    uint32_t p = commit_of(j->p, first), q = commit_of(j->p, second);
    j->path.n = 0;
    if (version_target(j->p, first) != p) {
        uint32_t four[] = {begin_of(j->p, first), p, begin_of(j->p, second), q};
        for (size_t i = 0; i < 4; i++) vec_push(j->m, &j->path, four[i]);
    } else {
        vec_push(j->m, &j->path, p);
        vec_push(j->m, &j->path, q);
    }
    uint32_t closed = justify_say_cycle(j);
    j->hints.n = j->made.n = 0;
    justify_hint(j, one);
    justify_hint(j, other);
    justify_hint(j, closed);
    return justify_rup(j) != 0;
}

bool justify_list_fault(justify *j, key_id k)
{
    asg *g = j->g;
    uint32_t longest = NO_ID;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t ob = 0; ob < g->obs; ob++) {
            if (g->ob_key[ob] != k || !j->p->in[g->ob_node[ob]] || g->ob_value[ob] == VALUE_NULL)
                continue;
            atom x = value_atom(g->h, g->ob_value[ob]);
            if (x.kind != ATOM_LIST) continue;
            if (pass && lists_contradict(j, longest, ob)) return true;
            if (!pass && (longest == NO_ID || value_atom(g->h, g->ob_value[longest]).len < x.len))
                longest = ob;
        }
    return false;
}

bool justify_fault(justify *j, node_id v)
{
    uint32_t id = justify_say_fault(j, v);
    return id && j->clause.at[id - 1] == j->clause.at[id];
}

/* --- reading the steps ------------------------------------------------------------------------ */

size_t justify_count(const justify *j)
{
    return j->lines.n;
}

const proof_line *justify_line(const justify *j, size_t i)
{
    assert(i < j->lines.n);
    return &j->lines.at[i];
}

const uint32_t *justify_pool(const justify *j)
{
    return j->lines_pool.at;
}

proof_literal justify_literal(const justify *j, uint32_t lit)
{
    assert(lit / 2 < j->names.n);
    const lit_name *x = &j->names.at[lit / 2];
    return (proof_literal){x->kind, x->a, x->b, x->c, lit & 1};
}

static void see_node(uint8_t *seen, node_id v)
{
    if (v != NO_ID) seen[v] = 1;
}

static void see_candidates(const justify *j, node_id t, op_id op, key_id key, uint8_t *seen)
{
    const asg *g = j->g;
    for (uint32_t ob = g->ob_first[t]; ob < g->ob_first[t + 1]; ob++) {
        if (g->ob_op[ob] != op || g->ob_key[ob] != key) continue;
        if (g->ob_rf[ob] < RF_LAST) seen[g->ob_rf[ob]] = 1;
        if (g->ob_rf[ob] != RF_OPEN || j->open_of[ob] == NONE) continue;
        uint32_t open = j->open_of[ob];
        for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
            if (asg_cand(g, open, i) < RF_LAST) seen[asg_cand(g, open, i)] = 1;
    }
}

static void see_hops(const justify *j, const uint32_t *words, size_t n, uint8_t *seen)
{
    const asg *g = j->g;
    assert(n % 4 == 0);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t kind = words[i], with = words[i + 2];
        see_node(seen, words[i + 1]);
        see_node(seen, words[i + 3]);
        if (kind == HOP_WR || kind == HOP_RW)
            see_candidates(j, g->ob_node[with], g->ob_op[with], g->ob_key[with], seen);
        /* who else writes the key matters there */
        for (uint32_t k = kind == HOP_NEXT ? g->kw_first[with] : 0;
             kind == HOP_NEXT && k < g->kw_first[with + 1]; k++)
            seen[g->inst_node[g->kw_inst[k]]] = 1;
    }
}

void justify_added(const justify *j, uint8_t *used)
{
    for (size_t i = 0; i < j->lines.n; i++) {
        const proof_line *x = &j->lines.at[i];
        if (x->kind == PROOF_ASSUME) used[x->t] = 1;
        for (size_t k = x->first; x->kind == PROOF_SEES && k < x->first + x->n; k += 4)
            if (j->lines_pool.at[k] == HOP_ADDED) used[j->lines_pool.at[k + 2]] = 1;
    }
}

/* Those that an addition speaks of. */
static void see_added(const justify *j, uint32_t which, uint8_t *seen)
{
    const additions *add = j->p->added->from;
    const addition *said = &add->at.at[which];
    uint32_t end = add->set_end.at[said->first_set + said->sets - 1];
    for (uint32_t i = additions_set_first(add, said->first_set); i < end; i++) {
        const added_edge *e = &add->edges.at[i];
        if (e->from_at != AT_POINT) see_node(seen, j->g->txn_node[e->from]);
        if (e->to_at != AT_POINT) see_node(seen, j->g->txn_node[e->to]);
    }
}

/* Those that a rule of chains speaks of, and all that can have left its content. */
static void see_chain(const justify *j, const proof_line *x, uint8_t *seen)
{
    const list_chains *c = &j->g->slots->chains;
    const list_content *y = &c->content.at[x->content];
    see_node(seen, x->t);
    see_node(seen, x->w);
    if (x->rule == CHAIN_BETWEEN) see_node(seen, x->u);
    seen[j->g->txn_node[txn_of_op(j->g->h, y->shown)]] = 1;
    for (uint32_t i = y->leavers; i < y->end; i++)
        if (c->leaver.at[i].node < RF_LAST) seen[c->leaver.at[i].node] = 1;
}

static void see_events(const justify *j, const uint32_t *at, size_t n, uint8_t *seen)
{
    for (size_t k = 0; k < n; k++)
        if (at[k] < txn_events(j)) seen[txn_of(j->p, at[k])] = 1;
}

void justify_nodes(const justify *j, uint8_t *seen)
{
    const asg *g = j->g;
    for (size_t i = 0; i < j->lines.n; i++) {
        const proof_line *x = &j->lines.at[i];
        const uint32_t *at = j->lines_pool.n ? j->lines_pool.at + x->first : NULL;
        switch ((enum proof_step)x->kind) {
        case PROOF_INITIAL: { /* x->w is the other read */
            node_id t = g->txn_node[txn_of_op(g->h, x->w)];
            see_node(seen, x->t);
            see_node(seen, t);
            see_candidates(j, x->t, x->op, x->key, seen);
            see_candidates(j, t, x->w, x->key, seen);
            break;
        }
        case PROOF_READ:
        case PROOF_LIST: see_node(seen, x->u); /* fall through */
        case PROOF_WR:
        case PROOF_TAKEN:
        case PROOF_SHOWS: see_node(seen, x->w);                        /* fall through */
        case PROOF_FROM: see_candidates(j, x->t, x->op, x->key, seen); /* fall through */
        case PROOF_FAULT: see_node(seen, x->t); break;
        case PROOF_PO:
        case PROOF_SO:
            see_node(seen, x->t);
            see_node(seen, x->w);
            break;
        case PROOF_RT:
            seen[txn_of(j->p, x->t)] = 1;
            seen[txn_of(j->p, x->w)] = 1;
            break;
        case PROOF_OVERLAP:
        case PROOF_VER:
            see_node(seen, x->w);
            see_node(seen, x->u);
            break;
        case PROOF_CYCLE: see_events(j, at, x->n, seen); break;
        case PROOF_ASSUME: see_added(j, x->t, seen); break;
        case PROOF_CHAIN: see_chain(j, x, seen); break;
        case PROOF_SEES:
            see_node(seen, x->w);
            see_candidates(j, x->t, x->op, x->key, seen); /* fall through */
        case PROOF_AMONG:
        case PROOF_LOOP:
            see_node(seen, x->t);
            see_hops(j, at, x->n, seen);
            break;
        case PROOF_STUCK:
            see_node(seen, x->t);
            for (size_t k = 0; k < x->n; k += 4) {
                see_node(seen, at[k + 1]);
                if (at[k] == HOP_AFTER) see_node(seen, at[k + 3]);
            }
            break;
        case PROOF_RUP:
        case PROOF_TWICE: /* not made here */
        case PROOF_EXHAUSTIVE:
        case PROOF_STEPS: break;
        }
    }
}
