/*
 * turns.c - the stepwise schedule (turns.h): a thread of its own chooses whose turn it is.
 *
 * Invariant, under the lock: at most one session is on the move, that is, computes or is in a call
 * that is not known to wait.  The exceptions are the beginning, when all compute, and sessions that
 * waited and are let go by the call of another one; nobody is chosen before they have settled.
 *
 * Traps: a call that waits is let go some moments after another one has returned, so those that
 * wait are looked at again before the next choice.  A call may seem to wait although it only takes
 * long; then the order of calls depends on the clock, but nothing that is recorded is wrong.
 */
#include "work/turns.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"

#define MILLISECOND 1000000u
#define FIRST_LOOK (2 * MILLISECOND) /* most calls have returned by then */
#define NEXT_LOOK (2 * MILLISECOND)
#define LONG_CALL 3000000000u /* whatever the reason, others go on: the watcher may be lost */
enum { ASLEEP_LOOKS = 4 };    /* in a row, without having run in between: the thread waits */

#define SWITCHES "\nvoluntary_ctxt_switches:"

enum turn_state {
    TURN_COMPUTES, /* has the turn, or has not asked for it yet */
    TURN_CALLS,
    TURN_WAITS, /* in a call that waits for another session */
    TURN_READY, /* wants its turn */
    TURN_LEFT
};

enum watch_kind { WATCH_ADAPTER, WATCH_THREAD, WATCH_SILENCE };

typedef struct turn {
    enum turn_state state;
    const db_session *db;
    pid_t thread;
    pthread_cond_t chosen;
    uint64_t since;    /* when the call began, or when it may have been let go */
    uint64_t switches; /* how often the thread had gone to sleep, when last looked at */
    uint32_t asleep;   /* looks in a row at which it slept the same sleep */
    bool granted;      /* it was chosen and has not called since */
    bool waited;       /* the last call did */
    bool looked_at;    /* by the watcher, without the lock: its connection must stay */
} turn;

struct turns {
    db *db;
    mem mem; /* of the watcher, which this file's thread alone uses */
    guard guard;
    enum watch_kind watch;
    db_session watcher;
    bool watches, started, quit;
    uint32_t n;
    turn *of;
    rng rng;
    uint64_t ticks, answers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
};

/* --- does a call wait? ------------------------------------------------------------------------ */

/* What a file about a thread of ours says; false: nothing. */
static bool thread_file(pid_t thread, const char *name, char *text, size_t cap)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", (long)thread, name);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    size_t n = fread(text, 1, cap - 1, f);
    fclose(f);
    text[n] = 0;
    return n > 0;
}

/* Does the thread sleep, and not for a disk?  Then how often it has gone to sleep. */
static bool thread_sleeps(pid_t thread, uint64_t *switches)
{
    char text[4096];
    if (thread_file(thread, "syscall", text, sizeof text) && strtol(text, NULL, 10) != SYS_futex)
        return false;
    if (!thread_file(thread, "status", text, sizeof text)) return false;
    const char *state = strstr(text, "State:\t"), *count = strstr(text, SWITCHES);
    if (!state || !count) return false;
    *switches = strtoull(count + strlen(SWITCHES), NULL, 10);
    return state[7] == 'S';
}

/* The lock is held, and free in between. */
static bool call_waits(turns *t, turn *s)
{
    if (t->watch == WATCH_ADAPTER && t->watches) {
        s->looked_at = true;
        pthread_mutex_unlock(&t->lock);
        enum db_waiting told = t->db->driver->waits(&t->watcher, s->db);
        pthread_mutex_lock(&t->lock);
        s->looked_at = false;
        pthread_cond_signal(&s->chosen);
        if (told != DB_UNTOLD) return told == DB_WAITS || clock_now() - s->since > LONG_CALL;
    }
    if (t->watch != WATCH_THREAD) {
        bool never = db_inner(t->db)->driver->never_waits; /* then it is only slow */
        return clock_now() - s->since > (never ? LONG_CALL * 3ull : TURNS_GRACE_MS * 1000000ull);
    }
    uint64_t switches = 0;
    bool sleeps = thread_sleeps(s->thread, &switches);
    s->asleep = sleeps && switches == s->switches ? s->asleep + 1 : 0;
    s->switches = switches;
    return s->asleep >= ASLEEP_LOOKS || clock_now() - s->since > LONG_CALL;
}

static void look_at(turns *t, turn *s)
{
    bool waits = call_waits(t, s);
    if (s->state != TURN_CALLS && s->state != TURN_WAITS) return; /* it has returned meanwhile */
    s->state = waits ? TURN_WAITS : TURN_CALLS;
    s->waited = s->waited || waits;
}

/* --- whose turn is it? ------------------------------------------------------------------------ */

static void nap_for_change(turns *t, uint64_t ns)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    uint64_t then = (uint64_t)at.tv_nsec + ns;
    at.tv_sec += (time_t)(then / 1000000000u);
    at.tv_nsec = (long)(then % 1000000000u);
    pthread_cond_timedwait(&t->changed, &t->lock, &at);
}

static uint32_t sessions_in(const turns *t, enum turn_state state)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) n += t->of[i].state == state;
    return n;
}

static bool all_settled(const turns *t)
{
    return !sessions_in(t, TURN_COMPUTES) && !sessions_in(t, TURN_CALLS);
}

/* Until nobody is on the move.  What was seen to wait counts only if nobody has answered since. */
static void settle(turns *t)
{
    uint64_t pause = FIRST_LOOK;
    while (!t->quit && !all_settled(t)) {
        uint64_t answers = t->answers;
        nap_for_change(t, pause);
        if (all_settled(t) || answers != t->answers || sessions_in(t, TURN_COMPUTES)) continue;
        for (uint32_t i = 0; i < t->n; i++)
            if (t->of[i].state == TURN_CALLS ||
                (t->watch != WATCH_SILENCE && t->of[i].state == TURN_WAITS))
                look_at(t, &t->of[i]);
        pause = NEXT_LOOK;
    }
}

static void choose_one(turns *t, uint32_t ready)
{
    uint32_t k = rng_below(&t->rng, ready);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->of[i].state == TURN_READY && !k--) {
            t->of[i].state = TURN_COMPUTES;
            t->of[i].granted = true;
            pthread_cond_signal(&t->of[i].chosen);
            return;
        }
}

/* A session that waited and could go on without anybody's help: a deadlock, a time limit. */
static void look_at_those_who_wait(turns *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->of[i].state == TURN_WAITS) nap_for_change(t, NEXT_LOOK);
}

static void *choose_turns(void *given)
{
    turns *t = given;
    pthread_mutex_lock(&t->lock);
    while (!t->quit) {
        settle(t);
        uint32_t ready = t->quit ? 0 : sessions_in(t, TURN_READY);
        if (ready)
            choose_one(t, ready);
        else if (sessions_in(t, TURN_WAITS))
            look_at_those_who_wait(t);
        else if (!t->quit)
            nap_for_change(t, 10 * MILLISECOND); /* all have left */
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* --- what sessions call ----------------------------------------------------------------------- */

static void wait_to_be_chosen(turns *t, turn *s)
{
    s->state = TURN_READY;
    pthread_cond_signal(&t->changed);
    while (s->state == TURN_READY && !t->quit) pthread_cond_wait(&s->chosen, &t->lock);
}

void turns_take(turns *t, uint32_t session, const db_session *at)
{
    turn *s = &t->of[session];
    pthread_mutex_lock(&t->lock);
    if (!s->granted) wait_to_be_chosen(t, s);
    s->granted = false;
    s->state = TURN_CALLS;
    s->db = at;
    s->thread = (pid_t)syscall(SYS_gettid);
    s->since = clock_now();
    s->asleep = 0;
    s->waited = false;
    t->ticks++;
    pthread_mutex_unlock(&t->lock);
}

uint64_t turns_back(turns *t, uint32_t session, bool frees)
{
    turn *s = &t->of[session];
    pthread_mutex_lock(&t->lock);
    while (s->looked_at) pthread_cond_wait(&s->chosen, &t->lock);
    t->answers++;
    /* Those that waited are looked at anew: they may have been let go. */
    uint64_t now = clock_now(), tick = 0;
    for (uint32_t i = 0; i < t->n && (frees || t->watch == WATCH_THREAD); i++)
        if (t->of[i].state == TURN_WAITS && &t->of[i] != s) {
            t->of[i].state = TURN_CALLS;
            t->of[i].since = now;
        }
    /* Several that waited may return at once, in any order; the order of the choices is the same
       every time. */
    if (!s->waited) tick = ++t->ticks;
    wait_to_be_chosen(t, s);
    if (s->waited) tick = ++t->ticks;
    pthread_mutex_unlock(&t->lock);
    return tick;
}

void turns_leave(turns *t, uint32_t session)
{
    pthread_mutex_lock(&t->lock);
    t->of[session].state = TURN_LEFT;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

uint64_t turns_ticks(turns *t)
{
    pthread_mutex_lock(&t->lock);
    uint64_t n = t->ticks;
    pthread_mutex_unlock(&t->lock);
    return n;
}

bool turns_waited(turns *t, uint32_t session)
{
    pthread_mutex_lock(&t->lock);
    bool waited = t->of[session].waited;
    pthread_mutex_unlock(&t->lock);
    return waited;
}

/* --- its life --------------------------------------------------------------------------------- */

static enum watch_kind watch_of(const db *d)
{
    const driver *v = db_inner(d)->driver;
    if (v->waits) return WATCH_ADAPTER;
    return v->in_process ? WATCH_THREAD : WATCH_SILENCE;
}

static bool start_watching(turns *t)
{
    db *d = t->db;
    if (t->watch != WATCH_ADAPTER) return true;
    guard_init(&t->guard);
    mem_init(&t->mem, mem_libc, NULL, &t->guard);
    if (guard_armed(&t->guard)) {
        db_fail(d->error, "%s", t->guard.text);
        return false;
    }
    t->watcher = (db_session){.db = d, .mem = &t->mem, .isolation = d->isolation};
    strbuf_init(&t->watcher.text, &t->mem);
    t->watches = d->driver->connect(&t->watcher) == DB_OK;
    if (!t->watches) db_fail(d->error, "%s", t->watcher.error);
    return t->watches;
}

turns *turns_open(db *d, uint32_t sessions, uint64_t seed)
{
    turns *t = mem_zeroed(d->mem, sizeof *t);
    t->db = d;
    t->n = sessions;
    t->of = mem_array0(d->mem, turn, sessions);
    t->watch = watch_of(d);
    rng_seed(&t->rng, seed ^ 0x7475726e73u); /* not the same choices as those of the sessions */
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    for (uint32_t i = 0; i < sessions; i++) pthread_cond_init(&t->of[i].chosen, NULL);
    if (start_watching(t)) t->started = !pthread_create(&t->thread, NULL, choose_turns, t);
    if (t->started) return t;
    if (!*d->error) db_fail(d->error, "no thread for the schedule");
    turns_close(t);
    return NULL;
}

void turns_close(turns *t)
{
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->quit = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    if (t->started) pthread_join(t->thread, NULL);
    if (t->watches) t->db->driver->disconnect(&t->watcher);
    if (t->watch == WATCH_ADAPTER) mem_free_all(&t->mem);
    for (uint32_t i = 0; i < t->n; i++) pthread_cond_destroy(&t->of[i].chosen);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    mem_put(t->db->mem, t->of);
    mem_put(t->db->mem, t);
}
