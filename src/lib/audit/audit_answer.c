/*
 * audit_answer.c - what a search found, put into an answer: one sentence, and the members it rests
 * on.
 *
 * Nothing is decided here.  All texts live in the engine's arena, as long as the decision does; how
 * an answer looks on paper or as JSON is for whoever prints it.
 */
#include "audit/audit_answer.h"

#include <assert.h>
#include <stdio.h>

#include "audit/txn_order.h"

#define MAX_CYCLE_TEXT 8u /* edges of a cycle that the sentence names; the answer has all of them */

static const char *sentence(engine *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *sentence(engine *e, const char *format, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return arena_text(&e->kept, text, strlen(text));
}

void answer_failure(engine *e, audit_answer *a)
{
    failure *f = &e->fail;
    if (!f->any) return;
    const log_txn *t = &e->log->txns.at[f->txn];
    a->txn = t->id;
    a->statement = f->stmt < t->n_stmts ? f->stmt + 1 : 0;
    a->line = t->line;
    a->semantic = f->semantic;
    a->possible = f->possible.at;
    a->n_possible = f->possible.n;
    const char **c = arena_array(&e->kept, const char *, f->conflicts.n + 1);
    for (size_t i = 0; i < f->conflicts.n; i++) {
        uint32_t s = f->conflicts.at[i];
        c[i] = s && s <= f->order.n ? f->order.at[s - 1] : "";
    }
    a->conflicts = c;
    a->n_conflicts = f->conflicts.n;
    a->observed = "commit";
    if (f->stmt >= t->n_stmts) return;
    const log_stmt *s = &t->stmts[f->stmt];
    a->line = s->line;
    a->column = s->column;
    a->sql = e->log->texts.at[s->text].at;
    strbuf b;
    strbuf_init(&b, e->mem);
    match_show_observed(s, &b);
    a->observed = sentence(e, "%s", strbuf_cstr(&b));
    strbuf_free(&b);
}

void answer_holds(engine *e, audit_answer *a)
{
    assert(e->order.n && !a->n_cycle);
    const char **ids = arena_array(&e->kept, const char *, e->order.n + 1);
    for (uint32_t i = 0; i < e->order.n; i++) ids[i] = e->log->txns.at[e->order.at[i]].id;
    a->order = ids;
    a->n_order = e->order.n;
    a->read = e->order.first_read;
    a->verdict = AUDIT_HOLDS;
    a->reason = a->other_order ? "the answers are explained, in another order than the log's"
                               : "the answers are explained in the log's order";
    if (e->catalog_queries)
        a->reason = sentence(e, "%s (%llu queries of system catalogs are not checked)", a->reason,
                             (unsigned long long)e->catalog_queries);
    if (!e->unchecked) return;
    a->verdict = AUDIT_UNDECIDED;
    a->reason = sentence(e, "no contradiction, but %llu statements have unknown effects or answers",
                         (unsigned long long)e->unchecked);
}

/* "t1 before t2 (rw accounts 1), t2 before t1 (...)" */
static const char *cycle_text(engine *e, const audit_answer *a)
{
    assert(a->n_cycle && a->cycle);
    strbuf b;
    strbuf_init(&b, e->mem);
    strbuf_str(&b, "no serial order: ");
    for (size_t i = 0; i < a->n_cycle && i < MAX_CYCLE_TEXT; i++) {
        const audit_edge *w = &a->cycle[i];
        strbuf_printf(&b, "%s%s before %s (%s%s%s)", i ? ", " : "", w->from, w->to, w->kind,
                      w->row ? " " : "", w->row ? w->row : "");
    }
    if (a->n_cycle > MAX_CYCLE_TEXT) strbuf_str(&b, ", ...");
    const char *text = arena_text(&e->kept, strbuf_cstr(&b), strlen(strbuf_cstr(&b)));
    strbuf_free(&b);
    return text;
}

/* A unique error that no serial order gives. */
static bool is_unique_error(const engine *e)
{
    const failure *f = &e->fail;
    const log_txn *t = &e->log->txns.at[f->txn];
    if (e->level.mode != MODE_LATEST || f->stmt >= t->n_stmts) return false;
    if (t->status == LOG_ABORTED) return false; /* of which no state gives it */
    const log_stmt *s = &t->stmts[f->stmt];
    return s->has_error && !memcmp(s->error, "23505", 5);
}

void answer_violated(engine *e, audit_answer *a)
{
    const failure *f = &e->fail;
    a->verdict = AUDIT_VIOLATED;
    answer_failure(e, a);
    if (a->n_cycle)
        a->reason = cycle_text(e, a);
    else if (!f->any)
        a->reason = "no order of the transactions agrees with real time";
    else if (f->why == RUN_CONFLICT)
        a->reason = sentence(
            e, "transaction %s must have failed: it writes a row that %s wrote after its snapshot",
            a->txn, a->n_conflicts ? a->conflicts[0] : "another one");
    else if (f->not_after)
        a->reason = sentence(e,
                             "transaction %s saw an older state than %s, whose snapshot had been "
                             "answered before %s began",
                             a->txn, e->log->txns.at[f->not_after - 1].id, a->txn);
    else if (!a->statement)
        a->reason = sentence(e, "transaction %s cannot have committed", a->txn);
    else if (a->repeated)
        a->reason = sentence(
            e, "statement %u of transaction %s got a value that sequence %s had given to %s",
            (unsigned)a->statement, a->txn, a->repeated, a->repeated_by);
    else if (is_unique_error(e))
        a->reason = sentence(
            e,
            "statement %u of transaction %s cannot have failed like this in any serial order; "
            "PostgreSQL's manual documents such unique errors of overlapping transactions at "
            "SERIALIZABLE, and --unique-errors allow accepts them",
            (unsigned)a->statement, a->txn);
    else
        a->reason = sentence(e, "statement %u of transaction %s cannot have returned this answer",
                             (unsigned)a->statement, a->txn);
}

void answer_undecided(engine *e, audit_answer *a, const char *why)
{
    assert(why && *why);
    a->verdict = AUDIT_UNDECIDED;
    answer_failure(e, a);
    a->reason = why;
}

void answer_refused(engine *e, audit_answer *a)
{
    const failure *f = &e->fail;
    answer_failure(e, a);
    a->verdict = AUDIT_UNDECIDED;
    a->reason = sentence(e, "not understood: %s", f->text ? f->text : "a statement");
}

void answer_warnings(engine *e, audit_answer *a, uint32_t unknown)
{
    const char **w = arena_array(&e->kept, const char *, 7);
    size_t n = 0;
    if (unknown) w[n++] = "unknown-outcomes";
    if (log_cut_off(e->log)) w[n++] = "cut-off";
    if (log_missing(e->log)) w[n++] = "lost-lines";
    bool timed = true;
    for (uint32_t i = 0; timed && i < e->order.n; i++)
        timed = times_of(e, &e->log->txns.at[e->order.at[i]]).known;
    if (e->level.strict && !timed) w[n++] = "no-times";
    if (e->unchecked) w[n++] = "unchecked-statements";
    if (e->catalog_queries) w[n++] = "catalog-queries";
    a->warnings = w;
    a->n_warnings = n;
    assert(n <= 7);
}

void answer_open_choices(engine *e, audit_answer *a)
{
    if (a->verdict != AUDIT_UNDECIDED || !e->symbolic_why) return;
    a->reason = sentence(e, "%s (choices left open: %s)", a->reason, e->symbolic_why);
}
