/*
 * sql_words.c - splits a text into statements and tells those that control transactions.
 *
 * The lexical rules are those of PostgreSQL's manual, chapter "Lexical Structure": strings with
 * doubled quotes, E'...' with escapes, dollar quotes, quoted names, comments (the second kind
 * nests).  A semicolon inside parentheses ends nothing, as in CREATE RULE; nor inside the body that
 * follows BEGIN ATOMIC.
 */
#include "trace/sql_words.h"

#include <assert.h>
#include <string.h>

typedef enum token {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_STRING,
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_OTHER
} token;

typedef struct lexer {
    const char *at, *end;
    const char *from; /* of the last token */
    bool escapes;     /* backslashes count in plain strings */
    bool mysql;       /* its rules: "..." is a string, `...` a name, # begins a comment */
} lexer;

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool word_part(char c)
{
    return letter(c) || (c >= '0' && c <= '9') || c == '$';
}

/* Comments that MariaDB and MySQL run. */
static bool comment_runs(const char *at, const char *end)
{
    return end - at > 2 && at[0] == '/' && at[1] == '*' && (at[2] == '!' || at[2] == 'M');
}

static void skip_comment(lexer *l)
{
    int depth = 0;
    do {
        bool two = l->end - l->at > 1;
        bool opens = two && l->at[0] == '/' && l->at[1] == '*';
        bool closes = two && l->at[0] == '*' && l->at[1] == '/';
        depth += opens && !(l->mysql && depth) ? 1 : closes ? -1 : 0;
        l->at += opens || closes ? 2 : 1;
    } while (depth && l->at < l->end);
}

static void skip_blanks(lexer *l)
{
    while (l->at < l->end) {
        char c = *l->at;
        bool two = l->end - l->at > 1;
        if (c == ' ' || (c >= '\t' && c <= '\r'))
            l->at++;
        else if ((two && c == '-' && l->at[1] == '-') || (c == '#' && l->mysql))
            while (l->at < l->end && *l->at != '\n' && *l->at != '\r') l->at++;
        else if (two && c == '/' && l->at[1] == '*' && !(l->mysql && comment_runs(l->at, l->end)))
            skip_comment(l);
        else
            return;
    }
}

/* From a quote to after the one that closes it. */
static void skip_quoted(lexer *l, bool escapes)
{
    char quote = *l->at++;
    while (l->at < l->end) {
        char c = *l->at++;
        if (c == '\\' && escapes && l->at < l->end)
            l->at++;
        else if (c == quote && (l->at == l->end || *l->at != quote))
            return;
        else if (c == quote)
            l->at++;
    }
}

/* From a $ that may begin a dollar quote to after its end; false: it begins none. */
static bool skip_dollars(lexer *l)
{
    const char *tag = l->at + 1;
    while (tag < l->end && word_part(*tag) && *tag != '$') tag++;
    bool digit = l->at + 1 < l->end && l->at[1] >= '0' && l->at[1] <= '9';
    if (tag == l->end || *tag != '$' || digit) return false;
    size_t n = (size_t)(tag + 1 - l->at);
    const char *p = tag + 1;
    while ((size_t)(l->end - p) >= n) {
        if (!memcmp(p, l->at, n)) {
            l->at = p + n;
            return true;
        }
        p++;
        p = memchr(p, '$', (size_t)(l->end - p));
        if (!p) break;
    }
    l->at = l->end;
    return true;
}

static token next_token(lexer *l)
{
    skip_blanks(l);
    l->from = l->at;
    if (l->at == l->end) return TOKEN_END;
    char c = *l->at;
    bool two = l->end - l->at > 1;
    if (two && (c == 'e' || c == 'E') && l->at[1] == '\'' && !l->mysql) {
        l->at++;
        skip_quoted(l, true);
        return TOKEN_STRING;
    }
    if (c == '\'' || (c == '"' && l->mysql)) {
        skip_quoted(l, l->escapes);
        return TOKEN_STRING;
    }
    if (c == '"' || (c == '`' && l->mysql)) {
        skip_quoted(l, false);
        return TOKEN_NAME;
    }
    if (c == '$' && !l->mysql && skip_dollars(l)) return TOKEN_STRING;
    if (letter(c)) {
        while (l->at < l->end && word_part(*l->at)) l->at++;
        return TOKEN_WORD;
    }
    bool number = c >= '0' && c <= '9';
    l->at++;
    if (number || c == '$') /* $1 is a parameter */
        while (l->at < l->end && (word_part(*l->at) || *l->at == '.')) l->at++;
    return number ? TOKEN_NUMBER : TOKEN_OTHER;
}

static bool token_is(const lexer *l, token t, const char *lower)
{
    size_t n = strlen(lower);
    if (t != TOKEN_WORD || (size_t)(l->at - l->from) != n) return false;
    for (size_t i = 0; i < n; i++)
        if ((l->from[i] | 32) != (lower[i] | 32)) return false; /* _ | 32 is still no letter */
    return true;
}

/* The level after ISOLATION LEVEL, TO or =, in a word or a string of two words. */
static const char *isolation_at(lexer *l)
{
    static const char *const names[] = {"serializable", "repeatable", "committed", "uncommitted"};
    static const char *const levels[] = {"serializable", "repeatable read", "read committed",
                                         "read uncommitted"};
    lexer in = *l;
    for (int words = 0; words < 2; words++) {
        token t = next_token(&in);
        lexer inner = in;
        if (t == TOKEN_STRING && in.at - in.from > 2) {
            inner = (lexer){.at = in.from + 1, .end = in.at - 1};
            t = next_token(&inner);
            if (token_is(&inner, t, "read")) t = next_token(&inner);
        }
        for (int i = 0; i < 4; i++)
            if (token_is(&inner, t, names[i])) return levels[i];
        if (!token_is(&in, t, "read")) return NULL;
    }
    return NULL;
}

/* ... ISOLATION LEVEL x ... */
static const char *named_isolation(lexer l)
{
    for (token t; (t = next_token(&l)) != TOKEN_END;) {
        if (!token_is(&l, t, "isolation")) continue;
        t = next_token(&l);
        if (token_is(&l, t, "level")) return isolation_at(&l);
    }
    return NULL;
}

static void classify_set(sql_part *p, lexer l)
{
    token t = next_token(&l);
    if (token_is(&l, t, "local")) return; /* of this transaction: kept as a statement */
    if (token_is(&l, t, "transaction")) {
        p->isolation = named_isolation(l);
        return;
    }
    bool session = token_is(&l, t, "session");
    if (session) t = next_token(&l);
    if (session && token_is(&l, t, "characteristics")) {
        p->isolation = named_isolation(l);
    } else if (token_is(&l, t, "default_transaction_isolation")) {
        next_token(&l); /* TO or = */
        p->isolation = isolation_at(&l);
        if (!p->isolation && token_is(&l, next_token(&l), "default")) p->kind = SQL_RESET_ISOLATION;
    }
    if (p->isolation) p->kind = SQL_SET_ISOLATION;
}

/* RESET ALL, RESET default_transaction_isolation, DISCARD ALL. */
static void classify_reset(sql_part *p, lexer l)
{
    token t = next_token(&l);
    if (token_is(&l, t, "all") || token_is(&l, t, "default_transaction_isolation"))
        p->kind = SQL_RESET_ISOLATION;
}

/* Does the name of a setting about isolation occur anywhere, in strings as well? */
static bool names_isolation(const char *at, size_t n)
{
    static const char word[] = "transaction_isolation";
    size_t length = sizeof word - 1;
    const char *end = at + n;
    for (const char *p = at; (p = memchr(p, '_', (size_t)(end - p))); p++) {
        if (p - at < 11 || end - p < 10) continue;
        size_t i = 0;
        while (i < length && (p[(ptrdiff_t)i - 11] | 32) == (word[i] | 32)) i++;
        if (i == length) return true;
    }
    return false;
}

static void classify_end(sql_part *p, lexer l, bool commit)
{
    p->kind = commit ? SQL_COMMIT : SQL_ROLLBACK;
    bool no = false, and = false;
    for (token t; (t = next_token(&l)) != TOKEN_END;) {
        if (token_is(&l, t, "to")) p->kind = SQL_OTHER; /* a savepoint */
        if (token_is(&l, t, "prepared")) p->kind = SQL_END_PREPARED;
        if (token_is(&l, t, "and")) and = true;
        if (token_is(&l, t, "no")) no = true;
        if (token_is(&l, t, "chain")) p->chain = and&&!no;
    }
}

/* A name as the server has it: folded, unless it is quoted, and cut; false: it is written in a way
   that is not read. */
static bool read_name(const lexer *l, token t, char *to)
{
    size_t n = 0;
    bool quoted = t == TOKEN_NAME;
    const char *at = l->from + quoted, *end = l->at - quoted;
    if ((t != TOKEN_WORD && !quoted) || at >= end) return false;
    for (; at < end && n < SQL_NAME - 1; at++) {
        if (quoted && *at == '"') at++;
        to[n++] = (char)(!quoted && *at >= 'A' && *at <= 'Z' ? *at | 32 : *at);
    }
    to[n] = 0;
    return at == end && !(!quoted && n == 1 && *to == 'u'); /* U&"..." begins with a word */
}

/* DEALLOCATE [PREPARE] name or ALL, DISCARD ALL, PREPARE name. */
static void classify_forgets(sql_part *p, lexer l, token t)
{
    bool discard = token_is(&l, t, "discard"), prepare = token_is(&l, t, "prepare");
    if (!discard && !prepare && !token_is(&l, t, "deallocate")) return;
    t = next_token(&l);
    if (!discard && !prepare && token_is(&l, t, "prepare")) t = next_token(&l);
    bool all = token_is(&l, t, "all"), one = !discard && (prepare || !all);
    if (one)
        p->forgets = read_name(&l, t, p->name) ? SQL_FORGETS_ONE : SQL_FORGETS_ALL;
    else if (all)
        p->forgets = SQL_FORGETS_ALL;
}

bool sql_comment_says(const char *at, size_t n, const char *lower)
{
    size_t length = strlen(lower);
    bool runs = false;
    for (size_t i = 0; i < n; i++) {
        runs |= comment_runs(at + i, at + n);
        size_t same = 0;
        while (runs && same < length && i + same < n && (at[i + same] | 32) == lower[same]) same++;
        if (runs && same == length) return true;
    }
    return false;
}

/* Not BEGIN NOT ATOMIC, which MariaDB runs as a body, nor START SLAVE. */
static bool begins_block(const sql_part *p, lexer l, token t)
{
    bool begin = token_is(&l, t, "begin");
    if (!begin && !token_is(&l, t, "start")) return false;
    t = next_token(&l);
    if (!begin) return token_is(&l, t, "transaction");
    return !token_is(&l, t, "not") && !sql_comment_says(p->at, p->n, "atomic");
}

static void classify(sql_part *p)
{
    lexer l = {.at = p->at, .end = p->at + p->n};
    token t = next_token(&l);
    p->kind = SQL_OTHER;
    classify_forgets(p, l, t);
    p->moves = token_is(&l, t, "fetch") || token_is(&l, t, "move") || token_is(&l, t, "close");
    if (begins_block(p, l, t)) {
        p->kind = SQL_BEGIN;
        p->isolation = named_isolation(l);
    } else if (token_is(&l, t, "commit") || token_is(&l, t, "end")) {
        classify_end(p, l, true);
    } else if (token_is(&l, t, "rollback") || token_is(&l, t, "abort")) {
        classify_end(p, l, false);
    } else if (token_is(&l, t, "set")) {
        classify_set(p, l);
        p->may_set_isolation = p->kind == SQL_OTHER && names_isolation(p->at, p->n);
    } else if (token_is(&l, t, "reset") || token_is(&l, t, "discard")) {
        classify_reset(p, l);
    } else if (token_is(&l, t, "select") || token_is(&l, t, "do")) {
        p->may_set_isolation = names_isolation(p->at, p->n);
    } else if (token_is(&l, t, "alter")) { /* DATABASE, ROLE, SYSTEM */
        p->sets_default = names_isolation(p->at, p->n);
    } else if (token_is(&l, t, "prepare")) {
        p->names_later = true;
        t = next_token(&l);
        if (token_is(&l, t, "transaction") && next_token(&l) == TOKEN_STRING)
            p->kind = SQL_PREPARE_TRANSACTION;
    } else if (token_is(&l, t, "declare")) {
        p->names_later = true;
    } else if (token_is(&l, t, "execute") || token_is(&l, t, "fetch")) {
        p->runs_earlier = true;
    }
}

static lexer lexer_of(const char *at, const char *end, sql_rules rules)
{
    return (lexer){.at = at,
                   .end = end,
                   .escapes = rules != SQL_RULES_STANDARD,
                   .mysql = rules == SQL_RULES_MYSQL};
}

bool sql_next(const char **at, const char *end, sql_rules rules, sql_part *out)
{
    lexer l = lexer_of(*at, end, rules);
    const char *first = NULL, *last = NULL;
    int depth = 0, body = 0;
    bool begins = false;
    memset(out, 0, sizeof *out);
    for (;;) {
        token t = next_token(&l);
        if (t == TOKEN_END) break;
        if (t == TOKEN_OTHER && *l.from == ';' && depth <= 0 && !body) {
            if (first) break;
            continue;
        }
        depth += t == TOKEN_OTHER && *l.from == '(';
        depth -= t == TOKEN_OTHER && *l.from == ')';
        if (begins && token_is(&l, t, "atomic")) body = 1;
        if (body && token_is(&l, t, "case")) body++;
        if (body && token_is(&l, t, "end")) body--;
        begins = first && token_is(&l, t, "begin");
        if (!first) first = l.from;
        last = l.at;
    }
    *at = l.at;
    if (!first) return false;
    out->at = first;
    out->n = (size_t)(last - first);
    classify(out);
    return true;
}

bool sql_mentions(const char *at, size_t n, const char *word)
{
    lexer l = {.at = at, .end = at + n};
    size_t length = strlen(word);
    for (token t; (t = next_token(&l)) != TOKEN_END;) {
        if (token_is(&l, t, word)) return true;
        bool quoted = t == TOKEN_NAME && (size_t)(l.at - l.from) == length + 2;
        if (quoted && !memcmp(l.from + 1, word, length)) return true;
    }
    return false;
}

/* From the first token of an assignment of SET to after its last; false: another one than those of
   the connection. */
static bool skip_connection_setting(lexer *l, token t, token *after)
{
    static const char *const settings[] = {"autocommit",
                                           "sql_auto_is_null",
                                           "character_set_client",
                                           "character_set_results",
                                           "character_set_connection",
                                           "collation_connection",
                                           "wait_timeout",
                                           "interactive_timeout",
                                           "net_read_timeout",
                                           "net_write_timeout",
                                           "lock_wait_timeout",
                                           "innodb_lock_wait_timeout",
                                           "session_track_schema",
                                           "session_track_system_variables",
                                           "lc_messages",
                                           "profiling"};
    bool known = false;
    while (t == TOKEN_OTHER && *l->from == '@') t = next_token(l);
    bool scope = token_is(l, t, "session") || token_is(l, t, "local");
    if (scope) t = next_token(l);
    if (scope && t == TOKEN_OTHER && *l->from == '.') t = next_token(l);
    if (!scope && token_is(l, t, "names")) {
        t = next_token(l);
        if (t != TOKEN_WORD && t != TOKEN_STRING) return false;
        *after = next_token(l);
        if (!token_is(l, *after, "collate")) return true;
        t = next_token(l);
        *after = next_token(l);
        return t == TOKEN_WORD || t == TOKEN_STRING;
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        known |= token_is(l, t, settings[i]);
    t = next_token(l);
    if (t == TOKEN_OTHER && *l->from == ':') t = next_token(l);
    if (!known || t != TOKEN_OTHER || *l->from != '=') return false;
    t = next_token(l);
    *after = next_token(l);
    return t == TOKEN_WORD || t == TOKEN_STRING || t == TOKEN_NUMBER;
}

bool sql_sets_connection(const char *at, size_t n)
{
    lexer l = lexer_of(at, at + n, SQL_RULES_MYSQL);
    token t = next_token(&l);
    if (!token_is(&l, t, "set")) return false;
    do
        if (!skip_connection_setting(&l, next_token(&l), &t)) return false;
    while (t == TOKEN_OTHER && *l.from == ',');
    return t == TOKEN_END;
}

void sql_number_marks(const char *at, size_t n, strbuf *out)
{
    lexer l = lexer_of(at, at + n, SQL_RULES_MYSQL);
    const char *kept = at;
    unsigned marks = 0;
    for (token t; (t = next_token(&l)) != TOKEN_END;) {
        if (t != TOKEN_OTHER || *l.from != '?') continue;
        strbuf_add(out, kept, (size_t)(l.from - kept));
        strbuf_printf(out, "$%u", ++marks);
        kept = l.at;
    }
    strbuf_add(out, kept, (size_t)(at + n - kept));
}

const char *sql_isolation_in(const char *at, size_t n)
{
    static const char *const names[] = {"serializable", "repeatable", "committed", "uncommitted"};
    static const char *const levels[] = {"serializable", "repeatable read", "read committed",
                                         "read uncommitted"};
    const char *level = NULL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 4; k++) {
            size_t length = strlen(names[k]), same = 0;
            while (same < length && i + same < n && (at[i + same] | 32) == names[k][same]) same++;
            bool apart = !i || !letter(at[i - 1]);
            if (same == length && apart) level = levels[k];
        }
    return level;
}

/* From after the tag of a dollar quote to before it; of another string, between its quotes. */
static void literal_body(const char **from, const char **to)
{
    const char *at = *from, *end = *to;
    if (*at == '$') {
        size_t tag = (size_t)((const char *)memchr(at + 1, '$', (size_t)(end - at) - 1) - at) + 1;
        *from = at + tag;
        *to = (size_t)(end - at) >= 2 * tag ? end - tag : end;
        return;
    }
    at += *at != '\'' && *at != '"'; /* E'...' */
    *from = at + 1;
    *to = end - at > 1 && end[-1] == *at ? end - 1 : end;
}

bool sql_next_literal(const char **at, const char *end, sql_rules rules, strbuf *out)
{
    lexer l = lexer_of(*at, end, rules);
    token t;
    do t = next_token(&l);
    while (t != TOKEN_STRING && t != TOKEN_NUMBER && t != TOKEN_END);
    *at = l.at;
    out->n = 0;
    if (t == TOKEN_END) return false;
    const char *from = l.from, *to = l.at;
    char quote = *from == '"' ? '"' : '\'';
    bool dollars = *from == '$';
    if (t == TOKEN_STRING) literal_body(&from, &to);
    if (dollars) *at = from; /* the body of a function has strings of its own */
    for (; from < to; from++) {
        strbuf_char(out, *from);
        if (t == TOKEN_STRING && !dollars && *from == quote && from + 1 < to && from[1] == quote)
            from++;
    }
    return true;
}

void sql_hide_values(const char *at, size_t n, sql_rules rules, strbuf *out)
{
    lexer l = lexer_of(at, at + n, rules);
    const char *kept = at;
    for (token t; (t = next_token(&l)) != TOKEN_END;) {
        if (t != TOKEN_STRING && t != TOKEN_NUMBER) continue;
        strbuf_add(out, kept, (size_t)(l.from - kept));
        strbuf_str(out, t == TOKEN_STRING ? "'***'" : "0");
        kept = l.at;
    }
    strbuf_add(out, kept, (size_t)(at + n - kept));
}
