/*
 * wide_statements.c - random statements of the constructs that are more than one table and one
 * expression: MERGE, grouping sets, views that are written, triggers, partitions, rows as json,
 * patterns and formats of texts.
 *
 * Tables are small, and values few, so that keys meet, groups have several rows and sets are empty
 * now and then.
 */
#include "wide_statements.h"

#include "statement_maker.h"

const char *const wide_schema[] = {
    "CREATE TABLE w0 (id int PRIMARY KEY, a int, g text, n numeric(8,2), d date, u int UNIQUE)",
    "CREATE TABLE w1 (id int, a int DEFAULT 4, g text, n numeric(8,2), d date, u int)",
    "CREATE TABLE w2 (id int PRIMARY KEY, a int, g text, n numeric(8,2), d date, u int UNIQUE)",
    "CREATE VIEW v0 AS SELECT g AS name, id, a FROM w0 WHERE a > 0",
    "CREATE TABLE w3 (op text, x int, y int, z text)",
    "CREATE FUNCTION w_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " IF TG_OP = 'DELETE' THEN IF OLD.a = 3 THEN RETURN NULL; END IF; RETURN OLD; END IF;"
    " IF NEW.a = 7 THEN RETURN NULL; END IF;"
    " IF NEW.a = 12 THEN RAISE EXCEPTION 'no %', NEW.a; END IF;"
    " NEW.n := NEW.n * 10; NEW.g := NEW.g || '.'; IF NEW.u = 4 THEN NEW.u := NEW.id; END IF;"
    " RETURN NEW; END $$",
    "CREATE FUNCTION w_after() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " IF TG_OP = 'INSERT' THEN INSERT INTO w3 VALUES (TG_OP, NULL, NEW.id, NEW.g);"
    " ELSIF TG_OP = 'UPDATE' THEN INSERT INTO w3 VALUES (TG_OP, OLD.a, NEW.a, OLD.g || NEW.g);"
    " ELSE DELETE FROM w3 WHERE y = OLD.id; END IF; RETURN NULL; END $$",
    "CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON w2 FOR EACH ROW EXECUTE FUNCTION"
    " w_before()",
    "CREATE TRIGGER i AFTER INSERT OR DELETE ON w2 FOR EACH ROW EXECUTE FUNCTION w_after()",
    "CREATE TRIGGER u AFTER UPDATE OF a, g ON w2 FOR EACH ROW WHEN (NEW.a IS DISTINCT FROM OLD.a)"
    " EXECUTE FUNCTION w_after()",
    "CREATE TABLE e0 (id int PRIMARY KEY, c text UNIQUE)",
    "CREATE TABLE e1 (id int PRIMARY KEY, p bigint REFERENCES e0 DEFERRABLE INITIALLY DEFERRED,"
    " c varchar(3) REFERENCES e0 (c) ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY"
    " DEFERRED, s int REFERENCES e1 DEFERRABLE INITIALLY DEFERRED)",
    "CREATE TABLE e2 (id int, at timestamp(2), t time(0), seen timestamp, j jsonb, d date)",
    NULL,
};

static const char *whole(maker *m)
{
    return PICK(m, "0", "1", "2", "3", "5", "7", "-1", "NULL", "12", "2147483647");
}

static const char *letter(maker *m)
{
    return PICK(m, "'a'", "'b'", "'A b'", "''", "NULL", "'x.y'", "'it''s'");
}

static const char *amount(maker *m)
{
    return PICK(m, "0", "1.50", "-2.25", "NULL", "999999.99", "1000000", "0.005");
}

static const char *day(maker *m)
{
    return PICK(m, "'2024-01-31'", "'2024-02-29'", "'1999-12-31'", "NULL");
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void row_of(maker *m)
{
    strbuf_printf(m->b, "(%u, %s, %s, %s, %s, %s)", (unsigned)below(m, 12), whole(m), letter(m),
                  amount(m), day(m), PICK(m, "NULL", "1", "2", "3", "4"));
}

static void plain_statement(maker *m)
{
    const char *t = PICK(m, "w0", "w1", "w2", "w2");
    switch (below(m, 5)) {
    case 0:
    case 1:
        strbuf_printf(m->b, "INSERT INTO %s VALUES ", t);
        row_of(m);
        if (below(m, 3) == 0) add(m, ", "), row_of(m);
        break;
    case 2: strbuf_printf(m->b, "DELETE FROM w1 WHERE id IS NULL OR id %% 2 = 0"); break;
    case 3:
        strbuf_printf(m->b, "DELETE FROM %s WHERE id %s %u", t, PICK(m, "=", "<", ">"),
                      (unsigned)below(m, 12));
        break;
    default:
        strbuf_printf(m->b, "UPDATE %s SET %s WHERE id = %u", t,
                      PICK(m, "a = 3", "g = 'b'", "n = NULL", "u = 2", "d = '2024-02-29'"),
                      (unsigned)below(m, 12));
    }
}

/* A view of columns and rows of a table. */
static void view_statement(maker *m)
{
    switch (below(m, 5)) {
    case 0:
        strbuf_printf(m->b, "INSERT INTO v0 VALUES (%s, %u, %s)%s", letter(m),
                      (unsigned)below(m, 12), whole(m),
                      PICK(m, "", " RETURNING *", " RETURNING id, name"));
        break;
    case 1:
        strbuf_printf(m->b, "INSERT INTO v0 (%s) VALUES (%s)",
                      PICK(m, "id", "a", "n", "name", "id, id"), whole(m));
        break;
    case 2:
        strbuf_printf(m->b, "UPDATE v0 SET %s WHERE %s RETURNING *",
                      PICK(m, "a = a - 1", "name = name || 'q'", "id = a", "g = 'x'"),
                      PICK(m, "id < 5", "name IS NULL", "v0.a = 1", "u = 1"));
        break;
    case 3:
        strbuf_printf(m->b, "DELETE FROM v0 x WHERE %s",
                      PICK(m, "x.id = 3", "a > 2", "x.name = 'a'"));
        break;
    default: add(m, "SELECT * FROM v0");
    }
}

/* Tables with triggers. */
static void trigger_statement(maker *m)
{
    switch (below(m, 6)) {
    case 0: add(m, "SELECT * FROM w3"); break;
    case 1: add(m, "SELECT * FROM w2"); break;
    case 2: add(m, "DELETE FROM w3 WHERE x IS NULL OR y > 3"); break;
    case 3:
        add(m, "INSERT INTO w2 VALUES ");
        row_of(m);
        add(m, PICK(m, " ON CONFLICT DO NOTHING",
                    " ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.a RETURNING *",
                    " ON CONFLICT (id) DO UPDATE SET u = EXCLUDED.u, g = w2.g", " RETURNING *"));
        break;
    case 4:
        strbuf_printf(m->b, "UPDATE w2 SET %s WHERE %s %s",
                      PICK(m, "a = a + 1", "id = id + 1", "u = a", "g = 'z', a = u"),
                      PICK(m, "id = 3", "id = 5", "a > 1", "u = 2", "true"),
                      PICK(m, "", "RETURNING *"));
        break;
    default: strbuf_printf(m->b, "DELETE FROM w2 WHERE %s", PICK(m, "id = 4", "a > 2", "u = 1"));
    }
}

/* ---- MERGE ----------------------------------------------------------------------------------- */

/* A table that is merged with itself would grow and grow. */
static void merge_source(maker *m, bool keyed)
{
    uint32_t rows = 1 + below(m, 3);
    switch (keyed ? below(m, 4) : 3) {
    case 0: add(m, "w1 s"); return;
    case 1: add(m, "(SELECT * FROM w1 WHERE a > 0) s"); return;
    case 2: add(m, "(SELECT id, max(a) AS a, min(g) AS g FROM w1 GROUP BY id) s"); return;
    default:
        add(m, "(VALUES ");
        for (uint32_t i = 0; i < rows; i++)
            strbuf_printf(m->b, "%s(%u, %s::int, %s::text)", i ? ", " : "", (unsigned)below(m, 12),
                          whole(m), letter(m));
        add(m, ") s (id, a, g)");
    }
}

static void merge_action(maker *m, bool matched, bool always)
{
    strbuf_printf(m->b, " WHEN %sMATCHED", matched ? "" : "NOT ");
    if (!always)
        strbuf_printf(
            m->b, " AND %s",
            matched ? PICK(m, "t.a > s.a", "t.a IS NULL", "s.g = t.g", "t.id > 5", "10 / t.a > 1")
                    : PICK(m, "s.a > 0", "s.g IS NULL", "s.id < 6"));
    add(m, " THEN ");
    if (matched)
        add(m, PICK(m, "DELETE", "DO NOTHING", "UPDATE SET a = s.a", "UPDATE SET a = t.a + s.a",
                    "UPDATE SET g = t.g || s.g, a = DEFAULT", "UPDATE SET u = s.a",
                    "UPDATE SET id = s.a", "UPDATE SET (a, g) = (s.a, s.g)"));
    else
        add(m, PICK(m, "DO NOTHING", "INSERT (id, a) VALUES (s.id, s.a)",
                    "INSERT VALUES (s.id, s.a, s.g)", "INSERT (id, u) VALUES (s.id, s.a)",
                    "INSERT (a) VALUES (s.a)", "INSERT (id, g) VALUES (s.id + 1, DEFAULT)",
                    "INSERT DEFAULT VALUES"));
}

static void merge_statement(maker *m)
{
    bool last[2] = {false, false};
    uint32_t n = 1 + below(m, 3);
    bool keyed = below(m, 3) > 0;
    strbuf_printf(m->b, "MERGE INTO %s t USING ", keyed ? "w0" : "w1");
    merge_source(m, keyed);
    strbuf_printf(m->b, " ON %s",
                  PICK(m, "t.id = s.id", "t.id = s.id", "s.id = t.id AND t.a > 0", "t.u = s.a",
                       "t.a = s.a", "t.g = s.g"));
    for (uint32_t i = 0; i < n; i++) {
        bool matched = below(m, 2), always = below(m, 2);
        if (last[matched]) continue;
        last[matched] = always;
        merge_action(m, matched, always);
    }
}

/* ---- grouping sets --------------------------------------------------------------------------- */

static const char *group_item(maker *m)
{
    return PICK(m, "a", "g", "d", "u", "ROLLUP (a, g)", "CUBE (g, d)", "ROLLUP ((a, g), d)",
                "GROUPING SETS ((a), (g, d), ())", "GROUPING SETS (ROLLUP (a), CUBE (g))", "()",
                "CUBE (a, g, d)", "GROUPING SETS (())", "ROLLUP (a % 2)");
}

static void group_statement(maker *m)
{
    strbuf_printf(m->b, "SELECT %s", PICK(m, "a", "g", "a, g", "d, g", "a, g, d", "count(*)"));
    strbuf_printf(m->b, ", %s",
                  PICK(m, "count(*)", "sum(a)", "max(n), min(d)", "avg(n)", "sum(n) + count(u)",
                       "grouping(a)", "grouping(g, a)", "coalesce(g, '-')", "a % 2"));
    strbuf_printf(m->b, " FROM %s",
                  PICK(m, "w0", "w1", "w1", "w0 WHERE a > 100", "w1 WHERE id > 3"));
    strbuf_printf(m->b, " GROUP BY %s", group_item(m));
    if (below(m, 3) == 0) strbuf_printf(m->b, ", %s", group_item(m));
    if (below(m, 4) == 0) strbuf_printf(m->b, " HAVING %s", PICK(m, "count(*) > 1", "max(a) > 1"));
    if (below(m, 4) == 0) add(m, " ORDER BY 1");
}

/* ---- rows as json, texts --------------------------------------------------------------------- */

static void json_statement(maker *m)
{
    strbuf_printf(m->b, "SELECT %s FROM %s",
                  PICK(m, "row_to_json(t)", "to_jsonb(t)", "json_agg(t ORDER BY id, u, a, g, n)",
                       "jsonb_agg(t ORDER BY id, u, a, g, n)", "json_build_object('k', t, 'a', a)",
                       "jsonb_build_array(t, t.*)", "row_to_json(ROW(id, g, d))",
                       "count(*), json_agg(g ORDER BY id, g)",
                       "ARRAY(SELECT a FROM w0 ORDER BY id)",
                       "ARRAY(SELECT s.g FROM w0 s WHERE s.id < t.id ORDER BY s.id)"),
                  PICK(m, "w0 t", "w1 t", "(SELECT id, a, g, n, d, u FROM w0) t"));
}

static const char *pattern(maker *m)
{
    return PICK(m, "'[a-z]'", "'b*'", "'(a)(.)'", "'^.'", "'.$'", "'x[.]y'", "' +'", "'^[A-Z][^x]'",
                "'(t)''s?'", "'a?'");
}

static void text_statement(maker *m)
{
    add(m, "SELECT id, ");
    switch (below(m, 6)) {
    case 0:
        strbuf_printf(m->b, "format(%s, g, a, n)",
                      PICK(m, "'%s %s %s'", "'%3$s/%I'", "'%L'", "'%-6s|%4s|%s'", "'%%%s'",
                           "'%s %s %s %s'", "'%2$L %1$L'", "'%x'"));
        break;
    case 1:
        strbuf_printf(m->b, "regexp_replace(g, %s, %s%s)", pattern(m),
                      PICK(m, "'-'", "'<\\&>'", "'\\1\\2'", "''"),
                      PICK(m, "", ", 'g'", ", 'i'", ", 'gi'"));
        break;
    case 2: strbuf_printf(m->b, "regexp_match(g, %s)", pattern(m)); break;
    case 3: strbuf_printf(m->b, "substring(g from %s)", pattern(m)); break;
    case 4:
        strbuf_printf(m->b, "to_char(%s, '%s%s')", PICK(m, "a", "n", "n", "u", "n * a", "n / 7"),
                      PICK(m, "", "", "FM"),
                      PICK(m, "999", "0", "9.9", "000.00", "9,999.99", "990.0", "999,999,999", "9",
                           "0,000", "90.09", "99999999.999"));
        break;
    default:
        strbuf_printf(m->b, "%s(g)",
                      PICK(m, "quote_ident", "quote_literal", "quote_nullable", "initcap"));
    }
    strbuf_printf(m->b, ", string_to_array(g, %s) FROM %s", PICK(m, "' '", "'.'", "''", "'a'"),
                  PICK(m, "w0", "w1"));
}

/* ---- aggregates of several values, windows over groups, functions of rows -------------------- */

static const char *wide_table(maker *m)
{
    return PICK(m, "w0", "w1", "w1", "w0 WHERE a > 1", "w1 WHERE id > 3", "w1 WHERE false");
}

static const char *collection(maker *m)
{
    return PICK(m, "array_agg(DISTINCT a)", "array_agg(DISTINCT g ORDER BY g DESC)",
                "string_agg(DISTINCT g, ',')", "string_agg(DISTINCT g, '+' ORDER BY g DESC)",
                "jsonb_agg(DISTINCT u)", "json_agg(DISTINCT a ORDER BY a DESC NULLS LAST)",
                "jsonb_object_agg(id, g)", "json_object_agg(id, a ORDER BY id, a, g)",
                "jsonb_object_agg(g, a ORDER BY id, u, a, g)", "json_object_agg(a, n)",
                "count(DISTINCT g)", "sum(DISTINCT a)", "avg(DISTINCT n)", "stddev(a)",
                "variance(n)", "stddev_pop(n)", "var_pop(a)", "stddev_samp(n * 7)", "variance(id)",
                "stddev(DISTINCT n)", "var_samp(n) FILTER (WHERE a > 0)", "bit_and(a)", "bit_or(u)",
                "stddev(n / 3)", "array_agg(DISTINCT d)");
}

static void collected_statement(maker *m)
{
    strbuf_printf(m->b, "SELECT %s%s, %s FROM %s", PICK(m, "", "", "g, "), collection(m),
                  collection(m), wide_table(m));
    if (below(m, 2)) strbuf_printf(m->b, " GROUP BY %s", PICK(m, "g", "a", "g, a", "id % 2"));
}

static void group_window_statement(maker *m)
{
    const char *key = PICK(m, "g", "a", "d");
    strbuf_printf(m->b, "SELECT %s, %s, ", key,
                  PICK(m, "count(*)", "sum(a)", "max(n)", "count(DISTINCT id)"));
    strbuf_printf(m->b, "%s OVER (%s%s%s)",
                  PICK(m, "rank()", "sum(count(*))", "max(sum(a))", "dense_rank()", "count(*)",
                       "sum(max(n))", "row_number()", "lag(count(*), 1, 0)", "first_value(max(id))",
                       "avg(count(*))"),
                  PICK(m, "", "", "PARTITION BY count(*) "), "ORDER BY ",
                  PICK(m, key, "count(*)", "sum(a) DESC", "max(n) NULLS FIRST", "min(id)"));
    strbuf_printf(m->b, " FROM %s GROUP BY %s%s", wide_table(m), key,
                  PICK(m, "", "", " HAVING count(*) > 1", " HAVING max(a) > 2"));
    if (below(m, 2)) add(m, PICK(m, " ORDER BY 3", " ORDER BY 1", " ORDER BY 2 DESC, 1"));
}

static void spread_statement(maker *m)
{
    strbuf_printf(m->b, "SELECT %s%s", PICK(m, "", "DISTINCT ", "id, ", "a, "),
                  PICK(m, "generate_series(1, a)", "generate_series(a, u)",
                       "generate_series(a, 5, 2)", "unnest(ARRAY[a, u, 3])",
                       "unnest(string_to_array(g, ' '))", "unnest(ARRAY[]::int[])",
                       "regexp_split_to_table(g, ' +')", "regexp_split_to_table(g, '[. ]')",
                       "string_to_table(g, '.')", "jsonb_object_keys(to_jsonb(w))",
                       "jsonb_array_elements(jsonb_build_array(a, g, u))",
                       "jsonb_array_elements_text(jsonb_build_array(a, g, u)) || '!'",
                       "generate_series(1, 2) + a", "generate_series(1, 3, a)",
                       "unnest(ARRAY[d, '2024-01-01']) - 1", "jsonb_array_elements(to_jsonb(a))"));
    strbuf_printf(m->b, " AS s FROM (SELECT * FROM %s) w", PICK(m, "w0", "w1", "w1 WHERE a < 8"));
    strbuf_printf(m->b, " WHERE %s", PICK(m, "a < 9", "a IS NULL OR a < 9", "a < 6 AND u > 0"));
    if (below(m, 2)) add(m, " ORDER BY s");
}

static void member_statement(maker *m)
{
    strbuf_printf(m->b, "SELECT w.id, e.* FROM %s w, %s e%s", PICK(m, "w0", "w1"),
                  PICK(m, "jsonb_each(to_jsonb(w))", "jsonb_each_text(to_jsonb(w) - 'n')",
                       "jsonb_object_keys(jsonb_build_object('k', a, 'kk', g))",
                       "string_to_table(g, 't')", "regexp_split_to_table(g, 'x|b')"),
                  PICK(m, "", " WHERE w.a > 1", " ORDER BY 1, 2"));
}

static void digest_statement(maker *m)
{
    strbuf_printf(m->b, "SELECT id, %s, %s FROM %s",
                  PICK(m, "md5(g)", "chr(a + 60)", "to_hex(a)", "gcd(a, u)", "lcm(a, u)",
                       "num_nulls(a, g, u)", "num_nonnulls(d, n)", "md5(n::text)",
                       "to_hex(a::bigint * -7)", "chr(id * 300 + 1)"),
                  PICK(m, "g LIKE 'A! %' ESCAPE '!'", "g LIKE '_!_%' ESCAPE '!'",
                       "g ILIKE '%#%%' ESCAPE '#'", "g NOT LIKE 'x.%' ESCAPE ''",
                       "a BETWEEN SYMMETRIC u AND 2", "a NOT BETWEEN SYMMETRIC 5 AND u",
                       "jsonb_strip_nulls(jsonb_build_object('a', a, 'l', jsonb_build_array(u)))",
                       "jsonb_build_object('a', jsonb_build_array(a, u), 'g', g) #- '{a,1}'",
                       "jsonb_build_array(a, g, u) #- ARRAY[a::text]",
                       "regexp_split_to_array(g, ' |[.]')"),
                  wide_table(m));
}

/* Keys that are tested at the commit, which is that of the statement: WITH writes two tables. */
static void deferred_statement(maker *m)
{
    uint32_t i = below(m, 7), k = below(m, 7);
    const char *c = PICK(m, "'a'", "'b'", "'c'", "NULL");
    switch (below(m, 9)) {
    case 0:
        strbuf_printf(m->b, "INSERT INTO e0 VALUES (%u, %s) ON CONFLICT DO NOTHING", i, c);
        break;
    case 1: strbuf_printf(m->b, "INSERT INTO e1 VALUES (%u, %u, %s, %s)", i, k, c, whole(m)); break;
    case 2:
        strbuf_printf(m->b, "UPDATE e1 SET %s WHERE id = %u",
                      PICK(m, "p = p + 1", "s = id", "c = NULL", "id = id + 1"), i);
        break;
    case 3: strbuf_printf(m->b, "DELETE FROM %s WHERE id = %u", PICK(m, "e0", "e1"), i); break;
    case 4:
        strbuf_printf(m->b,
                      "WITH c AS (INSERT INTO e1 VALUES (%u, %u, %s, %u) RETURNING p, c) INSERT"
                      " INTO e0 SELECT p, c FROM c%s",
                      i, k, c, i, PICK(m, "", " ON CONFLICT DO NOTHING", " WHERE p < 4"));
        break;
    case 5:
        strbuf_printf(m->b, "WITH g AS (DELETE FROM e0 WHERE id = %u RETURNING id) %s", i,
                      PICK(m, "DELETE FROM e1 USING g WHERE e1.p = g.id",
                           "UPDATE e1 SET p = NULL FROM g WHERE e1.p = g.id RETURNING e1.id",
                           "SELECT id FROM g",
                           "INSERT INTO e0 SELECT id, 'd' FROM g WHERE id > 9"));
        break;
    case 6:
        strbuf_printf(m->b, "UPDATE e0 SET %s WHERE id = %u",
                      PICK(m, "c = 'z'", "id = id + 1", "c = c || '.'", "id = id"), i);
        break;
    case 7: add(m, "DELETE FROM e1 WHERE s IS NULL OR s = id OR id > 4"); break;
    default: add(m, "SELECT * FROM e1 LEFT JOIN e0 ON e0.id = e1.p");
    }
}

/* Digits of seconds, literals of INSERT ... SELECT, values that nobody has seen yet. */
static void moment_statement(maker *m)
{
    const char *at =
        PICK(m, "'2024-01-31 23:59:59.995'", "'1999-12-31 23:59:59.5'",
             "'2000-01-01 00:00:00.004999'", "NULL", "'1970-01-01 00:00:00.005'", "'2024-02-29'");
    const char *t = PICK(m, "'23:59:59.5'", "'10:00:00.499999'", "NULL", "'12:30'");
    switch (below(m, 7)) {
    case 0:
        strbuf_printf(m->b, "INSERT INTO e2 (id, at, t) VALUES (%u, %s, %s) RETURNING *",
                      below(m, 9), at, t);
        break;
    case 1:
        strbuf_printf(m->b, "INSERT INTO e2 SELECT %u, %s, %s, NULL, %s, %s%s RETURNING *",
                      below(m, 9), at, t, PICK(m, "'{\"a\": 1}'", "'[1, 2]'", "NULL"), day(m),
                      PICK(m, "", " WHERE NOT EXISTS (SELECT 1 FROM e2 WHERE id = 3)",
                           " FROM w0 WHERE a > 1"));
        break;
    case 2:
        strbuf_printf(m->b, "INSERT INTO e2 (id, seen) VALUES (%u, %s)", below(m, 9),
                      PICK(m, "now()", "NULL", "CURRENT_TIMESTAMP"));
        break;
    case 3:
        strbuf_printf(m->b, "UPDATE e2 SET seen = %s WHERE id = %u",
                      PICK(m, "CASE WHEN at IS NULL THEN now() ELSE at END",
                           "coalesce(seen, now())", "CASE id % 2 WHEN 0 THEN seen ELSE NULL END",
                           "coalesce(at, seen)"),
                      below(m, 9));
        break;
    case 4:
        strbuf_printf(m->b, "SELECT id, at, t, seen IS NULL, %s FROM e2 WHERE %s",
                      PICK(m, "at::timestamp(0)", "t::time(1)",
                           "(at + interval '0.05')::timestamp(1)", "(at::text)::timestamp(1)",
                           "at::time(0)"),
                      PICK(m, "seen IS NOT NULL", "seen IS NULL", "id > 3"));
        break;
    case 5:
        strbuf_printf(
            m->b, "UPDATE e2 SET at = at + interval '0.%03u seconds' WHERE id = %u RETURNING at",
            below(m, 1000), below(m, 9));
        break;
    default:
        strbuf_printf(
            m->b, "DELETE FROM e2 WHERE %s",
            PICK(m, "seen IS NOT NULL", "id > 6", "at < '2000-01-01'", "d IS NULL AND id < 3"));
    }
}

void wide_statement(strbuf *b, rng *r)
{
    maker m = {b, r};
    static void (*const kinds[])(maker *) = {
        plain_statement,        plain_statement,    plain_statement,    merge_statement,
        merge_statement,        group_statement,    json_statement,     text_statement,
        trigger_statement,      trigger_statement,  view_statement,     collected_statement,
        group_window_statement, spread_statement,   spread_statement,   member_statement,
        digest_statement,       deferred_statement, deferred_statement, moment_statement};
    kinds[below(&m, sizeof kinds / sizeof kinds[0])](&m);
}
