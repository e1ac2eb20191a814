/*
 * statement_words.c - one pass over the words of a statement.
 *
 * Quotes and comments are not told apart: bodies of functions stand in quotes, and a word that was
 * only data makes a verdict weaker, never wrong.
 */
#include "reference/statement_words.h"

#include <string.h>

enum { WORD = STATEMENT_WORD };

static bool in_list(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(word, *list)) return true;
    return false;
}

/* The same, where an entry that ends with "(" stands for the name of a function that is called. */
static bool in_call_list(const char *word, bool called, const char *const *list)
{
    size_t n = strlen(word);
    for (; *list; list++)
        if (!strncmp(word, *list, n) && (!(*list)[n] || (called && !strcmp(*list + n, "("))))
            return true;
    return false;
}

/* Words that let the engine choose among rows or orders; those with "(" only if they are called. */
static const char *const picking[] = {"limit",
                                      "fetch",
                                      "offset",
                                      "skip",
                                      "distinct",
                                      "nowait",
                                      "tablesample",
                                      "ctid",
                                      "xmin",
                                      "xmax",
                                      "cmin",
                                      "cmax",
                                      "tableoid",
                                      "oid",
                                      "rowid",
                                      "_rowid_",
                                      "explain",
                                      "rownum",
                                      "cursor",
                                      "move",
                                      "pg_locks",
                                      "pg_stat_activity",
                                      "array_agg(",
                                      "string_agg(",
                                      "json_agg(",
                                      "jsonb_agg(",
                                      "xmlagg(",
                                      "group_concat(",
                                      "row_number(",
                                      "rank(",
                                      "dense_rank(",
                                      "lag(",
                                      "lead(",
                                      "first_value(",
                                      "last_value(",
                                      "nth_value(",
                                      "ntile(",
                                      "any_value(",
                                      "percent_rank(",
                                      "cume_dist(",
                                      "json_object_agg(",
                                      "jsonb_object_agg(",
                                      "json_arrayagg(",
                                      "json_objectagg(",
                                      "mode(",
                                      "total(",
                                      NULL};

/* Words that stand for values which only the engine knows. */
static const char *const drawing[] = {"nextval",
                                      "currval",
                                      "lastval",
                                      "setval",
                                      "serial",
                                      "bigserial",
                                      "smallserial",
                                      "serial2",
                                      "serial4",
                                      "serial8",
                                      "identity",
                                      "now",
                                      "current_timestamp",
                                      "current_date",
                                      "current_time",
                                      "localtime",
                                      "localtimestamp",
                                      "clock_timestamp",
                                      "statement_timestamp",
                                      "transaction_timestamp",
                                      "timeofday",
                                      "today",
                                      "tomorrow",
                                      "yesterday",
                                      "gen_random_uuid",
                                      "uuid_generate_v1",
                                      "uuid_generate_v4",
                                      "auto_increment",
                                      "autoincrement",
                                      "last_insert_id",
                                      "last_insert_rowid",
                                      "sysdate",
                                      "utc_timestamp",
                                      "utc_date",
                                      "utc_time",
                                      "unix_timestamp",
                                      "txid_current",
                                      "txid_current_snapshot",
                                      "pg_current_snapshot",
                                      "pg_current_xact_id",
                                      "pg_current_xact_id_if_assigned",
                                      "pg_xact_commit_timestamp",
                                      "pg_backend_pid",
                                      "connection_id",
                                      "session_user",
                                      "current_user",
                                      "current_role",
                                      "current_catalog",
                                      "current_schema",
                                      "current_query",
                                      "current_setting",
                                      "pg_sleep",
                                      "inet_client_addr",
                                      "random_normal",
                                      "randomblob",
                                      "uuid_short",
                                      "setseed",
                                      "random(",
                                      "rand(",
                                      "uuid(",
                                      "curdate(",
                                      "curtime(",
                                      "user(",
                                      "age(",
                                      "version(",
                                      "datetime(",
                                      "strftime(",
                                      "julianday(",
                                      "row_count(",
                                      "found_rows(",
                                      "changes(",
                                      "total_changes(",
                                      "current_database(",
                                      "database(",
                                      NULL};

/* Those of them that chosen_draws.c binds. */
static const char *const bindable[] = {"nextval",
                                       "currval",
                                       "lastval",
                                       "serial",
                                       "bigserial",
                                       "smallserial",
                                       "serial2",
                                       "serial4",
                                       "serial8",
                                       "now",
                                       "current_timestamp",
                                       "current_date",
                                       "localtimestamp",
                                       "clock_timestamp",
                                       "statement_timestamp",
                                       "transaction_timestamp",
                                       "gen_random_uuid",
                                       "random(",
                                       NULL};

/* What is made, changed or dropped besides the objects of one database. */
static const char *const outside[] = {
    "role",         "user",    "group",     "database", "system",     "tablespace",
    "subscription", "server",  "extension", "owned",    "language",   "publication",
    "event",        "wrapper", "transform", "cast",     "conversion", NULL};

static const char *const reaching[] = {"dblink",
                                       "dblink_exec",
                                       "pg_terminate_backend",
                                       "pg_cancel_backend",
                                       "lo_import",
                                       "lo_export",
                                       "lo_create",
                                       "lo_from_bytea",
                                       "outfile",
                                       "dumpfile",
                                       "load_file",
                                       "infile",
                                       "pg_reload_conf",
                                       "pg_rotate_logfile",
                                       "authorization",
                                       "soname",
                                       "load_extension",
                                       "pg_read_file",
                                       "pg_write_file",
                                       "pg_promote",
                                       "pg_switch_wal",
                                       "handlersocket",
                                       "shutdown",
                                       NULL};

static const char *const ending[] = {"begin", "start", "commit", "end", "abort", NULL};

static const char *const refused_first[] = {
    "copy",  "load",     "import", "security", "reassign",  "checkpoint", "cluster", "kill",
    "grant", "revoke",   "use",    "install",  "uninstall", "flush",      "attach",  "detach",
    "purge", "shutdown", "change", "stop",     "backup",    "xa",         NULL};

static bool letter(char c)
{
    unsigned char u = (unsigned char)c;
    return (u | 32) >= 'a' ? (u | 32) <= 'z' || u >= 0x80 : (u >= '0' && u <= '9');
}

bool next_statement_word(word_walk *w, char *to)
{
    while (w->at < w->end && !letter(*w->at) && *w->at != '_') w->at++;
    size_t n = 0;
    for (; w->at < w->end && (letter(*w->at) || *w->at == '_'); w->at++)
        if (n + 1 < WORD) to[n++] = *w->at >= 'A' && *w->at <= 'Z' ? (char)(*w->at | 32) : *w->at;
    to[n] = 0;
    return n > 0;
}

/* Comments before the first word, which is the one that counts. */
static void skip_comments(word_walk *w)
{
    for (;;) {
        while (w->at < w->end && (strchr(" \t\r\n\f(", *w->at) != NULL && *w->at)) w->at++;
        size_t left = (size_t)(w->end - w->at);
        if (left > 1 && w->at[0] == '-' && w->at[1] == '-') {
            while (w->at < w->end && *w->at != '\n') w->at++;
        } else if (left > 1 && w->at[0] == '/' && w->at[1] == '*' &&
                   !(left > 2 && w->at[2] == '!')) {
            for (w->at += 2;
                 w->at < w->end && !(w->at[0] == '*' && w->end - w->at > 1 && w->at[1] == '/');)
                w->at++;
            w->at += w->end - w->at > 1 ? 2 : w->end - w->at;
        } else {
            return;
        }
    }
}

static const char *beyond_of(const char *before, const char *word)
{
    bool changes = !strcmp(before, "alter") || !strcmp(before, "create") ||
                   !strcmp(before, "drop") || !strcmp(before, "trusted") ||
                   !strcmp(before, "event") || !strcmp(before, "foreign") ||
                   !strcmp(before, "replace");
    if (changes && in_list(word, outside)) return "it changes more than one database";
    if (in_list(word, reaching)) return "it may reach beyond its database";
    if (!strcmp(before, "set") && !strcmp(word, "role")) return "it changes the role";
    if (!strcmp(before, "set") && !strcmp(word, "global")) return "it changes the server";
    if (!strcmp(before, "large") && !strcmp(word, "object"))
        return "it may reach beyond its database";
    return NULL;
}

/* MariaDB's temporary server has no grant tables, so that every session may do everything: the
   words are all that stands between a log and the machine.  Statements that are put together when
   they run have words that nobody sees here. */
static const char *beyond_in_mariadb(const char *before, const char *word)
{
    static const char *const never[] = {"global",      "persist", "prepare", "execute",
                                        "immediate",   "slave",   "replica", "master_host",
                                        "master_port", NULL};
    bool place = !strcmp(before, "data") || !strcmp(before, "index");
    if (in_list(word, never)) return "it may reach beyond its database";
    if (place && !strcmp(word, "directory")) return "it names a place for files";
    return NULL;
}

/* On a server of somebody else's, the role of the log may own more than the database of the run. */
static const char *beyond_in_url(const char *before, const char *word)
{
    static const char *const never[] = {"query_to_xml",
                                        "query_to_xmlschema",
                                        "query_to_xml_and_xmlschema",
                                        "ts_stat",
                                        "ts_rewrite",
                                        "plperl",
                                        "pltcl",
                                        "plv8",
                                        "plr",
                                        NULL};
    bool runs = !strcmp(before, "execute") && strcmp(word, "function") != 0 &&
                strcmp(word, "procedure") != 0;
    if (runs || in_list(word, never)) return "it runs statements that it builds as text";
    return NULL;
}

const char *words_beyond(const char *text, size_t n, bool mariadb)
{
    char word[WORD], before[WORD] = "";
    bool body = false;
    for (word_walk w = {text, text + n}; next_statement_word(&w, word);
         memcpy(before, word, WORD)) {
        const char *why = mariadb ? beyond_in_mariadb(before, word) : beyond_in_url(before, word);
        if (why) return why;
        body |= !strcmp(word, "function") || !strcmp(word, "procedure") || !strcmp(word, "do");
        /* U&"\0064blink" is a name, too */
        bool escaped = !strcmp(word, "u") && w.at < w.end && *w.at == '&';
        if (!mariadb && escaped) return "it has a name written with escapes";
    }
    if (!mariadb && body && memchr(text, '\\', n)) return "it has a body with escapes";
    return !mariadb && !strcmp(before, "execute") ? "it runs statements that it builds as text"
                                                  : NULL;
}

static void look_at_first(statement_words *r, const char *first, const char *second,
                          const char *third)
{
    static const char *const queries[] = {"select", "values", "table", "show", "with", NULL};
    static const char *const plain[] = {"select", "insert", "update", "delete",
                                        "merge",  "with",   "values", NULL};
    static const char *const schema[] = {"create", "alter", "drop", "do", "call", NULL};
    r->only_reads = in_list(first, queries);
    r->plain = in_list(first, plain);
    r->changes_schema = in_list(first, schema);
    if (in_list(first, refused_first)) r->beyond = "a reference does not execute it";
    r->ends =
        in_list(first, ending) || (!strcmp(first, "prepare") && !strcmp(second, "transaction"));
    if (!strcmp(first, "rollback")) {
        bool more = !strcmp(second, "work") || !strcmp(second, "transaction");
        r->rolls_back = !strcmp(more ? third : second, "to");
        r->ends = !r->rolls_back;
    }
    r->is_savepoint = !strcmp(first, "savepoint") || !strcmp(first, "release") || r->rolls_back;
    static const char *const of_server[] = {"master",  "slave", "replica", "query",
                                            "persist", "role",  "session", NULL};
    if (!strcmp(first, "reset") && in_list(second, of_server))
        r->beyond = "a reference does not execute it";
    r->is_setting = !strcmp(first, "set") || !strcmp(first, "reset");
    r->runs_alone = !strcmp(first, "vacuum");
    bool session = !strcmp(second, "session") || !strcmp(second, "local");
    r->sets_level =
        !strcmp(first, "set") &&
        (!strcmp(second, "transaction") || !strcmp(second, "constraints") ||
         (session && (!strcmp(third, "characteristics") || !strcmp(third, "transaction"))));
    if (!strcmp(second, "constraints")) r->sets_level = false;
}

/* INSERT of constants, UPDATE and DELETE where columns equal constants: what it writes depends on
   no other row. */
static bool writes_by_key(const char *text, size_t n, const char *first)
{
    static const char *const others[] = {"select",  "using", "join",  "or",  "in",
                                         "between", "like",  "not",   "any", "exists",
                                         "all",     "with",  "table", NULL};
    char word[WORD], before[WORD] = "";
    bool insert = !strcmp(first, "insert"), update = !strcmp(first, "update");
    if (!insert && !update && strcmp(first, "delete") != 0) return false;
    if (memchr(text, '<', n) || memchr(text, '>', n)) return false;
    bool where = insert;
    for (word_walk w = {text, text + n}; next_statement_word(&w, word);
         memcpy(before, word, WORD)) {
        if (in_list(word, others)) return false;
        if (!strcmp(word, "from") && strcmp(before, "delete") != 0) return false;
        where |= !strcmp(word, "where");
    }
    return where;
}

/* SELECT @@sql_mode, DATABASE(): nothing that a transaction changes. */
static bool asks_only_session(const char *text, size_t n)
{
    static const char *const others[] = {"from", "into",   "sleep", "benchmark", "last_insert_id",
                                         "with", "select", "now",   "get_lock",  NULL};
    static const char *const asked[] = {"database(", "version(", "connection_id(",
                                        "user(",     "schema(",  NULL};
    char word[WORD];
    word_walk w = {text, text + n};
    bool asks = false;
    if (!next_statement_word(&w, word) || strcmp(word, "select") != 0) return false;
    while (next_statement_word(&w, word)) {
        if (in_list(word, others)) return false;
        const char *begin = w.at - strlen(word);
        bool variable = begin - text >= 2 && begin[-1] == '@' && begin[-2] == '@';
        bool called = w.at < text + n && *w.at == '(';
        asks |= variable || in_call_list(word, called, asked);
    }
    return asks;
}

statement_words words_of_statement(const char *text, size_t n)
{
    static const char *const writing[] = {"insert", "update", "delete", "merge",   "into",
                                          "share",  "call",   "lock",   "replace", NULL};
    static const char *const routine[] = {"function", "procedure", "trigger", "rule", NULL};
    statement_words r = {0};
    bool concurrently = false;
    char word[WORD], before[WORD] = "", head[3][WORD] = {"", "", ""};
    word_walk w = {text, text + n};
    skip_comments(&w);
    for (size_t i = 0; next_statement_word(&w, word); i++) {
        if (i < 3) memcpy(head[i], word, WORD);
        if (!r.beyond) r.beyond = beyond_of(before, word);
        const char *after = w.at;
        while (after < w.end && (*after == ' ' || *after == '\n')) after++;
        bool called = after < w.end && *after == '(';
        if (in_call_list(word, called, picking)) r.picks = true;
        if (in_call_list(word, called, drawing)) {
            r.draws = true;
            r.draws_other |= !in_call_list(word, called, bindable);
        }
        /* catalogs and settings show that functions stand in for the engine's */
        if (!strncmp(word, "pg_", 3) || !strcmp(word, "information_schema") ||
            !strcmp(word, "search_path") || !strcmp(word, "show"))
            r.draws_other = true;
        if (in_list(word, routine)) r.has_routine = true;
        concurrently |= !strcmp(word, "concurrently");
        /* SQLite writes a file */
        if (!strcmp(head[0], "vacuum") && !strcmp(word, "into"))
            r.beyond = "it may reach beyond its database";
        if (!strcmp(word, "trigger") || !strcmp(word, "cascade")) r.has_trigger = true;
        memcpy(before, word, WORD);
    }
    r.asks_session = asks_only_session(text, n);
    r.by_key = writes_by_key(text, n, head[0]);
    const char *beyond = r.beyond;
    look_at_first(&r, head[0], head[1], head[2]);
    r.runs_alone |= concurrently;
    if (beyond) r.beyond = beyond;
    if (r.only_reads) {
        bool locks = false, writes = false;
        w = (word_walk){text, text + n};
        for (*before = 0; next_statement_word(&w, word); memcpy(before, word, WORD)) {
            if (!in_list(word, writing)) continue;
            r.only_reads = false;
            bool lock = (!strcmp(before, "for") || !strcmp(before, "key")) &&
                        (!strcmp(word, "update") || !strcmp(word, "share"));
            locks |= lock;
            writes |= !lock;
        }
        r.locks_only = locks && !writes && !strcmp(head[0], "select");
    }
    return r;
}
