/*
 * wire.h - PostgreSQL's protocol, version 3, as a stream of messages: one direction of a
 * connection.
 *
 * Bytes come in pieces of any size.  A message that is short enough is handed on whole; of a longer
 * one only the pieces are, so that memory never depends on a length that the other side claims.
 */
#ifndef RATEL_TRACE_WIRE_H
#define RATEL_TRACE_WIRE_H

#include "base/strbuf.h"

typedef struct wire_user {
    void *ud;
    void (*message)(void *ud, char type, const char *body, uint32_t n);
    /* A message that is not kept: its beginning, its pieces, its end. */
    void (*begin)(void *ud, char type, uint32_t n);
    void (*piece)(void *ud, char type, const char *at, size_t n);
    void (*end)(void *ud, char type);
} wire_user;

/* Invariant: in a message `left` bytes are to come; between messages n_head counts the bytes of the
   next head that have come. */
typedef struct wire {
    const wire_user *user;
    uint32_t keep; /* bodies up to this length are handed on whole */
    unsigned char head[5];
    uint32_t n_head, left;
    bool inside, kept;
    char type;
    strbuf body;
} wire;

void wire_init(wire *w, mem *m, uint32_t keep, const wire_user *user);
/* False: this is not the protocol; what follows cannot be read. */
bool wire_feed(wire *w, const char *at, size_t n);

/* A body that is taken apart.  After a read past its end `bad` is set, and reads give 0 and "". */
typedef struct wire_body {
    const char *at, *end;
    bool bad;
} wire_body;

uint8_t wire_u8(wire_body *b);
uint16_t wire_u16(wire_body *b);
uint32_t wire_u32(wire_body *b);
const char *wire_text(wire_body *b); /* up to its 0 */
const char *wire_bytes(wire_body *b, uint32_t n);

#endif
