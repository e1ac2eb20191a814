/*
 * record.c - the recorder: a process that writes the lines of the history which sessions send.
 *
 * A message is a head with a length, then its text.  The recorder keeps the intent of each session,
 * that is, a transaction that has asked for its commit, until its outcome arrives.  When the pipe
 * closes, intents without an outcome are written as transactions of unknown status.
 */
#include "work/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { PIPE = 1 << 20, CHUNK = 1 << 18, NO_SLOT_LIMIT = 1 << 20 };
#define NAP_NS 1000000u

typedef struct head {
    uint32_t slot, lines, intent; /* the latter two: bytes */
} head;

/* --- the recorder's process ------------------------------------------------------------------- */

typedef struct pending {
    strbuf line;
} pending;

typedef struct writer {
    mem mem;
    guard guard;
    int in, out;
    VEC(char) got; /* received, not yet taken */
    VEC(pending) pending;
    strbuf ready;
    uint64_t lines; /* written, or ready */
} writer;

/* What was written of a line that did not fit is taken back: a history has whole lines only.  (A
   pipe or a device keeps it.) */
static void take_back(int fd, const char *text, size_t written)
{
    size_t whole = written;
    while (whole && text[whole - 1] != '\n') whole--;
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (at < 0 || (size_t)at < written - whole) return;
    if (ftruncate(fd, at - (off_t)(written - whole))) return;
    lseek(fd, at - (off_t)(written - whole), SEEK_SET);
}

int record_write(int fd, const char *text, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t k = write(fd, text + done, n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k > 0) {
            done += (size_t)k;
            continue;
        }
        int why = k < 0 ? errno : EIO;
        take_back(fd, text, done);
        return why;
    }
    return 0;
}

static uint64_t count_lines(const char *text, size_t n)
{
    uint64_t lines = 0;
    for (const char *p = text, *end = text + n; p < end && (p = memchr(p, '\n', (size_t)(end - p)));
         p++)
        lines++;
    return lines;
}

static void take_message(writer *w, const head *h, const char *text)
{
    if (h->slot >= NO_SLOT_LIMIT) guard_fail(&w->guard, GUARD_BUG, "slot %u", h->slot);
    while (w->pending.n <= h->slot) {
        pending p;
        strbuf_init(&p.line, &w->mem);
        vec_push(&w->mem, &w->pending, p);
    }
    strbuf *line = &w->pending.at[h->slot].line;
    strbuf_add(&w->ready, text, h->lines);
    w->lines += count_lines(text, h->lines);
    line->n = 0;
    strbuf_add(line, text + h->lines, h->intent);
}

/* Takes all whole messages and writes what became ready; 0, or why that failed. */
static int digest(writer *w)
{
    size_t at = 0;
    head h;
    while (w->got.n - at >= sizeof h) {
        memcpy(&h, w->got.at + at, sizeof h);
        size_t n = (size_t)h.lines + h.intent;
        if (w->got.n - at - sizeof h < n) break;
        take_message(w, &h, w->got.at + at + sizeof h);
        at += sizeof h + n;
    }
    memmove(w->got.at, w->got.at + at, w->got.n - at);
    w->got.n -= at;
    int why = record_write(w->out, w->ready.at, w->ready.n);
    w->ready.n = 0;
    return why;
}

/* 0, or why it could not be written. */
static int write_history(writer *w)
{
    if (guard_armed(&w->guard)) return ENOMEM;
    for (;;) {
        vec_reserve(&w->mem, &w->got, CHUNK);
        ssize_t k = read(w->in, w->got.at + w->got.n, CHUNK);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) break;
        w->got.n += (size_t)k;
        int why = digest(w);
        if (why) return why;
        if (k < CHUNK / 2) clock_nap(NAP_NS);
    }
    for (size_t i = 0; i < w->pending.n; i++) {
        strbuf_add(&w->ready, w->pending.at[i].line.at, w->pending.at[i].line.n);
        w->lines += w->pending.at[i].line.n > 0;
    }
    w->got.n = 0;
    /* A file without this mark was cut off: readers know then that lines are missing. */
    strbuf_printf(&w->ready, "{\"mark\":\"end\",\"lines\":%llu}\n", (unsigned long long)w->lines);
    return digest(w);
}

_Noreturn static void be_recorder(int in, int out)
{
    writer w = {.in = in, .out = out};
    sigset_t all;
    sigfillset(&all); /* ctrl-C is for the sessions: we end when they have */
    sigprocmask(SIG_SETMASK, &all, NULL);
    guard_init(&w.guard);
    mem_init(&w.mem, mem_libc, NULL, &w.guard);
    strbuf_init(&w.ready, &w.mem);
    int status = write_history(&w);
    if (status == 0 && fsync(out) && (errno == EIO || errno == ENOSPC)) status = errno;
    _exit(status);
}

/* --- the sessions' side ----------------------------------------------------------------------- */

bool record_start(recorder *r, int output)
{
    int ends[2];
    r->broken = false;
    if (pipe2(ends, O_CLOEXEC)) return false;
    fcntl(ends[1], F_SETPIPE_SZ, PIPE); /* smaller will do */
    pthread_mutex_init(&r->lock, NULL);
    r->pid = fork();
    if (!r->pid) {
        close(ends[1]);
        be_recorder(ends[0], output);
    }
    close(ends[0]);
    r->pipe = ends[1];
    if (r->pid > 0) return true;
    close(r->pipe);
    return false;
}

bool record(recorder *r, uint32_t slot, const strbuf *lines, const strbuf *intent)
{
    head h = {slot, (uint32_t)lines->n, (uint32_t)intent->n};
    struct iovec part[3] = {{&h, sizeof h}, {lines->at, lines->n}, {intent->at, intent->n}};
    size_t left = sizeof h + lines->n + intent->n;
    pthread_mutex_lock(&r->lock);
    while (!r->broken && left) {
        ssize_t k = writev(r->pipe, part, 3);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) {
            r->broken = true;
            break;
        }
        left -= (size_t)k;
        for (int i = 0; i < 3; i++) {
            size_t n = (size_t)k < part[i].iov_len ? (size_t)k : part[i].iov_len;
            if (n) part[i].iov_base = (char *)part[i].iov_base + n;
            part[i].iov_len -= n;
            k -= (ssize_t)n;
        }
    }
    bool sent = !r->broken;
    pthread_mutex_unlock(&r->lock);
    return sent;
}

int record_end(recorder *r)
{
    int status = 0;
    pthread_mutex_lock(&r->lock);
    bool broken = r->broken;
    r->broken = true; /* a session that still hangs in a call must not write to what comes next */
    close(r->pipe);
    pthread_mutex_unlock(&r->lock);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR) {}
    if (!WIFEXITED(status)) return -1;
    return WEXITSTATUS(status) ? WEXITSTATUS(status) : broken ? -1 : 0;
}
