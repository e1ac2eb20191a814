/*
 * temp.c - temporary database servers: a warden process starts one, watches it, and removes it.
 *
 * The warden is a child of this process and holds one end of a pipe.  When this process ends in any
 * way, kill -9 included, the pipe closes, and the warden stops the server and deletes its
 * directory.  It reports through a second pipe, one line per event, of which the first character
 * is the kind: d the directory of a server that runs, o that a command was carried out, e an error.
 */
#include "driver/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { CONTROL = 3, REPORT = 4 }; /* descriptors of the warden */
enum { LOCK_SHARED = 7 };         /* the line of PostgreSQL's lock file: key and id */
enum { TIDY_MS = 5000, PREPARE_MS = 30000, PATIENCE_MS = 60000 };

typedef struct warden {
    const temp_spec *spec;
    char dir[64];
    const struct passwd *as; /* NULL: ourselves */
    pid_t server;
} warden;

/* --- processes -------------------------------------------------------------------------------- */

static pid_t parent_of(pid_t pid)
{
    char name[64], text[512];
    snprintf(name, sizeof name, "/proc/%ld/stat", (long)pid);
    int f = open(name, O_RDONLY | O_CLOEXEC);
    if (f < 0) return 0;
    ssize_t n = read(f, text, sizeof text - 1);
    close(f);
    if (n <= 0) return 0;
    text[n] = 0;
    const char *p = strrchr(text, ')'); /* the name may hold anything */
    long parent = 0;
    return p && sscanf(p + 1, " %*c %ld", &parent) == 1 ? (pid_t)parent : 0;
}

static bool below(pid_t pid, pid_t root)
{
    for (int depth = 0; pid > 1 && depth < 64; depth++) {
        pid = parent_of(pid);
        if (pid == root) return true;
    }
    return false;
}

/* To all that the warden has started, directly or not. */
static void signal_all(int sig)
{
    DIR *d = opendir("/proc");
    if (!d) return;
    pid_t self = getpid();
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        if (pid > 1 && !*end && below((pid_t)pid, self)) kill((pid_t)pid, sig);
    }
    closedir(d);
}

/* Reaps what has ended; true while there is anything left. */
static bool reap(warden *w)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        if (pid == w->server) w->server = 0;
    return pid == 0;
}

static void kill_all(warden *w, int gently)
{
    uint64_t begun = clock_now();
    if (gently && w->server) {
        signal_all(SIGCONT);
        kill(w->server, gently);
        while (reap(w) && clock_now() - begun < TIDY_MS * 1000000ull) clock_nap(5000000);
    }
    while (reap(w)) {
        signal_all(SIGKILL);
        clock_nap(5000000);
    }
    w->server = 0;
}

/* A server that was killed leaves its System V shared memory; its lock file says which. */
static void drop_shared_memory(const warden *w)
{
    char name[128], line[256];
    if (!w->spec->lock) return;
    snprintf(name, sizeof name, "%s/%s", w->dir, w->spec->lock);
    FILE *f = fopen(name, "re");
    if (!f) return;
    for (int i = 1; fgets(line, sizeof line, f); i++) {
        unsigned long key;
        int id;
        struct shmid_ds about;
        if (i != LOCK_SHARED || sscanf(line, "%lu %d", &key, &id) != 2) continue;
        if (!shmctl(id, IPC_STAT, &about) && !about.shm_nattch &&
            about.shm_perm.uid == (w->as ? w->as->pw_uid : geteuid()))
            shmctl(id, IPC_RMID, NULL);
    }
    fclose(f);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag, (void)at;
    return remove(path) && errno != ENOENT;
}

/* --- the warden ------------------------------------------------------------------------------- */

static void expand(const warden *w, const char *text, char *out, size_t cap)
{
    size_t n = 0;
    for (; *text && n + 1 < cap; text++) {
        const char *by = NULL;
        if (text[0] == '%' && text[1] == 'd') by = w->dir;
        if (text[0] == '%' && text[1] == 'u') by = w->as ? w->as->pw_name : "ratel";
        if (by) {
            n += (size_t)snprintf(out + n, cap - n, "%s", by);
            text++;
        } else {
            out[n++] = *text;
        }
        if (n >= cap) n = cap - 1;
    }
    out[n] = 0;
}

_Noreturn static void become(const warden *w, const char *const *arguments)
{
    char text[TEMP_ARGS][256], full[512];
    char *argv[TEMP_ARGS + 1];
    int n = 0;
    for (; n < TEMP_ARGS && arguments[n]; n++) {
        expand(w, arguments[n], text[n], sizeof text[n]);
        argv[n] = text[n];
    }
    argv[n] = NULL;
    int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log >= 0) dup2(log, 1), dup2(log, 2);
    close(CONTROL);
    close(REPORT);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of user, which clears it */
    glob_t found;
    if (w->spec->path && !glob(w->spec->path, 0, NULL, &found)) {
        for (size_t i = found.gl_pathc; i--;) { /* the newest version last */
            snprintf(full, sizeof full, "%s/%s", found.gl_pathv[i], argv[0]);
            if (!access(full, X_OK)) execv(full, argv);
        }
    }
    execvp(argv[0], argv);
    _exit(127);
}

static pid_t start(const warden *w, const char *const *arguments)
{
    pid_t pid = fork();
    if (pid) return pid;
    setsid();
    if (chdir(w->dir)) _exit(126);
    if (w->as && (initgroups(w->as->pw_name, w->as->pw_gid) || setgid(w->as->pw_gid) ||
                  setuid(w->as->pw_uid)))
        _exit(126);
    become(w, arguments);
}

static void send_event(char kind, const char *text)
{
    char line[512];
    int n = snprintf(line, sizeof line, "%c%s\n", kind, text);
    if (n >= (int)sizeof line) {
        n = sizeof line;
        line[n - 1] = '\n';
    }
    if (write(REPORT, line, (size_t)n) < 0) return; /* nobody listens: EOF follows */
}

/* The end of what the server has written, as one line. */
static void tell_log(const warden *w, const char *what)
{
    char name[128], text[401], line[480];
    snprintf(name, sizeof name, "%s/log", w->dir);
    int f = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;
    if (f >= 0) {
        off_t size = lseek(f, 0, SEEK_END);
        lseek(f, size > 400 ? size - 400 : 0, SEEK_SET);
        n = read(f, text, sizeof text - 1);
        close(f);
    }
    text[n > 0 ? n : 0] = 0;
    for (char *p = text; *p; p++)
        if (*p == '\n' || *p == '\t') *p = ' ';
    snprintf(line, sizeof line, "%s: %s", what, *text ? text : "it printed nothing");
    send_event('e', line);
}

/* A command; 0: none within the time; -1: our maker is gone or done. */
static int command_within(int ms)
{
    struct pollfd p = {.fd = CONTROL, .events = POLLIN};
    int n = poll(&p, 1, ms);
    if (n == 0 || (n < 0 && errno == EINTR)) return 0;
    char c;
    return n > 0 && read(CONTROL, &c, 1) == 1 ? c : -1;
}

static bool prepared(warden *w)
{
    if (!w->spec->prepare[0]) return true;
    pid_t pid = start(w, w->spec->prepare);
    int status = 0;
    uint64_t left = 0; /* since when nobody has waited for it */
    while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
        /* It is short, and killed it would leave shared memory that nobody can find again. */
        if (left)
            clock_nap(10000000);
        else if (command_within(10) < 0)
            left = clock_now();
        if (left && clock_now() - left > PREPARE_MS * 1000000ull) return false;
    }
    if (left) return false;
    if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status)) return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        char text[256];
        snprintf(text, sizeof text, "cannot find %s (is the server's package installed?)",
                 w->spec->prepare[0]);
        send_event('e', text);
    } else {
        tell_log(w, w->spec->prepare[0]);
    }
    return false;
}

static void serve(warden *w)
{
    w->server = start(w, w->spec->serve);
    send_event('d', w->dir);
    for (;;) {
        int c = command_within(w->server ? 100 : 1000);
        if (c < 0) return;
        bool had = w->server != 0;
        switch (c) {
        case TEMP_KILL:
            kill_all(w, 0);
            w->server = start(w, w->spec->serve);
            break;
        case TEMP_PAUSE: signal_all(SIGSTOP); break;
        case TEMP_CONTINUE: signal_all(SIGCONT); break;
        default:
            reap(w);
            if (had && !w->server) tell_log(w, "the server has ended");
            continue;
        }
        send_event('o', "");
    }
}

_Noreturn static void watch(const temp_spec *s, int control, int report)
{
    warden w = {.spec = s};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    /* Pipes may have any numbers, 3 and 4 too: first out of the way. */
    control = fcntl(control, F_DUPFD, 10);
    report = fcntl(report, F_DUPFD, 10);
    dup2(control, CONTROL);
    dup2(report, REPORT);
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(null, i);
    close_range(REPORT + 1, ~0u, 0);

    if (!geteuid()) {
        w.as = getpwnam(s->user);
        if (!w.as) w.as = getpwnam("nobody");
        if (!w.as) {
            send_event('e', "Ratel runs as root, and there is no other user to run a server as");
            _exit(1);
        }
    }
    snprintf(w.dir, sizeof w.dir, "/tmp/ratel-db-XXXXXX");
    if (!mkdtemp(w.dir)) {
        send_event('e', "cannot make a directory in /tmp");
        _exit(1);
    }
    if (w.as && chown(w.dir, w.as->pw_uid, w.as->pw_gid))
        send_event('e', "cannot change the owner of the directory");
    else if (prepared(&w))
        serve(&w);
    kill_all(&w, s->stop);
    drop_shared_memory(&w);
    nftw(w.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    _exit(0);
}

/* --- our side --------------------------------------------------------------------------------- */

/* A line that the warden tells: its kind, 0 within no time, -1 if it has ended. */
static int heard(const temp_server *t, char *text, size_t cap, int ms)
{
    struct pollfd p = {.fd = t->report, .events = POLLIN};
    int n = poll(&p, 1, ms);
    if (n == 0) return 0;
    if (n < 0) return errno == EINTR ? 0 : -1;
    char kind, c;
    if (read(t->report, &kind, 1) != 1) return -1;
    size_t at = 0;
    while (read(t->report, &c, 1) == 1 && c != '\n')
        if (at + 1 < cap) text[at++] = c;
    if (cap) text[at] = 0;
    return kind;
}

bool temp_start(temp_server *t, const temp_spec *s, char *why, size_t cap)
{
    int control[2], report[2];
    if (pipe2(control, O_CLOEXEC)) {
        snprintf(why, cap, "cannot create a pipe: %s", strerror(errno));
        return false;
    }
    if (pipe2(report, O_CLOEXEC)) {
        snprintf(why, cap, "cannot create a pipe: %s", strerror(errno));
        close(control[0]), close(control[1]);
        return false;
    }
    t->warden = fork();
    if (!t->warden) watch(s, control[0], report[1]);
    close(control[0]);
    close(report[1]);
    t->control = control[1];
    t->report = report[0];
    t->running = t->warden > 0;
    if (!t->running) {
        snprintf(why, cap, "cannot fork: %s", strerror(errno));
        close(t->control), close(t->report);
        return false;
    }
    /* An interrupt while we wait ends us, or is seen by the caller; the warden tidies up. */
    char text[512] = "";
    int kind;
    uint64_t begun = clock_now();
    while ((kind = heard(t, text, sizeof text, 1000)) == 0)
        if (clock_now() - begun > PATIENCE_MS * 1000000ull) break;
    if (kind == 'd') {
        snprintf(t->dir, sizeof t->dir, "%.63s", text);
        return true;
    }
    snprintf(why, cap, "%s", kind == 'e' ? text : "the server did not start");
    temp_stop(t);
    return false;
}

void temp_stop(temp_server *t)
{
    if (!t->running) return;
    close(t->control);
    close(t->report);
    while (waitpid(t->warden, NULL, 0) < 0 && errno == EINTR) {}
    t->running = false;
}

bool temp_ended(temp_server *t, char *why, size_t cap)
{
    return t->running && heard(t, why, cap, 0) != 0;
}

bool temp_fault(temp_server *t, enum temp_fault f)
{
    char c = (char)f, text[512];
    if (!t->running || write(t->control, &c, 1) != 1) return false;
    int kind;
    uint64_t begun = clock_now();
    do kind = heard(t, text, sizeof text, 1000);
    while ((kind == 'e' || kind == 0) && clock_now() - begun < PATIENCE_MS * 1000000ull);
    return kind == 'o';
}
