/*
 * named_tables.c - words of statements that are not understood.
 *
 * Nothing here reads SQL.  A name counts wherever it stands, in strings and comments as well, and a
 * text with bytes beyond ASCII, with a second statement in it, or with a beginning that is not on
 * the list below is one of which nobody knows what it writes.
 */
#include "audit/named_tables.h"

#include <assert.h>
#include <string.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool in_word(char c)
{
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

static const char *after_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || (*p >= '\t' && *p <= '\r'))) p++;
    return p;
}

static bool word_at(const char *p, const char *end, const char *word)
{
    while (p < end && *word && lower(*p) == *word) p++, word++;
    return !*word && (p == end || !in_word(*p));
}

bool statement_names(const log_text *t, const char *table)
{
    const char *end = t->at + t->n;
    char name[256];
    size_t n = strlen(table);
    assert(n && t->at); /* every text would have an empty name */
    if (n >= sizeof name) return true;
    for (size_t i = 0; i <= n; i++) name[i] = lower(table[i]);
    for (const char *p = t->at; p < end; p++)
        if ((p == t->at || !in_word(p[-1])) && word_at(p, end, name)) return true;
    return false;
}

/* SET @a = 1, @b = 'x': variables of the session, and nothing that could be a call. */
static bool sets_variables(const char *p, const char *end)
{
    assert(p <= end);
    for (bool name = true; p < end; p++) {
        if (name) {
            p = after_space(p, end);
            if (end - p < 2 || p[0] != '@' || !in_word(p[1])) return false;
            p++;
        }
        name = *p == ',';
        if (*p == '(' || *p == '/' || *p == '#' || *p == '@') return false;
    }
    return true;
}

named_kind statement_writes(const log_text *t)
{
    static const char *const writes[] = {"update", "insert", "delete", "replace"};
    const char *end = t->at + t->n, *p = after_space(t->at, end);
    assert(p <= end);
    for (const char *s = p; s < end; s++) {
        if ((unsigned char)*s >= 0x80 || !*s) return NAMED_ANY;
        if (*s == ';' && after_space(s + 1, end) < end) return NAMED_ANY;
    }
    if (word_at(p, end, "select") || word_at(p, end, "handler")) return NAMED_NOTHING;
    if (word_at(p, end, "set") && sets_variables(p + 3, end)) return NAMED_NOTHING;
    for (int i = 0; i < 4; i++)
        if (word_at(p, end, writes[i])) return NAMED_TABLES;
    return NAMED_ANY;
}

bool named_writes_hold(const sql_log *l)
{
    static const char *const makes[] = {"create", "alter", "drop", "rename"};
    if (!l->named_writes || l->hidden_routines || l->dialect != DIALECT_MYSQL) return false;
    for (size_t i = 0; i < l->txns.n; i++)
        for (uint32_t k = 0; k < l->txns.at[i].n_stmts; k++) {
            assert(l->txns.at[i].stmts[k].text < l->texts.n);
            for (int m = 0; m < 4; m++)
                if (statement_names(&l->texts.at[l->txns.at[i].stmts[k].text], makes[m]))
                    return false;
        }
    return true;
}
