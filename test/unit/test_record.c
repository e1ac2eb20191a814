/*
 * The recorder's way of writing where the space ends: whole lines stay, and what comes later
 * follows them.  The limit on the size of a file stands for a full disk.
 */
#include "work/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test.h"

TEST_MAIN

/* Returns the limit that there was. */
static rlim_t limit_size(rlim_t bytes)
{
    struct rlimit now = {0};
    if (getrlimit(RLIMIT_FSIZE, &now)) FAIL("getrlimit");
    rlim_t was = now.rlim_cur;
    now.rlim_cur = bytes;
    if (setrlimit(RLIMIT_FSIZE, &now)) FAIL("setrlimit");
    return was;
}

static void expect_content(int fd, const char *content)
{
    char got[256];
    ssize_t n = pread(fd, got, sizeof got - 1, 0);
    got[n > 0 ? n : 0] = 0;
    EXPECT_STR(got, content);
    EXPECT_EQ_INT(n, strlen(content)); /* a hole would read as bytes of zero */
}

TEST(a_line_that_does_not_fit_is_taken_back)
{
    char name[] = "/tmp/ratel-record-XXXXXX";
    int fd = mkstemp(name);
    REQUIRE(fd >= 0);
    unlink(name);
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ_INT(record_write(fd, "one\n", 4), 0);
    rlim_t limit = limit_size(16);
    EXPECT_EQ_INT(record_write(fd, "two\nthree\nfour, five\n", 21), EFBIG);
    expect_content(fd, "one\ntwo\nthree\n");
    EXPECT_EQ_INT(record_write(fd, "longer than that\n", 17), EFBIG);
    expect_content(fd, "one\ntwo\nthree\n");
    limit_size(limit);
    EXPECT_EQ_INT(record_write(fd, "six\n", 4), 0);
    expect_content(fd, "one\ntwo\nthree\nsix\n");
    signal(SIGXFSZ, was);
    close(fd);
}

/* A pipe keeps what it has got. */
TEST(a_pipe_that_nobody_reads)
{
    int ends[2];
    REQUIRE(!pipe(ends));
    void (*was)(int) = signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ_INT(record_write(ends[1], "one\n", 4), 0);
    close(ends[0]);
    EXPECT_EQ_INT(record_write(ends[1], "two\n", 4), EPIPE);
    signal(SIGPIPE, was);
    close(ends[1]);
}
