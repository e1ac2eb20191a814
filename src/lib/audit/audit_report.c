/*
 * audit_report.c - the layout of an audit's answer.
 *
 * JSON goes straight to the caller's writer, so that a witness of a million transactions takes no
 * memory.  The text is short: it is put together in a region of its own, which is not bound by the
 * audit's memory limit, since an audit that ran out of memory has an answer, too.
 */
#include "audit/audit_report.h"

#include <assert.h>
#include <string.h>

#include "base/guard.h"

const char *audit_verdict_name(audit_verdict v)
{
    static const char *const names[] = {"holds", "violated", "undecided"};
    assert((size_t)v < sizeof names / sizeof names[0]);
    return names[v];
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void texts_json(json_writer *w, const char *name, const char *const *at, size_t n)
{
    jw_member_array(w, name);
    for (size_t i = 0; i < n; i++) jw_text(w, at[i]);
    jw_end_array(w);
}

static void cycle_json(json_writer *w, const audit_answer *r)
{
    jw_member_array(w, "cycle");
    for (size_t i = 0; i < r->n_cycle; i++) {
        const audit_edge *e = &r->cycle[i];
        jw_object(w);
        jw_member_text(w, "from", e->from);
        jw_member_optional(w, "to", e->to);
        jw_member_optional(w, "kind", e->kind);
        jw_member_optional(w, "row", e->row);
        if (e->statement) jw_member_u64(w, "statement", e->statement);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void shrunk_json(json_writer *w, const audit_report_context *c)
{
    const audit_shrunk *s = c->shrunk;
    jw_member_object(w, "shrunk");
    jw_member_text(w, "log", c->shrunk_log);
    jw_member_u64(w, "txns", s->txns);
    jw_member_u64(w, "statements", s->statements);
    jw_member_u64(w, "rows", s->rows);
    jw_member_u64(w, "trials", s->trials);
    jw_member_bool(w, "minimal", s->minimal);
    jw_member_optional(w, "reason", s->reason);
    jw_end_object(w);
}

/* Where the replay stopped: what the client saw, and what each possible state would have given. */
static void place_json(json_writer *w, const audit_answer *r)
{
    if (r->verdict == AUDIT_VIOLATED && !r->engine)
        jw_member_text(w, "kind", r->semantic ? "semantic" : "isolation");
    jw_member_text(w, "txn", r->txn);
    jw_member_u64(w, "statement", r->statement);
    jw_member_u64(w, "line", r->line);
    jw_member_u64(w, "column", r->column);
    jw_member_optional(w, "sql", r->sql);
    jw_member_optional(w, "observed", r->observed);
    jw_member_array(w, "possible");
    for (size_t i = 0; i < r->n_possible; i++) {
        jw_object(w);
        jw_member_text(w, "after", r->possible[i].after);
        jw_member_optional(w, "result", r->possible[i].result);
        jw_end_object(w);
    }
    jw_end_array(w);
    texts_json(w, "conflicts", r->conflicts, r->n_conflicts);
}

static void rests_on_json(json_writer *w, const audit_answer *r)
{
    const char *on[5];
    size_t n = 0;
    bool ordered = r->verdict == AUDIT_VIOLATED && !r->all_orders;
    bool timed = r->verdict == AUDIT_VIOLATED && r->first_rows == FIRST_ROWS_TIMED;
    if (ordered) on[n++] = r->timed_orders ? "commit-times" : "commit-order";
    if (timed && !(ordered && r->timed_orders)) on[n++] = "commit-times";
    if (ordered && r->replayed_writes) on[n++] = "replayed-writes";
    if (r->verdict == AUDIT_VIOLATED && r->traced) on[n++] = "all-writers-traced";
    if (r->engine && r->verdict != AUDIT_UNDECIDED) on[n++] = "reference-engine";
    if (n) texts_json(w, "rests_on", on, n);
    jw_member_optional(w, "reference", r->engine);
}

void audit_report_json(const audit_answer *r, const audit_report_context *c, json_writer *w)
{
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "log", c->log);
    jw_member_optional(w, "level", r->level);
    jw_member_optional(w, "given", c->given);
    jw_member_text(w, "verdict", audit_verdict_name(r->verdict));
    jw_member_optional(w, "reason", r->reason);
    if (r->verdict != AUDIT_HOLDS && r->txn) place_json(w, r);
    if (r->verdict == AUDIT_UNDECIDED && !r->txn && r->line) {
        jw_member_u64(w, "line", r->line);
        jw_member_u64(w, "column", r->column);
    }
    if (r->n_cycle) cycle_json(w, r);
    rests_on_json(w, r);
    if (r->first_rows) jw_member_text(w, "first_rows", r->verdict == AUDIT_HOLDS ? "fit" : "shown");
    if (r->verdict == AUDIT_HOLDS) jw_member_text(w, "order", r->other_order ? "other" : "given");
    jw_member_u64(w, "txns", r->txns);
    jw_member_u64(w, "statements", r->statements);
    jw_member_u64(w, "sessions", r->sessions);
    jw_member_u64(w, "unchecked", r->unchecked);
    texts_json(w, "warnings", r->warnings, r->n_warnings);
    if (c->shrunk) shrunk_json(w, c);
    if (c->seconds >= 0) {
        jw_member_u64(w, "runs", r->runs);
        jw_member_decimal(w, "seconds", c->seconds, 3);
        jw_member_u64(w, "peak_rss_kib", c->peak_rss_kib);
    }
    jw_end_object(w);
    jw_end_line(w);
}

static void change_json(json_writer *w, const audit_change *c)
{
    jw_object(w);
    jw_member_text(w, "table", c->table);
    if (c->before) {
        jw_name(w, "before");
        jw_raw(w, c->before, strlen(c->before));
    }
    if (c->after) {
        jw_name(w, "after");
        jw_raw(w, c->after, strlen(c->after));
    }
    jw_end_object(w);
}

void audit_report_witness(const audit_answer *r, const audit_report_context *c, json_writer *w)
{
    assert(r->verdict == AUDIT_HOLDS);
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "log", c->log);
    jw_member_optional(w, "level", r->level);
    jw_end_object(w);
    jw_end_line(w);
    size_t change = 0;
    for (size_t i = 0; i < r->n_order; i++) {
        uint32_t s = r->read[i];
        assert(s <= i); /* no transaction reads its own state, or a later one */
        jw_object(w);
        jw_member_text(w, "txn", r->order[i]);
        jw_member_u64(w, "state", i + 1);
        jw_member_u64(w, "reads_state", s);
        if (s) jw_member_text(w, "after", r->order[s - 1]);
        if (c->changes) jw_member_array(w, "rows");
        for (; change < c->n_changes && c->changes[change].state == i + 1; change++)
            change_json(w, &c->changes[change]);
        if (c->changes) jw_end_array(w);
        jw_end_object(w);
        jw_end_line(w);
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A text of the log or a name of a file; NULL is nothing. */
static void add_shown(strbuf *b, const char *before, const char *s)
{
    strbuf_str(b, before);
    if (s) strbuf_visible(b, s, strlen(s));
}

static void shrunk_text(const audit_answer *r, const audit_report_context *c, strbuf *b)
{
    const audit_shrunk *s = c->shrunk;
    strbuf_printf(b, "  shrunk to %llu of %llu transactions, %llu statements, %llu rows",
                  (unsigned long long)s->txns, (unsigned long long)r->txns,
                  (unsigned long long)s->statements, (unsigned long long)s->rows);
    add_shown(b, ": ", c->shrunk_log);
    if (!s->minimal) strbuf_printf(b, " (there may be a smaller one: %s)", s->reason);
    strbuf_char(b, '\n');
}

/* The transaction that is not explained, and what would have been possible. */
static void place_text(const audit_answer *r, strbuf *b)
{
    add_shown(b, "  transaction ", r->txn);
    if (r->statement) strbuf_printf(b, ", statement %u", (unsigned)r->statement);
    strbuf_printf(b, ", line %llu", (unsigned long long)r->line);
    if (r->verdict == AUDIT_UNDECIDED && r->column)
        strbuf_printf(b, ", column %llu", (unsigned long long)r->column);
    if (r->sql) add_shown(b, ": ", r->sql);
    add_shown(b, "\n  observed: ", r->observed);
    strbuf_char(b, '\n');
    for (size_t i = 0; i < r->n_possible; i++) {
        const audit_possible *p = &r->possible[i];
        add_shown(b, "  possible: ", p->result);
        add_shown(b, *p->after ? ", reading the state after " : ", reading the initial state",
                  p->after);
        strbuf_char(b, '\n');
    }
    for (size_t i = 0; i < r->n_conflicts; i++) {
        add_shown(b, "  conflicts with ", r->conflicts[i]);
        strbuf_char(b, '\n');
    }
}

void audit_report_into(const audit_answer *r, const audit_report_context *c, strbuf *b)
{
    add_shown(b, "", c->log);
    strbuf_printf(b, ": %s: %s", r->level ? r->level : "", audit_verdict_name(r->verdict));
    if (r->verdict == AUDIT_VIOLATED && r->txn && !r->engine)
        strbuf_printf(b, " (%s)", r->semantic ? "semantic" : "isolation");
    add_shown(b, ": ", r->reason);
    if (r->verdict == AUDIT_UNDECIDED && !r->txn && r->line)
        strbuf_printf(b, " (line %llu, column %llu)", (unsigned long long)r->line,
                      (unsigned long long)r->column);
    strbuf_char(b, '\n');
    if (r->verdict == AUDIT_HOLDS && r->first_rows)
        strbuf_str(b, "  with rows before the log that fit its answers\n");
    if (r->verdict == AUDIT_HOLDS || !r->txn) return;
    place_text(r, b);
    if (r->first_rows) strbuf_str(b, "  whatever the rows were that the answers do not show\n");
    if (r->verdict == AUDIT_VIOLATED)
        strbuf_str(b, r->all_orders     ? "  in every order of the transactions\n"
                      : r->timed_orders ? "  in every order that the times of the commits allow\n"
                      : r->replayed_writes
                          ? "  in the order of the log, if transactions wrote what the replay "
                            "computes\n"
                          : "  in the order of the log\n");
    if (r->verdict == AUDIT_VIOLATED && r->traced)
        strbuf_str(b, "  if every session that writes to these tables was traced\n");
    if (c->shrunk) shrunk_text(r, c, b);
}

int audit_report_put(audit_renderer render, const audit_answer *r, const audit_report_context *c,
                     void (*put)(void *to, const char *bytes, size_t n), void *to)
{
    guard g;
    mem m;
    guard_init(&g);
    mem_init(&m, NULL, NULL, &g);
    if (guard_armed(&g)) {
        mem_free_all(&m);
        return g.code;
    }
    strbuf b;
    strbuf_init(&b, &m);
    render(r, c, &b);
    put(to, b.at, b.n); /* returns before anything can fail */
    mem_free_all(&m);
    return 0;
}
