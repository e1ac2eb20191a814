/*
 * links.c - the proxy (links.h): one thread, poll, two descriptors for each connection.
 *
 * Each direction of a connection has a buffer of one piece: it is read when the buffer is empty and
 * written when its time has come, so that what is not yet due holds back the sender, as a slow
 * network does.  A stalled direction is neither read nor written; the bytes wait in the kernel.
 *
 * A reset looks for the words by which clients ask for a commit.  Nothing else is read of what
 * passes, and nothing is changed.
 */
#include "driver/links.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "driver/temp.h"

enum { PIECE = 1 << 15, BACKLOG = 1024, NOBODY = 255 };

typedef struct flow {
    char *piece;
    uint32_t from, n; /* what is still to be written: [from, n) */
    uint64_t due;
    bool ended; /* the reading side has said that nothing more comes */
} flow;

typedef struct wire_pair {
    int near, far; /* who connected, and the server; -1: closed */
    uint8_t link, from;
    bool dead;     /* near is kept open, but nothing is ever sent to it */
    bool reset;    /* ends when what is in `up` has been written */
    flow up, down; /* to the server, and from it */
    int poll_near, poll_far;
} wire_pair;

typedef struct links {
    const link_spec *spec;
    unsigned n;
    int listener[LINKS_MOST];
    link_order order; /* in force; LINK_HEAL: none */
    bool before;      /* the next reset comes before the commit is sent */
    mem mem;
    guard guard;
    VEC(wire_pair) pairs;
    VEC(struct pollfd) polled;
} links;

/* --- sockets ---------------------------------------------------------------------------------- */

static socklen_t address_of(const char *text, struct sockaddr_storage *to)
{
    memset(to, 0, sizeof *to);
    if (*text == '/') {
        struct sockaddr_un *u = (struct sockaddr_un *)to;
        u->sun_family = AF_UNIX;
        snprintf(u->sun_path, sizeof u->sun_path, "%s", text);
        return sizeof *u;
    }
    struct sockaddr_in *i = (struct sockaddr_in *)to;
    i->sin_family = AF_INET;
    i->sin_port = htons((uint16_t)strtoul(text, NULL, 10));
    i->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sizeof *i;
}

static int opened_socket(const char *text)
{
    return socket(*text == '/' ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int listening(const char *text)
{
    struct sockaddr_storage a;
    socklen_t n = address_of(text, &a);
    int s = opened_socket(text), one = 1;
    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(s, (struct sockaddr *)&a, n) || listen(s, BACKLOG)) {
        close(s);
        return -1;
    }
    return s;
}

/* A server on this machine accepts at once or is not there. */
static int connected_to(const char *text)
{
    struct sockaddr_storage a;
    socklen_t n = address_of(text, &a);
    int s = opened_socket(text), one = 1;
    if (s < 0) return -1;
    fcntl(s, F_SETFL, 0);
    struct timeval limit = {2, 0};
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(s, (struct sockaddr *)&a, n)) {
        close(s);
        return -1;
    }
    if (*text != '/') setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(s, F_SETFL, O_NONBLOCK);
    return s;
}

/* At once and without farewell, where the protocol knows the difference. */
static void end_socket(int *s)
{
    struct linger at_once = {1, 0};
    if (*s < 0) return;
    setsockopt(*s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(*s);
    *s = -1;
}

/* --- who connects ----------------------------------------------------------------------------- */

/* The node of a process: its oldest ancestor below the warden has it in its environment (others
   may have overwritten theirs). */
static uint8_t node_of_process(pid_t pid)
{
    char name[64], text[8192];
    pid_t warden = getppid(), up;
    for (int depth = 0; pid > 1 && depth < 64 && (up = temp_parent(pid)) != warden; depth++)
        pid = up;
    if (pid <= 1) return NOBODY;
    snprintf(name, sizeof name, "/proc/%ld/environ", (long)pid);
    int f = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = f >= 0 ? read(f, text, sizeof text - 1) : 0;
    if (f >= 0) close(f);
    size_t len = strlen(LINK_NODE_VARIABLE);
    for (ssize_t at = 0; at < n; at += (ssize_t)strnlen(text + at, (size_t)(n - at)) + 1) {
        text[n] = 0;
        if (!strncmp(text + at, LINK_NODE_VARIABLE, len) && text[at + (ssize_t)len] == '=')
            return (uint8_t)strtoul(text + at + len + 1, NULL, 10);
    }
    return NOBODY;
}

/* The number of the socket at the other end of a connection over loopback; 0: not found. */
static unsigned long socket_number(unsigned port, unsigned to)
{
    char line[512];
    unsigned long found = 0;
    FILE *f = fopen("/proc/net/tcp", "re");
    if (!f) return 0;
    while (!found && fgets(line, sizeof line, f)) {
        unsigned local, remote;
        unsigned long number;
        if (sscanf(line, " %*d: %*8x:%x %*8x:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %lu", &local,
                   &remote, &number) == 3 &&
            local == port && remote == to)
            found = number;
    }
    fclose(f);
    return found;
}

static bool has_socket(pid_t pid, unsigned long number)
{
    char name[300], want[64], target[64];
    bool found = false;
    snprintf(name, sizeof name, "/proc/%ld/fd", (long)pid);
    snprintf(want, sizeof want, "socket:[%lu]", number);
    DIR *d = opendir(name);
    if (!d) return false;
    for (const struct dirent *e; !found && (e = readdir(d)) != NULL;) {
        snprintf(name, sizeof name, "/proc/%ld/fd/%.100s", (long)pid, e->d_name);
        ssize_t n = readlink(name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = 0;
        found = !strcmp(target, want);
    }
    closedir(d);
    return found;
}

static uint8_t node_of_tcp(int s)
{
    struct sockaddr_in peer, own;
    socklen_t n = sizeof peer, m = sizeof own;
    if (getpeername(s, (struct sockaddr *)&peer, &n) || getsockname(s, (struct sockaddr *)&own, &m))
        return NOBODY;
    unsigned long number = socket_number(ntohs(peer.sin_port), ntohs(own.sin_port));
    DIR *d = number ? opendir("/proc") : NULL;
    uint8_t node = NOBODY;
    for (const struct dirent *e; d && node == NOBODY && (e = readdir(d)) != NULL;) {
        long pid = strtol(e->d_name, NULL, 10);
        if (pid > 1 && has_socket((pid_t)pid, number)) node = node_of_process((pid_t)pid);
    }
    if (d) closedir(d);
    return node;
}

static uint8_t node_of_peer(int s, const link_spec *l)
{
    struct ucred who;
    socklen_t n = sizeof who;
    if (!l->servers) return NOBODY;
    if (*l->listen != '/') return node_of_tcp(s);
    return getsockopt(s, SOL_SOCKET, SO_PEERCRED, &who, &n) ? NOBODY : node_of_process(who.pid);
}

/* --- connections ------------------------------------------------------------------------------ */

/* What is in force for a connection.  Of one whose process is not known, the server decides. */
static enum link_act act_on(const links *l, const wire_pair *p)
{
    const link_order *o = &l->order;
    const link_spec *s = &l->spec[p->link];
    uint8_t to = o->group[s->node], from = p->from < LINK_NODES ? o->group[p->from] : NOBODY;
    if (o->act == LINK_HEAL || o->servers != s->servers || !to) return LINK_HEAL;
    if (s->servers && (!from || from == to)) return LINK_HEAL;
    return (enum link_act)o->act;
}

static void close_pair(wire_pair *p)
{
    end_socket(&p->near);
    end_socket(&p->far);
}

static void free_closed(links *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->pairs.n; i++) {
        wire_pair *p = &l->pairs.at[i];
        if (p->near >= 0 || p->far >= 0) {
            l->pairs.at[kept++] = *p;
        } else {
            mem_put(&l->mem, p->up.piece);
            mem_put(&l->mem, p->down.piece);
        }
    }
    l->pairs.n = kept;
}

static void accept_all(links *l, unsigned link)
{
    for (;;) {
        int s = accept4(l->listener[link], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), one = 1;
        if (s < 0) return;
        wire_pair p = {.near = s, .far = -1, .link = (uint8_t)link};
        p.from = node_of_peer(s, &l->spec[link]);
        if (*l->spec[link].listen != '/') setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (act_on(l, &p) != LINK_CUT) p.far = connected_to(l->spec[link].target);
        if (p.far < 0) {
            close_pair(&p);
            continue;
        }
        p.up.piece = mem_get(&l->mem, PIECE);
        p.down.piece = mem_get(&l->mem, PIECE);
        vec_push(&l->mem, &l->pairs, p);
    }
}

static bool asks_for_commit(const flow *f)
{
    static const char *const words[] = {"COMMIT", "\r\nEXEC\r\n", "/v3/kv/txn"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(f->piece + f->from, f->n - f->from, words[i], strlen(words[i]))) return true;
    return false;
}

/* Reads a piece; false: the connection is over. */
static bool fill(links *l, wire_pair *p, flow *f, int s)
{
    ssize_t n = read(s, f->piece, PIECE);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    f->from = 0;
    f->n = (uint32_t)n;
    f->ended = n == 0;
    enum link_act act = act_on(l, p);
    f->due = act == LINK_DELAY ? clock_now() + l->order.amount : 0;
    if (act != LINK_RESET || f != &p->up || !asks_for_commit(f)) return true;
    l->before = !l->before;
    p->reset = true;
    return !l->before;
}

/* Writes what is due; false: the connection is over. */
static bool drain(const wire_pair *p, flow *f, int s)
{
    if (f->from < f->n) {
        ssize_t n = send(s, f->piece + f->from, f->n - f->from, MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        f->from += (uint32_t)n;
    }
    if (f->from < f->n) return true;
    if (p->reset && f == &p->up) return false; /* the commit is with the server, no answer comes */
    bool empty = p->up.from == p->up.n && p->down.from == p->down.n;
    return !(empty && (p->up.ended || p->down.ended));
}

/* --- the loop --------------------------------------------------------------------------------- */

static bool stalled(const links *l, const wire_pair *p)
{
    return p->dead || act_on(l, p) == LINK_STALL;
}

static short wanted(const flow *in, const flow *out, uint64_t now)
{
    bool reads = in->from == in->n && !in->ended;
    bool writes = out->from < out->n && out->due <= now;
    return (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

/* Until when nothing can happen by itself, in ms; -1: until somebody sends. */
static int patience(const links *l, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < l->pairs.n; i++) {
        const flow *both[] = {&l->pairs.at[i].up, &l->pairs.at[i].down};
        for (int k = 0; k < 2; k++)
            if (both[k]->from < both[k]->n && both[k]->due > now && both[k]->due < next)
                next = both[k]->due;
    }
    return next == UINT64_MAX ? -1 : (int)((next - now) / 1000000u + 1);
}

static int add_polled(links *l, int s, short events)
{
    if (s < 0 || !events) return -1;
    struct pollfd p = {.fd = s, .events = events};
    vec_push(&l->mem, &l->polled, p);
    return (int)l->polled.n - 1;
}

static void prepare_poll(links *l, int control, uint64_t now)
{
    l->polled.n = 0;
    add_polled(l, control, POLLIN);
    for (unsigned i = 0; i < l->n; i++) add_polled(l, l->listener[i], POLLIN);
    for (size_t i = 0; i < l->pairs.n; i++) {
        wire_pair *p = &l->pairs.at[i];
        bool still = stalled(l, p);
        p->poll_near = still ? -1 : add_polled(l, p->near, wanted(&p->up, &p->down, now));
        p->poll_far = still ? -1 : add_polled(l, p->far, wanted(&p->down, &p->up, now));
    }
}

static void forward(links *l, wire_pair *p, uint64_t now)
{
    short near = p->poll_near < 0 ? 0 : l->polled.at[p->poll_near].revents;
    short far = p->poll_far < 0 ? 0 : l->polled.at[p->poll_far].revents;
    bool live = true;
    enum { READS = POLLIN | POLLHUP | POLLERR };
    if (near & READS && p->up.from == p->up.n && !p->up.ended) live = fill(l, p, &p->up, p->near);
    if (live && far & READS && p->down.from == p->down.n && !p->down.ended)
        live = fill(l, p, &p->down, p->far);
    if (live && (near | far) && p->up.due <= now && (p->up.n || p->up.ended))
        live = drain(p, &p->up, p->far);
    if (live && (near | far) && p->down.due <= now && (p->down.n || p->down.ended))
        live = drain(p, &p->down, p->near);
    if (!live) close_pair(p);
}

static void obey(links *l, const link_order *o)
{
    l->order = *o;
    for (size_t i = 0; i < l->pairs.n; i++) {
        wire_pair *p = &l->pairs.at[i];
        enum link_act act = act_on(l, p);
        if (o->act == LINK_HEAL && p->dead) close_pair(p);
        if (act == LINK_CUT) close_pair(p);
        if (act == LINK_HALF_OPEN) {
            end_socket(&p->far);
            p->dead = true;
        }
    }
}

_Noreturn void links_serve(int control, const link_spec *spec, unsigned n)
{
    links l = {.spec = spec, .n = n};
    guard_init(&l.guard);
    mem_init(&l.mem, mem_libc, NULL, &l.guard);
    if (guard_armed(&l.guard)) _exit(1); /* no memory: the run will miss us */
    for (unsigned i = 0; i < n; i++) l.listener[i] = listening(spec[i].listen);
    for (;;) {
        uint64_t now = clock_now();
        prepare_poll(&l, control, now);
        if (poll(l.polled.at, l.polled.n, patience(&l, now)) < 0 && errno != EINTR) _exit(1);
        now = clock_now();
        if (l.polled.at[0].revents) {
            link_order o;
            if (read(control, &o, sizeof o) != (ssize_t)sizeof o) _exit(0);
            obey(&l, &o);
            if (send(control, "", 1, MSG_NOSIGNAL) != 1) _exit(0);
        } else {
            for (size_t i = 0; i < l.pairs.n; i++) forward(&l, &l.pairs.at[i], now);
        }
        free_closed(&l);
        for (unsigned i = 0; i < n; i++)
            if (l.listener[i] >= 0) accept_all(&l, i);
    }
}
