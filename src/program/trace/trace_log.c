/*
 * trace_log.c - writes a log so that what is on the disk are whole lines.
 *
 * The last 4 KiB below the limit are kept for marks: the one that says that the limit was reached,
 * and the end.
 */
#include "trace/trace_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/replace_file.h"
#include "read/zstd_frame.h"
#include "work/record.h"

#define CHUNK ((size_t)1 << 18)
#define KEPT_FOR_MARKS 4096u
#define AGAIN_NS 1000000000u /* how long a failed write is left alone */

static bool open_part(trace_log *l)
{
    char name[TRACE_PATH + 16];
    if (l->part)
        snprintf(name, sizeof name, "%s.%u", l->path, (unsigned)l->part);
    else
        snprintf(name, sizeof name, "%s", l->path);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return false;
    if (l->fd >= 0) close(l->fd);
    l->fd = fd;
    l->size = 0;
    return true;
}

bool trace_log_open(trace_log *l, const char *path, uint64_t limit, uint64_t rotate, bool packs,
                    char *why, size_t cap)
{
    memset(l, 0, sizeof *l);
    guard_init(&l->guard);
    mem_init(&l->mem, mem_libc, NULL, &l->guard);
    strbuf_init(&l->ready, &l->mem);
    strbuf_init(&l->packed, &l->mem);
    l->packs = packs;
    l->fd = -1;
    l->limit = limit;
    l->rotate = rotate;
    if (strlen(path) >= TRACE_PATH) {
        snprintf(why, cap, "the name is too long");
        return false;
    }
    snprintf(l->path, sizeof l->path, "%s", path);
    if (open_part(l)) return true;
    int code = errno;
    char text[160];
    if (code == EEXIST)
        snprintf(why, cap, "the file exists already; a log is never overwritten");
    else
        snprintf(why, cap, "%s", replace_error(code, text, sizeof text));
    return false;
}

/* Writes lines as they are, or a frame of them, or nothing; 0, or an errno. */
static int write_lines(trace_log *l, const char *at, size_t n)
{
    if (!l->packs) return record_write(l->fd, at, n);
    if (guard_armed(&l->guard)) return ENOMEM;
    if (!deflate_frame(at, n, &l->packed)) return EIO;
    for (size_t done = 0; done < l->packed.n;) {
        ssize_t k = write(l->fd, l->packed.at + done, l->packed.n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k > 0) {
            done += (size_t)k;
            continue;
        }
        int why = k < 0 ? errno : EIO;
        off_t whole = (off_t)l->size; /* a part of a frame would make all that follows unreadable */
        if (ftruncate(l->fd, whole) || lseek(l->fd, whole, SEEK_SET) < 0) l->full = true;
        return why;
    }
    return 0;
}

/* How long what was written last is in the file. */
static size_t written_size(const trace_log *l, size_t n)
{
    return l->packs ? l->packed.n : n;
}

bool trace_log_packs(void)
{
    return deflate_has_frames();
}

/* A new file begins when the present one has reached its size: with a mark, no header. */
static void rotate_log(trace_log *l)
{
    if (!l->rotate || l->size < l->rotate) return;
    l->part++;
    if (!open_part(l)) {
        l->part--;
        return; /* the old file grows on */
    }
    char mark[64];
    int n = snprintf(mark, sizeof mark, "{\"mark\":\"part\",\"part\":%u}\n", (unsigned)l->part);
    if (write_lines(l, mark, (size_t)n)) return;
    l->lines++;
    l->size += written_size(l, (size_t)n);
    l->total += written_size(l, (size_t)n);
}

static int write_all(trace_log *l, const char *at, size_t n)
{
    rotate_log(l);
    int why = write_lines(l, at, n);
    if (why) {
        off_t end = lseek(l->fd, 0, SEEK_CUR); /* some whole lines may have been written */
        if (end >= 0) l->total += (uint64_t)end - l->size, l->size = (uint64_t)end;
        return why;
    }
    l->size += written_size(l, n);
    l->total += written_size(l, n);
    return 0;
}

static size_t format_gap(char *to, size_t cap, uint32_t session, uint64_t from, uint64_t until,
                         const char *why)
{
    char words[200];
    size_t n = 0;
    for (; *why && n < sizeof words - 1; why++) /* plain words; nothing that would need an escape */
        if (*why >= ' ' && *why < 0x7f && *why != '"' && *why != '\\') words[n++] = *why;
    words[n] = 0;
    int k = session
                ? snprintf(to, cap,
                           "{\"mark\":\"unlogged\",\"session\":%u,\"from\":%llu,\"why\":\"%s\"}\n",
                           (unsigned)session, (unsigned long long)from, words)
                : snprintf(to, cap,
                           "{\"mark\":\"unlogged\",\"from\":%llu,\"to\":%llu,\"why\":\"%s\"}\n",
                           (unsigned long long)from, (unsigned long long)until, words);
    return (size_t)k;
}

static void lose_ready(trace_log *l, int error, uint64_t now)
{
    l->error = error;
    l->missing++;
    l->ready.n = 0;
    if (!l->gap_from) l->gap_from = l->flushed ? l->flushed : 1;
    l->flushed = now;
}

/* After a failure: first the mark that tells of it. */
static bool mend_gap(trace_log *l, uint64_t now)
{
    char mark[512];
    size_t n = format_gap(mark, sizeof mark, 0, l->gap_from, now,
                          l->full ? "the log reached its limit" : "the log could not be written");
    int why = write_all(l, mark, n);
    if (why) {
        l->error = why;
        l->flushed = now;
        return false;
    }
    l->gap_from = 0;
    l->error = 0;
    l->lines++;
    return true;
}

bool trace_log_flush(trace_log *l, uint64_t now)
{
    if (l->gap_from && now - l->flushed < AGAIN_NS) return false;
    if (l->gap_from && !mend_gap(l, now)) return false;
    if (l->ready.n) {
        int why = write_all(l, l->ready.at, l->ready.n);
        if (why) {
            lose_ready(l, why, now);
            return false;
        }
    }
    l->ready.n = 0;
    if (l->ready.cap > 4 * CHUNK) strbuf_free(&l->ready); /* one long line grew it */
    l->flushed = now;
    return true;
}

static void add_line(trace_log *l, const char *at, size_t n, uint64_t now)
{
    if (guard_armed(&l->guard)) { /* no memory for the buffer */
        lose_ready(l, ENOMEM, now);
        return;
    }
    strbuf_add(&l->ready, at, n);
    l->lines++;
}

static bool over_limit(const trace_log *l, size_t n)
{
    return l->limit && l->total + l->ready.n + n + KEPT_FOR_MARKS > l->limit;
}

void trace_log_line(trace_log *l, const char *at, size_t n, uint64_t now)
{
    if (l->full || l->gap_from) {
        l->missing++;
        if (l->full || !trace_log_flush(l, now)) return;
    }
    /* (what is ready may take less when it is compressed) */
    if (l->packs && l->ready.n && over_limit(l, n)) trace_log_flush(l, now);
    if (over_limit(l, n)) {
        trace_log_flush(l, now);
        l->full = true;
        l->missing++;
        l->gaps++;
        l->gap_from = now ? now : 1;
        mend_gap(l, now);
        return;
    }
    add_line(l, at, n, now);
    if (l->ready.n > CHUNK) trace_log_flush(l, now);
}

void trace_log_gap(trace_log *l, uint32_t session, uint64_t from, const char *why, uint64_t now)
{
    char mark[512];
    l->gaps++;
    size_t n = format_gap(mark, sizeof mark, session, from, now, why);
    if (!l->full) trace_log_line(l, mark, n, now);
}

int trace_log_close(trace_log *l, const char *members, uint64_t now)
{
    char mark[1024];
    int error = 0;
    l->flushed = 0; /* the last try */
    if (!trace_log_flush(l, now)) error = l->error;
    int n = snprintf(mark, sizeof mark, "{\"mark\":\"end\",\"lines\":%llu%s}\n",
                     (unsigned long long)l->lines, members);
    if (!error && n > 0 && (size_t)n < sizeof mark) error = write_lines(l, mark, (size_t)n);
    if (l->fd >= 0 && close(l->fd) && !error) error = errno;
    l->fd = -1;
    mem_free_all(&l->mem);
    return error;
}
