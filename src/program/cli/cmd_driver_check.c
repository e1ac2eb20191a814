/*
 * cmd_driver_check.c - ratel driver-check: holds a driver of `exec:` to the protocol.
 *
 * The driver is used as `run` would use it, through driver.h, and then as no run would: with an
 * isolation level and an operation that do not exist, killed within a transaction, stopped within a
 * commit, left with its standard input closed.  Every check is a sentence that held or did not.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "driver/exec_driver.h"

#define MILLISECOND 1000000u
enum { SHORT_MS = 700, THREADS = 4, ROUNDS = 15, BLOCKED_MS = 1500, TRIES = 400 };

typedef struct checker {
    args *a;
    guard guard;
    mem mem;
    db db;
    bool open;
    json_writer *json;
    json_writer to;
    unsigned passed, failed, skipped;
    bool over; /* the driver broke the protocol, and that was told: what fails now is no news */
    db_session one, two;
} checker;

static exec_own *own_of(checker *k)
{
    return k->db.own;
}

/* A thread that does not start is no fault of the driver's, and what follows from it is none. */
static bool start_thread(checker *k, pthread_t *to, void *(*run)(void *), void *ud)
{
    if (!pthread_create(to, NULL, run, ud)) return true;
    own_of(k)->warden.failed_here = GUARD_IO;
    return false;
}

static bool declares(checker *k, unsigned operation)
{
    return own_of(k)->hello.operations & operation;
}

/* --- what is told ----------------------------------------------------------------------------- */

static void tell_outcome(checker *k, const char *outcome, const char *sentence, const char *seen)
{
    if (k->json) {
        jw_object(k->json);
        jw_member_text(k->json, "check", sentence);
        jw_member_text(k->json, "outcome", outcome);
        if (*seen) jw_member_text(k->json, "seen", seen);
        jw_end_object(k->json);
        return;
    }
    printf("%-8s %s", outcome, sentence);
    if (*seen) {
        fputs(": ", stdout);
        visible_to(stdout, seen);
    }
    putchar('\n');
    fflush(stdout);
}

/* What was seen is told of failures only. */
static bool expect(checker *k, bool held, const char *sentence, const char *format, ...)
{
    if (!held && k->over) return false;
    k->over |= !held && own_of(k)->wrong;
    char seen[2 * DB_ERROR] = "";
    va_list ap;
    va_start(ap, format);
    if (!held) vsnprintf(seen, sizeof seen, format, ap);
    va_end(ap);
    k->passed += held;
    k->failed += !held;
    tell_outcome(k, held ? "passed" : "FAILED", sentence, seen);
    return held;
}

static void skip(checker *k, const char *sentence, const char *why)
{
    k->skipped++;
    tell_outcome(k, "skipped", sentence, why);
}

static const char *word_of(enum db_answer a)
{
    static const char *const words[] = {
        [DB_OK] = "done", [DB_REFUSED] = "refused", [DB_LOST] = "unknown", [DB_BROKEN] = "failed"};
    return words[a];
}

/* --- steps ------------------------------------------------------------------------------------ */

static void init_session(checker *k, db_session *s, mem *m)
{
    memset(s, 0, sizeof *s);
    s->db = &k->db;
    s->mem = m;
    s->isolation = k->db.isolation;
    strbuf_init(&s->text, m);
}

static enum db_answer begin(db_session *s)
{
    *s->error = 0;
    return s->db->driver->begin(s);
}

/* One put in a transaction of its own; the answer is that of the first step that was not done. */
static enum db_answer put_alone(db_session *s, int64_t key, int64_t value)
{
    const driver *d = s->db->driver;
    enum db_answer a = begin(s);
    if (a != DB_OK) return a;
    a = d->put(s, key, value);
    if (a == DB_OK) return d->commit(s);
    enum db_answer undone = d->abort(s);
    return undone == DB_OK ? a : DB_LOST;
}

static enum db_answer get_alone(db_session *s, int64_t key)
{
    const driver *d = s->db->driver;
    enum db_answer a = begin(s);
    if (a != DB_OK) return a;
    a = d->get(s, key, false);
    if (a == DB_OK) return d->commit(s);
    d->abort(s);
    return a;
}

static bool load_empty(checker *k, bool lists, bool tombstones)
{
    k->db.lists = lists;
    k->db.tombstones = tombstones;
    return k->db.driver->load(&k->db, NULL, 0);
}

static bool reconnect(db_session *s)
{
    s->db->driver->disconnect(s);
    for (int i = 0; i < 20; i++) {
        if (s->db->driver->connect(s) == DB_OK) return true;
        s->db->driver->disconnect(s);
        clock_nap(20 * MILLISECOND);
    }
    return false;
}

/* Whether the session can be asked anything.  A driver that broke the protocol is never started
   again, so that every answer from then on would be ours and not the driver's. */
static bool usable(checker *k)
{
    return k->one.own && !own_of(k)->wrong;
}

/* --- the hello -------------------------------------------------------------------------------- */

static void check_contracts(checker *k)
{
    const exec_hello *h = &own_of(k)->hello;
    const char *unknown = NULL;
    for (uint32_t i = 0; i < h->n_contracts; i++)
        if (ratel_level_named(h->contracts[i].level, NULL)) unknown = h->contracts[i].level;
    if (!h->n_contracts)
        skip(k, "Contracts name levels that Ratel knows",
             "the driver names none, so that ratel test needs --level");
    else
        expect(k, !unknown, "Contracts name levels that Ratel knows", "%s is none",
               unknown ? unknown : "");
}

/* Every isolation that was declared can be asked for. */
static void check_isolations(checker *k)
{
    char word[80];
    const char *p = own_of(k)->driver.isolations;
    while (*p) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        p += n + strspn(p + n, " ");
        char sentence[160];
        snprintf(sentence, sizeof sentence, "A transaction at %s begins, reads and commits", word);
        k->one.isolation = word;
        enum db_answer a = get_alone(&k->one, 1);
        expect(k, a == DB_OK, sentence, "%s", k->one.error);
    }
    if (!usable(k)) return;
    k->one.isolation = "no-such-level";
    enum db_answer a = begin(&k->one);
    expect(k, a == DB_BROKEN, "An unknown isolation level gets the answer \"failed\"",
           "the answer was %s", word_of(a));
    if (a == DB_OK) k->db.driver->abort(&k->one);
    k->one.isolation = k->db.isolation;
    exec_talk *t = exec_session_talk(&k->one);
    exec_talk_begin(t, "no-such-operation");
    a = exec_talk_send(t);
    expect(k, a == DB_BROKEN, "An unknown operation gets the answer \"failed\"",
           "the answer was %s (%s)", word_of(a), k->one.error);
    a = get_alone(&k->one, 1);
    if (!expect(k, a == DB_OK, "The session can still be used after that", "%s", k->one.error))
        reconnect(&k->one);
}

/* --- single operations ------------------------------------------------------------------------ */

static void check_put(checker *k)
{
    const driver *d = k->db.driver;
    db_session *s = &k->one;
    enum db_answer a = get_alone(s, 1);
    expect(k, a == DB_OK && s->absent, "A key of an empty table is absent", "%s",
           a == DB_OK ? "it has a value" : s->error);
    a = begin(s);
    if (a == DB_OK) a = d->put(s, 1, 11);
    if (a == DB_OK) a = d->get(s, 1, false);
    expect(k, a == DB_OK && !s->absent && s->value == 11, "A transaction reads its own put", "%s",
           a == DB_OK ? "it does not" : s->error);
    a = d->commit(s);
    expect(k, a == DB_OK, "It commits", "%s", s->error);
    a = get_alone(s, 1);
    expect(k, a == DB_OK && !s->absent && s->value == 11, "The next transaction reads it", "%s",
           a == DB_OK ? "it does not" : s->error);
    a = put_alone(s, 1, 12);
    if (a == DB_OK) a = get_alone(s, 1);
    expect(k, a == DB_OK && s->value == 12, "A put replaces the value of an existing key", "%s",
           a == DB_OK ? "it does not" : s->error);
    const int64_t large = ((int64_t)1 << 62) + 1;
    a = put_alone(s, 2, large);
    if (a == DB_OK) a = get_alone(s, 2);
    static const char numbers[] = "Numbers of 63 bits come back unchanged";
    if (a != DB_OK || s->absent)
        expect(k, false, numbers, "%s", a == DB_OK ? "the value is absent" : s->error);
    else
        expect(k, s->value == large, numbers,
               "%lld came back as %lld (see \"numbers\" in doc/drivers.md)", (long long)large,
               (long long)s->value);
}

static void check_abort(checker *k)
{
    const driver *d = k->db.driver;
    db_session *s = &k->one;
    put_alone(s, 3, 31);
    enum db_answer a = begin(s);
    if (a == DB_OK) a = d->put(s, 3, 32);
    if (a == DB_OK) a = d->put(s, 4, 41);
    enum db_answer undone = d->abort(s);
    expect(k, a == DB_OK && undone == DB_OK, "A transaction is aborted", "%s", s->error);
    a = get_alone(s, 3);
    bool old = a == DB_OK && !s->absent && s->value == 31;
    a = get_alone(s, 4);
    expect(k, old && a == DB_OK && s->absent, "Its puts are gone, and the old values are back",
           "%s", a == DB_OK ? "they are not" : s->error);
}

static void check_delete(checker *k)
{
    const driver *d = k->db.driver;
    db_session *s = &k->one;
    static const char sentence[] = "A delete says whether it found the row, and removes it";
    if (!declares(k, EXEC_DELETE)) {
        skip(k, sentence, "delete is not declared");
        return;
    }
    put_alone(s, 5, 51);
    enum db_answer a = begin(s);
    s->idle = false;
    if (a == DB_OK) a = d->remove(s, 5);
    bool first = !s->idle;
    if (a == DB_OK) a = d->remove(s, 5);
    bool second = s->idle;
    if (a == DB_OK) a = d->get(s, 5, false);
    expect(k, a == DB_OK && first && second && s->absent, sentence, "%s",
           a != DB_OK ? s->error
           : !first   ? "it says that it did not find a row that is there"
           : !second  ? "it says that it found a row that is not there"
                      : "the row is still there");
    d->abort(s);
    a = get_alone(s, 5);
    expect(k, a == DB_OK && !s->absent && s->value == 51, "An abort brings a deleted row back",
           "%s", a == DB_OK ? "it does not" : s->error);
}

static void check_range(checker *k)
{
    const driver *d = k->db.driver;
    db_session *s = &k->one;
    static const char sentence[] =
        "A range returns the keys from its start up to, but without, its end, in order";
    if (!declares(k, EXEC_RANGE)) {
        skip(k, sentence, "range is not declared");
        return;
    }
    for (int64_t i = 0; i < 5; i++) put_alone(s, 110 - i * 2, 7 + i);
    enum db_answer a = begin(s);
    if (a == DB_OK) a = d->range(s, 104, 110, 0);
    bool right = a == DB_OK && s->rows.n == 3 && s->rows.at[0].key == 104 &&
                 s->rows.at[0].value == 10 && s->rows.at[1].key == 106 && s->rows.at[2].key == 108;
    expect(k, right, sentence, "%s", a == DB_OK ? "it returns other rows" : s->error);
    if (a == DB_OK) a = d->range(s, 100, 120, 2);
    expect(k, a == DB_OK && s->rows.n == 2 && s->rows.at[0].key == 102,
           "A range with a limit returns its first rows", "%s",
           a == DB_OK ? "it does not" : s->error);
    static const char backwards[] =
        "A reverse range returns the keys from its end, in reverse order";
    s->reverse = true;
    if (!declares(k, EXEC_REVERSE)) {
        skip(k, backwards, "reverse is not declared");
    } else {
        if (a == DB_OK) a = d->range(s, 104, 110, 2);
        right = a == DB_OK && s->rows.n == 2 && s->rows.at[0].key == 108 &&
                s->rows.at[0].value == 8 && s->rows.at[1].key == 106;
        expect(k, right, backwards, "%s", a == DB_OK ? "it returns other rows" : s->error);
    }
    s->reverse = false;
    d->abort(s);
}

static void check_lock(checker *k)
{
    static const char sentence[] = "A locking read returns the value";
    if (!declares(k, EXEC_LOCK)) {
        skip(k, sentence, "lock is not declared");
        return;
    }
    put_alone(&k->one, 6, 61);
    enum db_answer a = begin(&k->one);
    if (a == DB_OK) a = k->db.driver->get(&k->one, 6, true);
    expect(k, a == DB_OK && k->one.value == 61, sentence, "%s", k->one.error);
    k->db.driver->abort(&k->one);
}

static void check_add(checker *k)
{
    const driver *d = k->db.driver;
    db_session *s = &k->one;
    static const char sentence[] = "An addition returns the sum, and an upsert creates the row";
    if (!declares(k, EXEC_ADD)) {
        skip(k, sentence, "add is not declared");
        return;
    }
    put_alone(s, 7, 71);
    enum db_answer a = begin(s);
    if (a == DB_OK) a = d->add(s, 7, 4, false);
    bool sum = !s->absent && s->value == 75;
    if (a == DB_OK) a = d->add(s, 8, 4, false);
    bool none = s->absent;
    if (a == DB_OK) a = d->add(s, 8, 5, true);
    bool made = !s->absent && s->value == 5;
    if (a == DB_OK) a = d->add(s, 8, 2, true);
    bool added = !s->absent && s->value == 7;
    if (a == DB_OK) a = d->get(s, 7, false);
    expect(k, a == DB_OK && sum && none && made && added && s->value == 75, sentence, "%s",
           a != DB_OK ? s->error
           : !sum     ? "the sum is wrong"
           : !none    ? "an addition to a row that does not exist does not return null"
           : !made    ? "an upsert of a row that does not exist returns another value"
           : !added   ? "an upsert of an existing row returns another value"
                      : "the sum was not written");
    d->abort(s);
}

static void check_savepoint(checker *k)
{
    const driver *d = k->db.driver;
    db_session *s = &k->one;
    static const char sentence[] = "A savepoint undoes what came after it, and nothing else";
    if (!declares(k, EXEC_SAVEPOINT)) {
        skip(k, sentence, "savepoint is not declared");
        return;
    }
    put_alone(s, 9, 91);
    enum db_answer a = begin(s);
    if (a == DB_OK) a = d->put(s, 9, 92);
    if (a == DB_OK) a = d->nest(s, DB_SAVEPOINT);
    if (a == DB_OK) a = d->put(s, 9, 93);
    if (a == DB_OK) a = d->nest(s, DB_UNDO);
    if (a == DB_OK) a = d->get(s, 9, false);
    bool undone = s->value == 92;
    if (a == DB_OK) a = d->nest(s, DB_SAVEPOINT);
    if (a == DB_OK) a = d->put(s, 9, 94);
    if (a == DB_OK) a = d->nest(s, DB_KEEP);
    if (a == DB_OK) a = d->commit(s);
    if (a == DB_OK) a = get_alone(s, 9);
    expect(k, a == DB_OK && undone && s->value == 94, sentence, "%s",
           a != DB_OK ? s->error
           : undone   ? "what was kept is missing"
                      : "what was undone is not undone");
}

/* An abort, as it follows a write that was refused, does not undo one that was done. */
static void check_autocommit(checker *k)
{
    const driver *d = k->db.driver;
    db_session *s = &k->one;
    static const char sentence[] =
        "A write outside of a transaction takes effect at once and is permanent";
    if (!d->alone) {
        skip(k, sentence, "autocommit is not declared");
        return;
    }
    put_alone(s, 20, 201);
    enum db_answer a = d->put(s, 20, 202);
    if (a == DB_OK) a = d->get(s, 20, false);
    bool seen = !s->absent && s->value == 202;
    if (a == DB_OK) a = d->abort(s);
    if (a == DB_OK) a = reconnect(s) ? get_alone(s, 20) : DB_LOST;
    expect(k, a == DB_OK && seen && !s->absent && s->value == 202, sentence, "%s",
           a != DB_OK ? s->error
           : !seen    ? "a read outside of a transaction does not show it"
                      : "it is gone after an abort and a new session");
}

static void check_tombstones(checker *k)
{
    db_session *s = &k->one;
    static const char sentence[] = "A buried row is absent, and its tombstone can be seen";
    if (!declares(k, EXEC_BURY)) {
        skip(k, sentence, "bury is not declared");
        return;
    }
    bool made = load_empty(k, false, true) && reconnect(s);
    enum db_answer a = made ? put_alone(s, 1, 11) : DB_BROKEN;
    if (a == DB_OK) a = begin(s);
    if (a == DB_OK) a = k->db.driver->remove(s, 1);
    if (a == DB_OK) a = k->db.driver->commit(s);
    if (a == DB_OK) a = get_alone(s, 1);
    expect(k, a == DB_OK && s->absent && s->tomb, sentence, "%s",
           a == DB_OK ? "the answer to get lacks \"value\":null,\"tomb\":true"
           : made     ? s->error
                      : k->db.error);
}

static void check_lists(checker *k)
{
    db_session *s = &k->one;
    static const char sentence[] = "Lists are read in the order of their appends";
    if (!declares(k, EXEC_APPEND)) {
        skip(k, sentence, "append is not declared");
        return;
    }
    bool made = load_empty(k, true, false) && reconnect(s);
    enum db_answer a = made ? begin(s) : DB_BROKEN;
    if (a == DB_OK) a = k->db.driver->append(s, 1, 5);
    if (a == DB_OK) a = k->db.driver->append(s, 1, 3);
    if (a == DB_OK) a = k->db.driver->commit(s);
    if (a == DB_OK) a = get_alone(s, 1);
    expect(k, a == DB_OK && !strcmp(strbuf_cstr(&s->text), "5,3"), sentence, "%s",
           a == DB_OK ? strbuf_cstr(&s->text)
           : made     ? s->error
                      : k->db.error);
}

/* --- several sessions ------------------------------------------------------------------------- */

typedef struct helper {
    checker *k;
    pthread_t thread;
    guard guard;
    mem mem;
    db_session s;
    int64_t key;
    unsigned number, committed, refused, tries;
    enum db_answer last;
    bool same; /* every thread works on one key */
    char error[DB_ERROR];
} helper;

static enum db_answer add_one(db_session *s, int64_t key)
{
    const driver *d = s->db->driver;
    enum db_answer a = begin(s);
    if (a != DB_OK) return a;
    a = d->get(s, key, false);
    int64_t value = s->absent ? 0 : s->value;
    if (a == DB_OK) a = d->put(s, key, value + 1);
    if (a == DB_OK) return d->commit(s);
    return d->abort(s) == DB_OK ? a : DB_LOST;
}

static void *count_up(void *arg)
{
    helper *h = arg;
    if (guard_armed(&h->guard)) {
        h->last = DB_BROKEN;
        return NULL;
    }
    const driver *d = h->k->db.driver;
    h->last = d->connect(&h->s);
    for (; h->last == DB_OK && h->committed < ROUNDS && h->tries < TRIES; h->tries++) {
        h->last = add_one(&h->s, h->key);
        h->committed += h->last == DB_OK;
        h->refused += h->last == DB_REFUSED;
        if (h->last == DB_REFUSED) {
            /* each thread waits otherwise than the others, lest all meet again and again; and
               longer in the end, since another one's transaction may take its time */
            uint64_t ms = 1 + (7 * h->number + 5 * h->tries) % 37;
            clock_nap(ms * (1 + h->tries / 40) * MILLISECOND);
            h->last = DB_OK;
        }
    }
    snprintf(h->error, sizeof h->error, "%s", h->s.error);
    d->disconnect(&h->s);
    return NULL;
}

static uint32_t most_sessions(checker *k)
{
    uint32_t most = own_of(k)->hello.most;
    return most && most < THREADS ? most : THREADS;
}

/* Runs the threads; the number that ended as they should. */
static unsigned run_helpers(checker *k, helper *h, uint32_t n, bool same)
{
    unsigned good = 0;
    for (uint32_t i = 0; i < n; i++) {
        h[i] = (helper){.k = k, .number = i, .key = same ? 200 : 300 + i, .same = same};
        guard_init(&h[i].guard);
        mem_init(&h[i].mem, mem_libc, NULL, &h[i].guard);
        init_session(k, &h[i].s, &h[i].mem);
        if (!start_thread(k, &h[i].thread, count_up, &h[i])) h[i].k = NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (h[i].k) pthread_join(h[i].thread, NULL);
        good += h[i].k && h[i].last == DB_OK;
        if (h[i].guard.code == GUARD_NOMEM) own_of(k)->warden.failed_here = GUARD_NOMEM;
        mem_free_all(&h[i].mem);
    }
    return good;
}

/* Whether what the contract says rules lost updates out. */
static bool keeps_updates(checker *k)
{
    static const char *const levels[] = {"serializable", "strict-serializable",
                                         "snapshot-isolation", "strong-snapshot-isolation",
                                         "parallel-snapshot-isolation"};
    const contract *c = contract_of(&k->db);
    for (size_t i = 0; c && i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(c->level, levels[i])) return true;
    return false;
}

/* A session that committed nothing has left no key; an unknown outcome may have counted. */
static bool holds_count(checker *k, const helper *h)
{
    if (get_alone(&k->one, h->key) != DB_OK) return false;
    int64_t there = k->one.absent ? 0 : k->one.value, least = (int64_t)h->committed;
    return there == least || (h->last == DB_LOST && there == least + 1);
}

static void check_sessions(checker *k)
{
    helper h[THREADS];
    uint32_t n = most_sessions(k);
    if (n < 2) {
        skip(k, "Sessions work at the same time", "the driver allows one session");
        return;
    }
    unsigned good = run_helpers(k, h, n, false);
    uint32_t first = 0;
    while (first + 1 < n && h[first].last == DB_OK) first++;
    expect(k, good == n, "Sessions that use different keys work at the same time", "%s",
           h[first].error);
    unsigned right = 0;
    for (uint32_t i = 0; i < n; i++) right += holds_count(k, &h[i]);
    expect(k, right == n, "Everything that they committed is there", "of %u sessions %u", n, right);
    static const char sentence[] =
        "No committed increment is lost when sessions increment the same key";
    if (!keeps_updates(k)) {
        skip(k, sentence, "no contract rules out lost updates");
        return;
    }
    run_helpers(k, h, n, true);
    unsigned committed = 0, refused = 0, lost = 0;
    const helper *bad = NULL; /* ended by what is neither "done" nor "refused" */
    for (uint32_t i = 0; i < n; i++) {
        committed += h[i].committed;
        refused += h[i].refused;
        lost += h[i].last == DB_LOST;
        if (!bad && h[i].last != DB_OK) bad = &h[i];
    }
    if (bad && !committed) {
        expect(k, false, sentence, "none was committed; one was answered \"%s\": %s",
               word_of(bad->last), bad->error);
        return;
    }
    enum db_answer a = get_alone(&k->one, 200);
    if (a != DB_OK) {
        expect(k, false, sentence, "the value of the key cannot be read: %s", k->one.error);
        return;
    }
    int64_t there = k->one.absent ? 0 : k->one.value, least = (int64_t)committed;
    expect(
        k, there >= least && there <= least + lost, sentence,
        "%u increments were answered \"done\" and %u \"refused\", but the value is %lld: either an "
        "outcome is mapped wrongly or the engine loses updates",
        committed, refused, (long long)there);
}

static void *read_other(void *arg)
{
    helper *h = arg;
    if (guard_armed(&h->guard)) {
        h->last = DB_BROKEN;
        return NULL;
    }
    h->last = h->k->db.driver->connect(&h->s);
    if (h->last == DB_OK) h->last = get_alone(&h->s, 7);
    snprintf(h->error, sizeof h->error, "%s", h->s.error);
    h->tries = h->s.absent;
    h->key = h->s.value;
    h->k->db.driver->disconnect(&h->s);
    return NULL;
}

/* The reader may have to wait until the writer has ended: locks do that. */
static void check_dirty(checker *k)
{
    static const char sentence[] = "Another session does not read what was not committed";
    db_session *s = &k->one;
    if (most_sessions(k) < 2 || !strcmp(k->db.isolation, "read-uncommitted")) {
        skip(k, sentence, "one session, or read-uncommitted");
        return;
    }
    put_alone(s, 7, 71);
    enum db_answer a = begin(s);
    if (a == DB_OK) a = k->db.driver->put(s, 7, 72);
    helper h = {.k = k};
    guard_init(&h.guard);
    mem_init(&h.mem, mem_libc, NULL, &h.guard);
    init_session(k, &h.s, &h.mem);
    bool started = start_thread(k, &h.thread, read_other, &h);
    for (uint64_t begun = clock_now();
         started && clock_now() - begun < (uint64_t)BLOCKED_MS * MILLISECOND;) {
        clock_nap(10 * MILLISECOND);
        if (!pthread_tryjoin_np(h.thread, NULL)) started = false;
    }
    k->db.driver->abort(s);
    if (started) pthread_join(h.thread, NULL);
    bool fair = h.last == DB_REFUSED || (h.last == DB_OK && h.key == 71);
    if (a != DB_OK || h.last == DB_OK)
        expect(k, a == DB_OK && fair, sentence, "%s", a != DB_OK ? s->error : "it does");
    else
        expect(k, fair, sentence,
               "the read was answered \"%s\", but a read that finds a lock is \"refused\": %s",
               word_of(h.last), h.error);
    if (h.guard.code == GUARD_NOMEM) own_of(k)->warden.failed_here = GUARD_NOMEM;
    mem_free_all(&h.mem);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void check_stopped(checker *k)
{
    db_session *s = &k->one;
    put_alone(s, 8, 81);
    enum db_answer a = begin(s);
    if (a == DB_OK) a = k->db.driver->put(s, 8, 82);
    exec_talk *t = exec_session_talk(s);
    pid_t pid = t->child->process.pid;
    uint32_t usual = t->timeout_ms;
    if (a != DB_OK || !pid) {
        expect(k, false, "A driver is stopped during a commit", "%s", s->error);
        return;
    }
    t->timeout_ms = SHORT_MS;
    kill(pid, SIGSTOP);
    uint64_t begun = clock_now();
    a = k->db.driver->commit(s);
    uint64_t ms = (clock_now() - begun) / MILLISECOND;
    t->timeout_ms = usual;
    expect(k, a == DB_LOST && ms < 10000,
           "A commit that is not answered in time has an unknown outcome", "%s after %llu ms",
           word_of(a), (unsigned long long)ms);
    expect(k, kill(pid, 0) != 0, "The program that did not answer in time has been ended",
           "process %ld is still there", (long)pid);
}

static void check_killed(checker *k)
{
    db_session *s = &k->one;
    put_alone(s, 9, 91);
    enum db_answer a = begin(s);
    if (a == DB_OK) a = k->db.driver->put(s, 9, 92);
    pid_t pid = exec_session_talk(s)->child->process.pid;
    if (a == DB_OK && pid) kill(pid, SIGKILL);
    a = k->db.driver->get(s, 9, false);
    bool inside = own_of(k)->hello.inside;
    expect(k, a == (inside ? DB_BROKEN : DB_LOST),
           "It is noticed that a driver was killed during a transaction", "%s", word_of(a));
    if (inside) return;
    bool back = reconnect(s);
    if (!expect(k, back, "A new session works after that", "%s", s->error)) return;
    a = get_alone(s, 9);
    expect(k, a == DB_OK && !s->absent && s->value == 91,
           "What the killed program had committed is there, and nothing else of it", "%s",
           a == DB_OK ? "this is not so: does the driver commit before it is asked to?" : s->error);
}

static void check_farewell(checker *k)
{
    exec_child c;
    char why[160], how[80];
    if (!exec_child_start(&c, &own_of(k)->warden, why, sizeof why)) {
        expect(k, false, "A second program starts", "%s", why);
        return;
    }
    pid_t pid = c.process.pid;
    close(c.process.in);
    c.process.in = -1;
    exec_warden_kill(&own_of(k)->warden, pid, 10000, how, sizeof how);
    c.process.pid = 0;
    expect(k, strcmp(how, "was killed") != 0,
           "A driver ends by itself when its standard input is closed", "it had to be killed");
    exec_child_end(&c, 0);
}

/* Tells once why the checks end here. */
static void give_up(checker *k)
{
    k->over = false;
    if (own_of(k)->wrong)
        expect(k, false, "The driver keeps the protocol until the end", "%s", own_of(k)->why);
    else
        skip(k, "The remaining checks", "no new session could be connected");
}

/* --- the command ------------------------------------------------------------------------------ */

/* The checks of a session that is connected; it may have none when they end. */
static void check_session(checker *k)
{
    db_session *s = &k->one;
    static void (*const checks[])(checker *) = {
        check_put,      check_isolations, check_abort,     check_delete,     check_range,
        check_lock,     check_add,        check_savepoint, check_autocommit, check_dirty,
        check_sessions, check_tombstones, check_lists};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        checks[i](k);
        /* what failed on our side may have cost the session, and says nothing of the driver */
        if (own_of(k)->warden.failed_here) return;
        if (!usable(k)) {
            give_up(k);
            return;
        }
    }
    bool made = load_empty(k, false, false);
    if (!expect(k, made && reconnect(s), "The table is created again", "%s", k->db.error)) return;
    if (!own_of(k)->hello.inside) {
        check_stopped(k);
        expect(k, reconnect(s), "A new session works after that", "%s", s->error);
    } else {
        skip(k, "A commit that is not answered in time has an unknown outcome",
             "the database would end with the program");
    }
    if (!own_of(k)->hello.many) check_farewell(k);
    if (usable(k))
        check_killed(k);
    else
        give_up(k);
}

static void check_all(checker *k)
{
    db_session *s = &k->one;
    init_session(k, s, &k->mem);
    check_contracts(k);
    bool made = load_empty(k, false, false);
    if (!expect(k, made, "The driver makes an empty table", "%s", k->db.error)) return;
    enum db_answer a = k->db.driver->connect(s);
    if (expect(k, a == DB_OK, "A session connects", "%s", s->error)) check_session(k);
    k->db.driver->disconnect(s);
}

static int report(checker *k)
{
    if (k->json) {
        jw_end_array(k->json);
        jw_member_u64(k->json, "passed", k->passed);
        jw_member_u64(k->json, "failed", k->failed);
        jw_member_u64(k->json, "skipped", k->skipped);
        jw_end_object(k->json);
        jw_end_line(k->json);
    } else if (k->skipped) {
        printf("%u passed, %u failed, %u skipped\n", k->passed, k->failed, k->skipped);
    } else {
        printf("%u passed, %u failed\n", k->passed, k->failed);
    }
    int here = own_of(k)->warden.failed_here;
    if (k->failed && here) { /* it would be held against the driver */
        complain("driver-check: %s here, so the checks that FAILED say nothing about the driver",
                 here == GUARD_NOMEM
                     ? "memory ran out"
                     : "a request could not be sent, or a process or thread not started");
        return exit_of(here);
    }
    return k->failed ? EXIT_VIOLATED : EXIT_HOLDS;
}

static void tell_hello(checker *k)
{
    const exec_hello *h = &own_of(k)->hello;
    if (k->json) {
        jw_object(k->json);
        jw_member_u64(k->json, "schema", 1);
        jw_member_text(k->json, "driver", h->driver);
        jw_member_text(k->json, "database", k->db.version);
        jw_member_text(k->json, "isolations", own_of(k)->driver.isolations);
        jw_member_array(k->json, "checks");
        return;
    }
    fputs("The driver ", stdout);
    visible_to(stdout, h->driver);
    fputs(" serves ", stdout);
    visible_to(stdout, k->db.version);
    printf(" with %s, at: %s\n", h->many ? "one program for all sessions" : "a program per session",
           own_of(k)->driver.isolations);
}

static int check_driver(checker *k, const char *driver_command)
{
    strbuf url;
    strbuf_init(&url, &k->mem);
    strbuf_printf(&url, "exec:%s", driver_command);
    const char *isolation = k->a->value[O_ISOLATION];
    k->open = db_open(&k->db, &k->mem, strbuf_cstr(&url), isolation ? isolation : "");
    if (!k->open) {
        complain("driver-check: %s", k->db.error);
        return k->db.misuse ? EXIT_USAGE : EXIT_IO;
    }
    k->to = json_file(stdout);
    if (k->a->value[O_JSON]) k->json = &k->to;
    tell_hello(k);
    check_all(k);
    int status = report(k);
    db_close(&k->db);
    k->open = false;
    return status;
}

int cmd_driver_check(args *a)
{
    if (a->n_files != 1) {
        complain(a->n_files ? "driver-check: the command is one argument; put quotes around it"
                            : "driver-check: no command given");
        return EXIT_USAGE;
    }
    checker k = {.a = a};
    guard_init(&k.guard);
    mem_init(&k.mem, mem_libc, NULL, &k.guard);
    int status;
    if (guard_armed(&k.guard)) {
        complain("driver-check: %s", k.guard.text);
        bool open = k.open;
        k.open = false; /* closing needs memory as well: if that fails we are here again */
        if (open) db_close(&k.db);
        status = exit_of(k.guard.code);
    } else {
        status = check_driver(&k, a->files[0]);
    }
    mem_free_all(&k.mem);
    return status;
}
