/*
 * snapshot_doubts.c - see snapshot_doubts.h.
 *
 * The database's timestamps order commits, but two commits that overlap may have become visible the
 * other way round.  So the snapshot of a transaction is a set of commits that is closed downwards
 * under "had been answered before the other was sent", and not only a prefix of the order.  All
 * such sets are tried: the replay is repeated up to the first commit that is in doubt, and from
 * there the transactions of a set, and then the one in question, run within one transaction that is
 * rolled back.  If none agrees, no order explains the answer.  If one does, the whole log is
 * replayed in that order.
 */
#include "reference/snapshot_doubts.h"

#include <assert.h>
#include <stdio.h>

#include "reference/read_states.h"

enum { DOUBTFUL = 20, SETS = 400, AGREEING = 12, REPAIRS = 16, LONG_LOG = 500 };

typedef struct commit_set {
    uint32_t member[DOUBTFUL]; /* positions, ascending */
    uint32_t n;
    bool prefix; /* of the order */
} commit_set;

typedef struct doubts {
    snapshot_replay *r;
    uint32_t p; /* the position in question */
    uint32_t base;
    uint32_t at[DOUBTFUL]; /* positions of the commits that may or may not have been seen */
    uint32_t n;
    bool too_many, unclear, ambiguous;
    VEC(commit_set) sets;
    VEC(commit_set) agreeing;
} doubts;

const char *why_no_violation(const snapshot_replay *r)
{
    const reference_engine *e = r->e;
    const audit_schedule *plan = e->plan;
    const log_txn *t = &plan->log->txns.at[r->order[r->at]];
    if (plan->doubt) return plan->doubt;
    if (plan->unknown)
        return "the log has transactions of unknown outcome, which were not executed";
    if (r->cut) return "a snapshot that the transaction may have had was not kept";
    if (e->draws)
        return "the log uses values that the engine chooses (a sequence, a clock, a random number),"
               " and the answers may differ because of them";
    if (r->picked) return "an earlier write may have changed other rows than it did in the engine";
    if (e->forced_errors) return "an error of an earlier statement was not reproduced";
    for (size_t i = 0; i < r->tried.n; i++) {
        const run_outcome *o = &r->tried.at[i].outcome;
        if (o->how == ANSWERS_UNSURE)
            return "the engine's answer differs in a way that proves nothing";
        if (o->stmt < t->n_stmts && e->words[t->stmts[o->stmt].text].picks)
            return "the statement lets the engine choose among rows or orders";
    }
    return NULL;
}

/* ---- the sets of commits that a snapshot may have seen --------------------------------------- */

static bool surely_before(const audit_schedule *plan, uint32_t x, uint32_t y)
{
    const schedule_times *a = &plan->times[x], *b = &plan->times[y];
    if (plan->log->txns.at[x].session == plan->log->txns.at[y].session) return true;
    return !a->known || !b->known || a->end + plan->drift < b->call;
}

/* Levels that know no real time let a snapshot be as old as it likes. */
static bool must_see(const audit_schedule *plan, uint32_t x, uint32_t p)
{
    return plan->strict && surely_seen(plan, x, p);
}

static bool may_see(const audit_schedule *plan, uint32_t x, uint32_t p)
{
    return !plan->strict || perhaps_seen(plan, x, p);
}

bool commits_are_apart(const snapshot_replay *r, uint32_t upto)
{
    const audit_schedule *plan = r->e->plan;
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < upto; i++) {
        uint32_t x = r->order[i];
        if (plan->no_state[x]) continue;
        if (!plan->times[x].known) return false;
        if (last != UINT32_MAX && plan->times[last].end + plan->drift >= plan->times[x].call)
            return false;
        last = x;
    }
    return true;
}

static bool overlap_within(const snapshot_replay *r, uint32_t from, uint32_t to)
{
    const audit_schedule *plan = r->e->plan;
    for (uint32_t i = from; i < to; i++)
        for (uint32_t k = i + 1; k < to; k++)
            if (!plan->no_state[r->order[i]] && !plan->no_state[r->order[k]] &&
                !surely_before(plan, r->order[i], r->order[k]))
                return true;
    return false;
}

/* An earlier transaction may have seen commits that overlap the other way round, which no snapshot
   of the replay shows.  That matters if what it wrote depends on more than rows of its own. */
static bool may_have_seen_otherwise(const snapshot_replay *r, uint32_t upto)
{
    const reference_engine *e = r->e;
    for (uint32_t i = 0; i < upto; i++) {
        if (!engine_txn_by_key(e, r->order[i]) && overlap_within(r, r->low[i], r->high[i]))
            return true;
    }
    return false;
}

static void find_doubtful(doubts *d)
{
    const snapshot_replay *r = d->r;
    const audit_schedule *plan = r->e->plan;
    uint32_t p = r->order[d->p], past = plan->stamped ? d->p : r->n;
    d->n = 0;
    d->base = d->p;
    for (uint32_t i = 0; i < past && !d->too_many; i++) {
        uint32_t x = r->order[i];
        if (x == p || plan->no_state[x]) continue;
        if (x > p && plan->log->txns.at[x].session == plan->log->txns.at[p].session) continue;
        if (d->base > i && !must_see(plan, x, p)) d->base = i;
        if (d->base > i || !may_see(plan, x, p)) continue;
        if (d->n == DOUBTFUL)
            d->too_many = true;
        else
            d->at[d->n++] = i;
    }
}

/* Adds every set that agrees with `in` up to element k. */
static void add_sets(doubts *d, bool *in, uint32_t k)
{
    const snapshot_replay *r = d->r;
    const audit_schedule *plan = r->e->plan;
    if (d->sets.n >= SETS) {
        d->too_many = true;
        return;
    }
    if (k == d->n) {
        commit_set s = {.prefix = true};
        bool gap = false;
        for (uint32_t i = 0; i < d->n; i++) {
            if (in[i]) s.member[s.n++] = d->at[i];
            if (in[i] && gap) s.prefix = false;
            gap |= !in[i];
        }
        if (s.n && s.member[s.n - 1] > d->p) s.prefix = false;
        d->ambiguous |= !s.prefix;
        vec_push(r->e->mem, &d->sets, s);
        return;
    }
    uint32_t x = r->order[d->at[k]];
    bool may = true;
    for (uint32_t i = 0; i < k && may; i++)
        may = in[i] || !surely_before(plan, r->order[d->at[i]], x);
    if (may) {
        in[k] = true;
        add_sets(d, in, k + 1);
    }
    in[k] = false;
    if (!must_see(plan, x, r->order[d->p])) add_sets(d, in, k + 1);
}

/* ---- trying them ---------------------------------------------------------------------------- */

/* Within the open transaction of c: the commits of the set, then the transaction in question. */
static void try_set(doubts *d, engine_conn *c, const commit_set *s)
{
    static const char *const mark[] = {"SAVEPOINT ratel_set", NULL}, *const none[] = {NULL};
    snapshot_replay *r = d->r;
    reference_engine *e = r->e;
    run_outcome o = {0};
    bool other = false;
    for (uint32_t i = 0; i < s->n && o.how == ANSWERS_AGREE; i++)
        o = engine_run_txn(e, c, i ? none : mark, r->order[s->member[i]]);
    if (o.how != ANSWERS_AGREE) {
        /* it had another snapshot, so that what it wrote is not known here */
        other = true;
        d->unclear = true;
    } else {
        o = engine_run_txn(e, c, s->n ? none : mark, r->order[d->p]);
    }
    if (!other && o.how == ANSWERS_AGREE) vec_push(e->mem, &d->agreeing, *s);
    if (!other && o.how == ANSWERS_UNSURE) d->unclear = true;
    if (!engine_does(e, c, "ROLLBACK TO SAVEPOINT ratel_set")) engine_lost(e, c);
}

static void try_sets(doubts *d)
{
    reference_engine *e = d->r->e;
    engine_conn *c = engine_session(e, d->r->order[d->p]);
    if (!c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    if (!engine_does(e, c, "BEGIN ISOLATION LEVEL REPEATABLE READ")) engine_lost(e, c);
    e->patient = true;
    for (size_t i = 0; i < d->sets.n && d->agreeing.n < AGREEING; i++)
        try_set(d, c, &d->sets.at[i]);
    e->patient = false;
    if (d->agreeing.n == AGREEING) d->unclear = true;
    engine_rollback(e, c);
}

/* The order with the set's commits before the others that are in doubt. */
static void put_first(snapshot_replay *r, const doubts *d, const commit_set *s)
{
    uint32_t n = d->base, *order = mem_array(r->e->mem, uint32_t, r->n + 1);
    bool *placed = mem_array0(r->e->mem, bool, r->n + 1);
    memcpy(order, r->order, d->base * sizeof *order);
    /* everything before the last member that is not in doubt keeps its place among them */
    for (uint32_t i = 0; i < s->n; i++) {
        order[n++] = r->order[s->member[i]];
        placed[s->member[i]] = true;
    }
    for (uint32_t i = d->base; i < r->n; i++)
        if (!placed[i]) order[n++] = r->order[i];
    assert(n == r->n);
    memcpy(r->order, order, r->n * sizeof *order);
    mem_put(r->e->mem, order);
    mem_put(r->e->mem, placed);
}

static const char *undecided_why(const doubts *d)
{
    if (d->too_many)
        return "too many commits overlap with the transaction to try every order of them";
    if (d->r->open_choice != UINT32_MAX)
        return "an earlier transaction may have written something else on another snapshot";
    return "another order of the commits that overlap might explain the answer";
}

typedef enum doubt_end { DOUBT_VIOLATED, DOUBT_HOLDS, DOUBT_MOVED, DOUBT_OPEN } doubt_end;

/* Replays the log in the order of each agreeing set. */
static doubt_end try_orders(doubts *d)
{
    snapshot_replay *r = d->r;
    reference_engine *e = r->e;
    uint32_t p = r->order[d->p], *given = mem_array(e->mem, uint32_t, r->n + 1);
    memcpy(given, r->order, r->n * sizeof *given);
    bool open = d->unclear;
    for (size_t i = 0; i < d->agreeing.n; i++) {
        if (d->agreeing.at[i].prefix) continue; /* the engine refused it already */
        put_first(r, d, &d->agreeing.at[i]);
        replay_windows(r);
        if (replay_run(r) == REPLAY_AGREES) return DOUBT_HOLDS;
        uint32_t stuck = r->order[r->at];
        bool later = true;
        for (uint32_t k = r->at; k < r->n; k++) later = later && r->order[k] != p;
        if (later && stuck != p) return DOUBT_MOVED;
        if (stuck != p) open = true;
        memcpy(r->order, given, r->n * sizeof *given);
    }
    replay_windows(r);
    return open ? DOUBT_OPEN : DOUBT_VIOLATED;
}

/* The replay is stuck at r->at.  Sets *why if that stays open. */
static doubt_end doubt(snapshot_replay *r, const char **why)
{
    doubts d = {.r = r, .p = r->at};
    bool in[DOUBTFUL] = {false};
    uint32_t at = r->at;
    find_doubtful(&d);
    if (!d.too_many) add_sets(&d, in, 0);
    *why = undecided_why(&d);
    if (d.too_many || (d.ambiguous && r->e->kind != ENGINE_POSTGRES)) return DOUBT_OPEN;
    if (may_have_seen_otherwise(r, at)) {
        *why = "an earlier transaction may have seen commits that overlap the other way round";
        return DOUBT_OPEN;
    }
    r->other_choices = true;
    r->pause = d.base < at ? d.base : UINT32_MAX;
    replay_end end = replay_run(r);
    if (end == REPLAY_PAUSED) {
        if (d.ambiguous) try_sets(&d);
        end = replay_go_on(r);
    }
    r->other_choices = false;
    r->pause = UINT32_MAX;
    if (end != REPLAY_STUCK || r->at != at) {
        *why = "the reference engine did not answer the same twice";
        return DOUBT_OPEN;
    }
    *why = undecided_why(&d);
    if (r->open_choice != UINT32_MAX) return DOUBT_OPEN;
    if (!d.ambiguous) return DOUBT_VIOLATED;
    VEC(tried_state) tried = {0};
    for (size_t i = 0; i < r->tried.n; i++) vec_push(r->e->mem, &tried, r->tried.at[i]);
    doubt_end found = try_orders(&d);
    if (found == DOUBT_VIOLATED || found == DOUBT_OPEN) {
        r->at = at;
        r->tried.n = 0;
        for (size_t i = 0; i < tried.n; i++) vec_push(r->e->mem, &r->tried, tried.at[i]);
    }
    return found;
}

/* The newest states that agree contradict each other in time: are there older ones that do not? */
static bool agrees_with_older(snapshot_replay *r)
{
    read_states states;
    r->without_pins = false;
    r->oldest_first = true;
    r->states = &states;
    read_states_init(&states, r);
    bool fits = replay_run(r) == REPLAY_AGREES && snapshots_fit(r);
    r->oldest_first = false;
    r->states = NULL;
    read_states_free(&states, r);
    return fits;
}

reference_finding decide_snapshots(snapshot_replay *r)
{
    const audit_schedule *plan = r->e->plan;
    reference_finding f = {.txn = UINT32_MAX};
    replay_windows(r);
    r->without_pins = r->n > LONG_LOG && !engine_may_run_ahead(r->e);
    replay_end end = replay_run(r);
    if (end == REPLAY_STUCK && r->without_pins) {
        r->without_pins = false;
        end = replay_run(r);
    }
    for (int repairs = 0; end == REPLAY_STUCK; repairs++) {
        f.end = REFERENCE_UNDECIDED;
        f.txn = r->order[r->at];
        f.why = why_no_violation(r);
        bool timed = plan->strict && plan->times[f.txn].known && commits_are_apart(r, r->at + 1);
        if (!f.why && !(plan->stamped && plan->fact) && !timed)
            f.why = "the order of the commits is not known";
        if (!f.why && r->serializable) f.why = "the engine cannot show a cycle";
        if (f.why || repairs == REPAIRS) return f;
        doubt_end d = doubt(r, &f.why);
        if (d == DOUBT_VIOLATED) {
            f.why = NULL;
            f.end = REFERENCE_VIOLATED;
        }
        if (d == DOUBT_VIOLATED || d == DOUBT_OPEN) return f;
        f.other_order = true;
        if (d == DOUBT_HOLDS) break;
    }
    f.end = REFERENCE_HOLDS;
    f.txn = UINT32_MAX;
    f.why = NULL;
    bool timed = plan->strict && plan->reads == READS_SNAPSHOT;
    if (timed && !snapshots_fit(r) && !agrees_with_older(r)) {
        f.end = REFERENCE_UNDECIDED;
        f.why = "snapshots that agree were found, but none with moments that fit together";
    }
    return f;
}
