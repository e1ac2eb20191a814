/*
 * session_zones.c - whether every session of a log has set its time zone to UTC.
 *
 * What drivers and ORMs send when they connect is looked for: SET TIME ZONE 'UTC', SET [SESSION]
 * timezone TO 'UTC', set_config('TimeZone', 'UTC', false).  One zone is taken for the whole log: if
 * a session sets another one, or sets it after statements that may depend on it, or in a way that
 * is not known, the zone is ZONE_OTHER, and what depends on it is refused.  Without any such
 * statement it is ZONE_UNSET.
 */
#include "audit/session_zones.h"

#include <assert.h>
#include <string.h>

#include "audit/log_words.h"

enum { LONGEST_SETTING = 200 };

/* The statement in small letters, without blanks, quotes and what ends it; false: it is longer. */
static bool squeeze(const char *text, char *to)
{
    size_t n = 0;
    for (; *text; text++) {
        char c = *text;
        if (strchr(" \t\r\n'\";", c)) continue;
        if (n + 1 >= LONGEST_SETTING) return false;
        to[n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    to[n] = 0;
    return true;
}

static const char *after(const char *s, const char *word)
{
    size_t n = strlen(word);
    return s && !strncmp(s, word, n) ? s + n : NULL;
}

static bool is_utc(const char *s)
{
    return s && (!strcmp(s, "utc") || !strcmp(s, "etc/utc") || !strcmp(s, "gmt"));
}

typedef enum zone_act { ZONE_STAYS, ZONE_TO_UTC, ZONE_LOCAL_UTC, ZONE_RESET, ZONE_LOST } zone_act;

/* What the statement does to the zone of its session. */
static zone_act act_of(const char *text)
{
    char s[LONGEST_SETTING];
    bool names = words_find(text, "timezone") || words_find(text, "time zone");
    bool whole = squeeze(text, s);
    if (whole && (!strcmp(s, "resetall") || !strcmp(s, "discardall"))) return ZONE_RESET;
    if (!names) return ZONE_STAYS;
    bool sets = words_find(text, "set_config") || words_find(text, "set time") ||
                words_find(text, "reset ") || words_find(text, "set local") ||
                words_find(text, "set session");
    if (!sets) return ZONE_STAYS; /* AT TIME ZONE, a type, SHOW */
    if (!whole) return ZONE_LOST;
    const char *set = after(s, "set");
    bool local = after(set, "local") != NULL;
    if (local) set = after(set, "local");
    if (after(set, "session")) set = after(set, "session");
    const char *to = after(set, "timezone");
    if (is_utc(to) || is_utc(after(to, "to")) || is_utc(after(to, "=")))
        return local ? ZONE_LOCAL_UTC : ZONE_TO_UTC;
    const char *config = after(s, "selectset_config(timezone,");
    if (after(config, "utc,false)")) return ZONE_TO_UTC;
    return ZONE_LOST;
}

/* May an answer of it depend on the zone?  Settings and questions without tables do not. */
static bool depends(const char *text)
{
    static const char *const words[] = {"set", "show", "begin", "start", "commit", "rollback"};
    text += strspn(text, " \t\r\n");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words_find(text, words[i]) == text) return false;
    return words_find(text, "select") != text || words_find(text, "from") != NULL;
}

sql_zone zone_of_sessions(mem *m, const sql_log *l)
{
    bool *utc = mem_array0(m, bool, l->sessions.n + 1);
    bool any = false, lost = false;
    for (size_t i = 0; i < l->txns.n; i++) {
        const log_txn *t = &l->txns.at[i];
        for (uint32_t k = 0; k < t->n_stmts; k++) {
            const char *text = l->texts.at[t->stmts[k].text].at;
            zone_act act = act_of(text);
            assert(t->session < l->sessions.n);
            any |= act != ZONE_STAYS && act != ZONE_RESET;
            if (act == ZONE_LOST || (act == ZONE_RESET && utc[t->session]) ||
                (act == ZONE_LOCAL_UTC && !utc[t->session]))
                lost = true;
            bool done = t->status == LOG_COMMITTED && !t->stmts[k].has_error;
            if (act == ZONE_TO_UTC && done) utc[t->session] = true;
            if (act == ZONE_TO_UTC && !done && !utc[t->session]) lost = true;
            if (act == ZONE_STAYS && !utc[t->session] && depends(text)) lost = true;
        }
    }
    for (size_t i = 0; i < l->setup.n; i++) /* bodies that set it, which a session may call */
        if (act_of(l->texts.at[l->setup.at[i].text].at) != ZONE_STAYS) any = lost = true;
    mem_put(m, utc);
    return !any ? ZONE_UNSET : lost ? ZONE_OTHER : ZONE_UTC;
}
