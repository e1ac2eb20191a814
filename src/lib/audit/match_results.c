/*
 * match_results.c - compares a result of the interpreter with an answer of the log.
 *
 * Rows that may come in any order are matched by hash: each row of the answer takes one of the
 * rows that are left.  Equal cells and values have equal hashes, in spite of the several ways to
 * write a number.  A value that a sequence or clock gave matches any cell but null, so rows with
 * such values share one bucket.  The second half shows both sides in a report.
 */
#include "audit/match_results.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "sql/sql_array.h"
#include "sql/sql_text.h"

/* How a time with a zone is shown depends on the session's zone: the instant counts. */
static bool same_instant(value v, const cell *c)
{
    int64_t seen;
    return value_instant(c->s, c->n, &seen) && seen == v.i;
}

/* Any text that reads as the number: extra_float_digits chooses how many digits are shown, of which
   `exact` wants all. */
static bool same_float(type_id t, value v, const cell *c, bool exact)
{
    char text[64], *end;
    double is = value_double(v);
    if (c->n >= sizeof text || !c->n) return false;
    memcpy(text, c->s, c->n);
    text[c->n] = 0;
    double seen = t == T_FLOAT4 ? (double)strtof(text, &end) : strtod(text, &end);
    if (*end) return false;
    if (seen == is || (seen != seen && is != is)) return true;
    if (exact) return false;
    char shorter[40]; /* extra_float_digits 0 */
    snprintf(shorter, sizeof shorter, "%.*g", t == T_FLOAT4 ? 6 : 15, is);
    return strtod(text, NULL) == strtod(shorter, NULL);
}

/* Items whose text depends on settings of the session are compared one by one. */
static bool loose_items(type_id t)
{
    return type_is_array(t) && (type_is_float(type_element(t)) || type_element(t) == T_STAMPTZ);
}

static bool same_items(sql_exec *x, type_id of, value v, const cell *c)
{
    const char *at = c->s, *end = c->s + c->n;
    value item, seen;
    array_walk w = array_begin_walk(of, v);
    if (!c->n || *at != '{') return false;
    array_begin(x, -1, &at, end);
    while (array_item(x, -1, &at, end, &seen)) {
        if (!array_next(&w, &item) || item.null != seen.null) return false;
        cell one = {CELL_TEXT, seen.n, seen.s};
        if (!seen.null &&
            !(of == T_STAMPTZ ? same_instant(item, &one) : same_float(of, item, &one, false)))
            return false;
    }
    return !array_next(&w, &item);
}

static bool text_matches(sql_exec *x, type_id t, value v, const cell *c)
{
    assert(c->kind == CELL_TEXT && !v.null && !v.open);
    if (t == T_BOOL) {
        const char *word = v.i ? "true" : "false";
        return (c->n == 1 && c->s[0] == word[0]) ||
               (c->n == strlen(word) && !memcmp(c->s, word, c->n));
    }
    if (type_is_shown(t)) return v.n == c->n && !memcmp(v.s, c->s, c->n);
    if (t == T_STAMPTZ) return same_instant(v, c);
    if (type_is_float(t)) return same_float(t, v, c, false);
    if (loose_items(t)) return same_items(x, type_element(t), v, c);
    if (t == T_BYTEA && (c->n < 2 || c->s[0] != '\\' || c->s[1] != 'x'))
        sql_refuse(&x->c, -1, "a bytea of the answer that is not written with \\x");
    strbuf b;
    strbuf_init(&b, x->work.mem);
    value_write(&x->c, t, v, &b);
    bool same = b.n == c->n && (!b.n || !memcmp(b.at, c->s, b.n));
    strbuf_free(&b);
    return same;
}

static bool number_of(sql_exec *x, const cell *c, const num **d)
{
    return num_parse(&x->work, c->s, c->n, d) && *d;
}

bool match_cell(sql_exec *x, type_id t, value v, const cell *c)
{
    assert(c->kind <= CELL_TEXT && c->s);
    if (v.open) return c->kind != CELL_NULL; /* whatever the sequence or clock gave */
    if (v.null || c->kind == CELL_NULL) return v.null && c->kind == CELL_NULL;
    const num *d;
    switch ((cell_kind)c->kind) {
    case CELL_TEXT: return text_matches(x, t, v, c);
    case CELL_TRUE:
    case CELL_FALSE: return t == T_BOOL && v.i == (c->kind == CELL_TRUE);
    case CELL_NUMBER:
        if (type_is_float(t)) return same_float(t, v, c, false);
        if (!type_rank(t) || !number_of(x, c, &d)) return false;
        return !num_cmp(t == T_NUMERIC ? v.d : num_of(&x->work, v.i), d);
    case CELL_NULL: break;
    }
    return false;
}

static bool row_matches(sql_exec *x, const sql_result *r, const value *row, const cell *c)
{
    for (uint32_t i = 0; i < r->n_cols; i++)
        if (!match_cell(x, r->types[i], row[i], &c[i])) return false;
    return true;
}

/* The same, with every float in all its digits. */
static bool row_equals(sql_exec *x, const sql_result *r, const value *row, const cell *c)
{
    for (uint32_t i = 0; i < r->n_cols; i++) {
        bool number = type_is_float(r->types[i]) && !row[i].null && !row[i].open;
        if (number && c[i].kind != CELL_NULL && !same_float(r->types[i], row[i], &c[i], true))
            return false;
    }
    return row_matches(x, r, row, c);
}

static bool has_floats(const sql_result *r)
{
    for (uint32_t i = 0; i < r->n_cols; i++)
        if (type_is_float(r->types[i])) return true;
    return false;
}

/* Equal for floats that are shown alike with the fewest digits, however they are written. */
static uint64_t float_bucket(type_id t, double d)
{
    char text[40];
    if (d != d) return 1;
    int n = snprintf(text, sizeof text, "%.*g", t == T_FLOAT4 ? 6 : 15, d == 0 ? 0.0 : d);
    return hash_bytes(text, (size_t)n, 7);
}

static uint64_t float_cell_bucket(type_id t, const cell *c)
{
    char text[64];
    if (c->n >= sizeof text) return 0;
    memcpy(text, c->s, c->n);
    text[c->n] = 0;
    return float_bucket(t, t == T_FLOAT4 ? (double)strtof(text, NULL) : strtod(text, NULL));
}

/* Equal for a value and a cell that match. */
static uint64_t cell_hash(sql_exec *x, type_id t, const cell *c)
{
    if (c->kind == CELL_NULL) return value_hash(t, value_null());
    const num *d;
    if (t == T_JSON || t == T_JSONB) return hash_bytes(c->s, c->n, 7);
    if (type_is_shown(t)) return value_hash(t, value_text(c->s, c->n));
    if (t == T_BOOL) return value_hash(t, value_int(c->n && (c->s[0] == 't')));
    if (type_rank(t)) return number_of(x, c, &d) ? num_hash(d) : 0;
    if (type_is_float(t)) return float_cell_bucket(t, c);
    if (t == T_STAMPTZ || loose_items(t)) return 1; /* written in several ways: one bucket */
    return hash_bytes(c->s, c->n, 7);
}

static uint64_t value_bucket(sql_exec *x, type_id t, value v)
{
    if (v.null || v.open || t == T_BOOL || type_rank(t) || type_is_text(t) || t == T_UUID)
        return value_hash(t, v);
    if (type_is_float(t)) return float_bucket(t, value_double(v));
    if (t == T_STAMPTZ || loose_items(t)) return 1;
    strbuf b;
    strbuf_init(&b, x->work.mem);
    value_write(&x->c, t, v, &b);
    uint64_t h = hash_bytes(b.at, b.n, 7);
    strbuf_free(&b);
    return h;
}

/* Each of the k observed rows is another one of rows [from, to). */
static bool within(sql_exec *x, const sql_result *r, uint32_t from, uint32_t to, const cell *seen,
                   uint32_t k)
{
    uint32_t n = to - from, cap = 16;
    assert(from <= to && to <= r->n);
    while (cap < 2 * n) cap *= 2;
    bool floats = has_floats(r);
    bool any = false; /* a cell that matches everything has no hash */
    for (uint32_t i = from; i < to && !any; i++)
        for (uint32_t c = 0; c < r->n_cols; c++) any |= r->rows[i][c].open != OPEN_NOT;
    uint32_t *head = arena_array(&x->work, uint32_t, cap),
             *next = arena_array(&x->work, uint32_t, n + 1);
    memset(head, 0xff, cap * sizeof *head);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t h = 0;
        for (uint32_t c = 0; c < r->n_cols; c++)
            h = any ? 0 : hash_pair(h, value_bucket(x, r->types[c], r->rows[from + i][c]));
        next[i] = head[h & (cap - 1)];
        head[h & (cap - 1)] = i;
    }
    for (uint32_t i = 0; i < k; i++, seen += r->n_cols) {
        uint64_t h = 0;
        guard_tick(x->c.guard);
        for (uint32_t c = 0; c < r->n_cols; c++)
            h = any ? 0 : hash_pair(h, cell_hash(x, r->types[c], &seen[c]));
        uint32_t *p = &head[h & (cap - 1)];
        /* a float that is shown with fewer digits leaves the row that it is to another one */
        while (floats && *p != UINT32_MAX && !row_equals(x, r, r->rows[from + *p], seen))
            p = &next[*p];
        if (*p == UINT32_MAX) p = &head[h & (cap - 1)];
        while (*p != UINT32_MAX && !row_matches(x, r, r->rows[from + *p], seen)) p = &next[*p];
        if (*p == UINT32_MAX) return false;
        *p = next[*p];
    }
    return true;
}

static uint64_t shown_rows(const sql_result *r)
{
    uint64_t left = r->n > r->offset ? r->n - r->offset : 0;
    return r->has_limit && r->limit < left ? r->limit : left;
}

static bool rows_match(sql_exec *x, const sql_result *r, const log_stmt *s)
{
    if (s->n_rows != shown_rows(r)) return false;
    if (s->n_rows && s->n_cols != r->n_cols) return false;
    if (!r->tie) return within(x, r, 0, r->n, s->cells, s->n_rows);
    uint64_t at = r->offset, end = r->offset + s->n_rows;
    while (at < end) {
        uint32_t from = r->tie[at], to = from;
        while (to < r->n && r->tie[to] == from) to++;
        uint64_t stop = to < end ? to : end;
        assert(stop > at && to > from);
        const cell *seen = s->cells + (at - r->offset) * s->n_cols;
        if (!within(x, r, from, to, seen, (uint32_t)(stop - at))) return false;
        at = stop;
    }
    return true;
}

/* Of SKIP LOCKED: rows of the result, in its order as far as that has one, and no more than LIMIT
   allows; the rest were locked by others.  Rows that OFFSET passes over may be any. */
static bool some_rows_match(sql_exec *x, const sql_result *r, const log_stmt *s)
{
    if (s->n_rows && s->n_cols != r->n_cols) return false;
    assert(r->skips && !r->offset);
    if (s->n_rows > r->n || (r->has_limit && s->n_rows > r->limit)) return false;
    if (!r->tie) return within(x, r, 0, r->n, s->cells, s->n_rows);
    uint32_t at = 0;
    for (uint32_t from = 0, to; from < r->n; from = to) {
        uint32_t most = 0;
        to = from + 1;
        while (to < r->n && r->tie[to] == r->tie[from]) to++;
        /* rows of one rank stand together: as many as fit */
        while (at + most < s->n_rows && most < to - from &&
               within(x, r, from, to, s->cells + (size_t)at * s->n_cols, most + 1))
            most++;
        at += most;
    }
    return at == s->n_rows;
}

bool match_result(sql_exec *x, const sql_result *r, const log_stmt *s)
{
    assert(!s->has_rows || s->cells || !s->n_rows || !s->n_cols);
    if (s->has_error) return false;
    if (r->unseen) return true;
    if (r->skips) {
        uint64_t most = shown_rows(r);
        return s->has_rows ? some_rows_match(x, r, s) : !s->has_count || s->count <= most;
    }
    if (s->has_rows) {
        if (!r->has_rows) return s->n_rows == 0;
        if (!rows_match(x, r, s)) return false;
    }
    uint64_t count = r->has_rows && (r->has_limit || r->offset) ? shown_rows(r) : r->count;
    return !s->has_count || s->count == count;
}

/* ---- for reports ----------------------------------------------------------------------------- */

#define SHOWN 5

static void show_value(type_id t, value v, strbuf *out)
{
    if (v.null || v.open) {
        strbuf_str(out, v.open ? "?" : "null");
        return;
    }
    bool quoted = type_is_bytes(t) || type_is_moment(t) || t == T_TIME;
    if (quoted) strbuf_char(out, '\'');
    if (type_is_text(t) && v.n > 60) {
        strbuf_visible(out, v.s, 60);
        strbuf_str(out, "...");
    } else if (type_is_text(t)) {
        strbuf_visible(out, v.s, v.n);
    } else {
        value_print(t, v, out);
    }
    if (quoted) strbuf_char(out, '\'');
}

static void show_count(strbuf *out, uint64_t n, const char *what)
{
    strbuf_u64(out, n);
    strbuf_char(out, ' ');
    strbuf_str(out, what);
    if (n != 1) strbuf_char(out, 's');
}

void match_show(sql_exec *x, const sql_result *r, strbuf *out)
{
    (void)x;
    uint64_t n = shown_rows(r);
    if (!r->has_rows) {
        show_count(out, r->count, "row");
        strbuf_str(out, " changed");
        return;
    }
    show_count(out, n, "row");
    for (uint64_t i = 0; i < n && i < SHOWN; i++) {
        strbuf_str(out, i ? ", (" : ": (");
        for (uint32_t c = 0; c < r->n_cols; c++) {
            if (c) strbuf_str(out, ", ");
            show_value(r->types[c], r->rows[r->offset + i][c], out);
        }
        strbuf_char(out, ')');
    }
    if (n > SHOWN) strbuf_str(out, ", ...");
}

void match_show_observed(const log_stmt *s, strbuf *out)
{
    if (s->has_error) {
        strbuf_str(out, "error ");
        strbuf_visible(out, s->error, 5);
        return;
    }
    if (!s->has_rows) {
        if (s->has_count) show_count(out, s->count, "row");
        strbuf_str(out, s->has_count ? " changed" : "success");
        return;
    }
    show_count(out, s->n_rows, "row");
    for (uint32_t i = 0; i < s->n_rows && i < SHOWN; i++) {
        strbuf_str(out, i ? ", (" : ": (");
        for (uint32_t c = 0; c < s->n_cols; c++) {
            const cell *v = &s->cells[(size_t)i * s->n_cols + c];
            if (c) strbuf_str(out, ", ");
            if (v->kind == CELL_TEXT) strbuf_char(out, '\'');
            strbuf_visible(out, v->kind == CELL_NULL ? "null" : v->s,
                           v->kind == CELL_NULL ? 4
                           : v->n < 60          ? v->n
                                                : 60);
            if (v->kind == CELL_TEXT) strbuf_char(out, '\'');
        }
        strbuf_char(out, ')');
    }
    if (s->n_rows > SHOWN) strbuf_str(out, ", ...");
}
