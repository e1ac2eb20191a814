/*
 * row_choice.c - see row_choice.h.
 *
 * Texts with quotes, dots in names or comments are ROWS_OTHER, so that a word is what it looks to
 * be.
 */
#include "reference/row_choice.h"

#include <string.h>

bool names_word(const char *text, size_t n, const char *word)
{
    char one[ROW_WORD];
    for (word_walk w = {text, text + n}; next_statement_word(&w, one);)
        if (!strcmp(one, word)) return true;
    return false;
}

bool sets_column(const char *text, size_t n, const char *column)
{
    char one[ROW_WORD];
    bool set = false;
    for (word_walk w = {text, text + n}; next_statement_word(&w, one);) {
        if (!strcmp(one, "where")) return false;
        if (set && !strcmp(one, column)) return true;
        set |= !strcmp(one, "set");
    }
    return false;
}

/* Names in quotes, qualified names, comments: too much for words. */
static bool is_plain_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool name = i && text[i] == '.' && !(text[i - 1] >= '0' && text[i - 1] <= '9');
        if (text[i] == '"' || text[i] == '`' || text[i] == '\\' || name) return false;
        if (i + 1 < n &&
            ((text[i] == '-' && text[i + 1] == '-') || (text[i] == '/' && text[i + 1] == '*')))
            return false;
    }
    return true;
}

static const char *after_spaces(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
    return p;
}

static bool ends_condition(const row_choice *r, const char *p, const char *end)
{
    p = after_spaces(p, end);
    if (p < end && *p == ';') p = after_spaces(p + 1, end);
    if (p == end) return true;
    char word[ROW_WORD];
    word_walk w = {p, end};
    return r->kind == ROWS_UPDATE && next_statement_word(&w, word) && !strcmp(word, "returning");
}

/* column = constant, at the end of the text or before RETURNING. */
static bool read_condition(row_choice *r, const char *text, const char *p, const char *end)
{
    word_walk w = {after_spaces(p, end), end};
    if (!next_statement_word(&w, r->column)) return false;
    p = after_spaces(w.at, end);
    if (p == end || *p != '=') return false;
    p = after_spaces(p + 1, end);
    size_t n = 0;
    if (p < end && *p == '-') r->value[n++] = *p++;
    bool param = p < end && *p == '$', mark = p < end && *p == '?';
    if (mark) { /* MySQL's: the number is that of marks before it, and this one */
        r->param = 1;
        for (const char *q = text; q < p; q++) r->param += *q == '?';
        r->value[0] = 0;
        return ends_condition(r, p + 1, end);
    }
    p += param;
    unsigned number = 0;
    for (; p < end && *p >= '0' && *p <= '9' && n + 1 < ROW_WORD; n++, p++) {
        r->value[n] = *p;
        if (number < 100000) number = number * 10 + (unsigned)(*p - '0');
    }
    r->value[n] = 0;
    if (!n || (param && (!number || r->value[0] == '-'))) return false;
    r->param = param ? number : 0;
    return ends_condition(r, p, end);
}

/* Words after which rows come from elsewhere, or are chosen otherwise. */
static bool has_other_sources(const char *text, size_t n, bool insert)
{
    static const char *const others[] = {"join",    "union", "intersect", "except",   "exists",
                                         "only",    "group", "over",      "conflict", "using",
                                         "lateral", "with",  "into",      NULL};
    char word[ROW_WORD];
    unsigned selects = 0, froms = 0;
    for (word_walk w = {text, text + n}; next_statement_word(&w, word);) {
        selects += !strcmp(word, "select");
        froms += !strcmp(word, "from");
        for (size_t i = 0; others[i]; i++)
            if (!strcmp(word, others[i]) && !(insert && !strcmp(word, "into"))) return true;
    }
    return selects > 1 || froms > 1 || (insert && selects);
}

row_choice read_row_choice(const char *text, size_t n)
{
    row_choice r = {.kind = ROWS_OTHER}, other = {.kind = ROWS_OTHER};
    char word[ROW_WORD], before[ROW_WORD] = "";
    word_walk w = {text, text + n};
    if (!is_plain_text(text, n) || !next_statement_word(&w, word)) return other;
    r.kind = !strcmp(word, "update")   ? ROWS_UPDATE
             : !strcmp(word, "insert") ? ROWS_INSERT
             : !strcmp(word, "select") ? ROWS_SELECT
                                       : ROWS_OTHER;
    if (r.kind == ROWS_OTHER || has_other_sources(text, n, r.kind == ROWS_INSERT)) return other;
    const char *marker = r.kind == ROWS_UPDATE ? "update" : r.kind == ROWS_INSERT ? "into" : "from";
    const char *where = NULL;
    bool values = false, set = false;
    for (memcpy(before, word, ROW_WORD); next_statement_word(&w, word);
         memcpy(before, word, ROW_WORD)) {
        if (!strcmp(before, marker) && !*r.table) {
            memcpy(r.table, word, ROW_WORD);
            const char *p = after_spaces(w.at, w.end);
            if (p < w.end && (*p == ',' || *p == '*')) return other;
            continue;
        }
        values |= !strcmp(word, "values");
        set |= !strcmp(word, "set");
        if (!strcmp(word, "from") && r.kind != ROWS_SELECT) return other;
        if (!strcmp(word, "where") && !where) {
            where = w.at;
            bool after_table = r.kind != ROWS_SELECT || !strcmp(before, r.table);
            if (!after_table || !*r.table) return other;
        }
    }
    if (!*r.table) return other;
    if (r.kind == ROWS_INSERT) return values ? r : other;
    if (r.kind == ROWS_UPDATE && !set) return other;
    return where && read_condition(&r, text, where, text + n) ? r : other;
}

bool created_table(const char *text, size_t n, char *table)
{
    char word[ROW_WORD];
    word_walk w = {text, text + n};
    if (!is_plain_text(text, n)) return false;
    return next_statement_word(&w, word) && !strcmp(word, "create") &&
           next_statement_word(&w, word) && !strcmp(word, "table") &&
           next_statement_word(&w, table) && strcmp(table, "if") != 0;
}
