/*
 * faulty.c - a client with a bug, around any other adapter: for tests of what we find.
 *
 *   faulty:BUG:URL     BUG: a name of bug_names
 *
 * Each session errs once in 16 occasions.  What it does is wrong on purpose: it says committed of
 * a transaction that it has rolled back, does not send a write, answers a read from a cache that
 * nobody invalidates, answers with the next number.  no-conflict sends what a transaction writes in
 * a second one, so that nothing conflicts with what it has read; late-snapshot reads in a second
 * one; replay-commit writes a transaction again when its session has made others; moving-cursor
 * answers a FETCH by asking the query of the cursor once more.  never-commit rolls back every time
 * and says so.  Outside of a transaction a write is a commit as well; the two
 * bugs that need several operations do not err there.  With SQL they do the same with statements: a
 * statement is a write if its first word is, and what is cached is the answer to a text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "driver/adapters.h"

enum bug {
    COMMIT_ABORTED,
    DROP_WRITE,
    STALE_READ,
    TAMPER,
    NO_CONFLICT,
    LATE_SNAPSHOT,
    REPLAY_COMMIT,
    MOVING_CURSOR,
    NEVER_COMMIT,
    BUGS
};
static const char *const bug_names[BUGS] = {"commit-aborted", "drop-write",    "stale-read",
                                            "tamper",         "no-conflict",   "late-snapshot",
                                            "replay-commit",  "moving-cursor", "never-commit"};

enum {
    EVERY = 16,
    STAGGER = 5,
    CACHED = 64,
    CACHED_ANSWERS = 256,
    BETWEEN_NS = 1000000,
    LATER = 3
};

typedef struct faulty_own {
    enum bug bug;
    db inner;
} faulty_own;

enum sent_kind { SENT_PUT, SENT_APPEND, SENT_REMOVE };
typedef struct sent_write {
    enum sent_kind kind;
    int64_t key, value;
} sent_write;

/* The answer to a statement, which nobody invalidates. */
typedef struct cached_answer {
    strbuf question; /* as put_statement writes it; empty: nothing is cached here */
    strbuf text;
    VEC(db_cell) cells;
    uint32_t n_rows, n_cols;
} cached_answer;

/* A cursor of the workloads: c1 or c2. */
enum { CURSORS = 2, CURSOR_QUERY = 400 };
typedef struct moving_cursor {
    char query[CURSOR_QUERY];
    uint64_t at; /* so many rows have been fetched */
} moving_cursor;

typedef struct faulty_conn {
    db_session inner;
    uint32_t occasions;
    bool open; /* within a transaction */
    bool read, wrote;
    VEC(sent_write) sent;       /* replay-commit: by the transaction that is open */
    VEC(sent_write) again;      /* to be written once more */
    bool nested;                /* a savepoint is set */
    size_t saved;               /* how much was sent by then */
    uint32_t later;             /* after so many transactions */
    strbuf sent_sql, again_sql; /* the same of SQL, as put_statement writes it */
    size_t saved_sql;
    moving_cursor cursor[CURSORS];
    cached_answer *answers; /* stale-read of SQL: CACHED_ANSWERS of them, or NULL */
    struct {
        bool there, absent;
        int64_t key, value;
    } cache[CACHED];
} faulty_conn;

const db *driver_faulty_inner(const db *d)
{
    return &((const faulty_own *)d->own)->inner;
}

static bool faulty_open(db *d)
{
    faulty_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    size_t n = strcspn(d->address, ":");
    for (int i = 0; i < BUGS; i++) {
        if (strlen(bug_names[i]) != n || strncmp(bug_names[i], d->address, n) || !d->address[n])
            continue;
        o->bug = (enum bug)i;
        if (!db_open(&o->inner, d->mem, d->address + n + 1, d->isolation)) {
            memcpy(d->error, o->inner.error, sizeof d->error);
            d->misuse = o->inner.misuse;
            return false;
        }
        memcpy(d->version, o->inner.version, sizeof d->version);
        memcpy(d->settings, o->inner.settings, sizeof d->settings);
        d->isolation = o->inner.isolation;
        memcpy(d->part, o->inner.part, sizeof d->part);
        d->parts = o->inner.parts;
        memcpy(d->form, o->inner.form, sizeof d->form);
        memcpy(d->node, o->inner.node, sizeof d->node);
        d->nodes = o->inner.nodes;
        memcpy(d->pin, o->inner.pin, sizeof d->pin);
        return true;
    }
    d->misuse = true;
    db_fail(d->error, "expected faulty:BUG:URL, where BUG is one of");
    for (int i = 0; i < BUGS; i++) {
        size_t at = strlen(d->error);
        snprintf(d->error + at, sizeof d->error - at, "%s %s", i ? "," : "", bug_names[i]);
    }
    return false;
}

const char *driver_bug_at(size_t i)
{
    return i < NEVER_COMMIT ? bug_names[i] : NULL;
}

static void faulty_close(db *d)
{
    faulty_own *o = d->own;
    if (o && o->inner.driver) db_close(&o->inner);
}

static bool faulty_load(db *d, const db_row *rows, size_t n)
{
    faulty_own *o = d->own;
    o->inner.lists = d->lists;
    o->inner.tombstones = d->tombstones;
    o->inner.stepped = d->stepped;
    o->inner.singles = d->singles;
    if (o->inner.driver->load(&o->inner, rows, n)) return true;
    memcpy(d->error, o->inner.error, sizeof d->error);
    return false;
}

static const driver *inner(db_session *s, db_session **to)
{
    faulty_conn *c = s->own;
    *to = &c->inner;
    return c->inner.db->driver;
}

static enum bug bug_of(const db_session *s)
{
    return ((const faulty_own *)s->db->own)->bug;
}

/* The history tells where the client erred, so that what is found can be compared. */
static bool now(db_session *s)
{
    static const char *const notes[BUGS] = {
        [COMMIT_ABORTED] = "planted: rolled back but reported as committed",
        [DROP_WRITE] = "planted: a write was not sent",
        [STALE_READ] = "planted: a read came from a cache",
        [TAMPER] = "planted: a read was changed",
        [NO_CONFLICT] = "planted: it read in one transaction and wrote in another",
        [LATE_SNAPSHOT] = "planted: its reads are of two transactions",
        [REPLAY_COMMIT] = "planted: it was written a second time later",
        [MOVING_CURSOR] = "planted: a cursor showed what was written after it was opened",
    };
    faulty_conn *c = s->own;
    bool err = ++c->occasions % EVERY == 0;
    if (err) s->note = notes[bug_of(s)];
    return err;
}

static enum db_answer passed(db_session *s, enum db_answer a)
{
    faulty_conn *c = s->own;
    if (a != DB_OK) memcpy(s->error, c->inner.error, sizeof s->error);
    return a;
}

static enum db_answer faulty_connect(db_session *s)
{
    faulty_own *o = s->db->own;
    faulty_conn *c = s->own = mem_zeroed(s->mem, sizeof *c);
    c->inner.db = &o->inner;
    c->occasions = s->slot * STAGGER % EVERY; /* so that short runs have mistakes, too */
    c->inner.slot = s->slot;
    c->inner.node = s->node;
    c->inner.mem = s->mem;
    strbuf_init(&c->inner.text, s->mem);
    strbuf_init(&c->sent_sql, s->mem);
    strbuf_init(&c->again_sql, s->mem);
    return passed(s, o->inner.driver->connect(&c->inner));
}

static void free_answers(db_session *s, faulty_conn *c)
{
    for (size_t k = 0; c->answers && k < CACHED_ANSWERS; k++) {
        strbuf_free(&c->answers[k].question);
        strbuf_free(&c->answers[k].text);
        vec_free(s->mem, &c->answers[k].cells);
    }
    mem_put(s->mem, c->answers);
    strbuf_free(&c->sent_sql);
    strbuf_free(&c->again_sql);
}

static void faulty_disconnect(db_session *s)
{
    db_session *i;
    if (!s->own) return;
    inner(s, &i)->disconnect(i);
    strbuf_free(&i->text);
    vec_free(i->mem, &i->rows);
    vec_free(s->mem, &((faulty_conn *)s->own)->sent);
    vec_free(s->mem, &((faulty_conn *)s->own)->again);
    vec_free(i->mem, &i->cells);
    free_answers(s, s->own);
    mem_put(s->mem, s->own);
    s->own = NULL;
}

/* How many parameters, the text, and each of the parameters; texts end with a NUL. */
enum { MOST_PARAMS = 16 };
static void put_statement(strbuf *to, const char *text, const char *const *params, uint32_t n)
{
    strbuf_char(to, (char)n);
    strbuf_add(to, text, strlen(text) + 1);
    for (uint32_t k = 0; k < n; k++) strbuf_add(to, params[k], strlen(params[k]) + 1);
}

static enum db_answer send_again(db_session *i, const driver *d, const strbuf *all)
{
    enum db_answer a = DB_OK;
    for (size_t at = 0; a == DB_OK && at < all->n;) {
        const char *params[MOST_PARAMS], *text = all->at + at + 1;
        uint32_t n = (uint32_t)all->at[at];
        at += 1 + strlen(text) + 1;
        for (uint32_t k = 0; k < n; k++) {
            params[k] = all->at + at;
            at += strlen(params[k]) + 1;
        }
        a = d->query(i, text, params, n);
    }
    return a;
}

/* What was committed is written once more, as by a client that did not hear the answer. */
static void write_again(db_session *s)
{
    db_session *i;
    faulty_conn *c = s->own;
    const driver *d = inner(s, &i);
    if ((!c->again.n && !c->again_sql.n) || c->later--) return;
    enum db_answer a = d->begin(i);
    for (size_t k = 0; a == DB_OK && k < c->again.n; k++) {
        const sent_write *w = &c->again.at[k];
        i->idle = false;
        a = w->kind == SENT_PUT      ? d->put(i, w->key, w->value)
            : w->kind == SENT_APPEND ? d->append(i, w->key, w->value)
                                     : d->remove(i, w->key);
    }
    if (a == DB_OK) a = send_again(i, d, &c->again_sql);
    if (a == DB_OK) a = d->commit(i);
    if (a != DB_OK) d->abort(i);
    c->again.n = c->again_sql.n = 0;
}

static enum db_answer faulty_begin(db_session *s)
{
    db_session *i;
    faulty_conn *c = s->own;
    const driver *d = inner(s, &i);
    i->isolation = s->isolation;
    write_again(s);
    c->read = c->wrote = c->nested = false;
    c->sent.n = c->sent_sql.n = 0;
    enum db_answer a = d->begin(i);
    c->open = a == DB_OK;
    return passed(s, a);
}

/* Goes on in another transaction of the database.  One that could not begin is lost, with what the
   session asked of it. */
static enum db_answer changed_over(db_session *s)
{
    db_session *i;
    const driver *d = inner(s, &i);
    enum db_answer a = d->commit(i);
    clock_nap(BETWEEN_NS); /* others have something to do in between */
    if (a == DB_OK) a = d->begin(i);
    return passed(s, a == DB_OK ? DB_OK : DB_LOST);
}

/* Before a read, or a write, of a transaction that has only read so far. */
static enum db_answer before_call(db_session *s, bool write)
{
    faulty_conn *c = s->own;
    enum db_answer a = DB_OK;
    if (!c->open) return DB_OK;
    if (bug_of(s) == (write ? NO_CONFLICT : LATE_SNAPSHOT) && c->read && !c->wrote && !c->nested &&
        now(s))
        a = changed_over(s);
    if (write)
        c->wrote = true;
    else
        c->read = true;
    return a;
}

static void keep_sent(db_session *s, enum db_answer a, enum sent_kind kind, int64_t key,
                      int64_t value)
{
    faulty_conn *c = s->own;
    sent_write w = {kind, key, value};
    if (a == DB_OK && bug_of(s) == REPLAY_COMMIT) vec_push(s->mem, &c->sent, w);
}

/* Before a write: is it outside of a transaction, and shall it be rolled back all the same?  Then
   it is within one from now on. */
static bool begins_in_vain(db_session *s, enum db_answer *a)
{
    db_session *i;
    faulty_conn *c = s->own;
    const driver *d = inner(s, &i);
    if (c->open || *a != DB_OK) return false;
    i->isolation = s->db->isolation;
    write_again(s);
    c->sent.n = 0;
    if (bug_of(s) != COMMIT_ABORTED || !now(s)) return false;
    *a = d->begin(i);
    return true;
}

/* After a write: outside of a transaction it was the commit. */
static enum db_answer ended_alone(db_session *s, bool in_vain, enum db_answer a)
{
    db_session *i;
    faulty_conn *c = s->own;
    const driver *d = inner(s, &i);
    if (in_vain) return d->abort(i) == DB_OK ? a : DB_LOST;
    if (c->open || a != DB_OK || bug_of(s) != REPLAY_COMMIT || !c->sent.n || !now(s)) return a;
    c->later = LATER;
    for (size_t k = 0; k < c->sent.n; k++) vec_push(s->mem, &c->again, c->sent.at[k]);
    return a;
}

static unsigned faulty_snapshot(const db *d)
{
    const faulty_own *o = d->own;
    return o->inner.driver->snapshot(&o->inner);
}

static enum db_answer faulty_get(db_session *s, int64_t key, bool lock)
{
    db_session *i;
    faulty_conn *c = s->own;
    enum db_answer a = before_call(s, false);
    if (a == DB_OK) a = inner(s, &i)->get(i, key, lock);
    if (a != DB_OK) return passed(s, a);
    size_t at = (size_t)((uint64_t)key % CACHED);
    s->absent = i->absent;
    s->tomb = i->tomb;
    s->value = i->value;
    s->text.n = 0;
    strbuf_add(&s->text, i->text.at, i->text.n);
    if (a == DB_OK && bug_of(s) == TAMPER && !s->absent && now(s)) s->value++;
    if (a != DB_OK || bug_of(s) != STALE_READ || s->db->lists) return passed(s, a);
    if (c->cache[at].there && c->cache[at].key == key) {
        if (now(s)) {
            s->absent = c->cache[at].absent;
            s->value = c->cache[at].value;
        }
    } else {
        c->cache[at].there = true;
        c->cache[at].key = key;
        c->cache[at].absent = s->absent;
        c->cache[at].value = s->value;
    }
    return a;
}

static enum db_answer faulty_put(db_session *s, int64_t key, int64_t value)
{
    db_session *i;
    enum db_answer a = before_call(s, true);
    if (a != DB_OK || (bug_of(s) == DROP_WRITE && now(s))) return a;
    const driver *d = inner(s, &i);
    bool in_vain = begins_in_vain(s, &a);
    i->idle = i->newest = false;
    if (a == DB_OK) a = d->put(i, key, value);
    keep_sent(s, a, SENT_PUT, key, value);
    s->idle = i->idle;
    s->newest = i->newest;
    return passed(s, ended_alone(s, in_vain, a));
}

static enum db_answer faulty_append(db_session *s, int64_t key, int64_t value)
{
    db_session *i;
    enum db_answer a = before_call(s, true);
    if (a != DB_OK || (bug_of(s) == DROP_WRITE && now(s))) return a;
    const driver *d = inner(s, &i);
    bool in_vain = begins_in_vain(s, &a);
    if (a == DB_OK) a = d->append(i, key, value);
    keep_sent(s, a, SENT_APPEND, key, value);
    return passed(s, ended_alone(s, in_vain, a));
}

static enum db_answer faulty_remove(db_session *s, int64_t key)
{
    db_session *i;
    enum db_answer a = before_call(s, true);
    if (a != DB_OK) return a;
    const driver *d = inner(s, &i);
    bool in_vain = begins_in_vain(s, &a);
    i->idle = i->newest = false;
    if (a == DB_OK) a = d->remove(i, key);
    keep_sent(s, a, SENT_REMOVE, key, 0);
    s->idle = i->idle;
    s->newest = i->newest;
    return passed(s, ended_alone(s, in_vain, a));
}

static enum db_answer faulty_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    db_session *i;
    enum db_answer a = before_call(s, false);
    s->rows.n = 0;
    if (a != DB_OK) return a;
    const driver *d = inner(s, &i);
    i->reverse = s->reverse;
    a = d->range(i, from, to, limit);
    for (size_t k = 0; k < i->rows.n; k++) vec_push(s->mem, &s->rows, i->rows.at[k]);
    return passed(s, a);
}

/* A read instead of the addition; what it should have written is perhaps put in a transaction of
   its own. */
static enum db_answer read_to_add(db_session *s, int64_t key, int64_t amount, bool upsert)
{
    db_session *i;
    const driver *d = inner(s, &i);
    enum db_answer a = d->get(i, key, false);
    if (a != DB_OK) return a;
    if (i->absent && upsert) i->value = 0;
    i->absent = i->absent && !upsert;
    i->value += amount;
    if (bug_of(s) != NO_CONFLICT || i->absent) return DB_OK;
    int64_t sum = i->value;
    a = changed_over(s);
    if (a == DB_OK) a = d->put(i, key, sum);
    i->value = sum;
    return a;
}

/* A sum that is not written is told all the same, and one that is changed is told wrong. */
static enum db_answer faulty_add(db_session *s, int64_t key, int64_t amount, bool upsert)
{
    db_session *i;
    faulty_conn *c = s->own;
    const driver *d = inner(s, &i);
    bool reads = (bug_of(s) == DROP_WRITE ||
                  (bug_of(s) == NO_CONFLICT && c->open && !c->wrote && !c->nested)) &&
                 now(s);
    enum db_answer a = DB_OK;
    bool in_vain = begins_in_vain(s, &a);
    c->wrote = true;
    i->newest = false;
    if (a == DB_OK)
        a = reads ? read_to_add(s, key, amount, upsert) : d->add(i, key, amount, upsert);
    s->absent = i->absent;
    s->value = i->value;
    s->newest = i->newest;
    if (a == DB_OK && bug_of(s) == TAMPER && !s->absent && now(s)) s->value++;
    if (a == DB_OK && !s->absent) keep_sent(s, a, SENT_PUT, key, s->value);
    return passed(s, ended_alone(s, in_vain, a));
}

static enum db_answer faulty_nest(db_session *s, enum db_nesting what)
{
    db_session *i;
    const driver *d = inner(s, &i);
    faulty_conn *c = s->own;
    c->nested = what == DB_SAVEPOINT;
    if (what == DB_SAVEPOINT) c->saved = c->sent.n;
    if (what == DB_UNDO) c->sent.n = c->saved;
    return passed(s, d->nest(i, what));
}

/* What never commits says so of transactions only. */
static bool faulty_alone(const db *d)
{
    const faulty_own *o = d->own;
    const driver *in = o->inner.driver;
    return o->bug != NEVER_COMMIT && in->alone && in->alone(&o->inner);
}

static enum db_answer faulty_abort(db_session *s)
{
    db_session *i;
    ((faulty_conn *)s->own)->open = false;
    return passed(s, inner(s, &i)->abort(i));
}

static enum db_answer faulty_commit(db_session *s)
{
    db_session *i;
    const driver *d = inner(s, &i);
    faulty_conn *c = s->own;
    c->open = false;
    if (bug_of(s) == NEVER_COMMIT) return passed(s, d->abort(i)) == DB_OK ? DB_REFUSED : DB_LOST;
    bool errs = c->wrote && (bug_of(s) == COMMIT_ABORTED || bug_of(s) == REPLAY_COMMIT) && now(s);
    if (errs && bug_of(s) == COMMIT_ABORTED) return passed(s, d->abort(i));
    enum db_answer a = d->commit(i);
    if (errs) c->later = LATER;
    for (size_t k = 0; errs && a == DB_OK && k < c->sent.n; k++)
        vec_push(s->mem, &c->again, c->sent.at[k]);
    if (errs && a == DB_OK) strbuf_add(&c->again_sql, c->sent_sql.at, c->sent_sql.n);
    return passed(s, a);
}

/* --- SQL: writes that are not sent, numbers that are changed, commits that are none ----------- */

static bool faulty_script(db *d, const char *text)
{
    faulty_own *o = d->own;
    o->inner.own_tables = d->own_tables;
    o->inner.made_up = d->made_up;
    o->inner.stepped = d->stepped;
    if (o->inner.driver->script(&o->inner, text)) return true;
    memcpy(d->error, o->inner.error, sizeof d->error);
    return false;
}

static void take_answer(db_session *s, const db_session *i)
{
    s->n_rows = i->n_rows;
    s->n_cols = i->n_cols;
    s->has_rows = i->has_rows;
    s->affected = i->affected;
    memcpy(s->state, i->state, sizeof s->state);
    s->text.n = s->cells.n = 0;
    strbuf_add(&s->text, i->text.at, i->text.n);
    for (size_t k = 0; k < i->cells.n; k++) vec_push(s->mem, &s->cells, i->cells.at[k]);
}

/* The last digit of the first row. */
static void tamper_with(db_session *s)
{
    if (!s->n_rows || !s->n_cols) return;
    db_cell c = s->cells.at[s->n_cols - 1];
    char *last = c.at == UINT32_MAX || !c.n ? NULL : &s->text.at[c.at + c.n - 1];
    if (last && *last >= '0' && *last <= '9' && now(s))
        *last = (char)('0' + (*last - '0' + 1) % 10);
}

static bool begins_with(const char *text, const char *word)
{
    return !strncmp(text, word, strlen(word));
}

/* What a statement does to a savepoint: the workloads have one at a time. */
static void follow_savepoint(faulty_conn *c, const char *text)
{
    bool undo = begins_with(text, "ROLLBACK TO");
    if (undo) c->sent_sql.n = c->saved_sql;
    if (undo || begins_with(text, "RELEASE")) c->nested = false;
    if (!begins_with(text, "SAVEPOINT")) return;
    c->nested = true;
    c->saved_sql = c->sent_sql.n;
}

/* The answer that this text got first, now and then; a text that is new is kept with its answer. */
static void answer_from_cache(db_session *s, const char *text, const char *const *params,
                              uint32_t n)
{
    faulty_conn *c = s->own;
    strbuf question;
    if (!c->answers) {
        c->answers = mem_array0(s->mem, cached_answer, CACHED_ANSWERS);
        for (size_t k = 0; k < CACHED_ANSWERS; k++) {
            strbuf_init(&c->answers[k].question, s->mem);
            strbuf_init(&c->answers[k].text, s->mem);
        }
    }
    strbuf_init(&question, s->mem);
    put_statement(&question, text, params, n);
    cached_answer *k = &c->answers[hash_bytes(question.at, question.n, 0) % CACHED_ANSWERS];
    if (!k->question.n) {
        strbuf_add(&k->question, question.at, question.n);
        strbuf_add(&k->text, s->text.at, s->text.n);
        for (size_t x = 0; x < s->cells.n; x++) vec_push(s->mem, &k->cells, s->cells.at[x]);
        k->n_rows = s->n_rows;
        k->n_cols = s->n_cols;
    } else if (k->question.n == question.n && !memcmp(k->question.at, question.at, question.n) &&
               now(s)) {
        s->text.n = s->cells.n = 0;
        strbuf_add(&s->text, k->text.at, k->text.n);
        for (size_t x = 0; x < k->cells.n; x++) vec_push(s->mem, &s->cells, k->cells.at[x]);
        s->n_rows = k->n_rows;
        s->n_cols = k->n_cols;
    }
    strbuf_free(&question);
}

/* Which one a statement is about, by the digit in its name; CURSORS: none. */
static uint32_t cursor_named(const char *name)
{
    return name && name[0] == 'c' && name[1] >= '1' && name[1] < '1' + CURSORS
               ? (uint32_t)(name[1] - '1')
               : CURSORS;
}

static void follow_cursor(faulty_conn *c, const char *text)
{
    static const char declare[] = "DECLARE ", query[] = " CURSOR FOR ";
    const char *from = strstr(text, query);
    uint32_t k = begins_with(text, declare) ? cursor_named(text + sizeof declare - 1) : CURSORS;
    if (k == CURSORS || !from) return;
    snprintf(c->cursor[k].query, CURSOR_QUERY, "%s", from + sizeof query - 1);
    c->cursor[k].at = 0;
}

/* The rows that the query of the cursor has there now, instead of those that were fetched. */
static enum db_answer fetch_anew(db_session *s, const char *text)
{
    db_session *i;
    const driver *d = inner(s, &i);
    faulty_conn *c = s->own;
    char sql[CURSOR_QUERY + 64];
    const char *name = strstr(text, " FROM ");
    uint32_t k = cursor_named(name ? name + 6 : NULL);
    if (k == CURSORS || !begins_with(text, "FETCH ") || !*c->cursor[k].query) return DB_OK;
    uint64_t at = c->cursor[k].at;
    c->cursor[k].at += s->n_rows;
    if (!now(s)) return DB_OK;
    snprintf(sql, sizeof sql, "%s LIMIT %lu OFFSET %llu", c->cursor[k].query,
             strtoul(text + 6, NULL, 10), (unsigned long long)at);
    enum db_answer a = passed(s, d->query(i, sql, NULL, 0));
    take_answer(s, i);
    return a;
}

static enum db_answer faulty_query(db_session *s, const char *text, const char *const *params,
                                   uint32_t n)
{
    db_session *i;
    faulty_conn *c = s->own;
    const driver *d = inner(s, &i);
    bool writes =
        begins_with(text, "UPDATE") || begins_with(text, "INSERT") || begins_with(text, "DELETE");
    bool reads = begins_with(text, "SELECT");
    *s->state = 0;
    if (reads || writes) {
        enum db_answer over = before_call(s, writes);
        if (over != DB_OK) return over;
    }
    if (bug_of(s) == DROP_WRITE && writes && !strstr(text, "RETURNING") && now(s)) {
        s->n_rows = s->n_cols = 0;
        s->has_rows = false;
        s->affected = 1;
        return DB_OK;
    }
    enum db_answer a = passed(s, d->query(i, text, params, n));
    take_answer(s, i);
    if (a != DB_OK) return a;
    follow_savepoint(c, text);
    if (bug_of(s) == MOVING_CURSOR) {
        follow_cursor(c, text);
        return fetch_anew(s, text);
    }
    if (bug_of(s) == TAMPER && !writes) tamper_with(s);
    if (bug_of(s) == STALE_READ && reads && s->has_rows) answer_from_cache(s, text, params, n);
    if (bug_of(s) == REPLAY_COMMIT && writes && c->open && n <= MOST_PARAMS)
        put_statement(&c->sent_sql, text, params, n);
    return a;
}

static void faulty_mark(db_session *s)
{
    db_session *i;
    const driver *d = inner(s, &i);
    if (d->mark) d->mark(i);
}

static bool faulty_stamp(db_session *s, int64_t *out)
{
    db_session *i;
    const driver *d = inner(s, &i);
    return d->stamp && d->stamp(i, out);
}

/* Asked only where the adapter inside can tell. */
static enum db_waiting faulty_waits(db_session *watcher, const db_session *s)
{
    faulty_conn *w = watcher->own;
    const faulty_conn *c = s->own;
    return w->inner.db->driver->waits(&w->inner, &c->inner);
}

static void faulty_cut(db *d, const db_session *s)
{
    const faulty_conn *c = s->own;
    db *in = c->inner.db;
    (void)d;
    if (in->driver->cut) in->driver->cut(in, &c->inner);
}

const driver driver_faulty = {
    .name = "faulty",
    .isolations = "",
    .open = faulty_open,
    .close = faulty_close,
    .load = faulty_load,
    .connect = faulty_connect,
    .disconnect = faulty_disconnect,
    .snapshot = faulty_snapshot,
    .begin = faulty_begin,
    .get = faulty_get,
    .put = faulty_put,
    .append = faulty_append,
    .remove = faulty_remove,
    .range = faulty_range,
    .reverses = true,
    .add = faulty_add,
    .nest = faulty_nest,
    .alone = faulty_alone,
    .commit = faulty_commit,
    .abort = faulty_abort,
    .script = faulty_script,
    .query = faulty_query,
    .mark = faulty_mark,
    .stamp = faulty_stamp,
    .waits = faulty_waits,
    .cut = faulty_cut,
};
