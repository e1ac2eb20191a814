/*
 * modules.c - see modules.h.
 *
 * A module is foreign code: it may crash, loop or take all memory.  So a child, which has the
 * history as it was read, loads the shared object and runs its hooks; what they say comes back
 * through a pipe, and the library checks every number of it (ratel_module_take).  The limits --time
 * and --memory end the child, and whatever ends it is told with the module's file.
 */
#include "cli/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "ratel-module.h"

/* What the child sends: this, and then n bytes: a message, or what the module said. */
typedef struct module_reply {
    int code; /* RATEL_OK, or an error */
    uint64_t n;
} module_reply;

/* --- the child -------------------------------------------------------------------------------- */

static bool send_all(int to, const void *bytes, size_t n)
{
    for (const char *p = bytes; n;) {
        ssize_t k = write(to, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

_Noreturn static void reply(int to, int code, const char *text)
{
    module_reply r = {code, strlen(text)};
    _exit(send_all(to, &r, sizeof r) && send_all(to, text, strlen(text)) ? 0 : 1);
}

static int send_said(const void *bytes, size_t n, void *payload)
{
    int to = *(int *)payload;
    if (!bytes) reply(to, RATEL_ENOMEM, "out of memory, and it went on");
    module_reply r = {RATEL_OK, n};
    return send_all(to, &r, sizeof r) && send_all(to, bytes, n) ? 0 : -1;
}

/* The file as dlopen takes it: without a slash it would be looked for elsewhere. */
static void *open_module(const char *file)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s%s", strchr(file, '/') ? "" : "./", file);
    return n < 0 || (size_t)n >= sizeof path ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* All but the standard streams and the pipe: the file of the answer (-o) may be open, and what a
   module writes there would be read as an answer. */
static void close_inherited(int pipe)
{
    struct rlimit l;
    int end = getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur > 65536 ? 65536 : (int)l.rlim_cur;
    for (int fd = STDERR_FILENO + 1; fd < end; fd++)
        if (fd != pipe) close(fd);
}

_Noreturn static void be_module(const args *a, const char *file, const char *settings,
                                const ratel_history *h, int to)
{
    /* A group of its own, so that whatever it starts ends with it.  Such a group cannot read from
       the terminal: nothing is there to read. */
    setpgid(0, 0);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    dup2(STDERR_FILENO, STDOUT_FILENO); /* what a module prints is not part of the answer */
    close_inherited(to);
    uint64_t mib = 0;
    if (args_u64(a, O_MEMORY, &mib) && mib && mib < UINT64_MAX >> 24) {
        /* what the history takes already, and the limit beyond it */
        uint64_t most = (mib << 20) + ((uint64_t)peak_rss_kib() << 10) + ((uint64_t)64 << 20);
        struct rlimit l = {(rlim_t)most, (rlim_t)most};
        setrlimit(RLIMIT_DATA, &l);
    }
    void *object = open_module(file);
    if (!object) {
        const char *why = dlerror();
        reply(to, RATEL_EIO, why ? why : "the path is too long");
    }
    union {
        void *object;
        ratel_module_entry_fn function;
    } entry = {dlsym(object, "ratel_module_entry")};
    if (!entry.object) reply(to, RATEL_EINVAL, "it does not define ratel_module_entry");
    const ratel_module *module = entry.function();
    if (!module) reply(to, RATEL_EINVAL, "ratel_module_entry returned nothing");
    int code = ratel_module_run(a->context, h, module, settings, send_said, &to);
    if (code) reply(to, code, ratel_errmsg(a->context));
    _exit(0);
}

/* --- the parent ------------------------------------------------------------------------------- */

/* Milliseconds until the deadline; -1: there is none. */
static int left_until(uint64_t deadline)
{
    if (!deadline) return -1;
    uint64_t at = now();
    return at >= deadline ? 0 : (int)((deadline - at) / 1000000 + 1);
}

enum module_end { ENDED, LATE, INTERRUPTED, CLOSED, TOO_MUCH };

#define GLANCE 200 /* milliseconds between two looks at whether the child still runs */
#define GRACE 1000 /* milliseconds in which a child whose pipe has ended ends, too */

/* Whether the child has ended; it stays to be waited for, so that its number stays its own. */
static bool is_over(pid_t child)
{
    siginfo_t info = {0};
    return !waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == child;
}

/* The pipe has ended: because the child has, or because the module closed it. */
static enum module_end after_pipe(pid_t child)
{
    for (int ms = 0; ms < GRACE && !interrupted(); ms += 10) {
        if (is_over(child)) return ENDED;
        poll(NULL, 0, 10);
    }
    return is_over(child) ? ENDED : CLOSED;
}

/* Reads n bytes; false: the child has ended, or *how says what else.  The end of the pipe does not
   tell that alone: a process that the module started may hold it open. */
static bool receive_bytes(int from, void *to, size_t n, uint64_t deadline, pid_t child,
                          enum module_end *how)
{
    for (char *p = to; n;) {
        struct pollfd x = {.fd = from, .events = POLLIN};
        int left = left_until(deadline);
        bool over = is_over(child); /* what it wrote before it ended is in the pipe */
        int ready = poll(&x, 1, over ? 0 : left < 0 || left > GLANCE ? GLANCE : left);
        if (interrupted()) {
            *how = INTERRUPTED;
            return false;
        }
        if (ready < 0 && errno == EINTR) continue;
        if (!ready && over) return false;
        if (!ready) {
            if (left_until(deadline)) continue;
            *how = LATE;
            return false;
        }
        ssize_t k = read(from, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) {
            *how = after_pipe(child);
            return false;
        }
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* How the child ended, if not by a reply. */
static int tell_end(const char *file, int ended, enum module_end how)
{
    if (how == LATE)
        complain("module %s: its hooks reached the time limit", file);
    else if (how == INTERRUPTED)
        complain("module %s: interrupted", file);
    else if (how == CLOSED)
        complain("module %s: it closed the pipe to the program and went on", file);
    else if (how == TOO_MUCH)
        complain("module %s: what it says is larger than --memory", file);
    else if (WIFSIGNALED(ended))
        complain("module %s: it crashed (%s)", file, strsignal(WTERMSIG(ended)));
    else
        complain("module %s: it ended the process that ran it (exit status %d)", file,
                 WIFEXITED(ended) ? WEXITSTATUS(ended) : -1);
    return EXIT_UNDECIDED;
}

/* The deadline of --time, or 0. */
static uint64_t deadline_of(const args *a)
{
    const char *time = a->value[O_TIME];
    return time ? now() + (uint64_t)(strtod(time, NULL) * 1e9) + 1 : 0;
}

/* A reply that module code wrote itself may announce any size. */
static bool fits(const args *a, uint64_t n)
{
    uint64_t mib = 0;
    return !args_u64(a, O_MEMORY, &mib) || !mib || n >> 20 < mib;
}

/* Takes the reply, and what the module said, which the caller frees. */
static int hear_module(const args *a, const char *file, int from, pid_t child, char **said,
                       size_t *n)
{
    module_reply r;
    enum module_end how = ENDED;
    uint64_t deadline = deadline_of(a);
    int ended = 0;
    *said = NULL;
    bool told = receive_bytes(from, &r, sizeof r, deadline, child, &how);
    if (told && !fits(a, r.n)) {
        how = TOO_MUCH;
        told = false;
    }
    if (told) {
        *said = r.n < SIZE_MAX ? malloc((size_t)r.n + 1) : NULL;
        if (!*said) complain("module %s: out of memory", file);
        told = *said && receive_bytes(from, *said, (size_t)r.n, deadline, child, &how);
        if (told) (*said)[ *n = (size_t)r.n] = 0;
    }
    /* After a whole reply, too: a module that wrote it itself could stay for ever, and so could
       processes that it started, which are of its group. */
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {}
    if (!told) return tell_end(file, ended, how);
    if (r.code == RATEL_OK) return EXIT_HOLDS;
    fputs("ratel: module ", stderr);
    visible_to(stderr, file);
    fputs(": ", stderr);
    visible_to(stderr, *said);
    fputc('\n', stderr);
    return r.code == RATEL_EIO || r.code == RATEL_EINVAL ? exit_of(r.code) : EXIT_UNDECIDED;
}

static int run_module(const args *a, const char *file, const char *settings, const ratel_history *h,
                      char **said, size_t *n)
{
    int ends[2];
    struct stat st;
    if (!stat(file, &st) && !S_ISREG(st.st_mode)) { /* the loader would wait for a pipe for ever */
        complain("module %s: not a regular file", file);
        return EXIT_IO;
    }
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC)) {
        complain("module %s: cannot start a process: %s", file, strerror(errno));
        return EXIT_IO;
    }
    pid_t child = fork();
    if (!child) {
        close(ends[0]);
        be_module(a, file, settings, h, ends[1]);
    }
    if (child > 0) setpgid(child, child); /* whoever is first */
    close(ends[1]);
    if (child < 0) {
        complain("module %s: cannot start a process: %s", file, strerror(errno));
        close(ends[0]);
        return EXIT_IO;
    }
    int status = hear_module(a, file, ends[0], child, said, n);
    close(ends[0]);
    return status;
}

/* FILE or FILE:key=value,...: the settings begin at a colon that key= follows. */
static const char *settings_of(const char *given, char *file, size_t size)
{
    const char *colon = NULL;
    for (const char *p = strchr(given, ':'); p && !colon; p = strchr(p + 1, ':')) {
        size_t k = strcspn(p + 1, "=,:/");
        if (k && p[1 + k] == '=') colon = p;
    }
    size_t n = colon ? (size_t)(colon - given) : strlen(given);
    if (n >= size) n = size - 1;
    memcpy(file, given, n);
    file[n] = 0;
    return colon ? colon + 1 : NULL;
}

bool is_module(const args *a, const char *path)
{
    char file[4096];
    for (size_t i = 0; i < a->n_modules; i++) {
        settings_of(a->modules[i], file, sizeof file);
        if (is_same_file(file, path)) return true;
    }
    return false;
}

static bool keep_history(module_chain *chain, ratel_history *h)
{
    ratel_history **more = realloc(chain->at, (chain->n + 1) * sizeof *more);
    if (!more) {
        complain("out of memory");
        return false;
    }
    chain->at = more;
    chain->at[chain->n++] = h;
    return true;
}

int modules_apply(const args *a, const char *name, ratel_history **h, module_chain *chain)
{
    *chain = (module_chain){0};
    if (!keep_history(chain, *h)) return EXIT_UNDECIDED;
    for (size_t i = 0; i < a->n_modules; i++) {
        char file[4096], *said = NULL;
        size_t n = 0;
        const char *settings = settings_of(a->modules[i], file, sizeof file);
        int status = run_module(a, file, settings, *h, &said, &n);
        ratel_history *next = NULL;
        int code = status ? 0 : ratel_module_take(&next, a->context, *h, said, n);
        free(said);
        if (status) return status;
        if (code) return complain_about(a->context, name, code);
        if (!keep_history(chain, next)) {
            ratel_history_free(next);
            return EXIT_UNDECIDED;
        }
        *h = next;
    }
    return EXIT_HOLDS;
}

void modules_free(module_chain *chain)
{
    while (chain->n) ratel_history_free(chain->at[--chain->n]);
    free(chain->at);
    chain->at = NULL;
}
