/*
 * judge_iso.c - from a definition and a history to an answer: compiled (compile_iso.c), decided
 * (decide.c), and checked.
 *
 * An order is told only after the second opinion has read the definition itself and found the order
 * to keep it (verify/recheck_words.c).  A violation is made smaller: definitions that are compiled
 * are positive in all that is chosen, so that leaving out transactions of an execution that keeps
 * the level leaves one that keeps it, and a violated part is a violated history.
 */
#include "verdict/judge_iso.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "verdict/compile_iso.h"
#include "verdict/describe.h"
#include "verdict/subhistory.h"
#include "verify/iso_clauses.h"

#define TRIAL_CONFLICTS 20000u
#define MOST_SUSPECTS 4096u  /* more are not looked through */
#define LOOK_NS 5000000000ll /* how long a core is looked for */

typedef struct iso_court {
    iso_judgement *out;
    const question *q;
    const history *h;
    const iso_level *level;
    iso_rule rule;
    mem *kept, *work;
    asg g;
    problem p;
    decision a;
    cost cost;
} iso_court;

static void iso_reason(iso_court *x, const char *text)
{
    size_t n = strlen(text) + 1;
    x->out->reason = memcpy(mem_get(x->kept, n), text, n);
}

static problem iso_problem(const iso_court *x, const tuning *tune)
{
    return (problem){.ask = {.rule = &x->rule.rule,
                             .so = x->q->session_order,
                             .rt = x->rule.real_time,
                             .drift = x->q->drift,
                             .tune = tune}};
}

/* --- holds ------------------------------------------------------------------------------------ */

static void keep_order(iso_court *x)
{
    iso_judgement *out = x->out;
    const decision *a = &x->a;
    const asg *g = &x->g;
    assert(a->holds && (a->order != NULL) != (a->pos != NULL));
    out->order = mem_array(x->kept, txn_id, (size_t)g->nodes + 1);
    if (a->order) {
        for (uint32_t i = 0; i < a->n; i++) out->order[out->ordered++] = g->node_txn[a->order[i]];
    } else {
        const order_problem *p = &x->p.order;
        txn_id *at = mem_array(x->work, txn_id, (size_t)p->events + 1);
        memset(at, 0xff, ((size_t)p->events + 1) * sizeof *at);
        for (node_id v = 0; v < p->txns; v++)
            if (!a->out[v]) at[a->pos[commit_of(p, v)]] = g->node_txn[v];
        for (uint32_t i = 0; i < p->events; i++)
            if (at[i] != NO_ID) out->order[out->ordered++] = at[i];
    }
    assert(out->ordered <= g->nodes);
    for (size_t i = 0; i < g->open.n; i++) {
        uint32_t ob = g->open.at[i], rf = a->rf[ob];
        if ((rf >= RF_LAST && rf != RF_INIT) || (a->out && a->out[g->ob_node[ob]])) continue;
        chosen c = {g->ob_op[ob], g->ob_key[ob], rf == RF_INIT ? NO_ID : g->node_txn[rf]};
        vec_push(x->kept, &out->choices, c);
    }
}

/* False, with the reason, if the order was too large to be checked. */
static bool check_order(iso_court *x)
{
    const char *wrong = NULL;
    claim c = {.session_order = x->q->session_order,
               .ryow = x->out->ryow,
               .drift = x->q->drift,
               .outcome = OUTCOME_HOLDS,
               .order = x->out->order,
               .ordered = x->out->ordered,
               .choices = x->out->choices,
               .definition = x->level};
    level_named(&c.level, x->rule.real_time ? "realtime-read-committed" : "read-committed");
    claim_recheck(&c, x->h, x->work, &wrong);
    if (!wrong) return true;
    if (wrong != claim_too_large)
        guard_fail(x->work->guard, GUARD_BUG, "the order found does not satisfy the definition: %s",
                   wrong);
    iso_reason(x, "an order was found, and is too large to be checked against the definition");
    return false;
}

static void tell_order(iso_court *x)
{
    keep_order(x);
    if (!check_order(x)) return;
    x->out->outcome = OUTCOME_HOLDS;
    iso_reason(x, "an order of the transactions satisfies all axioms");
}

/* --- violated --------------------------------------------------------------------------------- */

typedef struct iso_trial {
    iso_court *x;
    part *part;
    mem *m; /* emptied by each trial */
    uint8_t *out, *before, *ops;
    uint64_t until;
} iso_trial;

static bool still_violated(iso_trial *t)
{
    static const tuning plainly = {.strategy = STRATEGY_LAZY};
    const history *h = part_history(t->part, t->out, t->ops);
    decision a;
    asg g;
    mem_free_all(t->m);
    asg_build(&g, h, t->m, t->x->out->ryow, h->init_unknown ? ASG_INIT_FREE : 0);
    if (g.faults.n) return false;
    problem p = iso_problem(t->x, &plainly);
    p.g = &g;
    decide(&p, TRIAL_CONFLICTS, &a);
    return decision_violated(&a);
}

/* Leaves out chunks, then single transactions, while what is left stays violated. */
static void leave_out(iso_trial *t)
{
    uint32_t n = t->part->txns, chunk = 1;
    assert(n && t->x->a.why != WHY_FAULT);
    while (chunk < n / 4) chunk *= 2;
    for (; chunk; chunk /= 2)
        for (uint32_t i = 0, end; i < n; i = end) {
            uint32_t taken = 0;
            memcpy(t->before, t->out, n);
            for (end = i; end < n && taken < chunk; end++)
                if (!t->out[end]) t->out[end] = 1, taken++;
            if (clock_now() > t->until) {
                memcpy(t->out, t->before, n);
                return;
            }
            if (taken && !still_violated(t)) memcpy(t->out, t->before, n);
        }
    t->x->out->minimal = true;
}

/* The suspects are whom the clauses speak of; all of them, if these are few. */
static part *suspects_of(iso_court *x)
{
    asg *g = &x->g;
    uint8_t *in = mem_array0(x->work, uint8_t, (size_t)g->nodes + 1);
    uint32_t n = 0;
    bool all = g->nodes <= 64 || !x->a.core.n;
    for (size_t i = 0; i < x->a.core.n; i++) in[x->a.core.at[i]] = 1;
    for (size_t i = 0; i < x->a.path.steps.n; i++) in[x->a.path.steps.at[i].from] = 1;
    for (size_t i = 0; i < x->a.cycle.n; i++)
        if (x->a.cycle.at[i] < g->nodes) in[x->a.cycle.at[i]] = 1, all = false;
    for (node_id v = 0; v < g->nodes; v++) n += in[v] = in[v] || all;
    return n && n <= MOST_SUSPECTS ? part_new(x->kept, g, in) : NULL;
}

static void find_core(iso_court *x)
{
    iso_trial t = {.x = x, .part = x->g.wild_lists ? NULL : suspects_of(x), .m = x->work};
    if (!t.part) return;
    uint32_t n = t.part->txns;
    t.until = clock_now() + LOOK_NS;
    t.out = mem_array0(x->kept, uint8_t, (size_t)n + 1);
    t.before = mem_array0(x->kept, uint8_t, (size_t)n + 1);
    t.ops = mem_array0(x->kept, uint8_t, t.part->ops.n + 1);
    assert(n <= MOST_SUSPECTS);
    if (still_violated(&t)) {
        leave_out(&t);
        for (uint32_t i = 0; i < n; i++)
            if (!t.out[i]) vec_push(x->kept, &x->out->core, t.part->txn[i]);
    }
}

#define MOST_NAMED 12u

static void tell_core(iso_court *x)
{
    const txn_ids *core = &x->out->core;
    strbuf b;
    strbuf_init(&b, x->kept);
    strbuf_printf(&b, "no order satisfies all axioms; %zu transactions %sshow it", core->n,
                  x->out->minimal ? "alone " : "");
    for (size_t i = 0; i < core->n && core->n <= MOST_NAMED; i++) {
        label l = x->h->txn_label[core->at[i]];
        strbuf_str(&b, i ? ", " : ": ");
        if (!(l >> 63)) strbuf_char(&b, 'T');
        label_text(x->h, l, &b);
    }
    x->out->reason = strbuf_cstr(&b);
}

static void tell_violation(iso_court *x)
{
    char text[160];
    assert(decision_violated(&x->a) && x->rule.rule.automaton);
    x->out->outcome = OUTCOME_VIOLATED;
    if (x->a.why == WHY_FAULT) {
        x->out->anomaly = anomaly_at(x->g.faults.at[x->a.fault].anomaly)->name;
        x->out->faulty = x->g.node_txn[x->g.faults.at[x->a.fault].node];
        snprintf(text, sizeof text,
                 "a read returned a value that no transaction can have left (%s)", x->out->anomaly);
        iso_reason(x, text);
        return;
    }
    find_core(x);
    if (x->out->core.n)
        tell_core(x);
    else
        iso_reason(x, "no order of the transactions satisfies all axioms");
}

/* --- the question ----------------------------------------------------------------------------- */

static void decide_court(iso_court *x, unsigned flags)
{
    mem_free_all(x->work);
    asg_build(&x->g, x->h, x->work, x->out->ryow, flags);
    x->p = iso_problem(x, &x->q->tune);
    x->p.g = &x->g;
    x->p.cost = &x->cost;
    assert(!asg_check(&x->g) && x->p.ask.rule->path == PATH_WORDS);
    decide(&x->p, 0, &x->a);
}

static void tell_outside(iso_court *x)
{
    char text[256];
    snprintf(text, sizeof text, "%s at line %u, column %u", x->rule.outside, x->rule.line,
             x->rule.column);
    x->out->outside = true;
    iso_reason(x, text);
}

void judge_iso(iso_judgement *out, const iso_question *ask, const question *q, const history *h,
               mem *kept, mem *work)
{
    iso_court x = {.out = out, .q = q, .h = h, .kept = kept, .work = work, .cost = {.m = kept}};
    memset(out, 0, sizeof *out);
    out->faulty = NO_ID;
    out->ryow = judge_policy(h, q, work);
    x.level = iso_level_of(kept, ask->text, ask->n, ask->name);
    if (!x.level) guard_fail(work->guard, GUARD_INVAL, "the definition has no level of that name");
    compile_iso(&x.rule, x.level, kept);
    if (x.rule.outside) {
        tell_outside(&x);
        return;
    }
    out->states = x.rule.rule.automaton->states;
    decide_court(&x, 0);
    if (!x.g.nodes || x.g.unknown == x.g.nodes) {
        iso_reason(&x, "nothing to check: no transaction committed");
        mem_free_all(work);
        return;
    }
    if (decision_violated(&x.a) && x.g.init_assumed) decide_court(&x, ASG_INIT_FREE);
    out->vars = x.cost.vars;
    out->clauses = x.cost.clauses;
    out->conflicts = x.cost.conflicts;
    out->instantiated = x.cost.instantiated;
    if (x.a.undecided) {
        out->unfit = x.g.wild_lists != 0;
        iso_reason(&x, x.a.undecided);
    } else if (x.a.holds) {
        tell_order(&x);
    } else {
        tell_violation(&x);
    }
    mem_free_all(work);
}
