/*
 * log_write.c - a log as text again (doc/formats/sql-log.md); what log_read passes over is gone.
 */
#include "audit/log.h"

static void put_cells(strbuf *o, const cell *c, uint32_t n)
{
    strbuf_char(o, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i) strbuf_char(o, ',');
        if (c[i].kind == CELL_NULL)
            strbuf_str(o, "null");
        else if (c[i].kind == CELL_TEXT)
            strbuf_json(o, c[i].s, c[i].n);
        else
            strbuf_add(o, c[i].s, c[i].n);
    }
    strbuf_char(o, ']');
}

static void put_rows(strbuf *o, const cell *c, uint32_t rows, uint32_t cols)
{
    strbuf_str(o, ",\"rows\":[");
    for (uint32_t i = 0; i < rows; i++) {
        if (i) strbuf_char(o, ',');
        put_cells(o, c + (size_t)i * cols, cols);
    }
    strbuf_char(o, ']');
}

static void put_name(strbuf *o, const char *member, const char *text)
{
    strbuf_printf(o, "\"%s\":", member);
    strbuf_json(o, text, strlen(text));
}

static void put_stmt(strbuf *o, const sql_log *l, const log_stmt *s)
{
    const log_text *t = &l->texts.at[s->text];
    bool plain = !s->n_params && !s->has_rows && !s->has_count && !s->has_error && !s->has_time &&
                 !s->insert_id && !s->opaque;
    if (plain) {
        strbuf_json(o, t->at, t->n);
        return;
    }
    strbuf_str(o, "{\"sql\":");
    strbuf_json(o, t->at, t->n);
    if (s->n_params) {
        strbuf_str(o, ",\"params\":");
        put_cells(o, s->params, s->n_params);
    }
    if (s->opaque) {
        strbuf_char(o, ',');
        put_name(o, "opaque", s->opaque);
    }
    if (s->has_rows) put_rows(o, s->cells, s->n_rows, s->n_cols);
    if (s->has_count) strbuf_printf(o, ",\"count\":%llu", (unsigned long long)s->count);
    if (s->insert_id) strbuf_printf(o, ",\"insert_id\":%llu", (unsigned long long)s->insert_id);
    if (s->has_error) {
        strbuf_str(o, ",\"error\":");
        strbuf_json(o, s->error, 5);
    }
    if (s->has_time)
        strbuf_printf(o, ",\"t\":[%lld,%lld]", (long long)s->call, (long long)s->answer);
    strbuf_char(o, '}');
}

static void put_stmts(strbuf *o, const sql_log *l, const log_stmt *s, size_t n)
{
    strbuf_char(o, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) strbuf_char(o, ',');
        put_stmt(o, l, &s[i]);
    }
    strbuf_char(o, ']');
}

static void put_txn(strbuf *o, const sql_log *l, const log_txn *t)
{
    static const char *const status[] = {"committed", "aborted", "unknown"};
    strbuf_char(o, '{');
    put_name(o, "id", t->id);
    if (*l->sessions.at[t->session]) {
        strbuf_char(o, ',');
        put_name(o, "session", l->sessions.at[t->session]);
    }
    if (t->status != LOG_COMMITTED) strbuf_printf(o, ",\"status\":\"%s\"", status[t->status]);
    if (t->has_begin) strbuf_printf(o, ",\"begin\":%lld", (long long)t->begin);
    if (t->has_end) strbuf_printf(o, ",\"end\":%lld", (long long)t->end);
    for (int i = 0; t->has_times && i < 3; i++)
        strbuf_printf(o, "%s%lld", i ? "," : ",\"times\":[", (long long)t->times[i]);
    if (t->has_times && t->times[3] == LOG_NO_END)
        strbuf_str(o, ",null]");
    else if (t->has_times)
        strbuf_printf(o, ",%lld]", (long long)t->times[3]);
    if (t->has_commit) strbuf_printf(o, ",\"commit_ts\":%lld", (long long)t->commit);
    if (t->commit_unknown) strbuf_str(o, ",\"commit_ts\":null");
    strbuf_str(o, ",\"statements\":");
    put_stmts(o, l, t->stmts, t->n_stmts);
    strbuf_str(o, "}\n");
}

void log_write(const sql_log *l, const char *level, strbuf *o)
{
    strbuf_str(o, "{\"ratel_sql\":1,");
    put_name(o, "level", level);
    if (l->dialect != DIALECT_POSTGRES) {
        strbuf_char(o, ',');
        put_name(o, "dialect", log_dialect_names[l->dialect]);
    }
    if (l->collation) {
        strbuf_char(o, ',');
        put_name(o, "collation", l->collation);
    }
    strbuf_str(o, ",\"setup\":");
    put_stmts(o, l, l->setup.at, l->setup.n);
    for (size_t i = 0; i < l->unknown.n; i++) {
        strbuf_str(o, i ? "," : ",\"unknown\":[");
        strbuf_json(o, l->unknown.at[i], strlen(l->unknown.at[i]));
    }
    strbuf_str(o, l->unknown.n ? "]}\n" : "}\n");
    for (size_t i = 0; i < l->rows.n; i++) {
        const log_rows *r = &l->rows.at[i];
        strbuf_char(o, '{');
        put_name(o, "table", r->table);
        for (uint32_t k = 0; r->columns && k < r->n_cols; k++) {
            strbuf_str(o, k ? "," : ",\"columns\":[");
            strbuf_json(o, r->columns[k], strlen(r->columns[k]));
        }
        if (r->columns) strbuf_char(o, ']');
        put_rows(o, r->cells, r->n_rows, r->n_cols);
        strbuf_str(o, "}\n");
    }
    for (size_t i = 0; i < l->txns.n; i++) put_txn(o, l, &l->txns.at[i]);
}
