/*
 * mask.c - masks by names and by POSIX regular expressions.
 *
 * A statement that mentions a masked column, or its table, is written without any of its values:
 * to find out which of them belong to the column would need the whole of SQL.
 */
#include "trace/mask.h"

#include <stdio.h>
#include <string.h>

#include "trace/sql_words.h"

static bool add_word(mask *m, const char *at, size_t n)
{
    if (!n || n >= MASK_WORD || m->words == MASK_WORDS) return false;
    char *to = m->word[m->words++];
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] | 32 : at[i]);
    to[n] = 0;
    return true;
}

bool mask_column(mask *m, const char *spec)
{
    size_t n = strcspn(spec, ".");
    if (!spec[n]) return add_word(m, spec, n);
    return !strchr(spec + n + 1, '.') && add_word(m, spec, n) &&
           add_word(m, spec + n + 1, strlen(spec + n + 1));
}

bool mask_pattern(mask *m, const char *text, char *why, size_t cap)
{
    if (m->patterns == MASK_PATTERNS) {
        snprintf(why, cap, "more than %d patterns", MASK_PATTERNS);
        return false;
    }
    int code = regcomp(&m->pattern[m->patterns], text, REG_EXTENDED);
    if (code) {
        regerror(code, &m->pattern[m->patterns], why, cap);
        return false;
    }
    m->patterns++;
    return true;
}

void mask_free(mask *m)
{
    for (uint32_t i = 0; i < m->patterns; i++) regfree(&m->pattern[i]);
    m->patterns = m->words = 0;
}

bool mask_names(const mask *m, const char *sql, size_t n)
{
    for (uint32_t i = 0; i < m->words; i++)
        if (sql_mentions(sql, n, m->word[i])) return true;
    return sql_mentions(sql, n, "password") &&
           (sql_mentions(sql, n, "role") || sql_mentions(sql, n, "user"));
}

/* The first match at or after `from`; regexec takes a range with REG_STARTEND (glibc, BSD). */
static bool first_match(const mask *m, const char *at, size_t from, size_t n, size_t *begin,
                        size_t *end)
{
    bool any = false;
    for (uint32_t i = 0; i < m->patterns; i++) {
        regmatch_t r = {.rm_so = (regoff_t)from, .rm_eo = (regoff_t)n};
        if (regexec(&m->pattern[i], at, 1, &r, REG_STARTEND)) continue;
        if (r.rm_eo <= r.rm_so || (any && (size_t)r.rm_so >= *begin)) continue;
        any = true;
        *begin = (size_t)r.rm_so;
        *end = (size_t)r.rm_eo;
    }
    return any;
}

bool mask_matches(const mask *m, const char *at, size_t n)
{
    size_t begin, end;
    return m->patterns && first_match(m, at, 0, n, &begin, &end);
}

void mask_replace(const mask *m, const char *at, size_t n, strbuf *out)
{
    size_t from = 0, begin, end;
    while (from < n && first_match(m, at, from, n, &begin, &end)) {
        strbuf_add(out, at + from, begin - from);
        strbuf_str(out, "***");
        from = end;
    }
    strbuf_add(out, at + from, n - from);
}
