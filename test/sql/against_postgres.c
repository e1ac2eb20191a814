/*
 * against_postgres.c - the interpreter of audit against a real PostgreSQL, one statement after
 * another: the same rows, counts and SQLSTATEs.
 *
 * usage: against_postgres SOCKET-DIRECTORY PORT [STATEMENTS [SEED]]
 *
 * Random tables and statements of the fragment.  What the interpreter refuses is not sent; it may
 * refuse a share, which is printed and bounded.  test/sql/run starts the server.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/match.h"
#include "base/rng.h"
#include "sql/sql.h"

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
    switch (below(10)) {
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
        switch (below(8)) {
        case 0: one("length(", TEXT, depth, t, ")"); break;
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
        switch (below(5)) {
        case 0: one(PICK("lower(", "upper("), TEXT, depth, t, ")"); break;
        case 1: one("(", (kind)below(KINDS), depth, t, ")::text"); break;
        case 2:
            one("substr(", TEXT, depth, t, PICK(", 2)", ", 1, 2)", ", 0, 3)", ", 3, 0)"));
            break;
        case 3: one("(", TEXT, depth, t, PICK(")::varchar(3)", ")::varchar")); break;
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
    switch (below(3)) {
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
        switch (below(7)) {
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

static void statement(void)
{
    static const names plain = {{""}, 1, 1};
    B.n = 0;
    uint32_t k = below(100);
    if (k < 45) {
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
    X.cid = 1;
    X.rule = WRITE_FREE;
    if (guard_armed(&G)) {
        vs_rollback(&S, 0);
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
    if (s.has_rows != r->has_rows) return false;
    for (uint32_t k = 0; k < r->n_cols; k++)
        if (strcmp(r->names[k], PQfname(g, (int)k)) != 0) {
            printf("# column %u is \"%s\", not \"%s\"\n", (unsigned)k, PQfname(g, (int)k),
                   r->names[k]);
            return false;
        }
    return match_result(&X, r, &s);
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
    rng_seed(&R, seed);
    guard_init(&G);
    mem_init(&M, NULL, NULL, &G);
    vs_init(&S, &M);
    exec_init(&X, &S, &M);
    arena_init(&PLANS, &M);
    strbuf_init(&B, &M);
    uint32_t state = 0, passed = 0, failed = 0, refused = 0, errors = 0, open_order = 0;
    for (size_t i = 0; i < 3; i++) {
        sql_result r;
        char drop[40];
        snprintf(drop, sizeof drop, "DROP TABLE IF EXISTS t%zu", i);
        PQclear(PQexec(db, drop));
        PQclear(PQexec(db, schema[i]));
        if (ours(schema[i], state, &r) != DONE) return 1;
        vs_commit(&S, ++state);
    }
    for (uint32_t i = 0; i < count && failed < 10; i++) {
        sql_result r;
        statement();
        const char *sql = strbuf_cstr(&B);
        ended e = ours(sql, state, &r);
        if (e == REFUSED) {
            refused++;
            if (argc > 5) printf("# refused: %s\n#   %s\n", G.text, sql);
            arena_reset(&X.work);
            continue;
        }
        PQclear(PQexec(db, "BEGIN")); /* what only one side did can be taken back */
        PGresult *g = PQexec(db, sql);
        const char *code = PQresultErrorField(g, PG_DIAG_SQLSTATE);
        bool good = e == DONE ? !code && same_rows(&r, g) : code && !strcmp(code, X.c.state);
        bool unclear = !good && bound && (code || e == RAISED) &&
                       sql_unclear(bound, e == RAISED ? X.c.state : NULL, code);
        errors += code != NULL;
        if (unclear) {
            open_order++;
        } else if (good) {
            passed++;
        } else {
            failed++;
            printf("not the same (seed %llu, statement %u): %s\n", (unsigned long long)seed,
                   (unsigned)i, sql);
            show(g, &r, e);
        }
        if (unclear && !code)
            PQclear(PQexec(db, "ROLLBACK"));
        else
            PQclear(PQexec(db, "COMMIT"));
        if (e == DONE && !code) {
            vs_commit(&S, ++state);
            vs_forget(&S, state);
        } else {
            vs_rollback(&S, 0);
        }
        PQclear(g);
        arena_reset(&X.work);
        arena_free(&PLANS);
    }
    PQfinish(db);
    mem_free_all(&M);
    printf("# %u refused, %u errors, %u that depend on the planner\n", (unsigned)refused,
           (unsigned)errors, (unsigned)open_order);
    if (refused > count / 3) {
        printf("too much is refused\n");
        failed++;
    }
    printf("%u passed, %u failed\n", (unsigned)passed, (unsigned)failed);
    return failed != 0;
}
