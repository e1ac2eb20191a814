/*
 * compare_answers.c - cells, rows and errors of a real engine against those of a log.
 *
 * A number of the log must have the value, a string must be the text (doc/formats/sql-log.md).
 * Where texts differ for reasons that lie in settings, such as the zone of a time, or in the last
 * digits of a sum of floating-point numbers, the answer is "unsure": no verdict rests on it.
 */
#include "reference/compare_answers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MATCHED_ROWS = 3000, SHOWN_ROWS = 5, SHOWN_TEXT = 60 };

/* ---- cells ----------------------------------------------------------------------------------- */

typedef struct decimal { /* sign, digits without leading or trailing zeros, power of ten */
    bool negative;
    const char *digits;
    size_t n;
    long exponent; /* of the digit before the first: 0.digits * 10^exponent */
} decimal;

/* Digits may hold one point, which readers skip. */
static bool read_decimal(const char *s, size_t n, decimal *d)
{
    size_t i = 0, digits = 0, after = 0;
    bool point = false, any = false;
    memset(d, 0, sizeof *d);
    if (i < n && (s[i] == '-' || s[i] == '+')) d->negative = s[i++] == '-';
    for (; i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] == '.' && !point)); i++) {
        if (s[i] == '.') {
            point = true;
            continue;
        }
        any = true;
        if (s[i] != '0' && !d->digits) d->digits = s + i;
        if (d->digits && s[i] != '0') d->n = (size_t)(s + i + 1 - d->digits);
        if (d->digits && !point) digits++;
        if (!d->digits && point) after++;
    }
    long e = 0;
    if (any && i < n && (s[i] == 'e' || s[i] == 'E')) {
        char *end, text[16];
        size_t k = n - i - 1 < sizeof text - 1 ? n - i - 1 : sizeof text - 1;
        memcpy(text, s + i + 1, k);
        text[k] = 0;
        e = strtol(text, &end, 10);
        if (end == text || *end || e > 100000 || e < -100000) return false;
        i = n;
    }
    d->exponent = (long)digits - (long)after + e;
    if (!d->digits) d->negative = false, d->exponent = 0;
    return any && i == n;
}

static char digit_at(const decimal *d, size_t *i)
{
    if (*i < d->n && d->digits[*i] == '.') ++*i;
    return *i < d->n ? d->digits[(*i)++] : 0;
}

static bool same_decimal(const decimal *a, const decimal *b)
{
    if (a->negative != b->negative || a->exponent != b->exponent) return false;
    for (size_t i = 0, k = 0;;) {
        char x = digit_at(a, &i), y = digit_at(b, &k);
        if (x != y) return false;
        if (!x) return true;
    }
}

/* Two texts that may be one moment in two zones, or one sum added up in two orders. */
static bool differ_by_settings(const char *a, size_t n, const char *b, size_t m)
{
    decimal x, y;
    if (read_decimal(a, n, &x) && read_decimal(b, m, &y)) {
        bool fraction =
            memchr(a, '.', n) || memchr(b, '.', m) || memchr(a, 'e', n) || memchr(b, 'e', m);
        double u = strtod(a, NULL), v = strtod(b, NULL);
        return fraction && fabs(u - v) <= 1e-9 * fmax(fabs(u), fabs(v));
    }
    bool zone = n > 12 && m > 12 && memchr(a, ':', n) && memchr(b, ':', m);
    return zone && (memchr(a + 11, '+', n - 11) || memchr(a + 11, '-', n - 11)) &&
           (memchr(b + 11, '+', m - 11) || memchr(b + 11, '-', m - 11));
}

agreement compare_cell(engine_kind engine, const cell *c, const db_session *s, const db_cell *d)
{
    bool null = d->at == UINT32_MAX;
    if (null || c->kind == CELL_NULL)
        return null == (c->kind == CELL_NULL) ? ANSWERS_AGREE : ANSWERS_DIFFER;
    const char *t = s->text.at + d->at;
    if (c->kind == CELL_TRUE || c->kind == CELL_FALSE) {
        char yes = c->kind == CELL_TRUE ? 't' : 'f', number = c->kind == CELL_TRUE ? '1' : '0';
        bool word = d->n && *t == yes && (d->n == 1 || d->n == c->n);
        return word || (d->n == 1 && *t == number) ? ANSWERS_AGREE : ANSWERS_DIFFER;
    }
    if (c->kind == CELL_TEXT && c->n == d->n && !memcmp(c->s, t, c->n)) return ANSWERS_AGREE;
    decimal x, y;
    bool by_value = c->kind == CELL_NUMBER || (engine != ENGINE_POSTGRES && d->kind == DB_NUMBER);
    if (by_value && read_decimal(c->s, c->n, &x) && read_decimal(t, d->n, &y) &&
        same_decimal(&x, &y))
        return ANSWERS_AGREE;
    /* SQLite and MariaDB have no truth values of their own */
    if (d->kind == DB_BOOL && c->kind == CELL_NUMBER && c->n == 1)
        return (*c->s == '1') == (*t == 't') ? ANSWERS_AGREE : ANSWERS_DIFFER;
    return differ_by_settings(c->s, c->n, t, d->n) ? ANSWERS_UNSURE : ANSWERS_DIFFER;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static agreement compare_row(engine_kind engine, const log_stmt *l, uint32_t i, const db_session *s,
                             uint32_t k)
{
    agreement r = ANSWERS_AGREE;
    for (uint32_t c = 0; c < l->n_cols && r != ANSWERS_DIFFER; c++) {
        agreement one = compare_cell(engine, &l->cells[(size_t)i * l->n_cols + c], s,
                                     &s->cells.at[(size_t)k * s->n_cols + c]);
        if (one != ANSWERS_AGREE) r = one;
    }
    return r;
}

static agreement compare_rows(engine_kind engine, const log_stmt *l, const db_session *s)
{
    if (!s->has_rows) return l->n_rows ? ANSWERS_DIFFER : ANSWERS_AGREE;
    if (l->n_rows != s->n_rows) return ANSWERS_DIFFER;
    if (!l->n_rows) return ANSWERS_AGREE;
    if (l->n_cols != s->n_cols) return ANSWERS_DIFFER;
    uint32_t i = 0;
    while (i < l->n_rows && compare_row(engine, l, i, s, i) == ANSWERS_AGREE) i++;
    if (i == l->n_rows) return ANSWERS_AGREE;
    if (l->n_rows > MATCHED_ROWS) return ANSWERS_UNSURE;
    bool *taken = mem_array0(s->mem, bool, s->n_rows + 1), unsure = false;
    agreement r = ANSWERS_AGREE;
    for (i = 0; i < l->n_rows && r == ANSWERS_AGREE; i++) {
        uint32_t k = 0;
        for (; k < s->n_rows; k++) {
            agreement one = taken[k] ? ANSWERS_DIFFER : compare_row(engine, l, i, s, k);
            unsure |= one == ANSWERS_UNSURE;
            if (one == ANSWERS_AGREE) break;
        }
        if (k == s->n_rows)
            r = ANSWERS_DIFFER;
        else
            taken[k] = true;
    }
    mem_put(s->mem, taken);
    return r == ANSWERS_DIFFER && unsure ? ANSWERS_UNSURE : r;
}

/* ---- errors and counts ----------------------------------------------------------------------- */

bool error_depends_on_time(const char *state)
{
    static const char *const states[] = {"23505", "23503", "23P01", "55P03", "40001",
                                         "40P01", "57014", "25P03", "HY000"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (!strncmp(state, states[i], 5)) return true;
    return false;
}

/* An error that the log does not have.  Only those that lie in the data are about the database in
   question; an unknown function, a missing extension or a full disk are about the reference. */
static agreement compare_failure(engine_kind engine, const db_session *s)
{
    static const char *const of_data[] = {"21", "22", "23", "27", "2F", "38", "39", "44", "P0"};
    if (!strcmp(s->state, "40001")) return ANSWERS_CONFLICT;
    /* 1020, of a row that was written after the snapshot */
    if (engine == ENGINE_MARIADB && !strncmp(s->error, "Record has changed", 18))
        return ANSWERS_CONFLICT;
    if (engine == ENGINE_MARIADB)
        return strcmp(s->state, "23000") ? ANSWERS_UNSURE : ANSWERS_DIFFER;
    for (size_t i = 0; i < sizeof of_data / sizeof *of_data; i++)
        if (!strncmp(s->state, of_data[i], 2)) return ANSWERS_DIFFER;
    return ANSWERS_UNSURE;
}

agreement compare_answer(engine_kind engine, const log_stmt *l, const db_session *s, bool failed)
{
    if (l->has_error) {
        bool same = failed && (engine != ENGINE_POSTGRES || !strncmp(s->state, l->error, 5));
        /* errors have many names there, but a row that breaks a rule is no error of the text */
        if (engine == ENGINE_MARIADB && !strncmp(l->error, "23", 2) &&
            strncmp(s->state, "23", 2) != 0)
            same = false;
        if (same) return ANSWERS_AGREE;
        return error_depends_on_time(l->error) ? ANSWERS_UNSURE
               : failed                        ? compare_failure(engine, s)
                                               : ANSWERS_DIFFER;
    }
    if (failed) return compare_failure(engine, s);
    agreement r = l->has_rows ? compare_rows(engine, l, s) : ANSWERS_AGREE;
    if (r != ANSWERS_AGREE || !l->has_count || l->count == s->affected) return r;
    /* clients of MariaDB choose whether rows that stay as they are count, and triggers and
       cascades count in SQLite */
    return engine == ENGINE_POSTGRES || s->has_rows ? ANSWERS_DIFFER : ANSWERS_UNSURE;
}

/* ---- for reports ----------------------------------------------------------------------------- */

static void show_count(strbuf *out, uint64_t n, const char *what)
{
    strbuf_printf(out, "%llu row%s%s", (unsigned long long)n, n == 1 ? "" : "s", what);
}

void show_engine_answer(const db_session *s, bool failed, strbuf *out)
{
    if (failed) {
        strbuf_printf(out, "error %s: ", s->state);
        strbuf_visible(out, s->error, strlen(s->error));
        return;
    }
    if (!s->has_rows) {
        show_count(out, s->affected, " changed");
        return;
    }
    show_count(out, s->n_rows, "");
    for (uint32_t i = 0; i < s->n_rows && i < SHOWN_ROWS; i++) {
        strbuf_str(out, i ? ", (" : ": (");
        for (uint32_t c = 0; c < s->n_cols; c++) {
            const db_cell *d = &s->cells.at[(size_t)i * s->n_cols + c];
            bool null = d->at == UINT32_MAX;
            if (c) strbuf_str(out, ", ");
            strbuf_visible(out, null ? "null" : s->text.at + d->at,
                           null                ? 4
                           : d->n < SHOWN_TEXT ? d->n
                                               : SHOWN_TEXT);
        }
        strbuf_char(out, ')');
    }
    if (s->n_rows > SHOWN_ROWS) strbuf_str(out, ", ...");
}

void show_logged_answer(const log_stmt *l, strbuf *out)
{
    if (l->has_error) {
        strbuf_str(out, "error ");
        strbuf_visible(out, l->error, 5);
        return;
    }
    if (!l->has_rows) {
        if (l->has_count)
            show_count(out, l->count, " changed");
        else
            strbuf_str(out, "success");
        return;
    }
    show_count(out, l->n_rows, "");
    for (uint32_t i = 0; i < l->n_rows && i < SHOWN_ROWS; i++) {
        strbuf_str(out, i ? ", (" : ": (");
        for (uint32_t c = 0; c < l->n_cols; c++) {
            const cell *v = &l->cells[(size_t)i * l->n_cols + c];
            bool null = v->kind == CELL_NULL;
            if (c) strbuf_str(out, ", ");
            strbuf_visible(out, null ? "null" : v->s,
                           null                ? 4
                           : v->n < SHOWN_TEXT ? v->n
                                               : SHOWN_TEXT);
        }
        strbuf_char(out, ')');
    }
    if (l->n_rows > SHOWN_ROWS) strbuf_str(out, ", ...");
}
