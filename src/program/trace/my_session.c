/*
 * my_session.c - pairs what a client of MariaDB or MySQL asks with what the server answers.
 *
 * Commands wait in a queue until the server answers them, in their order.  An answer is one packet,
 * or definitions of columns and then rows, perhaps several times; the state says what the next
 * packet of the server is.  Invariant: the head of the queue is the command that the next packet of
 * the server is about.
 */
#include "trace/my_session.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "base/hash.h"
#include "trace/my_values.h"
#include "trace/pg_txn.h"

#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

enum my_command {
    COM_QUIT = 1,
    COM_INIT_DB = 2,
    COM_QUERY = 3,
    COM_FIELD_LIST = 4,
    COM_STATISTICS = 9,
    COM_PROCESS_INFO = 10,
    COM_CHANGE_USER = 17,
    COM_BINLOG_DUMP = 18,
    COM_STMT_PREPARE = 22,
    COM_STMT_EXECUTE = 23,
    COM_STMT_SEND_LONG_DATA = 24,
    COM_STMT_CLOSE = 25,
    COM_STMT_RESET = 26,
    COM_STMT_FETCH = 28,
    COM_RESET_CONNECTION = 31,
    COM_STMT_BULK_EXECUTE = 250
};

/* Capabilities, and bits of the server's status. */
#define CAN_FOUND_ROWS 0x2u
#define CAN_CONNECT_WITH_DB 0x8u
#define CAN_COMPRESS 0x20u
#define CAN_PLAIN_MYSQL 0x1u /* without it, MariaDB's own capabilities follow */
#define CAN_TLS 0x800u
#define CAN_SECURE 0x8000u
#define CAN_LENGTH_AUTH 0x200000u
#define CAN_NO_EOF 0x1000000u
#define CAN_ZSTD 0x4000000u
#define MARIA_EXTENDED_METADATA 0x8u
#define MARIA_CACHE_METADATA 0x10u
#define IN_TRANSACTION 1u
#define MORE_RESULTS 8u
#define CURSOR_EXISTS 0x40u
#define ERROR_DEADLOCK 1213u
#define ERROR_PROGRESS 0xffffu

typedef enum my_state {
    NEXT_FIRST,       /* the first packet of an answer */
    NEXT_COLUMN,      /* the definition of a column */
    NEXT_COLUMNS_END, /* the end of the definitions */
    NEXT_ROW,         /* a row, or the end of the rows */
    NEXT_PARAMETER,   /* PREPARE: the definition of a parameter */
    NEXT_PARAMETERS_END,
    NEXT_FILE /* LOCAL INFILE: the client sends a file */
} my_state;

typedef struct my_asked {
    uint8_t kind;
    bool lost;
    uint64_t call;
    size_t at; /* of its body, without the command's byte, in the queue's bytes */
    uint32_t n;
} my_asked;

typedef struct my_prepared {
    struct my_prepared *next;
    uint32_t id, n_params, n_cols;
    my_column *cols, *types; /* of results; of parameters, as they were last bound; or NULL */
    bool long_data;
    bool hidden; /* it is about a masked column */
    char *sql;
} my_prepared;

enum { BUCKETS = 256, MOST_COLUMNS = 4096 };

struct my_session {
    guard guard;
    mem mem;
    const pg_limits *limits;
    const mask *masks;
    const pg_sink *sink;
    const char *wanted; /* the traced database */
    uint32_t number;
    my_wire client, server;
    uint64_t now;
    const char *blind;
    bool elsewhere;
    bool encrypted;                         /* the client's TLS ends at the proxy */
    bool greeted, answered_greeting, ready; /* of the handshake */
    uint32_t can, maria_can;
    bool utf8, first_utf8; /* is the text UTF-8: now; when the client logged in */
    VEC(my_asked) queue;
    size_t head;
    strbuf bytes;
    my_state state;
    uint32_t n_cols, at_col;
    VEC(my_column) cols;
    uint32_t left_params;
    my_prepared *making; /* PREPARE: the definitions that come are this one's */
    my_prepared *buckets[BUCKETS];
    uint32_t last_prepared;
    size_t rest; /* of a query's text: how much was answered */
    uint32_t n_results;
    pg_answer answer;
    strbuf params, text;
    bool masks_later; /* a masked statement was prepared under a name */
    bool unsure;      /* a statement of the block has failed, and the server said nothing since */
    bool matched;     /* the number of the result is that of the rows that an UPDATE found */
    const char *next_isolation; /* of the next transaction alone */
    pg_txn txn;
};

/* ---- failures, and the queue ----------------------------------------------------------------- */

static uint64_t earliest(const my_session *s)
{
    if (s->txn.open) return s->txn.begun;
    return s->head < s->queue.n ? s->queue.at[s->head].call : s->now;
}

/* A session of another database is not logged, and what is not understood of it is no loss. */
static void tell_gap(my_session *s, uint64_t from, const char *why)
{
    if (!s->elsewhere) s->sink->gap(s->sink->ud, s->number, from, why);
}

/* From here on nothing is known, not even of which database the session is. */
static void go_blind(my_session *s, const char *why)
{
    if (s->blind) return;
    s->blind = why;
    if (s->ready || !s->elsewhere) s->sink->gap(s->sink->ud, s->number, earliest(s), why);
    s->elsewhere = s->elsewhere && !s->ready;
    mem_free_all(&s->mem);
    memset(&s->txn, 0, sizeof s->txn);
    s->queue.at = NULL;
    s->queue.n = s->head = 0;
}

_Noreturn static void lose_track(my_session *s, const char *why)
{
    guard_fail(&s->guard, GUARD_PARSE, "%s", why);
}

static void push_command(my_session *s, uint8_t kind, const char *body, uint32_t n, bool lost)
{
    if (s->head == s->queue.n) s->head = s->queue.n = s->bytes.n = 0;
    vec_push(&s->mem, &s->queue, ((my_asked){kind, lost, s->now, s->bytes.n, n}));
    strbuf_add(&s->bytes, body, n);
    strbuf_char(&s->bytes, 0);
}

static my_asked *queue_head(my_session *s)
{
    return s->head < s->queue.n ? &s->queue.at[s->head] : NULL;
}

static wire_body body_of(const my_session *s, const my_asked *a)
{
    const char *at = s->bytes.at + a->at;
    return (wire_body){at, at + a->n, false};
}

static void begin_answer(my_session *s)
{
    s->answer.rows.n = 0;
    s->answer.n_rows = s->answer.hash = s->answer.copied = s->answer.insert_id = 0;
    s->answer.has_rows = s->answer.over = s->answer.hidden = false;
    s->answer.error[0] = 0;
    s->state = NEXT_FIRST;
    s->cols.n = 0;
}

static void pop_command(my_session *s)
{
    assert(s->head < s->queue.n);
    s->head++;
    s->rest = 0;
    s->n_results = 0;
    s->making = NULL;
    begin_answer(s);
}

static bool is_secret(const my_session *s, const char *sql, size_t n)
{
    if (mask_names(s->masks, sql, n)) return true;
    bool account = n > 6 && (!strncasecmp(sql, "create", 6) || !strncasecmp(sql, "alter", 5) ||
                             !strncasecmp(sql, "grant", 5) || !strncasecmp(sql, "set", 3));
    return account && (sql_mentions(sql, n, "identified") || sql_mentions(sql, n, "password"));
}

/* PREPARE ... FROM, and EXECUTE of what may have been prepared so. */
static bool must_hide(my_session *s, const sql_part *p)
{
    bool named = is_secret(s, p->at, p->n);
    if (named && p->names_later) s->masks_later = true;
    return named || (p->runs_earlier && s->masks_later);
}

/* ---- prepared statements --------------------------------------------------------------------- */

static my_prepared **find_prepared(my_session *s, uint32_t id)
{
    my_prepared **at = &s->buckets[id % BUCKETS];
    while (*at && (*at)->id != id) at = &(*at)->next;
    return at;
}

static void close_prepared(my_session *s, uint32_t id)
{
    my_prepared **at = find_prepared(s, id), *p = *at;
    if (!p) return;
    *at = p->next;
    if (s->making == p) s->making = NULL;
    mem_put(&s->mem, p->cols);
    mem_put(&s->mem, p->types);
    mem_put(&s->mem, p->sql);
    mem_put(&s->mem, p);
}

static void forget_prepared(my_session *s)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        while (s->buckets[i]) close_prepared(s, s->buckets[i]->id);
}

/* The answer to PREPARE begins: its number, and how many definitions follow. */
static void keep_prepared(my_session *s, const my_asked *a, wire_body *b)
{
    uint32_t id = my_u32(b), cols = my_u16(b), params = my_u16(b);
    if (b->bad) lose_track(s, "an incomplete answer to PREPARE");
    if (a->lost) lose_track(s, "a prepared statement is longer than --max-statement");
    close_prepared(s, id);
    my_prepared *p = mem_zeroed(&s->mem, sizeof *p);
    p->id = s->last_prepared = id;
    p->n_params = params;
    p->n_cols = cols;
    p->next = s->buckets[id % BUCKETS];
    s->buckets[id % BUCKETS] = p;
    wire_body sql = body_of(s, a);
    s->text.n = 0;
    sql_number_marks(sql.at, a->n, &s->text);
    p->sql = mem_zeroed(&s->mem, s->text.n + 1);
    /* An empty statement is prepared, too: then there is no buffer to copy from. */
    if (s->text.n) memcpy(p->sql, s->text.at, s->text.n);
    p->hidden = is_secret(s, p->sql, s->text.n);
    s->making = p;
    s->left_params = params;
    s->n_cols = cols;
    s->at_col = 0;
    s->state = params ? NEXT_PARAMETER : cols ? NEXT_COLUMN : NEXT_FIRST;
    if (!params && !cols) pop_command(s);
}

/* The parameters of an EXECUTE, as JSON; why they cannot be shown, or NULL. */
static const char *read_params(my_session *s, my_prepared *p, wire_body *b)
{
    uint32_t n = p->n_params;
    const char *opaque = NULL;
    const unsigned char *nulls = (const unsigned char *)wire_bytes(b, (n + 7) / 8);
    bool bound = wire_u8(b) != 0;
    s->params.n = 0;
    if (b->bad || (bound && (size_t)(b->end - b->at) < (size_t)n * 2)) return "its parameters";
    if (bound && !p->types) p->types = mem_array0(&s->mem, my_column, n + 1);
    for (uint32_t i = 0; bound && i < n; i++) {
        uint8_t type = wire_u8(b), flags = wire_u8(b);
        p->types[i] = (my_column){.type = type, .is_unsigned = flags & 128};
    }
    if (!p->types) return "its parameters have no types";
    for (uint32_t i = 0; i < n; i++) {
        if (i) strbuf_char(&s->params, ',');
        size_t before = s->params.n;
        bool shown = true, null = nulls[i / 8] >> (i % 8) & 1;
        if (null)
            strbuf_str(&s->params, "null");
        else
            shown = my_value_binary(&s->params, &p->types[i], s->utf8, b);
        if (b->bad) return "its parameters";
        bool secret =
            !null && s->params.n > before &&
            mask_shows(s->masks, s->params.at + before, s->params.n - before, &s->txn.scratch);
        if (shown && !secret) continue;
        s->params.n = before;
        strbuf_str(&s->params, secret ? "\"***\"" : "null");
        opaque =
            secret ? "its values are masked" : "a parameter in a form that the proxy does not read";
    }
    return opaque;
}

/* ---- what a statement does to its transaction ------------------------------------------------ */

static bool begins_with(const sql_part *p, const char *word)
{
    size_t n = strlen(word);
    if (p->n < n) return false;
    for (size_t i = 0; i < n; i++)
        if ((p->at[i] | 32) != word[i]) return false;
    return p->n == n || !((p->at[n] | 32) >= 'a' && (p->at[n] | 32) <= 'z');
}

/* SET TRANSACTION is about the next transaction, SET SESSION TRANSACTION about all that follow. */
static void note_isolation(my_session *s, const sql_part *p)
{
    bool about = sql_mentions(p->at, p->n, "isolation") ||
                 sql_mentions(p->at, p->n, "tx_isolation") ||
                 sql_mentions(p->at, p->n, "transaction_isolation");
    if (!begins_with(p, "set") || !about) return;
    bool all = sql_mentions(p->at, p->n, "session") || sql_mentions(p->at, p->n, "local");
    if (sql_mentions(p->at, p->n, "global")) {
        tell_gap(s, earliest(s), "the isolation of sessions that begin later was changed");
        if (memchr(p->at, ',', p->n)) s->txn.isolation = "read uncommitted"; /* or this one's */
        return;
    }
    if (!sql_mentions(p->at, p->n, "level")) {
        const char *named = sql_isolation_in(p->at, p->n);
        s->txn.isolation = named ? named : "read uncommitted";
    } else if (all) {
        s->txn.isolation = sql_isolation_in(p->at, p->n);
    } else {
        s->next_isolation = sql_isolation_in(p->at, p->n);
    }
}

static bool is_wanted(const my_session *s, const char *name, size_t n)
{
    return n == strlen(s->wanted) && !memcmp(name, s->wanted, n);
}

/* USE of the database that is traced. */
static bool uses_wanted(const my_session *s, const sql_part *p)
{
    const char *at = p->at + 3, *end = p->at + p->n;
    size_t length = strlen(s->wanted);
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    bool quoted = (size_t)(end - at) == length + 2 && *at == '`' && end[-1] == '`';
    at += quoted;
    return is_wanted(s, at, (size_t)(end - at) - quoted);
}

static void note_settings(my_session *s, const sql_part *p)
{
    if (sql_comment_says(p->at, p->n, "isolation")) s->txn.isolation = "read uncommitted";
    if (sql_comment_says(p->at, p->n, "names") || sql_comment_says(p->at, p->n, "character"))
        s->utf8 = false;
    if (begins_with(p, "set") &&
        (sql_mentions(p->at, p->n, "names") || sql_mentions(p->at, p->n, "character_set_results")))
        s->utf8 = sql_mentions(p->at, p->n, "utf8mb4") || sql_mentions(p->at, p->n, "utf8") ||
                  sql_mentions(p->at, p->n, "utf8mb3");
    if (begins_with(p, "use")) {
        if (!uses_wanted(s, p) && !s->elsewhere) lose_track(s, "the client uses another database");
        s->elsewhere = !uses_wanted(s, p);
    }
    if (begins_with(p, "xa"))
        tell_gap(s, earliest(s), "a distributed transaction may commit at any time");
    note_isolation(s, p);
}

/* A transaction that begins has the isolation that was asked for it alone. */
static void take_isolation(my_session *s)
{
    if (s->next_isolation) s->txn.own_isolation = s->next_isolation;
    s->next_isolation = NULL;
}

/* A transaction has ended with a statement that is no COMMIT: CREATE and its like commit what was
   open before they run.  After an error, or in a procedure, nobody can say how it ended. */
static void end_unasked(my_session *s, const pg_asked *q)
{
    static const char *const words[] = {"create", "alter", "drop",   "truncate", "rename", "set",
                                        "lock",   "grant", "revoke", "unlock",   "flush"};
    bool commits = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        commits |= begins_with(&q->part, words[i]);
    /* SET autocommit = 1 commits; SET STATEMENT ... FOR ROLLBACK does not */
    const sql_part *p = &q->part;
    if (begins_with(p, "set"))
        commits = sql_mentions(p->at, p->n, "autocommit") && !sql_mentions(p->at, p->n, "for");
    if (!commits || s->unsure)
        tell_gap(s, s->txn.begun, "a transaction ended in a way that was not understood");
    pg_txn_end(&s->txn, commits && !s->unsure ? STATUS_COMMITTED : STATUS_UNKNOWN, q->call, s->now);
    s->unsure = false;
}

/* Is the number that the server gives that of the rows that the statement is about?  UPDATE counts
   those that it changed, unless the client asked for the others; ON DUPLICATE KEY counts twice. */
static bool count_is_of_rows(const my_session *s, const sql_part *p, uint64_t changed)
{
    if (begins_with(p, "delete")) return true;
    if (begins_with(p, "update")) return s->matched || s->can & CAN_FOUND_ROWS || changed == 1;
    return begins_with(p, "insert") && !sql_mentions(p->at, p->n, "duplicate") &&
           !sql_mentions(p->at, p->n, "ignore");
}

/* A statement has succeeded, and the server says whether a transaction is open now. */
static void statement_done(my_session *s, pg_asked *q, uint64_t changed, uint32_t status)
{
    char tag[40] = "OK";
    pg_txn *t = &s->txn;
    bool after = status & IN_TRANSACTION, was_open = t->open;
    if (count_is_of_rows(s, &q->part, changed))
        snprintf(tag, sizeof tag, "OK %llu", (unsigned long long)changed);
    sql_kind kind = q->part.kind;
    bool ends = kind == SQL_COMMIT || kind == SQL_ROLLBACK;
    if (kind == SQL_OTHER) q->part.isolation = NULL; /* SET TRANSACTION: of the next one */
    if (kind != SQL_BEGIN && !ends) q->part.kind = SQL_OTHER;
    if (kind == SQL_BEGIN && t->open) pg_txn_end(t, STATUS_COMMITTED, q->call, s->now);
    q->followed = !q->opaque && sql_sets_connection(q->part.at, q->part.n);
    if (!ends && kind != SQL_BEGIN && t->open && t->block && !after) end_unasked(s, q);
    if (ends) {
        pg_txn_statement(t, q, &s->answer, kind == SQL_COMMIT ? "COMMIT" : "ROLLBACK", s->now);
        if (after && !t->open) lose_track(s, "a transaction that did not end");
        return;
    }
    pg_txn_statement(t, q, &s->answer, kind == SQL_BEGIN ? "BEGIN" : tag, s->now);
    if (!was_open && !begins_with(&q->part, "set")) take_isolation(s);
    s->unsure = s->unsure && t->block && !after;
    if (after) {
        t->block = true;
        return;
    }
    if (t->open) pg_txn_end(t, STATUS_COMMITTED, q->call, s->now);
}

static void statement_failed(my_session *s, pg_asked *q, uint32_t error)
{
    pg_txn *t = &s->txn;
    snprintf(s->answer.error, sizeof s->answer.error, "%u", (unsigned)(error % 100000));
    bool ends = q->part.kind == SQL_COMMIT || q->part.kind == SQL_ROLLBACK, inside = t->block;
    q->part.kind = SQL_OTHER;
    q->part.isolation = NULL;
    if (ends && t->open) {
        pg_txn_end(t, STATUS_UNKNOWN, q->call, s->now);
        return;
    }
    pg_txn_statement(t, q, &s->answer, NULL, s->now);
    s->unsure = inside;
    if (t->open && (!inside || error == ERROR_DEADLOCK))
        pg_txn_end(t, STATUS_ABORTED, q->call, s->now);
}

static bool plain_ascii(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] >= 0x80) return false;
    return true;
}

/* The statement of the next result of the command at the head; false: there is none to log.
   `failed`: the result is an error. */
static bool next_statement(my_session *s, const my_asked *a, bool more, bool failed, pg_asked *q)
{
    *q = (pg_asked){.call = a->call};
    wire_body b = body_of(s, a);
    if (a->lost) {
        tell_gap(s, earliest(s), "a statement is longer than --max-statement");
        return false;
    }
    const char *text = b.at, *end = b.end;
    if (a->kind == COM_STMT_EXECUTE || a->kind == COM_STMT_BULK_EXECUTE) {
        uint32_t id = my_u32(&b);
        if (id == UINT32_MAX) id = s->last_prepared;
        my_prepared *p = *find_prepared(s, id);
        if (!p && failed) { /* the server does not know it, either */
            q->part.at = "";
            q->opaque = "it failed before it was run";
            return true;
        }
        if (!p) lose_track(s, "a statement was run that was never prepared");
        text = p->sql;
        end = text + strlen(text);
        wire_bytes(&b, 5); /* cursor, how often */
        if (a->kind == COM_STMT_BULK_EXECUTE)
            q->opaque = "several statements in one";
        else if (p->long_data)
            q->opaque = "a parameter was sent in pieces";
        else if (p->n_params)
            q->opaque = read_params(s, p, &b);
        if (p->n_params && a->kind == COM_STMT_EXECUTE && !p->long_data) {
            q->params = s->params.at;
            q->n_params = s->params.n;
        }
        q->hide = p->hidden;
        p->long_data = false;
    }
    const char *at = text + s->rest;
    sql_part first = {.at = text};
    bool any = sql_next(&at, end, SQL_RULES_MYSQL, &q->part);
    if (!more &&
        any) { /* the last result is the answer to the rest of the text, whatever is in it */
        const char *past = at;
        if (sql_next(&past, end, SQL_RULES_MYSQL, &first)) {
            q->part.n = (size_t)(end - q->part.at);
            if (s->n_results) q->part.kind = SQL_OTHER;
        }
    }
    if (!any && !s->n_results) q->part = (sql_part){.at = text, .n = (size_t)(end - text)};
    if (!any && s->n_results) {
        tell_gap(s, earliest(s), "a statement had several results");
        return false;
    }
    s->rest = (size_t)(at - text);
    if (!s->utf8 && !plain_ascii(q->part.at, q->part.n)) q->opaque = "its text is not in UTF-8";
    return true;
}

static bool runs_statement(uint8_t kind)
{
    return kind == COM_QUERY || kind == COM_STMT_EXECUTE || kind == COM_STMT_BULK_EXECUTE;
}

/* The connection is as new: the server has rolled back what was open and forgotten the rest.  This
   is what pools do before they hand a connection to the next user. */
static void connection_was_reset(my_session *s, uint64_t call)
{
    if (s->txn.open) pg_txn_end(&s->txn, STATUS_ABORTED, call, s->now);
    s->txn.isolation = s->txn.first_isolation;
    s->next_isolation = NULL;
    s->unsure = false;
    s->utf8 = s->first_utf8;
    forget_prepared(s);
}

/* A result has ended well. */
static void result_ended(my_session *s, uint64_t changed, uint32_t status)
{
    const my_asked *a = queue_head(s);
    bool more = status & MORE_RESULTS;
    pg_asked q;
    if (runs_statement(a->kind) && next_statement(s, a, more, false, &q)) {
        if (must_hide(s, &q.part)) q.hide = true;
        if (q.hide && s->answer.has_rows) s->answer.hidden = true;
        if (!begins_with(&q.part, "use")) statement_done(s, &q, changed, status);
        note_settings(s, &q.part);
    }
    if (a->kind == COM_RESET_CONNECTION) connection_was_reset(s, a->call);
    wire_body name = body_of(s, a);
    if (a->kind == COM_INIT_DB) s->elsewhere = !is_wanted(s, name.at, a->n);
    if (s->txn.mute) s->txn.n = 0, s->txn.statements.n = 0; /* what it did so far is not logged */
    s->txn.mute = s->elsewhere;
    s->n_results++;
    begin_answer(s);
    if (!more) pop_command(s);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void read_error(my_session *s, wire_body *b)
{
    const my_asked *a = queue_head(s);
    uint32_t error = my_u16(b);
    pg_asked q;
    if (error == ERROR_PROGRESS) return; /* how far a long statement is */
    begin_answer(s);
    if (runs_statement(a->kind) && next_statement(s, a, false, true, &q)) {
        if (must_hide(s, &q.part)) q.hide = true;
        statement_failed(s, &q, error);
    }
    pop_command(s);
}

/* After UPDATE the server says in words how many rows it found: "Rows matched: 3 ...". */
static bool rows_matched(const wire_body *b, uint64_t *n)
{
    static const char words[] = "Rows matched: ";
    size_t length = sizeof words - 1;
    for (const char *p = b->at; (size_t)(b->end - p) > length; p++) {
        if (memcmp(p, words, length) != 0) continue;
        *n = 0;
        for (p += length; p < b->end && *p >= '0' && *p <= '9' && *n < UINT32_MAX; p++)
            *n = *n * 10 + (uint64_t)(*p - '0');
        return true;
    }
    return false;
}

/* OK: how many rows were changed, the last number that was given, the status. */
static void read_ok(my_session *s, wire_body *b)
{
    uint64_t changed = my_length(b), id = my_length(b);
    uint32_t status = my_u16(b);
    if (b->bad) lose_track(s, "an incomplete answer");
    s->answer.insert_id = id == UINT64_MAX ? 0 : id;
    uint64_t matched;
    bool told = rows_matched(b, &matched);
    s->matched = told;
    result_ended(s, told ? matched : changed, status);
    s->matched = false;
}

static void read_column(my_session *s, wire_body b)
{
    uint32_t n;
    for (int i = 0; i < 6; i++) my_text(&b, &n);
    if (s->maria_can & MARIA_EXTENDED_METADATA) my_text(&b, &n);
    my_length(&b);
    uint32_t charset = my_u16(&b);
    my_u32(&b);
    uint8_t type = wire_u8(&b);
    uint32_t flags = my_u16(&b);
    if (b.bad) lose_track(s, "an incomplete definition of a column");
    bool text = type >= 249 || type == 15 || type == 253;
    vec_push(&s->mem, &s->cols,
             ((my_column){.type = type,
                          .is_unsigned = (flags & 32) != 0,
                          .is_binary = text && charset == 63 && type != 246}));
}

static void columns_have_come(my_session *s)
{
    const my_asked *a = queue_head(s);
    if (a->kind == COM_STMT_PREPARE) {
        my_prepared *p = s->making;
        if (p && s->cols.n) {
            mem_put(&s->mem, p->cols);
            p->cols = mem_array(&s->mem, my_column, s->cols.n);
            memcpy(p->cols, s->cols.at, s->cols.n * sizeof *p->cols);
        }
        pop_command(s);
        return;
    }
    s->answer.has_rows = true;
    s->state = NEXT_ROW;
}

static uint64_t fnv_row(const char *at, uint32_t n)
{
    uint64_t h = FNV_START;
    for (uint32_t i = 0; i < n; i++) h = (h ^ (unsigned char)at[i]) * FNV_PRIME;
    return h;
}

static bool row_value(my_session *s, wire_body *b, uint32_t i, bool binary, bool null)
{
    strbuf *rows = &s->answer.rows;
    uint32_t n;
    size_t before = rows->n;
    if (binary && null) {
        strbuf_str(rows, "null");
        return true;
    }
    bool shown;
    if (binary) {
        shown = my_value_binary(rows, &s->cols.at[i], s->utf8, b);
    } else {
        const char *at = my_text(b, &n);
        if (!at && !b->bad) strbuf_str(rows, "null");
        shown = !b->bad && (!at || my_value_text(rows, &s->cols.at[i], s->utf8, at, n));
    }
    if (b->bad) lose_track(s, "an incomplete row");
    return shown && !mask_shows(s->masks, rows->at + before, rows->n - before, &s->txn.scratch);
}

static void add_row(my_session *s, const char *body, uint32_t n, bool binary, bool lost)
{
    pg_answer *a = &s->answer;
    wire_body b = {body, body + n, false};
    a->n_rows++;
    a->hash += fnv_row(body, n);
    if (lost) a->over = true;
    if (a->over || a->hidden) return;
    const unsigned char *nulls = NULL;
    if (binary) {
        wire_u8(&b);
        nulls = (const unsigned char *)wire_bytes(&b, (uint32_t)((s->cols.n + 9) / 8));
        if (b.bad) lose_track(s, "an incomplete row");
    }
    strbuf_str(&a->rows, a->n_rows > 1 ? ",[" : "[");
    for (uint32_t i = 0; i < s->cols.n; i++) {
        bool null = binary && (nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1);
        if (i) strbuf_char(&a->rows, ',');
        if (row_value(s, &b, i, binary, null)) continue;
        a->hidden = true;
        return;
    }
    strbuf_char(&a->rows, ']');
    if (a->rows.n > s->limits->result) a->over = true;
}

/* The end of rows or of definitions: EOF, or OK with another first byte. */
static void rows_ended(my_session *s, wire_body *b)
{
    uint32_t status;
    if (s->can & CAN_NO_EOF) {
        my_length(b);
        my_length(b);
        status = my_u16(b);
    } else {
        my_u16(b);
        status = my_u16(b);
    }
    if (b->bad) lose_track(s, "an incomplete end of a result");
    if (status & CURSOR_EXISTS) s->answer.has_rows = false; /* the rows are fetched later */
    if (queue_head(s)->kind == COM_STMT_FETCH)
        pop_command(s);
    else
        result_ended(s, 0, status);
}

/* How many columns a result has, and whether their definitions follow. */
static void begin_result(my_session *s, wire_body b)
{
    const my_asked *a = queue_head(s);
    uint64_t n = my_length(&b);
    if (b.bad || n > MOST_COLUMNS || !n) lose_track(s, "a result with too many columns, or none");
    bool follow = !(s->maria_can & MARIA_CACHE_METADATA) || b.at == b.end || wire_u8(&b);
    s->n_cols = (uint32_t)n;
    s->at_col = 0;
    s->cols.n = 0;
    s->state = NEXT_COLUMN;
    if (follow) return;
    wire_body id = body_of(s, a);
    uint32_t number = my_u32(&id);
    const my_prepared *p = *find_prepared(s, number == UINT32_MAX ? s->last_prepared : number);
    if (!p || !p->cols || p->n_cols != n) lose_track(s, "a result whose columns are not known");
    for (uint32_t i = 0; i < n; i++) vec_push(&s->mem, &s->cols, p->cols[i]);
    if (s->can & CAN_NO_EOF)
        columns_have_come(s);
    else
        s->state = NEXT_COLUMNS_END;
}

static void first_packet(my_session *s, const char *body, uint32_t n)
{
    const my_asked *a = queue_head(s);
    wire_body b = {body, body + n, false};
    uint8_t first = wire_u8(&b);
    if (first == 0xff) {
        read_error(s, &b);
    } else if (a->kind == COM_STMT_PREPARE) {
        if (first) lose_track(s, "an answer that does not fit the request");
        keep_prepared(s, a, &b);
    } else if (a->kind == COM_FIELD_LIST) {
        if (first == 0xfe && n < 9) pop_command(s);
    } else if (a->kind == COM_STATISTICS) {
        pop_command(s);
    } else if (a->kind == COM_STMT_FETCH) {
        if (first == 0xfe && n < 0xffffff) rows_ended(s, &b);
    } else if (a->kind == COM_CHANGE_USER) {
        if (!first) lose_track(s, "the client has become another user");
    } else if (first == 0) {
        read_ok(s, &b);
    } else if (first == 0xfb && a->kind == COM_QUERY) {
        s->state = NEXT_FILE;
    } else if (first == 0xfe && n < 9) {
        pop_command(s);
    } else if (runs_statement(a->kind) || a->kind == COM_PROCESS_INFO) {
        b.at = body;
        begin_result(s, b);
    } else {
        lose_track(s, "an answer that does not fit the request");
    }
}

static void definition(my_session *s, const char *body, uint32_t n)
{
    bool ends = s->state == NEXT_COLUMNS_END || s->state == NEXT_PARAMETERS_END;
    bool parameter = s->state == NEXT_PARAMETER || s->state == NEXT_PARAMETERS_END;
    bool eof = !(s->can & CAN_NO_EOF);
    if (ends && (n > 8 || !n || (unsigned char)*body != 0xfe))
        lose_track(s, "definitions that do not end");
    if (s->state == NEXT_COLUMNS_END && queue_head(s)->kind == COM_STMT_EXECUTE) {
        wire_body b = {body + 3, body + n, false};
        uint32_t status = my_u16(&b);
        if (!b.bad && status & CURSOR_EXISTS) { /* the rows are fetched later */
            result_ended(s, 0, status);
            return;
        }
    }
    if (s->state == NEXT_COLUMN) {
        read_column(s, (wire_body){body, body + n, false});
        if (++s->at_col < s->n_cols) return;
    }
    if (s->state == NEXT_PARAMETER && --s->left_params) return;
    if (!ends && eof) {
        s->state = parameter ? NEXT_PARAMETERS_END : NEXT_COLUMNS_END;
    } else if (!parameter) {
        columns_have_come(s);
    } else if (s->n_cols) {
        s->state = NEXT_COLUMN;
    } else {
        pop_command(s);
    }
}

static void row_or_end(my_session *s, const char *body, uint32_t n, bool lost)
{
    wire_body b = {body, body + n, false};
    bool binary = queue_head(s)->kind != COM_QUERY && queue_head(s)->kind != COM_PROCESS_INFO;
    uint8_t first = wire_u8(&b);
    bool end = first == 0xfe && !lost && (s->can & CAN_NO_EOF || n < 9);
    if (first == 0xff && !lost)
        read_error(s, &b);
    else if (end)
        rows_ended(s, &b);
    else
        add_row(s, body, n, binary, lost);
}

/* Until the client is let in: the greeting, then whatever the authentication needs. */
static void handshake_packet(my_session *s, const char *body, uint32_t n)
{
    if (!s->greeted) {
        s->greeted = true;
        return;
    }
    if (n && !*body) s->ready = true;
}

static void server_packet(void *ud, const char *body, uint32_t n, bool lost)
{
    my_session *s = ud;
    if (!s->ready) {
        handshake_packet(s, body, n);
        return;
    }
    if (!queue_head(s)) {
        if (n && (unsigned char)*body == 0xff) return; /* the server ends the connection */
        lose_track(s, "an answer that nobody asked for");
    }
    if (lost && s->state != NEXT_ROW) lose_track(s, "a message of the server is too long");
    switch (s->state) {
    case NEXT_FIRST: first_packet(s, body, n); return;
    case NEXT_ROW: row_or_end(s, body, n, lost); return;
    case NEXT_FILE: lose_track(s, "an answer in the middle of a file"); return;
    default: definition(s, body, n);
    }
}

/* ---- the client ------------------------------------------------------------------------------ */

static bool charset_is_utf8(uint32_t c)
{
    return c == 33 || c == 83 || c == 45 || c == 46 || (c >= 192 && c <= 247) ||
           (c >= 255 && c <= 323) || (c >= 576 && c <= 610);
}

/* The client's answer to the greeting: what it can do, and which database it wants. */
static void read_login(my_session *s, const char *body, uint32_t n)
{
    wire_body b = {body, body + n, false};
    s->answered_greeting = true;
    s->can = my_u32(&b);
    my_u32(&b);
    s->utf8 = s->first_utf8 = charset_is_utf8(wire_u8(&b));
    wire_bytes(&b, 19);
    uint32_t maria = my_u32(&b);
    s->maria_can = s->can & CAN_PLAIN_MYSQL ? 0 : maria;
    if (s->can & ((s->encrypted ? 0 : CAN_TLS) | CAN_COMPRESS | CAN_ZSTD))
        lose_track(s, "the connection is encrypted or compressed");
    wire_text(&b); /* the user */
    uint32_t length = 0;
    if (s->can & CAN_LENGTH_AUTH)
        my_text(&b, &length);
    else if (s->can & CAN_SECURE)
        wire_bytes(&b, wire_u8(&b));
    else
        wire_text(&b);
    const char *database = s->can & CAN_CONNECT_WITH_DB ? wire_text(&b) : "";
    if (b.bad) lose_track(s, "an incomplete login");
    s->elsewhere = s->txn.mute = strcmp(database, s->wanted) != 0;
}

/* A session of another database, or of none, may write to this one by its name, as in `shop`.t. */
static void watch_elsewhere(my_session *s, const char *body, uint32_t n, bool lost)
{
    uint8_t kind = n ? (uint8_t)*body : 0;
    size_t length = strlen(s->wanted);
    bool texts = kind == COM_QUERY || kind == COM_STMT_PREPARE, named = lost;
    for (size_t i = 1; texts && !named && i + length < n; i++) {
        if (strncasecmp(body + i, s->wanted, length) != 0) continue;
        size_t k = i + length;
        while (k < n && strchr("` \t\r\n", body[k]) && body[k]) k++;
        named = k < n && body[k] == '.';
    }
    if (!texts || !named) return;
    s->elsewhere = false;
    lose_track(s, "a session of another database names this one");
}

static void long_data(my_session *s, const char *body, uint32_t n)
{
    wire_body b = {body, body + n, false};
    my_prepared *p = *find_prepared(s, my_u32(&b));
    if (p) p->long_data = true;
}

static void client_packet(void *ud, const char *body, uint32_t n, bool lost)
{
    my_session *s = ud;
    if (!s->answered_greeting) {
        if (lost) lose_track(s, "an incomplete login");
        read_login(s, body, n);
        return;
    }
    if (!s->ready) return; /* passwords: never looked at */
    if (s->elsewhere && s->state != NEXT_FILE) watch_elsewhere(s, body, n, lost);
    if (s->state == NEXT_FILE) {
        s->sink->count(s->sink->ud, PG_COPIED_IN, n);
        s->answer.copied += n;
        if (!n) s->state = NEXT_FIRST; /* the file has ended */
        return;
    }
    if (queue_head(s) && queue_head(s)->kind == COM_CHANGE_USER) return;
    uint8_t kind = n ? (uint8_t)*body : 0;
    switch (kind) {
    case COM_QUIT: return;
    case COM_STMT_SEND_LONG_DATA: long_data(s, body + 1, lost ? 0 : n - 1); return;
    case COM_STMT_CLOSE: {
        wire_body b = {body + 1, body + n, false};
        close_prepared(s, my_u32(&b));
        return;
    }
    case COM_INIT_DB:
        if (!s->elsewhere && !is_wanted(s, body + 1, lost ? 0 : n - 1))
            lose_track(s, "the client uses another database");
        break;
    case COM_BINLOG_DUMP: lose_track(s, "a replica reads the binary log");
    default: break;
    }
    push_command(s, kind, body + (n > 0), n ? n - 1 : 0, lost);
}

/* ---- the border ------------------------------------------------------------------------------ */

my_session *my_session_open(uint32_t number, const pg_limits *limits, const mask *masks,
                            const pg_sink *sink, const char *database)
{
    my_session *s = mem_libc(NULL, NULL, 0, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    guard_init(&s->guard);
    mem_init(&s->mem, mem_libc, NULL, &s->guard);
    s->mem.limit = limits->session;
    s->limits = limits;
    s->masks = masks;
    s->sink = sink;
    s->number = number;
    s->wanted = database;
    my_wire_init(&s->client, &s->mem, limits->message, client_packet, s);
    my_wire_init(&s->server, &s->mem, limits->message, server_packet, s);
    strbuf_init(&s->bytes, &s->mem);
    strbuf_init(&s->params, &s->mem);
    strbuf_init(&s->text, &s->mem);
    strbuf_init(&s->answer.rows, &s->mem);
    pg_txn_init(&s->txn, &s->mem, number, masks, sink);
    s->txn.rules = SQL_RULES_MYSQL;
    return s;
}

void my_session_free(my_session *s)
{
    if (!s) return;
    mem_free_all(&s->mem);
    mem_libc(NULL, s, sizeof *s, 0);
}

static void feed(my_session *s, my_wire *w, const char *at, size_t n, uint64_t now)
{
    if (s->blind) return;
    s->now = now;
    if (guard_armed(&s->guard)) {
        go_blind(s, s->guard.code == GUARD_NOMEM ? "the session needs more memory than it may have"
                                                 : s->guard.text);
        return;
    }
    my_wire_feed(w, at, n);
}

void my_session_client(my_session *s, const char *at, size_t n, uint64_t now)
{
    feed(s, &s->client, at, n, now);
}

void my_session_server(my_session *s, const char *at, size_t n, uint64_t now)
{
    feed(s, &s->server, at, n, now);
}

/* What was asked and never answered may have been done; its text is known only if it is one. */
void my_session_end(my_session *s, uint64_t now)
{
    if (s->blind || !s->ready) return;
    s->now = now;
    if (guard_armed(&s->guard)) {
        go_blind(s, "the session needs more memory than it may have");
        return;
    }
    bool pending = s->head < s->queue.n;
    if (pending) tell_gap(s, earliest(s), "a connection ended before a command was answered");
    pg_txn_lost(&s->txn, pending, now);
}

bool my_session_blind(const my_session *s)
{
    return s->blind != NULL && !s->elsewhere;
}

bool my_session_elsewhere(const my_session *s)
{
    return s->elsewhere;
}

void my_session_encrypted(my_session *s)
{
    s->encrypted = true;
}

/* The capabilities stand in two halves around the end of the first 8 bytes of the scramble. */
bool my_greeting(char *packet, size_t n, bool keys, bool *tls)
{
    unsigned char *p = (unsigned char *)packet;
    *tls = false;
    if (n < 5 || p[4] != 10) return false; /* an error, or a version of long ago */
    const unsigned char *zero = memchr(p + 5, 0, n - 5);
    if (!zero) return false;
    size_t low = (size_t)(zero - p) + 1 + 4 + 8 + 1, high = low + 2 + 1 + 2;
    if (high + 2 > n) return false;
    p[low] &= (unsigned char)~CAN_COMPRESS;
    if (!keys) p[low + 1] &= (unsigned char)~(CAN_TLS >> 8);
    *tls = p[low + 1] & (CAN_TLS >> 8);
    p[high + 1] &= (unsigned char)~(CAN_ZSTD >> 24);
    return true;
}
