/*
 * choose_sources.c - searching the choices of ambiguous histories for the levels above
 * read-committed.
 *
 * First a few guesses (each open read sees the latest candidate that looks early enough): one that
 * passes the test is an answer, one that fails says nothing.  Then depth-first search over the
 * open reads of
 * transactions that take part; choosing a transaction of unknown outcome as writer makes it take
 * part, with its own reads.  Keys whose list order is unknown come first: statuses and orders of
 * their writers are enumerated, and the reads of such a key get their candidates from the order.
 *
 * Histories of at most WEAK_SMALL transactions are searched to the end; larger ones up to
 * WEAK_CHOICES tests or WORK elementary steps, whichever comes first (mostly the latter).
 */
#include <assert.h>

#include "base/search.h"
#include "base/sort.h"
#include "decide/weak/weak.h"
#include "decide/exhaustive/unordered_lists.h"

#define WORK ((uint64_t)1 << 27) /* some seconds */

typedef struct chooser {
    asg *g;
    enum weak_level level;
    bool so;
    decision *a;
    VEC(uint32_t) open;   /* indices into g->open, fewest candidates first */
    uint32_t *init_uses;  /* per key with an open initial value: reads that chose it */
    value_id *init_value; /* ... and the value they saw */
    VEC(node_id) trail;   /* unknown transactions taken, for undoing */
    uint64_t work;
    bool limited, gave_up;
    bool fixed; /* outcomes are given: nobody else may be taken */
} chooser;

static bool test(chooser *c)
{
    view w = {.so = c->so, .extra = true, .rf = c->a->rf, .out = c->a->out};
    c->a->tried++;
    c->work += (uint64_t)asg_obs(c->g) + c->g->nodes + c->g->insts;
    if (c->limited && (c->a->tried > WEAK_CHOICES || c->work > WORK)) c->gave_up = true;
    guard_poll(c->g->m->guard);
    return weak_test(c->g, &w, c->level, c->a, false);
}

/* Makes an unknown transaction take part, with all that its own reads need. */
static bool take(chooser *c, node_id v)
{
    asg *g = c->g;
    size_t next = c->trail.n;
    if (!c->a->out[v]) return true;
    c->a->out[v] = 0;
    vec_push(g->m, &c->trail, v);
    while (next < c->trail.n) {
        node_id u = c->trail.at[next++];
        assert(!c->a->out[u] && g->maybe[u]); /* only unknown outcomes are chosen */
        if (g->barred[u]) return false;
        for (uint32_t ob = g->ob_first[u]; ob < g->ob_first[u + 1]; ob++) {
            uint32_t rf = c->a->rf[ob];
            if (rf == RF_NONE) return false;
            if (rf < RF_LAST && c->a->out[rf]) {
                c->a->out[rf] = 0;
                vec_push(g->m, &c->trail, rf);
            }
        }
    }
    return true;
}

static void untake(chooser *c, size_t keep)
{
    assert(keep <= c->trail.n);
    while (c->trail.n > keep) c->a->out[c->trail.at[--c->trail.n]] = 1;
}

typedef struct choice {
    uint32_t open; /* index into g->open */
    uint32_t cand; /* index into g->cand of the current try */
    size_t trail;
} choice;

static bool assign(chooser *c, const choice *x)
{
    asg *g = c->g;
    uint32_t ob = g->open.at[x->open], to = asg_cand(g, x->open, x->cand);
    key_id k = g->ob_key[ob];
    assert(c->a->rf[ob] == RF_OPEN && (to < g->nodes || to == RF_INIT));
    c->a->rf[ob] = to;
    if (to == RF_INIT) {
        if (!g->init_open || !g->init_open[k]) return true;
        if (c->init_uses[k] && c->init_value[k] != g->ob_value[ob]) {
            c->a->rf[ob] = RF_OPEN;
            return false;
        }
        c->init_uses[k]++;
        c->init_value[k] = g->ob_value[ob];
        return true;
    }
    if (c->fixed ? !c->a->out[to] : take(c, to)) return true;
    untake(c, x->trail);
    c->a->rf[ob] = RF_OPEN;
    return false;
}

static void unassign(chooser *c, const choice *x)
{
    asg *g = c->g;
    uint32_t ob = g->open.at[x->open];
    key_id k = g->ob_key[ob];
    assert(c->a->rf[ob] != RF_OPEN && x->trail <= c->trail.n);
    if (c->a->rf[ob] == RF_INIT && g->init_open && g->init_open[k]) c->init_uses[k]--;
    untake(c, x->trail);
    c->a->rf[ob] = RF_OPEN;
}

static uint32_t next_open(const chooser *c)
{
    asg *g = c->g;
    for (size_t i = 0; i < c->open.n; i++) {
        uint32_t ob = g->open.at[c->open.at[i]];
        if (c->a->rf[ob] == RF_OPEN && !c->a->out[g->ob_node[ob]]) return c->open.at[i];
    }
    return NO_ID;
}

/* Depth-first over the open reads; the stack is ours, since a history may have many of them. */
static bool search(chooser *c)
{
    asg *g = c->g;
    VEC(choice) stack = {0};
    bool down = test(c), found = false;
    for (;;) {
        if (c->gave_up) break;
        if (down) {
            uint32_t o = next_open(c);
            if (o == NO_ID) {
                found = true;
                break;
            }
            choice x = {o, g->cand_first.at[o], c->trail.n};
            vec_push(g->m, &stack, x);
        } else {
            if (!stack.n) break;
            unassign(c, &stack.at[stack.n - 1]);
            stack.at[stack.n - 1].cand++;
        }
        choice *top = &stack.at[stack.n - 1];
        down = false;
        while (top->cand < g->cand_first.at[top->open + 1]) {
            if (assign(c, top)) {
                if (test(c)) {
                    down = true;
                    break;
                }
                unassign(c, top);
            }
            if (c->gave_up) break;
            top->cand++;
        }
        if (!down) stack.n--;
    }
    assert(!found || next_open(c) == NO_ID);
    vec_free(g->m, &stack);
    return found;
}

/* --- guesses ---------------------------------------------------------------------------------- */

/* How late a transaction seems to be: by its end time, or by its depth in what is known. */
static int64_t *lateness(chooser *c)
{
    asg *g = c->g;
    const history *h = g->h;
    int64_t *late = mem_array(g->m, int64_t, (size_t)g->nodes + 1);
    bool timed = h->txn_end != NULL;
    for (node_id v = 0; v < g->nodes && timed; v++)
        timed = (h->txn_flags[g->node_txn[v]] & TXN_HAS_END) != 0;
    if (timed) {
        for (node_id v = 0; v < g->nodes; v++) late[v] = h->txn_end[g->node_txn[v]];
        return late;
    }
    view w = {.so = true, .extra = true, .rf = g->ob_rf, .out = NULL};
    memset(late, 0, ((size_t)g->nodes + 1) * sizeof *late);
    if (!graph_order(g, &w, c->a->order, &c->a->n, &c->a->path)) return late;
    for (uint32_t i = 0; i < c->a->n; i++) {
        node_id v = c->a->order[i];
        int64_t d = g->so_pred[v] != NO_ID ? late[g->so_pred[v]] + 1 : 0;
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++)
            if (g->ob_rf[ob] < RF_LAST && late[g->ob_rf[ob]] + 1 > d) d = late[g->ob_rf[ob]] + 1;
        late[v] = d;
    }
    return late;
}

/* The candidates of each group that surely take part, by lateness; equally late ones backwards, so
   that the last of them is the first candidate. */
typedef struct late_groups {
    const int64_t *late;
    node_id *node; /* those of group i: [first[i], end[i]) */
    uint32_t *first, *end;
} late_groups;

static void sort_groups(asg *g, const int64_t *late, late_groups *x)
{
    size_t n = g->cand_pool.n, groups = g->cand_groups.n, live = 0;
    uint64_t *key = mem_array(g->m, uint64_t, n + 1);
    uint32_t *group = mem_array(g->m, uint32_t, n + 1);
    node_id *who = mem_array(g->m, node_id, n + 1);
    x->late = late;
    x->node = mem_array(g->m, node_id, n + 1);
    x->first = mem_array(g->m, uint32_t, groups + 1);
    x->end = mem_array(g->m, uint32_t, groups + 1);
    for (size_t i = groups; i-- > 0;) {
        cand_group y = g->cand_groups.at[i];
        x->first[i] = x->end[i] = y.first;
        for (uint32_t j = y.n; j-- > 0;) {
            node_id v = g->cand_pool.at[y.first + j];
            if (v >= RF_LAST || !asg_in(g, v)) continue; /* leave unknown ones out */
            key[live] = sort_key(late[v]);
            group[live] = (uint32_t)i;
            who[live++] = v;
        }
    }
    uint32_t *order = sort_by_key(g->m, key, (uint32_t)live);
    for (size_t i = 0; i < live; i++) x->node[x->end[group[order[i]]]++] = who[order[i]];
    mem_put(g->m, order);
    mem_put(g->m, who);
    mem_put(g->m, group);
    mem_put(g->m, key);
}

/* The latest candidate up to that lateness, else the initial state, else the earliest one; RF_OPEN
   if there is none. */
static uint32_t guess_source(const asg *g, const late_groups *x, size_t open, int64_t limit)
{
    cand_ref r = g->cand_ref.at[open];
    uint32_t lo = x->first[r.group], hi = x->end[r.group];
    node_id own =
        r.skip != NO_ID ? g->cand_pool.at[g->cand_groups.at[r.group].first + r.skip] : NO_ID;
    assert(lo <= hi && hi - lo <= g->cand_groups.at[r.group].n);
    SEARCH_FIRST(uint32_t, p, lo, hi, x->late[x->node[p]] > limit);
    if (p > lo && x->node[p - 1] == own) p--;
    if (p > lo) return x->node[p - 1];
    if (asg_cand_init(g, open)) return RF_INIT;
    if (lo < hi && x->node[lo] == own) lo++;
    if (lo == hi) return RF_OPEN;
    assert(x->node[lo] != own && asg_in(g, x->node[lo]));
    SEARCH_FIRST(uint32_t, q, lo, hi, x->late[x->node[q]] > x->late[x->node[lo]]);
    return x->node[q - 1] == own ? x->node[q - 2] : x->node[q - 1];
}

static bool guess(chooser *c, const late_groups *x, int64_t slack)
{
    asg *g = c->g;
    for (node_id v = 0; v < g->nodes; v++) c->a->out[v] = !asg_in(g, v);
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i];
        node_id reader = g->ob_node[ob];
        uint32_t best = guess_source(g, x, i, x->late[reader] + slack);
        if (best == RF_OPEN && asg_in(g, reader)) return false;
        c->a->rf[ob] = best;
    }
    return test(c);
}

static void reset(chooser *c)
{
    asg *g = c->g;
    memcpy(c->a->rf, g->ob_rf, asg_obs(g) * sizeof *c->a->rf);
    for (node_id v = 0; v < g->nodes; v++) c->a->out[v] = !asg_in(g, v);
    c->trail.n = 0;
}

static void sort_open(chooser *c)
{
    asg *g = c->g;
    /* counting sort by number of candidates, capped */
    enum { CAP = 64 };
    for (uint32_t want = 2; want <= CAP; want++)
        for (uint32_t i = 0; i < g->open.n; i++) {
            uint32_t n = g->cand_first.at[i + 1] - g->cand_first.at[i];
            if (n == want || (want == CAP && n > CAP) || (want == 2 && n < 2))
                vec_push(g->m, &c->open, i);
        }
    assert(c->open.n == g->open.n);
}

static void start(chooser *c)
{
    asg *g = c->g;
    if (!g->init_open) return;
    c->init_uses = mem_array0(g->m, uint32_t, history_keys(g->h) + 1);
    c->init_value = mem_array0(g->m, value_id, history_keys(g->h) + 1);
}

static void finish(chooser *c)
{
    asg *g = c->g;
    mem_put(g->m, c->init_uses);
    mem_put(g->m, c->init_value);
    vec_free(g->m, &c->open);
    vec_free(g->m, &c->trail);
}

bool choose_fixed(asg *g, enum weak_level level, bool so, decision *a)
{
    chooser c = {.g = g, .level = level, .so = so, .a = a, .fixed = true};
    start(&c);
    memcpy(a->rf, g->ob_rf, asg_obs(g) * sizeof *a->rf);
    sort_open(&c);
    bool found = search(&c);
    finish(&c);
    return found;
}

void choose_decide(asg *g, enum weak_level level, bool so, bool deep, decision *a)
{
    chooser c = {.g = g, .level = level, .so = so, .a = a};
    c.limited = g->nodes > WEAK_SMALL;
    start(&c);
    if (g->wild_lists) {
        if (c.limited) {
            a->undecided =
                "lists with repeated elements, writes or deletes need a search that this "
                "build does for up to 8 transactions";
            return;
        }
        a->holds = wild_decide(g, level, so, a);
        a->why = a->holds ? WHY_NONE : WHY_SEARCH;
        finish(&c);
        return;
    }
    if (!g->init_open) {
        int64_t *late = lateness(&c);
        int64_t slacks[] = {-1, 0, 1, 8};
        late_groups groups;
        sort_groups(g, late, &groups);
        for (size_t i = 0; i < sizeof slacks / sizeof *slacks && !c.gave_up; i++)
            if (guess(&c, &groups, slacks[i])) {
                a->holds = true;
                return;
            }
        mem_put(g->m, groups.node);
        mem_put(g->m, groups.first);
        mem_put(g->m, groups.end);
        mem_put(g->m, late);
    }
    if (c.limited && !deep) {
        a->undecided = "reads are ambiguous";
        finish(&c);
        return;
    }
    reset(&c);
    sort_open(&c);
    if (search(&c)) {
        a->holds = true;
    } else if (c.gave_up) {
        a->undecided = "too many ways to match reads with writers (duplicate values, deletes or "
                       "unknown outcomes): the search gave up";
    } else {
        a->why = WHY_SEARCH;
    }
    finish(&c);
}
