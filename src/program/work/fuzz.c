/*
 * fuzz.c - the workload sql-fuzz: schema, statements, and what happens between transactions.
 *
 * Every choice is drawn from the session's generator, so with a stepwise schedule a seed repeats
 * the log.  Rows have small ids and small values, so that conflicts, failing constraints and
 * predicates that gain and lose rows are common.  All queries have an order, and all texts are in
 * the part of PostgreSQL's grammar that audit replays; what an engine lacks of it is left out.
 */
#include "work/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

enum { IDS = FUZZ_IDS, VALUES = 6, TEXT = 400 };

/* --- the schema ------------------------------------------------------------------------------- */

const char *fuzz_dialect(const db *d)
{
    static const char *const by_adapter[][2] = {
        {"postgres", "postgres"}, {"mariadb", "mysql"}, {"sqlite", "sqlite"}};
    static const char *const by_version[][2] = {{"DuckDB", "duckdb"},   {"PostgreSQL", "postgres"},
                                                {"PGlite", "postgres"}, {"SQLite", "sqlite"},
                                                {"libSQL", "sqlite"},   {"Turso", "sqlite"},
                                                {"MariaDB", "mysql"},   {"MySQL", "mysql"}};
    d = db_inner(d);
    for (size_t i = 0; i < sizeof by_adapter / sizeof *by_adapter; i++)
        if (!strcmp(by_adapter[i][0], d->driver->name)) return by_adapter[i][1];
    for (size_t i = 0; i < sizeof by_version / sizeof *by_version; i++)
        if (!strncmp(by_version[i][0], d->version, strlen(by_version[i][0])))
            return by_version[i][1];
    return "generic";
}

void fuzz_draw(fuzz *f, db *d, enum sql_drawn kind, uint64_t seed)
{
    rng g;
    rng_seed(&g, seed ^ 0x66757a7au);
    f->db = d;
    f->kind = kind;
    f->dialect = fuzz_dialect(d);
    f->tables = 2 + rng_below(&g, FUZZ_TABLES - 1);
    if (kind == SQL_CURSORS) f->tables = FUZZ_TABLES; /* one that neither cursor is open on */
    for (uint32_t i = 0; i < f->tables; i++)
        f->table[i] = (fuzz_table){.unique = rng_below(&g, 2),
                                   .references = i && rng_below(&g, 3),
                                   .indexed = rng_below(&g, 4),
                                   .indexed_pair = rng_below(&g, 2)};
    /* The other kinds need no luck to have something to find their rows by. */
    bool keys = kind == SQL_CONSTRAINTS;
    for (uint32_t i = 0; kind != SQL_ALL && i < f->tables; i++)
        f->table[i] = (fuzz_table){
            .indexed = true, .unique = keys || (kind == SQL_UPSERTS && i), .references = keys && i};
    f->own_commit = !strcmp(f->dialect, "sqlite") && !strcmp(db_inner(d)->driver->name, "sqlite");
}

void fuzz_setup(const fuzz *f, strbuf *o)
{
    for (uint32_t i = 0; i < f->tables; i++) {
        const fuzz_table *t = &f->table[i];
        strbuf_printf(
            o,
            "CREATE TABLE t%u (id int PRIMARY KEY, a int NOT NULL, b int NOT NULL, u int, "
            "p int%s%s)\n",
            i, t->unique ? ", UNIQUE (u)" : "",
            t->references ? ", FOREIGN KEY (p) REFERENCES t0 (id)" : "");
        if (t->indexed) strbuf_printf(o, "CREATE INDEX t%u_a ON t%u (a)\n", i, i);
        if (t->indexed_pair) strbuf_printf(o, "CREATE INDEX t%u_ab ON t%u (a, b)\n", i, i);
        for (uint32_t k = 1; k <= IDS / 2; k++)
            strbuf_printf(o, "INSERT INTO t%u VALUES (%u, %u, %u, %u, %u)\n", i, k, k % VALUES, k,
                          k, 1 + k % 3);
    }
    strbuf_str(o, "CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL)\n");
    for (uint32_t k = 1; k <= FUZZ_COUNTERS; k++)
        strbuf_printf(o, "INSERT INTO counters VALUES (%u, 0)\n", k);
    strbuf_str(o, "CREATE TABLE accounts (id int PRIMARY KEY, bal int NOT NULL)\n");
    for (uint32_t k = 1; k <= FUZZ_ACCOUNTS; k++)
        strbuf_printf(o, "INSERT INTO accounts VALUES (%u, %d)\n", k, FUZZ_MONEY);
}

/* --- what the engine has ---------------------------------------------------------------------- */

static enum db_answer unlogged(sql_session *s, const char *text)
{
    return s->db.db->driver->query(&s->db, text, NULL, 0);
}

void fuzz_connected(sql_session *s)
{
    if (!strcmp(s->fuzz->dialect, "sqlite")) unlogged(s, "PRAGMA foreign_keys = ON");
}

/* Statements of one transaction, which is rolled back; did all of them succeed? */
static bool all_succeed(sql_session *s, const char *const *texts)
{
    const driver *d = s->db.db->driver;
    s->db.isolation = s->db.db->isolation;
    enum db_answer a = d->begin(&s->db);
    for (; a == DB_OK && *texts; texts++) a = unlogged(s, *texts);
    if (d->abort(&s->db) == DB_LOST) {
        d->disconnect(&s->db);
        if (d->connect(&s->db) == DB_OK) fuzz_connected(s);
    }
    return a == DB_OK;
}

void fuzz_probe(fuzz *f, sql_session *s)
{
    static const struct {
        enum fuzz_feature feature;
        const char *texts[4];
    } probes[] = {
        {FUZZ_SAVEPOINTS,
         {"SAVEPOINT s1", "ROLLBACK TO SAVEPOINT s1", "RELEASE SAVEPOINT s1", NULL}},
        {FUZZ_UPSERTS,
         {"INSERT INTO t0 VALUES (1, 1, 1, 1, 1) ON CONFLICT (id) DO UPDATE SET b = excluded.b",
          NULL}},
        {FUZZ_RETURNING,
         {"UPDATE counters SET n = n WHERE id = 1 RETURNING n",
          "DELETE FROM t0 WHERE id = 11 RETURNING id, a", NULL}},
        {FUZZ_ROW_LOCKS, {"SELECT id, a FROM t0 WHERE id = 1 FOR UPDATE", NULL}},
        {FUZZ_CURSORS,
         {"DECLARE c1 CURSOR FOR SELECT id FROM t0 ORDER BY id", "FETCH 1 FROM c1", "CLOSE c1",
          NULL}},
    };
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        if (all_succeed(s, probes[i].texts)) f->features |= probes[i].feature;
    /* A reference that is not enforced is no invariant. */
    bool enforced = false;
    for (uint32_t i = 1; i < f->tables; i++) {
        char text[80];
        snprintf(text, sizeof text, "INSERT INTO t%u VALUES (77, 1, 1, 77, 99)", i);
        const char *const texts[] = {text, NULL};
        if (f->table[i].references) enforced = !all_succeed(s, texts);
    }
    if (enforced) f->features |= FUZZ_FOREIGN_KEYS;
}

/* --- statements ------------------------------------------------------------------------------- */

static uint32_t some_id(sql_session *s)
{
    return 1 + sql_below(s, IDS);
}

static bool has(const sql_session *s, enum fuzz_feature feature)
{
    return (s->fuzz->features & (unsigned)feature) != 0;
}

/* RETURNING for half of the writes, where there is such a thing. */
static const char *returning(sql_session *s, const char *columns)
{
    return has(s, FUZZ_RETURNING) && sql_chance(s, 0.5) ? columns : "";
}

static void draw_query(sql_session *s, char *q, uint32_t t)
{
    uint32_t v = sql_below(s, VALUES), k = some_id(s);
    switch (sql_below(s, 7)) {
    case 0: snprintf(q, TEXT, "SELECT id, a, b, u FROM t%u WHERE id = %u", t, k); break;
    case 1:
        snprintf(q, TEXT, "SELECT id, a FROM t%u WHERE id >= %u AND id < %u ORDER BY id", t, k,
                 k + 1 + sql_below(s, 6));
        break;
    case 2: snprintf(q, TEXT, "SELECT id, b FROM t%u WHERE a = %u ORDER BY id", t, v); break;
    case 3:
        snprintf(q, TEXT, "SELECT count(*), sum(b), min(a), max(id) FROM t%u WHERE a >= %u", t, v);
        break;
    case 4: snprintf(q, TEXT, "SELECT a, count(*) FROM t%u GROUP BY a ORDER BY a", t); break;
    case 5:
        snprintf(q, TEXT,
                 "SELECT x.id, y.a, y.b FROM t%u x JOIN t0 y ON y.id = x.p WHERE x.a >= %u "
                 "ORDER BY x.id",
                 t, v);
        break;
    default:
        snprintf(q, TEXT, "SELECT id, bal FROM accounts WHERE id <= %u ORDER BY id", k);
        if (has(s, FUZZ_ROW_LOCKS) && sql_chance(s, 0.5))
            snprintf(q, TEXT, "SELECT id, a FROM t%u WHERE id = %u FOR UPDATE", t, k);
    }
}

static void draw_insert(sql_session *s, char *q, uint32_t t)
{
    uint32_t k = some_id(s), a = sql_below(s, VALUES), b = sql_below(s, 10), u = some_id(s);
    int n =
        snprintf(q, TEXT, "INSERT INTO t%u VALUES (%u, %u, %u, %u, %u)", t, k, a, b, u, some_id(s));
    if (has(s, FUZZ_UPSERTS) && sql_chance(s, 0.3))
        snprintf(q + n, (size_t)(TEXT - n),
                 " ON CONFLICT (id) DO UPDATE SET a = excluded.a, b = t%u.b + 1", t);
}

static void draw_change(sql_session *s, char *q, uint32_t t)
{
    uint32_t k = some_id(s), v = sql_below(s, VALUES), w = sql_below(s, VALUES);
    switch (sql_below(s, 7)) {
    case 0: snprintf(q, TEXT, "UPDATE t%u SET b = b + 1 WHERE a = %u", t, v); break;
    case 1: snprintf(q, TEXT, "UPDATE t%u SET a = %u WHERE id = %u", t, v, k); break;
    case 2: snprintf(q, TEXT, "UPDATE t%u SET a = %u, b = b + 2 WHERE a = %u", t, v, w); break;
    case 3: snprintf(q, TEXT, "UPDATE t%u SET u = %u WHERE id = %u", t, some_id(s), k); break;
    case 4: snprintf(q, TEXT, "UPDATE t%u SET id = %u WHERE id = %u", t, some_id(s), k); break;
    case 5: snprintf(q, TEXT, "DELETE FROM t%u WHERE id = %u", t, k); break;
    default: snprintf(q, TEXT, "DELETE FROM t%u WHERE a = %u AND b < %u", t, v, sql_below(s, 12));
    }
    const char *more = returning(s, " RETURNING id, a, b");
    strncat(q, more, TEXT - strlen(q) - 1);
}

/* An error that the workload brings about: a constraint; the transaction may go on, perhaps. */
bool fuzz_is_constraint(const sql_session *s)
{
    return !strncmp(s->db.state, "23", 2);
}

static void note_odd_error(sql_session *s, const char *text)
{
    fuzz *f = s->fuzz;
    if (!atomic_fetch_add(&f->odd_errors, 1))
        snprintf(f->odd_error, sizeof f->odd_error, "%.200s: %.250s", text, s->db.error);
}

enum db_answer fuzz_execute(sql_session *s, const char *text)
{
    enum db_answer a = sql_do(s, text, "");
    if (a == DB_OK || a == DB_LOST) return a;
    if (a == DB_BROKEN && !fuzz_is_constraint(s)) note_odd_error(s, text);
    return DB_REFUSED;
}

static enum db_answer count_up(sql_session *s)
{
    char q[TEXT];
    uint32_t k = sql_below(s, FUZZ_COUNTERS);
    snprintf(q, TEXT, "UPDATE counters SET n = n + 1 WHERE id = %u%s", k + 1,
             returning(s, " RETURNING n"));
    enum db_answer a = fuzz_execute(s, q);
    if (a == DB_OK || a == DB_LOST) s->increments[k]++;
    return a;
}

static enum db_answer transfer(sql_session *s)
{
    char q[TEXT];
    uint32_t from = 1 + sql_below(s, FUZZ_ACCOUNTS), to = 1 + sql_below(s, FUZZ_ACCOUNTS);
    uint32_t sum = 1 + sql_below(s, 20);
    const char *more = returning(s, " RETURNING bal");
    snprintf(q, TEXT, "UPDATE accounts SET bal = bal - %u WHERE id = %u%s", sum, from, more);
    enum db_answer a = fuzz_execute(s, q);
    snprintf(q, TEXT, "UPDATE accounts SET bal = bal + %u WHERE id = %u%s", sum, to, more);
    if (a == DB_OK) a = fuzz_execute(s, q);
    /* Half a transfer must not be committed, also where a failed statement did nothing. */
    s->half_done = s->half_done || a != DB_OK;
    return a;
}

/* By the value of a column, which others change: what is found, and how much was changed. */
static enum db_answer by_predicate(sql_session *s)
{
    char q[TEXT] = "";
    uint32_t t = sql_below(s, s->fuzz->tables), v = sql_below(s, VALUES), w = sql_below(s, VALUES);
    switch (sql_below(s, 8)) {
    case 0: snprintf(q, TEXT, "SELECT id, b FROM t%u WHERE a = %u ORDER BY id", t, v); break;
    case 1: snprintf(q, TEXT, "SELECT count(*), sum(b) FROM t%u WHERE a >= %u", t, v); break;
    case 2:
        snprintf(q, TEXT, "SELECT id, a FROM t%u WHERE a %% 3 = %u ORDER BY id", t, v % 3);
        break;
    case 3: snprintf(q, TEXT, "UPDATE t%u SET b = b + 1 WHERE a = %u", t, v); break;
    case 4: snprintf(q, TEXT, "UPDATE t%u SET a = %u WHERE a = %u", t, v, w); break;
    case 5: snprintf(q, TEXT, "UPDATE t%u SET a = %u WHERE id = %u", t, v, some_id(s)); break;
    case 6: snprintf(q, TEXT, "DELETE FROM t%u WHERE a = %u AND b >= %u", t, v, 1 + w); break;
    default: draw_insert(s, q, t);
    }
    return fuzz_execute(s, q);
}

/* The first six ids are there at first and never deleted: an INSERT of one has to fail. */
static enum db_answer by_upsert(sql_session *s)
{
    char q[TEXT] = "";
    uint32_t t = sql_below(s, s->fuzz->tables), k = some_id(s), b = sql_below(s, 10);
    const char *more = has(s, FUZZ_RETURNING) ? " RETURNING id, b" : "";
    switch (sql_below(s, 6)) {
    case 0: return count_up(s);
    case 1: snprintf(q, TEXT, "SELECT id, b FROM t%u WHERE id = %u", t, k); break;
    case 2:
        snprintf(q, TEXT, "INSERT INTO t%u VALUES (%u, 1, %u, %u, 1)", t, 1 + k % (IDS / 2), b, k);
        break;
    case 3: snprintf(q, TEXT, "UPDATE t%u SET b = b + 1 WHERE id = %u%s", t, k, more); break;
    default:
        if (has(s, FUZZ_UPSERTS))
            snprintf(q, TEXT,
                     "INSERT INTO t%u VALUES (%u, 1, %u, %u, 1) ON CONFLICT (id) DO UPDATE SET b = "
                     "t%u.b + 1%s",
                     t, k, b, k, t, more);
        else
            snprintf(q, TEXT, "INSERT INTO t%u VALUES (%u, 1, %u, %u, 1)", t, k, b, k);
    }
    return fuzz_execute(s, q);
}

/* Rows of t1 and t2 come and go and refer to rows of t0, which come, go and get other keys; columns
   u take values that others may have given up.  Each transaction by itself breaks nothing. */
static enum db_answer by_constraint(sql_session *s)
{
    char q[TEXT] = "";
    uint32_t t = 1 + sql_below(s, s->fuzz->tables - 1), k = some_id(s),
             n = 1 + sql_below(s, IDS / 2);
    switch (sql_below(s, 16)) {
    case 0: snprintf(q, TEXT, "SELECT id, a, u FROM t0 WHERE id = %u", n); break;
    case 1: snprintf(q, TEXT, "SELECT id, u FROM t%u WHERE p = %u ORDER BY id", t, n); break;
    case 2: snprintf(q, TEXT, "UPDATE t0 SET b = b + 1 WHERE id = %u", n); break;
    case 3: snprintf(q, TEXT, "UPDATE t0 SET id = %u WHERE id = %u", k, n); break;
    case 4: snprintf(q, TEXT, "UPDATE t%u SET u = %u WHERE id = %u", t, some_id(s), k); break;
    case 5: snprintf(q, TEXT, "UPDATE t%u SET p = %u WHERE id = %u", t, n, k); break;
    case 6:
    case 7:
    case 8: snprintf(q, TEXT, "DELETE FROM t0 WHERE id = %u", n); break;
    case 9:
    case 10: snprintf(q, TEXT, "INSERT INTO t0 VALUES (%u, 1, 1, %u, 1)", n, some_id(s)); break;
    case 11:
    case 12: snprintf(q, TEXT, "DELETE FROM t%u WHERE p = %u", t, n); break;
    default: snprintf(q, TEXT, "INSERT INTO t%u VALUES (%u, 1, 1, %u, %u)", t, k, some_id(s), n);
    }
    return fuzz_execute(s, q);
}

static enum db_answer one_statement(sql_session *s)
{
    char q[TEXT] = "";
    if (s->fuzz->kind == SQL_PREDICATES) return by_predicate(s);
    if (s->fuzz->kind == SQL_UPSERTS) return by_upsert(s);
    if (s->fuzz->kind == SQL_CONSTRAINTS) return by_constraint(s);
    uint32_t t = sql_below(s, s->fuzz->tables), k = sql_below(s, 20);
    if (k < 3) return count_up(s);
    if (k < 5) return transfer(s);
    if (k < 10)
        draw_query(s, q, t);
    else if (k < 13)
        draw_insert(s, q, t);
    else
        draw_change(s, q, t);
    return fuzz_execute(s, q);
}

/* A failed statement did nothing, and the transaction goes on: so do these. */
bool fuzz_goes_on(const sql_session *s)
{
    const char *name = s->db.db->driver->name;
    return fuzz_is_constraint(s) && !s->half_done &&
           (!strcmp(name, "sqlite") || !strcmp(name, "mariadb"));
}

static enum db_answer within_savepoint(sql_session *s)
{
    uint32_t before[FUZZ_COUNTERS];
    memcpy(before, s->increments, sizeof before);
    bool half = s->half_done;
    enum db_answer a = fuzz_execute(s, "SAVEPOINT s1");
    if (a != DB_OK) return a;
    for (uint32_t n = 1 + sql_below(s, 2); a == DB_OK && n; n--) a = one_statement(s);
    bool failed = a == DB_REFUSED && fuzz_is_constraint(s);
    if (a != DB_OK && !failed) return a;
    if (!failed && sql_chance(s, 0.5)) return fuzz_execute(s, "RELEASE SAVEPOINT s1");
    a = fuzz_execute(s, "ROLLBACK TO SAVEPOINT s1");
    memcpy(s->increments, before, sizeof before);
    s->half_done = half;
    return a;
}

enum db_answer fuzz_transaction(sql_session *s)
{
    enum db_answer a = DB_OK;
    memset(s->increments, 0, sizeof s->increments);
    s->half_done = s->roll_back = false;
    if (s->fuzz->kind == SQL_CURSORS) {
        a = fuzz_with_cursors(s);
        s->roll_back = a == DB_OK && sql_chance(s, 0.1);
        return a;
    }
    /* (Constraints refuse so much that long transactions would hardly ever commit.) */
    uint32_t most = s->fuzz->kind == SQL_CONSTRAINTS ? 2 : 5;
    for (uint32_t n = 1 + sql_below(s, most); a == DB_OK && n; n--) {
        bool nested = has(s, FUZZ_SAVEPOINTS) && sql_chance(s, 0.15);
        a = nested ? within_savepoint(s) : one_statement(s);
        if (a == DB_REFUSED && fuzz_goes_on(s)) a = DB_OK;
    }
    s->roll_back = a == DB_OK && sql_chance(s, 0.1);
    return a;
}

bool fuzz_alone(sql_session *s)
{
    return s->turns && s->fuzz->own_commit && sql_chance(s, 0.15);
}

enum db_answer fuzz_single(sql_session *s)
{
    char q[TEXT] = "";
    memset(s->increments, 0, sizeof s->increments);
    uint32_t t = sql_below(s, s->fuzz->tables);
    if (sql_chance(s, 0.3)) return count_up(s);
    if (sql_chance(s, 0.3))
        draw_query(s, q, t);
    else if (sql_chance(s, 0.4))
        draw_insert(s, q, t);
    else
        draw_change(s, q, t);
    return fuzz_execute(s, q);
}

void fuzz_commits(sql_session *s)
{
    for (uint32_t i = 0; i < FUZZ_COUNTERS; i++)
        atomic_fetch_add(&s->fuzz->sent[i], s->increments[i]);
}

void fuzz_committed(sql_session *s, enum db_answer answer)
{
    for (uint32_t i = 0; i < FUZZ_COUNTERS; i++) {
        if (answer == DB_OK) atomic_fetch_add(&s->fuzz->committed[i], s->increments[i]);
        if (answer == DB_REFUSED) atomic_fetch_sub(&s->fuzz->sent[i], s->increments[i]);
    }
}

/* --- between transactions --------------------------------------------------------------------- */

/* Outside of a transaction where adapters can do that, else in one of its own.  Whether it succeeds
   does not matter: others may hold locks, or the engine has no such thing. */
static void do_between(sql_session *s, const char *text)
{
    const driver *d = s->db.db->driver;
    bool plain = strcmp(db_inner(s->db.db)->driver->name, "exec") != 0;
    s->db.isolation = s->db.db->isolation;
    sql_call_sent(s);
    enum db_answer a = plain ? DB_OK : d->begin(&s->db);
    if (a == DB_OK) a = unlogged(s, text);
    if (a == DB_OK && !plain) a = d->commit(&s->db);
    if (a != DB_OK) d->abort(&s->db);
    sql_call_returned(s, true);
}

static const char *upkeep_of(const sql_session *s, uint32_t k)
{
    static const char *const texts[][5] = {
        {"postgres", "VACUUM t0", "CHECKPOINT", "ANALYZE t1", "REINDEX TABLE t0"},
        /* (ANALYZE would leave a table of its own.) */
        {"sqlite", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)", "REINDEX t0", "REINDEX"},
        {"duckdb", "CHECKPOINT", "VACUUM", "ANALYZE", "CHECKPOINT"},
        {"generic", "CHECKPOINT", "ANALYZE", "CHECKPOINT", "ANALYZE"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i][0], s->fuzz->dialect)) return texts[i][1 + k % 4];
    return NULL; /* MariaDB's wait for tables, without a limit */
}

bool fuzz_maintain(sql_session *s)
{
    if (!sql_chance(s, 0.04)) return true;
    char text[80];
    uint32_t what = sql_below(s, 4), k = sql_below(s, 4), t = sql_below(s, s->fuzz->tables);
    const char *upkeep = upkeep_of(s, k);
    if (!what) return false;
    if (!upkeep) return true;
    if (what == 1) {
        do_between(s, upkeep);
        return true;
    }
    if (k % 2)
        snprintf(text, sizeof text, "DROP INDEX t%u_b", t);
    else
        snprintf(text, sizeof text, "CREATE INDEX t%u_b ON t%u (b)", t, t);
    do_between(s, text);
    return true;
}
