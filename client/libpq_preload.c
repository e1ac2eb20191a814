/*
 * libpq_preload.c - records what a program asks of PostgreSQL, without changing the program.
 *
 *   LD_PRELOAD=libratel-trace-libpq.so RATEL_TRACE=shop.rtrace ./shop
 *
 * For programs that link libpq dynamically: the functions that send statements and fetch results are
 * replaced by ones that tell libratel-trace and call the true ones.  Each process writes a file of its
 * own, RATEL_TRACE.PID.  Results are recorded as PostgreSQL prints them; where they are binary, only
 * their number of rows.  Statements of a pipeline, and strings of several statements, are recorded as
 * not understood.  On each connection the database is asked once which isolation its transactions
 * have if they name none.
 *
 * libpq calls its own functions by name, so that a replaced one calls another: only the outermost
 * call of a thread is recorded.  Nothing here may stop the program: without memory, or if the file
 * cannot be made, it goes on unrecorded.
 */
#include <dlfcn.h>
#include <libpq-fe.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "ratel-trace.h"

#define MOST_RESULT ((size_t)16 << 20)
#define EXPORT __attribute__((visibility("default")))

typedef enum asked { ASKED_NOTHING, ASKED_BEGIN, ASKED_COMMIT, ASKED_ROLLBACK, ASKED_CALL } asked;

typedef struct prepared {
    struct prepared *next;
    char *name, *sql;
} prepared;

typedef struct connection {
    struct connection *next;
    PGconn *conn;
    ratel_trace_session *session;
    asked pending;
    bool open;  /* a transaction was begun */
    bool alone; /* the pending call is a transaction of its own */
    bool asked; /* the database was asked for the isolation */
    bool odd;   /* its settings are not the usual ones */
    const char *usual,
        *first; /* isolation of transactions that name none, now and at first; or NULL */
    char *sets; /* the pending statement, if it may be about isolation */
    prepared *statements;
} connection;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ratel_trace *trace;
static connection *connections;
static _Thread_local int inside;

static void open_trace(void)
{
    const char *path = getenv("RATEL_TRACE");
    if (!path || !*path) {
        fputs("ratel: RATEL_TRACE names no file: this program is not recorded\n", stderr);
        return;
    }
    size_t n = strlen(path) + 32;
    char *own = malloc(n);
    if (!own) return;
    snprintf(own, n, "%s.%ld", path, (long)getpid());
    int error =
        ratel_trace_open(&trace, own, "{\"ratel_sql\":1,\"setup\":[],\"dialect\":\"postgres\"}", 0);
    if (error)
        fprintf(stderr, "ratel: %s: %s: this program is not recorded\n", own, strerror(error));
    free(own);
}

/* ---- the true libpq -------------------------------------------------------------------------- */

/* Every function of libpq that is called here.  The program may have loaded libpq for one of its parts
   alone, so that its names are not to be found by name: the library itself is looked for. */
#define EACH_FUNCTION(F)                                                                           \
    F(PQexec)                                                                                      \
    F(PQexecParams)                                                                                \
    F(PQprepare)                                                                                   \
    F(PQexecPrepared)                                                                              \
    F(PQsendQuery)                                                                                 \
    F(PQsendQueryParams)                                                                           \
    F(PQsendPrepare)                                                                               \
    F(PQsendQueryPrepared)                                                                         \
    F(PQgetResult)                                                                                 \
    F(PQfinish)                                                                                    \
    F(PQbackendPID)                                                                                \
    F(PQstatus)                                                                                    \
    F(PQisnonblocking)                                                                             \
    F(PQclear)                                                                                     \
    F(PQtransactionStatus)                                                                         \
    F(PQresultStatus)                                                                              \
    F(PQresultErrorField)                                                                          \
    F(PQcmdStatus)                                                                                 \
    F(PQcmdTuples)                                                                                 \
    F(PQntuples)                                                                                   \
    F(PQnfields)                                                                                   \
    F(PQfformat)                                                                                   \
    F(PQgetisnull)                                                                                 \
    F(PQgetvalue)                                                                                  \
    F(PQgetlength)

#define MEMBER(name) __typeof__(&name) name##_;
static struct true_libpq {
    EACH_FUNCTION(MEMBER)
    int (*pipeline_status)(const PGconn *); /* PostgreSQL 14 on */
} pq;
static pthread_once_t pq_once = PTHREAD_ONCE_INIT;

typedef struct found_libraries {
    char path[4096];
    int n;
} found_libraries;

static int look_at_library(struct dl_phdr_info *info, size_t size, void *ud)
{
    found_libraries *l = ud;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!name || strncmp(name, "/libpq", 6) != 0 || strstr(name, "ratel")) return 0;
    if (name[6] != '.' && name[6] != '-') return 0;
    snprintf(l->path, sizeof l->path, "%s", info->dlpi_name);
    l->n++;
    return 0;
}

static void find_libpq(void)
{
    found_libraries l = {.n = 0};
    dl_iterate_phdr(look_at_library, &l);
    void *handle = l.n == 1 ? dlopen(l.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    bool whole = handle != NULL;
    void *f;
#define FIND(name)                                                                                 \
    f = handle ? dlsym(handle, #name) : NULL;                                                      \
    memcpy(&pq.name##_, &f, sizeof f);                                                             \
    whole = whole && f;
    EACH_FUNCTION(FIND)
    f = handle ? dlsym(handle, "PQpipelineStatus") : NULL;
    memcpy(&pq.pipeline_status, &f, sizeof f);
    if (whole) return;
    fprintf(stderr, "ratel: %s: this program cannot run with LD_PRELOAD of ratel's library\n",
            l.n > 1 ? "it has loaded two versions of libpq" : "its libpq was not found");
    abort();
}

#define TRUE_FUNCTION(name)                                                                        \
    pthread_once(&pq_once, find_libpq);                                                            \
    __typeof__(&name) f = pq.name##_

static connection *connection_of(PGconn *conn)
{
    if (!conn) return NULL;
    pthread_once(&pq_once, find_libpq);
    pthread_once(&once, open_trace);
    if (!trace) return NULL;
    pthread_mutex_lock(&lock);
    connection *c = connections;
    while (c && c->conn != conn) c = c->next;
    if (!c && (c = calloc(1, sizeof *c))) {
        char name[32];
        snprintf(name, sizeof name, "backend %d", pq.PQbackendPID_(conn));
        c->conn = conn;
        if (ratel_trace_session_open(&c->session, trace, name)) {
            free(c);
            c = NULL;
        } else {
            c->next = connections;
            connections = c;
        }
    }
    pthread_mutex_unlock(&lock);
    return c;
}

/* ---- texts ----------------------------------------------------------------------------------- */

typedef struct text {
    char *at;
    size_t n, cap;
    bool failed;
} text;

static void text_add(text *t, const char *s, size_t n)
{
    if (t->failed) return;
    if (t->cap - t->n < n) {
        size_t cap = 2 * (t->n + n) + 256;
        char *at = realloc(t->at, cap);
        if (!at) {
            t->failed = true;
            return;
        }
        t->at = at;
        t->cap = cap;
    }
    memcpy(t->at + t->n, s, n);
    t->n += n;
}

static void text_str(text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

static void text_json(text *t, const char *s, size_t n)
{
    char escape[8];
    text_add(t, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        size_t plain = i;
        while (plain < n && (unsigned char)s[plain] >= 0x20 && s[plain] != '"' && s[plain] != '\\')
            plain++;
        if (plain > i) {
            text_add(t, s + i, plain - i);
            i = plain - 1;
            continue;
        }
        text_add(t, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
    }
    text_add(t, "\"", 1);
}

/* ---- statements ------------------------------------------------------------------------------ */

static const char *after_space(const char *s)
{
    for (;;) {
        s += strspn(s, " \t\r\n\f\v");
        if (s[0] == '-' && s[1] == '-') {
            s += strcspn(s, "\n");
        } else if (s[0] == '/' && s[1] == '*') {
            const char *end = strstr(s + 2, "*/");
            s = end ? end + 2 : s + strlen(s);
        } else {
            return s;
        }
    }
}

static bool is_word(const char *s, const char *word)
{
    size_t n = strlen(word);
    return !strncasecmp(s, word, n) && !((s[n] | 32) >= 'a' && (s[n] | 32) <= 'z') && s[n] != '_';
}

/* The end of what is quoted at s, or s + 1. */
static const char *after_quoted(const char *s)
{
    if (*s == '\'' || *s == '"') {
        const char *end = strchr(s + 1, *s);
        return end ? end + 1 : s + strlen(s);
    }
    if (*s == '$') {
        size_t n = strcspn(s + 1, "$ \t\n;,()") + 2;
        if (s[n - 1] != '$' || (s[1] >= '0' && s[1] <= '9') || n > 66) return s + 1;
        char tag[80];
        memcpy(tag, s, n);
        tag[n] = 0;
        const char *end = strstr(s + n, tag);
        return end ? end + n : s + strlen(s);
    }
    return s + 1;
}

static bool has_several(const char *sql)
{
    for (const char *s = after_space(sql); *s; s = after_space(s)) {
        if (*s == ';') return *after_space(s + 1) != 0;
        s = after_quoted(s);
    }
    return false;
}

/* ROLLBACK TO goes on with the transaction. */
static bool ends_by_rollback(const char *s)
{
    if (!is_word(s, "ROLLBACK") && !is_word(s, "ABORT")) return false;
    s = after_space(s + strcspn(s, " \t\r\n;"));
    if (is_word(s, "WORK")) s = after_space(s + 4);
    if (is_word(s, "TRANSACTION")) s = after_space(s + 11);
    return !is_word(s, "TO");
}

typedef struct arguments {
    int n;
    const char *const *values;
    const int *lengths, *formats;
} arguments;

static void input(connection *c, const char *sql, const arguments *a)
{
    text t = {0};
    const char *opaque = NULL;
    text_str(&t, "{\"sql\":");
    text_json(&t, sql, strlen(sql));
    for (int i = 0; i < a->n; i++)
        if (a->formats && a->formats[i] && a->values[i]) opaque = "a parameter is binary";
    if (c->odd) opaque = "a setting of the connection changes what statements mean or show";
    if (has_several(sql)) opaque = "several statements in one string";
    if (pq.pipeline_status && pq.pipeline_status(c->conn)) opaque = "a statement of a pipeline";
    if (opaque) {
        text_str(&t, ",\"opaque\":");
        text_json(&t, opaque, strlen(opaque));
    } else if (a->n) {
        text_str(&t, ",\"params\":[");
        for (int i = 0; i < a->n; i++) {
            if (i) text_add(&t, ",", 1);
            if (a->values[i])
                text_json(&t, a->values[i], strlen(a->values[i]));
            else
                text_str(&t, "null");
        }
        text_add(&t, "]", 1);
    }
    text_add(&t, "}", 1);
    if (!t.failed) ratel_trace_input(c->session, t.at, t.n);
    free(t.at);
}

/* ---- isolation ------------------------------------------------------------------------------- */

#define WEAKEST                                                                                    \
    "read committed" /* that PostgreSQL has: nobody is held to more than was asked for */

/* The isolation that a text names first, in PostgreSQL's words, or NULL. */
static const char *level_in(const char *sql)
{
    static const char *const levels[] = {"serializable", "repeatable read", "read committed",
                                         "read uncommitted"};
    const char *first = NULL, *level = NULL;
    for (int i = 0; i < 4; i++) {
        const char *at = strcasestr(sql, levels[i]);
        if (at && (!first || at < first)) first = at, level = levels[i];
    }
    return level;
}

static void hint_isolation(connection *c, const char *level)
{
    char json[32];
    if (!level) return;
    snprintf(json, sizeof json, "\"%s\"", level);
    ratel_trace_txn_hint(c->session, "isolation", json);
}

/* The isolation, and whether statements mean and show what they do by default: what the connection
   set when it began (PGOPTIONS, a role's settings), no statement shows. */
#define SETTING(name) "current_setting('" name "') "
#define ASK_SETTINGS                                                                               \
    "SELECT " SETTING("default_transaction_isolation") ", " SETTING("bytea_output") "= 'hex' AND " \
    SETTING("standard_conforming_strings") "= 'on' AND " SETTING("DateStyle") "LIKE 'ISO%' AND "   \
    SETTING("IntervalStyle") "= 'postgres' AND " SETTING("transform_null_equals") "= 'off' AND "   \
    SETTING("client_encoding") "IN ('UTF8', 'SQL_ASCII') AND " SETTING("array_nulls") "= 'on' AND " \
    SETTING("session_replication_role") "= 'origin' AND " SETTING("search_path")                   \
    "IN ('\"$user\", public', 'public')"

/* Asked once for each connection, where that can disturb nothing: between transactions, and if the
   program waits for answers anyway.  Otherwise it stays unknown. */
static void ask_isolation(connection *c)
{
    if (c->asked) return;
    bool busy = pq.PQtransactionStatus_(c->conn) != PQTRANS_IDLE || pq.PQisnonblocking_(c->conn) ||
                (pq.pipeline_status && pq.pipeline_status(c->conn));
    c->asked = true;
    if (busy) return;
    inside++;
    PGresult *r = pq.PQexec_(c->conn, ASK_SETTINGS);
    if (pq.PQresultStatus_(r) == PGRES_TUPLES_OK && pq.PQntuples_(r) == 1) {
        c->usual = c->first = level_in(pq.PQgetvalue_(r, 0, 0));
        c->odd = *pq.PQgetvalue_(r, 0, 1) != 't';
    }
    pq.PQclear_(r);
    inside--;
}

/* What a statement that succeeded does to the isolation of this transaction or of later ones. */
static void note_isolation(connection *c, const char *sql)
{
    const char *s = after_space(sql), *level = level_in(s);
    bool all = is_word(s, "RESET") || is_word(s, "DISCARD"), later = false;
    const char *what = after_space(s + strcspn(s, " \t\r\n;"));
    if (all && (is_word(what, "ALL") || strcasestr(what, "transaction_isolation"))) {
        level = c->first;
        later = true;
    } else if (is_word(s, "SET") && is_word(what, "TRANSACTION")) {
        if (c->open) hint_isolation(c, level);
        return;
    } else if (is_word(s, "SET") && level && !is_word(what, "LOCAL")) {
        later = strcasestr(what, "default_transaction_isolation") || is_word(what, "SESSION");
    }
    bool same = c->usual == level;
    if (later)
        c->usual = c->open && !same ? WEAKEST : level; /* (it is undone with a transaction) */
    if (later || is_word(s, "SHOW") || !strcasestr(s, "transaction_isolation")) return;
    c->usual = WEAKEST; /* in a way that is not understood */
    hint_isolation(c, WEAKEST);
}

/* The statement that DEALLOCATE [PREPARE] names, or NULL: every one. */
static const char *deallocated(const char *s, size_t *n)
{
    if (!is_word(s, "DEALLOCATE")) return NULL;
    s = after_space(s + strlen("DEALLOCATE"));
    if (is_word(s, "PREPARE")) s = after_space(s + strlen("PREPARE"));
    if (is_word(s, "ALL")) return NULL;
    bool quoted = *s == '"';
    s += quoted;
    *n = strcspn(s, quoted ? "\"" : " \t\r\n\f\v;");
    return quoted && s[*n] == '"' && s[*n + 1] == '"' ? NULL : s;
}

/* Statements that were prepared may be no more, or others, after these. */
static void forget_prepared(connection *c, const char *sql, bool several)
{
    bool may =
        strcasestr(sql, "deallocate") || strcasestr(sql, "discard") || strcasestr(sql, "prepare");
    size_t n = 0;
    const char *name = several ? NULL : deallocated(sql, &n);
    for (prepared *p = c->statements; may && p; p = p->next) {
        bool same = !name || (!strncasecmp(p->name, name, n) && !p->name[n]);
        if (!same) continue;
        free(p->sql);
        p->sql = NULL;
    }
}

/* Transactions begin and end in ways that no single statement shows: COMMIT AND CHAIN, several
   statements in one string, PQreset.  libpq knows whether one is open. */
static void follow_status(connection *c, PGTransactionStatusType status)
{
    if (c->open && status == PQTRANS_IDLE) {
        ratel_trace_commit(c->session);
        ratel_trace_ended(c->session, RATEL_TRACE_UNKNOWN);
        c->open = false;
    } else if (!c->open && (status == PQTRANS_INTRANS || status == PQTRANS_INERROR)) {
        ratel_trace_begin(c->session);
        hint_isolation(c, WEAKEST);
        ratel_trace_begun(c->session);
        c->open = true;
    }
}

static void call(connection *c, const char *sql, const arguments *a)
{
    if (!c || !sql) return;
    ask_isolation(c);
    const char *s = after_space(sql);
    PGTransactionStatusType status = pq.PQtransactionStatus_(c->conn);
    bool idle = status == PQTRANS_IDLE, several = has_several(sql);
    follow_status(c, status);
    forget_prepared(c, s, several);
    c->pending = ASKED_CALL;
    c->alone = !c->open;
    free(c->sets);
    c->sets = strcasestr(sql, "isolation") || is_word(s, "RESET") || is_word(s, "DISCARD")
                  ? strdup(sql)
                  : NULL;
    if (idle && !several && (is_word(s, "BEGIN") || is_word(s, "START"))) {
        c->pending = ASKED_BEGIN;
        c->open = true;
        ratel_trace_begin(c->session);
        hint_isolation(c, level_in(s) ? level_in(s) : c->usual);
    } else if (!idle && c->open && !several && (is_word(s, "COMMIT") || is_word(s, "END"))) {
        c->pending = ASKED_COMMIT;
        ratel_trace_commit(c->session);
    } else if (!idle && c->open && !several && ends_by_rollback(s)) {
        c->pending = ASKED_ROLLBACK;
        ratel_trace_rollback(c->session);
    } else {
        input(c, sql, a);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static void add_rows(text *t, const PGresult *r)
{
    int rows = pq.PQntuples_(r), columns = pq.PQnfields_(r);
    char count[32];
    bool shown = true;
    for (int k = 0; k < columns; k++) shown = shown && !pq.PQfformat_(r, k);
    text_str(t, "\"rows\":[");
    for (int i = 0; shown && i < rows; i++) {
        text_str(t, i ? ",[" : "[");
        for (int k = 0; k < columns; k++) {
            if (k) text_add(t, ",", 1);
            if (pq.PQgetisnull_(r, i, k))
                text_str(t, "null");
            else
                text_json(t, pq.PQgetvalue_(r, i, k), (size_t)pq.PQgetlength_(r, i, k));
        }
        text_add(t, "]", 1);
        shown = t->n < MOST_RESULT;
    }
    text_add(t, "]", 1);
    if (shown) return;
    t->n = 1; /* the rows are too many, or binary */
    text_add(t, count, (size_t)snprintf(count, sizeof count, "\"count\":%d", rows));
}

static bool is_lost(const connection *c, const char *state)
{
    return pq.PQstatus_(c->conn) == CONNECTION_BAD || !state || !strcmp(state, "40003") ||
           !strncmp(state, "08", 2) || !strncmp(state, "57P", 3);
}

static void output(connection *c, const PGresult *r)
{
    ExecStatusType status = pq.PQresultStatus_(r);
    const char *state = pq.PQresultErrorField_(r, PG_DIAG_SQLSTATE);
    text t = {0};
    ratel_trace_outcome outcome = RATEL_TRACE_DONE;
    text_add(&t, "{", 1);
    if (status == PGRES_TUPLES_OK) {
        add_rows(&t, r);
    } else if (status == PGRES_COMMAND_OK) {
        const char *count = pq.PQcmdTuples_((PGresult *)r);
        if (*count) text_str(&t, "\"count\":"), text_str(&t, count);
    } else if (status == PGRES_FATAL_ERROR) {
        outcome = is_lost(c, state) ? RATEL_TRACE_UNKNOWN : RATEL_TRACE_FAILED;
        if (state) text_str(&t, "\"error\":"), text_json(&t, state, strlen(state));
    }
    text_add(&t, "}", 1);
    if (!t.failed) ratel_trace_output(c->session, outcome, t.at, t.n);
    free(t.at);
}

static void ended(connection *c, const PGresult *r)
{
    ExecStatusType status = pq.PQresultStatus_(r);
    const char *state = pq.PQresultErrorField_(r, PG_DIAG_SQLSTATE);
    bool commits = c->pending == ASKED_COMMIT;
    ratel_trace_outcome outcome = RATEL_TRACE_FAILED;
    if (status == PGRES_COMMAND_OK)
        outcome = commits && !strcmp(pq.PQcmdStatus_((PGresult *)r), "ROLLBACK")
                      ? RATEL_TRACE_FAILED
                      : RATEL_TRACE_DONE;
    else if (commits && is_lost(c, state))
        outcome = RATEL_TRACE_UNKNOWN;
    ratel_trace_ended(c->session, outcome);
    c->open = false;
}

/* The first result of what was asked; r may be NULL: there is none. */
static void result(connection *c, const PGresult *r)
{
    if (!c || c->pending == ASKED_NOTHING) return;
    if (c->pending == ASKED_CALL) {
        ExecStatusType status = pq.PQresultStatus_(r);
        output(c, r);
        if (c->alone) hint_isolation(c, c->usual);
        if (c->sets && (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK))
            note_isolation(c, c->sets);
    } else if (c->pending == ASKED_BEGIN && pq.PQresultStatus_(r) == PGRES_COMMAND_OK) {
        ratel_trace_begun(c->session);
    } else {
        ended(c, r);
    }
    c->pending = ASKED_NOTHING;
}

/* ---- prepared statements --------------------------------------------------------------------- */

static void remember(connection *c, const char *name, const char *sql)
{
    if (!c || !name) return;
    prepared *p = c->statements;
    while (p && strcmp(p->name, name) != 0) p = p->next;
    if (!p && (p = calloc(1, sizeof *p))) {
        p->name = strdup(name);
        p->next = c->statements;
        if (p->name) {
            c->statements = p;
        } else {
            free(p);
            p = NULL;
        }
    }
    if (!p) return;
    free(p->sql);
    p->sql = sql ? strdup(sql) : NULL;
}

/* PREPARE was sent: if there is a statement of the name already, it fails, and the old one stays. */
static void remember_sent(connection *c, const char *name, const char *sql)
{
    const prepared *p = c ? c->statements : NULL;
    while (p && name && strcmp(p->name, name) != 0) p = p->next;
    bool other = p && *p->name && (!p->sql || !sql || strcmp(p->sql, sql) != 0);
    remember(c, name, other ? NULL : sql);
}

static const char *statement_named(const connection *c, const char *name)
{
    for (const prepared *p = c ? c->statements : NULL; p; p = p->next)
        if (!strcmp(p->name, name ? name : "") && p->sql) return p->sql;
    return "EXECUTE of a statement that was prepared elsewhere";
}

static void forget_connection(PGconn *conn)
{
    pthread_mutex_lock(&lock);
    connection **at = &connections, *c;
    while ((c = *at) && c->conn != conn) at = &c->next;
    if (c) *at = c->next;
    pthread_mutex_unlock(&lock);
    if (!c) return;
    if (c->open && c->pending != ASKED_COMMIT) { /* the server rolls it back */
        ratel_trace_rollback(c->session);
        ratel_trace_ended(c->session, RATEL_TRACE_DONE);
    }
    for (prepared *p = c->statements, *next; p; p = next) {
        next = p->next;
        free(p->name);
        free(p->sql);
        free(p);
    }
    ratel_trace_session_close(c->session);
    free(c->sets);
    free(c);
}

/* ---- the functions of libpq ------------------------------------------------------------------ */

EXPORT PGresult *PQexec(PGconn *conn, const char *query)
{
    TRUE_FUNCTION(PQexec);
    connection *c = inside ? NULL : connection_of(conn);
    call(c, query, &(arguments){0});
    inside++;
    PGresult *r = f(conn, query);
    inside--;
    result(c, r);
    return r;
}

EXPORT PGresult *PQexecParams(PGconn *conn, const char *command, int n, const Oid *types,
                              const char *const *values, const int *lengths, const int *formats,
                              int result_format)
{
    TRUE_FUNCTION(PQexecParams);
    connection *c = inside ? NULL : connection_of(conn);
    call(c, command, &(arguments){n, values, lengths, formats});
    inside++;
    PGresult *r = f(conn, command, n, types, values, lengths, formats, result_format);
    inside--;
    result(c, r);
    return r;
}

EXPORT PGresult *PQprepare(PGconn *conn, const char *name, const char *query, int n,
                           const Oid *types)
{
    TRUE_FUNCTION(PQprepare);
    connection *c = inside ? NULL : connection_of(conn);
    inside++;
    PGresult *r = f(conn, name, query, n, types);
    inside--;
    if (pq.PQresultStatus_(r) == PGRES_COMMAND_OK) remember(c, name, query);
    return r;
}

EXPORT PGresult *PQexecPrepared(PGconn *conn, const char *name, int n, const char *const *values,
                                const int *lengths, const int *formats, int result_format)
{
    TRUE_FUNCTION(PQexecPrepared);
    connection *c = inside ? NULL : connection_of(conn);
    call(c, statement_named(c, name), &(arguments){n, values, lengths, formats});
    inside++;
    PGresult *r = f(conn, name, n, values, lengths, formats, result_format);
    inside--;
    result(c, r);
    return r;
}

EXPORT int PQsendQuery(PGconn *conn, const char *query)
{
    TRUE_FUNCTION(PQsendQuery);
    connection *c = inside ? NULL : connection_of(conn);
    call(c, query, &(arguments){0});
    inside++;
    int r = f(conn, query);
    inside--;
    return r;
}

EXPORT int PQsendQueryParams(PGconn *conn, const char *command, int n, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats,
                             int result_format)
{
    TRUE_FUNCTION(PQsendQueryParams);
    connection *c = inside ? NULL : connection_of(conn);
    call(c, command, &(arguments){n, values, lengths, formats});
    inside++;
    int r = f(conn, command, n, types, values, lengths, formats, result_format);
    inside--;
    return r;
}

EXPORT int PQsendPrepare(PGconn *conn, const char *name, const char *query, int n, const Oid *types)
{
    TRUE_FUNCTION(PQsendPrepare);
    connection *c = inside ? NULL : connection_of(conn);
    remember_sent(c, name, query);
    inside++;
    int r = f(conn, name, query, n, types);
    inside--;
    return r;
}

EXPORT int PQsendQueryPrepared(PGconn *conn, const char *name, int n, const char *const *values,
                               const int *lengths, const int *formats, int result_format)
{
    TRUE_FUNCTION(PQsendQueryPrepared);
    connection *c = inside ? NULL : connection_of(conn);
    call(c, statement_named(c, name), &(arguments){n, values, lengths, formats});
    inside++;
    int r = f(conn, name, n, values, lengths, formats, result_format);
    inside--;
    return r;
}

EXPORT PGresult *PQgetResult(PGconn *conn)
{
    TRUE_FUNCTION(PQgetResult);
    connection *c = inside ? NULL : connection_of(conn);
    inside++;
    PGresult *r = f(conn);
    inside--;
    if (r) result(c, r);
    return r;
}

EXPORT void PQfinish(PGconn *conn)
{
    TRUE_FUNCTION(PQfinish);
    if (!inside && conn) forget_connection(conn);
    inside++;
    f(conn);
    inside--;
}
