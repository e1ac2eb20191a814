/*
 * exec_warden.c - see exec_warden.h.  One request and one answer at a time over a socket that keeps
 * messages apart.  A program that has ended is reaped only when we ask for its end, so that its
 * process id cannot have become somebody else's when it is killed.
 */
#include "driver/exec_warden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define MILLISECOND 1000000u
enum { SOCKET = 3, REAP_MS = 5000 };

typedef struct wish {
    bool spawn; /* else kill */
    pid_t pid;
    int grace;
} wish;

typedef struct reply {
    int error;
    pid_t pid;
    int status;  /* as waitpid gives it */
    bool reaped; /* status is there */
    bool alone;  /* it had ended before it was killed */
} reply;

typedef union fd_message {
    struct cmsghdr head;
    char room[CMSG_SPACE(3 * sizeof(int))];
} fd_message;

/* --- the warden's side ------------------------------------------------------------------------ */

static bool send_reply(const reply *r, const int *fds)
{
    fd_message m;
    struct iovec part = {(void *)r, sizeof *r};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    if (fds) {
        memset(&m, 0, sizeof m);
        h.msg_control = m.room;
        h.msg_controllen = sizeof m.room;
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(3 * sizeof(int));
        memcpy(CMSG_DATA(c), fds, 3 * sizeof(int));
    }
    return sendmsg(SOCKET, &h, MSG_NOSIGNAL) == (ssize_t)sizeof *r;
}

static void close_pairs(int pairs[3][2])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (pairs[i][k] >= 0) close(pairs[i][k]);
}

/* In a group of its own, with the signals as a shell would leave them. */
static int spawn_with(int pairs[3][2], char *const *words, char *const *environment, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_adddup2(&files, pairs[0][0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, pairs[1][1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, pairs[2][1], STDERR_FILENO);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    int error = posix_spawnp(pid, words[0], &files, &how, words, environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* The same for a function of ours. */
static int fork_with(int pairs[3][2], const exec_kind *kind, pid_t *pid)
{
    *pid = fork();
    if (*pid < 0) return errno;
    if (*pid) {
        setpgid(*pid, *pid); /* both sides do it, whoever is first */
        return 0;
    }
    setpgid(0, 0);
    dup2(pairs[0][0], STDIN_FILENO);
    dup2(pairs[1][1], STDOUT_FILENO);
    dup2(pairs[2][1], STDERR_FILENO);
    closefrom(STDERR_FILENO + 1); /* (signals stay blocked, as for the warden) */
    _exit(kind->serve(kind->ud));
}

static bool serve_spawn(const exec_kind *kind)
{
    reply r = {0};
    int pairs[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    for (int i = 0; i < 3 && !r.error; i++)
        if (pipe2(pairs[i], O_CLOEXEC)) r.error = errno;
    if (!r.error)
        r.error = kind->serve ? fork_with(pairs, kind, &r.pid)
                              : spawn_with(pairs, kind->words, kind->environment, &r.pid);
    if (!r.error) {
        fcntl(pairs[0][1], F_SETFL, O_NONBLOCK);
        fcntl(pairs[1][0], F_SETFL, O_NONBLOCK);
        fcntl(pairs[2][0], F_SETFL, O_NONBLOCK);
    }
    int ours[3] = {pairs[0][1], pairs[1][0], pairs[2][0]};
    bool sent = send_reply(&r, r.error ? NULL : ours);
    close_pairs(pairs);
    return sent;
}

/* Has it ended?  It is not reaped by this question. */
static bool has_ended(pid_t pid)
{
    siginfo_t about = {0};
    return waitid(P_PID, (id_t)pid, &about, WEXITED | WNOHANG | WNOWAIT) || about.si_pid == pid;
}

static bool serve_kill(const wish *w)
{
    reply r = {.pid = w->pid};
    uint64_t begun = clock_now();
    while (!(r.alone = has_ended(w->pid)) && clock_now() - begun < (uint64_t)w->grace * MILLISECOND)
        clock_nap(MILLISECOND);
    kill(-w->pid, SIGKILL);
    kill(w->pid, SIGKILL);
    for (begun = clock_now(); clock_now() - begun < (uint64_t)REAP_MS * MILLISECOND;) {
        pid_t got = waitpid(w->pid, &r.status, WNOHANG);
        r.reaped = got == w->pid;
        if (got) break;
        clock_nap(MILLISECOND / 4);
    }
    return send_reply(&r, NULL);
}

static pid_t parent_of(const char *name)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    int f = open(path, O_RDONLY | O_CLOEXEC);
    if (f < 0) return 0;
    ssize_t n = read(f, text, sizeof text - 1);
    close(f);
    if (n <= 0) return 0;
    text[n] = 0;
    const char *p = strrchr(text, ')'); /* the program's name may hold anything */
    long parent = 0;
    return p && sscanf(p + 1, " %*c %ld", &parent) == 1 ? (pid_t)parent : 0;
}

/* What a killed child has left becomes our child, so that the next round kills it. */
static void kill_children(void)
{
    for (uint64_t begun = clock_now(); clock_now() - begun < (uint64_t)REAP_MS * MILLISECOND;) {
        DIR *d = opendir("/proc");
        pid_t self = getpid(), got;
        for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
            char *end;
            long pid = strtol(e->d_name, &end, 10);
            if (pid > 1 && !*end && parent_of(e->d_name) == self) kill((pid_t)pid, SIGKILL);
        }
        if (d) closedir(d);
        while ((got = waitpid(-1, NULL, WNOHANG)) > 0) {}
        if (got < 0 && errno == ECHILD) return;
        clock_nap(MILLISECOND);
    }
}

_Noreturn static void be_warden(int socket, const exec_kind *kind)
{
    sigset_t all;
    sigfillset(&all); /* ctrl-C is for the sessions: we end when they have */
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(nothing, i);
    if (socket != SOCKET) dup2(socket, SOCKET);
    closefrom(SOCKET + 1);
    fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
    for (;;) {
        wish w;
        ssize_t n = recv(SOCKET, &w, sizeof w, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n != (ssize_t)sizeof w) break;
        if (!(w.spawn ? serve_spawn(kind) : serve_kill(&w))) break;
    }
    kill_children();
    _exit(0);
}

/* --- our side --------------------------------------------------------------------------------- */

bool exec_warden_start(exec_warden *w, const exec_kind *kind)
{
    int ends[2];
    w->socket = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return false;
    w->pid = fork();
    if (!w->pid) be_warden(ends[1], kind);
    close(ends[1]);
    if (w->pid < 0) {
        close(ends[0]);
        return false;
    }
    w->socket = ends[0];
    pthread_mutex_init(&w->lock, NULL);
    return true;
}

static bool get_reply(const exec_warden *w, reply *r, int *fds)
{
    fd_message m;
    struct iovec part = {r, sizeof *r};
    struct msghdr h = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = m.room, .msg_controllen = sizeof m.room};
    ssize_t n;
    do {
        n = recvmsg(w->socket, &h, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof *r) return false;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(3 * sizeof(int)))
        memcpy(fds, CMSG_DATA(c), 3 * sizeof(int));
    return true;
}

static bool ask_warden(exec_warden *w, const wish *what, reply *r, int *fds)
{
    pthread_mutex_lock(&w->lock);
    bool done = send(w->socket, what, sizeof *what, MSG_NOSIGNAL) == (ssize_t)sizeof *what &&
                get_reply(w, r, fds);
    pthread_mutex_unlock(&w->lock);
    return done;
}

bool exec_warden_spawn(exec_warden *w, exec_process *p, char *why, size_t cap)
{
    reply r = {0};
    wish what = {.spawn = true};
    int fds[3] = {-1, -1, -1};
    bool asked = ask_warden(w, &what, &r, fds);
    *p = (exec_process){.pid = 0, .in = fds[0], .out = fds[1], .err = fds[2]};
    if (asked && !r.error && fds[0] >= 0) {
        p->pid = r.pid;
        return true;
    }
    snprintf(why, cap, "%s",
             !asked    ? "the process that starts drivers has ended"
             : r.error ? strerror(r.error)
                       : "too many files are open");
    return false;
}

void exec_warden_kill(exec_warden *w, pid_t pid, int grace, char *how, size_t cap)
{
    reply r = {0};
    wish what = {.pid = pid, .grace = grace};
    int none[3];
    if (!ask_warden(w, &what, &r, none) || !r.reaped)
        snprintf(how, cap, "could not be killed");
    else if (WIFEXITED(r.status))
        snprintf(how, cap, "ended with exit status %d", WEXITSTATUS(r.status));
    else
        snprintf(how, cap, r.alone ? "was ended by signal %d" : "was killed", WTERMSIG(r.status));
}

void exec_warden_stop(exec_warden *w)
{
    if (w->socket < 0) return;
    close(w->socket);
    w->socket = -1;
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) {}
    pthread_mutex_destroy(&w->lock);
}
