/*
 * dump_stages.c - the pipeline up to one stage, with that stage printed and checked (check --dump).
 *
 * The same graph and the same order problem as judge.c makes, of the level itself: no stronger
 * level is tried first, no client times are looked at.  asg and ir end there; clauses decides,
 * since clauses are written on demand, and ends with the answer.
 */
#include <assert.h>

#include "base/sort.h"
#include "decide/proof/justify.h"
#include "history/key_sessions.h"
#include "order/print_order.h"
#include "decide/lazy/lazy.h"
#include "verdict/describe.h"

static void bug(mem *m, const char *stage, const char *wrong)
{
    if (wrong) guard_fail(m->guard, GUARD_BUG, "%s is broken: %s", stage, wrong);
}

/* Edges that reads made certain before the search. */
static void print_forced(const order_problem *p, printer *d)
{
    for (size_t i = 0; i < p->forced.n; i++) {
        const forced *f = &p->forced.at[i];
        strbuf_str(&d->text, "forced ");
        print_txn(p->g, f->from, &d->text);
        strbuf_str(&d->text, " before ");
        print_txn(p->g, f->to, &d->text);
        strbuf_str(&d->text, f->rw ? " overwrites read " : " seen by read ");
        print_read(p->g, f->ob, &d->text);
        printer_line(d);
    }
}

static void print_answer(const order_problem *p, const decision *a, printer *d)
{
    strbuf_printf(&d->text, "answer %s clauses %llu conflicts %llu",
                  a->undecided ? "undecided"
                  : a->holds   ? "holds"
                               : "violated",
                  (unsigned long long)a->clauses, (unsigned long long)a->conflicts);
    printer_line(d);
    if (a->known_cycle) {
        strbuf_str(&d->text, "contradiction");
        for (size_t i = 0; i < a->cycle.n; i++) {
            strbuf_char(&d->text, ' ');
            print_event(p, a->cycle.at[i], &d->text);
        }
        printer_line(d);
    }
    if (!a->holds) return;
    /* Places need not be all different: update-serializable orders the transactions afresh and
       leaves the time points where they were. */
    uint32_t txn_events = p->si ? 2 * p->txns : p->txns;
    uint64_t *key = mem_array(p->m, uint64_t, (size_t)txn_events + 1);
    for (uint32_t e = 0; e < txn_events; e++) key[e] = a->pos[e];
    const uint32_t *at = sort_by_key(p->m, key, txn_events);
    assert(a->pos && a->out);
    for (uint32_t i = 0; i < txn_events; i++) {
        if (a->out[txn_of(p, at[i])]) continue;
        strbuf_str(&d->text, "model ");
        print_event(p, at[i], &d->text);
        printer_line(d);
    }
}

static void print_clauses(order_problem *p, printer *d)
{
    decision a;
    strbuf_printf(&d->text, "clauses level %s session-order %s", level_at(p->rule->level)->name,
                  p->so ? "on" : "off");
    printer_line(d);
    p->justify = justify_new(p);
    justify_dump(p->justify, d);
    lazy_decide(p, 0, &a);
    print_forced(p, d);
    if (a.holds && p->rule->strict == STRICT_ALL)
        bug(p->m, "the model", problem_replay(p, a.pos, a.out));
    print_answer(p, &a, d);
}

void judge_dump(const level_ref *level, const history *h, const question *q, enum dump_stage stage,
                printer *d, mem *work)
{
    asg g;
    order_problem p;
    bool rt;
    bool so = level_session_order(level, q->session_order);
    if (level->id == LEVEL_LIN) {
        if (history_first_larger(h) != NO_ID)
            guard_fail(work->guard, GUARD_UNSUPPORTED,
                       "linearizable is decided only if every transaction is a single operation");
        h = key_sessions(h, d->text.mem);
    }
    asg_build(&g, h, work, judge_policy(h, q, work), asg_level_flags(level->id));
    bug(work, "the semantic graph", asg_check(&g));
    if (stage == DUMP_ASG) {
        asg_print(&g, d);
        return;
    }
    const level_rule *rule = judge_rule(level, &rt);
    if (!rule)
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "%s is not decided as an order problem: "
                   "only --dump asg",
                   level->name);
    if (g.faults.n || g.wild_lists || g.init_open)
        guard_fail(work->guard, GUARD_UNSUPPORTED,
                   "%s: no order problem is made of it "
                   "(--dump asg shows more)",
                   g.faults.n     ? "a read that nothing explains"
                   : g.wild_lists ? "lists with repeated elements, writes or deletes"
                                  : "the initial state is unknown");
    if (stage == DUMP_CLAUSES && q->tune.strategy != STRATEGY_LAZY)
        guard_fail(work->guard, GUARD_UNSUPPORTED, "--dump clauses is for the strategy lazy only");
    order_question ask = {.rule = q->tune.induced && !rt ? rule_induced(rule) : rule,
                          .so = so,
                          .rt = rt,
                          .drift = q->drift,
                          .tune = &q->tune};
    problem_build(&p, &g, &ask);
    bug(work, "the order problem", problem_check(&p));
    if (stage == DUMP_IR)
        problem_print(&p, d);
    else
        print_clauses(&p, d);
}
