/*
 * case_story.c - what a run of a script was, as a history, as a log of SQL, and for people.
 */
#include <stdio.h>
#include <stdlib.h>

#include "step/case_run.h"
#include "step/key_statement.h"

/* --- transactions of a run -------------------------------------------------------------------- */

/* The results of one transaction are those of its session with its number. */
typedef struct txn_part {
    uint32_t session, txn;
    const char *status;
    uint64_t times[4]; /* 0: not known */
    int64_t stamp;     /* -1: none */
} txn_part;

static bool is_part(const step_result *r, const txn_part *t)
{
    return r->session == t->session && r->txn == t->txn;
}

static const char *sql_of(const spec *s, const char *dialect, const step_result *r)
{
    return spec_sql(s, s->steps.at[r->step].text, dialect);
}

/* Does the i-th result begin a transaction that no earlier one belongs to?  Then it is told. */
static bool next_txn(const case_bench *b, const spec *s, const case_run *r, uint32_t i,
                     bool after_first, txn_part *t)
{
    *t = (txn_part){r->results[i].session, r->results[i].txn, "aborted", {0}, -1};
    if (r->results[i].how == STEP_UNRUN) return false;
    for (uint32_t k = 0; k < i; k++)
        if (is_part(&r->results[k], t) && r->results[k].how != STEP_UNRUN) return false;
    for (uint32_t k = i; k < r->n; k++) {
        const step_result *p = &r->results[k];
        if (!is_part(p, t)) continue;
        enum key_action a = key_statement_of(sql_of(s, b->dialect, p)).action;
        if (p->begin) t->times[0] = p->begin;
        /* The snapshot is taken by the first statement, not by BEGIN, unless that is one. */
        if (p->how == STEP_DONE && a != KEY_BEGIN && a != KEY_COMMIT && a != KEY_ABORT &&
            !t->times[1])
            t->times[1] = after_first ? p->end : p->begun;
        if (a != KEY_COMMIT) continue;
        t->times[2] = p->call;
        t->times[3] = p->end;
        t->stamp = p->stamp;
        t->status = p->how == STEP_DONE ? "committed" : p->how == STEP_LOST ? "unknown" : "aborted";
    }
    return true;
}

static void write_times(const txn_part *t, strbuf *out)
{
    bool known = t->times[0] && t->times[2];
    if (!known) return;
    strbuf_str(out, ",\"times\":[");
    for (int i = 0; i < 4; i++) {
        if (i) strbuf_char(out, ',');
        if (t->times[i])
            strbuf_u64(out, t->times[i]);
        else
            strbuf_str(out, "null");
    }
    strbuf_char(out, ']');
}

/* --- a history -------------------------------------------------------------------------------- */

static void write_pairs(const step_result *r, strbuf *out)
{
    strbuf_char(out, '[');
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const db_cell *c = &r->cells[(size_t)i * r->n_cols];
        strbuf_printf(out, "%s[%s,%s]", i ? "," : "", r->text + c[0].at, r->text + c[1].at);
    }
    strbuf_char(out, ']');
}

/* A list as text, each element after a space, as JSON; "null" if there is none.  False: it is not
   one. */
static bool write_list(const step_result *r, strbuf *out)
{
    const char *p = r->n_rows && r->n_cols == 2 ? r->text + r->cells[1].at : "";
    if (r->n_rows > 1 || (r->n_rows && r->cells[1].at == UINT32_MAX)) return false;
    if (!*p) {
        strbuf_str(out, "null");
        return true;
    }
    for (char sign = '['; *p; sign = ',') {
        char *end;
        if (*p++ != ' ') return false;
        long long v = strtoll(p, &end, 10);
        if (end == p) return false;
        strbuf_printf(out, "%c%lld", sign, v);
        p = end;
    }
    strbuf_char(out, ']');
    return true;
}

/* Are these rows pairs of whole numbers? */
static bool are_pairs(const step_result *r)
{
    for (size_t i = 0; i < (size_t)r->n_rows * r->n_cols; i++) {
        const db_cell *c = &r->cells[i];
        char *end;
        if (c->at == UINT32_MAX) return false;
        strtoll(r->text + c->at, &end, 10);
        if (*end || !c->n) return false;
    }
    return r->n_cols == 2;
}

/* An operation on a list: a read of one key, or an append. */
static bool write_list_operation(const key_statement *k, const step_result *r, strbuf *out)
{
    if (k->action == KEY_GET) {
        strbuf_printf(out, "[\"r\",%lld,", (long long)k->key);
        if (!write_list(r, out)) return false;
        strbuf_str(out, k->lock ? ",{\"lock\":true}]" : "]");
        return true;
    }
    if (k->action != KEY_APPEND || r->affected != 1) return false;
    strbuf_printf(out, "[\"append\",%lld,%lld]", (long long)k->key, (long long)k->value);
    return true;
}

static bool write_operation(const key_statement *k, const step_result *r, strbuf *out)
{
    const char *lock = k->lock ? ",{\"lock\":true}" : "";
    if (k->action == KEY_APPEND) return false;
    if (k->action == KEY_GET) {
        if (!are_pairs(r) || r->n_rows > 1) return false;
        strbuf_printf(out, "[\"r\",%lld,%s%s]", (long long)k->key,
                      r->n_rows ? r->text + r->cells[1].at : "null", lock);
    } else if (k->action == KEY_RANGE) {
        if (!are_pairs(r)) return false;
        strbuf_printf(out, "[\"scan\",%lld,%lld,", (long long)k->key, (long long)k->to);
        write_pairs(r, out);
        strbuf_char(out, ']');
    } else if (r->affected > 1 && k->action != KEY_PUT) {
        return false;
    } else if (!r->affected) {
        /* The row was not there, or had this value already: the newest row was looked at, and what
           it held is not known. */
        strbuf_printf(out, "[\"r\",%lld]", (long long)k->key);
    } else if (k->action == KEY_DELETE) {
        strbuf_printf(out, "[\"d\",%lld]", (long long)k->key);
    } else {
        strbuf_printf(out, "[\"w\",%lld,%lld]", (long long)k->key, (long long)k->value);
    }
    return true;
}

static bool write_operations(const case_bench *b, const spec *s, const case_run *r,
                             const txn_part *t, strbuf *out)
{
    bool some = false, lists = case_lists(s, b->dialect);
    for (uint32_t i = 0; i < r->n; i++) {
        const step_result *p = &r->results[i];
        if (!is_part(p, t) || p->how != STEP_DONE) continue;
        key_statement k = key_statement_of(sql_of(s, b->dialect, p));
        if (k.action == KEY_NONE) return false;
        if (k.action >= KEY_BEGIN) continue;
        if (some) strbuf_char(out, ',');
        some = true;
        if (lists ? !write_list_operation(&k, p, out) : !write_operation(&k, p, out)) return false;
    }
    return true;
}

static void write_header(const case_bench *b, const spec *s, strbuf *out)
{
    strbuf_str(out, ",\"database\":");
    strbuf_json(out, b->db->version, strlen(b->db->version));
    strbuf_printf(out, ",\"isolation\":\"%s\",\"workload\":", b->db->isolation);
    strbuf_json(out, s->file, strlen(s->file));
    strbuf_str(out, ",\"unit\":\"ns\"");
}

bool case_history(const case_bench *b, const spec *s, const case_run *r, strbuf *out)
{
    db_row *rows;
    uint32_t n;
    bool lists = case_lists(s, b->dialect);
    if (!lists && !case_rows(s, b->dialect, b->mem, &rows, &n)) return false;
    strbuf_str(out, lists ? "{\"ratel\":1,\"init\":null" : "{\"ratel\":1,\"init\":[");
    for (uint32_t i = 0; !lists && i < n; i++)
        strbuf_printf(out, "%s[%lld,%lld]", i ? "," : "", (long long)rows[i].key,
                      (long long)rows[i].value);
    if (!lists) strbuf_char(out, ']');
    write_header(b, s, out);
    strbuf_str(out, "}\n");
    const driver *d = b->db->driver;
    bool after_first = d->snapshot && !(d->snapshot(b->db) & DB_BEGIN);
    for (uint32_t i = 0; i < r->n; i++) {
        txn_part t;
        if (!next_txn(b, s, r, i, after_first, &t)) continue;
        strbuf_str(out, "{\"session\":");
        const char *name = s->sessions.at[t.session].name;
        strbuf_json(out, name, strlen(name));
        strbuf_printf(out, ",\"id\":\"%s.%u\",\"status\":\"%s\"", name, (unsigned)t.txn + 1,
                      t.status);
        write_times(&t, out);
        strbuf_str(out, ",\"ops\":[");
        if (!write_operations(b, s, r, &t, out)) return false;
        strbuf_str(out, "]}\n");
    }
    return true;
}

/* --- a log of SQL ----------------------------------------------------------------------------- */

static void write_cells(const step_result *r, strbuf *out)
{
    strbuf_str(out, ",\"rows\":[");
    for (uint32_t i = 0; i < r->n_rows; i++) {
        strbuf_str(out, i ? ",[" : "[");
        for (uint32_t k = 0; k < r->n_cols; k++) {
            const db_cell *c = &r->cells[(size_t)i * r->n_cols + k];
            if (k) strbuf_char(out, ',');
            if (c->at == UINT32_MAX)
                strbuf_str(out, "null");
            else if (c->kind == DB_TEXT)
                strbuf_json(out, r->text + c->at, c->n);
            else
                strbuf_add(out, r->text + c->at, c->n);
        }
        strbuf_char(out, ']');
    }
    strbuf_char(out, ']');
}

static void write_statement(const char *sql, const step_result *p, bool first, strbuf *out)
{
    while (*sql && strchr(" \t\r\n", *sql)) sql++;
    size_t n = strlen(sql);
    while (n && strchr(" \t\r\n;", sql[n - 1])) n--;
    strbuf_str(out, first ? "{\"sql\":" : ",{\"sql\":");
    strbuf_json(out, sql, n);
    if (*p->state)
        strbuf_printf(out, ",\"error\":\"%s\"", p->state);
    else if (p->has_rows)
        write_cells(p, out);
    else
        strbuf_printf(out, ",\"count\":%llu", (unsigned long long)p->affected);
    strbuf_printf(out, ",\"t\":[%llu,%llu]}", (unsigned long long)p->call,
                  (unsigned long long)p->end);
}

/* The setup's statements, which end with a semicolon. */
static void write_setup(const case_bench *b, const spec *s, strbuf *out)
{
    bool some = false;
    for (size_t i = 0; i < s->setups.n; i++) {
        const char *p = spec_sql(s, s->setups.at[i], b->dialect);
        while (p && *(p += strspn(p, " \t\r\n;"))) {
            size_t n = strcspn(p, ";");
            if (some) strbuf_char(out, ',');
            some = true;
            strbuf_json(out, p, n);
            p += n;
        }
    }
}

void case_log(const case_bench *b, const spec *s, const case_run *r, strbuf *out)
{
    strbuf_str(out, "{\"ratel_sql\":1,\"setup\":[");
    write_setup(b, s, out);
    strbuf_char(out, ']');
    write_header(b, s, out);
    strbuf_str(out, "}\n");
    for (uint32_t i = 0; i < r->n; i++) {
        txn_part t;
        bool first = true;
        if (!next_txn(b, s, r, i, false, &t)) continue;
        const char *name = s->sessions.at[t.session].name;
        strbuf_str(out, "{\"session\":");
        strbuf_json(out, name, strlen(name));
        strbuf_printf(out, ",\"id\":\"%s.%u\",\"status\":\"%s\"", name, (unsigned)t.txn + 1,
                      t.status);
        write_times(&t, out);
        if (t.stamp >= 0) strbuf_printf(out, ",\"commit_ts\":%lld", (long long)t.stamp);
        strbuf_str(out, ",\"statements\":[");
        for (uint32_t k = 0; k < r->n; k++) {
            const step_result *p = &r->results[k];
            if (!is_part(p, &t) || p->how == STEP_UNRUN) continue;
            const char *sql = sql_of(s, b->dialect, p);
            if (key_statement_of(sql).action >= KEY_BEGIN) continue;
            write_statement(sql, p, first, out);
            first = false;
        }
        strbuf_str(out, "]}\n");
    }
}

/* --- for people ------------------------------------------------------------------------------- */

static void tell_result(const step_result *p, strbuf *out)
{
    if (p->how == STEP_UNRUN) strbuf_str(out, "not run: its transaction had ended");
    if (p->how == STEP_REFUSED || p->how == STEP_LOST)
        strbuf_printf(out, "%s%s%s", *p->state ? p->state : "", *p->state ? " " : "", p->error);
    if (p->how != STEP_DONE) return;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        strbuf_str(out, i ? ", " : "");
        for (uint32_t k = 0; k < p->n_cols; k++) {
            const db_cell *c = &p->cells[(size_t)i * p->n_cols + k];
            if (k) strbuf_char(out, '|');
            if (c->at != UINT32_MAX) strbuf_add(out, p->text + c->at, c->n);
        }
    }
    if (p->has_rows && !p->n_rows) strbuf_str(out, "no rows");
    if (!p->has_rows && p->affected)
        strbuf_printf(out, "%llu row%s", (unsigned long long)p->affected,
                      p->affected == 1 ? "" : "s");
    if (!p->has_rows && !p->affected) strbuf_str(out, "done");
}

void case_story(const spec *s, const char *dialect, const case_run *r, strbuf *out)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const step_result *p = &r->results[i];
        const char *sql = sql_of(s, dialect, p);
        size_t n = sql ? strlen(sql) : 0;
        while (n && strchr(" \t\r\n", sql[n - 1])) n--;
        size_t skip = sql ? strspn(sql, " \t\r\n") : 0;
        strbuf_printf(out, "  %-4s %.*s", s->sessions.at[p->session].name,
                      (int)(n > skip ? n - skip : 0), sql ? sql + skip : "");
        strbuf_str(out, p->waited ? "  -- waits; " : "  -- ");
        tell_result(p, out);
        strbuf_char(out, '\n');
    }
}
