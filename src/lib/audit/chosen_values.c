/*
 * chosen_values.c - binds what the database chose to what was observed of it.
 *
 * A stored value that nobody has seen yet is a hole (sql/table_store.h).  It is bound only where
 * one row of the answer alone can be the row that holds it: a wrong guess would make a later right
 * answer look wrong.  Draws of sequences are collected while the log is replayed, once for each
 * statement, and compared at the end.
 */
#include "audit/chosen_values.h"

#include <assert.h>

#include "base/sort.h"

#define MOST_ROWS_BOUND 300u /* each row of a result is compared with each row of the answer */

static bool is_open(const store *s, value v)
{
    return vs_known(s, v).open == OPEN_FIXED;
}

static bool any_open(const store *s, const sql_result *r)
{
    for (uint32_t i = 0; s->holes && i < r->n; i++)
        for (uint32_t c = 0; c < r->n_cols; c++)
            if (is_open(s, r->rows[i][c])) return true;
    return false;
}

/* The one row of the answer that row i can be, if all that it can be show the same of its holes. */
static const cell *shown_as(engine *e, const sql_result *r, const log_stmt *s, uint32_t i)
{
    const cell *found = NULL;
    assert(i < r->n && s->n_cols == r->n_cols);
    for (uint32_t k = 0; k < s->n_rows; k++) {
        const cell *row = &s->cells[(size_t)k * s->n_cols];
        bool fits = true, same = true;
        for (uint32_t c = 0; c < r->n_cols && fits; c++) {
            fits = match_cell(&e->x, r->types[c], vs_known(&e->store, r->rows[i][c]), &row[c]);
            if (found && is_open(&e->store, r->rows[i][c]))
                same &= found[c].n == row[c].n && !memcmp(found[c].s, row[c].s, row[c].n);
        }
        if (fits && found && !same) return NULL;
        if (fits) found = row;
    }
    return found;
}

static bool bind_row(engine *e, const sql_result *r, uint32_t i, const cell *row)
{
    for (uint32_t c = 0; c < r->n_cols; c++) {
        value v = r->rows[i][c];
        if (!is_open(&e->store, v)) continue;
        if (!v.i || e->store.hole.at[v.i - 1].t != r->types[c]) return false;
        value seen = value_parse(&e->x.c, type_plain(r->types[c]), row[c].s, row[c].n);
        if (!match_cell(&e->x, r->types[c], seen, &row[c])) return false; /* written otherwise */
        vs_bind(&e->store, v, seen);
        e->x.bound = true;
    }
    return true;
}

bind_result chosen_bind(engine *e, sql_result *r, const log_stmt *s)
{
    if (!r->has_rows || !s->has_rows || !any_open(&e->store, r)) return BIND_NONE;
    if (r->has_limit || r->offset || r->n > MOST_ROWS_BOUND || s->n_cols != r->n_cols)
        return BIND_UNCLEAR;
    assert(s->n_rows == r->n);
    const cell **as = arena_array(&e->x.work, const cell *, r->n + 1);
    for (uint32_t i = 0; i < r->n; i++) {
        as[i] = shown_as(e, r, s, i);
        if (!as[i]) return BIND_UNCLEAR;
    }
    for (uint32_t i = 0; i < r->n; i++)
        if (!bind_row(e, r, i, as[i])) return BIND_UNCLEAR;
    /* a value that stands in two places must be the same in both */
    for (uint32_t i = 0; i < r->n; i++) {
        value *row = arena_array(&e->x.work, value, r->n_cols + 1);
        for (uint32_t c = 0; c < r->n_cols; c++) row[c] = vs_known(&e->store, r->rows[i][c]);
        r->rows[i] = row;
    }
    return match_result(&e->x, r, s) ? BIND_DONE : BIND_DIFFERENT;
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* Numbers of the store are those of one replay; a name has one number in all. */
static uint32_t sequence_number(engine *e, uint32_t in_store)
{
    assert(in_store && in_store <= e->store.sequences.n);
    const char *name = e->store.sequences.at[in_store - 1];
    for (size_t i = 0; i < e->sequences.n; i++)
        if (!strcmp(e->sequences.at[i], name)) return (uint32_t)i;
    const char *kept = arena_text(&e->kept, name, strlen(name));
    vec_push(e->mem, &e->sequences, kept);
    return (uint32_t)e->sequences.n - 1;
}

void chosen_note(engine *e, const sql_result *r, const log_stmt *s, uint32_t stmt)
{
    uint32_t txn = e->run.trial->txn;
    assert(txn < e->log->txns.n && stmt < e->log->txns.at[txn].n_stmts);
    if (!e->plans.sequences_rise || e->drawn_upto[txn] > stmt) return;
    for (uint32_t c = 0; s->has_rows && r->has_rows && r->n && c < r->n_cols; c++) {
        uint32_t sequence = r->rows[0][c].open == OPEN_FREE ? r->rows[0][c].n : 0;
        for (uint32_t i = 1; i < r->n; i++)
            if (r->rows[i][c].open != OPEN_FREE || r->rows[i][c].n != sequence) sequence = 0;
        for (uint32_t i = 0; sequence && i < s->n_rows; i++) {
            const cell *at = &s->cells[(size_t)i * s->n_cols + c];
            value v = value_parse(&e->x.c, type_plain(T_INT8), at->s, at->n);
            vec_push(e->mem, &e->drawn, ((draw){v.i, sequence_number(e, sequence), txn, stmt, i}));
        }
    }
    for (size_t i = 0; i < e->run.drawn.n; i++) {
        draw d = e->run.drawn.at[i];
        d.sequence = sequence_number(e, d.sequence);
        vec_push(e->mem, &e->drawn, d);
    }
    e->drawn_upto[txn] = stmt + 1;
}

bool chosen_twice(engine *e, draw *first, draw *second)
{
    size_t n = e->drawn.n;
    if (n < 2 || n > UINT32_MAX - 8) return false;
    uint64_t *key = mem_array(e->mem, uint64_t, n + 1);
    for (size_t i = 0; i < n; i++) key[i] = sort_key(e->drawn.at[i].value);
    uint32_t *by = sort_by_key(e->mem, key, (uint32_t)n);
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) {
        const draw *a = &e->drawn.at[by[i]];
        for (size_t k = i + 1; k < n && !found; k++) {
            const draw *b = &e->drawn.at[by[k]];
            if (b->value != a->value) break;
            found = a->sequence == b->sequence;
            if (found) *first = *a, *second = *b;
        }
    }
    mem_put(e->mem, key);
    mem_put(e->mem, by);
    return found;
}
