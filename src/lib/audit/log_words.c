/*
 * log_words.c - what the texts of a log tell before any of them is bound: which statements change
 * the schema, what is prepared in transactions that failed, which routines are created.
 *
 * Words are looked for, in letters of either case: where one is found that is none (in a literal,
 * for example), less is decided, and nothing is decided wrongly.
 */
#include "audit/log_words.h"

#include <string.h>

const char *words_find(const char *in, const char *what)
{
    for (; *in; in++) {
        size_t i = 0;
        while (what[i] && (in[i] | 32) == (what[i] | 32)) i++;
        if (!what[i]) return in;
    }
    return NULL;
}

/* Transactions that failed are not run, but what they prepared stays. */
static void find_lost_prepares(engine *e)
{
    for (size_t i = 0; i < e->log->txns.n; i++) {
        const log_txn *t = &e->log->txns.at[i];
        for (uint32_t k = 0; t->status != LOG_COMMITTED && k < t->n_stmts; k++) {
            const char *text = e->log->texts.at[t->stmts[k].text].at;
            if (words_find(text, "prepare") || words_find(text, "deallocate") ||
                words_find(text, "discard"))
                e->plans.lost_prepares = true;
        }
    }
}

/* Does the statement change which tables, columns and functions there are? */
static bool text_changes_schema(const char *text)
{
    static const char *const words[] = {"create", "drop", "alter"};
    text += strspn(text, " \t\n\r");
    bool with = (*text | 32) == 'w' && !words_find(text, "insert");
    if (((*text | 32) == 's' || with) && words_find(text, "into"))
        return true; /* SELECT ... INTO, perhaps */
    if ((*text | 32) != 'c' && (*text | 32) != 'd' && (*text | 32) != 'a') return false;
    for (int w = 0; w < 3; w++)
        if (words_find(text, words[w]) == text) return true;
    return false;
}

bool engine_changes_schema(const engine *e, const log_txn *t)
{
    for (uint32_t k = 0; k < t->n_stmts; k++)
        if (text_changes_schema(e->log->texts.at[t->stmts[k].text].at)) return true;
    return false;
}

/* The text after these words, which may be in capitals; NULL: it begins otherwise. */
static const char *after_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    if (!text) return NULL;
    text += strspn(text, " \t\n\r");
    for (size_t i = 0; i < n; i++)
        if ((text[i] | 32) != word[i]) return NULL;
    return text[n] && strchr(" \t\n\r", text[n]) ? text + n : NULL;
}

/* CREATE TEMPORARY TABLE: what it is called; NULL: another statement.  No other session sees it. */
static const char *temporary_table(const char *text)
{
    const char *at = after_word(text, "create"), *next;
    if (at && (next = after_word(at, "local"))) at = next;
    next = at ? after_word(at, "temp") : NULL;
    if (at && !next) next = after_word(at, "temporary");
    at = next ? after_word(next, "table") : NULL;
    if (at && (next = after_word(at, "if"))) at = after_word(after_word(next, "not"), "exists");
    return at ? at + strspn(at, " \t\n\r") : NULL;
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (s[n] == '_' || (s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'z')) n++;
    return n;
}

/* Did this session make a temporary table of the name, and is there no other one? */
static bool drops_temporary(const engine *e, const log_txn *by, const char *text)
{
    const char *at = after_word(text, "drop"), *next;
    at = at ? after_word(at, "table") : NULL;
    if (at && (next = after_word(at, "if"))) at = after_word(next, "exists");
    if (!at) return false;
    at += strspn(at, " \t\n\r");
    size_t n = name_length(at), end = n + strspn(at + n, " \t\n\r;");
    char name[64];
    if (!n || n >= sizeof name || at[end]) return false;
    memcpy(name, at, n);
    name[n] = 0;
    if (vs_find(&e->store, name, 0)) return false;
    for (const log_txn *t = by + 1; t-- > e->log->txns.at;) { /* the nearest one before it */
        for (uint32_t k = 0; t->session == by->session && k < t->n_stmts; k++) {
            const char *made = temporary_table(e->log->texts.at[t->stmts[k].text].at);
            if (made && name_length(made) == n && !memcmp(made, name, n)) return true;
        }
    }
    return false;
}

/* Does the transaction change what other sessions see of the schema? */
static bool changes_shared_schema(const engine *e, const log_txn *t, bool drops)
{
    for (uint32_t k = 0; k < t->n_stmts; k++) {
        const char *text = e->log->texts.at[t->stmts[k].text].at;
        if (!text_changes_schema(text) || temporary_table(text)) continue;
        if (drops || !drops_temporary(e, t, text)) return true;
    }
    return false;
}

/* Temporary tables belong to their sessions alone, unless others of their names may be there. */
static void find_shared_changes(engine *e, bool drops)
{
    uint32_t session = NO_ID;
    for (size_t i = 0; i < e->log->txns.n; i++) {
        const log_txn *t = &e->log->txns.at[i];
        if (!changes_shared_schema(e, t, drops)) continue;
        e->plans.several_change_schema |= session != NO_ID && session != t->session;
        session = t->session;
        if (!drops) break; /* looked at again below */
    }
    e->plans.schema_session = session;
    if (session != NO_ID && !drops) find_shared_changes(e, true);
}

static void find_schema_changes(engine *e)
{
    find_shared_changes(e, false);
    for (size_t i = 0; i < e->log->txns.n; i++)
        e->plans.changes_schema |= engine_changes_schema(e, &e->log->txns.at[i]);
}

/* May a sequence give a value again? */
static bool sequences_rise(const engine *e)
{
    static const char *const words[] = {"setval", "cycle", "restart"};
    for (size_t i = 0; i < e->log->texts.n; i++)
        for (int w = 0; w < 3; w++)
            if (words_find(e->log->texts.at[i].at, words[w])) return false;
    return true;
}

static bool sets_interval_style(const engine *e)
{
    for (size_t i = 0; i < e->log->texts.n; i++)
        if (words_find(e->log->texts.at[i].at, "intervalstyle")) return true;
    return false;
}

void engine_find_routines(engine *e)
{
    e->plans.sets_style = sets_interval_style(e);
    find_lost_prepares(e);
    find_schema_changes(e);
    e->plans.sequences_rise = !e->plans.changes_schema && sequences_rise(e);
    static const char *const words[] = {"function", "procedure"};
    for (size_t i = 0; i < e->log->texts.n; i++) {
        const char *text = e->log->texts.at[i].at;
        for (int w = 0; w < 2 && words_find(text, "create"); w++) {
            const char *at = words_find(text, words[w]);
            if (!at) continue;
            at += strlen(words[w]);
            at += strspn(at, " \t\n\r\"");
            const char *name = arena_text(&e->kept, at, strcspn(at, " \t\n\r\"("));
            if (*name) vec_push(e->mem, &e->plans.routines, name);
        }
    }
}
