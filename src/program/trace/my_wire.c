/*
 * my_wire.c - frames and numbers of MariaDB's and MySQL's protocol.
 */
#include "trace/my_wire.h"

#include <assert.h>

#define GREATEST 0xffffffu

void my_wire_init(my_wire *w, mem *m, uint32_t keep, my_packet packet, void *ud)
{
    memset(w, 0, sizeof *w);
    w->keep = keep < GREATEST ? keep : GREATEST - 1;
    w->packet = packet;
    w->ud = ud;
    strbuf_init(&w->body, m);
}

static void begin_packet(my_wire *w)
{
    w->left = (uint32_t)w->head[0] | (uint32_t)w->head[1] << 8 | (uint32_t)w->head[2] << 16;
    w->inside = true;
    w->n_head = 0;
    w->kept = w->left <= w->keep && !w->goes_on;
    w->body.n = 0;
}

/* The body has come; a packet that continues another one is no packet of its own. */
static void end_packet(my_wire *w, const char *body, uint32_t n, bool greatest)
{
    bool part = w->goes_on;
    w->inside = false;
    w->goes_on = greatest;
    if (!part) w->packet(w->ud, body, n, !w->kept);
}

void my_wire_feed(my_wire *w, const char *at, size_t n)
{
    const char *end = at + n;
    while (at < end || (w->inside && !w->left)) {
        while (!w->inside && at < end) {
            w->head[w->n_head++] = (unsigned char)*at++;
            if (w->n_head == 4) begin_packet(w);
        }
        if (!w->inside) return;
        bool greatest = w->head[0] == 0xff && w->head[1] == 0xff && w->head[2] == 0xff;
        size_t have = (size_t)(end - at), some = have < w->left ? have : w->left;
        bool whole = some == w->left;
        const char *from = at;
        at += some;
        w->left -= (uint32_t)some;
        if (!w->kept) {
            if (!w->body.n && some) strbuf_add(&w->body, from, 1);
            if (whole) end_packet(w, w->body.n ? w->body.at : "", (uint32_t)w->body.n, greatest);
        } else if (whole && !w->body.n) {
            end_packet(w, from, (uint32_t)some, false);
        } else {
            strbuf_add(&w->body, from, some);
            assert(w->body.n <= w->keep);
            if (whole) end_packet(w, w->body.at, (uint32_t)w->body.n, false);
        }
        if (!whole) return;
    }
}

static uint64_t low_first(wire_body *b, uint32_t bytes)
{
    const unsigned char *p = (const unsigned char *)wire_bytes(b, bytes);
    uint64_t v = 0;
    for (uint32_t i = b->bad ? 0 : bytes; i-- > 0;) v = v << 8 | p[i];
    return v;
}

uint32_t my_u16(wire_body *b)
{
    return (uint32_t)low_first(b, 2);
}

uint32_t my_u32(wire_body *b)
{
    return (uint32_t)low_first(b, 4);
}

uint64_t my_u64(wire_body *b)
{
    return low_first(b, 8);
}

uint64_t my_length(wire_body *b)
{
    uint8_t first = wire_u8(b);
    if (b->bad || first == 0xfb || first == 0xff) return UINT64_MAX;
    if (first < 0xfb) return first;
    return low_first(b, first == 0xfc ? 2 : first == 0xfd ? 3 : 8);
}

const char *my_text(wire_body *b, uint32_t *n)
{
    uint64_t length = my_length(b);
    *n = 0;
    if (length == UINT64_MAX) return NULL;
    if (length > (uint64_t)(b->end - b->at)) {
        b->bad = true;
        return NULL;
    }
    *n = (uint32_t)length;
    return wire_bytes(b, *n);
}
