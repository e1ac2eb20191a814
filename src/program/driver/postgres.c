/*
 * postgres.c - PostgreSQL through libpq.
 *
 *   postgres://user@host/db      as libpq takes it; the password from PGPASSWORD or ~/.pgpass
 *   postgres:temp                a temporary server that Ratel starts (temp.h)
 *
 * Traps: COMMIT of a transaction that has failed is no error, its command tag is ROLLBACK.  A
 * connection that ends during COMMIT, and most errors, leave the outcome unknown; errors of
 * serialization (class 40, but not 40003) do not: postgres_errors.def.  The snapshot of repeatable
 * read is taken by the first statement, not by BEGIN.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/adapters.h"

enum { READY_SECONDS = 60 };

/* The UPDATE makes it a conflict that somebody has deleted the row of our snapshot; an INSERT
   alone goes through, and the transaction then sees two rows of one key. */
#define UPSERT(update, insert)                                                                     \
    " WITH u AS (UPDATE ratel_kv SET v=" update " WHERE k=$1 RETURNING 1) "                        \
    "INSERT INTO ratel_kv SELECT $1," insert " WHERE NOT EXISTS(SELECT FROM u) "                   \
    "ON CONFLICT(k) DO UPDATE SET v=" update

static const temp_spec server = {
    .user = "postgres",
    .path = "/usr/lib/postgresql/*/bin",
    .stop = SIGQUIT, /* at once, and it removes its shared memory */
    .lock = "data/postmaster.pid",
    .prepare = {"initdb", "-D", "%d/data", "-U", "ratel", "-A", "trust", "--no-locale", "-E",
                "UTF8", "--no-sync"},
    /* fsync matters when the machine fails, not when we kill the server. */
    .serve = {"postgres", "-D", "%d/data", "-k", "%d", "-c", "listen_addresses=", "-c", "fsync=off",
              "-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c",
              "dynamic_shared_memory_type=mmap", "-c", "deadlock_timeout=20ms", "-c",
              "track_commit_timestamp=on"},
};

/* PostgreSQL quotes what it could not do; the first line will do. */
static void pg_error(char *to, const char *text)
{
    db_fail(to, "%.*s", (int)strcspn(text, "\n"), text);
}

static void silent(void *ud, const char *message)
{
    (void)ud, (void)message;
}

static PGconn *connection(const db *d)
{
    PGconn *c = PQconnectdb(d->address);
    PQsetNoticeProcessor(c, silent, NULL);
    return c;
}

/* A temporary server needs a moment to take connections, after a kill too. */
static PGconn *patiently(db *d)
{
    uint64_t start = clock_now();
    for (;;) {
        PGconn *c = connection(d);
        if (PQstatus(c) == CONNECTION_OK) return c;
        char why[DB_ERROR];
        bool ended = temp_ended(&d->temp, why, sizeof why);
        if (ended || !d->temp.running || clock_now() - start > READY_SECONDS * 1000000000ull) {
            pg_error(d->error, ended ? why : PQerrorMessage(c));
            PQfinish(c);
            return NULL;
        }
        PQfinish(c);
        clock_nap(20000000);
    }
}

static bool has_password(db *d)
{
    char *message = NULL;
    PQconninfoOption *all = PQconninfoParse(d->address, &message);
    if (!all) {
        pg_error(d->error, message ? message : "no memory");
        PQfreemem(message);
        return true;
    }
    bool found = false;
    for (PQconninfoOption *o = all; o->keyword; o++)
        if (!strcmp(o->keyword, "password") && o->val) found = true;
    PQconninfoFree(all);
    if (found)
        db_fail(d->error,
                "a password in the URL is not accepted: use PGPASSWORD, PGPASSFILE or ~/.pgpass");
    return found;
}

static void read_settings(db *d, PGconn *c)
{
    PGresult *r = PQexec(c, "SELECT name,setting FROM pg_settings WHERE name IN "
                            "('server_version','fsync','synchronous_commit','wal_level',"
                            "'default_transaction_isolation','statement_timeout') ORDER BY 1");
    for (int i = 0; i < PQntuples(r); i++) db_setting(d, PQgetvalue(r, i, 0), PQgetvalue(r, i, 1));
    PQclear(r);
}

static bool pg_open(db *d)
{
    if (!strcmp(d->address, "temp")) {
        if (!temp_start(&d->temp, &server, d->error, sizeof d->error)) return false;
        snprintf(d->address, sizeof d->address, "host=%s user=ratel dbname=postgres", d->temp.dir);
    } else {
        char uri[DB_ADDRESS];
        snprintf(uri, sizeof uri, "postgresql:%.1000s", d->address);
        memcpy(d->address, uri, sizeof uri);
        d->misuse = has_password(d);
        if (d->misuse) return false;
    }
    PGconn *c = patiently(d);
    if (!c) return false;
    const char *version = PQparameterStatus(c, "server_version");
    snprintf(d->version, sizeof d->version, "PostgreSQL %.*s",
             version ? (int)strcspn(version, " ") : 1, version ? version : "?");
    read_settings(d, c);
    PQfinish(c);
    return true;
}

static bool succeeds(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);
    bool done = PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK;
    PQclear(r);
    return done;
}

/* Names without a schema are those of this run, and no others. */
static bool enter_place(const db *d, PGconn *c)
{
    char sql[96];
    snprintf(sql, sizeof sql, "SET search_path TO %s,pg_catalog", d->place);
    return succeeds(c, sql);
}

/* A connection into a schema of ours that is made the first time; NULL: d->error says why. */
static PGconn *made_place(db *d)
{
    PGconn *c = patiently(d);
    char sql[192];
    if (!c) return NULL;
    bool done = d->made;
    if (!done) {
        snprintf(sql, sizeof sql, "CREATE SCHEMA %s", d->place);
        d->made = done = succeeds(c, sql);
        snprintf(sql, sizeof sql, "COMMENT ON SCHEMA %s IS '" DB_MADE_BY "'", d->place);
        done = done && succeeds(c, sql);
    }
    if (done && enter_place(d, c)) return c;
    pg_error(d->error, PQerrorMessage(c));
    PQfinish(c);
    return NULL;
}

/* A temporary server goes as a whole. */
static void pg_close(db *d)
{
    if (!d->made || d->temp.running) return;
    PGconn *c = connection(d);
    char sql[96];
    snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS %s CASCADE", d->place);
    if (PQstatus(c) == CONNECTION_OK && succeeds(c, sql)) d->made = false;
    PQfinish(c);
}

static bool pg_load(db *d, const db_row *rows, size_t n)
{
    PGconn *c = made_place(d);
    if (!c) return false;
    PGresult *r;
    bool done = succeeds(c, d->lists ? "DROP TABLE IF EXISTS ratel_kv;"
                                       "CREATE TABLE ratel_kv(k BIGINT PRIMARY KEY,v TEXT)"
                                     : "DROP TABLE IF EXISTS ratel_kv;"
                                       "CREATE TABLE ratel_kv(k BIGINT PRIMARY KEY,v BIGINT)");
    if (done && n) {
        r = PQexec(c, "COPY ratel_kv FROM STDIN");
        done = PQresultStatus(r) == PGRES_COPY_IN;
        PQclear(r);
        for (size_t i = 0; done && i < n; i++) {
            char line[64];
            int len = snprintf(line, sizeof line, "%lld\t%lld\n", (long long)rows[i].key,
                               (long long)rows[i].value);
            done = PQputCopyData(c, line, len) == 1;
        }
        done = PQputCopyEnd(c, NULL) == 1 && done;
        while ((r = PQgetResult(c)) != NULL) {
            if (PQresultStatus(r) != PGRES_COMMAND_OK) done = false;
            PQclear(r);
        }
    }
    if (!done) pg_error(d->error, PQerrorMessage(c));
    PQfinish(c);
    return done;
}

/* --- sessions --------------------------------------------------------------------------------- */

typedef struct error_class {
    const char *state; /* of five characters, or the first ones */
    enum db_answer statement, commit;
} error_class;

static const error_class error_classes[] = {
#define POSTGRES_ERROR(state, statement, commit, why) {state, statement, commit},
#include "driver/postgres_errors.def"
#undef POSTGRES_ERROR
};

static enum db_answer told(db_session *s, const PGresult *r, const char *message, bool commit)
{
    PGconn *c = s->own;
    ExecStatusType status = PQresultStatus(r);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return DB_OK;
    pg_error(s->error, message);
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    if (PQstatus(c) != CONNECTION_OK || !state) return DB_LOST;
    for (size_t i = 0; i < sizeof error_classes / sizeof *error_classes; i++) {
        const error_class *e = &error_classes[i];
        if (!strncmp(state, e->state, strlen(e->state))) return commit ? e->commit : e->statement;
    }
    return commit ? DB_LOST : DB_BROKEN; /* an error that we do not know: it may have committed */
}

static enum db_answer execute(db_session *s, const char *sql)
{
    PGresult *r = PQexec(s->own, sql);
    enum db_answer a = told(s, r, PQerrorMessage(s->own), false);
    PQclear(r);
    return a;
}

static void pg_disconnect(db_session *s)
{
    if (s->own) PQfinish(s->own);
    s->own = NULL;
}

static enum db_answer pg_connect(db_session *s)
{
    static const char *const prepare[] = {
        "SET lock_timeout='10s'",
        "PREPARE get(bigint) AS SELECT v FROM ratel_kv WHERE k=$1",
        "PREPARE lget(bigint) AS SELECT v FROM ratel_kv WHERE k=$1 FOR UPDATE",
        NULL, /* put */
        "PREPARE remove(bigint) AS DELETE FROM ratel_kv WHERE k=$1",
        "PREPARE bury(bigint) AS" UPSERT("NULL", "NULL"),
        ("PREPARE range(bigint,bigint,bigint) AS "
         "SELECT k,v FROM ratel_kv WHERE k>=$1 AND k<$2 AND v IS NOT NULL ORDER BY k LIMIT $3"),
    };
    PGconn *c = s->own = connection(s->db);
    if (PQstatus(c) != CONNECTION_OK) {
        pg_error(s->error, PQerrorMessage(c));
        pg_disconnect(s);
        return DB_LOST;
    }
    enum db_answer a = enter_place(s->db, c) ? DB_OK : DB_LOST;
    if (a != DB_OK) pg_error(s->error, PQerrorMessage(c));
    for (size_t i = 0; a == DB_OK && i < sizeof prepare / sizeof *prepare; i++) {
        const char *put = s->db->lists
                              ? "PREPARE put(bigint,text) AS" UPSERT("ratel_kv.v||','||$2", "$2")
                              : "PREPARE put(bigint,bigint) AS" UPSERT("$2", "$2");
        a = execute(s, prepare[i] ? prepare[i] : put);
        if (s->db->own_tables) break;
    }
    if (a != DB_OK) pg_disconnect(s);
    return a == DB_REFUSED ? DB_LOST : a;
}

static enum db_answer pg_begin(db_session *s)
{
    static const char *const begins[][2] = {
        {"serializable", "BEGIN ISOLATION LEVEL SERIALIZABLE"},
        {"repeatable-read", "BEGIN ISOLATION LEVEL REPEATABLE READ"},
        {"read-committed", "BEGIN ISOLATION LEVEL READ COMMITTED"},
        {"read-uncommitted", "BEGIN ISOLATION LEVEL READ UNCOMMITTED"},
    };
    size_t i = 0;
    while (i < 3 && strcmp(begins[i][0], s->isolation) != 0) i++;
    return execute(s, begins[i][1]);
}

/* The first statement takes the snapshot, whatever it does. */
static unsigned pg_snapshot(const db *d)
{
    (void)d;
    return DB_READ | DB_LOCKING_READ | DB_WRITE;
}

/* Runs a prepared statement; the result is the caller's, NULL after an error. */
static PGresult *prepared(db_session *s, const char *name, int n, const int64_t *v,
                          enum db_answer *a)
{
    char text[3][24];
    const char *values[3];
    for (int i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "%lld", (long long)v[i]);
        values[i] = text[i];
    }
    PGresult *r = PQexecPrepared(s->own, name, n, values, NULL, NULL, 0);
    *a = told(s, r, PQerrorMessage(s->own), false);
    if (*a == DB_OK) return r;
    PQclear(r);
    return NULL;
}

static enum db_answer pg_get(db_session *s, int64_t key, bool lock)
{
    enum db_answer a;
    PGresult *r = prepared(s, lock ? "lget" : "get", 1, &key, &a);
    if (!r) return a;
    s->tomb = PQntuples(r) > 0 && PQgetisnull(r, 0, 0);
    s->absent = PQntuples(r) == 0 || s->tomb;
    s->text.n = 0;
    if (!s->absent && s->db->lists)
        strbuf_str(&s->text, PQgetvalue(r, 0, 0));
    else if (!s->absent)
        s->value = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return DB_OK;
}

static enum db_answer pg_put(db_session *s, int64_t key, int64_t value)
{
    enum db_answer a;
    int64_t v[] = {key, value};
    PQclear(prepared(s, "put", 2, v, &a));
    return a;
}

static enum db_answer pg_remove(db_session *s, int64_t key)
{
    enum db_answer a;
    PGresult *r = prepared(s, s->db->tombstones ? "bury" : "remove", 1, &key, &a);
    s->idle = r && !s->db->tombstones && !strcmp(PQcmdTuples(r), "0");
    PQclear(r);
    return a;
}

static enum db_answer pg_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    enum db_answer a;
    int64_t v[] = {from, to, limit ? (int64_t)limit : INT64_MAX};
    PGresult *r = prepared(s, "range", 3, v, &a);
    s->rows.n = 0;
    if (!r) return a;
    for (int i = 0; i < PQntuples(r); i++) {
        db_row row = {strtoll(PQgetvalue(r, i, 0), NULL, 10),
                      strtoll(PQgetvalue(r, i, 1), NULL, 10)};
        vec_push(s->mem, &s->rows, row);
    }
    PQclear(r);
    return DB_OK;
}

static enum db_answer pg_commit(db_session *s)
{
    PGresult *r = PQexec(s->own, "COMMIT");
    enum db_answer a = told(s, r, PQerrorMessage(s->own), true);
    if (a == DB_OK && strcmp(PQcmdStatus(r), "COMMIT") != 0) {
        db_fail(s->error, "the database answered COMMIT with %s", PQcmdStatus(r));
        a = DB_REFUSED;
    }
    PQclear(r);
    return a;
}

static enum db_answer pg_abort(db_session *s)
{
    if (PQstatus(s->own) == CONNECTION_OK && PQtransactionStatus(s->own) == PQTRANS_IDLE)
        return DB_OK;
    return execute(s, "ROLLBACK") == DB_OK ? DB_OK : DB_LOST;
}

/* --- any SQL ---------------------------------------------------------------------------------- */

static bool pg_script(db *d, const char *text)
{
    PGconn *c = made_place(d);
    if (!c) return false;
    bool done = succeeds(c, text);
    if (!done) pg_error(d->error, PQerrorMessage(c));
    PQfinish(c);
    return done;
}

static enum db_answer pg_query(db_session *s, const char *text, const char *const *params,
                               uint32_t n)
{
    PGresult *r = PQexecParams(s->own, text, (int)n, NULL, params, NULL, NULL, 0);
    enum db_answer a = told(s, r, PQerrorMessage(s->own), false);
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    snprintf(s->state, sizeof s->state, "%s", state ? state : "");
    s->cells.n = s->text.n = 0;
    s->has_rows = PQresultStatus(r) == PGRES_TUPLES_OK;
    s->n_rows = (uint32_t)PQntuples(r);
    s->n_cols = (uint32_t)PQnfields(r);
    s->affected = strtoull(PQcmdTuples(r), NULL, 10);
    for (uint32_t i = 0; i < s->n_rows; i++)
        for (uint32_t k = 0; k < s->n_cols; k++) {
            db_cell c = {UINT32_MAX, 0, DB_TEXT};
            if (!PQgetisnull(r, (int)i, (int)k)) {
                c.at = (uint32_t)s->text.n;
                c.n = (uint32_t)PQgetlength(r, (int)i, (int)k);
                strbuf_add(&s->text, PQgetvalue(r, (int)i, (int)k), c.n);
                strbuf_char(&s->text, 0);
            }
            vec_push(s->mem, &s->cells, c);
        }
    PQclear(r);
    return a;
}

static void pg_mark(db_session *s)
{
    PGresult *r = PQexec(s->own, "SELECT pg_current_xact_id_if_assigned()::text");
    bool some = PQresultStatus(r) == PGRES_TUPLES_OK && !PQgetisnull(r, 0, 0);
    snprintf(s->mark, sizeof s->mark, "%s", some ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
}

static bool pg_stamp(db_session *s, int64_t *out)
{
    if (!*s->mark) return false;
    const char *params[] = {s->mark};
    PGresult *r = PQexecParams(
        s->own,
        "SELECT (extract(epoch FROM pg_xact_commit_timestamp($1::text::xid)) * 1000000)::bigint", 1,
        NULL, params, NULL, NULL, 0);
    bool some = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) && !PQgetisnull(r, 0, 0);
    if (some) *out = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return some;
}

const driver driver_postgres = {
    .name = "postgres",
    .isolations = "serializable repeatable-read read-committed read-uncommitted",
    .server = true,
    .row_locks = true,
    .procedures = true,
    .open = pg_open,
    .close = pg_close,
    .load = pg_load,
    .connect = pg_connect,
    .disconnect = pg_disconnect,
    .snapshot = pg_snapshot,
    .begin = pg_begin,
    .get = pg_get,
    .put = pg_put,
    .append = pg_put,
    .remove = pg_remove,
    .range = pg_range,
    .commit = pg_commit,
    .abort = pg_abort,
    .script = pg_script,
    .query = pg_query,
    .mark = pg_mark,
    .stamp = pg_stamp,
};
