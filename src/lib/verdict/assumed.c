/*
 * assumed.c - a level under what modules added to the history (history/additions.h).
 *
 * Additions only rule orders out.  So a history that is violated without them is violated with
 * them, and the ordinary ways describe it; they know nothing of modules and are only ever asked
 * about the bare history.  What holds, or is violated, because of an addition is decided here, by
 * the strategy lazy alone: the additions are known edges and obligations of one order problem
 * (order/added_order.h).  A level that cannot take them is undecided, unless the bare history
 * violates it.
 */
#include <assert.h>

#include "decide/proof/justify.h"
#include "history/additions.h"
#include "order/added_order.h"
#include "verdict/hearing.h"

/* Why the question cannot be asked under additions, or NULL. */
static const char *refusal_of(const hearing *x)
{
    if (x->q->trust) return "trusted timestamps decide without what modules add";
    if (x->q->tune.strategy != STRATEGY_LAZY)
        return "this strategy does not take what modules add; the strategy lazy does";
    return added_refusal(x->rule, x->h->assumed);
}

static void name_modules(const additions *add, strbuf *b)
{
    for (size_t i = 0; i < add->modules.n; i++)
        strbuf_printf(b, "%s\"%s\"",
                      i                    ? ", "
                      : add->modules.n > 1 ? "modules "
                                           : "module ",
                      additions_name(add, (uint32_t)i));
}

/* Undecided, in words that name the modules. */
static void tell_refused(hearing *x, const char *why)
{
    strbuf b;
    x->found = x->blank;
    strbuf_init(&b, x->found.mem);
    name_modules(x->h->assumed, &b);
    strbuf_printf(&b, ": %s", why);
    verdict_reason(&x->found, strbuf_cstr(&b));
}

/* --- a contradiction -------------------------------------------------------------------------- */

#define SAID 3u /* so many reasons stand in the sentence */

static void tell_contradiction(hearing *x)
{
    const additions *add = x->h->assumed;
    verdict *v = &x->found;
    strbuf b;
    strbuf_init(&b, v->mem);
    strbuf_str(&b, "no order of the transactions explains every read and keeps what ");
    name_modules(add, &b);
    strbuf_str(&b, add->modules.n > 1 ? " add" : " adds");
    for (size_t i = 0; i < v->used.n && i < SAID; i++) { /* a module's text is no line of ours */
        const char *reason = additions_reason(add, v->used.at[i]);
        strbuf_str(&b, i ? "; " : ": ");
        strbuf_visible(&b, reason, strlen(reason));
    }
    if (v->used.n > SAID) strbuf_printf(&b, "; and %zu more", v->used.n - SAID);
    verdict_reason(v, strbuf_cstr(&b));
    strbuf_free(&b);
}

static void keep_core(verdict *v, const asg *g, const uint8_t *in)
{
    v->core.n = 0;
    for (node_id n = 0; n < g->nodes; n++)
        if (in[n]) vec_push(v->mem, &v->core, g->node_txn[n]);
}

/* Decides once more with a log: which additions and transactions the contradiction needs. */
static void find_used(hearing *x)
{
    const char *why;
    hearing again = *x;
    problem p = hearing_problem(&again);
    p.ask.added = x->h->assumed;
    p.ask.logged = true;
    p.log = KEEP_LOG;
    p.cost = NULL;
    p.tested = false;
    if (!hearing_decide_added(&again, &p, &why) || !decision_violated(&again.a)) return;
    const order_problem *order = &again.p.order;
    if (!again.p.ordered || !order->justify || !justify_steps(order->justify, &again.a)) return;
    const justify *j = order->justify;
    assert(order->added && order->added->from == x->h->assumed);
    uint8_t *said = mem_array0(x->work, uint8_t, x->h->assumed->at.n + 1);
    uint8_t *in = mem_array0(x->work, uint8_t, (size_t)again.g.nodes + 1);
    justify_added(j, said);
    for (uint32_t i = 0; i < x->h->assumed->at.n; i++)
        if (said[i]) vec_push(x->found.mem, &x->found.used, i);
    justify_nodes(j, in);
    keep_core(&x->found, &again.g, in);
    tell_contradiction(x);
}

static void tell_violated(hearing *x)
{
    verdict *v = &x->found;
    assert(decision_violated(&x->a) && x->a.why != WHY_FAULT);
    uint8_t *in = mem_array0(x->work, uint8_t, (size_t)x->g.nodes + 1);
    *v = x->blank;
    v->outcome = OUTCOME_VIOLATED;
    v->decided_by = BY_LAZY;
    v->assumed = true;
    v->anomaly = ANOMALY_BROKEN_ASSUMPTION;
    for (size_t i = 0; i < x->a.core.n; i++) in[x->a.core.at[i]] = 1;
    keep_core(v, &x->g, in);
    tell_contradiction(x);
    find_used(x);
}

bool assumed_hear(hearing *x)
{
    assert(x->h->assumed && !additions_check(x->h->assumed, x->h->txns));
    const char *why = refusal_of(x);
    problem p = hearing_problem(x);
    p.ask.added = x->h->assumed;
    p.log = KEEP_NO_LOG;
    p.tested = false;
    if (!why && !hearing_decide_added(x, &p, &why)) assert(why);
    if (!why && x->a.undecided) why = x->a.undecided;
    if (why) {
        tell_refused(x, why);
        return false;
    }
    hearing_warn(x);
    if (x->a.holds) {
        hearing_tell(x);
        x->found.assumed = x->found.outcome == OUTCOME_HOLDS;
        return true;
    }
    if (x->a.why == WHY_FAULT)
        tell_refused(x, "a read that nothing explains"); /* the bare history is violated */
    else
        tell_violated(x);
    return false;
}
