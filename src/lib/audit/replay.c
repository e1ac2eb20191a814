/*
 * replay.c - runs one transaction, statement by statement, and compares what comes back.
 *
 * A statement is bound once for its text, run by the SQL interpreter at the state that the current
 * choice names, and compared with the log.  What the interpreter raises or refuses comes back
 * through the guard: an error that the log shows agrees, a statement that is not understood makes
 * its table unknown or ends the audit.  A run that fails leaves nothing pending in the store.  The
 * initial state is made here as well, by the same means.
 */
#include "audit/replay.h"

#include <assert.h>
#include <stdio.h>

#include "audit/chosen_values.h"
#include "audit/log_words.h"
#include "audit/out_of_reach.h"
#include "base/hash.h"

#define REBIND_RUNS 20 /* what binding a statement anew costs, in runs of a transaction */

#define MAX_POSSIBLE 8
#define MAX_PLANS 8192
#define MAX_EXPLAIN 4000 /* ways to run a transaction row by row */
#define MAX_SAME 500     /* the same, of one statement, to see that each of them writes the same */

const char *engine_state(const engine *e, uint32_t state)
{
    assert(state <= e->log->txns.n + 1);
    return state ? e->order.state_name[state] : "";
}

/* ---- choices --------------------------------------------------------------------------------- */

choice *engine_choice(engine *e, uint32_t low, uint32_t high)
{
    trial *t = e->run.trial;
    if (e->run.used == t->choices.n) vec_push(e->mem, &t->choices, ((choice){high, low, 0, 0}));
    assert(e->run.used < t->choices.n);
    return &t->choices.at[e->run.used++];
}

bool engine_advance(engine *e, trial *t)
{
    assert(t->effects.n == 0 || e->store.searching); /* only a search asks for other ways */
    while (t->choices.n) {
        choice *c = &t->choices.at[t->choices.n - 1];
        if (c->valid_from > c->low) {
            if (c->jumps < e->effort.window) {
                c->now = c->valid_from - 1;
                assert(c->now >= c->low);
                c->valid_from = 0;
                c->jumps++;
                t->changed = t->choices.n - 1;
                return true;
            }
            e->effort.cut = true;
        }
        t->choices.n--;
    }
    return false;
}

/* Levels at which each row has a state of its own. */
static uint32_t choose_row(void *ud, table *t, uint32_t r)
{
    engine *e = ud;
    uint32_t latest = e->run.position;
    for (size_t i = e->run.seen_from; i < e->run.seen.n; i++)
        if (e->run.seen.at[i].t == t && e->run.seen.at[i].row == r) return e->run.seen.at[i].state;
    const row_version *v = t->rows.at[r].head;
    while (v && v->commit == PENDING) v = v->older;
    if (!v || (!v->older && !v->commit)) return latest; /* there was never another one */
    choice *c = engine_choice(e, e->store.horizon, latest);
    assert(c->now <= latest && c->now >= e->store.horizon);
    v = vs_at(t, r, c->now, 0);
    c->valid_from = v ? v->commit : 0;
    vec_push(e->mem, &e->run.seen, ((seen_row){t, r, c->now}));
    return c->now;
}

static void saw_row(void *ud, table *t, uint32_t r, uint32_t after, uint32_t before, bool fits,
                    uint64_t unread)
{
    engine *e = ud;
    if (after || before || fits)
        vec_push(e->mem, &e->hooks.looks, ((looked){t, r, after, before, fits, unread}));
}

/* Statements of a body have snapshots of their own, none older than those before it. */
static void view(void *ud, exec_view *v, view_move move)
{
    engine *e = ud;
    bool chosen = e->run.mode == MODE_STATEMENT;
    assert(chosen || e->run.mode == MODE_ROW); /* else every statement reads one state */
    assert(e->run.seen_from <= e->run.seen.n);
    if (move == VIEW_SAVE) {
        v->choice = e->run.cur;
        v->seen = e->run.seen.n;
        v->seen_from = e->run.seen_from;
        return;
    }
    bool back = move == VIEW_BACK;
    if (chosen && !(back && e->run.cur == v->choice)) {
        e->run.trial->choices.at[e->run.cur].valid_from = e->x.valid_from;
        if (e->x.valid_from > e->run.floor) e->run.floor = e->x.valid_from;
        e->run.cur = back ? v->choice : e->run.used;
        e->x.state = back ? v->state : engine_choice(e, e->run.floor, e->x.latest)->now;
        e->x.valid_from = back ? v->valid_from : 0;
        if (!back && e->x.state < e->run.least) e->run.least = e->x.state;
    }
    if (back) e->run.seen.n = v->seen;
    assert(e->run.seen_from <= e->run.seen.n);
    e->run.seen_from = back ? v->seen_from : e->run.seen.n;
}

static bool observed(void *ud, uint64_t row, uint32_t column, type t, value *v)
{
    engine *e = ud;
    const log_stmt *s = e->run.statement;
    if (!s || !s->has_rows || row >= s->n_rows || column >= s->n_cols) return false;
    const cell *c = &s->cells[row * s->n_cols + column];
    if (c->kind == CELL_NULL) return false;
    *v = value_parse(&e->x.c, t, c->s, c->n);
    return true;
}

static void drew(void *ud, uint32_t sequence, uint64_t row, int64_t is)
{
    engine *e = ud;
    if (!e->run.statement) return;
    uint32_t stmt = (uint32_t)(e->run.statement - e->run.txn->stmts);
    vec_push(e->mem, &e->run.drawn, ((draw){is, sequence, e->run.trial->txn, stmt, (uint32_t)row}));
}

/* The planner's choice between rows. */
static uint32_t pick(void *ud, uint32_t n)
{
    engine *e = ud;
    choice *c = engine_choice(e, 0, n - 1);
    e->picked = true;
    assert(n && c->now < n);
    c->valid_from = c->now;
    return n - 1 - c->now;
}

/* ---- failures -------------------------------------------------------------------------------- */

void engine_record_moments(engine *e, uint32_t position, uint32_t txn, uint32_t before)
{
    failure *f = &e->fail;
    uint32_t takes = e->marks.takes[txn];
    assert(txn < e->log->txns.n && before < e->log->txns.n && txn != before);
    f->possible.n = f->conflicts.n = f->order.n = 0;
    for (uint32_t i = 1; i <= position; i++) vec_push(e->mem, &f->order, engine_state(e, i));
    f->any = f->classified = true;
    f->semantic = false;
    f->position = position;
    f->txn = txn;
    f->stmt = takes < e->log->txns.at[txn].n_stmts ? takes : 0;
    f->why = RUN_MISMATCH;
    f->not_after = before + 1;
}

static void record(engine *e, uint32_t stmt, outcome why, const char *text)
{
    failure *f = &e->fail;
    uint32_t at = e->run.position;
    assert(why != RUN_OK && stmt <= e->log->txns.at[e->run.trial->txn].n_stmts);
    if (!e->exploring) return;
    if (f->any && (at < f->position || (at == f->position && stmt < f->stmt))) return;
    if (!f->any || at > f->position || stmt > f->stmt || f->txn != e->run.trial->txn) {
        f->possible.n = f->conflicts.n = 0;
        f->classified = false;
        f->order.n = 0;
        for (uint32_t i = 1; i <= at; i++) vec_push(e->mem, &f->order, engine_state(e, i));
    }
    assert(f->order.n == at);
    f->any = true;
    f->not_after = 0;
    f->position = at;
    f->stmt = stmt;
    f->txn = e->run.trial->txn;
    f->why = why;
    if (why == RUN_CONFLICT) {
        for (size_t i = 0; i < f->conflicts.n; i++)
            if (f->conflicts.at[i] == e->x.conflict) return;
        if (f->conflicts.n < MAX_POSSIBLE) vec_push(e->mem, &f->conflicts, e->x.conflict);
        return;
    }
    for (size_t i = 0; i < f->possible.n; i++)
        if (!strcmp(f->possible.at[i].result, text)) return;
    if (f->possible.n == MAX_POSSIBLE) return;
    const char *after = engine_state(e, e->run.mode == MODE_ROW ? e->run.position : e->x.state);
    const char *copy = arena_text(&e->kept, text, strlen(text));
    vec_push(e->mem, &f->possible, ((audit_possible){after, copy}));
}

/* ---- one statement --------------------------------------------------------------------------- */

static plan *plan_for(engine *e, uint32_t text)
{
    assert(text < e->log->texts.n);
    plan *p = e->plans.of[text];
    assert(!p || p->as_of == NEVER || p->as_of <= e->log->txns.n);
    /* what is judged by an older state than the transaction's may find other tables there */
    uint32_t as_of =
        e->plans.changes_schema && e->x.latest != e->run.position ? e->x.latest : NEVER;
    bool ours = p && (!e->store.temporaries || p->session == e->x.session);
    if (ours && p->catalog == e->store.catalog && p->as_of == as_of) return p;
    if (e->plans.refusal[text] && e->plans.refused_table[text])
        e->x.regs.target = vs_find(&e->store, e->plans.refused_table[text], e->x.latest);
    if (e->plans.refusal[text])
        sql_refuse(&e->x.c, (int)e->plans.refused_at[text] - 1, "%s", e->plans.refusal[text]);
    const log_text *t = &e->log->texts.at[text];
    if (p) e->effort.runs += REBIND_RUNS; /* in time and, until the audit ends, in memory */
    e->plans.of[text] = NULL;
    e->plans.bound++;
    e->plans.of[text] = sql_bind(&e->x, &e->plans.arena, t->at, t->n);
    assert(e->plans.of[text]->catalog == e->store.catalog);
    e->plans.of[text]->as_of = as_of;
    return e->plans.of[text];
}

static void bind_params(engine *e, const plan *p, const log_stmt *s)
{
    if (p->n_params > s->n_params)
        sql_refuse(&e->x.c, -1, "%u parameters where the log has %u", (unsigned)p->n_params,
                   (unsigned)s->n_params);
    value *v = arena_array(&e->x.work, value, p->n_params + 1);
    assert(p->n_params <= s->n_params);
    for (uint32_t i = 0; i < p->n_params; i++) {
        const cell *c = &s->params[i];
        type t = p->params[i].id == T_UNKNOWN ? type_plain(T_TEXT) : p->params[i];
        v[i] = c->kind == CELL_NULL ? value_null() : value_parse(&e->x.c, t, c->s, c->n);
    }
    e->x.regs.params = v;
    e->x.regs.n_params = p->n_params;
}

const plan *engine_plan(engine *e, const log_stmt *s)
{
    if (s->opaque) sql_refuse(&e->x.c, -1, "%s", s->opaque);
    const plan *p = plan_for(e, s->text);
    bind_params(e, p, s);
    return p;
}

/* Failures that come from the outside: another session, a limit; a log may show them anywhere. */
static bool outside(const char *state)
{
    assert(strlen(state) == 5);
    static const char *const states[] = {"40001", "40P01", "55P03", "57014", "53200", "53300",
                                         "53100", "57P01", "42501", "25006", "55006"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (!memcmp(state, states[i], 5)) return true;
    return false;
}

/* A unique index looks at rows that no snapshot shows: PostgreSQL's manual says so. */
static bool accepted_error(const engine *e, const char *state)
{
    return e->o->unique_errors && e->level.mode == MODE_LATEST && !memcmp(state, "23505", 5);
}

typedef struct attempt {
    engine *e;
    const log_stmt *s;
    uint32_t index;
    bool failed; /* the transaction, until it is rolled back to a savepoint */
    const plan *p;
    size_t mark;    /* of the store, before the statement */
    size_t failing; /* 1 + the choice of what had committed when the statement failed; 0: none */
    bool loose;     /* some statement had a newest state of its own */
    bool binding;   /* reading what the answer shows of a value that the database chose */
    bool any_key;   /* what x.any_key was before the statement */
} attempt;

/* Tables that a foreign key with an action may change together with the one that is not known any
   more, and so on. */
static void forget_referring(engine *e)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < e->store.tables.n; i++) {
            table *t = e->store.tables.at[i];
            for (uint32_t k = 0; !t->unknown && k < t->n_foreign; k++) {
                const foreign_key *f = &t->foreign[k];
                if (f->on_delete == REFER_CHECK && f->on_update == REFER_CHECK) continue;
                const table *to = vs_find(&e->store, f->parent, e->x.latest);
                t->unknown = more = !to || to->unknown;
            }
        }
    }
}

static void forget_table(engine *e, const log_text *text)
{
    if (e->x.regs.target && engine_writes_one(e, text))
        e->x.regs.target->unknown = true;
    else
        for (size_t i = 0; i < e->store.tables.n; i++) e->store.tables.at[i]->unknown = true;
    forget_referring(e);
}

static bool is_select(const log_text *t)
{
    size_t i = 0;
    while (i < t->n && (t->at[i] == ' ' || t->at[i] == '\n' || t->at[i] == '\t')) i++;
    static const char word[] = "select";
    for (size_t k = 0; k < 6; k++)
        if (i + k >= t->n || (t->at[i + k] | 32) != word[k]) return false;
    return true;
}

static bool only_selects(const engine *e, const log_text *t)
{
    if (!is_select(t) || strstr(t->at, "FOR ") || strstr(t->at, "for ")) return false;
    if (words_find(t->at, "into")) return false;                         /* it may create a table */
    if (e->log->traced && words_find(t->at, "set_config")) return false; /* of the search path */
    if (e->log->hidden_routines) return false; /* a view, a cast or an operator may call one */
    for (size_t i = 0; i < e->plans.routines.n; i++) /* a function may write */
        if (words_find(t->at, e->plans.routines.at[i])) return false;
    return true;
}

bool engine_writes_one(const engine *e, const log_text *t)
{
    static const char *const words[] = {"update", "insert", "delete", "merge", "replace"};
    unsigned writes = 0;
    for (int i = 0; i < 5; i++)
        for (const char *at = t->at; (at = words_find(at, words[i])); at++) writes++;
    if (writes > 1) return false;
    if (e->log->hidden_routines) return false;
    for (size_t i = 0; i < e->plans.routines.n; i++)
        if (words_find(t->at, e->plans.routines.at[i])) return false;
    return true;
}

bool engine_only_reads(const engine *e, const log_txn *t)
{
    for (uint32_t i = 0; i < t->n_stmts; i++)
        if (!only_selects(e, &e->log->texts.at[t->stmts[i].text])) return false;
    return true;
}

bool engine_writes_fixed(const engine *e, const trial *t, uint32_t low)
{
    const log_txn *x = &e->log->txns.at[t->txn];
    bool newest = e->run.mode == MODE_SNAPSHOT || e->run.mode == MODE_STATEMENT;
    if (!newest || t->bound || e->marks.undone[t->txn] || t->write_born > low) return false;
    assert(e->run.rule != WRITE_FREE);
    for (uint32_t i = 0; i < x->n_stmts; i++) {
        const plan *p = e->plans.of[x->stmts[i].text];
        bool bound = p && p->catalog == e->store.catalog &&
                     (!e->store.temporaries || p->session == x->session);
        if (!bound || x->stmts[i].has_error || !sql_writes_fixed(p)) return false;
    }
    return true;
}

/* Drivers and tools ask the system catalogs; what these hold is nothing that a log tells. */
static bool only_asks_catalogs(const engine *e, const log_text *t)
{
    if (words_find(t->at, "show") == t->at) return true;
    return only_selects(e, t) &&
           (words_find(t->at, "pg_catalog.") || words_find(t->at, "pg_class") ||
            words_find(t->at, "pg_type") || words_find(t->at, "version()") ||
            words_find(t->at, "information_schema.") || words_find(t->at, "pg_backend_pid()") ||
            (e->log->dialect == DIALECT_MYSQL &&
             (strstr(t->at, "@@") || words_find(t->at, "database()") ||
              words_find(t->at, "connection_id()"))));
}

/* A statement that we do not know: its effects are unknown from here on. */
static outcome refused(attempt *a, size_t mark)
{
    engine *e = a->e;
    const log_text *t = &e->log->texts.at[a->s->text];
    if (!e->plans.of[a->s->text] && !e->plans.refusal[a->s->text] && !a->s->opaque) {
        e->plans.refusal[a->s->text] = arena_text(&e->kept, e->guard->text, strlen(e->guard->text));
        e->plans.refused_at[a->s->text] = e->x.c.position;
        e->plans.refused_table[a->s->text] = NULL;
        if (e->x.regs.target)
            e->plans.refused_table[a->s->text] =
                arena_text(&e->kept, e->x.regs.target->name, strlen(e->x.regs.target->name));
    }
    vs_rollback(&e->store, mark);
    if (!a->s->has_error) a->failed = false; /* it has not failed in the database */
    if (e->log->traced && only_asks_catalogs(e, t)) {
        e->catalog_queries++;
        return RUN_OK;
    }
    if (!e->o->lenient) {
        failure *f = &e->fail;
        f->any = true;
        f->txn = e->run.trial->txn;
        f->stmt = a->index;
        f->why = RUN_REFUSED;
        f->text = arena_text(&e->kept, e->guard->text, strlen(e->guard->text));
        return RUN_REFUSED;
    }
    e->unchecked++;
    if (!only_selects(e, t)) forget_table(e, t);
    return RUN_OK;
}

/* A write in a block of PL/pgSQL that catches unique, foreign key or serialization errors may have
   gone the other way at that moment, so that no later difference proves anything. */
static void note_what_depends_on_moments(engine *e)
{
    if (e->x.moment_caught)
        e->unsure = "a block of PL/pgSQL catches an error that depends on what other transactions "
                    "did at that moment";
    if (e->x.clock.guessed && !e->unsure)
        e->unsure = "not explained, but values are compared with the clock of the server, which "
                    "only the server knows, and that may explain it";
}

/* A failed statement ends a transaction of PostgreSQL and of DuckDB; elsewhere it did nothing. */
static bool ends_by_failure(const engine *e)
{
    return e->log->dialect == DIALECT_POSTGRES || e->log->dialect == DIALECT_DUCKDB;
}

static bool is_same_error(const engine *e, const char *logged, const char *state)
{
    if (!memcmp(logged, state, 5)) return true;
    if (e->log->dialect == DIALECT_POSTGRES) return false;
    return !memcmp(logged, LOG_SOME_ERROR, 5) ||
           (!memcmp(logged, "23000", 5) && !memcmp(state, "23", 2));
}

/* An error for which the log gives no reason that can be looked at. */
static bool is_any_error(const engine *e, const char *logged)
{
    return e->log->dialect != DIALECT_POSTGRES && !memcmp(logged, LOG_SOME_ERROR, 5);
}

/* What we know of PostgreSQL only. */
static const char *unlike_postgres(const engine *e, const attempt *a)
{
    if (e->log->dialect == DIALECT_POSTGRES) return NULL;
    if (!memcmp(e->x.c.state, "42", 2)) return "of another dialect";
    bool conflict = !memcmp(e->x.c.state, "40001", 5) && a->p && a->p->kind == S_INSERT;
    return conflict ? "of another dialect, with a row that changed since the snapshot" : NULL;
}

/* Are the answers of the statement left for later? */
static bool only_writes_count(const attempt *a)
{
    const running_txn *r = &a->e->run;
    return r->writes_only && r->focus != a->index + 1;
}

/* A run that only writes: does the statement write the rows that it finds at the newest state?  Any
   other run finds some of them, and no others: a row that is written was not changed since it was
   read, or it is read again.  So fewer rows than the answer tells, or as many with other contents,
   is wrong at every snapshot; more rows are wrong if every snapshot shows them. */
static outcome compared_writes(attempt *a, const sql_result *r)
{
    engine *e = a->e;
    const log_stmt *s = a->s;
    bool told = s->has_rows || s->has_count;
    uint64_t count = s->has_count ? s->count : s->n_rows;
    if (a->p->kind == S_SELECT || match_result(&e->x, r, s)) return RUN_OK;
    bool same_reads = e->x.valid_from <= e->run.low && !e->plans.routines.n;
    bool known = told && (sql_writes_newest(a->p) || same_reads);
    bool plain = a->p->kind != S_INSERT || a->p->conflict == ON_CONFLICT_RAISE;
    bool everywhere = same_reads || (sql_writes_fixed(a->p) && e->x.write_born <= e->run.low);
    bool fewer = s->has_count && count > r->count && sql_finds_newest(a->p);
    if (fewer || (known && plain && (count >= r->count || everywhere))) {
        strbuf b;
        strbuf_init(&b, e->mem);
        match_show(&e->x, r, &b);
        record(e, a->index, RUN_MISMATCH, strbuf_cstr(&b));
        strbuf_free(&b);
        return RUN_MISMATCH;
    }
    if (known && !count) {
        vs_rollback(&e->store, a->mark);
        return RUN_OK;
    }
    e->run.unclear = true;
    return RUN_MISMATCH;
}

/* A statement that is taken as it is, since no answer shows what it does: what it fails for, such
   as an index that does not exist, is not known here. */
static bool is_taken_unread(const attempt *a)
{
    static const char moments[][6] = {"25P02", "40001", "40P01", "55P03", "57014"};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (!memcmp(a->s->error, moments[i], 5)) return false;
    return a->p && (a->p->kind == S_NOTHING || a->p->kind == S_UNSEEN);
}

/* Class 2B is about other objects that depend on what is to be dropped.  Classes 42 and 0A are
   about the text of a statement, whatever the rows are.  PostgreSQL has more such rules than audit:
   an error that audit does not raise is one that it does not know.  Only what names tables and
   columns can depend on the moment, if the log changes the schema. */
static bool is_unknown_rule(const attempt *a)
{
    /* a transaction that is open already, an object that is in no state for it, a sequence that is
       exhausted, bytes that are no text: none of them is looked for */
    static const char never[][6] = {"25001", "55000", "2200H", "22021", "22P05"};
    static const char named[][6] = {"42P01", "42P07", "42701", "42703",
                                    "42704", "42710", "42P06", "3F000"};
    const engine *e = a->e;
    if (!a->s->has_error) return false;
    if (is_taken_unread(a) || !memcmp(a->s->error, "2B", 2)) return true;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (!memcmp(a->s->error, never[i], 5)) return true;
    if (memcmp(a->s->error, "42", 2) != 0 && memcmp(a->s->error, "0A", 2) != 0) return false;
    bool draws = words_find(e->log->texts.at[a->s->text].at, "val("); /* of a sequence */
    for (size_t i = 0; e->plans.changes_schema && !draws && i < sizeof named / sizeof *named; i++)
        if (!memcmp(a->s->error, named[i], 5)) return false;
    return true;
}

static outcome refused_rule(attempt *a, size_t mark)
{
    engine *e = a->e;
    snprintf(e->guard->text, sizeof e->guard->text,
             "an error %.5s, which %s, that audit does not look for", a->s->error,
             is_taken_unread(a)              ? "is of a statement without an effect on answers"
             : !memcmp(a->s->error, "2B", 2) ? "is about objects that depend on another one"
             : !memcmp(a->s->error, "42", 2) || !memcmp(a->s->error, "0A", 2)
                 ? "is about the text of the statement"
                 : "is about the state of something else");
    e->x.c.position = 0;
    return refused(a, mark);
}

/* Something is not there: a table, a column, a function, another object, a schema.  The bodies of
   DO and of functions find that out while they run. */
static bool is_undefined(const char *state)
{
    static const char *const states[] = {"42P01", "42703", "42883", "42704", "3F000"};
    for (int i = 0; i < 5; i++)
        if (!memcmp(state, states[i], 5)) return true;
    return false;
}

/* Is it clear which row the statement met first?  Rows of VALUES have an order; and the only row of
   an UPDATE is locked before anything else of it is tested. */
static bool rows_are_ordered(const attempt *a)
{
    const plan *p = a->p;
    if (!p) return false;
    if (p->kind == S_INSERT && p->n_rows == 1) return true;
    if (p->n_writes || !p->target || p->target->n_triggers) return false;
    if (p->kind == S_INSERT) return !p->q && p->n_rows;
    return a->e->x.sole_target && (p->kind == S_UPDATE || p->kind == S_DELETE);
}

/* A conflict because of a key: was the column one when the row was changed? */
static void note_changed_key(engine *e)
{
    if (e->x.key_changed && e->plans.changes_schema && e->log->sessions.n > 1)
        e->unsure = "FOR KEY SHARE finds a changed key, but which columns were keys when it was "
                    "changed is not known where other sessions change the schema";
}

/* PostgreSQL does not track what ON CONFLICT reads: the lock on the row stands for it, and that is
   given back by ROLLBACK TO.  A serial order need not explain what was taken back then. */
static void note_undone_upsert(const attempt *a)
{
    engine *e = a->e;
    const uint32_t *undone = e->marks.undone[e->run.trial->txn];
    if (!accepted_error(e, "23505") || !undone || !undone[a->index]) return;
    for (uint32_t i = 0; i <= a->index; i++)
        if (undone[i] && words_find(e->log->texts.at[e->run.txn->stmts[i].text].at, "conflict"))
            e->unsure = "what ON CONFLICT read before a ROLLBACK TO is not tracked by PostgreSQL, "
                        "and --unique-errors allow accepts that";
}

/* PostgreSQL's planner takes a key for unique although the snapshot shows two rows of it: a join
   may stop at the first one it finds, be left out as a whole, or GROUP BY may forget other columns.
   So rows may be missing from an answer, and those that would be a conflict may not be met. */
static void note_twins(const attempt *a)
{
    engine *e = a->e;
    bool several = a->p && (a->p->joins || (a->p->q && a->p->q->n_keys));
    if (e->x.twins && several)
        e->unsure = "the snapshot shows two rows of one key, which PostgreSQL's planner takes for "
                    "one, in a statement that joins or groups";
}

static outcome raised(attempt *a)
{
    assert(vs_mark(&a->e->store) == a->mark && strlen(a->e->x.c.state) == 5);
    engine *e = a->e;
    a->failed = ends_by_failure(e);
    note_what_depends_on_moments(e);
    if (only_writes_count(a)) {
        e->run.unclear = true;
        return RUN_MISMATCH;
    }
    if (a->binding) {
        a->binding = false;
        return refused(a, vs_mark(&e->store));
    }
    if (a->s->has_error && is_same_error(e, a->s->error, e->x.c.state)) return RUN_OK;
    /* foreign keys are tested after unique ones, which may have been free still */
    if (a->s->has_error && !memcmp(a->s->error, "23503", 5) && accepted_error(e, e->x.c.state))
        return RUN_OK;
    if (is_unknown_rule(a)) return refused_rule(a, vs_mark(&e->store));
    const char *other = unlike_postgres(e, a);
    if (other) {
        char why[200];
        snprintf(why, sizeof why, "%.190s", e->guard->text);
        snprintf(e->guard->text, sizeof e->guard->text, "a statement %s (%s)", other, why);
        return refused(a, vs_mark(&e->store));
    }
    if (a->p && sql_unclear(&e->x, a->p, e->x.c.state, a->s->has_error ? a->s->error : NULL)) {
        snprintf(e->guard->text, sizeof e->guard->text,
                 "whether it fails with %s depends on the order of rows and conditions",
                 e->x.c.state);
        return refused(a, vs_mark(&e->store));
    }
    /* A name that neither the setup nor a transaction made, and that the database knew: what the
       statement means is not known to us, not wrong. */
    bool name = (is_undefined(e->x.c.state) || (!memcmp(e->x.c.state, "42", 2) && !a->p)) &&
                (!e->plans.changes_schema || e->log->traced || e->log->sessions.n > 1);
    /* nor a cursor or a prepared statement that something else made */
    name |= !memcmp(e->x.c.state, "34000", 5) || !memcmp(e->x.c.state, "26000", 5);
    if (name) { /* (an error of another kind shows that the database knew it, too) */
        char why[200];
        snprintf(why, sizeof why, "%.190s", e->guard->text);
        snprintf(e->guard->text, sizeof e->guard->text, "a statement that %s although %s",
                 a->s->has_error ? "failed otherwise" : "succeeded", why);
        return refused(a, vs_mark(&e->store));
    }
    bool conflict = !memcmp(e->x.c.state, "40001", 5);
    if (conflict && a->s->has_error && a->s->error[0] == '2' && !rows_are_ordered(a))
        e->unsure = "a statement of several rows failed, and which of them it met first, one that "
                    "changed since the snapshot or another one, decides about its error";
    note_twins(a);
    note_undone_upsert(a);
    note_changed_key(e);
    char text[300];
    snprintf(text, sizeof text, "error %.5s (%.280s)", e->x.c.state, e->guard->text);
    record(e, a->index, conflict ? RUN_CONFLICT : RUN_MISMATCH, text);
    return conflict ? RUN_CONFLICT : RUN_MISMATCH;
}

static outcome compared(attempt *a, sql_result *r)
{
    assert(a->p && !a->failed);
    engine *e = a->e;
    note_what_depends_on_moments(e);
    if (only_writes_count(a)) return compared_writes(a, r);
    if (e->run.upto && a->index + 1 < e->run.upto) return RUN_OK; /* no answer is compared */
    if (match_result(&e->x, r, a->s)) {
        e->catalog_queries += a->p->asks_catalogs;
        a->binding = true;
        bind_result b = chosen_bind(e, r, a->s);
        if (b == BIND_NONE || b == BIND_DONE) chosen_note(e, r, a->s, a->index);
        a->binding = false;
        if (b == BIND_UNCLEAR) {
            snprintf(e->guard->text, sizeof e->guard->text,
                     "a value that a sequence, clock or random function gave");
            e->x.c.position = 0;
            return refused(a, a->mark);
        }
        if (b != BIND_DIFFERENT) return RUN_OK;
    }
    /* a name that was not there, or there already, when the statement was read */
    bool name = a->s->has_error && !memcmp(a->s->error, "42", 2) && e->plans.changes_schema &&
                e->log->sessions.n > 1;
    if (name) {
        snprintf(e->guard->text, sizeof e->guard->text,
                 "an error %.5s where other sessions change the schema", a->s->error);
        e->x.c.position = 0;
        return refused(a, a->mark);
    }
    if (is_unknown_rule(a)) return refused_rule(a, a->mark);
    if (a->s->has_error && sql_unclear(&e->x, a->p, NULL, a->s->error)) {
        snprintf(e->guard->text, sizeof e->guard->text,
                 "an error that depends on the order of rows and conditions");
        e->x.c.position = 0;
        return refused(a, a->mark);
    }
    if (e->level.mode == MODE_ROW && a->p->n_writes)
        e->unsure = "a WITH that writes reads a row as last committed, and the query beside it "
                    "may read an older version of the same row";
    if (e->x.key_shared && e->level.rule == WRITE_RECHECK)
        e->unsure = "FOR KEY SHARE reads a row as last committed if whoever changed it had "
                    "committed by then, and as the snapshot shows it otherwise";
    note_twins(a);
    note_undone_upsert(a);
    if (!e->exploring) return RUN_MISMATCH;
    strbuf b;
    strbuf_init(&b, e->mem);
    match_show(&e->x, r, &b);
    record(e, a->index, RUN_MISMATCH, strbuf_cstr(&b));
    strbuf_free(&b);
    return RUN_MISMATCH;
}

/* A statement that failed gave back what it had locked: it is judged by what had committed when it
   failed, a state between the one that it read and the one that its locks are kept for. */
static void failing_state(attempt *a)
{
    engine *e = a->e;
    assert(a->s->has_error && !a->failing);
    if (e->run.mode == MODE_LATEST || e->run.focus) return;
    uint32_t low = e->run.mode == MODE_ROW         ? e->store.horizon
                   : e->run.mode == MODE_STATEMENT ? e->run.floor
                                                   : e->x.state;
    if (low >= e->x.latest) return;
    e->x.latest = engine_choice(e, low, e->x.latest)->now;
    if (e->x.latest < e->x.state || e->run.mode == MODE_ROW) e->x.state = e->x.latest;
    a->failing = e->run.used;
    a->loose = true;
}

/* The newest state that the statement's locks and constraints may look at. */
static void enter_region(attempt *a, uint32_t stmt, const uint32_t *undone, uint32_t low)
{
    engine *e = a->e;
    running_txn *r = &e->run;
    while (r->regions.n && r->regions.at[r->regions.n - 1].until <= stmt) r->regions.n--;
    uint32_t until = undone ? undone[stmt] : 0;
    if (!until && r->upto) until = r->upto + 1; /* the whole transaction was */
    assert(!until || until - 1 > stmt);         /* a ROLLBACK TO takes back what comes before it */
    e->x.latest = r->regions.n ? r->regions.at[r->regions.n - 1].latest : r->position;
    if (!until || r->mode == MODE_LATEST || r->focus) return;
    if (r->regions.n && r->regions.at[r->regions.n - 1].until == until - 1) return;
    size_t at = r->used;
    if (low > e->x.latest) low = e->x.latest;
    e->x.latest = engine_choice(e, low, e->x.latest)->now;
    vec_push(e->mem, &r->regions, ((rolled_back){until - 1, e->x.latest, at}));
    a->loose = true;
}

/* Several runs may share a choice: it is passed over down to where none of them would differ. */
static void same_from(choice *c, uint32_t state)
{
    if (state > c->valid_from) c->valid_from = state;
}

/* What the statement saw through locks and constraints is the same at every state from latest_from
   on.  A region's choice stands for all its statements, and for every run of them. */
static void leave_region(attempt *a)
{
    engine *e = a->e;
    choice *c = e->run.trial->choices.at;
    assert(a->failing <= e->run.trial->choices.n && e->x.latest_from <= e->x.latest);
    if (a->failing) same_from(&c[a->failing - 1], e->x.latest_from);
    for (size_t i = 0; i < e->run.regions.n; i++)
        same_from(&c[e->run.regions.at[i].choice], e->x.latest_from);
    a->failing = 0;
    e->x.latest = e->run.position;
}

bool engine_fails_in_aborted(const engine *e, const log_stmt *s)
{
    const log_text *t = &e->log->texts.at[s->text];
    static const char *const ends[] = {"commit", "end", "abort", "rollback", "prepare"};
    if (text_kind_of(t) == TEXT_BACK) return false;
    const char *at = t->at;
    while (*at && strchr(" \t\r\n;", *at)) at++;
    if (!*at || *at == '-' || *at == '/') return false; /* perhaps nothing but a comment */
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (words_find(at, ends[i]) == at) return false;
    return true;
}

/* In a transaction that has failed PostgreSQL looks at nothing but the grammar: what a statement
   names need not exist, and we need not know it. */
static bool in_failed(attempt *a, outcome *r)
{
    engine *e = a->e;
    if (!a->failed || a->s->opaque || !engine_fails_in_aborted(e, a->s)) return false;
    *r = RUN_OK;
    if (a->s->has_error && !memcmp(a->s->error, "25P02", 5)) return true;
    if (a->s->has_error && !memcmp(a->s->error, "42601", 5)) return true;
    record(e, a->index, RUN_MISMATCH, "error 25P02 (the transaction is aborted)");
    *r = RUN_MISMATCH;
    return true;
}

/* A key that was given back by ROLLBACK TO is not protected until the commit, and PostgreSQL does
   not track that it was free: the manual's exception for unique errors covers their absence. */
static bool has_free_key(const attempt *a, const plan *p)
{
    const engine *e = a->e;
    const uint32_t *undone = e->marks.undone[e->run.trial->txn];
    bool writes = (p->kind == S_INSERT && p->conflict == ON_CONFLICT_RAISE) ||
                  p->kind == S_UPDATE || p->kind == S_MERGE;
    return accepted_error(e, "23505") && writes && undone && undone[a->index] && !a->s->has_error;
}

static outcome run_statement(attempt *a)
{
    engine *e = a->e;
    guard *g = e->guard, outer;
    a->mark = vs_mark(&e->store);
    assert(a->s->text < e->log->texts.n);
    a->p = NULL;
    const uint32_t *undone = e->marks.undone[e->run.trial->txn];
    if (only_writes_count(a) && undone && undone[a->index]) return RUN_OK; /* taken back */
    if (a->s->has_error && (a->s->opaque || only_writes_count(a) || outside(a->s->error) ||
                            accepted_error(e, a->s->error) || is_any_error(e, a->s->error))) {
        a->failed = ends_by_failure(e);
        return RUN_OK;
    }
    outcome r = RUN_OK;
    if (in_failed(a, &r)) return r;
    memcpy(&outer, g, sizeof outer);
    e->x.regs.target = NULL;
    a->any_key = e->x.any_key;
    e->x.key_shared = e->x.key_changed = false;
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        g->code = code;
        e->x.any_key = a->any_key;
        if (code == SQL_RAISED) {
            vs_rollback(&e->store, a->mark);
            return raised(a);
        }
        if (code == SQL_REFUSED) return refused(a, a->mark);
        guard_fail_again(g);
    }
    if (a->s->opaque)
        sql_refuse(&e->x.c, -1, "a statement of which the log says: %s", a->s->opaque);
    plan *p = plan_for(e, a->s->text);
    a->p = p;
    sql_result out;
    bind_params(e, p, a->s);
    if (a->s->has_error) failing_state(a);
    if (has_free_key(a, p)) e->x.any_key = true;
    exec_plan(&e->x, p, &out);
    bool last = a->index + 1 == e->run.txn->n_stmts;
    bool of_key = a->s->has_error &&
                  (!memcmp(a->s->error, "23503", 5) || (last && !memcmp(a->s->error, "23505", 5)));
    if (of_key && e->x.late.n) refer_late(&e->x); /* in autocommit, or of a COMMIT */
    e->x.any_key = a->any_key;
    a->failed = false;
    r = compared(a, &out);
    guard_restore(g, &outer);
    return r;
}

/* Was a run of this transaction here before, free to read the same states or more?  What follows
   depends on nothing else, so that this one can be left.  Only statements that this run does
   differently are asked. */
static bool been_here(engine *e, uint32_t stmt, uint32_t floor)
{
    trial *t = e->run.trial;
    if (e->run.used <= t->changed && t->reached.n) return false;
    assert(floor <= e->run.position);
    uint64_t h = engine_effects(e);
    for (size_t i = 0; i < t->reached.n; i++) {
        const reached *r = &t->reached.at[i];
        if (r->stmt == stmt && r->effects == h && r->floor <= floor) return true;
    }
    vec_push(e->mem, &t->reached, ((reached){h, stmt, floor}));
    return false;
}

/* Keeps what a transaction read that has no snapshot. */
static void keep_reads(engine *e, uint32_t stmt)
{
    for (size_t i = 0; i < e->run.seen.n; i++) {
        seen_row r = e->run.seen.at[i];
        uint32_t t = 0;
        while (e->store.tables.at[t] != r.t) t++;
        vec_push(e->mem, &e->hooks.row_reads,
                 ((row_read){e->run.position, stmt, t, r.row, r.state}));
    }
}

/* ---- one transaction ------------------------------------------------------------------------- */

/* What an earlier run of this position, or of a later one, read row by row. */
static void forget_reads_from(engine *e, uint32_t position)
{
    size_t n = e->hooks.row_reads.n;
    if (!e->hooks.by_row) return;
    while (n && e->hooks.row_reads.at[n - 1].position >= position) n--;
    e->hooks.row_reads.n = n;
}

/* What a statement wrote may depend on what it read elsewhere. */
static void note_written_from(engine *e, const attempt *a)
{
    bool changes = a->p && (a->p->kind == S_INSERT || a->p->kind == S_UPDATE ||
                            a->p->kind == S_DELETE || a->p->kind == S_MERGE);
    if (changes && !sql_writes_newest(a->p) && e->x.valid_from > e->run.written_from)
        e->run.written_from = e->x.valid_from;
}

/* The states that statement i reads and is judged by. */
static void begin_statement(attempt *a, const log_txn *t, uint32_t i, uint32_t floor)
{
    engine *e = a->e;
    bool one_state = e->run.mode == MODE_SNAPSHOT || e->run.mode == MODE_LATEST;
    enter_region(a, i, e->marks.undone[t - e->log->txns.at], one_state ? e->x.state : floor);
    e->x.latest_from = 0;
    e->run.cur = e->run.used;
    e->run.floor = floor;
    e->run.least = UINT32_MAX;
    if (e->run.mode == MODE_ROW) e->x.state = e->x.latest;
    if (e->run.mode == MODE_LATEST) e->x.valid_from = 0;
    if (e->run.mode == MODE_STATEMENT) {
        e->x.state = engine_choice(e, floor, e->x.latest)->now;
        e->x.valid_from = 0;
        if (!i) e->order.first_read[e->run.position] = e->x.state;
    }
    e->run.seen.n = e->run.seen_from = 0;
    e->run.drawn.n = 0;
    e->x.regs.cid = ++e->x.last_cid;
    if (e->hooks.commits) vec_push(e->mem, &e->run.cids, e->x.regs.cid);
    a->s = e->run.statement = &t->stmts[i];
    a->index = i;
    if (e->run.focus) e->x.choose = i + 1 == e->run.focus ? choose_row : NULL;
}

/* Foreign keys that were put off until the commit are tested when the transaction commits. */
static outcome test_keys(attempt *a, const log_txn *t)
{
    engine *e = a->e;
    guard *g = e->guard, outer;
    assert(e->x.late.n && t->n_stmts);
    memcpy(&outer, g, sizeof outer);
    a->index = t->n_stmts - 1;
    a->s = &t->stmts[a->index];
    e->x.regs.target = NULL;
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        g->code = code;
        if (code == SQL_REFUSED) return refused(a, vs_mark(&e->store));
        if (code != SQL_RAISED) guard_fail_again(g);
        if (e->run.writes_only) e->run.unclear = true;
        bool conflict = !memcmp(e->x.c.state, "40001", 5);
        char text[300];
        snprintf(text, sizeof text, "error %.5s (%.280s)", e->x.c.state, g->text);
        record(e, t->n_stmts, conflict ? RUN_CONFLICT : RUN_MISMATCH, text);
        return conflict ? RUN_CONFLICT : RUN_MISMATCH;
    }
    e->x.regs.cid = ++e->x.last_cid;
    refer_late(&e->x);
    guard_restore(g, &outer);
    return RUN_OK;
}

static outcome commit_keys(attempt *a, const log_txn *t)
{
    engine *e = a->e;
    if (!e->x.late.n || e->run.upto) return RUN_OK;
    outcome r = test_keys(a, t);
    if (e->run.mode == MODE_SNAPSHOT)
        same_from(&e->run.trial->choices.at[0], a->loose ? e->x.state : e->x.valid_from);
    arena_reset(&e->x.work);
    return r;
}

static outcome run_all(engine *e, const log_txn *t)
{
    choice *snapshot = NULL;
    uint32_t latest = e->run.position, floor = e->run.low;
    assert(t == e->run.txn && !e->run.used && !e->store.undo.n);
    assert(e->run.focus <= t->n_stmts);
    attempt a = {.e = e};
    e->x.state = latest;
    forget_reads_from(e, latest);
    if (e->run.mode == MODE_SNAPSHOT) {
        if (e->run.low > e->run.high) return RUN_MISMATCH;
        snapshot = engine_choice(e, e->run.low, e->run.high);
        assert(snapshot->now >= e->run.low && snapshot->now <= e->run.high);
        e->x.state = snapshot->now;
    }
    e->x.valid_from = 0;
    e->order.first_read[e->run.position] = e->x.state;
    e->run.regions.n = e->run.cids.n = 0;
    e->run.written_from = 0;
    uint32_t end = e->run.upto ? e->run.upto : t->n_stmts;
    assert(end <= t->n_stmts);
    for (uint32_t i = 0; i < end; i++) {
        begin_statement(&a, t, i, floor);
        outcome r = run_statement(&a);
        leave_region(&a);
        assert(e->run.seen_from <= e->run.seen.n);
        if (e->run.focus && i + 1 < e->run.focus && r != RUN_REFUSED) {
            a.failed = false;
            arena_reset(&e->x.work);
            continue;
        }
        if (e->run.focus) return r;
        if (e->run.mode == MODE_STATEMENT) {
            same_from(&e->run.trial->choices.at[e->run.cur], e->x.valid_from);
            /* the next one may be as old as the oldest state that looks like this one's */
            floor = e->x.valid_from > e->run.floor ? e->x.valid_from : e->run.floor;
            if (r == RUN_OK && e->x.valid_from > e->run.least) r = RUN_MISMATCH;
        }
        /* an older snapshot that looks the same still allows older states for what is loose */
        if (snapshot)
            same_from(&e->run.trial->choices.at[0], a.loose ? e->x.state : e->x.valid_from);
        arena_reset(&e->x.work);
        if (r != RUN_OK) return r;
        note_written_from(e, &a);
        if (e->hooks.by_row && e->run.mode == MODE_ROW) keep_reads(e, i);
        bool many = e->run.mode == MODE_STATEMENT || e->run.mode == MODE_ROW;
        if (many && !a.failed && !e->run.regions.n && been_here(e, i, floor)) return RUN_MISMATCH;
    }
    if (a.failed && !e->run.upto) {
        record(e, t->n_stmts, RUN_MISMATCH, "rolled back: a statement had failed");
        return RUN_MISMATCH;
    }
    outcome r = commit_keys(&a, t);
    if (r == RUN_OK) exec_end(&e->x);
    return r;
}

/* Logs with literals in their statements have as many texts as statements. */
static void forget_plans(engine *e)
{
    assert(e->plans.bound <= MAX_PLANS);
    if (e->plans.bound < MAX_PLANS) return;
    e->plans.bound = 0;
    arena_free(&e->plans.arena);
    memset(e->plans.of, 0, e->log->texts.n * sizeof e->plans.of[0]);
}

void engine_begin(engine *e, trial *t, uint32_t position)
{
    assert(t->txn < e->log->txns.n && position <= e->log->txns.n);
    assert(!e->store.undo.n); /* one transaction at a time */
    guard_tick(e->guard);
    forget_plans(e);
    e->effort.runs++;
    e->run.trial = t;
    e->run.used = 0;
    e->hooks.looks.n = 0;
    e->run.position = position;
    e->x.latest = position;
    e->x.rule = e->run.rule;
    e->x.by_value = e->o->by_value;
    e->x.leaves_catalogs = e->log->traced || e->log->dialect == DIALECT_POSTGRES;
    e->x.no_index = e->o->off[AUDIT_PASS_INDEX];
    e->x.all_columns = e->o->off[AUDIT_PASS_COLUMNS];
    e->x.nothing_free = e->o->unique_errors && e->level.mode == MODE_LATEST;
    e->x.choose = e->run.mode != MODE_ROW ? NULL : e->hooks.choose ? e->hooks.choose : choose_row;
    e->x.view = e->run.mode == MODE_STATEMENT || e->run.mode == MODE_ROW ? view : NULL;
    e->x.pick = pick;
    e->x.observed = observed;
    e->x.drew = drew;
    bool looks = e->run.mode == MODE_SNAPSHOT ? e->hooks.commits != NULL
                                              : e->run.mode == MODE_LATEST && e->hooks.watches;
    e->x.saw = looks ? saw_row : NULL;
    e->x.saw_ud = e;
    e->x.ud = e;
    exec_begin(&e->x);
    e->x.c.zone = e->zone;
    e->x.session = e->log->txns.at[t->txn].session;
    e->x.lost_prepares = e->plans.lost_prepares;
    e->x.single_session = e->log->sessions.n < 2;
    e->run.txn = &e->log->txns.at[t->txn];
}

/* Which states look the same to an UPDATE depends on which columns were ever changed.  If a run, a
   failed one perhaps, changed another column, the choices before it were passed over by a measure
   that is none any more: they are made again from the first one on. */
static void forget_unstable_choices(const engine *e, trial *t)
{
    if (e->run.rule == WRITE_RECHECK && t->unstable != e->store.unstable)
        t->choices.n = t->reached.n = t->changed = 0;
    if (!t->choices.n) t->unstable = e->store.unstable;
}

outcome engine_run(engine *e, trial *t, uint32_t position)
{
    forget_unstable_choices(e, t);
    engine_begin(e, t, position);
    outcome r = run_all(e, e->run.txn);
    assert(r != RUN_OK || e->run.seen.n >= e->run.seen_from);
    assert(e->run.used <= t->choices.n);
    if (r == RUN_OK && t->choices.n > e->run.used) t->choices.n = e->run.used;
    if (r == RUN_OK && e->run.mode == MODE_SNAPSHOT) {
        uint32_t from = t->choices.at[0].valid_from;
        e->order.same_from[position] = from > e->run.low ? from : e->run.low;
    }
    t->write_born = e->x.write_born;
    t->bound = e->x.bound;
    if (r != RUN_OK) {
        t->choices.n = e->run.used;
        vs_rollback(&e->store, 0);
    }
    return r;
}

outcome engine_statement(engine *e, uint32_t stmt, uint32_t (*choose)(void *, table *, uint32_t))
{
    attempt a = {.e = e, .s = &e->run.txn->stmts[stmt], .index = stmt};
    assert(stmt < e->run.txn->n_stmts && choose);
    guard_tick(e->guard);
    e->effort.runs++;
    e->run.used = 0;
    e->run.seen.n = e->run.seen_from = 0;
    e->x.choose = choose;
    e->x.view = NULL; /* all that it calls reads the same state of a row */
    e->x.regs.cid = ++e->x.last_cid;
    e->x.state = e->run.position;
    e->run.statement = a.s;
    outcome r = run_statement(&a);
    arena_reset(&e->x.work);
    bool alone = !a.failed && !e->x.savepoints.n && !e->x.late.n;
    if (r == RUN_OK && !alone) r = RUN_REFUSED; /* not by themselves */
    return r;
}

/* A table that the transaction itself made is another one in every run: it goes by its name. */
static uint64_t table_mark(const table *t)
{
    if (!t || t->created != PENDING) return (uintptr_t)t;
    return value_hash(T_TEXT, value_text(t->name, strlen(t->name)));
}

uint64_t engine_effects(const engine *e)
{
    uint64_t sum = e->store.undo.n + exec_hidden(&e->x);
    for (size_t i = 0; i < e->store.undo.n; i++) {
        store_undo u = e->store.undo.at[i];
        if (u.row >= UNDO_LEAST) {
            uint64_t h = hash_pair(table_mark(u.t), u.row);
            if (u.row == UNDO_BIND) {
                const hole *b = &e->store.hole.at[u.hole - 1];
                h = hash_pair(hash_pair(h, u.hole), value_hash(b->t, b->v));
            }
            if (u.row == UNDO_CLOCK) {
                const reading *r = &e->store.readings.at[u.hole - 1];
                h = hash_pair(hash_pair(h, (uint64_t)r->lo), hash_pair((uint64_t)r->hi, r->same));
            }
            sum += h;
            continue;
        }
        const row_version *v = u.t->rows.at[u.row].head;
        uint64_t h = hash_pair(table_mark(u.t), v->dead);
        const row_version *old = v;
        while (old && old->commit == PENDING) old = old->older;
        if (old) h = hash_pair(h, u.row); /* a new row has no identity but its contents */
        for (uint32_t c = 0; !v->dead && c < u.t->n_cols; c++) {
            type_id id = u.t->cols[c].t.id;
            h = hash_pair(h, value_hash(id, v->cols[c]));
            const value *is = &v->cols[c]; /* equal values may print differently */
            if (!is->null && !is->open && type_is_bytes(id))
                h = hash_pair(h, hash_bytes(is->s, is->n, 3));
            if (!is->null && !is->open && type_is_float(id)) h = hash_pair(h, (uint64_t)is->i);
            if (id == T_NUMERIC && !v->cols[c].null) h = hash_pair(h, v->cols[c].d->scale);
        }
        sum += hash_u64(h);
    }
    return sum;
}

/* Tries ways to run it; `cut` if there were too many. */
static bool any_way(engine *e, uint32_t txn, uint32_t position, bool *cut)
{
    trial t = {.txn = txn};
    bool found = true;
    *cut = e->effort.cut = false;
    assert(e->run.mode == MODE_ROW && !e->exploring);
    int tries = 0;
    for (; tries < MAX_EXPLAIN; tries++) {
        outcome r = engine_run(e, &t, position);
        if (r == RUN_OK) vs_rollback(&e->store, 0);
        assert(r != RUN_OK || !e->run.focus ||
               !answer_out_of_reach(e, txn, e->run.focus - 1, e->store.horizon));
        if (r == RUN_OK || r == RUN_REFUSED) break;
        if (!engine_advance(e, &t)) {
            found = false;
            break;
        }
    }
    *cut = tries == MAX_EXPLAIN || (!found && e->effort.cut);
    vec_free(e->mem, &t.choices);
    vec_free(e->mem, &t.reached);
    return found;
}

bool engine_explainable(engine *e, uint32_t txn, uint32_t position)
{
    assert(!e->run.focus && !e->store.undo.n && !e->hooks.choose);
    audit_mode mode = e->run.mode;
    write_rule rule = e->run.rule;
    bool exploring = e->exploring, was_cut = e->effort.cut, cut;
    trial *outer = e->run.trial;
    uint32_t window = e->effort.window;
    e->effort.window = UINT32_MAX;
    e->run.mode = MODE_ROW;
    e->run.rule = WRITE_FREE;
    e->exploring = false;
    bool found = any_way(e, txn, position, &cut);
    if (cut && e->fail.stmt < e->log->txns.at[txn].n_stmts) {
        e->run.focus = e->fail.stmt + 1;
        found = any_way(e, txn, position, &cut);
        e->run.focus = 0;
    }
    if (cut) found = cut = !answer_out_of_reach(e, txn, e->fail.stmt, e->store.horizon);
    e->run.mode = mode;
    e->run.rule = rule;
    e->exploring = exploring;
    e->effort.cut = was_cut;
    e->effort.window = window;
    e->run.trial = outer;
    return found || cut;
}

/* One statement, whose rows come from states of their own from `low` on; the others write at the
   newest state. */
static running_txn focus_on(engine *e, uint32_t stmt, write_rule rule, uint32_t low)
{
    assert(!e->run.focus && !e->store.undo.n && !e->hooks.choose);
    running_txn outer = e->run;
    e->effort.window = UINT32_MAX;
    e->store.horizon = low;
    e->run.mode = MODE_ROW;
    e->run.rule = rule;
    e->run.focus = stmt + 1;
    e->run.writes_only = true;
    return outer;
}

static void focus_off(engine *e, const running_txn *outer)
{
    e->run.mode = outer->mode;
    e->run.rule = outer->rule;
    e->run.focus = 0;
    e->run.writes_only = outer->writes_only;
    e->run.written_from = outer->written_from;
    e->run.trial = outer->trial;
}

bool engine_query_explainable(engine *e, uint32_t txn, uint32_t stmt, uint32_t position,
                              uint32_t low)
{
    engine_effort effort = e->effort;
    bool exploring = e->exploring, cut;
    uint32_t horizon = e->store.horizon;
    assert(low <= position);
    running_txn outer = focus_on(e, stmt, WRITE_FREE, low);
    e->exploring = false;
    bool found = any_way(e, txn, position, &cut);
    if (cut) found = cut = !answer_out_of_reach(e, txn, stmt, low);
    e->exploring = exploring;
    e->store.horizon = horizon;
    e->effort.cut = effort.cut;
    e->effort.window = effort.window;
    focus_off(e, &outer);
    return found || cut;
}

/* Did the statement read a row as it was before one of these states wrote it? */
static bool overlooks(const engine *e, const uint32_t *shown, size_t n)
{
    for (size_t i = 0; n && i < e->run.seen.n; i++) {
        seen_row r = e->run.seen.at[i];
        for (const row_version *v = r.t->rows.at[r.row].head; v && v->commit > r.state;
             v = v->older)
            for (size_t k = 0; k < n; k++)
                if (v->commit == shown[k]) return true;
    }
    return false;
}

bool engine_writes_same(engine *e, trial *at, uint32_t stmt, uint32_t low, const uint32_t *shown,
                        size_t n)
{
    uint32_t position = e->run.position;
    engine_effort effort = e->effort;
    bool exploring = e->exploring, same = true, any = false;
    uint32_t horizon = e->store.horizon;
    uint64_t effects = 0;
    trial t = {.txn = at->txn};
    assert(low <= position);
    running_txn outer = focus_on(e, stmt, WRITE_RECHECK, low);
    e->exploring = false;
    for (int tries = 0; same; tries++) {
        outcome r = engine_run(e, &t, position);
        same = r != RUN_REFUSED && tries < MAX_SAME;
        if (r == RUN_OK) {
            uint64_t h = engine_effects(e);
            bool counts = !overlooks(e, shown, n);
            same = same && (!counts || !any || h == effects);
            if (counts) effects = h;
            any |= counts;
            vs_rollback(&e->store, 0);
        }
        t.reached.n = 0;
        if (!engine_advance(e, &t)) break;
    }
    e->exploring = exploring;
    e->store.horizon = horizon;
    e->effort.cut = effort.cut;
    e->effort.window = effort.window;
    focus_off(e, &outer);
    vec_free(e->mem, &t.choices);
    vec_free(e->mem, &t.reached);
    return same;
}

bool engine_would_match(engine *e, const log_stmt *s, const value *cols)
{
    guard *g = e->guard, outer;
    memcpy(&outer, g, sizeof outer);
    if (guard_armed(g)) {
        int code = g->code;
        guard_restore(g, &outer);
        g->code = code;
        if (code != SQL_RAISED && code != SQL_REFUSED) guard_fail_again(g);
        arena_reset(&e->x.work);
        return true;
    }
    const plan *p = engine_plan(e, s);
    assert(p->kind == S_UPDATE || p->kind == S_DELETE);
    bool match = p->slots != 1;
    if (!match) {
        const value *tuple[1] = {cols};
        frame f = {tuple, NULL, NULL};
        match = !p->where || eval_true(&e->x, p->where, &f);
    }
    guard_restore(g, &outer);
    arena_reset(&e->x.work);
    return match;
}

/* ---- the initial state ----------------------------------------------------------------------- */

/* Where in the rows column c of the table stands, the k-th that a statement can name. */
static uint32_t place_of(engine *e, const log_rows *rows, const table *t, uint32_t c, uint32_t k)
{
    if (!rows->columns) return k;
    for (uint32_t i = 0; i < rows->n_cols; i++)
        if (!strcmp(rows->columns[i], t->cols[c].name)) return i;
    guard_fail(e->guard, GUARD_HISTORY, "rows of table \"%s\" without its column \"%s\"", t->name,
               t->cols[c].name);
}

static void load_rows(engine *e, const log_rows *rows)
{
    assert(rows->table && (rows->cells || !rows->n_rows || !rows->n_cols));
    table *t = vs_find(&e->store, rows->table, 0);
    if (!t) {
        guard_set_position(e->guard, rows->line, 1);
        guard_fail(e->guard, GUARD_HISTORY, "rows of table \"%s\", which the setup does not create",
                   rows->table);
    }
    uint32_t visible = 0;
    for (uint32_t c = 0; c < t->n_cols; c++) visible += !column_hidden(&t->cols[c]);
    if (rows->n_rows && rows->n_cols != visible) {
        guard_set_position(e->guard, rows->line, 1);
        guard_fail(e->guard, GUARD_HISTORY, "rows of %u values for table \"%s\" of %u columns",
                   (unsigned)rows->n_cols, t->name, (unsigned)visible);
    }
    value *v = mem_array(e->mem, value, t->n_cols + 1);
    uint32_t *from = mem_array(e->mem, uint32_t, t->n_cols + 1);
    for (uint32_t c = 0, k = 0; c < t->n_cols; c++)
        from[c] = column_hidden(&t->cols[c]) ? UINT32_MAX : place_of(e, rows, t, c, k++);
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        guard_tick(e->guard);
        for (uint32_t c = 0; c < t->n_cols; c++) {
            v[c] = value_null();
            if (from[c] == UINT32_MAX) continue;
            assert(from[c] < rows->n_cols);
            const cell *at = &rows->cells[(size_t)i * rows->n_cols + from[c]];
            if (at->kind != CELL_NULL) v[c] = value_parse(&e->x.c, t->cols[c].t, at->s, at->n);
        }
        exec_index_row(&e->x, t, v);
        vs_insert(&e->store, t, v, 1);
        arena_reset(&e->x.work);
    }
    mem_put(e->mem, from);
    mem_put(e->mem, v);
}

static void setup(engine *e)
{
    const sql_log *l = e->log;
    for (size_t i = 0; i < l->setup.n; i++) {
        const log_stmt *s = &l->setup.at[i];
        guard_set_position(e->guard, s->line, s->column);
        e->in_dump = s->of_dump;
        plan *p = plan_for(e, s->text);
        bind_params(e, p, s);
        e->x.regs.cid = ++e->x.last_cid;
        sql_result out;
        exec_plan(&e->x, p, &out);
        e->x.late.n = 0; /* its transaction has ended */
        arena_reset(&e->x.work);
    }
    for (size_t i = 0; i < l->rows.n; i++) {
        guard_set_position(e->guard, l->rows.at[i].line, 1);
        e->in_dump = l->rows.at[i].of_dump;
        load_rows(e, &l->rows.at[i]);
    }
    guard_set_position(e->guard, 0, 0);
    e->in_dump = false;
    for (size_t i = 0; i < l->unknown.n; i++) {
        table *t = vs_find(&e->store, l->unknown.at[i], 0);
        if (t) t->unknown = true;
    }
}

void engine_reset(engine *e)
{
    for (size_t i = 0; i < e->log->texts.n; i++) e->plans.of[i] = NULL;
    mem_free_all(e->store_mem);
    vs_init(&e->store, e->store_mem);
    exec_init(&e->x, &e->store, e->store_mem);
    e->x.c.styled = e->plans.sets_style;
    arena_init(&e->plans.arena, e->store_mem);
    e->plans.bound = 0;
    e->unchecked = e->catalog_queries = 0;
    setup(e);
    assert(!e->store.searching && !e->store.horizon);
    vs_commit(&e->store, 0);
    assert(!e->store.undo.n && !e->store.log.n);
}
