/*
 * format_calls.c - format(), quoting, and functions of regular expressions.
 *
 * Regular expressions are those of sql_pattern.c: what POSIX and PostgreSQL may read in two ways is
 * refused, and so are groups whose part of a match would depend on more than the whole pattern.
 */
#include <assert.h>

#include "sql/builtin.h"
#include "sql/sql_array.h"
#include "sql/sql_text.h"

/* Words that PostgreSQL quotes where a name stands; sorted. */
static const char *const key_words[] = {
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
};

bool sql_is_key_word(const char *s, size_t n)
{
    size_t from = 0, to = sizeof key_words / sizeof key_words[0];
    while (from < to) {
        size_t mid = (from + to) / 2, k = strlen(key_words[mid]);
        int c = memcmp(key_words[mid], s, k < n ? k : n);
        if (!c) c = k < n ? -1 : k > n;
        if (!c) return true;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return false;
}

static void put_name(strbuf *b, const char *s, size_t n)
{
    bool plain = n && (s[0] == '_' || (s[0] >= 'a' && s[0] <= 'z'));
    for (size_t i = 0; i < n; i++)
        plain &= s[i] == '_' || (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9');
    if (plain && !sql_is_key_word(s, n)) {
        strbuf_add(b, s, n);
        return;
    }
    strbuf_char(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') strbuf_char(b, '"');
        strbuf_char(b, s[i]);
    }
    strbuf_char(b, '"');
}

static void put_literal(strbuf *b, const char *s, size_t n)
{
    if (n && memchr(s, '\\', n)) strbuf_char(b, 'E');
    strbuf_char(b, '\'');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\'' || s[i] == '\\') strbuf_char(b, s[i]);
        strbuf_char(b, s[i]);
    }
    strbuf_char(b, '\'');
}

static value text_made(sql_exec *x, strbuf *b)
{
    value r = value_text(arena_text(&x->work, b->n ? b->at : "", b->n), b->n);
    strbuf_free(b);
    return r;
}

static value quote_ident(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    strbuf b;
    (void)e;
    strbuf_init(&b, x->work.mem);
    put_name(&b, v[0].s, v[0].n);
    return text_made(x, &b);
}

static value quote_literal(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1);
    strbuf b;
    (void)e;
    if (v[0].null) return value_text("NULL", 4); /* of quote_nullable alone */
    strbuf_init(&b, x->work.mem);
    put_literal(&b, v[0].s, v[0].n);
    return text_made(x, &b);
}

/* ---- format ---------------------------------------------------------------------------------- */

typedef struct format_item {
    uint32_t arg; /* 0: the next one */
    uint32_t width;
    bool left;
    char kind;
} format_item;

_Noreturn static void format_wrong(sql_exec *x, strbuf *b, const char *why)
{
    strbuf_free(b);
    sql_raise(&x->c, "22023", "%s", why);
}

/* A number of a few digits, or 0. */
static uint32_t format_number(value f, uint32_t *at)
{
    uint32_t n = 0;
    while (*at < f.n && f.s[*at] >= '0' && f.s[*at] <= '9' && n < 100000)
        n = n * 10 + (uint32_t)(f.s[(*at)++] - '0');
    return n;
}

/* What stands after '%': [n$][-][width]kind. */
static format_item read_item(sql_exec *x, const expr *e, value f, uint32_t *at, strbuf *b)
{
    format_item item = {0, 0, false, 0};
    uint32_t from = *at, n = format_number(f, at);
    if (*at < f.n && f.s[*at] == '$' && *at > from) {
        if (!n) format_wrong(x, b, "format specifies argument 0");
        item.arg = n;
        (*at)++;
    } else {
        *at = from;
    }
    while (*at < f.n && f.s[*at] == '-') item.left = true, (*at)++;
    item.width = format_number(f, at);
    if (*at >= f.n) format_wrong(x, b, "unterminated format() type specifier");
    item.kind = f.s[(*at)++];
    if (item.kind == '*' || item.width > 10000) {
        strbuf_free(b);
        sql_refuse(&x->c, e->position, "format with a width of this kind");
    }
    if (item.kind != 's' && item.kind != 'I' && item.kind != 'L')
        format_wrong(x, b, "unrecognized format() type specifier");
    return item;
}

static void put_item(sql_exec *x, format_item item, type_id t, value v, strbuf *b)
{
    strbuf raw, done;
    assert(item.kind == 's' || item.kind == 'I' || item.kind == 'L');
    strbuf_init(&raw, x->work.mem);
    strbuf_init(&done, x->work.mem);
    if (!v.null) value_write(&x->c, t, v, &raw);
    const char *s = raw.n ? raw.at : "";
    if (item.kind == 'I')
        put_name(&done, s, raw.n);
    else if (item.kind == 'L' && v.null)
        strbuf_str(&done, "NULL");
    else if (item.kind == 'L')
        put_literal(&done, s, raw.n);
    else
        strbuf_add(&done, s, raw.n);
    value shown = value_text(done.n ? done.at : "", done.n);
    size_t length = text_length(shown);
    for (size_t i = length; !item.left && i < item.width; i++) strbuf_char(b, ' ');
    strbuf_add(b, shown.s, shown.n);
    for (size_t i = length; item.left && i < item.width; i++) strbuf_char(b, ' ');
    strbuf_free(&raw);
    strbuf_free(&done);
}

static value format(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 1);
    value f = v[0];
    uint32_t next = 1;
    strbuf b;
    if (f.null) return f;
    strbuf_init(&b, x->work.mem);
    for (uint32_t i = 0; i < f.n;) {
        if (f.s[i] != '%') {
            strbuf_char(&b, f.s[i++]);
            continue;
        }
        if (++i >= f.n) format_wrong(x, &b, "unterminated format() type specifier");
        if (f.s[i] == '%') {
            strbuf_char(&b, f.s[i++]);
            continue;
        }
        format_item item = read_item(x, e, f, &i, &b);
        uint32_t at = item.arg ? item.arg : next;
        next = at + 1;
        if (at >= e->n) format_wrong(x, &b, "too few arguments for format()");
        type_id t = e->arg[at]->t.id;
        bool zoned = t == T_STAMPTZ && x->c.zone != ZONE_UTC;
        if (zoned || (item.kind == 'I' && v[at].null)) {
            strbuf_free(&b);
            if (zoned) sql_refuse(&x->c, e->position, "what depends on the session's time zone");
            sql_raise(&x->c, "22004", "null values cannot be formatted as an SQL identifier");
        }
        put_item(x, item, t, v[at], &b);
    }
    return text_made(x, &b);
}

/* ---- regular expressions --------------------------------------------------------------------- */

/* Letters of the flags that are known: g for all matches, i for any case. */
static void read_flags(sql_exec *x, const expr *e, value flags, bool *all, bool *any_case)
{
    for (uint32_t i = 0; i < flags.n; i++) {
        *all |= flags.s[i] == 'g';
        *any_case |= flags.s[i] == 'i';
        if (flags.s[i] != 'g' && flags.s[i] != 'i')
            sql_refuse(&x->c, e->position, "a regular expression with this flag");
    }
}

static void put_replacement(sql_exec *x, const expr *e, const regex_match *m, value text,
                            value with, strbuf *b)
{
    for (uint32_t i = 0; i < with.n; i++) {
        if (with.s[i] != '\\') {
            strbuf_char(b, with.s[i]);
            continue;
        }
        char c = i + 1 < with.n ? with.s[i + 1] : 0;
        i++;
        if (c == '\\') {
            strbuf_char(b, c);
        } else if (c == '&' || (c >= '1' && c <= '9')) {
            int k = c == '&' ? 0 : c - '0';
            if (k <= m->groups && m->from[k] >= 0)
                strbuf_add(b, text.s + m->from[k], (size_t)(m->to[k] - m->from[k]));
        } else {
            strbuf_free(b);
            sql_refuse(&x->c, e->position, "a replacement with this escape");
        }
    }
}

static value regexp_replace(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 3 && e->n <= 4);
    bool all = false, any_case = false;
    value text = v[0];
    if (e->n > 3) read_flags(x, e, v[3], &all, &any_case);
    regex_match *found;
    uint32_t n = regex_search(x, e->position, v[1], text, any_case, all, &found);
    strbuf b;
    strbuf_init(&b, x->work.mem);
    int32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const regex_match *m = &found[i];
        assert(m->from[0] >= at && m->to[0] >= m->from[0]);
        strbuf_add(&b, text.s + at, (size_t)(m->from[0] - at));
        put_replacement(x, e, m, text, v[2], &b);
        at = m->to[0];
        if (b.n > UINT32_MAX / 8) {
            strbuf_free(&b);
            sql_refuse(&x->c, e->position, "a text of this length");
        }
    }
    strbuf_add(&b, text.s + at, text.n - (uint32_t)at);
    return text_made(x, &b);
}

static value group_text(const regex_match *m, int k, value text)
{
    if (m->from[k] < 0) return value_null();
    return value_text(text.s + m->from[k], (size_t)(m->to[k] - m->from[k]));
}

static value regexp_match(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 2 && e->n <= 3);
    bool all = false, any_case = false;
    if (e->n > 2) read_flags(x, e, v[2], &all, &any_case);
    if (all) sql_raise(&x->c, "22023", "regexp_match() does not support the \"global\" option");
    regex_match *m;
    if (!regex_search(x, e->position, v[1], v[0], any_case, false, &m)) return value_null();
    value items[REGEX_GROUPS];
    int n = m->groups ? m->groups : 1;
    for (int i = 0; i < n; i++) items[i] = group_text(m, m->groups ? i + 1 : 0, v[0]);
    return array_make(&x->work, T_TEXT, items, (size_t)n);
}

/* substring(text from pattern): the first group, or the whole match. */
static value matched_part(sql_exec *x, const expr *e, const value *v)
{
    regex_match *m;
    assert(e->n == 2 && !v[0].null && !v[1].null);
    if (!regex_search(x, e->position, v[1], v[0], false, false, &m)) return value_null();
    return group_text(m, m->groups ? 1 : 0, v[0]);
}

static value split_text(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2);
    VEC(value) items = {0};
    value s = v[0], by = v[1];
    (void)e;
    if (s.null) return value_null();
    if (!s.n) return array_make(&x->work, T_TEXT, NULL, 0);
    if (by.null) sql_refuse(&x->c, e->position, "string_to_array without a separator");
    uint32_t from = 0;
    for (uint32_t i = 0; by.n && i + by.n <= s.n;) {
        guard_tick(x->c.guard);
        if (memcmp(s.s + i, by.s, by.n) != 0) {
            i++;
            continue;
        }
        arena_push(&x->work, &items, value_text(s.s + from, i - from));
        from = i += by.n;
    }
    arena_push(&x->work, &items, value_text(s.s + from, s.n - from));
    return array_make(&x->work, T_TEXT, items.at, items.n);
}

/* Empty matches where a piece would begin, or at the end, do not split. */
static value regexp_split(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n >= 2 && e->n <= 3);
    bool all = false, any_case = false;
    VEC(value) items = {0};
    if (e->n > 2) read_flags(x, e, v[2], &all, &any_case);
    if (all) sql_raise(&x->c, "22023", "regexp_split_to_array() does not support \"global\"");
    regex_match *found;
    uint32_t n = regex_search(x, e->position, v[1], v[0], any_case, true, &found);
    int32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const regex_match *m = &found[i];
        if (m->from[0] == m->to[0]) sql_refuse(&x->c, e->position, "a split at what may be empty");
        arena_push(&x->work, &items, value_text(v[0].s + at, (size_t)(m->from[0] - at)));
        at = m->to[0];
    }
    arena_push(&x->work, &items, value_text(v[0].s + at, v[0].n - (uint32_t)at));
    return array_make(&x->work, T_TEXT, items.at, items.n);
}

const builtin format_builtins[] = {
    {"regexp_split_to_array", "tt>T", regexp_split, 0},
    {"regexp_split_to_array", "ttt>T", regexp_split, 0},
    {"format", "t*...>t", format, BUILTIN_STABLE | BUILTIN_NULLS},
    {"quote_ident", "t>t", quote_ident, 0},
    {"quote_literal", "t>t", quote_literal, 0},
    {"quote_nullable", "t>t", quote_literal, BUILTIN_NULLS},
    {"regexp_replace", "ttt>t", regexp_replace, 0},
    {"regexp_replace", "tttt>t", regexp_replace, 0},
    {"regexp_match", "tt>T", regexp_match, 0},
    {"regexp_match", "ttt>T", regexp_match, 0},
    {"substring", "tt>t", matched_part, 0},
    {"string_to_array", "tt>T", split_text, BUILTIN_NULLS},
    {NULL, NULL, NULL, 0},
};
