/*
 * explain.c - see explain.h.
 */
#include "explain/explain.h"

#include "base/map.h"
#include "opt/anomaly.h"

/* --- names ------------------------------------------------------------------------------------ */

static const anomaly_names names[ANOMALIES] = {
#define NAMES(id, adya, elle, berenson, gist) [ANOMALY_##id] = {adya, elle, berenson, gist},
#include "explain/names.def"
#undef NAMES
};

const anomaly_names *anomaly_names_of(uint32_t anomaly)
{
    return anomaly < ANOMALIES ? &names[anomaly] : NULL;
}

/* --- whom to look at -------------------------------------------------------------------------- */

typedef struct cast {
    mem *m;
    const history *h;
    txn_id txn[SCENE_MOST];
    uint32_t n;
} cast;

static bool is_in(const cast *c, txn_id t)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->txn[i] == t) return true;
    return false;
}

static void add(cast *c, txn_id t)
{
    if (c->n < SCENE_MOST && txn_status_of(c->h, t) != TXN_ABORTED && !is_in(c, t))
        c->txn[c->n++] = t;
}

/* Keys and values of the cast: what it reads, what it writes, and the keys. */
enum relation { READS, WRITES, TOUCHES, RELATIONS };

typedef struct ties {
    mem *m;
    key_set in[RELATIONS]; /* (key, value); of TOUCHES: (key, 0) */
} ties;

/* Calls for each key that operation o reads or writes: rows of scans, elements of lists. */
typedef struct visit {
    ties *t;
    bool insert, any;
    enum relation want; /* not inserting: the other side's relation that is looked for */
} visit;

static void touch(visit *v, bool reads, key_id k, value_id x)
{
    if (v->insert) {
        key_set_add(v->t->m, &v->t->in[reads ? READS : WRITES], map_pair(k, x));
        key_set_add(v->t->m, &v->t->in[TOUCHES], map_pair(k, 0));
        return;
    }
    /* It wrote what the cast read; it read what the cast wrote; it writes a key of the cast. */
    bool fits = v->want == READS ? !reads : v->want == WRITES ? reads : !reads;
    uint64_t tie = map_pair(k, v->want == TOUCHES ? 0 : x);
    if (fits && key_set_has(&v->t->in[v->want], tie)) v->any = true;
}

static void touch_value(visit *v, const history *h, bool reads, key_id k, value_id x)
{
    atom a = x > VALUE_NULL && x != VALUE_UNKNOWN ? value_atom(h, x) : (atom){0};
    if (x > VALUE_NULL && a.kind == ATOM_LIST) {
        for (uint32_t i = 0; i < a.len; i++) touch(v, reads, k, h->elements.at[a.as.offset + i]);
        if (a.len) return;
        x = VALUE_NULL;
    }
    touch(v, reads, k, x);
}

static void visit_txn(visit *v, const history *h, txn_id t)
{
    for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
        enum op_kind kind = op_kind_of(h, o);
        if (h->op_kind[o] & OP_FAILED) continue;
        if (kind != OP_SCAN && kind != OP_ITER) {
            touch_value(v, h, kind == OP_READ, h->op_key[o], h->op_value[o]);
            continue;
        }
        const range *r = &h->ranges.at[h->op_key[o]];
        for (uint32_t i = 0; i < r->rows; i++)
            touch_value(v, h, true, h->row_key.at[r->first_row + i],
                        h->row_value.at[r->first_row + i]);
    }
}

/* Adds transactions that stand in this relation to the cast, in the order of the history. */
static void grow(cast *c, enum relation want, uint32_t most)
{
    const history *h = c->h;
    ties t = {.m = c->m};
    visit v = {.t = &t, .insert = true};
    for (uint32_t i = 0; i < c->n; i++) visit_txn(&v, h, c->txn[i]);
    v.insert = false;
    v.want = want;
    for (size_t i = 0; i < h->txns && c->n < most; i++) {
        guard_tick(c->m->guard);
        if (txn_status_of(h, (txn_id)i) == TXN_ABORTED || is_in(c, (txn_id)i)) continue;
        v.any = false;
        visit_txn(&v, h, (txn_id)i);
        if (v.any) add(c, (txn_id)i);
    }
    for (int i = 0; i < RELATIONS; i++) key_set_free(c->m, &t.in[i]);
}

/* --- the argument ----------------------------------------------------------------------------- */

static void forget(explanation *e)
{
    vec_free(e->m, &e->arg.links);
    vec_free(e->m, &e->arg.nodes);
    vec_free(e->m, &e->arg.child);
    vec_free(e->m, &e->arg.committed);
    vec_free(e->m, &e->scene.writes);
    vec_free(e->m, &e->scene.reads);
    vec_free(e->m, &e->scene.chain);
    vec_free(e->m, &e->scene.keys);
    mem_put(e->m, e->scene.slot);
    e->scene.slot = NULL;
}

static bool argue(explanation *e, const cast *c, enum ryow ryow)
{
    if (e->scene.slot) forget(e);
    scene_build(&e->scene, e->m, e->h, ryow, c->txn, c->n);
    e->arg.m = e->m;
    if (!argument_find(&e->arg, &e->scene, &e->ask, &e->who)) return false;
    const char *wrong = argument_check(&e->arg, &e->scene, &e->ask, e->m);
    e->argued = !wrong;
    e->why_not = wrong;
    return e->argued;
}

/* Is there an anti-dependency in a cycle of the argument; with `rows`, one of a scan that did not
   find a key? */
static bool misses(const argument *a, uint32_t at, bool rows)
{
    const arg_node *n = &a->nodes.at[at];
    for (uint32_t i = 0; i < n->n; i++) {
        const arg_link *l = n->kind == ARG_CYCLE ? &a->links.at[n->first + i] : NULL;
        if (l ? l->kind == LINK_RW && (!rows || l->predicate)
              : misses(a, a->child.at[n->first + i], rows))
            return true;
    }
    return false;
}

/* What a violation of the level is called that has no better name. */
static uint32_t name_of_level(enum level_id level)
{
    switch (level) {
    case LEVEL_CS: return ANOMALY_CURSOR_LOST_UPDATE;
    case LEVEL_MAV: return ANOMALY_OBSERVED_TRANSACTION_VANISHES;
    case LEVEL_RA: return ANOMALY_FRACTURED_READ;
    case LEVEL_CC: return ANOMALY_CAUSALITY_VIOLATION;
    case LEVEL_MV:
    case LEVEL_CV:
    case LEVEL_FCV:
    case LEVEL_PSI:
    case LEVEL_UA:
    case LEVEL_NLU: return ANOMALY_G_SINGLE;
    case LEVEL_RR:
    case LEVEL_US:
    case LEVEL_SER:
    case LEVEL_SSER:
    case LEVEL_LIN: return ANOMALY_G2_ITEM;
    default: return ANOMALY_G_NONADJACENT;
    }
}

uint32_t argument_weight(const argument *a, uint32_t leaf)
{
    const arg_node *n = &a->nodes.at[leaf];
    uint32_t weight = 4;
    for (uint32_t i = 0; n->kind == ARG_CYCLE && i < n->n; i++)
        weight += a->links.at[n->first + i].kind == LINK_RW ? 5 : 4;
    return weight;
}

uint32_t argument_goes_on(const argument *a, const arg_node *split)
{
    if (split->n != 2) return NO_ID;
    uint32_t x = a->child.at[split->first], y = a->child.at[split->first + 1];
    uint32_t wx = argument_weight(a, x), wy = argument_weight(a, y);
    uint32_t light = wx < wy ? x : y;
    /* (one that is longer than a pair is a case of its own) */
    if (wx == wy || (a->nodes.at[light].kind == ARG_CYCLE && a->nodes.at[light].n > 2))
        return NO_ID;
    return wx < wy ? 1 : 0;
}

/* The cycle that everything leads to, if there is one: NULL where cases stand side by side. */
static const arg_node *last_cycle(const argument *a)
{
    const arg_node *n = &a->nodes.at[a->root];
    while (!arg_leaf(n)) {
        uint32_t inner = 0, on = NO_ID;
        for (uint32_t i = 0; i < n->n; i++) {
            if (arg_leaf(&a->nodes.at[a->child.at[n->first + i]])) continue;
            on = i;
            inner++;
        }
        if (!inner) on = argument_goes_on(a, n);
        if (inner > 1 || on == NO_ID) return NULL;
        n = &a->nodes.at[a->child.at[n->first + on]];
    }
    return n->kind == ARG_CYCLE ? n : NULL;
}

/* Well-known cycles have names of their own. */
static uint32_t name_of_cycle(const argument *a, uint32_t anomaly)
{
    const arg_node *n = last_cycle(a);
    if (!n) return anomaly;
    const arg_link *l = &a->links.at[n->first];
    uint32_t rw = 0, wr = 0, rt = 0, adjacent = 0;
    for (uint32_t i = 0; i < n->n; i++) {
        rw += l[i].kind == LINK_RW;
        wr += l[i].kind == LINK_WR;
        rt += l[i].kind == LINK_RT;
        adjacent += l[i].kind == LINK_RW && l[(i + 1) % n->n].kind == LINK_RW;
    }
    if (rt) return anomaly;
    if (n->n == 4 && rw == 2 && wr == 2 && !adjacent) return ANOMALY_LONG_FORK;
    if (n->n == 2 && rw == 2 && l[0].key != l[1].key) return ANOMALY_WRITE_SKEW;
    if (n->n == 2 && rw == 1 && wr == 1) return ANOMALY_READ_SKEW;
    return anomaly;
}

/* The answer's name, where the argument fits it: a circle of dependencies is one only if no read of
   an old version takes part, and some anomalies have other names where it is a scan that was
   overtaken. */
static uint32_t finer_name(const explanation *e, uint32_t anomaly)
{
    const argument *a = &e->arg;
    const arg_node *root = &a->nodes.at[a->root];
    if (root->kind == ARG_TWICE)
        return e->scene.reads.at[root->read].predicate || e->scene.reads.at[root->other].predicate
                   ? ANOMALY_PHANTOM
                   : ANOMALY_FUZZY_READ;
    if (root->kind == ARG_FAULT && e->scene.reads.at[root->read].nobody)
        return ANOMALY_GARBAGE_READ;
    bool circle = anomaly == ANOMALY_CIRCULAR_INFORMATION_FLOW || anomaly == ANOMALY_DIRTY_WRITE;
    if (circle && misses(a, a->root, false)) anomaly = name_of_level(e->ask.level);
    if (anomaly == ANOMALY_G_SINGLE || anomaly == ANOMALY_G_NONADJACENT ||
        anomaly == ANOMALY_G2_ITEM)
        anomaly = name_of_cycle(a, anomaly);
    if (!misses(a, a->root, true)) return anomaly;
    switch (anomaly) {
    case ANOMALY_FUZZY_READ: return ANOMALY_PHANTOM;
    case ANOMALY_WRITE_SKEW: return ANOMALY_PREDICATE_WRITE_SKEW;
    case ANOMALY_G2_ITEM: return ANOMALY_G2;
    default: return anomaly;
    }
}

/* The given ones first; then also those who have to do with them. */
static void look_for_argument(explanation *e, const explain_ask *q)
{
    const history *h = e->h;
    cast c = {.m = e->m, .h = h};
    for (size_t i = 0; i < q->n; i++) add(&c, q->core[i]);
    e->why_not = "no argument about a few transactions was found";
    if (argue(e, &c, q->ryow) || q->alone) return;
    /* Whom they read from, who read from them, who else writes their keys. */
    static const uint32_t most[RELATIONS] = {24, 32, 40};
    for (unsigned r = READS; r < RELATIONS; r++) {
        uint32_t before = c.n;
        grow(&c, (enum relation)r, most[r]);
        if (c.n != before && argue(e, &c, q->ryow)) return;
    }
    size_t living = 0;
    for (size_t t = 0; t < h->txns; t++) living += txn_status_of(h, (txn_id)t) != TXN_ABORTED;
    for (size_t t = 0; living <= SCENE_MOST && t < h->txns; t++) add(&c, (txn_id)t);
    if (living <= SCENE_MOST) argue(e, &c, q->ryow);
}

void explain(explanation *e, mem *m, const history *h, const explain_ask *q)
{
    memset(e, 0, sizeof *e);
    e->m = m;
    e->h = h;
    e->anomaly = q->anomaly;
    e->ask = (arg_ask){q->level.id, q->session_order,
                       q->level.realtime || q->level.id == LEVEL_SSER || q->level.id == LEVEL_LIN,
                       q->drift};
    if (!shape_of(q->level.id)) {
        e->why_not = "there are no such arguments for this level";
        return;
    }
    /* InnoDB's levels also want whole transactions to be read-committed, with sources and orders of
       their own: an argument is about one or the other. */
    if (shape_of(q->level.id)->graph >= GRAPH_PARTS) {
        e->ask.level = LEVEL_RC;
        look_for_argument(e, q);
        if (!e->argued) e->ask.level = q->level.id;
    }
    if (!e->argued) look_for_argument(e, q);
    if (e->argued) e->anomaly = finer_name(e, q->anomaly);
}
