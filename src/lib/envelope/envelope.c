/*
 * envelope.c - libratel-trace: events of a program, copied into a file that is mapped into memory.
 *
 * A session owns a chunk of the file and writes into it alone; a new chunk is claimed by one atomic
 * addition.  The blocks of a chunk are allocated before it is mapped, so that a full disk is an
 * error here and not a signal.  What the kernel has in its page cache survives the process.
 *
 * fork(): one page is marked to be zero in a child.  A handle that finds it zero opens a file of
 * its own; locks that other threads of the parent may have held lie in that page, too.
 */
#include "ratel-trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "envelope/envelope_format.h"

#define DEFAULT_LIMIT ((uint64_t)64 << 30)
#define MOST_EVENT ((size_t)1 << 30)
#define MOST_NAMES 1000 /* tries to find a name for a child's file */

typedef struct process_page { /* all zero in a child after fork() */
    atomic_uint alive;        /* the generation that is open */
    atomic_flag busy;
    _Atomic uint64_t next; /* the first byte of the file that nobody claimed */
    atomic_uint sessions;
} process_page;

struct ratel_trace {
    process_page *page;
    size_t page_size;
    bool wiped; /* the kernel makes the page zero in a child; else the pid is asked */
    atomic_uint generation;
    atomic_int pid;
    int fd;
    uint64_t limit;
    envelope_head *head; /* mapped */
    char *path, *header;
};

struct ratel_trace_session {
    ratel_trace *trace;
    unsigned generation; /* of the file that the chunk is in */
    uint32_t number, chunks;
    char *map; /* the chunk */
    size_t mapped;
    char *at, *end;
    uint64_t lost;
    bool closed;
    char name[128];
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Room for the bytes, on the disk. */
static int allocate(int fd, uint64_t from, uint64_t n)
{
    int r = fallocate(fd, 0, (off_t)from, (off_t)n);
    if (r && (errno == EOPNOTSUPP || errno == ENOSYS)) {
        errno = posix_fallocate(fd, (off_t)from, (off_t)n);
        r = errno ? -1 : 0;
    }
    return r ? errno : 0;
}

static void name_boot(char *host, size_t cap)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, host, cap - 1);
    if (fd >= 0) close(fd);
    if (n <= 0 && gethostname(host, cap - 1)) host[0] = 0;
    host[cap - 1] = 0;
    host[strcspn(host, "\n")] = 0;
}

/* Makes the file and its first page. */
static int make_file(ratel_trace *t, const char *path, bool forked)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    int error = allocate(fd, 0, ENVELOPE_HEAD);
    void *map =
        error ? MAP_FAILED : mmap(NULL, ENVELOPE_HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        if (!error) error = errno;
        close(fd);
        unlink(path);
        return error;
    }
    envelope_head *h = map;
    h->unit = ENVELOPE_UNIT;
    h->pid = (uint32_t)getpid();
    h->forked = forked;
    name_boot(h->host, sizeof h->host);
    h->header = (uint32_t)strlen(t->header);
    memcpy(h + 1, t->header, h->header);
    atomic_thread_fence(memory_order_release);
    h->magic = ENVELOPE_MAGIC;
    t->fd = fd;
    t->head = h;
    atomic_store(&t->pid, getpid());
    atomic_store(&t->page->next, ENVELOPE_HEAD);
    atomic_store(&t->page->sessions, 0);
    return 0;
}

/* ---- fork ------------------------------------------------------------------------------------ */

static bool is_open(ratel_trace *t)
{
    if (!t->wiped && atomic_load_explicit(&t->pid, memory_order_relaxed) != getpid()) return false;
    return atomic_load_explicit(&t->page->alive, memory_order_acquire) != 0;
}

static void lock_page(ratel_trace *t)
{
    while (atomic_flag_test_and_set_explicit(&t->page->busy, memory_order_acquire)) sched_yield();
}

/* In a child: a file of its own.  The parent's stays open and mapped, and is not written to. */
static void reopen(ratel_trace *t)
{
    if (!t->wiped && atomic_load(&t->pid) != getpid()) {
        atomic_store(&t->page->alive, 0);
        atomic_flag_clear(&t->page->busy);
    }
    lock_page(t);
    if (!is_open(t)) {
        size_t cap = strlen(t->path) + 48;
        char *path = malloc(cap);
        int error = path ? EEXIST : ENOMEM;
        envelope_head *parents = t->head;
        t->head = NULL;
        for (int i = 0; error == EEXIST && i < MOST_NAMES; i++) {
            snprintf(path, cap, i ? "%s.%ld.%d" : "%s.%ld", t->path, (long)getpid(), i);
            error = make_file(t, path, true);
        }
        free(path);
        if (error) t->fd = -1;
        if (parents) munmap(parents, ENVELOPE_HEAD);
        atomic_store(&t->pid, getpid());
        unsigned generation = atomic_fetch_add(&t->generation, 1) + 1;
        atomic_store_explicit(&t->page->alive, generation, memory_order_release);
    }
    atomic_flag_clear_explicit(&t->page->busy, memory_order_release);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void lose_event(ratel_trace_session *s)
{
    envelope_head *h = s->trace->head;
    s->lost++;
    if (!h) return;
    uint64_t none = 0;
    atomic_compare_exchange_strong(&h->lost_from, &none, now_ns());
    atomic_fetch_add(&h->lost, 1);
}

static void leave_chunk(ratel_trace_session *s)
{
    if (s->map) munmap(s->map, s->mapped);
    s->map = s->at = s->end = NULL;
}

/* Memory for a chunk of the session that has room for `n` bytes. */
static bool new_chunk(ratel_trace_session *s, size_t n)
{
    ratel_trace *t = s->trace;
    leave_chunk(s);
    if (t->fd < 0) return false;
    uint64_t units = (n + sizeof(envelope_chunk) + ENVELOPE_UNIT - 1) / ENVELOPE_UNIT;
    uint64_t len = units * ENVELOPE_UNIT, from = atomic_load(&t->page->next);
    do { /* a chunk beyond the limit is not claimed: a smaller one may yet fit */
        if (from + len > t->limit) return false;
    } while (!atomic_compare_exchange_weak(&t->page->next, &from, from + len));
    if (allocate(t->fd, from, len)) return false;
    void *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, (off_t)from);
    if (map == MAP_FAILED) return false;
    envelope_chunk *c = map;
    c->session = s->number;
    c->number = s->chunks++;
    c->units = (uint32_t)units;
    atomic_thread_fence(memory_order_release);
    c->magic = ENVELOPE_CHUNK;
    s->map = map;
    s->mapped = len;
    s->at = (char *)map + sizeof *c;
    s->end = (char *)map + len;
    return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct piece {
    const char *at;
    size_t n;
} piece;

/* Copies the event; false: there is no room for it. */
static bool put_event(ratel_trace_session *s, envelope_kind kind, unsigned outcome,
                      const piece *pieces, int n_pieces)
{
    size_t n = sizeof(envelope_record);
    for (int i = 0; i < n_pieces; i++) {
        if (pieces[i].n > MOST_EVENT) return false;
        n += pieces[i].n;
    }
    size_t room = (n + 7) & ~(size_t)7;
    if (n > MOST_EVENT) return false;
    if ((size_t)(s->end - s->at) < room && !new_chunk(s, room)) return false;
    envelope_record *r = (void *)s->at;
    char *to = (char *)(r + 1);
    r->kind = (uint16_t)kind;
    r->outcome = (uint16_t)outcome;
    for (int i = 0; i < n_pieces; i++) {
        if (pieces[i].n) memcpy(to, pieces[i].at, pieces[i].n);
        to += pieces[i].n;
    }
    r->time = now_ns();
    atomic_store_explicit(&r->size, (uint32_t)n, memory_order_release);
    s->at += room;
    return true;
}

/* The session in the file of this process. */
static void enter_file(ratel_trace_session *s)
{
    ratel_trace *t = s->trace;
    leave_chunk(s);
    s->generation = atomic_load(&t->generation);
    s->number = atomic_fetch_add(&t->page->sessions, 1) + 1;
    s->chunks = 0;
    if (t->fd < 0) return;
    if (!put_event(s, ENVELOPE_SESSION, 0, &(piece){s->name, strlen(s->name)}, 1)) lose_event(s);
}

static void event(ratel_trace_session *s, envelope_kind kind, unsigned outcome, const piece *pieces,
                  int n_pieces)
{
    if (!s || s->closed) return;
    if (!is_open(s->trace)) reopen(s->trace);
    if (s->generation != atomic_load_explicit(&s->trace->generation, memory_order_relaxed))
        enter_file(s);
    if (!put_event(s, kind, outcome, pieces, n_pieces)) lose_event(s);
}

/* ---- traces and sessions --------------------------------------------------------------------- */

static void free_trace(ratel_trace *t)
{
    if (t->page) munmap(t->page, t->page_size);
    free(t->path);
    free(t->header);
    free(t);
}

int ratel_trace_open(ratel_trace **out, const char *path, const char *header, uint64_t limit)
{
    if (!out) return EINVAL;
    *out = NULL;
    if (!header) header = "{\"ratel\":1,\"init_unknown\":true}";
    if (!path || !*path || strlen(header) > ENVELOPE_HEAD - sizeof(envelope_head)) return EINVAL;
    ratel_trace *t = calloc(1, sizeof *t);
    if (!t) return ENOMEM;
    t->path = strdup(path);
    t->header = strdup(header);
    t->limit = limit ? limit : DEFAULT_LIMIT;
    t->page_size = (size_t)sysconf(_SC_PAGESIZE);
    void *page =
        mmap(NULL, t->page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    t->page = page == MAP_FAILED ? NULL : page;
    if (!t->path || !t->header || !t->page) {
        free_trace(t);
        return ENOMEM;
    }
    t->wiped = !madvise(t->page, t->page_size, MADV_WIPEONFORK);
    int error = make_file(t, path, false);
    if (error) {
        free_trace(t);
        return error;
    }
    atomic_store(&t->generation, 1);
    atomic_store(&t->page->alive, 1);
    *out = t;
    return 0;
}

void ratel_trace_close(ratel_trace *t)
{
    if (!t) return;
    if (t->head) munmap(t->head, ENVELOPE_HEAD);
    if (t->fd >= 0) close(t->fd);
    free_trace(t);
}

uint64_t ratel_trace_lost(const ratel_trace *t)
{
    return t && t->head ? atomic_load(&t->head->lost) : 0;
}

int ratel_trace_session_open(ratel_trace_session **out, ratel_trace *t, const char *name)
{
    if (!out) return EINVAL;
    *out = NULL;
    if (!t) return EINVAL;
    ratel_trace_session *s = calloc(1, sizeof *s);
    if (!s) return ENOMEM;
    s->trace = t;
    if (name) snprintf(s->name, sizeof s->name, "%s", name);
    if (!is_open(t)) reopen(t);
    enter_file(s);
    *out = s;
    return 0;
}

void ratel_trace_session_close(ratel_trace_session *s)
{
    if (!s) return;
    event(s, ENVELOPE_CLOSED, 0, NULL, 0);
    leave_chunk(s);
    free(s);
}

void ratel_trace_begin(ratel_trace_session *s)
{
    event(s, ENVELOPE_BEGIN, 0, NULL, 0);
}

void ratel_trace_begun(ratel_trace_session *s)
{
    event(s, ENVELOPE_BEGUN, 0, NULL, 0);
}

void ratel_trace_commit(ratel_trace_session *s)
{
    event(s, ENVELOPE_COMMIT, 0, NULL, 0);
}

void ratel_trace_rollback(ratel_trace_session *s)
{
    event(s, ENVELOPE_ROLLBACK, 0, NULL, 0);
}

void ratel_trace_ended(ratel_trace_session *s, ratel_trace_outcome outcome)
{
    event(s, ENVELOPE_ENDED, outcome, NULL, 0);
}

void ratel_trace_input(ratel_trace_session *s, const char *json, size_t n)
{
    event(s, ENVELOPE_INPUT, 0, &(piece){json, json ? n : 0}, 1);
}

void ratel_trace_output(ratel_trace_session *s, ratel_trace_outcome outcome, const char *json,
                        size_t n)
{
    event(s, ENVELOPE_OUTPUT, outcome, &(piece){json, json ? n : 0}, 1);
}

/* ---- texts as keys, whole numbers as values -------------------------------------------------- */

/* The key as a JSON string is `pieces` of it and of escapes; most keys have nothing to escape. */
static void input_of_key(ratel_trace_session *s, const char *name, const char *key,
                         const char *value)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = key ? strlen(key) : 0, extra = 0;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)key[i] < 0x20 || key[i] == '"' || key[i] == '\\') extra += 5;
    char small[512], *text = small;
    if (n + extra > sizeof small) text = malloc(n + extra);
    if (!text) {
        if (s) lose_event(s);
        return;
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)key[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            text[at++] = key[i];
            continue;
        }
        memcpy(text + at, "\\u00", 4);
        text[at + 4] = hex[c >> 4];
        text[at + 5] = hex[c & 15];
        at += 6;
    }
    piece pieces[] = {{name, strlen(name)},
                      {text, at},
                      {value ? "\"," : "\"", value ? 2 : 1},
                      {value, value ? strlen(value) : 0},
                      {"]", 1}};
    event(s, ENVELOPE_INPUT, 0, pieces, 5);
    if (text != small) free(text);
}

void ratel_trace_input_read(ratel_trace_session *s, const char *key)
{
    input_of_key(s, "[\"r\",\"", key, NULL);
}

void ratel_trace_input_write(ratel_trace_session *s, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    input_of_key(s, "[\"w\",\"", key, text);
}

void ratel_trace_input_delete(ratel_trace_session *s, const char *key)
{
    input_of_key(s, "[\"d\",\"", key, NULL);
}

void ratel_trace_output_int(ratel_trace_session *s, int64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)value);
    ratel_trace_output(s, RATEL_TRACE_DONE, text, (size_t)n);
}

void ratel_trace_output_absent(ratel_trace_session *s)
{
    ratel_trace_output(s, RATEL_TRACE_DONE, "null", 4);
}

static void hint(ratel_trace_session *s, envelope_kind kind, const char *name, const char *json)
{
    if (!name || !json) return;
    piece pieces[] = {{name, strlen(name) + 1}, {json, strlen(json)}};
    event(s, kind, 0, pieces, 2);
}

void ratel_trace_op_hint(ratel_trace_session *s, const char *name, const char *json)
{
    hint(s, ENVELOPE_OP_HINT, name, json);
}

void ratel_trace_txn_hint(ratel_trace_session *s, const char *name, const char *json)
{
    hint(s, ENVELOPE_TXN_HINT, name, json);
}
