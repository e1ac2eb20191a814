/*
 * envelope_file.c - the events of a file that libratel-trace wrote (.rtrace), session by session.
 */
#include "trace/envelope_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/map.h"

/* ---- events ---------------------------------------------------------------------------------- */

static bool chunk_at(const envelope_file *f, uint64_t at, envelope_chunk *c)
{
    if (f->n - at < ENVELOPE_UNIT) return false; /* (chunks are allocated before they are used) */
    memcpy(c, f->at + at, sizeof *c);
    return c->magic == ENVELOPE_CHUNK && c->session && c->units &&
           c->units <= (f->n - at) / ENVELOPE_UNIT;
}

/* The event at `at` of a chunk of `len` bytes; *damaged: there is something that is none. */
static bool event_at(const char *chunk, uint64_t len, uint64_t at, envelope_event *e, bool *damaged)
{
    uint32_t size;
    uint16_t words[2];
    *damaged = false;
    if (len - at < sizeof(envelope_record)) return false;
    memcpy(&size, chunk + at, sizeof size);
    if (!size) return false;
    memcpy(words, chunk + at + 4, sizeof words);
    memcpy(&e->time, chunk + at + 8, sizeof e->time);
    *damaged = size < sizeof(envelope_record) || size > len - at || !words[0] ||
               words[0] > ENVELOPE_CLOSED || words[1] > 2 || e->time > INT64_MAX;
    if (*damaged) return false;
    e->kind = words[0];
    e->outcome = words[1];
    e->at = chunk + at + sizeof(envelope_record);
    e->n = size - (uint32_t)sizeof(envelope_record);
    return true;
}

bool envelope_next(envelope_cursor *c, envelope_event *e)
{
    bool damaged;
    while (c->chunk < c->s->chunks.n) {
        uint64_t from = c->s->chunks.at[c->chunk];
        envelope_chunk head;
        if (!c->at) c->at = sizeof head;
        if (chunk_at(c->f, from, &head)) {
            uint64_t len = (uint64_t)head.units * ENVELOPE_UNIT;
            if (c->at < len && event_at(c->f->at + from, len, c->at, e, &damaged)) {
                e->place = from + c->at;
                c->at += (sizeof(envelope_record) + e->n + 7) & ~(uint64_t)7;
                return true;
            }
        }
        c->chunk++;
        c->at = 0;
    }
    return false;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void look_at_session(envelope_file *f, envelope_session *s)
{
    envelope_cursor c = {.f = f, .s = s};
    envelope_event e;
    if (!envelope_next(&c, &e) || e.kind != ENVELOPE_SESSION) return;
    s->name = e.at;
    s->n_name = e.n;
}

static bool chunk_is_damaged(const envelope_file *f, uint64_t at, uint64_t len)
{
    envelope_event e;
    bool damaged = false;
    uint64_t place = sizeof(envelope_chunk);
    while (place < len && event_at(f->at + at, len, place, &e, &damaged))
        place += (sizeof(envelope_record) + e.n + 7) & ~(uint64_t)7;
    return damaged;
}

static void find_chunks(envelope_file *f, mem *m)
{
    id_map numbers = {0};
    for (uint64_t at = ENVELOPE_HEAD; at < f->n;) {
        envelope_chunk c;
        if (!chunk_at(f, at, &c)) {
            uint32_t begins = 0;
            if (f->n - at >= sizeof begins) memcpy(&begins, f->at + at, sizeof begins);
            f->damaged += begins != 0;
            at += ENVELOPE_UNIT;
            continue;
        }
        uint64_t len = (uint64_t)c.units * ENVELOPE_UNIT;
        uint32_t *known = id_map_at(m, &numbers, c.session);
        if (*known == MAP_NONE) {
            *known = (uint32_t)f->sessions.n;
            vec_push(m, &f->sessions, ((envelope_session){.number = c.session}));
        }
        vec_push(m, &f->sessions.at[*known].chunks, at);
        f->damaged += chunk_is_damaged(f, at, len);
        at += len;
    }
    id_map_free(m, &numbers);
    for (size_t i = 0; i < f->sessions.n; i++) look_at_session(f, &f->sessions.at[i]);
}

static int map_file(envelope_file *f, char *why, size_t cap)
{
    struct stat st;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st)) {
        snprintf(why, cap, "%s", strerror(errno));
        if (fd >= 0) close(fd);
        return GUARD_IO;
    }
    bool good = S_ISREG(st.st_mode) && st.st_size >= ENVELOPE_HEAD;
    f->n = good ? (uint64_t)st.st_size : 0;
    void *map = good ? mmap(NULL, f->n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    f->at = map == MAP_FAILED ? NULL : map;
    if (!good) {
        snprintf(why, cap, "this is not a file of libratel-trace");
        return GUARD_PARSE;
    }
    if (f->at) return GUARD_OK;
    snprintf(why, cap, "the file cannot be mapped: %s", strerror(errno));
    return GUARD_IO;
}

int envelope_open(envelope_file *f, mem *m, const char *path, char *why, size_t cap)
{
    *f = (envelope_file){.path = path};
    int code = map_file(f, why, cap);
    if (code) return code;
    const envelope_head *h = (const void *)f->at;
    if (h->magic != ENVELOPE_MAGIC || h->unit != ENVELOPE_UNIT ||
        h->header > ENVELOPE_HEAD - sizeof *h) {
        snprintf(why, cap, "this is not a file of libratel-trace, version 1");
        envelope_close(f, m);
        return GUARD_PARSE;
    }
    f->pid = h->pid;
    f->forked = h->forked;
    memcpy(f->host, h->host, sizeof f->host);
    f->host[sizeof f->host - 1] = 0;
    f->header = (const char *)(h + 1);
    f->n_header = h->header;
    f->lost = atomic_load(&((envelope_head *)(uintptr_t)h)->lost);
    f->lost_from = atomic_load(&((envelope_head *)(uintptr_t)h)->lost_from);
    find_chunks(f, m);
    return GUARD_OK;
}

void envelope_close(envelope_file *f, mem *m)
{
    for (size_t i = 0; i < f->sessions.n; i++) vec_free(m, &f->sessions.at[i].chunks);
    vec_free(m, &f->sessions);
    if (f->at) munmap((void *)(uintptr_t)f->at, f->n);
    f->at = NULL;
}
