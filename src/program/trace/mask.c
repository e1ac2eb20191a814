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

bool mask_relation(mask *m, const char *name)
{
    return add_word(m, name, strlen(name));
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

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
}

static bool in_word(char c)
{
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Wherever it stands: a string may be the body of DO or of a function, and the rules of strings
   differ. */
static bool occurs(const char *sql, size_t n, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= n; i++) {
        size_t k = 0;
        while (k < length && lower(sql[i + k]) == word[k]) k++;
        bool whole = !(i && in_word(sql[i - 1])) && !(i + k < n && in_word(sql[i + k]));
        if (k == length && whole) return true;
    }
    return false;
}

bool mask_names(const mask *m, const char *sql, size_t n)
{
    for (uint32_t i = 0; i < m->words; i++)
        if (occurs(sql, n, m->word[i])) return true;
    for (size_t i = 0; m->words && i + 3 <= n; i++) /* U&"..." may spell any name */
        if (lower(sql[i]) == 'u' && sql[i + 1] == '&' && sql[i + 2] == '"') return true;
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

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* The bytes that pairs of hexadecimal digits mean; false: something else is among them. */
static bool read_hex(const char *at, size_t n, strbuf *out)
{
    out->n = 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        int high = hex_digit(at[i]), low = hex_digit(at[i + 1]);
        if (high < 0 || low < 0) return false;
        strbuf_char(out, (char)(high << 4 | low));
    }
    return n % 2 == 0;
}

bool mask_shows(const mask *m, const char *json, size_t n, strbuf *scratch)
{
    static const char escapes[] = "b\bf\fn\nr\rt\t";
    if (!m->patterns) return false;
    if (n < 2 || *json != '"') return mask_matches(m, json, n);
    const char *at = json + 1, *end = json + n - 1;
    if (end - at > 3 && !memcmp(at, "\\\\x", 3) && /* "\\x..." in JSON: \x and digits */
        read_hex(at + 3, (size_t)(end - at) - 3, scratch) &&
        mask_matches(m, scratch->at, scratch->n))
        return true;
    scratch->n = 0;
    for (; at < end; at++) {
        const char *known = NULL;
        if (*at != '\\' || at + 1 == end) {
            strbuf_char(scratch, *at);
            continue;
        }
        at++;
        if (*at == 'u' && end - at > 4) {
            strbuf_char(scratch, (char)(hex_digit(at[3]) << 4 | hex_digit(at[4])));
            at += 4;
        } else {
            for (const char *e = escapes; *e; e += 2)
                if (*e == *at) known = e + 1;
            strbuf_char(scratch, known ? *known : *at);
        }
    }
    return scratch->n && mask_matches(m, scratch->at, scratch->n);
}

bool mask_matches_literal(const mask *m, const char *sql, size_t n, sql_rules rules,
                          strbuf *scratch)
{
    const char *at = sql;
    if (!m->patterns) return false;
    while (sql_next_literal(&at, sql + n, rules, scratch))
        if (scratch->n && mask_matches(m, scratch->at, scratch->n)) return true;
    return false;
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
