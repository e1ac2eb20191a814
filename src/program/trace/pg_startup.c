/*
 * pg_startup.c - the parameters of PostgreSQL's startup message, and its command-line options.
 *
 * A name of a setting may be in any case, and in `--name` its underscores may be dashes.  A setting
 * that is named twice has its last value; which of the message's parameters and its options comes
 * last is the server's affair, so that of two isolations the weakest that PostgreSQL has is taken.
 */
#include "trace/pg_startup.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "trace/wire.h"

#define WEAKEST "read committed" /* READ UNCOMMITTED is the same there */

void pg_startup_set(strbuf *to, const char *name, const char *value)
{
    strbuf_printf(to, "SET %s TO '", name);
    for (const char *p = value; *p; p++) {
        if (*p == '\'') strbuf_char(to, '\'');
        strbuf_char(to, *p);
    }
    strbuf_char(to, '\'');
    strbuf_char(to, 0);
}

/* A value that is not known may be any. */
static const char *isolation_of(const char *value)
{
    static const char *const levels[] = {"serializable", "repeatable read", "read committed",
                                         "read uncommitted"};
    for (int i = 0; i < 4; i++)
        if (!strcasecmp(value, levels[i])) return levels[i];
    return WEAKEST;
}

static void read_isolation(pg_startup *to, const char *value)
{
    const char *level = isolation_of(value);
    bool other = to->isolation && strcmp(to->isolation, level) != 0;
    to->isolation = other ? WEAKEST : level;
}

/* As the server reads it: any beginning of true, false, yes and no; on, off, 1 and 0. */
static bool is_off(const char *value)
{
    size_t n = strlen(value);
    if (!n) return false;
    return !strncasecmp(value, "false", n) || !strncasecmp(value, "no", n) ||
           (n > 1 && !strncasecmp(value, "off", n)) || !strcmp(value, "0");
}

static void read_setting(pg_startup *to, const char *name, const char *value)
{
    /* those that the server reports are read from its reports, the others change no answer */
    static const char *const known[] = {
        "application_name", "client_encoding", "DateStyle", "IntervalStyle",
        "lc_messages",      "TimeZone",        "user",      "database",
        "replication",      "options",         NULL};
    for (int i = 0; known[i]; i++)
        if (!strcasecmp(name, known[i])) return;
    if (!strcasecmp(name, "standard_conforming_strings") || !strncmp(name, "_pq_.", 5)) return;
    if (!strcasecmp(name, "default_transaction_isolation"))
        read_isolation(to, value);
    else if (!strcasecmp(name, "search_path"))
        to->not_read = "the client sets search_path when it connects";
    else if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
             strlen(name))
        pg_startup_set(&to->sets, name, value);
    else
        to->not_read = "the client sets something with an odd name when it connects";
}

/* The next word of the options into `word`; false: there is none.  A backslash takes away the
   meaning of the blank behind it. */
static bool next_word(const char **at, strbuf *word)
{
    const char *p = *at;
    static const char blanks[] = " \t\n\v\f\r";
    word->n = 0;
    p += strspn(p, blanks);
    if (!*p) return false;
    for (; *p && !strchr(blanks, *p); p++) {
        if (*p == '\\' && p[1]) p++;
        strbuf_char(word, *p);
    }
    strbuf_char(word, 0);
    *at = p;
    return true;
}

static void read_options(pg_startup *to, mem *m, const char *text)
{
    static const char not_read[] = "the client connects with options that are not read";
    strbuf word;
    strbuf_init(&word, m);
    while (next_word(&text, &word)) {
        bool sets = !strncmp(word.at, "-c", 2) || !strncmp(word.at, "--", 2);
        bool alone = !strcmp(word.at, "-c") && next_word(&text, &word);
        char *name = word.at + (alone || !sets ? 0 : 2), *value = strchr(name, '=');
        if (!sets || !value || value == name) {
            to->not_read = not_read;
            break;
        }
        *value++ = 0;
        for (char *p = name; *p; p++)
            if (*p == '-') *p = '_';
        read_setting(to, name, value);
    }
    strbuf_free(&word);
}

void pg_startup_read(pg_startup *to, mem *m, const char *at, size_t n)
{
    wire_body b = {at, at + n, false};
    const char *user = "";
    memset(to, 0, sizeof *to);
    strbuf_init(&to->sets, m);
    while (b.at < b.end && *b.at && !b.bad) {
        const char *name = wire_text(&b), *value = wire_text(&b);
        if (b.bad) break;
        if (!strcmp(name, "database")) snprintf(to->database, sizeof to->database, "%s", value);
        if (!strcmp(name, "user")) user = value;
        if (!strcmp(name, "replication")) {
            bool of_database = !strcmp(value, "database");
            to->replicates = !of_database && !is_off(value);
            if (of_database) to->not_read = "a replication session may run any statement";
        }
        if (!strcmp(name, "options")) read_options(to, m, value);
        read_setting(to, name, value);
    }
    if (!*to->database) snprintf(to->database, sizeof to->database, "%s", user);
}
