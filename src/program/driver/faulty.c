/*
 * faulty.c - a client with a bug, around any other adapter: for tests of what we find.
 *
 *   faulty:BUG:URL     BUG: commit-aborted | drop-write | stale-read | tamper | never-commit
 *
 * Each session errs once in 16 occasions.  What it does is wrong on purpose: it says committed of
 * a transaction that it has rolled back, does not send a write, answers a read from a cache that
 * nobody invalidates, answers with the next number.  never-commit rolls back every time and says
 * so.
 */
#include "driver/adapters.h"

enum bug { COMMIT_ABORTED, DROP_WRITE, STALE_READ, TAMPER, NEVER_COMMIT, BUGS };
static const char *const bug_names[BUGS] = {"commit-aborted", "drop-write", "stale-read", "tamper",
                                            "never-commit"};

enum { EVERY = 16, CACHED = 64 };

typedef struct faulty_own {
    enum bug bug;
    db inner;
} faulty_own;

typedef struct faulty_conn {
    db_session inner;
    uint32_t occasions;
    bool wrote;
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
    db_fail(
        d->error,
        "expected faulty:BUG:URL, where BUG is commit-aborted, drop-write, stale-read, tamper or "
        "never-commit");
    return false;
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
    c->inner.slot = s->slot;
    c->inner.node = s->node;
    c->inner.mem = s->mem;
    strbuf_init(&c->inner.text, s->mem);
    return passed(s, o->inner.driver->connect(&c->inner));
}

static void faulty_disconnect(db_session *s)
{
    db_session *i;
    if (!s->own) return;
    inner(s, &i)->disconnect(i);
    strbuf_free(&i->text);
    vec_free(i->mem, &i->rows);
    mem_put(s->mem, s->own);
    s->own = NULL;
}

static enum db_answer faulty_begin(db_session *s)
{
    db_session *i;
    ((faulty_conn *)s->own)->wrote = false;
    const driver *d = inner(s, &i);
    i->isolation = s->isolation;
    return passed(s, d->begin(i));
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
    enum db_answer a = inner(s, &i)->get(i, key, lock);
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
    ((faulty_conn *)s->own)->wrote = true;
    if (bug_of(s) == DROP_WRITE && now(s)) return DB_OK;
    const driver *d = inner(s, &i);
    i->idle = i->newest = false;
    enum db_answer a = d->put(i, key, value);
    s->idle = i->idle;
    s->newest = i->newest;
    return passed(s, a);
}

static enum db_answer faulty_append(db_session *s, int64_t key, int64_t value)
{
    db_session *i;
    ((faulty_conn *)s->own)->wrote = true;
    if (bug_of(s) == DROP_WRITE && now(s)) return DB_OK;
    return passed(s, inner(s, &i)->append(i, key, value));
}

static enum db_answer faulty_remove(db_session *s, int64_t key)
{
    db_session *i;
    ((faulty_conn *)s->own)->wrote = true;
    enum db_answer a = inner(s, &i)->remove(i, key);
    s->idle = i->idle;
    s->newest = i->newest;
    return passed(s, a);
}

static enum db_answer faulty_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    db_session *i;
    enum db_answer a = inner(s, &i)->range(i, from, to, limit);
    s->rows.n = 0;
    for (size_t k = 0; k < i->rows.n; k++) vec_push(s->mem, &s->rows, i->rows.at[k]);
    return passed(s, a);
}

static enum db_answer faulty_abort(db_session *s)
{
    db_session *i;
    return passed(s, inner(s, &i)->abort(i));
}

static enum db_answer faulty_commit(db_session *s)
{
    db_session *i;
    const driver *d = inner(s, &i);
    if (bug_of(s) == NEVER_COMMIT) return passed(s, d->abort(i)) == DB_OK ? DB_REFUSED : DB_LOST;
    if (bug_of(s) != COMMIT_ABORTED || !((faulty_conn *)s->own)->wrote || !now(s))
        return passed(s, d->commit(i));
    return passed(s, d->abort(i));
}

/* Asked only where the adapter inside can tell. */
static bool faulty_waits(db_session *watcher, const db_session *s)
{
    faulty_conn *w = watcher->own;
    const faulty_conn *c = s->own;
    return w->inner.db->driver->waits(&w->inner, &c->inner);
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
    .commit = faulty_commit,
    .abort = faulty_abort,
    .waits = faulty_waits,
};
