/*
 * against_postgres.c - the interpreter of audit against a real PostgreSQL, one statement after
 * another: the same rows, counts and SQLSTATEs.
 *
 * usage: against_postgres SOCKET-DIRECTORY PORT [STATEMENTS [SEED [SCRIPT...]]]
 *
 * A script holds statements, separated by lines of "--"; after "-- refused" our side must refuse.
 * BEGIN, COMMIT and ROLLBACK make transactions of several statements.  VERBOSE=1 shows refusals.
 *
 * Random tables and statements of the fragment.  What the interpreter refuses is not sent; it may
 * refuse a share, which is printed and bounded.  test/sql/run starts the server.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/match_results.h"
#include "base/rng.h"
#include "more_statements.h"
#include "newer_statements.h"
#include "sql/sql.h"
#include "typed_statements.h"
#include "wide_statements.h"

static rng R;
static guard G;
static mem M;
static store S;
static sql_exec X;
static arena PLANS;
static strbuf B;
static uint32_t next_id = 100;

static uint32_t below(uint32_t n)
{
    return rng_below(&R, n);
}

static bool chance(uint32_t percent)
{
    return below(100) < percent;
}

static void out(const char *s)
{
    strbuf_str(&B, s);
}

#define PICK(...)                                                                                  \
    ((const char *[]){__VA_ARGS__})[below(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))]

/* ---- what there is --------------------------------------------------------------------------- */

typedef enum { INT, NUM, TEXT, BOOL, STAMP, KINDS } kind;

typedef struct field {
    const char *name;
    kind k;
} field;

static const field fields[] = {
    {"id", INT}, {"a", INT},  {"n", NUM}, {"m", NUM}, {"c", TEXT},
    {"v", TEXT}, {"b", BOOL}, {"s", INT}, {"l", INT}, {"ts", STAMP},
};
#define N_FIELDS (sizeof fields / sizeof fields[0])

static const char *const schema[] = {
    "CREATE TABLE t0 (id int PRIMARY KEY, a int, n numeric(8,2), m numeric, c text, v varchar(4),"
    " b boolean, s smallint, l bigint, ts timestamp)",
    "CREATE TABLE t1 (id int PRIMARY KEY, a int NOT NULL DEFAULT 7, n numeric(8,2) CHECK (n > -50),"
    " m numeric DEFAULT 1.5, c text UNIQUE, v varchar(4), b boolean DEFAULT true, s smallint,"
    " l bigint, ts timestamp)",
    "CREATE TABLE t2 (id int, a int, n numeric(8,2), m numeric, c text, v varchar(4), b boolean,"
    " s smallint, l bigint, ts timestamp, PRIMARY KEY (id), UNIQUE (a, s), CHECK (a < 90 OR b))",
    "CREATE TABLE k0 (id int PRIMARY KEY, u int UNIQUE)",
    "CREATE TABLE k1 (id int PRIMARY KEY, p int REFERENCES k0, q int REFERENCES k0 (u) ON DELETE"
    " CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE k2 (id int PRIMARY KEY, p int REFERENCES k1 ON DELETE CASCADE, q int REFERENCES"
    " k0 ON DELETE SET NULL, r int REFERENCES k2)",
    NULL,
};

/* ---- expressions ----------------------------------------------------------------------------- */

typedef struct names {
    const char *alias[3];
    int n;
    int plain; /* columns without an alias */
} names;

static void expr_of(kind k, int depth, const names *t);

static void column_of(kind k, const names *t)
{
    for (;;) {
        const field *f = &fields[below(N_FIELDS)];
        if (f->k != k) continue;
        if (t->n && !(t->plain && t->n == 1)) {
            out(t->alias[below((uint32_t)t->n)]);
            out(".");
        }
        out(f->name);
        return;
    }
}

static void literal(kind k)
{
    if (chance(8)) {
        out("NULL");
        if (k == NUM) out("::numeric");
        if (k == INT) out("::int");
        if (k == TEXT) out("::text");
        if (k == BOOL) out("::boolean");
        if (k == STAMP) out("::timestamp");
        return;
    }
    switch (k) {
    case INT:
        out(PICK("0", "1", "2", "3", "5", "7", "10", "-1", "-4", "100", "32767", "2147483647",
                 "5000000000", "'3'::int", "(-32768)::smallint"));
        break;
    case NUM:
        out(PICK("0.0", "1.5", "2.25", "-0.005", "10.00", "3.333", "100.1", "1e3", "0.1",
                 "12345678901234567890.12", "-7.50", "99999.994", "'1.20'::numeric", "0.000001"));
        break;
    case TEXT:
        out(PICK("'a'::text", "'b'::text", "''::text", "'ab'::text", "'B'::text", "'abcd '::text",
                 "'\xc3\xa4\xc3\xb6'::text", "'x%y'::text", "'abc'::varchar(2)", "'zz'::text"));
        break;
    case BOOL: out(PICK("true", "false", "'t'::boolean")); break;
    default:
        out(PICK("'2020-01-01 00:00:00'::timestamp", "'2024-02-29 12:30:15.25'::timestamp",
                 "'1999-12-31'::timestamp"));
        break;
    }
}

static void two(kind k, int depth, const names *t, const char *op)
{
    out("(");
    expr_of(k, depth - 1, t);
    out(op);
    expr_of(k, depth - 1, t);
    out(")");
}

static void one(const char *before, kind k, int depth, const names *t, const char *after)
{
    out(before);
    expr_of(k, depth - 1, t);
    out(after);
}

static void conditional(kind k, int depth, const names *t)
{
    switch (below(4)) {
    case 0:
        one("(CASE WHEN ", BOOL, depth, t, " THEN ");
        expr_of(k, depth - 1, t);
        if (chance(70)) one(" ELSE ", k, depth, t, "");
        out(" END)");
        break;
    case 1:
        one("coalesce(", k, depth, t, ", ");
        expr_of(k, depth - 1, t);
        out(")");
        break;
    case 2:
        one("nullif(", k, depth, t, ", ");
        expr_of(k, depth - 1, t);
        out(")");
        break;
    default:
        if (k == BOOL) {
            one("(NOT ", BOOL, depth, t, ")");
            break;
        }
        one(PICK("greatest(", "least("), k, depth, t, ", ");
        expr_of(k, depth - 1, t);
        out(")");
    }
}

static void bool_of(int depth, const names *t)
{
    kind k = (kind)below(KINDS);
    switch (below(15)) {
    case 10:
        one("(", TEXT, depth, t,
            PICK(" ILIKE '%A%')", " NOT ILIKE 'a_')", " ~ '^a')", " ~* 'B|x$')", " !~ '[a-c]+')",
                 " ~ '(ab)?c*d')", " !~* '^.{2}$')", " ~ '^$')"));
        break;
    case 11:
        one("(", INT, depth, t, PICK(" = ", " <> ", " < ", " >= "));
        out(PICK("ANY", "ALL"));
        out(PICK("('{1,2,5}'::int[]))", "('{}'::bigint[]))", "('{3,NULL}'::int[]))",
                 "(ARRAY[1, 3, 7]))", "('{ 2 , \"7\" }'::int[]))"));
        break;
    case 12:
        one("(", TEXT, depth, t, PICK(" = ANY", " <> ALL"));
        out(PICK("('{a,b}'::text[]))", "(ARRAY['a', 'zz']))",
                 "('{\"a\\\\b\", null, \"\"}'::text[]))"));
        break;
    case 13: {
        kind other = (kind)below(KINDS);
        one("((", k, depth, t, ", ");
        expr_of(other, depth - 1, t);
        out(PICK(") = (", ") <> (", ") < (", ") <= (", ") > (", ") >= ("));
        expr_of(k, depth - 1, t);
        out(", ");
        expr_of(other, depth - 1, t);
        out("))");
        break;
    }
    case 14:
        one("((", k, depth, t, PICK(", 1) IN ((", ", 2) NOT IN (("));
        expr_of(k, depth - 1, t);
        out(", 1), (");
        expr_of(k, depth - 1, t);
        out(", 2)))");
        break;
    case 0: two(BOOL, depth, t, " AND "); break;
    case 1: two(BOOL, depth, t, " OR "); break;
    case 2: one("(", k, depth, t, PICK(" IS NULL)", " IS NOT NULL)")); break;
    case 3: two(k, depth, t, " IS DISTINCT FROM "); break;
    case 4:
        one("(", k, depth, t, PICK(" IN (", " NOT IN ("));
        expr_of(k, depth - 1, t);
        out(", ");
        expr_of(k, depth - 1, t);
        out("))");
        break;
    case 5:
        one("(", k == BOOL ? INT : k, depth, t, PICK(" BETWEEN ", " NOT BETWEEN "));
        k = k == BOOL ? INT : k;
        expr_of(k, depth - 1, t);
        out(" AND ");
        expr_of(k, depth - 1, t);
        out(")");
        break;
    case 6:
        one("(", TEXT, depth, t,
            PICK(" LIKE '%a%')", " LIKE 'a_')", " NOT LIKE '%')", " LIKE '_')", " LIKE 'x\\%y')"));
        break;
    case 7:
        one("(", BOOL, depth, t, PICK(" IS TRUE)", " IS NOT TRUE)", " IS UNKNOWN)", " IS FALSE)"));
        break;
    default: two(k, depth, t, PICK(" = ", " <> ", " < ", " <= ", " > ", " >= "));
    }
}

static void expr_of(kind k, int depth, const names *t)
{
    if (depth <= 0 || chance(25)) {
        if (t->n && chance(65))
            column_of(k, t);
        else
            literal(k);
        return;
    }
    if (chance(15)) {
        conditional(k, depth, t);
        return;
    }
    switch (k) {
    case INT:
        switch (below(11)) {
        case 9: two(INT, depth, t, PICK(" & ", " | ", " # ")); break;
        case 10: one("(~", INT, depth, t, PICK(")", ")", " << 3)", " >> 2)")); break;
        case 0: one(PICK("length(", "ascii(", "octet_length("), TEXT, depth, t, ")"); break;
        case 5: one("strpos(", TEXT, depth, t, PICK(", 'a')", ", 'b')", ", '')")); break;
        case 1: one("abs(", INT, depth, t, ")"); break;
        case 2: one("(-", INT, depth, t, ")"); break;
        case 3: one("(", NUM, depth, t, ")::int"); break;
        case 4: two(INT, depth, t, PICK(" / ", " % ")); break;
        default: two(INT, depth, t, PICK(" + ", " - ", " * "));
        }
        break;
    case NUM:
        switch (below(8)) {
        case 0: one("round(", NUM, depth, t, PICK(", 1)", ", 0)", ", 3)", ", -1)")); break;
        case 1: one(PICK("floor(", "ceil(", "trunc(", "sign(", "abs("), NUM, depth, t, ")"); break;
        case 2: one("(", INT, depth, t, ")::numeric"); break;
        case 3: one("(", NUM, depth, t, PICK(")::numeric(6,1)", ")::numeric(10,3)")); break;
        case 4: two(NUM, depth, t, PICK(" / ", " % ")); break;
        case 5:
            one("(", NUM, depth, t, PICK(" + ", " * ", " - ", " / "));
            expr_of(INT, depth - 1, t);
            out(")");
            break;
        default: two(NUM, depth, t, PICK(" + ", " - ", " * "));
        }
        break;
    case TEXT:
        switch (below(12)) {
        case 10:
            one(PICK("concat(", "concat_ws('-', "), (kind)below(KINDS), depth, t, ", ");
            expr_of((kind)below(KINDS), depth - 1, t);
            out(")");
            break;
        case 11: one("(", TEXT, depth, t, " COLLATE \"C\")"); break;
        case 0: one(PICK("lower(", "upper("), TEXT, depth, t, ")"); break;
        case 1: one("(", (kind)below(KINDS), depth, t, ")::text"); break;
        case 2:
            one("substr(", TEXT, depth, t, PICK(", 2)", ", 1, 2)", ", 0, 3)", ", 3, 0)"));
            break;
        case 3: one("(", TEXT, depth, t, PICK(")::varchar(3)", ")::varchar")); break;
        case 4:
            one(PICK("left(", "right(", "repeat(", "lpad(", "rpad("), TEXT, depth, t,
                PICK(", 2)", ", -1)", ", 0)", ", 5)"));
            break;
        case 5: one(PICK("btrim(", "ltrim(", "rtrim(", "reverse("), TEXT, depth, t, ")"); break;
        case 6:
            one(PICK("replace(", "translate("), TEXT, depth, t,
                PICK(", 'a', 'xy')", ", 'ab', 'c')", ", 'bx', '')", ", '', 'q')"));
            break;
        case 7:
            one("split_part(", TEXT, depth, t, PICK(", 'a', 1)", ", 'b', 2)", ", ' ', -1)"));
            break;
        case 8: one(PICK("lpad(", "rpad("), TEXT, depth, t, PICK(", 6, 'xy')", ", 2, 'q')")); break;
        default: two(TEXT, depth, t, " || ");
        }
        break;
    case BOOL: bool_of(depth, t); break;
    default: literal(k);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static void table_name(void)
{
    out(PICK("t0", "t1", "t2"));
}

static void condition(const names *t, int depth)
{
    if (chance(35)) { /* what an index answers */
        out(PICK("id = ", "a = ", "s = "));
        literal(INT);
        if (chance(50)) return;
        out(" AND ");
    }
    expr_of(BOOL, depth, t);
}

static void subquery_condition(const names *t)
{
    static const names inner = {{"u"}, 1, 0};
    (void)t;
    switch (below(5)) {
    case 3:
        out(PICK("q.a > ALL (SELECT u.a FROM ", "q.a = ANY (SELECT u.s FROM ",
                 "q.n <= ANY (SELECT u.n FROM ", "q.a <> ALL (SELECT u.a FROM "));
        table_name();
        out(" u WHERE ");
        expr_of(BOOL, 1, &inner);
        out(")");
        break;
    case 4:
        out(PICK("(q.a, q.s) IN (SELECT u.a, u.s FROM ",
                 "(q.a, q.c) NOT IN (SELECT u.a, u.c FROM "));
        table_name();
        out(" u WHERE ");
        expr_of(BOOL, 1, &inner);
        out(")");
        break;
    case 0:
        out(PICK("EXISTS (SELECT 1 FROM ", "NOT EXISTS (SELECT 1 FROM "));
        table_name();
        out(" u WHERE ");
        out(PICK("u.a = q.a", "u.id < q.a", "u.c = q.c", "u.n > q.n"));
        out(" AND ");
        expr_of(BOOL, 1, &inner);
        out(")");
        break;
    case 1:
        out(PICK("q.a IN (SELECT u.a FROM ", "q.a NOT IN (SELECT u.s FROM ",
                 "q.n IN (SELECT u.a FROM "));
        table_name();
        out(" u WHERE ");
        expr_of(BOOL, 1, &inner);
        out(")");
        break;
    default:
        out(PICK("q.a < (SELECT max(u.a) FROM ", "q.n = (SELECT min(u.n) FROM "));
        table_name();
        out(" u WHERE ");
        expr_of(BOOL, 1, &inner);
        out(")");
    }
}

static void order_limit(uint32_t columns)
{
    if (!chance(50)) return;
    strbuf_printf(&B, " ORDER BY %u%s%s", (unsigned)below(columns) + 1, PICK("", " DESC", " ASC"),
                  PICK("", "", " NULLS FIRST", " NULLS LAST"));
    if (columns > 1 && chance(50)) strbuf_printf(&B, ", %u", (unsigned)below(columns) + 1);
    if (chance(40)) strbuf_printf(&B, " LIMIT %u", (unsigned)below(4));
    if (chance(20)) strbuf_printf(&B, " OFFSET %u", (unsigned)below(3));
}

static void grouped(void)
{
    static const names q = {{"q"}, 1, 0};
    kind k = PICK("x", "y")[0] == 'x' ? INT : BOOL;
    uint32_t n = 1 + below(3);
    bool keyed = chance(70);
    out("SELECT ");
    strbuf key;
    strbuf_init(&key, &M);
    if (keyed) {
        size_t from = B.n;
        expr_of(k, 1, &q);
        strbuf_add(&key, B.at + from, B.n - from);
        out(", ");
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i) out(", ");
        switch (below(10)) {
        case 7:
            out(PICK("bool_and(q.b)", "bool_or(q.a > 3)", "every(q.n > 0)",
                     "string_agg(q.c, ',' ORDER BY q.id)",
                     "string_agg(q.v, q.c ORDER BY q.id DESC)"));
            break;
        case 8: one("count(*) FILTER (WHERE ", BOOL, 1, &q, ")"); break;
        case 9: one("sum(q.a) FILTER (WHERE ", BOOL, 1, &q, ")"); break;
        case 0: out("count(*)"); break;
        case 1: one("count(", (kind)below(KINDS), 2, &q, ")"); break;
        case 2: one("count(DISTINCT ", INT, 1, &q, ")"); break;
        case 3: one(PICK("sum(", "avg("), INT, 2, &q, ")"); break;
        case 4: one(PICK("sum(", "avg("), NUM, 2, &q, ")"); break;
        case 5: one(PICK("min(", "max("), TEXT, 2, &q, ")"); break;
        default:
            out(PICK("sum(q.n) + 1", "max(q.a) - min(q.a)", "sum(q.a) * 2", "min(q.ts)",
                     "avg(q.n) / 3", "max(q.n)"));
        }
    }
    out(" FROM ");
    table_name();
    out(" q");
    if (chance(50)) {
        out(" WHERE ");
        expr_of(BOOL, 2, &q);
    }
    if (keyed) {
        out(" GROUP BY ");
        if (chance(50))
            out("1");
        else
            strbuf_add(&B, key.at, key.n);
        if (chance(30))
            out(PICK(" HAVING count(*) > 1", " HAVING sum(q.a) > 3",
                     " HAVING max(q.n) IS NOT NULL"));
    }
    strbuf_free(&key);
    order_limit(n + keyed);
}

static void select_statement(void)
{
    names q = {{"q"}, 1, 0};
    if (chance(30)) {
        grouped();
        return;
    }
    out(chance(15) ? "SELECT DISTINCT " : "SELECT ");
    bool joined = chance(35);
    if (joined) q = (names){{"q", "r"}, 2, 0};
    uint32_t n = 1 + below(3);
    if (chance(10) && !joined) {
        out("*");
        n = N_FIELDS;
    } else {
        for (uint32_t i = 0; i < n; i++) {
            if (i) out(", ");
            expr_of((kind)below(KINDS), 2, &q);
        }
    }
    out(" FROM ");
    table_name();
    out(" q");
    if (joined) {
        out(PICK(" JOIN ", " LEFT JOIN ", " JOIN ", " LEFT JOIN "));
        table_name();
        out(" r ON ");
        out(PICK("q.id = r.id", "q.a = r.a", "q.a = r.id", "q.c = r.c", "q.n = r.a", "r.s = q.a",
                 "q.id < r.id"));
        if (chance(30)) {
            out(" AND ");
            expr_of(BOOL, 1, &q);
        }
    }
    if (chance(65)) {
        out(" WHERE ");
        if (chance(25)) {
            subquery_condition(&q);
            if (chance(50))
                out(" AND ");
            else {
                order_limit(n);
                return;
            }
        }
        if (chance(30)) {
            out(PICK("q.id = ", "q.a = ", "q.s = "));
            literal(INT);
        } else {
            expr_of(BOOL, 2, &q);
        }
    }
    order_limit(n);
}

static void returning(void)
{
    static const names none = {{""}, 1, 1};
    if (!chance(40)) return;
    out(" RETURNING ");
    if (chance(30)) {
        out("*");
        return;
    }
    out("id, ");
    expr_of((kind)below(KINDS), 1, &none);
}

static void insert_row(void)
{
    static const names none = {{""}, 0, 0};
    strbuf_printf(&B, "(%u", (unsigned)(chance(85) ? next_id++ : below(next_id)));
    for (size_t i = 1; i < N_FIELDS; i++) {
        out(", ");
        if (chance(6))
            out("DEFAULT");
        else if (fields[i].k == INT && chance(70))
            strbuf_printf(&B, "%u", (unsigned)below(12));
        else
            expr_of(fields[i].k, (int)below(2), &none);
    }
    out(")");
}

static void insert_statement(void)
{
    out("INSERT INTO ");
    table_name();
    if (chance(15)) {
        static const names q = {{"q"}, 1, 0};
        strbuf_printf(&B, " (id, a, c, n) SELECT q.id + %u, q.a, q.c, ", (unsigned)below(40) * 50);
        expr_of(NUM, 1, &q);
        out(" FROM ");
        table_name();
        out(" q WHERE ");
        expr_of(BOOL, 2, &q);
        returning();
        return;
    }
    if (chance(20)) {
        strbuf_printf(&B, " (id, a, c) VALUES (%u, %u, ", (unsigned)next_id++, (unsigned)below(9));
        literal(TEXT);
        out(")");
    } else {
        out(" VALUES ");
        insert_row();
        if (chance(25)) {
            out(", ");
            insert_row();
        }
    }
    if (chance(25))
        out(PICK(
            " ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO UPDATE SET a = excluded.a + 1",
            " ON CONFLICT (id) DO NOTHING",
            " ON CONFLICT (id) DO UPDATE SET n = excluded.n, c = excluded.c WHERE excluded.a > 2"));
    returning();
}

static void update_statement(void)
{
    static const names plain = {{""}, 1, 1};
    out("UPDATE ");
    table_name();
    out(" SET ");
    uint32_t n = 1 + below(2), at = 1 + below(8);
    for (uint32_t i = 0; i < n; i++, at++) {
        const field *f = &fields[at >= N_FIELDS ? at - N_FIELDS + 1 : at];
        if (i) out(", ");
        strbuf_printf(&B, "%s = ", f->name);
        expr_of(f->k, 2, &plain);
    }
    if (chance(90)) {
        out(" WHERE ");
        condition(&plain, 2);
    }
    returning();
}

/* ---- queries of queries ---------------------------------------------------------------------- */

static void part(const kind *k, uint32_t n)
{
    static const names q = {{"q"}, 1, 0};
    out("SELECT ");
    for (uint32_t i = 0; i < n; i++) {
        if (i) out(", ");
        expr_of(k[i], 1, &q);
    }
    out(" FROM ");
    table_name();
    out(" q WHERE ");
    expr_of(BOOL, 1, &q);
}

static void set_statement(void)
{
    kind k[3];
    uint32_t n = 1 + below(3);
    for (uint32_t i = 0; i < n; i++) k[i] = (kind)below(KINDS);
    part(k, n);
    for (uint32_t m = 1 + below(2); m; m--) {
        out(PICK(" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " EXCEPT ALL ",
                 " INTERSECT ALL "));
        part(k, n);
    }
    order_limit(n);
}

static void with_statement(void)
{
    out("WITH w AS (SELECT q.id, q.a, q.n, q.c, q.s FROM ");
    table_name();
    out(" q WHERE ");
    expr_of(BOOL, 2, &(names){{"q"}, 1, 0});
    out(PICK(") SELECT q.id, r.c FROM w q JOIN w r ON q.a = r.a",
             ") SELECT sum(a), count(c) FROM w",
             ") SELECT t1.id, w.n FROM t1 LEFT JOIN w USING (id)",
             ") SELECT id FROM t2 WHERE a IN (SELECT a FROM w) OR s = (SELECT max(s) FROM w)",
             "), v AS (SELECT a, count(*) AS m FROM w GROUP BY a) SELECT w.id, v.m FROM w NATURAL "
             "JOIN v",
             ") SELECT * FROM w FULL JOIN (SELECT id, b FROM t0) z USING (id)"));
}

static void join_statement(void)
{
    static const names q = {{"q", "r"}, 2, 0};
    out("SELECT ");
    expr_of((kind)below(KINDS), 1, &q);
    out(", ");
    expr_of((kind)below(KINDS), 1, &q);
    out(" FROM ");
    table_name();
    out(" q");
    bool full = chance(40);
    out(full ? " FULL JOIN " : " RIGHT JOIN ");
    table_name();
    out(" r ON ");
    out(PICK("q.id = r.id", "q.a = r.a", "q.a = r.id", "q.c = r.c"));
    if (!full && chance(40)) {
        out(" AND ");
        expr_of(BOOL, 1, &q);
    }
    if (chance(30)) {
        out(PICK(" JOIN ", " LEFT JOIN ", " RIGHT JOIN "));
        table_name();
        out(" s ON ");
        out(PICK("q.id = s.id", "s.a = r.a", "s.id = r.id"));
    }
    if (chance(50)) {
        out(" WHERE ");
        expr_of(BOOL, 2, &q);
    }
    order_limit(2);
}

/* Rows of a table for each row of another one. */
static void lateral_statement(void)
{
    static const names q = {{"q", "r"}, 2, 0};
    out("SELECT q.id, x.* FROM ");
    table_name();
    const char *how = PICK(" q, LATERAL (", " q LEFT JOIN LATERAL (", " q JOIN LATERAL (");
    bool comma = how[2] == ',';
    out(how);
    out("SELECT r.id AS i, ");
    expr_of(INT, 1, &q);
    out(" AS e FROM ");
    table_name();
    out(" r WHERE ");
    out(PICK("r.id = q.id", "r.a = q.a", "r.id < q.a"));
    out(PICK("", " ORDER BY r.id LIMIT 1", " ORDER BY r.id DESC LIMIT 2"));
    out(comma ? ") x" : ") x ON true");
    order_limit(2);
}

static void distinct_on_statement(void)
{
    static const names q = {{"q"}, 1, 0};
    out("SELECT DISTINCT ON (");
    const char *key = PICK("q.a", "q.b", "q.s", "q.c");
    out(key);
    out(") q.id, ");
    expr_of(TEXT, 1, &q);
    out(" FROM ");
    table_name();
    out(" q WHERE ");
    expr_of(BOOL, 1, &q);
    out(" ORDER BY ");
    out(key);
    out(PICK(", q.id", " DESC, q.id DESC", " NULLS FIRST, q.n, q.id", ", q.n"));
}

/* Frames of RANGE with a distance, and of GROUPS: by one key that has nulls and equal values. */
static void ranged_frame(void)
{
    static const char *const keys[] = {"q.a", "q.s", "q.l", "q.n", "q.ts", "q.id", "q.a + q.s"};
    static const char *const ends[] = {"UNBOUNDED PRECEDING", "", "CURRENT ROW", "",
                                       "UNBOUNDED FOLLOWING"};
    uint32_t key = below(7), from = below(4), to = from + below(5 - from);
    bool groups = chance(40);
    if (!to) to = 1;
    if (from == 4) from = 3;
    strbuf_printf(&B, " ORDER BY %s%s%s%s %s BETWEEN ", keys[key], PICK("", "", " DESC"),
                  PICK("", "", " NULLS FIRST", " NULLS LAST"), groups && chance(40) ? ", q.b" : "",
                  groups ? "GROUPS" : "RANGE");
    for (int i = 0; i < 2; i++) {
        uint32_t end = i ? to : from;
        if (i) out(" AND ");
        out(ends[end]);
        if (*ends[end]) continue;
        out(groups     ? PICK("1", "2", "0", "1 + 1", "-1")
            : key == 4 ? PICK("'1 day'", "interval '1 year'", "'25 years'", "'0 s'", "'-1 s'")
            : key == 3 ? PICK("1.5", "0", "10", "100000", "-0.1")
                       : PICK("1", "3", "0", "9223372036854775807", "10", "'2'"));
        out(end == 1 ? " PRECEDING" : " FOLLOWING");
    }
    if (chance(30))
        out(PICK(" EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS"));
}

static void window_statement(void)
{
    static const names q = {{"q"}, 1, 0};
    out("SELECT q.id");
    for (uint32_t n = 1 + below(2); n; n--) {
        out(PICK(", row_number() OVER (", ", rank() OVER (", ", dense_rank() OVER (",
                 ", count(*) OVER (", ", sum(q.a) OVER (", ", avg(q.n) OVER (", ", max(q.c) OVER (",
                 ", lag(q.a) OVER (", ", lead(q.c, 2, 'z') OVER (", ", lag(q.n, q.s) OVER (",
                 ", ntile(3) OVER (", ", first_value(q.b) OVER (", ", last_value(q.id) OVER (",
                 ", nth_value(q.c, 2) OVER ("));
        if (chance(60)) one("PARTITION BY ", chance(50) ? INT : BOOL, 1, &q, "");
        if (chance(35)) {
            ranged_frame();
        } else {
            if (chance(85))
                out(PICK(" ORDER BY q.id", " ORDER BY q.a DESC, q.id", " ORDER BY q.s"));
            if (chance(40))
                out(PICK(" ROWS 1 PRECEDING", " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
                         " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                         " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
                         " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                         " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES",
                         " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"));
        }
        out(")");
    }
    out(" FROM ");
    table_name();
    out(" q WHERE ");
    expr_of(BOOL, 1, &q);
}

static void update_from(void)
{
    static const names q = {{"q", "r"}, 2, 0};
    if (chance(60)) {
        out("UPDATE ");
        table_name();
        out(" q SET ");
        out(PICK("a = ", "l = "));
        expr_of(INT, 1, &q);
        out(" FROM ");
    } else {
        out("DELETE FROM ");
        table_name();
        out(" q USING ");
    }
    table_name();
    out(" r WHERE ");
    out(PICK("q.id = r.id", "q.a = r.id", "r.id = q.s"));
    out(" AND ");
    expr_of(BOOL, 1, &q);
    if (chance(30)) out(" RETURNING q.id, r.c");
}

static void key_statement(void)
{
    uint32_t a = below(7), b = below(7), c = below(9), t = below(3);
    switch (below(4)) {
    case 0:
    case 1:
        if (t == 0)
            strbuf_printf(&B, "INSERT INTO k0 VALUES (%u, %u)", (unsigned)a, (unsigned)b);
        else if (t == 1)
            strbuf_printf(&B, "INSERT INTO k1 VALUES (%u, %u, %s)", (unsigned)c, (unsigned)a,
                          PICK("NULL", "1", "2", "3", "4"));
        else
            strbuf_printf(&B, "INSERT INTO k2 VALUES (%u, %u, %s, %s)", (unsigned)c, (unsigned)a,
                          PICK("NULL", "1", "2", "3"), PICK("NULL", "1", "2", "5"));
        break;
    case 2:
        strbuf_printf(&B, "DELETE FROM k%u WHERE id %s %u", (unsigned)t, PICK("=", "=", "<", ">"),
                      (unsigned)a);
        break;
    default:
        if (t == 0)
            strbuf_printf(&B, "UPDATE k0 SET %s = %u WHERE id = %u", PICK("id", "u", "u"),
                          (unsigned)a, (unsigned)b);
        else
            strbuf_printf(&B, "UPDATE k%u SET %s = %u WHERE id = %u", (unsigned)t,
                          PICK("p", "q", "id"), (unsigned)a, (unsigned)c);
    }
    if (chance(30)) {
        B.n = 0;
        strbuf_printf(&B, "SELECT * FROM k%u", (unsigned)t);
    }
}

/* ---- procedures ------------------------------------------------------------------------------ */

/* Variables of the bodies: x y z integers, d numeric, w text, g boolean, and a record. */
static void variable_of(kind k)
{
    switch (k) {
    case INT: out(PICK("x", "y", "z")); break;
    case NUM: out("d"); break;
    case TEXT: out("w"); break;
    case BOOL: out(PICK("g", "FOUND")); break;
    default: literal(k);
    }
}

/* An expression over variables: depth 0 is a variable or a literal. */
static void pl_expr(kind k, int depth)
{
    static const names none = {{""}, 0, 0};
    if (depth <= 0 || chance(30)) {
        if (chance(75))
            variable_of(k);
        else
            expr_of(k, 0, &none);
        return;
    }
    switch (k) {
    case INT:
        out("(");
        pl_expr(INT, depth - 1);
        out(PICK(" + ", " - ", " * ", " / ", " % "));
        pl_expr(INT, depth - 1);
        out(")");
        break;
    case NUM:
        out("(");
        pl_expr(NUM, depth - 1);
        out(PICK(" + ", " - ", " * "));
        pl_expr(chance(50) ? INT : NUM, depth - 1);
        out(")");
        break;
    case TEXT:
        out("(");
        pl_expr(TEXT, depth - 1);
        out(" || ");
        pl_expr((kind)below(4), depth - 1);
        out("::text)");
        break;
    case BOOL: {
        kind of = (kind)below(4);
        out("(");
        pl_expr(of, depth - 1);
        out(PICK(" = ", " <> ", " < ", " >= ", " IS DISTINCT FROM "));
        pl_expr(of, depth - 1);
        out(")");
        break;
    }
    default: literal(k);
    }
}

static void pl_block(int depth, int loops);

static void pl_sql(void)
{
    static const char *const cols[] = {"a", "n", "c", "b"};
    uint32_t at = below(4);
    switch (below(7)) {
    case 0:
        strbuf_printf(&B, "SELECT q.%s INTO %s%s FROM ", cols[at], chance(20) ? "STRICT " : "",
                      ((const char *[]){"x", "d", "w", "g"})[at]);
        table_name();
        out(" q WHERE q.id = ");
        pl_expr(INT, 1);
        break;
    case 1:
        out("SELECT q.a, q.c INTO y, w FROM ");
        table_name();
        out(" q WHERE q.a > ");
        pl_expr(INT, 0);
        out(" ORDER BY q.id LIMIT 1");
        break;
    case 2:
        out("SELECT count(*), sum(q.n) INTO z, d FROM ");
        table_name();
        out(" q WHERE q.s < ");
        pl_expr(INT, 0);
        break;
    case 3:
        out("UPDATE ");
        table_name();
        strbuf_printf(&B, " q SET %s = ", cols[at]);
        pl_expr((kind[]){INT, NUM, TEXT, BOOL}[at], 1);
        out(" WHERE q.id = ");
        pl_expr(INT, 1);
        if (chance(40)) out(" RETURNING q.a INTO x");
        break;
    case 4:
        out("INSERT INTO ");
        table_name();
        strbuf_printf(&B, " (id, a, c, n) VALUES (%u, ", (unsigned)next_id++);
        pl_expr(INT, 1);
        out(", ");
        pl_expr(TEXT, 1);
        out(", ");
        pl_expr(NUM, 0);
        out(")");
        if (chance(30)) out(" RETURNING id, a INTO z, y");
        break;
    case 5:
        out("DELETE FROM ");
        table_name();
        out(" q WHERE q.id = ");
        pl_expr(INT, 1);
        break;
    default:
        out("PERFORM 1 FROM ");
        table_name();
        out(" q WHERE q.a = ");
        pl_expr(INT, 0);
    }
    out("; ");
}

static void pl_statement(int depth, int loops)
{
    switch (below(depth > 0 ? 13 : 6)) {
    case 0:
    case 1:
    case 2: {
        kind k = (kind)below(4);
        out(k == INT ? PICK("x", "y", "z") : k == NUM ? "d" : k == TEXT ? "w" : "g");
        out(" := ");
        pl_expr(chance(90) ? k : (kind)below(4), 2);
        out("; ");
        break;
    }
    case 3:
    case 4: pl_sql(); break;
    case 5:
        out(PICK("NULL; ", "GET DIAGNOSTICS z = ROW_COUNT; ", "w := left(w, 8); ", "NULL; "));
        break;
    case 6:
    case 7:
        out("IF ");
        pl_expr(BOOL, 1);
        out(" THEN ");
        pl_block(depth - 1, loops);
        if (chance(40)) {
            out("ELSIF ");
            pl_expr(BOOL, 1);
            out(" THEN ");
            pl_block(depth - 1, loops);
        }
        if (chance(50)) {
            out("ELSE ");
            pl_block(depth - 1, loops);
        }
        out("END IF; ");
        break;
    case 8:
        strbuf_printf(&B, "FOR i IN %s%u..%u LOOP ", chance(30) ? "REVERSE " : "",
                      (unsigned)below(4), (unsigned)below(5));
        pl_block(depth - 1, loops + 1);
        if (chance(40)) {
            out(PICK("EXIT WHEN ", "CONTINUE WHEN "));
            pl_expr(BOOL, 1);
            out("; x := i; ");
        }
        out("END LOOP; ");
        break;
    case 9:
        out("FOR r IN SELECT q.id, q.a, q.c FROM ");
        table_name();
        out(" q WHERE q.id < ");
        strbuf_printf(&B, "%u ORDER BY q.id LOOP x := r.a; w := r.c; ", 90 + (unsigned)below(30));
        pl_block(depth - 1, loops + 1);
        out("END LOOP; ");
        break;
    case 10:
        out("CASE ");
        pl_expr(INT, 0);
        out(" WHEN 1, 2 THEN ");
        pl_block(depth - 1, loops);
        out("WHEN 3 THEN NULL; ");
        if (chance(70)) {
            out("ELSE ");
            pl_block(depth - 1, loops);
        }
        out("END CASE; ");
        break;
    case 11:
        out("BEGIN ");
        pl_block(depth - 1, loops);
        if (chance(30))
            out(PICK("RAISE 'oh %', x; ", "RAISE unique_violation; ", "RAISE SQLSTATE '22003'; "));
        out(PICK("EXCEPTION WHEN others THEN w := SQLSTATE; ",
                 "EXCEPTION WHEN division_by_zero OR numeric_value_out_of_range THEN x := 1; ",
                 "EXCEPTION WHEN integrity_constraint_violation THEN y := 2; WHEN data_exception "
                 "THEN w := 'data'; "));
        out("END; ");
        break;
    default:
        if (!loops) {
            out("x := 0; WHILE x < 3 LOOP x := x + 1; ");
            out(PICK("EXIT WHEN y = 2; ", "CONTINUE WHEN g; z := z + x; ", "d := d + x; "));
            out("END LOOP; ");
        } else {
            out(chance(50) ? "EXIT; " : "RETURN; ");
        }
    }
}

static void pl_block(int depth, int loops)
{
    for (uint32_t n = 1 + below(3); n; n--) pl_statement(depth, loops);
}

static void pl_body(bool function)
{
    out("DECLARE y int := ");
    expr_of(INT, 1, &(names){{""}, 0, 0});
    out("; z bigint := 3; d numeric(8,2) := 1.5; w text := 'k'; g boolean; r record;");
    if (!function) out(" x int := 2;");
    out(" BEGIN ");
    pl_block(3, 0);
    out("IF x > 1 THEN RAISE NOTICE '%', w; END IF; ");
    /* what the variables are at the end is what we want to see */
    if (!function) {
        strbuf_printf(&B, "INSERT INTO t0 (id, a, c, n, b, l) VALUES (%u, ", (unsigned)next_id++);
        out("x, left(w, 20), d, g, y);");
    }
    out(" END");
}

static void procedure_statement(void)
{
    static uint32_t made;
    if (chance(50)) {
        out("DO $$");
        pl_body(false);
        out("$$");
    } else if (made < 3 || chance(30)) {
        strbuf_printf(&B, "CREATE OR REPLACE FUNCTION f%u(INOUT x int, OUT w text) AS $$",
                      (unsigned)(made < 3 ? made++ : below(3)));
        size_t from = B.n;
        pl_body(true);
        /* w is a parameter here */
        strbuf_str(&B, "");
        char *at = strstr(strbuf_cstr(&B) + from, " w text := 'k';");
        if (at) memset(at, ' ', 15);
        out("$$ LANGUAGE plpgsql");
    } else {
        strbuf_printf(&B, "SELECT * FROM f%u(%u)", (unsigned)below(3), (unsigned)below(9));
    }
}

static void statement(void)
{
    static const names plain = {{""}, 1, 1};
    B.n = 0;
    static void (*const others[])(void) = {set_statement,     with_statement,        join_statement,
                                           window_statement,  update_from,           key_statement,
                                           lateral_statement, distinct_on_statement, key_statement};
    uint32_t k = getenv("NEWER") ? 290 : below(330);
    if (k >= 290) {
        newer_statement(&B, &R);
    } else if (k >= 260 || getenv("MORE")) {
        more_statement(&B, &R);
    } else if (k >= 200 || getenv("WIDE")) {
        wide_statement(&B, &R);
    } else if (k >= 150) {
        typed_statement(&B, &R);
    } else if (k >= 120) {
        others[below(sizeof others / sizeof others[0])]();
    } else if (k >= 100) {
        procedure_statement();
    } else if (k < 45) {
        select_statement();
    } else if (k < 75) {
        insert_statement();
    } else if (k < 92) {
        update_statement();
    } else if (k < 99) {
        out("DELETE FROM ");
        table_name();
        out(" WHERE ");
        condition(&plain, 2);
        returning();
    } else {
        out("DELETE FROM ");
        table_name();
        out(chance(50) ? " WHERE id > 120" : "");
    }
}

/* ---- both sides ------------------------------------------------------------------------------ */

typedef enum { DONE, RAISED, REFUSED } ended;

static plan *volatile bound;

static ended ours(const char *sql, uint32_t state, sql_result *r)
{
    bound = NULL;
    X.state = X.latest = state;
    X.regs.cid = ++X.last_cid;
    X.rule = WRITE_FREE;
    /* a script may go on after ROLLBACK TO */
    const size_t mark = X.savepoints.n ? vs_mark(&S) : 0;
    if (guard_armed(&G)) {
        vs_rollback(&S, mark);
        if (G.code == SQL_RAISED) return RAISED;
        if (G.code == SQL_REFUSED) return REFUSED;
        printf("against_postgres: %s\n", G.text);
        exit(1);
    }
    bound = sql_bind(&X, &PLANS, sql, strlen(sql));
    exec_plan(&X, bound, r);
    return DONE;
}

static bool same_rows(const sql_result *r, PGresult *g)
{
    log_stmt s = {.has_rows = PQresultStatus(g) == PGRES_TUPLES_OK, .has_count = true};
    s.n_rows = (uint32_t)PQntuples(g);
    s.n_cols = (uint32_t)PQnfields(g);
    s.count = (uint64_t)strtoull(PQcmdTuples(g), NULL, 10);
    cell *c = arena_array(&X.work, cell, (size_t)s.n_rows * s.n_cols + 1);
    for (uint32_t i = 0; i < s.n_rows; i++)
        for (uint32_t k = 0; k < s.n_cols; k++) {
            bool null = PQgetisnull(g, (int)i, (int)k);
            c[i * s.n_cols + k] =
                (cell){null ? CELL_NULL : CELL_TEXT, (uint32_t)PQgetlength(g, (int)i, (int)k),
                       PQgetvalue(g, (int)i, (int)k)};
        }
    s.cells = c;
    if (r->unseen) return !PQresultErrorField(g, PG_DIAG_SQLSTATE);
    if (s.has_rows != r->has_rows) return false;
    for (uint32_t k = 0; k < r->n_cols; k++)
        if (strcmp(r->names[k], PQfname(g, (int)k)) != 0) {
            printf("# column %u is \"%s\", not \"%s\"\n", (unsigned)k, PQfname(g, (int)k),
                   r->names[k]);
            return false;
        }
    return match_result(&X, r, &s);
}

/* What ends a transaction of ours: NULL, or the error of a foreign key that was deferred. */
static const char *our_commit(void)
{
    if (guard_armed(&G)) {
        vs_rollback(&S, 0);
        if (G.code == SQL_RAISED) return X.c.state;
        printf("against_postgres: at COMMIT: %s\n", G.text);
        exit(1);
    }
    X.regs.cid = ++X.last_cid;
    refer_late(&X);
    exec_end(&X);
    return NULL;
}

static void show(PGresult *g, const sql_result *r, ended e)
{
    printf("# PostgreSQL: %s %s\n", PQresStatus(PQresultStatus(g)), PQresultErrorMessage(g));
    for (int i = 0; i < PQntuples(g) && i < 8; i++) {
        printf("#   ");
        for (int k = 0; k < PQnfields(g); k++)
            printf("%s|", PQgetisnull(g, i, k) ? "null" : PQgetvalue(g, i, k));
        printf("\n");
    }
    strbuf b;
    strbuf_init(&b, &M);
    if (e == DONE) match_show(&X, r, &b);
    printf("# ours: %s\n", e == DONE ? strbuf_cstr(&b) : X.c.state);
    if (e == RAISED) printf("#   %s\n", G.text);
    strbuf_free(&b);
}

/* What the random statements are made of, by words that stand in them. */
static const char *const constructs[] = {"MERGE INTO",
                                         "GROUPING SETS",
                                         "ROLLUP",
                                         "CUBE",
                                         " OVER (",
                                         " RANGE BETWEEN",
                                         " GROUPS BETWEEN",
                                         "EXCLUDE ",
                                         "jsonb_",
                                         "::jsonb",
                                         "json_agg",
                                         "interval '",
                                         "ARRAY[",
                                         "unnest(",
                                         "DISTINCT ON",
                                         "LATERAL",
                                         "WITH w",
                                         "WITH RECURSIVE",
                                         "UNION",
                                         "INTERSECT",
                                         "EXCEPT",
                                         "FULL JOIN",
                                         "INTO w2",
                                         "UPDATE w2",
                                         " v0",
                                         "ON CONFLICT",
                                         "RETURNING",
                                         "DO $$",
                                         "FUNCTION f",
                                         "EXISTS (",
                                         " ANY",
                                         "ILIKE",
                                         " ~ ",
                                         "date_trunc",
                                         "extract(",
                                         "to_char(",
                                         "float8",
                                         "bytea",
                                         "regexp_",
                                         "format(",
                                         "generate_series",
                                         "string_agg",
                                         "array_agg",
                                         "FILTER (",
                                         "REFERENCES",
                                         "INTO k",
                                         "INTO e1",
                                         "mood",
                                         "uuid",
                                         "WITH gone",
                                         "FETCH FIRST",
                                         "timestamptz",
                                         "now()",
                                         "WITHIN GROUP",
                                         "ROW(",
                                         "SIMILAR TO",
                                         "width_bucket",
                                         "make_interval",
                                         "to_timestamp",
                                         "SET x[",
                                         "SET j[",
                                         "pg_typeof",
                                         "jsonb_path"};
#define N_CONSTRUCTS (sizeof constructs / sizeof constructs[0])

typedef struct run {
    PGconn *db;
    uint32_t met[N_CONSTRUCTS]; /* equal answers with it */
    uint64_t seed;
    uint32_t state, passed, failed, refused, errors, open_order;
    bool verbose, open; /* open: within a transaction of a script */
} run;

/* COMMIT succeeds on both sides, or fails with the same error. */
static void commit_both(run *t, const char *where, uint32_t at, const char *sql)
{
    PGresult *g = PQexec(t->db, "COMMIT");
    const char *code = PQresultErrorField(g, PG_DIAG_SQLSTATE), *state = our_commit();
    if (!state) {
        vs_commit(&S, ++t->state);
        vs_forget(&S, t->state);
    }
    if (state ? !code || strcmp(code, state) != 0 : code != NULL) {
        t->failed++;
        printf("not the same (%s %llu, statement %u): COMMIT after %s\n", where,
               (unsigned long long)t->seed, (unsigned)at, sql);
        printf("# PostgreSQL: %s, ours: %s\n", code ? code : "done", state ? state : "done");
    }
    PQclear(g);
}

/* Both sides run the statement; false if ours refuses it. */
static bool compare(run *t, const char *sql, const char *where, uint32_t at)
{
    sql_result r;
    ended e = ours(sql, t->state, &r);
    if (e == REFUSED) {
        if (t->verbose) printf("# refused: %s\n#   %s\n", G.text, sql);
        arena_reset(&X.work);
        return false;
    }
    if (!t->open) PQclear(PQexec(t->db, "BEGIN")); /* what only one side did can be taken back */
    PGresult *g = PQexec(t->db, sql);
    const char *code = PQresultErrorField(g, PG_DIAG_SQLSTATE);
    bool good = e == DONE ? !code && same_rows(&r, g) : code && !strcmp(code, X.c.state);
    bool unclear = !good && bound && (code || e == RAISED) &&
                   sql_unclear(&X, bound, e == RAISED ? X.c.state : NULL, code);
    t->errors += code != NULL;
    if (unclear) {
        t->open_order++;
    } else if (good) {
        t->passed++;
        for (size_t i = 0; i < N_CONSTRUCTS; i++) t->met[i] += strstr(sql, constructs[i]) != NULL;
    } else {
        t->failed++;
        printf("not the same (%s %llu, statement %u): %s\n", where, (unsigned long long)t->seed,
               (unsigned)at, sql);
        show(g, &r, e);
    }
    if (!t->open) {
        if (e == DONE && !code) {
            commit_both(t, where, at, sql);
        } else {
            PQclear(PQexec(t->db, "ROLLBACK"));
            vs_rollback(&S, 0);
        }
        exec_begin(&X);
    }
    PQclear(g);
    arena_reset(&X.work);
    if (!t->open) arena_free(&PLANS);
    return true;
}

/* Everything that is compared with the clock is long past, or far away. */
static uint32_t newest(void *ud, uint32_t n)
{
    (void)ud, (void)n;
    return 0;
}

static void script_statement(run *t, const char *sql, const char *file, uint32_t line, bool refuse)
{
    if (!strcmp(sql, "BEGIN") || !strcmp(sql, "COMMIT") || !strcmp(sql, "ROLLBACK")) {
        t->open = sql[0] == 'B';
        if (sql[0] != 'C') PQclear(PQexec(t->db, sql));
        if (sql[0] == 'C') commit_both(t, file, line, sql);
        if (sql[0] == 'R') vs_rollback(&S, 0);
        exec_begin(&X);
        if (!t->open) arena_free(&PLANS);
        return;
    }
    if (!strcmp(sql, "SET timezone TO 'UTC'")) { /* until the script ends */
        X.c.zone = ZONE_UTC;
        X.pick = newest;
    }
    bool taken = compare(t, sql, file, line);
    if (taken == !refuse) {
        t->passed += refuse;
        return;
    }
    t->failed++;
    printf("%s:%u: %s: %s\n", file, (unsigned)line, taken ? "not refused" : "refused", sql);
    if (!taken) printf("#   %s\n", G.text);
}

static bool script(run *t, const char *file)
{
    FILE *f = fopen(file, "r");
    if (!f) return false;
    X.c.zone = ZONE_UNSET;
    X.pick = NULL;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    strbuf b;
    uint32_t at = 0, from = 1;
    bool refuse = false;
    mem own;
    mem_init(&own, NULL, NULL, &G);
    strbuf_init(&b, &own);
    for (;;) {
        n = getline(&line, &cap, f);
        at++;
        bool mark = n >= 2 && !strncmp(line, "--", 2) && (line[2] == '\n' || line[2] == ' ');
        if (n >= 0 && !mark) {
            strbuf_add(&b, line, (size_t)n);
            continue;
        }
        while (b.n && b.at[b.n - 1] == '\n') b.n--;
        if (b.n) script_statement(t, strbuf_cstr(&b), file, from, refuse);
        if (n < 0) break;
        b.n = 0;
        from = at + 1;
        refuse = !strcmp(line, "-- refused\n");
    }
    free(line);
    fclose(f);
    mem_free_all(&own);
    return true;
}

/* The statements, up to NULL, on both sides. */
static bool make_all(run *t, const char *const *statements)
{
    for (; *statements; statements++) {
        sql_result r;
        PQclear(PQexec(t->db, *statements));
        if (ours(*statements, t->state, &r) != DONE) {
            printf("%s: %s\n", *statements, G.text);
            return false;
        }
        vs_commit(&S, ++t->state);
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 64;
    uint32_t count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 3000;
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    char info[600];
    snprintf(info, sizeof info, "host=%s port=%s dbname=postgres user=postgres", argv[1], argv[2]);
    PGconn *db = PQconnectdb(info);
    if (PQstatus(db) != CONNECTION_OK) {
        printf("against_postgres: %s\n", PQerrorMessage(db));
        return 1;
    }
    PQclear(PQexec(db, "SET client_min_messages = error"));
    PQclear(PQexec(db, "DROP SCHEMA public CASCADE"));
    PQclear(PQexec(db, "CREATE SCHEMA public"));
    rng_seed(&R, seed);
    guard_init(&G);
    mem_init(&M, NULL, NULL, &G);
    vs_init(&S, &M);
    exec_init(&X, &S, &M);
    arena_init(&PLANS, &M);
    strbuf_init(&B, &M);
    run t = {.db = db, .seed = seed, .verbose = getenv("VERBOSE") != NULL};
    if (!make_all(&t, schema) || !make_all(&t, typed_schema) || !make_all(&t, wide_schema) ||
        !make_all(&t, more_schema))
        return 1;
    for (int i = 5; i < argc; i++)
        if (!script(&t, argv[i])) return 1;
    PQclear(PQexec(db, "SET TIME ZONE 'UTC'"));
    X.c.zone = ZONE_UTC;
    X.pick = newest;
    if (!make_all(&t, newer_schema)) return 1;
    memset(t.met, 0, sizeof t.met);
    for (uint32_t i = 0; i < count && t.failed < 10; i++) {
        statement();
        if (!compare(&t, strbuf_cstr(&B), "seed", i)) t.refused++;
    }
    printf("# equal answers to random statements with");
    for (size_t i = 0; i < N_CONSTRUCTS; i++)
        printf("%s %s %u", i ? "," : "", constructs[i], (unsigned)t.met[i]);
    printf("\n");
    PQfinish(db);
    mem_free_all(&M);
    printf("# %u refused, %u errors, %u that depend on the planner\n", (unsigned)t.refused,
           (unsigned)t.errors, (unsigned)t.open_order);
    if (t.refused > count / 3) {
        printf("too much is refused\n");
        t.failed++;
    }
    printf("%u passed, %u failed\n", (unsigned)t.passed, (unsigned)t.failed);
    return t.failed != 0;
}
