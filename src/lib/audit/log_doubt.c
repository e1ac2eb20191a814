/*
 * log_doubt.c - stretches that a recorder did not log, and settings that the replay does not know.
 *
 * Whatever was done in such a stretch may explain an answer that nothing else explains, so that it
 * is not held against the database.  The same is true of the order of texts where the database does
 * not sort as C does.
 */
#include "audit/log_doubt.h"
#include "audit/own_tables.h"

#include <stdio.h>
#include <string.h>

/* Letters of either case. */
static bool has_words(const log_text *t, const char *lower)
{
    size_t n = strlen(lower);
    for (size_t i = 0; i + n <= t->n; i++) {
        size_t k = 0;
        while (k < n && (t->at[i + k] | 32) == (lower[k] | 32)) k++;
        if (k == n) return true;
    }
    return false;
}

/* Are there columns of texts, and statements that compare or sort anything? */
static bool may_sort_texts(const sql_log *l)
{
    static const char *const types[] = {"text", "char"};
    static const char *const sorts[] = {"order by", "min(", "max(", "<", ">", "between"};
    bool texts = false, sorted = false;
    for (size_t i = 0; i < l->setup.n; i++)
        for (int w = 0; w < 2; w++) texts |= has_words(&l->texts.at[l->setup.at[i].text], types[w]);
    for (size_t i = 0; texts && !sorted && i < l->texts.n; i++)
        for (int w = 0; w < 6; w++) sorted |= has_words(&l->texts.at[i], sorts[w]);
    return texts && sorted;
}

/* As far as words tell: a table is truncated, or altered in a way that writes all rows anew. */
static bool text_empties(const log_text *t)
{
    static const char *const words[] = {"type", "generated", "serial", "identity"};
    if (has_words(t, "truncate") || has_words(t, "refresh")) return true;
    if (!has_words(t, "alter")) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_words(t, words[i])) return true;
    return false;
}

bool log_empties(const engine *e)
{
    const sql_log *l = e->log;
    for (size_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        for (uint32_t k = 0; t->status != LOG_ABORTED && k < t->n_stmts; k++)
            if (text_empties(&l->texts.at[t->stmts[k].text]) &&
                !own_tables_only(e, l->texts.at[t->stmts[k].text].at))
                return true;
    }
    for (size_t i = 0; i < l->setup.n; i++) { /* bodies, which a transaction may call */
        const log_text *t = &l->texts.at[l->setup.at[i].text];
        bool body =
            has_words(t, "create") && (has_words(t, "function") || has_words(t, "procedure"));
        if (body && text_empties(t)) return true;
    }
    return false;
}

const char *log_foreign(const sql_log *l)
{
    if (!l->traced || l->dialect != DIALECT_MYSQL) return NULL;
    return "not explained, but the application's statements are MySQL's and were replayed with the "
           "meaning that PostgreSQL gives them (comparisons of texts, division, the order of "
           "assignments), and that may explain it";
}

const char *log_doubt(engine *e)
{
    const sql_log *l = e->log;
    char text[300];
    if (log_cut_off(l) && !l->gaps)
        return "not explained, but the log has no end: what its recorder did not write any more "
               "may explain it";
    if (log_missing(l) && !l->gaps)
        snprintf(text, sizeof text,
                 "not explained, but lines of the log are missing (%llu), and they may explain it",
                 (unsigned long long)log_missing(l));
    else if (l->gaps)
        snprintf(text, sizeof text,
                 "not explained, but not everything was logged (line %llu: %.150s), and that may "
                 "explain it",
                 (unsigned long long)l->gap_line, l->gap_why ? l->gap_why : "unlogged");
    else if (l->collation && may_sort_texts(l))
        snprintf(text, sizeof text,
                 "not explained, but the database sorts texts by other rules (%.60s) than the "
                 "replay, and that may explain it",
                 l->collation);
    else
        return NULL;
    return arena_text(&e->kept, text, strlen(text));
}
