/*
 * my_side.c - reads MariaDB's information_schema: tables as CREATE statements, and their rows.
 *
 * The statements are written in the SQL that PostgreSQL and MariaDB share, so that `ratel audit`
 * and a reference engine can both begin with them.  Tables with other types, or with triggers, are
 * named under left_out, with the reason.  Everything is read in one transaction.
 */
#include "driver/my_side.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver/my_native.h"

typedef struct side_work {
    pg_side *s;
    MYSQL *c;
    mem *mem;
    pg_side_schema *o;
    strbuf setup, left, tables, sql, line;
    bool routines; /* there are stored functions or procedures */
    bool indirect; /* a statement may write tables that it does not name, or nobody can say */
    bool loose;    /* the server's sql_mode is not strict */
    my_native native;
    bool has_native;
    strbuf others; /* names of tables that only the native setup has, each ends with NUL */
} side_work;

static bool my_error(pg_side *s, const char *text)
{
    snprintf(s->error, sizeof s->error, "%s", text);
    return false;
}

/* Takes the parts of the URL; the user and the socket go to their places. */
static bool parse_url(pg_side *s, const char *url, char *user, char *socket, size_t cap)
{
    const char *p = strstr(url, "://");
    if (!p) return my_error(s, "expected mariadb://[user@]host[:port]/database");
    p += 3;
    size_t n = strcspn(p, "/?");
    const char *at = memchr(p, '@', n);
    if (at && memchr(p, ':', (size_t)(at - p)))
        return my_error(s, "a password in the URL is not accepted: use MYSQL_PWD or ~/.my.cnf");
    *user = *socket = 0;
    if (at) {
        snprintf(user, cap, "%.*s", (int)(at - p), p);
        n -= (size_t)(at + 1 - p);
        p = at + 1;
    }
    const char *colon = memchr(p, ':', n);
    size_t host = colon ? (size_t)(colon - p) : n;
    snprintf(s->host, sizeof s->host, "%.*s", (int)host, host ? p : "");
    snprintf(s->port, sizeof s->port, "%.*s", colon ? (int)(n - host - 1) : 4,
             colon ? colon + 1 : "3306");
    p += n;
    if (*p == '/')
        snprintf(s->database, sizeof s->database, "%.*s", (int)strcspn(p + 1, "?"), p + 1);
    const char *named = strstr(p, "socket=");
    if (named) snprintf(socket, cap, "%.*s", (int)strcspn(named + 7, "&"), named + 7);
    if (*socket == '/') snprintf(s->host, sizeof s->host, "%s", socket);
    if (!*s->host) snprintf(s->host, sizeof s->host, "localhost");
    return *s->database || my_error(s, "the URL names no database");
}

/* A parameter of the URL, such as sslmode=require. */
static void url_parameter(const char *url, const char *name, char *to, size_t cap)
{
    size_t n = strlen(name);
    for (const char *p = strchr(url, '?'); p; p = strchr(p, '&')) {
        p++;
        if (strncmp(p, name, n) != 0 || p[n] != '=') continue;
        snprintf(to, cap, "%.*s", (int)strcspn(p + n + 1, "&"), p + n + 1);
    }
}

/* As libpq's sslmode means it. */
static bool set_encryption(pg_side *s, MYSQL *c, const char *url)
{
    my_bool yes = 1, no = 0;
    url_parameter(url, "sslmode", s->sslmode, sizeof s->sslmode);
    url_parameter(url, "sslrootcert", s->root, sizeof s->root);
    bool named = !strcmp(s->sslmode, "verify-full"), by_root = !strcmp(s->sslmode, "verify-ca");
    bool known = !*s->sslmode || !strcmp(s->sslmode, "disable") || !strcmp(s->sslmode, "require");
    if (!known && !named && !by_root)
        return my_error(s, "sslmode is disable, require, verify-ca or verify-full");
    if (!*s->sslmode || !strcmp(s->sslmode, "disable")) return true;
    mysql_options(c, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(c, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, named ? &yes : &no);
    if (*s->root) mysql_options(c, MYSQL_OPT_SSL_CA, s->root);
    return true;
}

bool my_side_open(pg_side *s, const char *url)
{
    char user[128], socket[PG_SIDE_NAME];
    memset(s, 0, sizeof *s);
    if (!parse_url(s, url, user, socket, sizeof user)) return false;
    MYSQL *c = mysql_init(NULL);
    if (!c) return my_error(s, "no memory");
    s->own = c;
    mysql_options(c, MYSQL_READ_DEFAULT_GROUP, "client");
    if (!set_encryption(s, c, url)) return false;
    bool local = *s->host == '/';
    if (mysql_real_connect(c, local ? NULL : s->host, *user ? user : NULL, NULL, s->database,
                           local ? 0 : (unsigned)strtoul(s->port, NULL, 10), local ? s->host : NULL,
                           0))
        return true;
    return my_error(s, mysql_error(c));
}

void my_side_close(pg_side *s)
{
    if (s->own) mysql_close(s->own);
    s->own = NULL;
}

static bool tell_server(side_work *w, const char *sql)
{
    return !mysql_query(w->c, sql) || my_error(w->s, mysql_error(w->c));
}

static MYSQL_RES *rows_of(side_work *w, const char *sql)
{
    if (!tell_server(w, sql)) return NULL;
    MYSQL_RES *r = mysql_store_result(w->c);
    if (!r) my_error(w->s, mysql_error(w->c));
    return r;
}

/* The type of a column in the SQL that both products have, or NULL. */
static const char *common_type(const char *data, const char *full)
{
    static const char *const types[][2] = {{"tinyint", "smallint"}, {"smallint", "smallint"},
                                           {"mediumint", "int"},    {"int", "int"},
                                           {"bigint", "bigint"},    {"text", "text"},
                                           {"tinytext", "text"},    {"mediumtext", "text"},
                                           {"longtext", "text"},    {"date", "date"}};
    bool wide = strstr(full, "unsigned") != NULL;
    if (!strcmp(data, "varchar") || !strcmp(data, "char") || !strcmp(data, "decimal"))
        return strstr(full, "unsigned") || strstr(full, "zerofill") ? NULL : full;
    if (!strcmp(data, "datetime")) return strcmp(full, "datetime") ? NULL : "timestamp(0)";
    if (wide) return !strcmp(data, "bigint") ? NULL : "bigint";
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(data, types[i][0])) return types[i][1];
    return NULL;
}

/* What may change rows of a table without a statement that names it, or NULL. */
static const char *written_otherwise(side_work *w, const char *table)
{
    char query[512];
    snprintf(query, sizeof query,
             "SELECT count(*) FROM information_schema.referential_constraints WHERE"
             " constraint_schema = database() AND table_name = '%s' AND (delete_rule NOT IN"
             " ('RESTRICT', 'NO ACTION') OR update_rule NOT IN ('RESTRICT', 'NO ACTION'))",
             table);
    MYSQL_RES *r = rows_of(w, query);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool plain = row && row[0] && !strcmp(row[0], "0");
    mysql_free_result(r);
    return plain ? NULL : "other tables write it through a foreign key";
}

/* ROLLBACK undoes nothing in a table of MyISAM, Aria or MEMORY, and a query may see half of a
   statement there. */
static bool is_transactional(side_work *w, const char *table)
{
    char query[512];
    snprintf(query, sizeof query,
             "SELECT count(*) FROM information_schema.tables t JOIN information_schema.engines e"
             " ON e.engine = t.engine WHERE t.table_schema = database() AND t.table_name = '%s'"
             " AND e.transactions = 'YES'",
             table);
    MYSQL_RES *r = rows_of(w, query);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool yes = row && row[0] && !strcmp(row[0], "1");
    mysql_free_result(r);
    return yes;
}

/* A name in capitals means another table if the server tells them apart, and PostgreSQL's grammar
   does not. */
static bool is_only_of_name(side_work *w, const char *table)
{
    char query[512];
    snprintf(query, sizeof query,
             "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()"
             " AND lower(table_name) = '%s'",
             table);
    MYSQL_RES *r = rows_of(w, query);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool yes = row && row[0] && !strcmp(row[0], "1");
    mysql_free_result(r);
    return yes;
}

/* Is the default of a column a number, or a text in quotes without escapes?  MariaDB quotes texts,
   MySQL does not, so that there only numbers of columns that hold numbers are certain. */
static bool is_plain_default(const char *is, const char *data)
{
    size_t n = strlen(is), i = *is == '-';
    if (n > 1 && *is == '\'' && is[n - 1] == '\'')
        return n == 2 || (!memchr(is + 1, '\'', n - 2) && !memchr(is, '\\', n));
    if (strstr(data, "char") || strstr(data, "text")) return false;
    for (bool dot = false; i < n; i++) {
        if (is[i] == '.' && !dot)
            dot = true;
        else if (is[i] < '0' || is[i] > '9')
            return false;
    }
    return n > 0;
}

/* CREATE TABLE of one table in w->sql; why it cannot be written, or NULL. */
static const char *describe_table(side_work *w, const char *table)
{
    static const char *const columns =
        "SELECT column_name, data_type, column_type, is_nullable, extra, column_key,"
        " column_default FROM"
        " information_schema.columns WHERE table_schema = database() AND table_name = '%s'"
        " ORDER BY ordinal_position";
    static const char *const keys =
        "SELECT column_name FROM information_schema.key_column_usage WHERE table_schema ="
        " database() AND table_name = '%s' AND constraint_name = 'PRIMARY'"
        " ORDER BY ordinal_position";
    char query[1024];
    const char *why = NULL;
    snprintf(query, sizeof query, columns, table);
    MYSQL_RES *r = rows_of(w, query);
    if (!r) return "its columns cannot be read";
    w->sql.n = 0;
    strbuf_printf(&w->sql, "CREATE TABLE %s (", table);
    MYSQL_ROW row;
    for (unsigned i = 0; (row = mysql_fetch_row(r)); i++) {
        const char *type = common_type(row[1], row[2]);
        if (!type) why = "a column has a type that is not understood";
        if (row[4] && *row[4]) why = "a column generates its values itself";
        if (!strcmp(row[5], "PRI") && (strstr(row[1], "char") || strstr(row[1], "text")))
            why = "its key is a text, which may be compared without regard to case";
        bool filled = row[6] && strcmp(row[6], "NULL") != 0;
        if (filled && !is_plain_default(row[6], row[1]))
            why = "a column has a default that is not understood";
        strbuf_printf(&w->sql, "%s%s %s%s%s%s", i ? ", " : "", row[0], type ? type : "?",
                      filled ? " DEFAULT " : "", filled ? row[6] : "",
                      *row[3] == 'N' ? " NOT NULL" : "");
    }
    mysql_free_result(r);
    snprintf(query, sizeof query, keys, table);
    r = rows_of(w, query);
    if (!r) return "its keys cannot be read";
    for (unsigned i = 0; (row = mysql_fetch_row(r)); i++)
        strbuf_printf(&w->sql, "%s%s", i ? ", " : ", PRIMARY KEY (", row[0]);
    if (mysql_num_rows(r)) strbuf_char(&w->sql, ')');
    mysql_free_result(r);
    strbuf_char(&w->sql, ')');
    return why ? why : written_otherwise(w, table);
}

static bool plain_name(const char *name)
{
    for (const char *p = name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_')) return false;
    return strlen(name) < 64;
}

static void leave_out(side_work *w, const char *table, const char *why)
{
    strbuf_str(&w->left, w->left.n ? ",{\"table\":" : "{\"table\":");
    strbuf_json(&w->left, table, strlen(table));
    strbuf_str(&w->left, ",\"why\":");
    strbuf_json(&w->left, why, strlen(why));
    strbuf_char(&w->left, '}');
    strbuf_add(&w->others, table, strlen(table) + 1);
    w->o->left_out++;
}

static void add_table(side_work *w, const char *table, bool triggers)
{
    const char *why = !plain_name(table) ? "its name needs quotes"
                      : triggers         ? "it has triggers"
                      : w->loose         ? "the server changes values that do not fit (sql_mode)"
                      : !is_transactional(w, table) ? "its engine has no transactions"
                      : !is_only_of_name(w, table)  ? "another table has its name in capitals"
                                                    : describe_table(w, table);
    size_t before = w->setup.n;
    if (!why) {
        strbuf_str(&w->setup, before ? "," : "");
        strbuf_json(&w->setup, w->sql.at, w->sql.n);
        w->line.n = 0;
        strbuf_char(&w->line, '[');
        strbuf_add(&w->line, w->setup.at, w->setup.n);
        strbuf_char(&w->line, ']');
        if (!w->o->usable(w->o->ud, w->line.at, w->line.n)) why = "audit does not understand it";
    }
    if (why) {
        w->setup.n = before;
        leave_out(w, table, why);
        return;
    }
    strbuf_str(&w->tables, w->tables.n ? "," : "");
    strbuf_json(&w->tables, table, strlen(table));
    w->o->tables++;
}

/* A number that the server answers. */
static bool ask_count(side_work *w, const char *sql, bool *positive)
{
    MYSQL_RES *r = rows_of(w, sql);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool good = row && row[0];
    *positive = good && strcmp(row[0], "0") != 0;
    mysql_free_result(r);
    return good;
}

static bool find_tables(side_work *w)
{
    if (!ask_count(w,
                   "SELECT count(*) FROM information_schema.routines WHERE routine_schema NOT IN"
                   " ('mysql', 'sys', 'information_schema', 'performance_schema')",
                   &w->routines) ||
        !ask_count(w,
                   "SELECT (SELECT count(DISTINCT privilege_type) < 4 FROM"
                   " information_schema.user_privileges WHERE grantee = concat('''',"
                   " replace(current_user(), '@', '''@'''), '''') AND privilege_type IN"
                   " ('SELECT', 'TRIGGER', 'SHOW VIEW', 'REFERENCES')) + "
                   "(SELECT count(*) FROM information_schema.views WHERE table_schema NOT IN"
                   " ('mysql', 'sys', 'information_schema', 'performance_schema'))"
                   " + (SELECT count(*) FROM information_schema.triggers WHERE trigger_schema <>"
                   " 'sys') + (SELECT count(*) FROM information_schema.referential_constraints"
                   " WHERE update_rule NOT IN ('RESTRICT', 'NO ACTION')"
                   " OR delete_rule NOT IN ('RESTRICT', 'NO ACTION'))",
                   &w->indirect) ||
        !ask_count(w, "SELECT @@GLOBAL.sql_mode NOT LIKE '%STRICT%'", &w->loose))
        return false;
    MYSQL_RES *r =
        rows_of(w, "SELECT t.table_name, EXISTS (SELECT 1 FROM information_schema.triggers g"
                   " WHERE g.event_object_schema = t.table_schema AND g.event_object_table ="
                   " t.table_name) FROM information_schema.tables t WHERE t.table_schema ="
                   " database() AND t.table_type = 'BASE TABLE' ORDER BY t.table_name");
    MYSQL_ROW row;
    if (!r) return false;
    while ((row = mysql_fetch_row(r))) add_table(w, row[0], *row[1] == '1');
    mysql_free_result(r);
    return true;
}

static bool is_secret_table(const side_work *w, const char *table)
{
    return w->o->secret && w->o->secret(w->o->ud, table);
}

/* Names of tables whose rows are not written, out of those of the setup. */
static void put_unknown(side_work *w, strbuf *out)
{
    bool any = false;
    strbuf_str(out, ",\"unknown\":[");
    for (const char *p = strbuf_cstr(&w->tables); *p == '"' || *p == ',';) {
        char name[80];
        p += *p == ',';
        size_t n = strcspn(p + 1, "\"");
        snprintf(name, sizeof name, "%.*s", (int)n, p + 1);
        if (!w->o->dump || is_secret_table(w, name)) {
            strbuf_printf(out, "%s\"%s\"", any ? "," : "", name);
            any = true;
            w->o->unknown++;
        }
        p += n + 2;
    }
    strbuf_char(out, ']');
}

/* `columns`: a JSON list, for a table that only the native setup has; NULL: the query gives all. */
static bool write_rows_of(side_work *w, const char *table, const char *query, const char *columns)
{
    if (!tell_server(w, query)) return false;
    MYSQL_RES *r = mysql_use_result(w->c);
    if (!r) return my_error(w->s, mysql_error(w->c));
    unsigned cols = mysql_num_fields(r), n = 0;
    MYSQL_ROW row;
    bool good = true;
    while (good && (row = mysql_fetch_row(r))) {
        const unsigned long *lengths = mysql_fetch_lengths(r);
        if (!n) {
            w->line.n = 0;
            strbuf_str(&w->line, "{\"table\":");
            if (columns)
                strbuf_printf(&w->line, "\"`%s`\",\"native\":true,\"columns\":%s", table, columns);
            else
                strbuf_json(&w->line, table, strlen(table));
            strbuf_str(&w->line, ",\"rows\":[");
        }
        for (unsigned i = 0; i < cols; i++) {
            strbuf_str(&w->line, i ? "," : n ? ",[" : "[");
            if (row[i])
                strbuf_json(&w->line, row[i], lengths[i]);
            else
                strbuf_str(&w->line, "null");
        }
        strbuf_char(&w->line, ']');
        w->o->rows++;
        if (++n < 200) continue;
        strbuf_str(&w->line, "]}\n");
        good = w->o->line(w->o->ud, w->line.at, w->line.n);
        n = 0;
    }
    if (n) {
        strbuf_str(&w->line, "]}\n");
        good = good && w->o->line(w->o->ud, w->line.at, w->line.n);
    }
    bool whole = !mysql_errno(w->c);
    if (!whole) my_error(w->s, mysql_error(w->c));
    if (!good) my_error(w->s, "the log cannot be written");
    mysql_free_result(r);
    return good && whole;
}

static bool write_rows(side_work *w, const char *table)
{
    char query[160];
    snprintf(query, sizeof query, "SELECT * FROM `%s`", table);
    return write_rows_of(w, table, query, NULL);
}

static bool write_native_rows(side_work *w)
{
    strbuf columns;
    bool good = true;
    strbuf_init(&columns, w->mem);
    for (size_t i = 0; good && w->has_native && i < w->others.n;) {
        const char *table = w->others.at + i;
        good = my_native_columns(&w->native, table, &columns) ||
               my_error(w->s, "the columns of a table cannot be read");
        good =
            good && write_rows_of(w, table, strbuf_cstr(&w->native.query), strbuf_cstr(&columns));
        i += strlen(table) + 1;
    }
    strbuf_free(&columns);
    return good;
}

/* With all rows, and nothing hidden. */
static bool read_native(side_work *w)
{
    bool any_secret = w->o->shows || is_secret_table(w, "");
    if (!w->o->dump || any_secret) return true;
    if (!my_native_read(&w->native, w->c, w->mem)) return my_error(w->s, mysql_error(w->c));
    w->has_native = !w->native.why;
    return true;
}

static bool write_head_line(side_work *w)
{
    MYSQL_RES *r = rows_of(w, "SELECT version(), lower(replace(@@GLOBAL.tx_isolation, '-', ' '))");
    if (!r)
        r = rows_of(w,
                    "SELECT version(), lower(replace(@@GLOBAL.transaction_isolation, '-', ' '))");
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    if (!row) return false;
    strbuf *o = &w->line;
    o->n = 0;
    strbuf_str(o, "{\"ratel_sql\":1,\"dialect\":\"mysql\",\"database\":");
    strbuf_json(o, row[0], strlen(row[0]));
    if (w->o->level) {
        strbuf_str(o, ",\"level\":");
        strbuf_json(o, w->o->level, strlen(w->o->level));
    } else {
        strbuf_str(o, ",\"isolation\":");
        strbuf_json(o, row[1], strlen(row[1]));
    }
    mysql_free_result(r);
    strbuf_str(o, w->o->extra);
    strbuf_str(o, ",\"setup\":[");
    strbuf_add(o, w->setup.at, w->setup.n);
    strbuf_char(o, ']');
    put_unknown(w, o);
    if (w->has_native) {
        strbuf_str(o, ",\"native\":");
        strbuf_add(o, w->native.head.at, w->native.head.n);
    } else if (w->native.why) {
        strbuf_str(o, ",\"no_native\":");
        strbuf_json(o, w->native.why, strlen(w->native.why));
    }
    if (w->left.n) {
        strbuf_str(o, ",\"left_out\":[");
        strbuf_add(o, w->left.at, w->left.n);
        strbuf_char(o, ']');
    }
    if (w->routines) strbuf_str(o, ",\"hidden_routines\":true");
    if (!w->routines && !w->indirect) strbuf_str(o, ",\"named_writes\":true");
    strbuf_str(o, "}\n");
    return w->o->line(w->o->ud, o->at, o->n) || my_error(w->s, "the log cannot be written");
}

static bool write_all_rows(side_work *w)
{
    bool good = true;
    for (const char *p = strbuf_cstr(&w->tables); good && (*p == '"' || *p == ',');) {
        char name[80];
        p += *p == ',';
        size_t n = strcspn(p + 1, "\"");
        snprintf(name, sizeof name, "%.*s", (int)n, p + 1);
        if (!is_secret_table(w, name)) good = write_rows(w, name);
        p += n + 2;
    }
    return good;
}

/* What shows a masked column: tables that have it, views and routines that name one of them, and
   what names those. */
static bool find_masked(side_work *w)
{
    if (!w->o->shows) return true;
    MYSQL_RES *r = rows_of(
        w, "SELECT table_name, column_name FROM information_schema.columns WHERE"
           " table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')"
           " UNION ALL SELECT table_name, view_definition FROM information_schema.views WHERE"
           " table_schema <> 'sys' UNION ALL SELECT routine_name, routine_definition FROM"
           " information_schema.routines WHERE routine_schema <> 'sys'");
    for (bool more = r != NULL; more;) {
        more = false;
        mysql_data_seek(r, 0);
        for (MYSQL_ROW row; (row = mysql_fetch_row(r));)
            more |= w->o->shows(w->o->ud, row[0], row[1] ? row[1] : "");
    }
    mysql_free_result(r);
    return r != NULL;
}

bool my_side_head(pg_side *s, mem *m, pg_side_schema *o)
{
    side_work w = {.s = s, .c = s->own, .mem = m, .o = o};
    strbuf_init(&w.setup, m);
    strbuf_init(&w.left, m);
    strbuf_init(&w.others, m);
    strbuf_init(&w.tables, m);
    strbuf_init(&w.sql, m);
    strbuf_init(&w.line, m);
    bool good = tell_server(&w, "SET NAMES utf8mb4") &&
                tell_server(&w, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ") &&
                tell_server(&w, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY") &&
                find_masked(&w) && find_tables(&w) && read_native(&w) && write_head_line(&w) &&
                (!o->dump || (write_all_rows(&w) && write_native_rows(&w)));
    if (good) good = tell_server(&w, "ROLLBACK");
    return good;
}
