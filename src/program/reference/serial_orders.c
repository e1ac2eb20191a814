/*
 * serial_orders.c - see serial_orders.h.
 *
 * Transactions are placed one after the other within one transaction that is rolled back, each
 * behind a savepoint; one whose answers differ is taken back at once.  What can follow depends only
 * on which transactions were placed and on the contents of the tables: where both were met before,
 * the search has been there.  So transactions that do not disturb each other cost no orders.  Each
 * different row has a number, so that contents are compared exactly.  One
 * that only reads is placed as soon as it agrees.  The order of the log's commits is tried first.
 */
#include "reference/serial_orders.h"

#include <assert.h>
#include <stdio.h>

#include "base/map.h"
#include "base/sort.h"

enum { CONTENT_ROWS = 2000, KEPT_NUMBERS = 1 << 24, RUNS = 20000, RUNS_IN_VAIN = 3000 };

typedef struct span_of_kept {
    uint32_t at, n;
} span_of_kept;

typedef struct serial_search {
    snapshot_replay *r;
    engine_conn *c;
    uint32_t *placed, n;      /* positions of the given order */
    bool *used;               /* by position */
    VEC(const char *) tables; /* queries of their rows */
    bool keeps_places;        /* the tables can be compared */
    id_index row_index;
    VEC(span_of_kept) rows; /* texts of different rows */
    strbuf texts;
    id_index met_index;
    VEC(span_of_kept) met; /* what was placed, and the numbers of the rows that were there then */
    VEC(uint32_t) kept;
    VEC(uint64_t) here;
    strbuf row;
    uint64_t runs_left;
    const char *open; /* why nothing is proved, or NULL */
} serial_search;

/* ---- what was there before ------------------------------------------------------------------- */

static const char postgres_tables[] =
    "SELECT 'SELECT t.* FROM ' || c.oid::regclass::text || ' t' FROM pg_class c JOIN "
    "pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' "
    "AND n.nspname <> 'information_schema'";
static const char mariadb_tables[] =
    "SELECT concat('SELECT * FROM `', table_name, '`') FROM information_schema.tables WHERE "
    "table_schema = database() AND table_type = 'BASE TABLE' AND NOT EXISTS (SELECT 1 FROM "
    "information_schema.columns WHERE table_schema = database() AND data_type = 'float')";
static const char sqlite_tables[] =
    "SELECT 'SELECT * FROM \"' || replace(name, '\"', '\"\"') || '\"' FROM sqlite_master WHERE "
    "type = 'table'";
static const char *const table_queries[] = {[ENGINE_POSTGRES] = postgres_tables,
                                            [ENGINE_MARIADB] = mariadb_tables,
                                            [ENGINE_SQLITE] = sqlite_tables};

static void find_tables(serial_search *s)
{
    reference_engine *e = s->r->e;
    const sql_log *l = e->plan->log;
    s->keeps_places = !e->draws && engine_does(e, s->c, table_queries[e->kind]);
    for (uint32_t i = 0; i < l->txns.n && s->keeps_places; i++)
        for (uint32_t k = 0; k < l->txns.at[i].n_stmts; k++)
            s->keeps_places &= !e->words[l->txns.at[i].stmts[k].text].changes_schema;
    for (uint32_t i = 0; s->keeps_places && i < s->c->s.n_rows; i++) {
        const db_cell *d = &s->c->s.cells.at[i];
        char *text = mem_get(e->mem, d->n + 1);
        memcpy(text, s->c->s.text.at + d->at, d->n + 1);
        vec_push(e->mem, &s->tables, (const char *)text);
    }
    s->keeps_places &= s->tables.n > 0; /* (MariaDB shows a float with fewer digits than it has) */
}

/* A number of SQLite's is shown with fewer digits than it may have. */
static bool is_exact(const serial_search *s, const db_session *rows, const db_cell *d)
{
    if (s->r->e->kind != ENGINE_SQLITE || d->kind != DB_NUMBER) return true;
    return !memchr(rows->text.at + d->at, '.', d->n) && !memchr(rows->text.at + d->at, 'e', d->n);
}

/* The row's number; the same text in the same table has the same one. */
static uint32_t row_number(serial_search *s, const db_session *rows, uint32_t row, uint32_t table)
{
    mem *m = s->r->e->mem;
    s->row.n = 0;
    strbuf_u64(&s->row, table);
    for (uint32_t i = 0; i < rows->n_cols; i++) {
        const db_cell *d = &rows->cells.at[(size_t)row * rows->n_cols + i];
        bool null = d->at == UINT32_MAX;
        strbuf_printf(&s->row, null ? ",-" : ",%u:", (unsigned)d->n);
        if (null) continue;
        strbuf_add(&s->row, rows->text.at + d->at, d->n);
        s->keeps_places &= is_exact(s, rows, d);
    }
    uint64_t h = hash_bytes(s->row.at, s->row.n, hash_secret(s));
    for (index_walk w = id_index_walk(&s->row_index, h); id_index_next(&s->row_index, &w);) {
        const span_of_kept *o = &s->rows.at[w.id];
        if (o->n == s->row.n && !memcmp(s->texts.at + o->at, s->row.at, o->n)) return w.id;
    }
    uint32_t id = (uint32_t)s->rows.n;
    vec_push(m, &s->rows, ((span_of_kept){(uint32_t)s->texts.n, (uint32_t)s->row.n}));
    strbuf_add(&s->texts, s->row.at, s->row.n);
    id_index_add(m, &s->row_index, h, id);
    s->keeps_places &= s->texts.n < KEPT_NUMBERS;
    return id;
}

/* What was placed and what the tables hold, in s->here; false: it cannot be told. */
static bool look_around(serial_search *s)
{
    reference_engine *e = s->r->e;
    s->here.n = 0;
    for (uint32_t t = 0; t < s->tables.n && s->keeps_places; t++) {
        if (!engine_does(e, s->c, s->tables.at[t])) engine_lost(e, s->c);
        s->keeps_places = s->here.n + s->c->s.n_rows <= CONTENT_ROWS;
        for (uint32_t i = 0; i < s->c->s.n_rows && s->keeps_places; i++)
            vec_push(e->mem, &s->here, (uint64_t)row_number(s, &s->c->s, i, t) + s->r->n);
    }
    if (!s->keeps_places) return false;
    for (uint32_t i = 0; i < s->n; i++) vec_push(e->mem, &s->here, (uint64_t)s->placed[i]);
    sort_u64(s->here.at, s->here.n);
    return true;
}

/* Was the search here before?  Else it will have been. */
static bool was_here(serial_search *s)
{
    mem *m = s->r->e->mem;
    if (!s->keeps_places || !look_around(s)) return false;
    size_t n = s->here.n;
    uint64_t h = hash_bytes(s->here.at, n * sizeof *s->here.at, hash_secret(s));
    for (index_walk w = id_index_walk(&s->met_index, h); id_index_next(&s->met_index, &w);) {
        const span_of_kept *o = &s->met.at[w.id];
        size_t i = 0;
        while (o->n == n && i < n && s->kept.at[o->at + i] == (uint32_t)s->here.at[i]) i++;
        if (o->n == n && i == n) return true;
    }
    s->keeps_places = s->kept.n + n < KEPT_NUMBERS;
    if (!s->keeps_places) return false;
    id_index_add(m, &s->met_index, h, (uint32_t)s->met.n);
    vec_push(m, &s->met, ((span_of_kept){(uint32_t)s->kept.n, (uint32_t)n}));
    for (size_t i = 0; i < n; i++) vec_push(m, &s->kept, (uint32_t)s->here.at[i]);
    return false;
}

/* ---- the search ------------------------------------------------------------------------------ */

static bool may_come_next(const serial_search *s, uint32_t i)
{
    const audit_schedule *plan = s->r->e->plan;
    uint32_t x = s->r->order[i];
    for (uint32_t k = 0; k < s->r->n; k++) {
        uint32_t y = s->r->order[k];
        if (k == i || s->used[k]) continue;
        if (y < x && plan->log->txns.at[y].session == plan->log->txns.at[x].session) return false;
        if (plan->strict && surely_seen(plan, y, x)) return false;
    }
    return true;
}

/* An answer that differs may be one of several right ones. */
static void note_outcome(serial_search *s, uint32_t txn, const run_outcome *o)
{
    const reference_engine *e = s->r->e;
    const log_txn *t = &e->plan->log->txns.at[txn];
    bool picks = o->stmt < t->n_stmts && e->words[t->stmts[o->stmt].text].picks;
    if (o->how == ANSWERS_UNSURE) s->open = "an answer differs in a way that proves nothing";
    if (o->how == ANSWERS_DIFFER && picks)
        s->open = "a statement lets the engine choose among rows or orders";
    if (o->how == ANSWERS_CONFLICT) s->open = "the engine refuses a transaction";
}

static void place(serial_search *s, uint32_t i, bool there)
{
    s->used[i] = there;
    assert(there || s->n);
    if (there)
        s->placed[s->n++] = i;
    else
        s->n--;
}

/* Executes a transaction behind the mark of this depth. */
static bool agrees_next(serial_search *s, uint32_t i)
{
    char mark[48];
    const char *first[] = {mark, NULL};
    s->runs_left--;
    snprintf(mark, sizeof mark, "SAVEPOINT ratel_place_%u", (unsigned)s->n);
    run_outcome o = engine_run_txn(s->r->e, s->c, first, s->r->order[i]);
    note_outcome(s, s->r->order[i], &o);
    /* an order may still be found, but that there is none is no longer to be shown */
    if (s->open && s->runs_left > RUNS_IN_VAIN) s->runs_left = RUNS_IN_VAIN;
    return o.how == ANSWERS_AGREE;
}

static void take_back(serial_search *s)
{
    char back[64];
    snprintf(back, sizeof back, "ROLLBACK TO SAVEPOINT ratel_place_%u", (unsigned)s->n);
    if (!engine_does(s->r->e, s->c, back)) engine_lost(s->r->e, s->c);
}

static bool place_next(serial_search *s);

static bool place_and_go_on(serial_search *s, uint32_t i)
{
    place(s, i, true);
    if (place_next(s)) return true;
    place(s, i, false);
    take_back(s);
    return false;
}

/* One that only reads and agrees here may come here in every order that goes on from here: nobody
   misses it later.  `reads`: such ones, else the others. */
static bool try_those_that(serial_search *s, bool reads, bool *placed)
{
    for (uint32_t i = 0; i < s->r->n; i++) {
        if (s->used[i] || engine_txn_reads_only(s->r->e, s->r->order[i]) != reads) continue;
        if (!may_come_next(s, i)) continue;
        if (!s->runs_left) {
            s->open = "there are too many orders to try";
            return false;
        }
        if (!agrees_next(s, i)) {
            take_back(s);
            continue;
        }
        *placed = true;
        if (place_and_go_on(s, i)) return true;
        if (reads) return false;
    }
    return false;
}

static bool place_next(serial_search *s)
{
    bool placed = false;
    if (s->n == s->r->n) return true;
    if (s->n && was_here(s)) return false;
    if (try_those_that(s, true, &placed)) return true;
    return !placed && try_those_that(s, false, &placed);
}

/* What all of them leave behind in the one transaction, or may write otherwise. */
static const char *why_open(const snapshot_replay *r)
{
    const reference_engine *e = r->e;
    for (uint32_t i = 0; i < r->n; i++) {
        const log_txn *t = &e->plan->log->txns.at[r->order[i]];
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const statement_words *w = &e->words[t->stmts[k].text];
            if (w->is_setting && !w->sets_level) return "a setting would outlast its transaction";
            if (w->picks && (!(w->only_reads || w->locks_only) || e->has_routines))
                return "a write may have changed other rows than it does in the engine";
        }
    }
    return NULL;
}

orders_end find_serial_order(snapshot_replay *r, const char **why)
{
    reference_engine *e = r->e;
    serial_search s = {.r = r, .runs_left = RUNS};
    *why = "transactions of this log cannot be executed within one";
    if (!engine_stays_in_a_transaction(e)) return ORDERS_OPEN;
    if (!engine_begin_pass(e)) guard_fail(e->guard, GUARD_HISTORY, "%s", e->why);
    s.c = engine_session(e, r->order[0]);
    if (!s.c) guard_fail(e->guard, GUARD_IO, "%s", e->why);
    s.placed = mem_array(e->mem, uint32_t, r->n + 1);
    s.used = mem_array0(e->mem, bool, r->n + 1);
    strbuf_init(&s.texts, e->mem);
    strbuf_init(&s.row, e->mem);
    find_tables(&s);
    if (!engine_does(e, s.c, e->kind == ENGINE_MARIADB ? "START TRANSACTION" : "BEGIN"))
        engine_lost(e, s.c);
    s.open = why_open(r);
    e->patient = true;
    bool found = place_next(&s);
    e->patient = false;
    engine_rollback(e, s.c);
    *why = s.open;
    if (!found) return s.open ? ORDERS_OPEN : ORDERS_NONE;
    uint32_t *order = mem_array(e->mem, uint32_t, r->n + 1);
    for (uint32_t i = 0; i < r->n; i++) order[i] = r->order[s.placed[i]];
    memcpy(r->order, order, r->n * sizeof *r->order);
    return ORDERS_FOUND;
}
