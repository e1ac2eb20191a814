/*
 * postgres.c - PostgreSQL through libpq.
 *
 *   postgres://user@host/db      as libpq takes it; the password from PGPASSWORD or ~/.pgpass
 *   postgres://user@a,b:5433/db  several nodes, on which the sessions are spread
 *   postgres://...?pooled=on     a pooler may give each transaction another server: nothing is
 *                                prepared by name or set for longer than a transaction
 *   postgres:temp                a temporary server that Ratel starts (temp.h)
 *   postgres:temp+standby        and a hot standby, to which it streams
 *
 * Traps: COMMIT of a transaction that has failed is no error, its command tag is ROLLBACK.  A
 * connection that ends during COMMIT, and most errors, leave the outcome unknown; errors of
 * serialization (class 40, but not 40003) do not: postgres_errors.def.  The snapshot of repeatable
 * read is taken by the first statement, not by BEGIN.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/adapters.h"

enum { READY_SECONDS = 60 };
#define STUCK_NS 300000000u     /* whoever waits so long for a lock may be in a deadlock */
#define OUTCOME_NS 10000000000u /* so long the old session of a lost commit is waited for */

#define STARTED "(extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint::text"

/* Who executes statements that come from elsewhere, on a server of our own. */
#define LOG_ROLE "ratel_log"

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
    .restart = SIGINT,
    .nodes = 1,
    .node[0] = {.lock = "data/postmaster.pid",
                .prepare = {"initdb", "-D", "%d/data", "-U", "ratel", "-A", "trust", "--no-locale",
                            "-E", "UTF8", "--no-sync"},
                /* fsync matters when the machine fails, not when we kill the server. */
                .serve = {"postgres", "-D", "%d/data", "-k", "%d", "-c", "listen_addresses=", "-c",
                          "fsync=off", "-c", "shared_buffers=64MB", "-c",
                          "dynamic_shared_memory_type=mmap", "-c", "deadlock_timeout=20ms", "-c",
                          "track_commit_timestamp=on"}},
    .node[1] = {.lock = "data1/postmaster.pid",
                .prepare = {"pg_basebackup", "-h", "%d", "-U", "ratel", "-D", "%d/data1", "-X",
                            "stream", "-c", "fast", "--no-sync", "-R"},
                .serve = {"postgres", "-D", "%d/data1", "-p", "5433", "-k", "%d", "-c",
                          "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=64MB", "-c",
                          "dynamic_shared_memory_type=mmap", "-c", "deadlock_timeout=20ms", "-c",
                          "track_commit_timestamp=on"}},
};

typedef struct pg_own {
    double local; /* the share of sessions whose commits do not wait for a standby */
} pg_own;

/* PostgreSQL quotes what it could not do; the first line will do. */
static void pg_error(char *to, const char *text)
{
    db_fail(to, "%.*s", (int)strcspn(text, "\n"), text);
}

static void silent(void *ud, const char *message)
{
    (void)ud, (void)message;
}

/* Of a cluster, host and port come after the address and so count instead of its own. */
static PGconn *connection_named(const db *d, uint32_t node, const char *application,
                                const char *options)
{
    const char *names[8] = {"dbname"}, *values[8] = {d->address};
    const db_node *at = &d->node[node];
    int n = 1;
    if (*at->host) names[n] = "host", values[n++] = at->host;
    if (*at->port) names[n] = "port", values[n++] = at->port;
    if (d->enclosed) names[n] = "dbname", values[n++] = d->place;
    if (d->enclosed && d->temp.running && !d->all_rights) names[n] = "user", values[n++] = LOG_ROLE;
    if (application) names[n] = "application_name", values[n++] = application;
    if (options && *options) names[n] = "options", values[n++] = options;
    PGconn *c = PQconnectdbParams(names, values, 1);
    PQsetNoticeProcessor(c, silent, NULL);
    return c;
}

static PGconn *connection(const db *d, uint32_t node)
{
    return connection_named(d, node, NULL, NULL);
}

void *postgres_connection(const db *d, const char *application, const char *options)
{
    return connection_named(d, db_primary(d), application, options);
}

/* A temporary server needs a moment to take connections, after a kill too. */
static PGconn *patiently(db *d, uint32_t node)
{
    uint64_t start = clock_now();
    for (;;) {
        PGconn *c = connection(d, node);
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

/* The first cell of a query, "" if there is none. */
static void asked(PGconn *c, const char *sql, char *to, size_t cap)
{
    PGresult *r = PQexec(c, sql);
    snprintf(to, cap, "%s", PQntuples(r) > 0 && PQnfields(r) > 0 ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
}

/* --- temporary servers ------------------------------------------------------------------------ */

static bool read_local(db *d)
{
    pg_own *o = d->own;
    char text[32], *end;
    if (!db_parameter(d, "local", text, sizeof text)) return true;
    o->local = strtod(text, &end);
    if (end != text && !*end && o->local >= 0 && o->local <= 1) return true;
    d->misuse = true;
    db_fail(d->error, "local=SHARE in the URL is from 0 to 1, not \"%s\"", text);
    return false;
}

/* Settings that the user names come last and so count. */
static bool server_arguments(db *d, temp_spec *s, bool standby)
{
    uint32_t connections;
    char sync[32] = "on";
    if (!db_parameter_number(d, "connections", 1, 100000, 600, &connections)) return false;
    db_parameter(d, "sync", sync, sizeof sync);
    bool waits = strcmp(sync, "off") != 0, held = !strcmp(sync, "held");
    if (standby && strcmp(sync, "on") && strcmp(sync, "off") && strcmp(sync, "remote_apply") &&
        strcmp(sync, "remote_write") && !held) {
        d->misuse = true;
        db_fail(d->error,
                "sync=... in the URL is one of on, remote_apply, remote_write, off, held");
        return false;
    }
    d->holds = standby && held;
    for (unsigned i = 0; i < s->nodes; i++) {
        const char **serve = s->node[i].serve;
        if (!db_argument(d, serve, "-c") ||
            !db_argument(d, serve, "max_connections=%u", connections))
            return false;
        /* Names of standbys count on the primary alone; after a failover nobody is waited for. */
        if (standby && !i && waits &&
            (!db_argument(d, serve, "-c") ||
             !db_argument(d, serve, "synchronous_standby_names=%s", held ? "ratel_nobody" : "*") ||
             !db_argument(d, serve, "-c") ||
             !db_argument(d, serve, "synchronous_commit=%s", held ? "local" : sync)))
            return false;
        if (d->wants & DB_FSYNC &&
            (!db_argument(d, serve, "-c") || !db_argument(d, serve, "fsync=on")))
            return false;
        if (!db_server_settings(d, serve, "-c", "%s=%s")) return false;
    }
    return db_programs(d, s) && db_preload(d, s);
}

static bool is_ready(db *d, uint32_t node, PGconn *c, const char *sql, const char *want)
{
    char got[64] = "";
    for (uint64_t begun = clock_now(); clock_now() - begun < READY_SECONDS * 1000000000ull;) {
        asked(c, sql, got, sizeof got);
        if (!strcmp(got, want)) return true;
        if (temp_ended(&d->temp, d->error, sizeof d->error)) return false;
        clock_nap(10000000);
    }
    db_fail(d->error, "node %c does not become ready", (char)('a' + node));
    return false;
}

static bool start_standby(db *d)
{
    PGconn *c = patiently(d, 0);
    if (!c) return false;
    bool done =
        temp_start_node(&d->temp, 1, d->error, sizeof d->error) &&
        is_ready(d, 1, c, "SELECT count(*) FROM pg_stat_replication WHERE state='streaming'", "1");
    PQfinish(c);
    if (!done) return false;
    c = patiently(d, 1);
    if (!c) return false;
    PQfinish(c);
    return true;
}

/* Clients, and the standby, come through the proxy if faults ask for it. */
static bool add_links(db *d, temp_spec *s, bool standby)
{
    if (!db_link(d, s, 0, false, "%d/px/.s.PGSQL.5432", "%d/.s.PGSQL.5432")) return false;
    if (!standby) return true;
    for (size_t i = 0; d->wants & DB_LINKS && s->node[1].prepare[i]; i++)
        if (!strcmp(s->node[1].prepare[i], "%d")) s->node[1].prepare[i] = "%d/peers";
    return db_link(d, s, 1, false, "%d/px/.s.PGSQL.5433", "%d/.s.PGSQL.5433") &&
           db_link(d, s, 0, true, "%d/peers/.s.PGSQL.5432", "%d/.s.PGSQL.5432");
}

static bool open_temporary(db *d, const char *form)
{
    static const char *const single[] = {"bin", "set", "connections", NULL};
    static const char *const with[] = {"bin", "set", "connections", "sync", "local", "pin", NULL};
    bool standby = !strcmp(form, "standby");
    if (*form && !standby) {
        d->misuse = true;
        db_fail(d->error, "expected postgres:temp or postgres:temp+standby");
        return false;
    }
    if (!db_parameters_known(d, standby ? with : single)) return false;
    temp_spec *s = mem_get(d->mem, sizeof *s);
    *s = server;
    s->nodes = standby ? 2 : 1;
    d->nodes = standby ? 2 : 0;
    if (!server_arguments(d, s, standby) || !add_links(d, s, standby) ||
        (standby && (!db_pin(d) || !read_local(d))))
        return false;
    if (!temp_start(&d->temp, s, d->error, sizeof d->error)) return false;
    snprintf(d->address, sizeof d->address, "user=ratel dbname=postgres");
    for (unsigned i = 0; i < s->nodes; i++) {
        snprintf(d->node[i].host, sizeof d->node[i].host, "%s%s", d->temp.dir,
                 d->has & DB_LINKS ? "/px" : "");
        snprintf(d->node[i].port, sizeof d->node[i].port, "%u", 5432 + i);
        snprintf(d->node[i].role, sizeof d->node[i].role, i ? "standby" : "primary");
        atomic_store(&d->node[i].read_only, i > 0);
    }
    if (standby) snprintf(d->form, sizeof d->form, "postgres+standby");
    return !standby || start_standby(d);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The next word of a list with commas. */
static void listed_word(const char **p, char *to, size_t cap)
{
    size_t n = strcspn(*p, ",");
    snprintf(to, cap, "%.*s", (int)n, *p);
    *p += n + ((*p)[n] == ',');
}

/* A URL that names several hosts is a cluster, not a list of which libpq takes the first. */
static bool read_hosts(db *d)
{
    PQconninfoOption *all = PQconninfoParse(d->address, NULL);
    const char *hosts = "", *ports = "";
    for (PQconninfoOption *o = all; o && o->keyword; o++) {
        if (!strcmp(o->keyword, "host") && o->val) hosts = o->val;
        if (!strcmp(o->keyword, "port") && o->val) ports = o->val;
    }
    bool many_ports = strchr(ports, ',') != NULL, fits = true;
    for (const char *h = hosts, *p = ports; strchr(hosts, ',') && *h;) {
        fits = fits && d->nodes < DB_NODES;
        if (!fits) break;
        db_node *n = &d->node[d->nodes++];
        listed_word(&h, n->host, sizeof n->host);
        if (many_ports)
            listed_word(&p, n->port, sizeof n->port);
        else
            snprintf(n->port, sizeof n->port, "%.7s", ports);
    }
    PQconninfoFree(all);
    d->misuse = !fits;
    if (!fits) db_fail(d->error, "a cluster has at most %d nodes", DB_NODES);
    return fits;
}

/* Which nodes only replay what others write? */
static bool read_roles(db *d)
{
    char text[8];
    for (uint32_t i = 0; i < d->nodes; i++) {
        PGconn *c = patiently(d, i);
        if (!c) return false;
        asked(c, "SELECT pg_is_in_recovery()", text, sizeof text);
        PQfinish(c);
        atomic_store(&d->node[i].read_only, *text == 't');
        snprintf(d->node[i].role, sizeof d->node[i].role, *text == 't' ? "standby" : "primary");
        if (*text == 't') snprintf(d->form, sizeof d->form, "postgres+standby");
    }
    return !d->nodes || db_pin(d);
}

/* Takes pooled=on out of the URL, which libpq does not know. */
static void read_pooled(db *d)
{
    static const char word[] = "pooled=on";
    char *query = strchr(d->address, '?'), *at = query ? strstr(query, word) : NULL;
    if (!at || !strchr("?&", at[-1]) || !strchr("&", at[sizeof word - 1])) return;
    d->pooled = true;
    char *rest = at + sizeof word - 1;
    if (*rest == '&')
        rest++;
    else
        at--;
    memmove(at, rest, strlen(rest) + 1);
}

static bool pg_open(db *d)
{
    char form[32];
    d->own = mem_zeroed(d->mem, sizeof(pg_own));
    if (db_temporary(d, form, sizeof form)) {
        if (!open_temporary(d, form)) return false;
    } else {
        char uri[DB_ADDRESS];
        read_pooled(d);
        snprintf(uri, sizeof uri, "postgresql:%.1000s", d->address);
        memcpy(d->address, uri, sizeof uri);
        d->misuse = has_password(d);
        if (d->misuse || !read_hosts(d) || !read_roles(d)) return false;
    }
    PGconn *c = patiently(d, db_primary(d));
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

/* Names without a schema are those of this run, and no others; through a pooler, until the
   transaction ends that begins here. */
static bool enter_place(const db *d, PGconn *c)
{
    char sql[96];
    snprintf(sql, sizeof sql,
             d->pooled ? "BEGIN; SET LOCAL search_path TO %s,pg_catalog"
                       : "SET search_path TO %s,pg_catalog",
             d->place);
    return succeeds(c, sql);
}

/* A pooler has numbers of sessions of its own.  One that nobody told us of would lose the search
   path between transactions, and our statements would reach tables of the user's. */
static bool is_direct(db *d, PGconn *c)
{
    char pid[16], mine[16];
    if (d->pooled) return true;
    asked(c, "SELECT pg_catalog.pg_backend_pid()", pid, sizeof pid);
    snprintf(mine, sizeof mine, "%d", PQbackendPID(c));
    if (!strcmp(pid, mine)) return true;
    db_fail(d->error,
            "there is a pooler in front of the server, and it may run each transaction in another "
            "session of the server: add pooled=on to the URL, or connect to the server directly");
    return false;
}

/* A connection into a schema of ours that is made the first time; NULL: d->error says why. */
static PGconn *made_place(db *d)
{
    PGconn *c = patiently(d, db_primary(d));
    char sql[192];
    if (!c) return NULL;
    if (!is_direct(d, c)) {
        PQfinish(c);
        return NULL;
    }
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

/* Drops what this run has made, over a connection from outside. */
static bool drop_made(db *d, PGconn *c, bool database)
{
    char sql[96];
    snprintf(sql, sizeof sql,
             database ? "DROP DATABASE IF EXISTS %s" : "DROP SCHEMA IF EXISTS %s CASCADE",
             d->place);
    /* a session that has just been closed may still be there for a moment */
    for (int tries = database ? 200 : 1; d->made && tries > 0; tries--) {
        if (PQstatus(c) != CONNECTION_OK) break;
        d->made = !succeeds(c, sql);
        if (d->made && tries > 1) clock_nap(20000000);
    }
    return !d->made;
}

/* A temporary server goes as a whole. */
static void pg_close(db *d)
{
    if (!d->made || d->temp.running) return;
    bool enclosed = d->enclosed;
    d->enclosed = false; /* a database is dropped from outside */
    PGconn *c = connection(d, db_primary(d));
    drop_made(d, c, enclosed);
    PQfinish(c);
}

/* What was loaded is on every node before a session reads there. */
static bool is_everywhere(db *d, PGconn *c)
{
    char lsn[32], sql[128];
    asked(c, "SELECT pg_current_wal_lsn()", lsn, sizeof lsn);
    for (uint32_t i = 0; i < d->nodes; i++) {
        if (!atomic_load(&d->node[i].read_only)) continue;
        PGconn *other = patiently(d, i);
        if (!other) return false;
        snprintf(sql, sizeof sql, "SELECT pg_last_wal_replay_lsn()>='%s'", lsn);
        bool ready = is_ready(d, i, other, sql, "t");
        PQfinish(other);
        if (!ready) return false;
    }
    return true;
}

static bool pg_load(db *d, const db_row *rows, size_t n)
{
    PGconn *c = made_place(d);
    if (!c) return false;
    PGresult *r;
    char sql[192];
    /* The schema is named: a pooler that nobody told of loses the search path, and a table of the
       same name in another schema is not ours to drop. */
    snprintf(sql, sizeof sql,
             "DROP TABLE IF EXISTS %s.ratel_kv;"
             "CREATE TABLE %s.ratel_kv(k BIGINT PRIMARY KEY,v %s)",
             d->place, d->place, d->lists ? "TEXT" : "BIGINT");
    bool done = succeeds(c, sql);
    if (done && n) {
        snprintf(sql, sizeof sql, "COPY %s.ratel_kv FROM STDIN", d->place);
        r = PQexec(c, sql);
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
    if (done && d->pooled) done = succeeds(c, "COMMIT");
    if (!done)
        pg_error(d->error, PQerrorMessage(c));
    else
        done = is_everywhere(d, c);
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
    if (!strcmp(state, "53100")) return db_disk_full(s->db, commit);
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

/* Is it of the share that does not wait for the standby?  They are spread among the others. */
static bool commits_locally(const db_session *s)
{
    double share = ((const pg_own *)s->db->own)->local;
    uint32_t i = db_ordinal(s->db, s->slot);
    return share > 0 && (uint32_t)((i + 1) * share) > (uint32_t)(i * share);
}

/* The second put is that of lists. */
static const struct {
    const char *name, *types, *text;
} statements[] = {
    {"get", "bigint", " SELECT v FROM ratel_kv WHERE k=$1"},
    {"lget", "bigint", " SELECT v FROM ratel_kv WHERE k=$1 FOR UPDATE"},
    {"put", "bigint,bigint", UPSERT("$2", "$2")},
    {"put", "bigint,text", UPSERT("ratel_kv.v||','||$2", "$2")},
    {"remove", "bigint", " DELETE FROM ratel_kv WHERE k=$1"},
    {"bury", "bigint", UPSERT("NULL", "NULL")},
    {"range", "bigint,bigint,bigint",
     " SELECT k,v FROM ratel_kv WHERE k>=$1 AND k<$2 AND v IS NOT NULL ORDER BY k LIMIT $3"},
    {"reverse", "bigint,bigint,bigint",
     " SELECT k,v FROM ratel_kv WHERE k>=$1 AND k<$2 AND v IS NOT NULL ORDER BY k DESC LIMIT $3"},
    {"sum", "bigint,bigint", " UPDATE ratel_kv SET v=v+$2 WHERE k=$1 RETURNING v"},
    {"upsum", "bigint,bigint",
     " INSERT INTO ratel_kv AS t VALUES($1,$2) ON CONFLICT(k) DO UPDATE SET v=t.v+excluded.v "
     "RETURNING v"},
};
enum {
    STATEMENTS = sizeof statements / sizeof *statements,
    NUMBER_PUT = 2,
    LIST_PUT = 3,
    FIRST_SUM = 8
};

static enum db_answer prepare_all(db_session *s)
{
    char sql[512];
    enum db_answer a = execute(s, "SET lock_timeout='10s'");
    for (size_t i = 0; a == DB_OK && i < STATEMENTS && !s->db->own_tables; i++) {
        if (i == (s->db->lists ? NUMBER_PUT : LIST_PUT) || (s->db->lists && i >= FIRST_SUM))
            continue;
        snprintf(sql, sizeof sql, "PREPARE %s(%s) AS%s", statements[i].name, statements[i].types,
                 statements[i].text);
        a = execute(s, sql);
    }
    return a;
}

/* Of statements outside of a transaction; the names of levels are those of SQL with hyphens. */
static enum db_answer set_default_isolation(db_session *s)
{
    char level[32], sql[96];
    snprintf(level, sizeof level, "%s", s->db->isolation);
    for (char *p = level; *p; p++)
        if (*p == '-') *p = ' ';
    snprintf(sql, sizeof sql, "SET default_transaction_isolation='%s'", level);
    return execute(s, sql);
}

static bool pg_alone(const db *d)
{
    return !d->pooled && d->nodes < 2 && !d->parts;
}

/* What one statement set, the next one did not find, or it found what another session had set. */
static void hint_at_pooler(db_session *s)
{
    size_t n = strlen(s->error);
    if (strstr(s->error, "already exists") || strstr(s->error, "does not exist"))
        snprintf(s->error + n, sizeof s->error - n,
                 " (if a pooler is in between, add pooled=on to the URL)");
}

static enum db_answer pg_connect(db_session *s)
{
    PGconn *c = s->own = connection(s->db, s->node);
    if (PQstatus(c) != CONNECTION_OK) {
        pg_error(s->error, PQerrorMessage(c));
        pg_disconnect(s);
        return DB_LOST;
    }
    if (s->db->pooled) return DB_OK;
    enum db_answer a = s->db->enclosed || enter_place(s->db, c) ? DB_OK : DB_LOST;
    if (a != DB_OK) pg_error(s->error, PQerrorMessage(c));
    if (a == DB_OK && commits_locally(s)) a = execute(s, "SET synchronous_commit=local");
    if (a == DB_OK && s->db->singles && pg_alone(s->db)) a = set_default_isolation(s);
    if (a == DB_OK) a = prepare_all(s);
    if (a != DB_OK) hint_at_pooler(s);
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
    /* A standby refuses serializable; repeatable read is the strictest that it has. */
    if (i == 0 && s->db->nodes && atomic_load(&s->db->node[s->node].read_only)) i = 1;
    if (!s->db->pooled) return execute(s, begins[i][1]);
    char sql[192];
    snprintf(sql, sizeof sql,
             "%s; SET LOCAL search_path TO %s,pg_catalog; SET LOCAL lock_timeout='10s'",
             begins[i][1], s->db->place);
    return execute(s, sql);
}

/* The first statement takes the snapshot, whatever it does. */
static unsigned pg_snapshot(const db *d)
{
    (void)d;
    return DB_READ | DB_LOCKING_READ | DB_WRITE;
}

/* Without a name, so that whichever server it comes to knows it. */
static PGresult *unnamed(db_session *s, const char *name, int n, const char *const *values)
{
    enum { BIGINT = 20, TEXT = 25 }; /* numbers of types, of every version */
    size_t i = 0;
    while (strcmp(statements[i].name, name) != 0) i++;
    if (i == NUMBER_PUT && s->db->lists) i = LIST_PUT;
    Oid types[] = {BIGINT, i == LIST_PUT ? TEXT : BIGINT, BIGINT};
    return PQexecParams(s->own, statements[i].text, n, types, values, NULL, NULL, 0);
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
    PGresult *r = s->db->pooled ? unnamed(s, name, n, values)
                                : PQexecPrepared(s->own, name, n, values, NULL, NULL, 0);
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
    PGresult *r = prepared(s, s->reverse ? "reverse" : "range", 3, v, &a);
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

static enum db_answer pg_add(db_session *s, int64_t key, int64_t amount, bool upsert)
{
    enum db_answer a;
    int64_t v[] = {key, amount};
    PGresult *r = prepared(s, upsert ? "upsum" : "sum", 2, v, &a);
    if (!r) return a;
    s->absent = PQntuples(r) == 0 || PQgetisnull(r, 0, 0);
    if (!s->absent) s->value = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return DB_OK;
}

static enum db_answer pg_nest(db_session *s, enum db_nesting what)
{
    static const char *const texts[] = {[DB_SAVEPOINT] = "SAVEPOINT ratel",
                                        [DB_UNDO] = "ROLLBACK TO ratel;RELEASE ratel",
                                        [DB_KEEP] = "RELEASE ratel"};
    return execute(s, texts[what]);
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
    /* what a session of ours holds is not waited for without end */
    bool done = succeeds(c, "SET lock_timeout = '60s'") && succeeds(c, text);
    if (!done) pg_error(d->error, PQerrorMessage(c));
    PQfinish(c);
    return done;
}

static void keep_answer(db_session *s, const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    snprintf(s->state, sizeof s->state, "%s", state ? state : "");
    s->cells.n = s->text.n = 0;
    s->has_rows = PQresultStatus(r) == PGRES_TUPLES_OK;
    s->n_rows = (uint32_t)PQntuples(r);
    s->n_cols = (uint32_t)PQnfields(r);
    s->affected = strtoull(PQcmdTuples((PGresult *)r), NULL, 10);
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
}

static enum db_answer pg_query(db_session *s, const char *text, const char *const *params,
                               uint32_t n)
{
    PGresult *r = PQexecParams(s->own, text, (int)n, NULL, params, NULL, NULL, 0);
    enum db_answer a = told(s, r, PQerrorMessage(s->own), false);
    keep_answer(s, r);
    PQclear(r);
    return a;
}

/* The last one of a group ends with a synchronization point, which also sends them all. */
static bool pg_send(db_session *s, const char *name, const char *text, const char *const *params,
                    uint32_t n, bool last)
{
    PGconn *c = s->own;
    bool sent = PQpipelineStatus(c) != PQ_PIPELINE_OFF || PQenterPipelineMode(c);
    if (sent && name)
        sent = PQsendQueryPrepared(c, name, (int)n, params, NULL, NULL, 0);
    else if (sent)
        sent = PQsendQueryParams(c, text, (int)n, NULL, params, NULL, NULL, 0);
    if (sent && last) sent = PQpipelineSync(c);
    if (!sent) pg_error(s->error, PQerrorMessage(c));
    return sent;
}

static bool answer_is_here(PGconn *c, int wait_ms)
{
    uint64_t end = clock_now() + (wait_ms > 0 ? (uint64_t)wait_ms * 1000000u : 0);
    while (PQisBusy(c)) {
        uint64_t at = clock_now();
        struct pollfd f = {PQsocket(c), POLLIN, 0};
        if (at >= end && wait_ms > 0) return false;
        if (poll(&f, 1, (int)((end > at ? end - at : 0) / 1000000u)) <= 0) return false;
        if (!PQconsumeInput(c)) return true; /* PQgetResult says that it is lost */
    }
    return true;
}

/* The ends of statements and synchronization points that come before an answer are passed over. */
static enum db_answer pg_receive(db_session *s, int wait_ms, bool *pending)
{
    PGconn *c = s->own;
    PGresult *r = NULL;
    for (int ends = 0; ends < 4;) {
        *pending = !answer_is_here(c, wait_ms);
        if (*pending) return DB_OK;
        r = PQgetResult(c);
        if (r && PQresultStatus(r) != PGRES_PIPELINE_SYNC) break;
        if (!r) ends++;
        PQclear(r);
        r = NULL;
    }
    bool skipped = PQresultStatus(r) == PGRES_PIPELINE_ABORTED;
    enum db_answer a = skipped ? DB_REFUSED : told(s, r, PQerrorMessage(c), false);
    keep_answer(s, r);
    if (skipped) memcpy(s->state, "25P02", 6);
    PQclear(r);
    return a;
}

static bool pg_prepare(db_session *s, const char *name, const char *text)
{
    PGconn *c = s->own;
    bool pending;
    bool sent = (PQpipelineStatus(c) != PQ_PIPELINE_OFF || PQenterPipelineMode(c)) &&
                PQsendPrepare(c, name, text, 0, NULL) && PQpipelineSync(c);
    return sent && pg_receive(s, 60000, &pending) == DB_OK && !pending;
}

/* A role of its own on a server of our own; elsewhere the user of the URL, who must have no more
   rights than it takes to make a database. */
static bool pg_enclose(db *d)
{
    char sql[160];
    bool again = d->enclosed, ours = d->temp.running;
    d->enclosed = false;
    PGconn *c = patiently(d, db_primary(d));
    if (!c) return false;
    const char *super = PQparameterStatus(c, "is_superuser");
    bool role = ours && !d->all_rights, done = ours || d->all_rights;
    done = done || (super && !strcmp(super, "off"));
    d->misuse = !done;
    if (!done)
        db_fail(d->error,
                "the user of the URL is a superuser, and statements of a log must not run with all "
                "privileges: use one made with CREATE ROLE ... LOGIN CREATEDB");
    if (done && again && !role) done = drop_made(d, c, true);
    /* a server of our own goes as a whole: dropping costs more than a database that nobody uses */
    if (done && role) snprintf(d->place, sizeof d->place, "ratel_log_%u", ++d->made_databases);
    /* the name that PostgreSQL's specs know */
    if (done && ours && !role) snprintf(d->place, sizeof d->place, "isolation_regression");
    if (done && role && !again) done = succeeds(c, "CREATE ROLE " LOG_ROLE " LOGIN");
    /* logs may set it, and it changes no answer; servers before 15 cannot allow it */
    if (done && role && !again) succeeds(c, "GRANT SET ON PARAMETER deadlock_timeout TO " LOG_ROLE);
    snprintf(sql, sizeof sql, "CREATE DATABASE %s%s", d->place, role ? " OWNER " LOG_ROLE : "");
    if (done) done = d->made = succeeds(c, sql);
    snprintf(sql, sizeof sql, "COMMENT ON DATABASE %s IS '" DB_MADE_BY "'", d->place);
    if (done && !ours) done = succeeds(c, sql);
    d->enclosed = done;
    if (!done && !d->misuse) pg_error(d->error, PQerrorMessage(c));
    PQfinish(c);
    return done;
}

/* The function of this name is in every version since 10; an error here would end the transaction.
 */
static void pg_mark(db_session *s)
{
    PGresult *r = PQexec(s->own, "SELECT txid_current_if_assigned()::text");
    bool some = PQresultStatus(r) == PGRES_TUPLES_OK && !PQgetisnull(r, 0, 0);
    snprintf(s->mark, sizeof s->mark, "%s", some ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
}

static bool pg_stamp(db_session *s, int64_t *out)
{
    if (!*s->mark) return false;
    const char *params[] = {s->mark};
    PGresult *r = PQexecParams(s->own,
                               "SELECT (extract(epoch FROM pg_xact_commit_timestamp("
                               "($1::text::bigint % 4294967296)::text::xid)) * 1000000)::bigint",
                               1, NULL, params, NULL, NULL, 0);
    bool some = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) && !PQgetisnull(r, 0, 0);
    if (some) *out = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return some;
}

/* The transaction's number, and when the server was started.  On a server of our own that is alone:
   elsewhere a failover may come in between, after which the number can be that of another
   transaction. */
static void pg_token(db_session *s)
{
    *s->mark = 0;
    if (!s->db->temp.running || s->db->nodes > 1) return;
    PGresult *r = PQexec(s->own, "SELECT txid_current_if_assigned() || ' ' || " STARTED);
    bool some = PQresultStatus(r) == PGRES_TUPLES_OK && !PQgetisnull(r, 0, 0);
    if (some && strlen(PQgetvalue(r, 0, 0)) < sizeof s->mark)
        snprintf(s->mark, sizeof s->mark, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
}

/* While the old session is still there, so is its transaction.  A server that has crashed gives the
   numbers that did not reach its disk to others: the transaction is not there then if its number
   was not committed, but may not be there if it was. */
static enum db_answer pg_outcome(db_session *s)
{
    const char *params[] = {s->mark};
    enum db_answer a = DB_LOST;
    for (uint64_t begun = clock_now(); clock_now() - begun < OUTCOME_NS;) {
        PGresult *r = PQexecParams(s->own,
                                   "SELECT txid_status(split_part($1, ' ', 1)::bigint), "
                                   "split_part($1, ' ', 2) = " STARTED,
                                   1, NULL, params, NULL, NULL, 0);
        bool some = PQresultStatus(r) == PGRES_TUPLES_OK && !PQgetisnull(r, 0, 0);
        const char *status = some ? PQgetvalue(r, 0, 0) : "";
        if (!strcmp(status, "committed") && *PQgetvalue(r, 0, 1) == 't') a = DB_OK;
        if (!strcmp(status, "aborted")) a = DB_REFUSED;
        bool pending = !strcmp(status, "in progress");
        PQclear(r);
        if (!pending) return a;
        clock_nap(5000000);
    }
    return a;
}

static bool pg_make_primary(db *d, uint32_t node)
{
    PGconn *c = patiently(d, node);
    char unused[8];
    if (!c) return false;
    asked(c, "SELECT pg_promote(false)", unused, sizeof unused);
    bool done = is_ready(d, node, c, "SELECT pg_is_in_recovery()", "f");
    PQfinish(c);
    return done;
}

/* For a lock of another session, for a safe snapshot, or for a standby. */
static enum db_waiting pg_waits(db_session *watcher, const db_session *s)
{
    char pid[24];
    const char *params[] = {pid};
    if (s->node != watcher->node) return DB_GOES_ON; /* standbys only read, and wait for nobody */
    snprintf(pid, sizeof pid, "%d", PQbackendPID(s->own));
    PGresult *r = PQexecParams(watcher->own,
                               "SELECT cardinality(pg_blocking_pids($1)) > 0 OR "
                               "cardinality(pg_safe_snapshot_blocking_pids($1)) > 0 OR EXISTS"
                               "(SELECT FROM pg_stat_activity WHERE pid = $1 AND "
                               "wait_event = 'SyncRep')",
                               1, NULL, params, NULL, NULL, 0);
    bool told = PQresultStatus(r) == PGRES_TUPLES_OK;
    bool waits = told && *PQgetvalue(r, 0, 0) == 't';
    PQclear(r);
    return waits ? DB_WAITS : told ? DB_GOES_ON : DB_UNTOLD;
}

static void end_from_outside(db *d, const db_session *s, const char *sql)
{
    char pid[24];
    const char *params[] = {pid};
    PGconn *c = connection(d, s->node);
    snprintf(pid, sizeof pid, "%d", PQbackendPID(s->own));
    PQclear(PQexecParams(c, sql, 1, NULL, params, NULL, NULL, 0));
    PQfinish(c);
}

static void pg_cut(db *d, const db_session *s)
{
    end_from_outside(d, s, "SELECT pg_terminate_backend($1)");
}

/* The moment at which a deadlock is looked for is a time of day.  A session that waited when the
   clock was set back by 30 s would find its deadlock 30 s later, and so does one that began to wait
   while the clock was ahead: whoever waits now and a little later is cancelled. */
static void pg_unstick(db *d, uint32_t node)
{
    char pids[8192];
    const char *params[] = {pids};
    PGconn *c = connection(d, node);
    for (int rounds = 0; rounds < 3; rounds++) {
        asked(c, "SELECT array_agg(DISTINCT pid) FROM pg_locks WHERE NOT granted", pids,
              sizeof pids);
        if (!*pids) break;
        clock_nap(STUCK_NS);
        PGresult *r = PQexecParams(c,
                                   "SELECT pg_cancel_backend(pid) FROM (SELECT DISTINCT pid FROM "
                                   "pg_locks WHERE NOT granted AND pid = ANY($1::int[])) AS stuck",
                                   1, NULL, params, NULL, NULL, 0);
        bool some = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r);
        PQclear(r);
        if (!some) break; /* those who waited have gone on by themselves */
    }
    PQfinish(c);
}

/* The primary waits for a standby that does not exist.  While it waits, the commit is in its log,
   which the real standby replays, but not yet shown on the primary itself. */
static bool pg_hold(db_session *s, bool on)
{
    return s->db->holds &&
           execute(s, on ? "SET synchronous_commit=on" : "RESET synchronous_commit") == DB_OK;
}

/* A commit that waits for a standby cannot be undone: to cancel it ends the waiting alone. */
static void pg_release(db *d, const db_session *s)
{
    end_from_outside(d, s, "SELECT pg_cancel_backend($1)");
}

static bool pg_catch_up(db *d, uint32_t node)
{
    if (!atomic_load(&d->node[node].read_only)) return true;
    PGconn *c = patiently(d, db_primary(d));
    bool done = c && is_everywhere(d, c);
    if (c) PQfinish(c);
    return done;
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
    .reverses = true,
    .add = pg_add,
    .nest = pg_nest,
    .alone = pg_alone,
    .commit = pg_commit,
    .abort = pg_abort,
    .script = pg_script,
    .query = pg_query,
    .send = pg_send,
    .receive = pg_receive,
    .prepare = pg_prepare,
    .enclose = pg_enclose,
    .mark = pg_mark,
    .stamp = pg_stamp,
    .token = pg_token,
    .outcome = pg_outcome,
    .waits = pg_waits,
    .cut = pg_cut,
    .unstick = pg_unstick,
    .hold = pg_hold,
    .release = pg_release,
    .catch_up = pg_catch_up,
    .promote = pg_make_primary,
};
