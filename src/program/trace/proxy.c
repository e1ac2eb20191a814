/*
 * proxy.c - one thread, one epoll loop, two sockets a connection.
 *
 * A chunk that was read from one side is written to the other at once; what the other side does not
 * take yet is kept, and until it is gone the first side is not read, so that a connection never
 * holds more than one chunk each way.  When a client leaves, the server is told by the end of its
 * input and then read to the end of its own: it may be committing, and its last words say so.
 */
#include "trace/proxy.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/replace_file.h"
#include "trace/first_bytes.h"
#include "trace/my_session.h"

enum { CHUNK = 1 << 16, EVENTS = 64, STARTUP_MOST = 10000, FLUSH_MS = 100 };
enum { REQUEST = 8, MY_REQUEST = 36, TOLD_FAILURES = 10, TOLD_GAPS = 20, SPARE_FILES = 32 };
#define STOP_NS 2000000000u       /* how long sessions may take to end */
#define HANDSHAKE_NS 15000000000u /* how long TLS may take to begin */
#define CODE_CANCEL 80877102u
#define CODE_TLS 80877103u
#define CODE_GSS 80877104u

typedef enum side { CLIENT, SERVER, SIDES } side;

/* How far the encryption of one side is.  Nothing is read from a side or written to it unless it is
   OPEN; what is for it waits. */
typedef enum tls_phase { TLS_OPEN, TLS_ASKED, TLS_SHAKING } tls_phase;

struct relay;

typedef struct endpoint {
    struct relay *link;
    side side;
    int fd;          /* -1: closed, or not yet open */
    uint32_t events; /* that epoll watches */
    bool ended;      /* nothing more comes from it */
    bool gone;       /* epoll has told that it takes nothing any more, either */
    tls_link *tls;   /* NULL: plain bytes */
    tls_phase phase;
    uint32_t wants; /* events, until it is OPEN */
    uint64_t until; /* when it must be OPEN */
    char *pending;  /* bytes to be written to it, a chunk of memory, or NULL */
    size_t from, n;
} endpoint;

typedef struct relay { /* a client and its connection to the server */
    struct relay *next, *prev;
    endpoint end[SIDES];
    pg_session *session; /* NULL: only forwarded, or MySQL's */
    my_session *mine;    /* NULL: only forwarded, or PostgreSQL's */
    bool greeted;        /* MySQL: the server's first packet was forwarded */
    bool connecting, dead;
    bool begun;          /* the startup message was seen */
    bool awaited;        /* its first message has not come: PostgreSQL's client, MySQL's server */
    uint64_t since;      /* when the client was accepted */
    bool offered;        /* MySQL: the client may ask for TLS, its first packet is not whole */
    bool unknown;        /* PostgreSQL: a version of the protocol that the proxy does not read */
    bool unbinds;        /* PostgreSQL: the server's first words are watched for channel binding */
    strbuf start, words; /* the client's first bytes (MySQL: the server's), the server's */
} relay;

typedef struct proxy {
    const proxy_options *o;
    trace_log *log;
    proxy_counts *counts;
    guard guard;
    mem mem;
    pg_sink sink;
    int poll, listener;
    int spare;     /* a file that is closed to refuse a client when no other can be opened */
    endpoint door; /* of the listener */
    struct sockaddr_storage to;
    socklen_t n_to;
    char socket_path[108];
    relay *links, *dead;
    uint32_t n_links, numbers;
    uint32_t n_shaking; /* sides that are not OPEN */
    uint32_t n_awaited; /* links whose first message has not come */
    uint32_t told_failures, told_gaps;
    uint64_t now, checked;
    bool told_tls, told_log, told_binding, told_files, told_silent, stopping;
    char chunk[CHUNK];
} proxy;

/* ---- the log --------------------------------------------------------------------------------- */

static uint64_t sink_id(void *ud)
{
    proxy *p = ud;
    return ++p->log->ids;
}

static void sink_line(void *ud, const char *at, size_t n)
{
    proxy *p = ud;
    trace_log_line(p->log, at, n, p->now);
}

static void sink_gap(void *ud, uint32_t session, uint64_t from, const char *why)
{
    proxy *p = ud;
    char text[256];
    trace_log_gap(p->log, session, from, why, p->now);
    /* a client could cause any number of them, and the messages may go to a file */
    if (p->told_gaps > TOLD_GAPS) return;
    bool last = p->told_gaps++ == TOLD_GAPS;
    snprintf(text, sizeof text, "session %u: not everything can be logged: %.150s",
             (unsigned)session, why);
    p->o->say(p->o->ud,
              last ? "further stretches that cannot be logged are only marks in the log" : text);
}

static void sink_count(void *ud, pg_count what, uint64_t n)
{
    proxy *p = ud;
    p->counts->of[what] += n;
}

static bool sink_committed(void *ud, const char *xid, int64_t *ts)
{
    const proxy *p = ud;
    return p->o->committed(p->o->ud, xid, ts);
}

/* ---- sockets --------------------------------------------------------------------------------- */

static bool told(char *why, size_t cap, const char *what, int code)
{
    char text[160];
    snprintf(why, cap, "%s: %s", what, replace_error(code, text, sizeof text));
    return false;
}

static bool unix_address(struct sockaddr_storage *to, socklen_t *n, const char *path)
{
    struct sockaddr_un *u = (struct sockaddr_un *)to;
    if (strlen(path) >= sizeof u->sun_path) return false;
    memset(to, 0, sizeof *to);
    u->sun_family = AF_UNIX;
    memcpy(u->sun_path, path, strlen(path) + 1);
    *n = sizeof *u;
    return true;
}

/* The address of a host and port, the first that there is. */
static bool resolve(const char *host, const char *port, bool passive, struct sockaddr_storage *to,
                    socklen_t *n, char *why, size_t cap)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0}, *r;
    int code = getaddrinfo(host && *host ? host : NULL, port, &hints, &r);
    if (code) {
        snprintf(why, cap, "%.200s:%.30s: %s", host ? host : "", port, gai_strerror(code));
        return false;
    }
    memcpy(to, r->ai_addr, r->ai_addrlen);
    *n = r->ai_addrlen;
    freeaddrinfo(r);
    return true;
}

static bool split_address(const char *text, char *host, size_t cap, const char **port)
{
    const char *colon = strrchr(text, ':');
    if (!colon || !colon[1]) return false;
    size_t n = (size_t)(colon - text);
    if (n > 1 && *text == '[' && text[n - 1] == ']') text++, n -= 2;
    if (n >= cap) return false;
    memcpy(host, text, n);
    host[n] = 0;
    *port = colon + 1;
    return true;
}

static bool open_listener(proxy *p, char *why, size_t cap)
{
    struct sockaddr_storage at;
    socklen_t n;
    char host[256];
    const char *port, *text = p->o->listen;
    int one = 1;
    if (*text == '/') {
        if (!unix_address(&at, &n, text)) return told(why, cap, text, ENAMETOOLONG);
    } else if (!split_address(text, host, sizeof host, &port)) {
        snprintf(why, cap, "%.200s: an address is HOST:PORT, or the path of a socket", text);
        return false;
    } else if (!resolve(*host ? host : "127.0.0.1", port, true, &at, &n, why, cap)) {
        return false;
    }
    p->listener = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p->listener < 0) return told(why, cap, text, errno);
    if (at.ss_family != AF_UNIX)
        setsockopt(p->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    mode_t mask_before = umask(0077); /* a socket in the file system is its owner's */
    int code = bind(p->listener, (struct sockaddr *)&at, n) ? errno : 0;
    umask(mask_before);
    if (!code && at.ss_family == AF_UNIX)
        snprintf(p->socket_path, sizeof p->socket_path, "%.107s", text);
    if (!code && listen(p->listener, 512)) code = errno;
    return code ? told(why, cap, text, code) : true;
}

static bool find_server(proxy *p, char *why, size_t cap)
{
    if (*p->o->host != '/')
        return resolve(p->o->host, p->o->port, false, &p->to, &p->n_to, why, cap);
    char path[256];
    if (p->o->mysql)
        snprintf(path, sizeof path, "%.250s", p->o->host);
    else
        snprintf(path, sizeof path, "%.200s/.s.PGSQL.%.30s", p->o->host, p->o->port);
    return unix_address(&p->to, &p->n_to, path) || told(why, cap, path, ENAMETOOLONG);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void watch(proxy *p, endpoint *e, uint32_t events)
{
    if (e->fd >= 0 && e->gone && !events) { /* epoll would tell of its end again and again */
        if (e->events != UINT32_MAX) epoll_ctl(p->poll, EPOLL_CTL_DEL, e->fd, NULL);
        e->events = UINT32_MAX;
        return;
    }
    if (e->fd < 0 || e->events == events) return;
    struct epoll_event ev = {.events = events, .data.ptr = e};
    epoll_ctl(p->poll, e->events == UINT32_MAX ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, e->fd, &ev);
    e->events = events;
}

/* Reads from a side unless the other has not taken what was read last. */
static void watch_link(proxy *p, relay *l)
{
    for (side i = CLIENT; i < SIDES; i++) {
        endpoint *e = &l->end[i], *other = &l->end[!i];
        bool waits = i == CLIENT && l->begun && (l->connecting || other->phase != TLS_OPEN);
        bool reads = !e->ended && !other->n && !waits;
        bool writes = e->n || (i == SERVER && l->connecting);
        if (e->phase != TLS_OPEN && !(i == SERVER && l->connecting))
            watch(p, e, e->wants);
        else
            watch(p, e, (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u));
    }
}

static bool is_usable(const endpoint *e)
{
    return e->fd >= 0 && e->phase == TLS_OPEN && !(e->side == SERVER && e->link->connecting);
}

static ssize_t read_bytes(endpoint *e, char *to, size_t n)
{
    return e->tls ? tls_read(e->tls, to, n) : recv(e->fd, to, n, 0);
}

static ssize_t write_bytes(endpoint *e, const char *at, size_t n)
{
    return e->tls ? tls_write(e->tls, at, n) : send(e->fd, at, n, MSG_NOSIGNAL);
}

static void set_phase(proxy *p, endpoint *e, tls_phase phase, uint32_t wants)
{
    p->n_shaking += (phase != TLS_OPEN) - (uint32_t)(e->phase != TLS_OPEN);
    if (e->phase == TLS_OPEN) e->until = p->now + HANDSHAKE_NS;
    e->phase = phase;
    e->wants = wants;
}

static void close_end(proxy *p, endpoint *e)
{
    if (e->tls && e->phase == TLS_OPEN) tls_end(e->tls);
    set_phase(p, e, TLS_OPEN, 0);
    tls_free(e->tls);
    e->tls = NULL;
    if (e->fd >= 0) close(e->fd);
    e->fd = -1;
    e->ended = true;
    e->n = 0;
}

/* The link is over; it is freed after the events that may still name it. */
static void end_sessions(proxy *p, relay *l)
{
    if (l->session) pg_session_end(l->session, p->now);
    if (l->mine) my_session_end(l->mine, p->now);
    pg_session_free(l->session);
    if (l->mine) p->counts->others += my_session_elsewhere(l->mine);
    if (l->mine) p->counts->sessions += !my_session_elsewhere(l->mine);
    my_session_free(l->mine);
    l->session = NULL;
    l->mine = NULL;
}

/* The first message has come, or will not come any more. */
static void await_no_more(proxy *p, relay *l)
{
    p->n_awaited -= l->awaited;
    l->awaited = false;
}

static void close_link(proxy *p, relay *l)
{
    if (l->dead) return;
    l->dead = true;
    await_no_more(p, l);
    close_end(p, &l->end[CLIENT]);
    close_end(p, &l->end[SERVER]);
    end_sessions(p, l);
    if (l->prev)
        l->prev->next = l->next;
    else
        p->links = l->next;
    if (l->next) l->next->prev = l->prev;
    l->next = p->dead;
    p->dead = l;
    p->n_links--;
}

static void free_dead(proxy *p)
{
    while (p->dead) {
        relay *l = p->dead;
        p->dead = l->next;
        strbuf_free(&l->start);
        strbuf_free(&l->words);
        mem_put(&p->mem, l->end[CLIENT].pending);
        mem_put(&p->mem, l->end[SERVER].pending);
        mem_put(&p->mem, l);
    }
}

/* Writes to a side, or keeps the rest; false: the side takes nothing any more. */
static bool put_bytes(proxy *p, endpoint *e, const char *at, size_t n)
{
    assert(!e->n && n <= CHUNK);
    size_t done = 0;
    while (done < n && is_usable(e)) {
        ssize_t k = write_bytes(e, at + done, n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (k < 0) return false;
        done += (size_t)k;
    }
    if (e->fd < 0) return false;
    p->counts->bytes += done;
    if (done == n) return true;
    if (!e->pending) e->pending = mem_get(&p->mem, CHUNK);
    memcpy(e->pending, at + done, n - done);
    e->from = 0;
    e->n = n - done;
    return true;
}

static bool put_pending(proxy *p, endpoint *e)
{
    while (e->n && is_usable(e)) {
        ssize_t k = write_bytes(e, e->pending + e->from, e->n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (k < 0) return false;
        p->counts->bytes += (uint64_t)k;
        e->from += (size_t)k;
        e->n -= (size_t)k;
    }
    return true;
}

/* The client takes nothing, or says nothing, any more: the server learns that by the end of its
   input, once it has got everything. */
static void end_client(relay *l)
{
    l->end[CLIENT].ended = true;
    endpoint *server = &l->end[SERVER];
    if (server->n || !is_usable(server)) return;
    if (server->tls) tls_end(server->tls);
    shutdown(server->fd, SHUT_WR);
}

/* A client that cannot be served gets the reason in the words of its protocol.  `number` is that of
   MySQL's packet. */
static void write_refusal(const proxy *p, endpoint *client, unsigned char number, const char *text)
{
    char line[512], packet[640];
    if (!is_usable(client) || client->n) return;
    snprintf(line, sizeof line, "ratel trace proxy: %.400s", text);
    size_t n = p->o->mysql ? my_refusal(packet, sizeof packet, number, line)
                           : pg_refusal(packet, sizeof packet, line);
    if (write_bytes(client, packet, n) < 0) return;
    /* what it has said already is taken: otherwise the system resets the connection, and the client
       may see that instead of the reason */
    char said[STARTUP_MOST];
    if (!client->tls && recv(client->fd, said, sizeof said, MSG_DONTWAIT) < 0) return;
}

static void refuse_client(proxy *p, relay *l, const char *text)
{
    unsigned char number = !l->greeted ? 0 : l->end[CLIENT].tls ? 3 : 2;
    if (l->dead) return;
    p->counts->refused++;
    write_refusal(p, &l->end[CLIENT], number, text);
    close_link(p, l);
}

/* No file can be opened any more: said once for each time that this begins. */
static void tell_no_files(proxy *p)
{
    if (!p->told_files)
        p->o->say(p->o->ud, "new clients are refused: the process may not open more files "
                            "(ulimit -n); those that are connected go on");
    p->told_files = true;
}

/* What was encrypted could be told in any number by a hostile client: only the first are. */
static void tell_failure(proxy *p, const char *what, const char *why)
{
    char text[400];
    p->counts->no_tls++;
    if (p->told_failures > TOLD_FAILURES) return;
    bool last = p->told_failures++ == TOLD_FAILURES;
    snprintf(text, sizeof text, "%.120s: %.200s", what, why);
    p->o->say(p->o->ud, last ? "further connections whose TLS fails are only counted" : text);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static bool server_has_tls(const proxy *p)
{
    return p->o->tls && p->o->tls->server && p->to.ss_family != AF_UNIX;
}

static void fail_tls(proxy *p, relay *l, const endpoint *e, const char *why)
{
    char text[300];
    tell_failure(p, e->side == CLIENT ? "a client's TLS failed" : "TLS with the server failed",
                 why);
    snprintf(text, sizeof text, "TLS with the server failed: %.200s", why);
    if (e->side == SERVER)
        refuse_client(p, l, text);
    else
        close_link(p, l);
}

static void begin_handshake(proxy *p, relay *l, endpoint *e)
{
    e->tls = e->side == CLIENT ? tls_to_client(p->o->tls, e->fd) : tls_to_server(p->o->tls, e->fd);
    if (!e->tls) {
        fail_tls(p, l, e, "there is not enough memory for it");
        return;
    }
    /* a server waits for the first words of the one that connects */
    set_phase(p, e, TLS_SHAKING, e->side == CLIENT ? EPOLLIN : EPOLLOUT);
}

/* PostgreSQL's server has accepted the connection: it is asked for TLS before anything else. */
static bool ask_for_tls(proxy *p, relay *l)
{
    static const char request[REQUEST] = {0, 0, 0, 8, 0x04, (char)0xd2, 0x16, 0x2f};
    endpoint *e = &l->end[SERVER];
    if (p->o->mysql || !server_has_tls(p)) return true;
    if (send(e->fd, request, sizeof request, MSG_NOSIGNAL) != (ssize_t)sizeof request) return false;
    set_phase(p, e, TLS_ASKED, EPOLLIN);
    return true;
}

/* One byte is read and no more: whatever else a stranger has put there is taken for TLS. */
static void read_consent(proxy *p, relay *l, endpoint *e)
{
    char answer = 0;
    ssize_t n = recv(e->fd, &answer, 1, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n == 1 && answer == 'S')
        begin_handshake(p, l, e);
    else
        fail_tls(p, l, e,
                 n == 1 ? "the server does not offer TLS, and sslmode asks for it"
                        : "the connection ended");
}

/* SCRAM may bind a login to the certificate that the client sees.  If that is the proxy's, and not
   the server's, the two differ, as they should: this is how a listener between is found. */
static void watch_binding(proxy *p, relay *l)
{
    const endpoint *client = &l->end[CLIENT], *server = &l->end[SERVER];
    if (p->o->mysql) return;
    l->unbinds = !client->tls;
    if (!client->tls || p->told_binding || tls_same_certificate(p->o->tls, server->tls)) return;
    p->told_binding = true;
    p->o->say(p->o->ud, "SCRAM channel binding cannot pass through a proxy with a certificate of "
                        "its own: clients with SCRAM passwords need channel_binding=disable, or "
                        "the proxy the server's certificate and key");
}

static void go_on_shaking(proxy *p, relay *l, endpoint *e)
{
    char why[256] = "";
    tls_step step = tls_shake(e->tls, why, sizeof why);
    if (step == TLS_FAILED) {
        fail_tls(p, l, e, why);
    } else if (step == TLS_DONE) {
        set_phase(p, e, TLS_OPEN, 0);
        if (e->side == SERVER) watch_binding(p, l);
    } else {
        e->wants = step == TLS_WANTS_IN ? EPOLLIN : EPOLLOUT;
    }
}

/* Those that connected and said nothing, or not all of their first message: without a limit a few
   of them would take up --max-connections for ever.  Once they have begun, it is for the server to
   end those that do not log in. */
static void end_silent(proxy *p, relay *l)
{
    char text[160];
    if (!l->awaited || !p->o->startup || p->now - l->since < p->o->startup * 1000000000ull) return;
    snprintf(text, sizeof text, "the %s did not begin within %u seconds (--startup-time)",
             p->o->mysql ? "server" : "client", (unsigned)p->o->startup);
    refuse_client(p, l, text);
    if (p->told_silent) return;
    p->told_silent = true;
    snprintf(text, sizeof text,
             "a %s did not begin within %u seconds (--startup-time): the client was refused; "
             "others will only be counted",
             p->o->mysql ? "server" : "client", (unsigned)p->o->startup);
    p->o->say(p->o->ud, text);
}

/* Those that began a handshake, or a connection, and fell silent. */
static void end_slow_beginnings(proxy *p)
{
    if ((!p->n_shaking && !p->n_awaited) || p->now - p->checked < FLUSH_MS * 1000000ull) return;
    p->checked = p->now;
    for (relay *l = p->links, *next; l; l = next) {
        next = l->next;
        end_silent(p, l);
        for (side i = CLIENT; i < SIDES && !l->dead; i++)
            if (l->end[i].phase != TLS_OPEN && p->now > l->end[i].until)
                fail_tls(p, l, &l->end[i], "the handshake took longer than 15 seconds");
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

static bool connect_server(proxy *p, relay *l)
{
    int fd = socket(p->to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0) {
        tell_no_files(p);
        refuse_client(p, l, "no more connections: the proxy may not open more files");
        return false;
    }
    if (p->to.ss_family != AF_UNIX) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    l->end[SERVER].fd = fd;
    l->end[SERVER].events = UINT32_MAX;
    bool good = !connect(fd, (struct sockaddr *)&p->to, p->n_to);
    l->connecting = !good && errno == EINPROGRESS;
    /* (a full queue of a socket in the file system gives EAGAIN: the client may try again) */
    if (l->connecting || (good && ask_for_tls(p, l))) return true;
    refuse_client(p, l, "the server cannot be reached");
    return false;
}

/* MySQL's server speaks first: it is connected to before the client has said anything. */
static void begin_mysql(proxy *p, relay *l)
{
    l->begun = true;
    l->mine = my_session_open(++p->numbers, &p->o->limits, p->o->masks, &p->sink, p->o->database);
    if (!l->mine)
        trace_log_gap(p->log, p->numbers, p->now, "not enough memory for a session", p->now);
    if (!l->mine && p->o->fail_closed)
        refuse_client(p, l, "there is not enough memory for a session");
    else
        connect_server(p, l);
}

/* There is no file for the next client: the spare one is given up to tell it so. */
static bool refuse_without_file(proxy *p)
{
    tell_no_files(p);
    if (p->spare < 0) return false;
    close(p->spare);
    endpoint e = {.side = CLIENT, .fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC)};
    if (e.fd >= 0) {
        p->counts->refused++;
        write_refusal(p, &e, 0, "no more connections: the proxy may not open more files");
        close(e.fd);
    }
    p->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return e.fd >= 0;
}

static void accept_clients(proxy *p)
{
    for (int i = 0; i < EVENTS; i++) {
        int fd = accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && refuse_without_file(p)) continue;
        if (fd < 0) return;
        if (p->n_links >= p->o->connections || p->stopping) {
            endpoint e = {.side = CLIENT, .fd = fd};
            p->counts->refused++;
            write_refusal(p, &e, 0, "no more connections: --max-connections is reached");
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* fails on other sockets */
        relay *l = mem_zeroed(&p->mem, sizeof *l);
        l->end[CLIENT] = (endpoint){.link = l, .side = CLIENT, .fd = fd, .events = UINT32_MAX};
        l->end[SERVER] = (endpoint){.link = l, .side = SERVER, .fd = -1, .events = UINT32_MAX};
        strbuf_init(&l->start, &p->mem);
        strbuf_init(&l->words, &p->mem);
        l->next = p->links;
        if (l->next) l->next->prev = l;
        p->links = l;
        p->n_links++;
        l->since = p->now;
        l->awaited = true;
        p->n_awaited++;
        if (p->o->mysql) begin_mysql(p, l);
        if (!l->dead) watch_link(p, l);
    }
}

/* ---- the beginning of a connection ----------------------------------------------------------- */

static uint32_t number_at(const char *at)
{
    wire_body b = {at, at + 4, false};
    return wire_u32(&b);
}

static void tell_no_tls(proxy *p)
{
    p->counts->encrypted++;
    if (p->told_tls) return;
    p->told_tls = true;
    p->o->say(p->o->ud, "a client asked for encryption; the proxy has no keys and answered no, so "
                        "clients that insist on it (sslmode=require) cannot connect");
}

/* The whole startup message is there. */
static void begin_session(proxy *p, relay *l)
{
    l->session = pg_session_open(++p->numbers, &p->o->limits, p->o->masks, &p->sink);
    if (!l->session) {
        trace_log_gap(p->log, p->numbers, p->now, "not enough memory for a session", p->now);
        if (p->o->fail_closed) close_link(p, l);
        return;
    }
    bool traced = pg_session_startup(l->session, l->start.at + 8, l->start.n - 8);
    if (traced && !strcmp(pg_session_database(l->session), p->o->database)) {
        p->counts->sessions++;
        return;
    }
    p->counts->others++;
    pg_session_free(l->session);
    l->session = NULL;
}

/* Bytes before the first message with a type; how many of them were the startup's.  Only requests
   for encryption are held back, and answered. */
static bool start_bytes(proxy *p, relay *l, const char *at, size_t n, size_t *taken)
{
    size_t have = l->start.n;
    bool keys = p->o->tls && p->o->tls->client;
    *taken = 0;
    while (l->start.n < 8 && *taken < n) strbuf_char(&l->start, at[(*taken)++]);
    if (l->start.n < 8) return true;
    uint32_t length = number_at(l->start.at), code = number_at(l->start.at + 4);
    if (length == 8 && (code == CODE_TLS || code == CODE_GSS) && have < 8) {
        l->start.n = 0;
        if (l->end[CLIENT].n) return false; /* it asks and asks, and takes no answer */
        if (keys && code == CODE_TLS) {
            /* (no more than the request was read, so that nothing plain can follow the answer) */
            if (l->end[CLIENT].tls || !put_bytes(p, &l->end[CLIENT], "S", 1) || l->end[CLIENT].n)
                return false;
            begin_handshake(p, l, &l->end[CLIENT]);
            return true;
        }
        if (!keys) tell_no_tls(p);
        return put_bytes(p, &l->end[CLIENT], "N", 1);
    }
    if (length < 8 || length > STARTUP_MOST) return false;
    if (have < 8) {
        if (!connect_server(p, l)) return false;
        if (!put_bytes(p, &l->end[SERVER], l->start.at, 8)) return false;
    }
    size_t more = length - l->start.n;
    if (more > n - *taken) more = n - *taken;
    strbuf_add(&l->start, at + *taken, more);
    *taken += more;
    l->begun = l->start.n == length;
    if (l->begun) await_no_more(p, l);
    if (l->begun && code == CODE_CANCEL) p->counts->cancels++;
    if (l->begun && code >> 16 == 3) begin_session(p, l);
    l->unknown = l->begun && code >> 16 != 3 && code != CODE_CANCEL;
    return true;
}

/* The startup's bytes after its first eight, and whatever came with them, go out in one piece. */
static bool forward_start(proxy *p, relay *l, const char *at, size_t n)
{
    while (n && !l->begun && !l->dead) {
        size_t before = l->start.n, taken;
        if (!start_bytes(p, l, at, n, &taken)) return false;
        size_t first = before < 8 ? 8 - before : 0; /* went out, or were answered */
        if (first > taken) first = taken;
        endpoint *to = &l->end[SERVER];
        size_t rest = l->begun ? n - first : taken - first;
        if (rest && l->start.n >= 8) {
            if (to->n + rest > CHUNK) return false;
            if (to->n) { /* not connected yet: behind the first eight */
                memcpy(to->pending + to->from + to->n, at + first, rest);
                to->n += rest;
            } else if (!put_bytes(p, to, at + first, rest)) {
                return false;
            }
        }
        at += taken;
        n -= taken;
        if (l->begun) break;
    }
    if (n && l->session) pg_session_client(l->session, at, n, p->now);
    return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void lost_session(proxy *p, relay *l)
{
    bool lost =
        (l->session && pg_session_blind(l->session)) || (l->mine && my_session_blind(l->mine));
    if (p->o->fail_closed && lost) close_link(p, l);
}

/* Commit timestamps were asked for: once a transaction has committed, nobody can say any more which
   number it had, so that the server is asked before the last byte of a COMMIT goes out. */
static void read_number(proxy *p, relay *l, size_t n)
{
    char xid[24];
    pg_session_client(l->session, p->chunk, n, p->now);
    uint32_t process = pg_session_backend(l->session);
    if (!process || !pg_session_commits(l->session)) return;
    if (p->o->xid_of(p->o->ud, process, xid, sizeof xid)) pg_session_xid(l->session, xid);
}

/* How much may be read of a client: of one that may ask for TLS not more than the request, because
   what follows it is TLS's own; before it has begun, half of a chunk, because the startup waits for
   the server to be connected. */
static size_t most_to_read(const proxy *p, const relay *l)
{
    const strbuf *s = &l->start;
    bool plain = !l->end[CLIENT].tls;
    if (l->offered) {
        const unsigned char *head = (const unsigned char *)s->at;
        size_t length = s->n < 4 ? 4 : (size_t)(head[0] | head[1] << 8 | head[2] << 16) + 4;
        return (length < MY_REQUEST ? length : MY_REQUEST) - s->n;
    }
    if (!l->begun && plain && p->o->tls && p->o->tls->client && s->n < REQUEST)
        return REQUEST - s->n;
    return l->begun ? CHUNK : CHUNK / 2;
}

/* MySQL: the first packet of a client that was offered TLS.  Its request goes to the server as it
   is, and then both ends begin; so the numbers of all packets stay the same. */
static void first_packet(proxy *p, relay *l, size_t n)
{
    endpoint *client = &l->end[CLIENT], *server = &l->end[SERVER];
    strbuf *s = &l->start;
    strbuf_add(s, p->chunk, n);
    if (s->n < 4 || most_to_read(p, l)) return;
    l->offered = false;
    bool asks = my_asks_for_tls(s->at, s->n);
    if (!asks && p->o->tls->trust != TLS_OFF) {
        refuse_client(p, l,
                      "sslmode asks for TLS with the server, which is used if the client "
                      "uses TLS as well");
        return;
    }
    if (!put_bytes(p, server, s->at, s->n) || (asks && server->n)) {
        close_link(p, l);
        return;
    }
    if (!asks) {
        if (l->mine) my_session_client(l->mine, s->at, s->n, p->now);
        return;
    }
    if (l->mine) my_session_encrypted(l->mine);
    begin_handshake(p, l, server);
    if (!l->dead) begin_handshake(p, l, client);
}

static void read_client(proxy *p, relay *l)
{
    endpoint *from = &l->end[CLIENT], *to = &l->end[SERVER];
    ssize_t n = read_bytes(from, p->chunk, most_to_read(p, l));
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
    p->now = clock_now();
    if (n <= 0) {
        if (!l->begun || to->fd < 0)
            close_link(p, l);
        else
            end_client(l);
        return;
    }
    if (!l->begun) {
        if (!forward_start(p, l, p->chunk, (size_t)n)) close_link(p, l);
        return;
    }
    if (l->offered) {
        first_packet(p, l, (size_t)n);
        return;
    }
    bool first = l->session && p->o->xid_of; /* COMMIT must wait */
    if (first) read_number(p, l, (size_t)n);
    if (!put_bytes(p, to, p->chunk, (size_t)n)) {
        from->ended = true; /* the server is gone; its last words may still come */
        return;
    }
    if (l->session && !first) pg_session_client(l->session, p->chunk, (size_t)n, p->now);
    if (l->mine) my_session_client(l->mine, p->chunk, (size_t)n, p->now);
    lost_session(p, l);
}

/* The server's first packet goes out without its offers of encryption and compression. */
static bool forward_greeting(proxy *p, relay *l, size_t n)
{
    strbuf *s = &l->start;
    strbuf_add(s, p->chunk, n);
    const unsigned char *head = (const unsigned char *)s->at;
    size_t length = s->n < 4 ? 0 : (size_t)(head[0] | head[1] << 8 | head[2] << 16) + 4;
    if (length > STARTUP_MOST || s->n > CHUNK) return false;
    if (s->n < 4 || s->n < length) return true;
    l->greeted = true;
    await_no_more(p, l);
    bool keys = p->o->tls && p->o->tls->client && p->o->tls->server;
    bool whole = my_greeting(s->at, length, keys, &l->offered);
    if (whole && !keys && !p->told_tls) {
        p->told_tls = true;
        p->o->say(p->o->ud, "clients are offered neither encryption nor compression: the proxy "
                            "could not read what they say");
    }
    if (l->mine) my_session_server(l->mine, s->at, s->n, p->now);
    bool good = put_bytes(p, &l->end[CLIENT], s->at, s->n);
    s->n = 0;
    if (keys && whole && !l->offered && p->o->tls->trust != TLS_OFF) {
        tell_failure(p, "TLS with the server failed", "the server does not offer it");
        return false;
    }
    return good;
}

static void put_client(proxy *p, relay *l, const char *at, size_t n)
{
    endpoint *to = &l->end[CLIENT];
    if (to->fd < 0 || put_bytes(p, to, at, n)) return;
    close_end(p, to);
    end_client(l);
}

/* The server's first words, to a client without TLS, over a connection with TLS: the client would
   find an offer of channel binding there that cannot be true, and end. */
static bool forward_unbound(proxy *p, relay *l, size_t n)
{
    strbuf *s = &l->words;
    strbuf_add(s, p->chunk, n);
    sasl_found found = sasl_without_binding(s->at, &s->n);
    if (found == SASL_MORE && n && s->n < CHUNK / 2) return false;
    l->unbinds = false;
    if (found == SASL_ALTERED && !p->told_binding) {
        p->told_binding = true;
        p->o->say(p->o->ud, "the server's offer of SCRAM channel binding is not passed on: it "
                            "cannot work with clients that have no TLS of their own");
    }
    if (s->n) memcpy(p->chunk, s->at, s->n); /* nothing at all: the server has gone */
    return true;
}

static void read_server(proxy *p, relay *l)
{
    endpoint *from = &l->end[SERVER], *to = &l->end[CLIENT];
    ssize_t n = read_bytes(from, p->chunk, l->unbinds ? CHUNK / 2 : CHUNK);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
    p->now = clock_now();
    if (l->unbinds) {
        bool ended = n <= 0;
        if (!forward_unbound(p, l, ended ? 0 : (size_t)n)) return;
        n = (ssize_t)l->words.n; /* the end is read again if something was kept before it */
    }
    if (n > 0 && p->o->mysql && !l->greeted) {
        if (!forward_greeting(p, l, (size_t)n)) close_link(p, l);
        return;
    }
    if (n > 0 && l->unknown && *p->chunk == 'R') { /* the server goes on with it */
        l->unknown = false;
        trace_log_gap(p->log, ++p->numbers, p->now,
                      "a version of the protocol that the proxy does not read", p->now);
        if (p->o->fail_closed) {
            close_link(p, l);
            return;
        }
    }
    if (n > 0) {
        put_client(p, l, p->chunk, (size_t)n);
        if (l->mine) my_session_server(l->mine, p->chunk, (size_t)n, p->now);
        if (l->session) pg_session_server(l->session, p->chunk, (size_t)n, p->now);
        lost_session(p, l);
        return;
    }
    end_sessions(p, l);
    if (to->fd < 0 || !to->n) {
        close_link(p, l);
        return;
    }
    close_end(p, from); /* the client still has something to get */
    l->end[CLIENT].ended = true;
}

static void write_side(proxy *p, relay *l, endpoint *e)
{
    if (e->side == SERVER && l->connecting) {
        int code = 0;
        socklen_t n = sizeof code;
        getsockopt(e->fd, SOL_SOCKET, SO_ERROR, &code, &n);
        l->connecting = false;
        if (code || !ask_for_tls(p, l)) {
            refuse_client(p, l, "the server cannot be reached");
            return;
        }
    }
    if (!put_pending(p, e)) {
        if (e->side == SERVER) {
            e->n = 0; /* gone; the next read says so */
        } else {
            close_end(p, e);
            end_client(l);
        }
    }
    if (e->side == SERVER && !e->n && l->end[CLIENT].ended) end_client(l);
    if (e->side == CLIENT && !e->n && l->end[SERVER].fd < 0 && l->end[SERVER].ended && l->begun)
        close_link(p, l);
}

static void on_event(proxy *p, endpoint *e, uint32_t events)
{
    relay *l = e->link;
    if (l->dead) return;
    if (e->phase != TLS_OPEN && !(e->side == SERVER && l->connecting)) {
        if (e->phase == TLS_ASKED)
            read_consent(p, l, e);
        else
            go_on_shaking(p, l, e);
        events = e->phase == TLS_OPEN ? EPOLLOUT : 0; /* what has waited for it goes out */
        if (l->dead || !events) {
            if (!l->dead) watch_link(p, l);
            return;
        }
    }
    if (events & EPOLLOUT) write_side(p, l, e);
    bool ends = events & (EPOLLHUP | EPOLLERR), reads = e->events & EPOLLIN;
    if (!l->dead && e->fd >= 0 && ((events & EPOLLIN) || (ends && reads))) {
        if (e->side == CLIENT)
            read_client(p, l);
        else
            read_server(p, l);
    } else if (!l->dead && ends && e->fd >= 0 && !(e->events & EPOLLOUT)) {
        /* not read just now, but it is gone: what is pending for it is, too */
        if (e->side == CLIENT) {
            close_end(p, e);
            end_client(l);
            if (l->end[SERVER].fd < 0) close_link(p, l);
        } else {
            e->gone = true; /* its last words are read once the client has taken those before */
        }
    }
    if (!l->dead) watch_link(p, l);
}

static bool log_is_well(proxy *p)
{
    bool lost = p->log->gap_from || p->log->full;
    if (lost && !p->told_log) {
        char text[TRACE_PATH + 256], why[160];
        snprintf(text, sizeof text, "%s: %s; %s", p->log->path,
                 p->log->full ? "the log has reached its limit"
                              : replace_error(p->log->error, why, sizeof why),
                 p->o->fail_closed ? "the proxy ends" : "forwarding goes on without it");
        p->o->say(p->o->ud, text);
    }
    p->told_log = lost;
    return !lost;
}

static void begin_stop(proxy *p)
{
    p->stopping = true;
    close(p->listener);
    p->listener = -1;
    for (relay *l = p->links, *next; l; l = next) {
        next = l->next;
        if (l->end[SERVER].fd < 0 || l->connecting)
            close_link(p, l);
        else
            end_client(l);
        if (!l->dead) watch_link(p, l);
    }
}

static void one_event(proxy *p, const struct epoll_event *e)
{
    endpoint *at = e->data.ptr;
    relay *l = at->link;
    if (guard_armed(&p->guard)) { /* no memory */
        p->counts->refused++;
        if (l) close_link(p, l);
        return;
    }
    if (!l)
        accept_clients(p);
    else
        on_event(p, at, e->events);
}

static bool serve(proxy *p)
{
    struct epoll_event events[EVENTS];
    uint64_t until = 0;
    while (p->links || !p->stopping) {
        int n = epoll_wait(p->poll, events, EVENTS, FLUSH_MS);
        p->now = clock_now();
        for (int i = 0; i < n; i++) one_event(p, &events[i]);
        end_slow_beginnings(p);
        free_dead(p);
        if (p->now - p->log->flushed > FLUSH_MS * 1000000ull) trace_log_flush(p->log, p->now);
        if (!log_is_well(p) && p->o->fail_closed) return false;
        if (!p->stopping && *p->o->interrupt) {
            begin_stop(p);
            until = p->now + STOP_NS;
        }
        if (p->stopping && p->now > until) break;
    }
    return true;
}

/* Two files a connection: as many as the system lets the process have. */
static void raise_file_limit(proxy *p)
{
    struct rlimit r;
    char text[200];
    rlim_t wanted = 2 * (rlim_t)p->o->connections + SPARE_FILES;
    p->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= wanted) return;
    r.rlim_cur = wanted < r.rlim_max ? wanted : r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
    if (r.rlim_cur >= wanted) return;
    snprintf(
        text, sizeof text,
        "the process may open %llu files (ulimit -n), which is enough for about %llu connections",
        (unsigned long long)r.rlim_cur,
        r.rlim_cur > SPARE_FILES ? (unsigned long long)(r.rlim_cur - SPARE_FILES) / 2 : 1ull);
    p->o->say(p->o->ud, text);
}

/* Long statements and results come in buffers that grow and go.  glibc would raise the size from
   which it asks the system for a block of its own with each of them, and then keep them in a heap
   that cannot shrink below its last small block: the proxy would grow for hours. */
static void settle_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 18);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

bool proxy_run(const proxy_options *o, trace_log *log, proxy_counts *counts, char *why, size_t cap)
{
    static const size_t size = sizeof(proxy);
    settle_heap();
    proxy *p = mem_libc(NULL, NULL, 0, size);
    if (!p) return told(why, cap, "proxy", ENOMEM);
    memset(p, 0, size);
    memset(counts, 0, sizeof *counts);
    guard_init(&p->guard);
    mem_init(&p->mem, mem_libc, NULL, &p->guard);
    p->o = o;
    p->log = log;
    p->counts = counts;
    p->sink = (pg_sink){p,        sink_id,    sink_line,
                        sink_gap, sink_count, o->committed ? sink_committed : NULL};
    p->listener = p->spare = -1;
    p->door = (endpoint){.fd = -1, .events = UINT32_MAX};
    p->now = log->flushed = clock_now();
    p->poll = epoll_create1(EPOLL_CLOEXEC);
    bool good = p->poll >= 0 ? find_server(p, why, cap) && open_listener(p, why, cap)
                             : told(why, cap, "epoll", errno);
    if (good) {
        char text[300];
        p->door.fd = p->listener;
        raise_file_limit(p);
        watch(p, &p->door, EPOLLIN);
        snprintf(text, sizeof text, "listening on %.250s", o->listen);
        o->say(o->ud, text);
        good = serve(p);
        if (!good) snprintf(why, cap, "what cannot be logged is not forwarded (--fail-closed)");
    }
    p->now = clock_now();
    while (p->links) close_link(p, p->links);
    free_dead(p);
    if (p->listener >= 0) close(p->listener);
    if (*p->socket_path) unlink(p->socket_path);
    if (p->poll >= 0) close(p->poll);
    if (p->spare >= 0) close(p->spare);
    mem_free_all(&p->mem);
    mem_libc(NULL, p, size, 0);
    return good;
}
