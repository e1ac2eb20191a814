/*
 * redis.c - Redis through hiredis.
 *
 *   redis://host[:port][,host:port...]     servers that are there
 *   redis:temp, redis:temp+replica         servers that Ratel starts (temp.h)
 *
 * A transaction of Redis is a block of commands that EXEC runs at once, so nothing can be read
 * within it.  Reads come first, each by itself; writes are kept here and sent with EXEC; what the
 * transaction has written itself it reads from here.  watch: every key is watched before it is
 * read, and EXEC is refused if one has changed since, also if nothing was written: such a
 * transaction is serializable.  multi: no WATCH; the writes are atomic and the reads are not.
 *
 * Traps: EXEC that answers nil has done nothing; an array that holds an error has done the rest.
 * Where a pushed element will stand is not known before EXEC, unless the key is watched.
 * A range is read as all of its keys, since keys that are absent can be watched, too.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/adapters.h"

enum { READY_SECONDS = 60, WIDEST = 10000, KEY = 64, TIMEOUT_SECONDS = 20 };

static const temp_spec server = {
    .user = "redis",
    .path = "/usr/bin",
    .stop = 0,
    .restart = SIGTERM,
    .nodes = 1,
    /* Without the delay of everysec, what EXEC has answered is in the file and so survives kill. */
    .node[0] = {.dir = "n0",
                .serve = {"redis-server", "--unixsocket", "%d/a", "--dir", "%d/n0", "--save", "",
                          "--appendonly", "yes", "--appendfsync", "no", "--daemonize", "no",
                          "--port"}},
    .node[1] = {.dir = "n1",
                .serve = {"redis-server",
                          "--unixsocket",
                          "%d/b",
                          "--dir",
                          "%d/n1",
                          "--save",
                          "",
                          "--appendonly",
                          "yes",
                          "--appendfsync",
                          "no",
                          "--daemonize",
                          "no",
                          "--repl-diskless-sync",
                          "yes",
                          "--repl-diskless-sync-delay",
                          "0",
                          "--replicaof",
                          "127.0.0.1",
                          "6379",
                          "--port",
                          "6380"}},
};

enum pending_kind { SET_VALUE, SET_TOMB, DELETE_KEY, PUSH_VALUE };

typedef struct pending {
    int64_t key, value;
    enum pending_kind kind;
} pending;

typedef struct redis_conn {
    redisContext *context;
    VEC(pending) writes;
    bool watched;
} redis_conn;

static redisContext *connection(const db *d, uint32_t node, char *error)
{
    const db_node *n = &d->node[node];
    struct timeval limit = {TIMEOUT_SECONDS, 0};
    redisContext *c = *n->host == '/'
                          ? redisConnectUnixWithTimeout(n->host, limit)
                          : redisConnectWithTimeout(n->host, (int)strtol(n->port, NULL, 10), limit);
    if (c && !c->err) {
        redisSetTimeout(c, limit);
        return c;
    }
    db_fail(error, "%s", c ? c->errstr : "no memory");
    if (c) redisFree(c);
    return NULL;
}

static redisContext *patiently(db *d, uint32_t node)
{
    for (uint64_t begun = clock_now();;) {
        redisContext *c = connection(d, node, d->error);
        redisReply *r = c ? redisCommand(c, "PING") : NULL;
        bool ready = r && r->type == REDIS_REPLY_STATUS; /* it may still read its file */
        if (r && !ready) db_fail(d->error, "%s", r->str ? r->str : "it does not answer PING");
        if (r) freeReplyObject(r);
        if (ready) return c;
        if (c) redisFree(c);
        if (temp_ended(&d->temp, d->error, sizeof d->error) || !d->temp.running ||
            clock_now() - begun > READY_SECONDS * 1000000000ull)
            return NULL;
        clock_nap(20000000);
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The value of a line `name:...` of INFO. */
static bool info_of(redisContext *c, const char *section, const char *name, char *to, size_t cap)
{
    redisReply *r = redisCommand(c, "INFO %s", section);
    const char *at = r && r->str ? strstr(r->str, name) : NULL;
    if (at) {
        at += strlen(name) + 1;
        snprintf(to, cap, "%.*s", (int)strcspn(at, "\r\n"), at);
    }
    if (r) freeReplyObject(r);
    return at != NULL;
}

static bool parse_hosts(db *d)
{
    const char *p = d->address;
    size_t n = strncmp(p, "//", 2) ? 0 : strcspn(p + 2, "/?");
    if (!n || p[n + 2]) {
        db_fail(d->error, "expected redis://host[:port], redis:temp or redis:temp+replica");
        return false;
    }
    if (memchr(p, '@', n + 2)) {
        db_fail(d->error, "a user or password in the URL is not accepted");
        return false;
    }
    for (p += 2; n;) {
        size_t one = strcspn(p, ",");
        if (!db_add_node(d, p, one, "6379")) return false;
        p += one + (p[one] == ',');
        n = *p ? strlen(p) : 0;
    }
    return true;
}

static bool read_roles(db *d)
{
    char role[16] = "";
    for (uint32_t i = 0; i < d->nodes; i++) {
        redisContext *c = patiently(d, i);
        if (!c) return false;
        bool slave = info_of(c, "replication", "role", role, sizeof role) && *role == 's';
        redisFree(c);
        atomic_store(&d->node[i].read_only, slave);
        snprintf(d->node[i].role, sizeof d->node[i].role, slave ? "replica" : "primary");
        if (slave) snprintf(d->form, sizeof d->form, "redis+replica");
    }
    return true;
}

/* Clients, and the replica, come through the proxy if faults ask for it. */
static bool add_links(db *d, temp_spec *s)
{
    for (unsigned i = 0; i < s->nodes; i++) {
        char listen[16], target[16];
        snprintf(listen, sizeof listen, "%%d/px/%c", (char)('a' + i));
        snprintf(target, sizeof target, "%%d/%c", (char)('a' + i));
        if (!db_link(d, s, i, false, listen, target)) return false;
        if (d->wants & DB_FSYNC && (!db_argument(d, s->node[i].serve, "--appendfsync") ||
                                    !db_argument(d, s->node[i].serve, "always")))
            return false;
    }
    if (s->nodes < 2 || !(d->wants & DB_LINKS)) return true;
    for (size_t i = 0; s->node[1].serve[i]; i++)
        if (!strcmp(s->node[1].serve[i], "6379")) s->node[1].serve[i] = "16379";
    return db_link(d, s, 0, true, "16379", "6379");
}

static bool start_servers(db *d, const char *form)
{
    static const char *const single[] = {"bin", "set", "connections", NULL};
    static const char *const with[] = {"bin", "set", "connections", "pin", NULL};
    bool replica = !strcmp(form, "replica");
    uint32_t connections;
    temp_spec *s = mem_get(d->mem, sizeof *s);
    *s = server;
    if (*form && !replica) {
        d->misuse = true;
        db_fail(d->error, "expected redis:temp or redis:temp+replica");
        return false;
    }
    s->nodes = d->nodes = replica ? 2 : 1;
    s->network = replica;
    if (!db_parameters_known(d, replica ? with : single) || !db_programs(d, s) ||
        !db_parameter_number(d, "connections", 1, 100000, 2000, &connections) ||
        !db_argument(d, s->node[0].serve, replica ? "6379" : "0") || !db_preload(d, s) ||
        !add_links(d, s))
        return false;
    for (unsigned i = 0; i < s->nodes; i++)
        if (!db_argument(d, s->node[i].serve, "--maxclients") ||
            !db_argument(d, s->node[i].serve, "%u", connections) ||
            !db_server_settings(d, s->node[i].serve, NULL, "--%s %s"))
            return false;
    if (!temp_start(&d->temp, s, d->error, sizeof d->error)) return false;
    for (unsigned i = 0; i < s->nodes; i++)
        snprintf(d->node[i].host, sizeof d->node[i].host, "%s%s/%c", d->temp.dir,
                 d->has & DB_LINKS ? "/px" : "", (char)('a' + i));
    if (!replica) return true;
    redisContext *c = patiently(d, 0);
    if (!c) return false;
    redisFree(c);
    return temp_start_node(&d->temp, 1, d->error, sizeof d->error);
}

static bool redis_open(db *d)
{
    char form[32];
    if (db_temporary(d, form, sizeof form)) {
        if (!start_servers(d, form)) return false;
    } else if (!parse_hosts(d)) {
        d->misuse = true;
        return false;
    }
    if (!read_roles(d) || (d->nodes > 1 && !db_pin(d))) return false;
    redisContext *c = patiently(d, db_primary(d));
    char version[32] = "?";
    if (!c) return false;
    info_of(c, "server", "redis_version", version, sizeof version);
    redisFree(c);
    snprintf(d->version, sizeof d->version, "Redis %s", version);
    return true;
}

/* Removes the keys of this run, and no others. */
static bool clear_keys(db *d, redisContext *c)
{
    char cursor[32] = "0";
    bool done = true;
    do {
        redisReply *r = redisCommand(c, "SCAN %s MATCH %s:* COUNT 1000", cursor, d->place);
        done = r && r->type == REDIS_REPLY_ARRAY && r->elements == 2;
        if (done) {
            snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
            for (size_t i = 0; i < r->element[1]->elements; i++) {
                redisReply *del = redisCommand(c, "DEL %s", r->element[1]->element[i]->str);
                if (del) freeReplyObject(del);
            }
        }
        if (r) freeReplyObject(r);
    } while (done && strcmp(cursor, "0") != 0);
    return done;
}

static void redis_close(db *d)
{
    if (!d->made || d->temp.running) return;
    redisContext *c = connection(d, db_primary(d), d->error);
    if (c) {
        clear_keys(d, c);
        redisFree(c);
    }
}

static bool redis_load(db *d, const db_row *rows, size_t n)
{
    redisContext *c = patiently(d, db_primary(d));
    if (!c) return false;
    bool done = !d->made || clear_keys(d, c);
    d->made = true;
    for (size_t i = 0; done && i < n; i++) {
        redisReply *r = redisCommand(c, "SET %s:%lld %lld", d->place, (long long)rows[i].key,
                                     (long long)rows[i].value);
        done = r && r->type == REDIS_REPLY_STATUS;
        if (r) freeReplyObject(r);
    }
    /* What was loaded is on every node before a session reads there. */
    redisReply *r = done ? redisCommand(c, "WAIT %u 10000", d->nodes - 1) : NULL;
    done = done && r && r->type == REDIS_REPLY_INTEGER && r->integer >= (long long)d->nodes - 1;
    if (r) freeReplyObject(r);
    if (!done) db_fail(d->error, "%s", c->err ? c->errstr : "Redis refused the first rows");
    redisFree(c);
    return done;
}

/* --- sessions --------------------------------------------------------------------------------- */

typedef struct error_class {
    const char *word; /* with which the message begins */
    enum db_answer statement, commit;
} error_class;

static const error_class error_classes[] = {
#define REDIS_ERROR(word, statement, commit, why) {word, statement, commit},
#include "driver/redis_errors.def"
#undef REDIS_ERROR
};

static enum db_answer told_of(db_session *s, const redisReply *r, bool commit)
{
    const redis_conn *c = s->own;
    if (!r) {
        db_fail(s->error, "%s", c->context->err ? c->context->errstr : "no answer");
        return DB_LOST;
    }
    if (r->type != REDIS_REPLY_ERROR) return DB_OK;
    db_fail(s->error, "%s", r->str);
    if (!strncmp(r->str, "MISCONF", 7) && !commit) return db_disk_full(s->db, commit);
    for (size_t i = 0; i < sizeof error_classes / sizeof *error_classes; i++)
        if (!strncmp(r->str, error_classes[i].word, strlen(error_classes[i].word)))
            return commit ? error_classes[i].commit : error_classes[i].statement;
    return commit ? DB_LOST : DB_BROKEN;
}

static redisReply *next_reply(redis_conn *c)
{
    void *r = NULL;
    return redisGetReply(c->context, &r) == REDIS_OK ? r : NULL;
}

static void redis_disconnect(db_session *s)
{
    redis_conn *c = s->own;
    if (!c) return;
    if (c->context) redisFree(c->context);
    vec_free(s->mem, &c->writes);
    mem_put(s->mem, c);
    s->own = NULL;
}

static enum db_answer redis_connect(db_session *s)
{
    redis_conn *c = s->own = mem_zeroed(s->mem, sizeof *c);
    c->context = connection(s->db, s->node, s->error);
    return c->context ? DB_OK : DB_LOST;
}

static unsigned redis_snapshot(const db *d)
{
    (void)d;
    return 0;
}

static enum db_answer redis_begin(db_session *s)
{
    redis_conn *c = s->own;
    c->writes.n = 0;
    c->watched = false;
    return DB_OK;
}

/* Sends WATCH, if the setting has it; its answer comes first. */
static bool watch_key(db_session *s, int64_t key)
{
    redis_conn *c = s->own;
    bool watch = !strcmp(s->isolation, "watch");
    if (watch) redisAppendCommand(c->context, "WATCH %s:%lld", s->db->place, (long long)key);
    c->watched = c->watched || watch;
    return watch;
}

/* The answer of a read, after that of its WATCH; NULL: see *a. */
static redisReply *read_reply(db_session *s, bool watch, enum db_answer *a)
{
    redis_conn *c = s->own;
    *a = DB_OK;
    for (int i = watch ? 0 : 1; i < 2; i++) {
        redisReply *r = next_reply(c);
        enum db_answer one = told_of(s, r, false);
        if (*a == DB_OK) *a = one;
        if (i == 1 && *a == DB_OK) return r;
        if (r) freeReplyObject(r);
        if (one == DB_LOST) break;
    }
    return NULL;
}

static const pending *last_write(const redis_conn *c, int64_t key)
{
    for (size_t i = c->writes.n; i--;)
        if (c->writes.at[i].key == key) return &c->writes.at[i];
    return NULL;
}

static void seen_text(db_session *s, const redisReply *r)
{
    bool text = r->type == REDIS_REPLY_STRING;
    s->tomb = text && !strcmp(r->str, "-");
    s->absent = !text || s->tomb;
    if (!s->absent) s->value = strtoll(r->str, NULL, 10);
}

static void add_elements(db_session *s, const redisReply *r)
{
    for (size_t i = 0; i < r->elements; i++) {
        if (s->text.n) strbuf_char(&s->text, ',');
        strbuf_add(&s->text, r->element[i]->str, (size_t)r->element[i]->len);
    }
}

/* A list, and what this transaction has pushed itself. */
static enum db_answer read_list(db_session *s, int64_t key)
{
    redis_conn *c = s->own;
    enum db_answer a;
    s->text.n = 0;
    bool watch = watch_key(s, key);
    if (!watch && last_write(c, key)) {
        db_fail(s->error, "others may push before EXEC, so the list that EXEC makes is not known");
        return DB_REFUSED;
    }
    redisAppendCommand(c->context, "LRANGE %s:%lld 0 -1", s->db->place, (long long)key);
    redisReply *r = read_reply(s, watch, &a);
    if (!r) return a;
    add_elements(s, r);
    freeReplyObject(r);
    for (size_t i = 0; i < c->writes.n; i++)
        if (c->writes.at[i].key == key) {
            if (s->text.n) strbuf_char(&s->text, ',');
            strbuf_i64(&s->text, c->writes.at[i].value);
        }
    s->tomb = false;
    s->absent = !s->text.n;
    return DB_OK;
}

static enum db_answer redis_get(db_session *s, int64_t key, bool lock)
{
    (void)lock;
    redis_conn *c = s->own;
    if (s->db->lists) return read_list(s, key);
    const pending *own = last_write(c, key);
    if (own) {
        s->tomb = own->kind == SET_TOMB;
        s->absent = own->kind != SET_VALUE;
        s->value = own->value;
        return DB_OK;
    }
    enum db_answer a;
    bool watch = watch_key(s, key);
    redisAppendCommand(c->context, "GET %s:%lld", s->db->place, (long long)key);
    redisReply *r = read_reply(s, watch, &a);
    if (!r) return a;
    seen_text(s, r);
    freeReplyObject(r);
    return DB_OK;
}

static enum db_answer keep(db_session *s, int64_t key, int64_t value, enum pending_kind kind)
{
    redis_conn *c = s->own;
    pending p = {key, value, kind};
    vec_push(s->mem, &c->writes, p);
    return DB_OK;
}

static enum db_answer redis_put(db_session *s, int64_t key, int64_t value)
{
    return keep(s, key, value, SET_VALUE);
}

static enum db_answer redis_append(db_session *s, int64_t key, int64_t value)
{
    return keep(s, key, value, PUSH_VALUE);
}

static enum db_answer redis_remove(db_session *s, int64_t key)
{
    return keep(s, key, 0, s->db->tombstones ? SET_TOMB : DELETE_KEY);
}

static enum db_answer redis_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    s->rows.n = 0;
    if (to - from > WIDEST) {
        db_fail(s->error, "Redis has no ranges; only short ones are read, key by key");
        return DB_BROKEN;
    }
    /* In one piece, so that without WATCH the range is at least of one moment. */
    redis_conn *c = s->own;
    strbuf *b = &s->text;
    enum db_answer a = DB_OK;
    bool watch = !strcmp(s->isolation, "watch") && from < to;
    if (from >= to) return DB_OK;
    for (int part = watch ? 0 : 1; part < 2; part++) {
        b->n = 0;
        strbuf_printf(b, "*%lld\r\n%s", (long long)(to - from + 1),
                      part ? "$4\r\nMGET\r\n" : "$5\r\nWATCH\r\n");
        for (int64_t k = from; k < to; k++) {
            char name[KEY];
            int n = snprintf(name, sizeof name, "%s:%lld", s->db->place, (long long)k);
            strbuf_printf(b, "$%d\r\n%s\r\n", n, name);
        }
        redisAppendFormattedCommand(c->context, b->at, b->n);
    }
    c->watched = c->watched || watch;
    redisReply *r = read_reply(s, watch, &a);
    b->n = 0;
    if (!r) return a;
    for (size_t i = 0; i < r->elements && (!limit || s->rows.n < limit); i++) {
        const pending *own = last_write(c, from + (int64_t)i);
        if (own) {
            s->absent = own->kind != SET_VALUE;
            s->value = own->value;
        } else {
            seen_text(s, r->element[i]);
        }
        db_row row = {from + (int64_t)i, s->value};
        if (!s->absent) vec_push(s->mem, &s->rows, row);
    }
    freeReplyObject(r);
    return DB_OK;
}

static enum db_answer redis_abort(db_session *s)
{
    redis_conn *c = s->own;
    c->writes.n = 0;
    if (!c->watched) return c->context->err ? DB_LOST : DB_OK;
    redisReply *r = redisCommand(c->context, "UNWATCH");
    enum db_answer a = told_of(s, r, false);
    if (r) freeReplyObject(r);
    return a == DB_OK ? DB_OK : DB_LOST;
}

static void send_write(db_session *s, const pending *p)
{
    redisContext *c = ((redis_conn *)s->own)->context;
    long long key = (long long)p->key, value = (long long)p->value;
    switch (p->kind) {
    case SET_VALUE: redisAppendCommand(c, "SET %s:%lld %lld", s->db->place, key, value); break;
    case SET_TOMB: redisAppendCommand(c, "SET %s:%lld -", s->db->place, key); break;
    case DELETE_KEY: redisAppendCommand(c, "DEL %s:%lld", s->db->place, key); break;
    case PUSH_VALUE: redisAppendCommand(c, "RPUSH %s:%lld %lld", s->db->place, key, value); break;
    }
}

/* What EXEC answered: nil is a refusal; errors of commands in an array did not stop the others. */
static enum db_answer exec_answer(db_session *s, const redisReply *r)
{
    enum db_answer a = told_of(s, r, true);
    if (a != DB_OK) return a;
    if (r->type == REDIS_REPLY_NIL) {
        db_fail(s->error, "a watched key has changed");
        return DB_REFUSED;
    }
    for (size_t i = 0; i < r->elements; i++)
        if (r->element[i]->type == REDIS_REPLY_ERROR) {
            db_fail(s->error, "a command of the transaction failed: %s", r->element[i]->str);
            return DB_LOST;
        }
    return DB_OK;
}

static enum db_answer redis_commit(db_session *s)
{
    redis_conn *c = s->own;
    if (!c->watched && !c->writes.n) return DB_OK;
    redisAppendCommand(c->context, "MULTI");
    for (size_t i = 0; i < c->writes.n; i++) send_write(s, &c->writes.at[i]);
    redisAppendCommand(c->context, "EXEC");
    for (size_t i = 0; i <= c->writes.n; i++) {
        redisReply *r = next_reply(c);
        if (!r) return told_of(s, NULL, true);
        freeReplyObject(r); /* an error here makes EXEC answer EXECABORT */
    }
    redisReply *r = next_reply(c);
    enum db_answer a = exec_answer(s, r);
    if (r) freeReplyObject(r);
    c->watched = false;
    return a;
}

static bool redis_make_primary(db *d, uint32_t node)
{
    redisContext *c = patiently(d, node);
    redisReply *r = c ? redisCommand(c, "REPLICAOF NO ONE") : NULL;
    bool done = r && r->type == REDIS_REPLY_STATUS;
    if (!done) db_fail(d->error, "%s", r && r->str ? r->str : "the replica cannot be promoted");
    if (r) freeReplyObject(r);
    if (c) redisFree(c);
    return done;
}

const driver driver_redis = {
    .name = "redis",
    .isolations = "watch multi",
    .server = true,
    .open = redis_open,
    .close = redis_close,
    .load = redis_load,
    .connect = redis_connect,
    .disconnect = redis_disconnect,
    .snapshot = redis_snapshot,
    .begin = redis_begin,
    .get = redis_get,
    .put = redis_put,
    .append = redis_append,
    .remove = redis_remove,
    .range = redis_range,
    .commit = redis_commit,
    .abort = redis_abort,
    .promote = redis_make_primary,
};
