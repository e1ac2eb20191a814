/*
 * audit_told.c - an audit's answer for an issue (Markdown) and for a slide (a graph for Graphviz).
 *
 * Texts of a log stand in code spans or quoted labels, with control characters escaped, so that no
 * statement can be read as markup.
 */
#include <assert.h>
#include <string.h>

#include "audit/audit_report.h"

/* A code span: a backtick inside would end it. */
static void add_code(strbuf *b, const char *before, const char *s)
{
    strbuf_str(b, before);
    strbuf_char(b, '`');
    size_t from = b->n;
    if (s) strbuf_visible(b, s, strlen(s));
    for (size_t i = from; i < b->n; i++)
        if (b->at[i] == '`') b->at[i] = '\'';
    strbuf_char(b, '`');
}

static void markdown_place(const audit_answer *r, strbuf *b)
{
    add_code(b, "\n- transaction ", r->txn);
    if (r->statement) strbuf_printf(b, ", statement %u", (unsigned)r->statement);
    strbuf_printf(b, ", line %llu of the log", (unsigned long long)r->line);
    if (r->sql) add_code(b, ": ", r->sql);
    if (r->observed) add_code(b, "\n- observed: ", r->observed);
    for (size_t i = 0; i < r->n_possible; i++) {
        add_code(b, "\n- possible: ", r->possible[i].result);
        if (*r->possible[i].after)
            add_code(b, ", reading the state after ", r->possible[i].after);
        else
            strbuf_str(b, ", reading the initial state");
    }
    for (size_t i = 0; i < r->n_conflicts; i++) add_code(b, "\n- conflicts with ", r->conflicts[i]);
    strbuf_char(b, '\n');
}

static void markdown_cycle(const audit_answer *r, strbuf *b)
{
    strbuf_str(b, "\n**A cycle that no serial order has**\n\n");
    for (size_t i = 0; i < r->n_cycle; i++) {
        const audit_edge *e = &r->cycle[i];
        add_code(b, "- ", e->from);
        add_code(b, " before ", e->to);
        strbuf_printf(b, " (%s", e->kind);
        if (e->row) add_code(b, " ", e->row);
        strbuf_str(b, ")\n");
    }
}

static void markdown_txns(const audit_report_context *c, strbuf *b)
{
    strbuf_str(b, "\n**The transactions**\n\n");
    for (size_t i = 0; i < c->n_shown; i++) {
        const audit_shown_txn *t = &c->shown[i];
        add_code(b, "- ", t->id);
        if (*t->session) add_code(b, ", session ", t->session);
        strbuf_char(b, '\n');
        for (size_t k = 0; k < t->n; k++) {
            strbuf_printf(b, "  %zu. ", k + 1);
            add_code(b, "", t->stmts[k].sql);
            add_code(b, ": ", t->stmts[k].observed);
            strbuf_char(b, '\n');
        }
    }
}

void audit_report_markdown(const audit_answer *r, const audit_report_context *c, strbuf *b)
{
    add_code(b, "### ", c->log);
    strbuf_printf(b, ": %s: %s\n\n", r->level ? r->level : "", audit_verdict_name(r->verdict));
    if (r->reason) {
        strbuf_visible(b, r->reason, strlen(r->reason));
        strbuf_str(b, ".\n");
    }
    if (r->verdict == AUDIT_HOLDS) return;
    if (r->txn) markdown_place(r, b);
    if (r->n_cycle) markdown_cycle(r, b);
    if (c->n_shown) markdown_txns(c, b);
}

/* ---- a graph --------------------------------------------------------------------------------- */

/* Inside of a quoted label; a line ends on the left. */
static void add_label(strbuf *b, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    strbuf shown;
    strbuf_init(&shown, b->mem);
    if (n) strbuf_visible(&shown, s, n);
    for (size_t i = 0; i < shown.n; i++) {
        if (shown.at[i] == '"' || shown.at[i] == '\\') strbuf_char(b, '\\');
        strbuf_char(b, shown.at[i]);
    }
    strbuf_free(&shown);
}

static void dot_edge(strbuf *b, const char *from, const char *to, const char *kind, const char *row)
{
    strbuf_str(b, "  \"");
    add_label(b, from);
    strbuf_str(b, "\" -> \"");
    add_label(b, to);
    strbuf_str(b, "\" [label=\"");
    add_label(b, kind);
    if (row) strbuf_char(b, ' ');
    add_label(b, row);
    strbuf_str(b, "\"];\n");
}

static void dot_txn(strbuf *b, const audit_answer *r, const audit_shown_txn *t)
{
    assert(t->id && (t->stmts || !t->n));
    bool wrong = r->txn && !strcmp(r->txn, t->id);
    strbuf_str(b, "  \"");
    add_label(b, t->id);
    strbuf_str(b, "\" [label=\"");
    add_label(b, t->id);
    strbuf_str(b, "\\l");
    for (size_t k = 0; k < t->n; k++) {
        add_label(b, t->stmts[k].sql);
        strbuf_str(b, "\\l    ");
        add_label(b, t->stmts[k].observed);
        strbuf_str(b, "\\l");
    }
    strbuf_printf(b, "\"%s];\n", wrong ? ", penwidth=3" : "");
}

void audit_report_dot(const audit_answer *r, const audit_report_context *c, strbuf *b)
{
    assert(r->verdict <= AUDIT_UNDECIDED);
    strbuf_str(b, "digraph audit {\n  node [shape=box, fontname=monospace];\n  labelloc=t;\n"
                  "  label=\"");
    add_label(b, c->log);
    strbuf_printf(b, ": %s: %s", r->level ? r->level : "", audit_verdict_name(r->verdict));
    strbuf_str(b, "\\n");
    add_label(b, r->reason);
    strbuf_str(b, "\";\n");
    for (size_t i = 0; r->verdict != AUDIT_HOLDS && i < c->n_shown; i++)
        dot_txn(b, r, &c->shown[i]);
    for (size_t i = 0; i < r->n_cycle; i++)
        dot_edge(b, r->cycle[i].from, r->cycle[i].to, r->cycle[i].kind, r->cycle[i].row);
    for (size_t i = 0; r->txn && r->verdict != AUDIT_HOLDS && i < r->n_conflicts; i++)
        if (*r->conflicts[i]) dot_edge(b, r->conflicts[i], r->txn, "conflict", NULL);
    strbuf_str(b, "}\n");
}
