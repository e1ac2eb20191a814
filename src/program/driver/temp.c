/*
 * temp.c - temporary database servers: a warden process starts them, watches and removes them.
 *
 * The warden is a child of this process and holds one end of a pipe.  When this process ends in any
 * way, kill -9 included, the pipe closes, and the warden stops the server and deletes its
 * directory.  It reports through a second pipe, one line per event, of which the first character
 * is the kind: d the directory of a server that runs, o that a command was carried out, e an error,
 * f that a command failed.  A command is two bytes: what, and the number of the node.
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
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { CONTROL = 3, REPORT = 4, LINKS = 5 }; /* descriptors of the warden */
enum { LOCK_SHARED = 7 };                    /* the line of PostgreSQL's lock file: key and id */
enum { TIDY_MS = 5000, PREPARE_MS = 30000, PATIENCE_MS = 240000 };

typedef struct warden {
    const temp_spec *spec;
    char dir[64];
    const struct passwd *as; /* NULL: ourselves */
    pid_t server[TEMP_NODES];
    bool prepared[TEMP_NODES], started[TEMP_NODES];
    pid_t proxy; /* 0: there is none */
} warden;

/* --- processes -------------------------------------------------------------------------------- */

pid_t temp_parent(pid_t pid)
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
        pid = temp_parent(pid);
        if (pid == root) return true;
    }
    return false;
}

/* Is it of this node?  What a node has left behind, our child now, is everybody's to kill. */
static bool of_node(const warden *w, unsigned node, pid_t pid)
{
    for (unsigned i = 0; i < w->spec->nodes; i++)
        if (i != node && w->server[i] && (pid == w->server[i] || below(pid, w->server[i])))
            return false;
    return true;
}

enum { ALL_NODES = TEMP_NODES };

/* To all that the warden has started, directly or not; how many there were. */
static unsigned signal_node(const warden *w, unsigned node, int sig)
{
    DIR *d = opendir("/proc");
    if (!d) return 0;
    pid_t self = getpid();
    unsigned n = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        if (pid <= 1 || *end || !below((pid_t)pid, self)) continue;
        if (node != ALL_NODES && (pid == w->proxy || !of_node(w, node, (pid_t)pid))) continue;
        kill((pid_t)pid, sig);
        n++;
    }
    closedir(d);
    return n;
}

/* Reaps what has ended; true while there is anything left. */
static bool reap(warden *w)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        for (unsigned i = 0; i < w->spec->nodes; i++)
            if (pid == w->server[i]) w->server[i] = 0;
    return pid == 0;
}

/* Ends one node: by the signal within a while, else by force. */
static void end_node(warden *w, unsigned node, int gently)
{
    uint64_t begun = clock_now();
    if (gently && w->server[node]) {
        signal_node(w, node, SIGCONT);
        kill(w->server[node], gently);
        while (reap(w) && w->server[node] && clock_now() - begun < TIDY_MS * 1000000ull)
            clock_nap(5000000);
    }
    while (signal_node(w, node, SIGKILL)) {
        reap(w);
        clock_nap(2000000);
    }
    w->server[node] = 0;
}

static void kill_all(warden *w, int gently)
{
    uint64_t begun = clock_now();
    if (gently) {
        signal_node(w, ALL_NODES, SIGCONT);
        for (unsigned i = 0; i < w->spec->nodes; i++)
            if (w->server[i]) kill(w->server[i], gently);
        while (reap(w) && clock_now() - begun < TIDY_MS * 1000000ull) clock_nap(5000000);
    }
    while (reap(w)) {
        signal_node(w, ALL_NODES, SIGKILL);
        clock_nap(5000000);
    }
}

/* A server that was killed leaves its System V shared memory; its lock file says which. */
static void drop_shared_memory(const warden *w, const temp_node *node)
{
    char name[128], line[256];
    if (!node->lock) return;
    snprintf(name, sizeof name, "%s/%s", w->dir, node->lock);
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
        if (text[0] == '%' && text[1] == '%') by = "%";
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

/* Each node has a file of what it says. */
static void log_name(unsigned node, char *to, size_t cap)
{
    snprintf(to, cap, node ? "log%u" : "log", node);
}

/* What the proxy and the library that comes first look for in the environment. */
static void name_node(const warden *w, unsigned node)
{
    char text[128];
    snprintf(text, sizeof text, "%u", node);
    setenv(LINK_NODE_VARIABLE, text, 1);
    if (!w->spec->preload) return;
    snprintf(text, sizeof text, "%s/preload.so", w->dir);
    setenv("LD_PRELOAD", text, 1);
    snprintf(text, sizeof text, "%s/disorder%u", w->dir, node);
    setenv(TEMP_DISORDER_VARIABLE, text, 1);
}

_Noreturn static void become(const warden *w, unsigned node, const char *const *arguments)
{
    char text[TEMP_ARGS][384], full[512], name[16];
    char *argv[TEMP_ARGS + 1];
    int n = 0;
    for (; n < TEMP_ARGS && arguments[n]; n++) {
        expand(w, arguments[n], text[n], sizeof text[n]);
        argv[n] = text[n];
    }
    argv[n] = NULL;
    log_name(node, name, sizeof name);
    int log = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log >= 0) dup2(log, 1), dup2(log, 2);
    close(CONTROL);
    close(REPORT);
    close(LINKS);
    name_node(w, node);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of user, which clears it */
    glob_t found;
    if (w->spec->path && !glob(w->spec->path, GLOB_BRACE, NULL, &found)) {
        for (size_t i = found.gl_pathc; i--;) { /* the newest version last */
            snprintf(full, sizeof full, "%s/%s", found.gl_pathv[i], text[0]);
            /* initdb looks for its server beside what it was called as: in PATH it might find one
               of another version */
            argv[0] = full;
            if (!access(full, X_OK)) execv(full, argv);
        }
    }
    argv[0] = text[0];
    if (!w->spec->only_path) execvp(argv[0], argv);
    _exit(127);
}

/* In a new process: into the directory, and no more rights than a server has. */
static void descend(const warden *w)
{
    setsid();
    if (chdir(w->dir)) _exit(126);
    if (w->as && (initgroups(w->as->pw_name, w->as->pw_gid) || setgid(w->as->pw_gid) ||
                  setuid(w->as->pw_uid)))
        _exit(126);
}

static pid_t start(const warden *w, unsigned node, const char *const *arguments)
{
    pid_t pid = fork();
    if (pid) return pid;
    descend(w);
    become(w, node, arguments);
}

/* The proxy, if there is something for it to do. */
static pid_t start_proxy(const warden *w)
{
    static link_spec links[LINKS_MOST];
    if (!w->spec->links) return 0;
    pid_t pid = fork();
    if (pid) return pid;
    descend(w);
    close(CONTROL);
    close(REPORT);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memcpy(links, w->spec->link, sizeof links);
    for (unsigned i = 0; i < w->spec->links; i++) {
        expand(w, w->spec->link[i].listen, links[i].listen, sizeof links[i].listen);
        expand(w, w->spec->link[i].target, links[i].target, sizeof links[i].target);
    }
    links_serve(LINKS, links, w->spec->links);
}

/* The library where every server's user can read it, and a file of zeros for each node. */
static bool has_preload(const warden *w)
{
    char name[128], piece[1 << 14];
    temp_disorder none = {0};
    if (!w->spec->preload) return true;
    int from = open(w->spec->preload, O_RDONLY | O_CLOEXEC);
    snprintf(name, sizeof name, "%s/preload.so", w->dir);
    int to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    ssize_t n = -1;
    while (from >= 0 && to >= 0 && (n = read(from, piece, sizeof piece)) > 0)
        if (write(to, piece, (size_t)n) != n) break;
    if (from >= 0) close(from);
    bool done = to >= 0 && n == 0 && !fchmod(to, 0755);
    if (to >= 0) close(to);
    for (unsigned i = 0; done && i < w->spec->nodes; i++) {
        snprintf(name, sizeof name, "%s/disorder%u", w->dir, i);
        to = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        done = to >= 0 && !fchmod(to, 0644) && write(to, &none, sizeof none) == sizeof none;
        if (to >= 0) close(to);
    }
    if (!done) send_event('e', "cannot copy the library for faults into the server's directory");
    return done;
}

/* The end of what the server has written, as one line. */
static void tell_log(const warden *w, unsigned node, const char *what)
{
    char own[16], name[128], text[401], line[480];
    log_name(node, own, sizeof own);
    snprintf(name, sizeof name, "%s/%s", w->dir, own);
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
static int command_within(int ms, unsigned *node)
{
    struct pollfd p = {.fd = CONTROL, .events = POLLIN};
    int n = poll(&p, 1, ms);
    if (n == 0 || (n < 0 && errno == EINTR)) return 0;
    char c[2];
    if (n < 0 || read(CONTROL, c, 2) != 2 || c[1] < 0 || c[1] >= TEMP_NODES) return -1;
    *node = (unsigned)c[1];
    return c[0];
}

static void tell_missing(const warden *w, const char *program)
{
    char text[400];
    if (w->spec->only_path)
        snprintf(text, sizeof text, "cannot run %s of %.300s%s", program, w->spec->path,
                 w->as ? " (the server's user must be able to read that directory)" : "");
    else
        snprintf(text, sizeof text, "cannot find %s (is the server's package installed?)", program);
    send_event('e', text);
}

static bool make_dir(const warden *w, const char *name)
{
    char path[128];
    if (!name) return true;
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    if (mkdir(path, 0700) && errno != EEXIST) return false;
    return !w->as || !chown(path, w->as->pw_uid, w->as->pw_gid);
}

static bool prepared(warden *w, unsigned node)
{
    const temp_node *s = &w->spec->node[node];
    unsigned unused;
    if (w->prepared[node]) return true;
    if (!make_dir(w, s->dir)) {
        send_event('e', "cannot make a directory in /tmp");
        return false;
    }
    w->prepared[node] = true;
    if (!s->prepare[0]) return true;
    pid_t pid = start(w, node, s->prepare);
    int status = 0;
    uint64_t left = 0; /* since when nobody has waited for it */
    while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
        /* It is short, and killed it would leave shared memory that nobody can find again. */
        if (left)
            clock_nap(10000000);
        else if (command_within(10, &unused) < 0)
            left = clock_now();
        if (left && clock_now() - left > PREPARE_MS * 1000000ull) return false;
    }
    if (left) return false;
    if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status)) return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        tell_missing(w, s->prepare[0]);
    else
        tell_log(w, node, s->prepare[0]);
    return false;
}

static pid_t start_server(warden *w, unsigned node)
{
    const temp_node *s = &w->spec->node[node];
    const char *arguments[TEMP_ARGS];
    memcpy(arguments, s->serve, sizeof arguments);
    if (!w->started[node] && s->first) temp_argument(arguments, s->first);
    w->started[node] = true;
    if (s->socket) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", w->dir, s->socket);
        unlink(path);
    }
    return start(w, node, arguments);
}

static void tell_ended(warden *w, const pid_t *had)
{
    reap(w);
    for (unsigned i = 0; i < w->spec->nodes; i++)
        if (had[i] && !w->server[i]) tell_log(w, i, "the server has ended");
}

/* Carries out a command; false: it failed and why was told. */
static bool carry_out(warden *w, int command, unsigned node)
{
    if (node >= w->spec->nodes) return false;
    reap(w);
    switch (command) {
    case TEMP_KILL:
    case TEMP_DOWN: end_node(w, node, 0); break;
    case TEMP_RESTART: end_node(w, node, w->spec->restart); break;
    case TEMP_PAUSE: signal_node(w, node, SIGSTOP); return true;
    case TEMP_CONTINUE: signal_node(w, node, SIGCONT); return true;
    default: break;
    }
    if (command == TEMP_DOWN) return true;
    if (!prepared(w, node)) return false;
    if (!w->server[node]) w->server[node] = start_server(w, node);
    return w->server[node] > 0;
}

static void serve_nodes(warden *w)
{
    if (w->spec->nodes) w->server[0] = start_server(w, 0);
    send_event('d', w->dir);
    for (;;) {
        unsigned node = 0;
        pid_t had[TEMP_NODES];
        int c = command_within(100, &node);
        if (c < 0) return;
        memcpy(had, w->server, sizeof had);
        if (c == 0)
            tell_ended(w, had);
        else
            send_event(carry_out(w, c, node) ? 'o' : 'f', "");
    }
}

/* --- the network ------------------------------------------------------------------------------ */

static bool write_text(const char *path, const char *text)
{
    int f = open(path, O_WRONLY | O_CLOEXEC);
    bool done = f >= 0 && write(f, text, strlen(text)) == (ssize_t)strlen(text);
    if (f >= 0) close(f);
    return done;
}

/* A network namespace with nothing but a loopback device; who is not root needs a namespace of
   users around it, in which everybody keeps his number. */
static bool own_network(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWNET)) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) return false;
        snprintf(map, sizeof map, "%ld %ld 1", (long)uid, (long)uid);
        if (!write_text("/proc/self/uid_map", map)) return false;
        snprintf(map, sizeof map, "%ld %ld 1", (long)gid, (long)gid);
        if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/gid_map", map))
            return false;
    }
    struct ifreq r = {.ifr_name = "lo"};
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = s >= 0 && !ioctl(s, SIOCGIFFLAGS, &r);
    r.ifr_flags |= IFF_UP;
    up = up && !ioctl(s, SIOCSIFFLAGS, &r);
    if (s >= 0) close(s);
    return up;
}

_Noreturn static void watch(const temp_spec *s, int control, int report, int links)
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
    links = links < 0 ? -1 : fcntl(links, F_DUPFD, 10);
    dup2(control, CONTROL);
    dup2(report, REPORT);
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(null, i);
    if (links >= 0) dup2(links, LINKS);
    close_range((unsigned)(links < 0 ? LINKS : LINKS + 1), ~0u, 0);

    if (!geteuid() && s->nodes) {
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
    if (w.as && s->nodes && chown(w.dir, w.as->pw_uid, w.as->pw_gid))
        send_event('e', "cannot change the owner of the directory");
    else if (s->network && !own_network())
        send_event('e', "cannot make a network namespace, in which the nodes of a cluster talk");
    else if (!make_dir(&w, s->links ? "px" : NULL) || !make_dir(&w, s->links ? "peers" : NULL))
        send_event('e', "cannot make a directory in /tmp");
    else if (has_preload(&w) && (w.proxy = start_proxy(&w)) >= 0 && (!s->nodes || prepared(&w, 0)))
        serve_nodes(&w);
    close(LINKS);
    kill_all(&w, s->stop);
    for (unsigned i = 0; i < s->nodes; i++) drop_shared_memory(&w, &s->node[i]);
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
    int control[2], report[2], links[2] = {-1, -1};
    t->links = -1;
    if (pipe2(control, O_CLOEXEC)) {
        snprintf(why, cap, "cannot create a pipe: %s", strerror(errno));
        return false;
    }
    if (pipe2(report, O_CLOEXEC)) {
        snprintf(why, cap, "cannot create a pipe: %s", strerror(errno));
        close(control[0]), close(control[1]);
        return false;
    }
    if (s->links && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, links)) {
        snprintf(why, cap, "cannot create a pair of sockets: %s", strerror(errno));
        close(control[0]), close(control[1]), close(report[0]), close(report[1]);
        return false;
    }
    t->warden = fork();
    if (!t->warden) watch(s, control[0], report[1], links[1]);
    close(control[0]);
    close(report[1]);
    if (s->links) close(links[1]);
    t->links = links[0];
    t->control = control[1];
    t->report = report[0];
    t->running = t->warden > 0;
    if (!t->running) {
        snprintf(why, cap, "cannot fork: %s", strerror(errno));
        close(t->control), close(t->report);
        if (t->links >= 0) close(t->links);
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
    if (t->links >= 0) close(t->links);
    close(t->control);
    close(t->report);
    while (waitpid(t->warden, NULL, 0) < 0 && errno == EINTR) {}
    t->running = false;
}

bool temp_ended(temp_server *t, char *why, size_t cap)
{
    return t->running && heard(t, why, cap, 0) != 0;
}

/* Has a command carried out; false: why says what the warden told of it. */
static bool commanded(temp_server *t, unsigned node, char command, char *why, size_t cap)
{
    char c[2] = {command, (char)node}, text[512] = "";
    if (!t->running || write(t->control, c, 2) != 2) return false;
    int kind;
    uint64_t begun = clock_now();
    do {
        kind = heard(t, text, sizeof text, 1000);
        if (kind == 'e') snprintf(why, cap, "%s", text);
    } while ((kind == 'e' || kind == 0) && clock_now() - begun < PATIENCE_MS * 1000000ull);
    return kind == 'o';
}

bool temp_start_node(temp_server *t, unsigned node, char *why, size_t cap)
{
    snprintf(why, cap, "the server did not start");
    return commanded(t, node, TEMP_UP, why, cap);
}

bool temp_fault(temp_server *t, unsigned node, enum temp_fault f)
{
    char why[512];
    return commanded(t, node, (char)f, why, sizeof why);
}

bool temp_links(temp_server *t, const link_order *o)
{
    char answer;
    if (!t->running || t->links < 0 || send(t->links, o, sizeof *o, MSG_NOSIGNAL) < 0) return false;
    struct pollfd p = {.fd = t->links, .events = POLLIN};
    for (uint64_t begun = clock_now(); clock_now() - begun < PATIENCE_MS * 1000000ull;) {
        int n = poll(&p, 1, 1000);
        if (n > 0) return recv(t->links, &answer, 1, 0) == 1;
        if (n < 0 && errno != EINTR) return false;
    }
    return false;
}

/* The file is mapped by the processes of the node, so it is written in place. */
bool temp_disturb(temp_server *t, unsigned node, const temp_disorder *d)
{
    char name[128];
    snprintf(name, sizeof name, "%s/disorder%u", t->dir, node);
    int f = open(name, O_WRONLY | O_CLOEXEC);
    bool done = f >= 0 && pwrite(f, d, sizeof *d, 0) == (ssize_t)sizeof *d;
    if (f >= 0) close(f);
    return done;
}

bool temp_argument(const char **arguments, const char *more)
{
    unsigned n = 0;
    while (n < TEMP_ARGS && arguments[n]) n++;
    if (n + 1 >= TEMP_ARGS) return false;
    arguments[n] = more;
    return true;
}
