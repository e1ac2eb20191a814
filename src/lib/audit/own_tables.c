/*
 * own_tables.c - statements about temporary tables of the session's own, told by their texts.
 *
 * No other session sees such a table, so that what is done to it is no change of the schema for
 * them.  A name is one of temporary tables alone if some statement creates a temporary table of it,
 * and no other statement of the log or its setup that may create something has it as a word: then
 * DROP, ALTER, TRUNCATE and CREATE INDEX with such names alone meet the session's own table, or
 * none.  What is not read exactly counts as a change that others see.
 */
#include "audit/own_tables.h"

#include <assert.h>
#include <string.h>

#include "audit/log_words.h"

#define BLANKS " \t\n\r"

static bool is_word(char c)
{
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
           (unsigned char)c > 127;
}

static bool take(const char **at, const char *word)
{
    size_t n = strlen(word);
    const char *s = *at + strspn(*at, BLANKS);
    for (size_t i = 0; i < n; i++)
        if ((s[i] | 32) != word[i]) return false;
    if (is_word(s[n])) return false;
    *at = s + n;
    return true;
}

static bool take_sign(const char **at, char sign)
{
    const char *s = *at + strspn(*at, BLANKS);
    if (*s != sign) return false;
    *at = s + 1;
    return true;
}

typedef struct table_word {
    const char *at; /* in the text */
    size_t n;
    bool quoted;
} table_word;

/* One part of a name; quotes inside of quotes are not read. */
static bool take_part(const char **at, table_word *out)
{
    const char *s = *at + strspn(*at, BLANKS);
    out->quoted = *s == '"';
    out->at = s + out->quoted;
    out->n = 0;
    while (out->quoted ? out->at[out->n] && out->at[out->n] != '"' : is_word(out->at[out->n]))
        out->n++;
    if (!out->n || (out->quoted && out->at[out->n] != '"')) return false;
    *at = out->at + out->n + out->quoted;
    return !out->quoted || **at != '"';
}

/* [pg_temp.]name; `own`: with the schema. */
static bool take_name(const char **at, table_word *out, bool *own)
{
    if (!take_part(at, out)) return false;
    *own = false;
    if (**at != '.') return true;
    *own = out->n == 7 && !strncmp(out->at, "pg_temp", 7);
    (*at)++;
    return *own && take_part(at, out);
}

static bool same_name(const table_word *a, const char *b)
{
    size_t i = 0;
    for (; i < a->n && b[i]; i++)
        if (a->at[i] != b[i] && (a->quoted || (a->at[i] | 32) != b[i])) return false;
    return i == a->n && !b[i];
}

static bool take_if(const char **at, bool not_exists)
{
    if (!take(at, "if")) return true;
    return (!not_exists || take(at, "not")) && take(at, "exists");
}

/* The table that CREATE TEMPORARY TABLE, CREATE TABLE pg_temp.name or SELECT ... INTO TEMPORARY
   makes. */
static bool made_name(const char *text, table_word *out)
{
    bool own, temporary;
    const char *at = text;
    if (take(&at, "select")) {
        const char *into = words_find(text, "into");
        if (!into || words_find(into + 4, "into") || is_word(into[-1])) return false;
        at = into + 4;
        temporary = take(&at, "temp") || take(&at, "temporary");
        take(&at, "table");
        return temporary && take_name(&at, out, &own);
    }
    if (!take(&at, "create")) return false;
    take(&at, "local");
    temporary = take(&at, "temp") || take(&at, "temporary");
    if (!take(&at, "table") || !take_if(&at, true) || !take_name(&at, out, &own)) return false;
    return temporary || own;
}

static const char *kept_name(engine *e, const table_word *n)
{
    char *s = arena_text(&e->kept, n->at, n->n);
    for (size_t i = 0; !n->quoted && s[i]; i++)
        if (s[i] >= 'A' && s[i] <= 'Z') s[i] = (char)(s[i] | 32);
    return s;
}

static bool is_own(const engine *e, const table_word *n)
{
    for (size_t i = 0; i < e->plans.own_tables.n; i++)
        if (same_name(n, e->plans.own_tables.at[i])) return true;
    return false;
}

/* Names, with commas between them, are all of temporary tables. */
static bool names_own(const engine *e, const char *at, bool to_end)
{
    table_word n;
    bool own;
    do {
        if (!take_name(&at, &n, &own) || (!own && !is_own(e, &n))) return false;
    } while (to_end && take_sign(&at, ','));
    if (!to_end) return true;
    if (!take(&at, "cascade")) take(&at, "restrict");
    return !at[strspn(at, BLANKS ";")];
}

/* A statement that can make no table, and changes one that it names. */
static bool changes_named(const char *text, const char **names, bool *to_end)
{
    const char *at = text;
    *to_end = true;
    if (take(&at, "truncate")) {
        take(&at, "table");
        *names = at;
        return true;
    }
    if (take(&at, "drop")) {
        *names = at;
        return take(names, "table") && take_if(names, false);
    }
    *to_end = false;
    if (take(&at, "alter")) {
        if (!take(&at, "table") || !take_if(&at, false)) return false;
        take(&at, "only");
        *names = at;
        return !words_find(at, "rename") && !words_find(at, "schema") && !words_find(at, "inherit");
    }
    if (!take(&at, "create")) return false;
    take(&at, "unique");
    table_word n;
    bool own;
    if (!take(&at, "index") || take(&at, "concurrently") || !take_if(&at, true)) return false;
    if (!take(&at, "on") && (!take_name(&at, &n, &own) || !take(&at, "on"))) return false;
    take(&at, "only");
    *names = at;
    return true;
}

bool own_tables_only(const engine *e, const char *text)
{
    table_word n;
    const char *names;
    bool to_end;
    if (made_name(text, &n)) return true;
    return changes_named(text, &names, &to_end) && names_own(e, names, to_end);
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = words_find(at, word)); at++)
        if ((at == text || !is_word(at[-1])) && !is_word(at[n])) return true;
    return false;
}

/* May the statement make a table, or something else, that others see? */
static bool may_make(const char *text)
{
    table_word n;
    const char *names;
    bool to_end;
    if (made_name(text, &n) || changes_named(text, &names, &to_end)) return false;
    names = text;
    if (take(&names, "insert")) return false;
    return words_find(text, "create") || words_find(text, "into") || words_find(text, "rename") ||
           words_find(text, "schema") || words_find(text, "execute");
}

static void forget_names(engine *e, const char *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->plans.own_tables.n; i++)
        if (!has_word(text, e->plans.own_tables.at[i]))
            e->plans.own_tables.at[kept++] = e->plans.own_tables.at[i];
    e->plans.own_tables.n = kept;
}

/* Each text is compared with each name; applications have few of them. */
#define MOST_NAMES 64

void own_tables_find(engine *e)
{
    const sql_log *l = e->log;
    assert(!e->plans.own_tables.n);
    for (size_t i = 0; i < l->texts.n && e->plans.own_tables.n < MOST_NAMES; i++) {
        table_word n;
        guard_tick(e->guard);
        if (made_name(l->texts.at[i].at, &n) && !is_own(e, &n))
            vec_push(e->mem, &e->plans.own_tables, kept_name(e, &n));
    }
    for (size_t i = 0; i < l->texts.n && e->plans.own_tables.n; i++) {
        guard_tick(e->guard);
        if (may_make(l->texts.at[i].at)) forget_names(e, l->texts.at[i].at);
    }
    for (size_t i = 0; i < l->rows.n; i++) forget_names(e, l->rows.at[i].table);
    for (size_t i = 0; i < l->unknown.n; i++) forget_names(e, l->unknown.at[i]);
}
