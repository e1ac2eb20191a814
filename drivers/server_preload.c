/*
 * server_preload.c - a library that a :temp server loads first, so that its disk can be full or
 * slow and its clock wrong, without a mount, a quota or any right.
 *
 * It is ratel-preload.so and no part of the program.  The server's processes map a file of a few
 * numbers (temp_disorder), which we write: while all are zero every call is the kernel's.  Full
 * means that files do not grow, as on a real disk: what is written within a file still succeeds.
 * Calls of the kernel are made directly, since the C library's own are the ones replaced here; a
 * server that does not use the C library, such as one written in Go, is not reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "driver/temp.h"

#define EXPORT __attribute__((visibility("default")))

static const volatile temp_disorder none;

/* Mapped before main, and inherited by every child. */
static const volatile temp_disorder *disorder = &none;

__attribute__((constructor)) static void map_disorder(void)
{
    const char *name = getenv(TEMP_DISORDER_VARIABLE);
    int f = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (f < 0) return;
    void *at = mmap(NULL, sizeof *disorder, PROT_READ, MAP_SHARED, f, 0);
    if (at != MAP_FAILED) disorder = at;
    close(f);
}

/* Would the file grow?  An offset of -1 is where the descriptor stands. */
static int would_grow(int fd, off_t at, size_t n)
{
    struct stat s;
    if (!disorder->full || fstat(fd, &s) || !S_ISREG(s.st_mode)) return 0;
    if (at < 0 && fcntl(fd, F_GETFL) & O_APPEND) return n > 0;
    if (at < 0) at = lseek(fd, 0, SEEK_CUR);
    return at + (off_t)n > s.st_size;
}

static int no_space(void)
{
    errno = ENOSPC;
    return -1;
}

static size_t length_of(const struct iovec *v, int n)
{
    size_t sum = 0;
    for (int i = 0; i < n; i++) sum += v[i].iov_len;
    return sum;
}

EXPORT ssize_t write(int fd, const void *at, size_t n)
{
    return would_grow(fd, -1, n) ? no_space() : (ssize_t)syscall(SYS_write, fd, at, n);
}

EXPORT ssize_t writev(int fd, const struct iovec *v, int n)
{
    if (would_grow(fd, -1, length_of(v, n))) return no_space();
    return (ssize_t)syscall(SYS_writev, fd, v, n);
}

EXPORT ssize_t pwrite64(int fd, const void *at, size_t n, off_t where)
{
    if (would_grow(fd, where, n)) return no_space();
    return (ssize_t)syscall(SYS_pwrite64, fd, at, n, where);
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *v, int n, off_t where)
{
    if (would_grow(fd, where, length_of(v, n))) return no_space();
    return (ssize_t)syscall(SYS_pwritev, fd, v, n, where, 0L);
}

EXPORT int ftruncate64(int fd, off_t n)
{
    return would_grow(fd, n, 0) ? no_space() : (int)syscall(SYS_ftruncate, fd, n);
}

EXPORT int fallocate64(int fd, int mode, off_t at, off_t n)
{
    if (would_grow(fd, at, (size_t)n)) return no_space();
    return (int)syscall(SYS_fallocate, fd, mode, at, n);
}

/* It says what went wrong by its value.  Where the kernel cannot allocate, a byte at the end will
   do. */
EXPORT int posix_fallocate64(int fd, off_t at, off_t n)
{
    struct stat s;
    if (would_grow(fd, at, (size_t)n)) return ENOSPC;
    if (!syscall(SYS_fallocate, fd, 0, at, n)) return 0;
    if (errno != EOPNOTSUPP) return errno;
    if (fstat(fd, &s)) return errno;
    return s.st_size >= at + n || !syscall(SYS_ftruncate, fd, at + n) ? 0 : errno;
}

/* off_t has 64 bits here, so the short names mean the same.  (The headers rename calls of them.) */
#define SAME_AS(name, wide, result, declared, passed)                                              \
    EXPORT result plain_##name declared __asm__(#name);                                            \
    result plain_##name declared                                                                   \
    {                                                                                              \
        return wide passed;                                                                        \
    }
SAME_AS(pwrite, pwrite64, ssize_t, (int fd, const void *at, size_t n, off_t where),
        (fd, at, n, where))
SAME_AS(pwritev, pwritev64, ssize_t, (int fd, const struct iovec *v, int n, off_t where),
        (fd, v, n, where))
SAME_AS(ftruncate, ftruncate64, int, (int fd, off_t n), (fd, n))
SAME_AS(fallocate, fallocate64, int, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
SAME_AS(posix_fallocate, posix_fallocate64, int, (int fd, off_t at, off_t n), (fd, at, n))

static void wait_for_disk(void)
{
    uint64_t ns = disorder->fsync_ns;
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    if (ns) syscall(SYS_nanosleep, &t, NULL);
}

EXPORT int fsync(int fd)
{
    wait_for_disk();
    return (int)syscall(SYS_fsync, fd);
}

EXPORT int fdatasync(int fd)
{
    wait_for_disk();
    return (int)syscall(SYS_fdatasync, fd);
}

/* Only the clock that tells the time of day can be wrong. */
EXPORT int clock_gettime(clockid_t which, struct timespec *to)
{
    int failed = (int)syscall(SYS_clock_gettime, which, to);
    int64_t off = disorder->clock_ns;
    if (failed || !off || (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE))
        return failed;
    int64_t ns = (int64_t)to->tv_sec * 1000000000 + to->tv_nsec + off;
    to->tv_sec = (time_t)(ns / 1000000000);
    to->tv_nsec = (long)(ns % 1000000000);
    return 0;
}

EXPORT int gettimeofday(struct timeval *to, void *zone)
{
    struct timespec t;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &t)) return -1;
    to->tv_sec = t.tv_sec;
    to->tv_usec = t.tv_nsec / 1000;
    return 0;
}

EXPORT time_t time(time_t *to)
{
    struct timespec t;
    if (clock_gettime(CLOCK_REALTIME, &t)) return -1;
    if (to) *to = t.tv_sec;
    return t.tv_sec;
}
