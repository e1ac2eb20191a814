/*
 * audit_page.c - an answer of `audit` as an entry of a page: the statement that nothing explains,
 * what it returned, what it could have returned, and the cycle as a picture.
 *
 * The answer names no sessions, so every transaction of the cycle has a lane of its own.
 */
#include <string.h>

#include "cli/audit_page.h"
#include "report/picture.h"

typedef struct audited {
    const audit_answer *r;
    const audit_report_context *report;
    const char *log;
} audited;

/* Texts of a log are shown as they are on a terminal: no control characters. */
static void shown_text(json_writer *w, strbuf *b, const char *s)
{
    strbuf v;
    strbuf_init(&v, b->mem);
    strbuf_visible(&v, s, strlen(s));
    jw_bytes(w, v.n ? v.at : "", v.n);
    strbuf_free(&v);
}

static void shown_member(json_writer *w, strbuf *b, const char *name, const char *s)
{
    jw_name(w, name);
    shown_text(w, b, s);
}

static void paragraph(json_writer *w, strbuf *b, const char *title, const char *kind,
                      const char *text)
{
    if (!text || !*text) return;
    jw_object(w);
    jw_member_text(w, "title", title);
    shown_member(w, b, kind, text);
    jw_end_object(w);
}

static void possible_results(json_writer *w, strbuf *b, const audit_answer *r)
{
    if (!r->n_possible) return;
    jw_object(w);
    jw_member_text(w, "title", "What it could have returned");
    jw_member_array(w, "list");
    for (size_t i = 0; i < r->n_possible && i < 100; i++) {
        strbuf line;
        strbuf_init(&line, b->mem);
        if (*r->possible[i].after)
            strbuf_printf(&line, "in the state after %s: ", r->possible[i].after);
        else
            strbuf_str(&line, "in the initial state: ");
        strbuf_str(&line, r->possible[i].result);
        shown_text(w, b, strbuf_cstr(&line));
        strbuf_free(&line);
    }
    jw_end_array(w);
    jw_end_object(w);
}

static void conflicts(json_writer *w, strbuf *b, const audit_answer *r)
{
    if (!r->n_conflicts) return;
    jw_object(w);
    jw_member_text(w, "title", "Transactions that it conflicts with");
    jw_member_array(w, "list");
    for (size_t i = 0; i < r->n_conflicts && i < 100; i++) shown_text(w, b, r->conflicts[i]);
    jw_end_array(w);
    jw_end_object(w);
}

/* Their statements, and what came back. */
static void shown_txns(json_writer *w, strbuf *b, const audit_report_context *c)
{
    strbuf line;
    strbuf_init(&line, b->mem);
    for (size_t i = 0; i < c->n_shown; i++) {
        const audit_shown_txn *t = &c->shown[i];
        line.n = 0;
        strbuf_printf(&line, "What %s did", t->id);
        if (*t->session) strbuf_printf(&line, ", in session %s", t->session);
        jw_object(w);
        shown_member(w, b, "title", strbuf_cstr(&line));
        jw_member_array(w, "list");
        for (size_t k = 0; k < t->n && k < 100; k++) {
            line.n = 0;
            strbuf_printf(&line, "%s: %s", t->stmts[k].sql, t->stmts[k].observed);
            shown_text(w, b, strbuf_cstr(&line));
        }
        jw_end_array(w);
        jw_end_object(w);
    }
    strbuf_free(&line);
}

/* The box of a transaction, which is added if it is new. */
static uint32_t cycle_box(picture *p, const char *name)
{
    for (uint32_t i = 0; i < p->boxes.n; i++)
        if (!strcmp(p->boxes.at[i].name, name)) return i;
    uint32_t at = (uint32_t)p->boxes.n;
    char *copy = picture_text(p, name, strlen(name));
    picture_lane lane = {.name = copy};
    picture_box box = {.name = copy, .lane = at, .matters = true, .begin = 2 * (int64_t)at};
    box.end = box.begin + 1;
    vec_push(p->m, &p->lanes, lane);
    vec_push(p->m, &p->boxes, box);
    return at;
}

static unsigned edge_kind(const char *name)
{
    unsigned k = PICTURE_SO;
    while (k < PICTURE_RW && strcmp(picture_edge_name(k), name) != 0) k++;
    return k;
}

static void cycle_picture(json_writer *w, strbuf *b, const audit_answer *r)
{
    picture p;
    strbuf text;
    if (!r->n_cycle || r->n_cycle > 64) return;
    picture_init(&p, b->mem);
    strbuf_init(&text, b->mem);
    for (size_t i = 0; i < r->n_cycle; i++) {
        const audit_edge *e = &r->cycle[i];
        picture_edge d = {.kind = (uint8_t)edge_kind(e->kind)};
        d.from = cycle_box(&p, e->from);
        d.to = cycle_box(&p, e->to);
        text.n = 0;
        strbuf_str(&text, e->kind);
        if (e->row) {
            strbuf_char(&text, ' ');
            strbuf_visible(&text, e->row, strlen(e->row));
        }
        d.label = picture_text(&p, text.at, text.n);
        if (d.from != d.to) vec_push(p.m, &p.edges, d);
    }
    picture_layout(&p);
    jw_member_object(w, "picture");
    picture_json(&p, w);
    jw_end_object(w);
    strbuf_free(&text);
}

static void sentence_member(json_writer *w, strbuf *b, const audited *x)
{
    const audit_answer *r = x->r;
    strbuf line;
    strbuf_init(&line, b->mem);
    strbuf_printf(&line,
                  r->verdict == AUDIT_HOLDS      ? "%s satisfies %s"
                  : r->verdict == AUDIT_VIOLATED ? "%s violates %s"
                                                 : "Whether %s satisfies %s is undecided",
                  x->log, r->level);
    if (r->reason && *r->reason) strbuf_printf(&line, ": %s", r->reason);
    strbuf_char(&line, '.');
    shown_member(w, b, "sentence", strbuf_cstr(&line));
    strbuf_free(&line);
}

static void counts(json_writer *w, const audit_answer *r)
{
    jw_member_object(w, "counts");
    jw_member_u64(w, "transactions", r->txns);
    jw_member_u64(w, "statements", r->statements);
    jw_member_u64(w, "sessions", r->sessions);
    jw_member_u64(w, "unchecked", r->unchecked);
    jw_member_u64(w, "runs", r->runs);
    jw_end_object(w);
}

static void violation(json_writer *w, strbuf *b, const audit_answer *r,
                      const audit_report_context *c)
{
    strbuf where;
    strbuf_init(&where, b->mem);
    if (r->txn) strbuf_printf(&where, "transaction %s", r->txn);
    if (r->statement) strbuf_printf(&where, ", statement %u", (unsigned)r->statement);
    if (r->line) strbuf_printf(&where, ", line %llu of the log", (unsigned long long)r->line);
    jw_member_array(w, "paragraphs");
    paragraph(w, b, "Where", "text", where.n ? strbuf_cstr(&where) : NULL);
    paragraph(w, b, "Statement", "code", r->sql);
    paragraph(w, b, "What it returned", "code", r->observed);
    possible_results(w, b, r);
    conflicts(w, b, r);
    paragraph(w, b, "What is wrong", "text",
              r->semantic ? "No isolation level explains this result."
                          : "The isolation is wrong: a weaker level may explain this result.");
    shown_txns(w, b, c);
    jw_end_array(w);
    cycle_picture(w, b, r);
    strbuf_free(&where);
}

static void write_entry(strbuf *b, void *what)
{
    static const char *const names[] = {"holds", "violated", "undecided"};
    const audited *x = what;
    const audit_answer *r = x->r;
    json_writer to = jw_strbuf(b), *w = &to;
    jw_object(w);
    jw_member_text(w, "verdict", names[r->verdict]);
    sentence_member(w, b, x);
    shown_member(w, b, "source", x->log);
    jw_member_text(w, "level", r->level);
    if (r->verdict == AUDIT_VIOLATED) violation(w, b, r, x->report);
    counts(w, r);
    jw_member_array(w, "warnings");
    for (size_t i = 0; i < r->n_warnings; i++) {
        jw_array(w);
        jw_text(w, "audit");
        shown_text(w, b, r->warnings[i]);
        jw_end_array(w);
    }
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}

void page_add_audit(const args *a, const audit_answer *r, const audit_report_context *report)
{
    audited x = {r, report, report->log};
    page_add_rendered(a, write_entry, &x);
}
