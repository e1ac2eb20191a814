/*
 * exec_hello.c - the command line of an `exec:` driver, and what the driver says of itself.
 *
 * A hello is believed as far as it is whole: a field of the wrong type, a word that the protocol
 * does not have or a combination that makes no sense is refused with its name.
 */
#include "driver/exec_hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000, LONGEST_MS = 600000 };

/* --- words of the command --------------------------------------------------------------------- */

/* One word from *p on, into `to`; false: a quote has no end. */
static bool next_word(const char **p, strbuf *to)
{
    char quote = 0;
    const char *s = *p;
    for (; *s && (quote || (*s != ' ' && *s != '\t' && *s != '\n')); s++) {
        if (quote ? *s == quote : *s == '\'' || *s == '"') {
            quote = quote ? 0 : *s;
        } else if (*s == '\\' && quote != '\'' && s[1] && (!quote || s[1] == '"' || s[1] == '\\')) {
            strbuf_char(to, *++s);
        } else {
            strbuf_char(to, *s);
        }
    }
    *p = s;
    return !quote;
}

bool exec_words(mem *m, const char *text, char ***out, size_t *n, char *error)
{
    VEC(char *) words = {0};
    strbuf b;
    for (const char *p = text;;) {
        while (*p == ' ' || *p == '\t' || *p == '\n') p++;
        if (!*p) break;
        strbuf_init(&b, m);
        if (!next_word(&p, &b)) {
            db_fail(error, "the command has a quote without an end");
            return false;
        }
        strbuf_char(&b, 0);
        vec_push(m, &words, b.at);
    }
    *n = words.n;
    vec_push(m, &words, NULL);
    *out = words.at;
    return true;
}

/* NAME=VALUE, as a shell takes it for the environment? */
static bool is_setting(const char *word)
{
    const char *p = word;
    while ((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || *p == '_' ||
           (p > word && *p >= '0' && *p <= '9'))
        p++;
    return p > word && *p == '=';
}

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strcspn(b, "=") == n && !strncmp(a, b, n);
}

static bool timeout_word(exec_own *o, const char *word, char *error)
{
    static const char name[] = "RATEL_DRIVER_TIMEOUT=";
    char *end;
    if (strncmp(word, name, sizeof name - 1) != 0) return true;
    double seconds = strtod(word + sizeof name - 1, &end);
    if (end != word + sizeof name - 1 && !*end && seconds >= 0.001 &&
        seconds * 1000 <= LONGEST_MS) {
        o->timeout_ms = (uint32_t)(seconds * 1000);
        return true;
    }
    db_fail(error, "RATEL_DRIVER_TIMEOUT must be a number of seconds, at most %d",
            LONGEST_MS / 1000);
    return false;
}

bool exec_command(exec_own *o, mem *m, const char *text, char *error)
{
    char **words;
    size_t n, settings = 0, have = 0;
    if (!exec_words(m, text, &words, &n, error)) return false;
    while (settings < n && is_setting(words[settings])) settings++;
    if (settings == n) {
        db_fail(error, "exec: needs a command, such as exec:python3 driver.py");
        return false;
    }
    while (environ[have]) have++;
    char **all = mem_array0(m, char *, have + settings + 1);
    size_t k = 0;
    for (size_t i = 0; i < have; i++) {
        bool replaced = false;
        for (size_t j = 0; j < settings; j++)
            replaced = replaced || same_name(environ[i], words[j]);
        if (!replaced) all[k++] = environ[i];
    }
    for (size_t j = 0; j < settings; j++) {
        all[k++] = words[j];
        if (!timeout_word(o, words[j], error)) return false;
    }
    o->words = words + settings;
    o->environment = all;
    return true;
}

/* --- the hello -------------------------------------------------------------------------------- */

typedef struct word_bit {
    const char *word;
    unsigned bit;
} word_bit;

static const word_bit operations[] = {{"get", EXEC_GET},
                                      {"put", EXEC_PUT},
                                      {"append", EXEC_APPEND},
                                      {"delete", EXEC_DELETE},
                                      {"bury", EXEC_BURY},
                                      {"range", EXEC_RANGE},
                                      {"lock", EXEC_LOCK},
                                      {"sql", EXEC_SQL},
                                      {"add", EXEC_ADD},
                                      {"savepoint", EXEC_SAVEPOINT},
                                      {"autocommit", EXEC_AUTOCOMMIT},
                                      {"reverse", EXEC_REVERSE},
                                      {NULL, 0}};
static const word_bit statements[] = {{"begin", DB_BEGIN},
                                      {"read", DB_READ},
                                      {"locking-read", DB_LOCKING_READ},
                                      {"write", DB_WRITE},
                                      {NULL, 0}};

/* A list of words of a table; a word that is not in it is passed over, for later protocols. */
static bool word_list(const exec_json *j, const char *name, const word_bit *table, unsigned *bits)
{
    uint32_t list = exec_json_member(j, 0, name);
    *bits = 0;
    if (!list) return true;
    const exec_json_node *a = &j->nodes.at[list];
    if (a->kind != EXEC_JSON_ARRAY) return false;
    for (uint32_t i = list + 1; i < list + a->span; i += j->nodes.at[i].span) {
        char word[32];
        if (!exec_json_text(j, i, word, sizeof word)) return false;
        for (const word_bit *t = table; t->word; t++)
            if (!strcmp(t->word, word)) *bits |= t->bit;
    }
    return true;
}

/* A member that is one of two words, the first if it is not there. */
static bool either(const exec_json *j, const char *name, const char *usual, const char *other,
                   bool *is_other)
{
    uint32_t node = exec_json_member(j, 0, name);
    char word[32] = "";
    *is_other = false;
    if (!node) return true;
    if (!exec_json_text(j, node, word, sizeof word)) return false;
    *is_other = !strcmp(word, other);
    return *is_other || !strcmp(word, usual);
}

static bool whole(const exec_json *j, const char *name, int64_t most, uint32_t *out)
{
    uint32_t node = exec_json_member(j, 0, name);
    int64_t v;
    if (!node) return true;
    if (!exec_json_int(j, node, &v) || v < 1 || v > most) return false;
    *out = (uint32_t)v;
    return true;
}

/* A word that may stand in a list with spaces, and in our messages. */
static bool plain_word(const char *word)
{
    if (!*word) return false;
    for (; *word; word++)
        if (!((*word >= 'a' && *word <= 'z') || (*word >= 'A' && *word <= 'Z') ||
              (*word >= '0' && *word <= '9') || *word == '-' || *word == '_' || *word == '+'))
            return false;
    return true;
}

static bool isolations(const exec_json *j, exec_hello *h)
{
    uint32_t list = exec_json_member(j, 0, "isolations");
    if (!list || j->nodes.at[list].kind != EXEC_JSON_ARRAY || j->nodes.at[list].span < 2)
        return false;
    for (uint32_t i = list + 1; i < list + j->nodes.at[list].span; i += j->nodes.at[i].span) {
        char word[64];
        if (!exec_json_text(j, i, word, sizeof word) || !plain_word(word)) return false;
        strbuf_printf(&h->isolations, "%s%s", h->isolations.n ? " " : "", word);
    }
    return true;
}

static const char *kept_text(const exec_json *j, mem *m, uint32_t node, const char *otherwise)
{
    strbuf b;
    strbuf_init(&b, m);
    if (node && exec_json_add_text(j, node, &b)) otherwise = strbuf_cstr(&b);
    return otherwise;
}

static bool contracts(const exec_json *j, mem *m, exec_hello *h)
{
    uint32_t all = exec_json_member(j, 0, "contracts");
    if (!all) return true;
    if (j->nodes.at[all].kind != EXEC_JSON_OBJECT) return false;
    for (uint32_t i = all + 1; i < all + j->nodes.at[all].span;) {
        uint32_t c = i + 1;
        char name[64];
        if (h->n_contracts == EXEC_CONTRACTS || !exec_json_text(j, i, name, sizeof name) ||
            !exec_json_member(j, c, "level") || !exec_json_member(j, c, "source"))
            return false;
        h->contracts[h->n_contracts++] = (contract){
            .driver = "exec",
            .isolation = kept_text(j, m, i, ""),
            .level = kept_text(j, m, exec_json_member(j, c, "level"), ""),
            .deleted = kept_text(j, m, exec_json_member(j, c, "deleted"), ""),
            .implied = kept_text(j, m, exec_json_member(j, c, "implied"), ""),
            .session_order = kept_text(j, m, exec_json_member(j, c, "session_order"), "on"),
            .ryow = kept_text(j, m, exec_json_member(j, c, "ryow"), "must"),
            .source = kept_text(j, m, exec_json_member(j, c, "source"), ""),
            .read = kept_text(j, m, exec_json_member(j, c, "read"), ""),
        };
        i += 1 + j->nodes.at[c].span;
    }
    return true;
}

static bool settings(const exec_json *j, db *d)
{
    uint32_t all = exec_json_member(j, 0, "settings");
    if (!all) return true;
    if (j->nodes.at[all].kind != EXEC_JSON_OBJECT) return false;
    for (uint32_t i = all + 1; i < all + j->nodes.at[all].span;) {
        char name[64], value[200];
        if (!exec_json_text(j, i, name, sizeof name) || !plain_word(name) ||
            !exec_json_text(j, i + 1, value, sizeof value))
            return false;
        db_setting(d, name, value);
        i += 1 + j->nodes.at[i + 1].span;
    }
    return true;
}

/* Control characters of a driver's words do not reach our messages or the header. */
static bool shown_text(const exec_json *j, const char *name, char *out, size_t cap)
{
    uint32_t node = exec_json_member(j, 0, name);
    if (!node || !exec_json_text(j, node, out, cap) || !*out) return false;
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' ';
    return true;
}

static bool where_data_are(const exec_json *j, exec_hello *h)
{
    uint32_t node = exec_json_member(j, 0, "data");
    char word[32] = "outside";
    if (node && !exec_json_text(j, node, word, sizeof word)) return false;
    h->inside = !strcmp(word, "child");
    h->files = !strcmp(word, "files");
    return h->inside || h->files || !strcmp(word, "outside");
}

static const char *hello_error(const exec_json *j, db *d, mem *m, exec_hello *h)
{
    char version[64];
    int64_t protocol;
    uint32_t node = exec_json_member(j, 0, "protocol");
    if (!node || !exec_json_int(j, node, &protocol)) return "protocol is not a number";
    if (protocol != EXEC_PROTOCOL) return "another version of the protocol; this is version 1";
    if (!shown_text(j, "driver", h->driver, sizeof h->driver)) return "driver is not a string";
    if (!shown_text(j, "engine", h->engine, sizeof h->engine)) return "engine is not a string";
    if (!shown_text(j, "version", version, sizeof version)) return "version is not a string";
    snprintf(d->version, sizeof d->version, "%.60s %.60s", h->engine, version);
    if (!isolations(j, h)) return "isolations is not a list of words";
    if (!word_list(j, "operations", operations, &h->operations))
        return "operations is not a list of words";
    if (!word_list(j, "snapshot", statements, &h->snapshot))
        return "snapshot is not a list of words";
    if (!either(j, "sessions", "one", "many", &h->many)) return "sessions is neither one nor many";
    if (!where_data_are(j, h)) return "data is none of outside, files, child";
    if (!either(j, "numbers", "json", "text", &h->text)) return "numbers is neither json nor text";
    if (!either(j, "waits", "maybe", "never", &h->never_waits))
        return "waits is neither maybe nor never";
    if (!whole(j, "max_sessions", 100000, &h->most))
        return "max_sessions is not a number of at least 1";
    if (!whole(j, "timeout_ms", LONGEST_MS, &h->timeout_ms))
        return "timeout_ms is not a number from 1 to 600000";
    if (!contracts(j, m, h)) return "contracts has no level and source for each isolation";
    if (h->inside && !h->many)
        return "data are in the child, but every session would have a child of its own";
    return NULL;
}

bool exec_hello_read(exec_own *o, db *d, const exec_json *j)
{
    exec_hello *h = &o->hello;
    strbuf_init(&h->isolations, d->mem);
    h->timeout_ms = TIMEOUT_MS;
    const char *wrong = hello_error(j, d, d->mem, h);
    if (wrong) {
        db_fail(d->error, "the driver's hello is wrong: %s", wrong);
        return false;
    }
    db_setting(d, "driver", h->driver);
    db_setting(d, "driver_sessions", h->many ? "one child for all" : "a child each");
    if (!settings(j, d)) {
        db_fail(d->error, "the driver's hello is wrong: settings has a value that is not a text");
        return false;
    }
    if (o->timeout_ms) h->timeout_ms = o->timeout_ms;
    return true;
}
