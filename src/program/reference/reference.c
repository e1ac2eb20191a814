/*
 * reference.c - the border: opens the guard, owns the regions, turns findings into an answer.
 */
#include "reference/reference.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "reference/chosen_draws.h"
#include "reference/forced_states.h"
#include "reference/insert_ids.h"
#include "reference/my_clock.h"
#include "reference/schedule_replay.h"
#include "reference/serial_replay.h"
#include "reference/statement_replay.h"
#include "reference/wrong_errors.h"

/* Logs of so many transactions that overlap are not tried serially first. */
enum { AS_SENT_FIRST = 200 };

struct reference {
    guard guard;
    mem lasting; /* the engine's */
    mem work;    /* one decision's, with its answer */
    reference_engine e;
    bool open;
    snapshot_replay replay;
};

reference *reference_open(const char *url, char *why, size_t cap, bool *misuse)
{
    reference *r = mem_libc(NULL, NULL, 0, sizeof *r);
    *misuse = false;
    snprintf(why, cap, "out of memory");
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    guard_init(&r->guard);
    mem_init(&r->lasting, NULL, NULL, &r->guard);
    mem_init(&r->work, NULL, NULL, &r->guard);
    if (!guard_armed(&r->guard)) {
        r->open = engine_open(&r->e, &r->lasting, &r->guard, url, misuse);
        if (r->open) return r;
        snprintf(why, cap, "%s", r->e.why);
    }
    reference_close(r);
    return NULL;
}

void reference_close(reference *r)
{
    if (!r) return;
    if (!guard_armed(&r->guard)) engine_close(&r->e);
    mem_free_all(&r->work);
    mem_free_all(&r->lasting);
    mem_libc(NULL, r, sizeof *r, 0);
}

const char *reference_error(const reference *r)
{
    return r->guard.text;
}

const char *reference_version(const reference *r)
{
    return r->e.version;
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *sentence(reference *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *sentence(reference *r, const char *format, ...)
{
    char text[1400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    size_t n = strlen(text);
    char *kept = mem_get(&r->work, n + 1);
    memcpy(kept, text, n + 1);
    return kept;
}

static void tell_order(reference *r, audit_answer *a)
{
    const snapshot_replay *s = &r->replay;
    const sql_log *l = r->e.plan->log;
    const char **ids = mem_array(&r->work, const char *, s->n + 1);
    for (uint32_t i = 0; i < s->n; i++) ids[i] = l->txns.at[s->order[i]].id;
    a->order = ids;
    a->n_order = s->n;
    a->read = s->first_read;
}

/* Where it got stuck: what was observed, and what the engine answers instead. */
static void tell_place(reference *r, audit_answer *a, uint32_t txn)
{
    const snapshot_replay *s = &r->replay;
    const sql_log *l = r->e.plan->log;
    const log_txn *t = &l->txns.at[txn];
    a->txn = t->id;
    a->line = t->line;
    a->observed = "commit";
    audit_possible *p = mem_array(&r->work, audit_possible, s->tried.n + 1);
    uint32_t stmt = 0;
    for (size_t i = 0; i < s->tried.n; i++)
        if (s->tried.at[i].outcome.stmt > stmt) stmt = s->tried.at[i].outcome.stmt;
    for (size_t i = 0; i < s->tried.n; i++) {
        const tried_state *one = &s->tried.at[i];
        if (one->outcome.stmt != stmt) continue;
        p[a->n_possible++] = (audit_possible){
            .after = one->state ? l->txns.at[s->order[one->state - 1]].id : "",
            .result = one->outcome.answer ? one->outcome.answer : "the commit fails"};
    }
    a->possible = p;
    if (stmt >= t->n_stmts) return;
    const log_stmt *x = &t->stmts[stmt];
    a->statement = stmt + 1;
    a->line = x->line;
    a->column = x->column;
    a->sql = l->texts.at[x->text].at;
    strbuf b;
    strbuf_init(&b, &r->work);
    show_logged_answer(x, &b);
    a->observed = strbuf_cstr(&b);
}

static bool only_conflicts(const snapshot_replay *s)
{
    bool all = s->tried.n > 0;
    for (size_t i = 0; i < s->tried.n; i++) all &= s->tried.at[i].outcome.how == ANSWERS_CONFLICT;
    return all;
}

static void tell_finding(reference *r, const reference_finding *f, audit_answer *a)
{
    const char *version = r->e.version;
    if (f->txn != UINT32_MAX) tell_place(r, a, f->txn);
    if (f->end == REFERENCE_HOLDS && r->e.forced_errors) {
        a->verdict = AUDIT_UNDECIDED;
        a->reason = sentence(
            r,
            "no contradiction, but %s did not give %u of the errors of the log, which depend on "
            "timing",
            version, (unsigned)r->e.forced_errors);
        return;
    }
    if (f->end == REFERENCE_HOLDS && r->e.drawn_twice) {
        a->verdict = AUDIT_UNDECIDED;
        a->reason = sentence(r,
                             "no contradiction in %s, but a sequence seems to have given the same "
                             "value twice",
                             version);
        return;
    }
    if (f->end == REFERENCE_HOLDS) {
        tell_order(r, a);
        a->verdict = AUDIT_HOLDS;
        a->other_order = f->other_order;
        a->reason =
            sentence(r,
                     f->other_order ? "%s gives the same answers, in another order than the log's"
                                    : "%s gives the same answers in the log's order",
                     version);
        return;
    }
    a->verdict = f->end == REFERENCE_VIOLATED ? AUDIT_VIOLATED : AUDIT_UNDECIDED;
    a->all_orders = f->all_orders;
    a->replayed_writes = f->end == REFERENCE_VIOLATED && !f->all_orders;
    if (f->end == REFERENCE_UNDECIDED)
        a->reason = sentence(r, "executed by %s: %s", version, f->why ? f->why : "not explained");
    else if (only_conflicts(&r->replay))
        a->reason = sentence(r,
                             "transaction %s must have failed: %s refuses what it writes after "
                             "its snapshot",
                             a->txn, version);
    else if (a->statement && f->all_orders && r->e.plan->reads == READS_LATEST)
        a->reason = sentence(r,
                             "no serial order explains the log: in the order of the commits, %s "
                             "does not give this answer to statement %u of transaction %s",
                             version, (unsigned)a->statement, a->txn);
    else if (a->statement)
        a->reason = sentence(
            r,
            "statement %u of transaction %s cannot have returned this answer: %s does not return "
            "it on any snapshot that the statement may have had",
            (unsigned)a->statement, a->txn, version);
    else
        a->reason =
            sentence(r, "transaction %s cannot have committed: %s refuses it", a->txn, version);
}

/* A statement that is not executed, by name and place. */
static bool refused(reference *r, audit_answer *a)
{
    uint32_t txn, stmt;
    const char *why = engine_refuses(&r->e, &txn, &stmt);
    if (!why) return false;
    a->verdict = AUDIT_UNDECIDED;
    a->reason = sentence(r, "the reference does not execute a statement: %s", why);
    if (txn == UINT32_MAX) return true;
    const log_txn *t = &r->e.plan->log->txns.at[txn];
    a->txn = t->id;
    a->statement = stmt + 1;
    a->line = t->stmts[stmt].line;
    a->column = t->stmts[stmt].column;
    a->sql = r->e.plan->log->texts.at[t->stmts[stmt].text].at;
    a->observed = "";
    return true;
}

/* What is not explained, or not with all its errors, is executed as it was sent. */
static reference_finding decide_else_as_sent(reference *r, reference_finding f)
{
    const audit_schedule *plan = r->e.plan;
    bool snapshots = f.end == REFERENCE_HOLDS && plan->reads == READS_SNAPSHOT;
    uint32_t late = snapshots ? errors_out_of_time(&r->replay) : 0;
    bool missing = f.end == REFERENCE_HOLDS && (r->e.forced_errors || late);
    if (f.end == REFERENCE_HOLDS && !missing) return f;
    /* no engine promises that its serial order is that of real time */
    if (plan->reads == READS_LATEST && plan->strict) return f;
    uint32_t forced = r->e.forced_errors + late;
    snapshot_replay again;
    replay_init(&again, &r->e);
    if (f.end == REFERENCE_VIOLATED && f.txn != UINT32_MAX) {
        bool agrees = agrees_as_sent(&again, f.txn);
        r->e.forced_errors = forced;
        if (!agrees) return f;
        f.end = REFERENCE_UNDECIDED;
        f.why = "it gives the answers statement by statement, but not transaction by transaction";
        return f;
    }
    reference_finding g = decide_as_sent(&again);
    if (g.end != REFERENCE_HOLDS) {
        if (missing && plan->reads == READS_SNAPSHOT) find_wrong_error(&r->replay, &f);
        r->e.forced_errors = forced;
        return f;
    }
    r->replay = again;
    return g;
}

/* Levels at which each statement has a state of its own.  Of them only statement-snapshot is what
   PostgreSQL's own READ COMMITTED promises, so that a violation can be shown. */
static reference_finding decide_by_statement(reference *r)
{
    const audit_schedule *plan = r->e.plan;
    bool sent_first = !plan->total && plan->n <= AS_SENT_FIRST;
    if (sent_first) {
        reference_finding f = decide_as_sent(&r->replay);
        if (f.end == REFERENCE_HOLDS && !r->e.forced_errors) return f;
        replay_init(&r->replay, &r->e);
    }
    reference_finding f = decide_serially(&r->replay);
    if (f.end == REFERENCE_HOLDS && !r->e.forced_errors) return f;
    uint32_t agreed = r->replay.at;
    replay_init(&r->replay, &r->e);
    /* takes much longer than the others, since it waits where the log waited */
    if (plan->reads == READS_STATEMENT) {
        f = decide_forced_states(&r->replay, agreed);
        if (f.end == REFERENCE_VIOLATED) return f;
        replay_init(&r->replay, &r->e);
    }
    if (!sent_first) {
        f = decide_as_sent(&r->replay);
        if (f.end == REFERENCE_HOLDS && !r->e.forced_errors) return f;
    }
    /* MariaDB keeps the locks of a statement that is taken back to a savepoint */
    if (r->e.kind != ENGINE_POSTGRES) return f;
    replay_init(&r->replay, &r->e);
    return decide_statements(&r->replay);
}

static reference_finding decide_level(reference *r)
{
    const audit_schedule *plan = r->e.plan;
    bool by_statement = plan->reads == READS_STATEMENT || plan->reads == READS_ROW;
    if (r->e.kind == ENGINE_SQLITE) return decide_serially(&r->replay);
    if (plan->reads == READS_SNAPSHOT && !r->e.no_snapshots)
        return decide_else_as_sent(r, decide_snapshots(&r->replay));
    if (plan->reads == READS_SNAPSHOT) return decide_serially(&r->replay);
    if (by_statement) return decide_by_statement(r);
    return decide_else_as_sent(r, decide_serially(&r->replay));
}

/* Nothing was committed: are the answers of what was rolled back right? */
static void decide_rolled_back(reference *r, audit_answer *a)
{
    const sql_log *l = r->e.plan->log;
    bool sent = l->txns.n && r->e.kind != ENGINE_SQLITE && !r->e.plan->doubt &&
                !(r->e.plan->reads == READS_LATEST && r->e.plan->strict) &&
                decide_as_sent(&r->replay).end == REFERENCE_HOLDS;
    a->verdict = sent ? AUDIT_HOLDS : AUDIT_UNDECIDED;
    a->reason =
        sent ? sentence(r, "nothing was committed, and %s gives the same answers", r->e.version)
             : "nothing to check: no committed transaction";
}

static void decide_whole(reference *r, const audit_schedule *plan, audit_answer *a)
{
    engine_take(&r->e, &r->work, plan);
    if (refused(r, a)) return;
    if (plan->log->unknown.n) {
        a->verdict = AUDIT_UNDECIDED;
        a->reason =
            "a reference needs the whole initial state, and rows of some tables are unknown";
        return;
    }
    draws_observe(&r->e);
    insert_ids_observe(&r->e);
    my_clock_observe(&r->e);
    replay_init(&r->replay, &r->e);
    if (!plan->n) {
        decide_rolled_back(r, a);
        return;
    }
    reference_finding f = decide_level(r);
    tell_finding(r, &f, a);
}

/* A limit, or an engine that does not go on, leaves the level undecided; the rest is an error. */
static int ended(reference *r, audit_answer *a)
{
    guard *g = &r->guard;
    a->verdict = AUDIT_UNDECIDED;
    a->reason = g->text;
    a->n_possible = a->n_conflicts = a->n_order = 0;
    a->txn = NULL;
    bool limit = g->code == GUARD_TIME || g->code == GUARD_INTERRUPT || g->code == GUARD_NOMEM;
    if (limit) a->limit = g->code;
    a->runs = r->e.runs;
    return limit || g->code == GUARD_HISTORY ? 0 : g->code;
}

int reference_decide(reference *r, const audit_schedule *plan, const audit_options *o,
                     audit_answer *a)
{
    memset(a, 0, sizeof *a);
    guard *g = &r->guard;
    a->level = plan->level;
    a->engine = r->e.version;
    a->traced = plan->log->traced;
    a->txns = plan->n;
    a->statements = plan->log->statements;
    a->sessions = plan->log->sessions.n;
    g->interrupt = o->interrupt;
    g->deadline = o->seconds > 0 ? clock_now() + (uint64_t)(o->seconds * 1e9) : 0;
    r->work.limit = o->memory;
    if (guard_armed(g)) return ended(r, a);
    engine_take(&r->e, &r->work, plan);
    mem_free_all(&r->work);
    decide_whole(r, plan, a);
    a->runs = r->e.runs;
    return 0;
}
