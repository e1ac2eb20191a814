/*
 * insert_ids.c - see insert_ids.h.
 *
 * Nothing is executed to learn them: the words of the statements tell.  A value that was given to
 * a statement which draws none, since it names one or inserts nothing, is forgotten by the engine
 * with the end of that statement.
 */
#include "reference/insert_ids.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "reference/row_choice.h"

static bool begins_with(const log_text *t, const char *first, const char *second)
{
    char word[STATEMENT_WORD];
    word_walk w = {t->at, t->at + t->n};
    if (!next_statement_word(&w, word) || strcmp(word, first) != 0) return false;
    return !second || (next_statement_word(&w, word) && !strcmp(word, second));
}

/* REPLACE and LOAD may draw, too, and are never bound. */
static bool inserts(const log_text *t)
{
    return begins_with(t, "insert", NULL) || begins_with(t, "replace", NULL);
}

/* SELECT LAST_INSERT_ID(), with nothing else in it. */
static bool asks_for_last(const log_text *t)
{
    char word[STATEMENT_WORD];
    word_walk w = {t->at, t->at + t->n};
    if (!next_statement_word(&w, word) || strcmp(word, "select") != 0) return false;
    if (!next_statement_word(&w, word) || strcmp(word, "last_insert_id") != 0) return false;
    return !next_statement_word(&w, word) && !memchr(t->at, ',', t->n);
}

/* ---- the column ------------------------------------------------------------------------------ */

/* The column of CREATE TABLE that has AUTO_INCREMENT: the first word after the last comma or
   parenthesis before it. */
static bool auto_column(const log_text *t, char *column)
{
    char word[STATEMENT_WORD];
    *column = 0;
    if (!begins_with(t, "create", NULL)) return false;
    bool first = false;
    for (word_walk w = {t->at, t->at + t->n};;) {
        for (; w.at < w.end && strchr(" \t\r\n`\"(),=';", *w.at) && *w.at; w.at++)
            if (*w.at == '(' || *w.at == ',') first = true;
        if (!next_statement_word(&w, word)) return false;
        if (!strcmp(word, "auto_increment")) return *column != 0;
        if (first && !(word[0] >= '0' && word[0] <= '9')) memcpy(column, word, sizeof word);
        first = false;
    }
}

/* Is it the drawing column of some table of the setup? */
static bool is_auto_column(const reference_engine *e, const char *name)
{
    const sql_log *l = e->plan->log;
    char column[STATEMENT_WORD];
    size_t n;
    const log_stmt *setup = engine_setup(e, &n);
    for (size_t i = 0; i < n; i++)
        if (auto_column(&l->texts.at[setup[i].text], column) && !strcmp(column, name)) return true;
    return false;
}

/* Where the column stands in a plain list of names after RETURNING; UINT32_MAX: nowhere. */
static uint32_t returned_column(const reference_engine *e, const log_text *t)
{
    char word[STATEMENT_WORD];
    word_walk w = {t->at, t->at + t->n};
    do
        if (!next_statement_word(&w, word)) return UINT32_MAX;
    while (strcmp(word, "returning") != 0);
    for (const char *p = w.at; p < w.end; p++)
        if (*p == '(' || *p == '*' || *p == '\'' || *p == '.') return UINT32_MAX;
    for (uint32_t i = 0; next_statement_word(&w, word); i++)
        if (is_auto_column(e, word)) return i;
    return UINT32_MAX;
}

/* ---- the log --------------------------------------------------------------------------------- */

static const char *whole_number(const cell *c)
{
    if ((c->kind != CELL_NUMBER && c->kind != CELL_TEXT) || !c->n || c->n > 19) return NULL;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->s[i] < '0' || c->s[i] > '9') return NULL;
    return c->s[0] == '0' ? NULL : c->s;
}

/* The value that the log shows for an INSERT; NULL: none. */
static const char *shown_id(const reference_engine *e, const log_txn *t, uint32_t stmt)
{
    const sql_log *l = e->plan->log;
    const log_stmt *x = &t->stmts[stmt];
    if (x->insert_id) { /* the protocol tells it */
        char *number = mem_get(e->mem, 24);
        snprintf(number, 24, "%llu", (unsigned long long)x->insert_id);
        return number;
    }
    if (x->has_rows && x->n_rows) {
        uint32_t at = returned_column(e, &l->texts.at[x->text]);
        if (at < x->n_cols) return whole_number(&x->cells[at]);
    }
    for (uint32_t i = stmt + 1; i < t->n_stmts; i++) {
        const log_stmt *y = &t->stmts[i];
        const log_text *text = &l->texts.at[y->text];
        if (inserts(text)) return NULL;
        if (asks_for_last(text))
            return y->has_rows && y->n_rows == 1 && y->n_cols == 1 ? whole_number(y->cells) : NULL;
    }
    return NULL;
}

/* Does the engine choose nothing in this text but such values, and what shows the last of them? */
static bool draws_ids_only(const log_text *t)
{
    char word[STATEMENT_WORD], one[STATEMENT_WORD + 2];
    for (word_walk w = {t->at, t->at + t->n}; next_statement_word(&w, word);) {
        if (!strcmp(word, "auto_increment") || !strcmp(word, "last_insert_id")) continue;
        int n = snprintf(one, sizeof one, "%s(", word);
        if (words_of_statement(one, (size_t)n).draws) return false;
    }
    return true;
}

/* The first of several rows tells nothing for certain of the others. */
static bool puts_one_row(const log_stmt *x)
{
    return x->has_rows ? x->n_rows == 1 : x->has_count && x->count == 1;
}

void insert_ids_observe(reference_engine *e)
{
    const sql_log *l = e->plan->log;
    bool bound = !e->has_routines;
    if (e->kind != ENGINE_MARIADB || !e->draws) return;
    e->insert_ids = mem_array0(e->mem, const char **, l->txns.n + 1);
    for (uint32_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const log_text *text = &l->texts.at[t->stmts[k].text];
            if (begins_with(text, "load", NULL) || begins_with(text, "with", NULL)) bound = false;
            if (!inserts(text) || t->stmts[k].has_error) continue;
            const char *id = shown_id(e, t, k);
            bound = bound && id && puts_one_row(&t->stmts[k]);
            if (!id) continue;
            if (!e->insert_ids[i]) e->insert_ids[i] = mem_array0(e->mem, const char *, t->n_stmts);
            e->insert_ids[i][k] = id;
        }
    }
    for (size_t i = 0; i < l->texts.n && bound; i++) bound = draws_ids_only(&l->texts.at[i]);
    if (bound) e->draws = NULL;
}

void insert_id_give(reference_engine *e, engine_conn *c, uint32_t txn, uint32_t stmt)
{
    char sql[64];
    const char *id = e->insert_ids && e->insert_ids[txn] ? e->insert_ids[txn][stmt] : NULL;
    if (!id) return;
    snprintf(sql, sizeof sql, "SET insert_id = %.20s", id);
    if (!engine_does(e, c, sql)) engine_lost(e, c);
}
