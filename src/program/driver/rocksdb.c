/*
 * rocksdb.c - RocksDB's transactions in this process.
 *
 *   rocksdb:DIR[?kind=optimistic][&policy=prepared|unprepared]
 *   rocksdb:temp                   a directory that is removed at the end
 *
 * snapshot: reads are of a snapshot that the transaction takes at its begin (SetSnapshot), and a
 * write of a key that has changed since is refused.  locked: the same, and every read is
 * GetForUpdate.  none: no snapshot; each read sees what was committed last, and only writes lock.
 * Iterators are never tracked, so that no setting protects a range from new keys.
 *
 * Trap: after a write that was refused Commit still says OK, without that write; the caller aborts.
 */
#include <stdio.h>

#include "driver/adapters.h"
#include "driver/rocksdb_shim.h"
#include "driver/stored.h"

enum { LOCK_MS = 500, PREFIX = 40 };

typedef struct rocks_own {
    rocksdb_options_t *options;
    rocksdb_transactiondb_t *pessimistic; /* one of the two */
    rocksdb_optimistictransactiondb_t *optimistic;
    rocksdb_writeoptions_t *write;
    rocksdb_transaction_options_t *begin;
    rocksdb_optimistictransaction_options_t *begin_optimistic;
    char prefix[PREFIX]; /* of the keys of this run */
    size_t n_prefix;
    uint32_t loads;
    bool snapshot, locked;
} rocks_own;

typedef struct rocks_conn {
    rocksdb_transaction_t *txn; /* reused: RocksDB clears it at the next begin */
    rocksdb_readoptions_t *read;
    const rocksdb_snapshot_t *snapshot;
    strbuf list;
} rocks_conn;

static bool failed_to_open(db *d, char *error)
{
    if (!error) return false;
    db_fail(d->error, "RocksDB: %s", error);
    rocksdb_free(error);
    return true;
}

static bool chosen(db *d, const char *name, const char *const *words, unsigned *out)
{
    char text[32];
    *out = 0;
    if (!db_parameter(d, name, text, sizeof text)) return true;
    for (unsigned i = 0; words[i]; i++) {
        *out = i;
        if (!strcmp(words[i], text)) return true;
    }
    d->misuse = true;
    db_fail(d->error, "the parameter %s of the URL cannot be \"%s\"", name, text);
    return false;
}

static void set_options(rocks_own *o)
{
    o->options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(o->options, 1);
    /* Optimistic transactions look for conflicts in the memory of what was written last. */
    rocksdb_options_set_max_write_buffer_size_to_maintain(o->options, 64 << 20);
    o->write = rocksdb_writeoptions_create();
    o->begin = rocksdb_transaction_options_create();
    rocksdb_transaction_options_set_set_snapshot(o->begin, o->snapshot);
    rocksdb_transaction_options_set_deadlock_detect(o->begin, 1);
    rocksdb_transaction_options_set_lock_timeout(o->begin, LOCK_MS);
    o->begin_optimistic = rocksdb_optimistictransaction_options_create();
    rocksdb_optimistictransaction_options_set_set_snapshot(o->begin_optimistic, o->snapshot);
}

static bool rocks_open(db *d)
{
    static const char *const known[] = {"kind", "policy", NULL};
    static const char *const kinds[] = {"pessimistic", "optimistic", NULL};
    static const char *const policies[] = {"committed", "prepared", "unprepared", NULL};
    rocks_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    unsigned kind, policy;
    char path[512], *error = NULL;
    if (!db_parameters_known(d, known) || !chosen(d, "kind", kinds, &kind) ||
        !chosen(d, "policy", policies, &policy) || !stored_directory(d, path, sizeof path))
        return false;
    o->locked = !strcmp(d->isolation, "locked");
    o->snapshot = o->locked || !strcmp(d->isolation, "snapshot-isolation");
    set_options(o);
    if (kind) {
        o->optimistic = rocksdb_optimistictransactiondb_open(o->options, path, &error);
    } else {
        rocksdb_transactiondb_options_t *t = rocksdb_transactiondb_options_create();
        if (policy && !rocks_set_policy(t, (enum rocks_policy)policy))
            db_fail(d->error, "this version of RocksDB keeps its write policy in an unknown place");
        else
            o->pessimistic = rocksdb_transactiondb_open(o->options, t, path, &error);
        rocksdb_transactiondb_options_destroy(t);
    }
    if (failed_to_open(d, error) || (!o->optimistic && !o->pessimistic)) return false;
    snprintf(d->version, sizeof d->version, "RocksDB %s", rocks_version());
    db_setting(d, "kind", kinds[kind]);
    db_setting(d, "write_policy", policies[policy]);
    return true;
}

static rocksdb_transaction_t *begun(const rocks_own *o, rocksdb_transaction_t *old)
{
    return o->optimistic ? rocksdb_optimistictransaction_begin(o->optimistic, o->write,
                                                               o->begin_optimistic, old)
                         : rocksdb_transaction_begin(o->pessimistic, o->write, o->begin, old);
}

static size_t whole_key(const rocks_own *o, int64_t key, char *to)
{
    memcpy(to, o->prefix, o->n_prefix);
    stored_key((unsigned char *)to + o->n_prefix, key);
    return o->n_prefix + STORED_KEY;
}

/* Removes what a run has written, a part at a time. */
static void clear_rows(db *d)
{
    rocks_own *o = d->own;
    rocksdb_readoptions_t *read = rocksdb_readoptions_create();
    for (bool more = true; more;) {
        rocksdb_transaction_t *txn = begun(o, NULL);
        rocksdb_iterator_t *i = rocksdb_transaction_create_iterator(txn, read);
        char *error = NULL;
        unsigned n = 0;
        for (rocksdb_iter_seek(i, o->prefix, o->n_prefix);
             rocksdb_iter_valid(i) && n < 1000 && !error; rocksdb_iter_next(i), n++) {
            size_t len;
            const char *key = rocksdb_iter_key(i, &len);
            if (len < o->n_prefix || memcmp(key, o->prefix, o->n_prefix) != 0) break;
            rocksdb_transaction_delete(txn, key, len, &error);
        }
        rocksdb_iter_destroy(i);
        more = n == 1000 && !error;
        if (!error) rocksdb_transaction_commit(txn, &error);
        if (error) rocksdb_free(error);
        rocksdb_transaction_destroy(txn);
    }
    rocksdb_readoptions_destroy(read);
}

static void forget_place(db *d)
{
    rocks_own *o = d->own;
    rocksdb_transaction_t *txn = begun(o, NULL);
    char *error = NULL;
    rocksdb_transaction_delete(txn, d->place, strlen(d->place), &error);
    if (!error) rocksdb_transaction_commit(txn, &error);
    if (error) rocksdb_free(error);
    rocksdb_transaction_destroy(txn);
}

static void rocks_close(db *d)
{
    rocks_own *o = d->own;
    if (!o || !o->options) return;
    if (d->made && !d->temp.running) clear_rows(d);
    if (d->made && !d->temp.running) forget_place(d);
    if (o->optimistic) rocksdb_optimistictransactiondb_close(o->optimistic);
    if (o->pessimistic) rocksdb_transactiondb_close(o->pessimistic);
    rocksdb_optimistictransaction_options_destroy(o->begin_optimistic);
    rocksdb_transaction_options_destroy(o->begin);
    rocksdb_writeoptions_destroy(o->write);
    rocksdb_options_destroy(o->options);
    o->options = NULL;
}

static bool rocks_load(db *d, const db_row *rows, size_t n)
{
    rocks_own *o = d->own;
    /* A limit in time would make a schedule depend on the clock: locks are refused at once. */
    if (d->stepped) rocksdb_transaction_options_set_lock_timeout(o->begin, 0);
    if (d->made) clear_rows(d);
    o->n_prefix = (size_t)snprintf(o->prefix, sizeof o->prefix, "%s/%u/", d->place, o->loads++);
    d->made = true;
    rocksdb_transaction_t *txn = begun(o, NULL);
    char *error = NULL, key[PREFIX + STORED_KEY], text[STORED_NUMBER];
    for (size_t i = 0; !error && i < n; i++) {
        size_t len = whole_key(o, rows[i].key, key);
        rocksdb_transaction_put(txn, key, len, text, stored_number(text, rows[i].value), &error);
    }
    if (!error)
        rocksdb_transaction_put(txn, d->place, strlen(d->place), o->prefix, o->n_prefix, &error);
    if (!error) rocksdb_transaction_commit(txn, &error);
    rocksdb_transaction_destroy(txn);
    return !failed_to_open(d, error);
}

/* The prefix stands under the name of the place. */
static bool rocks_adopt(db *d)
{
    rocks_own *o = d->own;
    rocksdb_readoptions_t *read = rocksdb_readoptions_create();
    rocksdb_transaction_t *txn = begun(o, NULL);
    char *error = NULL;
    size_t n = 0;
    char *found = rocksdb_transaction_get(txn, read, d->place, strlen(d->place), &n, &error);
    bool known = found && n < sizeof o->prefix;
    if (known) memcpy(o->prefix, found, n);
    o->n_prefix = known ? n : 0;
    if (found) rocksdb_free(found);
    rocksdb_transaction_destroy(txn);
    rocksdb_readoptions_destroy(read);
    if (failed_to_open(d, error)) return false;
    if (!known) db_fail(d->error, "RocksDB: the rows that this run loaded are no longer there");
    return d->made = known;
}

/* --- sessions --------------------------------------------------------------------------------- */

typedef struct error_class {
    const char *text; /* with which the message begins */
    enum db_answer statement, commit;
} error_class;

static const error_class error_classes[] = {
#define ROCKSDB_ERROR(text, statement, commit, why) {text, statement, commit},
#include "driver/rocksdb_errors.def"
#undef ROCKSDB_ERROR
};

static enum db_answer told_of(db_session *s, char *error, bool commit)
{
    enum db_answer a = commit ? DB_LOST : DB_BROKEN;
    if (!error) return DB_OK;
    db_fail(s->error, "RocksDB: %s", error);
    for (size_t i = 0; i < sizeof error_classes / sizeof *error_classes; i++)
        if (!strncmp(error, error_classes[i].text, strlen(error_classes[i].text))) {
            a = commit ? error_classes[i].commit : error_classes[i].statement;
            break;
        }
    rocksdb_free(error);
    return a;
}

static enum db_answer told(db_session *s, char *error)
{
    return told_of(s, error, false);
}

static enum db_answer rocks_connect(db_session *s)
{
    rocks_conn *c = s->own = mem_zeroed(s->mem, sizeof *c);
    c->read = rocksdb_readoptions_create();
    strbuf_init(&c->list, s->mem);
    return DB_OK;
}

static void drop_snapshot(rocks_conn *c)
{
    rocksdb_readoptions_set_snapshot(c->read, NULL);
    if (c->snapshot) rocksdb_free((void *)(uintptr_t)c->snapshot);
    c->snapshot = NULL;
}

static enum db_answer rocks_abort(db_session *s)
{
    rocks_conn *c = s->own;
    char *error = NULL;
    drop_snapshot(c);
    rocksdb_transaction_rollback(c->txn, &error);
    return told(s, error) == DB_OK ? DB_OK : DB_LOST;
}

static void rocks_disconnect(db_session *s)
{
    rocks_conn *c = s->own;
    if (!c) return;
    drop_snapshot(c);
    if (c->txn) rocksdb_transaction_destroy(c->txn);
    rocksdb_readoptions_destroy(c->read);
    strbuf_free(&c->list);
    mem_put(s->mem, c);
    s->own = NULL;
}

static unsigned rocks_snapshot(const db *d)
{
    return ((const rocks_own *)d->own)->snapshot ? DB_BEGIN : 0;
}

static enum db_answer rocks_begin(db_session *s)
{
    const rocks_own *o = s->db->own;
    rocks_conn *c = s->own;
    c->txn = begun(o, c->txn);
    if (o->snapshot) {
        c->snapshot = rocksdb_transaction_get_snapshot(c->txn);
        rocksdb_readoptions_set_snapshot(c->read, c->snapshot);
    }
    return DB_OK;
}

static rocksdb_pinnableslice_t *find(const db_session *s, int64_t key, bool lock, char **error)
{
    const rocks_conn *c = s->own;
    char bytes[PREFIX + STORED_KEY];
    size_t n = whole_key(s->db->own, key, bytes);
    return lock ? rocksdb_transaction_get_pinned_for_update(c->txn, c->read, bytes, n, 1, error)
                : rocksdb_transaction_get_pinned(c->txn, c->read, bytes, n, error);
}

static enum db_answer rocks_get(db_session *s, int64_t key, bool lock)
{
    const rocks_own *o = s->db->own;
    char *error = NULL;
    size_t n = 0;
    rocksdb_pinnableslice_t *found = find(s, key, lock || o->locked, &error);
    if (error) return told(s, error);
    const char *value = found ? rocksdb_pinnableslice_value(found, &n) : NULL;
    stored_seen(s, value, n);
    if (found) rocksdb_pinnableslice_destroy(found);
    return DB_OK;
}

static enum db_answer put_text(db_session *s, int64_t key, const char *text, size_t n)
{
    char bytes[PREFIX + STORED_KEY], *error = NULL;
    size_t len = whole_key(s->db->own, key, bytes);
    rocksdb_transaction_put(((rocks_conn *)s->own)->txn, bytes, len, text, n, &error);
    return told(s, error);
}

static enum db_answer rocks_put(db_session *s, int64_t key, int64_t value)
{
    char text[STORED_NUMBER];
    return put_text(s, key, text, stored_number(text, value));
}

/* One step for everybody, as an UPDATE would be: so the read locks. */
static enum db_answer rocks_append(db_session *s, int64_t key, int64_t value)
{
    rocks_conn *c = s->own;
    char *error = NULL;
    size_t n = 0;
    rocksdb_pinnableslice_t *found = find(s, key, true, &error);
    if (error) return told(s, error);
    const char *old = found ? rocksdb_pinnableslice_value(found, &n) : NULL;
    stored_append(&c->list, old, n, value);
    if (found) rocksdb_pinnableslice_destroy(found);
    return put_text(s, key, c->list.at, c->list.n);
}

/* A delete writes, whether the key is there or not. */
static enum db_answer rocks_remove(db_session *s, int64_t key)
{
    if (s->db->tombstones) return put_text(s, key, STORED_TOMB, 1);
    char bytes[PREFIX + STORED_KEY], *error = NULL;
    size_t len = whole_key(s->db->own, key, bytes);
    rocksdb_transaction_delete(((rocks_conn *)s->own)->txn, bytes, len, &error);
    return told(s, error);
}

static enum db_answer rocks_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    const rocks_own *o = s->db->own;
    const rocks_conn *c = s->own;
    char bytes[PREFIX + STORED_KEY], *error = NULL;
    size_t n = whole_key(o, from, bytes);
    rocksdb_iterator_t *i = rocksdb_transaction_create_iterator(c->txn, c->read);
    s->rows.n = 0;
    for (rocksdb_iter_seek(i, bytes, n); rocksdb_iter_valid(i); rocksdb_iter_next(i)) {
        size_t len, vlen;
        const char *key = rocksdb_iter_key(i, &len);
        if (len != n || memcmp(key, o->prefix, o->n_prefix) != 0) break;
        int64_t number = stored_key_of((const unsigned char *)key + o->n_prefix);
        if (number >= to || (limit && s->rows.n >= limit)) break;
        const char *value = rocksdb_iter_value(i, &vlen);
        stored_row(s, number, value, vlen);
    }
    rocksdb_iter_get_error(i, &error);
    rocksdb_iter_destroy(i);
    return told(s, error);
}

static enum db_answer rocks_commit(db_session *s)
{
    rocks_conn *c = s->own;
    char *error = NULL;
    drop_snapshot(c);
    rocksdb_transaction_commit(c->txn, &error);
    enum db_answer a = told_of(s, error, true);
    if (a == DB_REFUSED) rocks_abort(s);
    return a;
}

const driver driver_rocksdb = {
    .name = "rocksdb",
    .isolations = "snapshot-isolation locked none",
    .in_process = true,
    .row_locks = true,
    .open = rocks_open,
    .close = rocks_close,
    .load = rocks_load,
    .adopt = rocks_adopt,
    .connect = rocks_connect,
    .disconnect = rocks_disconnect,
    .snapshot = rocks_snapshot,
    .begin = rocks_begin,
    .get = rocks_get,
    .put = rocks_put,
    .append = rocks_append,
    .remove = rocks_remove,
    .range = rocks_range,
    .commit = rocks_commit,
    .abort = rocks_abort,
};
