/*
 * newer_statements.c - random statements over table n0; both sides are at UTC.
 *
 * A letter after % in a shape stands for an expression of a kind.  What is compared with the clock
 * lies in the past or far in the future, so that the newest instant explains every answer.
 */
#include "newer_statements.h"

#include "statement_maker.h"

#include <assert.h>

const char *const newer_schema[] = {
    "CREATE TABLE n0 (id int PRIMARY KEY, z timestamptz, p timestamp, d date, x int[], t text[],"
    " f float8[], w timestamptz[], j jsonb, c text, n numeric, a int, g float8, i interval)",
    "INSERT INTO n0 VALUES (1, '2024-01-31 23:30:00', '2024-02-29 10:00', '2023-12-31', '{1,2,3}',"
    " '{a,b}', '{1.5,NaN,-0}', '{\"2024-01-01 10:00\"}', '{\"a\": 1}', 'abc', 1.5, 3, 0.1,"
    " '1 mon'),"
    " (2, '1999-12-31 00:00:00+05', '2000-01-01', '2024-02-29', '{}', NULL, '{}', NULL, NULL,"
    " 'x y',"
    " -2.25, NULL, NULL, '-2 days'), (3, NULL, NULL, NULL, NULL, '{NULL,\"q,\"}', NULL, '{}', '{}',"
    " NULL, NULL, 7, 2.5, NULL)",
    NULL,
};

typedef enum {
    INSTANT,
    STAMP,
    DAY,
    INTS,
    TEXTS,
    FLOATS,
    JSON,
    TEXT,
    EXACT,
    WHOLE,
    FLOAT,
    SPAN,
    TRUTH
} newer_kind;
#define N_KINDS 13
static const char letters[] = "zpdxtfjcnagib";

static const char *literal(maker *m, newer_kind k)
{
    switch (k) {
    case INSTANT:
        return PICK(m, "timestamptz '2024-02-29 23:59:59.5'", "'1999-12-31 12:00+03'::timestamptz",
                    "timestamptz '2021-03-28 02:30'", "NULL::timestamptz");
    case STAMP: return PICK(m, "timestamp '2020-06-30 07:08:09'", "NULL::timestamp");
    case DAY: return PICK(m, "date '2024-02-29'", "date '2001-01-31'", "NULL::date");
    case INTS: return PICK(m, "'{3,NULL}'::int[]", "ARRAY[5]", "NULL::int[]");
    case TEXTS: return PICK(m, "'{b,\"a c\"}'::text[]", "'{}'::text[]");
    case FLOATS: return PICK(m, "ARRAY[0.1::float8, 2]", "'{Infinity,NULL,1e-7}'::float8[]");
    case JSON: return PICK(m, "'{\"b\": [1]}'::jsonb", "'[1]'::jsonb", "NULL::jsonb");
    case TEXT: return PICK(m, "'abc'::text", "'a.b'::text", "''::text", "'(x'::text", "NULL::text");
    case EXACT: return PICK(m, "0.5", "10.0", "-3.25", "NULL::numeric");
    case WHOLE: return PICK(m, "0", "1", "2", "4", "-1", "NULL::int");
    case FLOAT: return PICK(m, "0.5::float8", "180::float8", "-0.0::float8", "NULL::float8");
    case SPAN: return PICK(m, "interval '1 day'", "interval '1 mon -2 days'", "interval '90 min'");
    default: return PICK(m, "true", "false", "NULL::boolean");
    }
}

static const char *shape(maker *m, newer_kind k)
{
    switch (k) {
    case INSTANT:
        return PICK(m, "(%z + %i)", "(%z - %i)", "date_trunc('month', %z)", "date_trunc('day', %z)",
                    "date_trunc('week', %d)", "%p::timestamptz", "%d::timestamptz",
                    "to_timestamp('2024-03-05 06:07:08', 'YYYY-MM-DD HH24:MI:SS')",
                    "to_timestamp('20240305', 'YYYYMMDD')", "to_timestamp('2024-13', 'YYYY-MM')",
                    "greatest(%z, %p)", "coalesce(%z, %d)", "(%z::text)::timestamptz",
                    "CASE WHEN %b THEN %z ELSE %p END", "(%p AT TIME ZONE 'UTC')");
    case STAMP:
        return PICK(m, "%z::timestamp", "(%z AT TIME ZONE 'utc')", "(%p + %i)",
                    "make_timestamp(2024, 2, 29, 1, 2, 3.5)");
    case DAY:
        return PICK(m, "%z::date", "(%d + %a)", "to_date('2024-02-29', 'YYYY-MM-DD')",
                    "to_date('31.01.2024', 'DD.MM.YYYY')", "to_date('2024-02-30', 'YYYY-MM-DD')",
                    "to_date('2024', 'YYYY')", "make_date(2023, 2, 28)", "%p::date", "date(%z)",
                    "date(%p)");
    case INTS:
        return PICK(m, "array_fill(%a, ARRAY[3])", "array_fill(7, ARRAY[%a])", "(%x || %a)",
                    "array_fill(%a, '{}')", "array_fill(1, NULL::int[])");
    case TEXTS: return PICK(m, "(%t || %c)", "%f::text[]", "%x::text[]");
    case FLOATS:
        return PICK(m, "(%f || %g)", "ARRAY[%g, %a]", "array_remove(%f, %g)", "%x::float8[]");
    case JSON:
        return PICK(m, "to_jsonb(%z)", "jsonb_build_object('k', %z)", "(%j || '{\"q\": 2}')",
                    "to_jsonb(ARRAY[%c])", "jsonb_path_query_array(%j, '$.*')",
                    "jsonb_path_query_first(%j, '$.b[*] ? (@ > 0)')",
                    "jsonb_path_query_array('[{\"a\": 1}, {\"a\": [2, \"x\"]}, 3]', '$.a')",
                    "jsonb_path_query_array('[{\"a\": 1}, {\"a\": [2, \"x\"]}, 3]', '$[*].a[0]')",
                    "jsonb_path_query_array('[{\"a\": 1}, {\"a\": [2, \"x\"]}, null]', '$[*] ?"
                    " (@.a >= 1)')",
                    "jsonb_path_query_array(%j, '$[last]')", "jsonb_path_query_array(%j, '$[0].a')",
                    "jsonb_path_query_array('{\"a\": [true, null, \"b\", 1.50]}', '$.a[*] ? (@ "
                    "!= \"b\")')",
                    "jsonb_path_query_array('{\"a\": [true, null, \"b\", 1.50]}', '$.a ? (@ == "
                    "null)')");
    case TEXT:
        return PICK(m, "%z::text", "to_char(%z, 'YYYY-MM-DD HH24:MI:SS')", "concat(%z, %c)",
                    "format('%%s', %z)", "pg_typeof(z)::text", "pg_typeof(x)::text",
                    "pg_typeof(%n)::text", "pg_typeof(%b)::text", "ROW(%c, %a)::text",
                    "ROW(%n, %x, %b, %i)::text", "%f::text", "array_to_string(%f, '/')",
                    "normalize(%c)", "(n0).c", "ROW(ROW(%a, %c)::text, %t)::text");
    case EXACT:
        return PICK(m, "extract(hour FROM %z)", "extract(epoch FROM %z)", "extract(dow FROM %z)",
                    "to_number('1,234.5', '9,999.9')", "to_number('12', '99')", "(n0).n");
    case WHOLE:
        return PICK(m, "width_bucket(%n, 0.0, 10.0, 4)", "width_bucket(%a, 0, 7, 3)",
                    "width_bucket(%n, 5.5, 1.5, %a)", "width_bucket(%g, 0.3, 9.7, 5)",
                    "cardinality(%f)", "array_length(%f, 1)", "(n0).a", "array_position(%f, %g)");
    case FLOAT:
        return PICK(m, "degrees(%g)", "radians(%g)", "pi()", "(%f)[1]", "date_part('hour', %z)",
                    "sin(0)", "cos(%a - %a)", "atan2(%a, %a)", "acos(1)", "date_part('epoch', %z)");
    case SPAN:
        return PICK(m, "make_interval(days => %a)", "make_interval(%a, %a, 1, 2)",
                    "make_interval(hours => 5, secs => 1.5, years => %a)", "(%z - %z)",
                    "age(%z, %z)", "age(%d, %d)", "make_interval()");
    default:
        return PICK(m, "(%z < %z)", "(%z >= %p)", "(%d = %z)", "(%z IN (%z, %p))", "(%f = %f)",
                    "(%f < %f)", "(%g = ANY(%f))", "(%c SIMILAR TO '%%(a|x)_*')",
                    "(%c NOT SIMILAR TO 'a%%')", "(%c SIMILAR TO '(ab)+c')",
                    "(%c SIMILAR TO 'a.b')", "(%c IS NORMALIZED)", "(%j @? '$.a')",
                    "jsonb_path_exists(%j, '$.a ? (@ < 5)')", "jsonb_path_exists(%j, '$[*]')",
                    "(%j @? '$.zz ? (@ == \"b\")')", "(z < now())", "(p <= now())",
                    "(now() - p > interval '1 day')", "(d < current_date)",
                    "(z > now() + interval '2 months')", "(z BETWEEN '1999-01-01' AND now())",
                    "(now() >= z + interval '1 hour')", "(random() >= 0)", "(random() < 1.5)",
                    "(txid_current() > 0)", "(d = current_date - 1)", "(NOT %b)", "(%f @> %f)",
                    "(date_trunc('day', now()) > p)");
    }
}

static void put(maker *m, newer_kind k, int depth);

static void shaped(maker *m, const char *s, int depth)
{
    for (; *s; s++) {
        if (*s != '%') {
            strbuf_char(m->b, *s);
        } else if (*++s == '%') {
            strbuf_char(m->b, '%');
        } else {
            const char *at = strchr(letters, *s);
            assert(at && *at);
            put(m, (newer_kind)(at - letters), depth - 1);
        }
    }
}

static void put(maker *m, newer_kind k, int depth)
{
    if (depth > 0 && below(m, 4))
        shaped(m, shape(m, k), depth);
    else if (k != TRUTH && below(m, 3))
        strbuf_char(m->b, letters[k]);
    else
        add(m, literal(m, k));
}

static void change(maker *m)
{
    unsigned id = 1 + below(m, 5);
    switch (below(m, 7)) {
    case 0:
        strbuf_printf(m->b,
                      "UPDATE n0 SET x[%s] = ", PICK(m, "1", "2", "3", "4", "5", "a", "NULL"));
        put(m, WHOLE, 2);
        break;
    case 1:
        strbuf_printf(m->b, "UPDATE n0 SET t[%u] = ", 1 + below(m, 3));
        put(m, TEXT, 2);
        break;
    case 2:
        strbuf_printf(m->b, "UPDATE n0 SET j[%s] = ", PICK(m, "'a'", "'zz'", "c", "'b'"));
        put(m, JSON, 2);
        break;
    case 3:
        strbuf_printf(m->b, "UPDATE n0 SET f[%u] = ", 1 + below(m, 3));
        put(m, FLOAT, 1);
        break;
    case 4: strbuf_printf(m->b, "UPDATE n0 SET z = %s", literal(m, INSTANT)); break;
    case 5:
        strbuf_printf(m->b, "INSERT INTO n0 (id, z, d, f, c, n, w) VALUES (%u, ", id);
        add(m, PICK(m, "'2024-05-06 07:08', ", "'2010-01-01', ", "NULL, "));
        for (const char *k = "dfcn"; *k; k++) {
            add(m, literal(m, (newer_kind)(strchr(letters, *k) - letters)));
            add(m, ", ");
        }
        add(m, "ARRAY['2020-01-01 00:00'::timestamptz]) ON CONFLICT (id) DO UPDATE SET x[1] = 9,"
               " c = excluded.c RETURNING id, x, c, z");
        return;
    default: strbuf_printf(m->b, "DELETE FROM n0 WHERE id = %u AND id > 3", id); return;
    }
    strbuf_printf(m->b, " WHERE %s", PICK(m, "id = 1", "id = 2", "id < 3", "true"));
    add(m, PICK(m, "", " RETURNING *", " RETURNING x, t, j, f"));
}

static void grouped(maker *m)
{
    add(m, "SELECT ");
    for (unsigned n = 1 + below(m, 3), i = 0; i < n; i++) {
        if (i) add(m, ", ");
        add(m, PICK(m, "percentile_cont(0.5) WITHIN GROUP (ORDER BY ",
                    "percentile_cont(0.3) WITHIN"
                    " GROUP (ORDER BY ",
                    "percentile_cont(1.5) WITHIN GROUP (ORDER BY "));
        put(m, PICK(m, "a", "n")[0] == 'a' ? WHOLE : EXACT, 1);
        add(m, PICK(m, ")", " DESC)"));
        add(m, PICK(m, ", percentile_disc(0.5) WITHIN GROUP (ORDER BY d)",
                    ", percentile_disc(0) WITHIN GROUP (ORDER BY c DESC)",
                    ", mode() WITHIN GROUP (ORDER BY a)", ", mode() WITHIN GROUP (ORDER BY c)",
                    ", count(n0)", ", array_agg(g ORDER BY id)", ", array_agg(z ORDER BY id)",
                    ", max(z)", ", json_agg(z ORDER BY id)",
                    ", percentile_disc(0.9) WITHIN GROUP (ORDER BY a) FILTER (WHERE id > 1)"));
    }
    add(m, " FROM n0");
    add(m, PICK(m, "", " WHERE id < 3", " WHERE false", " GROUP BY id",
                " GROUP BY date_trunc('year', z)"));
}

void newer_statement(strbuf *b, rng *r)
{
    maker m = {b, r};
    unsigned what = below(&m, 12);
    if (what < 3) {
        change(&m);
        return;
    }
    if (what == 3) {
        grouped(&m);
        return;
    }
    if (what == 4) {
        add(&m, PICK(&m, "SELECT q FROM (SELECT id, z, d, x, t, j, c, n, a, i FROM n0) q",
                     "SELECT ROW(id, c, n) FROM n0",
                     "SELECT q, q.id FROM (SELECT id, c, d, j, x FROM n0) q ORDER BY 2",
                     "SELECT d, d::date FROM generate_series(date '2024-02-27', '2024-03-02',"
                     " '1 day') d ORDER BY d",
                     "SELECT generate_series(timestamptz '2024-01-31', '2024-05-01', '1 month')",
                     "SELECT q.d FROM n0, generate_series(n0.d, n0.d + 3, interval '36 hours') AS"
                     " q(d) WHERE id < 3",
                     "SELECT unnest(f) FROM n0", "SELECT id, jsonb_path_query(j, '$.*') FROM n0",
                     "SELECT id, q FROM n0, jsonb_path_query(j, '$.a[*]') q",
                     "SELECT w FROM n0 ORDER BY id", "SELECT DISTINCT f FROM n0",
                     "SELECT id, z FROM n0 ORDER BY z, id"));
        return;
    }
    add(&m, "SELECT ");
    for (unsigned n = 1 + below(&m, 3), i = 0; i < n; i++) {
        if (i) add(&m, ", ");
        put(&m, (newer_kind)below(&m, N_KINDS), 3);
    }
    add(&m, " FROM n0");
    if (below(&m, 2)) {
        add(&m, " WHERE ");
        put(&m, TRUTH, 2);
    }
}
