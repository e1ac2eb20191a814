/*
 * narrow.c - see narrow.h.
 */
#include "verdict/narrow.h"

#include <assert.h>

#include "verdict/subhistory.h"

#define START_MOST 3000u /* transactions that the first part may have */

typedef struct trials {
    /* What is tried: constant. */
    const verdict *v;
    question q;
    level_ref level;
    part *x;
    mem *m;           /* of what is found */
    mem *keep, *work; /* of one trial: its answer, and deciding it */

    /* What is left out, and the same before the trial; needed: cannot be left out. */
    uint8_t *out, *before, *needed, *no_op;
    verdict last; /* of the last trial */
} trials;

static bool violated(trials *t)
{
    verdict *p = &t->last;
    mem_free_all(t->keep);
    mem_free_all(t->work);
    *p = (verdict){.mem = t->keep, .level = t->level};
    const history *h = part_history(t->x, t->out, t->no_op);
    /* judge gives what it does with a violation less time than there is */
    guard *now = t->m->guard, before = *now;
    if (!guard_armed(now)) {
        judge(p, h, &t->q, t->work);
        guard_restore(now, &before);
        return t->last.outcome == OUTCOME_VIOLATED;
    }
    guard_restore(now, &before);
    if (now->code != GUARD_TIME || t->last.outcome != OUTCOME_VIOLATED) guard_fail_again(now);
    return true;
}

static void save(trials *t)
{
    memcpy(t->before, t->out, t->x->txns);
}

static void restore(trials *t)
{
    memcpy(t->out, t->before, t->x->txns);
}

/* The last trial was violated: on with those that its answer names, as long as they are fewer. */
static void follow(trials *t)
{
    for (;;) {
        uint32_t left = 0, named = 0;
        save(t);
        for (uint32_t i = 0; i < t->x->txns; i++) left += !t->out[i];
        uint8_t *keep = mem_array0(t->m, uint8_t, (size_t)t->x->txns + 1);
        for (size_t i = 0; i < t->last.core.n; i++) keep[t->x->kept[t->last.core.at[i]]] = 1;
        for (uint32_t i = 0; i < t->x->txns; i++) {
            named += keep[i];
            t->out[i] = !keep[i];
        }
        mem_put(t->m, keep);
        assert(named <= t->x->txns && left <= t->x->txns);
        if (named && named < left && violated(t)) continue;
        restore(t);
        return;
    }
}

/* Leaves out chunks, then one by one. */
static void minimise(trials *t)
{
    uint32_t n = t->x->txns, chunk = 1;
    follow(t);
    while (chunk < n / 4) chunk *= 2;
    for (; chunk; chunk /= 2)
        for (uint32_t i = 0, end; i < n; i = end) {
            uint32_t taken = 0;
            save(t);
            for (end = i; end < n && taken < chunk; end++) {
                if (t->out[end] || t->needed[end]) continue;
                t->out[end] = 1;
                taken++;
            }
            if (!taken) continue;
            if (violated(t)) {
                follow(t);
                continue;
            }
            restore(t);
            if (taken == 1) t->needed[end - 1] = 1;
        }
}

/* --- where to start --------------------------------------------------------------------------- */

/* One hop: whom they read from, who read from them, who writes their keys. */
static uint32_t grow(asg *g, uint8_t *in, uint32_t count)
{
    uint8_t *fresh = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    asg_by_key(g);
    for (node_id v = 0; v < g->nodes; v++) {
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t w = g->ob_rf[ob];
            if (w >= RF_LAST) continue;
            if (in[v]) fresh[w] = 1;
            if (in[w]) fresh[v] = 1;
        }
        for (uint32_t i = g->inst_first[v]; in[v] && i < g->inst_first[v + 1]; i++) {
            uint32_t lo = g->kw_first[g->inst_key[i]], hi = g->kw_first[g->inst_key[i] + 1];
            for (uint32_t j = lo; j < hi && j < lo + START_MOST; j++)
                fresh[g->inst_node[g->kw_inst[j]]] = 1;
        }
        guard_tick(g->m->guard);
    }
    for (node_id v = 0; v < g->nodes && count < START_MOST; v++)
        if (fresh[v] && !in[v]) {
            in[v] = 1;
            count++;
        }
    assert(count <= g->nodes);
    mem_put(g->m, fresh);
    return count;
}

static bool open_part(trials *t, const history *h, mem *work)
{
    asg g;
    uint32_t count = 0;
    mem_free_all(work);
    asg_build(&g, h, work, t->v->ryow,
              asg_level_flags(t->v->level.id) | (h->init_unknown ? ASG_INIT_FREE : 0));
    uint8_t *in = mem_array0(work, uint8_t, (size_t)g.nodes + 1);
    for (size_t i = 0; i < t->v->core.n; i++) {
        node_id v = g.txn_node[t->v->core.at[i]];
        if (v == NO_ID || in[v]) continue;
        in[v] = 1;
        count++;
    }
    if (g.nodes <= START_MOST)
        memset(in, 1, g.nodes);
    else
        for (uint32_t before = 0; count != before && count < START_MOST / 2;) {
            before = count;
            count = grow(&g, in, count);
        }
    if (!count && g.nodes > START_MOST) return false;
    t->x = part_new(t->m, &g, in);
    mem_free_all(work);
    return true;
}

bool narrow(const verdict *v, const history *h, mem *keep, mem *work, mem *m, txn_ids *out)
{
    trials t = {.v = v, .m = m, .keep = keep, .work = work, .level = v->level};
    assert(v->outcome == OUTCOME_VIOLATED);
    if (v->through) level_named(&t.level, v->through);
    t.q = (question){.level = t.level.name,
                     .session_order = v->session_order,
                     .policy = (enum policy)v->ryow,
                     .drift = v->drift,
                     .quick = true};
    if (!open_part(&t, h, work)) return false;
    size_t n = t.x->txns;
    uint8_t *flags = mem_array0(m, uint8_t, 3 * n + t.x->ops.n + 1);
    t.out = flags;
    t.before = flags + n;
    t.needed = flags + 2 * n;
    t.no_op = flags + 3 * n;
    bool found = violated(&t);
    if (found) {
        minimise(&t);
        assert(t.last.session_order == v->session_order);
        out->n = 0;
        for (uint32_t i = 0; i < n; i++)
            if (!t.out[i]) vec_push(m, out, t.x->txn[i]);
    }
    mem_free_all(keep);
    mem_free_all(work);
    mem_put(m, flags);
    part_free(t.x);
    return found;
}
