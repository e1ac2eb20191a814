/*
 * core.c - see core.h.
 *
 * Making the part smaller: transactions are left out, in halves, quarters, ... and one by one, and
 * each time that what is left is still violated, only what the new proof names is kept.  A part of
 * a part that holds, holds; so a transaction that was needed once stays needed, and at the end
 * none can be left out.  Each trial decides a few transactions, in microseconds.
 *
 * A violation is described at the weakest level that shows it, because names are finer there, and
 * without session order or real time if it does not need them.
 */
#include "verdict/core.h"

#include <assert.h>

#include "base/clock.h"
#include "decide/proof/justify.h"
#include "verdict/short_cycle.h"
#include "verdict/describe.h"

#define TRIAL_CONFLICTS 20000u
#define ALL_SUSPECT 256u /* so few transactions are looked through without a proof */
#define ALL_SEARCHED 24u /* the same where each trial is a search */

/* A history of at most this many transactions is asked for a better name at every weaker level; a
   larger one with an anomaly that is well known as it is, only at those that are cheap to ask. */
#define CHEAP_TXNS 20000u

const enum weak_level core_weaker[CORE_WEAKER] = {WEAK_RC, WEAK_MAV, WEAK_RA, WEAK_CC};

/* Passes may have been turned off for the whole history; the part is decided with all of them. */
static const tuning lazily = {.strategy = STRATEGY_LAZY};

bool core_reduces(const level_rule *rule)
{
    /* (two that are neighbours among few need not be in the whole) */
    return !(rule->path & PATH_NEXT) && rule->level != LEVEL_MIXED_PG;
}

/* Levels that take reads of items and of absences apart: a part has reads only. */
static bool tells_absence(const level_rule *rule)
{
    return rule->strict == STRICT_ITEM || rule->strict == STRICT_OWN ||
           rule->strict == STRICT_BY_ROW;
}

/* --- suspects --------------------------------------------------------------------------------- */

/* Decides once more, with a log; plain: as certify.c does where a deduction is not explained. */
static bool explain(problem *p, asg *g, const order_question *ask, bool plain, decision *a)
{
    *p = (problem){.g = g, .ask = *ask, .log = KEEP_LOG, .plain = plain};
    decide(p, 0, a);
    return decision_violated(a) && justify_steps(p->order.justify, a);
}

typedef enum explained {
    EXPLAINED,
    NO_PROOF,
    TOO_LATE /* and the graph is not to be used any more */
} explained;

/* The same, with half of the time that is left: what else is asked of the violation gets the
   rest. */
static explained explain_in_time(problem *p, asg *g, const order_question *ask, decision *a)
{
    guard *now = g->m->guard, before = *now;
    uint64_t at = clock_now();
    if (now->deadline > at) now->deadline = at + (now->deadline - at) / 2;
    if (!guard_armed(now)) {
        bool ok = explain(p, g, ask, false, a) || explain(p, g, ask, true, a);
        guard_restore(now, &before);
        return ok ? EXPLAINED : NO_PROOF;
    }
    guard_restore(now, &before);
    if (now->code != GUARD_TIME) guard_fail_again(now);
    return TOO_LATE;
}

/* Marks the nodes that a proof of the violation names; false: there is none, or no time. */
static bool mark_suspects(const verdict *v, const problem *p, const decision *a, uint8_t *in)
{
    asg *g = p->g;
    const level_rule *rule = p->ask.rule;
    problem again; /* the log of a second run points into it */
    const justify *log = p->ordered ? p->order.justify : NULL;
    bool proved = log && justify_steps(p->order.justify, a), many = v->core.n > ALL_SUSPECT;
    /* A cycle of a weaker level names who it needs; a proof of the level itself may be long. */
    if (!proved && !(a->by == BY_CAUSAL && !many) && (many || rule_is_basic(rule))) {
        decision found;
        order_question ask = p->ask;
        ask.tune = &lazily;
        /* Readers that are looked at alone have clauses of so many that those are no help.  It is
           not serializable either, which has a short proof: mostly of the same few. */
        if (many && rule->strict == STRICT_UPDATES) ask.rule = rule_of(LEVEL_SER);
        explained how = explain_in_time(&again, g, &ask, &found);
        if (how == TOO_LATE || (how == NO_PROOF && rule_is_basic(rule))) return false;
        proved = how == EXPLAINED;
        log = again.order.justify;
    }
    if (proved)
        justify_nodes(log, in);
    else /* the transactions that the clauses speak of */
        for (size_t i = 0; i < v->core.n; i++) in[g->txn_node[v->core.at[i]]] = 1;
    return true;
}

part *core_suspects(const verdict *v, const problem *p, const decision *a)
{
    asg *g = p->g;
    uint8_t *in = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    assert(decision_violated(a) && v->outcome == OUTCOME_VIOLATED);
    if (g->wild_lists)
        memset(in, 1, g->nodes); /* all of at most 8 */
    else if (!mark_suspects(v, p, a, in))
        return NULL;
    return part_new(v->mem, g, in);
}

/* --- deciding a part -------------------------------------------------------------------------- */

typedef struct trial {
    /* What is tried.  Only `ask`, `weak` and `level`, which say what must stay violated, change. */
    part *x;
    const verdict *blank; /* of the answer that is told */
    mem *m;               /* working memory: emptied by each trial */
    order_question ask;   /* of the strong level */
    bool weak;            /* the weak level must stay violated: */
    uint32_t level;       /* index of core_weaker */
    bool search;          /* ... by search, if need be */

    /* What is left out, and the same before the trial; needed: cannot be left out. */
    uint8_t *txn_out, *op_out, *before, *needed;

    /* The last trial: g, p and a belong together. */
    asg g;
    problem p;
    decision a;
} trial;

/* Decides what remains of the part. */
static void try_part(trial *t, problem asked, uint64_t conflicts)
{
    mem_free_all(t->m);
    const history *h = part_history(t->x, t->txn_out, t->op_out);
    asg_build(&t->g, h, t->m, t->blank->ryow,
              asg_level_flags(t->blank->level.id) | (h->init_unknown ? ASG_INIT_FREE : 0));
    assert(!asg_check(&t->g));
    assert(t->g.nodes <= t->x->txns);
    t->p = asked;
    t->p.g = &t->g;
    t->a = (decision){.undecided = "a part of a history without faults has none"};
    if (!t->g.faults.n) decide(&t->p, conflicts, &t->a);
}

static bool violated_weak(trial *t)
{
    problem p = {.ask = {.so = t->ask.so, .tune = &lazily},
                 .tested = true,
                 .test = core_weaker[t->level],
                 .guess = !t->search};
    try_part(t, p, 0);
    return decision_violated(&t->a) && (t->search || t->a.why != WHY_SEARCH) &&
           t->a.why != WHY_FAULT;
}

static bool is_searched(const trial *t)
{
    return t->g.wild_lists != 0;
}

static bool violated_strong(trial *t)
{
    try_part(t, (problem){.ask = t->ask, .log = KEEP_LOG}, TRIAL_CONFLICTS);
    if (is_searched(t) && !rule_is_basic(t->ask.rule)) return false;
    return decision_violated(&t->a);
}

static bool violated(trial *t)
{
    return t->weak ? violated_weak(t) : violated_strong(t);
}

/* --- making it smaller ------------------------------------------------------------------------ */

static void save(trial *t)
{
    memcpy(t->before, t->txn_out, t->x->txns);
}

static void restore(trial *t)
{
    memcpy(t->txn_out, t->before, t->x->txns);
}

/* Leaves out whom the proof of the last trial does not name; false if it names all. */
static bool leave_unnamed(trial *t)
{
    if (t->weak || is_searched(t) || !justify_steps(t->p.order.justify, &t->a)) return false;
    uint8_t *seen = mem_array0(t->m, uint8_t, (size_t)t->g.nodes + 1);
    bool any = false;
    justify_nodes(t->p.order.justify, seen);
    for (node_id v = 0; v < t->g.nodes; v++) {
        if (seen[v]) continue;
        t->txn_out[t->x->kept[t->g.node_txn[v]]] = 1;
        any = true;
    }
    return any;
}

/* The last trial was violated: on with what its proof names, as long as that gets smaller. */
static void follow_proof(trial *t)
{
    for (;;) {
        save(t);
        if (!leave_unnamed(t)) return;
        if (violated(t)) continue;
        restore(t);
        return;
    }
}

static void minimise(trial *t)
{
    uint32_t n = t->x->txns, chunk = 1;
    assert(decision_violated(&t->a)); /* the last trial */
    memset(t->needed, 0, n);
    follow_proof(t);
    while (chunk < n / 8) chunk *= 2;
    for (; chunk; chunk /= 2)
        for (uint32_t i = 0, end; i < n; i = end) {
            uint32_t taken = 0;
            save(t);
            for (end = i; end < n && taken < chunk; end++) {
                if (t->txn_out[end] || t->needed[end]) continue;
                t->txn_out[end] = 1;
                taken++;
            }
            if (!taken) continue;
            if (violated(t)) {
                follow_proof(t);
                continue;
            }
            restore(t);
            if (taken == 1) t->needed[end - 1] = 1;
        }
}

/* --- telling ---------------------------------------------------------------------------------- */

/* v speaks of the part: makes it speak of the whole. */
static void translate(verdict *v, const part *x, mem *work)
{
    uint8_t *named = mem_array0(work, uint8_t, x->h.txns + 1);
    for (size_t i = 0; i < v->cycle.n; i++) {
        cycle_link *l = &v->cycle.at[i];
        assert(l->from < x->h.txns && l->to < x->h.txns);
        l->from = x->txn[x->kept[l->from]];
        l->to = x->txn[x->kept[l->to]];
        if (l->key != NO_ID) l->key = x->key[l->key];
    }
    for (size_t i = 0; i < v->core.n; i++) {
        named[v->core.at[i]] = 1;
        v->core.at[i] = x->txn[x->kept[v->core.at[i]]];
    }
    for (uint32_t t = 0; t < x->h.txns; t++)
        if (!named[t]) vec_push(v->mem, &v->core, x->txn[x->kept[t]]);
}

/* How many of core_weaker are worth asking about the whole history: those below the level that the
   violation is described at, if it is one of them. */
static uint32_t still_weaker(const trial *t, uint32_t a)
{
    bool well_known = a == ANOMALY_LOST_UPDATE || a == ANOMALY_WRITE_SKEW ||
                      a == ANOMALY_PREDICATE_WRITE_SKEW || a == ANOMALY_LONG_FORK ||
                      a == ANOMALY_READ_ONLY_ANOMALY;
    if (t->weak) return t->level;
    return well_known && t->x->whole->txns > CHEAP_TXNS ? CORE_WEAKER - 1 : CORE_WEAKER;
}

/* Version orders that were derived say nothing about what a weaker level, which does not derive
   them, allows; with one anti-dependency among them it is still a lost update or a read skew. */
static uint32_t name_loop(const trial *t, const step_list *found, const step_list *plain)
{
    size_t rw = 0;
    for (size_t i = 0; i < found->n; i++) rw += found->at[i].kind == STEP_RW;
    if (plain->n) return words_name(plain->at, plain->n);
    if (t->ask.rt) return rw ? ANOMALY_STALE_READ : ANOMALY_TIMESTAMP_INVERSION;
    if (rw == 1) return words_name(found->at, found->n);
    return level_at(t->ask.rule->level)->anomaly;
}

/* Did it see, by a scan, that the key was not there? */
static bool missed(const part *x, txn_id from, key_id key)
{
    for (op_id o = x->h.txn_op[from]; o < x->h.txn_op[from + 1]; o++)
        if (x->h.op_key[o] == key && x->ops.at[x->op_kept[o]].predicate) return true;
    return false;
}

/* The same anomalies have other names where a scan is what was overtaken. */
static void name_predicates(verdict *v, const part *x)
{
    static const uint32_t names[][2] = {{ANOMALY_FUZZY_READ, ANOMALY_PHANTOM},
                                        {ANOMALY_WRITE_SKEW, ANOMALY_PREDICATE_WRITE_SKEW},
                                        {ANOMALY_G2_ITEM, ANOMALY_G2}};
    bool any = false;
    for (size_t i = 0; i < v->cycle.n && !any; i++) {
        const cycle_link *l = &v->cycle.at[i];
        any = !strcmp(l->edge, "rw") && missed(x, l->from, l->key);
    }
    for (size_t i = 0; any && i < sizeof names / sizeof *names; i++)
        if (v->anomaly == names[i][0]) {
            v->anomaly = names[i][1];
            break;
        }
}

/* Tells the last trial, of which nothing more can be left out. */
static void tell_trial(const trial *t, verdict *out)
{
    verdict v = *t->blank;
    asg *g = t->p.g;
    v.outcome = OUTCOME_VIOLATED;
    v.decided_by = out->decided_by;
    if (t->weak) {
        words_decision(&v, &t->p, &t->a);
    } else if (!rule_is_basic(t->ask.rule)) {
        decision a = t->a;
        a.core.n = 0; /* all of the few transactions are the core */
        words_decision(&v, &t->p, &a);
    } else {
        step_list found = {0}, plain = {0};
        if (loop_find(g, &t->ask, &found, &plain))
            words_cycle(&v, g, found.at, found.n, name_loop(t, &found, &plain));
        else
            words_search(&v, g, t->ask.rule, t->p.ordered ? &t->p.order : NULL, NULL, 0);
    }
    name_predicates(&v, t->x);
    translate(&v, t->x, t->m);
    assert(v.core.n >= t->x->h.txns && v.session_order == out->session_order);
    *out = v;
}

/* The weakest level that the part violates. */
static void find_weaker(trial *t)
{
    t->level = CORE_WEAKER - 1;
    t->weak = violated_weak(t);
    for (uint32_t i = 0; i + 1 < CORE_WEAKER && t->weak; i++) {
        t->level = i;
        if (violated_weak(t)) return;
    }
    t->level = CORE_WEAKER - 1;
}

/* Room for what is out, in the answer's region: one block. */
static uint8_t *open_trial(trial *t)
{
    size_t n = t->x->txns;
    uint8_t *flags = mem_array0(t->blank->mem, uint8_t, 3 * n + t->x->ops.n + 1);
    t->txn_out = flags;
    t->before = flags + n;
    t->needed = flags + 2 * n;
    t->op_out = flags + 3 * n;
    t->ask.tune = &lazily;
    return flags;
}

/* Makes it minimal and tells it, if it is violated. */
static bool minimise_and_tell(trial *t, verdict *v)
{
    if (!violated(t)) return false;
    minimise(t);
    if (!violated(t)) return false;
    tell_trial(t, v);
    return true;
}

void core_tell_weak(verdict *v, const verdict *blank, const problem *p, const decision *a,
                    mem *work)
{
    asg *g = p->g;
    uint8_t *in = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    trial t = {.blank = blank,
               .m = work,
               .ask.so = p->ask.so,
               .weak = true,
               .search = a->why == WHY_SEARCH};
    assert(p->tested && decision_violated(a));
    while (t.level < CORE_WEAKER && core_weaker[t.level] != p->test) t.level++;
    if (t.level == CORE_WEAKER || a->why == WHY_FAULT || (t.search && g->nodes > ALL_SEARCHED))
        return;
    if (g->nodes <= ALL_SUSPECT)
        memset(in, 1, g->nodes);
    else
        for (size_t i = 0; i < v->core.n; i++) in[g->txn_node[v->core.at[i]]] = 1;
    t.x = part_new(v->mem, g, in);
    uint8_t *flags = open_trial(&t);
    minimise_and_tell(&t, v);
    mem_put(v->mem, flags);
    part_free(t.x);
    mem_free_all(work);
}

/* Is the part violated without real time, without session order?  Real time that is not needed is
   not asked for any more; session order is. */
static uint32_t needs_not(trial *t)
{
    uint32_t without = 0;
    bool so = t->ask.so;
    if (t->ask.rt) {
        t->ask.rt = false;
        if (violated_strong(t))
            without |= RESTS_REALTIME;
        else
            t->ask.rt = true;
    }
    if (so) {
        t->ask.so = false;
        if (violated_strong(t)) without |= RESTS_SESSION;
        t->ask.so = true;
    }
    assert(t->ask.so == so);
    return without;
}

core_told core_tell(verdict *v, const verdict *blank, part *suspects, const order_question *ask,
                    mem *work)
{
    core_told answer = {.weaker = CORE_WEAKER};
    trial t = {.blank = blank, .x = suspects, .m = work, .ask = *ask};
    uint8_t *flags = open_trial(&t);
    bool whole_reads = true; /* every read of the part is what it was in the whole */
    for (size_t i = 0; i < t.x->ops.n && tells_absence(ask->rule); i++)
        whole_reads = whole_reads && !t.x->ops.at[i].predicate;
    if (whole_reads && violated_strong(&t)) {
        answer.without = needs_not(&t);
        if (rule_is_basic(ask->rule)) find_weaker(&t);
        /* As far as it goes without session order; with it, some may still be left out. */
        if (ask->so && answer.without & RESTS_SESSION) {
            t.ask.so = false;
            if (violated(&t)) minimise(&t);
            t.ask.so = true;
        }
        answer.told = minimise_and_tell(&t, v);
        if (answer.told) answer.weaker = still_weaker(&t, v->anomaly);
    }
    mem_put(v->mem, flags);
    mem_free_all(work);
    return answer;
}
