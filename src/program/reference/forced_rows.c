/*
 * forced_rows.c - see forced_rows.h.
 *
 * Two shapes are understood: SELECT of plain columns ... LIMIT n, whose answer shows the rows, and
 * an UPDATE or DELETE ... WHERE c IN (SELECT c ... LIMIT n) RETURNING c, whose answer shows which
 * ones the query found.  The condition gets another part: the columns have these values.  LIMIT
 * stays where it is.  If fewer rows came than LIMIT allows, without SKIP LOCKED, then there was no
 * choice, and nothing is forced.  Anything beyond plain words is left as it is.
 */
#include "reference/forced_rows.h"

#include <string.h>

#include "reference/statement_words.h"

enum { COLUMNS = 64, ROWS = 50, NAME = 64 };

typedef struct span {
    const char *at, *end;
} span;

/* The clauses of a query, at its own depth. */
typedef struct query_parts {
    span columns;
    const char *where; /* after the word; NULL: there is none */
    const char *tail;  /* ORDER, LIMIT or FOR: where the conditions end */
    span limit;        /* its value */
    const char *end;
    bool ordered, skips;
} query_parts;

/* ---- words ----------------------------------------------------------------------------------- */

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* The end of a quoted text or name; p: none begins there.  A text with a backslash is not plain. */
static const char *after_quotes(const char *p, const char *end)
{
    const char *q = p + 1;
    if (*p != '\'' && *p != '"' && *p != '`') return p;
    while (q < end && *q != *p) q++;
    return q < end ? q + 1 : end;
}

static bool is_plain(log_text t)
{
    for (uint32_t i = 0; i < t.n; i++) {
        bool two = i + 1 < t.n;
        if (t.at[i] == '\\' || t.at[i] == '#' || t.at[i] == ';') return false;
        if (two && t.at[i] == '-' && t.at[i + 1] == '-') return false;
        if (two && t.at[i] == '/' && t.at[i + 1] == '*') return false;
        if (two && t.at[i] == '$' && t.at[i + 1] == '$') return false;
    }
    return true;
}

/* The next word at depth 0, in small letters; NULL: there is none before `end`. */
static const char *next_word(const char **at, const char *end, char *word)
{
    int depth = 0;
    for (const char *p = *at; p < end;) {
        const char *q = after_quotes(p, end);
        if (q == p && in_word(*p)) {
            while (q < end && in_word(*q)) q++;
            *at = q;
            if (depth == 0) {
                size_t n = (size_t)(q - p) < NAME - 1 ? (size_t)(q - p) : NAME - 1;
                for (size_t i = 0; i < n; i++)
                    word[i] = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] | 32) : p[i];
                word[n] = 0;
                return p;
            }
        } else if (q == p) {
            depth += (*p == '(') - (*p == ')');
            q++;
            if (depth < 0) return NULL;
        }
        p = q;
    }
    return NULL;
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(word, *list)) return true;
    return false;
}

static span trimmed(span s)
{
    while (s.at < s.end && strchr(" \t\r\n", *s.at)) s.at++;
    while (s.end > s.at && strchr(" \t\r\n", s.end[-1])) s.end--;
    return s;
}

/* ---- the query ------------------------------------------------------------------------------- */

/* SELECT columns FROM ... [WHERE ...] [ORDER BY ...] LIMIT n [FOR ...] up to `end`. */
static bool read_query(const char *p, const char *end, query_parts *q)
{
    static const char *const never[] = {"distinct",
                                        "all",
                                        "group",
                                        "having",
                                        "union",
                                        "intersect",
                                        "except",
                                        "window",
                                        "offset",
                                        "fetch",
                                        "into",
                                        "values",
                                        "procedure",
                                        "with",
                                        "rollup",
                                        "straight_join",
                                        "sql_calc_found_rows",
                                        NULL};
    char word[NAME];
    const char *from = NULL, *at = p, *w = next_word(&at, end, word);
    memset(q, 0, sizeof *q);
    q->end = end;
    if (!w || strcmp(word, "select") != 0) return false;
    q->columns.at = at;
    bool limit = false;
    while ((w = next_word(&at, end, word))) {
        if (is_one_of(word, never)) return false;
        bool tail = !strcmp(word, "order") || !strcmp(word, "limit") || !strcmp(word, "for") ||
                    !strcmp(word, "lock");
        if (!strcmp(word, "from") && !from) {
            from = w;
            q->columns.end = w;
        } else if (!strcmp(word, "where")) {
            if (q->where || q->tail || !from) return false;
            q->where = at;
        } else if (tail && from) {
            if (!q->tail) q->tail = w;
            if (limit && q->limit.at && !q->limit.end) q->limit.end = w;
            q->ordered |= !strcmp(word, "order");
            if (!strcmp(word, "limit")) {
                if (limit) return false;
                limit = true;
                q->limit.at = at;
            }
        }
        q->skips |= !strcmp(word, "skip");
    }
    if (!from || !q->tail || !limit) return false;
    if (!q->limit.end) q->limit.end = end;
    q->limit = trimmed(q->limit);
    q->columns = trimmed(q->columns);
    return true;
}

/* The value of LIMIT: a number or a parameter. */
static bool limit_value(const query_parts *q, log_text t, const log_stmt *s, uint64_t *value)
{
    const char *p = q->limit.at;
    uint32_t param = 0;
    if (p == q->limit.end) return false;
    if (*p == '?') {
        for (const char *m = t.at; m <= p;) { /* marks before it, and this one */
            const char *after = after_quotes(m, t.at + t.n);
            param += after == m && *m == '?';
            m = after == m ? m + 1 : after;
        }
        p++;
    }
    bool numbered = *p == '$' && !param;
    p += numbered;
    uint64_t number = 0;
    for (; p < q->limit.end && *p >= '0' && *p <= '9' && number < 1000000; p++)
        number = number * 10 + (uint64_t)(*p - '0');
    if (p != q->limit.end) return false;
    if (numbered) param = (uint32_t)number;
    if (numbered && !param) return false;
    *value = number;
    if (!param) return true;
    if (param > s->n_params) return false;
    const cell *c = &s->params[param - 1];
    if ((c->kind != CELL_NUMBER && c->kind != CELL_TEXT) || !c->n || c->n > 6) return false;
    *value = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->s[i] < '0' || c->s[i] > '9') return false;
        *value = *value * 10 + (uint64_t)(c->s[i] - '0');
    }
    return true;
}

/* Could other rows have been chosen, given how many came? */
static bool is_a_choice(const query_parts *q, log_text t, const log_stmt *s, uint64_t came,
                        bool others)
{
    uint64_t limit;
    if (!limit_value(q, t, s, &limit) || came > limit) return false;
    if (q->skips) return others;
    return !q->ordered && came == limit && came;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A name, perhaps with the name of its table, perhaps in quotes; its end, or NULL. */
static const char *after_name(const char *p, const char *end)
{
    for (;;) {
        const char *q = p < end && *p != '\'' ? after_quotes(p, end) : p;
        if (q == p)
            while (q < end && in_word(*q)) q++;
        if (q == p || (*p >= '0' && *p <= '9')) return NULL;
        if (q == end || *q != '.') return q;
        p = q + 1;
    }
}

/* The plain columns of a list; 0: something in it is none. */
static uint32_t read_columns(span list, span *out)
{
    uint32_t n = 0;
    for (const char *p = list.at; p < list.end;) {
        while (p < list.end && strchr(" \t\r\n", *p)) p++;
        const char *q = p < list.end ? after_name(p, list.end) : NULL;
        if (!q || n == COLUMNS) return 0;
        out[n++] = (span){p, q};
        const char *comma = q;
        while (comma < list.end && *comma != ',') { /* a name for it */
            if (!in_word(*comma) && !strchr(" \t\r\n\"`", *comma)) return 0;
            comma++;
        }
        if (comma == list.end) return n;
        p = comma + 1;
    }
    return 0;
}

/* The last part of a name, without its quotes. */
static span last_part(span name)
{
    const char *p = name.at;
    for (const char *q = name.at; q < name.end; q++)
        if (*q == '.') p = q + 1;
    span s = {p, name.end};
    if (s.end - s.at > 2 && (*s.at == '"' || *s.at == '`')) s.at++, s.end--;
    return s;
}

static bool same_name(span a, span b)
{
    a = last_part(a);
    b = last_part(b);
    return a.end - a.at == b.end - b.at && !memcmp(a.at, b.at, (size_t)(a.end - a.at));
}

static bool put_equal(engine_kind engine, span column, const cell *c, strbuf *out)
{
    strbuf_add(out, column.at, (size_t)(column.end - column.at));
    if (c->kind == CELL_NULL) {
        strbuf_str(out, " IS NULL");
        return true;
    }
    if (memchr(c->s, '\\', c->n) || memchr(c->s, 0, c->n) || memchr(c->s, '?', c->n)) return false;
    bool bare = c->kind == CELL_NUMBER && engine != ENGINE_POSTGRES;
    bool truth = c->kind == CELL_TRUE || c->kind == CELL_FALSE;
    if (truth && engine != ENGINE_POSTGRES) {
        strbuf_str(out, c->kind == CELL_TRUE ? " = 1" : " = 0");
        return true;
    }
    strbuf_str(out, bare ? " = " : " = '");
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->s[i] == '\'') strbuf_char(out, '\'');
        strbuf_char(out, c->s[i]);
    }
    if (!bare) strbuf_char(out, '\'');
    return true;
}

/* The text up to the conditions, these and the new one, and the rest.  Column i of the query is the
   answer's column at[i]. */
static bool put_forced(engine_kind engine, log_text t, const query_parts *q, const log_stmt *s,
                       const span *columns, const uint32_t *at, uint32_t n, strbuf *out)
{
    const char *head = q->where ? q->where : q->tail;
    out->n = 0;
    strbuf_add(out, t.at, (size_t)(head - t.at));
    strbuf_str(out, q->where ? " (" : "WHERE ");
    if (q->where) {
        strbuf_add(out, q->where, (size_t)(q->tail - q->where));
        strbuf_str(out, ") AND ");
    }
    strbuf_str(out, s->n_rows ? "(" : "(1 = 0");
    for (uint32_t r = 0; r < s->n_rows; r++) {
        strbuf_str(out, r ? " OR (" : "(");
        for (uint32_t i = 0; i < n; i++) {
            if (i) strbuf_str(out, " AND ");
            const cell *c = &s->cells[(size_t)r * s->n_cols + at[i]];
            if (!put_equal(engine, columns[i], c, out)) return false;
        }
        strbuf_char(out, ')');
    }
    strbuf_str(out, ") ");
    strbuf_add(out, q->tail, (size_t)(t.at + t.n - q->tail));
    return true;
}

/* ---- the statement --------------------------------------------------------------------------- */

static bool force_query(engine_kind engine, log_text t, const log_stmt *s, bool others, strbuf *out)
{
    query_parts q;
    span columns[COLUMNS];
    uint32_t at[COLUMNS];
    if (!read_query(t.at, t.at + t.n, &q) || !is_a_choice(&q, t, s, s->n_rows, others))
        return false;
    uint32_t n = read_columns(q.columns, columns);
    if (!n || (s->n_rows && n != s->n_cols)) return false;
    for (uint32_t i = 0; i < n; i++) at[i] = i;
    return put_forced(engine, t, &q, s, columns, at, n, out);
}

/* The query in parentheses after `column IN` or `column =`, at depth 0. */
static bool find_subquery(const char *p, const char *end, span *column, span *query)
{
    span name = {NULL, NULL};
    bool linked = false;
    while (p < end) {
        const char *q = *p != '\'' ? after_name(p, end) : NULL;
        if (q) {
            bool in = q - p == 2 && (p[0] | 32) == 'i' && (p[1] | 32) == 'n';
            if (!in) name = (span){p, q};
            linked = in && name.at;
            p = q;
            continue;
        }
        q = after_quotes(p, end);
        if (q > p) {
            name.at = NULL;
            p = q;
        } else if (*p == '(') {
            int depth = 1;
            for (q = p + 1; q < end && depth;) {
                const char *r = after_quotes(q, end);
                if (r == q) depth += (*q == '(') - (*q == ')'), r++;
                q = r;
            }
            if (depth) return false;
            char word[NAME];
            const char *inner = p + 1;
            if (linked && next_word(&inner, q, word) && !strcmp(word, "select")) {
                *column = name;
                *query = (span){p + 1, q - 1};
                return true;
            }
            linked = false;
            p = q;
        } else {
            if (*p == '=')
                linked = name.at != NULL;
            else if (!strchr(" \t\r\n", *p))
                linked = false, name.at = NULL;
            p++;
        }
    }
    return false;
}

static bool force_subquery(engine_kind engine, log_text t, const log_stmt *s, bool others,
                           strbuf *out)
{
    char word[NAME];
    span column, query, inner[COLUMNS], shown[COLUMNS], list = {NULL, t.at + t.n};
    query_parts q;
    const char *end = t.at + t.n, *at = t.at, *where = NULL;
    if (!next_word(&at, end, word) || (strcmp(word, "update") && strcmp(word, "delete")))
        return false;
    while (next_word(&at, end, word)) {
        if (!strcmp(word, "where") && !where) where = at;
        if (!strcmp(word, "returning")) list.at = at;
        if (!strcmp(word, "or")) return false; /* not all rows need be those of the query */
    }
    if (!where || !list.at || !find_subquery(where, list.at, &column, &query)) return false;
    if (!read_query(query.at, query.end, &q) || !is_a_choice(&q, t, s, s->n_rows, others))
        return false;
    if (read_columns(q.columns, inner) != 1 || !same_name(inner[0], column)) return false;
    uint32_t n = read_columns(trimmed(list), shown), found = 0;
    while (found < n && !same_name(shown[found], column)) found++;
    if (found == n || (s->n_rows && n != s->n_cols)) return false;
    return put_forced(engine, t, &q, s, inner, &found, 1, out);
}

bool forced_rows_text(engine_kind engine, log_text t, const log_stmt *s, bool others, strbuf *out)
{
    if (!s->has_rows || s->n_rows > ROWS || !is_plain(t)) return false;
    return force_query(engine, t, s, others, out) || force_subquery(engine, t, s, others, out);
}
