/*
 * order_problem.h - the IR of serializability and snapshot isolation: one total order to be found.
 *
 * Events are what is ordered: a transaction is one event for serializability, its begin and its
 * commit for snapshot isolation (begin/commit graphs: Viper, section 3).  Known edges are written
 * out; the version order of each key, quadratic if written out, stays implicit: the IR holds per
 * key the installs and per install its readers, and the solver asks for single pairs when its
 * order breaks one (doc/algorithms/strong.md).
 *
 *   a read of x by v from w, another writer u of x:   u before w, or v before u
 *   SER   u -> w              or  v -> u
 *   SI    C(u) -> B(w)        or  B(v) -> C(u)
 *   SI    two writers a, b of a key:   C(a) -> B(b)  or  C(b) -> B(a)
 *
 * Real-time edges (strict serializability) go through a chain of time points, and reads of the
 * initial state through one gate a key, so that both are linear in number: events beyond those of
 * transactions.
 */
#ifndef RATEL_ORDER_ORDER_PROBLEM_H
#define RATEL_ORDER_ORDER_PROBLEM_H

#include <assert.h>

#include "asg/asg.h"
#include "order/rule.h"
#include "opt/tuning.h"

/* An edge between events, or between transactions. */
typedef struct arc {
    uint32_t from, to;
} arc;

/* An edge that a read makes certain, given what is known: with rw, the reader before the writer
   `to`; else the writer `from`, visible to the reader, before the one that was read. */
typedef struct forced {
    node_id from, to;
    uint32_t ob;
    bool rw;
} forced;

typedef struct order_problem {
    asg *g;
    mem *m;
    const level_rule *rule;
    bool si; /* begin and commit are events of their own */
    /* Mixtures, else NULL: per node, 1 if begin and commit are one event, the commit.  Its other
       event is there and means nothing; nothing but the commit comes after it. */
    uint8_t *one_event;
    bool tight; /* writers of a key never overlap, so that a version's begin is after the one before
                   it; else at most for some keys (lax_key) */
    bool so;
    unsigned rt; /* RT_* */
    int64_t drift;
    const tuning *tune;
    const uint8_t *present;  /* as asked */
    const value_id *initial; /* as asked */
    uint32_t txns;           /* nodes of the semantic graph */
    uint32_t events;         /* txns, or 2 * txns, and after them the helpers */
    uint8_t *in;             /* per node: surely takes part */
    node_id *so_pred; /* the graph's; with STRICT_UPDATES and session order, among updates only */
    uint32_t *slot_event; /* per key of g->slots: the event of its first border; or NULL */
    VEC(arc) known;       /* between events */
    VEC(arc) unsure;      /* known edges that count only if the transaction they leave takes part */
    bool shared;    /* events are transactions and session order counts: known serves as deps */
    VEC(arc) deps;  /* unless shared: so (also when it only guides), wr, ww of transactions */
    size_t so_deps; /* how many of deps are session order; they stand first */
    /* What obligations read from: the graph's arrays, or own copies once candidates were ruled out
       for this problem; dropped, parallel to g->cand, may be NULL. */
    uint32_t *rf, *rf_inst;
    uint8_t *dropped;
    VEC(forced) forced;              /* added to known while deciding, with their reasons */
    uint32_t *reader_first, *reader; /* obligations by install */
    struct added_order *added;       /* added_order.h: what modules added; NULL: nothing */
    struct justify *justify;         /* decide/proof/justify.h; NULL unless a proof is wanted */
    bool plain;                      /* derive nothing before the search */
    bool only_holds; /* a stronger question than the one that was asked: only a yes counts ... */
    bool brief;      /* ... and a run that finds it only after long is better left for later */
} order_problem;

static inline uint32_t begin_of(const order_problem *p, node_id v)
{
    return !p->si ? v : p->one_event ? 2 * v + p->one_event[v] : 2 * v;
}
static inline uint32_t commit_of(const order_problem *p, node_id v)
{
    return p->si ? 2 * v + 1 : v;
}
static inline node_id txn_of(const order_problem *p, uint32_t event)
{
    assert(event < p->events);
    return p->si ? event / 2 : event;
}

/* What is asked of the order: snapshot isolation or serializability, what counts. */
typedef struct order_question {
    const level_rule *rule;
    bool so, rt; /* rt: a transaction that ended before another began stands before it */
    int64_t drift;
    const tuning *tune;
    /* What another order has settled, or NULL: per node, who takes part; per key, the initial value
       if that is a choice (VALUE_UNKNOWN: still open). */
    const uint8_t *present;
    const value_id *initial;
    const struct additions *added; /* what modules added; NULL: nothing */
    bool logged;                   /* ... in the form that a proof needs (added_order.h) */
} order_question;

/* "u before w" for two writers of a key is an edge from u's commit to this event of w: where
   writers may overlap (prefix) only commits are ordered. */
static inline uint32_t version_target(const order_problem *p, node_id w)
{
    return p->si && !p->tight ? commit_of(p, w) : begin_of(p, w);
}

/* May two transactions that both write the key overlap, where those of other keys may not? */
static inline bool is_lax_key(const order_problem *p, key_id k)
{
    return p->g->lax_key && p->g->lax_key[k];
}

/* Must the read see the version that the order gives it? */
static inline bool strict_read(const order_problem *p, uint32_t ob)
{
    const asg *g = p->g;
    switch (p->rule->strict) {
    case STRICT_ALL: return true;
    case STRICT_ITEM: return !(g->ob_flags[ob] & OB_PRED);
    case STRICT_OWN:
        return !(g->ob_flags[ob] & OB_PRED) &&
               asg_install(g, g->ob_node[ob], g->ob_key[ob]) != NO_ID;
    case STRICT_UPDATES: return g->inst_first[g->ob_node[ob]] < g->inst_first[g->ob_node[ob] + 1];
    case STRICT_BY_ROW: {
        unsigned row = g->row[g->ob_node[ob]];
        return row >= ROW_SI || (row == ROW_RR && !(g->ob_flags[ob] & OB_PRED));
    }
    case STRICT_IGNORED:
    case STRICT_NONE: break;
    }
    return false;
}

/* Makes reader_first and reader again, after rf changed. */
void problem_index_readers(order_problem *p);
void problem_build(order_problem *p, asg *g, const order_question *ask);
/* All of `from` surely stands before all of `to`. */
void problem_depend(order_problem *p, node_id from, node_id to);
const char *problem_check(const order_problem *p); /* NULL or what is broken */

/* Walks an order of the events as a database would run it: known edges, every read and, for
   snapshot isolation, overlaps.  Shares nothing with the search; NULL if the order is an answer,
   else what is wrong with it. */
const char *problem_replay(const order_problem *p, const uint32_t *pos, const uint8_t *out);

/* exhaustive.c: every order of at most 8 transactions, by replay; exact for any operation.  On
   success `order` is the commit order, and rf says what the obligations of its members read. */
bool small_decide(asg *g, bool si, bool so, bool rt, int64_t drift, node_id *order, uint32_t *rf,
                  uint32_t *n);
/* exhaustive_graph.c: as small_decide() for every other rule, with every source that a read can
   have had.  RF_NONE in rf: own writes explain the read. */
bool small_graph(asg *g, const level_rule *rule, bool so, node_id *order, uint32_t *rf,
                 uint32_t *n);

/* Times of a transaction, intervals first: false if it has none. */
bool txn_begin_time(const history *h, txn_id t, int64_t *at);
bool txn_end_time(const history *h, txn_id t, int64_t *at);
enum stamp_kind { BEGIN_CALL, BEGIN_RETURN, COMMIT_CALL, COMMIT_RETURN };
bool txn_stamp(const history *h, txn_id t, enum stamp_kind kind, int64_t *at);

#endif
