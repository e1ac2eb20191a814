/*
 * core.c - see core.h.
 *
 * Making the part smaller: transactions are left out, in halves, quarters, ... and one by one, and
 * each time that what is left is still violated, only what the new proof names is kept.  A part of
 * a part that holds, holds; so a transaction that was needed once stays needed, and at the end
 * none can be left out.  Each trial decides a few transactions, in microseconds.
 *
 * A violation that a weaker level shows too is told by that one (its names are finer), and one
 * that needs neither session order nor real time without them.
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

bool core_knows(const level_rule *rule)
{
    return rule->level == LEVEL_SER || rule->level == LEVEL_SI;
}

bool core_reduces(const level_rule *rule)
{
    /* (two that are neighbours among few need not be in the whole) */
    return !(rule->path & PATH_NEXT);
}

/* Levels that take reads of items and of absences apart: a part has reads only. */
static bool tells_absence(const level_rule *rule)
{
    return rule->strict == STRICT_ITEM || rule->strict == STRICT_OWN;
}

/* --- suspects --------------------------------------------------------------------------------- */

/* Decides once more, with a log; plain: as certify.c does where a deduction is not explained. */
static bool explain(order_problem *p, asg *g, const order_question *ask, bool plain,
                    order_answer *a)
{
    problem_build(p, g, ask);
    p->justify = justify_new(p);
    p->plain = plain;
    lazy_decide(p, 0, a);
    return !a->undecided && !a->holds && justify_steps(p->justify, a);
}

typedef enum explained {
    EXPLAINED,
    NO_PROOF,
    TOO_LATE /* and the graph is not to be used any more */
} explained;

/* The same, with half of the time that is left: what else is asked of the violation gets the
   rest. */
static explained explain_in_time(order_problem *p, asg *g, const order_question *ask,
                                 order_answer *a)
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

void core_suspects(verdict *v, asg *g, const order_question *ask, order_problem *p,
                   const order_answer *a)
{
    uint8_t *in = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    order_question again = *ask;
    again.tune = &lazily;
    order_problem q;
    order_answer b;
    if (v->part) part_free(v->part);
    v->part = NULL;
    if (g->wild_lists || g->init_open) { /* all of at most 8 */
        memset(in, 1, g->nodes);
    } else {
        bool ok = p && a && p->justify && justify_steps(p->justify, a);
        bool many = v->core.n > ALL_SUSPECT;
        /* Readers that are looked at alone have clauses of so many that those are no help.  It is
           not serializable either, which has a short proof: mostly of the same few. */
        if (many && ask->rule->strict == STRICT_UPDATES) again.rule = rule_of(LEVEL_SER);
        if (!ok && (many || core_knows(ask->rule))) {
            explained how = explain_in_time(&q, g, &again, &b);
            if (how == TOO_LATE || (how == NO_PROOF && core_knows(ask->rule))) return;
            ok = how == EXPLAINED;
            p = &q;
        }
        if (ok)
            justify_nodes(p->justify, in);
        else /* those whom the clauses speak of */
            for (size_t i = 0; i < v->core.n; i++) in[g->txn_node[v->core.at[i]]] = 1;
    }
    v->part = part_new(&v->mem, g, in);
}

/* --- deciding a part -------------------------------------------------------------------------- */

typedef struct trial {
    verdict *v;
    part *x;
    mem *m;             /* v's working memory: emptied by each trial */
    order_question ask; /* of the strong level */
    bool weak;          /* it is the weak level that must stay violated */
    uint32_t level;     /* index of core_weaker */
    bool search;        /* ... by search, if need be */
    uint8_t *txn_out, *op_out, *before, *needed;

    /* the last one */
    asg g;
    order_problem p;
    order_answer a;
    weak_answer w;
    bool searched; /* by trying: there is no proof */
} trial;

static void load(trial *t)
{
    mem_free_all(t->m);
    const history *h = part_history(t->x, t->txn_out, t->op_out);
    asg_build(&t->g, h, t->m, t->v->ryow, h->init_unknown ? ASG_INIT_FREE : 0);
    assert(!asg_check(&t->g));
}

static bool violated_weak(trial *t)
{
    load(t);
    if (t->g.faults.n) return false;
    weak_decide(&t->g, core_weaker[t->level], t->ask.so, t->search, &t->w);
    return t->w.verdict == WEAK_VIOLATED && (t->search || t->w.why != WHY_SEARCH) &&
           t->w.why != WHY_FAULT;
}

static bool violated_strong(trial *t)
{
    load(t);
    asg *g = &t->g;
    if (g->faults.n) return false; /* cannot be: then something is wrong with the part */
    t->searched = g->wild_lists || g->init_open;
    if (t->searched && !core_knows(t->ask.rule)) return false;
    if (t->searched) {
        node_id order[WEAK_SMALL];
        bool si = t->ask.rule->events;
        uint32_t n = 0, *rf = mem_array(t->m, uint32_t, g->obs + 1);
        /* (that search knows real time of serial orders only) */
        return g->nodes <= WEAK_SMALL && !(si && t->ask.rt) &&
               !small_decide(g, si, t->ask.so, t->ask.rt, t->ask.drift, order, rf, &n);
    }
    problem_build(&t->p, g, &t->ask);
    t->p.justify = justify_new(&t->p);
    lazy_decide(&t->p, TRIAL_CONFLICTS, &t->a);
    return !t->a.undecided && !t->a.holds;
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
    if (t->weak || t->searched || !justify_steps(t->p.justify, &t->a)) return false;
    uint8_t *seen = mem_array0(t->m, uint8_t, (size_t)t->g.nodes + 1);
    bool any = false;
    justify_nodes(t->p.justify, seen);
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
static void translate(verdict *v, const part *x)
{
    uint8_t *named = mem_array0(&v->work, uint8_t, x->h.txns + 1);
    for (size_t i = 0; i < v->cycle.n; i++) {
        cycle_link *l = &v->cycle.at[i];
        l->from = x->txn[x->kept[l->from]];
        l->to = x->txn[x->kept[l->to]];
        if (l->key != NO_ID) l->key = x->key[l->key];
    }
    for (size_t i = 0; i < v->core.n; i++) {
        named[v->core.at[i]] = 1;
        v->core.at[i] = x->txn[x->kept[v->core.at[i]]];
    }
    for (uint32_t t = 0; t < x->h.txns; t++)
        if (!named[t]) vec_push(&v->mem, &v->core, x->txn[x->kept[t]]);
}

/* Which weaker levels the whole is worth asking at: below the one that told it, if one did. */
static uint32_t still_weaker(const trial *t)
{
    uint32_t a = t->v->anomaly;
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

static void tell(trial *t)
{
    verdict *v = t->v;
    bool so = v->session_order;
    verdict_forget(v);
    v->outcome = OUTCOME_VIOLATED;
    v->session_order = t->ask.so;
    if (t->weak) {
        words_explain(v, &t->g, &t->w, core_weaker[t->level]);
    } else if (!core_knows(t->ask.rule)) {
        if (t->a.path.steps.n)
            words_steps(v, &t->g, t->a.path.steps.at, t->a.path.steps.n);
        else if (t->a.known_cycle)
            words_events(v, &t->g, &t->p, t->a.cycle.at, t->a.cycle.n);
        else
            words_search(v, &t->g, t->ask.rule, NULL, 0);
    } else {
        step_list found = {0}, plain = {0};
        if (loop_find(&t->g, &t->ask, &found, &plain))
            words_cycle(v, &t->g, found.at, found.n, name_loop(t, &found, &plain));
        else
            words_search(v, &t->g, t->ask.rule, NULL, 0);
    }
    v->session_order = so;
    name_predicates(v, t->x);
    translate(v, t->x);
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

/* Room for what is out, in v's memory: one block. */
static uint8_t *open_trial(trial *t)
{
    size_t n = t->x->txns;
    uint8_t *flags = mem_array0(&t->v->mem, uint8_t, 3 * n + t->x->ops.n + 1);
    t->m = &t->v->work;
    t->txn_out = flags;
    t->before = flags + n;
    t->needed = flags + 2 * n;
    t->op_out = flags + 3 * n;
    t->ask.tune = &lazily;
    return flags;
}

/* Makes it minimal and tells it, if it is violated. */
static bool minimise_and_tell(trial *t)
{
    if (!violated(t)) return false;
    minimise(t);
    if (!violated(t)) return false;
    tell(t);
    return true;
}

void core_tell_weak(verdict *v, asg *g, const weak_answer *a, enum weak_level level)
{
    uint8_t *in = mem_array0(g->m, uint8_t, (size_t)g->nodes + 1);
    trial t = {.v = v, .ask.so = v->session_order, .weak = true, .search = a->why == WHY_SEARCH};
    while (t.level < CORE_WEAKER && core_weaker[t.level] != level) t.level++;
    if (t.level == CORE_WEAKER || a->why == WHY_FAULT || (t.search && g->nodes > ALL_SEARCHED))
        return;
    if (g->nodes <= ALL_SUSPECT)
        memset(in, 1, g->nodes);
    else
        for (size_t i = 0; i < v->core.n; i++) in[g->txn_node[v->core.at[i]]] = 1;
    t.x = part_new(&v->mem, g, in);
    uint8_t *flags = open_trial(&t);
    minimise_and_tell(&t);
    mem_put(&v->mem, flags);
    part_free(t.x);
    mem_free_all(&v->work);
}

core_told core_tell(verdict *v, const order_question *ask)
{
    core_told answer = {.weaker = CORE_WEAKER};
    trial t = {.v = v, .x = v->part, .ask = *ask};
    uint8_t *flags = open_trial(&t);
    bool whole_reads = true; /* every read of the part is what it was in the whole */
    for (size_t i = 0; i < t.x->ops.n && tells_absence(ask->rule); i++)
        whole_reads = whole_reads && !t.x->ops.at[i].predicate;
    if (whole_reads && violated_strong(&t)) {
        /* Without real time, without session order: of the strong level, then of the weaker. */
        if (ask->rt) {
            t.ask.rt = false;
            if (violated_strong(&t))
                answer.without |= RESTS_REALTIME;
            else
                t.ask.rt = true;
        }
        if (ask->so) {
            t.ask.so = false;
            if (violated_strong(&t)) answer.without |= RESTS_SESSION;
        }
        t.ask.so = ask->so;
        if (core_knows(ask->rule)) find_weaker(&t);
        /* As far as it goes without session order; with it, some may still be left out. */
        if (ask->so && answer.without & RESTS_SESSION) {
            t.ask.so = false;
            if (violated(&t)) minimise(&t);
            t.ask.so = true;
        }
        answer.told = minimise_and_tell(&t);
        if (answer.told) answer.weaker = still_weaker(&t);
    }
    mem_put(&v->mem, flags);
    mem_free_all(&v->work);
    return answer;
}
