/*
 * plain_names.c - `stock` becomes stock.
 *
 * Programs that make SQL for MySQL put names into backticks, which PostgreSQL's grammar does not
 * know.  A name keeps them if it could mean anything else without: a word of that grammar or one of
 * its system columns, a name with other characters than letters, digits and _, one that a string
 * follows (`date` '...' is no date) or that is called (`sum`(x) is a stored function).  Such a
 * statement does not parse, and is not understood.  Texts and comments stay as they are.
 */
#include "audit/plain_names.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "sql/sql_text.h"

/* What else must keep its quotes: system columns, words that only later grammars reserve, and json,
   which begins a constructor.  is_word() adds all that begin with xml. */
static const char *const words[] = {
    "cmax",         "cmin",        "ctid",     "json", "json_array", "json_object",
    "merge_action", "system_user", "tableoid", "xmax", "xmin",
};

#define LONGEST 64 /* bytes of a name */

static bool is_word(const char *at, size_t n)
{
    char small[LONGEST] = {0};
    assert(n < LONGEST);
    for (size_t i = 0; i < n; i++)
        small[i] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] | 32 : at[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && !memcmp(words[i], small, n)) return true;
    return sql_is_key_word(small, n) || (n > 3 && !memcmp(small, "xml", 3));
}

static bool name_part(char c, bool first)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') return true;
    return !first && c >= '0' && c <= '9';
}

static bool is_plain(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!name_part(at[i], !i)) return false;
    return n && n < LONGEST && !is_word(at, n);
}

/* After a text or a comment that begins at `at`, or `at`. */
static const char *after_text(const char *at, const char *end)
{
    const char *from = at;
    assert(at < end);
    if (*at == '\'' || *at == '"') {
        for (at++; at < end && *at != *from; at++) at += *at == '\\' && at + 1 < end;
        return at < end ? at + 1 : end;
    }
    bool two = end - at > 1;
    if (*at == '#' || (two && *at == '-' && at[1] == '-')) {
        while (at < end && *at != '\n') at++;
    } else if (two && *at == '/' && at[1] == '*') {
        for (at += 2; at < end && !(at[-1] == '*' && *at == '/' && at - from > 2);) at++;
        at += at < end;
    }
    return at;
}

/* May the backticks go, given what stands around them? */
static bool stands_alone(const char *text, const char *before, const char *after, const char *end)
{
    assert(text <= before && before < after && after <= end);
    while (after < end && (*after == ' ' || *after == '\n' || *after == '\t' || *after == '\r'))
        after++;
    if (after == end) return true;
    if (*after == '\'' || *after == '"') return false;
    if (*after != '(') return true;
    while (before > text && (before[-1] == ' ' || before[-1] == '\n')) before--;
    return before - text >= 4 && !strncasecmp(before - 4, "into", 4); /* the columns of INSERT */
}

void plain_names(const char *at, size_t n, strbuf *out)
{
    const char *text = at, *end = at + n;
    while (at < end) {
        const char *after = after_text(at, end);
        assert(at <= after && after <= end);
        if (after > at) {
            strbuf_add(out, at, (size_t)(after - at));
            at = after;
            continue;
        }
        const char *close = *at == '`' ? memchr(at + 1, '`', (size_t)(end - at) - 1) : NULL;
        if (!close) {
            strbuf_char(out, *at++);
            continue;
        }
        assert(*at == '`' && *close == '`');
        size_t length = (size_t)(close - at) - 1;
        bool twice = close + 1 < end && close[1] == '`'; /* a backtick within the name */
        bool plain = !twice && is_plain(at + 1, length) && stands_alone(text, at, close + 1, end);
        if (plain && out->n && name_part(out->at[out->n - 1], false)) strbuf_char(out, ' ');
        strbuf_add(out, plain ? at + 1 : at, plain ? length : length + 2);
        at = close + 1;
        assert(at <= end);
        if (plain && at < end && name_part(*at, false)) strbuf_char(out, ' ');
        if (!twice) continue;
        strbuf_add(out, at, (size_t)(end - at)); /* not worth the trouble */
        return;
    }
}
