/*
 * exec_child.c - see exec_child.h.
 *
 * Invariant: `waits` lists exactly the threads inside exec_child_ask, each with an id of its own;
 * a line whose id is not in it answers nothing and breaks the protocol.  Whoever sets `reading`
 * polls the streams without the lock, and takes it again before it looks at anything shared.
 */
#include "driver/exec_child.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { CHUNK = 1 << 16, SHOWN = 80 };
#define MILLISECOND 1000000u

struct exec_wait {
    exec_wait *next;
    uint64_t id;
    char *line; /* of the child's region; NULL: not yet */
    size_t n;
};

/* --- the end of a child ----------------------------------------------------------------------- */

/* Keeps the end of what it writes to standard error, for messages. */
static void keep_error(exec_child *c, const char *text, size_t n)
{
    if (n >= EXEC_KEPT) {
        text += n - EXEC_KEPT;
        n = EXEC_KEPT;
    }
    size_t over = c->n_kept + n > EXEC_KEPT ? c->n_kept + n - EXEC_KEPT : 0;
    memmove(c->kept, c->kept + over, c->n_kept - over);
    c->n_kept -= over;
    memcpy(c->kept + c->n_kept, text, n);
    c->n_kept += n;
}

static void drain_errors(exec_child *c)
{
    char chunk[4096];
    for (int i = 0; i < 256; i++) {
        ssize_t n = read(c->process.err, chunk, sizeof chunk);
        if (n <= 0) return;
        keep_error(c, chunk, (size_t)n);
    }
}

/* Text that may hold anything, as it can stand in a message. */
static void add_shown(char *to, size_t cap, const char *text, size_t n)
{
    size_t at = strlen(to);
    while (n && (text[n - 1] == '\n' || text[n - 1] == ' ')) n--;
    for (size_t i = 0; i < n && at + 2 < cap; i++) {
        unsigned char b = (unsigned char)text[i];
        to[at++] = b < 0x20 || b == 0x7f ? ' ' : (char)b;
    }
    /* what was cut off in the middle of a character goes */
    while (at && n && ((unsigned char)to[at - 1] & 0xc0) == 0x80 && at + 2 >= cap) at--;
    to[at] = 0;
}

/* Under the lock.  about: what it did; NULL: it has ended, in a way that is not known yet. */
static void declare_dead(exec_child *c, bool wrong, const char *about)
{
    char how[80];
    if (c->dead) return;
    c->dead = true;
    c->wrong = wrong;
    exec_warden_kill(c->warden, c->process.pid, 0, how, sizeof how);
    c->process.pid = 0;
    drain_errors(c);
    snprintf(c->why, sizeof c->why, "the driver %s%s", about ? about : how,
             c->n_kept ? "; its standard error ends: " : "");
    add_shown(c->why, sizeof c->why, c->kept, c->n_kept);
    pthread_cond_broadcast(&c->changed);
}

void exec_child_blame(exec_child *c, const char *what, const strbuf *answer)
{
    char about[EXEC_WHY];
    snprintf(about, sizeof about, "broke the protocol (%.120s): ", what);
    add_shown(about, strlen(about) + SHOWN, answer->at ? answer->at : "",
              answer->n < SHOWN ? answer->n : SHOWN);
    pthread_mutex_lock(&c->lock);
    declare_dead(c, true, about);
    pthread_mutex_unlock(&c->lock);
}

void exec_child_kill(exec_child *c)
{
    pthread_mutex_lock(&c->lock);
    c->killed = true;
    declare_dead(c, false, "was killed, as --faults asks for");
    pthread_mutex_unlock(&c->lock);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void blame_line(exec_child *c, const char *what, const char *text, size_t n)
{
    char about[EXEC_WHY];
    snprintf(about, sizeof about, "broke the protocol (%.120s): ", what);
    add_shown(about, strlen(about) + SHOWN, text, n < SHOWN ? n : SHOWN);
    declare_dead(c, true, about);
}

/* Gives a line to whoever waits for it. */
static void deliver(exec_child *c, const char *text, size_t n)
{
    int64_t id;
    if (!exec_json_parse(&c->json, &c->mem, text, n)) {
        char what[120];
        snprintf(what, sizeof what, "a line on its standard output is not JSON: %s", c->json.why);
        blame_line(c, what, text, n);
        return;
    }
    uint32_t member = exec_json_member(&c->json, 0, "id");
    if (!member || !exec_json_int(&c->json, member, &id)) {
        blame_line(c, "an answer without an id", text, n);
        return;
    }
    for (exec_wait *w = c->waits; w; w = w->next)
        if (w->id == (uint64_t)id && !w->line) {
            w->line = mem_get(&c->mem, n + 1);
            memcpy(w->line, text, n);
            w->n = n;
            return;
        }
    blame_line(c, "an answer to a request that was not sent", text, n);
}

/* Under the lock; memory that is not there is the end of this child. */
static void feed(exec_child *c, const char *text, size_t n)
{
    if (guard_armed(&c->guard)) {
        c->warden->failed_here = GUARD_NOMEM;
        declare_dead(c, false, "wrote more than fits into memory");
        return;
    }
    size_t from = c->unfinished.n, at = 0;
    strbuf_add(&c->unfinished, text, n);
    const char *all = c->unfinished.at;
    size_t end = c->unfinished.n;
    while (!c->dead) {
        const char *newline = memchr(all + from, '\n', end - from);
        if (!newline) break;
        size_t next = (size_t)(newline - all) + 1;
        deliver(c, all + at, next - 1 - at);
        at = from = next;
    }
    if (at) memmove(c->unfinished.at, c->unfinished.at + at, end - at);
    c->unfinished.n = end - at;
    if (c->unfinished.n > EXEC_LINE) declare_dead(c, true, "wrote a line without a line break");
}

/* Waits for something to read, without the lock; false: an end of file. */
static bool read_some(exec_child *c, uint64_t deadline, char *chunk, size_t *n)
{
    struct pollfd look[2] = {{c->process.out, POLLIN, 0}, {c->process.err, POLLIN, 0}};
    uint64_t now = clock_now();
    *n = 0;
    int ms = now >= deadline ? 0 : (int)((deadline - now) / MILLISECOND) + 1;
    if (poll(look, 2, ms) <= 0) return true;
    if (look[1].revents && !look[0].revents) {
        ssize_t k = read(c->process.err, chunk, CHUNK);
        pthread_mutex_lock(&c->lock);
        if (k > 0) keep_error(c, chunk, (size_t)k);
        pthread_mutex_unlock(&c->lock);
        if (k == 0) { /* it has closed that stream: poll would return at once for ever */
            look[1].fd = -1;
            if (poll(look, 1, ms) <= 0) return true;
        }
    }
    if (!look[0].revents) return true;
    ssize_t k = read(c->process.out, chunk, CHUNK);
    if (k < 0) return errno == EAGAIN || errno == EINTR;
    *n = (size_t)k;
    return k > 0;
}

/* Under the lock: one turn of reading for all. */
static void read_for_all(exec_child *c, uint64_t deadline)
{
    char chunk[CHUNK];
    size_t n;
    c->reading = true;
    pthread_mutex_unlock(&c->lock);
    bool open = read_some(c, deadline, chunk, &n);
    pthread_mutex_lock(&c->lock);
    c->reading = false;
    if (n && !c->dead) feed(c, chunk, n);
    if (!open && !c->dead && c->unfinished.n)
        declare_dead(c, false, "ended within a line");
    else if (!open)
        declare_dead(c, false, NULL);
    pthread_cond_broadcast(&c->changed);
}

static void wait_for_others(exec_child *c, uint64_t deadline)
{
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000u),
                             .tv_nsec = (long)(deadline % 1000000000u)};
    pthread_cond_timedwait(&c->changed, &c->lock, &until);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* A request cannot be sent, for a reason that is not the driver's (EPIPE: it closed its end). */
static void cannot_send(exec_child *c, int error)
{
    char about[160];
    snprintf(about, sizeof about, "could not be sent a request: %.100s", strerror(error));
    pthread_mutex_lock(&c->lock);
    c->warden->failed_here = GUARD_IO;
    declare_dead(c, false, about);
    pthread_mutex_unlock(&c->lock);
}

/* Whole lines only: whoever writes keeps the others away.  If a line is not taken because the
   driver ended or is late, its streams say so. */
static void write_line(exec_child *c, const strbuf *line, uint64_t deadline)
{
    size_t done = 0;
    int error = 0;
    pthread_mutex_lock(&c->writing);
    while (done < line->n) {
        ssize_t k = write(c->process.in, line->at + done, line->n - done);
        if (k > 0) {
            done += (size_t)k;
            continue;
        }
        if (k < 0 && errno == EINTR) continue;
        error = k < 0 && errno != EAGAIN && errno != EPIPE ? errno : 0;
        uint64_t now = clock_now();
        if ((k < 0 && errno != EAGAIN) || now >= deadline || c->dead) break;
        struct pollfd look = {c->process.in, POLLOUT, 0};
        uint64_t ms = (deadline - now) / MILLISECOND + 1;
        poll(&look, 1, ms < 50 ? (int)ms : 50); /* it may be killed meanwhile */
    }
    pthread_mutex_unlock(&c->writing);
    if (error) cannot_send(c, error);
}

uint64_t exec_child_id(exec_child *c)
{
    pthread_mutex_lock(&c->lock);
    uint64_t id = ++c->next_id;
    pthread_mutex_unlock(&c->lock);
    return id;
}

static void leave(exec_child *c, const exec_wait *me)
{
    for (exec_wait **w = &c->waits; *w; w = &(*w)->next)
        if (*w == me) {
            *w = me->next;
            return;
        }
}

enum exec_reply exec_child_ask(exec_child *c, uint64_t id, const char *what, const strbuf *line,
                               uint32_t timeout_ms, strbuf *answer)
{
    exec_wait me = {.id = id};
    uint64_t deadline = clock_now() + (uint64_t)timeout_ms * MILLISECOND;
    pthread_mutex_lock(&c->lock);
    me.next = c->waits;
    // cppcheck-suppress autoVariables ; leave() takes it out before we return
    c->waits = &me;
    bool send = !c->dead;
    pthread_mutex_unlock(&c->lock);
    if (send) write_line(c, line, deadline);
    pthread_mutex_lock(&c->lock);
    while (!me.line && !c->dead) {
        if (clock_now() >= deadline) {
            char about[160];
            snprintf(about, sizeof about, "did not answer \"%.30s\" within %.1f seconds", what,
                     timeout_ms / 1000.0);
            declare_dead(c, false, about);
        } else if (!c->reading) {
            read_for_all(c, deadline);
        } else {
            wait_for_others(c, deadline);
        }
    }
    leave(c, &me);
    pthread_mutex_unlock(&c->lock);
    if (!me.line) return EXEC_DEAD;
    answer->n = 0; /* (the caller's memory: outside of the lock, since it may fail) */
    strbuf_add(answer, me.line, me.n);
    pthread_mutex_lock(&c->lock);
    mem_put(&c->mem, me.line);
    pthread_mutex_unlock(&c->lock);
    return EXEC_ANSWERED;
}

/* --- its life --------------------------------------------------------------------------------- */

bool exec_child_start(exec_child *c, exec_warden *w, char *why, size_t cap)
{
    memset(c, 0, sizeof *c);
    c->warden = w;
    if (!exec_warden_spawn(w, &c->process, why, cap)) {
        w->failed_here = GUARD_IO;
        c->warden = NULL;
        return false;
    }
    guard_init(&c->guard);
    mem_init(&c->mem, mem_libc, NULL, &c->guard);
    strbuf_init(&c->unfinished, &c->mem);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->writing, NULL);
    return true;
}

void exec_child_end(exec_child *c, int grace)
{
    char how[80];
    if (!c->warden) return;
    close(c->process.in);
    if (c->process.pid) exec_warden_kill(c->warden, c->process.pid, grace, how, sizeof how);
    close(c->process.out);
    close(c->process.err);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->writing);
    pthread_cond_destroy(&c->changed);
    mem_free_all(&c->mem);
    c->warden = NULL;
}
