/*
 * shown_txns.c - the transactions that an answer is about: their statements and what came back.
 *
 * An answer names transactions only.  Whoever reads a page or an issue wants to see what they did
 * without the log at hand.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit_internal.h"
#include "audit/match_results.h"

#define MOST_SHOWN 20u /* transactions */

typedef struct named {
    const char *id[MOST_SHOWN];
    size_t n;
} named;

static void add_name(named *to, const char *id)
{
    if (!id || !*id || to->n == MOST_SHOWN) return;
    for (size_t i = 0; i < to->n; i++)
        if (!strcmp(to->id[i], id)) return;
    to->id[to->n++] = id;
}

static named names_of(const audit_answer *r)
{
    named all = {.n = 0};
    assert(r->verdict != AUDIT_HOLDS || !r->n_cycle);
    for (size_t i = 0; i < r->n_conflicts; i++) add_name(&all, r->conflicts[i]);
    for (size_t i = 0; i < r->n_possible; i++) add_name(&all, r->possible[i].after);
    for (size_t i = 0; i < r->n_cycle; i++) add_name(&all, r->cycle[i].from);
    if (all.n == MOST_SHOWN) all.n--; /* the transaction itself is never left out */
    add_name(&all, r->txn);
    return all;
}

static const char *observed_text(audit *a, strbuf *b, const log_stmt *s)
{
    b->n = 0;
    match_show_observed(s, b);
    return arena_text(&a->log.kept, b->n ? b->at : "", b->n);
}

/* With the values of its parameters, if it has any. */
static const char *statement_text(audit *a, strbuf *b, const log_stmt *s)
{
    const char *sql = a->log.texts.at[s->text].at;
    if (!s->n_params) return sql;
    b->n = 0;
    strbuf_str(b, sql);
    for (uint32_t i = 0; i < s->n_params; i++) {
        const cell *c = &s->params[i];
        strbuf_printf(b, "%s$%u = ", i ? ", " : " (", (unsigned)i + 1);
        if (c->kind == CELL_NULL)
            strbuf_str(b, "null");
        else
            strbuf_add(b, c->s, c->n);
    }
    strbuf_char(b, ')');
    return arena_text(&a->log.kept, b->at, b->n);
}

static void show_txn(audit *a, strbuf *b, const log_txn *t, audit_shown_txn *out)
{
    assert(t->session < a->log.sessions.n);
    audit_shown_stmt *s = arena_array(&a->log.kept, audit_shown_stmt, t->n_stmts + 1);
    for (uint32_t i = 0; i < t->n_stmts; i++) {
        s[i].sql = statement_text(a, b, &t->stmts[i]);
        s[i].observed = observed_text(a, b, &t->stmts[i]);
    }
    *out = (audit_shown_txn){
        .id = t->id, .session = a->log.sessions.at[t->session], .n = t->n_stmts, .stmts = s};
}

int audit_show(audit *a, const audit_answer *r, const audit_shown_txn **at, size_t *n)
{
    *at = NULL;
    *n = 0;
    if (!a || !a->read) return GUARD_INVAL;
    named all = names_of(r);
    if (!all.n) return 0;
    audit_limits(a, &(audit_options){.memory = 0});
    if (guard_armed(&a->guard)) {
        snprintf(a->text, sizeof a->text, "%s", a->guard.text);
        a->line = a->column = 0;
        return a->guard.code;
    }
    strbuf b;
    strbuf_init(&b, &a->kept);
    audit_shown_txn *out = arena_array(&a->log.kept, audit_shown_txn, all.n);
    size_t n_found = 0;
    for (size_t i = 0; i < a->log.txns.n && n_found < all.n; i++)
        for (size_t k = 0; k < all.n; k++)
            if (!strcmp(all.id[k], a->log.txns.at[i].id)) {
                show_txn(a, &b, &a->log.txns.at[i], &out[n_found++]);
                break;
            }
    assert(n_found <= all.n);
    strbuf_free(&b);
    *at = out;
    *n = n_found;
    return 0;
}
