/*
 * key_statement.c - recognises the statements of key_statement.h, whatever their case and spaces.
 *
 * A statement that differs in anything is KEY_NONE: it is run as SQL and not taken for an operation
 * on a key, since a history that says something else than what was run would be worse than none.
 */
#include "step/key_statement.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void pass_spaces(const char **p)
{
    while (**p && strchr(" \t\r\n;", **p)) (*p)++;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

/* Words and signs with spaces between them, `#` standing for a whole number. */
static bool matches(const char *sql, const char *pattern, int64_t *numbers)
{
    for (;;) {
        pass_spaces(&sql);
        while (*pattern == ' ') pattern++;
        if (!*pattern) return !*sql;
        size_t n = strcspn(pattern, " ");
        if (*pattern == '#') {
            char *end;
            errno = 0;
            long long v = strtoll(sql, &end, 10);
            if (end == sql || errno || in_word(*end) || *end == '.') return false;
            *numbers++ = v;
            sql = end;
        } else {
            if (strncasecmp(sql, pattern, n) != 0) return false;
            if (in_word(pattern[n - 1]) && in_word(sql[n])) return false;
            sql += n;
        }
        pattern += n;
    }
}

key_statement key_statement_of(const char *sql)
{
    static const struct {
        const char *pattern;
        enum key_action action;
        bool lock;
    } forms[] = {
        {"select id , value from test where id = #", KEY_GET, false},
        {"select id , value from test where id = # for update", KEY_GET, true},
        {"select id , value from test order by id", KEY_RANGE, false},
        {"select id , value from test where id between # and # order by id", KEY_RANGE, false},
        {"update test set value = # where id = #", KEY_UPDATE, false},
        {"insert into test values ( # , # )", KEY_INSERT, false},
        {"insert into test ( id , value ) values ( # , # )", KEY_INSERT, false},
        {"delete from test where id = #", KEY_DELETE, false},
        {"insert into test values ( # , # ) on conflict (id) do update set value = excluded.value",
         KEY_PUT, false},
        {"insert into test values ( # , # ) on duplicate key update value = values(value)", KEY_PUT,
         false},
        {"update test set value = value || ' # ' where id = #", KEY_APPEND, false},
        {"update test set value = concat ( value , ' # ' ) where id = #", KEY_APPEND, false},
        {"begin", KEY_BEGIN, false},
        {"commit", KEY_COMMIT, false},
        {"rollback", KEY_ABORT, false},
        {"abort", KEY_ABORT, false},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int64_t v[2] = {KEY_LEAST, KEY_PAST - 1};
        if (!matches(sql, forms[i].pattern, v)) continue;
        key_statement k = {.action = forms[i].action, .lock = forms[i].lock, .key = v[0]};
        if (k.action == KEY_RANGE) {
            if (v[1] == INT64_MAX) return (key_statement){0};
            k.to = v[1] + 1;
        } else if (k.action == KEY_UPDATE || k.action == KEY_APPEND) {
            k.key = v[1];
            k.value = v[0];
        } else {
            k.value = v[1];
        }
        return k;
    }
    return (key_statement){0};
}
