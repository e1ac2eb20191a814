/*
 * mariadb.c - MariaDB and MySQL through libmariadb.
 *
 *   mysql://user@host[:port]/db     the password from MYSQL_PWD or ~/.my.cnf
 *   mariadb:temp                    a temporary server that Ratel starts (temp.h)
 *
 * snapshot-isolation is repeatable read with innodb_snapshot_isolation=ON.
 *
 * Traps: errors 1020 and 1213 have rolled the whole transaction back, what follows would run on
 * its own and a COMMIT would succeed, so the server's word that a transaction is open is looked
 * at before commit.  1205 rolls back the statement alone.  The read view is made by the first
 * read, not by START TRANSACTION.  A write of the value that is there already writes nothing and
 * so is no conflict for anybody; only the count of rows tells.  We record it as the locking read of
 * the newest row that it was.
 */
#include <mysql.h>
#include <mysqld_error.h>
#include <errmsg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "driver/adapters.h"

enum { READY_SECONDS = 60 };
#define COPY_AGE 110000000u

/* Without grant tables there is no need of a system database.  The bootstrap ends with a
   checkpoint: an InnoDB that was killed before its first one cannot be started again. */
static const temp_spec server = {
    .user = "mysql",
    .path = "/usr/sbin",
    .stop = 0,
    .restart = SIGTERM,
    .nodes = 1,
    .node[0] = {.prepare = {"mariadbd", "--no-defaults", "--bootstrap", "--datadir=%d",
                            "--skip-grant-tables", "--innodb-buffer-pool-size=64M",
                            "--innodb-stats-persistent=0", "--skip-log-bin"},
                .serve = {"mariadbd", "--no-defaults", "--datadir=%d", "--socket=%d/socket",
                          "--pid-file=%d/pid", "--skip-networking", "--skip-grant-tables",
                          "--innodb-buffer-pool-size=64M", "--innodb-stats-persistent=0",
                          "--skip-log-bin", "--innodb-flush-log-at-trx-commit=2",
                          "--secure-file-priv=%d", "--local-infile=0"}},
};

typedef struct maria_own {
    char user[128], host[256], name[128], socket[128];
    char engine[64]; /* of the table */
    unsigned port;
    bool database; /* what this run has made is a database of its own, for workloads with tables */
} maria_own;

static bool parse(db *d, maria_own *o)
{
    const char *p = d->address;
    if (strncmp(p, "//", 2)) {
        db_fail(d->error, "expected mysql://user@host[:port]/database or mariadb:temp");
        return false;
    }
    p += 2;
    size_t n = strcspn(p, "/?"), at = 0;
    while (at < n && p[at] != '@') at++;
    if (at < n) {
        if (memchr(p, ':', at)) {
            db_fail(d->error, "a password in the URL is not accepted: use MYSQL_PWD or ~/.my.cnf");
            return false;
        }
        snprintf(o->user, sizeof o->user, "%.*s", (int)at, p);
        p += at + 1;
        n -= at + 1;
    }
    size_t host = 0;
    while (host < n && p[host] != ':') host++;
    snprintf(o->host, sizeof o->host, "%.*s", (int)host, p);
    if (host < n) {
        char *end;
        unsigned long port = strtoul(p + host + 1, &end, 10);
        if (end != p + n || !port || port > 65535) {
            db_fail(d->error, "\"%.*s\" is not a port", (int)(n - host - 1), p + host + 1);
            return false;
        }
        o->port = (unsigned)port;
    }
    p += n;
    if (*p == '/') snprintf(o->name, sizeof o->name, "%.*s", (int)strcspn(p + 1, "?"), p + 1);
    if (!*o->name) {
        db_fail(d->error, "the URL names no database");
        return false;
    }
    static const char *const known[] = {"socket", NULL};
    char socket[128];
    if (!db_parameters_known(d, known)) return false;
    if (db_parameter(d, "socket", socket, sizeof socket)) memcpy(o->socket, socket, sizeof socket);
    return true;
}

static MYSQL *connection(const db *d, const char *name, char *error)
{
    const maria_own *o = d->own;
    MYSQL *c = mysql_init(NULL);
    if (!c) {
        db_fail(error, "no memory");
        return NULL;
    }
    if (!d->temp.running) mysql_options(c, MYSQL_READ_DEFAULT_GROUP, "client");
    if (mysql_real_connect(c, *o->host ? o->host : NULL, *o->user ? o->user : NULL, NULL, name,
                           o->port, *o->socket ? o->socket : NULL, 0))
        return c;
    db_fail(error, "%s", mysql_error(c));
    mysql_close(c);
    return NULL;
}

static MYSQL *patiently(db *d, const char *name)
{
    uint64_t start = clock_now();
    for (;;) {
        MYSQL *c = connection(d, name, d->error);
        if (c) return c;
        char why[DB_ERROR];
        if (temp_ended(&d->temp, why, sizeof why)) {
            db_fail(d->error, "%s", why);
            return NULL;
        }
        if (!d->temp.running || clock_now() - start > READY_SECONDS * 1000000000ull) return NULL;
        clock_nap(20000000);
    }
}

static void read_settings(db *d, MYSQL *c)
{
    if (mysql_query(c, "SHOW VARIABLES WHERE Variable_name IN ('version','tx_isolation',"
                       "'innodb_snapshot_isolation','innodb_flush_log_at_trx_commit','log_bin',"
                       "'max_statement_time')"))
        return;
    MYSQL_RES *r = mysql_store_result(c);
    for (MYSQL_ROW row; r && (row = mysql_fetch_row(r)) != NULL;)
        if (row[0] && row[1]) db_setting(d, row[0], row[1]);
    mysql_free_result(r);
}

/* A storage engine other than InnoDB has promises of its own, of which we know none. */
static bool read_engine(db *d)
{
    maria_own *o = d->own;
    if (!db_parameter(d, "engine", o->engine, sizeof o->engine)) return true;
    if (!strcasecmp(o->engine, "InnoDB")) return true;
    snprintf(d->form, sizeof d->form, "mariadb/%.20s", o->engine);
    for (const char *p = o->engine; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *p)) {
            d->misuse = true;
            db_fail(d->error, "\"%.60s\" is no storage engine", o->engine);
            return false;
        }
    return true;
}

static bool open_temporary(db *d, const char *form)
{
    static const char *const known[] = {"bin", "set", "connections", "engine", NULL};
    maria_own *o = d->own;
    uint32_t connections;
    temp_spec *s = mem_get(d->mem, sizeof *s);
    *s = server;
    if (*form) {
        d->misuse = true;
        db_fail(d->error, "expected mariadb:temp");
        return false;
    }
    if (!db_parameters_known(d, known) || !read_engine(d) || !db_programs(d, s) ||
        !db_parameter_number(d, "connections", 1, 100000, 600, &connections) ||
        !db_argument(d, s->node[0].serve, "--max-connections=%u", connections) ||
        !db_server_settings(d, s->node[0].serve, NULL, "--%s=%s") ||
        !temp_start(&d->temp, s, d->error, sizeof d->error))
        return false;
    snprintf(o->socket, sizeof o->socket, "%s/socket", d->temp.dir);
    snprintf(o->name, sizeof o->name, "ratel");
    return true;
}

static bool maria_open(db *d)
{
    maria_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    mysql_library_init(0, NULL, NULL);
    char form[32];
    bool temp = db_temporary(d, form, sizeof form);
    snprintf(o->engine, sizeof o->engine, "InnoDB");
    if (temp) {
        if (!open_temporary(d, form)) return false;
    } else if (!parse(d, o)) {
        d->misuse = true;
        return false;
    }
    MYSQL *c = patiently(d, temp ? NULL : o->name);
    if (!c) return false;
    const char *v = mysql_get_server_info(c);
    snprintf(d->version, sizeof d->version, "%s %.*s", strstr(v, "Maria") ? "MariaDB" : "MySQL",
             (int)strcspn(v, "-"), v);
    read_settings(d, c);
    bool done = !temp || !mysql_query(c, "CREATE DATABASE IF NOT EXISTS ratel");
    if (!done) db_fail(d->error, "%s", mysql_error(c));
    mysql_close(c);
    return done;
}

/* A temporary server goes as a whole. */
static void maria_close(db *d)
{
    const maria_own *o = d->own;
    char sql[96], why[DB_ERROR];
    MYSQL *c = d->made && !d->temp.running ? connection(d, o->name, why) : NULL;
    if (c) {
        snprintf(sql, sizeof sql, "DROP %s IF EXISTS %s", o->database ? "DATABASE" : "TABLE",
                 d->place);
        if (!mysql_query(c, sql)) d->made = false;
        mysql_close(c);
    }
    mysql_thread_end();
}

static bool maria_load(db *d, const db_row *rows, size_t n)
{
    const maria_own *o = d->own;
    MYSQL *c = patiently(d, o->name);
    if (!c) return false;
    char sql[256];
    snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS %s", d->place);
    bool done = !d->made || !mysql_query(c, sql);
    snprintf(sql, sizeof sql,
             "CREATE TABLE %s(k BIGINT PRIMARY KEY,v %s) ENGINE=%s COMMENT='" DB_MADE_BY "'",
             d->place, d->lists ? "TEXT" : "BIGINT", o->engine);
    if (done) d->made = done = !mysql_query(c, sql);
    done = done && !mysql_query(c, "START TRANSACTION");
    strbuf b;
    strbuf_init(&b, d->mem);
    for (size_t i = 0; done && i < n; i++) {
        if (!b.n)
            strbuf_printf(&b, "INSERT INTO %s VALUES", d->place);
        else
            strbuf_char(&b, ',');
        strbuf_printf(&b, "(%lld,%lld)", (long long)rows[i].key, (long long)rows[i].value);
        if (i + 1 < n && (i + 1) % 1000) continue;
        done = !mysql_real_query(c, b.at, (unsigned long)b.n);
        b.n = 0;
    }
    strbuf_free(&b);
    done = done && !mysql_query(c, "COMMIT");
    if (!done) db_fail(d->error, "%s", mysql_error(c));
    mysql_close(c);
    return done;
}

/* --- sessions --------------------------------------------------------------------------------- */

typedef struct error_class {
    unsigned code;
    enum db_answer statement, commit;
} error_class;

static const error_class error_classes[] = {
#define MARIADB_ERROR(code, statement, commit, why) {code, statement, commit},
#include "driver/mariadb_errors.def"
#undef MARIADB_ERROR
};

static enum db_answer told_of(db_session *s, bool commit)
{
    unsigned code = mysql_errno(s->own);
    if (!code) return DB_OK;
    db_fail(s->error, "%s", mysql_error(s->own));
    for (size_t i = 0; i < sizeof error_classes / sizeof *error_classes; i++)
        if (error_classes[i].code == code)
            return commit ? error_classes[i].commit : error_classes[i].statement;
    /* The client library's own: the connection.  Else an error that we do not know. */
    bool lost = code >= CR_MIN_ERROR && code < 3000;
    return lost || commit ? DB_LOST : DB_BROKEN;
}

static enum db_answer told(db_session *s)
{
    return told_of(s, false);
}

static enum db_answer execute(db_session *s, const char *sql)
{
    mysql_real_query(s->own, sql, (unsigned long)strlen(sql));
    return told(s);
}

static void maria_disconnect(db_session *s)
{
    if (s->own) mysql_close(s->own);
    s->own = NULL;
}

static enum db_answer maria_connect(db_session *s)
{
    static const char *const levels[][2] = {
        {"serializable", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"},
        {"repeatable-read", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"},
        {"snapshot-isolation", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"},
        {"read-committed", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"},
        {"read-uncommitted", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"},
    };
    const maria_own *o = s->db->own;
    s->own = connection(s->db, o->database ? s->db->place : o->name, s->error);
    if (!s->own) return DB_LOST;
    size_t i = 0;
    const char *isolation = s->db->parts ? s->db->part[0].isolation : s->db->isolation;
    while (i < 4 && strcmp(levels[i][0], isolation) != 0) i++;
    enum db_answer a = execute(s, levels[i][1]);
    if (a == DB_OK) a = execute(s, "SET SESSION innodb_lock_wait_timeout=5");
    if (a == DB_OK && i == 2) {
        a = execute(s, "SET SESSION innodb_snapshot_isolation=ON");
    } else if (a == DB_OK && i == 1 && strstr(s->db->version, "MariaDB")) {
        /* Older servers do not know the variable and behave as if it were off. */
        if (execute(s, "SET SESSION innodb_snapshot_isolation=OFF") == DB_LOST) a = DB_LOST;
    }
    if (a != DB_OK) maria_disconnect(s);
    return a == DB_REFUSED ? DB_LOST : a;
}

static enum db_answer maria_begin(db_session *s)
{
    enum db_answer a = DB_OK;
    if (s->db->parts && !strcmp(s->isolation, "serializable"))
        a = execute(s, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    else if (s->db->parts && !strcmp(s->isolation, "read-committed"))
        a = execute(s, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    else if (s->db->parts)
        a = execute(s, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    if (a != DB_OK) return a;
    return execute(s, "START TRANSACTION");
}

/* A plain read makes the read view; writes and locking reads work on the newest rows without one.
   At serializable every read locks, at read uncommitted none has a view. */
static unsigned maria_snapshot(const db *d)
{
    bool none = d->parts || !strcmp(d->isolation, "serializable") ||
                !strcmp(d->isolation, "read-uncommitted");
    return none ? 0 : DB_READ;
}

/* The rows of a SELECT; NULL: see *a. */
static MYSQL_RES *selected(db_session *s, const char *sql, enum db_answer *a)
{
    *a = execute(s, sql);
    if (*a != DB_OK) return NULL;
    MYSQL_RES *r = mysql_store_result(s->own);
    if (!r) *a = told(s) == DB_OK ? DB_BROKEN : told(s);
    return r;
}

static enum db_answer maria_get(db_session *s, int64_t key, bool lock)
{
    char sql[128];
    enum db_answer a;
    snprintf(sql, sizeof sql, "SELECT v FROM %s WHERE k=%lld%s", s->db->place, (long long)key,
             lock ? " FOR UPDATE" : "");
    MYSQL_RES *r = selected(s, sql, &a);
    if (!r) return a;
    MYSQL_ROW row = mysql_fetch_row(r);
    s->tomb = row && !row[0];
    s->absent = !row || s->tomb;
    s->text.n = 0;
    if (!s->absent && s->db->lists)
        strbuf_str(&s->text, row[0]);
    else if (!s->absent)
        s->value = strtoll(row[0], NULL, 10);
    mysql_free_result(r);
    return DB_OK;
}

static enum db_answer maria_put(db_session *s, int64_t key, int64_t value)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "INSERT INTO %s VALUES(%lld,%lld) ON DUPLICATE KEY UPDATE v=VALUES(v)", s->db->place,
             (long long)key, (long long)value);
    enum db_answer a = execute(s, sql);
    s->newest = true;
    s->idle = a == DB_OK && !mysql_affected_rows(s->own);
    return a;
}

static enum db_answer maria_append(db_session *s, int64_t key, int64_t value)
{
    char sql[192];
    snprintf(sql, sizeof sql,
             "INSERT INTO %s VALUES(%lld,'%lld') "
             "ON DUPLICATE KEY UPDATE v=CONCAT(v,',',VALUES(v))",
             s->db->place, (long long)key, (long long)value);
    return execute(s, sql);
}

static enum db_answer maria_remove(db_session *s, int64_t key)
{
    char sql[128];
    snprintf(sql, sizeof sql,
             s->db->tombstones ? "INSERT INTO %s VALUES(%lld,NULL) ON DUPLICATE KEY UPDATE v=NULL"
                               : "DELETE FROM %s WHERE k=%lld",
             s->db->place, (long long)key);
    enum db_answer a = execute(s, sql);
    s->newest = true;
    s->idle = a == DB_OK && !mysql_affected_rows(s->own);
    return a;
}

static enum db_answer maria_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    char sql[192];
    enum db_answer a;
    int n = snprintf(sql, sizeof sql,
                     "SELECT k,v FROM %s WHERE k>=%lld AND k<%lld "
                     "AND v IS NOT NULL ORDER BY k",
                     s->db->place, (long long)from, (long long)to);
    if (limit) snprintf(sql + n, sizeof sql - (size_t)n, " LIMIT %u", limit);
    MYSQL_RES *r = selected(s, sql, &a);
    s->rows.n = 0;
    if (!r) return a;
    for (MYSQL_ROW row; (row = mysql_fetch_row(r)) != NULL;) {
        db_row kv = {strtoll(row[0], NULL, 10), row[1] ? strtoll(row[1], NULL, 10) : 0};
        vec_push(s->mem, &s->rows, kv);
    }
    mysql_free_result(r);
    return DB_OK;
}

static enum db_answer maria_abort(db_session *s)
{
    return execute(s, "ROLLBACK") == DB_OK ? DB_OK : DB_LOST;
}

static enum db_answer maria_commit(db_session *s)
{
    unsigned status = 0;
    mariadb_get_infov(s->own, MARIADB_CONNECTION_SERVER_STATUS, &status);
    if (!(status & SERVER_STATUS_IN_TRANS)) {
        db_fail(s->error, "rolled back before the commit");
        return DB_REFUSED;
    }
    mysql_real_query(s->own, "COMMIT", 6);
    return told_of(s, true);
}

/* --- any SQL ---------------------------------------------------------------------------------- */

/* The text with a literal in the place of each `?` outside of quotes and comments. */
static void fill_in(db_session *s, const char *text, const char *const *params, uint32_t n,
                    strbuf *out)
{
    uint32_t next = 0;
    for (const char *p = text; *p;) {
        if (*p == '\'' || *p == '"' || *p == '`') {
            const char *from = p++;
            while (*p && *p != *from) p += *p == '\\' && p[1] && *from != '`' ? 2 : 1;
            if (*p) p++;
            strbuf_add(out, from, (size_t)(p - from));
        } else if ((*p == '-' && p[1] == '-' && p[2] == ' ') || *p == '#') {
            p += strcspn(p, "\n");
        } else if (*p == '?' && next < n) {
            const char *value = params[next++];
            size_t length = value ? strlen(value) : 0;
            char *quoted = mem_get(s->mem, 2 * length + 1);
            if (value) mysql_real_escape_string(s->own, quoted, value, (unsigned long)length);
            strbuf_printf(out, value ? "'%s'" : "NULL", quoted);
            mem_put(s->mem, quoted);
            p++;
        } else {
            strbuf_char(out, *p++);
        }
    }
}

/* Runs several statements; false: d->error says why not. */
static bool run_script(db *d, MYSQL *c, const char *text)
{
    int bad = mysql_set_server_option(c, MYSQL_OPTION_MULTI_STATEMENTS_ON) ||
              mysql_real_query(c, text, (unsigned long)strlen(text));
    while (!bad) {
        mysql_free_result(mysql_store_result(c));
        int more = mysql_next_result(c); /* 0: another one, -1: none, else an error */
        bad = more > 0;
        if (more) break;
    }
    if (bad) db_fail(d->error, "%s", mysql_error(c));
    return !bad;
}

/* Tables of the workload's own names live in a database that this run makes. */
static bool maria_script(db *d, const char *text)
{
    maria_own *o = d->own;
    MYSQL *c = patiently(d, o->database ? d->place : o->name);
    if (!c) return false;
    char sql[192];
    bool done = true;
    if (!o->database) {
        snprintf(sql, sizeof sql, "CREATE DATABASE %s COMMENT '" DB_MADE_BY "'", d->place);
        done = !mysql_query(c, sql) && !mysql_select_db(c, d->place);
        if (!done) db_fail(d->error, "%s", mysql_error(c));
        d->made = o->database = done;
    }
    done = done && run_script(d, c, text);
    mysql_close(c);
    return done;
}

static void keep_result(db_session *s, MYSQL_RES *r)
{
    MYSQL_FIELD *fields = mysql_fetch_fields(r);
    s->has_rows = true;
    s->n_cols = mysql_num_fields(r);
    for (MYSQL_ROW row; (row = mysql_fetch_row(r)) != NULL; s->n_rows++) {
        unsigned long *lengths = mysql_fetch_lengths(r);
        for (uint32_t i = 0; i < s->n_cols; i++) {
            db_cell c = {UINT32_MAX, 0, IS_NUM(fields[i].type) ? DB_NUMBER : DB_TEXT};
            if (row[i]) {
                c.at = (uint32_t)s->text.n;
                c.n = (uint32_t)lengths[i];
                strbuf_add(&s->text, row[i], c.n);
                strbuf_char(&s->text, 0);
            }
            vec_push(s->mem, &s->cells, c);
        }
    }
}

static enum db_answer maria_query(db_session *s, const char *text, const char *const *params,
                                  uint32_t n)
{
    strbuf b;
    strbuf_init(&b, s->mem);
    fill_in(s, text, params, n, &b);
    s->cells.n = s->text.n = 0;
    s->n_rows = s->n_cols = 0;
    s->affected = 0;
    s->has_rows = false;
    s->state[0] = 0;
    mysql_real_query(s->own, strbuf_cstr(&b), (unsigned long)b.n);
    strbuf_free(&b);
    enum db_answer a = told(s);
    MYSQL_RES *r = a == DB_OK ? mysql_store_result(s->own) : NULL;
    if (r) {
        keep_result(s, r);
        mysql_free_result(r);
        s->affected = s->n_rows;
    } else if (a == DB_OK) {
        a = told(s);
        s->affected = mysql_affected_rows(s->own);
    }
    if (a != DB_OK) snprintf(s->state, sizeof s->state, "%s", mysql_sqlstate(s->own));
    return a;
}

/* InnoDB's locks, and those on tables that are being altered.  Trap: InnoDB answers from a copy
   that it makes anew only if nobody has looked at it for a tenth of a second. */
static bool maria_waits(db_session *watcher, const db_session *s)
{
    char sql[320];
    clock_nap(COPY_AGE);
    unsigned long id = mysql_thread_id(s->own);
    snprintf(sql, sizeof sql,
             "SELECT (SELECT COUNT(*) FROM information_schema.innodb_trx WHERE "
             "trx_mysql_thread_id=%lu AND trx_state='LOCK WAIT')+(SELECT COUNT(*) FROM "
             "information_schema.processlist WHERE id=%lu AND state LIKE 'Waiting for table%%')",
             id, id);
    if (mysql_query(watcher->own, sql)) return false;
    MYSQL_RES *r = mysql_store_result(watcher->own);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool waits = row && row[0] && strcmp(row[0], "0") != 0;
    mysql_free_result(r);
    return waits;
}

/* Statements could name other databases of a server: only one of our own will do. */
static bool maria_enclose(db *d)
{
    maria_own *o = d->own;
    char sql[192];
    d->misuse = !d->temp.running;
    if (d->misuse) {
        db_fail(d->error, "statements of a log could name other databases of a server; "
                          "mariadb:temp is one of its own");
        return false;
    }
    MYSQL *c = patiently(d, o->name);
    if (!c) return false;
    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s", d->place);
    if (d->enclosed) mysql_query(c, sql); /* making it anew tells whether that went well */
    snprintf(sql, sizeof sql, "CREATE DATABASE %s COMMENT '" DB_MADE_BY "'", d->place);
    d->enclosed = d->made = o->database = !mysql_query(c, sql);
    if (!d->enclosed) db_fail(d->error, "%s", mysql_error(c));
    mysql_close(c);
    return d->enclosed;
}

const driver driver_mariadb = {
    .name = "mariadb",
    .isolations = "serializable repeatable-read snapshot-isolation read-committed read-uncommitted",
    .server = true,
    .open = maria_open,
    .close = maria_close,
    .load = maria_load,
    .connect = maria_connect,
    .disconnect = maria_disconnect,
    .snapshot = maria_snapshot,
    .begin = maria_begin,
    .get = maria_get,
    .put = maria_put,
    .append = maria_append,
    .remove = maria_remove,
    .range = maria_range,
    .commit = maria_commit,
    .abort = maria_abort,
    .script = maria_script,
    .query = maria_query,
    .waits = maria_waits,
    .enclose = maria_enclose,
};
