/*
 * fuzz_cursors.c - the workload cursors: transactions that have two cursors open at the same time.
 *
 * Rows are fetched from one and the other in turn, a few at a time, and in between the transaction
 * writes, sets savepoints, and other sessions commit.  What a cursor shows is what its query would
 * have answered when it was opened: PostgreSQL promises that for writes of the same transaction,
 * too.  Elsewhere nobody says whether a cursor shows what its own transaction writes into its table
 * meanwhile, so there such tables are left alone while a cursor is open on them.
 */
#include <stdio.h>

#include "work/fuzz.h"

enum { CURSORS = 2, TEXT = 200 };

typedef struct cursor_pair {
    bool open[CURSORS];
    uint32_t table[CURSORS];
    uint32_t turn;
} cursor_pair;

static enum db_answer open_cursor(sql_session *s, cursor_pair *p, uint32_t c)
{
    char q[TEXT];
    uint32_t t = sql_below(s, s->fuzz->tables), k = 1 + sql_below(s, FUZZ_IDS / 2);
    int n = snprintf(q, TEXT, "DECLARE c%u CURSOR FOR SELECT ", c + 1);
    size_t left = TEXT - (size_t)n;
    switch (sql_below(s, 4)) {
    case 0: snprintf(q + n, left, "id, a, b FROM t%u ORDER BY id", t); break;
    case 1: snprintf(q + n, left, "id, a FROM t%u WHERE id >= %u ORDER BY id", t, k); break;
    case 2: snprintf(q + n, left, "id, b FROM t%u WHERE a < %u ORDER BY id DESC", t, k); break;
    default: snprintf(q + n, left, "a, b, id FROM t%u WHERE b >= %u ORDER BY a, id", t, k / 2);
    }
    enum db_answer a = fuzz_execute(s, q);
    p->open[c] = a == DB_OK;
    p->table[c] = t;
    return a;
}

static enum db_answer close_cursor(sql_session *s, cursor_pair *p, uint32_t c)
{
    char q[TEXT];
    snprintf(q, TEXT, "CLOSE c%u", c + 1);
    p->open[c] = false;
    return fuzz_execute(s, q);
}

/* From the two in turn; one that is closed is opened again instead. */
static enum db_answer fetch_next(sql_session *s, cursor_pair *p)
{
    char q[TEXT];
    uint32_t c = p->turn++ % CURSORS;
    if (!p->open[c]) return open_cursor(s, p, c);
    snprintf(q, TEXT, "FETCH %u FROM c%u", 1 + sql_below(s, 3), c + 1);
    return fuzz_execute(s, q);
}

static bool may_write(const sql_session *s, const cursor_pair *p, uint32_t t)
{
    if (!strcmp(s->fuzz->dialect, "postgres")) return true;
    return !(p->open[0] && p->table[0] == t) && !(p->open[1] && p->table[1] == t);
}

static enum db_answer write_between(sql_session *s, const cursor_pair *p)
{
    char q[TEXT];
    uint32_t n = s->fuzz->tables, t = sql_below(s, n), k = 1 + sql_below(s, FUZZ_IDS);
    for (uint32_t tries = 0; tries < n && !may_write(s, p, t); tries++) t = (t + 1) % n;
    if (!may_write(s, p, t)) return DB_OK;
    uint32_t a = sql_below(s, 6), b = sql_below(s, 10);
    switch (sql_below(s, 6)) {
    case 0: snprintf(q, TEXT, "UPDATE t%u SET b = b + 1 WHERE id >= %u", t, k); break;
    case 1: snprintf(q, TEXT, "UPDATE t%u SET a = %u WHERE id = %u", t, a, k); break;
    case 2: snprintf(q, TEXT, "UPDATE t%u SET a = %u, b = %u WHERE a = %u", t, a, b, k % 6); break;
    case 3: snprintf(q, TEXT, "DELETE FROM t%u WHERE id = %u", t, k); break;
    case 4: snprintf(q, TEXT, "UPDATE t%u SET id = %u WHERE id = %u", t, k + FUZZ_IDS, k); break;
    default: snprintf(q, TEXT, "INSERT INTO t%u VALUES (%u, %u, %u, %u, 1)", t, k, a, b, k);
    }
    return fuzz_execute(s, q);
}

/* What was written since the savepoint is undone or not; how far cursors have come stays. */
static enum db_answer nested(sql_session *s, cursor_pair *p)
{
    enum db_answer a = fuzz_execute(s, "SAVEPOINT s1");
    if (a == DB_OK) a = write_between(s, p);
    for (uint32_t c = 0; c < CURSORS && a == DB_OK; c++)
        if (p->open[p->turn % CURSORS]) a = fetch_next(s, p);
    if (a != DB_OK && !(a == DB_REFUSED && fuzz_is_constraint(s))) return a;
    bool keep = a == DB_OK && sql_chance(s, 0.5);
    return fuzz_execute(s, keep ? "RELEASE SAVEPOINT s1" : "ROLLBACK TO SAVEPOINT s1");
}

static enum db_answer read_between(sql_session *s)
{
    char q[TEXT];
    snprintf(q, TEXT, "SELECT id, a, b FROM t%u WHERE id >= %u ORDER BY id",
             sql_below(s, s->fuzz->tables), 1 + sql_below(s, FUZZ_IDS));
    return fuzz_execute(s, q);
}

enum db_answer fuzz_with_cursors(sql_session *s)
{
    cursor_pair p = {0};
    enum db_answer a = open_cursor(s, &p, 0);
    if (a == DB_OK) a = open_cursor(s, &p, 1);
    for (uint32_t n = 4 + sql_below(s, 6); a == DB_OK && n; n--) {
        uint32_t k = sql_below(s, 10);
        if (k < 5)
            a = fetch_next(s, &p);
        else if (k < 7)
            a = write_between(s, &p);
        else if (k == 7 && (s->fuzz->features & FUZZ_SAVEPOINTS))
            a = nested(s, &p);
        else if (k == 8 && p.open[p.turn % CURSORS])
            a = close_cursor(s, &p, p.turn % CURSORS);
        else
            a = read_between(s);
        if (a == DB_REFUSED && fuzz_goes_on(s)) a = DB_OK;
    }
    /* (A commit closes what is left open.) */
    for (uint32_t c = 0; c < CURSORS && a == DB_OK; c++)
        if (p.open[c] && sql_chance(s, 0.5)) a = close_cursor(s, &p, c);
    return a;
}
