/*
 * judge.c - from a question to an answer, as a list of steps.
 *
 * A step has a question (is it worth trying here?) and an act, which may find the answer.  The
 * first step that finds one ends the list.  The order is: what the history shows by itself
 * (timestamps, client times); then the level itself, by the first decider of decide/decide.c that
 * can; then other levels, one that implies it and holds, or one that it implies and that is
 * violated (doc/levels.md 7).  Without any of these the answer is `undecided`, with the reason.
 */
#include "verdict/verdict.h"

#include <assert.h>

#include "history/aborted_readers.h"
#include "history/cut_off.h"
#include "history/header_notes.h"
#include "history/key_sessions.h"
#include "verdict/describe.h"
#include "verdict/hearing.h"
#include "verdict/single_operations.h"
#include "verdict/sums.h"
#include "verdict/undone_reads.h"

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

/* --- mixtures --------------------------------------------------------------------------------- */

static bool is_mixture(const hearing *x)
{
    return level_is_mixed(x->asked.id);
}

/* A level that has no rule in a mixture is undecided, by its name. */
static bool refuse_mixture(hearing *x)
{
    const char *no = mixed_refusal(x->h, x->asked.id == LEVEL_MIXED_PG, x->work);
    if (!no) return false;
    x->found = x->blank;
    verdict_reason(&x->found, no);
    mem_free_all(x->work);
    return true;
}

/* --- what savepoints took back ---------------------------------------------------------------- */

static bool reading_uncommitted(const hearing *x)
{
    return x->asked.id == LEVEL_RU || x->asked.id == LEVEL_MIXED;
}

static bool refuse_undone_reads(hearing *x)
{
    txn_id reader = undone_read(x->h, x->asked.id == LEVEL_MIXED, x->work);
    mem_free_all(x->work);
    if (reader == NO_ID) return false;
    strbuf b;
    strbuf_init(&b, x->v->mem);
    strbuf_str(&b, "transaction ");
    atom_json(x->h, label_atom(x->h, x->h->txn_label[reader]), &b);
    strbuf_str(
        &b,
        " may have read what another one wrote and undid at a savepoint, which read-uncommitted "
        "allows, but which this build does not track");
    strbuf_cstr(&b);
    x->found = x->blank;
    x->found.reason = b.at;
    return true;
}

/* --- each key by itself ----------------------------------------------------------------------- */

static bool is_by_key(const hearing *x)
{
    return x->asked.id == LEVEL_LIN;
}

/* A transaction that ended before it began: real time is no order of intervals then. */
static txn_id first_inverted(const history *h)
{
    int64_t begin, end;
    for (txn_id t = 0; t < h->txns; t++)
        if (txn_begin_time(h, t, &begin) && txn_end_time(h, t, &end) && end < begin) return t;
    return NO_ID;
}

/* Why the level says nothing of this history, or NULL. */
static char *refusal_by_key(const hearing *x)
{
    const history *h = x->h;
    txn_id t = history_first_larger(h), inverted = t == NO_ID ? first_inverted(h) : NO_ID;
    strbuf b;
    if (t == NO_ID && inverted == NO_ID && !h->assumed) return NULL;
    strbuf_init(&b, x->v->mem);
    if (inverted != NO_ID) {
        strbuf_str(&b, "the times of the history are wrong: transaction ");
        atom_json(h, label_atom(h, h->txn_label[inverted]), &b);
        strbuf_str(&b, " ends before it begins");
    } else if (t == NO_ID) {
        strbuf_str(&b, "linearizable is not decided together with modules");
    } else {
        strbuf_str(&b, "linearizable is decided only if every transaction is a single "
                       "operation (a read, a write, or a read and then a write, of one key), and "
                       "transaction ");
        atom_json(h, label_atom(h, h->txn_label[t]), &b);
        strbuf_str(&b, " is more than that: ask for strict-serializable");
    }
    strbuf_cstr(&b);
    return b.at;
}

/* From here on the history is the one of key_sessions.h. */
static bool part_by_key(hearing *x)
{
    char *no = refusal_by_key(x);
    if (!no) {
        x->h = key_sessions(x->h, x->v->mem);
        return false;
    }
    x->found = x->blank;
    x->found.reason = no;
    return true;
}

/* --- by the history alone --------------------------------------------------------------------- */

static void found_by(hearing *x, enum decider_id by, enum outcome outcome)
{
    assert(outcome != OUTCOME_UNDECIDED);
    x->found.outcome = outcome;
    x->found.decided_by = by;
}

static void set_through(verdict *v, enum level_id id, bool so)
{
    const char *name = level_at(id)->name;
    v->through_so = so;
    v->through = mem_get(v->mem, strlen(name) + 1);
    memcpy(v->through, name, strlen(name) + 1);
}

static bool trusting_timestamps(const hearing *x)
{
    return x->q->trust;
}

/* Serializability and snapshot isolation as such, and what either implies if it holds. */
static bool run_by_timestamps(hearing *x)
{
    enum level_id id;
    const level_ref *level = &x->asked;
    for (size_t i = 0; level_in_turn(&id, TURN_TIMESTAMPS, i); i++) {
        bool itself = level->id == id && !level->realtime;
        if (!itself && !level_implies(id, x->so, false, level->id, x->so, level->realtime))
            continue;
        if (level->id == LEVEL_SI && id == LEVEL_SER) continue; /* it has a walk of its own */
        verdict *v = &x->found;
        *v = x->blank;
        enum trusted_answer a = trusted_decide(v, x->h, x->f, id == LEVEL_SI, x->work);
        mem_free_all(x->work);
        if (a != TRUSTED_HOLDS && !(a == TRUSTED_VIOLATED && itself)) continue;
        if (a == TRUSTED_HOLDS) {
            verdict_reason(v,
                           "run by the database's timestamps, the transactions explain every read");
            if (!itself) set_through(v, id, x->so);
        }
        found_by(x, BY_TIMESTAMPS, a == TRUSTED_HOLDS ? OUTCOME_HOLDS : OUTCOME_VIOLATED);
        v->warnings &= ~lint_bit(LINT_TIMESTAMPS);
        return true;
    }
    return false;
}

/* A serial order that keeps sessions shows the level, unless real time counts. */
static bool trying_client_times(const hearing *x)
{
    const level_ref *level = &x->asked;
    return !level->realtime && level_implies(LEVEL_SER, true, false, level->id, x->so, false) &&
           level_at(level->id)->decided && pass_on(&x->q->tune, PASS_CLIENT_TIMES);
}

static bool run_by_client_times(hearing *x)
{
    x->found = x->blank;
    bool explained = quick_accept(&x->found, x->h, x->f, x->work);
    mem_free_all(x->work);
    if (!explained) return false;
    found_by(x, BY_CLIENT_TIMES, OUTCOME_HOLDS);
    if (x->asked.id != LEVEL_SER) x->found.shown = level_at(LEVEL_SER)->name;
    verdict_reason(&x->found, "run by their client times, the transactions explain every read");
    return true;
}

/* --- the level itself ------------------------------------------------------------------------- */

static bool knowing_level(const hearing *x)
{
    return x->tested || x->rule;
}

/* Parts of transactions are not searched exhaustively, so that another level may still help. */
static bool has_last_word(const hearing *x)
{
    return x->tested || (x->rule && !rule_split_of(x->rule->level));
}

static bool decide_level(hearing *x)
{
    cost *c = x->blank.cost;
    problem p = hearing_problem(x);
    uint64_t spent = c->ns_solve;
    x->begun = clock_now();
    x->ticks = x->work->guard->ticks;
    hearing_decide_level(x, &p);
    if (x->tested && !x->p.ordered && !x->fuzzy) c->instantiated = x->g.base_extra + x->a.derived;
    c->ns_analyse = clock_now() - x->begun - (c->ns_solve - spent);
    hearing_warn(x);
    hearing_tell(x);
    if (x->found.outcome == OUTCOME_VIOLATED) look_into(x);
    mem_free_all(x->work);
    return x->found.outcome != OUTCOME_UNDECIDED || has_last_word(x);
}

/* --- by another level ------------------------------------------------------------------------- */

static bool needing_another_level(const hearing *x)
{
    return !has_last_word(x);
}

/* The same question at another level; `level` is one by name. */
static hearing at_level(const hearing *x, enum level_id id, bool so)
{
    hearing other = *x;
    level_ref level;
    bool named = level_named(&level, level_at(id)->name);
    assert(named);
    (void)named;
    hearing_of(&other, &level, so);
    assert(knowing_level(&other));
    return other;
}

/* The level holds if a stronger one does. */
static bool accept_through_stronger(hearing *x)
{
    enum level_id id;
    for (size_t i = 0; level_in_turn(&id, TURN_ACCEPT, i); i++) {
        bool so = x->so || id == LEVEL_SSER;
        if (!level_implies(id, so, false, x->asked.id, x->so, x->asked.realtime)) continue;
        hearing other = at_level(x, id, so);
        problem p = hearing_problem(&other);
        p.log = KEEP_NO_LOG;
        hearing_decide(&other, &p, 0, false);
        hearing_tell(&other);
        mem_free_all(x->work);
        if (other.found.outcome != OUTCOME_HOLDS) continue;
        x->found = other.found;
        set_through(&x->found, id, so);
        found_by(x, BY_STRONGER, OUTCOME_HOLDS);
        return true;
    }
    return false;
}

/* The level is violated if one that it implies is: the strongest that this build decides are asked
   first, with session order and without. */
static bool refute_through_weaker(hearing *x)
{
    enum level_id id;
    for (size_t i = 0; level_in_turn(&id, TURN_REFUTE, i / 2); i++) {
        bool so = i % 2 == 0;
        if (!level_implies(x->asked.id, x->so, x->asked.realtime, id, so, false)) continue;
        hearing other = at_level(x, id, so);
        set_through(&other.blank, id, so);
        other.by = BY_WEAKER;
        decide_level(&other);
        x->blank.warnings = other.blank.warnings;
        if (other.found.outcome != OUTCOME_VIOLATED) continue;
        x->found = other.found;
        return true;
    }
    return false;
}

static bool leave_undecided(hearing *x)
{
    x->found = x->blank;
    verdict_reason(&x->found, "this version does not decide the level itself: no stronger level "
                              "holds, and no weaker one is violated");
    return true;
}

/* --- under what modules added ----------------------------------------------------------------- */

static void run_steps(hearing *x);

static bool assuming(const hearing *x)
{
    return x->h->assumed != NULL;
}

/* What the additions alone do not decide for good is asked of the bare history: a violation there
   needs no assumption, and is the better answer. */
static bool hear_under_assumptions(hearing *x)
{
    if (assumed_hear(x)) return true;
    history bare = *x->h;
    hearing without = *x;
    verdict kept = x->found;
    if (kept.outcome == OUTCOME_VIOLATED) hearing_publish(x); /* a limit may strike below */
    assert(kept.outcome != OUTCOME_HOLDS && kept.h == x->h);
    bare.assumed = NULL;
    without.h = &bare;
    mem_free_all(x->work);
    run_steps(&without);
    x->found = without.found.outcome == OUTCOME_VIOLATED ? without.found : kept;
    return true;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Timestamps that are trusted are asked before client times, since the user asked for them. */
static const struct judge_step {
    bool (*asks)(const hearing *x); /* is the step worth trying? */
    bool (*acts)(hearing *x);       /* true: x->found is the answer */
} steps[] = {
    {judging_sums, judge_sums},
    {is_mixture, refuse_mixture},
    {reading_uncommitted, refuse_undone_reads},
    {is_by_key, part_by_key},
    {judging_by_key, judge_by_key},
    {assuming, hear_under_assumptions},
    {trusting_timestamps, run_by_timestamps},
    {trying_client_times, run_by_client_times},
    {knowing_level, decide_level},
    {needing_another_level, accept_through_stronger},
    {needing_another_level, refute_through_weaker},
    {needing_another_level, leave_undecided},
};

static void run_steps(hearing *x)
{
    bool answered = false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !answered; i++)
        if (steps[i].asks(x)) answered = steps[i].acts(x);
    assert(answered);
}

static char *lasting_copy(mem *m, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mem_get(m, n), text, n);
}

static void warn(verdict *v, const facts *f, const history *h)
{
    v->warnings |= lint_cheap(f, h);
    if (v->warnings & lint_bit(LINT_SKIPPED_OPERATIONS)) {
        strbuf b;
        strbuf_init(&b, v->mem);
        strbuf_printf(&b, "%s: ", lint_at(LINT_SKIPPED_OPERATIONS)->text);
        history_skipped_text(h, &b);
        strbuf_cstr(&b);
        v->skipped = b.at;
    }
    if (v->warnings & lint_bit(LINT_LOST_LINES)) {
        strbuf b;
        strbuf_init(&b, v->mem);
        uint64_t n = history_count_lines(h).missing;
        strbuf_printf(&b, "%llu %s of the recording %s missing", (unsigned long long)n,
                      n == 1 ? "line" : "lines", n == 1 ? "is" : "are");
        strbuf_str(&b, strchr(lint_at(LINT_LOST_LINES)->text, ':'));
        strbuf_cstr(&b);
        v->lost = b.at;
    }
    bool timed = v->level.realtime || level_needs_times(level_at(v->level.id));
    if (timed && !f->with_times) v->warnings |= lint_bit(LINT_NO_TIMES);
}

const history *judge_history(const history *h, const question *q, mem *m)
{
    return q->aborted_read ? aborted_readers(h, m) : h;
}

/* Counts the history and says what was asked; nothing is found yet. */
static void open_verdict(verdict *v, const history *h, const question *q, facts *f, mem *work)
{
    v->h = h;
    v->anomaly = ANOMALIES;
    v->outcome = OUTCOME_UNDECIDED;
    v->decided_by = BY_NOBODY;
    v->drift = q->drift;
    v->aborted_read = q->aborted_read;
    v->session_order = level_session_order(&v->level, q->session_order);
    v->cost = mem_zeroed(v->mem, sizeof *v->cost);
    v->cost->m = v->mem;
    guard_stage(work->guard, "count", NULL, 0);
    if (h->recorded) { /* warnings are about what was recorded */
        facts_gather(f, h->recorded, work);
        warn(v, f, h->recorded);
    }
    facts_gather(f, h, work);
    v->txns = f->txns;
    v->ops = f->ops;
    v->sessions = f->sessions;
    v->keys = f->keys;
    if (!h->recorded) warn(v, f, h);
}

/* Why there is no answer although the file may be full. */
static void tell_nothing_to_check(verdict *v, const history *h, mem *work)
{
    strbuf b;
    strbuf_init(&b, work);
    strbuf_str(&b, "nothing to check: no committed transaction");
    if (history_skipped(h)) {
        strbuf_str(&b, "; operations that are not transactions were skipped: ");
        history_skipped_text(h, &b);
    }
    verdict_reason(v, strbuf_cstr(&b));
    strbuf_free(&b);
}

bool judge_open(verdict *v, const history *h, const question *q, facts *f, mem *work)
{
    open_verdict(v, h, q, f, work);
    if (!f->txns) tell_nothing_to_check(v, h, work);
    return f->txns != 0;
}

void judge(verdict *v, const history *h, const question *q, mem *work)
{
    facts f;
    h = judge_history(h, q, v->mem);
    if (!judge_open(v, h, q, &f, work)) return;
    v->ryow = judge_policy(h, q, work);
    mem_free_all(work);
    hearing x = {.h = h, .q = q, .f = &f, .asked = v->level, .blank = *v, .work = work, .v = v};
    hearing_of(&x, &v->level, v->session_order);
    run_steps(&x);
    hearing_publish(&x);
}

const char *verdict_warning_text(const verdict *v, uint32_t warning)
{
    if (warning == LINT_SKIPPED_OPERATIONS && v->skipped) return v->skipped;
    if (warning == LINT_LOST_LINES && v->lost) return v->lost;
    return lint_at(warning)->text;
}

void judge_implied(verdict *v, const verdict *stronger)
{
    assert(stronger->outcome == OUTCOME_HOLDS);
    /* A history that was made for the stronger answer goes with it. */
    const history *h = stronger->h;
    v->h = h->recorded ? aborted_readers(h->recorded, v->mem) : h;
    v->ryow = stronger->ryow;
    v->drift = stronger->drift;
    v->aborted_read = stronger->aborted_read;
    v->anomaly = ANOMALIES;
    v->outcome = OUTCOME_HOLDS;
    v->decided_by = BY_STRONGER;
    v->warnings = stronger->warnings;
    if (stronger->skipped) v->skipped = lasting_copy(v->mem, stronger->skipped);
    if (stronger->lost) v->lost = lasting_copy(v->mem, stronger->lost);
    v->trusted = stronger->trusted;
    v->txns = stronger->txns;
    v->ops = stronger->ops;
    v->sessions = stronger->sessions;
    v->keys = stronger->keys;
    v->order = mem_array(v->mem, txn_id, (size_t)stronger->ordered + 1);
    v->ordered = stronger->ordered;
    if (v->ordered) memcpy(v->order, stronger->order, v->ordered * sizeof *v->order);
    for (size_t i = 0; i < stronger->choices.n; i++)
        vec_push(v->mem, &v->choices, stronger->choices.at[i]);
    for (size_t i = 0; i < stronger->points.n; i++)
        vec_push(v->mem, &v->points, stronger->points.at[i]);
    for (size_t i = 0; i < stronger->point_choices.n; i++)
        vec_push(v->mem, &v->point_choices, stronger->point_choices.at[i]);
    verdict_reason(v, stronger->reason);
    const char *shown = stronger->through ? stronger->through : level_at(stronger->level.id)->name;
    if (stronger->level.realtime && !stronger->through) shown = stronger->level.name;
    v->through = lasting_copy(v->mem, shown);
    v->through_so = stronger->through ? stronger->through_so : stronger->session_order;
}
