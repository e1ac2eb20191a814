/*
 * fuzz_final.c - what must be true of the tables of sql-fuzz when all sessions have ended,
 * whatever the isolation was: counters, sums, keys, references, and indexes that agree with their
 * tables.
 */
#include <stdio.h>

#include "work/fuzz.h"

enum { TEXT = 400, SEEN = 12 };

enum db_answer fuzz_final_reads(sql_session *s)
{
    static const char *const texts[] = {"SELECT id, n FROM counters ORDER BY id",
                                        "SELECT id, bal FROM accounts ORDER BY id"};
    char q[TEXT];
    enum db_answer a = DB_OK;
    for (uint32_t i = 0; a == DB_OK && i < s->fuzz->tables; i++) {
        snprintf(q, TEXT, "SELECT id, a, b, u, p FROM t%u ORDER BY id", i);
        a = sql_do(s, q, "");
    }
    for (size_t i = 0; a == DB_OK && i < 2; i++) a = sql_do(s, texts[i], "");
    return a;
}

static void broken(fuzz *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void broken(fuzz *f, const char *format, ...)
{
    va_list ap;
    if (f->broken++) return;
    va_start(ap, format);
    vsnprintf(f->finding, sizeof f->finding, format, ap);
    va_end(ap);
}

/* The first row of a query; false: it could not be asked, which is a finding, too. */
static bool ask(fuzz *f, sql_session *s, const char *q)
{
    enum db_answer a = s->db.db->driver->query(&s->db, q, NULL, 0);
    if (a == DB_OK && s->db.n_rows) return true;
    broken(f, "the final state cannot be read (%s): %.200s", q,
           a == DB_OK ? "no row" : s->db.error);
    return false;
}

static void check_counters(fuzz *f, sql_session *s)
{
    char q[TEXT];
    for (uint32_t i = 0; i < FUZZ_COUNTERS; i++) {
        snprintf(q, TEXT, "SELECT n FROM counters WHERE id = %u", i + 1);
        if (!ask(f, s, q)) return;
        int64_t n = sql_int(s, 0, 0);
        uint64_t least = atomic_load(&f->committed[i]), most = atomic_load(&f->sent[i]);
        if (n < (int64_t)least)
            broken(f, "counter %u is %lld, but %llu increments of it were committed", i + 1,
                   (long long)n, (unsigned long long)least);
        else if (n > (int64_t)most)
            broken(f,
                   "counter %u is %lld, but only %llu increments of it were committed or have an "
                   "unknown outcome",
                   i + 1, (long long)n, (unsigned long long)most);
    }
}

static void check_sum(fuzz *f, sql_session *s)
{
    if (!ask(f, s, "SELECT count(*), sum(bal) FROM accounts")) return;
    int64_t rows = sql_int(s, 0, 0), sum = sql_int(s, 0, 1);
    if (rows != FUZZ_ACCOUNTS || sum != FUZZ_ACCOUNTS * FUZZ_MONEY)
        broken(
            f,
            "%lld accounts hold %lld in total, but there were %d with %d in total, and transfers "
            "keep both",
            (long long)rows, (long long)sum, FUZZ_ACCOUNTS, FUZZ_ACCOUNTS * FUZZ_MONEY);
}

static void check_keys(fuzz *f, sql_session *s, uint32_t t)
{
    char q[TEXT];
    for (int column = 0; column < (f->table[t].unique ? 2 : 1); column++) {
        const char *name = column ? "u" : "id";
        snprintf(q, TEXT, "SELECT count(%s), count(DISTINCT %s) FROM t%u", name, name, t);
        if (!ask(f, s, q)) return;
        if (sql_int(s, 0, 0) != sql_int(s, 0, 1))
            broken(f, "column %s of table t%u is unique, but has %lld values in %lld rows", name, t,
                   (long long)sql_int(s, 0, 1), (long long)sql_int(s, 0, 0));
    }
    if (!f->table[t].references || !(f->features & FUZZ_FOREIGN_KEYS)) return;
    snprintf(q, TEXT,
             "SELECT count(*) FROM t%u x WHERE x.p IS NOT NULL AND NOT EXISTS (SELECT 1 FROM t0 y "
             "WHERE y.id = x.p)",
             t);
    if (ask(f, s, q) && sql_int(s, 0, 0))
        broken(f, "%lld rows of table t%u refer to rows of t0 that are not there",
               (long long)sql_int(s, 0, 0), t);
}

/* The same rows, found through an index and by a condition that no index answers. */
static void check_index(fuzz *f, sql_session *s, uint32_t t, const char *column)
{
    char q[TEXT];
    for (uint32_t v = 0; v <= SEEN; v++) {
        int64_t got[2][2] = {{0}};
        for (int way = 0; way < 2; way++) {
            snprintf(q, TEXT, "SELECT count(*), sum(id) FROM t%u WHERE %s%s = %u", t, column,
                     way ? " + 0" : "", v);
            if (!ask(f, s, q)) return;
            for (uint32_t i = 0; i < 2; i++) got[way][i] = sql_int(s, 0, i);
        }
        if (got[0][0] == got[1][0] && got[0][1] == got[1][1]) continue;
        broken(
            f,
            "in table t%u, %s = %u finds %lld rows, whose ids add up to %lld, but without an index "
            "%lld rows and %lld",
            t, column, v, (long long)got[0][0], (long long)got[0][1], (long long)got[1][0],
            (long long)got[1][1]);
        return;
    }
}

static bool is_text(const sql_session *s, const char *text)
{
    const db_cell *c = &s->db.cells.at[0]; /* (the next cell may follow at once) */
    return c->at != UINT32_MAX && c->n == strlen(text) &&
           !memcmp(s->db.text.at + c->at, text, c->n);
}

void fuzz_invariants(fuzz *f, sql_session *s)
{
    static const char *const columns[] = {"id", "a", "b", "u"};
    const driver *d = s->db.db->driver;
    s->db.isolation = s->db.db->isolation;
    enum db_answer a = d->begin(&s->db);
    if (a != DB_OK) {
        broken(f, "no transaction can be begun after the run: %.200s", s->db.error);
        return;
    }
    /* Small tables are read as a whole otherwise; and expensive plans would be compiled. */
    if (!strcmp(f->dialect, "postgres")) {
        d->query(&s->db, "SET LOCAL enable_seqscan = off", NULL, 0);
        d->query(&s->db, "SET LOCAL jit = off", NULL, 0);
    }
    check_counters(f, s);
    check_sum(f, s);
    for (uint32_t t = 0; t < f->tables; t++) {
        check_keys(f, s, t);
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            check_index(f, s, t, columns[i]);
    }
    if (!strcmp(db_inner(s->db.db)->driver->name, "sqlite") &&
        ask(f, s, "PRAGMA integrity_check") && !is_text(s, "ok"))
        broken(f, "PRAGMA integrity_check does not say ok, but: %.200s", strbuf_cstr(&s->db.text));
    d->abort(&s->db);
}
