/*
 * file.c - opens, reads and writes histories at paths.
 *
 * A directory's members are taken in the order of their names, numbers inside them by value, so
 * that T9 stands before T10 and the same directory gives the same history on every machine.
 * A file is written as base/replace_file.h says; a directory is made under a temporary name beside
 * its own, member by member, and renamed when complete.
 */
#include "read/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "read/formats.h"
#include "read/inflate.h"
#include "read/meaning.h"

static _Noreturn void fail_errno(guard *g, int error)
{
    char text[128];
    guard_fail(g, GUARD_IO, "%s", replace_error(error, text, sizeof text));
}

/* --- reading ------------------------------------------------------------------------------- */

void read_file_init(read_file *f)
{
    memset(f, 0, sizeof *f);
    f->fd = f->stream = -1;
}

static void close_stream(read_file *f)
{
    if (f->started) inflate_close(&f->s);
    if (f->fd >= 0) close(f->fd);
    f->fd = f->stream = -1;
}

void read_file_close(read_file *f)
{
    close_stream(f);
    if (f->directory) closedir(f->directory);
    f->directory = NULL;
    if (f->started) {
        mem_put(f->s.mem, f->s.at);
        strbuf_free(&f->path);
    }
    f->started = false;
}

/* Waits until there is something to read, but not beyond the time limit.  Only a pipe that nobody
   has opened for writing, or in which nothing comes, makes anybody wait. */
static void await_input(const read_file *f)
{
    guard *g = f->s.guard;
    struct pollfd p = {.fd = f->stream, .events = POLLIN};
    for (;;) {
        int wait = -1;
        if (g->deadline) {
            uint64_t now = clock_now(), left = g->deadline > now ? g->deadline - now : 0;
            wait = left > 3600000000000u ? 3600000 : (int)(left / 1000000u) + 1;
        }
        if (poll(&p, 1, wait) > 0) return;
        guard_poll(g); /* the limit, or the user's wish to stop */
    }
}

static ptrdiff_t fd_read(void *buf, size_t cap, void *payload)
{
    read_file *f = payload;
    for (;;) {
        await_input(f);
        ssize_t got = read(f->stream, buf, cap);
        if (got >= 0) {
            f->taken += (uint64_t)got;
            guard_poll_at(f->s.guard, f->taken);
            return got;
        }
        f->error = errno;
        if (errno != EINTR && errno != EAGAIN) return -1;
        guard_poll(f->s.guard); /* the signal may have been the user's wish to stop */
    }
}

static const char *fd_error(void *payload)
{
    read_file *f = payload;
    return replace_error(f->error, f->text, sizeof f->text);
}

static void start_source(read_file *f, history *h, source_read read, void *payload)
{
    source_init(&f->s, &h->mem, h->mem.guard, read, payload);
    strbuf_init(&f->path, &h->mem);
    f->started = true;
}

/* Points the source at an open descriptor, or at nothing yet. */
static void restart(read_file *f, int fd)
{
    source *s = &f->s;
    s->read = fd_read;
    s->payload = f;
    s->error = fd_error;
    s->pos = s->n = 0;
    s->at[0] = 0;
    s->dropped = s->dropped_lines = s->last_break = 0;
    s->eof = s->binary = false;
    f->stream = fd;
    f->taken = 0;
}

void source_open_member(source *s, const read_dir *d, size_t i)
{
    read_file *f = (read_file *)s;
    close_stream(f);
    s->member = d->names[i];
    snprintf(s->guard->member, sizeof s->guard->member, "%s", s->member);
    f->path.n = 0;
    strbuf_str(&f->path, d->path);
    strbuf_char(&f->path, '/');
    strbuf_str(&f->path, d->names[i]);
    f->fd = open(strbuf_cstr(&f->path), O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* as read_path */
    struct stat st;
    if (f->fd < 0 || fstat(f->fd, &st)) fail_errno(s->guard, errno);
    guard_stage(s->guard, "read", "bytes", (uint64_t)st.st_size);
    restart(f, f->fd);
    inflate_wrap(s);
}

static const read_format *named(guard *g, const char *id)
{
    const read_format *format = read_format_named(id);
    const char *about = read_format_unreadable(id);
    if (about) guard_fail(g, GUARD_UNSUPPORTED, "%s: this version cannot read %s", id, about);
    if (!format) guard_fail(g, GUARD_INVAL, "there is no format %.60s", id);
    return format;
}

/* The source stands at the beginning of a (possibly compressed) file. */
static const read_format *read_opened(read_file *f, history *h, const char *id)
{
    source *s = &f->s;
    const read_format *format = id ? named(s->guard, id) : NULL;
    if (!s->inflater) inflate_wrap(s);
    if (!format) {
        if (!source_need(s, 1))
            guard_fail(s->guard, GUARD_PARSE, "empty file: its format cannot be detected");
        format = read_detect(s);
    }
    if (!format) guard_fail(s->guard, GUARD_PARSE, "no history format fits this file");
    format->read(h, s);
    return format;
}

/* Like strcmp, but digits compare as numbers. */
static int by_name(const void *x, const void *y)
{
    const char *a = *(const char *const *)x, *b = *(const char *const *)y;
    const char *whole_a = a, *whole_b = b;
    while (*a && *b) {
        size_t na = strspn(a, "0123456789"), nb = strspn(b, "0123456789");
        if (na && nb) {
            while (na && *a == '0') a++, na--;
            while (nb && *b == '0') b++, nb--;
            if (na != nb) return na < nb ? -1 : 1;
            int c = memcmp(a, b, na);
            if (c) return c;
            a += na;
            b += nb;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    if (*a || *b) return *a ? 1 : -1;
    return strcmp(whole_a, whole_b); /* T01 and T1: some fixed order */
}

typedef struct listing {
    VEC(char) bytes;
    VEC(size_t) offsets;
    const char **names;
} listing;

static void list(read_file *f, const char *path, listing *l)
{
    mem *m = f->s.mem;
    f->directory = opendir(path);
    if (!f->directory) fail_errno(m->guard, errno);
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(f->directory);
        if (!e && errno) fail_errno(m->guard, errno);
        if (!e) break;
        if (e->d_name[0] == '.') continue; /* itself, its parent, hidden files */
        size_t n = strlen(e->d_name) + 1;
        vec_push(m, &l->offsets, l->bytes.n);
        vec_reserve(m, &l->bytes, n);
        memcpy(l->bytes.at + l->bytes.n, e->d_name, n);
        l->bytes.n += n;
    }
    closedir(f->directory);
    f->directory = NULL;
    l->names = mem_array(m, const char *, l->offsets.n + 1);
    for (size_t i = 0; i < l->offsets.n; i++) l->names[i] = l->bytes.at + l->offsets.at[i];
    qsort(l->names, l->offsets.n, sizeof *l->names, by_name);
}

static const read_format *read_directory(read_file *f, history *h, const char *path, const char *id)
{
    listing l = {0};
    list(f, path, &l);
    mem *m = &h->mem;
    guard *g = m->guard;
    read_dir d = {path, l.offsets.n, l.names};
    const read_format *format = id ? named(g, id) : NULL;
    const read_format *fits = read_detect_dir(d.members, d.names);
    if (format && format->directory) {
        if (!read_dir_has(format, d.members, d.names))
            guard_fail(g, GUARD_PARSE, "this directory contains no file in the format %s", id);
        fits = format; /* logs of another kind may stand beside */
    }
    uint32_t single = read_dir_single(d.members, d.names);
    if (fits && (!format || format == fits)) {
        format = fits;
        format->read_dir(h, &d, &f->s);
    } else if (single != NO_ID) {
        source_open_member(&f->s, &d, single);
        format = read_opened(f, h, id);
    } else if (format) {
        guard_fail(g, GUARD_PARSE,
                   "this is a directory, but a history in the format %s is one file", id);
    } else {
        guard_fail(g, GUARD_PARSE, "no history format fits the files of this directory");
    }
    g->member[0] = 0;
    f->s.member = NULL;
    vec_free(m, &l.bytes);
    vec_free(m, &l.offsets);
    mem_put(m, l.names);
    return format;
}

const read_format *read_path(read_file *f, history *h, const char *path, const char *id)
{
    start_source(f, h, fd_read, f);
    const read_format *format;
    struct stat st;
    if (!strcmp(path, "-")) {
        guard_stage(h->mem.guard, "read", "bytes", 0);
        restart(f, STDIN_FILENO);
        format = read_opened(f, h, id);
    } else {
        /* not to wait in open for a pipe's writer: await_input does, within the time limit */
        f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (f->fd < 0 || fstat(f->fd, &st)) fail_errno(h->mem.guard, errno);
        restart(f, f->fd);
        if (S_ISDIR(st.st_mode)) {
            close_stream(f);
            format = read_directory(f, h, path, id);
        } else {
            guard_stage(h->mem.guard, "read", "bytes", (uint64_t)st.st_size);
            format = read_opened(f, h, id);
        }
    }
    read_file_close(f);
    return format;
}

const read_format *read_stream(read_file *f, history *h, source_read read, void *payload,
                               const char *id)
{
    start_source(f, h, read, payload);
    guard_stage(h->mem.guard, "read", NULL, 0);
    const read_format *format = read_opened(f, h, id);
    read_file_close(f);
    return format;
}

void read_init_path(read_file *f, history *h, const char *path)
{
    guard *g = h->mem.guard;
    start_source(f, h, fd_read, f);
    snprintf(g->member, sizeof g->member, "%s", path);
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* as read_path */
    if (f->fd < 0) fail_errno(g, errno);
    restart(f, f->fd);
    inflate_wrap(&f->s);
    timekiller_read_init(h, &f->s);
    g->member[0] = 0;
    read_file_close(f);
}

/* --- writing ------------------------------------------------------------------------------- */

static int fd_write(const void *buf, size_t n, void *payload)
{
    write_file *w = payload;
    for (const char *p = buf; n;) {
        ssize_t put = write(w->fd, p, n);
        if (put < 0 && errno == EINTR) {
            guard_poll(w->mem.guard);
            continue;
        }
        if (put < 0) fail_errno(w->mem.guard, errno);
        p += put;
        n -= (size_t)put;
    }
    return 0;
}

void write_file_init(write_file *w, mem_fn fn, void *ud, guard *g)
{
    memset(w, 0, sizeof *w);
    mem_init(&w->mem, fn, ud, g);
    sink_init(&w->out, &w->mem, g, fd_write, w);
    w->fd = w->file.fd = -1;
    read_file_init(&w->back_file);
}

/* Closes what is being written, without or with regard to what the system says about it. */
static int close_output(write_file *w)
{
    int fd = w->fd;
    deflate_close(&w->out);
    w->fd = -1;
    return fd >= 0 && w->owned ? close(fd) : 0;
}

static void drop_back(write_file *w)
{
    read_file_close(&w->back_file);
    if (w->back) history_free(w->back);
    w->back = NULL;
}

void write_file_close(write_file *w)
{
    close_output(w);
    drop_back(w);
    replace_abandon(&w->file); /* if it was not finished, no trace is left */
    if (w->temp) {
        for (size_t i = 0; i < w->members.n; i++) unlink(w->members.at[i]);
        rmdir(w->temp);
    }
    w->temp = NULL;
    mem_free_all(&w->mem);
}

/* Makes the directory path.tmp-PID-N, which did not exist yet. */
static void make_temp(write_file *w, const char *path)
{
    for (unsigned i = 0;; i++) {
        strbuf name;
        strbuf_init(&name, &w->mem);
        strbuf_printf(&name, "%s.tmp-%ld-%u", path, (long)getpid(), i);
        if (!mkdir(strbuf_cstr(&name), 0777)) {
            w->temp = name.at;
            return;
        }
        if (errno != EEXIST) fail_errno(w->mem.guard, errno);
        strbuf_free(&name);
    }
}

static int new_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static void finish(write_file *w)
{
    deflate_finish(&w->out);
    if (close_output(w)) fail_errno(w->mem.guard, errno);
}

static void take_name(write_file *w, const char *path)
{
    if (rename(w->temp, path)) fail_errno(w->mem.guard, errno);
    w->temp = NULL;
    w->members.n = 0;
}

static int keep_bytes(const void *buf, size_t n, void *payload)
{
    write_file *w = payload;
    strbuf_add(&w->bytes, buf, n);
    return 0;
}

static ptrdiff_t take_bytes(void *buf, size_t cap, void *payload)
{
    write_file *w = payload;
    size_t n = w->bytes.n - w->at < cap ? w->bytes.n - w->at : cap;
    if (n) memcpy(buf, w->bytes.at + w->at, n);
    w->at += n;
    return (ptrdiff_t)n;
}
/* --- what was written, read again ------------------------------------------------------------- */

/* Our own formats hold everything, which test/prop/run and test/native/run see to. */
static bool holds_everything(const read_format *format)
{
    return !strcmp(format->id, "ratel") || !strcmp(format->id, "ratel-bin");
}

/* Fails unless what stands at the path (NULL: in w->bytes) is the same history to every level. */
static void refuse_changes(write_file *w, const history *h, const read_format *format,
                           const char *path)
{
    mem *m = &w->mem;
    if (holds_everything(format)) return;
    w->back = history_new(m->fn, m->ud, m->guard, m->limit);
    if (path)
        read_path(&w->back_file, w->back, path, format->id);
    else
        read_stream(&w->back_file, w->back, take_bytes, w, format->id);
    history_freeze(w->back);
    changes x;
    strbuf text;
    strbuf_init(&text, m);
    meaning_compare(h, w->back, m, &x);
    drop_back(w);
    meaning_text(&x, &text);
    if (!meaning_same(&x))
        guard_fail(m->guard, GUARD_UNSUPPORTED,
                   "the format %s cannot hold what verdicts may depend on: %s", format->id,
                   strbuf_cstr(&text));
    strbuf_free(&text);
}

void write_refuse_loss(write_file *w, const history *h, const read_format *format)
{
    sink dry;
    strbuf_init(&w->bytes, &w->mem);
    w->at = 0;
    sink_init(&dry, &w->mem, w->mem.guard, keep_bytes, w);
    format->write(h, &dry);
    sink_flush(&dry);
    sink_refuse_loss(&dry, format->id);
    refuse_changes(w, h, format, NULL);
    strbuf_free(&dry.buf);
    strbuf_free(&w->bytes);
}

static void write_single(write_file *w, const history *h, const read_format *format,
                         const char *path)
{
    bool standard = !strcmp(path, "-");
    int error = standard ? 0 : replace_open(&w->file, path);
    if (error) fail_errno(w->mem.guard, error);
    if (w->whole && (standard || w->file.straight)) write_refuse_loss(w, h, format);
    w->owned = false;
    w->fd = standard ? STDOUT_FILENO : w->file.fd;
    deflate_wrap(&w->out, path);
    format->write(h, &w->out);
    finish(w);
    if (w->whole) {
        sink_refuse_loss(&w->out, format->id);
        if (!standard && !w->file.straight) refuse_changes(w, h, format, w->file.made);
    }
    if (!standard && (error = replace_finish(&w->file)) != 0) fail_errno(w->mem.guard, error);
}

/* The number of a session's file: its label where all labels are small numbers. */
bool read_numbered(const history *h)
{
    for (size_t i = 0; i < h->sessions.n; i++)
        if (h->sessions.at[i] >= UINT32_MAX) return false;
    return true;
}

#define EMPTY_LOGS 65536u /* so many files of empty sessions, whatever a header claims */

uint32_t read_session_files(const history *h)
{
    size_t n = h->sessions.n, declared = h->declared_sessions;
    return (uint32_t)(declared > n && declared - n <= EMPTY_LOGS ? declared : n);
}

static void write_members(write_file *w, const history *h, const read_format *format,
                          const char *path)
{
    guard *g = w->mem.guard;
    if (!strcmp(path, "-"))
        guard_fail(
            g, GUARD_INVAL,
            "a history in the format %s is a directory: it cannot be written to standard output",
            format->id);
    strbuf name;
    strbuf_init(&name, &w->mem);
    strbuf_str(&name, path);
    while (name.n > 1 && name.at[name.n - 1] == '/') name.n--;
    const char *final = strbuf_cstr(&name);
    make_temp(w, final);
    bool labels = read_numbered(h);
    if (!labels) sink_lose(&w->out, LOST_LABELS);
    if (h->declared_sessions > h->sessions.n && read_session_files(h) == h->sessions.n)
        sink_lose(&w->out, LOST_EMPTY);
    uint64_t number = 0, next = 0;
    uint32_t members = format->members(h);
    for (uint32_t i = 0; i < members; i++) {
        bool session = i < h->sessions.n;
        number = !session ? next : labels ? h->sessions.at[i] : i;
        if (number >= next) next = number + 1;
        char base[64];
        snprintf(base, sizeof base, "%c%llu.log", format->member_letter,
                 (unsigned long long)number);
        strbuf member;
        strbuf_init(&member, &w->mem);
        strbuf_printf(&member, "%s/%s", w->temp, base);
        vec_push(&w->mem, &w->members, strbuf_cstr(&member));
        w->owned = true;
        w->fd = new_file(member.at);
        if (w->fd < 0) fail_errno(g, errno);
        format->write_member(h, i, &w->out);
        finish(w);
    }
    if (w->whole) {
        sink_refuse_loss(&w->out, format->id);
        refuse_changes(w, h, format, w->temp);
    }
    take_name(w, final); /* over an empty directory, but never over one with files */
}

void write_path(write_file *w, const history *h, const char *id, const char *path)
{
    const read_format *format = named(w->mem.guard, id);
    if (format->write)
        write_single(w, h, format, path);
    else
        write_members(w, h, format, path);
}
