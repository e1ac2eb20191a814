/*
 * wire.c - the frames of PostgreSQL's protocol: a type, a length that counts itself, a body.
 */
#include "trace/wire.h"

#include <assert.h>

void wire_init(wire *w, mem *m, uint32_t keep, const wire_user *user)
{
    memset(w, 0, sizeof *w);
    w->keep = keep;
    w->user = user;
    strbuf_init(&w->body, m);
}

/* The head is whole. */
static bool begin_message(wire *w)
{
    uint32_t length = (uint32_t)w->head[1] << 24 | (uint32_t)w->head[2] << 16 |
                      (uint32_t)w->head[3] << 8 | w->head[4];
    if (length < 4 || length > INT32_MAX) return false;
    w->type = (char)w->head[0];
    w->left = length - 4;
    w->inside = true;
    w->n_head = 0;
    w->kept = w->left <= w->keep;
    w->body.n = 0;
    if (!w->kept) w->user->begin(w->user->ud, w->type, w->left);
    return true;
}

static void end_message(wire *w, const char *body, uint32_t n)
{
    w->inside = false;
    if (w->kept)
        w->user->message(w->user->ud, w->type, body, n);
    else
        w->user->end(w->user->ud, w->type);
}

bool wire_feed(wire *w, const char *at, size_t n)
{
    const char *end = at + n;
    while (at < end) {
        while (!w->inside && at < end) {
            w->head[w->n_head++] = (unsigned char)*at++;
            if (w->n_head == 5 && !begin_message(w)) return false;
        }
        if (!w->inside) return true;
        size_t have = (size_t)(end - at), some = have < w->left ? have : w->left;
        bool whole = some == w->left;
        const char *from = at;
        at += some;
        w->left -= (uint32_t)some;
        if (!w->kept) {
            if (some) w->user->piece(w->user->ud, w->type, from, some);
            if (whole) end_message(w, NULL, 0);
        } else if (whole && !w->body.n) { /* the usual case: no copy */
            end_message(w, from, (uint32_t)some);
        } else {
            strbuf_add(&w->body, from, some);
            assert(w->body.n <= w->keep);
            if (whole) end_message(w, w->body.at, (uint32_t)w->body.n);
        }
    }
    return true;
}

static bool has(wire_body *b, size_t n)
{
    if ((size_t)(b->end - b->at) < n) b->bad = true;
    return !b->bad;
}

uint8_t wire_u8(wire_body *b)
{
    return has(b, 1) ? (uint8_t)*b->at++ : 0;
}

uint16_t wire_u16(wire_body *b)
{
    if (!has(b, 2)) return 0;
    const unsigned char *p = (const unsigned char *)b->at;
    b->at += 2;
    return (uint16_t)(p[0] << 8 | p[1]);
}

uint32_t wire_u32(wire_body *b)
{
    if (!has(b, 4)) return 0;
    const unsigned char *p = (const unsigned char *)b->at;
    b->at += 4;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

const char *wire_text(wire_body *b)
{
    const char *from = b->at,
               *zero = b->bad || from == b->end ? NULL : memchr(from, 0, (size_t)(b->end - from));
    if (!zero) {
        b->bad = true;
        return "";
    }
    b->at = zero + 1;
    return from;
}

const char *wire_bytes(wire_body *b, uint32_t n)
{
    if (!has(b, n)) return "";
    const char *from = b->at;
    b->at += n;
    return from;
}
