/*
 * The fuzz target of the whole proxy, from the first byte of a connection on: startup packets,
 * requests for TLS and GSSAPI, handshakes, offers of SCRAM, MySQL's greeting and login, and what
 * follows, in a world that is made of the input.
 *
 * proxy.c is compiled into this file with sockets, epoll, the clock, TLS and the log replaced.  The
 * input says who connects, what arrives, how much a side takes, who leaves and how, and how time
 * passes.  Held at all times:
 *  - a server gets what its client said, without a request for encryption, in order and at once;
 *  - a client gets what its server said, but for the bits of an offer, or one refusal;
 *  - lines of the log are whole, and of a session that there is;
 *  - no event is told again and again without anything being done about it.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/replace_file.h"
#include "fuzz_wire.h"
#include "trace/first_bytes.h"
#include "trace/my_session.h"
#include "trace/proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIRST_FD = 1 << 20, MOST_FDS = 64, SPARE = FIRST_FD + 1000 };
enum { ALL_OF_IT = 1 << 30, MOST_REPEATS = 1000 };
#define ANSWER_REFUSAL "ratel trace proxy: "

typedef struct bytes {
    char *at;
    size_t n, cap;
} bytes;

typedef struct file { /* a socket of the proxy, and what is at its other end */
    bool open, is_server;
    bool connecting, refuses;   /* connect is under way; how it will end */
    bool eof, hup, reset, shut; /* the peer: says no more; is gone; by force; was told the end */
    size_t budget;              /* that the peer takes */
    bool limited;               /* it was less than everything once */
    bytes in;                   /* sent by the peer; the first `read` bytes were read */
    size_t read;
    bytes said;  /* of them, what is no handshake */
    bytes given; /* written by the proxy */
    bool shaking;
    bool watched;
    struct epoll_event event;
    int other; /* the server's of a client, once it is known */
    bool altered;
} file;

typedef struct world {
    const uint8_t *p, *end;
    file files[MOST_FDS];
    int n_files, waiting; /* clients that wait to be accepted */
    uint64_t now;
    volatile int interrupt;
    bool mysql, keys, server_tls;
    bool no_files, gave_spare; /* no file can be opened unless the proxy closes its spare one */
    trace_log log;
    uint64_t done, done_before; /* what the proxy did, counted */
    uint32_t repeats;
    bool over;
} world;

static world *w;

static void keep(bytes *b, const char *at, size_t n)
{
    if (!n) return;
    if (b->n + n > b->cap) {
        b->cap = 2 * (b->n + n);
        b->at = realloc(b->at, b->cap);
        if (!b->at) abort();
    }
    memcpy(b->at + b->n, at, n);
    b->n += n;
}

static uint8_t next_byte(void)
{
    return w->p < w->end ? *w->p++ : 0;
}

static file *file_of(int fd)
{
    if (fd < FIRST_FD || fd >= FIRST_FD + w->n_files || !w->files[fd - FIRST_FD].open) abort();
    return &w->files[fd - FIRST_FD];
}

static int new_file(bool is_server)
{
    if (w->n_files == MOST_FDS || (w->no_files && !w->gave_spare)) {
        errno = EMFILE;
        return -1;
    }
    file *f = &w->files[w->n_files];
    *f = (file){.open = true, .is_server = is_server, .budget = ALL_OF_IT, .other = -1};
    return FIRST_FD + w->n_files++;
}

/* ---- the system's calls ---------------------------------------------------------------------- */

static int fake_socket(int family, int type, int protocol)
{
    (void)family, (void)type, (void)protocol;
    return new_file(true);
}

static int fake_connect(int fd, const struct sockaddr *to, socklen_t n)
{
    (void)to, (void)n;
    file *f = file_of(fd);
    uint8_t how = next_byte() & 3;
    if (!how) return 0;
    errno = how == 3 ? EAGAIN : EINPROGRESS;
    f->connecting = how != 3;
    f->refuses = how == 2;
    return -1;
}

static int fake_accept4(int fd, struct sockaddr *from, socklen_t *n, int flags)
{
    (void)fd, (void)from, (void)n, (void)flags;
    w->done++;
    errno = EAGAIN;
    if (!w->waiting) return -1;
    int got = new_file(false);
    if (got >= 0) w->waiting--;
    return got;
}

static int fake_close(int fd)
{
    w->done++;
    if (fd == SPARE) w->gave_spare = true;
    if (fd == SPARE || !fd) return 0; /* (0 is epoll's) */
    file *f = file_of(fd);
    f->open = f->watched = false;
    return 0;
}

static int fake_open(const char *path, int flags)
{
    (void)path, (void)flags;
    w->gave_spare = false;
    return SPARE;
}

static int fake_shutdown(int fd, int how)
{
    (void)how;
    w->done += !file_of(fd)->shut;
    file_of(fd)->shut = true;
    return 0;
}

static int fake_option(int fd, int level, int name, const void *value, socklen_t n)
{
    (void)fd, (void)level, (void)name, (void)value, (void)n;
    return 0;
}

static int fake_getsockopt(int fd, int level, int name, void *value, socklen_t *n)
{
    (void)level, (void)name, (void)n;
    *(int *)value = file_of(fd)->refuses ? ECONNREFUSED : 0;
    w->done++;
    return 0;
}

static ssize_t read_file(int fd, char *to, size_t n)
{
    file *f = file_of(fd);
    size_t have = f->in.n - f->read;
    if (f->connecting) abort();
    if (n > have) n = have;
    if (!have && f->reset) {
        errno = ECONNRESET;
        return -1;
    }
    if (!have && !f->eof) {
        errno = EAGAIN;
        return -1;
    }
    w->done++;
    if (n) memcpy(to, f->in.at + f->read, n);
    f->read += n;
    return (ssize_t)n;
}

static ssize_t fake_recv(int fd, char *to, size_t n, int flags)
{
    (void)flags;
    ssize_t k = read_file(fd, to, n);
    file *f = file_of(fd);
    if (n == 1 && f->is_server) return k; /* the server's consent to TLS */
    if (k > 0) keep(&f->said, to, (size_t)k);
    return k;
}

static ssize_t fake_send(int fd, const char *at, size_t n, int flags)
{
    (void)flags;
    file *f = file_of(fd);
    if (f->connecting || f->shut) abort();
    if (f->hup || f->reset) {
        errno = EPIPE;
        w->done++;
        return -1;
    }
    if (n > f->budget) n = f->budget;
    if (!n) {
        errno = EAGAIN;
        return -1;
    }
    if (f->budget != ALL_OF_IT) f->budget -= n;
    keep(&f->given, at, n);
    w->done++;
    return (ssize_t)n;
}

static int fake_epoll_ctl(int poll, int what, int fd, struct epoll_event *event)
{
    (void)poll;
    file *f = file_of(fd);
    if ((what == EPOLL_CTL_ADD) == f->watched) abort();
    f->watched = what != EPOLL_CTL_DEL;
    if (event) f->event = *event;
    return 0;
}

static uint64_t fake_now(void)
{
    return w->now += 100;
}

static int fake_none(void)
{
    return 0;
}

static mode_t fake_umask(mode_t mode)
{
    return mode;
}

static int fake_limit(int what, struct rlimit *r)
{
    (void)what;
    r->rlim_cur = r->rlim_max = 1 << 20;
    return 0;
}

/* ---- TLS: bytes as they are, after a handshake of bytes that say how it goes ----------------- */

struct ssl_st {
    int fd;
};

static tls_link *fake_tls(int fd)
{
    tls_link *l = malloc(sizeof *l);
    if (!l) abort();
    l->fd = fd;
    file_of(fd)->shaking = true;
    return l;
}

tls_link *tls_to_client(tls_ends *t, int fd)
{
    (void)t;
    return fake_tls(fd);
}

tls_link *tls_to_server(tls_ends *t, int fd)
{
    (void)t;
    return fake_tls(fd);
}

void tls_free(tls_link *l)
{
    free(l);
}

tls_step tls_shake(tls_link *l, char *why, size_t cap)
{
    char byte;
    ssize_t n = read_file(l->fd, &byte, 1);
    if (n < 0 && errno == EAGAIN) return TLS_WANTS_IN;
    if (n <= 0 || byte == 'x') {
        snprintf(why, cap, "it failed");
        return TLS_FAILED;
    }
    if (byte == 'd') file_of(l->fd)->shaking = false;
    return byte == 'd' ? TLS_DONE : byte == 'o' ? TLS_WANTS_OUT : TLS_WANTS_IN;
}

ssize_t tls_read(tls_link *l, char *to, size_t n)
{
    if (n < 16384 || file_of(l->fd)->shaking) abort();
    return fake_recv(l->fd, to, n, 0);
}

ssize_t tls_write(tls_link *l, const char *at, size_t n)
{
    if (file_of(l->fd)->shaking) abort();
    return fake_send(l->fd, at, n, 0);
}

void tls_end(tls_link *l)
{
    (void)l;
}

bool tls_same_certificate(const tls_ends *t, tls_link *server)
{
    (void)t, (void)server;
    return w->now & 128;
}

/* ---- the log --------------------------------------------------------------------------------- */

void trace_log_line(trace_log *l, const char *at, size_t n, uint64_t now)
{
    (void)l, (void)now;
    take_line(NULL, at, n);
}

void trace_log_gap(trace_log *l, uint32_t session, uint64_t from, const char *why, uint64_t now)
{
    (void)l;
    if (!session || session > MOST_FDS || !why || !*why || from > now) abort();
}

bool trace_log_flush(trace_log *l, uint64_t now)
{
    l->flushed = now;
    return true;
}

/* ---- the proxy ------------------------------------------------------------------------------- */

static int fake_epoll_wait(int poll, struct epoll_event *to, int cap, int ms);

#define socket fake_socket
#define connect fake_connect
#define accept4 fake_accept4
#define close fake_close
#define open(path, flags) fake_open(path, flags)
#define shutdown fake_shutdown
#define setsockopt fake_option
#define getsockopt fake_getsockopt
#define recv fake_recv
#define send fake_send
#define epoll_create1(flags) fake_none()
#define epoll_ctl fake_epoll_ctl
#define epoll_wait fake_epoll_wait
#define clock_now fake_now
#define bind(fd, at, n) fake_none()
#define listen(fd, n) fake_none()
#define unlink(path) fake_none()
#define umask fake_umask
#define mallopt(what, n) fake_none()
#define getrlimit fake_limit
#define setrlimit(what, r) fake_none()
#include "../../src/program/trace/proxy.c"
#undef open
#undef bind

/* ---- what must hold -------------------------------------------------------------------------- */

static bool begins_with_request(const char *at, size_t n)
{
    static const char head[6] = {0, 0, 0, 8, 0x04, (char)0xd2};
    return n >= 8 && !memcmp(at, head, 6) && at[6] == 0x16 && (at[7] == 0x2f || at[7] == 0x30);
}

/* Does the server have a beginning of what its client said, and all of it if it could get it? */
static void check_server(const file *client, const file *server, bool usable)
{
    const char *from = client->said.at;
    size_t n = client->said.n, asked = !w->mysql && w->server_tls ? 8 : 0;
    if (!w->mysql)
        for (; begins_with_request(from, n); from += 8) n -= 8;
    size_t got = server->given.n < asked ? 0 : server->given.n - asked;
    if (got > n || (got && memcmp(server->given.at + asked, from, got) != 0)) abort();
    bool short_packet = w->mysql ? w->keys : n < 8; /* not whole: it may be a request */
    if (usable && got < n && !short_packet) abort();
}

static size_t differing_bits(const char *a, const char *b, size_t n)
{
    size_t bits = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned x = (unsigned char)(a[i] ^ b[i]); x; x &= x - 1) bits++;
    return bits;
}

static void check_client(const file *client, const file *server)
{
    static const char nothing[1];
    const char *got = client->given.n ? client->given.at : nothing;
    const char *from = server && server->said.n ? server->said.at : nothing;
    size_t n = client->given.n, have = server ? server->said.n : 0, same = 0;
    for (size_t at = 0; !w->mysql && n && at + 8 <= client->said.n; at += 8, got++, n--)
        if (!begins_with_request(client->said.at + at, 8) || (*got != 'N' && *got != 'S')) break;
    if (w->mysql && have && n >= 4) { /* three offers may be taken back */
        size_t both = n < have ? n : have;
        if (differing_bits(got, from, both) <= 3) same = both;
    }
    while (same < n && same < have && got[same] == from[same]) same++;
    if (same == n) return;
    if (!w->mysql && w->server_tls && server) return; /* the list of mechanisms was altered */
    const size_t most = n - same;
    char text[1024] = "";
    for (size_t i = 0; i < most && i < sizeof text - 1; i++)
        text[i] = got[same + i] ? got[same + i] : '.';
    bool cut = client->limited && most < sizeof ANSWER_REFUSAL + 32; /* a part of a refusal */
    if (!cut && !strstr(text, ANSWER_REFUSAL)) abort();
}

static void check_files(bool idle)
{
    for (int i = 1; i < w->n_files; i++) {
        file *client = &w->files[i];
        if (client->is_server) continue;
        if (client->watched && client->other < 0) {
            const endpoint *e = client->event.data.ptr;
            int fd = e->link->end[SERVER].fd;
            if (fd >= 0) client->other = fd - FIRST_FD;
        }
        const file *server = client->other < 0 ? NULL : &w->files[client->other];
        if (client->open || server) check_client(client, server);
        if (!server) continue;
        bool usable = idle && client->open && server->open && !server->connecting &&
                      server->budget && !server->hup && !server->reset && !server->shaking &&
                      !client->shaking && !w->server_tls;
        check_server(client, server, usable);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint32_t events_of(const file *f)
{
    uint32_t now = 0;
    if (f->connecting) return 0;
    if (f->read < f->in.n || f->eof || f->reset) now |= EPOLLIN;
    if (f->budget || f->hup || f->reset) now |= EPOLLOUT;
    now &= f->event.events;
    if (f->hup) now |= EPOLLHUP;
    if (f->reset) now |= EPOLLERR | EPOLLHUP;
    return now;
}

/* One step of the input: a byte that says to whom and what happens. */
static void one_step(void)
{
    uint8_t op = next_byte();
    file *f = w->n_files > 1 ? &w->files[1 + (op & 15) % (w->n_files - 1)] : NULL;
    size_t left = (size_t)(w->end - w->p), n;
    switch (op >> 4) {
    case 0: w->waiting++; return;
    case 1: w->now += 1000000000ull * next_byte(); return;
    case 2:
        w->interrupt = op & 1;
        w->no_files = op & 2;
        return;
    case 3:
        w->log.gap_from = op & 1 ? 7 : 0;
        w->log.full = op & 2;
        return;
    default: break;
    }
    if (!f) return;
    switch (op >> 4) {
    case 4: f->eof = true; return;
    case 5: f->eof = f->hup = true; return;
    case 6: f->eof = f->hup = f->reset = true; return;
    case 7:
        f->budget = next_byte();
        f->limited = true;
        return;
    case 8: f->budget = ALL_OF_IT; return;
    case 9: f->connecting = false; return;
    default: break;
    }
    n = next_byte(); /* 10 to 15: bytes arrive */
    if (op >> 4 > 13) n *= 64;
    if (left) left--;
    if (n > left) n = left;
    if (!f->eof) keep(&f->in, (const char *)w->p, n);
    w->p += n;
}

static int tell_events(struct epoll_event *to, int cap)
{
    int n = 0;
    bool room = w->n_files < MOST_FDS;
    if (w->waiting && room && w->files[0].watched) to[n++] = w->files[0].event; /* the listener */
    for (int i = 1; i < w->n_files && n < cap; i++) {
        const file *f = &w->files[i];
        uint32_t now = f->watched ? events_of(f) : 0;
        if (!now) continue;
        to[n] = f->event;
        to[n++].events = now;
    }
    return n;
}

static int fake_epoll_wait(int poll, struct epoll_event *to, int cap, int ms)
{
    (void)poll;
    check_files(false);
    w->repeats = w->done == w->done_before ? w->repeats + 1 : 0;
    w->done_before = w->done;
    if (w->repeats > MOST_REPEATS) abort(); /* it is told and told, and does nothing */
    for (;;) {
        int n = tell_events(to, cap);
        if (n) return n;
        check_files(true);
        if (w->p == w->end) break;
        one_step();
    }
    w->repeats = 0;
    w->now += (uint64_t)ms * 1000000;
    w->interrupt = 1;
    return 0;
}

static void say(void *ud, const char *text)
{
    (void)ud;
    if (!*text || strchr(text, '\n')) abort();
}

static bool xid_of(void *ud, uint32_t process, char *xid, size_t cap)
{
    (void)ud;
    snprintf(xid, cap, "%u", (unsigned)(process & 7));
    return process & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    world here = {.p = data, .end = data + size, .now = 1000000000ull};
    mask masks = {.words = 0};
    char why[300];
    proxy_counts counts;
    w = &here;
    uint8_t way = next_byte(), more = next_byte();
    w->mysql = way & 1;
    w->keys = way & 2;
    w->server_tls = way & 4;
    tls_ends ends = {.client = w->keys ? &here : NULL,
                     .server = w->server_tls ? &here : NULL,
                     .trust = way & 8 ? TLS_ANYONE : TLS_OFF,
                     .host = "h"};
    mask_column(&masks, "users.secret");
    w->keys = w->keys && (!w->mysql || w->server_tls); /* MySQL: both ends, or none */
    proxy_options o = {.listen = ":1",
                       .host = "127.0.0.1",
                       .port = "1",
                       .database = "d",
                       .mysql = w->mysql,
                       .fail_closed = way & 16,
                       .connections = 1 + (more & 7),
                       .startup = more & 8 ? 5 : 0,
                       .limits = {.message = 4096, .result = 256, .session = 1 << 20},
                       .masks = &masks,
                       .tls = way & 6 ? &ends : NULL,
                       .interrupt = &here.interrupt,
                       .say = say,
                       .xid_of = way & 32 && !w->mysql ? xid_of : NULL,
                       .committed = way & 32 && !w->mysql ? committed : NULL};
    w->n_files = 0;
    proxy_run(&o, &here.log, &counts, why, sizeof why);
    check_files(false);
    for (int i = 0; i < w->n_files; i++) {
        file *f = &w->files[i];
        if (f->open) abort(); /* a socket that nobody closed */
        free(f->in.at);
        free(f->said.at);
        free(f->given.at);
    }
    mask_free(&masks);
    return 0;
}
