/*
 * exec_driver.c - databases whose driver is a program of its own, in any language.
 *
 *   exec:[NAME=VALUE...] COMMAND [ARGUMENT...]
 *
 * Requests and answers are lines of JSON (doc/drivers.md).  A driver says of each request that it
 * is done, refused, failed or of unknown outcome.  What it does not say we know all the same: a
 * driver makes nothing permanent before it has read "commit", so a transaction whose commit was
 * not sent is aborted however its driver ended, and one whose commit was sent and not answered is
 * unknown.  A driver that breaks the protocol ends the run, since nothing it says can be believed.
 */
#include "driver/exec_driver.h"

#include <stdio.h>

#include "driver/adapters.h"
#include "driver/exec_hello.h"

enum { HELLO_MS = 120000, FAREWELL_MS = 2000, GRACE_MS = 2000, DEATHS = 8, A_TIME = 500 };

typedef struct exec_conn {
    exec_talk talk;
    exec_child own;         /* the session's program, if it has one */
    bool alone;             /* it has */
    struct exec_conn *next; /* of those that have */
    bool counted;           /* among the sessions of which a driver may allow a few only */
    bool greeted;           /* connect was answered */
    bool within;            /* a transaction, which begin has begun */
} exec_conn;

/* --- requests --------------------------------------------------------------------------------- */

void exec_talk_init(exec_talk *t, exec_own *o, exec_child *c, mem *m, char *error)
{
    memset(t, 0, sizeof *t);
    t->own = o;
    t->child = c;
    t->mem = m;
    t->error = error;
    t->timeout_ms = o->hello.timeout_ms;
    strbuf_init(&t->out, m);
    strbuf_init(&t->in, m);
}

void exec_talk_free(exec_talk *t)
{
    strbuf_free(&t->out);
    strbuf_free(&t->in);
    vec_free(t->mem, &t->json.nodes);
}

/* Before something is asked of a program that others use, too, and may have to start anew.  False:
   the one that this session knew is not there any more. */
static bool enter_keeper(exec_talk *t)
{
    exec_own *o = t->own;
    if (!t->generation) return true;
    pthread_mutex_lock(&o->lock);
    bool same = t->generation == o->generation;
    o->busy += same;
    pthread_mutex_unlock(&o->lock);
    return same;
}

static void leave_keeper(exec_talk *t)
{
    if (!t->generation) return;
    pthread_mutex_lock(&t->own->lock);
    t->own->busy--;
    pthread_mutex_unlock(&t->own->lock);
}

void exec_talk_begin(exec_talk *t, const char *op)
{
    t->op = op;
    t->id = 0;
    if (enter_keeper(t)) {
        t->id = exec_child_id(t->child);
        leave_keeper(t);
    }
    t->out.n = 0;
    strbuf_printf(&t->out, "{\"id\":%llu,\"op\":\"%s\"", (unsigned long long)t->id, op);
    if (t->session) strbuf_printf(&t->out, ",\"session\":%u", t->session);
}

static void add_number(exec_talk *t, int64_t value)
{
    if (t->own->hello.text) strbuf_char(&t->out, '"');
    strbuf_i64(&t->out, value);
    if (t->own->hello.text) strbuf_char(&t->out, '"');
}

void exec_talk_number(exec_talk *t, const char *name, int64_t value)
{
    strbuf_printf(&t->out, ",\"%s\":", name);
    add_number(t, value);
}

static void add_text(exec_talk *t, const char *name, const char *text)
{
    strbuf_printf(&t->out, ",\"%s\":", name);
    strbuf_json(&t->out, text, strlen(text));
}

/* No session goes on after this; the first reason is told. */
static void give_up_all(exec_own *o, const char *why)
{
    pthread_mutex_lock(&o->lock);
    if (!o->wrong) snprintf(o->why, sizeof o->why, "%s", why);
    o->wrong = true;
    pthread_mutex_unlock(&o->lock);
}

/* The child is dead.  A commit that was sent stays unknown whatever the reason. */
static enum db_answer told_dead(exec_talk *t)
{
    bool wrong = false;
    snprintf(t->error, DB_ERROR, "the driver was killed and has been started anew");
    if (enter_keeper(t)) {
        pthread_mutex_lock(&t->child->lock);
        wrong = t->child->wrong;
        snprintf(t->error, DB_ERROR, "%s", t->child->why);
        pthread_mutex_unlock(&t->child->lock);
        leave_keeper(t);
    }
    bool data_lost = t->own->hello.inside;
    if (data_lost && !wrong) {
        size_t n = strlen(t->error);
        snprintf(t->error + n, DB_ERROR - n, "; the database was inside it and is gone");
    }
    if (!wrong && !data_lost) return DB_LOST;
    give_up_all(t->own, t->error);
    return strcmp(t->op, "commit") != 0 ? DB_BROKEN : DB_LOST;
}

enum db_answer exec_talk_blame(exec_talk *t, const char *what)
{
    if (enter_keeper(t)) {
        exec_child_blame(t->child, what, &t->in);
        leave_keeper(t);
    }
    return told_dead(t);
}

static enum db_answer answer_of(exec_talk *t)
{
    static const struct {
        const char *word;
        enum db_answer answer;
    } answers[] = {
        {"done", DB_OK}, {"refused", DB_REFUSED}, {"failed", DB_BROKEN}, {"unknown", DB_LOST}};
    char word[16] = "", said[DB_ERROR - 80] = "";
    if (!exec_json_parse(&t->json, t->mem, t->in.at, t->in.n))
        return exec_talk_blame(t, t->json.why);
    uint32_t node = exec_json_member(&t->json, 0, "answer");
    uint32_t error = exec_json_member(&t->json, 0, "error");
    if (node) exec_json_text(&t->json, node, word, sizeof word);
    if (error) exec_json_text(&t->json, error, said, sizeof said);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (strcmp(word, answers[i].word) != 0) continue;
        if (i) db_fail(t->error, "%s%s%s", t->op, *said ? ": " : " ", *said ? said : word);
        /* Nobody knows what a commit did that failed for a reason of its own. */
        bool commit_failed = answers[i].answer == DB_BROKEN && !strcmp(t->op, "commit");
        if (commit_failed) give_up_all(t->own, t->error);
        return commit_failed ? DB_LOST : answers[i].answer;
    }
    return exec_talk_blame(t, "the answer is none of done, refused, failed, unknown");
}

enum db_answer exec_talk_send(exec_talk *t)
{
    strbuf_str(&t->out, "}\n");
    enum exec_reply reply = EXEC_DEAD;
    if (enter_keeper(t)) {
        reply = exec_child_ask(t->child, t->id, t->op, &t->out, t->timeout_ms, &t->in);
        leave_keeper(t);
    }
    return reply == EXEC_DEAD ? told_dead(t) : answer_of(t);
}

/* --- programs --------------------------------------------------------------------------------- */

static bool start_child(exec_own *o, exec_child *c, char *error)
{
    char why[160];
    if (exec_child_start(c, &o->warden, why, sizeof why)) return true;
    db_fail(error, "cannot start %.200s: %s", o->words ? o->words[0] : "the engine", why);
    return false;
}

static enum db_answer greet(exec_talk *t)
{
    uint32_t usual = t->timeout_ms, session = t->session;
    t->session = 0; /* it is about the whole program */
    t->timeout_ms = t->own->timeout_ms ? t->own->timeout_ms : HELLO_MS;
    exec_talk_begin(t, "hello");
    strbuf_printf(&t->out, ",\"protocol\":%d", EXEC_PROTOCOL);
    enum db_answer a = exec_talk_send(t);
    t->timeout_ms = usual;
    t->session = session;
    return a;
}

/* The keeper, started anew if its program has died and the data have not. */
static bool keeper_there(db *d)
{
    exec_own *o = d->own;
    if (o->kept && !o->keeper.dead) return true;
    if (o->kept && o->hello.inside) return false;
    if (o->kept) exec_child_end(&o->keeper, 0);
    o->kept = start_child(o, &o->keeper, d->error);
    o->generation++;
    if (!o->kept) return false;
    exec_talk t;
    exec_talk_init(&t, o, &o->keeper, d->mem, d->error);
    bool done = greet(&t) == DB_OK;
    exec_talk_free(&t);
    return done;
}

/* --- the database ----------------------------------------------------------------------------- */

static const contract *exec_contract(const db *d)
{
    const exec_own *o = d->own;
    for (uint32_t i = 0; i < o->hello.n_contracts; i++)
        if (!strcmp(o->hello.contracts[i].isolation, d->isolation)) return &o->hello.contracts[i];
    return NULL;
}

static bool say_hello(db *d)
{
    exec_own *o = d->own;
    exec_talk t;
    exec_talk_init(&t, o, &o->keeper, d->mem, d->error);
    bool good = greet(&t) == DB_OK && exec_hello_read(o, d, &t.json);
    exec_talk_free(&t);
    return good;
}

static bool start_keeper(db *d, const exec_kind *kind)
{
    exec_own *o = d->own;
    if (!exec_warden_start(&o->warden, kind)) {
        db_fail(d->error, "cannot start the process that starts drivers");
        return false;
    }
    o->generation = 1;
    o->kept = start_child(o, &o->keeper, d->error);
    return o->kept && say_hello(d);
}

static bool exec_open(db *d)
{
    exec_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    o->warden.socket = -1;
    pthread_mutex_init(&o->lock, NULL);
    const char *asked = d->isolation; /* "": the first that the driver has */
    if (!exec_command(o, d->mem, d->address, d->error)) {
        d->misuse = true;
        return false;
    }
    exec_kind kind = {.words = o->words, .environment = o->environment};
    if (!start_keeper(d, &kind)) return false;
    o->driver = *d->driver;
    o->driver.isolations = strbuf_cstr(&o->hello.isolations);
    if (!(o->hello.operations & EXEC_ADD)) o->driver.add = NULL;
    if (!(o->hello.operations & EXEC_SAVEPOINT)) o->driver.nest = NULL;
    if (!(o->hello.operations & EXEC_AUTOCOMMIT)) o->driver.alone = NULL;
    o->driver.row_locks = o->hello.operations & EXEC_LOCK;
    o->driver.reverses = o->hello.operations & EXEC_REVERSE;
    o->driver.lacks = (o->hello.operations & EXEC_APPEND ? 0 : DB_NO_LISTS) |
                      (o->hello.operations & EXEC_RANGE ? 0 : DB_NO_RANGES) |
                      (o->hello.operations & EXEC_DELETE ? 0 : DB_NO_DELETES);
    o->driver.never_waits = o->hello.never_waits;
    if (!(o->hello.operations & EXEC_SQL)) {
        o->driver.script = NULL;
        o->driver.query = NULL;
    }
    d->driver = &o->driver;
    size_t first = strcspn(o->driver.isolations, " ");
    if (!*asked) {
        char *word = mem_zeroed(d->mem, first + 1);
        memcpy(word, o->driver.isolations, first);
        asked = word;
    }
    if (db_isolation(d, asked)) return true;
    d->misuse = true;
    return false;
}

static void exec_close(db *d)
{
    exec_own *o = d->own;
    if (!o) return;
    if ((d->made || o->tables) && o->warden.socket >= 0 && keeper_there(d)) {
        char error[DB_ERROR];
        exec_talk t;
        exec_talk_init(&t, o, &o->keeper, d->mem, error);
        exec_talk_begin(&t, "teardown");
        add_text(&t, "place", d->place);
        exec_talk_send(&t);
        exec_talk_free(&t);
    }
    if (o->kept) exec_child_end(&o->keeper, GRACE_MS);
    exec_warden_stop(&o->warden);
    pthread_mutex_destroy(&o->lock);
    d->own = NULL;
}

static bool load_rows(exec_talk *t, const db *d, const db_row *rows, size_t n)
{
    enum db_answer a = DB_OK;
    for (size_t i = 0; i < n && a == DB_OK; i += A_TIME) {
        exec_talk_begin(t, "load");
        add_text(t, "place", d->place);
        strbuf_str(&t->out, ",\"rows\":[");
        for (size_t k = i; k < n && k < i + A_TIME; k++) {
            strbuf_str(&t->out, k > i ? ",[" : "[");
            add_number(t, rows[k].key);
            strbuf_char(&t->out, ',');
            add_number(t, rows[k].value);
            strbuf_char(&t->out, ']');
        }
        strbuf_char(&t->out, ']');
        a = exec_talk_send(t);
    }
    return a == DB_OK;
}

static bool exec_load(db *d, const db_row *rows, size_t n)
{
    exec_own *o = d->own;
    if (d->lists && !(o->hello.operations & EXEC_APPEND)) {
        db_fail(d->error, "the driver has no operation append, which lists need");
        return false;
    }
    if (d->tombstones && !(o->hello.operations & EXEC_BURY)) {
        db_fail(d->error, "the driver has no operation bury, which tombstones need");
        return false;
    }
    if (!keeper_there(d)) {
        if (!*d->error) snprintf(d->error, sizeof d->error, "%s", o->keeper.why);
        return false;
    }
    exec_talk t;
    exec_talk_init(&t, o, &o->keeper, d->mem, d->error);
    exec_talk_begin(&t, "setup");
    add_text(&t, "place", d->place);
    strbuf_printf(&t.out, ",\"lists\":%s,\"tombstones\":%s", d->lists ? "true" : "false",
                  d->tombstones ? "true" : "false");
    bool done = exec_talk_send(&t) == DB_OK;
    d->made = d->made || done;
    done = done && load_rows(&t, d, rows, n);
    exec_talk_free(&t);
    return done;
}

static unsigned exec_snapshot(const db *d)
{
    return ((const exec_own *)d->own)->hello.snapshot;
}

/* --- sessions --------------------------------------------------------------------------------- */

exec_talk *exec_session_talk(db_session *s)
{
    return &((exec_conn *)s->own)->talk;
}

static bool is_dead(const exec_conn *c)
{
    exec_own *o = c->talk.own;
    pthread_mutex_lock(&o->lock);
    bool stale = c->talk.generation && c->talk.generation != o->generation;
    bool dead = stale || c->talk.child->dead;
    pthread_mutex_unlock(&o->lock);
    return dead;
}

static void exec_disconnect(db_session *s)
{
    exec_conn *c = s->own;
    exec_own *o = s->db->own;
    if (!c) return;
    if (c->greeted && !is_dead(c)) {
        c->talk.timeout_ms = FAREWELL_MS < c->talk.timeout_ms ? FAREWELL_MS : c->talk.timeout_ms;
        exec_talk_begin(&c->talk, "disconnect");
        exec_talk_send(&c->talk);
    }
    exec_talk_free(&c->talk);
    pthread_mutex_lock(&o->lock);
    o->sessions -= c->counted;
    exec_conn **at = &o->alone;
    while (*at && *at != c) at = &(*at)->next;
    if (*at) *at = c->next;
    pthread_mutex_unlock(&o->lock);
    if (c->alone) exec_child_end(&c->own, 0);
    mem_put(s->mem, c);
    s->own = NULL;
}

/* The keeper for one more session; it is started anew when nobody asks the old one any more, and
   then wants a hello.  DB_LOST: try again. */
static enum db_answer attach(db_session *s, bool *started)
{
    exec_own *o = s->db->own;
    exec_conn *c = s->own;
    bool done = true;
    pthread_mutex_lock(&o->lock);
    bool ended = !o->kept || o->keeper.dead;
    if (ended) done = !o->busy && !o->wrong;
    if (ended && done) {
        exec_child_end(&o->keeper, 0);
        o->kept = start_child(o, &o->keeper, s->error);
        o->generation++;
        done = *started = o->kept;
    }
    c->talk.generation = o->generation;
    enum db_answer a = done ? DB_OK : o->wrong ? DB_BROKEN : DB_LOST;
    pthread_mutex_unlock(&o->lock);
    return a;
}

/* What every session sees first; DB_OK: it may go on. */
static enum db_answer may_connect(db_session *s)
{
    exec_own *o = s->db->own;
    pthread_mutex_lock(&o->lock);
    bool wrong = o->wrong || o->deaths >= DEATHS;
    if (o->wrong) snprintf(s->error, sizeof s->error, "%s", o->why);
    bool full = o->hello.most && o->sessions >= o->hello.most;
    if (full)
        db_fail(s->error, "the driver allows %u session%s at a time (use --sessions)",
                o->hello.most, o->hello.most == 1 ? "" : "s");
    wrong = wrong || full;
    bool down = !wrong && o->down && !s->probe;
    if (down) db_fail(s->error, "the engine was killed and is not started yet");
    if (!wrong && !down) o->sessions++;
    uint32_t number = ++o->numbers;
    pthread_mutex_unlock(&o->lock);
    exec_conn *c = s->own;
    c->counted = !wrong && !down;
    c->talk.session = number;
    return wrong ? DB_BROKEN : down ? DB_LOST : DB_OK;
}

static enum db_answer connected(db_session *s, enum db_answer a)
{
    exec_own *o = s->db->own;
    const exec_conn *c = s->own;
    pthread_mutex_lock(&o->lock);
    bool killed = c->alone ? c->own.killed : o->keeper.killed; /* that is no sign of a bad driver */
    o->deaths = a == DB_OK ? 0 : o->deaths + (a == DB_LOST && !killed);
    pthread_mutex_unlock(&o->lock);
    return a == DB_REFUSED ? DB_LOST : a;
}

static enum db_answer exec_connect(db_session *s)
{
    exec_own *o = s->db->own;
    exec_conn *c = s->own = mem_zeroed(s->mem, sizeof *c);
    exec_talk_init(&c->talk, o, o->hello.many ? &o->keeper : &c->own, s->mem, s->error);
    enum db_answer a = may_connect(s);
    if (a != DB_OK) return a;
    bool fresh = false;
    if (o->hello.many) {
        a = attach(s, &fresh);
        if (a != DB_OK) return a;
    } else {
        c->alone = start_child(o, &c->own, s->error);
        if (!c->alone) return connected(s, DB_LOST);
        pthread_mutex_lock(&o->lock);
        c->next = o->alone;
        o->alone = c;
        pthread_mutex_unlock(&o->lock);
        fresh = true;
    }
    if (fresh && (a = greet(&c->talk)) != DB_OK) return connected(s, a);
    exec_talk_begin(&c->talk, "connect");
    add_text(&c->talk, "place", s->db->place);
    strbuf_printf(&c->talk.out, ",\"lists\":%s,\"tombstones\":%s%s%s",
                  s->db->lists ? "true" : "false", s->db->tombstones ? "true" : "false",
                  s->db->stepped ? ",\"hasty\":true" : "",
                  s->db->own_tables ? ",\"tables\":true" : "");
    a = exec_talk_send(&c->talk);
    c->greeted = a == DB_OK;
    return connected(s, a);
}

static exec_talk *request(db_session *s, const char *op)
{
    exec_talk *t = exec_session_talk(s);
    exec_talk_begin(t, op);
    return t;
}

/* A request that reads or writes; outside of a transaction it is one by itself. */
static exec_talk *data_request(db_session *s, const char *op)
{
    exec_talk *t = request(s, op);
    if (((exec_conn *)s->own)->within) return t;
    strbuf_str(&t->out, ",\"alone\":true");
    add_text(t, "isolation", s->db->isolation);
    return t;
}

static bool has_operation(db_session *s, unsigned operation, const char *name)
{
    const exec_own *o = s->db->own;
    if (o->hello.operations & operation) return true;
    db_fail(s->error, "the driver has no operation %s", name);
    return false;
}

static enum db_answer exec_begin(db_session *s)
{
    exec_talk *t = request(s, "begin");
    add_text(t, "isolation", s->isolation);
    enum db_answer a = exec_talk_send(t);
    ((exec_conn *)s->own)->within = a == DB_OK;
    return a;
}

static bool exec_alone(const db *d)
{
    return !d->parts; /* (without the operation there is no such function) */
}

static bool is_true(const exec_json *j, const char *name)
{
    uint32_t node = exec_json_member(j, 0, name);
    return node && j->nodes.at[node].kind == EXEC_JSON_TRUE;
}

/* A list as an array of numbers; a text, which is no list, is kept as it is. */
static bool list_value(db_session *s, const exec_json *j, uint32_t node)
{
    const exec_json_node *v = &j->nodes.at[node];
    s->text.n = 0;
    if (v->kind == EXEC_JSON_STRING) return exec_json_add_text(j, node, &s->text);
    if (v->kind != EXEC_JSON_ARRAY) return false;
    for (uint32_t i = node + 1; i < node + v->span; i += j->nodes.at[i].span) {
        int64_t x;
        if (!exec_json_int(j, i, &x)) return false;
        if (s->text.n) strbuf_char(&s->text, ',');
        strbuf_i64(&s->text, x);
    }
    return true;
}

static enum db_answer exec_get(db_session *s, int64_t key, bool lock)
{
    const exec_own *o = s->db->own;
    if (!has_operation(s, EXEC_GET, "get")) return DB_BROKEN;
    exec_talk *t = data_request(s, "get");
    exec_talk_number(t, "key", key);
    if (lock && (o->hello.operations & EXEC_LOCK)) strbuf_str(&t->out, ",\"lock\":true");
    enum db_answer a = exec_talk_send(t);
    if (a != DB_OK) return a;
    const exec_json *j = &t->json;
    uint32_t value = exec_json_member(j, 0, "value");
    if (!value) return exec_talk_blame(t, "get is done, but there is no value");
    s->absent = j->nodes.at[value].kind == EXEC_JSON_NULL;
    s->tomb = s->absent && is_true(j, "tomb");
    if (s->absent) return DB_OK;
    if (s->db->lists ? list_value(s, j, value) : exec_json_int(j, value, &s->value)) return DB_OK;
    return exec_talk_blame(t, "the value is neither a whole number nor a list of whole numbers");
}

static enum db_answer write_request(db_session *s, const char *op, int64_t key, int64_t value)
{
    exec_talk *t = data_request(s, op);
    exec_talk_number(t, "key", key);
    exec_talk_number(t, "value", value);
    enum db_answer a = exec_talk_send(t);
    s->idle = a == DB_OK && is_true(&t->json, "idle");
    s->newest = s->idle && is_true(&t->json, "newest");
    return a;
}

static enum db_answer exec_put(db_session *s, int64_t key, int64_t value)
{
    return has_operation(s, EXEC_PUT, "put") ? write_request(s, "put", key, value) : DB_BROKEN;
}

static enum db_answer exec_append(db_session *s, int64_t key, int64_t value)
{
    return has_operation(s, EXEC_APPEND, "append") ? write_request(s, "append", key, value)
                                                   : DB_BROKEN;
}

static enum db_answer exec_remove(db_session *s, int64_t key)
{
    bool bury = s->db->tombstones;
    const char *op = bury ? "bury" : "delete";
    if (!has_operation(s, bury ? EXEC_BURY : EXEC_DELETE, op)) return DB_BROKEN;
    exec_talk *t = data_request(s, op);
    exec_talk_number(t, "key", key);
    enum db_answer a = exec_talk_send(t);
    if (bury) s->idle = a == DB_OK && is_true(&t->json, "idle");
    if (a != DB_OK || bury) return a;
    uint32_t found = exec_json_member(&t->json, 0, "found");
    if (!found || (t->json.nodes.at[found].kind != EXEC_JSON_TRUE &&
                   t->json.nodes.at[found].kind != EXEC_JSON_FALSE))
        return exec_talk_blame(t, "delete is done, but found is neither true nor false");
    s->idle = t->json.nodes.at[found].kind == EXEC_JSON_FALSE;
    s->newest = s->idle && is_true(&t->json, "newest");
    return DB_OK;
}

static enum db_answer exec_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    if (!has_operation(s, EXEC_RANGE, "range")) return DB_BROKEN;
    exec_talk *t = data_request(s, "range");
    exec_talk_number(t, "from", from);
    exec_talk_number(t, "to", to);
    if (limit) strbuf_printf(&t->out, ",\"limit\":%u", limit);
    if (s->reverse) strbuf_str(&t->out, ",\"reverse\":true");
    enum db_answer a = exec_talk_send(t);
    if (a != DB_OK) return a;
    const exec_json *j = &t->json;
    uint32_t rows = exec_json_member(j, 0, "rows");
    if (!rows || j->nodes.at[rows].kind != EXEC_JSON_ARRAY)
        return exec_talk_blame(t, "range is done, but there are no rows");
    s->rows.n = 0;
    for (uint32_t i = rows + 1; i < rows + j->nodes.at[rows].span; i += j->nodes.at[i].span) {
        db_row row;
        if (j->nodes.at[i].kind != EXEC_JSON_ARRAY || j->nodes.at[i].span != 3 ||
            !exec_json_int(j, i + 1, &row.key) || !exec_json_int(j, i + 2, &row.value))
            return exec_talk_blame(t, "a row is not a pair of whole numbers");
        vec_push(s->mem, &s->rows, row);
    }
    return DB_OK;
}

static enum db_answer exec_add(db_session *s, int64_t key, int64_t amount, bool upsert)
{
    exec_talk *t = data_request(s, "add");
    exec_talk_number(t, "key", key);
    exec_talk_number(t, "value", amount);
    if (upsert) strbuf_str(&t->out, ",\"upsert\":true");
    enum db_answer a = exec_talk_send(t);
    if (a != DB_OK) return a;
    const exec_json *j = &t->json;
    uint32_t value = exec_json_member(j, 0, "value");
    if (!value) return exec_talk_blame(t, "add is done, but there is no value");
    s->newest = is_true(j, "newest");
    s->absent = j->nodes.at[value].kind == EXEC_JSON_NULL;
    if (s->absent || exec_json_int(j, value, &s->value)) return DB_OK;
    return exec_talk_blame(t, "the value is not a whole number");
}

static enum db_answer exec_nest(db_session *s, enum db_nesting what)
{
    static const char *const words[] = {
        [DB_SAVEPOINT] = "set", [DB_UNDO] = "undo", [DB_KEEP] = "keep"};
    exec_talk *t = request(s, "savepoint");
    add_text(t, "what", words[what]);
    return exec_talk_send(t);
}

static enum db_answer exec_commit(db_session *s)
{
    const exec_own *o = s->db->own;
    enum db_answer a = exec_talk_send(request(s, "commit"));
    ((exec_conn *)s->own)->within = false;
    /* What a dead engine has not made permanent cannot happen any more. */
    s->settled = a == DB_LOST && o->hello.files && is_dead(s->own);
    return a;
}

static enum db_answer exec_abort(db_session *s)
{
    ((exec_conn *)s->own)->within = false;
    return exec_talk_send(request(s, "abort")) == DB_OK ? DB_OK : DB_LOST;
}

/* --- workloads with tables of their own ------------------------------------------------------- */

static bool exec_script(db *d, const char *text)
{
    exec_own *o = d->own;
    exec_talk t;
    if (!keeper_there(d)) return false;
    exec_talk_init(&t, o, &o->keeper, d->mem, d->error);
    exec_talk_begin(&t, "script");
    add_text(&t, "place", d->place);
    add_text(&t, "sql", text);
    bool done = exec_talk_send(&t) == DB_OK;
    o->tables = o->tables || done;
    exec_talk_free(&t);
    return done;
}

static bool keep_cell(db_session *s, const exec_json *j, uint32_t node)
{
    const exec_json_node *v = &j->nodes.at[node];
    db_cell cell = {.at = (uint32_t)s->text.n, .kind = DB_TEXT};
    switch (v->kind) {
    case EXEC_JSON_NULL: cell.at = UINT32_MAX; break;
    case EXEC_JSON_STRING: exec_json_add_text(j, node, &s->text); break;
    case EXEC_JSON_NUMBER:
        cell.kind = DB_NUMBER;
        strbuf_add(&s->text, j->text + v->at, v->n);
        break;
    case EXEC_JSON_TRUE:
    case EXEC_JSON_FALSE:
        cell.kind = DB_BOOL;
        strbuf_str(&s->text, v->kind == EXEC_JSON_TRUE ? "true" : "false");
        break;
    default: return false;
    }
    if (cell.at != UINT32_MAX) cell.n = (uint32_t)s->text.n - cell.at;
    vec_push(s->mem, &s->cells, cell);
    return true;
}

static bool keep_rows(db_session *s, const exec_json *j, uint32_t rows)
{
    if (j->nodes.at[rows].kind != EXEC_JSON_ARRAY) return false;
    s->has_rows = true;
    for (uint32_t i = rows + 1; i < rows + j->nodes.at[rows].span; i += j->nodes.at[i].span) {
        uint32_t cols = 0;
        if (j->nodes.at[i].kind != EXEC_JSON_ARRAY) return false;
        for (uint32_t k = i + 1; k < i + j->nodes.at[i].span; k += j->nodes.at[k].span, cols++)
            if (!keep_cell(s, j, k)) return false;
        if (s->n_rows++ && cols != s->n_cols) return false;
        s->n_cols = cols;
    }
    return true;
}

static enum db_answer exec_query(db_session *s, const char *text, const char *const *params,
                                 uint32_t n)
{
    exec_talk *t = request(s, "query");
    add_text(t, "sql", text);
    for (uint32_t i = 0; i < n; i++) {
        strbuf_str(&t->out, i ? "," : ",\"params\":[");
        strbuf_json(&t->out, params[i], strlen(params[i]));
    }
    if (n) strbuf_char(&t->out, ']');
    enum db_answer a = exec_talk_send(t);
    const exec_json *j = &t->json;
    s->text.n = s->cells.n = 0;
    s->n_rows = s->n_cols = 0;
    s->has_rows = false;
    s->affected = 0;
    *s->state = 0;
    if (a != DB_OK) {
        uint32_t state = a == DB_REFUSED ? exec_json_member(j, 0, "state") : 0;
        if (!state || !exec_json_text(j, state, s->state, sizeof s->state) || !*s->state)
            snprintf(s->state, sizeof s->state, "XX000");
        return a;
    }
    int64_t count = 0;
    uint32_t rows = exec_json_member(j, 0, "rows"), affected = exec_json_member(j, 0, "count");
    if (rows && !keep_rows(s, j, rows))
        return exec_talk_blame(t, "the rows of a query are not an array of rows");
    if (affected && (!exec_json_int(j, affected, &count) || count < 0))
        return exec_talk_blame(t, "count is not a number");
    s->affected = affected ? (uint64_t)count : s->n_rows;
    return DB_OK;
}

/* --- faults ----------------------------------------------------------------------------------- */

static bool exec_may_die(const db *d, const char **why)
{
    const exec_own *o = d->own;
    *why = "the database is inside the driver's program and would be gone with it";
    return !o->hello.inside;
}

static bool exec_processes(db *d, bool up)
{
    exec_own *o = d->own;
    pthread_mutex_lock(&o->lock);
    o->down = !up;
    if (!up && o->kept && o->hello.many) exec_child_kill(&o->keeper);
    for (exec_conn *c = o->alone; c && !up; c = c->next) exec_child_kill(&c->own);
    pthread_mutex_unlock(&o->lock);
    return true;
}

/* --- engines of ours in a process of their own ------------------------------------------------ */

bool exec_open_engine(db *d, const exec_kind *kind)
{
    const driver *engine = d->driver;
    exec_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    o->warden.socket = -1;
    pthread_mutex_init(&o->lock, NULL);
    o->driver = driver_exec;
    d->driver = &o->driver;
    if (!start_keeper(d, kind)) return false;
    o->driver.name = engine->name;
    o->driver.isolations = engine->isolations;
    o->driver.row_locks = engine->row_locks;
    o->driver.reverses = engine->reverses;
    if (!engine->add) o->driver.add = NULL;
    if (!engine->nest) o->driver.nest = NULL;
    if (!engine->alone) o->driver.alone = NULL;
    o->driver.contract = NULL; /* the table has those of the engine */
    if (!engine->query) {
        o->driver.script = NULL;
        o->driver.query = NULL;
    }
    return true;
}

const driver driver_exec = {
    .name = "exec",
    .isolations = "",
    .open = exec_open,
    .close = exec_close,
    .load = exec_load,
    .connect = exec_connect,
    .disconnect = exec_disconnect,
    .snapshot = exec_snapshot,
    .begin = exec_begin,
    .get = exec_get,
    .put = exec_put,
    .append = exec_append,
    .remove = exec_remove,
    .range = exec_range,
    .add = exec_add,
    .nest = exec_nest,
    .alone = exec_alone,
    .commit = exec_commit,
    .abort = exec_abort,
    .script = exec_script,
    .query = exec_query,
    .contract = exec_contract,
    .may_die = exec_may_die,
    .process = exec_processes,
};
