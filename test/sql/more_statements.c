/*
 * more_statements.c - random statements over what the other generators leave out.
 *
 * x0 has an enumeration, a uuid, a time with a zone, a real, a generated column, a unique index
 * with WHERE, one of an expression and a named constraint; x1 is a tree; x2 gets and loses columns.
 * As in the others, keys are few, so that they meet.
 */
#include "more_statements.h"

#include "statement_maker.h"

const char *const more_schema[] = {
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'Zen')",
    "CREATE TABLE x0 (id int PRIMARY KEY, m mood DEFAULT 'ok', q uuid, z timestamptz, r real,"
    " c text, twice int GENERATED ALWAYS AS (id * 2) STORED, CONSTRAINT one_q UNIQUE (q, m))",
    "CREATE UNIQUE INDEX x0_low ON x0 (lower(c))",
    "CREATE UNIQUE INDEX x0_sad ON x0 (c) WHERE m = 'sad'",
    "CREATE TABLE x1 (id int PRIMARY KEY, up int, name text)",
    "INSERT INTO x1 VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 1, 'c'), (4, 2, 'd'), (5, 4, 'e')",
    "CREATE TABLE x2 (id int PRIMARY KEY, a int)",
    NULL,
};

static const char *mood(maker *m)
{
    return PICK(m, "'sad'", "'ok'", "'happy'", "'Zen'", "NULL", "DEFAULT");
}

static const char *known_mood(maker *m)
{
    return PICK(m, "'sad'", "'ok'::mood", "'happy'::mood", "'Zen'", "NULL::mood");
}

static const char *uuid(maker *m)
{
    return PICK(m, "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
                "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12'::uuid",
                "'{00000000-0000-0000-0000-000000000000}'::uuid", "NULL::uuid",
                "'ffffffffffff4fff8fffffffffffffff'::uuid");
}

static const char *zoned(maker *m)
{
    return PICK(m, "'2024-01-31 23:59:59.5+00'", "'2024-02-29 12:00+02'",
                "'1999-12-31 20:00:00-05:30'", "NULL", "'2024-02-29 10:00Z'");
}

static const char *text(maker *m)
{
    return PICK(m, "'a'", "'A'", "'b'", "'B c'", "NULL", "''");
}

static const char *real(maker *m)
{
    return PICK(m, "1.5", "0.1", "-3", "NULL", "1e10", "3.4028235e38", "'NaN'");
}

static void insert_row(maker *m)
{
    strbuf_printf(m->b, "INSERT INTO x0 (id, m, q, z, r, c) VALUES (%u, %s, %s, %s, %s, %s)",
                  below(m, 9), mood(m), uuid(m), zoned(m), real(m), text(m));
    add(m, PICK(m, "", "", " ON CONFLICT DO NOTHING RETURNING *",
                " ON CONFLICT ON CONSTRAINT one_q DO UPDATE SET c = excluded.c || '.'",
                " ON CONFLICT (lower(c)) DO UPDATE SET id = excluded.id, r = x0.r + 1",
                " ON CONFLICT (c) WHERE m = 'sad' DO UPDATE SET q = NULL RETURNING id, m",
                " ON CONFLICT (q, m) DO NOTHING", " ON CONFLICT ON CONSTRAINT x0_pkey DO NOTHING",
                " ON CONFLICT (id) DO UPDATE SET (m, c) = (excluded.m, lower(x0.c)) WHERE x0.m <>"
                " excluded.m RETURNING twice",
                " RETURNING twice, m > 'ok'"));
}

static void change_row(maker *m)
{
    const char *where = PICK(m, "id = 3", "id < 4", "m = 'sad'", "m > 'ok'", "q IS NULL",
                             "twice = 8", "lower(c) = 'a'", "z > '2024-01-01 00:00+00'");
    if (below(m, 4) == 0) {
        strbuf_printf(m->b, "DELETE FROM x0 WHERE %s%s", where,
                      PICK(m, "", " RETURNING id, twice"));
        return;
    }
    strbuf_printf(m->b, "UPDATE x0 SET %s WHERE %s%s",
                  PICK(m, "m = 'sad'", "m = DEFAULT", "c = upper(c)", "id = id + 1",
                       "twice = DEFAULT", "twice = 3", "q = NULL", "z = NULL", "r = r * 2",
                       "m = CASE m WHEN 'sad' THEN 'happy' ELSE m END", "c = id::text"),
                  where, PICK(m, "", " RETURNING id, m, twice", " RETURNING r, z"));
}

static void look(maker *m)
{
    strbuf_printf(
        m->b, "SELECT %s FROM x0",
        PICK(m, "*", "id, m, m::text, twice", "m, count(*)", "max(m), min(m)", "q, q::text",
             "id, m IN ('sad', 'Zen'), m = ANY ('{ok,happy}')", "id, r, r::float8, r + 1, r = 0.1",
             "id, z, z = '2024-02-29 10:00+00', z - '2024-01-01 00:00Z'",
             "id, coalesce(m, 'ok'), nullif(m, 'sad'), greatest(m, 'ok')",
             "array_agg(id ORDER BY m DESC, id)", "id, to_jsonb(m), json_build_object(m, q)"));
    if (below(m, 2))
        strbuf_printf(m->b, " WHERE %s %s %s", PICK(m, "m", "coalesce(m, 'ok')"),
                      PICK(m, "<", "=", ">=", "<>", "IS DISTINCT FROM"), known_mood(m));
    else
        strbuf_printf(m->b, " WHERE q %s %s", PICK(m, "<", "=", ">=", "IS NOT DISTINCT FROM"),
                      uuid(m));
    if (strstr(strbuf_cstr(m->b), "count(*)"))
        add(m,
            PICK(m, " GROUP BY m", " GROUP BY m ORDER BY m DESC", " GROUP BY 1 HAVING m > 'sad'"));
    else
        add(m, PICK(m, "", " ORDER BY m DESC, id", " ORDER BY q NULLS FIRST, id",
                    " ORDER BY id FETCH FIRST 2 ROWS ONLY", " ORDER BY m FETCH FIRST ROW WITH TIES",
                    " ORDER BY z FETCH FIRST 2 ROWS WITH TIES", " ORDER BY id OFFSET 1 LIMIT 2"));
}

/* The tree changes, and may have cycles: UNION alone ends in them. */
static void recursive(maker *m)
{
    unsigned at = 1 + below(m, 6);
    switch (below(m, 6)) {
    case 0:
        strbuf_printf(m->b, "UPDATE x1 SET up = %s WHERE id = %u", PICK(m, "1", "2", "NULL", "5"),
                      at);
        return;
    case 1:
        strbuf_printf(m->b, "INSERT INTO x1 VALUES (%u, %u, 'n') ON CONFLICT DO NOTHING", at + 3,
                      1 + below(m, 6));
        return;
    case 2: strbuf_printf(m->b, "DELETE FROM x1 WHERE id = %u AND id > 3", at); return;
    case 3:
        strbuf_printf(
            m->b,
            "WITH RECURSIVE r(i, n) AS (SELECT %u, 0 UNION ALL SELECT i + %s, n + 1 FROM"
            " r WHERE n < %u) SELECT %s FROM r",
            at, PICK(m, "1", "2 * n", "i"), below(m, 7),
            PICK(m, "count(*), sum(i)", "i, n", "max(i) - min(i)", "array_agg(i ORDER BY n)"));
        return;
    case 4:
        strbuf_printf(m->b,
                      "WITH RECURSIVE d AS (SELECT id, up, name FROM x1 WHERE id = %u UNION SELECT"
                      " x.id, x.up, x.name FROM x1 x JOIN d ON %s) ",
                      at, PICK(m, "x.up = d.id", "d.up = x.id", "x.up = d.id AND x.id <> d.id"));
        add(m, PICK(m, "SELECT id, name FROM d", "SELECT count(*), max(name) FROM d",
                    "SELECT x1.id FROM x1 LEFT JOIN d USING (id) WHERE d.id IS NULL",
                    "SELECT id FROM d ORDER BY name DESC LIMIT 2",
                    "UPDATE x1 SET name = name || '.' WHERE id IN (SELECT id FROM d)"
                    " RETURNING id, length(name) > 0",
                    "DELETE FROM x1 WHERE id > 5 AND id IN (SELECT id FROM d) RETURNING id"));
        return;
    default:
        strbuf_printf(m->b,
                      "WITH gone AS (DELETE FROM x1 WHERE id = %u AND id > 4 RETURNING *), made AS"
                      " (INSERT INTO x1 SELECT id + 1, up, name FROM gone ON CONFLICT DO NOTHING"
                      " RETURNING id) SELECT %s",
                      at,
                      PICK(m, "(SELECT count(*) FROM gone), (SELECT max(id) FROM made)",
                           "gone.id, made.id FROM gone FULL JOIN made ON true", "count(*) FROM x1",
                           "id, name FROM gone UNION ALL SELECT id, 'new'"
                           " FROM made"));
    }
}

/* Columns come and go; statements about one that is not there are errors on both sides. */
static void altered(maker *m)
{
    const char *c = PICK(m, "c1", "c2");
    switch (below(m, 8)) {
    case 0:
        strbuf_printf(m->b, "ALTER TABLE x2 ADD COLUMN %s%s %s", PICK(m, "", "IF NOT EXISTS "), c,
                      PICK(m, "int", "int DEFAULT 7", "text NOT NULL DEFAULT 'd'",
                           "numeric(4,1) DEFAULT 1.25", "int CHECK (id < 100)", "int NOT NULL"));
        return;
    case 1:
        strbuf_printf(m->b, "ALTER TABLE x2 DROP COLUMN %s%s", PICK(m, "", "IF EXISTS "), c);
        return;
    case 2:
        strbuf_printf(m->b, "ALTER TABLE x2 ALTER COLUMN %s %s", PICK(m, "a", c),
                      PICK(m, "SET DEFAULT 3", "DROP DEFAULT", "SET NOT NULL", "DROP NOT NULL",
                           "TYPE bigint", "TYPE text"));
        return;
    case 3:
        strbuf_printf(m->b, "INSERT INTO x2 (id, %s) VALUES (%u, %s)%s", PICK(m, "a", c),
                      below(m, 9), PICK(m, "1", "2", "NULL", "DEFAULT"),
                      PICK(m, "", " RETURNING *"));
        return;
    case 4: strbuf_printf(m->b, "INSERT INTO x2 VALUES (%u, 4)", below(m, 9)); return;
    case 5:
        strbuf_printf(m->b, "UPDATE x2 SET %s = %s WHERE id = %u RETURNING *", PICK(m, "a", c),
                      PICK(m, "1", "NULL", "DEFAULT"), below(m, 9));
        return;
    case 6: strbuf_printf(m->b, "DELETE FROM x2 WHERE id > %u", 2 + below(m, 6)); return;
    default:
        strbuf_printf(m->b, "SELECT %s FROM x2", PICK(m, "*", c, "count(*), max(id)", "id, a"));
    }
}

void more_statement(strbuf *b, rng *r)
{
    maker m = {b, r};
    static void (*const kinds[])(maker *) = {insert_row, insert_row, change_row, change_row, look,
                                             look,       recursive,  recursive,  altered};
    kinds[below(&m, sizeof kinds / sizeof kinds[0])](&m);
}
