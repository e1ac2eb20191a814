/*
 * my_native.c - SHOW CREATE TABLE of every table, or the reason why that is not the whole.
 *
 * A reference engine must begin with exactly what the database had.  So one table whose rows do not
 * survive as text, a view, a trigger, a routine or a table without transactions means that there is
 * no native setup at all, and the log is as it would be without.
 */
#include "driver/my_native.h"

#include <stdio.h>

static bool count_is(my_native *n, const char *sql, bool *positive)
{
    if (mysql_query(n->c, sql)) return false;
    MYSQL_RES *r = mysql_store_result(n->c);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool good = row && row[0];
    *positive = good && strcmp(row[0], "0") != 0;
    mysql_free_result(r);
    return good;
}

static const struct {
    const char *sql, *why;
} obstacles[] = {
    {"SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_type"
     " <> 'BASE TABLE'",
     "there are views"},
    {"SELECT (SELECT count(*) FROM information_schema.triggers WHERE trigger_schema = database()) +"
     " (SELECT count(*) FROM information_schema.routines WHERE routine_schema = database()) +"
     " (SELECT count(*) FROM information_schema.events WHERE event_schema = database())",
     "there are triggers, routines or events"},
    {"SELECT count(*) FROM information_schema.tables t LEFT JOIN information_schema.engines e ON"
     " e.engine = t.engine WHERE t.table_schema = database() AND NOT coalesce(e.transactions, 'NO')"
     " = 'YES'",
     "a table has no transactions"},
    {"SELECT count(*) FROM information_schema.referential_constraints WHERE constraint_schema ="
     " database() AND unique_constraint_schema <> database()",
     "a foreign key leads to another database"},
    /* a float is written with fewer digits than it has, bytes are no text */
    {"SELECT count(*) FROM information_schema.columns WHERE table_schema = database() AND data_type"
     " NOT IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint', 'decimal', 'double', 'char',"
     " 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext', 'date', 'datetime', 'time', 'year',"
     " 'enum', 'set', 'uuid', 'inet6', 'inet4', 'json', 'timestamp')",
     "a column has a type whose values are no text"},
    {"SELECT count(*) FROM information_schema.columns WHERE table_schema = database() AND data_type"
     " = 'timestamp' AND (@@GLOBAL.time_zone NOT IN ('SYSTEM', '+00:00', 'UTC') OR"
     " (@@GLOBAL.time_zone = 'SYSTEM' AND @@system_time_zone <> 'UTC'))",
     "timestamps are shown in another zone than UTC"},
    {"SELECT count(*) FROM information_schema.columns WHERE table_schema = database() AND"
     " extra LIKE '%INVISIBLE%'",
     "a column is invisible"},
    {"SELECT count(*) FROM information_schema.columns WHERE table_schema = database() AND"
     " concat(table_name, column_name) REGEXP '[^a-zA-Z0-9_]'",
     "a name has other characters than letters, digits and _"},
};

/* The text of CREATE TABLE, after a comma. */
static bool add_created(my_native *n, const char *table)
{
    strbuf *q = &n->query;
    q->n = 0;
    strbuf_printf(q, "SHOW CREATE TABLE `%s`", table);
    if (mysql_query(n->c, strbuf_cstr(q))) return false;
    MYSQL_RES *r = mysql_store_result(n->c);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool good = row && row[1];
    if (good) {
        if (n->head.at[n->head.n - 1] != '[') strbuf_char(&n->head, ',');
        strbuf_json(&n->head, row[1], strlen(row[1]));
    }
    mysql_free_result(r);
    return good;
}

static bool add_all_created(my_native *n)
{
    if (mysql_query(n->c, "SELECT table_name FROM information_schema.tables WHERE table_schema ="
                          " database() ORDER BY table_name"))
        return false;
    MYSQL_RES *r = mysql_store_result(n->c);
    if (!r) return false;
    MYSQL_ROW row;
    bool good = true;
    while (good && (row = mysql_fetch_row(r))) {
        good = add_created(n, row[0]);
    }
    mysql_free_result(r);
    return good;
}

bool my_native_read(my_native *n, MYSQL *c, mem *m)
{
    memset(n, 0, sizeof *n);
    n->c = c;
    n->mem = m;
    strbuf_init(&n->head, m);
    strbuf_init(&n->query, m);
    for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++) {
        bool there;
        if (!count_is(n, obstacles[i].sql, &there)) return false;
        if (there) {
            n->why = obstacles[i].why;
            return true;
        }
    }
    if (mysql_query(c, "SELECT @@GLOBAL.sql_mode")) return false;
    MYSQL_RES *r = mysql_store_result(c);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    if (row && row[0]) {
        strbuf_str(&n->head, "{\"sql_mode\":");
        strbuf_json(&n->head, row[0], strlen(row[0]));
    }
    mysql_free_result(r);
    if (!n->head.n) return false;
    strbuf_str(&n->head, ",\"setup\":[");
    bool good = add_all_created(n);
    strbuf_str(&n->head, "]}");
    return good;
}

bool my_native_columns(my_native *n, const char *table, strbuf *columns)
{
    strbuf *q = &n->query;
    q->n = columns->n = 0;
    strbuf_printf(q,
                  "SELECT column_name FROM information_schema.columns WHERE table_schema ="
                  " database() AND table_name = '%s' AND coalesce(generation_expression, '') = ''"
                  " ORDER BY ordinal_position",
                  table);
    if (mysql_query(n->c, strbuf_cstr(q))) return false;
    MYSQL_RES *r = mysql_store_result(n->c);
    if (!r) return false;
    q->n = 0;
    strbuf_str(q, "SELECT ");
    MYSQL_ROW row;
    for (bool any = false; (row = mysql_fetch_row(r)); any = true) {
        strbuf_str(columns, any ? ",\"`" : "[\"`");
        strbuf_str(columns, row[0]);
        strbuf_str(columns, "`\"");
        strbuf_printf(q, "%s`%s`", any ? ", " : "", row[0]);
    }
    strbuf_char(columns, ']');
    strbuf_printf(q, " FROM `%s`", table);
    mysql_free_result(r);
    return columns->n > 1;
}
