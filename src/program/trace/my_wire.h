/*
 * my_wire.h - the packets of MariaDB's and MySQL's protocol: three bytes of length, a number, a
 * body; whole numbers with their lowest byte first.
 *
 * Bytes come in pieces of any size.  A packet that is short enough is handed on whole; of a longer
 * one only its first byte is, so that memory never depends on a length that the other side claims.
 */
#ifndef RATEL_TRACE_MY_WIRE_H
#define RATEL_TRACE_MY_WIRE_H

#include "trace/wire.h"

/* `lost`: the body was too long, and these are its first byte alone. */
typedef void (*my_packet)(void *ud, const char *body, uint32_t n, bool lost);

typedef struct my_wire {
    my_packet packet;
    void *ud;
    uint32_t keep;
    unsigned char head[4];
    uint32_t n_head, left;
    bool inside, kept;
    bool goes_on; /* the packet before had the greatest length: this one continues it */
    strbuf body;
} my_wire;

void my_wire_init(my_wire *w, mem *m, uint32_t keep, my_packet packet, void *ud);
void my_wire_feed(my_wire *w, const char *at, size_t n);

uint32_t my_u16(wire_body *b);
uint32_t my_u32(wire_body *b);
uint64_t my_u64(wire_body *b);
/* A number with its length before it; UINT64_MAX: SQL's null, or none. */
uint64_t my_length(wire_body *b);
/* A text with its length before it: NULL is SQL's null, or `bad`. */
const char *my_text(wire_body *b, uint32_t *n);

#endif
