/*
 * berkeley.c - Berkeley DB in this process.
 *
 *   bdb:DIR      an environment in that directory, and a database of our own in it
 *   bdb:temp     a directory that is removed at the end
 *
 * Locks are of pages, so that transactions which touch different keys may refuse each other; small
 * pages make that rarer.  snapshot-isolation is DB_TXN_SNAPSHOT on a database of DB_MULTIVERSION.
 * Traps: 5.3.28 crashes if a snapshot's conflict is on the root of a tree, so rows at the low end,
 * which no workload reads, see to it that the root is no page of rows.  After DB_LOCK_DEADLOCK a
 * transaction can only be aborted.  The environment is recovered when it is opened, which must not
 * happen while others have it open: so a directory is ours alone.
 */
#include <db.h>
#include <errno.h>
#include <stdio.h>

#include "driver/adapters.h"
#include "driver/stored.h"

enum { FILLING = 1000, PAGE = 512, LOCKS = 100000, TRANSACTIONS = 20000, CACHE = 64 << 20 };

typedef struct bdb_own {
    DB_ENV *env;
    DB *table;
    u_int32_t begin; /* flags of a transaction */
} bdb_own;

typedef struct bdb_conn {
    DB_TXN *txn;
    strbuf found; /* room for what a read finds */
    strbuf list;
} bdb_conn;

static void silent(const DB_ENV *env, const char *prefix, const char *message)
{
    (void)env, (void)prefix, (void)message;
}

static bool failed_to_open(db *d, int code)
{
    if (code) db_fail(d->error, "Berkeley DB: %s", db_strerror(code));
    return code != 0;
}

static void isolate(db *d)
{
    bdb_own *o = d->own;
    o->begin = 0;
    if (!strcmp(d->isolation, "snapshot-isolation")) o->begin = DB_TXN_SNAPSHOT;
    if (!strcmp(d->isolation, "read-committed")) o->begin = DB_READ_COMMITTED;
    if (!strcmp(d->isolation, "read-uncommitted")) o->begin = DB_READ_UNCOMMITTED;
}

static bool bdb_open(db *d)
{
    static const char *const known[] = {NULL};
    bdb_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    char path[512];
    if (!db_parameters_known(d, known) || !stored_directory(d, path, sizeof path)) return false;
    isolate(d);
    int code = db_env_create(&o->env, 0);
    if (failed_to_open(d, code)) return false;
    o->env->set_errcall(o->env, silent);
    o->env->set_lk_max_locks(o->env, LOCKS);
    o->env->set_lk_max_lockers(o->env, LOCKS);
    o->env->set_lk_max_objects(o->env, LOCKS);
    o->env->set_lk_detect(o->env, DB_LOCK_DEFAULT);
    o->env->set_tx_max(o->env, TRANSACTIONS);
    o->env->set_cachesize(o->env, 0, CACHE, 1);
    o->env->set_flags(o->env, DB_TXN_WRITE_NOSYNC, 1);
    o->env->log_set_config(o->env, DB_LOG_AUTO_REMOVE, 1);
    code = o->env->open(o->env, path,
                        DB_CREATE | DB_RECOVER | DB_PRIVATE | DB_THREAD | DB_INIT_TXN |
                            DB_INIT_LOCK | DB_INIT_LOG | DB_INIT_MPOOL,
                        0);
    if (failed_to_open(d, code)) return false;
    int major, minor, patch;
    db_version(&major, &minor, &patch);
    snprintf(d->version, sizeof d->version, "Berkeley DB %d.%d.%d", major, minor, patch);
    return true;
}

static void drop_table(db *d)
{
    bdb_own *o = d->own;
    if (o->table) o->table->close(o->table, 0);
    o->table = NULL;
    if (d->made) o->env->dbremove(o->env, NULL, d->place, NULL, DB_AUTO_COMMIT);
    d->made = false;
}

static void bdb_close(db *d)
{
    bdb_own *o = d->own;
    if (!o || !o->env) return;
    drop_table(d);
    o->env->close(o->env, 0);
    o->env = NULL;
}

static DBT bytes_of(void *at, size_t n)
{
    DBT t;
    memset(&t, 0, sizeof t);
    t.data = at;
    t.size = (u_int32_t)n;
    return t;
}

static int put_text(const bdb_own *o, DB_TXN *txn, int64_t key, const char *text, size_t n)
{
    unsigned char bytes[STORED_KEY];
    stored_key(bytes, key);
    DBT k = bytes_of(bytes, STORED_KEY), v = bytes_of((void *)(uintptr_t)text, n);
    return o->table->put(o->table, txn, &k, &v, 0);
}

static int open_table(db *d, u_int32_t flags)
{
    bdb_own *o = d->own;
    flags |= DB_AUTO_COMMIT | DB_THREAD;
    if (o->begin & DB_TXN_SNAPSHOT) flags |= DB_MULTIVERSION;
    if (o->begin & DB_READ_UNCOMMITTED) flags |= DB_READ_UNCOMMITTED;
    int code = db_create(&o->table, o->env, 0);
    if (!code && flags & DB_CREATE) code = o->table->set_pagesize(o->table, PAGE);
    if (!code) code = o->table->open(o->table, NULL, d->place, NULL, DB_BTREE, flags, 0);
    d->made = d->made || !code;
    return code;
}

static bool bdb_adopt(db *d)
{
    return !failed_to_open(d, open_table(d, 0));
}

static bool bdb_load(db *d, const db_row *rows, size_t n)
{
    const bdb_own *o = d->own;
    DB_TXN *txn = NULL;
    drop_table(d);
    int code = open_table(d, DB_CREATE);
    if (!code) code = o->env->txn_begin(o->env, NULL, &txn, 0);
    for (int64_t i = 0; !code && i < FILLING; i++)
        code = put_text(o, txn, INT64_MIN + i, "a row that makes the tree high", 30);
    for (size_t i = 0; !code && i < n; i++) {
        char text[STORED_NUMBER];
        code = put_text(o, txn, rows[i].key, text, stored_number(text, rows[i].value));
    }
    if (!code)
        code = txn->commit(txn, 0);
    else if (txn)
        txn->abort(txn);
    return !failed_to_open(d, code);
}

/* --- sessions --------------------------------------------------------------------------------- */

typedef struct error_class {
    int code;
    enum db_answer statement, commit;
} error_class;

static const error_class error_classes[] = {
#define BERKELEY_ERROR(code, statement, commit, why) {code, statement, commit},
#include "driver/berkeley_errors.def"
#undef BERKELEY_ERROR
};

static enum db_answer told_of(db_session *s, int code, bool commit)
{
    if (!code) return DB_OK;
    db_fail(s->error, "Berkeley DB: %s", db_strerror(code));
    for (size_t i = 0; i < sizeof error_classes / sizeof *error_classes; i++)
        if (error_classes[i].code == code)
            return commit ? error_classes[i].commit : error_classes[i].statement;
    return commit ? DB_LOST : DB_BROKEN;
}

static enum db_answer told(db_session *s, int code)
{
    return told_of(s, code, false);
}

static enum db_answer bdb_connect(db_session *s)
{
    bdb_conn *c = s->own = mem_zeroed(s->mem, sizeof *c);
    strbuf_init(&c->found, s->mem);
    strbuf_init(&c->list, s->mem);
    return DB_OK;
}

static enum db_answer bdb_abort(db_session *s)
{
    bdb_conn *c = s->own;
    DB_TXN *txn = c->txn;
    c->txn = NULL;
    return !txn || !txn->abort(txn) ? DB_OK : DB_LOST;
}

static void bdb_disconnect(db_session *s)
{
    bdb_conn *c = s->own;
    if (!c) return;
    bdb_abort(s);
    strbuf_free(&c->found);
    strbuf_free(&c->list);
    mem_put(s->mem, c);
    s->own = NULL;
}

/* The snapshot is taken by the first access to a page. */
static unsigned bdb_snapshot(const db *d)
{
    const bdb_own *o = d->own;
    return o->begin & DB_TXN_SNAPSHOT ? DB_READ | DB_LOCKING_READ | DB_WRITE : 0;
}

static enum db_answer bdb_begin(db_session *s)
{
    bdb_own *o = s->db->own;
    bdb_conn *c = s->own;
    return told(s, o->env->txn_begin(o->env, NULL, &c->txn, o->begin));
}

/* Reads a key into c->found; DB_NOTFOUND if it is absent. */
static int find(db_session *s, int64_t key, u_int32_t flags)
{
    const bdb_own *o = s->db->own;
    bdb_conn *c = s->own;
    unsigned char bytes[STORED_KEY];
    int code;
    stored_key(bytes, key);
    if (!c->found.cap) strbuf_str(&c->found, "0123456789012345678901234567890");
    do {
        DBT k = bytes_of(bytes, STORED_KEY), v = bytes_of(c->found.at, 0);
        v.ulen = (u_int32_t)c->found.cap;
        v.flags = DB_DBT_USERMEM;
        code = o->table->get(o->table, c->txn, &k, &v, flags);
        c->found.n = v.size;
        if (code != DB_BUFFER_SMALL) break;
        for (c->found.n = 0; c->found.cap < v.size;) strbuf_char(&c->found, ' ');
    } while (code == DB_BUFFER_SMALL);
    return code;
}

static enum db_answer bdb_get(db_session *s, int64_t key, bool lock)
{
    const bdb_conn *c = s->own;
    int code = find(s, key, lock ? DB_RMW : 0);
    if (code && code != DB_NOTFOUND) return told(s, code);
    stored_seen(s, code ? NULL : c->found.at, c->found.n);
    return DB_OK;
}

static enum db_answer put_string(db_session *s, int64_t key, const char *text, size_t n)
{
    return told(s, put_text(s->db->own, ((bdb_conn *)s->own)->txn, key, text, n));
}

static enum db_answer bdb_put(db_session *s, int64_t key, int64_t value)
{
    char text[STORED_NUMBER];
    return put_string(s, key, text, stored_number(text, value));
}

static enum db_answer bdb_append(db_session *s, int64_t key, int64_t value)
{
    bdb_conn *c = s->own;
    int code = find(s, key, DB_RMW);
    if (code && code != DB_NOTFOUND) return told(s, code);
    stored_append(&c->list, code ? NULL : c->found.at, c->found.n, value);
    return put_string(s, key, c->list.at, c->list.n);
}

static enum db_answer bdb_remove(db_session *s, int64_t key)
{
    const bdb_own *o = s->db->own;
    if (s->db->tombstones) return put_string(s, key, STORED_TOMB, 1);
    unsigned char bytes[STORED_KEY];
    stored_key(bytes, key);
    DBT k = bytes_of(bytes, STORED_KEY);
    int code = o->table->del(o->table, ((bdb_conn *)s->own)->txn, &k, 0);
    s->idle = code == DB_NOTFOUND;
    return s->idle ? DB_OK : told(s, code);
}

static enum db_answer bdb_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    const bdb_own *o = s->db->own;
    bdb_conn *c = s->own;
    DBC *cursor;
    unsigned char bytes[STORED_KEY];
    char value[STORED_NUMBER];
    s->rows.n = 0;
    int code = o->table->cursor(o->table, c->txn, &cursor, 0);
    if (code) return told(s, code);
    stored_key(bytes, from);
    DBT k = bytes_of(bytes, STORED_KEY), v = bytes_of(value, 0);
    k.ulen = sizeof bytes;
    v.ulen = sizeof value;
    k.flags = v.flags = DB_DBT_USERMEM;
    for (code = cursor->get(cursor, &k, &v, DB_SET_RANGE); !code;
         code = cursor->get(cursor, &k, &v, DB_NEXT)) {
        int64_t key = stored_key_of(bytes);
        if (key >= to || (limit && s->rows.n >= limit)) break;
        stored_row(s, key, value, v.size);
    }
    int closed = cursor->close(cursor);
    if (code == DB_NOTFOUND) code = 0;
    return told(s, code ? code : closed);
}

static enum db_answer bdb_commit(db_session *s)
{
    bdb_conn *c = s->own;
    DB_TXN *txn = c->txn;
    c->txn = NULL;
    return told_of(s, txn->commit(txn, 0), true);
}

const driver driver_bdb = {
    .name = "bdb",
    .isolations = "serializable snapshot-isolation read-committed read-uncommitted",
    .in_process = true,
    .row_locks = true,
    .open = bdb_open,
    .close = bdb_close,
    .load = bdb_load,
    .adopt = bdb_adopt,
    .connect = bdb_connect,
    .disconnect = bdb_disconnect,
    .snapshot = bdb_snapshot,
    .begin = bdb_begin,
    .get = bdb_get,
    .put = bdb_put,
    .append = bdb_append,
    .remove = bdb_remove,
    .range = bdb_range,
    .commit = bdb_commit,
    .abort = bdb_abort,
};
