/*
 * stepper.c - the scheduler of scripts (stepper.h).
 *
 * Every session is a thread that executes one call at a time; this file's other thread, the
 * caller's, hands out steps and waits for answers.  The questions to the server are asked by a
 * third kind of thread, so that a server that is silent holds nobody for ever.  All that several
 * threads see is under one lock.
 *
 * Traps: a session that waits may be let go by the step of another one, some moments later, so
 * after every step all that waited are looked at again before the next one starts.  A call may
 * look like waiting for an instant only, before the server has found that it would be a deadlock;
 * so a wait counts if it is seen twice, and if there is somebody left to wait for.
 */
#include "step/stepper.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "step/key_statement.h"

#define FIRST_LOOK 2000000u /* most statements have answered by then */
#define NEXT_LOOK 4000000u
#define SILENCE 150000000u           /* no answer for so long: it waits, if nobody can be asked */
#define PATIENCE 30000000000ull      /* beyond it the server is taken to hang */
#define DEADLOCK_FOUND 1500000000ull /* servers look for deadlocks at once, or after a second */
#define CUT_OFF 5000000000ull        /* a connection that was cut returns by then */

typedef struct stepping_session {
    stepper *all;
    db_session db;
    guard guard;
    mem mem;
    pthread_t thread;
    bool started; /* the thread is there */
    /* under the lock */
    bool busy, quit;
    const char *sql;  /* to run */
    step_result *to;  /* where its result goes */
    bool held;        /* its commits are */
    bool waits;       /* as far as we know */
    uint64_t answers; /* how many of its steps have returned */
    uint64_t since;   /* when the call began */
    /* of the thread alone */
    bool open; /* there is a transaction */
    bool over; /* it was refused: what is left of it is not run */
    uint32_t txn;
} stepping_session;

struct stepper {
    db *db;
    mem *mem;
    bool sql;
    uint32_t n;
    stepping_session *sessions;
    db_session watcher;
    guard watch_guard; /* armed in the watcher's thread, which alone uses that memory */
    mem watch_mem;
    pthread_t watch_thread;
    bool watched; /* the thread is there */
    bool watches; /* there are that session and its thread, and the server can tell */
    bool quit;    /* under the lock, as what follows: the thread shall end */
    bool lags;    /* a node did not come up to the primary */
    bool deaf;    /* a question has been open for too long: nothing of the watcher may be touched */
    stepping_session *question; /* NULL: none is open */
    enum db_waiting told;
    pthread_mutex_t lock;
    pthread_cond_t work, done, asked;
    uint64_t answers; /* how many steps have returned */
};

/* --- in the session's thread ------------------------------------------------------------------ */

static void keep_rows(stepping_session *s, step_result *r)
{
    db_session *d = &s->db;
    mem *m = &s->mem; /* whose guard is armed in this thread */
    r->has_rows = d->has_rows;
    r->n_rows = d->n_rows;
    r->n_cols = d->n_cols;
    r->affected = d->affected;
    if (!d->has_rows) return;
    db_cell *cells = mem_array(m, db_cell, d->cells.n ? d->cells.n : 1);
    if (d->cells.n) memcpy(cells, d->cells.at, d->cells.n * sizeof *cells);
    /* A 0 after each value, which not every adapter writes. */
    char *text = mem_get(m, d->text.n + d->cells.n + 1);
    for (size_t i = 0, at = 0; i < d->cells.n; i++) {
        if (cells[i].at == UINT32_MAX) continue;
        memcpy(text + at, d->text.at + cells[i].at, cells[i].n);
        cells[i].at = (uint32_t)at;
        at += cells[i].n;
        text[at++] = 0;
    }
    r->cells = cells;
    r->text = text;
}

static void add_number(db_session *d, int64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)v);
    db_cell c = {(uint32_t)d->text.n, (uint32_t)n, DB_NUMBER};
    strbuf_add(&d->text, text, (size_t)n);
    strbuf_char(&d->text, 0);
    vec_push(d->mem, &d->cells, c);
}

static void add_pair(db_session *d, int64_t key, int64_t value)
{
    add_number(d, key);
    add_number(d, value);
    d->n_rows++;
}

/* The statement as a call on keys; what it returned is laid out as rows of (id, value). */
static enum db_answer call_on_keys(db_session *d, const key_statement *k)
{
    const driver *v = d->db->driver;
    enum db_answer a = DB_BROKEN;
    d->has_rows = k->action == KEY_GET || k->action == KEY_RANGE;
    d->idle = false;
    if (k->action == KEY_GET) a = v->get(d, k->key, k->lock);
    if (k->action == KEY_RANGE && v->range) a = v->range(d, k->key, k->to, 0);
    if (k->action == KEY_UPDATE || k->action == KEY_INSERT || k->action == KEY_PUT)
        a = v->put(d, k->key, k->value);
    if (k->action == KEY_DELETE) a = v->remove(d, k->key);
    d->cells.n = d->n_rows = 0;
    d->n_cols = 2;
    d->affected = !d->idle;
    d->text.n = 0;
    if (a != DB_OK) return a;
    if (k->action == KEY_GET && !d->absent) add_pair(d, k->key, d->value);
    for (size_t i = 0; k->action == KEY_RANGE && i < d->rows.n; i++)
        add_pair(d, d->rows.at[i].key, d->rows.at[i].value);
    return DB_OK;
}

static enum db_answer begin_transaction(stepping_session *s, step_result *r)
{
    db_session *d = &s->db;
    d->isolation = d->db->isolation;
    r->begin = clock_now();
    enum db_answer a = d->db->driver->begin(d);
    r->begun = clock_now();
    s->open = a == DB_OK;
    s->over = a != DB_OK;
    return a;
}

static enum db_answer end_transaction(stepping_session *s, bool commit, step_result *r)
{
    db_session *d = &s->db;
    const driver *v = d->db->driver;
    enum db_answer a = DB_OK;
    if (commit && v->mark && s->all->sql) v->mark(d);
    r->call = clock_now();
    a = commit ? v->commit(d) : v->abort(d);
    r->end = clock_now();
    int64_t stamp;
    if (commit && a == DB_OK && v->stamp && s->all->sql && v->stamp(d, &stamp)) r->stamp = stamp;
    s->open = false;
    s->txn++;
    if (commit && a != DB_OK && v->abort(d) == DB_LOST) a = DB_LOST;
    return a;
}

static void refuse_rest(stepping_session *s)
{
    if (s->open) s->db.db->driver->abort(&s->db);
    s->open = false;
    s->over = true;
}

static void run_step(stepping_session *s, const char *sql, step_result *r)
{
    db_session *d = &s->db;
    key_statement k = key_statement_of(sql);
    bool ends = k.action == KEY_COMMIT || k.action == KEY_ABORT;
    enum db_answer a = DB_OK;
    r->txn = s->txn;
    r->stamp = -1;
    *d->state = *d->error = 0;
    d->has_rows = false;
    d->n_rows = d->n_cols = 0;
    d->affected = 0;
    if (s->over) { /* until the end of what was refused */
        s->over = !ends;
        s->txn += ends;
        return;
    }
    if (!s->open && !ends) a = begin_transaction(s, r);
    r->call = clock_now();
    if (a == DB_OK && ends)
        a = end_transaction(s, k.action == KEY_COMMIT, r);
    else if (a == DB_OK && k.action != KEY_BEGIN)
        a = s->all->sql ? d->db->driver->query(d, sql, NULL, 0) : call_on_keys(d, &k);
    if (!ends) r->end = clock_now();
    r->how = a == DB_OK ? STEP_DONE : a == DB_LOST ? STEP_LOST : STEP_REFUSED;
    memcpy(r->state, d->state, sizeof r->state);
    snprintf(r->error, sizeof r->error, "%s", d->error);
    if (a != DB_OK && !ends) refuse_rest(s);
}

static void *session_thread(void *given)
{
    stepping_session *s = given;
    stepper *all = s->all;
    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (!s->sql && !s->quit) pthread_cond_wait(&all->work, &all->lock);
        if (s->quit) break;
        step_result *r = s->to;
        const char *sql = s->sql;
        pthread_mutex_unlock(&all->lock);
        if (!guard_armed(&s->guard)) {
            run_step(s, sql, r);
            if (r->how == STEP_DONE) keep_rows(s, r);
        } else {
            r->how = STEP_LOST;
            snprintf(r->error, sizeof r->error, "%.400s", s->guard.text);
        }
        pthread_mutex_lock(&all->lock);
        s->sql = NULL;
        s->busy = s->waits = false;
        s->answers++;
        all->answers++;
        pthread_cond_broadcast(&all->done);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* --- in the watcher's ------------------------------------------------------------------------- */

/* (Without memory the server is not asked.) */
static enum db_waiting ask_server(stepper *p, const db_session *s)
{
    if (guard_armed(&p->watch_guard)) return DB_UNTOLD;
    return p->db->driver->waits(&p->watcher, s);
}

static void *watch_thread(void *given)
{
    stepper *p = given;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->question && !p->quit) pthread_cond_wait(&p->asked, &p->lock);
        if (p->quit) break;
        const db_session *s = &p->question->db;
        pthread_mutex_unlock(&p->lock);
        enum db_waiting told = ask_server(p, s);
        pthread_mutex_lock(&p->lock);
        p->told = told;
        p->question = NULL;
        pthread_cond_broadcast(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* --- in the caller's -------------------------------------------------------------------------- */

static void nap_for_done(stepper *p, uint64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t at = (uint64_t)t.tv_nsec + ns;
    t.tv_sec += (time_t)(at / 1000000000u);
    t.tv_nsec = (long)(at % 1000000000u);
    pthread_cond_timedwait(&p->done, &p->lock, &t);
}

/* Lets the watcher ask about a busy session; the lock is held, and free in between. */
static enum db_waiting ask_watcher(stepper *p, stepping_session *s)
{
    uint64_t start = clock_now();
    p->question = s;
    pthread_cond_signal(&p->asked);
    while (p->question) {
        nap_for_done(p, NEXT_LOOK);
        p->deaf = p->question && clock_now() - start > PATIENCE;
        if (p->deaf) return DB_GOES_ON;
    }
    if (p->told == DB_UNTOLD) p->watches = false;
    return p->told;
}

/* Looks whether a busy session waits for another one. */
static void look_at(stepper *p, stepping_session *s)
{
    uint64_t answers = s->answers;
    enum db_waiting told = p->watches ? ask_watcher(p, s) : DB_UNTOLD;
    if (s->answers != answers || !s->busy) return; /* it was about a call that is over */
    s->waits = told == DB_UNTOLD ? clock_now() - s->since > SILENCE : told == DB_WAITS;
    if (s->waits) s->to->waited = true;
}

static bool is_busy(const stepper *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->sessions[i].busy) return true;
    return false;
}

static uint32_t moving_sessions(const stepper *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) n += p->sessions[i].busy && !p->sessions[i].waits;
    return n;
}

/* Do sessions wait though none that is idle has a transaction?  Then they wait for each other, and
   the server is about to end one of them (or they wait for somebody whom we do not know). */
static bool is_deadlock(const stepper *p)
{
    bool busy = false;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!p->sessions[i].busy && p->sessions[i].open) return false;
        if (p->sessions[i].busy && p->sessions[i].held) return false; /* it waits for us */
        busy = busy || p->sessions[i].busy;
    }
    return busy;
}

/* Until every session has answered or waits; false: one of them does neither.  What was seen to
   wait counts only if nobody has answered since, because an answer may have let it go, and if it is
   seen a second time. */
static bool settle(stepper *p)
{
    uint64_t start = clock_now(), pause = FIRST_LOOK;
    uint64_t seen = 0; /* so many answers there were when all waited, and one */
    for (;;) {
        uint64_t now = clock_now();
        if (moving_sessions(p) || seen) nap_for_done(p, pause);
        uint64_t answers = p->answers;
        for (uint32_t i = 0; i < p->n && !p->deaf; i++)
            if (p->sessions[i].busy) look_at(p, &p->sessions[i]);
        bool calm = !moving_sessions(p) && p->answers == answers;
        bool ends = p->watches && is_deadlock(p) && now - start < DEADLOCK_FOUND;
        bool twice = seen == answers + 1 || !p->watches || !is_busy(p);
        if (calm && twice && !ends) return true;
        if (p->deaf || clock_now() - start > PATIENCE) return false;
        seen = calm ? answers + 1 : 0;
        pause = NEXT_LOOK;
    }
}

static void start_step(stepper *p, const char *sql, step_result *r)
{
    stepping_session *s = &p->sessions[r->session];
    s->sql = sql;
    s->to = r;
    s->busy = true;
    p->db->turns++;
    /* Any step may let others go on: silence counts from now on, for all. */
    for (uint32_t i = 0; i < p->n; i++) {
        p->sessions[i].waits = false;
        p->sessions[i].since = clock_now();
    }
    pthread_cond_broadcast(&p->work);
}

/* A transaction that begins on a node that only reads sees what was written before. */
static bool is_current(stepper *p, const stepping_session *s)
{
    const driver *v = p->db->driver;
    bool reads = p->db->nodes > 1 && atomic_load(&p->db->node[s->db.node].read_only);
    if (!reads || s->open || s->over || !v->catch_up) return true;
    p->lags = !v->catch_up(p->db, s->db.node);
    return !p->lags;
}

/* Starts the first step that was kept and whose session goes on; true: there was one. */
static bool start_kept(stepper *p, const spec *script, const char *dialect, step_result *results,
                       bool *kept, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        stepping_session *s = &p->sessions[results[i].session];
        if (!kept[i] || s->busy) continue;
        kept[i] = false;
        if (!is_current(p, s)) return false;
        start_step(p, spec_sql(script, script->steps.at[results[i].step].text, dialect),
                   &results[i]);
        return true;
    }
    return false;
}

static bool hangs(stepper *p)
{
    db_fail(p->db->error, p->deaf ? "the server does not say which sessions wait"
                                  : "a statement neither returned nor waited for another session");
    return false;
}

/* Lets the commits that are held be seen; true: there was one. */
static bool release_held(stepper *p)
{
    bool some = false;
    for (uint32_t i = 0; i < p->n; i++) {
        stepping_session *s = &p->sessions[i];
        if (!s->busy || !s->held || key_statement_of(s->sql).action != KEY_COMMIT) continue;
        uint64_t answers = s->answers, start = clock_now();
        p->db->driver->release(p->db, &s->db);
        while (s->answers == answers && clock_now() - start < CUT_OFF) nap_for_done(p, NEXT_LOOK);
        some = some || s->answers != answers;
    }
    return some;
}

/* After the last turn: until nothing is kept and nobody is busy. */
static bool finish_turns(stepper *p, const spec *script, const char *dialect, step_result *results,
                         bool *kept, uint32_t n)
{
    uint64_t start = clock_now();
    for (;;) {
        if (!settle(p)) return hangs(p);
        if (start_kept(p, script, dialect, results, kept, n)) continue;
        if (p->lags) return false;
        if (!is_busy(p)) return true;
        if (release_held(p)) continue;
        if (clock_now() - start > PATIENCE) return hangs(p);
        nap_for_done(p, NEXT_LOOK); /* the server will end it: a deadlock, a limit of its own */
    }
}

/* Rolls back what is open in a session, which is idle.  Its guard was armed in its thread, and is
   armed there again before the next step; here it must lead back to this thread. */
static bool close_transaction(stepper *p, stepping_session *s)
{
    if (guard_armed(&s->guard)) {
        db_fail(p->db->error, "%s", s->guard.text);
        return false;
    }
    enum db_answer a = s->open ? p->db->driver->abort(&s->db) : DB_OK;
    s->open = s->over = false;
    s->txn = 0;
    if (a != DB_LOST) return true;
    p->db->driver->disconnect(&s->db);
    if (p->db->driver->connect(&s->db) == DB_OK) return true;
    db_fail(p->db->error, "%s", s->db.error);
    return false;
}

static bool close_transactions(stepper *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (!close_transaction(p, &p->sessions[i])) return false;
    return true;
}

/* The session is idle, so its guard leads here. */
static bool hold_session(stepping_session *s, bool held)
{
    const driver *v = s->all->db->driver;
    if (guard_armed(&s->guard)) return false;
    return v->hold && v->hold(&s->db, held);
}

/* As the script says of each session; they are idle. */
static bool hold_commits(stepper *p, const spec *script)
{
    for (uint32_t i = 0; i < script->sessions.n; i++) {
        stepping_session *s = &p->sessions[i];
        bool held = script->sessions.at[i].held;
        if (held == s->held) continue;
        if (!hold_session(s, held)) {
            db_fail(p->db->error, "commits cannot be held here");
            return false;
        }
        s->held = held;
    }
    return true;
}

bool stepper_run(stepper *p, const spec *script, const char *dialect, const uint32_t *steps,
                 uint32_t n, step_result *results)
{
    bool *kept = mem_array0(p->mem, bool, n ? n : 1);
    memset(results, 0, n * sizeof *results);
    bool good = hold_commits(p, script);
    guard outer = *p->mem->guard;
    pthread_mutex_lock(&p->lock);
    if (guard_armed(p->mem->guard)) { /* the caller is going to close us, and needs the lock */
        pthread_mutex_unlock(&p->lock);
        guard_restore(p->mem->guard, &outer);
        guard_fail_again(p->mem->guard);
    }
    for (uint32_t i = 0; i < n && good; i++) {
        results[i].step = steps[i];
        results[i].session = script->steps.at[steps[i]].session;
        kept[i] = true;
        while (good && start_kept(p, script, dialect, results, kept, i + 1))
            good = settle(p) || hangs(p);
        good = good && !p->lags;
    }
    good = good && finish_turns(p, script, dialect, results, kept, n);
    pthread_mutex_unlock(&p->lock);
    guard_restore(p->mem->guard, &outer);
    return good && close_transactions(p);
}

static bool start_session(stepper *p, uint32_t i, uint32_t node)
{
    stepping_session *s = &p->sessions[i];
    s->all = p;
    guard_init(&s->guard);
    mem_init(&s->mem, mem_libc, NULL, &s->guard);
    s->db = (db_session){.db = p->db, .mem = &s->mem, .isolation = p->db->isolation, .node = node};
    strbuf_init(&s->db.text, &s->mem);
    if (guard_armed(&s->guard) || p->db->driver->connect(&s->db) != DB_OK) {
        db_fail(p->db->error, "%s", *s->db.error ? s->db.error : s->guard.text);
        return false;
    }
    s->started = !pthread_create(&s->thread, NULL, session_thread, s);
    if (!s->started) db_fail(p->db->error, "no thread for a session");
    return s->started;
}

stepper *stepper_open(db *d, mem *m, uint32_t sessions, const uint32_t *nodes, bool sql)
{
    stepper *p = mem_zeroed(m, sizeof *p);
    p->db = d;
    p->mem = m;
    p->sql = sql;
    p->sessions = mem_array0(m, stepping_session, sessions);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    pthread_cond_init(&p->asked, NULL);
    for (; p->n < sessions; p->n++)
        if (!start_session(p, p->n, nodes[p->n])) {
            p->n++;
            stepper_close(p);
            return NULL;
        }
    if (d->driver->waits) {
        guard_init(&p->watch_guard);
        mem_init(&p->watch_mem, mem_libc, NULL, &p->watch_guard);
        p->watcher = (db_session){
            .db = d, .mem = &p->watch_mem, .isolation = d->isolation, .node = db_primary(d)};
        strbuf_init(&p->watcher.text, &p->watch_mem);
        bool asks = !guard_armed(&p->watch_guard) && d->driver->connect(&p->watcher) == DB_OK;
        p->watches = p->watched = asks && !pthread_create(&p->watch_thread, NULL, watch_thread, p);
        if (asks && !p->watched) d->driver->disconnect(&p->watcher);
    }
    return p;
}

/* The connection of a session that does not answer is ended from outside, so that the server gives
   its locks free.  true: its thread is idle. */
static bool cut_if_busy(stepper *p, stepping_session *s)
{
    uint64_t start = clock_now();
    pthread_mutex_lock(&p->lock);
    bool busy = s->busy;
    pthread_mutex_unlock(&p->lock);
    if (busy && p->db->driver->cut && !p->deaf) p->db->driver->cut(p->db, &s->db);
    pthread_mutex_lock(&p->lock);
    while (s->busy && !p->deaf && clock_now() - start < CUT_OFF) nap_for_done(p, NEXT_LOOK);
    bool idle = !s->busy;
    pthread_mutex_unlock(&p->lock);
    return idle;
}

void stepper_close(stepper *p)
{
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    for (uint32_t i = 0; i < p->n; i++) p->sessions[i].quit = true;
    pthread_cond_broadcast(&p->work);
    pthread_cond_broadcast(&p->asked);
    pthread_mutex_unlock(&p->lock);
    bool left = p->deaf; /* a thread that may still come back to what is here */
    for (uint32_t i = 0; i < p->n; i++) {
        stepping_session *s = &p->sessions[i];
        if (s->started && !cut_if_busy(p, s)) { /* it hangs: nothing of it may be touched */
            pthread_detach(s->thread);
            left = true;
            continue;
        }
        if (s->started) pthread_join(s->thread, NULL);
        if (s->db.own) p->db->driver->disconnect(&s->db);
        mem_free_all(&s->mem);
    }
    if (p->watched && p->deaf) pthread_detach(p->watch_thread);
    if (p->watched && !p->deaf) {
        pthread_join(p->watch_thread, NULL);
        p->db->driver->disconnect(&p->watcher);
    }
    if (!p->deaf) mem_free_all(&p->watch_mem);
    if (left) return;
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->asked);
    pthread_mutex_destroy(&p->lock);
}
