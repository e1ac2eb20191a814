/*
 * wrong_errors.c - see wrong_errors.h.
 *
 * PostgreSQL looks for a key among what has committed by then, and waits for what has not, whatever
 * the snapshot is.  So an INSERT of constants is executed alone, at READ COMMITTED, on each state
 * that was the newest one at some moment between its call and its answer.  That these states are
 * what the log's database had takes an order of commits that leaves no doubt, and that no
 * transaction could have written anything else.
 */
#include "reference/wrong_errors.h"

#include <assert.h>

#include "reference/row_choice.h"

typedef struct key_error {
    uint32_t txn, stmt;
    uint32_t low, high; /* states that the statement may have met */
    bool explained;
} key_error;

typedef struct wrong_errors {
    snapshot_replay *r;
    reference_engine *e;
    engine_conn *probe;
    VEC(key_error) errors;
    bool unclear;
} wrong_errors;

/* ---- is anything certain? -------------------------------------------------------------------- */

static bool is_certain_log(const snapshot_replay *r)
{
    const reference_engine *e = r->e;
    const audit_schedule *plan = e->plan;
    const sql_log *l = plan->log;
    bool known = plan->stamped && plan->fact;
    if (e->kind != ENGINE_POSTGRES || plan->doubt || plan->unknown || e->draws || e->has_routines ||
        r->picked || r->cut || r->short_window)
        return false;
    if (!known && !commits_are_apart(r, r->n)) return false;
    if (memcmp(r->order, plan->at, r->n * sizeof *r->order) != 0) return false;
    for (uint32_t i = 0; i < l->txns.n; i++)
        for (uint32_t k = 0; k < l->txns.at[i].n_stmts; k++) {
            const statement_words *w = &e->words[l->txns.at[i].stmts[k].text];
            if ((w->is_setting && !w->sets_level) || w->changes_schema) return false;
        }
    return true;
}

/* Has the transaction written nothing before, so that the key is not its own? */
static bool wrote_nothing_before(const reference_engine *e, const log_txn *t, uint32_t stmt)
{
    for (uint32_t i = 0; i < stmt; i++) {
        const statement_words *w = &e->words[t->stmts[i].text];
        bool idle = w->only_reads || w->locks_only || w->is_savepoint || w->sets_level;
        if (!idle && !t->stmts[i].has_error) return false;
    }
    return true;
}

/* The states that were the newest at some moment of [call, answer]; false: commits overlap there,
   which may have become visible the other way round. */
static bool states_of(const snapshot_replay *r, const log_stmt *s, key_error *x)
{
    const audit_schedule *plan = r->e->plan;
    uint32_t last = UINT32_MAX;
    x->low = x->high = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        const schedule_times *t = &plan->times[r->order[i]];
        if (plan->no_state[r->order[i]]) continue;
        if (!t->known) return false;
        if (t->end + plan->drift < s->call) x->low = i + 1;
        if (t->call - plan->drift <= s->answer) x->high = i + 1;
    }
    for (uint32_t i = x->low ? x->low - 1 : 0; i < x->high; i++) {
        const schedule_times *t = &plan->times[r->order[i]];
        if (plan->no_state[r->order[i]]) continue;
        if (last != UINT32_MAX && plan->times[last].end + plan->drift >= t->call) return false;
        last = r->order[i];
    }
    return x->low <= x->high;
}

/* Does a state that the statement cannot have met stand between its own and that of the commit? */
static bool ran_too_late(const snapshot_replay *r, uint32_t position, const log_stmt *s)
{
    const audit_schedule *plan = r->e->plan;
    for (uint32_t i = position; i-- > 0;) {
        const schedule_times *t = &plan->times[r->order[i]];
        if (!t->known) return false;
        if (t->call - plan->drift <= s->answer) return false;
        if (!plan->no_state[r->order[i]]) return true;
    }
    return false;
}

uint32_t errors_out_of_time(const snapshot_replay *r)
{
    const sql_log *l = r->e->plan->log;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n && r->e->kind == ENGINE_POSTGRES; i++) {
        const log_txn *t = &l->txns.at[r->order[i]];
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const log_stmt *s = &t->stmts[k];
            bool of_keys =
                s->has_error && (!strncmp(s->error, "23505", 5) || !strncmp(s->error, "23503", 5) ||
                                 !strncmp(s->error, "23P01", 5));
            n += of_keys && s->has_time && ran_too_late(r, i, s);
        }
    }
    return n;
}

static void find_errors(wrong_errors *w)
{
    const reference_engine *e = w->e;
    const sql_log *l = e->plan->log;
    for (uint32_t i = 0; i < w->r->n; i++) {
        uint32_t txn = w->r->order[i];
        const log_txn *t = &l->txns.at[txn];
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const log_stmt *s = &t->stmts[k];
            const log_text *text = &l->texts.at[s->text];
            key_error x = {.txn = txn, .stmt = k};
            if (!s->has_error || strncmp(s->error, "23505", 5) != 0 || !s->has_time) continue;
            if (read_row_choice(text->at, text->n).kind != ROWS_INSERT) continue;
            if (!wrote_nothing_before(e, t, k) || !states_of(w->r, s, &x)) continue;
            vec_push(e->mem, &w->errors, x);
        }
    }
}

/* ---- the states ------------------------------------------------------------------------------ */

/* The next state, from this one on, that a statement may have met; UINT32_MAX: none. */
static uint32_t next_state(const wrong_errors *w, uint32_t from)
{
    uint32_t next = UINT32_MAX;
    for (size_t i = 0; i < w->errors.n; i++) {
        const key_error *x = &w->errors.at[i];
        if (x->explained || x->high < from) continue;
        uint32_t s = x->low > from ? x->low : from;
        if (s < next) next = s;
    }
    return next;
}

static void try_state(wrong_errors *w, uint32_t state)
{
    reference_engine *e = w->e;
    for (size_t i = 0; i < w->errors.n; i++) {
        key_error *x = &w->errors.at[i];
        if (x->explained || state < x->low || state > x->high) continue;
        engine_begins(e, w->probe, ENGINE_STATEMENTS);
        run_outcome o = engine_run_statement(e, w->probe, x->txn, x->stmt);
        bool refused = *w->probe->s.state != 0;
        engine_rollback(e, w->probe);
        x->explained = o.how == ANSWERS_AGREE;
        if (!x->explained && refused) w->unclear = true;
    }
}

/* The whole replay, with a stop at each of these states; false: it did not go as before. */
static bool visit_states(wrong_errors *w)
{
    snapshot_replay *r = w->r;
    r->other_choices = true;
    replay_windows(r);
    r->pause = next_state(w, 0);
    replay_end end = replay_run(r);
    while (end == REPLAY_PAUSED && !w->unclear) {
        uint32_t state = r->at;
        if (!w->probe->open && !engine_connect(w->e, w->probe))
            guard_fail(w->e->guard, GUARD_IO, "%s", w->e->why);
        try_state(w, state);
        r->pause = next_state(w, state + 1);
        end = replay_go_on(r);
    }
    if (end != REPLAY_AGREES) return false;
    if (!w->probe->open && !engine_connect(w->e, w->probe))
        guard_fail(w->e->guard, GUARD_IO, "%s", w->e->why);
    try_state(w, r->n);
    return !w->unclear && r->open_choice == UINT32_MAX && !r->picked && !r->cut;
}

void find_wrong_error(snapshot_replay *r, reference_finding *f)
{
    reference_engine *e = r->e;
    wrong_errors w = {.r = r, .e = e};
    if (!is_certain_log(r)) return;
    find_errors(&w);
    if (!w.errors.n) return;
    w.probe = mem_zeroed(e->mem, sizeof *w.probe);
    if (!visit_states(&w)) return;
    for (size_t i = 0; i < w.errors.n; i++) {
        const key_error *x = &w.errors.at[i];
        if (x->explained) continue;
        r->tried.n = 0;
        for (uint32_t s = x->high + 1; s-- > x->low;) {
            run_outcome o = {ANSWERS_DIFFER, x->stmt, false, "1 row changed"};
            vec_push(e->mem, &r->tried, ((tried_state){s, o}));
        }
        *f = (reference_finding){.end = REFERENCE_VIOLATED, .txn = x->txn};
        return;
    }
}
