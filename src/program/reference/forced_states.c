/*
 * forced_states.c - see forced_states.h.
 *
 * At the place of its commit a transaction is executed on the newest state.  An answer of a write,
 * and that of a query of rows which the transaction has written itself, must agree there, since the
 * rows were locked until the commit.  Any other query may have read any earlier state: these are
 * kept open by idle connections, and the query alone is tried on all of them, provided that the
 * transaction has written no table that it names.  That statements of a transaction never go back
 * to older states is not used: fewer violations are found, none is wrong.
 */
#include "reference/forced_states.h"

#include <assert.h>
#include <stdio.h>

#include "reference/row_choice.h"

enum { KEPT_STATES = 48, WRITTEN = 32 };

typedef struct known_table {
    char name[ROW_WORD];
    bool unseen; /* no statement looks at it */
} known_table;

typedef struct forced_states {
    snapshot_replay *r;
    reference_engine *e;
    row_choice *keys;                 /* by text of the log */
    engine_conn *kept;                /* state i: kept[i % KEPT_STATES] */
    const log_stmt *written[WRITTEN]; /* of the running transaction */
    uint32_t n_written;
    VEC(known_table) tables;
    const char *why;
    const char *passed_over; /* why a query that changes nothing was not judged, or NULL */
} forced_states;

/* ---- may states depend on a choice? ---------------------------------------------------------- */

static bool same_word(const char *a, const char *b)
{
    return !strcmp(a, b);
}

/* Does a statement that is not an UPDATE by this column change which rows it chooses? */
static bool disturbs(const forced_states *s, uint32_t text, const row_choice *by)
{
    const row_choice *k = &s->keys[text];
    const log_text *t = &s->e->plan->log->texts.at[text];
    if (!same_word(k->table, by->table)) return false;
    return k->kind == ROWS_INSERT || sets_column(t->at, t->n, by->column);
}

/* Does no statement of a transaction look at the table? */
static bool is_table_unseen(const forced_states *s, const char *table)
{
    const sql_log *l = s->e->plan->log;
    bool *looked = mem_array0(s->e->mem, bool, l->texts.n + 1), unseen = true;
    for (uint32_t i = 0; i < l->txns.n && unseen; i++)
        for (uint32_t k = 0; k < l->txns.at[i].n_stmts && unseen; k++) {
            uint32_t other = l->txns.at[i].stmts[k].text;
            const log_text *o = &l->texts.at[other];
            if (looked[other]) continue;
            looked[other] = true;
            bool puts = s->keys[other].kind == ROWS_INSERT && !names_word(o->at, o->n, "returning");
            unseen = puts || !names_word(o->at, o->n, table);
        }
    mem_put(s->e->mem, looked);
    return unseen;
}

/* A value that the engine chooses goes into a table that no statement looks at.  Texts are many,
   tables are few. */
static bool is_drawn_unseen(forced_states *s, uint32_t text)
{
    const log_text *t = &s->e->plan->log->texts.at[text];
    known_table one = {0};
    if (s->keys[text].kind == ROWS_INSERT)
        snprintf(one.name, sizeof one.name, "%s", s->keys[text].table);
    else if (!created_table(t->at, t->n, one.name))
        return false;
    for (size_t i = 0; i < s->tables.n; i++)
        if (same_word(s->tables.at[i].name, one.name)) return s->tables.at[i].unseen;
    one.unseen = is_table_unseen(s, one.name);
    vec_push(s->e->mem, &s->tables, one);
    return one.unseen;
}

static bool has_a_choice(forced_states *s, const log_stmt *x)
{
    const statement_words *w = &s->e->words[x->text];
    const row_choice *k = &s->keys[x->text];
    if (x->has_error || w->is_savepoint || w->has_trigger) return true;
    if (w->draws && !is_drawn_unseen(s, x->text)) return true;
    const log_text *t = &s->e->plan->log->texts.at[x->text];
    if (w->is_setting) return !names_word(t->at, t->n, "lock_timeout");
    if (w->only_reads || w->locks_only) return false;
    return k->kind != ROWS_UPDATE && k->kind != ROWS_INSERT;
}

/* Rows that statements on another name change, or that not everybody sees. */
static bool has_other_names(const log_text *t)
{
    static const char *const words[] = {"view",  "inherits", "partition", "policy",
                                        "alter", "rule",     "generated"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (names_word(t->at, t->n, words[i])) return true;
    return false;
}

/* Statements repeat, so few of them are compared with all the others. */
static const char *why_not_forced(forced_states *s)
{
    const sql_log *l = s->e->plan->log;
    enum { COMPARED = 64 };
    uint32_t *seen = mem_array0(s->e->mem, uint32_t, COMPARED), n = 0;
    size_t n_setup;
    const log_stmt *setup = engine_setup(s->e, &n_setup);
    for (size_t i = 0; i < n_setup; i++) {
        const statement_words *w = &s->e->words[setup[i].text];
        const log_text *t = &l->texts.at[setup[i].text];
        if (w->has_trigger || has_other_names(t))
            return "a table may have other names, or triggers";
        if (w->draws && !is_drawn_unseen(s, setup[i].text))
            return "the tables have values that the engine chooses";
    }
    for (uint32_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        if (t->status != LOG_COMMITTED) continue;
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const row_choice *own = &s->keys[t->stmts[k].text];
            if (has_a_choice(s, &t->stmts[k]))
                return "what a statement wrote may depend on the state that it read";
            if (own->kind != ROWS_UPDATE) continue;
            uint32_t at = 0;
            while (at < n && !(same_word(s->keys[seen[at]].table, own->table) &&
                               same_word(s->keys[seen[at]].column, own->column)))
                at++;
            if (at < n) continue;
            if (n == COMPARED) return "the log has too many different updates";
            seen[n++] = t->stmts[k].text;
        }
    }
    for (uint32_t i = 0; i < l->txns.n; i++)
        for (uint32_t k = 0; k < l->txns.at[i].n_stmts; k++)
            for (uint32_t at = 0; at < n; at++)
                if (l->txns.at[i].status == LOG_COMMITTED &&
                    disturbs(s, l->txns.at[i].stmts[k].text, &s->keys[seen[at]]))
                    return "the rows that an update chooses may change";
    return NULL;
}

static const char *why_no_order(const forced_states *s)
{
    const audit_schedule *plan = s->e->plan;
    if (plan->doubt) return plan->doubt;
    if (plan->unknown) return "the log has transactions of unknown outcome";
    if (s->e->has_routines) return "statements may run routines";
    if (plan->stamped && plan->fact) return NULL;
    return commits_are_apart(s->r, s->r->n) ? NULL : "the order of the commits is not known";
}

/* ---- one statement --------------------------------------------------------------------------- */

static bool same_cell(const cell *a, const cell *b)
{
    return a->kind == b->kind && a->n == b->n && !memcmp(a->s, b->s, a->n);
}

/* Two statements choose rows by the same column and the same value. */
static bool chooses_the_same(const forced_states *s, const log_stmt *x, const log_stmt *y)
{
    const row_choice *a = &s->keys[x->text], *b = &s->keys[y->text];
    if (!same_word(a->table, b->table) || !same_word(a->column, b->column)) return false;
    if (!a->param || !b->param) return !a->param && !b->param && same_word(a->value, b->value);
    return a->param <= x->n_params && b->param <= y->n_params &&
           same_cell(&x->params[a->param - 1], &y->params[b->param - 1]);
}

/* Does a query read nothing but rows that its transaction has written and keeps locked? */
static bool reads_own_rows(const forced_states *s, const log_stmt *x)
{
    if (s->keys[x->text].kind != ROWS_SELECT) return false;
    for (uint32_t i = 0; i < s->n_written; i++)
        if (s->keys[s->written[i]->text].kind == ROWS_UPDATE &&
            chooses_the_same(s, x, s->written[i]))
            return true;
    return false;
}

static bool names_written(const forced_states *s, const log_stmt *x)
{
    const log_text *t = &s->e->plan->log->texts.at[x->text];
    for (uint32_t i = 0; i < s->n_written; i++)
        if (names_word(t->at, t->n, s->keys[s->written[i]->text].table)) return true;
    return false;
}

/* Nothing tells the place of a transaction that wrote nothing: the level knows no real time, and a
   commit whose answer came late may have been seen before. */
static bool may_have_read_later(const forced_states *s, uint32_t position)
{
    const audit_schedule *plan = s->e->plan;
    if (!plan->no_state[s->r->order[position]]) return false;
    for (uint32_t i = position + 1; i < s->r->n; i++)
        if (!plan->no_state[s->r->order[i]]) return true;
    return false;
}

/* Does some earlier state explain the query?  Sets `why` if that is not known. */
static bool is_explained_earlier(forced_states *s, uint32_t position, uint32_t stmt)
{
    reference_engine *e = s->e;
    snapshot_replay *r = s->r;
    uint32_t txn = r->order[position],
             oldest = position < KEPT_STATES ? 0 : position + 1 - KEPT_STATES;
    for (uint32_t state = position; state-- > oldest;) {
        engine_conn *c = &s->kept[state % KEPT_STATES];
        run_outcome o = engine_run_statement(e, c, txn, stmt);
        if (o.how == ANSWERS_AGREE) return true;
        if (o.how != ANSWERS_DIFFER) s->why = "an answer differs in a way that proves nothing";
        vec_push(e->mem, &r->tried, ((tried_state){state, o}));
        guard_poll(e->guard);
    }
    if (oldest) s->why = "older states were not kept";
    if (may_have_read_later(s, position))
        s->why = "a transaction that wrote nothing may have read a later state";
    if (!commits_are_apart(r, position))
        s->why = "commits that overlap may have been seen in another order";
    return false;
}

/* Keeps the newest state open. */
static void keep_state(forced_states *s, uint32_t state)
{
    reference_engine *e = s->e;
    engine_conn *c = &s->kept[state % KEPT_STATES];
    if (!c->open && !engine_connect(e, c)) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    engine_does(e, c, "ROLLBACK"); /* a warning, if there is no transaction */
    engine_begins(e, c, ENGINE_SNAPSHOT);
    if (!engine_does(e, c, "SELECT 1")) engine_lost(e, c);
}

typedef enum forced_end { FORCED_AGREES, FORCED_VIOLATED, FORCED_UNKNOWN } forced_end;

static forced_end judge_statement(forced_states *s, uint32_t position, uint32_t stmt, run_outcome o)
{
    snapshot_replay *r = s->r;
    const log_stmt *x = &s->e->plan->log->txns.at[r->order[position]].stmts[stmt];
    const statement_words *w = &s->e->words[x->text];
    const row_choice *k = &s->keys[x->text];
    bool writes = k->kind == ROWS_UPDATE || k->kind == ROWS_INSERT;
    s->why = o.how == ANSWERS_DIFFER ? NULL : "an answer differs in a way that proves nothing";
    if (w->picks) s->why = "a statement lets the engine choose among rows or orders";
    r->tried.n = 0;
    vec_push(s->e->mem, &r->tried, ((tried_state){position, o}));
    if (s->why) return FORCED_UNKNOWN;
    if (writes || reads_own_rows(s, x)) return FORCED_VIOLATED;
    if (!w->only_reads || names_written(s, x)) {
        s->why = "a query may have read an older state beside its own writes";
        return FORCED_UNKNOWN;
    }
    if (is_explained_earlier(s, position, stmt)) return FORCED_AGREES;
    return s->why ? FORCED_UNKNOWN : FORCED_VIOLATED;
}

/* Executes the transaction of a position on the newest state. */
static forced_end execute_at(forced_states *s, uint32_t position)
{
    reference_engine *e = s->e;
    uint32_t txn = s->r->order[position];
    const log_txn *t = &e->plan->log->txns.at[txn];
    engine_conn *c = engine_session(e, txn);
    bool conflict;
    if (!c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    engine_begins(e, c, ENGINE_STATEMENTS);
    s->n_written = 0;
    e->runs++;
    for (uint32_t k = 0; k < t->n_stmts; k++) {
        run_outcome o = engine_run_statement(e, c, txn, k);
        forced_end end =
            o.how == ANSWERS_AGREE ? FORCED_AGREES : judge_statement(s, position, k, o);
        if (end == FORCED_UNKNOWN && e->words[t->stmts[k].text].only_reads && !*c->s.state) {
            s->passed_over = s->why;
            continue;
        }
        if (end != FORCED_AGREES) {
            engine_rollback(e, c);
            return end;
        }
        row_choice_kind kind = s->keys[t->stmts[k].text].kind;
        if (kind != ROWS_UPDATE && kind != ROWS_INSERT) continue;
        s->why = "a transaction writes too much";
        if (s->n_written == WRITTEN) return FORCED_UNKNOWN;
        s->written[s->n_written++] = &t->stmts[k];
    }
    s->why = "a commit fails";
    return engine_commit(e, c, &conflict) ? FORCED_AGREES : FORCED_UNKNOWN;
}

static row_choice *keys_of_texts(const reference_engine *e)
{
    const sql_log *l = e->plan->log;
    row_choice *keys = mem_array0(e->mem, row_choice, l->texts.n + 1);
    for (size_t i = 0; i < l->texts.n; i++)
        keys[i] = read_row_choice(l->texts.at[i].at, l->texts.at[i].n);
    return keys;
}

bool texts_draw_unseen(const reference_engine *e)
{
    const sql_log *l = e->plan->log;
    forced_states s = {.e = (reference_engine *)e};
    bool unseen = !e->has_routines;
    s.keys = unseen ? keys_of_texts(e) : NULL;
    for (uint32_t i = 0; i < l->texts.n && unseen; i++)
        unseen = !e->words[i].draws || is_drawn_unseen(&s, i);
    mem_put(e->mem, s.keys);
    return unseen;
}

/* Positions that agree on the newest state have nothing to show: they are executed without keeping
   states, up to where one may be needed.  The next position. */
static uint32_t pass_over(forced_states *s, uint32_t agreed)
{
    snapshot_replay *r = s->r;
    reference_engine *e = s->e;
    if (agreed > KEPT_STATES && engine_may_run_ahead(e)) {
        r->newest_only = true;
        replay_windows(r);
        r->pause = agreed - KEPT_STATES;
        replay_end end = replay_run(r);
        r->pause = UINT32_MAX;
        if (end == REPLAY_PAUSED) return agreed - KEPT_STATES;
    }
    if (!engine_begin_pass(e)) guard_fail(e->guard, GUARD_HISTORY, "%s", e->why);
    return 0;
}

reference_finding decide_forced_states(snapshot_replay *r, uint32_t agreed)
{
    reference_engine *e = r->e;
    forced_states s = {.r = r, .e = e};
    reference_finding f = {.end = REFERENCE_UNDECIDED, .txn = UINT32_MAX};
    s.keys = keys_of_texts(e);
    f.why = why_no_order(&s);
    if (!f.why) f.why = why_not_forced(&s);
    if (f.why) return f;
    s.kept = mem_array0(e->mem, engine_conn, KEPT_STATES);
    for (uint32_t i = pass_over(&s, agreed); i < r->n; i++) {
        guard_tick(e->guard);
        r->at = i;
        keep_state(&s, i);
        forced_end end = execute_at(&s, i);
        if (end == FORCED_AGREES) continue;
        f.txn = r->order[i];
        f.end = end == FORCED_VIOLATED ? REFERENCE_VIOLATED : REFERENCE_UNDECIDED;
        f.why = end == FORCED_VIOLATED ? NULL : s.why;
        return f;
    }
    f.why =
        s.passed_over
            ? s.passed_over
            : "every answer is explained by some state, but not in one execution that was tried";
    return f;
}
