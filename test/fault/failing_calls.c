/*
 * failing_calls.c - a library for LD_PRELOAD that makes one call of a kind fail, or all from it on.
 *
 *   FAULT=alloc|write|rename|fsync|fork|exit   which calls; exit: allocations, which call
 *                       exit(1), as PostgreSQL's parser does when it has no memory
 *   FAULT_AT=N          the N-th call of them fails, counted from 1 (0: none, only count)
 *   FAULT_ON=1          and all that follow it, in all processes that are forked meanwhile
 *   FAULT_COUNT=FILE    the number of calls is left there when the first process ends
 *
 * Calls are counted from the start of main on.  Writes of streams do not pass through write(), so
 * the standard output and what fdopen returns are streams of our own, which do.  Standard error is
 * left alone: it is where the program must be able to say what went wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, ALLOC, WRITE, RENAME, FSYNC, FORK, EXIT };

/* Exported by glibc for those who replace malloc. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

static enum kind chosen;
static long fail_at;
static bool and_on;
static const char *count_file;
static pid_t first;
static atomic_long *calls; /* shared by all processes that are forked */

static bool fails(enum kind k)
{
    if (k != chosen || !calls) return false;
    long n = atomic_fetch_add(calls, 1) + 1;
    return fail_at && (n == fail_at || (and_on && n > fail_at));
}

/* --- memory ----------------------------------------------------------------------------------- */

static bool fails_to_get(void)
{
    if (fails(EXIT)) exit(1);
    return fails(ALLOC);
}

void *malloc(size_t n)
{
    if (!fails_to_get()) return __libc_malloc(n);
    errno = ENOMEM;
    return NULL;
}

void *calloc(size_t n, size_t size)
{
    if (!fails_to_get()) return __libc_calloc(n, size);
    errno = ENOMEM;
    return NULL;
}

void *realloc(void *p, size_t n)
{
    if (!n || !fails_to_get()) return __libc_realloc(p, n);
    errno = ENOMEM;
    return NULL;
}

/* --- files ------------------------------------------------------------------------------------ */

ssize_t write(int fd, const void *buf, size_t n)
{
    if (fd == STDERR_FILENO || !fails(WRITE)) return syscall(SYS_write, fd, buf, n);
    /* a disk that fills up takes a part first */
    if (n > 1 && fail_at && and_on && atomic_load(calls) == fail_at)
        return syscall(SYS_write, fd, buf, n / 2);
    errno = ENOSPC;
    return -1;
}

ssize_t writev(int fd, const struct iovec *part, int n)
{
    if (!fails(WRITE)) return syscall(SYS_writev, fd, part, n);
    errno = ENOSPC;
    return -1;
}

int rename(const char *from, const char *to)
{
    if (!fails(RENAME)) return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    errno = EIO;
    return -1;
}

int link(const char *from, const char *to)
{
    if (!fails(RENAME)) return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    errno = EIO;
    return -1;
}

int fsync(int fd)
{
    if (!fails(FSYNC)) return (int)syscall(SYS_fsync, fd);
    errno = EIO;
    return -1;
}

int fdatasync(int fd)
{
    if (!fails(FSYNC)) return (int)syscall(SYS_fdatasync, fd);
    errno = EIO;
    return -1;
}

/* --- processes -------------------------------------------------------------------------------- */

pid_t fork(void)
{
    static pid_t (*real)(void);
    if (fails(FORK)) {
        errno = EAGAIN;
        return -1;
    }
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fork");
    return real();
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails(FORK)) return EAGAIN;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(t, a, f, x);
}

/* --- streams ---------------------------------------------------------------------------------- */

enum { STREAMS = 64 };
static struct {
    FILE *f;
    int fd;
} streams[STREAMS]; /* ours, for fileno */

typedef struct stream {
    int fd;
} stream;

static ssize_t stream_write(void *cookie, const char *buf, size_t n)
{
    const stream *s = cookie;
    size_t done = 0;
    while (done < n) {
        ssize_t k = write(s->fd, buf + done, n - done);
        if (k < 0) return done ? (ssize_t)done : 0; /* glibc takes 0 for an error */
        done += (size_t)k;
    }
    return (ssize_t)done;
}

static int stream_close(void *cookie)
{
    stream *s = cookie;
    int status = close(s->fd);
    free(s);
    return status;
}

static FILE *stream_on(int fd)
{
    stream *s = __libc_malloc(sizeof *s);
    if (!s) return NULL;
    s->fd = fd;
    cookie_io_functions_t io = {.write = stream_write, .close = stream_close};
    FILE *f = fopencookie(s, "w", io);
    for (int i = 0; f && i < STREAMS; i++)
        if (!streams[i].f || streams[i].f == f) {
            streams[i].f = f;
            streams[i].fd = fd;
            break;
        }
    return f;
}

int fileno(FILE *f)
{
    static int (*real)(FILE *);
    for (int i = 0; i < STREAMS; i++)
        if (f && streams[i].f == f) return streams[i].fd;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fileno");
    return real(f);
}

FILE *fdopen(int fd, const char *mode)
{
    static FILE *(*real)(int, const char *);
    if (chosen == WRITE && *mode == 'w') return stream_on(fd);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fdopen");
    return real(fd, mode);
}

/* --- beginning and end ------------------------------------------------------------------------ */

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = {"", "alloc", "write", "rename", "fsync", "fork", "exit"};
    const char *which = getenv("FAULT"), *at = getenv("FAULT_AT");
    count_file = getenv("FAULT_COUNT");
    fail_at = at ? strtol(at, NULL, 10) : 0;
    and_on = getenv("FAULT_ON") != NULL;
    first = getpid();
    void *shared =
        mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) calls = shared;
    enum kind k = NONE;
    for (int i = 1; which && i < 7; i++)
        if (!strcmp(which, names[i])) k = (enum kind)i;
    if (k == WRITE) {
        FILE *f = stream_on(STDOUT_FILENO);
        if (f) stdout = f;
    }
    chosen = k;
}

__attribute__((destructor)) static void end(void)
{
    char text[32];
    long n = calls ? atomic_load(calls) : 0;
    chosen = NONE;
    if (!count_file || getpid() != first) return;
    int fd = open(count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int len = snprintf(text, sizeof text, "%ld\n", n);
    if (fd >= 0 && syscall(SYS_write, fd, text, (size_t)len) != len) _exit(99);
    if (fd >= 0) close(fd);
}
