/*
 * log_words.c - what the texts of a log tell before any of them is bound: which statements change
 * the schema, what is prepared in transactions that failed, which routines are created.
 *
 * Words are looked for, in letters of either case: where one is found that is none (in a literal,
 * for example), less is decided, and nothing is decided wrongly.
 */
#include "audit/log_words.h"

#include <string.h>

#include "audit/own_tables.h"

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

/* Does the transaction change what other sessions see of the schema? */
static bool changes_shared_schema(const engine *e, const log_txn *t)
{
    for (uint32_t k = 0; k < t->n_stmts; k++) {
        const char *text = e->log->texts.at[t->stmts[k].text].at;
        if (text_changes_schema(text) && !own_tables_only(e, text)) return true;
    }
    return false;
}

static void find_schema_changes(engine *e)
{
    own_tables_find(e);
    e->plans.schema_session = NO_ID;
    for (size_t i = 0; i < e->log->txns.n; i++) {
        const log_txn *t = &e->log->txns.at[i];
        e->plans.changes_schema |= engine_changes_schema(e, t);
        if (!changes_shared_schema(e, t)) continue;
        uint32_t before = e->plans.schema_session;
        e->plans.several_change_schema |= before != NO_ID && before != t->session;
        e->plans.schema_session = t->session;
    }
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
