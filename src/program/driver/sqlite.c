/*
 * sqlite.c - SQLite, in a file or in memory, within this process.
 *
 *   sqlite:FILE[?journal=wal|delete&cache=shared|private&begin=immediate&sync=off|normal|full]
 *   sqlite::memory:      one database, shared by the sessions through the shared cache
 *
 * serializable is what SQLite always keeps; read-uncommitted exists between connections that share
 * a cache only, so asking for it implies cache=shared.
 *
 * Traps: some errors have rolled back already (sqlite3_get_autocommit tells).  A COMMIT that finds
 * readers in its way (rollback journal) fails with SQLITE_BUSY and leaves the transaction open; we
 * roll back then, so it is aborted and not unknown.  The busy handler does not wait for locks
 * within a shared cache: those we wait for ourselves.
 */
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/adapters.h"

enum {
    BEGIN,
    COMMIT,
    ROLLBACK,
    GET,
    PUT,
    APPEND,
    REMOVE,
    BURY,
    RANGE,
    REVERSE,
    ADD,
    UPSERT,
    STATEMENTS
};

enum { BUSY_MS = 500, KEEPER_MS = 20000, LOCKED_TRIES = 40 };

/* About BUSY_MS and half of it, in tries of wait_for_lock. */
enum { BUSY_TRIES = 24, CALM_TRIES = 12 };
#define LOCKED_NAP 250000u
#define STEPS_BETWEEN 100000 /* of its machine, before a statement is asked for the time */

typedef struct sqlite_own {
    char uri[DB_ADDRESS * 3 + 64];
    char pragmas[160];
    bool shared, dirty, immediate;
    sqlite3 *keeper; /* keeps a database in memory alive */
    strbuf tables;   /* statements that drop what this run has made */
} sqlite_own;

typedef struct query_text { /* a statement of a workload, prepared once */
    const char *text;       /* the workload's own, which outlives us */
    sqlite3_stmt *statement;
} query_text;

/* A statement that is stepped now and then, under a name of its own. */
typedef struct open_cursor {
    char name[16];
    sqlite3_stmt *statement;
    bool begun; /* it has been stepped: a step that is refused must not begin it anew */
    bool over;  /* there are no more rows */
} open_cursor;

typedef struct sqlite_conn {
    sqlite3 *handle;
    atomic_bool waiting;      /* for a lock of another connection */
    atomic_uint tries;        /* how often it has found the lock taken */
    uint64_t since;           /* when it began to */
    const atomic_uint *turns; /* db.turns */
    unsigned turn;            /* the step that was the newest at the last try, */
    int turn_tries;           /* and the tries before it */
    bool hasty;               /* it does not wait: what it waits for would not go on meanwhile */
    sqlite3_stmt *statement[STATEMENTS];
    VEC(query_text) queries;
    VEC(open_cursor) cursors;
} sqlite_conn;

static bool one_of(const char *word, const char *a, const char *b, const char *c)
{
    return !strcmp(word, a) || !strcmp(word, b) || !strcmp(word, c);
}

/* A path inside a file: URI. */
static void add_path(char *uri, size_t cap, const char *path, size_t n)
{
    size_t at = strlen(uri);
    for (size_t i = 0; i < n && at + 4 < cap; i++) {
        unsigned char c = (unsigned char)path[i];
        bool plain = c > 0x20 && c < 0x7f && !strchr("%?#", c);
        at += (size_t)snprintf(uri + at, cap - at, plain ? "%c" : "%%%02X", c);
    }
}

static int open_handle(const sqlite_own *o, sqlite3 **handle)
{
    int code = sqlite3_open_v2(o->uri, handle,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    if (code == SQLITE_OK) sqlite3_extended_result_codes(*handle, 1);
    if (code == SQLITE_OK) sqlite3_busy_timeout(*handle, BUSY_MS);
    return code;
}

/* A parameter's value, which must be one of these; false: it has another one. */
static bool word_of(db *d, const char *name, const char *const words[3], char *word, size_t cap)
{
    *word = 0;
    if (!db_parameter(d, name, word, cap)) return true;
    if (one_of(word, words[0], words[1], words[2])) return true;
    d->misuse = true;
    bool two = !strcmp(words[1], words[2]);
    db_fail(d->error, "%s must be %s%s%s or %s, not \"%s\"", name, words[0], two ? "" : ", ",
            two ? "" : words[1], words[2], word);
    return false;
}

static bool parameters(db *d, sqlite_own *o)
{
    static const char *const known[] = {"journal", "cache", "begin", "sync", NULL},
                             *const caches[] = {"shared", "private", "private"},
                             *const begins[] = {"immediate", "deferred", "deferred"},
                             *const journals[] = {"wal", "delete", "truncate"},
                             *const syncs[] = {"off", "normal", "full"};
    char word[32];
    if (!db_parameters_known(d, known)) return false;
    if (!word_of(d, "cache", caches, word, sizeof word)) return false;
    if (*word) o->shared = !strcmp(word, "shared");
    if (!word_of(d, "begin", begins, word, sizeof word)) return false;
    o->immediate = !strcmp(word, "immediate");
    if (!word_of(d, "journal", journals, word, sizeof word)) return false;
    if (*word) snprintf(o->pragmas, sizeof o->pragmas, "PRAGMA journal_mode=%s;", word);
    if (!word_of(d, "sync", syncs, word, sizeof word)) return false;
    if (*word) {
        size_t n = strlen(o->pragmas);
        snprintf(o->pragmas + n, sizeof o->pragmas - n, "PRAGMA synchronous=%s;", word);
    }
    return true;
}

static void read_settings(db *d, const sqlite_own *o)
{
    static const char *const pragmas[] = {"journal_mode", "synchronous"};
    db_setting(d, "sqlite_version", sqlite3_libversion());
    for (size_t i = 0; i < 2; i++) {
        char sql[64];
        sqlite3_stmt *t = NULL;
        snprintf(sql, sizeof sql, "PRAGMA %s", pragmas[i]);
        if (sqlite3_prepare_v2(o->keeper, sql, -1, &t, NULL) == SQLITE_OK &&
            sqlite3_step(t) == SQLITE_ROW)
            db_setting(d, pragmas[i], (const char *)sqlite3_column_text(t, 0));
        sqlite3_finalize(t);
    }
    db_setting(d, "cache", o->shared ? "shared" : "private");
    db_setting(d, "begin", o->immediate ? "immediate" : "deferred");
}

static bool lite_open(db *d)
{
    sqlite_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    strbuf_init(&o->tables, d->mem);
    o->dirty = db_asks_for(d, "read-uncommitted");
    o->shared = o->dirty;
    if (!parameters(d, o)) return false;
    if (o->dirty && !o->shared) {
        d->misuse = true;
        db_fail(d->error, "read-uncommitted needs cache=shared");
        return false;
    }
    size_t path = strcspn(d->address, "?");
    if (!path) {
        d->misuse = true;
        db_fail(d->error, "sqlite: needs a file name or :memory:");
        return false;
    }
    if (path == 8 && !strncmp(d->address, ":memory:", 8)) {
        /* The name keeps two databases of one process apart. */
        snprintf(o->uri, sizeof o->uri, "file:ratel-%p?mode=memory&cache=shared", (void *)d);
        o->shared = true;
    } else {
        snprintf(o->uri, sizeof o->uri, "file:");
        add_path(o->uri, sizeof o->uri, d->address, path);
        if (o->shared) snprintf(o->uri + strlen(o->uri), 16, "?cache=shared");
    }
    snprintf(d->version, sizeof d->version, "SQLite %s", sqlite3_libversion());
    if (open_handle(o, &o->keeper) != SQLITE_OK ||
        sqlite3_exec(o->keeper, o->pragmas, NULL, NULL, NULL) != SQLITE_OK) {
        db_fail(d->error, "%.*s: %s", (int)path, d->address, sqlite3_errmsg(o->keeper));
        return false;
    }
    sqlite3_busy_timeout(o->keeper, KEEPER_MS); /* another run may be busy in the same file */
    read_settings(d, o);
    return true;
}

static void lite_close(db *d)
{
    sqlite_own *o = d->own;
    if (o && o->tables.n) sqlite3_exec(o->keeper, strbuf_cstr(&o->tables), NULL, NULL, NULL);
    if (o) sqlite3_close_v2(o->keeper);
    d->own = NULL;
}

/* Statements in one transaction, which writes from its start: it waits then, and not halfway. */
static bool keeper_does(db *d, const char *sql)
{
    const sqlite_own *o = d->own;
    bool done = sqlite3_exec(o->keeper, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
                sqlite3_exec(o->keeper, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (done) return true;
    db_fail(d->error, "%s", sqlite3_errmsg(o->keeper));
    if (!sqlite3_get_autocommit(o->keeper)) sqlite3_exec(o->keeper, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

/* What is made in the open transaction goes when the database is closed. */
static void drop_later(db *d, const char *table)
{
    sqlite_own *o = d->own;
    strbuf_printf(&o->tables, "DROP TABLE IF EXISTS \"%s\";", table);
}

static bool lite_load(db *d, const db_row *rows, size_t n)
{
    sqlite_own *o = d->own;
    sqlite3_stmt *insert = NULL;
    char sql[256];
    snprintf(sql, sizeof sql,
             "%s%s;CREATE TABLE %s(k INTEGER PRIMARY KEY,v %s /* " DB_MADE_BY " */)",
             d->made ? "DROP TABLE " : "", d->made ? d->place : "", d->place,
             d->lists ? "TEXT" : "INTEGER");
    if (!keeper_does(d, sql)) return false;
    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(?1,?2)", d->place);
    bool done = sqlite3_prepare_v2(o->keeper, sql, -1, &insert, NULL) == SQLITE_OK;
    for (size_t i = 0; done && i < n; i++) {
        sqlite3_bind_int64(insert, 1, rows[i].key);
        sqlite3_bind_int64(insert, 2, rows[i].value);
        done = sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK;
    }
    sqlite3_finalize(insert);
    if (done) done = sqlite3_exec(o->keeper, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    if (!done) db_fail(d->error, "%s", sqlite3_errmsg(o->keeper));
    if (!done) sqlite3_exec(o->keeper, "ROLLBACK", NULL, NULL, NULL);
    if (done && !d->made) drop_later(d, d->place);
    d->made = d->made || done;
    return done;
}

static bool lite_adopt(db *d)
{
    if (!d->own_tables && !d->made) drop_later(d, d->place);
    return d->made = true;
}

/* --- sessions --------------------------------------------------------------------------------- */

static const struct {
    int code;
    enum db_answer answer;
} error_classes[] = {
#define SQLITE_ERROR_CLASS(code, answer, why) {code, answer},
#include "driver/sqlite_errors.def"
#undef SQLITE_ERROR_CLASS
};

/* Without memory or disk there is no answer. */
static bool lacks_resources(int code)
{
    int plain = code & 0xff;
    return plain == SQLITE_NOMEM || plain == SQLITE_FULL || plain == SQLITE_IOERR ||
           plain == SQLITE_CANTOPEN;
}

static enum db_answer told(db_session *s, int code)
{
    sqlite_conn *c = s->own;
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return DB_OK;
    db_fail(s->error, "%s",
            code == SQLITE_MISUSE  ? "more than one statement"
            : code == SQLITE_NOMEM ? "out of memory"
                                   : sqlite3_errmsg(c->handle));
    for (size_t i = 0; i < sizeof error_classes / sizeof *error_classes; i++)
        if (error_classes[i].code == (code & 0xff)) return error_classes[i].answer;
    return DB_BROKEN;
}

/* A transaction that ends closes them, as with PostgreSQL. */
static void close_cursors(sqlite_conn *c)
{
    for (size_t i = 0; i < c->cursors.n; i++) sqlite3_finalize(c->cursors.at[i].statement);
    c->cursors.n = 0;
}

static void lite_disconnect(db_session *s)
{
    sqlite_conn *c = s->own;
    if (!c) return;
    close_cursors(c);
    vec_free(s->mem, &c->cursors);
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(c->statement[i]);
    for (size_t i = 0; i < c->queries.n; i++) sqlite3_finalize(c->queries.at[i].statement);
    vec_free(s->mem, &c->queries);
    sqlite3_close_v2(c->handle);
    mem_put(s->mem, c);
    s->own = NULL;
}

/* Has it waited long enough for a lock?  While a script is played, the lock is held until a later
   step of another session, which begins only after somebody has looked at this wait.  So tries are
   counted there, not time, and it is patient while steps begin: on a busy machine the clock would
   decide between a session that waits and one that gives up. */
static bool has_waited(sqlite_conn *c, int tries)
{
    unsigned turn = *c->turns;
    if (!tries) c->since = clock_now();
    if (!turn) return clock_now() - c->since > BUSY_MS * 1000000ull;
    if (!tries || turn != c->turn) c->turn_tries = tries;
    c->turn = turn;
    return tries >= BUSY_TRIES && tries - c->turn_tries >= CALM_TRIES;
}

/* As sqlite3_busy_timeout does it, and others can see it. */
static int wait_for_lock(void *given, int tries)
{
    static const uint8_t delays[] = {1, 2, 5, 10, 15, 20, 25, 25};
    sqlite_conn *c = given;
    c->waiting = true;
    c->tries++;
    if (has_waited(c, tries) || c->hasty) return 0;
    clock_nap(delays[tries < 7 ? tries : 7] * 1000000u);
    return 1;
}

/* Statements that come from elsewhere reach no file. */
static int within_memory(void *ud, int action, const char *a, const char *b, const char *c,
                         const char *d)
{
    (void)ud, (void)c, (void)d;
    if (action == SQLITE_PRAGMA) return a && !strcmp(a, "foreign_keys") ? SQLITE_OK : SQLITE_DENY;
    if (action == SQLITE_FUNCTION)
        return b && !strcmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
    return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

static int is_given_up(void *session)
{
    const db_session *s = session;
    return s->gives_up(s->gives_up_ud);
}

static enum db_answer lite_connect(db_session *s)
{
    static const char *const text[STATEMENTS] = {
        [BEGIN] = "BEGIN",
        [COMMIT] = "COMMIT",
        [ROLLBACK] = "ROLLBACK",
        [GET] = "SELECT v FROM %s WHERE k=?1",
        [PUT] = "INSERT INTO %s VALUES(?1,?2) ON CONFLICT(k) DO UPDATE SET v=excluded.v",
        [APPEND] = ("INSERT INTO %s VALUES(?1,?2) "
                    "ON CONFLICT(k) DO UPDATE SET v=v||','||excluded.v"),
        [REMOVE] = "DELETE FROM %s WHERE k=?1",
        [BURY] = "INSERT INTO %s VALUES(?1,NULL) ON CONFLICT(k) DO UPDATE SET v=NULL",
        [RANGE] = ("SELECT k,v FROM %s WHERE k>=?1 AND k<?2 AND v IS NOT NULL "
                   "ORDER BY k LIMIT ?3"),
        [REVERSE] = ("SELECT k,v FROM %s WHERE k>=?1 AND k<?2 AND v IS NOT NULL "
                     "ORDER BY k DESC LIMIT ?3"),
        [ADD] = "UPDATE %s SET v=v+?2 WHERE k=?1 RETURNING v",
        [UPSERT] = ("INSERT INTO %s VALUES(?1,?2) "
                    "ON CONFLICT(k) DO UPDATE SET v=v+excluded.v RETURNING v"),
    };
    const sqlite_own *o = s->db->own;
    sqlite_conn *c = s->own = mem_zeroed(s->mem, sizeof *c);
    int code = open_handle(o, &c->handle);
    c->hasty = s->db->stepped;
    c->turns = &s->db->turns;
    if (code == SQLITE_OK) sqlite3_busy_handler(c->handle, wait_for_lock, c);
    if (code == SQLITE_OK) code = sqlite3_exec(c->handle, o->pragmas, NULL, NULL, NULL);
    if (code == SQLITE_OK && s->gives_up)
        sqlite3_progress_handler(c->handle, STEPS_BETWEEN, is_given_up, s);
    if (code == SQLITE_OK && s->db->enclosed)
        sqlite3_set_authorizer(c->handle, within_memory, NULL);
    if (code == SQLITE_OK && o->dirty)
        code = sqlite3_exec(c->handle, "PRAGMA read_uncommitted=1", NULL, NULL, NULL);
    for (int i = 0; i < (s->db->own_tables ? GET : STATEMENTS) && code == SQLITE_OK; i++)
        for (int tries = 0; tries < LOCKED_TRIES; tries++) {
            char sql[192];
            if (i == BEGIN && o->immediate)
                snprintf(sql, sizeof sql, "BEGIN IMMEDIATE");
            else
                snprintf(sql, sizeof sql, text[i], s->db->place);
            code = sqlite3_prepare_v3(c->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                      &c->statement[i], NULL);
            if ((code & 0xff) != SQLITE_LOCKED) break;
            clock_nap(LOCKED_NAP);
        }
    if (code == SQLITE_OK) return DB_OK;
    db_fail(s->error, "%s", sqlite3_errmsg(c->handle));
    enum db_answer a = (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED
                           ? DB_LOST /* try again */
                           : DB_BROKEN;
    lite_disconnect(s);
    return a;
}

/* The first row, or the end. */
static int first_of(sqlite_conn *c, sqlite3_stmt *t)
{
    int code = SQLITE_OK;
    for (int tries = 0; tries < LOCKED_TRIES; tries++) {
        code = sqlite3_step(t);
        if ((code & 0xff) != SQLITE_LOCKED || c->hasty) break;
        sqlite3_reset(t);
        clock_nap(LOCKED_NAP);
    }
    c->waiting = false;
    return code;
}

static int first(sqlite_conn *c, int which)
{
    return first_of(c, c->statement[which]);
}

/* Statements that return nothing. */
static enum db_answer simply(db_session *s, int which)
{
    sqlite_conn *c = s->own;
    int code = first(c, which);
    enum db_answer a = told(s, code);
    sqlite3_reset(c->statement[which]);
    return a;
}

static enum db_answer lite_begin(db_session *s)
{
    const sqlite_own *o = s->db->own;
    bool dirty = !strcmp(s->isolation, "read-uncommitted");
    if (o->dirty && s->db->parts) {
        sqlite_conn *c = s->own;
        int code = sqlite3_exec(c->handle,
                                dirty ? "PRAGMA read_uncommitted=1" : "PRAGMA read_uncommitted=0",
                                NULL, NULL, NULL);
        if (code != SQLITE_OK) return told(s, code);
    }
    return simply(s, BEGIN);
}

/* BEGIN alone takes nothing; the first statement reads the database, a write too. */
static unsigned lite_snapshot(const db *d)
{
    const sqlite_own *o = d->own;
    if (o->dirty) return 0;
    return DB_READ | DB_LOCKING_READ | DB_WRITE | (o->immediate ? DB_BEGIN : 0u);
}

static enum db_answer lite_get(db_session *s, int64_t key, bool lock)
{
    (void)lock; /* there are no locking reads: a write locks all */
    sqlite_conn *c = s->own;
    sqlite3_stmt *t = c->statement[GET];
    sqlite3_bind_int64(t, 1, key);
    int code = first(c, GET);
    enum db_answer a = told(s, code);
    s->tomb = code == SQLITE_ROW && sqlite3_column_type(t, 0) == SQLITE_NULL;
    s->absent = code != SQLITE_ROW || s->tomb;
    if (a == DB_OK && !s->absent && s->db->lists) {
        const char *text = (const char *)sqlite3_column_text(t, 0);
        s->text.n = 0;
        if (text) strbuf_str(&s->text, text);
        if (!text) a = told(s, SQLITE_NOMEM); /* it is no empty list */
    } else if (a == DB_OK && !s->absent) {
        s->value = sqlite3_column_int64(t, 0);
    }
    sqlite3_reset(t);
    return a;
}

static enum db_answer writes(db_session *s, int which, int64_t key, int64_t value)
{
    sqlite_conn *c = s->own;
    sqlite3_bind_int64(c->statement[which], 1, key);
    if (which != REMOVE && which != BURY) sqlite3_bind_int64(c->statement[which], 2, value);
    return simply(s, which);
}

static enum db_answer lite_put(db_session *s, int64_t key, int64_t value)
{
    return writes(s, PUT, key, value);
}

static enum db_answer lite_append(db_session *s, int64_t key, int64_t value)
{
    return writes(s, APPEND, key, value);
}

static enum db_answer lite_remove(db_session *s, int64_t key)
{
    const sqlite_conn *c = s->own;
    enum db_answer a = writes(s, s->db->tombstones ? BURY : REMOVE, key, 0);
    s->idle = a == DB_OK && !sqlite3_changes(c->handle);
    return a;
}

static enum db_answer lite_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    sqlite_conn *c = s->own;
    int which = s->reverse ? REVERSE : RANGE;
    sqlite3_stmt *t = c->statement[which];
    sqlite3_bind_int64(t, 1, from);
    sqlite3_bind_int64(t, 2, to);
    sqlite3_bind_int64(t, 3, limit ? (int64_t)limit : -1);
    s->rows.n = 0;
    int code = first(c, which);
    for (; code == SQLITE_ROW; code = sqlite3_step(t)) {
        db_row row = {sqlite3_column_int64(t, 0), sqlite3_column_int64(t, 1)};
        vec_push(s->mem, &s->rows, row);
    }
    enum db_answer a = told(s, code);
    sqlite3_reset(t);
    return a;
}

/* The row is returned by the first step; the statement is over with the last. */
static enum db_answer lite_add(db_session *s, int64_t key, int64_t amount, bool upsert)
{
    sqlite_conn *c = s->own;
    int which = upsert ? UPSERT : ADD;
    sqlite3_stmt *t = c->statement[which];
    sqlite3_bind_int64(t, 1, key);
    sqlite3_bind_int64(t, 2, amount);
    int code = first(c, which);
    s->absent = code != SQLITE_ROW || sqlite3_column_type(t, 0) == SQLITE_NULL;
    if (code == SQLITE_ROW) {
        s->value = sqlite3_column_int64(t, 0);
        code = sqlite3_step(t);
    }
    enum db_answer a = told(s, code);
    sqlite3_reset(t);
    return a;
}

static enum db_answer lite_nest(db_session *s, enum db_nesting what)
{
    static const char *const texts[] = {[DB_SAVEPOINT] = "SAVEPOINT ratel",
                                        [DB_UNDO] = "ROLLBACK TO ratel;RELEASE ratel",
                                        [DB_KEEP] = "RELEASE ratel"};
    sqlite_conn *c = s->own;
    return told(s, sqlite3_exec(c->handle, texts[what], NULL, NULL, NULL));
}

static bool lite_alone(const db *d)
{
    (void)d;
    return true;
}

static enum db_answer lite_abort(db_session *s)
{
    sqlite_conn *c = s->own;
    close_cursors(c);
    if (sqlite3_get_autocommit(c->handle)) return DB_OK; /* the error has rolled back already */
    return simply(s, ROLLBACK) == DB_OK ? DB_OK : DB_LOST;
}

static enum db_answer lite_commit(db_session *s)
{
    sqlite_conn *c = s->own;
    close_cursors(c);
    if (sqlite3_get_autocommit(c->handle)) {
        db_fail(s->error, "rolled back before the commit");
        return DB_REFUSED;
    }
    enum db_answer a = simply(s, COMMIT);
    if (a == DB_OK) return a;
    if (a == DB_BROKEN && sqlite3_get_autocommit(c->handle)) return DB_LOST; /* did it? */
    return lite_abort(s) == DB_OK ? DB_REFUSED : DB_LOST;
}

/* --- workloads with tables of their own ------------------------------------------------------- */

/* All tables that there are now, as text with a line each.  False: they could not all be read, and
   one that is missing there would be taken for ours. */
static bool list_tables(const sqlite_own *o, strbuf *to)
{
    sqlite3_stmt *t = NULL;
    int code = sqlite3_prepare_v2(o->keeper, "SELECT name FROM sqlite_master WHERE type='table'",
                                  -1, &t, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(t);
        if (code != SQLITE_ROW) break;
        const char *name = (const char *)sqlite3_column_text(t, 0);
        if (name)
            strbuf_printf(to, "\n%s\n", name);
        else
            code = SQLITE_NOMEM;
    }
    sqlite3_finalize(t);
    return code == SQLITE_DONE;
}

/* A table that is there already is somebody else's: making it fails, with its name. */
static bool lite_script(db *d, const char *text)
{
    sqlite_own *o = d->own;
    strbuf before, after;
    strbuf_init(&before, d->mem);
    strbuf_init(&after, d->mem);
    bool done = list_tables(o, &before);
    if (!done)
        db_fail(d->error, "the tables that are there cannot be listed: %s",
                sqlite3_errmsg(o->keeper));
    done = done && keeper_does(d, text);
    if (done && !list_tables(o, &after)) {
        db_fail(d->error, "the tables that were made cannot be listed: %s",
                sqlite3_errmsg(o->keeper));
        done = false;
    }
    const char *old = strbuf_cstr(&before);
    for (const char *p = strbuf_cstr(&after); done && *p;) {
        size_t n = strcspn(p + 1, "\n") + 2;
        char line[160];
        snprintf(line, sizeof line, "%.*s", (int)n, p);
        p += n;
        if (n >= sizeof line || strstr(old, line)) continue;
        line[n - 1] = 0;
        drop_later(d, line + 1);
    }
    if (done) done = sqlite3_exec(o->keeper, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    strbuf_free(&before);
    strbuf_free(&after);
    return done;
}

/* The workload's texts are few and constant: prepared once, found by address. */
static int prepared(db_session *s, const char *text, sqlite3_stmt **out)
{
    sqlite_conn *c = s->own;
    int code = SQLITE_OK;
    if (s->db->enclosed || s->db->made_up) {
        const char *rest = NULL;
        sqlite3_stmt *second = NULL;
        code = sqlite3_prepare_v2(c->handle, text, -1, out, &rest);
        if (code != SQLITE_OK || !*rest) return code;
        /* a second statement would not be executed; spaces and comments are none */
        code = sqlite3_prepare_v2(c->handle, rest, -1, &second, NULL);
        bool one = code == SQLITE_OK && !second;
        sqlite3_finalize(second);
        if (one) return SQLITE_OK;
        sqlite3_finalize(*out);
        *out = NULL;
        return lacks_resources(code) ? code : SQLITE_MISUSE;
    }
    for (size_t i = 0; i < c->queries.n; i++)
        if (c->queries.at[i].text == text) {
            *out = c->queries.at[i].statement;
            return SQLITE_OK;
        }
    vec_reserve(s->mem, &c->queries, 1);
    for (int tries = 0; tries < LOCKED_TRIES; tries++) {
        code = sqlite3_prepare_v3(c->handle, text, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
        if ((code & 0xff) != SQLITE_LOCKED || c->hasty) break;
        clock_nap(LOCKED_NAP);
    }
    if (code == SQLITE_OK) vec_push(s->mem, &c->queries, ((query_text){text, *out}));
    return code;
}

/* $1 and also $1::int are names of parameters here: the number in them counts. */
static int give_params(sqlite3_stmt *t, const char *const *params, uint32_t n)
{
    int code = SQLITE_OK;
    for (int i = 1; code == SQLITE_OK && i <= sqlite3_bind_parameter_count(t); i++) {
        const char *name = sqlite3_bind_parameter_name(t, i);
        uint64_t k = (uint64_t)i;
        if (name) k = strtoull(name + 1, NULL, 10);
        if (!k || k > n || !params[k - 1]) continue; /* not given: null */
        char *end;
        long long v = strtoll(params[k - 1], &end, 10);
        if (*params[k - 1] && !*end)
            code = sqlite3_bind_int64(t, i, v);
        else
            code = sqlite3_bind_text(t, i, params[k - 1], -1, SQLITE_STATIC);
    }
    return code;
}

/* False: there is not enough memory for its text, which is not to be taken for another value. */
static bool keep_cell(db_session *s, sqlite3_stmt *t, int column)
{
    int type = sqlite3_column_type(t, column);
    db_cell c = {UINT32_MAX, 0, DB_TEXT};
    const char *declared = sqlite3_column_decltype(t, column);
    bool truth = declared && !strcmp(declared, "boolean");
    if (type != SQLITE_NULL) {
        const char *text = (const char *)sqlite3_column_text(t, column);
        if (truth) text = sqlite3_column_int64(t, column) ? "true" : "false";
        if (!text && sqlite3_errcode(((sqlite_conn *)s->own)->handle) == SQLITE_NOMEM) return false;
        if (!text) text = "";
        c.at = (uint32_t)s->text.n;
        c.n = (uint32_t)strlen(text);
        c.kind = truth                                            ? DB_BOOL
                 : type == SQLITE_INTEGER || type == SQLITE_FLOAT ? DB_NUMBER
                                                                  : DB_TEXT;
        strbuf_add(&s->text, text, c.n);
        strbuf_char(&s->text, 0);
    }
    vec_push(s->mem, &s->cells, c);
    return true;
}

/* The row at which a statement stands: SQLITE_ROW, or what is wrong. */
static int keep_row(db_session *s, sqlite3_stmt *t)
{
    s->n_rows++;
    for (uint32_t i = 0; i < s->n_cols; i++)
        if (!keep_cell(s, t, (int)i)) return SQLITE_NOMEM;
    return SQLITE_ROW;
}

/* What PostgreSQL calls it. */
static const char *state_of(int code)
{
    switch (code) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY: return "23505";
    case SQLITE_CONSTRAINT_CHECK: return "23514";
    case SQLITE_CONSTRAINT_NOTNULL: return "23502";
    case SQLITE_CONSTRAINT_FOREIGNKEY: return "23503";
    }
    int plain = code & 0xff;
    if (lacks_resources(code)) return plain == SQLITE_FULL ? "53100" : "53200";
    bool refused = plain == SQLITE_BUSY || plain == SQLITE_LOCKED || plain == SQLITE_ABORT;
    return refused ? "40001" : "XX000";
}

static open_cursor *cursor_named(sqlite_conn *c, const char *name)
{
    for (size_t i = 0; i < c->cursors.n; i++)
        if (!strcmp(c->cursors.at[i].name, name)) return &c->cursors.at[i];
    return NULL;
}

/* DECLARE, FETCH and CLOSE of the workloads are statements that are prepared, stepped a few times
   and finalized.  False: it is none of them. */
static bool is_of_cursor(db_session *s, const char *text, int *code)
{
    sqlite_conn *c = s->own;
    open_cursor o = {0}, *at;
    int query = 0;
    unsigned rows = 0;
    if (!s->db->made_up || s->db->enclosed) return false;
    if (sscanf(text, "DECLARE %15s CURSOR FOR %n", o.name, &query) == 1 && query) {
        *code = SQLITE_ERROR;
        if (!cursor_named(c, o.name)) *code = prepared(s, text + query, &o.statement);
        if (*code == SQLITE_OK) vec_push(s->mem, &c->cursors, o);
        return true;
    }
    if (sscanf(text, "FETCH %u FROM %15s", &rows, o.name) == 2) {
        *code = SQLITE_ERROR;
        if (!(at = cursor_named(c, o.name))) return true;
        *code = SQLITE_DONE;
        s->has_rows = true;
        s->n_cols = (uint32_t)sqlite3_column_count(at->statement);
        while (!at->over && rows--) {
            *code = at->begun ? sqlite3_step(at->statement) : first_of(c, at->statement);
            at->begun = true;
            if (*code == SQLITE_ROW) *code = keep_row(s, at->statement);
            if (*code != SQLITE_ROW) break;
        }
        at->over = at->over || *code != SQLITE_ROW;
        return true;
    }
    if (sscanf(text, "CLOSE %15s", o.name) != 1) return false;
    *code = SQLITE_ERROR;
    if (!(at = cursor_named(c, o.name))) return true;
    sqlite3_finalize(at->statement);
    *at = c->cursors.at[--c->cursors.n];
    *code = SQLITE_OK;
    return true;
}

static enum db_answer lite_query(db_session *s, const char *text, const char *const *params,
                                 uint32_t n)
{
    sqlite_conn *c = s->own;
    sqlite3_stmt *t = NULL;
    int code = SQLITE_OK;
    s->cells.n = s->text.n = 0;
    s->n_rows = s->n_cols = 0;
    s->affected = 0;
    s->has_rows = false;
    s->state[0] = 0;
    if (is_of_cursor(s, text, &code)) {
        enum db_answer of_cursor = told(s, code);
        s->affected = s->n_rows;
        if (of_cursor != DB_OK) snprintf(s->state, sizeof s->state, "%s", state_of(code));
        return of_cursor;
    }
    int before = sqlite3_total_changes(c->handle);
    code = prepared(s, text, &t);
    if (code == SQLITE_OK) code = give_params(t, params, n);
    if (code == SQLITE_OK) {
        s->n_cols = (uint32_t)sqlite3_column_count(t);
        s->has_rows = s->n_cols > 0;
        for (code = first_of(c, t); code == SQLITE_ROW;) {
            code = keep_row(s, t);
            if (code == SQLITE_ROW) code = sqlite3_step(t);
        }
    }
    enum db_answer a = told(s, code);
    if (a == DB_OK) s->affected = (uint64_t)(sqlite3_total_changes(c->handle) - before);
    if (a == DB_OK && s->has_rows && !s->affected) s->affected = s->n_rows;
    if (a != DB_OK) snprintf(s->state, sizeof s->state, "%s", state_of(code));
    if (a == DB_BROKEN && (code & 0xff) == SQLITE_CONSTRAINT) a = DB_REFUSED;
    if (t && (s->db->enclosed || s->db->made_up))
        sqlite3_finalize(t);
    else if (t)
        sqlite3_reset(t);
    return a;
}

static bool lite_enclose(db *d)
{
    sqlite_own *o = d->own;
    d->misuse = strcmp(d->address, ":memory:") != 0;
    if (d->misuse) db_fail(d->error, "statements of a log run in sqlite::memory: only");
    if (d->misuse) return false;
    if (d->enclosed) { /* without a connection nothing is left of the last one */
        sqlite3_close_v2(o->keeper);
        if (open_handle(o, &o->keeper) != SQLITE_OK) db_fail(d->error, "no memory");
    }
    d->enclosed = true;
    return sqlite3_db_filename(o->keeper, "main") != NULL;
}

/* A writer has the database for itself from its first write until its commit is over: what the
   clock says in between is in the order of commits. */
static void lite_mark(db_session *s)
{
    const sqlite_conn *c = s->own;
    bool wrote = sqlite3_txn_state(c->handle, NULL) == SQLITE_TXN_WRITE;
    s->mark[0] = 0;
    if (wrote) snprintf(s->mark, sizeof s->mark, "%llu", (unsigned long long)clock_now());
}

static bool lite_stamp(db_session *s, int64_t *out)
{
    if (!*s->mark) return false;
    *out = strtoll(s->mark, NULL, 10);
    return true;
}

/* SQLite tries again and again: it waits if it finds the lock taken once more from now on. */
static enum db_waiting lite_waits(db_session *watcher, const db_session *s)
{
    (void)watcher;
    const sqlite_conn *c = s->own;
    unsigned before = c->tries;
    while (c->waiting && c->tries == before) clock_nap(500000);
    return c->waiting ? DB_WAITS : DB_GOES_ON;
}

static void lite_cut(db *d, const db_session *s)
{
    const sqlite_conn *c = s->own;
    (void)d;
    if (c->handle) sqlite3_interrupt(c->handle);
}

const driver driver_sqlite = {
    .adopt = lite_adopt,
    .name = "sqlite",
    .isolations = "serializable read-uncommitted",
    .open = lite_open,
    .close = lite_close,
    .load = lite_load,
    .connect = lite_connect,
    .disconnect = lite_disconnect,
    .snapshot = lite_snapshot,
    .begin = lite_begin,
    .get = lite_get,
    .put = lite_put,
    .append = lite_append,
    .remove = lite_remove,
    .range = lite_range,
    .reverses = true,
    .add = lite_add,
    .nest = lite_nest,
    .alone = lite_alone,
    .commit = lite_commit,
    .abort = lite_abort,
    .script = lite_script,
    .query = lite_query,
    .enclose = lite_enclose,
    .mark = lite_mark,
    .stamp = lite_stamp,
    .foresees = true,
    .waits = lite_waits,
    .cut = lite_cut,
};
