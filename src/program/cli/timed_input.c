/*
 * timed_input.c - see timed_input.h.
 *
 * A pipe without a writer is at its end for read(), but poll() does not say so until a writer was
 * there; so poll is asked first.
 */
#include "cli/timed_input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static uint64_t deadline; /* 0: none */
static int failure;       /* errno of the last call that failed, or 0 */

void timed_start(double seconds)
{
    failure = 0;
    deadline = seconds > 0 && seconds < 1e9 ? now() + (uint64_t)(seconds * 1e9) : 0;
}

FILE *timed_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!f) failure = errno;
    if (!f && fd >= 0) close(fd);
    return f;
}

/* Milliseconds that poll may wait: -1 without a limit. */
static int patience(void)
{
    uint64_t t = now();
    if (!deadline) return -1;
    if (t >= deadline) return 0;
    uint64_t ms = (deadline - t) / 1000000 + 1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

ptrdiff_t timed_read(void *buf, size_t cap, FILE *f)
{
    struct pollfd p = {.fd = fileno(f), .events = POLLIN};
    for (;;) {
        int ready = poll(&p, 1, patience());
        if (!ready) errno = ETIMEDOUT;
        ssize_t n = ready > 0 ? read(p.fd, buf, cap) : -1;
        if (n >= 0) return n;
        if (ready && (errno == EAGAIN || (errno == EINTR && !interrupted()))) continue;
        failure = errno;
        return -1;
    }
}

ptrdiff_t timed_read_all(void *buf, size_t cap, FILE *f)
{
    size_t have = 0;
    while (have < cap) {
        ptrdiff_t n = timed_read((char *)buf + have, cap - have, f);
        if (n < 0) return -1;
        if (!n) break;
        have += (size_t)n;
    }
    return (ptrdiff_t)have;
}

int timed_failure(const char *path)
{
    if (!failure) return -1;
    visible_to(stderr, path);
    bool ended = failure == EINTR && interrupted();
    fprintf(stderr, ": %s\n",
            failure == ETIMEDOUT ? "time limit reached while waiting for input"
            : ended              ? "interrupted"
                                 : strerror(failure));
    int status = failure == ETIMEDOUT || ended ? EXIT_UNDECIDED : EXIT_IO;
    failure = 0;
    return status;
}
