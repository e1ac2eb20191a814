/*
 * pg_side.c - reads PostgreSQL's catalogs: tables as CREATE statements, and their rows.
 *
 * Only what `ratel audit` understands becomes a part of the setup: tables of plain types without
 * triggers, rules, policies or parents.  The others are named, with the reason, under left_out, and
 * so are tables that refer to one of them.  Everything is read in one transaction.
 */
#include "driver/pg_side.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver/driver.h"

enum { ROWS_PER_LINE = 200, NAME_MAX_LENGTH = 256 };

typedef struct side_table {
    char name[NAME_MAX_LENGTH];
    char oid[16];
    char why[240];  /* it is left out; "": it is not */
    strbuf columns; /* names, quoted, with commas between */
    strbuf create;
    strbuf more; /* unique indexes, as members of a JSON list */
    bool written;
} side_table;

typedef struct side_reader {
    pg_side *s;
    mem *mem;
    pg_side_schema *o;
    VEC(side_table) tables;
    strbuf setup;      /* members of the list */
    uint64_t routines; /* in it */
    bool hidden;       /* there are others */
} side_reader;

bool pg_side_available(void)
{
    return true;
}

static void side_error(pg_side *s, const char *text)
{
    snprintf(s->error, sizeof s->error, "%.*s", (int)strcspn(text, "\n"), text);
}

static void ignore_notice(void *ud, const char *message)
{
    (void)ud, (void)message;
}

/* What the URL, the environment or a service file say about encryption. */
static void note_encryption(pg_side *s, PGconn *c)
{
    PQconninfoOption *all = PQconninfo(c);
    for (const PQconninfoOption *o = all; o && o->keyword; o++) {
        if (!o->val) continue;
        if (!strcmp(o->keyword, "sslmode")) snprintf(s->sslmode, sizeof s->sslmode, "%s", o->val);
        if (!strcmp(o->keyword, "sslrootcert")) snprintf(s->root, sizeof s->root, "%s", o->val);
    }
    PQconninfoFree(all);
}

bool pg_side_open(pg_side *s, const char *url)
{
    memset(s, 0, sizeof *s);
    PGconn *c = PQconnectdb(url);
    s->own = c;
    if (PQstatus(c) != CONNECTION_OK) {
        char shown[PG_SIDE_NAME];
        db_hide(url, PQerrorMessage(c), shown, sizeof shown); /* it may quote the URL */
        side_error(s, shown);
        return false;
    }
    PQsetNoticeProcessor(c, ignore_notice, NULL);
    note_encryption(s, c);
    const char *host = PQhost(c), *port = PQport(c), *name = PQdb(c);
    snprintf(s->host, sizeof s->host, "%s", host && *host ? host : "localhost");
    snprintf(s->port, sizeof s->port, "%s", port && *port ? port : "5432");
    snprintf(s->database, sizeof s->database, "%s", name ? name : "");
    return true;
}

void pg_side_close(pg_side *s)
{
    if (s->own) PQfinish(s->own);
    s->own = NULL;
}

/* The rows of a query, or NULL: the error is kept. */
static PGresult *ask(pg_side *s, const char *sql, const char *param)
{
    PGresult *r = PQexecParams(s->own, sql, param ? 1 : 0, NULL, &param, NULL, NULL, 0);
    ExecStatusType t = PQresultStatus(r);
    if (t == PGRES_TUPLES_OK || t == PGRES_COMMAND_OK) return r;
    side_error(s, PQerrorMessage(s->own));
    PQclear(r);
    return NULL;
}

static bool tell(pg_side *s, const char *sql)
{
    PGresult *r = ask(s, sql, NULL);
    PQclear(r);
    return r != NULL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* May a name without a schema mean a relation of another schema than public?  The settings of the
   server, the database or a role may put any schema first; "$user" puts the one that is called as
   the role. */
#define SHADOWED                                                                                   \
    "EXISTS (SELECT FROM pg_class o JOIN pg_namespace m ON m.oid = o.relnamespace"                 \
    " WHERE o.relname = c.relname AND o.relkind IN ('r','p','f','m','v','S') AND"                  \
    " m.nspname NOT IN ('public', 'information_schema') AND m.nspname !~ '^pg_' AND"               \
    " ((SELECT reset_val FROM pg_settings WHERE name = 'search_path') !~"                          \
    " '^ *(\"[$]user\" *, *)?public *$' OR EXISTS (SELECT FROM pg_db_role_setting x,"              \
    " unnest(x.setconfig) w WHERE w ~* '^search_path=') OR"                                        \
    " EXISTS (SELECT FROM pg_roles a WHERE a.rolname = m.nspname)))"

static bool find_tables(side_reader *d)
{
    PGresult *r = ask(
        d->s,
        "SELECT c.oid::text, quote_ident(c.relname),"
        " CASE WHEN " SHADOWED " THEN 'its name may mean a table of another schema'"
        " WHEN c.relkind = 'p' OR EXISTS (SELECT FROM pg_inherits i WHERE c.oid IN"
        " (i.inhrelid, i.inhparent)) THEN 'it is partitioned or inherited'"
        " WHEN c.relkind <> 'r' THEN 'it is a foreign table or a materialized view'"
        " WHEN c.relhasrules THEN 'it has rules' WHEN c.relrowsecurity THEN 'it has policies'"
        " WHEN EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)"
        " THEN 'it has triggers'"
        " WHEN EXISTS (SELECT FROM pg_constraint x WHERE x.conrelid = c.oid AND (x.contype NOT IN"
        " ('p','u','c','f','n') OR (x.condeferrable AND x.contype <> 'f') OR NOT x.convalidated))"
        " THEN 'it has constraints that are not understood' ELSE '' END"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'public' AND c.relkind IN ('r','p','f','m') ORDER BY c.oid",
        NULL);
    for (int i = 0; r && i < PQntuples(r); i++) {
        side_table t = {.written = false};
        snprintf(t.oid, sizeof t.oid, "%s", PQgetvalue(r, i, 0));
        snprintf(t.name, sizeof t.name, "%s", PQgetvalue(r, i, 1));
        snprintf(t.why, sizeof t.why, "%s", PQgetvalue(r, i, 2));
        strbuf_init(&t.columns, d->mem);
        strbuf_init(&t.create, d->mem);
        strbuf_init(&t.more, d->mem);
        vec_push(d->mem, &d->tables, t);
    }
    PQclear(r);
    return r != NULL;
}

/* A column whose default is the next value of a sequence has a type that says so. */
static const char *serial_type(const char *type, const char *initial)
{
    if (strncmp(initial, "nextval(", 8) != 0) return NULL;
    if (!strcmp(type, "integer")) return "serial";
    if (!strcmp(type, "bigint")) return "bigserial";
    return !strcmp(type, "smallint") ? "smallserial" : NULL;
}

static bool read_columns(side_reader *d, side_table *t)
{
    PGresult *r =
        ask(d->s,
            "SELECT quote_ident(a.attname), format_type(a.atttypid, a.atttypmod), a.attnotnull,"
            " coalesce(pg_get_expr(x.adbin, x.adrelid), ''), a.attidentity, a.attgenerated <> '',"
            " a.atttypid IN (16, 20, 21, 23, 25, 1042, 1043, 1082, 1114, 1700)"
            " AND a.attcollation IN (0, 100, 950, 951)"
            " FROM pg_attribute a LEFT JOIN pg_attrdef x ON x.adrelid = a.attrelid AND"
            " x.adnum = a.attnum WHERE a.attrelid = $1::text::oid AND a.attnum > 0"
            " AND NOT a.attisdropped ORDER BY a.attnum",
            t->oid);
    for (int i = 0; r && i < PQntuples(r); i++) {
        const char *name = PQgetvalue(r, i, 0), *type = PQgetvalue(r, i, 1);
        const char *initial = PQgetvalue(r, i, 3), *identity = PQgetvalue(r, i, 4);
        const char *serial = serial_type(type, initial);
        if (*PQgetvalue(r, i, 6) != 't' || *PQgetvalue(r, i, 5) == 't')
            snprintf(t->why, sizeof t->why,
                     "column %.60s is %.60s%s, or has a collation of its own", name, type,
                     *PQgetvalue(r, i, 5) == 't' ? " and is generated" : "");
        strbuf_printf(&t->columns, i ? ", %s" : "%s", name);
        strbuf_printf(&t->create, "%s%s %s", i ? ", " : "", name, serial ? serial : type);
        if (*PQgetvalue(r, i, 2) == 't') strbuf_str(&t->create, " NOT NULL");
        if (*identity)
            strbuf_printf(&t->create, " GENERATED %s AS IDENTITY",
                          *identity == 'a' ? "ALWAYS" : "BY DEFAULT");
        else if (*initial && !serial)
            strbuf_printf(&t->create, " DEFAULT %s", initial);
    }
    PQclear(r);
    return r != NULL;
}

static bool read_constraints(side_reader *d, side_table *t)
{
    PGresult *r = ask(d->s,
                      "SELECT 'CONSTRAINT ' || quote_ident(conname) || ' ' ||"
                      " pg_get_constraintdef(oid), confrelid::text FROM pg_constraint WHERE"
                      " conrelid = $1::text::oid AND contype IN ('p','u','c','f') ORDER BY oid",
                      t->oid);
    for (int i = 0; r && i < PQntuples(r); i++)
        strbuf_printf(&t->create, ", %s", PQgetvalue(r, i, 0));
    PQclear(r);
    if (!r) return false;
    r = ask(d->s,
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index i WHERE indrelid = $1::text::oid AND"
            " indisunique AND NOT EXISTS (SELECT FROM pg_constraint c WHERE"
            " c.conindid = i.indexrelid AND c.contype IN ('p','u')) ORDER BY indexrelid",
            t->oid);
    for (int i = 0; r && i < PQntuples(r); i++) {
        strbuf_char(&t->more, ',');
        strbuf_json(&t->more, PQgetvalue(r, i, 0), strlen(PQgetvalue(r, i, 0)));
    }
    PQclear(r);
    return r != NULL;
}

/* Tables that a table refers to, in the same way, must be in the setup before it. */
static bool refers_to_missing(side_reader *d, const side_table *t, bool *missing)
{
    PGresult *r = ask(d->s,
                      "SELECT confrelid::text FROM pg_constraint WHERE conrelid = $1::text::oid"
                      " AND contype = 'f' AND confrelid <> conrelid",
                      t->oid);
    *missing = false;
    for (int i = 0; r && i < PQntuples(r); i++) {
        bool found = false;
        for (size_t k = 0; k < d->tables.n; k++)
            found |= d->tables.at[k].written && !strcmp(d->tables.at[k].oid, PQgetvalue(r, i, 0));
        *missing |= !found;
    }
    PQclear(r);
    return r != NULL;
}

/* Adds the statement if the setup is still usable with it. */
static bool add_usable(side_reader *d, const char *sql, size_t n, const strbuf *more)
{
    size_t before = d->setup.n;
    if (before) strbuf_char(&d->setup, ',');
    strbuf_json(&d->setup, sql, n);
    if (more) strbuf_add(&d->setup, more->at, more->n);
    strbuf list;
    strbuf_init(&list, d->mem);
    strbuf_char(&list, '[');
    strbuf_add(&list, d->setup.at, d->setup.n);
    strbuf_char(&list, ']');
    bool good = d->o->usable(d->o->ud, list.at, list.n);
    strbuf_free(&list);
    if (!good) d->setup.n = before;
    return good;
}

static bool add_table(side_reader *d, side_table *t)
{
    strbuf sql;
    strbuf_init(&sql, d->mem);
    strbuf_printf(&sql, "CREATE TABLE %s (%s)", t->name, strbuf_cstr(&t->create));
    t->written = add_usable(d, sql.at, sql.n, &t->more);
    if (!t->written)
        snprintf(t->why, sizeof t->why,
                 "audit does not understand its definition, or must not see it");
    strbuf_free(&sql);
    return t->written;
}

/* Round after round, until no table is left whose references are there. */
static bool add_tables(side_reader *d)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < d->tables.n; i++) {
            side_table *t = &d->tables.at[i];
            bool missing;
            if (t->written || *t->why) continue;
            if (!refers_to_missing(d, t, &missing)) return false;
            if (!missing) again |= add_table(d, t);
        }
    }
    for (size_t i = 0; i < d->tables.n; i++)
        if (!d->tables.at[i].written && !*d->tables.at[i].why)
            snprintf(d->tables.at[i].why, sizeof d->tables.at[i].why,
                     "it refers to a table that is left out");
    return true;
}

/* Functions of which some are called by what does not look like a call: casts, operators, checks of
   domains. */
static bool find_hidden(side_reader *d)
{
    PGresult *r = ask(
        d->s,
        "WITH own AS (SELECT p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
        " WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND NOT EXISTS (SELECT FROM"
        " pg_depend x WHERE x.classid = 'pg_proc'::regclass AND x.objid = p.oid AND"
        " x.deptype = 'e')) SELECT (SELECT count(*) FROM own),"
        " EXISTS (SELECT FROM pg_depend x JOIN own ON x.refobjid = own.oid WHERE"
        " x.refclassid = 'pg_proc'::regclass AND (x.classid IN ('pg_cast'::regclass,"
        " 'pg_operator'::regclass, 'pg_type'::regclass, 'pg_event_trigger'::regclass) OR"
        " x.classid = 'pg_constraint'::regclass AND x.objid IN"
        " (SELECT oid FROM pg_constraint WHERE contypid <> 0)))",
        NULL);
    if (!r) return false;
    d->hidden = strtoull(PQgetvalue(r, 0, 0), NULL, 10) > d->routines;
    d->hidden |= *PQgetvalue(r, 0, 1) == 't';
    PQclear(r);
    return true;
}

/* Views and functions: each is added if it is understood. */
static bool add_others(side_reader *d)
{
    PGresult *r = ask(
        d->s,
        "SELECT replace(pg_get_functiondef(p.oid),"
        " CASE p.prokind WHEN 'p' THEN 'PROCEDURE public.' ELSE 'FUNCTION public.' END,"
        " CASE p.prokind WHEN 'p' THEN 'PROCEDURE ' ELSE 'FUNCTION ' END) FROM pg_proc p"
        " JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang"
        " WHERE n.nspname = 'public' AND p.prokind IN ('f','p') AND l.lanname IN ('sql','plpgsql')"
        " UNION ALL SELECT 'CREATE VIEW ' || quote_ident(c.relname) || ' AS ' ||"
        " rtrim(pg_get_viewdef(c.oid), ';') FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind = 'v'"
        " AND NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid AND w.ev_type <> '1')"
        " AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid) AND NOT " SHADOWED,
        NULL);
    for (int i = 0; r && i < PQntuples(r); i++) {
        const char *sql = PQgetvalue(r, i, 0);
        bool view = !strncmp(sql, "CREATE VIEW", 11);
        if (add_usable(d, sql, strlen(sql), NULL) && !view) d->routines++;
    }
    PQclear(r);
    if (!r) return false;
    return find_hidden(d);
}

/* Settings of the server, the database or any role that change what statements mean or how values
   are shown, and of which sessions are told nothing: as if the log began with them. */
static bool add_settings(side_reader *d)
{
    PGresult *r =
        ask(d->s,
            "WITH l(name) AS (VALUES ('array_nulls'), ('backslash_quote'), ('bytea_output'),"
            " ('quote_all_identifiers'), ('row_security'), ('session_replication_role'),"
            " ('transform_null_equals'), ('xmlbinary'), ('xmloption')) SELECT DISTINCT"
            " format('SET %s TO %L', name, v) FROM (SELECT name, reset_val AS v FROM pg_settings"
            " WHERE reset_val <> boot_val UNION ALL SELECT lower(split_part(c, '=', 1)),"
            " split_part(c, '=', 2) FROM pg_db_role_setting x, unnest(x.setconfig) c"
            " WHERE x.setdatabase IN (0, (SELECT oid FROM pg_database"
            " WHERE datname = current_database()))) s JOIN l USING (name)",
            NULL);
    for (int i = 0; r && i < PQntuples(r); i++) {
        const char *sql = PQgetvalue(r, i, 0);
        if (d->setup.n) strbuf_char(&d->setup, ',');
        strbuf_json(&d->setup, sql, strlen(sql));
    }
    PQclear(r);
    return r != NULL;
}

/* ---- the head of the log --------------------------------------------------------------------- */

static const char *level_of_isolation(const char *isolation)
{
    if (!strcmp(isolation, "serializable")) return "serializable";
    return !strcmp(isolation, "repeatable read") ? "strong-snapshot-isolation"
                                                 : "statement-snapshot";
}

/* Names without the quotes that only SQL needs. */
static void put_plain_name(strbuf *out, const char *quoted)
{
    size_t n = strlen(quoted);
    bool plain = n > 1 && *quoted == '"' && !memchr(quoted + 1, '"', n - 2);
    strbuf_json(out, quoted + plain, plain ? n - 2 : n);
}

static bool with_rows(const side_reader *d, const side_table *t)
{
    return d->o->dump && t->written && !d->o->secret(d->o->ud, t->name);
}

static void put_lists(side_reader *d, strbuf *out)
{
    strbuf_str(out, ",\"unknown\":[");
    for (size_t i = 0; i < d->tables.n; i++) {
        const side_table *t = &d->tables.at[i];
        if (!t->written || with_rows(d, t)) continue;
        if (d->o->unknown++) strbuf_char(out, ',');
        put_plain_name(out, t->name);
    }
    strbuf_str(out, "],\"left_out\":[");
    for (size_t i = 0; i < d->tables.n; i++) {
        const side_table *t = &d->tables.at[i];
        d->o->tables++;
        if (t->written) continue;
        strbuf_str(out, d->o->left_out++ ? ",{\"table\":" : "{\"table\":");
        put_plain_name(out, t->name);
        strbuf_str(out, ",\"why\":");
        strbuf_json(out, t->why, strlen(t->why));
        strbuf_char(out, '}');
    }
    strbuf_char(out, ']');
}

/* Roles and databases may have a default isolation of their own: the weakest of them counts. */
static bool write_header(side_reader *d)
{
    strbuf out;
    PGresult *r =
        ask(d->s,
            "SELECT 'PostgreSQL ' || current_setting('server_version'),"
            " coalesce((SELECT s.v FROM (SELECT current_setting('default_transaction_isolation') v"
            " UNION ALL SELECT lower(split_part(c, '=', 2)) FROM pg_db_role_setting x,"
            " unnest(x.setconfig) c WHERE c ILIKE 'default_transaction_isolation=%'"
            " AND x.setdatabase IN (0, d.oid)) s ORDER BY"
            " array_position(ARRAY['read uncommitted','read committed',"
            "'repeatable read','serializable'], s.v) LIMIT 1), 'read committed'),"
            " CASE WHEN to_jsonb(d)->>'datlocprovider' = 'i' THEN 'ICU' ELSE datcollate"
            " END FROM pg_database d WHERE datname = current_database()",
            NULL);
    if (!r) return false;
    const char *isolation = PQgetvalue(r, 0, 1), *collation = PQgetvalue(r, 0, 2);
    const char *level = d->o->level ? d->o->level : level_of_isolation(isolation);
    strbuf_init(&out, d->mem);
    strbuf_str(&out, "{\"ratel_sql\":1,\"database\":");
    strbuf_json(&out, PQgetvalue(r, 0, 0), strlen(PQgetvalue(r, 0, 0)));
    if (!d->o->level) { /* a level that was asked for is not weakened by it */
        strbuf_str(&out, ",\"isolation\":");
        strbuf_json(&out, isolation, strlen(isolation));
    }
    strbuf_str(&out, ",\"level\":");
    strbuf_json(&out, level, strlen(level));
    if (strcmp(collation, "C") && strcmp(collation, "POSIX") && strncmp(collation, "C.", 2)) {
        strbuf_str(&out, ",\"collation\":");
        strbuf_json(&out, collation, strlen(collation));
    }
    if (d->hidden) strbuf_str(&out, ",\"hidden_routines\":true");
    strbuf_str(&out, d->o->extra);
    strbuf_str(&out, ",\"setup\":[");
    strbuf_add(&out, d->setup.at, d->setup.n);
    strbuf_char(&out, ']');
    put_lists(d, &out);
    strbuf_str(&out, "}\n");
    bool good = d->o->line(d->o->ud, out.at, out.n);
    if (!good) side_error(d->s, "the log cannot be written");
    strbuf_free(&out);
    PQclear(r);
    return good;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool write_rows(side_reader *d, const side_table *t, PGresult *r, strbuf *out)
{
    int n = PQntuples(r), cols = PQnfields(r);
    out->n = 0;
    strbuf_str(out, "{\"table\":");
    put_plain_name(out, t->name);
    strbuf_str(out, ",\"rows\":[");
    for (int i = 0; i < n; i++) {
        strbuf_str(out, i ? ",[" : "[");
        for (int k = 0; k < cols; k++) {
            if (k) strbuf_char(out, ',');
            if (PQgetisnull(r, i, k))
                strbuf_str(out, "null");
            else
                strbuf_json(out, PQgetvalue(r, i, k), (size_t)PQgetlength(r, i, k));
        }
        strbuf_char(out, ']');
    }
    strbuf_str(out, "]}\n");
    d->o->rows += (uint64_t)n;
    return !n || d->o->line(d->o->ud, out->at, out->n);
}

static bool dump_table(side_reader *d, const side_table *t, strbuf *out)
{
    strbuf sql;
    strbuf_init(&sql, d->mem);
    strbuf_printf(&sql, "DECLARE ratel_rows NO SCROLL CURSOR FOR SELECT %.*s FROM public.%s",
                  (int)t->columns.n, t->columns.n ? t->columns.at : "", t->name);
    bool good = tell(d->s, strbuf_cstr(&sql));
    strbuf_free(&sql);
    for (bool more = good; more && good;) {
        char fetch[64];
        snprintf(fetch, sizeof fetch, "FETCH %d FROM ratel_rows", (int)ROWS_PER_LINE);
        PGresult *r = ask(d->s, fetch, NULL);
        good = r != NULL;
        more = r && PQntuples(r) == ROWS_PER_LINE;
        if (r && !write_rows(d, t, r, out)) {
            side_error(d->s, "the log cannot be written");
            good = false;
        }
        PQclear(r);
    }
    return good && tell(d->s, "CLOSE ratel_rows");
}

/* What shows a masked column: tables that have it, views and functions that name one of them, and
   what names those. */
static bool find_masked(side_reader *d)
{
    if (!d->o->shows) return true;
    PGresult *r = ask(
        d->s,
        "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN"
        " pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname NOT IN ('pg_catalog',"
        " 'information_schema', 'pg_toast') AND a.attnum > 0 AND c.relkind IN ('r','p','v','m','f')"
        " UNION ALL SELECT c.relname, pg_get_viewdef(c.oid) FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')"
        " AND c.relkind IN ('v','m') UNION ALL SELECT p.proname, coalesce(p.prosrc, '') || ' ' ||"
        " coalesce(to_jsonb(p)->>'prosqlbody', '') FROM pg_proc p JOIN pg_namespace n ON"
        " n.oid = p.pronamespace WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')",
        NULL);
    for (bool more = r != NULL; more;) {
        more = false;
        for (int i = 0; i < PQntuples(r); i++)
            more |= d->o->shows(d->o->ud, PQgetvalue(r, i, 0), PQgetvalue(r, i, 1));
    }
    PQclear(r);
    return r != NULL;
}

static bool read_head(side_reader *d)
{
    if (!tell(d->s, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") ||
        !tell(d->s, "SET LOCAL search_path = public") ||
        !tell(d->s, "SET LOCAL datestyle = 'ISO, YMD'") ||
        !tell(d->s, "SET LOCAL client_encoding = 'UTF8'") || !find_masked(d) || !find_tables(d))
        return false;
    for (size_t i = 0; i < d->tables.n; i++)
        if (!read_columns(d, &d->tables.at[i]) || !read_constraints(d, &d->tables.at[i]))
            return false;
    if (!add_tables(d) || !add_others(d) || !add_settings(d) || !write_header(d)) return false;
    strbuf out;
    strbuf_init(&out, d->mem);
    bool good = true;
    for (size_t i = 0; good && i < d->tables.n; i++)
        if (with_rows(d, &d->tables.at[i])) good = dump_table(d, &d->tables.at[i], &out);
    strbuf_free(&out);
    return good;
}

bool pg_side_head(pg_side *s, mem *m, pg_side_schema *o)
{
    side_reader d = {.s = s, .mem = m, .o = o};
    strbuf_init(&d.setup, m);
    bool good = read_head(&d);
    PGresult *r = PQexec(s->own, "ROLLBACK");
    PQclear(r);
    return good;
}

bool pg_side_keeps_commits(pg_side *s)
{
    PGresult *r = ask(s, "SHOW track_commit_timestamp", NULL);
    bool on = r && !strcmp(PQgetvalue(r, 0, 0), "on");
    PQclear(r);
    if (r && !on)
        side_error(s, "the server keeps no commit timestamps: set track_commit_timestamp = on and "
                      "start it again");
    return on && tell(s, "SET statement_timeout = '2s'");
}

bool pg_side_xid(pg_side *s, uint32_t process, char *id, size_t cap)
{
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)process);
    /* whoever may not see a session is told so in place of its query */
    PGresult *r = ask(s,
                      "SELECT coalesce(backend_xid::text, CASE WHEN query = "
                      "'<insufficient privilege>' THEN '?' ELSE '' END)"
                      " FROM pg_stat_get_activity($1::text::int)",
                      number);
    bool known = r && PQntuples(r) == 1 && *PQgetvalue(r, 0, 0) != '?';
    if (known) snprintf(id, cap, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    return known;
}

bool pg_side_committed(pg_side *s, const char *id, int64_t *out)
{
    PGresult *r = ask(
        s, "SELECT (extract(epoch FROM pg_xact_commit_timestamp($1::text::xid)) * 1000000)::bigint",
        id);
    bool some = r && PQntuples(r) && !PQgetisnull(r, 0, 0);
    if (some) *out = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return some;
}
