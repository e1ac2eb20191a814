/*
 * typed_statements.c - random statements over a table of intervals, dates, json, arrays and floats.
 *
 * Expressions are of one of the kinds below; their operators and functions are those of the types.
 * Literals include the corners: ends of months, negative parts, nulls inside of arrays, numbers
 * that are equal and print differently, NaN.
 */
#include "typed_statements.h"

#include <assert.h>

typedef enum {
    SPAN,
    DATE,
    STAMP,
    TIME,
    JSON,
    INTS,
    TEXTS,
    FLOAT,
    BYTES,
    WHOLE,
    EXACT,
    TEXT,
    TRUTH,
    N_KINDS
} typed_kind;

static const struct {
    const char *name;
    typed_kind k;
} columns[] = {{"i", SPAN},  {"d", DATE},  {"p", STAMP}, {"h", TIME},  {"j", JSON}, {"x", INTS},
               {"t", TEXTS}, {"f", FLOAT}, {"y", BYTES}, {"a", WHOLE}, {"c", TEXT}};
#define N_COLUMNS (sizeof columns / sizeof columns[0])

const char *const typed_schema[] = {
    "CREATE TABLE y0 (id int PRIMARY KEY, i interval, d date, p timestamp, h time, j jsonb,"
    " x int[], t text[], f float8, y bytea, a int, c text, UNIQUE (i, d))",
    "CREATE TABLE y1 (id int PRIMARY KEY, i interval DEFAULT '1 day', d date, p timestamp, h time,"
    " j jsonb DEFAULT '{}', x int[] UNIQUE, t text[], f float8 UNIQUE, y bytea, a int, c text)",
    NULL,
};

typedef struct maker {
    strbuf *b;
    rng *r;
    bool rows; /* columns may be used */
} maker;

static uint32_t below(maker *m, uint32_t n)
{
    return rng_below(m->r, n);
}

static void add(maker *m, const char *s)
{
    strbuf_str(m->b, s);
}

#define PICK(m, ...)                                                                               \
    ((const char *[]){                                                                             \
        __VA_ARGS__})[below(m, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))]

static void typed_literal(maker *m, typed_kind k)
{
    switch (k) {
    case SPAN:
        add(m, PICK(m, "interval '1 day'", "interval '1 mon'", "interval '-2 days 03:00'",
                    "interval '1 year 2 mons'", "interval '00:00:01.5'", "interval '24 hours'",
                    "interval '30 days'", "interval '-1 mon +1 day -00:00:00.000001'",
                    "'1.5 weeks'::interval", "NULL::interval", "interval '0'"));
        break;
    case DATE:
        add(m, PICK(m, "date '2024-01-31'", "date '2024-02-29'", "date '1999-12-31'",
                    "date '2000-01-01'", "date '2023-03-01'", "NULL::date"));
        break;
    case STAMP:
        add(m, PICK(m, "timestamp '2024-01-31 23:59:59.999999'", "timestamp '2024-02-29 12:30'",
                    "timestamp '1999-12-31 00:00:01'", "timestamp '2000-01-01'",
                    "timestamp '2021-01-03 04:05:06.7'", "NULL::timestamp"));
        break;
    case TIME:
        add(m, PICK(m, "time '00:00'", "time '23:59:59.5'", "time '12:34:56'", "NULL::time"));
        break;
    case JSON:
        add(m, PICK(m, "'{\"a\": 1, \"b\": [1, 2.50, \"x\"]}'::jsonb", "'[1, \"a\", null]'::jsonb",
                    "'{}'::jsonb", "'[]'::jsonb", "'1.0'::jsonb", "'1.00'::jsonb", "'\"a\"'::jsonb",
                    "'null'::jsonb", "'{\"b\": {\"a\": true}, \"aa\": 1e2, \"b\": 7}'::jsonb",
                    "NULL::jsonb"));
        break;
    case INTS:
        add(m, PICK(m, "'{1,2,3}'::int[]", "'{}'::int[]", "ARRAY[3, NULL, 1]", "ARRAY[2]",
                    "NULL::int[]"));
        break;
    case TEXTS:
        add(m, PICK(m, "'{a,b}'::text[]", "ARRAY['x y', NULL, '']", "'{}'::text[]",
                    "ARRAY['a', 'NULL', '\"']", "NULL::text[]"));
        break;
    case FLOAT:
        add(m, PICK(m, "1.5::float8", "0.1::float8", "'NaN'::float8", "'-Infinity'::float8",
                    "1e15::float8", "-0.0::float8", "3::float8", "1e-5::float8", "NULL::float8"));
        break;
    case BYTES:
        add(m, PICK(m, "'\\x00ff'::bytea", "'\\x'::bytea", "'abc'::bytea", "NULL::bytea"));
        break;
    case WHOLE: add(m, PICK(m, "0", "1", "2", "-1", "3", "7", "NULL::int")); break;
    case EXACT: add(m, PICK(m, "0.5", "2.25", "-1.10", "10.0", "NULL::numeric")); break;
    case TEXT: add(m, PICK(m, "'a'::text", "'b'::text", "''::text", "'x y'::text")); break;
    default: add(m, PICK(m, "true", "false", "NULL::boolean"));
    }
}

static void typed(maker *m, typed_kind k, int depth);

/* '%' and a letter in the shape stand for an expression of a kind, in the order of the letters. */
static void shaped(maker *m, const char *shape, int depth)
{
    static const char letters[] = "idphjxtfywncb";
    for (; *shape; shape++) {
        if (*shape != '%') {
            strbuf_char(m->b, *shape);
            continue;
        }
        const char *at = strchr(letters, *++shape);
        assert(at && *at);
        typed(m, (typed_kind)(at - letters), depth - 1);
    }
}

static const char *shape_of(maker *m, typed_kind k)
{
    switch (k) {
    case SPAN:
        return PICK(m, "(%i + %i)", "(%i - %i)", "(%p - %p)", "(- %i)", "(%i * %w)", "(%i * %n)",
                    "(%n * %i)", "(%i / %w)", "(%i * 0.1)", "(%i / 7)", "(%h - %h)", "age(%p, %p)",
                    "justify_hours(%i)", "justify_days(%i)", "date_trunc('month', %i)",
                    "date_trunc('hour', %i)", "(%p - %d)", "%h::interval", "coalesce(%i, %i)",
                    "greatest(%i, %i)", "(%i::text)::interval");
    case DATE:
        return PICK(m, "(%d + %w)", "(%d - %w)", "%p::date", "(%w + %d)", "coalesce(%d, %d)",
                    "(%d::text)::date", "CASE WHEN %b THEN %d ELSE %d END");
    case STAMP:
        return PICK(m, "(%p + %i)", "(%p - %i)", "(%d + %i)", "(%d - %i)", "(%i + %p)", "(%d + %h)",
                    "%d::timestamp", "date_trunc('year', %p)", "date_trunc('month', %p)",
                    "date_trunc('week', %p)", "date_trunc('quarter', %p)", "date_trunc('day', %p)",
                    "date_trunc('hour', %p)", "date_trunc('second', %p)", "least(%p, %p)");
    case TIME: return PICK(m, "(%h + %i)", "(%h - %i)", "%p::time", "%i::time", "coalesce(%h, %h)");
    case JSON:
        return PICK(m, "(%j -> 'a')", "(%j -> 'b')", "(%j -> 0)", "(%j -> -1)", "(%j #> '{b,1}')",
                    "(%j || %j)", "(%j - 'a')", "(%j - 0)", "(%j - '{a,b}'::text[])",
                    "jsonb_set(%j, '{a}', %j)", "jsonb_set(%j, '{b,0}', %j)",
                    "jsonb_set(%j, '{b,a}', %j, %b)", "to_jsonb(%w)", "to_jsonb(%c)",
                    "to_jsonb(%x)", "to_jsonb(%p)", "to_jsonb(%t)", "to_jsonb(%i)",
                    "jsonb_build_object('k', %w, 'l', %j, %c, %n)",
                    "jsonb_build_array(%j, %c, %b, %d)", "coalesce(%j, %j)", "(%j::text)::jsonb");
    case INTS:
        return PICK(m, "(%x || %w)", "(%w || %x)", "(%x || %x)", "array_append(%x, %w)",
                    "array_remove(%x, %w)", "array_replace(%x, %w, %w)", "(%x)[1:2]", "(%x)[2:9]",
                    "ARRAY[%w, %w]", "coalesce(%x, %x)", "array_prepend(%w, %x)",
                    "(%x::text)::int[]");
    case TEXTS:
        return PICK(m, "(%t || %c)", "(%c || %t)", "(%t || %t)", "array_remove(%t, %c)",
                    "ARRAY[%c, %c]", "%x::text[]", "(%t)[1:1]", "(%t::text)::text[]");
    case FLOAT:
        return PICK(m, "(%f + %f)", "(%f - %f)", "(%f * %f)", "(%f / %f)", "(- %f)", "%w::float8",
                    "%n::float8", "abs(%f)", "floor(%f)", "round(%f)", "(%f + %w)", "(%f * %n)",
                    "date_part('day', %i)", "date_part('epoch', %p)", "greatest(%f, %f)",
                    "(%f::text)::float8", "%f::real::float8");
    case BYTES: return PICK(m, "(%y || %y)", "coalesce(%y, %y)");
    case WHOLE:
        return PICK(m, "(%d - %d)", "(%x)[1]", "(%x)[%w]", "array_length(%x, 1)", "cardinality(%t)",
                    "array_position(%x, %w)", "length(%y)", "extract(year from %p)::int",
                    "extract(dow from %d)::int", "(%w + %w)", "%f::int", "length(%i::text)",
                    "(%j ->> 'a')::int", "jsonb_array_length(%j)", "array_upper(%t, 1)");
    case EXACT:
        return PICK(m, "extract(epoch from %p)", "extract(epoch from %i)", "extract(epoch from %d)",
                    "extract(second from %p)", "extract(second from %i)", "extract(week from %p)",
                    "extract(milliseconds from %p)", "extract(isoyear from %d)",
                    "extract(quarter from %p)", "extract(hour from %h)", "extract(day from %i)",
                    "extract(month from %i)", "extract(doy from %d)", "%f::numeric",
                    "extract(century from %p)", "extract(decade from %d)");
    case TEXT:
        return PICK(m, "(%j ->> 'a')", "(%j ->> 1)", "(%j #>> '{b,0}')", "%i::text", "%p::text",
                    "%j::text", "%x::text", "%t::text", "%f::text", "%d::text", "%h::text",
                    "array_to_string(%t, ',')", "array_to_string(%x, '-', '*')", "jsonb_typeof(%j)",
                    "to_char(%p, 'YYYY-MM-DD HH24:MI:SS')", "to_char(%p, 'FMDay, DD Mon YY')",
                    "to_char(%d, 'DDD Q D Month')", "(%t)[1]", "encode(%y, 'hex')", "initcap(%c)",
                    "to_char(%p, 'HH12:MI am MS US')", "(%c || %i)", "concat(%x, %i, %f)",
                    "(%f::real)::text");
    default:
        return PICK(m, "(%i < %i)", "(%i = %i)", "(%p >= %p)", "(%d <> %p)", "(%j = %j)",
                    "(%j @> %j)", "(%j <@ %j)", "(%j ? 'a')", "(%j ?| '{a,b}')", "(%j ?& '{a}')",
                    "(%x @> %x)", "(%x <@ %x)", "(%x && %x)", "(%x = %x)", "(%x < %x)",
                    "(%t >= %t)", "(%w = ANY(%x))", "(%w <> ALL(%x))", "(%c = ANY(%t))",
                    "(%f < %f)", "(%f = %w)", "(%f >= %n)", "(%y < %y)", "(%y = %y)", "(%h < %h)",
                    "(%i IS NULL)", "(%j IS DISTINCT FROM %j)", "(%x IS NOT DISTINCT FROM %x)",
                    "(%i IN (%i, %i))", "(%p BETWEEN %p AND %p)", "(%b AND %b)", "(%b OR %b)",
                    "(NOT %b)", "(%f <> %f)", "(%i BETWEEN %i AND %i)");
    }
}

static void typed(maker *m, typed_kind k, int depth)
{
    if (depth > 0 && below(m, 4)) {
        shaped(m, shape_of(m, k), depth);
        return;
    }
    for (int i = 0; m->rows && i < 6; i++) {
        uint32_t at = below(m, N_COLUMNS);
        if (columns[at].k != k) continue;
        add(m, columns[at].name);
        return;
    }
    typed_literal(m, k);
}

static void typed_insert(maker *m)
{
    static uint32_t next = 1;
    strbuf_printf(m->b, "INSERT INTO %s VALUES (%u", PICK(m, "y0", "y1"), (unsigned)next++);
    m->rows = false;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        add(m, ", ");
        typed(m, columns[i].k, (int)below(m, 2));
    }
    add(m, PICK(m, ")", ")", ") ON CONFLICT DO NOTHING", ") RETURNING *"));
}

static void typed_grouped(maker *m)
{
    typed_kind k = (typed_kind)below(m, TEXT);
    size_t from = m->b->n + 7;
    add(m, "SELECT ");
    typed(m, k, 1);
    size_t n = m->b->n - from;
    char key[2000];
    if (n >= sizeof key) n = 0;
    memcpy(key, m->b->at + from, n);
    key[n] = 0;
    add(m, PICK(m, ", count(*)", ", min(i), max(i)", ", sum(i)", ", avg(i)",
                ", array_agg(a ORDER BY id)", ", jsonb_agg(j ORDER BY id)",
                ", json_agg(c ORDER BY id DESC)", ", max(p), min(d)",
                ", count(DISTINCT j), count(DISTINCT x)", ", sum(f)", ", avg(f), min(f)",
                ", array_agg(c ORDER BY id)", ", count(DISTINCT i)", ", max(h)"));
    strbuf_printf(m->b, " FROM %s GROUP BY %s", PICK(m, "y0", "y1"), n ? "1" : "id");
}

void typed_statement(strbuf *b, rng *r)
{
    maker m = {b, r, true};
    uint32_t what = below(&m, 20), n = 1 + below(&m, 4);
    if (what < 5) {
        typed_insert(&m);
        return;
    }
    if (what < 7) {
        typed_grouped(&m);
        return;
    }
    if (what == 7) {
        strbuf_printf(b, "DELETE FROM %s WHERE ", PICK(&m, "y0", "y1"));
        typed(&m, TRUTH, 2);
        add(&m, " RETURNING id");
        return;
    }
    if (what < 11) {
        const uint32_t at = below(&m, N_COLUMNS);
        strbuf_printf(b, "UPDATE %s SET %s = ", PICK(&m, "y0", "y1"), columns[at].name);
        typed(&m, columns[at].k, 2);
        add(&m, " WHERE ");
        typed(&m, TRUTH, 2);
        add(&m, PICK(&m, "", " RETURNING *"));
        return;
    }
    add(&m, PICK(&m, "SELECT ", "SELECT ", "SELECT DISTINCT "));
    for (uint32_t i = 0; i < n; i++) {
        if (i) add(&m, ", ");
        typed(&m, (typed_kind)below(&m, N_KINDS), 3);
    }
    strbuf_printf(b, " FROM %s WHERE ", PICK(&m, "y0", "y1"));
    typed(&m, TRUTH, 2);
    if (!below(&m, 3)) add(&m, " ORDER BY 1");
}
