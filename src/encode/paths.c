/*
 * paths.c - reads that are broken by paths (rule.h): consistent view, parallel SI, monotonic view,
 * update atomic, no lost update, and causal, read atomic, monotonic atomic view with choices.
 *
 * A read of x by v from w is broken by a later version u of x that leads to v.  In the current
 * order only versions between w and v can; mostly there are none, and nothing is searched.  Else
 * one search backwards from v over the edges that the level counts, as far as w, finds the nearest
 * u. What is found rests on facts of the order (w before u, and each version edge of the path) and
 * on choices; the clause is that one of them is otherwise.  Every literal of it, made true, breaks
 * this very finding, so none occurs twice on the way to an answer.
 *
 * A move elsewhere may make a path: reads that looked suspicious are parked, and looked at again
 * before the search ends, as long as anything has changed.  Reads with several candidates are
 * chosen outright, and parked too, because going back undoes choices.
 */
#include <assert.h>

#include "base/hash.h"
#include "base/sort.h"
#include "encode/lazy_state.h"

typedef struct hop {
    node_id to;
    uint32_t kind; /* PATH_* */
    uint32_t with; /* PATH_WR: the candidate chosen, or NONE; PATH_NEXT: the later install */
} hop;

struct paths {
    uint32_t *chain, *place; /* of session order */
    uint32_t *seen;          /* per node: the search that reached it */
    uint32_t search;
    hop *hop; /* per node: the edge by which it leads on */
    VEC(node_id) todo;
    VEC(uint32_t) ended; /* with real time: the committed, by their ends */
    size_t next_ended;   /* of the search at hand: who was not reached by real time yet */
    VEC(uint32_t) parked;
    uint8_t *is_parked;
    uint64_t swept; /* the epoch in which all parked reads were looked at */
};

static void load_ended(lazy *z);

void paths_start(lazy *z)
{
    asg *g = z->g;
    if (!z->p->rule->path) return;
    paths *x = z->paths = mem_array0(z->m, paths, 1);
    x->swept = UINT64_MAX;
    x->chain = mem_array(z->m, uint32_t, (size_t)g->nodes + 1);
    x->place = mem_array(z->m, uint32_t, (size_t)g->nodes + 1);
    x->seen = mem_array0(z->m, uint32_t, (size_t)g->nodes + 1);
    x->hop = mem_array(z->m, hop, (size_t)g->nodes + 1);
    x->is_parked = mem_array0(z->m, uint8_t, g->obs + 1);
    for (node_id v = 0; v < g->nodes; v++) {
        node_id before = g->so_pred[v];
        x->chain[v] = before == NO_ID ? v : x->chain[before];
        x->place[v] = before == NO_ID ? 0 : x->place[before] + 1;
    }
    load_ended(z);
}

/* --- real time ------------------------------------------------------------------------------- */

static bool rt_before(const lazy *z, node_id u, node_id v)
{
    const history *h = z->g->h;
    int64_t end, begin;
    if (!(z->p->rt & RT_CB) || !(z->p->rule->path & PATH_SO)) return false;
    if (!txn_end_time(h, z->g->node_txn[u], &end)) return false;
    if (!txn_begin_time(h, z->g->node_txn[v], &begin)) return false;
    return end < begin &&
           (uint64_t)begin - (uint64_t)end >= (uint64_t)(z->p->drift > 0 ? z->p->drift : 0);
}

static void load_ended(lazy *z)
{
    if (!(z->p->rt & RT_CB)) return;
    VEC(node_id) nodes = {0};
    VEC(uint64_t) ends = {0};
    for (node_id v = 0; v < z->g->nodes; v++) {
        int64_t end;
        if (!z->p->in[v] || !txn_end_time(z->g->h, z->g->node_txn[v], &end)) continue;
        vec_push(z->m, &nodes, v);
        vec_push(z->m, &ends, sort_key(end));
    }
    uint32_t *by_end = sort_by_key(z->m, ends.at, (uint32_t)nodes.n);
    for (size_t i = 0; i < nodes.n; i++) vec_push(z->m, &z->paths->ended, nodes.at[by_end[i]]);
    mem_put(z->m, by_end);
    vec_free(z->m, &nodes);
    vec_free(z->m, &ends);
}

/* A search that ends at w need not look at those who ended before w began: they stand before it. */
static void first_ended(lazy *z, node_id w)
{
    paths *x = z->paths;
    size_t lo = 0, hi = w == NO_ID ? 0 : x->ended.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (rt_before(z, x->ended.at[mid], w))
            lo = mid + 1;
        else
            hi = mid;
    }
    x->next_ended = lo;
}

static void park(lazy *z, uint32_t ob)
{
    if (z->paths->is_parked[ob]) return;
    z->paths->is_parked[ob] = 1;
    vec_push(z->m, &z->paths->parked, ob);
}

bool paths_look_again(lazy *z)
{
    paths *x = z->paths;
    if (!x || x->swept == z->epoch || !x->parked.n) return false;
    x->swept = z->epoch;
    for (size_t i = 0; i < x->parked.n; i++) {
        x->is_parked[x->parked.at[i]] = 0;
        lazy_enqueue(z, x->parked.at[i]);
    }
    x->parked.n = 0;
    return true;
}

/* --- sources --------------------------------------------------------------------------------- */

/* The candidate that an open read has chosen, or NONE. */
static uint32_t chosen_of(lazy *z, uint32_t open)
{
    asg *g = z->g;
    if (!z->chosen_clause[open]) return NONE;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        if (solver_value(z->s, lazy_cand_lit(z, i)) > 0) return i;
    return NONE;
}

/* The transaction that an obligation reads from now, RF_INIT, or NONE; *cand if it was chosen. */
static uint32_t reads_from(lazy *z, uint32_t ob, uint32_t *cand)
{
    uint32_t rf = z->g->ob_rf[ob];
    *cand = NONE;
    if (rf == RF_OPEN && !(z->g->ob_flags[ob] & OB_LIST)) {
        *cand = chosen_of(z, z->open_of[ob]);
        return *cand == NONE ? NONE : z->g->cand.at[*cand];
    }
    return rf < RF_LAST || rf == RF_INIT ? rf : NONE;
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool in_session_before(const lazy *z, node_id u, node_id v)
{
    const paths *x = z->paths;
    return z->p->so && !z->g->maybe[u] && x->chain[u] == x->chain[v] && x->place[u] < x->place[v];
}

/* Does an event of v that came by `op` stand before the read?  Rows of one scan are one event: at
   monotonic view they may not be torn, at monotonic atomic view they are simultaneous. */
static bool early_enough(const lazy *z, uint32_t ob, op_id op)
{
    if (!z->p->rule->po) return true;
    return z->p->rule->one ? op < z->g->ob_op[ob] : op <= z->g->ob_op[ob];
}

/* Does u lead to v, the reader of ob, in one step?  Fills u's hop. */
static bool one_step(lazy *z, node_id u, node_id v, uint32_t ob)
{
    asg *g = z->g;
    unsigned path = z->p->rule->path;
    if (path & PATH_SO && in_session_before(z, u, v)) {
        z->paths->hop[u] = (hop){v, PATH_SO, NONE};
        return true;
    }
    if (rt_before(z, u, v)) {
        z->paths->hop[u] = (hop){v, PATH_RT, NONE};
        return true;
    }
    if (path & PATH_WR)
        for (uint32_t i = g->ob_first[v]; i < g->ob_first[v + 1]; i++) {
            uint32_t cand;
            if (i == ob || reads_from(z, i, &cand) != u) continue;
            if (!early_enough(z, ob, g->ob_op[i])) continue;
            z->paths->hop[u] = (hop){v, PATH_WR, cand};
            return true;
        }
    if (path & (PATH_WW | PATH_NEXT))
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
            if (!early_enough(z, ob, g->inst_op[j])) continue;
            if (path & PATH_NEXT) {
                uint32_t prior = lazy_version_before(z, j);
                if (prior == NONE || g->inst_node[prior] != u) continue;
            } else if (asg_install(g, u, g->inst_key[j]) == NO_ID) {
                continue;
            }
            z->paths->hop[u] = (hop){v, path & PATH_NEXT ? PATH_NEXT : PATH_WW, j};
            return true;
        }
    return false;
}

static void reach_back(lazy *z, node_id u, uint32_t low, hop by)
{
    paths *x = z->paths;
    if (x->seen[u] == x->search || z->pos[u] < low) return;
    x->seen[u] = x->search;
    x->hop[u] = by;
    vec_push(z->m, &x->todo, u);
}

static void step_back(lazy *z, node_id v, uint32_t low, uint32_t ob)
{
    asg *g = z->g;
    unsigned path = z->p->rule->path;
    if (path & PATH_SO && z->p->so && g->so_pred[v] != NO_ID)
        reach_back(z, g->so_pred[v], low, (hop){v, PATH_SO, NONE});
    paths *x = z->paths;
    for (; x->next_ended < x->ended.n && rt_before(z, x->ended.at[x->next_ended], v);
         x->next_ended++)
        reach_back(z, x->ended.at[x->next_ended], low, (hop){v, PATH_RT, NONE});
    for (uint32_t i = g->ob_first[v]; i < g->ob_first[v + 1]; i++) {
        uint32_t cand, u;
        if (i == ob || (ob != NONE && !early_enough(z, ob, g->ob_op[i]))) continue;
        u = reads_from(z, i, &cand);
        if (u < RF_LAST) reach_back(z, u, low, (hop){v, PATH_WR, cand});
    }
    for (uint32_t j = g->inst_first[v]; path & PATH_WW && j < g->inst_first[v + 1]; j++) {
        if (ob != NONE && !early_enough(z, ob, g->inst_op[j])) continue;
        uint32_t prior = lazy_version_before(z, j);
        if (prior != NONE) reach_back(z, g->inst_node[prior], low, (hop){v, PATH_WW, j});
    }
}

/* The nearest version of the key behind w that leads to v, or NO_ID. */
static node_id find_many(lazy *z, uint32_t ob, uint32_t low, node_id w)
{
    asg *g = z->g;
    paths *x = z->paths;
    node_id v = g->ob_node[ob];
    x->todo.n = 0;
    if (!++x->search) { /* stamps have come round */
        memset(x->seen, 0, ((size_t)g->nodes + 1) * sizeof *x->seen);
        x->search = 1;
    }
    x->seen[v] = x->search;
    first_ended(z, w);
    step_back(z, v, low, ob);
    for (size_t i = 0; i < x->todo.n; i++) {
        node_id u = x->todo.at[i];
        if (asg_install(g, u, g->ob_key[ob]) != NO_ID) return u;
        step_back(z, u, low, NONE);
        guard_tick(z->m->guard);
    }
    return NO_ID;
}

/* The first later version, in version order, that leads to v in one step. */
static node_id find_one(lazy *z, uint32_t ob, uint32_t first)
{
    asg *g = z->g;
    key_id k = g->ob_key[ob];
    node_id v = g->ob_node[ob];
    for (uint32_t i = first; i < g->kw_first[k + 1]; i++) {
        node_id u = g->inst_node[z->list[i]];
        if (z->pos[u] > z->pos[v]) break;
        if (u != v && z->present[u] && one_step(z, u, v, ob)) return u;
        guard_tick(z->m->guard);
    }
    return NO_ID;
}

/* The last in the order of those that lead to v in one step, with its hop; or NO_ID. */
static node_id latest_before(lazy *z, node_id v)
{
    asg *g = z->g;
    node_id last = NO_ID, u = g->so_pred[v];
    hop by = {v, PATH_SO, NONE};
    if (z->p->so && u != NO_ID) last = u;
    for (uint32_t i = g->ob_first[v]; i < g->ob_first[v + 1]; i++) {
        uint32_t cand;
        u = reads_from(z, i, &cand);
        if (u >= RF_LAST || (last != NO_ID && z->pos[u] <= z->pos[last])) continue;
        last = u;
        by = (hop){v, PATH_WR, cand};
    }
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        uint32_t prior = lazy_version_before(z, j);
        u = prior == NONE ? NO_ID : g->inst_node[prior];
        if (u == NO_ID || (last != NO_ID && z->pos[u] <= z->pos[last])) continue;
        last = u;
        by = (hop){v, PATH_WW, j};
    }
    if (last != NO_ID) z->paths->hop[last] = by;
    return last;
}

/* A later version that stands before somebody who leads to v in one step, or is that one. */
static node_id find_any(lazy *z, uint32_t ob, uint32_t first)
{
    asg *g = z->g;
    key_id k = g->ob_key[ob];
    node_id a = latest_before(z, g->ob_node[ob]);
    for (uint32_t i = first; a != NO_ID && i < g->kw_first[k + 1]; i++) {
        node_id u = g->inst_node[z->list[i]];
        if (z->pos[u] > z->pos[a]) break;
        if (!z->present[u]) continue;
        if (u != a) z->paths->hop[u] = (hop){a, PATH_ANY, NONE};
        return u;
    }
    return NO_ID;
}

/* --- session guarantees ---------------------------------------------------------------------- */

/* Is s a version of the key that stands at `first` or behind it? */
static bool is_later(const lazy *z, node_id s, uint32_t ob, uint32_t first)
{
    uint32_t inst = asg_install(z->g, s, z->g->ob_key[ob]);
    return inst != NO_ID && s != z->g->ob_node[ob] && z->where[inst] >= first;
}

/* A later version that the session of e wrote or (PATH_SAW) read before e, with its hops to e. */
static node_id session_before(lazy *z, node_id e, uint32_t ob, uint32_t first, uint32_t low)
{
    asg *g = z->g;
    for (node_id u = g->so_pred[e]; u != NO_ID && z->pos[u] >= low; u = g->so_pred[u]) {
        z->paths->hop[u] = (hop){e, PATH_SO, NONE};
        if (!(z->p->rule->path & PATH_SAW)) {
            if (is_later(z, u, ob, first)) return u;
            continue;
        }
        for (uint32_t i = g->ob_first[u]; i < g->ob_first[u + 1]; i++) {
            uint32_t cand, s = reads_from(z, i, &cand);
            if (s >= RF_LAST || !is_later(z, s, ob, first)) continue;
            z->paths->hop[s] = (hop){u, PATH_WR, cand};
            return s;
        }
        guard_tick(z->m->guard);
    }
    return NO_ID;
}

static node_id find_session(lazy *z, uint32_t ob, uint32_t first, uint32_t low)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob], u = NO_ID;
    if (!(z->p->rule->path & PATH_VIA)) return session_before(z, v, ob, first, low);
    for (uint32_t i = g->ob_first[v]; i < g->ob_first[v + 1] && u == NO_ID; i++) {
        uint32_t cand, e = reads_from(z, i, &cand);
        if (i == ob || e >= RF_LAST) continue;
        u = session_before(z, e, ob, first, low);
        if (u != NO_ID) z->paths->hop[e] = (hop){v, PATH_WR, cand};
    }
    return u;
}

/* --- clauses --------------------------------------------------------------------------------- */

typedef struct best {
    uint32_t lit, way;
} best;

static void offer(lazy *z, best *b, uint32_t lit, uint32_t way)
{
    lazy_clause_lit(z, lit);
    if (!pass_on(z->p->tune, PASS_TOPOLOGICAL)) way = 0; /* the first */
    if (solver_value(z->s, lit) || (b->lit != LIT_NONE && b->way <= way)) return;
    *b = (best){lit, way};
}

/* b, which stands behind a, might stand before it. */
static void offer_swap(lazy *z, best *x, node_id a, node_id b)
{
    if (!lazy_ruled_out(z, a, b)) offer(z, x, lazy_before(z, b, a), z->pos[b] - z->pos[a]);
}

/* Somebody else might come between u's and v's versions. */
static void offer_between(lazy *z, best *x, node_id u, uint32_t inst)
{
    asg *g = z->g;
    key_id k = g->inst_key[inst];
    node_id v = g->inst_node[inst];
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id y = g->inst_node[z->list[i]];
        if (y == u || y == v) continue;
        if (!z->present[y])
            offer(z, x, lit_of(z->taken_var[y], false), UINT32_MAX);
        else if (z->pos[y] < z->pos[u])
            offer_swap(z, x, y, u);
        else
            offer_swap(z, x, v, y);
    }
}

/* What the finding rests on: one of it is otherwise. */
static uint32_t write_clause(lazy *z, uint32_t ob, uint32_t w, uint32_t cand, node_id u)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob];
    best x = {LIT_NONE, 0};
    lazy_clause_start(z);
    if (z->j) justify_reason(z->j, BECAUSE_PATH, ob, w != NONE ? g->inst_node[w] : NO_ID, u);
    if (cand != NONE) offer(z, &x, lit_not(lazy_cand_lit(z, cand)), UINT32_MAX);
    lazy_clause_unless(z, v);
    if (w != NONE) {
        lazy_clause_unless(z, g->inst_node[w]);
        offer_swap(z, &x, g->inst_node[w], u);
    }
    for (node_id t = u; t != v; t = z->paths->hop[t].to) {
        const hop *by = &z->paths->hop[t];
        lazy_clause_unless(z, t);
        if (by->kind == PATH_WR && by->with != NONE)
            offer(z, &x, lit_not(lazy_cand_lit(z, by->with)), UINT32_MAX);
        if (by->kind & (PATH_WW | PATH_NEXT | PATH_ANY)) offer_swap(z, &x, t, by->to);
        if (by->kind == PATH_NEXT) offer_between(z, &x, t, by->with);
    }
    uint64_t hash = 0;
    for (size_t i = 0; i < z->lits.n; i++) hash = hash_u64(hash ^ z->lits.at[i]) + i;
    if (x.lit != LIT_NONE && !lazy_first_time(z, (uint32_t)(hash >> 32), (uint32_t)hash))
        return x.lit;
    lazy_clause_end(z);
    if (w != NONE) lazy_add_core(z, g->inst_node[w]);
    for (node_id t = u; t != v; t = z->paths->hop[t].to) lazy_add_core(z, t);
    lazy_add_core(z, v);
    /* (a step of PATH_ANY is no edge that could be told) */
    if (!z->lits.n && !(z->p->rule->path & PATH_ANY)) lazy_keep_path(z, ob, w, u);
    return THEORY_ANY;
}

uint32_t paths_check(lazy *z, uint32_t ob, bool *violated)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob];
    key_id k = g->ob_key[ob];
    uint32_t cand, from = reads_from(z, ob, &cand), w = NONE;
    assert(from != NONE);
    if (from < RF_LAST) w = cand == NONE ? g->ob_inst[ob] : asg_install(g, from, k);
    *violated = false;
    if (cand != NONE) park(z, ob);
    uint32_t first = w == NONE ? g->kw_first[k] : z->where[w] + 1;
    if (first == g->kw_first[k + 1] || z->pos[g->inst_node[z->list[first]]] > z->pos[v])
        return LIT_NONE;
    park(z, ob);
    uint32_t low = w == NONE ? 0 : z->pos[g->inst_node[w]] + 1;
    node_id u = z->p->rule->path & PATH_ANY                ? find_any(z, ob, first)
                : z->p->rule->path & (PATH_SAW | PATH_VIA) ? find_session(z, ob, first, low)
                : z->p->rule->one                          ? find_one(z, ob, first)
                                  : find_many(z, ob, low, w == NONE ? NO_ID : g->inst_node[w]);
    if (u == NO_ID) return LIT_NONE;
    *violated = true;
    return write_clause(z, ob, w, cand, u);
}

uint32_t paths_source(lazy *z, uint32_t ob)
{
    const asg *g = z->g;
    uint32_t open = z->open_of[ob];
    if (!z->chosen_clause[open]) return RF_OPEN;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        if (solver_model(z->s, lazy_cand_lit(z, i)) > 0) return g->cand.at[i];
    return RF_OPEN;
}

uint32_t paths_choice(lazy *z, uint32_t ob)
{
    return chosen_of(z, z->open_of[ob]);
}

bool paths_chosen(lazy *z, uint32_t ob)
{
    return paths_choice(z, ob) != NONE;
}

void paths_path(const lazy *z, node_id u, node_id v, cycle *c)
{
    const asg *g = z->g;
    for (node_id t = u; t != v; t = z->paths->hop[t].to) {
        const hop *by = &z->paths->hop[t];
        step s = {t, by->to, EDGE_SO, NO_ID, NO_ID};
        if (by->kind == PATH_RT) {
            s.kind = STEP_RT;
        } else if (by->kind == PATH_WW || by->kind == PATH_NEXT) {
            s.kind = EDGE_WW;
            for (uint32_t j = g->inst_first[t]; j < g->inst_first[t + 1]; j++)
                if (asg_install(g, by->to, g->inst_key[j]) != NO_ID) s.key = g->inst_key[j];
        } else if (by->kind == PATH_WR) {
            s.kind = EDGE_WR;
            for (uint32_t i = g->ob_first[by->to]; i < g->ob_first[by->to + 1]; i++)
                if (g->ob_rf[i] == t) s.key = g->ob_key[i], s.ob = i;
        }
        vec_push(z->m, &c->steps, s);
    }
}
