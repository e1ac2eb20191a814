/*
 * log_script.c - turns a log of SQL into a script (log_script.h).
 *
 * Each statement of the log's setup is a setup of its own; rows of the initial state become INSERT
 * statements.  A block of a script ends at the first closing brace, and a setup is told to audit in
 * pieces between semicolons, so that texts with them are refused.
 */
#include "cli/log_script.h"

#include <string.h>
#include <strings.h>

typedef struct log_taking {
    script *s;
    mem *m;
    const sql_log *log;
    const char *why;
} log_taking;

static void put_literal(const cell *c, strbuf *out)
{
    if (c->kind == CELL_NULL) strbuf_str(out, "NULL");
    if (c->kind == CELL_FALSE) strbuf_str(out, "false");
    if (c->kind == CELL_TRUE) strbuf_str(out, "true");
    if (c->kind == CELL_NUMBER) strbuf_add(out, c->s, c->n);
    if (c->kind != CELL_TEXT) return;
    strbuf_char(out, '\'');
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->s[i] == '\'') strbuf_char(out, '\'');
        strbuf_char(out, c->s[i]);
    }
    strbuf_char(out, '\'');
}

/* $1 and so on outside of quotes become the values. */
static void put_statement(log_taking *t, const log_stmt *l, strbuf *out)
{
    const log_text *text = &t->log->texts.at[l->text];
    char quote = 0;
    for (uint32_t i = 0; i < text->n; i++) {
        char c = text->at[i];
        if (quote ? c == quote : c == '\'' || c == '"') quote = quote ? 0 : c;
        uint32_t k = i + 1, number = 0;
        for (; c == '$' && !quote && k < text->n && text->at[k] >= '0' && text->at[k] <= '9'; k++)
            if (number <= l->n_params) number = number * 10 + (uint32_t)(text->at[k] - '0');
        if (number && number <= l->n_params) {
            put_literal(&l->params[number - 1], out);
            i = k - 1;
        } else {
            strbuf_char(out, c);
        }
    }
}

/* The statement as the script's; sets t->why if it cannot be. */
static const char *said(log_taking *t, strbuf *b)
{
    while (b->n && strchr(" \t\r\n;", b->at[b->n - 1])) b->n--;
    if (b->n && memchr(b->at, '}', b->n)) t->why = "a statement has a closing brace";
    if (b->n && memchr(b->at, 0, b->n)) t->why = "a statement has a NUL byte";
    return strbuf_cstr(b);
}

static void add_setup(log_taking *t, strbuf *b)
{
    const char *sql = said(t, b);
    if (strchr(sql, ';')) t->why = "a statement of the setup has a semicolon inside";
    vec_push(t->m, &t->s->setup, sql);
}

static void add_rows(log_taking *t, const log_rows *r)
{
    for (uint32_t i = 0; i < r->n_rows; i++) {
        strbuf b;
        strbuf_init(&b, t->m);
        strbuf_printf(&b, "INSERT INTO %s", r->table);
        for (uint32_t k = 0; r->columns && k < r->n_cols; k++)
            strbuf_printf(&b, "%s%s", k ? ", " : " (", r->columns[k]);
        strbuf_str(&b, r->columns ? ") VALUES (" : " VALUES (");
        for (uint32_t k = 0; k < r->n_cols; k++) {
            if (k) strbuf_str(&b, ", ");
            put_literal(&r->cells[(size_t)i * r->n_cols + k], &b);
        }
        strbuf_char(&b, ')');
        add_setup(t, &b);
    }
}

static void add_log_txn(log_taking *t, size_t i, const log_txn *x)
{
    script *s = t->s;
    script_txn n = {.session = x->session,
                    .aborts = x->status == LOG_ABORTED,
                    .first = (uint32_t)s->ops.n,
                    .end = x->has_times ? x->times[2]
                           : x->has_end ? x->end
                                        : (int64_t)i};
    for (uint32_t k = 0; k < x->n_stmts; k++) {
        strbuf b;
        strbuf_init(&b, t->m);
        if (x->stmts[k].opaque) t->why = "a statement is not completely known";
        put_statement(t, &x->stmts[k], &b);
        script_op o = {.kind = 'q',
                       .sql = said(t, &b),
                       .when = x->stmts[k].has_time ? x->stmts[k].call
                               : x->has_begin       ? x->begin
                                                    : (int64_t)i};
        vec_push(t->m, &s->ops, o);
        n.n++;
    }
    vec_push(t->m, &s->txns, n);
    if (x->session >= s->sessions) s->sessions = x->session + 1;
}

const char *log_script(script *s, mem *m, const sql_log *l)
{
    log_taking t = {.s = s, .m = m, .log = l};
    *s = (script){.sessions = 0};
    if (l->unknown.n) return "the rows of some tables are not known";
    for (size_t i = 0; i < l->setup.n; i++) {
        strbuf b;
        strbuf_init(&b, m);
        put_statement(&t, &l->setup.at[i], &b);
        add_setup(&t, &b);
    }
    for (size_t i = 0; i < l->rows.n; i++) add_rows(&t, &l->rows.at[i]);
    for (size_t i = 0; i < l->txns.n; i++) add_log_txn(&t, i, &l->txns.at[i]);
    return t.why;
}
