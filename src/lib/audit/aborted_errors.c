/*
 * aborted_errors.c - what a level says of the errors of transactions that did not commit.
 *
 * No level says what an aborted transaction reads.  But a statement that violates a constraint must
 * have found a reason among rows that were committed at some time, or that its own transaction
 * wrote; and in a transaction of PostgreSQL that has failed nothing succeeds until it is rolled
 * back.
 *
 * The first error of such a transaction is run on the states of the execution that explains the
 * committed ones: every statement before it on a snapshot of its own, none of their answers
 * compared, locks and constraints judged by any state, as for statements that ROLLBACK TO takes
 * back.  That is more than any level allows, so that an error which no choice gives is wrong at
 * each of them; it is said only where the order of the commits is known.
 */
#include "audit/aborted_errors.h"

#include <assert.h>
#include <string.h>

#include "audit/txn_order.h"

#define MOST_TRIES 2000u  /* ways to run one transaction */
#define ALL_TRIES 200000u /* of all of them */
#define MOST_TXNS 100000u /* more states are not kept for this */

/* Where the transaction first fails: a statement, or n_stmts.  What comes after a savepoint was
   rolled back to is not looked at, nor what follows a statement that the log does not tell. */
static uint32_t first_error(const sql_log *l, const log_txn *t)
{
    for (uint32_t i = 0; i < t->n_stmts; i++) {
        if (t->stmts[i].opaque || text_kind_of(&l->texts.at[t->stmts[i].text]) == TEXT_BACK) break;
        if (t->stmts[i].has_error) return i;
    }
    return t->n_stmts;
}

/* Constraints, and division by zero: PostgreSQL has more rules about values than audit. */
static bool is_about_rows(const log_stmt *s)
{
    static const char states[][6] = {"23505", "23503", "23514", "23502", "22012"};
    for (size_t i = 0; s->has_error && i < sizeof states / sizeof *states; i++)
        if (!memcmp(s->error, states[i], 5)) return true;
    return false;
}

static bool is_judged(const sql_log *l, const log_txn *t, uint32_t *stmt)
{
    assert(t && stmt);
    if (t->status != LOG_ABORTED) return false;
    *stmt = first_error(l, t);
    return *stmt < t->n_stmts && is_about_rows(&t->stmts[*stmt]);
}

bool aborted_errors_asked(const sql_log *l)
{
    uint32_t stmt;
    if (l->dialect != DIALECT_POSTGRES || l->txns.n > MOST_TXNS) return false;
    for (size_t i = 0; i < l->txns.n; i++)
        if (is_judged(l, &l->txns.at[i], &stmt)) return true;
    return false;
}

static void record_answer(engine *e, uint32_t txn, uint32_t stmt)
{
    e->fail = (failure){.any = true,
                        .txn = txn,
                        .stmt = stmt,
                        .why = RUN_MISMATCH,
                        .semantic = true,
                        .classified = true};
}

/* ---- after an error -------------------------------------------------------------------------- */

/* An error that may have come from the client or the network did not end the transaction. */
static bool is_of_server(const char *error)
{
    assert(strlen(error) == 5);
    return memcmp(error, "08", 2) != 0 && memcmp(error, "HY", 2) != 0 &&
           memcmp(error, "57", 2) != 0;
}

/* A success in a transaction that has failed, or n_stmts. */
static uint32_t success_after_error(const engine *e, const log_txn *t)
{
    bool failed = false;
    assert(t->status == LOG_ABORTED && e->log->dialect == DIALECT_POSTGRES);
    for (uint32_t i = 0; i < t->n_stmts; i++) {
        const log_stmt *s = &t->stmts[i];
        if (s->opaque) break;
        if (failed && engine_fails_in_aborted(e, s) && !s->has_error) return i;
        if (s->has_error) {
            failed |= is_of_server(s->error);
            continue;
        }
        text_kind kind = text_kind_of(&e->log->texts.at[s->text]);
        if (failed && kind == TEXT_BACK) failed = false;
        if (failed) break; /* COMMIT and its kin: what follows is another transaction */
    }
    return t->n_stmts;
}

static bool all_fail_after_errors(engine *e)
{
    for (uint32_t i = 0; i < e->log->txns.n; i++) {
        const log_txn *t = &e->log->txns.at[i];
        if (t->status != LOG_ABORTED) continue;
        uint32_t at = success_after_error(e, t);
        if (at == t->n_stmts) continue;
        record_answer(e, i, at);
        vec_push(e->mem, &e->fail.possible,
                 ((audit_possible){"", "error 25P02 (the transaction is aborted)"}));
        return false;
    }
    return true;
}

/* ---- errors about rows ----------------------------------------------------------------------- */

/* A choice of states with which the transaction runs up to the statement and gives its error, or
   that is not known.  `rule`: WRITE_CONFLICT looks for what foreign keys refer to in the
   snapshot. */
static bool some_way(engine *e, trial *t, write_rule rule, uint32_t *left)
{
    bool found = true;
    assert(e->run.upto && (rule == WRITE_RECHECK || rule == WRITE_CONFLICT));
    e->run.rule = rule;
    t->choices.n = t->reached.n = t->changed = 0;
    for (uint32_t tries = 0;; tries++) {
        if (tries == MOST_TRIES || !*left) break;
        --*left;
        outcome r = engine_run(e, t, e->order.n);
        if (r == RUN_OK) vs_rollback(&e->store, 0);
        if (r == RUN_OK || r == RUN_REFUSED || e->unsure) break;
        if (!engine_advance(e, t)) {
            found = e->effort.cut;
            break;
        }
    }
    e->run.rule = WRITE_RECHECK;
    return found;
}

static bool is_explained_by_rows(engine *e, uint32_t txn, uint32_t stmt, uint32_t *left,
                                 bool snapshots)
{
    trial t = {.txn = txn};
    assert(stmt < e->log->txns.at[txn].n_stmts && e->log->txns.at[txn].status == LOG_ABORTED);
    assert(!e->store.undo.n && !e->exploring && e->run.mode == MODE_STATEMENT);
    e->effort.cut = false;
    e->run.upto = stmt + 1;
    bool found = some_way(e, &t, WRITE_RECHECK, left);
    bool refers = !memcmp(e->log->txns.at[txn].stmts[stmt].error, "23503", 5);
    if (!found && refers && snapshots) found = some_way(e, &t, WRITE_CONFLICT, left);
    if (!found) { /* once more, to tell what the newest state gives */
        t.choices.n = t.reached.n = t.changed = 0;
        e->exploring = true;
        memset(&e->fail, 0, sizeof e->fail);
        if (engine_run(e, &t, e->order.n) == RUN_OK) vs_rollback(&e->store, 0);
        e->exploring = false;
        e->fail.any = e->fail.semantic = e->fail.classified = true;
        e->fail.txn = txn;
        e->fail.stmt = stmt;
        e->fail.why = RUN_MISMATCH;
    }
    assert(!e->store.undo.n); /* nothing of it stays */
    e->run.upto = 0;
    vec_free(e->mem, &t.choices);
    vec_free(e->mem, &t.reached);
    return found;
}

static bool all_explained_by_rows(engine *e)
{
    uint32_t left = ALL_TRIES, stmt;
    running_txn outer = e->run;
    engine_effort effort = e->effort;
    bool exploring = e->exploring, good = true;
    failure shown = e->fail;
    e->effort.window = UINT32_MAX;
    e->exploring = false;
    e->run.mode = MODE_STATEMENT;
    e->run.rule = WRITE_RECHECK;
    e->run.low = 0;
    e->run.high = e->order.n;
    for (uint32_t i = 0; good && i < e->log->txns.n; i++)
        if (is_judged(e->log, &e->log->txns.at[i], &stmt))
            good = is_explained_by_rows(e, i, stmt, &left, outer.rule != WRITE_RECHECK);
    e->run.mode = outer.mode;
    e->run.rule = outer.rule;
    effort.runs = e->effort.runs;
    e->effort = effort;
    e->exploring = exploring;
    if (good) e->fail = shown;
    return good;
}

/* Does a transaction leave other tables, columns or constraints behind?  A replay has one catalog,
   the last one: there, a statement of an aborted transaction may find a table that was made later,
   also a temporary one of its own session. */
static bool schema_changed(const engine *e)
{
    for (size_t i = 0; e->plans.changes_schema && i < e->log->txns.n; i++) {
        const log_txn *t = &e->log->txns.at[i];
        if (t->status != LOG_ABORTED && engine_changes_schema(e, t)) return true;
    }
    return false;
}

bool aborted_errors_explained(engine *e, bool *by_rows)
{
    *by_rows = false;
    if (e->log->dialect != DIALECT_POSTGRES || e->o->lenient) return true;
    if (!all_fail_after_errors(e)) return false;
    bool unknown = false;
    for (size_t i = 0; i < e->log->txns.n; i++) unknown |= e->log->txns.at[i].status == LOG_UNKNOWN;
    /* at read committed every row may come from a state of its own */
    if (unknown || e->level.mode == MODE_ROW || e->store.horizon || e->unsure) return true;
    if (engine_shares_changes(e) && e->log->sessions.n > 1) return true;
    if (!aborted_errors_asked(e->log) || !order_is_fact(e, true)) return true;
    if (schema_changed(e)) return true;
    assert(!e->run.focus && !e->run.upto && !e->hooks.choose);
    *by_rows = true;
    return all_explained_by_rows(e);
}
