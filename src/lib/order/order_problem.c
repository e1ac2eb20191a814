/*
 * order_problem.c - from the semantic graph to the order problem, and the replay of an answer.
 *
 * Known edges are collected kind by kind: session order, read-from, version orders that lists and
 * hints show, reads of the initial state (through gates), real time (through points).  Invariant
 * (problem_check): every edge joins two events, and the readers of an install are all the certain
 * reads of it.  problem_replay shares nothing with the search: it runs an order as a database
 * would.
 */
#include "order/order_problem.h"

#include <assert.h>

#include "asg/list_slots.h"
#include "base/search.h"
#include "base/sort.h"
#include "order/added_order.h"

bool txn_begin_time(const history *h, txn_id t, int64_t *at)
{
    if (h->txn_flags[t] & TXN_HAS_TIMES)
        *at = h->txn_times[(size_t)t * 4];
    else if (h->txn_flags[t] & TXN_HAS_BEGIN)
        *at = h->txn_begin[t];
    else
        return false;
    return true;
}

bool txn_end_time(const history *h, txn_id t, int64_t *at)
{
    /* The commit of an unknown outcome takes part in no real-time edge (levels.md H-3). */
    if (txn_status_of(h, t) == TXN_UNKNOWN) return false;
    if (h->txn_flags[t] & TXN_HAS_TIMES)
        *at = h->txn_times[(size_t)t * 4 + 3];
    else if (h->txn_flags[t] & TXN_HAS_END)
        *at = h->txn_end[t];
    else
        return false;
    return true;
}

static void add_known(order_problem *p, uint32_t from, uint32_t to)
{
    assert(from != to && from < p->events && to < p->events);
    arc a = {from, to};
    vec_push(p->m, &p->known, a);
}

/* All of `from` stands before all of `to`; `counts`: in every order, else only for the guess. */
static void add_dependency(order_problem *p, node_id from, node_id to, bool counts)
{
    assert(from < p->txns && to < p->txns && from != to);
    arc a = {from, to};
    if (!p->shared) vec_push(p->m, &p->deps, a);
    if (counts) add_known(p, commit_of(p, from), begin_of(p, to));
}

void problem_depend(order_problem *p, node_id from, node_id to)
{
    add_dependency(p, from, to, true);
}

/* --- real time ------------------------------------------------------------------------------- */

typedef struct stamp {
    int64_t at;
    node_id node;
} stamp;

static stamp *sort_stamps(mem *m, const stamp *a, size_t n)
{
    uint64_t *key = mem_array(m, uint64_t, n + 1);
    stamp *b = mem_array(m, stamp, n + 1);
    for (size_t i = 0; i < n; i++) key[i] = sort_key(a[i].at);
    uint32_t *order = sort_by_key(m, key, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        b[i] = a[order[i]];
        assert(!i || b[i - 1].at <= b[i].at);
    }
    mem_put(m, key);
    mem_put(m, order);
    return b;
}

/* One instant stands for call and return.  The commit of an unknown outcome has no time. */
bool txn_stamp(const history *h, txn_id t, enum stamp_kind kind, int64_t *at)
{
    if (kind >= COMMIT_CALL && txn_status_of(h, t) == TXN_UNKNOWN) return false;
    if (kind == BEGIN_RETURN && h->txn_flags[t] & TXN_NO_BEGIN_RETURN) return false;
    if (h->txn_flags[t] & TXN_HAS_TIMES) {
        *at = h->txn_times[(size_t)t * 4 + kind];
        return true;
    }
    return kind >= COMMIT_CALL ? txn_end_time(h, t, at) : txn_begin_time(h, t, at);
}

static uint32_t event_of(const order_problem *p, node_id v, enum stamp_kind kind)
{
    return kind >= COMMIT_CALL ? commit_of(p, v) : begin_of(p, v);
}

/* The first stamp that is after `end`, and by the drift at least; n: none is. */
static size_t first_stamp_after(const stamp *s, size_t n, int64_t end, uint64_t drift)
{
    SEARCH_FIRST(size_t, i, 0, n, s[i].at > end && (uint64_t)s[i].at - (uint64_t)end >= drift);
    assert(i == n || s[i].at > end);
    return i;
}

/* Does real time order v?  At update serializability only those that write: each reader is looked
   at alone. */
static bool is_timed(const order_problem *p, node_id v)
{
    const asg *g = p->g;
    return p->rule->strict != STRICT_UPDATES || g->inst_first[v] < g->inst_first[v + 1];
}

/* Edges from every event `from` to the events `to` that were called after it returned, in linear
   number: each distinct time of a call is a point, points are a chain, an event hangs below its
   point, and what returned leads to the first point that is late enough. */
static void add_points(order_problem *p, const enum stamp_kind *from, size_t kinds,
                       enum stamp_kind to)
{
    const history *h = p->g->h;
    stamp *s = mem_array(p->m, stamp, (size_t)p->txns + 1);
    size_t n = 0;
    for (node_id v = 0; v < p->txns; v++) {
        int64_t at;
        /* Also for one that may not take part: no known edge leaves it. */
        if (is_timed(p, v) && txn_stamp(h, p->g->node_txn[v], to, &at)) s[n++] = (stamp){at, v};
    }
    s = sort_stamps(p->m, s, n);
    uint32_t *point = mem_array(p->m, uint32_t, n + 1); /* per stamp: event of its time point */
    for (size_t i = 0; i < n; i++) {
        bool fresh = !i || s[i].at != s[i - 1].at;
        if (fresh) {
            point[i] = p->events++;
            if (i) add_known(p, point[i - 1], point[i]);
        } else {
            point[i] = point[i - 1];
        }
        add_known(p, point[i], event_of(p, s[i].node, to));
    }
    uint64_t drift = p->drift > 0 ? (uint64_t)p->drift : 0;
    for (size_t k = 0; k < kinds; k++)
        for (node_id v = 0; v < p->txns; v++) {
            int64_t end;
            if (!is_timed(p, v) || !txn_stamp(h, p->g->node_txn[v], from[k], &end)) continue;
            size_t lo = first_stamp_after(s, n, end, drift);
            if (lo == n) continue;
            arc a = {event_of(p, v, from[k]), point[lo]};
            if (p->in[v])
                vec_push(p->m, &p->known, a);
            else
                vec_push(p->m, &p->unsure, a);
        }
}

static void add_real_time(order_problem *p)
{
    static const enum stamp_kind commits[] = {COMMIT_RETURN},
                                 both[] = {COMMIT_RETURN, BEGIN_RETURN};
    if (p->rt & RT_CB) add_points(p, commits, 1, BEGIN_CALL);
    if (p->rt & (RT_CC | RT_BC)) add_points(p, both, 2, COMMIT_CALL);
}

/* --- reads of the initial state --------------------------------------------------------------- */

/* A reader of x's initial version precedes every writer of x.  One gate event a key keeps that
   linear: readers -> gate -> writers.  A reader that writes x itself stands after the other
   readers and before the gate; two of those exclude each other, and the edges say so. */
typedef struct gates {
    uint32_t *gate; /* per key: its event, or NO_ID */
    node_id *own;   /* per key: the first reader that writes it too, or NO_ID */
} gates;

/* A certain read of the initial state that must see it. */
static bool needs_gate(const order_problem *p, uint32_t ob)
{
    const asg *g = p->g;
    if (g->ob_rf[ob] != RF_INIT || !p->in[g->ob_node[ob]] || !strict_read(p, ob)) return false;
    return !(g->ob_flags[ob] & OB_OWN); /* the gate would shut out the reader's own version */
}

static void make_gates(order_problem *p, gates *x)
{
    asg *g = p->g;
    size_t keys = history_keys(g->h);
    asg_by_key(g);
    x->gate = mem_array(g->m, uint32_t, keys + 1);
    x->own = mem_array(g->m, node_id, keys + 1);
    memset(x->gate, 0xff, (keys + 1) * sizeof *x->gate);
    memset(x->own, 0xff, (keys + 1) * sizeof *x->own);
}

/* The reader of ob stands before the gate of its key. */
static void before_gate(order_problem *p, gates *x, uint32_t ob)
{
    asg *g = p->g;
    key_id k = g->ob_key[ob];
    node_id v = g->ob_node[ob], *own = &x->own[k];
    bool apart = p->si && !p->tight; /* writers may overlap: all begins, then commits */
    if (x->gate[k] == NO_ID) x->gate[k] = p->events++;
    assert(x->gate[k] > commit_of(p, p->txns - 1) && x->gate[k] < p->events);
    if (apart || asg_install(g, v, k) == NO_ID) {
        add_known(p, begin_of(p, v), x->gate[k]);
    } else if (*own == NO_ID || *own == v) {
        *own = v;
    } else {
        add_known(p, begin_of(p, v), commit_of(p, *own));
        add_known(p, begin_of(p, *own), commit_of(p, v));
    }
}

static void add_init_reads(order_problem *p)
{
    asg *g = p->g;
    gates x = {0};
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        if (!needs_gate(p, ob)) continue;
        if (!x.gate) make_gates(p, &x);
        before_gate(p, &x, ob);
    }
    if (!x.gate) return;
    for (size_t k = 0; k < history_keys(g->h); k++) {
        if (x.gate[k] == NO_ID) continue;
        if (x.own[k] != NO_ID) add_known(p, begin_of(p, x.own[k]), x.gate[k]);
        for (uint32_t i = g->kw_first[k]; i < g->kw_first[k + 1]; i++) {
            node_id w = g->inst_node[g->kw_inst[i]];
            if (w != x.own[k]) add_known(p, x.gate[k], commit_of(p, w));
        }
    }
    for (uint32_t ob = 0; ob < g->obs; ob++) { /* pure readers before the one that writes */
        node_id v = g->ob_node[ob], own = x.own[g->ob_key[ob]];
        if (own == NO_ID || own == v || !needs_gate(p, ob)) continue;
        if (asg_install(g, v, g->ob_key[ob]) == NO_ID)
            add_known(p, begin_of(p, v), commit_of(p, own));
    }
    mem_put(g->m, x.gate);
    mem_put(g->m, x.own);
}

/* --- assembling ------------------------------------------------------------------------------- */

void problem_index_readers(order_problem *p)
{
    asg *g = p->g;
    mem_put(p->m, p->reader_first);
    mem_put(p->m, p->reader);
    p->reader_first = mem_array0(p->m, uint32_t, g->insts + 2);
    for (uint32_t ob = 0; ob < g->obs; ob++)
        if (p->rf[ob] < RF_LAST) {
            assert(p->rf_inst[ob] < g->insts && g->inst_key[p->rf_inst[ob]] == g->ob_key[ob]);
            p->reader_first[p->rf_inst[ob] + 2]++;
        }
    for (size_t i = 2; i < g->insts + 2; i++) p->reader_first[i] += p->reader_first[i - 1];
    p->reader = mem_array(p->m, uint32_t, (size_t)p->reader_first[g->insts + 1] + 1);
    for (uint32_t ob = 0; ob < g->obs; ob++) {
        if (p->rf[ob] < RF_LAST) p->reader[p->reader_first[p->rf_inst[ob] + 1]++] = ob;
        guard_tick(p->m->guard);
    }
    assert(p->reader_first[g->insts] == p->reader_first[g->insts + 1]); /* all found their place */
}

/* Session order among the transactions that write. */
static node_id *so_of_updates(const asg *g)
{
    node_id *pred = mem_array(g->m, node_id, (size_t)g->nodes + 1);
    node_id *last = mem_array(g->m, node_id, (size_t)g->nodes + 1); /* v, or the update before */
    for (node_id v = 0; v < g->nodes; v++) {
        assert(g->so_pred[v] == NO_ID || g->so_pred[v] < v); /* so last[] of it is there */
        bool update = g->inst_first[v] < g->inst_first[v + 1];
        node_id before = g->so_pred[v] != NO_ID ? last[g->so_pred[v]] : NO_ID;
        pred[v] = update ? before : NO_ID;
        last[v] = update ? v : before;
    }
    mem_put(g->m, last);
    return pred;
}

/* Session order, and the order of the parts of a transaction, which counts always. */
static void add_session_order(order_problem *p)
{
    asg *g = p->g;
    p->so_pred = p->so && p->rule->strict == STRICT_UPDATES ? so_of_updates(g) : g->so_pred;
    for (node_id v = 0; v < g->nodes; v++)
        if (p->so_pred[v] != NO_ID && !asg_same(g, p->so_pred[v], v))
            add_dependency(p, p->so_pred[v], v, p->so);
    p->so_deps = p->deps.n;
    for (node_id v = 0; v < g->nodes; v++)
        if (p->so_pred[v] != NO_ID && asg_same(g, p->so_pred[v], v))
            add_dependency(p, p->so_pred[v], v, true);
}

/* Begin before commit, and what was surely read from before its reader. */
static void add_certain_reads(order_problem *p)
{
    asg *g = p->g;
    for (node_id v = 0; v < g->nodes; v++) {
        if (p->si) add_known(p, 2 * v, 2 * v + 1);
        if (!p->in[v]) continue;
        uint32_t before = NO_ID;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t w = g->ob_rf[ob];
            if (w >= RF_LAST || w == before) continue;
            add_dependency(p, w, v, true);
            before = w;
        }
        guard_tick(g->m->guard);
    }
}

/* Version orders that lists and hints show. */
static void add_shown_orders(order_problem *p)
{
    asg *g = p->g;
    for (size_t i = 0; i < g->extra.n; i++) {
        node_id from = g->extra.at[i].from, to = g->extra.at[i].to;
        if (!p->in[from] || !p->in[to]) continue;
        if (version_target(p, to) == begin_of(p, to))
            add_dependency(p, from, to, true);
        else
            add_known(p, commit_of(p, from), version_target(p, to));
    }
}

/* Lists with repeated elements: each border between elements, from the end of the initial list on,
   is an event.  A read stands after the border up to which it saw the list. */
static void add_slots(order_problem *p)
{
    asg *g = p->g;
    const list_slots *s = g->slots;
    if (!s) return;
    p->slot_event = mem_array(p->m, uint32_t, s->keys.n + 1);
    for (size_t k = 0; k < s->keys.n; k++) {
        uint32_t n = s->keys.at[k].len - s->keys.at[k].lo;
        p->slot_event[k] = p->events;
        p->events += n + 1;
        for (uint32_t i = 0; i < n; i++)
            add_known(p, p->slot_event[k] + i, p->slot_event[k] + i + 1);
    }
    for (size_t o = s->first_open; o < s->end_open; o++) {
        uint32_t key = s->read_key.at[o - s->first_open];
        uint32_t at = s->ends.at[o - s->first_open] - s->keys.at[key].lo;
        add_known(p, p->slot_event[key] + at, begin_of(p, g->ob_node[g->open.at[o]]));
    }
}

/* In a mixture only snapshots have a begin of their own. */
static void find_begins(order_problem *p)
{
    const asg *g = p->g;
    p->tight = p->rule->exclusive && !g->rows_deleted;
    if (p->rule->strict != STRICT_BY_ROW) return;
    assert(g->row);
    p->one_event = mem_array(p->m, uint8_t, (size_t)g->nodes + 1);
    for (node_id v = 0; v < g->nodes; v++) p->one_event[v] = g->row[v] != ROW_SI;
}

/* Reads that count for nothing are from nobody. */
static void ignore_reads(order_problem *p)
{
    size_t n = p->g->obs + 1;
    p->rf = mem_array(p->m, uint32_t, n);
    for (size_t i = 0; i < n; i++) p->rf[i] = RF_NONE;
}

void problem_build(order_problem *p, asg *g, const order_question *ask)
{
    bool si = ask->rule->events, so = ask->so;
    assert(g->h && ask->rule && ask->tune && ask->rule->id < RULES);
    memset(p, 0, sizeof *p);
    p->g = g;
    p->m = g->m;
    p->rule = ask->rule;
    p->si = si;
    p->so = so;
    p->rt = rule_real_time(ask->rule->level) | (ask->rt ? RT_CB : 0);
    p->drift = ask->drift;
    p->tune = ask->tune;
    p->present = ask->present;
    p->initial = ask->initial;
    p->shared = !si && so;
    p->txns = g->nodes;
    p->rf = g->ob_rf;
    p->rf_inst = g->ob_inst;
    if (g->nodes >= RF_LAST / 4)
        guard_fail(g->m->guard, GUARD_UNSUPPORTED, "more than 2^30 transactions");
    p->events = si ? 2 * g->nodes : g->nodes;
    find_begins(p);
    p->in = mem_array(g->m, uint8_t, (size_t)g->nodes + 1);
    bool ignored = ask->rule->strict == STRICT_IGNORED;
    for (node_id v = 0; v < g->nodes; v++)
        p->in[v] = ignored ? !g->maybe[v] : p->present ? p->present[v] : asg_in(g, v);
    add_session_order(p);
    if (ignored)
        ignore_reads(p);
    else
        add_certain_reads(p);
    add_shown_orders(p);
    if (!ignored) add_init_reads(p);
    if (!ignored) add_slots(p);
    if (p->rt) add_real_time(p);
    if (ask->added) added_build(p, ask->added, ask->logged);
    problem_index_readers(p);
    assert(!problem_check(p));
}

const char *problem_check(const order_problem *p)
{
    const asg *g = p->g;
    if (p->events < (p->si ? 2 * p->txns : p->txns)) return "too few events";
    for (size_t i = 0; i < p->known.n; i++)
        if (p->known.at[i].from >= p->events || p->known.at[i].to >= p->events)
            return "a known edge between no events";
    for (size_t i = 0; i < p->deps.n; i++)
        if (p->deps.at[i].from >= p->txns || p->deps.at[i].to >= p->txns)
            return "a dependency between no transactions";
    if (p->so_deps > p->deps.n) return "more session order than dependencies";
    for (node_id v = 0; v < p->txns; v++)
        if (!p->in[v] && !g->maybe[v]) return "a committed transaction may be left out";
    size_t certain = 0;
    for (uint32_t ob = 0; ob < g->obs; ob++) certain += p->rf[ob] < RF_LAST;
    if (p->reader_first[g->insts] != certain) return "readers are lost";
    for (uint32_t i = 0; i < g->insts; i++)
        for (uint32_t j = p->reader_first[i]; j < p->reader_first[i + 1]; j++)
            if (p->rf_inst[p->reader[j]] != i || p->rf[p->reader[j]] != g->inst_node[i])
                return "a reader stands at a version that it did not read";
    return NULL;
}

/* --- replay ----------------------------------------------------------------------------------- */

static const char *replay_reads(const order_problem *p, node_id v, const uint32_t *last)
{
    const asg *g = p->g;
    for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
        uint32_t seen = last[g->ob_key[ob]];
        if (g->list_key[g->ob_key[ob]]) { /* the last element names the writer */
            node_id w = seen == NO_ID ? RF_INIT : g->inst_node[seen];
            if (g->ob_rf[ob] != w) return "a list read sees another version";
            continue;
        }
        if (seen == NO_ID) {
            if (g->ob_rf[ob] != RF_INIT && g->ob_rf[ob] != RF_OPEN)
                return "a read sees the initial state";
            bool may = g->ob_rf[ob] == RF_INIT;
            value_id init = g->h->key_init[g->ob_key[ob]];
            may = may || g->ob_value[ob] == (init == VALUE_EMPTY ? VALUE_NULL : init);
            if (!may) return "a read sees the initial state";
        } else if (g->inst_value[seen] != g->ob_value[ob]) {
            return "a read sees another value";
        } else if (g->ob_rf[ob] < RF_LAST && g->ob_rf[ob] != g->inst_node[seen]) {
            return "a read sees another writer";
        }
    }
    return NULL;
}

const char *problem_replay(const order_problem *p, const uint32_t *pos, const uint8_t *out)
{
    asg *g = p->g;
    size_t keys = history_keys(g->h);
    for (size_t i = 0; i < p->known.n; i++)
        if (pos[p->known.at[i].from] >= pos[p->known.at[i].to]) return "a known edge is broken";
    uint32_t *at = mem_array(p->m, uint32_t, (size_t)p->events + 1);
    uint32_t *last = mem_array(p->m, uint32_t, keys + 1);
    memset(at, 0xff, ((size_t)p->events + 1) * sizeof *at);
    memset(last, 0xff, (keys + 1) * sizeof *last);
    const char *wrong = NULL;
    for (uint32_t e = 0; e < p->events && !wrong; e++) {
        if (pos[e] >= p->events || at[pos[e]] != NO_ID) wrong = "places are no permutation";
        if (!wrong) at[pos[e]] = e;
    }
    uint32_t txn_events = p->si ? 2 * p->txns : p->txns;
    for (uint32_t i = 0; i < p->events && !wrong; i++) {
        if (at[i] >= txn_events) continue;
        node_id v = txn_of(p, at[i]);
        if (out[v]) {
            if (p->in[v]) wrong = "a committed transaction is left out";
            continue;
        }
        if (at[i] == begin_of(p, v)) wrong = replay_reads(p, v, last);
        if (at[i] != commit_of(p, v)) continue;
        for (uint32_t j = g->inst_first[v]; j < g->inst_first[v + 1] && !wrong; j++) {
            uint32_t *prior = &last[g->inst_key[j]];
            if (p->rule->exclusive && !is_lax_key(p, g->inst_key[j]) && *prior != NO_ID &&
                pos[commit_of(p, g->inst_node[*prior])] > pos[begin_of(p, v)])
                wrong = "two writers of a key overlap";
            *prior = j;
        }
        guard_tick(p->m->guard);
    }
    mem_put(p->m, at);
    mem_put(p->m, last);
    if (!wrong && !added_kept(p, pos, out)) wrong = "what a module added is broken";
    return wrong;
}
