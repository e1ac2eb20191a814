/*
 * hearing.c - see hearing.h: from a history to a decision, and from a decision to an answer in the
 * history's own terms.
 *
 * No order leaves here that was not replayed: by a walk over one state where the level has one, by
 * the second opinion's code (src/lib/verify) elsewhere.
 */
#include "verdict/hearing.h"

#include <assert.h>
#include <stdio.h>

#include "asg/list_slots.h"
#include "decide/lazy/lazy.h"
#include "decide/proof/justify.h"
#include "order/added_order.h"
#include "verdict/core.h"
#include "verdict/describe.h"

/* The levels of this build by their test. */
bool weak_of(enum level_id id, enum weak_level *out)
{
    *out = level_at(id)->weak;
    return *out != WEAK_NONE;
}

/* The level as a rule about orders, where this build decides it so. */
const level_rule *judge_rule(const level_ref *l, bool *rt)
{
    const level_rule *r = rule_of(l->id);
    *rt = l->realtime || level_at(l->id)->real_time & RT_TXN;
    /* Without real time read-uncommitted has a test, and needs no order problem. */
    if (!r || (l->id == LEVEL_RU && !l->realtime)) return NULL;
    /* (linearizable: of a history whose sessions were cut, history/key_sessions.h) */
    return l->id == LEVEL_SSER || l->id == LEVEL_LIN ? rule_of(LEVEL_SER) : r;
}

void verdict_reason(verdict *v, const char *text)
{
    size_t n = strlen(text);
    v->reason = mem_get(v->mem, n + 1);
    memcpy(v->reason, text, n + 1);
}

void hearing_of(hearing *x, const level_ref *level, bool so)
{
    x->so = so;
    x->tested = !level->realtime && weak_of(level->id, &x->test);
    x->rule = judge_rule(level, &x->rt);
    /* A weak level has a rule too, for ambiguous reads of large histories. */
    assert(!x->tested || !x->rule || (x->rule->level == level->id && !x->rt));
}

bool hearing_reduces(const hearing *x)
{
    return x->rule && core_reduces(x->rule) && !rule_split_of(x->rule->level);
}

problem hearing_problem(const hearing *x)
{
    return (problem){.ask = {.rule = x->rule,
                             .so = x->so,
                             .rt = x->rt,
                             .drift = x->q->drift,
                             .tune = &x->q->tune},
                     .tested = x->tested,
                     .test = x->test,
                     .log = hearing_reduces(x) ? KEEP_LOG_IF_CHEAP : KEEP_NO_LOG,
                     .cost = x->blank.cost};
}

bool hearing_is_final(const hearing *x)
{
    return !x->h->init_unknown || x->flags & ASG_INIT_FREE;
}

static void build_graph(hearing *x, const problem *asked, unsigned flags)
{
    mem_free_all(x->work);
    if (x->rule) flags |= asg_level_flags(x->rule->level);
    asg_build(&x->g, x->h, x->work, x->blank.ryow, flags);
    assert(!asg_check(&x->g));
    assert(!x->g.init_assumed || x->h->init_unknown);
    x->flags = flags;
    x->p = *asked;
    x->p.g = &x->g;
    x->fuzzy = false;
    if (!hearing_is_final(x)) x->p.log = KEEP_NO_LOG; /* it would be for nothing */
}

static void decide_graph(hearing *x, const problem *asked, bool with_free)
{
    decide(&x->p, 0, &x->a);
    if (with_free && decision_violated(&x->a) && x->g.init_assumed)
        hearing_decide(x, asked, x->flags | ASG_INIT_FREE, false);
}

void hearing_decide(hearing *x, const problem *asked, unsigned flags, bool with_free)
{
    build_graph(x, asked, flags);
    decide_graph(x, asked, with_free);
}

void hearing_decide_level(hearing *x, const problem *asked)
{
    enum level_id level = x->rule ? x->rule->level : level_with_test(x->test);
    build_graph(x, asked, 0);
    /* (A read that nothing explains at all is a simpler reason still.) */
    x->fuzzy = !x->g.faults.n && fuzzy_read_find(&x->g, level, &x->twice);
    /* That a transaction of unknown outcome committed may rest on what was assumed of the initial
       state: then it must be so without that assumption too. */
    if (x->fuzzy && x->g.init_assumed && x->g.maybe[x->g.ob_node[x->twice.first]]) {
        build_graph(x, asked, ASG_INIT_FREE);
        x->fuzzy = !x->g.faults.n && fuzzy_read_find(&x->g, level, &x->twice);
        if (!x->fuzzy) build_graph(x, asked, 0);
    }
    if (x->fuzzy)
        x->a = (decision){.by = BY_REPEATED_READ};
    else
        decide_graph(x, asked, true);
}

/* The graph is made; decides the order problem with the additions in it. */
static bool decide_added(hearing *x, const char **why)
{
    order_question *ask = &x->p.ask;
    asg *g = &x->g;
    assert(ask->added && ask->rule && !added_refusal(ask->rule, ask->added));
    uint64_t start = clock_now();
    memset(&x->a, 0, sizeof x->a);
    if (g->faults.n) {
        x->a = (decision){.why = WHY_FAULT, .by = BY_FAULTS};
        return true;
    }
    g->chains_only = x->p.log == KEEP_LOG; /* which reasons can be given for */
    if (g->wild_lists && (!asg_slots(g) || g->slots->impossible)) {
        *why = "lists with repeated elements, writes or deletes that no order explains are not "
               "decided together with modules";
        return false;
    }
    decide_build(&x->p, ask);
    if (x->p.log == KEEP_LOG) x->p.order.justify = justify_new(&x->p.order);
    lazy_decide(&x->p.order, 0, &x->a);
    x->a.by = x->a.undecided ? BY_NOBODY : BY_LAZY;
    if (x->p.cost) x->p.cost->ns_solve += clock_now() - start;
    return true;
}

bool hearing_decide_added(hearing *x, const problem *asked, const char **why)
{
    build_graph(x, asked, 0);
    x->p.log = asked->log;
    if (!decide_added(x, why)) return false;
    if (!decision_violated(&x->a) || !x->g.init_assumed) return true;
    build_graph(x, asked, ASG_INIT_FREE);
    x->p.log = asked->log;
    return decide_added(x, why);
}

void hearing_warn(hearing *x)
{
    if (x->g.duplicate_values) x->blank.warnings |= lint_bit(LINT_DUPLICATE_VALUES);
    if (x->g.garbage) x->blank.warnings |= lint_bit(LINT_NEVER_WRITTEN);
}

void hearing_publish(hearing *x)
{
    assert(x->found.session_order == x->blank.session_order);
    assert(x->found.level.id == x->blank.level.id && x->found.cost == x->v->cost);
    assert((x->found.outcome == OUTCOME_UNDECIDED) == (x->found.decided_by == BY_NOBODY));
    assert(x->found.outcome == OUTCOME_VIOLATED || !x->found.rests_on);
    *x->v = x->found;
}

/* --- witnesses -------------------------------------------------------------------------------- */

static void keep_choice(verdict *v, const asg *g, uint32_t ob, uint32_t rf, chosen_reads *out)
{
    assert(rf < RF_LAST || rf == RF_INIT);
    chosen c = {g->ob_op[ob], g->ob_key[ob], rf == RF_INIT ? NO_ID : g->node_txn[rf]};
    vec_push(v->mem, out, c);
}

static bool is_source(uint32_t rf)
{
    return rf < RF_LAST || rf == RF_INIT;
}

/* What the trace left open; out: nodes whose reads do not count, or NULL. */
static void keep_open(verdict *v, const asg *g, const uint32_t *rf, const uint8_t *out,
                      chosen_reads *choices)
{
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i];
        if (is_source(rf[ob]) && !(out && out[g->ob_node[ob]]))
            keep_choice(v, g, ob, rf[ob], choices);
    }
}

/* A decision of whole transactions in the order of their commits. */
static void keep_commits(verdict *v, const asg *g, const decision *a)
{
    v->order = mem_array(v->mem, txn_id, (size_t)a->n + 1);
    v->ordered = a->n;
    for (uint32_t i = 0; i < a->n; i++) v->order[i] = g->node_txn[a->order[i]];
    if (!a->all_sources) {
        keep_open(v, g, a->rf, NULL, &v->choices);
        /* Reads of wild lists were open only while the search had ordered their key. */
        for (uint32_t ob = 0; g->wild_lists && !g->slots && ob < asg_obs(g); ob++)
            if (g->list_key[g->ob_key[ob]] == 2 && is_source(a->rf[ob]))
                keep_choice(v, g, ob, a->rf[ob], &v->choices);
        return;
    }
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t ob = g->ob_first[a->order[i]]; ob < g->ob_first[a->order[i] + 1]; ob++) {
            if (a->rf[ob] == RF_NONE) continue; /* own writes explain it */
            keep_choice(v, g, ob, a->rf[ob] < RF_LAST ? a->rf[ob] : RF_INIT, &v->choices);
        }
}

/* InnoDB's levels: the parts in their order, and a commit order of the same transactions that is
   read-committed. */
static void keep_points(verdict *v, const order_problem *p, const decision *a, mem *work)
{
    const asg *s = p->g;
    asg *g = s->unsplit;
    node_id *at = mem_array(work, node_id, (size_t)p->events + 1);
    uint8_t *present = mem_array(work, uint8_t, (size_t)g->nodes + 1);
    memset(at, 0xff, ((size_t)p->events + 1) * sizeof *at);
    for (node_id x = 0; x < s->nodes; x++) {
        present[s->whole[x]] = !a->out[x];
        if (!a->out[x]) at[a->pos[x]] = x;
    }
    for (uint32_t i = 0; i < p->events; i++) {
        if (at[i] == NO_ID) continue;
        order_point x = {s->node_txn[at[i]], s->part_op[at[i]]};
        vec_push(v->mem, &v->points, x);
    }
    keep_open(v, s, a->rf, a->out, &v->point_choices);
    if (a->whole) {
        keep_commits(v, g, a->whole);
        return;
    }
    decision whole = {.order = mem_array(work, node_id, (size_t)g->nodes + 1),
                      .out = mem_array(work, uint8_t, (size_t)g->nodes + 1),
                      .rf = mem_array(work, uint32_t, g->obs + 1)};
    memcpy(whole.rf, g->ob_rf, g->obs * sizeof *whole.rf);
    chain_decide(g, false, present, &whole);
    assert(whole.holds);
    keep_commits(v, g, &whole);
}

/* Every event in its place, under what modules added. */
static void keep_events(verdict *v, const order_problem *p, const decision *a, mem *work)
{
    const added_order *added = p->added;
    uint32_t txn_events = p->si ? 2 * p->txns : p->txns;
    uint32_t *at = mem_array(work, uint32_t, (size_t)p->events + 1);
    assert(a->pos && a->out && !v->events.n);
    for (uint32_t e = 0; e < p->events; e++) at[a->pos[e]] = e;
    for (uint32_t i = 0; i < p->events; i++) {
        uint32_t e = at[i];
        bool point = e >= added->first_point && e - added->first_point < added->from->points;
        if (e >= txn_events && !point) continue;
        ordered_event x = {point ? e - added->first_point : 0, AT_POINT};
        if (!point) {
            node_id n = txn_of(p, e);
            if (a->out[n] || (e != commit_of(p, n) && e != begin_of(p, n))) continue;
            x = (ordered_event){p->g->node_txn[n], e == commit_of(p, n) ? AT_COMMIT : AT_BEGIN};
        }
        vec_push(v->mem, &v->events, x);
    }
    mem_put(work, at);
}

/* A decision of an order problem. */
static void keep_places(verdict *v, const order_problem *p, const decision *a, mem *work)
{
    const asg *g = p->g;
    if (g->unsplit) {
        keep_points(v, p, a, work);
        return;
    }
    /* commits by place: places are a permutation of the events, so one array sorts them */
    txn_id *at = mem_array(work, txn_id, (size_t)p->events + 1);
    memset(at, 0xff, ((size_t)p->events + 1) * sizeof *at);
    for (node_id x = 0; x < p->txns; x++) {
        uint32_t place = a->pos[commit_of(p, x)];
        assert(place < p->events);
        if (!a->out[x]) at[place] = g->node_txn[x];
    }
    v->order = mem_array(v->mem, txn_id, (size_t)p->txns + 1);
    for (uint32_t i = 0; i < p->events; i++)
        if (at[i] != NO_ID) v->order[v->ordered++] = at[i];
    assert(v->ordered <= p->txns);
    keep_open(v, g, a->rf, a->out, &v->choices);
    if (p->added) keep_events(v, p, a, work);
}

/* --- telling ---------------------------------------------------------------------------------- */

/* What is wrong with the order that was found, or NULL.  The levels that no walk over one state
   replays are replayed by the second opinion's code, which knows no history without its hints. */
static const char *replay(hearing *x)
{
    const order_problem *p = &x->p.order;
    const char *wrong = NULL;
    if (p->rule->strict == STRICT_ALL && !p->g->init_open && !p->g->slots)
        return problem_replay(p, x->a.pos, x->a.out);
    if (!added_kept(p, x->a.pos, x->a.out)) return "what a module added is broken";
    if (x->flags & ASG_NO_HINTS) return NULL;
    claim c = claim_of(&x->found);
    /* Of a rule that stands in for what was asked, with real time if that was asked for. */
    const level_info *stands = level_at(p->rule->level);
    char name[sizeof c.level.name];
    snprintf(name, sizeof name, "%s%s", x->rt && !(stands->real_time & RT_TXN) ? "realtime-" : "",
             stands->name);
    if (!level_named(&c.level, name)) level_named(&c.level, stands->name);
    c.session_order = x->so;
    claim_recheck(&c, x->h, x->work, &wrong);
    return wrong;
}

/* The name of the stronger level that was shown to hold, if it was another. */
static const char *shown_level(const problem *p)
{
    const order_question *s = &p->shown;
    if (s->rule->level == LEVEL_SER) return level_at(s->rt ? LEVEL_SSER : LEVEL_SER)->name;
    return s->rt ? "realtime-snapshot-isolation" : level_at(s->rule->level)->name;
}

static void tell_holds(hearing *x)
{
    verdict *v = &x->found;
    const decision *a = &x->a;
    if (a->order) {
        keep_commits(v, &x->g, a);
        verdict_reason(v, a->all_sources ? "an order of the transactions explains every read"
                                         : "a commit order explains every read");
        return;
    }
    keep_places(v, &x->p.order, a, x->work);
    const char *wrong = replay(x);
    if (wrong == claim_too_large) { /* not known to be wrong, but not shown either */
        x->found = x->blank;
        verdict_reason(v, "an order was found, and is too large to be replayed");
        return;
    }
    if (wrong) guard_fail(x->work->guard, GUARD_BUG, "the order found does not replay: %s", wrong);
    if (a->by == BY_STRONGER) v->shown = shown_level(&x->p);
    verdict_reason(v, x->rule->events ? "an order of begins and commits explains every read"
                                      : "an order of the transactions explains every read");
}

void hearing_tell(hearing *x)
{
    verdict *v = &x->found;
    *v = x->blank;
    v->decided_by = x->by && !x->a.undecided ? x->by : x->a.by;
    if (x->a.undecided) {
        assert(x->a.by == BY_NOBODY);
        verdict_reason(v, x->a.undecided);
    } else if (x->a.holds) {
        v->outcome = OUTCOME_HOLDS;
        tell_holds(x);
    } else {
        v->outcome = OUTCOME_VIOLATED;
        if (x->fuzzy)
            words_twice(v, &x->g, x->twice.first, x->twice.second);
        else
            words_decision(v, &x->p, &x->a);
        assert(v->reason && v->anomaly < ANOMALIES);
    }
}
