/*
 * pg_session.c - pairs what a client asks with what the server answers.
 *
 * Requests wait in a queue until the server answers them, in their order; names of prepared
 * statements and portals are looked up only then, because the server had come to them only then.
 * After an error the server passes over everything up to the next Sync, and so does the queue.
 * Invariant: the head of the queue is the request that the next answer is about.
 */
#include "trace/pg_session.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "trace/pg_startup.h"
#include "trace/pg_txn.h"

#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

typedef struct request {
    char kind;     /* the message's type */
    bool lost;     /* the body was too long to be kept */
    uint64_t call; /* before it was forwarded */
    size_t at;     /* of its body in the queue's bytes */
    uint32_t n;
} request;

typedef struct prepared {
    struct prepared *next; /* of the same bucket */
    uint32_t uses;         /* the table's, and that of each portal */
    const char *opaque;
    uint32_t n_types, n_cols;
    bool has_cols;
    uint32_t *types, *cols; /* of parameters and of result columns, blocks of their own, or NULL */
    uint32_t n_name;
    char text[]; /* the name with its 0, then the statement with its 0 */
} prepared;

typedef struct portal {
    struct portal *next;
    prepared *of;
    char *name;
    strbuf params;
    uint32_t n_params;
    const char *opaque;
    uint32_t n_formats;
    uint8_t *formats;
    bool told; /* its statement stands in the transaction */
} portal;

enum { BUCKETS = 512, MOST_PORTALS = 1024 };

struct pg_session {
    guard guard;
    mem mem;
    const pg_limits *limits;
    const mask *masks;
    const pg_sink *sink;
    uint32_t number;
    wire client, server;
    wire_user client_user, server_user;
    uint64_t now;
    const char *blind; /* why, or NULL */
    pg_startup startup;
    uint32_t backend;
    bool ready; /* the server has accepted the client */
    bool ending;
    pg_style style;
    /* the queue */
    VEC(request) queue;
    size_t head;
    strbuf bytes;
    bool copying_in; /* the client's data for COPY comes, and a Sync among it is passed over */
    /* of the request at the head */
    size_t rest; /* of a simple query: how much of its body was answered */
    bool started, failed;
    bool masks_later; /* a masked statement was prepared under a name */
    uint32_t n_cols;
    uint32_t *cols; /* of a simple query */
    uint8_t *formats;
    size_t cap_cols;
    pg_answer answer;
    uint64_t piece_hash;
    prepared *named[BUCKETS];
    prepared *unnamed;
    portal *portals; /* the unnamed one has the name "" */
    uint32_t n_portals;
    uint32_t n_named; /* prepared statements with a name */
    pg_txn txn;
};

/* ---- memory and failures --------------------------------------------------------------------- */

static uint64_t earliest(const pg_session *s)
{
    if (s->txn.open) return s->txn.begun;
    return s->head < s->queue.n ? s->queue.at[s->head].call : s->now;
}

/* From here on nothing is known of what the client does. */
static void go_blind(pg_session *s, const char *why)
{
    if (s->blind) return;
    s->blind = why;
    s->sink->gap(s->sink->ud, s->number, earliest(s), why);
    mem_free_all(&s->mem);
    memset(&s->txn, 0, sizeof s->txn);
    s->queue.at = NULL;
    s->queue.n = s->head = 0;
}

_Noreturn static void lose_track(pg_session *s, const char *why)
{
    guard_fail(&s->guard, GUARD_PARSE, "%s", why);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void queue_push(pg_session *s, char kind, const char *body, uint32_t n, bool lost)
{
    if (s->head == s->queue.n) s->head = s->queue.n = s->bytes.n = 0;
    if (s->head > 256 && s->head > s->queue.n / 2) { /* a pipeline that never empties */
        size_t gone = s->queue.at[s->head].at;
        memmove(s->bytes.at, s->bytes.at + gone, s->bytes.n - gone);
        s->bytes.n -= gone;
        s->queue.n -= s->head;
        memmove(s->queue.at, s->queue.at + s->head, s->queue.n * sizeof *s->queue.at);
        s->head = 0;
        for (size_t i = 0; i < s->queue.n; i++) s->queue.at[i].at -= gone;
    }
    vec_push(&s->mem, &s->queue, ((request){kind, lost, s->now, s->bytes.n, n}));
    strbuf_add(&s->bytes, body, n);
    strbuf_char(&s->bytes, 0); /* bodies that must end with a 0 do so even if a client lies */
}

static request *queue_head(pg_session *s)
{
    return s->head < s->queue.n ? &s->queue.at[s->head] : NULL;
}

static wire_body body_of(const pg_session *s, const request *r)
{
    const char *at = s->bytes.at + r->at;
    return (wire_body){at, at + r->n, false};
}

static void queue_pop(pg_session *s)
{
    assert(s->head < s->queue.n);
    s->head++;
    s->started = false;
    s->rest = 0;
}

/* ---- prepared statements and portals --------------------------------------------------------- */

static uint32_t bucket_of(const char *name)
{
    return (uint32_t)(hash_bytes(name, strlen(name), 0) % BUCKETS);
}

static void release_prepared(pg_session *s, prepared *p)
{
    if (!p || --p->uses) return;
    mem_put(&s->mem, p->types);
    mem_put(&s->mem, p->cols);
    mem_put(&s->mem, p);
}

static prepared **find_prepared(pg_session *s, const char *name)
{
    if (!*name) return &s->unnamed;
    prepared **at = &s->named[bucket_of(name)];
    while (*at && strcmp((*at)->text, name)) at = &(*at)->next;
    return at;
}

static void close_prepared(pg_session *s, const char *name)
{
    prepared **at = find_prepared(s, name), *p = *at;
    if (!p) return;
    *at = p->next;
    s->n_named -= *name != 0;
    release_prepared(s, p);
}

static void forget_prepared(pg_session *s)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        while (s->named[i]) close_prepared(s, s->named[i]->text);
}

static uint32_t *read_types(pg_session *s, wire_body *b, uint32_t *n)
{
    *n = wire_u16(b);
    if (b->bad || (size_t)(b->end - b->at) < (size_t)*n * 4) {
        *n = 0;
        return NULL;
    }
    uint32_t *types = mem_array(&s->mem, uint32_t, *n + 1);
    for (uint32_t i = 0; i < *n; i++) types[i] = wire_u32(b);
    return types;
}

static prepared *new_prepared(pg_session *s, const char *name, const char *sql)
{
    size_t n_name = strlen(name), n_sql = strlen(sql);
    close_prepared(s, name);
    prepared *p = mem_zeroed(&s->mem, sizeof *p + n_name + n_sql + 2);
    p->uses = 1;
    p->n_name = (uint32_t)n_name;
    memcpy(p->text, name, n_name);
    memcpy(p->text + n_name + 1, sql, n_sql);
    prepared **at = find_prepared(s, name);
    p->next = *at;
    *at = p;
    s->n_named += n_name > 0;
    return p;
}

/* ParseComplete. */
static void keep_prepared(pg_session *s, const request *r)
{
    /* the name of one that was not kept is not known: any name could be meant */
    if (r->lost) lose_track(s, "a prepared statement is longer than --max-statement");
    wire_body b = body_of(s, r);
    const char *name = wire_text(&b), *sql = wire_text(&b);
    if (b.bad) lose_track(s, "an incomplete Parse message was accepted");
    prepared *p = new_prepared(s, name, sql);
    p->types = read_types(s, &b, &p->n_types);
}

/* A statement that PREPARE made, bound by its name: the same as EXECUTE with these parameters. */
static prepared *prepared_in_sql(pg_session *s, const char *name, uint32_t n)
{
    strbuf text;
    strbuf_init(&text, &s->mem);
    strbuf_str(&text, "EXECUTE \"");
    for (const char *p = name; *p; p++) strbuf_str(&text, *p == '"' ? "\"\"" : (char[]){*p, 0});
    strbuf_char(&text, '"');
    for (uint32_t i = 0; i < n; i++) strbuf_printf(&text, i ? ",$%u" : "($%u", i + 1);
    if (n) strbuf_char(&text, ')');
    prepared *p = new_prepared(s, "", strbuf_cstr(&text)); /* Bind names it no more */
    strbuf_free(&text);
    return p;
}

static portal **find_portal(pg_session *s, const char *name)
{
    portal **at = &s->portals;
    while (*at && strcmp((*at)->name, name)) at = &(*at)->next;
    return at;
}

static void close_portal(pg_session *s, portal **at)
{
    portal *p = *at;
    if (!p) return;
    *at = p->next;
    s->n_portals--;
    release_prepared(s, p->of);
    strbuf_free(&p->params);
    mem_put(&s->mem, p->formats);
    mem_put(&s->mem, p->name);
    mem_put(&s->mem, p);
}

static void close_portals(pg_session *s)
{
    while (s->portals) close_portal(s, &s->portals);
}

/* The values of Bind, as JSON. */
static void read_params(pg_session *s, portal *p, wire_body *b, const uint16_t *formats,
                        uint32_t n_formats)
{
    p->n_params = wire_u16(b);
    for (uint32_t i = 0; i < p->n_params && !b->bad; i++) {
        uint32_t n = wire_u32(b);
        if (i) strbuf_char(&p->params, ',');
        if (n == UINT32_MAX) {
            strbuf_str(&p->params, "null");
            continue;
        }
        const char *at = wire_bytes(b, n);
        uint32_t type = p->of->types && i < p->of->n_types ? p->of->types[i] : 0;
        bool binary = n_formats && (n_formats == 1 ? formats[0] : i < n_formats && formats[i]);
        if (b->bad) break;
        if (mask_matches(s->masks, at, n)) {
            p->opaque = "its values are masked";
            strbuf_str(&p->params, "\"***\"");
            continue;
        }
        size_t before = p->params.n;
        if (!pg_value(&p->params, &s->style, type, binary, at, n)) {
            p->opaque = "a parameter in a form that the proxy does not read";
            p->params.n = before;
            strbuf_str(&p->params, "null");
        } else if (mask_shows(s->masks, p->params.at + before, p->params.n - before,
                              &s->txn.scratch)) {
            p->opaque = "its values are masked";
            p->params.n = before;
            strbuf_str(&p->params, "\"***\"");
        }
    }
}

/* How many values a Bind message has, from its formats on. */
static uint32_t bound_values(wire_body b)
{
    uint32_t formats = wire_u16(&b);
    wire_bytes(&b, formats * 2);
    return wire_u16(&b);
}

/* BindComplete. */
static void keep_portal(pg_session *s, const request *r)
{
    if (r->lost) lose_track(s, "the parameters of a statement are longer than --max-statement");
    wire_body b = body_of(s, r);
    const char *name = wire_text(&b), *of = wire_text(&b);
    prepared *statement = *find_prepared(s, of);
    if (b.bad) lose_track(s, "an incomplete Bind message");
    if (!statement) statement = prepared_in_sql(s, of, bound_values(b));
    close_portal(s, find_portal(s, name));
    if (s->n_portals++ == MOST_PORTALS) lose_track(s, "more than 1024 portals");
    size_t n_name = strlen(name);
    portal *p = mem_zeroed(&s->mem, sizeof *p);
    p->next = s->portals;
    s->portals = p;
    strbuf_init(&p->params, &s->mem);
    p->of = statement;
    statement->uses++;
    p->opaque = statement->opaque;
    p->name = mem_zeroed(&s->mem, n_name + 1);
    memcpy(p->name, name, n_name);
    uint32_t n = wire_u16(&b);
    if ((size_t)(b.end - b.at) < (size_t)n * 2) lose_track(s, "an incomplete Bind message");
    uint16_t *formats = mem_array(&s->mem, uint16_t, n + 1);
    for (uint32_t i = 0; i < n; i++) formats[i] = wire_u16(&b);
    read_params(s, p, &b, formats, n);
    mem_put(&s->mem, formats);
    p->n_formats = wire_u16(&b);
    if (b.bad || (size_t)(b.end - b.at) < (size_t)p->n_formats * 2)
        lose_track(s, "an incomplete Bind message");
    p->formats = mem_array(&s->mem, uint8_t, p->n_formats + 1);
    for (uint32_t i = 0; i < p->n_formats; i++) p->formats[i] = wire_u16(&b) != 0;
}

static prepared *described(pg_session *s, const request *r)
{
    wire_body b = body_of(s, r);
    char what = (char)wire_u8(&b);
    const char *name = wire_text(&b);
    if (b.bad || r->lost) return NULL;
    if (what == 'S') return *find_prepared(s, name);
    portal *p = *find_portal(s, name);
    return p ? p->of : NULL;
}

/* CloseComplete. */
static void close_named(pg_session *s, const request *r)
{
    wire_body b = body_of(s, r);
    char what = (char)wire_u8(&b);
    const char *name = wire_text(&b);
    if (b.bad) return;
    if (what == 'S')
        close_prepared(s, name);
    else
        close_portal(s, find_portal(s, name));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void begin_answer(pg_session *s)
{
    s->answer.rows.n = 0;
    s->answer.n_rows = s->answer.hash = s->answer.copied = 0;
    s->answer.has_rows = s->answer.over = s->answer.hidden = false;
    s->answer.error[0] = 0;
}

static void reserve_cols(pg_session *s, size_t n)
{
    if (s->cap_cols >= n) return;
    s->cols = mem_resize(&s->mem, s->cols, mem_bytes(&s->mem, n, sizeof *s->cols));
    s->formats = mem_resize(&s->mem, s->formats, n);
    s->cap_cols = n;
}

/* RowDescription: the types of the columns, and their formats. */
static void read_cols(pg_session *s, const char *body, uint32_t n)
{
    wire_body b = {body, body + n, false};
    uint32_t cols = wire_u16(&b);
    reserve_cols(s, (size_t)cols + 1);
    s->n_cols = 0;
    for (uint32_t i = 0; i < cols; i++) {
        wire_text(&b);
        wire_u32(&b); /* the table, its column */
        wire_u16(&b);
        s->cols[i] = wire_u32(&b);
        wire_u16(&b);
        wire_u32(&b);
        s->formats[i] = wire_u16(&b) != 0;
        if (b.bad) lose_track(s, "an incomplete RowDescription");
    }
    s->n_cols = cols;
}

static void keep_cols(pg_session *s, prepared *p)
{
    mem_put(&s->mem, p->cols);
    p->cols = mem_array(&s->mem, uint32_t, s->n_cols + 1);
    memcpy(p->cols, s->cols, s->n_cols * sizeof *s->cols);
    p->n_cols = s->n_cols;
    p->has_cols = true;
}

/* Of an Execute the columns are those that were described, if they were. */
static void cols_of_portal(pg_session *s, const portal *p, uint32_t n)
{
    reserve_cols(s, (size_t)n + 1);
    s->n_cols = n;
    for (uint32_t i = 0; i < n; i++) {
        bool known = p->of->has_cols && i < p->of->n_cols;
        s->cols[i] = known ? p->of->cols[i] : 0;
        s->formats[i] = p->n_formats == 1 ? p->formats[0] : i < p->n_formats ? p->formats[i] : 0;
    }
}

static uint64_t fnv(uint64_t h, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)at[i]) * FNV_PRIME;
    return h;
}

static void add_row(pg_session *s, const char *body, uint32_t n, const portal *of)
{
    pg_answer *a = &s->answer;
    wire_body b = {body, body + n, false};
    uint32_t cols = wire_u16(&b);
    a->n_rows++;
    a->has_rows = true;
    a->hash += fnv(FNV_START, body, n);
    if (a->over || a->hidden) return;
    if (of && a->n_rows == 1) cols_of_portal(s, of, cols);
    if (cols != s->n_cols) lose_track(s, "a row with another number of columns than was described");
    strbuf_str(&a->rows, a->n_rows > 1 ? ",[" : "[");
    for (uint32_t i = 0; i < cols; i++) {
        uint32_t length = wire_u32(&b);
        if (i) strbuf_char(&a->rows, ',');
        if (length == UINT32_MAX) {
            strbuf_str(&a->rows, "null");
            continue;
        }
        const char *at = wire_bytes(&b, length);
        if (b.bad) lose_track(s, "an incomplete row");
        size_t before = a->rows.n;
        if (mask_matches(s->masks, at, length) ||
            !pg_value(&a->rows, &s->style, s->cols[i], s->formats[i], at, length) ||
            mask_shows(s->masks, a->rows.at + before, a->rows.n - before, &s->txn.scratch)) {
            a->hidden = true;
            return;
        }
    }
    strbuf_char(&a->rows, ']');
    if (a->rows.n > s->limits->result) a->over = true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool must_hide(pg_session *s, const sql_part *p)
{
    bool named = mask_names(s->masks, p->at, p->n);
    if (named && p->names_later) s->masks_later = true;
    return named || (p->runs_earlier && s->masks_later);
}

static bool plain_ascii(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] >= 0x80) return false;
    return true;
}

/* SQL reaches what the protocol has made: FETCH and its like move a portal of that name, DEALLOCATE
   forgets a prepared statement, and PREPARE succeeds only where there is none of the name. */
static void follow_names(pg_session *s, const sql_part *p)
{
    if (p->moves)
        for (portal *of = s->portals; of; of = of->next)
            if (*of->name) of->opaque = "other statements may have moved its portal";
    if (p->forgets == SQL_FORGETS_ALL)
        forget_prepared(s);
    else if (p->forgets == SQL_FORGETS_ONE)
        close_prepared(s, p->name);
}

static void statement_ended(pg_session *s, pg_asked *q, const char *tag)
{
    q->hide = must_hide(s, &q->part);
    if (q->part.runs_earlier && s->n_named) q->opaque = "it may run a statement that was prepared";
    if (!s->style.utf8 && !plain_ascii(q->part.at, q->part.n))
        q->opaque = "its text is not in UTF-8";
    if (tag) follow_names(s, &q->part);
    if (q->hide && s->answer.has_rows) s->answer.hidden = true;
    pg_txn_statement(&s->txn, q, &s->answer, tag, s->now);
    begin_answer(s);
}

/* The next statement of the simple query at the head. */
static bool next_part(pg_session *s, const request *r, pg_asked *q)
{
    wire_body b = body_of(s, r);
    const char *text = wire_text(&b);
    *q = (pg_asked){.call = r->call};
    if (b.bad) return false;
    const char *at = text + s->rest;
    bool any = sql_next(&at, text + strlen(text), s->txn.rules, &q->part);
    s->rest = (size_t)(at - text);
    return any;
}

/* The statement that an Execute, or a request before it, is about. */
static bool asked_by(pg_session *s, const request *r, pg_asked *q, portal **of)
{
    const char *sql = NULL;
    wire_body b = body_of(s, r);
    *q = (pg_asked){.call = r->call};
    *of = NULL;
    if (r->kind == 'P' && !r->lost) {
        wire_text(&b);
        sql = wire_text(&b);
        if (b.bad) return false;
    } else if (r->kind == 'E') {
        *of = *find_portal(s, wire_text(&b));
    } else if (r->kind == 'B' && !r->lost) {
        wire_text(&b);
        const prepared *p = *find_prepared(s, wire_text(&b));
        if (p) sql = p->text + p->n_name + 1;
        q->opaque = "it failed before it was run";
    }
    if (*of) {
        portal *p = *of;
        sql = p->of->text + p->of->n_name + 1;
        q->opaque = p->opaque;
        q->params = p->n_params ? p->params.at : NULL;
        q->n_params = p->params.n;
    }
    if (!sql) return false;
    const char *at = sql;
    return sql_next(&at, sql + strlen(sql), s->txn.rules, &q->part);
}

static void command_complete(pg_session *s, const char *body, uint32_t n)
{
    wire_body b = {body, body + n, false};
    const char *tag = wire_text(&b);
    request *r = queue_head(s);
    pg_asked q;
    portal *of = NULL;
    if (b.bad) lose_track(s, "an incomplete CommandComplete");
    if (r->kind == 'Q') {
        if (!r->lost && !next_part(s, r, &q))
            lose_track(s, "more answers than statements in a query");
        if (!r->lost) statement_ended(s, &q, tag);
        return;
    }
    bool known = asked_by(s, r, &q, &of);
    if (!known && !of) lose_track(s, "a portal was run that was never bound");
    if (known && !of->told) {
        of->told = true; /* run again, it only says that nothing is left */
        statement_ended(s, &q, tag);
    }
    begin_answer(s);
    queue_pop(s);
}

/* A portal gave some of its rows.  They are not the statement's result, so that it is written
   without one. */
static void portal_suspended(pg_session *s)
{
    pg_asked q;
    portal *of = NULL;
    if (asked_by(s, queue_head(s), &q, &of) && !of->told) {
        begin_answer(s);
        of->told = true;
        statement_ended(s, &q, "");
    }
    begin_answer(s);
    queue_pop(s);
}

static void sqlstate_of(const char *body, uint32_t n, char *state)
{
    wire_body b = {body, body + n, false};
    memcpy(state, "XX000", 6);
    while (!b.bad && b.at < b.end && *b.at) {
        char field = (char)wire_u8(&b);
        const char *text = wire_text(&b);
        if (field != 'C' || b.bad || strlen(text) != 5) continue;
        bool plain = true;
        for (int i = 0; i < 5; i++)
            plain &= (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'A' && text[i] <= 'Z');
        if (plain) memcpy(state, text, 6);
    }
}

/* An error: of the request at the head; the server passes over the others up to the next Sync. */
static void error_response(pg_session *s, const char *body, uint32_t n)
{
    request *r = queue_head(s);
    pg_asked q;
    portal *of = NULL;
    s->failed = true;
    if (!r) return; /* the server ends the connection */
    begin_answer(s);
    sqlstate_of(body, n, s->answer.error);
    bool first = !s->rest, known = false;
    if (r->kind == 'Q')
        known = !r->lost && next_part(s, r, &q);
    else if (strchr("PBE", r->kind))
        known = asked_by(s, r, &q, &of);
    pg_asked more;
    if (known && r->kind == 'Q' && first && next_part(s, r, &more))
        q.opaque = "the query was perhaps not even parsed"; /* an error of any of its statements */
    if (!known && r->kind != 'S')
        q = (pg_asked){.part.at = "", .call = r->call, .opaque = "it failed before it was run"};
    if (r->kind != 'S') statement_ended(s, &q, NULL);
    begin_answer(s);
    if (r->kind == 'Q' || r->kind == 'F') {
        s->started = true; /* nothing more is expected but ReadyForQuery */
        return;
    }
    while (s->head < s->queue.n && s->queue.at[s->head].kind != 'S') queue_pop(s);
    s->copying_in = false;
}

/* The server has let the client in: what it set holds from now on, as SET would have set it. */
static void client_is_in(pg_session *s)
{
    const strbuf *sets = &s->startup.sets;
    s->ready = true;
    if (s->startup.not_read) lose_track(s, s->startup.not_read);
    for (size_t at = 0; at < sets->n; at += strlen(sets->at + at) + 1) {
        pg_asked q = {.call = s->now};
        const char *text = sets->at + at;
        if (sql_next(&text, text + strlen(text), SQL_RULES_STANDARD, &q.part))
            statement_ended(s, &q, "SET");
    }
    if (s->txn.open) pg_txn_end(&s->txn, STATUS_COMMITTED, s->now, s->now);
}

static void ready_for_query(pg_session *s, char status)
{
    request *r = queue_head(s);
    if (!s->ready) {
        client_is_in(s);
        return;
    }
    if (!r || !strchr("QSF", r->kind)) lose_track(s, "the server was ready out of turn");
    pg_asked q;
    bool lost = r->lost && r->kind == 'Q';
    if (r->kind == 'Q' && !r->lost && !s->failed && next_part(s, r, &q))
        lose_track(s, "fewer answers than statements in a query");
    if (r->kind == 'F') s->sink->gap(s->sink->ud, s->number, r->call, "a function was called");
    if (lost)
        s->sink->gap(s->sink->ud, s->number, earliest(s),
                     "a statement is longer than --max-statement");
    if (!pg_txn_ready(&s->txn, status, s->failed, r->call, s->now) && !lost)
        s->sink->gap(s->sink->ud, s->number, earliest(s),
                     "a transaction began or ended in a way that was not understood");
    s->failed = false;
    if (status == 'I') close_portals(s);
    begin_answer(s);
    queue_pop(s);
}

/* CopyInResponse: a Sync before the end of the data is passed over by the server. */
static void copy_in(pg_session *s)
{
    size_t to = s->head + 1;
    bool ended = false;
    s->copying_in = true;
    for (size_t i = s->head + 1; i < s->queue.n; i++) {
        if (!ended && s->queue.at[i].kind == 'S') continue;
        if (!ended && s->queue.at[i].kind == 'c') {
            ended = true;
            continue;
        }
        s->queue.at[to++] = s->queue.at[i];
    }
    s->queue.n = to;
    if (ended) s->copying_in = false;
}

static void parameter_status(pg_session *s, const char *body, uint32_t n)
{
    wire_body b = {body, body + n, false};
    const char *name = wire_text(&b), *value = wire_text(&b);
    if (b.bad) return;
    if (!strcmp(name, "client_encoding"))
        s->style.utf8 = !strcmp(value, "UTF8");
    else if (!strcmp(name, "DateStyle"))
        s->style.iso_dates = !strncmp(value, "ISO", 3);
    else if (!strcmp(name, "standard_conforming_strings"))
        s->txn.rules = strcmp(value, "off") ? SQL_RULES_STANDARD : SQL_RULES_ESCAPES;
    if (s->ready) return; /* a statement said so */
    bool usual = (strcmp(name, "DateStyle") != 0 || s->style.iso_dates) &&
                 (strcmp(name, "standard_conforming_strings") != 0 || !strcmp(value, "on")) &&
                 (strcmp(name, "IntervalStyle") != 0 || !strcmp(value, "postgres"));
    if (!usual) pg_startup_set(&s->startup.sets, name, value);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Answers within a request; false: not one that this request can have. */
static bool inner_answer(pg_session *s, request *r, char type, const char *body, uint32_t n)
{
    bool query = r->kind == 'Q', runs = query || r->kind == 'E';
    portal *of = NULL;
    switch (type) {
    case 'T':
        if (!query && r->kind != 'D') return false;
        read_cols(s, body, n);
        if (query) s->answer.has_rows = true;
        if (!query) {
            prepared *p = described(s, r);
            if (p) keep_cols(s, p);
            queue_pop(s);
        }
        return true;
    case 'D':
        if (!runs) return false;
        if (!query) {
            wire_body b = body_of(s, r);
            of = *find_portal(s, wire_text(&b));
            if (!of) lose_track(s, "a portal was run that was never bound");
        }
        add_row(s, body, n, of);
        return true;
    case 'C':
        if (runs) command_complete(s, body, n);
        return runs;
    case 'I': /* an empty query */
        if (r->kind == 'E') queue_pop(s);
        return runs;
    case 's':
        if (r->kind == 'E') portal_suspended(s);
        return !query && runs;
    case 'G':
        if (runs) copy_in(s);
        return runs;
    case 'H': return runs;
    case 'd':
        s->answer.copied += n;
        s->sink->count(s->sink->ud, PG_COPIED_OUT, n);
        return runs;
    case 'c': return runs;
    case 'V': return r->kind == 'F';
    default: return false;
    }
}

static bool plain_answer(pg_session *s, request *r, char type, const char *body, uint32_t n)
{
    bool right = false;
    if (type == '1' && (right = r->kind == 'P')) keep_prepared(s, r);
    if (type == '2' && (right = r->kind == 'B')) keep_portal(s, r);
    if (type == '3' && (right = r->kind == 'C')) close_named(s, r);
    if (type == 'n') right = r->kind == 'D';
    if (type == 't') { /* the rows' description follows */
        prepared *p = r->kind == 'D' ? described(s, r) : NULL;
        wire_body b = {body, body + n, false};
        if (p) mem_put(&s->mem, p->types);
        if (p) p->types = read_types(s, &b, &p->n_types);
        return p != NULL;
    }
    if (right) queue_pop(s);
    return right;
}

static void server_message(void *ud, char type, const char *body, uint32_t n)
{
    pg_session *s = ud;
    wire_body b = {body, body + n, false};
    switch (type) {
    case 'R':
    case 'N':
    case 'A':
    case 'v': return;
    case 'K': s->backend = wire_u32(&b); return;
    case 'S': parameter_status(s, body, n); return;
    default: break;
    }
    while (queue_head(s) && queue_head(s)->kind == 'c') queue_pop(s); /* its COPY had failed */
    request *r = queue_head(s);
    if (type == 'E') {
        error_response(s, body, n);
    } else if (type == 'Z') {
        ready_for_query(s, (char)wire_u8(&b));
    } else if (!r) {
        lose_track(s, "an answer that nobody asked for");
    } else if (strchr("123nt", type) ? !plain_answer(s, r, type, body, n)
                                     : !inner_answer(s, r, type, body, n)) {
        lose_track(s, "an answer that does not fit the request");
    }
}

static void server_begin(void *ud, char type, uint32_t n)
{
    pg_session *s = ud;
    s->piece_hash = FNV_START;
    if (type == 'd') {
        s->answer.copied += n;
        s->sink->count(s->sink->ud, PG_COPIED_OUT, n);
    } else if (type != 'D' || !queue_head(s) || !strchr("QE", queue_head(s)->kind)) {
        if (type != 'N' && type != 'A') lose_track(s, "a message of the server is too long");
    }
}

static void server_piece(void *ud, char type, const char *at, size_t n)
{
    pg_session *s = ud;
    if (type == 'D') s->piece_hash = fnv(s->piece_hash, at, n);
}

static void server_end(void *ud, char type)
{
    pg_session *s = ud;
    if (type != 'D') return;
    s->answer.n_rows++;
    s->answer.has_rows = s->answer.over = true;
    s->answer.hash += s->piece_hash;
}

static void client_message(void *ud, char type, const char *body, uint32_t n)
{
    pg_session *s = ud;
    switch (type) {
    case 'Q':
    case 'P':
    case 'B':
    case 'D':
    case 'E':
    case 'C': queue_push(s, type, body, n, false); return;
    case 'S':
        if (!s->copying_in) queue_push(s, type, "", 0, false);
        return;
    case 'F': queue_push(s, type, "", 0, false); return;
    case 'd': s->sink->count(s->sink->ud, PG_COPIED_IN, n); return;
    case 'c':
    case 'f':
        if (s->copying_in)
            s->copying_in = false;
        else if (queue_head(s))
            queue_push(s, 'c', "", 0, false);
        return;
    case 'p': return; /* an answer to a question of authentication: never looked at */
    case 'H': return;
    case 'X': s->ending = true; return;
    default: lose_track(s, "a message that no client sends");
    }
}

static void client_begin(void *ud, char type, uint32_t n)
{
    pg_session *s = ud;
    if (type == 'd')
        s->sink->count(s->sink->ud, PG_COPIED_IN, n);
    else if (strchr("QPBF", type) && type)
        queue_push(s, type, "", 0, true);
    else
        lose_track(s, "a message of the client is too long");
}

static void client_piece(void *ud, char type, const char *at, size_t n)
{
    (void)ud, (void)type, (void)at, (void)n; /* only lengths are kept */
}

static void client_end(void *ud, char type)
{
    (void)ud, (void)type;
}

/* ---- the border ------------------------------------------------------------------------------ */

pg_session *pg_session_open(uint32_t number, const pg_limits *limits, const mask *masks,
                            const pg_sink *sink)
{
    pg_session *s = mem_libc(NULL, NULL, 0, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    guard_init(&s->guard);
    mem_init(&s->mem, mem_libc, NULL, &s->guard);
    s->mem.limit = limits->session;
    s->limits = limits;
    s->masks = masks;
    s->sink = sink;
    s->number = number;
    s->client_user = (wire_user){s, client_message, client_begin, client_piece, client_end};
    s->server_user = (wire_user){s, server_message, server_begin, server_piece, server_end};
    wire_init(&s->client, &s->mem, limits->message, &s->client_user);
    wire_init(&s->server, &s->mem, limits->message, &s->server_user);
    strbuf_init(&s->bytes, &s->mem);
    strbuf_init(&s->answer.rows, &s->mem);
    pg_txn_init(&s->txn, &s->mem, number, masks, sink);
    s->style = (pg_style){.utf8 = true, .iso_dates = true};
    return s;
}

void pg_session_free(pg_session *s)
{
    if (!s) return;
    mem_free_all(&s->mem);
    mem_libc(NULL, s, sizeof *s, 0);
}

bool pg_session_startup(pg_session *s, const char *at, size_t n)
{
    if (guard_armed(&s->guard)) {
        go_blind(s, "the session needs more memory than it may have");
        return true;
    }
    pg_startup_read(&s->startup, &s->mem, at, n);
    s->txn.isolation = s->txn.first_isolation = s->startup.isolation;
    return !s->startup.replicates;
}

static void feed(pg_session *s, wire *w, const char *at, size_t n, uint64_t now)
{
    if (s->blind) return;
    s->now = now;
    if (guard_armed(&s->guard)) {
        go_blind(s, s->guard.code == GUARD_NOMEM ? "the session needs more memory than it may have"
                                                 : s->guard.text);
        return;
    }
    if (!wire_feed(w, at, n)) lose_track(s, "bytes that are not PostgreSQL's protocol");
}

void pg_session_client(pg_session *s, const char *at, size_t n, uint64_t now)
{
    feed(s, &s->client, at, n, now);
}

void pg_session_server(pg_session *s, const char *at, size_t n, uint64_t now)
{
    feed(s, &s->server, at, n, now);
}

static bool is_commit(const pg_session *s, const char *sql)
{
    const char *at = sql;
    sql_part part;
    return sql && sql_next(&at, sql + strlen(sql), s->txn.rules, &part) && part.kind == SQL_COMMIT;
}

/* The statement that a request will run, or NULL: it runs none. */
static const char *sql_to_run(pg_session *s, const request *r)
{
    wire_body b = body_of(s, r);
    if (r->lost) return "";
    if (r->kind == 'Q') return wire_text(&b);
    if (r->kind == 'P') {
        wire_text(&b);
        return wire_text(&b);
    }
    const prepared *p = NULL;
    if (r->kind == 'B') {
        wire_text(&b);
        p = *find_prepared(s, wire_text(&b));
    } else if (r->kind == 'E') {
        const portal *of = *find_portal(s, wire_text(&b));
        p = of ? of->of : NULL;
    } else {
        return NULL;
    }
    return p ? p->text + p->n_name + 1 : "";
}

bool pg_session_commits(pg_session *s)
{
    if (s->blind || !s->txn.open || !s->txn.block || s->txn.has_xid) return false;
    if (queue_head(s) && queue_head(s)->call != s->now) return false; /* it was not answered yet */
    for (size_t i = s->head; i < s->queue.n; i++) {
        const char *sql = sql_to_run(s, &s->queue.at[i]);
        if (sql) return is_commit(s, sql);
    }
    return false;
}

void pg_session_xid(pg_session *s, const char *xid)
{
    if (s->blind || !s->txn.open) return;
    s->txn.has_xid = true;
    snprintf(s->txn.xid, sizeof s->txn.xid, "%s", xid);
}

/* What was asked and never answered may have been done: it is written without an answer.  More than
   one such request may have been more than one transaction, which no line could say. */
static void end_pending(pg_session *s)
{
    uint32_t asked = 0;
    bool lost = false;
    pg_asked q;
    portal *of;
    for (size_t i = s->head; i < s->queue.n; i++) {
        const request *r = &s->queue.at[i];
        asked += r->kind == 'Q' || r->kind == 'E' || r->kind == 'F';
        lost |= r->lost || r->kind == 'F';
    }
    const request *r = queue_head(s);
    bool known = asked == 1 && !lost && (r->kind == 'Q' || r->kind == 'E');
    if (known && r->kind == 'Q') {
        bool any = next_part(s, r, &q);
        pg_asked more;
        if (any && next_part(s, r, &more)) known = false;
        if (any && known) statement_ended(s, &q, NULL);
    } else if (known && asked_by(s, r, &q, &of) && !of->told) {
        begin_answer(s);
        statement_ended(s, &q, NULL);
    }
    if (asked && !known)
        s->sink->gap(s->sink->ud, s->number, earliest(s),
                     "a connection ended before several requests were answered");
    pg_txn_lost(&s->txn, asked > 0 || (s->head < s->queue.n && !s->txn.block), s->now);
}

void pg_session_end(pg_session *s, uint64_t now)
{
    if (s->blind) return;
    s->now = now;
    if (guard_armed(&s->guard)) {
        go_blind(s, "the session needs more memory than it may have");
        return;
    }
    if (s->ready) end_pending(s);
}

const char *pg_session_database(const pg_session *s)
{
    return s->startup.database;
}

uint32_t pg_session_backend(const pg_session *s)
{
    return s->backend;
}

bool pg_session_blind(const pg_session *s)
{
    return s->blind != NULL;
}
