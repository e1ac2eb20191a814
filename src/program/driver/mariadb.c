/*
 * mariadb.c - MariaDB and MySQL through libmariadb.
 *
 *   mysql://user@host[:port]/db     the password from MYSQL_PWD or ~/.my.cnf
 *   mysql://user@a,b:3307/db        several nodes, on which the sessions are spread
 *   mariadb:temp                    a temporary server that Ratel starts (temp.h)
 *   mariadb:temp+replica            and a replica of it
 *   galera:temp[?nodes=N]           a Galera cluster, three nodes unless given
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
#include <poll.h>
#include <sys/socket.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "driver/adapters.h"

/* A Galera node copies its files before it is ready, which takes minutes on a busy machine. */
enum { READY_SECONDS = 240 };

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
    bool outcomes; /* there is a table of tokens */
    atomic_ullong tokens;
} maria_own;

static bool parse_host(db *d, const char *p, size_t n, char *host, size_t cap, unsigned *port)
{
    size_t len = 0;
    while (len < n && p[len] != ':') len++;
    snprintf(host, cap, "%.*s", (int)len, p);
    if (len == n) return true;
    char *end;
    unsigned long v = strtoul(p + len + 1, &end, 10);
    *port = (unsigned)v;
    if (end == p + n && v && v <= 65535) return true;
    db_fail(d->error, "\"%.*s\" is not a port", (int)(n - len - 1), p + len + 1);
    return false;
}

/* One host, or the nodes of a cluster with commas between. */
static bool parse_hosts(db *d, maria_own *o, const char *p, size_t n)
{
    if (!memchr(p, ',', n)) return parse_host(d, p, n, o->host, sizeof o->host, &o->port);
    for (const char *end = p + n; p < end; p += *p == ',') {
        size_t one = strcspn(p, ",/?");
        unsigned port = 0;
        db_node *to = &d->node[d->nodes];
        if (d->nodes == DB_NODES) {
            db_fail(d->error, "a cluster has at most %d nodes", DB_NODES);
            return false;
        }
        if (!parse_host(d, p, one, to->host, sizeof to->host, &port)) return false;
        snprintf(to->port, sizeof to->port, "%u", port);
        d->nodes++;
        p += one;
    }
    return true;
}

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
    if (!parse_hosts(d, o, p, n)) return false;
    p += n;
    if (*p == '/') snprintf(o->name, sizeof o->name, "%.*s", (int)strcspn(p + 1, "?"), p + 1);
    if (!*o->name) {
        db_fail(d->error, "the URL names no database");
        return false;
    }
    static const char *const known[] = {"socket", "pin", NULL};
    char socket[128];
    if (!db_parameters_known(d, known)) return false;
    if (db_parameter(d, "socket", socket, sizeof socket)) memcpy(o->socket, socket, sizeof socket);
    return true;
}

static MYSQL *connection(const db *d, uint32_t node, const char *name, char *error)
{
    const maria_own *o = d->own;
    const db_node *n = d->nodes ? &d->node[node] : NULL;
    const char *host = n ? n->host : o->host, *socket = o->socket;
    unsigned port = n ? (unsigned)strtoul(n->port, NULL, 10) : o->port;
    if (*host == '/') socket = host, host = "";
    MYSQL *c = mysql_init(NULL);
    if (!c) {
        db_fail(error, "no memory");
        return NULL;
    }
    if (!d->temp.running) mysql_options(c, MYSQL_READ_DEFAULT_GROUP, "client");
    if (mysql_real_connect(c, *host ? host : NULL, *o->user ? o->user : NULL, NULL, name, port,
                           *socket ? socket : NULL, 0))
        return c;
    db_fail(error, "%s", mysql_error(c));
    mysql_close(c);
    return NULL;
}

static MYSQL *patiently(db *d, uint32_t node, const char *name)
{
    uint64_t start = clock_now();
    for (;;) {
        MYSQL *c = connection(d, node, name, d->error);
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
            db_fail(d->error, "\"%.60s\" is not the name of a storage engine", o->engine);
            return false;
        }
    return true;
}

/* --- clusters --------------------------------------------------------------------------------- */

enum { REPLICATION_PORT = 3306, GROUP_PORT = 4567 };

enum { PROXIED_PORT = 13306 }; /* of the first node, for its replica, if faults ask for it */

static bool add_client_link(db *d, temp_spec *s, unsigned i)
{
    char listen[32], target[32];
    snprintf(listen, sizeof listen, "%%d/px/s%u", i);
    snprintf(target, sizeof target, "%%d/s%u", i);
    return db_link(d, s, i, false, listen, target);
}

/* What every node of a cluster has, in a directory and with a socket of its own. */
static bool node_arguments(db *d, temp_spec *s, unsigned i)
{
    static const char *const dirs[TEMP_NODES] = {"n0", "n1", "n2", "n3", "n4",
                                                 "n5", "n6", "n7", "n8"};
    const char **a = s->node[i].serve;
    s->node[i].dir = dirs[i];
    return db_argument(d, a, "mariadbd") && db_argument(d, a, "--no-defaults") &&
           db_argument(d, a, "--datadir=%%d/n%u", i) && db_argument(d, a, "--socket=%%d/s%u", i) &&
           db_argument(d, a, "--pid-file=%%d/pid%u", i) &&
           db_argument(d, a, "--bind-address=127.0.0.1") &&
           db_argument(d, a, "--port=%u", REPLICATION_PORT + i) &&
           db_argument(d, a, "--server-id=%u", i + 1) && db_argument(d, a, "--skip-grant-tables") &&
           db_argument(d, a, "--binlog-format=ROW") &&
           db_argument(d, a, "--innodb-buffer-pool-size=64M") &&
           db_argument(d, a, "--innodb-stats-persistent=0") &&
           db_argument(d, a, "--innodb-flush-log-at-trx-commit=%d", d->wants & DB_FSYNC ? 1 : 2) &&
           add_client_link(d, s, i);
}

static bool replica_arguments(db *d, temp_spec *s)
{
    char sync[8] = "off";
    db_parameter(d, "sync", sync, sizeof sync);
    bool waits = !strcmp(sync, "on");
    if (!waits && strcmp(sync, "off") != 0) {
        d->misuse = true;
        db_fail(d->error, "sync=... in the URL is on (semi-synchronous) or off");
        return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        const char **p = s->node[i].prepare;
        if (!node_arguments(d, s, i) || !db_argument(d, p, "mariadbd") ||
            !db_argument(d, p, "--no-defaults") || !db_argument(d, p, "--bootstrap") ||
            !db_argument(d, p, "--datadir=%%d/n%u", i) ||
            !db_argument(d, p, "--skip-grant-tables") ||
            !db_argument(d, p, "--innodb-stats-persistent=0"))
            return false;
        if (i == 0 && !db_argument(d, s->node[0].serve, "--log-bin=%%d/n0/binlog")) return false;
        if (waits && !db_argument(d, s->node[i].serve, "--rpl-semi-sync-%s-enabled=ON",
                                  i ? "slave" : "master"))
            return false;
    }
    return true;
}

/* Galera keeps tables in the system database, so that there must be one. */
static bool galera_arguments(db *d, temp_spec *s)
{
    char all[256] = "gcomm://";
    for (unsigned i = 0; i < s->nodes; i++) {
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s127.0.0.1:%u", i ? "," : "", GROUP_PORT + 10 * i);
    }
    for (unsigned i = 0; i < s->nodes; i++) {
        const char **p = s->node[i].prepare, **a = s->node[i].serve;
        unsigned port = GROUP_PORT + 10 * i;
        /* The others get their files from the first. */
        if (!i &&
            (!db_argument(d, p, "mariadb-install-db") || !db_argument(d, p, "--no-defaults") ||
             !db_argument(d, p, "--datadir=%%d/n0") || !db_argument(d, p, "--skip-test-db") ||
             !db_argument(d, p, "--auth-root-authentication-method=normal")))
            return false;
        if (!node_arguments(d, s, i) || !db_argument(d, a, "--wsrep-on=ON") ||
            !db_argument(d, a, "--wsrep-provider=/usr/lib/galera/libgalera_smm.so") ||
            !db_argument(d, a, "--wsrep-cluster-name=ratel") ||
            !db_argument(d, a, "--wsrep-cluster-address=%s", all) ||
            !db_argument(d, a, "--wsrep-node-address=127.0.0.1:%u", port) ||
            !db_argument(d, a, "--wsrep-sst-method=rsync") ||
            !db_argument(d, a, "--wsrep-sst-receive-address=127.0.0.1:%u", 4444 + i) ||
            !db_argument(d, a,
                         "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:%u;"
                         "ist.recv_addr=127.0.0.1:%u;gcache.size=16M",
                         port, port + 1) ||
            !db_argument(d, a, "--innodb-autoinc-lock-mode=2"))
            return false;
    }
    s->node[0].first = "--wsrep-new-cluster";
    return true;
}

/* The last column of the first row; "" if there is none. */
static void shown(MYSQL *c, const char *sql, char *to, size_t cap)
{
    *to = 0;
    MYSQL_RES *r = mysql_query(c, sql) ? NULL : mysql_store_result(c);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    unsigned last = r ? mysql_num_fields(r) - 1 : 0;
    if (row && row[last]) snprintf(to, cap, "%s", row[last]);
    mysql_free_result(r);
}

static bool becomes(db *d, uint32_t node, const char *sql, const char *want)
{
    char got[64] = "";
    for (uint64_t begun = clock_now(); clock_now() - begun < READY_SECONDS * 1000000000ull;) {
        MYSQL *c = connection(d, node, NULL, d->error);
        if (c) {
            shown(c, sql, got, sizeof got);
            mysql_close(c);
        }
        if (!strcmp(got, want)) return true;
        if (temp_ended(&d->temp, d->error, sizeof d->error)) return false;
        clock_nap(50000000);
    }
    db_fail(d->error, "node %c does not become ready (%s)", (char)('a' + node), got);
    return false;
}

static bool does_steps(db *d, uint32_t node, const char *const *steps)
{
    MYSQL *c = patiently(d, node, NULL);
    bool done = c != NULL;
    for (size_t i = 0; done && steps[i]; i++)
        if (mysql_query(c, steps[i])) {
            db_fail(d->error, "%s", mysql_error(c));
            done = false;
        }
    if (c) mysql_close(c);
    return done;
}

/* Replication keeps its position in a table of a system database that our servers do not have. */
static bool start_replica(db *d)
{
    static const char *const position[] = {
        "SET SESSION sql_log_bin=0",
        "CREATE DATABASE IF NOT EXISTS mysql",
        "CREATE TABLE mysql.gtid_slave_pos(domain_id INT UNSIGNED NOT NULL,"
        "sub_id BIGINT UNSIGNED NOT NULL,server_id INT UNSIGNED NOT NULL,"
        "seq_no BIGINT UNSIGNED NOT NULL,PRIMARY KEY(domain_id,sub_id)) ENGINE=InnoDB",
        NULL,
    };
    char change[160];
    const char *const follow[] = {change, "START SLAVE", NULL};
    snprintf(change, sizeof change,
             "CHANGE MASTER TO MASTER_HOST='127.0.0.1',MASTER_PORT=%d,MASTER_USER='ratel',"
             "MASTER_CONNECT_RETRY=1",
             d->has & DB_SERVER_LINKS ? (int)PROXIED_PORT : (int)REPLICATION_PORT);
    return does_steps(d, 0, position) && temp_start_node(&d->temp, 1, d->error, sizeof d->error) &&
           does_steps(d, 1, position) && does_steps(d, 1, follow) &&
           becomes(d, 1, "SHOW STATUS LIKE 'Slave_running'", "ON");
}

static bool start_galera(db *d)
{
    static const char ready[] = "SHOW STATUS LIKE 'wsrep_local_state_comment'";
    for (uint32_t i = 0; i < d->nodes; i++) {
        if (i && !temp_start_node(&d->temp, i, d->error, sizeof d->error)) return false;
        if (!becomes(d, i, ready, "Synced")) return false;
    }
    return true;
}

/* Nodes of a URL, and replicas among them. */
static bool read_roles(db *d)
{
    char text[8];
    for (uint32_t i = 0; i < d->nodes && !d->temp.running; i++) {
        MYSQL *c = patiently(d, i, NULL);
        if (!c) return false;
        shown(c, "SELECT @@read_only", text, sizeof text);
        mysql_close(c);
        atomic_store(&d->node[i].read_only, *text == '1');
        snprintf(d->node[i].role, sizeof d->node[i].role, *text == '1' ? "replica" : "primary");
        if (*text == '1') snprintf(d->form, sizeof d->form, "mariadb+replica");
    }
    return d->nodes < 2 || *d->pin || db_pin(d);
}

/* What was loaded is on every node before a session reads there. */
static bool is_everywhere(db *d, MYSQL *c, size_t rows)
{
    char position[128], sql[256], want[24];
    for (uint32_t i = 0; i < d->nodes; i++) {
        if (i == db_primary(d)) continue;
        const maria_own *o = d->own;
        snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM %s.%s", o->database ? d->place : o->name,
                 d->place);
        snprintf(want, sizeof want, "%zu", rows);
        if (atomic_load(&d->node[i].read_only)) {
            shown(c, "SELECT @@gtid_binlog_pos", position, sizeof position);
            snprintf(sql, sizeof sql, "SELECT MASTER_GTID_WAIT('%s',30)", position);
            snprintf(want, sizeof want, "0");
        }
        if (!becomes(d, i, sql, want)) return false;
    }
    return true;
}

static void name_nodes(db *d, bool galera)
{
    for (uint32_t i = 0; i < d->nodes; i++) {
        db_node *n = &d->node[i];
        snprintf(n->host, sizeof n->host, "%s%s/s%u", d->temp.dir, d->has & DB_LINKS ? "/px" : "",
                 i);
        snprintf(n->role, sizeof n->role, galera ? "member" : i ? "replica" : "primary");
        atomic_store(&n->read_only, !galera && i > 0);
    }
    snprintf(d->form, sizeof d->form, galera ? "galera" : "mariadb+replica");
}

static bool open_cluster(db *d, bool galera)
{
    static const char *const known[] = {"bin", "set", "connections", "nodes", "pin", NULL};
    static const char *const with[] = {"bin", "set", "connections", "engine", "sync", "pin", NULL};
    uint32_t connections, nodes;
    temp_spec *s = mem_zeroed(d->mem, sizeof *s);
    s->user = server.user;
    s->path = "/usr/{s,}bin";
    s->restart = SIGTERM;
    s->network = true;
    if (!db_parameters_known(d, galera ? known : with) || !read_engine(d) || !db_programs(d, s) ||
        !db_parameter_number(d, "nodes", 2, DB_NODES, galera ? 3 : 2, &nodes) ||
        !db_parameter_number(d, "connections", 1, 100000, 600, &connections))
        return false;
    s->nodes = d->nodes = nodes;
    if (!db_pin(d) || !db_preload(d, s) ||
        !(galera ? galera_arguments(d, s) : replica_arguments(d, s)) ||
        (!galera && !db_link(d, s, 0, true, "13306", "3306")))
        return false;
    for (uint32_t i = 0; i < nodes; i++)
        if (!db_argument(d, s->node[i].serve, "--max-connections=%u", connections) ||
            !db_server_settings(d, s->node[i].serve, NULL, "--%s=%s"))
            return false;
    if (!temp_start(&d->temp, s, d->error, sizeof d->error)) return false;
    name_nodes(d, galera);
    return galera ? start_galera(d) : start_replica(d);
}

static bool open_temporary(db *d, const char *form)
{
    static const char *const known[] = {"bin", "set", "connections", "engine", NULL};
    maria_own *o = d->own;
    uint32_t connections;
    bool galera = !strcmp(d->scheme, "galera");
    snprintf(o->name, sizeof o->name, "ratel");
    if (*form ? !galera && !strcmp(form, "replica") : galera) return open_cluster(d, galera);
    temp_spec *s = mem_get(d->mem, sizeof *s);
    *s = server;
    if (*form) {
        d->misuse = true;
        db_fail(d->error, "expected mariadb:temp, mariadb:temp+replica or galera:temp");
        return false;
    }
    if (!db_parameters_known(d, known) || !read_engine(d) || !db_programs(d, s) ||
        !db_parameter_number(d, "connections", 1, 100000, 600, &connections) ||
        !db_argument(d, s->node[0].serve, "--max-connections=%u", connections) ||
        (d->wants & DB_FSYNC &&
         !db_argument(d, s->node[0].serve, "--innodb-flush-log-at-trx-commit=1")) ||
        !db_server_settings(d, s->node[0].serve, NULL, "--%s=%s") || !db_preload(d, s) ||
        !db_link(d, s, 0, false, "%d/px/socket", "%d/socket") ||
        !temp_start(&d->temp, s, d->error, sizeof d->error))
        return false;
    snprintf(o->socket, sizeof o->socket, "%s%s/socket", d->temp.dir,
             d->has & DB_LINKS ? "/px" : "");
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
    if (!read_roles(d)) return false;
    MYSQL *c = patiently(d, db_primary(d), temp ? NULL : o->name);
    if (!c) return false;
    const char *v = mysql_get_server_info(c);
    snprintf(d->version, sizeof d->version, "%s %.*s", strstr(v, "Maria") ? "MariaDB" : "MySQL",
             (int)strcspn(v, "-"), v);
    read_settings(d, c);
    bool done = !temp || !mysql_query(c, "CREATE DATABASE IF NOT EXISTS ratel");
    o->outcomes = done && temp && d->nodes < 2 && !strcmp(o->engine, "InnoDB") &&
                  !mysql_query(c, "CREATE TABLE ratel.ratel_tokens(k BIGINT PRIMARY KEY) "
                                  "ENGINE=InnoDB COMMENT='" DB_MADE_BY "'");
    if (!done) db_fail(d->error, "%s", mysql_error(c));
    mysql_close(c);
    return done;
}

/* A temporary server goes as a whole. */
static void maria_close(db *d)
{
    const maria_own *o = d->own;
    char sql[96], why[DB_ERROR];
    MYSQL *c = d->made && !d->temp.running ? connection(d, db_primary(d), o->name, why) : NULL;
    if (c) {
        /* A run with a table of ours may have come before one with a database. */
        snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS %s", d->place);
        bool done = !mysql_query(c, sql);
        snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s", d->place);
        if (o->database) done = !mysql_query(c, sql) && done;
        if (done) d->made = false;
        mysql_close(c);
    }
    mysql_thread_end();
}

static bool maria_load(db *d, const db_row *rows, size_t n)
{
    const maria_own *o = d->own;
    /* Once there is a database of ours, for tables of SQL, all connections go there. */
    MYSQL *c = patiently(d, db_primary(d), o->database ? d->place : o->name);
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
    done = done && is_everywhere(d, c, n);
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
    /* 1005: a table, 1021: the disk, 1026: a file, 1030: what InnoDB says, 1114: a tablespace. */
    if (code == 1005 || code == 1021 || code == 1026 || code == 1030 || code == 1114)
        return db_disk_full(s->db, commit);
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
    s->own = connection(s->db, s->node, o->database ? s->db->place : o->name, s->error);
    if (!s->own) return DB_LOST;
    if (s->gives_up && mysql_options(s->own, MYSQL_OPT_NONBLOCK, 0)) {
        db_fail(s->error, "%s", "no memory");
        maria_disconnect(s);
        return DB_LOST;
    }
    size_t i = 0;
    const char *isolation = s->db->parts ? s->db->part[0].isolation : s->db->isolation;
    while (i < 4 && strcmp(levels[i][0], isolation) != 0) i++;
    enum db_answer a = execute(s, levels[i][1]);
    /* a script of interleavings must not be let go by a limit because the machine is slow */
    if (a == DB_OK) a = execute(s, "SET SESSION innodb_lock_wait_timeout=20");
    if (a == DB_OK) a = execute(s, "SET SESSION lock_wait_timeout=60"); /* of tables: else a day */
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
                     "AND v IS NOT NULL ORDER BY k%s",
                     s->db->place, (long long)from, (long long)to, s->reverse ? " DESC" : "");
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

/* There is no UPDATE ... RETURNING; LAST_INSERT_ID(x) comes back with the answer. */
static enum db_answer add_to_row(db_session *s, int64_t key, int64_t amount)
{
    char sql[160];
    snprintf(sql, sizeof sql, "UPDATE %s SET v=LAST_INSERT_ID(v+%lld) WHERE k=%lld", s->db->place,
             (long long)amount, (long long)key);
    enum db_answer a = execute(s, sql);
    if (a != DB_OK) return a;
    s->absent = !mysql_affected_rows(s->own);
    s->value = (int64_t)mysql_insert_id(s->own);
    return DB_OK;
}

/* An UPDATE, and the update of an upsert, see the newest row. */
static enum db_answer maria_add(db_session *s, int64_t key, int64_t amount, bool upsert)
{
    char sql[192];
    enum db_answer a;
    s->newest = true;
    if (!upsert) return add_to_row(s, key, amount);
    bool returns = !strncmp(s->db->version, "MariaDB", 7);
    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(%lld,%lld) ON DUPLICATE KEY UPDATE v=%s",
             s->db->place, (long long)key, (long long)amount,
             returns ? "v+VALUES(v) RETURNING v" : "LAST_INSERT_ID(v+VALUES(v))");
    s->absent = false;
    if (!returns) { /* one row is an insert, two are an update */
        a = execute(s, sql);
        s->value = a == DB_OK && mysql_affected_rows(s->own) == 2 ? (int64_t)mysql_insert_id(s->own)
                                                                  : amount;
        return a;
    }
    MYSQL_RES *r = selected(s, sql, &a);
    if (!r) return a;
    MYSQL_ROW row = mysql_fetch_row(r);
    s->absent = !row || !row[0];
    if (!s->absent) s->value = strtoll(row[0], NULL, 10);
    mysql_free_result(r);
    return DB_OK;
}

static enum db_answer maria_nest(db_session *s, enum db_nesting what)
{
    if (what == DB_SAVEPOINT) return execute(s, "SAVEPOINT ratel");
    enum db_answer a = what == DB_UNDO ? execute(s, "ROLLBACK TO ratel") : DB_OK;
    return a == DB_OK ? execute(s, "RELEASE SAVEPOINT ratel") : a;
}

static bool maria_alone(const db *d)
{
    return !d->parts;
}

static enum db_answer maria_abort(db_session *s)
{
    return execute(s, "ROLLBACK") == DB_OK ? DB_OK : DB_LOST;
}

static bool in_transaction(db_session *s)
{
    unsigned status = 0;
    mariadb_get_infov(s->own, MARIADB_CONNECTION_SERVER_STATUS, &status);
    return (status & SERVER_STATUS_IN_TRANS) != 0;
}

/* A row that is there if and only if the transaction was committed.  Outside of a transaction,
   which the server may have rolled back by itself, it would be there in any case. */
static void maria_token(db_session *s)
{
    maria_own *o = s->db->own;
    char sql[96];
    *s->mark = 0;
    if (!o->outcomes || !in_transaction(s)) return;
    unsigned long long k = atomic_fetch_add(&o->tokens, 1) + 1;
    int n = snprintf(sql, sizeof sql, "INSERT INTO ratel.ratel_tokens VALUES(%llu)", k);
    if (mysql_real_query(s->own, sql, (unsigned long)n) || !in_transaction(s)) return;
    snprintf(s->mark, sizeof s->mark, "%llu", k);
}

/* The read locks: a transaction that still has the row, also one that the server is about to roll
   back after a crash, is waited for. */
static enum db_answer maria_outcome(db_session *s)
{
    char sql[96];
    int n = snprintf(sql, sizeof sql, "SELECT k FROM ratel.ratel_tokens WHERE k=%s FOR UPDATE",
                     s->mark);
    if (mysql_real_query(s->own, sql, (unsigned long)n)) return DB_LOST;
    MYSQL_RES *r = mysql_store_result(s->own);
    if (!r) return DB_LOST;
    bool there = mysql_num_rows(r) > 0;
    mysql_free_result(r);
    return there ? DB_OK : DB_REFUSED;
}

static enum db_answer maria_commit(db_session *s)
{
    if (!in_transaction(s)) {
        db_fail(s->error, "rolled back before the commit");
        return DB_REFUSED;
    }
    mysql_real_query(s->own, "COMMIT", 6);
    return told_of(s, true);
}

/* --- any SQL ---------------------------------------------------------------------------------- */

static void add_literal(db_session *s, const char *value, strbuf *out)
{
    size_t length = value ? strlen(value) : 0;
    char *quoted = mem_get(s->mem, 2 * length + 1);
    if (value) mysql_real_escape_string(s->own, quoted, value, (unsigned long)length);
    strbuf_printf(out, value ? "'%s'" : "NULL", quoted);
    mem_put(s->mem, quoted);
}

/* A parameter of our own workloads, such as $12: numbers stay numbers.  (In texts from elsewhere
   $12 may be a name.)  *p is moved past it. */
static bool fill_numbered(db_session *s, const char **p, const char *const *params, uint32_t n,
                          strbuf *out)
{
    size_t digits = **p == '$' && !s->db->enclosed ? strspn(*p + 1, "0123456789") : 0;
    unsigned long number = digits && digits < 4 ? strtoul(*p + 1, NULL, 10) : 0;
    if (!number || number > n) return false;
    const char *value = params[number - 1];
    bool whole = value && *value && !value[strspn(value, "0123456789")];
    if (whole)
        strbuf_str(out, value);
    else
        add_literal(s, value, out);
    *p += 1 + digits;
    return true;
}

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
            add_literal(s, params[next++], out);
            p++;
        } else if (!fill_numbered(s, &p, params, n, out)) {
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
    MYSQL *c = patiently(d, db_primary(d), o->database ? d->place : o->name);
    if (!c) return false;
    char sql[192];
    bool done = !mysql_query(c, "SET SESSION lock_wait_timeout=60"); /* of tables: else a day */
    if (!done) db_fail(d->error, "%s", mysql_error(c));
    if (done && !o->database) {
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

/* What the client library waits for has come, or whoever asks gives up: then the connection ends.
   (Rows may come one by one for as long as the statement likes.) */
static int await_more(db_session *s, int waits)
{
    struct pollfd f = {mysql_get_socket(s->own), 0, 0};
    f.events =
        (short)((waits & MYSQL_WAIT_READ ? POLLIN : 0) | (waits & MYSQL_WAIT_WRITE ? POLLOUT : 0));
    while (poll(&f, 1, 200) <= 0)
        if (s->gives_up(s->gives_up_ud)) shutdown(f.fd, SHUT_RDWR);
    return waits;
}

static void read_result(db_session *s)
{
    my_bool failed;
    if (!s->gives_up) {
        mysql_read_query_result(s->own);
        return;
    }
    for (int w = mysql_read_query_result_start(&failed, s->own); w;)
        w = mysql_read_query_result_cont(&failed, s->own, await_more(s, w));
}

static MYSQL_RES *store_result(db_session *s)
{
    MYSQL_RES *r = NULL;
    if (!s->gives_up) return mysql_store_result(s->own);
    for (int w = mysql_store_result_start(&r, s->own); w;)
        w = mysql_store_result_cont(&r, s->own, await_more(s, w));
    return r;
}

/* Of a statement whose result is there. */
static enum db_answer keep_answer(db_session *s)
{
    enum db_answer a = told(s);
    MYSQL_RES *r = a == DB_OK ? store_result(s) : NULL;
    s->cells.n = s->text.n = 0;
    s->n_rows = s->n_cols = 0;
    s->affected = 0;
    s->has_rows = false;
    s->state[0] = 0;
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

static enum db_answer maria_query(db_session *s, const char *text, const char *const *params,
                                  uint32_t n)
{
    strbuf b;
    strbuf_init(&b, s->mem);
    fill_in(s, text, params, n, &b);
    if (!s->gives_up)
        mysql_real_query(s->own, strbuf_cstr(&b), (unsigned long)b.n);
    else if (!mysql_send_query(s->own, strbuf_cstr(&b), (unsigned long)b.n))
        read_result(s);
    strbuf_free(&b);
    return keep_answer(s);
}

/* The protocol has one statement at a time. */
static bool maria_send(db_session *s, const char *name, const char *text, const char *const *params,
                       uint32_t n, bool last)
{
    strbuf b;
    (void)name, (void)last;
    strbuf_init(&b, s->mem);
    fill_in(s, text, params, n, &b);
    bool sent = !mysql_send_query(s->own, strbuf_cstr(&b), (unsigned long)b.n);
    strbuf_free(&b);
    if (!sent) told(s);
    return sent;
}

static enum db_answer maria_receive(db_session *s, int wait_ms, bool *pending)
{
    struct pollfd f = {mysql_get_socket(s->own), POLLIN, 0};
    *pending = poll(&f, 1, wait_ms) <= 0; /* a signal is told by the next look at the limits */
    if (*pending) return DB_OK;
    read_result(s);
    return keep_answer(s);
}

/* In InnoDB's report: does the transaction of this connection wait for a lock?  Each transaction
   begins with a line of dashes; the line about its locks comes before that of its connection, and
   the statement, which may hold anything, after both. */
static bool waits_in_report(const char *report, unsigned long id)
{
    static const char list[] = "\nLIST OF TRANSACTIONS FOR EACH SESSION:";
    static const char transaction[] = "---TRANSACTION", waiting[] = "LOCK WAIT ";
    static const char *const connections[] = {"MariaDB thread id ", "MySQL thread id "};
    const char *line = strstr(report, list);
    bool waits = false;
    while (line && (line = strchr(line, '\n')) != NULL) {
        line++;
        if (!strncmp(line, transaction, sizeof transaction - 1)) waits = false;
        if (!strncmp(line, waiting, sizeof waiting - 1)) waits = true;
        for (size_t i = 0; i < 2; i++) {
            size_t n = strlen(connections[i]);
            if (strncmp(line, connections[i], n) != 0) continue;
            if (waits && strtoul(line + n, NULL, 10) == id) return true;
            waits = false;
        }
    }
    return false;
}

/* InnoDB's locks, and those on tables that are being altered.  Trap: the tables of
   information_schema about InnoDB are a copy that is made anew only if nobody has read it for a
   tenth of a second: a session that has just been let go still waits there, and two watchers keep
   each other's copy old.  InnoDB's report is written when it is asked for. */
static enum db_waiting maria_waits(db_session *watcher, const db_session *s)
{
    char sql[160], found[8];
    unsigned long id = mysql_thread_id(s->own);
    if (mysql_query(watcher->own, "SHOW ENGINE INNODB STATUS")) return DB_UNTOLD;
    MYSQL_RES *r = mysql_store_result(watcher->own);
    MYSQL_ROW row = r && mysql_num_fields(r) == 3 ? mysql_fetch_row(r) : NULL;
    bool told = row && row[2], waits = told && waits_in_report(row[2], id);
    mysql_free_result(r);
    if (!told || waits) return told ? DB_WAITS : DB_UNTOLD;
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM information_schema.processlist WHERE id=%lu AND "
             "state LIKE 'Waiting for table%%'",
             id);
    shown(watcher->own, sql, found, sizeof found);
    return *found ? *found != '0' ? DB_WAITS : DB_GOES_ON : DB_UNTOLD;
}

static void maria_cut(db *d, const db_session *s)
{
    char sql[64], why[DB_ERROR];
    MYSQL *c = connection(d, s->node, NULL, why);
    if (!c) return;
    snprintf(sql, sizeof sql, "KILL CONNECTION %lu", mysql_thread_id(s->own));
    mysql_query(c, sql); /* it may have gone by itself */
    mysql_close(c);
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
    MYSQL *c = patiently(d, db_primary(d), o->name);
    if (!c) return false;
    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s", d->place);
    if (d->enclosed) mysql_query(c, sql); /* making it anew tells whether that went well */
    snprintf(sql, sizeof sql, "CREATE DATABASE %s COMMENT '" DB_MADE_BY "'", d->place);
    d->enclosed = d->made = o->database = !mysql_query(c, sql);
    if (!d->enclosed) db_fail(d->error, "%s", mysql_error(c));
    mysql_close(c);
    return d->enclosed;
}

/* What the primary had sent is applied first; Galera's members are all primaries. */
static bool maria_make_primary(db *d, uint32_t node)
{
    static const char *const lead[] = {"STOP SLAVE", "RESET SLAVE ALL", NULL};
    return becomes(d, node,
                   "SELECT IF(COUNT(*)=0,'none','some') FROM information_schema.processlist "
                   "WHERE state LIKE 'Reading event%' OR state LIKE 'Waiting for prior%'",
                   "none") &&
           does_steps(d, node, lead);
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
    .reverses = true,
    .add = maria_add,
    .nest = maria_nest,
    .alone = maria_alone,
    .commit = maria_commit,
    .abort = maria_abort,
    .script = maria_script,
    .query = maria_query,
    .send = maria_send,
    .receive = maria_receive,
    .token = maria_token,
    .outcome = maria_outcome,
    .waits = maria_waits,
    .cut = maria_cut,
    .enclose = maria_enclose,
    .promote = maria_make_primary,
};
