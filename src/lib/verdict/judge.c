/*
 * judge.c - from a question to an answer.
 *
 * Builds the semantic graph, runs the decision that the level needs, and says the result in the
 * history's own terms.  A level that this build does not decide can still be refuted by a weaker
 * one that it implies (doc/levels.md 7); else the answer is `undecided`, with the reason.
 */
#include "verdict/verdict.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"
#include "decide/begin_commit.h"
#include "decide/proof/justify.h"
#include "decide/lazy/lazy.h"
#include "decide/polygraph.h"
#include "decide/portfolio.h"
#include "decide/segments.h"
#include "order/order_problem.h"
#include "decide/weak/weak.h"
#include "verdict/core.h"
#include "verdict/describe.h"

/* The levels of this build by their test. */
bool weak_of(enum level_id id, enum weak_level *out)
{
    *out = level_at(id)->weak;
    return *out != WEAK_NONE;
}

/* --- the read-your-own-writes policy ---------------------------------------------------------- */

/* The strictest policy under which every read of an own-written key is explained. */
static enum ryow pick_policy(const history *h, mem *work)
{
    static const enum ryow strictest_first[] = {RYOW_MUST, RYOW_EXTERNAL};
    for (size_t i = 0; i < 2; i++) {
        asg g;
        asg_build(&g, h, work, strictest_first[i], 0);
        bool bad = false;
        for (size_t j = 0; j < g.faults.n; j++) {
            uint32_t a = g.faults.at[j].anomaly;
            bad = bad || a == ANOMALY_NOT_OWN_WRITE || (i == 1 && a == ANOMALY_FUTURE_READ) ||
                  (i == 1 && a == ANOMALY_GARBAGE_READ);
        }
        mem_free_all(work);
        if (!bad) return strictest_first[i];
    }
    return RYOW_MAY;
}

enum ryow judge_policy(const history *h, const question *q, mem *work)
{
    return q->policy == POLICY_AUTO ? pick_policy(h, work) : (enum ryow)q->policy;
}

/* --- deciding --------------------------------------------------------------------------------- */

typedef struct attempt {
    asg g;
    weak_answer a;
} attempt;

static void decide(attempt *t, const history *h, mem *work, enum weak_level level, bool so,
                   enum ryow ryow, unsigned flags, bool search)
{
    mem_free_all(work);
    asg_build(&t->g, h, work, ryow, flags);
    assert(!asg_check(&t->g));
    weak_decide(&t->g, level, so, search, &t->a);
    /* A key of unknown initial contents was taken to have held something nobody wrote; before
       that is held against the history, every initial value gets its chance. */
    if (t->a.verdict == WEAK_VIOLATED && t->g.init_assumed) {
        mem_free_all(work);
        asg_build(&t->g, h, work, ryow, flags | ASG_INIT_FREE);
        weak_decide(&t->g, level, so, search, &t->a);
    }
}

static void keep_witness(verdict *v, const attempt *t)
{
    const asg *g = &t->g;
    v->order = mem_array(&v->mem, txn_id, (size_t)t->a.n + 1);
    v->ordered = t->a.n;
    for (uint32_t i = 0; i < t->a.n; i++) v->order[i] = g->node_txn[t->a.order[i]];
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i], rf = t->a.rf[ob];
        if (rf >= RF_LAST && rf != RF_INIT) continue;
        chosen c = {g->ob_op[ob], g->ob_key[ob], rf == RF_INIT ? NO_ID : g->node_txn[rf]};
        vec_push(&v->mem, &v->choices, c);
    }
    /* Reads of wild lists were open only while the search had ordered their key. */
    for (uint32_t ob = 0; g->wild_lists && ob < asg_obs(g); ob++) {
        uint32_t rf = t->a.rf[ob];
        if (g->list_key[g->ob_key[ob]] != 2 || (rf >= RF_LAST && rf != RF_INIT)) continue;
        chosen c = {g->ob_op[ob], g->ob_key[ob], rf == RF_INIT ? NO_ID : g->node_txn[rf]};
        vec_push(&v->mem, &v->choices, c);
    }
}

/* Is it still violated without session order, without hints? */
static void find_rests(verdict *v, const history *h, enum weak_level level, bool uses_hints)
{
    attempt t;
    if (v->session_order) {
        decide(&t, h, &v->work, level, false, v->ryow, 0, true);
        if (t.a.verdict == WEAK_HOLDS) v->rests_on |= RESTS_SESSION;
    }
    if (uses_hints) {
        decide(&t, h, &v->work, level, v->session_order, v->ryow, ASG_NO_HINTS, true);
        if (t.a.verdict == WEAK_HOLDS) v->rests_on |= RESTS_HINTS;
    }
}

void verdict_forget(verdict *v)
{
    v->outcome = OUTCOME_UNDECIDED;
    v->anomaly = ANOMALIES;
    v->reason = NULL;
    v->shown = NULL;
    memset(&v->cycle, 0, sizeof v->cycle);
    memset(&v->core, 0, sizeof v->core);
    memset(&v->choices, 0, sizeof v->choices);
    memset(&v->points, 0, sizeof v->points);
    memset(&v->point_choices, 0, sizeof v->point_choices);
    v->ordered = 0;
}

/* Limits that strike from here on find what v says now. */
static void put_aside(verdict *v)
{
    verdict *copy = mem_get(&v->mem, sizeof *copy);
    *copy = *v;
    copy->kept = NULL;
    v->kept = copy;
}

/* Takes back what was put aside: everything behind the two regions. */
static void take_back(verdict *v)
{
    size_t rest = offsetof(verdict, h);
    const verdict *kept = v->kept;
    memcpy((char *)v + rest, (const char *)kept + rest, sizeof *v - rest);
}

/* Looking into a violation may take as long again as finding it took, and a second: then the answer
   goes out without (judge_limited). */
static void allow(verdict *v, uint64_t spent)
{
    guard *g = v->work.guard;
    uint64_t until = clock_now() + 2 * spent + 1000000000u;
    if (!g->deadline || until < g->deadline) g->deadline = until;
}

static void set_reason(verdict *v, const char *text)
{
    size_t n = strlen(text);
    v->reason = mem_get(&v->mem, n + 1);
    memcpy(v->reason, text, n + 1);
}

static void try_strong(verdict *v, const history *h, const question *q, const level_rule *rule,
                       bool rt, unsigned flags, asg *g);

static void decide_strong(verdict *v, const history *h, const question *q, const level_rule *rule,
                          bool rt);

static void decide_weak(verdict *v, const history *h, enum weak_level level, const question *q)
{
    attempt t;
    bool hints;
    uint64_t start = clock_now();
    decide(&t, h, &v->work, level, v->session_order, v->ryow, 0, false);
    if (t.a.verdict == WEAK_UNDECIDED && level != WEAK_RU && !t.g.wild_lists && !t.g.init_open &&
        (t.g.nodes > WEAK_SMALL || !pass_on(&q->tune, PASS_SMALL_SEARCH))) {
        /* Too many choices to guess: the order engine searches them. */
        decide_strong(v, h, q, rule_of(v->level.id), false);
        return;
    }
    if (t.a.verdict == WEAK_UNDECIDED)
        decide(&t, h, &v->work, level, v->session_order, v->ryow, 0, true);
    v->ns_analyse = clock_now() - start;
    if (t.g.duplicate_values) v->warnings |= lint_bit(LINT_DUPLICATE_VALUES);
    if (t.g.garbage) v->warnings |= lint_bit(LINT_NEVER_WRITTEN);
    v->instantiated = t.g.base_extra + t.a.derived;
    switch (t.a.verdict) {
    case WEAK_HOLDS:
        v->outcome = OUTCOME_HOLDS;
        keep_witness(v, &t);
        set_reason(v, "a commit order explains every read");
        break;
    case WEAK_VIOLATED:
        v->outcome = OUTCOME_VIOLATED;
        words_explain(v, &t.g, &t.a, level);
        hints = t.g.uses_hints;
        put_aside(v);
        core_tell_weak(v, &t.g, &t.a, level);
        v->kept = NULL;
        v->settled = true;
        if (!q->quick) find_rests(v, h, level, hints);
        break;
    case WEAK_UNDECIDED:
        v->outcome = OUTCOME_UNDECIDED;
        set_reason(v, t.a.reason);
        break;
    }
    mem_free_all(&v->work);
}

/* --- serializability and snapshot isolation --------------------------------------------------- */

/* The level as a rule about orders, where this build decides it so. */
const level_rule *judge_rule(const level_ref *l, bool *rt)
{
    const level_rule *r = rule_of(l->id);
    *rt = l->realtime || level_at(l->id)->real_time & RT_TXN;
    if (!r || (l->realtime && level_at(l->id)->no_realtime)) return NULL;
    return l->id == LEVEL_SSER ? rule_of(LEVEL_SER) : r;
}

/* Leaves out every transaction of unknown outcome that no read of the others needs: a strategy may
   have taken it for nothing, and what it read itself would then have to be explained. */
static void leave_unneeded(mem *m, const order_problem *p, order_answer *a)
{
    const asg *g = p->g;
    VEC(node_id) todo = {0};
    if (!g->unknown) return;
    for (node_id v = 0; v < p->txns; v++) {
        a->out[v] = !p->in[v];
        if (p->in[v]) vec_push(m, &todo, v);
    }
    while (todo.n) {
        node_id v = todo.at[--todo.n];
        for (uint32_t ob = g->ob_first[v]; ob < g->ob_first[v + 1]; ob++) {
            uint32_t w = a->rf[ob];
            if (w >= RF_LAST || !a->out[w]) continue;
            a->out[w] = 0;
            vec_push(m, &todo, w);
        }
    }
    vec_free(m, &todo);
}

/* The choices of a model that the trace left open. */
static void keep_choices(verdict *v, const asg *g, const order_answer *a, chosen_reads *out)
{
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i], rf = a->rf[ob];
        if ((rf >= RF_LAST && rf != RF_INIT) || a->out[g->ob_node[ob]]) continue;
        chosen c = {g->ob_op[ob], g->ob_key[ob], rf == RF_INIT ? NO_ID : g->node_txn[rf]};
        vec_push(&v->mem, out, c);
    }
}

/* InnoDB's levels: the parts in their order, and a commit order of the same transactions that is
   read-committed. */
static void keep_points(verdict *v, const asg *s, const order_problem *p, const order_answer *a)
{
    asg *g = s->unsplit;
    node_id *at = mem_array(&v->work, node_id, (size_t)p->events + 1);
    uint8_t *present = mem_array(&v->work, uint8_t, (size_t)g->nodes + 1);
    memset(at, 0xff, ((size_t)p->events + 1) * sizeof *at);
    for (node_id x = 0; x < s->nodes; x++) {
        present[s->whole[x]] = !a->out[x];
        if (!a->out[x]) at[a->pos[x]] = x;
    }
    for (uint32_t i = 0; i < p->events; i++) {
        if (at[i] == NO_ID) continue;
        order_point x = {s->node_txn[at[i]], s->part_op[at[i]]};
        vec_push(&v->mem, &v->points, x);
    }
    keep_choices(v, s, a, &v->point_choices);
    attempt t = {.g = *g};
    t.a.order = mem_array(&v->work, node_id, (size_t)g->nodes + 1);
    t.a.out = mem_array(&v->work, uint8_t, (size_t)g->nodes + 1);
    t.a.rf = mem_array(&v->work, uint32_t, g->obs + 1);
    memcpy(t.a.rf, g->ob_rf, g->obs * sizeof *t.a.rf);
    chain_decide(&t.g, false, present, &t.a);
    assert(t.a.verdict == WEAK_HOLDS);
    keep_witness(v, &t);
}

static void keep_order(verdict *v, const asg *g, const order_problem *p, const order_answer *a)
{
    if (g->unsplit) {
        keep_points(v, g, p, a);
        return;
    }
    /* commits by place: places are a permutation of the events, so one array sorts them */
    txn_id *at = mem_array(&v->work, txn_id, (size_t)p->events + 1);
    memset(at, 0xff, ((size_t)p->events + 1) * sizeof *at);
    for (node_id x = 0; x < p->txns; x++)
        if (!a->out[x]) at[a->pos[commit_of(p, x)]] = g->node_txn[x];
    v->order = mem_array(&v->mem, txn_id, (size_t)p->txns + 1);
    for (uint32_t i = 0; i < p->events; i++)
        if (at[i] != NO_ID) v->order[v->ordered++] = at[i];
    keep_choices(v, g, a, &v->choices);
}

/* The answer of an exhaustive search. */
static void keep_small(verdict *v, const asg *g, const node_id *order, const uint32_t *rf,
                       uint32_t n)
{
    v->order = mem_array(&v->mem, txn_id, (size_t)n + 1);
    v->ordered = n;
    for (uint32_t i = 0; i < n; i++) {
        v->order[i] = g->node_txn[order[i]];
        for (uint32_t ob = g->ob_first[order[i]]; ob < g->ob_first[order[i] + 1]; ob++) {
            if (rf[ob] == RF_NONE) continue; /* own writes explain it */
            chosen c = {g->ob_op[ob], g->ob_key[ob],
                        rf[ob] < RF_LAST ? g->node_txn[rf[ob]] : NO_ID};
            vec_push(&v->mem, &v->choices, c);
        }
    }
}

/* The levels that no walk over one state replays: the second opinion's code does it, always. */
static void replay_claim(verdict *v, const history *h, enum level_id level, const char **wrong)
{
    claim c = claim_of(v);
    level_named(&c.level, level_at(level)->name); /* of a rule that stands in for what was asked */
    claim_recheck(&c, h, &v->work, wrong);
}

#define SERIAL_TRY 200 /* conflicts */

/* A second attempt, with the initial values free, adds to the stages of the first. */
static void keep_stage(verdict *v, stage_time s)
{
    size_t j = 0;
    while (j < v->stages.n && strcmp(v->stages.at[j].name, s.name)) j++;
    if (j < v->stages.n)
        v->stages.at[j].ns += s.ns;
    else
        vec_push(&v->mem, &v->stages, s);
}

static void keep_stages(verdict *v, const order_answer *a)
{
    for (size_t i = 0; i < a->stages.n; i++) keep_stage(v, a->stages.at[i]);
}

/* The ways to decide an order problem, by enum strategy. */
static const order_decider strategies[STRATEGIES] = {
    [STRATEGY_LAZY] = lazy_decide,
    [STRATEGY_POLYGRAPH] = polygraph_decide,
    [STRATEGY_BC] = bc_decide,
};

static void explain_strong(verdict *v, asg *g, const order_problem *p, const order_answer *a,
                           const level_rule *rule)
{
    v->outcome = OUTCOME_VIOLATED;
    if (a->path.steps.n)
        words_steps(v, g, a->path.steps.at, a->path.steps.n);
    else if (a->known_cycle)
        words_events(v, g, p, a->cycle.at, a->cycle.n);
    else
        words_search(v, g, rule, a->core.at, a->core.n);
}

/* True if a segment of the history, by itself, violates the rule. */
static bool refute_part(verdict *v, asg *g, const order_question *ask, const level_rule *rule)
{
    segment s;
    uint64_t start = clock_now();
    bool found = segments_refute(g, ask, &s);
    stage_time spent = {"unsat-search", clock_now() - start};
    v->ns_solve += spent.ns;
    keep_stage(v, spent);
    if (!found) return false;
    v->vars = s.a.vars;
    v->clauses = v->instantiated = s.a.clauses;
    v->conflicts = s.a.conflicts;
    explain_strong(v, &s.g, &s.p, &s.a, rule);
    return true;
}

/* p and a: a run with a log, or NULL; it, or all that was tried, began at `start`. */
static void find_suspects(verdict *v, asg *g, const order_question *ask, order_problem *p,
                          const order_answer *a, uint64_t start)
{
    put_aside(v);
    allow(v, clock_now() - start);
    core_suspects(v, g, ask, p, a);
    v->kept = NULL;
}

/* InnoDB's levels: read-committed, for the whole transactions.  False: the answer is told. */
static bool whole_committed(verdict *v, asg *g)
{
    weak_answer a;
    weak_decide(g, WEAK_RC, false, true, &a);
    if (a.verdict == WEAK_HOLDS) return true;
    if (a.verdict == WEAK_UNDECIDED) {
        set_reason(v, a.reason);
        return false;
    }
    v->outcome = OUTCOME_VIOLATED;
    words_explain(v, g, &a, WEAK_RC);
    return false;
}

static void try_strong(verdict *v, const history *h, const question *q, const level_rule *rule,
                       bool rt, unsigned flags, asg *g)
{
    enum rule_split cut = rule_split_of(rule->level);
    order_question told = {rule, v->session_order, rt, q->drift, &q->tune};
    bool basic = core_knows(rule);
    mem_free_all(&v->work);
    asg_build(g, h, &v->work, v->ryow, flags);
    assert(!asg_check(g));
    if (g->faults.n) {
        weak_answer a = {.verdict = WEAK_VIOLATED, .why = WHY_FAULT};
        v->outcome = OUTCOME_VIOLATED;
        words_explain(v, g, &a, WEAK_RC);
        return;
    }
    /* The exhaustive searches know real time of serial orders only. */
    bool small = rule->level == LEVEL_SER || (!cut && !rt && !rule_real_time(rule->level));
    if (small && g->nodes <= WEAK_SMALL && (g->wild_lists || g->init_open)) {
        node_id order[WEAK_SMALL];
        uint32_t n = 0, *rf = mem_array(&v->work, uint32_t, g->obs + 1);
        if (!(basic ? small_decide(g, rule->events, v->session_order, rt, q->drift, order, rf, &n)
                    : small_graph(g, rule, v->session_order, order, rf, &n))) {
            v->outcome = OUTCOME_VIOLATED;
            words_search(v, g, rule, NULL, 0);
            if (v->want_part && basic) core_suspects(v, g, &told, NULL, NULL);
            return;
        }
        v->outcome = OUTCOME_HOLDS;
        keep_small(v, g, order, rf, n);
        set_reason(v, "an order of the transactions explains every read");
        return;
    }
    if (g->wild_lists || g->init_open) {
        v->outcome = OUTCOME_UNDECIDED;
        set_reason(v, g->wild_lists
                          ? "lists with repeated elements, writes or deletes need a search that "
                            "this build does for up to 8 transactions"
                          : "the initial state is unknown and may equal values that were written: "
                            "this build searches that for up to 8 transactions");
        return;
    }
    if (!basic && q->tune.strategy != STRATEGY_LAZY) {
        set_reason(v, "this strategy decides serializability and snapshot isolation only");
        return;
    }
    asg parts, *on = g; /* what the order is of */
    if (cut) {
        if (!whole_committed(v, g)) return;
        asg_split(&parts, g, cut == SPLIT_TIGHT);
        on = &parts;
    }
    order_problem p;
    order_answer a;
    /* (real time orders begins and commits) */
    order_question ask = told;
    if (q->tune.induced && !rt) ask.rule = rule_induced(rule);
    if (ask.rule != rule && q->tune.strategy != STRATEGY_LAZY) {
        set_reason(v, "the induced encoding is one of the strategy lazy");
        return;
    }
    uint64_t start = clock_now();
    bool done = false, lazy = q->tune.strategy == STRATEGY_LAZY;
    if (lazy && !cut && pass_on(&q->tune, PASS_UNSAT_SEARCH) && refute_part(v, g, &ask, rule)) {
        if (v->want_part && (basic || v->core.n > CORE_SMALL))
            find_suspects(v, g, &told, NULL, NULL, start);
        return;
    }
    start = clock_now();
    /* Ambiguous reads are pruned, which no log explains: only a violation is worth another run. */
    bool logged =
        v->want_part && basic && lazy && q->tune.portfolio <= 1 && !g->open.n && ask.rule == rule;
    /* What is serializable is snapshot isolated, and what holds with session order holds without:
       the stronger question is easier to say yes to.  Only an accept counts, unless the question
       is the one that was asked.  Levels of paths are mostly decided quickly by themselves, and
       snapshot isolation is tried only where they are not. */
    enum { TRY_SERIAL, TRY_ITSELF, TRY_SNAPSHOT, TRY_SESSIONS, TRIES };
    unsigned timed = rule_real_time(rule->level);
    bool serial_first = pass_on(&q->tune, PASS_SERIAL_FIRST);
    bool itself = serial_first && ask.rule->path && q->tune.portfolio <= 1;
    for (int try = TRY_SERIAL; lazy && try < TRIES && !done; try++) {
        order_question stronger = ask;
        if (pass_on(&q->tune, PASS_SESSIONS_FIRST)) stronger.so = true;
        if (try == TRY_ITSELF ? !itself : try == TRY_SESSIONS && itself) continue;
        /* (neither a serial order nor a snapshot need keep the real order of commits) */
        if (serial_first && !(timed & ~RT_CB) && (try == TRY_SERIAL || try == TRY_SNAPSHOT)) {
            enum level_id id = try == TRY_SERIAL ? LEVEL_SER : LEVEL_SI;
            bool real = rt || timed;
            /* (what orders whole transactions by strict reads is no harder than snapshots are) */
            bool worth = rule->events || rule->path;
            if (try == TRY_SERIAL ||
                (worth && level_implies(id, stronger.so, real, rule->level, ask.so, rt))) {
                stronger.rule = rule_of(id);
                stronger.rt = real;
            }
        }
        bool same = stronger.rule == ask.rule, whole = same && stronger.so == ask.so;
        if (try != TRY_ITSELF && same && (whole || try != TRY_SESSIONS)) continue;
        problem_build(&p, rule_split_of(stronger.rule->level) ? on : g, &stronger);
        lazy_decide(&p, SERIAL_TRY, &a);
        keep_stages(v, &a);
        done = a.holds || (whole && !a.undecided);
        if (a.holds && stronger.rule->level != rule->level)
            v->shown = stronger.rule->level == LEVEL_SER
                           ? level_at(stronger.rt ? LEVEL_SSER : LEVEL_SER)->name
                       : stronger.rt ? "realtime-snapshot-isolation"
                                     : level_at(stronger.rule->level)->name;
    }
    if (!done) {
        order_decider decider = strategies[q->tune.strategy];
        if (q->tune.portfolio > 1) {
            portfolio_decide(&p, on, &ask, decider, &a);
        } else {
            problem_build(&p, on, &ask);
            if (logged) {
                p.justify = justify_new(&p);
                justify_limit(p.justify, CORE_LOG);
            }
            decider(&p, 0, &a);
        }
        keep_stages(v, &a);
    }
    v->ns_solve += clock_now() - start;
    v->vars = a.vars;
    v->clauses = v->instantiated = a.clauses;
    v->conflicts = a.conflicts;
    if (a.undecided) {
        set_reason(v, a.undecided);
    } else if (a.holds) {
        /* At no-lost-update one that nobody reads may matter, by standing between two others. */
        if (basic) leave_unneeded(&v->work, &p, &a);
        const char *wrong = NULL;
        if (p.rule->strict == STRICT_ALL) wrong = problem_replay(&p, a.pos, a.out);
        v->outcome = OUTCOME_HOLDS;
        keep_order(v, p.g, &p, &a);
        /* (the second opinion knows no history without its hints) */
        if (p.rule->strict != STRICT_ALL && !(flags & ASG_NO_HINTS))
            replay_claim(v, h, p.rule->level, &wrong);
        if (wrong == claim_too_large) { /* not known to be wrong, but not shown either */
            verdict_forget(v);
            set_reason(v, "an order was found, and is too large to be replayed");
            return;
        }
        if (wrong)
            guard_fail(v->work.guard, GUARD_BUG, "the order found does not replay: %s", wrong);
        set_reason(v, rule->events ? "an order of begins and commits explains every read"
                                   : "an order of the transactions explains every read");
    } else {
        explain_strong(v, p.g, &p, &a, rule);
        if (v->want_part && (basic || v->core.n > CORE_SMALL))
            find_suspects(v, g, &told, logged ? &p : NULL, logged ? &a : NULL, start);
    }
}

static bool implies_weak(const verdict *v, enum level_id id)
{
    return v->level.id != id && level_implies(v->level.id, v->session_order, v->level.realtime, id,
                                              v->session_order, false);
}

/* A violation that a weaker level shows too is told by that one: its names are finer, its cycles
   shorter.  levels: how many of core_weaker are worth asking. */
static void name_by_weaker(verdict *v, const history *h, uint32_t levels)
{
    attempt t;
    if (v->anomaly < ANOMALIES && !v->cycle.n && v->core.n <= 2) return; /* a fault */
    if (!levels) return;
    if (implies_weak(v, level_with_test(core_weaker[levels - 1]))) {
        /* The strongest first: if that holds, so do the others. */
        decide(&t, h, &v->work, core_weaker[levels - 1], v->session_order, v->ryow, 0, false);
        if (t.a.verdict != WEAK_VIOLATED || t.g.init_assumed || t.a.why == WHY_SEARCH) return;
    }
    for (uint32_t i = 0; i < levels; i++) {
        if (!implies_weak(v, level_with_test(core_weaker[i]))) continue;
        if (levels > 1)
            decide(&t, h, &v->work, core_weaker[i], v->session_order, v->ryow, 0, false);
        if (t.a.verdict != WEAK_VIOLATED || t.a.why == WHY_SEARCH) continue;
        verdict_forget(v);
        v->outcome = OUTCOME_VIOLATED;
        words_explain(v, &t.g, &t.a, core_weaker[i]);
        core_tell_weak(v, &t.g, &t.a, core_weaker[i]);
        return;
    }
}

/* Would it hold without session order, real time, or hints?  The probes run in v itself, so that a
   limit that jumps out of here finds every block in v's regions. */
static void find_rests_strong(verdict *v, const history *h, const question *q,
                              const level_rule *rule, bool rt, bool hints, uint32_t without)
{
    bool timed = rule_real_time(rule->level) != 0;
    for (unsigned what = RESTS_SESSION; what <= RESTS_HINTS; what *= 2) {
        bool applies = what == RESTS_SESSION    ? v->session_order && !rt && !timed
                       : what == RESTS_REALTIME ? rt || timed
                                                : hints;
        if (!applies || without & what) continue;
        asg g;
        put_aside(v);
        verdict_forget(v);
        memset(&v->stages, 0, sizeof v->stages);
        if (what == RESTS_SESSION) v->session_order = false;
        const level_rule *r = what == RESTS_REALTIME && timed ? rule_of(LEVEL_SI) : rule;
        try_strong(v, h, q, r, rt && what != RESTS_REALTIME, what == RESTS_HINTS ? ASG_NO_HINTS : 0,
                   &g);
        bool holds = v->outcome == OUTCOME_HOLDS;
        take_back(v);
        if (holds) v->rests_on |= what;
    }
    v->kept = NULL;
}

/* A violation was found: makes it small, names it and asks what it rests on; of a few transactions
   that show it, if there are such, before it asks the whole. */
static void look_into(verdict *v, const history *h, const question *q, const level_rule *rule,
                      bool rt, bool hints, uint64_t spent)
{
    core_told core = {.weaker = CORE_WEAKER};
    guard_stage(v->work.guard, "explain", NULL, 0);
    allow(v, spent);
    put_aside(v);
    if (v->part) {
        order_question ask = {rule, v->session_order, rt, q->drift, &q->tune};
        core = core_tell(v, &ask);
        part_free(v->part);
        v->part = NULL;
        put_aside(v);
    }
    name_by_weaker(v, h, core.weaker);
    v->kept = NULL;
    if (!q->quick) find_rests_strong(v, h, q, rule, rt, hints, core.without);
}

static void decide_strong(verdict *v, const history *h, const question *q, const level_rule *rule,
                          bool rt)
{
    asg g;
    uint64_t start = clock_now();
    v->want_part = core_reduces(rule) && !h->init_unknown && !rule_split_of(rule->level);
    try_strong(v, h, q, rule, rt, 0, &g);
    if (v->outcome == OUTCOME_VIOLATED && g.init_assumed) {
        verdict_forget(v);
        v->want_part = core_reduces(rule) && !rule_split_of(rule->level);
        try_strong(v, h, q, rule, rt, ASG_INIT_FREE, &g);
    }
    v->want_part = false;
    if (g.duplicate_values) v->warnings |= lint_bit(LINT_DUPLICATE_VALUES);
    if (g.garbage) v->warnings |= lint_bit(LINT_NEVER_WRITTEN);
    v->ns_analyse = clock_now() - start - v->ns_solve;
    if (v->outcome == OUTCOME_VIOLATED)
        look_into(v, h, q, rule, rt, g.uses_hints, clock_now() - start);
    mem_free_all(&v->work);
}

/* A limit struck: what was found before it stays found.  True if that is a violation. */
bool judge_limited(verdict *v)
{
    if (!v->kept) return v->settled;
    take_back(v);
    v->kept = NULL;
    return true;
}

static void set_through(verdict *v, enum level_id id, bool so)
{
    v->through_so = so;
    const char *name = level_at(id)->name;
    v->through = mem_get(&v->mem, strlen(name) + 1);
    memcpy(v->through, name, strlen(name) + 1);
}

/* A level that this build does not decide holds if a stronger one does. */
static bool accept(verdict *v, const history *h, const question *q)
{
    enum level_id id;
    for (size_t i = 0; level_in_turn(&id, TURN_ACCEPT, i); i++) {
        bool so = v->session_order || id == LEVEL_SSER, asked_so = v->session_order;
        if (!level_implies(id, so, false, v->level.id, asked_so, v->level.realtime)) continue;
        asg g;
        v->session_order = so;
        try_strong(v, h, q, rule_of(id == LEVEL_SSER ? LEVEL_SER : id), id == LEVEL_SSER, 0, &g);
        v->session_order = asked_so;
        mem_free_all(&v->work);
        if (v->outcome == OUTCOME_HOLDS) {
            set_through(v, id, so);
            return true;
        }
        verdict_forget(v);
    }
    return false;
}

/* Refutes a level that this build does not decide through the strongest ones it implies that it
   does; returns false if that refutes nothing. */
static bool refute(verdict *v, const history *h, const question *q)
{
    enum level_id id;
    bool asked_so = v->session_order;
    level_ref asked = v->level;
    for (size_t i = 0; level_in_turn(&id, TURN_REFUTE, i); i++) {
        for (int so = 1; so >= 0; so--) {
            if (!level_implies(asked.id, asked_so, asked.realtime, id, so, false)) continue;
            enum weak_level w;
            v->session_order = so;
            if (weak_of(id, &w))
                decide_weak(v, h, w, q);
            else
                decide_strong(v, h, q, rule_of(id), false);
            v->session_order = asked_so;
            if (v->outcome == OUTCOME_VIOLATED) {
                set_through(v, id, so);
                return true;
            }
            verdict_forget(v);
        }
    }
    return false;
}

static void warn(verdict *v, const facts *f, const history *h)
{
    v->warnings |= lint_cheap(f, h);
    bool timed = v->level.realtime || level_needs_times(level_at(v->level.id));
    if (timed && !f->with_times) v->warnings |= lint_bit(LINT_NO_TIMES);
}

/* By the database's timestamps: serializability and snapshot isolation as such, and what either
   implies if it holds.  False: they do not decide it. */
static bool by_timestamps(verdict *v, const history *h, const facts *f)
{
    enum level_id id;
    for (size_t i = 0; level_in_turn(&id, TURN_TIMESTAMPS, i); i++) {
        bool itself = v->level.id == id && !v->level.realtime;
        if (!itself && !level_implies(id, v->session_order, false, v->level.id, v->session_order,
                                      v->level.realtime))
            continue;
        if (v->level.id == LEVEL_SI && id == LEVEL_SER) continue; /* it has a walk of its own */
        enum trusted_answer a = trusted_decide(v, h, f, id == LEVEL_SI);
        mem_free_all(&v->work);
        if (a == TRUSTED_HOLDS) {
            set_reason(v, "run by the database's timestamps, the transactions explain every read");
            if (!itself) set_through(v, id, v->session_order);
        }
        if (a == TRUSTED_HOLDS || (a == TRUSTED_VIOLATED && itself)) {
            v->warnings &= ~lint_bit(LINT_TIMESTAMPS);
            return true;
        }
        v->trusted = false;
        verdict_forget(v);
    }
    return false;
}

void judge(verdict *v, const history *h, const question *q)
{
    facts f;
    v->h = h;
    v->anomaly = ANOMALIES;
    v->drift = q->drift;
    v->session_order = level_session_order(&v->level, q->session_order);
    guard_stage(v->work.guard, "count", NULL, 0);
    facts_gather(&f, h, &v->work);
    v->txns = f.txns;
    v->ops = f.ops;
    v->sessions = f.sessions;
    v->keys = f.keys;
    warn(v, &f, h);
    if (!f.txns) {
        set_reason(v, "nothing to check: no committed transaction");
        return;
    }
    v->ryow = judge_policy(h, q, &v->work);
    if (q->trust && by_timestamps(v, h, &f)) {
        mem_free_all(&v->work);
        return;
    }
    mem_free_all(&v->work);
    bool serial_implies = !v->level.realtime && level_implies(LEVEL_SER, true, false, v->level.id,
                                                              v->session_order, false);
    if (serial_implies && level_at(v->level.id)->decided && pass_on(&q->tune, PASS_CLIENT_TIMES) &&
        quick_accept(v, h, &f)) {
        v->outcome = OUTCOME_HOLDS;
        if (v->level.id != LEVEL_SER) v->shown = level_at(LEVEL_SER)->name;
        set_reason(v, "run by their client times, the transactions explain every read");
        mem_free_all(&v->work);
        return;
    }
    mem_free_all(&v->work);
    enum weak_level level;
    if (weak_of(v->level.id, &level) && !v->level.realtime) {
        decide_weak(v, h, level, q);
        return;
    }
    bool rt;
    const level_rule *rule = judge_rule(&v->level, &rt);
    if (rule) {
        decide_strong(v, h, q, rule, rt);
        /* (lists and initial states whose search knows whole transactions only) */
        if (v->outcome != OUTCOME_UNDECIDED || !rule_split_of(rule->level)) return;
    }
    if (accept(v, h, q) || refute(v, h, q)) return;
    v->outcome = OUTCOME_UNDECIDED;
    v->anomaly = ANOMALIES;
    set_reason(v, "this version does not decide the level itself: no stronger level holds, and no "
                  "weaker one is violated");
}

void judge_implied(verdict *v, const verdict *stronger)
{
    assert(stronger->outcome == OUTCOME_HOLDS);
    v->h = stronger->h;
    v->ryow = stronger->ryow;
    v->drift = stronger->drift;
    v->anomaly = ANOMALIES;
    v->outcome = OUTCOME_HOLDS;
    v->warnings = stronger->warnings;
    v->trusted = stronger->trusted;
    v->txns = stronger->txns;
    v->ops = stronger->ops;
    v->sessions = stronger->sessions;
    v->keys = stronger->keys;
    v->order = mem_array(&v->mem, txn_id, (size_t)stronger->ordered + 1);
    v->ordered = stronger->ordered;
    memcpy(v->order, stronger->order, stronger->ordered * sizeof *v->order);
    for (size_t i = 0; i < stronger->choices.n; i++)
        vec_push(&v->mem, &v->choices, stronger->choices.at[i]);
    for (size_t i = 0; i < stronger->points.n; i++)
        vec_push(&v->mem, &v->points, stronger->points.at[i]);
    for (size_t i = 0; i < stronger->point_choices.n; i++)
        vec_push(&v->mem, &v->point_choices, stronger->point_choices.at[i]);
    set_reason(v, stronger->reason);
    const char *shown = stronger->through ? stronger->through : level_at(stronger->level.id)->name;
    if (stronger->level.realtime && !stronger->through) shown = stronger->level.name;
    v->through = mem_get(&v->mem, strlen(shown) + 1);
    memcpy(v->through, shown, strlen(shown) + 1);
    v->through_so = stronger->through ? stronger->through_so : stronger->session_order;
}
