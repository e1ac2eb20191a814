/*
 * reference_engine.c - see reference_engine.h.
 *
 * With PostgreSQL, the statements of a transaction are sent together and their answers read in
 * order (libpq's pipeline), which is what makes a replay fast.  A statement that failed in the log
 * and succeeds here is replaced by one that fails, so that the ROLLBACK TO after it finds what it
 * expects; such a log never gets more than `undecided`.
 */
#include "reference/reference_engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "reference/chosen_draws.h"
#include "reference/forced_rows.h"
#include "reference/insert_ids.h"
#include "reference/my_clock.h"
#include "reference/my_text.h"

enum {
    SESSION_CONNS = 48,
    BATCH = 32,
    BATCH_BYTES = 16384,
    FORCED_MOST = 16,
    OFTEN = 20,
    LOADED_CELLS = 1000
};

static const char *const fails_here = "SELECT ratel_statement_that_fails()";

void engine_lost(reference_engine *e, const engine_conn *c)
{
    guard_fail(e->guard, GUARD_IO, "the reference engine: %s",
               c && *c->s.error ? c->s.error : "the connection was lost");
}

/* ---- opening --------------------------------------------------------------------------------- */

bool engine_open(reference_engine *e, mem *m, guard *g, const char *url, bool *misuse)
{
    memset(e, 0, sizeof *e);
    e->mem = m;
    e->guard = g;
    *misuse = false;
    if (!strcmp(url, "sqlite")) url = "sqlite::memory:";
    e->opened = db_open(&e->db, m, url, "serializable");
    if (!e->opened || !e->db.driver->enclose || !e->db.driver->query) {
        *misuse = e->db.misuse || e->opened;
        db_hide(url, e->opened ? "this kind of database cannot be a reference" : e->db.error,
                e->why, sizeof e->why);
        engine_close(e);
        return false;
    }
    const char *name = e->db.driver->name;
    e->kind = !strcmp(name, "postgres")  ? ENGINE_POSTGRES
              : !strcmp(name, "mariadb") ? ENGINE_MARIADB
                                         : ENGINE_SQLITE;
    e->db.own_tables = true;
    snprintf(e->version, sizeof e->version, "%s", e->db.version);
    if (!e->db.driver->enclose(&e->db)) {
        *misuse = e->db.misuse;
        db_hide(url, e->db.error, e->why, sizeof e->why);
        engine_close(e);
        return false;
    }
    return true;
}

static void close_connections(reference_engine *e)
{
    while (e->open.n) engine_disconnect(e, e->open.at[e->open.n - 1]);
}

void engine_take(reference_engine *e, mem *m, const audit_schedule *plan)
{
    close_connections(e);
    e->open.at = NULL; /* of the region of the last decision */
    e->open.cap = 0;
    memset(&e->params, 0, sizeof e->params);
    strbuf_init(&e->filled, m);
    strbuf_init(&e->forced, m);
    e->forces = false;
    e->mem = m;
    e->plan = plan;
    e->words = NULL;
    e->sessions = NULL;
    e->n_conns = 0;
    e->runs = 0;
    e->draws = NULL;
    e->draws_known = NULL;
    e->insert_ids = NULL;
    e->my_clock = NULL;
    e->texts = NULL;
    e->setup_draws = e->draws_other = e->draws_given = e->drawn_twice = false;
    e->has_routines = e->patient = false;
    e->why[0] = 0;
}

void engine_close(reference_engine *e)
{
    close_connections(e);
    if (e->opened) db_close(&e->db);
    e->opened = false;
}

static bool is_over(void *ud)
{
    const guard *g = ud;
    return (g->interrupt && *g->interrupt) || (g->deadline && clock_now() > g->deadline);
}

static bool has_native_setup(const reference_engine *e)
{
    return e->kind == ENGINE_MARIADB && e->plan && e->plan->log->native.given &&
           e->plan->log->dialect == DIALECT_MYSQL;
}

const log_stmt *engine_setup(const reference_engine *e, size_t *n)
{
    const sql_log *l = e->plan->log;
    bool native = has_native_setup(e);
    *n = native ? l->native.setup.n : l->setup.n;
    return native ? l->native.setup.at : l->setup.at;
}

/* What the server of the log made of values that do not fit. */
static bool take_sql_mode(reference_engine *e, engine_conn *c, const char *more)
{
    const char *mode = has_native_setup(e) ? e->plan->log->native.sql_mode : NULL;
    char sql[1024];
    if (!mode) return true;
    if (strlen(mode) > 800 || strspn(mode, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_,") != strlen(mode)) {
        snprintf(e->why, sizeof e->why, "the log's sql_mode is not one");
        return false;
    }
    snprintf(sql, sizeof sql, "SET SESSION sql_mode = '%s%s%s'", mode, *mode && *more ? "," : "",
             more);
    return e->db.driver->query(&c->s, sql, NULL, 0) == DB_OK;
}

bool engine_connect(reference_engine *e, engine_conn *c)
{
    memset(c, 0, sizeof *c);
    c->s.gives_up = is_over;
    c->s.gives_up_ud = e->guard;
    c->s.db = &e->db;
    c->s.mem = e->mem;
    c->s.isolation = e->db.isolation;
    strbuf_init(&c->s.text, e->mem);
    vec_reserve(e->mem, &e->open, 1);
    c->open = e->db.driver->connect(&c->s) == DB_OK;
    if (c->open) vec_push(e->mem, &e->open, c);
    if (!c->open) {
        snprintf(e->why, sizeof e->why, "the reference engine takes no connection: %s", c->s.error);
        return false;
    }
    /* by `query`, so that the connection is in no pipeline yet; older servers lack the last one */
    static const char *const settings[] = {
        "SET lock_timeout = '10s'", "SET TimeZone = 'UTC'", "SET synchronous_commit = off",
        "SET statement_timeout = '60s'", "SET client_connection_check_interval = '1s'"};
    for (size_t i = 0; e->kind == ENGINE_POSTGRES && i < sizeof settings / sizeof *settings; i++)
        e->db.driver->query(&c->s, settings[i], NULL, 0);
    if (e->kind == ENGINE_MARIADB)
        e->no_snapshots |= e->db.driver->query(&c->s,
                                               e->plan && e->plan->reads == READS_SNAPSHOT
                                                   ? "SET SESSION innodb_snapshot_isolation = ON"
                                                   : "SET SESSION innodb_snapshot_isolation = OFF",
                                               NULL, 0) != DB_OK;
    if (e->kind == ENGINE_MARIADB && e->plan && !take_sql_mode(e, c, "")) return false;
    /* functions of ours are found before those of the engine, tables are not made beside them */
    if (e->draws_known)
        e->db.driver->query(&c->s, "SET search_path = \"$user\", public, ratel_chosen, pg_catalog",
                            NULL, 0);
    return true;
}

static const char *engine_text(const reference_engine *e, uint32_t text)
{
    return e->texts ? e->texts[text] : e->plan->log->texts.at[text].at;
}

void engine_disconnect(reference_engine *e, engine_conn *c)
{
    for (size_t i = 0; c->open && i < e->open.n; i++)
        if (e->open.at[i] == c) e->open.at[i] = e->open.at[--e->open.n];
    if (c->open) e->db.driver->disconnect(&c->s);
    if (c->s.mem) {
        strbuf_free(&c->s.text);
        vec_free(e->mem, &c->s.cells);
        mem_put(e->mem, c->prepared);
    }
    memset(c, 0, sizeof *c);
}

engine_conn *engine_session(reference_engine *e, uint32_t txn)
{
    uint32_t session = e->plan->log->txns.at[txn].session % SESSION_CONNS;
    engine_conn *c = &e->sessions[session];
    assert(session < e->n_conns);
    return c->open || engine_connect(e, c) ? c : NULL;
}

/* ---- statements of ours ---------------------------------------------------------------------- */

void engine_starts(reference_engine *e, engine_conn *c, const char *sql)
{
    const driver *d = e->db.driver;
    if (d->send && !d->send(&c->s, NULL, sql, NULL, 0, true)) engine_lost(e, c);
}

/* An engine without memory or disk gives no answer at all, neither to a statement of the log nor to
   one of ours: no difference and no refusal.  (SQLSTATE class 53, insufficient resources, which our
   driver also says of SQLite; MariaDB has HY001.) */
static void check_answer(reference_engine *e, const engine_conn *c, enum db_answer a)
{
    guard_poll(e->guard); /* a statement that was stopped has no answer */
    bool none = !strncmp(c->s.state, "53", 2) || !strcmp(c->s.state, "HY001");
    if (a == DB_LOST || (a != DB_OK && none)) engine_lost(e, c);
}

static bool finished(reference_engine *e, engine_conn *c, enum db_answer a)
{
    check_answer(e, c, a);
    return a == DB_OK;
}

/* The next answer; limits and interrupts are heeded while it takes its time. */
static enum db_answer awaited(reference_engine *e, engine_conn *c)
{
    for (;;) {
        bool pending;
        enum db_answer a = e->db.driver->receive(&c->s, 200, &pending);
        if (!pending) return a;
        guard_poll(e->guard);
    }
}

bool engine_finishes(reference_engine *e, engine_conn *c)
{
    assert(e->db.driver->receive);
    return finished(e, c, awaited(e, c));
}

bool engine_does(reference_engine *e, engine_conn *c, const char *sql)
{
    const driver *d = e->db.driver;
    if (!d->send) return finished(e, c, d->query(&c->s, sql, NULL, 0));
    engine_starts(e, c, sql);
    return engine_finishes(e, c);
}

void engine_begins_sent(reference_engine *e, engine_conn *c, engine_isolation isolation, bool alone)
{
    static const char *const postgres[] = {
        [ENGINE_STATEMENTS] = "BEGIN ISOLATION LEVEL READ COMMITTED",
        [ENGINE_SNAPSHOT] = "BEGIN ISOLATION LEVEL REPEATABLE READ",
        [ENGINE_SERIAL] = "BEGIN ISOLATION LEVEL SERIALIZABLE",
        [ENGINE_REPEATABLE] = "BEGIN ISOLATION LEVEL REPEATABLE READ"};
    static const char *const mariadb[] = {
        [ENGINE_STATEMENTS] = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        [ENGINE_SNAPSHOT] = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        [ENGINE_SERIAL] = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        [ENGINE_REPEATABLE] = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"};
    bool by_begin = e->kind == ENGINE_POSTGRES;
    bool done = by_begin ? alone || engine_does(e, c, postgres[isolation])
                         : engine_does(e, c, mariadb[isolation]);
    if (done && !alone && !by_begin)
        done =
            engine_does(e, c,
                        isolation == ENGINE_SNAPSHOT ? "START TRANSACTION WITH CONSISTENT SNAPSHOT"
                                                     : "START TRANSACTION");
    if (!done) engine_lost(e, c);
}

void engine_begins(reference_engine *e, engine_conn *c, engine_isolation isolation)
{
    engine_begins_sent(e, c, isolation, false);
}

bool engine_stays_in_a_transaction(const reference_engine *e)
{
    const sql_log *l = e->plan->log;
    for (uint32_t i = 0; e->kind == ENGINE_MARIADB && i < l->txns.n; i++)
        for (uint32_t k = 0; k < l->txns.at[i].n_stmts; k++) {
            char c = *l->texts.at[l->txns.at[i].stmts[k].text].at;
            if (!strchr("SsIiUuDdVvWwRr", c) || !c) return false;
            if (e->words[l->txns.at[i].stmts[k].text].changes_schema) return false;
        }
    return true;
}

void engine_rollback(reference_engine *e, engine_conn *c)
{
    if (!engine_does(e, c, "ROLLBACK") && e->kind != ENGINE_SQLITE) engine_lost(e, c);
}

bool engine_commit(reference_engine *e, engine_conn *c, bool *conflict)
{
    *conflict = false;
    if (engine_does(e, c, "COMMIT")) return true;
    *conflict = !strcmp(c->s.state, "40001");
    if (e->kind != ENGINE_POSTGRES) engine_does(e, c, "ROLLBACK");
    return false;
}

/* ---- the initial state ----------------------------------------------------------------------- */

/* The text of a value for the engine; NULL: null. */
static const char *param_text(const reference_engine *e, const cell *c)
{
    if (c->kind == CELL_NULL) return NULL;
    if (e->kind == ENGINE_POSTGRES) return c->s;
    return c->kind == CELL_TRUE ? "1" : c->kind == CELL_FALSE ? "0" : c->s;
}

/* MariaDB's texts are sent with their parameters in them. */
static const char *filled_text(reference_engine *e, const log_stmt *s, log_text t)
{
    my_text_fill(t, s->params, s->n_params, &e->filled);
    return strbuf_cstr(&e->filled);
}

static log_text own_text(const reference_engine *e, const log_stmt *s)
{
    if (e->kind == ENGINE_MARIADB) return log_text_as_written(e->plan->log, s->text);
    const char *text = engine_text(e, s->text);
    return (log_text){text, (uint32_t)strlen(text)};
}

static bool force_rows(reference_engine *e, const log_stmt *s)
{
    bool others = e->plan->log->sessions.n > 1;
    if (!e->words[s->text].picks || s->has_error) return false;
    return forced_rows_text(e->kind, own_text(e, s), s, others, &e->forced);
}

bool engine_may_force_rows(reference_engine *e, uint32_t txn, uint32_t stmt)
{
    const log_txn *t = &e->plan->log->txns.at[txn];
    return stmt < t->n_stmts && force_rows(e, &t->stmts[stmt]);
}

static void set_params(reference_engine *e, const cell *at, uint32_t n)
{
    e->params.n = 0;
    vec_reserve(e->mem, &e->params, n + 1);
    for (uint32_t i = 0; i < n; i++) vec_push(e->mem, &e->params, param_text(e, &at[i]));
}

static bool is_failed(enum db_answer a)
{
    return a != DB_OK;
}

/* INSERT of so many rows. */
static const char *insert_text(const reference_engine *e, const log_rows *r, uint32_t rows,
                               strbuf *b)
{
    bool quoted = e->kind == ENGINE_MARIADB && !strchr(r->table, '`');
    b->n = 0;
    strbuf_printf(b, quoted ? "INSERT INTO `%s`" : "INSERT INTO %s", r->table);
    for (uint32_t i = 0; r->columns && i < r->n_cols; i++)
        strbuf_printf(b, "%s%s", i ? ", " : " (", r->columns[i]);
    strbuf_str(b, r->columns && r->n_cols ? ") VALUES" : " VALUES");
    for (uint32_t k = 0; k < rows; k++) {
        if (k) strbuf_char(b, ',');
        for (uint32_t i = 0; i < r->n_cols; i++) {
            strbuf_str(b, i ? "," : "(");
            if (e->kind == ENGINE_MARIADB)
                strbuf_char(b, '?');
            else
                strbuf_printf(b, "$%u", (unsigned)(k * r->n_cols + i + 1));
        }
        strbuf_char(b, ')');
    }
    return strbuf_cstr(b);
}

/* Many rows at a time, unless a trigger could tell. */
static bool load_rows(reference_engine *e, engine_conn *c, const log_rows *r)
{
    bool one = e->has_routines || e->kind == ENGINE_SQLITE || !r->n_cols;
    uint32_t at_once = one || r->n_cols >= LOADED_CELLS ? 1 : LOADED_CELLS / r->n_cols, of = 0;
    const char *text = NULL;
    strbuf b;
    strbuf_init(&b, e->mem);
    bool done = true;
    for (uint32_t i = 0, n; done && i < r->n_rows; i += n) {
        n = r->n_rows - i < at_once ? r->n_rows - i : at_once;
        if (n != of) text = insert_text(e, r, of = n, &b);
        set_params(e, r->cells + (size_t)i * r->n_cols, n * r->n_cols);
        guard_poll(e->guard);
        enum db_answer a = e->db.driver->query(&c->s, text, e->params.at, (uint32_t)e->params.n);
        check_answer(e, c, a);
        if (is_failed(a))
            snprintf(e->why, sizeof e->why,
                     "the reference engine refuses rows of the initial state (line %llu): %s",
                     (unsigned long long)r->line, c->s.error);
        done = !is_failed(a);
    }
    strbuf_free(&b);
    return done;
}

static bool load_statement(reference_engine *e, engine_conn *c, const log_stmt *s)
{
    bool maria = e->kind == ENGINE_MARIADB;
    set_params(e, s->params, maria ? 0 : s->n_params);
    guard_poll(e->guard);
    enum db_answer a = e->db.driver->query(
        &c->s, maria ? filled_text(e, s, own_text(e, s)) : engine_text(e, s->text), e->params.at,
        (uint32_t)e->params.n);
    check_answer(e, c, a);
    if (!is_failed(a) || s->has_error) return true;
    snprintf(e->why, sizeof e->why, "the reference engine refuses the setup (line %llu): %s",
             (unsigned long long)s->line, c->s.error);
    return false;
}

static bool load_setup(reference_engine *e, engine_conn *c)
{
    const sql_log *l = e->plan->log;
    bool native = has_native_setup(e), done = true;
    size_t n;
    const log_stmt *s = engine_setup(e, &n);
    /* tables may refer to later ones, and a row's own number may be 0 */
    if (native)
        done = e->db.driver->query(&c->s, "SET SESSION foreign_key_checks = 0", NULL, 0) == DB_OK &&
               take_sql_mode(e, c, "NO_AUTO_VALUE_ON_ZERO");
    for (size_t i = 0; done && i < n; i++) done = load_statement(e, c, &s[i]);
    for (size_t i = 0; done && i < l->rows.n; i++) done = load_rows(e, c, &l->rows.at[i]);
    for (size_t i = 0; done && native && i < l->native.rows.n; i++)
        done = load_rows(e, c, &l->native.rows.at[i]);
    return done;
}

/* Empties the database of the last pass, which is much faster than to make another one.  Only on a
   server of our own: DROP OWNED also takes rights away that the role has elsewhere. */
static bool empty_database(reference_engine *e)
{
    bool ours = e->kind == ENGINE_POSTGRES && e->db.temp.running && !e->db.all_rights;
    if (!ours || !engine_connect(e, &e->loader)) return false;
    const driver *d = e->db.driver;
    /* a session that was left waiting may still hold locks for a moment */
    bool done = d->query(&e->loader.s, "SET lock_timeout = '100ms'", NULL, 0) == DB_OK &&
                d->query(&e->loader.s, "DROP OWNED BY CURRENT_USER CASCADE", NULL, 0) == DB_OK &&
                d->query(&e->loader.s, "SET lock_timeout = '10s'", NULL, 0) == DB_OK;
    if (!done) engine_disconnect(e, &e->loader);
    return done;
}

bool engine_begin_pass(reference_engine *e)
{
    close_connections(e);
    e->forced_errors = 0;
    e->forced_txn = UINT32_MAX;
    if (!e->sessions) {
        size_t n = e->plan->log->sessions.n;
        e->n_conns = n < SESSION_CONNS ? (uint32_t)n + 1 : SESSION_CONNS;
        e->sessions = mem_array0(e->mem, engine_conn, e->n_conns);
    }
    bool emptied = e->used && empty_database(e);
    if (e->used && !emptied && !e->db.driver->enclose(&e->db)) {
        snprintf(e->why, sizeof e->why, "the reference engine: %s", e->db.error);
        return false;
    }
    e->used = true;
    /* not a local: a limit may end the loading, and the connection is closed later */
    if (!emptied && !engine_connect(e, &e->loader)) return false;
    bool done = (!e->draws_known || draws_prepare(e, &e->loader)) && load_setup(e, &e->loader) &&
                (!e->draws_known || draws_adapt(e, &e->loader));
    engine_disconnect(e, &e->loader);
    return done;
}

/* ---- transactions of the log ----------------------------------------------------------------- */

typedef struct txn_run {
    reference_engine *e;
    engine_conn *c;
    const log_txn *t;
    uint32_t txn;
    bool force[64]; /* by statement: one that fails is run instead */
    bool rows[64];  /* ... one that has the rows of the log */
    uint32_t forced;
} txn_run;

static bool is_passed_over(const txn_run *r, uint32_t stmt)
{
    return r->e->words[r->t->stmts[stmt].text].sets_level;
}

/* The text to send, and its parameters in e->params. */
static const char *text_of(txn_run *r, uint32_t stmt)
{
    const log_stmt *s = &r->t->stmts[stmt];
    bool forced = stmt < 64 && r->force[stmt];
    set_params(r->e, s->params, forced || r->e->kind == ENGINE_MARIADB ? 0 : s->n_params);
    if (forced) return fails_here;
    log_text t = own_text(r->e, s);
    bool rows = r->e->forces || (stmt < 64 && r->rows[stmt]);
    if (rows && force_rows(r->e, s))
        t = (log_text){strbuf_cstr(&r->e->forced), (uint32_t)r->e->forced.n};
    return r->e->kind == ENGINE_MARIADB ? filled_text(r->e, s, t) : t.at;
}

static enum db_answer query_one(txn_run *r, uint32_t stmt)
{
    const char *text = text_of(r, stmt);
    if (!r->e->db.driver->send)
        return r->e->db.driver->query(&r->c->s, text, r->e->params.at, (uint32_t)r->e->params.n);
    if (!r->e->db.driver->send(&r->c->s, NULL, text, r->e->params.at, (uint32_t)r->e->params.n,
                               true))
        engine_lost(r->e, r->c);
    return awaited(r->e, r->c);
}

static void prepare_text(reference_engine *e, engine_conn *c, uint32_t text)
{
    char name[24];
    if (!c->prepared) c->prepared = mem_array0(e->mem, uint8_t, e->plan->log->texts.n + 1);
    if (!e->often[text] || c->prepared[text]) return;
    snprintf(name, sizeof name, "ratel%u", (unsigned)text);
    bool done = e->db.driver->prepare(&c->s, name, engine_text(e, text));
    c->prepared[text] = done ? 1 : 2;
}

/* Prepares what the log repeats, outside of any transaction. */
static void prepare_texts(txn_run *r)
{
    if (!r->e->often || !r->e->db.driver->prepare) return;
    for (uint32_t i = 0; i < r->t->n_stmts; i++) prepare_text(r->e, r->c, r->t->stmts[i].text);
}

static void send_one(txn_run *r, uint32_t stmt, bool last)
{
    const log_stmt *s = &r->t->stmts[stmt];
    bool forced = stmt < 64 && r->force[stmt];
    bool rows = r->e->forces || (stmt < 64 && r->rows[stmt]);
    bool known = !forced && !rows && r->c->prepared && r->c->prepared[s->text] == 1;
    char name[24];
    const char *text = text_of(r, stmt);
    snprintf(name, sizeof name, "ratel%u", (unsigned)s->text);
    if (!r->e->db.driver->send(&r->c->s, known ? name : NULL, text, r->e->params.at,
                               (uint32_t)r->e->params.n, last))
        engine_lost(r->e, r->c);
}

static run_outcome judge(txn_run *r, uint32_t stmt, enum db_answer a)
{
    const log_stmt *s = &r->t->stmts[stmt];
    run_outcome o = {.stmt = stmt};
    check_answer(r->e, r->c, a);
    if (stmt < 64 && r->force[stmt]) return o;
    if (r->e->words[s->text].asks_session && a == DB_OK && !s->has_error) return o;
    o.how = compare_answer(r->e->kind, s, &r->c->s, is_failed(a));
    if (o.how == ANSWERS_AGREE) return o;
    o.unlike_error = s->has_error && error_depends_on_time(s->error) && o.how == ANSWERS_UNSURE;
    strbuf b;
    strbuf_init(&b, r->e->mem);
    show_engine_answer(&r->c->s, is_failed(a), &b);
    o.answer = strbuf_cstr(&b); /* kept with the decision's memory */
    return o;
}

static uint32_t batch_end(const txn_run *r, uint32_t from)
{
    size_t bytes = 0;
    uint32_t i = from;
    for (; i < r->t->n_stmts && i - from < BATCH && bytes < BATCH_BYTES; i++) {
        if (i > from && draws_are_given(r->e, r->txn, i)) break; /* its values are sent before it */
        bytes += r->e->plan->log->texts.at[r->t->stmts[i].text].n;
        for (uint32_t k = 0; k < r->t->stmts[i].n_params; k++) bytes += r->t->stmts[i].params[k].n;
    }
    return i;
}

/* `ours` statements that were sent before, and those from `from` to `to`. */
static run_outcome run_batch(txn_run *r, uint32_t ours, uint32_t from, uint32_t to)
{
    run_outcome o = {0};
    for (uint32_t i = from; i < to; i++) /* one that is to fail must not take the next one along */
        if (!is_passed_over(r, i)) send_one(r, i, i + 1 == to || r->t->stmts[i].has_error);
    if (to == from || is_passed_over(r, to - 1)) engine_starts(r->e, r->c, "SELECT 1");
    for (uint32_t i = 0; i < ours; i++)
        if (!engine_finishes(r->e, r->c)) engine_lost(r->e, r->c);
    for (uint32_t i = from; i < to; i++) {
        if (is_passed_over(r, i)) continue;
        enum db_answer a = awaited(r->e, r->c);
        check_answer(r->e, r->c, a);
        if (o.how == ANSWERS_AGREE) o = judge(r, i, a);
    }
    if (to == from || is_passed_over(r, to - 1)) engine_finishes(r->e, r->c);
    return o;
}

static run_outcome run_once(txn_run *r, const char *const *first)
{
    reference_engine *e = r->e;
    run_outcome o = {0};
    uint32_t ours = 0;
    e->runs++;
    guard_poll(e->guard);
    if (!e->db.driver->prepare) { /* one statement at a time */
        for (; first[ours]; ours++)
            if (!engine_does(e, r->c, first[ours])) engine_lost(e, r->c);
        for (uint32_t i = 0; i < r->t->n_stmts && o.how == ANSWERS_AGREE; i++) {
            if (is_passed_over(r, i)) continue;
            insert_id_give(e, r->c, r->txn, i);
            my_clock_give(e, r->c, r->txn, i);
            o = judge(r, i, query_one(r, i));
        }
        return o;
    }
    if (!e->patient) prepare_texts(r);
    for (; first[ours]; ours++)
        if (!e->db.driver->send(&r->c->s, NULL, first[ours], NULL, 0, false)) engine_lost(e, r->c);
    uint32_t i = 0;
    do {
        uint32_t to = batch_end(r, i), sent = i ? 0 : ours;
        const char *values = i < r->t->n_stmts ? draws_given(e, r->txn, i) : NULL;
        if (values && !e->db.driver->send(&r->c->s, NULL, values, NULL, 0, false))
            engine_lost(e, r->c);
        o = run_batch(r, sent + (values != NULL), i, to);
        i = to;
    } while (i < r->t->n_stmts && o.how == ANSWERS_AGREE);
    return o;
}

run_outcome engine_run_txn(reference_engine *e, engine_conn *c, const char *const *first,
                           uint32_t txn)
{
    txn_run r = {.e = e, .c = c, .t = &e->plan->log->txns.at[txn], .txn = txn};
    for (;;) {
        run_outcome o = run_once(&r, first);
        bool mine = first[0] && !e->patient && o.stmt < 64;
        if (mine && o.how == ANSWERS_DIFFER && !r.rows[o.stmt] &&
            engine_may_force_rows(e, txn, o.stmt)) {
            r.rows[o.stmt] = true;
            engine_rollback(e, c);
            continue;
        }
        bool again = o.unlike_error && mine && r.forced < FORCED_MOST && e->kind == ENGINE_POSTGRES;
        if (!again) {
            if (o.how == ANSWERS_AGREE && r.forced)
                e->forced_errors += r.forced, e->forced_txn = txn;
            return o;
        }
        r.force[o.stmt] = true;
        r.forced++;
        engine_rollback(e, c);
    }
}

/* ---- transactions that are sent before the answers of others are read ------------------------ */

/* SET as a statement of a body, and not the SET of an UPDATE: it stands at the beginning of one. */
static bool begins_a_statement(const log_text *t, const word_walk *w, const char *word,
                               const char *before)
{
    static const char *const words[] = {"begin", "then", "else", "loop", "do"};
    const char *p = w->at - strlen(word);
    while (p > t->at && strchr(" \t\r\n", p[-1]) && p[-1]) p--;
    if (p == t->at || p[-1] == ';' || p[-1] == '\'' || p[-1] == '$') return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(before, words[i])) return true;
    return false;
}

/* Parts of the log that an execution on one connection keeps apart no longer. */
static bool needs_its_session(const log_text *t)
{
    static const char *const words[] = {
        "currval",    "lastval", "setseed", "cache",   "temp",       "temporary", "prepare",
        "deallocate", "discard", "listen",  "notify",  "set_config", "hold",      "declare",
        "pg_notify",  "pg_temp", "load",    "lo_open", "fetch",      "vacuum",    "concurrently"};
    char word[STATEMENT_WORD], before[STATEMENT_WORD] = "";
    for (word_walk w = {t->at, t->at + t->n}; next_statement_word(&w, word);
         memcpy(before, word, sizeof before)) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (!strcmp(word, words[i])) return true;
        if (strstr(word, "advisory")) return true;
        bool sets = !strcmp(word, "set") || !strcmp(word, "reset");
        if (sets && before[0] && begins_a_statement(t, &w, word, before)) return true;
        bool made = !strcmp(word, "function") || !strcmp(word, "procedure");
        if (!strcmp(before, "execute") && !made) return true;
    }
    return !strcmp(before, "execute");
}

bool engine_may_run_ahead(const reference_engine *e)
{
    const sql_log *l = e->plan->log;
    if (!e->db.driver->send || !e->db.driver->prepare) return false;
    for (size_t i = 0; i < l->texts.n; i++) {
        const statement_words *w = &e->words[i];
        if ((w->is_setting && !w->sets_level) || needs_its_session(&l->texts.at[i])) return false;
    }
    return true;
}

static const char *const own_names[] = {"ratel_begin", "ratel_begin_serial", "ratel_commit"};
static const char *const own_texts[] = {"BEGIN ISOLATION LEVEL REPEATABLE READ",
                                        "BEGIN ISOLATION LEVEL SERIALIZABLE", "COMMIT"};

engine_conn *engine_ahead(reference_engine *e)
{
    engine_conn *c = &e->ahead;
    if (c->open) return c;
    if (!engine_connect(e, c)) return NULL;
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
        if (!e->db.driver->prepare(&c->s, own_names[i], own_texts[i])) engine_lost(e, c);
    for (uint32_t i = 0; e->often && i < e->plan->log->texts.n; i++) {
        guard_poll(e->guard);
        prepare_text(e, c, i);
    }
    return c;
}

static void send_own(reference_engine *e, engine_conn *c, unsigned which, bool last)
{
    if (!e->db.driver->send(&c->s, own_names[which], NULL, NULL, 0, last)) engine_lost(e, c);
}

void engine_sends_txn(reference_engine *e, engine_conn *c, bool serializable, uint32_t txn,
                      bool last)
{
    txn_run r = {.e = e, .c = c, .t = &e->plan->log->txns.at[txn], .txn = txn};
    e->runs++;
    send_own(e, c, serializable, false);
    for (uint32_t i = 0; i < r.t->n_stmts; i++) {
        const char *values = draws_given(e, txn, i);
        if (is_passed_over(&r, i)) continue;
        if (values && !e->db.driver->send(&c->s, NULL, values, NULL, 0, false)) engine_lost(e, c);
        send_one(&r, i, r.t->stmts[i].has_error);
    }
    send_own(e, c, 2, last);
}

run_outcome engine_txn_answered(reference_engine *e, engine_conn *c, uint32_t txn)
{
    txn_run r = {.e = e, .c = c, .t = &e->plan->log->txns.at[txn], .txn = txn};
    run_outcome o = {0};
    bool begun = finished(e, c, awaited(e, c));
    for (uint32_t i = 0; i < r.t->n_stmts; i++) {
        if (is_passed_over(&r, i)) continue;
        if (draws_are_given(e, txn, i)) begun &= finished(e, c, awaited(e, c));
        enum db_answer a = awaited(e, c);
        check_answer(e, c, a);
        if (begun && o.how == ANSWERS_AGREE) o = judge(&r, i, a);
    }
    bool done = finished(e, c, awaited(e, c));
    if (begun && (done || o.how != ANSWERS_AGREE)) return o;
    return (run_outcome){ANSWERS_UNSURE, r.t->n_stmts, false, "the commit fails"};
}

/* Fails in a transaction that failed, where nothing is drawn. */
static void give_draws(txn_run *r, uint32_t stmt)
{
    const char *values = draws_given(r->e, r->txn, stmt);
    if (values) engine_does(r->e, r->c, values);
    insert_id_give(r->e, r->c, r->txn, stmt);
    my_clock_give(r->e, r->c, r->txn, stmt);
}

run_outcome engine_run_statement(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt)
{
    txn_run r = {.e = e, .c = c, .t = &e->plan->log->txns.at[txn], .txn = txn};
    if (is_passed_over(&r, stmt)) return (run_outcome){.stmt = stmt};
    give_draws(&r, stmt);
    send_one(&r, stmt, true);
    return judge(&r, stmt, awaited(e, c));
}

void engine_sends_statement(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt)
{
    txn_run r = {.e = e, .c = c, .t = &e->plan->log->txns.at[txn], .txn = txn};
    give_draws(&r, stmt);
    send_one(&r, stmt, true);
}

bool engine_statement_answered(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt,
                               int wait_ms, run_outcome *o)
{
    txn_run r = {.e = e, .c = c, .t = &e->plan->log->txns.at[txn], .txn = txn};
    bool pending;
    enum db_answer a = e->db.driver->receive(&c->s, wait_ms, &pending);
    if (!pending) *o = judge(&r, stmt, a);
    return !pending;
}

bool engine_answered(reference_engine *e, engine_conn *c, int wait_ms, bool *done)
{
    bool pending;
    enum db_answer a = e->db.driver->receive(&c->s, wait_ms, &pending);
    if (!pending) *done = finished(e, c, a);
    return !pending;
}

bool engine_txn_reads_only(const reference_engine *e, uint32_t txn)
{
    const log_txn *t = &e->plan->log->txns.at[txn];
    if (e->has_routines) return false;
    for (uint32_t i = 0; i < t->n_stmts; i++)
        if (!e->words[t->stmts[i].text].only_reads) return false;
    return true;
}

/* Rows that constants choose on one snapshot and not on a later one were written in between, and
   the engine refuses to write them: as many rows as the log has are the same rows. */
bool engine_txn_by_key(const reference_engine *e, uint32_t txn)
{
    const log_txn *t = &e->plan->log->txns.at[txn];
    if (e->has_routines) return false;
    for (uint32_t i = 0; i < t->n_stmts; i++) {
        const statement_words *w = &e->words[t->stmts[i].text];
        if (w->only_reads || w->is_savepoint) continue;
        if (!w->by_key || !(t->stmts[i].has_count || t->stmts[i].has_rows)) return false;
    }
    return true;
}

/* An error after which nothing rolls back to a savepoint ends a transaction of PostgreSQL. */
static bool fails_for_good(const reference_engine *e, const log_txn *t, uint32_t stmt)
{
    if (e->kind != ENGINE_POSTGRES || !t->stmts[stmt].has_error) return false;
    for (uint32_t i = stmt + 1; i < t->n_stmts; i++)
        if (e->words[t->stmts[i].text].rolls_back) return false;
    return true;
}

bool engine_hides_parameters(const reference_engine *e, const log_stmt *s)
{
    const log_text *t = &e->plan->log->texts.at[s->text];
    if (e->kind != ENGINE_MARIADB || !s->n_params) return false;
    for (uint32_t i = 0; i < t->n; i++) {
        bool two = i + 1 < t->n;
        if (t->at[i] == '\\' || t->at[i] == '#') return true;
        if (two && t->at[i] == '-' && t->at[i + 1] == '-') return true;
        if (two && t->at[i] == '/' && t->at[i + 1] == '*') return true;
    }
    return false;
}

/* They become part of an INSERT as they are. */
static bool names_are_plain(const log_rows *r, size_t n)
{
    bool plain = true;
    for (size_t i = 0; i < n && plain; i++) {
        plain = is_plain_object_name(r[i].table);
        for (uint32_t k = 0; r[i].columns && k < r[i].n_cols && plain; k++)
            plain = is_plain_object_name(r[i].columns[k]);
    }
    return plain;
}

const char *engine_refuses(reference_engine *e, uint32_t *txn, uint32_t *stmt)
{
    const sql_log *l = e->plan->log;
    statement_words *words = mem_array0(e->mem, statement_words, l->texts.n + 1);
    bool by_url = e->kind == ENGINE_POSTGRES && !e->db.temp.running;
    e->words = words;
    for (size_t i = 0; i < l->texts.n; i++) {
        words[i] = words_of_statement(l->texts.at[i].at, l->texts.at[i].n);
        if (!words[i].beyond && (e->kind == ENGINE_MARIADB || by_url))
            words[i].beyond = words_beyond(l->texts.at[i].at, l->texts.at[i].n, !by_url);
        e->has_routines |= words[i].has_routine;
        words[i].asks_session &= l->dialect == DIALECT_MYSQL;
        if (words[i].asks_session) continue;
        if (words[i].draws && !e->draws) e->draws = l->texts.at[i].at;
        e->draws_other |= words[i].draws_other;
    }
    bool *often = mem_array0(e->mem, bool, l->texts.n + 1), changes = false;
    uint32_t *times = mem_array0(e->mem, uint32_t, l->texts.n + 1);
    for (uint32_t i = 0; i < l->txns.n; i++)
        for (uint32_t k = 0; k < l->txns.at[i].n_stmts; k++) {
            uint32_t text = l->txns.at[i].stmts[k].text;
            changes |= words[text].changes_schema;
            often[text] = ++times[text] > OFTEN && words[text].plain;
        }
    e->often = changes ? NULL : often;
    *txn = *stmt = UINT32_MAX;
    size_t n_setup;
    const log_stmt *setup = engine_setup(e, &n_setup);
    for (size_t i = 0; i < n_setup; i++) {
        if (words[setup[i].text].beyond) return words[setup[i].text].beyond;
        if (engine_hides_parameters(e, &setup[i]))
            return "a text of the setup has a backslash or a comment beside parameters";
        e->setup_draws |= words[setup[i].text].draws;
    }
    if (!names_are_plain(l->rows.at, l->rows.n) ||
        !names_are_plain(l->native.rows.at, l->native.rows.n))
        return "rows of the initial state have something else than a name for their table";
    for (uint32_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        if (t->status != LOG_COMMITTED) continue;
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const statement_words *w = &words[t->stmts[k].text];
            *txn = i;
            *stmt = k;
            if (w->beyond) return w->beyond;
            if (engine_hides_parameters(e, &t->stmts[k]))
                return "its text has a backslash or a comment beside parameters";
            if (w->ends) return "transactions are begun and ended by the reference";
            if (fails_for_good(e, t, k))
                return "PostgreSQL does not commit a transaction with a failed statement";
        }
    }
    *txn = *stmt = UINT32_MAX;
    return NULL;
}
