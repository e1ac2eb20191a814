/*
 * lmdb.c - LMDB in this process.
 *
 *   lmdb:DIR[?begin=write]     a database of our own in the environment of that directory
 *   lmdb:temp                  a directory that is removed at the end
 *
 * LMDB has one writer at a time, and a transaction that reads cannot become one that writes.  So a
 * transaction begins with a snapshot, and its first write begins a writing transaction, which waits
 * for the writer before it: if somebody has committed since the snapshot, ours is refused.  With
 * begin=write every transaction is a writing one from its begin.  Commits do not wait for the
 * disk: that matters when the machine fails, not when the process does.
 */
#include <lmdb.h>
#include <stdio.h>

#include "driver/adapters.h"
#include "driver/stored.h"

typedef struct lmdb_own {
    MDB_env *env;
    MDB_dbi table;
    bool write_first;
} lmdb_own;

typedef struct lmdb_conn {
    MDB_txn *txn;
    bool writes;
    strbuf list;
} lmdb_conn;

static bool failed_to_open(db *d, int code)
{
    if (code) db_fail(d->error, "LMDB: %s", mdb_strerror(code));
    return code != 0;
}

static bool lmdb_open(db *d)
{
    static const char *const known[] = {"begin", NULL};
    lmdb_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    char path[512], begin[16] = "";
    if (!db_parameters_known(d, known)) return false;
    o->write_first = db_parameter(d, "begin", begin, sizeof begin);
    if (o->write_first && strcmp(begin, "write") != 0) {
        d->misuse = true;
        db_fail(d->error, "begin=... in the URL can only be write");
        return false;
    }
    if (!stored_directory(d, path, sizeof path)) return false;
    int code = mdb_env_create(&o->env);
    if (!code) code = mdb_env_set_mapsize(o->env, (size_t)4 << 30);
    if (!code) code = mdb_env_set_maxdbs(o->env, 16);
    if (!code) code = mdb_env_set_maxreaders(o->env, 4096);
    if (!code) code = mdb_env_open(o->env, path, MDB_NOTLS | MDB_NOSYNC, 0666);
    if (failed_to_open(d, code)) return false;
    int major, minor, patch;
    mdb_version(&major, &minor, &patch);
    snprintf(d->version, sizeof d->version, "LMDB %d.%d.%d", major, minor, patch);
    db_setting(d, "begin", o->write_first ? "write" : "read");
    return true;
}

static void lmdb_close(db *d)
{
    lmdb_own *o = d->own;
    MDB_txn *txn;
    if (!o || !o->env) return;
    if (d->made && !mdb_txn_begin(o->env, NULL, 0, &txn)) {
        mdb_drop(txn, o->table, 1);
        mdb_txn_commit(txn);
    }
    mdb_env_close(o->env);
    o->env = NULL;
}

static int put_text(MDB_txn *txn, MDB_dbi table, int64_t key, const char *text, size_t n)
{
    unsigned char bytes[STORED_KEY];
    stored_key(bytes, key);
    MDB_val k = {STORED_KEY, bytes}, v = {n, (void *)(uintptr_t)text};
    return mdb_put(txn, table, &k, &v, 0);
}

static bool lmdb_load(db *d, const db_row *rows, size_t n)
{
    lmdb_own *o = d->own;
    MDB_txn *txn = NULL;
    int code = mdb_txn_begin(o->env, NULL, 0, &txn);
    if (!code) code = mdb_dbi_open(txn, d->place, MDB_CREATE, &o->table);
    if (!code) code = mdb_drop(txn, o->table, 0);
    for (size_t i = 0; !code && i < n; i++) {
        char text[STORED_NUMBER];
        code = put_text(txn, o->table, rows[i].key, text, stored_number(text, rows[i].value));
    }
    if (!code)
        code = mdb_txn_commit(txn);
    else if (txn)
        mdb_txn_abort(txn);
    d->made = d->made || !code;
    return !failed_to_open(d, code);
}

static bool lmdb_adopt(db *d)
{
    lmdb_own *o = d->own;
    MDB_txn *txn = NULL;
    int code = mdb_txn_begin(o->env, NULL, 0, &txn);
    if (!code) code = mdb_dbi_open(txn, d->place, 0, &o->table);
    if (!code)
        code = mdb_txn_commit(txn);
    else if (txn)
        mdb_txn_abort(txn);
    d->made = !code;
    return !failed_to_open(d, code);
}

/* --- sessions --------------------------------------------------------------------------------- */

static enum db_answer told(db_session *s, int code)
{
    if (!code) return DB_OK;
    db_fail(s->error, "LMDB: %s", mdb_strerror(code));
    return DB_BROKEN;
}

static enum db_answer lmdb_connect(db_session *s)
{
    lmdb_conn *c = s->own = mem_zeroed(s->mem, sizeof *c);
    strbuf_init(&c->list, s->mem);
    return DB_OK;
}

static enum db_answer lmdb_abort(db_session *s)
{
    lmdb_conn *c = s->own;
    if (c->txn) mdb_txn_abort(c->txn);
    c->txn = NULL;
    return DB_OK;
}

static void lmdb_disconnect(db_session *s)
{
    lmdb_conn *c = s->own;
    if (!c) return;
    lmdb_abort(s);
    strbuf_free(&c->list);
    mem_put(s->mem, c);
    s->own = NULL;
}

static unsigned lmdb_snapshot(const db *d)
{
    (void)d;
    return DB_BEGIN;
}

static enum db_answer lmdb_begin(db_session *s)
{
    lmdb_own *o = s->db->own;
    lmdb_conn *c = s->own;
    c->writes = o->write_first;
    return told(s, mdb_txn_begin(o->env, NULL, c->writes ? 0 : MDB_RDONLY, &c->txn));
}

/* A writing transaction sees what was committed last: it may go on only if that is our snapshot. */
static enum db_answer writing(db_session *s)
{
    lmdb_own *o = s->db->own;
    lmdb_conn *c = s->own;
    MDB_txn *w = NULL;
    if (c->writes) return DB_OK;
    size_t seen = mdb_txn_id(c->txn);
    enum db_answer a = told(s, mdb_txn_begin(o->env, NULL, 0, &w));
    if (a != DB_OK) return a;
    if (mdb_txn_id(w) != seen + 1) {
        mdb_txn_abort(w);
        db_fail(s->error, "another transaction has committed since the snapshot");
        return DB_REFUSED;
    }
    mdb_txn_abort(c->txn);
    c->txn = w;
    c->writes = true;
    return DB_OK;
}

static int find(const db_session *s, int64_t key, MDB_val *v)
{
    const lmdb_conn *c = s->own;
    unsigned char bytes[STORED_KEY];
    stored_key(bytes, key);
    MDB_val k = {STORED_KEY, bytes};
    return mdb_get(c->txn, ((const lmdb_own *)s->db->own)->table, &k, v);
}

static enum db_answer lmdb_get(db_session *s, int64_t key, bool lock)
{
    (void)lock;
    MDB_val v;
    int code = find(s, key, &v);
    if (code && code != MDB_NOTFOUND) return told(s, code);
    stored_seen(s, code ? NULL : v.mv_data, code ? 0 : v.mv_size);
    return DB_OK;
}

static enum db_answer put_string(db_session *s, int64_t key, const char *text, size_t n)
{
    enum db_answer a = writing(s);
    if (a != DB_OK) return a;
    return told(
        s, put_text(((lmdb_conn *)s->own)->txn, ((lmdb_own *)s->db->own)->table, key, text, n));
}

static enum db_answer lmdb_put(db_session *s, int64_t key, int64_t value)
{
    char text[STORED_NUMBER];
    return put_string(s, key, text, stored_number(text, value));
}

static enum db_answer lmdb_append(db_session *s, int64_t key, int64_t value)
{
    lmdb_conn *c = s->own;
    MDB_val v;
    enum db_answer a = writing(s);
    if (a != DB_OK) return a;
    int code = find(s, key, &v);
    if (code && code != MDB_NOTFOUND) return told(s, code);
    stored_append(&c->list, code ? NULL : v.mv_data, code ? 0 : v.mv_size, value);
    return put_string(s, key, c->list.at, c->list.n);
}

static enum db_answer lmdb_remove(db_session *s, int64_t key)
{
    lmdb_conn *c = s->own;
    if (s->db->tombstones) return put_string(s, key, STORED_TOMB, 1);
    enum db_answer a = writing(s);
    if (a != DB_OK) return a;
    unsigned char bytes[STORED_KEY];
    stored_key(bytes, key);
    MDB_val k = {STORED_KEY, bytes};
    int code = mdb_del(c->txn, ((lmdb_own *)s->db->own)->table, &k, NULL);
    s->idle = code == MDB_NOTFOUND;
    return s->idle ? DB_OK : told(s, code);
}

static enum db_answer lmdb_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    lmdb_conn *c = s->own;
    MDB_cursor *cursor;
    unsigned char bytes[STORED_KEY];
    s->rows.n = 0;
    int code = mdb_cursor_open(c->txn, ((lmdb_own *)s->db->own)->table, &cursor);
    if (code) return told(s, code);
    stored_key(bytes, from);
    MDB_val k = {STORED_KEY, bytes}, v;
    for (code = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE); !code;
         code = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) {
        int64_t key = stored_key_of(k.mv_data);
        if (key >= to || (limit && s->rows.n >= limit)) break;
        stored_row(s, key, v.mv_data, v.mv_size);
    }
    mdb_cursor_close(cursor);
    return code && code != MDB_NOTFOUND ? told(s, code) : DB_OK;
}

/* A commit that fails has written nothing: LMDB's manual names no other case. */
static enum db_answer lmdb_commit(db_session *s)
{
    lmdb_conn *c = s->own;
    MDB_txn *txn = c->txn;
    c->txn = NULL;
    return told(s, mdb_txn_commit(txn));
}

const driver driver_lmdb = {
    .name = "lmdb",
    .isolations = "serializable",
    .in_process = true,
    .open = lmdb_open,
    .close = lmdb_close,
    .load = lmdb_load,
    .adopt = lmdb_adopt,
    .connect = lmdb_connect,
    .disconnect = lmdb_disconnect,
    .snapshot = lmdb_snapshot,
    .begin = lmdb_begin,
    .get = lmdb_get,
    .put = lmdb_put,
    .append = lmdb_append,
    .remove = lmdb_remove,
    .range = lmdb_range,
    .commit = lmdb_commit,
    .abort = lmdb_abort,
};
