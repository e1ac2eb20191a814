/*
 * engine_server.c - see engine_server.h.
 *
 * The main thread reads requests.  It answers those about the whole database itself and gives the
 * others to the thread of their session, so that one session can wait for another within the
 * engine.  A session has one request at a time, as the protocol wants it.  Rows that are there at
 * first are collected and loaded when the first session connects, in one piece.
 */
#include "driver/engine_server.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "driver/exec_driver.h"

enum { CHUNK = 1 << 16, ANSWER_MS = 60000 };

typedef struct engine_url {
    char url[DB_ADDRESS + 32];
    const char *isolation;
} engine_url;

typedef struct engine {
    db db;
    mem mem;   /* of the main thread */
    mem store; /* of the database: once there are sessions, under `lock` */
    guard guard;
    pthread_mutex_t lock; /* of `made` and of loading; sessions connect one after the other */
    pthread_mutex_t out;  /* of standard output */
    bool made;            /* this process has made or adopted the place */
    bool to_load;         /* setup was asked for: rows are collected */
    VEC(db_row) rows;
    VEC(struct seat *) seats;
} engine;

/* A session, its thread, and the request that it works on. */
typedef struct seat {
    engine *engine;
    int64_t number;
    bool gone; /* it has disconnected */
    mem mem;
    guard guard;
    db_session s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t given;
    strbuf line; /* under the lock; empty: nothing to do */
    strbuf out;
    exec_json json;
    char isolation[64];
} seat;

/* --- answers ---------------------------------------------------------------------------------- */

static void write_answer(engine *e, const strbuf *line)
{
    size_t done = 0;
    pthread_mutex_lock(&e->out);
    while (done < line->n) {
        ssize_t k = write(STDOUT_FILENO, line->at + done, line->n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) _exit(0); /* nobody listens any more */
        done += (size_t)k;
    }
    pthread_mutex_unlock(&e->out);
}

static void begin_answer(strbuf *out, int64_t id, enum db_answer a, const char *error)
{
    static const char *const words[] = {
        [DB_OK] = "done", [DB_REFUSED] = "refused", [DB_LOST] = "unknown", [DB_BROKEN] = "failed"};
    out->n = 0;
    strbuf_printf(out, "{\"id\":%lld,\"answer\":\"%s\"", (long long)id, words[a]);
    if (a == DB_OK) return;
    strbuf_str(out, ",\"error\":");
    strbuf_json(out, error, strlen(error));
}

static void end_answer(engine *e, strbuf *out)
{
    strbuf_str(out, "}\n");
    write_answer(e, out);
}

/* --- requests --------------------------------------------------------------------------------- */

static int64_t number_of(const exec_json *j, const char *name)
{
    int64_t x = 0;
    uint32_t node = exec_json_member(j, 0, name);
    return node && exec_json_int(j, node, &x) ? x : 0;
}

static bool is_true(const exec_json *j, const char *name)
{
    uint32_t node = exec_json_member(j, 0, name);
    return node && j->nodes.at[node].kind == EXEC_JSON_TRUE;
}

static bool text_of(const exec_json *j, const char *name, char *to, size_t cap)
{
    uint32_t node = exec_json_member(j, 0, name);
    *to = 0;
    return node && exec_json_text(j, node, to, cap);
}

/* The members that setup and connect have in common. */
static void note_place(db *d, const exec_json *j)
{
    text_of(j, "place", d->place, sizeof d->place);
    d->lists = is_true(j, "lists");
    d->tombstones = is_true(j, "tombstones");
    d->stepped = is_true(j, "hasty");
    d->own_tables = is_true(j, "tables"); /* made by a process before this one, perhaps */
}

/* Under the lock: the place is there, made by us or by a process before this one. */
static bool place_is_there(engine *e)
{
    db *d = &e->db;
    if (e->to_load) {
        e->made = d->driver->load(d, e->rows.at, e->rows.n);
        e->to_load = !e->made;
    } else if (!e->made) {
        e->made = d->driver->adopt(d);
    }
    return e->made;
}

static enum db_answer do_connect(seat *t)
{
    engine *e = t->engine;
    pthread_mutex_lock(&e->lock);
    if (!e->made || e->to_load) note_place(&e->db, &t->json);
    bool there = place_is_there(e);
    if (!there) memcpy(t->s.error, e->db.error, sizeof t->s.error);
    enum db_answer a = there ? e->db.driver->connect(&t->s) : DB_BROKEN;
    pthread_mutex_unlock(&e->lock);
    return a;
}

static void add_rows(const seat *t, strbuf *out)
{
    strbuf_str(out, ",\"rows\":[");
    for (size_t i = 0; i < t->s.rows.n; i++)
        strbuf_printf(out, "%s[%lld,%lld]", i ? "," : "", (long long)t->s.rows.at[i].key,
                      (long long)t->s.rows.at[i].value);
    strbuf_char(out, ']');
}

static void add_value(const seat *t, strbuf *out)
{
    const db_session *s = &t->s;
    strbuf_str(out, ",\"value\":");
    if (s->absent)
        strbuf_str(out, s->tomb ? "null,\"tomb\":true" : "null");
    else if (s->db->lists && strspn(s->text.at, "0123456789,-") >= s->text.n)
        strbuf_printf(out, "[%.*s]", (int)s->text.n, s->text.at);
    else if (s->db->lists)
        strbuf_json(out, s->text.at, s->text.n);
    else
        strbuf_i64(out, s->value);
}

static void add_cells(const seat *t, strbuf *out)
{
    const db_session *s = &t->s;
    if (!s->has_rows) strbuf_printf(out, ",\"count\":%llu", (unsigned long long)s->affected);
    if (s->has_rows) strbuf_str(out, ",\"rows\":[");
    for (size_t i = 0; s->has_rows && i < (size_t)s->n_rows * s->n_cols; i++) {
        const db_cell *c = &s->cells.at[i];
        strbuf_str(out, i % s->n_cols ? "," : i ? "],[" : "[");
        if (c->at == UINT32_MAX)
            strbuf_str(out, "null");
        else if (c->kind == DB_TEXT)
            strbuf_json(out, s->text.at + c->at, c->n);
        else
            strbuf_add(out, s->text.at + c->at, c->n);
    }
    if (s->has_rows) strbuf_str(out, s->n_rows && s->n_cols ? "]]" : "]");
}

static enum db_answer do_query(seat *t)
{
    const exec_json *j = &t->json;
    const char *params[64];
    strbuf sql, values[64];
    uint32_t n = 0, list = exec_json_member(j, 0, "params"), text = exec_json_member(j, 0, "sql");
    strbuf_init(&sql, &t->mem);
    if (text) exec_json_add_text(j, text, &sql);
    for (uint32_t i = list + 1; list && n < 64 && i < list + j->nodes.at[list].span;
         i += j->nodes.at[i].span) {
        strbuf_init(&values[n], &t->mem);
        exec_json_add_text(j, i, &values[n]);
        params[n] = strbuf_cstr(&values[n]);
        n++;
    }
    enum db_answer a = t->s.db->driver->query(&t->s, strbuf_cstr(&sql), params, n);
    for (uint32_t i = 0; i < n; i++) strbuf_free(&values[i]);
    strbuf_free(&sql);
    return a;
}

/* What only some engines have. */
static enum db_answer do_rarer(seat *t, const char *op)
{
    const exec_json *j = &t->json;
    const driver *d = t->s.db->driver;
    char what[16];
    if (!strcmp(op, "query") && d->query) return do_query(t);
    if (!strcmp(op, "add") && d->add)
        return d->add(&t->s, number_of(j, "key"), number_of(j, "value"), is_true(j, "upsert"));
    text_of(j, "what", what, sizeof what);
    if (!strcmp(op, "savepoint") && d->nest)
        return d->nest(&t->s, !strcmp(what, "set")    ? DB_SAVEPOINT
                              : !strcmp(what, "undo") ? DB_UNDO
                                                      : DB_KEEP);
    db_fail(t->s.error, "no such operation");
    return DB_BROKEN;
}

static enum db_answer do_operation(seat *t, const char *op)
{
    const exec_json *j = &t->json;
    const driver *d = t->s.db->driver;
    db_session *s = &t->s;
    int64_t key = number_of(j, "key"), value = number_of(j, "value");
    s->idle = s->newest = s->tomb = false;
    if (!strcmp(op, "connect")) return do_connect(t);
    if (!strcmp(op, "begin")) {
        text_of(j, "isolation", t->isolation, sizeof t->isolation);
        s->isolation = t->isolation;
        return d->begin(s);
    }
    if (!strcmp(op, "get")) return d->get(s, key, is_true(j, "lock"));
    if (!strcmp(op, "put")) return d->put(s, key, value);
    if (!strcmp(op, "append")) return d->append(s, key, value);
    if (!strcmp(op, "delete") || !strcmp(op, "bury")) return d->remove(s, key);
    if (!strcmp(op, "range")) {
        s->reverse = is_true(j, "reverse");
        return d->range(s, number_of(j, "from"), number_of(j, "to"),
                        (uint32_t)number_of(j, "limit"));
    }
    if (!strcmp(op, "commit")) return d->commit(s);
    if (!strcmp(op, "abort")) return d->abort(s);
    return do_rarer(t, op);
}

static void add_result(const seat *t, const char *op, enum db_answer a)
{
    strbuf *out = (strbuf *)&t->out;
    bool query = !strcmp(op, "query");
    if (query && a == DB_REFUSED) strbuf_printf(out, ",\"state\":\"%s\"", t->s.state);
    if (a != DB_OK) return;
    if (!strcmp(op, "get") || !strcmp(op, "add")) add_value(t, out);
    if (!strcmp(op, "range")) add_rows(t, out);
    if (!strcmp(op, "delete")) strbuf_str(out, t->s.idle ? ",\"found\":false" : ",\"found\":true");
    if (query) add_cells(t, out);
    if (t->s.idle && !query) strbuf_str(out, ",\"idle\":true");
    bool newest = t->s.newest && (t->s.idle || !strcmp(op, "add"));
    if (newest && !query) strbuf_str(out, ",\"newest\":true");
}

/* --- threads ---------------------------------------------------------------------------------- */

/* False: it was the last request of this session. */
static bool answer_request(seat *t, const char *text, size_t n)
{
    char op[32];
    exec_json_parse(&t->json, &t->mem, text, n); /* (the main thread has read it, too) */
    text_of(&t->json, "op", op, sizeof op);
    bool last = !strcmp(op, "disconnect");
    enum db_answer a = DB_OK;
    if (last)
        t->s.db->driver->disconnect(&t->s);
    else
        a = do_operation(t, op);
    begin_answer(&t->out, number_of(&t->json, "id"), a, t->s.error);
    add_result(t, op, a);
    end_answer(t->engine, &t->out);
    return !last;
}

static void *seat_thread(void *arg)
{
    seat *t = arg;
    strbuf mine;
    if (guard_armed(&t->guard)) _exit(1); /* no memory: that is the end of the engine */
    strbuf_init(&mine, &t->mem);
    for (bool more = true; more;) {
        pthread_mutex_lock(&t->lock);
        while (!t->line.n) pthread_cond_wait(&t->given, &t->lock);
        mine.n = 0;
        strbuf_add(&mine, t->line.at, t->line.n);
        t->line.n = 0;
        pthread_mutex_unlock(&t->lock);
        more = answer_request(t, mine.at, mine.n);
    }
    return NULL;
}

static seat *seat_of(engine *e, int64_t number)
{
    for (size_t i = e->seats.n; i--;)
        if (e->seats.at[i]->number == number && !e->seats.at[i]->gone) return e->seats.at[i];
    return NULL;
}

static seat *new_seat(engine *e, int64_t number)
{
    seat *t = mem_zeroed(&e->mem, sizeof *t);
    t->engine = e;
    t->number = number;
    guard_init(&t->guard);
    mem_init(&t->mem, mem_libc, NULL, &t->guard);
    strbuf_init(&t->line, &e->mem);
    strbuf_init(&t->out, &t->mem);
    strbuf_init(&t->s.text, &t->mem);
    t->s.db = &e->db;
    t->s.mem = &t->mem;
    t->s.slot = (uint32_t)e->seats.n;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->given, NULL);
    vec_push(&e->mem, &e->seats, t);
    if (!pthread_create(&t->thread, NULL, seat_thread, t)) return t;
    e->seats.n--;
    return NULL;
}

/* --- the database ----------------------------------------------------------------------------- */

static void add_word(strbuf *out, bool *some, const char *word)
{
    strbuf_printf(out, "%s\"%s\"", *some ? "," : "", word);
    *some = true;
}

static void say_hello(engine *e, strbuf *out)
{
    static const char *const statements[] = {"begin", "read", "locking-read", "write"};
    const db *d = &e->db;
    const char *space = strrchr(d->version, ' ');
    bool some = false;
    strbuf_printf(out, ",\"protocol\":%d,\"driver\":\"an engine in a process of its own\"",
                  EXEC_PROTOCOL);
    strbuf_printf(out, ",\"engine\":\"%.*s\",\"version\":\"%s\",\"isolations\":[",
                  space ? (int)(space - d->version) : 40, d->version, space ? space + 1 : "?");
    for (const char *p = d->driver->isolations; *p;) {
        size_t n = strcspn(p, " ");
        strbuf_printf(out, "%s\"%.*s\"", some ? "," : "", (int)n, p);
        some = true;
        p += n + strspn(p + n, " ");
    }
    strbuf_str(out, "],\"operations\":[\"get\",\"put\",\"append\",\"delete\",\"bury\",\"range\"");
    if (d->driver->row_locks) strbuf_str(out, ",\"lock\"");
    if (d->driver->query) strbuf_str(out, ",\"sql\"");
    if (d->driver->add) strbuf_str(out, ",\"add\"");
    if (d->driver->nest) strbuf_str(out, ",\"savepoint\"");
    if (d->driver->alone) strbuf_str(out, ",\"autocommit\"");
    if (d->driver->reverses) strbuf_str(out, ",\"reverse\"");
    strbuf_str(out, "],\"snapshot\":[");
    some = false;
    for (unsigned i = 0; i < 4; i++)
        if (d->driver->snapshot(d) & 1u << i) add_word(out, &some, statements[i]);
    strbuf_printf(out, "],\"sessions\":\"many\",\"data\":\"files\",\"timeout_ms\":%d", ANSWER_MS);
    if (*d->settings) strbuf_printf(out, ",\"settings\":{%s}", d->settings);
}

static bool collect_rows(engine *e, const exec_json *j)
{
    uint32_t rows = exec_json_member(j, 0, "rows");
    for (uint32_t i = rows + 1; rows && i < rows + j->nodes.at[rows].span;
         i += j->nodes.at[i].span) {
        db_row row;
        if (j->nodes.at[i].span != 3 || !exec_json_int(j, i + 1, &row.key) ||
            !exec_json_int(j, i + 2, &row.value))
            return false;
        vec_push(&e->mem, &e->rows, row);
    }
    return true;
}

static bool run_script(engine *e, const exec_json *j)
{
    strbuf sql;
    uint32_t text = exec_json_member(j, 0, "sql");
    strbuf_init(&sql, &e->mem);
    if (text) exec_json_add_text(j, text, &sql);
    note_place(&e->db, j);
    e->db.own_tables = e->made = true;
    bool done = e->db.driver->script && e->db.driver->script(&e->db, strbuf_cstr(&sql));
    strbuf_free(&sql);
    return done;
}

static bool about_all(engine *e, const exec_json *j, const char *op, strbuf *out)
{
    db *d = &e->db;
    bool done = true;
    if (!strcmp(op, "setup")) {
        note_place(d, j);
        e->rows.n = 0;
        e->to_load = true;
    } else if (!strcmp(op, "load")) {
        done = collect_rows(e, j);
    } else if (!strcmp(op, "script")) {
        done = run_script(e, j);
    } else if (!strcmp(op, "teardown")) {
        if (!e->made && !e->to_load) note_place(d, j);
        if (!e->to_load && place_is_there(e)) db_close(d);
    }
    begin_answer(out, number_of(j, "id"), done ? DB_OK : DB_BROKEN, d->error);
    if (!strcmp(op, "hello")) say_hello(e, out);
    return done;
}

static void take_request(engine *e, const exec_json *j, const char *text, size_t n, strbuf *out)
{
    char op[32];
    int64_t number = number_of(j, "session");
    text_of(j, "op", op, sizeof op);
    if (!number) {
        about_all(e, j, op, out);
        end_answer(e, out);
        return;
    }
    seat *t = !strcmp(op, "connect") ? new_seat(e, number) : seat_of(e, number);
    if (!t) {
        begin_answer(out, number_of(j, "id"), DB_BROKEN, "there is no such session");
        end_answer(e, out);
        return;
    }
    pthread_mutex_lock(&t->lock);
    strbuf_add(&t->line, text, n);
    pthread_cond_signal(&t->given);
    pthread_mutex_unlock(&t->lock);
    t->gone = !strcmp(op, "disconnect");
}

/* Until its standard input ends. */
static void serve_requests(engine *e)
{
    exec_json j = {0};
    strbuf got, out;
    strbuf_init(&got, &e->mem);
    strbuf_init(&out, &e->mem);
    for (;;) {
        char chunk[CHUNK];
        ssize_t k = read(STDIN_FILENO, chunk, sizeof chunk);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return;
        strbuf_add(&got, chunk, (size_t)k);
        size_t at = 0;
        for (const char *end; (end = memchr(got.at + at, '\n', got.n - at)) != NULL;) {
            size_t n = (size_t)(end - got.at) - at;
            if (exec_json_parse(&j, &e->mem, got.at + at, n))
                take_request(e, &j, got.at + at, n, &out);
            at += n + 1;
        }
        memmove(got.at, got.at + at, got.n - at);
        got.n -= at;
    }
}

/* An engine that cannot be opened says so to whatever is asked first. */
static void refuse_all(engine *e)
{
    char line[512];
    strbuf out;
    exec_json j = {0};
    strbuf_init(&out, &e->mem);
    ssize_t k = read(STDIN_FILENO, line, sizeof line);
    if (k <= 0 || !exec_json_parse(&j, &e->mem, line, (size_t)k)) return;
    begin_answer(&out, number_of(&j, "id"), DB_BROKEN, e->db.error);
    end_answer(e, &out);
}

static int serve_engine(const void *given)
{
    const engine_url *u = given;
    engine e;
    memset(&e, 0, sizeof e);
    guard_init(&e.guard);
    mem_init(&e.mem, mem_libc, NULL, &e.guard);
    mem_init(&e.store, mem_libc, NULL, &e.guard);
    if (guard_armed(&e.guard)) return 1;
    pthread_mutex_init(&e.lock, NULL);
    pthread_mutex_init(&e.out, NULL);
    if (!db_open(&e.db, &e.store, u->url, u->isolation)) {
        refuse_all(&e);
        return 1;
    }
    e.db.singles = e.db.driver->alone != NULL;
    e.db.made_up = true; /* the texts of statements come with the requests */
    serve_requests(&e);
    return 0;
}

bool engine_open_apart(db *d, const char *isolation)
{
    static const temp_spec only_directory = {.nodes = 0};
    char form[32];
    engine_url *u = mem_zeroed(d->mem, sizeof *u);
    u->isolation = isolation;
    if (!strncmp(d->address, ":memory:", 8)) {
        d->misuse = true;
        db_fail(d->error, "kill: the database is in memory and would be gone with its process");
        return false;
    }
    const char *address = d->address;
    if (db_temporary(d, form, sizeof form)) {
        if (!temp_start(&d->temp, &only_directory, d->error, sizeof d->error)) return false;
        address = d->temp.dir;
    }
    snprintf(u->url, sizeof u->url, "%s:%s%s", d->scheme, address,
             address != d->address && strchr(d->address, '?') ? strchr(d->address, '?') : "");
    exec_kind kind = {.serve = serve_engine, .ud = u};
    return exec_open_engine(d, &kind);
}
