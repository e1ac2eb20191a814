/*
 * child.c - see child.h.
 */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { UNREPORTED = 100 }; /* exit status of a child that cannot write even its report */

typedef struct report {
    int status;
    bool lost; /* some output did not arrive */
} report;

_Noreturn static void be_child(const args *a, FILE *out, int to, int (*work)(void *), void *ud)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would read the answer */
#endif
    report r = {.status = work(ud)};
    errno = 0;
    bool bad = fflush(out) || ferror(out);
    int error = bad && !errno ? why_lost(fileno(out)) : errno;
    const char *why = error ? strerror(error) : "write error";
    if (bad && error == EPIPE) signal(SIGPIPE, SIG_DFL);
    if (bad && out != stdout) {
        visible_to(stderr, a->value[O_OUTPUT] ? a->value[O_OUTPUT] : "-");
        fprintf(stderr, ": %s\n", why);
    } else if (bad && error != EPIPE) {
        complain("standard output: %s", why);
    }
    r.lost = bad || a->outputs->lost;
    _exit(write(to, &r, sizeof r) == sizeof r ? 0 : UNREPORTED);
}

/* Waits for the report; a signal that asks us to end is passed on. */
static bool receive(int from, pid_t child, report *r)
{
    size_t got = 0;
    while (got < sizeof *r) {
        ssize_t n = read(from, (char *)r + got, sizeof *r - got);
        if (n < 0 && errno == EINTR) {
            if (interrupted()) kill(child, SIGINT);
            continue;
        }
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

int run_in_child(const args *a, FILE *out, const char *what, int (*work)(void *ud), void *ud,
                 bool *failed)
{
    int ends[2], ended = 0;
    report r = {.status = EXIT_BUG};
    *failed = false;
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC)) {
        complain("%s: cannot start a process: %s", what, strerror(errno));
        return EXIT_IO;
    }
    pid_t child = fork();
    if (!child) {
        close(ends[0]);
        be_child(a, out, ends[1], work, ud);
    }
    int error = errno;
    close(ends[1]);
    bool told = child > 0 && receive(ends[0], child, &r);
    close(ends[0]);
    if (child < 0) {
        complain("%s: cannot start a process: %s", what, strerror(error));
        return EXIT_IO;
    }
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {}
    if (told) {
        if (r.lost) a->outputs->lost = true;
        return r.status;
    }
    if (WIFSIGNALED(ended) &&
        (WTERMSIG(ended) == SIGPIPE || WTERMSIG(ended) == SIGINT || WTERMSIG(ended) == SIGTERM)) {
        signal(WTERMSIG(ended), SIG_DFL); /* as if it had struck us */
        raise(WTERMSIG(ended));
    }
    *failed = true;
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == UNREPORTED) {
        complain("%s: the answer cannot be written", what);
        return EXIT_IO;
    }
    if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL)
        complain("%s: the process that was deciding it was killed from outside, as the system does "
                 "when memory runs out (--memory sets a limit); there is no answer",
                 what);
    else
        complain("%s: there is no answer, because the process that was deciding it crashed (signal "
                 "%d): the SQL parser ran out of memory, or Ratel has a bug",
                 what, WIFSIGNALED(ended) ? WTERMSIG(ended) : 0);
    return EXIT_UNDECIDED;
}
