/*
 * sparse_suspects.c - see sparse_suspects.h.
 *
 * The bound on candidates rises from one.  A smaller bound is decided sooner and names fewer for
 * each read, a larger one may need fewer reads; so the search goes on for a few sets after the
 * first, and whoever asked takes the smallest that is left of them.
 */
#include "verdict/sparse_suspects.h"

#include <assert.h>

#include "base/clock.h"
#include "decide/proof/justify.h"

#define ENOUGH_SETS 4u
#define MOST_NODES 200000u /* beyond, a second graph of everything is too much */
#define MOST_LISTS 4096u   /* lists are looked up one by one in a part */
#define MOST_CONFLICTS 20000u

static const tuning lazily = {.strategy = STRATEGY_LAZY};

typedef struct sieve {
    const verdict *v;
    const problem *p;
    part *all;
    uint8_t *txn_out, *op_out; /* of `all` */
    parts *out;
} sieve;

/* Leaves out the reads that more than `most` can explain; false: it leaves out what it did. */
static bool leave_ambiguous(sieve *s, uint32_t most)
{
    bool changed = false;
    for (size_t i = 0; i < s->all->ops.n; i++) {
        const part_op *o = &s->all->ops.at[i];
        bool gone = (o->kind & OP_KIND_MASK) == OP_READ && o->n > most;
        changed = changed || gone != s->op_out[i];
        s->op_out[i] = gone;
    }
    return changed;
}

/* Is what is left violated, with a proof?  Then those that the proof names are suspects. */
static void decide_sparse(sieve *s)
{
    asg *g = s->p->g;
    asg few;
    decision a;
    const history *h = part_history(s->all, s->txn_out, s->op_out);
    asg_build(&few, h, g->m, s->v->ryow,
              asg_level_flags(s->v->level.id) | (h->init_unknown ? ASG_INIT_FREE : 0));
    if (few.faults.n || few.wild_lists || few.init_open) return;
    problem q = {.g = &few, .ask = s->p->ask, .log = KEEP_LOG};
    q.ask.tune = &lazily;
    decide(&q, MOST_CONFLICTS, &a);
    if (!decision_violated(&a) || !justify_steps(q.order.justify, &a)) return;
    uint8_t *named = mem_array0(g->m, uint8_t, (size_t)few.nodes + 1);
    uint8_t *in = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    justify_nodes(q.order.justify, named);
    for (node_id x = 0; x < few.nodes; x++)
        if (named[x]) in[g->txn_node[s->all->txn[s->all->kept[few.node_txn[x]]]]] = 1;
    vec_push(s->v->mem, s->out, part_new(s->v->mem, g, in));
    mem_put(g->m, named);
    mem_put(g->m, in);
}

static void raise_bound(sieve *s)
{
    asg *g = s->p->g;
    uint8_t *in = mem_array(g->m, uint8_t, (size_t)g->nodes + 1);
    memset(in, 1, (size_t)g->nodes + 1);
    s->all = part_new(g->m, g, in);
    if (s->all->lists > MOST_LISTS) return;
    s->txn_out = mem_array0(g->m, uint8_t, (size_t)s->all->txns + 1);
    s->op_out = mem_array0(g->m, uint8_t, s->all->ops.n + 1);
    leave_ambiguous(s, 1);
    for (uint32_t most = 1; s->out->n < ENOUGH_SETS;) {
        decide_sparse(s);
        do {
            most += 1 + most / 4;
            if (most > g->nodes) return;
        } while (!leave_ambiguous(s, most));
    }
}

/* Does every read of the level respect session order, and who read from whom? */
static bool respects_order(const verdict *v)
{
    const level_ref *level = &v->level;
    return level->id == LEVEL_CC || level_implies(level->id, v->session_order, level->realtime,
                                                  LEVEL_CC, v->session_order, false);
}

void sparse_suspects(const verdict *v, const problem *p, parts *out)
{
    asg *g = p->g;
    guard *now = g->m->guard, before = *now;
    sieve s = {.v = v, .p = p, .out = out};
    uint64_t at = clock_now();
    assert(v->outcome == OUTCOME_VIOLATED);
    if (!g->open.n || g->wild_lists || g->init_open || g->nodes > MOST_NODES) return;
    if (now->deadline > at) now->deadline = at + (now->deadline - at) / 2;
    if (!guard_armed(now)) {
        if (respects_order(v)) impossible_reads(v, p, out);
        if (!out->n) raise_bound(&s);
        guard_restore(now, &before);
        return;
    }
    guard_restore(now, &before);
    if (now->code != GUARD_TIME) guard_fail_again(now);
}
