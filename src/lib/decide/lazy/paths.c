/*
 * paths.c - reads that are broken by paths (rule.h): consistent view, parallel SI, monotonic view,
 * update atomic, no lost update, and causal, read atomic, monotonic atomic view with choices.
 *
 * A read of x by v from w is broken by a later version u of x that leads to v.  In the current
 * order only versions between w and v can; mostly there are none, and nothing is searched.  Reads
 * with such versions are suspects.  When nothing else is left to do, one sweep looks at all of
 * them: for paths of many steps by clocks over the graph as it stands (path_sweep.c), else one by
 * one.  A finding rests on facts of the order (w before u, and each version edge of the path) and
 * on choices; its clause is that one of them is otherwise.  All clauses of a sweep are written
 * together, and mended one after the other; then the next sweep looks again.
 *
 * A read with several candidates reads, until a literal says otherwise, from the last one before
 * it.  Literals are made only for choices that a finding rests on, or if no candidate stands before
 * the reader.
 *
 * Every literal of a clause, made true, breaks its finding; an answer is an order in which a sweep
 * finds nothing.
 */
#include <assert.h>

#include "base/hash.h"
#include "base/sort.h"
#include "decide/lazy/initial_values.h"
#include "decide/lazy/paths_state.h"
#include "decide/lazy/slot_search.h"
#include "order/added_order.h"

static void load_ended(lazy *z);
static bool in_session_before(const lazy *z, node_id u, node_id v);

void paths_start(lazy *z)
{
    asg *g = z->g;
    if (!z->p->rule->path) return;
    paths *x = z->paths = mem_array0(z->m, paths, 1);
    x->queued = x->swept = UINT64_MAX;
    x->chain = mem_array(z->m, uint32_t, (size_t)g->nodes + 1);
    x->place = mem_array(z->m, uint32_t, (size_t)g->nodes + 1);
    x->hop = mem_array0(z->m, hop, (size_t)g->nodes + 1);
    x->is_parked = mem_array0(z->m, uint8_t, g->obs + 1);
    x->stands = mem_array(z->m, uint32_t, g->open.n + 1);
    memset(x->stands, 0xff, (g->open.n + 1) * sizeof *x->stands);
    for (node_id v = 0; v < g->nodes; v++) {
        node_id before = g->so_pred[v];
        x->chain[v] = before == NO_ID ? v : x->chain[before];
        x->place[v] = before == NO_ID ? 1 : x->place[before] + 1;
    }
    load_ended(z);
}

/* --- real time ------------------------------------------------------------------------------- */

bool paths_rt_before(const lazy *z, node_id u, node_id v)
{
    const history *h = z->g->h;
    int64_t end, begin;
    if (!(z->p->rt & RT_CB) || !(z->p->rule->path & (PATH_SO | PATH_WORDS))) return false;
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

/* --- before the search ----------------------------------------------------------------------- */

#define NEAR 8    /* how many versions after the one that was read are asked */
#define READS 64u /* a transaction of more reads is not searched for a certain source */

/* Does v surely read from u by another read than ob, one that comes early enough? */
static bool surely_reads(const lazy *z, uint32_t ob, node_id v, node_id u)
{
    const asg *g = z->g;
    if (g->ob_first[v + 1] - g->ob_first[v] > READS) return false;
    for (uint32_t i = g->ob_first[v]; i < g->ob_first[v + 1]; i++)
        if (z->p->rf[i] == u && i != ob && paths_early_enough(z, ob, g->ob_op[i])) return true;
    return false;
}

/* Does v, before it reads ob, surely see u?  The clocks know what leads to what by all certain
   edges; these are the steps of a path if versions lead to each other, or if there are none. */
static bool surely_sees(const lazy *z, uint32_t ob, node_id u)
{
    const level_rule *rule = z->p->rule;
    node_id v = z->g->ob_node[ob];
    if (rule->single_step) {
        if (rule->path & PATH_WR && surely_reads(z, ob, v, u)) return true;
        return rule->path & PATH_SO && in_session_before(z, u, v);
    }
    if (!(rule->path & PATH_WW) && z->g->extra.n) return false;
    if (!rule->arrives_earlier) return reaches(&z->reach, u, v);
    v = z->p->so ? z->g->so_pred[v] : NO_ID;
    return v != NO_ID && (u == v || reaches(&z->reach, u, v));
}

bool paths_may_settle(const lazy *z)
{
    return z->paths && !z->j && !z->p->plain && z->p->rule->path & PATH_WR &&
           !(z->p->rule->path & PATH_ANY) && pass_on(z->p->tune, PASS_SETTLE_PATHS);
}

bool paths_sure_edge(const lazy *z, uint32_t ob, arc *e)
{
    const asg *g = z->g;
    const level_rule *rule = z->p->rule;
    node_id v = g->ob_node[ob], w = z->p->rf[ob];
    if (w >= RF_LAST || !z->p->in[v]) return false;
    /* A transaction that overwrites the version it read comes right after that version: whatever
       stood between would be a version of the same key, and so would lead to the reader. */
    bool next = rule->path & (PATH_WW | PATH_NEXT) && !rule->arrives_earlier &&
                asg_install(g, v, g->ob_key[ob]) != NO_ID;
    uint32_t inst = lazy_next_version(z, z->p->rf_inst[ob]);
    for (unsigned i = 0; i < NEAR && inst != NONE; i++, inst = lazy_next_version(z, inst)) {
        node_id u = g->inst_node[inst];
        if (z->pos[u] > z->pos[v]) break;
        if (u == v || !z->p->in[u]) continue;
        if (surely_sees(z, ob, u) || (next && reaches(&z->reach, u, v)))
            *e = (arc){u, w};
        else if (next && reaches(&z->reach, w, u))
            *e = (arc){v, u};
        else
            continue;
        return true;
    }
    return false;
}

/* --- sources --------------------------------------------------------------------------------- */

#define FEW 16 /* so many candidates are looked at one by one, more by the versions before */

/* The candidate that an open read has chosen, or NONE. */
static uint32_t chosen_of(lazy *z, uint32_t open)
{
    asg *g = z->g;
    if (!z->chosen_clause[open]) return NONE;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        if (solver_value(z->s, lazy_cand_lit(z, i)) > 0) return i;
    return NONE;
}

static uint32_t source_install(const asg *g, uint32_t ob, uint32_t c)
{
    return c < RF_LAST ? asg_install(g, c, g->ob_key[ob]) : FROM_INIT;
}

/* The last candidate before the reader that no literal excludes; a chosen one comes before all. */
static uint32_t last_candidate(lazy *z, uint32_t ob, uint32_t open)
{
    asg *g = z->g;
    uint32_t at = z->pos[g->ob_node[ob]], best = NONE, best_at = 0;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++) {
        uint32_t c = asg_cand(g, open, i), p = c < RF_LAST ? z->pos[c] + 1 : 0;
        int value = z->chosen_clause[open] ? solver_value(z->s, lazy_cand_lit(z, i)) : 0;
        if (value > 0) return source_install(g, ob, c);
        if (value < 0 || p > at || (c < RF_LAST && !z->present[c])) continue;
        if (best != NONE && p < best_at) continue;
        best = c;
        best_at = p;
    }
    return best == NONE ? NONE : source_install(g, ob, best);
}

/* What an open read reads from in the current order.  Its candidates are all writers of its value,
   so with many of them the versions before the reader are asked instead. */
static uint32_t stands_open(lazy *z, uint32_t ob)
{
    asg *g = z->g;
    uint32_t open = z->open_of[ob];
    uint32_t first = g->cand_first.at[open], end = g->cand_first.at[open + 1];
    if (z->chosen_clause[open] || end - first <= FEW) return last_candidate(z, ob, open);
    uint32_t u = lazy_explained_by(z, ob);
    return u != NONE ? u : asg_cand_init(g, open) ? FROM_INIT : NONE;
}

static uint32_t stands_now(lazy *z, uint32_t ob)
{
    uint32_t rf = z->p->rf[ob];
    if (rf < RF_LAST) return z->p->rf_inst[ob];
    if (rf == RF_INIT) return FROM_INIT;
    bool unseen = z->g->ob_flags[ob] & OB_LIST && !slots_own(z, ob);
    return rf == RF_OPEN && !unseen ? stands_open(z, ob) : NONE;
}

uint32_t paths_stands(const lazy *z, uint32_t ob)
{
    uint32_t rf = z->p->rf[ob];
    if (rf < RF_LAST) return z->p->rf_inst[ob];
    if (rf == RF_INIT) return FROM_INIT;
    bool unseen = z->g->ob_flags[ob] & OB_LIST && !slots_own(z, ob);
    return rf == RF_OPEN && !unseen ? z->paths->stands[z->open_of[ob]] : NONE;
}

/* The note is true as long as the read is not queued: a read that may come to read from another
   version is parked, or watches the version. */
void paths_note(lazy *z, uint32_t ob, uint32_t from)
{
    assert(ob < z->g->obs && (from >= FROM_INIT || z->g->inst_key[from] == z->g->ob_key[ob]));
    if (z->p->rf[ob] == RF_OPEN) z->paths->stands[z->open_of[ob]] = from;
}

/* The candidate of an open read that is this install. */
static uint32_t candidate_of(const lazy *z, uint32_t ob, uint32_t inst)
{
    const asg *g = z->g;
    uint32_t open = z->open_of[ob], c = inst == FROM_INIT ? RF_INIT : g->inst_node[inst];
    uint32_t i = g->cand_first.at[open];
    while (i < g->cand_first.at[open + 1] && asg_cand(g, open, i) != c) i++;
    assert(i < g->cand_first.at[open + 1] && "what an open read reads from is a candidate");
    return i;
}

uint32_t paths_next_version(const lazy *z, key_id k, uint32_t inst)
{
    const asg *g = z->g;
    if (inst != FROM_INIT) return lazy_next_version(z, inst);
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++)
        if (z->present[g->inst_node[z->list[i]]]) return z->list[i];
    return NONE;
}

/* Does another version stand between what was read and the reader? */
static bool is_suspect(const lazy *z, uint32_t ob, uint32_t from)
{
    const asg *g = z->g;
    uint32_t u = paths_next_version(z, g->ob_key[ob], from);
    return u != NONE && z->pos[g->inst_node[u]] < z->pos[g->ob_node[ob]];
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool in_session_before(const lazy *z, node_id u, node_id v)
{
    const paths *x = z->paths;
    return z->p->so && !z->g->maybe[u] && x->chain[u] == x->chain[v] && x->place[u] < x->place[v];
}

/* Does u lead to v by dependencies that modules added, of those that take part?  Then their hops
   are noted.  A search back from v, as far as u stands in the order. */
static bool added_before(lazy *z, node_id u, node_id v)
{
    const added_order *d = z->p->added;
    paths *x = z->paths;
    if (!d || !(z->p->rule->path & PATH_SO) || d->dep_first[v] == d->dep_first[v + 1]) return false;
    if (!x->back) {
        x->back = mem_array(z->m, hop, (size_t)z->g->nodes + 1);
        memset(x->back, 0xff, ((size_t)z->g->nodes + 1) * sizeof *x->back);
    }
    bool found = false;
    assert(u != v && z->present[v]);
    x->reached.n = 0;
    vec_push(z->m, &x->reached, v);
    for (size_t i = 0; i < x->reached.n && !found; i++) {
        node_id at = x->reached.at[i];
        for (uint32_t k = d->dep_first[at]; k < d->dep_first[at + 1] && !found; k++) {
            node_id t = d->dep[k];
            if (!z->present[t] || z->pos[t] < z->pos[u] || x->back[t].at == t) continue;
            x->back[t] = (hop){t, at, PATH_ADDED, d->dep_of[k]};
            vec_push(z->m, &x->reached, t);
            found = t == u;
            guard_tick(z->m->guard);
        }
    }
    for (node_id t = u; found && t != v; t = x->back[t].to) x->hop[t] = x->back[t];
    for (size_t i = 0; i < x->reached.n; i++) x->back[x->reached.at[i]].at = NO_ID;
    return found;
}

/* Does operation `op` of the reader come before the read ob, where that counts?  Rows of one scan
   are one event: at monotonic view they may not be torn, at monotonic atomic view they are
   simultaneous. */
bool paths_early_enough(const lazy *z, uint32_t ob, op_id op)
{
    if (!z->p->rule->arrives_earlier) return true;
    return z->p->rule->single_step ? op < z->g->ob_op[ob] : op <= z->g->ob_op[ob];
}

/* Does u lead to v, the reader of ob, in one step?  Fills u's hop. */
static bool one_step(lazy *z, node_id u, node_id v, uint32_t ob)
{
    asg *g = z->g;
    unsigned path = z->p->rule->path;
    assert(u != v && v == g->ob_node[ob]);
    if (path & PATH_SO && in_session_before(z, u, v)) {
        z->paths->hop[u] = (hop){u, v, PATH_SO, NONE};
        return true;
    }
    if (paths_rt_before(z, u, v)) {
        z->paths->hop[u] = (hop){u, v, PATH_RT, NONE};
        return true;
    }
    if (added_before(z, u, v)) return true;
    if (path & (PATH_WW | PATH_NEXT))
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
            if (!paths_early_enough(z, ob, g->inst_op[j])) continue;
            if (path & PATH_NEXT) {
                uint32_t prior = lazy_version_before(z, j);
                if (prior == NONE || g->inst_node[prior] != u) continue;
            } else if (asg_install(g, u, g->inst_key[j]) == NO_ID) {
                continue;
            }
            z->paths->hop[u] = (hop){u, v, path & PATH_NEXT ? PATH_NEXT : PATH_WW, j};
            return true;
        }
    return false;
}

static bool reads_from(const lazy *z, uint32_t ob, node_id u)
{
    uint32_t w = paths_stands(z, ob);
    return w < FROM_INIT && z->g->inst_node[w] == u;
}

/* The first later version, in version order, that leads to the reader in one step.  The sources of
   the reader were marked by mark_sources. */
static node_id find_single_step(lazy *z, uint32_t ob, uint32_t first)
{
    asg *g = z->g;
    paths *x = z->paths;
    key_id k = g->ob_key[ob];
    node_id v = g->ob_node[ob];
    for (uint32_t i = first; i < g->kw_first[k + 1]; i++) {
        node_id u = g->inst_node[z->list[i]];
        if (z->pos[u] > z->pos[v]) break;
        guard_tick(z->m->guard);
        if (u == v || !z->present[u]) continue;
        const hop *by = &x->hop[u];
        /* A mark of an earlier sweep may be out of date, so the read is asked again. */
        bool read = by->at == u && by->to == v && by->kind == PATH_WR && by->with != ob &&
                    reads_from(z, by->with, u);
        if (read && paths_early_enough(z, ob, g->ob_op[by->with])) return u;
        if (one_step(z, u, v, ob)) return u;
    }
    return NO_ID;
}

/* Gives each transaction that v reads from the hop to v by the first such read. */
static void mark_sources(lazy *z, node_id v)
{
    asg *g = z->g;
    for (uint32_t i = g->ob_first[v + 1]; i-- > g->ob_first[v];) {
        uint32_t w = paths_stands(z, i);
        if (w >= FROM_INIT) continue;
        node_id u = g->inst_node[w];
        z->paths->hop[u] = (hop){u, v, PATH_WR, i};
    }
}

/* Of the transactions that lead to v in one step, the last in the order, with its hop; or NO_ID. */
static node_id latest_before(lazy *z, node_id v)
{
    asg *g = z->g;
    node_id last = NO_ID, u = g->so_pred[v];
    hop by = {u, v, PATH_SO, NONE};
    if (z->p->so && u != NO_ID) last = u;
    for (uint32_t i = g->ob_first[v]; i < g->ob_first[v + 1]; i++) {
        uint32_t w = paths_stands(z, i);
        if (w >= FROM_INIT) continue;
        u = g->inst_node[w];
        if (last != NO_ID && z->pos[u] <= z->pos[last]) continue;
        last = u;
        by = (hop){u, v, PATH_WR, i};
    }
    for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1]; j++) {
        uint32_t prior = lazy_version_before(z, j);
        u = prior == NONE ? NO_ID : g->inst_node[prior];
        if (u == NO_ID || (last != NO_ID && z->pos[u] <= z->pos[last])) continue;
        last = u;
        by = (hop){u, v, PATH_WW, j};
    }
    if (last != NO_ID) z->paths->hop[last] = by;
    return last;
}

/* PATH_ANY: a later version whose writer leads to the reader in one step, or stands before a
   transaction that does. */
static node_id find_before_step(lazy *z, uint32_t ob, uint32_t first)
{
    asg *g = z->g;
    key_id k = g->ob_key[ob];
    node_id a = latest_before(z, g->ob_node[ob]);
    for (uint32_t i = first; a != NO_ID && i < g->kw_first[k + 1]; i++) {
        node_id u = g->inst_node[z->list[i]];
        if (z->pos[u] > z->pos[a]) break;
        if (!z->present[u]) continue;
        if (u != a) z->paths->hop[u] = (hop){u, a, PATH_ANY, NONE};
        return u;
    }
    return NO_ID;
}

/* --- session guarantees ---------------------------------------------------------------------- */

/* Did s write the key of ob, as a version that stands at `first` or later in the list? */
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
        z->paths->hop[u] = (hop){u, e, PATH_SO, NONE};
        if (!(z->p->rule->path & PATH_SAW)) {
            if (is_later(z, u, ob, first)) return u;
            continue;
        }
        for (uint32_t i = g->ob_first[u]; i < g->ob_first[u + 1]; i++) {
            uint32_t w = paths_stands(z, i);
            if (w >= FROM_INIT || !is_later(z, g->inst_node[w], ob, first)) continue;
            z->paths->hop[g->inst_node[w]] = (hop){g->inst_node[w], u, PATH_WR, i};
            return g->inst_node[w];
        }
        guard_tick(z->m->guard);
    }
    return NO_ID;
}

static node_id find_session(lazy *z, uint32_t ob, uint32_t first, uint32_t from)
{
    asg *g = z->g;
    node_id v = g->ob_node[ob], u = NO_ID;
    uint32_t low = from == FROM_INIT ? 0 : z->pos[g->inst_node[from]];
    if (!z->p->so) return NO_ID;
    if (!(z->p->rule->path & PATH_VIA)) return session_before(z, v, ob, first, low);
    for (uint32_t i = g->ob_first[v]; i < g->ob_first[v + 1] && u == NO_ID; i++) {
        uint32_t w = paths_stands(z, i);
        if (i == ob || w >= FROM_INIT) continue;
        node_id e = g->inst_node[w];
        u = session_before(z, e, ob, first, low);
        if (u != NO_ID) z->paths->hop[e] = (hop){e, v, PATH_WR, i};
    }
    return u;
}

static void keep_finding(lazy *z, uint32_t ob, node_id u)
{
    paths *x = z->paths;
    finding f = {ob, x->hops.n, 0};
    assert(u != z->g->ob_node[ob] && z->pos[u] < z->pos[z->g->ob_node[ob]]);
    for (node_id t = u; t != z->g->ob_node[ob]; t = x->hop[t].to, f.n++)
        vec_push(z->m, &x->hops, x->hop[t]);
    vec_push(z->m, &x->findings, f);
}

/* Levels of one step, and PATH_ANY: each suspect by itself. */
static void sweep_short(lazy *z)
{
    asg *g = z->g;
    paths *x = z->paths;
    node_id marked = NO_ID;
    for (size_t i = 0; i < x->parked.n; i++) {
        uint32_t ob = x->parked.at[i], w = paths_stands(z, ob);
        node_id v = g->ob_node[ob], u;
        if (!z->present[v] || w == NONE || !is_suspect(z, ob, w)) continue;
        uint32_t first = w == FROM_INIT ? g->kw_first[g->ob_key[ob]] : z->where[w] + 1;
        if (z->p->rule->path & PATH_ANY) {
            u = find_before_step(z, ob, first);
        } else if (!(z->p->rule->path & PATH_WR)) {
            u = find_session(z, ob, first, w);
        } else {
            if (marked != v) mark_sources(z, v);
            marked = v;
            u = find_single_step(z, ob, first);
        }
        if (u != NO_ID) {
            keep_finding(z, ob, u);
            marked = NO_ID; /* the finding may have replaced a marked hop */
        }
        guard_tick(z->m->guard);
    }
}

/* --- clauses --------------------------------------------------------------------------------- */

/* One more literal that would break the finding, and the fact that it denies. */
static void offer_support(lazy *z, support s)
{
    assert(s.lit != LIT_NONE);
    vec_push(z->m, &z->paths->support, s);
}

/* Offers "b before a", where b stands after a. */
static void offer_swap(lazy *z, node_id a, node_id b)
{
    assert(a != b && z->pos[a] < z->pos[b]);
    if (!lazy_ruled_out(z, a, b))
        offer_support(z, (support){lazy_before(z, b, a), OF_ORDER, a, b, NO_ID});
}

/* Offers that v took part, or that it did not; nothing if its outcome is known. */
static void offer_outcome(lazy *z, node_id v, bool taken)
{
    if (!z->taken_var || z->taken_var[v] == NONE) return;
    offer_support(z, (support){lit_of(z->taken_var[v], !taken), OF_OUTCOME, v, v, NO_ID});
}

/* Offers that an open read has another source than `from`; one after u would do (NO_ID: any). */
static void offer_choice(lazy *z, uint32_t ob, uint32_t from, node_id u)
{
    if (z->p->rf[ob] != RF_OPEN) return;
    uint32_t lit = lit_not(lazy_cand_lit(z, candidate_of(z, ob, from)));
    offer_support(z, (support){lit, OF_CHOICE, ob, from, u});
}

/* Offers that another writer of the key comes between the version of u and install `inst`. */
static void offer_between(lazy *z, node_id u, uint32_t inst)
{
    asg *g = z->g;
    key_id k = g->inst_key[inst];
    node_id v = g->inst_node[inst];
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id y = g->inst_node[z->list[i]];
        if (y == u || y == v) continue;
        if (!z->present[y])
            offer_outcome(z, y, true);
        else if (z->pos[y] < z->pos[u])
            offer_swap(z, y, u);
        else
            offer_swap(z, v, y);
    }
}

/* The read is looked at again before the next sweep. */
static void park_read(lazy *z, uint32_t ob)
{
    if (z->paths->is_parked[ob]) return;
    z->paths->is_parked[ob] = 1;
    vec_push(z->m, &z->paths->parked, ob);
}

/* An open read that a clause will mention gets its candidates' literals before that clause is
   begun. From then on literals, too, decide what the read reads from, so it stays parked. */
static void write_choice(lazy *z, uint32_t ob)
{
    if (z->p->rf[ob] == RF_OPEN && lazy_write_choice(z, ob)) park_read(z, ob);
}

static void write_choices(lazy *z, const finding *f)
{
    write_choice(z, f->ob);
    for (size_t i = 0; i < f->n; i++) {
        const hop *by = &z->paths->hops.at[f->first + i];
        if (by->kind & (PATH_WR | PATH_RW)) write_choice(z, by->with);
    }
}

/* For the proof: of a step between neighbouring versions, on which side of both the other writers
   of the key stand. */
static void justify_sides(lazy *z, node_id u, uint32_t inst)
{
    const asg *g = z->g;
    key_id k = g->inst_key[inst];
    for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
        node_id y = g->inst_node[z->list[i]];
        if (y == u || y == g->inst_node[inst]) continue;
        if (!z->present[y])
            justify_hop(z->j, (proof_hop){HOP_OUT, y, 0, NO_ID});
        else if (z->pos[y] > z->pos[u])
            justify_hop(z->j, (proof_hop){HOP_BEHIND, y, 0, NO_ID});
    }
}

/* For the proof: the path to the reader, from its end. */
static void justify_hops(lazy *z, const finding *f)
{
    const asg *g = z->g;
    for (size_t i = f->n; i-- > 0;) {
        const hop *by = &z->paths->hops.at[f->first + i];
        proof_hop x = {HOP_SO, by->at, 0, NO_ID};
        switch (by->kind) {
        case PATH_RT: x.kind = HOP_RT; break;
        case PATH_ADDED:
            x.kind = HOP_ADDED;
            x.with = by->with;
            break;
        case PATH_WR:
            x.kind = HOP_WR;
            x.with = by->with;
            break;
        case PATH_WW:
        case PATH_NEXT:
            x.kind = by->kind == PATH_WW ? HOP_WW : HOP_NEXT;
            x.with = g->inst_key[by->with];
            break;
        default: break;
        }
        justify_hop(z->j, x);
        if (by->kind == PATH_NEXT) justify_sides(z, by->at, by->with);
    }
}

/* Adds the literals that would give the read another source than w, or would put u before w. */
static void offer_source(lazy *z, const finding *f, uint32_t w)
{
    node_id u = z->paths->hops.at[f->first].at;
    offer_choice(z, f->ob, w, u);
    offer_outcome(z, z->g->ob_node[f->ob], false);
    if (w == FROM_INIT) return;
    offer_outcome(z, z->g->inst_node[w], false);
    offer_swap(z, z->g->inst_node[w], u);
}

/* Adds the literals that would break a hop from a reader to a later version of what it read. */
static void offer_overwrite(lazy *z, const hop *by)
{
    uint32_t w = paths_stands(z, by->with);
    offer_choice(z, by->with, w, NO_ID);
    if (w == FROM_INIT) return;
    offer_outcome(z, z->g->inst_node[w], false);
    offer_swap(z, z->g->inst_node[w], by->to);
}

/* Adds the literals that would break a hop of the path. */
static void offer_path(lazy *z, const finding *f)
{
    const paths *x = z->paths;
    for (size_t i = 0; i < f->n; i++) {
        const hop *by = &x->hops.at[f->first + i];
        x->hop[by->at] = *by;
        offer_outcome(z, by->at, false);
        if (by->kind == PATH_WR) offer_choice(z, by->with, paths_stands(z, by->with), NO_ID);
        if (by->kind == PATH_RW) offer_overwrite(z, by);
        if (by->kind & (PATH_WW | PATH_NEXT | PATH_ANY)) offer_swap(z, by->at, by->to);
        /* Where the hop is the reader's own overwrite no literal is needed: a writer between the
           two would break this read too.  A proof cannot show that, so it gets the literals. */
        bool own =
            by->kind == PATH_NEXT && !z->j && z->g->ob_key[f->ob] == z->g->inst_key[by->with];
        if (by->kind == PATH_NEXT && !own) offer_between(z, by->at, by->with);
    }
}

static uint64_t add_lits(lazy *z, uint64_t hash, supports part)
{
    for (size_t i = part.first; i < part.first + part.n; i++) {
        uint32_t lit = z->paths->support.at[i].lit;
        hash = hash_u64(hash ^ lit) + z->lits.n;
        lazy_clause_lit(z, lit);
    }
    return hash;
}

/* Writes the clause of a finding, for w as the source of the read: one of the offered literals is
   true.  False if the clause was written before. */
static bool write_clause(lazy *z, const finding *f, uint32_t w, supports source, supports path)
{
    const asg *g = z->g;
    node_id u = z->paths->hops.at[f->first].at;
    lazy_clause_start(z);
    uint64_t hash = add_lits(z, add_lits(z, 0, source), path);
    if (z->lits.n && !lazy_first_time(z, (uint32_t)(hash >> 32), (uint32_t)hash)) return false;
    if (z->j) {
        justify_reason(z->j, BECAUSE_PATH, f->ob, w != FROM_INIT ? g->inst_node[w] : NO_ID, u);
        justify_hops(z, f);
    }
    lazy_clause_end(z);
    if (w != FROM_INIT) lazy_add_core(z, g->inst_node[w]);
    return true;
}

/* Writes the clause for each other candidate of the read that stands before u: otherwise the read
   would go from one candidate to the next, one sweep each. */
static bool write_other_sources(lazy *z, const finding *f, supports path)
{
    const asg *g = z->g;
    paths *x = z->paths;
    uint32_t open = z->open_of[f->ob], w = paths_stands(z, f->ob);
    node_id u = x->hops.at[f->first].at;
    bool fresh = false;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++) {
        uint32_t c = asg_cand(g, open, i), from = source_install(g, f->ob, c);
        if (from == w || c == u || (c < RF_LAST && z->pos[c] > z->pos[u])) continue;
        if (solver_fixed(z->s, lazy_cand_lit(z, i)) < 0) continue;
        supports source = {x->support.n, 0};
        offer_source(z, f, from);
        source.n = x->support.n - source.first;
        fresh = write_clause(z, f, from, source, path) || fresh;
        x->support.n = source.first;
        guard_tick(z->m->guard);
    }
    return fresh;
}

static bool write_finding(lazy *z, const finding *f)
{
    paths *x = z->paths;
    node_id v = z->g->ob_node[f->ob], u = x->hops.at[f->first].at;
    uint32_t w = paths_stands(z, f->ob);
    supports source = {x->support.n, 0};
    write_choices(z, f);
    offer_source(z, f, w);
    supports path = {x->support.n, 0};
    offer_path(z, f);
    source.n = path.first - source.first;
    path.n = x->support.n - path.first;
    bool fresh = write_clause(z, f, w, source, path);
    supports both = {source.first, source.n + path.n};
    assert(both.first + both.n == x->support.n);
    vec_push(z->m, &x->waiting, (uint32_t)x->said.n);
    vec_push(z->m, &x->said, both);
    if (fresh) {
        for (size_t i = 0; i < f->n; i++) lazy_add_core(z, x->hops.at[f->first + i].at);
        lazy_add_core(z, v);
        /* A step of PATH_ANY is no edge that an explanation could name. */
        if (!both.n && !(z->p->rule->path & (PATH_ANY | PATH_WORDS))) lazy_keep_path(z, f->ob, u);
    }
    if (z->p->rf[f->ob] == RF_OPEN && pass_on(z->p->tune, PASS_ALL_SOURCES))
        fresh = write_other_sources(z, f, path) || fresh;
    return fresh;
}

/* --- mending --------------------------------------------------------------------------------- */

/* Is the fact that the literal denies still true? */
static bool still_stands(lazy *z, const support *s)
{
    if (solver_value(z->s, s->lit) > 0) return false;
    switch (s->kind) {
    case OF_ORDER: return z->pos[s->a] < z->pos[s->b];
    case OF_CHOICE: return stands_now(z, s->a) == s->b;
    case OF_OUTCOME: break;
    }
    return true;
}

/* Of the free candidates of a read that stand after u, the one that is nearest to the reader: its
   literal and, if it has to be moved, how far. */
static uint32_t source_after(lazy *z, uint32_t ob, node_id u, uint32_t *way, node_id *source)
{
    const asg *g = z->g;
    node_id v = g->ob_node[ob];
    uint32_t open = z->open_of[ob], best = LIT_NONE, at = 0;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++) {
        uint32_t c = asg_cand(g, open, i);
        if (c >= RF_LAST || !z->present[c] || z->pos[c] <= z->pos[u]) continue;
        if (solver_value(z->s, lazy_cand_lit(z, i)) || lazy_ruled_out(z, v, c)) continue;
        bool early = z->pos[c] < z->pos[v];
        if (best != LIT_NONE && (at < z->pos[v] ? !early || z->pos[c] < at : z->pos[c] > at))
            continue;
        best = lazy_cand_lit(z, i);
        at = z->pos[c];
        *source = c;
    }
    *way = best == LIT_NONE ? UINT32_MAX : at < z->pos[v] ? 0 : at - z->pos[v];
    return best;
}

/* Has the read a candidate before `from`, its source now, that no literal excludes? */
static bool has_earlier(lazy *z, uint32_t ob, uint32_t from)
{
    const asg *g = z->g;
    uint32_t open = z->open_of[ob];
    for (uint32_t i = g->cand_first.at[open]; from != FROM_INIT && i < g->cand_first.at[open + 1];
         i++) {
        uint32_t c = asg_cand(g, open, i);
        if (c < RF_LAST && (!z->present[c] || z->pos[c] >= z->pos[g->inst_node[from]])) continue;
        if (solver_value(z->s, lazy_cand_lit(z, i)) >= 0) return true;
    }
    return false;
}

/* A literal to decide so that a finding falls, and its price: how far a transaction has to be moved
   so that `from` stands before `to` (NO_ID: nothing is moved). */
typedef struct remedy {
    uint32_t lit, way;
    node_id from, to; /* the edge that the literal means */
} remedy;

static remedy remedy_of(lazy *z, const support *s)
{
    remedy r = {s->lit, UINT32_MAX, NO_ID, NO_ID};
    if (s->kind == OF_ORDER) {
        r = (remedy){s->lit, z->pos[s->b] - z->pos[s->a], s->b, s->a};
    } else if (s->kind == OF_CHOICE && pass_on(z->p->tune, PASS_ALL_SOURCES)) {
        if (s->behind == NO_ID) {
            if (has_earlier(z, s->a, s->b)) r.way = 1;
            return r;
        }
        remedy other = {LIT_NONE, 0, NO_ID, z->g->ob_node[s->a]};
        other.lit = source_after(z, s->a, s->behind, &other.way, &other.from);
        if (other.lit != LIT_NONE) return other;
    }
    return r;
}

/* Does the finding still hold?  If not, *lucky is a free literal that the order fulfils as it is,
   or LIT_NONE. */
static bool finding_holds(lazy *z, supports of, uint32_t *lucky)
{
    bool all = true;
    *lucky = LIT_NONE;
    for (size_t i = of.first; i < of.first + of.n; i++) {
        const support *s = &z->paths->support.at[i];
        int value = solver_value(z->s, s->lit);
        if (value <= 0 && still_stands(z, s)) continue;
        all = false;
        if (value) *lucky = LIT_NONE;
        if (value > 0) break;
        if (!value && *lucky == LIT_NONE) *lucky = s->lit;
    }
    return all;
}

/* What mends a finding that holds, or LIT_NONE: of the literals that the order allows, the nearest.
   A literal that it does not allow would be a conflict, and undo more than it settles. */
static uint32_t best_remedy(lazy *z, supports of)
{
    remedy best = {LIT_NONE, 0, NO_ID, NO_ID};
    bool allowed = false;
    for (size_t i = of.first; i < of.first + of.n; i++) {
        const support *s = &z->paths->support.at[i];
        if (solver_value(z->s, s->lit)) continue;
        if (!pass_on(z->p->tune, PASS_TOPOLOGICAL)) return s->lit;
        remedy r = remedy_of(z, s);
        if (best.lit != LIT_NONE && allowed && best.way <= r.way) continue;
        bool may = r.from == NO_ID || !order_leads(z->o, r.to, r.from);
        if (best.lit != LIT_NONE && !may) continue;
        best = r;
        allowed = may;
    }
    return best.lit;
}

bool paths_mend(lazy *z, uint32_t *answer)
{
    paths *x = z->paths;
    if (!x) return false;
    for (; x->waiting.n; x->waiting.n--) {
        supports of = x->said.at[x->waiting.at[x->waiting.n - 1]];
        uint32_t lucky;
        bool broken = finding_holds(z, of, &lucky);
        *answer = broken ? best_remedy(z, of) : x->again ? lucky : LIT_NONE;
        if (*answer != LIT_NONE) return true;
    }
    return false;
}

/* Earlier findings may have come back, because decisions were undone or another mend moved what no
   literal holds.  Looking at all of them is cheaper than one sweep.  A finding that came back gets
   a literal even if by luck it is mended when its turn comes; otherwise two findings could break
   each other for ever. */
static bool mend_earlier_findings(lazy *z, uint32_t *answer)
{
    paths *x = z->paths;
    uint32_t lucky;
    x->again = true;
    for (uint32_t i = 0; i < x->said.n; i++) {
        if (finding_holds(z, x->said.at[i], &lucky)) vec_push(z->m, &x->waiting, i);
        guard_tick(z->m->guard);
    }
    return paths_mend(z, answer);
}

/* --- for lazy.c ------------------------------------------------------------------------------ */

bool paths_check(lazy *z, uint32_t ob)
{
    uint32_t from = stands_now(z, ob);
    paths_note(z, ob, from);
    if (from == NONE || (from == FROM_INIT && !initial_allowed(z, ob))) return false;
    bool literals = z->p->rf[ob] == RF_OPEN && z->chosen_clause[z->open_of[ob]];
    if (literals || is_suspect(z, ob, from))
        park_read(z, ob);
    else if (z->p->rf[ob] >= RF_LAST)
        lazy_watch(z, ob, from == FROM_INIT ? NONE : from);
    return true;
}

bool paths_at_rest(lazy *z, uint32_t ob)
{
    uint32_t from = stands_now(z, ob);
    if (z->paths->is_parked[ob]) return true;
    if (from == FROM_INIT && !initial_allowed(z, ob)) return false;
    return from != NONE && from == paths_stands(z, ob) && !is_suspect(z, ob, from);
}

bool paths_look_again(lazy *z)
{
    paths *x = z->paths;
    if (!x || x->queued == z->epoch || !x->parked.n) return false;
    x->queued = z->epoch;
    for (size_t i = 0; i < x->parked.n; i++) {
        assert(x->is_parked[x->parked.at[i]]);
        x->is_parked[x->parked.at[i]] = 0;
        lazy_enqueue(z, x->parked.at[i]);
    }
    x->parked.n = 0;
    return true;
}

bool paths_broken(lazy *z, uint32_t *answer)
{
    paths *x = z->paths;
    if (!x || x->swept == z->epoch) return false;
    assert(!x->waiting.n);
    if (pass_on(z->p->tune, PASS_KEEP_FINDINGS)) {
        if (mend_earlier_findings(z, answer)) return true;
    } else {
        x->said.n = x->support.n = 0;
    }
    x->again = false;
    x->findings.n = x->hops.n = 0;
    if (z->p->rule->path & PATH_WORDS)
        sweep_words(z);
    else if (z->p->rule->single_step || z->p->rule->path & PATH_ANY)
        sweep_short(z);
    else
        sweep_many(z);
    x->swept = z->epoch;
    if (!x->findings.n) return false;
    x->swept = UINT64_MAX;
    bool fresh = false;
    for (size_t i = 0; i < x->findings.n; i++)
        fresh = write_finding(z, &x->findings.at[i]) || fresh;
    *answer = THEORY_ANY;
    if (fresh || paths_mend(z, answer)) return true;
    guard_fail(z->m->guard, GUARD_BUG, "a broken read has no clause that says so");
}

bool paths_clean(const lazy *z)
{
    return !z->paths || (z->paths->swept == z->epoch && !z->paths->waiting.n);
}

uint32_t paths_source(lazy *z, uint32_t ob)
{
    const asg *g = z->g;
    uint32_t open = z->open_of[ob];
    assert(z->p->rf[ob] == RF_OPEN && open < g->open.n);
    if (z->paths) {
        uint32_t w = z->paths->stands[open];
        return w == NONE ? RF_OPEN : w == FROM_INIT ? RF_INIT : g->inst_node[w];
    }
    if (!z->chosen_clause[open]) return RF_OPEN;
    for (uint32_t i = g->cand_first.at[open]; i < g->cand_first.at[open + 1]; i++)
        if (solver_model(z->s, lazy_cand_lit(z, i)) > 0) return asg_cand(g, open, i);
    return RF_OPEN;
}

uint32_t paths_choice(lazy *z, uint32_t ob)
{
    return chosen_of(z, z->open_of[ob]);
}

void paths_path(const lazy *z, node_id u, node_id v, cycle *c)
{
    const asg *g = z->g;
    for (node_id t = u; t != v; t = z->paths->hop[t].to) {
        const hop *by = &z->paths->hop[t];
        assert(by->at == t && by->kind != PATH_ANY);
        step s = {t, by->to, EDGE_SO, NO_ID, NO_ID};
        if (by->kind == PATH_RT) {
            s.kind = STEP_RT;
        } else if (by->kind == PATH_WW || by->kind == PATH_NEXT) {
            s.kind = EDGE_WW;
            s.key = g->inst_key[by->with];
        } else if (by->kind == PATH_WR) {
            s.kind = EDGE_WR;
            s.key = g->ob_key[by->with];
            s.ob = by->with;
        }
        vec_push(z->m, &c->steps, s);
    }
}
