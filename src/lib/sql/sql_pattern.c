/*
 * sql_pattern.c - regular expressions, and arrays that are written as text.
 *
 * Regular expressions are those of the C library (POSIX, extended), taken only where PostgreSQL's
 * own kind means the same: no escapes of letters, no look-ahead, no lazy quantifiers, ASCII alone.
 * What could make the library work for minutes (long texts, many or large counts) is refused.
 */
#include <assert.h>
#include <locale.h>
#include <regex.h>

#include "sql/sql_text.h"

#define MAX_PATTERN 200
#define MAX_TEXT 4000 /* regexec may take quadratic time, and does not look at the clock */
#define MAX_COUNT 64

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

typedef struct pattern_reader {
    const char *s, *why;
    uint32_t n, at;
    bool atom;   /* a quantifier may follow */
    bool counts; /* there is a {n} already: a second one may multiply it */
} pattern_reader;

static void read_brackets(pattern_reader *p)
{
    uint32_t i = p->at + 1;
    assert(p->s[p->at] == '[');
    if (i < p->n && p->s[i] == '^') i++;
    if (i < p->n && p->s[i] == ']') i++;
    for (; i < p->n && p->s[i] != ']'; i++) {
        if (p->s[i] == '\\') p->why = "a backslash in brackets";
        if (p->s[i] != '[' || i + 1 == p->n) continue;
        if (p->s[i + 1] == '.' || p->s[i + 1] == '=') p->why = "a collating element";
        if (p->s[i + 1] != ':') continue;
        for (i += 2; i < p->n && p->s[i] != ':'; i++)
            if (!is_alnum(p->s[i])) p->why = "a class of this name";
        if (i + 1 < p->n && p->s[i + 1] == ']') i++;
    }
    if (i >= p->n) p->why = "brackets without an end";
    p->at = i;
    p->atom = true;
}

static void read_count(pattern_reader *p)
{
    uint32_t i = p->at + 1;
    assert(p->s[p->at] == '{');
    if (p->counts) p->why = "several counts";
    p->counts = true;
    if (i >= p->n || !is_digit(p->s[i])) p->why = "a brace that is no count";
    for (unsigned k = 0; i < p->n && p->s[i] != '}'; i++) {
        if (!is_digit(p->s[i]) && p->s[i] != ',') p->why = "a brace that is no count";
        k = is_digit(p->s[i]) ? k * 10 + (unsigned)(p->s[i] - '0') : 0;
        if (k > MAX_COUNT) p->why = "a count this large", k = 0;
    }
    if (i >= p->n) p->why = "a count without an end";
    p->at = i;
}

static void read_quantifier(pattern_reader *p)
{
    if (!p->atom) p->why = "a quantifier without anything before it";
    if (p->s[p->at] == '{') read_count(p);
    p->atom = false; /* a second one would make it lazy, or be an error */
}

/* NULL, or what PostgreSQL reads in another way, or may. */
static const char *foreign_part(const char *s, uint32_t n)
{
    pattern_reader p = {.s = s, .n = n};
    if (n >= 3 && !memcmp(s, "***", 3)) return "***";
    for (; p.at < n && !p.why; p.at++) {
        switch (s[p.at]) {
        case '\\':
            if (++p.at == n || is_alnum(s[p.at])) return "an escape of a letter or digit";
            p.atom = true;
            break;
        case '[': read_brackets(&p); break;
        case '*':
        case '+':
        case '?':
        case '{': read_quantifier(&p); break;
        case '(':
            if (p.at + 1 < n && s[p.at + 1] == '?') return "(?";
            if (p.at + 1 < n && s[p.at + 1] == ')') return "()";
            p.atom = false;
            break;
        case '|':
            if (!p.at || p.at + 1 == n || s[p.at - 1] == '|' || s[p.at - 1] == '(' ||
                s[p.at + 1] == ')')
                return "an empty branch";
            p.atom = false;
            break;
        case '^':
        case '$': p.atom = false; break;
        default: p.atom = true;
        }
    }
    return p.why;
}

bool regex_fits(sql_exec *x, int position, value pattern, value text, bool any_case)
{
    assert(!pattern.null && !text.null);
    if (!pattern.n) return true;
    if (pattern.n > MAX_PATTERN || text.n > MAX_TEXT)
        sql_refuse(&x->c, position, "a regular expression or a text of this length");
    const char *why = foreign_part(pattern.s, pattern.n);
    if (why) sql_refuse(&x->c, position, "a regular expression with %s", why);
    const char *p = arena_text(&x->work, pattern.s, pattern.n);
    const char *t = arena_text(&x->work, text.s, text.n);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) guard_fail(x->c.guard, GUARD_NOMEM, "out of memory");
    locale_t before = uselocale(plain);
    regex_t r;
    int error = regcomp(&r, p, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0));
    int found = error ? REG_NOMATCH : regexec(&r, t, 0, NULL, 0);
    if (!error) regfree(&r);
    uselocale(before);
    freelocale(plain);
    if (error == REG_ESPACE || found == REG_ESPACE)
        guard_fail(x->c.guard, GUARD_NOMEM, "out of memory");
    if (error) sql_refuse(&x->c, position, "this regular expression");
    return !found;
}

/* Groups whose part of a match follows from the match of the whole: not nested, not repeated, and
   without branches. */
static const char *unclear_groups(const char *s, uint32_t n, int *groups)
{
    uint32_t open = 0;
    *groups = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i] == '\\') {
            i++;
        } else if (s[i] == '[') {
            pattern_reader p = {.s = s, .n = n, .at = i};
            read_brackets(&p);
            i = p.at;
        } else if (s[i] == '(') {
            if (open++) return "groups inside of each other";
            (*groups)++;
        } else if (s[i] == ')' && open) {
            open--;
            if (i + 1 < n && strchr("*+?{", s[i + 1])) return "a group that is repeated";
        } else if (s[i] == '|') {
            return "branches, where a part of the match is asked for";
        }
    }
    return *groups >= REGEX_GROUPS ? "more than nine groups" : NULL;
}

static bool is_ascii(value v)
{
    for (uint32_t i = 0; i < v.n; i++)
        if ((unsigned char)v.s[i] >= 0x80) return false;
    return true;
}

/* All matches in turn, or the first one; -1: out of memory. */
static int regex_walk(sql_exec *x, const regex_t *r, const char *t, uint32_t n, bool all,
                      int groups, regex_list *out)
{
    regmatch_t at[REGEX_GROUPS];
    for (uint32_t from = 0; from <= n;) {
        int found = regexec(r, t + from, REGEX_GROUPS, at, from ? REG_NOTBOL : 0);
        if (found == REG_ESPACE) return -1;
        if (found) return 0;
        regex_match m = {.groups = groups};
        for (int i = 0; i <= groups; i++) {
            bool set = at[i].rm_so >= 0;
            m.from[i] = set ? (int32_t)at[i].rm_so + (int32_t)from : -1;
            m.to[i] = set ? (int32_t)at[i].rm_eo + (int32_t)from : -1;
        }
        arena_push(&x->work, out, m);
        if (!all) return 0;
        from = (uint32_t)m.to[0] + (m.to[0] == m.from[0]);
    }
    return 0;
}

uint32_t regex_search(sql_exec *x, int position, value pattern, value text, bool any_case, bool all,
                      regex_match **out)
{
    regex_list found = {0};
    int groups = 0;
    assert(!pattern.null && !text.null);
    if (pattern.n > MAX_PATTERN || text.n > MAX_TEXT || !pattern.n)
        sql_refuse(&x->c, position, "a regular expression or a text of this length");
    const char *why = foreign_part(pattern.s, pattern.n);
    if (!why) why = unclear_groups(pattern.s, pattern.n, &groups);
    if (!why && (!is_ascii(pattern) || !is_ascii(text))) why = "other characters than ASCII";
    if (why) sql_refuse(&x->c, position, "a regular expression with %s", why);
    const char *p = arena_text(&x->work, pattern.s, pattern.n);
    const char *t = arena_text(&x->work, text.s, text.n);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) guard_fail(x->c.guard, GUARD_NOMEM, "out of memory");
    locale_t before = uselocale(plain);
    regex_t r;
    int error = regcomp(&r, p, REG_EXTENDED | (any_case ? REG_ICASE : 0)), walked = 0;
    if (!error) walked = regex_walk(x, &r, t, text.n, all, groups, &found);
    if (!error) regfree(&r);
    uselocale(before);
    freelocale(plain);
    if (error == REG_ESPACE || walked < 0) guard_fail(x->c.guard, GUARD_NOMEM, "out of memory");
    if (error) sql_refuse(&x->c, position, "this regular expression");
    *out = found.at;
    return (uint32_t)found.n;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_spaces(const char **at, const char *end)
{
    while (*at < end && is_space(**at)) (*at)++;
}

_Noreturn static void malformed(sql_exec *x)
{
    sql_raise(&x->c, "22P02", "malformed array literal");
}

void array_begin(sql_exec *x, int position, const char **at, const char *end)
{
    skip_spaces(at, end);
    if (*at < end && **at == '[') sql_refuse(&x->c, position, "an array with bounds");
    if (*at == end || **at != '{') malformed(x);
    (*at)++;
    skip_spaces(at, end);
    if (*at < end && **at == '}') *at = end; /* no item */
}

static value quoted_item(sql_exec *x, const char **at, const char *end)
{
    char *to = arena_get(&x->work, (size_t)(end - *at) + 1);
    size_t n = 0;
    for ((*at)++; *at < end && **at != '"'; (*at)++) {
        if (**at == '\\' && ++*at == end) malformed(x);
        to[n++] = **at;
    }
    if (*at == end) malformed(x);
    (*at)++;
    return value_text(to, n);
}

static value plain_item(sql_exec *x, const char **at, const char *end)
{
    char *to = arena_get(&x->work, (size_t)(end - *at) + 1);
    size_t n = 0, solid = 0;
    bool escaped = false;
    for (; *at < end && **at != ',' && **at != '}'; (*at)++) {
        if (**at == '"' || **at == '{') malformed(x);
        bool escape = **at == '\\';
        if (escape && ++*at == end) malformed(x);
        escaped |= escape;
        to[n++] = **at;
        if (escape || !is_space(**at)) solid = n;
    }
    if (!solid) malformed(x);
    bool null = !escaped && solid == 4 && (to[0] | 32) == 'n' && (to[1] | 32) == 'u' &&
                (to[2] | 32) == 'l' && (to[3] | 32) == 'l';
    return null ? value_null() : value_text(to, solid);
}

/* The next item; at the end `at` is `end`. */
bool array_item(sql_exec *x, int position, const char **at, const char *end, value *item)
{
    assert(*at <= end);
    if (*at == end) return false;
    skip_spaces(at, end);
    if (*at < end && **at == '{') sql_refuse(&x->c, position, "an array of arrays");
    if (*at == end) malformed(x);
    *item = **at == '"' ? quoted_item(x, at, end) : plain_item(x, at, end);
    skip_spaces(at, end);
    if (*at == end || (**at != ',' && **at != '}')) malformed(x);
    bool last = **at == '}';
    (*at)++;
    if (!last) return true;
    skip_spaces(at, end);
    if (*at != end) malformed(x);
    return true;
}

void array_check(sql_exec *x, int position, value array, type_id of)
{
    const char *at = array.s, *end = array.s + array.n;
    value item;
    array_begin(x, position, &at, end);
    while (array_item(x, position, &at, end, &item))
        if (!item.null) value_parse(&x->c, type_plain(of), item.s, item.n);
}
